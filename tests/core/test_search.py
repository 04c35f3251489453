"""Search: the best split of one node over a batch of directions, engine against twin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import problems
from core.adapter import engine_split, problem_of, twin_split
from obliqua.data.weights import round_significant
from problems import Case, examples
from reference import criteria as twin_criteria
from reference import search as twin
from reference.search import Limits

NAMES = tuple(twin_criteria.CODES)


def unit_rows(y: Any) -> tuple[list[int], list[int]]:
    """Class codes and weights of one for the twin."""
    codes = [int(c) for c in y]
    return codes, [1] * len(codes)


def check(
    case: Case,
    normals: Any,
    criterion: str = "gini",
    limits: Limits | None = None,
    thresholds: Any = None,
) -> None:
    problem = problem_of(case)
    expected = twin_split(problem, normals, criterion, limits, thresholds)
    assert engine_split(problem, normals, criterion, limits, thresholds) == expected


# --- the twin itself --------------------------------------------------------------------------


@examples(60)
@given(case=problems.cases(weights=("integers",)))
@pytest.mark.parametrize("code", [twin_criteria.TWOING, twin_criteria.SUM_MINORITY])
def test_twin_equals_trying_every_threshold(code: int, case: Case) -> None:
    """Brute force in another order of things: thresholds first, then masks, then sums."""
    y = case.y.tolist()
    ones = np.ones(len(y))
    weights = (ones if case.sample_weight is None else case.sample_weight).astype(int).tolist()
    best = 0.0
    for f in range(case.X.shape[1]):
        for value in np.unique(case.X[:, f])[:-1]:
            left = [0] * case.n_classes
            right = [0] * case.n_classes
            for i, c in enumerate(y):
                (left if case.X[i, f] <= value else right)[c] += weights[i]
            best = max(best, twin_criteria.goodness(code, left, right))
    score = twin.score_function(code)
    columns = twin.axes(case.X.shape[1])
    found = twin.best_split(case.X, y, weights, case.n_classes, columns, score)
    assert (0.0 if found is None else found.goodness) == best
    if found is not None:
        assert found.rows_left == int(found.left.sum())
        sums = np.bincount(case.y[found.left], np.array(weights)[found.left], case.n_classes)
        assert sums.tolist() == list(found.left_sums)


@pytest.mark.parametrize(("name", "code"), [("gini", 1), ("entropy", 2)])
@pytest.mark.parametrize("seed", range(4))
def test_twin_finds_scikit_learns_root(name: str, code: int, seed: int) -> None:
    case = problems.gaussians(400, n_columns=4, n_classes=3, seed=seed)
    stump = DecisionTreeClassifier(criterion=name, max_depth=1, random_state=0)
    tree = stump.fit(case.X, case.y).tree_
    score = twin.score_function(code)
    found = twin.best_split(case.X, *unit_rows(case.y), 3, twin.axes(4), score)
    assert found is not None
    assert found.idx == (int(tree.feature[0]),)
    assert found.threshold == pytest.approx(tree.threshold[0], rel=1e-5)
    assert found.rows_left == tree.n_node_samples[1]
    below = tree.weighted_n_node_samples[1:] @ tree.impurity[1:] / 400
    assert found.goodness == pytest.approx(tree.impurity[0] - below, rel=1e-9)


@examples(200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_keeps_24_bits(value: float) -> None:
    rounded = twin.round24(value)
    with np.errstate(over="ignore"):
        assert float(round_significant(value)) == rounded
    if abs(value) < 1e300:
        assert abs(rounded - value) <= abs(value) * 2.0**-24
    if 2.0**-126 <= abs(value) <= 2.0**127:  # there, float32 holds 24 bits and no fewer
        assert rounded == float(np.float32(value))
    assert twin.round24(rounded) == rounded


def test_midpoints_stay_between() -> None:
    top = 1.7976931348623157e308
    assert twin.midpoint(1.0, 2.0) == 1.5
    assert twin.midpoint(-top, top) == 0.0
    assert twin.midpoint(0.0, 5e-324) == 0.0
    above = math.nextafter(1.0, 2.0)
    assert twin.midpoint(1.0, above) == 1.0
    assert twin.midpoint(above, math.nextafter(above, 2.0)) == above


# --- the engine against the twin --------------------------------------------------------------


limits = st.builds(
    Limits,
    min_samples_leaf=st.sampled_from([1, 1, 2, 5]),
    min_weight_leaf=st.sampled_from([0, 0, 2, 7]),
    zero_gain=st.booleans(),
)


@examples(60)
@given(problems.searches(), limits)
@pytest.mark.parametrize("criterion", NAMES)
def test_batches_of_directions(criterion: str, pair: tuple[Case, Any], limits: Limits) -> None:
    check(*pair, criterion, limits)


@examples(100)
@given(problems.searches(columns=problems.ORDINARY, weights=()), limits, st.data())
def test_given_thresholds(pair: tuple[Case, Any], limits: Limits, data: st.DataObject) -> None:
    value = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 7.5, math.nan, math.inf])
    size = len(pair[1])
    thresholds = data.draw(st.lists(value, min_size=size, max_size=size))
    check(*pair, "twoing", limits, thresholds)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_integer_data_have_equal_projections(criterion: str, seed: int) -> None:
    """Sums of tenths differ in their last bits where the true sums are equal: no cut there."""
    rng = np.random.default_rng(seed)
    case = problems.integers(300, n_columns=4, seed=seed)
    check(case, rng.integers(-3, 4, size=(12, 4)) / 10.0, criterion)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("make", [problems.gaussians, problems.integers, problems.outliers])
def test_large_nodes(criterion: str, make: Callable[..., Case]) -> None:
    case = make(6000, seed=4)
    rng = np.random.default_rng(4)
    check(case, rng.normal(size=(4, case.X.shape[1])), criterion)


@pytest.mark.parametrize("kind", problems.WEIGHTS)
def test_large_weighted_nodes(kind: str) -> None:
    case = problems.weighted(problems.integers(5000, seed=8), kind)
    rng = np.random.default_rng(8)
    normals = np.vstack([np.eye(4), rng.normal(size=(3, 4))])
    check(case, normals, "twoing", Limits(min_samples_leaf=40, min_weight_leaf=1500))


@examples(15)
@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(200, 2500),
    make=st.sampled_from([problems.gaussians, problems.integers, problems.outliers]),
    kind=st.sampled_from([None, *problems.WEIGHTS]),
    criterion=st.sampled_from(NAMES),
    limits=limits,
)
def test_nodes_that_may_be_searched_by_bins(
    seed: int,
    n_rows: int,
    make: Callable[..., Case],
    kind: str | None,
    criterion: str,
    limits: Limits,
) -> None:
    case = make(n_rows, seed=seed)
    if kind is not None:
        case = problems.weighted(case, kind, seed)
    rng = np.random.default_rng(seed)
    normals = np.round(rng.normal(size=(3, case.X.shape[1])), int(rng.integers(0, 3)))
    check(case, normals, criterion, limits)


@pytest.mark.parametrize("n_rows", [2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1025])
def test_sizes_around_the_limits_of_methods(n_rows: int) -> None:
    """A search that changes its method with the size of the node is right on both sides."""
    case = problems.gaussians(n_rows, n_columns=3, n_classes=2, seed=n_rows)
    normals = np.vstack([np.eye(3), [[1.0, -1.0, 0.5]]])
    for criterion in NAMES:
        check(case, normals, criterion)


# --- rules, one by one ------------------------------------------------------------------------


def found(
    X: Any, y: Any, normals: Any, criterion: str = "gini", limits: Limits | None = None
) -> Any:
    codes = np.array(y)
    case = Case(np.array(X, dtype=np.float64), codes, int(codes.max()) + 1)
    problem = problem_of(case)
    assert twin_split(problem, normals, criterion, limits) == engine_split(
        problem, normals, criterion, limits
    )
    return engine_split(problem, normals, criterion, limits)


def test_the_earlier_direction_wins_ties() -> None:
    X = [[0.0, 0.0, 5.0], [1.0, 1.0, 4.0]]
    assert found(X, [0, 1], np.eye(3)).direction == 0
    assert found(X, [0, 1], np.eye(3)[::-1]).direction == 0
    assert found(X, [0, 1], [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]).direction == 1


def test_the_earlier_position_wins_ties() -> None:
    split = found([[1.0], [2.0], [3.0], [4.0]], [0, 1, 1, 0], [[1.0]])
    assert split.threshold == 1.5
    assert split.rows_left == 1


def test_neighbours_within_the_tolerance_are_equal() -> None:
    """0.1 + 0.2 > 0.3 in floating point; a split between them would be an accident."""
    X = [[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [9.0, 0.0, 0.0]]
    normal = [[0.1, 0.1, 0.1]]
    split = found(X, [0, 1, 1], normal)
    assert split.rows_left == 2
    assert found([[0.1 + 0.2], [0.3]], [0, 1], [[1.0]]).rows_left == 1


def test_midpoint_is_used_where_it_exists() -> None:
    assert found([[1.0], [4.0]], [0, 1], [[1.0]]).threshold == 2.5
    top = 1.7976931348623157e308
    assert found([[-top], [top]], [0, 1], [[1.0]]).threshold == 0.0
    assert found([[0.0], [5e-324]], [0, 1], [[1.0]]).threshold == 0.0


def test_normals_are_rounded_before_they_are_scored() -> None:
    split = found([[1.0, 0.0], [3.0, 1.0]], [0, 1], [[1.0 / 3.0, math.pi]])
    assert split.coef == (float(np.float32(1.0 / 3.0)), float(np.float32(math.pi)))


def test_broken_directions_are_passed_over() -> None:
    top = 1e308
    X = [[top, top], [-top, top], [1.0, 0.0]]
    broken = [[0.0, 0.0], [math.nan, 1.0], [math.inf, 0.0], [2.0, 2.0], [0.0, 1.0]]
    assert found(X, [0, 0, 1], broken).direction == 4
    assert found(X, [0, 0, 1], broken[:4]) is None


def test_leaves_keep_enough_rows_and_weight() -> None:
    X = [[float(i)] for i in range(8)]
    y = [0, 1, 1, 1, 1, 1, 1, 1]
    assert found(X, y, [[1.0]]).rows_left == 1
    assert found(X, y, [[1.0]], limits=Limits(min_samples_leaf=3)).rows_left == 3
    assert found(X, y, [[1.0]], limits=Limits(min_weight_leaf=2)).rows_left == 2
    assert found(X, y, [[1.0]], limits=Limits(min_samples_leaf=5)) is None


def test_zero_gain_takes_the_first_cut_only_where_nothing_gains() -> None:
    flat = [[0.0], [1.0]] * 2
    assert found(flat, [0, 0, 1, 1], [[1.0]]) is None
    split = found(flat, [0, 0, 1, 1], [[1.0]], limits=Limits(zero_gain=True))
    assert (split.goodness, split.threshold) == (0.0, 0.5)
    both = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    split = found(both, [0, 0, 1, 1], np.eye(2), limits=Limits(zero_gain=True))
    assert split.direction == 1
