"""How far rows are from the splits on their way."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import HHCartClassifier
from obliqua.errors import TreeError
from obliqua.explain import margins, region
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from problems import examples, gaussians
from reference.walk import path, plane_value
from strategies import rows, trees


@st.composite
def walks(draw: Any) -> tuple[Tree, np.ndarray]:
    """A tree of hyperplanes with spreads, and rows for it."""
    tree = draw(trees(kinds=(NodeKind.HYPERPLANE,), tables=False))
    value = st.sampled_from([0.0, 0.5, 1.0, 4.0])
    spread = draw(st.lists(value, min_size=len(tree.coef), max_size=len(tree.coef)))
    return replace(tree, spread=np.array(spread)), draw(rows(tree))


@np.errstate(over="ignore")
def twin(
    tree: Tree, row: list[float], scale: list[float]
) -> list[tuple[int, float, float, float, float]]:
    """Node, value, distance, scaled distance and margin of the leading feature."""
    found = []
    for node in path(tree, row)[:-1]:
        plane = int(tree.plane_ptr[node])
        part = range(tree.coef_ptr[plane], tree.coef_ptr[plane + 1])
        value = plane_value(tree, plane, row) - float(tree.threshold[plane])
        far = math.inf if value > 0 else -math.inf
        length = math.hypot(*(tree.coef[k] * scale[tree.coef_idx[k]] for k in part))
        scaled = math.hypot(*(tree.coef[k] * tree.spread[k] for k in part))
        lead = max(part, key=lambda k: abs(tree.coef[k] * tree.spread[k]))
        found.append(
            (
                node,
                value,
                value / length if length else far,
                value / scaled if scaled else far,
                value / tree.coef[lead] if tree.coef[lead] else far,
            )
        )
    return found


@examples(200)
@given(walks())
def test_margins_are_those_of_the_twin(walk: tuple[Tree, np.ndarray]) -> None:
    tree, Z = walk
    for scale in (None, [0.5, 3.0, 1.0][: tree.n_features]):
        found = margins(tree, Z, scale=scale)
        assert len(found) == len(Z)
        np.testing.assert_array_equal(found.leaf, tree.apply(Z))
        for i, row in enumerate(Z.astype(float).tolist()):
            expected = twin(tree, row, scale or [1.0] * tree.n_features)
            part = slice(found.start[i], found.start[i + 1])
            assert found.node[part].tolist() == [entry[0] for entry in expected]
            assert found.value[part].tolist() == [entry[1] for entry in expected]
            for name, k in (("distance", 2), ("scaled", 3), ("lead", 4)):
                numbers = [entry[k] for entry in expected]
                np.testing.assert_allclose(getattr(found, name)[part], numbers, rtol=1e-12)
            least = min((abs(entry[2]) for entry in expected), default=math.inf)
            assert found.smallest[i] == pytest.approx(least, rel=1e-12)
            if expected:
                nearest = found.node[part][np.argmin(np.abs(found.distance[part]))]
                assert found.nearest[i] == nearest
            else:
                assert found.nearest[i] == -1


@examples(100)
@given(walks())
def test_the_sign_is_the_side(walk: tuple[Tree, np.ndarray]) -> None:
    tree, Z = walk
    found = margins(tree, Z)
    for i in range(len(Z)):
        way = [*found.node[found.start[i] : found.start[i + 1]].tolist(), int(found.leaf[i])]
        right = found.value[found.start[i] : found.start[i + 1]] > 0
        for node, child, goes_right in zip(way[:-1], way[1:], right.tolist(), strict=True):
            assert child == tree.first_child[node] + goes_right


def test_nothing_nearer_leaves_the_leaf_and_the_nearest_point_does() -> None:
    case = gaussians(400, n_columns=3, seed=4)
    tree = HHCartClassifier(max_depth=5, pruning=None).fit(case.X, case.y).tree_
    Z = case.X[:100]
    found = margins(tree, Z)
    rng = np.random.default_rng(0)
    step = rng.normal(size=(200, *Z.shape))
    step /= np.linalg.norm(step, axis=2, keepdims=True)
    nearer = Z + step * (0.999 * found.smallest)[:, None]
    for moved in nearer:
        np.testing.assert_array_equal(tree.apply(moved), found.leaf)
    change = found.closest() - Z
    np.testing.assert_allclose(np.linalg.norm(change, axis=1), found.smallest, rtol=1e-9)
    assert (tree.apply(Z + 0.999 * change) == found.leaf).all()
    assert (tree.apply(Z + 1.001 * change) != found.leaf).all()


def plane(coef: list[float], threshold: float, spread: list[float]) -> Tree:
    builder = TreeBuilder(len(coef), 1)
    builder.add_split("root", dict(enumerate(coef)), threshold, ("left", "right"))
    builder.set_leaf("left", [1])
    builder.set_leaf("right", [1])
    return replace(builder.build(), spread=np.array(spread))


def test_closest_points_lie_on_the_plane() -> None:
    tree = plane([1.0, -2.0], 3.0, [2.0, 0.5])
    Z = np.array([[0.0, 0.0], [7.0, 1.0], [5.0, 1.0]])
    for scale in (None, [2.0, 0.5]):
        found = margins(tree, Z, scale=scale)
        points = found.closest()
        np.testing.assert_allclose(points @ [1.0, -2.0], 3.0)
    # In these units, the first feature does most of the way: 4 / 5 of it.
    np.testing.assert_allclose(points[0], [2.4, -0.3])
    np.testing.assert_array_equal(points[2], Z[2])
    np.testing.assert_allclose(found.smallest, [3 / math.sqrt(5), 2 / math.sqrt(5), 0.0])
    # The node's standard deviations happen to be these units.
    np.testing.assert_allclose(np.abs(found.scaled), found.smallest)


def test_units_do_not_matter_if_they_are_given() -> None:
    Z = np.random.default_rng(1).normal(size=(20, 2))
    one = margins(plane([1.0, -2.0], 0.25, [2.0, 0.5]), Z, scale=[2.0, 0.5])
    tree = plane([1 / 1024, -2.0], 0.25, [2048.0, 0.5])
    other = margins(tree, Z * [1024, 1], scale=[2048.0, 0.5])
    np.testing.assert_allclose(one.smallest, other.smallest)
    np.testing.assert_allclose(one.scaled, other.scaled)


def test_a_plane_that_nothing_moves_is_infinitely_far() -> None:
    found = margins(plane([0.0, 0.0], -1.0, [1.0, 1.0]), [[3.0, 4.0]])
    assert (found.distance[0], found.smallest[0], found.nearest[0]) == (np.inf, np.inf, 0)
    np.testing.assert_array_equal(found.closest(), [[3.0, 4.0]])


def test_large_and_small_numbers() -> None:
    found = margins(plane([3e200, 4e200], 0.0, [1.0, 1.0]), [[1.0, 1.0], [3e-200, 4e-200]])
    np.testing.assert_allclose(found.smallest, [1.4, 5e-200])
    np.testing.assert_allclose(found.closest()[0], [0.16, -0.12])


def test_an_unknown_spread_leaves_one_measure_unknown() -> None:
    tree = plane([1.0, 2.0], 0.0, [1.0, np.nan])
    found = margins(tree, [[1.0, 2.0]])
    assert np.isnan(found.scaled).all()
    assert found.lead[0] == 2.5  # by the coefficients alone


@pytest.mark.parametrize("scale", [[1.0], [1.0, 0.0], [1.0, np.nan], [np.inf, 1.0], 2.0])
def test_a_scale_is_a_positive_number_per_feature(scale: Any) -> None:
    with pytest.raises(ValueError, match="scale must hold a positive, finite number for each"):
        margins(plane([1.0, 2.0], 0.0, [1.0, 1.0]), [[1.0, 2.0]], scale=scale)


def test_other_kinds_of_nodes_are_refused_by_name() -> None:
    for kind, message in (
        ("levels", "Node 2 is a set of levels; a margin is known for a hyperplane only"),
        ("machine", "Node 2 is a linear machine; a margin"),
    ):
        builder = TreeBuilder(2, 1)
        builder.add_split("root", {0: 1.0}, 0.0, ("left", "node"))
        if kind == "levels":
            builder.add_levels("node", 1, [0, 1], ("a", "b"))
        else:
            builder.add_machine("node", [{0: 1.0}, {1: 1.0}], [0.0, 0.0], ("a", "b"))
        for leaf in ("left", "a", "b"):
            builder.set_leaf(leaf, [1])
        with pytest.raises(TreeError, match=message):
            margins(builder.build(), [[0.0, 1.0]])


def test_estimator_model_and_tree_give_the_same() -> None:
    case = gaussians(100, seed=2)
    model = HHCartClassifier(pruning=None).fit(case.X, case.y)
    first = margins(model, case.X)
    assert repr(first).startswith("Margins(100 rows, ")
    for other in (model.model_, model.tree_):
        again = margins(other, case.X)
        np.testing.assert_array_equal(first.smallest, again.smallest)
        np.testing.assert_array_equal(first.node, again.node)
    two = Model((model.tree_, model.tree_), "vote", model.model_.encoding, model.classes_)
    np.testing.assert_array_equal(margins(two, case.X, tree=1).smallest, first.smallest)
    with pytest.raises(TreeError, match="has 2 trees"):
        margins(two, case.X)
    with pytest.raises(ValueError, match="infinity"):
        margins(model, np.full((1, case.X.shape[1]), np.inf))


def test_a_series_of_scales_is_read_by_its_names() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)) * [1, 10, 100], columns=list("abc"))
    model = HHCartClassifier(pruning=None, max_depth=2).fit(frame, frame["a"] > 0)
    scale = frame.std()
    wanted = margins(model, frame, scale=scale.to_numpy()).smallest
    for one in (scale, scale[["c", "a", "b"]], pd.Series(scale.to_numpy())):
        np.testing.assert_array_equal(margins(model, frame, scale=one).smallest, wanted)
    leaf = region(model, int(model.apply(frame)[0]))
    assert leaf.names == ("a", "b", "c")
    for one, message in (
        (scale.rename({"a": "z"}), "not among them: 'z'; lacking: 'a'"),
        (scale[["c", "a"]], "got 2 names for 3 features .lacking: 'b'"),
        (scale[["c", "a", "b", "b"]], "some of them twice"),
    ):
        with pytest.raises(ValueError, match=message):
            margins(model, frame, scale=one)
