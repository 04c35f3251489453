"""`plot_projection`: a region holds exactly the rows that reach its node."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.path import Path as Outline

from obliqua import (
    C45Classifier,
    CartClassifier,
    EigenTreeClassifier,
    HHCartClassifier,
    LMDTClassifier,
    TreeBuilder,
    plot_projection,
)
from obliqua.datasets import make_normals_with_clusters
from obliqua.tree.tree import Tree
from plot.pictures import by_gid, data


def regions(ax: Any) -> dict[int, Any]:
    return {int(k.removeprefix("node-")): v for k, v in by_gid(ax, r"node-\d+").items()}


def drawn_points(ax: Any) -> np.ndarray:
    return np.vstack([part.get_offsets() for part in by_gid(ax, r"class-\d+").values()])


def check(ax: Any, tree: Tree, Z: np.ndarray, points: np.ndarray) -> None:
    """Each row lies in the region of a node on its way, and in no other."""
    way = tree.decision_path(Z).toarray() > 0
    inside = np.zeros((len(Z), 0), dtype=bool)
    found = regions(ax)
    for node, region in found.items():
        here = Outline(region.get_xy()).contains_points(points, radius=0.0)
        # On a border both sides may count, so a row must only not be in a wrong one.
        edge = Outline(region.get_xy()).contains_points(points, radius=1e-6) != Outline(
            region.get_xy()
        ).contains_points(points, radius=-1e-6)
        np.testing.assert_array_equal(here[~edge], way[~edge, node])
        inside = np.column_stack([inside, here | edge])
    assert inside.any(axis=1).all()


def project(ax: Any, X: np.ndarray, normals: list[np.ndarray]) -> np.ndarray:
    """Rows in the coordinates of the picture: values in units of a leading feature."""
    names = [ax.get_xlabel(), ax.get_ylabel()]
    columns = []
    for normal, label in zip(normals, names, strict=True):
        lead = int(label.split()[0].lstrip("x−"))
        columns.append(X @ normal / normal[lead])
    return np.column_stack(columns)


def clusters() -> tuple[Any, np.ndarray, np.ndarray]:
    X, y = make_normals_with_clusters(random_state=0, return_X_y=True)
    return EigenTreeClassifier(random_state=0).fit(X, y), X, y


def test_the_two_upper_levels_of_an_eigen_tree_are_exact() -> None:
    model, X, y = clusters()
    tree = model.tree_
    ax = plot_projection(model, X, y)
    points = project(ax, X, list(model.directions_[:2]))
    check(ax, tree, X, points)
    assert tree.node_depth[list(regions(ax))].max() == 2
    assert len(regions(ax)) == 4
    # Every row is drawn at its place.
    np.testing.assert_allclose(
        np.sort(drawn_points(ax), axis=0), np.sort(points, axis=0), atol=1e-5
    )


def test_hatches_and_rings_say_what_is_not_shown() -> None:
    model, X, y = clusters()
    tree = model.tree_
    ax = plot_projection(model, X, y)
    below = {node: {int(tree.leaf_label[k]) for k in _leaves(tree, node)} for node in regions(ax)}
    hatched = {int(k.split("-")[1]) for k in by_gid(ax, r"node-\d+-divided")}
    assert hatched == {node for node, classes in below.items() if len(classes) > 1}
    way, predicted = tree.decision_path(X).toarray() > 0, tree.leaf_label[tree.apply(X)]
    wrong = np.zeros(len(X), dtype=bool)
    for node in hatched:
        wrong |= way[:, node] & (predicted != tree.leaf_label[node])
    rings = by_gid(ax, r"ring-\d+")
    assert sum(len(ring.get_offsets()) for ring in rings.values()) == int(wrong.sum()) > 0
    caption = by_gid(ax, "caption")["caption"].get_text().replace("\n", " ")
    inner = sum(len(_leaves(tree, node)) - 1 for node in hatched)
    assert f"divided further by {inner} splits" in caption
    assert "rings" in caption


def _leaves(tree: Tree, node: int) -> list[int]:
    if tree.is_leaf[node]:
        return [node]
    first = int(tree.first_child[node])
    return [k for child in (first, first + 1) for k in _leaves(tree, child)]


@pytest.mark.parametrize("make", [CartClassifier, HHCartClassifier])
def test_a_tree_of_two_features_is_shown_wholly(make: Any) -> None:
    X, y = data(3, n_features=2)
    model = make(pruning=None).fit(X, y)
    ax = plot_projection(model, X, y, directions=np.eye(2))
    assert sorted(regions(ax)) == np.flatnonzero(model.tree_.is_leaf).tolist()
    check(ax, model.tree_, X, X)
    assert not by_gid(ax, "caption") and not by_gid(ax, r"ring-\d+")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x0", "x1")
    assert len(regions(plot_projection(model, X))) == model.get_n_leaves()


def test_other_oblique_trees_are_shown_as_far_as_they_go() -> None:
    X, y = data()
    model = HHCartClassifier(pruning=None, max_depth=4).fit(X, y)
    tree = model.tree_
    ax = plot_projection(model, X, y)
    root = tree.coefficients(0)
    heavy = max((1, 2), key=lambda node: tree.n_samples[node])
    points = project(ax, X, [root, tree.coefficients(heavy)])
    check(ax, tree, X, points)
    assert set(regions(ax)) >= {3 - heavy}  # its own direction is another one


def test_one_split_takes_the_widest_direction_beside_it() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) * [1.0, 1.0, 100.0]
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    model = CartClassifier(max_depth=1, pruning=None).fit(X, X[:, 2] > 0)
    ax = plot_projection(model, X, X[:, 2] > 0)
    assert ax.get_xlabel() == "x2"
    assert "x0" in ax.get_ylabel() and "x1" in ax.get_ylabel()
    assert sorted(regions(ax)) == [1, 2]
    # It is the same whatever the unit.
    huge = CartClassifier(max_depth=1, pruning=None).fit(X * 1e300, X[:, 2] > 0)
    assert plot_projection(huge, X * 1e300, X[:, 2] > 0).get_ylabel() == ax.get_ylabel()
    # A leaf alone has two such directions.
    whole = plot_projection(CartClassifier().fit(X, np.zeros(200)), X, np.zeros(200))
    assert list(regions(whole)) == [0]


def test_given_directions() -> None:
    model, X, y = clusters()
    other = [[1.0, 1.0, 0, 0, 0], [0, 0, 0, 0, 2.0]]
    ax = plot_projection(model, X, y, directions=other)
    assert ax.get_ylabel() == "x4"
    assert ax.get_xlabel() in ("x0 + x1", "x1 + x0")
    assert list(regions(ax)) == [0]
    assert by_gid(ax, "node-0-divided")
    same = plot_projection(model, X, y, directions=model.directions_[:2])
    assert len(regions(same)) == 4


def test_qualitative_features_and_missing_values() -> None:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 3))
    colour = rng.choice(["red", "green", "blue"], 300)
    y = numbers[:, 0] + (colour == "red") + 0.3 * rng.normal(size=300) > 0.4
    X = pd.DataFrame(numbers, columns=list("abc")).assign(colour=pd.Categorical(colour))
    X.loc[::7, "b"] = np.nan
    X.loc[::11, "colour"] = None
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    ax = plot_projection(model, X, y)
    Z = model._check_rows(X)
    tree = model.tree_
    assert drawn_points(ax).shape == (300, 2)
    assert np.isfinite(drawn_points(ax)).all()
    points = np.empty((300, 2))
    for c in (0, 1):
        points[y == bool(c)] = by_gid(ax, f"class-{c}")[f"class-{c}"].get_offsets()
    check(ax, tree, Z, points)
    with pytest.raises(ValueError, match=r"0 for qualitative features.*'colour'"):
        plot_projection(model, X, y, directions=[[1, 0, 0, 0], [0, 0, 0, 1]])
    # Along given directions the mean stands in for what is missing.
    given = plot_projection(model, X, y, directions=[[1, 0, 0, 0], [0, 1, 0, 0]])
    ends = drawn_points(given)[np.isin(drawn_points(given)[:, 0], X["a"][::7])]
    np.testing.assert_allclose(ends[:, 1], X["b"].mean())


def test_what_stands_in_for_missing_values_counts_too() -> None:
    """At some nodes it is another number than along the axis: there rows would be misplaced."""
    X, y = data(3, n_features=2)
    X[::5, 0] = np.nan
    X[1::6, 1] = np.nan
    model = HHCartClassifier(pruning=None).fit(X, y)
    tree = model.tree_
    ax = plot_projection(model, X, y, directions=np.eye(2))
    points = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    check(ax, tree, X, points)
    assert by_gid(ax, r"node-\d+-divided")


def test_splits_between_leaves_of_one_class_are_no_division() -> None:
    builder = TreeBuilder(n_features=3, n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.0, ("left", "right"))
    builder.add_split("left", {1: 1.0}, 0.0, ("low", "high"))
    builder.add_split("low", {2: 1.0}, 0.0, ("a", "b"))
    builder.add_split("high", {2: 1.0}, 0.0, ("c", "d"))
    for leaf, stats in {"a": [3, 1], "b": [3, 0], "c": [3, 0], "d": [0, 3]}.items():
        builder.set_leaf(leaf, stats)
    builder.set_leaf("right", [0, 5])
    tree = builder.build()
    X = np.random.default_rng(0).normal(size=(80, 3))
    ax = plot_projection(tree, X, (X[:, 0] > 0).astype(int))
    check(ax, tree, X, X[:, :2])
    (hatched,) = by_gid(ax, r"node-\d+-divided")
    (high,) = (
        n
        for n in np.flatnonzero(tree.node_depth == 2)
        if len({*tree.leaf_label[_leaves(tree, n)]}) > 1
    )
    assert hatched == f"node-{high}-divided"
    assert "by 1 split " in by_gid(ax, "caption")["caption"].get_text().replace("\n", " ")


def test_pairs_of_classes_show_their_own_rows() -> None:
    X, y = data(3)
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    ax = plot_projection(model, X, y, tree=0)
    first = {int(np.flatnonzero(model.classes_ == label)[0]) for label in model.pairs_[0]}
    assert set(by_gid(ax, r"class-\d+")) == {f"class-{c}" for c in first}
    own = np.isin(y, model.pairs_[0])
    points = drawn_points(ax)
    assert len(points) == int(own.sum())
    # Other rows do not make the picture wider.
    width = np.ptp(points, axis=0) * 1.2
    assert (np.abs([np.diff(ax.get_xlim()), np.diff(ax.get_ylim())])[:, 0] < width).all()
    with pytest.raises(ValueError, match=r"about the classes .* y has none of them"):
        plot_projection(model, X[~own], y[~own], tree=0)


def test_machines_and_levels_are_hatched() -> None:
    X, y = data(3)
    model = LMDTClassifier(random_state=0).fit(X, y)
    ax = plot_projection(model, X, y)
    assert list(regions(ax)) == [0]
    assert by_gid(ax, "node-0-divided")
    levels = pd.DataFrame({"a": list("xyz") * 20, "b": list("pq") * 30}).astype("category")
    tree = C45Classifier(pruning=None).fit(levels, ["u", "v", "w"] * 20)
    with pytest.raises(ValueError, match=r"two directions of numeric features.*has 0"):
        plot_projection(tree, levels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"directions": [[1, 0, 0, 0, 0]]}, r"two lines of 5 .* got the shape \(1, 5\)"),
        ({"directions": "pca"}, "two lines of 5 finite numbers"),
        ({"directions": [[1, 0, 0, 0, 0], [0] * 5]}, "not all 0"),
        ({"directions": [[1, 0, 0, 0, 0], [np.nan] * 5]}, "finite numbers"),
        ({"directions": [[1, 2, 0, 0, 0], [-2, -4, 0, 0, 0]]}, "parallel"),
        ({"y": [7] * 300}, "label 7"),
    ],
)
def test_errors_say_what_was_wrong(options: dict[str, Any], message: str) -> None:
    X, y = data()
    model = CartClassifier(pruning=None, max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        plot_projection(model, X, **options)
    assert not plt.get_fignums()


def test_one_feature_and_endless_ranges_are_refused() -> None:
    model = CartClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="has 1 in rows that vary"):
        plot_projection(model, [[0.0], [1.0]])
    X, y = data(2, n_features=2)
    two = CartClassifier(pruning=None).fit(X, y)
    with pytest.raises(ValueError, match="too large to be drawn"):
        plot_projection(two, [[-1.7e308, 0.0], [1.7e308, 1.0]], directions=np.eye(2))
