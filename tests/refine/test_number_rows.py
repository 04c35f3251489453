"""Rows that numbers are learnt from, as refinement sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.test_slopes import odd, table, weights_of
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine.linear_leaves import model_rows
from obliqua.refine.draft import Draft
from obliqua.refine.rows import SoftRows, soft_rows
from reference import lines as twin


def made(seed: int = 3, n_outputs: int = 1, weighted: bool = True) -> Problem:
    problem = table(seed, 90, n_outputs, weighted)
    return odd(problem, seed) if seed % 2 else problem


def numbers_of(rows: SoftRows) -> Any:
    assert rows.numbers is not None
    return rows.numbers


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", [2, 3])
def test_numbers_are_standardised_together(seed: int, n_outputs: int) -> None:
    """Means of 0, and variances that add up to 1: outputs keep their scales to each other."""
    problem = made(seed, n_outputs)
    rows = soft_rows(problem)
    y, share = numbers_of(rows).y.astype(float), rows.units / rows.units.sum()
    np.testing.assert_allclose(share @ y, 0.0, atol=1e-6)
    assert float((share[:, None] * y**2).sum()) == pytest.approx(1.0, rel=1e-6)
    first = problem.target.values[rows.order[rows.starts]]
    slope = np.ptp(y, axis=0) / np.ptp(first, axis=0)
    np.testing.assert_allclose(slope, slope[0], rtol=1e-5)
    assert not rows.y.any()
    assert numbers_of(rows).n_columns == 1
    assert (numbers_of(rows).u[:, 0] == 1.0).all()
    assert not numbers_of(rows).u[:, 1:].any()


@pytest.mark.parametrize("seed", [2, 3])
def test_the_columns_of_functions(seed: int) -> None:
    problem = made(seed)
    rows = soft_rows(problem, penalty=1.0)
    q = problem.n_features
    assert numbers_of(rows).n_columns == q + 1
    u, share = numbers_of(rows).u.astype(float), rows.units / rows.units.sum()
    first = model_rows(problem).matrix[rows.order[rows.starts]]
    np.testing.assert_allclose(u[:, :q], first - share @ first, atol=1e-5)
    assert (u[:, q] == 1.0).all()
    assert not u[:, q + 1 :].any()


def test_order_repeats_and_a_shift_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(60, 2)), rng.integers(1, 4, 60)
    y = np.rint(64.0 * rng.normal(size=60)) / 64.0
    order, repeated = rng.permutation(60), np.repeat(np.arange(60), weight)
    found = [
        soft_rows(encode_numbers(*some[:2], sample_weight=some[2]), penalty=1.0)
        for some in (
            (X, y, weight),
            (X[order], y[order], weight[order]),
            (X[repeated], y[repeated], None),
            (X, y + 32.0, weight),
            (X, 4.0 * y, weight),
        )
    ]
    for rows in found[1:]:
        assert numbers_of(rows).y.tobytes() == numbers_of(found[0]).y.tobytes()
        assert numbers_of(rows).u.tobytes() == numbers_of(found[0]).u.tobytes()
        assert rows.x.tobytes() == found[0].x.tobytes()
        assert numbers_of(rows).penalty == numbers_of(found[0]).penalty


@pytest.mark.parametrize("times", [1, 5])
def test_functions_are_those_of_leaves(times: int) -> None:
    """The same least squares as in finished trees, also where rows come several times."""
    problem = table(4, 60)
    problem = problem.take(np.repeat(np.arange(60), times))
    rows = soft_rows(problem, penalty=3.0)
    assert numbers_of(rows).penalty == pytest.approx(3.0 * rows.n_rows / (60 * times))
    alone = Draft(np.empty((0, 2), np.int32), np.empty((0, rows.columns.width), np.float32))
    leaf = np.zeros(rows.n_rows, dtype=np.int32)
    sums = alone.soft(rows).line_sums(leaf, 0, rows.n_rows)
    error = float(numbers_of(rows).fitted(sums)[1][0]) / rows.n_rows
    y, w = problem.target.values[:, 0], np.array(weights_of(problem), dtype=np.float64)
    fit = twin.ridge(model_rows(problem).matrix, y, w, 3.0)
    left = fit.left - (3.0 + 1e-9 * w.sum()) * float((fit.coef**2).sum())
    assert error == pytest.approx(left / w.sum() / float(y.var()), rel=1e-5)


def test_two_rows_are_enough() -> None:
    rows = soft_rows(encode_numbers(np.array([[0.0], [1.0]]), np.array([1.0, 2.0])))
    assert np.isfinite(rows.x).all()
    assert numbers_of(rows).y.ravel().tolist() in ([1.0, -1.0], [-1.0, 1.0])


def test_equal_numbers() -> None:
    rows = soft_rows(encode_numbers(np.arange(5.0)[:, None], np.full(5, 7.0)))
    assert not numbers_of(rows).y.any()
