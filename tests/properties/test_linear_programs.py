"""Directions by linear programming: the least loss there is, for classes and superclasses."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua import ObliqueTreeClassifier, ObliqueTreeRegressor
from obliqua.errors import ProposerError
from obliqua.methods.linear_programs import LinearPrograms
from obliqua.testing import check_proposer
from problems import examples
from reference.linear_programs import least_loss, loss_along

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


class Node:
    """What a proposer looks at."""

    def __init__(self, X: Any, y: Any, weights: Any = None) -> None:
        self.X = np.array(X, dtype=np.float64)
        self.y = np.array(y, dtype=np.int32)
        self.sample_weight = np.ones(len(self.y)) if weights is None else np.array(weights)


def draw_rows(seed: int, n_classes: int, ties: bool = False, apart: float = 1.0) -> Drawn:
    """Clouds around class means in any units, with whole weights."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(12, 60)), int(rng.integers(1, 5))
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p)) + apart * rng.normal(size=(n_classes, p))[y]
    X = np.round(2 * X) / 2 if ties else X
    scale = 10.0 ** rng.integers(-6, 7, size=p)
    return X * scale + scale * rng.normal(size=p), y, rng.integers(1, 4, size=n).astype(float)


def proposed(rows: Drawn, **params: Any) -> Any:
    return LinearPrograms(**params).propose(cast(Any, Node(*rows)))


@examples(60)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.integers(2, 6),
    ties=st.booleans(),
    apart=st.sampled_from([0.0, 1.0, 10.0]),
)
def test_no_hyperplane_loses_less(seed: int, n_classes: int, ties: bool, apart: float) -> None:
    X, y, weights = rows = draw_rows(seed, n_classes, ties, apart)
    found = proposed(rows, superclasses=False)
    assert found is not None
    expected = range(1 if n_classes == 2 else n_classes)
    assert list(found.labels) == [f"class {c} against the rest" for c in expected]
    scale = np.abs(X).max(axis=0)
    for normal, c in zip(found.normals, expected, strict=True):
        side = np.where(y == c, 1.0, -1.0)
        lost = loss_along(normal * scale, X / scale, side, weights)
        assert lost == pytest.approx(least_loss(X / scale, side, weights), rel=1e-6, abs=1e-6)


@examples(30)
@given(seed=st.integers(0, 10**6), n_classes=st.integers(2, 6), ties=st.booleans())
def test_bits_do_not_depend_on_the_order_of_rows(seed: int, n_classes: int, ties: bool) -> None:
    X, y, weights = rows = draw_rows(seed, n_classes, ties)
    order = np.random.default_rng(seed).permutation(len(y))
    found = proposed(rows)
    again = proposed((X[order], y[order], weights[order]))
    assert again.labels == found.labels
    assert np.array_equal(again.normals, found.normals)
    times = weights.astype(int)
    repeated = proposed((np.repeat(X, times, axis=0), np.repeat(y, times), np.ones(times.sum())))
    assert np.array_equal(repeated.normals, found.normals)


def test_trees_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(3)
    y = np.arange(300) % 6
    X = rng.normal(size=(300, 4)) + rng.normal(size=(6, 4))[y]
    tree = ObliqueTreeClassifier(LinearPrograms(), pruning=None).fit(X, y)
    order = rng.permutation(len(y))
    again = ObliqueTreeClassifier(LinearPrograms(), pruning=None).fit(X[order], y[order])
    assert again.tree_ == tree.tree_
    assert {"class 0 against the rest", "superclass"} <= set(tree.tree_.origin_labels)


def test_what_can_be_parted_is_parted() -> None:
    """Also where the class means say nothing about the direction."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 3))
    X[:, 0] = X @ [0, 50, 3] + np.where(np.arange(200) % 2, 0.5, -0.5)
    y = np.arange(200) % 2
    tree = ObliqueTreeClassifier(LinearPrograms(), pruning=None).fit(X, y)
    assert tree.get_n_leaves() == 2
    assert tree.score(X, y) == 1.0
    normal = tree.tree_.coef / tree.tree_.coef[0]
    assert normal[1:] == pytest.approx([-50, -3], rel=0.1)


def test_superclasses_are_looked_at_with_more_than_three_classes() -> None:
    """Four clouds, two by two: pairs can be parted from each other, no class from the rest."""
    means = np.array([[-5.0, 0.0], [-5.0, 1.0], [5.0, 0.0], [5.0, 1.0]])
    y = np.arange(80) % 4
    X = means[y] + np.random.default_rng(0).normal(size=(80, 2))
    rows = X, y, np.ones(80)
    found = proposed(rows)
    assert list(found.labels[4:]) == ["superclass"]
    pair = np.where(y < 2, 1.0, -1.0)
    lost = [loss_along(found.normals[4], X, side, np.ones(80)) for side in (pair, -pair)]
    assert min(lost) == pytest.approx(0.0, abs=1e-6)
    assert len(proposed(rows, superclasses=False).labels) == 4
    assert len(proposed((X[y < 3], y[y < 3], np.ones(60))).labels) == 3


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_toy_data(n_classes: int) -> None:
    report = check_proposer(LinearPrograms(), n_classes=n_classes)
    assert report.problems == ()
    assert report.remarks == ()
    assert report.n_wins > 5


def test_groups_with_equal_means_have_no_direction() -> None:
    assert proposed(([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [0, 0, 1, 1], None)) is None
    assert proposed(([[2.0], [2.0]], [0, 1], None)) is None


def test_extreme_numbers_and_weights() -> None:
    X, y, _ = draw_rows(4, 2)
    scale = np.array([1e150, 1e-150, 1.0, 1.0])[: X.shape[1]]
    plain, far = proposed((X, y, None)), proposed((X * scale, y, None))
    assert far.normals * scale == pytest.approx(plain.normals, rel=1e-6)
    light = np.where(y == 0, 1e-300, 1e300)
    assert proposed((X, y, light)) is None or np.isfinite(proposed((X, y, light)).normals).all()


def test_numbers_are_refused() -> None:
    with pytest.raises(
        ProposerError, match="LinearPrograms parts classes, and numbers are learnt"
    ):
        ObliqueTreeRegressor(LinearPrograms()).fit(np.arange(80.0).reshape(40, 2), np.arange(40))
