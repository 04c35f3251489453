"""HHCART's compiled search against its NumPy twin, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    exact_measure,
    grow_tree,
    library_solve,
    problem_of,
    threads_everywhere,
    twin_data,
)
from obliqua._core.base.linalg import py_eigen, py_eigen_scatter
from obliqua.data.problem import Problem, encode
from obliqua.engine.moments import feature_scale, spread
from obliqua.engine.proposals import Proposals
from obliqua.methods.hhcart import Householder
from problems import cases, examples
from reference import grow as reference_grow
from reference import hhcart as twin
from reference.criteria import CODES


def twin_tree(
    problem: Problem, criterion: str, rules: dict[str, Any], proposals: Proposals
) -> dict[str, Any]:
    method = proposals.proposer
    options = twin.Options(
        variant=method.variant,
        target=method.target,
        tau=method.tau,
        min_rows=method.min_rows or 0,
        scale=feature_scale(problem, proposals.scale),
        fisher=method.fisher,
        max_features=proposals.max_features,
        trimmed=method.trim or None,
        zero_eigenvalues=method.zero_eigenvalues,
        eigen=py_eigen,
        eigen_scatter=py_eigen_scatter,
        solve=library_solve,
        spread=lambda rows: spread(problem, rows.astype(np.int32)),
    )
    return twin.grow(
        twin_data(problem),
        CODES[criterion],
        reference_grow.Rules(**rules),
        options,
        exact_measure(problem),
    )


methods = st.builds(
    Householder,
    variant=st.sampled_from(["all", "dominant"]),
    tau=st.sampled_from([0.0, 0.05, 0.4]),
    target=st.sampled_from(["first", "nearest"]),
    min_rows=st.sampled_from([None, 5]),
    fisher=st.booleans(),
    trim=st.sampled_from([0.0, 0.1, 0.3]),
    zero_eigenvalues=st.sampled_from(["correlation", "covariance"]),
)
proposals = st.builds(
    Proposals,
    methods,
    max_features=st.sampled_from([None, 1, 2, 3]),
    scale=st.sampled_from([None, "standard", "robust", "minmax"]),
)


@examples(150)
@given(
    case=cases(),
    proposals=proposals,
    criterion=st.sampled_from(["twoing", "gini", "entropy", "sum_variances", "max_minority"]),
    min_leaf=st.sampled_from([1, 2]),
)
def test_trees_equal_the_twins(
    case: Any, proposals: Proposals, criterion: str, min_leaf: int
) -> None:
    problem = problem_of(case)
    rules = {"max_depth": 3, "min_samples_leaf": min_leaf}
    tree = grow_tree(problem, criterion, rules, proposals)
    assert_equals_twin(tree, twin_tree(problem, criterion, rules, proposals))
    assert_rows_reach_their_leaves(tree, problem)


def blobs(seed: int, n: int, p: int, n_classes: int, weights: bool = False) -> Problem:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = (
        rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
        + 0.4 * rng.normal(size=(n_classes, p))[y]
    )
    if seed % 2:
        X = np.round(X * 2)
    weight = rng.integers(1, 4, n) if weights else None
    return encode(X, y, n_classes, sample_weight=weight)


@pytest.mark.parametrize("seed", range(6))
def test_larger_nodes_equal_the_twins(seed: int) -> None:
    """Large enough for bins."""
    variant = "all" if seed % 3 else "dominant"
    problem = blobs(seed, 300, 4, 2 + seed % 3)
    method = Proposals(Householder(variant, fisher=seed > 2))
    rules = {"max_depth": 2}
    tree = grow_tree(problem, "twoing", rules, method)
    assert tree.n_leaves > 2
    assert_equals_twin(tree, twin_tree(problem, "twoing", rules, method))


@pytest.mark.parametrize("zero_eigenvalues", ["correlation", "covariance"])
@pytest.mark.parametrize("seed", range(4))
def test_features_in_other_units_equal_the_twins(seed: int, zero_eigenvalues: str) -> None:
    """One of the features has a variance that dwarfs those of the others."""
    plain = blobs(seed, 200, 4, 2 + seed % 3)
    problem = encode(plain.Z * [1e6, 1.0, 1.0, 1e-3], plain.y, plain.n_classes)
    method = Proposals(Householder(zero_eigenvalues=zero_eigenvalues))
    rules = {"max_depth": 3}
    tree = grow_tree(problem, "twoing", rules, method)
    assert_equals_twin(tree, twin_tree(problem, "twoing", rules, method))


def test_the_unit_of_a_feature_does_not_hide_the_others() -> None:
    """The border runs obliquely through two features that are small beside a third."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 1] + X[:, 2] > 0).astype(int)
    X[:, 1:] = X[:, 1:] @ np.array([[1.0, 0.6], [0.6, 1.0]])  # axes of both classes: diagonals
    leaves = {}
    for rule in ("correlation", "covariance"):
        for unit in (1.0, 1e6):
            problem = encode(X * [unit, 1.0, 1.0], y, 2)
            tree = grow_tree(problem, "twoing", {}, Proposals(Householder(zero_eigenvalues=rule)))
            leaves[rule, unit] = tree.n_leaves
    assert leaves["correlation", 1e6] <= 2 * leaves["correlation", 1.0]
    assert leaves["covariance", 1e6] > 3 * leaves["correlation", 1e6]


@pytest.mark.parametrize("seed", range(4))
def test_threads_and_order_change_no_bit(seed: int) -> None:
    criterion = ("twoing", "gini", "sum_variances")[seed % 3]
    problem = blobs(seed, 1500, 5, 3, weights=seed == 2)
    method = Proposals(Householder("all" if seed else "dominant", fisher=True))
    tree = grow_tree(problem, criterion, {}, method)
    with threads_everywhere():
        assert tree == grow_tree(problem, criterion, {}, method, n_threads=3)
    order = np.random.default_rng(seed).permutation(problem.n_rows)
    mixed = problem.take(order)
    assert_same_substance(tree, grow_tree(mixed, criterion, {}, method))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_best_first_without_a_limit_grows_the_same_tree(n_threads: int) -> None:
    problem = blobs(5, 400, 3, 3)
    method = Proposals(Householder("dominant"))
    tree = grow_tree(problem, "twoing", {}, method)
    with threads_everywhere():
        other = grow_tree(problem, "twoing", {"best_first": True}, method, n_threads)
    assert tree == other


def test_best_first_stops_at_the_limit() -> None:
    problem = blobs(5, 400, 3, 3)
    method = Proposals(Householder("all"))
    tree = grow_tree(problem, "twoing", {"max_leaf_nodes": 5}, method)
    assert tree.n_leaves == 5
    with threads_everywhere():
        assert tree == grow_tree(problem, "twoing", {"max_leaf_nodes": 5}, method, n_threads=2)
    assert_rows_reach_their_leaves(tree, problem)


def test_origins_and_the_gain_over_the_axes() -> None:
    problem = blobs(0, 500, 3, 2)
    tree = grow_tree(problem, "twoing", {}, Proposals(Householder("dominant")))
    inner = ~tree.is_leaf
    oblique = inner & (tree.feature == -3)
    assert oblique.any()
    assert (tree.gain[oblique] > tree.axis_gain[oblique]).all()
    straight = inner & ~oblique
    np.testing.assert_array_equal(tree.gain[straight], tree.axis_gain[straight])
    labels = {tree.origin_labels[k] for k in tree.origin[oblique]}
    assert all(label.startswith("class ") for label in labels)
    assert {tree.origin_labels[k] for k in tree.origin[straight]} <= {"axis-parallel"}
