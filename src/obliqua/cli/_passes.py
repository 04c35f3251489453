"""Tables that are larger than memory: written anew as passes read them best, then fitted to.

A table is read part by part, once. What a column is, is found out from the first part in which it
has values, and must hold in all others. What was read goes into Parquet files in a folder of its
own, of numbers, texts and codes of classes; passes over these grow the tree.
"""

from __future__ import annotations

import errno
import re
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, FloatArray
from obliqua.cli._blocks import TableBlocks
from obliqua.cli._columns import counting_rows, date_parts_left_out, said_of_counting
from obliqua.cli._dates import dates_of_part, doubt, with_date_parts
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._memory import in_words
from obliqua.cli._numbers import parse
from obliqua.cli._output import note
from obliqua.cli._summary import LabelledRows
from obliqua.cli._table import NamedTable, choose_features
from obliqua.cli._target import check_differ, choose_task
from obliqua.cli._types import (
    QUALITATIVE,
    WHOLE,
    ColumnChoice,
    Features,
    UnreadableColumn,
    check_choice,
    infer,
    levels_of,
    message_of,
    numbers,
    plain_numbers,
    say_what_tells_rows_apart,
    tell_rows_apart,
)
from obliqua.data.dates import part_name
from obliqua.data.row_numbers import FEWEST_ROWS
from obliqua.data.table import RawColumn
from obliqua.data.threads import thread_count
from obliqua.sources.pieces import ArrowBatch, Batch, Chosen, ParquetPiece
from obliqua.sources.running import PartPass, Threads
from obliqua.sources.tables import NUMBERS, LargeTable, open_table

if TYPE_CHECKING:
    import polars as pl

MOST_LEVELS = 100_000  # of a column of text, and classes
GROUP = 1 << 23  # bytes of a group of rows, about
DATES = "dates"


# --- what is written -----------------------------------------------------------------------------


@dataclass(eq=False)
class RowFiles:
    """Parquet files in a folder, written one after another.

    A column without any value so far is written as such. Once it has some, a new file begins.
    """

    folder: Path
    name: str
    paths: list[str] = field(default_factory=list)
    n_rows: int = 0
    _schema: Any = None  # of the file that is being written
    _writer: Any = None
    _waiting: list[Any] = field(default_factory=list)

    def add(self, rows: Any) -> None:
        """Write a table of Arrow."""
        if not rows.num_rows:
            return
        self.n_rows += rows.num_rows
        if self._schema is not None and self._schema != rows.schema:
            self.close()
        self._schema = rows.schema
        self._waiting.append(rows)
        if sum(table.nbytes for table in self._waiting) >= GROUP:
            self._write()

    def _write(self) -> None:
        pa: Any = require("pyarrow", "files", "Reading a table part by part")
        parquet: Any = require("pyarrow.parquet", "files", "Reading a table part by part")
        rows = pa.concat_tables(self._waiting).combine_chunks()
        if self._writer is None:
            self.paths.append(str(self.folder / f"{self.name}-{len(self.paths)}.parquet"))
            texts = [one.name for one in rows.schema if pa.types.is_large_string(one.type)]
            self._writer = parquet.ParquetWriter(
                self.paths[-1], rows.schema, compression="lz4", use_dictionary=texts
            )
        self._writer.write_table(rows, row_group_size=max(rows.num_rows, 1))
        self._waiting = []

    def close(self) -> None:
        """Finish the last file."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


@contextmanager
def scratch_folder(beside: Path, needed: int) -> Iterator[Path]:
    """Make a folder for the time of a fit, beside the file that will be written."""
    plain = beside.is_file() or not beside.exists()  # and no device
    parent = beside.resolve().parent if plain else Path(tempfile.gettempdir())
    free = shutil.disk_usage(parent).free
    if free < needed:
        raise Trouble(
            f"The table is written anew in {parent}, which may take {in_words(needed)}, and "
            f"{in_words(free)} are free there. Choose another disk with --output."
        )
    folder = Path(tempfile.mkdtemp(prefix=".obliqua-", dir=parent))
    try:
        with _ended_by_signals():
            yield folder
    except OSError as error:
        if error.errno not in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            raise
        raise Trouble(f"There is no room left in {parent}, where the table is written.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a closed terminal, or kill, end the program as an exception does: tidily."""

    def end(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {}
    with suppress(ValueError):  # not the main thread
        before = {name: signal.signal(getattr(signal, name), end) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


# --- columns -------------------------------------------------------------------------------------


@dataclass
class LevelCount:
    """The texts of a column."""

    rows: Counter[Any] | None = field(default_factory=Counter)  # None: too many
    missing: bool = False
    whole: bool = True  # whether all are whole numbers

    def add(self, column: pl.Series, typed: bool) -> None:
        """Count texts."""
        known = column.drop_nulls()
        self.missing = self.missing or len(known) < len(column)
        self.whole = self.whole and not typed and bool(known.str.contains(WHOLE).all())
        if self.rows is not None:
            self.rows.update(dict(known.value_counts().iter_rows()))
            if len(self.rows) > MOST_LEVELS:
                self.rows = None


@dataclass(eq=False)
class LearntColumns:
    """What the columns of a table are, and how a part of it is read."""

    given: dict[str, Any]
    names: list[str]
    kinds: dict[str, str] = field(default_factory=dict)
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of dates
    counting: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    levels: dict[str, LevelCount] = field(default_factory=dict)
    texts: dict[str, bool] = field(default_factory=dict)  # whether levels are text
    before: int = 0  # rows of the files before
    last: tuple[str, int] = ("", 0)  # the file, and how many of its rows were read
    typed: bool = False  # whether files have types of their own

    @classmethod
    def of(cls, table: NamedTable, taken: Sequence[str], given: dict[str, Any]) -> LearntColumns:
        """Choose columns, as options say."""
        dropped = date_parts_left_out(table, given)
        drop = [name for name in given["drop"] or [] if name not in dropped] or None
        names = choose_features(table, taken, given["features"], drop)
        check_choice(table, names, ColumnChoice.of(given))
        return cls(given, names)

    @property
    def meant(self) -> list[str]:
        """The columns that an option names."""
        return [*(self.given["categorical"] or ()), *(self.given["numeric"] or ())]

    def read(self, table: NamedTable) -> list[pl.Series]:
        """Read a part of the table."""
        assert table.rows is not None
        self.typed = table.typed
        if table.source != self.last[0]:
            self.before += self.last[1]
        self.last = table.source, int(table.rows[-1]) + 1
        self._find_out(table)
        polars = require("polars", "cli", "Reading tables")
        found: list[pl.Series] = []
        problems: list[UnreadableColumn] = []
        for name in self.names:
            kind = self.kinds.get(name)
            if kind is None:
                found.append(polars.Series(name, [None] * table.frame.height, polars.Null))
            elif kind == DATES:
                found += self._dates(table, name)
            elif kind == QUALITATIVE:
                found.append(self._levels(table, name))
            else:
                column, problem = numbers(table, name)
                found.append(column)
                if problem is not None:
                    problems.append(replace(problem, category=problem.word is not None))
        if problems:
            title = "columns that began as numbers hold something else."
            raise Trouble(message_of(table, title, problems, fitting=True))
        self._look_for_counting(table)
        return found

    def _find_out(self, table: NamedTable) -> None:
        """Find out what columns are that have values for the first time."""
        new = [
            name
            for name in self.names
            if name not in self.kinds and (_has_type(table, name) or table.frame[name].count())
        ]
        if not new:
            return
        if not self.kinds and self.given["features"] is None:
            for name in new:
                start = None if name in self.meant else counting_rows(table, name, self.before)
                if start is not None:
                    self.counting[name] = start
        others = []
        for name in new:
            _, parts = with_date_parts(table, [name], self.meant)
            if parts == [name]:
                others.append(name)
            else:
                self.kinds[name], self.parts[name] = DATES, tuple(parts)
        asked = ColumnChoice.of(self.given)
        choice = ColumnChoice(
            *(tuple(n for n in some if n in others) for some in (asked.categorical, asked.numeric))
        )
        found = infer(table, others, choice, all_rows=False)
        for name in others:
            self.kinds[name] = QUALITATIVE if name in found.qualitative else NUMBERS

    def _dates(self, table: NamedTable, name: str) -> list[pl.Series]:
        polars = require("polars", "cli", "Reading tables")
        column = table.frame[name]
        if column.null_count() == len(column):
            nothing = np.full(len(column), np.nan)
            return [polars.Series(part, nothing) for part in self.parts[name]]
        looked = dates_of_part(table, name)
        if looked is None:
            trouble = doubt(table, name)
            why = f"column {name!r} began as dates and holds something else"
            raise Trouble(
                f"{table.source}: {why if trouble is None else trouble[0]}. Say what stands for a "
                "missing value with --missing, or leave the column out with --drop."
            )
        known = {part_name(name, part): part for part in looked.instants.parts}
        if set(known) != set(self.parts[name]):
            raise Trouble(
                f"{table.source}: the dates of column {name!r} have other parts from "
                f"{table.where(0)} on than before, {', '.join(known)}. Write all in one way, with "
                "a time of day or without one."
            )
        return [
            polars.Series(part, looked.instants.part(known[part])) for part in self.parts[name]
        ]

    def _levels(self, table: NamedTable, name: str) -> pl.Series:
        polars = require("polars", "cli", "Reading tables")
        column = table.frame[name]
        text = column.dtype in (polars.String, polars.Categorical, polars.Enum)
        if self.texts.setdefault(name, text) != text and column.count():
            raise Trouble(
                f"{table.source}: column {name!r} holds {'text' if text else 'numbers'}, and "
                f"{'numbers' if text else 'text'} in the files before. Write it in one way in all "
                "files."
            )
        column = column.cast(polars.String) if text else levels_of(table, name)
        if text:
            self.levels.setdefault(name, LevelCount()).add(column, table.typed)
        return column

    def _look_for_counting(self, table: NamedTable) -> None:
        for name, (first, start, _) in list(self.counting.items()):
            more = counting_rows(table, name, self.before, first)
            if more is None:
                del self.counting[name]
            else:
                self.counting[name] = (first, start, more[2])

    def left_out(self, n_rows: int) -> list[str]:
        """Return the columns that say nothing of new rows, and say so; one that is alone stays."""
        out: list[str] = []
        for name, (_, low, high) in self.counting.items():
            if n_rows >= FEWEST_ROWS and len(self.names) > len(out) + 1:
                said_of_counting(name, low, high)
                out.append(name)
        named = {*self.meant, *(self.given["features"] or ())}
        for name, found in self.levels.items():
            if name in named or name in out or (found.missing and found.rows is not None):
                continue
            if found.rows is None:
                note(
                    f"Column {name!r} has more than {MOST_LEVELS:,} different texts, and is left "
                    f"out; --categorical {name} keeps it."
                )
                out.append(name)
            elif tell_rows_apart(np.array(list(found.rows.values())), n_rows):
                say_what_tells_rows_apart(name, len(found.rows), n_rows, None)
                out.append(name)
        return out


def _has_type(table: NamedTable, name: str) -> bool:
    """Say whether a file tells what a column is, even if it has no value."""
    return table.typed and str(table.frame[name].dtype) != "Null"


# --- the target ----------------------------------------------------------------------------------


@dataclass(eq=False)
class LearntTarget:
    """What is learnt: a code for each different value, and the number that it is."""

    name: str
    codes: dict[Any, int] | None = field(default_factory=dict)  # None: too many
    values: pl.Series | None = None  # the different ones, in the order of their codes
    typed: bool = False
    decimal_comma: bool = False
    n_words: int = 0  # that are no numbers, first of which is
    word: str = ""
    n_gaps: int = 0  # numbers that are missing, in words
    n_endless: int = 0  # numbers that are not finite, first of which is
    endless: str = ""
    low: float = np.inf  # the least number, and the largest
    high: float = -np.inf

    def read(self, table: NamedTable) -> tuple[AnyArray, FloatArray]:
        """Return codes and numbers of some rows."""
        polars = require("polars", "cli", "Reading tables")
        column = table.frame[self.name]
        self.typed, self.decimal_comma = table.typed, table.decimal_comma
        text = not column.dtype.is_numeric() and not column.dtype.is_decimal()
        if text and table.typed:
            values = np.full(len(column), np.nan)
            self.n_words += len(column)
            self.word = self.word or f"{column[0]!r} in {table.where(0)}"
        elif text:
            found = parse(column, table.decimal_comma)
            values = found.values.to_numpy()
            if found.bad.any():
                row = int(found.bad.arg_true()[0])
                self.n_words += int(found.bad.sum())
                self.word = self.word or f"{column[row]!r} in {table.where(row)}"
        else:
            values = column.cast(polars.Float64).to_numpy()
        self.n_gaps += int(np.isnan(values).sum())
        endless = np.isinf(values)
        if endless.any():
            row = int(np.argmax(endless))
            self.n_endless += int(endless.sum())
            self.endless = self.endless or f"{values[row]} in {table.where(row)}"
        self.low = min(self.low, float(np.fmin.reduce(values, initial=np.inf)))
        self.high = max(self.high, float(np.fmax.reduce(values, initial=-np.inf)))
        return self._codes(column, table.source), values

    def _codes(self, column: pl.Series, source: str) -> AnyArray:
        polars = require("polars", "cli", "Reading tables")
        if self.codes is None:
            return np.full(len(column), -1, np.int32)
        text = str(column.dtype) in ("Categorical", "Enum") or str(column.dtype).startswith("Enum")
        column = column.cast(polars.String) if text else column
        different = column.unique(maintain_order=True)
        new = [value for value in different.to_list() if value not in self.codes]
        if len(self.codes) + len(new) > MOST_LEVELS:
            self.codes = self.values = None
            return np.full(len(column), -1, np.int32)
        for value in new:
            self.codes[value] = len(self.codes)
        fresh = polars.Series(self.name, new, dtype=column.dtype)
        if self.values is None:
            self.values = fresh
        elif self.values.dtype == fresh.dtype:
            self.values.append(fresh)
        else:
            self.values = self._joined(self.values, fresh, source)
        places = np.arange(len(self.values), dtype=np.int32)
        column = column.cast(self.values.dtype)
        return np.asarray(column.replace_strict(self.values, places, return_dtype=polars.Int32))

    def _joined(self, values: pl.Series, fresh: pl.Series, source: str) -> pl.Series:
        """Join values of two types of numbers; refuse other types that differ."""
        polars = require("polars", "cli", "Reading tables")
        if not (values.dtype.is_numeric() and fresh.dtype.is_numeric()):
            raise Trouble(
                f"{source}: the target {self.name!r} is of type {fresh.dtype}, and in the files "
                f"before of type {values.dtype}. Write it with one type in all files."
            )
        found = [values.to_frame(), fresh.to_frame()]
        joined: pl.Series = polars.concat(found, how="vertical_relaxed")[self.name]
        return joined

    def _table(self, source: str) -> NamedTable:
        """Return a table of the different values."""
        assert self.values is not None
        return NamedTable(
            self.values.to_frame(), source, typed=self.typed, decimal_comma=self.decimal_comma
        )

    def task(self, source: str, asked: str, methods: Sequence[str]) -> str:
        """Say whether classes or numbers are learnt."""
        if self.values is None:
            if asked == "classification" or self.n_words:
                raise Trouble(
                    f"The target {self.name!r} has more than {MOST_LEVELS:,} different values, "
                    f"which are too many for classes"
                    f"{f'; some are no numbers, first {self.word}' if self.n_words else ''}."
                )
            return "regression"
        return choose_task(self._table(source), self.name, asked, methods)

    def labels(self, source: str) -> AnyArray:
        """Return the class of each code."""
        return self._table(source).labels(self.name)

    def check_numbers(self, source: str, drop: bool) -> None:
        """Refuse values that are no numbers; gaps are dropped if that is asked for."""
        if self.n_words:
            cells = counted(self.n_words, "value that is no number", "values that are no numbers")
            raise Trouble(
                f"{source}: the target {self.name!r} has {cells}, first {self.word}. Classes are "
                "learnt with --task classification."
            )
        if self.n_endless:
            cells = counted(self.n_endless, "value that is", "values that are")
            raise Trouble(
                f"{source}: the target {self.name!r} has {cells} not finite, first {self.endless}."
            )
        if self.n_gaps and not drop:
            raise Trouble(
                f"The target {self.name!r} is missing in {counted(self.n_gaps, 'row')}. Fill it "
                "in, or leave such rows out with --drop-missing-target."
            )
        if self.low > self.high:
            raise Trouble(f"The target {self.name!r} is empty in all rows.")


# --- what is read --------------------------------------------------------------------------------


class WrittenBatch(ArrowBatch):
    """Rows that were written anew: with classes in the place of codes."""

    def __init__(self, rows: Any, chosen: Chosen, labels: Any, whole: frozenset[str]) -> None:
        super().__init__(rows, chosen)
        self._labels = labels
        self._whole = whole

    @property
    def learnt(self) -> AnyArray | None:
        """What is learnt."""
        found = super().learnt
        return found if self._labels is None or found is None else self._labels[found]

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features; levels that are whole numbers as such."""
        column = super().feature(place)
        if self._chosen.features[place] in self._whole and column.categories is not None:
            return replace(column, categories=[int(level) for level in column.categories])
        return column


@dataclass(frozen=True, eq=False)
class WrittenPiece:
    """A piece of the files that were written anew."""

    piece: ParquetPiece
    labels: AnyArray | None  # the class of each code; None: numbers are learnt
    whole: frozenset[str]  # columns of text that are whole numbers
    source: str
    told: Callable[[int], None]  # called with the number of rows that were read
    watched: ClassVar[bool] = True

    @property
    def chosen(self) -> Chosen:
        """The columns."""
        return self.piece.chosen

    @property
    def name(self) -> str:
        """What messages call it: the table that it was made from."""
        return self.source

    def row(self, number: int) -> str:
        """Return what messages call one of its rows; which of the table it was is not known."""
        return "one of its rows"

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Read the rows again."""
        compute: Any = require("pyarrow.compute", "files", "Reading a table part by part")
        for batch in self.piece.batches(most_rows):
            rows = batch.rows
            if self.labels is None:  # rows without a number were to be left out
                rows = rows.filter(compute.is_finite(rows.column(self.chosen.learnt[0])))
            yield WrittenBatch(rows, self.chosen, self.labels, self.whole)
            self.told(batch.n_rows)


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """A table that was written anew.

    Parameters
    ----------
    rows, held : RowFiles
        The rows to grow from, and those that are held out.
    chosen : Chosen
        The columns: features, and under names of their own what is learnt, and weights.
    labels : ndarray or None
        The class of each code; None: numbers are learnt.
    qualitative : tuple of str
        The columns of levels.
    whole : frozenset of str
        Those of them that are texts of whole numbers.
    given : bool
        Whether types do not tell which columns these are.
    source : str
        What messages call it.
    """

    rows: RowFiles
    held: RowFiles
    chosen: Chosen
    labels: AnyArray | None
    qualitative: tuple[str, ...]
    whole: frozenset[str]
    given: bool
    source: str

    def large(self, told: Callable[[int], None]) -> LargeTable:
        """Return what an estimator is fitted to; it tells how many rows were read."""
        chosen = self.chosen
        table = open_table(self.rows.paths, chosen.learnt[0], chosen.weight)
        assert table.names is not None
        kinds = dict(zip(table.names, table.kinds, strict=True))
        # In memory all numbers have 64 bits, and bools are numbers.
        plain = [kinds[n] if n in self.qualitative else NUMBERS for n in chosen.features]
        pieces = [
            WrittenPiece(replace(piece, chosen=chosen), self.labels, self.whole, self.source, told)
            for piece in table.pieces
        ]
        return replace(
            table, pieces=pieces, names=chosen.features, kinds=tuple(plain), called=self.source
        )

    def blocks(self, held: bool = False) -> Iterator[LabelledRows]:
        """Read the rows part by part, as a fit in memory has them."""
        polars = require("polars", "cli", "Reading tables")
        parquet: Any = require("pyarrow.parquet", "files", "Reading a table part by part")
        learnt, weight = self.chosen.learnt[0], self.chosen.weight
        numeric = [name for name in self.chosen.features if name not in self.qualitative]
        for path in (self.held if held else self.rows).paths:
            with parquet.ParquetFile(path, pre_buffer=False) as file:
                for batch in file.iter_batches(1 << 15, columns=self.chosen.columns):
                    frame = polars.from_arrow(batch)
                    if self.labels is None:
                        frame = frame.filter(polars.col(learnt).is_finite())
                    X = frame.select(self.chosen.features)
                    X = X.with_columns(
                        *(polars.col(name).cast(polars.Int64) for name in self.whole),
                        *(polars.col(name).cast(float).fill_null(np.nan) for name in numeric),
                    ).with_columns(polars.col(polars.Null).cast(polars.String))
                    y = frame[learnt].to_numpy()
                    y = y if self.labels is None else self.labels[y]
                    w = None if weight is None else frame[weight].to_numpy()
                    if len(y):
                        yield LabelledRows(Features(X, self.qualitative, self.given), y, w)


def written(
    blocks: TableBlocks, given: dict[str, Any], folder: Path, told: Any
) -> tuple[WrittenTable, str]:
    """Read a table part by part, and write it anew; also say whether numbers are learnt."""
    pa: Any = require("pyarrow", "files", "Reading a table part by part")
    target, weight, share = given["target"], given["weight"], given["holdout"]
    rows, held = RowFiles(folder, "rows"), RowFiles(folder, "held")
    columns: LearntColumns | None = None
    learnt = LearntTarget(target)
    rng = np.random.default_rng(given["seed"])
    own: list[str] = []
    for table in blocks:
        if columns is None:
            table.require([target], "--target")
            table.require([] if weight is None else [weight], "--weight")
            if weight == target:
                raise Trouble(f"--weight: {weight!r} is the target.")
            columns = LearntColumns.of(table, [target, *([weight] if weight else [])], given)
            own = _own_names(table.frame.columns)
        table = _with_target(table, target, given["drop_missing_target"])
        if not table.frame.height:
            continue
        made = columns.read(table)
        codes, values = learnt.read(table)
        extra = {own[0]: codes, own[1]: values}
        if weight is not None:
            extra[own[2]] = _weights(table, weight)
        frame = _arrow(made)
        for name, column in extra.items():
            frame = frame.append_column(name, pa.array(column))
        if share is None:
            rows.add(frame)
        else:
            out = rng.random(frame.num_rows) < share
            rows.add(frame.filter(pa.array(~out)))
            held.add(frame.filter(pa.array(out)))
        told(blocks.n_bytes, blocks.total, rows.n_rows + held.n_rows)
    rows.close()
    held.close()
    if columns is None or not rows.n_rows:
        raise Trouble(f"The target {target!r} is empty in all rows.")
    source = blocks.plan.called
    task = learnt.task(source, given["task"], [given["method"]] if given["method"] else [])
    labels = None
    if task == "regression":
        learnt.check_numbers(source, given["drop_missing_target"])
        check_differ(target, task, np.array([learnt.low, learnt.high]))
    else:
        labels = learnt.labels(source)
        check_differ(target, task, labels)
    if share is not None:
        note(
            f"--holdout draws each of the rows by itself here, {held.n_rows:,} in all; from a "
            "table in memory it would draw others."
        )
    return _table_of(rows, held, columns, labels, own, weight, source), task


def _table_of(
    rows: RowFiles,
    held: RowFiles,
    columns: LearntColumns,
    labels: AnyArray | None,
    own: list[str],
    weight: str | None,
    source: str,
) -> WrittenTable:
    """Say which of the columns that were written are used, and what they are."""
    out = {*columns.left_out(rows.n_rows + held.n_rows)}
    drop = set(columns.given["drop"] or ())
    features = [
        part
        for name in columns.names
        if name not in out
        for part in columns.parts.get(name, (name,))
        if part not in drop
    ]
    empty = [name for name in columns.names if name not in columns.kinds]
    for name in empty:
        note(f"Column {name!r} is empty in all rows; no split uses it.")
    levels = {name for name, kind in columns.kinds.items() if kind == QUALITATIVE}
    levels |= set() if columns.typed else set(empty)  # as in memory
    qualitative = tuple(name for name in features if name in levels)
    whole = frozenset(
        name for name in qualitative if name in columns.levels and columns.levels[name].whole
    )
    numeric = whole | {n for n in qualitative if n not in columns.levels and n not in empty}
    chosen = Chosen(
        tuple(features),
        (own[1] if labels is None else own[0],),
        None if weight is None else own[2],
    )
    return WrittenTable(rows, held, chosen, labels, qualitative, whole, bool(numeric), source)


def _weights(table: NamedTable, name: str) -> FloatArray:
    """Return weights, none of them negative."""
    found: FloatArray = plain_numbers(table, [name], "weights")[name].to_numpy()
    bad = found < 0.0
    if bad.any():
        row = int(np.argmax(bad))
        raise Trouble(
            f"{table.source}: weights must not be negative; column {name!r} has {found[row]:g} in "
            f"{table.where(row)}. Use 0 to leave a row out."
        )
    return found


def _own_names(taken: Sequence[str]) -> list[str]:
    """Return names for what is learnt and for weights that no column has."""
    found = []
    for name in ("class", "number", "weight"):
        while name in taken:
            name += "_"
        found.append(name)
    return found


def _with_target(table: NamedTable, target: str, drop: bool) -> NamedTable:
    """Leave out rows without a target, or refuse them."""
    missing = table.frame[target].is_null()
    if drop and missing.all():
        return table.filtered(np.zeros(table.frame.height, bool))
    return table.without_missing(target, drop)


def _arrow(columns: list[pl.Series]) -> Any:
    """Return columns as a table of Arrow."""
    pa: Any = require("pyarrow", "files", "Reading a table part by part")
    polars = require("polars", "cli", "Reading tables")
    found = polars.DataFrame(columns).to_arrow()
    types = [
        pa.field(one.name, pa.large_string() if _is_view(one.type) else one.type)
        for one in found.schema
    ]
    return found.cast(pa.schema(types))


def _is_view(kind: Any) -> bool:
    return str(kind) in ("string", "string_view", "large_string")


# --- messages ------------------------------------------------------------------------------------

# How what the library says is said in the words of the command.
WORDS = (
    ("[Gg]ive a memory_limit of", "Give --memory of"),
    ("memory_limit", "--memory"),
    ("a number as ccp_alpha", "a price with --set ccp_alpha=0.001"),
    (r"pruning='(\w+)', '(\w+)' or None", r"--set pruning=\1, \2 or none"),
    ("pruning=None", "--set pruning=none"),
    ("categorical_features", "--categorical"),
    ("refine=True", "the refinement of all splits"),
    (r"Put all rows into one memory \(`grow`\)", "Allow more with --memory"),
    ("sample_rows, 50,000 for instance", "--set sample_rows=50000"),
    ("(?<!--set )sample_rows", "--set sample_rows"),
)


def in_words_of_the_command(text: str) -> str:
    """Write a message of the library as the command calls things."""
    for pattern, words in WORDS:
        text = re.sub(pattern, words, text)
    return text


# --- passes --------------------------------------------------------------------------------------


def fit_written(estimator: Any, table: WrittenTable, bar: Callable[[str, float], None]) -> None:
    """Fit an estimator to a table that was written anew, and show how far it is."""
    run = WatchedPasses(thread_count(estimator.n_jobs), table.rows.n_rows, bar)
    try:
        estimator.fit(replace(table.large(run.read), run=run), None)
    except (ValueError, TypeError) as error:
        raise Trouble(in_words_of_the_command(" ".join(str(error).split()))) from error


class WatchedPasses(Threads):
    """Threads that show how far each pass is.

    How many passes there will be nobody knows; the share is that of the present one.

    Parameters
    ----------
    n_threads : int
        How many; fewer, if memory does not hold so many readers.
    n_rows : int
        How many rows there are.
    show : callable
        Called with what is being done, and the share of it that is done.
    """

    def __init__(self, n_threads: int, n_rows: int, show: Callable[[str, float], None]) -> None:
        super().__init__(n_threads)
        self.n_rows = n_rows
        self.show = show
        self._what = ""
        self._n_read = 0

    def __call__(self, one_pass: PartPass, parts: Sequence[Any]) -> Iterator[Any]:
        """Return what a pass gives for all pieces."""
        self._what, self._n_read = f"pass {self.n_passes + 1:,}", 0
        nodes = getattr(one_pass, "questions", {})
        if nodes:
            depth = max(nodes).bit_length() - 1
            self._what += f", depth {depth}, {counted(len(nodes), 'node')}"
        self.read(0)
        return super().__call__(one_pass, parts)

    def read(self, n_rows: int) -> None:
        """Say that some rows were read."""
        self._n_read += n_rows
        self.show(self._what, self._n_read / self.n_rows)
