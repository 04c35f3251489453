"""HHCartClassifier on odd data, with weights, and with everything else that an estimator meets."""

import numpy as np
import pytest

from estimators.registry import assert_sound, blobs
from estimators.test_odd_data import SEPARABLE
from obliqua import CartClassifier, HHCartClassifier, ObliqueTreeClassifier

X, Y = blobs(300, 4, 3)
RNG = np.random.default_rng(0)

SETTINGS = {
    "all": {},
    "dominant": {"variant": "dominant"},
    "nearest": {"target": "nearest", "variant": "dominant"},
    "fisher": {"extra_directions": "fisher"},
    "discriminants": {"extra_directions": "discriminants"},
    "trimmed": {"covariance": "trimmed"},
    "standard": {"scale": "standard", "extra_directions": "fisher"},
    "robust": {"scale": "robust"},
    "minmax": {"scale": "minmax"},
    "sparse": {"max_features_per_split": 2, "extra_directions": "fisher"},
    "everything": {
        "max_features_per_split": 2,
        "extra_directions": "fisher",
        "covariance": "trimmed",
        "scale": "standard",
    },
}
each_setting = pytest.mark.parametrize("params", SETTINGS.values(), ids=SETTINGS)


def hhcart(**params):
    """The tree as it is grown; pruning has tests of its own."""
    return HHCartClassifier(pruning=None, **params)


def n_oblique(model):
    return int((model.tree_.feature == -3).sum())


# --- odd rows and columns ----------------------------------------------------------------------

MORE = {
    "fewer rows than features": (RNG.normal(size=(12, 30)), np.arange(12) % 2),
    "collinear features": (
        X[:60] @ [[1, 0, 0, 1], [0, 1, 0, -2], [0, 0, 1, 0], [0, 0, 0, 0]],
        Y[:60],
    ),
    "equal rows of a class": (np.where((Y == 1)[:, None], [0.1, 0.2, 0.3, 0.4], X)[:60], Y[:60]),
    "an outlier": (np.where((np.arange(80) == 7)[:, None], 1e150, X[:80]), Y[:80]),
    "squares overflow": (X[:80] * [1.0, 1e160, 1e-160, 1.0], Y[:80]),
}


@each_setting
def test_odd_data(params):
    for name, (rows, labels) in {**SEPARABLE, **MORE}.items():
        for n_jobs in (None, 2):
            model = hhcart(n_jobs=n_jobs, **params).fit(rows, labels)
            assert_sound(model, rows, labels)
            tree = model.tree_
            assert np.isfinite(tree.coef).all() and np.isfinite(tree.threshold).all()
            most = params.get("max_features_per_split", len(rows[0]))
            assert np.diff(tree.coef_ptr).max(initial=0) <= most
        assert model.score(rows, labels) == 1.0, name
        if len(rows[0]) == 1:
            assert tree == CartClassifier(pruning=None).fit(rows, labels).tree_


@pytest.mark.parametrize("shift", [0.0, 1e5])
def test_an_offset_does_not_hide_a_direction(shift):
    rng = np.random.default_rng(1)
    y = np.arange(400) % 2
    along, across = 5 * rng.normal(size=400), 0.3 * rng.random(400) + 0.4 * y
    Z = np.column_stack([along + across + shift, along - across])
    assert hhcart().fit(Z, y).get_n_leaves() == 2


def test_a_feature_that_does_not_vary_changes_nothing():
    plain = hhcart(variant="dominant").fit(X, Y).tree_
    tree = hhcart(variant="dominant").fit(np.column_stack([X, np.full(len(X), 3.0)]), Y).tree_
    np.testing.assert_array_equal(tree.coef_idx, plain.coef_idx)
    np.testing.assert_allclose(tree.coef, plain.coef, rtol=1e-6)
    np.testing.assert_array_equal(tree.n_samples, plain.n_samples)


def test_two_identical_columns_share_a_coefficient():
    Z = np.random.default_rng(3).normal(size=(60, 2))[:, [0, 1, 1, 0]]
    y = (Z[:, 0] + Z[:, 1] > 0).astype(int)
    tree = hhcart(extra_directions="fisher", variant="dominant").fit(Z, y).tree_
    fisher = [
        k for k in np.flatnonzero(tree.feature == -3)
        if tree.origin_labels[tree.origin[k]].startswith("Fisher")
    ]  # fmt: skip
    assert fisher
    for k in fisher:
        normal = tree.coefficients(k)
        np.testing.assert_allclose(normal[[0, 1]], normal[[3, 2]], rtol=1e-6)


# --- weights -----------------------------------------------------------------------------------


@each_setting
@pytest.mark.parametrize("weights", ["some", "two", "zero"])
def test_weights_are_repeated_rows(params, weights):
    rng = np.random.default_rng(0)
    weight = {
        "some": rng.integers(1, 4, len(X)),
        "two": np.full(len(X), 2),
        "zero": rng.integers(0, 3, len(X)),
    }[weights]
    weighted = hhcart(**params).fit(X, Y, sample_weight=weight)
    repeated = hhcart(**params).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    for name in ("first_child", "coef_idx", "coef", "threshold", "stats", "gain"):
        np.testing.assert_array_equal(
            getattr(weighted.tree_, name), getattr(repeated.tree_, name), err_msg=name
        )


@each_setting
def test_fractions_and_extreme_weights(params):
    rng = np.random.default_rng(0)
    for weight in (rng.random(len(X)) + 0.01, 10.0 ** rng.integers(-15, 15, len(X))):
        assert_sound(hhcart(**params).fit(X, Y, sample_weight=weight), X, Y, weight)
    # a class whose weights vanish beside the others
    weight = np.where(Y == 1, 1e-14, 1.0)
    assert_sound(hhcart(**params).fit(X, Y, sample_weight=weight), X, Y, weight)


# --- what comes in, and what goes out ------------------------------------------------------------


@each_setting
def test_the_same_tree_however_the_rows_come(params):
    tree = hhcart(**params).fit(X, Y).tree_
    order = np.random.default_rng(0).permutation(len(X))
    assert hhcart(**params).fit(np.asfortranarray(X), Y).tree_ == tree
    assert hhcart(**params).fit(np.repeat(X, 2, axis=1)[:, ::2], Y).tree_ == tree
    assert hhcart(**params).fit(X[order], Y[order]).tree_ == tree
    narrow = X.astype(np.float32)
    single = hhcart(**params).fit(narrow, Y)
    assert single.tree_ == hhcart(**params).fit(narrow.astype(np.float64), Y).tree_
    assert_sound(single, narrow, Y)


@each_setting
@pytest.mark.parametrize("criterion", ["twoing", "entropy", "sum_variances"])
def test_threads_change_nothing(params, criterion, monkeypatch):
    tree = hhcart(criterion=criterion, **params).fit(X, Y).tree_
    monkeypatch.setattr("obliqua.engine.grow.SERIAL_ROWS", 8)
    monkeypatch.setattr("obliqua.engine.axis_cuts.SERIAL_ROWS", 8)
    assert hhcart(criterion=criterion, n_jobs=2, **params).fit(X, Y).tree_ == tree


@each_setting
def test_splits_without_gain(params):
    """Exclusive or on a grid: no first split gains anything."""
    Z = np.array([[a, b, 0.5] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 6)
    y = (Z[:, 0] != Z[:, 1]).astype(int)
    for n_jobs in (None, 2):
        model = hhcart(zero_gain_splits=True, n_jobs=n_jobs, **params).fit(Z, y)
        assert model.score(Z, y) == 1.0
        assert_sound(model, Z, y)


@pytest.mark.parametrize("most", [1, 2, 3])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_any_proposer_gets_sparse_and_scaled_directions(most, scale):
    seen = []

    def proposer(node):
        seen.append(node.X.std(axis=0))
        return node.rng.normal(size=(4, node.n_features))

    units = np.array([1.0, 1e3, 1e-3, 1.0]) if scale else np.ones(4)
    model = ObliqueTreeClassifier(
        proposer, pruning=None, max_features_per_split=most, scale=scale, random_state=0
    ).fit(X * units, Y)
    assert np.diff(model.tree_.coef_ptr).max() == most
    assert_sound(model, X * units, Y)
    if scale:
        np.testing.assert_allclose(seen[0], 1.0, rtol=1e-5)
    if most == 1:
        assert (np.diff(model.tree_.coef_ptr) == 1).all()


def test_many_features():
    """Only that it ends, and is right about its own rows."""
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(1000, 120))
    y = (wide[:, :5].sum(axis=1) > 0).astype(int)
    model = hhcart(variant="dominant", max_depth=3).fit(wide, y)
    assert_sound(model, wide, y)
    wide, y = wide[:300, :60], y[:300]
    model = hhcart().fit(wide, y)
    assert_sound(model, wide, y)
    assert n_oblique(model) > 0


@pytest.mark.parametrize("size", [1e6, 1e9, 1e12, 1e200])
def test_outliers_elsewhere_do_not_blind_it(size: float) -> None:
    """Sums are taken in whole numbers that fit the node, not all of the data."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = (X @ [1.0, 1.0, 1.0] > 0).astype(int)
    X += np.outer(2.0 * y, [1.0, 1.0, 1.0])
    clean = HHCartClassifier(pruning=None).fit(X, y).get_n_leaves()
    X = np.vstack([X, [[size, -size, size], [-size, size, size]]])
    tree = HHCartClassifier(pruning=None).fit(X, np.append(y, [0, 1]))
    assert tree.get_n_leaves() <= clean + 6
