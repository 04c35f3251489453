"""Sums over the rows that reach each node of a tree."""

from __future__ import annotations

import numpy as np

from obliqua._typing import FloatArray
from obliqua.data.problem import Problem
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree


def add_upwards(tree: Tree, at_leaves: FloatArray) -> FloatArray:
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
    """Return what each node would misclassify as a leaf."""
    cell = tree.apply(problem.Z) * tree.n_stats + problem.y
    size = tree.n_nodes * tree.n_stats
    counts = np.bincount(cell, weights=problem.weights, minlength=size).astype(np.float64)
    counts = add_upwards(tree, counts.reshape(tree.n_nodes, tree.n_stats))
    right: FloatArray = counts[np.arange(tree.n_nodes), tree.leaf_label]
    return np.asarray(counts.sum(axis=1) - right)


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
