"""The same data give the same tree: whatever the threads, the order of rows and of growth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import problems
from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    engine_split,
    grow_tree,
    grow_twin,
    parts_split,
    problem_of,
    threads_everywhere,
    twin_split,
)
from obliqua.engine.passes import Zoom
from obliqua.engine.proposals import Proposals
from problems import Case, examples
from reference.criteria import CODES
from reference.search import Limits

NAMES = tuple(CODES)

# large enough for the engine to start threads of itself
LARGE = {
    "gaussians": problems.gaussians(24_000, n_columns=5),
    "float32": problems.gaussians(21_000, n_columns=3, dtype=np.float32),
    "integers": problems.integers(24_000, n_columns=5),
    "outliers": problems.outliers(21_000),
    "letter-like": problems.letter_like(20_000),
    "weighted": problems.weighted(problems.gaussians(20_000, n_columns=3), "tenths"),
}


def assert_identical(one: Any, other: Any) -> None:
    """Equal in every array, those that say where a split comes from included."""
    assert_same_substance(one, other)
    assert one == other


@pytest.mark.parametrize("name", LARGE)
def test_threads_do_not_change_the_tree(name: str) -> None:
    criterion = "gini" if name in ("gaussians", "integers", "weighted") else "twoing"
    problem = problem_of(LARGE[name])
    tree = grow_tree(problem, criterion, n_threads=1)
    for n_threads in (2, 3):
        assert_identical(tree, grow_tree(problem, criterion, n_threads=n_threads))
    assert_rows_reach_their_leaves(tree, problem)
    assert tree.n_nodes > 500


@pytest.mark.parametrize("criterion", NAMES)
def test_threads_with_every_criterion(criterion: str) -> None:
    problem = problem_of(problems.integers(1000))
    rules = {"max_depth": 8, "zero_gain": True}
    tree = grow_tree(problem, criterion, rules)
    with threads_everywhere():
        for n_threads in (2, 3):
            assert_identical(tree, grow_tree(problem, criterion, rules, n_threads=n_threads))


@pytest.mark.parametrize("name", ["float32", "outliers", "weighted"])
def test_orders_of_growth_give_the_same_tree(name: str) -> None:
    problem = problem_of(LARGE[name])
    tree = grow_tree(problem, n_threads=2)
    for n_threads in (1, 2):
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
    with threads_everywhere():
        tree = grow_tree(problem, "entropy", rules, n_threads=3)
    assert_identical(tree, grow_tree(problem, "entropy", rules, n_threads=1))
    assert_equals_twin(tree, grow_twin(problem, "entropy", rules))


@examples(40)
@given(problems.searches(), problems.rules())
def test_threads_with_proposers(pair: tuple[Case, Any], rules: dict[str, Any]) -> None:
    case, normals = pair
    problem = problem_of(case)
    proposer = Proposals(lambda node: normals, axis_parallel=True)
    tree = grow_tree(problem, "gini", rules, proposer)
    with threads_everywhere():
        assert_identical(tree, grow_tree(problem, "gini", rules, proposer, n_threads=2))


@pytest.mark.parametrize("most", [2, 3, 7, 40])
def test_nodes_are_divided_ahead_of_need(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By workers of their own; the tree is the same, and hardly anything is done in vain."""
    import obliqua.engine.grow as module

    problem = problem_of(problems.gaussians(3_000, n_columns=4))
    rules = {"best_first": True, "max_leaf_nodes": most}
    one = grow_tree(problem, "gini", rules, n_threads=1)
    divided: list[bool] = []
    divide = module._Growth.divide

    def counted(self: Any, node: Any) -> Any:
        divided.append(self.pool is None)
        return divide(self, node)

    monkeypatch.setattr(module._Growth, "divide", counted)
    with threads_everywhere():
        assert_identical(one, grow_tree(problem, "gini", rules, n_threads=3))
    assert len(divided) >= most - 1
    assert len(divided) <= (most - 1) + 12
    # The root, and a last node, are divided by all threads together.
    assert any(divided) == (most > 3)


def test_a_node_that_is_larger_than_all_others_is_divided_by_all_threads() -> None:
    """One row after the other is split off: there is never a second node that is worth it."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(2_000, 1)), axis=0)
    y = np.concatenate([np.arange(40) % 2, np.full(1_960, 1)])
    problem = problem_of(Case(X, y, 2))
    rules = {"best_first": True, "max_leaf_nodes": 30}
    one = grow_tree(problem, "gini", rules, n_threads=1)
    with threads_everywhere():
        assert_identical(one, grow_tree(problem, "gini", rules, n_threads=3))


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_threads_over_directions(n_threads: int) -> None:
    case = problems.gaussians(6000, n_columns=4, seed=3)
    problem = problem_of(case)
    normals = np.random.default_rng(3).normal(size=(7, 4))
    normals[5] = normals[2]  # a tie between directions that different threads may hold
    with threads_everywhere():
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
    with threads_everywhere():
        tree = grow_tree(case, proposer=Proposals(propose, axis_parallel=False), n_threads=3)
    assert_same_substance(tree, grow_tree(case))


# --- rows in parts ----------------------------------------------------------------------------


@examples(40)
@given(
    pair=problems.searches(max_rows=40),
    n_parts=st.integers(1, 6),
    n_bins=st.sampled_from([2, 3, 16, 256]),
    few_rows=st.sampled_from([0, 3, 4096]),
    most_zooms=st.integers(0, 4),
    rows=st.sampled_from([1, 1, 3]),
    weight=st.sampled_from([0, 0, 4]),
    random=st.randoms(use_true_random=False),
)
@pytest.mark.parametrize("criterion", NAMES)
def test_ragged_parts_give_the_twins_split(
    criterion: str,
    pair: tuple[Case, Any],
    n_parts: int,
    n_bins: int,
    few_rows: int,
    most_zooms: int,
    rows: int,
    weight: int,
    random: Any,
) -> None:
    """However the rows are cut up and however coarse the bins are."""
    case, normals = pair
    problem = problem_of(case)
    assume(len(np.unique(problem.y)) > 1)  # growth does not search pure nodes
    order = list(range(len(problem.y)))
    random.shuffle(order)
    ends = sorted(random.randint(0, len(order)) for _ in range(n_parts - 1))
    pieces = np.split(np.array(order, dtype=np.int64), ends)
    limits = Limits(min_samples_leaf=rows, min_weight_leaf=weight)
    found = parts_split(
        problem,
        pieces,
        normals,
        criterion,
        limits,
        Zoom(n_bins, few_rows, most_zooms),
    )
    assert found == twin_split(problem, normals, criterion, limits)


def test_the_input_is_left_alone() -> None:
    case = problems.weighted(problems.integers(500), "integers")
    before = case.X.copy(), case.y.copy(), case.sample_weight.copy()
    grow_tree(case, n_threads=2)
    for array, copy in zip((case.X, case.y, case.sample_weight), before, strict=True):
        np.testing.assert_array_equal(array, copy)
