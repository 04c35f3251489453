"""Overlaps of boxes: inner products and energies, against the whole grid enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_sum
from obliqua.spectrum import (
    Measure,
    TreeSum,
    energy,
    gram,
    gram_of_leaves,
    leaf_sum_of,
    measure_of,
)
from reference import overlaps as twin

seeds = st.integers(0, 2**32 - 1)
EXACT = {"rtol": 0, "atol": 1e-12}


def chosen(trees: TreeSum, which: list[int]) -> TreeSum:
    """Some of the trees, in another order."""
    return TreeSum(
        tuple(trees.trees[k] for k in which),
        tuple(trees.values[k] for k in which),
        trees.weights[which],
        trees.start,
        trees.encoding,
        trees.outputs,
        trees.rows,
    )


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


@few
@given(seeds)
def test_a_tree_more_changes_only_its_own_line(seed: int) -> None:
    trees, measure = random_sum(seed, n_trees=5)
    found = gram(trees, measure)
    np.testing.assert_array_equal(gram(chosen(trees, [0, 1, 2, 3]), measure), found[:4, :4])


@few
@given(seeds)
def test_another_order_of_trees_is_another_order_of_lines(seed: int) -> None:
    trees, measure = random_sum(seed, n_trees=5)
    order = np.random.default_rng(seed).permutation(5).tolist()
    found = gram(chosen(trees, order), measure)
    np.testing.assert_allclose(found, gram(trees, measure)[np.ix_(order, order)], **EXACT)


@few
@given(seeds)
def test_weights_of_levels_may_have_any_unit(seed: int) -> None:
    trees, measure = random_sum(seed)
    other = Measure(
        measure.domain,
        [8.0 * weights for weights in measure.weights],
        8.0 * measure.missing,
        8.0 * measure.unseen,
    )
    np.testing.assert_array_equal(gram(trees, other), gram(trees, measure))
    assert measure_of(trees, other) is other


@few
@given(seeds)
def test_energies_are_those_of_the_grid(seed: int) -> None:
    trees, measure = random_sum(seed)
    found = energy(trees, measure, pairs=True, totals=True)
    expected = twin.effects(trees, measure)
    n = len(found.features)
    variance = sum(e for chosen, e in expected.items() if chosen)
    np.testing.assert_allclose(found.variance, variance, atol=1e-12)
    np.testing.assert_allclose(found.main, [expected[(f,)] for f in range(n)], atol=1e-12)
    assert found.pairs is not None and found.total is not None
    for f in range(n):
        whole = sum(e for chosen, e in expected.items() if f in chosen)
        assert found.total[f] == pytest.approx(whole, abs=1e-12)
        for g in range(f + 1, n):
            assert found.pairs[f, g] == pytest.approx(expected[f, g], abs=1e-12)
    np.testing.assert_array_equal(found.pairs, found.pairs.T)
    assert (np.diag(found.pairs) == 0).all()
    np.testing.assert_allclose(found.mean, trees.weights @ twin.means(trees, measure), atol=1e-12)
    if variance > 1e-6:
        assert sum(found.orders.values()) == pytest.approx(1.0)
        more = sum(e for chosen, e in expected.items() if len(chosen) > 2)
        assert found.orders["more"] == pytest.approx(more / variance, abs=1e-9)


@few
@given(seeds)
def test_more_threads_change_no_energy(seed: int) -> None:
    trees, measure = random_sum(seed)
    one, two = (energy(trees, measure, n_threads=n) for n in (1, 3))
    assert one.variance == two.variance
    np.testing.assert_array_equal(one.pairs, two.pairs)
    np.testing.assert_array_equal(one.total, two.total)
