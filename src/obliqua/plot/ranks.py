"""`plot_critical_difference`: mean ranks of methods, and which of them cannot be told apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from obliqua.plot._canvas import Canvas, Font, check_ax
from obliqua.stats.ranks import Ranks
from obliqua.words.colours import GREY, INK

BLUE = "#0072b2"
NAME = 2.6  # inches for the name of a method at most
LINE, STEP = 0.22, 0.11  # inches between names, and between bars
EDGE, GAP, TICK = 0.12, 0.06, 0.07  # inches: around all, beside a line, of a tick
REACH = 0.3  # inches from the end of the axis to where names begin
SIZE, SMALL, TINY = 9.0, 8.0, 7.0  # points: names, numbers, the caption
HEAD, BELOW = 0.78, 0.14  # inches above the axis, and from it to the first bar
DOT = 3.6  # points
BEYOND = 0.04  # inches by which a bar goes past its methods


def plot_critical_difference(ranks: Ranks, *, ax: Any = None) -> Any:
    """Draw mean ranks on an axis, with bars that join methods that cannot be told apart.

    The best method is at the left. A bar joins methods whose mean ranks differ by less than
    Nemenyi's critical difference, which is drawn above the axis.

    Parameters
    ----------
    ranks : Ranks
        What `obliqua.rank_methods` returned.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The line of the method with the third best rank has the gid
        ``method-2``, its name ``method-2-name``, the first bar ``group-0`` and the critical
        difference ``difference``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    TypeError
        If `ranks` is something else.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from obliqua import plot_critical_difference, rank_methods
    >>> scores = {"a": [0.9, 0.8, 0.7, 0.9], "b": [0.8, 0.7, 0.7, 0.6], "c": [0.5, 0.6, 0.4, 0.5]}
    >>> ax = plot_critical_difference(rank_methods(scores))
    >>> [text.get_text() for text in ax.texts if "critical" in text.get_text()]
    ['critical difference 1.66']
    """
    check_ax(ax)
    if not isinstance(ranks, Ranks):
        raise TypeError(
            "ranks must be what obliqua.rank_methods returns; got an object of class "
            f"{type(ranks).__name__}."
        )
    font = Font()
    layout = _layout(ranks, font)
    canvas = Canvas(layout.width, layout.height, font, ax)
    _draw_axis(canvas, layout, ranks)
    _draw_groups(canvas, layout, ranks)
    _draw_methods(canvas, layout, ranks)
    for place, line in enumerate(reversed(layout.caption)):
        y = EDGE + (place + 0.5) * 0.14
        written = canvas.text(layout.width / 2, y, line, TINY, ha="center", color=GREY)
        written.set_gid("caption")
    return canvas.ax


@dataclass(frozen=True)
class _Layout:
    """Where everything is, in inches from the bottom left."""

    width: float
    height: float
    left: float  # of rank 1
    unit: float  # of a rank
    axis: float  # height of the axis
    first: float  # height of the first name
    levels: tuple[int, ...]  # of the bars, 0 at the top
    names: tuple[str, ...]
    caption: tuple[str, ...]

    def x(self, rank: float) -> float:
        return self.left + (rank - 1.0) * self.unit


def _layout(ranks: Ranks, font: Font) -> _Layout:
    k = len(ranks.methods)
    names = tuple(font.fit(name, NAME, SIZE) for name in ranks.order)
    half = (k + 1) // 2
    number = font.width(f"{k}.00", SMALL)
    sides = [
        max((font.width(name, SIZE) for name in part), default=0.0) + number + 2 * GAP
        for part in (names[:half], names[half:])
    ]
    length = min(6.0, 2.4 + 0.24 * k)
    left = EDGE + sides[0] + GAP + REACH
    unit = length / (k - 1)
    # With few data sets the critical difference may be longer than the axis.
    right = max(REACH + GAP + sides[1], (ranks.critical_difference - (k - 1)) * unit)
    width = left + length + right + EDGE
    levels = _levels(ranks)
    caption = tuple(font.wrap(_caption(ranks), width - 2 * EDGE, TINY))
    names_height = half * LINE
    bars = BELOW + (max(levels, default=-1) + 1) * STEP + 0.04
    foot = EDGE + 0.14 * len(caption) + 0.08
    height = foot + names_height + bars + HEAD
    first = foot + names_height - LINE / 2
    return _Layout(*(width, height, left, unit, height - HEAD, first, levels, names, caption))


def _caption(ranks: Ranks) -> list[str]:
    n, p = len(ranks.data_sets), ranks.iman_davenport[1]
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return [
        f"mean ranks over {n} data sets, 1 is best;",
        "bars join methods that cannot be told apart",
        f"(Nemenyi, {100 * ranks.level:g} %);",
        f"that all are the same: {sure} (Friedman, Iman-Davenport)",
    ]


def _levels(ranks: Ranks) -> tuple[int, ...]:
    """Put each bar as high as it can be without touching one before it."""
    ends: list[float] = []
    found = []
    for group in ranks.groups:
        start, end = (ranks.mean_ranks[name] for name in (group[0], group[-1]))
        free = [level for level, before in enumerate(ends) if before + 0.2 < start]
        level = free[0] if free else len(ends)
        ends[level : level + 1] = [end]
        found.append(level)
    return tuple(found)


def _draw_axis(canvas: Canvas, layout: _Layout, ranks: Ranks) -> None:
    k, y = len(ranks.methods), layout.axis
    canvas.line([(layout.x(1), y), (layout.x(k), y)], 1.0, solid_capstyle="projecting")
    every = 1 if k <= 24 else 5
    for rank in range(1, k + 1):
        x = layout.x(rank)
        canvas.line([(x, y), (x, y + TICK)], 0.9)
        if rank % every == 0 or rank == 1:
            canvas.text(x, y + TICK + 0.03, str(rank), SMALL, ha="center", va="bottom")
        if rank < k and k <= 12:
            between = x + layout.unit / 2
            canvas.line([(between, y), (between, y + TICK / 2)], 0.6)
    start, end = layout.x(1), layout.x(1) + ranks.critical_difference * layout.unit
    height = y + 0.42
    drawn = canvas.line([(start, height), (end, height)], 1.6, color=BLUE)
    drawn.set_gid("difference")
    for x in (start, end):
        canvas.line([(x, height - 0.04), (x, height + 0.04)], 1.6, color=BLUE)
    text = f"critical difference {ranks.critical_difference:.2f}"
    canvas.text(start, height + 0.14, text, SMALL, color=BLUE)


def _draw_groups(canvas: Canvas, layout: _Layout, ranks: Ranks) -> None:
    for place, (group, level) in enumerate(zip(ranks.groups, layout.levels, strict=True)):
        start, end = (layout.x(ranks.mean_ranks[name]) for name in (group[0], group[-1]))
        y = layout.axis - BELOW - level * STEP
        points = [(start - BEYOND, y), (end + BEYOND, y)]
        canvas.line(points, 3.2, color=INK, zorder=4.8).set_gid(f"group-{place}")


def _draw_methods(canvas: Canvas, layout: _Layout, ranks: Ranks) -> None:
    """Lines from the axis down and to the side: the outermost method has the topmost name."""
    k = len(ranks.methods)
    half = (k + 1) // 2
    ends = (layout.x(1) - REACH, layout.x(k) + REACH)
    for place, (name, text) in enumerate(zip(ranks.order, layout.names, strict=True)):
        left = place < half
        y = layout.first - (place if left else k - 1 - place) * LINE
        mean = ranks.mean_ranks[name]
        x, end = layout.x(mean), ends[0] if left else ends[1]
        canvas.line([(x, layout.axis), (x, y), (end, y)], 0.8, color=GREY, zorder=4.0).set_gid(
            f"method-{place}"
        )
        canvas.line([(x, layout.axis)], 0.0, marker="o", markersize=canvas.points(DOT), zorder=4.9)
        side, toward = ("right", -1.0) if left else ("left", 1.0)
        at = end + toward * GAP
        canvas.text(at, y, f"{mean:.2f}", SMALL, ha=side, color=GREY)
        at += toward * (canvas.font.width(f"{k}.00", SMALL) + GAP)
        canvas.text(at, y, text, SIZE, ha=side).set_gid(f"method-{place}-name")
