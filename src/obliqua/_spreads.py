"""Standard deviations of columns at all nodes of a tree, by several threads."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from obliqua._core.base.spread import leaf_ranges, leaf_sums, node_spread
from obliqua._sharing import each
from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

__all__ = ["node_spreads"]


def node_spreads(
    Z: Rows,
    leaf: Int64Array,
    weights: FloatArray | None,
    parent: Int64Array,
    columns: Int32Array,
    exponent: Int32Array,
    n_threads: int = 1,
) -> FloatArray:
    """Return the standard deviation of some columns at all nodes; NaN at nodes without weight.

    Parameters
    ----------
    Z : array of shape (n_rows, n_features)
        The rows.
    leaf : ndarray of int64
        Where each row ends.
    weights : ndarray or None
        Their weights, at most 2**53.
    parent : ndarray of int64
        The parent of each node, which comes before it.
    columns : ndarray of int32
        The columns.
    exponent : ndarray of int32
        Powers of two that no value of a column exceeds in size.
    n_threads : int, default=1
        How many threads share the rows. Sums have so many digits that it does not show.

    Returns
    -------
    ndarray of shape (n_nodes, n_columns)
        The standard deviations, to 24 significant bits.
    """
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
    # The middle of a leaf's range, which no order of rows changes.
    centre = np.zeros(low.shape)
    there = low <= high
    centre[there] = low[there] / 2 + high[there] / 2
    constant = low == high
    centre[constant] = low[constant]
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
