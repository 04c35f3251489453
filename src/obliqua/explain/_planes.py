"""What the facts share: which nodes they know, and their planes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree


def require_kinds(
    tree: Tree, nodes: Int64Array, fact: str, kinds: tuple[NodeKind, ...] = (NodeKind.HYPERPLANE,)
) -> None:
    """Refuse the first of some nodes that is of another kind."""
    known = ", ".join(KIND_NAMES[kind] for kind in kinds)
    for node in nodes.tolist():
        kind = NodeKind(tree.kind[node])
        if kind not in kinds:
            raise TreeError(
                f"Node {node} is {KIND_NAMES[kind]}; {fact} is known for {known} only."
            )


def require_numbers(tree: Tree, nodes: Int64Array, fact: str, encoding: Encoding) -> None:
    """Refuse the first of some nodes that asks about a qualitative column."""
    for node in nodes.tolist():
        first, last = (int(tree.coef_ptr[tree.plane_ptr[node + k]]) for k in (0, 1))
        for k in range(first, last):
            if has_table(tree, k):
                name = encoding.names[int(tree.coef_idx[k])]
                raise TreeError(
                    f"Node {node} asks about the levels of the qualitative column {name!r}; "
                    f"{fact} is known for numeric columns only. export_rules writes which levels "
                    "reach each leaf."
                )


def has_table(tree: Tree, k: int) -> bool:
    """Say whether a coefficient is about levels."""
    return bool(tree.table_ptr[k] < tree.table_ptr[k + 1])


def plane_parts(tree: Tree, plane: int) -> tuple[Int32Array, FloatArray, FloatArray, float]:
    """Return the columns, coefficients and spreads of a plane, and its threshold."""
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    return (tree.coef_idx[part], tree.coef[part], tree.spread[part], float(tree.threshold[plane]))


def numbers_of(tree: Tree, plane: int) -> BoolArray:
    """Say which coefficients of a plane are about numbers, not about levels."""
    start, end = tree.coef_ptr[plane : plane + 2].tolist()
    return np.array([not has_table(tree, k) for k in range(start, end)], dtype=bool)


def length_of(vector: FloatArray) -> float:
    """Return the Euclidean length, also of numbers whose squares are too large or too small."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(np.sum((vector / largest) ** 2)))


def lengths_of(vector: FloatArray, used: BoolArray) -> FloatArray:
    """Return the length of a vector without the entries that a row does not use, row by row."""
    if used.all():
        return np.full(len(used), length_of(vector))
    largest = float(np.abs(vector).max(initial=0.0)) or 1.0
    parts = np.where(used, vector / largest, 0.0)
    return np.asarray(largest * np.sqrt(np.sum(parts**2, axis=1)))


def units_of(scale: Any, names: Sequence[str], free: Sequence[str] = ()) -> FloatArray:
    """Return what counts as one unit of each feature; a Series is read by its names.

    Features that are `free`, those that have no unit, may be left out of a Series.
    """
    n_features = len(names)
    if scale is None:
        return np.ones(n_features)
    units = np.asarray(_by_name(scale, names, free), dtype=np.float64)
    if units.shape != (n_features,) or not ((units > 0) & np.isfinite(units)).all():
        raise ValueError(
            f"scale must hold a positive, finite number for each of the {n_features} features; "
            f"got {np.array2string(units, threshold=5)}. Use 1 for a feature that does not vary."
        )
    return units


def _by_name(scale: Any, names: Sequence[str], free: Sequence[str]) -> Any:
    """Bring what has an index, as a pandas Series, into the order of the features."""
    index = getattr(scale, "index", None)
    if index is None or callable(index) or np.ndim(scale) != 1:
        return scale
    given = list(index)
    called = [str(label) for label in given]
    # A Series that was made without names counts its values.
    if called == list(names) or given == list(range(len(given))):
        return scale
    strange = [name for name in called if name not in set(names)]
    lacking = [name for name in names if name not in {*called, *free}]
    if strange or lacking or len(set(called)) < len(called):
        what = "; ".join(
            f"{words} {', '.join(map(repr, found[:5]))}{', ...' if len(found) > 5 else ''}"
            for words, found in (("not among them:", strange), ("lacking:", lacking))
            if found
        )
        raise ValueError(
            "The index of scale must name each feature of the model once; got "
            f"{len(called)} names for {len(names)} features ({what or 'some of them twice'}). "
            "Give an array to take values by their place."
        )
    place = {name: k for k, name in enumerate(called)}
    values = np.asarray(scale)
    return np.array([values[place[name]] if name in place else 1.0 for name in names])
