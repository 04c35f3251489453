"""Trees of scikit-learn, read as our own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from obliqua import CartClassifier, export_text, tree_from_sklearn
from obliqua.spectrum import Domain

X, Y = load_iris(return_X_y=True)


def reached(tree: Any, rows: np.ndarray) -> np.ndarray:
    """The shares in the leaf of each row."""
    return tree.proportion[tree.apply(rows)]


@pytest.mark.parametrize("Estimator", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("seed", range(5))
def test_rows_reach_the_same_leaves(Estimator: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(300, 4)).round(seed)
    fitted = Estimator(random_state=seed).fit(rows, rows[:, 0] * rows[:, 1] > 0.1)
    tree = tree_from_sklearn(fitted)
    tree.validate()
    assert (tree.n_nodes, tree.depth) == (fitted.tree_.node_count, fitted.get_depth())
    # Also on both sides of each threshold, as near as 64 bits are.
    cuts = np.concatenate([tree.threshold, np.nextafter(tree.threshold, np.inf)])
    probes = np.concatenate([rng.normal(size=(2000, 4)), np.repeat(cuts[:, None], 4, axis=1)])
    np.testing.assert_allclose(reached(tree, probes), fitted.predict_proba(probes), atol=1e-15)
    np.testing.assert_array_equal(tree.n_samples[0], len(rows))


def test_a_threshold_is_where_the_rounding_changes() -> None:
    near = np.array([[1.0], [1.0 + 2**-22]])
    fitted = DecisionTreeClassifier().fit(near, [0, 1])
    tree = tree_from_sklearn(fitted)
    for step in range(-4, 5):
        probe = np.array([[np.float64(tree.threshold[0])]])
        for _ in range(abs(step)):
            probe = np.nextafter(probe, np.inf * np.sign(step))
        assert tree.leaf_label[tree.apply(probe)] == fitted.predict(probe)


def test_missing_values_take_their_branch() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    y = rows[:, 0] > 0
    rows[rng.random(rows.shape) < 0.2] = np.nan
    fitted = DecisionTreeClassifier(random_state=0).fit(rows, y)
    tree = tree_from_sklearn(fitted)
    np.testing.assert_allclose(reached(tree, rows), fitted.predict_proba(rows), atol=1e-15)
    # A split of what is missing from what is not is no cut of the numbers.
    assert (fitted.tree_.threshold == np.inf).any()
    assert all(abs(cut) < 10 for f in Domain.of_trees([tree]).features for cut in f.entries)


def test_weights_and_gains() -> None:
    weights = np.random.default_rng(0).random(len(Y))
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, weights)
    tree = tree_from_sklearn(fitted)
    np.testing.assert_allclose(tree.stats[0], np.bincount(Y, weights))
    importances = np.zeros(4)
    np.add.at(importances, tree.coef_idx, tree.gain[~tree.is_leaf])
    np.testing.assert_allclose(importances / importances.sum(), fitted.feature_importances_)


def test_it_can_be_read() -> None:
    tree = tree_from_sklearn(DecisionTreeClassifier(max_depth=1).fit(X, Y))
    assert "x" in export_text(tree)
    one = tree_from_sklearn(DecisionTreeClassifier().fit(X, np.zeros(len(X))))
    assert one.n_nodes == 1


@pytest.mark.parametrize(
    "thing",
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        RandomForestClassifier(2).fit(X, Y),
        CartClassifier().fit(X, Y),
        None,
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_other_things_are_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match=f"got {type(thing).__name__}"):
        tree_from_sklearn(thing)


def test_several_outputs_are_refused() -> None:
    fitted = DecisionTreeClassifier().fit(X, np.stack([Y, Y], axis=1))
    with pytest.raises(TypeError, match="has 2"):
        tree_from_sklearn(fitted)
