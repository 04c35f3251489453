"""What the columns of a table are: found out or given, or what a model knows them as.

Columns are numeric or qualitative. In a CSV file all is text, so it is found out from all cells
of a column; a Parquet file has types of its own. Where that would be a guess, a user is asked.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

import click

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.cli._command import quoted
from obliqua.cli._dates import doubt, foreign_months
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._labels import level_places
from obliqua.cli._numbers import YES_NO, ReadNumbers, differ, parse, traits
from obliqua.cli._output import counted_here, note
from obliqua.cli._table import NamedTable
from obliqua.data.encoding import Column
from obliqua.data.rare_levels import FEW_LEVELS, FEW_ROWS, MIN_ROWS
from obliqua.io.values import text_of

if TYPE_CHECKING:
    import polars as pl

NUMERIC, QUALITATIVE = "numeric", "qualitative"
MOST_PROBLEMS = 5  # columns that a message names
WHOLE = r"^(0|-?[1-9]\d{0,17})$"  # a number that is written back as the same text
PADDED = r"^[-+]?0\d+$"


@dataclass(frozen=True)
class ColumnChoice:
    """What a user says of the columns.

    Parameters
    ----------
    categorical, numeric : tuple of str
        Columns that are to be qualitative, and numeric.
    features : tuple of str
        The columns to use, if they were named: those are not left out.
    """

    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: dict[str, Any]) -> ColumnChoice:
        """Take it from the options of a command."""
        return cls(*(tuple(given[name] or ()) for name in ("categorical", "numeric", "features")))


@dataclass(frozen=True, eq=False)
class Features:
    """Columns to learn from.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns. Numeric ones are Float64, NaN where missing; qualitative ones are text, or
        what a Parquet file has there, null where missing.
    qualitative : tuple of str
        The names of the qualitative ones.
    given : bool
        Whether the types of `frame` do not say which columns are qualitative.
    """

    frame: pl.DataFrame
    qualitative: tuple[str, ...]
    given: bool

    def part(self, rows: Any) -> Features:
        """Return some of the rows."""
        return self if rows.all() else replace(self, frame=self.frame.filter(rows))

    def columns(self) -> list[Column]:
        """Return what another table must be read as."""
        found = []
        for column in self.frame.get_columns():
            if column.name in self.qualitative:
                levels = tuple(column.drop_nulls().unique().sort().to_list())
                found.append(Column(column.name, QUALITATIVE, levels))
            else:
                found.append(Column(column.name))
        return found

    def empty(self) -> list[str]:
        """Return the columns without any value, of which nobody knows what they are."""
        return [name for name, count in self.missing().items() if count == self.frame.height]

    def with_levels(self) -> list[str]:
        """Return the qualitative columns that have values."""
        return [name for name in self.qualitative if self.frame[name].count()]

    def missing(self) -> dict[str, int]:
        """Return how many cells are missing in the columns where some are."""
        counts = {
            column.name: int(column.null_count())
            if column.name in self.qualitative
            else int(column.is_nan().sum())
            for column in self.frame.get_columns()
        }
        return {name: count for name, count in counts.items() if count}


@dataclass(frozen=True)
class UnreadableColumn:
    """Why a column cannot be read.

    Parameters
    ----------
    name : str
        The column.
    text : str
        What is wrong with it.
    word : str, default=None
        A text in it that might stand for a missing value.
    category : bool, default=False
        Whether it might be meant as a category.
    useless : bool, default=False
        Whether leaving it out is a way.
    """

    name: str
    text: str
    word: str | None = None
    category: bool = False
    useless: bool = False


# --- columns to learn from -------------------------------------------------------------------


class UnreadableColumns(Trouble):
    """Some columns cannot be read.

    Parameters
    ----------
    message : str
        What is wrong with them, and what can be done.
    readable : Features
        The others.
    names : tuple of str
        Which they are.
    """

    def __init__(self, message: str, readable: Features, names: tuple[str, ...]) -> None:
        super().__init__(message)
        self.readable = readable
        self.names = names


def infer(
    table: NamedTable, names: Sequence[str], choice: ColumnChoice, all_rows: bool = True
) -> Features:
    """Find out what columns are, unless that is given; leave out texts that are never twice.

    Whether they are, only all rows tell.
    """
    check_choice(table, names, choice)
    columns: list[pl.Series] = []
    problems: list[UnreadableColumn] = []
    qualitative: list[str] = []
    for name in names:
        if name in choice.categorical:
            kind, problem = QUALITATIVE, _no_category(table, name)
        elif name in choice.numeric:
            kind, problem = NUMERIC, None
        else:
            kind, problem = _kind(table, name)
        if problem is None and kind == NUMERIC:
            column, problem = numbers(table, name)
        else:
            column = levels_of(table, name)
        if problem is not None:
            problems.append(problem)
            continue
        columns.append(column)
        qualitative += [name] if kind == QUALITATIVE else []
    named = {*choice.categorical, *choice.features}
    left_out = [
        column.name
        for column in columns
        if column.name in qualitative and column.name not in named and _tells_rows_apart(column)
    ]
    if all_rows and len(left_out) < len(columns):  # one that is alone stays
        columns = [column for column in columns if column.name not in left_out]
        qualitative = [name for name in qualitative if name not in left_out]
        for name in left_out:
            _say_what_tells_rows_apart(table, name)
    polars = require("polars", "cli", "Reading tables")
    given = any(not _is_text(column) for column in columns if column.name in qualitative)
    features = Features(polars.DataFrame(columns), tuple(qualitative), given)
    if problems:
        text = message_of(
            table, "not all columns can be used as they are.", problems, fitting=True
        )
        raise UnreadableColumns(text, features, tuple(problem.name for problem in problems))
    for column in columns:
        if column.name in qualitative:
            _say_what_is_odd(table, column, column.name in choice.categorical)
        else:
            _say_what_is_missing(table, column)
    return features


def _tells_rows_apart(column: pl.Series) -> bool:
    """Say whether a column of text has so many levels that trees would take all of them for one.

    If cells are missing it tells which, and stays.
    """
    if not _is_text(column) or column.null_count():
        return False
    counts = column.value_counts()["count"]
    return tell_rows_apart(counts.to_numpy(), len(column))


def tell_rows_apart(counts: AnyArray, n_rows: int) -> bool:
    """Say whether levels are so many, each of so few rows, that trees would take them for one."""
    many = len(counts) > FEW_LEVELS and n_rows <= FEW_ROWS * len(counts)
    return bool(many and counts.max() < MIN_ROWS)


def _say_what_tells_rows_apart(table: NamedTable, name: str) -> None:
    words = table.frame[name]
    say_what_tells_rows_apart(name, words.n_unique(), len(words), foreign_months(words))


def say_what_tells_rows_apart(name: str, n_texts: int, n_rows: int, example: str | None) -> None:
    """Say that a column of text is left out; `example`: a cell that may be a date."""
    if example is None:
        why = "tell rows apart and say nothing of new ones"
    else:
        why = f"may be dates, {example!r}, but of names of months only English ones are read"
    note(
        f"Column {name!r} has {n_texts:,} different texts in {n_rows:,} rows, which "
        f"{why}; it is left out. --categorical {quoted(name)} keeps it."
    )


def check_choice(table: NamedTable, names: Sequence[str], choice: ColumnChoice) -> None:
    both = [name for name in choice.categorical if name in choice.numeric]
    if both:
        raise click.UsageError(f"--categorical and --numeric both name {listed(both)}.")
    for option in ("categorical", "numeric"):
        asked = getattr(choice, option)
        table.require(asked, f"--{option}")
        others = [name for name in asked if name not in names]
        if others:
            raise Trouble(f"--{option} names {listed(others)}, which is no feature of this fit.")


def _kind(table: NamedTable, name: str) -> tuple[str, UnreadableColumn | None]:
    """Say what a column is, or that nobody knows."""
    polars = require("polars", "cli", "Reading tables")
    column = table.frame[name]
    if table.typed or not _is_text(column):  # the parts of dates are numbers
        if _is_text(column):
            return QUALITATIVE, None
        if column.dtype == polars.Null or _is_number(column):
            return NUMERIC, None
        return QUALITATIVE, _no_category(table, name)
    if column.null_count() == len(column):
        return QUALITATIVE, None  # nobody knows; no split will use it
    values, bad, *_ = parse(column, table.decimal_comma)
    if not bad.any():  # a column of NA and the like alone is one of words
        words = values.is_nan().all() or _is_yes_no(column) or _is_padded(column)
        return QUALITATIVE if words else NUMERIC, None
    if bad.sum() <= values.is_not_nan().sum():
        problem = _about_text(table, name, column, bad)
        return NUMERIC, replace(problem, category=True, useless=True)
    trouble = doubt(table, name)
    if trouble is None:
        return QUALITATIVE, None
    return QUALITATIVE, UnreadableColumn(name, *trouble, category=True, useless=True)


def _is_yes_no(column: pl.Series) -> bool:
    numeric = column.drop_nulls()[0][0] in "0123456789.,+-$€£¥"  # and so are the others
    return not numeric and bool(column.str.to_lowercase().is_in(YES_NO).any())


def _is_padded(column: pl.Series) -> bool:
    """Say whether all cells are whole numbers, some of them with zeros in front, as codes have."""
    known = column.drop_nulls()
    return bool(known.str.contains(PADDED).any() and known.str.contains(r"^\d+$").all())


def _no_category(table: NamedTable, name: str) -> UnreadableColumn | None:
    column = table.frame[name]
    if _is_text(column) or _is_number(column) or str(column.dtype) == "Null":
        return None
    return UnreadableColumn(name, f"column {name!r} is of type {column.dtype}", useless=True)


def levels_of(table: NamedTable, name: str) -> pl.Series:
    """Return a qualitative column: text, or numbers if the text is that of whole numbers."""
    polars = require("polars", "cli", "Reading tables")
    column = table.frame[name]
    if column.dtype.is_float():
        return column.fill_nan(None)
    if column.dtype.is_decimal():
        return column.cast(polars.Float64)
    if not _is_text(column):
        return column.cast(polars.String) if str(column.dtype).endswith("128") else column
    words = column.cast(polars.String)
    present = words.drop_nulls()
    if not table.typed and len(present) and present.str.contains(WHOLE).all():
        return words.cast(polars.Int64)
    return words


def _say_what_is_missing(table: NamedTable, column: pl.Series) -> None:
    """Say if words stand for missing numbers."""
    words = table.frame[column.name]
    if _is_text(words):
        gone = words.filter(column.is_nan() & words.is_not_null())
        if len(gone):
            cells = counted_here(len(gone), "cell")
            note(f"Column {column.name!r}: {listed(gone.unique().sort())} is missing ({cells}).")


def _say_what_is_odd(table: NamedTable, column: pl.Series, chosen: bool) -> None:
    """Say if a qualitative column is of no use, or may be meant as numbers."""
    name = column.name
    if column.null_count() == len(column):
        note(f"Column {name!r} is empty in all rows; no split uses it.")
    elif chosen or str(column.dtype) != "String":
        return
    elif table.typed:
        if not parse(column)[1].any():
            note(f"Column {name!r} is text, though of numbers only; --numeric makes it numeric.")
    elif (example := foreign_months(column)) is not None:
        note(
            f"Column {name!r} may be dates, {example!r}, but of names of months only English ones "
            "are read; it is taken for categories."
        )
    elif _is_padded(column):
        word = column.filter(column.str.contains(PADDED))[0]
        note(
            f"Column {name!r}: {word!r} has zeros in front, as codes have; it is taken for "
            "categories, --numeric makes numbers of it."
        )


# --- columns as a model knows them -----------------------------------------------------------


def read_as(table: NamedTable, columns: Sequence[Column], gaps: bool = True) -> pl.DataFrame:
    """Read columns as a model knows them, whatever they would be taken for in this table alone."""
    polars = require("polars", "cli", "Reading tables")
    series: list[pl.Series] = []
    problems: list[UnreadableColumn] = []
    unknown: list[str] = []
    folded: list[str] = []
    lacking = ""
    for known in columns:
        if known.kind == QUALITATIVE:
            problem = _no_category(table, known.name)
            one, strange, alike = _matched(table, known) if problem is None else (None, "", "")
            unknown += [strange] if strange else []
            folded += [alike] if alike else []
            missing = None if one is None else one.is_null()
        else:
            one, problem = numbers(table, known.name)
            missing = one.is_nan()
        if problem is None and not gaps and missing is not None and missing.any():
            problem = _gaps(table, known.name, missing)
            lacking = "The model has no way for what is missing."
        series += [] if one is None else [one]
        problems += [] if problem is None else [problem]
    if problems:
        text = "not all columns can be read as the model needs them."
        raise Trouble(message_of(table, text, problems, more=lacking))
    for texts in (folded, unknown):
        for text in texts[:MOST_PROBLEMS]:
            note(text)
        if len(texts) > MOST_PROBLEMS:
            note(f"So it is in {counted(len(texts) - MOST_PROBLEMS, 'more column')}.")
    return polars.DataFrame(series)


def _matched(table: NamedTable, known: Column) -> tuple[pl.Series, str, str]:
    """Return a column with the levels of a model; what is not found; what is written otherwise."""
    polars = require("polars", "cli", "Reading tables")
    name = known.name
    column = table.frame[name]
    if column.dtype.is_float():
        column = column.fill_nan(None)
    words = column.cast(polars.String)
    different = words.drop_nulls().unique().sort()
    places = level_places(known.levels, different.to_list())
    pairs = list(zip(different, places, strict=True))
    strange = [word for word, place in pairs if place < 0]
    text = alike = ""
    if strange and not known.others:
        n = int(words.is_in(strange).sum())
        have = counted_here(n, "row has a level", "rows have levels")
        text = f"Column {name!r}: {have} that the model does not know: {listed(strange, 5)}."
    other = [(w, text_of(known.levels[p])) for w, p in pairs if p >= 0]
    other = [(word, level) for word, level in other if word != level]
    if other and not table.typed:
        more = f", and {counted(len(other) - 1, 'more')} in the same way" if other[1:] else ""
        alike = f"Column {name!r}: {other[0][0]!r} is read as the level {other[0][1]}{more}."
    # A word among numbers is a level that the model does not know; any number that is none of
    # its levels says so.
    numeric = known.text is False
    stranger = next(n + 0.5 for n in count() if n + 0.5 not in known.codes) if numeric else None
    values = {
        word: known.levels[place] if place >= 0 else word if stranger is None else stranger
        for word, place in pairs
    }
    if all(isinstance(level, str) for level in known.levels):
        old, new = list(values), list(values.values())
        return (
            words.replace_strict(old, new, default=None, return_dtype=polars.String),
            text,
            alike,
        )
    entries = [None if word is None else values[word] for word in words]
    return polars.Series(name, entries, dtype=polars.Object), text, alike


# --- numbers ---------------------------------------------------------------------------------


def plain_numbers(
    table: NamedTable,
    names: Sequence[str],
    what: str,
    more: str = "",
    needed: bool = False,
) -> pl.DataFrame:
    """Return columns as finite numbers, or say which are none; `needed` ones cannot be dropped."""
    polars = require("polars", "cli", "Reading tables")
    columns: list[pl.Series] = []
    problems: list[UnreadableColumn] = []
    for name in names:
        column, problem = numbers(table, name)
        if problem is None and column.is_nan().any():
            problem = _gaps(table, name, column.is_nan())
        columns.append(column)
        if problem is not None:
            problems.append(replace(problem, word=None))
    if problems:
        fitting = bool(more) and not needed
        text = f"{what} must be numbers, without gaps."
        raise Trouble(message_of(table, text, problems, fitting, more))
    return polars.DataFrame(columns)


def numbers(table: NamedTable, name: str) -> tuple[pl.Series, UnreadableColumn | None]:
    """Return a column as Float64, NaN where missing, and what is wrong with it."""
    polars = require("polars", "cli", "Reading tables")
    column = table.frame[name]
    if _is_text(column):
        words = column.cast(polars.String)
        parsed = parse(words, table.decimal_comma)
        column, bad, dressed = parsed.values, parsed.bad, parsed.dressed
        if bad.any():
            return column, _about_text(table, name, words, bad)
        if table.ways is not None:
            _check_ways(table, name, words, parsed)
        if dressed.any():
            row = int(dressed.arg_true()[0])
            note(f"Column {name!r}: {words[row]!r} is read as {column[row]:.15g}.")
    elif _is_number(column) or column.dtype == polars.Null:
        column = column.cast(polars.Float64).fill_null(float("nan"))
    else:
        return column, UnreadableColumn(
            name, f"column {name!r} is of type {column.dtype}", useless=True
        )
    endless = column.is_infinite()
    if endless.any():
        row = int(endless.arg_true()[0])
        found = counted(int(endless.sum()), "value that is", "values that are")
        text = f"column {name!r} has {found} not finite, first {column[row]} in {table.where(row)}"
        return column, UnreadableColumn(name, text)
    return column, None


def _check_ways(table: NamedTable, name: str, words: pl.Series, found: ReadNumbers) -> None:
    """Refuse a column whose parts are written in ways that mean different numbers."""
    assert table.ways is not None
    new = traits(words, found)
    known = table.ways.get(name, frozenset()) | new
    if differ(known):
        row = int((found.values.is_not_nan()).arg_true()[0])
        raise Trouble(
            f"{table.source}: the numbers of column {name!r} are written in another way from "
            f"{table.where(row)} on, {words[row]!r}, than before. Read part by part, all numbers "
            "of a column must be written in one way; write them plainly, as 1234.5."
        )
    table.ways[name] = known


def _about_text(
    table: NamedTable, name: str, words: pl.Series, bad: pl.Series
) -> UnreadableColumn:
    row, n = int(bad.arg_true()[0]), int(bad.sum())
    example = f"{_short(words[row])} in {table.where(row)}"
    if 2 * n > len(words) - int(words.null_count()):
        text = f"column {name!r} holds text, for instance {example}"
        return UnreadableColumn(name, text, words[row], useless=True)
    value = counted(n, "value that is no number", "values that are no numbers")
    text = f"column {name!r} has {value}, first {example}"
    return UnreadableColumn(name, text, words[row])


def _gaps(table: NamedTable, name: str, missing: pl.Series) -> UnreadableColumn:
    cells = counted(int(missing.sum()), "empty cell")
    where = table.where(int(missing.arg_true()[0]))
    return UnreadableColumn(name, f"column {name!r} has {cells}, first in {where}")


def _is_text(column: pl.Series) -> bool:
    polars = require("polars", "cli", "Reading tables")
    return column.dtype in (polars.String, polars.Categorical, polars.Enum)


def _is_number(column: pl.Series) -> bool:
    return bool(column.dtype.is_numeric() or str(column.dtype) == "Boolean")


def _short(word: str) -> str:
    return repr(word if len(word) <= 40 else word[:37] + "...")


def message_of(
    table: NamedTable,
    title: str,
    problems: list[UnreadableColumn],
    fitting: bool = False,
    more: str = "",
) -> str:
    """Say what is wrong with columns, and what can be done."""
    rest = len(problems) - MOST_PROBLEMS
    lines = [f"{table.source}: {title}"]
    lines += [f"  {problem.text}" for problem in problems[:MOST_PROBLEMS]]
    lines += [f"  ... and {counted(rest, 'more column')}"] if rest > 0 else []
    told = len(lines)
    words = dict.fromkeys(problem.word for problem in problems if problem.word is not None)
    if words:
        said = " ".join(f"--missing {shlex.quote(word)}" for word in list(words)[:MOST_PROBLEMS])
        lines.append(f"If that text stands for a missing value: {said}")
    for what, option, names in (
        ("If they are categories", "categorical", [p.name for p in problems if p.category]),
        ("To leave them out", "drop", [p.name for p in problems if p.useless]),
    ):
        if fitting and names:
            lines.append(f"{what}: --{option} {','.join(map(quoted, names))}")
    if len(lines) == told:  # no option helps
        lines.append("Replace such values, or leave their rows or their column out.")
    return "\n".join([*lines, more] if more else lines)
