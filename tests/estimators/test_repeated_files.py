"""Model files of several trees, and of the method that has grown them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from estimators.registry import NumbersOnly, blobs
from obliqua import (
    HHCartClassifier,
    LMDTClassifier,
    ModelFileError,
    NotSaved,
    ObliqueTreeClassifier,
    OC1Classifier,
    RepeatedTreesClassifier,
    load,
    save,
)
from obliqua.io.files import read_model, write_model

X, Y = blobs(150, 4, 3, seed=2)
X = X + np.random.default_rng(0).normal(size=X.shape)


def repeated(method: Any, **params: Any) -> RepeatedTreesClassifier:
    return RepeatedTreesClassifier(method, **{"n_estimators": 3, "random_state": 0, **params})


def written(model: Any) -> bytes:
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def again(model: Any) -> Any:
    return load(io.BytesIO(written(model)))


@pytest.mark.parametrize("combine", ["vote", "mean", "best"])
@pytest.mark.parametrize(
    "method",
    [
        None,
        OC1Classifier(n_restarts=2, class_weight={"u": 2.0}),
        LMDTClassifier(),
        HHCartClassifier(),
    ],
    ids=str,
)
def test_all_of_it_comes_back(method: Any, combine: str) -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = repeated(method, combine=combine).fit(frame, np.array(["u", "v", "w"])[Y])
    loaded = again(model)
    assert type(loaded) is RepeatedTreesClassifier
    assert repr(loaded) == repr(model)
    assert loaded.model_ == model.model_
    assert vars(loaded).keys() == vars(model).keys()
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    for name in model._notes:
        assert np.array_equal(getattr(loaded, name, None), getattr(model, name, None))
    assert written(loaded) == written(model)
    refitted = clone(loaded).fit(frame, np.array(["u", "v", "w"])[Y])
    assert refitted.model_ == model.model_


def test_tables_are_read_by_what_is_loaded() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["level"] = np.where(X[:, 0] > 0, "x", "y")
    frame.loc[::5, "b"] = np.nan
    model = repeated(OC1Classifier(n_restarts=2)).fit(frame, Y)
    loaded = again(model)
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    gaps = np.where(np.abs(X) > 2.5, np.nan, X)
    model = repeated(OC1Classifier(n_restarts=2)).fit(gaps, Y)
    np.testing.assert_array_equal(again(model).predict(gaps), model.predict(gaps))


def first_columns(node: Any) -> Any:
    return node.rng.normal(size=(2, node.X.shape[1]))


def test_a_function_inside_the_method_is_asked_for_before_a_fit() -> None:
    model = repeated(ObliqueTreeClassifier(first_columns)).fit(X, Y)
    loaded = again(model)
    assert loaded.estimator.proposer == NotSaved("function first_columns")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    with pytest.raises(ValueError, match=r"'proposer'.*set_params"):
        loaded.fit(X, Y)
    loaded.set_params(estimator__proposer=first_columns).fit(X, Y)
    assert loaded.model_ == model.model_


def test_a_method_of_ones_own_is_asked_for_before_a_fit() -> None:
    model = repeated(NumbersOnly(first_columns)).fit(X, Y)
    loaded = again(model)
    assert loaded.estimator == NotSaved("an object of class NumbersOnly")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match=r"'estimator'.*NumbersOnly.*set_params"):
        loaded.fit(X, Y)
    assert written(loaded) == written(model)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            {"class": "os.system", "parameters": {}},
            "'os.system', which this version does not know",
        ),
        ({"class": "ForestClassifier", "parameters": {}}, "ForestClassifier.*Upgrade"),
        ({"class": "RepeatedTreesClassifier", "parameters": {}}, "which this version does not"),
        ({"class": "OC1Classifier", "parameters": {"speed": 3}}, "'speed'.*Upgrade"),
        ({"class": "OC1Classifier"}, "cannot be made again"),
        (
            {
                "class": "OC1Classifier",
                "parameters": {"scale": {"estimator": {"class": "OC1Classifier"}}},
            },
            "cannot be made again",
        ),
        ([], "cannot be made again"),
    ],
    ids=str,
)
def test_forged_methods_are_refused(state: Any, message: str) -> None:
    model = repeated(OC1Classifier(n_restarts=2)).fit(X, Y)
    parameters = {"estimator": {"estimator": state}}
    about = {"kind": "estimator", "class": "RepeatedTreesClassifier", "named": False}
    file = io.BytesIO()
    write_model(model.model_, file, {**about, "parameters": parameters})
    file.seek(0)
    with pytest.raises(ModelFileError, match=message):
        load(file)
    file.seek(0)
    assert len(read_model(file)[0].trees) == 3
