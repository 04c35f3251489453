"""The critical-difference picture: everything is where its rank is, and nothing overlaps."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from obliqua import plot_critical_difference, rank_methods
from obliqua.stats.ranks import Ranks
from plot.pictures import LONG, ODD, by_gid, inside, overlaps, texts, words


def ranked(k: int = 6, n: int = 20, names: Any = None, spread: float = 2.0) -> Ranks:
    rng = np.random.default_rng(k)
    scores = rng.normal(size=(n, k)) + np.linspace(0.0, spread, k)
    known = names or [f"method {place}" for place in range(k)]
    return rank_methods(dict(zip(known, scores.T, strict=True)))


def unit(ax: Any, ranks: Ranks) -> tuple[float, float]:
    """Where rank 1 is, and how long a rank is, from two methods."""
    ends = [by_gid(ax, r"method-\d+")[f"method-{k}"].get_xdata()[0] for k in (0, 1)]
    means = [ranks.mean_ranks[name] for name in ranks.order[:2]]
    length = (ends[1] - ends[0]) / (means[1] - means[0])
    return ends[0] - (means[0] - 1.0) * length, length


def test_lines_start_at_their_ranks_and_end_at_their_names() -> None:
    ranks = ranked()
    ax = plot_critical_difference(ranks)
    start, length = unit(ax, ranks)
    lines = by_gid(ax, r"method-\d+")
    named = by_gid(ax, r"method-\d+-name")
    assert len(lines) == 6
    for place, name in enumerate(ranks.order):
        x, y = lines[f"method-{place}"].get_data()
        assert x[0] == pytest.approx(start + (ranks.mean_ranks[name] - 1.0) * length)
        text = named[f"method-{place}-name"]
        assert text.get_text() == name
        assert text.get_position()[1] == y[-1]
        assert (text.get_position()[0] < x[-1]) == (place < 3)
        assert f"{ranks.mean_ranks[name]:.2f}" in words(ax)


def test_bars_join_the_groups_and_the_difference_has_its_length() -> None:
    ranks = ranked(10, 30)
    ax = plot_critical_difference(ranks)
    start, length = unit(ax, ranks)
    bars = by_gid(ax, r"group-\d+")
    assert len(bars) == len(ranks.groups) > 2
    beyond = 0.04
    for place, group in enumerate(ranks.groups):
        x = bars[f"group-{place}"].get_xdata()
        ends = [start + (ranks.mean_ranks[name] - 1.0) * length for name in (group[0], group[-1])]
        np.testing.assert_allclose(x, [ends[0] - beyond, ends[1] + beyond])
    drawn = by_gid(ax, "difference")["difference"].get_xdata()
    assert drawn[1] - drawn[0] == pytest.approx(ranks.critical_difference * length)
    assert f"critical difference {ranks.critical_difference:.2f}" in words(ax)
    # No two bars at the same height touch.
    spans: dict[float, list[tuple[float, float]]] = {}
    for bar in bars.values():
        (left, right), (y, _) = bar.get_data()
        assert all(right < a or left > b for a, b in spans.get(y, []))
        spans.setdefault(y, []).append((left, right))


def test_lines_do_not_cross() -> None:
    """The vertical part of no line meets the horizontal part of another."""
    ax = plot_critical_difference(ranked(15))
    lines = [line.get_data() for line in by_gid(ax, r"method-\d+").values()]
    for x, y in lines:
        for other_x, other_y in lines:
            if x[0] != other_x[0]:
                across = min(other_x[1:]) < x[0] < max(other_x[1:])
                assert not (across and y[1] < other_y[1] < y[0])


@pytest.mark.parametrize("names", [None, LONG, "odd"])
@pytest.mark.parametrize(("k", "n"), [(2, 2), (3, 2), (3, 12), (8, 20), (16, 17), (30, 40)])
def test_all_is_in_sight_and_nothing_overlaps(k: int, n: int, names: Any) -> None:
    given = None
    if names == LONG:
        given = [LONG.format(place) for place in range(k)]
    elif names == "odd":
        given = [f"{ODD[place % 5]} {place}" for place in range(k)]
    ax = plot_critical_difference(ranked(k, n, given))
    ax.figure.canvas.draw()
    shown = texts(ax)
    extents = [text.get_window_extent() for text in shown]
    assert [shown[i] for i, box in enumerate(extents) if not inside(box, ax.figure.bbox)] == []
    assert [(shown[i], shown[j]) for i, j in overlaps(extents, 1.0)] == []
    drawn = by_gid(ax, "difference")["difference"].get_window_extent()
    assert inside(drawn, ax.figure.bbox)


def test_what_cannot_be_drawn() -> None:
    wrong: Any = {"a": [1.0, 2.0]}
    with pytest.raises(TypeError, match=r"what obliqua\.rank_methods returns; got .* dict"):
        plot_critical_difference(wrong)
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        plot_critical_difference(ranked(), ax=plt)
