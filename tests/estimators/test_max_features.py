"""max_features: how many features a node looks at, drawn by the seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from obliqua import CartClassifier, CartRegressor, HHCartClassifier, RepeatedTreesClassifier
from obliqua._core.base.rng import child_key, column_order
from obliqua.data.problem import encode
from obliqua.engine.grow import grow
from obliqua.engine.grow_from import grow_from
from obliqua.engine.parts import RowsInParts
from obliqua.engine.proposals import Proposals
from obliqua.estimators._input import number_of_features

X, Y = load_wine(return_X_y=True)
MODELS = [
    CartClassifier(pruning=None, max_features=3),
    CartRegressor(pruning=None, max_features=3),
    HHCartClassifier(pruning=None, variant="dominant", max_features=3),
    HHCartClassifier(pruning=None, extra_directions="fisher", scale="standard", max_features=3),
]


def test_what_it_may_be() -> None:
    asked: list[int | float | str | None] = [None, 1, 4, 40, 0.01, 0.5, 1.0, "sqrt", "log2"]
    found = [number_of_features(most, 13) for most in asked]
    assert found == [13, 1, 4, 13, 1, 6, 13, 3, 3]
    for wrong in (0, -1, 0.0, 1.5, "auto"):
        with pytest.raises(ValueError, match="max_features"):
            CartClassifier(max_features=wrong).fit(X, Y)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_seed_draws_and_nothing_else(model: Any) -> None:
    first = clone(model).set_params(random_state=1).fit(X, Y)
    order = np.random.default_rng(0).permutation(len(X))
    again = clone(model).set_params(random_state=1).fit(X[order], Y[order])
    assert first.tree_ == again.tree_
    others = [clone(model).set_params(random_state=seed).fit(X, Y).tree_ for seed in range(2, 6)]
    assert all(first.tree_ != other for other in others)
    assert np.diff(first.tree_.coef_ptr).max() <= 3


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_all_features_are_all(model: Any) -> None:
    every = clone(model).set_params(max_features=1.0, random_state=0).fit(X, Y)
    assert every.tree_ == clone(model).set_params(max_features=None).fit(X, Y).tree_


@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_node_is_a_fit_to_what_it_draws(scale: str | None) -> None:
    """The root of the tree is that of a tree grown from the first columns of its order."""
    settings = {"pruning": None, "max_depth": 1, "variant": "dominant", "scale": scale}
    for seed in range(8):
        model = HHCartClassifier(**settings, max_features=4, random_state=seed)
        columns = np.sort(column_order(model._key(), X.shape[1])[:4])
        tree = model.fit(X, Y).tree_
        alone = HHCartClassifier(**settings).fit(X[:, columns], Y).tree_
        assert columns[alone.coef_idx].tolist() == tree.coef_idx.tolist()
        assert alone.coef.tolist() == tree.coef.tolist()
        assert alone.threshold.tolist() == tree.threshold.tolist()
        assert alone.origin_labels == tree.origin_labels


def test_children_draw_by_their_keys() -> None:
    problem = encode(X, Y, 3)
    tree = grow(problem, Proposals(n_drawn=2), "gini", key=7)
    assert tree.coef_idx[0] in column_order(7, 13)[:2]
    left, right = (column_order(child_key(7, side), 13)[:2] for side in (0, 1))
    assert tree.feature[1] in left
    assert tree.feature[2] in right


def test_more_are_drawn_while_nothing_gains() -> None:
    rows = np.zeros((40, 30))
    rows[20:, 17] = 1.0
    y = np.repeat([0, 1], 20)
    for seed in range(5):
        tree = CartClassifier(pruning=None, max_features=1, random_state=seed).fit(rows, y).tree_
        assert tree.coef_idx.tolist() == [17]


@pytest.mark.parametrize("best_first", [None, 30])
def test_threads_change_nothing(best_first: int | None) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(24_000, 6)).round(1)
    y = (rows[:, 0] + rows[:, 1] * rows[:, 2] > 0).astype(int)
    trees = [
        CartClassifier(
            pruning=None, max_features=2, max_depth=6, max_leaf_nodes=best_first, n_jobs=n_jobs,
            random_state=0,
        ).fit(rows, y).tree_
        for n_jobs in (1, 2)
    ]  # fmt: skip
    assert trees[0] == trees[1]


@pytest.mark.parametrize("kind", [CartClassifier, CartRegressor])
def test_columns_of_levels_are_drawn_too(kind: Any) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.choice(list("uvwxyz"), 200)})
    frame["c"] = rng.choice(list("st"), 200)
    y = (frame["b"].isin(["u", "v"]) ^ (frame["a"] > 0)).astype(int)
    firsts = set()
    for seed in range(20):
        model = kind(pruning=None, max_features=1, random_state=seed).fit(frame, y)
        drawn = column_order(model._key(), 3)[0]
        assert model.tree_.coef_idx[0] == drawn
        firsts.add(int(drawn))
    assert firsts == {0, 1, 2}


def test_repeated_trees_differ() -> None:
    drawn = CartClassifier(pruning=None, max_features="sqrt")
    model = RepeatedTreesClassifier(drawn, random_state=0).fit(X, Y)
    assert len({tree.coef_idx[0] for tree in model.model_.trees}) > 1


def test_rows_in_parts_draw_nothing() -> None:
    parts = RowsInParts([encode(X, Y, 3)])
    with pytest.raises(ValueError, match="a node that draws its features must see the rows"):
        grow_from(parts, Proposals(n_drawn=2))


def test_refusals() -> None:
    frame = pd.DataFrame(X).assign(level="a")
    frame.columns = frame.columns.astype(str)
    for model, data, message in (
        (HHCartClassifier(max_features=2), frame, "columns of levels"),
        (HHCartClassifier(max_features=2, reflect="root"), X, "reflections of the root"),
        (HHCartClassifier(max_features=2, variant="geometric"), X, "AngleBisector"),
        (HHCartClassifier(max_features=2, criterion=lambda a, b: 0.0), X, "as a criterion"),
        (CartRegressor(max_features=2, leaf_model="linear"), X, "ModelSlopes"),
    ):
        with pytest.raises(ValueError, match=f"max_features.*{message}"):
            model.fit(data, Y)
