"""Pictures of trees over levels and missing values."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from obliqua import (
    CartClassifier,
    HHCartClassifier,
    TreeBuilder,
    plot_boundary,
    plot_path,
    plot_tree,
)
from obliqua.data.encoding import Column, Encoding
from obliqua.plot._rows import Sample, along, histogram, moves_of
from obliqua.tree.model import Model
from obliqua.words.subject import goes_aside, subject_of
from plot.pictures import assert_tidy, by_gid, words
from trees_to_read import people, strangers

METHODS = {
    "cart": CartClassifier(pruning=None, max_leaf_nodes=6),
    "hhcart": HHCartClassifier(pruning=None, max_leaf_nodes=5),
    "two": HHCartClassifier(pruning=None, max_leaf_nodes=6, max_features_per_split=2),
}
each_method = pytest.mark.parametrize("method", METHODS)


def fitted(method: str) -> tuple[Any, pd.DataFrame, Any]:
    frame, classes = people()
    return METHODS[method].fit(frame, classes), frame, classes


@each_method
def test_trees_are_tidy(method: str) -> None:
    model, frame, classes = fitted(method)
    for rows in ((), (frame,), (frame, classes), (strangers(),)):
        ax = plot_tree(model, *rows)
        assert_tidy(ax)
        assert "code" not in words(ax) and "nan" not in words(ax)
        plt.close("all")


@each_method
def test_histograms_hold_the_rows_that_the_tree_sends(method: str) -> None:
    model, frame, classes = fitted(method)
    subject, tree = subject_of(model), model.tree_
    other = strangers()
    codes = np.arange(len(other)) % 2
    for table, labels in ((frame, classes), (other, model.classes_[codes])):
        sample = Sample(subject, table, labels)
        for node in np.flatnonzero(~tree.is_leaf).tolist():
            scale = along(subject, node)
            assert scale is not None
            found = histogram(sample, scale, node)
            assert found is not None
            left = found.edges[1:] <= found.cut
            child = int(tree.first_child[node])
            # Rows that go to a side because they miss something have no place among the others.
            aside = goes_aside(tree, scale.plane, sample.Z)
            for side, here in ((left, child), (~left, child + 1)):
                rows = np.intersect1d(sample.at(here), np.flatnonzero(aside))
                gone = np.bincount(sample.codes[rows], sample.weight[rows], minlength=tree.n_stats)
                sums = found.sums[side].sum(axis=0) + gone
                np.testing.assert_allclose(sums, sample.sums(here))


def town_split(levels: tuple[str, ...], table: list[float]) -> Model:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"), tables={0: table}, fill={0: 2.0})
    builder.set_leaf("a", [3, 1], 4)
    builder.set_leaf("b", [0, 2], 2)
    encoding = Encoding((Column("town", "qualitative", levels),))
    return Model((builder.build(),), "single", encoding, np.array(["no", "yes"]))


def test_a_split_on_levels_has_a_bar_per_score() -> None:
    model = town_split(("Bonn", "Kiel", "Oslo", "Rome"), [3.0, -1.0, 0.75, -1.0])
    table = [["Bonn"], ["Bonn"], ["Kiel"], ["Kiel"], ["Rome"], ["Oslo"], [None], ["Lima"]]
    subject = subject_of(model)
    sample, scale = Sample(subject, table), along(subject, 0)
    assert scale is not None
    found = histogram(sample, scale, 0)
    assert found is not None
    # In the order of their scores: Kiel and Rome, Lima, Oslo, missing, Bonn.
    assert found.sums[:, 0].tolist() == [3, 1, 1, 1, 2]
    assert found.names == ("Kiel +1", "another level", "Oslo", "missing", "Bonn")
    assert found.cut == 1.5 and found.edges.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5]
    assert found.place(scale.values(model.trees[0], np.array([[2.0]]))[0], left=False) == 2.0
    ax = plot_tree(model, table)
    asked = by_gid(ax, "node-0-question")["node-0-question"]
    lines = [text.get_text() for text in (asked if isinstance(asked, list) else [asked])]
    assert " ".join(lines) == "town neither missing nor in {Bonn, Oslo}"
    assert_tidy(ax)


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        (["Rome"], "this row: Rome, yes"),
        (["Lima"], "this row: another level, yes"),
        ([None], "this row: missing, no"),
        (pd.Series({"town": "Bonn"}), "this row: Bonn, no"),
    ],
)
def test_a_way_names_the_level_of_the_row(row: Any, answer: str) -> None:
    model = town_split(("Bonn", "Kiel", "Oslo", "Rome"), [3.0, -1.0, 0.75, -1.0])
    table = pd.DataFrame({"town": ["Bonn", "Kiel", "Rome", "Oslo"] * 4})
    for more in ({}, {"X": table}, {"X": table, "y": ["no", "yes"] * 8}):
        ax = plot_path(model, row, **more)
        assert by_gid(ax, "node-0-answer")["node-0-answer"].get_text() == answer
        assert not by_gid(ax, "node-0-move-.*")
        assert_tidy(ax)
        assert ("Kiel +1" in words(ax)) == bool(more)
        plt.close("all")


@pytest.mark.parametrize("shown", [["Bonn"], ["Kiel"], ["Kiel", "Bonn"], ["Rome", "Bonn", "Oslo"]])
def test_a_row_stands_on_its_own_side_of_the_cut(shown: list[str]) -> None:
    """Also where its level is in none of the rows of the picture."""
    # Scores so that Oslo is far from Bonn, and near to the levels of the other side.
    model = town_split(("Bonn", "Kiel", "Oslo", "Rome"), [90.0, -9.0, 0.75, 0.25])
    for level in ("Bonn", "Kiel", "Oslo", "Rome", "Lima", None):
        ax = plot_path(model, [level], X=[[name] for name in shown for _ in range(3)])
        drawn = by_gid(ax, "node-0-(row|histogram-cut)")
        row = drawn["node-0-row"].get_xy()[2, 0]
        cut = drawn["node-0-histogram-cut"].get_xdata()[0]
        left = model.apply(model.rows([[level]]))[0] == 1
        assert row < cut - 0.01 if left else row > cut + 0.01, level
        assert_tidy(ax)
        plt.close("all")


def test_many_levels_keep_to_a_few_lines() -> None:
    levels = tuple(f"a rather long level, number {k}" for k in range(200))
    model = town_split(levels, [1.0 if k % 2 else -1.0 - k for k in range(200)])
    table = [[level] for level in levels]
    for ax in (plot_tree(model, table), plot_path(model, table[3], X=table)):
        asked = by_gid(ax, "node-0-question")["node-0-question"]
        assert 1 < len(asked) <= 4
        assert "more}" in words(ax)
        assert_tidy(ax)


def test_bars_name_levels_and_say_what_is_missing() -> None:
    model, frame, _ = fitted("hhcart")
    subject = subject_of(model)
    row = pd.DataFrame({"town": ["Rome"], "age": [np.nan], "job": ["never heard"], "pay": [0.5]})
    z = subject.rows(row)
    sample = Sample(subject, frame)
    for node in range(model.tree_.n_nodes):
        scale = along(subject, node)
        if scale is None or len(scale.question.terms) < 4:
            continue
        moves = moves_of(scale, sample, node, z, 9, subject)
        names = {name for name, _ in moves.terms}
        assert names == {"town: Rome", "age (missing)", "job: another level", "pay"}
        mean = np.mean(scale.sign * scale.values(model.tree_, sample.Z[sample.at(node)]))
        assert sum(move for _, move in moves.terms) == pytest.approx(moves.value - mean)
        return
    raise AssertionError("no oblique split was found")


@pytest.mark.parametrize(("lowest", "number"), [("Zell-am-See", "−3"), ("missing", "−4")])
def test_scores_have_true_minus_signs_in_numbers_only(lowest: str, number: str) -> None:
    builder = TreeBuilder(2, 2)
    split: dict[str, Any] = {"tables": {0: [2.0, -3.0, -0.5]}}
    if lowest == "missing":
        split["fill"] = {0: -4.0}
    builder.add_split("root", {0: 1.0, 1: 1.0}, 0.5, ("a", "b"), **split)
    builder.set_leaf("a", [3, 1], 4)
    builder.set_leaf("b", [0, 2], 2)
    town = Column("town", "qualitative", ("St-Ives", "Zell-am-See", "Bonn"))
    encoding = Encoding((town, Column("age")))
    model = Model((builder.build(),), "single", encoding, np.array([0, 1]))
    ax = plot_tree(model)
    assert "St-Ives 2" in words(ax) and f"… {lowest} {number}" in words(ax)
    assert_tidy(ax)


# --- boundaries ---------------------------------------------------------------------------------


def test_a_slice_goes_through_the_most_frequent_level() -> None:
    model, frame, classes = fitted("hhcart")
    frame = frame.copy()
    frame.loc[:79, "town"] = "Rome"
    frame.loc[20:99, "job"] = "学生"
    ax = plot_boundary(model, frame, classes)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "pay")
    caption = by_gid(ax, "slice")["slice"].get_text().replace("\n", " ")
    assert caption.startswith("slice: town = Rome, job = ")
    assert caption.endswith("(most frequent levels)")
    leaves = {int(gid.removeprefix("leaf-")): p for gid, p in by_gid(ax, r"leaf-\d+").items()}
    rng = np.random.default_rng(0)
    for leaf, patch in leaves.items():
        corners = patch.get_xy()[:-1]
        points = (0.98 * rng.dirichlet(np.ones(len(corners)), 20) + 0.02 / len(corners)) @ corners
        rows = pd.DataFrame(
            {"town": "Rome", "age": points[:, 0], "job": "学生", "pay": points[:, 1]}
        )
        assert set(model.apply(rows).tolist()) == {leaf}
    shown = sum(len(p.get_offsets()) for p in by_gid(ax, r"class-\d").values())
    assert shown == int(frame[["age", "pay"]].notna().all(axis=1).sum()) < len(frame)


def test_levels_may_be_held() -> None:
    model, frame, classes = fitted("cart")
    ax = plot_boundary(model, frame, classes, fixed={"town": "a, b", "job": None})
    caption = by_gid(ax, "slice")["slice"].get_text().replace("\n", " ")
    assert "town = `a, b`" in caption
    with pytest.raises(
        ValueError, match=r"hold 'town' at one of its levels, 'Bonn', .*got 'Lima'"
    ):
        plot_boundary(model, frame, fixed={"town": "Lima"})


def test_levels_have_no_axis() -> None:
    model, frame, _ = fitted("cart")
    with pytest.raises(ValueError, match=r"'town' is qualitative.*Choose two numeric features"):
        plot_boundary(model, frame, features=["town", "age"])
    few = frame[["town", "job", "age"]]
    other = CartClassifier(pruning=None, max_depth=2).fit(few, frame["pay"] > 0)
    with pytest.raises(ValueError, match=r"two numeric features, and this model has 1\."):
        plot_boundary(other, few)
    with pytest.raises(ValueError, match="All values of feature 1 are missing in X"):
        plot_boundary(model, frame.assign(age=np.nan))
    assert not plt.get_fignums()
