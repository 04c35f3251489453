"""Rows with a planted tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.datasets import make_planted_tree


@pytest.mark.parametrize(("depth", "n_classes"), [(1, 2), (3, 2), (4, 5)])
def test_the_tree_gives_the_classes(depth: int, n_classes: int) -> None:
    made = make_planted_tree(3000, depth, 6, n_classes=n_classes, random_state=depth)
    tree = made.tree
    tree.validate()
    assert (tree.n_leaves, tree.depth) == (2**depth, depth)
    assert made.data.shape == (3000, 6)
    leaf = tree.apply(made.data)
    np.testing.assert_array_equal(tree.leaf_label[leaf], made.target)
    # All leaves are reached, and none has nearly all rows.
    share = np.bincount(leaf, minlength=tree.n_nodes)[tree.is_leaf] / 3000
    assert 0.0 < share.min() <= share.max() < 0.8
    assert (tree.n_node_features[~tree.is_leaf] == 6).all()
    for node in np.flatnonzero(~tree.is_leaf):
        kids = tree.first_child[node] + np.arange(2)
        if tree.is_leaf[kids].all():
            assert tree.leaf_label[kids[0]] != tree.leaf_label[kids[1]]


def test_the_seed_decides_about_everything() -> None:
    once, again, other = (make_planted_tree(50, 2, random_state=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(once.data, again.data)
    assert once.tree == again.tree
    assert once.tree != other.tree
    X, y = make_planted_tree(50, 2, random_state=3, return_X_y=True)
    np.testing.assert_array_equal(X, once.data)
    np.testing.assert_array_equal(y, once.target)
    assert make_planted_tree(5, 1).data.shape == (5, 10)


@pytest.mark.parametrize(
    "wrong",
    [{"n_rows": 0}, {"depth": 0}, {"n_features": 1.5}, {"n_classes": 1}, {"random_state": "x"}],
)
def test_numbers_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        make_planted_tree(**{"n_rows": 10, "depth": 1, "random_state": 0, **wrong})
