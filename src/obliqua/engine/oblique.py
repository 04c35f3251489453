"""The best oblique cut of a node, from sums: what a compiled finder does with rows in memory.

Directions are planned by the finder itself, which needs no more than ranges and sums of products.
As in memory, reflected rows are compared as they come, and the winner is searched once more with
canonical values, which must confirm it; and the best cuts of a first round may be the starts of a
second one, superclass by superclass (see `obliqua._core.methods.discriminants`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.engine.assemble import GO_LEFT, GO_RIGHT, STAND_IN
from obliqua.engine.coding import Terms
from obliqua.engine.compiled import CompiledMethod
from obliqua.engine.lines import Lines
from obliqua.engine.moments import ClassSums, FixedPoint, spread_of_sums
from obliqua.engine.numbered import KnownNode, SeenAs, SomeColumns, seen_as, spread_of
from obliqua.engine.passes import LineCut, NodeJudge, Search, reach_of, together
from obliqua.engine.questions import Intervals, LineRanges, NodeSums, ScatterSums, SumsRight

__all__ = ["ObliqueCut", "ObliqueSearch"]

STARTS, STEPS = 3, 4  # of superclasses, as in the compiled side
MARGIN = 1 / 64  # by which a stretch of values is made longer, for another way to add up
CONFIRMED = 4  # directions that are confirmed before it is known which is the best

Bins: TypeAlias = tuple[Int64Array, FloatArray]  # of a first look: sums and ends


class ObliqueCut(NamedTuple):
    """A cut along a line."""

    cut: LineCut
    number: int  # of its direction; axes come first
    line: Lines
    missing: int = STAND_IN  # where rows with missing values go

    @property
    def order(self) -> tuple[float, int, int]:
        """Its place among others: the best comes first."""
        return -self.cut.score, self.number, self.cut.rows_left

    @property
    def normal(self) -> tuple[Int32Array, FloatArray]:
        """Columns and coefficients, if its values are canonical."""
        terms = slice(self.line.begin[0], self.line.end[0])
        return self.line.idx[terms], self.line.coef[terms]


class ObliqueSearch:
    """Looks for the best oblique cut of a node.

    Parameters
    ----------
    method : CompiledMethod
        What proposes directions.
    judge : NodeJudge
        What is known of the node.
    columns : ndarray of shape (n_features, 3)
        What `LineRanges` says of the features.
    reflected : bool
        Whether the columns of mirrors are looked at as reflected rows.
    with_axes : bool
        Whether single columns compete. Without them, the loop in Python searches in memory.
    known : KnownNode or None
        What levels and missing values are at the node, whose rows are seen as numbers.
    priced : bool, default=False
        Whether coefficients have a price.
    """

    def __init__(
        self,
        method: CompiledMethod,
        judge: NodeJudge,
        columns: FloatArray,
        reflected: bool,
        with_axes: bool,
        known: KnownNode | None = None,
        priced: bool = False,
    ) -> None:
        self._method = method
        self._judge = judge
        self._columns = columns
        self._reflected = reflected
        self._with_axes = with_axes
        self._known = known
        self._priced = priced
        self._finder = method.finder(1, helper=True)
        self._lines = Lines.of_planes([])
        self._numbers: list[int] = []
        self._everything: Intervals | None = None
        self._bins: Bins | None = None
        self._sums: ClassSums | None = None

    @property
    def is_small(self) -> bool:
        """Whether the node has too few rows for oblique splits."""
        judge, fewest = self._judge, self._finder.min_rows
        return bool(judge.n_rows < fewest and judge.rows_counted < fewest)

    def plan(self) -> Search[None]:
        """List the directions, and find out how far values reach along them."""
        low, high = (np.ascontiguousarray(end) for end in self._columns.T[:2])
        grid = replace(FixedPoint.of_ranges(low, high), weight_shift=self._method.weight_shift)
        planning = self._method.method.planned(self._finder, self._judge, (low, high), grid)
        if self._known is not None:  # other columns stand behind those of the features
            planning = seen_as(SomeColumns(slice(len(low))), planning)
        n_tasks, self._sums = yield from planning
        several = []
        for first, mirror, vector in map(self._finder.task, range(n_tasks)):
            some = np.flatnonzero(vector).tolist() if mirror else [0]
            if mirror and self._reflected:
                several.append(Lines.of_mirror(vector, self._method.scale))
                self._numbers += [first + j for j in some]
                continue
            for j in some:
                normal = self._finder.normal_of(first + j)
                if len(normal[0]) >= 2:  # else it is searched with the axes
                    several.append(Lines.of_planes([normal]))
                    self._numbers.append(first + j)
        self._lines = Lines.joined(several)
        self._everything, self._bins = yield from self._look(self._lines)

    def best(self, axis: LineCut) -> Search[ObliqueCut | None]:
        """Find the best cut, if it is better than the best axis-parallel one.

        Parameters
        ----------
        axis : LineCut
            That one; its line is the column.

        Returns
        -------
        generator
            The search.
        """
        assert self._everything is not None
        bar = LineCut(score=self._method.axis_bias * axis.score)
        absent = self._known is not None and self._known.absent
        # With missing values on a side, a direction may be better than it seems.
        low = LineCut() if absent else bar
        confirmed: dict[int, ObliqueCut | None] = {}
        if getattr(self._finder, "leading", False):
            found = yield from self._two_rounds(axis)
        elif self._priced:
            found = yield from self._worth_most(bar)
        else:
            found, confirmed = yield from self._best_of_all(low)
        if found is None or not found.cut.score > low.score:
            return None
        if not found.line.canonical:
            # The winner among reflected rows must keep its promise.
            if found.number not in confirmed:
                confirmed = yield from self._confirm([found.number], low)
            found = confirmed[found.number]
        if found is not None and absent:
            found = yield from self._with_side(found)
        if found is None or found.cut.line < 0 or not found.cut.score > bar.score:
            return None
        return found

    def _best_of_all(
        self, bar: LineCut
    ) -> Search[tuple[ObliqueCut | None, dict[int, ObliqueCut | None]]]:
        """Find the best cut along all lines; and what some along reflected rows are confirmed as.

        After a first look few lines are left, so that they can be confirmed meanwhile.
        """
        assert self._everything is not None
        if self._bins is None:
            cut = yield from self._judge.best(self._lines, self._everything, bar)
            return self._found(cut), {}
        cut, todo = self._judge.choose(self._everything, *self._bins, bar)
        left = sorted({cut.line, *todo.line.tolist()} - {-1}, key=lambda k: k != cut.line)
        reflected = [k for k in left if self._lines.own[k] >= 0][:CONFIRMED]
        near = {self._numbers[k]: self._near(k, cut, todo) for k in reflected}
        known: list[int] = []

        def closer() -> Search[ObliqueCut | None]:
            found = self._found((yield from self._judge.closer(self._lines, todo, cut)))
            known.append(-1 if found is None else found.number)
            return found

        found, confirmed = yield from together(closer(), self._confirm([*near], bar, known, near))
        return found, confirmed

    def _near(self, k: int, cut: LineCut, todo: Intervals) -> FloatArray:
        """Return about between which values of its plane the best cut along a line may lie."""
        mine = todo.line == k
        ends = [*todo.low[mine], *todo.high[mine]]
        ends += [cut.below, cut.above] if cut.line == k else []
        p = len(self._columns)
        plane = Lines.of_planes([self._finder.normal_of(self._numbers[k])]).normals(p)[0]
        mirrored = self._lines.one(k).normals(p)[0]
        # A plane has the direction of the column of a mirror, but another length.
        with np.errstate(all="ignore"):
            factor = (plane @ mirrored) / (mirrored @ mirrored)
            low, high = sorted((factor * min(ends), factor * max(ends)))
            return np.array([low - MARGIN * (high - low), high + MARGIN * (high - low)])

    def _confirm(
        self,
        numbers: Sequence[int],
        bar: LineCut,
        known: Sequence[int] = (),
        near: Mapping[int, FloatArray] | None = None,
    ) -> Search[dict[int, ObliqueCut | None]]:
        """Let winners among reflected rows keep their promise; once it is `known`, that one."""
        found: dict[int, ObliqueCut | None] = dict.fromkeys(numbers)
        planes = {number: self._finder.normal_of(number) for number in numbers}
        numbers = [
            number for number, (idx, _) in planes.items() if len(idx) >= 2 or self._is_coded(idx)
        ]
        lines = Lines.of_planes([planes[number] for number in numbers])
        if not numbers:
            return found
        close = None if near is None else np.stack([near[number] for number in numbers])
        everything, bins = yield from self._look(lines, close)
        searches = {}
        for k in everything.line.tolist():
            if not known or numbers[k] in known:
                mine = everything.line == k
                some = None if bins is None else (bins[0][mine], bins[1][mine])
                searches[k] = self._best_after_look(
                    lines, everything.take(mine), some, bar, len(numbers)
                )
        cuts = yield from together(*searches.values())
        for k, number in enumerate(numbers):
            found[number] = ObliqueCut(bar, number, lines.one(k))
        for k, cut in zip(searches, cuts, strict=True):
            found[numbers[k]] = ObliqueCut(cut, numbers[k], lines.one(k))
        return found

    def describe(self, number: int) -> str:
        """Say what a direction is."""
        return self._method.describe(number)

    def _is_coded(self, idx: Int32Array) -> bool:
        """Say whether a plane has one term, whose numbers are those of this node."""
        coded = [] if self._known is None else self._known.numbers.columns.tolist()
        return len(idx) == 1 and int(idx[0]) in coded

    def _with_side(self, found: ObliqueCut) -> Search[ObliqueCut]:
        """Return the cut, or a better one with all rows that miss something on one side."""
        assert self._known is not None
        aside = self._known.numbers.gone_aside(len(self._columns), found.normal)
        if len(found.normal[0]) < 2 or aside is None:
            return found
        axis = Lines.of_planes([(np.zeros(1, np.int32), np.ones(1))])
        reach, (there, counted) = yield [
            LineRanges(found.line),
            SeenAs(aside, (LineRanges(axis), NodeSums())),
        ]
        (low, high, size), gone = there[0], self._judge.n_rows - int(counted[-2])
        tolerance = found.line.tolerance(reach, self._columns) * self._with_axes
        if not 0 < gone < self._judge.n_rows or not np.isfinite(tolerance[0]):
            return found
        both = Lines.of_planes([(np.array([k], np.int32), np.ones(1)) for k in (0, 1)])
        ends = np.array(2 * [[low, high, size]])
        everything = self._judge.whole(both, ends, np.repeat(tolerance, 2))
        bar = LineCut(score=found.cut.score)
        view = replace(aside, ends=(float(low), float(high)))
        cut = yield from seen_as(view, self._judge.best(both, everything, bar))
        if cut.line < 0:
            return found
        return ObliqueCut(cut, found.number, found.line, (GO_RIGHT, GO_LEFT)[cut.line])

    def terms(self, found: ObliqueCut) -> Search[Terms]:
        """Return what the coefficients of a cut multiply."""
        if self._known is None:
            return Terms.plain(*found.normal)
        idx, coef = found.normal
        if len(idx) > 1 and self._with_axes:
            width = self._finder.spreads()[idx]
        elif len(idx) > 1:
            low, high = self._columns.T[:2]
            grid = FixedPoint.of_ranges(low, high, int(self._judge.counts.sum()))
            (sums,) = yield [SeenAs(SomeColumns(slice(len(low))), (ScatterSums(grid),))]
            width = spread_of_sums(sums[0])[idx]
        else:
            width = np.array([(yield from spread_of(self._known, int(idx[0])))])
        return self._known.numbers.terms(idx, coef, width)

    def first(self) -> Search[ObliqueCut | None]:
        """Find the first cut without gain."""
        assert self._everything is not None
        return self._found((yield from self._judge.first(self._lines, self._everything)))

    def _found(self, cut: LineCut) -> ObliqueCut | None:
        if cut.line < 0:
            return None
        return ObliqueCut(cut, self._numbers[cut.line], self._lines.one(cut.line))

    def _look(
        self, lines: Lines, near: FloatArray | None = None
    ) -> Search[tuple[Intervals, Bins | None]]:
        """Find out how far values reach along lines; with a first histogram, if one will do."""
        assert self._sums is not None
        look = self._judge.first_look(lines, *lines.about(self._columns, self._sums), near)
        if look is None:
            (reach,) = yield [LineRanges(lines)]
            return self._judge.whole(lines, reach, lines.tolerance(reach, self._columns)), None
        ((bins, ends, sizes),) = yield [look]
        reach = reach_of(ends, sizes)
        everything = self._judge.whole(lines, reach, lines.tolerance(reach, self._columns))
        return everything, (bins[everything.line], ends[everything.line])

    def _along(self, lines: Lines, bar: LineCut) -> Search[LineCut]:
        everything, bins = yield from self._look(lines)
        return (yield from self._best_after_look(lines, everything, bins, bar))

    def _best_after_look(
        self,
        lines: Lines,
        everything: Intervals,
        bins: Bins | None,
        bar: LineCut,
        searches: int = 1,
    ) -> Search[LineCut]:
        """Find the best cut along lines, after a first look if there was one."""
        if bins is None:
            return (yield from self._judge.one_of(searches).best(lines, everything, bar))
        cut, todo = self._judge.choose(everything, *bins, bar)
        return (yield from self._judge.closer(lines, todo, cut, searches=searches))

    def _worth_most(self, bar: LineCut) -> Search[ObliqueCut | None]:
        """Find the cut that is worth most, where each line has a price of its own."""
        assert self._everything is not None
        every, bins = self._everything, self._bins
        n_coef = (self._lines.end - self._lines.begin)[every.line].tolist()
        cuts = yield from together(
            *(
                self._best_after_look(
                    self._lines,
                    every.take(slice(k, k + 1)),
                    None if bins is None else (bins[0][k : k + 1], bins[1][k : k + 1]),
                    LineCut(score=self._finder.least_score(bar.score, n)),
                    len(n_coef),
                )
                for k, n in enumerate(n_coef)
            )
        )
        worth = [
            found._replace(cut=found.cut._replace(score=self._finder.worth(found.cut.score, n)))
            for n, found in zip(n_coef, map(self._found, cuts), strict=True)
            if found is not None
        ]
        return min(worth, key=lambda found: found.order, default=None)

    # -- superclasses -----------------------------------------------------------------------

    def _two_rounds(self, axis: LineCut) -> Search[ObliqueCut | None]:
        """Find the best cut among all directions and the superclasses that start from them."""
        assert self._everything is not None
        starts: list[ObliqueCut] = []
        todo, bins = self._everything, self._bins
        while len(starts) < STARTS:
            cut = yield from self._best_after_look(self._lines, todo, bins, LineCut())
            found = self._found(cut)
            if found is None:
                break
            starts.append(found)
            other = todo.line != cut.line
            todo = todo.take(other)
            bins = None if bins is None else (bins[0][other], bins[1][other])
        every = starts[:1]
        if axis.line >= 0:
            column = Lines.of_planes([(np.array([axis.line], np.int32), np.ones(1))])
            start = ObliqueCut(axis, axis.line, column)
            if (
                self._known is not None
                and self._known.is_aside(axis.line)
                and (len(starts) < STARTS or start.order < starts[-1].order)
            ):  # of such a column, the best cut with stand-ins is the start
                cut = yield from self._along(column, LineCut())
                start = start._replace(cut=cut)
            starts += [start] if start.cut.line >= 0 else []
        starts = sorted(starts, key=lambda start: start.order)[:STARTS]
        groups: list[UInt8Array] = []
        climbs = []
        sides = yield [SumsRight(start.line, start.cut.threshold) for start in starts]
        for number, (start, right) in enumerate(zip(starts, sides, strict=True)):
            group = self._heavier(right)
            if not _is_known(group, groups):
                groups.append(group)
                climbs.append(self._climb(number, group, start.cut.score))
        every += [found for found in (yield from together(*climbs)) if found is not None]
        return min(every, key=lambda found: found.order, default=None)

    def _climb(self, start: int, group: UInt8Array, score: float) -> Search[ObliqueCut | None]:
        """Go from superclass to superclass while the cut becomes better."""
        best = None
        for step in range(STEPS):
            superclass = self._finder.superclass(group, start, step)
            if superclass is None:
                break
            number, normal = superclass
            line = Lines.of_planes([normal])
            cut = yield from self._along(line, LineCut(score=score))
            if cut.line < 0:
                break
            best, score = ObliqueCut(cut, number, line), cut.score
            (right,) = yield [SumsRight(line, cut.threshold)]
            heavier = self._heavier(right)
            if _is_known(heavier, [group]):
                break
            group = heavier
        return best

    def _heavier(self, right: Int64Array) -> UInt8Array:
        """Return which of the node's classes are more frequent to the right than in the node."""
        counts = self._judge.counts[self._judge.counts > 0].astype(object)
        right = right[self._judge.counts > 0].astype(object)
        return np.array(right * counts.sum() > counts * right.sum(), dtype=np.uint8)


def _is_known(group: UInt8Array, known: Iterable[UInt8Array]) -> bool:
    """Say whether a superclass, or its rest, is one class or among those known."""
    size = int(group.sum())
    if size < 2 or len(group) - size < 2:
        return True
    return any(int((group == other).sum()) in (0, len(group)) for other in known)
