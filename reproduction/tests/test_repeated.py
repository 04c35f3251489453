"""The table of votes."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from obliqua import RepeatedTreesClassifier
from reproduction.catalogue import TABLES
from reproduction.own.repeated import METHODS, TABLE_REPEATED
from reproduction.protocol import run_cell
from reproduction.rows import ExperimentRows


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


def test_the_leaves_of_a_vote_are_those_of_all_trees() -> None:
    X, y = load_iris(return_X_y=True)
    methods = {method.name: method for method in METHODS}
    cells = {
        name: run_cell("iris", ExperimentRows(X, y), methods[name], 0, 0, n_folds=3)
        for name in ("OC1", "vote 5", "best 5")
    }
    assert np.sum(cells["OC1"].confusion) == len(y)
    assert min(cells["vote 5"].leaves) > max(cells["OC1"].leaves)
    assert max(cells["best 5"].leaves) < min(cells["vote 5"].leaves)
