"""CART-LC with the OC1 program's rule of making a leaf, and its range of numbers.

Without signs a step may make a split worse, and all rows may end on one side of the hyperplane.
The program then makes a leaf, though an axis-parallel split was there; `CartLCClassifier` takes
that split. Such a node is found afterwards: it is large enough for an oblique split, and has an
axis-parallel one that does not part the classes, which would have ended the search.

Coefficients can grow without end, too. The program has them in single precision: beyond 3.4e38
they are infinite, values of rows are infinite or not numbers, and none is below 0, so that all
rows are on one side. Ours go on to 1e100, with splits that are as good as others.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from obliqua import CartLCClassifier
from obliqua._typing import Int64Array
from obliqua.data.problem import Problem
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree

__all__ = ["LeafBeyondSingle", "LeafWhereLost", "lost_nodes"]

#: The largest number of single precision.
LARGEST = float(np.finfo(np.float32).max)


def lost_nodes(tree: Tree, n_features: int, single: bool = False) -> Int64Array:
    """Return the nodes of which all rows were on one side of the last hyperplane.

    Parameters
    ----------
    tree : Tree
        A tree of CART-LC as in the OC1 program, not pruned.
    n_features : int
        How many features there are.
    single : bool, default=False
        Also return nodes with a coefficient that single precision does not hold.
    """
    nodes = np.asarray(tree.node_of_plane)
    alone = np.diff(tree.coef_ptr) == 1
    large = (np.asarray(tree.n_node_samples)[nodes] > 2 * n_features) | (nodes == 0)
    found = nodes[alone & large]
    there = np.asarray(tree.stats)[:, : tree.n_classes] > 0
    first = np.asarray(tree.first_child)[found]
    parted = ~(there[first] & there[first + 1]).any(axis=1)
    lost = found[~parted]
    if single:
        sizes = np.maximum.reduceat(np.abs(tree.coef), tree.coef_ptr[:-1])
        lost = np.union1d(lost, nodes[sizes > LARGEST])
    return lost.astype(np.int64)


class LeafWhereLost(CartLCClassifier):
    """CART-LC as in the OC1 program; where all rows are on one side, the node is a leaf."""

    _single = False

    def _grower(self, key: int) -> Callable[[Problem], Tree]:
        grown = super()._grower(key)

        def cut(problem: Problem) -> Tree:
            tree = grown(problem)
            return collapse(tree, lost_nodes(tree, problem.n_features, self._single))

        return cut


class LeafBeyondSingle(LeafWhereLost):
    """The same, also where a coefficient is too large for single precision."""

    _single = True
