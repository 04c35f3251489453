"""What is true of every tree, whatever grew it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import problems
from core.adapter import (
    assert_rows_reach_their_leaves,
    assert_same_substance,
    grow_tree,
    problem_of,
)
from obliqua.engine.proposals import Proposals
from problems import Case, examples
from reference.criteria import CODES

NAMES = tuple(CODES)
criteria = st.sampled_from(NAMES)


def oblique(node: Any) -> Any:
    """Directions that depend on the number of columns only."""
    return np.random.default_rng(node.n_features).normal(size=(3, node.n_features))


proposers = st.sampled_from([None, Proposals(oblique, axis_parallel=True)])


def grown(case: Any, criterion: Any, rules: Any = None, proposer: Any = None) -> Any:
    if proposer is None:
        return grow_tree(case, criterion, rules)
    return grow_tree(case, criterion, rules, proposer)


# --- sums, gains, leaves ----------------------------------------------------------------------


@examples(100)
@given(case=problems.cases(), rules=problems.rules(), criterion=criteria, proposer=proposers)
def test_children_add_up_to_their_parent(
    case: Case, rules: dict[str, Any], criterion: str, proposer: Any
) -> None:
    problem = problem_of(case)
    tree = grown(problem, criterion, rules, proposer)
    inner = np.flatnonzero(tree.kind != 0)
    left = tree.first_child[inner]
    np.testing.assert_array_equal(
        tree.n_samples[inner], tree.n_samples[left] + tree.n_samples[left + 1]
    )
    np.testing.assert_array_equal(tree.stats[inner], tree.stats[left] + tree.stats[left + 1])
    assert (tree.gain >= 0.0).all()
    assert (tree.gain[tree.kind == 0] == 0.0).all()
    assert_rows_reach_their_leaves(tree, problem)


@examples(80)
@given(case=problems.cases(), rules=problems.rules(), criterion=criteria, proposer=proposers)
def test_rules_are_kept(case: Case, rules: dict[str, Any], criterion: str, proposer: Any) -> None:
    problem = problem_of(case)
    tree = grown(problem, criterion, rules, proposer)
    inner = tree.kind != 0
    below = np.arange(tree.n_nodes) > 0
    assert (tree.n_samples[inner] >= rules["min_samples_split"]).all()
    assert (tree.n_samples[below] >= rules["min_samples_leaf"]).all()
    weight = tree.stats.sum(axis=1) / problem.unit
    assert (weight[below] >= rules["min_weight_leaf"]).all()
    assert (tree.gain[inner] >= rules["min_gain"]).all()
    if not rules["zero_gain"]:
        assert (tree.gain[inner] > 0.0).all()
    minority = tree.stats.sum(axis=1) - tree.stats.max(axis=1)
    assert (minority[inner] > 0.0).all()
    assert (minority[inner] / tree.stats.sum(axis=1)[inner] > rules["max_leaf_error"]).all()
    if rules["max_depth"] is not None:
        assert tree.depth <= rules["max_depth"]
    if rules.get("max_leaf_nodes") is not None:
        assert tree.n_leaves <= rules["max_leaf_nodes"]


@examples(60)
@given(case=problems.plain_cases(max_rows=30))
def test_unlimited_growth_separates_what_can_be_separated(case: Case) -> None:
    """With splits of no gain, a leaf is pure or holds one point."""
    problem = problem_of(case)
    tree = grow_tree(problem, "twoing", {"zero_gain": True})
    leaf = tree.apply(problem.Z)
    for node in np.unique(leaf):
        here = leaf == node
        assert len(set(case.y[here].tolist())) == 1 or len(np.unique(case.X[here], axis=0)) == 1


# --- weights and repeats ----------------------------------------------------------------------


@examples(80)
@given(case=problems.cases(weights=("integers",)), criterion=criteria, proposer=proposers)
def test_a_weight_of_two_is_a_repeated_row(case: Case, criterion: str, proposer: Any) -> None:
    assume(case.sample_weight is not None)
    assert case.sample_weight is not None
    rows = np.repeat(np.arange(len(case.y)), case.sample_weight.astype(np.int64))
    repeated = replace(case.take(rows), sample_weight=None)
    one = grown(case, criterion, None, proposer)
    assert_same_substance(one, grown(repeated, criterion, None, proposer), but=("n_samples",))


@examples(60)
@given(case=problems.cases(weights=("with zeros",)), criterion=criteria)
def test_a_weight_of_zero_is_a_missing_row(case: Case, criterion: str) -> None:
    assume(case.sample_weight is not None)
    assert case.sample_weight is not None
    kept = case.take(np.flatnonzero(case.sample_weight))
    assert_same_substance(grown(case, criterion), grown(kept, criterion))


@examples(60)
@given(case=problems.cases(), exponent=st.integers(-20, 20), criterion=criteria)
def test_weights_times_a_power_of_two(case: Case, exponent: int, criterion: str) -> None:
    weight = np.ones(len(case.y)) if case.sample_weight is None else case.sample_weight
    scaled = replace(case, sample_weight=np.ldexp(weight, exponent))
    one, other = grown(case, criterion), grown(scaled, criterion)
    assert_same_substance(one, other, but=("stats",))
    np.testing.assert_array_equal(np.ldexp(one.stats, exponent), other.stats)


# --- order, names, scales ---------------------------------------------------------------------


@examples(100)
@given(
    case=problems.cases(),
    rules=problems.rules(),
    criterion=criteria,
    proposer=proposers,
    random=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_changes_nothing(
    case: Case, rules: dict[str, Any], criterion: str, proposer: Any, random: Any
) -> None:
    order = list(range(len(case.y)))
    random.shuffle(order)
    tree = grown(case, criterion, rules, proposer)
    assert tree == grown(case.take(np.array(order)), criterion, rules, proposer)


@examples(80)
@given(
    case=problems.cases(weights=("integers",)),
    criterion=st.sampled_from(["twoing", "gini", "max_minority", "sum_minority"]),
    proposer=proposers,
    random=st.randoms(use_true_random=False),
)
def test_the_names_of_classes_change_nothing(
    case: Case, criterion: str, proposer: Any, random: Any
) -> None:
    """For sums this small these criteria are exact, so they do not see the order of classes.

    Statistics move with their class, hence predictions too, but for leaves without a majority.
    """
    order = list(range(case.n_classes))
    random.shuffle(order)
    renamed = replace(case, y=np.array(order)[case.y])
    one = grown(case, criterion, None, proposer)
    other = grown(renamed, criterion, None, proposer)
    assert_same_substance(one, other, but=("stats",))
    np.testing.assert_array_equal(one.stats, other.stats[:, order])


@examples(80)
@given(
    case=problems.cases(columns=problems.ORDINARY),
    criterion=criteria,
    exponents=st.lists(st.integers(-30, 30), min_size=4, max_size=4),
)
def test_a_column_times_a_power_of_two(case: Case, criterion: str, exponents: list[int]) -> None:
    powers = np.array(exponents[: case.X.shape[1]])
    scaled = replace(case, X=np.ldexp(case.X, powers[None, :]))
    one, other = grown(case, criterion), grown(scaled, criterion)
    assert_same_substance(one, other, but=("threshold",))
    np.testing.assert_array_equal(np.ldexp(one.threshold, powers[one.coef_idx]), other.threshold)


@examples(60)
@given(case=problems.plain_cases(), criterion=criteria)
def test_a_constant_column_changes_nothing(case: Case, criterion: str) -> None:
    constant = np.full((len(case.y), 1), 3.0, dtype=case.X.dtype)
    wider = replace(case, X=np.hstack([constant, case.X]))
    one, other = grown(case, criterion), grown(wider, criterion)
    assert_same_substance(one, other, but=("coef_idx",))
    np.testing.assert_array_equal(one.coef_idx + 1, other.coef_idx)


@examples(40)
@given(case=problems.cases(), rules=problems.rules(), criterion=criteria)
def test_layout_and_width_change_nothing(
    case: Case, rules: dict[str, Any], criterion: str
) -> None:
    tree = grown(case, criterion, rules)
    for layout in problems.LAYOUTS:
        laid = problems.lay_out(case.X.astype(np.float64), layout)
        assert tree == grown(replace(case, X=laid), criterion, rules)


# --- order of growth --------------------------------------------------------------------------


@examples(80)
@given(case=problems.cases(), rules=problems.rules(), criterion=criteria, proposer=proposers)
def test_depth_first_is_best_first_without_a_limit(
    case: Case, rules: dict[str, Any], criterion: str, proposer: Any
) -> None:
    rules = {**rules, "max_leaf_nodes": None}
    deep = grown(case, criterion, {**rules, "best_first": False}, proposer)
    assert deep == grown(case, criterion, {**rules, "best_first": True}, proposer)


@examples(40)
@given(case=problems.cases(max_rows=40), criterion=criteria)
def test_more_leaves_are_a_larger_tree_of_the_same_splits(case: Case, criterion: str) -> None:
    """Each further leaf splits one leaf of the tree before and leaves the rest alone."""
    full = grown(case, criterion)
    before: set[tuple[Any, ...]] = set()
    for limit in range(1, full.n_leaves + 2):
        rules = {"best_first": True, "max_leaf_nodes": limit}
        tree = grown(case, criterion, rules)
        assert tree.n_leaves == min(limit, full.n_leaves)
        splits = _splits(tree)
        assert before <= splits
        assert len(splits) == tree.n_leaves - 1
        before = splits
    assert before == _splits(full)


def _splits(tree: Any) -> set[tuple[Any, ...]]:
    """(path, column, threshold, gain) of every axis-parallel split."""
    path = {0: ""}
    found = set()
    for node in range(tree.n_nodes):
        if tree.kind[node]:
            child, plane = int(tree.first_child[node]), int(tree.plane_ptr[node])
            path[child], path[child + 1] = path[node] + "L", path[node] + "R"
            column = int(tree.coef_idx[tree.coef_ptr[plane]])
            found.add((path[node], column, float(tree.threshold[plane]), float(tree.gain[node])))
    return found


@pytest.mark.parametrize("criterion", NAMES)
def test_growing_twice_is_growing_once(criterion: str) -> None:
    case = problems.gaussians(500, seed=5)
    assert grown(case, criterion) == grown(case, criterion)
