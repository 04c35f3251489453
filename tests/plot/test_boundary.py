"""`plot_boundary`: a polygon is exactly the part of the plane that reaches its leaf."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder, plot_boundary
from obliqua.data.encoding import Encoding
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from plot.pictures import all_kinds, by_gid, coloured, data


def polygons(ax: Axes) -> dict[int, NDArray[np.float64]]:
    return {
        int(gid.removeprefix("leaf-")): patch.get_xy()[:-1]
        for gid, patch in by_gid(ax, r"leaf-\d+").items()
    }


def area(corners: NDArray[np.float64]) -> float:
    x, y = (corners - corners[0]).T
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


def assert_exact(ax: Axes, tree: Tree, row: NDArray[np.float64], pair: tuple[int, int]) -> None:
    """Points in a polygon reach its leaf, and all polygons together fill the window."""
    rng = np.random.default_rng(0)
    found = polygons(ax)
    assert found
    for leaf, corners in found.items():
        # Mixtures of all corners lie inside; edges are left out.
        shares = 0.98 * rng.dirichlet(np.ones(len(corners)), 50) + 0.02 / len(corners)
        rows = np.tile(row, (50, 1))
        rows[:, pair] = shares @ corners
        assert set(tree.apply(rows).tolist()) == {leaf}
        label = int(tree.leaf_label[leaf])
        same = [k for k in found if tree.leaf_label[k] == label]
        colours = {by_gid(ax, f"leaf-{k}")[f"leaf-{k}"].get_facecolor() for k in same}
        assert len(colours) == 1
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    whole = (right - left) * (top - bottom)
    assert sum(map(area, found.values())) == pytest.approx(whole)


@pytest.mark.parametrize("kind", [CartClassifier, HHCartClassifier])
def test_regions_of_two_features_are_exact(kind: Any) -> None:
    X, y = data(4, n_features=2)
    model = kind(pruning=None).fit(X, y)
    ax = plot_boundary(model, X, y)
    assert_exact(ax, model.tree_, np.zeros(2), (0, 1))
    assert not by_gid(ax, "slice")
    assert sum(len(by_gid(ax, f"class-{c}")[f"class-{c}"].get_offsets()) for c in range(4)) == 300


def test_regions_of_a_slice_are_exact() -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None).fit(X, y)
    ax = plot_boundary(model, X, y, features=[3, "x1"], fixed={"x0": 0.5, 4: -1})
    row = np.median(X, axis=0)
    row[[0, 4]] = 0.5, -1
    assert_exact(ax, model.tree_, row, (3, 1))
    assert ax.get_xlabel() == "x3"
    assert ax.get_ylabel() == "x1"
    caption = by_gid(ax, "slice")["slice"].get_text()
    assert "x0 = 0.5" in caption and "x4 = −1" in caption


def test_linear_machines_and_held_levels_are_exact() -> None:
    model = all_kinds()
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 5, 60)])
    for level, name in ((0, "red"), (2, "blue"), (3, "white")):
        ax = plot_boundary(model, coloured(X), features=[0, 1], fixed={"colour": name})
        row = np.array([0.0, 0.0, level])
        assert_exact(ax, model.trees[0], row, (0, 1))
        assert f"colour = {name}" in by_gid(ax, "slice")["slice"].get_text()


def assert_grid(ax: Axes, model: Model, row: NDArray[np.float64], pair: tuple[int, int]) -> None:
    """The pixels of one colour are those of one class."""
    pixels = np.asarray(ax.images[0].get_array())
    left, right, bottom, top = ax.images[0].get_extent()
    n = len(pixels)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 300))
    rows = np.tile(row, (300, 1))
    rows[:, pair[0]] = left + (j + 0.5) * (right - left) / n
    rows[:, pair[1]] = bottom + (i + 0.5) * (top - bottom) / n
    classes = model.predict_index(rows)
    colours = [tuple(pixel) for pixel in pixels[i, j]]
    assert len(set(zip(classes.tolist(), colours, strict=True))) == len(set(colours))
    assert len(set(colours)) == len(set(classes.tolist())) > 1


def test_several_trees_are_drawn_on_a_grid_and_one_of_them_exactly() -> None:
    X, y = data(3, n_features=2)
    trees = [
        CartClassifier(pruning=None, max_depth=3).fit(X[k::3], y[k::3]).tree_ for k in range(3)
    ]
    model = Model(tuple(trees), "vote", Encoding.identity(2), np.arange(3))
    ax = plot_boundary(model, X, y)
    assert_grid(ax, model, np.zeros(2), (0, 1))
    assert_exact(plot_boundary(model, X, y, tree=1), trees[1], np.zeros(2), (0, 1))


def test_the_features_that_move_rows_most_are_shown() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    model = HHCartClassifier(pruning=None).fit(X, X[:, 1] + 0.8 * X[:, 3] > 0)
    ax = plot_boundary(model, X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x1", "x3")


def test_rows_fade_with_their_distance_from_the_slice() -> None:
    builder = TreeBuilder(n_features=3, n_stats=2)
    builder.add_split("root", [1.0, 1.0, 1.0], 0.0, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    ax = plot_boundary(builder.build(), X, np.zeros(100, int), features=[0, 1])
    strength = by_gid(ax, "class-0")["class-0"].get_alpha()
    away = np.abs(X[:, 2] - np.median(X[:, 2]))
    assert (np.diff(strength[np.argsort(away)]) <= 0).all()
    assert strength.max() > 0.9 > 0.1 > strength.min() > 0


@pytest.mark.parametrize("n_classes", [5, 26, 50])
def test_more_classes_stand_at_the_side(n_classes: int) -> None:
    X, y = data(n_classes, n_features=2, n_rows=500)
    ax = plot_boundary(CartClassifier(pruning=None, max_depth=3).fit(X, y), X, y)
    ax.figure.draw_without_rendering()
    legend = ax.get_legend()
    if n_classes > 42:
        assert legend is None
    else:
        assert len(legend.get_texts()) == n_classes
        assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
        assert legend.get_window_extent().x1 <= ax.figure.bbox.x1 + 1


def test_few_and_equal_rows_have_a_window() -> None:
    X, y = data(2, n_features=2)
    model = HHCartClassifier(pruning=None).fit(X, y)
    for rows in (X[:1], np.zeros((4, 2))):
        ax = plot_boundary(model, rows, y[: len(rows)])
        assert_exact(ax, model.tree_, np.zeros(2), (0, 1))


def test_a_single_leaf_fills_the_window() -> None:
    model = CartClassifier().fit(np.eye(3), [1, 1, 1])
    ax = plot_boundary(model, np.eye(3), [1, 1, 1])
    assert list(polygons(ax)) == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ["x0", "nothing"]}, "features names the feature 'nothing'.*It knows 'x0'"),
        ({"features": [0, 5]}, "numbers from 0 to 4"),
        ({"features": [0, -1]}, "the feature -1"),
        ({"features": [1, "x1"]}, "two different ones"),
        ({"features": [1]}, "must be two names or numbers"),
        ({"features": "x0"}, "must be two names or numbers; got 'x0'"),
        ({"features": [0, 1], "fixed": {"x1": 2}}, "'x1' is shown and cannot be held"),
        ({"features": [0, 1], "fixed": {"y": 2}}, "fixed names the feature 'y'"),
        ({"features": [0, 1], "fixed": {"x2": np.nan}}, "finite number; got nan"),
        ({"features": [0, 1], "fixed": {"x2": "much"}}, "finite number; got 'much'"),
        ({"y": [7] * 300}, "label 7"),
    ],
)
def test_errors_say_what_was_wrong(options: dict[str, Any], message: str) -> None:
    X, y = data()
    model = CartClassifier(pruning=None, max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        plot_boundary(model, X, **options)
    assert not plt.get_fignums()


def test_a_name_with_a_comma_is_one_name() -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=2).fit(X, y)
    names = ["a", "b", "c, in kg", "d", "e"]
    ax = plot_boundary(model, X, y, feature_names=names, features=[0, 1])
    assert "`c, in kg` = " in by_gid(ax, "slice")["slice"].get_text()


def test_one_feature_has_no_boundary() -> None:
    model = CartClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="only one"):
        plot_boundary(model, [[0.0]])


def test_a_range_beyond_all_numbers_is_refused() -> None:
    X, y = data(2, n_features=2)
    model = CartClassifier(pruning=None).fit(X, y)
    with pytest.raises(ValueError, match="too large to be drawn"):
        plot_boundary(model, [[-1.7e308, 0.0], [1.7e308, 1.0]])
