"""Tree: walking, arrays, equality, pickling, parts and views."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.errors import TreeError
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import child_lists, level_order, renumber
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree
from problems import examples
from reference import walk
from strategies import rows, trees


def small_tree() -> Tree:
    """An oblique root, an axis-parallel node on its right."""
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("root", {0: 0.5, 1: -1.0}, 0.25, ("low", "more"))
    builder.set_leaf("low", [8, 1], 9)
    builder.add_split("more", {1: 1.0}, 3.0, ("a", "b"))
    builder.set_leaf("a", [0, 5], 5)
    builder.set_leaf("b", [2, 2], 4)
    builder.annotate("root", gain=0.5, axis_gain=0.25, origin="first")
    builder.annotate("more", gain=0.125, origin="second")
    return builder.build()


def machine_tree() -> Tree:
    builder = TreeBuilder(n_features=2, n_stats=1)
    builder.add_split("root", {0: 1.0}, 0.0, ("a", "m"))
    builder.add_machine("m", np.eye(2), [0, 0], ("b", "l"))
    builder.add_levels("l", 0, [0, 1, 2], ("c", "d", "e"))
    for name in "abcde":
        builder.set_leaf(name, [1])
    return builder.build()


# --- walking -----------------------------------------------------------------------------


@examples(200)
@given(st.data())
def test_walks_like_the_twin(data: Any) -> None:
    tree = data.draw(trees())
    Z = data.draw(rows(tree))
    assert tree.apply(Z).tolist() == walk.apply(tree, Z)


@examples(150)
@given(st.data())
def test_missing_values_walk_like_the_twin(data: Any) -> None:
    tree = data.draw(trees())
    Z = data.draw(rows(tree, missing=True))
    try:
        expected = walk.apply(tree, Z)
    except walk.NoFillValue:
        with pytest.raises(TreeError, match=r"missing \(NaN\) in columns.*no fill value"):
            tree.apply(Z)
    else:
        assert tree.apply(Z).tolist() == expected


@examples(100)
@given(st.data())
def test_decision_path_is_the_way_of_the_twin(data: Any) -> None:
    tree = data.draw(trees(filled=True))
    Z = data.draw(rows(tree, missing=True))
    paths = tree.decision_path(Z)
    assert paths.shape == (len(Z), tree.n_nodes)
    dense = paths.toarray()
    for row, passed in zip(Z, dense, strict=True):
        assert np.flatnonzero(passed).tolist() == walk.path(tree, row)
    assert set(np.unique(dense)) <= {0, 1}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_sum_is_the_canonical_one_to_the_last_bit(dtype: Any) -> None:
    """From the first coefficient to the last, with two roundings each."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        order = rng.permutation(6)
        normal = (order, rng.normal(size=6) * 10.0 ** rng.integers(-3, 4, size=6))
        Z = rng.normal(size=(1, 6)).astype(dtype)
        total = 0.0
        for column, factor in zip(*normal, strict=True):
            total += float(factor) * float(Z[0, column])
        for threshold, leaf in ((total, 1), (np.nextafter(total, -np.inf), 2)):
            builder = TreeBuilder(n_features=6, n_stats=1)
            builder.add_split("root", normal, threshold, ("a", "b"))
            builder.set_leaf("a", [1])
            builder.set_leaf("b", [1])
            assert builder.build().apply(Z).tolist() == [leaf]


@pytest.mark.parametrize("code", [-np.inf, -1e300, -1.0, -0.5, 3.0, 1e18, 1e300, np.inf])
def test_codes_outside_a_table(code: float) -> None:
    builder = TreeBuilder(n_features=1, n_stats=1)
    builder.add_split("root", {0: 2.0}, 0.0, ("l", "a"), tables={0: [5.0, 5.0, 5.0]})
    builder.add_levels("l", 0, [0, 0, 0], ("b", "c"), unseen=1)
    for name in "abc":
        builder.set_leaf(name, [1])
    tree = builder.build()
    assert tree.apply(np.array([[code], [0.0], [2.0]])).tolist() == [4, 2, 2]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_change_nothing(n_threads: int) -> None:
    Z = np.random.default_rng(0).normal(size=(40_000, 2)) * 4
    tree = small_tree()
    whole = tree.apply(Z, n_threads)
    parts = np.concatenate([tree.apply(part) for part in np.array_split(Z, 7)])
    assert whole.tolist() == parts.tolist()


@pytest.mark.parametrize(
    "Z",
    [
        [[1, 5], [3, -1]],
        np.array([[1, 5], [3, -1]], dtype=np.int32),
        np.array([[1, 5], [3, -1]], dtype=">f8"),
        np.array([[1, 5], [3, -1]], dtype=np.float16),
        np.array([[1, 5], [3, -1]], dtype=object),
        np.ma.masked_array([[1.0, 5.0], [3.0, -1.0]]),
    ],
    ids=["list", "int", "big-endian", "half", "object", "subclass"],
)
def test_anything_like_rows_is_walked(Z: Any) -> None:
    assert small_tree().apply(Z).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("Z", "message"),
    [
        (np.ones((3, 3)), r"over 2 columns .* got shape \(3, 3\)"),
        (np.ones(2), r"got shape \(2,\)"),
        (np.ones((1, 2, 2)), r"got shape \(1, 2, 2\)"),
        ([["a", "b"]], "walks rows of numbers; got list"),
        (None, "walks rows of numbers|got shape"),
    ],
)
def test_what_cannot_be_walked(Z: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        small_tree().apply(Z)


def test_the_row_that_is_missing_something_is_named() -> None:
    Z = np.array([[1.0, 5.0], [1.0, np.nan], [np.nan, np.nan]])
    with pytest.raises(TreeError, match=r"Row 1 is missing \(NaN\) in columns \[1\]"):
        small_tree().apply(Z)
    with pytest.raises(TreeError, match=r"Row 0 is missing \(NaN\) in columns \[1\]"):
        small_tree().apply(Z[1:2])
    with pytest.raises(TreeError, match="Row 0 is infinite"):
        small_tree().apply(np.array([[np.inf, np.inf]]))


# --- arrays ------------------------------------------------------------------------------


@examples(100)
@given(trees())
def test_arrays_make_the_same_tree(tree: Tree) -> None:
    arrays = tree.to_arrays()
    again = Tree.from_arrays(arrays)
    assert again == tree
    assert not np.shares_memory(again.stats, tree.stats)
    tree.validate()


@examples(50)
@given(trees())
def test_copies_are_equal_and_as_constant(tree: Tree) -> None:
    tree.apply(np.zeros((1, tree.n_features)))
    assert tree.depth >= 0
    for other in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert other == tree
        assert not any(
            value.flags.writeable
            for value in other.to_arrays().values()
            if isinstance(value, np.ndarray)
        )
        # nothing computed came along
        assert set(vars(other)) == {field.name for field in dataclasses.fields(Tree)}


def test_a_pickle_is_little_more_than_its_arrays() -> None:
    tree = small_tree()
    fresh = len(pickle.dumps(small_tree()))
    tree.apply(np.ones((4, 2)))
    assert tree.node_depth.shape == tree.value[:, 0, 0].shape
    assert len(pickle.dumps(tree)) == fresh


def test_trees_do_not_change() -> None:
    tree = small_tree()
    with pytest.raises(dataclasses.FrozenInstanceError):
        tree.coef = np.ones(3)  # type: ignore[misc]
    for name in ("coef", "threshold", "stats", "parent", "value", "children_left", "is_leaf"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(tree, name)[0] = 0


def test_given_arrays_stay_the_callers() -> None:
    arrays = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in small_tree().to_arrays().items()
    }
    tree = Tree.from_arrays(arrays)
    arrays["coef"][0] = 99.0
    assert tree == small_tree()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("coef", lambda a: np.nextafter(a, 9.0)),
        ("fill", lambda a: np.zeros_like(a)),
        ("stats", lambda a: a + 1),
        ("n_samples", lambda a: a + 1),
        ("gain", lambda a: -0.0 * a),
        ("origin_labels", lambda labels: ("first", "other")),
        ("n_features", lambda n: n + 1),
    ],
)
def test_trees_that_differ(name: str, change: Any) -> None:
    tree = small_tree()
    other = dataclasses.replace(tree, **{name: change(getattr(tree, name))})
    assert other != tree
    assert tree != "tree"


def test_nan_equals_nan() -> None:
    tree = small_tree()
    odd = tree.axis_gain.copy()
    odd.view(np.int64)[np.isnan(odd)] ^= 3  # another NaN
    assert dataclasses.replace(tree, axis_gain=odd) == tree
    with pytest.raises(TypeError, match="unhashable"):
        hash(tree)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_features", -1, "cannot have -1 features"),
        ("kind", [1, 0, 9, 0, 0], "Node 2 is of kind 9; known are 0"),
        ("kind", [0, 0, 1, 0, 0], "Node 0 is a leaf and must have no children"),
        ("kind", [1.5, 0, 1, 0, 0], "'kind' of a tree must be of type uint8"),
        ("kind", [300, 0, 1, 0, 0], "'kind' of a tree must be of type uint8"),
        ("kind", ["a"] * 5, "'kind' of a tree must be of type uint8"),
        ("kind", [[1, 0, 1, 0, 0]], "'kind' of a tree must have 1 dimensions; got 2"),
        ("first_child", [1, -1, 1, -1, -1], r"first_child\[2\] must be 3; got 1"),
        ("n_children", [2, 0, 3, 0, 0], "is a hyperplane and must have 2 children"),
        ("plane_ptr", [0, 1, 1, 2, 2], "'plane_ptr' of .* must have 6 entries; got 5"),
        ("plane_ptr", [0, 2, 1, 2, 2, 2], "'plane_ptr' .* from 0 to 2 and falls"),
        ("coef_ptr", [1, 2, 3], "'coef_ptr' of a tree must rise from 0 to 3"),
        ("coef_idx", [0, 1, 2], "Node 2 uses column 2 of a tree with 2 columns"),
        ("coef", [0.5, np.nan, 1.0], "'coef' of a tree must be finite"),
        ("fill", [0.5, np.inf, 1.0], "'fill' of a tree must be finite, or NaN"),
        ("threshold", [0.5], "'coef_ptr' of .* must have 2 entries; got 3"),
        ("stats", [1.0] * 5, "'stats' of a tree must have 2 dimensions; got 1"),
        ("stats", np.empty((5, 0)), "stats of a tree must have at least one column"),
        ("n_samples", [1, 2, 3, 4, -5], "Node 4 has -5 rows"),
        ("origin", [0, -1, 2, -1, -1], "Node 2 has origin 2, but there are 2 origin labels"),
        ("origin", [0, -1, -2, -1, -1], "Node 2 has origin -2"),
    ],
)
def test_arrays_that_do_not_fit(name: str, value: Any, message: str) -> None:
    arrays = small_tree().to_arrays() | {name: value}
    with pytest.raises(TreeError, match=message):
        Tree.from_arrays(arrays)


def test_missing_and_unknown_arrays() -> None:
    arrays = small_tree().to_arrays()
    with pytest.raises(TreeError, match="without 'coef'"):
        Tree.from_arrays({name: value for name, value in arrays.items() if name != "coef"})
    with pytest.raises(TreeError, match="with unknown 'colour'"):
        Tree.from_arrays(arrays | {"colour": 1})
    del arrays["origin_labels"], arrays["spread"]
    with pytest.raises(TreeError, match="there are 0 origin labels"):
        Tree.from_arrays(arrays)


@pytest.mark.parametrize(
    ("kind", "n_children", "first_child"),
    [
        ([0, 1, 0], [0, 2, 0], [-1, 1, -1]),
        ([1, 0, 0, 0], [2, 0, 0, 0], [1, -1, -1, -1]),
        ([], [], []),
    ],
    ids=["its own parent", "an orphan", "no nodes"],
)
def test_nodes_that_make_no_tree(
    kind: list[int], n_children: list[int], first_child: list[int]
) -> None:
    n = len(kind)
    arrays = small_tree().to_arrays() | {
        "kind": kind,
        "n_children": n_children,
        "first_child": first_child,
        "plane_ptr": np.concatenate([[0], np.cumsum(np.array(kind) > 0)]),
        "coef_ptr": [0, 1],
        "coef_idx": [0],
        "coef": [1.0],
        "fill": [0.0],
        "spread": [1.0],
        "table_ptr": [0, 0],
        "threshold": [0.0],
        "missing_side": [0],
        "stats": np.ones((n, 2)),
        "n_samples": [1] * n,
        "gain": [0] * n,
        "axis_gain": [0] * n,
        "origin": [-1] * n,
    }
    with pytest.raises(TreeError, match=r"level order|the child of one node|at least one node"):
        Tree.from_arrays(arrays)


# --- parts -------------------------------------------------------------------------------


@examples(100)
@given(trees(), st.integers(0, 2**32 - 1))
def test_any_numbering_becomes_level_order(tree: Tree, seed: int) -> None:
    """Shuffled nodes are put back as they were."""
    shuffled = np.random.default_rng(seed).permutation(tree.n_nodes)  # new -> old
    place = np.argsort(shuffled)  # old -> new
    arrays = renumber(tree.to_arrays(), shuffled)
    child_ptr, children = child_lists(tree.first_child, tree.n_children)
    lists = [place[children[child_ptr[old] : child_ptr[old + 1]]] for old in shuffled]
    pointers = np.concatenate([[0], np.cumsum([len(part) for part in lists])])
    order = level_order(pointers, np.concatenate(lists), root=int(place[0]))
    assert Tree(**renumber(arrays, order)) == tree


@examples(100)
@given(st.data())
def test_collapse(data: Any) -> None:
    tree = data.draw(trees(filled=True))
    nodes = data.draw(st.lists(st.integers(0, tree.n_nodes - 1), max_size=4))
    Z = data.draw(rows(tree, missing=True))
    smaller = collapse(tree, nodes)
    smaller.validate()
    assert smaller.origin_labels == tree.origin_labels
    # every row ends in the first collapsed node on its way, or in its old leaf
    for row, leaf in zip(Z, smaller.apply(Z).tolist(), strict=True):
        passed = walk.path(tree, row)
        stops = [node for node in passed if node in nodes]
        old = stops[0] if stops else passed[-1]
        assert smaller.stats[leaf].tolist() == tree.stats[old].tolist()
        assert smaller.n_samples[leaf] == tree.n_samples[old]
        assert smaller.node_depth[leaf] == tree.node_depth[old]
        assert smaller.gain[leaf] == 0.0
        assert smaller.origin[leaf] == -1
        assert np.isnan(smaller.axis_gain[leaf])


def test_collapse_the_root_and_nothing() -> None:
    tree = small_tree()
    assert collapse(tree, []) == tree
    assert collapse(tree, tree.is_leaf.nonzero()[0]) == tree
    stump = collapse(tree, 0)
    assert (stump.n_nodes, stump.n_planes, len(stump.coef)) == (1, 0, 0)
    with pytest.raises(TreeError, match="no node 5 in a tree of 5 nodes"):
        collapse(tree, [1, 5])
    with pytest.raises(TreeError, match="no node -1"):
        collapse(tree, -1)
    with pytest.raises(TreeError, match=r"no node 0\.5"):
        collapse(tree, [0.5])


@examples(100)
@given(st.data())
def test_a_part_grafted_back_is_the_whole(data: Any) -> None:
    tree = data.draw(trees())
    node = data.draw(st.integers(0, tree.n_nodes - 1))
    part = tree.subtree(node)
    part.validate()
    below = [n for n in range(tree.n_nodes) if node in _way(tree, n)]
    assert part.n_nodes == len(below)
    cut = collapse(tree, node)
    # other nodes went away, so the leaf is found by the way that leads to it
    leaf = _follow(cut, _turns(tree, node))
    whole = cut.graft(leaf, part)
    whole.validate()
    assert whole == tree


def _way(tree: Tree, node: int) -> list[int]:
    way = [node]
    while way[-1] > 0:
        way.append(int(tree.parent[way[-1]]))
    return way[::-1]


def _turns(tree: Tree, node: int) -> list[int]:
    way = _way(tree, node)
    return [below - int(tree.first_child[above]) for above, below in itertools.pairwise(way)]


def _follow(tree: Tree, turns: list[int]) -> int:
    node = 0
    for turn in turns:
        node = int(tree.first_child[node]) + turn
    return node


@examples(100)
@given(st.data())
def test_a_grafted_tree_is_walked_on(data: Any) -> None:
    both = trees(filled=True, shape=(2, 1, 2))
    tree, other = data.draw(both), data.draw(both)
    leaf = data.draw(st.sampled_from(np.flatnonzero(tree.is_leaf).tolist()))
    joined = tree.graft(leaf, other)
    joined.validate()
    assert joined.n_nodes == tree.n_nodes + other.n_nodes - 1
    Z = data.draw(rows(joined, missing=True))
    for row, got in zip(Z, joined.apply(Z).tolist(), strict=True):
        first = walk.path(tree, row)[-1]
        source, old = (other, walk.path(other, row)[-1]) if first == leaf else (tree, first)
        assert joined.stats[got].tolist() == source.stats[old].tolist()


def test_graft_joins_labels() -> None:
    tree = small_tree()
    other = dataclasses.replace(tree, origin_labels=("second", "third"))
    joined = tree.graft(1, other)
    assert joined.origin_labels == ("first", "second", "third")
    named = [joined.origin_labels[o] for o in joined.origin[~joined.is_leaf]]
    assert named == ["first", "second", "second", "third"]


def test_what_cannot_be_grafted() -> None:
    tree = small_tree()
    with pytest.raises(TreeError, match=r"node 2 is a hyperplane. Use collapse\(tree, 2\) first"):
        tree.graft(2, tree)
    with pytest.raises(TreeError, match="no node 7"):
        tree.graft(7, tree)
    with pytest.raises(TreeError, match="one has 2 features, the other 3"):
        tree.graft(1, dataclasses.replace(tree, n_features=3))
    with pytest.raises(TreeError, match="one has 2 stats, the other 1"):
        tree.graft(1, machine_tree())


def test_normals() -> None:
    tree = small_tree()
    assert tree.normals().toarray().tolist() == [[0.5, -1.0], [0.0, 1.0]]
    assert tree.node_of_plane.tolist() == [0, 2]
    assert tree.coefficients(2).tolist() == [0.0, 1.0]
    with pytest.raises(TreeError, match="Node 1 is a leaf, which has no normal"):
        tree.coefficients(1)
    with pytest.raises(TreeError, match="Node 2 is a linear machine, which has no normal"):
        machine_tree().coefficients(2)
    with pytest.raises(TreeError, match="no node -1"):
        tree.coefficients(-1)


def test_one_row_and_no_rows() -> None:
    tree = small_tree()
    assert tree.apply(np.array([[1.0, 5.0]])).tolist() == [1]
    leaves = tree.apply(np.empty((0, 2)))
    assert leaves.shape == (0,)
    assert leaves.dtype == np.int64
    assert tree.decision_path(np.empty((0, 2))).shape == (0, 5)


def test_repr_is_short() -> None:
    assert repr(small_tree()) == "Tree(5 nodes, 3 leaves, depth 2, 2 columns, 2 stats)"
