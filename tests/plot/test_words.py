"""What pictures say: digits, names, colours, and how much of a long tree."""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from obliqua import (
    HHCartClassifier,
    TreeBuilder,
    export_text,
    plot_boundary,
    plot_path,
    plot_tree,
)
from obliqua.data.encoding import Encoding
from obliqua.plot._canvas import Font
from obliqua.plot._nodes import Palette, two_sides
from obliqua.plot.tree import shown_nodes
from obliqua.tree.tree import Tree
from obliqua.words.colours import class_colours
from obliqua.words.question import question_of
from obliqua.words.subject import subject_of
from plot.pictures import assert_tidy, boxes, by_gid, grown, words


def test_a_tree_by_hand_knows_weights() -> None:
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", [3, 1.5])
    builder.set_leaf("b", [0, 2])
    tree = builder.build()
    for text in (words(plot_tree(tree)), words(plot_path(tree, [0.0]))):
        assert "weight 6.5" in text and "weight 4.5" in text
        assert "0 rows" not in text and "no rows" not in text


def test_it_is_said_whose_classes_are_shown() -> None:
    model, X, y = grown(5)
    for ax in (plot_tree(model, X[:40]), plot_path(model, X[0], X=X[:40])):
        note = by_gid(ax, "legend-note")["legend-note"].get_text()
        assert "classes: those of the training rows" in note
        assert "40 rows" in words(ax)
        assert_tidy(ax)
    for ax in (plot_tree(model), plot_tree(model, X, y), plot_path(model, X[0], X=X, y=y)):
        assert not by_gid(ax, "legend-note")


@pytest.mark.parametrize("draw", [plot_tree, plot_path, plot_boundary])
@pytest.mark.parametrize("ax", [3, "ax", (1, 2)])
def test_an_ax_is_an_axes(draw: Any, ax: Any) -> None:
    model, X, _ = grown(3)
    with pytest.raises(TypeError, match=r"ax must be a matplotlib Axes.*got "):
        draw(model, X[0] if draw is plot_path else X, ax=ax)
    assert not plt.get_fignums()


def test_pictures_use_the_words_of_the_text() -> None:
    model, X, y = grown(14)
    text = words(plot_tree(model, X, y))
    assert "class 0" in text
    brackets = set(re.findall(r"\((axis[-a-z]*) ", text))
    assert len(brackets) == 1
    names = ["a, b", "c", "d"]
    assert "`a, b`" in words(plot_tree(model, X, y, class_names=names))
    assert "`a, b`" in export_text(model, class_names=names)


def test_numbers_have_the_digits_that_rows_need() -> None:
    rng = np.random.default_rng(0)
    day = 2460000 + rng.uniform(0, 30, 400).round(3)
    X = np.column_stack([day, rng.normal(293, 5, 400)])
    y = (day - 2460015) / 8 + (X[:, 1] - 293) / 5 > 0
    model = HHCartClassifier(pruning=None, max_depth=1, extra_directions="fisher").fit(X, y)
    question = question_of(model.tree_, 0, Encoding.identity(2))
    assert question.is_oblique
    for ax in (plot_tree(model, X, y), plot_path(model, X[0], X=X, y=y)):
        asked = by_gid(ax, "node-0-question")["node-0-question"]
        text = " ".join(t.get_text() for t in (asked if isinstance(asked, list) else [asked]))
        assert question.cut(3) in text
        for term in question.terms[1:]:
            size = question.written_coefficient(term, 3)
            assert len(size.replace(".", "")) > 4
            assert size in text


def test_names_of_classes_use_the_free_space() -> None:
    font = Font()
    names = ("species Alpha", *(f"k{c}" for c in range(1, 10)))
    palette = Palette(names, ["#000000"] * 10)
    first, other = np.zeros(10), np.zeros(10)
    first[0], other[1] = 5, 3
    whole = font.width("species Alpha", 6.0)
    texts = two_sides(font, (first, other), palette, 1.2 * whole + 0.12, 6.0)
    assert texts == ["species Alpha", "k1"]
    first[2:] = 1  # the others are counted
    width = 1.6 * whole + 0.12
    texts = two_sides(font, (first, other), palette, width, 6.0)
    assert texts[0].startswith("species Alpha") and texts[0].endswith("+8")
    assert font.width(texts[0], 6.0) + font.width(texts[1], 6.0) + 0.12 <= width + 1e-9


def test_colours_of_26_classes_are_far_apart() -> None:
    colours = np.array([lab(colour) for colour in class_colours(26)])
    apart = np.linalg.norm(colours[:, None] - colours, axis=2)[np.triu_indices(26, k=1)]
    assert apart.min() > 25
    assert len(class_colours(60)) == 60


def lab(colour: str) -> np.ndarray:
    """CIELAB of a colour; a difference of 2 is just seen."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ light / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def chain(length: int) -> Tree:
    """A tree of one question after another."""
    builder = TreeBuilder(n_features=1, n_stats=2)
    for k in range(length):
        builder.add_split(f"n{k}", {0: 1.0}, float(k), (f"l{k}", f"n{k + 1}"))
        builder.set_leaf(f"l{k}", [k % 2, 1 - k % 2])
    builder.set_leaf(f"n{length}", [1, 0])
    return builder.build()


def test_a_chain_is_cut_by_its_depth() -> None:
    tree = chain(30)
    shown = shown_nodes(subject_of(tree), None)
    assert max(node.depth for node in shown) == 16
    assert sum(node.hidden or 1 for node in shown if not node.children) == 31
    assert len(shown_nodes(subject_of(tree), 30)) == tree.n_nodes


def test_of_a_long_way_the_first_and_last_questions_are_shown() -> None:
    tree = chain(60)
    ax = plot_path(tree, [100.0])
    way = [0, *range(2, tree.n_nodes, 2)]
    assert sorted(boxes(ax)) == [*way[:8], *way[-8:]]  # 7 questions at the end, and the leaf
    assert by_gid(ax, "skipped")["skipped"].get_text() == "… 45 more questions …"
    assert_tidy(ax)
    assert len(boxes(plot_path(tree, [100.0], max_nodes=60))) == 61
    assert len(boxes(plot_path(tree, [100.0], max_nodes=2))) == 3
    with pytest.raises(ValueError, match="max_nodes must be a whole number of at least 2; got 1"):
        plot_path(tree, [100.0], max_nodes=1)
