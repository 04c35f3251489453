"""Hyperplanes at random: complete trees through the middle of rows, in the place of what errs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.refine import Recipe, Watch
from obliqua.refine.draft import Draft
from obliqua.refine.recipe import _Work
from obliqua.refine.regrow import _leaves_below, at_random, regrown
from obliqua.refine.rows import soft_rows
from reference.refine import mixed_frame, random_child


def numbers(n_rows: int = 400) -> Problem:
    chance = np.random.default_rng(5)
    X = chance.normal(size=(n_rows, 4))
    return encode(X, (X[:, 0] * X[:, 1] > 0).astype(np.int64), 2)


def mixed(n_rows: int = 400) -> Problem:
    frame, y = mixed_frame(n_rows, 3)
    return encode(read_table(frame), y, 3)


def same(first: Draft, second: Draft) -> bool:
    return np.array_equal(first.child, second.child) and np.array_equal(
        first.normals, second.normals
    )


@pytest.mark.parametrize(("wanted", "expected"), [(1, 2), (2, 2), (5, 8), (16, 16), (999, 16)])
def test_a_complete_tree_through_the_middle(wanted: int, expected: int) -> None:
    rows = soft_rows(numbers())
    draft = at_random(rows, wanted, 7)
    assert draft.n_leaves == expected, "a leaf has 16 rows or more"
    assert 2**draft.depth == expected
    counts = draft.counts(rows).sum(axis=1)
    assert counts.max() - counts.min() <= draft.depth
    assert not same(draft, at_random(rows, wanted, 8))


def test_the_order_of_rows_and_weights_change_nothing() -> None:
    problem = mixed()
    draft = at_random(soft_rows(problem), 16, 7)
    assert (np.abs(draft.normals).sum(axis=0) > 0)[soft_rows(problem).columns.owner >= 0].all()
    twice = problem.take(np.random.default_rng(0).permutation(np.repeat(np.arange(400), 2)))
    assert same(draft, at_random(soft_rows(twice), 16, 7))


@pytest.mark.parametrize("problem", [numbers(), mixed()], ids=["numbers", "mixed"])
def test_only_one_subtree_begins_anew(problem: Problem) -> None:
    rows = soft_rows(problem)
    chance = np.random.default_rng(2)
    normals = chance.normal(size=(7, rows.columns.width)).astype(np.float32)
    draft = Draft(random_child(chance, 7), normals)
    old = {row.tobytes(): node for node, row in enumerate(normals)}
    before, _ = draft.walk(rows)
    taken = set()
    for key in range(12):
        after = regrown(draft, rows, 4, key)
        assert same(after, regrown(draft, rows, 4, key))
        leaf, _ = after.walk(rows)
        top = min(node for node, row in enumerate(after.normals) if row.tobytes() not in old)
        inside = np.isin(leaf, _leaves_below(after.child, top))
        assert not set(before[inside]) & set(before[~inside])
        pairs = set(zip(before[~inside].tolist(), leaf[~inside].tolist(), strict=True))
        assert len(pairs) == len(set(before[~inside])) == len(set(leaf[~inside])), "as it was"
        fresh = [row.tobytes() not in old for row in after.normals]
        assert 0 < sum(fresh) < 4 * 2 * (8 - (len(fresh) - sum(fresh)))
        taken.add(tuple(sorted(set(before[inside].tolist()))))
    assert len(taken) > 1, "chance takes one node or another"


def test_what_is_right_does_not_begin_anew() -> None:
    """Only nodes that err are taken, the denser their errors the sooner."""
    chance = np.random.default_rng(4)
    X = chance.normal(size=(600, 3))
    y = np.where(X[:, 0] > 0, X[:, 1] > 0, chance.random(600) < 0.5).astype(np.int64)
    rows = soft_rows(encode(X, y, 2))
    normals = np.zeros((3, rows.columns.width), dtype=np.float32)
    normals[0, 0] = normals[1, 2] = normals[2, 1] = 1.0
    middle = (rows.columns.mean / rows.columns.sd).astype(np.float32)
    normals[:, rows.columns.constant] = normals[:, :3] @ middle  # so that cuts are at 0
    draft = Draft(np.array([[1, 2], [-1, -2], [-3, -4]], dtype=np.int32), normals)
    drafts = [regrown(draft, rows, 2, key) for key in range(20)]
    good, bad = normals[2].tobytes(), normals[1].tobytes()
    left = [{row.tobytes() for row in after.normals} for after in drafts]
    assert sum(good in kept for kept in left) > 10
    assert not any(bad in kept for kept in left)


def test_a_column_of_zeros_gets_no_weight() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[:, 1] = 7.0
    draft = at_random(soft_rows(encode(X, (X[:, 0] > 0).astype(np.int64), 2)), 4, 0)
    assert (draft.normals[:, 1] == 0.0).all()
    assert (draft.normals[:, [0, 2]] != 0.0).all()


def test_the_last_refinement_keeps_few_features() -> None:
    X = np.random.default_rng(0).normal(size=(600, 4))
    problem = encode(X, (X.sum(axis=1) > 0).astype(np.int64), 2)
    recipe = Recipe(max_features=2)
    grown = grow(problem, rules=Rules(max_leaf_nodes=2, best_first=True))
    work = _Work(problem, soft_rows(problem), lambda *_: grown, recipe, 0, 1, Watch())
    assert work._polished(grown).n_node_features.max() == 1
    free = replace(work, recipe=Recipe())
    assert free._polished(grown).n_node_features.max() == 4
