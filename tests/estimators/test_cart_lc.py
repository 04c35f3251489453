"""CART-LC: features that are left out, units, signs, limits, and what the search notes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.adapter import threads_everywhere
from estimators.registry import assert_sound, blobs, full_grown
from obliqua import CartClassifier, CartLCClassifier

EVERY = [{}, {"beta": None}, {"variant": "oc1"}, {"variant": "oc1", "sign": "exact"}]
each_way = pytest.mark.parametrize("params", EVERY, ids=str)


def grown(X: Any, y: Any, **params: Any) -> Any:
    return full_grown(CartLCClassifier, **params).fit(X, y)


def noisy(n_rows: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two features decide, four say nothing."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 6))
    return X, (X[:, 0] + 2 * X[:, 3] > 0).astype(int)


# --- features that are left out --------------------------------------------------------------


def test_features_that_say_nothing_are_absent() -> None:
    X, y = noisy(seed=2)
    model = grown(X, y)
    assert model.get_n_leaves() == 2
    assert model.tree_.coef_idx.tolist() == [0, 3]
    assert grown(X, y, beta=None).tree_.coef_idx.tolist()[:6] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("params", [{}, {"beta": None}, {"variant": "oc1"}], ids=str)
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_split_uses_more_features_than_allowed(most: int, params: dict[str, Any]) -> None:
    X, y = blobs(300, 6, 4)
    sizes = np.diff(grown(X, y, max_features_per_split=most, **params).tree_.coef_ptr)
    assert sizes.max() == most


def test_two_features_are_the_right_two() -> None:
    X, y = noisy(seed=1)
    model = grown(X, y, beta=None, max_features_per_split=2)
    assert model.tree_.coef_idx[:2].tolist() == [0, 3]


def test_a_larger_beta_leaves_out_more() -> None:
    X, y = blobs(400, 8, 3, seed=4)
    y = np.where(np.arange(400) % 7 == 0, (y + 1) % 3, y)
    sizes = [
        np.diff(grown(X, y, beta=beta, max_depth=1).tree_.coef_ptr)[0]
        for beta in (None, 0.0, 0.2, 1.0)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == 8
    assert sizes[-1] == 1


def test_a_feature_that_does_not_vary_is_never_used() -> None:
    X, y = noisy()
    X[:, 1] = 5.0
    for params in EVERY:
        assert 1 not in grown(X, y, **params).tree_.coef_idx


# --- better or not than the axes ------------------------------------------------------------


@each_way
def test_trees_are_sound(params: dict[str, Any]) -> None:
    X, y = blobs(300, 4, 3, seed=2)
    y = np.where(np.arange(300) % 9 == 0, (y + 1) % 3, y)
    model = grown(X, y, **params)
    assert_sound(model, X, y)
    assert model.n_hyperplanes_ > 0
    assert model.timed_out_ is False


def gains(seed: int, **params: Any) -> tuple[np.ndarray, np.ndarray]:
    """Gains of the oblique splits, and what the best axis-parallel ones would have gained."""
    X, y = blobs(300, 5, 3, seed=seed)
    X = X * [1, 10, 0.1, 1, 1]
    y = np.where(np.arange(300) % 5 == 0, (y + 1) % 3, y)
    tree = grown(X, y, **params).tree_
    oblique = tree.feature == -3
    return tree.gain[oblique], tree.axis_gain[oblique]


@pytest.mark.parametrize("seed", range(3))
def test_the_book_takes_the_better_of_two_splits(seed: int) -> None:
    oblique, axis = gains(seed)
    assert len(oblique)
    assert (oblique > axis).all()


@pytest.mark.parametrize("seed", range(3))
def test_an_exact_search_never_gets_worse_than_its_start(seed: int) -> None:
    oblique, axis = gains(seed, variant="oc1", sign="exact")
    assert (oblique >= axis).all()


def test_the_program_takes_what_it_gets() -> None:
    """It is not compared with the axis-parallel split, which is sometimes better."""
    worse = [oblique < axis for oblique, axis in (gains(seed, variant="oc1") for seed in range(3))]
    assert np.concatenate(worse).any()


def test_exclusive_or_needs_two_splits() -> None:
    """No axis-parallel split gains anything; a line that cuts off a corner does."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5, dtype=float)
    y = np.array([0, 1, 1, 0] * 5)
    assert full_grown(CartClassifier, zero_gain_splits=False).fit(X, y).get_n_leaves() == 1
    for params in EVERY:
        model = grown(X, y, **params)
        assert model.get_n_leaves() == 3
        assert model.score(X, y) == 1.0


# --- where it looks -------------------------------------------------------------------------


def test_units_and_origins_do_not_matter_to_the_book() -> None:
    X, y = blobs(200, 4, 3, seed=1)
    X = np.round(X, 2)
    moved = X * [1024.0, 2.0**-20, 1.0, 2.0**60]
    np.testing.assert_array_equal(grown(X, y).apply(X), grown(moved, y).apply(moved))
    # in the program's version they do, unless features are scaled
    program = {"variant": "oc1", "sign": "exact"}
    plain, other = grown(X, y, **program), grown(moved, y, **program)
    assert (plain.apply(X) != other.apply(moved)).any()
    plain, other = (grown(rows, y, scale="minmax", **program) for rows in (X, moved))
    np.testing.assert_array_equal(plain.apply(X), other.apply(moved))


def test_small_nodes() -> None:
    X = np.random.default_rng(1).normal(size=(12, 8))
    y = (X.sum(axis=1) > 0).astype(int)
    assert np.diff(grown(X, y).tree_.coef_ptr).max() > 1
    assert np.diff(grown(X, y, oblique_min_samples=13).tree_.coef_ptr).max() == 1
    assert np.diff(grown(X, y, oblique_min_samples=2.0).tree_.coef_ptr).max() == 1
    # as in the program, the root is never too small, and other nodes are
    X, y = blobs(40, 10, 4, seed=3)
    y = np.arange(40) % 7 % 4
    sizes = np.diff(grown(X, y, variant="oc1").tree_.coef_ptr)
    assert sizes[0] == 10
    model = grown(X, y, variant="oc1")
    inner = ~model.tree_.is_leaf
    small = model.tree_.n_samples[inner] <= 20
    assert small.any()
    assert (sizes[small] == 1).all()
    python = grown(X, y, variant="oc1", criterion=twoing)
    assert np.diff(python.tree_.coef_ptr)[0] == 10


def twoing(left: np.ndarray, right: np.ndarray) -> float:
    n_left, n_right = left.sum(), right.sum()
    if n_left == 0 or n_right == 0:
        return 0.0
    share = n_left * n_right / (n_left + n_right) ** 2
    return float(share / 4 * np.abs(left / n_left - right / n_right).sum() ** 2)


@pytest.mark.parametrize("params", [{}, {"beta": None}, {"variant": "oc1", "sign": "exact"}])
def test_a_criterion_in_python(params: dict[str, Any]) -> None:
    X, y = blobs(80, 3, 2, seed=5)
    y = np.where(np.arange(80) % 6 == 0, 1 - y, y)
    ours = grown(X, y, max_depth=1, **params)
    theirs = grown(X, y, max_depth=1, criterion=twoing, **params)
    assert ours.tree_.gain[0] == pytest.approx(theirs.tree_.gain[0], rel=1e-12)


def test_a_criterion_that_fails_says_so() -> None:
    def bad(left: np.ndarray, right: np.ndarray) -> float:
        raise ArithmeticError("no number")

    with pytest.raises(ArithmeticError, match="no number"):
        grown(*noisy(), criterion=bad)


# --- what it notes --------------------------------------------------------------------------


def test_no_time_leaves_the_axes() -> None:
    X, y = noisy()
    model = grown(X, y, time_limit=0.0)
    assert model.timed_out_ is True
    assert model.n_hyperplanes_ == 0
    assert np.diff(model.tree_.coef_ptr).max() == 1
    assert not grown(X, y, time_limit=1000.0).timed_out_


def test_fewer_cycles_try_less() -> None:
    X, y = blobs(300, 4, 3, seed=7)
    y = np.where(np.arange(300) % 5 == 0, (y + 1) % 3, y)
    once, often = (grown(X, y, max_cycles=n, max_depth=1, beta=None) for n in (1, 101))
    assert once.n_hyperplanes_ == 3 * 4 + 1
    assert often.n_hyperplanes_ > once.n_hyperplanes_
    assert often.tree_.gain[0] >= once.tree_.gain[0]
    early = grown(X, y, epsilon=1.0, max_depth=1, beta=None)
    assert early.tree_ == once.tree_
    # the program looks at least twice
    assert grown(X, y, variant="oc1", epsilon=1e9, max_depth=1).n_hyperplanes_ == 2 * (3 * 4 + 1)


@each_way
def test_threads_change_nothing(params: dict[str, Any]) -> None:
    X, y = blobs(600, 4, 3, seed=6)
    y = np.where(np.arange(600) % 5 == 0, (y + 1) % 3, y)
    one = grown(X, y, **params)
    with threads_everywhere():
        two = grown(X, y, n_jobs=3, **params)
    assert one.tree_ == two.tree_
    assert one.n_hyperplanes_ == two.n_hyperplanes_


def test_only_the_coin_is_random() -> None:
    X, y = blobs(200, 3, 2, seed=8)
    X = np.round(X)
    y = np.where(np.arange(200) % 5 == 0, 1 - y, y)
    trees = {
        str(params): [grown(X, y, random_state=seed, **params).tree_ for seed in range(4)]
        for params in EVERY
    }
    for params, made in trees.items():
        assert all(tree == made[0] for tree in made) == (params != "{'variant': 'oc1'}")
    assert grown(X, y, variant="oc1").tree_ == grown(X, y, variant="oc1").tree_


@each_way
def test_a_weight_of_two_is_a_row_twice(params: dict[str, Any]) -> None:
    X, y = blobs(90, 3, 3, seed=9)
    weights = np.arange(90) % 3 + 1
    limits = {"oblique_min_samples": None, **params}
    weighted = full_grown(CartLCClassifier, **limits).fit(X, y, sample_weight=weights)
    repeated = grown(np.repeat(X, weights, axis=0), np.repeat(y, weights), **limits)
    np.testing.assert_array_equal(weighted.tree_.threshold, repeated.tree_.threshold)
    np.testing.assert_array_equal(weighted.tree_.coef, repeated.tree_.coef)
