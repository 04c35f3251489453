"""What all pictures are drawn with: colours and marks, text that fits, an Axes in inches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from obliqua._extras import require
from obliqua.words.colours import GREY, INK, PALE
from obliqua.words.phrases import on_one_line

MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p")

# What stands for a sign that the font lacks; a hollow square for every other one.
_SPARE = {"≤": "<=", "≥": ">=", "−": "-", "·": "*", "×": "x", "…": "...", "←": "<-", "→": "->"}
_SQUARE = "□"
# Text is set a little wider where glyphs are fitted to whole pixels.
_SLACK = 1.1


# The part of an Axes that is counted on where a layout may yet shrink it, for a title say.
RESERVE = 0.92


def mark(c: int, colour: str, size: float = 22.0) -> dict[str, Any]:
    """Return how the points of class `c` are drawn: shapes differ, and every other one is open."""
    face = colour if c % 2 == 0 else "white"
    return {
        "marker": MARKERS[c % len(MARKERS)],
        "s": size,
        "facecolor": face,
        "edgecolor": colour,
        "linewidth": 0.6 if c % 2 == 0 else 1.1,
    }


class Font:
    """The user's font: what it can write, and how wide that is."""

    def __init__(self) -> None:
        self._manager = require("matplotlib.font_manager", "plot", "Drawing a tree")
        self._measure = require("matplotlib.textpath", "plot", "Drawing a tree").TextToPath()
        self._widths: dict[tuple[str, bool], float] = {}
        self._known: dict[str, bool] = {}

    @cached_property
    def _faces(self) -> list[Any]:
        """The font files that matplotlib looks for a letter in, one after another."""
        faces = []
        for family in self._manager.FontProperties().get_family():
            wanted = self._manager.FontProperties(family=[family])
            faces.append(self._manager.get_font(self._manager.findfont(wanted)))
        return faces

    def _has(self, letter: str) -> bool:
        if letter not in self._known:
            code = ord(letter)
            self._known[letter] = any(face.get_char_index(code) for face in self._faces)
        return self._known[letter]

    def writable(self, text: str) -> str:
        """Return the text on one line, with a square for each letter that the font lacks.

        Such letters would be drawn as boxes anyway, with a warning for each of them.
        """
        letters = []
        for letter in on_one_line(text):
            if not self._has(letter):
                letter = _SPARE.get(letter, _SQUARE if self._has(_SQUARE) else "?")
            letters.append(letter)
        return "".join(letters)

    def width(self, text: str, size: float, bold: bool = False) -> float:
        """Return the width of a text in inches; `size` is in points."""
        key = (text, bold)
        if key not in self._widths:
            weight = "bold" if bold else "normal"
            font = self._manager.FontProperties(size=100.0, weight=weight)
            found = self._measure.get_text_width_height_descent(text, font, ismath=False)[0]
            self._widths[key] = _SLACK * found / 100.0
        return self._widths[key] * size / 72.0

    def fit(self, text: str, width: float, size: float, bold: bool = False) -> str:
        """Shorten a text to a width in inches: its middle is left out."""
        text = self.writable(text)
        if self.width(text, size, bold) <= width:
            return text
        dots = self.writable("…")
        few, many = 0, len(text) - 1
        while few < many:
            kept = (few + many + 1) // 2
            if self.width(_shortened(text, kept, dots), size, bold) <= width:
                few = kept
            else:
                many = kept - 1
        return _shortened(text, few, dots)

    def wrap(self, parts: Iterable[str], width: float, size: float) -> list[str]:
        """Put parts, which stay whole, on as few lines as they need."""
        lines: list[str] = []
        for part in parts:
            if lines and self.width(f"{lines[-1]} {part}", size) <= width:
                lines[-1] = f"{lines[-1]} {part}"
            else:
                lines.append(part)
        return lines


def _shortened(text: str, kept: int, dots: str) -> str:
    """Keep so many letters of a text, most of them from its start."""
    end = kept * 2 // 5
    return text[: kept - end].rstrip() + dots + (text[len(text) - end :].lstrip() if end else "")


# --- the Axes -----------------------------------------------------------------------------------


@runtime_checkable
class Axes(Protocol):
    """What is drawn in: an Axes of matplotlib, which need not be imported to know one."""

    figure: Any
    add_patch: Any
    get_window_extent: Any
    set_aspect: Any


def check_ax(ax: Any) -> None:
    """Raise for what cannot be drawn in; None stands for a figure that is still to be made."""
    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(
            f"ax must be a matplotlib Axes, or None for a figure of its own; got {ax!r} of type "
            f"{type(ax).__name__}. plt.subplots() returns a figure and an Axes, in this order."
        )


def check_limit(name: str, value: Any, least: int) -> None:
    """Raise for what is no whole number, or too small a one."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}; got {value!r}.")


def axes_of(ax: Any, size: tuple[float, float], purpose: str) -> Any:
    """Return the Axes to draw in: the given one, or that of a new figure of a size in inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", "plot", purpose)
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def size_of_axes(ax: Any) -> tuple[float, float]:
    """Return width and height of an Axes in inches, after the figure's layout."""
    figure = ax.figure.figure  # the whole one, if the Axes is in a part of it
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    box, dpi = ax.get_window_extent(), figure.dpi
    if not (box.width > 0 and box.height > 0):
        raise ValueError("The given ax has no room: its width or height is 0.")
    return box.width / dpi, box.height / dpi


class Canvas:
    """An Axes of a size in inches, with its origin at the bottom left.

    Boxes and the text in them stay in proportion: a given `ax` is filled as far as these allow,
    and text shrinks or grows with it. Without one, a figure of this size is made.
    """

    def __init__(self, width: float, height: float, font: Font, ax: Any = None) -> None:
        self.width, self.height, self.font = width, height, font
        self.patches = require("matplotlib.patches", "plot", "Drawing a tree")
        self.paths = require("matplotlib.path", "plot", "Drawing a tree")
        self.collections = require("matplotlib.collections", "plot", "Drawing a tree")
        if ax is None:
            pyplot = require("matplotlib.pyplot", "plot", "Drawing a tree")
            figure = pyplot.figure(figsize=(width, height), facecolor="white", layout="none")
            ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
            self.scale = 1.0
        else:
            there = size_of_axes(ax)
            self.scale = min(there[0] / width, there[1] / height)
            if ax.figure.figure.get_layout_engine() is not None:
                self.scale *= RESERVE
        self.ax = ax
        ax.set(xlim=(0, width), ylim=(0, height), xticks=[], yticks=[], facecolor="white")
        ax.set_aspect("equal", adjustable="box")
        ax.spines[:].set_visible(False)

    def text(self, x: float, y: float, text: str, size: float, **more: Any) -> Any:
        """Write a line of text at a place; `size` is in points."""
        style = {"va": "center", "ha": "left", "color": INK, "zorder": 5.0} | more
        # No sign in it means anything to matplotlib or TeX.
        return self.ax.text(
            x,
            y,
            self.font.writable(text),
            fontsize=size * self.scale,
            parse_math=False,
            usetex=False,
            **style,
        )

    def points(self, size: float) -> float:
        """Return a width of a line, given in points, as it is on this canvas."""
        return size * self.scale

    def box(
        self, place: tuple[float, float, float, float], radius: float = 0.06, **style: Any
    ) -> Any:
        """Draw a box with round corners; `place` is its left, bottom, width and height."""
        left, bottom, width, height = place
        shape = f"round,pad=0,rounding_size={radius}"
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "zorder": 3.0} | style
        look["linewidth"] = self.points(look.get("linewidth", 0.8))
        patch = self.patches.FancyBboxPatch((left, bottom), width, height, boxstyle=shape, **look)
        self.ax.add_patch(patch)
        return patch

    def bars(
        self,
        places: Sequence[tuple[float, float, float, float]],
        colours: Sequence[str],
        **more: Any,
    ) -> Any:
        """Draw rectangles, each given by left, bottom, width and height."""
        corners = [
            [(x, y), (x + w, y), (x + w, y + h), (x, y + h)] for x, y, w, h in places if w and h
        ]
        shown = [c for c, (_, _, w, h) in zip(colours, places, strict=True) if w and h]
        style = {"facecolors": shown, "linewidths": 0.0, "zorder": 4.0, "antialiaseds": True}
        drawn = self.collections.PolyCollection(corners, **(style | more))
        self.ax.add_collection(drawn, autolim=False)
        return drawn

    def line(self, points: Sequence[tuple[float, float]], width: float, **style: Any) -> Any:
        """Draw a line through points; `width` is in points."""
        look = {"color": INK, "zorder": 4.5, "solid_capstyle": "butt"} | style
        x, y = zip(*points, strict=True)
        (drawn,) = self.ax.plot(
            x, y, linewidth=self.points(width), scalex=False, scaley=False, **look
        )
        return drawn

    def polygon(self, corners: Sequence[tuple[float, float]], **style: Any) -> Any:
        """Draw a filled polygon."""
        look = {"edgecolor": "none", "zorder": 4.6} | style
        patch = self.patches.Polygon(corners, closed=True, **look)
        self.ax.add_patch(patch)
        return patch

    def curve(self, points: Sequence[tuple[float, float]], width: float, **style: Any) -> Any:
        """Draw a cubic curve, given by its two ends and the two points that bend it."""
        code = self.paths.Path
        path = code(points, [code.MOVETO, code.CURVE4, code.CURVE4, code.CURVE4])
        look = {"facecolor": "none", "edgecolor": PALE, "zorder": 1.0, "capstyle": "butt"} | style
        patch = self.patches.PathPatch(path, linewidth=self.points(width), **look)
        self.ax.add_patch(patch)
        return patch


def write(text: Any, words: str) -> None:
    """Set a text in which no sign has a meaning."""
    text.set_parse_math(False)
    text.set_usetex(False)
    text.set_text(words)


def note_below(ax: Any, parts: Sequence[str], font: Font, gid: str, left: bool = False) -> None:
    """Write a note below the label of the lower axis, or at the left; lines end between parts."""
    lines = font.wrap(map(font.writable, parts), size_of_axes(ax)[0], 7)
    note = ax.annotate(
        "",
        xy=(0.0, 0.0) if left else (0.5, 0.0),
        xycoords="axes fraction" if left else ax.xaxis.label,
        xytext=(0, -5 if left else -4),
        textcoords="offset points",
        ha="left" if left else "center",
        va="top",
        fontsize=7,
        color=GREY,
        annotation_clip=False,
    )
    write(note, "\n".join(lines))
    note.set_gid(gid)
