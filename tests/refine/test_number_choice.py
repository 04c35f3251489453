"""The choice of a tree of numbers: what is tried on held-out rows, and what wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua import RefinedTreeRegressor
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine.linear_leaves import LeafFit
from obliqua.prune.division import trials
from obliqua.refine.descent import Schedule, Watch
from obliqua.refine.number_choice import (
    NumberChoice,
    TriedTree,
    _least,
    choose_numbers,
    greedy_sizes,
)
from obliqua.refine.recipe import Recipe


def numbers(seed: int = 0, n: int = 150, kind: str = "linear") -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if kind == "linear":
        return X, X @ [2.0, -1.0, 0.5] + 3.0
    if kind == "step":
        return X, np.where(X[:, 1] > 0.3, 2.0, -1.0)
    return X, np.where(X[:, 0] + X[:, 1] - X[:, 2] > 0.2, 5.0, 0.0) + 0.1 * rng.normal(size=n)


def fitted(kind: str, **options: Any) -> RefinedTreeRegressor:
    options = {"max_leaf_nodes": 4, "random_state": 0, **options}
    return RefinedTreeRegressor(**options).fit(*numbers(kind=kind))


# --- what wins ------------------------------------------------------------------------------


def test_a_linear_function_is_one_leaf() -> None:
    tree = fitted("linear", leaf_smoothing=0.0)
    assert tree.get_n_leaves() == 1
    assert tree.score(*numbers(kind="linear")) > 0.999
    assert tree.leaf_penalty_ == 0.1


def test_a_step_along_an_axis_is_a_cut_of_that_axis() -> None:
    tree = fitted("step", leaf_model="constant")
    assert (tree.chosen_, tree.get_n_leaves()) == ("axis-parallel", 2)
    assert tree.tree_.coef_idx.tolist() == [1]
    assert tree.score(*numbers(kind="step")) == 1.0
    assert np.isnan(tree.leaf_penalty_)


def test_an_oblique_step_is_an_oblique_cut() -> None:
    tree = fitted("oblique", leaf_model="constant")
    assert tree.chosen_ in ("greedy", "refined")
    assert len(tree.tree_.coef_idx) > 1
    assert tree.score(*numbers(kind="oblique")) > 0.95


def test_refined_trees_win_if_nothing_else_may() -> None:
    tree = fitted("step", leaf_model="constant", compare_greedy=False)
    assert tree.chosen_ == "refined"
    assert len(tree.loss_curve_) > 0
    assert tree.cv_scores_.shape == tree.cv_sizes_.shape
    assert len(tree.cv_sizes_) >= 1


def test_time_that_is_up() -> None:
    """Nothing is refined any more, but the tree is there, and no larger than it may be."""
    tree = fitted("oblique", leaf_model="constant", time_limit=0.0, max_leaf_nodes=3)
    assert tree.timed_out_
    assert 1 <= tree.get_n_leaves() <= 3
    hurried = fitted("oblique", leaf_model="constant", time_limit=0.0, compare_greedy=False)
    assert hurried.timed_out_
    assert hurried.chosen_ == "refined"
    assert hurried.get_n_leaves() <= 4


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_rows(n: int) -> None:
    X, y = np.arange(float(n))[:, None], np.arange(float(n))
    tree = RefinedTreeRegressor(random_state=0).fit(X, y)
    assert np.isfinite(tree.predict(X)).all()


def test_numbers_that_are_all_equal() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    tree = RefinedTreeRegressor(random_state=0).fit(X, np.full(40, 2.5))
    assert tree.get_n_leaves() == 1
    assert (tree.predict(X) == 2.5).all()


# --- what is tried --------------------------------------------------------------------------


def test_sizes() -> None:
    assert greedy_sizes(1) == [1]
    assert greedy_sizes(5) == [1, 2, 3, 4, 5]
    assert greedy_sizes(16) == [1, 2, 3, 4, 6, 8, 12, 16]
    assert greedy_sizes(100) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 100]


def test_the_least_error_then_the_smallest_then_the_simplest() -> None:
    fit = LeafFit()
    small, axis, large, refined = (
        TriedTree(kind, size, fit, kind != "axis-parallel")
        for kind, size in (("greedy", 2), ("axis-parallel", 2), ("greedy", 4), ("refined", 2))
    )
    assert _least({large: 1.0, small: 2.0}) == large
    assert _least({large: 1.0, small: 1.0 + 1e-14}) == small
    assert _least({refined: 1.0, small: 1.0, axis: 1.0}) == axis


def choice_of(problem: Problem, **more: Any) -> tuple[NumberChoice, RefinedTreeRegressor]:
    """What is tried with few steps of refinement."""
    estimator = RefinedTreeRegressor(min_samples_leaf=5, **more)
    short = Schedule(passes=3.0)

    def recipe(fit: LeafFit) -> Recipe:
        return Recipe(schedule=short, between=short, leaves=fit, min_samples_leaf=5.0)

    bounds = dict.fromkeys((LeafFit(), LeafFit(smoothing=4.0), LeafFit(1.0)), 4)
    choice = choose_numbers(
        problem,
        lambda oblique, fit: estimator._grower(7, oblique, fit),
        bounds,
        recipe,
        bool(estimator.compare_greedy),
        7,
        1,
        Watch(),
    )
    return choice, estimator


def test_errors_are_those_of_trees_that_are_grown_by_themselves() -> None:
    X, y = numbers(3, 120, "oblique")
    weight = np.random.default_rng(0).integers(1, 3, 120)
    problem = encode_numbers(X, y + X[:, 0], sample_weight=weight)
    choice, estimator = choice_of(problem)
    parts = trials(problem, 7)
    total = 0.0
    for _, test in parts:
        w, values = test.weights, test.target.values[:, 0]
        total += float((w * (values - np.average(values, weights=w)) ** 2).sum())
    assert choice.total == pytest.approx(total)
    greedy = {tried: error for tried, error in choice.tried.items() if tried.kind != "refined"}
    assert {(one.kind, one.n_leaves) for one in greedy} == {
        (kind, size) for kind in ("greedy", "axis-parallel") for size in (1, 2, 3, 4)
    }
    for tried, error in greedy.items():
        assert tried.oblique == (tried.kind == "greedy")
        expected = 0.0
        for train, test in parts:
            grow = estimator._grower(7, tried.oblique, tried.fit)
            tree = grow(train, tried.n_leaves, 0)
            off = test.target.values - tree.predict(test.Z)
            expected += float((test.weights * (off**2)[:, 0]).sum())
        assert error == pytest.approx(expected, rel=1e-6)
    assert choice.best == _least(choice.tried)
    sizes, scores = choice.scores("greedy", LeafFit())
    assert sizes.tolist() == [1, 2, 3, 4]
    of_one = greedy[TriedTree("greedy", 1, LeafFit(), True)]
    assert scores[0] == pytest.approx(1.0 - of_one / total)


def test_what_is_enough() -> None:
    """On its own rows a tree explains as much as its like did of rows unseen, or is unlucky."""
    X, y = numbers(3, 120, "oblique")
    weight = np.random.default_rng(0).random(120) + 0.5
    problem = encode_numbers(X, y, sample_weight=weight)
    choice, _ = choice_of(problem)
    about_mean = float((weight * (y - np.average(y, weights=weight)) ** 2).sum())
    left = 1.0 - choice.r2(choice.tried[choice.best])
    assert choice.enough(problem) == pytest.approx(left * about_mean, rel=1e-6)
    assert NumberChoice(choice.best, {}, 0.0).enough(problem) == np.inf


def test_without_greedy_trees_the_best_of_the_refined() -> None:
    X, y = numbers(kind="step")
    choice, _ = choice_of(encode_numbers(X, y), compare_greedy=False)
    assert choice.best.kind == "refined" or choice.best.n_leaves == 1
    refined = {one: error for one, error in choice.tried.items() if one.kind == "refined"}
    assert {one.fit for one in refined} == {LeafFit(), LeafFit(smoothing=4.0), LeafFit(1.0)}
    if choice.best.kind == "refined":
        assert choice.tried[choice.best] <= min(refined.values()) * (1.0 + 1e-12)
