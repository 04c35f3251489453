"""The best cut of a node whose rows can only be asked: a search in passes over them.

A search is a generator: it yields questions about the rows of its node, gets the answers, and
returns what it has found. So the searches of many nodes can go on together, and one pass over the
rows answers the next questions of all of them.

The steps are those of the search in memory (`obliqua._core.search.direction`): histograms, closer
ones of the bins that may hide a better cut, and in the end the few values in the bins that are
left. The cut is the one that a search over all rows in one memory finds, bit for bit, for any
number of parts and any order of rows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from obliqua._core.base.target import TargetRows
from obliqua._core.search.node_search import threshold_between
from obliqua._core.search.part_rows import CutJudge
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.data.row_source import RowQuestion, RowSource, Splits
from obliqua.data.target import Numbers
from obliqua.engine.lines import Lines
from obliqua.engine.questions import Intervals, LineHistogram, LineValues, OpenHistogram
from obliqua.engine.rules import Rules

__all__ = [
    "LineCut",
    "NodeJudge",
    "Search",
    "Searches",
    "Zoom",
    "answered",
    "asked",
    "first_look",
    "reach_of",
    "together",
]

T = TypeVar("T")
Search: TypeAlias = Generator[list[RowQuestion], list[Any], T]

FAR = 1 << 62  # a line that every other one precedes
MOST_BINS = 1 << 16  # in a question
LEAST_BINS = 32  # of an interval, where many nodes share the bins of a pass
MOST_VALUES = 1 << 18  # likewise
ROWS_PER_BIN = 4
CLOSER = 8  # times as many bins where it is known what they are near to


@dataclass(frozen=True)
class Zoom:
    """How closely histograms look before values are collected. The tree does not depend on it.

    Parameters
    ----------
    n_bins : int, default=256
        Bins of an interval.
    few_values : int, default=4096
        Undecided bins with so few values in all are collected; more are looked at closer first.
    most : int, default=4
        How often to look closer before collecting all the same.
    """

    n_bins: int = 256
    few_values: int = 4096
    most: int = 4


class LineCut(NamedTuple):
    """A cut along one of some lines; the earlier line wins ties."""

    score: float = 0.0
    line: int = -1  # -1: none
    rows_left: int = 0
    below: float = 0.0
    above: float = 0.0

    @property
    def threshold(self) -> float:
        """What separates the two neighbouring values."""
        return threshold_between(self.below, self.above)


NO_CUT = LineCut()


class NodeJudge:
    """Looks for cuts of one node, of which it knows the sums.

    Parameters
    ----------
    outline : Problem
        What is learnt; no rows.
    sums : ndarray of int64
        What `NodeSums` says of the node.
    criterion : Criterion
        A built-in criterion.
    rules : Rules
        Of these, the smallest sides count here.
    zoom : Zoom
        How closely to look.
    most_bins : int
        Bins that may be asked for in a question.
    """

    def __init__(
        self,
        outline: Problem,
        sums: Int64Array,
        criterion: Criterion,
        rules: Rules,
        zoom: Zoom,
        most_bins: int = MOST_BINS,
    ) -> None:
        self.counts = np.ascontiguousarray(sums[:-2])
        self.n_rows, self.rows_counted = int(sums[-2]), int(sums[-1])
        self._numbers = isinstance(outline.target, Numbers)
        self._zoom = zoom
        self._most_bins = most_bins
        # Without bounds no bin is ever decided, and looking closer is in vain.
        self._most = zoom.most if criterion.convex else 0
        least = rules.min_samples_leaf, rules.min_weight_leaf
        self._judge = CutJudge(
            outline.target_rows, self.counts, criterion.code, self.n_rows, *least
        )

    def one_of(self, searches: int) -> NodeJudge:
        """Return the same for one of several searches that go on together."""
        other = copy(self)
        other._most_bins = max(self._most_bins // searches, LEAST_BINS)
        return other

    def whole(self, lines: Lines, reach: FloatArray, tolerance: FloatArray) -> Intervals:
        """Return all values along lines, from the smallest to the largest of each.

        Parameters
        ----------
        lines : Lines
            The lines.
        reach : ndarray of shape (n_lines, 3)
            What `LineRanges` says of them.
        tolerance : ndarray of shape (n_lines,)
            Up to what difference values are equal.

        Returns
        -------
        Intervals
            One for each line that can be looked along.
        """
        low, high, size = reach.T
        with np.errstate(over="ignore", invalid="ignore"):
            apart = high - low > tolerance
        finite = np.isfinite(size) & np.isfinite(tolerance)
        use = np.flatnonzero((lines.end > lines.begin) & finite & apart)
        none = np.zeros((len(use), len(self.counts) + 1), dtype=np.int64)
        rows = np.full(len(use), self.n_rows)
        return Intervals(use, low[use], high[use], none, tolerance[use], rows)

    def best(self, lines: Lines, everything: Intervals, bar: LineCut = NO_CUT) -> Search[LineCut]:
        """Find the best cut along lines, if one is better than `bar`, which it returns if not.

        Parameters
        ----------
        lines : Lines
            The lines.
        everything : Intervals
            What `whole` says of them.
        bar : LineCut
            A cut that every line loses a tie against, unless it is one of theirs.

        Returns
        -------
        generator
            The search.
        """
        best = bar
        at_once = _lines_at_once(self._zoom, self._most_bins)
        for first in range(0, len(everything), at_once):
            todo = everything.take(slice(first, first + at_once))
            best = yield from self.closer(lines, todo, best, 0)
        return best

    def closer(
        self, lines: Lines, todo: Intervals, best: LineCut, looks: int = 1, searches: int = 1
    ) -> Search[LineCut]:
        """Look closer at intervals, until so few values are left that they can be collected.

        `searches` like this one go on at the same time.
        """
        zoom = self._zoom
        while todo.rows.sum() > zoom.few_values // searches and looks <= self._most:
            n_bins = _bins_of_each(len(todo), int(todo.rows.max()), zoom.n_bins, self._most_bins)
            ((bins, ends),) = yield [LineHistogram(lines, todo.place, n_bins)]
            best, todo = self.choose(todo, bins, ends, best)
            looks += 1
        return (yield from self._finish(lines, todo, best))

    def choose(
        self, todo: Intervals, bins: Int64Array, ends: FloatArray, best: LineCut
    ) -> tuple[LineCut, Intervals]:
        """Return the best cut at the edges of bins, and the bins that may hide a better one."""
        cut, interval, place = self._judge.choose(
            bins, ends, todo.line, todo.before, todo.tolerance, best
        )
        return LineCut(*cut), _closer(todo, bins, ends, interval, place)

    def first_look(
        self,
        lines: Lines,
        low: FloatArray,
        high: FloatArray,
        near: FloatArray | None = None,
    ) -> OpenHistogram | None:
        """Return what `first_look` does, for this node; close bins are `near` a cut."""
        zoom = self._zoom
        if near is not None:
            zoom = replace(zoom, n_bins=CLOSER * zoom.n_bins)
        look = first_look(lines, low, high, self.n_rows, zoom, self._most_bins)
        return None if look is None else replace(look, near=near)

    def between(self, line: int, left: Int64Array, best: LineCut) -> LineCut:
        """Return a cut of which all is known that it takes to score it, if it is the best.

        Parameters
        ----------
        line : int
            The line.
        left : ndarray of int64
            The sums of its left side, and rows (last).
        best : LineCut
            The best cut so far.

        Returns
        -------
        LineCut
            The better one.
        """
        whole = np.append(self.counts, self.n_rows)
        bins = np.ascontiguousarray(np.stack([left, whole - left])[None])
        ends = np.array([[[0.0, 0.0], [1.0, 1.0]]])
        before = np.zeros((1, len(whole)), dtype=np.int64)
        place = np.array([line], dtype=np.int64)
        cut, _, _ = self._judge.choose(bins, ends, place, before, np.zeros(1), best)
        return LineCut(*cut)

    def first(self, lines: Lines, everything: Intervals) -> Search[LineCut]:
        """Find the first cut without gain, if none has any.

        No bound tells which one it is, so that all values of a line are needed.
        """
        for k in range(len(everything)):
            best = LineCut(line=FAR)
            best = yield from self._finish(lines, everything.take(slice(k, k + 1)), best)
            if best.line < FAR:
                return best
        return LineCut()

    def _finish(self, lines: Lines, todo: Intervals, best: LineCut) -> Search[LineCut]:
        """Collect what is left in intervals, and score every cut there."""
        for some in _pieces(todo):
            (found,) = yield [LineValues(lines, some.place)]
            order = np.argsort(found[0], kind="stable")
            interval, value, learnt, weight = (np.ascontiguousarray(c[order]) for c in found)
            rows = TargetRows(learnt, weight, some.before.shape[1] - 1, self._numbers)
            cut = self._judge.finish(
                interval, value, rows, some.line, some.before, some.tolerance, best
            )
            best = LineCut(*cut)
        return best


def _lines_at_once(zoom: Zoom, most_bins: int) -> int:
    """Return along how many lines one question may look."""
    return max(most_bins // min(zoom.n_bins, LEAST_BINS), 1)


def _bins_of_each(n_intervals: int, n_rows: int, n_bins: int, most_bins: int) -> int:
    """Return into how many bins each interval is divided."""
    return min(n_bins, max(min(most_bins // n_intervals, n_rows // ROWS_PER_BIN), 2))


def first_look(
    lines: Lines, low: FloatArray, high: FloatArray, n_rows: int, zoom: Zoom, most_bins: int
) -> OpenHistogram | None:
    """Return a histogram of all values along lines, of which it is known about where they lie.

    The ends of its bins tell how far values reach, so that nobody need ask before. None if lines
    are too many for one question, or rows so few that their values are collected at once.
    """
    n = len(lines)
    if not 0 < n <= _lines_at_once(zoom, most_bins) or n * n_rows <= zoom.few_values:
        return None
    n_bins = _bins_of_each(n, n_rows, zoom.n_bins, most_bins)
    return OpenHistogram(lines, low, high, n_bins)


def reach_of(ends: FloatArray, sizes: FloatArray) -> FloatArray:
    """Return what `LineRanges` says, from what an `OpenHistogram` does."""
    return np.column_stack([ends[..., 0].min(axis=1), ends[..., 1].max(axis=1), sizes])


def _closer(
    todo: Intervals, bins: Int64Array, ends: FloatArray, interval: AnyArray, place: AnyArray
) -> Intervals:
    """Make intervals of the undecided bins."""
    left = np.cumsum(bins, axis=1) - bins + todo.before[:, None, :]
    return Intervals(
        todo.line[interval],
        np.ascontiguousarray(ends[interval, place, 0]),
        np.ascontiguousarray(ends[interval, place, 1]),
        np.ascontiguousarray(left[interval, place]),
        todo.tolerance[interval],
        bins[interval, place, -1],
    )


def _pieces(todo: Intervals) -> Iterator[Intervals]:
    """Deal intervals out into groups of not too many values."""
    group = (np.cumsum(todo.rows) - todo.rows) // MOST_VALUES
    for number in np.unique(group):
        yield todo.take(np.flatnonzero(group == number))


def quartile(
    lines: Lines, reach: FloatArray, sums: Int64Array, quarters: int, zoom: Zoom, numbers: bool
) -> Search[FloatArray]:
    """Find the values that so many quarters of the weight reach along lines.

    `reach` and `sums` are what `LineRanges` and `NodeSums` say of the rows. `numbers`: whether
    these are learnt; then the first sum is the weight, of classes it is that of all sums.
    """
    of_weight = slice(0, 1) if numbers else slice(0, -1)
    every = np.arange(len(lines))
    low, high = (np.ascontiguousarray(end) for end in reach.T[:2])
    before, rows = np.zeros(len(lines), dtype=np.int64), np.full(len(lines), sums[-2])
    enough = quarters * int(sums[:-1][of_weight].sum())
    looks = 0
    while rows.sum() > zoom.few_values and looks <= zoom.most:
        ((bins, ends),) = yield [LineHistogram(lines, (every, low, high), zoom.n_bins)]
        weight = bins[..., of_weight].sum(axis=-1)
        below = before[:, None] + np.cumsum(weight, axis=1)
        place = np.argmax(4 * below >= enough, axis=1)
        low, high = (np.ascontiguousarray(end) for end in ends[every, place].T)
        before, rows = (below - weight)[every, place], bins[every, place, -1]
        looks += 1
    (found,) = yield [LineValues(lines, (every, low, high))]
    line, value, _, weight = (column[np.lexsort((found[1], found[0]))] for column in found)
    reached = np.empty(len(lines))
    for k in range(len(lines)):
        below = before[k] + np.cumsum(weight[line == k])
        reached[k] = value[line == k][np.argmax(4 * below >= enough)]
    return reached


# --- several searches --------------------------------------------------------------------------


def _step(search: Search[T], answers: list[Any] | None) -> tuple[list[RowQuestion] | None, Any]:
    """Go on to the next questions of a search; None, and what was found, at its end."""
    try:
        return next(search) if answers is None else search.send(answers), None
    except StopIteration as end:
        return None, end.value


def asked(question: RowQuestion) -> Search[Any]:
    """Ask one question."""
    (answer,) = yield [question]
    return answer


def together(*searches: Search[Any]) -> Search[list[Any]]:
    """Let several searches about one node go on together; returns what each has found."""
    steps = [_step(search, None) for search in searches]
    while any(asked is not None for asked, _ in steps):
        answers = iter((yield [question for asked, _ in steps for question in asked or ()]))
        steps = [
            (None, found) if asked is None else _step(search, [next(answers) for _ in asked])
            for search, (asked, found) in zip(searches, steps, strict=True)
        ]
    return [found for _, found in steps]


def answered(source: RowSource, searches: Mapping[int, Search[T]], splits: Splits) -> dict[int, T]:
    """Let the searches of several nodes go on together; returns what each has found."""
    found: dict[int, T] = {}
    under_way = Searches(source, splits)
    for node, search in searches.items():
        under_way.begin(node, search)
    while under_way:
        found.update(under_way.go_on())
    return found


class Searches:
    """Searches of several nodes that go on together: one pass answers what all of them ask.

    Parameters
    ----------
    source : RowSource
        The rows.
    splits : mapping of int to Hyperplane
        The splits so far. More may come.
    """

    def __init__(self, source: RowSource, splits: Splits) -> None:
        self._source = source
        self._splits = splits
        self._searches: dict[int, Search[Any]] = {}
        self._asked: dict[int, list[RowQuestion]] = {}
        self._found: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return bool(self._searches or self._found)

    def __contains__(self, node: int) -> bool:
        return node in self._searches

    def begin(self, node: int, search: Search[Any]) -> None:
        """Take one more."""
        self._searches[node] = search
        self._step(node, None)

    def go_on(self) -> dict[int, Any]:
        """Return what has been found at nodes that need no more; if none has, after a pass."""
        if self._asked and not self._found:
            asked, self._asked = self._asked, {}
            for node, answers in self._source.ask(asked, self._splits).items():
                self._step(node, answers)
        found, self._found = self._found, {}
        return found

    def _step(self, node: int, answers: list[Any] | None) -> None:
        asked, found = _step(self._searches[node], answers)
        if asked is None:
            del self._searches[node]
            self._found[node] = found
        else:
            self._asked[node] = asked
