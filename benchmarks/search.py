"""Which search is cheapest at which node size: presorted columns, bins, or a sort.

``python -m benchmarks.search`` prints nanoseconds of CPU per row and direction for nodes of
several sizes. "columns" are axis-parallel directions in columns that are kept sorted, scanned and
divided (sorting them once is not counted); "bins" and "sort" are oblique directions, whose
projection onto 20 features (shown alone as "project") is part of both. The sizes at which the
engine changes its way (``FEW_ROWS`` in direction.pyx, ``SHORT_LIST`` in sort.pyx) come from here.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from obliqua._core.grow.subtree import best_axis_cut, divide_columns, make_axis_cut
from obliqua._core.search.column_lists import ColumnLists
from obliqua.criteria import get_criterion
from obliqua.data.problem import Problem, encode
from obliqua.engine.proposals import Planes, read_directions
from obliqua.engine.rules import Rules
from obliqua.engine.search import SplitSearch

N_FEATURES = 20
N_DIRECTIONS = 40


def least(task: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the fastest of several runs."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        task()
        times.append(time.process_time() - started)
    return min(times)


def make(n_rows: int, n_classes: int) -> tuple[Problem, Planes]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES))
    score = X[:, 0] + X[:, 1] + rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    planes = read_directions(rng.normal(size=(N_DIRECTIONS, N_FEATURES)), N_FEATURES)
    assert planes is not None
    return encode(X, y, n_classes), planes


def columns_time(problem: Problem, counts: np.ndarray, code: int) -> float:
    """Scanning all columns of the root, and dividing them at the cut that was found."""
    every = np.array([2**N_FEATURES - 1], dtype=np.uint64)
    times = []
    for _ in range(3):
        columns = ColumnLists(problem.Z, problem.y, None, problem.n_classes)
        columns.presort(0, N_FEATURES)

        def task(columns: ColumnLists = columns) -> None:
            n = problem.n_rows
            _, col, left, _ = best_axis_cut(columns, every, 0, n, counts, code, 1, 0, False)
            make_axis_cut(columns, col, 0, n, left, counts)
            divide_columns(columns, every, col, 0, n)

        times.append(least(task, 1))
    return min(times) / N_FEATURES


def measure(n_rows: int, n_classes: int, criterion: str) -> dict[str, float]:
    problem, planes = make(n_rows, n_classes)
    rows = np.arange(n_rows, dtype=np.int32)
    counts = np.bincount(problem.y, minlength=n_classes)
    rule = get_criterion(criterion)
    node = SplitSearch(problem.Z, rows, problem.y, None, counts, rule.code, n_rows, 1, 0)

    def search(exhaustive: bool) -> object:
        return SplitSearch(problem, rows, counts, rule, Rules(), exhaustive).best(planes)

    seconds = {
        "columns": columns_time(problem, counts, rule.code),
        "project": least(lambda: node.ranges(*planes[:3])) / N_DIRECTIONS,
        "bins": least(lambda: search(False)) / N_DIRECTIONS,
        # An exhaustive search looks at every cut, so it never uses bins.
        "sort": least(lambda: search(True)) / N_DIRECTIONS,
    }
    return {name: 1e9 * value / n_rows for name, value in seconds.items()}


def main() -> None:
    names = ("columns", "project", "bins", "sort")
    print("CPU ns per row and direction, twoing\n")
    print(f"{'classes':>7} {'rows':>7}" + "".join(f"{name:>10}" for name in names))
    for n_classes in (2, 26):
        for n_rows in (64, 128, 256, 512, 1024, 4096, 20_000, 100_000):
            figures = measure(n_rows, n_classes, "twoing")
            line = "".join(f"{figures[name]:10.1f}" for name in names)
            print(f"{n_classes:7} {n_rows:7}{line}")


if __name__ == "__main__":
    main()
