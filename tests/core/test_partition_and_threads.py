"""The same data give the same tree: whatever the threads, the order of rows and of growth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

import problems
from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    engine_split,
    grow_tree,
    grow_twin,
    problem_of,
    twin_split,
)
from obliqua.grow import Proposals
from problems import Case, examples

LARGE = {
    "gaussians": problems.gaussians(20_000, n_columns=6),
    "float32": problems.gaussians(12_000, n_columns=4, dtype=np.float32),
    "integers": problems.integers(20_000, n_columns=5),
    "outliers": problems.outliers(12_000),
    "letter-like": problems.letter_like(6_000),
    "weighted": problems.weighted(problems.gaussians(8_000), "tenths"),
}


def assert_identical(one: Any, other: Any) -> None:
    """Equal in every array, those that say where a split comes from included."""
    assert_same_substance(one, other)
    assert one == other


@pytest.mark.parametrize("criterion", ["gini", "twoing", "gain_ratio"])
@pytest.mark.parametrize("name", LARGE)
def test_threads_do_not_change_the_tree(name: str, criterion: str) -> None:
    problem = problem_of(LARGE[name])
    tree = grow_tree(problem, criterion, n_threads=1)
    for n_threads in (2, 3):
        assert_identical(tree, grow_tree(problem, criterion, n_threads=n_threads))
    assert_rows_reach_their_leaves(tree, problem)
    assert tree.n_nodes > 1000


@pytest.mark.parametrize("name", LARGE)
def test_orders_of_growth_give_the_same_tree(name: str) -> None:
    problem = problem_of(LARGE[name])
    tree = grow_tree(problem, n_threads=2)
    for n_threads in (1, 3):
        best = grow_tree(problem, "gini", {"best_first": True}, n_threads=n_threads)
        assert_identical(tree, best)


@pytest.mark.parametrize("name", LARGE)
def test_shuffled_rows_give_the_same_tree(name: str) -> None:
    case = LARGE[name]
    tree = grow_tree(case)
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(case.y))
        assert_identical(tree, grow_tree(case.take(order), n_threads=1 + seed))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_with_a_limit_on_leaves(n_threads: int) -> None:
    problem = problem_of(LARGE["integers"])
    rules = {"best_first": True, "max_leaf_nodes": 77, "min_samples_leaf": 3}
    tree = grow_tree(problem, "twoing", rules, n_threads=n_threads)
    assert tree.n_leaves == 77
    assert_identical(tree, grow_tree(problem, "twoing", rules))


@examples(40)
@given(case=problems.cases(max_rows=40), rules=problems.rules())
def test_threads_on_small_problems(case: Case, rules: dict[str, Any]) -> None:
    problem = problem_of(case)
    tree = grow_tree(problem, "entropy", rules, n_threads=3)
    assert_identical(tree, grow_tree(problem, "entropy", rules, n_threads=1))
    assert_equals_twin(tree, grow_twin(problem, "entropy", rules))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_over_directions(n_threads: int) -> None:
    case = problems.gaussians(6000, n_columns=4, seed=3)
    problem = problem_of(case)
    normals = np.random.default_rng(3).normal(size=(7, 4))
    normals[5] = normals[2]  # a tie between directions that different threads may hold
    found = engine_split(problem, normals, "twoing", n_threads=n_threads)
    assert found == twin_split(problem, normals, "twoing")


def test_python_proposers_see_one_node_at_a_time() -> None:
    inside: list[int] = []

    def propose(node: Any) -> Any:
        assert not inside
        inside.append(1)
        normals = np.eye(node.n_features)
        inside.pop()
        return normals

    case = problems.integers(2000, seed=1)
    tree = grow_tree(case, proposer=Proposals(propose, axis_parallel=False), n_threads=3)
    assert_same_substance(tree, grow_tree(case))


def test_the_input_is_left_alone() -> None:
    case = problems.weighted(problems.integers(500), "integers")
    before = case.X.copy(), case.y.copy(), case.sample_weight.copy()
    grow_tree(case, n_threads=2)
    for array, copy in zip((case.X, case.y, case.sample_weight), before, strict=True):
        np.testing.assert_array_equal(array, copy)
