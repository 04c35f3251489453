"""Subclasses: every figure is that of a plain loop over rows."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

from obliqua import (
    C45Classifier,
    CartClassifier,
    EigenTreeClassifier,
    HHCartClassifier,
    LMDTClassifier,
    TreeBuilder,
    load,
    save,
)
from obliqua.datasets import make_normals_with_clusters
from obliqua.errors import MissingDependency, TreeError
from obliqua.explain import subclasses
from trees_to_read import NASTY, mixed, single


def cloud(n_rows: int = 200, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.integers(n_classes, size=n_rows)
    return rng.normal(size=(n_rows, 4)) + 0.8 * y[:, None] * [1, -1, 0, 0.5], y


def close(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def check(found: Any, leaf_of: np.ndarray, X: np.ndarray, y: np.ndarray) -> None:
    """Compare with sums over lists; `y` has positions of classes."""
    for place, leaf in enumerate(found.leaves.tolist()):
        c = int(found.codes[place])
        here = [i for i in range(len(y)) if leaf_of[i] == leaf and y[i] == c]
        all_here = [i for i in range(len(y)) if leaf_of[i] == leaf]
        of_class = [i for i in range(len(y)) if y[i] == c]
        assert found.n_rows[place] == len(here)
        assert close(found.share[place], len(here) / len(of_class) if of_class else math.nan)
        assert close(found.purity[place], len(here) / len(all_here) if all_here else math.nan)
        squares = []
        for k in range(X.shape[1]):
            inside = [X[i, k] for i in here if not math.isnan(X[i, k])]
            whole = [X[i, k] for i in of_class if not math.isnan(X[i, k])]
            if not whole or not inside:
                assert math.isnan(found.difference[place, k])
                continue
            mean, middle = sum(inside) / len(inside), sum(whole) / len(whole)
            sd = math.sqrt(sum((x - middle) ** 2 for x in whole) / len(whole))
            away = (mean - middle) / sd if sd > 0 else 0.0
            squares.append(away**2)
            assert close(found.mean[place, k], mean)
            assert close(found.class_mean[place, k], middle)
            assert close(found.class_sd[place, k], sd)
            assert math.isclose(found.difference[place, k], away, rel_tol=1e-7, abs_tol=1e-9)
        root = math.sqrt(sum(squares) / len(squares)) if squares else math.nan
        assert math.isclose(found.distance[place], root, rel_tol=1e-7) or (
            math.isnan(root) and math.isnan(found.distance[place])
        )


@pytest.mark.parametrize("make", [CartClassifier, HHCartClassifier, C45Classifier, LMDTClassifier])
def test_figures_are_those_of_a_loop(make: Any) -> None:
    X, y = cloud()
    model = make(pruning=None, random_state=0).fit(X, y)
    found = subclasses(model, X, y)
    assert sorted(found.leaves.tolist()) == np.flatnonzero(model.tree_.is_leaf).tolist()
    check(found, model.apply(X), X, y)


def test_other_rows_with_gaps_are_compared_as_well() -> None:
    X, y = cloud()
    model = HHCartClassifier(pruning=None).fit(X, y)
    rng = np.random.default_rng(0)
    holed, labels = cloud(77)
    holed[rng.random(holed.shape) < 0.2] = np.nan
    holed[:, 3] = np.nan
    grown = HHCartClassifier(pruning=None, max_depth=3).fit(np.where(X > 2.5, np.nan, X), y)
    check(subclasses(grown, holed, labels), grown.apply(holed), holed, labels)
    check(subclasses(model, X[:40], y[:40]), model.apply(X[:40]), X[:40], y[:40])


def test_classes_come_in_order_and_large_clusters_first() -> None:
    X, y = cloud()
    found = subclasses(CartClassifier(pruning=None).fit(X, y), X, y)
    order = list(zip(found.codes.tolist(), (-found.n_rows).tolist(), strict=True))
    assert order == sorted(order)
    assert len(set(found.codes.tolist())) == 3
    assert len(found) == len(found.leaves)


def test_clusters_of_artificial_data_are_found_far_from_their_class() -> None:
    """What the paper promises: a leaf's cluster has properties of its own."""
    rows = make_normals_with_clusters(4000, 5, distance=10.0, layout="star", random_state=0)
    model = EigenTreeClassifier(random_state=0).fit(rows.data, rows.target)
    found = subclasses(model, rows.data, rows.target)
    first = np.flatnonzero(np.diff(found.codes, prepend=-1))
    assert found.share[first].min() > 0.6  # the main clusters
    assert found.distance[first].max() < 0.3
    at = model.apply(rows.data)
    large = np.flatnonzero((found.n_rows >= 20) & ~np.isin(np.arange(len(found)), first))
    assert len(large) >= 2
    for place in large.tolist():
        assert found.distance[place] > 0.5
        # Its mean is that of the groups that make it.
        here = (at == found.leaves[place]) & (rows.target == found.class_names[place])
        np.testing.assert_allclose(found.mean[place], rows.data[here].mean(axis=0))


def test_a_tree_about_two_classes_leaves_out_the_rows_of_others() -> None:
    X, y = cloud()
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    for number, pair in enumerate(model.pairs_):
        own = np.isin(y, pair)
        found = subclasses(model, X, y, tree=number)
        check(found, model.apply(X)[own, number], X[own], y[own])
        assert set(found.codes.tolist()) == set(pair)
        with pytest.raises(ValueError, match=r"about the classes \d and \d, and y has none"):
            subclasses(model, X[~own], y[~own], tree=number)
    # What a class is in all others stays as it is, also if no row of it was there in training.
    lighter = CartClassifier(pruning=None, class_weight={2: 0}).fit(X, y)
    assert subclasses(lighter, X, y).purity.min() < 1.0


def test_a_level_is_a_column_with_its_share() -> None:
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", "red", "blue", "blue", "blue", None, "red", "blue"]),
            "size": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
        }
    )
    y = ["a", "a", "b", "b", "b", "b", "a", "a"]
    model = CartClassifier(pruning=None).fit(X, y)
    found = subclasses(model, X, y)
    assert found.features == ("colour = blue", "colour = red", "size")
    place = int(np.flatnonzero(found.codes == 1)[0])
    # Of the three rows of class b whose colour is known, all are blue.
    np.testing.assert_allclose(found.class_mean[place, :2], [1.0, 0.0])
    np.testing.assert_allclose(found.difference[place, :2], 0.0)
    whole = found.class_mean[found.codes == 0][0]
    np.testing.assert_allclose(whole[:2], [0.25, 0.75])


def test_leaves_without_rows_and_classes_without_rows() -> None:
    model = mixed()
    X = np.array([["red", 1.0], ["blue", 2.0], ["red", 5.0]], dtype=object)
    found = subclasses(model, X, ["x", "x", "y"])
    assert found.n_rows.sum() == 2
    empty = found.n_rows == 0
    assert np.isnan(found.distance[empty]).all()
    assert np.isnan(found.share[found.codes == 2]).all()  # no row of class z at all
    text = str(found)
    assert "nan" not in text
    assert text.count("\n") == len(found)


def test_a_feature_that_is_constant_in_a_class_differs_by_nothing() -> None:
    """Rounding of its mean must not become a difference of many deviations."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [66, 40, 40])  # the mean of 66 times this number is another one
    X = np.column_stack([rng.normal(size=146), np.array([0.1, 0.3, 0.7])[y]])
    builder = TreeBuilder(n_features=2, n_stats=3)
    builder.add_split("root", {0: 1.0}, float(np.median(X[:, 0])), ("low", "high"))
    builder.add_split("low", {0: 1.0}, -1.0, ("a", "b"))
    for leaf in ("a", "b", "high"):
        builder.set_leaf(leaf, [2, 1, 1])
    found = subclasses(builder.build(), X, y)
    np.testing.assert_array_equal(found.difference[:, 1], 0.0)


def test_files_models_trees_and_several_trees(tmp_path: Any) -> None:
    X, y = cloud()
    model = EigenTreeClassifier(random_state=0).fit(X, y)
    with pytest.raises(TreeError, match="3 trees"):
        subclasses(model, X, y)
    one = subclasses(model, X, y, tree=1)
    own = y != 1  # the classes of this tree are 0 and 2
    check(one, model.model_.trees[1].apply(X[own]), X[own], y[own])
    save(model, tmp_path / "m.obliqua")
    again = subclasses(load(tmp_path / "m.obliqua"), X, y, tree=1)
    np.testing.assert_array_equal(again.difference, one.difference)
    bare = subclasses(model.model_.trees[1], X, y, class_names=[*"abc"], feature_names=[*"pqrs"])
    np.testing.assert_array_equal(bare.mean, one.mean)
    # A tree alone does not know that it is about two classes only, so it judges all rows.
    check(bare, model.model_.trees[1].apply(X), X, y)
    assert set(bare.class_names) <= set("abc")
    assert bare.features == tuple("pqrs")


def test_frames() -> None:
    X, y = cloud()
    found = subclasses(CartClassifier(pruning=None, max_depth=2).fit(X, y), X, y)
    frame = found.to_frame()
    assert len(frame) == len(found) * 4
    assert list(frame.columns) == [
        *("leaf", "class", "rows", "share", "purity", "distance", "feature"),
        *("mean", "class_mean", "class_sd", "difference"),
    ]
    line = frame[(frame["leaf"] == found.leaves[1]) & (frame["feature"] == "x2")].iloc[0]
    assert line["difference"] == found.difference[1, 2]
    assert line["rows"] == found.n_rows[1]
    import polars

    other = found.to_frame("polars")
    assert isinstance(other, polars.DataFrame)
    np.testing.assert_array_equal(other["mean"].to_numpy(), frame["mean"].to_numpy())
    with pytest.raises(ValueError, match="library must be 'pandas' or 'polars'; got 'r'"):
        found.to_frame("r")


def test_frames_need_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    found = subclasses(single([2.0, 1.0], 3), [[1.0], [2.0]], [0, 0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match="pandas"):
        found.to_frame()


def test_text_is_one_line_per_leaf_whatever_the_names() -> None:
    builder = TreeBuilder(n_features=len(NASTY), n_stats=2)
    builder.add_split("root", {0: 1.0}, 0.0, ("low", "high"))
    builder.set_leaf("low", [5, 0])
    builder.set_leaf("high", [0, 4])
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, len(NASTY)))
    y = (X[:, 0] > 0).astype(int)
    found = subclasses(
        builder.build(), X, y, feature_names=NASTY, class_names=["two\nlines", "half \ud800"]
    )
    assert len(str(found).splitlines()) == 3
    assert len(found.to_frame("polars")) == 2 * len(NASTY)
    assert repr(found) == f"Subclasses(2 leaves of 2 classes, {len(NASTY)} columns)"


def test_text_shows_what_differs_most() -> None:
    X = np.array([[0.0, 1.51, 3.0]] * 9 + [[9.0, 1.53, 3.0]] + [[5.0, 1.52, 3.0]] * 4)
    y = ["a"] * 10 + ["b"] * 4
    model = CartClassifier(pruning=None).fit(X, y)
    lines = str(subclasses(model, X, y)).splitlines()
    assert lines[2].split()[1:9] == ["a", "1", "10", "%", "100", "%", "2.45", "x0"]
    # Digits enough to see a difference; a feature that is the same is not named.
    assert "x0 9 (+3.0), x1 1.53 (+3.0)" in lines[2]
    assert "x2" not in lines[2]


def test_wrong_rows_are_refused() -> None:
    X, y = cloud()
    model = CartClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ValueError, match="got 200 rows and 199 labels"):
        subclasses(model, X, y[:-1])
    with pytest.raises(ValueError, match="label 7"):
        subclasses(model, X, np.full(200, 7))
    with pytest.raises(ValueError, match="features"):
        subclasses(model, X[:, :2], y)
