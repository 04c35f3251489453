"""Subtree raising where numbers are learnt, against trees that are built one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import encode_numbers
from obliqua.data.table import read_table
from obliqua.refine.draft import Draft
from obliqua.refine.rows import SoftRows, soft_rows
from obliqua.refine.shrink import LEAF, _RaisedOfNumbers, raise_to, without_useless
from reference import refine as twin
from refine.test_shrink import left, whole

SEEDS = range(8)


def case(seed: int, n_nodes: int | None = None) -> tuple[Draft, SoftRows, twin.HardNumbers]:
    """A random draft over rows of all kinds of columns; constants, functions, two outputs."""
    rng = np.random.default_rng(seed)
    frame, steps = twin.mixed_frame(int(rng.integers(40, 80)), seed)
    y = steps[:, None] + rng.normal(size=(len(steps), 1 + seed % 2))
    weight = rng.integers(1, 4, len(y)) if seed % 3 else None
    penalty = 2.0 if seed % 4 == 0 else None
    problem = encode_numbers(read_table(frame), y, sample_weight=weight)
    rows = soft_rows(problem, penalty=penalty)
    n_nodes = int(rng.integers(1, 12)) if n_nodes is None else n_nodes
    normals = rng.normal(size=(n_nodes, rows.columns.width)).astype(np.float32)
    normals[:, rows.columns.constant] *= 0.3
    full = twin.full_rows(rows.arrays, rows.columns.width)
    right = full @ normals.T.astype(float) > 0
    numbers = rows.numbers
    assert numbers is not None
    lines = twin.Lines(
        numbers.y.astype(float), numbers.u[:, : numbers.n_columns].astype(float), 1.0
    )
    hard = twin.HardNumbers(
        right, np.zeros(rows.n_rows), rows.weight.astype(float), 1, lines, numbers.penalty
    )
    return Draft(twin.random_child(rng, n_nodes), normals), rows, hard


def raised(draft: Draft, rows: SoftRows) -> _RaisedOfNumbers:
    smaller = _RaisedOfNumbers(draft, rows)
    smaller.drop_empty()
    return smaller


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_are_those_of_trees_that_are_built(seed: int) -> None:
    draft, rows, hard = case(seed)
    smaller = raised(draft, rows)
    tree = twin.nested(smaller.child, smaller.root)
    assert twin.shape(tree) == twin.shape(hard.without_empty(whole(draft)))
    parts = {part[0]: part for part in twin.splits(tree)}
    for excess in (1, 3, 100):
        options = smaller._options(excess)
        assert len(options) == 3 * len(parts)
        for option in options:
            part = parts[option.node]
            kept = 1 if option.kept == LEAF else twin.n_leaves(part[1 + option.kept])
            assert option.saved == twin.n_leaves(part) - kept
            change = hard.change(tree, option.node, option.kept)
            expected = change / min(option.saved, excess)
            assert option.cost == pytest.approx(expected, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("most", [1, 2, 4, 20])
def test_raise_to(seed: int, most: int) -> None:
    draft, rows, hard = case(seed)
    smaller = raise_to(draft, rows, most)
    expected = hard.raised(whole(draft), most, list(range(draft.n_nodes)))
    assert left(smaller, draft) == twin.shape(expected)
    assert smaller.n_leaves <= most
    assert errors(smaller, rows) == pytest.approx(hard.least_errors(expected), rel=1e-5, abs=1e-5)


def errors(draft: Draft, rows: SoftRows) -> float:
    found = _RaisedOfNumbers(draft, rows) if draft.n_nodes else None
    if found is None:
        numbers, soft = rows.numbers, draft.soft(rows)
        assert numbers is not None
        leaf: Any = np.zeros(rows.n_rows, dtype=np.int32)
        return float(numbers.fitted(soft.line_sums(leaf, 0, rows.n_rows))[1].sum())
    return float(found.errors[found.root])


def test_splits_that_save_nothing_go() -> None:
    """Two sides with the same numbers: as one leaf they are no worse."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    problem = encode_numbers(X, np.where(X[:, 0] > 0, 3.0, 1.0))
    rows = soft_rows(problem)
    normals = np.zeros((3, rows.columns.width), dtype=np.float32)
    normals[0, 0] = normals[1, 1] = normals[2, 1] = 1.0
    normals[0, rows.columns.constant] = rows.columns.mean[0] / rows.columns.sd[0]
    draft = Draft(np.array([[1, 2], [-1, -2], [-3, -4]], dtype=np.int32), normals)
    smaller = without_useless(draft, rows)
    assert smaller.n_leaves == 2
    np.testing.assert_array_equal(smaller.normals, normals[:1])


def test_rows_beyond_the_most_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    draft, rows, hard = case(3, n_nodes=7)
    monkeypatch.setattr("obliqua.refine.shrink.MOST_ROWS", 25)
    part = twin.HardNumbers(
        hard.right[:25],
        hard.y[:25],
        hard.units[:25],
        1,
        twin.Lines(hard.numbers.y[:25], hard.numbers.u[:25], 1.0),
        hard.penalty,
    )
    expected = part.raised(whole(draft), 3, list(range(7)))
    assert left(raise_to(draft, rows, 3), draft) == twin.shape(expected)
