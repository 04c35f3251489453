"""Growing, evaluating and cutting back all folds at once, beside the twin; the paper's figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua._core.methods.fold_trees import FoldGrower, FoldTrie
from problems import examples
from reference.eigen_tree import Node, NodeFold, Point, expected_class, split_value

Problem = dict[str, Any]


def problem(seed: int) -> Problem:
    """Columns, classes, weights, divisions and distances that count as nothing."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 6))
    values = int(rng.integers(1, 12))
    columns = rng.normal(size=(n, d))
    if rng.random() < 0.5:
        columns = rng.integers(0, values, (n, d)).astype(float)  # ties, constant columns
    y = (rng.random(n) < rng.random()).astype(np.int32)  # a class may be tiny or absent
    if rng.random() < 0.5:
        y = (columns[:, 0] + rng.normal(scale=0.5, size=n) > np.median(columns)).astype(np.int32)
    weights = rng.integers(1, 4, n) if rng.random() < 0.5 else None
    n_divisions, n_folds = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    numbers = np.stack([rng.permutation(n) % n_folds for _ in range(n_divisions)], axis=1)
    return {
        "columns": np.asfortranarray(columns),
        "y": y,
        "weights": weights,
        "numbers": numbers.astype(np.int32),
        "folds": np.array(
            [(r, k) for r in range(n_divisions) for k in range(n_folds)], dtype=np.int32
        ),
        "nothing": np.where(rng.random(d) < 0.7, 0.0, 0.3),
    }


def run(
    given: Problem, folds: np.ndarray, trie: FoldTrie, numbers: np.ndarray | None = None
) -> FoldGrower:
    """Grow folds, with the columns themselves as directions."""
    numbers = given["numbers"] if numbers is None else numbers
    levels = FoldGrower(given["columns"], given["y"], given["weights"], numbers, folds, trie)
    d = given["columns"].shape[1]
    going = levels.begin(d > 0)
    for k in range(d):
        if not going:
            break
        column = np.array([k], dtype=np.int32)
        going = levels.step(column, np.ones(1), float(given["nothing"][k]), k + 1 < d)
    return levels


def points(given: Problem) -> list[Point]:
    weights = [1] * len(given["y"]) if given["weights"] is None else given["weights"].tolist()
    return [
        Point(tuple(row), label, weight)
        for row, label, weight in zip(
            given["columns"].tolist(), given["y"].tolist(), weights, strict=True
        )
    ]


def grown_by_messages(given: Problem) -> Node:
    """The twin's top, before anything is cut back."""
    top = Node(0, given["nothing"].tolist())
    rows = points(given)
    for fold, (division, number) in enumerate(given["folds"].tolist()):
        test = given["numbers"][:, division] == number
        top.grow(fold, [p for p, held in zip(rows, test, strict=True) if not held])
        top.evaluate(fold, [p for p, held in zip(rows, test, strict=True) if held])
    return top


def by_level(top: Node) -> tuple[list[Node], list[int]]:
    nodes, children = [top], []
    for node in nodes:  # grows on the way
        children.append(len(nodes) if node.children else -1)
        nodes += node.children or ()
    return nodes, children


@examples(200)
@given(seed=st.integers(0, 10**9))
def test_growing_and_cutting_back_is_the_twins(seed: int) -> None:
    given = problem(seed)
    top = grown_by_messages(given)
    trie = FoldTrie()
    run(given, given["folds"], trie)
    assert len(trie) == len(by_level(top)[0])
    top.prune_after_evaluation()
    score, children, _ = trie.prune()
    assert score == top.power
    assert children.tolist() == by_level(top)[1]


@examples(100)
@given(seed=st.integers(0, 10**9))
def test_node_folds_are_the_twins(seed: int) -> None:
    given = problem(seed)
    trie = FoldTrie()
    run(given, given["folds"], trie)
    children = trie.prune()[1]
    train, test, threshold, rows, label = run(given, given["folds"], FoldTrie(children)).per_fold()
    nodes = [grown_by_messages(given)]
    for number, first in enumerate(children.tolist()):
        node = nodes[number]
        for fold in range(len(given["folds"])):
            if fold not in node.folds:
                assert rows[number, fold] == -1
                continue
            own = node.folds[fold]
            assert label[number, fold] == own.expected
            assert test[number, fold, own.expected] == own.correct
            assert test[number, fold].sum() == own.correct + own.incorrect
            assert train[number, fold].sum() >= rows[number, fold] > 0 or len(given["y"]) == 1
            if first >= 0:
                split = np.nan if own.split is None else own.split
                np.testing.assert_equal(threshold[number, fold], split)
        if first >= 0:
            nodes += node.children or ()


@examples(100)
@given(seed=st.integers(0, 10**9))
def test_calibration_is_the_twins(seed: int) -> None:
    given = problem(seed)
    top = grown_by_messages(given)
    top.prune_after_evaluation()
    children = np.array(by_level(top)[1], dtype=np.int32)
    nobody = np.zeros((len(given["y"]), 1), dtype=np.int32)
    no_tests = np.array([[0, -1]], dtype=np.int32)
    counts, test, threshold, rows, _ = run(given, no_tests, FoldTrie(children), nobody).per_fold()
    assert not test.any()
    top.calibrate(points(given))
    left = [(top, 0)]
    while left:
        node, number = left.pop()
        assert tuple(counts[number, 0]) == node.counts
        assert rows[number, 0] > 0
        np.testing.assert_equal(threshold[number, 0], np.nan if node.split is None else node.split)
        if node.children:
            left += list(zip(node.children, (children[number], children[number] + 1), strict=True))


@examples(50)
@given(seed=st.integers(0, 10**9))
def test_folds_may_be_grown_one_by_one(seed: int) -> None:
    given = problem(seed)
    together, one_by_one = FoldTrie(), FoldTrie()
    run(given, given["folds"], together)
    for fold in given["folds"]:
        run(given, fold[None], one_by_one)
    assert len(together) == len(one_by_one)
    first, second = together.prune(), one_by_one.prune()
    assert first[0] == second[0]
    assert first[1].tolist() == second[1].tolist()


def test_values_that_are_not_finite_divide_nothing() -> None:
    columns = np.asfortranarray([[1e308, 1.0], [1e308, 2.0], [-1e308, 3.0], [0.0, 4.0]])
    y = np.array([0, 0, 1, 1], dtype=np.int32)
    numbers = np.array([[0], [1], [0], [1]], dtype=np.int32)
    trie = FoldTrie()
    levels = FoldGrower(
        columns, y, None, numbers, np.array([[0, 0], [0, 1]], dtype=np.int32), trie
    )
    assert levels.begin(True)
    both = np.array([0, 1], dtype=np.int32)
    assert not levels.step(both, np.array([10.0, 1.0]), 0.0, True)
    assert len(trie) == 1


def test_no_explosion_with_depth() -> None:
    """Every node of a fold has a row, so no more nodes than twice the rows, whatever the depth."""
    rng = np.random.default_rng(0)
    given = problem(0) | {
        "columns": np.asfortranarray(rng.normal(size=(50, 200))),
        "y": rng.integers(0, 2, 50).astype(np.int32),
        "weights": None,
        "numbers": np.arange(50, dtype=np.int32)[:, None] % 2,
        "folds": np.array([[0, 0], [0, 1]], dtype=np.int32),
        "nothing": np.zeros(200),
    }
    trie = FoldTrie()
    run(given, given["folds"], trie)
    assert len(trie) < 2 * 2 * 50


# --- the figures of section 6, as messages to the twin ------------------------------------------


def node_with(*folds: NodeFold | None, level: int = 3) -> Node:
    known = {number: fold for number, fold in enumerate(folds) if fold is not None}
    return Node(level, [0.0] * 5, known)


def line(*labels: int) -> list[Point]:
    """Points at 0, 1, 2, ... on all features."""
    return [Point((float(place),) * 5, label) for place, label in enumerate(labels)]


def test_figure_2_grow() -> None:
    node = Node(3, [0.0] * 5)
    node.grow(0, line(0, 0, 1, 1, 1))
    assert node.children is not None
    children = node.children
    node.grow(1, line(1, 1, 1))  # all of one class: no split, and no data further down
    node.grow(2, line(0, 1, 0, 0))
    assert node.children == children
    assert [node.folds[k].split for k in range(3)] == [1.5, None, 1.5]
    assert [node.folds[k].expected for k in range(3)] == [1, 1, 0]
    assert all(sorted(child.folds) == [0, 2] for child in children)


def test_figure_3_evaluate() -> None:
    node = Node(3, [0.0] * 5)
    for fold, training in enumerate([line(0, 0, 1, 1, 1), line(1, 1, 1), line(0, 0, 0, 1)]):
        node.grow(fold, training)
    for fold, test in enumerate([line(0, 1, 1), line(0, 1, 1, 1), line(0, 0, 0, 0)]):
        node.evaluate(fold, test)
    own = node.folds
    assert [(own[k].correct, own[k].incorrect) for k in range(3)] == [(2, 1), (3, 1), (4, 0)]
    assert node.children is not None
    left, right = node.children
    assert (left.folds[0].correct, left.folds[0].incorrect) == (1, 1)
    assert (right.folds[0].correct, right.folds[0].incorrect) == (1, 0)
    assert (right.folds[2].correct, right.folds[2].incorrect) == (0, 1)
    assert 1 not in left.folds


def family(below: tuple[int, int]) -> Node:
    """A node of which the first and the third fold have a split, with 10 right in these."""
    node = node_with(NodeFold(0.5, 0, 4, 4), NodeFold(None, 1, 5, 1), NodeFold(0.5, 0, 6, 2))
    half = NodeFold(None, 0, below[0] // 2, 1)
    rest = NodeFold(None, 0, below[1] // 2, 1)
    node.children = (
        node_with(half, None, rest, level=4),
        node_with(
            NodeFold(None, 1, below[0] - half.correct, 1),
            None,
            NodeFold(None, 1, below[1] - rest.correct, 1),
            level=4,
        ),
    )
    return node


def test_figures_3_and_4_children_that_are_better_stay() -> None:
    node = family((6, 7))  # 13 against 10
    node.prune_after_evaluation()
    assert node.children is not None
    assert [node.folds[k].correct for k in range(3)] == [6, 5, 7]
    assert node.folds[0].incorrect == 2
    assert node.power == 18


@pytest.mark.parametrize("below", [(4, 4), (5, 5)])  # 8 against 10, as in the figures; a tie
def test_figures_5_and_6_others_are_pruned(below: tuple[int, int]) -> None:
    node = family(below)
    node.prune_after_evaluation()
    assert node.children is None
    assert [node.folds[k].correct for k in range(3)] == [4, 5, 6]


def test_figure_7_calibrate() -> None:
    node = Node(3, [0.0] * 5)
    for fold, training in enumerate([line(0, 0, 1, 1, 1), line(1, 1, 1), line(0, 0, 0, 1)]):
        node.grow(fold, training)
    assert node.children is not None
    for child in node.children:
        child.children = None
    node.calibrate(line(0, 0, 0, 1, 1, 0, 1))
    assert node.split == 2.5
    assert [child.counts for child in node.children] == [(3, 0), (1, 3)]
    assert [child.expected for child in node.children] == [0, 1]
    assert all(child.children is None for child in node.children)


def test_offspring_of_one_class_is_pruned_after_calibration() -> None:
    node = Node(0, [0.0, 0.0])
    node.children = (Node(1, [0.0, 0.0]), Node(1, [0.0, 0.0]))
    node.calibrate([Point((0.0, 0.0), 0, 5), Point((1.0, 0.0), 1, 1), Point((1.0, 1.0), 0, 3)])
    assert [child.expected for child in node.children] == [0, 0]
    node.prune_after_calibration()
    assert node.children is None


def test_ties() -> None:
    """A class that ties is the parent's; a cut that ties goes by Gini, then comes first."""
    assert expected_class(line(0, 1), parent=1) == 1
    assert expected_class(line(0, 1), parent=0) == 0
    # One error at 0.5 and at 2.5; the side of two is purer than that of one.
    assert split_value(line(1, 0, 1, 0, 0, 0), 0, 0.0) == 2.5
    assert split_value(line(0, 1, 0), 0, 0.0) == 0.5
    assert split_value(line(0, 1), 0, 1.0) is None
