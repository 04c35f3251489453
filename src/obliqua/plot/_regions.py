"""A plane of two features: its cells as exact polygons, rows as points, names at its edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.plot._canvas import Font, mark, write
from obliqua.plot._nodes import Paint, Palette, Shades
from obliqua.plot._rows import Sample
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.colours import INK, RAMP, mix
from obliqua.words.subject import Subject, read_column

MARGIN = 0.06  # of the range of the rows, on every side


# Corners of less than this share of the window's area make no cell.
SPECK = 1e-12
MANY = 5000  # rows beyond which points are drawn fainter
MAX_LEGEND = 42  # classes beyond which they are not named


def leaf_cells(
    tree: Tree, row: FloatArray, pair: tuple[int, int], window: FloatArray
) -> list[tuple[int, FloatArray]] | None:
    """Divide a window among the leaves."""
    size = _area(window)
    todo, done = [(0, window)], []
    while todo:
        node, corners = todo.pop()
        if len(corners) < 3 or _area(corners) <= SPECK * size:
            continue
        if tree.kind[node] == NodeKind.LEAF:
            done.append((node, corners))
            continue
        first = int(tree.first_child[node])
        cells = _branches(tree, node, row, pair, corners)
        if cells is None:
            return None
        todo += [(first + branch, cell) for branch, cell in enumerate(cells)]
    return sorted(done, key=lambda found: found[0])


def window_around(low: Sequence[float], high: Sequence[float]) -> FloatArray:
    """Return the corners of the picture: what rows lie in, and a margin on every side."""
    ends = []
    with np.errstate(over="ignore", invalid="ignore"):
        for start, end in zip(low, high, strict=True):
            pad = MARGIN * (end - start) or max(abs(start), 1.0) * 0.5
            ends.append((start - pad, end + pad))
        (left, right), (bottom, top) = ends
        window = np.array([[left, bottom], [right, bottom], [right, top], [left, top]])
        if not np.isfinite(window[2] - window[0]).all():
            raise ValueError("The range of the features is too large to be drawn; scale them.")
    return window


def qualitative_columns(subject: Subject, trees: Sequence[Tree]) -> BoolArray:
    """Say which columns hold levels; of a bare tree only its tables tell."""
    found = np.array([column.kind == "qualitative" for column in subject.encoding.columns])
    for tree in trees:
        found[tree.coef_idx[np.diff(tree.table_ptr) > 0]] = True
        found[tree.leaf_idx[np.diff(tree.leaf_table_ptr) > 0]] = True
    return found


def column_spreads(Z: AnyArray) -> FloatArray:
    """Return the standard deviation of what is there in each column, also of huge numbers."""
    spread = np.zeros(Z.shape[1])
    for place in range(Z.shape[1]):
        column = Z[~np.isnan(Z[:, place]), place].astype(np.float64)
        unit = float(np.abs(column).max(initial=0.0)) or 1.0
        spread[place] = np.std(column / unit) * unit if len(column) else 0.0
    return spread


def _branches(
    tree: Tree, node: int, row: FloatArray, pair: tuple[int, int], corners: FloatArray
) -> list[FloatArray] | None:
    """Divide a cell among the branches of a node; None if it cannot be."""
    start, end = int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])
    n_branches = int(tree.n_children[node])
    if tree.kind[node] == NodeKind.LEVELS:
        branch = _level_branch(tree, start, row, pair)
        nothing = corners[:0]
        if branch is None:
            return None
        return [corners if b == branch else nothing for b in range(n_branches)]
    planes = []
    for plane in range(start, end):
        found = _restricted(tree, plane, row, pair)
        if found is None:
            return None
        planes.append(found)
    if tree.kind[node] == NodeKind.HYPERPLANE:
        normal, threshold = planes[0]
        if not normal.any():  # it asks about none of the two: all go one way
            goes_left = threshold >= 0
            return [corners if goes_left else corners[:0], corners[:0] if goes_left else corners]
        return [clip(corners, normal, threshold), clip(corners, -normal, -threshold)]
    cells = []
    for b, (normal, threshold) in enumerate(planes):
        cell = corners
        for o, (other, cut) in enumerate(planes):
            if o == b or not len(cell):
                continue
            # The value of b, less its threshold, is not below that of the other branch.
            if (other == normal).all():
                wins = -threshold > -cut if o < b else -threshold >= -cut
                cell = cell if wins else cell[:0]
            else:
                cell = clip(cell, other - normal, cut - threshold)
        cells.append(cell)
    return cells


def _level_branch(tree: Tree, plane: int, row: FloatArray, pair: tuple[int, int]) -> int | None:
    """Return the branch that a held column takes at a set of levels."""
    k = int(tree.coef_ptr[plane])
    column = int(tree.coef_idx[k])
    if column in pair:
        return None
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    code = row[column]
    if np.isnan(code):
        return int(tree.fill[k]) if not np.isnan(tree.fill[k]) else None
    inside = 0 <= code < len(table)
    return int(table[int(code)] if inside else tree.threshold[plane])


def clip(corners: FloatArray, normal: FloatArray, threshold: float) -> FloatArray:
    """Keep the part of a convex polygon where ``normal . x <= threshold``."""
    side = corners @ normal - threshold
    kept: list[AnyArray] = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if side[i] <= 0:
            kept.append(corners[i])
        if (side[i] <= 0) != (side[j] <= 0):
            share = side[i] / (side[i] - side[j])
            kept.append(corners[i] + share * (corners[j] - corners[i]))
    return np.array(kept) if kept else corners[:0]


def _area(corners: FloatArray) -> float:
    x, y = (corners - corners[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _restricted(
    tree: Tree, plane: int, row: FloatArray, pair: tuple[int, int]
) -> tuple[FloatArray, float] | None:
    """Return normal and threshold of a plane among the two features that vary."""
    normal, threshold = np.zeros(2), float(tree.threshold[plane])
    first, last = tree.coef_ptr[plane : plane + 2].tolist()
    side = tree.missing_side[plane]
    held = [column for column in tree.coef_idx[first:last].tolist() if column not in pair]
    if side and np.isnan(row[held]).any():  # all go there
        return normal, 1.0 if side == MissingSide.LEFT else -1.0
    for k in range(first, last):
        column = int(tree.coef_idx[k])
        if column in pair:
            if tree.table_ptr[k] != tree.table_ptr[k + 1]:
                return None
            normal[pair.index(column)] += tree.coef[k]
        else:
            threshold -= float(tree.coef[k] * read_column(tree, k, row[None, :])[0])
    return normal, threshold


# --- drawing ------------------------------------------------------------------------------------


def region_colour(paint: Paint, tree: Tree, node: int) -> str:
    """Return the colour of a region: pale for a class, that of the scale for a number."""
    colour = paint.colour_of(tree, node)
    return colour if isinstance(paint, Shades) else paler(colour)


def paler(colour: str) -> str:
    """Return the pale colour of a region, given the colour of its class."""
    return mix(colour, "#ffffff", 0.78)


def draw_region(ax: Any, corners: FloatArray, colour: str, gid: str) -> None:
    """Draw a region of a colour."""
    patches = require("matplotlib.patches", "plot", "Drawing regions")
    drawn = patches.Polygon(
        corners,
        closed=True,
        facecolor=colour,
        edgecolor=mix(INK, "#ffffff", 0.35),
        linewidth=0.7,
        joinstyle="round",
        zorder=1,
    )
    drawn.set_gid(gid)
    ax.add_patch(drawn)


def show_window(ax: Any, window: FloatArray) -> None:
    """Let an Axes show a window, with lines at its left and below only."""
    ax.set(xlim=(window[0, 0], window[2, 0]), ylim=(window[0, 1], window[2, 1]))
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def draw_rows(
    ax: Any,
    points: AnyArray,
    sample: Sample,
    paint: Paint,
    font: Font,
    strength: FloatArray | None = None,
) -> None:
    """Draw rows, if classes or numbers are known; `strength` is from 0 to 1.

    Those with a missing coordinate are left out.
    """
    if sample.numbers is not None:
        _draw_numbers(ax, points, sample.numbers[:, 0], strength)
    elif sample.codes is not None and isinstance(paint, Palette):
        _draw_classes(ax, points, sample.codes, paint, font, strength)


def draw_scale(ax: Any, shades: Shades, font: Font) -> None:
    """Draw a bar of colours beside the picture, for its rows too."""
    cm = require("matplotlib.cm", "plot", "Drawing regions")
    colors = require("matplotlib.colors", "plot", "Drawing regions")
    low, high = shades.low, shades.high
    if not low < high:
        low, high = low - 0.5, high + 0.5
    scale = cm.ScalarMappable(colors.Normalize(low, high), colour_map())
    for rows in ax.collections:
        if rows.get_gid() == "rows":
            rows.set(cmap=scale.cmap, norm=scale.norm)
    drawn = ax.figure.colorbar(scale, ax=ax, pad=0.02)
    drawn.outline.set_visible(False)
    drawn.ax.tick_params(labelsize=8)
    write(drawn.ax.yaxis.label, shades.title(font, 2.0, 9))
    drawn.ax.yaxis.label.set_fontsize(9)


def colour_map() -> Any:
    """Return the colours of numbers as matplotlib takes them."""
    colors = require("matplotlib.colors", "plot", "Drawing regions")
    return colors.LinearSegmentedColormap.from_list("obliqua", RAMP)


def _draw_numbers(
    ax: Any, points: AnyArray, values: FloatArray, strength: FloatArray | None
) -> None:
    """Draw rows in the colours of their numbers."""
    there = ~np.isnan(points).any(axis=1)
    faint = faintness(len(points))
    drawn = ax.scatter(
        *points[there].T,
        c=values[there],
        s=point_size(len(points)),
        alpha=faint if strength is None else faint * strength[there],
        edgecolor=INK,
        linewidth=0.6,
        zorder=3,
    )
    drawn.set_gid("rows")


def _draw_classes(
    ax: Any,
    points: AnyArray,
    codes: AnyArray,
    palette: Palette,
    font: Font,
    strength: FloatArray | None,
) -> None:
    """Draw rows in the colours and with the marks of their classes."""
    there = ~np.isnan(points).any(axis=1)
    present = np.unique(codes[there]).tolist()
    faint = faintness(len(points))
    for c in present:
        rows = np.flatnonzero((codes == c) & there)
        look = mark(c, palette.colours[c], point_size(len(points)))
        alpha = faint if strength is None else faint * strength[rows]
        drawn = ax.scatter(*points[rows].T, alpha=alpha, zorder=3, **look)
        drawn.set_gid(f"class-{c}")
    _legend(ax, present, palette, font)


def point_size(n_rows: int) -> float:
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
