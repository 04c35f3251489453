"""Reduced-error pruning (Quinlan 1987): cut every split that held-out rows do not need."""

from __future__ import annotations

import numpy as np

from obliqua._surgery import collapse
from obliqua.data import Problem
from obliqua.prune.cost_complexity import node_errors
from obliqua.tree import Tree

__all__ = ["prune_reduced_error"]


def prune_reduced_error(tree: Tree, problem: Problem, prune_root: bool = False) -> Tree:
    """Cut, from the bottom up, each split without which held-out rows fare no worse.

    Parameters
    ----------
    tree : Tree
        The tree, grown without these rows.
    problem : Problem
        The held-out rows.
    prune_root : bool, default=False
        Whether the root's split may be cut.

    Returns
    -------
    Tree
        The smallest tree of fewest errors on the held-out rows among all cut-back trees.
    """
    as_leaf = node_errors(tree, problem)
    below = np.where(tree.is_leaf, as_leaf, 0.0)
    cut = []
    for t in range(tree.n_nodes - 1, -1, -1):
        if not tree.is_leaf[t] and as_leaf[t] <= below[t] and (t or prune_root):
            cut.append(t)
            below[t] = as_leaf[t]
        if t:
            below[tree.parent[t]] += below[t]
    return collapse(tree, np.array(cut, dtype=np.int64))
