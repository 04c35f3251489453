"""`plot_projection`: rows along the first two directions of a tree, with its regions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.target import Numbers
from obliqua.plot._canvas import Font, axes_of, check_ax, note_below, size_of_axes, write
from obliqua.plot._nodes import Paint, Palette, Shades, factor_before, labels_of, paint_of
from obliqua.plot._regions import (
    clip,
    column_spreads,
    draw_region,
    draw_rows,
    draw_scale,
    faintness,
    point_size,
    qualitative_columns,
    region_colour,
    show_window,
    window_around,
)
from obliqua.plot._rows import Sample
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.colours import GREY, mix
from obliqua.words.question import read_plane
from obliqua.words.subject import Subject, read_values, subject_of

MAX_TERMS = 3  # of a direction that are named
RING = 5  # points that a ring covers as much as
# A normal is along two others if no more than this is left of it; normals have 24 bits.
APART = 1e-6


def plot_projection(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    directions: Any = None,
    ax: Any = None,
    feature_names: Sequence[Any] | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
) -> Any:
    """Draw rows along the first two directions in which a tree splits, with its regions.

    A split that depends on these two directions alone is a line in the picture, and it is so
    for all rows: nothing is held, and no slice is cut. Where other directions divide a region
    further, it is hatched. Where leaves say linear functions, a region has the colour of the mean
    of its training rows. Rows in it that the tree gives another class than that of the
    region's colour have a ring in the colour of that class.

    For `EigenTreeClassifier` these are the first two transformed features, so that the two upper
    levels of the tree are shown exactly. In other trees it depends on how much of them lies in
    one plane; a tree of two features always does.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a model or a tree.
    X : array-like of shape (n_rows, n_features)
        Rows; they say how far the picture reaches.
    y : array-like of shape (n_rows,), default=None
        Their labels, or numbers. Without them no rows are drawn. In the picture of a tree about
        two classes, rows of others are left out.
    directions : array-like of shape (2, n_features), default=None
        Two other directions, one per row. Qualitative features must have 0. By default the
        normal of the root, and of the next split below that is not parallel to it: the highest
        one, and there the one with most rows. If there is no such split, the direction in which
        the rows, each feature divided by its standard deviation, vary most beside the first.
    ax : matplotlib Axes, default=None
        Where to draw; without it, a figure is made.
    feature_names, class_names : sequence of str, default=None
        Names instead of those that the model knows; those of classes in the order of `classes_`,
        or of the outputs of a tree of numbers.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    matplotlib Axes
        What was drawn in. The region of node 3 has the gid ``node-3``, the rows of class 0 have
        ``class-0``, and the rings ``ring-0`` by the class that is predicted.

    Raises
    ------
    MissingDependency
        If matplotlib is not installed.
    ValueError
        If `directions` are no two different directions of numeric features, or there are no two.

    See Also
    --------
    plot_boundary : Regions over two features, others held.

    Notes
    -----
    Each axis is a sum of features in units of its leading one, which its label begins with. For a
    missing value stands what does so at the split, or the mean of the column in `X` where the
    direction is none of a split.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_breast_cancer
    >>> from obliqua import HHCartClassifier, plot_projection
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = HHCartClassifier(random_state=0).fit(X, y)
    >>> ax = plot_projection(model, X, y, class_names=["malignant", "benign"])
    """
    check_ax(ax)
    subject = subject_of(model, feature_names, class_names, tree)
    sample = Sample(subject, X, y)
    scale = Scale.of(sample.Z)
    axes = _axes(subject, sample.Z, directions, scale)
    points = np.column_stack([axis.values(sample.Z) for axis in axes])
    window = _window(points)
    cells = _cells(subject.tree, axes, window, scale)
    ax = axes_of(ax, (5.6, 4.6), "Drawing a projection")
    paint, font = paint_of(subject), Font()
    _draw_cells(ax, subject.tree, cells, paint)
    draw_rows(ax, points, sample, paint, font)
    n_rings = 0
    if sample.codes is not None and isinstance(paint, Palette):
        n_rings = _draw_rings(ax, subject.tree, sample.Z, points, cells, paint)
    if isinstance(paint, Shades):
        draw_scale(ax, paint, font)
    _label(ax, axes, window, font)
    _caption(ax, subject.tree, cells, n_rings, font)
    return ax


# --- directions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """What a unit of each column is among the rows, and where values are missing."""

    unit: FloatArray
    missing: BoolArray

    @classmethod
    def of(cls, Z: AnyArray) -> Scale:
        """Measure rows: the standard deviation, or the size of a column that does not vary."""
        spread = column_spreads(Z)
        size = np.abs(np.nan_to_num(np.asarray(Z, dtype=np.float64))).max(axis=0, initial=0.0)
        unit = np.where(spread > 0, spread, np.where(size > 0, size, 1.0))
        return cls(unit, np.asarray(np.isnan(Z).any(axis=0)))


@dataclass(frozen=True)
class Axis:
    """A direction: a plane of a tree, in units of its leading feature."""

    tree: Tree
    plane: int
    divisor: float
    terms: tuple[str, ...]

    def label(self, font: Font, width: float, size: float) -> str:
        """Write the sum on a line of a width in inches, with as many terms as it has room for."""
        for n in range(min(len(self.terms), MAX_TERMS), 0, -1):
            rest = len(self.terms) - n
            text = " ".join(self.terms[:n]) + (f" + ({rest} more)" if rest else "")
            if n == 1 or font.width(font.writable(text), size) <= width:
                break
        return font.fit(text, width, size)

    def values(self, Z: AnyArray) -> FloatArray:
        """Return where rows are; NaN if a value is missing for which nothing stands in."""
        with np.errstate(over="ignore", invalid="ignore"):
            return read_values(self.tree, self.plane, Z) / self.divisor


def _axis(subject: Subject, tree: Tree, plane: int) -> Axis:
    question = read_plane(tree, plane, subject.encoding)
    terms = [
        factor_before(question, term, k == 0) + term.name for k, term in enumerate(question.terms)
    ]
    return Axis(tree, plane, question.divisor, tuple(terms))


def _parts(tree: Tree, plane: int, scale: Scale) -> dict[tuple[int, int], float]:
    """Return by how much a unit of each column, each level, and what is missing move rows."""
    found: dict[tuple[int, int], float] = {}
    for k in range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])):
        column, coef = int(tree.coef_idx[k]), float(tree.coef[k])
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
        numbers = table.tolist() if len(table) else [float(scale.unit[column])]
        for level, number in enumerate(numbers):
            found[column, level] = found.get((column, level), 0.0) + coef * number
        if scale.missing[column]:
            found[column, -1] = found.get((column, -1), 0.0) + coef * float(tree.fill[k])
    return found


def _mixture(tree: Tree, plane: int, axes: Sequence[Axis], scale: Scale) -> FloatArray | None:
    """Return the shares of the axes of which a normal is made; None if it is not of them alone."""
    wanted = _parts(tree, plane, scale)
    known = [_parts(axis.tree, axis.plane, scale) for axis in axes]
    keys = sorted(set(wanted).union(*known))
    target = np.array([wanted.get(key, 0.0) for key in keys])
    basis = np.array([[part.get(key, 0.0) for key in keys] for part in known]).reshape(
        -1, len(keys)
    )
    if not (np.isfinite(basis).all() and np.isfinite(target).all()):
        return None
    # Both are divided by their largest entry, so that squares of huge ones can be formed.
    size, largest = np.abs(basis).max(axis=1, initial=0.0), np.abs(target).max(initial=0.0) or 1.0
    basis, target = basis / size[:, None], target / largest
    shares = np.linalg.lstsq(basis.T, target, rcond=None)[0]
    if np.linalg.norm(target - shares @ basis) > APART * np.linalg.norm(target):
        return None
    with np.errstate(over="ignore"):
        return np.asarray(shares * largest / size * [axis.divisor for axis in axes])


def _axes(subject: Subject, Z: AnyArray, directions: Any, scale: Scale) -> tuple[Axis, Axis]:
    if directions is not None:
        first, second = _given(subject, Z, directions)
        if _mixture(second.tree, second.plane, [first], scale) is not None:
            raise ValueError("directions must be two different directions; got parallel ones.")
        return first, second
    tree = subject.tree
    splits = np.flatnonzero(tree.kind == NodeKind.HYPERPLANE)
    order = splits[np.lexsort((splits, -tree.n_samples[splits], tree.node_depth[splits]))]
    found: list[Axis] = []
    for plane in tree.plane_ptr[order].tolist():
        idle = not tree.coef[tree.coef_ptr[plane] : tree.coef_ptr[plane + 1]].any()
        if not idle and _mixture(tree, plane, found, scale) is None:
            found.append(_axis(subject, tree, plane))
        if len(found) == 2:
            return found[0], found[1]
    while len(found) < 2:
        found.append(_widest(subject, Z, found))
    return found[0], found[1]


def _by_hand(subject: Subject, Z: AnyArray, direction: FloatArray) -> Axis:
    """Make an axis of a direction that is no split."""
    builder = TreeBuilder(n_features=len(direction), n_stats=1)
    fill = dict(enumerate(_means(Z).tolist()))
    fill = {column: mean for column, mean in fill.items() if direction[column] and mean == mean}
    builder.add_split("root", direction, 0.0, ("left", "right"), fill=fill)
    for leaf in ("left", "right"):
        builder.set_leaf(leaf, [1.0])
    made = builder.build()
    return _axis(subject, replace(made, spread=column_spreads(Z)[made.coef_idx]), 0)


def _means(Z: AnyArray) -> FloatArray:
    """Return the mean of what is there in each column; NaN if nothing is."""
    known = ~np.isnan(Z)
    count = known.sum(axis=0)
    shares = np.where(known, Z, 0.0) / np.maximum(count, 1)
    return np.where(count > 0, shares.sum(axis=0), np.nan)


def _given(subject: Subject, Z: AnyArray, directions: Any) -> tuple[Axis, Axis]:
    n = subject.encoding.n_columns
    wanted = f"directions must be two lines of {n} finite numbers, one per feature"
    try:
        rows = np.asarray(directions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{wanted}; got something else ({error}).") from error
    if rows.shape != (2, n):
        raise ValueError(f"{wanted}; got the shape {rows.shape}.")
    if not np.isfinite(rows).all():
        raise ValueError(f"{wanted}; got {rows[~np.isfinite(rows)][0]}.")
    if not rows.any(axis=1).all():
        raise ValueError(f"{wanted}, not all 0; got a line of zeros.")
    qualitative = qualitative_columns(subject, (subject.tree,))
    if rows[:, qualitative].any():
        names = [subject.encoding.names[k] for k in np.flatnonzero(qualitative)]
        raise ValueError(
            "directions must be 0 for qualitative features, whose levels have no place on a "
            f"line: {', '.join(map(repr, names))}."
        )
    return _by_hand(subject, Z, rows[0]), _by_hand(subject, Z, rows[1])


def _widest(subject: Subject, Z: AnyArray, found: list[Axis]) -> Axis:
    """Return the direction in which standardised rows vary most, beside those that are there."""
    spread = column_spreads(Z)
    plain = Scale(np.ones(Z.shape[1]), np.zeros(Z.shape[1], dtype=bool))
    places = np.flatnonzero(~qualitative_columns(subject, (subject.tree,)) & (spread > 0))
    scaled = Z[:, places].astype(np.float64) / spread[places]
    scaled = scaled[~np.isnan(scaled).any(axis=1)]
    if len(scaled) and len(places):
        scaled = scaled - scaled.mean(axis=0)
        for axis in found:
            parts = _parts(axis.tree, axis.plane, plain)
            taken = np.array([parts.get((int(k), 0), 0.0) for k in places]) * spread[places]
            if taken.any():
                taken = taken / np.abs(taken).max()  # squares of huge ones would be infinite
                scaled = scaled - np.outer(scaled @ taken, taken) / (taken @ taken)
        sizes, vectors = np.linalg.eigh(scaled.T @ scaled)
        if sizes[-1] > 1e-9 * len(scaled):
            direction = np.zeros(Z.shape[1])
            direction[places] = vectors[:, -1] / spread[places]
            return _by_hand(subject, Z, direction)
    raise ValueError(
        "A projection is drawn along two directions of numeric features, and this model has "
        f"{len(found)} in rows that vary. plot_tree shows every tree."
    )


# --- regions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlaneCell:
    """The part of the picture that reaches a node, and how many splits divide it further."""

    node: int
    corners: FloatArray
    n_splits: int


def _window(points: FloatArray) -> FloatArray:
    there = points[np.isfinite(points).all(axis=1)]
    if not len(there):
        raise ValueError("X has no row with a value along both directions, so nothing is drawn.")
    return window_around(there.min(axis=0).tolist(), there.max(axis=0).tolist())


def _cells(tree: Tree, axes: Sequence[Axis], window: FloatArray, scale: Scale) -> list[PlaneCell]:
    """Divide the window by all splits along the two directions, from the root on."""
    todo, done = [(0, window)], []
    while todo:
        node, corners = todo.pop()
        if len(corners) < 3:
            continue
        shares = None
        if tree.kind[node] == NodeKind.HYPERPLANE:
            shares = _mixture(tree, int(tree.plane_ptr[node]), axes, scale)
        if shares is None:
            done.append(PlaneCell(node, corners, _splits_of_use(tree, node)))
            continue
        threshold, first = float(tree.threshold[tree.plane_ptr[node]]), int(tree.first_child[node])
        if not shares.any():
            todo.append((first if threshold >= 0 else first + 1, corners))
            continue
        todo.append((first, clip(corners, shares, threshold)))
        todo.append((first + 1, clip(corners, -shares, -threshold)))
    return sorted(done, key=lambda cell: cell.node)


def _splits_of_use(tree: Tree, node: int) -> int:
    """Count the splits from a node on; none if all leaves below it say the same."""
    todo, n_splits, said = [node], 0, set()
    while todo:
        at = todo.pop()
        if tree.kind[at] == NodeKind.LEAF:
            said.add(_said(tree, at))
            continue
        n_splits += 1
        first = int(tree.first_child[at])
        todo += range(first, first + int(tree.n_children[at]))
    return n_splits if len(said) > 1 else 0


def _said(tree: Tree, leaf: int) -> Hashable:
    """Return what is equal for leaves that say the same; each function is one of its own."""
    if tree.task != Numbers.task:
        return int(tree.leaf_label[leaf])
    return leaf if tree.has_lines else tuple(tree.mean[leaf].tolist())


def _speaker(tree: Tree, cell: PlaneCell) -> int:
    """Return the node that gives a region its colour: one of its leaves, if they agree."""
    node = cell.node
    while not cell.n_splits and tree.kind[node] != NodeKind.LEAF:
        node = int(tree.first_child[node])
    return node


# --- drawing ------------------------------------------------------------------------------------


def _draw_cells(ax: Any, tree: Tree, cells: list[PlaneCell], paint: Paint) -> None:
    patches = require("matplotlib.patches", "plot", "Drawing a projection")
    for cell in cells:
        colour = region_colour(paint, tree, _speaker(tree, cell))
        draw_region(ax, cell.corners, colour, f"node-{cell.node}")
        if cell.n_splits:
            lines = patches.Polygon(
                cell.corners,
                closed=True,
                facecolor="none",
                edgecolor=mix(GREY, "#ffffff", 0.65),
                linewidth=0.0,
                hatch="///",
                zorder=1.5,
            )
            lines.set_gid(f"node-{cell.node}-divided")
            ax.add_patch(lines)


def _draw_rings(
    ax: Any, tree: Tree, Z: AnyArray, points: FloatArray, cells: list[PlaneCell], palette: Palette
) -> int:
    """Mark rows whose class is another than the colour they stand on; return their number."""
    way = tree.decision_path(Z)
    given = np.full(len(Z), -1)
    for cell in cells:
        given[way[:, [cell.node]].toarray()[:, 0] > 0] = labels_of(tree)[_speaker(tree, cell)]
    predicted: Int64Array = np.asarray(labels_of(tree)[tree.apply(Z)], dtype=np.int64)
    other = (given >= 0) & (given != predicted) & np.isfinite(points).all(axis=1)
    for c in np.unique(predicted[other]).tolist():
        rows = other & (predicted == c)
        drawn = ax.scatter(
            *points[rows].T,
            s=4.5 * point_size(len(points)),
            marker="o",
            facecolor="none",
            edgecolor=palette.colours[c],
            alpha=faintness(RING * int(other.sum())),
            linewidth=1.0,
            zorder=4,
        )
        drawn.set_gid(f"ring-{c}")
    return int(other.sum())


def _label(ax: Any, axes: Sequence[Axis], window: FloatArray, font: Font) -> None:
    show_window(ax, window)
    lengths = size_of_axes(ax)
    for axis, known, length in zip((ax.xaxis, ax.yaxis), axes, lengths, strict=True):
        write(axis.label, known.label(font, length, 9.0))
        axis.label.set_fontsize(9)


def _caption(ax: Any, tree: Tree, cells: list[PlaneCell], n_rings: int, font: Font) -> None:
    """Say below the picture what it does not show."""
    n_splits = sum(cell.n_splits for cell in cells)
    parts = ["colours: means of leaves,", "which say linear functions;"] if tree.has_lines else []
    if n_splits:
        what = "1 split" if n_splits == 1 else f"{n_splits} splits"
        parts += [f"hatched: divided further by {what}", "along other directions"]
    if not parts:
        return
    parts[-1] = parts[-1].removesuffix(";")
    if n_rings:
        parts[-1] += ";"
        parts += ["rings: rows to which these give", "another class, that of the ring's colour"]
    note_below(ax, parts, font, "caption")
