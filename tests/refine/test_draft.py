"""A tree becomes a draft and a tree again: nothing is lost, and everything is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua import C45Classifier, HHCartClassifier, LMDTClassifier, OC1Classifier
from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.errors import TreeError
from obliqua.refine.draft import Draft, draft_of, logits_of, tree_of, without_leaves
from obliqua.refine.rows import soft_rows
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree
from problems import gaussians
from reference.refine import mixed_frame, random_child

METHODS = {
    "hhcart": HHCartClassifier(pruning=None, random_state=0),
    "oc1": OC1Classifier(pruning=None, random_state=0, n_restarts=2),
}


def grown(method: str, columns: list[str], n_rows: int = 300, weighted: bool = False) -> Any:
    """A grown tree and its problem: all columns, or numbers only."""
    frame, y = mixed_frame(n_rows, 4)
    frame = frame[columns]
    weight = np.random.default_rng(0).integers(1, 4, n_rows) if weighted else None
    model = METHODS[method].fit(frame, y, sample_weight=weight)
    return model.tree_, encode(read_table(frame), y, 3, sample_weight=weight)


def assert_counted(tree: Tree, problem: Problem) -> None:
    """What the tree says that it has counted is what its rows do, and no leaf is empty."""
    tree.validate()
    leaf = tree.apply(problem.Z)
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights * problem.unit
    stats = np.zeros_like(tree.stats)
    counts = np.zeros(tree.n_nodes, dtype=np.int64)
    for row, node in enumerate(leaf.tolist()):
        while node >= 0:
            stats[node, problem.y[row]] += weight[row]
            counts[node] += 1
            node = int(tree.parent[node]) if node else -1
    np.testing.assert_allclose(tree.stats, stats, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(tree.n_samples, counts)
    assert counts.min() > 0
    share = stats / stats.sum(axis=1, keepdims=True)
    gini = stats.sum(axis=1) * (1.0 - (share**2).sum(axis=1)) / stats[0].sum()
    inner = np.flatnonzero(~tree.is_leaf)
    first = tree.first_child[inner]
    gains = gini[inner] - gini[first] - gini[first + 1]
    np.testing.assert_allclose(tree.gain[inner], gains, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("columns", ["bc", "abc", "all", "levels"])
@pytest.mark.parametrize("weighted", [False, True])
def test_there_and_back(method: str, columns: str, weighted: bool) -> None:
    levels = ["colour", "side"]
    names = {"all": ["a", "b", "c", *levels], "levels": levels}.get(columns, list(columns))
    tree, problem = grown(method, names, weighted=weighted)
    assert tree.n_leaves > 5
    rows = soft_rows(problem)
    draft = draft_of(tree, rows.columns)
    again = tree_of(draft, rows, problem, "again")
    assert_counted(again, problem)
    assert again.origin_labels == ("again",)
    # Floats round what doubles say: a row at a threshold may cross it.
    moved = tree.leaf_label[tree.apply(problem.Z)] != again.leaf_label[again.apply(problem.Z)]
    assert moved.mean() < 0.01
    if again.n_nodes == tree.n_nodes:
        np.testing.assert_array_equal(again.first_child, tree.first_child)
        assert np.abs(again.stats - tree.stats)[tree.is_leaf].sum() <= 0.02 * tree.stats[0].sum()
    assert draft.counts(rows).sum() == problem.total_weight


@pytest.mark.parametrize("method", METHODS)
def test_levels_that_were_not_seen_add_nothing(method: str) -> None:
    """In tables, 0 stands for the mean of the levels, so that such a row is an average one."""
    tree, problem = grown(method, ["a", "b", "c", "colour", "side"])
    rows = soft_rows(problem)
    again = tree_of(draft_of(tree, rows.columns), rows, problem, "again")
    share = [np.bincount(problem.Z[~np.isnan(problem.Z[:, k]), k].astype(int)) for k in (3, 4)]
    found = 0
    for k, column in enumerate(again.coef_idx.tolist()):
        table = again.table[again.table_ptr[k] : again.table_ptr[k + 1]]
        if column < 3:
            assert len(table) == 0
            continue
        counts = share[column - 3]
        assert len(table) == len(counts)
        middle = table @ counts / counts.sum()
        assert abs(middle) < 1e-5 * np.abs(table).max() + 1e-12
        found += 1
    assert found
    # A level with no entry in a table is a level of which nothing is known: see Tree.apply.
    Z = problem.Z[:20].copy()
    Z[:, 4] = 3.0
    for row, leaf in zip(Z, again.apply(Z), strict=True):
        node = 0
        while not again.is_leaf[node]:
            plane = int(again.plane_ptr[node])
            height = -again.threshold[plane]
            part = slice(*again.coef_ptr[plane : plane + 2])
            if again.missing_side[plane] and np.isnan(row[again.coef_idx[part]]).any():
                node = int(again.first_child[node]) + int(again.missing_side[plane] == 2)
                continue
            for k in range(part.start, part.stop):
                column = int(again.coef_idx[k])
                value, table = row[column], again.table[again.table_ptr[k] :]
                if np.isnan(value):
                    added = again.fill[k]
                elif column == 4:
                    added = 0.0
                else:
                    added = table[int(value)] if column == 3 else value
                height += again.coef[k] * added
            node = int(again.first_child[node]) + int(height > 0)
        assert node == leaf


def test_random_drafts_are_counted() -> None:
    """Most of their leaves are empty and go; the siblings take the place."""
    frame, y = mixed_frame(60, 5)
    problem = encode(read_table(frame), y, 3)
    rows = soft_rows(problem)
    rng = np.random.default_rng(0)
    for n_nodes in (1, 2, 7, 30):
        normals = rng.normal(size=(n_nodes, rows.columns.width)).astype(np.float32)
        normals[:, rows.columns.owner < 0] = 0.0
        normals[:, rows.columns.constant] = rng.normal(size=n_nodes)
        draft = Draft(random_child(rng, n_nodes), normals)
        tree = tree_of(draft, rows, problem, "random")
        assert_counted(tree, problem)
        kept = int((draft.counts(rows).sum(axis=1) > 0).sum())
        assert tree.n_leaves == kept, "a leaf that has rows stays, one that has none goes"
        again = draft_of(tree, rows.columns)
        counts = [sorted(part.counts(rows).tolist()) for part in (draft, again)]
        assert [row for row in counts[0] if sum(row)] == counts[1]


@pytest.mark.parametrize("scale", [1e-250, 1e-30, 1e30, 1e250])
def test_numbers_beyond_the_range_of_floats(scale: float) -> None:
    case = gaussians(100, 2, 2)
    problem = encode(case.X * scale, case.y, 2)
    rows = soft_rows(problem)
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0, 1: -0.5}, 0.1 * scale, ["left", "right"])
    builder.set_leaf("left", [50.0, 0.0], 50)
    builder.set_leaf("right", [0.0, 50.0], 50)
    draft = draft_of(builder.build(), rows.columns)
    right = case.X @ [1.0, -0.5] > 0.1
    expected = [np.bincount(case.y[side], minlength=2).tolist() for side in (~right, right)]
    assert draft.counts(rows).tolist() == expected
    assert tree_of(draft, rows, problem, "x").stats[1:].tolist() == expected


def test_a_split_that_asks_about_nothing() -> None:
    case = gaussians(30, 2, 2)
    problem = encode(case.X, case.y, 2)
    rows = soft_rows(problem)
    normals = np.zeros((1, rows.columns.width), dtype=np.float32)
    normals[0, rows.columns.constant] = 1.0
    tree = tree_of(Draft(np.array([[-1, -2]], np.int32), normals), rows, problem, "x")
    assert tree.n_nodes == 1
    assert_counted(tree, problem)


def test_a_single_leaf() -> None:
    case = gaussians(30, 2, 2)
    problem = encode(case.X, case.y, 2)
    rows = soft_rows(problem)
    builder = TreeBuilder(2, 2)
    builder.set_leaf("root", [10.0, 20.0], 30)
    draft = draft_of(builder.build(), rows.columns)
    assert (draft.n_nodes, draft.n_leaves, draft.child.shape) == (0, 1, (0, 2))
    assert_counted(tree_of(draft, rows, problem, "x"), problem)


def test_leaves_that_are_left_out() -> None:
    """Numbered in level order; a subtree goes with its leaves, and so may the root's side."""
    child = np.array([[1, 2], [-1, -2], [-3, 3], [-4, -5]], dtype=np.int32)
    draft = Draft(child, np.arange(4, dtype=np.float32)[:, None] + np.zeros((1, 8), np.float32))

    def left(*leaves: int) -> Any:
        smaller = without_leaves(draft, np.array(leaves, dtype=np.int64))
        return smaller.normals[:, 0].astype(int).tolist(), smaller.child.tolist()

    assert left(2) == ([0, 1, 3], [[1, 2], [-1, -2], [-3, -4]])
    assert left(0, 1) == ([2, 3], [[-1, 1], [-2, -3]])
    assert left(2, 3, 4) == ([1], [[-1, -2]])
    assert left(0, 1, 3, 4) == ([], [])
    assert left(0, 3) == ([0, 2], [[-1, 1], [-2, -3]])


def test_masks_go_with_their_nodes() -> None:
    child = np.array([[1, 2], [-1, -2], [-3, -4]], dtype=np.int32)
    normals = np.zeros((3, 8), np.float32)
    mask = np.arange(3, dtype=np.float32)[:, None] + normals
    smaller = without_leaves(Draft(child, normals, mask), np.array([0]))
    assert smaller.mask is not None
    assert smaller.mask[:, 0].tolist() == [0.0, 2.0]


@pytest.mark.parametrize("kind", ["levels", "machine"])
def test_other_kinds_of_splits_are_refused(kind: str) -> None:
    frame, y = mixed_frame(200, 4)
    if kind == "levels":
        frame = frame[["colour", "side"]].dropna()
        y = y[frame.index]
        tree = C45Classifier().fit(frame, y).tree_
    else:
        frame = frame[["b", "c"]]
        tree = LMDTClassifier(random_state=0).fit(frame, y).tree_
    rows = soft_rows(encode(read_table(frame), y, 3))
    with pytest.raises(TreeError, match=r"Only trees of hyperplanes can be refined; node \d+ is"):
        draft_of(tree, rows.columns)


def test_logits() -> None:
    case = gaussians(50, 2, 3)
    weight = np.random.default_rng(0).integers(1, 4, 50)
    rows = soft_rows(encode(case.X, case.y, 3, sample_weight=weight))
    counts = np.array([[10, 0, 4], [0, 0, 0]])
    logits = logits_of(counts, rows)
    assert logits.shape == (2, 8)
    mean = rows.units.sum() / rows.n_rows
    smooth = counts / mean + rows.class_share + 0.02
    expected = smooth / smooth.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(logits[:, :3]), expected, rtol=1e-5)
    assert (logits[:, 3:] == -1e4).all()
    # They do not depend on the unit of weights.
    tens = soft_rows(encode(case.X, case.y, 3, sample_weight=10.0 * weight))
    scaled = logits_of(counts * int(tens.units.sum() // rows.units.sum()), tens)
    np.testing.assert_allclose(scaled, logits, rtol=1e-6)


def test_a_fill_that_is_refined_says_what_the_draft_says() -> None:
    """The weight of a gap becomes what stands in for the number: the same side at each node."""
    frame, y = mixed_frame(200, 6)
    problem = encode(read_table(frame[["a", "b"]]), y, 3)
    rows = soft_rows(problem)
    normals = np.zeros((1, rows.columns.width), dtype=np.float32)
    normals[0, :3] = [1.0, 0.3, 0.2]
    for gap in (-2.5, 0.0, 2.5):
        normals[0, rows.columns.missing[0]] = gap
        draft = Draft(np.array([[-1, -2]], np.int32), normals.copy())
        tree = tree_of(draft, rows, problem, "x")
        np.testing.assert_array_equal(draft.counts(rows), tree.stats[1:])
        fill = float(tree.fill[tree.coef_idx == 0][0])
        expected = rows.columns.mean[0] + gap * rows.columns.sd[0]
        assert fill == pytest.approx(expected, rel=1e-5)
        assert_counted(tree, problem)
