"""What the splits of a tree ask about a row, as columns of numbers with thresholds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.levels import asks_for_levels, level_sets
from obliqua.words.question import read_plane
from obliqua.words.subject import read_values

__all__ = ["Cuts", "MapColumn", "axis_cuts", "column_values", "is_plain", "planned"]

LARGEST = float(np.finfo(np.float64).max)
#: Thresholds further from 0 stand here.
FAR = 2.0**100
#: Values further from 0 stand here: scikit-learn adds up all of them, looking for infinity.
FURTHEST = np.float32(2.0**104)


class Cuts(NamedTuple):
    """What each node compares with which number: left if it is at most that."""

    column: Int64Array  # of each node, -1 for a leaf
    threshold: FloatArray
    swapped: BoolArray  # whether the smaller side is the node's right one


class MapColumn(NamedTuple):
    """One of the columns: a feature as it is, or what one node asks."""

    feature: int  # -1 if it is what a node asks
    node: int  # -1 if it is a feature
    cuts: FloatArray  # what it is compared with, in ascending order
    divisor: float = 1.0  # of the values along the normal of the node


def is_plain(tree: Tree) -> bool:
    """Say whether each split compares one number with a threshold."""
    return bool(_compares_one(tree)[~tree.is_leaf].all())


def _compares_one(tree: Tree) -> BoolArray:
    """Say which nodes are hyperplanes over one column of numbers."""
    one = np.diff(tree.coef_ptr) == 1
    first = tree.coef_ptr[:-1][one]
    one[one] = np.diff(tree.table_ptr)[first] == 0
    found = tree.kind == NodeKind.HYPERPLANE
    found[found] = one[tree.plane_ptr[:-1][found]]
    return found


def axis_cuts(tree: Tree) -> Cuts:
    """Read the splits that compare one number: for all numbers, which of them go left."""
    column = np.full(tree.n_nodes, -1, dtype=np.int64)
    threshold, swapped = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, dtype=bool)
    for node in np.flatnonzero(_compares_one(tree)).tolist():
        plane = int(tree.plane_ptr[node])
        k = int(tree.coef_ptr[plane])
        column[node] = tree.coef_idx[k]
        cut, other = _axis_cut(float(tree.coef[k]), float(tree.threshold[plane]))
        threshold[node], swapped[node] = cut, other
    return Cuts(column, threshold, swapped)


def _axis_cut(coef: float, threshold: float) -> tuple[float, bool]:
    """Return the largest x with coef * x <= threshold; with a negative coef, that without."""
    if coef == 1.0:
        return threshold, False
    swapped = coef < 0

    def small(x: float) -> bool:
        product = coef * x  # as the walk computes it
        return product > threshold if swapped else product <= threshold

    if small(LARGEST):
        return np.inf, swapped
    if not small(-LARGEST):  # scikit-learn, too, says "everything" with infinity
        return np.inf, not swapped
    # Floats have the order of their bits, so that halving finds the very last one.
    low, high = _place(-LARGEST), _place(LARGEST)
    while high - low > 1:
        middle = (low + high) // 2
        if small(_number(middle)):
            low = middle
        else:
            high = middle
    return _number(low), swapped


def _place(x: float) -> int:
    """Return the place of a float in the order of all floats; 0 for 0."""
    bits = int(np.float64(abs(x)).view(np.int64))
    return -bits if x < 0 else bits


def _number(place: int) -> float:
    size = float(np.int64(abs(place)).view(np.float64))
    return -size if place < 0 else size


def _floor_32(numbers: FloatArray) -> AnyArray:
    """Return the largest floats of 32 bits that are not above some numbers, none beyond `FAR`."""
    within = np.clip(numbers, -FAR, FAR)
    near = within.astype(np.float32)
    return np.where(near > within, np.nextafter(near, np.float32(-np.inf)), near)


def column_values(tree: Tree, asked: MapColumn, cuts: Cuts, Z: AnyArray) -> AnyArray:
    """Compute one column, rounded within the side of each threshold."""
    if asked.feature >= 0:
        exact = np.asarray(Z[:, asked.feature], dtype=np.float64)
        below = np.searchsorted(asked.cuts, exact, side="left")
    elif asks_for_levels(tree, asked.node):
        return _branches(tree, asked.node, Z)
    else:
        plane = int(tree.plane_ptr[asked.node])
        along = read_values(tree, plane, Z)
        with np.errstate(over="ignore"):
            exact = along / asked.divisor
        right = along > tree.threshold[plane]
        below = (right != cuts.swapped[asked.node]).astype(np.int64)
    floor = _floor_32(asked.cuts)
    lowest = np.append(-FURTHEST, np.nextafter(floor, np.float32(np.inf)))
    highest = np.append(floor, FURTHEST)
    with np.errstate(over="ignore"):
        near = exact.astype(np.float32)
    clipped = np.clip(near, lowest[below], highest[below])
    return np.where(np.isnan(exact), np.float32(np.nan), clipped)


def _branches(tree: Tree, node: int, Z: AnyArray) -> AnyArray:
    """Return the branch that rows take at a split by levels; NaN if a missing one has none."""
    sets = level_sets(tree, node)
    codes = np.asarray(Z[:, sets.column], dtype=np.float64)
    missing = np.isnan(codes)
    inside = ~missing & (codes >= 0) & (codes < len(sets.branch))
    known = np.array([*sets.branch, sets.others], dtype=np.float32)
    branch = known[np.where(inside, codes, len(sets.branch)).astype(np.int64)]
    return np.where(missing, np.float32(sets.missing if sets.missing >= 0 else np.nan), branch)


def planned(tree: Tree, encoding: Encoding) -> tuple[list[MapColumn], Cuts]:
    """Find the columns that a tree needs, and what each node compares of them."""
    cuts = axis_cuts(tree)
    columns: list[MapColumn] = []
    for feature in np.unique(cuts.column[cuts.column >= 0]).tolist():
        nodes = np.flatnonzero(cuts.column == feature)
        columns += _of_feature(feature, cuts.threshold[nodes])
    place = np.full(tree.n_nodes, -1, dtype=np.int64)
    for number, asked in enumerate(columns):
        here = (cuts.column == asked.feature) & np.isin(cuts.threshold, asked.cuts)
        place[here] = number
    for node in np.flatnonzero(~tree.is_leaf & (cuts.column < 0)).tolist():
        place[node] = len(columns)
        divisor, cut = 1.0, 0.5
        if not asks_for_levels(tree, node):
            question = read_plane(tree, int(tree.plane_ptr[node]), encoding)
            divisor, cut = question.divisor, question.threshold
        cuts.swapped[node], cuts.threshold[node] = divisor < 0, cut
        columns.append(MapColumn(-1, node, np.array([cut]), divisor))
    finite = np.isfinite(cuts.threshold)
    within = np.where(finite, np.clip(cuts.threshold, -FAR, FAR), cuts.threshold)
    return columns, Cuts(place, within, cuts.swapped)


def _of_feature(feature: int, thresholds: FloatArray) -> list[MapColumn]:
    """Share the thresholds of a feature out among columns, in each of which float32 parts them."""
    groups: list[list[float]] = []
    for cut in np.unique(thresholds).tolist():
        floor = float(_floor_32(np.array([cut]))[0])
        fits = (group for group in groups if _floor_32(np.array(group[-1:]))[0] < floor)
        group = next(fits, None)
        if group is None:
            groups.append([cut])
        else:
            group.append(cut)
    return [MapColumn(feature, -1, np.array(group)) for group in groups]
