"""Numbers for the levels of qualitative columns, for each tree its own.

The number of a level is the mean of what is learnt among the tree's rows that have it, less the
mean of all, drawn towards 0 as if some rows more had it; and, as chance has it, as much more or
less as such a mean is uncertain. So rows out of bag have no part in it, levels that say nothing
stand in another order in each tree, and so do levels that say the same.
"""

from __future__ import annotations

import numpy as np

from obliqua._core.base.rng import child_key, scattered
from obliqua._core.forest.trees import sum_levels
from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.forest.rows import ForestRows

__all__ = ["level_numbers", "places_of"]

#: So many rows more count 0 in the number of a level: rare ones stay near to it.
SHRINK = 10.0
_NUMBER_WIDTH = 3.0**0.5  # a uniform number between minus and plus this has a variance of 1


def level_numbers(
    rows: ForestRows, weights: FloatArray, times: Int32Array, key: int
) -> FloatArray:
    """Return the numbers of all levels, column by column, that of what is missing last.

    `weights` and `times`: of the tree's rows. A level that none of them has counts 0.
    """
    numbers = np.zeros(int(rows.level_ptr[-1]))
    columns = np.flatnonzero(np.diff(rows.level_ptr))
    if not len(columns):
        return numbers
    total, unit = _sum(weights), _sum(weights) / float(times.sum())
    sums = np.zeros((len(numbers), 3))
    # All columns at once, unless each chooses by what its levels are told apart.
    for some in columns[:, None] if rows.has_choice else [columns]:
        off = _learnt(rows, weights, child_key(key, int(some[0])))
        off -= _sum(weights * off) / total
        sum_levels(rows.rank, some, rows.level_ptr, weights, times, off, sums)
        spread = (_sum(weights * off * off) / total) ** 0.5
        for column in some.tolist():
            first, end = rows.level_ptr[column : column + 2].tolist()
            weight, n_rows, learnt = sums[first:end].T
            chance = _uniform(child_key(key, column), end - first) * spread
            chance /= np.sqrt(n_rows + SHRINK)
            share = learnt / (weight + SHRINK * unit)
            numbers[first:end] = np.where(n_rows > 0, share + chance, 0.0)
    # As floats, which is how directions see them.
    return numbers.astype(np.float32).astype(np.float64)


def _learnt(rows: ForestRows, weights: FloatArray, key: int) -> FloatArray:
    """Return what levels are told apart by: whether rows are of a class, or one of the outputs.

    Of more than two classes it is one that is drawn by its weight.
    """
    share = float((_uniform(child_key(key, 0), 1)[0] / _NUMBER_WIDTH + 1.0) / 2.0)
    if rows.target.ndim == 2:
        n_outputs = rows.target.shape[1]
        return np.array(rows.target[:, min(int(share * n_outputs), n_outputs - 1)])
    wanted = 1
    if rows.has_choice:
        shares = np.cumsum(np.bincount(rows.target, weights))
        wanted = int(np.searchsorted(shares, share * shares[-1], side="right"))
    return np.asarray(rows.target == wanted, dtype=np.float64)


def _sum(values: FloatArray) -> float:
    """Return the sum, added one by one in the order of rows, on every processor."""
    return float(np.add.accumulate(values)[-1])


def _uniform(key: int, n: int) -> FloatArray:
    """Return random numbers of variance 1."""
    bits = scattered(np.full(n, key, dtype=np.uint64), np.arange(1, n + 1))
    return np.asarray(((bits >> np.uint64(11)) * 2.0**-52 - 1.0) * _NUMBER_WIDTH)


def places_of(numbers: FloatArray, level_ptr: Int64Array) -> Int32Array:
    """Return the place of each number among those of its column; equal ones share theirs."""
    places = np.zeros(len(numbers), dtype=np.int32)
    for first, end in zip(level_ptr[:-1].tolist(), level_ptr[1:].tolist(), strict=True):
        if first < end:
            places[first:end] = np.unique(numbers[first:end], return_inverse=True)[1]
    return places
