"""Energies of features and pairs of features, against the whole grid enumerated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from discrete_trees import few
from obliqua.spectrum import Energy, energy
from reference import overlaps as twin
from spectrum.test_gram import random_sum, seeds


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
    assert isinstance(found, Energy)
