"""Twin of the walk: one row at a time from the root to a leaf, for every kind of node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

LEAF, HYPERPLANE, LEVELS, MACHINE = range(4)


class NoFillValue(Exception):
    """A value is missing and the node that asks for it has nothing to use instead."""


def in_table(tree: Any, k: int, code: float) -> float | None:
    """Entry of coefficient k's level table for a code; None if the code is outside it."""
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]].tolist()
    if not 0 <= code < len(table):
        return None
    return table[int(code)]


def entry(tree: Any, k: int, row: Sequence[float]) -> float:
    """What coefficient k multiplies."""
    value = row[tree.coef_idx[k]]
    if math.isnan(value):
        return float(tree.fill[k])
    if tree.table_ptr[k + 1] > tree.table_ptr[k]:
        found = in_table(tree, k, value)
        return 0.0 if found is None else found
    return value


def plane_value(tree: Any, plane: int, row: Sequence[float]) -> float:
    """Sum over the plane's coefficients, from the first to the last."""
    total = 0.0
    for k in range(tree.coef_ptr[plane], tree.coef_ptr[plane + 1]):
        total += float(tree.coef[k]) * entry(tree, k, row)
    return known(total)


def known(value: float) -> float:
    if math.isnan(value):
        raise NoFillValue
    return value


def branch(tree: Any, node: int, row: Sequence[float]) -> int:
    """Number of the branch that a row takes at a node."""
    plane = int(tree.plane_ptr[node])
    threshold = float(tree.threshold[plane])
    if tree.kind[node] == HYPERPLANE:
        columns = tree.coef_idx[tree.coef_ptr[plane] : tree.coef_ptr[plane + 1]].tolist()
        if tree.missing_side[plane] and any(math.isnan(row[k]) for k in columns):
            return int(tree.missing_side[plane]) - 1
        return 0 if plane_value(tree, plane, row) <= threshold else 1
    if tree.kind[node] == LEVELS:
        k = int(tree.coef_ptr[plane])
        code = row[tree.coef_idx[k]]
        if math.isnan(code):
            return int(known(float(tree.fill[k])))
        found = in_table(tree, k, code)
        return int(threshold if found is None else found)
    assert tree.kind[node] == MACHINE
    values = [
        known(plane_value(tree, q, row) - float(tree.threshold[q]))
        for q in range(plane, plane + int(tree.n_children[node]))
    ]
    return values.index(max(values))


def path(tree: Any, row: Sequence[float]) -> list[int]:
    """Nodes that one row passes, root and leaf included."""
    numbers = [float(value) for value in row]
    nodes = [0]
    while tree.kind[nodes[-1]] != LEAF:
        node = nodes[-1]
        nodes.append(int(tree.first_child[node]) + branch(tree, node, numbers))
    return nodes


def apply(tree: Any, Z: Any) -> list[int]:
    """Leaf of each row."""
    return [path(tree, row)[-1] for row in Z]
