"""A table that was read, and what is taken from it: words, classes, columns by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.cli._errors import Trouble, counted, did_you_mean, listed, nearest
from obliqua.cli._labels import is_whole, labels_of_text
from obliqua.cli._numbers import MISSING_WORDS, TRUTH_WORDS, parse
from obliqua.cli._output import counted_here
from obliqua.select.task import MANY_CLASSES

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class NamedTable:
    """A table with names.

    Parameters
    ----------
    frame : polars.DataFrame
        The rows.
    source : str
        What messages call it.
    rows : ndarray of int64, default=None
        The number of each row in the file, from 0, where some have been left out.
    offset : int, default=None
        What makes a line number of such a number; `None` if lines and rows differ.
    typed : bool, default=False
        Whether the file has types of its own; otherwise all columns are text, as in the file.
    decimal_comma : bool, default=False
        Whether 1,234 is 1.234 rather than 1234, if nothing in its column tells.
    dates : {"dmy", "mdy"} or None, default=None
        Whether the day or the month stands first in 3/4/2024, if a user says so.
    ways : dict, default=None
        Of a part of a table: in which ways the numbers and dates of columns were written in the
        parts before.
    files : tuple, default=()
        Of a table in several files: for each the number of its first row, and its path.
    """

    frame: pl.DataFrame
    source: str
    rows: Int64Array | None = None
    offset: int | None = None
    typed: bool = False
    decimal_comma: bool = False
    dates: str | None = None
    ways: dict[str, Any] | None = None
    files: tuple[tuple[int, str], ...] = ()

    def filtered(self, keep: AnyArray) -> NamedTable:
        """Return the table with some of its rows."""
        polars = require("polars", "cli", "Reading tables")
        rows = np.arange(self.frame.height) if self.rows is None else self.rows
        return replace(self, frame=self.frame.filter(polars.Series(keep)), rows=rows[keep])

    def where(self, row: int) -> str:
        """Say where a row is in the file, and in which of several."""
        place, path = row if self.rows is None else int(self.rows[row]), ""
        if self.files:
            first, path = max(file for file in self.files if file[0] <= place)
            place -= first
        line = "" if self.offset is None else f" (line {place + self.offset})"
        return f"row {place + 1}{line}{path and f' of {path}'}"

    def require(self, names: Iterable[str], option: str) -> None:
        """Refuse names that no column has."""
        known = self.frame.columns
        missing = [name for name in names if name not in known]
        if not missing:
            return
        if len(known) == 1:
            hint = " Is the delimiter right? Say it with --delimiter."
        else:
            hint = did_you_mean(missing[0], known)
        raise Trouble(
            f"{option}: {self.source} has no column {listed(missing)}.{hint} "
            f"Its columns are {listed(known)}."
        )

    def without_missing(self, target: str, drop: bool) -> NamedTable:
        """Return the table without rows that have no class; they are an error unless dropped."""
        missing = self.frame[target].is_null()
        n = int(missing.sum())
        if n == 0:
            return self
        if not drop:
            first = self.where(int(missing.arg_true()[0]))
            raise Trouble(
                f"The target {target!r} is empty in {counted_here(n, 'row')}, first in {first}. "
                "Fill it in, or leave such rows out with --drop-missing-target."
            )
        if n == self.frame.height:
            raise Trouble(f"The target {target!r} is empty in all rows.")
        return self.filtered((~missing).to_numpy())

    def is_quantity(self, target: str) -> bool:
        """Say whether a column is numbers rather than classes: fractions, or very many values."""
        polars = require("polars", "cli", "Reading tables")
        column = self.frame[target]
        if not self.typed:
            words = column.drop_nulls()
            words = words.filter(~words.str.to_lowercase().is_in(MISSING_WORDS))
            if words.str.contains(r"^[-+]?\d+$").all():  # long ones, and 007, are names
                padded = words.str.contains(r"^[-+]?0\d").any()
                return not padded and words.n_unique() > MANY_CLASSES
            column, bad, *_ = parse(words, self.decimal_comma)
            truth = words.str.to_lowercase().is_in(TRUTH_WORDS).any()
            if truth or 2 * bad.sum() > len(words):  # few words among numbers are a mistake
                return False
        if not (column.dtype.is_numeric() or column.dtype.is_decimal()):
            return False
        values = column.cast(polars.Float64).drop_nulls().drop_nans()
        whole = is_whole(values.to_numpy())
        return not whole.all() or values.n_unique() > MANY_CLASSES

    def count_whole_numbers(self, target: str) -> int:
        """Return how many different whole numbers a column has; 0 if it has anything else."""
        polars = require("polars", "cli", "Reading tables")
        words = self.frame[target].drop_nulls().cast(polars.String)
        words = words.filter(~words.str.to_lowercase().is_in(MISSING_WORDS))
        whole = words.str.contains(r"^[-+]?(0|[1-9]\d*)(\.0+)?$").all()
        return words.n_unique() if whole else 0

    def without_words(self, target: str) -> NamedTable:
        """Return the table with empty cells where a numeric column says NA and the like."""
        polars = require("polars", "cli", "Reading tables")
        column = self.frame[target]
        if not self.typed:
            gone = column.str.to_lowercase().is_in(MISSING_WORDS)
        elif column.dtype.is_float():
            gone = column.is_nan()
        else:
            return self
        kept = polars.when(~gone).then(polars.col(target)).alias(target)
        return replace(self, frame=self.frame.with_columns(kept))

    def labels(self, target: str) -> AnyArray:
        """Return a column as classes: text, whole numbers or truth values."""
        polars = require("polars", "cli", "Reading tables")
        column = self.frame[target]
        if not self.typed:
            labels = labels_of_text(column)
            if labels is not None:
                return labels
            column = column.cast(polars.Float64)
        if column.dtype.is_integer() and str(column.dtype).endswith("128"):
            column = column.cast(polars.String)  # NumPy has no integers of 128 bits
        if column.dtype.is_integer() or column.dtype == polars.Boolean:
            return np.asarray(column.to_numpy())
        if column.dtype in (polars.String, polars.Categorical, polars.Enum):
            return np.array(column.cast(polars.String).to_list(), dtype=str)
        if not (column.dtype.is_float() or column.dtype.is_decimal()):
            raise Trouble(
                f"The target {target!r} is of type {column.dtype}. Classes are text, whole "
                "numbers or truth values."
            )
        values: FloatArray = column.cast(polars.Float64).to_numpy()
        whole = is_whole(values)
        if not whole.all():
            row = int(np.argmin(whole))
            raise Trouble(
                f"The target {target!r} is a quantity and not a class: it is {values[row]:g} in "
                f"{self.where(row)}. Classes are text or whole numbers; make classes of it first, "
                "or choose another target. Numbers are learnt if neither --task nor the method "
                "asks for classes."
            )
        return values.astype(np.int64)


def choose_features(
    table: NamedTable, taken: Sequence[str], features: list[str] | None, drop: list[str] | None
) -> list[str]:
    """Return the columns to learn from."""
    if features is not None and drop is not None:
        raise Trouble("--features says what to use, --drop what not to; give one of them.")
    for option, names in (("--features", features), ("--drop", drop)):
        _check_commas(table, names or [], option)
        table.require(names or [], option)
        both = [name for name in names or [] if name in taken]
        if both:
            raise Trouble(
                f"{option} names {listed(both)}, which is the target or the weight, and no "
                f"feature anyway. Leave it out of {option}, or choose another target."
            )
    left_out = {*taken, *(drop or [])}
    chosen = features or [name for name in table.frame.columns if name not in left_out]
    if not chosen:
        raise Trouble(f"{table.source} has no column left to learn from beside {listed(taken)}.")
    return chosen


def _check_commas(table: NamedTable, names: Sequence[str], option: str) -> None:
    """Say how a name with a comma in it is written, if it was taken for several."""
    known = table.frame.columns
    if all(name in known for name in names):
        return
    for column in known:
        if "," in column and all(part.strip() in names for part in column.split(",")):
            quoted = column.replace('"', '""')
            raise Trouble(
                f"{option}: {column!r} was read as several names. A name with a comma in it "
                f"stands in quotes: {option} '\"{quoted}\"'"
            )


def choose_known(
    table: NamedTable, known: Sequence[str], named: bool
) -> tuple[NamedTable, list[str]]:
    """Find the columns that a model knows, by name, or make them of dates.

    The result is the table with all of them, and the columns that are not used.
    """
    from obliqua.cli._dates import with_known_parts

    there = table.frame.columns
    table, dates = with_known_parts(table, known)
    used, has = {*known, *dates}, set(table.frame.columns)
    missing = [name for name in known if name not in has]
    others = [name for name in there if name not in used]
    if not missing:
        return table, others
    pairs = [(name, nearest(name, others)) for name in missing]
    means = [f"{near!r} for {name!r}" for name, near in pairs if near is not None]
    hint = f" Did you mean {', '.join(means)}?" if means else ""
    if not named:
        hint = " The model was fitted without names, so it has made some up; use them."
    raise Trouble(
        f"{table.source} lacks {counted(len(missing), 'column')} that the model needs: "
        f"{listed(missing, len(missing))}.{hint} It has the columns {listed(there)}."
    )
