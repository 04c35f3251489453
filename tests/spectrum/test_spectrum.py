"""The spectrum of a tree, against the whole domain enumerated."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discrete_trees import few, random_case, random_tree
from obliqua import HHCartClassifier, LMDTClassifier, SpectrumTooLarge, TreeBuilder, TreeError
from obliqua.spectrum import Domain, Feature, Spectrum, leaf_sum_of, spectrum_of
from obliqua.spectrum.boxes import added, gram_of_leaves
from obliqua.spectrum.principal import gram_of_spectra
from problems import examples
from reference import spectrum as twin

seeds = st.integers(0, 2**32 - 1)
EXACT = {"rtol": 0, "atol": 1e-13}


def as_function(spectrum: Spectrum) -> np.ndarray:
    return spectrum.value(twin.points(spectrum.domain.cardinalities))


def assert_same_coefficients(found: Spectrum, expected: dict[Any, Any]) -> None:
    known = found.to_dict()
    for partition, value in expected.items():
        got = np.atleast_1d(known.get(partition, np.zeros(found.n_outputs)))
        np.testing.assert_allclose(got, value, **EXACT)
    assert set(known) <= set(expected)


@few
@given(seeds)
def test_coefficients_are_those_of_the_sums(seed: int) -> None:
    tree, domain, values = random_case(seed)
    found = spectrum_of(tree, domain, values)
    function = twin.function_of(tree, domain, values)
    assert_same_coefficients(found, twin.spectrum(function, domain.cardinalities))
    np.testing.assert_allclose(as_function(found), function, **EXACT)
    np.testing.assert_allclose(found.mean, function.mean(axis=0), **EXACT)


@few
@given(seeds)
def test_parseval_and_inner_products(seed: int) -> None:
    tree, domain, _ = random_case(seed)
    other = random_tree(np.random.default_rng(seed + 1), domain)
    one, two = spectrum_of(tree, domain, "votes"), spectrum_of(other, domain, "shares")
    f = twin.function_of(tree, domain, np.eye(2)[tree.leaf_label])
    g = twin.function_of(other, domain, other.proportion)
    assert one.energy == pytest.approx(twin.inner(f, f), abs=1e-13)
    assert one.inner(two) == pytest.approx(twin.inner(f, g), abs=1e-13)
    assert two.inner(one) == pytest.approx(one.inner(two), abs=1e-15)
    expected = twin.gram([f, g])
    np.testing.assert_allclose(gram_of_spectra([one, two]), expected, **EXACT)
    leaves = [leaf_sum_of(tree, domain, "votes"), leaf_sum_of(other, domain, "shares")]
    np.testing.assert_allclose(gram_of_leaves(leaves), expected, **EXACT)
    assert leaves[0].inner(leaves[1]) == pytest.approx(twin.inner(f, g), abs=1e-13)
    assert leaves[0].energy == pytest.approx(twin.inner(f, f), abs=1e-13)
    np.testing.assert_allclose(leaves[0].mean, f.mean(axis=0), **EXACT)


@few
@given(seeds)
def test_sums_and_multiples(seed: int) -> None:
    tree, domain, values = random_case(seed)
    other = random_tree(np.random.default_rng(seed + 1), domain)
    numbers = np.random.default_rng(seed).normal(size=(other.n_nodes, 2))
    one, two = spectrum_of(tree, domain, values), spectrum_of(other, domain, numbers)
    f = twin.function_of(tree, domain, values)
    g = twin.function_of(other, domain, numbers)
    np.testing.assert_allclose(as_function(2.0 * one - two * 0.5), 2 * f - g / 2, **EXACT)
    np.testing.assert_allclose(as_function(-one + two), g - f, **EXACT)
    assert len(one - one) == 0
    leaves = [leaf_sum_of(tree, domain, values) * 2.0, -0.5 * leaf_sum_of(other, domain, numbers)]
    assert added(leaves).energy == pytest.approx(twin.inner(2 * f - g / 2, 2 * f - g / 2))


@few
@given(seeds)
def test_restriction(seed: int) -> None:
    tree, domain, values = random_case(seed)
    function = twin.function_of(tree, domain, values)
    spectrum = spectrum_of(tree, domain, values)
    for feature, cardinality in enumerate(domain.cardinalities):
        for level in range(cardinality):
            fixed = spectrum.restrict(domain.names[feature], level)
            assert feature not in fixed.features
            expected = twin.restricted(function, domain.cardinalities, feature, level)
            np.testing.assert_allclose(as_function(fixed), expected, **EXACT)


@few
@given(seeds, st.floats(0.05, 0.999))
def test_truncation_keeps_the_energy_with_the_fewest_coefficients(seed: int, share: float) -> None:
    tree, domain, values = random_case(seed)
    spectrum = spectrum_of(tree, domain, values)
    kept = spectrum.truncate(share)
    assert kept.energy >= share * spectrum.energy * (1 - 1e-9)
    assert set(kept.partitions()) <= set(spectrum.partitions())
    # The function stays real: what is left of the imaginary part is rounding.
    whole = twin.inverse(kept.to_dict(), domain.cardinalities)
    assert np.abs(np.imag(whole)).max() < 1e-12
    np.testing.assert_allclose(as_function(kept), np.real(whole), **EXACT)
    # One coefficient, or one pair of conjugates, less is too little.
    squares = (np.abs(kept.coefficients) ** 2).sum(axis=1)
    if len(kept) > 2:
        assert kept.energy - 2 * squares.min() < share * spectrum.energy * (1 + 1e-9)


@few
@given(seeds)
def test_truncation_of_everything_is_nothing(seed: int) -> None:
    tree, domain, values = random_case(seed)
    spectrum = spectrum_of(tree, domain, values)
    assert spectrum.truncate().to_dict().keys() == spectrum.to_dict().keys()
    orders = spectrum.truncate(max_order=1).orders
    assert (orders <= 1).all()


@examples(240)
@given(seeds, st.integers(0, 3))
def test_low_orders_are_exact_without_the_others(seed: int, order: int) -> None:
    tree, domain, values = random_case(seed)
    low = spectrum_of(tree, domain, values, max_order=order)
    whole = spectrum_of(tree, domain, values).truncate(max_order=order)
    assert low.order <= order
    np.testing.assert_allclose(as_function(low), as_function(whole), **EXACT)


@few
@given(seeds)
def test_an_unknown_level_is_averaged_out(seed: int) -> None:
    tree, domain, values = random_case(seed)
    spectrum = spectrum_of(tree, domain, values)
    for feature, cardinality in enumerate(domain.cardinalities):
        points = twin.points(domain.cardinalities)[:5].copy()
        points[:, feature] = -1
        levels = [spectrum.restrict(feature, level).value(points) for level in range(cardinality)]
        np.testing.assert_allclose(spectrum.value(points), np.mean(levels, axis=0), **EXACT)


# --- by hand -----------------------------------------------------------------------------------


def leaf(n_features: int = 2) -> Any:
    builder = TreeBuilder(n_features, 2)
    builder.set_leaf("only", [1, 3])
    return builder.build()


def test_a_single_leaf_has_one_coefficient() -> None:
    spectrum = spectrum_of(leaf(), Domain.of_levels([2, 3]))
    assert spectrum.to_dict().keys() == {()}
    assert spectrum.mean.tolist() == [0.25, 0.75]
    assert spectrum.order == 0
    assert spectrum.features == ()


def test_the_exclusive_or_has_one_interaction_and_nothing_of_order_one() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("r", {0: 1.0}, 0.5, ("a", "b"))
    for name, stats in (("a", ([1, 0], [0, 1])), ("b", ([0, 1], [1, 0]))):
        builder.add_split(name, {1: 1.0}, 0.5, (name + "0", name + "1"))
        builder.set_leaf(name + "0", stats[0])
        builder.set_leaf(name + "1", stats[1])
    spectrum = spectrum_of(builder.build(), Domain.of_levels([2, 2]), values="votes")
    assert spectrum.coefficients.dtype == np.float64
    assert {key: value.tolist() for key, value in spectrum.to_dict().items()} == {
        (): [0.5, 0.5],
        ((0, 1), (1, 1)): [0.5, -0.5],
    }


def test_many_features_need_several_words() -> None:
    rng = np.random.default_rng(3)
    domain = Domain.of_levels([5] * 60)
    assert domain.layout[3] == 3
    one, two = (random_tree(rng, domain, depth=3) for _ in range(2))
    spectra = [spectrum_of(tree, domain, "votes") for tree in (one, two)]
    codes = rng.integers(0, 5, (50, 60))
    for tree, spectrum in zip((one, two), spectra, strict=True):
        expected = np.eye(2)[tree.leaf_label][tree.apply(codes)]
        np.testing.assert_allclose(spectrum.value(codes), expected, **EXACT)
    leaves = [leaf_sum_of(tree, domain, "votes") for tree in (one, two)]
    np.testing.assert_allclose(gram_of_spectra(spectra), gram_of_leaves(leaves), **EXACT)
    assert spectra[0].inner(spectra[1]) == pytest.approx(leaves[0].inner(leaves[1]))


def test_a_spectrum_from_partitions_and_back() -> None:
    domain = Domain.of_levels([2, 3])
    given_ = {(): 1.0, ((0, 1),): 0.5, ((1, 1),): 0.25 + 0.1j, ((1, 2),): 0.25 - 0.1j}
    spectrum = Spectrum.from_dict(domain, given_)
    assert spectrum.to_dict() == given_
    np.testing.assert_allclose(
        as_function(spectrum), np.real(twin.inverse(given_, (2, 3))), **EXACT
    )
    assert spectrum.energy == pytest.approx(1 + 0.25 + 2 * (0.0625 + 0.01))
    assert pickle.loads(pickle.dumps(spectrum)).to_dict() == given_
    assert len(Spectrum.from_dict(domain, {})) == 0
    with pytest.raises(ValueError, match=r"between 1 and 2; got \(\(1, 3\),\)"):
        Spectrum.from_dict(domain, {((1, 3),): 1.0})
    with pytest.raises(AttributeError, match="cannot be changed"):
        spectrum.domain = domain


# --- what is refused ---------------------------------------------------------------------------


def test_the_number_of_coefficients_is_bounded_before_they_are_made() -> None:
    domain = Domain.of_levels([50] * 8)
    builder = TreeBuilder(8, 2)
    for depth in range(8):
        builder.add_split(depth, {depth: 1.0}, 10.5, (f"leaf {depth}", depth + 1))
        builder.set_leaf(f"leaf {depth}", [1, 0])
    builder.set_leaf(8, [0, 1])
    tree = builder.build()
    with pytest.raises(SpectrumTooLarge, match=r"max_coefficients allows 1000.*max_order=2"):
        spectrum_of(tree, domain, max_coefficients=1000)
    assert spectrum_of(tree, domain, max_order=1).order == 1
    # Without spectra there is no such bound: P(all above 10) = (39 / 50)^8.
    share = (39 / 50) ** 8
    assert leaf_sum_of(tree, domain, "votes").mean == pytest.approx([1 - share, share])


@pytest.mark.parametrize("Estimator", [HHCartClassifier, LMDTClassifier])
def test_oblique_splits_and_machines_are_refused(Estimator: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    tree = Estimator(random_state=0).fit(X, X.sum(axis=1) > 0).tree_
    assert tree.n_oblique > 0
    with pytest.raises(TreeError, match=r"2 columns|linear machine.*C45Classifier"):
        Domain.of_trees([tree])
    with pytest.raises(TreeError, match="ask about one column each"):
        spectrum_of(tree, Domain.of_levels([2, 2]))


def test_a_cut_inside_an_interval_is_refused() -> None:
    builder = TreeBuilder(1, 2)
    builder.add_split("r", {0: 1.0}, 0.25, ("a", "b"))
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    domain = Domain((Feature("x", "intervals", (0.5,)),))
    with pytest.raises(TreeError, match=r"cuts 'x' at 0\.25.*Domain\.of_trees"):
        spectrum_of(builder.build(), domain)


def test_other_mistakes() -> None:
    domain = Domain.of_levels([2, 3])
    spectrum = spectrum_of(leaf(), domain)
    with pytest.raises(TreeError, match="3 columns and the domain 2"):
        spectrum_of(leaf(3), domain)
    with pytest.raises(TreeError, match="3 columns and the domain 2"):
        leaf_sum_of(leaf(3), domain)
    with pytest.raises(ValueError, match="'shares', 'votes' or numbers"):
        spectrum_of(leaf(), domain, "probabilities")
    with pytest.raises(ValueError, match="finite"):
        spectrum_of(leaf(), domain, [np.nan])
    with pytest.raises(ValueError, match="above 0 and at most 1; got 0"):
        spectrum.truncate(0.0)
    with pytest.raises(ValueError, match=r"has 3 levels.*got 3"):
        spectrum.restrict("x1", 3)
    with pytest.raises(ValueError, match="0 features called 'y'"):
        spectrum.restrict("y", 0)
    with pytest.raises(ValueError, match="numbered from 0; got 2"):
        spectrum.restrict(2, 0)
    with pytest.raises(ValueError, match="row 1 has 2"):
        spectrum.value([[0, 0], [2, 0]])
    with pytest.raises(ValueError, match="shape"):
        spectrum.value([0, 1])
    with pytest.raises(ValueError, match="same domain"):
        spectrum.inner(spectrum_of(leaf(), Domain.of_levels([2, 2])))
    with pytest.raises(ValueError, match="same domain"):
        added([leaf_sum_of(leaf(), domain), leaf_sum_of(leaf(), Domain.of_levels([2, 2]))])
