"""Bootstrap samples: how many, how often, and what does not matter."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.prune import draw

X = np.random.default_rng(0).normal(size=(50, 2))
Y = np.arange(50) % 2


def contents(problem: Problem) -> dict[tuple[float, ...], float]:
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    return {
        (*row, label): weight * problem.unit
        for row, label, weight in zip(
            problem.Z.tolist(), problem.y.tolist(), weights.tolist(), strict=True
        )
    }


@pytest.mark.parametrize(("n_rows", "expected"), [(1.0, 50), (0.5, 25), (20, 20), (200, 200)])
def test_as_many_rows_as_asked_for(n_rows: float, expected: int) -> None:
    sample = draw(encode(X, Y, 2), n_rows, 7)
    assert sample.weights is not None
    assert sample.weights.sum() == expected
    np.testing.assert_array_equal(sample.row_counts, sample.weights)
    known = {(*row, label) for row, label in zip(X.tolist(), Y.tolist(), strict=True)}
    assert contents(sample).keys() <= known


def test_rows_are_drawn_with_equal_chances() -> None:
    problem = encode(X, Y, 2)
    counts = np.zeros(50)
    for seed in range(400):
        sample = draw(problem, 1.0, seed)
        place = {tuple(row): i for i, row in enumerate(X.tolist())}
        for row, weight in zip(sample.Z.tolist(), sample.weights, strict=True):
            counts[place[tuple(row)]] += weight
    assert counts.sum() == 400 * 50
    # 400 draws each, with a standard deviation of about 20
    assert np.abs(counts - 400).max() < 90


def test_neither_order_nor_writing_a_row_twice_matters() -> None:
    weights = np.random.default_rng(1).integers(1, 4, 50)
    order = np.random.default_rng(2).permutation(50)
    twice = np.repeat(np.arange(50), weights)
    weighted = contents(draw(encode(X, Y, 2, weights.astype(float)), 1.0, 3))
    assert weighted == contents(draw(encode(X[twice], Y[twice], 2), 1.0, 3))
    assert weighted == contents(
        draw(encode(X[order], Y[order], 2, weights[order].astype(float)), 1.0, 3)
    )


def test_seeds() -> None:
    problem = encode(X, Y, 2)
    assert contents(draw(problem, 1.0, 1)) == contents(draw(problem, 1.0, 1))
    assert contents(draw(problem, 1.0, 1)) != contents(draw(problem, 1.0, 2))


def test_heavy_weights_stay_in_bounds() -> None:
    weights = np.full(50, 2.0**46)
    weights[0] = 2.0**51
    weights[1] = 2.0**51 + 1.0
    sample = draw(encode(X, Y, 2, weights), 500, 0)
    assert sample.weights is not None
    assert int(sample.weights.sum()) <= 2**52
    assert (sample.weights > 0).all()


def test_weights_of_classes_are_no_numbers_of_rows() -> None:
    weights = np.random.default_rng(1).integers(1, 4, 50)
    problem = encode(X, Y, 2, weights.astype(float), np.array([1.0, 3.0]))
    sample = draw(problem, 1.0, 0)
    assert sample.row_counts is not None
    assert sample.row_weights is not None
    assert sample.row_counts.sum() == weights.sum()
    np.testing.assert_allclose(sample.row_weights, sample.row_counts)
    heavier = np.where(sample.y == 1, 3.0, 1.0)
    np.testing.assert_allclose(sample.weights * sample.unit, sample.row_counts * heavier)


def test_a_coarser_unit_counts_as_more_rows() -> None:
    problem = encode(X, Y, 2, np.full(50, 2.0**46) + np.arange(50))
    sample = draw(problem, 500, 0)
    assert sample.unit > problem.unit
    assert sample.row_unit / sample.unit == problem.row_unit / problem.unit
