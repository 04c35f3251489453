"""Students: what they keep of a teacher, and what they say of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import cross_val_score

import obliqua
from estimators.registry import blobs
from obliqua import (
    CartClassifier,
    DistilledClassifier,
    HHCartClassifier,
    OC1Classifier,
    RepeatedTreesClassifier,
    TreeError,
    distil,
    fidelity,
)
from obliqua.errors import ModelFileError

X, Y = blobs(240, n_features=4, n_classes=3)
LABELS = np.array(["low", "mid", "high"])[Y]
NEW, NEW_Y = blobs(400, n_features=4, n_classes=3, seed=0)
NEW = NEW + np.random.default_rng(5).normal(scale=0.3, size=NEW.shape)


@pytest.fixture(scope="module")
def forest() -> Any:
    return RandomForestClassifier(20, random_state=0).fit(X, LABELS)


FAST: dict[str, Any] = {"n_generated": 600, "random_state": 0}


def by_hand(student: Any, rows: np.ndarray) -> np.ndarray:
    """Shares from the trees of a student, row by row."""
    n_classes = len(student.classes_)
    found = []
    for row in rows:
        score = np.full(n_classes, 1.0 / n_classes)
        for tree in student.model_.trees:
            leaf = tree.apply(row[None])[0]
            added = tree.task == "regression"
            said = tree.mean[leaf] if added else tree.stats[leaf] / tree.n_samples[leaf]
            score += said - said.mean()
        score = np.maximum(score, 0.0)
        found.append(score / score.sum())
    return np.array(found)


# --- what a student is --------------------------------------------------------------------


@pytest.mark.parametrize("method", ["cart", "hhcart", "oc1"])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_student_does_what_its_teacher_does(forest: Any, method: str, n_trees: int) -> None:
    student = distil(forest, X, LABELS, max_leaves=30, n_trees=n_trees, method=method, **FAST)
    assert isinstance(student, DistilledClassifier)
    assert student.classes_.tolist() == forest.classes_.tolist()
    assert student.get_n_leaves() <= 30
    assert len(student.model_.trees) == n_trees
    assert hasattr(student, "tree_") == (n_trees == 1)
    lost = fidelity(forest, student, NEW)
    assert lost["agreement"] > 0.85
    assert lost["difference"] < 0.2
    shares = student.predict_proba(NEW)
    np.testing.assert_allclose(shares, by_hand(student, NEW), atol=1e-12)
    np.testing.assert_array_equal(student.predict(NEW), student.classes_[shares.argmax(axis=1)])


def test_stats_are_sums_of_what_the_teacher_says(forest: Any) -> None:
    student = distil(forest, X, max_leaves=8, n_generated=0, holdout=0.0, method="cart")
    said, leaf = forest.predict_proba(X), student.apply(X)
    for node in np.unique(leaf):
        np.testing.assert_allclose(student.tree_.stats[node], said[leaf == node].sum(axis=0))
        assert student.tree_.n_samples[node] == (leaf == node).sum()
    np.testing.assert_allclose(student.tree_.stats[0], said.sum(axis=0))


def test_how_many_rows_are_generated(forest: Any) -> None:
    rows = [
        distil(forest, X, max_leaves=4, holdout=0.0, n_generated=n).tree_.n_samples[0]
        for n in (0, 7, None)
    ]
    assert rows == [240, 247, 5240]
    big = np.concatenate([X] * 12)
    student = distil(forest, big, max_leaves=4, holdout=0.0, method="cart")
    assert student.tree_.n_samples[0] == 3 * len(big)


def test_entries_come_from_their_columns() -> None:
    seen: list[np.ndarray] = []

    class Watching(RandomForestClassifier):
        def predict_proba(self, rows: Any) -> Any:
            seen.append(np.asarray(rows))
            return super().predict_proba(rows)

    teacher = Watching(3, random_state=0).fit(X, Y)
    distil(teacher, X, n_generated=500, swap=1.0, random_state=1)
    columns = [set(column.tolist()) for column in X.T]
    data, generated, held, fresh = seen
    assert [len(rows) for rows in seen] == [192, 500, 48, 2000]
    for rows in seen:
        assert all(
            set(column.tolist()) <= known for column, known in zip(rows.T, columns, strict=True)
        )
    # No row of X is used both to grow and to measure, and generated ones are made of the former.
    known = {tuple(row) for row in data.tolist()}
    assert not known & {tuple(row) for row in held.tolist()}
    grown = [set(column.tolist()) for column in data.T]
    for rows in (generated, fresh):
        assert all(
            set(column.tolist()) <= values for column, values in zip(rows.T, grown, strict=True)
        )
        assert not known & {tuple(row) for row in rows.tolist()}
    assert not {tuple(r) for r in generated.tolist()} & {tuple(r) for r in fresh.tolist()}


@pytest.mark.parametrize(
    ("swap", "low", "high"), [(0.0, 1.0, 1.0), (0.5, 0.4, 0.7), (1.0, 0, 0.3)]
)
def test_how_much_of_a_row_is_kept(swap: float, low: float, high: float) -> None:
    seen: list[np.ndarray] = []

    class Watching(CartClassifier):
        def predict_proba(self, rows: Any) -> Any:
            seen.append(np.asarray(rows))
            return super().predict_proba(rows)

    teacher = Watching().fit(X, Y)
    distil(teacher, X, n_generated=200, swap=swap, holdout=0.0, random_state=1, max_leaves=4)
    generated = seen[1]
    same = (generated[:, None, :] == X[None]).mean(axis=2).max(axis=1)
    assert low <= same.mean() <= high


# --- what was lost ------------------------------------------------------------------------


def test_what_was_lost_is_measured_on_other_rows(forest: Any) -> None:
    student = distil(forest, X, LABELS, max_leaves=12, **FAST)
    assert set(student.fidelity_) == {"data", "generated"}
    assert student.fidelity_["data"]["rows"] == 48
    assert student.fidelity_["generated"]["rows"] == 2000
    assert "teacher_accuracy" in student.fidelity_["data"]
    assert "teacher_accuracy" not in student.fidelity_["generated"]
    assert "teacher_accuracy" not in distil(forest, X, max_leaves=12, **FAST).fidelity_["data"]
    whole = distil(forest, X, LABELS, max_leaves=12, holdout=0.0, **FAST)
    assert set(whole.fidelity_) == {"generated"}
    assert whole.tree_.n_samples[0] == 840
    assert student.tree_.n_samples[0] == 792


def test_the_measures() -> None:
    teacher = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5], [0.3, 0.7]])
    student = np.array([[0.6, 0.4], [0.7, 0.3], [0.5, 0.5], [0.0, 1.0]])
    classes = np.array(["a", "b"])
    found = obliqua.estimators._fidelity.compared(teacher, student, classes, list("abab"))
    assert found["rows"] == 4
    assert found["agreement"] == 0.75
    assert found["difference"] == pytest.approx((0.3 + 0.5 + 0.0 + 0.3) / 4)
    assert found["teacher_accuracy"] == 1.0
    assert found["student_accuracy"] == 0.75


def test_fidelity_of_classifiers_with_other_classes(forest: Any) -> None:
    two = CartClassifier().fit(X[Y < 2], LABELS[Y < 2])
    found = fidelity(forest, two, X, LABELS)
    expected = np.mean(forest.predict(X) == two.predict(X))
    assert found["agreement"] == expected
    assert found["student_accuracy"] == np.mean(two.predict(X) == LABELS)
    same = fidelity(two, two.model_, X)
    assert (same["agreement"], same["difference"]) == (1.0, 0.0)


def test_a_teacher_that_is_fitted_here_does_not_see_what_is_held_out() -> None:
    seen: list[int] = []

    class Watching(RandomForestClassifier):
        def fit(self, rows: Any, y: Any) -> Any:
            seen.append(len(rows))
            return super().fit(rows, y)

    student = DistilledClassifier(Watching(5), max_leaves=8, n_generated=100, random_state=0)
    student.fit(X, LABELS)
    assert seen == [192]
    assert student.fidelity_["data"]["teacher_accuracy"] < 1.0
    assert student.estimator_.n_estimators == 5


def test_no_class_is_held_out_wholly() -> None:
    y = np.zeros(60, dtype=int)
    y[7] = 1
    for seed in range(8):
        student = DistilledClassifier(
            CartClassifier(), holdout=0.9, n_generated=50, random_state=seed
        )
        assert student.fit(X[:60], y).classes_.tolist() == [0, 1]


# --- the same again -----------------------------------------------------------------------


@pytest.mark.parametrize("n_trees", [1, 3])
def test_seed_order_and_threads(forest: Any, n_trees: int) -> None:
    many = np.concatenate([X] * 4) + np.arange(960)[:, None] * 1e-3

    def made(rows: np.ndarray, **more: Any) -> Any:
        options = {"max_leaves": 18, "n_trees": n_trees, **FAST, **more}
        return distil(forest, rows, **options)

    first = made(many)
    assert made(many).model_ == first.model_
    assert made(many, n_jobs=2).model_ == first.model_
    turned = made(many[np.random.default_rng(0).permutation(len(many))])
    assert turned.model_ == first.model_
    assert turned.fidelity_ == first.fidelity_
    assert made(many, random_state=1).model_ != first.model_


def test_cross_validation_with_a_frozen_teacher(forest: Any) -> None:
    student = DistilledClassifier(FrozenEstimator(forest), prefit=True, n_generated=200)
    assert cross_val_score(student, X, LABELS, cv=3).mean() > 0.7
    assert clone(student).fit(X).predict(X[:3]).shape == (3,)


# --- methods of one's own -----------------------------------------------------------------


def test_a_method_with_parameters(forest: Any) -> None:
    method = HHCartClassifier(criterion="gini", max_features_per_split=2, random_state=5)
    student = distil(forest, X, max_leaves=10, method=method, **FAST)
    assert student.tree_.n_node_features.max() == 2
    assert student.get_n_leaves() == 10
    assert method.max_leaf_nodes is None  # it is not changed
    assert method.pruning == "auto"
    stump = CartClassifier(criterion="gini", max_depth=1)
    assert distil(forest, X, method=stump, **FAST).get_n_leaves() == 2


@pytest.mark.parametrize(
    ("method", "error", "words"),
    [
        ("forest", ValueError, "one of 'cart', 'hhcart', 'oc1'.*got 'forest'"),
        (RepeatedTreesClassifier(), TypeError, "got RepeatedTreesClassifier"),
        (OC1Classifier, TypeError, "got the class OC1Classifier itself"),
        (3, TypeError, "got int"),
        (CartClassifier(max_depth=-1), ValueError, "max_depth"),
    ],
)
def test_what_is_no_method(forest: Any, method: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        distil(forest, X, method=method)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_leaves": 1}, "max_leaves"),
        ({"n_trees": 0}, "n_trees"),
        ({"max_leaves": 7, "n_trees": 4}, "max_leaves must be 8 or more; got 7"),
        ({"swap": 1.5}, "swap"),
        ({"holdout": 1.0}, "holdout"),
        ({"n_generated": -1}, "n_generated"),
    ],
)
def test_limits_that_make_no_sense(forest: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        distil(forest, X, **options)


# --- reading and files --------------------------------------------------------------------


def test_one_tree_is_read_as_any_other(forest: Any) -> None:
    student = distil(forest, X, max_leaves=6, **FAST)
    assert obliqua.export_text(student).startswith("6 leaves")
    assert {rule.class_name for rule in obliqua.export_rules(student)} == {"low", "mid", "high"}
    assert student.feature_importances_.sum() == pytest.approx(1.0)
    assert student.predict_proba(X).tolist() == student.model_.predict_proba(X).tolist()


def test_several_trees_are_read_one_by_one(forest: Any) -> None:
    student = distil(forest, X, max_leaves=12, n_trees=3, method="cart", **FAST)
    with pytest.raises(TreeError, match=r"has 3 trees\. Say which one"):
        obliqua.export_text(student)
    assert "4 leaves" in obliqua.export_text(student, tree=2)
    first, *others = student.model_.trees
    assert (first.task, first.n_stats, first.stats.min() >= 0) == ("classification", 3, True)
    assert {(tree.task, tree.n_outputs) for tree in others} == {("regression", 3)}
    assert all((tree.mean < 0).any() for tree in others)
    gains = [tree.gain.sum() for tree in student.model_.trees]
    assert gains == sorted(gains, reverse=True)
    shares = np.zeros(4)
    for tree in student.model_.trees:
        inner = ~tree.is_leaf
        np.add.at(shares, tree.feature[inner], tree.gain[inner])
    np.testing.assert_allclose(student.feature_importances_, shares / shares.sum())


@pytest.mark.parametrize("n_trees", [1, 3])
def test_files(forest: Any, n_trees: int, tmp_path: Path) -> None:
    method = CartClassifier(criterion="gini", max_depth=4)
    student = distil(forest, X, LABELS, max_leaves=12, n_trees=n_trees, method=method, **FAST)
    obliqua.save(student, tmp_path / "s.obliqua")
    again = obliqua.load(tmp_path / "s.obliqua")
    assert isinstance(again, DistilledClassifier)
    assert again.model_ == student.model_
    assert again.fidelity_ == student.fidelity_
    np.testing.assert_array_equal(again.predict_proba(NEW), student.predict_proba(NEW))
    assert again.method.get_params() == method.get_params()
    assert not hasattr(again, "estimator_")
    with pytest.raises(ValueError, match=r"'estimator' .* could not be kept"):
        again.fit(X)
    obliqua.save(again, tmp_path / "t.obliqua")
    assert (tmp_path / "t.obliqua").read_bytes() == (tmp_path / "s.obliqua").read_bytes()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {"other": {}},
        {"data": {"rows": 3}},
        {"data": {"rows": 0, "agreement": 1.0, "difference": 0.0}},
        {"data": {"rows": 3, "agreement": 1.5, "difference": 0.0}},
        {"data": {"rows": 3, "agreement": float("nan"), "difference": 0.0}},
        {"data": {"rows": 3, "agreement": 1.0, "difference": 0.0, "more": 1.0}},
    ],
)
def test_files_that_tell_tales(forest: Any, wrong: Any, tmp_path: Path) -> None:
    student = distil(forest, X, max_leaves=4, **FAST)
    student.fidelity_ = wrong
    obliqua.save(student, tmp_path / "s.obliqua")
    with pytest.raises(ModelFileError, match="makes no sense"):
        obliqua.load(tmp_path / "s.obliqua")
