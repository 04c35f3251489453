"""`plot_boundary`: which class a model predicts where, over two features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import Column, written_name
from obliqua.plot._canvas import Font, axes_of, check_ax, note_below, size_of_axes, write
from obliqua.plot._nodes import Paint, Palette, Shades, minus, paint_of
from obliqua.plot._regions import (
    colour_map,
    column_spreads,
    draw_region,
    draw_rows,
    draw_scale,
    leaf_cells,
    paler,
    qualitative_columns,
    region_colour,
    show_window,
    window_around,
)
from obliqua.plot._rows import Sample
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.levels import written_levels
from obliqua.words.numbers import write_number
from obliqua.words.subject import Coefficients, Subject, lines_of, read_column, subject_of

Pair = tuple[int, int]

GRID = 400  # points per side where cells are no polygons
MAX_NAMED = 3  # held features that are named in the caption


def plot_boundary(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    fixed: Mapping[Any, Any] | None = None,
    ax: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
) -> Any:
    """Draw the regions of the classes, or of numbers, over two features, with the rows on top.

    For a model of more features the picture is a slice: all others are held at a value, which
    is said below the picture. The regions of a single tree are exact, one polygon per leaf;
    those of several trees, and what linear functions of leaves say, are found on a fine grid.
    Numbers have a scale of colours beside the
    picture; of several outputs the first one is shown.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a model or a tree.
    X : array-like of shape (n_rows, n_features)
        Rows; they say how far the picture reaches, and where the other features are held. Those
        in which a shown feature is missing are not drawn.
    y : array-like of shape (n_rows,), default=None
        Their labels, or numbers. Without them no rows are drawn. In the picture of a tree about
        two classes, rows of others are left out.
    features : sequence of two str or int, default=None
        The two features, by name or by number; both must be numeric. By default the first two of
        a model with two, else the two that move rows most: those with the largest sum of gain
        times share in the split, or in the linear function of a leaf, where the share goes by
        ``|coefficient| x standard deviation``.
    fixed : mapping, default=None
        Values at which other features are held, by name or by number: a number, or a level of a
        qualitative feature, None if it is missing. Features that are not mentioned are held at
        their median in `X`, and qualitative ones at their most frequent level.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    tree : int, default=None
        Draw only this tree of a model with several.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The polygon of leaf 3 has the gid ``leaf-3``, the rows of class 0
        have ``class-0``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    ValueError
        If a feature is unknown, or shown and held at once, if a shown one is qualitative, or if
        there are fewer than two numeric features.

    Notes
    -----
    In a slice the rows fade with their distance from it, because the regions are true for rows
    on the slice only. The distance is the root of the mean square, over the held features that
    the model uses, of their difference from the held values in standard deviations; another
    level than the held one, and a missing number, count as one. At a distance of 0.5 a row is
    drawn at 60 %, at 1 with an eighth of its strength.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import HHCartClassifier, plot_boundary
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = HHCartClassifier(random_state=0).fit(X, y)
    >>> ax = plot_boundary(model, X, y, features=["petal length (cm)", "petal width (cm)"])
    >>> ax.get_xlabel()
    'petal length (cm)'
    """
    check_ax(ax)
    container = model if isinstance(model, Model) else getattr(model, "model_", None)
    several = isinstance(container, Model) and len(container.trees) > 1 and tree is None
    subject = subject_of(model, feature_names, class_names, 0 if several else tree)
    trees = container.trees if several and container is not None else (subject.tree,)
    sample = Sample(subject, X, y, all_classes=several)
    pair = _pair(subject, trees, sample.Z, features)
    row, named = _held(subject, trees, sample.Z, pair, fixed or {})
    window = _window(sample.Z, pair)
    ax = axes_of(ax, (5.6, 4.6), "Drawing a boundary")
    paint, font = paint_of(subject), Font()
    cells = None if several else leaf_cells(subject.tree, row, pair, window)
    lines = any(one.has_lines for one in trees)
    if cells is None or lines:
        walker = container if several else _alone(subject)
        paint = _draw_grid(ax, walker, row, pair, window, paint)
    for leaf, corners in cells or ():
        # Linear functions have all colours in one region, so that only its border is drawn.
        colour = "none" if lines else region_colour(paint, subject.tree, leaf)
        draw_region(ax, corners, colour, f"leaf-{leaf}")
    if y is not None:
        strength = _strength(subject, trees, sample.Z, row, pair)
        draw_rows(ax, sample.Z[:, pair], sample, paint, font, strength)
    if isinstance(paint, Shades):
        draw_scale(ax, paint, font)
    _label(ax, subject, pair, window, font)
    used = _used(trees)
    _caption(ax, subject, [k for k in used if k not in pair], row, named, font)
    return ax


# --- what is shown ------------------------------------------------------------------------------


def _column(subject: Subject, feature: Any, what: str) -> int:
    """Find a feature by name or number."""
    names = subject.encoding.names
    if isinstance(feature, int | np.integer) and not isinstance(feature, bool):
        if 0 <= feature < len(names):
            return int(feature)
    elif str(feature) in names:
        return names.index(str(feature))
    known = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    raise ValueError(
        f"{what} names the feature {feature!r}, which the model does not know. It knows {known}, "
        f"or numbers from 0 to {len(names) - 1}."
    )


def _pair(
    subject: Subject, trees: Sequence[Tree], Z: AnyArray, features: Sequence[Any] | None
) -> tuple[int, int]:
    if subject.encoding.n_columns < 2:
        raise ValueError("A boundary is drawn over two features, and this model has only one.")
    numeric = np.flatnonzero(~qualitative_columns(subject, trees))
    if len(numeric) < 2:
        raise ValueError(
            f"A boundary is drawn over two numeric features, and this model has {len(numeric)}. "
            "plot_tree shows splits on levels, export_rules writes them."
        )
    if features is None:
        if len(numeric) == 2:
            return int(numeric[0]), int(numeric[1])
        first, second = sorted(numeric[_most_moving(trees, Z)[numeric].argsort()[:2]].tolist())
        return first, second
    if isinstance(features, str) or len(features) != 2:
        raise ValueError(f"features must be two names or numbers; got {features!r}.")
    first, second = (_column(subject, feature, "features") for feature in features)
    if first == second:
        raise ValueError(f"features must be two different ones; got {features!r}.")
    for column in (first, second):
        if column not in numeric:
            raise ValueError(
                f"The feature {subject.encoding.names[column]!r} is qualitative, and its levels "
                "have no order to draw them in. Choose two numeric features, and hold this one at "
                "a level with fixed."
            )
    return first, second


def _most_moving(trees: Sequence[Tree], Z: AnyArray) -> AnyArray:
    """Return the rank of each column, 0 for the one that moves rows most."""
    moved = np.zeros(Z.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for tree in trees:
            # Trees by hand know no gain; then all planes count alike.
            known = tree.gain.any() and not np.isnan(tree.gain).any()
            gain = tree.gain[tree.node_of_plane] if known else np.ones(tree.n_planes)
            moved += _moving(tree, tree.plane_of_coef, gain, Z)
            gain = np.where(tree.is_leaf, tree.leaf_gain, 0.0) if tree.has_lines else np.zeros(0)
            node = np.repeat(np.arange(len(gain)), np.diff(tree.leaf_ptr))
            moved += _moving(lines_of(tree), node, gain, Z)
    order = np.argsort(-np.nan_to_num(moved), kind="stable")
    return np.argsort(order)


def _moving(
    coefficients: Coefficients, sums: Int64Array, gain: FloatArray, Z: AnyArray
) -> FloatArray:
    """Share out the gain of each sum among columns by how far they move rows in it."""
    spread = [
        column_spreads(read_column(coefficients, k, Z)[:, None])[0] for k in range(len(sums))
    ]
    effect = np.abs(coefficients.coef) * np.array(spread)
    whole, moved = np.zeros(len(gain)), np.zeros(Z.shape[1])
    np.add.at(whole, sums, effect)
    share = np.divide(gain, whole, out=np.zeros_like(whole), where=whole > 0)
    np.add.at(moved, coefficients.coef_idx, effect * share[sums])
    return moved


def _used(trees: Sequence[Tree]) -> list[int]:
    used: set[int] = set()
    for tree in trees:
        used.update(tree.coef_idx.tolist())
        for leaf in np.flatnonzero(tree.is_leaf).tolist() if tree.has_lines else ():
            used.update(tree.leaf_idx[tree.leaf_ptr[leaf] : tree.leaf_ptr[leaf + 1]].tolist())
    return sorted(used)


def _held(
    subject: Subject, trees: Sequence[Tree], Z: AnyArray, pair: Pair, fixed: Mapping[Any, Any]
) -> tuple[FloatArray, list[int]]:
    """Return the row through which the slice goes, and which of its values were given."""
    coded = qualitative_columns(subject, trees)
    row = np.array([_middle(Z[:, place], bool(coded[place])) for place in range(Z.shape[1])])
    named = []
    for feature, value in fixed.items():
        column = _column(subject, feature, "fixed")
        if column in pair:
            raise ValueError(
                f"The feature {subject.encoding.names[column]!r} is shown and cannot be held; "
                "leave it out of fixed."
            )
        row[column] = _given(subject.encoding.columns[column], value)
        named.append(column)
    return row, named


def _middle(column: AnyArray, coded: bool) -> float:
    """Return the median of what is there, or the most frequent level; NaN if nothing is."""
    there = column[~np.isnan(column)].astype(np.float64)
    if not len(there):
        return np.nan
    if not coded:
        return float(np.median(there))
    codes, counts = np.unique(there, return_counts=True)
    return float(codes[np.argmax(counts)])


def _given(column: Column, value: Any) -> float:
    """Return the number, or the code of the level, at which a feature shall be held."""
    if column.kind == "qualitative":
        if value is None:
            return np.nan
        codes = [code for code, level in enumerate(column.levels) if level == value]
        if codes:
            return float(codes[0])
        known = ", ".join(map(repr, column.levels[:20]))
        more = ", ..." if len(column.levels) > 20 else ""
        raise ValueError(
            f"fixed must hold {column.name!r} at one of its levels, {known}{more}, or at None for "
            f"a missing one; got {value!r}."
        )
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(f"fixed must hold {column.name!r} at a finite number; got {value!r}.")
    return number


def _window(Z: AnyArray, pair: tuple[int, int]) -> FloatArray:
    ends = []
    for column in pair:
        there = Z[~np.isnan(Z[:, column]), column]
        if not len(there):
            raise ValueError(
                f"All values of feature {column} are missing in X, so there is nothing to draw."
            )
        ends.append((float(there.min()), float(there.max())))
    return window_around(*zip(*ends, strict=True))


def _strength(
    subject: Subject, trees: Sequence[Tree], Z: AnyArray, row: FloatArray, pair: Pair
) -> FloatArray:
    """Return how strongly each row is drawn: the nearer to the slice, the more."""
    held = [k for k in _used(trees) if k not in pair]
    spread, coded = column_spreads(Z), qualitative_columns(subject, trees)
    apart = np.zeros(len(Z))
    for k in held:
        if coded[k]:
            apart += (Z[:, k] != row[k]) & ~(np.isnan(Z[:, k]) & np.isnan(row[k]))
            continue
        with np.errstate(over="ignore"):
            away = np.abs(np.asarray(Z[:, k], dtype=np.float64) - row[k])
            square = np.square(away / spread[k]) if spread[k] > 0 else np.where(away > 0, 9.0, 0.0)
            apart += np.where(np.isnan(away), 1.0, square)
    return np.maximum(np.exp(-2.0 * apart / max(len(held), 1)), 0.06)


# --- drawing ------------------------------------------------------------------------------------


def _alone(subject: Subject) -> Model:
    """Return a model of one tree; numbers for classes are always added to something."""
    added = subject.holds_numbers and not subject.says_numbers
    combine = "sum" if added else "single"
    return Model((subject.tree,), combine, subject.encoding, subject.classes)


def _draw_grid(
    ax: Any,
    model: Any,
    row: FloatArray,
    pair: tuple[int, int],
    window: FloatArray,
    paint: Paint,
) -> Paint:
    """Colour the pixels of a fine grid by what is predicted in their middle."""
    colors = require("matplotlib.colors", "plot", "Drawing a boundary")
    (left, bottom), (right, top) = window[0], window[2]
    x, y = (
        low + (np.arange(GRID) + 0.5) * (high - low) / GRID
        for low, high in ((left, right), (bottom, top))
    )
    Z = np.tile(row, (GRID * GRID, 1))
    Z[:, pair[0]], Z[:, pair[1]] = np.tile(x, GRID), np.repeat(y, GRID)
    if isinstance(paint, Palette):
        fills = colors.to_rgba_array([paler(colour) for colour in paint.colours])
        pixels = fills[model.predict_index(Z).reshape(GRID, GRID)]
    else:
        found = model.predict(Z).reshape(len(Z), -1)[:, 0]
        paint = replace(paint, low=float(found.min()), high=float(found.max()))
        places = (found - paint.low) / ((paint.high - paint.low) or 1.0)
        pixels = colour_map()(places.reshape(GRID, GRID))
    drawn = ax.imshow(
        pixels,
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=1,
    )
    drawn.set_gid("grid")
    return paint


def _label(
    ax: Any, subject: Subject, pair: tuple[int, int], window: FloatArray, font: Font
) -> None:
    lengths = size_of_axes(ax)
    show_window(ax, window)
    for axis, column, length in zip((ax.xaxis, ax.yaxis), pair, lengths, strict=True):
        write(axis.label, font.fit(subject.encoding.names[column], length, 9))
        axis.label.set_fontsize(9)


def _value(subject: Subject, column: int, value: float) -> str:
    """Write a value of a column: a number, or the level that it stands for."""
    if np.isnan(value):
        return "missing"
    known = subject.encoding.columns[column]
    if value in range(len(known.levels)):
        return written_levels(known)[int(value)]
    return "another level" if known.levels else minus(write_number(value, 4))


def _listed(name: str) -> str:
    """Write a name as it stands in a list: one with a comma would be two."""
    return written_name(name) if "," in name else name


def _caption(
    ax: Any, subject: Subject, held: list[int], row: FloatArray, named: list[int], font: Font
) -> None:
    """Say below the picture where the other features are held."""
    if not held:
        return
    shown = [k for k in held if k in named]
    if len(held) <= MAX_NAMED:
        shown = held
    parts = []
    for k in shown[: 2 * MAX_NAMED]:
        name = font.fit(_listed(subject.encoding.names[k]), 1.8, 7)
        parts.append(f"{name} = {font.fit(_value(subject, k, row[k]), 1.8, 7)},")
    coded = {bool(subject.encoding.columns[k].levels) for k in held if k not in named}
    kinds = [("medians", False), ("most frequent levels", True)]
    middles = " or ".join(words for words, kind in kinds if kind in coded)
    rest = len(held) - len(parts)
    if rest:
        what = f"{rest} more" if parts else f"the {rest} other features"
        parts.append(f"{what} at their {middles}")
    else:
        parts[-1] = parts[-1][:-1] + ("" if named else f" ({middles})")
    note_below(ax, ["slice:", *parts], font, "slice")
