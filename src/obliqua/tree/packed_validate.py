"""Whether the arrays of packed trees fit together. Compiled code that walks them relies on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from obliqua._typing import AnyArray, BoolArray, Int64Array
from obliqua.criteria import CRITERIA, NUMBER_CRITERIA
from obliqua.errors import TreeError
from obliqua.tree.layout import PACKED, PACKED_CLASSES, PACKED_NUMBERS, MissingSide

if TYPE_CHECKING:
    from obliqua.tree.packed import PackedTrees

__all__ = ["set_before", "validate_packed"]


def validate_packed(trees: PackedTrees) -> None:
    """Raise `TreeError` if the arrays of packed trees do not fit together."""
    _check_arrays(trees)
    _check_pointers(trees)
    _check_nodes(trees)
    _check_splits(trees)
    _check_terms(trees)
    _check_leaves(trees)


def _refuse(bad: BoolArray, sentence: str) -> None:
    """Raise if something is bad; the sentence may name the first place where it is."""
    if bad.any():
        raise TreeError(sentence.format(int(np.argmax(bad))))


def _check_arrays(trees: PackedTrees) -> None:
    """Look at what is there: types, dimensions and lengths."""
    if trees.n_features < 1 or trees.n_classes < 0:
        raise TreeError(
            f"Packed trees have columns and classes, or numbers; got {trees.n_features} columns "
            f"and {trees.n_classes} classes."
        )
    known = CRITERIA if trees.n_classes else NUMBER_CRITERIA
    if trees.criterion not in known:
        raise TreeError(f"The criterion of packed trees is not known: {trees.criterion!r:.60}.")
    others = PACKED_NUMBERS if trees.n_classes else PACKED_CLASSES
    for name, dtype in PACKED.items():
        array = getattr(trees, name)
        if (array is None) != (name in others):
            there = "is missing" if array is None else "has no place in them"
            raise TreeError(f"The array {name!r} of packed trees {there}.")
        if array is None:
            continue
        ndim = 2 if name in ("leaf_mean", "level") else 1
        if array.dtype != dtype or array.ndim != ndim or not array.flags.c_contiguous:
            raise TreeError(
                f"The array {name!r} of packed trees must be of type {dtype}, contiguous and of "
                f"{ndim} dimensions; got {array.dtype} and {array.ndim}."
            )
    n_trees, n_planes = len(trees.node_ptr) - 1, len(trees.missing_side)
    n_nodes, n_terms, n_leaves = len(trees.child), len(trees.coef), len(trees.leaf_rows)
    if n_trees < 1:
        raise TreeError("There must be at least one tree; got none.")
    expected = {
        "plane_ptr": n_trees + 1, "leaf_ptr": n_trees + 1,
        "column": n_nodes, "threshold": n_nodes, "term_ptr": n_planes + 1,
        "term_column": n_terms, "spread": n_terms, "stand_in": trees.n_features,
        "level_ptr": trees.n_features + 1, "level": n_trees, "leaf_weight": n_leaves,
    }  # fmt: skip
    if trees.n_classes:
        assert trees.entry_weight is not None
        expected |= {"entry_ptr": n_leaves + 1, "entry_class": len(trees.entry_weight)}
    else:
        expected |= {"leaf_mean": n_leaves, "leaf_rest": n_leaves}
    for name, length in expected.items():
        got = len(getattr(trees, name))
        if got != length:
            raise TreeError(
                f"The array {name!r} of {n_trees} packed trees with {n_nodes} nodes, {n_planes} "
                f"planes, {n_terms} terms and {n_leaves} leaves must have {length} entries; got "
                f"{got}."
            )


def _check_pointers(trees: PackedTrees) -> None:
    """Look at where things begin: from 0 on without falling, and rising where each has some."""
    ends = {
        "node_ptr": (len(trees.child), 1),
        "plane_ptr": (len(trees.missing_side), 0),
        "leaf_ptr": (len(trees.leaf_rows), 1),
        "term_ptr": (len(trees.coef), 1),
        "level_ptr": (trees.level.shape[1], 0),
    }
    if trees.entry_class is not None:
        ends["entry_ptr"] = (len(trees.entry_class), 1)
    for name, (end, least) in ends.items():
        ptr: AnyArray = getattr(trees, name)
        # Compared, not subtracted: differences of numbers of 64 bits can be of any sign.
        falls = (ptr[1:] < ptr[:-1]) if least == 0 else (ptr[1:] <= ptr[:-1])
        if ptr[0] != 0 or ptr[-1] != end or falls.any():
            raise TreeError(
                f"The array {name!r} of packed trees must rise from 0 to {end}, by at least "
                f"{least} each time; got one from {ptr[0]} to {ptr[-1]}."
            )


def set_before(flags: BoolArray, start: AnyArray) -> Int64Array:
    """Return how many flags were set before each place; `start`: where its tree begins."""
    before: Int64Array = np.cumsum(flags) - flags
    return before - before[start]


def _check_nodes(trees: PackedTrees) -> None:
    """Look at children: level order, without gaps, and leaves in the order of nodes."""
    sizes = np.diff(trees.node_ptr)
    start = np.repeat(trees.node_ptr[:-1], sizes)
    place = np.arange(len(start)) - start
    inner = trees.child >= 0
    n_inner = np.add.reduceat(inner, trees.node_ptr[:-1], dtype=np.int64)
    _refuse(
        (2 * n_inner + 1 != sizes) | (n_inner + 1 != np.diff(trees.leaf_ptr)),
        "Tree {} must have one leaf more than splits, as many as `leaf_ptr` says.",
    )
    before = set_before(inner, start)
    expected = np.where(inner, 1 + 2 * before, -1 - (place - before))
    # A split whose children do not come after it would be its own ancestor.
    _refuse(
        (trees.child != expected) | (inner & (expected <= place)),
        "The nodes of a packed tree stand in level order, so `child` must count children and "
        "leaves in the order of nodes; node {} of all trees does not.",
    )


def _check_splits(trees: PackedTrees) -> None:
    """Look at columns and planes: in range, and planes in the order of nodes."""
    column, inner = trees.column, trees.child >= 0
    start = np.repeat(trees.node_ptr[:-1], np.diff(trees.node_ptr))
    slanted = column < 0
    _refuse(
        (column >= trees.n_features) | (~inner & (column != 0)),
        f"Node {{}} of all trees uses none of {trees.n_features} columns, or is a leaf with one.",
    )
    n_planes = np.add.reduceat(slanted, trees.node_ptr[:-1], dtype=np.int64)
    _refuse(
        n_planes != np.diff(trees.plane_ptr),
        "Tree {} does not have as many planes as `plane_ptr` says.",
    )
    _refuse(
        slanted & (column != -1 - set_before(slanted, start)),
        "The planes of a packed tree stand in the order of its nodes; that of node {} of all "
        "trees does not.",
    )
    _refuse(
        ~np.isfinite(trees.threshold) | (~inner & (trees.threshold != 0)),
        "The threshold of a node must be finite, and that of a leaf 0; that of node {} of all "
        "trees is not.",
    )
    _refuse(
        trees.missing_side > max(MissingSide),
        "A side for missing values must be 0 (none), 1 (left) or 2 (right); that of plane {} is "
        "not.",
    )


def _check_terms(trees: PackedTrees) -> None:
    """Look at coefficients, what stands in for missing values, and numbers of levels."""
    column, p = trees.term_column, trees.n_features
    _refuse((column < 0) | (column >= p), f"Term {{}} uses none of {p} columns.")
    plane = np.repeat(np.arange(len(trees.missing_side)), np.diff(trees.term_ptr))
    key = np.sort(plane * p + column)
    same = key[1:] == key[:-1]
    if same.any():
        where, twice = divmod(int(key[np.argmax(same)]), p)
        raise TreeError(f"Plane {where} uses column {twice} twice. Add the coefficients.")
    for name in ("coef", "level", "stand_in"):
        _refuse(
            ~np.isfinite(getattr(trees, name)).ravel(),
            f"The array {name!r} of packed trees must be finite; entry {{}} is not.",
        )
    _refuse(
        (trees.spread < 0) | np.isinf(trees.spread),
        "A standard deviation is not negative, and finite or NaN; that of term {} is not.",
    )


def _check_leaves(trees: PackedTrees) -> None:
    """Look at what leaves hold: rows, weights, and classes in their order or means."""
    _refuse(trees.leaf_rows < 0, "Leaf {} of all trees has less than no rows.")
    weight = trees.leaf_weight
    _refuse(
        ~(np.isfinite(weight) & (weight > 0)),
        "The weight of a leaf must be positive and finite; that of leaf {} of all trees is not.",
    )
    if trees.leaf_mean is not None:
        assert trees.leaf_rest is not None
        if trees.leaf_mean.shape[1] == 0:
            raise TreeError("Packed trees of numbers have at least one output; got none.")
        _refuse(
            ~(np.isfinite(trees.leaf_mean).all(axis=1) & np.isfinite(trees.leaf_rest)),
            "Means and sums of squares must be finite; those of leaf {} of all trees are not.",
        )
        _refuse(trees.leaf_rest < 0, "The sum of squares of leaf {} of all trees is below 0.")
        return
    assert trees.entry_ptr is not None and trees.entry_class is not None
    assert trees.entry_weight is not None
    entry, share = trees.entry_class, trees.entry_weight
    _refuse(
        (entry < 0) | (entry >= trees.n_classes),
        f"The classes of leaves are 0 to {trees.n_classes - 1}; entry {{}} is none of them.",
    )
    first = np.zeros(len(entry), dtype=bool)
    first[trees.entry_ptr[:-1]] = True
    _refuse(
        np.concatenate([[False], entry[1:] <= entry[:-1]]) & ~first,
        "The classes of a leaf must ascend; at entry {} they do not.",
    )
    _refuse(
        ~(np.isfinite(share) & (share > 0)),
        "The weight of a class in a leaf must be positive and finite; entry {} is not.",
    )
    with np.errstate(over="ignore"):
        total = np.add.reduceat(share, trees.entry_ptr[:-1])
    _refuse(
        ~np.isclose(total, weight, rtol=1e-9, atol=0.0),
        "The weights of the classes of leaf {} of all trees do not add up to its weight.",
    )
