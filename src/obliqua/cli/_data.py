"""Tables: CSV and Parquet, from files or from standard input, read into a polars frame."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import BoolArray
from obliqua.cli._errors import Trouble, counted, did_you_mean, listed
from obliqua.cli._labels import PLAIN_NUMBER
from obliqua.cli._memory import GZIP, PARQUET, check_can_be_read
from obliqua.cli._output import counted_here, note, quiet_native_code
from obliqua.cli._table import NamedTable

if TYPE_CHECKING:
    import polars as pl

DELIMITERS = ",;\t|"
MOST_COLUMNS = 100_000  # more take minutes, one at a time, and are hardly ever meant
SNIFFED = 20  # lines at which the delimiter is found out
ZIP = b"PK\x03\x04"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")


def read_table(
    path: str,
    delimiter: str | None = None,
    missing: Sequence[str] = (),
    dates: str | None = None,
    each_row: bool = False,
    fits: bool = False,
) -> NamedTable:
    """Read a table; refuse one that is too large for memory, unless it is known to fit."""
    source = "standard input" if path == "-" else path
    if not fits:
        check_can_be_read(path, source)
    raw = _raw(path)
    if raw.startswith(GZIP):
        try:
            raw = gzip.decompress(raw)
        except (OSError, EOFError, zlib.error) as error:
            raise Trouble(f"{source} cannot be unpacked: {error}.") from error
    if not raw.strip():
        raise empty(source)
    if raw.startswith(PARQUET):
        table = _parquet(raw, source)
    else:
        table = csv_table(raw, source, delimiter, each_row)
    if table.frame.height == 0:
        raise no_rows(table)
    found: set[str] = set()
    table = without_words(table, missing, found)
    say_what_is_not_found(source, missing, found)
    return replace(table, dates=dates)


def empty(source: str) -> Trouble:
    """Return what is said of a file without anything."""
    return Trouble(f"{source} is empty. A table has a header and at least one row.")


def no_rows(table: NamedTable) -> Trouble:
    """Return what is said of a table without rows."""
    return Trouble(
        f"{table.source} has {counted(table.frame.width, 'column')} but no rows: "
        f"{listed(table.frame.columns)}."
    )


def _raw(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    file = Path(path)
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise not_there(path) from error
    except IsADirectoryError as error:
        raise Trouble(f"{path} is a folder; name a CSV or Parquet file in it.") from error
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror or error}.") from error


def not_there(path: str) -> Trouble:
    """Return what is said of a file that is not there."""
    file = Path(path)
    try:
        beside = [other.name for other in file.parent.iterdir()]
    except OSError:
        beside = []
    return Trouble(f"{path} is not there.{did_you_mean(file.name, beside)}")


def _parquet(raw: bytes, source: str) -> NamedTable:
    polars = require("polars", "cli", "Reading Parquet")
    errors: tuple[type[BaseException], ...] = (
        *_errors(polars),
        OSError,
        ValueError,
        OverflowError,
    )
    try:
        with quiet_native_code():
            frame = polars.read_parquet(io.BytesIO(raw))
    except errors as error:
        raise Trouble(
            f"{source} begins like a Parquet file but cannot be read as one: {_first_line(error)}."
        ) from error
    check_width(frame.width, source)
    return NamedTable(frame, source, typed=True)


def check_width(width: int, source: str) -> None:
    if width > MOST_COLUMNS:
        raise Trouble(
            f"{source} has {width:,} columns, and the command takes at most {MOST_COLUMNS:,}. If "
            "its columns are meant as rows, turn it; or choose columns first. In Python, trees "
            "take matrices of any width."
        )


def _errors(polars: Any) -> tuple[type[BaseException], ...]:
    """Return what polars raises for data that it cannot read; a panic is no Exception."""
    return polars.exceptions.PolarsError, polars.exceptions.PanicException


def csv_table(
    raw: bytes, source: str, delimiter: str | None, each_row: bool, first: int = 0
) -> NamedTable:
    """Read all as text: what a column is depends on what it is wanted for.

    `first`: how many rows of the file stand before these.
    """
    polars = require("polars", "cli", "Reading CSV")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\n" not in raw:  # as old spreadsheets end lines
        raw = raw.replace(b"\r", b"\n")
    _check_text(raw, source, first)
    separator = delimiter or sniffed(raw)
    names = header_names(raw, source, separator)
    check_width(len(names), source)
    try:
        with quiet_native_code():
            frame = polars.read_csv(io.BytesIO(raw), separator=separator, infer_schema_length=0)
    except _errors(polars) as error:
        raise Trouble(_unreadable(raw, source, separator, len(names), error, first)) from error
    if frame.width != len(names):
        raise Trouble(
            f"{source} cannot be read: the header has {counted(len(names), 'name')}, but "
            f"{counted(frame.width, 'column')} were found. Check the quotes in it."
        )
    frame.columns = names
    if frame.width > 1 and frame[names[-1]].null_count():  # as a line that is too short has it
        _check_short_lines(raw, source, separator, len(names), first)
    frame = _stripped(frame)
    lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    rows = np.arange(first, first + frame.height)
    offset = 2 if lines == frame.height + 1 else None  # no line breaks within a row
    table = NamedTable(frame, source, rows, offset, decimal_comma=separator == ";")
    return _without_empty_rows(table, _blank_lines(raw, separator) if each_row else None)


def _stripped(frame: pl.DataFrame) -> pl.DataFrame:
    """Numbers and words are the same with spaces around them; nothing is the same as missing."""
    polars = require("polars", "cli", "Reading CSV")
    text = polars.col(polars.String).str.strip_chars()
    return frame.with_columns(polars.when(text != "").then(text).name.keep())


def without_words(table: NamedTable, missing: Sequence[str], found: set[str]) -> NamedTable:
    """Make cells empty that hold what stands for a missing value; tell what was found."""
    polars = require("polars", "cli", "Reading tables")
    words = [word.strip() for word in missing if word.strip()]
    if not words:
        return table
    numbers = [float(word) for word in words if PLAIN_NUMBER.fullmatch(word)]
    columns: list[pl.Series] = []
    for column in table.frame.get_columns():
        try:
            texts = column.cast(polars.String)
        except polars.exceptions.PolarsError:  # lists and the like
            columns.append(column)
            continue
        gone = texts.is_in(words).fill_null(value=False)
        found.update(texts.filter(gone).unique().to_list())
        if numbers:  # however they are written
            same = texts.cast(polars.Float64, strict=False).is_in(numbers).fill_null(value=False)
            found.update(word for word in words if PLAIN_NUMBER.fullmatch(word) and same.any())
            gone |= same
        if gone.any():
            column = polars.select(polars.when(~gone).then(column)).to_series().alias(column.name)
        columns.append(column)
    return replace(table, frame=polars.DataFrame(columns))


def say_what_is_not_found(source: str, missing: Sequence[str], found: set[str]) -> None:
    """Say which words for missing values no cell holds."""
    for word in (word.strip() for word in missing):
        if word and word not in found:
            note(f"{source}: no cell holds {word!r}, which --missing names.")


def _without_empty_rows(table: NamedTable, blank: Callable[[], BoolArray] | None) -> NamedTable:
    """Leave out rows without any value, or only those that are blank lines."""
    polars = require("polars", "cli", "Reading CSV")
    if table.frame.width == 1:
        return table  # a line without anything may well be a missing value
    some = table.frame.select(polars.any_horizontal(polars.all().is_not_null())).to_series()
    if table.frame.height == 0 or some.all():
        return table
    keep = some.to_numpy()
    if blank is not None:
        lines = blank()
        keep = keep | ~lines if len(lines) == len(keep) else np.ones_like(keep)
    empty = int((~keep).sum())
    if empty == 0:
        return table
    note(f"{table.source}: {counted_here(empty, 'line')} without any value left out.")
    return table.filtered(keep)


def _blank_lines(raw: bytes, separator: str) -> Callable[[], BoolArray]:
    """Return what says which lines below the header hold nothing, not even delimiters."""

    def lines() -> BoolArray:
        try:
            blank = [_is_blank(record) for record in _records(raw, separator)]
        except csv.Error:
            blank = []
        return np.array(blank[1:], dtype=bool)

    return lines


def _check_text(raw: bytes, source: str, first: int) -> None:
    if raw.startswith(ZIP):
        raise Trouble(
            f"{source} is not a table but a zip archive, as Excel workbooks and obliqua's models "
            "are. Save a workbook as CSV first."
        )
    decoder = codecs.getincrementaldecoder("utf-8")()
    step = 1 << 24
    try:
        for start in range(0, len(raw), step):
            decoder.decode(raw[start : start + step], final=start + step >= len(raw))
    except UnicodeDecodeError as error:
        # The piece that failed may begin with bytes kept from the one before; it is near enough.
        line = raw.count(b"\n", 0, start + error.start) + 1 + first
        encoding = "utf-16" if raw.startswith(UTF16) else "latin1"
        byte = error.object[error.start]
        raise Trouble(
            f"{source} is not UTF-8 text: line {line} has the byte 0x{byte:02x}. Convert it, for "
            f"instance with: iconv -f {encoding} -t utf-8"
        ) from error


def _records(raw: bytes, separator: str, most: int | None = None) -> Iterator[list[str]]:
    """Return the first records of a CSV text, or all, one after the other: they may be many."""
    text = io.TextIOWrapper(io.BytesIO(raw), "utf-8", newline="")
    with _any_width():
        yield from islice(csv.reader(text, delimiter=separator), most)


@contextmanager
def _any_width() -> Iterator[None]:
    """Let fields be longer than the csv module takes for sane; polars reads them too."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def sniffed(raw: bytes) -> str:
    """Return the delimiter that divides the first lines into the most, and equally many, fields.

    Equality counts first: a comma may well stand in the numbers of a file with semicolons.
    """
    best, chosen = (False, 1), ","
    for separator in DELIMITERS:
        try:
            widths = [len(record) for record in _records(raw, separator, SNIFFED) if record]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            found = (len(set(widths)) == 1, widths[0])
            if found > best:
                best, chosen = found, separator
    return chosen


def header_names(raw: bytes, source: str, separator: str) -> list[str]:
    try:
        first = next(_records(raw, separator, 1))
    except csv.Error as error:
        raise Trouble(f"The header of {source} cannot be read: {error}.") from error
    names = [name.strip() for name in first]
    if not any(names):
        raise Trouble(f"The first line of {source} is empty. It must hold the columns' names.")
    if all(NUMBER.fullmatch(name) for name in names if name):
        raise Trouble(
            f"{source} has no header: its first line holds the numbers "
            f"{', '.join(names[:4])}{' ...' if len(names) > 4 else ''}. Put a line with the "
            "columns' names first."
        )
    unnamed = [place for place, name in enumerate(names, start=1) if not name]
    for place in unnamed:
        names[place - 1] = f"column_{place}"
    if unnamed:
        given = ", ".join(names[place - 1] for place in unnamed)
        note(f"{source}: columns without a name are called {given}.")
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise Trouble(
            f"{source} has more than one column called {listed(twice)}. Columns are found by "
            "name: give each a name of its own."
        )
    return names


def _check_short_lines(raw: bytes, source: str, separator: str, width: int, first: int) -> None:
    """Refuse lines with fewer values than the header has names; blank ones hold nothing at all.

    A forgotten cell moves all values behind it into other columns.
    """
    try:
        short = [
            (number, record)
            for number, record in enumerate(_records(raw, separator), start=1)
            if len(record) < width and not _is_blank(record)
        ]
    except csv.Error:
        return  # nobody knows where a line ends; polars has its own mind
    if not short:
        return
    number, record = short[0]
    number += first
    more = f" So it is in {counted(len(short) - 1, 'more record')}." if short[1:] else ""
    raise Trouble(
        f"{source}: record {number} has {counted(len(record), 'value')}, but the header has "
        f"{counted(width, 'name')}: {_shown(record, separator)}.{more} Nobody knows which cell "
        f"is not there. Put a {separator!r} before each but the first, also an empty one, or say "
        "which character stands between values with --delimiter."
    )


def _shown(record: list[str], separator: str) -> str:
    text = separator.join(record)
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _is_blank(record: list[str]) -> bool:
    """Say whether a line holds nothing, not even delimiters."""
    return len(record) < 2 and not "".join(record).strip()


def _unreadable(
    raw: bytes, source: str, separator: str, width: int, error: BaseException, first: int
) -> str:
    """Say why polars could not read a CSV text."""
    if "more fields" in str(error):
        try:
            records = enumerate(_records(raw, separator), start=1)
            long = next((pair for pair in records if len(pair[1]) > width), None)
        except csv.Error:
            long = None
        if long is not None:
            number, record = long
            return (
                f"{source}: record {number + first} has {len(record)} values, but the header has "
                f"{counted(width, 'name')}. Quote values that hold a {separator!r}, or say "
                "which character stands between values with --delimiter."
            )
    return f"{source} cannot be read as CSV: {_first_line(error)}. Check its quotes."


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
