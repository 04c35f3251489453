"""Several trees of a method among the methods that have names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from obliqua import HHCartClassifier, OC1Classifier, RepeatedTreesClassifier, compare
from obliqua.select.adapt import fix_types, takes_tables
from obliqua.select.methods import repeated


def test_settings_are_those_of_the_method() -> None:
    model = repeated("hhcart-d", 3, {"pruning": None}, n_estimators=2, combine="best")
    assert isinstance(model.estimator, HHCartClassifier)
    assert (model.estimator.variant, model.estimator.pruning) == ("dominant", None)
    assert (model.random_state, model.n_estimators, model.combine) == (3, 2, "best")


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
