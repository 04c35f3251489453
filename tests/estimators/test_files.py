"""save and load: estimators come back as they were, and say what a file could not hold."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from estimators.registry import blobs, each_estimator
from obliqua import (
    CartClassifier,
    HHCartClassifier,
    NotSaved,
    ObliqueTreeClassifier,
    TreeBuilder,
    load,
    save,
)
from obliqua.criteria import get_criterion
from obliqua.data.encoding import Encoding
from obliqua.errors import ModelFileError
from obliqua.io.files import read_model, write_model
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

X, Y = blobs()


def again(model: Any) -> Any:
    file = io.BytesIO()
    save(model, file)
    file.seek(0)
    return load(file)


def assert_same(loaded: Any, model: Any) -> None:
    """The same parameters and fitted attributes, and the same answers bit for bit."""
    assert type(loaded) is type(model)
    assert repr(loaded.get_params()) == repr(model.get_params())
    assert loaded.get_params().keys() == model.get_params().keys()
    assert vars(loaded).keys() == vars(model).keys()
    assert loaded.model_ == model.model_
    assert loaded.tree_ is loaded.model_.trees[0]
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.n_classes_ == model.n_classes_
    assert loaded.n_features_in_ == model.n_features_in_
    np.testing.assert_array_equal(
        getattr(loaded, "feature_names_in_", None), getattr(model, "feature_names_in_", None)
    )


@each_estimator
def test_every_estimator_comes_back(Estimator: Any) -> None:
    model = Estimator(random_state=3).fit(X, Y)
    loaded = again(model)
    assert_same(loaded, model)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert_same(again(loaded), model)


@each_estimator
def test_a_loaded_estimator_is_an_estimator_like_any(Estimator: Any) -> None:
    loaded = again(Estimator(random_state=3, max_depth=2).fit(X, Y))
    assert clone(loaded).get_params() == loaded.get_params()
    assert clone(loaded).fit(X, Y).tree_ == Estimator(random_state=3, max_depth=2).fit(X, Y).tree_
    search = GridSearchCV(loaded, {"max_depth": [1, 3]}, cv=2).fit(X, Y)
    assert_same(again(search.best_estimator_), search.best_estimator_)
    assert loaded.set_params(max_depth=1).fit(X, Y).get_depth() == 1


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["nein", "ja", "vielleicht\n"]),
        np.array(["a", "b", "c"], dtype=object),
        np.array([7, -1, 3], dtype=np.int16),
        np.array([0.0, 1.0, 5.0]),
        np.array([True, False, True]),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_labels(labels: np.ndarray) -> None:
    model = HHCartClassifier(random_state=0).fit(X, labels[Y])
    loaded = again(model)
    assert_same(loaded, model)
    assert loaded.predict(X).dtype == model.predict(X).dtype
    assert loaded.score(X, labels[Y]) == model.score(X, labels[Y])


def test_names_of_features() -> None:
    names = ["two\nlines", "<b>&'\"", "größe 身長", ""]
    frame = pd.DataFrame(X, columns=names)
    model = HHCartClassifier(random_state=0).fit(frame, Y)
    loaded = again(model)
    assert_same(loaded, model)
    assert loaded.feature_names_in_.dtype == object
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"": "other"}))
    refitted = loaded.fit(X, Y)
    assert not hasattr(refitted, "feature_names_in_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": {0: 1.0, 1: 2.5, 2: 1}},
        {"class_weight": "balanced", "n_jobs": np.int64(2)},
        {"priors": [0.5, 0.25, 0.25]},
        {"priors": (1, 2, 3)},
        {"priors": {np.int64(0): np.float64(0.5), 1: 0.25, 2: 0.25}},
        {"priors": np.array([1.0, 2.0, 3.0])},
        {"min_samples_leaf": 0.1, "random_state": np.int32(4), "max_depth": 10**30},
    ],
    ids=str,
)
def test_parameters_survive(parameters: dict[str, Any]) -> None:
    model = CartClassifier(**parameters).fit(X, Y)
    loaded = again(model)
    for name, value in parameters.items():
        read = loaded.get_params()[name]
        assert type(read) in (type(value), int)
        np.testing.assert_equal(read, value)
        if isinstance(value, dict):
            assert [type(key) for key in read] == [int, int, int]
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    loaded.fit(X, Y)


def test_string_and_bool_keys_survive() -> None:
    for labels in (np.array(["a", "b", "c"]), np.array([True, False, True])):
        weights = dict.fromkeys(labels.tolist(), 2.0)
        model = CartClassifier(class_weight=weights).fit(X, labels[Y])
        assert repr(again(model).class_weight) == repr(weights)


# --- what a file cannot hold -----------------------------------------------------------------


def first_axis(node: Any) -> Any:
    return np.eye(node.X.shape[1])[:1]


class Proposer:
    def propose(self, node: Any) -> Any:
        return first_axis(node)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("proposer", first_axis, "function first_axis"),
        ("proposer", Proposer(), "an object of class Proposer"),
        ("criterion", get_criterion("gini"), "an object of class Criterion"),
        ("criterion", lambda left, right: 1.0, "function <lambda>"),
        ("random_state", np.random.RandomState(0), "an object of class RandomState"),
        ("priors", pd.Series([1.0, 1.0, 1.0]), "an object of class Series"),
    ],
    ids=["function", "object", "criterion", "lambda", "random", "series"],
)
def test_parameters_that_a_file_cannot_hold(name: str, value: Any, what: str) -> None:
    model = ObliqueTreeClassifier(**{"pruning": None, name: value}).fit(X, Y)
    loaded = again(model)
    marker = loaded.get_params()[name]
    assert isinstance(marker, NotSaved)
    assert not callable(marker)
    assert loaded.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    for fit in (loaded.fit, clone(loaded).fit, loaded.cost_complexity_pruning_path):
        with pytest.raises(
            ValueError, match=rf"'{name}' \({what}\) could not be kept.*set_params"
        ):
            fit(X, Y)
        with (
            config_context(skip_parameter_validation=True),
            pytest.raises(ValueError, match=rf"'{name}' .* could not be kept"),
        ):
            fit(X, Y)
    assert loaded.model_ == model.model_
    assert again(loaded).get_params()[name] == marker
    assert loaded.set_params(**{name: value}).fit(X, Y).tree_.n_features == 4


def test_files_hold_no_addresses() -> None:
    files = []
    for proposer in (Proposer(), Proposer()):
        file = io.BytesIO()
        save(ObliqueTreeClassifier(proposer, pruning=None).fit(X, Y), file)
        files.append(file.getvalue())
    assert files[0] == files[1]


# --- what can be saved -----------------------------------------------------------------------


def test_models_and_trees_come_back_as_what_they_are() -> None:
    tree = HHCartClassifier(random_state=0).fit(X, Y).tree_
    model = Model((tree, tree), "vote", Encoding.identity(4), np.array(["a", "b", "c"]))
    assert isinstance(again(model), Model)
    assert again(model) == model
    assert isinstance(again(tree), Tree)
    assert again(tree) == tree
    builder = TreeBuilder(n_features=1, n_stats=1)
    builder.set_leaf("root", [1.0])
    assert again(builder.build()) == builder.build()


def test_what_write_model_wrote_is_a_model() -> None:
    model = CartClassifier().fit(X, Y).model_
    file = io.BytesIO()
    write_model(model, file)
    file.seek(0)
    assert load(file) == model


class Own(CartClassifier):
    pass


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(NotFittedError, match="Call fit"):
        save(CartClassifier(), path)
    with pytest.raises(TypeError, match=r"got DecisionTreeClassifier"):
        save(DecisionTreeClassifier().fit(X, Y), path)
    with pytest.raises(TypeError, match=r"inside a pipeline"):
        save(make_pipeline(StandardScaler(), CartClassifier()).fit(X, Y), path)
    with pytest.raises(TypeError, match="the class CartClassifier itself"):
        save(CartClassifier, path)
    with pytest.raises(TypeError, match=r"save\(estimator\.model_, path\)"):
        save(Own().fit(X, Y), path)
    namesake = type("CartClassifier", (CartClassifier,), {})
    with pytest.raises(TypeError, match="CartClassifier is not a class of obliqua itself"):
        save(namesake().fit(X, Y), path)
    for wrong in (None, "tree", {"a": 1}, np.zeros(3)):
        with pytest.raises(TypeError, match="fitted estimator of obliqua, a Model or a Tree"):
            save(wrong, path)
    # somebody who mixes up the order of the arguments
    with pytest.raises(TypeError):
        save(path, CartClassifier().fit(X, Y))
    assert list(tmp_path.iterdir()) == []


# --- files that this version does not know ---------------------------------------------------


def file_about(**changes: Any) -> io.BytesIO:
    file = io.BytesIO()
    save(CartClassifier().fit(X, Y), file)
    file.seek(0)
    model, about = read_model(file)
    new = io.BytesIO()
    write_model(model, new, {**about, **changes})
    new.seek(0)
    return new


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"class": "ForestClassifier"}, "ForestClassifier.*Upgrade.*read_model"),
        ({"class": "os.system"}, "read_model"),
        ({"class": ["CartClassifier"]}, "read_model"),
        ({"class": None}, "read_model"),
        ({"parameters": {"smoothness": 3}}, "smoothness.*Upgrade.*read_model"),
        ({"parameters": {"max_depth": {"new": 3}}}, "read_model"),
        ({"parameters": 3}, "read_model"),
        ({"kind": "spline"}, "spline.*Upgrade.*read_model"),
        ({"kind": ["tree"]}, "read_model"),
        ({"named": []}, None),
    ],
    ids=str,
)
def test_unknown_contents(changes: dict[str, Any], message: str | None) -> None:
    file = file_about(**changes)
    if message is None:
        assert not hasattr(load(file), "feature_names_in_")
        return
    with pytest.raises(ModelFileError, match=message):
        load(file)
    file.seek(0)
    assert read_model(file)[0].n_classes == 3


def test_parameters_that_came_later_have_their_default() -> None:
    assert (
        load(file_about(parameters={"max_depth": 7})).get_params()
        == CartClassifier(max_depth=7).get_params()
    )


def test_several_trees_in_an_estimator() -> None:
    model = CartClassifier().fit(X, Y)
    about = {"kind": "estimator", "class": "CartClassifier", "parameters": {}, "named": False}
    file = io.BytesIO()
    write_model(
        Model((model.tree_,) * 2, "vote", model.model_.encoding, model.classes_), file, about
    )
    file.seek(0)
    with pytest.raises(ModelFileError, match="several trees"):
        load(file)


def test_loading_and_predicting_load_nothing_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "m.obliqua"
    save(HHCartClassifier().fit(X, Y), path)
    program = (
        "import json, sys, obliqua\n"
        f"model = obliqua.load({str(path)!r})\n"
        f"model.predict({X[:2].tolist()})\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('obliqua.')]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = set(json.loads(done.stdout))
    assert "obliqua.estimators.hhcart" in loaded
    assert not loaded & {
        "obliqua.engine.grow",
        "obliqua.engine.search",
        "obliqua.prune",
        "obliqua.methods",
    }
