"""One tree out of several: the one that makes the fewest errors on some rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from obliqua._typing import FloatArray
from obliqua.data.problem import Problem
from obliqua.tree.tree import Tree

__all__ = ["choose_tree"]


def choose_tree(trees: Sequence[Tree], problem: Problem) -> tuple[int, FloatArray]:
    """Choose the tree with the fewest errors, of equally good ones the smallest.

    Parameters
    ----------
    trees : sequence of Tree
        The trees, at least one.
    problem : Problem
        The rows to judge by, at least one. If the trees were grown from them, this favours trees
        that have learnt them by heart; among trees without errors, it is the smallest that wins.

    Returns
    -------
    number : int
        The place of the tree: of those with the least weight of rows in the wrong class, that
        with the fewest leaves, of these the first.
    errors : ndarray of shape (n_trees,)
        The share of the weight that each tree puts into a wrong class.
    """
    right = [tree.leaf_label.take(tree.apply(problem.Z)) == problem.y for tree in trees]
    # Weights are whole numbers whose sum a float64 holds, so equal errors are equal.
    total = np.bincount([0] * problem.n_rows, weights=problem.weights)[0]
    wrong = [total - np.bincount(kept, weights=problem.weights, minlength=2)[1] for kept in right]
    number = min(range(len(trees)), key=lambda k: (wrong[k], trees[k].n_leaves, k))
    return number, np.array(wrong, dtype=np.float64) / total
