"""`plot_subclasses`: a line per cluster, a cell per feature, and nothing overlaps."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from obliqua import CartClassifier, plot_subclasses
from obliqua.explain import subclasses
from plot.pictures import all_kinds, by_gid, coloured, data, grown, overlaps
from trees_to_read import single


def labels(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def test_lines_and_cells_are_those_of_the_table() -> None:
    model, X, y = grown(12)
    found = subclasses(model, X, y)
    ax = plot_subclasses(model, X, y)
    cells = by_gid(ax, r"leaf-\d+")
    shown = found.leaves[found.n_rows > 0].tolist()
    assert sorted(cells) == sorted(f"leaf-{leaf}" for leaf in shown)
    assert len(labels(ax)) == len(shown)
    for text, place in zip(labels(ax), np.flatnonzero(found.n_rows > 0), strict=True):
        assert text.startswith(f"class {found.class_names[place]}: {found.n_rows[place]} row")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x0", "x1", "x2", "x3", "x4"]
    # The larger a difference, the stronger its colour; signs have two colours.
    for leaf, place in zip(found.leaves, range(len(found)), strict=True):
        if found.n_rows[place] == 0:
            continue
        faces = cells[f"leaf-{leaf}"].get_facecolor()[:, :3]
        strength = 1.0 - faces.min(axis=1)
        for sign in (-1.0, 1.0):
            away = sign * found.difference[place]
            order = np.argsort(away[away > 0])
            assert (np.diff(strength[away > 0][order]) >= -0.01).all()
        green = faces[:, 1] > faces[:, 0]
        clear = np.abs(found.difference[place]) > 0.2
        np.testing.assert_array_equal(green[clear], found.difference[place][clear] > 0)


def test_numbers_are_the_differences() -> None:
    model, X, y = grown(5)
    found = subclasses(model, X, y)
    ax = plot_subclasses(model, X, y)
    written = {float(t.get_text().replace("−", "-")) for t in ax.texts if t.get_gid() is None}
    kept = found.difference[found.n_rows > 0]
    expected = {float(f"{value:.1f}") for value in kept.ravel() if abs(value) >= 0.05}
    assert written == expected


@pytest.mark.parametrize("n_leaves", [2, 20])
@pytest.mark.parametrize("n_features", [2, 20, 40])
def test_all_is_in_sight_and_nothing_overlaps(n_leaves: int, n_features: int) -> None:
    X, y = data(3, n_features, 400)
    model = CartClassifier(pruning=None, max_leaf_nodes=n_leaves).fit(X, y)
    ax = plot_subclasses(model, X, y)
    figure = ax.figure
    figure.canvas.draw()
    assert len(ax.get_xticklabels()) == min(n_features, 20)
    texts = [t for t in (*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels()) if t.get_text()]
    for text in texts:
        box = text.get_window_extent()
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, text
        assert box.y0 >= -1 and box.y1 <= figure.bbox.y1 + 1, text
    upright = [t.get_window_extent() for t in texts if not t.get_rotation()]
    assert overlaps(upright, 1.0) == []
    note = by_gid(ax, "caption")["caption"].get_text().replace("\n", " ")
    assert ("20 more columns differ less" in note) == (n_features == 40)


def test_features_that_differ_most_are_kept_in_their_order() -> None:
    model, X, y = grown(6)
    found = subclasses(model, X, y)
    largest = np.abs(found.difference[found.n_rows > 0]).max(axis=0)
    two = sorted(np.argsort(-largest)[:2].tolist())
    ax = plot_subclasses(model, X, y, max_features=2)
    assert [t.get_text() for t in ax.get_xticklabels()] == [f"x{k}" for k in two]
    note = by_gid(ax, "caption")["caption"].get_text().replace("\n", " ")
    assert "3 more columns differ less" in note


def test_a_given_axes_is_used_and_small_cells_have_no_numbers() -> None:
    model, X, y = grown(20)
    figure, axes = plt.subplots(1, 2, figsize=(3, 1.5))
    assert plot_subclasses(model, X, y, ax=axes[0]) is axes[0]
    assert all(text.get_gid() == "caption" for text in axes[0].texts)
    assert not axes[1].collections
    assert plt.get_fignums() == [figure.number]


def test_levels_machines_and_single_leaves() -> None:
    rng = np.random.default_rng(0)
    X = coloured(np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 4, 60)]))
    ax = plot_subclasses(all_kinds(), X, rng.choice(["a", "b", "c"], 60))
    assert "colour = green" in [t.get_text() for t in ax.get_xticklabels()]
    lonely = plot_subclasses(single([3.0, 0.0], 3), [[1.0], [2.0]], [0, 0])
    assert labels(lonely) == ["class 0: 2 rows, 100 %"]
    nobody = plot_subclasses(single([3.0, 0.0], 3), [[1.0], [2.0]], [1, 1])
    assert labels(nobody) == []
    nobody.figure.canvas.draw()


def test_grey_cells_are_explained() -> None:
    X, y = data()
    model = CartClassifier(pruning=None, max_depth=2).fit(X, y)
    for entry, said in ((0.0, False), (np.nan, True)):
        gaps = X.copy()
        gaps[:, 4] = entry
        words = by_gid(plot_subclasses(model, gaps, y), "caption")["caption"].get_text()
        assert ("grey: all missing" in words.replace("\n", " ")) == said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_features": 0}, "max_features must be at least 1; got 0"),
        ({"max_features": 2.5}, "max_features must be a whole number; got 2.5"),
        ({"max_features": True}, "max_features must be a whole number"),
        ({"y": [0]}, "300 rows and 1 labels"),
    ],
)
def test_errors_say_what_was_wrong(options: dict[str, Any], message: str) -> None:
    X, y = data()
    model = CartClassifier(pruning=None, max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        plot_subclasses(model, X, **({"y": y} | options))
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        plot_subclasses(model, X, y, ax=plt)
    assert not plt.get_fignums()
