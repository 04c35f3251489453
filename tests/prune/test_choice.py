"""The choice between trees: fewest errors, then fewest leaves, then the first."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua import Tree, TreeBuilder
from obliqua.data.problem import encode
from obliqua.prune import choose_tree


def stump(threshold: float, twice: bool = False) -> Tree:
    """Class 0 up to a threshold; `twice` divides the left side for nothing."""
    builder = TreeBuilder(n_features=1, n_stats=2)
    builder.add_split("root", {0: 1.0}, threshold, ("low", "high"))
    if twice:
        builder.add_split("low", {0: 1.0}, threshold - 100.0, ("far", "near"))
        builder.set_leaf("far", [2, 1])
        builder.set_leaf("near", [4, 0])
    else:
        builder.set_leaf("low", [4, 0])
    builder.set_leaf("high", [0, 4])
    return builder.build()


X = np.arange(8.0)[:, None]
Y = np.array([0, 0, 0, 1, 1, 1, 1, 1], dtype=np.int32)


def test_the_fewest_errors_win() -> None:
    number, errors = choose_tree([stump(0.5), stump(2.5), stump(4.5)], encode(X, Y, 2))
    assert number == 1
    assert errors.tolist() == [0.25, 0.0, 0.25]


def test_of_equal_ones_the_smallest_then_the_first() -> None:
    trees = [stump(0.5), stump(2.5, twice=True), stump(2.5), stump(2.6)]
    assert choose_tree(trees, encode(X, Y, 2))[0] == 2


def test_a_smaller_tree_with_more_errors_loses() -> None:
    assert choose_tree([stump(1.5), stump(2.5, twice=True)], encode(X, Y, 2))[0] == 1


def test_errors_are_weights() -> None:
    weights = np.array([1.0, 1.0, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    trees = [stump(1.5), stump(4.5)]
    assert choose_tree(trees, encode(X, Y, 2))[0] == 0
    number, errors = choose_tree(trees, encode(X, Y, 2, sample_weight=weights))
    assert number == 1
    assert errors == pytest.approx([9 / 16, 2 / 16])
