"""The arrays of packed trees as files have them: no number that follows from others.

Nodes stand in level order, so which of them are leaves says where children are; counts say where
things begin, and pack better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, Int64Array
from obliqua.errors import TreeError
from obliqua.tree.layout import PACKED, PACKED_CLASSES, PACKED_NUMBERS, pointers
from obliqua.tree.packed import PackedTrees
from obliqua.tree.packed_validate import set_before

__all__ = ["PARTS", "packed_parts", "parts_packed"]

# What a file has in the place of an array, and what follows from others.
_WRITTEN = {
    "node_ptr": "n_nodes",
    "child": "is_leaf",
    "term_ptr": "n_terms",
    "level_ptr": "n_levels",
    "entry_ptr": "n_entries",
}
_FOLLOWS = ("plane_ptr", "leaf_ptr")

#: What a file has, with its types.
PARTS = {
    _WRITTEN.get(name, name): np.dtype(np.uint8) if name == "child" else dtype
    for name, dtype in PACKED.items()
    if name not in _FOLLOWS
}
# What packed trees have as files have it. Columns and thresholds files have of splits only.
_AS_THEY_ARE = [name for name in PARTS if name in PACKED and name not in ("column", "threshold")]


def names_of(classes: bool) -> list[str]:
    """Return which arrays a file has whose trees say classes, or numbers."""
    absent = PACKED_NUMBERS if classes else [_WRITTEN.get(name, name) for name in PACKED_CLASSES]
    return [name for name in PARTS if name not in absent]


def packed_parts(trees: PackedTrees) -> dict[str, AnyArray]:
    """Return the arrays of a file."""
    leaf = trees.child < 0
    made: dict[str, AnyArray] = {
        "n_nodes": np.diff(trees.node_ptr),
        "is_leaf": leaf.astype(np.uint8),
        "column": np.maximum(trees.column[~leaf], -1),
        "threshold": trees.threshold[~leaf],
        "n_terms": np.diff(trees.term_ptr),
        "n_levels": np.diff(trees.level_ptr),
    }
    if trees.entry_ptr is not None:
        made["n_entries"] = np.diff(trees.entry_ptr)
    names = names_of(trees.n_classes > 0)
    return {name: made[name] if name in made else getattr(trees, name) for name in names}


def parts_packed(
    parts: Mapping[str, AnyArray], n_features: int, n_classes: int, criterion: str
) -> PackedTrees:
    """Turn back what `packed_parts` has returned; raise if it makes no sense."""
    is_leaf, node_ptr = parts["is_leaf"], _pointers(parts, "n_nodes", "is_leaf")
    if (is_leaf > 1).any() or (np.diff(node_ptr) < 1).any():
        raise TreeError("A tree has nodes, each of which is a leaf (1) or not (0).")
    inner = is_leaf == 0
    for name in ("column", "threshold"):
        if len(parts[name]) != int(inner.sum()):
            raise TreeError(f"There must be an entry of {name!r} for each split.")
    start = np.repeat(node_ptr[:-1], np.diff(node_ptr))
    n_before, n_leaves_before = set_before(inner, start), set_before(~inner, start)
    column = np.zeros(len(inner), dtype=np.int32)
    column[inner] = parts["column"]
    if (column < -1).any():
        raise TreeError("A column is a number from 0 on, or -1 for a plane.")
    slanted = column < 0
    column[slanted] = -1 - set_before(slanted, start)[slanted]
    threshold = np.zeros(len(inner))
    threshold[inner] = parts["threshold"]
    classes = n_classes > 0
    others: dict[str, Any] = {name: parts.get(name) for name in _AS_THEY_ARE}
    found = PackedTrees(
        n_features=n_features,
        n_classes=n_classes,
        node_ptr=node_ptr,
        plane_ptr=_counted(slanted, node_ptr),
        leaf_ptr=_counted(~inner, node_ptr),
        child=np.where(inner, 1 + 2 * n_before, -1 - n_leaves_before).astype(np.int32),
        column=column,
        threshold=threshold,
        term_ptr=_pointers(parts, "n_terms", "coef"),
        level_ptr=pointers(_levels(parts)),
        entry_ptr=_pointers(parts, "n_entries", "entry_class") if classes else None,
        criterion=criterion,
        **others,
    )
    found.validate()
    return found


def _pointers(parts: Mapping[str, AnyArray], counts: str, counted: str) -> Int64Array:
    """Return where things begin of which there are so many."""
    number, length = parts[counts], len(parts[counted])
    # Each alone, and then together: sums of numbers of 64 bits may come round to the right one.
    if ((number < 0) | (number > length)).any() or number.astype(object).sum() != length:
        raise TreeError(f"The numbers in {counts!r} must add up to the length of {counted!r}.")
    return pointers(number)


def _levels(parts: Mapping[str, AnyArray]) -> Int64Array:
    """Return how many levels each column has: in all, as many as there are numbers in a tree."""
    number, level = parts["n_levels"], parts["level"]
    wide = level.shape[1] if level.ndim == 2 else -1
    if ((number < 0) | (number > wide)).any() or number.astype(object).sum() != wide:
        raise TreeError("Each tree must have a number for each level.")
    return np.asarray(number)


def _counted(flags: BoolArray, ptr: Int64Array) -> Int64Array:
    """Return where things begin of which each tree has as many as flags are set."""
    return np.concatenate([[0], np.cumsum(flags)])[ptr].astype(np.int64)
