"""How much features vary, what makes them comparable, and which of them a sparse split keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core.adapter import grow_tree
from obliqua.data.problem import Problem, encode
from obliqua.engine.moments import SCALES, feature_scale, spread
from obliqua.engine.proposals import Directions, Planes, Proposals, read_directions
from obliqua.errors import ProposerError
from obliqua.methods.hhcart import Householder

SIZES = np.array([1.0, 1e-3, 1e6, 3.0, 0.0])
OFFSETS = np.array([0.0, 1.0, -1e6, 1e9, 7.0])


def table(n: int = 301, weights: str = "none", dtype: type = np.float64) -> Problem:
    rng = np.random.default_rng(n)
    X = (rng.normal(size=(n, 5)) * SIZES + OFFSETS).astype(dtype)
    weight = {"none": None, "whole": rng.integers(1, 5, n), "fractions": 0.01 + rng.random(n)}
    return encode(X, rng.integers(0, 2, n), 2, sample_weight=weight[weights])


def numbers(problem: Problem) -> np.ndarray:
    return np.arange(problem.n_rows, dtype=np.int32)


def scale_of(problem: Problem, kind: str | None) -> np.ndarray:
    return feature_scale(problem, kind)


def weights_of(problem: Problem) -> np.ndarray:
    return np.ones(problem.n_rows) if problem.weights is None else problem.weights


@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_spread_is_the_standard_deviation(weights: str, dtype: type) -> None:
    problem = table(301, weights, dtype)
    for rows in (numbers(problem), numbers(problem)[::7].copy(), numbers(problem)[:1].copy()):
        X, w = problem.Z[rows].astype(np.float64), weights_of(problem)[rows]
        X -= X[0]  # exact enough for NumPy then, also far from 0
        mean = np.average(X, axis=0, weights=w)
        expected = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w))
        width = np.ptp(problem.Z.astype(np.float64), axis=0)
        assert (np.abs(spread(problem, rows) - expected) <= 1e-6 * width).all()


@pytest.mark.parametrize("kind", SCALES)
def test_weights_are_repeated_rows_and_order_is_nothing(kind: str) -> None:
    problem = table(120, "whole")
    weight = weights_of(problem)
    repeated = encode(np.repeat(problem.Z, weight, axis=0), np.repeat(problem.y, weight), 2)
    order = np.random.default_rng(0).permutation(problem.n_rows)
    mixed = problem.take(order)
    expected = scale_of(problem, kind)
    np.testing.assert_array_equal(scale_of(repeated, kind), expected)
    np.testing.assert_array_equal(scale_of(mixed, kind), expected)


def test_what_the_scales_are() -> None:
    problem = table()
    X = problem.Z
    np.testing.assert_array_equal(scale_of(problem, None), np.ones(5))
    np.testing.assert_allclose(scale_of(problem, "standard")[:4], 1 / X.std(axis=0)[:4], rtol=1e-5)
    np.testing.assert_allclose(scale_of(problem, "minmax")[:4], 1 / np.ptp(X, axis=0)[:4])
    low, high = np.quantile(X, [0.25, 0.75], axis=0, method="inverted_cdf")
    np.testing.assert_array_equal(scale_of(problem, "robust")[:4], 1 / (high - low)[:4])
    for kind in SCALES:
        assert scale_of(problem, kind)[4] == 1.0, "a constant feature"


def test_robust_falls_back_where_half_of_the_rows_are_equal() -> None:
    x = np.r_[np.zeros(80), np.arange(20.0)]
    problem = encode(np.column_stack([x, x + 1]), np.arange(100) % 2, 2)
    np.testing.assert_allclose(scale_of(problem, "robust"), 1 / x.std(), rtol=1e-5)


@pytest.mark.parametrize("kind", SCALES)
@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-100, 1e100, 1e200, 1e307])
def test_sizes_near_the_limits(kind: str, factor: float) -> None:
    x = np.linspace(-1.0, 1.0, 41)
    plain = encode(np.column_stack([x, x**3]), np.arange(41) % 2, 2)
    problem = encode(np.column_stack([x * factor, x**3]), np.arange(41) % 2, 2)
    found, expected = scale_of(problem, kind), scale_of(plain, kind)
    np.testing.assert_allclose(found * [factor, 1.0], expected, rtol=1e-6)


@pytest.mark.parametrize("kind", SCALES)
def test_no_factor_is_ever_useless(kind: str) -> None:
    """Neither ranges that overflow nor those whose inverse does."""
    x = np.array([-1.7e308, 1.7e308] * 8)
    problem = encode(np.column_stack([x, x * 0 + [0, 5e-324] * 8, x * 0]), np.arange(16) % 2, 2)
    factor = scale_of(problem, kind)
    assert np.isfinite(factor).all() and (factor > 0).all()


# --- sparse versions ---------------------------------------------------------------------------


def read(said: Any, most: int, spreads: Any = (1.0, 1.0, 1.0, 1.0), scale: Any = None) -> Planes:
    planes = read_directions(said, 4, scale, most, lambda: np.asarray(spreads, dtype=float))
    assert planes is not None
    return planes


def kept(planes: Planes) -> list[list[int]]:
    return [planes.row(d)[0].tolist() for d in range(len(planes))]


def test_the_entries_that_move_the_values_most_stay() -> None:
    normals = [[1, -2, 3, 0.5], [4, 1, 1, 1], [0, 0, 1, 0], [0, 5, 0, 1]]
    planes = read(normals, 2)
    assert kept(planes) == [[1, 2], [0, 1], [2], [1, 3]]
    assert planes.row(0)[1].tolist() == [-2.0, 3.0]
    assert kept(read(normals, 2, (10, 1, 0.1, 10))) == [[0, 3], [0, 3], [2], [1, 3]]
    assert kept(read(normals, 1)) == [[2], [0], [2], [1]]
    assert kept(read(normals, 4)) == [[0, 1, 2, 3], [0, 1, 2, 3], [2], [1, 3]]


def test_of_equal_entries_the_earlier_stay() -> None:
    assert kept(read([[1, 1, 1, 1], [-1, 1, -1, 1], [1, 2, 1, 1]], 2)) == [[0, 1], [0, 1], [0, 1]]
    assert kept(read([[1, 1, 1, 1]], 3, (0, 0, 0, 0))) == [[0, 1, 2]]
    # also if they are equal but for noise in the last bits
    assert kept(read([[1, 1 + 1e-12, 1 + 2e-12, 1]], 2)) == [[0, 1]]


def test_zeros_take_no_place() -> None:
    assert kept(read([[0, 0, 1, 1], [1, 0, 1, 1e-30]], 2, (5, 5, 0, 0))) == [[2, 3], [0, 2]]
    assert kept(read([[0, 0, 0, 0], [1, 1, 1, 0]], 2)) == [[], [0, 1]]


def test_rows_that_are_not_finite_are_passed_over_whole() -> None:
    normals = [[1, 2, 3, np.nan], [np.inf, 1, 1, 1], [1, 2, 3, 4], [-np.inf, np.nan, 0, 1e308]]
    for spreads in ([1, 1, 1, 1], [0, 1, 1, 0], [1e308] * 4):
        assert kept(read(normals, 2, spreads))[:2] == [[], []]
        assert len(kept(read(normals, 2, spreads))[2]) == 2
        assert kept(read(normals, 2, spreads))[3] == []


def test_scales_bring_normals_back_to_original_units() -> None:
    planes = read([[1, 1, 1, 1], [1e300, 0, 0, 1]], 2, (1, 1, 1, 1), np.array([1e10, 2, 4, 8]))
    assert kept(planes) == [[0, 3], []]
    assert planes.row(0)[1].tolist() == [1e10, 8.0]


def test_a_direction_that_loses_features_loses_its_threshold() -> None:
    planes = read(Directions([[1, 2, 3, 4], [1, 1, 0, 0]], thresholds=[5.0, 6.0]), 2)
    assert planes.opened is not None and planes.opened.tolist() == [True, False]
    with pytest.raises(ProposerError, match="one threshold per direction"):
        read(Directions([[1, 2, 3, 4]], thresholds=[5.0, 6.0]), 2)


def test_given_and_searched_thresholds_side_by_side() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 4)) + np.array([10.0, 0.0, 0.0, 0.0])
    problem = encode(X, X[:, 1] + X[:, 2] > 1.1, 2)
    # the sparse version of the first direction needs another threshold than the one given
    full, other = [0.02, 1.0, 1.0, 0.01], [0.0, 1.0, 1.0, 0.0]
    for criterion in ("twoing", lambda left, right: float(abs(left[0] - right[0]))):
        for given in ([[-3.0], [full]], [[0.2, -3.0], [other, full]]):
            batch = Directions(given[1], thresholds=given[0])
            proposals = Proposals(lambda node, b=batch: b, axis_parallel=False, max_features=2)
            tree = grow_tree(problem, criterion, {"max_depth": 1}, proposals)
            assert tree.n_leaves == 2 and tree.coef_idx.tolist() == [1, 2]
    tree = grow_tree(problem, "twoing", {}, Proposals(lambda node: batch, max_features=2))
    assert tree.n_leaves == 2 and tree.threshold[0] == pytest.approx(1.1, abs=0.02)


def test_an_overflowing_feature_does_not_decide_for_the_others() -> None:
    """Squares of the first feature overflow; what the others keep is a function of the data."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(240, 4)) @ rng.normal(size=(4, 4))
    y = (X[:, 1] + X[:, 3] > 0).astype(int)
    X[:, 0] = 1e200 * y
    X[::5, 0] = 1e200
    for fisher in (False, True):
        problem = encode(X, y, 2)
        method = Proposals(Householder("all", fisher=fisher), max_features=2)
        trees = [grow_tree(problem, "twoing", {}, method) for _ in range(3)]
        assert trees[0] == trees[1] == trees[2]
        # in other units nothing overflows, and the same features are chosen
        small = encode(X * [1e-200, 1, 1, 1], y, 2)
        tree = grow_tree(small, "twoing", {}, replace(method, scale="standard"))
        assert tree.n_leaves > 1
