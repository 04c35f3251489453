"""Rows for ensembles of scikit-learn, large and small numbers, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as sk
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeRegressor

from obliqua import C45Classifier, TreeBuilder
from obliqua.spectrum import (
    Domain,
    Measure,
    TreeSum,
    diagnose,
    energy,
    gram,
    measure_of,
    tree_sum_of,
)
from obliqua.tree.from_sklearn import BEYOND
from reference import overlaps as twin

NAMES = ["a", "b", "c", "d"]


def iris() -> tuple[pd.DataFrame, Any]:
    X, y = load_iris(return_X_y=True)
    return pd.DataFrame(X, columns=NAMES), y


def forest(n_trees: int = 5) -> tuple[Any, pd.DataFrame]:
    X, y = iris()
    return sk.RandomForestClassifier(n_trees, random_state=0).fit(X, y), X


def coloured() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    X = pd.DataFrame({"size": rng.normal(size=200), "colour": pd.Categorical(colour)})
    return X, ((X["size"] > 0) ^ (colour == "red")).to_numpy()


# --- rows ------------------------------------------------------------------------------------


def test_columns_of_a_frame_are_found_by_name() -> None:
    fitted, X = forest()
    expected = gram(fitted, "marginals", X)
    turned = X[["d", "b", "a", "c"]].assign(more=1.0)
    np.testing.assert_array_equal(gram(fitted, "marginals", turned), expected)
    np.testing.assert_array_equal(gram(fitted, "marginals", X.to_numpy()), expected)
    with pytest.raises(ValueError, match="The column 'c' is missing in X"):
        gram(fitted, "empirical", X.rename(columns={"c": "z"}))
    unnamed = sk.RandomForestClassifier(5, random_state=0).fit(X.to_numpy(), iris()[1])
    np.testing.assert_array_equal(gram(unnamed, "marginals", X), expected)


def test_columns_of_boosting_with_histograms_are_found_by_name() -> None:
    X, y = coloured()
    X["weight"] = np.random.default_rng(1).normal(size=200)
    for columns in (["size", "colour", "weight"], ["size", "weight"]):
        fitted = sk.HistGradientBoostingClassifier(
            max_iter=5, min_samples_leaf=5, categorical_features="from_dtype"
        ).fit(X[columns], y)
        expected = fitted.decision_function(X[columns])[:, None]
        found = tree_sum_of(fitted)
        np.testing.assert_allclose(found.value(X[columns[::-1]]), expected, atol=1e-12)
        with pytest.raises(ValueError, match="The column 'weight' is missing in X"):
            found.value(X.drop(columns="weight"))


def test_a_missing_category_is_no_level() -> None:
    X, y = coloured()
    X.loc[::7, "colour"] = np.nan
    fitted = sk.HistGradientBoostingClassifier(
        max_iter=5, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(X, y)
    found = tree_sum_of(fitted)
    assert found.encoding.columns[0].levels == ("blue", "green", "red")
    assert measure_of(fitted).domain.cardinalities[0] == 3
    on = measure_of(fitted, "marginals", X)
    assert on.missing.tolist() == [len(X.loc[::7]), 0]
    np.testing.assert_allclose(gram(fitted, on), twin.gram(found, on), rtol=1e-12)


@pytest.mark.parametrize(
    "boosting",
    [sk.GradientBoostingClassifier(n_estimators=2), sk.HistGradientBoostingClassifier(max_iter=2)],
    ids=lambda kind: type(kind).__name__,
)
def test_the_one_output_of_two_classes_is_that_of_the_second(boosting: Any) -> None:
    X, y = load_iris(return_X_y=True)
    boosting.fit(X, np.where(y == 1, "yes", "no"))
    assert tree_sum_of(boosting).outputs == ("yes",)
    boosting.fit(X, y)
    assert tree_sum_of(boosting).outputs == ("0", "1", "2")


@pytest.mark.parametrize(
    "kind",
    [
        sk.RandomForestClassifier(3),
        sk.RandomForestRegressor(3),
        sk.GradientBoostingClassifier(n_estimators=2),
        sk.HistGradientBoostingClassifier(max_iter=2),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_rows_have_the_columns_of_the_fit(kind: Any) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = kind.fit(X, y)
    for measure in ("marginals", "empirical"):
        with pytest.raises(ValueError, match="fitted to 4 columns; X has 3"):
            gram(fitted, measure, X[:, :3])


def test_infinite_numbers_where_the_ensemble_takes_them() -> None:
    X, y = load_iris(return_X_y=True)
    X[:5, 2], X[60:65, 3] = np.inf, -np.inf
    fitted = sk.HistGradientBoostingClassifier(max_iter=4).fit(X, y)
    found = tree_sum_of(fitted).value(X)
    np.testing.assert_allclose(found, fitted.decision_function(X), atol=1e-12)
    assert np.isfinite(gram(fitted, "marginals", X)).all()
    with pytest.raises(ValueError, match="X contains infinity"):
        gram(forest()[0], "marginals", X)


def test_missing_values_where_the_ensemble_takes_none() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = sk.GradientBoostingClassifier(n_estimators=2).fit(X, y)
    X[7, 1] = np.nan
    with pytest.raises(ValueError, match="X contains NaN, first in row 7, column 1"):
        gram(fitted, "marginals", X)
    assert np.isfinite(gram(forest()[0], "marginals", X)).all()


@pytest.mark.parametrize(
    "kind",
    [
        sk.RandomForestClassifier(3, random_state=0),
        sk.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_splits_that_part_only_what_is_missing(kind: Any) -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    y = np.random.default_rng(1).random(200) < 0.5
    X[y, 0] = np.nan
    fitted = kind.fit(X, y)
    trees = tree_sum_of(fitted)
    assert any((tree.threshold >= BEYOND).any() for tree in trees.trees)
    on = measure_of(fitted, "marginals", X)
    np.testing.assert_allclose(gram(fitted, on), twin.gram(trees, on), rtol=1e-12)
    np.testing.assert_allclose(gram(fitted), twin.gram(trees, measure_of(fitted)), rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-300, -1e-300, 0.0])
@pytest.mark.parametrize("threshold", [-1e10, 1e10])
def test_splits_that_no_number_can_part(factor: float, threshold: float) -> None:
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.add_split("a", {1: 1.0}, threshold, ("c", "d"))
    for leaf, stats in {"b": [1, 1], "c": [1, 0], "d": [1, 3]}.items():
        builder.set_leaf(leaf, stats)
    tree = builder.build()
    tree = replace(tree, coef=np.array([1.0, factor]))
    points = np.array([[-1.0, -1e9], [-1.0, 1e9], [1.0, 0.0], [1.0, 3.0]])
    expected = gram(tree, "empirical", points)
    np.testing.assert_allclose(gram(tree), expected)
    np.testing.assert_allclose(gram(tree, "marginals", points), expected)


def test_bagged_trees_of_levels_know_the_names() -> None:
    X, y = coloured()
    bagged = sk.BaggingClassifier(C45Classifier(), 3, random_state=0).fit(X, y)
    found = diagnose(bagged, "marginals", X)
    assert found.energy is not None
    assert found.energy.features == ("size", "colour")
    np.testing.assert_array_equal(gram(bagged, "marginals", X[["colour", "size"]]), found_gram(X))
    some = sk.BaggingClassifier(C45Classifier(), 3, max_features=0.5, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="have seen only some of the columns"):
        tree_sum_of(some)


def found_gram(X: pd.DataFrame) -> np.ndarray:
    _, y = coloured()
    return gram(sk.BaggingClassifier(C45Classifier(), 3, random_state=0).fit(X, y), "marginals", X)


def test_sums_of_trees_can_be_pickled() -> None:
    fitted, X = forest()
    boosted = sk.HistGradientBoostingRegressor(max_iter=2).fit(X, iris()[1])
    for one in (fitted, boosted):
        found = tree_sum_of(one)
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.value(X), found.value(X))


# --- large and small numbers -----------------------------------------------------------------


def moved(trees: TreeSum, by: float) -> TreeSum:
    return replace(trees, values=tuple(value + by for value in trees.values))


@pytest.mark.parametrize("measure", ["marginals", "empirical"])
def test_a_large_mean_costs_no_digits(measure: str) -> None:
    """Sums and differences of these values are exact, so that only the method could round."""
    X, _ = iris()
    y = np.round(X["a"] * 4 + X["d"] * 8)
    grown = sk.RandomForestRegressor(8, max_leaf_nodes=9, random_state=0).fit(X, y)
    trees = tree_sum_of(grown)
    trees = replace(trees, values=tuple(np.round(value, 0) for value in trees.values))
    far = moved(trees, 2.0**40)
    near, found = diagnose(trees, measure, X), diagnose(far, measure, X)
    np.testing.assert_allclose(found.covariance, near.covariance, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.correlation, near.correlation, atol=1e-12)
    assert found.n_effective == pytest.approx(near.n_effective, rel=1e-12)
    np.testing.assert_allclose(found.means, near.means + 2.0**40)
    if measure == "marginals":
        one, two = near.energy, found.energy
        assert one is not None and two is not None
        assert one.pairs is not None and two.pairs is not None
        assert two.variance == pytest.approx(one.variance, rel=1e-12)
        np.testing.assert_allclose(two.main, one.main, atol=1e-12 * one.variance)
        np.testing.assert_allclose(two.pairs, one.pairs, atol=1e-12 * one.variance)
        np.testing.assert_allclose(two.total, one.total, atol=1e-12 * one.variance)


def test_a_leaf_that_is_never_reached_costs_no_digits() -> None:
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.add_split("b", {1: 1.0}, 0.0, ("c", "d"))
    for leaf in "acd":
        builder.set_leaf(leaf, [1, 1])
    trees = tree_sum_of(builder.build())
    is_leaf = trees.trees[0].is_leaf
    values = np.zeros((5, 1))
    values[is_leaf, 0] = 2.0**60, 0.25, 0.75
    trees = replace(trees, values=(values,))
    domain = Domain.of_trees(trees.trees)
    found = diagnose(trees, Measure(domain, [[0, 1], [1, 1]]))
    assert found.covariance[0, 0] == 0.0625
    assert found.means[0, 0] == 0.5


@pytest.mark.parametrize("measure", ["uniform", "marginals", "empirical"])
def test_leaves_that_differ_by_rounding_say_the_same(measure: str) -> None:
    X, _ = iris()
    grown = DecisionTreeRegressor(max_leaf_nodes=6).fit(X, X["a"])
    trees = tree_sum_of(grown)
    n = trees.trees[0].n_nodes
    nearly = np.full((n, 1), 0.1 + 0.2)
    nearly[::2] = 0.3
    found = diagnose(replace(trees, values=(nearly,)), measure, X)
    assert found.constant.tolist() == [0]
    assert "Each tree says the same everywhere" in found.describe()


def test_numbers_too_large_to_multiply_are_refused() -> None:
    X, _ = iris()
    with np.errstate(over="ignore"):
        grown = sk.RandomForestRegressor(3, random_state=0).fit(X, X["a"] * 1e200)
    trees = tree_sum_of(grown)
    np.testing.assert_allclose(trees.value(X)[:, 0], grown.predict(X))
    for measure in ("uniform", "empirical"):
        with pytest.raises(ValueError, match=r"numbers as large as 7\.9e\+200"):
            gram(trees, measure, X)


# --- what is refused -------------------------------------------------------------------------


def test_the_estimators_of_a_forest_are_not_the_forest() -> None:
    X, y = iris()
    with pytest.raises(TypeError, match=r"got DecisionTreeClassifier\. Give the ensemble"):
        gram(forest()[0].estimators_)
    boosted = sk.GradientBoostingClassifier(n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="not its estimators_"):
        gram(boosted.estimators_)


@pytest.mark.parametrize("measure", [None, 3, True, ["uniform"], np.ones(3), np.ones((4, 4))])
def test_what_is_no_measure(measure: Any) -> None:
    fitted, _ = forest()
    for ask in (gram, diagnose):
        with pytest.raises(ValueError, match="measure must be 'uniform', 'marginals' or 'emp"):
            ask(fitted, measure)
    with pytest.raises(ValueError, match="measure must be 'uniform' or 'marginals', or a Meas"):
        energy(fitted, measure)


def test_what_no_measure_is_made_of() -> None:
    domain = Domain.of_levels([2, 3])
    odd: Any = "a"
    with pytest.raises(TypeError, match="must be a Domain"):
        Measure(odd, [[1]])
    for odd in (3, None, "ab"):
        with pytest.raises(TypeError, match="sequence of weights"):
            Measure(domain, odd)
    with pytest.raises(ValueError, match="weights must hold numbers"):
        Measure(domain, [[1, 1], ["a", "b", "c"]])
    for small in (1e308, 1e-320):
        with pytest.raises(ValueError, match="add up to a finite number"):
            Measure(domain, [[small, small], [1, 1, 1]])


def test_bad_numbers_and_flags() -> None:
    fitted, X = forest()
    found = diagnose(fitted, "marginals", X)
    assert found.energy is not None
    for odd in (0, -1, 1.5, True, None, "a"):
        for ask in (found.most_alike, found.energy.strongest_pairs):
            with pytest.raises(ValueError, match="most must be a whole number of at least 1"):
                ask(odd)
    for odd in (0, -0.5, 2, np.nan, None, "a"):
        with pytest.raises(ValueError, match="at_least must be above 0 and at most 1"):
            found.repeats(odd)
    for name in ("pairs", "totals"):
        with pytest.raises(ValueError, match=f"{name} must be True or False"):
            energy(fitted, **{name: "no"})
    for name in ("centred", "energy"):
        with pytest.raises(ValueError, match=f"{name} must be True or False"):
            diagnose(fitted, **{name: 1})


def test_another_scikit_learn_is_told_apart() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = sk.HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    del fitted.__dict__["_baseline_prediction"]
    with pytest.raises(TypeError, match=r"has no '_baseline_prediction' there\. Fit it anew"):
        tree_sum_of(fitted)
    fitted = sk.HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    first = fitted._predictors[0][0]
    kept = [name for name in first.nodes.dtype.names if name != "num_threshold"]
    first.nodes = first.nodes[kept]
    with pytest.raises(TypeError, match="has no 'num_threshold' there"):
        tree_sum_of(fitted)


# --- what is too much ------------------------------------------------------------------------


def test_a_table_of_pairs_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, X = forest()
    whole = energy(fitted, "marginals", X)
    monkeypatch.setattr("obliqua.spectrum.energies.MOST_FEATURES", 3)
    found = energy(fitted, "marginals", X)
    assert found.pairs is None
    assert "a table of all pairs of 4 features takes" in found.notes[0]
    asked = energy(fitted, "marginals", X, pairs=True)
    np.testing.assert_array_equal(asked.pairs, whole.pairs)


def test_boxes_are_found_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = coloured()
    bagged = sk.BaggingClassifier(C45Classifier(pruning=None), 3, random_state=0).fit(X, y)
    for fitted, rows in ((bagged, X), forest()):
        whole = energy(fitted, "marginals", rows)
        with monkeypatch.context() as patch:
            patch.setattr("obliqua.spectrum.energies.BLOCK", 1)
            found = energy(fitted, "marginals", rows)
        np.testing.assert_array_equal(found.main, whole.main)
        np.testing.assert_array_equal(found.pairs, whole.pairs)
