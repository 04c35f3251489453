"""Colours that all pictures share: those of classes, of numbers, and of ink."""

from __future__ import annotations

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
# Numbers from the least to the largest: from pale to dark, also without colours.
RAMP = ("#f7dc6f", "#45a88f", "#2b3f87")


def mix(colour: str, other: str, share: float) -> str:
    """Mix two colours, each written as ``#rrggbb``; `share` is that of the other one."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def ramp_colour(place: float) -> str:
    """Return the colour of a number, given its place between the least, 0, and the largest, 1."""
    step = min(max(place, 0.0), 1.0) * (len(RAMP) - 1)
    first = min(int(step), len(RAMP) - 2)
    return mix(RAMP[first], RAMP[first + 1], step - first)


def class_colours(n_classes: int) -> list[str]:
    """Return a colour for each class."""
    return [_COLOURS[c % len(_COLOURS)] for c in range(n_classes)]
