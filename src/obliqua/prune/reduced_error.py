"""Reduced-error pruning (Quinlan 1987): cut every split that held-out rows do not need."""

from __future__ import annotations

import numpy as np

from obliqua._surgery import collapse
from obliqua.data import Problem
from obliqua.prune._sums import node_errors
from obliqua.tree import Tree

__all__ = ["prune_reduced_error"]


def prune_reduced_error(tree: Tree, problem: Problem, prune_root: bool = False) -> Tree:
    """Cut, from the bottom up, each split without which held-out rows fare no worse.

    Parameters
    ----------
    tree : Tree
        The tree, grown without these rows.
    problem : Problem
        The held-out rows. If there are none the tree stays as it is.
    prune_root : bool, default=False
        Whether the root's split may be cut.

    Returns
    -------
    Tree
        Of all trees that cutting can give, the smallest of those with the fewest errors on the
        held-out rows.
    """
    if problem.n_rows == 0:
        return tree
    errors = node_errors(tree, problem).tolist()
    parent, is_leaf = tree.parent.tolist(), tree.is_leaf.tolist()
    below = [0.0] * tree.n_nodes
    cut = []
    # Children have larger numbers than their parent, so they are settled before it.
    for t in range(tree.n_nodes - 1, 0, -1):
        if is_leaf[t]:
            fewest = errors[t]
        elif errors[t] <= below[t]:
            fewest = errors[t]
            cut.append(t)
        else:
            fewest = below[t]
        below[parent[t]] += fewest
    if prune_root and errors[0] <= below[0]:
        cut.append(0)
    return collapse(tree, np.array(cut, dtype=np.int64))
