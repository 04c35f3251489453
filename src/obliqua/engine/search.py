"""The best split of one node over a batch of directions."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from obliqua._core.search.node_search import NodeSearch, threshold_between
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.engine.coding import Terms
from obliqua.engine.proposals import Planes
from obliqua.engine.rules import Rules

__all__ = ["Split", "SplitSearch", "best_split", "function_scores"]

WORK_PER_THREAD = 200_000  # rows x directions below which a thread is not worth starting


@dataclass
class Split:
    """A chosen hyperplane and what it is worth."""

    goodness: float
    order: int  # the place of its direction in the order that breaks ties
    rows_left: int
    threshold: float = np.nan
    column: int = -1  # the column of an axis-parallel split of the sorted columns, else -1
    terms: Terms | None = None  # its coefficients, unless it is one of the sorted columns
    label: str = ""
    gain: float = np.nan
    axis_goodness: float = np.nan
    axis_gain: float = np.nan
    marked: bool = False  # whether the sorted columns know the sides of the rows
    missing: int = 0  # where rows with missing values go, see `assemble`

    @property
    def idx(self) -> Int32Array:
        """The columns of the hyperplane."""
        assert self.terms is not None
        return self.terms.idx

    @property
    def coef(self) -> FloatArray:
        """Their coefficients."""
        assert self.terms is not None
        return self.terms.coef

    def divide(
        self, problem: Problem, rows: Int32Array, counts: Int64Array
    ) -> tuple[NDArray[np.uint8], Int64Array]:
        """Return which of the rows go right, and the class sums of those that go left."""
        node = NodeSearch(problem.Z, rows, problem.target_rows, counts, 0, len(rows), 1, 0)
        right, left = node.divide(self.idx, self.coef, self.threshold)
        return right, left


def compiled_node(
    problem: Problem, rows: Int32Array, counts: Int64Array, code: int, rules: Rules, n_rows: int
) -> NodeSearch:
    """Return rows as the compiled search sees them: those of a node of `n_rows`, or a part."""
    least = rules.min_samples_leaf, rules.min_weight_leaf
    return NodeSearch(problem.Z, rows, problem.target_rows, counts, code, n_rows, *least)


def best_split(found: Iterable[Split]) -> Split | None:
    """Return the split with the largest goodness; the earlier direction wins ties."""
    return min(found, key=lambda split: (-split.goodness, split.order), default=None)


def function_scores(criterion: Criterion, left: AnyArray, right: AnyArray) -> FloatArray:
    """Score cuts by a criterion written in Python; what it says must be finite."""
    scores = criterion.goodness(left, right)
    if not np.isfinite(scores).all():
        k = int(np.flatnonzero(~np.isfinite(scores))[0])
        got = "NaN" if np.isnan(scores[k]) else "infinity"
        raise ValueError(
            f"The criterion {criterion.name!r} must return a finite number for every pair of "
            f"sides; got {got} for left={left[k].tolist()}, right={right[k].tolist()}. "
            "Return 0 for a split of no use."
        )
    return scores


@dataclass(frozen=True, eq=False)
class SplitSearch:
    """The search for the best legal split of some rows."""

    problem: Problem
    rows: Int32Array
    counts: Int64Array
    criterion: Criterion
    rules: Rules
    exhaustive: bool = False  # whether a split without gain is found too
    pool: Executor | None = None
    n_threads: int = 1

    def best(self, planes: Planes) -> Split | None:
        """Find the best split along the given directions."""
        if planes.opened is not None:
            # Of directions with thresholds, those that lost features are searched.
            ptr, idx, coef, _, labels, _ = planes.only(planes.opened)
            searched = Planes(ptr, idx, coef, None, labels)
            both = (self.best(planes.only(~planes.opened)), self.best(searched))
            return best_split(split for split in both if split is not None)
        if planes.thresholds is not None:
            found = self._score_given(planes, planes.thresholds)
        elif self.criterion.code >= 0:
            found = self._search_compiled(planes)
        else:
            found = self._search_function(planes)
        if found is None:
            return None
        found.terms = Terms.plain(*planes.row(found.order))
        found.label = (
            planes.labels[found.order] if planes.labels is not None else f"direction {found.order}"
        )
        return found

    def values(self, split: Split) -> FloatArray:
        """Return the canonical values of the rows along a split's normal."""
        return self._node.values(split.idx, split.coef)

    @cached_property
    def _node(self) -> NodeSearch:
        code, n_rows = self.criterion.code, len(self.rows)
        return compiled_node(self.problem, self.rows, self.counts, code, self.rules, n_rows)

    def _search_compiled(self, planes: Planes) -> Split | None:
        k, node = len(planes), self._node
        shares = 1
        if self.pool is not None:
            work = len(self.rows) * k // WORK_PER_THREAD
            shares = int(max(1, min(self.n_threads, k, work)))
        ends = [k * share // shares for share in range(shares + 1)]

        def task(share: int) -> tuple[float, int, int, float, float]:
            cut: tuple[float, int, int, float, float] = node.search(
                planes.ptr, planes.idx, planes.coef, ends[share], ends[share + 1], self.exhaustive
            )
            return cut

        cuts = list(self.pool.map(task, range(shares))) if self.pool and shares > 1 else [task(0)]
        best = min((cut for cut in cuts if cut[1] >= 0), key=lambda c: (-c[0], c[1]), default=None)
        if best is None:
            return None
        return Split(best[0], best[1], best[2], threshold_between(best[3], best[4]))

    def _search_function(self, planes: Planes) -> Split | None:
        """A criterion written in Python scores all cuts of a direction at once."""
        best: Split | None = None
        for d in range(len(planes)):
            idx, coef = planes.row(d)
            if len(idx) == 0:
                continue
            rows_left, sums, below, above = self._node.cuts(idx, coef)
            if len(rows_left) == 0:
                continue
            scores = self._function_scores(sums)
            k = int(np.argmax(scores))
            bar = best.goodness if best is not None else 0.0
            if scores[k] > bar or (self.exhaustive and best is None and scores[k] == 0.0):
                cut = threshold_between(below[k], above[k])
                best = Split(float(scores[k]), d, int(rows_left[k]), cut)
        return best

    def _function_scores(self, sums: Int64Array) -> FloatArray:
        """Score cuts with these sums on the left side."""
        stats = self.problem.stats
        return function_scores(self.criterion, stats(sums), stats(self.counts - sums))

    def _score_given(self, planes: Planes, thresholds: FloatArray) -> Split | None:
        """Directions with thresholds of their own are only scored."""
        node = self._node
        scores = node.score_at(planes.ptr, planes.idx, planes.coef, thresholds)
        if self.criterion.code < 0:
            for k in np.flatnonzero(~np.isnan(scores)).tolist():
                _, left = node.divide(*planes.row(k), thresholds[k])
                scores[k] = self._function_scores(left[None, :])[0]
        legal = ~np.isnan(scores)
        if self.exhaustive and self.criterion.code >= 0:
            # The split is somebody else's choice, and our measure of it has no veto. A criterion
            # of the user's own may forbid it.
            scores = np.maximum(scores, 0.0)
        scores = np.where(legal, scores, -np.inf)
        d = int(np.argmax(scores))
        if not (scores[d] > 0.0 or (self.exhaustive and scores[d] == 0.0)):
            return None
        threshold = float(thresholds[d])
        right, _ = node.divide(*planes.row(d), threshold)
        return Split(float(scores[d]), d, len(self.rows) - int(right.sum()), threshold)
