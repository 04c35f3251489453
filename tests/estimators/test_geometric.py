"""HHCART(G): one reflection per node, along an angle bisector."""

from typing import Any

import numpy as np
import pytest

from estimators.registry import assert_sound, blobs
from obliqua import HHCartClassifier
from obliqua.data.problem import encode
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.methods.geometric import AngleBisector
from reference.geometric import bisector, columns


def geometric(**params: Any) -> HHCartClassifier:
    return HHCartClassifier(variant="geometric", pruning=None, **params)


def proposed(X: np.ndarray, y: np.ndarray, weight: Any = None, **settings: Any) -> np.ndarray:
    """What is proposed at the root."""
    seen = []

    def look(node: Any) -> Any:
        seen.append(AngleBisector(**settings).propose(node).normals)
        return seen[-1]

    grow(encode(X, y, int(y.max()) + 1, weight), Proposals(look, axis_parallel=False))
    return np.asarray(seen[0])


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_reflection_by_definition(seed: int) -> None:
    n_classes = 2 + seed % 3
    X, y = blobs(150, 4, n_classes, seed)
    X = X @ np.random.default_rng(seed).normal(size=(4, 4)) + 3.0
    X, y = X[:-7], y[:-7]  # no two classes are equally frequent
    expected = columns(bisector(X, y.astype(np.int64)))
    np.testing.assert_allclose(proposed(X, y, tau=0.0), expected, atol=1e-7)


def test_two_lines_are_divided_by_the_bisector_of_their_angle() -> None:
    """Classes along lines of 20 and 80 degrees; the lines through 50 and -40 lie between."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [220, 180])
    angle = np.deg2rad(np.where(y == 0, 20.0, 80.0))
    along = rng.uniform(0.5, 3.0, 400)
    X = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.01 * rng.normal(size=X.shape)
    normal = proposed(X, y)[0]
    assert np.rad2deg(np.arctan2(*normal[::-1])) % 180 == pytest.approx(140.0, abs=1.0)
    model = geometric().fit(X, y)
    assert_sound(model, X, y)
    assert model.get_n_leaves() == 2


def test_a_class_within_a_hyperplane_is_parted_by_it() -> None:
    """Six rows in five features: some hyperplane holds three of them and none of the others."""
    X = np.random.default_rng(1).normal(size=(6, 5))
    model = geometric().fit(X, [0, 0, 0, 1, 1, 2])
    assert model.tree_.origin_labels[model.tree_.origin[0]].startswith("angle bisector")
    assert_sound(model, X, [0, 0, 0, 1, 1, 2])


def test_no_row_varies_out_of_a_plane() -> None:
    """Both classes lie in it, and neither matrix has an inverse: what they span counts."""
    X, y = blobs(100, 3, 2)
    plane = np.column_stack([X, X @ [1.0, -2.0, 0.5]])
    here = proposed(plane, y, tau=0.0)
    assert here.shape == (4, 4)
    np.testing.assert_allclose(here @ here.T, np.eye(4), atol=1e-12)
    model = geometric().fit(plane, y)
    assert_sound(model, plane, y)
    assert model.score(plane, y) == 1.0


def test_only_the_reflected_axes_are_looked_along() -> None:
    X, y = blobs(200, 3, 3)
    tree = geometric().fit(X, y).tree_
    labels = {tree.origin_labels[k] for k in tree.origin[~tree.is_leaf]}
    assert any(label.startswith("angle bisector, column") for label in labels)
    straight = geometric(tau=2.0).fit(X, y).tree_
    assert np.diff(straight.coef_ptr).max() == 1
    few = geometric(oblique_min_samples=10**6).fit(X, y).tree_
    np.testing.assert_array_equal(few.coef_idx, straight.coef_idx)


def test_order_and_weights_of_rows() -> None:
    X, y = blobs(120, 3, 3)
    rng = np.random.default_rng(0)
    weight, order = rng.integers(1, 4, len(X)), rng.permutation(len(X))
    model = geometric().fit(X, y, sample_weight=weight)
    mixed = geometric().fit(X[order], y[order], sample_weight=weight[order])
    repeated = geometric().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_array_equal(model.tree_.coef, mixed.tree_.coef)
    np.testing.assert_array_equal(model.tree_.first_child, repeated.tree_.first_child)
    np.testing.assert_allclose(model.tree_.coef, repeated.tree_.coef, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("target", ["first", "nearest"])
def test_the_axis_that_is_reflected(target: str) -> None:
    X, y = blobs(90, 4, 2, seed=3)
    normals = proposed(X, y, tau=0.0, target=target)
    np.testing.assert_allclose(normals @ normals.T, np.eye(4), atol=1e-12)
    first = proposed(X, y, tau=0.0)[0]
    place = 0 if target == "first" else int(np.abs(first).argmax())
    assert np.abs(normals[place] @ first) == pytest.approx(1.0)


def test_qualitative_features_and_missing_values() -> None:
    X, y = blobs(150, 3, 2)
    table = np.column_stack([X, y + np.arange(150) % 3])
    table[::11, 0] = np.nan
    model = geometric(categorical_features=[3]).fit(table, y)
    assert_sound(model, table, y)


@pytest.mark.parametrize(
    "params",
    [{"extra_directions": "fisher"}, {"covariance": "trimmed"}],
    ids=["extra directions", "trimmed"],
)
def test_what_has_no_meaning_is_refused(params: dict[str, str]) -> None:
    X, y = blobs()
    name = next(iter(params))
    with pytest.raises(ValueError, match=f"'geometric'.*{name}"):
        geometric(**params).fit(X, y)
