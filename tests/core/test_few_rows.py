"""Directions from products of rows, where a fit has few of these beside its features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.adapter import assert_same_substance, threads_everywhere, twin_data
from obliqua._core.base.rng import child_key
from obliqua.data.problem import Problem, encode
from obliqua.engine import RowsInParts, grow_from
from obliqua.engine.compiled import Task, has_few_rows
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.discriminants import Discriminants
from obliqua.methods.hhcart import Householder
from reference import discriminants as discriminants_twin
from reference import hhcart as twin
from reference.criteria import CODES

METHODS = [
    Householder(),
    Householder(zero_eigenvalues="covariance"),
    Householder("dominant", fisher=True),
    Householder("dominant", target="nearest", trim=0.3),
    Householder("dominant", discriminants=True),
    Discriminants(),
]


def wide_problem(
    seed: int,
    n_rows: int = 30,
    n_features: int = 80,
    n_classes: int = 3,
    weighted: bool = False,
    unit: float = 1.0,
) -> Problem:
    """Classes that lie apart, among columns of different widths, one of which never varies.

    The first four are in another unit.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = rng.normal(size=(n_rows, n_features)) * 2.0 ** rng.integers(-3, 4, n_features)
    X += np.where(rng.random(n_features) < 0.2, y[:, None], 0.0)
    X[:, 5] = 3.0
    X[:, :4] *= unit
    weight = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    return encode(X, y, n_classes, sample_weight=weight)


def directions_of_all_rows(problem: Problem, method: Any, scale: Any, wide: bool) -> Any:
    finder = method.finder(Task(problem, problem.n_rows, 0, scale, wide=wide))
    rows = np.arange(problem.n_rows, dtype=np.int32)
    counts = np.bincount(problem.y, problem.weights).astype(np.int64)
    finder.load(problem.Z, rows, problem.target_rows, counts, (CODES["gini"], 1, 0))
    return finder.directions()


def directions_of_formulas(problem: Problem, method: Any, scale: Any) -> Any:
    """The twin in plain NumPy, with matrices of features."""
    data, p, c = twin_data(problem), problem.n_features, problem.n_classes
    variant = getattr(method, "variant", None)
    options = twin.Options(
        variant=variant,
        target=getattr(method, "target", "first"),
        scale=scale,
        trimmed=getattr(method, "trim", 0.0) or None,
        zero_eigenvalues=getattr(method, "zero_eigenvalues", "correlation"),
    )
    node = twin.Node(
        data,
        np.arange(problem.n_rows),
        twin.search.score_function(CODES["gini"]),
        twin.search.Limits(),
        options,
        twin.plain_measure(data),
    )
    tries = [] if variant is None else list(twin.reflections(node))
    if getattr(method, "fisher", False):
        tries += twin.fisher_directions(node)
    if method.discriminants:
        first = p if variant is None else p + c * p * p + c
        axis = twin.canonical_split(node, twin.search.axes(p))
        tries += discriminants_twin.Discriminants(first)(node, tries, axis)
    return tries


def assert_directions_are_those_of_the_formulas(problem: Problem, method: Any) -> list[int]:
    scale = np.random.default_rng(9).uniform(0.5, 2.0, problem.n_features)
    numbers, planes = directions_of_all_rows(problem, method, scale, wide=True)
    theirs = directions_of_formulas(problem, method, scale)
    assert numbers == [one.number for one in theirs]
    for (idx, coef), one in zip(planes, theirs, strict=True):
        assert tuple(idx) == one.normal.idx
        np.testing.assert_allclose(coef, one.normal.coef, rtol=2e-6, atol=2e-6)
    return numbers


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_directions_are_those_of_the_formulas(method: Any, n_classes: int, weighted: bool) -> None:
    problem = wide_problem(n_classes, n_classes=n_classes, weighted=weighted)
    assert_directions_are_those_of_the_formulas(problem, method)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("trim", [0.0, 0.3])
@pytest.mark.parametrize("unit", [1e6, 1e12])
def test_large_features_hide_no_others(unit: float, trim: float, weighted: bool) -> None:
    """With fewer of them than rows, the covariance matrix alone would take the others for 0."""
    problem = wide_problem(1, 20, 24, 2, weighted, unit)
    found = {
        rule: assert_directions_are_those_of_the_formulas(
            problem, Householder(trim=trim, zero_eigenvalues=rule)
        )
        for rule in ("correlation", "covariance")
    }
    assert set(found["covariance"]) < set(found["correlation"])


def tree_of(problem: Problem, method: Any, threads: int = 1, scale: str | None = None) -> Any:
    proposals = Proposals(method, scale=scale)
    return grow(problem, proposals, "gini", Rules(), n_threads=threads, key=child_key(1, 0))


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("seed", [0, 1])
def test_order_of_rows_threads_and_repeated_rows_change_no_bit(
    method: Any, seed: int, scale: str | None
) -> None:
    weighed = wide_problem(seed, n_features=200, n_classes=4, weighted=True, unit=1e8)
    assert has_few_rows(weighed.n_counted, 200)
    tree = tree_of(weighed, method, scale=scale)
    assert tree.n_leaves > 2
    order = np.random.default_rng(seed).permutation(weighed.n_rows)
    assert_same_substance(tree, tree_of(weighed.take(order), method, scale=scale))
    with threads_everywhere():
        assert_same_substance(tree, tree_of(weighed, method, threads=3, scale=scale))
    X, times = np.asarray(weighed.Z), weighed.weights
    assert times is not None
    repeated = encode(np.repeat(X, times, axis=0), np.repeat(weighed.y, times), 4)
    again = tree_of(repeated, method, scale=scale)
    np.testing.assert_array_equal(tree.threshold, again.threshold)
    np.testing.assert_array_equal(tree.coef, again.coef)


@pytest.mark.parametrize("rules", [{}, {"max_leaf_nodes": 3}])
def test_rows_in_parts_give_the_same_tree(rules: dict[str, int]) -> None:
    problem = wide_problem(3, n_classes=4)
    method = Householder("dominant", fisher=True)
    parts = [problem.take(np.arange(k, problem.n_rows, 3)) for k in range(3)]
    tree = grow_from(RowsInParts(parts), method, "gini", Rules(**rules), few_rows=0)
    assert_same_substance(tree, grow(problem, method, "gini", Rules(**rules)))


def test_a_table_with_more_rows_than_features_is_never_wide() -> None:
    """Nor is half of its rows, which pruning may grow a tree from."""
    assert has_few_rows(200, 5000)
    assert not has_few_rows(100, 200)
    assert not has_few_rows(5, 20)


def test_no_matrix_of_features_is_made() -> None:
    """One of 120,000 columns would take 115 GB."""
    problem = wide_problem(0, n_rows=8, n_features=120_000, n_classes=2)
    for method in (Householder("dominant", fisher=True), Discriminants()):
        assert tree_of(problem, method).n_leaves == 2
