"""Methods that have a compiled side: what the growth loop asks of them.

Such a method is a `CompiledSide`: ``finder(task)`` returns the object that searches a node in
compiled code, and ``label(number, n_features, n_classes)`` says what a direction is. Whole
subtrees ask a finder without the GIL (`obliqua._core.grow.subtree`). The loop in
`obliqua.engine.grow` comes here: for nodes so large that several threads share one, and for
criteria written in Python, which want to see the directions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from copy import copy
from dataclasses import dataclass
from numbers import Real
from time import monotonic
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from obliqua._core.grow.planning import PlanningFinder
from obliqua._core.search.column_lists import ColumnLists
from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.coding import CodedColumns, Terms
from obliqua.engine.moments import ClassSums, FixedPoint, weight_shift
from obliqua.engine.passes import NodeJudge, Search
from obliqua.engine.proposals import Planes, Proposals, Settings
from obliqua.engine.questions import ScatterSums
from obliqua.engine.rules import Rules
from obliqua.engine.search import Split, function_scores

__all__ = [
    "CompiledMethod",
    "CompiledSide",
    "Journal",
    "Task",
    "check_rows",
    "fewest_rows",
    "has_few_rows",
]

MANY_FEATURES = 64  # with fewer, matrices of features are small anyway


@dataclass
class Journal:
    """What a search tells about itself: how much it has tried, whether time ran out."""

    deadline: float | None = None  # when to stop, on the clock `time.monotonic`
    tried: int = 0  # hyperplanes so far
    timed_out: bool = False  # whether a search was cut short

    @classmethod
    def of(cls, time_limit: float | None) -> Journal:
        """Open a journal, with a deadline so many seconds from now."""
        return cls(None if time_limit is None else monotonic() + time_limit)


# --- what methods and finders can do -----------------------------------------------------------


@runtime_checkable
class CountsTries(Protocol):
    """A method that counts what it tries, and so must not try anything in vain."""

    journal: Journal


@runtime_checkable
class AsksCriterion(Protocol):
    """A finder that moves hyperplanes, and asks a criterion in Python on the way."""

    def set_measure(self, measure: PythonCriterion) -> None:
        """Take the criterion of a node."""


@runtime_checkable
class StopsEarly(Protocol):
    """A finder that may have had enough before all directions are tried."""

    def last_direction(self) -> int:
        """Return the last direction that one thread would have tried."""


class Task(NamedTuple):
    """What a finder is for."""

    problem: Problem
    max_rows: int  # rows of the largest node
    weight_shift: int  # by how many bits weights are shortened, see `FixedPoint`
    scale: FloatArray  # factors of the features
    max_features: int | None = None  # the most features of a split
    helper: bool = False  # whether it only works at nodes that another one has read
    wide: bool = False  # whether the fit has few rows beside its features, see `has_few_rows`
    n_drawn: int | None = None  # how many features a node chooses, of which alone it knows

    @property
    def n_features(self) -> int:
        """The number of features that the finder knows of."""
        return self.problem.n_features if self.n_drawn is None else self.n_drawn


def has_few_rows(n_rows: int, n_features: int) -> bool:
    """Say whether a fit has so few rows beside its features that products of rows are cheaper.

    Not with about as many rows: a part of the rows of such a table is treated as all of them are.
    """
    return n_features >= MANY_FEATURES and n_features > 2 * n_rows


class CompiledSide(Settings, ABC):
    """Base of methods whose work at a node is compiled.

    A method names the compiled class, whose objects read the method's attributes as settings.
    """

    _finder: ClassVar[Any]
    #: Whether it looks at single columns itself, which are then not searched beside it.
    looks_at_axes: ClassVar[bool] = False
    #: Whether it can know of features alone that a node has drawn.
    chooses_features: ClassVar[bool] = False
    #: Whether it can work with products of rows, where these are few beside the features.
    multiplies_rows: ClassVar[bool] = False
    #: Whether its hyperplanes must earn their coefficients, where squared errors are compared.
    has_price: ClassVar[bool] = False

    def finder(self, task: Task) -> Any:
        """Return what proposes and searches at a node, in compiled code.

        Parameters
        ----------
        task : Task
            The data, the size of the largest node, and how its rows are counted.

        Returns
        -------
        Finder
            The compiled side.
        """
        problem, most = task.problem, task.max_features
        return self._finder(
            task.n_features,
            self._n_groups(problem),
            task.max_rows,
            problem.weights is not None,
            task.weight_shift,
            task.scale,
            self._settings(task),
            None if most is None else min(most, task.n_features),
            task.helper,
            task.wide and self.multiplies_rows,
        )

    def label(self, number: int, n_features: int, n_classes: int) -> str:
        """Say what a direction is; classes and the like are counted from 0.

        Parameters
        ----------
        number : int
            The number of the direction; those of the axes come first.
        n_features, n_classes : int
            Sizes of the problem.

        Returns
        -------
        str
            The label.
        """
        return self._label(number - n_features, n_features, n_classes)

    def needs_rows(self) -> str | None:
        """Say what must see the rows of a node; None if sums over them are enough.

        Returns
        -------
        str or None
            A method with its settings, or one of these, in words.
        """
        return f"the method {type(self).__name__}"

    def planned(
        self,
        finder: Any,
        judge: NodeJudge,
        ranges: tuple[FloatArray, FloatArray],
        grid: FixedPoint,
    ) -> Search[tuple[int, ClassSums]]:
        """Let a finder plan from sums over the rows of a node, which are asked for.

        Parameters
        ----------
        finder : PlanningFinder
            The compiled side; it has no rows.
        judge : NodeJudge
            What is known of the node.
        ranges : tuple of two arrays of shape (n_features,)
            The least and the largest value of each column.
        grid : FixedPoint
            How values become whole numbers.

        Returns
        -------
        generator
            The search, which returns the number of tasks, and sums of all rows.
        """
        (sums,) = yield [ScatterSums(grid)]
        products = sums.weights, sums.first, sums.high, sums.low
        return int(finder.load_sums(judge.counts, ranges, products)), sums

    def _n_groups(self, problem: Problem) -> int:
        """Return into how many groups the rows of a node are divided: its classes."""
        return problem.n_classes

    def _settings(self, task: Task) -> Any:
        """Return what the compiled side reads: the method, with what depends on the data."""
        return self

    @abstractmethod
    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        """Say what a direction is; axes are not counted."""

    def _check_choices(self, **choices: tuple[str | None, ...]) -> None:
        """Refuse a setting that is none of its choices."""
        for name, known in choices.items():
            got = getattr(self, name)
            if got not in known:
                listed = ", ".join(map(repr, known))
                raise ValueError(f"{name} must be one of {listed}; got {got!r}.")


def check_rows(limit: object) -> None:
    """Refuse what does not say from how many rows on a node gets oblique splits."""
    number = isinstance(limit, Real) and float(limit) >= 0
    if not (limit is None or number or (isinstance(limit, str) and limit == "2p")):
        raise ValueError(f"min_rows must be a number of rows, '2p' or None; got {limit!r}.")


def fewest_rows(limit: float | str | None, n_features: int) -> int:
    """Return the smallest number of rows of a node with oblique splits."""
    if limit == "2p":
        limit = 2.0
    fewest = float(limit or 0)
    if isinstance(limit, float):
        fewest = fewest * n_features + 1
    return int(min(fewest, 2.0**62))  # more rows than there can be


class CodedAxes(CompiledSide):
    """Axis-parallel splits of columns that cannot be sorted once: levels, and missing numbers."""

    _finder = PlanningFinder

    def _settings(self, task: Task) -> None:
        """Plan no directions of its own."""

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        return AXIS_LABEL


# --- at work -----------------------------------------------------------------------------------


class PythonCriterion:
    """A criterion in Python, as compiled code asks it when it moves a hyperplane."""

    def __init__(
        self, criterion: Criterion, counts: Int64Array, problem: Problem, rules: Rules
    ) -> None:
        self.criterion = criterion
        self.counts = counts
        self.problem = problem
        self.rules = rules

    def score(self, sums: Int64Array) -> float:
        """Return how good it is to have these class sums on the right side."""
        return float(self._scores((self.counts - sums)[None, :])[0])

    def _scores(self, left: Int64Array) -> FloatArray:
        stats = self.problem.stats
        return function_scores(self.criterion, stats(left), stats(self.counts - left))

    def best(
        self,
        values: FloatArray,
        leaves: NDArray[np.uint8] | None,
        classes: Int32Array,
        weights: Int64Array | None,
        tolerance: float,
        right: bool,
        bar: float,
    ) -> tuple[float, float, float] | None:
        """Find the best place between values where rows enter the counted side, or leave it.

        That side is the right one if `right` says so. Returns how good it is and its two
        neighbours, or None if it does not reach `bar`.
        """
        order = np.argsort(values, kind="stable")
        step = np.ones(len(values), dtype=np.int64) if weights is None else weights
        sign = np.ones(len(values), dtype=np.int64)
        if leaves is not None:
            sign[leaves != 0] = -1
        moves = np.zeros((len(values) + 1, len(self.counts)), dtype=np.int64)
        moves[np.arange(1, len(values) + 1), classes[order]] = (sign * step)[order]
        np.add.at(moves[0], classes[sign < 0], step[sign < 0])
        sums = moves.cumsum(axis=0)
        rows = (sign < 0).sum() + np.concatenate([[0], sign[order].cumsum()])
        ends = (-1.0, 1.0) if leaves is not None else (values[order[0]], values[order[-1]])
        around = np.concatenate([[ends[0]], values[order], [ends[1]]])
        weight, total = sums.sum(axis=1), self.counts.sum()
        legal = (
            (np.diff(around) > tolerance)
            & (rows >= self.rules.min_samples_leaf)
            & (len(values) - rows >= self.rules.min_samples_leaf)
            & (weight >= self.rules.min_weight_leaf)
            & (total - weight >= self.rules.min_weight_leaf)
        )
        places = np.flatnonzero(legal)
        if len(places) == 0:
            return None
        left = self.counts - sums[places] if right else sums[places]
        scores = self._scores(left)
        k = int(np.argmax(scores))
        if scores[k] < bar:
            return None
        return float(scores[k]), float(around[places[k]]), float(around[places[k] + 1])


class CompiledMethod:
    """A method's finders for one problem."""

    def __init__(
        self,
        problem: Problem,
        proposals: Proposals,
        criterion: Criterion,
        rules: Rules,
        scale: FloatArray,
        coding: CodedColumns | None = None,
        wide: bool = False,
    ) -> None:
        self.problem = problem
        self.wide = wide
        self.criterion, self.rules = criterion, rules
        self.method: CompiledSide = proposals.proposer
        self.max_features = proposals.max_features
        self.n_drawn = proposals.n_drawn
        self.axis_bias = proposals.axis_bias
        self.weight_shift = weight_shift(problem.total_weight)
        self.scale = scale
        self.coding = coding
        self.max_rows = problem.n_rows  # of the largest node that the loop's own finders will see
        self._loop: list[Any] = []

    def finder(self, max_rows: int, helper: bool = False) -> Any:
        """Return a finder for nodes of up to `max_rows` rows; one per thread."""
        found = self.method.finder(
            Task(
                self.problem,
                max_rows,
                self.weight_shift,
                self.scale,
                self.max_features,
                helper,
                self.wide,
                self.n_drawn,
            )
        )
        if self.n_drawn is not None:
            found.set_choice(self.problem.n_rows if self.problem.is_sparse else 0)
        found.bias = self.axis_bias
        if self.problem.row_counts is not None:
            found.set_row_counts(np.ascontiguousarray(self.problem.row_counts))
        if self.coding is not None:
            alone = isinstance(self.method, CodedAxes)
            found.set_coding(*self.coding.settings, self.problem.sides, alone)
            found.set_level_unit(self.coding.level_unit)
        return found

    def alone(self, max_rows: int) -> CompiledMethod:
        """Return the same method with finders of its own, for nodes of up to `max_rows` rows."""
        other = copy(self)
        other.max_rows, other._loop = max_rows, []
        return other

    def describe(self, number: int) -> str:
        """Say what a direction is."""
        n_features = self.problem.n_features if self.n_drawn is None else self.n_drawn
        if number < n_features:
            return AXIS_LABEL
        return self.method.label(number, n_features, len(self.problem.counts))

    def close(self) -> None:
        """Give back the memory of the loop's own finders."""
        for finder in self._loop:
            finder.finished()
        self._loop = []

    def planes(self, rows: Int32Array, counts: Int64Array, key: int) -> Planes | None:
        """List the directions of a node, for a criterion in Python."""
        self._load(rows, counts, key, 1)
        finder = self._loop[0]
        if self.criterion.code < 0 and isinstance(finder, AsksCriterion):
            finder.set_measure(PythonCriterion(self.criterion, counts, self.problem, self.rules))
        numbers, planes = finder.directions()
        if not numbers:
            return None
        return Planes(
            np.cumsum([0] + [len(idx) for idx, _ in planes]),
            np.concatenate([idx for idx, _ in planes]),
            np.concatenate([coef for _, coef in planes]),
            None,
            tuple(self.describe(number) for number in numbers),
        )

    def search(
        self,
        rows: Int32Array,
        counts: Int64Array,
        key: int,
        axis: Split | None,
        columns: ColumnLists,
        pool: Executor | None,
        n_threads: int,
    ) -> Split | None:
        """Find the best split of a node, if one is better than `axis`; marks its sides."""
        plain = (0.0, -1, 0) if axis is None else (axis.goodness, axis.order, axis.rows_left)
        tasks = self._load(rows, counts, key, n_threads if pool else 1)
        owner = self._loop[0]
        free = list(self._loop)
        least = plain  # of the coded columns too
        if self.coding is not None:
            least = owner.look(owner, 0, 0, plain, columns)
        bar = (self.axis_bias * least[0], *least[1:])
        # With missing values on a side, a direction may be better than it seems.
        low = (0.0, *least[1:]) if owner.n_absent else bar

        def task(share: tuple[int, int]) -> tuple[float, int, int]:
            finder = free.pop()
            try:
                cut: tuple[float, int, int] = finder.look(owner, *share, low, columns)
            finally:
                free.append(finder)
            return cut

        def look(first: int, last: int) -> list[tuple[float, int, int]]:
            shares = self._shares(first, last, n_threads if pool else 1)
            return list(pool.map(task, shares) if pool else map(task, shares))

        looks = look(0, tasks)
        looks += look(tasks, owner.continued(least))  # the second round starts from what was found
        if isinstance(owner, StopsEarly):  # the others would not have been tried by one thread
            last = owner.last_direction()
            looks = [cut for cut in looks if cut[1] <= last]
        best = min((low, *looks), key=lambda cut: (-cut[0], cut[1]))
        along_axes = least[0]
        if self.method.looks_at_axes:
            n_features = self.problem.n_features
            along_axes = max((cut[0] for cut in looks if 0 <= cut[1] < n_features), default=0.0)
        decided = None
        if best[1] != least[1]:
            decided = owner.decide(best[1], bar, columns)
        if decided is None and least[1] != plain[1]:  # a direction need not keep its promise
            best = least
            decided = owner.decide(best[1], plain, columns)
        if decided is None:
            return None
        goodness, rows_left, threshold, missing, terms = decided
        return Split(
            goodness,
            best[1],
            rows_left,
            threshold,
            terms=Terms(*terms),
            label=self.describe(best[1]),
            axis_goodness=along_axes,
            marked=True,
            missing=missing,
        )

    def _load(self, rows: Int32Array, counts: Int64Array, key: int, n: int) -> int:
        """Read a node; returns the number of tasks: mirrors and single directions."""
        problem, rules = self.problem, self.rules
        while len(self._loop) < n:
            self._loop.append(self.finder(self.max_rows, helper=len(self._loop) > 0))
        limits = (self.criterion.code, rules.min_samples_leaf, rules.min_weight_leaf)
        tasks: int = self._loop[0].load(problem.Z, rows, problem.target_rows, counts, limits, key)
        return tasks

    def _shares(self, first: int, last: int, n_threads: int) -> list[tuple[int, int]]:
        """Deal out directions: a mirror to a thread, or the columns of a mirror to several."""
        p = self.problem.n_features
        pieces = min(p, -(-n_threads // max(last - first, 1)))
        return [
            (t * p + p * piece // pieces, t * p + p * (piece + 1) // pieces)
            for t in range(first, last)
            for piece in range(pieces)
        ]
