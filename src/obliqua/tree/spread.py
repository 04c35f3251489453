"""How much each feature varies among the rows at a node: Tree in, Tree out."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.base.spread import leaf_ranges, leaf_sums, node_spread
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import SparseRows
from obliqua.data.table import checked_rows, missing_columns
from obliqua.data.threads import each, over_rows
from obliqua.data.weights import round_significant
from obliqua.errors import TreeError
from obliqua.tree.tree import Tree

__all__ = [
    "measure_spread",
    "measure_spread_of_grown",
    "multiplied_spreads",
    "node_spreads",
    "with_coded_spreads",
]

MANY_LEAVES = 1000  # of trees that nobody reads
COLUMNS_AT_ONCE = 32  # bounds the memory: four numbers per node and column


def measure_spread(
    tree: Tree, Z: Rows, weights: ArrayLike | None = None, n_threads: int = 1
) -> Tree:
    """Measure the standard deviation of each feature of a split at its node.

    A coefficient says what a unit of its feature counts. How much the feature moves the rows
    at this node is the coefficient times this standard deviation; importances, and the order of
    terms and the digits of numbers in texts and pictures go by that. Estimators do the same at
    the end of `fit`, in trees with more than 1,000 leaves only for splits with several features.
    Columns with level tables or missing values keep what was measured while growing, because
    their numbers differ from node to node.

    Parameters
    ----------
    tree : Tree
        The tree; it is not changed.
    Z : ndarray of shape (n_rows, n_features)
        The rows to measure on, usually those that the tree was grown from.
    weights : array-like of shape (n_rows,), default=None
        Their weights.
    n_threads : int, default=1
        How many threads may share the work.

    Returns
    -------
    Tree
        The same tree with `spread` filled in, rounded to 24 significant bits. It stays NaN at
        nodes that no row reaches.

    Raises
    ------
    TypeError
        If `tree` is no tree.
    TreeError
        If there are no rows.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua import TreeBuilder, measure_spread
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0, 1: -2.0}, 0.5, ("low", "high"))
    >>> builder.set_leaf("low", [3, 0])
    >>> builder.set_leaf("high", [0, 2])
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 3.0], [6.0, 3.0]])
    >>> measure_spread(builder.build(), rows).spread
    array([2.23606801, 1.        ])
    """
    if not isinstance(tree, Tree):
        raise TypeError(
            f"measure_spread() takes a Tree; got {type(tree).__name__}. That of an estimator is "
            "`tree_`."
        )
    return _measured(tree, Z, weights, n_threads, np.diff(tree.table_ptr) == 0)


def measure_spread_of_grown(
    tree: Tree, Z: Rows, weights: ArrayLike | None, n_threads: int
) -> Tree:
    """Measure the spread in a tree that was just grown: what its readers will ask for.

    Of splits with one feature only the digits of texts depend on it, and nobody reads thousands
    of leaves.
    """
    return _measured(tree, Z, weights, n_threads, read_coefficients(tree))


def read_coefficients(tree: Tree) -> BoolArray:
    """Say of which coefficients of a grown tree the spread is measured."""
    wanted = np.asarray(np.diff(tree.table_ptr) == 0)
    if tree.n_leaves > MANY_LEAVES:
        terms = np.diff(tree.coef_ptr[tree.plane_ptr])
        wanted &= np.repeat(terms > 1, terms)
    return wanted


def _measured(
    tree: Tree, Z: Rows, weights: ArrayLike | None, n_threads: int, wanted: BoolArray
) -> Tree:
    """Measure the spread of some coefficients."""
    if not wanted.any():
        return tree
    leaf = tree.apply(Z, n_threads)
    if len(leaf) == 0:
        raise TreeError("The spread of features is measured on rows; got none.")
    if not isinstance(Z, SparseRows):
        Z = checked_rows(Z, missing=True)
    places = np.flatnonzero(wanted & ~missing_columns(Z)[tree.coef_idx])
    given = None if weights is None else _checked_weights(weights, len(leaf))
    node = tree.node_of_plane[tree.plane_of_coef[places]]
    columns, column = np.unique(tree.coef_idx[places], return_inverse=True)
    spread = tree.spread.copy()
    exponents = None if isinstance(Z, SparseRows) else _exponents(Z, columns, n_threads)
    number, parent = told_apart(tree.parent, node)
    leaf, node = number[leaf], number[node]
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        block = columns[start : start + COLUMNS_AT_ONCE]
        rows = Z
        if isinstance(Z, SparseRows):
            rows, block = Z.dense(block), np.arange(len(block), dtype=np.int32)
        scale = (
            _exponents(rows, block, n_threads)
            if exponents is None
            else exponents[start : start + COLUMNS_AT_ONCE]
        )
        found = node_spreads(rows, leaf, given, parent, block, scale, n_threads)
        here = (column >= start) & (column < start + len(block))
        spread[places[here]] = found[node[here], column[here] - start]
    return replace(tree, spread=spread)


def told_apart(parent: Int64Array, wanted: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the smaller tree that tells the rows of some nodes apart.

    These are the wanted nodes, all above them, and the children of both. Returned are the number
    in it of each node, or else of the lowest node above that is in it, and the parents in it.
    """
    above = np.zeros(len(parent), dtype=bool)
    here = np.unique(wanted)
    while len(here):
        above[here] = True
        here = np.unique(parent[here])
        here = here[(here >= 0) & ~above[here]]
    kept = above[parent]
    kept[0] = True
    at = np.where(kept, np.arange(len(parent)), parent)
    while not kept[at].all():
        at = at[at]
    number = np.cumsum(kept) - 1
    return number[at], np.where(parent[kept] < 0, -1, number[parent[kept]])


def middles(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the middles of the ranges of leaves, which no order of rows changes."""
    centre = np.zeros(low.shape)
    there = low <= high
    centre[there] = low[there] / 2 + high[there] / 2
    constant = low == high
    centre[constant] = low[constant]
    return centre


def _checked_weights(weights: ArrayLike, n_rows: int) -> FloatArray:
    given = np.ascontiguousarray(weights, dtype=np.float64)
    if given.shape != (n_rows,):
        raise TreeError(f"There must be one weight per row, {n_rows}; got shape {given.shape}.")
    if not (np.isfinite(given) & (given >= 0)).all():
        raise TreeError("Weights must be finite and not negative; some are not.")
    # Their scale means nothing; brought near 1 they can neither overflow nor vanish.
    _, exponent = np.frexp(given.max())
    return np.ldexp(given, -exponent)


def _exponents(Z: Rows, columns: Int32Array, n_threads: int) -> Int32Array:
    """Return powers of two that no value of a column exceeds in size."""

    def largest(first: int, last: int) -> FloatArray:
        rows = Z[first:last]
        low, high = rows.min(axis=0)[columns], rows.max(axis=0)[columns]
        return np.maximum(np.abs(low.astype(np.float64)), np.abs(high.astype(np.float64)))

    size = np.maximum.reduce(over_rows(largest, len(Z), n_threads))
    return np.frexp(size)[1].astype(np.int32)


def node_spreads(
    Z: Rows,
    leaf: Int64Array,
    weights: FloatArray | None,
    parent: Int64Array,
    columns: Int32Array,
    exponent: Int32Array,
    n_threads: int = 1,
) -> FloatArray:
    """Return the standard deviation of some columns at all nodes; NaN at nodes without weight."""
    n_threads = max(1, n_threads)
    # Within these exponents a power of two and its inverse are exact.
    exponent = np.clip(exponent, -1000, 1000).astype(np.int32)
    factor = np.ldexp(1.0, -exponent)
    ends = [len(leaf) * k // n_threads for k in range(n_threads + 1)]
    parts = [slice(start, end) for start, end in pairwise(ends)]
    found = each(
        lambda part: leaf_ranges(Z[part], leaf[part], len(parent), columns, factor),
        parts,
        n_threads,
    )
    low = np.minimum.reduce([one for one, _ in found])
    high = np.maximum.reduce([one for _, one in found])
    centre = middles(low, high)
    sums = each(
        lambda part: leaf_sums(
            Z[part],
            leaf[part],
            None if weights is None else weights[part],
            columns,
            factor,
            centre,
        ),
        parts,
        n_threads,
    )
    return node_spread(sums, (low, high), centre, parent, exponent)


class Multiplied(Protocol):
    """Coefficients with what they multiply: of splits, a `Tree`, or of linear functions."""

    @property
    def coef_idx(self) -> Int32Array: ...

    @property
    def fill(self) -> FloatArray: ...

    @property
    def table_ptr(self) -> Int64Array: ...

    @property
    def table(self) -> FloatArray: ...


def with_coded_spreads(tree: Tree, problem: Problem) -> Tree:
    """Fill in the standard deviations of columns that are qualitative or have missing values."""
    wanted = np.flatnonzero(problem.coded[tree.coef_idx])
    if not len(wanted):
        return tree
    spread = tree.spread.copy()
    node = tree.node_of_plane[tree.plane_of_coef]
    spread[wanted] = multiplied_spreads(tree, problem, tree, node, wanted)
    return replace(tree, spread=round_significant(spread))


def multiplied_spreads(
    tree: Tree, problem: Problem, given: Multiplied, node_of: Int64Array, wanted: Int64Array
) -> FloatArray:
    """Return how much what some coefficients multiply varies at the nodes that they belong to."""
    leaf = tree.apply(problem.Z)
    weights = np.ones(problem.n_rows)
    if problem.weights is not None:
        weights = problem.weights.astype(np.float64)
    below: dict[int, Int64Array] = {}
    found = []
    for k in wanted.tolist():
        node = int(node_of[k])
        if node not in below:
            below[node] = np.flatnonzero(_leaves_below(tree, node)[leaf])
        rows = below[node]
        values = _values(given, k, problem.Z[rows, given.coef_idx[k]].astype(np.float64))
        found.append(_deviation(values, weights[rows]))
    return np.array(found)


def _leaves_below(tree: Tree, node: int) -> BoolArray:
    """Say which nodes are a node or below it."""
    inside = np.zeros(tree.n_nodes, dtype=bool)
    inside[node] = True
    for kid in range(node + 1, tree.n_nodes):  # children stand behind their parents
        inside[kid] = inside[tree.parent[kid]]
    return inside


def _values(given: Multiplied, k: int, raw: FloatArray) -> FloatArray:
    """Return what coefficient k multiplies at some rows."""
    table = given.table[given.table_ptr[k] : given.table_ptr[k + 1]]
    absent = np.isnan(raw)
    if len(table):
        codes = np.where(absent, 0, raw).astype(np.int64)
        known = (codes >= 0) & (codes < len(table))
        raw = np.where(known, table[np.where(known, codes, 0)], 0.0)
    return np.where(absent, given.fill[k], raw)


def _deviation(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted standard deviation; NaN without rows, or if it is beyond float64."""
    if len(values) == 0:
        return float("nan")
    share = weights / weights.sum()
    with np.errstate(over="ignore", invalid="ignore"):
        middle = float((share * values).sum())
        found = float(np.sqrt((share * (values - middle) ** 2).sum()))
    return found if np.isfinite(found) else float("nan")
