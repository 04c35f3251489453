"""Clocks: growing, predicting, and the way of a single row."""

from __future__ import annotations

import gc
import time
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.adapters.base import Adapter
from benchmarks.problems import Problem, load


@contextmanager
def limit_threads(n_threads: int) -> Iterator[None]:
    """Hold BLAS and OpenMP to that many threads, for libraries that ask nobody."""
    with threadpool_limits(limits=n_threads):
        yield


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def clock(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Do it once; return what it gave, CPU seconds of all threads, and wall seconds."""
    with _no_collector():
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return result, cpu, wall


def best_call(work: Callable[[], Any], budget: float = 0.5) -> tuple[float, float]:
    """Least CPU and wall seconds of up to seven calls within a budget of seconds."""
    cpus: list[float] = []
    walls: list[float] = []
    while len(walls) < 7 and sum(walls) < budget:
        result, cpu, wall = clock(work)
        del result
        cpus.append(cpu)
        walls.append(wall)
    return min(cpus), min(walls)


def microseconds(work: Callable[[], Any]) -> float:
    """Least time of one call, averaged over enough calls for the clock to see them."""
    timer = timeit.Timer(work)
    number = 1
    while timer.timeit(number) < 0.002:
        number *= 2
    return min(timer.repeat(repeat=15, number=number)) / number * 1e6


def rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """Six digits are more than any clock here is good for."""
    return {
        name: float(f"{value:.6g}") if isinstance(value, float) else value
        for name, value in figures.items()
    }


@dataclass
class Case:
    """One adapter with one number of threads, and the least of what was measured."""

    adapter: Adapter
    n_threads: int
    figures: dict[str, float | int | None] = field(default_factory=dict)
    failure: str | None = None

    @property
    def label(self) -> str:
        plural = "" if self.n_threads == 1 else "s"
        return f"{self.adapter.name}, {self.n_threads} thread{plural}"

    def _least(self, **seconds: float) -> None:
        for name, value in seconds.items():
            known = self.figures.get(name)
            self.figures[name] = value if known is None else min(known, value)

    def warm_up(self) -> None:
        """Import the library and touch its code, which the first fit should not pay for."""
        small = load("tiny_grid")
        model = self.adapter.fit(small.X[:200], small.y[:200], self.n_threads)
        self.adapter.predict(model, small.X[:200], self.n_threads)

    def round(self, problem: Problem) -> None:
        """Fit and predict once; the first time also look at the tree."""
        first = not self.figures
        if first:
            self.warm_up()
        adapter, n_threads, X = self.adapter, self.n_threads, problem.X
        with limit_threads(n_threads):
            model, cpu, wall = clock(lambda: adapter.fit(X, problem.y, n_threads))
            self._least(fit_cpu=cpu, fit_wall=wall)
            if first:
                right = adapter.predict(model, X, n_threads) == problem.y
                self.figures["accuracy"] = float(right.mean())
                self.figures["leaves"] = adapter.leaves(model)
                self.figures["depth"] = adapter.depth(model)
            cpu, wall = best_call(lambda: adapter.predict(model, X, n_threads))
            self._least(predict_cpu=cpu, predict_wall=wall)
            self._single_row(model, problem)

    def _single_row(self, model: Any, problem: Problem) -> None:
        row = problem.X[:1].copy()
        self._least(row_us=microseconds(lambda: self.adapter.predict(model, row, self.n_threads)))
        walk = self.adapter.walk(model, row)
        if walk is not None:
            self._least(walk_us=microseconds(walk))

    def result(self) -> dict[str, Any]:
        return {
            "adapter": self.adapter.name,
            "threads": self.n_threads,
            "failure": self.failure,
            **self.figures,
        }
