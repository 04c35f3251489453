"""HHCartClassifier: its own parameters, and data that were made to try them."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV

from estimators.registry import assert_sound, blobs
from obliqua import CartClassifier, HHCartClassifier, ObliqueTreeClassifier

X, Y = blobs(300, 4, 3)


def hhcart(**params):
    """The tree as it is grown; pruning has tests of its own."""
    return HHCartClassifier(pruning=None, **params)


def turned(n=400, p=3, seed=0):
    """Two classes along a direction in which neither they nor the axes extend most."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    rows = rng.normal(size=(n, p)) * np.linspace(5.0, 1.0, p)
    rows[:, -1] = 0.3 * rng.random(n) + 0.4 * y
    turn, _ = np.linalg.qr(rng.normal(size=(p, p)))
    return rows @ turn, y


def used(model):
    """The most features in one split."""
    return int(np.diff(model.tree_.coef_ptr).max(initial=0))


def n_oblique(model):
    return int((model.tree_.feature == -3).sum())


# --- what the paper has ------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["all", "dominant"])
def test_one_oblique_split_does_it(variant):
    rows, y = turned(400, 2)
    model = hhcart(variant=variant).fit(rows, y)
    assert_sound(model, rows, y)
    assert model.get_n_leaves() == 2
    assert n_oblique(model) == 1
    assert CartClassifier(pruning=None).fit(rows, y).get_n_leaves() > 10


def test_all_eigenvectors_find_what_the_dominant_ones_do_not():
    """The direction that tells is the last eigenvector."""
    rows, y = turned(400, 4, 3)
    leaves = {v: hhcart(variant=v).fit(rows, y).get_n_leaves() for v in ("all", "dominant")}
    assert leaves["all"] == 2 < leaves["dominant"]


def test_levels_as_published_have_squares_that_add_up_to_one():
    """A weight of 2 is a row more."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    level = np.where(rng.random(400) < 0.7, y, 2)
    table = np.column_stack([rng.normal(size=400), level])
    fits = {}
    for scale in ("variance", "squares"):
        model = hhcart(level_scale=scale, categorical_features=[1], max_depth=1)
        tree = model.fit(table, y).tree_
        again = model.fit(table, y, sample_weight=np.full(400, 2.0)).tree_
        twice = model.fit(np.repeat(table, 2, axis=0), np.repeat(y, 2)).tree_
        np.testing.assert_array_equal(again.table, twice.table)
        fits[scale] = tree.table
    np.testing.assert_allclose(fits["variance"], fits["squares"] * 20, rtol=1e-6)


@pytest.mark.parametrize("variant", ["all", "dominant", "geometric"])
def test_reflections_of_the_root_are_columns_for_cart(variant):
    """CART over the features, and over what the root's reflections make of them."""
    tree = hhcart(variant=variant, reflect="root").fit(X, Y).tree_
    found = {}  # by what they are: axes, then reflections in their order
    for k in np.flatnonzero(~tree.is_leaf):
        label, normal = tree.origin_labels[tree.origin[k]], tree.coefficients(k)
        numbers = [int(word) for word in label.replace(",", "").split() if word.isdigit()]
        place = (1, *numbers) if numbers else (0, int(np.argmax(normal)))
        np.testing.assert_array_equal(found.setdefault(place, normal), normal)
    assert len(found) < tree.n_leaves - 1  # some directions serve several nodes
    columns = np.zeros((len(X), len(found)))
    for column, place in zip(columns.T, sorted(found), strict=True):
        for k in np.flatnonzero(found[place]):
            column += found[place][k] * X[:, k]
    cart = CartClassifier(pruning=None, criterion="twoing").fit(columns, Y).tree_
    np.testing.assert_array_equal(tree.n_samples, cart.n_samples)
    np.testing.assert_array_equal(tree.threshold, cart.threshold)
    assert hhcart(variant=variant).fit(X, Y).tree_ != tree


def test_tau_decides_what_is_reflected():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    along, across = 10 * rng.normal(size=200), rng.random(200) * 0.5 + y
    angle = 0.1
    rows = np.column_stack([along * np.cos(angle) - across * np.sin(angle),
                            along * np.sin(angle) + across * np.cos(angle)])  # fmt: skip
    # the classes extend along a direction whose distance from the first axis is about the angle
    assert hhcart(tau=0.05).fit(rows, y).get_n_leaves() == 2
    assert hhcart(tau=0.15).fit(rows, y).get_n_leaves() > 2
    assert hhcart(tau=2.0).fit(X, Y).tree_ == CartClassifier(pruning=None).fit(X, Y).tree_
    search = GridSearchCV(hhcart(), {"tau": [0.05, 0.15, 2.0]}, cv=3).fit(rows, y)
    assert search.best_params_ == {"tau": 0.05}


def test_which_column_is_first_matters_if_it_is_the_target():
    order = [2, 0, 3, 1]
    new = 3 * np.random.default_rng(1).normal(size=(500, 4))
    first, nearest = (
        [
            hhcart(variant="dominant", target=target, max_depth=1).fit(X[:, o], Y).apply(new[:, o])
            for o in ([0, 1, 2, 3], order)
        ]
        for target in ("first", "nearest")
    )
    assert (first[0] != first[1]).any()
    np.testing.assert_array_equal(nearest[0], nearest[1])


def test_oblique_min_samples():
    cart = CartClassifier(pruning=None).fit(X, Y)
    assert hhcart(oblique_min_samples=len(X) + 1).fit(X, Y).tree_ == cart.tree_
    assert hhcart(oblique_min_samples=10**30).fit(X, Y).tree_ == cart.tree_
    assert hhcart(oblique_min_samples=1).fit(X, Y).tree_ == hhcart().fit(X, Y).tree_
    for least, said in ((40, 40), (2 * X.shape[1] + 1, "2p")):
        tree = hhcart(oblique_min_samples=said).fit(X, Y).tree_
        oblique = tree.n_samples[tree.feature == -3]
        assert len(oblique) and oblique.min() >= least
        assert tree == hhcart(oblique_min_samples=least).fit(X, Y).tree_
    noise = np.random.default_rng(0).integers(0, 3, len(X))
    smaller = hhcart().fit(X, noise).tree_
    assert smaller.n_samples[smaller.feature == -3].min() < 9
    larger = hhcart(oblique_min_samples="2p").fit(X, noise).tree_
    assert larger.n_samples[larger.feature == -3].min() >= 9


# --- more than the paper -----------------------------------------------------------------------


def test_fisher_finds_what_no_eigenvector_shows():
    """Round classes side by side: eigenvectors are noise, the means tell all."""
    rng = np.random.default_rng(2)
    y = np.arange(600) % 2
    means = 0.8 * y[:, None] * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rows, new = (rng.normal(size=(600, 5)) + means for _ in range(2))
    plain = hhcart(variant="dominant").fit(rows, y)
    fisher = hhcart(variant="dominant", extra_directions="fisher").fit(rows, y)
    assert fisher.get_n_leaves() < plain.get_n_leaves()
    assert fisher.score(new, y) > plain.score(new, y)
    assert fisher.tree_.origin_labels[fisher.tree_.origin[0]].startswith("Fisher, class 0")


def test_outliers_do_not_turn_a_trimmed_covariance():
    rows, y = turned(600, 3, 5)
    clean = hhcart(variant="all", max_depth=1).fit(rows, y)
    spoilt = rows.copy()
    spoilt[:12] += np.array([3e3, -2e3, 1e3]) * np.arange(1, 13)[:, None]
    inner = np.arange(600) >= 12
    right = {
        kind: hhcart(covariance=kind, max_depth=1).fit(spoilt, y).score(rows[inner], y[inner])
        for kind in ("sample", "trimmed")
    }
    assert clean.score(rows, y) == 1.0
    assert right["trimmed"] > 0.97 > 0.9 > right["sample"]


@pytest.mark.parametrize("scale", ["standard", "robust", "minmax"])
@pytest.mark.parametrize("extra", [None, "fisher"])
def test_scales_make_units_irrelevant(scale, extra):
    units = np.array([1.0, 1000.0, 1e-4, 1.0])
    params = {"variant": "dominant", "extra_directions": extra}
    in_units, plain = (hhcart(scale=scale, **params).fit(Z, Y) for Z in (X * units, X))
    np.testing.assert_array_equal(in_units.apply(X * units), plain.apply(X))
    np.testing.assert_allclose(
        in_units.tree_.coefficients(0) * units, plain.tree_.coefficients(0), rtol=1e-5
    )
    raw = [hhcart(**params).fit(Z, Y).apply(Z) for Z in (X * units, X)]
    assert (raw[0] != raw[1]).any()


@pytest.mark.parametrize("most", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("params", [
    {}, {"extra_directions": "fisher"}, {"extra_directions": "discriminants"},
    {"covariance": "trimmed"}, {"scale": "standard"},
    {"n_jobs": 2}, {"max_leaf_nodes": 9},
])  # fmt: skip
def test_no_split_uses_more_features_than_allowed(most, params):
    model = hhcart(max_features_per_split=most, **params).fit(X, Y)
    assert used(model) == min(most, 4)
    assert_sound(model, X, Y)
    if most == 1 and "max_leaf_nodes" not in params:
        assert model.tree_ == CartClassifier(pruning=None).fit(X, Y).tree_
    if most >= 4:
        assert model.tree_ == hhcart(**params).fit(X, Y).tree_


@pytest.mark.parametrize(
    "wrong", [{"variant": "al"}, {"target": "last"}, {"tau": -1.0}, {"tau": np.nan}, {"trim": 1.0}]
)
def test_the_method_refuses_nonsense(wrong: dict[str, Any]) -> None:
    from obliqua.methods.hhcart import Householder

    with pytest.raises(ValueError, match=next(iter(wrong))):
        Householder(**wrong)


def test_the_method_serves_as_a_proposer() -> None:
    from obliqua.methods.hhcart import Householder

    X, y = blobs()
    ours = HHCartClassifier(variant="dominant", pruning=None).fit(X, y)
    same = ObliqueTreeClassifier(Householder("dominant"), zero_gain_splits=False, pruning=None)
    assert same.fit(X, y).tree_ == ours.tree_


def test_discriminants_join_the_reflections() -> None:
    from obliqua.methods.discriminants import Discriminants

    X, y = load_wine(return_X_y=True)
    both = HHCartClassifier(extra_directions="discriminants", pruning=None, max_depth=1)
    alone = ObliqueTreeClassifier(Discriminants(), pruning=None, max_depth=1)
    plain = HHCartClassifier(pruning=None, max_depth=1)
    gain = [model.fit(X, y).tree_.gain[0] for model in (both, alone, plain)]
    assert gain[0] == max(gain)
    assert gain[0] > gain[2]


@pytest.mark.parametrize("wrong", ["3p", -1, 0.5j])
def test_discriminants_refuse_nonsense(wrong: Any) -> None:
    from obliqua.methods.discriminants import Discriminants
    from obliqua.methods.hhcart import Householder

    for method in (Discriminants, Householder):
        with pytest.raises(ValueError, match="min_rows must be"):
            method(min_rows=wrong)
