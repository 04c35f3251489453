"""Tables that are read part by part: files, patterns, standard input."""

from __future__ import annotations

import codecs
import glob
import gzip
import io
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import IO, Any

import click
import numpy as np

from obliqua._extras import require
from obliqua._typing import Int64Array
from obliqua.cli._data import (
    check_width,
    csv_table,
    empty,
    no_rows,
    not_there,
    read_table,
    say_what_is_not_found,
    sniffed,
    without_words,
)
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._memory import (
    GZIP,
    PARQUET,
    TO_FIT,
    bytes_in_memory,
    in_words,
    kind_of,
    memory_at_hand,
)
from obliqua.cli._table import NamedTable

LONGEST_ROW = 1 << 26  # bytes; whatever has more has lost a quote
SHARE_OF_BLOCK = 32  # of the memory: as text a part takes some ten times its bytes
LEAST_BLOCK, MOST_BLOCK = 1 << 20, 1 << 25


class Memory(click.ParamType):
    """A number of bytes, as 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the size."""
        from obliqua.sources.rows import LEAST_LIMIT, bytes_of

        if isinstance(value, int):
            return value
        try:
            return bytes_of(str(value))
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not a size of at least {LEAST_LIMIT >> 20}MiB, such as 500MB or "
                "2GB.",
                ctx,
                param,
            ) from None


memory_option = click.option(
    "--memory",
    type=Memory(),
    metavar="SIZE",
    help="How much memory to take, as 500MB or 2GB. A table that would take more is read part by "
    "part. By default that is what is free; of it half is taken for such tables.",
)


@dataclass(frozen=True)
class TablePlan:
    """Where a table is, and how it is read.

    Parameters
    ----------
    paths : tuple of str
        The files; ``-`` is standard input.
    called : str
        What messages call it.
    limit : int or None
        The memory that may be taken, if the table is read part by part; None: at once.
    needed : int
        What it would take at once, about.
    """

    paths: tuple[str, ...]
    called: str
    limit: int | None
    needed: int


def planned(
    data: Sequence[str],
    memory: int | None,
    factors: Mapping[str, int] = MappingProxyType(TO_FIT),
) -> TablePlan:
    """Find the files that are meant, and say whether they are read part by part."""
    if "-" in data:
        if len(data) > 1:
            raise click.UsageError("DATA: standard input, -, is read alone; name files only.")
        return TablePlan(("-",), "standard input", memory, 0)
    paths = files_of(data)
    twice = [path for path, times in Counter(map(os.path.realpath, paths)).items() if times > 1]
    if twice:
        raise Trouble(f"The file {twice[0]} is given twice. Name each file once.")
    needed = bytes_in_memory(paths, factors)
    there = memory_at_hand() if memory is None else memory
    limit = None
    if there is not None and needed > there:
        from obliqua.sources.rows import LEAST_LIMIT

        limit = memory or max(there // 2, LEAST_LIMIT)
    from obliqua.io.files import files_called

    return TablePlan(tuple(paths), files_called(data), limit, needed)


def read_whole(
    plan: TablePlan,
    delimiter: str | None,
    missing: Sequence[str],
    dates: str | None,
    each_row: bool = False,
) -> NamedTable:
    """Read a table at once: that of one file, or of several one below the other."""
    if len(plan.paths) == 1:
        return read_table(plan.paths[0], delimiter, missing, dates, each_row, fits=True)
    polars = require("polars", "cli", "Reading tables")
    in_parts = replace(plan, limit=SHARE_OF_BLOCK * MOST_BLOCK)
    parts = list(TableBlocks(in_parts, delimiter, missing, dates, each_row))
    frame = polars.concat([part.frame for part in parts], how="vertical_relaxed")
    rows: list[Int64Array] = []
    files: list[tuple[int, str]] = []
    for part in parts:
        assert part.rows is not None
        if not files or files[-1][1] != part.source:
            files.append((int(rows[-1][-1]) + 1 if rows else 0, part.source))
        rows.append(part.rows + files[-1][0])
    offset = parts[0].offset if len({part.offset for part in parts}) == 1 else None
    return replace(
        parts[0],
        frame=frame,
        source=plan.called,
        rows=np.concatenate(rows),
        offset=offset,
        ways=None,
        files=tuple(files),
    )


def files_of(data: Sequence[str]) -> list[str]:
    """Return the files that paths and patterns name."""
    found: list[str] = []
    for one in data:
        if os.path.exists(one) or not glob.has_magic(one):
            found.append(one)
            continue
        files = sorted(filter(os.path.isfile, glob.glob(one, recursive=True)))
        if not files:
            raise not_there(one)
        found += files
    return found


@dataclass(eq=False)
class TableBlocks:
    """A table that is read part by part, once.

    Parameters
    ----------
    plan : TablePlan
        Where it is, and how much memory there is.
    delimiter, missing, dates : object
        As for `read_table`.
    each_row : bool, default=False
        Whether rows without any value count.
    """

    plan: TablePlan
    delimiter: str | None
    missing: Sequence[str]
    dates: str | None
    each_row: bool = False
    n_bytes: int = 0  # read so far, of files as they are on the disk
    _found: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """The bytes of a part."""
        assert self.plan.limit is not None
        return min(max(self.plan.limit // SHARE_OF_BLOCK, LEAST_BLOCK), MOST_BLOCK)

    @property
    def total(self) -> int:
        """The bytes of all files; 0 if nobody knows."""
        return sum(os.path.getsize(path) for path in self.plan.paths if path != "-")

    def __iter__(self) -> Iterator[NamedTable]:
        ways: dict[str, Any] = {}
        columns: list[str] | None = None
        table, n_rows = None, 0
        for path in self.plan.paths:
            for table in self._file(path):
                columns = columns or table.frame.columns
                _check_same(table, columns, self.plan.paths[0])
                table = without_words(table, self.missing, self._found)
                table = replace(table, frame=table.frame.select(columns))
                n_rows += table.frame.height
                if table.frame.height:
                    files = ((0, path),) if len(self.plan.paths) > 1 else ()
                    yield replace(table, dates=self.dates, ways=ways, files=files)
        if n_rows == 0:
            raise empty(self.plan.called) if table is None else no_rows(table)
        say_what_is_not_found(self.plan.called, self.missing, self._found)

    def _file(self, path: str) -> Iterator[NamedTable]:
        before = self.n_bytes
        kind = "csv" if path == "-" else _kind(path)
        if kind == "parquet":
            for table, share in self._parquet(path):
                self.n_bytes = before + int(share * os.path.getsize(path))
                yield table
            return
        with _opened(path, kind) as (text, file):
            for table in self._csv(text, "standard input" if path == "-" else path):
                self.n_bytes = before + (0 if path == "-" else file.tell())
                yield table

    def _parquet(self, path: str) -> Iterator[tuple[NamedTable, float]]:
        polars = require("polars", "cli", "Reading Parquet")
        pa: Any = require("pyarrow", "files", "Reading a table part by part")
        parquet: Any = require("pyarrow.parquet", "files", "Reading a table part by part")
        first = 0
        try:
            with parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False) as file:
                about = file.metadata
                check_width(about.num_columns, path)
                groups = [about.row_group(k) for k in range(about.num_row_groups)]
                cells = sum(group.total_byte_size for group in groups)
                row = max(8 * about.num_columns, cells // max(about.num_rows, 1), 1)
                for batch in file.iter_batches(max(self.size // row, 256), use_threads=False):
                    frame = polars.from_arrow(pa.Table.from_batches([batch]), rechunk=False)
                    rows = np.arange(first, first + frame.height)
                    first += frame.height
                    yield NamedTable(frame, path, rows, typed=True), first / about.num_rows
        except (pa.ArrowException, OSError, ValueError) as error:
            raise Trouble(
                f"{path} begins like a Parquet file but cannot be read as one: "
                f"{str(error).splitlines()[0].rstrip('.')}."
            ) from error

    def _csv(self, text: IO[bytes], source: str) -> Iterator[NamedTable]:
        head, first, delimiter, by_line = b"", 0, self.delimiter, True
        for raw in _records_of(text, self.size, source):
            if not head:
                raw = raw.removeprefix(codecs.BOM_UTF8)
                delimiter = delimiter or sniffed(raw)
                head = raw[: _end_of(raw, last=False)]
                raw = raw[len(head) :]
            table = csv_table(head + raw, source, delimiter, self.each_row, first)
            by_line = by_line and table.offset is not None
            # Lines that hold nothing were left out, and count all the same.
            lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
            first += lines if by_line else table.frame.height
            yield table if by_line else replace(table, offset=None)
        if not head:
            raise empty(source)


def _kind(path: str) -> str:
    try:
        return kind_of(path)
    except FileNotFoundError as error:
        raise not_there(path) from error
    except IsADirectoryError as error:
        raise Trouble(
            f"{path} is a folder; name a file in it, or a pattern such as "
            f"'{os.path.join(path, '*.parquet')}'."
        ) from error
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror or error}.") from error


@contextmanager
def _opened(path: str, kind: str) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file of text: what is read, and the file on the disk."""
    called = "standard input" if path == "-" else path
    with ExitStack() as stack:
        file: IO[bytes] = sys.stdin.buffer
        if path != "-":
            file = stack.enter_context(open(path, "rb"))
        elif isinstance(file, io.BufferedReader):
            head = file.peek(2)[:2]
            kind = "gzip" if head == GZIP else kind
            if head == PARQUET[:2]:
                raise Trouble("A Parquet file is read part by part only if it is named.")
        try:
            unpacked: Any = gzip.GzipFile(fileobj=file) if kind == "gzip" else file
            yield unpacked, file
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Trouble(f"{called} cannot be unpacked: {error}.") from error
        except OSError as error:
            raise Trouble(f"{called} cannot be read: {error.strerror or error}.") from error


def _records_of(text: IO[bytes], size: int, source: str) -> Iterator[bytes]:
    """Read so many bytes at a time, and give whole records."""
    rest = b""
    while more := text.read(size):
        rest += more
        end = _end_of(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_ROW:
            raise Trouble(
                f"{source} has a row of more than {in_words(LONGEST_ROW)}. Check its quotes: one "
                "that is not closed goes on for ever. Lines must end with a line feed."
            )
    if rest.strip():
        yield rest


def _end_of(raw: bytes, last: bool = True) -> int:
    """Return where the last record ends, or the first one; 0 if none does.

    A line feed between quotes ends none.
    """
    if not last:
        end = 0
        for _ in count():
            end = raw.find(b"\n", end) + 1
            if not end:
                return len(raw)
            if raw.count(b'"', 0, end) % 2 == 0:
                return end
    end = raw.rfind(b"\n")
    odd = raw.count(b'"', 0, max(end, 0)) % 2
    while end >= 0 and odd:
        before = raw.rfind(b"\n", 0, end)
        odd ^= raw.count(b'"', max(before, 0), end) % 2
        end = before
    return end + 1


def _check_same(table: NamedTable, columns: Sequence[str], first: str) -> None:
    """Refuse a file with other columns than the first one."""
    here = table.frame.columns
    for what, names in (
        ("lacks", [name for name in columns if name not in here]),
        ("has", [name for name in here if name not in columns]),
    ):
        if names:
            raise Trouble(
                f"{table.source} {what} {counted(len(names), 'column')} that {first} "
                f"{'has' if what == 'lacks' else 'lacks'}: {listed(names)}."
            )
