"""OC1Classifier: its splits, its count and its clock. Options of a climb: test_oc1_options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.estimators.registry import assert_sound

from obliqua import CartClassifier, OC1Classifier, load, save
from obliqua.datasets import load_oc1_figure5, make_ls10, make_pol

RNG = np.random.default_rng(3)
X = RNG.normal(size=(300, 4))
Y = (X @ [1.0, 2.0, -1.0, 0.5] + 0.7 * RNG.normal(size=300) > 0) + (X[:, 0] > 1)


def grown(**params: Any) -> OC1Classifier:
    return OC1Classifier(**{"pruning": None, "random_state": 0, **params})


def is_oblique(model: Any) -> np.ndarray:
    """Per split: whether it has more than one feature."""
    sizes = np.diff(model.tree_.coef_ptr)
    return sizes > 1


def test_more_search_finds_better_splits() -> None:
    """The paper's table 2: leaves, by restarts and jumps."""
    points, labels = make_pol(return_X_y=True)
    leaves = {
        (restarts, jumps): grown(n_restarts=restarts, n_jumps=jumps)
        .fit(points, labels)
        .get_n_leaves()
        for restarts, jumps in ((1, 0), (1, 20), (20, 20))
    }
    assert leaves[1, 0] > leaves[1, 20] >= leaves[20, 20] == 5


def test_figure_5() -> None:
    """No change of one coefficient leads from the axis-parallel split to the line that divides."""
    points, labels = load_oc1_figure5(return_X_y=True)
    alone = grown(n_restarts=1, n_jumps=0, scale=None).fit(points, labels)
    assert alone.get_n_leaves() == 3
    found = grown(n_restarts=20, n_jumps=20, scale=None).fit(points, labels)
    assert found.get_n_leaves() == 2
    assert found.score(points, labels) == 1.0


def test_small_nodes_get_axis_parallel_splits() -> None:
    model = grown(oblique_min_samples=10.0).fit(X, Y)
    tree = model.tree_
    rows = tree.n_samples[~tree.is_leaf]
    assert is_oblique(model)[rows > 40].any()
    assert not is_oblique(model)[rows <= 40].any()
    assert not is_oblique(grown(oblique_min_samples=301).fit(X, Y)).any()
    assert grown(oblique_min_samples=301).fit(X, Y).n_hyperplanes_ == 0


def test_oblique_only() -> None:
    model = grown(oblique_only=True, oblique_min_samples=9).fit(X, Y)
    tree = model.tree_
    rows = tree.n_samples[~tree.is_leaf]
    # An axis-parallel split of a large node could only be the end of a climb.
    assert is_oblique(model)[rows >= 9].all()
    assert not is_oblique(grown(oblique_only=True).fit(X[:8], Y[:8])).any()


def test_the_bias_towards_one_feature() -> None:
    shares = [is_oblique(grown(axis_bias=bias).fit(X, Y)).mean() for bias in (1.0, 1.5, 1e6)]
    assert shares[0] >= shares[1] > shares[2] == 0
    alone = CartClassifier(pruning=None).fit(X, Y).tree_
    biased = grown(axis_bias=1e6).fit(X, Y).tree_
    np.testing.assert_array_equal(biased.threshold, alone.threshold)
    np.testing.assert_array_equal(biased.stats, alone.stats)


def test_no_time() -> None:
    model = grown(time_limit=0.0).fit(X, Y)
    assert model.timed_out_
    assert model.n_hyperplanes_ == 0
    assert model.tree_ == CartClassifier(pruning=None).fit(X, Y).tree_


def test_some_time() -> None:
    points, labels = make_ls10(6000, random_state=0, return_X_y=True)
    whole = grown(n_restarts=200, n_jumps=50, max_depth=2)
    short = grown(n_restarts=200, n_jumps=50, max_depth=2, time_limit=0.05).fit(points, labels)
    assert short.timed_out_
    assert short.n_hyperplanes_ > 0
    assert_sound(short, points, labels)
    assert not whole.set_params(n_restarts=2, time_limit=3600.0).fit(points, labels).timed_out_


def test_what_a_search_has_counted_is_kept(tmp_path: Any) -> None:
    model = grown(time_limit=0.0).fit(X, Y)
    save(model, tmp_path / "m.obliqua")
    again = load(tmp_path / "m.obliqua")
    assert again.timed_out_ is True
    assert again.n_hyperplanes_ == 0


def test_a_criterion_of_ones_own() -> None:
    def balance(left: Any, right: Any) -> float:
        return float(min(left.max() / left.sum(), right.max() / right.sum()))

    model = grown(criterion=balance, n_restarts=2, max_depth=3).fit(X, Y)
    assert is_oblique(model).any()
    assert_sound(model, X, Y)

    def broken(left: Any, right: Any) -> float:
        raise RuntimeError("no idea")

    with pytest.raises(RuntimeError, match="no idea"):
        grown(criterion=broken).fit(X, Y)


def test_levels_and_gaps_take_part() -> None:
    rng = np.random.default_rng(0)
    table = np.empty((200, 3), dtype=object)
    table[:, 0] = rng.normal(size=200)
    table[:, 1] = rng.choice(["a", "b", "c"], size=200)
    table[:, 2] = rng.normal(size=200)
    y = table[:, 0].astype(float) + 2.0 * (table[:, 1] == "b") + table[:, 2].astype(float) > 0.5
    table[::7, 2] = None
    model = grown(categorical_features=[1], guided_start="fisher").fit(table, y)
    both = [set(plane) for plane in np.split(model.tree_.coef_idx, model.tree_.coef_ptr[1:-1])]
    assert {0, 1, 2} in both
    assert model.score(table, y) == 1.0


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_restarts": 0}, "n_restarts"),
        ({"n_jumps": -1}, "n_jumps"),
        ({"order": "seq"}, "order"),
        ({"axis_bias": 0.5}, "axis_bias"),
        ({"oblique_min_samples": 0}, "oblique_min_samples"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"guided_start": "cart"}, "guided_start"),
    ],
)
def test_parameters_that_make_no_sense(params: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        grown(**params).fit(X, Y)


@pytest.mark.parametrize("selection", [None, "backward", "forward"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_features_than_allowed(selection: Any, most: int) -> None:
    model = grown(max_features_per_split=most, feature_selection=selection).fit(X, Y)
    sizes = np.diff(model.tree_.coef_ptr)
    assert sizes.max() == most
    assert_sound(model, X, Y)


@pytest.mark.parametrize("selection", ["backward", "forward"])
def test_features_of_no_use_are_left_out(selection: str) -> None:
    """Two of eight features tell the classes apart; the others are noise."""
    rng = np.random.default_rng(0)
    noisy = rng.uniform(size=(800, 8))
    y = noisy[:, 2] + noisy[:, 5] > 1.0
    found = grown(feature_selection=selection, max_depth=1).fit(noisy, y)
    assert sorted(found.tree_.coef_idx) == [2, 5]
    assert found.score(noisy, y) > 0.97
    everything = grown(max_depth=1, n_restarts=2).fit(noisy, y)
    assert len(everything.tree_.coef_idx) > 2


def test_a_larger_beta_leaves_fewer_features() -> None:
    sizes = [
        np.diff(grown(feature_selection="backward", beta=beta).fit(X, Y).tree_.coef_ptr).mean()
        for beta in (0.0, 0.2, 0.8)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


def test_a_feature_that_adds_nothing_does_not_join() -> None:
    rng = np.random.default_rng(1)
    values = rng.uniform(size=(300, 3))
    y = values[:, 1] > 0.4
    y[:20] = ~y[:20]
    one = grown(feature_selection="forward", beta=1.0, max_depth=1).fit(values, y)
    many = grown(feature_selection="forward", beta=0.0, max_depth=1).fit(values, y)
    assert len(one.tree_.coef_idx) == 1 < len(many.tree_.coef_idx)


@pytest.mark.parametrize("guide", ["fisher", "householder"])
def test_a_guide_takes_weights_for_rows(guide: str) -> None:
    counts = np.random.default_rng(0).integers(1, 4, size=60)
    for limit in (2.0, 35, 20.0):
        params = {"guided_start": guide, "oblique_min_samples": limit}
        weighted = grown(**params).fit(X[:60], Y[:60], sample_weight=counts)
        repeated = grown(**params).fit(np.repeat(X[:60], counts, 0), np.repeat(Y[:60], counts))
        np.testing.assert_array_equal(weighted.tree_.stats, repeated.tree_.stats)


@pytest.mark.parametrize(
    "params",
    [
        {"guided_start": "fisher", "n_restarts": 1},
        {"guided_start": "fisher", "feature_selection": "forward"},
        {"oblique_only": True, "max_features_per_split": 1},
        {"oblique_only": True, "axis_bias": 2.0},
    ],
    ids=str,
)
def test_options_that_make_no_sense_together(params: Any) -> None:
    with pytest.raises(ValueError, match="make no sense together"):
        grown(**params).fit(X, Y)


def test_constant_columns_do_not_disturb_a_forward_choice() -> None:
    wide = np.column_stack([X, np.full((300, 10), 7.0)])
    params = {"feature_selection": "forward", "beta": 0.5}
    alone, beside = grown(**params).fit(X, Y), grown(**params).fit(wide, Y)
    sizes = [np.diff(model.tree_.coef_ptr).mean() for model in (alone, beside)]
    assert sizes[1] == pytest.approx(sizes[0], abs=0.3)


@pytest.mark.parametrize(
    "params", [{"n_jumps": 10**6, "n_restarts": 1}, {"n_restarts": 10**6}], ids=str
)
def test_a_limit_of_time_ends_long_searches(params: Any) -> None:
    """What is left of so many jumps or starts is not tried."""
    model = grown(time_limit=0.2, **params).fit(X, Y)
    assert model.timed_out_
    assert 0 < model.n_hyperplanes_ < 500_000


def test_a_slow_criterion_heeds_the_clock() -> None:
    def slow(left: Any, right: Any) -> float:
        return float(left.max() / left.sum() + right.max() / right.sum())

    model = grown(criterion=slow, time_limit=0.3, n_restarts=50).fit(X, Y)
    assert model.timed_out_
