"""`plot_tree`: all nodes are there, nothing overlaps, and histograms count the rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from obliqua import (
    CartClassifier,
    CartRegressor,
    EigenTreeClassifier,
    HHCartClassifier,
    MissingDependency,
    TreeBuilder,
    TreeError,
    plot_boundary,
    plot_tree,
)
from obliqua.data.encoding import Encoding
from obliqua.plot._rows import Sample, along, histogram
from obliqua.plot.tree import shown_nodes
from obliqua.tree.model import Model
from obliqua.words.subject import subject_of
from plot.pictures import (
    LONG,
    ODD,
    all_kinds,
    assert_tidy,
    boxes,
    by_gid,
    coloured,
    data,
    grown,
    words,
)

LONG_NAMES = [LONG.format(k) for k in range(5)]


@pytest.mark.parametrize("dpi", [72, 100])
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
@pytest.mark.parametrize(
    ("n_leaves", "n_classes", "oblique"),
    [(2, 2, True), (3, 3, True), (10, 3, False), (10, 10, True), (30, 26, True)],
)
def test_boxes_and_texts_have_room(
    n_leaves: int, n_classes: int, oblique: bool, long: bool, dpi: int
) -> None:
    model, X, y = grown(n_leaves, n_classes, oblique)
    names: dict[str, Any] = {}
    if long:
        classes = [f"a class whose name is long, number {k}" for k in range(n_classes)]
        names = {"feature_names": LONG_NAMES, "class_names": classes}
    with mpl.rc_context({"figure.dpi": dpi}):
        ax = plot_tree(model, X, y, **names)
    assert sorted(boxes(ax)) == list(range(model.tree_.n_nodes))
    assert len(by_gid(ax, r"edge-\d+")) == model.tree_.n_nodes - 1
    assert_tidy(ax)


def test_small_trees_stand_and_large_ones_lie() -> None:
    for n_leaves, upright in ((4, True), (30, False)):
        model, X, y = grown(n_leaves, 10)
        found = boxes(plot_tree(model, X, y))
        root, left, right = (found[k] for k in (0, 1, 2))
        assert (left.y1 < root.y0 and left.x1 <= right.x0) == upright
        assert (left.x0 > root.x1 and left.y0 >= right.y1) == (not upright)


@pytest.mark.parametrize("size", [(12.0, 3.0), (3.0, 12.0), (30.0, 20.0)])
def test_a_given_ax_is_used_and_text_shrinks_with_it(size: tuple[float, float]) -> None:
    model, X, y = grown(6)
    ax = plt.figure(figsize=size).add_axes((0.1, 0.1, 0.8, 0.8))
    assert plot_tree(model, X, y, ax=ax) is ax
    assert len(boxes(ax)) == 11
    assert_tidy(ax)


@pytest.mark.parametrize("layout", ["constrained", "tight", "none"])
def test_text_fits_after_the_layout_of_the_figure(layout: str) -> None:
    model, X, y = grown(6)
    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout=layout)
    for ax in axes:
        plot_tree(model, X, y, ax=ax, feature_names=LONG_NAMES)
        ax.set_title("a title that comes later")
    figure.draw_without_rendering()
    for ax in axes:
        assert_tidy(ax)


def test_an_ax_without_room_is_refused() -> None:
    model, X, y = grown(3)
    ax = plt.figure().add_axes((0.0, 0.0, 0.0, 1.0))
    with pytest.raises(ValueError, match="has no room"):
        plot_tree(model, X, y, ax=ax)


def test_a_node_says_what_it_asks() -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=1, max_features_per_split=3).fit(X, y)
    text = words(plot_tree(model, X, y, feature_names=list("abcde"), max_terms=2))
    assert "(1 more)" in text
    assert "yes" in text and "no" in text
    assert "300 rows" in text
    assert f"gain {model.tree_.gain[0]:.3g}" in text
    assert f"(axis {model.tree_.axis_gain[0]:.3g})" in text.replace("-parallel", "")
    assert "more)" not in words(plot_tree(model, max_terms=3))


@pytest.mark.parametrize("node_of", ["<=", ">="])
def test_histograms_count_rows_on_their_side_of_the_cut(node_of: str) -> None:
    model, X, y = grown(20)
    subject = subject_of(model)
    sample = Sample(subject, X, y)
    tree = model.tree_
    seen = 0
    for node in np.flatnonzero(~tree.is_leaf):
        scale = along(subject, int(node))
        assert scale is not None
        if scale.question.relation != node_of:
            continue
        seen += 1
        found = histogram(sample, scale, int(node))
        assert found is not None
        left = int(np.flatnonzero(found.edges == scale.cut)[0])
        # The scale runs so that those who answer yes are to the left, whatever the relation.
        child = int(tree.first_child[node])
        np.testing.assert_array_equal(found.sums[:left].sum(axis=0), tree.stats[child])
        np.testing.assert_array_equal(found.sums[left:].sum(axis=0), tree.stats[child + 1])
    assert seen > 0


def test_bins_hold_the_rows_whose_values_lie_in_them() -> None:
    model, X, y = grown(20)
    subject, tree = subject_of(model), model.tree_
    relations = set()
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        scale = along(subject, node)
        assert scale is not None
        relations.add(scale.question.relation)
        lead = tree.coefficients(node)[scale.question.terms[0].column]
        rows = np.flatnonzero(model.decision_path(X).toarray()[:, node])
        values = X[rows] @ tree.coefficients(node) / abs(lead)
        found = histogram(Sample(subject, X, y), scale, node)
        assert found is not None
        # The outermost bins hold all that is further out.
        edges = np.concatenate([[-np.inf], found.edges[1:-1], [np.inf]])
        expected = [np.histogram(values[y[rows] == c], edges)[0] for c in range(3)]
        np.testing.assert_array_equal(found.sums.T, expected)
    assert relations == {"<=", ">="}


def test_a_row_on_the_cut_is_left_of_it() -> None:
    builder = TreeBuilder(n_features=1, n_stats=1)
    builder.add_split("root", {0: 1.0}, 1.0, ("a", "b"))
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    subject = subject_of(builder.build())
    scale = along(subject, 0)
    assert scale is not None
    found = histogram(Sample(subject, [[0.0], [1.0], [1.0], [3.0]]), scale, 0)
    assert found is not None
    assert found.sums[found.edges[:-1] < 1.0].sum() == 3
    # All rows on the cut: there is still a range to draw.
    found = histogram(Sample(subject, [[1.0]]), scale, 0)
    assert found is not None
    assert found.sums[found.edges[:-1] < 1.0].sum() == 1


def test_weights_are_like_repeated_rows() -> None:
    model, X, y = grown(5)
    subject, weight = subject_of(model), np.arange(len(X)) % 3
    scale = along(subject, 0)
    assert scale is not None
    weighted = histogram(Sample(subject, X, y, weight), scale, 0)
    repeated = histogram(Sample(subject, np.repeat(X, weight, 0), np.repeat(y, weight)), scale, 0)
    assert weighted is not None and repeated is not None
    assert weighted.sums.sum() == repeated.sums.sum() == weight.sum()
    np.testing.assert_array_equal(weighted.sums.sum(axis=0), repeated.sums.sum(axis=0))
    plot_tree(model, X, y, sample_weight=np.zeros(len(X)))


@pytest.mark.parametrize("scale", [1e-300, 1e300, 0.0])
def test_values_without_a_range_are_drawn_in_another_way(scale: float) -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=2).fit(X, y)
    ax = plot_tree(model, X * scale, y)
    assert len(boxes(ax)) == model.tree_.n_nodes


def test_without_rows_or_labels() -> None:
    model, X, y = grown(5)
    inner, all_ = r"node-\d+-histogram", r"node-\d+-classes"
    ax = plot_tree(model)
    assert not by_gid(ax, inner)
    assert len(by_gid(ax, all_)) == 9
    ax = plot_tree(model, X)
    histograms = by_gid(ax, inner)
    assert len(histograms) == 4
    colours = np.concatenate([drawn.get_facecolor() for drawn in histograms.values()])
    assert len(np.unique(colours, axis=0)) == 1
    ax = plot_tree(model, X, y)
    assert len(by_gid(ax, inner)) == len(by_gid(ax, inner + "-cut")) == 4
    assert len(by_gid(ax, all_)) == 5


def test_nodes_that_no_row_reaches() -> None:
    model, X, y = grown(5)
    ax = plot_tree(model, X[:1], y[:1])
    assert len(boxes(ax)) == 9
    reached = model.decision_path(X[:1]).nnz
    assert words(ax).count("no rows") == 9 - reached
    assert "0 rows" not in words(ax)
    assert_tidy(ax)


def test_what_is_not_shown_is_counted() -> None:
    model, X, y = grown(30)
    ax = plot_tree(model, X, y, max_depth=2)
    assert len(boxes(ax)) == np.count_nonzero(model.tree_.node_depth <= 2)
    ends = [shown for shown in shown_nodes(subject_of(model), 2) if not shown.children]
    assert sum(shown.hidden or 1 for shown in ends) == 30
    for shown in ends:
        assert not shown.hidden or f"{shown.hidden} leaves" in words(ax)
    assert_tidy(ax)
    assert len(boxes(plot_tree(model, max_depth=0))) == 1


def test_a_large_tree_is_cut_where_it_can_still_be_read() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), rng.integers(0, 2, 3000)
    model = CartClassifier(pruning=None).fit(X, y)
    assert model.get_n_leaves() > 400
    shown = shown_nodes(subject_of(model), None)
    ends = [node for node in shown if not node.children]
    assert 8 <= len(ends) <= 40
    assert sum(node.hidden or 1 for node in ends) == model.get_n_leaves()
    with pytest.raises(TreeError, match=r"boxes at its ends.*max_depth=99.*At most 300"):
        plot_tree(model, max_depth=99)


def test_linear_machines_and_level_sets() -> None:
    model = all_kinds()
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(50, 2)), rng.integers(0, 5, 50)])
    for rows in ((), (coloured(X), model.predict(X))):
        ax = plot_tree(model, *rows)
        assert len(boxes(ax)) == 7
        assert not by_gid(ax, r"node-\d+-histogram")
        text = words(ax)
        assert "which score is largest?" in text
        assert "1: length + 0.5·width" in text
        assert "1: colour in {red, green}" in text
        assert_tidy(ax)


def test_a_single_leaf() -> None:
    model = CartClassifier().fit([[0.0], [1.0]], ["only", "only"])
    ax = plot_tree(model, [[0.5]], ["only"])
    assert list(boxes(ax)) == [0]
    assert "only" in words(ax)
    assert_tidy(ax)


def test_names_mean_nothing_to_the_drawer(tmp_path: Path) -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=1).fit(X, y)
    ax = plot_tree(model, X, y, feature_names=ODD, class_names=ODD[:3], max_terms=5)
    text = words(ax)
    for shown in ("$a_1^2$", r"line\nbreak", "<b>", "□□□", "a&b"):
        assert shown in text
    assert "日" not in text  # the font has no such letter
    assert not any(drawn.get_parse_math() or drawn.get_usetex() for drawn in ax.texts)
    for ending in ("png", "svg", "pdf"):
        ax.figure.savefig(tmp_path / f"tree.{ending}")
    assert_tidy(ax)


def test_a_second_font_is_used_where_the_first_lacks_letters() -> None:
    X, y = data(2)
    model = CartClassifier(pruning=None, max_depth=1).fit(X, y)
    for families, shown in ((["cmss10", "DejaVu Sans"], "Русс"), (["cmss10"], "????")):
        with mpl.rc_context({"font.family": families}):
            ax = plot_tree(model, class_names=["Русс", "b"])
            ax.figure.draw_without_rendering()
        assert shown in words(ax)


def test_nothing_else_of_matplotlib_changes() -> None:
    model, X, y = grown(3)
    before = dict(mpl.rcParams)
    plot_tree(model, X, y)
    assert dict(mpl.rcParams) == before
    assert len(plt.get_fignums()) == 1
    plot_tree(model, X, y, ax=plt.gca())
    assert len(plt.get_fignums()) == 1


def test_many_classes_have_a_legend_that_ends() -> None:
    X, y = data(60, n_rows=600)
    model = CartClassifier(pruning=None, max_depth=2).fit(X, y)
    names = [f"class with a longer name {k}" for k in range(60)]
    ax = plot_tree(model, X, y, class_names=names)
    shown = len(by_gid(ax, r"legend-\d+"))
    assert 4 <= shown < 60
    assert f"and {60 - shown} more" in words(ax)
    assert_tidy(ax)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [0]}, "give X as well"),
        ({"sample_weight": [1.0]}, "give X as well"),
        ({"X": np.zeros((2, 5)), "y": [0, 9]}, "label 9, which is none of the tree's classes"),
        ({"X": np.zeros((2, 5)), "y": [0]}, "2 rows and 1 labels"),
        ({"X": np.zeros((2, 4)), "y": [0, 1]}, "4 features"),
        ({"X": np.zeros((2, 5)), "sample_weight": [1.0]}, r"each of the 2 rows; got shape \(1,\)"),
        ({"X": np.zeros((2, 5)), "sample_weight": [1.0, -1.0]}, "at least 0"),
        ({"max_depth": -1}, "max_depth must be a whole number of at least 0; got -1"),
        ({"max_depth": 1.5}, "got 1.5"),
        ({"max_terms": 0}, "max_terms must be a whole number of at least 1; got 0"),
        ({"max_terms": True}, "got True"),
        ({"feature_names": ["a"]}, "feature_names must give a name to each of the 5"),
    ],
)
def test_errors_say_what_was_wrong(options: dict[str, Any], message: str) -> None:
    model, _, _ = grown(3)
    with pytest.raises(ValueError, match=message):
        plot_tree(model, **options)
    assert not plt.get_fignums()


def test_other_columns_are_refused_by_name() -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = CartClassifier(pruning=None, max_depth=1).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        plot_tree(model, frame.rename(columns={"e": "z"}), y)
    # A model takes columns by name, in any order.
    first, second = (
        words(plot_tree(model.model_, part, y)) for part in (frame, frame[list("edcba")])
    )
    assert first == second


def test_matplotlib_is_loaded_when_something_is_drawn() -> None:
    program = "import sys, obliqua.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, _ = grown(3)
    monkeypatch.setitem(sys.modules, "matplotlib.font_manager", None)
    with pytest.raises(MissingDependency, match="pip install matplotlib"):
        plot_tree(model)


def test_a_tree_about_two_classes_shows_their_rows_only() -> None:
    X, y = data(3)
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    own = np.isin(y, model.pairs_[1])
    ax = plot_tree(model, X, y, tree=1)
    texts = [text.get_text() for text in ax.texts]
    assert f"{own.sum()} rows" in texts
    assert f"{len(y)} rows" not in texts
    # Without labels nobody knows which rows these are.
    assert f"{len(y)} rows" in [text.get_text() for text in plot_tree(model, X, tree=1).texts]


def test_whether_a_value_is_there_has_a_bar_for_each_answer() -> None:
    X = np.array([[np.nan], [1.0], [2.0], [3.0]] * 5)
    y = np.isnan(X[:, 0])
    for model in (CartClassifier(pruning=None), CartRegressor(pruning=None)):
        model.fit(X, y if isinstance(model, CartClassifier) else 9.0 * y)
        ax = plot_tree(model, X, y if isinstance(model, CartClassifier) else 9.0 * y)
        assert by_gid(ax, "node-0-question")
        bars = by_gid(ax, "node-0-histogram")["node-0-histogram"].get_paths()
        heights = [bar.get_extents().height for bar in bars]
        assert len(bars) == 2 and heights[0] == pytest.approx(3 * heights[1])


def test_colours_of_several_outputs_are_those_of_the_first() -> None:
    X = np.arange(40.0).reshape(20, 2)
    one = CartRegressor().fit(X, X[:, 0])
    two = CartRegressor().fit(X, X)
    assert not any("outputs" in text.get_text() for text in plot_tree(one).texts)
    assert "y0 (1 of 2 outputs)" in [text.get_text() for text in plot_tree(two).texts]
    scale = plot_boundary(two, X).figure.axes[-1]
    assert scale.yaxis.label.get_text() == "y0 (1 of 2 outputs)"


def test_bars_of_a_component_stay_in_their_boxes() -> None:
    """Its numbers for the classes are means of a function, and may be below 0."""
    builder = TreeBuilder(n_features=1, n_outputs=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", value=[-3.4, 4.4])
    builder.set_leaf("b", value=[1.7, -0.7])
    ax = plot_tree(Model((builder.build(),), "sum", Encoding.identity(1), np.array([0, 1])))
    frames = boxes(ax)
    drawn = [
        (int(gid.split("-")[1]), path.get_extents(artist.get_transform()))
        for gid, artist in by_gid(ax, r"node-\d+-classes").items()
        for path in artist.get_paths()
    ]
    assert {node for node, _ in drawn} == {0, 1, 2}
    for node, bar in drawn:
        frame = frames[node]
        assert frame.x0 <= bar.x0 < bar.x1 <= frame.x1, node
