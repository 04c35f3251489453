"""Soft labels: trees from rows that belong to each class with a share, and trees that add up.

A row with the shares 0.7 and 0.3 is a row of the first class with weight 0.7 and one of the second
with weight 0.3. The Gini criterion then is the mean square error of the shares: with rows of equal
weight, what a split gains is by how much it reduces

    sum over rows and classes of (share - mean share in the node)^2 / rows.

So everything that grows trees from classes and weights grows them from soft labels too, oblique
splits included. What is left over when a tree has said its part is again a number per row and
class, and adds up to 0 in each row. Shifted until nothing is negative and divided by its sum, it
is a soft label, for which the Gini criterion is the square error in another unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from obliqua._typing import FloatArray, Int64Array, Rows
from obliqua.data.problem import Problem, encode
from obliqua.data.table import Table
from obliqua.data.target import Numbers
from obliqua.tree.tree import Tree

__all__ = ["additive_trees", "soft_problem", "summed"]

#: Sums of weights up to this many bits are compared the fast way.
_FAST_BITS = 31
_MOST_BITS = 20
_FEWEST_BITS = 8

# What no split can tell from nothing: left over per row and class, in shares.
_NOTHING = 1e-9


def soft_problem(
    table: Table, shares: FloatArray, *, fill: str = "node", parts: int = 0, seed: int = 0
) -> Problem:
    """Make a problem of rows that belong to each class with a share.

    Parameters
    ----------
    table : Table
        The rows.
    shares : ndarray of shape (n_rows, n_classes)
        What share of each row belongs to each class: none is negative, and those of a row add up
        to 1.
    fill : {"side", "node", "training"}, default="node"
        What becomes of a missing number, see `encode`.
    parts : int, default=0
        Into how many equal parts a row is cut at most, each of which belongs to one class. Which
        it is is drawn, so that the mean over draws is the share. 0: as exactly as weights allow
        that are compared fast, which is to 20 bits for 2,048 rows and to 14 for 131,072.
    seed : int, default=0
        The seed of what is drawn.

    Returns
    -------
    Problem
        Each row as often as it has classes, with weights; all rows weigh the same together.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua.data import read_table
    >>> from obliqua.engine import soft_problem
    >>> rows = soft_problem(read_table([[1.0], [2.0]]), np.array([[0.75, 0.25], [0.0, 1.0]]))
    >>> rows.Z[:, 0], rows.y
    (array([1., 1., 2.]), array([0, 1, 1], dtype=int32))
    >>> rows.weights * rows.unit / (rows.weights[2] * rows.unit)
    array([0.75, 0.25, 1.  ])
    """
    n_rows, n_classes = shares.shape
    if parts:
        offset = np.random.default_rng(seed).random((n_rows, 1))
        units = parts
    else:
        offset = np.full((1, 1), 0.5)
        bits = _FAST_BITS - (n_rows - 1).bit_length()
        units = 2 ** max(_FEWEST_BITS, min(_MOST_BITS, bits))
    # Ends of the classes on a line of units; the sums of a row are exact whatever is rounded.
    ends = np.cumsum(shares, axis=1) * units
    ends[:, -1] = units
    counts = np.diff(np.floor(np.minimum(ends, units) + offset), axis=1, prepend=0.0)
    rows, classes = np.nonzero(counts)
    repeated = Table(table.Z[rows], table.encoding, table.has_missing)
    return encode(repeated, classes, n_classes, sample_weight=counts[rows, classes], fill=fill)


def additive_trees(
    table: Table,
    shares: FloatArray,
    max_leaves: int,
    n_trees: int,
    grown: Callable[[FloatArray, int, int], Tree],
) -> list[Tree]:
    """Grow trees one after another, each from what those before it have left over.

    Parameters
    ----------
    table : Table
        The rows.
    shares : ndarray of shape (n_rows, n_classes)
        What share of each row belongs to each class.
    max_leaves : int
        The most leaves of all trees together: at least two for each. What a tree does not need
        is for those after it.
    n_trees : int
        The most trees. There are fewer if nothing is left over that a split could tell apart.
    grown : callable
        Grows a tree from soft labels, with at most so many leaves; it also gets the number of
        the tree.

    Returns
    -------
    list of Tree
        The trees. The first is one of classes, and its stats are sums of shares. The others are
        trees of numbers, with an output for each class: the mean of what was left over. A model
        adds them up with ``combine="sum"``.
    """
    n_classes = shares.shape[1]
    trees: list[Tree] = []
    rest, left = shares, max_leaves
    for number in range(n_trees):
        shift = 0.0
        if number:
            shift = -float(rest.min())
            if shift <= _NOTHING:
                break
        whole = n_classes * shift if number else 1.0
        allowed = -(-left // (n_trees - number))
        tree = grown(np.maximum((rest + shift) / whole, 0.0), allowed, number)
        if number and tree.n_leaves == 1:
            break
        tree, leaf = summed(tree, table.Z, rest)
        added = tree.stats / np.maximum(tree.n_samples, 1)[:, None]
        rest = rest - added[leaf]
        if number:
            tree = _of_numbers(tree, added, rest, leaf)
        # Gains in squared shares, whatever the shift: those of all trees can be compared.
        trees.append(replace(tree, gain=tree.gain * whole**2, axis_gain=tree.axis_gain * whole**2))
        left -= tree.n_leaves
        # Rounding: what is left over adds up to 0 in each row.
        rest -= rest.mean(axis=1, keepdims=True)
    return trees


def summed(tree: Tree, Z: Rows, values: FloatArray) -> tuple[Tree, Int64Array]:
    """Give a tree the sums of values over rows as its stats, and the number of rows."""
    leaf = tree.apply(Z)
    stats = np.zeros((tree.n_nodes, values.shape[1]))
    rows = np.bincount(leaf, minlength=tree.n_nodes)
    for column, value in enumerate(values.T):
        stats[:, column] = np.bincount(leaf, weights=value, minlength=tree.n_nodes)
    # Children stand after their parents.
    for node in range(tree.n_nodes - 1, 0, -1):
        parent = tree.parent[node]
        stats[parent] += stats[node]
        rows[parent] += rows[node]
    return replace(tree, stats=stats, n_samples=rows.astype(np.int64)), leaf


def _of_numbers(tree: Tree, means: FloatArray, rest: FloatArray, leaf: Int64Array) -> Tree:
    """Return a tree of numbers: the means at its nodes, and what they leave over of the rows."""
    error = np.bincount(leaf, weights=(rest**2).sum(axis=1), minlength=tree.n_nodes)
    for node in range(tree.n_nodes - 1, 0, -1):
        parent = tree.parent[node]
        apart = float(((means[node] - means[parent]) ** 2).sum())
        error[parent] += error[node] + tree.n_samples[node] * apart
    stats = np.column_stack([tree.n_samples, means, error])
    return replace(tree, stats=stats, task=Numbers.task)
