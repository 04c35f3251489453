"""What leaves say of the classes: drawn to the nodes above, as much as held-out rows want it."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.refine.choice import STRENGTHS, best_strength, smoothed
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree
from problems import gaussians


def small_tree() -> Tree:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ["left", "right"])
    builder.add_split("right", {0: 1.0}, 1.0, ["middle", "far"])
    builder.set_leaf("left", [6.0, 0.0], 6)
    builder.set_leaf("middle", [1.0, 1.0], 2)
    builder.set_leaf("far", [0.0, 4.0], 4)
    return builder.build()


def test_by_hand() -> None:
    tree = smoothed(small_tree(), 2.0)
    root = (np.array([7.0, 5.0]) + 2.0 * 0.5) / 14.0
    right = (np.array([1.0, 5.0]) + 2.0 * root) / 8.0
    left = (np.array([6.0, 0.0]) + 2.0 * root) / 8.0
    middle = (np.array([1.0, 1.0]) + 2.0 * right) / 4.0
    far = (np.array([0.0, 4.0]) + 2.0 * right) / 6.0
    np.testing.assert_allclose(tree.stats[1], 6.0 * left)
    np.testing.assert_allclose(tree.stats[3], 2.0 * middle)
    np.testing.assert_allclose(tree.stats[4], 4.0 * far)
    np.testing.assert_allclose(tree.stats[2], tree.stats[3] + tree.stats[4])
    np.testing.assert_allclose(tree.stats[0], tree.stats[1] + tree.stats[2])


@pytest.mark.parametrize("strength", STRENGTHS)
def test_weights_and_sums_stay(strength: float) -> None:
    case = gaussians(200, 3, 4)
    before = grow(encode(case.X, case.y, 4), None, "gini", Rules(max_depth=4))
    after = smoothed(before, strength)
    after.validate()
    np.testing.assert_allclose(after.stats.sum(axis=1), before.stats.sum(axis=1))
    np.testing.assert_array_equal(after.n_samples, before.n_samples)
    leaves = after.is_leaf
    assert (after.stats >= 0).all()
    if strength == 0.0:
        assert after is before
    else:
        assert (after.stats[leaves] > 0).all()
        sure = [tree.proportion[leaves].max(axis=1).mean() for tree in (after, before)]
        assert sure[0] < sure[1]


def test_a_unit_of_weight_counts_as_its_rows() -> None:
    """A tree whose weights are tenths of rows is smoothed as one whose weights are rows."""
    tree = small_tree()
    tenth = smoothed(type(tree)(**{**tree.to_arrays(), "stats": tree.stats * 0.1}), 2.0, 10.0)
    np.testing.assert_allclose(tenth.proportion, smoothed(tree, 2.0).proportion)


def parts(problem: Problem) -> list[tuple[Problem, Problem]]:
    half = problem.n_rows // 2
    first, second = (problem.take(rows) for rows in (slice(half), slice(half, None)))
    return [(first, second), (second, first)]


def full_grown(problem: Problem) -> Tree:
    return grow(problem, None, "gini")


def stump(problem: Problem) -> Tree:
    return grow(problem, None, "gini", Rules(max_depth=1))


def test_strength() -> None:
    """Pure leaves of noise want a strong hand, large leaves that are right want none."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    loud = parts(encode(X, noise, 2))
    assert best_strength(full_grown, loud) == max(STRENGTHS)
    clear = parts(encode(np.sign(X), (X[:, 0] > 0).astype(int), 2))
    assert best_strength(stump, clear) == 0.0


def test_strength_is_the_one_of_the_least_log_loss() -> None:
    case = gaussians(300, 3, 3)
    weight = 1 + np.arange(300) % 3
    divided = parts(encode(case.X, case.y, 3, sample_weight=weight))
    losses = []
    for strength in STRENGTHS:
        total = 0.0
        for train, test in divided:
            tree = smoothed(full_grown(train), strength)
            shares = tree.proportion[tree.apply(test.Z), test.y]
            assert test.weights is not None
            total -= float(test.weights @ np.log(np.maximum(shares, 1e-9)))
        losses.append(total)
    assert best_strength(full_grown, divided) == STRENGTHS[int(np.argmin(losses))]
    assert int(np.argmin(losses)) > 0, "this data wants some"
