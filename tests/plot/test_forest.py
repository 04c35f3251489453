"""Pictures of a diagnosis: they show its numbers, and all of it is in sight."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from obliqua import plot_eigenvalues, plot_energy, plot_overlaps
from obliqua.plot.forest import order_of
from obliqua.spectrum import Diagnosis, diagnose, energy
from plot.pictures import LONG, ODD, by_gid, data, overlaps


def fitted(n_trees: int = 12, names: Any = None, n_features: int = 5) -> tuple[Any, Any]:
    X, y = data(3, n_features)
    rows = pd.DataFrame(X, columns=names or [f"x{k}" for k in range(n_features)])
    forest = RandomForestClassifier(n_trees, max_leaf_nodes=12, random_state=0)
    return forest.fit(rows, y), rows


def diagnosis(n_trees: int = 12, **more: Any) -> Diagnosis:
    forest, X = fitted(n_trees, **more)
    return diagnose(forest, "marginals", X)


def caption(ax: Any) -> str:
    return str(by_gid(ax, "caption")["caption"].get_text()).replace("\n", " ")


def test_bars_are_the_shares_and_the_line_their_sum() -> None:
    found = diagnosis()
    ax = plot_eigenvalues(found)
    bars = by_gid(ax, "shares")["shares"]
    heights = [path.vertices[:, 1].max() for path in bars.get_paths()]
    np.testing.assert_allclose(heights, 100 * found.shares)
    line = by_gid(ax, "sum")["sum"].get_ydata()
    np.testing.assert_allclose(line, 100 * np.cumsum(found.shares))
    assert f"effectively {found.n_effective:.1f}" in caption(ax)
    few = plot_eigenvalues(found, max_components=5)
    assert len(by_gid(few, "shares")["shares"].get_paths()) == 5
    assert "7 more not shown" in caption(few)


def test_cells_are_the_correlations() -> None:
    found = diagnosis()
    plain = by_gid(plot_overlaps(found, ordered=False), "overlaps")["overlaps"]
    np.testing.assert_array_equal(plain.get_array(), found.correlation)
    ax = plot_overlaps(found)
    order = [int(label.get_text()) for label in ax.get_xticklabels()]
    assert sorted(order) == list(range(12))
    shown = by_gid(ax, "overlaps")["overlaps"].get_array()
    np.testing.assert_array_equal(shown, found.correlation[np.ix_(order, order)])


def test_groups_stand_side_by_side() -> None:
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(4), 5))
    correlation = np.where(group[:, None] == group, 0.9, 0.1)
    np.fill_diagonal(correlation, 1.0)
    shown = group[order_of(correlation)]
    assert np.count_nonzero(np.diff(shown)) == 3
    assert order_of(np.eye(2)).tolist() == [0, 1]


def test_bars_are_the_energies() -> None:
    found = diagnosis()
    assert found.energy is not None and found.energy.total is not None
    ax = plot_energy(found)
    ends = {}
    for gid, bars in by_gid(ax, r"feature-\d+").items():
        ends[int(gid.removeprefix("feature-"))] = [bar.get_x() + bar.get_width() for bar in bars]
    for feature, (alone, whole) in ends.items():
        scale = 100 / found.energy.variance
        assert alone == pytest.approx(scale * found.energy.main[feature])
        assert whole == pytest.approx(scale * found.energy.total[feature])
    assert len(ends) == 5
    parts = [bar.get_width() for bar in by_gid(ax, "orders")["orders"]]
    np.testing.assert_allclose(parts, [100 * share for share in found.energy.orders.values()])
    longest = [max(ends[f]) for f in ends]
    assert longest == sorted(longest, reverse=True)


def test_energies_without_pairs_and_totals() -> None:
    forest, X = fitted()
    found = energy(forest, "marginals", X, pairs=False, totals=False)
    ax = plot_energy(found, max_features=2)
    assert len(by_gid(ax, "orders")["orders"]) == 2
    assert "several together" in caption(ax)
    assert "pale" not in caption(ax)
    assert "3 more features have less" in caption(ax)


@pytest.mark.parametrize("names", [None, ODD, [LONG.format(k) for k in range(5)]])
@pytest.mark.parametrize("n_trees", [1, 2, 40, 60])
@pytest.mark.parametrize("draw", [plot_eigenvalues, plot_overlaps, plot_energy])
def test_all_is_in_sight_and_nothing_overlaps(draw: Any, n_trees: int, names: Any) -> None:
    ax = draw(diagnosis(n_trees, names=names))
    ax.figure.canvas.draw()
    texts = [t for t in (*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels()) if t.get_text()]
    assert texts
    extents = [text.get_window_extent() for text in texts]
    for text, box in zip(texts, extents, strict=True):
        assert box.x0 >= -1 and box.x1 <= ax.figure.bbox.x1 + 1, text
        assert box.y0 >= -1 and box.y1 <= ax.figure.bbox.y1 + 1, text
    assert overlaps(extents, 1.0) == []


def test_a_forest_that_says_nothing_can_be_drawn() -> None:
    X, y = data(2)
    forest = RandomForestClassifier(3, max_depth=1, min_samples_leaf=200).fit(X, y)
    found = diagnose(forest)
    assert found.n_effective == 0.0
    for draw in (plot_eigenvalues, plot_overlaps, plot_energy):
        ax = draw(found)
        ax.figure.canvas.draw()
        assert caption(ax)


def test_what_cannot_be_drawn() -> None:
    forest, X = fitted()
    found = diagnose(forest, "empirical", X)
    with pytest.raises(ValueError, match="has no energies by feature"):
        plot_energy(found)
    wrong: Any = forest
    for draw in (plot_eigenvalues, plot_overlaps, plot_energy):
        with pytest.raises(TypeError, match=r"what obliqua\.spectrum\.diagnose returns"):
            draw(wrong)
        with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
            draw(found, ax=plt)
    bad: Any
    for bad in (0, True, 2.0):
        with pytest.raises(ValueError, match="max_components must be a whole number"):
            plot_eigenvalues(found, max_components=bad)
