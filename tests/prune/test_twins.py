"""Pruning against its twins: sequences, choices, reduced error, divisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import problems
import reference.prune as twin
from core.adapter import grow_tree, problem_of
from obliqua._core.base.rng import row_hashes
from obliqua.data.problem import Problem
from obliqua.prune import (
    cost_complexity_path,
    division,
    folds,
    hold_out,
    prune_by_folds,
    prune_on_rows,
    prune_reduced_error,
)
from obliqua.prune.cost_complexity import prune_alike
from obliqua.tree.tree import Tree
from problems import Case, examples
from strategies import trees

# Weights that are far apart have sums beyond what fractions of float64 can tell apart.
KINDS = ("integers", "eighths", "tenths", "with zeros")
cases = problems.cases(max_rows=30, max_columns=3, max_classes=3, weights=KINDS)
noisy = st.builds(problems.integers, st.integers(10, 60), st.just(2), seed=st.integers(0, 50))
flags = st.booleans()
seeds = st.integers(0, 2**64 - 1)
errors_allowed = st.sampled_from([0.0, 0.5, 1.0, 2.0])


def shape(tree: Tree) -> list[tuple[float, ...]]:
    """What tells cut trees of one tree apart: the counts of their leaves, in order."""

    def below(node: int) -> list[tuple[float, ...]]:
        if tree.is_leaf[node]:
            return [tuple(tree.stats[node].tolist())]
        first = int(tree.first_child[node])
        return [
            one for child in range(first, first + tree.n_children[node]) for one in below(child)
        ]

    return below(0)


def twin_shape(tree: twin.Node) -> list[tuple[float, ...]]:
    return [tuple(float(count) for count in leaf["counts"]) for leaf in twin.leaves(tree)]


def weights_of(problem: Problem) -> list[int]:
    return [1] * problem.n_rows if problem.weights is None else problem.weights.tolist()


def rows_of(tree: Tree, problem: Problem) -> list[twin.Row]:
    reached = tree.apply(problem.Z).tolist()
    return list(zip(reached, problem.y.tolist(), weights_of(problem), strict=True))


def hashes_of(problem: Problem, seed: int) -> list[int]:
    present = sorted(set(problem.y.tolist()))
    ranks = np.array([present.index(c) for c in problem.y.tolist()], dtype=np.int64)
    return row_hashes(problem.Z, ranks, seed).tolist()


def parts_of(problem: Problem, seed: int) -> list[twin.Part]:
    hashes = hashes_of(problem, seed)
    counts: list[int] | None = [1] * problem.n_rows
    if problem.weights is not None:
        counts = None if problem.row_counts is None else problem.row_counts.tolist()
    return twin.parts(hashes, weights_of(problem), counts, division.MOST_PARTS)


def weights_by_label(problem: Problem, seed: int, label: Any) -> dict[tuple[int, int], int]:
    """The weight of each group of equal rows with each label."""
    found: dict[tuple[int, int], int] = {}
    hashes = hashes_of(problem, seed)
    for number, said, weight in zip(hashes, label.tolist(), weights_of(problem), strict=True):
        found[number, int(said)] = found.get((number, int(said)), 0) + weight
    return found


def divided(case: Case, out: int) -> tuple[Problem, Problem]:
    """Every third row, say, apart from the others."""
    problem = problem_of(case)
    held = np.arange(problem.n_rows) % out == out - 1
    return problem.take(~held), problem.take(held)


# --- sequences ------------------------------------------------------------------------------


def assert_path_is_the_twins(tree: Tree, prune_root: bool) -> None:
    path = cost_complexity_path(tree, prune_root)
    steps = twin.sequence(twin.nested(tree), prune_root)
    total = float(tree.stats[0].sum()) or 1.0
    assert len(path) == len(steps)
    for step, (alpha, expected) in enumerate(steps):
        assert path.alphas[step] == pytest.approx(float(alpha), rel=1e-14)
        assert path.risks[step] * total == pytest.approx(float(twin.subtree_risk(expected)))
        assert path.n_leaves[step] == len(twin.leaves(expected))
        pruned = path.at(step)
        pruned.validate()
        assert pruned.n_leaves == path.n_leaves[step]
        assert shape(pruned) == twin_shape(expected)


@examples(150)
@given(case=st.one_of(cases, noisy), prune_root=flags)
def test_the_path_of_a_grown_tree(case: Case, prune_root: bool) -> None:
    assert_path_is_the_twins(grow_tree(case, rules={"zero_gain": True}), prune_root)


@examples(150)
@given(tree=trees(max_splits=12), prune_root=flags)
def test_the_path_of_a_tree_made_by_hand(tree: Tree, prune_root: bool) -> None:
    """Linear machines and sets of levels have more than two branches."""
    assert_path_is_the_twins(tree, prune_root)


@examples(80)
@given(case=st.one_of(cases, noisy), prune_root=flags)
def test_each_tree_is_part_of_the_one_before(case: Case, prune_root: bool) -> None:
    tree = grow_tree(case)
    path = cost_complexity_path(tree, prune_root)
    assert path.at(0) == tree
    assert (np.diff(path.alphas[1:]) > 0).all()
    assert path.alphas[0] == 0.0
    assert (np.diff(path.n_leaves) < 0).all()
    assert (np.diff(path.risks) >= 0).all()
    assert path.n_leaves[-1] == (1 if prune_root else min(tree.n_leaves, len(_root_alone(tree))))
    for step in range(1, len(path)):
        smaller, larger = path.at(step), path.at(step - 1)
        again = cost_complexity_path(larger, prune_root)
        if step > 1:  # step 1 may take back splits that save nothing, at price 0
            assert again.at(1) == smaller


def _root_alone(tree: Tree) -> range:
    return range(max(int(tree.n_children[0]), 1))


@examples(80)
@given(case=st.one_of(cases, noisy), price=st.floats(0, 1), prune_root=flags)
def test_a_price_gives_the_cheapest_tree(case: Case, price: float, prune_root: bool) -> None:
    path = cost_complexity_path(grow_tree(case), prune_root)
    cost = path.risks + price * path.n_leaves
    found = path.at_alpha(price)
    assert found.n_leaves in path.n_leaves
    assert cost[path.n_leaves == found.n_leaves][0] == pytest.approx(cost.min())
    for step, alpha in enumerate(path.alphas.tolist()):
        last = alpha == 0.0 and step + 1 < len(path) and path.alphas[step + 1] == 0.0
        assert path.at_alpha(alpha).n_leaves == path.n_leaves[step + last]


# --- choices --------------------------------------------------------------------------------


@examples(150)
@given(case=st.one_of(cases, noisy), out=st.integers(2, 4), n_se=errors_allowed, prune_root=flags)
def test_the_choice_of_held_out_rows(case: Case, out: int, n_se: float, prune_root: bool) -> None:
    rest, held = divided(case, out)
    tree = grow_tree(rest)
    pruned = prune_on_rows(tree, held, n_se, prune_root)
    if held.n_rows == 0:
        assert pruned is tree
        return
    steps = twin.sequence(twin.nested(tree), prune_root)
    wrong = [twin.errors(one, rows_of(tree, held)) for _, one in steps]
    step = twin.chosen(wrong, held.total_weight, held.unit, n_se)
    assert shape(pruned) == twin_shape(steps[step][1])


@examples(60)
@given(
    case=st.one_of(cases, noisy),
    n_folds=st.integers(2, 5),
    n_se=errors_allowed,
    prune_root=flags,
    seed=seeds,
)
def test_the_choice_of_folds(
    case: Case, n_folds: int, n_se: float, prune_root: bool, seed: int
) -> None:
    problem = problem_of(case)
    pruned = prune_by_folds(problem, grow_tree, n_folds, n_se, prune_root, seed)
    apart, number = folds(problem, n_folds, seed)
    expected = twin.folds(parts_of(problem, seed), n_folds)
    assert weights_by_label(apart, seed, number) == expected
    steps = twin.sequence(twin.nested(grow_tree(problem)), prune_root)
    if len(steps) == 1:
        assert pruned == grow_tree(problem)
        return

    def grown(fold: int) -> Any:
        out = number == fold
        tree = grow_tree(apart.take(~out))
        rows = rows_of(tree, apart.take(out))
        return twin.sequence(twin.nested(tree), prune_root), rows

    wrong = twin.fold_errors(steps, number.tolist(), grown)
    step = twin.chosen(wrong, problem.total_weight, problem.unit, n_se)
    assert shape(pruned) == twin_shape(steps[step][1])


@examples(40)
@given(case=st.one_of(cases, noisy), n_folds=st.integers(1, 4), seed=seeds)
def test_one_price_for_all_divisions(case: Case, n_folds: int, seed: int) -> None:
    divided, number = folds(problem_of(case), n_folds + 1, seed)
    outs = [out for fold in range(n_folds) if 0 < (out := number == fold).sum() < len(out)]
    grown = [grow_tree(divided.take(~out)) for out in outs]
    held = [divided.take(out) for out in outs]
    if not grown:
        return
    steps = [twin.sequence(twin.nested(tree), True) for tree in grown]
    rows = [rows_of(tree, some) for tree, some in zip(grown, held, strict=True)]
    wrong = twin.fold_errors(steps[0], range(len(grown)), lambda k: (steps[k], rows[k]))
    best = max(k for k, some in enumerate(wrong) if some == min(wrong))
    price = twin.middle_prices(steps[0])[best]
    expected = [twin_shape(one[twin.step_at(one, price)][1]) for one in steps]
    assert [shape(tree) for tree in prune_alike(grown, held)] == expected


@examples(150)
@given(
    case=problems.cases(max_rows=16, max_columns=3, max_classes=3, weights=KINDS),
    out=st.integers(2, 3),
    prune_root=flags,
)
def test_reduced_error_is_the_best_of_all_cut_trees(
    case: Case, out: int, prune_root: bool
) -> None:
    rest, held = divided(case, out)
    tree = grow_tree(rest)
    pruned = prune_reduced_error(tree, held, prune_root)
    if held.n_rows == 0:
        assert pruned is tree
        return
    best = twin.reduced_error(twin.nested(tree), rows_of(tree, held), prune_root)
    assert shape(pruned) == twin_shape(best)


# --- divisions ------------------------------------------------------------------------------


@examples(150)
@given(case=problems.cases(), fraction=st.floats(0.01, 0.99), seed=seeds)
def test_what_is_held_out(case: Case, fraction: float, seed: int) -> None:
    problem = problem_of(case)
    apart, held = hold_out(problem, fraction, seed)
    expected = twin.hold_out(parts_of(problem, seed), fraction)
    assert weights_by_label(apart, seed, held) == expected
    assert not held.all()
    assert apart.total_weight == problem.total_weight


@examples(100)
@given(case=problems.cases(), n_folds=st.integers(2, 12), seed=seeds)
def test_folds(case: Case, n_folds: int, seed: int) -> None:
    problem = problem_of(case)
    apart, number = folds(problem, n_folds, seed)
    divisible = parts_of(problem, seed)
    assert weights_by_label(apart, seed, number) == twin.folds(divisible, n_folds)
    assert len(set(number.tolist())) > 1 or len(divisible) == 1
