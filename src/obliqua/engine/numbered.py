"""Levels and missing values at a node whose rows are elsewhere, as numbers.

What `obliqua.engine.coding` finds from the rows of a node is found here from sums: a number for
each level, and what stands in for a missing value. With these, whoever has rows sees them as
plain numbers (`NodeNumbers`), so that all other questions can be asked of such rows too.

Columns that are put aside stand behind the others: a column of numbers with what is missing in
the place of the largest value, and with it in the place of the least. Behind these stand columns
of marks, where it matters which rows miss something.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from obliqua._core.grow.coding import (
    level_numbers,
    mean_of_present,
    present_sum,
    spread_of_squares,
    square_sums,
)
from obliqua._core.grow.level_means import means_of_levels
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.row_source import RowQuestion, added
from obliqua.data.target import Numbers
from obliqua.engine.assemble import GO_LEFT, GO_RIGHT, STAND_IN
from obliqua.engine.coding import CodedColumns, Terms
from obliqua.engine.lines import Lines
from obliqua.engine.passes import FAR, LineCut, NodeJudge, Search
from obliqua.engine.questions import Intervals

__all__ = [
    "AxisLines",
    "CodedSums",
    "GoneAside",
    "KnownNode",
    "NodeNumbers",
    "NumberedColumns",
    "RowView",
    "SeenAs",
    "SomeColumns",
    "seen_as",
    "spread_of",
]

ROWS_SEEN = 1 << 14  # at a time


# --- other ways to see rows ----------------------------------------------------------------------


class RowView(Protocol):
    """A way to see rows. It travels."""

    def of(self, problem: Problem, rows: Int32Array) -> Problem:
        """Return some rows as a problem of plain numbers."""


@dataclass(frozen=True, eq=False)
class SeenAs:
    """Questions about rows that are seen in another way."""

    view: RowView
    questions: tuple[RowQuestion, ...]

    def of(self, problem: Problem, rows: Int32Array) -> list[Any]:
        """Return what some rows answer."""
        seen = self.view.of(problem, rows[:ROWS_SEEN])
        every = np.arange(seen.n_rows, dtype=np.int32)
        found = [question.of(seen, every) for question in self.questions]
        return self.more(found, problem, rows[ROWS_SEEN:])

    def more(self, found: list[Any], problem: Problem, rows: Int32Array) -> list[Any]:
        """Add what some more rows answer; few at a time, for seen rows take memory."""
        for first in range(0, len(rows), ROWS_SEEN):
            seen = self.view.of(problem, rows[first : first + ROWS_SEEN])
            every = np.arange(seen.n_rows, dtype=np.int32)
            for k, question in enumerate(self.questions):
                found[k] = added(question, found[k], seen, every)
        return found

    def joined(self, answers: Sequence[list[Any]]) -> list[Any]:
        """Join the answers to each question."""
        return [
            question.joined([answer[k] for answer in answers])
            for k, question in enumerate(self.questions)
        ]


def seen_as(view: RowView, search: Search[Any]) -> Search[Any]:
    """Let a search go on about rows that are seen in another way."""
    answers: Any = None
    while True:
        try:
            asked = search.send(answers)
        except StopIteration as end:
            return end.value
        (answers,) = yield [SeenAs(view, tuple(asked))]


def _plain(problem: Problem, Z: AnyArray, rows: AnyArray) -> Problem:
    """Return rows with other columns, which are plain numbers."""
    weights = None if problem.weights is None else problem.weights[rows]
    target = problem.target.take(rows)
    return Problem(Z, target, weights, problem.unit, problem.encoding)


@dataclass(frozen=True, eq=False)
class SomeColumns:
    """Some columns alone; with `present`, only the rows that have a value in all of them."""

    columns: slice | Int64Array
    present: bool = False

    def of(self, problem: Problem, rows: Int32Array) -> Problem:
        """Return some rows as a problem of plain numbers."""
        if len(rows) < problem.n_rows:
            problem = problem.take(rows)
        Z: AnyArray = np.asarray(problem.Z)[:, self.columns]
        there: Any = ~np.isnan(Z).any(axis=1) if self.present else slice(None)
        return _plain(problem, Z[there], there)


@dataclass(frozen=True, eq=False)
class GoneAside:
    """The values along a line, of rows that are seen as numbers.

    Without `ends`, only rows that miss nothing there. Else two columns: those that miss something
    have the largest value of the others in the first, the least in the second.
    """

    line: tuple[Int32Array, FloatArray]
    marks: Int64Array  # columns that say what is missing
    ends: tuple[float, float] | None = None

    def of(self, problem: Problem, rows: Int32Array) -> Problem:
        """Return some rows as a problem of plain numbers."""
        Z: AnyArray = np.asarray(problem.Z)[rows]
        values = np.zeros(len(rows))
        for column, factor in zip(*self.line, strict=True):
            values += factor * Z[:, column]
        gone = (Z[:, self.marks] > 0).any(axis=1)
        if self.ends is None:
            return _plain(problem, values[~gone, None], rows[~gone])
        low, high = self.ends
        both = [np.where(gone, high, values), np.where(gone, low, values)]
        return _plain(problem, np.stack(both, axis=1), rows)


# --- questions -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CodedSums:
    """Sums, and rows (last), of each level of some columns, missing ones last.

    Of a column of numbers: of the values that are there, then of the missing ones.
    """

    columns: Int32Array
    n_levels: Int32Array

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        some = _plain(problem, problem.Z[rows[:, None], self.columns], rows)
        Z: AnyArray = np.asarray(some.Z)
        found = []
        for k, n_levels in enumerate(self.n_levels.tolist()):
            gone, last = np.isnan(Z[:, k]), max(n_levels, 1)
            level = np.where(gone, last, Z[:, k] if n_levels else 0.0).astype(np.int64)
            sums = some.target_rows.sums_of_groups(level, last + 1)
            found.append(np.column_stack([sums, np.bincount(level, minlength=last + 1)]))
        return np.concatenate(found)

    def joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        """Add up."""
        return np.asarray(np.sum(answers, axis=0))


class _PairSums:
    """Sums of numbers in pairs, the second of which is what the first has lost by rounding."""

    def joined(self, answers: Sequence[FloatArray]) -> FloatArray:
        """Add up: weights, which are whole, and pairs."""
        every = np.stack(answers)
        found = every.sum(axis=0)
        for place in np.ndindex(found.shape[:-1]):
            for k in range(1, found.shape[-1], 2):
                pairs = every[(slice(None), *place, slice(k, k + 2))].ravel().tolist()
                high = math.fsum(pairs)
                found[(*place, slice(k, k + 2))] = high, math.fsum([*pairs, -high])
        return found


@dataclass(frozen=True, eq=False)
class PresentSums(_PairSums):
    """Weight and sum, about the middle of a range, of what is there in some columns."""

    columns: Int32Array
    low: FloatArray
    high: FloatArray

    def of(self, problem: Problem, rows: Int32Array) -> FloatArray:
        """Return what some rows answer."""
        weights = None if problem.weights is None else problem.weights[rows]
        Z = np.array(problem.Z[rows[:, None], self.columns].T, dtype=np.float64, order="C")
        ends = zip(Z, self.low.tolist(), self.high.tolist(), strict=True)
        return np.array([present_sum(values, weights, *end) for values, *end in ends])


@dataclass(frozen=True, eq=False)
class SquareSums(_PairSums):
    """Weight, and sums of values and of squares, of a column of plain numbers in a range."""

    column: int
    low: float
    high: float

    def of(self, problem: Problem, rows: Int32Array) -> FloatArray:
        """Return what some rows answer."""
        weights = None if problem.weights is None else problem.weights[rows]
        values = np.ascontiguousarray(problem.Z[rows, self.column], dtype=np.float64)
        return square_sums(values, weights, self.low, self.high)


# --- a node --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NodeNumbers:
    """What levels and missing values of a node are as numbers: a way to see its rows.

    Parameters
    ----------
    columns : ndarray of int32
        The columns that have levels, or missing values for which something stands in.
    n_levels : ndarray of int32
        How many levels they have.
    numbers : tuple of ndarray
        For each of them a number per level, and one for what is missing.
    aside : tuple of (int, float, float)
        Columns of numbers that stand behind the others twice: with the largest, and the least
        value in the place of what is missing.
    marks : ndarray of int64
        Columns whose missing values are marked, behind all others.
    """

    columns: Int32Array
    n_levels: Int32Array
    numbers: tuple[FloatArray, ...]
    aside: tuple[tuple[int, float, float], ...]
    marks: Int64Array

    def of(self, problem: Problem, rows: Int32Array) -> Problem:
        """Return some rows as a problem of plain numbers."""
        p = problem.n_features
        Z = np.empty((len(rows), p + 2 * len(self.aside) + len(self.marks)), order="F")
        raw = Z[:, :p]
        given: AnyArray = np.asarray(problem.Z)
        if len(rows) == problem.n_rows:
            raw[:] = given
        elif given.flags.c_contiguous:
            raw[:] = given[rows]
        else:
            for column in range(p):
                raw[:, column] = given[rows, column]
        at = p
        for column, low, high in self.aside:
            gone = np.isnan(raw[:, column])
            Z[:, at : at + 2] = raw[:, column, None]
            Z[gone, at], Z[gone, at + 1] = high, low
            at += 2
        Z[:, at:] = np.isnan(raw[:, self.marks])
        for column, n_levels, numbers in zip(
            self.columns.tolist(), self.n_levels.tolist(), self.numbers, strict=True
        ):
            values = Z[:, column]
            gone = np.isnan(values)
            if n_levels:
                Z[:, column] = numbers[np.where(gone, n_levels, values).astype(np.int64)]
            else:
                values[gone] = numbers[-1]
        return _plain(problem, Z, rows)

    def gone_aside(self, n_features: int, line: tuple[Int32Array, FloatArray]) -> GoneAside | None:
        """Return the values along a line without rows that miss something; None: none may."""
        places = np.flatnonzero(np.isin(self.marks, line[0]))
        if len(places) == 0:
            return None
        return GoneAside(line, n_features + 2 * len(self.aside) + places)

    @cached_property
    def _place(self) -> dict[int, int]:
        return {column: place for place, column in enumerate(self.columns.tolist())}

    def of_column(self, column: int) -> FloatArray:
        """Return the numbers of a column."""
        return self.numbers[self._place[column]]

    def terms(self, idx: Int32Array, coef: FloatArray, spread: FloatArray) -> Terms:
        """Return what the coefficients of a hyperplane of this node multiply."""
        fill = np.full(len(idx), np.nan)
        sizes = np.zeros(len(idx), dtype=np.int64)
        tables = [np.empty(0)]
        for k, column in enumerate(idx.tolist()):
            place = self._place.get(column)
            if place is not None:
                fill[k] = self.numbers[place][-1]
                sizes[k] = self.n_levels[place]
                tables.append(self.numbers[place][: sizes[k]])
        return Terms(idx, coef, fill, spread, sizes, np.concatenate(tables))


class AxisLines(NamedTuple):
    """The columns of a node as lines: for each of them the column, and where gaps go."""

    lines: Lines
    reach: FloatArray
    column: Int64Array
    missing: Int64Array
    # Cuts between values and gaps: line, sums of the left and rows (last).
    alone: list[tuple[int, Int64Array]]

    @classmethod
    def plain(cls, lines: Lines, reach: FloatArray) -> AxisLines:
        """Return plain columns as lines."""
        return cls(lines, reach, np.arange(len(lines)), np.zeros(len(lines), np.int64), [])

    def best_alone(self, judge: NodeJudge) -> LineCut:
        """Return the best cut between values and gaps."""
        best = LineCut()
        for line, left in self.alone:
            best = judge.between(line, left, best)
        return best

    def is_alone(self, cut: LineCut) -> bool:
        """Say whether a cut is one between values and gaps."""
        return any(line == cut.line and left[-1] == cut.rows_left for line, left in self.alone)

    def along_column(self, cut: LineCut) -> LineCut:
        """Return a cut with its column in the place of its line."""
        return cut._replace(line=int(self.column[cut.line])) if cut.line >= 0 else cut

    def first(self, judge: NodeJudge, everything: Intervals) -> Search[LineCut]:
        """Find the first cut without gain, column by column, if none has any."""
        alone = dict(self.alone)
        for line in range(len(self.lines)):
            cut = yield from judge.first(
                self.lines, everything.take(np.flatnonzero(everything.line == line))
            )
            if cut.line < 0 and line in alone:
                cut = judge.between(line, alone[line], LineCut(line=FAR))
            if 0 <= cut.line < FAR:
                return cut
        return LineCut()


class KnownNode(NamedTuple):
    """What is known of the coded columns of a node."""

    numbers: NodeNumbers
    axes: AxisLines
    columns: FloatArray  # what `LineRanges` would say of the columns as numbers
    sums: dict[int, Int64Array]  # of the levels of coded columns, and rows (last)
    absent: bool  # whether something is missing, and may go to either side
    of_numbers: bool  # whether numbers are learnt

    def is_coded(self, column: int) -> bool:
        """Say whether a column has numbers of its own at the node."""
        return column in self.numbers.columns.tolist()

    def is_aside(self, column: int) -> bool:
        """Say whether missing values of a column are put aside when it is looked along."""
        return any(column == other for other, _, _ in self.numbers.aside)


class NumberedColumns:
    """The coded columns of a problem whose rows are elsewhere.

    Parameters
    ----------
    outline : Problem
        What is known of the columns.
    stand_ins : ndarray
        What stands in for a missing number where a node has nothing to say of it.
    with_method : bool
        Whether a method proposes directions, which need numbers everywhere.
    """

    def __init__(self, outline: Problem, stand_ins: FloatArray, with_method: bool) -> None:
        self.outline = outline
        self.with_method = with_method
        self.coding = CodedColumns(
            outline, outline.coded if with_method else ~outline.sortable, stand_ins
        )
        # Those that are asked about: numbers that are tried on both sides need their gaps.
        self.columns = np.flatnonzero(outline.coded).astype(np.int32)
        self.n_levels = np.ascontiguousarray(outline.n_levels[self.columns], dtype=np.int32)
        self._ends = np.cumsum(np.maximum(self.n_levels, 1) + 1)

    @property
    def n_groups(self) -> int:
        """Of how many levels sums are asked for."""
        return int(self._ends[-1])

    @property
    def sums(self) -> CodedSums:
        """What must be known of a node first."""
        return CodedSums(self.columns, self.n_levels)

    def look(self, sums: Int64Array, reach: FloatArray) -> Search[KnownNode]:
        """Find the numbers of a node.

        `sums` and `reach` are what `CodedSums`, and `LineRanges` along the columns as they are,
        say of it.
        """
        by_column = dict(zip(self.columns.tolist(), np.split(sums, self._ends[:-1]), strict=True))
        numbers = yield from self._numbers(by_column, reach)
        columns = reach.copy()
        for k, column in enumerate(self.coding.columns.tolist()):
            groups = by_column[column]
            if self.coding.n_levels[k]:
                seen = numbers[k][groups[:, -1] > 0]
            else:
                seen = np.concatenate(
                    [columns[column, :2][groups[[0, 0], -1] > 0], numbers[k][groups[1:, -1] > 0]]
                )
            columns[column, :2] = seen.min(), seen.max()
        columns[self.columns, 2] = np.abs(columns[self.columns, :2]).max(axis=1)
        gaps = {column: int(groups[-1, -1]) for column, groups in by_column.items()}
        absent = self.outline.sides and self.with_method and any(gaps.values())
        axes, aside = self._axes(by_column, gaps, reach, columns)
        view = NodeNumbers(
            self.coding.columns,
            self.coding.n_levels,
            tuple(numbers),
            aside,
            np.array([column for column in gaps if gaps[column]] if absent else [], np.int64),
        )
        of_numbers = isinstance(self.outline.target, Numbers)
        return KnownNode(view, axes, columns, by_column, bool(absent), of_numbers)

    def _numbers(self, sums: dict[int, Int64Array], reach: FloatArray) -> Search[list[FloatArray]]:
        """Find a number for each level, and what stands in for what is missing."""
        coding, target = self.coding, self.outline.target
        numbers = [np.array([usual]) for usual in coding.fallback]
        for k, column in enumerate(coding.columns.tolist()):
            if coding.n_levels[k]:
                levels = np.ascontiguousarray(sums[column][:, :-1])
                if isinstance(target, Numbers):
                    numbers[k] = means_of_levels(levels, self.outline.target_rows)
                else:
                    levels = np.ascontiguousarray(levels[:, levels.any(axis=0)])
                    numbers[k] = level_numbers(levels, coding.level_unit)
        here = [
            k
            for k, column in enumerate(coding.columns.tolist())
            if coding.by_node and not coding.n_levels[k] and sums[column][0, -1]
        ]
        if here:
            some = coding.columns[here]
            low, high = (np.ascontiguousarray(end) for end in reach[some, :2].T)
            (found,) = yield [PresentSums(some, low, high)]
            for at, k in enumerate(here):
                weight, total, _ = found[at]
                numbers[k] = np.array([mean_of_present(low[at], high[at], weight, total)])
        return numbers

    def _axes(
        self,
        sums: dict[int, Int64Array],
        gaps: dict[int, int],
        reach: FloatArray,
        columns: FloatArray,
    ) -> tuple[AxisLines, tuple[tuple[int, float, float], ...]]:
        """Return the lines along single columns, and the columns that are put aside for them."""
        p = self.outline.n_features
        place, column, missing = [], [], []
        ends, alone = [], []
        aside: list[tuple[int, float, float]] = []
        for k in range(p):
            if not (self.outline.sortable[k] and gaps.get(k, 0)):
                place.append(k)
                column.append(k)
                missing.append(STAND_IN)
                ends.append(columns[k])
                continue
            there = sums[k][0]
            if there[-1] == 0:
                continue
            low, high = reach[k, :2]
            alone.append((len(place), there))
            place += [p + 2 * len(aside), p + 2 * len(aside) + 1]
            column += [k, k]
            missing += [GO_RIGHT, GO_LEFT]
            ends += 2 * [np.array([low, high, max(abs(low), abs(high))])]
            aside.append((k, float(low), float(high)))
        lines = Lines.of_planes([(np.array([at], np.int32), np.ones(1)) for at in place])
        return (
            AxisLines(
                lines,
                np.array(ends).reshape(-1, 3),
                np.array(column, dtype=np.int64),
                np.array(missing, dtype=np.int64),
                alone,
            ),
            tuple(aside),
        )


def spread_of(known: KnownNode, column: int) -> Search[float]:
    """Find the standard deviation of a coded column, at a node whose rows are seen as numbers."""
    low, high = known.columns[column, :2].tolist()
    numbers, levels = known.numbers.of_column(column), known.sums[column]
    if len(numbers) > 1:
        here = levels[:, -1] > 0
        weights = levels[here, 0] if known.of_numbers else levels[here, :-1].sum(axis=1)
        sums = square_sums(numbers[here], np.ascontiguousarray(weights), low, high)
    else:
        (sums,) = yield [SquareSums(column, low, high)]
    return float(spread_of_squares(sums, low, high))
