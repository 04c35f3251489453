"""The rows of a problem as the trees of a forest see them.

Rows that are equal are one row that counts several times, and rows stand in the order of a hash of
their content: neither the order in which they come, nor a weight of 2 in the place of a repeated
row, changes anything.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import row_hashes
from obliqua._core.grow.coding import code_columns
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.data.problem import Problem
from obliqua.data.target import Classes, Numbers
from obliqua.data.weights import round_significant
from obliqua.tree.layout import pointers

__all__ = ["ForestRows", "forest_rows"]

#: A whole weight up to this is so many rows that are drawn each by itself.
MOST_PIECES = 64
#: So many rows more count 0 in the number of a level: rare ones stay near to it.
SHRINK = 10.0
#: The seed of the hash that tells rows apart.
_SEED = 0x6F626C69717561


@dataclass(frozen=True, eq=False)
class ForestRows:
    """Different rows, in an order of their own."""

    Z: AnyArray  # the rows of the problem
    source: Int64Array  # (n,): where each row stands in Z
    group: Int64Array  # (n_rows of the problem,): which row each of these is
    keys: NDArray[np.uint64]  # (n,): the hash of each row
    pieces: Int64Array  # (n,): of how many pieces it consists, which are drawn by themselves
    count: Int64Array  # (n_rows of the problem,): how many of them are those of each of these
    weights: FloatArray  # (n,): what it weighs in units, all of its pieces together
    unit: float  # a power of two; products of three weights would leave the range of doubles
    target: AnyArray  # (n,) classes, or (n, n_outputs) numbers
    # columns
    rank: Int32Array  # (n, p): place of a value among those of its column; -1: missing
    x: NDArray[np.float32]  # (n, p): values about a middle one, times 2^-exponent
    exponent: Int32Array  # (p,)
    stand_in: FloatArray  # (p,): what a missing number counts in a direction
    level_ptr: Int64Array  # (p + 1,): where the numbers of the levels of a column begin
    level: FloatArray  # those numbers, that of a missing level last
    has_missing: UInt8Array  # (p,): of columns of numbers

    @property
    def n(self) -> int:
        """The number of different rows."""
        return len(self.keys)

    @property
    def fingerprint(self) -> str:
        """What tells these rows, with their weights, from others."""
        state = hashlib.sha256(self.keys.tobytes())
        state.update(self.pieces.tobytes())
        state.update(self.weights.tobytes())
        state.update(repr(self.unit).encode())
        return state.hexdigest()

    def without_columns(self) -> ForestRows:
        """Return what samples are drawn from, alone."""
        none = {name: getattr(self, name)[:0] for name in ("Z", "source", "group", "rank", "x")}
        return replace(self, **none)

    def without(self, drawn: UInt8Array) -> BoolArray:
        """Return which rows of the problem have no piece among those that were drawn."""
        order = np.argsort(self.group, kind="stable")
        ends = np.cumsum(self.count[order])
        found = np.empty(len(order), dtype=bool)
        found[order] = np.add.reduceat(drawn, ends - self.count[order], dtype=np.int64) == 0
        return found


def forest_rows(problem: Problem) -> ForestRows:
    """Return the rows of a problem as trees of a forest see them."""
    hashes = row_hashes(problem.Z, problem.target.labels(), _SEED)
    keys, source, group = np.unique(hashes, return_index=True, return_inverse=True)
    n = len(keys)
    count = np.ones(problem.n_rows, dtype=np.int64)
    weights = problem.weights
    if weights is not None and problem.row_counts is not None:
        count = np.where(problem.row_counts <= MOST_PIECES, problem.row_counts, 1)
    pieces = np.zeros(n, dtype=np.int64)
    np.add.at(pieces, group, count)
    total = pieces
    if weights is not None:
        total = np.zeros(n, dtype=np.int64)
        np.add.at(total, group, weights)
    target: AnyArray
    if isinstance(problem.target, Classes):
        target = problem.target.codes[source]
    else:
        assert isinstance(problem.target, Numbers)
        target = np.ascontiguousarray(problem.target.values[source])
    p = problem.n_features
    rank, x = np.empty((n, p), dtype=np.int32), np.empty((n, p), dtype=np.float32)
    exponent = np.zeros(p, dtype=np.int32)
    stand_in = np.where(problem.n_levels > 0, 0.0, problem.stand_ins)
    levels = [
        _level_numbers(problem, source, total, j) if problem.n_levels[j] else np.empty(0)
        for j in range(p)
    ]
    for j in range(p):
        values = np.asarray(problem.Z[source, j], dtype=np.float64)
        if len(levels[j]):
            values = levels[j][np.where(np.isnan(values), -1.0, values).astype(np.int64)]
        rank[:, j], x[:, j], exponent[j] = _column(values, float(stand_in[j]))
    return ForestRows(
        Z=problem.Z,
        source=source.astype(np.int64),
        group=group.astype(np.int64),
        keys=keys,
        pieces=pieces,
        count=count,
        weights=total.astype(np.float64),
        unit=problem.unit,
        target=target,
        rank=rank,
        x=x,
        exponent=exponent,
        stand_in=stand_in,
        level_ptr=pointers(np.array([len(numbers) for numbers in levels])),
        level=np.concatenate([np.empty(0), *levels]),
        has_missing=(problem.has_missing & (problem.n_levels == 0)).astype(np.uint8),
    )


def _level_numbers(
    problem: Problem, source: Int64Array, weights: Int64Array, column: int
) -> FloatArray:
    """Return a number for each level of a column, and one for what is missing.

    That is the first discriminant coordinate of the levels (CRIMCOORD, see `coding.pyx`), or the
    mean of what is learnt, the first output; drawn towards 0, which is what a level counts that
    nobody knows, as if `SHRINK` rows more had it.
    """
    codes = np.asarray(problem.Z[source, column], dtype=np.float64)
    n_levels = int(problem.n_levels[column])
    place = np.where(np.isnan(codes), n_levels, codes).astype(np.int64)
    rows = np.bincount(place, weights=weights * problem.row_unit, minlength=n_levels + 1)
    if isinstance(problem.target, Classes):
        there, classes = np.unique(problem.target.codes[source], return_inverse=True)
        counts = np.zeros(len(there), dtype=np.int64)
        np.add.at(counts, classes, weights)
        limits = np.array([n_levels], dtype=np.int32), np.zeros(1)
        numbers, _ = code_columns(
            codes[None, :].copy(), classes.astype(np.int32), weights, counts, *limits, True
        )
    else:
        assert isinstance(problem.target, Numbers)
        values = problem.target.values[source, 0]
        units = weights * problem.row_unit
        values = values - np.bincount(place * 0, weights=units * values)[0] / rows.sum()
        sums = np.bincount(place, weights=units * values, minlength=n_levels + 1)
        numbers = np.divide(sums, rows, out=np.zeros(n_levels + 1), where=rows > 0)
    return round_significant(numbers * (rows / (rows + SHRINK)))


def _column(values: FloatArray, stand_in: float) -> tuple[Int32Array, NDArray[np.float32], int]:
    """Return the ranks of values, and their distances from a middle one as floats."""
    missing = np.isnan(values)
    if missing.all():
        return np.full(len(values), -1, np.int32), np.zeros(len(values), np.float32), 0
    distinct, place = np.unique(values[~missing], return_inverse=True)
    rank = np.full(len(values), -1, dtype=np.int32)
    rank[~missing] = place
    # Differences from a value in the middle keep all digits where most rows are.
    middle = np.searchsorted(np.cumsum(np.bincount(place)), (len(place) + 1) // 2)
    far = int(np.frexp(max(abs(distinct[0]), abs(distinct[-1])))[1])
    off = np.ldexp(np.where(missing, stand_in, values), -far) - np.ldexp(distinct[middle], -far)
    near = int(np.frexp(np.abs(off).max())[1])
    return rank, np.ldexp(off, -near).astype(np.float32), far + near
