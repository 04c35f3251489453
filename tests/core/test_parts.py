"""Data in parts: sums over ragged parts give the split of one memory, bit for bit.

Whole trees from parts are compared in `properties/test_row_sources.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.adapter import search_parts
from obliqua.criteria import CRITERIA, get_criterion, vectorized
from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.passes import Zoom
from obliqua.engine.proposals import Planes, read_directions
from obliqua.engine.rules import Rules
from obliqua.engine.search import SplitSearch

CONVEX = [name for name, criterion in CRITERIA.items() if criterion.convex]


def make_problem(seed: int, n: int, kind: str) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    if kind == "integers":
        X = np.round(2 * X)
    elif kind == "outliers":
        X[rng.random(n) < 0.01] *= 1e6
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=n) > 0).astype(int)
    y += (rng.random(n) < 0.2) & (X[:, 3] > 0)
    weight = rng.integers(1, 4, n) if seed % 2 else None
    return encode(X, y, 3, sample_weight=weight)


def make_planes(problem: Problem, seed: int = 0) -> Planes:
    normals = np.random.default_rng(seed).normal(size=(6, problem.n_features))
    planes = read_directions(np.vstack([np.eye(problem.n_features), normals]), problem.n_features)
    assert planes is not None
    return planes


def cut_up(problem: Problem, n_parts: int, seed: int) -> list[Problem]:
    """The rows in another order, in ragged parts (some may be empty), each with its own arrays."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(problem.n_rows)
    ends = np.sort(rng.integers(0, len(rows) + 1, n_parts - 1))
    return [problem.take(some) for some in np.split(rows, ends)]


KINDS = ("normal", "integers", "outliers")


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_split_from_parts_is_the_split_in_memory(criterion: str) -> None:
    for seed, kind in enumerate(KINDS):
        n_parts = (16, 5, 1)[seed]
        problem = make_problem(seed, 600, kind)
        planes = make_planes(problem, seed)
        rows = np.arange(problem.n_rows, dtype=np.int32)
        rules = Rules(min_samples_leaf=1 + 20 * (seed % 2))
        counts = problem.counts
        measure = get_criterion(criterion)
        whole = SplitSearch(problem, rows, counts, measure, rules).best(planes)
        for n_bins, few in [(256, 700), (7, 50)]:
            parts = cut_up(problem, n_parts, seed)
            found = search_parts(parts, planes, measure, rules, Zoom(n_bins, few))
            assert whole is not None
            assert (found.score, found.line, found.rows_left, found.threshold) == (
                whole.goodness,
                whole.order,
                whole.rows_left,
                whole.threshold,
            )


@pytest.mark.parametrize("criterion", CONVEX)
def test_bins_find_what_sorting_finds(criterion: str) -> None:
    """3,000 rows go through bins in memory; a criterion given as a function is scanned sorted."""
    for seed, kind in enumerate(KINDS):
        problem = make_problem(seed, 3000, kind)
        planes = make_planes(problem, seed)
        rows = np.arange(problem.n_rows, dtype=np.int32)
        counts = problem.counts
        binned = SplitSearch(problem, rows, counts, get_criterion(criterion), Rules()).best(planes)
        by_hand = get_criterion(vectorized(lambda *sides: CRITERIA[criterion].function(*sides)))
        scanned = SplitSearch(problem, rows, counts, by_hand, Rules()).best(planes)
        assert binned is not None and scanned is not None
        assert (binned.order, binned.rows_left, binned.threshold) == (
            scanned.order,
            scanned.rows_left,
            scanned.threshold,
        )
        assert binned.goodness == pytest.approx(scanned.goodness, rel=1e-12)


def test_parts_take_the_first_cut_without_gain() -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    problem = encode(X, (X[:, 0] != X[:, 1]).astype(int), 2)
    planes = read_directions(np.eye(2), 2)
    assert planes is not None
    gini = get_criterion("gini")
    assert search_parts(cut_up(problem, 3, 0), planes, gini, Rules()).line == -1
    found = search_parts(cut_up(problem, 3, 0), planes, gini, Rules(zero_gain=True))
    assert (found.score, found.line, found.rows_left, found.threshold) == (0.0, 0, 6, 0.5)


@pytest.mark.parametrize("criterion", CONVEX)
def test_the_first_of_several_perfect_cuts_wins(criterion: str) -> None:
    """One perfect cut hides inside a bin, the next lies on an edge; a class is absent."""
    for n in (50, 301, 1000):
        y = np.repeat([0, 2], [n // 3, n - n // 3])
        hidden = np.where(y > 0, 0.5001, 0.5) + np.where(np.arange(n) == 0, -1.0, 0.0)
        hidden[-1] = 2.0
        problem = encode(np.column_stack([hidden, y, y]).astype(float), y, 3)
        planes = read_directions(np.eye(3), 3)
        assert planes is not None
        parts = cut_up(problem, 4, seed=n)
        zoom = Zoom(few_values=1)
        found = search_parts(parts, planes, get_criterion(criterion), Rules(), zoom)
        assert (found.line, found.rows_left) == (0, n // 3)


@pytest.mark.parametrize("proposer", [None, lambda node: [[1.0, 1.0, 0.0, 0.0]]])
def test_a_tree_grown_in_pieces_is_the_tree(proposer: Any) -> None:
    """Grow one level, then each child with its depth and the whole tree's weight, and graft."""
    problem = make_problem(1, 500, "integers")
    whole = grow(problem, proposer, "gini", Rules(max_depth=6))
    tree = grow(problem, proposer, "gini", Rules(max_depth=1))
    where = tree.apply(problem.Z)
    for leaf in (2, 1):
        rows = where == leaf
        assert problem.weights is not None
        mine = problem.take(rows)
        part = grow(
            mine,
            proposer,
            "gini",
            Rules(max_depth=6),
            depth=1,
            total_weight=problem.total_weight,
        )
        tree = tree.graft(leaf, part)
    for name in ("kind", "first_child", "coef_idx", "threshold", "stats", "gain", "axis_gain"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(whole, name), err_msg=name)


def test_a_limit_on_leaves_needs_no_order() -> None:
    problem = make_problem(0, 500, "normal")
    limited = grow(problem, None, "gini", Rules(max_leaf_nodes=5))
    assert limited.n_leaves == 5
    assert limited == grow(problem, None, "gini", Rules(max_leaf_nodes=5, best_first=True))
