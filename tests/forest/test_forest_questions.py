"""What a forest is asked beside predictions, against slow definitions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_friedman1

from forest_cases import FRAME, LABELS, NUMBERS, again, forest, table
from obliqua import ObliqueForestClassifier, ObliqueForestRegressor
from obliqua.estimators import _forest_questions

pytestmark = pytest.mark.filterwarnings("ignore:Of 160 rows")
WEIGHTS = np.random.default_rng(1).integers(0, 4, len(FRAME)).astype(float)


def fitted(kind: str, weights: Any = None, **params: Any) -> Any:
    params = {"n_estimators": 7, "random_state": 0, **params}
    if kind == "classes":
        return ObliqueForestClassifier(**params).fit(FRAME, LABELS, weights)
    y = NUMBERS[:, 0] if kind == "numbers" else NUMBERS
    return ObliqueForestRegressor(**params).fit(FRAME, y, weights)


# --- how far off -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numbers", "pair"])
def test_spread_of_leaves_and_of_trees(kind: str) -> None:
    model = fitted(kind, min_samples_leaf=5)
    said = model.predict(FRAME).reshape(len(FRAME), -1)
    total = np.zeros(len(FRAME))
    for member in model.estimators_:
        own = member.predict(FRAME).reshape(len(FRAME), -1)
        total += member.tree_.impurity[member.apply(FRAME)] + ((own - said) ** 2).mean(axis=1)
    np.testing.assert_allclose(model.predict_std(FRAME), np.sqrt(total / 7), rtol=1e-10)


def slow_quantiles(model: Any, y: np.ndarray, weights: np.ndarray, shares: list[float]) -> Any:
    """Each training row by itself; what it weighs in a tree is drawn again."""
    _, problem, _ = model._encoded(FRAME, y, weights)
    sampling = model._sampling(problem, model._seed)
    rows = sampling.rows
    leaves, training = model.apply(FRAME), model.model_.trees.apply(rows.Z[rows.source])
    found = np.empty((len(FRAME), len(shares), rows.target.shape[1]))
    for i in range(len(FRAME)):
        weight = np.zeros(rows.n)
        for tree in range(len(model)):
            counts, times = sampling.of_tree(tree)
            here = np.where((training[:, tree] == leaves[i, tree]) & (times > 0), counts, 0.0)
            weight += here / here.sum() / len(model)
        for output in range(rows.target.shape[1]):
            order = np.argsort(rows.target[:, output], kind="stable")
            reached = np.cumsum(weight[order])
            for k, share in enumerate(shares):
                there = (reached >= share - 1e-9) & (weight[order] > 0)
                found[i, k, output] = rows.target[order[np.argmax(there)], output]
    return found


@pytest.mark.parametrize("params", [{}, {"bootstrap": False, "max_samples": 0.6}])
def test_quantiles_against_the_slow_definition(params: dict[str, Any]) -> None:
    shares = [0.0, 0.13, 0.5, 0.87, 1.0]
    for kind, y in (("numbers", NUMBERS[:, 0]), ("pair", NUMBERS)):
        model = fitted(kind, WEIGHTS, keep_rows=True, min_samples_leaf=4, **params)
        slow = slow_quantiles(model, y, WEIGHTS, shares)
        found = model.predict_quantiles(FRAME, shares)
        assert found.shape == ((160, 5) if kind == "numbers" else (160, 5, 2))
        np.testing.assert_array_equal(found.reshape(slow.shape), slow)


def test_quantiles_go_along_with_warm_starts_pruning_and_pickles() -> None:
    y = NUMBERS[:, 0]
    params = {"keep_rows": True, "min_samples_leaf": 4, "ccp_alpha": 0.01}
    whole = fitted("numbers", **params)
    part = fitted("numbers", **params | {"keep_rows": False}, n_estimators=3)
    part.set_params(warm_start=True, keep_rows=True, n_estimators=7).fit(FRAME, y)
    wanted = whole.predict_quantiles(FRAME)
    np.testing.assert_array_equal(part.predict_quantiles(FRAME), wanted)
    copy = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(copy.predict_quantiles(FRAME), wanted)
    assert len(whole._kept_rows.sampling.rows.Z) == 0  # not all of the training rows
    with pytest.raises(ValueError, match="loaded from a model file"):
        again(whole).predict_quantiles(FRAME)
    with pytest.raises(ValueError, match="Fit it with keep_rows=True"):
        whole.set_params(keep_rows=False).fit(FRAME, y).predict_quantiles(FRAME)
    with pytest.raises(ValueError, match="between 0 and 1"):
        copy.predict_quantiles(FRAME, [1.5])


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_as_many_new_rows_as_they_shall(coverage: float) -> None:
    X, y = make_friedman1(3000, 6, noise=2.0, random_state=0)
    model = ObliqueForestRegressor(60, oob_score=True, random_state=0).fit(X[:1000], y[:1000])
    low, high = model.predict_interval(X[1000:], coverage).T
    inside = (low <= y[1000:]) & (y[1000:] <= high)
    assert abs(inside.mean() - coverage) < 0.03
    np.testing.assert_allclose(high - low, high[0] - low[0])
    loaded = again(model)
    np.testing.assert_array_equal(loaded.predict_interval(X[:9]), model.predict_interval(X[:9]))


def test_intervals_are_made_of_errors_out_of_bag() -> None:
    model = fitted("pair", oob_score=True, n_estimators=40)
    off = NUMBERS - model.oob_prediction_
    off = off[~np.isnan(off[:, 0])]
    ends = np.quantile(off, [0.1, 0.9], axis=0, method="weibull")
    found = model.predict_interval(FRAME, 0.8)
    np.testing.assert_allclose(found, model.predict(FRAME)[:, None, :] + ends)
    for wrong in (0, 1, 1.2, True, "much", np.nan):
        with pytest.raises(ValueError, match="coverage must be"):
            model.predict_interval(FRAME, wrong)
    with pytest.raises(ValueError, match="oob_score=True"):
        model.set_params(oob_score=False).fit(FRAME, NUMBERS).predict_interval(FRAME)


# --- which features matter -------------------------------------------------------------------


def slow_importances(model: Any, y: Any, weights: Any, n_repeats: int, seed: int) -> np.ndarray:
    """Whole trees, and all columns of each."""
    _, problem, _ = model._encoded(FRAME, y, weights)
    sampling = model._sampling(problem, model._seed)
    seeds = np.random.RandomState(seed).randint(2**31 - 1, size=len(model))
    found = np.zeros((FRAME.shape[1], len(model)))
    for number, tree in enumerate(model.model_.trees):
        out = np.flatnonzero(sampling.out_of_bag(number))
        out = out[np.argsort(sampling.rows.group[out], kind="stable")]  # the order that counts
        Z, rng = problem.Z[out], np.random.default_rng(seeds[number])

        def error(rows: np.ndarray, tree: Any = tree, out: Any = out) -> float:
            if tree.task == "classification":
                return float(np.mean(tree.leaf_label[tree.apply(rows)] != problem.y[out]))
            return float(np.mean((tree.predict(rows) - problem.target.values[out]) ** 2))

        for column in np.unique(tree.coef_idx):
            for _ in range(n_repeats):
                changed = Z.copy()
                changed[:, column] = rng.permutation(Z[:, column])
                found[column, number] += (error(changed) - error(Z)) / n_repeats
    return found


@pytest.mark.parametrize("kind", ["classes", "numbers", "pair"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["even", "weighted"])
def test_importances_against_the_slow_definition(kind: str, weights: Any) -> None:
    y = {"classes": LABELS, "numbers": NUMBERS[:, 0], "pair": NUMBERS}[kind]
    model = fitted(kind, weights)
    found = model.oob_importances(FRAME, y, weights, n_repeats=2, random_state=4)
    slow = slow_importances(model, y, weights, 2, 4)
    np.testing.assert_allclose(found.importances, slow, atol=1e-12)
    np.testing.assert_allclose(found.importances_mean, slow.mean(axis=1), atol=1e-12)
    error = slow.std(axis=1, ddof=1) / 7**0.5
    np.testing.assert_allclose(found.importances_std, error, atol=1e-12)
    several = model.set_params(n_jobs=2).oob_importances(
        FRAME, y, weights, n_repeats=2, random_state=4
    )
    np.testing.assert_array_equal(several.importances, found.importances)


def test_features_that_are_not_used_do_not_matter_and_noise_hardly_does() -> None:
    frame, labels, _ = table(600, seed=1)
    frame["same"] = 1.0
    found = (
        ObliqueForestClassifier(40, random_state=0)
        .fit(frame, labels)
        .oob_importances(frame, labels, random_state=0)
    )
    mean = dict(zip(frame.columns, found.importances_mean, strict=True))
    assert mean["same"] == 0
    assert abs(mean["d"]) < 0.03 < 0.1 < mean["a"]


def test_importances_need_the_rows_of_the_fit() -> None:
    model = fitted("classes")
    loaded = again(model)
    wanted = model.oob_importances(FRAME, LABELS, random_state=0).importances
    found = loaded.oob_importances(FRAME, LABELS, random_state=0).importances
    np.testing.assert_array_equal(found, wanted)
    turned = FRAME.iloc[::-1], LABELS[::-1]
    found = model.oob_importances(*turned, random_state=0).importances
    np.testing.assert_array_equal(found, wanted)
    for X, y, weights in (
        (FRAME[1:], LABELS[1:], None),
        (FRAME, np.roll(LABELS, 1), None),
        (FRAME, LABELS, np.arange(1.0, 161.0)),
    ):
        with pytest.raises(ValueError, match="must be those"):
            model.oob_importances(X, y, weights)
    for wrong in (0, 1.5, True):
        with pytest.raises(ValueError, match="n_repeats must be"):
            model.oob_importances(FRAME, LABELS, n_repeats=wrong)
    with pytest.raises(ValueError, match="what they were"):
        model.set_params(max_samples=0.5).oob_importances(FRAME, LABELS)
    everything = fitted("classes", bootstrap=False)
    with pytest.raises(ValueError, match="none is out of bag"):
        everything.oob_importances(FRAME, LABELS)


# --- which rows are near each other ----------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_proximities_are_shares_of_trees(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(kind)
    leaves = model.apply(FRAME)
    wanted = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    np.testing.assert_array_equal(model.proximities(FRAME), wanted)
    np.testing.assert_array_equal(model.proximities(FRAME[:9], FRAME[50:]), wanted[:9, 50:])
    monkeypatch.setattr(_forest_questions, "MOST_PAIRS", 99)
    assert model.proximities(FRAME[:9], FRAME[:11]).shape == (9, 11)
    with pytest.raises(ValueError, match=r"10 x 10 rows have 100 proximities, more than 99"):
        model.proximities(FRAME[:10])


# --- the size of trees -----------------------------------------------------------


def test_depth_leaves_and_columns_are_those_of_the_trees() -> None:
    for model in (fitted("classes"), fitted("numbers", max_depth=2), fitted("pair", max_depth=1)):
        trees = model.model_.trees
        assert model.get_depth() == max(tree.depth for tree in trees)
        assert model.get_n_leaves() == sum(tree.n_leaves for tree in trees)
        for number, tree in enumerate(trees):
            assert trees.columns_of(number).tolist() == np.unique(tree.coef_idx).tolist()
    constant = ObliqueForestRegressor(2).fit(pd.DataFrame({"a": [1.0, 2.0]}), [3.0, 3.0])
    assert (constant.get_depth(), constant.get_n_leaves()) == (0, 2)


def test_leaves_are_numbered_over_all_trees() -> None:
    model = forest("classes")
    trees, Z = model.model_.trees, model._check_rows(FRAME)
    nodes = trees.apply(Z)
    for number, tree in enumerate(trees):
        place = (np.cumsum(tree.is_leaf) - 1)[nodes[:, number]] + trees.leaf_ptr[number]
        np.testing.assert_array_equal(trees.leaves(Z)[:, number], place)
        np.testing.assert_array_equal(trees.leaves(Z, 1, (number, number + 1))[:, 0], place)
