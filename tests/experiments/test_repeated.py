"""The table of votes, and several trees among the methods that have names."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from obliqua import HHCartClassifier, OC1Classifier, RepeatedTreesClassifier, compare
from obliqua.experiments.adapt import fix_types, takes_tables
from obliqua.experiments.catalogue import TABLES
from obliqua.experiments.protocol import Rows, run_cell
from obliqua.experiments.repeated import METHODS, TABLE_REPEATED, repeated


def test_the_table_is_known_and_its_methods_can_be_made() -> None:
    assert TABLES["oc1-repeated"] is TABLE_REPEATED
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    for method in METHODS:
        estimator = method.make(5)
        assert estimator.random_state == 5
        estimator._validate_params()
        if "vote" in method.name or "best" in method.name:
            assert isinstance(estimator, RepeatedTreesClassifier)
            assert estimator.combine in method.name
            assert str(estimator.n_estimators) in method.name


def test_settings_are_those_of_the_method() -> None:
    model = repeated("hhcart-d", 3, {"pruning": None}, n_estimators=2, combine="best")
    assert isinstance(model.estimator, HHCartClassifier)
    assert (model.estimator.variant, model.estimator.pruning) == ("dominant", None)
    assert (model.random_state, model.n_estimators, model.combine) == (3, 2, "best")


def test_the_leaves_of_a_vote_are_those_of_all_trees() -> None:
    X, y = load_iris(return_X_y=True)
    methods = {method.name: method for method in METHODS}
    cells = {
        name: run_cell("iris", Rows(X, y), methods[name], 0, 0, n_folds=3)
        for name in ("OC1", "vote 5", "best 5")
    }
    assert np.sum(cells["OC1"].confusion) == len(y)
    assert min(cells["vote 5"].leaves) > max(cells["OC1"].leaves)
    assert max(cells["best 5"].leaves) < min(cells["vote 5"].leaves)


def test_compare_takes_several_trees() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(90, 2))
    # Only the last rows hold text in the last column, so most folds would take it for numbers.
    last = pd.Series([*[1.0] * 88, "x", "x"], dtype=object)
    frame = pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "c": last})
    y = np.where(numbers.sum(axis=1) > 0, "p", "q")
    own = RepeatedTreesClassifier(n_estimators=3)
    few = RepeatedTreesClassifier(OC1Classifier(n_restarts=2), n_estimators=3, combine="best")
    result = compare(frame, y, {"vote": own, "best": few}, n_folds=3)
    accuracy = {row["method"]: row["accuracy"] for row in result.rows()}
    assert min(accuracy.values()) > 0.8
    assert own.estimator is None, "estimators are never changed"
    assert few.estimator.categorical_features == "from_dtype"


def test_the_method_inside_is_told_which_columns_are_qualitative() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    inside = {
        "default": RepeatedTreesClassifier(),
        "own": RepeatedTreesClassifier(OC1Classifier()),
        "told": RepeatedTreesClassifier(OC1Classifier(categorical_features=None)),
    }
    fix_types(inside, frame)
    assert inside["default"].estimator.categorical_features == [1]
    assert inside["own"].estimator.categorical_features == [1]
    assert inside["told"].estimator.categorical_features is None
    assert all(map(takes_tables, inside.values()))
