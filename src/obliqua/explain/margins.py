"""How far rows are from the splits on their way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.explain._planes import lengths_of, numbers_of, plane_parts, require_kinds, units_of
from obliqua.tree.tree import Tree
from obliqua.words.subject import goes_aside, read_values, subject_of

__all__ = ["Margins", "margins"]

NO_NODE = -1


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """How far rows are from the splits on their way; what `margins` returns.

    The splits on the way of row ``i`` are the entries ``start[i]:start[i + 1]`` of the arrays
    `node`, `value`, `distance`, `scaled` and `lead`, from the root downwards. The first three
    numbers are signed: at most 0 if the row goes left, above 0 if it goes right.

    Parameters
    ----------
    start : ndarray of int64, of shape (n_rows + 1,)
        Where the splits of each row start.
    node : ndarray of int64, of shape (n_entries,)
        The node.
    value : ndarray of shape (n_entries,)
        The row's value along the node's normal, minus the threshold. Levels count what the node
        gives them, and missing values what stands in for them there; a row that goes to a side
        because it misses something is put on that side of the threshold.
    distance : ndarray of shape (n_entries,)
        The Euclidean distance, ``value / |normal|``, of features divided by `scale`, when levels
        and missing values stay what they are. Infinite at a normal of zeros, and where no
        number of the row has a part in the split, as where what is missing decides.
    scaled : ndarray of shape (n_entries,)
        The distance when each feature is divided by its standard deviation among the node's
        training rows instead. NaN where one of these is not known, as in a tree by
        hand; infinite if all of them are 0.
    lead : ndarray of shape (n_entries,)
        The margin in units of the node's leading number (the one that moves rows most):
        how far the row's value of it is above the one at which the row, otherwise unchanged,
        would lie on the plane; negative if it is below. NaN if it is missing in the row.
    scale : ndarray of shape (n_features,)
        What the features are divided by.
    smallest : ndarray of shape (n_rows,)
        The smallest distance of each row; infinite for a row without splits on its way.
    nearest : ndarray of int64, of shape (n_rows,)
        The node where it is, the first one at ties; -1 if there is none.
    leaf : ndarray of int64, of shape (n_rows,)
        The leaf that each row reaches.
    tree : Tree
        The tree.
    rows : ndarray of shape (n_rows, n_features)
        The rows.
    """

    start: Int64Array
    node: Int64Array
    value: FloatArray
    distance: FloatArray
    scaled: FloatArray
    lead: FloatArray
    scale: FloatArray
    smallest: FloatArray
    nearest: Int64Array
    leaf: Int64Array
    tree: Tree
    rows: AnyArray

    def closest(self) -> FloatArray:
        """Return the closest point to each row on the plane of its smallest margin.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The points, up to rounding. A row without a finite margin stays where it is. The
            difference to the rows is the smallest change that brings them to the plane; codes of
            levels and missing values are not changed.
        """
        tree = self.tree
        points = self.rows.astype(np.float64)
        near = np.flatnonzero(np.isfinite(self.smallest))
        order = near[np.argsort(self.nearest[near], kind="stable")]
        nodes, first = np.unique(self.nearest[order], return_index=True)
        groups = np.split(order, first[1:])
        for node, rows in zip(nodes.tolist(), groups[: len(nodes)], strict=True):
            plane = int(tree.plane_ptr[node])
            idx, coef, _, threshold = plane_parts(tree, plane)
            free = numbers_of(tree, plane)
            idx, unit = idx[free], (coef * self.scale[idx])[free]
            used = ~np.isnan(points[np.ix_(rows, idx)])
            length = lengths_of(unit, used)
            away = (read_values(tree, plane, points[rows]) - threshold) / length
            step = np.where(used, unit, 0.0) / length[:, None] * self.scale[idx]
            points[np.ix_(rows, idx)] -= away[:, None] * step
        return points

    def __len__(self) -> int:
        return len(self.smallest)

    def __repr__(self) -> str:
        return f"Margins({len(self)} rows, {len(self.node)} splits on their way)"


def margins(
    model: Any, X: Any, *, scale: ArrayLike | None = None, tree: int | None = None
) -> Margins:
    """Measure how far rows are from the splits on their way.

    Parameters
    ----------
    model : estimator, Model or Tree
        What the rows walk.
    X : array-like of shape (n_rows, n_features)
        The rows.
    scale : array-like of shape (n_features,), default=None
        What counts as one unit of each feature in a distance, ``X.std(axis=0)`` for instance;
        1 if not given. Without it the feature with the smallest numbers decides which plane is
        near. A pandas Series is read by the names in its index, in any order; qualitative
        features may be absent there, and need a 1 in an array.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    Margins
        The margins, with the smallest of each row and the node where it is.

    Raises
    ------
    TreeError
        If a node is no hyperplane.
    ValueError
        If a scale is not positive, or if a Series has other names than the features.

    Notes
    -----
    The smallest distance is exactly how far a row is from leaving its leaf. The rows of a leaf
    are those on the right side of all splits on the way, and a row leaves them as soon as it
    crosses one of these planes; the way to a plane is shortest along its normal, and so the
    shortest way out is that to the nearest plane. It ends on the plane itself for a row that
    went right there, and just beyond it for one that went left, for the plane belongs to the
    left.

    For changing the prediction it is a lower bound, no more: the leaf on the other side may
    have the same class.

    Only numbers change on this way. Levels have no distances, and what is missing has no place
    to start from, so both are held; a split on levels alone is infinitely far.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.explain import margins
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 3.0, 1: 4.0}, 10.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 0])
    >>> builder.set_leaf("high", [0, 4])
    >>> found = margins(builder.build(), [[0.0, 0.0], [4.0, 2.0]])
    >>> found.smallest
    array([2., 2.])
    >>> found.value
    array([-10.,  10.])
    >>> found.closest()
    array([[1.2, 1.6],
           [2.8, 0.4]])
    """
    subject = subject_of(model, tree=tree)
    walked = subject.tree
    require_kinds(walked, np.flatnonzero(~walked.is_leaf), "a margin")
    columns = subject.encoding.columns
    without_unit = [column.name for column in columns if column.kind == "qualitative"]
    units = units_of(scale, subject.encoding.names, without_unit)
    Z = subject.rows(X)
    start, node, leaf = _ways(walked, Z)
    value, distance, scaled, lead = _measured(walked, Z, start, node, units)
    smallest, nearest = _smallest(start, node, np.abs(distance))
    return Margins(
        start, node, value, distance, scaled, lead, units, smallest, nearest, leaf, walked, Z
    )


def _ways(tree: Tree, Z: AnyArray) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return where each row's splits start, the splits, and each row's leaf."""
    path = tree.decision_path(Z)
    end = path.indptr[1:].astype(np.int64) - 1
    leaf = path.indices[end].astype(np.int64)
    inner = np.ones(len(path.indices), dtype=bool)
    inner[end] = False
    start = path.indptr.astype(np.int64) - np.arange(len(path.indptr))
    return start, path.indices[inner].astype(np.int64), leaf


def _measured(
    tree: Tree, Z: AnyArray, start: Int64Array, node: Int64Array, units: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Measure all entries, node by node."""
    row = np.repeat(np.arange(len(Z)), np.diff(start))
    order = np.argsort(node, kind="stable")
    bounds = np.searchsorted(node[order], np.arange(tree.n_nodes + 1))
    value, lead, length, scaled = (np.empty(len(node)) for _ in range(4))
    for split in np.flatnonzero(np.diff(bounds)).tolist():
        at = order[bounds[split] : bounds[split + 1]]
        plane = int(tree.plane_ptr[split])
        here = Z[row[at]]
        value[at] = read_values(tree, plane, here) - tree.threshold[plane]
        free = numbers_of(tree, plane)
        idx, coef, spread = (part[free] for part in plane_parts(tree, plane)[:3])
        used = ~np.isnan(here[:, idx])
        length[at] = lengths_of(coef * units[idx], used)
        with np.errstate(over="ignore"):
            effect: FloatArray = np.asarray(coef * spread, dtype=np.float64)
        known = not np.isnan(effect).any()
        scaled[at] = lengths_of(effect, used) if known else np.nan
        first = np.argmax(np.abs(effect if known else coef)) if len(coef) else 0
        lead[at] = np.where(used[:, first], coef[first], np.nan) if len(coef) else 0.0
        # Nothing that is known of such a row takes it to the other side.
        aside = at[goes_aside(tree, plane, here)]
        length[aside], lead[aside] = 0.0, np.nan
        scaled[aside] = 0.0 if known else np.nan
    return value, _ratio(value, length), _ratio(value, scaled), _ratio(value, lead)


def _ratio(value: FloatArray, size: FloatArray) -> FloatArray:
    """Divide; where nothing moves a row, the plane is infinitely far on the row's side."""
    far = np.where(value > 0, np.inf, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.divide(value, size, out=far, where=size != 0)


def _smallest(
    start: Int64Array, node: Int64Array, sizes: FloatArray
) -> tuple[FloatArray, Int64Array]:
    """Return each row's smallest size and the node where it is."""
    n_rows = len(start) - 1
    smallest = np.full(n_rows, np.inf)
    nearest = np.full(n_rows, NO_NODE, dtype=np.int64)
    some = np.flatnonzero(np.diff(start))
    if len(some):
        smallest[some] = np.minimum.reduceat(sizes, start[some])
        row = np.repeat(np.arange(n_rows), np.diff(start))
        least = np.flatnonzero(sizes == smallest[row])
        # Written from the last to the first, so that the first one stays.
        nearest[row[least[::-1]]] = node[least[::-1]]
    return smallest, nearest
