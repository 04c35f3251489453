"""Trees grown from tables with levels and missing values, end to end."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pandas as pd
import pytest

import obliqua
from estimators.registry import (
    assert_sound,
    each_odd_estimator,
    each_with_a_fill,
    full_grown,
)
from obliqua import (
    C45Classifier,
    CartClassifier,
    FisherTreeClassifier,
    HHCartClassifier,
    QuestClassifier,
    export_text,
)
from obliqua.tree.layout import NodeKind

COLOURS = ["red", "green", "blue", "black", "white"]


def table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two numeric and two qualitative columns, with gaps in three of them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(COLOURS, n),
            "age": rng.normal(size=n),
            "zone": rng.choice(["n", "e", "s"], n),
        }
    )
    weigh = dict(zip(COLOURS, (2.0, -1.0, 0.5, 0.0, -2.0), strict=True))
    score = frame["size"] + frame["colour"].map(weigh) + (frame["zone"] == "e") * frame["age"]
    y = np.digitize(score + rng.normal(scale=0.3, size=n), [-0.7, 0.9])
    for column in ("size", "colour", "zone"):
        frame.loc[rng.random(n) < 0.1, column] = None
    return frame, y


X, Y = table()


@each_odd_estimator
@pytest.mark.parametrize(
    "params",
    [
        {"pruning": None},
        {"pruning": "holdout"},
        {"pruning": "cv", "n_folds": 3},
        {"pruning": "reduced_error", "prune_fraction": 0.3},
        {"ccp_alpha": 0.01},
        {"pruning": None, "max_leaf_nodes": 8, "fill": "training"},
        {"pruning": None, "class_weight": "balanced", "min_samples_leaf": 5},
    ],
    ids=str,
)
def test_rows_are_where_they_were_counted(Estimator: Any, params: dict[str, Any]) -> None:
    known = Estimator().get_params()  # not every method lets one choose what stands in
    params = {name: value for name, value in params.items() if name in known}
    if Estimator is C45Classifier and "fill" in params:
        params["fill"] = "heaviest"
    model = Estimator(random_state=0, **params).fit(X, Y)
    model.tree_.validate()
    assert model.score(X, Y) > 0.7
    reached = np.bincount(model.apply(X), minlength=model.tree_.n_nodes)
    if params.get("pruning", "none") is None:
        leaves = model.tree_.is_leaf
        np.testing.assert_array_equal(reached[leaves], model.tree_.n_samples[leaves])
    assert np.isfinite(model.predict_proba(X)).all()


@each_odd_estimator
def test_names_and_order_of_levels_change_nothing(Estimator: Any) -> None:
    names = dict(zip(COLOURS, ["4", "zebra", "", "a, b", "Ä"], strict=True))
    renamed = X.assign(colour=X["colour"].map(names))
    one, two = full_grown(Estimator).fit(X, Y), full_grown(Estimator).fit(renamed, Y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(renamed))
    if (one.tree_.kind == NodeKind.LEVELS).any():
        return  # a branch per level: the branches stand in the order of the levels
    np.testing.assert_array_equal(one.apply(X), two.apply(renamed))
    np.testing.assert_array_equal(one.tree_.threshold, two.tree_.threshold)


def test_the_order_of_columns_changes_nothing_for_cart() -> None:
    """In nodes so large that no two columns are equally good."""
    frame, y = table(2000, seed=1)
    order = ["zone", "age", "colour", "size"]
    cart = CartClassifier(pruning=None, max_leaf_nodes=16)
    one, two = cart.fit(frame, y).tree_, cart.fit(frame[order], y).tree_
    assert one.n_leaves == 16
    names = np.array(frame.columns)[one.coef_idx]
    np.testing.assert_array_equal(names, np.array(order)[two.coef_idx])
    for array in ("threshold", "fill", "table", "stats", "gain"):
        np.testing.assert_array_equal(getattr(one, array), getattr(two, array), array)


@each_odd_estimator
def test_a_weight_of_two_is_a_row_twice(Estimator: Any) -> None:
    rows = X.astype({"colour": "category"})
    twice = pd.concat([rows, rows.iloc[:80]], ignore_index=True)
    weights = np.ones(len(rows))
    weights[:80] = 2
    one = full_grown(Estimator).fit(rows, Y, sample_weight=weights).tree_
    two = full_grown(Estimator).fit(twice, np.concatenate([Y, Y[:80]])).tree_
    for array in ("first_child", "coef_idx", "coef", "threshold", "fill", "table", "stats"):
        np.testing.assert_array_equal(getattr(one, array), getattr(two, array), array)


@each_odd_estimator
def test_files_keep_what_stands_in(Estimator: Any) -> None:
    model = full_grown(Estimator).fit(X, Y)
    file = BytesIO()
    obliqua.save(model, file)
    file.seek(0)
    again = obliqua.load(file)
    rows = X.copy()
    rows["age"] = None
    rows.loc[:20, "colour"] = "unheard of"
    np.testing.assert_array_equal(again.apply(rows), model.apply(rows))
    assert again.model_ == model.model_


@each_with_a_fill
def test_what_was_never_missing_gets_the_training_mean(Estimator: Any) -> None:
    model = full_grown(Estimator).set_params(fill="node").fit(X, Y)
    gone, mean = X.copy(), X.copy()
    gone["age"] = np.nan
    mean["age"] = model.model_.trees[0].fill[model.tree_.coef_idx == 2][0]
    assert mean["age"][0] == pytest.approx(X["age"].mean())
    np.testing.assert_array_equal(model.apply(gone), model.apply(mean))


@pytest.mark.parametrize("pruning", [None, "holdout", "cv"])
def test_the_rule_of_oc1_fills_in_one_mean(pruning: str | None) -> None:
    by_node = CartClassifier(pruning=None).fit(X, Y).tree_
    cart = CartClassifier(pruning=pruning, fill="training", random_state=0)
    by_training = cart.fit(X, Y).tree_
    stand_ins = [tree.fill[tree.coef_idx == 0] for tree in (by_node, by_training)]
    assert len(np.unique(stand_ins[0])) > 1
    np.testing.assert_allclose(stand_ins[1], X["size"].mean())


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 9}], ids=str)
def test_threads_change_nothing(params: dict[str, Any]) -> None:
    frame, y = table(25_000, seed=2)
    for model in (
        CartClassifier(pruning=None),
        HHCartClassifier(variant="dominant", pruning=None),
    ):
        model.set_params(max_depth=9, **params)
        alone = model.set_params(n_jobs=1).fit(frame, y).tree_
        assert model.set_params(n_jobs=2).fit(frame, y).tree_ == alone


@each_odd_estimator
@pytest.mark.parametrize("missing", ["all of it", "nothing else"])
def test_columns_with_nothing_to_say(Estimator: Any, missing: str) -> None:
    frame = X.assign(colour=None if missing == "all of it" else "red", empty=np.nan)
    model = full_grown(Estimator).fit(frame, Y)
    assert not np.isin(model.tree_.coef_idx, [1, 4]).any()
    assert_sound(model, frame, Y)


@each_odd_estimator
@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_what_is_masked_is_missing(Estimator: Any, dtype: Any) -> None:
    numbers = np.round(10 * np.nan_to_num(X[["size", "age"]].to_numpy(dtype=np.float64), nan=-99))
    masked = np.ma.masked_equal(numbers.astype(dtype), -990)
    plain = np.where(numbers == -990, np.nan, numbers)
    assert np.isnan(plain).any()
    one, two = full_grown(Estimator).fit(masked, Y), full_grown(Estimator).fit(plain, Y)
    assert one.tree_ == two.tree_
    np.testing.assert_array_equal(one.apply(masked), two.apply(plain))


# --- units ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        FisherTreeClassifier(max_depth=2, pruning=None),
        QuestClassifier(split="linear", max_depth=2, pruning=None),
    ],
    ids=["FDT", "QUEST"],
)
def test_rounding_is_no_part_of_a_split(model: Any) -> None:
    """Where the levels tell the classes apart, what else is in the direction is rounding."""
    plain = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(10, 80))
        town = rng.integers(0, 3, n)
        y = town % 2
        names = np.where(rng.random(n) < 0.2, None, np.array(["a", "b", "c"])[town])
        x = np.round(rng.normal(size=n))
        texts = []
        for scale in (1.0, 1000.0):
            tree = model.fit(pd.DataFrame({"town": names, "x": x * scale}), y).tree_
            texts.append(export_text(model))
            for plane in range(len(tree.threshold)):
                part = np.abs(tree.coef * tree.spread)[slice(*tree.coef_ptr[plane : plane + 2])]
                assert len(part) == 1 or part.min() > 1e-6 * part.max()
        if 1 not in tree.coef_idx:
            assert texts[0] == texts[1]
            plain += 1
    assert plain > 5
