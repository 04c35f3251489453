"""Model files of the aggregated tree and of the orthogonal trees."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from estimators.spectral_cases import ANSWER, BINARY, PROBES, X3, Y3, table
from obliqua import (
    AggregatedTreeClassifier,
    CartClassifier,
    ModelFileError,
    NotSaved,
    OrthogonalTreesClassifier,
    load,
    save,
)
from obliqua.io.files import write_model
from obliqua.io.values import to_json

each = pytest.mark.parametrize("Estimator", [AggregatedTreeClassifier, OrthogonalTreesClassifier])


def again(model: Any) -> Any:
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    return load(file)


@each
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"coding": "shares", "max_leaf_nodes": 4},
        {"domain": "discrete", "spectrum_energy": 0.95},
        {"estimator": CartClassifier(max_depth=3)},
    ],
    ids=str,
)
def test_all_of_it_comes_back(Estimator: Any, params: dict[str, Any]) -> None:
    frame = pd.DataFrame(BINARY, columns=list("abcdef"))
    model = Estimator(**{"n_estimators": 5, "random_state": 0, **params})
    model.fit(frame, np.array(["no", "yes"])[ANSWER])
    for loaded in (again(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert repr(loaded) == repr(model)
        assert loaded.model_ == model.model_
        np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
        np.testing.assert_allclose(loaded.fidelity_, model.fidelity_, atol=1e-12)
        if Estimator is OrthogonalTreesClassifier:
            np.testing.assert_array_equal(loaded.components_, model.components_)
            assert loaded.trees_ == model.trees_
            assert loaded.domain_ == model.domain_
    refitted = clone(again(model)).fit(frame, np.array(["no", "yes"])[ANSWER])
    assert refitted.model_ == model.model_


@each
@pytest.mark.filterwarnings("ignore:.* training rows with missing values:UserWarning")
def test_tables_are_read_by_what_is_loaded(Estimator: Any) -> None:
    frame, y = table()
    model = Estimator(n_estimators=4, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(again(model).predict(frame), model.predict(frame))


@each
def test_an_ensemble_that_files_do_not_hold_is_asked_for_before_a_fit(Estimator: Any) -> None:
    model = Estimator(RandomForestClassifier(3, random_state=0)).fit(X3, Y3)
    loaded = again(model)
    assert loaded.estimator == NotSaved("an object of class RandomForestClassifier")
    np.testing.assert_array_equal(loaded.predict(PROBES), model.predict(PROBES))
    with pytest.raises(ValueError, match=r"'estimator'.*set_params"):
        loaded.fit(X3, Y3)


@pytest.mark.parametrize(
    "change",
    [
        {"ensemble_weights_": np.ones(2)},
        {"eigenvalues_": np.ones(7)},
        {"_vectors": [np.ones(4), np.ones(3)]},
        {"_means": [np.zeros(3)]},
        {"_told": {"coding": "votes"}},
        {"_takes_odd": 1},
        {"component_weights_": np.array([np.nan] * 2)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_forged_notes_are_refused(change: dict[str, Any]) -> None:
    model = OrthogonalTreesClassifier(n_estimators=4, n_components=2, random_state=0)
    model.fit(X3, Y3)
    notes = {name: getattr(model, name) for name in model._notes} | change
    about = {
        "kind": "estimator",
        "class": "OrthogonalTreesClassifier",
        "parameters": {},
        "named": False,
        "notes": {name: to_json(value) for name, value in notes.items()},
    }
    file = io.BytesIO()
    write_model(model.model_, file, about)
    file.seek(0)
    with pytest.raises(ModelFileError, match="cannot be made again"):
        load(file)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("centred", "yes"), ("combine", 3), ("predict_with", "x"), ("spectrum_energy", 7.0)),
        *(("max_coefficients", -1), ("max_leaf_nodes", 0), ("energy", "all")),
    ],
)
def test_forged_parameters_of_a_fit_are_refused(name: str, value: Any) -> None:
    model = OrthogonalTreesClassifier(n_estimators=4, n_components=2, random_state=0)
    model.fit(X3, Y3)
    model._told = {**model._told, name: value}
    with pytest.raises(ModelFileError, match=rf"cannot be made again.*'{name}' parameter"):
        again(model)


def test_what_can_be_found_again_is_not_pickled() -> None:
    model = OrthogonalTreesClassifier(n_estimators=4, random_state=0).fit(X3, Y3)
    before = pickle.dumps(model)
    assert len(model.trees_) == 4
    assert len(model.spectra_) == 4
    assert len(pickle.dumps(model)) == len(before)
    assert pickle.loads(before)._made == {}


def test_a_change_of_parameters_after_a_fit_changes_no_prediction() -> None:
    model = OrthogonalTreesClassifier(n_estimators=4, random_state=0).fit(X3, Y3)
    before, trees = model.predict_proba(PROBES), model.trees_
    model.set_params(centred=True, combine="uniform", max_leaf_nodes=2, predict_with="trees")
    np.testing.assert_array_equal(model.predict_proba(PROBES), before)
    assert pickle.loads(pickle.dumps(model)).trees_ == trees
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.model_.trees)
    small = model.set_params(centred=False, combine="weighted", max_leaf_nodes=3).fit(X3, Y3)
    assert small.get_n_leaves() == sum(tree.n_leaves for tree in small.trees_) <= 15
    assert small.get_depth() <= 2
