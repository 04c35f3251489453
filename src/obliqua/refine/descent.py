"""Refining: all hyperplanes and leaves of a tree move together, down the gradient of one loss.

Each gate is soft: a row goes right with the probability g = sigmoid(beta (w.x + b)), so that each
leaf gets a share of it, and v is the mean over leaves of the share that they give to the row's own
class. The loss is -log(v + c). beta grows from step to step until the gates are nearly hard.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._core.refine.soft import Descent, shuffle
from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.data.threads import over_rows
from obliqua.refine.draft import Draft, class_counts, fitted_lines, logits_of
from obliqua.refine.rows import ENOUGH, Float32Array, SoftRows, robust

__all__ = ["Schedule", "Watch", "refine"]

#: s^2 in exp(-(y - f)^2 / (2 s^2)), in mean squared errors of the tree that is refined, and the
#: least of these, where numbers have a standard deviation of 1.
SPREAD, LEAST_ERROR = 2.0, 1e-4

#: A side of a split that fewer of its rows take than this share is a light one.
LIGHT_SIDE = 0.05
#: Rows within this height of a split, whose gate has a standard deviation of 1, stand at it.
NEAR = 0.5
#: Hyperplanes are drawn to 0 in proportion to the share of rows at the node, or to so many times
#: that of its lighter side, if that is less: little else is at stake there.
AT_STAKE = 8.0
#: Classes that have less than this part of the rows of a mean one are rare.
RARE_CLASS = 4
#: A descent that keeps less than this share of what the tree saves beside a single leaf is made
#: again, with gates twice as sharp, and at last not at all.
FORGOTTEN, MOST_DOUBLINGS = 0.5, 6

_CHUNK = 4_000_000  # weights that rows meet between two looks at the clock: some 50 ms
_ROWS_PER_THREAD = 32  # of a batch: fewer are not worth the waiting
_SMALL = 64  # rows of a batch that has no blocks, see soft.h
_BLOCKS = 4  # of a larger one


@dataclass(frozen=True)
class Schedule:
    """How a draft is refined.

    Parameters
    ----------
    passes : float or None, default=None
        How often each row is looked at; None: as often as so many rows want.
    sharpness : tuple of two floats, default=(2.0, 8.0)
        beta at the beginning and at the end.
    rate, leaf_rate : float, default=0.02, 0.05
        Adam's rates for hyperplanes and for leaves at the beginning; they fall to 0.
    decay : float or None, default=None
        How much hyperplanes are drawn to 0, in proportion to the share of rows at their node;
        None: 0.01 with fewer than 1,000 rows, 0.001 with more.
    least_passes : float, default=30.0
        With `passes=None`, the fewest, if there are not very many rows.
    visits : float, default=128_000.0
        With `passes=None`, how many rows are looked at in all passes, if that means more passes.
    """

    passes: float | None = None
    sharpness: tuple[float, float] = (2.0, 8.0)
    rate: float = 0.02
    leaf_rate: float = 0.05
    decay: float | None = None
    least_passes: float = 30.0
    visits: float = 128_000.0

    def quick(self) -> Schedule:
        """Return the same with a quarter of the visits, and at least half of the passes."""
        return replace(self, visits=self.visits / 4, least_passes=self.least_passes / 2)

    def _passes_over(self, n_rows: int) -> float:
        """Return how often each row is looked at."""
        if self.passes is not None:
            return self.passes
        # Few rows want steps rather than passes: 2,000 batches. Many rows want fewer passes.
        least = max(min(self.least_passes, 20_000.0 * self.least_passes / n_rows), 4.0)
        return min(max(self.visits / n_rows, least), 400.0)

    def _decay_with(self, n_rows: int) -> float:
        """Return how much hyperplanes are drawn to 0."""
        if self.decay is not None:
            return self.decay
        return 1e-2 if n_rows < 1000 else 1e-3

    def _batch_size(self, n_rows: int) -> int:
        """Return the rows of a batch: 64, and more where there are very many."""
        size = 64
        while size < 256 and n_rows >= 2_500 * size:
            size *= 2
        return size


class Watch:
    """Says when time is up, keeps the curve of the loss, and tells of progress.

    Parameters
    ----------
    seconds : float or None
        The time from now on; None for no limit.
    note : callable or None
        Called with a line of text from time to time.
    """

    def __init__(
        self, seconds: float | None = None, note: Callable[[str], None] | None = None
    ) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds
        self.note = note
        self.curve: list[float] = []

    @property
    def is_up(self) -> bool:
        """Whether the time is over."""
        return self.end is not None and time.monotonic() >= self.end

    def half(self) -> Watch:
        """Return another one, for half of the time that is left.

        Returns
        -------
        Watch
            It tells of progress in the same way, and has a curve of its own.
        """
        left = None if self.end is None else (self.end - time.monotonic()) / 2
        return Watch(left, self.note)

    def say(self, text: str) -> None:
        """Tell of progress.

        Parameters
        ----------
        text : str
            What to tell.
        """
        if self.note is not None:
            self.note(text)


def refine(
    draft: Draft,
    rows: SoftRows,
    schedule: Schedule | None = None,
    key: int = 0,
    n_threads: int = 1,
    watch: Watch | None = None,
) -> Draft:
    """Move all hyperplanes and leaves of a draft together."""
    if draft.n_nodes == 0:
        return draft
    schedule = Schedule() if schedule is None else schedule
    watch = Watch() if watch is None else watch
    curve = len(watch.curve)
    for doublings in range(MOST_DOUBLINGS):
        after = _refined(draft, rows, schedule, key, n_threads, watch, doublings)
        if watch.is_up or not _forgets(draft, after, rows):
            return after
        # Too soft: what leaks through the gates weighs more than all that the tree can tell.
        del watch.curve[curve:]
    return draft


def _forgets(before: Draft, after: Draft, rows: SoftRows) -> bool:
    """Whether a draft has lost most of what it saves beside a single leaf."""
    if rows.numbers is not None:
        return False
    of_one_leaf = float((1.0 - rows.class_share.max()) * rows.units.sum())
    saved = of_one_leaf - _errors(before, rows)
    return of_one_leaf - _errors(after, rows) < FORGOTTEN * saved


def _refined(
    draft: Draft,
    rows: SoftRows,
    schedule: Schedule,
    key: int,
    n_threads: int,
    watch: Watch,
    doublings: int,
) -> Draft:
    """Refine once, with normals that are doubled so often beforehand."""
    normals, leaf, reached = _scaled(draft, rows)
    before = draft
    draft = replace(draft, normals=np.ldexp(normals, doublings))
    at_stake = reached
    visits = np.arange(rows.n_rows)
    if rows.numbers is None:
        size = min(schedule._batch_size(rows.n_rows), rows.n_rows)
        at_stake = np.ldexp(_heed_light_sides(draft, rows, reached), -2 * doublings)
        times = _times(rows, size)
        logits = logits_of(class_counts(leaf, rows, draft.n_leaves), rows)
        soft = draft.soft(_weighted_by(rows, times), logits)
        visits = np.repeat(visits, times)
    else:
        lines, errors = fitted_lines(draft.soft(rows), leaf, rows)
        spread = SPREAD * max(float(errors.sum()) / rows.n_rows, LEAST_ERROR)
        soft = draft.soft(rows, lines=lines, narrow=0.5 / spread)
        size = min(_SMALL, rows.n_rows)
    # Few blocks, for all of their sums must be added up in the end.
    n_blocks = min(size // _ROWS_PER_THREAD, _BLOCKS) if size > _SMALL else 1
    n_threads = max(1, min(n_threads, n_blocks if n_blocks > 1 else size // _ROWS_PER_THREAD))
    n_batches = -(-len(visits) // size)
    n_steps = max(round(schedule._passes_over(rows.n_rows) * n_batches), 1)
    shares = _shares(reached, draft, rows.n_classes, n_threads)
    descent = Descent(
        soft,
        size,
        (n_steps, *schedule.sharpness, schedule.rate, schedule.leaf_rate),
        (schedule._decay_with(rows.n_rows) * at_stake).astype(np.float32),
        _pulled(rows),
        draft.mask,
        shares,
        n_blocks,
    )
    finished = _descend(descent, rows, visits, n_steps, n_batches, size, key, watch)
    # Gates that are still soft may divide rows worse than those at the start, when they harden.
    if not finished and _errors(draft, rows) > _errors(before, rows):
        return before
    return draft


def _errors(draft: Draft, rows: SoftRows) -> float:
    """Return the weight of wrong rows, or the squared errors of numbers, with hard gates."""
    if rows.numbers is not None:
        return float(fitted_lines(draft.soft(rows), draft.walk(rows)[0], rows)[1].sum())
    counts = draft.counts(rows)
    return float((counts.sum(axis=1) - counts.max(axis=1)).sum())


def _scaled(draft: Draft, rows: SoftRows) -> tuple[Float32Array, Int32Array, FloatArray]:
    """Scale each hyperplane so that heights of its rows have a standard deviation of 1.

    Also returns the leaf of each row, and the share of all rows that reaches each node.
    """
    normals = draft.normals.copy()
    leaf, sums = replace(draft, normals=normals).walk(rows)
    sd = _deviations(sums)
    if rows.columns.heavy:
        sd = _without_far_rows(sd, normals, leaf, draft, rows)
    for node in np.flatnonzero(sd == 0.0).tolist():
        sd[node] = float(_heights(normals[node], rows).std()) or 1.0
    normals /= sd.astype(np.float32)[:, None]
    return normals, leaf, sums[:, 0] / rows.n_rows


def _heed_light_sides(draft: Draft, rows: SoftRows, reached: FloatArray) -> FloatArray:
    """Sharpen, in place, gates that few rows pass on one side; return what is at stake at nodes.

    If one row of a thousand takes a side, a gate as soft as others lets in more rows of the other
    side than it has of its own, and the descent would shut it for good. So normals are doubled
    until no more rows of the other side stand at the split than this side has. What is at stake
    is the share of all rows by which a hyperplane is drawn to 0, in its new units.
    """
    soft, units = draft.soft(rows), rows.units
    parts = over_rows(
        lambda first, last: soft.nearness(units, NEAR, first, last), rows.n_rows, rows.n_threads
    )
    cells = np.add.reduce(parts)
    sides = cells.sum(axis=2)
    light = sides.min(axis=1)
    # By node: rows of the heavier side within NEAR, within half of it, ...
    within = np.take_along_axis(cells, sides.argmax(axis=1)[:, None, None], axis=1)[:, 0]
    within = within[:, :0:-1].cumsum(axis=1)[:, ::-1]
    few = (light > 0) & (light < LIGHT_SIDE * sides.sum(axis=1))
    crowded = within > light[:, None]
    doublings = np.where(few, np.minimum(crowded.sum(axis=1), crowded.shape[1] - 1), 0)
    draft.normals[:] = np.ldexp(draft.normals, doublings[:, None])
    share = np.where(light > 0, AT_STAKE * light / float(units.sum()), reached)
    return np.ldexp(np.minimum(reached, share), -2 * doublings)


def _times(rows: SoftRows, size: int) -> Int64Array:
    """Return how often a pass looks at each row.

    Rows of rare classes are looked at more often, with less weight each time, so that most batches
    have one: else the others would lead the steps in between.
    """
    of_class = np.bincount(rows.y, minlength=rows.n_classes)
    wanted = rows.n_rows // max(size, RARE_CLASS * int(np.count_nonzero(of_class)))
    return np.asarray(np.maximum(wanted // np.maximum(of_class, 1), 1)[rows.y])


def _weighted_by(rows: SoftRows, times: Int64Array) -> SoftRows:
    """Divide weights by how often rows are looked at, so that those of a pass have a mean of 1."""
    if (times == 1).all():
        return rows
    weight = rows.weight * (float(times.sum()) / rows.n_rows) / times
    return replace(rows, weight=weight.astype(np.float32))


def _without_far_rows(
    sd: FloatArray, normals: Float32Array, leaf: Int32Array, draft: Draft, rows: SoftRows
) -> FloatArray:
    """Return the spreads of heights, those of the quartiles where a few rows are far out."""
    sd = sd.copy()
    some = slice(0, ENOUGH)  # rows stand in a random order
    reached = np.zeros((draft.n_nodes, len(leaf[some])), dtype=bool)
    for node in range(draft.n_nodes - 1, -1, -1):
        for side in draft.child[node].tolist():
            reached[node] |= reached[side] if side >= 0 else leaf[some] == -1 - side
    for node in range(draft.n_nodes):
        heights = _heights(normals[node], rows, ENOUGH)[reached[node]]
        if len(heights):
            _, sd[node], _ = robust(heights, 0.0, float(sd[node]))
    return sd


def _heights(normal: Float32Array, rows: SoftRows, most: int | None = None) -> FloatArray:
    """Return w.x + b of all rows, or of the first ones."""
    n = rows.n_rows if most is None else min(most, rows.n_rows)
    heights = (rows.x[:n] * normal[: rows.x.shape[1]]).sum(axis=1, dtype=np.float64)
    if rows.more_ptr is not None and rows.more is not None:
        of_row = np.repeat(np.arange(n), np.diff(rows.more_ptr[: n + 1]))
        heights += np.bincount(of_row, normal[rows.more[: len(of_row)]], n)
    return heights


def _deviations(sums: FloatArray) -> FloatArray:
    """Return standard deviations from sums of weight, value and square."""
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[:, 1] / sums[:, 0]
        variance = sums[:, 2] / sums[:, 0] - mean * mean
    # What cancels to noise is no deviation.
    noise = 1e-10 * mean * mean
    return np.sqrt(np.where(variance > noise, variance, 0.0))


def _pulled(rows: SoftRows) -> Float32Array:
    """Return 1 for the weights that are drawn to 0: all but the constant."""
    pulled = np.ones(rows.columns.width, dtype=np.float32)
    pulled[rows.columns.constant] = 0.0
    return pulled


def _shares(reached: FloatArray, draft: Draft, n_classes: int, n_threads: int) -> Int32Array:
    """Return where the nodes and the leaves of each thread begin, and the end.

    A node costs what its rows cost and a step of Adam, which takes about as long as some rows.
    """
    # A soft gate lets more rows pass than a hard one, nearer to the root above all.
    cost = np.cumsum(64.0 * reached + 8.0)
    goals = cost[-1] * np.arange(1, n_threads) / n_threads
    nodes = [0, *np.searchsorted(cost, goals).tolist(), draft.n_nodes]
    leaves = [draft.n_leaves * k // n_threads for k in range(n_threads + 1)]
    return np.ascontiguousarray(np.array([nodes, leaves], dtype=np.int32).T)


class _Order:
    """Random orders of rows, each made from the one before.

    Rows of large batches are mixed in groups: they stand in the order of hashes, so that a group
    is as good as any other rows, and rows that stand together are read faster.
    """

    def __init__(self, n_rows: int, size: int) -> None:
        self.n_rows = n_rows
        self.group = 8 if size > _SMALL else 1
        self.groups = np.arange(-(-n_rows // self.group), dtype=np.int64)

    def mixed(self, key: int) -> Int64Array:
        """Return the next order."""
        shuffle(self.groups, key)
        if self.group == 1:
            return self.groups
        order = (self.group * self.groups[:, None] + np.arange(self.group)).ravel()
        return order[order < self.n_rows]


def _descend(
    descent: Descent,
    rows: SoftRows,
    visits: Int64Array,
    n_steps: int,
    n_batches: int,
    size: int,
    key: int,
    watch: Watch,
) -> bool:
    """Make the steps, note the mean loss of each pass, and return whether all were made."""
    n_visits = len(visits)
    order = _Order(n_visits, size)
    chunk = max(_CHUNK // (size * rows.columns.width), 1)
    done = number = 0
    with ThreadPoolExecutor(max(descent.n_threads - 1, 1)) as pool:
        while done < n_steps and not watch.is_up:
            mixed = visits[order.mixed(child_key(key, number))]
            descent.forget_loss()
            first, last = 0, min(n_batches, n_steps - done)
            while first < last and not watch.is_up:
                end = min(first + chunk, last)
                _together(descent, pool, mixed, first, end, done + first)
                first = end
            if rows.numbers is not None:
                descent.move_lines(rows.numbers.n_columns, rows.numbers.penalty)
            rows_seen = min(first * size, n_visits)
            # A few batches at the end would show a mean of few rows, up or down by chance.
            if number == 0 or 2 * rows_seen >= n_visits:
                watch.curve.append(descent.loss / max(rows_seen, 1))
            done += first
            number += 1
    return done >= n_steps


def _together(
    descent: Descent,
    pool: ThreadPoolExecutor,
    order: Int64Array,
    first: int,
    last: int,
    before: int,
) -> None:
    """Let all threads make some steps; this one is the first of them."""
    try:
        others = [
            pool.submit(descent.run, order, first, last, before, k)
            for k in range(1, descent.n_threads)
        ]
        descent.run(order, first, last, before, 0)
        for other in others:
            other.result()
    except BaseException:
        # Ctrl-C, say, before this thread could join: the others must not wait for it.
        descent.give_up()
        raise
