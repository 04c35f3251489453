"""SADT's compiled annealing against its NumPy twin, and what must always hold of it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.adapter import (
    assert_rows_reach_their_leaves,
    assert_same_substance,
    grow_tree,
    problem_of,
    threads_everywhere,
)
from obliqua.data.problem import Problem, encode
from obliqua.engine.compiled import Journal, Task
from obliqua.engine.moments import weight_shift
from obliqua.engine.proposals import Proposals
from obliqua.methods.sadt import Anneal
from problems import Case, cases, examples, gaussians, integers, weighted
from reference import criteria
from reference import sadt as twin
from reference.criteria import CODES

schedules = st.builds(
    twin.Schedule,
    moves=st.sampled_from(["one", "all"]),
    temperature=st.sampled_from([0.0, 0.003, 0.1, 10.0]),
    cooling=st.sampled_from([0.5, 0.99, 1.0]),
    patience=st.sampled_from([0, 1, 40, 300]),
)


def searched(
    problem: Problem,
    schedule: twin.Schedule,
    criterion: str = "entropy",
    key: int = 0,
    least: tuple[int, int] = (1, 0),
) -> tuple[NDArray[np.float64] | None, int]:
    """The normal that the compiled search ends with, and how many hyperplanes it tried."""
    journal = Journal()
    method = Anneal(**asdict(schedule), journal=journal)
    shift = weight_shift(problem.total_weight)
    finder = method.finder(Task(problem, problem.n_rows, shift, np.ones(problem.n_features)))
    counts = np.zeros(problem.n_classes, dtype=np.int64)
    np.add.at(counts, problem.y, 1 if problem.weights is None else problem.weights)
    rows = np.arange(problem.n_rows, dtype=np.int32)
    limits = (CODES[criterion], *least)
    finder.load(problem.Z, rows, problem.target_rows, counts, limits, key)
    numbers, planes = finder.directions()
    finder.finished()
    if not numbers:
        return None, journal.tried
    ((idx, coef),) = planes
    normal = np.zeros(problem.n_features)
    normal[idx] = coef
    return normal, journal.tried


def node_of(
    problem: Problem, criterion: str = "entropy", least: tuple[int, int] = (1, 0)
) -> twin.Node:
    """All rows, as the twin sees them."""
    code = CODES[criterion]
    ones = np.ones(problem.n_rows, dtype=np.int64)
    return twin.Node(
        np.array(problem.Z, dtype=np.float64),
        problem.y.astype(np.int64),
        ones if problem.weights is None else problem.weights,
        problem.n_classes,
        lambda left, right: criteria.goodness(code, left, right),
        code in criteria.CONVEX,
        *least,
    )


def assert_equals_twin(
    problem: Problem,
    schedule: twin.Schedule,
    criterion: str = "entropy",
    key: int = 0,
    least: tuple[int, int] = (1, 0),
) -> twin.Annealed | None:
    normal, tried = searched(problem, schedule, criterion, key, least)
    expected = twin.anneal(node_of(problem, criterion, least), schedule, key)
    if expected is None:
        assert normal is None and tried == 0
        return None
    assert tried == expected.n_tried
    if np.count_nonzero(expected.normal) < 2:  # left to the search along the axes
        assert normal is None
    else:
        assert normal is not None and normal.tolist() == expected.normal
    return expected


@examples(150)
@given(
    case=cases(),
    schedule=schedules,
    criterion=st.sampled_from(sorted(CODES)),
    key=st.integers(0, 2**64 - 1),
    least=st.tuples(st.integers(1, 3), st.integers(0, 2)),
)
def test_small_problems(
    case: Case, schedule: twin.Schedule, criterion: str, key: int, least: tuple[int, int]
) -> None:
    """Ties, duplicates, weights, constant columns, numbers that overflow."""
    assert_equals_twin(problem_of(case), schedule, criterion, key, least)


@pytest.mark.parametrize("moves", ["one", "all"])
@pytest.mark.parametrize("kind", [None, "tenths"])
def test_long_searches(moves: str, kind: str | None) -> None:
    """Many moves are kept: values are added to, and computed afresh now and then."""
    case = gaussians(90, 5, 3, seed=1)
    problem = problem_of(case if kind is None else weighted(case, kind))
    schedule = twin.Schedule(moves, temperature=0.1, cooling=0.998, patience=2000)
    found = assert_equals_twin(problem, schedule, key=7)
    assert found is not None and found.n_tried > 2000
    assert found.goodness is not None and found.goodness > 0.5


def test_it_stops_where_nothing_better_exists() -> None:
    X = np.array([[0.0, 0.1], [0.2, 0.0], [0.9, 1.0], [1.0, 0.7]])
    for y in ([0, 0, 1, 1], [1, 1, 0, 0]):  # the start divides them
        problem = encode(X, np.array(y, dtype=np.int32), 2)
        found = assert_equals_twin(problem, twin.Schedule(patience=100))
        assert found is not None and found.n_tried == 1


def test_patience_is_counted_from_the_best() -> None:
    problem = problem_of(integers(60, 3, 4, seed=2))
    tried = [searched(problem, twin.Schedule(patience=n))[1] for n in (0, 1, 50, 2000)]
    assert tried[:2] == [1, 2] and 51 <= tried[2] <= tried[3] and tried[3] > 2000


# --- trees -----------------------------------------------------------------------------------


def sadt(**schedule: Any) -> Proposals:
    return Proposals(Anneal(**{"patience": 200, "cooling": 0.99, **schedule}), axis_bias=0.0)


@examples(40)
@given(case=cases(), key=st.integers(0, 2**64 - 1))
def test_trees_count_their_rows(case: Case, key: int) -> None:
    problem = problem_of(case)
    tree = grow_tree(problem, "entropy", None, sadt(), key=key)
    assert_rows_reach_their_leaves(tree, problem)


@pytest.mark.parametrize("criterion", ["entropy", "sum_variances"])
def test_threads_change_nothing(criterion: str) -> None:
    problem = problem_of(gaussians(400, 4, 3, seed=3))
    alone = grow_tree(problem, criterion, None, sadt(), key=5)
    assert alone.n_leaves > 5
    with threads_everywhere():
        for n_threads in (2, 3):
            shared = grow_tree(problem, criterion, None, sadt(), n_threads, key=5)
            assert_same_substance(alone, shared)


def test_the_order_of_rows_does_not_matter() -> None:
    case = integers(120, 3, 3, seed=4)
    tree = grow_tree(case, "entropy", None, sadt(), key=5)
    order = np.random.default_rng(0).permutation(120)
    assert_same_substance(tree, grow_tree(case.take(order), "entropy", None, sadt(), key=5))
    again = Case(case.X, case.y, 3, np.full(120, 2.0))
    twice = case.take(np.repeat(np.arange(120), 2))
    assert_same_substance(
        grow_tree(again, "entropy", None, sadt(), key=5),
        grow_tree(twice, "entropy", None, sadt(), key=5),
        but=("n_samples",),
    )


def test_the_units_do_not_matter() -> None:
    """Powers of two change no bit, far beyond what a sum of squares could hold."""
    case = gaussians(150, 3, 2, seed=5)
    tree = grow_tree(case, "entropy", None, sadt(), key=1)
    for powers in ([500, -500, 0], [-1000, -900, -1000], [1010, 1000, 990]):
        X = np.ldexp(case.X, np.array(powers))
        other = grow_tree(Case(X, case.y, 2), "entropy", None, sadt(), key=1)
        np.testing.assert_array_equal(tree.stats, other.stats)


@pytest.mark.parametrize("criterion", ["entropy", "twoing", "sum_minority"])
def test_never_worse_than_the_start(criterion: str) -> None:
    """A root's split is at least as good as the hyperplane that the search starts with."""
    for seed in range(20):
        problem = problem_of(integers(80, 3, 3, seed=seed))
        started = twin.anneal(node_of(problem, criterion), twin.Schedule(patience=0), seed)
        assert started is not None and started.started is not None
        stump = grow_tree(problem, criterion, {"max_depth": 1}, sadt(), key=seed)
        assert stump.gain[0] >= started.started - 1e-12


def test_longer_searches_find_better_splits() -> None:
    case = gaussians(300, 6, 2, seed=8)
    gains = []
    for patience in (0, 100, 5000):
        method = sadt(patience=patience, cooling=0.999)
        gains.append(grow_tree(case, "entropy", {"max_depth": 1}, method, key=3).gain[0])
    assert gains[0] < gains[1] < gains[2]


def test_tiny_nodes_get_axis_parallel_splits() -> None:
    """Where one feature varies there is no oblique split; else there is, however few the rows."""
    one = Case(np.array([[0.0, 3.0], [1.0, 3.0]]), np.array([0, 1]), 2)
    tree = grow_tree(one, "entropy", None, sadt())
    assert tree.coef_idx.tolist() == [0] and tree.n_leaves == 2
    both = Case(np.array([[0.0, 3.0], [1.0, 2.0]]), np.array([0, 1]), 2)
    tree = grow_tree(both, "entropy", None, sadt())
    assert tree.coef_idx.tolist() == [0, 1] and tree.n_leaves == 2


def test_an_error_of_a_criterion_comes_through() -> None:
    asked = []

    def tired(left: Any, right: Any) -> float:
        asked.append(1)
        if len(asked) > 20:
            raise RuntimeError("no more")
        return 0.5

    with pytest.raises(RuntimeError, match="no more"):
        grow_tree(gaussians(50, 2, 2, seed=0), tired, None, sadt())


def test_time_is_limited() -> None:
    journal = Journal.of(0.0)
    method = Proposals(Anneal(journal=journal), axis_bias=0.0)
    tree = grow_tree(gaussians(200, 3, 2, seed=0), "entropy", None, method)
    assert journal.timed_out and journal.tried == 0
    assert set(np.diff(tree.coef_ptr).tolist()) == {1}
    free = Journal()
    grow_tree(gaussians(200, 3, 2, seed=0), "entropy", None, Proposals(Anneal(journal=free)))
    assert not free.timed_out and free.tried > 1000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"moves": "some"}, "moves must be one of 'one', 'all'; got 'some'"),
        ({"temperature": -1.0}, "temperature must be a number from 0 on; got -1.0"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"cooling": 0.0}, "cooling must be above 0 and at most 1; got 0.0"),
        ({"cooling": 1.5}, "cooling must be above 0 and at most 1; got 1.5"),
        ({"patience": -1}, "patience must be 0 or more moves; got -1"),
    ],
)
def test_settings_are_checked(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Anneal(**wrong)


def test_many_features() -> None:
    """The usual start has all rows on one side there, and the search begins in their middle."""
    problem = problem_of(gaussians(200, 100, 2, seed=4))
    found = assert_equals_twin(problem, twin.Schedule(patience=0))
    assert found is not None and found.n_tried == 2
    assert found.started is not None and found.started > 0
