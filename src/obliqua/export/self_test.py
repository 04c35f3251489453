"""Rows that every export carries with their answers, so that it can prove itself where it runs.

Without rows of a user they are made of the trees: for each leaf a row that reaches it, so that
both sides of every split are seen; rows on the threshold of splits and the numbers next to it;
rows in which values are missing or levels unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE
from obliqua.export.computation import Computation
from obliqua.export.text import check_limits
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree

#: The most rows that an export of one tree, or of several, carries if nothing else is asked for,
#: and the most numbers in them.
MOST_ROWS, MOST_ROWS_OF_SEVERAL, MOST_NUMBERS = 1000, 200, 50_000
_STEPS = 25  # that the search for a row of a leaf may take
_ASIDE = 1e-3  # how far beyond a threshold a row is put, as a share of the terms


@dataclass(frozen=True, eq=False)
class SelfTest:
    """Rows with what the model says of them.

    Parameters
    ----------
    rows : ndarray of float64, of shape (n_rows, n_columns)
        The rows as trees walk them: levels are codes, -1 if unknown; NaN is missing.
    leaves : ndarray of int64, of shape (n_rows, n_trees)
        The leaves that they reach.
    answers : ndarray of shape (n_rows, n_answers)
        The shares of classes, or the numbers.
    labels : ndarray of int64, of shape (n_rows,)
        The numbers of the classes; all 0 where numbers are said.
    n_leaves : int
        How many leaves the rows reach, of all trees together.
    """

    rows: FloatArray
    leaves: Int64Array
    answers: FloatArray
    labels: Int64Array
    n_leaves: int


def self_test(computation: Computation, X: Any = None, most: int | None = None) -> SelfTest:
    """Return rows, those of a user or made of the trees, with the model's answers."""
    check_limits(n_tests=most)
    limit = most
    if limit is None:
        limit = MOST_ROWS if computation.n_trees == 1 else MOST_ROWS_OF_SEVERAL
        limit = max(min(limit, MOST_NUMBERS // max(len(computation.columns), 1)), 20)
    if limit == 0:
        rows = np.empty((0, len(computation.columns)))
    elif X is None:
        rows = _made_rows(computation, limit)
    else:
        rows = np.asarray(computation.rows(X), dtype=np.float64)
        if len(rows) > limit:
            rows = rows[np.linspace(0, len(rows) - 1, limit).astype(np.int64)]
    test = answered(computation, rows)
    finite = np.isfinite(test.answers).all(axis=1)  # others are not written in every language
    return test if finite.all() else answered(computation, rows[finite])


def answered(computation: Computation, rows: FloatArray) -> SelfTest:
    """Return rows with the model's answers."""
    model = computation.model
    leaves = model.apply(rows).reshape(len(rows), computation.n_trees)
    if computation.says_numbers:
        answers = model.predict(rows).reshape(len(rows), computation.n_answers)
        labels = np.zeros(len(rows), dtype=np.int64)
    else:
        answers, labels = model.predict_proba(rows), model.predict_index(rows)
    reached = sum(len(np.unique(column)) for column in leaves.T)
    return SelfTest(rows, leaves, answers, labels, reached)


def _made_rows(computation: Computation, most: int) -> FloatArray:
    """Make rows of the trees."""
    rng = np.random.default_rng(0)
    n_trees, columns = computation.n_trees, computation.columns
    places = [k for k, column in enumerate(columns) if column.kind == QUALITATIVE]
    trees = [computation.part(number).tree for number in range(min(n_trees, most))]
    base = _base(trees, len(columns))
    base[places] = 0.0
    aside: list[FloatArray] = []
    if computation.model.takes_missing:
        gaps = [base.copy() for _ in range(len(columns) + 1)]
        for place, row in enumerate(gaps):
            row[place if place < len(columns) else slice(None)] = np.nan
        aside += gaps[-1:] + gaps[:-1]
    for place in places:
        row = base.copy()
        row[place] = -1.0
        aside.append(row)
    found = [base, *aside[: most // 4]]
    per_tree = max((most - len(found)) // len(trees), 1)
    for tree in trees:
        found += _rows_of_tree(tree, base, per_tree, computation.model.takes_missing, rng)
    rows = _sound(np.array(found), computation)
    for tree in trees:  # without those to which the model has no answer
        rows = rows[tree._walker.apply(rows) >= 0]
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    # Those with gaps and unknown levels come first, and stay.
    first = min(len(rows), 1 + most // 4)
    others = rows[first:]
    if len(others) > most - first:
        others = others[np.linspace(0, len(others) - 1, most - first).astype(np.int64)]
    return np.concatenate([rows[:first], others])


def _base(trees: list[Tree], n_columns: int) -> FloatArray:
    """Return an ordinary row: what stands in for missing values."""
    base = np.zeros(n_columns)
    for tree in trees:
        known = np.isfinite(tree.fill) & (np.diff(tree.table_ptr) == 0)
        base[tree.coef_idx[known]] = tree.fill[known]
    return base


def _sound(rows: FloatArray, computation: Computation) -> FloatArray:
    """Return the rows that a user could have: finite numbers, levels that are codes."""
    rows = rows[~np.isinf(rows).any(axis=1)]
    for place, column in enumerate(computation.columns):
        if column.kind == QUALITATIVE:
            codes = rows[:, place]
            lowest = 0.0 if column.others else -1.0
            inside = (codes >= lowest) & (codes < len(column.levels)) & (codes == np.floor(codes))
            rows = rows[inside | np.isnan(codes)]
    return rows


def _rows_of_tree(
    tree: Tree, base: FloatArray, most: int, missing: bool, rng: np.random.Generator
) -> list[FloatArray]:
    """Return a row for each leaf, and rows on the thresholds above it."""
    found: list[FloatArray] = []
    leaves = np.flatnonzero(tree.is_leaf)
    if len(leaves) > most:
        leaves = leaves[np.linspace(0, len(leaves) - 1, most).astype(np.int64)]
    edged: set[int] = set()
    edges: list[FloatArray] = []
    for leaf in leaves.tolist():
        # A row of a leaf nearby is on the right side of most splits already.
        starts = [base] if not found else [found[-1], base]
        rows = (_row_of_leaf(tree, leaf, start, missing, rng) for start in starts)
        row = next((row for row in rows if row is not None), None)
        if row is None:
            continue
        found.append(row)
        node = int(tree.parent[leaf])
        if node >= 0 and node not in edged and len(edges) + len(leaves) < most:
            edged.add(node)
            edges += _edge_rows(tree, node, row)
    return (found + edges)[:most]


def _row_of_leaf(
    tree: Tree, leaf: int, base: FloatArray, missing: bool, rng: np.random.Generator
) -> FloatArray | None:
    """Search a row that reaches a leaf: what is wrong at a node is put right, again and again."""
    path = [leaf]
    while path[-1]:
        path.append(int(tree.parent[path[-1]]))
    turns = [(above, below) for below, above in pairwise(path)][::-1]
    row = base.copy()
    for step in range(_STEPS):
        wrong = False
        for node, child in turns:
            branch = child - int(tree.first_child[node])
            if _branch(tree, node, row) != branch:
                wrong = True
                _put_right(tree, node, branch, row, missing, rng, beyond=1.0 + step / 4)
        if not wrong:
            return row
    return None


def _branch(tree: Tree, node: int, row: FloatArray) -> int:
    """Return the branch that a row takes at a node; -1 if a value is missing with no stand-in."""
    plane = int(tree.plane_ptr[node])
    if tree.kind[node] == NodeKind.LEVELS:
        k = int(tree.coef_ptr[plane])
        code, table = row[tree.coef_idx[k]], tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
        if np.isnan(code):
            return -1 if np.isnan(tree.fill[k]) else int(tree.fill[k])
        return int(table[int(code)] if 0 <= code < len(table) else tree.threshold[plane])
    if tree.kind[node] == NodeKind.MACHINE:
        planes = range(plane, plane + int(tree.n_children[node]))
        values = [float(_terms(tree, q, row).sum()) - tree.threshold[q] for q in planes]
        return -1 if np.isnan(values).any() else int(np.argmax(values))
    side = int(tree.missing_side[plane])
    if side and np.isnan(row[tree.coef_idx[_terms_of(tree, plane)]]).any():
        return side - 1
    value = float(_terms(tree, plane, row).sum())
    return -1 if np.isnan(value) else int(not value <= tree.threshold[plane])


def _terms_of(tree: Tree, plane: int) -> slice:
    return slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))


def _terms(tree: Tree, plane: int, row: FloatArray) -> FloatArray:
    """Return the terms of a plane at a row."""
    part = _terms_of(tree, plane)
    values = row[tree.coef_idx[part]].copy()
    for at, k in enumerate(range(part.start, part.stop)):
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
        if np.isnan(values[at]):
            values[at] = tree.fill[k]
        elif len(table):
            inside = 0 <= values[at] < len(table)
            values[at] = table[int(values[at])] if inside else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(tree.coef[part] * values)


def _put_right(
    tree: Tree,
    node: int,
    branch: int,
    row: FloatArray,
    missing: bool,
    rng: np.random.Generator,
    beyond: float,
) -> None:
    """Change a row so that it takes a branch, if that is easily done."""
    plane = int(tree.plane_ptr[node])
    part = _terms_of(tree, plane)
    columns = tree.coef_idx[part]
    if tree.kind[node] == NodeKind.LEVELS:
        k = part.start
        table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
        codes = np.flatnonzero(table == branch)
        if len(codes):
            row[columns[0]] = rng.choice(codes)
        elif tree.threshold[plane] == branch:
            row[columns[0]] = -1.0
        elif missing:
            row[columns[0]] = np.nan
        return
    if tree.kind[node] == NodeKind.MACHINE:
        _put_first(tree, node, branch, row, beyond)
        return
    side = int(tree.missing_side[plane])
    gone = np.isnan(row[columns])
    if side and (side - 1 == branch) and not tree.coef[part].any():
        row[columns[0]] = np.nan  # it asks whether the value is there
        return
    if gone.any():
        row[columns[gone]] = 0.0
    has_table = np.diff(tree.table_ptr[part.start : part.stop + 1]) > 0
    # Numbers can be moved by what is needed; a level changes more than that, and other splits.
    if not tree.coef[part][~has_table].any() or rng.random() < 0.2:
        for at in np.flatnonzero(has_table).tolist():
            row[columns[at]] = _best_code(tree, part.start + at, branch)
    _move(tree, plane, branch, row, ~has_table, beyond)
    if _branch(tree, node, row) != branch and side and side - 1 == branch and missing:
        row[columns[rng.integers(len(columns))]] = np.nan


def _best_code(tree: Tree, k: int, branch: int) -> int:
    """Return the level whose term is the least, to go left, or the largest."""
    terms = tree.coef[k] * tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    return int(terms.argmax() if branch else terms.argmin())


def _move(
    tree: Tree, plane: int, branch: int, row: FloatArray, free: AnyArray, beyond: float
) -> None:
    """Move numbers along the normal until the row is on the other side of the threshold."""
    part = _terms_of(tree, plane)
    coef, columns = tree.coef[part][free], tree.coef_idx[part][free]
    if not coef.any():
        return
    terms = _terms(tree, plane, row)
    width = np.nansum(np.abs(tree.coef[part] * tree.spread[part])) or np.abs(terms).sum() or 1.0
    aim = float(tree.threshold[plane]) + (1.0 if branch else -1.0) * _ASIDE * beyond * float(width)
    # Columns that vary more move more.
    known = tree.spread[part][free]
    with np.errstate(all="ignore"):
        weight = np.where(np.isfinite(known) & (known > 0), known, 1.0) ** 2 * coef
        step = (aim - float(terms.sum())) * weight / float((weight * coef).sum())
    if np.isfinite(step).all():
        row[columns] += step


def _put_first(tree: Tree, node: int, branch: int, row: FloatArray, beyond: float) -> None:
    """Move a row so that a plane of a linear machine has the largest value."""
    first = int(tree.plane_ptr[node])
    normals = np.zeros((int(tree.n_children[node]), len(row)))
    for at in range(len(normals)):
        part = _terms_of(tree, first + at)
        numeric = np.diff(tree.table_ptr[part.start : part.stop + 1]) == 0
        normals[at, tree.coef_idx[part][numeric]] = tree.coef[part][numeric]
    row[np.isnan(row)] = 0.0
    planes = range(first, first + len(normals))
    values = np.array([float(_terms(tree, q, row).sum()) - tree.threshold[q] for q in planes])
    values[branch], own = -np.inf, values[branch]
    normal = normals[branch] - normals[int(values.argmax())]
    norm = float(normal @ normal)
    if norm > 0:
        gap = float(values.max() - own)
        row += normal * (gap * (1.0 + _ASIDE * beyond) + _ASIDE * beyond) / norm


def _edge_rows(tree: Tree, node: int, row: FloatArray) -> list[FloatArray]:
    """Return rows on the threshold of a hyperplane, and the numbers next to it."""
    if tree.kind[node] != NodeKind.HYPERPLANE:
        return []
    plane = int(tree.plane_ptr[node])
    part = _terms_of(tree, plane)
    if tree.missing_side[plane] != MissingSide.NONE and np.isnan(row[tree.coef_idx[part]]).any():
        return []
    numeric = np.diff(tree.table_ptr[part.start : part.stop + 1]) == 0
    size = np.where(numeric, np.abs(tree.coef[part]), 0.0)
    at = int(size.argmax())
    if size[at] == 0.0:
        return []
    column = int(tree.coef_idx[part][at])
    terms = _terms(tree, plane, row)
    with np.errstate(all="ignore"):
        cut = (float(tree.threshold[plane]) - float(np.delete(terms, at).sum())) / tree.coef[part][
            at
        ]
    if not np.isfinite(cut):
        return []
    rows = []
    for number in (np.nextafter(cut, -np.inf), cut, np.nextafter(cut, np.inf)):
        rows.append(row.copy())
        rows[-1][column] = number
    return rows
