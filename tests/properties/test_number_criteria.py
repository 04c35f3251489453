"""The criteria poisson and absolute_error against their slow twin, and what must not show."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, getcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua._core.search.criterion import py_goodness
from obliqua.criteria import NUMBER_CRITERIA, get_criterion
from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine import axis_cuts, candidates
from obliqua.engine import grow as growing
from obliqua.engine.grow import grow
from obliqua.engine.grow_from import grow_from
from obliqua.engine.parts import RowsInParts
from obliqua.engine.proposals import Directions, Proposals
from obliqua.engine.rules import Rules
from obliqua.prune.reduced_error import node_errors
from obliqua.tree.tree import Tree
from problems import examples
from reference import numbers as twins
from reference import search

CRITERIA = ["poisson", "absolute_error"]
NORMALS = np.array([[1.0, 1.0, 0.0], [1.0, -2.0, 0.5]])


def table(seed: int, n: int, n_outputs: int, kind: str) -> tuple[Any, Any, Any]:
    """Rows with ties, duplicates and a constant column; numbers with ties, many zeros, or wild."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)) / 2.0
    X[:, 2] = 1.0 if seed % 2 else rng.normal(size=n)
    y = rng.integers(0, 3, (n, n_outputs)).astype(np.float64)
    if kind == "real":
        y = np.abs(rng.normal(size=(n, n_outputs)) + X[:, :1])
    elif kind == "zeros":
        y = rng.poisson(0.3, (n, n_outputs)).astype(np.float64)
    elif kind == "outlier":
        y[rng.integers(n)] = 1e15
    y[0] = 1.0  # no output has a sum of 0
    weights = np.ones(n, dtype=np.int64)
    if seed % 3:
        weights = rng.integers(1, 4, n) if seed % 3 == 1 else 10 ** rng.integers(0, 5, n)
    return X, y, weights


def assert_like_the_twin(tree: Tree, twin: list[twins.NumberNode], m: int) -> None:
    assert tree.n_nodes == len(twin)
    for number, node in enumerate(twin):
        assert tree.n_samples[number] == len(node.rows)
        assert tree.stats[number, 1 : 1 + m].tolist() == node.mean
        np.testing.assert_allclose(tree.stats[number, -1], node.error, rtol=1e-14)
        assert tree.is_leaf[number] == (node.split is None)
        assert tree.gain[number] == node.gain
    planes = [node.split for node in twin if node.split is not None]
    assert tree.threshold.tolist() == [split[3] for split in planes]
    assert tree.coef_idx.tolist() == [k for split in planes for k in split[2].idx]


@examples(80)
@given(
    st.sampled_from(CRITERIA),
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.integers(1, 3),
    st.sampled_from(["whole", "real", "zeros", "outlier"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_the_tree_is_the_twins(
    criterion: str, seed: int, n: int, m: int, kind: str, oblique: bool, min_rows: int
) -> None:
    X, y, weights = table(seed, n, m, kind)
    axes = search.axes(3)
    slanted = [
        search.Direction(tuple(np.flatnonzero(a).tolist()), tuple(a[a != 0].tolist()))
        for a in NORMALS
    ]
    twin = twins.grow_numbers(
        X,
        y,
        weights.tolist(),
        lambda rows: slanted if oblique else axes,
        min_rows=min_rows,
        criterion=criterion,
    )
    problem = encode_numbers(X, y, sample_weight=weights)
    proposer = Proposals(lambda node: NORMALS, axis_parallel=False) if oblique else None
    rules = Rules(min_samples_leaf=min_rows, zero_gain=True)
    tree = grow(problem, proposer, criterion, rules)
    assert_like_the_twin(tree, twin, m)
    assert tree.loss == ("squared_error" if criterion == "poisson" else "absolute_error")
    best_first = grow(problem, proposer, criterion, replace(rules, best_first=True))
    assert best_first == tree


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("oblique", [False, True])
@pytest.mark.parametrize("m", [1, 2])
def test_order_threads_and_weights_do_not_show(criterion: str, oblique: bool, m: int) -> None:
    rng = np.random.default_rng(m)
    n = 30_000
    X = rng.normal(size=(n, 3)).round(2)
    y = np.column_stack([rng.poisson(np.exp(X[:, 0])) + rng.random(n).round(3)] * m)
    weights = rng.integers(1, 3, n)
    proposer = Proposals(lambda node: NORMALS) if oblique else None

    def grown(*args: Any, n_threads: int = 1) -> Tree:
        problem = encode_numbers(*args[:2], sample_weight=args[2] if len(args) > 2 else None)
        rules = Rules(max_leaf_nodes=12)
        return grow(problem, proposer, criterion, rules, n_threads=n_threads)

    tree = grown(X, y, weights)
    order = rng.permutation(n)
    assert grown(X[order], y[order], weights[order]) == tree
    assert grown(X, y, weights, n_threads=3) == tree
    repeated = grown(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    assert repeated.stats.tolist() == tree.stats.tolist()
    assert repeated.threshold.tolist() == tree.threshold.tolist()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**26)), min_size=2, max_size=8))
def test_the_formula_in_python_is_the_compiled_one(rows: list[tuple[int, int]]) -> None:
    sums = np.array([(w, w * k, 0, 0) for w, k in rows], dtype=np.int64)
    left, right = sums[: len(rows) // 2].sum(axis=0), sums[len(rows) // 2 :].sum(axis=0)
    score = py_goodness(8, left, right)
    assert score == float(NUMBER_CRITERIA["poisson"].goodness(left, right))
    if left[1] == 0 or right[1] == 0:
        assert score == -np.inf
        return
    getcontext().prec = 60
    sides = [(Decimal(int(s[1])), Decimal(int(s[0]))) for s in (left, right, left + right)]
    a, b, whole = (total * (total / weight).ln() for total, weight in sides)
    exact = float((a + b - whole) / sides[2][1])
    assert score == pytest.approx(exact, rel=1e-6, abs=1e-14 * float(sides[2][0]))


def test_a_formula_that_looks_at_sums_refuses_medians() -> None:
    with pytest.raises(ValueError, match="needs the rows of a node"):
        get_criterion("absolute_error").goodness([1, 2, 0, 0], [1, 3, 0, 0])


def test_an_empty_side_is_worth_nothing() -> None:
    for left, right in (([0, 0, 0, 0], [2, 3, 0, 0]), ([2, 3, 0, 0], [0, 0, 0, 0])):
        assert float(NUMBER_CRITERIA["poisson"].goodness(left, right)) == 0.0
        assert py_goodness(8, np.array(left), np.array(right)) == 0.0


@pytest.mark.parametrize("m", [1, 2])
def test_poisson_from_parts_is_the_tree_in_memory(m: int) -> None:
    rng = np.random.default_rng(m)
    X = rng.normal(size=(3000, 3)).round(2)
    y = rng.poisson(np.exp(X[:, :m])).astype(float)
    problem = encode_numbers(X, y, sample_weight=rng.integers(1, 4, 3000))
    measured = problem.measured_by(get_criterion("poisson"))
    rules = Rules(min_samples_leaf=5, max_depth=5)
    parts = [measured.take(some) for some in np.array_split(rng.permutation(3000), 5)]
    whole = grow(problem, None, "poisson", rules)
    for few_rows in (0, 200):
        assert grow_from(RowsInParts(parts), None, "poisson", rules, few_rows=few_rows) == whole


def test_what_parts_cannot_do_is_refused_by_name() -> None:
    problem = encode_numbers(np.arange(6.0)[:, None], np.arange(6.0))
    with pytest.raises(ValueError, match="'absolute_error', which compares medians, must see"):
        grow_from(RowsInParts([problem]), None, "absolute_error")
    with pytest.raises(ValueError, match="'poisson' needs numbers on a grid of its own"):
        grow_from(RowsInParts([problem]), None, "poisson")


@pytest.mark.parametrize("sides", [False, True])
@pytest.mark.parametrize("criterion", CRITERIA)
@examples(15)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 2), zero_gain=st.booleans())
def test_levels_in_compiled_growth_are_those_of_the_loop(
    criterion: str, sides: bool, seed: int, m: int, zero_gain: bool
) -> None:
    """Best first with threads, nodes are searched by Python; otherwise all of it is compiled."""
    rng = np.random.default_rng(seed)
    n = 120
    Z = np.column_stack(
        [rng.integers(0, 5, n), rng.integers(0, 4, n), rng.normal(size=n).round(1)]
    ).astype(np.float64)
    Z[rng.random(Z.shape) < [0.2, 0.0, 0.15]] = np.nan
    y = np.abs(rng.integers(0, 4, (n, m)) + np.nan_to_num(Z[:, :1]) * rng.integers(-1, 2, m))
    y[0] += 1.0
    problem = encode_numbers(
        np.zeros((n, 3)), y, sample_weight=rng.integers(1, 4, n) if seed % 2 else None
    )
    columns = (
        Column("a", "qualitative", tuple("vwxyz")),
        Column("b", "qualitative", (1, 2, 3, 4)),
    )
    problem = replace(
        problem,
        Z=Z,
        encoding=Encoding((*columns, Column("c"))),
        n_levels=np.array([5, 4, 0], dtype=np.int32),
        has_missing=np.array([True, False, True]),
        sides=sides,
    )
    rules = Rules(best_first=True, zero_gain=zero_gain, min_samples_leaf=1 + seed % 3)
    compiled = grow(problem, None, criterion, rules)
    with pytest.MonkeyPatch.context() as patch:
        for module in (growing, axis_cuts, candidates):
            patch.setattr(module, "SERIAL_ROWS", 8)
        assert grow(problem, None, criterion, rules, n_threads=2) == compiled
    compiled.validate()


@examples(50)
@given(st.sampled_from(CRITERIA), st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 2))
def test_given_thresholds_are_scored_alike(criterion: str, seed: int, n: int, m: int) -> None:
    X, y, weights = table(seed, n, m, "zeros")
    problem = encode_numbers(X, y, sample_weight=weights)
    cuts = np.random.default_rng(seed).normal(size=2)
    proposer = Proposals(lambda node: Directions(NORMALS, cuts), axis_parallel=False)
    tree = grow(problem, proposer, criterion, Rules(max_depth=1, zero_gain=False))
    grid, step = twins.on_grid(y, criterion == "poisson")
    best = 0.0
    for normal, cut in zip(NORMALS, cuts, strict=True):
        left = (X @ normal <= cut).tolist()
        if any(left) and not all(left):
            some = np.flatnonzero(left).tolist()
            score = twins.score_of(criterion, grid, weights.tolist(), range(n), some)
            best = max(best, -np.inf if score is None else score)
    assert tree.gain[0] == best * (float(step) / m)


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([2, 20, 60]), st.integers(1, 5))
def test_medians_at_the_limits(seed: int, n: int, m: int) -> None:
    """Weights of 2^36 units in all, numbers at both ends of the grid: nothing overflows."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 2**36 // n - 1, n) | 1
    y = rng.integers(0, 2, (n, m)) * 1.0
    X = rng.integers(0, 50, (n, 1)).astype(float)
    tree = grow(encode_numbers(X, y, sample_weight=weights), None, "absolute_error",
                Rules(max_depth=1, zero_gain=True))  # fmt: skip
    twin = twins.grow_numbers(
        X,
        y,
        weights.tolist(),
        lambda rows: search.axes(1),
        max_depth=1,
        criterion="absolute_error",
    )
    assert_like_the_twin(tree, twin, m)


@pytest.mark.parametrize("m", [1, 2])
def test_errors_of_held_out_rows(m: int) -> None:
    """Their order does not show; by hand, they are what the medians leave over."""
    rng = np.random.default_rng(m)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=(400, m)) / 3.0
    problem = encode_numbers(X, y, sample_weight=rng.integers(1, 4, 400))
    tree = grow(problem, None, "absolute_error", Rules(max_leaf_nodes=30))
    some = rng.permutation(400)[:300]
    one, other = (node_errors(tree, problem.take(rows)) for rows in (some, np.sort(some)))
    assert one.tobytes() == other.tobytes()
    path = tree.decision_path(X[some]).toarray().astype(bool)
    assert problem.weights is not None
    for node in range(tree.n_nodes):
        rows = some[path[:, node]]
        off = np.abs(y[rows] - tree.mean[node]).sum(axis=1)
        assert one[node] == pytest.approx(float(problem.weights[rows] @ off), rel=1e-6, abs=1e-4)


def test_a_function_of_weight_means_and_squares_is_a_criterion() -> None:
    """With the formulas of the table it grows their trees."""

    def squared(left: Any, right: Any) -> float:
        n = left[0] + right[0]
        return float(left[0] * right[0] / (n * n) * ((left[1:-1] - right[1:-1]) ** 2).mean())

    def poisson(left: Any, right: Any) -> float:
        n, sums = left[0] + right[0], [side[0] * side[1] for side in (left, right)]
        if min(sums) <= 0:
            return -1.0
        rates = [side[1] for side in (left, right)]
        whole = sum(sums) * np.log(sum(sums) / n)
        return float(sum(s * np.log(r) for s, r in zip(sums, rates, strict=True)) - whole) / n

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(X[:, 0])) + rng.random(200)
    problem: Problem = encode_numbers(X, y)
    rules = Rules(max_depth=3)
    for function, name in ((squared, "squared_error"), (poisson, "poisson")):
        ours, theirs = (grow(problem, None, one, rules) for one in (function, name))
        assert ours.threshold.tolist() == theirs.threshold.tolist()
        np.testing.assert_allclose(ours.gain, theirs.gain, rtol=1e-6)


def test_errors_of_rows_that_were_encoded_apart() -> None:
    """Rows that hardly differ, or not at all, have a grid of their own, without its medians."""
    X, y = np.arange(8.0)[:, None], np.array([0.0, 0.25, 0.5, 0.75, 100.0, 100.25, 100.5, 101.0])
    tree = grow(encode_numbers(X, y), None, "absolute_error", Rules(max_depth=1))
    for other in ([0.4], [0.4, 0.4 + 1e-9], [0.4, 99.0]):
        held = encode_numbers(X[: len(other)], np.array(other))
        off = np.abs(np.array(other)[:, None] - tree.mean[[0, 1], 0]).sum(axis=0)
        np.testing.assert_allclose(node_errors(tree, held)[[0, 1]], off, atol=1e-5)
