"""The cells of a tree in a plane of two features, as exact polygons."""

from __future__ import annotations

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.subject import read_column

# Corners of less than this share of the window's area make no cell.
SPECK = 1e-12


def leaf_cells(
    tree: Tree, row: FloatArray, pair: tuple[int, int], window: FloatArray
) -> list[tuple[int, FloatArray]] | None:
    """Divide a window among the leaves."""
    size = _area(window)
    todo, done = [(0, window)], []
    while todo:
        node, corners = todo.pop()
        if len(corners) < 3 or _area(corners) <= SPECK * size:
            continue
        if tree.kind[node] == NodeKind.LEAF:
            done.append((node, corners))
            continue
        first = int(tree.first_child[node])
        cells = _branches(tree, node, row, pair, corners)
        if cells is None:
            return None
        todo += [(first + branch, cell) for branch, cell in enumerate(cells)]
    return sorted(done, key=lambda found: found[0])


def _branches(
    tree: Tree, node: int, row: FloatArray, pair: tuple[int, int], corners: FloatArray
) -> list[FloatArray] | None:
    """Divide a cell among the branches of a node; None if it cannot be."""
    start, end = int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1])
    n_branches = int(tree.n_children[node])
    if tree.kind[node] == NodeKind.LEVELS:
        branch = _level_branch(tree, start, row, pair)
        nothing = corners[:0]
        if branch is None:
            return None
        return [corners if b == branch else nothing for b in range(n_branches)]
    planes = []
    for plane in range(start, end):
        found = _restricted(tree, plane, row, pair)
        if found is None:
            return None
        planes.append(found)
    if tree.kind[node] == NodeKind.HYPERPLANE:
        normal, threshold = planes[0]
        if not normal.any():  # it asks about none of the two: all go one way
            goes_left = threshold >= 0
            return [corners if goes_left else corners[:0], corners[:0] if goes_left else corners]
        return [clip(corners, normal, threshold), clip(corners, -normal, -threshold)]
    cells = []
    for b, (normal, threshold) in enumerate(planes):
        cell = corners
        for o, (other, cut) in enumerate(planes):
            if o == b or not len(cell):
                continue
            # The value of b, less its threshold, is not below that of the other branch.
            if (other == normal).all():
                wins = -threshold > -cut if o < b else -threshold >= -cut
                cell = cell if wins else cell[:0]
            else:
                cell = clip(cell, other - normal, cut - threshold)
        cells.append(cell)
    return cells


def _level_branch(tree: Tree, plane: int, row: FloatArray, pair: tuple[int, int]) -> int | None:
    """Return the branch that a held column takes at a set of levels."""
    k = int(tree.coef_ptr[plane])
    column = int(tree.coef_idx[k])
    if column in pair:
        return None
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    code = row[column]
    if np.isnan(code):
        return int(tree.fill[k]) if not np.isnan(tree.fill[k]) else None
    inside = 0 <= code < len(table)
    return int(table[int(code)] if inside else tree.threshold[plane])


def clip(corners: FloatArray, normal: FloatArray, threshold: float) -> FloatArray:
    """Keep the part of a convex polygon where ``normal . x <= threshold``."""
    side = corners @ normal - threshold
    kept: list[AnyArray] = []
    for i in range(len(corners)):
        j = (i + 1) % len(corners)
        if side[i] <= 0:
            kept.append(corners[i])
        if (side[i] <= 0) != (side[j] <= 0):
            share = side[i] / (side[i] - side[j])
            kept.append(corners[i] + share * (corners[j] - corners[i]))
    return np.array(kept) if kept else corners[:0]


def _area(corners: FloatArray) -> float:
    x, y = (corners - corners[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _restricted(
    tree: Tree, plane: int, row: FloatArray, pair: tuple[int, int]
) -> tuple[FloatArray, float] | None:
    """Return normal and threshold of a plane among the two features that vary."""
    normal, threshold = np.zeros(2), float(tree.threshold[plane])
    for k in range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])):
        column = int(tree.coef_idx[k])
        if column in pair:
            if tree.table_ptr[k] != tree.table_ptr[k + 1]:
                return None
            normal[pair.index(column)] += tree.coef[k]
        else:
            threshold -= float(tree.coef[k] * read_column(tree, k, row[None, :])[0])
    return normal, threshold
