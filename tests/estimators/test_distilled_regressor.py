"""Students of regressors: what they keep of a teacher, and what they say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

import obliqua
from obliqua import CartClassifier, CartRegressor, DistilledRegressor, distil, fidelity

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, size=(200, 3))
Y = np.where(X[:, 0] > 0, 5 * X[:, 1], -5 * X[:, 1]) + RNG.normal(scale=0.1, size=200)
NEW = RNG.uniform(-1.0, 1.0, size=(100, 3))
FAST: dict[str, Any] = {"n_generated": 600, "random_state": 0, "method": "cart"}


@pytest.fixture(scope="module")
def forest() -> Any:
    return RandomForestRegressor(10, random_state=0).fit(X, Y)


@pytest.mark.parametrize("method", ["cart", "oblique", "refined"])
def test_a_student_does_what_its_teacher_does(forest: Any, method: str) -> None:
    student = distil(forest, X, max_leaves=32, **{**FAST, "method": method})
    assert isinstance(student, DistilledRegressor)
    assert student.get_n_leaves() <= 32
    lost = fidelity(forest, student, NEW)
    assert lost["rows"] == 100 and lost["r2"] > 0.8
    assert lost["r2"] == pytest.approx(r2_score(forest.predict(NEW), student.predict(NEW)))
    assert set(student.fidelity_) == {"data", "generated"}
    assert student.fidelity_["data"]["rows"] == 40


def test_any_regressor_teaches(forest: Any) -> None:
    booster = HistGradientBoostingRegressor(max_iter=20).fit(X, Y)
    assert distil(booster, X, **FAST).fidelity_["generated"]["r2"] > 0.8
    tree = CartRegressor(max_leaf_nodes=4, random_state=0).fit(X, Y)
    for known in (tree, tree.tree_):
        student = distil(known, X, max_leaves=8, **FAST)
        assert student.fidelity_["generated"]["r2"] > 0.95


def test_the_teacher_is_fitted_to_rows_that_are_not_held_out() -> None:
    student = DistilledRegressor(LinearRegression(), **FAST).fit(X, Y)
    found = student.fidelity_["data"]
    assert found["rows"] == 40
    assert found["teacher_r2"] < 0.2 and abs(found["student_r2"] - found["teacher_r2"]) < 0.1
    alone = DistilledRegressor(LinearRegression(), holdout=0.0, **FAST).fit(X, Y)
    assert set(alone.fidelity_) == {"generated"}
    np.testing.assert_allclose(
        alone.estimator_.coef_, LinearRegression().fit(X, Y).coef_, rtol=1e-9
    )


def test_a_seed_makes_a_student(forest: Any) -> None:
    first, again = (distil(forest, X, Y, **FAST) for _ in range(2))
    order = np.random.default_rng(1).permutation(200)
    moved = distil(forest, X[order], Y[order], **FAST)
    assert first.tree_ == again.tree_
    assert first.fidelity_ == again.fidelity_
    assert moved.fidelity_["data"]["rows"] == first.fidelity_["data"]["rows"]


def test_weights_and_rows_that_do_not_count() -> None:
    weights = np.where(np.arange(200) < 20, 0.0, 1.0)
    wrong = np.where(np.arange(200) < 20, 1e6, Y)
    student = DistilledRegressor(**FAST).fit(X, wrong, sample_weight=weights)
    assert np.abs(student.predict(X)).max() < 100


def test_frames_and_levels() -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")})
    teacher = CartRegressor(random_state=0).fit(frame, Y)
    student = distil(teacher, frame, **FAST)
    assert list(student.feature_names_in_) == ["a", "b"]
    assert student.fidelity_["generated"]["r2"] > 0.9


def test_a_student_is_saved(forest: Any, tmp_path: Path) -> None:
    student = distil(forest, X, Y, **FAST)
    obliqua.save(student, tmp_path / "s.obliqua")
    again = obliqua.load(tmp_path / "s.obliqua")
    np.testing.assert_array_equal(again.predict(NEW), student.predict(NEW))
    assert again.fidelity_ == student.fidelity_


def test_a_teacher_that_says_one_number() -> None:
    student = DistilledRegressor(**FAST).fit(X, np.ones(200))
    assert student.get_n_leaves() == 1
    assert np.isnan(student.fidelity_["data"]["r2"])


def test_what_is_refused(forest: Any) -> None:
    with pytest.raises(ValueError, match="A student of numbers is one tree; got n_trees=2"):
        distil(forest, X, n_trees=2)
    with pytest.raises(TypeError, match="must be a regressor; got RandomForestClassifier"):
        DistilledRegressor(RandomForestClassifier()).fit(X, Y)
    with pytest.raises(NotFittedError):
        distil(RandomForestRegressor(), X)
    with pytest.raises(ValueError, match="method must be one of 'cart', 'oblique', 'refined'"):
        distil(forest, X, method="oc1")
    with pytest.raises(TypeError, match=r"tree regressor of obliqua.*got CartClassifier"):
        distil(forest, X, method=CartClassifier())
    with pytest.raises(ValueError, match="requires y to be passed"):
        DistilledRegressor().fit(X)
    two = RandomForestRegressor(2).fit(X, np.c_[Y, Y])
    with pytest.raises(ValueError, match="a number for each of the 760 rows; got shape"):
        distil(two, X, **FAST)
    with pytest.raises(TypeError, match="must be a fitted regressor; got CartClassifier"):
        fidelity(forest, CartClassifier().fit(X, Y > 0), X)
