"""Rows shared out among threads, in pieces that do not depend on how many threads there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from joblib import effective_n_jobs

__all__ = ["PIECE", "each", "over_rows", "thread_count"]

T = TypeVar("T")
Item = TypeVar("Item")

#: Rows of a piece. Sums of floats are made piece by piece, so that threads change no bit.
PIECE = 1 << 15
#: Threads that may be had on any machine; more only where there are as many cores.
ANYWHERE = 8


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads an `n_jobs` asks for; no more than are of use."""
    return min(int(effective_n_jobs(n_jobs)), max(os.cpu_count() or 1, ANYWHERE))


def each(task: Callable[[Item], T], items: Iterable[Item], n_threads: int) -> list[T]:
    """Return what a task gives for each item, in their order."""
    items = list(items)
    if n_threads <= 1 or len(items) < 2:
        return [task(item) for item in items]
    with ThreadPoolExecutor(min(n_threads, len(items))) as pool:
        return list(pool.map(task, items))


def over_rows(task: Callable[[int, int], T], n_rows: int, n_threads: int) -> list[T]:
    """Return what a task gives for each piece of some rows, in their order."""

    def piece(first: int) -> T:
        return task(first, min(first + PIECE, n_rows))

    return each(piece, range(0, max(n_rows, 1), PIECE), n_threads)
