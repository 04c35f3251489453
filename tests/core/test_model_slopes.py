"""Linear functions, compiled, and the cuts that they decide, against least squares of NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapter import threads_everywhere
from core.test_slopes import coded_by_hand, odd, proposed, table, weights_of
from obliqua._core.grow.ridge import fit_ridge
from obliqua._core.methods.model_slopes import compared_columns
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine.coding import CodedColumns
from obliqua.engine.grow import grow
from obliqua.engine.linear_leaves import model_rows
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.slopes import ModelSlopes
from obliqua.tree.tree import Tree
from problems import examples
from reference import lines as twin
from reference import search

seeds = st.integers(0, 10**6)
penalties = st.sampled_from([0.0, 0.1, 1.0, 10.0])


def grid_of(problem: Problem) -> Any:
    return problem.target.grid[:, 0].astype(np.float64)


# --- one function -------------------------------------------------------------------------


def assert_ridge(problem: Problem, rows: Any, penalty: float, wanted: Any, shift: int) -> None:
    U, y = model_rows(problem).matrix, grid_of(problem)[rows]
    w = np.array(weights_of(problem), dtype=np.float64)[rows]
    coef, middle, left = fit_ridge(U, rows, problem.target_rows, penalty, shift, wanted)
    expected = twin.ridge(U[rows], y, w, penalty, wanted)
    spread = float((w * (y - expected.mean) ** 2).sum())
    assert left == pytest.approx(expected.left, rel=1e-6, abs=1e-6 * spread + 1e-3)
    np.testing.assert_allclose(middle, expected.middle, rtol=1e-6, atol=1e-6)
    said = U[rows] @ (coef - expected.coef)
    said -= np.average(said, weights=w)
    assert np.abs(said).max() <= 1e-5 * np.sqrt(spread / w.sum()) + 1e-2
    if penalty > 0.0:
        size = np.abs(expected.coef).max()
        np.testing.assert_allclose(coef, expected.coef, rtol=1e-5, atol=1e-5 * size + 1e-2)
    if wanted is not None:
        assert not coef[wanted == 0].any()


@examples(120)
@given(
    seed=seeds,
    n=st.integers(1, 60),
    weighted=st.booleans(),
    penalty=penalties,
    few=st.booleans(),
)
def test_ridge(seed: int, n: int, weighted: bool, penalty: float, few: bool) -> None:
    problem = table(seed, max(n, 6), 1, weighted)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(problem.n_rows)[:n].astype(np.int32)
    wanted = (rng.random(problem.n_features) < 0.5).astype(np.uint8) if few else None
    assert_ridge(problem, rows, penalty, wanted, 0)


def test_ridge_with_weights_that_are_shortened() -> None:
    """Those of whole multiples of eight lose nothing."""
    problem = table(2, 50, 1, weighted=True)
    assert problem.weights is not None
    problem = replace(problem, weights=problem.weights << 3)
    assert_ridge(problem, np.arange(50, dtype=np.int32), 40.0, None, 3)


def test_ridge_of_equal_rows_is_a_constant() -> None:
    problem = encode_numbers(np.array([[1.0, 2.0]] * 3 + [[2.0, 5.0]]), np.array([1.0, 2, 3, 9]))
    U, rows = model_rows(problem).matrix, np.arange(3, dtype=np.int32)
    coef, _, left = fit_ridge(U, rows, problem.target_rows, 1.0, 0)
    assert coef.tolist() == [0.0, 0.0]
    assert left == pytest.approx(2.0 / problem.target.step**2)


# --- the columns of functions --------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_columns_of_functions(seed: int, weighted: bool) -> None:
    """Spread 1, stand-ins for what is missing, shrunken means for levels."""
    problem = table(seed, 60, 1, weighted)
    if seed % 2:
        problem = odd(problem, seed)
    w = np.array(weights_of(problem), dtype=np.float64)
    Z, n_levels = np.array(problem.Z, dtype=np.float64), problem.n_levels.tolist()
    expected = twin.standard(Z, grid_of(problem), w, n_levels, problem.row_unit)
    found = model_rows(problem)
    np.testing.assert_allclose(found.factor, expected.factor, rtol=1e-6)
    np.testing.assert_allclose(found.fill, expected.fill, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-6, atol=1e-6)
    assert list(found.tables) == list(expected.tables) == np.flatnonzero(n_levels).tolist()
    for column, numbers in found.tables.items():
        np.testing.assert_allclose(numbers, expected.tables[column], rtol=1e-6, atol=1e-6)
    assert model_rows(problem) is found


# --- cuts ---------------------------------------------------------------------------------


def first_split(problem: Problem, method: ModelSlopes, min_rows: int, **options: Any) -> Tree:
    rules = Rules(max_depth=1, min_samples_leaf=min_rows)
    proposals = Proposals(method, scale="standard")
    return grow(problem, proposals, "squared_error", rules, **options)


def assert_split_is_the_twins(
    problem: Problem, X: Any, method: ModelSlopes, min_rows: int = 1
) -> bool:
    """The tree's first split is, but for rounding, the best of all that the twin tries."""
    planes = proposed(problem, Proposals(method, scale="standard"))[1]
    candidates = search.axes(problem.n_features) + [
        search.Direction(tuple(idx.tolist()), tuple(coef.tolist())) for idx, coef in planes
    ]
    if not method.oblique:
        assert not planes
    weights = weights_of(problem)
    n_rows = problem.row_unit * float(sum(weights))
    U, penalty = model_rows(problem).matrix, method.penalty / problem.row_unit
    y = grid_of(problem)
    cuts = twin.model_cuts(X, U, y, weights, candidates, penalty, n_rows, method.price, min_rows)
    tree = first_split(problem, method, min_rows)
    slack = 1e-6 * np.average((y - np.average(y, weights=weights)) ** 2, weights=weights) + 1e-3
    best = max((cut.worth for cut in cuts), default=0.0)
    if tree.n_nodes == 1:
        assert best < slack
        return False
    worth = tree.gain[0] / problem.target.gain_unit
    assert worth == pytest.approx(best, abs=slack, rel=1e-6)
    left = frozenset(np.flatnonzero(tree.apply(problem.Z) == 1).tolist())
    mine = [
        cut for cut in cuts if cut.left == left and cut.worth == pytest.approx(worth, abs=slack)
    ]
    assert any(
        candidates[cut.direction].idx == tuple(tree.coef_idx.tolist())
        and cut.threshold == tree.threshold[0]
        for cut in mine
    )
    with threads_everywhere():
        assert first_split(problem, method, min_rows, n_threads=2) == tree
    return len(tree.coef_idx) > 1


@examples(100)
@given(
    seed=seeds,
    n=st.integers(8, 60),
    weighted=st.booleans(),
    price=st.sampled_from([0.0, 1.0]),
    penalty=penalties,
    oblique=st.booleans(),
    min_rows=st.sampled_from([1, 4]),
)
def test_the_split_is_the_twins(
    seed: int, n: int, weighted: bool, price: float, penalty: float, oblique: bool, min_rows: int
) -> None:
    problem = table(seed, n, 1, weighted)
    method = ModelSlopes(price=price, min_rows=None, penalty=penalty, oblique=oblique)
    assert_split_is_the_twins(problem, np.array(problem.Z), method, min_rows)


@examples(40)
@given(seed=seeds, n=st.integers(20, 60), weighted=st.booleans())
def test_the_split_with_levels_and_gaps(seed: int, n: int, weighted: bool) -> None:
    problem = odd(table(seed, n, 1, weighted), seed)
    rows = np.arange(n, dtype=np.int32)
    X = np.array(CodedColumns(problem).at(rows, problem.counts).problem.Z)
    np.testing.assert_allclose(X, coded_by_hand(problem), rtol=1e-6, atol=1e-6)
    assert_split_is_the_twins(problem, X, ModelSlopes(price=0.25, min_rows=None))


def test_the_more_columns_the_fewer_compare_cuts() -> None:
    """So that the work, columns times squares of these, is about that of 24, up to 96 columns."""
    assert [compared_columns(n) for n in (1, 10, 24)] == [1, 10, 24]
    assert [compared_columns(n) for n in (25, 48, 96, 97, 1000)] == [23, 16, 12, 12, 12]


def test_oblique_splits_win_somewhere() -> None:
    found = [
        assert_split_is_the_twins(problem, np.array(problem.Z), ModelSlopes(price=0.2))
        for problem in (table(seed, 60) for seed in range(8))
    ]
    assert any(found)


def test_few_rows_are_left_to_the_axes() -> None:
    """Fewer than `min_rows` by weight: only single columns are tried."""
    problem = table(1, 60, 1, weighted=True)
    total = sum(weights_of(problem))
    rules = Rules(max_depth=2)

    def grown(method: ModelSlopes) -> Tree:
        return grow(problem, Proposals(method), "squared_error", rules)

    alone = grown(ModelSlopes(price=0.0, oblique=False, min_rows=None))
    assert grown(ModelSlopes(price=0.0, min_rows=total + 1)) == alone
    assert grown(ModelSlopes(price=0.0, min_rows=total)) != alone


@pytest.mark.parametrize("seed", range(4))
def test_threads_order_and_weights_change_no_bit(seed: int) -> None:
    problem = table(seed, 500, 1, weighted=True)
    if seed > 1:
        problem = odd(problem, seed)
    rules = Rules(best_first=True, max_leaf_nodes=8, min_weight_leaf=10)
    proposals = Proposals(ModelSlopes(), scale="standard")

    def grown(problem: Problem, n_threads: int = 1) -> Tree:
        return grow(problem, proposals, "squared_error", rules, n_threads=n_threads)

    tree = grown(problem)
    assert tree.n_leaves > 2
    with threads_everywhere():
        assert grown(problem, 3) == tree
    order = np.random.default_rng(seed).permutation(problem.n_rows)
    assert grown(problem.take(order)) == tree
    assert problem.weights is not None
    repeated = problem.take(np.repeat(np.arange(problem.n_rows), problem.weights))
    again = grown(replace(repeated, weights=None, row_counts=None))
    assert replace(again, n_samples=tree.n_samples) == tree


@pytest.mark.parametrize("n_threads", [1, 2])
def test_nothing_is_cut_without_gain(n_threads: int) -> None:
    """A line needs no cut, even where cuts without gain are allowed; constants would gain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    problem = encode_numbers(X, X @ [2.0, -1.0])
    rules = Rules(zero_gain=True, min_samples_leaf=5)
    with threads_everywhere():
        tree = grow(problem, Proposals(ModelSlopes()), "squared_error", rules, n_threads=n_threads)
    assert tree.n_leaves == 1
