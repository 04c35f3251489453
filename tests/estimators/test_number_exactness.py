"""What changes no bit of a regressor: threads, order, weights as repeats, units, files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from core.adapter import threads_everywhere
from obliqua import CartRegressor, ObliqueTreeRegressor, RefinedTreeRegressor, load, save
from obliqua.io.format import to_bytes
from obliqua.tree.tree import Tree

GROWN: dict[str, Any] = {
    "cart": CartRegressor(max_leaf_nodes=6, random_state=0),
    "cart, lines": CartRegressor(
        leaf_model="linear", leaf_penalty=1.0, max_leaf_nodes=6, random_state=0
    ),
    "oblique": ObliqueTreeRegressor(max_leaf_nodes=6, random_state=0),
    "oblique, sides": ObliqueTreeRegressor(pruning="cv", n_folds=3, n_se=1.0, random_state=0),
    "oblique, lines": ObliqueTreeRegressor(
        leaf_model="linear", max_leaf_nodes=4, pruning="reduced_error", random_state=0
    ),
    "oblique, few": ObliqueTreeRegressor(
        leaf_model="linear",
        leaf_penalty=0.5,
        max_features_per_leaf=2,
        max_features_per_split=2,
        max_leaf_nodes=5,
        random_state=0,
    ),
}
REFINED: dict[str, Any] = {
    "refined": RefinedTreeRegressor(
        leaf_model="constant", compare_greedy=False, max_leaf_nodes=3, random_state=0
    ),
    "refined, lines": RefinedTreeRegressor(
        leaf_model="linear",
        leaf_penalty=1.0,
        leaf_smoothing=5.0,
        compare_greedy=False,
        max_leaf_nodes=3,
        min_samples_leaf=0.1,
        random_state=0,
    ),
}
ALL = {**GROWN, **REFINED}
each = pytest.mark.parametrize("name", ALL)
KINDS = ("plain", "odd")


@cache
def data(kind: str) -> tuple[Any, Any, Any]:
    """Rows, numbers that are whole multiples of 1/64, and weights; levels and gaps if odd."""
    rng = np.random.default_rng(5)
    n = 130
    X = np.round(rng.normal(size=(n, 3)), 1 if kind == "odd" else 9)
    y = np.where(X[:, 0] + X[:, 1] > 0, 2.0 * X[:, 2], X[:, 0] - 1.0) + 0.2 * rng.normal(size=n)
    weight = rng.integers(1, 4, n)
    if kind == "odd":
        frame = pd.DataFrame(X, columns=list("abc"))
        frame.loc[rng.random(n) < 0.1, "a"] = np.nan
        names = np.array(["red", "blue", "green"], dtype=object)[rng.integers(0, 3, n)]
        y += names == "red"
        names[rng.random(n) < 0.05] = None
        frame["d"] = pd.Categorical(names)
        return frame, np.rint(64.0 * y) / 64.0, weight
    return X, np.rint(64.0 * y) / 64.0, weight


def taken(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def fit(name: str, X: Any, y: Any, **more: Any) -> Any:
    weight = more.pop("sample_weight", None)
    made = type(ALL[name])(**{**ALL[name].get_params(), **more})
    return made.fit(X, y, sample_weight=weight)


@cache
def usual(name: str, kind: str) -> Any:
    return fit(name, *data(kind)[:2])


def both(test: Any) -> Any:
    return each(pytest.mark.parametrize("kind", KINDS)(test))


@both
def test_trees_have_something_to_lose(name: str, kind: str) -> None:
    tree = usual(name, kind)
    assert tree.get_n_leaves() > 1
    assert tree.score(*data(kind)[:2]) > 0.3


@both
def test_threads(name: str, kind: str) -> None:
    with threads_everywhere():
        other = fit(name, *data(kind)[:2], n_jobs=2)
    assert to_bytes(other.model_) == to_bytes(usual(name, kind).model_)


@both
def test_the_order_of_rows(name: str, kind: str) -> None:
    X, y, _ = data(kind)
    order = np.random.default_rng(0).permutation(len(y))
    other = fit(name, taken(X, order), y[order])
    assert to_bytes(other.model_) == to_bytes(usual(name, kind).model_)


@both
def test_a_weight_of_two_is_a_repeated_row(name: str, kind: str) -> None:
    X, y, weight = data(kind)
    rows = np.repeat(np.arange(len(y)), weight)
    one, other = fit(name, X, y, sample_weight=weight), fit(name, taken(X, rows), y[rows])
    mine, theirs = one.tree_, other.tree_
    assert mine.n_leaves > 1
    assert replace(theirs, n_samples=mine.n_samples) == mine


@pytest.mark.parametrize("leaf_model", ["constant", "linear"])
def test_a_constant_factor_of_weights(leaf_model: str) -> None:
    """A tenth cannot be written in binary: what weighs as much as five rows must still do so."""
    X, y, weight = data("plain")
    uneven = weight + np.random.default_rng(1).random(len(y))
    for weights, factors in ((np.ones(len(y)), (0.1, 1.7)), (uneven, (0.1, 3.0))):
        tree = RefinedTreeRegressor(leaf_model=leaf_model, max_leaf_nodes=12, random_state=0)
        said = tree.fit(X, y, sample_weight=weights).predict(X)
        assert tree.get_n_leaves() > 1
        for factor in factors:
            tree.fit(X, y, sample_weight=factor * weights)
            np.testing.assert_allclose(tree.predict(X), said, rtol=1e-6, atol=1e-6)


@both
def test_units_of_y(name: str, kind: str) -> None:
    """Powers of two, and a shift by a number that changes no digit of y."""
    X, y, _ = data(kind)
    said = usual(name, kind).predict(X)
    for factor in (0.125, 4.0):
        np.testing.assert_array_equal(fit(name, X, factor * y).predict(X), factor * said)
    moved = fit(name, X, y + 32.0)
    assert_same_splits(moved.tree_, usual(name, kind).tree_)
    np.testing.assert_allclose(moved.predict(X), said + 32.0, rtol=1e-12)


def assert_same_splits(one: Tree, other: Tree) -> None:
    for field in ("kind", "first_child", "coef_idx", "coef", "threshold", "missing_side"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field), err_msg=field)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GROWN)
def test_the_order_of_columns(name: str, kind: str) -> None:
    """Nothing is held out here: which rows are depends on the order of columns."""
    X, y, _ = data(kind)
    fixed: dict[str, Any] = {"pruning": None, "max_leaf_nodes": 5}
    if ALL[name].leaf_model == "linear":
        fixed |= {"leaf_penalty": 1.0, "leaf_smoothing": 0.0}
    order = [2, 0, 1, 3][: X.shape[1]]
    other = X.iloc[:, order] if kind == "odd" else X[:, order]
    one, two = fit(name, X, y, **fixed), fit(name, other, y, **fixed)
    assert one.get_n_leaves() == two.get_n_leaves() > 2
    np.testing.assert_allclose(one.predict(X), two.predict(other), rtol=1e-5, atol=1e-5)


@both
def test_files(name: str, kind: str, tmp_path: Path) -> None:
    tree = usual(name, kind)
    save(tree, tmp_path / "tree.obliqua")
    again = load(tmp_path / "tree.obliqua")
    assert to_bytes(again.model_) == to_bytes(tree.model_)
    X = data(kind)[0]
    np.testing.assert_array_equal(again.predict(X), tree.predict(X))


@pytest.mark.parametrize("name", ["oblique", "refined"])
def test_several_outputs(name: str) -> None:
    """Order, threads and repeats; the same output twice is learnt as one would be."""
    X, y, weight = data("plain")
    two = np.column_stack([y, X[:, 0] ** 2])
    tree = fit(name, X, two, sample_weight=weight)
    order = np.random.default_rng(1).permutation(len(y))
    other = fit(name, X[order], two[order], sample_weight=weight[order], n_jobs=2)
    assert other.tree_ == tree.tree_
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = fit(name, X[rows], two[rows])
    assert replace(repeated.tree_, n_samples=tree.tree_.n_samples) == tree.tree_
