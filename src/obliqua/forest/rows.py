"""The rows of a problem as the trees of a forest see them.

Rows that are equal are one row that counts several times, and rows stand in the order of a hash of
their content: neither the order in which they come, nor a weight of 2 in the place of a repeated
row, changes anything.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import scattered
from obliqua._core.forest.trees import rank_entries
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import hashes_of
from obliqua.data.target import Classes, Numbers
from obliqua.tree.layout import pointers

__all__ = ["ColumnFloats", "ForestRows", "fingerprint_of", "forest_rows", "mark_of", "ranks_of"]

#: Whole weights, if none is above this, are so many rows that are drawn each by itself.
MOST_PIECES = 64
#: So many rows and their tree have numbers of 32 bits.
MOST_ROWS = 2**30
#: The seed of the hash that tells rows apart.
ROW_SEED = 0x6F626C69717561


@dataclass(frozen=True, eq=False)
class SparseEntries:
    """What is not 0 in sparse columns, by entry, one column behind the other."""

    ptr: Int64Array  # (p + 1,): where each column begins
    row: Int32Array  # ascending in a column
    rank: Int32Array  # as those of `ForestRows`
    x: NDArray[np.float32]
    value: FloatArray
    zero_rank: Int32Array  # (p,): of 0
    zero_x: NDArray[np.float32]  # (p,)
    row_ptr: Int64Array  # (n + 1,): where the columns of each row's entries begin
    row_column: Int32Array


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
    # (n, p): place of a value among those of its column, -1: missing; of a qualitative column the
    # level, where what is missing is the last one
    rank: Int32Array
    n_values: Int32Array  # (p,): how many different values there are, or levels
    x: NDArray[np.float32]  # (n, p): values about a middle one, times 2^-exponent
    exponent: Int32Array  # (p,)
    stand_in: FloatArray  # (p,): what a missing number counts in a direction
    level_ptr: Int64Array  # (p + 1,): where the levels of a column begin, the missing one last
    has_missing: UInt8Array  # (p,): of columns of numbers
    has_choice: bool  # whether there is more than one thing that levels can be told apart by
    entries: SparseEntries | None = None  # in the place of `rank` and `x`, if columns are sparse

    @property
    def n(self) -> int:
        """The number of different rows."""
        return len(self.keys)

    @property
    def n_counted(self) -> int:
        """As how many rows all rows of the problem count."""
        return int(self.pieces.sum())

    @property
    def fingerprint(self) -> str:
        """What tells these rows, with their weights, from others."""
        mark = mark_of(self.keys, self.pieces, self.weights, self.target)
        return fingerprint_of(mark, self.n, self.unit, self.level_ptr)

    def without_columns(self) -> ForestRows:
        """Return what samples are drawn from, alone."""
        names = ("source", "group", "count", "rank", "x")
        parts: dict[str, Any] = {name: getattr(self, name)[:0].copy() for name in names}
        parts["Z"] = np.empty((0, self.Z.shape[1]), dtype=self.Z.dtype)
        return replace(self, **parts, entries=None)

    @cached_property
    def _piece_order(self) -> tuple[Int64Array, Int64Array]:
        """The rows of the problem in the order of pieces, and where the pieces of each begin.

        Of equal rows the lighter comes first, in whatever order they came.
        """
        order = np.lexsort((self.count, self.group))
        return order, np.cumsum(self.count[order]) - self.count[order]

    def without(self, drawn: UInt8Array) -> BoolArray:
        """Return which rows of the problem have no piece among those that were drawn."""
        order, begins = self._piece_order
        found = np.empty(len(order), dtype=bool)
        found[order] = np.add.reduceat(drawn, begins, dtype=np.int64) == 0
        return found


def forest_rows(problem: Problem) -> ForestRows:
    """Return the rows of a problem as trees of a forest see them."""
    hashes = hashes_of(problem.Z, problem.target.labels(), ROW_SEED)
    keys, source, group = np.unique(hashes, return_index=True, return_inverse=True)
    n = len(keys)
    count = np.ones(problem.n_rows, dtype=np.int64)
    weights = problem.weights
    if problem.row_counts is not None and problem.row_counts.max() <= MOST_PIECES:
        count = problem.row_counts
    if count.sum() > MOST_ROWS:
        raise ValueError(
            f"A forest grows from at most {MOST_ROWS} rows; got {problem.n_rows}, which count as "
            f"{int(count.sum())}. Take a part of them."
        )
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
    stand_in = np.where(problem.n_levels > 0, 0.0, problem.stand_ins)
    columns = _sparse_columns if problem.is_sparse else _dense_columns
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
        **columns(problem, source, stand_in),
        stand_in=stand_in,
        level_ptr=pointers(np.where(problem.n_levels > 0, problem.n_levels + 1, 0)),
        has_missing=(problem.has_missing & (problem.n_levels == 0)).astype(np.uint8),
        has_choice=target.shape[1] > 1 if target.ndim == 2 else int(target.max()) > 1,
    )


def mark_of(
    keys: NDArray[np.uint64], pieces: Int64Array, weights: AnyArray, target: AnyArray
) -> int:
    """Return a number for different rows that does not depend on their order: marks add up."""
    marks = scattered(scattered(keys, pieces), weights.astype(np.int64))
    for column in target.T if target.ndim == 2 else [target]:
        number = np.asarray(column, dtype=np.float64) + 0.0  # no -0.0
        marks = scattered(marks, number.view(np.int64))
    return int(np.add.reduce(marks, dtype=np.uint64))


def fingerprint_of(mark: int, n: int, unit: float, level_ptr: Int64Array) -> str:
    """Return what tells n rows from others; `mark`: what their marks add up to."""
    state = hashlib.sha256(f"{mark} {n} {unit!r}".encode())
    state.update(level_ptr.tobytes())
    return state.hexdigest()


def _dense_columns(problem: Problem, source: Int64Array, stand_in: FloatArray) -> dict[str, Any]:
    """Return ranks and floats of all values."""
    n, p = len(source), problem.n_features
    rank, x = np.empty((n, p), dtype=np.int32), np.empty((n, p), dtype=np.float32)
    exponent, n_values = np.zeros((2, p), dtype=np.int32)
    for j, n_levels in enumerate(problem.n_levels.tolist()):
        values = np.asarray(problem.Z[source, j], dtype=np.float64)
        if n_levels:
            rank[:, j], x[:, j] = np.where(np.isnan(values), n_levels, values), 0.0
        else:
            rank[:, j], x[:, j], exponent[j] = _column(values, float(stand_in[j]))
        n_values[j] = n_levels + 1 if n_levels else rank[:, j].max() + 1
    return {"rank": rank, "x": x, "exponent": exponent, "n_values": n_values}


def _sparse_columns(problem: Problem, source: Int64Array, stand_in: FloatArray) -> dict[str, Any]:
    """Return ranks and floats of what is not 0, and of 0."""
    Z: Any = problem.Z[source]
    shape, ptr, row, values = Z.by_column
    rank, x, value, zero_rank, zero_x, n_values, exponent = rank_entries(
        shape, ptr, row, values, stand_in
    )
    return {
        "rank": np.empty((0, 0), dtype=np.int32),
        "x": np.empty((0, 0), dtype=np.float32),
        "exponent": exponent,
        "n_values": n_values,
        "entries": SparseEntries(ptr, row, rank, x, value, zero_rank, zero_x, *Z.by_row[:2]),
    }


def _column(values: FloatArray, stand_in: float) -> tuple[Int32Array, NDArray[np.float32], int]:
    """Return the ranks of values, and their distances from a middle one as floats."""
    rank, distinct = ranks_of(values)
    if not len(distinct):
        return rank, np.zeros(len(values), np.float32), 0
    place = rank[rank >= 0]
    middle = int(np.searchsorted(np.cumsum(np.bincount(place)), (len(place) + 1) // 2))
    low, high = float(distinct[0]), float(distinct[-1])
    some_missing = len(place) < len(values)
    floats = ColumnFloats.of_range(
        low, high, float(distinct[middle]), stand_in if some_missing else None
    )
    return rank, floats.of(values, stand_in), floats.exponent


def ranks_of(values: FloatArray) -> tuple[Int32Array, FloatArray]:
    """Return the places of values among the different ones, -1 where one is missing, and these."""
    missing = np.isnan(values)
    distinct, place = np.unique(values[~missing], return_inverse=True)
    rank = np.full(len(values), -1, dtype=np.int32)
    rank[~missing] = place
    return rank, distinct


class ColumnFloats(NamedTuple):
    """How the values of a column become floats: as differences from one in the middle.

    So they keep all digits where most rows are.
    """

    middle: float
    far: int  # values are below 2^far
    near: int  # and differences, of values times 2^-far, below 2^near

    @classmethod
    def of_range(
        cls, low: float, high: float, middle: float, stand_in: float | None
    ) -> ColumnFloats:
        """Return it for a column, from its range; `stand_in`: if values are missing."""
        far = int(np.frexp(max(abs(low), abs(high)))[1])
        ends = np.array([low, high] if stand_in is None else [low, high, stand_in])
        off = np.ldexp(ends, -far) - np.ldexp(middle, -far)
        return cls(middle, far, int(np.frexp(np.abs(off).max())[1]))

    @property
    def exponent(self) -> int:
        """What floats are to be multiplied with, as a power of two."""
        return self.far + self.near

    def of(self, values: FloatArray, stand_in: float) -> NDArray[np.float32]:
        """Return values as floats."""
        there = np.where(np.isnan(values), stand_in, values)
        off = np.ldexp(there, -self.far) - np.ldexp(self.middle, -self.far)
        return np.ldexp(off, -self.near).astype(np.float32)
