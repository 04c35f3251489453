"""The artificial data of the paper on 2C-ETCT: groups where the definition puts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from obliqua import datasets
from obliqua.datasets import make_normals_with_clusters, make_two_normals

MAKERS = (make_two_normals, make_normals_with_clusters)
each_maker = pytest.mark.parametrize("make", MAKERS)
dimensions = pytest.mark.parametrize("n_features", range(5, 12))


# --- two normals ------------------------------------------------------------------------------


@dimensions
def test_two_normals_have_unit_spheres_and_the_difference(n_features: int) -> None:
    made = make_two_normals(40_000, n_features, random_state=0)
    np.testing.assert_allclose(np.diff(made.centres, axis=0), 1.35)
    assert made.group_classes.tolist() == ["A", "B"]
    for group, label in enumerate("AB"):
        rows = made.data[made.target == label]
        assert len(rows) == 20_000
        np.testing.assert_array_equal(made.group == group, made.target == label)
        np.testing.assert_allclose(rows.mean(axis=0), made.centres[group], atol=0.04)
        np.testing.assert_allclose(np.cov(rows.T), np.eye(n_features), atol=0.05)


@dimensions
def test_the_tree_of_two_normals_is_as_good_as_can_be(n_features: int) -> None:
    """The paper's accuracies of naive Bayes lie around it: the difference was taken from them."""
    made = make_two_normals(40_000, n_features, random_state=1)
    best = float(stats.norm.cdf(1.35 * np.sqrt(n_features) / 2))
    leaves = made.tree.apply(made.data)
    found = np.array(made.target_names)[made.tree.leaf_label[leaves]] == made.target
    assert found.mean() == pytest.approx(best, abs=4 * np.sqrt(best * (1 - best) / 40_000))
    assert made.tree.stats[1:].sum() == pytest.approx(1.0)
    assert made.tree.stats[1, 0] / made.tree.stats[1].sum() == pytest.approx(best)
    published = dict(zip(range(5, 12), (91.8, 95.4, 95.8, 97.8, 98.6, 98.6, 98.0), strict=True))
    assert 100 * best == pytest.approx(published[n_features], abs=1.7)


# --- clusters ---------------------------------------------------------------------------------


@dimensions
@pytest.mark.parametrize("layout", ["chain", "star"])
def test_clusters_stand_where_the_paper_puts_them(n_features: int, layout: str) -> None:
    made = make_normals_with_clusters(n_features=n_features, layout=layout, random_state=3)
    d, centres, code = n_features, made.centres, (made.group_classes == "B").astype(int)
    assert len(centres) == 2 + 2 * d
    around_a, around_b = centres[2::2] - centres[0], centres[3::2] - centres[1]
    # On the hyperplanes through the means; opposite each other, with opposite classes.
    np.testing.assert_allclose(around_a.sum(axis=1), 0.0, atol=1e-9)
    np.testing.assert_allclose(around_b, -around_a, atol=1e-9)
    np.testing.assert_array_equal(code[2::2], 1 - code[3::2])
    # Of each class as many as features; around a mean at most one more of the other class.
    assert np.bincount(code[2:]).tolist() == [d, d]
    assert code[2] == 1
    assert int(code[2::2].sum()) == (d + 1) // 2
    # One step from what was before, perpendicular to all steps; the last goes back.
    before = np.vstack([np.zeros(d), around_a[:-1]]) if layout == "chain" else 0.0
    steps = around_a - before
    np.testing.assert_allclose(np.linalg.norm(steps, axis=1), 6.0)
    np.testing.assert_allclose(steps[:-1] @ steps[:-1].T, 36 * np.eye(d - 1), atol=1e-9)
    np.testing.assert_allclose(steps[-1], -steps[0], atol=1e-9)


@dimensions
def test_sizes_are_those_of_the_papers_share(n_features: int) -> None:
    made = make_normals_with_clusters(n_features=n_features, random_state=0)
    sizes = np.bincount(made.group)
    assert sizes.tolist() == [200, 200] + [round(50 / n_features)] * (2 * n_features)
    np.testing.assert_array_equal(made.target, made.group_classes[made.group])


def test_small_tables_have_a_row_in_every_group() -> None:
    made = make_normals_with_clusters(10, 8, random_state=0)
    assert np.bincount(made.group).tolist() == [4, 4] + [1] * 16
    star = make_normals_with_clusters(100, 2, layout="star", distance=4, random_state=0)
    assert len(star.centres) == 6


# --- both -------------------------------------------------------------------------------------


@each_maker
def test_chance(make: Any) -> None:
    X, y = make(random_state=5, return_X_y=True)
    for chance in (5, np.int64(5), np.random.default_rng(5)):
        again_X, again_y = make(random_state=chance, return_X_y=True)
        np.testing.assert_array_equal(again_X, X)
        np.testing.assert_array_equal(again_y, y)
    for other in (6, None, np.random.RandomState(5)):
        assert not np.array_equal(make(random_state=other).data, X)
    assert not np.array_equal(make().data, make().data)
    # Shuffled: folds that are cut without shuffling have both classes.
    assert set(y[:50]) == {"A", "B"}


@each_maker
def test_what_is_returned_is_what_loaders_return(make: Any) -> None:
    plain = make(random_state=0)
    more = {"group", "centres", "group_classes"} | ({"tree"} if "tree" in plain else set())
    assert set(plain) == {*datasets.load_balance_scale(), *more}
    assert plain.data.flags.c_contiguous
    assert plain.data.dtype == np.float64
    assert plain.target_names == ["A", "B"]
    assert plain.feature_names == ["x1", "x2", "x3", "x4", "x5"]
    assert "not the paper's" in plain.DESCR
    assert "2C-ETCT" in plain.DESCR
    framed = make(random_state=0, as_frame=True)
    assert isinstance(framed.frame, pd.DataFrame)
    np.testing.assert_array_equal(framed.frame[plain.feature_names].to_numpy(), plain.data)


@each_maker
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 1}, "n_rows must be an integer of at least 2; got 1"),
        ({"n_rows": 10.0}, "n_rows must be an integer"),
        ({"n_features": 0}, "n_features must be an integer of at least"),
        ({"n_features": True}, "n_features must be an integer of at least"),
        ({"difference": -1.0}, "difference must be a finite number of at least 0; got -1.0"),
        ({"difference": np.nan}, "difference must be a finite number"),
        ({"difference": "far"}, "difference must be a finite number"),
        ({"random_state": -1}, r"random_state must be None \(for other rows each time\)"),
    ],
)
def test_wrong_settings_are_refused(make: Any, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"layout": "ring"}, "layout must be 'chain' or 'star'; got 'ring'"),
        ({"n_features": 2}, "n_features must be an integer of at least 3; got 2"),
        ({"n_features": 1, "layout": "star"}, "n_features must be an integer of at least 2"),
        ({"distance": np.inf}, "distance must be a finite number of at least 0; got inf"),
    ],
)
def test_wrong_clusters_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_normals_with_clusters(**wrong)
