"""What is computed from a tree's arrays: its shape, and scikit-learn's names for it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.tree import DecisionTreeClassifier

from obliqua.errors import TreeError
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from problems import examples
from strategies import trees


@examples(100)
@given(trees())
def test_shape(tree: Tree) -> None:
    for node in range(tree.n_nodes):
        first, count = int(tree.first_child[node]), int(tree.n_children[node])
        assert bool(tree.is_leaf[node]) == (count == 0)
        for child in range(first, first + count):
            assert tree.parent[child] == node
            assert tree.node_depth[child] == tree.node_depth[node] + 1
    assert (tree.parent[0], tree.node_depth[0]) == (-1, 0)
    assert tree.depth == tree.max_depth == max(tree.node_depth)
    assert tree.n_leaves == int(tree.is_leaf.sum())
    assert tree.node_count == tree.n_nodes == len(tree.kind)
    for node, stats in enumerate(tree.stats.tolist()):
        assert tree.leaf_label[node] == stats.index(max(stats))
    np.testing.assert_allclose(tree.value.sum(axis=2), 1.0)


def copy_of(model: DecisionTreeClassifier) -> Tree:
    """Build a scikit-learn tree again by hand."""
    theirs = model.tree_
    builder = TreeBuilder(theirs.n_features, model.n_classes_)
    for node in range(theirs.node_count):
        weight = theirs.weighted_n_node_samples[node]
        if theirs.children_left[node] < 0:
            builder.set_leaf(node, theirs.value[node, 0] * weight)
        else:
            children = (theirs.children_left[node], theirs.children_right[node])
            builder.add_split(node, {theirs.feature[node]: 1.0}, theirs.threshold[node], children)
        builder.annotate(node, n_samples=int(theirs.n_node_samples[node]))
    return builder.build()


def test_views_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.7)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    tree, theirs = copy_of(model), model.tree_
    # The numbering differs; the leaf of a row and the way there say which node is which.
    ours_path, theirs_path = tree.decision_path(X), model.decision_path(X)
    pairs = set()
    for row in range(len(X)):
        ours = ours_path.indices[ours_path.indptr[row] : ours_path.indptr[row + 1]]
        other = theirs_path.indices[theirs_path.indptr[row] : theirs_path.indptr[row + 1]]
        pairs |= set(zip(ours.tolist(), other.tolist(), strict=True))
    assert len(pairs) == tree.node_count == theirs.node_count
    place = np.array([other for _, other in sorted(pairs)])
    for name in ("feature", "n_node_samples", "weighted_n_node_samples", "impurity", "value"):
        ours, other = getattr(tree, name), getattr(theirs, name)[place]
        assert ours.dtype == other.dtype, name
        np.testing.assert_allclose(ours, other, atol=1e-12, err_msg=name)
    np.testing.assert_array_equal(tree.node_threshold, theirs.threshold[place])
    for name in ("children_left", "children_right"):
        ours, other = getattr(tree, name), getattr(theirs, name)[place]
        inner = ~tree.is_leaf
        np.testing.assert_array_equal(place[ours[inner]], other[inner])
        assert set(ours[~inner]) == set(other[~inner]) == {-1}
    assert tree.max_depth == theirs.max_depth
    assert tree.n_leaves == theirs.n_leaves
    assert [tree.n_classes] == theirs.n_classes.tolist()
    np.testing.assert_array_equal(tree.leaf_label[tree.apply(X)], model.predict(X))


def split_tree(normal: dict[int, float], threshold: float, **options: object) -> Tree:
    builder = TreeBuilder(n_features=3, n_stats=1)
    builder.add_split("root", normal, threshold, ("a", "b"), **options)
    builder.set_leaf("a", [1])
    builder.set_leaf("b", [1])
    return builder.build()


@pytest.mark.parametrize(
    ("tree", "feature", "threshold"),
    [
        (split_tree({1: 1.0}, 4.0), 1, 4.0),
        (split_tree({1: 2.0}, 4.0), 1, 2.0),
        (split_tree({1: -1.0}, 4.0), -3, 4.0),
        (split_tree({1: 1.0, 2: 1.0}, 4.0), -3, 4.0),
        (split_tree({1: 1.0}, 4.0, tables={1: [3.0]}), -3, 4.0),
    ],
    ids=["axis", "scaled", "negative", "oblique", "levels"],
)
def test_feature_and_threshold_of_a_node(tree: Tree, feature: int, threshold: float) -> None:
    assert tree.feature.tolist() == [feature, -2, -2]
    assert tree.node_threshold.tolist() == [threshold, -2.0, -2.0]
    assert tree.children_left.tolist() == [1, -1, -1]
    assert tree.children_right.tolist() == [2, -1, -1]


def three_branches(kind: NodeKind, n_branches: int) -> Tree:
    builder = TreeBuilder(n_features=2, n_stats=1)
    names = [f"leaf {k}" for k in range(n_branches)]
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", [1])
    if kind == NodeKind.LEVELS:
        builder.add_levels("b", 0, list(range(n_branches)), names)
    else:
        builder.add_machine(
            "b", [{0: float(k)} for k in range(n_branches)], [0] * n_branches, names
        )
    for name in names:
        builder.set_leaf(name, [1])
    return builder.build()


@pytest.mark.parametrize(
    ("kind", "said"),
    [(NodeKind.LEVELS, "a set of levels"), (NodeKind.MACHINE, "a linear machine")],
)
def test_views_say_what_they_cannot_express(kind: NodeKind, said: str) -> None:
    tree = three_branches(kind, 3)
    for name in ("children_left", "children_right", "feature", "node_threshold"):
        with pytest.raises(TreeError, match=f"Node 2 is {said} with 3 branches, which '{name}'"):
            getattr(tree, name)
    binary = three_branches(kind, 2)
    assert binary.children_left.tolist() == [1, -1, 3, -1, -1]
    assert binary.children_right.tolist() == [2, -1, 4, -1, -1]
    for name in ("feature", "node_threshold"):
        with pytest.raises(TreeError, match=f"Node 2 is {said} with 2 branches"):
            getattr(binary, name)
    # the others speak of any tree
    assert tree.value.shape == (tree.n_nodes, 1, 1)
    assert tree.impurity.tolist() == [0.0] * tree.n_nodes


def test_a_node_that_has_seen_nothing() -> None:
    builder = TreeBuilder(n_features=1, n_stats=4)
    builder.set_leaf("only", [0, 0, 0, 0])
    tree = builder.build()
    assert tree.value.tolist() == [[[0.25] * 4]]
    assert tree.leaf_label.tolist() == [0]


def test_huge_stats_have_shares() -> None:
    builder = TreeBuilder(n_features=1, n_stats=3)
    builder.set_leaf("only", [1e308, 1e308, 0.0])
    assert builder.build().value.tolist() == [[[0.5, 0.5, 0.0]]]


def test_views_are_computed_once() -> None:
    tree = split_tree({1: 1.0}, 4.0)
    assert tree.feature is tree.feature
    assert tree.parent is tree.parent


@examples(100)
@given(trees())
def test_what_the_splits_are_like(tree: Tree) -> None:
    columns = [set() for _ in range(tree.n_nodes)]
    for k, plane in enumerate(tree.plane_of_coef.tolist()):
        columns[int(tree.node_of_plane[plane])].add(int(tree.coef_idx[k]))
    sizes = [len(used) for used in columns]
    assert tree.n_node_features.tolist() == sizes
    assert tree.n_oblique == sum(size > 1 for size in sizes)
    n_splits = tree.n_nodes - tree.n_leaves
    assert tree.features_per_split == (sum(sizes) / n_splits if n_splits else 0.0)
    for node in range(tree.n_nodes):
        over = float(tree.gain_over_axis[node])
        if tree.is_leaf[node]:
            assert over == 0.0
        elif np.isnan(tree.axis_gain[node]):
            assert np.isnan(over)
        else:
            assert over == tree.gain[node] - tree.axis_gain[node]
