"""Trees of many sizes from one descent."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.rules import Rules
from obliqua.refine import Recipe, Schedule, Watch
from obliqua.refine.nested import START, nested_trees
from obliqua.tree.tree import Tree

QUICK = Recipe(schedule=Schedule(passes=8.0), between=Schedule(passes=4.0, sharpness=(4.0, 8.0)))


def grower(problem: Problem, n_leaves: int, depth: int = 0) -> Tree:
    rules = Rules(max_leaf_nodes=n_leaves, best_first=True)
    return grow(problem, None, "gini", rules, depth=depth)


def wedge(n_rows: int = 600) -> Problem:
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    return encode(X, (np.minimum(X[:, 0] + X[:, 1], X[:, 1] + X[:, 2]) > 0).astype(int), 2)


def errors(tree: Tree) -> float:
    leaves = tree.stats[tree.is_leaf]
    return float((leaves.sum(axis=1) - leaves.max(axis=1)).sum())


def test_a_tree_for_each_size() -> None:
    problem = wedge()
    seen: list[int] = []

    def counted(part: Problem, n_leaves: int, depth: int) -> Tree:
        seen.append(n_leaves)
        return grower(part, n_leaves, depth)

    sizes = [8, 4, 3, 2]
    trees = nested_trees(problem, counted, sizes, QUICK)
    assert seen == [START * 8], "one tree is grown"
    for tree, size in zip(trees, sizes, strict=True):
        tree.validate()
        assert 1 < tree.n_leaves <= size
        assert tree.stats[0].sum() == problem.n_rows
        assert errors(tree) < errors(grower(problem, size))
    assert trees == nested_trees(problem, grower, sizes, QUICK, n_threads=2)
    assert trees != nested_trees(problem, grower, sizes, QUICK, key=1)


def test_a_strong_decay_is_another_tree() -> None:
    problem = wedge(200)
    usual, strong = (
        nested_trees(problem, grower, [2], QUICK.with_decay(decay))[0] for decay in (None, 1.0)
    )
    assert usual != strong
    assert nested_trees(problem, grower, [2], QUICK)[0] == usual


def test_few_columns() -> None:
    """Splits keep the columns that they were grown with."""
    narrow = Recipe(schedule=QUICK.schedule, between=QUICK.between, max_features=1)
    for tree in nested_trees(wedge(), grower, [6, 3], narrow):
        assert tree.n_node_features.max() == 1


@pytest.mark.parametrize("seconds", [0.0, None])
def test_rows_that_tell_nothing_and_no_time(seconds: float | None) -> None:
    problem = encode(np.ones((20, 2)), np.arange(20) % 2, 2)
    trees = nested_trees(problem, grower, [4, 2], QUICK, watch=Watch(seconds))
    assert [tree.n_leaves for tree in trees] == [1, 1]
    trees = nested_trees(wedge(), grower, [4, 2], QUICK, watch=Watch(0.0))
    assert [tree.n_leaves for tree in trees] == [4, 2]
