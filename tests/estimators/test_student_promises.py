"""What students promise: seeds, orders of rows, budgets, memory, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from estimators.registry import blobs
from obliqua import CartClassifier, DistilledClassifier, distil, export_text, fidelity
from obliqua.engine import soft_labels
from obliqua.engine.soft_labels import soft_problem
from obliqua.estimators import _pupils, _students
from obliqua.estimators._fidelity import compared, sound
from obliqua.estimators._teachers import seeded, shuffled
from obliqua.explain import importances

X, Y = blobs(150, n_features=3, n_classes=3)
FAST: dict[str, Any] = {"n_generated": 400, "random_state": 0, "max_leaves": 12}


class Rule(ClassifierMixin):
    """A teacher that was never fitted: shares by the first column."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.asked: list[int] = []

    def predict_proba(self, X: Any) -> np.ndarray:
        self.asked.append(len(X))
        share = np.where(X[:, 0] > 30, 0.875, 0.125)
        return np.column_stack([share, 1 - share])


# --- seeds and orders -------------------------------------------------------------------------


def test_all_parts_of_a_teacher_get_a_seed() -> None:
    bag = BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=3)
    teacher = make_pipeline(StandardScaler(), bag)
    options = {**FAST, "method": "cart"}
    first, again = (DistilledClassifier(teacher, **options).fit(X, Y) for _ in range(2))
    assert first.model_ == again.model_ and first.fidelity_ == again.fidelity_
    assert bag.random_state is None  # the one that was given stays as it is


def test_seeds_that_are_there_stay() -> None:
    bag = BaggingClassifier(DecisionTreeClassifier(), random_state=7)
    told = seeded(make_pipeline(bag), 2**31 - 1).get_params()
    assert told["baggingclassifier__random_state"] == 7
    assert told["baggingclassifier__estimator__random_state"] == 2**31 - 1


@pytest.mark.parametrize("prefit", [False, True])
def test_equal_rows_with_other_labels_in_any_order(prefit: bool) -> None:
    random = np.random.default_rng(0)
    few = random.integers(0, 3, size=(120, 2)).astype(float)  # nine rows, many times each
    labels = random.integers(0, 2, size=120)
    # Its probabilities do not depend on the order; sums of whole numbers are exact.
    teacher = GaussianNB().fit(few, labels) if prefit else GaussianNB()
    other = random.permutation(120)
    students = [
        DistilledClassifier(teacher, prefit=prefit, method="cart", **FAST).fit(few[o], labels[o])
        for o in (np.arange(120), other)
    ]
    ours, theirs = (student.fidelity_["data"] for student in students)
    assert ours == pytest.approx(theirs)
    np.testing.assert_allclose(students[0].predict_proba(few), students[1].predict_proba(few))


def test_tables_with_few_different_rows_are_divided() -> None:
    few = np.repeat([[0.0], [1.0]], 50, axis=0)
    order, place = shuffled(few, None, 3)
    assert 4 < (place[:50] < 20).sum() < 16  # not twenty rows of one kind
    assert sorted(place.tolist()) == sorted(order.tolist()) == list(range(100))
    assert len(set(few[order[:50], 0].tolist())) == 1  # in this order they stand together
    different = np.random.default_rng(0).normal(size=(40, 2))
    order, place = shuffled(different, None, 3)
    assert place[order].tolist() == list(range(40))


def test_labels_do_not_change_a_student_of_a_fitted_teacher() -> None:
    teacher = GaussianNB().fit(X, Y)
    with_labels, without = (distil(teacher, X, y, **FAST) for y in (Y, None))
    assert with_labels.model_ == without.model_


def test_each_tree_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    grown = CartClassifier._grown

    def seen(self: Any, problem: Any) -> Any:
        found.append(self.random_state)
        return grown(self, problem)

    monkeypatch.setattr(CartClassifier, "_grown", seen)
    for seed in range(2):
        told = {**FAST, "random_state": seed, "method": "cart", "n_trees": 2}
        distil(GaussianNB().fit(X, Y), X, **told)
    assert len(found) == len(set(found)) == 4


# --- budgets and memory -----------------------------------------------------------------------


@pytest.mark.parametrize(("max_leaves", "n_trees"), [(2, 1), (4, 2), (7, 3), (25, 4)])
def test_leaves_are_counted_over_all_trees(max_leaves: int, n_trees: int) -> None:
    teacher = RandomForestClassifier(20, random_state=0).fit(X, Y)
    told = {**FAST, "max_leaves": max_leaves, "n_trees": n_trees, "method": "cart"}
    student = distil(teacher, X, **told)
    assert len(student.model_.trees) == n_trees
    assert student.get_n_leaves() == max_leaves
    assert min(tree.n_leaves for tree in student.model_.trees) >= 2


def test_generated_rows_are_asked_about_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, teacher = np.arange(60.0).reshape(30, 2), Rule()
    whole = distil(Rule(), rows, n_generated=100, method="cart", max_leaves=3, random_state=0)
    monkeypatch.setattr(_pupils, "MOST_DRAWN", 80)
    student = distil(teacher, rows, n_generated=100, method="cart", max_leaves=3, random_state=0)
    assert teacher.asked == [24, 40, 40, 20, 6, 2000]
    assert student.tree_.n_samples[0] == whole.tree_.n_samples[0] == 124
    assert student.fidelity_["generated"]["difference"] == 0.0  # shares stay with their rows


@pytest.mark.parametrize(
    ("entries", "parts"), [(2**27, 0), (100 * 5 * 8, 0), (3999, 7), (10**9, 0), (1, 4)]
)
def test_rows_are_cut_into_parts_where_memory_would_run_out(
    monkeypatch: pytest.MonkeyPatch, entries: int, parts: int
) -> None:
    monkeypatch.setattr(_students, "MOST_ENTRIES", entries)
    assert _students._affordable(np.full((100, 8), 0.125), 5) == parts


def test_a_student_of_parts_still_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    digits, labels = load_digits(return_X_y=True)
    teacher = GaussianNB(var_smoothing=0.1).fit(digits[:300], labels[:300])
    told = {"method": "cart", "max_leaves": 40, "n_generated": 300, "random_state": 0}
    exact = distil(teacher, digits[:300], **told)
    monkeypatch.setattr(_students, "MOST_ENTRIES", 1)
    rough = distil(teacher, digits[:300], **told)
    assert rough.model_ != exact.model_
    assert rough.fidelity_["generated"]["agreement"] > 0.4
    assert rough.tree_.n_samples[0] == exact.tree_.n_samples[0]


@pytest.mark.parametrize(
    ("method", "n_classes", "parts"),
    [("hhcart", 6, [4, 0]), ("hhcart", 4, [0, 0]), ("cart", 6, [0, 0])],
)
def test_only_the_first_oblique_tree_of_many_classes_has_rows_in_parts(
    monkeypatch: pytest.MonkeyPatch, method: str, n_classes: int, parts: list[int]
) -> None:
    rows, labels = blobs(120, n_features=3, n_classes=n_classes)
    found: list[int] = []

    def seen(*given: Any, **told: Any) -> Any:
        found.append(told["parts"])
        return soft_problem(*given, **told)

    monkeypatch.setattr(soft_labels, "soft_problem", seen)
    student = distil(GaussianNB().fit(rows, labels), rows, method=method, n_trees=2, **FAST)
    assert len(student.model_.trees) == 2
    assert found == parts


# --- sums that are read -----------------------------------------------------------------------


def test_importances_of_trees_that_are_added_up() -> None:
    teacher = RandomForestClassifier(20, random_state=0).fit(X, Y)
    student = distil(teacher, X, method="cart", n_trees=3, **FAST)
    gains = np.zeros(3)
    for tree in student.model_.trees:
        inner = ~tree.is_leaf
        np.add.at(gains, tree.coef_idx, tree.gain[inner])
    assert student.model_.trees[1].gain.sum() < student.model_.trees[0].gain.sum() / 2
    for subject in (student, student.model_):
        np.testing.assert_allclose(importances(subject), gains / gains.sum())
    np.testing.assert_allclose(student.feature_importances_, gains / gains.sum())
    np.testing.assert_allclose(importances(student, normalize=False), gains / 3)


def test_the_text_of_a_tree_says_that_others_are_added() -> None:
    teacher = GaussianNB().fit(X, Y)
    student = distil(teacher, X, method="cart", n_trees=2, **FAST)
    first, second = (export_text(student, tree=n).splitlines()[1] for n in range(2))
    assert first == "Other trees are added to what this one says."
    assert second.startswith("Added to the trees before it: a number above 0 raises")
    alone = distil(teacher, X, method="cart", **FAST)
    assert export_text(alone).splitlines()[1] == ""


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "told",
    [{"class_weight": "balanced"}, {"priors": [0.2, 0.3, 0.5]}, {"categorical_features": [0]}],
)
def test_parameters_of_a_method_that_would_not_be_used(told: dict[str, Any]) -> None:
    name = next(iter(told))
    with pytest.raises(ValueError, match=f"method has {name}=.*not used here.*CartClassifier"):
        distil(GaussianNB().fit(X, Y), X, method=CartClassifier(**told), **FAST)


def test_a_clone_that_has_forgotten_its_teacher() -> None:
    student = DistilledClassifier(GaussianNB().fit(X, Y), prefit=True, **FAST)
    with pytest.raises(NotFittedError, match=r"Fit it first. Cross-validation.*FrozenEstimator"):
        cross_val_score(student, X, Y, error_score="raise")


def test_a_teacher_that_is_to_be_fitted_needs_labels() -> None:
    with pytest.raises(ValueError, match=r"requires y to be passed.*prefit=True"):
        DistilledClassifier(GaussianNB()).fit(X)


def test_distil_fits_no_teacher() -> None:
    with pytest.raises(TypeError, match="distil has no parameter prefit"):
        distil(GaussianNB(), X, prefit=False)


def test_labels_are_compared_before_anything_is_grown() -> None:
    teacher = Rule()
    with pytest.raises(ValueError, match="none of the classes 0, 1; its first label is 'a'"):
        distil(teacher, X, np.full(len(X), "a"), **FAST)
    assert not teacher.asked


def test_held_out_rows_may_all_be_of_other_classes() -> None:
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    teacher = LogisticRegression().fit(rows, [0, 0, 1, 1, 1])
    found = [
        distil(teacher, rows, [0, 9, 9, 9, 9], **{**FAST, "random_state": seed}).fidelity_["data"]
        for seed in range(5)
    ]
    assert 0.0 in [one["teacher_accuracy"] for one in found]


def test_fidelity_of_things_that_cannot_be_compared() -> None:
    numbers, text = GaussianNB().fit(X, Y), GaussianNB().fit(X, np.array(["a", "b", "c"])[Y])
    with pytest.raises(ValueError, match="teacher knows 0, 1, 2, and the student 'a', 'b', 'c'"):
        fidelity(numbers, text, X)
    with pytest.raises(TypeError, match=r"X must be a table of rows.*got generator"):
        fidelity(numbers, numbers, (row for row in X))
    with pytest.raises(ValueError, match=r"a label for each of the 150 rows; got shape .4,."):
        fidelity(numbers, numbers, X, Y[:4])


def test_a_difference_is_never_above_one() -> None:
    teacher = np.array([[0.7, 0.2, 0.1 + 2**-54, 0.0]] * 3)
    teacher = teacher / teacher.sum(axis=1, keepdims=True) * (1 + 2**-52)
    found = compared(teacher, np.eye(4)[[3, 3, 3]], np.arange(4))
    assert found["difference"] == 1.0
    assert sound({"data": found})
