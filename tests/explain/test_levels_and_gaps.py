"""Facts about trees over levels and with missing values: the tree's own numbers stand for both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder, TreeError
from obliqua._core.base.rng import row_hashes
from obliqua.data.encoding import Column, Encoding
from obliqua.explain import importances, margins, region, regions, split_stability
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from trees_to_read import people, strangers

METHODS = {
    "cart": CartClassifier(pruning=None, max_depth=4),
    "hhcart": HHCartClassifier(pruning=None, max_depth=3),
    "dominant": HHCartClassifier(variant="dominant", pruning=None, max_depth=3),
}
each_method = pytest.mark.parametrize("method", METHODS)


def entry(tree: Tree, k: int, raw: float) -> float:
    """What a coefficient is multiplied with, by the definition."""
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    if np.isnan(raw):
        return float(tree.fill[k])
    if not len(table):
        return raw
    return float(table[int(raw)]) if 0 <= raw < len(table) else 0.0


def is_number(tree: Tree, k: int) -> bool:
    return bool(tree.table_ptr[k] == tree.table_ptr[k + 1])


# --- margins ----------------------------------------------------------------------------------


@each_method
def test_values_are_those_of_the_walk(method: str) -> None:
    frame, classes = people()
    model = METHODS[method].fit(frame, classes)
    tree, other = model.tree_, strangers()
    Z, found = model._check_rows(other), margins(model, other)
    assert np.isnan(Z).any() and (Z[:, 0] == -1).any()
    passed = model.decision_path(other).toarray()
    for row in range(len(Z)):
        for at in range(found.start[row], found.start[row + 1]):
            node = int(found.node[at])
            plane = int(tree.plane_ptr[node])
            ks = range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
            value = sum(tree.coef[k] * entry(tree, k, Z[row, tree.coef_idx[k]]) for k in ks)
            assert found.value[at] == pytest.approx(value - tree.threshold[plane])
            assert (found.value[at] <= 0) == passed[row, tree.children_left[node]]
    np.testing.assert_array_equal(found.leaf, model.apply(other))


@each_method
def test_a_row_stays_in_its_leaf_until_the_smallest_margin(method: str) -> None:
    """Whatever way its numbers move; levels and what is missing stay."""
    frame, classes = people()
    model = METHODS[method].fit(frame, classes)
    tree, other = model.tree_, strangers()
    Z = model._check_rows(other)
    scale = np.array([1.0, 10.0, 1.0, 1.0])
    found = margins(model, other, scale=scale)
    movable = np.isin(np.arange(4), [1, 3]) & ~np.isnan(Z)
    near = np.flatnonzero(np.isfinite(found.smallest))
    assert len(near) > 50
    rng = np.random.default_rng(0)
    for _ in range(20):
        way = rng.normal(size=Z.shape) * movable
        length = np.linalg.norm(way, axis=1, keepdims=True)
        way = np.divide(way, length, out=np.zeros_like(way), where=length > 0)
        far = np.where(np.isfinite(found.smallest), found.smallest, 1e6)[:, None]
        moved = np.where(movable, Z + 0.999 * far * way * scale, Z)
        np.testing.assert_array_equal(tree.apply(moved), found.leaf)
    closest = found.closest()
    np.testing.assert_array_equal(closest[~movable], Z[~movable])
    step = np.where(movable, closest - Z, 0.0) / scale
    np.testing.assert_allclose(np.linalg.norm(step[near], axis=1), found.smallest[near], 1e-6)
    beyond = np.where(movable, Z + 1.001 * (closest - Z), Z)
    assert (tree.apply(beyond)[near] != found.leaf[near]).all()


def town_tree(fill: float | None = 0.5) -> Model:
    """A split on a town alone, below it one on town and age."""
    builder = TreeBuilder(2, 2)
    fills = None if fill is None else {0: fill, 1: 30.0}
    alone = None if fill is None else {0: fill}
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"), tables={0: [1.0, -1.0]}, fill=alone)
    builder.add_split("a", {0: 3.0, 1: -4.0}, 0.0, ("c", "d"), tables={0: [1.0, 5.0]}, fill=fills)
    for leaf in "bcd":
        builder.set_leaf(leaf, [1, 1])
    encoding = Encoding((Column("town", "qualitative", ("Bonn", "Rome")), Column("age")))
    return Model((builder.build(),), "single", encoding, np.array([0, 1]))


def test_a_split_on_levels_alone_is_infinitely_far() -> None:
    found = margins(town_tree(), [["Bonn", 1.0], ["Rome", 2.0], ["Rome", None], [None, 2.0]])
    assert found.value.tolist() == [1.0, -1.0, 15.0 - 8.0, -1.0, 15.0 - 120.0, 0.5]
    assert np.isinf(found.distance).tolist() == [True, True, False, True, True, True]
    assert found.smallest.tolist() == [np.inf, 7.0 / 4.0, np.inf, np.inf]
    # Without the number there is nothing to measure its margin in.
    assert found.lead[2] == -7.0 / 4.0 and np.isnan(found.lead[4])
    np.testing.assert_array_equal(found.closest()[:, 1], [1.0, 3.75, np.nan, 2.0])


def test_what_nothing_stands_in_for() -> None:
    with pytest.raises(ValueError, match="NaN"):
        margins(town_tree(fill=None), [["Rome", None]])


def test_levels_need_no_scale() -> None:
    frame, classes = people()
    model = METHODS["hhcart"].fit(frame, classes)
    scale = frame[["pay", "age"]].std()
    wanted = margins(model, frame, scale=[1.0, scale["age"], 1.0, scale["pay"]])
    np.testing.assert_array_equal(margins(model, frame, scale=scale).smallest, wanted.smallest)
    with pytest.raises(ValueError, match="lacking: 'age'"):
        margins(model, frame, scale=scale[["pay"]])


# --- importances and regions --------------------------------------------------------------------


@each_method
def test_importances(method: str) -> None:
    frame, classes = people(600)
    model = METHODS[method].fit(frame, classes)
    shares = importances(model)
    assert shares.sum() == pytest.approx(1.0) and (shares >= 0).all()
    assert shares.argmax() == 0 and shares[0] > 0.3, "the town moves rows most"
    np.testing.assert_array_equal(shares, model.feature_importances_)
    tree = model.tree_
    whole = importances(model, normalize=False)
    assert whole.sum() == pytest.approx(tree.gain.sum())


def test_regions_name_the_column_that_they_cannot_draw() -> None:
    frame, classes = people()
    model = METHODS["cart"].fit(frame, classes)
    message = "Node 0 asks about the levels of the qualitative column 'town'; a region is known"
    for ask in (lambda: regions(model), lambda: region(model, model.tree_.n_nodes - 1)):
        with pytest.raises(TreeError, match=f"{message}.*export_rules writes which levels"):
            ask()


def test_a_way_over_numbers_has_a_region() -> None:
    builder = TreeBuilder(2, 1)
    builder.add_split("root", {0: 1.0}, 3.0, ("a", "b"), fill={0: 1.0})
    builder.add_split("b", {1: 1.0}, 0.0, ("c", "d"), tables={1: [1.0, -1.0]})
    for leaf in "acd":
        builder.set_leaf(leaf, [1])
    assert str(region(builder.build(), 1)) == "x0 <= 3"
    with pytest.raises(TreeError, match=r"Node 2 asks about the levels .* column 'x1'"):
        region(builder.build(), 3)


# --- stability ----------------------------------------------------------------------------------


def draws(Z: np.ndarray, codes: np.ndarray, node: int, number: int) -> np.ndarray:
    """The rows of a resample: distinct rows in the order of their hashes."""
    hashes = row_hashes(np.ascontiguousarray(Z), codes, 0)
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    rng = np.random.default_rng([0, node, number])
    return np.repeat(first, rng.multinomial(len(Z), counts / counts.sum()))


def contributions(tree: Tree, Z: np.ndarray) -> np.ndarray:
    """What each column adds to the sum at the root, row by row, from its mean."""
    added = np.zeros(Z.shape)
    for k in range(int(tree.coef_ptr[1])):
        place = int(tree.coef_idx[k])
        column = Z[:, place]
        if is_number(tree, k):
            column = np.where(np.isnan(column), np.nanmean(column), column)
        else:
            column = np.array([entry(tree, k, raw) for raw in column.tolist()])
        added[:, place] = tree.coef[k] * column
    return added - added.mean(axis=0)


def assert_as_refitted(model: Any, frame: pd.DataFrame, classes: np.ndarray) -> None:
    """A stump fitted to the names themselves, by hand, changes as much."""
    found = split_stability(model, frame, classes, nodes=0, n_resamples=8)
    Z = model._check_rows(frame)
    codes = np.searchsorted(model.classes_, classes).astype(np.int64)
    left = model.decision_path(frame).toarray()[:, 1] == 1
    old = contributions(model.tree_, Z)
    for number in range(8):
        rows = draws(Z, codes, 0, number)
        stump = clone(model).set_params(max_depth=1, pruning=None)
        stump.fit(frame.iloc[rows], classes[rows])
        moved = np.mean((stump.apply(frame) == 1) != left)
        assert found.moved[0, number] == pytest.approx(min(moved, 1 - moved))
        new = contributions(stump.tree_, stump._check_rows(frame))
        cosine = (old * new).sum() / np.sqrt((old**2).sum() * (new**2).sum())
        angle = np.degrees(np.arccos(min(abs(cosine), 1.0)))
        assert found.angles[0, number] == pytest.approx(angle, abs=1e-5)


@each_method
def test_splits_are_chosen_anew_from_levels(method: str) -> None:
    frame, classes = people()
    assert_as_refitted(clone(METHODS[method]).fit(frame, classes), frame, classes)


def test_a_rare_level_may_be_absent_from_a_resample() -> None:
    frame, classes = people(80)
    frame.loc[3, "town"] = "rare"
    frame["town"] = frame["town"].astype("category")
    assert_as_refitted(clone(METHODS["hhcart"]).fit(frame, classes), frame, classes)


def test_codes_are_not_taken_for_numbers() -> None:
    """Every other town, by their names, has the one class: a cut through codes parts little."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 8, 400)
    frame = pd.DataFrame({"town": np.array(list("abcdefgh"))[town], "noise": rng.normal(size=400)})
    classes = (town % 2) ^ (rng.random(400) < 0.05)
    for name in ("cart", "hhcart"):
        model = clone(METHODS[name]).fit(frame, classes)
        found = split_stability(model, frame, classes, nodes=0, n_resamples=20)
        assert found.lead == ("town",)
        assert found.same_lead[0] == 1.0
        assert found.moved_high[0] < 0.05


@pytest.mark.parametrize("scale", [None, "standard", "robust", "minmax"])
def test_scaled_features_and_means_of_all_rows(scale: str | None) -> None:
    frame, classes = people()
    model = HHCartClassifier(pruning=None, max_depth=2, scale=scale, fill="training")
    model.fit(frame, classes)
    found = split_stability(model, frame, classes, n_resamples=5)
    assert np.isfinite(found.angles).all()
    assert (found.moved <= 0.5).all() and found.moved[0].max() < 0.35
    again = split_stability(model, frame[::-1], classes[::-1], n_resamples=5)
    np.testing.assert_allclose(again.moved, found.moved, atol=1e-12)
