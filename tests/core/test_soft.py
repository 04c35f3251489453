"""Soft trees, compiled: values, gradients and steps against a twin in doubles, and walks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from obliqua._core.refine.soft import Descent, SoftTree, shuffle
from reference import refine as twin

FLOOR = 0.2
STRIDE = 8


@dataclass
class Scene:
    """A random tree over random rows, as arrays that compiled code takes."""

    rows: Any
    tree: Any
    n_classes: int
    how: twin.Loss

    @property
    def full(self) -> Any:
        return twin.full_rows(self.rows, self.tree[1].shape[1])

    @property
    def in_doubles(self) -> Any:
        """The tree for the twin, which has no classes that only fill up the width."""
        child, w, a = self.tree
        return child, w.astype(float), a[:, : self.n_classes].astype(float)

    def soft(self) -> SoftTree:
        return SoftTree(self.rows, self.tree, self.n_classes, FLOOR)

    def descent(self, size: int, limits: Any, shares: Any = None, n_blocks: int = 1) -> Descent:
        child, w, _ = self.tree
        n_nodes = len(child)
        if shares is None:
            shares = np.array([[0, 0], [n_nodes, n_nodes + 1]], dtype=np.int32)
        decay = np.zeros(n_nodes) if self.how.decay is None else self.how.decay
        pulled = np.ones(w.shape[1]) if self.how.pulled is None else self.how.pulled
        mask = None if self.how.mask is None else self.how.mask.astype(np.float32)
        return Descent(
            self.soft(),
            size,
            limits,
            decay.astype(np.float32),
            pulled.astype(np.float32),
            mask,
            shares,
            n_blocks,
        )

    def twins(self, order: Any = slice(None), beta: float | None = None) -> Any:
        """The twin's gradients."""
        how = self.how if beta is None else twin.Loss(**{**vars(self.how), "beta": beta})
        y, weight = self.rows[3][order], self.rows[4][order].astype(float)
        return twin.gradients(self.in_doubles, self.full[order], y, weight, how)


def scene(
    seed: int = 0,
    n_rows: int = 20,
    n_nodes: int = 5,
    n_classes: int = 2,
    odd: bool = False,
    weighted: bool = False,
    masked: bool = False,
    decay: bool = False,
    beta: float = 2.0,
    size: float = 0.5,
) -> Scene:
    rng = np.random.default_rng(seed)
    width = 16 if odd else 8
    n_numbers = int(rng.integers(2, 8))
    x = np.zeros((n_rows, STRIDE), dtype=np.float32)
    x[:, :n_numbers] = rng.normal(size=(n_rows, n_numbers))
    x[:, n_numbers] = 1.0
    more_ptr = more = None
    if odd:  # each row has some of the five further columns, one has none
        there = rng.random((n_rows, 5)) < 0.4
        there[0] = False
        more_ptr = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
        # Compiled code takes the place of the first entry, so there must be one.
        more = np.append(STRIDE + np.nonzero(there)[1], 0).astype(np.int32)
    y = rng.integers(0, n_classes, n_rows).astype(np.int32)
    weight = rng.uniform(0.2, 3.0, n_rows) if weighted else np.ones(n_rows)
    w = (size * rng.normal(size=(n_nodes, width))).astype(np.float32)
    w[:, n_numbers + 1 : STRIDE] = 0.0
    mask = None
    if masked:
        mask = (rng.random((n_nodes, width)) < 0.6).astype(float)
        w *= mask.astype(np.float32)
    a = np.full((n_nodes + 1, -(-n_classes // 8) * 8), -1e4, dtype=np.float32)
    a[:, :n_classes] = rng.normal(size=(n_nodes + 1, n_classes))
    pulled = np.ones(width)
    pulled[n_numbers] = 0.0
    how = twin.Loss(beta, FLOOR, rng.uniform(0.01, 0.2, n_nodes) if decay else None, pulled, mask)
    rows = (x, more_ptr, more, y, weight.astype(np.float32))
    return Scene(rows, (twin.random_child(rng, n_nodes), w, a), n_classes, how)


KINDS: list[dict[str, Any]] = [
    {},
    {"n_classes": 5, "n_nodes": 8},
    {"n_classes": 9, "n_nodes": 1},
    {"odd": True, "n_classes": 3},
    {"weighted": True},
    {"masked": True, "decay": True},
    {"decay": True},
    {"odd": True, "n_classes": 5, "weighted": True, "masked": True, "decay": True, "n_nodes": 7},
    {"beta": 8.0, "size": 1.0, "n_nodes": 12, "weighted": True},
]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(kind) or "plain")


def assert_close(found: Any, expected: Any, tolerance: float = 2e-5) -> None:
    scale = max(float(np.abs(expected).max()), 1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=tolerance * scale)


# --- the twin itself ----------------------------------------------------------------------


@each_kind
def test_the_twins_gradients_are_those_of_its_loss(kind: dict[str, Any]) -> None:
    made = scene(**{**kind, "n_rows": 6})
    made.how = twin.Loss(**{**vars(made.how), "mask": None})
    y, weight = made.rows[3], made.rows[4].astype(float)
    args = made.in_doubles, made.full, y, weight, made.how
    for found, expected in zip(twin.gradients(*args), twin.by_differences(*args), strict=True):
        assert np.abs(expected).max() > 1e-3
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-8)


# --- gradients and losses -----------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradients(kind: dict[str, Any], seed: int) -> None:
    made = scene(**kind, seed=seed)
    n_rows = len(made.rows[3])
    descent = made.descent(n_rows, (10, made.how.beta, 9.0, 0.1, 0.1))
    before = [array.copy() for array in made.tree]
    descent.quiet()
    descent.forget_loss()
    descent.run(np.arange(n_rows), 0, 1, 0, 0)
    of_w, of_a = descent.gradients()
    expected_w, expected_a = made.twins()
    assert_close(of_w, expected_w)
    assert_close(of_a[:, : made.n_classes], expected_a)
    assert not of_a[:, made.n_classes :].any()
    for array, old in zip(made.tree, before, strict=True):
        np.testing.assert_array_equal(array, old)
    rows = made.full, made.rows[3], made.rows[4].astype(float)
    how = twin.Loss(made.how.beta, FLOOR)
    assert descent.loss / n_rows == pytest.approx(twin.loss(made.in_doubles, *rows, how), rel=1e-5)


def test_little_of_a_row_is_not_followed() -> None:
    made = scene(seed=3, n_rows=60, n_nodes=9, beta=6.0, size=1.0, n_classes=3)
    y, weight = made.rows[3], made.rows[4].astype(float)
    everywhere = twin.Loss(6.0, FLOOR, rare=0.0)
    cut, whole = (
        twin.gradients(made.in_doubles, made.full, y, weight, how)[1]
        for how in (made.how, everywhere)
    )
    descent = made.descent(60, (1, 6.0, 6.0, 0.1, 0.1))
    descent.quiet()
    descent.run(np.arange(60), 0, 1, 0, 0)
    found = descent.gradients()[1][:, :3]
    # The cut can be told from no cut, and it is at the same place.
    assert np.abs(cut - whole).max() > 20 * np.abs(found - cut).max()
    assert_close(found, cut)


def test_a_batch_is_the_rows_of_the_order() -> None:
    made = scene(n_rows=30, n_classes=4, weighted=True)
    order = np.random.default_rng(0).permutation(30)
    descent = made.descent(12, (100, 3.0, 3.0, 0.1, 0.1))
    descent.quiet()
    for batch, rows in enumerate([order[:12], order[12:24], order[24:]]):  # the last has 6
        descent.run(order, batch, batch + 1, 0, 0)
        expected = made.twins(rows, beta=3.0)
        assert_close(descent.gradients()[0], expected[0])
        assert_close(descent.gradients()[1][:, :4], expected[1])


# --- steps --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[7]], ids=["plain", "everything"])
def test_steps(kind: dict[str, Any]) -> None:
    """Adam, rates that fall with a cosine, and gates that become sharper by a constant factor."""
    made = scene(**{**kind, "n_rows": 32})
    order = np.random.default_rng(1).permutation(32)
    n_steps, rates = 8, (0.02, 0.05)
    child, w, a = (array.copy() for array in made.in_doubles)
    adams = twin.Adam(w.shape), twin.Adam(a.shape)
    for step in range(6):
        rows = order[8 * (step % 4) : 8 * (step % 4) + 8]
        beta = 2.0 * (8.0 / 2.0) ** (step / n_steps)
        how = twin.Loss(**{**vars(made.how), "beta": beta})
        part = made.full[rows], made.rows[3][rows], made.rows[4][rows].astype(float)
        slopes = twin.gradients((child, w, a), *part, how)
        fall = 0.5 * (1.0 + np.cos(np.pi * step / n_steps))
        w = w + adams[0].step(slopes[0], rates[0] * fall)
        a = a + adams[1].step(slopes[1], rates[1] * fall)
    start = made.tree[1].copy()
    descent = made.descent(8, (n_steps, 2.0, 8.0, *rates))
    descent.run(order, 0, 4, 0, 0)
    descent.run(order, 0, 2, 4, 0)
    assert np.abs(made.tree[1] - start).max() > 0.05
    np.testing.assert_allclose(made.tree[1], w, atol=5e-5)
    np.testing.assert_allclose(made.tree[2][:, : made.n_classes], a, atol=1e-4)
    if made.how.mask is not None:
        assert not made.tree[1][made.how.mask == 0].any()


@pytest.mark.parametrize("n_blocks", [1, 4])
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_change_no_bit(n_threads: int, n_blocks: int) -> None:
    found = []
    for shares in ([0, 11], np.linspace(0, 11, n_threads + 1).astype(int)):
        made = scene(n_rows=200, n_nodes=11, n_classes=5, odd=True, weighted=True, decay=True)
        both = np.stack([shares, shares], axis=1).astype(np.int32)
        both[-1, 1] = 12
        descent = made.descent(64, (30, 2.0, 8.0, 0.02, 0.05), both, n_blocks)
        assert descent.n_threads == len(shares) - 1
        descent.forget_loss()
        order = np.arange(200)
        with ThreadPoolExecutor(n_threads) as pool:
            for number in range(5):
                jobs = [
                    pool.submit(descent.run, order, 0, 4, 4 * number, k)
                    for k in range(descent.n_threads)
                ]
                for job in jobs:
                    job.result()
        found.append((made.tree[1].tobytes(), made.tree[2].tobytes(), descent.loss))
    assert found[0] == found[1]


@each_kind
def test_blocks_have_the_same_gradients(kind: dict[str, Any]) -> None:
    """Up to rounding; also where a block is empty, or does not reach a node."""
    for n_rows, n_blocks in ((20, 3), (3, 4), (1, 2)):
        made = scene(**{**kind, "n_rows": n_rows}, seed=4)
        found = []
        for blocks in (1, n_blocks):
            descent = made.descent(n_rows, (10, made.how.beta, 9.0, 0.1, 0.1), None, blocks)
            descent.quiet()
            descent.forget_loss()
            # Twice: what a block has kept of a batch must not be seen in the next.
            for rows in (np.arange(n_rows), np.arange(n_rows)[::-1].copy()):
                descent.run(rows, 0, 1, 0, 0)
            found.append((*descent.gradients(), descent.loss))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)
        assert_close(found[1][0], made.twins()[0])


def test_there_must_be_a_block_for_each_thread() -> None:
    shares = np.array([[0, 0], [1, 1], [2, 2], [5, 6]], dtype=np.int32)
    with pytest.raises(ValueError, match="a block for each thread"):
        scene().descent(20, (9, 2.0, 8.0, 0.02, 0.05), shares, 2)


def test_a_thread_without_nodes_of_its_own() -> None:
    """More threads than nodes: some only have rows to look at."""
    found = []
    for shares in ([[0, 0], [1, 2]], [[0, 0], [0, 0], [1, 1], [1, 2]]):
        made = scene(n_rows=40, n_nodes=1)
        descent = made.descent(40, (9, 2.0, 8.0, 0.02, 0.05), np.array(shares, dtype=np.int32))
        with ThreadPoolExecutor(3) as pool:
            jobs = [
                pool.submit(descent.run, np.arange(40), 0, 1, 0, k)
                for k in range(descent.n_threads)
            ]
            for job in jobs:
                job.result()
        found.append((made.tree[1].tobytes(), made.tree[2].tobytes()))
    assert found[0] == found[1]


# --- the exponential ----------------------------------------------------------------------


def test_the_exponential() -> None:
    """It is seen in shares of classes, whose ratio is e^x, to a few units in the last place."""
    x = np.concatenate([np.linspace(-80.0, 0.0, 200_001), -np.logspace(-6, 1.9, 1000)])
    a = np.zeros((len(x), 8), dtype=np.float32)
    a[:, 1] = x
    rows = (np.ones((1, 8), np.float32), None, None, np.zeros(1, np.int32), np.ones(1, np.float32))
    # Leaves that no tree reaches have shares all the same.
    tree = (np.empty((0, 2), np.int32), np.empty((0, 8), np.float32), a)
    q = SoftTree(rows, tree, 2, FLOOR).q.astype(float)
    exact = np.exp(a[:, 1].astype(float))
    assert np.abs(q[:, 1] / q[:, 0] / exact - 1.0).max() < 4 * 2.0**-23
    assert not q[:, 2:].any()
    np.testing.assert_allclose(q.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.parametrize("z", [-1e6, -40.0, -6.5, -1.0, -1e-4, 0.0, 0.3, 2.0, 6.5, 31.0, 1e6])
def test_gates(z: float) -> None:
    """One node, one leaf that is sure and right and one that is sure and wrong: v is the gate."""
    x = np.zeros((1, 8), dtype=np.float32)
    x[0, 0] = 1.0
    w = np.zeros((1, 8), dtype=np.float32)
    w[0, 0] = z / 2.0
    a = np.full((2, 8), -1e4, dtype=np.float32)
    a[:, :2] = [[-60.0, 60.0], [60.0, -60.0]]
    rows = (x, None, None, np.zeros(1, np.int32), np.ones(1, np.float32))
    how = twin.Loss(2.0, FLOOR)
    made = Scene(rows, (np.array([[-1, -2]], np.int32), w, a), 2, how)
    descent = made.descent(1, (1, 2.0, 2.0, 0.1, 0.1))
    descent.quiet()
    descent.forget_loss()
    descent.run(np.arange(1), 0, 1, 0, 0)
    g = 1.0 / (1.0 + np.exp(-max(min(z, 30.0), -30.0)))
    assert descent.loss == pytest.approx(-np.log((g if g > 1e-3 else 0.0) + FLOOR), abs=1e-6)
    expected = -2.0 * g * (1.0 - g) / (g + FLOOR)
    assert descent.gradients()[0][0, 0] == pytest.approx(expected, rel=1e-4, abs=1e-6)


# --- hard gates ---------------------------------------------------------------------------


def test_walks_and_sides() -> None:
    made = scene(seed=5, n_rows=300, n_nodes=19, n_classes=3, odd=True, weighted=True)
    heights = made.full @ made.tree[1].astype(float).T
    assert np.abs(heights).min() > 1e-6, "no row may be on a hyperplane"
    leaf = np.full(300, -7, dtype=np.int32)
    sums = made.soft().walk(leaf, 0, 100) + made.soft().walk(leaf, 100, 300)
    expected = np.zeros((19, 3))
    for row, height in enumerate(heights):
        at = 0
        while at >= 0:
            weight = float(made.rows[4][row])
            expected[at] += weight * np.array([1.0, height[at], height[at] ** 2])
            at = int(made.tree[0][at, int(height[at] > 0)])
        assert leaf[row] == -1 - at
    np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-4)
    bits = np.full((300, 3), 255, dtype=np.uint8)
    made.soft().sides(bits, 10, 300)
    unpacked = np.unpackbits(bits, axis=1, bitorder="little")
    np.testing.assert_array_equal(unpacked[10:, :19], heights[10:] > 0)
    assert (bits[:10] == 255).all(), "only the rows that were asked for"


def test_a_single_leaf() -> None:
    x = np.ones((4, 8), dtype=np.float32)
    rows = (x, None, None, np.zeros(4, np.int32), np.ones(4, np.float32))
    tree = (np.empty((0, 2), np.int32), np.empty((0, 8), np.float32), np.zeros((1, 8), np.float32))
    leaf = np.full(4, -7, dtype=np.int32)
    sums = SoftTree(rows, tree, 2, FLOOR).walk(leaf, 0, 4)
    assert leaf.tolist() == [0, 0, 0, 0]
    assert sums.shape == (0, 3)


def test_shuffle() -> None:
    first, again, other = (np.arange(100) for _ in range(3))
    shuffle(first, 7)
    shuffle(again, 7)
    shuffle(other, 8)
    assert first.tolist() == again.tolist() != other.tolist()
    assert sorted(first.tolist()) == list(range(100)) != first.tolist()
    # Every place is about as likely: the first number ends anywhere.
    places = []
    for key in range(400):
        order = np.arange(4)
        shuffle(order, key)
        places.append(int(np.flatnonzero(order == 0)[0]))
    assert np.bincount(places, minlength=4).min() > 70
