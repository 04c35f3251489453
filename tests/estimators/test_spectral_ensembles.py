"""Ensembles as users have them: odd members, ties, seeds, levels, and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from obliqua import (
    AggregatedTreeClassifier,
    C45Classifier,
    CartClassifier,
    EigenTreeClassifier,
    OrthogonalTreesClassifier,
)
from obliqua.estimators._coding import shares_of
from obliqua.spectrum import Domain

each = pytest.mark.parametrize("Estimator", [AggregatedTreeClassifier, OrthogonalTreesClassifier])
RNG = np.random.default_rng(4)
X = RNG.integers(0, 4, (250, 6)).astype(float)
Y = np.array(["up", "down", "left"])[(X[:, 0] * X[:, 1] + RNG.integers(0, 2, 250)).astype(int) % 3]
PROBES = np.random.default_rng(5).integers(0, 4, (3000, 6)).astype(float)


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(20, max_features=1, max_leaf_nodes=6, random_state=0),
        ExtraTreesClassifier(8, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(), 10, max_samples=9, random_state=0),
        BaggingClassifier(
            C45Classifier(), 9, max_features=0.5, bootstrap_features=True, random_state=0
        ),
        AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=1), n_estimators=40, learning_rate=0.3, random_state=0
        ),
        VotingClassifier(
            [
                ("a", DecisionTreeClassifier(random_state=1)),
                ("gone", "drop"),
                ("b", C45Classifier()),
                ("c", ExtraTreeClassifier(random_state=3)),
            ],
            weights=[1, 9, 1.5, 0.5],
        ),
        VotingClassifier(
            [("a", DecisionTreeClassifier(random_state=1)), ("b", C45Classifier())],
            voting="soft",
            weights=[0, 2],
        ),
    ],
    ids=lambda e: type(e).__name__,
)
def test_all_components_are_ensembles_with_odd_members(ensemble: Any) -> None:
    fitted = clone(ensemble).fit(X, Y)
    model = OrthogonalTreesClassifier(fitted, prefit=True, n_components=None).fit(X, Y)
    expected, got = fitted.predict(PROBES), model.predict(PROBES)
    if hasattr(fitted, "predict_proba"):
        # Where shares are equal, scikit-learn's own rounding may decide.
        shares = np.sort(fitted.predict_proba(PROBES), axis=1)
        clear = shares[:, -1] - shares[:, -2] > 1e-12
        assert clear.mean() > 0.5
        expected, got = expected[clear], got[clear]
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "ensemble",
    [
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=3, random_state=0),
    ],
    ids=lambda e: type(e).__name__,
)
def test_members_that_have_not_seen_all_classes(ensemble: Any) -> None:
    fitted = clone(ensemble).fit(X, Y)
    labels = (
        Y if isinstance(ensemble, AdaBoostClassifier) else np.unique(Y, return_inverse=True)[1]
    )
    seen = labels != labels[np.flatnonzero(Y == "down")[0]]  # the first class of all
    fitted.estimators_[0] = DecisionTreeClassifier(max_depth=4).fit(X[seen], labels[seen])
    assert len(fitted.estimators_[0].classes_) == 2
    model = OrthogonalTreesClassifier(fitted, prefit=True, n_components=None).fit(X, Y)
    np.testing.assert_array_equal(model.predict(PROBES), fitted.predict(PROBES))


@each
def test_parts_of_an_ensemble_without_seeds_get_them(Estimator: Any) -> None:
    parts = [(name, ExtraTreeClassifier()) for name in "abc"]
    model = Estimator(VotingClassifier(parts), random_state=5).fit(X, Y)
    same, other = clone(model).fit(X, Y), clone(model).set_params(random_state=6).fit(X, Y)
    assert same.model_ == model.model_ != other.model_
    assert parts[0][1].random_state is None
    seeded = Estimator(ExtraTreesClassifier(3, random_state=1))
    one, two = (clone(seeded).set_params(random_state=seed).fit(X, Y) for seed in (1, 2))
    assert one.model_ == two.model_, "a seed of its own stays"


@each
def test_a_domain_must_have_the_levels_of_the_trees(Estimator: Any) -> None:
    frame = pd.DataFrame({"sky": ["fog", "rain", "sun"] * 20, "wind": [0.0, 1.0] * 30})
    y = (frame["sky"] == "sun") | (frame["wind"] > 0)
    model = Estimator(n_estimators=4, domain=Domain.of_table(frame), random_state=0)
    assert model.fit(frame, y).score(frame, y) > 0.9
    other = Domain.of_table(pd.DataFrame({"sky": ["dust", "fog", "rain", "sun"], "wind": [0] * 4}))
    for domain in (other, Domain.of_levels([3, 2])):
        with pytest.raises(ValueError, match=r"'sky', whose levels are \['fog', 'rain', 'sun'\]"):
            clone(model).set_params(domain=domain).fit(frame, y)


@each
def test_an_ensemble_that_is_not_fitted(Estimator: Any) -> None:
    with pytest.raises(NotFittedError, match="RandomForestClassifier"):
        Estimator(RandomForestClassifier(), prefit=True).fit(X, Y)
    with pytest.raises(NotFittedError, match="C45Classifier"):
        Estimator(C45Classifier(), prefit=True).fit(X, Y)


@each
def test_trees_for_pairs_of_classes_are_no_sum(Estimator: Any) -> None:
    with pytest.raises(TypeError, match="tree for each pair of classes"):
        Estimator(EigenTreeClassifier()).fit(X[:, :1], Y)


def test_sums_become_shares() -> None:
    sums = np.array([[0.5, 0.5, -0.2], [-1.0, -0.5, -2.0], [0.0, 0.0, 0.0], [2.0, 0.0, 6.0]])
    expected = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.0, 0.75]]
    assert shares_of(sums).tolist() == expected


def test_light_trees_are_not_forgotten() -> None:
    # Both trees say the same but at one point, where the light one decides nothing.
    rows = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = [0, 0, 1, 0] * 5
    members = [("a", DecisionTreeClassifier(max_depth=1)), ("b", DecisionTreeClassifier())]
    fitted = VotingClassifier(members, weights=[1, 1e-7]).fit(rows, y)
    model = AggregatedTreeClassifier(fitted, prefit=True, max_leaf_nodes=None).fit(rows, y)
    light = 1e-7 / (1 + 1e-7)
    np.testing.assert_allclose(
        model.predict_proba(rows[:4])[:, 1], [0, 0, light, 0], rtol=1e-6, atol=1e-13
    )


def test_components_that_are_rounding_have_trees_of_one_leaf() -> None:
    """Equal trees have one component; the others are 0, by spectra and by leaves."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (200, 8))
    y = (X[:, 0] & X[:, 1] | X[:, 2]) ^ (rng.random(200) < 0.1)
    trees = [
        (str(i), DecisionTreeClassifier(max_depth=2 + i % 2, random_state=0)) for i in range(4)
    ]
    for most in (2**17, 1):
        model = OrthogonalTreesClassifier(
            VotingClassifier(trees),
            n_components=None,
            max_coefficients=most,
            predict_with="trees",
            max_leaf_nodes=None,
        ).fit(X, y)
        assert [tree.n_leaves for tree in model.trees_][2:] == [1, 1]
        np.testing.assert_allclose(model.fidelity_, 1.0)
        assert len(model.predict(X)) == 200


@each
def test_a_domain_must_hold_the_rows(Estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 2)).astype(float), rng.integers(0, 2, 60)
    with pytest.raises(ValueError, match=r"levels \[0, 1\] for column 'x0', which holds 2"):
        Estimator(n_estimators=2, domain=Domain.of_levels([2, 3])).fit(X, y)
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    fitted = Estimator(n_estimators=2, domain=Domain.of_levels([3, 3]), random_state=0)
    assert fitted.fit(holed, y).domain_.size == 9


def rows_with_missing(levels: bool, often: float) -> tuple[Any, Any]:
    """Rows of which those that miss the first column are nearly all of one class."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (400, 3)).astype(float)
    y = (X[:, 0] + X[:, 1] > 4).astype(int)
    missing = rng.random(400) < 0.3
    y[missing] = rng.random(missing.sum()) < often
    X[missing, 0] = np.nan
    return (pd.DataFrame(X).replace(dict(enumerate("abcde"))) if levels else X), y


@pytest.mark.parametrize("often", [0.1, 0.9])
@pytest.mark.parametrize("levels", [False, True], ids=["numbers", "levels"])
def test_rows_that_miss_values_go_where_the_ensemble_sends_them(
    levels: bool, often: float
) -> None:
    X, y = rows_with_missing(levels, often)
    tree = CartClassifier(random_state=0, max_depth=1).fit(X, y)
    model = AggregatedTreeClassifier(tree, prefit=True, max_leaf_nodes=None).fit(X, y)
    assert model.fidelity_ == pytest.approx(1.0)
    assert model.predict(X).tolist() == tree.predict(X).tolist()
    assert model.agreement_ == 1.0


def test_a_tree_that_cannot_say_what_is_missing_tells() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 2)).astype(float)
    y = (X[:, 1] > 0).astype(int)
    X[:60, 0] = np.nan
    y[:60] = 1 - y[:60]  # whether the first column is there is all that it says
    tree = CartClassifier(pruning=None).fit(X, y)
    assert tree.score(X, y) == 1.0
    with pytest.warns(UserWarning, match="60 of the 60 training rows with missing values get an"):
        model = AggregatedTreeClassifier(tree, prefit=True).fit(X, y)
    assert model.fidelity_ == pytest.approx(1.0)
    assert model.agreement_ == 140 / 200
