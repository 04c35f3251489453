"""A number that tells models apart: edits are made for one, and for no other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.io.values import labels_to_json, to_json
from obliqua.tree.layout import ARRAYS, PACKED
from obliqua.tree.model import Model
from obliqua.words.subject import container_of

__all__ = ["fingerprint"]

# What readers alone look at: no answer depends on it.
_FOR_READERS = frozenset(
    {"spread", "gain", "axis_gain", "origin", "leaf_spread", "leaf_gain", "first_child"}
)


def fingerprint(model: Any) -> str:
    """Return a number that is the same for models that say the same in the same way.

    It is made of all that decides answers: columns, classes, how trees are combined, and the
    trees. Gains, spreads and the names of proposals are not among it.

    Parameters
    ----------
    model : estimator, Model or Tree
        The model. An estimator and its `model_` have the same number, also after they were saved
        and loaded, or written as JSON and read again.

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    TypeError
        If labels or levels are of a type that files do not hold.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.edit import fingerprint
    >>> builder = TreeBuilder(n_features=1, n_stats=2)
    >>> builder.set_leaf("root", [3, 1])
    >>> fingerprint(builder.build())[:8]
    '716c1cb1'
    """
    container, _ = container_of(model)
    total = hashlib.sha256(json.dumps(_said(container), sort_keys=True).encode("ascii"))
    for name, array in _arrays(container):
        total.update(f"{name} {array.shape}".encode("ascii"))
        total.update(_plain(array))
    return total.hexdigest()


def _said(model: Model) -> dict[str, Any]:
    """Return what decides answers beside arrays."""
    columns = [
        [column.name, column.kind, [to_json(level) for level in column.levels], column.others]
        for column in model.encoding.columns
    ]
    trees = [] if model._packed is not None else model.trees
    return {
        "columns": columns,
        "classes": labels_to_json(model.classes),
        "combine": model.combine,
        "trees": [[tree.task, tree.loss, [list(row) for row in tree.costs]] for tree in trees],
    }


def _arrays(model: Model) -> Iterator[tuple[str, AnyArray]]:
    """Go through the arrays that decide answers."""
    if model._packed is not None:
        for name in PACKED:
            array = getattr(model._packed, name)
            if name not in _FOR_READERS and array is not None:
                yield name, array
        return
    for tree in model.trees:
        for name in ARRAYS:
            if name not in _FOR_READERS:
                yield name, getattr(tree, name)


def _plain(array: AnyArray) -> bytes:
    """Return the bytes of an array, whatever the machine: one NaN, the least byte first."""
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), np.nan, array)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
