"""Levels with few rows: in a column that nearly tells rows apart they count as one.

A split that may put each level on either side learns such a column by heart: it has a side for
each row, and nothing to say of new ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.data.table import Table
from obliqua.data.weights import counted_as_rows

__all__ = ["FEW_LEVELS", "FEW_ROWS", "MIN_ROWS", "OTHER_LEVELS", "pool_rare_levels"]

#: A column with at most so many levels is left as it is.
FEW_LEVELS = 10
#: So is one whose levels have more rows than that on average. Measured: up to there, CART does
#: better without the column, unless the levels say more than a good numeric column.
FEW_ROWS = 10
#: In other columns a level keeps its name from so many rows on.
MIN_ROWS = 20
#: What the others are called together. A level of that very name is one of them.
OTHER_LEVELS = "other levels"

_STEPS = 1024.0  # fractions of a row that are counted, so that sums are exact
_MOST = 2.0**20  # rows that a row may count as


def pool_rare_levels(
    table: Table, sample_weight: FloatArray | None = None
) -> tuple[Table, tuple[str, ...]]:
    """Let levels with few rows count as one, in columns that nearly tell rows apart.

    That is done in qualitative columns with more than ten levels that have at most ten rows
    each on average. Levels with fewer than 20 rows become one there, and levels that were never
    seen will be read as that one too. A column all of whose levels are rare says no more than
    whether a value is missing. All other columns are left as they are.

    Parameters
    ----------
    table : Table
        The rows.
    sample_weight : ndarray of float64, of shape (n_rows,), default=None
        Weights of the rows. A weight of 2 counts as two rows; weights that are not all whole
        numbers count as if their mean were 1.

    Returns
    -------
    table : Table
        The rows; the same object if there is no such column.
    notes : tuple of str
        What was done to which column, and what helps.

    Examples
    --------
    >>> from obliqua.data import pool_rare_levels, read_table
    >>> names = [[f"name {i}"] for i in range(30)]
    >>> table, notes = pool_rare_levels(read_table([["Smith"]] * 20 + names))
    >>> table.encoding.columns[0].levels
    ('Smith', 'other levels')
    """
    if table.encoding.numeric or (sample_weight is not None and not (sample_weight > 0).any()):
        return table, ()
    counts = _row_counts(len(table.Z), sample_weight)
    columns, notes, Z = list(table.encoding.columns), [], table.Z
    for place, column in enumerate(columns):
        if column.kind != QUALITATIVE or column.others or len(column.levels) <= FEW_LEVELS:
            continue
        there = ~np.isnan(table.Z[:, place])
        codes = table.Z[there, place].astype(np.int64)
        pooled = pooled_column(column, np.bincount(codes, counts[there], len(column.levels)))
        if pooled is None:
            continue
        columns[place], note = pooled
        notes.append(note)
        if Z is table.Z:
            Z = Z.copy()
        new = np.array([columns[place].code(level) for level in column.levels])
        Z[there, place] = new[codes]
    if not notes:
        return table, ()
    return Table(Z, Encoding(tuple(columns)), table.has_missing), tuple(notes)


def pooled_column(column: Column, counts: AnyArray) -> tuple[Column, str] | None:
    """Return a column in which rare levels count as one, and what to say of it; None: as it is.

    `counts`: as how many rows those of each level count, in whole steps.
    """
    rows = counts / _STEPS
    n_levels = int((rows > 0).sum())
    if n_levels <= FEW_LEVELS or rows.sum() > FEW_ROWS * n_levels:
        return None
    kept = (rows >= MIN_ROWS) & np.array([level != OTHER_LEVELS for level in column.levels])
    named = tuple(column.levels[code] for code in np.flatnonzero(kept).tolist())
    note = _note(column, n_levels, round(float(rows.sum())), len(named))
    return replace(column, levels=(*named, OTHER_LEVELS), others=True), note


def in_steps(as_rows: FloatArray) -> FloatArray:
    """Return as how many rows some rows count, in whole steps, so that sums are exact."""
    return np.maximum(np.rint(np.minimum(as_rows, _MOST) * _STEPS), 1.0)


def _row_counts(n_rows: int, sample_weight: FloatArray | None) -> FloatArray:
    """Return as how many rows each row counts, in whole steps."""
    if sample_weight is None:
        return np.full(n_rows, _STEPS)
    counts, there = np.zeros(n_rows), sample_weight > 0
    as_rows = counted_as_rows(sample_weight, there, None, 1.0)[1]
    counts[there] = in_steps(as_rows)
    return counts


def _note(column: Column, n_levels: int, n_rows: int, n_named: int) -> str:
    """Say what was done to a column."""
    which = f"the {n_levels - n_named:,} with fewer than {MIN_ROWS} rows" if n_named else "all"
    return (
        f"Column {column.name!r} has {n_levels:,} levels in {n_rows:,} rows: so many tell rows "
        f"apart and say little of new ones. Of them, {which} count as one. Drop the column, or "
        "turn what it holds into numbers, a date for instance into days, or into fewer levels."
    )
