"""Numbers that make no sense, and those that are hard to get right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discrete_trees import random_tree
from obliqua import TreeBuilder
from obliqua.spectrum import (
    Domain,
    LeafSum,
    SpectralEnsemble,
    Spectrum,
    _keys,
    gram_of_leaves,
    gram_of_spectra,
    leaf_sum_of,
    principal_components,
    rebuild,
    spectrum_of,
)
from reference import spectrum as twin

DOMAIN = Domain.of_levels([2, 3], ["a", "b"])


# --- spectra ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        ({((0, 1), (0, 1)): 1.0}, "each feature once"),
        ({(("c", 1),): 1.0}, "0 features called 'c'"),
        ({(): np.nan}, "finite"),
        ({(): [1.0, 2.0], ((0, 1),): [1.0]}, "as many outputs"),
        ({((1, 1),): 1.0}, "not real"),
        ({((1, 1),): 1j, ((1, 2),): 1j}, "not real"),
        ({(): 1j}, "not real"),
    ],
    ids=str,
)
def test_coefficients_of_no_function(coefficients: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Spectrum.from_dict(DOMAIN, coefficients)


@pytest.mark.parametrize("codes", [[[0.5, 1.0]], [[np.nan, 1.0]]])
def test_points_that_are_no_levels(codes: Any) -> None:
    spectrum = Spectrum.from_dict(DOMAIN, {(): 1.0})
    with pytest.raises(ValueError, match=r"whole numbers; Domain\.codes"):
        spectrum.value(codes)
    assert spectrum.value([[1.0, -1.0]]).tolist() == [[1.0]]


def test_factors_that_are_no_numbers() -> None:
    spectrum = Spectrum.from_dict(DOMAIN, {(): 1.0})
    for factor in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite number"):
            spectrum * factor
    with pytest.raises(TypeError):
        spectrum * "2"


def test_packed_partitions_come_back() -> None:
    domain = Domain.of_levels([5, 2, 1, 70, 3] * 20)
    rng = np.random.default_rng(0)
    vectors = rng.integers(0, domain.cardinalities, (50, 100))
    keys = _keys.packed(domain, vectors)
    assert (keys >= 0).all(), "the sign bit stays free"
    np.testing.assert_array_equal(_keys.entries(domain, keys), vectors)
    for feature in range(100):
        np.testing.assert_array_equal(_keys.digit(domain, keys, feature), vectors[:, feature])
    np.testing.assert_array_equal(_keys.orders(domain, keys), (vectors > 0).sum(axis=1))


# --- inner products and components -----------------------------------------------------------


def test_inner_products_of_nothing_and_of_what_does_not_fit() -> None:
    one = LeafSum(DOMAIN, np.ones((1, 1)), {})
    with pytest.raises(ValueError, match="at least one spectrum"):
        gram_of_spectra([])
    with pytest.raises(ValueError, match="at least one function"):
        gram_of_leaves([])
    with pytest.raises(ValueError, match="as many outputs"):
        gram_of_leaves([one, LeafSum(DOMAIN, np.ones((1, 2)), {})])
    empty = LeafSum(DOMAIN, np.zeros((0, 1)), {})
    assert gram_of_leaves([empty, one, empty, one * 2.0]).tolist() == [
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 2.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 2.0, 0.0, 4.0],
    ]


@pytest.mark.parametrize(
    ("values", "inside", "message"),
    [
        (np.ones(2), np.ones((2, 3), dtype=bool), "row of numbers for each box"),
        (np.full((2, 1), np.nan), np.ones((2, 3), dtype=bool), "finite"),
        (
            np.ones((2, 1)),
            np.ones((2, 2), dtype=bool),
            r"shape \(2, 3\).*got bool of shape \(2, 2\)",
        ),
        (np.ones((2, 1)), np.ones((2, 3)), "bools.*got float64"),
        (np.ones((2, 1)), np.array([[1, 0, 0], [0, 0, 0]], dtype=bool), "at least one"),
    ],
)
def test_boxes_that_are_none(values: Any, inside: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LeafSum(DOMAIN, values, {1: inside})


def test_inner_products_of_many_boxes_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    domain = Domain.of_levels([4, 3, 5])
    trees = [random_tree(rng, domain, depth=3) for _ in range(7)]
    leaves = [leaf_sum_of(tree, domain, "shares") for tree in trees]
    expected = twin.gram([twin.function_of(tree, domain, tree.proportion) for tree in trees])
    for block in (1, 200, 2**20):
        monkeypatch.setattr("obliqua.spectrum.boxes._BLOCK", block)
        np.testing.assert_allclose(gram_of_leaves(leaves), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("gram", "weights", "n", "message"),
    [
        ([[np.nan]], [1.0], None, "finite"),
        ([[1.0]], [np.inf], None, "finite"),
        ([[1.0]], [1.0, 1.0], None, r"shapes \(1, 1\) and \(2,\)"),
        ([[1.0, 2.0], [0.0, 1.0]], [1.0, 1.0], None, "symmetric"),
        ([[1.0]], [1.0], 0, "at least 1.*got 0"),
        ([[1.0]], [1.0], 1.0, "below 1.*got 1.0"),
        ([[1.0]], [1.0], 0.0, "above 0"),
        ([[1.0]], [1.0], "all", "got 'all'"),
        (np.zeros((0, 0)), [], None, "each tree"),
    ],
)
def test_components_of_no_ensemble(gram: Any, weights: Any, n: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        principal_components(gram, weights, n)


# --- trees -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "threshold"),
    [
        *((0.0, -1.0), (0.0, 0.0), (-0.0, -1.0)),
        *((5e-324, 5e-324), (1e-320, 3e-320), (-5e-324, 0.0)),
        *((1e-300, 1e300), (-1e-300, 1e300), (1e308, 1e-300), (-1e308, 1e308)),
    ],
)
def test_every_number_takes_its_side(factor: float, threshold: float) -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("r", {0: factor}, threshold, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    tree = builder.build()
    domain = Domain.of_trees([tree])
    numbers = [
        0.0,
        *(sign * x for sign in (-1, 1) for x in (5e-324, 0.4, 0.6, 1.4, 1.6, 4, 1e308)),
    ]
    for cut in domain.features[0].entries:
        numbers += [cut, np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)]
    rows = np.array(numbers)[:, None]
    expected = np.eye(2)[tree.leaf_label][tree.apply(rows)]
    found = spectrum_of(tree, domain, "votes").value(domain.codes(rows))
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("function_of", [spectrum_of, leaf_sum_of])
def test_small_differences_are_built_too(function_of: Any) -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("r", {0: 1.0}, 0.5, ("a", "b"))
    builder.add_split("b", {1: 1.0}, 0.5, ("c", "d"))
    for name in "acd":
        builder.set_leaf(name, [1, 1])
    domain = Domain.of_levels([2, 2])
    values = [0.0, 1.0, 0.0, 1.0 + 1e-9, 1.0 - 1e-9]
    tree = rebuild(function_of(builder.build(), domain, values)).tree
    found = tree.mean[tree.apply(twin.points([2, 2]).astype(float))].ravel()
    np.testing.assert_allclose(found, [1.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9], rtol=0, atol=1e-14)


# --- streams ---------------------------------------------------------------------------------


def test_a_heavy_tree_leaves_no_trace() -> None:
    rng = np.random.default_rng(5)
    domain = Domain.of_levels([3, 4, 2])
    light, heavy = (random_tree(rng, domain) for _ in range(2))
    stream = SpectralEnsemble(domain)
    stream.add_tree(light, 1.0)
    stream.remove_tree(stream.add_tree(heavy, -1e14))
    alone = spectrum_of(light, domain, "votes")
    assert len(alone) > 5
    np.testing.assert_array_equal(stream.aggregated.keys, alone.keys)
    np.testing.assert_array_equal(stream.aggregated.coefficients, alone.coefficients)


def test_a_long_stream_does_not_drift() -> None:
    rng = np.random.default_rng(3)
    domain = Domain.of_levels([3, 2, 3])
    trees = [random_tree(rng, domain) for _ in range(12)]
    stream = SpectralEnsemble(domain)
    keys = [stream.add_tree(tree, 1 / 3) for tree in trees[:5]]
    for number in range(400):
        stream.remove_tree(keys.pop(0))
        keys.append(stream.add_tree(trees[number % 12], 1 / 3 + number % 7))
    fresh = stream.combined(stream.weights)
    assert (stream.aggregated - fresh).energy <= 1e-28 * fresh.energy
    assert len(stream.aggregated) == len(fresh)
    np.testing.assert_allclose(stream.gram, gram_of_spectra(stream.spectra), atol=1e-14)
