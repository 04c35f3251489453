"""Ensembles of every kind, read as sums of trees: the sum is what the ensemble computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as sk
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import obliqua
from obliqua import C45Classifier, CartClassifier, HHCartClassifier, RepeatedTreesClassifier
from obliqua.spectrum import TreeSum, gram, tree_sum_of
from obliqua.tree.model import Model
from reference import overlaps as twin

SMALL = {"n_estimators": 6, "random_state": 0}
EXACT = {"rtol": 0, "atol": 1e-11}


def data(n_classes: int = 3, n_rows: int = 300, gaps: bool = False) -> tuple[Any, Any]:
    X, y = make_classification(n_rows, 6, n_informative=4, n_classes=n_classes, random_state=0)
    X = X.round(6)  # the last digits depend on the processor
    if gaps:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    return X, np.array(["a", "b", "c"])[y]


def coloured(gaps: bool = False, n_rows: int = 300) -> tuple[pd.DataFrame, Any]:
    """Numbers and colours, with colours in the middle."""
    rng = np.random.default_rng(1)
    colours = rng.choice(["red", "green", "blue", "white"], n_rows)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "colour": pd.Categorical(colours),
            "weight": rng.normal(size=n_rows),
        }
    )
    y = (frame["size"] > 0) ^ np.isin(colours, ["red", "white"]) | (frame["weight"] > 1)
    if gaps:
        frame.loc[rng.random(n_rows) < 0.1, "size"] = np.nan
        frame.loc[rng.random(n_rows) < 0.1, "colour"] = np.nan
    return frame, y.to_numpy()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "kind",
    [
        sk.RandomForestClassifier(**SMALL),
        sk.ExtraTreesClassifier(**SMALL),
        sk.BaggingClassifier(max_features=0.5, max_samples=0.5, **SMALL),
        sk.BaggingClassifier(CartClassifier(), **SMALL),
        sk.VotingClassifier(
            [("a", DecisionTreeClassifier(max_depth=2)), ("b", CartClassifier())],
            voting="soft",
            weights=[1, 3],
        ),
        DecisionTreeClassifier(max_depth=3),
        CartClassifier(),
        RepeatedTreesClassifier(CartClassifier(), n_estimators=3, random_state=0),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_shares_add_up_to_probabilities(kind: Any, n_classes: int) -> None:
    X, y = data(n_classes)
    fitted = kind.fit(X, y)
    found = tree_sum_of(fitted)
    np.testing.assert_allclose(found.value(X), fitted.predict_proba(X), **EXACT)
    assert found.outputs == tuple(fitted.classes_)
    assert found.n_leaves == sum(tree.n_leaves for tree in found.trees)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_add_up_to_adaboost(n_classes: int) -> None:
    X, y = data(n_classes)
    fitted = sk.AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **SMALL).fit(X, y)
    found = tree_sum_of(fitted)
    # It counts 1 for its class and -1 / (K - 1) for the others, and with two classes the
    # difference.
    votes = (n_classes * found.value(X) - 1.0) / (n_classes - 1)
    expected = fitted.decision_function(X)
    if n_classes == 2:
        votes = votes[:, 1] - votes[:, 0]
    np.testing.assert_allclose(votes, expected, **EXACT)
    assert all(set(np.unique(table)) <= {0.0, 1.0} for table in found.values)
    shares = tree_sum_of(fitted, "shares")
    assert any(((table > 0) & (table < 1)).any() for table in shares.values)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("init", [None, "zero"])
def test_leaf_values_add_up_to_boosting(n_classes: int, init: Any) -> None:
    X, y = data(n_classes)
    fitted = sk.GradientBoostingClassifier(init=init, learning_rate=0.3, **SMALL).fit(X, y)
    found = tree_sum_of(fitted)
    expected = fitted.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found.value(X), expected, **EXACT)
    assert found.n_trees == 6 * expected.shape[1]
    for number, table in enumerate(found.values):
        others = np.arange(found.n_outputs) != number % found.n_outputs
        assert (table[:, others] == 0).all()


def test_trees_of_different_classes_are_orthogonal() -> None:
    X, y = data(3)
    fitted = sk.GradientBoostingClassifier(**SMALL).fit(X, y)
    found = gram(fitted, "marginals", X)
    other = np.arange(18)[:, None] % 3 != np.arange(18) % 3
    assert (found[other] == 0).all()
    assert (found[~other] != 0).all()


def test_boosting_of_another_model() -> None:
    X, y = data(2)
    fitted = sk.GradientBoostingClassifier(init=LogisticRegression(), **SMALL).fit(X, y)
    found = tree_sum_of(fitted)
    assert found.start is None
    start = fitted._raw_predict_init(X.astype(np.float32))[:, 0]
    np.testing.assert_allclose(found.value(X)[:, 0] + start, fitted.decision_function(X), **EXACT)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting_with_histograms(n_classes: int, gaps: bool) -> None:
    X, y = data(n_classes, gaps=gaps)
    fitted = sk.HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    found = tree_sum_of(fitted)
    expected = fitted.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found.value(X), expected, **EXACT)
    far = np.array([[np.inf] * 6, [-np.inf] * 6, [np.nan] * 6])
    Z = np.clip(far, -1e308, 1e308)  # what is not finite is no row of ours
    expected = fitted.decision_function(far).reshape(3, -1)
    np.testing.assert_allclose(found.value(Z), expected, **EXACT)


@pytest.mark.parametrize("gaps", [False, True])
def test_boosting_with_histograms_of_categories(gaps: bool) -> None:
    frame, y = coloured(gaps)
    fitted = sk.HistGradientBoostingClassifier(
        max_iter=8, min_samples_leaf=5, categorical_features="from_dtype"
    ).fit(frame, y)
    found = tree_sum_of(fitted)
    assert any((tree.kind == 2).any() for tree in found.trees)
    expected = fitted.decision_function(frame)[:, None]
    np.testing.assert_allclose(found.value(frame), expected, **EXACT)
    assert found.encoding.names == ("colour", "size", "weight")
    strange = frame.head(4).assign(colour=["red", "violet", None, "blue"])
    expected = fitted.decision_function(strange)[:, None]
    np.testing.assert_allclose(found.value(strange), expected, **EXACT)


@pytest.mark.parametrize(
    "kind",
    [
        sk.RandomForestRegressor(**SMALL),
        sk.ExtraTreesRegressor(**SMALL),
        sk.BaggingRegressor(max_features=0.5, **SMALL),
        sk.GradientBoostingRegressor(**SMALL),
        sk.HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5),
        DecisionTreeRegressor(max_depth=4),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_numbers_add_up_to_predictions(kind: Any) -> None:
    X, _ = data()
    y = X[:, 0] * X[:, 1] + X[:, 2]
    fitted = kind.fit(X, y)
    found = tree_sum_of(fitted)
    np.testing.assert_allclose(found.value(X)[:, 0], fitted.predict(X), **EXACT)
    assert found.outputs == ("value",)


def test_regressors_with_several_outputs() -> None:
    X, _ = data()
    fitted = sk.RandomForestRegressor(max_depth=3, **SMALL).fit(X, X[:, :2] ** 2)
    found = tree_sum_of(fitted)
    np.testing.assert_allclose(found.value(X), fitted.predict(X), **EXACT)
    assert found.outputs == ("value 0", "value 1")


def test_qualitative_columns_of_our_own_trees() -> None:
    frame, y = coloured()
    fitted = C45Classifier().fit(frame, y)
    found = tree_sum_of(fitted)
    assert any((tree.kind == 2).any() for tree in found.trees)
    np.testing.assert_allclose(found.value(frame), fitted.predict_proba(frame), **EXACT)


def test_models_and_trees() -> None:
    X, y = data()
    trees = [CartClassifier(max_depth=d, pruning=None).fit(X, y).tree_ for d in (1, 2, 3)]
    voting = tree_sum_of(Model(tuple(trees), "vote", obliqua.data.Encoding.identity(6), [0, 1, 2]))
    np.testing.assert_allclose(
        voting.value(X), np.mean([np.eye(3)[t.leaf_label[t.apply(X)]] for t in trees], axis=0)
    )
    mean = tree_sum_of(trees)
    np.testing.assert_allclose(
        mean.value(X), np.mean([t.proportion[t.apply(X)] for t in trees], axis=0)
    )
    assert tree_sum_of(trees[0]).n_trees == 1
    assert tree_sum_of(mean) is mean
    assert repr(mean).startswith("TreeSum(3 trees, ")
    assert isinstance(mean, TreeSum)


def test_votes_can_be_asked_for() -> None:
    X, y = data()
    forest = sk.RandomForestClassifier(max_depth=3, **SMALL).fit(X, y)
    votes = tree_sum_of(forest, "votes").value(X)
    members = [tree.predict(X).astype(int) for tree in forest.estimators_]
    np.testing.assert_allclose(votes, np.mean([np.eye(3)[m] for m in members], axis=0))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (sk.RandomForestClassifier(), NotFittedError, "not fitted"),
        (CartClassifier(), NotFittedError, "not fitted"),
        (sk.RandomForestClassifier, TypeError, "the class RandomForestClassifier itself"),
        (LinearRegression().fit([[0.0], [1.0]], [0, 1]), TypeError, "class LinearRegression"),
        ("forest", TypeError, "class str"),
        ([], TypeError, "at least one"),
        ([1], TypeError, "got int"),
        (sk.AdaBoostRegressor(n_estimators=2), TypeError, "weighted median"),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), TypeError, r"pipe\[-1\]"),
        (
            GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, cv=2),
            TypeError,
            "best_estimator_",
        ),
        (sk.BaggingClassifier(LogisticRegression(), n_estimators=2), TypeError, "only trees"),
        (sk.BaggingRegressor(LinearRegression(), n_estimators=2), TypeError, "only trees"),
    ],
    ids=repr,
)
def test_what_cannot_be_read(given: Any, error: type[Exception], says: str) -> None:
    X, y = data(2)
    if says not in ("not fitted",) and hasattr(given, "fit") and not isinstance(given, type):
        target = X[:, 0] if "Regress" in type(given).__name__ else y
        given = given.fit(X, target)
    with pytest.raises(error, match=says):
        tree_sum_of(given)


def test_what_cannot_be_asked() -> None:
    X, y = data(2)
    boosting = sk.GradientBoostingClassifier(**SMALL).fit(X, y)
    with pytest.raises(ValueError, match="no classes: values must be 'auto'; got 'votes'"):
        tree_sum_of(boosting, "votes")
    with pytest.raises(ValueError, match="values must be one of 'auto'"):
        tree_sum_of(boosting, "leaves")
    with pytest.raises(ValueError, match="of a TreeSum are given"):
        tree_sum_of(tree_sum_of(boosting), "shares")
    several = sk.RandomForestClassifier(**SMALL).fit(X, np.stack([y, y], axis=1))
    with pytest.raises(TypeError, match="several outputs"):
        tree_sum_of(several)


def test_an_estimator_made_of_an_ensemble_is_refused() -> None:
    X = np.random.default_rng(0).integers(0, 2, (60, 4))
    model = obliqua.AggregatedTreeClassifier(n_estimators=3, random_state=0)
    with pytest.raises(TypeError, match="is itself made of an ensemble"):
        tree_sum_of(model.fit(X, X[:, 0] & X[:, 1]))


def test_oblique_trees_are_read_too() -> None:
    X, y = data()
    fitted = HHCartClassifier(random_state=0).fit(X, y)
    np.testing.assert_allclose(tree_sum_of(fitted).value(X), fitted.predict_proba(X), **EXACT)
    assert twin.functions(tree_sum_of(fitted), X).shape == (1, 300, 3)
