"""What rows in parts answer about lines, beside a twin that looks at one value after another."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua._core.search.part_rows import PartRows, empty_bins
from obliqua._typing import AnyArray, FloatArray
from obliqua.data.problem import Problem, encode
from obliqua.engine.lines import Lines

KINDS = ("normal", "ties", "outliers", "constant", "huge")


def make_problem(kind: str, n: int, weights: bool) -> Problem:
    rng = np.random.default_rng(KINDS.index(kind))
    X = rng.normal(size=(n, 3))
    if kind == "ties":
        X = np.round(2 * X)
    elif kind == "outliers":
        X[rng.random(n) < 0.01] *= 1e9
    elif kind == "constant":
        X[:, 0] = 3.0
    elif kind == "huge":  # the distance between two values is no number
        X[:, 0] = np.sign(X[:, 0]) * 1.5e308
        X[:, 1:] = 0.0
    weight = rng.integers(1, 5, n) if weights else None
    return encode(X, rng.integers(0, 3, n), 3, sample_weight=weight)


def lines_and_values(problem: Problem, kind: str) -> tuple[Lines, FloatArray]:
    """An axis, and a plane unless its values are no numbers; and values along them."""
    planes = [(np.array([0], np.int32), np.ones(1))]
    if kind != "huge":
        planes.append((np.array([0, 2], np.int32), np.array([0.75, -0.5])))
    Z = problem.Z.astype(np.float64)
    values = [sum(c * Z[:, k] for k, c in zip(*plane, strict=True)) for plane in planes]
    return Lines.of_planes(planes), np.array(values)


def stretches(values: FloatArray, seed: int) -> tuple[AnyArray, FloatArray, FloatArray]:
    """Intervals of each line, from value to value; some hold one value, some touch others."""
    rng = np.random.default_rng(seed)
    line, low, high = [], [], []
    for k, along in enumerate(values):
        every = np.unique(along)
        cuts = np.sort(rng.choice(len(every), min(9, len(every)), replace=False))
        for start, after in zip(cuts, [*cuts[1:], len(every)], strict=True):
            if rng.random() < 0.7:
                line.append(k)
                low.append(every[start])
                high.append(every[rng.integers(start, after)])
    return np.array(line, dtype=np.int64), np.array(low), np.array(high)


def sums_of(problem: Problem, rows: AnyArray) -> list[int]:
    """What bins count of some rows: weights of classes, and how many rows."""
    weights = np.ones(problem.n_rows, int) if problem.weights is None else problem.weights
    return [*np.bincount(problem.y[rows], weights[rows], 3).astype(int).tolist(), len(rows)]


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals(kind: str, weights: bool) -> None:
    problem = make_problem(kind, 1300, weights)
    lines, values = lines_and_values(problem, kind)
    rows = np.flatnonzero(np.arange(1300) % 4).astype(np.int32)
    for seed in range(4):
        line, low, high = stretches(values, seed)
        if not len(line):
            continue
        looking = PartRows(problem.Z, rows, problem.target_rows, lines)
        bins, ends = empty_bins(len(line), 5, 3)
        looking.histogram(line, low, high, bins, ends)
        interval, found, learnt, weight = looking.collect(line, low, high)
        for j in range(len(line)):
            along = values[line[j]][rows]
            inside = rows[(along >= low[j]) & (along <= high[j])]
            mine = values[line[j]][inside]
            assert bins[j].sum(axis=0).tolist() == sums_of(problem, inside)
            of_bins = [  # bins follow each other, and have the values at their ends
                inside[(mine >= a) & (mine <= b)] for a, b in ends[j] if a <= b
            ]
            assert [sums_of(problem, some) for some in of_bins] == bins[j][
                bins[j, :, -1] > 0
            ].tolist()
            here = interval == j
            assert sorted(found[here]) == sorted(mine)
            assert sorted(learnt[here, 0]) == sorted(problem.y[inside])
            assert weight[here].sum() == sums_of(problem, inside)[0:3] @ np.ones(3)


@pytest.mark.parametrize("near", [None, (-0.25, 0.5), (7.0, 7.0), (-np.inf, np.nan)])
@pytest.mark.parametrize("kind", KINDS)
def test_all_values(kind: str, near: tuple[float, float] | None) -> None:
    problem = make_problem(kind, 1300, False)
    lines, values = lines_and_values(problem, kind)
    rows, n = np.arange(1300, dtype=np.int32), len(lines)
    low, high = np.full(n, -1.0), np.full(n, 1.5)
    bins, ends = empty_bins(n, 40, 3)
    sizes = np.zeros(n)
    close = None if near is None else np.tile(near, (n, 1))
    looking = PartRows(problem.Z, rows, problem.target_rows, lines)
    looking.open_histogram(low, high, close, bins, ends, sizes)
    for k, along in enumerate(values):
        full = bins[k, :, -1] > 0
        of_bins = [rows[(along >= a) & (along <= b)] for a, b in ends[k][full]]
        assert [sums_of(problem, some) for some in of_bins] == bins[k][full].tolist()
        assert bins[k, :, -1].sum() == 1300
        assert sorted(ends[k][full].ravel()) == ends[k][full].ravel().tolist()
    assert sizes.tolist() == looking.ranges()[:, 2].tolist()
    if kind == "normal" and near == (-0.25, 0.5):
        inside = np.count_nonzero((values > -0.25) & (values < 0.5))
        largest = bins[..., -1][(ends[..., 0] > -0.25) & (ends[..., 1] < 0.5)].max()
        assert largest < inside / 20  # without, these would be in 12 of 40 bins
