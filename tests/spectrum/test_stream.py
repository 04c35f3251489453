"""Ensembles that trees join and leave, and their components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_domain, random_tree
from obliqua import TreeError
from obliqua.spectrum import (
    Domain,
    SpectralEnsemble,
    gram_of_spectra,
    principal_components,
    spectrum_of,
)
from reference import spectrum as twin

seeds = st.integers(0, 2**32 - 1)


def trees_on(seed: int, n: int = 6) -> tuple[list[Any], Domain, np.ndarray]:
    rng = np.random.default_rng(seed)
    domain = random_domain(rng, 3)
    return [random_tree(rng, domain) for _ in range(n)], domain, rng.random(n)


def votes(tree: Any, domain: Domain) -> np.ndarray:
    return twin.function_of(tree, domain, np.eye(2)[tree.leaf_label])


@few
@given(seed=seeds, left=st.sets(st.integers(0, 5), max_size=5))
def test_joining_and_leaving_is_starting_again(seed: int, left: set[int]) -> None:
    trees, domain, weights = trees_on(seed)
    stream = SpectralEnsemble(domain)
    keys = [stream.add_tree(tree, weight) for tree, weight in zip(trees, weights, strict=True)]
    for place in left:
        stream.remove_tree(keys[place])
    there = [place for place in range(6) if place not in left]
    fresh = SpectralEnsemble(domain)
    for place in there:
        fresh.add_tree(trees[place], weights[place])
    assert stream.keys == tuple(keys[place] for place in there)
    np.testing.assert_array_equal(stream.weights, fresh.weights)
    np.testing.assert_allclose(stream.gram, fresh.gram, atol=1e-14)
    points = twin.points(domain.cardinalities)
    functions = [votes(trees[place], domain) for place in there]
    expected = sum(w * f for w, f in zip(weights[there], functions, strict=True))
    for ensemble in (stream, fresh):
        np.testing.assert_allclose(ensemble.aggregated.value(points), expected, atol=1e-13)
        np.testing.assert_allclose(ensemble.gram, twin.gram(functions), atol=1e-13)
    np.testing.assert_allclose(gram_of_spectra(stream.spectra), stream.gram, atol=1e-13)


@few
@given(seed=seeds, centred=st.booleans())
def test_components_are_orthogonal_and_make_the_ensemble(seed: int, centred: bool) -> None:
    trees, domain, weights = trees_on(seed)
    stream = SpectralEnsemble(domain)
    for tree, weight in zip(trees, weights, strict=True):
        stream.add_tree(tree, weight)
    functions = [votes(tree, domain) for tree in trees]
    found = stream.components(centred=centred)
    np.testing.assert_allclose(
        found.eigenvalues, np.linalg.eigvalsh(twin.gram(functions, centred))[::-1], atol=1e-13
    )
    taken = [f - f.mean(axis=0) for f in functions] if centred else functions
    values = [sum(c * f for c, f in zip(v, taken, strict=True)) for v in found.vectors]
    np.testing.assert_allclose(twin.gram(values), np.diag(found.eigenvalues), atol=1e-13)
    whole = sum(w * f for w, f in zip(weights, taken, strict=True))
    again = sum(w * v for w, v in zip(found.weights, values, strict=True))
    np.testing.assert_allclose(again, whole, atol=1e-13)
    np.testing.assert_allclose(found.tree_weights, weights, atol=1e-13)
    assert (found.weights >= -1e-12).all(), "each component points along the ensemble"
    if not centred:
        points = twin.points(domain.cardinalities)
        for vector, expected in zip(found.vectors, values, strict=True):
            got = stream.combined(vector).value(points)
            np.testing.assert_allclose(got, expected, atol=1e-13)


def test_how_many_components() -> None:
    gram = np.diag([6.0, 3.0, 1.0])
    weights = np.ones(3)
    assert len(principal_components(gram, weights)) == 3
    assert len(principal_components(gram, weights, 2)) == 2
    assert len(principal_components(gram, weights, 9)) == 3
    assert len(principal_components(gram, weights, 0.6)) == 1
    assert len(principal_components(gram, weights, 0.61)) == 2
    np.testing.assert_allclose(principal_components(gram, weights).explained, [0.6, 0.3, 0.1])
    nothing = principal_components(np.zeros((2, 2)), weights[:2])
    assert nothing.explained.tolist() == [0.0, 0.0]
    rounding = principal_components(np.diag([1.0, -1e-17]), weights[:2])
    assert rounding.eigenvalues.tolist() == [1.0, 0.0], "no energy is negative"


def test_truncated_spectra_and_values_of_ones_own() -> None:
    trees, domain, _ = trees_on(4)
    labels = SpectralEnsemble(domain, lambda tree: tree.leaf_label * 2.0 - 1.0)
    short = SpectralEnsemble(domain, "shares", energy=0.9)
    for tree in trees:
        labels.add_tree(tree)
        short.add_tree(tree)
        whole = spectrum_of(tree, domain, "shares")
        assert 0.9 <= short.spectra[-1].energy / whole.energy <= 1.0
    np.testing.assert_allclose(short.gram, gram_of_spectra(short.spectra), atol=1e-14)
    assert np.diag(short.gram).min() < 0.7, "shares"
    assert labels.spectra[0].n_outputs == 1
    assert np.diag(labels.gram) == pytest.approx(1.0), "the mean square of -1 and 1"


def test_an_empty_ensemble_and_mistakes() -> None:
    trees, domain, _ = trees_on(1)
    stream = SpectralEnsemble(domain)
    assert len(stream) == 0
    for ask in (stream.components, lambda: stream.aggregated, lambda: stream.combined([])):
        with pytest.raises(ValueError, match="no tree in this ensemble"):
            ask()
    key = stream.add_tree(trees[0])
    with pytest.raises(ValueError, match="finite"):
        stream.add_tree(trees[0], np.inf)
    with pytest.raises(TreeError, match="3 columns and the domain 2"):
        SpectralEnsemble(Domain.of_levels([2, 2])).add_tree(trees[0])
    with pytest.raises(KeyError, match="no tree with the key 7"):
        stream.remove_tree(7)
    with pytest.raises(ValueError, match="weight for each of the 1 trees"):
        stream.combined([1.0, 2.0])
    stream.remove_tree(key)
    assert len(stream) == 0
    assert stream.add_tree(trees[1]) == key + 1, "keys are not used again"
    assert repr(stream) == "SpectralEnsemble(1 trees, 3 features)"
