"""The layout of a tree's arrays, and the one implementation of its numbering.

A tree is a set of arrays with one entry per node, per plane, per coefficient or per entry of a
level table::

    node i      -> planes       plane_ptr[i] : plane_ptr[i + 1]
    plane q     -> coefficients coef_ptr[q]  : coef_ptr[q + 1]
    coefficient -> level table  table_ptr[k] : table_ptr[k + 1]

Nodes stand in level order: the root, then its children, then theirs. Hence the children of
all inner nodes follow one another without gaps, and where they start is a running sum of how
many there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray, Int64Array
from obliqua.errors import TreeError


class NodeKind(IntEnum):
    """What a node asks.

    ``LEAF`` asks nothing. ``HYPERPLANE`` sends a row left if its value along a normal is at
    most a threshold. ``LEVELS`` has a branch for each set of levels of one qualitative column.
    ``MACHINE`` is a linear machine: the branch whose plane gives the largest value wins.
    """

    LEAF = 0
    HYPERPLANE = 1
    LEVELS = 2
    MACHINE = 3


KIND_NAMES = {
    NodeKind.LEAF: "a leaf",
    NodeKind.HYPERPLANE: "a hyperplane",
    NodeKind.LEVELS: "a set of levels",
    NodeKind.MACHINE: "a linear machine",
}


class MissingSide(IntEnum):
    """Where a hyperplane sends a row with a missing value in one of its columns."""

    NONE = 0  # no side of its own: what stands in for the value decides
    LEFT = 1
    RIGHT = 2


# Every array of a tree with its type.
ARRAYS: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "kind": np.uint8,
        "first_child": np.int32,
        "n_children": np.int32,
        "plane_ptr": np.int32,
        "coef_ptr": np.int64,
        "coef_idx": np.int32,
        "coef": np.float64,
        "fill": np.float64,
        "spread": np.float64,
        "table_ptr": np.int64,
        "table": np.float64,
        "threshold": np.float64,
        "stats": np.float64,
        "n_samples": np.int64,
        "gain": np.float64,
        "axis_gain": np.float64,
        "origin": np.int32,
        "missing_side": np.uint8,
        "leaf_ptr": np.int64,
        "leaf_idx": np.int32,
        "leaf_coef": np.float64,
        "leaf_fill": np.float64,
        "leaf_table_ptr": np.int64,
        "leaf_table": np.float64,
        "leaf_intercept": np.float64,
        "leaf_low": np.float64,
        "leaf_high": np.float64,
        "leaf_spread": np.float64,
        "leaf_gain": np.float64,
        "relabelled": np.int32,
    }.items()
}

# What a tree has whose leaves say constants.
NO_LINES: dict[str, AnyArray] = {
    name: np.zeros(1 if name.endswith("_ptr") else 0, dtype=dtype)
    for name, dtype in ARRAYS.items()
    if name.startswith("leaf_")
}

# Arrays of linear functions with an entry for each node, and for each coefficient.
PER_LINE = ("leaf_intercept", "leaf_low", "leaf_high", "leaf_gain")
PER_LINE_TERM = ("leaf_idx", "leaf_coef", "leaf_fill", "leaf_spread")

# Every array of packed trees with its type, in the order of `PackedTrees`.
PACKED: dict[str, np.dtype[Any]] = {
    name: np.dtype(dtype)
    for name, dtype in {
        "node_ptr": np.int64,
        "plane_ptr": np.int64,
        "leaf_ptr": np.int64,
        "child": np.int32,
        "column": np.int32,
        "threshold": np.float64,
        "term_ptr": np.int64,
        "missing_side": np.uint8,
        "term_column": np.int32,
        "coef": np.float64,
        "spread": np.float64,
        "stand_in": np.float64,
        "level_ptr": np.int64,
        "level": np.float64,
        "leaf_rows": np.int32,
        "leaf_weight": np.float64,
        "entry_ptr": np.int64,
        "entry_class": np.int32,
        "entry_weight": np.float64,
        "leaf_mean": np.float64,
        "leaf_rest": np.float64,
    }.items()
}
# What only trees of classes have among them, and only trees of numbers.
PACKED_CLASSES = ("entry_ptr", "entry_class", "entry_weight")
PACKED_NUMBERS = ("leaf_mean", "leaf_rest")

# What a leaf has in the arrays that speak of splits.
NO_CHILD = -1
NO_ORIGIN = -1
# What is not known after a tree was changed by hand: rows, and gains are NaN.
UNKNOWN_ROWS = -1
#: What the origin of a node is called that was changed by hand.
EDITED = "edited by hand"
# Where the stats of a leaf decide which class it says.
NOT_RELABELLED = -1


def as_field(name: str, value: ArrayLike) -> AnyArray:
    """Return the value as a contiguous array of the field's type, without changing a number."""
    dtype = ARRAYS[name]
    try:
        array: AnyArray = np.asarray(value)
        if array.dtype != dtype:
            with np.errstate(invalid="ignore"):
                converted = array.astype(dtype)
            if not ((converted == array) | ((converted != converted) & (array != array))).all():
                raise ValueError("some numbers do not fit that type")
            array = converted
    except (TypeError, ValueError, OverflowError) as error:
        raise TreeError(
            f"The array {name!r} of a tree must be of type {dtype}: {error}."
        ) from error
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def pointers(counts: ArrayLike, dtype: Any = np.int64) -> AnyArray:
    """Return where each of several runs of these lengths starts, and the end of the last."""
    lengths = np.asarray(counts)
    ptr = np.zeros(len(lengths) + 1, dtype=dtype)
    np.cumsum(lengths, out=ptr[1:])
    return ptr


def lengths(ptr: AnyArray, which: Int64Array) -> AnyArray:
    """Return how long some of several runs are, without a look at the others."""
    ends = np.asarray(ptr)
    return np.asarray(ends[which + 1] - ends[which])


def ranges(starts: ArrayLike, counts: ArrayLike) -> Int64Array:
    """Return ``start, start + 1, ..., start + count - 1`` for every pair, one after another."""
    first = np.asarray(starts, dtype=np.int64)
    length = np.asarray(counts, dtype=np.int64)
    before = np.cumsum(length) - length
    return np.arange(int(length.sum()), dtype=np.int64) + np.repeat(first - before, length)


def child_lists(first_child: AnyArray, n_children: AnyArray) -> tuple[Int64Array, Int64Array]:
    """Return the children of all nodes as one list, and where each node's part of it is."""
    inner = np.asarray(n_children) > 0
    return pointers(n_children), ranges(first_child[inner], n_children[inner])


def level_order(
    child_ptr: AnyArray, children: AnyArray, root: int = 0, stop: AnyArray | None = None
) -> Int64Array:
    """Find the level order of nodes that are numbered in another way."""
    counts = np.diff(child_ptr)
    if stop is not None:
        counts = np.where(stop, 0, counts)
    level = np.array([root], dtype=np.int64)
    levels = []
    while len(level):
        levels.append(level)
        level = np.asarray(children[ranges(child_ptr[level], counts[level])], dtype=np.int64)
    return np.concatenate(levels)


def renumber(
    arrays: Mapping[str, Any], order: Int64Array, cut: AnyArray | None = None
) -> dict[str, Any]:
    """Take nodes out of a tree's arrays in a new order."""
    new = dict(arrays)
    for name in ("kind", "n_children", "stats", "n_samples", "gain", "axis_gain", "origin"):
        new[name] = np.asarray(arrays[name])[order]
    n_planes = lengths(arrays["plane_ptr"], order)
    if cut is not None:
        leaf = np.asarray(cut)[order]
        n_planes = np.where(leaf, 0, n_planes)
        for name, value in (
            ("kind", NodeKind.LEAF),
            ("n_children", 0),
            ("gain", 0.0),
            ("axis_gain", np.nan),
            ("origin", NO_ORIGIN),
        ):
            new[name][leaf] = value
    new["first_child"] = first_children(new["n_children"])
    new["plane_ptr"] = pointers(n_planes, np.int32)
    new |= take_planes(arrays, ranges(np.asarray(arrays["plane_ptr"])[order], n_planes))
    if len(arrays.get("relabelled", ())):
        new["relabelled"] = np.asarray(arrays["relabelled"])[order]
    if len(arrays.get("leaf_intercept", ())):
        new |= _renumber_lines(arrays, order)
    return new


def take_planes(arrays: Mapping[str, Any], planes: Int64Array) -> dict[str, Any]:
    """Take planes out of a tree's arrays, with their coefficients and level tables."""
    new: dict[str, Any] = {}
    n_coef = lengths(arrays["coef_ptr"], planes)
    coefficients = ranges(np.asarray(arrays["coef_ptr"])[planes], n_coef)
    n_entries = lengths(arrays["table_ptr"], coefficients)
    for name in ("threshold", "missing_side"):
        if name in arrays:
            new[name] = np.asarray(arrays[name])[planes]
    new["coef_ptr"] = pointers(n_coef)
    for name in ("coef_idx", "coef", "fill", "spread"):
        new[name] = np.asarray(arrays[name])[coefficients]
    new["table_ptr"] = pointers(n_entries)
    entries = ranges(np.asarray(arrays["table_ptr"])[coefficients], n_entries)
    new["table"] = np.asarray(arrays["table"])[entries]
    return new


def _renumber_lines(arrays: Mapping[str, Any], order: Int64Array) -> dict[str, Any]:
    """Take the linear functions of nodes in a new order."""
    new = {name: arrays[name][order] for name in PER_LINE}
    n_coef = lengths(arrays["leaf_ptr"], order)
    at = ranges(arrays["leaf_ptr"][order], n_coef)
    n_entries = lengths(arrays["leaf_table_ptr"], at)
    new |= {name: arrays[name][at] for name in PER_LINE_TERM}
    new["leaf_ptr"], new["leaf_table_ptr"] = pointers(n_coef), pointers(n_entries)
    new["leaf_table"] = arrays["leaf_table"][ranges(arrays["leaf_table_ptr"][at], n_entries)]
    return new


def first_children(n_children: AnyArray) -> AnyArray:
    """Return where the children of each node start, for nodes in level order."""
    counts = np.asarray(n_children, dtype=np.int64)
    return np.where(counts > 0, 1 + np.cumsum(counts) - counts, NO_CHILD).astype(np.int32)
