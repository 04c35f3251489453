"""Trees whose leaves say linear functions: kept, checked, and read by everything that reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from obliqua import (
    Tree,
    TreeBuilder,
    TreeError,
    export_graphviz,
    export_rules,
    export_text,
    plot_boundary,
    plot_path,
    plot_projection,
    plot_tree,
)
from obliqua.cli.show import _learnt
from obliqua.data.encoding import Encoding
from obliqua.data.problem import Problem, encode_numbers
from obliqua.data.table import read_table
from obliqua.engine.grow import grow
from obliqua.engine.linear_leaves import LeafFit, with_leaves
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.errors import ModelFileError
from obliqua.explain import importances, margins, regions
from obliqua.io.format import _npy_bytes, from_bytes, to_bytes
from obliqua.methods.slopes import ModelSlopes
from obliqua.plot._nodes import Shades, paint_of
from obliqua.spectrum import Domain, spectrum_of, tree_sum_of
from obliqua.tree.fold import fold
from obliqua.tree.layout import PER_LINE
from obliqua.tree.model import Model
from obliqua.tree.spread import measure_spread
from obliqua.tree.surgery import collapse
from obliqua.words.levels import written_levels
from obliqua.words.subject import subject_of
from rules_reader import Reader
from test_io import archive_of, members_of
from trees_to_read import people, strangers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3)) * [10.0, 1.0, 0.1] + [40.0, 0.0, 2000.0]
WEIGHT = RNG.integers(1, 4, size=240).astype(float)
Y = np.where(X[:, 0] + 5 * X[:, 1] > 40, 3 * X[:, 0] - 2 * X[:, 1], 100 - X[:, 0])
Y = (Y + RNG.normal(size=240)) / 100  # far less than the constants of functions
NAMES = ["age", "bmi", "year"]


@pytest.fixture(autouse=True)
def _no_window_and_no_figure_left() -> Iterator[None]:
    plt.switch_backend("agg")
    with mpl.rc_context(mpl.rcParamsDefault):
        yield
    plt.close("all")


def grown(problem: Problem, leaves: int = 4, least: int = 10) -> Tree:
    rules = Rules(max_leaf_nodes=leaves, best_first=True, min_samples_leaf=least)
    proposals = Proposals(ModelSlopes(penalty=1.0), scale="standard")
    return grow(problem, proposals, "squared_error", rules)


@cache
def plain() -> Model:
    """Numbers alone."""
    problem = encode_numbers(X, Y)
    tree = measure_spread(with_leaves(grown(problem), problem, LeafFit(1.0)), X)
    return Model((tree,), "single", Encoding.identity(3, NAMES), np.zeros(0))


@cache
def mixed() -> tuple[Model, pd.DataFrame, np.ndarray]:
    """Levels and missing values too."""
    frame, _ = people()
    town = frame["town"].map({"Bonn": 5.0, "Oslo": -3.0, "Rome": 9.0}).fillna(0.0).to_numpy()
    age, pay = frame["age"].fillna(40).to_numpy(), frame["pay"].fillna(0).to_numpy()
    y = np.where(pay > 0, 20 + town + 0.5 * age, 10 - town - 3 * pay)
    problem = encode_numbers(read_table(frame), y)
    tree = with_leaves(grown(problem), problem, LeafFit(1.0))
    return Model((tree,), "single", problem.encoding, np.zeros(0)), frame, y


def by_hand() -> Tree:
    """Two leaves with functions, one with a constant, and a node above two of them."""
    builder = TreeBuilder(n_features=2, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 100.0, ("small", "large"))
    builder.add_split("large", {1: 1.0}, 3.0, ("few", "many"))
    builder.set_leaf("small", [8.0, 3000.0, 8.0], 8)
    builder.set_leaf("few", [2.0, 5000.0, 0.0], 2)
    builder.set_leaf("many", [4.0, 6000.0, 16.0], 4)
    functions = {
        "leaf_ptr": [0, 0, 2, 2, 2, 3],
        "leaf_idx": [0, 1, 1],
        "leaf_coef": [31.0, -250.0, 1.0],
        "leaf_fill": [60.0, 2.0, 5.0],
        "leaf_table_ptr": [0, 0, 0, 0],
        "leaf_table": [],
        "leaf_intercept": [4000.0, 1200.0, 5333.0, 5000.0, 0.0],
        "leaf_low": [400.0, 400.0, 400.0, 5000.0, 4.5],
        "leaf_high": [9000.0, 9000.0, 9000.0, 5000.0, 7000.0],
        "leaf_spread": [20.0, 1.0, 1.0],
        "leaf_gain": [0.0, 2.0, 0.0, 0.0, 3.0],
    }
    return Tree.from_arrays({**builder.build().to_arrays(), **functions})


HAND = {"feature_names": ["area", "rooms"], "class_names": ["price"]}
SAID = "price = 1200 + 31*area - 250*rooms, between 400 and 9000"  # by the first leaf


# --- what a tree keeps ------------------------------------------------------------------------


def test_spread_and_gain_are_those_of_the_training_rows() -> None:
    problem = encode_numbers(X, Y, WEIGHT)
    before = grown(problem, 3)
    tree = with_leaves(before, problem, LeafFit(1.0))
    leaf = tree.apply(X)
    for node in np.flatnonzero(tree.is_leaf).tolist():
        rows, part = leaf == node, slice(*tree.leaf_ptr[node : node + 2].tolist())
        weight = WEIGHT[rows]
        mean = np.average(X[rows], axis=0, weights=weight)
        spread = np.sqrt(np.average((X[rows] - mean) ** 2, axis=0, weights=weight))
        np.testing.assert_allclose(tree.leaf_spread[part], spread[tree.leaf_idx[part]], rtol=1e-5)
        off = Y[rows] - tree.line_values(X[rows], leaf[rows])
        about = Y[rows] - np.average(Y[rows], weights=weight)
        gain = (weight @ (about**2 - off**2)) / WEIGHT.sum()
        assert tree.leaf_gain[node] == pytest.approx(gain, rel=1e-6)
    again = with_leaves(tree, problem, LeafFit(1.0))  # the means are not forgotten
    np.testing.assert_allclose(again.leaf_gain, tree.leaf_gain, rtol=1e-9)
    assert with_leaves(before, encode_numbers(X, np.ones(240)), LeafFit(1.0)).leaf_spread.size == 0


def test_parts_of_trees_keep_what_is_known_of_functions() -> None:
    tree = by_hand()
    below = tree.subtree(2)
    assert below.leaf_gain.tolist() == [0.0, 0.0, 3.0] and below.leaf_spread.tolist() == [1.0]
    cut = collapse(tree, 2)
    assert cut.leaf_gain.tolist() == [0.0, 2.0, 0.0] and len(cut.leaf_spread) == 2
    builder = TreeBuilder(n_features=2, n_outputs=1)
    builder.set_leaf("r", value=2.0)
    joined = tree.graft(1, builder.build())
    joined.validate()
    assert joined.leaf_gain.tolist() == [0.0, 0.0, 0.0, 0.0, 3.0]
    assert joined.predict([[1.0, 1.0]])[0, 0] == 2.0
    arrays = tree.to_arrays()
    del arrays["leaf_spread"], arrays["leaf_gain"]
    bare = Tree.from_arrays(arrays)
    assert np.isnan(bare.leaf_spread).all() and not bare.leaf_gain.any()


WRONG: list[tuple[str, Any, str]] = [
    ("leaf_ptr", [0, 2, 0, 2, 2, 3], "'leaf_ptr' of a tree must rise from 0 to 3"),
    ("leaf_ptr", [0, 0, 2, 2, 2, 4], "'leaf_ptr' of a tree must rise from 0 to 3"),
    ("leaf_ptr", [0, 0, 3], "'leaf_ptr' of a tree with 5 nodes"),
    ("leaf_idx", [0, 2, 1], "node 1 uses column 2 of 2"),
    ("leaf_idx", [0, -1, 1], "node 1 uses column -1 of 2"),
    ("leaf_idx", [1, 1, 1], "node 1 uses column 1 twice"),
    ("leaf_coef", [1.0, np.nan, 1.0], "'leaf_coef' of a tree must be finite"),
    ("leaf_coef", [1.0, 1.0], "must have 2 entries; got 3"),
    ("leaf_fill", [1.0, np.inf, 1.0], "'leaf_fill' of a tree must be finite or NaN"),
    ("leaf_table_ptr", [0, 2, 1, 0], "'leaf_table_ptr' of a tree must rise from 0 to 0"),
    ("leaf_table_ptr", [0, 0, 1, 1], "'leaf_table_ptr' of a tree must rise from 0 to 0"),
    ("leaf_table", [1.0], "'leaf_table_ptr' of a tree must rise from 0 to 1"),
    ("leaf_intercept", [0.0, 0.0, 0.0, 0.0, np.inf], "'leaf_intercept' of a tree must be fin"),
    ("leaf_intercept", [], "must have 0 entries; got 5"),
    ("leaf_low", [0.0, 9001.0, 0.0, 0.0, 0.0], "node 1 must lie between 9001 and 9000"),
    ("leaf_high", [9000.0, 9000.0, 9000.0, 5000.0, np.nan], "'leaf_high' of a tree must be fin"),
    ("leaf_spread", [1.0, -1.0, 1.0], "'leaf_spread' of a tree holds nothing below 0"),
    ("leaf_spread", [1.0, np.inf, 1.0], "'leaf_spread' of a tree must be finite or NaN"),
    ("leaf_gain", [0.0, 0.0, -1.0, 0.0, 0.0], "'leaf_gain' of a tree holds nothing below 0"),
    ("leaf_gain", [0.0, 0.0, np.nan, 0.0, 0.0], "'leaf_gain' of a tree must be finite"),
]


@pytest.mark.parametrize(("name", "values", "message"), WRONG)
def test_functions_without_sense(name: str, values: Any, message: str) -> None:
    arrays = by_hand().to_arrays()
    changed = np.array(values, dtype=arrays[name].dtype)
    with pytest.raises(TreeError, match=re.escape(message)):
        Tree.from_arrays({**arrays, name: changed})
    # A file whose sums agree is checked in the same way.
    data = to_bytes(Model.of_tree(by_hand()))
    members = members_of(data)
    header = members["header.json"].decode()
    old = re.search(rf'"{name}":{{"type":"([^"]*)","shape":\[(\d+)\],"lengths":\[\d+\]}}', header)
    assert old is not None
    kind = "<f8" if changed.dtype.kind == "f" else "<i2" if (changed < 0).any() else "|u1"
    shape = f'"{name}":{{"type":"{kind}","shape":[{len(values)}],"lengths":[{len(values)}]}}'
    members["header.json"] = header.replace(old[0], shape).encode()
    members[f"arrays/{name}.npy"] = _npy_bytes(changed.astype(kind))
    with pytest.raises(ModelFileError):
        from_bytes(archive_of(members))


def test_only_trees_of_one_number_have_functions() -> None:
    builder = TreeBuilder(n_features=2, n_outputs=2)
    builder.set_leaf("r", value=[1.0, 2.0])
    lines = dict.fromkeys(PER_LINE, np.zeros(1))
    with pytest.raises(TreeError, match="Only a tree of numbers with one output"):
        Tree.from_arrays({**builder.build().to_arrays(), **lines, "leaf_ptr": [0, 0]})


def test_files_come_back() -> None:
    for model in (plain(), mixed()[0]):
        data = to_bytes(model)
        assert b'"version":4' in members_of(data)["header.json"]
        assert from_bytes(data)[0] == model


# --- words ------------------------------------------------------------------------------------


def test_text() -> None:
    assert export_text(by_hand(), **HAND).splitlines() == [
        "3 leaves, depth 2; 14 rows, mean 4143, standard deviation 1355",
        "",
        "area <= 100 (14 rows)",
        f"├─ yes: {SAID} (8 rows, typical error 1)",
        "└─ no:  rooms <= 3 (6 rows)",
        "   ├─ yes: price = 5000 (2 rows)",
        "   └─ no:  price = rooms, between 4.5 and 7000 (4 rows, typical error 2)",
    ]
    # What is not shown is told by its mean.
    cut = export_text(by_hand(), max_depth=1, **HAND).splitlines()
    assert cut[-1].startswith("└─ no:  mean 5667 … (2 leaves below, 6 rows, standard deviation")
    few = export_text(by_hand(), max_terms=1, details=True, **HAND)
    assert "price = 1200 + 31*area + (1 more), between 400 and 9000" in few
    assert "\n│    missing counts as: area 60\n│    per standard deviation: area 620\n" in few
    narrow = export_text(by_hand(), width=40, **HAND).splitlines()
    assert max(map(len, narrow[1:])) <= 40


def test_rules() -> None:
    rules = export_rules(by_hand(), order="tree", **HAND)
    said = f"then {SAID} (8 rows, typical error 1)"
    assert rules[0].text == f"if area <= 100 {said}"
    assert rules[0].lines() == ["if area <= 100", f"   {said}"]
    first, second = rules[0].function, rules[1].function
    assert first is not None and second is not None
    assert (first.columns, first.coefficients, first.intercept) == ((0, 1), (31.0, -250.0), 1200.0)
    assert (first.low, first.high, first.error) == (400.0, 9000.0, 1.0)
    assert first.fills == (60.0, 2.0) and rules[0].label == 3000.0
    assert str(second) == "price = 5000"
    builder = TreeBuilder(n_features=1, n_outputs=1)
    builder.set_leaf("r", value=1.0)
    assert export_rules(builder.build())[0].function is None


@pytest.mark.parametrize("which", ["plain", "mixed"])
@pytest.mark.parametrize("exact", [True, False])
def test_rules_say_what_the_tree_says(which: str, exact: bool) -> None:
    model, Z = plain(), X
    if which == "mixed":
        model, frame, _ = mixed()
        Z = np.vstack([model.rows(strangers()), model.rows(frame)])
    tree, columns = model.trees[0], model.encoding.columns
    levels = {
        place: {name: code for code, name in enumerate(written_levels(column))}
        for place, column in enumerate(columns)
        if column.levels
    }
    reader = Reader(levels)
    names = [f"x{k}" for k in range(len(columns))]
    said, leaf = np.full(len(Z), np.nan), tree.apply(Z)
    filled = Z.copy()
    for rule in export_rules(model, feature_names=names, exact=exact):
        here = leaf == rule.leaf
        assert rule.function is not None
        if exact:
            assert (reader.rule(rule.text, Z) == here).all()
        else:  # what stands in is only told by exact rules
            for column, fill in zip(rule.function.columns, rule.function.fills, strict=True):
                gap = here & np.isnan(Z[:, column]) & (not columns[column].levels)
                filled[gap, column] = fill
        said[here] = reader.conclusion(rule.text, filled)[here]
    expected = tree.predict(Z)[:, 0]
    if exact:
        assert said.tolist() == expected.tolist()
    else:
        width = (tree.leaf_high - tree.leaf_low)[leaf]
        assert (np.abs(said - expected) <= width / 100).all()


def test_functions_of_rules_can_be_computed() -> None:
    model, frame, _ = mixed()
    Z = model.rows(frame)
    leaf = model.trees[0].apply(Z)
    for rule in export_rules(model):
        function, rows = rule.function, Z[leaf == rule.leaf]
        assert function is not None
        total = np.full(len(rows), function.intercept)
        parts = (function.columns, function.coefficients, function.fills, function.tables)
        for column, coefficient, fill, table in zip(*parts, strict=True):
            values = rows[:, column]
            there = np.where(np.isnan(values), 0, values)
            numbers = np.array(table)[there.astype(int)] if table else there
            total += coefficient * np.where(np.isnan(values), fill, numbers)
        expected = model.predict(rows)
        np.testing.assert_allclose(np.clip(total, function.low, function.high), expected)


def test_graph_and_frame() -> None:
    graph = export_graphviz(by_hand(), **HAND)
    expected = SAID.replace(", ", ",\\n") + "\\n8 rows, typical error 1"
    assert f'1 [label="{expected}"' in graph
    frame = by_hand().to_frame(["area", "rooms"], ["price"])
    assert frame["function"][1] == SAID
    assert frame["function"][0] == "price = 4000"
    assert frame["intercept"].tolist() == [4000.0, 1200.0, 5333.0, 5000.0, 0.0]
    assert (frame["low"][4], frame["high"][4], frame["error"][4]) == (4.5, 7000.0, 2.0)
    # The deviation is that from the mean, whatever the function explains of it.
    assert frame["sd"][4] == pytest.approx(np.sqrt((16.0 + 3.0 * 14.0) / 4.0))
    model = mixed()[0]
    shown = export_graphviz(model) + model.trees[0].to_frame(model.encoding)["function"][3]
    assert shown.count("score(town): ") >= 2
    assert "function" in by_hand().to_frame(library="polars").columns
    builder = TreeBuilder(n_features=1, n_outputs=1)
    builder.set_leaf("r", value=1.0)
    assert not {"function", "error"} & set(builder.build().to_frame().columns)


def test_nothing_is_lost_to_rounding() -> None:
    tree = by_hand()
    coef, intercept = tree.leaf_coef.copy(), tree.leaf_intercept.copy()
    coef[0], intercept[1] = 31.23456789, 1e-13
    far = replace(tree, leaf_coef=coef, leaf_intercept=intercept, leaf_fill=[2e6, 2.0, 5.0])
    said = export_rules(far, order="tree", **HAND)[0].class_name
    assert said.startswith("price = 31.234567") and "e-13" not in said
    exact = export_rules(far, order="tree", exact=True, **HAND)[0].class_name
    assert exact.startswith("price = 1e-13 + 31.23456789*area - 250*rooms,")


# --- what was explained -----------------------------------------------------------------------


def test_importances_share_out_all_that_is_explained() -> None:
    tree = plain().trees[0]
    left_over = np.mean((Y - tree.predict(X)[:, 0]) ** 2)
    found = importances(tree, normalize=False)
    assert found.sum() == pytest.approx(np.var(Y) - left_over, rel=0.01)
    assert importances(tree).sum() == pytest.approx(1.0)
    assert importances(tree).argmax() == 0


def test_importances_of_a_slope_that_turns() -> None:
    """Neither feature explains anything alone, and both must count."""
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.normal(size=400), np.repeat([-1.0, 1.0], 200), rng.normal(size=400)])
    y = Z[:, 0] * Z[:, 1]
    builder = TreeBuilder(n_features=3, n_outputs=1)
    builder.add_split("r", {1: 1.0}, 0.0, ("a", "b"))
    problem = encode_numbers(Z, y)
    for name, side in (("a", y[:200]), ("b", y[200:])):
        mean = float(side.mean())
        builder.set_leaf(name, [200.0, mean, float(((side - mean) ** 2).sum())], 200)
    found = importances(with_leaves(builder.build(), problem, LeafFit(1.0)))
    assert 0.4 < found[0] < 0.6 and 0.4 < found[1] < 0.6 and found[2] < 0.01


def test_importances_need_the_spread() -> None:
    tree = by_hand()
    unknown = replace(tree, leaf_spread=np.full(3, np.nan))
    with pytest.raises(TreeError, match="function of node 1 is not known"):
        importances(unknown)
    lone = replace(tree, leaf_spread=np.array([20.0, 1.0, np.nan]))
    np.testing.assert_allclose(importances(lone), importances(tree))


def test_what_needs_constants_refuses() -> None:
    tree = by_hand()
    with pytest.raises(TreeError, match="linear functions, and a spectrum"):
        spectrum_of(tree, Domain.of_levels([2, 2]))
    with pytest.raises(TreeError, match="linear functions, and a spectrum"):
        tree_sum_of(Model.of_tree(tree))
    with pytest.raises(TreeError, match="cannot be folded"):
        fold(tree, scale=np.full(2, 2.0))
    with pytest.raises(TreeError, match="those of tree 0 say linear functions"):
        Model((tree,), "sum", Encoding.identity(2), np.array(["a"]))


def test_facts_of_the_command_line() -> None:
    assert _learnt(Model.of_tree(by_hand())) == ("numbers", "leaves from 4.5 to 9,000")


def test_regions_and_margins() -> None:
    assert str(regions(by_hand())[0]) == "x0 <= 100"
    assert margins(by_hand(), [[90.0, 1.0]]).smallest.tolist() == [10.0]


# --- pictures ---------------------------------------------------------------------------------


def texts_of(ax: Any, gid: str) -> str:
    return " ".join(text.get_text() for text in ax.texts if text.get_gid() == gid)


def test_a_tree_with_functions_in_its_leaves() -> None:
    tree = by_hand()
    ax = plot_tree(tree, **HAND)
    assert texts_of(ax, "node-1-function") == (
        "price = 1200 + 31·area − 250·rooms between 400 and 9000"
    )
    assert texts_of(ax, "node-1-class") == "mean 3000"
    # The scale of colours, and of the mark of a row, covers what functions can say.
    assert {"4.5", "9000"} <= {text.get_text() for text in ax.texts}
    paint = paint_of(subject_of(tree))
    assert isinstance(paint, Shades) and paint.reach == (4.5, 9000.0)
    assert not texts_of(ax, "node-3-function")
    assert "+ (1 more)" in texts_of(plot_tree(tree, max_terms=1, **HAND), "node-1-function")
    assert "score(town):" in texts_of(plot_tree(mixed()[0]), "node-3-function")
    ax.figure.canvas.draw()
    box = next(patch for patch in ax.patches if patch.get_gid() == "node-1").get_window_extent()
    for text in ax.texts:
        if text.get_gid() == "node-1-function":
            inside = text.get_window_extent()
            assert box.x0 < inside.x0 and inside.x1 < box.x1
            assert box.y0 < inside.y0 and inside.y1 < box.y1


def test_marks_are_as_high_as_the_means_of_their_bars() -> None:
    ax = plot_tree(plain(), X, Y)
    drawn = {one.get_gid(): one for one in ax.collections}
    marks = drawn["node-0-histogram-means"].get_paths()
    assert len(marks) == len(drawn["node-0-histogram"].get_paths())
    heights = [path.vertices[:, 1].mean() for path in marks]
    value, cut = X @ plain().trees[0].coefficients(0), plain().trees[0].threshold[0]
    left = np.array([path.vertices[:, 0].mean() for path in marks])
    line = next(one for one in ax.lines if one.get_gid() == "node-0-histogram-cut")
    goes_left = left < line.get_xdata()[0]
    means = [Y[value <= cut].mean(), Y[value > cut].mean()]
    shown = [np.mean(np.array(heights)[goes_left]), np.mean(np.array(heights)[~goes_left])]
    assert (means[0] < means[1]) == (shown[0] < shown[1])
    assert "marks: their means" in texts_of(ax, "legend-note")


def test_the_way_of_a_row_ends_with_what_is_said_of_it() -> None:
    row = np.array([50.0, 3.0])
    ax = plot_path(by_hand(), row, **HAND)
    assert texts_of(ax, "node-1-class") == "price = 2000"
    assert texts_of(ax, "node-1-name-0") == "area" and texts_of(ax, "node-1-name-1") == "rooms"
    words = [text.get_text() for text in ax.texts]
    assert "from 1200, by coefficient × value" in words
    assert "+1550" in words and "−750" in words
    low = plot_path(by_hand(), [1.0, 9.0], **HAND)
    assert texts_of(low, "node-1-class") == "price = 400 held there: the sum is −1019"
    assert texts_of(plot_path(by_hand(), [200.0, 1.0], **HAND), "node-3-class") == "mean 5000"
    # With rows the start is what the function says at their mean.
    model, frame, y = mixed()
    ax = plot_path(model, frame.iloc[5], X=frame, y=y)
    Z = model.rows(frame)
    said = model.predict(Z)[5]
    leaf = int(model.apply(Z)[5])
    shown = float(texts_of(ax, f"node-{leaf}-class").removeprefix("y = ").replace("−", "-"))
    assert shown == pytest.approx(said, rel=1e-2)
    words = [text.get_text().replace("−", "-") for text in ax.texts]
    start = next(float(found[1]) for w in words if (found := re.match(r"from (\S+), by", w)))
    gids = [text.get_gid() or "" for text in ax.texts]
    names = [k for k, gid in enumerate(gids) if gid.startswith(f"node-{leaf}-name-")]
    moves = [float(words[k + 1]) for k in names]
    assert len(moves) == 4 and start + sum(moves) == pytest.approx(said, abs=0.05)


def test_a_boundary_has_the_colours_of_what_is_said() -> None:
    model = plain()
    tree = model.trees[0]
    ax = plot_boundary(model, X, Y, features=["age", "bmi"])
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    pixels = image.get_array()
    size = pixels.shape[0]
    rows = np.array([[10, 390], [200, 200], [390, 10]])  # of the grid: age, bmi
    points = np.tile(np.median(X, axis=0), (3, 1))
    points[:, 0] = left + (rows[:, 0] + 0.5) * (right - left) / size
    points[:, 1] = bottom + (rows[:, 1] + 0.5) * (top - bottom) / size
    scale = ax.figure.axes[1]
    low, high = scale.get_ylim()
    shares = (tree.predict(points)[:, 0] - low) / (high - low)
    from obliqua.plot._regions import colour_map

    shown = np.array([pixels[bmi, age] for age, bmi in rows.tolist()])
    np.testing.assert_allclose(shown, colour_map()(shares), atol=0.02)
    borders = [patch for patch in ax.patches if (patch.get_gid() or "").startswith("leaf-")]
    assert len(borders) > 1 and all(patch.get_facecolor()[3] == 0.0 for patch in borders)


def test_a_boundary_holds_what_only_functions_use() -> None:
    tree = by_hand()
    lone = collapse(tree, 2)  # rooms is in the function of node 1 alone
    ax = plot_boundary(lone, [[50.0, 3.0], [150.0, 1.0]])
    assert ax.get_xlabel() == "x0" and len(ax.images) == 1
    model, frame, y = mixed()
    ax = plot_boundary(model, frame, y)
    assert "town" in " ".join(text.get_text() for text in ax.texts)


def test_a_projection_says_that_colours_are_means() -> None:
    ax = plot_projection(plain(), X, Y)
    words = " ".join(text.get_text() for text in ax.texts)
    assert "colours: means of leaves, which say linear functions" in " ".join(words.split())


def test_functions_of_equal_means_are_no_single_region() -> None:
    builder = TreeBuilder(n_features=3, n_outputs=1)
    builder.add_split("r", {0: 1.0}, 0.0, ("a", "m"))
    builder.add_split("m", {1: 1.0}, 0.0, ("b", "n"))
    builder.add_split("n", {2: 1.0}, 0.0, ("c", "d"))  # along no axis of the picture
    for leaf in "abcd":
        builder.set_leaf(leaf, value=1.0, n_samples=5)
    tree = builder.build()
    lines = dict.fromkeys(("leaf_intercept", "leaf_low", "leaf_high"), np.arange(7.0))
    other = {**tree.to_arrays(), **lines, "leaf_ptr": np.zeros(8), "leaf_gain": np.zeros(7)}
    rows = RNG.normal(size=(20, 3))
    divided = [
        any(patch.get_gid() == "node-4-divided" for patch in plot_projection(one, rows).patches)
        for one in (tree, Tree.from_arrays(other))
    ]
    assert divided == [False, True]


@pytest.mark.parametrize("draw", [plot_tree, plot_boundary, plot_projection])
def test_single_leaves_with_a_function(draw: Callable[..., Any]) -> None:
    problem = encode_numbers(X, Y)
    tree = with_leaves(grown(problem, 1), problem, LeafFit(1.0))
    assert tree.n_nodes == 1
    draw(tree, X, Y).figure.canvas.draw()
    assert export_text(tree).splitlines()[2].startswith("y = ")
    assert str(export_rules(tree)[0]).startswith("always y = ")
    plot_path(tree, X[0]).figure.canvas.draw()
