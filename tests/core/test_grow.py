"""Whole trees: the engine's against the twin's, node by node and bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import problems
from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    grow_tree,
    grow_twin,
    problem_of,
)
from obliqua.criteria import vectorized
from obliqua.data.problem import encode
from problems import Case, examples
from reference import criteria as twin_criteria
from reference import grow as twin_grow

NAMES = tuple(twin_criteria.CODES)


def check(case: Case, criterion: str = "gini", rules: dict[str, Any] | None = None) -> int:
    """Compare the two trees on one case; the number of nodes tells that it was no stump."""
    problem = problem_of(case)
    tree = grow_tree(problem, criterion, rules)
    assert_equals_twin(tree, grow_twin(problem, criterion, rules))
    assert_rows_reach_their_leaves(tree, problem)
    return int(tree.n_nodes)


# --- the twin itself --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 3, 4, 5, 8])
def test_twin_grows_scikit_learns_tree(seed: int) -> None:
    """Without equally good cuts there is one gini tree, whoever grows it.

    In small nodes cuts of different columns are often equally good, so growth stops early; the
    seeds are those of the first nine whose trees have no such tie above that size.
    """
    case = problems.gaussians(300, n_columns=3, n_classes=2, seed=seed)
    data = twin_grow.Data(case.X, case.y.tolist(), [1] * 300, 2)
    rules = twin_grow.Rules(min_samples_split=40)
    mine = twin_grow.grow(data, twin_criteria.GINI, rules)
    theirs = DecisionTreeClassifier(min_samples_split=40, random_state=seed).fit(case.X, case.y)
    leaf = np.array(twin_grow.leaf_of_rows(mine, 300))
    assert theirs.get_n_leaves() == len(twin_grow.leaves(mine))
    together = leaf[:, None] == leaf[None, :]
    reached = theirs.apply(case.X.astype(np.float32))
    np.testing.assert_array_equal(together, reached[:, None] == reached[None, :])
    root = theirs.tree_
    sides = root.weighted_n_node_samples[[root.children_left[0], root.children_right[0]]] / 300
    impurity = root.impurity[[root.children_left[0], root.children_right[0]]]
    assert mine["gain"][0] == pytest.approx(root.impurity[0] - sides @ impurity, rel=1e-9)


def test_twin_orders_of_growth_agree() -> None:
    case = problems.integers(150, seed=3)
    data = twin_grow.Data(case.X, case.y.tolist(), [1] * 150, case.n_classes)
    deep = twin_grow.grow(data, twin_criteria.GINI)
    best = twin_grow.grow(data, twin_criteria.GINI, twin_grow.Rules(best_first=True))
    assert deep == best
    assert len(deep["kind"]) > 50


# --- random small problems --------------------------------------------------------------------


@examples(60)
@given(case=problems.cases(), rules=problems.rules())
@pytest.mark.parametrize("criterion", NAMES)
def test_small_problems(criterion: str, case: Case, rules: dict[str, Any]) -> None:
    check(case, criterion, rules)


@examples(40)
@given(case=problems.cases(max_rows=40, columns=problems.ORDINARY))
@pytest.mark.parametrize("zero_gain", [False, True])
@pytest.mark.parametrize("criterion", ["twoing", "entropy", "max_minority"])
def test_unlimited_growth(criterion: str, zero_gain: bool, case: Case) -> None:
    check(case, criterion, {"zero_gain": zero_gain})


@examples(60)
@given(case=problems.cases(max_rows=40), leaves=st.integers(1, 12))
def test_best_first_with_a_limit(case: Case, leaves: int) -> None:
    rules = {"best_first": True, "max_leaf_nodes": leaves, "zero_gain": True}
    check(case, "twoing", rules)


# --- fixed problems ---------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", NAMES)
def test_letter_like_integers(criterion: str) -> None:
    assert check(problems.letter_like(500), criterion) > 100


@pytest.mark.data
@pytest.mark.parametrize("criterion", ["twoing", "gini", "gain_ratio"])
def test_letter(criterion: str) -> None:
    assert check(problems.letter(2000), criterion) > 500


@pytest.mark.data
def test_letter_with_weights_best_first() -> None:
    case = problems.weighted(problems.letter(2000), "integers")
    rules = {"best_first": True, "max_leaf_nodes": 200, "min_samples_leaf": 2}
    assert check(case, "twoing", rules) == 399


@pytest.mark.parametrize("kind", problems.WEIGHTS)
@pytest.mark.parametrize("criterion", ["twoing", "gini", "sum_minority"])
def test_weights(criterion: str, kind: str) -> None:
    assert check(problems.weighted(problems.integers(300), kind), criterion) > 30


@pytest.mark.parametrize("criterion", NAMES)
def test_nodes_of_several_thousand_rows(criterion: str) -> None:
    """Large nodes may be searched another way than small ones; the result may not differ."""
    check(problems.gaussians(4000, n_columns=3), criterion, {"max_depth": 3})


@pytest.mark.parametrize(
    ("criterion", "make"),
    [
        ("twoing", problems.integers),
        ("gini", problems.outliers),
        ("entropy", problems.gaussians),
        ("sum_minority", problems.integers),
    ],
)
def test_large_nodes_of_every_shape(criterion: str, make: Callable[..., Case]) -> None:
    check(make(9000, seed=1), criterion, {"max_depth": 1})


def test_a_deep_tree_of_many_rows() -> None:
    case = problems.gaussians(3000, n_columns=2, n_classes=2, seed=2)
    assert check(case, "gini", {"zero_gain": True}) > 500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", problems.LAYOUTS)
def test_layouts_and_widths(layout: str, dtype: Any) -> None:
    case = problems.gaussians(200, dtype=dtype)
    laid = Case(problems.lay_out(case.X, layout), case.y, case.n_classes)
    problem = problem_of(laid)
    assert_equals_twin(grow_tree(problem), grow_twin(problem_of(case)))


def test_more_than_a_thousand_classes() -> None:
    case = problems.many_classes(1100)
    problem = problem_of(case)
    rules = {"max_depth": 1}
    assert_equals_twin(grow_tree(problem, "gini", rules), grow_twin(problem, "gini", rules))
    full = grow_tree(problem)
    assert (np.count_nonzero(full.stats[full.kind == 0], axis=1) == 1).all()


# --- the smallest problems --------------------------------------------------------------------


@pytest.mark.parametrize("zero_gain", [False, True])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        pytest.param([[1.0]], [0], id="one row"),
        pytest.param([[1.0], [2.0], [3.0]], [0, 0, 0], id="one class"),
        pytest.param([[7.0, 7.0]] * 4, [0, 1, 0, 1], id="constant columns"),
        pytest.param([[1.0], [2.0]] * 3, [0, 1, 1, 0, 1, 0], id="duplicates that disagree"),
        pytest.param([[0.0], [5e-324]], [0, 1], id="smallest denormal"),
        pytest.param([[-1.7e308], [1.7e308]], [0, 1], id="difference overflows"),
        pytest.param([[1.0], [np.nextafter(1.0, 2.0)]], [0, 1], id="neighbouring floats"),
        pytest.param([[-0.0], [0.0]], [0, 1], id="zeros of both signs"),
        pytest.param([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], id="exclusive or"),
    ],
)
def test_small_fixed_problems(X: list[list[float]], y: list[int], zero_gain: bool) -> None:
    case = Case(np.array(X, dtype=np.float64), np.array(y), max(y) + 1)
    for criterion in NAMES:
        check(case, criterion, {"zero_gain": zero_gain})


def test_exclusive_or_needs_a_split_of_no_gain() -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    case = Case(X, np.array([0, 1, 1, 0]), 2)
    assert grow_tree(case, "gini").n_nodes == 1
    tree = grow_tree(case, "gini", {"zero_gain": True})
    assert tree.n_nodes == 7
    assert tree.gain[0] == 0.0


# --- criteria in Python -----------------------------------------------------------------------


def as_function(code: int) -> Callable[[Any, Any], float]:
    """The built-in formula as a user's function of two count vectors."""

    def own(left: Any, right: Any) -> float:
        assert left.dtype == right.dtype == np.float64
        assert left.ndim == right.ndim == 1
        one, other = ([int(v) for v in side] for side in (left, right))
        return twin_criteria.goodness(code, one, other)

    return own


@pytest.mark.parametrize("name", NAMES)
def test_python_twin_of_a_criterion_gives_the_same_tree(name: str) -> None:
    case = problems.integers(120, seed=5)
    own = as_function(twin_criteria.CODES[name])
    assert_same_substance(grow_tree(case, own), grow_tree(case, name))


@examples(25)
@given(case=problems.cases(weights=("integers",)), rules=problems.rules())
def test_python_criterion_on_small_problems(case: Case, rules: dict[str, Any]) -> None:
    own = as_function(twin_criteria.GINI)
    assert_same_substance(grow_tree(case, own, rules), grow_tree(case, "gini", rules))


def test_vectorized_criterion_gives_the_same_tree() -> None:
    one_by_one = as_function(twin_criteria.TWOING)

    @vectorized
    def own(left: Any, right: Any) -> Any:
        assert left.ndim == 2
        assert left.shape == right.shape
        pairs = zip(left, right, strict=True)
        return np.array([one_by_one(a, b) for a, b in pairs])

    case = problems.integers(150, seed=6)
    assert_same_substance(grow_tree(case, own), grow_tree(case, "twoing"))


def test_functions_see_weights_in_original_units() -> None:
    case = problems.weighted(problems.integers(60), "eighths")
    totals = []

    def own(left: Any, right: Any) -> float:
        totals.append(float(left.sum() + right.sum()))
        return 1.0

    grow_tree(case, own, {"max_depth": 1})
    assert case.sample_weight is not None
    assert set(totals) == {float(case.sample_weight.sum())}


def test_asymmetric_criterion_equals_the_twin() -> None:
    """Any function will do; this one only likes class 0 on the left."""

    def own(left: Any, right: Any) -> float:
        n_left, n_right = float(left.sum()), float(right.sum())
        return max(float(left[0]) / n_left - float(right[0]) / n_right, 0.0)

    problem = problem_of(problems.weighted(problems.integers(150, seed=7), "integers"))
    assert_equals_twin(grow_tree(problem, own), grow_twin(problem, own))


def test_an_exception_in_a_criterion_comes_through() -> None:
    class Mine(Exception):
        pass

    def own(left: Any, right: Any) -> float:
        raise Mine

    with pytest.raises(Mine):
        grow_tree(problems.integers(30), own)


def test_worthless_cuts_are_not_made() -> None:
    assert grow_tree(problems.integers(30), lambda left, right: -1.0).n_nodes == 1
    assert grow_tree(problems.integers(30), lambda left, right: 0.0).n_nodes == 1


def test_a_criterion_must_not_say_nan() -> None:
    with pytest.raises(ValueError, match="NaN"):
        grow_tree(problems.integers(30), lambda left, right: float("nan"))


@pytest.mark.parametrize("criterion", ["twoing", "entropy", "sum_minority"])
@pytest.mark.parametrize("seed", range(4))
def test_groups_of_equal_values_across_blocks(seed: int, criterion: str) -> None:
    """A group of equal values that reaches over several blocks is of all its rows' classes."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(390, 700)), 3 + seed % 3
    y = np.sort(rng.integers(0, n_classes, n))
    # The lower value has rows of all classes, the last class at its end; the upper value only
    # rows of the last class: the cut between them lies in front of a run of that class.
    X = np.zeros((n, 1))
    last = np.flatnonzero(y == n_classes - 1)
    X[last[: len(last) - 20 - seed]] = 1.0
    problem = encode(X, y, n_classes)
    rules = {"max_depth": 1}
    tree = grow_tree(problem, criterion, rules)
    assert_equals_twin(tree, grow_twin(problem, criterion, rules))
    reverse = encode(X[::-1], y[::-1], n_classes)
    assert_same_substance(tree, grow_tree(reverse, criterion, rules))
