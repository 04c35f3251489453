"""The compiled walk down two trees: many features, deep trees, sets of many levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from obliqua.spectrum import (
    Domain,
    LeafSum,
    Measure,
    TreeSum,
    energy,
    gram,
    gram_of_leaves,
    leaf_sum_of,
    measure_of,
    tree_sum_of,
)
from obliqua.spectrum.boxes import added
from obliqua.tree.builder import TreeBuilder
from reference import overlaps as twin


def chain(n_splits: int, n_features: int, seed: int, n_columns: int | None = None) -> Any:
    """A tree as deep as it has splits, over the first of some columns."""
    rng = np.random.default_rng(seed)
    builder = TreeBuilder(n_columns or n_features, n_stats=2)
    for k in range(n_splits):
        children = [f"leaf {k}", f"split {k + 1}"]
        feature, turned = int(rng.integers(n_features)), rng.random() < 0.5
        builder.add_split(
            f"split {k}", {feature: 1.0}, float(rng.normal()), children[:: -1 if turned else 1]
        )
        builder.set_leaf(f"leaf {k}", rng.integers(1, 9, 2))
    builder.set_leaf(f"split {n_splits}", [1, 1])
    return builder.build()


def stump(feature: int, n_columns: int) -> Any:
    builder = TreeBuilder(n_columns, n_stats=2)
    builder.add_split("root", {feature: 1.0}, 0.5, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    return builder.build()


def of_leaves(trees: TreeSum, on: Measure) -> np.ndarray:
    """The inner products, from all pairs of leaves."""
    pairs = zip(trees.trees, trees.values, strict=True)
    return gram_of_leaves([leaf_sum_of(tree, on.domain, value) for tree, value in pairs])


@pytest.mark.parametrize(("n_splits", "n_features"), [(60, 5), (120, 100), (200, 300)])
def test_more_features_than_bits(n_splits: int, n_features: int) -> None:
    trees = tree_sum_of([chain(n_splits, n_features, seed) for seed in range(4)])
    on = measure_of(trees)
    np.testing.assert_allclose(gram(trees, on), of_leaves(trees, on), rtol=1e-12)


def test_trees_that_are_deeper_than_any_stack() -> None:
    """A path of ten thousand splits; what is left of the mass at its end is next to nothing."""
    trees = [chain(5000, 2, seed) for seed in range(2)]
    found = gram(trees)
    assert np.isfinite(found).all()
    assert (np.diag(found) > 0).all()
    on = measure_of(trees)
    levels = np.random.default_rng(0).integers(0, on.domain.cardinalities, (100_000, 2)).T
    ends = [np.array([*feature.entries, 99.0]) for feature in on.domain.features]
    points = np.stack([ends[0][levels[0]], ends[1][levels[1]]], axis=1)
    said = twin.functions(tree_sum_of(trees), points)
    sampled = np.einsum("irk,jrk->ij", said, said) / len(points)
    np.testing.assert_allclose(found, sampled, atol=0.01)


def star(n_levels: int, n_branches: int, seed: int) -> Any:
    """A tree of two sets with many levels and branches, each of which divides the other."""
    rng = np.random.default_rng(seed)
    builder = TreeBuilder(2, n_stats=2)
    first = [f"a{k}" for k in range(n_branches)]
    builder.add_levels("root", seed % 2, rng.integers(0, n_branches, n_levels), first, unseen=0)
    for name in first:
        second = [f"{name} b{k}" for k in range(n_branches)]
        branches = rng.integers(0, n_branches, n_levels)
        builder.add_levels(name, 1 - seed % 2, branches, second, unseen=1)
        for leaf in second:
            builder.set_leaf(leaf, rng.integers(1, 9, 2))
    return builder.build()


@pytest.mark.parametrize(("n_levels", "n_branches"), [(3, 2), (40, 7), (70, 40)])
def test_sets_of_many_levels(n_levels: int, n_branches: int) -> None:
    trees = tree_sum_of([star(n_levels, n_branches, seed) for seed in range(4)])
    rng = np.random.default_rng(1)
    domain = Domain.of_levels([n_levels, n_levels])
    on = Measure(
        domain, [rng.integers(0, 3, n_levels) + (np.arange(n_levels) == 0)] * 2, unseen=[2, 0]
    )
    np.testing.assert_allclose(gram(trees, on), twin.gram(trees, on), rtol=1e-12)
    expected = twin.effects(trees, on)
    found = energy(trees, on, pairs=True, totals=True)
    assert found.pairs is not None and found.total is not None
    np.testing.assert_allclose(found.main, [expected[0,], expected[1,]], atol=1e-12)
    np.testing.assert_allclose(found.pairs[0, 1], expected[0, 1], atol=1e-12)
    np.testing.assert_allclose(found.total, found.main + expected[0, 1], atol=1e-12)


@pytest.mark.parametrize("n_between", [0, 63])
def test_totals_where_features_share_bits(n_between: int) -> None:
    """The total of a feature is what is lost if its mean is taken, found from sums over leaves.

    Trees that count nothing come between, so that features 0 and 1 get the same bit.
    """
    stumps = [stump(feature, 70) for feature in (0, *range(5, 5 + n_between))]
    real = [chain(12, 4, seed, 70) for seed in range(5)]
    trees = tree_sum_of([*stumps, *real])
    trees = replace(trees, weights=np.repeat([0.0, 0.2], [len(stumps), 5]))
    on = measure_of(trees)
    found = energy(trees, on, totals=True, pairs=True)
    assert found.total is not None and found.pairs is not None
    functions = zip(trees.trees, trees.values, trees.weights, strict=True)
    whole = added([leaf_sum_of(t, on.domain, v) * w for t, v, w in functions if w > 0])
    assert list(whole.sets) == [0, 1, 2, 3]
    for feature in whole.sets:
        sets = dict(whole.sets)
        share = sets.pop(feature).mean(axis=1)
        without = LeafSum(on.domain, whole.values * share[:, None], sets)
        lost = whole.energy - without.energy
        assert found.total[feature] == pytest.approx(lost, abs=1e-12)
        alone = found.main[feature] + found.pairs[feature].sum()
        assert found.main[feature] - 1e-12 <= alone <= found.total[feature] + 1e-12
    assert (found.total[4:] == 0).all()
