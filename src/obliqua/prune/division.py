"""Dividing rows at random, by what is in them.

A row's place depends on a hash of its values and label and on the seed. Neither the order of the
rows nor writing a row twice instead of giving it weight 2 changes the division: equal rows are
looked at as one group, which consists of so many parts of equal weight as its weight says. Each
part finds its own place, so a table with few different rows can be divided too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, fsum
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import scattered
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import hashes_of
from obliqua.data.weights import ROUNDING

__all__ = ["draw", "folds", "hold_out", "repeated_folds", "trials"]

#: Into how many parts rows are divided to choose between trees, and how many rows make it fewer.
MANY_FOLDS, FEW_FOLDS = 5, 3
MANY_FOLDS_BELOW, ONE_DIVISION = 1_000, 5_000
MOST_PARTS = 2**24  # weights that are no counts would give many more
#: Equal rows stay together if that leaves so many groups for each fold, the heavy counted less.
GROUPS_OF_FOLD = 10


@dataclass(frozen=True)
class _DivisibleRows:
    """What can be divided, in a random order."""

    group: Int64Array  # (n_rows,): the group of each row: rows that are equal
    owner: Int64Array  # (n_parts,): the group of each part
    size: Int64Array  # (n_parts,): the weight of each part in grid units

    def numbered(self, n_folds: int) -> Int64Array:
        """Number the parts with folds of about equal weight, in their order."""
        size: FloatArray = self.size.astype(np.float64)
        end = np.cumsum(size)
        # Weights such as a tenth are rounded: what lies between two folds goes to the later one.
        middle = (end - size / 2) / end[-1] + ROUNDING
        return np.minimum((middle * n_folds).astype(np.int64), n_folds - 1)


def _hashes(problem: Problem, seed: int) -> NDArray[np.uint64]:
    """Return a random number per row; rows that are equal have equal ones."""
    hashes: NDArray[np.uint64] = hashes_of(problem.Z, problem.target.labels(), seed & (2**64 - 1))
    return hashes


def _parts(problem: Problem, seed: int, whole_for: int = 0) -> _DivisibleRows:
    """Find groups of equal rows and cut them into parts, in the order of hashes.

    A part is a row, or what counts as one. Where weights are no numbers of rows, each group is
    one part. `whole_for` so many folds rows with equal features are one part, if these are enough.
    """
    hashes = _hashes(problem, seed)
    if whole_for:
        parts = _whole_groups(problem, seed, hashes)
        if _alike_to(parts.size) >= whole_for * GROUPS_OF_FOLD:
            return parts
    keys, group = np.unique(hashes, return_inverse=True)
    total = _totals(problem, group)
    count = np.zeros(len(keys), dtype=np.int64)
    if problem.row_counts is not None and problem.weights is not None:
        np.add.at(count, group, problem.row_counts)
    elif problem.weights is None:
        np.add.at(count, group, 1)
    if count[0] == 0 or float(count.sum(dtype=np.float64)) > MOST_PARTS:
        count[:] = 1
    owner = np.repeat(np.arange(len(keys)), count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    # The first part of a group stands where the group's own hash puts it.
    order = np.argsort(scattered(keys[owner], place), kind="stable")
    return _DivisibleRows(group, owner[order], (total // count)[owner][order])


def _totals(problem: Problem, group: Int64Array) -> Int64Array:
    """Return the weight of each group."""
    total = np.zeros(int(group.max()) + 1, dtype=np.int64)
    np.add.at(total, group, 1 if problem.weights is None else problem.weights)
    return total


def _whole_groups(problem: Problem, seed: int, hashes: NDArray[np.uint64]) -> _DivisibleRows:
    """Make a part of all rows with equal features, whatever their labels are."""
    features: NDArray[np.uint64] = hashes_of(
        problem.Z, np.zeros(problem.n_rows, np.int64), seed & (2**64 - 1)
    )
    _, group = np.unique(features, return_inverse=True)
    total = _totals(problem, group)
    # A row without equals stands where its own hash puts it.
    keys = np.full(len(total), 2**64 - 1, dtype=np.uint64)
    np.minimum.at(keys, group, hashes)
    order = np.argsort(scattered(keys, np.zeros(len(keys), np.int64)), kind="stable")
    return _DivisibleRows(group, order, total[order])


def _alike_to(sizes: Int64Array) -> float:
    """Return how many parts of equal weight say as much: the heavy ones count less."""
    numbers: FloatArray = sizes.astype(np.float64)
    return float(sizes.sum()) ** 2 / fsum((numbers * numbers).tolist())


def _divided(
    problem: Problem, parts: _DivisibleRows, label: Int64Array
) -> tuple[Problem, Int64Array]:
    """Return the rows with the labels of their parts; rows that have several are cut up."""
    weights = np.ones(problem.n_rows, np.int64) if problem.weights is None else problem.weights
    # Rows, and runs of parts with one label, lie one after the other, group by group. Light rows
    # come first in a group, in whatever order they came.
    rows = np.lexsort((weights, parts.group))
    row_ends = np.cumsum(weights[rows])
    order = np.lexsort((label, parts.owner))
    owner, sorted_label = parts.owner[order], label[order]
    last = np.append((np.diff(owner) != 0) | (np.diff(sorted_label) != 0), True)
    run_ends = np.cumsum(parts.size[order])[last]
    ends = np.union1d(row_ends, run_ends)
    starts = np.concatenate([[0], ends[:-1]])
    row = rows[np.searchsorted(row_ends, starts, side="right")]
    found = sorted_label[last][np.searchsorted(run_ends, starts, side="right")]
    back = np.argsort(row, kind="stable")
    if len(row) > problem.n_rows:
        row = row[back]
        piece = (ends - starts)[back]
        assert problem.row_counts is not None
        counts = piece // (weights // problem.row_counts)[row]
        as_rows = problem.row_weights
        if as_rows is not None:
            as_rows = as_rows[row] * (piece / weights[row])
        problem = replace(
            problem,
            Z=problem.Z[row],
            target=problem.target.take(row),
            weights=piece,
            row_counts=counts,
            row_weights=as_rows,
        )
    return problem, found[back]


def hold_out(
    problem: Problem, fraction: float, seed: int, together: bool = False
) -> tuple[Problem, BoolArray]:
    """Choose rows to hold out.

    Parameters
    ----------
    problem : Problem
        The data.
    fraction : float
        The share of the weight to hold out, between 0 and 1.
    seed : int
        The seed.
    together : bool, default=False
        As in `folds`.

    Returns
    -------
    problem : Problem
        The data. A row of weight 2 or more, which counts as several rows, may have become two,
        one of which is held out.
    held : ndarray of bool, of shape (n_rows,)
        The rows held out. Rows are taken in a random order; one that would lead further away
        from ``fraction`` of the weight, or just as far on its other side, is passed over. So
        there may be none if there are few rows. There is always a row that is not held out.
    """
    parts = _parts(problem, seed, ceil(1.0 / fraction) if together else 0)
    size = parts.size.astype(np.float64)
    target = fraction * float(size.sum())
    held = np.zeros(len(size), dtype=bool)
    weight, start = 0.0, 0
    while True:
        # What is heavier than twice the rest cannot lead nearer, now or later.
        fitting = start + np.flatnonzero(size[start:] < 2 * (target - weight))
        if len(fitting) == 0:
            break
        end = weight + np.cumsum(size[fitting])
        nearer = end + (end - size[fitting]) < 2 * target
        n_taken = len(fitting) if nearer.all() else int(np.argmin(nearer))
        held[fitting[:n_taken]] = True
        if n_taken == len(fitting):
            break
        weight = float(end[n_taken] - size[fitting[n_taken]])
        start = int(fitting[n_taken]) + 1
    if held.all():
        held[-1] = False
    problem, label = _divided(problem, parts, held.astype(np.int64))
    return problem, label.astype(bool)


def folds(
    problem: Problem, n_folds: int, seed: int, together: bool = False
) -> tuple[Problem, Int64Array]:
    """Number the rows with folds of about equal weight.

    Parameters
    ----------
    problem : Problem
        The data.
    n_folds : int
        The number of folds.
    seed : int
        The seed.
    together : bool, default=False
        Whether rows with equal features stay together, and a row of weight 2 whole, so that no
        tree is tried on what it was grown from. In tables with few different rows they do not.

    Returns
    -------
    problem : Problem
        The data. A row of weight 2 or more, which counts as several rows, may have become
        several, in different folds.
    number : ndarray of int, of shape (n_rows,)
        A fold number per row. With fewer rows than folds, some folds are empty.
    """
    parts = _parts(problem, seed, n_folds if together else 0)
    return _divided(problem, parts, parts.numbered(n_folds))


def repeated_folds(
    problem: Problem, n_folds: int, seeds: Sequence[int]
) -> tuple[Problem, Int64Array]:
    """Number the rows with folds of about equal weight, several times."""
    parts = _parts(problem, seeds[0])
    keys = np.empty(int(parts.owner.max()) + 1, dtype=np.uint64)
    labels = np.empty((len(parts.owner), len(seeds)), dtype=np.int64)
    # The parts of a group are alike, so they may be counted in any order.
    place = _places(parts.owner)
    for k, seed in enumerate(seeds):
        keys[parts.group] = _hashes(problem, seed)
        order = np.argsort(scattered(keys[parts.owner], place), kind="stable")
        shuffled = _DivisibleRows(parts.group, parts.owner[order], parts.size[order])
        labels[order, k] = shuffled.numbered(n_folds)
    different, label = np.unique(labels, axis=0, return_inverse=True)
    problem, found = _divided(problem, parts, label.ravel())
    return problem, different[found]


def _places(owner: Int64Array) -> Int64Array:
    """Number the parts of each group."""
    order = np.argsort(owner, kind="stable")
    count = np.bincount(owner)
    place = np.empty(len(owner), dtype=np.int64)
    place[order] = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    return place


def draw(problem: Problem, n_rows: float, seed: int) -> Problem:
    """Draw rows with replacement: a bootstrap sample.

    Parameters
    ----------
    problem : Problem
        The data.
    n_rows : int or float
        How many rows to draw, or as a float which share of their number; at least one. A row of
        weight 2, if weights are numbers of rows, is two rows that can be drawn.
    seed : int
        The seed.

    Returns
    -------
    Problem
        The rows that were drawn, each once, with weights that say how often.
    """
    parts = _parts(problem, seed)
    n_parts = len(parts.owner)
    n_draws = int(n_rows) if isinstance(n_rows, Integral) else int(n_rows * n_parts)
    random = np.random.RandomState(seed % 2**32)
    drawn = random.randint(n_parts, size=max(1, n_draws), dtype=np.int64)
    first = np.unique(parts.group, return_index=True)[1]
    times = np.bincount(parts.owner[drawn], minlength=len(first))
    weights = np.zeros(len(first), dtype=np.int64)
    np.add.at(weights, parts.owner[drawn], parts.size[drawn])
    there = times > 0
    row, times, weights = first[there], times[there], weights[there]
    unit = problem.unit
    while int(weights.sum()) > problem.target.most_weight:  # heavy rows that were drawn often
        weights, unit = np.maximum(weights >> 1, 1), unit * 2.0
    as_rows = problem.row_weights
    if as_rows is not None:
        old = np.ones(problem.n_rows, np.int64) if problem.weights is None else problem.weights
        as_rows = as_rows[row] * (weights / old[row])
    counted = problem.weights is None or problem.row_counts is not None
    return replace(
        problem,
        Z=problem.Z[row],
        target=problem.target.take(row),
        weights=weights,
        unit=unit,
        row_counts=times if counted else None,
        row_weights=as_rows,
        row_unit=problem.row_unit * (unit / problem.unit),
    )


def trials(problem: Problem, seed: int) -> list[tuple[Problem, Problem]]:
    """Return rows to learn from and rows to judge by: a few divisions, one of very many rows."""
    n_rows = problem.total_weight * problem.row_unit
    n_folds = MANY_FOLDS if n_rows < MANY_FOLDS_BELOW else FEW_FOLDS
    whole, number = folds(problem, n_folds, seed, together=True)
    used = range(n_folds if n_rows < ONE_DIVISION else 1)
    parts = [(whole.take(number != k), whole.take(number == k)) for k in used]
    return [(train, test) for train, test in parts if train.n_rows and test.n_rows]
