"""Pictures of trees: the whole tree, its decision regions, and the way of one row.

They need matplotlib, which the extra ``plot`` brings. Each function draws into one Axes, its own
or a given one, and returns it; nothing else of matplotlib's state is touched. What belongs to a
node has its number in the artist's gid, ``node-3`` for instance.
"""

from obliqua.plot.boundary import plot_boundary
from obliqua.plot.forest import plot_eigenvalues, plot_energy, plot_overlaps
from obliqua.plot.loss import plot_loss
from obliqua.plot.path import plot_path
from obliqua.plot.projection import plot_projection
from obliqua.plot.ranks import plot_critical_difference
from obliqua.plot.subclasses import plot_subclasses
from obliqua.plot.tree import plot_tree

__all__ = [
    "plot_boundary",
    "plot_critical_difference",
    "plot_eigenvalues",
    "plot_energy",
    "plot_loss",
    "plot_overlaps",
    "plot_path",
    "plot_projection",
    "plot_subclasses",
    "plot_tree",
]
