"""Data in parts: sums over ragged parts give the split and the tree of one memory, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.criteria import CRITERIA, get_criterion, vectorized
from obliqua.data.problem import Problem, encode
from obliqua.engine.grow import grow
from obliqua.engine.parts import Part, search_parts
from obliqua.engine.proposals import Directions, Planes, Proposals, read_directions
from obliqua.engine.rules import Rules
from obliqua.engine.search import SplitSearch
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree

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


def cut_up(problem: Problem, rows: Any, n_parts: int, seed: int) -> list[Part]:
    """The rows in another order, in ragged parts (some may be empty), each with its own arrays."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(rows)
    ends = np.sort(rng.integers(0, len(rows) + 1, n_parts - 1))
    parts = []
    for some in np.split(rows, ends):
        own = problem.take(some)
        parts.append(Part(own, np.arange(len(some), dtype=np.int32)))
    return parts


KINDS = ("normal", "integers", "outliers")


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_split_from_parts_is_the_split_in_memory(criterion: str) -> None:
    for seed, kind in enumerate(KINDS):
        n_parts = (16, 5, 1)[seed]
        problem = make_problem(seed, 600, kind)
        planes = make_planes(problem, seed)
        rows = np.arange(problem.n_rows, dtype=np.int32)
        rules = Rules(min_samples_leaf=1 + 20 * (seed % 2))
        counts = Part(problem, rows).sums()[:-1].copy()
        measure = get_criterion(criterion)
        whole = SplitSearch(problem, rows, counts, measure, rules).best(planes)
        for n_bins, few in [(256, 700), (7, 50)]:
            parts = cut_up(problem, rows, n_parts, seed)
            found = search_parts(parts, planes, measure, rules, n_bins=n_bins, few_rows=few)
            assert found is not None and whole is not None
            assert (found.goodness, found.order, found.rows_left, found.threshold) == (
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
        counts = Part(problem, rows).sums()[:-1].copy()
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


def stump(problem: Problem, split: Any, left: Any, right: Any) -> Tree:
    builder = TreeBuilder(problem.n_features, problem.n_classes)
    builder.add_split("root", (split.idx, split.coef), split.threshold, ("left", "right"))
    builder.set_leaf("left", left[:-1] * problem.unit, int(left[-1]))
    builder.set_leaf("right", right[:-1] * problem.unit, int(right[-1]))
    return builder.build()


def grow_from_parts(parts: list[Part], planes: Planes, rules: Rules, depth: int) -> Tree:
    """Grows level by level: route every part's rows, sum, choose, graft."""
    problem = parts[0].problem
    sums = np.sum([part.sums() for part in parts], axis=0)
    builder = TreeBuilder(problem.n_features, problem.n_classes)
    builder.set_leaf("root", sums[:-1] * problem.unit, int(sums[-1]))
    tree = builder.build()
    for _ in range(depth):
        leaves = [part.problem.Z[part.rows] for part in parts]
        where = [tree.apply(Z) for Z in leaves]  # route
        # From the last leaf to the first: grafting renumbers only what comes later.
        for leaf in sorted({int(k) for found in where for k in found}, reverse=True):
            if (tree.stats[leaf] > 0).sum() < 2:
                continue
            mine = [
                Part(part.problem, part.rows[found == leaf])
                for part, found in zip(parts, where, strict=True)
            ]
            split = search_parts(mine, planes, get_criterion("gini"), rules, n_bins=32)
            if split is None:
                continue
            right = [
                Part(
                    part.problem,
                    part.rows[
                        part.problem.Z[part.rows] @ _dense(split, problem) > split.threshold
                    ],
                )
                for part in mine
            ]
            right_sums = np.sum([part.sums() for part in right], axis=0)
            total = np.sum([part.sums() for part in mine], axis=0)
            tree = tree.graft(leaf, stump(problem, split, total - right_sums, right_sums))
    return tree


def _dense(split: Any, problem: Problem) -> Any:
    normal = np.zeros(problem.n_features)
    normal[split.idx] = split.coef
    return normal


@pytest.mark.parametrize("n_parts", [1, 4, 16, 37])
def test_tree_from_parts_is_the_tree_in_memory(n_parts: int) -> None:
    # Small integers, so that the plain product of the test is the canonical one.
    problem = make_problem(1, 1200, "integers")
    normals = [[1, 1, 0, 0], [1, -1, 0, 0], [0, 1, 2, 0], [1, -2, 1, -1]]
    planes = read_directions(np.vstack([np.eye(4), normals]), 4)
    assert planes is not None
    rules = Rules(max_depth=4)
    proposer = Proposals(lambda node: Directions(np.vstack([np.eye(4), normals])), False)
    whole = grow(problem, proposer, "gini", rules)
    parts = cut_up(problem, np.arange(problem.n_rows), n_parts, seed=n_parts)
    tree = grow_from_parts(parts, planes, rules, depth=4)
    for name in ("kind", "first_child", "coef_ptr", "coef_idx", "coef", "threshold", "stats"):
        np.testing.assert_array_equal(getattr(tree, name), getattr(whole, name), err_msg=name)
    np.testing.assert_array_equal(tree.n_samples, whole.n_samples)


def test_parts_take_the_first_cut_without_gain() -> None:
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]] * 3)
    problem = encode(X, (X[:, 0] != X[:, 1]).astype(int), 2)
    planes = read_directions(np.eye(2), 2)
    assert planes is not None
    rows = np.arange(len(X), dtype=np.int32)
    gini = get_criterion("gini")
    assert search_parts(cut_up(problem, rows, 3, 0), planes, gini, Rules()) is None
    rules = Rules(zero_gain=True)
    found = search_parts(cut_up(problem, rows, 3, 0), planes, gini, rules)
    assert found is not None
    assert (found.goodness, found.order, found.rows_left, found.threshold) == (0.0, 0, 6, 0.5)


def test_parts_with_other_weight_units_are_refused() -> None:
    X = np.arange(6.0)[:, None]
    rows = np.arange(6, dtype=np.int32)
    one = Part(encode(X, [0, 1] * 3, 2), rows)
    two = Part(encode(X, [0, 1] * 3, 2, sample_weight=[2.0] * 6), rows)
    planes = read_directions(np.eye(1), 1)
    assert planes is not None
    with pytest.raises(ValueError, match="same unit"):
        search_parts([one, two], planes, get_criterion("gini"), Rules())


@pytest.mark.parametrize("criterion", CONVEX)
def test_the_first_of_several_perfect_cuts_wins(criterion: str) -> None:
    """One perfect cut hides inside a bin, the next lies on an edge; a class is absent."""
    rng = np.random.default_rng(0)
    for n in (50, 301, 1000):
        y = np.repeat([0, 2], [n // 3, n - n // 3])
        hidden = np.where(y > 0, 0.5001, 0.5) + np.where(np.arange(n) == 0, -1.0, 0.0)
        hidden[-1] = 2.0
        problem = encode(np.column_stack([hidden, y, y]).astype(float), y, 3)
        planes = read_directions(np.eye(3), 3)
        assert planes is not None
        parts = cut_up(problem, rng.permutation(n), 4, seed=n)
        found = search_parts(parts, planes, get_criterion(criterion), Rules(), few_rows=1)
        assert found is not None and (found.order, found.rows_left) == (0, n // 3)


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
