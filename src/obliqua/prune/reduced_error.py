"""Reduced-error pruning (Quinlan 1987): cut every split that held-out rows do not need."""

from __future__ import annotations

from obliqua.data.problem import Problem
from obliqua.prune._sums import cut_upwards, node_errors
from obliqua.tree.tree import Tree

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
    return cut_upwards(tree, node_errors(tree, problem), prune_root)
