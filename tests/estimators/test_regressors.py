"""Regressors with oblique splits and linear leaves: what they promise, and odd input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

import obliqua
from obliqua import (
    CartRegressor,
    ObliqueTreeRegressor,
    RefinedTreeRegressor,
    export_rules,
    export_text,
)

# How lines are fitted is given, so that little has to be chosen.
LINES = {"leaf_model": "linear", "leaf_penalty": 1.0, "leaf_smoothing": 5.0, "random_state": 0}
KINDS = [
    CartRegressor(random_state=0),
    ObliqueTreeRegressor(random_state=0),
    ObliqueTreeRegressor(**LINES),
    RefinedTreeRegressor(
        leaf_model="constant", leaf_smoothing=1.0, max_leaf_nodes=4, random_state=0
    ),
    RefinedTreeRegressor(max_leaf_nodes=3, **LINES),
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: repr(kind)[:60])


@parametrize_with_checks(
    [ObliqueTreeRegressor(leaf_model="linear", leaf_penalty=1.0, leaf_smoothing=5.0)]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def again(estimator: Any, **params: Any) -> Any:
    """An unfitted copy with other parameters."""
    return type(estimator)(**{**estimator.get_params(), **params})


def pieces(n: int = 600, seed: int = 0) -> tuple[Any, Any]:
    """Two planes that meet in an oblique line, with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    side = X[:, 0] + X[:, 1] > 0.2
    y = np.where(side, 3.0 + X[:, 2], -2.0 * X[:, 0] - 3.0) + 0.1 * rng.normal(size=n)
    return X, y


# --- what they learn -------------------------------------------------------------------------


def test_a_linear_target_is_one_leaf() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = 3.0 + X @ [1.0, -2.0, 0.5, 0.0]
    tree = RefinedTreeRegressor(leaf_model="linear", random_state=0).fit(X, y)
    assert tree.get_n_leaves() == 1
    assert tree.score(X, y) > 0.999


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], KINDS[3]], ids=lambda kind: repr(kind)[:30])
def test_a_step_along_an_axis_is_found_exactly(kind: Any) -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    y = np.where(X[:, 1] > 0.3, 5.0, 1.0)
    tree = again(kind, leaf_smoothing=0.0).fit(X, y)
    assert tree.get_n_leaves() == 2
    np.testing.assert_array_equal(tree.predict(X), y)


def test_an_oblique_step_is_found_by_oblique_splits() -> None:
    X = np.random.default_rng(0).normal(size=(800, 3))
    y = np.where(X[:, 0] + X[:, 1] - 2 * X[:, 2] > 0.5, 5.0, 1.0)
    tree = ObliqueTreeRegressor(max_leaf_nodes=2, pruning=None).fit(X, y)
    assert tree.score(X, y) > 0.85
    refined = RefinedTreeRegressor(max_leaf_nodes=2, random_state=0).fit(X, y)
    assert refined.chosen_ == "refined"
    assert refined.score(X, y) > 0.97


def test_linear_leaves_and_refinement_pay_where_planes_meet() -> None:
    X, y = pieces()
    X_new, y_new = pieces(seed=1)
    constant = ObliqueTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    linear = ObliqueTreeRegressor(leaf_model="linear", max_leaf_nodes=4, random_state=0).fit(X, y)
    refined = RefinedTreeRegressor(max_leaf_nodes=4, random_state=0).fit(X, y)
    assert linear.tree_.has_lines
    assert refined.tree_.has_lines  # 'auto' has found out
    assert constant.score(X_new, y_new) < 0.9
    assert linear.score(X_new, y_new) > constant.score(X_new, y_new)
    assert refined.score(X_new, y_new) > linear.score(X_new, y_new)
    assert refined.score(X_new, y_new) > 0.98


def test_auto_takes_constants_where_lines_do_not_pay() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, 2)).astype(float)
    y = np.array([0.0, 7.0, 2.0])[X[:, 0].astype(int)] + 0.1 * rng.normal(size=400)
    tree = ObliqueTreeRegressor(leaf_model="auto", random_state=0).fit(X, y)
    assert not tree.tree_.has_lines
    assert tree.score(X, y) > 0.99


def test_one_line_is_ridge_regression_within_limits() -> None:
    X, y = pieces()
    tree = CartRegressor(
        leaf_model="linear", leaf_penalty=2.0, leaf_smoothing=0.0, ccp_alpha=1e9, prune_root=True
    ).fit(X, y)
    assert tree.get_n_leaves() == 1
    scaled = X / X.std(axis=0)
    ridge = Ridge(alpha=2.0).fit(scaled, y)
    expected = np.clip(ridge.predict(scaled), y.min(), y.max())
    np.testing.assert_allclose(tree.predict(X), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("most", [1, 2])
def test_few_features_per_split_and_per_leaf(most: int) -> None:
    X, y = pieces()
    limits = {"max_features_per_split": most, "max_features_per_leaf": most}
    for Estimator in (ObliqueTreeRegressor, RefinedTreeRegressor):
        tree = Estimator(leaf_model="linear", leaf_penalty=1.0, random_state=0, **limits)
        tree = tree.set_params(max_leaf_nodes=4).fit(X, y).tree_
        assert tree.n_leaves > 1
        assert np.diff(tree.coef_ptr).max() <= most
        assert np.diff(tree.leaf_ptr).max() <= most


def test_a_proposer_of_ones_own() -> None:
    X, y = pieces()

    def along_both(node: Any) -> Any:
        return np.array([[1.0, 1.0, 0.0]])

    tree = ObliqueTreeRegressor(along_both, max_leaf_nodes=2, pruning=None).fit(X, y)
    assert tree.score(X, y) > 0.6
    lines = ObliqueTreeRegressor(
        along_both, leaf_model="linear", max_leaf_nodes=2, pruning=None
    ).fit(X, y)
    assert lines.score(X, y) > 0.95


@pytest.mark.parametrize("pruning", ["holdout", "cv", "reduced_error", None])
@pytest.mark.parametrize("n_se", [0.0, 1.0])
def test_pruning_of_trees_with_lines(pruning: str | None, n_se: float) -> None:
    X, y = pieces()
    fit = {"leaf_model": "linear", "leaf_penalty": 1.0, "leaf_smoothing": 0.0, "random_state": 0}
    tree = ObliqueTreeRegressor(pruning=pruning, n_folds=3, n_se=n_se, **fit).fit(X, y)
    whole = ObliqueTreeRegressor(pruning=None, **fit).fit(X, y)
    assert tree.get_n_leaves() <= whole.get_n_leaves()
    assert (tree.get_n_leaves() < whole.get_n_leaves()) == (pruning is not None)
    assert tree.score(*pieces(seed=1)) > 0.8


def test_prices_of_leaves_with_lines() -> None:
    X, y = pieces()
    tree = CartRegressor(leaf_model="linear", leaf_penalty=1.0, leaf_smoothing=0.0)
    path = tree.cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) >= 0).all()
    middle = len(path.ccp_alphas) // 2
    tree.set_params(ccp_alpha=path.ccp_alphas[middle] * 1.0001).fit(X, y)
    assert tree.get_n_leaves() == path.n_leaves[middle]
    error = np.mean((y - tree.predict(X)) ** 2)
    assert path.impurities[middle] == pytest.approx(error, rel=1e-9)


@each_kind
def test_gains_are_decreases_of_impurity(kind: Any) -> None:
    X, y = pieces()
    tree = again(kind).fit(X, y).model_.trees[0]
    inner = np.flatnonzero(~tree.is_leaf)
    assert len(inner)
    weight = tree.weighted_n_node_samples
    error = weight * tree.impurity / weight[0]
    first = tree.first_child[inner]
    lowered = error[inner] - error[first] - error[first + 1]
    np.testing.assert_allclose(tree.gain[inner], lowered, rtol=1e-9)
    axis_parallel = tree.n_node_features[inner] == 1
    known = axis_parallel & ~np.isnan(tree.axis_gain[inner])
    np.testing.assert_array_equal(tree.gain_over_axis[inner][known], 0.0)


def test_oblique_splits_are_compared_with_axis_parallel_ones() -> None:
    X, y = pieces()
    params = {"max_leaf_nodes": 2, "pruning": None, "min_samples_leaf": 5}
    oblique = ObliqueTreeRegressor(**params).fit(X, y).model_.trees[0]
    axis = CartRegressor(**params).fit(X, y).model_.trees[0]
    assert oblique.n_oblique == 1
    assert oblique.axis_gain[0] == axis.gain[0] < oblique.gain[0]


def test_several_outputs() -> None:
    X, y = pieces()
    Y = np.column_stack([y, -y, X[:, 2]])
    for Estimator in (ObliqueTreeRegressor, RefinedTreeRegressor):
        tree = Estimator(max_leaf_nodes=4, random_state=0).fit(X, Y)
        assert tree.predict(X).shape == Y.shape
        assert tree.score(X, Y) > 0.4
        with pytest.raises(ValueError, match="of one output; y has 3"):
            Estimator(leaf_model="linear").fit(X, Y)
        assert not tree.tree_.has_lines  # the default of the refined one is 'auto'


# --- spread and quantiles ----------------------------------------------------------------------


@each_kind
def test_spread_and_quantiles_are_those_of_the_leaf(kind: Any) -> None:
    X, y = pieces()
    shares = [0.0, 0.25, 0.5, 1.0]
    tree = again(kind, quantiles=shares)
    if "pruning" in tree.get_params():
        tree.set_params(pruning=None, max_leaf_nodes=6)
    tree.fit(X, y)
    off, leaf = y - tree.predict(X), tree.apply(X)
    found, spread = tree.predict_quantiles(X), tree.predict_std(X)
    for node in np.unique(leaf):
        rows = leaf == node
        assert spread[rows][0] == pytest.approx(np.sqrt(np.mean(off[rows] ** 2)), rel=1e-6)
        expected = np.quantile(off[rows], shares, method="inverted_cdf")
        expected = expected + tree.predict(X)[rows][:, None]
        if tree.tree_.has_lines:
            expected = np.clip(expected, y[rows].min(), y[rows].max())
        assert found[rows] == pytest.approx(expected, abs=1e-9)


def test_quantiles_must_be_asked_for(tmp_path: Path) -> None:
    X, y = pieces()
    tree = ObliqueTreeRegressor(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Fit it with the parameter quantiles"):
        tree.predict_quantiles(X)
    for wrong in ([1.5], [-0.1], [np.nan], "half", ["half"], [[0.5]]):
        with pytest.raises(ValueError, match="quantiles"):
            again(tree, quantiles=wrong).fit(X, y)
    tree = again(tree, quantiles=[0.5]).fit(X, y)
    obliqua.save(tree, tmp_path / "tree.obliqua")
    loaded = obliqua.load(tmp_path / "tree.obliqua")
    np.testing.assert_array_equal(loaded.predict_quantiles(X), tree.predict_quantiles(X))
    with pytest.raises(ValueError, match="quantiles"):
        tree.set_params(quantiles=None).fit(X, y).predict_quantiles(X)


# --- no prediction runs away -------------------------------------------------------------------


@each_kind
def test_predictions_far_outside_stay_within_what_leaves_have_seen(kind: Any) -> None:
    X, y = pieces()
    tree = kind.fit(X, y)
    far = np.random.default_rng(2).normal(size=(20_000, 3)) * 1e6
    far[:10] = 1e300
    leaf, found = tree.apply(far), tree.predict(far)
    at = tree.apply(X)
    for node in np.unique(leaf):
        seen = y[at == node] if (at == node).any() else y
        assert found[leaf == node].min() >= seen.min()
        assert found[leaf == node].max() <= seen.max()


def test_an_outlier_in_y_does_not_pull_lines() -> None:
    X, y = pieces()
    clean = RefinedTreeRegressor(leaf_model="linear", max_leaf_nodes=2, random_state=0).fit(X, y)
    y[0] = 1e4
    X_new, y_new = pieces(seed=1)
    assert clean.score(X_new, y_new) > 0.97
    assert np.isfinite(clean.fit(X, y).predict(X_new)).all()


# --- bad and odd input -------------------------------------------------------------------------


@each_kind
def test_constant_y_and_few_rows(kind: Any) -> None:
    X = np.arange(12.0).reshape(6, 2)
    tree = kind.fit(X, np.full(6, 3.5))
    assert tree.get_n_leaves() == 1
    assert tree.predict([[99.0, -99.0]]).tolist() == [3.5]
    two = kind.fit(X[:2], [1.0, 2.0])
    assert np.isfinite(two.predict(X)).all()
    assert two.predict(X).min() >= 1.0
    assert two.predict(X).max() <= 2.0
    one = kind.fit(X[:1], [7.0])
    assert one.predict(X).tolist() == [7.0] * 6


@each_kind
@pytest.mark.filterwarnings("ignore:Half of y lies")
def test_heavy_tails_and_huge_values(kind: Any) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    for y in (
        rng.standard_cauchy(300),
        np.where(rng.random(300) < 0.02, 1e15, X[:, 0]),
        1e-100 * X[:, 0],
        1e100 * X[:, 0],
    ):
        found = kind.fit(X, y).predict(X)
        assert np.isfinite(found).all()
        assert found.min() >= y.min()
        assert found.max() <= y.max()


@each_kind
def test_odd_columns(kind: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    X = np.column_stack([x, 2 * x, x + 1e-9, np.full(300, 4.0), 1e12 + rng.normal(size=300)])
    y = np.where(x > 0, x, 5.0)
    tree = kind.fit(X, y)
    assert np.isfinite(tree.predict(X)).all()
    assert tree.score(X, y) > 0.8
    # Equal rows with different numbers, and no rows with equal ones.
    X = np.repeat(rng.normal(size=(5, 2)), 40, axis=0)
    y = np.tile([0.0, 1.0], 100) + X[:, 0]
    tree = kind.fit(X, y)
    assert tree.get_n_leaves() <= 5
    assert np.isfinite(tree.predict(X)).all()


@each_kind
def test_more_columns_than_rows(kind: Any) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 60))
    y = X[:, 0]
    tree = kind.fit(X, y)
    far = tree.predict(rng.normal(size=(1000, 60)) * 100)
    assert far.min() >= y.min()
    assert far.max() <= y.max()


@each_kind
@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([1.0, np.nan, 2.0, 3.0], "no number in row 1"),
        (np.array([1.0, np.nan, 2.0, 3.0]), "NaN"),
        ([1.0, np.inf, 2.0, 3.0], "infinity"),
        (["a", "b", "a", "b"], "A regressor learns numbers"),
        ([1.0, None, 2.0, 3.0], "no number in row 1"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    ],
)
def test_bad_y(kind: Any, y: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        kind.fit(np.arange(8.0).reshape(4, 2), y)


def test_criteria_that_lines_do_not_fit() -> None:
    X, y = pieces(100)

    def own(left: Any, right: Any) -> float:
        return float(left[2] < 5)

    with pytest.raises(ValueError, match="fitted by least squares"):
        ObliqueTreeRegressor(leaf_model="linear", criterion=own).fit(X, y)
    tree = ObliqueTreeRegressor(leaf_model="auto", criterion=own, max_depth=2).fit(X, y)
    assert not tree.tree_.has_lines


def test_parameters_that_make_no_sense() -> None:
    X, y = pieces(50)
    for name, value in (
        ("leaf_model", "quadratic"),
        ("leaf_penalty", -1.0),
        ("leaf_smoothing", -1.0),
        ("max_features_per_leaf", 0),
        ("min_samples_leaf", 0),
        ("max_leaf_nodes", 1),
    ):
        for Estimator in (ObliqueTreeRegressor, RefinedTreeRegressor):
            with pytest.raises(ValueError, match=name):
                Estimator(**{name: value}).fit(X, y)
    with pytest.raises(ValueError, match="over"):
        RefinedTreeRegressor(over=0.5).fit(X, y)


# --- levels, missing values, weights -----------------------------------------------------------


@each_kind
def test_levels_and_missing_values(kind: Any) -> None:
    rng = np.random.default_rng(6)
    n = 500
    colour = rng.choice(["red", "green", "blue"], n)
    size = rng.normal(size=n)
    y = np.where(colour == "red", 5.0, 0.0) + size
    known = np.where(rng.random(n) < 0.1, np.nan, size)
    frame = pd.DataFrame({"colour": colour, "size": known, "noise": rng.normal(size=n)})
    tree = kind.fit(frame, y)
    assert tree.score(frame, y) > 0.8
    new = pd.DataFrame({"colour": ["violet", None, "red"], "size": [0.0, 1.0, np.nan], "noise": 0})
    assert np.isfinite(tree.predict(new)).all()


def test_text_says_what_becomes_of_rows_that_miss_a_number() -> None:
    X, _ = pieces()
    y = np.where(X[:, 0] > 0.3, 9.0 + X[:, 1], X[:, 2])
    X[::7, 0], X[::9, 1] = np.nan, np.nan
    tree = CartRegressor(max_leaf_nodes=2, pruning=None, **LINES).fit(X, y)
    question, *leaves = export_text(tree).split("\n\n")[1].split("─ ")
    assert question.startswith("x0 <= 0.3") and "[missing: yes]" in question
    assert "missing counts as: x0 " in leaves[0] and ", x1 " in leaves[0]
    assert "missing counts as: x1 " in leaves[1]  # rows that miss x0 are elsewhere
    assert "[missing counts as: x1 " in export_rules(tree, order="tree")[1].text
    found = tree.model_.trees[0]
    stands_in = replace(found, missing_side=np.zeros_like(found.missing_side))
    np.testing.assert_array_equal(found.apply(X), stands_in.apply(X))
    whole = np.nan_to_num(X)
    assert "missing" not in export_text(tree.fit(whole, y))
    details = export_text(tree, details=True).split("─ ")
    assert "missing counts as: x0 " in details[1] and "missing counts as: x1 " in details[2]


@each_kind
def test_leaves_have_enough_rows_by_weight(kind: Any) -> None:
    X, y = pieces(200)
    params = kind.get_params()
    if isinstance(kind, CartRegressor):
        return  # 1 by default
    tree = again(kind)
    if "pruning" in params:
        tree.set_params(pruning=None, max_leaf_nodes=12)
    least = 5.0 if params["leaf_model"] == "constant" else 10.0
    once = tree.fit(X, y).tree_
    assert once.weighted_n_node_samples[once.is_leaf].min() >= least
    # Twice the rows by weights: smaller leaves in rows, not in weight.
    twice = tree.fit(X, y, np.full(200, 2.0)).tree_
    assert twice.weighted_n_node_samples[twice.is_leaf].min() >= least


# --- the same bits -----------------------------------------------------------------------------


@each_kind
def test_order_threads_and_files_do_not_show(kind: Any, tmp_path: Path) -> None:
    X, y = pieces(300)
    weights = np.random.default_rng(1).integers(1, 4, 300)
    expected = kind.fit(X, y, weights).predict(X)
    mixed = np.random.default_rng(2).permutation(300)
    other = again(kind, n_jobs=2).fit(X[mixed], y[mixed], weights[mixed])
    np.testing.assert_array_equal(other.predict(X), expected)
    repeated = again(kind).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(repeated.predict(X), expected)
    obliqua.save(other, tmp_path / "tree.obliqua")
    np.testing.assert_array_equal(obliqua.load(tmp_path / "tree.obliqua").predict(X), expected)


@each_kind
def test_shift_and_scale_of_y(kind: Any) -> None:
    X, y = pieces(300)
    y = np.round(y * 64) / 64  # so that nothing is rounded
    expected = kind.fit(X, y).predict(X)
    found = again(kind).fit(X, 4.0 * y + 8.0).predict(X)
    np.testing.assert_allclose(found, 4.0 * expected + 8.0, rtol=1e-9)


def test_notes_of_a_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = pieces()
    tree = RefinedTreeRegressor(max_leaf_nodes=4, random_state=0, verbose=1).fit(X, y)
    assert "Chosen: refined tree of" in capsys.readouterr().out
    assert tree.chosen_ == "refined"
    assert tree.cv_scores_.max() > 0.9
    assert set(tree.cv_sizes_.tolist()) <= {2, 4}
    assert 0.5 < tree.greedy_score_ < tree.cv_scores_.max()
    assert len(tree.loss_curve_) > 0
    assert not tree.timed_out_
    obliqua.save(tree, tmp_path / "tree.obliqua")
    loaded = obliqua.load(tmp_path / "tree.obliqua")
    for name in tree._notes:
        if hasattr(tree, name):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(tree, name))


def test_without_time_there_is_a_tree_all_the_same() -> None:
    X, y = pieces()
    tree = RefinedTreeRegressor(time_limit=0.0, random_state=0).fit(X, y)
    assert tree.timed_out_
    assert tree.score(X, y) > 0.8


def test_refined_whatever_it_costs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = rng.normal(size=80)
    tree = RefinedTreeRegressor(
        compare_greedy=False, leaf_model="constant", leaf_smoothing=0.0, random_state=0
    ).fit(X, y)
    assert tree.chosen_ == "refined" or tree.get_n_leaves() == 1


def test_more_growth_finds_planted_trees() -> None:
    from obliqua.datasets import make_planted_tree

    X, classes = make_planted_tree(3000, 3, 5, n_classes=8, random_state=0, return_X_y=True)
    y = np.random.default_rng(0).normal(size=8)[classes]
    once = RefinedTreeRegressor(max_leaf_nodes=8, leaf_model="constant", random_state=0)
    more = again(once, over=4).fit(X, y)
    assert more.get_n_leaves() <= 8
    assert more.score(X, y) > 0.8
