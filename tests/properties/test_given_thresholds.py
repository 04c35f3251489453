"""What the engine makes of thresholds that a proposer gives, and what it shows of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import encode
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Directions, NodeView, Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.quest import Quest
from obliqua.prune.division import folds
from obliqua.tree.tree import Tree


@pytest.mark.parametrize("zero_gain", [False, True])
def test_thresholds_beyond_all_rows_make_a_leaf(zero_gain):
    X = np.array([[0.0], [1.0], [2.0], [3.0]])

    def outside(node: NodeView) -> Directions:
        return Directions([[1.0], [1.0], [1.0]], [-1.0, 3.0, np.nan])

    problem = encode(X, np.array([0, 1, 0, 1], dtype=np.int32), 2)
    tree = grow(problem, Proposals(outside, axis_parallel=False), rules=Rules(zero_gain=zero_gain))
    assert tree.n_nodes == 1


def test_the_measure_of_a_split_has_no_veto():
    """A criterion that can be negative gives the same tree; a function that says no is heard."""
    rng = np.random.default_rng(0)
    problem = encode(rng.normal(size=(400, 3)), rng.integers(0, 4, 400).astype(np.int32), 4)

    def grown(criterion: Any, zero_gain: bool = True) -> Tree:
        proposals = Proposals(Quest(), axis_parallel=False)
        return grow(problem, proposals, criterion, Rules(zero_gain=zero_gain))

    usual, other = grown("twoing"), grown("sum_variances")
    np.testing.assert_array_equal(usual.stats, other.stats)
    np.testing.assert_array_equal(usual.threshold, other.threshold)
    assert other.gain[~other.is_leaf].min() == 0.0
    assert grown("sum_variances", zero_gain=False).n_leaves < other.n_leaves / 4
    assert grown(lambda left, right: -1.0).n_leaves == 1


@pytest.mark.parametrize("by_class", [None, [1.0, 1.0], [0.3, 7.0]])
def test_rows_count_without_the_weights_of_their_classes(by_class):
    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    seen: list[np.ndarray] = []

    def look(node: NodeView) -> None:
        seen.append(node.row_weight.copy())

    for weights in (None, [1.0, 2.0, 3.0, 0.0, 5.0, 6.0], [0.1, 0.2, 0.3, 0.0, 0.5, 0.6]):
        grow(encode(X, y, 2, weights, by_class), Proposals(look, axis_parallel=False))
    assert seen[0].tolist() == [1.0] * 6
    assert seen[1].tolist() == [1.0, 2.0, 3.0, 5.0, 6.0]
    np.testing.assert_allclose(seen[2], np.array([1, 2, 3, 5, 6]) * 5 / 17)


def test_parts_of_a_row_count_as_parts():
    """Where a row of weight 8 is divided between folds, so is what it counts in tests."""
    X, y = np.arange(4.0)[:, None], np.array([0, 1, 0, 1], dtype=np.int32)
    problem = encode(X, y, 2, [8.0, 2.0, 6.0, 4.0], [1.0, 0.25])
    divided, number = folds(problem, 3, 0)
    assert divided.n_rows > 4
    assert divided.row_weights is not None
    assert np.bincount(divided.Z[:, 0].astype(int), divided.row_weights).tolist() == [8, 2, 6, 4]
    part = divided.take(number == 0)
    assert part.row_weights is not None
    np.testing.assert_array_equal(part.row_weights, divided.row_weights[number == 0])
    np.testing.assert_array_equal(part.row_weights, part.row_counts * 2)
