"""All estimators of the package, so that a new one joins every test here by being public."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import obliqua
from obliqua.estimators.base import BaseTreeClassifier


def is_estimator(thing: object) -> bool:
    return isinstance(thing, type) and issubclass(thing, BaseEstimator)


PUBLIC: list[Any] = [
    getattr(obliqua, name) for name in obliqua.__all__ if is_estimator(getattr(obliqua, name))
]

# Those that grow one tree. The others put such trees together: they have no limits of growth or
# pruning of their own, so tests of their own say what they do (test_repeated.py).
ESTIMATORS: list[Any] = [cls for cls in PUBLIC if issubclass(cls, BaseTreeClassifier)]

each_estimator = pytest.mark.parametrize(
    "Estimator", ESTIMATORS, ids=[cls.__name__ for cls in ESTIMATORS]
)
# What all of them share is tested on one of each way to grow: a compiled finder, a proposer in
# Python, and a grower of its own whose nodes have several children.
REPRESENTATIVES: list[Any] = [
    obliqua.HHCartClassifier,
    obliqua.ObliqueTreeClassifier,
    obliqua.LMDTClassifier,
]
each_representative = pytest.mark.parametrize(
    "Estimator", REPRESENTATIVES, ids=[cls.__name__ for cls in REPRESENTATIVES]
)
each_public_estimator = pytest.mark.parametrize(
    "Estimator", PUBLIC, ids=[cls.__name__ for cls in PUBLIC]
)


class NumbersOnly(obliqua.ObliqueTreeClassifier):
    """A method that takes no levels and no missing values, whatever the library has of them."""

    _takes_odd = False


PLAIN = [NumbersOnly, *(cls for cls in ESTIMATORS if not cls._takes_odd)]
ODD = [cls for cls in ESTIMATORS if cls._takes_odd]

# Those that take numbers only, and those that take levels and missing values too.
each_plain_estimator = pytest.mark.parametrize(
    "Estimator", PLAIN, ids=[cls.__name__ for cls in PLAIN]
)
each_odd_estimator = pytest.mark.parametrize("Estimator", ODD, ids=[cls.__name__ for cls in ODD])

# Of those, the ones that let one choose what stands in for a missing number: C4.5 has other ways.
each_with_a_fill = pytest.mark.parametrize(
    "Estimator",
    [cls for cls in ODD if "fill" in cls().get_params() and cls.__name__ != "C45Classifier"],
)


# What keeps some methods from growing until all leaves are pure, turned off.
FREELY = {
    "min_weight_leaf": 0.0,
    "min_class_share": 0.0,
    "mdl_correction": False,
    "collapse": False,
}


def full_grown(Estimator: Any, **params: Any) -> Any:
    """An estimator that grows until its leaves are pure, also if it would prune by default."""
    params = {"random_state": 0, **params}
    known = Estimator().get_params()
    freely = {"pruning": None, **FREELY}
    return Estimator(**{name: freely[name] for name in freely if name in known} | params)


def usual(Estimator: Any, **params: Any) -> Any:
    """An estimator that is pruned as most are by default, whatever its own paper does."""
    params = {"random_state": 0, **params}
    known = Estimator().get_params()
    ways = {"pruning": "holdout", "prune_root": False, "random_state": 0, **FREELY}
    return Estimator(**{name: ways[name] for name in ways if name in known} | params)


def blobs(
    n_rows: int = 120, n_features: int = 4, n_classes: int = 3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping clouds, one per class, with integer labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    centres = rng.normal(scale=2.0, size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_rows, n_features)), y


def two_clouds(n: int = 200, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, of which the second has a far cluster on the side of the first."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, d)) + 1.2 * y[:, None]
    far = (rng.random(n) < 0.2) & (y == 1)
    X[far] += np.where(np.arange(d) % 2, 6.0, -8.0)
    return X, y


def assert_sound(model: Any, X: Any, y: Any, sample_weight: Any = None) -> None:
    """A fitted tree has counted each training row in the leaf that the row reaches now."""
    tree = model.tree_
    leaf = model.apply(X)
    weight = np.ones(len(leaf)) if sample_weight is None else np.asarray(sample_weight, float)
    codes = np.searchsorted(model.classes_, np.asarray(y))
    stats = np.zeros((tree.n_nodes, model.n_classes_))
    np.add.at(stats, (leaf, codes), weight)
    leaves = tree.is_leaf
    assert not stats[~leaves].any(), "rows must end in leaves"
    # weights are kept to 52 bits of their sum
    rounding = weight.sum() * 2.0**-44
    np.testing.assert_allclose(stats[leaves], tree.stats[leaves], rtol=1e-9, atol=rounding)
    counted = np.bincount(leaf[weight > 0], minlength=tree.n_nodes)
    np.testing.assert_array_equal(counted[leaves], tree.n_samples[leaves])
    proba = model.predict_proba(X)
    assert proba.shape == (len(leaf), model.n_classes_)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
