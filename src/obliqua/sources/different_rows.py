"""Different rows of a table elsewhere: equal ones are one row, wherever they are.

Equal rows in one batch are found there. Those that lie in several batches are counted first, so
that each batch knows what all equals of its rows add up to, and which batch speaks for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import BoolArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.sources.division import Hashes, RowKeys, RowsLook, is_among
from obliqua.tree.layout import pointers

__all__ = ["BatchGroups", "DifferentRows", "EqualLook", "EqualRows", "counts_of"]


class EqualRows(NamedTuple):
    """Equal rows that lie in several batches, counted by key, as how many they count, and part."""

    key: Hashes
    counts: Int64Array
    part: Int64Array
    rows: Int64Array
    weight: Int64Array

    @classmethod
    def none(cls) -> EqualRows:
        """Return that there are none."""
        none = np.empty(0, np.int64)
        return cls(np.empty(0, np.uint64), none, none, none, none)

    @classmethod
    def joined(cls, several: Sequence[EqualRows]) -> EqualRows:
        """Add up."""
        key, count, part, rows, weight = (np.concatenate(c) for c in zip(*several, strict=True))
        if len(key) == 0:
            return cls.none()
        order = np.lexsort((part, count, key))
        key, count, part = key[order], count[order], part[order]
        new = (np.diff(key) != 0) | (np.diff(count) != 0) | (np.diff(part) != 0)
        start = np.flatnonzero(np.append(True, new))
        added = (np.add.reduceat(column[order], start) for column in (rows, weight))
        return cls(key[start], count[start], part[start], *added)

    @property
    def before(self) -> Int64Array:
        """How many pieces of the group come before the rows of each entry: lighter rows first."""
        pieces = self.counts * self.rows
        begin = np.cumsum(pieces) - pieces
        return np.asarray(begin - begin[np.searchsorted(self.key, self.key)])


@dataclass(frozen=True, eq=False)
class EqualLook(RowsLook):
    """Counts rows whose equals lie in several batches."""

    keys: RowKeys
    counted: bool
    shared: Hashes

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> EqualRows:
        """Return what some rows answer."""
        key = self.keys.of(problem)
        here = np.flatnonzero(is_among(key, self.shared))
        ones = np.ones(len(here), np.int64)
        weight = ones if problem.weights is None else problem.weights[here]
        count = counts_of(problem, self.counted)[here]
        return EqualRows.joined([EqualRows(key[here], count, part * ones, ones, weight)])

    def _joined(self, answers: Sequence[EqualRows]) -> EqualRows:
        return EqualRows.joined(answers)


def counts_of(problem: Problem, counted: bool) -> Int64Array:
    """Return of how many pieces each row consists."""
    if counted and problem.row_counts is not None:
        return problem.row_counts
    return np.ones(problem.n_rows, np.int64)


class SharedGroups(NamedTuple):
    """Groups of equal rows that lie in several batches."""

    key: Hashes
    pieces: Int64Array
    weight: Int64Array
    owner: Int64Array  # the first part that has such rows


class BatchGroups(NamedTuple):
    """The different rows of a batch; of each, all that its equals anywhere add up to."""

    key: Hashes
    source: Int64Array  # a row of the batch
    group: Int64Array  # by row of the batch
    pieces: Int64Array
    weight: Int64Array
    mine: BoolArray  # whether this batch speaks for it: one of all does


@dataclass(frozen=True, eq=False)
class DifferentRows:
    """What makes rows equal, and what is known of those that lie in several batches."""

    keys: RowKeys
    counted: bool  # whether rows may count as several
    equal: EqualRows

    @cached_property
    def groups(self) -> SharedGroups:
        """The groups of equal rows that lie in several batches."""
        equal = self.equal
        if not len(equal.key):
            return SharedGroups(equal.key, equal.counts, equal.weight, equal.part)
        start = np.flatnonzero(np.append(True, np.diff(equal.key) != 0))
        return SharedGroups(
            equal.key[start],
            np.add.reduceat(equal.counts * equal.rows, start),
            np.add.reduceat(equal.weight, start),
            np.minimum.reduceat(equal.part, start),
        )

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> BatchGroups:
        """Return the different rows of a batch."""
        keys = self.keys.of(problem)
        key, source, group = np.unique(keys, return_index=True, return_inverse=True)
        n, known = len(key), self.groups
        # Sums of whole numbers below 2^53 are exact.
        pieces = np.bincount(group, counts_of(problem, self.counted), n).astype(np.int64)
        weight = pieces.copy()
        if problem.weights is not None:
            weight = np.bincount(group, problem.weights, n).astype(np.int64)
        mine = np.ones(n, dtype=bool)
        shared = np.flatnonzero(is_among(key, known.key))
        if len(shared):
            at = np.searchsorted(known.key, key[shared])
            pieces[shared], weight[shared] = known.pieces[at], known.weight[at]
            seen = memory.setdefault("seen", np.zeros(len(known.key), dtype=bool))
            mine[shared] = (known.owner[at] == part) & ~seen[at]
            seen[at] = True
        return BatchGroups(key, source, group, pieces, weight, mine)

    def first_pieces(
        self, problem: Problem, groups: BatchGroups, part: int, memory: dict[Any, Any]
    ) -> Int64Array:
        """Return where among the pieces of a batch's groups those of each row begin.

        Of equal rows the lighter comes first, and then in their order in the table.
        """
        count = counts_of(problem, self.counted)
        order = np.lexsort((count, groups.group))
        begin = np.cumsum(count[order]) - count[order]
        place = np.empty(len(order), np.int64)
        first = np.searchsorted(groups.group[order], np.arange(len(groups.key)))
        place[order] = begin - begin[first][groups.group[order]]
        there = np.flatnonzero(is_among(groups.key, self.groups.key)[groups.group])
        if len(there):
            if "before" not in memory:
                memory["before"] = self.equal.before
            before = memory["before"]
            at = self._entries(groups.key[groups.group[there]], count[there], part)
            order = np.argsort(at, kind="stable")
            again = np.arange(len(at)) - np.searchsorted(at[order], at[order])
            place[there[order]] = before[at[order]] + again * count[there[order]]
            np.add.at(before, at, count[there])
        return np.asarray(pointers(groups.pieces)[:-1][groups.group] + place)

    def _entries(self, key: Hashes, count: Int64Array, part: int) -> Int64Array:
        """Return which entry of the equal rows some rows of a part belong to."""
        equal = self.equal
        mine = np.flatnonzero(equal.part == part)
        order = np.lexsort((count, key))
        # Both are sorted by key and count, and each pair of mine is there once.
        new = (np.diff(key[order]) != 0) | (np.diff(count[order]) != 0)
        pair = np.append(0, np.cumsum(new))
        first = order[np.append(0, np.flatnonzero(new) + 1)]
        low = np.searchsorted(equal.key[mine], key[first])
        for k in range(len(first)):
            while equal.counts[mine[low[k]]] != count[first[k]]:
                low[k] += 1
        found = np.empty(len(key), np.int64)
        found[order] = mine[low[pair]]
        return found
