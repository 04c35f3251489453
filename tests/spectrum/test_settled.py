"""``merge="class"``: where nothing can change the class nothing is split, and no class is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_case, random_tree
from obliqua.spectrum import Domain, Spectrum, building, leaf_sum_of, rebuild, spectrum_of, tree_of
from obliqua.spectrum.building import part_of
from reference import spectrum as twin

seeds = st.integers(0, 2**32 - 1)
ways = pytest.mark.parametrize("function_of", [spectrum_of, leaf_sum_of])


@ways
@few
@given(seed=seeds, n_outputs=st.integers(1, 3))
def test_no_value_is_farther_from_the_mean_than_the_reach(
    function_of: Any, seed: int, n_outputs: int
) -> None:
    tree, domain, values = random_case(seed, n_outputs)
    part, _, _ = part_of(function_of(tree, domain, values))
    away = np.abs(twin.function_of(tree, domain, values) - part.mean).max(axis=0)
    assert (away <= part.reach + 1e-12).all()


@ways
@few
@given(seed=seeds)
def test_every_point_has_the_class_of_the_function(function_of: Any, seed: int) -> None:
    tree, domain, values = random_case(seed)
    other = random_tree(np.random.default_rng(seed + 1), domain)
    numbers = np.random.default_rng(seed).normal(size=(other.n_nodes, 2))
    function = function_of(tree, domain, values) + function_of(other, domain, 0.5 * numbers)
    expected = twin.function_of(tree, domain, values)
    expected = expected + twin.function_of(other, domain, 0.5 * numbers)
    built = tree_of(function, merge="class")
    found = built.mean.argmax(axis=1)[built.apply(twin.rows_of(domain))]
    np.testing.assert_array_equal(found, expected.argmax(axis=1))
    assert built.n_leaves <= tree_of(function).n_leaves


@few
@given(seed=seeds)
def test_one_output_is_judged_by_what_is_made_of_it(seed: int) -> None:
    tree, domain, values = random_case(seed, n_outputs=1)

    def two(mean: np.ndarray) -> np.ndarray:
        return np.array([0.4 - mean[0], mean[0] - 0.4])

    built = rebuild(spectrum_of(tree, domain, values), merge="class", scores=two).tree
    found = built.mean.argmax(axis=1)[built.apply(twin.rows_of(domain))]
    expected = twin.function_of(tree, domain, values)[:, 0] > 0.4
    np.testing.assert_array_equal(found, expected)


def test_a_settled_node_is_not_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small ripple over all of ten features would need a thousand leaves."""
    domain = Domain.of_levels([2] * 10)
    ripple = tuple((feature, 1) for feature in range(10))
    function = Spectrum.from_dict(domain, {(): 0.0, ((0, 1),): 1.0, ripple: 0.2})
    two = {"merge": "class", "scores": lambda mean: np.array([-mean[0], mean[0]])}
    monkeypatch.setattr(building, "MAX_LEAVES", 2)
    assert rebuild(function, **two).tree.n_leaves == 2
    # A ripple that can change the class is followed.
    monkeypatch.undo()
    high = Spectrum.from_dict(domain, {(): 0.0, ((0, 1),): 1.0, ripple: 1.1})
    assert rebuild(high, **two).tree.n_leaves == 1024
