"""How much each feature varies among the rows at a node."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    ObliqueTreeRegressor,
    Tree,
    TreeBuilder,
    TreeError,
    measure_spread,
)
from obliqua.data.problem import encode
from obliqua.tree.fold import fold
from problems import examples
from reference.spread import spread


def grown(rng: np.random.Generator, n: int = 60, p: int = 4) -> tuple[Tree, np.ndarray]:
    X = rng.integers(0, 6, size=(n, p)) * rng.choice([0.1, 1.0, 7.5], size=p)
    y = (X @ rng.normal(size=p) + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    fitted = HHCartClassifier(pruning=None, extra_directions="fisher").fit(X, y)
    return fitted.tree_, X


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans(), single=st.booleans())
def test_it_is_the_standard_deviation(seed: int, weighted: bool, single: bool) -> None:
    rng = np.random.default_rng(seed)
    tree, X = grown(rng)
    X = X.astype(np.float32 if single else np.float64)
    weights = rng.integers(0, 4, size=len(X)) if weighted else None
    found = measure_spread(tree, X, weights).spread
    expected = spread(tree, X, weights)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=2.0**-24, atol=1e-9)


def test_a_fit_knows_the_rows_that_grew_its_tree() -> None:
    rng = np.random.default_rng(3)
    tree, X = grown(rng, n=300)
    oblique = np.diff(tree.coef_ptr)[tree.plane_of_coef] > 1
    assert oblique.any()
    np.testing.assert_array_equal(tree.spread, measure_spread(tree, X).spread)
    assert not np.isnan(tree.spread[oblique]).any()


@pytest.mark.parametrize("pruning", ["holdout", "reduced_error", "cv", "pessimistic", None])
def test_every_way_of_pruning_measures(pruning: str | None) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    tree = HHCartClassifier(pruning=pruning, random_state=0).fit(X, y).tree_
    assert tree.n_samples[0] == (180 if pruning in ("holdout", "reduced_error") else 200)
    part = tree.plane_of_coef == 0
    assert part.sum() == 3
    if pruning in ("cv", "pessimistic", None):
        np.testing.assert_allclose(tree.spread[part], X.std(axis=0), rtol=1e-7)
    else:
        np.testing.assert_allclose(tree.spread[part], X.std(axis=0), rtol=0.1)
        assert (np.abs(tree.spread[part] / X.std(axis=0) - 1) > 1e-5).any()


def test_no_order_of_rows_and_no_repeated_row_shows() -> None:
    rng = np.random.default_rng(5)
    tree, X = grown(rng, n=200)
    X = X + rng.normal(size=X.shape)
    weights = rng.integers(1, 5, size=len(X))
    once = measure_spread(tree, X, weights)
    order = rng.permutation(len(X))
    assert measure_spread(tree, X[order], weights[order]) == once
    assert measure_spread(tree, np.repeat(X, weights, axis=0)) == once
    assert measure_spread(tree, np.asfortranarray(X), weights, n_threads=2) == once


def oblique_root() -> Tree:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 0.5, ("low", "high"))
    builder.add_split("high", {0: 1.0, 1: 2.0}, 9.0, ("a", "b"))
    for leaf in ("low", "a", "b"):
        builder.set_leaf(leaf, [1, 0])
    return builder.build()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([1e300, -1e300, 1e300, -1e300], 1e300),
        ([1e-300, -1e-300, 1e-300, -1e-300], 1e-300),
        ([1e12 + 1, 1e12 - 1, 1e12 + 1, 1e12 - 1], 1.0),
        ([0.1] * 4, 0.0),
    ],
)
def test_sizes_of_all_kinds(column: list[float], expected: float) -> None:
    Z = np.array([column, [0.0, 1.0, 0.0, 1.0]]).T
    found = measure_spread(oblique_root(), Z).spread
    np.testing.assert_allclose(found[:2], [expected, 0.5], rtol=1e-7)


@pytest.mark.parametrize("far", [1e9, 1e10, 1e12, 1e15, 1e100])
def test_one_far_value_does_not_hide_the_others(far: float) -> None:
    """However far one value is, the others are told apart at the node that they reach."""
    rng = np.random.default_rng(6)
    Z = np.column_stack([rng.normal(size=1001), np.ones(1001)])
    Z[0] = -far, 1.0
    found = measure_spread(oblique_root(), Z).spread
    rows = Z[(Z.sum(axis=1) > 0.5), 0]
    assert found[2] == pytest.approx(rows.std(), rel=1e-6)
    assert found[0] == pytest.approx(Z[:, 0].std(), rel=1e-6)


def test_sizes_near_the_limit_stay_finite() -> None:
    largest = np.finfo(float).max
    tree = measure_spread(oblique_root(), np.array([[largest, 0.0], [-largest, 1.0]]))
    tree.validate()
    assert tree.spread[0] == pytest.approx(largest)


def test_the_scale_of_weights_means_nothing() -> None:
    rng = np.random.default_rng(8)
    tree, X = grown(rng)
    weights = rng.integers(1, 5, size=len(X)).astype(float)
    once = measure_spread(tree, X, weights)
    for factor in (2.0**600, 2.0**-900):
        assert measure_spread(tree, X, weights * factor) == once


def test_nodes_without_rows_stay_unknown() -> None:
    found = measure_spread(oblique_root(), np.array([[0.0, 0.0], [-1.0, 0.0]])).spread
    np.testing.assert_array_equal(found, [0.5, 0.0, np.nan, np.nan])


def test_many_columns_are_measured_in_blocks() -> None:
    rng = np.random.default_rng(7)
    builder = TreeBuilder(100, 2)
    used = dict.fromkeys(range(0, 100, 2), 1.0)
    builder.add_split("root", used, 0.0, ("low", "high"))
    builder.set_leaf("low", [1, 0])
    builder.set_leaf("high", [0, 1])
    Z = rng.normal(size=(50, 100)) * rng.uniform(1, 100, size=100)
    found = measure_spread(builder.build(), Z).spread
    np.testing.assert_allclose(found, Z[:, ::2].std(axis=0), rtol=1e-7)


def test_axis_parallel_splits_are_measured_too() -> None:
    tree = CartClassifier(pruning=None).fit([[0.0], [1.0]], [0, 1]).tree_
    np.testing.assert_array_equal(tree.spread, [0.5])
    leaf = CartClassifier().fit([[0.0], [1.0]], [0, 0]).tree_
    assert measure_spread(leaf, np.zeros((1, 1))) is leaf


def test_level_tables_are_passed_over() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: 1.0}, 0.5, ("a", "b"), tables={1: [0.0, 1.0]})
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    found = measure_spread(builder.build(), np.array([[0.0, 1.0], [2.0, 0.0]])).spread
    np.testing.assert_array_equal(found, [1.0, np.nan])


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
def test_means_of_columns(seed: int, weighted: bool) -> None:
    """What stands in for a missing value: exact to rounding, and no order of rows shows."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(50, 4)) * [1e-300, 1.0, 1e6, 1e300] + [0.0, 1e9, 0.0, 0.0]
    weights = rng.integers(1, 5, size=50) if weighted else None
    problem = encode(Z, np.arange(50) % 2, 2, sample_weight=weights)
    w = np.ones(50) if weights is None else weights
    expected = [
        float(sum(Fraction(v) * int(c) for v, c in zip(z, w, strict=True)) / int(w.sum()))
        for z in Z.T.tolist()
    ]
    np.testing.assert_allclose(
        problem.means / np.abs(Z).max(0), expected / np.abs(Z).max(0), atol=1e-15
    )
    order = rng.permutation(50)
    again = encode(
        Z[order], (np.arange(50) % 2)[order], 2, None if weights is None else weights[order]
    )
    np.testing.assert_array_equal(again.means, problem.means)
    tree = CartClassifier(pruning=None).fit(Z, np.arange(50) % 2).tree_
    if weights is None:
        np.testing.assert_array_equal(tree.fill, problem.means[tree.coef_idx])


def test_what_cannot_be_measured() -> None:
    with pytest.raises(TreeError, match="measured on rows; got none"):
        measure_spread(oblique_root(), np.empty((0, 2)))
    with pytest.raises(TreeError, match=r"one weight per row, 2; got shape \(1,\)"):
        measure_spread(oblique_root(), np.zeros((2, 2)), [1.0])
    with pytest.raises(TreeError, match="finite and not negative"):
        measure_spread(oblique_root(), np.zeros((2, 2)), [1.0, -1.0])
    with pytest.raises(ValueError, match="infinity"):
        measure_spread(oblique_root(), np.array([[np.inf, 0.0]]))


def test_large_axis_parallel_trees_are_not_measured() -> None:
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(3000, 2)), rng.integers(0, 2, size=3000)
    large = CartClassifier(pruning=None).fit(X, y).tree_
    assert large.n_leaves > 1000
    assert np.isnan(large.spread).all()
    small = CartClassifier(pruning=None, max_leaf_nodes=900).fit(X, y).tree_
    assert not np.isnan(small.spread).any()


def test_columns_with_missing_values_do_not_hinder_others() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    X[::5, 2] = np.nan
    tree = CartClassifier(pruning=None).fit(X, y).tree_
    root = tree.coef_idx[0]
    assert tree.spread[0] == pytest.approx(np.nanstd(X[:, root]), rel=1e-6)


def test_an_estimator_is_no_tree() -> None:
    X, y = np.arange(4.0)[:, None], [0, 0, 1, 1]
    model = CartClassifier().fit(X, y)
    with pytest.raises(TypeError, match=r"measure_spread\(\) takes a Tree; got CartClassifier"):
        measure_spread(model, X)
    with pytest.raises(TypeError, match=r"fold\(\) takes a Tree; got CartClassifier"):
        fold(model, shift=1.0)


def test_weights_that_are_no_whole_numbers_and_threads() -> None:
    """A row that is far out, with next to no weight: its part in sums must not be rounded away."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([1.0 + 1e-9 * rng.normal(size=3000), [1e3]])[:, None]
    weights = np.append(rng.random(3000), 1e-30)
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 2e3, ("low", "high"))
    builder.set_leaf("low", [3, 0])
    builder.set_leaf("high", [0, 2])
    tree = builder.build()
    found = [measure_spread(tree, rows, weights, n_threads).spread[0] for n_threads in (1, 2, 7)]
    assert found[0] == found[1] == found[2]
    share = weights[:-1] / weights[:-1].sum()
    near = rows[:-1, 0] - 1.0
    expected = np.sqrt((share * (near - share @ near) ** 2).sum())
    assert found[0] == pytest.approx(expected, rel=1e-2)


@pytest.mark.parametrize("n_threads", [0, -1])
def test_no_threads_are_one(n_threads: int) -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("low", "high"))
    builder.set_leaf("low", [3, 0])
    builder.set_leaf("high", [0, 2])
    rows = np.array([[0.0], [1.0]])
    assert measure_spread(builder.build(), rows, n_threads=n_threads).spread == [0.5]


def test_a_large_tree_is_measured_where_several_features_meet() -> None:
    """Of the others only digits of texts depend on it, which take as much room as all rows."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(6000, 3))
    y = X[:, 0] + X[:, 1] + rng.normal(size=6000)
    tree = ObliqueTreeRegressor(pruning=None, min_samples_leaf=1).fit(X, y).tree_
    assert tree.n_leaves > 1000
    oblique = np.diff(tree.coef_ptr)[tree.plane_of_coef] > 1
    assert 0 < oblique.sum() < oblique.size
    everywhere = measure_spread(tree, X).spread
    np.testing.assert_array_equal(tree.spread[oblique], everywhere[oblique])
    assert np.isnan(tree.spread[~oblique]).all()
    assert not np.isnan(everywhere).any()
