"""Several divisions of the same rows into folds."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.data.problem import encode
from obliqua.prune.division import repeated_folds

SEEDS = [11, 2**63 + 5, 3]


def rows(n: int = 100) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), np.arange(n) % 2


def test_each_division_has_all_rows_in_equal_folds() -> None:
    problem = encode(*rows(), 2)
    same, numbers = repeated_folds(problem, 5, SEEDS)
    assert same is problem
    assert numbers.shape == (100, 3)
    for division in numbers.T:
        assert np.bincount(division).tolist() == [20] * 5


def test_divisions_are_independent() -> None:
    _, numbers = repeated_folds(encode(*rows(1000), 2), 5, SEEDS)
    for one in range(3):
        for other in range(one):
            equal = np.mean(numbers[:, one] == numbers[:, other])
            assert 0.15 < equal < 0.25
    _, others = repeated_folds(encode(*rows(1000), 2), 5, [4, 5, 6])
    assert 0.15 < np.mean(numbers == others) < 0.25


def test_a_division_does_not_depend_on_the_others() -> None:
    problem = encode(*rows(), 2)
    _, all_of_them = repeated_folds(problem, 5, SEEDS)
    for k, seed in enumerate(SEEDS):
        np.testing.assert_array_equal(
            repeated_folds(problem, 5, [seed])[1][:, 0], all_of_them[:, k]
        )


def census(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None) -> dict[object, int]:
    """How many rows of each content are in each combination of folds."""
    problem, numbers = repeated_folds(encode(X, y, 2, sample_weight=weights), 4, SEEDS)
    counted: dict[object, int] = {}
    size = np.ones(problem.n_rows, int) if problem.weights is None else problem.weights
    for row, label, fold, n in zip(problem.Z, problem.y, numbers, size.tolist(), strict=True):
        what = (*row.tolist(), int(label), *fold.tolist())
        counted[what] = counted.get(what, 0) + n
    return counted


@pytest.mark.parametrize("seed", range(5))
def test_a_weight_is_a_number_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (30, 2)).astype(float)  # equal rows too
    y = rng.integers(0, 2, 30)
    weights = rng.integers(0, 5, 30)
    weights[0] = 1  # not all of them share a factor
    weighted = census(X, y, weights.astype(float))
    repeated = census(np.repeat(X, weights, axis=0), np.repeat(y, weights), None)
    assert weighted == repeated
    assert sum(weighted.values()) == weights.sum()


def test_classes_are_counted_among_those_that_are_there() -> None:
    """Rows of two out of many classes are divided as if there were no others."""
    X, y = rows()
    _, numbers = repeated_folds(encode(X, y, 2), 5, SEEDS)
    _, of_more = repeated_folds(encode(X, 2 * y + 1, 5), 5, SEEDS)
    np.testing.assert_array_equal(numbers, of_more)


def test_fewer_rows_than_folds() -> None:
    _, numbers = repeated_folds(encode(*rows(3), 2), 10, SEEDS)
    assert all(len(set(division)) == 3 for division in numbers.T.tolist())
