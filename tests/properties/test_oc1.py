"""What must hold for every climb of OC1, whoever counts and with however many threads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.climbs import draw_problem, load
from obliqua.criteria import CRITERIA, get_criterion, vectorized
from obliqua.data.problem import encode
from obliqua.datasets import make_pol, make_rcb
from obliqua.engine.compiled import PythonCriterion
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.oc1 import Climb, follow_climb
from problems import examples

CODES = list(CRITERIA)


@examples(40)
@given(seed=st.integers(0, 10**6), criterion=st.sampled_from(CODES), ties=st.booleans())
def test_a_climb_never_gets_worse(seed: int, criterion: str, ties: bool) -> None:
    problem = draw_problem(seed, 3, False, ties)
    finder = load(problem, Climb(n_restarts=4, min_rows=0), CRITERIA[criterion].code, 1, seed)
    X = np.asarray(problem.Z)
    for task in range(4):
        scores = []
        for normal, threshold, _ in finder.follow(task):
            right = X @ normal > threshold
            sums = np.bincount(problem.y[right], minlength=3)
            counts = np.bincount(problem.y, minlength=3)
            inside = 0 < right.sum() < len(right)
            good = float(CRITERIA[criterion].goodness(sums, counts - sums)) if inside else -1.0
            scores.append(good)
        assert all(b >= a - 1e-12 for a, b in pairwise(scores))


@examples(20)
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), ties=st.booleans())
def test_a_criterion_in_python_leads_the_same_way(seed: int, weighted: bool, ties: bool) -> None:
    problem = draw_problem(seed, 3, weighted, ties)
    climb = Climb(n_restarts=2, min_rows=0)

    @vectorized
    def own(left: Any, right: Any) -> Any:
        return CRITERIA["max_minority"].goodness(left, right)  # not convex: no end is known

    compiled = load(problem, climb, CRITERIA["max_minority"].code, 1, seed)
    asked = load(problem, climb, -1, 1, seed)
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    counts = np.bincount(problem.y, weights=weight, minlength=3).astype(np.int64)
    asked.set_measure(PythonCriterion(get_criterion(own), counts, problem, Rules()))
    for task in range(2):
        for one, two in zip(compiled.follow(task), asked.follow(task), strict=True):
            np.testing.assert_array_equal(one[0], two[0])
            assert one[1:] == two[1:]


@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_change_no_bit(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.engine.grow.SERIAL_ROWS", 64)
    monkeypatch.setattr("obliqua.engine.axis_cuts.SERIAL_ROWS", 64)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 4))
    y = ((X @ [1, 2, -1, 0.5] * 3).astype(int) % 3).astype(np.int32)
    problem = encode(X, y, 3)
    one, many = Climb(n_restarts=5), Climb(n_restarts=5)
    tree = grow(problem, Proposals(one), key=7)
    assert grow(problem, Proposals(many), n_threads=n_threads, key=7) == tree
    assert many.journal.tried == one.journal.tried > 0
    assert grow(problem, Proposals(Climb(n_restarts=5)), key=8) != tree


@pytest.mark.parametrize("scale", ["minmax", None])
def test_what_is_followed_is_what_a_root_does(scale: str | None) -> None:
    X, y = make_pol(1000, return_X_y=True)
    problem = encode(X, (y == "2").astype(np.int32), 2)
    climb = Climb(n_restarts=1, n_jumps=20, from_zero=scale is not None)
    way = follow_climb(problem, climb, scale=scale, criterion="gini", key=11)
    rules = Rules(max_depth=1)
    tree = grow(problem, Proposals(climb, scale=scale), "gini", rules, key=11)
    normal = tree.coefficients(0)
    direction = way[-1].normal / np.abs(way[-1].normal).max()
    np.testing.assert_allclose(normal / np.abs(normal).max(), direction, rtol=1e-6)
    assert len(way) > 3
    right = X @ way[-1].normal > way[-1].threshold
    counts = np.bincount(problem.y[right], minlength=2), np.bincount(problem.y[~right])
    assert way[-1].goodness == pytest.approx(float(CRITERIA["gini"].goodness(*counts)))
    assert tree.gain[0] >= way[-1].goodness - 1e-12


def test_following_says_what_is_wrong() -> None:
    X, y = make_rcb(40, return_X_y=True)
    codes = (y.astype(int) % 2).astype(np.int32)
    problem = encode(X, codes, 2)
    with pytest.raises(ValueError, match="start must be from 0 to 4; got 5"):
        follow_climb(problem, Climb(n_restarts=5), 5)
    with pytest.raises(ValueError, match="too few to climb"):
        follow_climb(problem, Climb(min_rows=50))
    with pytest.raises(ValueError, match="own criteria by name"):
        follow_climb(problem, Climb(), criterion=lambda left, right: 0.0)
    holed = replace(problem, has_missing=np.array([False, True]))
    with pytest.raises(ValueError, match="takes numbers only"):
        follow_climb(holed, Climb())


@pytest.mark.parametrize(("criterion", "offset"), [("entropy", 0.0), ("twoing", 2.0**27)])
def test_threads_find_what_one_finds(
    criterion: str, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a climb promises may differ from what its direction keeps, in the last digits."""
    monkeypatch.setattr("obliqua.engine.grow.SERIAL_ROWS", 64)
    monkeypatch.setattr("obliqua.engine.axis_cuts.SERIAL_ROWS", 64)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = offset + rng.uniform(size=(120, 3))
        y = (np.argsort(np.argsort((X - offset) @ [1, 2, -1])) // 30).astype(np.int32)
        problem = encode(X, y, 4)
        one, many = Climb(n_restarts=9), Climb(n_restarts=9)
        tree = grow(problem, Proposals(one), criterion, Rules(max_depth=2), key=seed)
        other = grow(problem, Proposals(many), criterion, Rules(max_depth=2), 3, seed)
        assert other == tree
        assert one.journal.tried == many.journal.tried


def test_a_criterion_in_python_sees_left_and_right() -> None:
    """One that asks for a pure left side finds what one that asks for the right side does."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 2))
    y = ((X @ [1.0, 1.0] > 0.7) & (X @ [1.0, -0.4] < 0.6)).astype(np.int32)
    problem = encode(X, y, 2)

    def left_pure(left: Any, right: Any) -> float:
        return float(left[0] * (left[1] == 0) / (left.sum() + right.sum()))

    def right_pure(left: Any, right: Any) -> float:
        return left_pure(right, left)

    gains = [
        grow(
            problem,
            Proposals(Climb(n_restarts=8), axis_bias=0.0),
            criterion,
            Rules(max_depth=1),
            key=3,
        ).gain[0]
        for criterion in (left_pure, right_pure)
    ]
    assert min(gains) > 0.8 * max(gains) > 0.1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_best_first_growth_counts_too(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.engine.grow.SERIAL_ROWS", 64)
    monkeypatch.setattr("obliqua.engine.axis_cuts.SERIAL_ROWS", 64)
    problem = draw_problem(5, 3, False, False)
    climb = Climb(n_restarts=3, min_rows=0)
    grow(problem, Proposals(climb), rules=Rules(max_leaf_nodes=4), n_threads=n_threads)
    assert climb.journal.tried > 0


def test_one_feature_needs_no_climb() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), np.full(60, 2.0)])
    climb = Climb(min_rows=0)
    grow(encode(X, rng.integers(0, 2, 60).astype(np.int32), 2), Proposals(climb))
    assert climb.journal.tried == 0
