"""What must change nothing: the order of rows, repeated rows instead of weights, units."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import problems
from core.adapter import assert_same_substance, grow_tree, problem_of
from obliqua import measure_spread
from obliqua.data.problem import Problem, encode
from obliqua.prune import (
    PRUNERS,
    Pruner,
    Seedless,
    cost_complexity_path,
    folds,
    get_pruner,
    grow_pruned,
    hold_out,
    prune_on_rows,
    prune_reduced_error,
)
from obliqua.prune.pruners import Pessimistic
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree
from problems import Case, examples

seeds = st.integers(0, 2**64 - 1)
pruners = st.builds(
    get_pruner,
    st.sampled_from(list(PRUNERS)),
    prune_fraction=st.sampled_from([0.1, 0.25, 0.5, 0.9]),
    n_folds=st.integers(2, 12),
    n_se=st.sampled_from([0.0, 1.0]),
    prune_root=st.booleans(),
    ccp_alpha=st.sampled_from([None, None, None, 0.0, 0.1]),
    confidence_factor=st.sampled_from([0.25, 0.05]),
    subtree_raising=st.booleans(),
)


def pruned(case: Case, pruner: Pruner, seed: int) -> Tree:
    return grow_pruned(problem_of(case), grow_tree, pruner, seed)


@examples(150)
@given(
    case=problems.cases(),
    pruner=pruners,
    seed=seeds,
    random=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_nothing(
    case: Case, pruner: Pruner, seed: int, random: Any
) -> None:
    order = list(range(len(case.y)))
    random.shuffle(order)
    tree = pruned(case, pruner, seed)
    assert tree == pruned(case.take(np.array(order)), pruner, seed)


@examples(150)
@given(
    case=problems.cases(weights=("integers", "with zeros")),
    pruner=pruners,
    seed=seeds,
    factor=st.sampled_from([1, 2, 3]),
)
def test_a_weight_of_two_is_a_repeated_row(
    case: Case, pruner: Pruner, seed: int, factor: int
) -> None:
    weight = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    # A factor that all weights of a class share is the weight of the class, not a count: so
    # each class gets one row more, of weight 1.
    _, first = np.unique(case.y, return_index=True)
    case = case.take(np.append(np.arange(len(case.y)), first))
    weight = np.append(weight * factor, np.ones(len(first)))
    weighted = replace(case, sample_weight=weight)
    rows = np.repeat(np.arange(len(case.y)), weight.astype(np.int64))
    repeated = replace(case.take(rows), sample_weight=None)
    one, other = pruned(weighted, pruner, seed), pruned(repeated, pruner, seed)
    assert_same_substance(one, other, but=("n_samples",))


@examples(80)
@given(case=problems.cases(), exponent=st.integers(-40, 40), pruner=pruners, seed=seeds)
def test_weights_times_a_power_of_two(
    case: Case, exponent: int, pruner: Pruner, seed: int
) -> None:
    """But for standard errors and pessimism, which take weights for numbers of rows.

    So does the division of rows: a row of weight 2 may be cut in two, one of weight 1 not.
    """
    assume(not vars(pruner).get("n_se") and not isinstance(pruner, Pessimistic))
    weight = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    scaled = replace(case, sample_weight=np.ldexp(weight, exponent))
    counts = [problem_of(each).row_counts is not None for each in (case, scaled)]
    assume(case.sample_weight is None or isinstance(pruner, Seedless) or counts[0] == counts[1])
    one, other = pruned(case, pruner, seed), pruned(scaled, pruner, seed)
    assert_same_substance(one, other, but=("stats",))


def test_equal_rows_are_divided_too() -> None:
    """A table with four different rows: each part has a tenth of each of them, about."""
    X = np.repeat([0.0, 0.0, 1.0, 1.0], [850, 149, 301, 700])[:, None]
    y = np.repeat([0, 1, 0, 1], [850, 149, 301, 700])
    problem = encode(X, y, 2)
    for seed in range(10):
        _, held = hold_out(problem, 0.1, seed)
        assert held.sum() == 200
        for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
            cell = (X[:, 0] == a) & (y == b)
            assert 0.01 < held[cell].mean() < 0.22
        _, number = folds(problem, 10, seed)
        assert np.bincount(number).tolist() == [200] * 10


def test_weights_that_are_no_counts_keep_equal_rows_together() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(60, 2)).astype(float)
    problem = encode(X, np.arange(60) % 2, 2, sample_weight=rng.random(60))
    rows = [(*row, label) for row, label in zip(X.tolist(), np.arange(60) % 2, strict=True)]
    for _, label in (hold_out(problem, 0.3, 1), folds(problem, 4, 1)):
        assert len(set(label.tolist())) > 1
        assert len(set(zip(rows, label.tolist(), strict=True))) == len(set(rows))


def places(problem: Problem, label: Any) -> set[tuple[Any, ...]]:
    """Return which rows have which labels."""
    return {(*row, one) for row, one in zip(problem.Z.tolist(), label.tolist(), strict=True)}


@pytest.mark.parametrize("as_weights", [True, False])
def test_equal_features_stay_together(as_weights: bool) -> None:
    """Whatever their labels and weights are, and in any order."""
    rng = np.random.default_rng(0)
    X, times = np.repeat(rng.normal(size=(200, 2)), 2, axis=0), rng.integers(1, 9, 400)
    y, whole = np.arange(400) % 2, np.ones(400)
    if as_weights:
        whole = times.astype(float)
    else:
        X, y, whole = np.repeat(X, times, axis=0), np.repeat(y, times), np.ones(times.sum())
    order = rng.permutation(len(y))
    divided = []
    for some in (order, order[::-1]):
        problem = encode(X[some], y[some], 2, sample_weight=whole[some])
        kept, number = folds(problem, 5, 3, together=True)
        assert set(number.tolist()) == set(range(5))
        of_rows = places(problem, number)
        assert len(of_rows) == 200
        divided.append(of_rows)
        kept, held = hold_out(problem, 0.2, 3, together=True)
        assert len(places(kept, held)) == 200
    assert divided[0] == divided[1]
    apart, number = folds(problem, 5, 3)
    assert len(places(apart, number)) > 600


def test_few_different_rows_do_not_stay_together() -> None:
    """49 of them are enough for two folds, and not for five."""
    X = np.random.default_rng(0).integers(0, 7, size=(3000, 2)).astype(float)
    problem = encode(X, (X[:, 0] > 3).astype(int), 2)
    found = {n: folds(problem, n, 3, together=True)[1] for n in (2, 5)}
    assert len(places(problem, found[2])) == 49
    assert len(places(problem, found[5])) > 100
    np.testing.assert_array_equal(found[5], folds(problem, 5, 3)[1])


def test_rows_without_equals_are_divided_as_ever() -> None:
    problem = encode(np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 3, 3)
    np.testing.assert_array_equal(folds(problem, 5, 3, together=True)[1], folds(problem, 5, 3)[1])


def test_divisions_have_the_weight_that_they_should() -> None:
    case = problems.gaussians(1000)
    problem = problem_of(case)
    assert hold_out(problem, 0.1, 0)[1].sum() == 100
    assert np.bincount(folds(problem, 10, 0)[1]).tolist() == [100] * 10
    heavy = np.ones(1000)
    heavy[:3] = 500.0
    problem = encode(case.X, case.y, case.n_classes, sample_weight=heavy)
    for seed in range(20):  # a weight of 500 is as many rows
        apart, held = hold_out(problem, 0.1, seed)
        assert apart.weights is not None
        assert apart.weights[held].sum() == 250
        assert apart.n_rows == 1003
    divisions = {hold_out(problem, 0.1, seed)[1].tobytes() for seed in range(20)}
    assert len(divisions) == 20
    odd = np.where(np.arange(1000) < 3, 1500.0, 1.0) * (1 + np.random.default_rng(0).random(1000))
    problem = encode(case.X, case.y, case.n_classes, sample_weight=odd)
    for seed in range(20):  # a row that is too heavy to hold out keeps no other from it
        apart, held = hold_out(problem, 0.1, seed)
        assert apart is problem
        assert not held[:3].any()
        assert held.sum() > 200


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 5])
def test_few_rows_are_not_held_out(n_rows: int) -> None:
    problem = encode(np.arange(n_rows)[:, None] * 1.0, np.arange(n_rows) % 2, 2)
    assert not hold_out(problem, 0.1, 0)[1].any()
    tree = grow_pruned(problem, grow_tree, get_pruner("holdout"), 0)
    assert tree == measure_spread(grow_tree(problem), problem.Z)


def test_no_rows_prune_nothing() -> None:
    problem = problem_of(problems.integers(60))
    tree = grow_tree(problem)
    none = problem.take(np.zeros(60, dtype=bool))
    assert prune_on_rows(tree, none, prune_root=True) is tree
    assert prune_reduced_error(tree, none, prune_root=True) is tree


def test_a_tree_without_counts() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", [0, 0])
    builder.set_leaf("high", [0, 0])
    path = cost_complexity_path(builder.build())
    assert path.alphas.tolist() == path.risks.tolist() == [0.0, 0.0]
    assert path.n_leaves.tolist() == [2, 1]


def _large(kind: str) -> tuple[Tree, Problem]:
    """A tree of about 20,000 leaves, most of them noise, and rows to prune it."""
    case = problems.gaussians(44_000, n_columns=3, n_classes=5)
    weight = np.random.default_rng(2).random(44_000) if kind == "weighted" else None
    problem = encode(case.X, case.y, 5, sample_weight=weight)
    problem, held = hold_out(problem, 0.1, 0)
    return grow_tree(problem.take(~held)), problem.take(held)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_large_trees_are_pruned_quickly(kind: str) -> None:
    """A few tenths of a second; an algorithm that looks at all nodes for each cut takes hours."""
    tree, held = _large(kind)
    assert tree.n_leaves > 15_000
    begin = process_time()
    one, other = prune_on_rows(tree, held), prune_reduced_error(tree, held)
    assert process_time() - begin < 5.0
    assert 2 <= one.n_leaves < tree.n_leaves
    assert 2 <= other.n_leaves < tree.n_leaves
