"""Slopes, compiled: the directions of a node and the split that is chosen, against their twin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapter import threads_everywhere
from obliqua.criteria import get_criterion
from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine.coding import CodedColumns
from obliqua.engine.compiled import CompiledMethod
from obliqua.engine.grow import grow
from obliqua.engine.moments import feature_scale
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.slopes import Slopes
from obliqua.tree.layout import MissingSide
from obliqua.tree.tree import Tree
from problems import examples
from reference import search
from reference import slopes as twin
from reference.discriminants import fitted_by_few


def table(seed: int, n: int, n_outputs: int = 1, weighted: bool = False) -> Problem:
    """Rows with ties and repeats, a constant, a doubled and a curved column among them."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 6))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    if seed % 2:
        X = np.round(X)
    if seed % 3 == 0:
        X[:, -1] = 7.0
    if seed % 5 == 0:
        X[:, 0] = 2.0 * X[:, 1] - 3.0
    X[n // 2 : n // 2 + n // 6] = X[: n // 6]
    y = X @ rng.normal(size=(p, n_outputs)) + (X[:, :1] - 0.5 * X[:, -1:]) ** 2
    y = np.round(y) if seed % 7 < 2 else y + 0.3 * rng.normal(size=y.shape)
    if seed % 11 == 0:
        y[0] += 1e4
    y *= rng.choice([1e-3, 1.0, 50.0], n_outputs)
    X *= rng.choice([1e-4, 1.0, 1e5], p)
    return encode_numbers(X, y, sample_weight=rng.integers(1, 4, n) if weighted else None)


def odd(problem: Problem, seed: int, gaps: float = 0.1) -> Problem:
    """The same with a column of levels and one with missing numbers."""
    rng = np.random.default_rng(seed)
    Z = np.array(problem.Z)
    rank = np.argsort(np.argsort(problem.target.values[:, 0]))
    Z[:, 0] = (5 * rank // len(rank) + rng.integers(0, 3, len(rank))) % 5
    Z[rng.random(len(Z)) < gaps, 0] = np.nan
    Z[rng.random(len(Z)) < gaps, 1] = np.nan
    columns = [Column(f"x{k}") for k in range(problem.n_features)]
    columns[0] = Column("x0", "qualitative", tuple("vwxyz"))
    n_levels = np.zeros(problem.n_features, dtype=np.int32)
    n_levels[0] = 5
    return replace(
        problem,
        Z=Z,
        encoding=Encoding(tuple(columns)),
        n_levels=n_levels,
        has_missing=np.isnan(Z).any(axis=0),
    )


def weights_of(problem: Problem) -> list[int]:
    return [1] * problem.n_rows if problem.weights is None else problem.weights.tolist()


def proposed(problem: Problem, proposals: Proposals) -> tuple[list[int], list[Any]]:
    """The numbers of the directions that the compiled finder plans for all rows, and these."""
    coding = CodedColumns(problem) if problem.coded.any() else None
    scale = feature_scale(problem, proposals.scale)
    rules, criterion = Rules(), get_criterion("squared_error")
    method = CompiledMethod(problem, proposals, criterion, rules, scale, coding)
    finder = method.finder(problem.n_rows)
    rows = np.arange(problem.n_rows, dtype=np.int32)
    limits = (criterion.code, 1, 0)
    finder.load(problem.Z, rows, problem.target_rows, problem.counts, limits)
    return finder.directions()


def coded_by_hand(problem: Problem) -> Any:
    """Levels as the means of what their rows have, missing numbers as the mean of the others."""
    w = np.array(weights_of(problem), dtype=np.float64)
    Z, grid = np.array(problem.Z), problem.target.grid[:, 0].astype(np.float64)
    for column in np.flatnonzero(problem.coded).tolist():
        values = Z[:, column].copy()
        absent = np.isnan(values)
        if problem.n_levels[column] == 0:
            there = values[~absent]
            mean = np.average(there, weights=w[~absent])
            Z[absent, column] = there[0] if np.ptp(there) == 0.0 else mean
            continue
        for level in np.unique(np.where(absent, -1.0, values)):
            there = absent if level < 0 else values == level
            mean = np.average(grid[there], weights=w[there]) - np.average(grid, weights=w)
            Z[there, column] = search.round24(mean)
    return Z


def full(plane: Any, n_features: int) -> Any:
    idx, coef = plane
    normal = np.zeros(n_features)
    normal[idx] = coef
    return normal


def parallel(one: Any, other: Any) -> float:
    """The sine of the angle between two directions."""
    one, other = one / np.linalg.norm(one), other / np.linalg.norm(other)
    return float(np.linalg.norm(one - (one @ other) * other))


def assert_directions(found: tuple[list[int], list[Any]], expected: twin.Slopes) -> None:
    p = len(expected.spread)
    planes = {k - p: full(plane, p) for k, plane in zip(*found, strict=True)}
    assert list(planes) == sorted(planes)
    if expected.varies.sum() < 2:
        assert not planes
        return
    for number, normal in expected.normals.items():
        if number in expected.noise:
            planes.pop(number, None)
            continue
        # A direction of one column alone is none of these: it is an axis.
        if number not in planes:
            size = np.sort(np.abs(normal) * expected.spread)
            assert size[-2] < 1e-9 * size[-1]
            continue
        mine = planes.pop(number)
        assert not mine[~expected.varies].any()
        # Values have 24 bits, and columns that are nearly the same lose ten of them.
        assert parallel(mine * expected.spread, normal * expected.spread) < 3e-4
    bends = [planes.pop(number)[expected.varies] for number in (10, 11) if number in planes]
    assert not planes, "there are no other directions"
    if expected.bends is None:
        assert not bends
        return
    form, ridged, sizes = expected.bends
    assert len(bends) == min(2, len(sizes))
    natural = np.sqrt(np.outer(np.diag(ridged), np.diag(ridged)))
    scale = np.abs(form / natural).max() + 1e-3
    for bend, size in zip(bends, sizes, strict=True):
        length = np.sqrt(bend @ ridged @ bend)
        value = bend @ form @ bend / length**2
        assert abs(value) == pytest.approx(size, abs=0.03 * scale, rel=0.03)
        rest = (form - value * ridged) @ bend / length / np.sqrt(np.diag(ridged))
        assert np.abs(rest).max() < 0.05 * scale
    if len(bends) == 2:
        assert abs(bends[0] @ ridged @ bends[1]) < 0.05 * np.sqrt(
            (bends[0] @ ridged @ bends[0]) * (bends[1] @ ridged @ bends[1])
        )


seeds = st.integers(0, 10**6)


@examples(150)
@given(
    seed=seeds,
    n=st.integers(12, 70),
    n_outputs=st.sampled_from([1, 1, 1, 2, 3, 7]),
    weighted=st.booleans(),
    scale=st.sampled_from([None, "standard"]),
)
def test_directions(seed: int, n: int, n_outputs: int, weighted: bool, scale: str | None) -> None:
    problem = table(seed, n, n_outputs, weighted)
    found = proposed(problem, Proposals(Slopes(min_rows=None), scale=scale))
    grid = problem.target.grid.tolist()
    assert_directions(found, twin.slopes(np.array(problem.Z), grid, weights_of(problem)))


@examples(80)
@given(seed=seeds, n=st.integers(30, 80), weighted=st.booleans())
def test_directions_with_levels_and_gaps(seed: int, n: int, weighted: bool) -> None:
    problem = odd(table(seed, n, 1, weighted), seed)
    found = proposed(problem, Proposals(Slopes(min_rows=None), scale="standard"))
    grid = problem.target.grid.tolist()
    assert_directions(found, twin.slopes(coded_by_hand(problem), grid, weights_of(problem)))


@examples(60)
@given(seed=seeds, n=st.integers(20, 60), most=st.integers(2, 3), weighted=st.booleans())
def test_sparse_directions(seed: int, n: int, most: int, weighted: bool) -> None:
    """A direction is fitted anew by few features, which are chosen one by one."""
    problem = table(seed, n, 1, weighted)
    whole, sparse = (
        proposed(problem, Proposals(Slopes(min_rows=None), max_features=some))
        for some in (None, most)
    )
    assert whole[0] == sparse[0]
    matrix = twin.ridged_scatter(np.array(problem.Z), weights_of(problem))
    for dense, mine in zip(whole[1], sparse[1], strict=True):
        normal, kept = (full(plane, problem.n_features) for plane in (dense, mine))
        expected = fitted_by_few(matrix, normal, most)
        assert len(mine[0]) <= most
        assert explained(matrix, normal, kept) == pytest.approx(
            explained(matrix, normal, expected), rel=1e-6
        )


def explained(matrix: Any, normal: Any, few: Any) -> float:
    """How much of a direction's square another one explains, whatever its length."""
    return float((few @ matrix @ normal) ** 2 / (few @ matrix @ few))


# --- the split ----------------------------------------------------------------------------


def first_split(problem: Problem, proposals: Proposals, min_rows: int, **options: Any) -> Tree:
    rules = Rules(max_depth=1, min_samples_leaf=min_rows)
    return grow(problem, proposals, "squared_error", rules, **options)


def node_of(problem: Problem, price: float, min_rows: int = 1) -> twin.Node:
    weights = weights_of(problem)
    n_rows = problem.row_unit * float(sum(weights))
    return twin.Node(problem.target.grid.tolist(), weights, n_rows, price, min_rows)


def slanted(problem: Problem, proposals: Proposals) -> list[search.Direction]:
    """The directions that are proposed for the root."""
    return [
        search.Direction(tuple(idx.tolist()), tuple(coef.tolist()))
        for idx, coef in proposed(problem, proposals)[1]
    ]


def chosen(problem: Problem, X: Any, proposals: Proposals, min_rows: int) -> tuple[Any, Any]:
    """All candidates of the root, single columns first, and the twin's choice."""
    candidates = search.axes(problem.n_features) + slanted(problem, proposals)
    node = node_of(problem, proposals.proposer.price, min_rows)
    return candidates, node.best(X, candidates)


@examples(150)
@given(
    seed=seeds,
    n=st.integers(4, 60),
    n_outputs=st.sampled_from([1, 1, 2]),
    weighted=st.booleans(),
    price=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    min_rows=st.sampled_from([1, 3]),
)
def test_the_split_is_the_twins(
    seed: int, n: int, n_outputs: int, weighted: bool, price: float, min_rows: int
) -> None:
    """Bit for bit, given the directions: each is searched, and coefficients have their price."""
    problem = table(seed, n, n_outputs, weighted)
    proposals = Proposals(Slopes(price=price, min_rows=None), scale="standard")
    candidates, best = chosen(problem, np.array(problem.Z), proposals, min_rows)
    tree = first_split(problem, proposals, min_rows)
    if best is None:
        assert tree.n_nodes == 1
        return
    assert tree.n_nodes == 3
    winner = candidates[best.number]
    assert tuple(tree.coef_idx.tolist()) == winner.idx
    assert tuple(tree.coef.tolist()) == winner.coef
    assert tree.threshold[0] == best.threshold
    assert tree.gain[0] == best.worth * problem.target.gain_unit
    assert set(np.flatnonzero(tree.apply(problem.Z) == 1).tolist()) == best.left
    with threads_everywhere():
        assert first_split(problem, proposals, min_rows, n_threads=2) == tree


@examples(60)
@given(seed=seeds, n=st.integers(30, 80), weighted=st.booleans())
def test_the_split_with_levels_and_gaps(seed: int, n: int, weighted: bool) -> None:
    problem = odd(table(seed, n, 1, weighted), seed)
    proposals = Proposals(Slopes(price=0.25, min_rows=None), scale="standard")
    rows = np.arange(n, dtype=np.int32)
    X = np.array(CodedColumns(problem).at(rows, problem.counts).problem.Z)
    np.testing.assert_allclose(X, coded_by_hand(problem), rtol=1e-6, atol=1e-6)
    candidates, best = chosen(problem, X, proposals, 1)
    tree = first_split(problem, proposals, 1)
    assert best is not None
    assert tuple(tree.coef_idx.tolist()) == candidates[best.number].idx
    assert tuple(tree.coef.tolist()) == candidates[best.number].coef
    assert tree.gain[0] == best.worth * problem.target.gain_unit
    assert set(np.flatnonzero(tree.apply(problem.Z) == 1).tolist()) == best.left


@examples(80)
@given(seed=seeds, n=st.integers(30, 80), weighted=st.booleans(), gaps=st.sampled_from([0.1, 0.3]))
def test_gaps_go_to_the_better_side(seed: int, n: int, weighted: bool, gaps: float) -> None:
    """The best direction is tried in three ways; then it must beat the best single column."""
    problem = replace(odd(table(seed, n, 1, weighted), seed, gaps), sides=True)
    slopes = Slopes(price=0.25, min_rows=None)
    proposals = Proposals(slopes, scale="standard")
    rows = np.arange(n, dtype=np.int32)
    X = np.array(CodedColumns(problem).at(rows, problem.counts).problem.Z)
    node, directions = node_of(problem, slopes.price), slanted(problem, proposals)
    axis = first_split(problem, Proposals(Slopes(min_rows=10**6)), 1)
    rough = node.best(X, directions)
    ways: list[Any] = [None]
    if rough is not None:
        winner = directions[rough.number]
        gone = np.isnan(np.array(problem.Z)[:, list(winner.idx)]).any(axis=1)
        ways = node.sides(X, winner, gone)
    worth = [0.0 if way is None else way.worth * problem.target.gain_unit for way in ways]
    tree = first_split(problem, proposals, 1)
    if not max(worth) > axis.gain[0]:
        assert tree.gain[0] == axis.gain[0]
        assert len(tree.coef_idx) == 1
        return
    best = ways[worth.index(max(worth))]
    assert tree.gain[0] == max(worth)
    assert tuple(tree.coef.tolist()) == winner.coef
    assert set(np.flatnonzero(tree.apply(problem.Z) == 1).tolist()) == best.left
    if len(ways) == 3:  # of equals the stand-in wins, then the right side
        assert (
            tree.missing_side[0]
            == (0, MissingSide.RIGHT, MissingSide.LEFT)[worth.index(max(worth))]
        )


# --- larger trees -------------------------------------------------------------------------


def labels(tree: Tree) -> set[str]:
    oblique = ~tree.is_leaf & (tree.feature == -3)
    return {tree.origin_labels[k] for k in tree.origin[oblique]}


def test_all_kinds_of_directions_win_somewhere() -> None:
    found: set[str] = set()
    for seed in range(12):
        problem = table(seed, 300, 1 + seed // 6)
        tree = grow(problem, Proposals(Slopes(0.0)), "squared_error", Rules(max_depth=5))
        found |= labels(tree)
    expected = {f"numbers above quantile {q:.1f}" for q in (0.1, 0.3, 0.5, 0.7, 0.9)}
    expected |= {"least squares 0", "least squares 1", "bend 0", "bend 1"}
    assert found == expected


@pytest.mark.parametrize("seed", range(4))
def test_threads_order_and_weights_change_no_bit(seed: int) -> None:
    problem = table(seed, 900, 1 + seed % 2, weighted=True)
    if seed > 1:
        problem = odd(problem, seed)
    rules = Rules(best_first=True, max_leaf_nodes=20, min_weight_leaf=5)
    proposals = Proposals(Slopes(), scale="standard")

    def grown(problem: Problem, n_threads: int = 1) -> Tree:
        return grow(problem, proposals, "squared_error", rules, n_threads=n_threads)

    tree = grown(problem)
    assert "least squares" in " ".join(labels(tree)) or "quantile" in " ".join(labels(tree))
    with threads_everywhere():
        assert grown(problem, 3) == tree
    order = np.random.default_rng(seed).permutation(problem.n_rows)
    assert grown(problem.take(order)) == tree
    assert problem.weights is not None
    repeated = problem.take(np.repeat(np.arange(problem.n_rows), problem.weights))
    again = grown(replace(repeated, weights=None, row_counts=None))
    assert replace(again, n_samples=tree.n_samples) == tree


def test_few_rows_are_left_to_the_axes() -> None:
    problem = table(1, 60)
    rules = Rules(max_depth=3)
    tree = grow(problem, Proposals(Slopes(0.0, min_rows=61)), "squared_error", rules)
    assert tree == grow(problem, None, "squared_error", rules)
