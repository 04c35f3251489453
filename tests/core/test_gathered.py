"""The search with bins along HHCART's directions finds what looking at every cut finds.

Rows that all weigh 4 grow the same tree, but the search by counts in
`obliqua._core.search.gathered` is for rows without weights: weighted ones take the general search,
and a criterion that is not convex is scanned cut by cut. Sums four times as large are exact, and
so are roots of them.
"""

from __future__ import annotations

from collections.abc import Callable
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
    grow_tree,
)
from core.test_householder import twin_tree
from obliqua.data.problem import Problem, encode
from obliqua.data.target import Classes
from obliqua.engine.proposals import Proposals
from obliqua.methods.hhcart import Householder
from obliqua.tree.tree import Tree
from problems import examples

Rows = NDArray[np.float64]
Make = Callable[[np.random.Generator, Rows], Rows]


def heavy_ties(rng: np.random.Generator, X: Rows) -> Rows:
    return np.round(X)


def grid(rng: np.random.Generator, X: Rows) -> Rows:
    """Few different rows, so that many projections are equal but for rounding."""
    return np.clip(np.round(X), -1, 2)


def outliers(rng: np.random.Generator, X: Rows) -> Rows:
    """All other rows fall into one bin."""
    X = X.copy()
    X[rng.integers(0, len(X), 3)] *= 1e6
    return X


def outliers_of_a_grid(rng: np.random.Generator, X: Rows) -> Rows:
    return outliers(rng, np.round(2 * X))


def clusters(rng: np.random.Generator, X: Rows) -> Rows:
    return 1e-3 * X + 5 * rng.integers(0, 3, X.shape)


def skewed(rng: np.random.Generator, X: Rows) -> Rows:
    return np.exp(2 * X)


def far_away(rng: np.random.Generator, X: Rows) -> Rows:
    """Ties come from rounding here."""
    return np.round(X * 64) / 64 + 1e7


def zeros(rng: np.random.Generator, X: Rows) -> Rows:
    return np.where(rng.random(X.shape) < 0.7, 0.0, X)


def plain(rng: np.random.Generator, X: Rows) -> Rows:
    return X


KINDS: list[Make] = [
    plain, heavy_ties, grid, outliers, outliers_of_a_grid, clusters, skewed, far_away, zeros
]  # fmt: skip


def make(kind: Make, seed: int, n: int, p: int, n_classes: int) -> Problem:
    """Clouds that overlap; one class in two is rare if there are many."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 0, rng.integers(0, n_classes, n))
    y[:n_classes] = np.arange(n_classes)
    centres = rng.normal(size=(n_classes, p))
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + centres[y]
    return encode(kind(rng, X), y, n_classes)


def without_counting(problem: Problem) -> Problem:
    return replace(problem, weights=np.full(problem.n_rows, 4, dtype=np.int64))


def assert_exact(problem: Problem, criterion: Any, rules: dict[str, Any], method: Any) -> Tree:
    tree = grow_tree(problem, criterion, rules, method)
    slow = grow_tree(without_counting(problem), criterion, rules, method)
    assert_same_substance(tree, slow, but=("stats",))
    np.testing.assert_array_equal(4 * tree.stats, slow.stats)
    assert_rows_reach_their_leaves(tree, problem)
    return tree


@examples(120)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([32, 33, 40, 64, 95, 96, 97, 128, 200, 500, 1000]),
    p=st.integers(2, 4),
    n_classes=st.integers(2, 8),
    criterion=st.sampled_from(["twoing", "gini"]),
    leaf=st.sampled_from([1, 1, 2, 5, 20]),
    variant=st.sampled_from(["all", "dominant"]),
    most=st.sampled_from([None, 2]),
)
def test_the_same_tree_without_counting(
    kind: Make, seed: int, n: int, p: int, n_classes: int, criterion: str, leaf: int,
    variant: str, most: int | None,
) -> None:  # fmt: skip
    method = Proposals(Householder(variant, fisher=seed % 2 == 0), max_features=most)
    problem = make(kind, seed, n, p, n_classes)
    assert_exact(problem, criterion, {"min_samples_leaf": leaf}, method)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "criterion"), [(2, "twoing"), (5, "twoing"), (5, "gini")])
def test_larger_nodes(kind: Make, n_classes: int, criterion: str) -> None:
    """From 4096 rows on, a sample says where the bins are."""
    method = Proposals(Householder("dominant", fisher=True))
    for n in (3000, 4500):
        problem = make(kind, n, n, 3, n_classes)
        assert_exact(problem, criterion, {"max_depth": 6}, method)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("n", "n_classes", "leaf", "criterion"),
    [(130, 2, 1, "gini"), (150, 6, 1, "gini"), (150, 6, 1, "twoing"), (140, 3, 7, "twoing")],
)
def test_single_nodes_equal_the_twins(
    kind: Make, n: int, n_classes: int, leaf: int, criterion: str
) -> None:
    problem = make(kind, n, n, 3, n_classes)
    method = Proposals(Householder("all"))
    rules = {"max_depth": 1, "min_samples_leaf": leaf}
    tree = grow_tree(problem, criterion, rules, method)
    assert_equals_twin(tree, twin_tree(problem, criterion, rules, method))


@pytest.mark.parametrize("weight", [0.0, 0.05, 0.3])
def test_a_smallest_weight_on_each_side(weight: float) -> None:
    problem = make(heavy_ties, 3, 400, 3, 3)
    smallest = int(weight * problem.n_rows)
    method = Proposals(Householder("all"))
    tree = grow_tree(problem, "twoing", {"min_weight_leaf": smallest}, method)
    slow = grow_tree(
        without_counting(problem), "twoing", {"min_weight_leaf": 4 * smallest}, method
    )
    assert_same_substance(tree, slow, but=("stats",))
    assert tree.n_samples.min() >= smallest


@pytest.mark.parametrize("criterion", ["twoing", "gini"])
def test_more_classes_than_the_bins_have_room_for(criterion: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 300
    X = rng.normal(size=(1200, 2)) + np.column_stack([y % 17, y // 17])
    method = Proposals(Householder("dominant"))
    assert_exact(encode(X, y, 300), criterion, {"max_depth": 4}, method)


def test_two_of_many_classes_at_a_node() -> None:
    """Classes that are absent are not counted."""
    problem = make(plain, 5, 300, 3, 2)
    wide = replace(problem, target=Classes(problem.y * 6 + 1, 9))
    method = Proposals(Householder("all", fisher=True))
    for criterion in ("twoing", "gini"):
        one = assert_exact(problem, criterion, {}, method)
        other = assert_exact(wide, criterion, {}, method)
        assert_same_substance(one, other, but=("stats", "gain"))
        np.testing.assert_allclose(one.gain, other.gain)
