"""`diagnose`: its figures are what their definitions say, and its words its figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn import ensemble as sk
from sklearn.tree import DecisionTreeClassifier

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder, TreeError
from obliqua.spectrum import diagnose, energy, gram, measure_of, tree_sum_of
from reference import overlaps as twin


def rows(n_rows: int = 200, n_features: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1)


def forest(n_trees: int = 8, **more: Any) -> Any:
    X, y = rows()
    return sk.RandomForestClassifier(n_trees, max_leaf_nodes=6, random_state=0, **more).fit(X, y)


def half(feature: int, n_features: int = 4) -> Any:
    """A tree that asks one question, whose halves weigh the same."""
    builder = TreeBuilder(n_features, n_stats=2)
    builder.add_split("root", {feature: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    return builder.build()


def test_equal_trees_count_as_one() -> None:
    found = diagnose([half(1)] * 5)
    assert found.n_effective == pytest.approx(1.0)
    np.testing.assert_allclose(found.correlation, 1.0)
    assert found.repeats() == [[0, 1, 2, 3, 4]]
    assert found.n_components(1.0) == 1
    assert "5 trees in 1 group say the same" in found.describe()


def test_independent_trees_count_as_they_are() -> None:
    found = diagnose([half(feature) for feature in range(4)])
    assert found.n_effective == pytest.approx(4.0)
    np.testing.assert_allclose(found.correlation, np.eye(4), atol=1e-15)
    np.testing.assert_allclose(found.shares, 0.25)
    assert found.repeats() == []
    assert found.n_components(0.75) == 3
    assert found.energy is not None
    assert found.energy.orders == pytest.approx({"1": 1.0, "2": 0.0, "more": 0.0})
    np.testing.assert_allclose(found.energy.main, found.energy.variance / 4)
    np.testing.assert_allclose(found.energy.total, found.energy.variance / 4)
    assert found.energy.strongest_pairs() == []


def test_several_groups_and_trees_that_say_nothing() -> None:
    leaf = TreeBuilder(4, 2)
    leaf.set_leaf("root", [3, 1])
    found = diagnose([half(0), half(1), half(0), leaf.build(), half(1), half(0)])
    assert found.repeats() == [[0, 2, 5], [1, 4]]
    assert found.constant.tolist() == [3]
    assert (found.correlation[3] == 0).all()
    assert "everywhere: 3." in found.describe()
    assert found.most_alike(4) == [
        (0, 2, pytest.approx(1.0)),
        (0, 5, pytest.approx(1.0)),
        (1, 4, pytest.approx(1.0)),
        (2, 5, pytest.approx(1.0)),
    ]


@pytest.mark.parametrize("measure", ["uniform", "marginals", "empirical"])
@pytest.mark.parametrize("centred", [True, False])
def test_figures_are_their_definitions(measure: str, centred: bool) -> None:
    X, _ = rows()
    model = forest()
    found = diagnose(model, measure, X, centred=centred)
    products = gram(model, measure, X)
    np.testing.assert_allclose(found.gram, products, rtol=1e-12)
    matrix = products - found.means @ found.means.T if centred else products
    values = np.linalg.eigvalsh(matrix)[::-1]
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-12)
    np.testing.assert_allclose(found.shares, values / values.sum(), atol=1e-12)
    assert found.n_effective == pytest.approx(values.sum() ** 2 / (values**2).sum())
    size = np.sqrt(np.diag(found.covariance))
    np.testing.assert_allclose(found.correlation, found.covariance / np.outer(size, size))
    if measure == "empirical":
        said = twin.functions(tree_sum_of(model), X)
        np.testing.assert_allclose(found.means, said.mean(axis=1), atol=1e-12)
        assert found.energy is None
        assert "measure='marginals' has it" in found.describe()
    else:
        expected = twin.means(tree_sum_of(model), measure_of(model, measure, X))
        np.testing.assert_allclose(found.means, expected, atol=1e-12)


def test_the_sum_of_weights_times_components_is_the_ensemble() -> None:
    X, y = rows()
    model = sk.AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    found = diagnose(model, "empirical", X, centred=False)
    np.testing.assert_allclose(found.components.tree_weights, found.weights, atol=1e-12)


def test_energy_is_part_of_it() -> None:
    X, _ = rows()
    model = forest()
    found = diagnose(model, "marginals", X).energy
    alone = energy(model, "marginals", X)
    assert found is not None and found.pairs is not None and found.total is not None
    np.testing.assert_array_equal(found.main, alone.main)
    np.testing.assert_array_equal(found.pairs, alone.pairs)
    np.testing.assert_array_equal(found.total, alone.total)
    assert diagnose(model, energy=False).energy is None
    expected = twin.effects(tree_sum_of(model), measure_of(model, "marginals", X))
    for f in range(4):
        assert found.main[f] == pytest.approx(expected[f,], abs=1e-12)
    (one, two, share), *_ = found.strongest_pairs(1)
    assert {one, two} == {"x0", "x1"}  # what the classes depend on
    assert share == pytest.approx(found.pairs[0, 1] / found.variance)


def test_the_mean_of_boosting_is_without_its_start() -> None:
    X, _ = rows()
    y = X[:, 0] + 100.0
    model = sk.GradientBoostingRegressor(n_estimators=5).fit(X, y)
    found = energy(model, "marginals", X)
    assert abs(found.mean[0]) < 1.0
    assert found.main.argmax() == 0


def test_what_is_too_much_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.spectrum.energies.MOST_CELLS", 10)
    monkeypatch.setattr("obliqua.spectrum.energies.MOST_STEPS", 10)
    found = diagnose(forest())
    assert found.energy is not None
    assert found.energy.pairs is None
    assert found.energy.total is None
    assert list(found.energy.orders) == ["1", "more"]
    assert found.energy.strongest_pairs() == []
    words = found.describe()
    assert "energy(..., pairs=True) looks at all" in words
    assert "energy(..., totals=True) looks at all" in words
    asked = energy(forest(), pairs=True, totals=True)
    assert asked.pairs is not None and asked.total is not None
    assert asked.notes == ()
    assert energy(forest(), pairs=False, totals=False).notes == ()


def test_oblique_trees_have_no_boxes_but_rows() -> None:
    X, y = rows()
    trees = [CartClassifier().fit(X, y).tree_, HHCartClassifier(random_state=0).fit(X, y).tree_]
    for ask in (diagnose, energy):
        with pytest.raises(TreeError, match=r"Node \d+ of tree 1 is a split over"):
            ask(trees)
    found = diagnose(trees, "empirical", X)
    assert found.n_trees == 2
    assert "2 trees, over the rows of X." in found.describe()


def test_a_measure_of_ones_own() -> None:
    X, _ = rows()
    model = forest()
    found = diagnose(model, measure_of(model, "marginals", X))
    np.testing.assert_allclose(found.gram, gram(model, "marginals", X), rtol=1e-12)
    assert "over a measure of your own" in found.describe()
    assert repr(found).startswith("Diagnosis(8 trees, effectively ")


def test_a_single_tree_and_one_that_says_nothing() -> None:
    found = diagnose(half(0))
    assert found.n_effective == pytest.approx(1.0)
    assert "Correlation" not in found.describe()
    leaf = TreeBuilder(4, 2)
    leaf.set_leaf("root", [3, 1])
    nothing = diagnose(leaf.build())
    assert nothing.n_effective == 0.0
    assert nothing.n_components(0.9) == 0
    assert nothing.energy is not None
    assert set(nothing.energy.orders.values()) == {0.0}
    assert "Variance 0" in nothing.describe()


def test_bad_questions() -> None:
    found = diagnose(half(0))
    for share in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match="share must be above 0"):
            found.n_components(share)
    with pytest.raises(ValueError, match="rows of a table are no product measure"):
        energy(forest(), "empirical", rows()[0])
    with pytest.raises(ValueError, match="measure must be"):
        diagnose(forest(), "gaussian")
