"""Colours and marks of classes, and text that fits, whatever letters are in it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from obliqua._extras import require
from obliqua.words.phrases import on_one_line

INK, GREY, PALE, EDGE = "#1a1a1a", "#6b6b6b", "#d9d9d9", "#b4b4b4"

# Okabe and Ito's seven colours, which colour-blind readers tell apart. Each further one was chosen
# to be far from all before it and from white in CIELAB, for normal and for red-green blind eyes;
# very bright ones were left out. Beyond 26 classes they come back, and names tell more.
_COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#f0e442", "#443300"),
    *("#660077", "#aa0033", "#668800", "#bb88ff", "#ccaa77", "#004444", "#662244", "#77dd77"),
    *("#888888", "#44dddd", "#005511", "#ff8888", "#1144aa", "#886600", "#995544", "#aa1177"),
    *("#ddbbff", "#333366"),
)
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "<", ">", "p")

# What stands for a sign that the font lacks; a hollow square for every other one.
_SPARE = {"≤": "<=", "≥": ">=", "−": "-", "·": "*", "×": "x", "…": "...", "←": "<-", "→": "->"}
_SQUARE = "□"
# Text is set a little wider where glyphs are fitted to whole pixels.
_SLACK = 1.1


def mix(colour: str, other: str, share: float) -> str:
    """Mix two colours, each written as ``#rrggbb``; `share` is that of the other one."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def class_colours(n_classes: int) -> list[str]:
    """Return a colour for each class."""
    return [_COLOURS[c % len(_COLOURS)] for c in range(n_classes)]


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
