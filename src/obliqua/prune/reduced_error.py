"""Errors on rows: reduced-error pruning (Quinlan 1987), and the choice of one tree out of several.

What all pruners share stands here too: sums over the rows that reach each node, and cutting from
the bottom up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.costs import cost_of
from obliqua.data.number_targets import Medians, with_loss
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS, Numbers
from obliqua.engine.linear_leaves import line_errors
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree

__all__ = ["choose_tree", "prune_reduced_error"]


def rounding_of(tree: Tree) -> float:
    """Return by which share of the root's errors may differ that are equal."""
    return Numbers.rounding if tree.costs else TASKS[tree.task].rounding


def add_upwards(tree: Tree, at_leaves: Int64Array) -> Int64Array:
    """Sum what stands at the leaves over the subtree of each node."""
    sums = at_leaves.copy()
    # Nodes stand level by level, and the children of a level's nodes are the next level.
    level_of = tree.node_depth
    starts = np.searchsorted(level_of, np.arange(tree.depth + 1)).tolist()
    for start, end in zip(starts[-2::-1], starts[:0:-1], strict=True):
        inner = start + np.flatnonzero(tree.n_children[start:end])
        children = slice(end, int(tree.first_child[inner[-1]] + tree.n_children[inner[-1]]))
        first = tree.first_child[inner] - end
        sums[inner] = np.add.reduceat(sums[children], first, axis=0)
    return sums


def node_errors(tree: Tree, problem: Problem) -> FloatArray:
    """Return what the rows that reach each node would cost if it were a leaf, in grid units."""
    leaf, target = tree.apply(problem.Z), with_loss(problem.target, tree)
    if isinstance(target, Medians):  # sums do not tell
        return target.node_errors(tree, leaf, problem.weights)
    rows = target.compiled(problem.weights)
    sums = add_upwards(tree, rows.sums_of_groups(leaf, tree.n_nodes))
    if tree.has_lines:
        return np.asarray(sums[:, 0] * line_errors(tree, problem, leaf))
    return target.errors(sums, tree.stats)


def cut_upwards(tree: Tree, as_leaf: FloatArray, prune_root: bool, slack: float = 0.0) -> Tree:
    """Cut, from the bottom up, each split whose leaves together err no less than the node."""
    errors = as_leaf.tolist()
    parent, is_leaf = tree.parent.tolist(), tree.is_leaf.tolist()
    below = [0.0] * tree.n_nodes
    cut = []
    # Children have larger numbers than their parent, so they are settled before it.
    for t in range(tree.n_nodes - 1, -1, -1):
        if not is_leaf[t] and errors[t] <= below[t] + slack and (t > 0 or prune_root):
            cut.append(t)
        elif not is_leaf[t]:
            errors[t] = below[t]
        if t > 0:
            below[parent[t]] += errors[t]
    return collapse(tree, np.array(cut, dtype=np.int64))


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
        The share of the weight that each tree puts into a wrong class; of trees with costs, what
        a row costs on average.
    """
    # Weights are whole numbers whose sum a float64 holds, so equal errors are equal.
    total = np.bincount([0] * problem.n_rows, weights=problem.weights)[0]
    wrong = np.array([_cost_of_rows(tree, problem) for tree in trees])
    slack = max(map(rounding_of, trees)) * wrong.max()
    best = np.flatnonzero(wrong <= wrong.min() + slack).tolist()
    return min(best, key=lambda k: (trees[k].n_leaves, k)), wrong / total


def _cost_of_rows(tree: Tree, problem: Problem) -> float:
    """Return what rows cost with a tree, in grid units."""
    said = tree.leaf_label.take(tree.apply(problem.Z))
    n = tree.n_stats
    pairs = np.bincount(problem.y * n + said, weights=problem.weights, minlength=n * n)
    wrong = pairs.reshape(n, n)
    return float(cost_of(wrong.T, np.arange(n), tree.costs).sum())


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
    errors = node_errors(tree, problem)
    return cut_upwards(tree, errors, prune_root, rounding_of(tree) * float(errors[0]))
