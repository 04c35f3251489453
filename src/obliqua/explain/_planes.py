"""What the facts share: which nodes they know, and their planes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from obliqua._layout import KIND_NAMES, NodeKind
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.errors import TreeError
from obliqua.tree import Tree


def require_numeric(
    tree: Tree, nodes: Int64Array, fact: str, kinds: tuple[NodeKind, ...] = (NodeKind.HYPERPLANE,)
) -> None:
    """Refuse the first of some nodes that is no sum of numeric features.

    Parameters
    ----------
    tree : Tree
        The tree.
    nodes : ndarray of int64
        Inner nodes.
    fact : str
        What is asked for, as the subject of a sentence: ``"A margin"``.
    kinds : tuple of NodeKind
        The kinds that the fact knows.

    Raises
    ------
    TreeError
        If a node is of another kind, or gives numbers to levels.
    """
    known = ", ".join(KIND_NAMES[kind] for kind in kinds)
    coded = _with_tables(tree)
    for node in nodes.tolist():
        kind = NodeKind(tree.kind[node])
        if kind not in kinds:
            raise TreeError(
                f"Node {node} is {KIND_NAMES[kind]}; {fact} is known for {known} only."
            )
        if coded[node]:
            raise TreeError(
                f"Node {node} is {KIND_NAMES[kind]} that gives numbers to the levels of a "
                f"qualitative column; {fact} is known for numeric columns only."
            )


def _with_tables(tree: Tree) -> BoolArray:
    """Whether each node has a level table."""
    marked = np.zeros(tree.n_nodes, dtype=bool)
    coded = np.diff(tree.table_ptr) > 0
    marked[tree.node_of_plane[tree.plane_of_coef[coded]]] = True
    return marked


def plane_parts(tree: Tree, plane: int) -> tuple[Int32Array, FloatArray, FloatArray, float]:
    """Return the columns, coefficients and spreads of a plane, and its threshold."""
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    return (
        tree.coef_idx[part],
        tree.coef[part],
        tree.spread[part],
        float(tree.threshold[plane]),
    )


def plane_values(Z: AnyArray, idx: AnyArray, coef: FloatArray) -> FloatArray:
    """Return the value of rows along a normal: term after term, as the tree's walk adds them."""
    value = np.zeros(len(Z))
    # Products beyond the largest number are infinite for the walk too.
    with np.errstate(over="ignore", invalid="ignore"):
        for column, factor in zip(idx.tolist(), coef.tolist(), strict=True):
            value += factor * Z[:, column].astype(np.float64)
    return value


def length_of(vector: FloatArray) -> float:
    """Return the Euclidean length, also of numbers whose squares are too large or too small."""
    largest = float(np.abs(vector).max(initial=0.0))
    if largest == 0.0:
        return 0.0
    return largest * float(np.sqrt(np.sum((vector / largest) ** 2)))


def units_of(scale: ArrayLike | None, n_features: int) -> FloatArray:
    """Return what counts as one unit of each feature."""
    if scale is None:
        return np.ones(n_features)
    units = np.asarray(scale, dtype=np.float64)
    if units.shape != (n_features,) or not ((units > 0) & np.isfinite(units)).all():
        raise ValueError(
            f"scale must hold a positive, finite number for each of the {n_features} features; "
            f"got {np.array2string(units, threshold=5)}. Use 1 for a feature that does not vary."
        )
    return units
