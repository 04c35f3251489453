"""`plot_subclasses`: how the clusters of a class differ from it, feature by feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import FloatArray, Int64Array
from obliqua.explain.subclasses import Subclasses, subclasses
from obliqua.plot._canvas import Font, axes_of, check_ax, note_below, size_of_axes, write
from obliqua.plot._nodes import Palette, minus
from obliqua.words.colours import INK, mix
from obliqua.words.phrases import written_share
from obliqua.words.subject import subject_of

# Purple and green are told apart by colour-blind readers, and are not those of the first classes.
LOW, HIGH, NOTHING = "#762a83", "#1b7837", "#ececec"
FULL = 3.0  # standard deviations at which a colour is full
PALEST = "#ffffff"
CELL = (0.5, 0.27)  # inches
LABEL, NAME = 2.6, 1.5  # inches for what stands at the left, and for the name of a feature
SIZE, SMALLEST = 8.0, 4.5  # points
GAP = 0.35  # between classes, in cells
STRIP = (-0.82, 0.16)  # where the colour of the class stands at the left of a row


def plot_subclasses(
    model: Any,
    X: Any,
    y: Any,
    *,
    max_features: int = 20,
    ax: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
) -> Any:
    """Draw how the rows of each leaf differ from all rows of their class.

    A line per leaf, grouped by class, the largest cluster of each class first; a cell per
    feature, with the difference of means in standard deviations of the class. What is
    far from its class in several features may be a subclass.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a model or a tree.
    X : array-like of shape (n_rows, n_features)
        The rows, those of the training or others.
    y : array-like of shape (n_rows,)
        Their labels. For a tree about two classes, rows of others are left out.
    max_features : int, default=20
        How many features to show at most: those that differ most in a leaf, in the order of the
        columns.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The cells of leaf 3 have the gid ``leaf-3``.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    ValueError
        If there are not as many labels as rows, a label is none of the classes, or
        `max_features` is not a number of at least 1.

    See Also
    --------
    obliqua.explain.subclasses : The same figures as a table.

    Notes
    -----
    Only rows of the class that a leaf predicts are compared; the label says how many they are,
    which share of their class, and, if there are others in the leaf, which share of the leaf.
    Leaves that none of them reaches are left out. Colours are full at three standard deviations,
    and a cell is grey where all values are missing.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier, plot_subclasses
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> ax = plot_subclasses(CartClassifier(pruning=None).fit(X, y), X, y)
    >>> ax.get_yticklabels()[0].get_text()
    'class 0: 50 rows, 100 %'
    """
    check_ax(ax)
    if isinstance(max_features, bool) or not isinstance(max_features, int | np.integer):
        raise ValueError(f"max_features must be a whole number; got {max_features!r}.")
    if max_features < 1:
        raise ValueError(f"max_features must be at least 1; got {max_features}.")
    found = subclasses(
        model, X, y, feature_names=feature_names, class_names=class_names, tree=tree
    )
    palette = Palette.of(subject_of(model, feature_names, class_names, tree))
    lines = np.flatnonzero(found.n_rows > 0)
    columns = _furthest(found.difference[lines], int(max_features))
    places = _places(found.codes[lines])
    font = Font()
    height = float(places[-1] + 1 if len(places) else 1)
    size = (LABEL + CELL[0] * max(len(columns), 3), 1.3 + CELL[1] * max(height, 2.0))
    ax = axes_of(ax, size, "Drawing subclasses")
    _draw(ax, found, lines, columns, places, palette)
    _name_features(ax, found, columns, font)
    _name_lines(ax, found, lines, places, palette, font)
    _write_numbers(ax, found, lines, columns, places)
    hidden = len(found.features) - len(columns)
    _caption(ax, font, hidden, bool(np.isnan(found.difference[np.ix_(lines, columns)]).any()))
    return ax


def _furthest(difference: FloatArray, most: int) -> Int64Array:
    """Choose the features that differ most in some leaf; they stay in their order."""
    largest = np.nan_to_num(np.abs(difference)).max(axis=0, initial=0.0)
    return np.sort(np.argsort(-largest.round(9), kind="stable")[:most])


def _places(codes: Int64Array) -> FloatArray:
    """Return where each line stands, from the top: there is a gap between classes."""
    steps = np.ones(len(codes))
    steps[1:] += GAP * (np.diff(codes) != 0)
    return np.cumsum(steps) - 1.0


def _colour(difference: float) -> str:
    if difference != difference:
        return NOTHING
    strength = min(abs(difference) / FULL, 1.0)
    return mix(PALEST, LOW if difference < 0 else HIGH, strength)


def _draw(
    ax: Any,
    found: Subclasses,
    lines: Int64Array,
    columns: Int64Array,
    places: FloatArray,
    palette: Palette,
) -> None:
    collections = require("matplotlib.collections", "plot", "Drawing subclasses")
    patches = require("matplotlib.patches", "plot", "Drawing subclasses")
    for line, y in zip(lines.tolist(), places.tolist(), strict=True):
        corners = [
            [(x - 0.5, y - 0.5), (x + 0.5, y - 0.5), (x + 0.5, y + 0.5), (x - 0.5, y + 0.5)]
            for x in range(len(columns))
        ]
        cells = collections.PolyCollection(
            corners,
            facecolors=[_colour(value) for value in found.difference[line, columns].tolist()],
            edgecolors="#d0d0d0",
            linewidths=0.5,
            clip_on=False,
            zorder=2,
        )
        cells.set_gid(f"leaf-{found.leaves[line]}")
        ax.add_collection(cells, autolim=False)
        colour = palette.colours[int(found.codes[line])]
        strip = patches.Rectangle((STRIP[0], y - 0.42), STRIP[1], 0.84, facecolor=colour, zorder=2)
        strip.set_gid(f"class-{found.codes[line]}")
        ax.add_patch(strip)
    bottom = places[-1] + 0.5 if len(places) else 0.5
    ax.set(xlim=(STRIP[0], max(len(columns), 1) - 0.5), ylim=(bottom, -0.5))
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)


def _name_features(ax: Any, found: Subclasses, columns: Int64Array, font: Font) -> None:
    """Name the features above the cells."""
    names = [font.fit(found.features[k], NAME, SIZE) for k in columns.tolist()]
    widest = max((font.width(name, SIZE) for name in names), default=0.0)
    ax.xaxis.tick_top()
    ax.set_xticks(range(len(names)), names, fontsize=SIZE)
    for label, name in zip(ax.get_xticklabels(), names, strict=True):
        write(label, name)
        if widest > CELL[0]:
            label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")


def _name_lines(
    ax: Any, found: Subclasses, lines: Int64Array, places: FloatArray, palette: Palette, font: Font
) -> None:
    """Say at the left of each line what it is about."""
    texts = []
    for line in lines.tolist():
        rows, pure = int(found.n_rows[line]), float(found.purity[line])
        about = f": {rows:,} {'row' if rows == 1 else 'rows'}, {written_share(found.share[line])}"
        about += f" ({written_share(pure)})" if pure < 1.0 else ""
        space = LABEL - 0.3 - font.width(about, SIZE)
        texts.append(font.fit(palette.names[int(found.codes[line])], space, SIZE) + about)
    ax.set_yticks(places, texts, fontsize=SIZE)
    for label, text in zip(ax.get_yticklabels(), texts, strict=True):
        write(label, text)


def _write_numbers(
    ax: Any, found: Subclasses, lines: Int64Array, columns: Int64Array, places: FloatArray
) -> None:
    """Write the differences into the cells, if there is room for readable letters."""
    width, height = size_of_axes(ax)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    cell = (width / (right - left), height / (bottom - top))
    # A letter is about 0.6 of its size wide; "-12.3" has five.
    size = min(SIZE - 1.0, 72.0 * cell[0] / 3.4, 72.0 * cell[1] / 1.5)
    if size < SMALLEST:
        return
    for line, y in zip(lines.tolist(), places.tolist(), strict=True):
        for x, k in enumerate(columns.tolist()):
            value = float(found.difference[line, k])
            if value != value or abs(value) < 0.05:
                continue
            digits = 1 if abs(value) < 9.95 else 0
            dark = min(abs(value) / FULL, 1.0) > 0.75
            ax.text(
                x,
                y,
                minus(f"{value:+.{digits}f}"),
                ha="center",
                va="center",
                fontsize=size,
                color="white" if dark else INK,
                zorder=3,
            )


def _caption(ax: Any, font: Font, hidden: int, gaps: bool) -> None:
    text = (
        "means of the leaf's rows of its class, less those of the whole class, in its standard "
        "deviations; at the left: rows, share of the class (share of the leaf)"
    )
    if gaps:
        text += "; grey: all missing"
    if hidden:
        text += f"; {hidden} more {'column differs' if hidden == 1 else 'columns differ'} less"
    note_below(ax, text.split(), font, "caption", left=True)
