"""Trees that are built from functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_case, random_tree
from obliqua import SpectrumTooLarge
from obliqua.spectrum import (
    Domain,
    Feature,
    Spectrum,
    building,
    leaf_sum_of,
    rebuild,
    spectrum_of,
    tree_of,
)
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from reference import spectrum as twin

seeds = st.integers(0, 2**32 - 1)
ways = pytest.mark.parametrize("function_of", [spectrum_of, leaf_sum_of])


def as_function(tree: Tree, domain: Domain) -> np.ndarray:
    return tree.mean[tree.apply(twin.rows_of(domain))]


@ways
@few
@given(seed=seeds)
def test_a_tree_comes_back_as_the_same_function(function_of: Any, seed: int) -> None:
    tree, domain, values = random_case(seed)
    expected = twin.function_of(tree, domain, values)
    built = rebuild(function_of(tree, domain, values))
    np.testing.assert_allclose(as_function(built.tree, domain), expected, rtol=0, atol=1e-12)
    assert built.energy == pytest.approx(1.0)
    built.tree.validate()


@few
@given(seed=seeds)
def test_sums_of_trees_come_back_too(seed: int) -> None:
    tree, domain, values = random_case(seed)
    other = random_tree(np.random.default_rng(seed + 1), domain)
    numbers = np.random.default_rng(seed).normal(size=(other.n_nodes, 2))
    whole = spectrum_of(tree, domain, values) - 0.3 * spectrum_of(other, domain, numbers)
    expected = twin.function_of(tree, domain, values) - 0.3 * twin.function_of(
        other, domain, numbers
    )
    np.testing.assert_allclose(as_function(tree_of(whole), domain), expected, rtol=0, atol=1e-12)


@ways
@few
@given(seed=seeds, most=st.integers(1, 6))
def test_limits_are_kept_and_the_energy_is_what_the_tree_has(
    function_of: Any, seed: int, most: int
) -> None:
    tree, domain, values = random_case(seed)
    expected = twin.function_of(tree, domain, values)
    built = rebuild(function_of(tree, domain, values), max_leaf_nodes=most)
    assert built.tree.n_leaves <= most
    got = as_function(built.tree, domain)
    # Each leaf has the mean of its points, so what is lost is what the energy lacks.
    total, lost = twin.inner(expected, expected), twin.inner(expected - got, expected - got)
    assert built.energy == pytest.approx(1.0 - lost / total, abs=1e-10)
    np.testing.assert_allclose(got.mean(axis=0), expected.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(built.tree.mean[0], expected.mean(axis=0), atol=1e-12)


@ways
@few
@given(seed=seeds, share=st.floats(0.3, 0.999))
def test_growth_stops_at_the_energy(function_of: Any, seed: int, share: float) -> None:
    tree, domain, values = random_case(seed)
    function = function_of(tree, domain, values)
    built = rebuild(function, energy=share, merge="none")
    assert built.energy >= share - 1e-9
    assert built.tree.n_leaves <= tree_of(function, merge="none").n_leaves


@few
@given(seed=seeds)
def test_both_ways_find_the_same_tree(seed: int) -> None:
    tree, domain, values = random_case(seed)
    one = tree_of(spectrum_of(tree, domain, values), max_leaf_nodes=4)
    two = tree_of(leaf_sum_of(tree, domain, values), max_leaf_nodes=4)
    np.testing.assert_allclose(as_function(one, domain), as_function(two, domain), atol=1e-10)


def xor(n: int) -> tuple[Spectrum, np.ndarray]:
    domain = Domain.of_levels([2] * n)
    parity = tuple((f, 1) for f in range(n))
    points = twin.points([2] * n)
    return Spectrum.from_dict(domain, {(): 0.5, parity: -0.5}), points.sum(axis=1) % 2


def test_an_exclusive_or_of_intervals() -> None:
    domain = Domain(tuple(Feature(f"x{i}", "intervals", (1.0, 2.0, 3.0)) for i in range(2)))
    points = twin.points((4, 4))
    values = ((points[:, 0] > 1) ^ (points[:, 1] > 1)).astype(float)[:, None]
    spectrum = Spectrum.from_dict(domain, twin.spectrum(values, (4, 4)))
    tree = tree_of(spectrum)
    assert tree.n_leaves == 4
    assert set(tree.threshold.tolist()) == {2.0}
    np.testing.assert_allclose(as_function(tree, domain), values, atol=1e-12)


def test_the_feature_that_removes_most_variance_comes_first() -> None:
    domain = Domain.of_levels([2, 2, 2])
    spectrum = Spectrum.from_dict(domain, {((0, 1),): 0.1, ((1, 1),): 0.5, ((2, 1),): 0.3})
    tree = tree_of(spectrum)
    assert tree.coef_idx[:3].tolist() == [1, 2, 2]
    assert tree.gain[0] == pytest.approx(0.25)
    assert tree.gain[1] == pytest.approx(0.5 * 0.09)


def test_levels_with_the_same_function_share_a_branch() -> None:
    domain = Domain.of_levels([5, 2])
    points = twin.points((5, 2))
    values = (np.isin(points[:, 0], [1, 3]) & (points[:, 1] == 1)).astype(float)[:, None]
    tree = tree_of(Spectrum.from_dict(domain, twin.spectrum(values, (5, 2))))
    assert tree.kind[0] == NodeKind.LEVELS or tree.n_children[0] == 2
    assert tree.n_leaves == 3
    np.testing.assert_allclose(as_function(tree, domain), values, atol=1e-12)


def test_values_are_cut_in_the_middle() -> None:
    domain = Domain((Feature("x", "values", (0.0, 1.0, 5.0)),))
    values = np.array([[0.0], [0.0], [1.0]])
    tree = tree_of(Spectrum.from_dict(domain, twin.spectrum(values, (3,))))
    assert tree.threshold.tolist() == [3.0]
    missing = tree.mean[tree.apply(np.array([[np.nan]]))]
    assert missing == pytest.approx(0.0, abs=1e-15), "the larger side"


def test_missing_and_unknown_levels_take_the_largest_branch() -> None:
    domain = Domain.of_levels([4])
    values = np.array([[1.0], [0.0], [0.0], [2.0]])
    tree = tree_of(Spectrum.from_dict(domain, twin.spectrum(values, (4,))))
    assert tree.n_leaves == 3
    rows = np.array([[-1.0], [9.0], [np.nan]])
    np.testing.assert_allclose(tree.mean[tree.apply(rows)], 0.0, atol=1e-14)


def test_merging() -> None:
    domain = Domain.of_levels([2, 2])
    values = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.0, 1.0]])
    spectrum = Spectrum.from_dict(domain, twin.spectrum(values, (2, 2)))
    assert tree_of(spectrum).n_leaves == 4
    merged = tree_of(spectrum, merge="class")
    assert merged.n_leaves == 2
    assert merged.mean[1:].argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_allclose(merged.mean[1:], [[0.75, 0.25], [0.1, 0.9]])


def test_what_cannot_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum, _ = xor(3)
    with pytest.raises(ValueError, match="at least 1"):
        tree_of(spectrum, max_leaf_nodes=0)
    with pytest.raises(ValueError, match=r"at most 1; got 1\.5"):
        tree_of(spectrum, energy=1.5)
    with pytest.raises(ValueError, match="'value', 'class' or 'none'"):
        tree_of(spectrum, merge="all")
    with pytest.raises(TypeError, match=r"from a Spectrum or a LeafSum; got .*str"):
        tree_of("spectrum")
    monkeypatch.setattr(building, "MAX_LEAVES", 4)
    with pytest.raises(SpectrumTooLarge, match=r"more than 4 leaves.*max_leaf_nodes"):
        tree_of(spectrum)
    assert tree_of(spectrum, max_leaf_nodes=8).n_leaves == 8


@few
@given(seed=seeds, limit=st.sampled_from([None, 3, 6]))
def test_spectra_and_leaves_give_the_same_tree(seed: int, limit: int | None) -> None:
    """Also where levels are alike only in the sum of several trees.

    Under a limit, rounding decides between nodes that gain the same; so there are none then.
    """
    tree, domain, _ = random_case(seed)
    rng = np.random.default_rng(seed)
    trees = [tree, *(random_tree(rng, domain) for _ in range(2))]
    shapes = [(one.n_nodes, 2) for one in trees]
    if limit is None:
        values = [rng.integers(0, 3, shape).astype(float) for shape in shapes]
    else:
        values = [rng.normal(size=shape) for shape in shapes]
    spectrum, leaves = (
        function_of(trees[0], domain, values[0])
        + function_of(trees[1], domain, values[1])
        + function_of(trees[2], domain, values[2])
        for function_of in (spectrum_of, leaf_sum_of)
    )
    one, other = (rebuild(f, max_leaf_nodes=limit) for f in (spectrum, leaves))
    assert one.energy == pytest.approx(other.energy, rel=1e-9)
    assert one.tree.n_leaves == other.tree.n_leaves
    np.testing.assert_allclose(
        as_function(one.tree, domain), as_function(other.tree, domain), rtol=0, atol=1e-11
    )


def test_nothing_but_rounding_is_one_leaf() -> None:
    tree, domain, values = random_case(3)
    leaves = leaf_sum_of(tree, domain, values)
    nothing = rebuild(leaves * 0.1 + leaves * 0.2 + leaves * -0.3)
    assert (nothing.tree.n_leaves, nothing.energy) == (1, 1.0)
    some = rebuild(leaves * 0.1 + leaves * 0.2 + leaves * -0.29)
    assert some.tree.n_leaves == rebuild(leaves).tree.n_leaves > 1
