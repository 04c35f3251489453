"""Inner products of the trees of ensembles, against the whole grid enumerated."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_domain, random_tree
from obliqua.data import Column, Encoding
from obliqua.spectrum import Measure, TreeSum, gram, gram_of_leaves, leaf_sum_of
from reference import overlaps as twin

seeds = st.integers(0, 2**32 - 1)
EXACT = {"rtol": 0, "atol": 1e-12}


def with_stand_ins(rng: Any, tree: Any) -> Any:
    """The tree with something for missing values at every split."""
    from dataclasses import replace

    fill = rng.normal(size=len(tree.fill)) * 3
    sets = np.repeat(tree.kind[~tree.is_leaf] == 2, 1)
    branches = rng.integers(0, 2, len(fill))
    return replace(tree, fill=np.where(sets, branches, fill))


def random_sum(seed: int, n_trees: int = 4, n_outputs: int = 2) -> tuple[TreeSum, Measure]:
    """Trees with splits of every kind of one column, numbers in their leaves, and a measure.

    Levels may weigh nothing, be missing or be unseen.
    """
    rng = np.random.default_rng(seed)
    domain = random_domain(rng)
    trees = tuple(with_stand_ins(rng, random_tree(rng, domain)) for _ in range(n_trees))
    values = tuple(rng.normal(size=(tree.n_nodes, n_outputs)) for tree in trees)
    columns = tuple(
        Column(f.name, "qualitative", f.entries) if f.kind == "levels" else Column(f.name)
        for f in domain.features
    )
    weights = [rng.integers(0, 3, f.cardinality) * 1.0 for f in domain.features]
    for weight in weights:
        weight[rng.integers(len(weight))] += rng.random()
    missing = rng.integers(0, 3, domain.n_features)
    unseen = rng.integers(0, 3, domain.n_features)
    unseen *= np.array([feature.kind == "levels" for feature in domain.features])
    measure = Measure(domain, weights, missing, unseen)
    outputs = tuple(f"y{k}" for k in range(n_outputs))
    found = TreeSum(
        trees, values, rng.normal(size=n_trees), np.zeros(2), Encoding(columns), outputs, np.array
    )
    return found, measure


@few
@given(seeds)
def test_products_are_those_of_the_grid(seed: int) -> None:
    trees, measure = random_sum(seed)
    found = gram(trees, measure)
    np.testing.assert_allclose(found, twin.gram(trees, measure), **EXACT)
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-12 * np.trace(found)


@few
@given(seeds)
def test_the_same_as_from_sums_over_leaves(seed: int) -> None:
    """A second way, without a grid, on the uniform measure."""
    trees, measure = random_sum(seed)
    domain = measure.domain
    leaves = [leaf_sum_of(t, domain, v) for t, v in zip(trees.trees, trees.values, strict=True)]
    found = gram(trees, Measure.uniform(domain))
    np.testing.assert_allclose(found, gram_of_leaves(leaves), **EXACT)


@few
@given(seeds)
def test_more_threads_change_no_bit(seed: int) -> None:
    trees, measure = random_sum(seed)
    found = gram(trees, measure)
    for n_threads in (2, 5):
        np.testing.assert_array_equal(gram(trees, measure, n_threads=n_threads), found)
