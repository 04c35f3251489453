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
from obliqua.tree.layout import pointers
from obliqua.tree.packed import PackedTrees
from obliqua.tree.packed_validate import set_before

__all__ = ["PARTS", "packed_parts", "parts_packed"]

#: What a file has, with its types.
PARTS = {
    name: np.dtype(dtype)
    for name, dtype in {
        "n_nodes": np.int64,  # of each tree
        "is_leaf": np.uint8,  # of each node
        "column": np.int32,  # of each split; -1 for a plane
        "threshold": np.float64,
        "n_terms": np.int64,  # of each plane
        "missing_side": np.uint8,
        "term_column": np.int32,  # of each term
        "coef": np.float64,
        "spread": np.float64,
        "stand_in": np.float64,  # of each column
        "n_levels": np.int64,  # with one for what is missing; 0: a column of numbers
        "level": np.float64,  # of each tree and level
        "leaf_rows": np.int32,  # of each leaf
        "leaf_weight": np.float64,
        "n_entries": np.int64,
        "entry_class": np.int32,  # of each class in a leaf
        "entry_weight": np.float64,
        "leaf_mean": np.float64,  # of each leaf, instead of its classes
        "leaf_rest": np.float64,
    }.items()
}
_OF_CLASSES = ("n_entries", "entry_class", "entry_weight")
_OF_NUMBERS = ("leaf_mean", "leaf_rest")
# What packed trees have as files have it.
_AS_THEY_ARE = (
    "missing_side", "term_column", "coef", "spread", "stand_in", "level", "leaf_rows",
    "leaf_weight", "entry_class", "entry_weight", *_OF_NUMBERS,
)  # fmt: skip


def names_of(classes: bool) -> list[str]:
    """Return which arrays a file has whose trees say classes, or numbers."""
    others = _OF_NUMBERS if classes else _OF_CLASSES
    return [name for name in PARTS if name not in others]


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
