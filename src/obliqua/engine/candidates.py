"""Ways to find the split of a node, which the growth loop asks one after another.

Each is told the best split so far and returns it, or a better one: first those along single
columns, then the directions of a method or of a proposer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.engine.assemble import ALONE_RIGHT, AXIS_LABEL, GO_LEFT, GO_RIGHT
from obliqua.engine.axis_cuts import SERIAL_ROWS, ColumnSet, SortedColumns
from obliqua.engine.coding import CodedColumns, CodedNode, Terms
from obliqua.engine.compiled import CompiledMethod, has_few_rows
from obliqua.engine.moments import spread
from obliqua.engine.proposals import (
    NodeView,
    Planes,
    Proposals,
    function_of,
    identity_planes,
    read_directions,
)
from obliqua.engine.rules import Rules
from obliqua.engine.search import Split, SplitSearch, best_split

__all__ = [
    "AxesAsPlanes",
    "Candidates",
    "CompiledDirections",
    "MethodAsked",
    "OpenNode",
    "PlaneSearch",
    "ProposedDirections",
    "ProposerAsked",
    "RowWindows",
    "SharedCandidates",
    "SortedAxes",
]


@dataclass
class OpenNode:
    """A node that waits: its window, and what its parent knows of it."""

    start: int
    end: int
    depth: int
    counts: Int64Array
    active: ColumnSet
    key: int
    parent: int = -1
    split: Split | None = None
    children: list[OpenNode] | None = None  # if it was divided ahead of need
    looked_at: BoolArray | None = None  # columns, if it draws some

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.end - self.start


class RowWindows:
    """The rows of nodes: windows on one array of row numbers; and coded columns as numbers."""

    def __init__(
        self, problem: Problem, coded: BoolArray, stand_ins: FloatArray | None = None
    ) -> None:
        self.problem = problem
        self.numbers = np.arange(problem.n_rows, dtype=np.int32)
        self.coding = CodedColumns(problem, coded, stand_ins) if coded.any() else None
        self._last: tuple[OpenNode, CodedNode] | None = None  # the last node that was read

    def rows(self, node: OpenNode) -> Int32Array:
        """Return the numbers of a node's rows."""
        return self.numbers[node.start : node.end]

    def plain(self, node: OpenNode) -> tuple[Problem, Int32Array]:
        """Return a problem of plain numbers, and which of its rows are the node's."""
        if self.coding is None:
            return self.problem, self.rows(node)
        coded = self.coded(node)
        return coded.problem, coded.rows

    def coded(self, node: OpenNode) -> CodedNode:
        """Return the node with coded columns as numbers."""
        assert self.coding is not None
        if self._last is None or self._last[0] is not node:
            self._last = node, self.coding.at(self.rows(node), node.counts)
        return self._last[1]

    def divide(self, node: OpenNode, split: Split) -> tuple[BoolArray, Int64Array]:
        """Divide a node's rows by the canonical values of a split; it is completed on the way.

        Returns which rows went right, in the order that they had, and the sums of the left.
        """
        sides, left = split.divide(*self.plain(node), node.counts)
        right = sides.astype(bool)
        if self.coding is not None:
            coded = self.coded(node)
            gone = coded.gone(split.idx)
            split.terms = coded.terms(split.idx, split.coef)
            if split.missing:
                right[gone] = split.missing != GO_LEFT
                left = coded.problem.target_rows.sums(coded.rows[~right])
            elif self._misses_elsewhere(split) and not gone.any():
                weigh = self.problem.target_rows.weight
                split.missing = GO_LEFT if 2 * weigh(left) >= weigh(node.counts) else GO_RIGHT
        split.rows_left = len(right) - int(right.sum())
        rows = self.rows(node)
        rows[:] = np.concatenate([rows[~right], rows[right]])  # both sides keep their order
        return right, left

    def _misses_elsewhere(self, split: Split) -> bool:
        """Whether a split asks for one number, which some row of the problem misses."""
        problem, idx = self.problem, split.idx
        numeric = problem.n_levels[idx] == 0
        return problem.sides and len(idx) == 1 and bool((problem.has_missing[idx] & numeric)[0])

    def alone(self) -> RowWindows:
        """Return the same windows for a thread that reads nodes of its own."""
        other = copy(self)
        other._last = None
        return other


class Candidates(ABC):
    """One way to find splits."""

    in_python = True  # whether the loop in Python must ask, because compiled growth cannot

    @abstractmethod
    def better(self, node: OpenNode, best: Split | None, exhaustive: bool) -> Split | None:
        """Return the best split so far, or a better one.

        With `exhaustive` splits without gain count too, and the first direction wins.
        """

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Give back memory, and report what was counted."""


class SharedCandidates(Candidates):
    """A way that several threads may use side by side, each at nodes of its own."""

    @abstractmethod
    def alone(self, windows: RowWindows | None, max_rows: int) -> SharedCandidates:
        """Return the same for one thread, at nodes of up to `max_rows` rows."""


# --- along single columns ------------------------------------------------------------------------


class SortedAxes(SharedCandidates):
    """Cuts of columns that are sorted once, in compiled code."""

    in_python = False

    def __init__(self, columns: SortedColumns, criterion: Criterion, rules: Rules) -> None:
        self.columns = columns
        self.criterion = criterion
        self.rules = rules

    def better(self, node: OpenNode, best: Split | None, exhaustive: bool) -> Split | None:
        """Look at all columns that may vary."""
        found = self.columns.search(node, self.criterion.code, self.rules, exhaustive)
        return _along_one_column(best, found)

    def alone(self, windows: RowWindows | None, max_rows: int) -> SortedAxes:
        """Return the same columns for one thread."""
        return SortedAxes(self.columns.alone(), self.criterion, self.rules)


class AxesAsPlanes(SharedCandidates):
    """Cuts of columns that are searched like any other direction.

    Those are columns of levels, and all of them where a criterion in Python scores the cuts.
    """

    def __init__(
        self, search: PlaneSearch, columns: BoolArray, looked_at: bool, *, in_python: bool
    ) -> None:
        self.search = search
        self.columns = columns
        self.looked_at = looked_at  # by a compiled method, where something is to be gained
        self.in_python = in_python

    def better(self, node: OpenNode, best: Split | None, exhaustive: bool) -> Split | None:
        """Look at each column, with missing values on both sides if they may go there."""
        if self.looked_at and not exhaustive:
            return best
        columns = self.columns if node.looked_at is None else self.columns & node.looked_at
        axes = identity_planes(len(columns)).only(columns)
        gaps = self.search.gaps(node, columns)
        if gaps.any():
            axes = axes.only(~gaps)
            ways = (GO_RIGHT, ALONE_RIGHT, GO_LEFT)  # in the order of the sorted columns
            best = _along_one_column(best, self.search.aside(node, gaps, ways, exhaustive))
        found = self.search.best(node, axes, exhaustive)
        if found is not None:
            found.label = AXIS_LABEL
        return _along_one_column(best, found)

    def alone(self, windows: RowWindows | None, max_rows: int) -> AxesAsPlanes:
        """Return the same for one thread."""
        search = self.search.alone(windows)
        return AxesAsPlanes(search, self.columns, self.looked_at, in_python=self.in_python)


def _along_one_column(best: Split | None, found: Split | None) -> Split | None:
    split = best_split(split for split in (best, found) if split is not None)
    if split is not None:
        split.axis_goodness = split.goodness
    return split


# --- other directions ----------------------------------------------------------------------------


class CompiledDirections(SharedCandidates):
    """The directions of a method with a compiled side, and coded columns."""

    in_python = False

    def __init__(
        self,
        method: CompiledMethod,
        windows: RowWindows,
        columns: SortedColumns,
        pool: Executor | None,
        n_threads: int,
    ) -> None:
        self.method = method
        self.windows = windows
        self.columns = columns
        self.pool = pool
        self.n_threads = n_threads

    def better(self, node: OpenNode, best: Split | None, exhaustive: bool) -> Split | None:
        """Look along the method's directions; it has its own bar for what is better."""
        if exhaustive:
            return best
        found = self.method.search(
            self.windows.rows(node),
            node.counts,
            node.key,
            best,
            self.columns.lists,
            self.pool if node.rows >= SERIAL_ROWS // 4 else None,
            self.n_threads,
        )
        return best if found is None else found

    def alone(self, windows: RowWindows | None, max_rows: int) -> CompiledDirections:
        """Return the same method with finders of its own."""
        assert windows is not None
        return CompiledDirections(self.method.alone(max_rows), windows, self.columns, None, 1)

    def close(self) -> None:
        """Give back the finders."""
        self.method.close()


class ProposedDirections(Candidates):
    """Directions that somebody proposes when asked about a node."""

    def __init__(
        self,
        ask: ProposerAsked | MethodAsked,
        search: PlaneSearch,
        proposals: Proposals,
    ) -> None:
        self.ask = ask
        self.search = search
        self.proposals = proposals
        self._asked: tuple[OpenNode, Planes | None] | None = None

    def better(self, node: OpenNode, best: Split | None, exhaustive: bool) -> Split | None:
        """Look along what is proposed, once for each node or once for all."""
        if self._asked is None or (self._asked[0] is not node and not self.proposals.at_root):
            self._asked = node, self.ask(node)
        planes = self._asked[1]
        if exhaustive and best is not None:
            return best
        found = None if planes is None else self.search.best(node, planes, exhaustive)
        with_axes = self.proposals.axis_parallel
        if not with_axes and self.search.problem.sides:
            # Whether a value is there may tell more than what is proposed.
            gaps = self.search.gaps(node, np.ones(self.search.problem.n_features, dtype=bool))
            presence = self.search.aside(node, gaps, (ALONE_RIGHT,), exhaustive)
            if presence is not None and (found is None or presence.goodness > found.goodness):
                found = presence
        if found is None:
            return best
        found.order += self.search.problem.n_features  # after every feature
        if best is not None and not found.goodness > self.proposals.axis_bias * best.goodness:
            return best
        if with_axes:
            found.axis_goodness = 0.0 if best is None else best.goodness
        return found

    def close(self) -> None:
        """Close what is asked."""
        self.ask.close()


@dataclass(frozen=True)
class ProposerAsked:
    """Asks a proposer in Python about nodes."""

    windows: RowWindows
    proposals: Proposals
    scale: FloatArray | None

    def __call__(self, node: OpenNode) -> Planes | None:
        """Ask about one node; its view dies with the answer."""
        problem, rows = self.windows.plain(node)
        whole, numbers, scale = self.windows.problem, self.windows.rows(node), self.scale

        def weights() -> FloatArray:
            if problem.weights is None:
                return np.full(len(rows), problem.unit)
            return np.asarray(problem.weights[rows] * problem.unit, dtype=np.float64)

        def row_weights() -> FloatArray:
            known = whole.row_weights
            return view.sample_weight if known is None else known[numbers]

        def values() -> FloatArray:
            X = np.array(problem.Z[rows], dtype=np.float64)
            return X if scale is None else X * scale

        def encoded() -> FloatArray:
            if self.windows.coding is None and scale is None:
                return np.asarray(view.X)
            return np.array(whole.Z[numbers], dtype=np.float64)

        makers: dict[str, Callable[[], Any]] = {
            "X": values,
            "encoded": encoded,
            "n_levels": whole.n_levels.copy,
            "sample_weight": weights,
            "row_weight": row_weights,
            "few_rows": lambda: has_few_rows(whole.n_counted, whole.n_features),
            **problem.target.node_fields(rows, node.counts, problem.unit),
        }
        view = NodeView(makers, node.depth, node.key)
        try:
            answer = function_of(self.proposals.proposer)(view)
            most = self.proposals.max_features
            return read_directions(
                answer, problem.n_features, scale, most, lambda: spread(problem, rows)
            )
        except Exception as error:
            error.add_note(
                f"(while the proposer looked at a node of {node.rows} rows at depth {node.depth})"
            )
            raise
        finally:
            view.close()

    def close(self) -> None:
        """A proposer in Python holds nothing."""


@dataclass(frozen=True)
class MethodAsked:
    """Asks a method with a compiled side for its directions, for the loop in Python."""

    windows: RowWindows
    method: CompiledMethod

    def __call__(self, node: OpenNode) -> Planes | None:
        """List the directions of a node."""
        return self.method.planes(self.windows.rows(node), node.counts, node.key)

    def close(self) -> None:
        """Give back the finders."""
        self.method.close()


# --- searching a node ----------------------------------------------------------------------------


@dataclass(frozen=True)
class PlaneSearch:
    """Finds the best split of a node along directions, whatever scores it."""

    windows: RowWindows
    criterion: Criterion
    rules: Rules
    pool: Executor | None
    n_threads: int

    @property
    def problem(self) -> Problem:
        """The problem whose nodes are searched."""
        return self.windows.problem

    def alone(self, windows: RowWindows | None) -> PlaneSearch:
        """Return the same for one thread."""
        assert windows is not None
        return PlaneSearch(windows, self.criterion, self.rules, None, 1)

    def best(self, node: OpenNode, planes: Planes, exhaustive: bool) -> Split | None:
        """Find the best split, with a side for missing values if that is better."""
        split = self._over(*self.windows.plain(node), node, exhaustive).best(planes)
        if split is None or exhaustive or not self.problem.sides:
            return split
        return self._with_side(node, split, planes)

    def gaps(self, node: OpenNode, columns: BoolArray) -> BoolArray:
        """Say in which of some columns numbers are missing at a node, if they may go to a side."""
        problem = self.problem
        gaps = columns & problem.has_missing & (problem.n_levels == 0) & problem.sides
        for column in np.flatnonzero(gaps).tolist():
            gaps[column] = self.windows.coded(node).gone(np.array([column])).any()
        return gaps

    def aside(
        self, node: OpenNode, gaps: BoolArray, ways: tuple[int, ...], exhaustive: bool
    ) -> Split | None:
        """Find the best split along one of some columns, with what is missing put aside."""
        tried: list[tuple[int, int]] = []
        values: list[AnyArray] = []
        for column in np.flatnonzero(gaps).tolist():
            coded = self.windows.coded(node)
            gone = coded.gone(np.array([column]))
            if gone.all():
                continue
            x = coded.problem.Z[:, column]
            ends = {GO_RIGHT: x[~gone].max(), GO_LEFT: x[~gone].min()}
            for way in ways:
                values.append(np.where(gone, ends[way], x) if way in ends else gone * 1.0)
                tried.append((column, way))
        if not tried:
            return None
        split = self._among(node, values, exhaustive)
        if split is None:
            return None
        split.order, split.missing = tried[split.order]
        alone = split.missing == ALONE_RIGHT
        split.threshold = 0.0 if alone else split.threshold
        split.terms = Terms.plain(
            np.array([split.order], dtype=np.int32), np.array([0.0 if alone else 1.0])
        )
        split.label = AXIS_LABEL
        return split

    def _with_side(self, node: OpenNode, split: Split, planes: Planes) -> Split:
        """The same split, or a better one with all rows that miss something on one side."""
        coded = self.windows.coded(node) if self.windows.coding is not None else None
        alone = len(split.idx) == 1 and self.problem.n_levels[split.idx[0]] > 0
        if coded is None or alone:  # a missing level is a level
            return split
        gone = coded.gone(split.idx)
        if not gone.any() or gone.all():
            return split
        values = self._over(coded.problem, coded.rows, node, False).values(split)
        low, high = values[~gone].min(), values[~gone].max()
        given = None
        if planes.is_given(split.order):
            given = np.full(2, split.threshold)
            low, high = min(low, given[0]), max(high, np.nextafter(given[0], np.inf))
        aside = [np.where(gone, high, values), np.where(gone, low, values)]
        found = self._among(node, aside, False, given)
        if found is None or found.goodness < split.goodness:
            return split
        if found.goodness == split.goodness and len(split.idx) > 1:
            return split  # of one column, what stands in is a side anyway
        return replace(
            split,
            goodness=found.goodness,
            rows_left=found.rows_left,
            threshold=found.threshold,
            missing=(GO_RIGHT, GO_LEFT)[found.order],
        )

    def _among(
        self,
        node: OpenNode,
        values: list[AnyArray],
        exhaustive: bool,
        thresholds: FloatArray | None = None,
    ) -> Split | None:
        """The best split of a node whose rows have these values, a column each."""
        coded = self.windows.coded(node)
        axes = identity_planes(len(values))
        planes = Planes(axes.ptr, axes.idx, axes.coef, thresholds, None)
        return self._over(coded.with_columns(values), coded.rows, node, exhaustive).best(planes)

    def _over(
        self, problem: Problem, rows: Int32Array, node: OpenNode, exhaustive: bool
    ) -> SplitSearch:
        return SplitSearch(
            problem,
            rows,
            node.counts,
            self.criterion,
            self.rules,
            exhaustive,
            self.pool,
            self.n_threads,
        )
