"""The search over data that lie in parts: the same steps, with sums over the parts in between.

Each part answers four small questions about a node's rows (ranges, histogram, collect, and
what its rows add up to); what comes back is added or joined, and one place decides.
The split is the one that a search over all rows in one memory finds, bit for bit, for any number
of parts and any order of rows. `obliqua.engine.search_parts` is what a cluster will call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.base.target import TargetRows
from obliqua._core.search.node_search import NodeSearch, threshold_between
from obliqua._typing import FloatArray, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers
from obliqua.engine.coding import Terms
from obliqua.engine.proposals import Planes
from obliqua.engine.search import Split, compiled_node

__all__ = ["Intervals", "Part", "search_parts"]

TIE = 2.0**-50  # per term, as in the compiled search
FAR = 1 << 62  # a direction that every other one precedes

_Cut = tuple[float, int, int, float, float]


class Intervals(NamedTuple):
    """Stretches of values along directions that may still hide the best cut."""

    direction: Int64Array
    low: FloatArray
    high: FloatArray
    before: Int64Array  # sums, and rows (last), left of each interval
    tolerance: FloatArray

    def __len__(self) -> int:
        return len(self.direction)


@dataclass(frozen=True)
class Part:
    """Some of the rows of a node, wherever they live.

    Parameters
    ----------
    problem : Problem
        The data of this part.
    rows : ndarray of int32
        The numbers of the node's rows in it.
    """

    problem: Problem
    rows: Any

    def sums(self) -> Int64Array:
        """Return sums and (last) the number of rows."""
        sums = self.problem.target_rows.sums(np.ascontiguousarray(self.rows, dtype=np.int32))
        return np.append(sums, len(self.rows))


def search_parts(
    parts: Sequence[Part],
    planes: Planes,
    criterion: Criterion,
    rules: Any,
    n_bins: int = 256,
    few_rows: int = 4096,
    most_zooms: int = 4,
) -> Split | None:
    """Find the best split of a node whose rows lie in parts.

    Parameters
    ----------
    parts : sequence of Part
        The node's rows.
    planes : Planes
        The directions, without thresholds.
    criterion : Criterion
        A built-in criterion.
    rules : Rules
        Of these, the smallest sides count here.
    n_bins : int
        Bins per interval and pass.
    few_rows : int
        Undecided bins with so few rows in all are collected; more are looked at closer first.
    most_zooms : int
        How often to look closer before collecting all the same.

    Returns
    -------
    Split or None
        None if no cut has a positive goodness (with ``rules.zero_gain``: at least 0).
    """
    units = sorted({part.problem.unit for part in parts})
    if len(units) > 1:
        raise ValueError(
            f"All parts must count weights in the same unit; got {units}. Encode the weights of "
            "all rows together, then divide the rows into parts."
        )
    targets = [part.problem.target for part in parts]
    targets[0].check_criterion(criterion)
    if len({target.measure for target in targets}) > 1:
        raise ValueError(
            "All parts must have numbers on the same grid; got several. Encode all rows together, "
            "then divide them into parts."
        )
    sums = np.sum([part.sums() for part in parts], axis=0)
    counts, n_rows = np.ascontiguousarray(sums[:-1]), int(sums[-1])
    nodes = [
        compiled_node(part.problem, part.rows, counts, criterion.code, rules, n_rows)
        for part in parts
    ]
    judge = nodes[0]
    whole = todo = _whole_ranges(nodes, planes, len(sums))
    best = (0.0, -1, 0, 0.0, 0.0)
    for zoom in range(most_zooms + 1):
        bins, ends = _histogram(nodes, planes, todo, n_bins)
        best, interval, place = judge.choose(
            bins, ends, todo.direction, todo.before, todo.tolerance, best
        )
        todo, rows = _zoom(todo, bins, ends, interval, place)
        if len(todo) == 0 or rows <= few_rows or zoom == most_zooms:
            break
    numbers = isinstance(parts[0].problem.target, Numbers)
    best = _finish(judge, nodes, planes, todo, best, numbers)
    if best[1] < 0 and rules.zero_gain:
        # No bound tells which cut is the first of those without gain: all values are needed.
        best = _finish(judge, nodes, planes, whole, (0.0, FAR, 0, 0.0, 0.0), numbers)
    if not 0 <= best[1] < FAR:
        return None
    split = Split(best[0], best[1], best[2], threshold_between(best[3], best[4]))
    split.terms = Terms.plain(*planes.row(split.order))
    return split


def _finish(
    judge: NodeSearch,
    nodes: list[NodeSearch],
    planes: Planes,
    todo: Intervals,
    best: _Cut,
    numbers: bool,
) -> _Cut:
    if len(todo) == 0:
        return best
    interval, values, collected = _collect(nodes, planes, todo, numbers)
    return judge.finish(
        interval, values, collected, todo.direction, todo.before, todo.tolerance, best
    )


def _whole_ranges(nodes: list[NodeSearch], planes: Planes, n_sums: int) -> Intervals:
    """One interval per direction: from the smallest to the largest value of all parts."""
    found = np.stack([node.ranges(planes.ptr, planes.idx, planes.coef) for node in nodes])
    low, high = found[:, :, 0].min(axis=0), found[:, :, 1].max(axis=0)
    size = found[:, :, 2].max(axis=0)
    sizes = np.diff(planes.ptr)
    tolerance = np.where(sizes == 1, 0.0, TIE * sizes * size)
    use = np.flatnonzero((sizes > 0) & np.isfinite(size) & (low < high))
    return Intervals(
        use.astype(np.int64),
        low[use],
        high[use],
        np.zeros((len(use), n_sums), dtype=np.int64),
        tolerance[use],
    )


def _histogram(
    nodes: list[NodeSearch], planes: Planes, todo: Intervals, n_bins: int
) -> tuple[Int64Array, FloatArray]:
    answers = [
        node.histogram(
            planes.ptr, planes.idx, planes.coef, todo.direction, todo.low, todo.high, n_bins
        )
        for node in nodes
    ]
    bins = np.sum([sums for sums, _ in answers], axis=0)
    ends = np.stack([ends for _, ends in answers])
    joined = np.stack([ends[..., 0].min(axis=0), ends[..., 1].max(axis=0)], axis=-1)
    return np.ascontiguousarray(bins), np.ascontiguousarray(joined)


def _zoom(
    todo: Intervals, bins: Int64Array, ends: FloatArray, interval: Any, place: Any
) -> tuple[Intervals, int]:
    """Make intervals of the undecided bins; also the number of rows in them."""
    left = np.cumsum(bins, axis=1) - bins + todo.before[:, None, :]
    closer = Intervals(
        todo.direction[interval],
        np.ascontiguousarray(ends[interval, place, 0]),
        np.ascontiguousarray(ends[interval, place, 1]),
        np.ascontiguousarray(left[interval, place]),
        todo.tolerance[interval],
    )
    return closer, int(bins[interval, place, -1].sum())


def _collect(
    nodes: list[NodeSearch], planes: Planes, todo: Intervals, numbers: bool
) -> tuple[Int64Array, FloatArray, TargetRows]:
    """The values left in the undecided intervals, grouped by interval."""
    answers = [
        node.collect(planes.ptr, planes.idx, planes.coef, todo.direction, todo.low, todo.high)
        for node in nodes
    ]
    joined = [np.concatenate(column) for column in zip(*answers, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    interval, value, learnt, weight = (column[order] for column in joined)
    n_sums = todo.before.shape[1] - 1
    return interval.astype(np.int64), value, TargetRows(learnt, weight, n_sums, numbers)
