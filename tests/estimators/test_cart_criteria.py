"""CartRegressor with poisson and absolute_error: scikit-learn's trees, pruning, odd input."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import obliqua
from obliqua import CartRegressor, TreeError
from obliqua.data.problem import encode_numbers
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.methods.slopes import ModelSlopes, Slopes
from obliqua.prune import cost_complexity_path, hold_out, prune_on_rows, prune_reduced_error
from obliqua.tree.surgery import collapse, graft

CRITERIA = ["poisson", "absolute_error"]


@parametrize_with_checks([CartRegressor(criterion="absolute_error", pruning="cv", n_folds=3)])
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def rows(seed: int, n: int = 301, n_outputs: int = 1) -> tuple[Any, Any]:
    """Counts that are no whole numbers, so that scikit-learn has no choice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.column_stack([rng.poisson(np.exp(X[:, k % 4])) for k in range(n_outputs)])
    y = y + rng.random(y.shape)
    return X, y[:, 0] if n_outputs == 1 else y


@pytest.mark.parametrize(
    ("criterion", "limits"),
    [
        ("poisson", {"max_depth": 3}),
        ("poisson", {"max_leaf_nodes": 20}),
        # In smaller nodes many cuts save the same; ours take the first of them.
        ("absolute_error", {"max_depth": 3}),
    ],
)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_it_is_scikit_learns_tree(
    criterion: str, limits: dict[str, Any], seed: int, n_outputs: int
) -> None:
    X, y = rows(seed, n_outputs=n_outputs)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)) if seed % 2 else None
    ours = CartRegressor(criterion=criterion, pruning=None, **limits).fit(X, y, weights)
    theirs = DecisionTreeRegressor(criterion=criterion, random_state=0, **limits)
    theirs.fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    if criterion == "absolute_error":
        impurity = np.sort(theirs.tree_.impurity)
        np.testing.assert_allclose(np.sort(ours.tree_.impurity), impurity, rtol=1e-6, atol=1e-9)


def test_the_prices_of_leaves_are_scikit_learns() -> None:
    X, y = rows(1)
    ours = CartRegressor(criterion="absolute_error", prune_root=True, max_depth=3)
    theirs = DecisionTreeRegressor(criterion="absolute_error", random_state=0, max_depth=3)
    one = ours.cost_complexity_pruning_path(X, y)
    other = theirs.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(one.ccp_alphas, other.ccp_alphas, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(one.impurities, other.impurities, rtol=1e-6)


@pytest.mark.parametrize("n_se", [0.0, 1.0])
def test_held_out_rows_choose_by_distances(n_se: float) -> None:
    """By brute force: every tree of the sequence is tried on the rows held out."""
    for seed in range(3):
        X, y = rows(seed, 200)
        whole, held = hold_out(encode_numbers(X, y), 0.2, 5)
        y = whole.target.values[:, 0]
        grown = CartRegressor(criterion="absolute_error", pruning=None).fit(X[~held], y[~held])
        path = cost_complexity_path(grown.tree_, prune_root=False)
        trees = [path.at(step) for step in range(len(path))]
        off = [np.abs(y[held] - tree.mean[tree.apply(X[held]), 0]) for tree in trees]
        means = np.array([one.mean() for one in off])
        best = wanted = int(np.flatnonzero(means <= means.min() * (1 + 1e-7))[-1])
        for step in range(best + 1, len(path) if n_se else 0):
            more = off[step] - off[best]
            if more.mean() <= n_se * more.std() / np.sqrt(len(more)):
                wanted = step
        assert trees[wanted] == prune_on_rows(grown.tree_, whole.take(held), n_se)


@pytest.mark.parametrize("pruning", ["holdout", "cv", "reduced_error"])
def test_pruning_helps(pruning: str) -> None:
    """And neither order nor repeated rows show, which are divided as weights are."""
    X, y = rows(3, 400)
    new, truth = rows(4, 400)
    options: dict[str, Any] = {"criterion": "absolute_error", "random_state": 0}
    whole = CartRegressor(pruning=None, **options).fit(X, y)
    tree = CartRegressor(pruning=pruning, **options).fit(X, y)
    assert 1 < tree.get_n_leaves() < whole.get_n_leaves()
    errors = [mean_absolute_error(truth, one.predict(new)) for one in (tree, whole)]
    assert errors[0] < errors[1]
    order = np.random.default_rng(0).permutation(400)
    assert CartRegressor(pruning=pruning, **options).fit(X[order], y[order]).tree_ == tree.tree_
    weights = np.random.default_rng(1).integers(1, 3, 400)
    heavy = CartRegressor(pruning=pruning, **options).fit(X, y, weights).tree_
    X, y = np.repeat(X, weights, axis=0), np.repeat(y, weights)
    repeated = CartRegressor(pruning=pruning, **options).fit(X, y).tree_
    assert repeated.stats.tolist() == heavy.stats.tolist()
    assert repeated.threshold.tolist() == heavy.threshold.tolist()


def test_reduced_error_keeps_what_lowers_distances() -> None:
    X, y = rows(5, 200)
    grown = CartRegressor(criterion="absolute_error", pruning=None, max_depth=3)
    tree = grown.fit(X[:100], y[:100]).tree_
    pruned = prune_reduced_error(tree, encode_numbers(X[100:], y[100:]), prune_root=True)

    def error(one: Any) -> float:
        return float(np.abs(y[100:] - one.mean[one.apply(X[100:]), 0]).sum())

    for node in np.flatnonzero(~pruned.is_leaf).tolist():
        assert error(collapse(pruned, node)) >= error(pruned)
    assert error(pruned) <= error(tree)


def test_medians_mind_no_outliers() -> None:
    X, y = rows(6, 300)
    wild = y.copy()
    wild[::10] = 1e6
    tree = CartRegressor(criterion="absolute_error", min_samples_leaf=20, pruning=None)
    assert tree.fit(X, wild).predict(X).max() < 100


def test_poisson_fits_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 3))
    y = rng.poisson(np.exp(4 * X[:, 0] - 3)).astype(float)
    tree = CartRegressor(criterion="poisson", max_leaf_nodes=6, pruning=None).fit(X, y)
    squared = CartRegressor(max_leaf_nodes=6, pruning=None).fit(X, y)
    said = tree.predict(X)
    assert (said > 0).all()  # no side has a sum of 0
    positive = np.maximum(squared.predict(X), 1e-9)
    assert mean_poisson_deviance(y, said) < mean_poisson_deviance(y, positive)


def test_counts_in_integers_and_rows_without_any() -> None:
    X = np.arange(8)[:, None]
    tree = CartRegressor(criterion="poisson", pruning=None).fit(X, [0, 0, 0, 0, 1, 1, 5, 5])
    assert tree.predict(X).tolist() == [0.2] * 5 + [1.0] + [5.0] * 2
    alone = CartRegressor(criterion="poisson", pruning=None).fit(X, [0, 0, 0, 0, 0, 0, 0, 1])
    assert alone.get_n_leaves() == 1


BAD: dict[str, tuple[Any, str]] = {
    "below 0": ([1.0, -2.0, 3.0, -4.0], "numbers of 0 and more; y has -2, and 2 of 4 rows"),
    "one output below 0": ([[1, 1], [1, -1], [1, 1], [1, 1]], "y has -1, and 1 of 4 rows"),
    "all 0": ([0, 0, 0, 0], "a sum of y above 0; all values of y are 0"),
    "one output all 0": ([[0, 1], [0, 2], [0, 1], [0, 4]], "all values of an output of y are 0"),
    "NaN": ([1.0, np.nan, 3.0, 4.0], "no number in row 1"),
    "words": (["a", "b", "c", "d"], "learns numbers; y holds 'a'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_y_for_poisson(name: str) -> None:
    y, message = BAD[name]
    tree = CartRegressor(criterion="poisson", pruning=None).fit([[0.0], [1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match=message):
        tree.fit(np.arange(4.0)[:, None], y)
    assert tree.predict([[1.0]]).tolist() == [2.0]  # what was fitted before is not lost


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_row_of_weight_0_is_not_there(criterion: str) -> None:
    X, y = rows(7, 80)
    weights = np.ones(80)
    weights[:2], far = 0.0, y.copy()
    far[:2] = 1e15, -1e130
    options: dict[str, Any] = {"criterion": criterion, "random_state": 0}
    tree = CartRegressor(**options).fit(X, far, weights).tree_
    assert tree == CartRegressor(**options).fit(X[2:], y[2:], weights[2:]).tree_


@pytest.mark.parametrize("criterion", CRITERIA)
def test_levels_missing_values_and_fractional_weights(criterion: str) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300)})
    y = np.abs(frame["a"] + (frame["b"] == "x") * 2.0)
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "b"] = None
    tree = CartRegressor(criterion=criterion, random_state=0).fit(frame, y, rng.random(300))
    assert tree.score(frame, y) > 0.5
    new = pd.DataFrame({"a": [np.nan, 0.0], "b": ["new", None]})
    assert np.isfinite(tree.predict(new)).all()


def test_friedman_mse_is_the_squared_error() -> None:
    X, y = rows(8)
    named = CartRegressor(criterion="friedman_mse", random_state=0).fit(X, y)
    assert named.tree_ == CartRegressor(random_state=0).fit(X, y).tree_


def test_what_a_tree_of_medians_tells(tmp_path: Path) -> None:
    X, y = rows(9)
    tree = CartRegressor(criterion="absolute_error", max_leaf_nodes=4, random_state=0).fit(X, y)
    text = obliqua.export_text(tree)
    assert "median " in text
    assert "standard deviation" not in text
    assert "mean " not in text
    assert "median" in tree.tree_.to_frame()
    obliqua.save(tree, tmp_path / "m.obliqua")
    again = obliqua.load(tmp_path / "m.obliqua")
    assert again.tree_ == tree.tree_
    assert again.tree_.loss == "absolute_error"
    means = CartRegressor(max_leaf_nodes=4, random_state=0).fit(X, y).tree_
    leaf = int(np.flatnonzero(means.is_leaf)[0])
    with pytest.raises(TreeError, match="one has the loss 'squared_error', the other"):
        graft(means, leaf, tree.tree_)
    with pytest.raises(TreeError, match="The loss of a tree must be one of"):
        type(means).from_arrays({**means.to_arrays(), "loss": "hinge"})


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_compiled_method_and_linear_leaves(criterion: str) -> None:
    X, y = rows(10, 500)
    problem = encode_numbers(X, y + X[:, 1] - X[:, 1].min())
    rules = Rules(max_leaf_nodes=6)
    tree = grow(problem, Slopes(), criterion, rules)
    assert tree.n_oblique > 0
    assert grow(problem, Slopes(), criterion, rules, n_threads=2) == tree
    with pytest.raises(ValueError, match="fitted by squared errors; got the criterion"):
        grow(problem, ModelSlopes(penalty=1.0), criterion, rules)
