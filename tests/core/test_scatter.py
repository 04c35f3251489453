"""Sums of values and products: exact, additive, and right."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.engine.moments import ClassSums, FixedPoint, class_sums


def make_problem(seed: int, weights: str = "none", dtype: type = np.float64) -> Problem:
    rng = np.random.default_rng(seed)
    n = 400
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 1e-3, 1e5] + [0.0, 5.0, 1.0, -1e5]
    X[:, 1] = np.round(X[:, 1])
    weight = {"none": None, "integers": rng.integers(1, 5, n), "fractions": rng.random(n) + 0.01}
    return encode(X.astype(dtype), rng.integers(0, 3, n), 3, sample_weight=weight[weights])


def all_rows(problem: Problem) -> np.ndarray:
    return np.arange(problem.n_rows, dtype=np.int32)


def whole_sums(problem: Problem) -> ClassSums:
    return class_sums(problem, all_rows(problem), FixedPoint.of_rows(problem, all_rows(problem)))


@pytest.mark.parametrize("weights", ["none", "integers", "fractions"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_and_scatter_are_right(weights: str, dtype: type) -> None:
    problem = make_problem(0, weights, dtype)
    sums = whole_sums(problem)
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    for c in range(3):
        mine = problem.y == c
        rows = problem.Z[mine].astype(np.float64)
        mean = np.average(rows, axis=0, weights=weight[mine])
        scatter = ((rows - mean) * weight[mine][:, None]).T @ (rows - mean)
        size = np.sqrt(np.diag(scatter))
        spread = np.ptp(problem.Z.astype(np.float64), axis=0)
        assert np.all(np.abs(sums.mean(c) - mean) <= 1e-7 * spread)
        assert np.all(np.abs(sums.scatter(c) - scatter) <= 1e-6 * np.outer(size, size))


@pytest.mark.parametrize("weights", ["none", "integers", "fractions"])
def test_parts_and_order_change_no_bit(weights: str) -> None:
    problem = make_problem(1, weights)
    whole = whole_sums(problem)
    rng = np.random.default_rng(2)
    for n_parts in (1, 4, 16, 37):
        rows = rng.permutation(all_rows(problem))
        ends = np.sort(rng.integers(0, len(rows) + 1, n_parts - 1))
        parts = [class_sums(problem, some, whole.grid) for some in np.split(rows, ends)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        assert total == whole
        # parent minus child is the sibling
        rest = np.sort(np.setdiff1d(rows, np.split(rows, ends)[0])).astype(np.int32)
        assert whole - parts[0] == class_sums(problem, rest, whole.grid)


def test_sums_differ_when_a_value_does() -> None:
    problem = make_problem(3)
    rows = all_rows(problem)
    grid = FixedPoint.of_rows(problem, all_rows(problem))
    changed = problem.Z.copy()
    changed[7, 2] += 1e-4
    other = Problem(changed, problem.target, None, 1.0, problem.encoding)
    assert class_sums(other, rows, grid) != class_sums(problem, rows, grid)


def test_weight_two_is_a_repeated_row() -> None:
    problem = make_problem(4)
    weight = np.random.default_rng(0).integers(1, 4, problem.n_rows)
    weighted = encode(problem.Z, problem.y, 3, sample_weight=weight)
    repeated = encode(np.repeat(problem.Z, weight, axis=0), np.repeat(problem.y, weight), 3)
    assert whole_sums(weighted) == whole_sums(repeated)


def test_constant_column_has_no_scatter() -> None:
    X = np.column_stack([np.full(50, 0.1), np.arange(50.0)])
    problem = encode(X, np.arange(50) % 2, 2)
    scatter = whole_sums(problem).scatter(0)
    assert scatter[0, 0] == 0 and scatter[0, 1] == 0 and scatter[1, 1] > 0


def test_a_weight_of_a_hundred_is_a_hundred_rows() -> None:
    problem = make_problem(5)
    weight = np.random.default_rng(0).choice([1, 2, 100], problem.n_rows)
    weighted = encode(problem.Z, problem.y, 3, sample_weight=weight)
    repeated = encode(np.repeat(problem.Z, weight, axis=0), np.repeat(problem.y, weight), 3)
    assert whole_sums(weighted) == whole_sums(repeated)


def test_a_class_without_rows() -> None:
    problem = encode(np.arange(8.0).reshape(4, 2), [0, 0, 2, 2], 3)
    sums = whole_sums(problem)
    assert np.isnan(sums.mean(1)).all() and (sums.scatter(1) == 0).all()
