"""Which columns of a table are learnt from, and what they are taken for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._extras import require
from obliqua.cli._command import quoted
from obliqua.cli._dates import with_date_parts
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._errors import listed as names_of
from obliqua.cli._output import listed, note, print_facts
from obliqua.cli._table import NamedTable, choose_features
from obliqua.cli._types import Features, UnreadableColumns
from obliqua.data.dates import source_of
from obliqua.data.row_numbers import counts_rows

if TYPE_CHECKING:
    import polars as pl

MOST_LEVELS = 5  # that are named


def learnt_columns(
    table: NamedTable, taken: Sequence[str], given: dict[str, Any]
) -> tuple[NamedTable, list[str]]:
    """Choose the columns to learn from, as the options say; dates become numbers.

    A column that counts the rows is left out, unless an option names it.
    """
    parts = date_parts_left_out(table, given)
    drop = [name for name in given["drop"] or [] if name not in parts] or None
    names = choose_features(table, taken, given["features"], drop)
    meant = [*(given["categorical"] or ()), *(given["numeric"] or ())]
    if given["features"] is None:
        names = _without_row_numbers(table, names, meant)
    table, names = with_date_parts(table, names, meant)
    strange = [name for name in parts if name not in names]
    if strange:
        raise Trouble(
            f"--drop names {names_of(strange)}, which is no part of dates in this table."
        )
    return table, [name for name in names if name not in parts]


def date_parts_left_out(table: NamedTable, given: dict[str, Any]) -> list[str]:
    """Return the parts of dates that are left out: they are no columns of the file."""
    there = set(table.frame.columns)
    return [name for name in given["drop"] or [] if name not in there and _has_source(name, there)]


def _has_source(name: str, there: set[str]) -> bool:
    found = source_of(name)
    return found is not None and found[0] in there


def _without_row_numbers(table: NamedTable, names: list[str], meant: Sequence[str]) -> list[str]:
    """Leave out columns that count the rows, and say so; one that is alone stays."""
    left_out = []
    for name in names:
        values = None if name in meant else _whole_numbers(table.frame[name])
        if values is not None and counts_rows(values.to_numpy(), table.rows):
            left_out.append(name)
            said_of_counting(name, values[0], values[-1])
    return [name for name in names if name not in left_out] or names


def said_of_counting(name: str, low: int, high: int) -> None:
    """Say that a column that counts the rows is left out."""
    note(
        f"Column {name!r} counts the rows, {low} to {high}, and is left out; --numeric "
        f"{quoted(name)} keeps it."
    )


def counting_rows(
    table: NamedTable, name: str, before: int, first: int | None = None
) -> tuple[int, int, int] | None:
    """Say whether a column counts the rows in a part of a table, from 0 or 1 or as it began.

    `before`: how many rows are in other files before this one. The result is where it began, and
    its first and last number here; None if it does not.
    """
    polars = require("polars", "cli", "Reading tables")
    column = table.frame[name]
    if not (column.dtype.is_integer() or column.dtype == polars.String) or table.rows is None:
        return None
    start = column.head(1).cast(polars.Int64, strict=False)[0]
    rows = table.rows + before
    begins = None if start is None else start - int(rows[0])
    if begins is None or begins not in ((0, 1) if first is None else (first,)):
        return None
    values = column.cast(polars.Int64, strict=False)
    if values.null_count() or not np.array_equal(values.to_numpy(), rows + begins):
        return None
    return begins, values[0], values[-1]


def _whole_numbers(column: pl.Series) -> pl.Series | None:
    """Return a column as whole numbers if its first cells may count rows."""
    polars = require("polars", "cli", "Reading tables")
    if not (column.dtype.is_integer() or column.dtype == polars.String):
        return None
    start = column.head(2).cast(polars.Int64, strict=False)
    if start.null_count() or len(start) < 2 or start[1] <= start[0]:
        return None
    values = column.cast(polars.Int64, strict=False)
    return None if values.null_count() else values


def print_other_types(table: NamedTable, error: UnreadableColumns, said: dict[str, str]) -> None:
    """Print what columns are taken for, where some cannot be read; the error says why."""
    unknown = dict.fromkeys(error.names, "cannot be read")
    print_types(table, error.readable, {**said, **unknown})
    sys.stdout.flush()


def print_types(table: NamedTable, X: Features, said: dict[str, str]) -> None:
    """Print what each column is taken for; `said` has what is no feature."""
    facts = []
    gaps = X.missing()
    features = set(X.frame.columns)
    sources = {found[0] for found in map(source_of, X.frame.columns) if found is not None}
    for name in table.frame.columns:
        if name in features:
            facts.append((listed(name), _taken_for(X, name, gaps.get(name, 0))))
        elif name in said:
            facts.append((listed(name), said[name]))
        elif name in sources:
            facts.append((listed(name), "dates, of which columns are made"))
        else:
            facts.append((listed(name), "left out"))
    print_facts(facts)


def _taken_for(X: Features, name: str, missing: int) -> str:
    """Say whether a column is numbers or categories, and which."""
    column = X.frame[name]
    if missing == len(column):
        return "empty"
    if name in X.qualitative:
        levels = column.drop_nulls().unique().sort().to_list()
        few = ", ".join(listed(level) for level in levels[:MOST_LEVELS])
        more = ", ..." if levels[MOST_LEVELS:] else ""
        text = f"{counted(len(levels), 'category', 'categories')}: {few}{more}"
    else:
        known = column.drop_nans().to_numpy()
        text = f"numbers, {known.min():,.6g} to {known.max():,.6g}"
    return f"{text}; {missing:,} missing" if missing else text
