"""Columns that are not plain numbers: codes of levels, and numbers some of which are missing.

Their numbers differ from node to node, so they cannot be sorted once for the whole tree.
"""

from __future__ import annotations

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int32Array
from obliqua.data import Problem

__all__ = ["column_means", "is_odd", "odd_columns"]

VALUE_BITS = 24


def is_odd(problem: Problem) -> BoolArray:
    """Return whether each column is qualitative or has missing values."""
    odd = np.zeros(problem.n_features, dtype=bool)
    if problem.n_levels is not None:
        odd |= np.asarray(problem.n_levels) > 0
    if problem.has_missing is not None:
        odd |= np.asarray(problem.has_missing, dtype=bool)
    return odd


def odd_columns(problem: Problem) -> Int32Array:
    """Return the numbers of the odd columns."""
    return np.flatnonzero(is_odd(problem)).astype(np.int32)


def column_means(problem: Problem) -> FloatArray:
    """Return the mean of each column over the rows that have a value; 0 where none has.

    From sums of whole numbers, so that the order of the rows does not matter. Of a qualitative
    column it means nothing.
    """
    weights = problem.weights
    means = np.zeros(problem.n_features)
    for k in range(problem.n_features):
        column = problem.Z[:, k].astype(np.float64)
        there = ~np.isnan(column)
        w = None if weights is None else weights
        if not there.all():
            column = column[there]
            w = None if w is None else w[there]
        if len(column) == 0:
            continue
        low, high = column.min(), column.max()
        middle = low / 2 + high / 2
        _, exponent = np.frexp(max(high - middle, middle - low))
        exponent = max(int(exponent), -900)
        whole = np.rint(np.ldexp(column - middle, VALUE_BITS - exponent)).astype(np.int64)
        total, weight = _weighted_sum(whole, w)
        means[k] = middle + np.ldexp(total / weight, exponent - VALUE_BITS)
        if low == high:
            means[k] = low
    return means


def _weighted_sum(whole: np.ndarray, weights: np.ndarray | None) -> tuple[int, int]:
    """Sum exactly: weights in two halves, so that no product leaves 64 bits."""
    if weights is None:
        return int(whole.sum()), len(whole)
    high, low = weights >> 26, weights & (2**26 - 1)
    # Pieces of at most 2^50; as many as there are rows may leave 64 bits, so they are halved too.
    total = 0
    for part, shift in ((high, 26), (low, 0)):
        product = whole * part
        total += (int((product >> 26).sum()) << (26 + shift)) + (
            int((product & (2**26 - 1)).sum()) << shift
        )
    return total, int(weights.sum())
