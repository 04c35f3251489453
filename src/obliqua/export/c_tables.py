"""The tables of a C file: all trees of a model one after another, in few arrays.

A node's planes, a plane's terms and a term's level table are runs of an array, as in a `Tree`;
the terms of linear functions of leaves stand behind those of planes. What leaves say is kept once
where several say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.export.certificate import SINGLE
from obliqua.export.computation import Computation, Part
from obliqua.export.fixed_point import FixedPointPlan, Plane, WholePlane, line_of, planes_of
from obliqua.tree.layout import NodeKind, lengths, pointers, ranges
from obliqua.tree.tree import Tree

__all__ = [
    "LEVELS",
    "TABLES",
    "Tables",
    "in_fixed_point",
    "in_single",
    "largest_bounds",
    "most_multiplications",
    "tables_of",
]

#: What `Tables.how` says of a plane beside the side for missing values: that it is a set of
#: levels, or that some of its terms have level tables.
LEVELS, TABLES = 3, 4


@dataclass(frozen=True, eq=False)
class Tables:
    """What a C file has of a model.

    Parameters
    ----------
    root : ndarray
        The first node of each tree.
    next : ndarray
        The first child of each node; of a leaf, the row of what it says.
    plane : ndarray
        Where the planes of each node start, and the end of the last: none for a leaf, several for
        a linear machine.
    how : ndarray
        The side for missing values of each plane (0: none), or `LEVELS`; plus `TABLES`.
    threshold : ndarray
        The threshold of each plane.
    term : ndarray
        Where the terms of each plane start, and the end of the last.
    line : ndarray
        Where the terms of the linear function of each row of `says` start, and the end of the
        last; empty if leaves say constants.
    column, coef, fill : ndarray
        Of each term the column, the coefficient and what stands in for a missing value.
    table_at, table : ndarray
        Where the level table of each term starts, the end of the last, and the tables.
    says : ndarray of shape (n_rows, n_answers)
        What leaves say.
    chooses : ndarray
        The class that leaves with that row choose.
    limits : ndarray of shape (n_rows, 3)
        The constant of each linear function, and the least and the largest number that it says.
    shift : ndarray
        By how many bits the coefficient of each term is shifted; empty if there are fractions.
    """

    root: Int64Array
    next: Int64Array
    plane: Int64Array
    how: Int64Array
    threshold: AnyArray
    term: Int64Array
    line: Int64Array
    column: Int64Array
    coef: AnyArray
    fill: AnyArray
    table_at: Int64Array
    table: AnyArray
    says: AnyArray
    chooses: Int64Array
    limits: AnyArray
    shift: Int64Array

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return np.asarray(np.diff(self.plane) == 0)


def tables_of(computation: Computation) -> Tables:
    """Put the trees of a model one after another."""
    parts = list(computation.parts())
    trees = [part.tree for part in parts]
    root = pointers([tree.n_nodes for tree in trees])
    leaf = np.concatenate([tree.is_leaf for tree in trees])
    first = np.concatenate([tree.first_child for tree in trees])
    first = first + np.repeat(root[:-1], np.diff(root))
    has_lines = any(tree.has_lines for tree in trees)
    row, says, chooses = _said(parts, leaf, has_lines)
    first[leaf] = row
    term = _runs(trees, "coef_ptr")
    names = ("column", "coef", "fill", "table_at", "table")
    terms = dict(zip(names, _terms(trees, "coef_idx", ""), strict=True))
    line, limits = np.empty(0, dtype=np.int64), np.empty((0, 3))
    if has_lines:
        begin = _runs(trees, "leaf_ptr")
        counts = np.diff(begin)[leaf]
        line = pointers(counts) + term[-1]
        kept = ranges(begin[:-1][leaf], counts)
        column, coef, fill, table_at, table = _terms(trees, "leaf_idx", "leaf_")
        sizes = lengths(table_at, kept)
        table = table[ranges(table_at[kept], sizes)]
        table_at = terms["table_at"][-1] + pointers(sizes)[1:]
        added = (column[kept], coef[kept], fill[kept], table_at, table)
        terms = {
            name: np.concatenate([terms[name], more])
            for name, more in zip(names, added, strict=True)
        }
        limits = np.concatenate(
            [np.stack([t.leaf_intercept, t.leaf_low, t.leaf_high], axis=1) for t in trees]
        )[leaf]
    return Tables(
        root=root[:-1],
        next=first,
        plane=_runs(trees, "plane_ptr"),
        how=np.concatenate([_how(tree) for tree in trees]),
        threshold=np.concatenate([tree.threshold for tree in trees]),
        term=term,
        line=line,
        says=says,
        chooses=chooses,
        limits=limits,
        shift=np.empty(0, dtype=np.int64),
        **terms,
    )


def _runs(trees: list[Tree], name: str) -> AnyArray:
    """Put where runs start of all trees one after another."""
    return pointers(np.concatenate([np.diff(getattr(tree, name)) for tree in trees]))


def _terms(trees: list[Tree], column: str, prefix: str) -> tuple[AnyArray, ...]:
    def joined(name: str) -> AnyArray:
        return np.concatenate([getattr(tree, prefix + name) for tree in trees])

    columns = np.concatenate([getattr(tree, column) for tree in trees])
    table_at = _runs(trees, f"{prefix}table_ptr")
    return columns, joined("coef"), joined("fill"), table_at, joined("table")


def _how(tree: Tree) -> Int64Array:
    """Return what `Tables.how` says of the planes of a tree."""
    how = tree.missing_side.astype(np.int64)
    tables = np.concatenate([[0], np.cumsum(np.diff(tree.table_ptr) > 0)])
    how[np.diff(tables[tree.coef_ptr]) > 0] |= TABLES
    how[tree.plane_ptr[:-1][tree.kind == NodeKind.LEVELS]] = LEVELS
    return how


def _said(
    parts: list[Part], leaf: BoolArray, apart: bool
) -> tuple[Int64Array, FloatArray, Int64Array]:
    """Return the row of what each leaf says, and the rows: those that are equal once."""
    said = np.concatenate([part.said for part in parts])[leaf] + 0.0  # no -0.0
    chosen = np.concatenate([part.chosen for part in parts])[leaf]
    if apart:
        return np.arange(len(said)), said, chosen
    rows, row = np.unique(np.column_stack([chosen, said]), axis=0, return_inverse=True)
    return row.ravel(), rows[:, 1:], rows[:, 0].astype(np.int64)


def in_single(tables: Tables) -> Tables:
    """Return tables in single precision."""
    rounded = {}
    for name in ("threshold", "coef", "fill", "table", "says", "limits"):
        numbers = getattr(tables, name)
        with np.errstate(over="ignore"):
            rounded[name] = numbers.astype(np.float32)
        if np.isinf(rounded[name]).any():
            most = np.nanmax(np.abs(numbers))
            raise ValueError(
                f"This model has the number {most:.3g}, and single precision ends at 3.4e38. "
                "Export it with numbers='double'."
            )
    return replace(tables, **rounded)


def in_fixed_point(tables: Tables, computation: Computation, plan: FixedPointPlan) -> Tables:
    """Return tables in whole numbers; what leaves say is in single precision.

    Beside the constant and the limits of a function there is the unit of its sum.
    """
    planes: list[WholePlane] = []
    lines: list[WholePlane] = []
    for part in computation.parts():
        tree = part.tree
        for node in np.flatnonzero(tree.kind).tolist():
            if tree.kind[node] == NodeKind.LEVELS:
                planes += [_branches(plane) for plane in planes_of(tree, node)]
            else:
                own = planes_of(tree, node)
                planes += plan.node(own, len(own) > 1)
        if len(tables.line):
            for leaf in np.flatnonzero(tree.is_leaf).tolist():
                lines += plan.node([line_of(tree, leaf)], machine=False)
    terms = planes + lines
    limits = tables.limits
    if lines:
        limits = np.column_stack(
            [_constants(lines), limits[:, 1:], np.ldexp(1.0, [w.unit for w in lines])]
        )
    return replace(
        in_single(
            replace(
                tables,
                threshold=np.zeros(0),
                coef=np.zeros(0),
                fill=np.zeros(0),
                table=np.zeros(0),
                limits=limits,
            )
        ),
        threshold=np.array([whole.threshold for whole in planes], dtype=np.int64),
        coef=_put_together([whole.coef for whole in terms]),
        shift=_put_together([whole.shift for whole in terms]),
        fill=_put_together([whole.fills() for whole in terms]),
        table=_put_together([table for whole in terms for table in whole.tables()]),
    )


def _put_together(arrays: list[Int64Array]) -> Int64Array:
    return np.concatenate([np.zeros(0, dtype=np.int64), *arrays])


def _branches(plane: Plane) -> WholePlane:
    """Return a set of levels: its numbers are branches."""
    zero = np.zeros(1, dtype=np.int64)
    return WholePlane(plane, zero, zero, int(plane.threshold), 0, np.zeros(1), zero, 0.0)


def _constants(lines: list[WholePlane]) -> list[float]:
    """Return what functions say where all entries are 0."""
    return [
        float((whole.plane.coef * whole.offset).sum()) - whole.plane.threshold for whole in lines
    ]


def largest_bounds(computation: Computation, numbers: str, plan: FixedPointPlan) -> FloatArray:
    """Return by how much rounding moves the value of each plane at most, within ranges."""
    bounds = []
    for part in computation.parts():
        tree = part.tree
        for node in np.flatnonzero(tree.kind).tolist():
            planes = planes_of(tree, node)
            if tree.kind[node] == NodeKind.LEVELS:
                bounds.append(0.0)
            elif numbers == "int16":
                wholes = plan.node(planes, len(planes) > 1)
                bounds += [whole.largest_bound(plan.low, plan.high) for whole in wholes]
            else:
                bounds += [_single_bound(plane, plan) for plane in planes]
    return np.array(bounds)


def _single_bound(plane: Plane, plan: FixedPointPlan) -> float:
    """Return by how much single precision moves the value of a plane at most, within ranges."""
    ends = np.maximum(np.abs(plan.low), np.abs(plan.high))[plane.columns]
    for at, table in enumerate(plane.tables):
        if len(table):
            ends[at] = np.abs(table).max()
    values = np.fmax(ends, np.abs(plane.fill))
    return float(SINGLE.bound(plane.coef, values[None, :], plane.threshold)[0])


def most_multiplications(tables: Tables) -> int:
    """Return how many terms are added up for a row at most, in all trees together."""
    counts: Any = np.diff(tables.term)
    counts[tables.how == LEVELS] = 0
    below = np.diff(pointers(counts)[tables.plane]).tolist()
    leaves = np.flatnonzero(tables.is_leaf)
    if len(tables.line):
        for leaf, row in zip(leaves.tolist(), tables.next[leaves].tolist(), strict=True):
            below[leaf] = int(tables.line[row + 1] - tables.line[row])
    # Children of nodes follow one another, so those of a node end where the next ones begin.
    inner = np.flatnonzero(~tables.is_leaf)
    begin = tables.next[inner]
    tree_ends = np.append(tables.root[1:], len(tables.next))
    end = np.minimum(
        np.append(begin[1:], len(tables.next)),
        tree_ends[np.searchsorted(tables.root, inner, side="right") - 1],
    )
    for node, first, last in zip(
        inner[::-1].tolist(), begin[::-1].tolist(), end[::-1].tolist(), strict=True
    ):
        below[node] += max(below[first:last])
    return int(sum(below[node] for node in tables.root.tolist()))
