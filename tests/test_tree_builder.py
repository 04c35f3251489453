"""TreeBuilder: trees by hand, and what is said when the nodes do not make one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree


def two_leaves(builder: TreeBuilder, *names: str) -> None:
    for number, name in enumerate(names):
        stats = np.zeros(builder.n_stats)
        stats[number % builder.n_stats] = 1 + number
        builder.set_leaf(name, stats, n_samples=number + 1)


@pytest.fixture
def builder() -> TreeBuilder:
    return TreeBuilder(n_features=3, n_stats=2)


def test_a_single_leaf(builder: TreeBuilder) -> None:
    builder.set_leaf("only", [3, 1], n_samples=4)
    tree = builder.build()
    assert (tree.n_nodes, tree.n_leaves, tree.depth, tree.n_planes) == (1, 1, 0, 0)
    assert tree.stats.tolist() == [[3.0, 1.0]]
    assert tree.apply(np.ones((2, 3))).tolist() == [0, 0]


@pytest.mark.parametrize(
    "normal",
    [
        {0: 0.5, 2: -1.0},
        [0.5, 0.0, -1.0],
        (0.5, 0.0, -1.0),
        np.array([0.5, 0.0, -1.0], dtype=np.float32),
        ([0, 2], [0.5, -1.0]),
        (np.array([0, 2]), np.array([0.5, -1.0])),
    ],
    ids=["dict", "list", "tuple", "array", "pair", "pair of arrays"],
)
def test_ways_to_write_a_normal(builder: TreeBuilder, normal: Any) -> None:
    builder.add_split("root", normal, 0.25, ("low", "high"))
    two_leaves(builder, "low", "high")
    tree = builder.build()
    assert tree.coef_idx.tolist() == [0, 2]
    assert tree.coef.tolist() == [0.5, -1.0]
    assert tree.threshold.tolist() == [0.25]
    assert np.isnan(tree.fill).all()
    assert tree.coefficients(0).tolist() == [0.5, 0.0, -1.0]


def test_the_order_of_a_given_normal_is_kept(builder: TreeBuilder) -> None:
    """The order of a sum matters in its last bit."""
    builder.add_split("root", {2: 1.0, 0: 3.0}, 0.0, ("low", "high"))
    two_leaves(builder, "low", "high")
    assert builder.build().coef_idx.tolist() == [2, 0]


def describe(builder: TreeBuilder, order: list[int]) -> Tree:
    """Describe the same tree of seven nodes in some order."""
    steps = [
        lambda: builder.add_split("root", {0: 1.0}, 1.0, ("a", "b")),
        lambda: builder.set_leaf("a", [1, 0], 1),
        lambda: builder.add_machine("b", np.eye(3), [0.0, 1.0, 2.0], ("c", "d", "e")),
        lambda: builder.set_leaf("c", [2, 0], 2),
        lambda: builder.add_levels("d", 1, [0, 1, 1], ("f", "g"), unseen=1, missing=0),
        lambda: builder.set_leaf("e", [0, 3], 3),
        lambda: builder.set_leaf("f", [0, 4.5], 4),
        lambda: builder.set_leaf("g", [5, 0], 5),
    ]
    for step in order:
        steps[step]()
    return builder.build()


def test_nodes_in_any_order_give_the_same_tree() -> None:
    trees = [
        describe(TreeBuilder(3, 2), np.random.default_rng(seed).permutation(8).tolist())
        for seed in range(10)
    ]
    assert all(tree == trees[0] for tree in trees)
    tree = trees[0]
    H, M, L = NodeKind.HYPERPLANE, NodeKind.MACHINE, NodeKind.LEVELS
    assert tree.kind.tolist() == [H, 0, M, 0, L, 0, 0, 0]
    assert tree.first_child.tolist() == [1, -1, 3, -1, 6, -1, -1, -1]
    assert tree.n_children.tolist() == [2, 0, 3, 0, 2, 0, 0, 0]
    assert tree.plane_ptr.tolist() == [0, 1, 1, 4, 4, 5, 5, 5, 5]
    assert tree.table.tolist() == [0.0, 1.0, 1.0]
    assert tree.fill[-1] == 0.0
    assert tree.threshold.tolist() == [1.0, 0.0, 1.0, 2.0, 1.0]


def test_inner_nodes_get_the_sums_of_their_children() -> None:
    tree = describe(TreeBuilder(3, 2), list(range(8)))
    assert tree.stats[0].tolist() == [8.0, 7.5]
    assert tree.stats[4].tolist() == [5.0, 4.5]
    assert tree.n_samples[[0, 2, 4]].tolist() == [15, 14, 9]


def test_annotations(builder: TreeBuilder) -> None:
    builder.add_split(0, {0: 1.0}, 1.0, (1, 2))
    builder.set_leaf(1, [1, 0])
    builder.set_leaf(2, [0, 1])
    builder.annotate(0, gain=0.5, axis_gain=0.25, origin="class 2, eigenvector 1")
    builder.annotate(0, stats=[5, 5], n_samples=7)
    tree = builder.build()
    assert tree.stats.tolist() == [[5, 5], [1, 0], [0, 1]]
    assert tree.n_samples.tolist() == [7, 0, 0]
    assert tree.gain.tolist() == [0.5, 0.0, 0.0]
    assert tree.axis_gain[0] == 0.25
    assert np.isnan(tree.axis_gain[1:]).all()
    assert tree.origin.tolist() == [0, -1, -1]
    assert tree.origin_labels == ("class 2, eigenvector 1",)


def test_the_builder_goes_on(builder: TreeBuilder) -> None:
    builder.add_split("root", {0: 1.0}, 1.0, ("a", "b"))
    two_leaves(builder, "a", "b")
    first = builder.build()
    assert builder.build() == first
    builder.annotate("a", stats=[10, 0])
    second = builder.build()
    assert second.stats[0].tolist() == [10.0, 2.0]
    assert first.stats[0].tolist() == [1.0, 2.0]


def test_tables_and_fill(builder: TreeBuilder) -> None:
    builder.add_split(
        "root", {0: 1.0, 2: 2.0}, 0.0, ("a", "b"), fill={2: -1.5}, tables={2: [0.5, -0.5]}
    )
    two_leaves(builder, "a", "b")
    tree = builder.build()
    assert tree.table_ptr.tolist() == [0, 0, 2]
    assert tree.table.tolist() == [0.5, -0.5]
    assert np.isnan(tree.fill[0])
    assert tree.fill[1] == -1.5


def test_a_machine_may_have_a_constant_plane(builder: TreeBuilder) -> None:
    """After elimination of variables nothing but a threshold may be left of a class."""
    builder.add_machine("root", [{0: 1.0}, {}], [0.0, -5.0], ("a", "b"))
    two_leaves(builder, "a", "b")
    tree = builder.build()
    Z = np.array([[6.0, 0, 0], [5.0, 0, 0], [4.0, 0, 0]])
    assert tree.apply(Z).tolist() == [1, 1, 2]  # the first branch wins the tie


BAD: list[tuple[str, list[tuple[str, tuple[Any, ...], dict[str, Any]]], str]] = [
    ("empty", [], "at least one node; use set_leaf"),
    (
        "undescribed child",
        [("add_split", ("r", {0: 1}, 0, ("a", "b")), {}), ("set_leaf", ("a", [1, 1]), {})],
        "Node 'r' has a child 'b' that was not described",
    ),
    (
        "two roots",
        [("set_leaf", ("a", [1, 1]), {}), ("set_leaf", ("b", [1, 1]), {})],
        "one root.*got 'a' and 'b'",
    ),
    (
        "two parents",
        [("add_split", ("r", {0: 1}, 0, ("a", "a")), {}), ("set_leaf", ("a", [1, 1]), {})],
        "'a' is the child of 'r' and of 'r'",
    ),
    (
        "only a circle",
        [
            ("add_split", ("r", {0: 1}, 0, ("r", "b")), {}),
            ("set_leaf", ("b", [1, 1]), {}),
        ],
        "got none, every node is a child",
    ),
    (
        "a circle beside the tree",
        [
            ("set_leaf", ("a", [1, 1]), {}),
            ("add_split", ("r", {0: 1}, 0, ("r", "b")), {}),
            ("set_leaf", ("b", [1, 1]), {}),
        ],
        "'r' cannot be reached from the root 'a'",
    ),
    (
        "the same name twice",
        [("set_leaf", ("a", [1, 1]), {}), ("set_leaf", ("a", [1, 1]), {})],
        "'a' was described before",
    ),
    ("too few stats", [("set_leaf", ("a", [1]), {})], r"must have 2 stats; got shape \(1,\)"),
    ("stats not finite", [("set_leaf", ("a", [1, np.inf]), {})], "'stats' of a tree must be fin"),
    (
        "too long a normal",
        [("add_split", ("r", [1.0, 2.0], 0, ("a", "b")), {})],
        r"'r' must have 3 entries, one per column; got shape \(2,\)",
    ),
    (
        "a list of lists",
        [("add_split", ("r", [[0, 1], [1.0, 2.0]], 0, ("a", "b")), {})],
        "A pair .* is a tuple",
    ),
    (
        "text",
        [("add_split", ("r", "x > 3", 0, ("a", "b")), {})],
        "'r' must be a dict",
    ),
    (
        "names of columns",
        [("add_split", ("r", {"age": 1.0}, 0, ("a", "b")), {})],
        "'r' must be a dict",
    ),
    (
        "half a column",
        [("add_split", ("r", {0.5: 1.0}, 0, ("a", "b")), {})],
        r"one coefficient per column number; got columns \[0.5\]",
    ),
    (
        "uneven pair",
        [("add_split", ("r", ([0, 1], [1.0]), 0, ("a", "b")), {})],
        "one coefficient per column number",
    ),
    (
        "fill of an unused column",
        [("add_split", ("r", {0: 1.0}, 0, ("a", "b")), {"fill": {1: 0.0}})],
        "fill of node 'r' names column 1, which it does not use",
    ),
    (
        "uneven machine",
        [("add_machine", ("r", [{0: 1.0}], [0.0, 1.0], ("a", "b")), {})],
        "as many normals and thresholds as children; got 1, 2 and 2",
    ),
    ("annotation of nothing", [("annotate", ("r",), {"gain": 1.0})], "not described yet"),
]


@pytest.mark.parametrize(("calls", "message"), [case[1:] for case in BAD], ids=[c[0] for c in BAD])
def test_what_is_wrong_is_said(
    builder: TreeBuilder, calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]], message: str
) -> None:
    def describe_and_build() -> None:
        for method, arguments, options in calls:
            getattr(builder, method)(*arguments, **options)
        builder.build()

    with pytest.raises(ValueError, match=message):
        describe_and_build()


@pytest.mark.parametrize(
    ("normal", "threshold", "children", "message"),
    [
        ({3: 1.0}, 0.0, "ab", "Node 0 uses column 3 of a tree with 3 columns"),
        ({-1: 1.0}, 0.0, "ab", "uses column -1"),
        ({}, 0.0, "ab", "split of node 0 uses no column"),
        ([0.0, 0.0, 0.0], 0.0, "ab", "split of node 0 uses no column"),
        ({0: np.nan}, 0.0, "ab", "'coef' of a tree must be finite"),
        ({0: 1.0}, np.inf, "ab", "'threshold' of a tree must be finite"),
        (([0, 0], [1.0, 2.0]), 0.0, "ab", "Node 0 uses column 0 twice"),
        ({0: 1.0}, 0.0, "abc", "Node 0 is a hyperplane and must have 2 children.*got 3"),
    ],
)
def test_bad_splits(
    builder: TreeBuilder, normal: Any, threshold: float, children: str, message: str
) -> None:
    builder.add_split("root", normal, threshold, children)
    two_leaves(builder, *children)
    with pytest.raises(ValueError, match=message):
        builder.build()


@pytest.mark.parametrize(
    ("branches", "options", "message"),
    [
        ([0, 2], {}, "Node 0 has 2 branches, 0 to 1; its levels lead to branch 2"),
        ([0, 0.5], {}, "lead to branch 0.5"),
        ([0, 1], {"unseen": -1}, "lead to branch -1"),
        ([0, 1], {"missing": 7}, "lead to branch 7"),
        ([], {}, "table of branches; got 1 columns, coefficient 1 and 0 branches"),
    ],
)
def test_bad_levels(
    builder: TreeBuilder, branches: list[float], options: dict[str, int], message: str
) -> None:
    builder.add_levels("root", 0, branches, ("a", "b"), **options)
    two_leaves(builder, "a", "b")
    with pytest.raises(ValueError, match=message):
        builder.build()


def test_a_machine_needs_two_branches(builder: TreeBuilder) -> None:
    builder.add_machine("root", [{0: 1.0}], [0.0], ("a",))
    two_leaves(builder, "a")
    with pytest.raises(ValueError, match="is a linear machine and must have 2 or more children"):
        builder.build()


def test_spreads_by_hand() -> None:
    builder = TreeBuilder(3, 2)
    builder.add_machine("root", [{0: 1.0, 2: 2.0}, {2: -1.0}], [0.0, 1.0], ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    builder.annotate("root", spread={2: 0.5})
    np.testing.assert_array_equal(builder.build().spread, [np.nan, 0.5, 0.5])
    with pytest.raises(ValueError, match="spread of node 'root' names column 1"):
        builder.annotate("root", spread={1: 0.5})
    with pytest.raises(ValueError, match="spread of node 'a' names column 0"):
        builder.annotate("a", spread={0: 0.5})
