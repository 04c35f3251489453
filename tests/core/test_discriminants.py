"""The compiled discriminants against their NumPy twin, bit for bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from core.adapter import (
    assert_equals_twin,
    assert_rows_reach_their_leaves,
    assert_same_substance,
    exact_measure,
    grow_tree,
    library_half,
    library_solve,
    problem_of,
    threads_everywhere,
    twin_data,
)
from core.test_householder import blobs
from obliqua._core.base.linalg import py_eigen
from obliqua.data.problem import Problem, encode
from obliqua.engine.coding import CodedColumns
from obliqua.engine.compiled import Task
from obliqua.engine.moments import feature_scale, spread
from obliqua.engine.proposals import Proposals
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.hhcart import Householder
from problems import cases, examples
from properties.test_odd_columns import as_problem
from reference import discriminants as twin
from reference import grow as reference_grow
from reference import hhcart as hhcart_twin
from reference.criteria import CODES

Array = NDArray[np.float64]


def twin_options(problem: Problem, proposals: Proposals) -> hhcart_twin.Options:
    """The twin's options for `Discriminants` or `Householder(discriminants=True)`."""
    method = proposals.proposer
    p, mirrors = problem.n_features, isinstance(method, Householder)
    first = p + (problem.n_classes * (p * p + 1) if mirrors else 0)
    more = {}
    if mirrors:
        more = {"target": method.target, "tau": method.tau, "trimmed": method.trim or None}
    return hhcart_twin.Options(
        variant=method.variant if mirrors else None,
        fisher=mirrors and method.fisher,
        min_rows=method.min_rows or 0,
        scale=feature_scale(problem, proposals.scale),
        max_features=proposals.max_features,
        eigen=py_eigen,
        solve=library_solve,
        spread=lambda rows: spread(problem, rows.astype(np.int32)),
        more=twin.Discriminants(first, method.superclasses, library_half),
        **more,
    )


def twin_tree(
    problem: Problem, criterion: str, rules: dict[str, Any], proposals: Proposals
) -> dict[str, Any]:
    return hhcart_twin.grow(
        twin_data(problem),
        CODES[criterion],
        reference_grow.Rules(**rules),
        twin_options(problem, proposals),
        exact_measure(problem),
    )


methods = st.one_of(
    st.builds(Discriminants, st.booleans(), st.sampled_from([None, 5])),
    st.builds(
        Householder,
        variant=st.sampled_from(["all", "dominant"]),
        fisher=st.booleans(),
        trim=st.sampled_from([0.0, 0.3]),
        discriminants=st.just(True),
    ),
)
proposals = st.builds(
    Proposals,
    methods,
    max_features=st.sampled_from([None, 1, 2, 3]),
    scale=st.sampled_from([None, "standard", "robust", "minmax"]),
)
CRITERIA = ["twoing", "gini", "entropy", "sum_variances", "max_minority"]


@examples(200)
@given(
    case=cases(),
    proposals=proposals,
    criterion=st.sampled_from(CRITERIA),
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


def many_classes(seed: int, n: int, p: int, n_classes: int, weights: bool = False) -> Problem:
    """Clouds around means of their own, in groups; with ties, equal rows and a constant column."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    y[:n_classes] = np.arange(n_classes)
    centres = 2.0 * rng.normal(size=(n_classes, p))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + centres[y]
    if seed % 2:
        X = np.round(X)
    X[n // 2 : n // 2 + n // 8] = X[: n // 8]
    if seed % 3 == 0:
        X[:, -1] = 7.0
    weight = rng.integers(1, 4, n) if weights else None
    return encode(X, y, n_classes, sample_weight=weight)


@pytest.mark.parametrize("seed", range(8))
def test_larger_nodes_equal_the_twins(seed: int) -> None:
    """Many classes, more of them than features and fewer; large enough for bins."""
    criterion = ("gini", "twoing", "entropy")[seed % 3]
    problem = many_classes(seed, 300, 4, (3, 4, 7, 12)[seed % 4], weights=seed == 6)
    method = Proposals(Discriminants(), scale="standard" if seed % 2 else None)
    rules = {"max_depth": 3}
    tree = grow_tree(problem, criterion, rules, method)
    assert tree.n_leaves > 3
    assert_equals_twin(tree, twin_tree(problem, criterion, rules, method))


@pytest.mark.parametrize("seed", range(4))
def test_with_reflections_equal_the_twins(seed: int) -> None:
    problem = many_classes(seed, 200, 3, 6)
    method = Proposals(Householder("all" if seed % 2 else "dominant", discriminants=True))
    rules = {"max_depth": 2}
    tree = grow_tree(problem, "gini", rules, method)
    assert_equals_twin(tree, twin_tree(problem, "gini", rules, method))


def labels(tree: Any) -> set[str]:
    oblique = ~tree.is_leaf & (tree.feature == -3)
    return {tree.origin_labels[k] for k in tree.origin[oblique]}


def test_all_kinds_of_directions_win_somewhere() -> None:
    """So the comparisons with the twin are about all of them."""
    found: set[str] = set()
    for seed in range(8):
        tree = grow_tree(many_classes(seed, 600, 5, 12), "gini", {}, Proposals(Discriminants()))
        found |= labels(tree)
    assert any(label.startswith("class ") for label in found)
    assert any(label.startswith("discriminant ") for label in found)
    assert any(label.endswith("step 0") for label in found)
    assert any(label.endswith("step 1") for label in found)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 9])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_directions_of_a_node_are_those_of_the_formulas(seed: int, n_classes: int) -> None:
    """The twin in plain NumPy, without the library's sums and solutions."""
    problem = many_classes(seed, 120, 5, n_classes)
    numbers, planes = loaded(problem, Discriminants()).directions()
    data = twin_data(problem)
    node = hhcart_twin.Node(
        data,
        np.arange(problem.n_rows),
        twin.search.score_function(CODES["gini"]),
        twin.search.Limits(),
        hhcart_twin.Options(variant=None),
        hhcart_twin.plain_measure(data),
    )
    axis = hhcart_twin.canonical_split(node, twin.search.axes(problem.n_features))
    theirs = list(twin.Discriminants(problem.n_features)(node, [], axis))
    assert numbers == [one.number for one in theirs]
    for (idx, coef), one in zip(planes, theirs, strict=True):
        assert tuple(idx) == one.normal.idx
        np.testing.assert_allclose(coef, one.normal.coef, rtol=2e-6, atol=2e-6)


def loaded(problem: Problem, method: Any) -> Any:
    """A finder that has read all rows."""
    finder = method.finder(Task(problem, problem.n_rows, 0, np.ones(problem.n_features)))
    rows = np.arange(problem.n_rows, dtype=np.int32)
    limits = (CODES["gini"], 1, 0)
    finder.load(problem.Z, rows, problem.target_rows, class_weights(problem), limits)
    return finder


def class_weights(problem: Problem) -> NDArray[np.int64]:
    sums = np.zeros(problem.n_classes, dtype=np.int64)
    np.add.at(sums, problem.y, 1 if problem.weights is None else problem.weights)
    return sums


def reordered(problem: Problem, seed: int) -> Problem:
    order = np.random.default_rng(seed).permutation(problem.n_rows)
    return problem.take(order)


@pytest.mark.parametrize("best_first", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_threads_and_order_change_no_bit(seed: int, best_first: bool) -> None:
    criterion = ("twoing", "gini", "sum_variances")[seed % 3]
    problem = many_classes(seed, 1500, 5, 3 + 4 * (seed % 3), weights=seed == 2)
    method = Proposals(Discriminants() if seed else Householder("dominant", discriminants=True))
    rules = {"best_first": best_first, "max_leaf_nodes": 40 if best_first else None}
    tree = grow_tree(problem, criterion, rules, method)
    with threads_everywhere():
        for n_threads in (2, 3):
            assert tree == grow_tree(problem, criterion, rules, method, n_threads)
    assert_same_substance(tree, grow_tree(reordered(problem, seed), criterion, rules, method))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_best_first_without_a_limit_grows_the_same_tree(n_threads: int) -> None:
    problem = many_classes(5, 400, 3, 6)
    method = Proposals(Discriminants())
    tree = grow_tree(problem, "gini", {}, method)
    with threads_everywhere():
        other = grow_tree(problem, "gini", {"best_first": True}, method, n_threads)
    assert tree == other


def test_a_weight_of_two_is_a_repeated_row() -> None:
    problem = many_classes(1, 300, 4, 7, weights=True)
    assert problem.weights is not None
    method = Proposals(Discriminants())
    tree = grow_tree(problem, "gini", {}, method)
    rows = np.repeat(np.arange(problem.n_rows), problem.weights)
    repeated = replace(problem.take(rows), weights=None)
    other = grow_tree(repeated, "gini", {}, method)
    assert_same_substance(tree, other, but=("n_samples",))


def gini(left: Array, right: Array) -> float:
    n_left, n_right = left.sum(), right.sum()
    apart = left / n_left - right / n_right
    return float(n_left * n_right / (n_left + n_right) ** 2 * (apart**2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_a_criterion_in_python_sees_the_same_directions(seed: int) -> None:
    problem = many_classes(seed, 200, 3, 6)
    method = Proposals(Discriminants())
    ours = grow_tree(problem, "gini", {"max_depth": 2}, method)
    theirs = grow_tree(problem, gini, {"max_depth": 2}, method)
    assert_same_substance(ours, theirs, but=("gain",))


def test_an_error_of_a_criterion_in_python_comes_through() -> None:
    def broken(left: Array, right: Array) -> float:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        grow_tree(many_classes(0, 100, 3, 6), broken, {}, Proposals(Discriminants()))


def test_without_the_axes_in_competition() -> None:
    problem = many_classes(2, 200, 3, 6)
    method = Proposals(Discriminants(), axis_parallel=False)
    tree = grow_tree(problem, "gini", {"max_depth": 2}, method)
    assert (tree.feature[~tree.is_leaf] == -3).all()
    assert tree == grow_tree(problem, "gini", {"max_depth": 2}, method, n_threads=2)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_split_uses_more_features_than_allowed(most: int) -> None:
    problem = many_classes(4, 500, 6, 7)
    tree = grow_tree(problem, "gini", {}, Proposals(Discriminants(), max_features=most))
    assert np.diff(tree.coef_ptr).max() == most


def test_two_classes_and_superclasses_need_no_second_round() -> None:
    """Of up to three classes, every superclass is one class or all but one."""
    for n_classes in (2, 3):
        problem = blobs(4, 300, 4, n_classes)
        with_them = grow_tree(problem, "gini", {}, Proposals(Discriminants()))
        without = grow_tree(problem, "gini", {}, Proposals(Discriminants(superclasses=False)))
        assert with_them == without


def test_superclasses_find_better_cuts() -> None:
    """The first splits of ten problems with ten classes each gain more together."""
    gains = {True: 0.0, False: 0.0}
    for seed in range(10):
        problem = many_classes(seed, 400, 5, 10)
        for kind in gains:
            method = Proposals(Discriminants(superclasses=kind))
            gains[kind] += grow_tree(problem, "gini", {"max_depth": 1}, method).gain[0]
    assert gains[True] > gains[False]


def test_scaled_features_have_the_same_directions() -> None:
    """They go with the features' units, whatever `scale` says, but for rounding."""
    problem = many_classes(8, 400, 4, 6)
    wide = replace(problem, Z=problem.Z * np.array([1.0, 2.0**20, 2.0**-20, 1.0]))
    one, other = (
        grow_tree(some, "gini", {"max_depth": 4}, Proposals(Discriminants(), scale=scale))
        for some, scale in ((problem, None), (wide, "standard"))
    )
    np.testing.assert_array_equal(one.stats, other.stats)


def odd_columns(seed: int, weights: bool) -> Problem:
    """Three numeric columns, one with gaps, and two of levels, in six classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, 250)
    Z = np.column_stack(
        [
            rng.normal(size=250) + y % 3,
            (y + rng.integers(0, 3, 250)) % 4,
            rng.normal(size=250) + y // 2,
            rng.integers(0, 3, 250),
            rng.normal(size=250),
        ]
    )
    Z[rng.random(Z.shape) < np.array([0.0, 0.1, 0.1, 0.0, 0.0])] = np.nan
    return as_problem(Z, y, rng.integers(1, 4, 250) if weights else None, 6)


@pytest.mark.parametrize("method", [Discriminants(), Householder("dominant", discriminants=True)])
@pytest.mark.parametrize("seed", range(4))
def test_levels_and_gaps_are_the_numbers_of_the_node(seed: int, method: Any) -> None:
    """The split of a node is that of the same node with its numbers written out."""
    problem = odd_columns(seed, weights=seed % 2 == 1)
    rows = np.arange(problem.n_rows, dtype=np.int32)
    plain = CodedColumns(problem).at(rows, class_weights(problem)).problem
    rules = {"max_depth": 1}
    tree = grow_tree(problem, "gini", rules, Proposals(method))
    assert tree.feature[0] == -3
    assert_equals_twin(tree, twin_tree(plain, "gini", rules, Proposals(method)))


@pytest.mark.parametrize("seed", range(4))
def test_threads_and_order_with_levels_and_gaps(seed: int) -> None:
    problem = odd_columns(seed, weights=seed % 2 == 1)
    method = Proposals(Discriminants())
    tree = grow_tree(problem, "gini", {}, method)
    with threads_everywhere():
        assert tree == grow_tree(problem, "gini", {}, method, n_threads=2)
    assert_same_substance(tree, grow_tree(reordered(problem, seed), "gini", {}, method))
    assert_rows_reach_their_leaves(tree, problem)


def test_few_rows_are_left_to_the_axes() -> None:
    problem = many_classes(2, 60, 4, 5)
    tree = grow_tree(problem, "gini", {}, Proposals(Discriminants(min_rows=61)))
    assert tree == grow_tree(problem, "gini")
