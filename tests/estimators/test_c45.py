"""C4.5: the splits that the definitions demand, and what its parameters do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from estimators.registry import assert_sound, blobs, full_grown
from obliqua import C45Classifier, export_text
from obliqua.criteria import get_criterion
from obliqua.engine.many_branches import BranchingNode
from obliqua.engine.rules import Rules
from obliqua.methods.c45 import C45, _C45Growth, grow_c45
from obliqua.tree.layout import NodeKind

NAN = np.nan
X, Y = blobs(400, 5, 3)

# The example of Quinlan's book: whether to play golf.
SKY = ["sunny"] * 5 + ["overcast"] * 4 + ["rain"] * 5
TEMPERATURE = [75, 80, 85, 72, 69, 72, 83, 64, 81, 71, 65, 75, 68, 70]
HUMIDITY = [70, 90, 85, 95, 70, 90, 78, 65, 75, 80, 70, 80, 80, 96]
WIND = list("yynnnynynyynnn")
PLAY = np.array([1, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1])
GOLF = pd.DataFrame({"sky": SKY, "temperature": TEMPERATURE, "humidity": HUMIDITY, "wind": WIND})


def c45(**params: Any) -> Any:
    """C4.5 as it is grown, whatever is small or uncertain."""
    return full_grown(C45Classifier, **params)


def column_of(model: Any, node: int = 0) -> int:
    tree = model.tree_
    return int(tree.coef_idx[tree.coef_ptr[tree.plane_ptr[node]]])


# --- the book -------------------------------------------------------------------------------


def test_the_tree_of_the_book() -> None:
    text = export_text(C45Classifier().fit(GOLF, PLAY))
    assert [line.split(" (")[0] for line in text.splitlines()[2:]] == [
        "which sky?",
        "├─ overcast: class 1",
        "├─ rain or any other level or missing: which wind?",
        "│  ├─ n or any other level or missing: class 1",
        "│  └─ y: class 0",
        "└─ sunny: humidity <= 77.5",
        "   ├─ yes: class 1",
        "   └─ no:  class 0",
    ]


def test_the_figures_of_the_book() -> None:
    """Gain 0.246 bits and gain ratio 0.156 of the sky; 0.048 bits of the wind."""
    ratio = C45Classifier().fit(GOLF, PLAY).tree_.gain[0]
    gain = C45Classifier(criterion="entropy").fit(GOLF, PLAY).tree_.gain[0]
    assert (round(ratio, 3), round(gain, 3)) == (0.156, 0.247)
    wind = C45Classifier(criterion="entropy", pruning=None, collapse=False)
    assert round(wind.fit(GOLF[["wind"]], PLAY).tree_.gain[0], 3) == 0.048


def test_a_missing_value_in_the_book() -> None:
    """With one sky missing the gain is 13/14 of 0.214 bits, the ratio 0.199 / 1.809."""
    sky = GOLF[["sky"]].copy()
    sky.loc[5, "sky"] = None  # an overcast day in the middle of the book's example
    model = C45Classifier(pruning=None, collapse=False, fill="heaviest")
    tree = model.fit(sky, PLAY).tree_
    # It went to the first of the two heaviest branches, rain.
    assert tree.n_samples.tolist() == [14, 3, 6, 5]
    _, problem, _ = model._encoded(sky, PLAY, None)
    growth = _C45Growth(problem, C45(), Rules())
    rows = np.arange(14)
    node = BranchingNode(0, rows, 0, np.array([5, 9]), 0, ())
    (offer,) = growth._offers(node)
    assert round(offer.gain, 3) == 0.199
    assert round(offer.ratio, 3) == 0.110


# --- which column ---------------------------------------------------------------------------


def test_a_gain_below_the_average_loses_in_spite_of_its_ratio() -> None:
    """One pure pair has the larger ratio; eight levels gain more than the average."""
    y = np.repeat([0, 1], 32)
    pair = (np.arange(64) >= 56).astype(int)  # 8 rows of class 1
    eight = np.concatenate([np.r_[np.zeros(8), np.repeat(np.arange(2, 8), 4)]] * 2).astype(int)
    eight[32:40] = 1  # level 0 is pure, level 1 is pure, the others are mixed
    even = np.tile([0, 1], 32)
    table = pd.DataFrame({"eight": eight, "pair": pair}).astype(str)
    model = C45Classifier(pruning=None, collapse=False, max_depth=1)
    assert column_of(model.fit(table, y)) == 0
    # A division that gains nothing has a say in what is average.
    assert column_of(model.fit(table.assign(even=even.astype(str)), y)) == 1
    assert column_of(model.set_params(criterion="entropy").fit(table, y)) == 0


def test_columns_of_many_levels_are_no_measure() -> None:
    """A name per row gains most; it may win, but it does not raise the average for others."""
    y = np.repeat([0, 1], 10)
    good = np.r_[np.repeat([0, 1], [8, 2]), np.repeat([0, 1], [2, 8])]
    even = np.tile([0, 1], 10)
    table = pd.DataFrame({"name": range(20), "good": good, "even": even}).astype(str)
    model = c45(max_depth=1)
    model._pools_levels = False  # the method alone: the estimator would let names count as one
    assert column_of(model.fit(table, y)) == 1
    assert column_of(model.fit(table[["name"]], y)) == 0
    # Where no other column gains anything there is no average to reach.
    flat = table.assign(good=0.0, even=1.0)
    assert model.fit(flat, y).get_n_leaves() == 1
    assert column_of(model.set_params(criterion="entropy").fit(flat, y)) == 0


@pytest.mark.parametrize(("n_levels", "winner"), [(6, 1), (5, 0)])
def test_how_many_levels_are_many(n_levels: int, winner: int) -> None:
    """0.3 of the rows or more. Below that the column lifts the average above what `good` gains."""
    y = np.repeat([0, 1], 10)
    sizes = {6: [4, 3, 3, 4, 3, 3], 5: [5, 5, 4, 3, 3]}[n_levels]
    table = pd.DataFrame(
        {"levels": np.repeat(np.arange(n_levels), sizes), "good": np.arange(20) < 6}
    )
    assert column_of(c45(max_depth=1).fit(table.astype(str), y)) == winner


@pytest.mark.parametrize(("n_levels", "n_classes"), [(50, 3), (1000, 10), (3000, 7)])
@pytest.mark.parametrize("binary", [False, True])
def test_many_branches_that_say_nothing(n_levels: int, n_classes: int, binary: bool) -> None:
    """Every level has all classes equally often, whatever is lost by rounding."""
    levels = np.repeat(np.arange(n_levels), 2 * n_classes)[:, None]
    y = np.tile(np.repeat(np.arange(n_classes), 2), n_levels)
    model = c45(binary=binary)
    model._pools_levels = False
    assert model.fit(levels.astype(float), y).get_n_leaves() == 1
    model.set_params(categorical_features=[0])
    assert model.fit(levels, y).get_n_leaves() == 1


def test_of_equal_columns_the_first_wins() -> None:
    y = np.array([0, 0, 1, 1, 0, 1, 1, 0] * 3)
    one = np.arange(24) % 8
    table = np.column_stack([-one, one, -one]).astype(float)
    assert column_of(c45(max_depth=1).fit(table, y)) == 0
    assert column_of(c45(max_depth=1).fit(table[:, ::-1], y)) == 0


# --- thresholds -----------------------------------------------------------------------------


def test_what_a_threshold_costs() -> None:
    """Three thresholds cost log2(3) / 4 = 0.40 bits of 0.31; with weights of 2 half of that."""
    column, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 0])
    model = c45(mdl_correction=True, max_depth=1)
    assert model.fit(column, y).get_n_leaves() == 1
    assert model.fit(column, y, sample_weight=np.full(4, 2.0)).get_n_leaves() == 2
    assert c45(max_depth=1).fit(column, y).get_n_leaves() == 2
    # Halves are no numbers of rows: they count as if their mean were 1.
    assert model.fit(column, y, sample_weight=np.full(4, 0.5)).get_n_leaves() == 1
    assert model.fit(column, y, sample_weight=np.full(4, 2.5)).get_n_leaves() == 1


@pytest.mark.parametrize(("weight", "rows"), [(1.0, 25), (0.5, 25), (5.0, 20), (25.0, 20)])
def test_both_sides_keep_some_rows(weight: float, rows: int) -> None:
    """A tenth of the weight per class, but no more than 25."""
    column = np.arange(1200.0)[:, None]
    y = (column[:, 0] < 20).astype(int)
    model = C45Classifier(max_depth=1, pruning=None, collapse=False, mdl_correction=False)
    tree = model.fit(column, y, sample_weight=np.full(1200, weight)).tree_
    assert tree.n_samples[1] == rows
    without = model.set_params(min_class_share=0.0).fit(column, y).tree_
    assert without.n_samples[1] == 20


def test_two_rows_in_two_branches() -> None:
    levels = [["a"], ["b"], ["b"], ["b"], ["c"], ["c"], ["d"]]
    y = [0, 0, 0, 0, 1, 1, 1]
    model = C45Classifier(pruning=None)
    assert model.fit(levels, y).tree_.n_samples.tolist() == [7, 1, 3, 2, 1]
    assert model.fit(levels[:4] + levels[-1:], [0, 0, 0, 0, 1]).get_n_leaves() == 1
    weights = [1, 1, 1, 1, 2]
    model.fit(levels[:4] + levels[-1:], [0, 0, 0, 0, 1], sample_weight=weights)
    assert model.get_n_leaves() == 3
    model.set_params(min_samples_leaf=2)
    assert model.fit(levels[:4] + levels[-1:], [0] * 4 + [1], weights).get_n_leaves() == 1


# --- levels ---------------------------------------------------------------------------------


def test_one_level_against_the_others() -> None:
    levels = [[level] for level in "aabbccdd"]
    y = [0, 0, 0, 0, 1, 1, 0, 0]
    model = C45Classifier(binary=True).fit(levels, y)
    tree = model.tree_
    assert tree.kind[0] == NodeKind.LEVELS
    assert tree.n_children[0] == 2
    assert tree.table.tolist() == [1, 1, 0, 1]
    assert model.predict([["c"], ["d"], ["z"], [None]]).tolist() == [1, 0, 0, 0]
    assert c45().fit(levels, y).get_n_leaves() == 4


def test_levels_without_rows_take_the_heaviest_branch() -> None:
    low = [[0.0, "a"]] * 4 + [[0.0, "b"]] * 6
    high = [[9.0, "a"]] * 5 + [[9.0, "b"]] * 5 + [[9.0, "c"]] * 2
    model = c45().fit(low + high, [0] * 4 + [1] * 6 + [2] * 12)
    assert (column_of(model), column_of(model, 1)) == (0, 1)
    new = [[0.0, "c"], [0.0, "z"], [0.0, None], [None, "a"]]
    assert model.predict(new).tolist() == [1, 1, 1, 2]


# --- missing values -------------------------------------------------------------------------


def test_missing_numbers_take_the_heavier_side() -> None:
    column = np.array([0, 0, 0, 1, 1, NAN, NAN, NAN, NAN])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 0])
    model = c45(max_depth=1, fill="heaviest").fit(column, y)
    assert model.tree_.n_samples.tolist() == [9, 7, 2]
    assert model.tree_.fill.tolist() == [0.0]
    assert model.apply([[NAN]]).tolist() == [1]
    other = c45(max_depth=1, fill="heaviest").fit(-column, y)
    assert other.tree_.n_samples.tolist() == [9, 2, 7]
    assert other.apply([[NAN]]).tolist() == [2]
    assert_sound(model, column, y)


def test_missing_values_that_tell_something() -> None:
    column = np.array([0, 0, 0, 1, 1, NAN, NAN, NAN, NAN])[:, None]
    model = c45(max_depth=1).fit(column, np.array([0, 0, 0, 1, 1, 1, 1, 1, 1]))
    tree = model.tree_
    assert (tree.n_samples.tolist(), tree.missing_side.tolist()) == ([9, 3, 6], [2])
    assert_sound(model, column, model.predict(column))
    # Only whether it is there tells: no threshold does.
    alone = c45(max_depth=1).fit(column, np.isnan(column[:, 0]).astype(int))
    assert (alone.tree_.coef.tolist(), alone.tree_.n_samples.tolist()) == ([0.0], [9, 5, 4])
    assert alone.apply([[7.0], [NAN]]).tolist() == [1, 2]
    levels = pd.DataFrame({"a": ["x", "x", "y", "y", None, None, None]})
    split = c45(min_weight_leaf=1).fit(levels, [0, 0, 0, 0, 1, 1, 1])
    assert split.tree_.n_samples.tolist() == [7, 2, 2, 3]
    assert split.predict(levels).tolist() == [0, 0, 0, 0, 1, 1, 1]
    one = c45(binary=True, min_weight_leaf=1).fit(levels, [0, 0, 0, 0, 1, 1, 1])
    assert one.tree_.n_samples.tolist() == [7, 3, 4]


def test_a_column_that_was_never_missing_may_be_missing_later() -> None:
    model = C45Classifier().fit(GOLF, PLAY)
    empty = pd.DataFrame({name: [None] for name in GOLF}).astype({"humidity": float})
    assert model.predict(empty.astype({"temperature": float})).tolist() == [1]


def test_a_column_without_values() -> None:
    rows = np.column_stack([np.full(len(Y), NAN), X])
    assert c45().fit(rows, Y).tree_.stats.tolist() == c45().fit(X, Y).tree_.stats.tolist()
    assert c45().fit(rows[:, :1], Y).get_n_leaves() == 1


# --- limits ---------------------------------------------------------------------------------


def test_collapsing() -> None:
    """A split that saves no error becomes a leaf, also in a tree that is not pruned."""
    column, y = (
        np.repeat([0.0, 1.0], 10)[:, None],
        np.r_[np.zeros(10), np.tile([0, 0, 1, 0, 1], 2)],
    )
    assert C45Classifier(pruning=None).fit(column, y).get_n_leaves() == 1
    assert C45Classifier(pruning=None, collapse=False).fit(column, y).get_n_leaves() == 2


def test_limits() -> None:
    assert c45(max_depth=3).fit(X, Y).get_depth() == 3
    for limit in (2, 3, 7):
        assert c45(max_leaf_nodes=limit).fit(X, Y).get_n_leaves() == limit
    leaves = c45(min_samples_leaf=7).fit(X, Y).tree_
    assert leaves.n_samples[leaves.is_leaf].min() >= 7
    split = c45(min_samples_split=50).fit(X, Y).tree_
    assert split.n_samples[~split.is_leaf].min() >= 50
    light = c45(min_weight_fraction_leaf=0.05).fit(X, Y)
    assert light.tree_ == c45(min_samples_leaf=20).fit(X, Y).tree_
    gain = c45(min_impurity_decrease=0.05).fit(X, Y).tree_
    assert gain.gain[~gain.is_leaf].min() >= 0.05
    error = c45(max_leaf_error=0.1).fit(X, Y).tree_
    share = 1 - error.stats.max(axis=1) / error.stats.sum(axis=1)
    assert share[~error.is_leaf].min() > 0.1


def test_zero_gain_splits_get_past_exclusive_or() -> None:
    rows = [["a", 0.0], ["a", 1.0], ["b", 0.0], ["b", 1.0]] * 3
    y = [0, 1, 1, 0] * 3
    assert c45().fit(rows, y).get_n_leaves() == 1
    assert c45(zero_gain_splits=True).fit(rows, y).score(rows, y) == 1.0


def test_gains_are_those_of_the_criterion() -> None:
    """What the tree remembers is the goodness of the rows on both sides, as in other trees."""
    for name in ("entropy", "gain_ratio"):
        tree = C45Classifier(criterion=name, pruning=None).fit(X, Y).tree_
        goodness = get_criterion(name).goodness
        for node in np.flatnonzero(~tree.is_leaf):
            left, right = tree.stats[tree.first_child[node] :][:2]
            share = tree.stats[node].sum() / len(Y)
            assert tree.gain[node] == pytest.approx(share * goodness(left, right))


def test_many_columns_and_classes_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = c45().fit(X, Y).tree_
    monkeypatch.setattr("obliqua.methods.c45.CELLS_AT_ONCE", 1)
    assert c45().fit(X, Y).tree_ == whole


def test_many_different_numbers() -> None:
    """More than fit into 16 bits."""
    column = np.arange(70_000.0)[:, None]
    y = (column[:, 0] >= 66_000.0).astype(int)
    column[5] = NAN
    tree = C45Classifier().fit(column, y).tree_
    assert tree.threshold.tolist() == [65_999.5]


def test_growing_without_an_estimator() -> None:
    model = c45(collapse=True).set_params(mdl_correction=True, min_class_share=0.1)
    _, problem, _ = model._encoded(GOLF, PLAY, None)
    assert grow_c45(problem).n_leaves == model.fit(GOLF, PLAY).get_n_leaves()
