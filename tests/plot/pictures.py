"""Models to draw, and how large everything in a picture really is."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from obliqua import CartClassifier, HHCartClassifier, TreeBuilder
from obliqua.data.encoding import Column, Encoding
from obliqua.tree.model import Model

LONG = "mean fractal dimension error of the third cell, {}"
ODD = ["$a_1^2$", "line\nbreak", '<b>"bold"</b>', "日本語", "a&b"]


def data(
    n_classes: int = 3, n_features: int = 5, n_rows: int = 300
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Classes that no few splits part."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, n_classes, n_rows)
    centres = 0.6 * rng.normal(size=(n_classes, n_features))
    return centres[y] + rng.normal(size=(n_rows, n_features)), y


def grown(n_leaves: int, n_classes: int = 3, oblique: bool = True) -> tuple[Any, Any, Any]:
    """A fitted estimator with so many leaves, and its rows."""
    X, y = data(n_classes, n_rows=max(300, 20 * n_leaves))
    kind = HHCartClassifier if oblique else CartClassifier
    model = kind(pruning=None, max_leaf_nodes=n_leaves).fit(X, y)
    assert model.get_n_leaves() == n_leaves
    return model, X, y


def all_kinds() -> Model:
    """A tree with a linear machine and a set of levels."""
    builder = TreeBuilder(n_features=3, n_stats=3)
    normals = [{0: 1.0, 1: 0.5}, {0: -1.0}, {1: 1.0}]
    builder.add_machine("root", normals, [0.0, 0.1, 0.2], ("levels", "b", "c"))
    builder.add_levels("levels", 2, [0, 0, 1, 2], ("d", "e", "f"), unseen=1)
    for k, name in enumerate("bcdef"):
        builder.set_leaf(name, np.eye(3)[k % 3] * 5 + 1, n_samples=8)
    colours = Column("colour", "qualitative", ("red", "green", "blue", "white"))
    encoding = Encoding((Column("length"), Column("width"), colours))
    return Model((builder.build(),), "single", encoding, np.array(["a", "b", "c"]))


def coloured(Z: NDArray[np.float64]) -> NDArray[Any]:
    """Rows of `all_kinds` as a user has them, with names of levels; the fifth is not known."""
    names = ("red", "green", "blue", "white", "violet")
    rows: NDArray[Any] = Z.astype(object)
    rows[:, 2] = [names[int(code)] for code in Z[:, 2]]
    return rows


def by_gid(ax: Axes, pattern: str) -> dict[str, Any]:
    """All artists whose gid matches, by gid; several with one gid as a list."""
    found: dict[str, Any] = {}
    for artist in ax.get_children():
        gid = artist.get_gid() or ""
        if re.fullmatch(pattern, gid):
            if gid in found:
                before = found[gid]
                found[gid] = [*(before if isinstance(before, list) else [before]), artist]
            else:
                found[gid] = artist
    return found


def boxes(ax: Axes) -> dict[int, Bbox]:
    """The box of each node, in pixels."""
    ax.figure.draw_without_rendering()
    return {
        int(gid.removeprefix("node-")): patch.get_window_extent()
        for gid, patch in by_gid(ax, r"node-\d+").items()
    }


def texts(ax: Axes) -> list[Text]:
    """All texts that say something."""
    return [text for text in ax.texts if text.get_text()]


def words(ax: Axes) -> str:
    return "\n".join(text.get_text() for text in texts(ax))


def overlaps(extents: list[Bbox], slack: float) -> list[tuple[int, int]]:
    """Pairs that share more than `slack` pixels in both directions."""
    low = np.array([extent.min for extent in extents])
    high = np.array([extent.max for extent in extents])
    shared = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    both = np.triu((shared > slack).all(axis=2), k=1)
    return [(int(i), int(j)) for i, j in np.argwhere(both)]


def inside(a: Bbox, b: Bbox, slack: float = 1.0) -> bool:
    return (
        a.x0 >= b.x0 - slack
        and a.x1 <= b.x1 + slack
        and a.y0 >= b.y0 - slack
        and a.y1 <= b.y1 + slack
    )


def assert_tidy(ax: Axes) -> None:
    """No two boxes overlap, no text leaves its box, no two texts overlap, all is in sight."""
    found = boxes(ax)
    assert overlaps(list(found.values()), 0.5) == []
    shown = texts(ax)
    extents = [text.get_window_extent() for text in shown]
    for text, extent in zip(shown, extents, strict=True):
        assert inside(extent, ax.figure.bbox), text
        owner = re.fullmatch(r"node-(\d+)-.*", text.get_gid() or "")
        if owner:
            assert inside(extent, found[int(owner[1])]), text
    # Lines stand close: letters with a tail may touch the room of the next line.
    assert [(shown[i], shown[j]) for i, j in overlaps(extents, 2.5)] == []
