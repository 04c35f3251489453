"""Which coefficients are kept, and which split comes next: choices that change no exact result."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.spectrum import Domain, Feature, LeafSum, Spectrum, rebuild, spectrum_of, tree_of
from reference import spectrum as twin


def function_on(domain: Domain, values: np.ndarray) -> Spectrum:
    return Spectrum.from_dict(domain, twin.spectrum(values, domain.cardinalities))


def boxes_on(domain: Domain, values: np.ndarray) -> LeafSum:
    """The same with a box for each point."""
    points = twin.points(domain.cardinalities)
    sets = {
        f: points[:, f][:, None] == np.arange(n)[None, :]
        for f, n in enumerate(domain.cardinalities)
    }
    return LeafSum(domain, values, sets)


both = pytest.mark.parametrize("make", [function_on, boxes_on])


def numbers(*cardinalities: int) -> Domain:
    return Domain(
        tuple(
            Feature(f"x{i}", "intervals", tuple(float(k) for k in range(1, n)))
            for i, n in enumerate(cardinalities)
        )
    )


def test_of_equal_coefficients_those_of_low_order_stay() -> None:
    low, high = ((2, 1),), ((0, 1), (1, 1))
    spectrum = Spectrum.from_dict(Domain.of_levels([2, 2, 2]), {high: 0.5, low: -0.5})
    assert spectrum.partitions() == [high, low], "the other one stands first"
    assert spectrum.truncate(0.5).partitions() == [low]


@both
@pytest.mark.parametrize("seed", range(20))
def test_the_best_cut_is_taken(make: type, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(7, 2)) ** 3
    domain = numbers(7)
    built = rebuild(make(domain, values), max_leaf_nodes=2)
    kept = [
        sum(len(side) * (side.mean(axis=0) ** 2).sum() for side in (values[:cut], values[cut:]))
        for cut in range(1, 7)
    ]
    assert built.tree.threshold.tolist() == [1.0 + np.argmax(kept)]
    assert built.energy == pytest.approx(max(kept) / (values**2).sum())


@both
def test_the_node_that_gains_most_is_split_next(make: type) -> None:
    # Left of x0 little depends on x1, right of it much on x2.
    points = twin.points((2, 2, 2))
    left = points[:, 0] == 0
    values = np.where(left, 10.0 + points[:, 1], -10.0 - 3.0 * points[:, 2])[:, None]
    tree = tree_of(make(Domain.of_levels([2, 2, 2]), values), max_leaf_nodes=3)
    assert tree.coef_idx.tolist() == [0, 2]
    assert tree.gain.tolist() == pytest.approx([11.0**2, 0.0, 0.5 * 1.5**2, 0.0, 0.0])


@both
def test_at_ties_the_feature_that_matters_more_comes_first(make: type) -> None:
    domain = Domain.of_levels([2, 2, 2])
    wanted = {((0, 1),): 0.5, ((1, 1),): 0.5, ((1, 1), (2, 1)): 0.25}
    values = np.real(twin.inverse(wanted, (2, 2, 2)))
    assert tree_of(make(domain, values)).coef_idx[0] == 1


@both
@pytest.mark.parametrize("place", [1, 2, 4])
def test_where_no_cut_says_anything_it_is_where_the_function_changes(
    make: type, place: int
) -> None:
    domain = numbers(6, 6)
    points = twin.points((6, 6))
    # Signs that balance on both sides, so that no feature alone says anything.
    signs = np.where(np.arange(6) < place, 1.0 / place, -1.0 / (6 - place))
    values = (signs[points[:, 0]] * signs[points[:, 1]])[:, None]
    tree = tree_of(make(domain, values))
    assert tree.n_leaves == 4
    assert set(tree.threshold.tolist()) == {float(place)}


@both
@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_a_tree_with_enough_energy_grows_no_further(make: type, share: float) -> None:
    domain = numbers(4, 4, 3)
    values = np.random.default_rng(1).normal(size=(48, 1))
    function = make(domain, values)
    found = rebuild(function, energy=share, merge="none")
    n_leaves = found.tree.n_leaves
    less = rebuild(function, max_leaf_nodes=n_leaves - 1, merge="none")
    assert less.energy < share <= found.energy
    assert 1 < n_leaves < 48


@both
def test_what_is_missing_goes_where_most_levels_are(make: type) -> None:
    domain = Domain((Feature("x", "values", (0.0, 4.0, 5.0)),))
    missing = np.array([[np.nan]])
    for values, expected in (([1.0, 0.0, 0.0], 0.0), ([1.0, 1.0, 0.0], 1.0)):
        tree = tree_of(make(domain, np.array(values)[:, None]))
        assert tree.mean[tree.apply(missing)] == pytest.approx(expected, abs=1e-15)


def test_many_levels_need_no_table_of_all_pairs() -> None:
    # 30,000 levels by 30,000 would be 14 gigabytes.
    domain = numbers(30_000)
    tree = tree_of(
        LeafSum(
            domain,
            np.array([[1.0], [2.0]]),
            {0: np.arange(30_000)[None, :] < np.array([[30_000], [12_345]])},
        )
    )
    assert tree.threshold.tolist() == [12_345.0]
    spectrum = spectrum_of(tree, domain)
    points = np.array([[0], [12_344], [12_345], [29_999]])
    np.testing.assert_allclose(spectrum.value(points).ravel(), [3, 3, 1, 1], atol=1e-9)
    assert spectrum.restrict(0, 12_345).mean == pytest.approx([1.0])
    again = tree_of(spectrum)
    assert again.threshold.tolist() == [12_345.0]
    np.testing.assert_allclose(again.mean[1:], [[3.0], [1.0]], atol=1e-9)
