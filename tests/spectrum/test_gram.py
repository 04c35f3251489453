"""`gram` on fitted ensembles: measures, kinds of columns, large trees, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as sk
from sklearn.tree import DecisionTreeClassifier

from obliqua import (
    C45Classifier,
    CartClassifier,
    HHCartClassifier,
    LMDTClassifier,
    TreeBuilder,
    TreeError,
)
from obliqua.spectrum import (
    Domain,
    Feature,
    Measure,
    TreeSum,
    gram,
    gram_of_leaves,
    leaf_sum_of,
    measure_of,
    tree_sum_of,
)
from reference import overlaps as twin

EXACT = {"rtol": 0, "atol": 1e-12}


def rows(n_rows: int = 80, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).round(1)
    return X, np.where(X[:, 0] * X[:, 1] > 0.2, "yes", np.where(X[:, 2] > 0.5, "may be", "no"))


FEW = {"n_estimators": 4, "random_state": 0}
KINDS = [
    sk.RandomForestClassifier(max_leaf_nodes=5, **FEW),
    sk.ExtraTreesClassifier(max_leaf_nodes=5, **FEW),
    sk.BaggingClassifier(DecisionTreeClassifier(max_leaf_nodes=5), max_features=2, **FEW),
    sk.BaggingClassifier(CartClassifier(max_leaf_nodes=5, pruning=None), **FEW),
    sk.AdaBoostClassifier(DecisionTreeClassifier(max_leaf_nodes=4), **FEW),
    sk.GradientBoostingClassifier(max_leaf_nodes=4, n_estimators=2, random_state=0),
    sk.HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5, min_samples_leaf=3),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("measure", ["uniform", "marginals"])
def test_ensembles_over_their_grid(kind: Any, measure: str) -> None:
    X, y = rows()
    fitted = kind.fit(X, y)
    trees = tree_sum_of(fitted)
    on = measure_of(fitted, measure, X)
    found = gram(fitted, measure, X)
    assert on.domain.size > 20
    np.testing.assert_allclose(found, twin.gram(trees, on), **EXACT)
    assert np.linalg.eigvalsh(found).min() > -1e-12


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
def test_ensembles_over_rows(kind: Any) -> None:
    X, y = rows()
    fitted = kind.fit(X, y)
    said = twin.functions(tree_sum_of(fitted), X)
    expected = np.einsum("irk,jrk->ij", said, said) / len(X)
    found = gram(fitted, "empirical", X)
    np.testing.assert_allclose(found, expected, **EXACT)
    np.testing.assert_array_equal(found, found.T)


def test_many_rows_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows()
    fitted = KINDS[0].fit(X, y)
    whole = gram(fitted, "empirical", X)
    monkeypatch.setattr("obliqua.spectrum.overlaps.BLOCK", 7 * 4 * 3)
    np.testing.assert_allclose(gram(fitted, "empirical", X), whole, **EXACT)


def test_marginals_are_counts() -> None:
    X, y = rows()
    fitted = KINDS[0].fit(X, y)
    on = measure_of(fitted, "marginals", X)
    for place, feature in enumerate(on.domain.features):
        ends = [-np.inf, *feature.entries, np.inf]
        expected = np.histogram(-X[:, place], -np.array(ends[::-1]))[0][::-1]
        np.testing.assert_array_equal(on.weights[place], expected)
        assert on.share(place).sum() == pytest.approx(1.0)
    assert repr(on) == f"Measure(3 features, {sum(on.domain.cardinalities)} levels)"


def test_missing_values_weigh_what_they_are() -> None:
    X, y = rows(200)
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    for kind in (
        sk.HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=5, min_samples_leaf=3),
        sk.RandomForestClassifier(max_leaf_nodes=5, **FEW),
        CartClassifier(max_leaf_nodes=8, pruning=None),
    ):
        fitted = kind.fit(X, y)
        on = measure_of(fitted, "marginals", X)
        np.testing.assert_array_equal(on.missing, np.isnan(X).sum(axis=0))
        found = gram(fitted, "marginals", X)
        np.testing.assert_allclose(found, twin.gram(tree_sum_of(fitted), on), **EXACT)
        assert "3 of them with gaps" in repr(on)


def test_a_tree_without_a_way_for_gaps_is_refused() -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    with pytest.raises(TreeError, match="node 0 of tree 0 has nothing for a missing value"):
        gram(tree, Measure(Domain.of_trees([tree]), [[1, 1]], missing=[1]))
    assert gram(tree)[0, 0] == 1.0
    levels = TreeBuilder(n_features=1, n_stats=2)
    levels.add_levels("root", 0, [0, 1], ("a", "b"))
    levels.set_leaf("a", [1, 0])
    levels.set_leaf("b", [0, 1])
    sets = levels.build()
    sets = replace(sets, fill=np.full(1, np.nan))
    with pytest.raises(TreeError, match="has nothing for a missing value"):
        gram(sets, Measure(Domain.of_levels([2]), [[1, 1]], missing=[1]))


@pytest.mark.parametrize("measure", ["uniform", "marginals", "empirical"])
@pytest.mark.parametrize("gaps", [False, True])
def test_qualitative_columns(measure: str, gaps: bool) -> None:
    rng = np.random.default_rng(2)
    n = 150
    colours = rng.choice(["red", "green", "blue", "white"], n).astype(object)
    frame = pd.DataFrame({"size": rng.normal(size=n).round(1), "colour": colours})
    y = (frame["size"] > 0) ^ np.isin(colours, ["red", "white"])
    if gaps:
        frame.loc[rng.random(n) < 0.1, "colour"] = None
        frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    frame["colour"] = frame["colour"].astype("category")
    for kind in (
        C45Classifier(),
        CartClassifier(max_leaf_nodes=6),
        sk.HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=4),
    ):
        fitted = kind.fit(frame, y)
        trees = tree_sum_of(fitted)
        found = gram(fitted, measure, frame)
        if measure == "empirical":
            said = twin.functions(trees, trees.rows(frame))
            expected = np.einsum("irk,jrk->ij", said, said) / n
        else:
            expected = twin.gram(trees, measure_of(fitted, measure, frame))
        np.testing.assert_allclose(found, expected, **EXACT)


def test_levels_that_no_tree_knows_weigh_what_they_are() -> None:
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red", "green"] * 10)})
    fitted = C45Classifier(min_samples_leaf=1).fit(frame, frame["colour"] == "red")
    other = pd.DataFrame({"colour": ["violet", "red", "red", "blue"]})
    on = measure_of(fitted, "marginals", other)
    assert on.unseen.tolist() == [1.0]
    np.testing.assert_allclose(
        gram(fitted, "marginals", other), twin.gram(tree_sum_of(fitted), on), **EXACT
    )


def of_leaves(trees: TreeSum, on: Measure) -> np.ndarray:
    """The inner products, from all pairs of leaves."""
    pairs = zip(trees.trees, trees.values, strict=True)
    return gram_of_leaves([leaf_sum_of(tree, on.domain, value) for tree, value in pairs])


def test_a_huge_domain_is_not_enumerated() -> None:
    X = np.random.default_rng(0).normal(size=(500, 40))
    y = X[:, :5].sum(axis=1) > 0
    forest = sk.RandomForestClassifier(20, random_state=0).fit(X, y)
    on = measure_of(forest)
    assert on.domain.size > 10**50
    found = gram(forest, on)
    np.testing.assert_allclose(np.diag(found), 1.0)  # leaves are pure
    np.testing.assert_allclose(found, of_leaves(tree_sum_of(forest), on), rtol=1e-11)


@pytest.mark.parametrize(
    ("kind", "what"),
    [
        (HHCartClassifier(random_state=0), "a split over 3 columns"),
        (LMDTClassifier(random_state=0), "a linear machine"),
    ],
    ids=["hyperplane", "machine"],
)
def test_oblique_trees_get_a_clear_message(kind: Any, what: str) -> None:
    X, y = rows()
    plain, oblique = CartClassifier().fit(X, y).tree_, kind.fit(X, y).tree_
    for measure in ("uniform", "marginals"):
        with pytest.raises(TreeError, match=rf"Node \d of tree 1 is {what}") as caught:
            gram([plain, oblique], measure, X)
        assert "take any tree with measure='empirical'" in str(caught.value)
    said = twin.functions(tree_sum_of([plain, oblique]), X)
    expected = np.einsum("irk,jrk->ij", said, said) / len(X)
    np.testing.assert_allclose(gram([plain, oblique], "empirical", X), expected, **EXACT)


def test_bad_words() -> None:
    X, y = rows()
    forest = KINDS[0].fit(X, y)
    with pytest.raises(ValueError, match="measure must be 'uniform', 'marginals' or 'empirical'"):
        gram(forest, "gaussian")
    with pytest.raises(ValueError, match="give them as X; got None"):
        gram(forest, "marginals")
    with pytest.raises(ValueError, match="give them as X; got None"):
        gram(forest, "empirical")
    bad: Any
    for bad in (0, True, 1.5):
        with pytest.raises(ValueError, match="n_threads must be a whole number"):
            gram(forest, n_threads=bad)
    with pytest.raises(ValueError, match="at least one row"):
        Measure.marginals(measure_of(forest).domain, np.zeros((0, 3)))
    with pytest.raises(ValueError, match="about 2 features and the trees about 3 columns"):
        gram(forest, Measure.uniform(Domain.of_levels([2, 2])))


def test_a_measure_of_other_trees_is_refused() -> None:
    X, y = rows()
    one, two = (DecisionTreeClassifier(max_depth=d).fit(X, y) for d in (1, 4))
    with pytest.raises(TreeError, match="inside an interval of the measure"):
        gram(two, measure_of(one))
    assert gram(one, measure_of([tree_sum_of(two).trees[0], tree_sum_of(one).trees[0]])).shape == (
        1,
        1,
    )


@pytest.mark.parametrize(
    ("weights", "more", "says"),
    [
        ([[1, 1]], {}, "arrays of the lengths"),
        ([[1, 1], [1, 1]], {}, "arrays of the lengths"),
        ([[1, -1], [1, 1, 1]], {}, "none of them negative"),
        ([[0, 0], [1, 1, 1]], {}, "not all 0"),
        ([[np.nan, 1], [1, 1, 1]], {}, "must be finite"),
        ([[1, 1], [1, 1, 1]], {"missing": [1]}, "missing must hold a number for each"),
        ([[1, 1], [1, 1, 1]], {"unseen": [0, 1]}, "unseen must be 0 there"),
    ],
)
def test_bad_measures(weights: Any, more: Any, says: str) -> None:
    domain = Domain((Feature("a", "levels", ("x", "y")), Feature("b", "intervals", (0.0, 1.0))))
    with pytest.raises(ValueError, match=says):
        Measure(domain, weights, **more)


def test_numbers_that_are_no_values_of_the_domain() -> None:
    domain = Domain.of_table([[0], [1], [2]])
    with pytest.raises(ValueError, match="1 rows have numbers in the column"):
        Measure.marginals(domain, np.array([[0.0], [0.5]]))
