"""How much each feature varies among the rows at a node: Tree in, Tree out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.spread import node_spread
from obliqua._typing import FloatArray, Rows
from obliqua.errors import TreeError
from obliqua.tree import Tree

__all__ = ["measure_spread"]

COLUMNS_AT_ONCE = 32  # bounds the memory: four numbers per node and column


def measure_spread(
    tree: Tree, Z: Rows, weights: ArrayLike | None = None, n_threads: int = 1
) -> Tree:
    """Measure the standard deviation of each feature of a split at its node.

    A coefficient says what a unit of its feature counts. How much the feature moves the rows
    at this node is the coefficient times this standard deviation; importances, and the order of
    terms and the digits of numbers in texts and pictures go by that. Estimators call this at
    the end of `fit`. Columns with level tables are passed over.

    Parameters
    ----------
    tree : Tree
        The tree; it is not changed.
    Z : ndarray of shape (n_rows, n_features)
        The rows to measure on, usually those that the tree was grown from.
    weights : array-like of shape (n_rows,), default=None
        Their weights.
    n_threads : int, default=1
        How many threads may share the work of finding each row's leaf.

    Returns
    -------
    Tree
        The same tree with `spread` filled in, rounded to 24 significant bits. It stays NaN at
        nodes that no row reaches.

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
    wanted = np.flatnonzero(np.diff(tree.table_ptr) == 0)
    if len(wanted) == 0:
        return tree
    leaf = tree.apply(Z, n_threads)
    if len(leaf) == 0:
        raise TreeError("The spread of features is measured on rows; got none.")
    given = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if given is not None and given.shape != leaf.shape:
        raise TreeError(f"There must be one weight per row, {len(leaf)}; got shape {given.shape}.")
    node = tree.node_of_plane[tree.plane_of_coef[wanted]]
    columns, place = np.unique(tree.coef_idx[wanted], return_inverse=True)
    spread = tree.spread.copy()
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        block = columns[start : start + COLUMNS_AT_ONCE]
        middle, exponent = _frame(Z, block)
        found = node_spread(Z, leaf, given, tree.parent, block, middle, exponent)
        here = (place >= start) & (place < start + len(block))
        spread[wanted[here]] = found[node[here], place[here] - start]
    return replace(tree, spread=spread)


def _frame(Z: Rows, columns: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """Return the middle of each column's range, and a power of two that it does not leave."""
    # Column by column, so that no copy of the rows is made.
    low = np.array([Z[:, column].min() for column in columns.tolist()], dtype=np.float64)
    high = np.array([Z[:, column].max() for column in columns.tolist()], dtype=np.float64)
    middle = low / 2 + high / 2
    _, exponent = np.frexp(np.maximum(high - middle, middle - low))
    return middle, exponent.astype(np.int32)
