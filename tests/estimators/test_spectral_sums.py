"""Orthogonal and aggregated trees of gradient boosting and of stacked trees: sums of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

import obliqua
from obliqua import AggregatedTreeClassifier, C45Classifier, OrthogonalTreesClassifier
from obliqua.io import read_model
from obliqua.spectrum import tree_sum_of

RNG = np.random.default_rng(8)
X = RNG.integers(0, 3, (240, 5)).astype(float)
TWO = np.where(X[:, 0] + X[:, 1] * (X[:, 2] > 0) + RNG.normal(size=240) > 2, "yes", "no")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 3] + RNG.normal(size=240), [1.5, 3])]
FRESH = RNG.integers(0, 3, (200, 5)).astype(float)


def stacked(tree: Any = None, **params: Any) -> StackingClassifier:
    """Trees of different depths, weighed by a logistic regression."""
    members = [
        (f"t{d}", tree or DecisionTreeClassifier(max_depth=d, random_state=d)) for d in (1, 2, 4)
    ]
    given = {"final_estimator": LogisticRegression(), "cv": 3, **params}
    return StackingClassifier(members, **given)


ENSEMBLES: dict[str, Any] = {
    "boosting": GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=4, random_state=0),
    "stacking": stacked(),
    "our trees stacked": stacked(C45Classifier(max_depth=3)),
}
each = pytest.mark.parametrize("name", ENSEMBLES)


@each
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three"])
@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.parametrize("centred", [False, True])
def test_all_components_are_the_ensemble(name: str, y: Any, prefit: bool, centred: bool) -> None:
    ensemble = ENSEMBLES[name].fit(X, y)
    model = OrthogonalTreesClassifier(
        ensemble, n_components=None, prefit=prefit, centred=centred, random_state=0
    ).fit(X, y)
    assert model.predict(FRESH).tolist() == ensemble.predict(FRESH).tolist()
    np.testing.assert_allclose(
        model.predict_proba(FRESH), ensemble.predict_proba(FRESH), rtol=1e-6, atol=1e-9
    )
    values = model.component_values(FRESH)
    assert values.shape == (200, len(model.eigenvalues_), len(np.unique(y)))


def test_the_exponential_loss_has_shares_of_its_own() -> None:
    ensemble = GradientBoostingClassifier(n_estimators=8, loss="exponential").fit(X, TWO)
    model = OrthogonalTreesClassifier(ensemble, n_components=None, prefit=True).fit(X, TWO)
    np.testing.assert_allclose(model.predict_proba(FRESH), ensemble.predict_proba(FRESH))


@each
def test_components_are_orthogonal(name: str) -> None:
    """Over the grid of all points, as functions of as many numbers as there are classes."""
    ensemble = ENSEMBLES[name].fit(X, THREE)
    params: dict[str, Any] = {"n_components": None, "prefit": True, "domain": "discrete"}
    model = OrthogonalTreesClassifier(ensemble, **params).fit(X, THREE)
    points = np.stack(np.meshgrid(*[np.arange(3.0)] * 5), axis=-1).reshape(-1, 5)
    values = model.component_values(points)
    products = np.einsum("nac,nbc->ab", values, values) / len(points)
    np.testing.assert_allclose(products, np.diag(model.eigenvalues_), atol=1e-9)


@each
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three"])
def test_one_tree_says_what_the_ensemble_says(name: str, y: Any) -> None:
    ensemble = ENSEMBLES[name].fit(X, y)
    model = AggregatedTreeClassifier(ensemble, prefit=True, max_leaf_nodes=None).fit(X, y)
    assert model.fidelity_ == pytest.approx(1.0)
    assert model.agreement_ == 1.0
    assert model.predict(FRESH).tolist() == ensemble.predict(FRESH).tolist()
    np.testing.assert_allclose(
        model.predict_proba(FRESH), ensemble.predict_proba(FRESH), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize(
    ("y", "setting", "told"),
    [
        (THREE, "multi_class", "ovr"),
        (THREE, "solver", "liblinear"),
        (TWO, "multi_class", "multinomial"),
    ],
)
def test_stacking_by_another_function_than_softmax_is_refused(
    y: Any, setting: str, told: str
) -> None:
    """As it was possible until scikit-learn 1.8."""
    ensemble = stacked().fit(X, y)
    setattr(ensemble.final_estimator_, setting, told)
    with pytest.raises(TypeError, match="leave multi_class out"):
        OrthogonalTreesClassifier(ensemble, prefit=True).fit(X, y)
    setattr(ensemble.final_estimator_, setting, "auto")
    OrthogonalTreesClassifier(ensemble, prefit=True).fit(X, y)


@each
@pytest.mark.parametrize("predict_with", ["functions", "trees"])
def test_files_keep_the_sums(name: str, predict_with: str, tmp_path: Any) -> None:
    model = OrthogonalTreesClassifier(ENSEMBLES[name], n_components=2, predict_with=predict_with)
    model.fit(X, TWO)
    obliqua.save(model, tmp_path / "sums.obliqua")
    again = obliqua.load(tmp_path / "sums.obliqua")
    assert np.array_equal(again.predict_proba(FRESH), model.predict_proba(FRESH))
    assert model.ensemble_weights_.tolist() == [1.0] * len(model.model_.trees)


@pytest.mark.parametrize("Estimator", [OrthogonalTreesClassifier, AggregatedTreeClassifier])
@pytest.mark.parametrize(
    ("ensemble", "params", "message"),
    [
        (ENSEMBLES["boosting"], {"coding": "votes"}, "coding must be 'auto'; got 'votes'"),
        (stacked(), {"coding": "0/1"}, "coding must be 'auto'; got '0/1'"),
        (stacked(passthrough=True), {}, "passthrough=True"),
        (stacked(stack_method="predict"), {}, "Got LogisticRegression, .*predict"),
        (stacked(final_estimator=RidgeClassifier()), {}, "Got RidgeClassifier"),
        (GradientBoostingClassifier(init=DecisionTreeClassifier()), {}, "Leave init out"),
        (
            HistGradientBoostingClassifier(max_iter=2, categorical_features=[0]),
            {},
            "has categories.*numbers only",
        ),
        (stacked(LogisticRegression()), {}, "only trees have a spectrum"),
    ],
)
def test_what_is_no_sum_of_trees(Estimator: Any, ensemble: Any, params: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Estimator(ensemble, **params).fit(X, TWO)


@each
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three"])
def test_the_model_itself_makes_shares_of_its_sums(name: str, y: Any, tmp_path: Any) -> None:
    ensemble = ENSEMBLES[name].fit(X, y)
    fitted = OrthogonalTreesClassifier(ensemble, n_components=1, prefit=True).fit(X, y)
    obliqua.save(fitted, tmp_path / "sums.obliqua")
    for model in (fitted.model_, read_model(tmp_path / "sums.obliqua")[0]):
        np.testing.assert_allclose(
            model.predict_proba(FRESH), ensemble.predict_proba(FRESH), rtol=1e-6, atol=1e-9
        )
        assert model.predict(FRESH).tolist() == ensemble.predict(FRESH).tolist()
    sums = np.exp(tree_sum_of(model).value(FRESH))
    np.testing.assert_allclose(sums / sums.sum(axis=1, keepdims=True), model.predict_proba(FRESH))
    assert fitted.component_model(0).combine == "log_odds"


def test_files_of_before_had_sums(tmp_path: Any) -> None:
    fitted = OrthogonalTreesClassifier(ENSEMBLES["boosting"], n_components=2).fit(X, THREE)
    expected = fitted.model_
    fitted.model_ = replace(expected, combine="sum")
    obliqua.save(fitted, tmp_path / "before.obliqua")
    again = obliqua.load(tmp_path / "before.obliqua")
    assert again.model_ == expected
    assert np.array_equal(again.predict_proba(FRESH), fitted.predict_proba(FRESH))
