"""Trees of numbers against their slow twin; and the same tree whatever rows come in what order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapter import search_parts
from obliqua._core.base.exact import exact_means
from obliqua._core.base.target import squared_errors
from obliqua.criteria import NUMBER_CRITERIA, get_criterion
from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine import axis_cuts, candidates
from obliqua.engine import grow as growing
from obliqua.engine.grow import grow
from obliqua.engine.passes import Zoom
from obliqua.engine.proposals import Proposals, read_directions
from obliqua.engine.rules import Rules
from obliqua.engine.search import SplitSearch
from obliqua.prune.reduced_error import node_errors
from obliqua.tree.tree import Tree
from problems import examples
from reference import search
from reference.numbers import NumberNode, grow_numbers

NORMALS = np.array([[1.0, 1.0, 0.0], [1.0, -2.0, 0.5]])


def table(seed: int, n: int, n_outputs: int, kind: str) -> tuple[Any, Any, Any]:
    """Rows with ties and a constant column; numbers with ties, or far apart, or wild."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, 3)) / 2.0
    X[:, 2] = 1.0 if seed % 2 else rng.normal(size=n)
    y = rng.integers(0, 3, (n, n_outputs)).astype(np.float64)
    if kind == "real":
        y = rng.normal(size=(n, n_outputs)) + X[:, :1]
    elif kind == "far":
        y = 1e12 + rng.normal(size=(n, n_outputs))
    elif kind == "outlier":
        y[rng.integers(n)] = 1e15
    weights = rng.integers(1, 4, n) if seed % 3 else np.ones(n, dtype=np.int64)
    return X, y, weights


def assert_like_the_twin(tree: Tree, twin: list[NumberNode], m: int) -> None:
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


@given(
    st.integers(0, 10**6),
    st.integers(2, 40),
    st.integers(1, 3),
    st.sampled_from(["whole", "real", "far", "outlier"]),
    st.booleans(),
    st.integers(1, 3),
)
def test_the_tree_is_the_twins(
    seed: int, n: int, n_outputs: int, kind: str, oblique: bool, min_rows: int
) -> None:
    X, y, weights = table(seed, n, n_outputs, kind)
    axes = search.axes(3)
    slanted = [
        search.Direction(tuple(np.flatnonzero(a).tolist()), tuple(a[a != 0].tolist()))
        for a in NORMALS
    ]
    twin = grow_numbers(
        X, y, weights.tolist(), lambda rows: slanted if oblique else axes, min_rows=min_rows
    )
    problem = encode_numbers(X, y, sample_weight=weights)
    proposer = Proposals(lambda node: NORMALS, axis_parallel=False) if oblique else None
    rules = Rules(min_samples_leaf=min_rows, zero_gain=True)
    assert_like_the_twin(grow(problem, proposer, "squared_error", rules), twin, n_outputs)


def grown(problem: Problem, **options: Any) -> Tree:
    return grow(problem, None, "squared_error", Rules(max_leaf_nodes=30), **options)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_order_threads_and_weights_do_not_show(n_outputs: int) -> None:
    rng = np.random.default_rng(n_outputs)
    X = rng.normal(size=(30_000, 4)).round(2)
    y = np.column_stack([X[:, 0] ** 2 + rng.normal(size=30_000) * 0.1] * n_outputs)
    weights = rng.integers(1, 3, len(X))
    tree = grown(encode_numbers(X, y, sample_weight=weights))
    order = rng.permutation(len(X))
    assert grown(encode_numbers(X[order], y[order], sample_weight=weights[order])) == tree
    assert grown(encode_numbers(X, y, sample_weight=weights), n_threads=3) == tree
    repeated = grown(encode_numbers(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0)))
    assert repeated.stats.tolist() == tree.stats.tolist()
    assert repeated.threshold.tolist() == tree.threshold.tolist()


@pytest.mark.parametrize("n_parts", [1, 4, 16, 37])
def test_a_split_from_parts_is_the_split_in_memory(n_parts: int) -> None:
    for seed, n_outputs in ((0, 1), (1, 1), (2, 3)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 3)) if seed else rng.integers(0, 9, (3000, 3)) / 4.0
        y = np.column_stack([X[:, 0] - X[:, 1] + rng.normal(size=3000)] * n_outputs)
        problem = encode_numbers(X, y, sample_weight=rng.integers(1, 4, 3000))
        planes = read_directions(np.vstack([np.eye(3), NORMALS]), 3)
        assert planes is not None
        criterion, rules = get_criterion("squared_error"), Rules(min_samples_leaf=5)
        rows = np.arange(3000, dtype=np.int32)
        whole = SplitSearch(problem, rows, problem.counts, criterion, rules).best(planes)
        assert whole is not None
        pieces = np.split(rng.permutation(rows), np.sort(rng.integers(0, 3001, n_parts - 1)))
        parts = [problem.take(some) for some in pieces]
        found = search_parts(parts, planes, criterion, rules, Zoom(64, 50))
        assert (found.score, found.line, found.rows_left, found.threshold) == (
            whole.goodness,
            whole.order,
            whole.rows_left,
            whole.threshold,
        )


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 2**26)), min_size=2, max_size=8))
def test_the_formula_in_python_is_the_compiled_one(rows: list[tuple[int, int]]) -> None:
    from obliqua._core.search.criterion import py_bound, py_goodness

    sums = np.array(
        [(w, w * k, w * (k * k >> 26), w * (k * k & (2**26 - 1))) for w, k in rows], dtype=np.int64
    )
    left, right = sums[: len(rows) // 2].sum(axis=0), sums[len(rows) // 2 :].sum(axis=0)
    score = py_goodness(7, left, right)
    assert score == NUMBER_CRITERIA["squared_error"].goodness(left, right)
    # No cut inside a bin is better than its bound.
    for first in range(1, len(rows)):
        for last in range(first + 1, len(rows)):
            bound = py_bound(
                7, sums[:first].sum(axis=0), sums[first:last].sum(axis=0), sums.sum(0)
            )
            for cut in range(first, last + 1):
                assert py_goodness(7, sums[:cut].sum(axis=0), sums[cut:].sum(axis=0)) <= bound


def test_errors_of_held_out_rows_do_not_depend_on_their_order() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) / 3.0
    problem = encode_numbers(X, y)
    tree = grown(problem)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(400)
        some = problem.take(order[:300]), problem.take(np.sort(order[:300]))
        one, other = (node_errors(tree, part) for part in some)
        assert one.tobytes() == other.tobytes()


@given(st.integers(0, 10**6), st.sampled_from([2, 300, 2000]), st.integers(1, 5))
def test_sums_at_the_limits(seed: int, n: int, m: int) -> None:
    """Weights of 2^36 units in all, numbers at both ends of the grid: nothing overflows."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 2**36 // n - 1, n) | 1  # odd, so that they are counted in ones
    y = rng.integers(0, 2, (n, m)) * 1.0
    X = rng.integers(0, 50, (n, 1)).astype(float)
    problem = encode_numbers(X, y, sample_weight=weights)
    sums = [sum(weights.tolist()), *(int((weights * k).sum()) for k in problem.target.grid.T)]
    assert problem.counts[: 1 + m].tolist() == sums
    squares = sum(int(w) * int(k) ** 2 for w, row in zip(weights, problem.target.grid, strict=True)
                  for k in row)  # fmt: skip
    assert int(problem.counts[1 + m]) * 2**26 + int(problem.counts[2 + m]) == squares
    wanted = Fraction(squares) - sum(Fraction(s * s, sums[0]) for s in sums[1:])
    assert squared_errors(problem.counts[None])[0] == pytest.approx(float(wanted), rel=1e-14)
    tree = grow(problem, None, "squared_error", Rules(max_depth=1))
    twin = grow_numbers(X, y, weights.tolist(), lambda rows: search.axes(1), max_depth=1) if (
        n < 400
    ) else None  # fmt: skip
    if twin is not None:
        assert_like_the_twin(tree, twin, m)


@given(st.lists(st.floats(-1e119, 1e119, allow_subnormal=True), min_size=1, max_size=12))
def test_means_are_exact(numbers: list[float]) -> None:
    """Also of numbers that cancel, up to 624 bits below the largest."""
    rng = np.random.default_rng(len(numbers))
    weights = rng.integers(1, 2**33, len(numbers))
    values = np.array(numbers)[:, None]
    leaf = rng.integers(1, 3, len(numbers))
    children = np.array([[1, -1, -1], [2, 0, 0]], dtype=np.int32)
    found = exact_means(values, weights, leaf, *children)
    # Below the normal numbers there are steps of 2**-1074, and a mean lies in the middle of two.
    least = Fraction(float(np.abs(values).max())) / 2**600 + Fraction(1, 2**1075)
    for node, rows in ((0, leaf > 0), (1, leaf == 1), (2, leaf == 2)):
        if rows.any():
            total = sum(int(w) for w in weights[rows])
            exact = sum(Fraction(v) * int(w) for v, w in zip(values[rows, 0].tolist(),
                        weights[rows], strict=True)) / total  # fmt: skip
            assert abs(Fraction(float(found[node, 0])) - exact) <= abs(exact) / 2**53 + least
        else:
            assert found[node, 0] == 0.0


@pytest.mark.parametrize("sides", [False, True])
@examples(25)
@given(seed=st.integers(0, 10**6), m=st.integers(1, 3), zero_gain=st.booleans())
def test_levels_in_compiled_growth_are_those_of_the_loop(
    sides: bool, seed: int, m: int, zero_gain: bool
) -> None:
    """Best first with threads, nodes are searched by Python; otherwise all of it is compiled."""
    rng = np.random.default_rng(seed)
    n = 120
    Z = np.column_stack(
        [rng.integers(0, 5, n), rng.integers(0, 4, n), rng.normal(size=n).round(1)]
    ).astype(np.float64)
    Z[rng.random(Z.shape) < [0.2, 0.0, 0.15]] = np.nan
    y = rng.integers(0, 4, (n, m)) + np.nan_to_num(Z[:, :1]) * rng.integers(-1, 2, m)
    weights = rng.integers(1, 4, n) if seed % 2 else None
    problem = encode_numbers(np.zeros((n, 3)), y, sample_weight=weights)
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
    compiled = grow(problem, None, "squared_error", rules)
    with pytest.MonkeyPatch.context() as patch:
        for module in (growing, axis_cuts, candidates):
            patch.setattr(module, "SERIAL_ROWS", 8)
        assert grow(problem, None, "squared_error", rules, n_threads=2) == compiled
    compiled.validate()
    assert compiled.n_leaves > 3
