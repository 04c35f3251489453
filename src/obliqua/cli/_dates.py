"""Dates in a table: found out, and made into columns of numbers, when fitting and when predicting.

A CSV file has them as text. All cells of a column must be written in the same way. Whether the day
or the month stands first in 3/4/2024 is found out from the other cells of the column, or asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from obliqua._extras import require
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._numbers import MISSING_WORDS
from obliqua.cli._output import note
from obliqua.cli._table import NamedTable
from obliqua.data.dates import DAYS, Instants, instants, part_name, source_of

if TYPE_CHECKING:
    import polars as pl

CLOCK = (
    r"(?P<h>\d{1,2}):(?P<min>\d{2})(?::(?P<s>\d{2}(?:\.\d+)?))?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
)
ZONE = r"(?: ?(?:Z|UTC|GMT|[+-]\d{2}:?\d{2}))?"
TIME = rf"(?:(?:T|,? +){CLOCK}{ZONE})?$"
WORD = r"(?P<word>[A-Za-z]{3,9})\.?"
LAYOUTS = {
    "ymd": rf"^(?P<y>\d{{4}})[-/.](?P<m>\d{{1,2}})[-/.](?P<d>\d{{1,2}}){TIME}",
    "points": rf"^(?P<d>\d{{1,2}})\.(?P<m>\d{{1,2}})\.(?P<y>\d{{4}}|\d{{2}}){TIME}",
    "dmy": rf"^(?P<d>\d{{1,2}})[-/](?P<m>\d{{1,2}})[-/](?P<y>\d{{4}}|\d{{2}}){TIME}",
    "mdy": rf"^(?P<m>\d{{1,2}})[-/](?P<d>\d{{1,2}})[-/](?P<y>\d{{4}}|\d{{2}}){TIME}",
    "d month y": rf"^(?P<d>\d{{1,2}})[-/. ]+{WORD}[-/, ]+(?P<y>\d{{4}}|\d{{2}}){TIME}",
    "month d y": rf"^{WORD} (?P<d>\d{{1,2}}),? (?P<y>\d{{4}}){TIME}",
    "month": rf"^{WORD}[-/ ](?P<y>\d{{4}})$",
    "ym": r"^(?P<y>(?:19|20)\d{2})[-/](?P<m>\d{1,2})$",
    "compact": r"^(?P<y>(?:19|20)\d{2})(?P<m>[01]\d)(?P<d>[0-3]\d)$",
    "clock": rf"^{CLOCK}$",
}
# A look at few cells spares columns of anything else the work.
LOOKS_DATED = re.compile(
    r"\d[-/. ]+\w+[-/., ]+\d|\d:\d|[A-Za-z]{3}[-/ ]\d|^(?:19|20)\d\d(?:[-/]\d\d?|\d{4})$"
)
# Codes may be written like these, so that a single cell that is no date tells that none is.
STRICT = ("ym", "compact")
SAMPLE = 30
ORDERS = ("dmy", "mdy")
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
MONTH_NUMBERS = {
    **{name: number for number, name in enumerate(MONTHS, start=1)},
    **{name[:3]: number for number, name in enumerate(MONTHS, start=1)},
    "sept": 9,
}
FOREIGN = r"^\d{1,2}\.?[-/ ](?:de |di )?\p{L}{3,12}\.?[-/ ](?:de |di )?\d{4}"  # 1 août 2024
SHORT_YEAR = r"^(\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/. ]+[A-Za-z]{3,9})[-/., ]+\d{2}( |$)"
CENTURY = 69  # years of two digits are 1969 to 2068, as POSIX has it


class Reading(NamedTuple):
    """How the cells of a column are read as dates."""

    layout: str
    values: pl.Series  # Datetime, null where a cell is missing or is no date
    bad: pl.Series  # bool: which cells hold something else


def read_dates(words: pl.Series, order: str | None = None) -> list[Reading]:
    """Return the ways in which most cells of a column are dates, the best ones."""
    if not any(map(LOOKS_DATED.search, words.drop_nulls().head(SAMPLE).to_list())):
        return []
    gone = words.is_null() | words.str.to_lowercase().is_in(MISSING_WORDS).fill_null(value=False)
    known = words.filter(~gone)
    found: list[Reading] = []
    n_bad = len(known) // 2 + 1  # more would be no column of dates
    for layout, pattern in LAYOUTS.items():
        if order is not None and layout in ORDERS and layout != order:
            continue
        if not known.str.contains(pattern).any():
            continue
        values = _parsed(words, layout)
        bad = values.is_null() & ~gone
        if layout in STRICT and bad.any():
            continue
        if int(bad.sum()) < n_bad:
            n_bad, found = int(bad.sum()), []
        new = not found or not found[0].values.equals(values)
        if new and int(bad.sum()) == n_bad and n_bad <= len(known) // 2:
            found.append(Reading(layout, values, bad))
    return found


def _parsed(words: pl.Series, layout: str) -> pl.Series:
    """Read cells that are written in one way; null where that fails."""
    polars = require("polars", "cli", "Reading tables")
    groups = words.str.extract_groups(LAYOUTS[layout]).struct.unnest()
    column = polars.col

    def group(name: str, default: int) -> pl.Expr:
        if name not in groups.columns:
            return polars.lit(default, dtype=polars.Float64)
        return column(name).cast(polars.Float64, strict=False)

    year = group("y", 1970)
    if layout != "clock":
        short = column("y").str.len_chars() == 2
        year = year + polars.when(short).then(
            polars.when(year < CENTURY).then(2000).otherwise(1900)
        ).otherwise(0)
    month = group("m", 1)
    if "word" in groups.columns:
        month = column("word").str.to_lowercase()
        names, numbers = list(MONTH_NUMBERS), list(MONTH_NUMBERS.values())
        month = month.replace_strict(names, numbers, default=None).cast(polars.Float64)
    hour, minute, second = (group(name, 0).fill_null(0) for name in ("h", "min", "s"))
    if "half" in groups.columns:
        half = column("half").str.to_lowercase()
        twelve = polars.when(half == "p").then(12).otherwise(0)
        hour = polars.when(half.is_null()).then(hour).when(hour <= 12).then(hour % 12 + twelve)
    parts = {"y": year, "m": month, "d": group("d", 1), "h": hour, "min": minute}
    whole = {name: one.cast(polars.Int64, strict=False) for name, one in parts.items()}
    text = polars.format("{}-{}-{} {}:{}", *whole.values())
    moment = text.str.to_datetime("%Y-%m-%d %H:%M", time_unit="us", strict=False)
    moment = moment + polars.duration(microseconds=(second * 1e6).round().cast(polars.Int64))
    there = words.str.contains(LAYOUTS[layout]).fill_null(value=False)
    found = groups.select(
        polars.when(there & polars.lit(True) & (second < 60)).then(moment).alias("found")
    )
    return found.to_series().alias(words.name)


class Dated(NamedTuple):
    """A column of dates."""

    instants: Instants
    assumed: str  # in words
    layout: str  # how they are written; "" where they are no text


def instants_of(column: pl.Series, order: str | None) -> Dated | None:
    """Look at a column, which may be text, as dates; None if it is none, or in doubt."""
    if column.dtype.is_temporal():
        found = instants(column)
        return None if found is None else Dated(found, "", "")
    if not _is_text(column):
        return None
    readings = read_dates(column, order)
    if len(readings) != 1 or readings[0].bad.any():
        return None
    layout, values, _ = readings[0]
    found = Instants.of(values.to_numpy())
    if layout == "clock":
        return Dated(replace(found, parts=("hour",)), "", layout)
    if layout in ("month", "ym"):
        return Dated(replace(found, parts=("year", "month", DAYS)), "", layout)
    assumed = {
        "dmy": ", the day first,",
        "mdy": ", the month first,",
        "compact": " in whole numbers, year first,",
    }.get(layout, "")
    if column.str.contains(SHORT_YEAR).any():
        assumed += f" of 19{CENTURY} to 20{CENTURY - 1}"
    return Dated(found, assumed, layout)


def dates_of_part(table: NamedTable, name: str) -> Dated | None:
    """Look at a column as dates; in a part of a table, as dates were written in those before."""
    known = None if table.ways is None else table.ways.get(name)
    found = instants_of(table.frame[name], known if known in ORDERS else table.dates)
    if found is None or table.ways is None:
        return found
    if known is not None and known != found.layout:
        raise Trouble(
            f"{table.source}: the dates of column {name!r} are written in another way from "
            f"{table.where(0)} on than before. Read part by part, all dates of a column must be "
            "written in one way."
        )
    table.ways[name] = found.layout
    return found


def _is_text(column: pl.Series) -> bool:
    return str(column.dtype) == "String"


def doubt(table: NamedTable, name: str) -> tuple[str, str | None] | None:
    """Say why a column of text that looks like dates cannot be read as such, and for which word.

    None if it does not look like dates.
    """
    words = table.frame[name]
    readings = read_dates(words, table.dates)
    if not readings:
        return None
    bad = readings[0].bad
    if bad.any():
        row = int(bad.arg_true()[0])
        cells = counted(int(bad.sum()), "value that is none", "values that are none")
        text = (
            f"column {name!r} holds dates and {cells}, first {words[row]!r} in {table.where(row)}"
        )
        return text, words[row]
    row = int(words.is_not_null().arg_true()[0])
    text = (
        f"column {name!r} holds dates that may have the day or the month first, {words[row]!r} in "
        f"{table.where(row)}; say which with --dates dmy or --dates mdy"
    )
    return text, None


def foreign_months(words: pl.Series) -> str | None:
    """Return the first of cells most of which are dates with names of months that are not read."""
    named = words.str.contains(FOREIGN).fill_null(value=False)
    return words.filter(named)[0] if 2 * int(named.sum()) > words.count() else None


def with_date_parts(
    table: NamedTable, names: Sequence[str], skip: Sequence[str]
) -> tuple[NamedTable, list[str]]:
    """Put numbers in the place of columns to learn from that hold dates, and say so."""
    left, kept = set(skip), []
    made: list[pl.Series] = []
    taken = set(table.frame.columns)
    polars = require("polars", "cli", "Reading tables")
    for name in names:
        looked = None if name in left else dates_of_part(table, name)
        new = [] if looked is None else [part_name(name, part) for part in looked[0].parts]
        if looked is None or not taken.isdisjoint(new):
            kept.append(name)
            continue
        found, assumed, _ = looked
        values = [found.part(part) for part in found.parts]
        made += [polars.Series(one, value) for one, value in zip(new, values, strict=True)]
        kept += new
        note(f"Column {name!r} holds {_what(found)}{assumed} and becomes {listed(new)}.")
    if not made:
        return table, list(names)
    return replace(table, frame=table.frame.with_columns(made)), kept


def _what(found: Instants) -> str:
    if found.parts == ("hour",):
        return "times"
    return "durations" if found.parts == ("seconds",) else "dates"


def with_known_parts(table: NamedTable, known: Sequence[str]) -> tuple[NamedTable, set[str]]:
    """Make the parts of dates that a model knows and a table has as dates only.

    Also return the columns of dates.
    """
    polars = require("polars", "cli", "Reading tables")
    there = set(table.frame.columns)
    parts = [(name, source_of(name)) for name in known if name not in there]
    wanted = [(name, *of) for name, of in parts if of is not None and of[0] in there]
    sources = {source: dates_of_part(table, source) for _, source, _ in wanted}
    made = []
    for name, source, part in wanted:
        looked = sources[source]
        if table.ways is not None and not table.frame[source].count():
            made.append(polars.lit(None, polars.Float64).alias(name))  # no dates in this part
            continue
        if looked is None and _is_text(table.frame[source]):
            trouble = doubt(table, source)
            if trouble is not None:
                raise Trouble(f"{table.source}: {trouble[0]}.")
        if looked is not None and (part == "seconds") == (looked[0].values.dtype.kind == "m"):
            made.append(polars.Series(name, looked[0].part(part)))
    used = {
        source
        for source, looked in sources.items()
        if looked is not None or (table.ways is not None and not table.frame[source].count())
    }
    return (replace(table, frame=table.frame.with_columns(made)) if made else table), used
