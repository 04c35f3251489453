"""CartRegressor: against scikit-learn's tree, by brute force, and with odd input."""

from __future__ import annotations

import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import obliqua
from obliqua import CartRegressor
from obliqua.errors import ModelFileError
from obliqua.io.files import write_model


@parametrize_with_checks(
    [
        CartRegressor(pruning="cv", n_folds=3, n_se=0.5, n_jobs=2),
        CartRegressor(ccp_alpha=0.01, max_leaf_nodes=8),
    ]
)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    check(estimator)


def rows(seed: int, n: int = 300, n_outputs: int = 1) -> tuple[Any, Any]:
    """Rows without ties between columns, so that scikit-learn has no choice."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.column_stack([X[:, k % 4] ** 2 + X[:, 1] for k in range(n_outputs)])
    y += rng.normal(size=y.shape) * 0.3
    return X, y[:, 0] if n_outputs == 1 else y


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("limits", [{"max_depth": 6}, {"max_leaf_nodes": 20}, {}])
def test_it_is_scikit_learns_tree(limits: dict[str, Any], n_outputs: int) -> None:
    X, y = rows(0, n_outputs=n_outputs)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    ours = CartRegressor(pruning=None, **limits).fit(X, y, weights)
    theirs = DecisionTreeRegressor(random_state=0, **limits).fit(X, y, weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-12)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    assert ours.predict(X).shape == y.shape
    assert ours.n_outputs_ == n_outputs
    assert is_regressor(ours)


def test_the_prices_of_leaves_are_scikit_learns() -> None:
    X, y = rows(1)
    ours = CartRegressor(prune_root=True, min_samples_leaf=5)
    theirs = DecisionTreeRegressor(random_state=0, min_samples_leaf=5)
    one = ours.cost_complexity_pruning_path(X, y)
    other = theirs.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(one.ccp_alphas, other.ccp_alphas, rtol=1e-5)
    np.testing.assert_allclose(one.impurities, other.impurities)
    alpha = float(one.ccp_alphas[-5]) * 1.01
    pruned = theirs.set_params(ccp_alpha=alpha).fit(X, y)
    np.testing.assert_allclose(
        ours.set_params(ccp_alpha=alpha).fit(X, y).predict(X), pruned.predict(X)
    )


@pytest.mark.parametrize("n_se", [0.0, 1.0])
def test_the_tree_that_held_out_rows_choose(n_se: float) -> None:
    """By brute force: every tree of the sequence is tried on the rows held out."""
    from obliqua.data.problem import encode_numbers
    from obliqua.prune import cost_complexity_path, hold_out, prune_on_rows

    smaller = 0
    for seed in range(4):
        X, y = rows(seed, 200)
        whole, held = hold_out(encode_numbers(X, y + 2 * X[:, 2]), 0.2, 5)
        y = whole.target.values[:, 0]
        grown = CartRegressor(pruning=None).fit(X[~held], y[~held]).tree_
        path = cost_complexity_path(grown, prune_root=False)
        squares = [
            (y[held] - tree.mean[tree.apply(X[held]), 0]) ** 2
            for tree in (path.at(step) for step in range(len(path)))
        ]
        means = np.array([one.mean() for one in squares])
        best = wanted = int(np.flatnonzero(means <= means.min() * (1 + 1e-9))[-1])
        for step in range(best + 1, len(path) if n_se else 0):
            more = squares[step] - squares[best]
            if more.mean() <= n_se * more.std() / np.sqrt(len(more)):
                wanted = step
        assert path.at(wanted) == prune_on_rows(grown, whole.take(held), n_se)
        smaller += wanted > best
    assert smaller > 0 or not n_se


def test_reduced_error_leaves_no_split_that_held_out_rows_do_not_need() -> None:
    from obliqua.data.problem import encode_numbers
    from obliqua.prune import prune_reduced_error
    from obliqua.tree.surgery import collapse

    X, y = rows(3, 120)
    grown = CartRegressor(pruning=None, max_depth=4).fit(X[:80], y[:80]).tree_

    def error(tree: Any) -> float:
        return float(((y[80:] - tree.mean[tree.apply(X[80:]), 0]) ** 2).sum())

    pruned = prune_reduced_error(grown, encode_numbers(X[80:], y[80:]), prune_root=True)
    inner = np.flatnonzero(~grown.is_leaf)
    every = [
        collapse(grown, np.array(cut, dtype=np.int64))
        for size in range(3)
        for cut in combinations(inner.tolist(), size)
    ]
    assert error(pruned) <= min(map(error, every)) + 1e-9
    assert pruned.n_leaves < grown.n_leaves


def test_levels_are_divided_in_the_best_way() -> None:
    rng = np.random.default_rng(0)
    levels = np.array(list("abcdef"))[rng.integers(0, 6, 200)]
    effect = dict(zip("abcdef", [5.0, -1.0, 3.0, -2.0, 0.5, 4.0], strict=True))
    y = np.array([effect[one] for one in levels]) + rng.normal(size=200)
    frame = pd.DataFrame({"level": levels, "noise": rng.normal(size=200)})
    tree = CartRegressor(max_depth=1, pruning=None).fit(frame, y)

    def error(left: set[str]) -> float:
        side = np.isin(levels, list(left))
        return float(sum(((y[s] - y[s].mean()) ** 2).sum() for s in (side, ~side)))

    subsets = [set(s) for k in (1, 2, 3) for s in combinations("abcdef", k)]
    assert ((y - tree.predict(frame)) ** 2).sum() == pytest.approx(min(map(error, subsets)))
    assert "level" in obliqua.export_text(tree)


def test_missing_values_and_new_levels() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=300), "b": rng.choice(list("xyz"), 300)})
    y = frame["a"] + (frame["b"] == "x") * 2.0
    frame.loc[::7, "a"] = np.nan
    frame.loc[::5, "b"] = None
    tree = CartRegressor(random_state=0).fit(frame, y)
    assert tree.score(frame, y) > 0.7
    new = pd.DataFrame({"a": [np.nan, 0.0], "b": ["new", None]})
    assert np.isfinite(tree.predict(new)).all()


def test_a_column_that_is_all_missing() -> None:
    X, y = rows(4)
    X[:, 3] = np.nan
    tree = CartRegressor(random_state=0).fit(X, y)
    assert 3 not in tree.tree_.coef_idx
    assert np.isfinite(tree.predict(X)).all()


def test_missing_only_in_prediction() -> None:
    X, y = rows(5)
    tree = CartRegressor(random_state=0).fit(X, y)
    gone = X[:5].copy()
    gone[:, :2] = np.nan
    assert np.isfinite(tree.predict(gone)).all()


def test_order_and_threads_do_not_show() -> None:
    X, y = rows(6, 25_000)
    order = np.random.default_rng(0).permutation(len(X))
    one = CartRegressor(random_state=3).fit(X, y).tree_
    assert CartRegressor(random_state=3).fit(X[order], y[order]).tree_ == one
    assert CartRegressor(random_state=3, n_jobs=2).fit(X, y).tree_ == one


def test_files(tmp_path: Path) -> None:
    X, y = rows(7)
    tree = CartRegressor(max_leaf_nodes=5, random_state=0).fit(X, y)
    obliqua.save(tree, tmp_path / "m.obliqua")
    again = obliqua.load(tmp_path / "m.obliqua")
    assert isinstance(again, CartRegressor)
    assert again.predict(X).tobytes() == tree.predict(X).tobytes()
    assert again.model_ == tree.model_


def test_a_file_whose_trees_are_of_another_task_is_refused(tmp_path: Path) -> None:
    X, y = rows(7, 30)
    classes = obliqua.CartClassifier().fit(X, y > 0).model_
    numbers = CartRegressor().fit(X, y).model_
    for name, model in (("CartRegressor", classes), ("CartClassifier", numbers)):
        about = {"kind": "estimator", "class": name, "parameters": {}, "named": False}
        write_model(model, tmp_path / "m.obliqua", about)
        with pytest.raises(ModelFileError, match=f"a {name} has no trees of"):
            obliqua.load(tmp_path / "m.obliqua")


@pytest.mark.parametrize("scale", [1e12, 1e100, 1e-100])
def test_huge_and_tiny_numbers(scale: float) -> None:
    X, y = rows(8)
    plain = CartRegressor(random_state=0).fit(X, y)
    two = 2.0 ** np.floor(np.log2(scale))  # by a power of two nothing changes
    other = CartRegressor(random_state=0).fit(X, y * two)
    assert other.predict(X).tolist() == (plain.predict(X) * two).tolist()
    assert other.tree_.threshold.tolist() == plain.tree_.threshold.tolist()


def test_numbers_far_from_0() -> None:
    X, y = rows(9)
    y = np.round(y * 1024) / 1024  # so that nothing is lost where they are
    near = CartRegressor(random_state=0).fit(X, y)
    far = CartRegressor(random_state=0).fit(X, y + 1e12)
    assert far.tree_.threshold.tolist() == near.tree_.threshold.tolist()
    np.testing.assert_allclose(far.predict(X) - 1e12, near.predict(X), atol=1e-3)


@pytest.mark.parametrize("n", [1, 20])
def test_equal_numbers_and_one_row_are_a_leaf(n: int) -> None:
    tree = CartRegressor().fit(np.arange(float(n))[:, None], np.full(n, 0.1))
    assert tree.get_n_leaves() == 1
    assert tree.predict([[5.0]]).tolist() == [0.1]


BAD: dict[str, tuple[Any, str]] = {
    "words": (["a", "b", "c", "d"], "learns numbers; y holds 'a' in row 0.*CartClassifier"),
    "dates": (np.arange(4).astype("M8[ns]"), "learns numbers; y holds '1970-01-01T.*dates"),
    "durations": (np.arange(4).astype("m8[ns]"), "learns numbers; y holds '0 "),
    "a word in two columns": ([[1, 2], [3, 4], ["a", 5], [6, 7]], "y holds 'a' in row 2"),
    "one word": ([1.0, 2.0, "c", 4.0], "y holds 'c' in row 2"),
    "None": ([1.0, None, 3.0, 4.0], "no number in row 1"),
    "masked": (np.ma.masked_greater([1.0, 2.0, 9.0, 4.0], 5.0), "masked in 1 of 4.*row 2"),
    "NaN": (np.array([1.0, np.nan, 3.0, 4.0]), "NaN"),
    "NaN in a list": ([1.0, np.nan, 3.0, 4.0], "no number in row 1"),
    "infinity": ([1.0, np.inf, 3.0, 4.0], "infinity"),
    "too large": ([1e300, 2.0, 3.0, 4.0], "1e.300; squares.*Divide y"),
    "too close": ([0.0, 1e-300, 0.0, 0.0], "differ by 1e-300.*Multiply y"),
    "too few": ([1.0, 2.0], "inconsistent numbers of samples"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_y(name: str) -> None:
    y, message = BAD[name]
    tree = CartRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=message):
        tree.fit(np.arange(4.0)[:, None], y)
    assert tree.predict([[1.0]]).tolist() == [1.0]  # what was fitted before is not lost


def test_bad_weights_and_parameters() -> None:
    X, y = rows(10, 20)
    with pytest.raises(ValueError, match="not negative"):
        CartRegressor().fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="pruning"):
        CartRegressor(pruning="pessimistic").fit(X, y)
    with pytest.raises(ValueError, match="criterion"):
        CartRegressor(criterion="gini").fit(X, y)


def test_a_grid_too_coarse_for_most_numbers_is_told() -> None:
    X, y = rows(11, 40)
    y[0] = 1e15
    with pytest.warns(UserWarning, match="take a logarithm"):
        tree = CartRegressor(pruning=None, max_depth=2).fit(X, y)
    # Leaves say what is true all the same.
    others = tree.apply(X) != tree.apply(X[:1])
    assert abs(tree.predict(X[others])).max() < 100


def test_a_criterion_in_python() -> None:
    def decrease(left: Any, right: Any) -> float:
        (n, a, _), (m, b, _) = left, right
        return float(n * m * (a - b) ** 2 / (n + m) ** 2)

    X, y = rows(12, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        own = CartRegressor(criterion=decrease, pruning=None, max_depth=3).fit(X, y).tree_
    built_in = CartRegressor(pruning=None, max_depth=3).fit(X, y).tree_
    assert own.threshold.tolist() == built_in.threshold.tolist()
    np.testing.assert_allclose(own.gain, built_in.gain)


def test_prices_and_gains_of_several_outputs_are_means() -> None:
    X, y = rows(13, 150, n_outputs=2)
    ours, theirs = CartRegressor(prune_root=True), DecisionTreeRegressor(random_state=0)
    one = ours.cost_complexity_pruning_path(X, y)
    other = theirs.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(one.ccp_alphas[-5:], other.ccp_alphas[-5:], rtol=1e-5)
    least = {"min_impurity_decrease": 0.02}
    leaves = CartRegressor(pruning=None, **least).fit(X, y).get_n_leaves()
    assert leaves == theirs.set_params(**least).fit(X, y).get_n_leaves()


def test_half_the_weight_twice_is_the_same() -> None:
    X, y = rows(14, 200)
    weights = np.random.default_rng(0).random(200)
    once = CartRegressor(pruning=None, max_depth=4).fit(X, y, weights).tree_
    twice = CartRegressor(pruning=None, max_depth=4).fit(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), np.repeat(weights / 2, 2)
    )
    assert twice.tree_.threshold.tolist() == once.threshold.tolist()
    np.testing.assert_allclose(twice.tree_.stats, once.stats, rtol=1e-8)
    np.testing.assert_allclose(once.mean[0, 0], np.average(y, weights=weights), rtol=1e-8)


def test_a_row_of_weight_0_is_not_there() -> None:
    X, y = rows(16, 80)
    weights = np.ones(80)
    weights[:2], far = 0.0, y.copy()
    far[:2] = 1e15, -1e130
    tree = CartRegressor(random_state=0).fit(X, far, weights).tree_
    assert tree == CartRegressor(random_state=0).fit(X[2:], y[2:], weights[2:]).tree_


@pytest.mark.parametrize("power", [-300, 300])
def test_weights_times_squares_must_be_numbers(power: int) -> None:
    X, y = rows(15, 50)
    with pytest.raises(ValueError, match="Multiply all weights"):
        CartRegressor().fit(X, y * 2.0**350 if power > 0 else y * 2.0**-350,
                            np.full(50, 2.0 ** (3 * power)))  # fmt: skip


def test_near_ties_of_held_out_rows_do_not_show_their_order() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, 2)).astype(float)
    y = rng.integers(0, 3, 120) / 3.0
    trees = set()
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(120)
        tree = CartRegressor(pruning="reduced_error", prune_fraction=0.4, random_state=1)
        trees.add(tree.fit(X[order], y[order]).tree_.threshold.tobytes())
    assert len(trees) == 1


def test_sparse_numbers_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"sparse matrix .*toarray"):
        CartRegressor().fit(np.eye(3), sparse.csr_array(np.eye(3)))
