"""The figure of docs/methods/eigen_tree.md: glass of windows, and what the leaves are.

``make figures`` writes it beside this file. It is kept, so that the documentation is built without
matplotlib and without the data; ``tests/test_figures.py`` draws it again where the data are, and
compares what is in it. It is like figure 8 of the paper: the transformation starts with the
difference of the class means and goes on with principal components.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hhcart import write
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from obliqua import DatasetMissing, EigenTreeClassifier, plot_projection, plot_subclasses
from obliqua.datasets import load_glass_windows


def fitted() -> tuple[Any, Any, Any]:
    """The tree of the figure, its rows and their labels."""
    X, y = load_glass_windows(as_frame=True, return_X_y=True)
    tree = EigenTreeClassifier(transformations=("first+pca",), random_state=0)
    return tree.fit(X, y), X, y


def name_parts(ax: Axes, number: int) -> None:
    """Say of each named part to which panel it belongs."""
    for artist in ax.get_children():
        gid = artist.get_gid()
        if gid is not None:  # text depends on the version of matplotlib, and has no name
            artist.set_gid(None if gid == "caption" else f"panel-{number}-{gid}")


def draw() -> Figure:
    """Two panels: the rows with the upper two levels, and what the leaves are."""
    tree, X, y = fitted()
    figure = Figure(figsize=(6.8, 5.0), facecolor="white")
    above = figure.add_axes((0.09, 0.47, 0.89, 0.47))
    plot_projection(tree, X, y, ax=above)
    below = figure.add_axes((0.34, 0.09, 0.65, 0.21))
    plot_subclasses(tree, X, y, ax=below)
    for number, ax in enumerate((above, below)):
        name_parts(ax, number)
    return figure


def figures() -> dict[str, Figure]:
    """The figure by the name of its file."""
    return {"etct-glass": draw()}


if __name__ == "__main__":
    try:
        write(figures, Path(__file__).parent, *sys.argv[1:])
    except DatasetMissing as error:
        print(f"etct-glass is not drawn again: {error}")
