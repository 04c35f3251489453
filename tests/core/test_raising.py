"""What a tree loses by losing splits: counted without a look at columns, and tree by tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua._core.refine.soft import leaf_counts, raising_changes
from reference import refine as twin


def case(seed: int) -> Any:
    """A random tree, sides of rows at all nodes, classes that have to do with them, weights."""
    rng = np.random.default_rng(seed)
    n_nodes, n_rows, n_classes = int(rng.integers(1, 12)), int(rng.integers(1, 60)), 3
    child = twin.random_child(rng, n_nodes)
    right = rng.random((n_rows, n_nodes)) < 0.5
    y = (right[:, 0] + (rng.random(n_rows) < 0.4)).astype(np.int32)
    units = rng.integers(1, 5, n_rows)
    bits = np.packbits(right, axis=1, bitorder="little")
    return child, bits, twin.Hard(right, y, units, n_classes)


def in_two(counting: Any, bits: Any, *known: Any) -> Any:
    """What is counted in the first third of the rows, and in the others."""
    third = len(bits) // 3
    return counting(bits, *known, 0, third) + counting(bits, *known, third, len(bits))


@pytest.mark.parametrize("seed", range(12))
def test_changes_are_those_of_trees_that_are_built(seed: int) -> None:
    child, bits, rows = case(seed)
    tree = twin.nested(child, 0)
    labels = rows.labels(tree)
    label = np.array([labels.get(leaf, 0) for leaf in range(len(child) + 1)], dtype=np.int32)
    changes = in_two(raising_changes, bits, child, 0, rows.y, rows.units, label)
    expected = [[rows.change(tree, node, kept) for kept in (0, 1)] for node in range(len(child))]
    np.testing.assert_array_equal(changes, expected)


@pytest.mark.parametrize("seed", range(12))
def test_counts_are_those_of_the_leaves(seed: int) -> None:
    child, bits, rows = case(seed)
    sums = in_two(leaf_counts, bits, child, 0, rows.y, rows.units, len(child) + 1, 3)
    expected = rows.counts(twin.nested(child, 0))
    for leaf, found in enumerate(sums):
        np.testing.assert_array_equal(found, expected.get(leaf, np.zeros(3)))
    assert sums.sum() == rows.units.sum()


def test_only_what_is_below_the_root_counts() -> None:
    """The root may be another node than the first, or a leaf."""
    child, bits, rows = case(3)
    inner = child[0][child[0] >= 0]
    assert len(inner), "this case must have a node below the first"
    root = int(inner[0])
    tree = twin.nested(child, root)
    labels = rows.labels(tree)
    label = np.array([labels.get(leaf, 0) for leaf in range(len(child) + 1)], dtype=np.int32)
    changes = in_two(raising_changes, bits, child, root, rows.y, rows.units, label)
    below = {part[0] for part in twin.splits(tree)}
    for node in range(len(child)):
        expected = [rows.change(tree, node, kept) for kept in (0, 1)] if node in below else [0, 0]
        assert changes[node].tolist() == expected
    sums = in_two(leaf_counts, bits, child, -2, rows.y, rows.units, len(child) + 1, 3)
    assert sums[1].tolist() == np.bincount(rows.y, rows.units, 3).tolist()
    assert sums.sum() == rows.units.sum()
