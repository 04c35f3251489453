"""Axis-parallel cuts from columns that are sorted once, for the growth loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from copy import copy
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from obliqua._core.grow.subtree import best_axis_cut, divide_columns, make_axis_cut
from obliqua._core.search.column_lists import ColumnLists
from obliqua._typing import BoolArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import SparseRows
from obliqua.engine.assemble import AXIS_LABEL, GO_LEFT
from obliqua.engine.rules import Rules
from obliqua.engine.search import Split

__all__ = ["SERIAL_ROWS", "ColumnSet", "SortedColumns", "as_set", "plain_columns"]

ColumnSet = NDArray[np.uint64]  # a set of columns, one bit each
T = TypeVar("T")

SERIAL_ROWS = 20_000  # smaller problems are not worth a second thread


def plain_columns(problem: Problem) -> ColumnSet:
    """Return the set of all columns that can be sorted once."""
    return as_set(problem.sortable)


def as_set(columns: BoolArray) -> ColumnSet:
    """Return a mask of columns as a set."""
    n = len(columns)
    bits = np.zeros(-(-n // 64) * 64, dtype=np.uint8)
    bits[:n] = columns
    return np.packbits(bits, bitorder="little").view(np.uint64)


class SortedColumns:
    """The sorted columns of a problem, searched and divided node by node, by several threads.

    Nodes are objects with `start`, `end`, `rows`, `counts` and `active`: the set of columns that
    may still vary.
    """

    def __init__(self, problem: Problem, n_threads: int, pool: Executor | None) -> None:
        self.pool = pool
        self.n_threads = n_threads
        gaps = problem.has_missing.astype(np.uint8) if problem.sides else None
        rows = problem.Z.by_column if isinstance(problem.Z, SparseRows) else problem.Z
        self.lists = ColumnLists(rows, problem.target_rows, gaps)
        n = problem.n_features
        if not problem.sortable.all():  # the others are never looked at here
            plain = np.flatnonzero(problem.sortable).tolist()
            self._each(lambda column: self.lists.presort(column, column + 1), plain)
            return
        step = max(1, n if pool is None else min(4, n // (4 * n_threads)))
        self._each(
            lambda first: self.lists.presort(first, min(first + step, n)), range(0, n, step)
        )

    def alone(self) -> SortedColumns:
        """Return the same columns for one thread that works at nodes of its own."""
        other = copy(self)
        other.pool, other.n_threads = None, 1
        return other

    def search(self, node: Any, code: int, rules: Rules, exhaustive: bool) -> Split | None:
        """Find the best cut of a node; its set of columns loses those that are constant."""

        def task(group: ColumnSet) -> tuple[float, int, int, int, ColumnSet]:
            cut: tuple[float, int, int, int, ColumnSet] = best_axis_cut(
                self.lists,
                group,
                node.start,
                node.end,
                node.counts,
                code,
                rules.min_samples_leaf,
                rules.min_weight_leaf,
                exhaustive,
            )
            return cut

        looked_at = node.active
        if node.looked_at is not None:
            looked_at = node.active & as_set(node.looked_at)
        cuts = self._each(task, self._shares(node, looked_at))
        varying = np.bitwise_or.reduce([cut[4] for cut in cuts])
        node.active = (node.active & ~looked_at) | varying
        best = min((cut for cut in cuts if cut[1] >= 0), key=lambda c: (-c[0], c[1]), default=None)
        if best is None:
            return None
        return Split(
            goodness=best[0],
            order=best[1],
            rows_left=best[2],
            column=best[1],
            label=AXIS_LABEL,
            missing=best[3],
        )

    def cut(self, node: Any, split: Split) -> Int64Array:
        """Mark the sides of a cut, and complete it; returns the sums of its left."""
        window = (split.column, node.start, node.end, node.counts)
        left, split.threshold, split.missing = make_axis_cut(
            self.lists, *window, split.rows_left, split.missing
        )
        return np.asarray(left)

    def divide(self, node: Any, split: Split) -> None:
        """Divide the columns of a node by the marked sides."""
        # Its own column is in order, unless missing values must go from its end to the left.
        in_order = -1 if split.missing == GO_LEFT else split.column

        def task(group: ColumnSet) -> None:
            divide_columns(self.lists, group, in_order, node.start, node.end)

        self._each(task, self._shares(node, node.active))

    def _each(self, task: Callable[..., T], items: Iterable[Any]) -> list[T]:
        """Run a task for each item, on the pool if there is one and it has something to do."""
        items = list(items)
        if self.pool is None or len(items) == 1:
            return [task(item) for item in items]
        return list(self.pool.map(task, items))

    def _shares(self, node: Any, chosen: ColumnSet) -> list[ColumnSet]:
        """Deal columns of a node out to the threads, if there is enough work for them."""
        if self.pool is None or node.rows < SERIAL_ROWS // 4:
            return [chosen]
        bits = np.unpackbits(chosen.view(np.uint8), bitorder="little")
        columns = np.flatnonzero(bits)
        groups = []
        for k in range(min(self.n_threads, len(columns))):
            share = np.zeros_like(bits)
            share[columns[k :: self.n_threads]] = 1
            groups.append(np.packbits(share, bitorder="little").view(np.uint64))
        return groups or [chosen]
