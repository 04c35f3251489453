"""Rows as points over the regions of classes, with the names of the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.plot._canvas import room_of
from obliqua.plot._nodes import Palette
from obliqua.plot._style import GREY, INK, Font, mark, mix

MANY = 5000  # rows beyond which points are drawn fainter
MAX_LEGEND = 42  # classes beyond which they are not named


def region_colour(colour: str) -> str:
    """Return the pale colour of a region, given the colour of its class."""
    return mix(colour, "#ffffff", 0.78)


def region_style(colour: str) -> dict[str, Any]:
    """Return how a region is drawn, given the colour of its class."""
    return {
        "facecolor": region_colour(colour),
        "edgecolor": mix(INK, "#ffffff", 0.35),
        "linewidth": 0.7,
        "joinstyle": "round",
        "zorder": 1,
    }


def draw_rows(
    ax: Any,
    points: AnyArray,
    codes: AnyArray,
    palette: Palette,
    font: Font,
    strength: FloatArray | None = None,
) -> None:
    """Draw rows by class, those with a missing coordinate not; `strength` is from 0 to 1."""
    there = ~np.isnan(points).any(axis=1)
    present = np.unique(codes[there]).tolist()
    faint = faintness(len(points))
    for c in present:
        rows = np.flatnonzero((codes == c) & there)
        look = mark(c, palette.colours[c], size_of(len(points)))
        alpha = faint if strength is None else faint * strength[rows]
        drawn = ax.scatter(*points[rows].T, alpha=alpha, zorder=3, **look)
        drawn.set_gid(f"class-{c}")
    _legend(ax, present, palette, font)


def size_of(n_rows: int) -> float:
    """Return the size of points, given how many there are."""
    return float(np.clip(3000 / max(n_rows, 1), 7.0, 26.0))


def faintness(n_rows: int) -> float:
    """Return how strong points are: many of them must not hide those of the classes before."""
    return float(np.clip(MANY / max(n_rows, 1), 0.15, 1.0))


def _legend(ax: Any, present: list[int], palette: Palette, font: Font) -> None:
    """Name the classes: few of them above the picture, more at its right."""
    if len(present) > MAX_LEGEND:
        return
    handles = [ax.scatter([], [], **mark(c, palette.colours[c])) for c in present]
    if len(present) <= 4:
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 4}
    else:
        n_columns = math.ceil(len(present) / 14)
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "ncols": n_columns}
    # Names that begin with an underscore would be taken for private ones; they come later.
    legend = ax.legend(
        handles,
        ["name"] * len(handles),
        **place,
        frameon=False,
        fontsize=8,
        handletextpad=0.2,
        columnspacing=1.0,
        borderaxespad=0.2,
    )
    for c, text in zip(present, legend.get_texts(), strict=True):
        write(text, font.fit(palette.names[c], 1.4, 8))


def write(text: Any, words: str) -> None:
    """Set a text in which no sign has a meaning."""
    text.set_parse_math(False)
    text.set_usetex(False)
    text.set_text(words)


def note_below(ax: Any, parts: Sequence[str], font: Font, gid: str) -> None:
    """Write a note below the label of the lower axis; lines end between parts."""
    lines = font.wrap(map(font.writable, parts), room_of(ax)[0], 7)
    note = ax.annotate(
        "",
        xy=(0.5, 0.0),
        xycoords=ax.xaxis.label,
        xytext=(0, -4),
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=7,
        color=GREY,
        annotation_clip=False,
    )
    write(note, "\n".join(lines))
    note.set_gid(gid)
