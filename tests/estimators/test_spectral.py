"""The aggregated tree and the orthogonal trees of an ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from estimators.spectral_cases import ANSWER, BINARY, PROBES, X3, Y3, table
from obliqua import (
    AggregatedTreeClassifier,
    C45Classifier,
    CartClassifier,
    HHCartClassifier,
    OrthogonalTreesClassifier,
    RepeatedTreesClassifier,
    SpectrumTooLarge,
    TreeError,
    export_text,
)
from obliqua.spectrum import Domain
from reference import spectrum as twin

BOTH = [AggregatedTreeClassifier, OrthogonalTreesClassifier]
each = pytest.mark.parametrize("Estimator", BOTH)


def everything(n: int = 6) -> np.ndarray:
    return twin.points([2] * n).astype(float)


ENSEMBLES = [
    RandomForestClassifier(9, max_depth=4, random_state=0),
    ExtraTreesClassifier(5, max_depth=3, random_state=0),
    BaggingClassifier(DecisionTreeClassifier(max_depth=4), 7, random_state=0),
    BaggingClassifier(C45Classifier(), 7, max_samples=20, max_features=3, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0),
    AdaBoostClassifier(CartClassifier(max_depth=2), n_estimators=8, random_state=0),
    VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=3, random_state=0)), ("b", C45Classifier())],
        weights=[2, 1],
    ),
    VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=3, random_state=0)), ("b", C45Classifier())],
        voting="soft",
    ),
    RepeatedTreesClassifier(CartClassifier(), n_estimators=5, random_state=0),
    RepeatedTreesClassifier(CartClassifier(), n_estimators=5, combine="mean", random_state=0),
    DecisionTreeClassifier(max_depth=4, random_state=0),
]
TASKS = {
    "two": (BINARY, ANSWER, everything()),
    "three": (X3, np.array(["a", "b", "c"])[Y3], PROBES),
}


# --- all components are the ensemble ---------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda e: type(e).__name__)
def test_all_components_predict_as_the_ensemble(ensemble: Any, centred: bool, task: str) -> None:
    X, y, probes = TASKS[task]
    fitted = clone(ensemble).fit(X, y)
    model = OrthogonalTreesClassifier(fitted, prefit=True, n_components=None, centred=centred)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(probes), fitted.predict(probes))
    if not isinstance(ensemble, AdaBoostClassifier) and hasattr(fitted, "predict_proba"):
        expected = fitted.predict_proba(probes)
        np.testing.assert_allclose(model.predict_proba(probes), expected, atol=1e-12)
    assert model.explained_energy_.sum() == pytest.approx(1.0)
    assert len(model.components_) == len(model.model_.trees)
    again = OrthogonalTreesClassifier(clone(ensemble), n_components=None).fit(X, y)
    np.testing.assert_array_equal(again.predict(probes), fitted.predict(probes))


@pytest.mark.parametrize("coding", ["votes", "0/1", "-1/+1", "1/2"])
def test_every_coding_of_bagged_trees_is_the_vote(coding: str) -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=12, n_components=None, coding=coding, random_state=0
    ).fit(BINARY, ANSWER)
    points = everything()
    np.testing.assert_array_equal(model.predict(points), model.model_.predict(points))
    expected = model.model_.predict_proba(points)
    np.testing.assert_allclose(model.predict_proba(points), expected, atol=1e-12)
    assert model.trees_[0].n_outputs == 2
    exact = clone(model).set_params(predict_with="trees", max_leaf_nodes=None)
    exact.fit(BINARY, ANSWER)
    np.testing.assert_allclose(exact.fidelity_, 1.0)
    np.testing.assert_array_equal(exact.predict(points), model.predict(points))


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("coding", ["votes", "-1/+1"])
def test_components_are_orthogonal_functions(coding: str, centred: bool) -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=10, n_components=4, coding=coding, centred=centred, random_state=1
    ).fit(BINARY, ANSWER)
    # Each tree once at every point of the whole domain.
    values = model.component_values(everything())
    functions = [values[:, q] for q in range(4)]
    np.testing.assert_allclose(twin.gram(functions), np.diag(model.eigenvalues_), atol=1e-12)
    codes = twin.points([2] * 6)[:, [f.cardinality > 1 for f in model.domain_.features]]
    assert codes.shape[1] >= 2
    for number, expected in enumerate(functions):
        spectrum = model.component_spectrum(number)
        got = spectrum.value(model.domain_.codes(everything()))
        np.testing.assert_allclose(got, expected, atol=1e-12)
        assert spectrum.energy == pytest.approx(model.eigenvalues_[number])


def test_the_trees_of_components_are_the_functions_if_nothing_limits_them() -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=8, n_components=3, max_leaf_nodes=None, random_state=0
    ).fit(BINARY, ANSWER)
    np.testing.assert_allclose(model.fidelity_, 1.0)
    values = model.component_values(everything())
    for number, tree in enumerate(model.trees_):
        got = tree.mean[tree.apply(everything())]
        np.testing.assert_allclose(got, values[:, number], atol=1e-12)
    assert "x" in export_text(model.trees_[0])


@pytest.mark.parametrize("combine", ["weighted", "uniform"])
@pytest.mark.parametrize("coding", ["votes", "1/2"])
def test_exact_trees_predict_as_centred_components(coding: str, combine: str) -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=8,
        n_components=3,
        coding=coding,
        combine=combine,
        centred=True,
        max_leaf_nodes=None,
        random_state=0,
    ).fit(BINARY, ANSWER)
    trees = clone(model).set_params(predict_with="trees").fit(BINARY, ANSWER)
    expected = model.predict_proba(everything())
    assert len(np.unique(expected)) > 4
    np.testing.assert_allclose(trees.predict_proba(everything()), expected, atol=1e-12)


def test_few_leaves_lose_what_fidelity_says() -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=8, n_components=3, max_leaf_nodes=3, random_state=0
    ).fit(BINARY, ANSWER)
    values = model.component_values(everything())
    for number, tree in enumerate(model.trees_):
        assert tree.n_leaves <= 3
        got = tree.mean[tree.apply(everything())]
        lost = twin.inner(values[:, number] - got, values[:, number] - got)
        kept = 1.0 - lost / model.eigenvalues_[number]
        assert model.fidelity_[number] == pytest.approx(kept, abs=1e-9)
    by_energy = clone(model).set_params(max_leaf_nodes=None, energy=0.9).fit(BINARY, ANSWER)
    assert (by_energy.fidelity_ >= 0.9 - 1e-9).all()


def test_spectra_and_leaves_give_the_same() -> None:
    params = {"n_estimators": 8, "n_components": None, "random_state": 0}
    one = OrthogonalTreesClassifier(**params).fit(X3, Y3)
    two = OrthogonalTreesClassifier(**params, max_coefficients=1).fit(X3, Y3)
    np.testing.assert_allclose(one.eigenvalues_, two.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(one.fidelity_[:2], two.fidelity_[:2], atol=1e-9)
    assert len(one.spectra_) == 8
    with pytest.raises(SpectrumTooLarge, match="max_coefficients allows 1"):
        _ = two.spectra_
    with pytest.raises(SpectrumTooLarge):
        two.component_spectrum(0)
    with pytest.raises(SpectrumTooLarge):
        two.set_params(spectrum_energy=0.99).fit(X3, Y3)


def test_the_uniform_sum_is_the_sum_of_components() -> None:
    model = OrthogonalTreesClassifier(
        n_estimators=12,
        n_components=5,
        coding="0/1",
        combine="uniform",
        spectrum_energy=0.99,
        max_samples=20,
        random_state=0,
    ).fit(BINARY, ANSWER)
    np.testing.assert_array_equal(model.component_weights_, 1.0)
    total = model.component_values(everything()).sum(axis=1)[:, 0]
    np.testing.assert_array_equal(model.predict(everything()), (total > 0.5).astype(int))
    spectra = model.spectra_
    whole = clone(model).set_params(spectrum_energy=None).fit(BINARY, ANSWER).spectra_
    for short, long in zip(spectra, whole, strict=True):
        assert short.energy >= 0.99 * long.energy - 1e-12


def test_how_many_components() -> None:
    model = OrthogonalTreesClassifier(n_estimators=10, random_state=0)
    assert len(model.fit(X3, Y3).components_) == 5
    assert len(model.set_params(n_components=30).fit(X3, Y3).components_) == 10
    share = model.set_params(n_components=0.8).fit(X3, Y3).explained_energy_
    assert share.sum() >= 0.8 > share[:-1].sum()


# --- the aggregated tree ---------------------------------------------------------------------


@pytest.mark.parametrize("ensemble", [None, *ENSEMBLES], ids=lambda e: type(e).__name__)
def test_without_limits_the_tree_is_the_ensemble(ensemble: Any) -> None:
    model = AggregatedTreeClassifier(
        ensemble, n_estimators=10, max_leaf_nodes=None, random_state=0
    ).fit(BINARY, ANSWER)
    assert model.fidelity_ == pytest.approx(1.0)
    assert model.agreement_ == 1.0
    same = OrthogonalTreesClassifier(
        ensemble, n_estimators=10, n_components=None, random_state=0
    ).fit(BINARY, ANSWER)
    points = everything()
    np.testing.assert_array_equal(model.predict(points), same.predict(points))
    np.testing.assert_allclose(model.predict_proba(points), same.predict_proba(points), atol=1e-9)
    merged = clone(model).set_params(merge="class").fit(BINARY, ANSWER)
    np.testing.assert_array_equal(merged.predict(points), model.predict(points))
    assert merged.get_n_leaves() <= model.get_n_leaves()


def test_what_is_lost_is_said() -> None:
    model = AggregatedTreeClassifier(n_estimators=10, max_leaf_nodes=3, random_state=0)
    model.fit(BINARY, ANSWER)
    assert model.tree_.n_leaves == 3
    assert 0.5 < model.fidelity_ < 1.0
    assert model.spectrum_.energy > 0
    np.testing.assert_array_equal(model.tree_.n_samples[model.tree_.is_leaf].sum(), len(BINARY))
    assert (model.tree_.stats >= 0).all()
    assert clone(model).set_params(max_coefficients=1).fit(BINARY, ANSWER).spectrum_ is None


# --- data ------------------------------------------------------------------------------------


@each
@pytest.mark.filterwarnings("ignore:.* training rows with missing values:UserWarning")
def test_frames_with_categories_and_gaps(Estimator: Any) -> None:
    frame, y = table()
    model = Estimator(n_estimators=8, random_state=0).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["sky", "wind", "degrees"]
    assert model.score(frame, y) > 0.8
    other = pl.DataFrame(
        {
            "sky": [s if isinstance(s, str) else None for s in frame["sky"]],
            "wind": frame["wind"].tolist(),
            "degrees": frame["degrees"].to_numpy(),
        }
    )
    np.testing.assert_array_equal(model.predict(other), model.predict(frame))
    new = pd.DataFrame({"sky": ["hail", None], "wind": ["none", "weak"], "degrees": [21.0, None]})
    assert set(model.predict(new)) <= {"in", "out"}
    if Estimator is OrthogonalTreesClassifier:
        whole = clone(model).set_params(n_components=None).fit(frame, y)
        for rows in (frame, new):
            expected = whole.model_.predict(whole.model_.rows(rows))
            np.testing.assert_array_equal(whole.predict(rows), expected)
        short = clone(model).set_params(spectrum_energy=0.999).fit(frame, y)
        assert np.isfinite(short.predict_proba(new)).all()
        assert short.score(frame, y) > 0.8


@each
def test_gaps_among_numbers(Estimator: Any) -> None:
    X = X3.copy()
    X[::5, 1] = np.nan
    model = Estimator(n_estimators=5, random_state=0).fit(X, Y3)
    assert model.score(X, Y3) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        Estimator(RandomForestClassifier(3, random_state=0)).fit(X3, Y3).predict(X)


@each
def test_numbers_only_if_the_ensemble_takes_no_others(Estimator: Any) -> None:
    frame, y = table()
    model = Estimator(RandomForestClassifier(3))
    assert not model.__sklearn_tags__().input_tags.categorical
    assert Estimator().__sklearn_tags__().input_tags.allow_nan
    with pytest.raises(ValueError, match="'sky' of X does not hold numbers"):
        model.fit(frame, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(frame[["degrees"]], y)


@each
def test_discrete_domains(Estimator: Any) -> None:
    rng = np.random.default_rng(0)
    whole = pd.DataFrame(rng.integers(0, 4, (150, 3)), columns=list("abc"))
    y = (whole["a"] > 1) & (whole["b"] < 3)
    model = Estimator(n_estimators=6, domain="discrete", random_state=0).fit(whole, y)
    assert model.domain_.cardinalities == (4, 4, 4)
    assert model.domain_.features[0].entries == (0.0, 1.0, 2.0, 3.0)
    assert model.score(whole, y) > 0.95
    cut = Estimator(n_estimators=6, random_state=0).fit(whole, y)
    assert cut.domain_.cardinalities != (4, 4, 4)
    with pytest.raises(ValueError, match=r"'b' is continuous.*domain='thresholds'"):
        model.fit(whole.assign(b=whole["b"] + 0.5), y)


@each
def test_a_domain_of_ones_own(Estimator: Any) -> None:
    domain = Domain.of_levels([2] * 6)
    model = Estimator(n_estimators=5, domain=domain, random_state=0).fit(BINARY, ANSWER)
    assert model.domain_ == domain
    assert clone(model).domain == domain
    with pytest.raises(ValueError, match="each of the 4 columns; got 6"):
        model.fit(X3, Y3)


@each
def test_one_class_and_constant_trees(Estimator: Any) -> None:
    model = Estimator(n_estimators=4, random_state=0).fit(BINARY, np.ones(90, dtype=int))
    assert model.predict(BINARY[:3]).tolist() == [1, 1, 1]
    assert model.predict_proba(BINARY[:3]).tolist() == [[1.0]] * 3
    noise = Estimator(n_estimators=4, random_state=0).fit(np.zeros((20, 2)), [0, 1] * 10)
    assert len(set(noise.predict(np.zeros((3, 2))))) == 1


def test_weights_of_boosted_trees_count() -> None:
    fitted = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=6)
    model = OrthogonalTreesClassifier(fitted, n_components=None).fit(X3, Y3 > 0)
    weights = clone(fitted).fit(X3, Y3 > 0).estimator_weights_
    np.testing.assert_allclose(model.ensemble_weights_, weights / weights.sum())


# --- seeds, parameters, mistakes -------------------------------------------------------------


@each
def test_seeds_and_threads(Estimator: Any) -> None:
    model = Estimator(n_estimators=6, random_state=3).fit(X3, Y3)
    for other in (
        Estimator(n_estimators=6, random_state=3, n_jobs=2),
        Estimator(n_estimators=6, random_state=np.random.RandomState(3)),
        Estimator(C45Classifier(random_state=9), n_estimators=6, random_state=3),
    ):
        assert other.fit(X3, Y3).model_ == model.model_
    assert Estimator(n_estimators=6, random_state=4).fit(X3, Y3).model_ != model.model_
    forest = Estimator(RandomForestClassifier(3), random_state=0)
    assert forest.fit(X3, Y3).model_ == clone(forest).fit(X3, Y3).model_


@each
def test_max_samples_is_the_size_of_the_samples(Estimator: Any) -> None:
    model = OrthogonalTreesClassifier(n_estimators=6, max_samples=20, random_state=0)
    model.fit(BINARY, ANSWER)
    assert {tree.stats[0].sum() for tree in model.model_.trees} == {20.0}
    half = model.set_params(max_samples=0.5).fit(BINARY, ANSWER)
    assert {tree.stats[0].sum() for tree in half.model_.trees} == {45.0}
    assert Estimator(n_estimators=3, max_samples=5).fit(BINARY, ANSWER).get_n_leaves() >= 1


@each
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (C45Classifier, "the class C45Classifier itself"),
        (LogisticRegression(), "LogisticRegression"),
        (GradientBoostingRegressor(), "GradientBoostingRegressor"),
        (make_pipeline(StandardScaler(), C45Classifier()), "in front of this estimator"),
        (GridSearchCV(C45Classifier(), {}), "GridSearchCV"),
        (OrthogonalTreesClassifier(), "OrthogonalTreesClassifier"),
        (AggregatedTreeClassifier(), "AggregatedTreeClassifier"),
        ("c45", "str"),
    ],
    ids=str,
)
def test_other_estimators_are_refused(Estimator: Any, given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"must be a tree classifier of obliqua.*{message}"):
        Estimator(given).fit(X3, Y3)


@each
def test_fitted_estimators_that_cannot_be_read(Estimator: Any) -> None:
    with pytest.raises(TypeError, match="LogisticRegression"):
        Estimator(LogisticRegression().fit(X3, Y3), prefit=True).fit(X3, Y3)
    holds = BaggingClassifier(LogisticRegression(), 2).fit(X3, Y3)
    with pytest.raises(TypeError, match="holds a LogisticRegression"):
        Estimator(holds, prefit=True).fit(X3, Y3)
    search = GridSearchCV(C45Classifier(), {"max_depth": [2]}).fit(X3, Y3)
    with pytest.raises(TypeError, match="best_estimator_"):
        Estimator(search, prefit=True).fit(X3, Y3)
    with pytest.raises(Exception, match="not fitted"):
        Estimator(C45Classifier(), prefit=True).fit(X3, Y3)
    known = C45Classifier().fit(X3, Y3)
    with pytest.raises(ValueError, match="fitted with 4 columns"):
        Estimator(known, prefit=True).fit(X3[:, :2], Y3)
    named = C45Classifier().fit(pd.DataFrame(X3, columns=list("abcd")), Y3)
    with pytest.raises(ValueError, match="X has 4, a, b, c, e"):
        Estimator(named, prefit=True).fit(pd.DataFrame(X3, columns=list("abce")), Y3)


@each
def test_oblique_trees_are_refused(Estimator: Any) -> None:
    with pytest.raises(TreeError, match="ask about one column each"):
        Estimator(HHCartClassifier(), n_estimators=2, random_state=0).fit(X3, X3.sum(axis=1) > 0)


@each
def test_codings_of_labels_need_two_classes(Estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"two classes; there are 3.*'votes' or 'shares'"):
        Estimator(n_estimators=2, coding="0/1").fit(X3, Y3)


@each
@pytest.mark.parametrize(
    "bad",
    [
        {"n_estimators": 0},
        {"max_samples": 1.5},
        {"coding": "2/3"},
        {"domain": "numbers"},
        {"spectrum_energy": 0.0},
        {"energy": 2.0},
        {"max_leaf_nodes": 0},
        {"n_jobs": 0},
    ],
    ids=str,
)
def test_parameters_are_checked(Estimator: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"The {next(iter(bad))!r} parameter"):
        Estimator(**bad).fit(X3, Y3)


@each
def test_prefit_changes_nothing(Estimator: Any) -> None:
    fitted = C45Classifier().fit(X3, Y3)
    model = Estimator(fitted, prefit=True, max_leaf_nodes=None).fit(X3, Y3)
    assert model.estimator is fitted
    np.testing.assert_array_equal(model.predict(PROBES), fitted.predict(PROBES))
