"""An Axes that is drawn on in inches, so that boxes and the text in them stay in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from obliqua._extras import require
from obliqua.plot._style import GREY, INK, PALE, Font

# The part of an Axes that is counted on where a layout may yet shrink it, for a title say.
RESERVE = 0.92


def check_ax(ax: Any) -> None:
    """Raise for what cannot be drawn in; None stands for a figure that is still to be made."""
    wanted = ("get_window_extent", "add_patch", "figure", "set_aspect")
    if ax is not None and not all(hasattr(ax, name) for name in wanted):
        raise TypeError(
            f"ax must be a matplotlib Axes, or None for a figure of its own; got {ax!r} of type "
            f"{type(ax).__name__}. plt.subplots() returns a figure and an Axes, in this order."
        )


def room_of(ax: Any) -> tuple[float, float]:
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
    """A sheet of a size in inches, with its origin at the bottom left.

    Parameters
    ----------
    width, height : float
        Its size in inches.
    font : Font
        The font.
    ax : Axes, default=None
        The Axes to draw in. A given one is filled as far as the proportions allow, and text
        shrinks or grows with it. Without one, a figure of this size is made.
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
            room = room_of(ax)
            self.scale = min(room[0] / width, room[1] / height)
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
        """Return a width of a line, given in points, as it is on this sheet."""
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
