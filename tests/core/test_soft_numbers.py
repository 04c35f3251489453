"""Soft trees of numbers, compiled: loss, gradients and the functions of leaves, against a twin."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from core.test_soft import assert_close, scene
from obliqua._core.refine.soft import (
    Descent,
    SoftTree,
    leaves_below,
    solve_lines,
)
from reference import refine as twin

FLOOR = 0.05


@dataclass
class NumberScene:
    """A random tree over random rows, whose leaves say functions of some columns."""

    rows: Any
    child: Any
    w: Any
    numbers: Any  # y, u, lines, narrow: as compiled code takes them
    q: int  # columns in use, the constant included
    how: twin.Loss

    @property
    def n_outputs(self) -> int:
        return int(self.numbers[0].shape[1])

    @property
    def full(self) -> Any:
        return twin.full_rows(self.rows, self.w.shape[1])

    @property
    def weight(self) -> Any:
        return self.rows[4].astype(float)

    def lines(self, lines: Any = None) -> Any:
        """Functions in doubles: (leaves, outputs, columns in use)."""
        lines = self.numbers[2] if lines is None else lines
        shaped = lines.astype(float).reshape(len(lines), self.n_outputs, -1)
        assert not shaped[:, :, self.q :].any()
        return shaped[:, :, : self.q]

    @property
    def twin_tree(self) -> Any:
        return self.child, self.w.astype(float), self.lines()

    @property
    def twin_numbers(self) -> twin.Lines:
        y, u, _, narrow = self.numbers
        return twin.Lines(y.astype(float), u[:, : self.q].astype(float), float(narrow))

    def part(self, rows: Any) -> Any:
        """What the twin takes of some rows."""
        numbers = self.twin_numbers
        some = twin.Lines(numbers.y[rows], numbers.u[rows], numbers.narrow)
        return self.twin_tree, self.full[rows], some, self.weight[rows], self.how

    def soft(self) -> SoftTree:
        logits = np.zeros((len(self.child) + 1, 8), dtype=np.float32)
        return SoftTree(self.rows, (self.child, self.w, logits), 1, FLOOR, self.numbers)

    def descent(self, size: int, limits: Any, shares: Any = None, n_blocks: int = 1) -> Descent:
        n_nodes = len(self.child)
        if shares is None:
            shares = np.array([[0, 0], [n_nodes, n_nodes + 1]], dtype=np.int32)
        decay = np.zeros(n_nodes) if self.how.decay is None else self.how.decay
        mask = None if self.how.mask is None else self.how.mask.astype(np.float32)
        assert self.how.pulled is not None
        pull = decay.astype(np.float32), self.how.pulled.astype(np.float32)
        return Descent(self.soft(), size, limits, *pull, mask, shares, n_blocks)


def number_scene(
    seed: int = 0, n_outputs: int = 1, n_columns: int = 0, narrow: float = 0.8, **kind: Any
) -> NumberScene:
    """The scene of classes, with numbers in their place; `n_columns`: of functions."""
    made = scene(seed=seed, **kind)
    rng = np.random.default_rng(1000 + seed)
    n_rows, n_leaves = len(made.rows[3]), len(made.tree[0]) + 1
    q = n_columns + 1
    stride = -(-q // 8) * 8
    u = np.zeros((n_rows, stride), dtype=np.float32)
    u[:, :n_columns] = rng.normal(size=(n_rows, n_columns))
    u[:, n_columns] = 1.0
    lines = np.zeros((n_leaves, n_outputs, stride), dtype=np.float32)
    lines[:, :, :q] = rng.normal(size=(n_leaves, n_outputs, q)) * 0.7
    y = rng.normal(size=(n_rows, n_outputs)).astype(np.float32)
    y[0] += 30.0  # far out: hardly likely anywhere
    how = twin.Loss(**{**vars(made.how), "floor": FLOOR})
    rows = (*made.rows[:3], np.zeros(n_rows, dtype=np.int32), made.rows[4])
    numbers = (y, u, lines.reshape(n_leaves, -1), narrow)
    return NumberScene(rows, made.tree[0], made.tree[1], numbers, q, how)


KINDS: list[dict[str, Any]] = [
    {},
    {"n_outputs": 3, "n_nodes": 8},
    {"n_columns": 4, "weighted": True},
    {"n_columns": 9, "n_nodes": 1},
    {"n_columns": 7, "odd": True, "masked": True, "decay": True, "weighted": True},
    {"n_columns": 2, "n_outputs": 2, "beta": 8.0, "size": 1.0, "n_nodes": 12, "narrow": 4.0},
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")


# --- loss and gradients -------------------------------------------------------------------


@each_kind
def test_the_twins_gradient_is_that_of_its_loss(kind: dict[str, Any]) -> None:
    made = number_scene(**{**kind, "n_rows": 6})
    made.how = twin.Loss(**{**vars(made.how), "mask": None})
    found, expected = (
        of(*made.part(slice(None))) for of in (twin.number_gradient, twin.number_differences)
    )
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


@each_kind
@pytest.mark.parametrize("n_blocks", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_loss_and_gradient(kind: dict[str, Any], seed: int, n_blocks: int) -> None:
    made = number_scene(**kind, seed=seed)
    n_rows = len(made.rows[3])
    descent = made.descent(n_rows, (10, made.how.beta, 9.0, 0.1, 0.1), None, n_blocks)
    before = made.w.copy(), made.numbers[2].copy()
    descent.quiet()
    descent.forget_loss()
    descent.run(np.arange(n_rows), 0, 1, 0, 0)
    assert_close(descent.gradients()[0], twin.number_gradient(*made.part(slice(None))))
    how = twin.Loss(made.how.beta, FLOOR)
    tree, X, numbers, weight, _ = made.part(slice(None))
    expected = twin.number_loss(tree, X, numbers, weight, how)
    assert descent.loss / n_rows == pytest.approx(expected, rel=1e-5)
    np.testing.assert_array_equal(made.w, before[0])
    np.testing.assert_array_equal(made.numbers[2], before[1])


@each_kind
@pytest.mark.parametrize("n_blocks", [1, 3])
def test_functions_are_fitted_to_what_leaves_have_had(kind: dict[str, Any], n_blocks: int) -> None:
    """Several batches, each row with its share; then the sums begin anew."""
    made = number_scene(**{**kind, "n_rows": 60}, seed=3)
    order = np.random.default_rng(0).permutation(60)
    limits = (100, made.how.beta, made.how.beta, 0.1, 0.1)
    descent = made.descent(25, limits, None, n_blocks)
    descent.quiet()
    for penalty in (0.0, 2.0):
        shares = twin.leaf_shares(*made.part(slice(None)))
        assert (shares == 0.0).any()
        old = made.lines()
        descent.run(order, 0, 3, 0, 0)
        descent.move_lines(made.q, penalty)
        for leaf, line in enumerate(made.lines()):
            if shares[:, leaf].sum() <= 1e-6:
                np.testing.assert_array_equal(line, old[leaf])
                continue
            if penalty == 0.0 and (shares[:, leaf] > 0).sum() < 2 * made.q:
                continue  # hardly told by its rows
            expected, _ = twin.solved_line(made.twin_numbers, shares[:, leaf], penalty)
            np.testing.assert_allclose(line, expected, rtol=2e-3, atol=2e-3)


def test_a_row_of_which_a_leaf_has_little_is_left_out() -> None:
    made = number_scene(n_rows=60, n_nodes=9, beta=6.0, size=1.0, seed=4)
    descent = made.descent(60, (1, 6.0, 6.0, 0.1, 0.1))
    descent.quiet()
    shares = twin.leaf_shares(*made.part(slice(None)))
    descent.run(np.arange(60), 0, 1, 0, 0)
    descent.move_lines(1, 0.0)
    y = made.twin_numbers.y[:, 0]
    there = shares.sum(axis=0) > 0
    means = (shares * y[:, None]).sum(axis=0)[there] / shares.sum(axis=0)[there]
    np.testing.assert_allclose(made.lines()[there, 0, 0], means, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_threads_change_no_bit(n_blocks: int) -> None:
    found = []
    for shares in ([0, 11], [0, 4, 11], [0, 3, 7, 11]):
        made = number_scene(
            n_rows=200, n_nodes=11, n_columns=5, odd=True, weighted=True, decay=True
        )
        both = np.stack([shares, shares], axis=1).astype(np.int32)
        both[-1, 1] = 12
        descent = made.descent(64, (30, 2.0, 8.0, 0.02, 0.05), both, n_blocks)
        descent.forget_loss()
        with ThreadPoolExecutor(3) as pool:
            for number in range(5):
                jobs = [
                    pool.submit(descent.run, np.arange(200), 0, 4, 4 * number, k)
                    for k in range(descent.n_threads)
                ]
                for job in jobs:
                    job.result()
                descent.move_lines(made.q, 1.0)
        found.append((made.w.tobytes(), made.numbers[2].tobytes(), descent.loss))
    assert found[0] == found[1] == found[2]


# --- sums and functions of hard trees ------------------------------------------------------


@each_kind
@pytest.mark.parametrize("penalty", [0.0, 1.5])
def test_sums_and_functions(kind: dict[str, Any], penalty: float) -> None:
    made = number_scene(**{**kind, "n_rows": 90}, seed=5)
    rng = np.random.default_rng(0)
    n_leaves = len(made.child) + 1
    leaf = rng.integers(0, max(n_leaves - 1, 1), 90).astype(np.int32)  # the last has no row
    soft = made.soft()
    sums = soft.line_sums(leaf, 0, 40) + soft.line_sums(leaf, 40, 90)
    lines = np.full((n_leaves, made.numbers[2].shape[1]), 0.0, dtype=np.float32)
    lines.reshape(n_leaves, made.n_outputs, -1)[:, :, : made.q] = 7.0
    errors = solve_lines(sums, lines, made.n_outputs, made.q, penalty)
    for k, line in enumerate(made.lines(lines)):
        weight = np.where(leaf == k, made.weight, 0.0)
        if not weight.any():
            assert (line == 7.0).all(), "without rows it stays as it is"
            assert errors[k] == 0.0
            continue
        if penalty == 0.0 and (weight > 0).sum() < made.q + 3:
            continue
        expected, error = twin.solved_line(made.twin_numbers, weight, penalty)
        np.testing.assert_allclose(line, expected, rtol=1e-5, atol=1e-5)
        assert errors[k] == pytest.approx(error, rel=1e-6, abs=1e-6)


@each_kind
@pytest.mark.parametrize("seed", range(2))
def test_leaves_and_changes_below_a_root(kind: dict[str, Any], seed: int) -> None:
    made = number_scene(**{**kind, "n_rows": 40}, seed=6 + seed)
    n_nodes = len(made.child)
    right = made.full @ made.w.astype(float).T > 0
    bits = np.zeros((40, -(-n_nodes // 8)), dtype=np.uint8)
    made.soft().sides(bits, 0, 40)
    hard = twin.Hard(right, np.zeros(40), np.ones(40), 1)
    rng = np.random.default_rng(seed)
    low = rng.normal(-1.0, 0.3, n_nodes + 1).astype(np.float32)
    high = rng.normal(1.0, 0.3, n_nodes + 1).astype(np.float32)
    numbers, lines = made.twin_numbers, made.lines()
    said = np.array([numbers.said(lines, row) for row in range(40)])
    within = np.clip(said, low[:, None], high[:, None])
    assert (said != within).any(), "limits matter"
    costs = made.weight[:, None] * ((within - numbers.y[:, None]) ** 2).sum(axis=2)
    for root in {0, int(made.child.max()), -1 - n_nodes // 2}:
        tree = twin.nested(made.child, root)
        leaf = np.full(40, -9, dtype=np.int32)
        leaves_below(bits, made.child, root, leaf, 3, 40)
        assert leaf[3:].tolist() == [hard.leaf(tree, row) for row in range(3, 40)]
        assert leaf[:3].tolist() == [-9, -9, -9]
        known = (bits, made.child, root, made.numbers[2], low, high)
        found = made.soft().raising_costs(*known, 0, 25)
        found += made.soft().raising_costs(*known, 25, 40)
        expected = np.zeros((n_nodes, 2))
        for part in twin.splits(tree):
            for side in (0, 1):
                other = twin.replaced(tree, {part[0]: part[1 + side]})
                expected[part[0], side] = sum(
                    costs[row, hard.leaf(other, row)] - costs[row, hard.leaf(tree, row)]
                    for row in range(40)
                )
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
