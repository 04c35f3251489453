"""What the engine asks about the rows of a node. Answers of parts add up, or are joined.

Nothing else is asked of rows that are not in one memory: see `obliqua.data.row_source`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.base.exact import digit_sums, number_bits
from obliqua._core.base.spread import column_sums
from obliqua._core.search.part_rows import PartRows, empty_bins
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers
from obliqua.engine.lines import Lines
from obliqua.engine.moments import ClassSums, FixedPoint, class_sums
from obliqua.tree.tree import Tree

__all__ = [
    "ColumnSums",
    "Intervals",
    "LineHistogram",
    "LineRanges",
    "LineValues",
    "NodeRows",
    "NodeSums",
    "NumberBits",
    "NumberDigits",
    "OpenHistogram",
    "ScatterSums",
    "SumsRight",
]


def _looking(problem: Problem, rows: Int32Array, lines: Lines) -> PartRows:
    return PartRows(problem.Z, rows, problem.target_rows, lines)


def _only(problem: Problem, rows: Int32Array) -> Problem:
    """Return some rows of a problem as one that can travel; all of them are not copied."""
    return replace(problem) if len(rows) == problem.n_rows else problem.take(rows)


class NodeSums:
    """Sums of what is learnt; then the number of rows, and as how many rows they count."""

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        counted = len(rows) if problem.row_counts is None else problem.row_counts[rows].sum()
        return np.append(problem.target_rows.sums(rows), [len(rows), counted])

    def joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        """Add up."""
        return np.asarray(np.sum(answers, axis=0))


@dataclass(frozen=True, eq=False)
class LineRanges:
    """Along each line the smallest and the largest value, and the largest sum of |terms|."""

    lines: Lines

    def of(self, problem: Problem, rows: Int32Array) -> FloatArray:
        """Return what some rows answer."""
        return _looking(problem, rows, self.lines).ranges()

    def joined(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Keep the smallest and the largest."""
        every = np.stack(answers)
        low, high = every[..., 0].min(axis=0), every[..., 1:].max(axis=0)
        return np.column_stack([low, high])


@dataclass(frozen=True, eq=False)
class ScatterSums:
    """Sums of values and of products, class by class, on a grid that fits all rows of the node."""

    grid: FixedPoint

    def of(self, problem: Problem, rows: Int32Array) -> ClassSums:
        """Return what some rows answer."""
        return class_sums(problem, rows, self.grid)

    def joined(self, answers: Sequence[ClassSums]) -> ClassSums:
        """Add up."""
        return reduce(add, answers)


class Intervals(NamedTuple):
    """Stretches of values along lines that may still hide the best cut.

    Those of a line stand next to each other in ascending order, and do not overlap.
    """

    line: Int64Array
    low: FloatArray
    high: FloatArray
    before: Int64Array  # sums, and rows (last), left of each interval
    tolerance: FloatArray
    rows: Int64Array  # inside

    def __len__(self) -> int:
        return len(self.line)

    def take(self, some: slice | AnyArray) -> Intervals:
        """Return some of them."""
        columns: Any = self
        return Intervals(*(column[some] for column in columns))

    @property
    def place(self) -> tuple[Int64Array, FloatArray, FloatArray]:
        """Where they are."""
        return self.line, self.low, self.high


@dataclass(frozen=True, eq=False)
class LineHistogram:
    """Sums, and rows (last), in the bins of some intervals; and the values at the bins' ends."""

    lines: Lines
    intervals: tuple[Int64Array, FloatArray, FloatArray]
    n_bins: int

    def of(self, problem: Problem, rows: Int32Array) -> tuple[Int64Array, FloatArray]:
        """Return what some rows answer."""
        found = empty_bins(len(self.intervals[0]), self.n_bins, len(problem.counts))
        return self.more(found, problem, rows)

    def more(
        self, found: tuple[Int64Array, FloatArray], problem: Problem, rows: Int32Array
    ) -> tuple[Int64Array, FloatArray]:
        """Return what was found, with what some more rows answer; it is changed in place."""
        if len(rows) and len(self.intervals[0]):
            _looking(problem, rows, self.lines).histogram(*self.intervals, *found)
        return found

    def joined(
        self, answers: Sequence[tuple[Int64Array, FloatArray]]
    ) -> tuple[Int64Array, FloatArray]:
        """Add up, and keep the outermost ends."""
        bins, ends = zip(*answers, strict=True)
        return reduce(np.add, bins), reduce(_outermost, ends)


def _outermost(one: FloatArray, other: FloatArray) -> FloatArray:
    ends = np.minimum(one, other)
    np.maximum(one[..., 1], other[..., 1], out=ends[..., 1])
    return ends


@dataclass(frozen=True, eq=False)
class OpenHistogram:
    """The same of all values along lines, of which it is known about where they lie.

    What lies below and above is in the outermost bins, so that the ends of bins tell how far
    values reach. The third answer is the largest sum of |terms| of a row, for each line. Most
    bins are `near` the best cut, if it is known between which two values of a line that may be.
    """

    lines: Lines
    low: FloatArray
    high: FloatArray
    n_bins: int
    near: FloatArray | None = None

    def of(self, problem: Problem, rows: Int32Array) -> tuple[Int64Array, FloatArray, FloatArray]:
        """Return what some rows answer."""
        n = len(self.lines)
        found = *empty_bins(n, self.n_bins, len(problem.counts)), np.zeros(n)
        return self.more(found, problem, rows)

    def more(
        self,
        found: tuple[Int64Array, FloatArray, FloatArray],
        problem: Problem,
        rows: Int32Array,
    ) -> tuple[Int64Array, FloatArray, FloatArray]:
        """Return what was found, with what some more rows answer; it is changed in place."""
        if len(rows):
            looking = _looking(problem, rows, self.lines)
            looking.open_histogram(self.low, self.high, self.near, *found)
        return found

    def joined(
        self, answers: Sequence[tuple[Int64Array, FloatArray, FloatArray]]
    ) -> tuple[Int64Array, FloatArray, FloatArray]:
        """Add up, and keep the outermost ends and the largest sums."""
        bins, ends, sizes = zip(*answers, strict=True)
        return reduce(np.add, bins), reduce(_outermost, ends), reduce(np.maximum, sizes)


@dataclass(frozen=True, eq=False)
class LineValues:
    """The rows inside some intervals: interval, value, class or numbers, weight."""

    lines: Lines
    intervals: tuple[Int64Array, FloatArray, FloatArray]

    def of(self, problem: Problem, rows: Int32Array) -> tuple[AnyArray, ...]:
        """Return what some rows answer."""
        return _looking(problem, rows, self.lines).collect(*self.intervals)

    def joined(self, answers: Sequence[tuple[AnyArray, ...]]) -> tuple[AnyArray, ...]:
        """Put them one after another."""
        return tuple(np.concatenate(column) for column in zip(*answers, strict=True))


@dataclass(frozen=True, eq=False)
class SumsRight:
    """Sums of the rows to the right of a threshold along a line."""

    line: Lines
    threshold: float

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        _, right = _looking(problem, rows, self.line).divided(self.threshold)
        return problem.target_rows.sums(right)

    def joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        """Add up."""
        return np.asarray(np.sum(answers, axis=0))


class NodeRows:
    """The rows themselves, where they are few: as a problem of their own."""

    def of(self, problem: Problem, rows: Int32Array) -> Problem:
        """Return what some rows answer."""
        return _only(problem, rows)

    def joined(self, answers: Sequence[Problem]) -> Problem:
        """Put them one after another."""
        return answers[0] if len(answers) == 1 else Problem.stack(answers)


# --- about all rows ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Weight and sum of each column, about the middle of its range; sums as pairs of numbers."""

    low: FloatArray
    high: FloatArray

    def of(self, problem: Problem, rows: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return what some rows answer."""
        some = _only(problem, rows)
        weights = None if some.weights is None else some.weights.astype(np.float64)
        total, sums = column_sums(some.Z, weights, self.low, self.high)
        return total, sums[None]

    def joined(
        self, answers: Sequence[tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Add up weights, which are whole; sums are kept apart, to be added without rounding."""
        total = np.sum([total for total, _ in answers], axis=0)
        return total, np.concatenate([sums for _, sums in answers])


class NumberBits:
    """The lowest and the highest bit of the numbers to learn, for each output."""

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        target = _only(problem, rows).target
        assert isinstance(target, Numbers)
        return number_bits(target.values)

    def joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        """Keep the lowest and the highest."""
        every = np.stack(answers)
        return np.column_stack([every[..., 0].min(axis=0), every[..., 1].max(axis=0)])


@dataclass(frozen=True, eq=False)
class NumberDigits:
    """Sums of the digits of an output at the leaves of a tree; None if all numbers are 0."""

    tree: Tree
    bits: Int64Array
    output: int

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array | None:
        """Return what some rows answer."""
        some = _only(problem, rows)
        assert isinstance(some.target, Numbers)
        leaf, n_nodes = self.tree.apply(some.Z), self.tree.n_nodes
        return digit_sums(some.target.values, some.weights, leaf, n_nodes, self.bits, self.output)

    def joined(self, answers: Sequence[Any]) -> Any:
        """Add up."""
        return None if answers[0] is None else np.sum(answers, axis=0)
