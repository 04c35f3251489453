"""Subtree raising against trees that are built one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import encode
from obliqua.data.table import read_table
from obliqua.refine.draft import Draft
from obliqua.refine.rows import SoftRows, soft_rows
from obliqua.refine.shrink import LEAF, _RaisedOfClasses, errors_of, raise_to, without_useless
from reference import refine as twin

SEEDS = range(12)


def case(seed: int, n_nodes: int | None = None) -> tuple[Draft, SoftRows, twin.Hard]:
    """A random draft over rows of all kinds of columns."""
    rng = np.random.default_rng(seed)
    frame, y = twin.mixed_frame(int(rng.integers(20, 60)), seed)
    weight = rng.integers(1, 4, len(y)) if seed % 2 else None
    rows = soft_rows(encode(read_table(frame), y, 3, sample_weight=weight))
    n_nodes = int(rng.integers(1, 14)) if n_nodes is None else n_nodes
    normals = rng.normal(size=(n_nodes, rows.columns.width)).astype(np.float32)
    normals[:, rows.columns.constant] *= 0.3
    full = twin.full_rows(rows.arrays, rows.columns.width)
    right = full @ normals.T.astype(float) > 0
    draft = Draft(twin.random_child(rng, n_nodes), normals)
    return draft, rows, twin.Hard(right, rows.y, rows.units, 3)


def whole(draft: Draft) -> Any:
    return twin.nested(draft.child, 0)


def left(smaller: Draft, draft: Draft) -> Any:
    """What is left of a draft, in the numbers of its nodes, which are told by their normals."""
    number = {row.tobytes(): node for node, row in enumerate(draft.normals)}
    at = [number[row.tobytes()] for row in smaller.normals]

    def named(tree: Any) -> Any:
        return None if isinstance(tree, int) else (at[tree[0]], named(tree[1]), named(tree[2]))

    return named(twin.nested(smaller.child, 0 if smaller.n_nodes else -1))


def errors(draft: Draft, rows: SoftRows) -> int:
    counts = draft.counts(rows)
    return int(counts.sum() - counts.max(axis=1).sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_are_those_of_trees_that_are_built(seed: int) -> None:
    draft, rows, hard = case(seed)
    raised = _RaisedOfClasses(draft, rows)
    tree = whole(draft)
    for excess in (1, 3, 100):
        for option in raised._options(excess):
            (part,) = (part for part in twin.splits(tree) if part[0] == option.node)
            kept = 1 if option.kept == LEAF else twin.n_leaves(part[1 + option.kept])
            assert option.saved == twin.n_leaves(part) - kept
            change = hard.change(tree, option.node, option.kept)
            assert option.cost == pytest.approx(change / min(option.saved, excess))
        assert len(raised._options(excess)) == 3 * draft.n_nodes


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("excess", [1, 4, 9])
def test_one_round(seed: int, excess: int) -> None:
    draft, rows, hard = case(seed)
    raised = _RaisedOfClasses(draft, rows)
    excess = min(excess, draft.n_nodes)
    before = raised.n_leaves
    raised.one_round(excess)
    expected = hard.one_round(whole(draft), excess, list(range(draft.n_nodes)))
    assert twin.shape(twin.nested(raised.child, raised.root)) == twin.shape(expected)
    assert raised.n_leaves < before
    # All is counted anew.
    assert raised.weight[raised.root] == rows.units.sum()
    assert raised.errors[raised.root] == hard.least_errors(expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("most", [1, 2, 4, 20])
def test_raise_to(seed: int, most: int) -> None:
    draft, rows, hard = case(seed)
    smaller = raise_to(draft, rows, most)
    expected = hard.raised(whole(draft), most, list(range(draft.n_nodes)))
    assert left(smaller, draft) == twin.shape(expected)
    assert smaller.n_leaves <= most
    assert errors(smaller, rows) == hard.least_errors(expected)
    assert (smaller.counts(rows).sum(axis=1) > 0).all()


def levels(tree: Any, most: int, depth: int = 0) -> int:
    """By how many levels the leaves of a nested tree are too deep, together."""
    if isinstance(tree, int):
        return max(depth - most, 0)
    return sum(levels(side, most, depth + 1) for side in tree[1:])


@pytest.mark.parametrize("seed", SEEDS)
def test_levels_that_are_saved_are_those_of_trees_that_are_built(seed: int) -> None:
    draft, rows, hard = case(seed)
    raised = _RaisedOfClasses(draft, rows)
    tree = whole(draft)
    for most in (1, 2, 3):
        found = raised._saved_levels(most)
        if found is None:
            assert levels(tree, most) == 0
            continue
        excess, saved = found
        assert excess == levels(tree, most)
        options = {(option.node, option.kept): option for option in raised._options(*found)}
        for part in twin.splits(tree):
            for kept in (0, 1, LEAF):
                smaller = twin.replaced(tree, {part[0]: 0 if kept == LEAF else part[1 + kept]})
                assert saved[part[0], kept] == excess - levels(smaller, most)
                assert ((part[0], kept) in options) == (saved[part[0], kept] > 0)
        for (node, kept), option in options.items():
            cost = hard.change(tree, node, kept) / min(option.saved, excess)
            assert option.cost == pytest.approx(cost)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("most", [1, 2, 4])
def test_both_limits_are_kept_to(seed: int, most: int) -> None:
    draft, rows, _ = case(seed)
    assert draft.depth == max(len(way) for _, way in twin.ways(draft.child))
    deep = raise_to(draft, rows, 99)
    for n_leaves in (2, 5, 99):
        smaller = raise_to(draft, rows, n_leaves, most)
        assert smaller.depth <= most
        assert smaller.n_leaves <= n_leaves
        if deep.depth <= most:
            assert smaller.n_leaves == raise_to(draft, rows, n_leaves).n_leaves


@pytest.mark.parametrize("seed", SEEDS)
def test_without_useless(seed: int) -> None:
    draft, rows, hard = case(seed)
    smaller = without_useless(draft, rows)
    assert errors(smaller, rows) == errors(draft, rows)
    # Of what stays, each split saves errors.
    number = {row.tobytes(): node for node, row in enumerate(draft.normals)}
    at = [number[row.tobytes()] for row in smaller.normals]
    part = twin.Hard(hard.right[:, at], hard.y, hard.units, 3)
    tree = twin.nested(smaller.child, 0 if smaller.n_nodes else -1)
    for split in twin.splits(tree):
        assert part.change(tree, split[0], 2) > 0
    # And none that does has gone: the smallest tree of them that errs no more is this one.
    full = hard.without_empty(whole(draft))
    for split in twin.splits(full):
        if split[0] in at:
            assert hard.change(full, split[0], 2) > 0
        else:
            above = [other for other in twin.splits(full) if split in twin.splits(other)]
            assert any(hard.change(full, other[0], 2) == 0 for other in above)


def test_some_cases_lose_something() -> None:
    """The cases above are no idle ones: some have empty leaves, some useless splits."""
    n_leaves = [
        (draft.n_leaves, raise_to(draft, rows, 99).n_leaves, without_useless(draft, rows).n_leaves)
        for draft, rows, _ in map(case, SEEDS)
    ]
    assert any(full > kept for full, kept, _ in n_leaves)
    assert any(kept > useful > 1 for _, kept, useful in n_leaves)


def test_a_single_leaf_stays() -> None:
    _, rows, _ = case(0)
    draft = Draft(np.empty((0, 2), np.int32), np.empty((0, rows.columns.width), np.float32))
    assert raise_to(draft, rows, 1) is draft
    assert without_useless(draft, rows) is draft
    assert draft.depth == 0
    assert errors_of(draft, rows) == errors(draft, rows) > 0


def test_two_leaves() -> None:
    draft, rows, _ = case(1, n_nodes=1)
    assert raise_to(draft, rows, 2).n_leaves == 2
    one = raise_to(draft, rows, 1)
    assert (one.n_nodes, one.child.shape) == (0, (0, 2))
    assert one.counts(rows).tolist() == [np.bincount(rows.y, rows.units, 3).tolist()]


def test_a_chain_that_no_row_passes_goes_at_once() -> None:
    _, rows, _ = case(2)
    normals = np.zeros((3, rows.columns.width), dtype=np.float32)
    normals[:, rows.columns.constant] = [1.0, -1.0, 1.0]
    child = np.array([[-1, 1], [2, -2], [-3, -4]], dtype=np.int32)
    assert raise_to(Draft(child, normals), rows, 9).n_leaves == 1
    normals[2, 1] = 5.0  # the last one parts rows
    assert raise_to(Draft(child, normals), rows, 9).n_leaves == 2


def test_errors_are_counted_on_a_part_of_very_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    draft, rows, hard = case(5, n_nodes=9)
    monkeypatch.setattr("obliqua.refine.shrink.MOST_ROWS", 10)
    part = twin.Hard(hard.right[:10], hard.y[:10], hard.units[:10], 3)
    expected = part.raised(whole(draft), 3, list(range(9)))
    assert left(raise_to(draft, rows, 3), draft) == twin.shape(expected)


def test_masks_go_along() -> None:
    draft, rows, _ = case(4, n_nodes=8)
    mask = (np.random.default_rng(0).random(draft.normals.shape) < 0.5).astype(np.float32)
    smaller = raise_to(Draft(draft.child, draft.normals, mask), rows, 3)
    number = {row.tobytes(): node for node, row in enumerate(draft.normals)}
    assert smaller.mask is not None
    for normal, kept in zip(smaller.normals, smaller.mask, strict=True):
        np.testing.assert_array_equal(kept, mask[number[normal.tobytes()]])


def test_the_draft_that_is_given_stays() -> None:
    draft, rows, _ = case(4, n_nodes=8)
    child = draft.child.copy()
    raise_to(draft, rows, 2)
    without_useless(draft, rows)
    np.testing.assert_array_equal(draft.child, child)
