"""Coded columns at a node: levels and missing values as the numbers that a split works with.

Compiled growth finds these numbers by itself. The loop in `obliqua.engine.grow` gets them here: a
node as a problem of plain numbers, on which any proposer and any criterion can work, and what its
numbers stand for, which goes into the tree with the split.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from obliqua._core.base.target import TargetRows
from obliqua._core.grow.coding import code_columns
from obliqua._core.grow.level_means import MeanFinder, level_means
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers
from obliqua.engine.moments import spread
from obliqua.tree.layout import pointers, ranges

__all__ = ["CodedColumns", "CodedNode", "Terms"]


class Terms(NamedTuple):
    """The coefficients of a hyperplane, and what they multiply."""

    idx: Int32Array
    coef: FloatArray
    fill: FloatArray  # what stands in for a missing value; NaN: not known
    spread: FloatArray  # standard deviation at the node; NaN: not measured
    table_size: Int64Array  # the number of levels of a qualitative column, else 0
    table: FloatArray  # their numbers, one after another

    @classmethod
    def plain(cls, idx: Int32Array, coef: FloatArray) -> Terms:
        """Return terms of plain numbers, about which nothing else is known."""
        unknown = np.full(len(idx), np.nan)
        return cls(idx, coef, unknown, unknown, np.zeros(len(idx), dtype=np.int64), np.empty(0))


@dataclass(frozen=True, eq=False)
class CodedNode:
    """The rows of a node as plain numbers."""

    problem: Problem  # the rows of the node alone, without coded columns
    place: Int64Array  # per column: its place among the coded ones, -1 for a plain one
    begin: Int64Array  # per coded column: where its numbers begin, and one more for the end
    # per coded column: a number per level, then what stands in for a missing value
    numbers: FloatArray
    spreads: FloatArray  # per coded column: the standard deviation of its numbers
    absent: BoolArray | None = (
        None  # per coded column and row: what is missing, if sides are tried
    )

    def gone(self, idx: Int32Array) -> BoolArray:
        """Return which rows miss a value of some of these columns."""
        place = self.place[idx]
        if self.absent is None or not (place >= 0).any():
            return np.zeros(self.problem.n_rows, dtype=bool)
        return np.asarray(self.absent[place[place >= 0]].any(axis=0))

    @cached_property
    def rows(self) -> Int32Array:
        """The numbers of the problem's rows."""
        return np.arange(self.problem.n_rows, dtype=np.int32)

    def with_columns(self, columns: list[AnyArray]) -> Problem:
        """Return the problem of the same rows with other columns."""
        Z = np.stack(columns, axis=1)
        target, weights = self.problem.target, self.problem.weights
        return Problem(Z, target, weights, self.problem.unit, Encoding.identity(Z.shape[1]))

    def terms(self, idx: Int32Array, coef: FloatArray) -> Terms:
        """Return what the coefficients of a hyperplane of this node multiply."""
        place = self.place[idx]
        coded = place >= 0
        fill = np.full(len(idx), np.nan)
        fill[coded] = self.numbers[self.begin[place[coded] + 1] - 1]
        sizes = np.zeros(len(idx), dtype=np.int64)
        sizes[coded] = np.diff(self.begin)[place[coded]] - 1
        table = self.numbers[ranges(self.begin[place[coded]], sizes[coded])]
        if len(idx) == 1:  # as the compiled side has it, bit for bit
            width = np.where(coded, self.spreads[place], np.nan)
        else:
            every = np.arange(self.problem.n_rows, dtype=np.int32)
            width = spread(self.problem, every)[idx]
        return Terms(idx, coef, fill, width, sizes, table)


class CodedColumns:
    """The coded columns of a problem; `stand_ins`: those of all rows, if these are some."""

    def __init__(
        self,
        problem: Problem,
        which: BoolArray | None = None,
        stand_ins: FloatArray | None = None,
    ) -> None:
        self.problem = problem
        self.columns = np.flatnonzero(problem.coded if which is None else which).astype(np.int32)
        self.n_levels = np.ascontiguousarray(problem.n_levels[self.columns], dtype=np.int32)
        # Where a node knows no value, the mean of all rows stands in; a level then counts 0.
        usual = problem.stand_ins if stand_ins is None else stand_ins
        self.fallback = np.where(self.n_levels > 0, 0.0, usual[self.columns])
        self.by_node = problem.fills is None
        # What a unit of weight weighs, where squares of levels' numbers add up to 1; else 0.
        self.level_unit = problem.unit if problem.level_squares else 0.0
        self.place = np.full(problem.n_features, -1, dtype=np.int64)
        self.place[self.columns] = np.arange(len(self.columns))
        self.begin = pointers(self.n_levels.astype(np.int64) + 1)

    @property
    def settings(self) -> tuple[Int32Array, Int32Array, FloatArray, bool]:
        """What compiled code knows of them."""
        return self.columns, self.n_levels, self.fallback, self.by_node

    def finder(self, max_rows: int) -> MeanFinder:
        """Return what looks for cuts of these columns where numbers are learnt."""
        problem = self.problem
        return MeanFinder(problem.n_features, problem.target_rows, *self.settings, max_rows)

    def at(self, rows: Int32Array, counts: Int64Array) -> CodedNode:
        """Find the numbers of a node."""
        problem = self.problem
        # Column by column in memory, as the compiled side wants it.
        Z = np.array(problem.Z[rows].T, dtype=np.float64, order="C")
        weights = None if problem.weights is None else problem.weights[rows]
        target = problem.target.take(rows)
        values = np.ascontiguousarray(Z[self.columns])
        absent = np.isnan(values) if problem.sides else None
        if isinstance(target, Numbers):
            numbers, spreads = self._by_mean(values, target.compiled(weights), weights)
        else:
            present = np.flatnonzero(counts)
            numbers, spreads = code_columns(
                values,
                np.searchsorted(present, problem.y[rows]).astype(np.int32),
                weights,
                np.ascontiguousarray(counts[present]),
                *self.settings[1:],
                self.level_unit,
            )
        Z[self.columns] = values
        plain = Problem(Z.T, target, weights, problem.unit, problem.encoding)
        return CodedNode(plain, self.place, self.begin, numbers, spreads, absent)

    def _by_mean(
        self, values: FloatArray, rows: TargetRows, weights: Int64Array | None
    ) -> tuple[FloatArray, FloatArray]:
        """Do the same where numbers are learnt: a level's number is the mean of what it has."""
        tables = {}
        for k in np.flatnonzero(self.n_levels).tolist():
            level = np.where(np.isnan(values[k]), self.n_levels[k], values[k]).astype(np.int64)
            tables[k] = level_means(level, int(self.n_levels[k]) + 1, rows)
            values[k] = tables[k][level]
        one = np.zeros(values.shape[1], dtype=np.int32)
        total = values.shape[1] if weights is None else int(weights.sum())
        fills, spreads = code_columns(
            values,
            one,
            weights,
            np.array([total], dtype=np.int64),
            np.zeros_like(self.n_levels),
            self.fallback,
            self.by_node,
        )
        numbers = [tables.get(k, fills[k : k + 1]) for k in range(len(self.columns))]
        return np.concatenate(numbers), spreads
