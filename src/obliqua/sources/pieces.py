"""Tables that do not fit in memory, in pieces that can be read again and again.

A piece says what it is called, and reads its rows in batches. Columns are as users have them:
levels are not numbered yet, and classes are not either.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.data.table import RawColumn, raw_column

__all__ = [
    "ArrayPiece",
    "Batch",
    "Chosen",
    "CsvPiece",
    "FileState",
    "FramePiece",
    "ParquetPiece",
    "fingerprint",
]

PURPOSE = "Reading a table in pieces"
ARROW: Any = ("pyarrow", "files", PURPOSE)
BUFFER = 1 << 16  # bytes of a column that are read at a time
CSV_BLOCK = 1 << 20
MOST_BITS = (1 << 64) - 1  # of a fingerprint


class Chosen(NamedTuple):
    """Which columns of a table are looked at, and what for."""

    features: tuple[str, ...]
    learnt: tuple[str, ...] = ()
    weight: str | None = None

    @property
    def columns(self) -> list[str]:
        """All of them."""
        weight = [] if self.weight is None else [self.weight]
        return [*self.features, *self.learnt, *weight]


class Batch(Protocol):
    """Some rows as a user has them."""

    @property
    def n_rows(self) -> int:
        """How many there are."""

    @property
    def matrix(self) -> AnyArray | None:
        """The features, if they are a matrix of numbers already."""

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features."""

    @property
    def learnt(self) -> AnyArray | None:
        """What is learnt: a label for each row, or a column of numbers for each output."""

    @property
    def weights(self) -> AnyArray | None:
        """The weights, if there are any."""


def fingerprint(batch: Batch, n_features: int) -> int:
    """Return a sum over all numbers of some rows, which is the same in any order of rows.

    Sums of several batches are added. Text has no part in it.
    """
    columns: list[Any] = [batch.learnt, batch.weights]
    if batch.matrix is not None:
        columns.append(batch.matrix)
    else:
        features = map(batch.feature, range(n_features))
        columns += [column.values for column in features if column.categories is None]
    return sum(_sum_of_bits(values) for values in columns if values is not None) & MOST_BITS


def _sum_of_bits(values: AnyArray) -> int:
    kind = values.dtype.kind
    # With gaps whole numbers would be such numbers too; trees see no longer ones.
    if kind in "biu" or (kind == "f" and values.itemsize > 8):
        values = values.astype(np.float64)
    if values.dtype.kind != "f":
        return 0
    bits = values.ravel(order="K").view(f"u{values.itemsize}")
    # What does not fit is lost; short numbers stand in front, so that sums of sums lose the same.
    return int(bits.sum(dtype=bits.dtype)) << (64 - 8 * values.itemsize)


class Piece(Protocol):
    """Some rows of a table, wherever they are. It travels: it can be pickled."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def watched(self) -> bool:
        """Whether it is read from files that are looked at in each pass."""

    def row(self, number: int) -> str:
        """Return what messages call one of its rows, which count from 0."""

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Read the rows again, from the beginning, so many at a time at most."""


# --- what files are ------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileState:
    """A file as it was when it was first seen."""

    path: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str) -> FileState:
        """Look at a file."""
        try:
            found = os.stat(path)
        except OSError as error:
            raise FileNotFoundError(
                f"{path} cannot be read: {error.strerror or error}."
            ) from error
        return cls(path, found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that has changed since: passes over other rows do not make one tree."""
        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"{self.path} was there when the fit began, and is gone now. Keep files in place "
                "until the fit has ended, and start it again."
            )
        if FileState.of(self.path) != self:
            raise ValueError(
                f"{self.path} has changed while it was being read. A tree is grown in several "
                "passes over the same rows: leave files as they are, and start the fit again."
            )


# --- Arrow ---------------------------------------------------------------------------------------


class ArrowBatch:
    """A record batch of Arrow."""

    matrix = None

    def __init__(self, rows: Any, chosen: Chosen) -> None:
        self.rows = rows
        self._chosen = chosen

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.rows.num_rows)

    def frame(self) -> Any:
        """Return the features as a frame."""
        pa: Any = require(*ARROW)
        names = list(self._chosen.features)
        columns = [_signed(self.rows.column(name)) for name in names]
        return pa.record_batch(columns, names).to_pandas()

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features."""
        name = self._chosen.features[place]
        return arrow_column(self.rows.column(name), f"Column {name!r}")

    @property
    def learnt(self) -> AnyArray | None:
        """What is learnt."""
        names = self._chosen.learnt
        if not names:
            return None
        columns = [_plain(self.rows.column(name)) for name in names]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    @property
    def weights(self) -> AnyArray | None:
        """The weights."""
        name = self._chosen.weight
        return None if name is None else _plain(self.rows.column(name))


def arrow_column(values: Any, called: str) -> RawColumn:
    """Return an array of Arrow as a column; levels of text as categories."""
    pa: Any = require(*ARROW)
    kind = str(values.type)
    if kind in ("float", "double"):  # most columns, and asked for each batch
        return RawColumn(np.asarray(values.to_numpy(zero_copy_only=False)), None, called, kind)
    if pa.types.is_null(values.type):
        return RawColumn(np.full(len(values), None, dtype=object), None, called, kind)
    if is_text(values.type):
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        codes = (
            _signed(values).indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        )
        return RawColumn(codes, values.dictionary.to_pylist(), called, kind)
    return RawColumn(_plain(values), None, called, kind)


def _signed(values: Any) -> Any:
    """Return categories whose numbers may be negative, as polars has none; others as they are."""
    pa: Any = require(*ARROW)
    if not pa.types.is_dictionary(values.type):
        return values
    if not pa.types.is_unsigned_integer(values.type.index_type):
        return values
    return pa.DictionaryArray.from_arrays(values.indices.cast(pa.int64()), values.dictionary)


def is_text(kind: Any) -> bool:
    """Say whether a type of Arrow is one of text or categories."""
    pa: Any = require(*ARROW)
    is_a = pa.types
    views = getattr(is_a, "is_string_view", lambda kind: False)
    kinds = is_a.is_string, is_a.is_large_string, views, is_a.is_dictionary
    return any(is_kind(kind) for is_kind in kinds)


def _plain(values: Any) -> AnyArray:
    """Return an array of Arrow as one of NumPy, NaN or None where a value is missing."""
    pa: Any = require(*ARROW)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_boolean(values.type) and values.null_count:
        values = values.cast(pa.uint8())
    return np.asarray(values.to_numpy(zero_copy_only=False))


@dataclass(frozen=True)
class ParquetPiece:
    """Some groups of rows of a Parquet file."""

    file: FileState
    groups: tuple[int, ...]
    chosen: Chosen
    first_row: int = 0

    watched: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What messages call it."""
        first, last = self.groups[0], self.groups[-1]
        which = f"row group {first}" if first == last else f"row groups {first} to {last}"
        return f"{self.file.path} ({which})"

    def row(self, number: int) -> str:
        """Return what messages call one of its rows."""
        return f"row {self.first_row + number} of the file"

    def batches(self, most_rows: int) -> Iterator[ArrowBatch]:
        """Read the rows again."""
        self.file.check()
        arrow: Any = require(*ARROW)
        parquet: Any = require("pyarrow.parquet", *ARROW[1:])
        # Without buffers, a whole group of rows would be in memory at once.
        with parquet.ParquetFile(self.file.path, buffer_size=BUFFER, pre_buffer=False) as file:
            for rows in file.iter_batches(
                most_rows, list(self.groups), self.chosen.columns, use_threads=False
            ):
                yield ArrowBatch(rows, self.chosen)
            held = _has_dictionaries(file.metadata.row_group(self.groups[0]))
        self.file.check()
        if held:
            arrow.default_memory_pool().release_unused()


def _has_dictionaries(group: Any) -> bool:
    """Say whether columns were read by dictionaries, which the next groups have no use for."""
    return any(group.column(k).has_dictionary_page for k in range(group.num_columns))


@dataclass(frozen=True)
class CsvPiece:
    """A CSV file, whose columns have known types."""

    file: FileState
    types: tuple[tuple[str, Any], ...]
    chosen: Chosen

    watched: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.file.path

    def row(self, number: int) -> str:
        """Return what messages call one of its rows."""
        return f"row {number} of the file"

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Read the rows again."""
        self.file.check()
        for rows in csv_batches(self.file.path, dict(self.types), self.chosen.columns):
            for first in range(0, rows.num_rows, most_rows):
                yield ArrowBatch(rows.slice(first, most_rows), self.chosen)
        self.file.check()


def csv_batches(path: str, types: dict[str, Any], columns: list[str]) -> Iterator[Any]:
    """Read a CSV file block by block."""
    csv: Any = require("pyarrow.csv", *ARROW[1:])
    options = csv.ConvertOptions(
        column_types=types, include_columns=columns, strings_can_be_null=True
    )
    with csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=CSV_BLOCK, use_threads=False),
        convert_options=options,
    ) as reader:
        yield from reader


@dataclass(frozen=True)
class FramePiece:
    """A lazy frame of polars, or a dataset or fragment of Arrow: whatever streams batches."""

    rows: Any
    called: str
    chosen: Chosen
    schema: Any = None  # of a fragment: that of its dataset
    files: tuple[FileState, ...] = ()  # that it is read from, as far as they are known

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.called

    @property
    def watched(self) -> bool:
        """Whether it is read from files that are looked at in each pass."""
        return bool(self.files)

    def row(self, number: int) -> str:
        """Return what messages call one of its rows."""
        return f"row {number} of this part"

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Read the rows again."""
        columns = self.chosen.columns
        for file in self.files:
            file.check()
        if hasattr(self.rows, "collect_batches"):
            for frame in self.rows.select(columns).collect_batches(
                chunk_size=most_rows, maintain_order=True
            ):
                for rows in frame.to_arrow().to_batches(max_chunksize=most_rows):
                    yield ArrowBatch(rows, self.chosen)
            return
        more = {} if self.schema is None else {"schema": self.schema}
        for rows in self.rows.to_batches(
            columns=columns,
            batch_size=most_rows,
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
            **more,
            **_as_little_at_once(self.rows),
        ):
            for first in range(0, rows.num_rows, most_rows):
                yield ArrowBatch(rows.slice(first, most_rows), self.chosen)


def _as_little_at_once(rows: Any) -> dict[str, Any]:
    """Return how a dataset of Parquet files is read without holding whole groups of rows."""
    dataset: Any = require("pyarrow.dataset", *ARROW[1:])
    if not isinstance(getattr(rows, "format", None), dataset.ParquetFileFormat):
        return {}
    options = dataset.ParquetFragmentScanOptions(
        use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False
    )
    return {"fragment_scan_options": options}


# --- arrays and frames ---------------------------------------------------------------------------


class ArrayBatch:
    """Rows of an array."""

    def __init__(
        self, matrix: AnyArray, learnt: AnyArray | None, weights: AnyArray | None
    ) -> None:
        self.matrix = matrix
        self.learnt = learnt
        self.weights = weights

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.matrix)

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features."""
        return raw_column(self.matrix[:, place], f"Column {place}")


@dataclass(frozen=True, eq=False)
class ArrayPiece:
    """Rows of an array: one that is mapped to a file, or that is read when it is sliced."""

    X: AnyArray
    y: AnyArray | None
    w: AnyArray | None
    first: int
    last: int

    watched: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"rows {self.first} to {self.last - 1} of X"

    @cached_property
    def _maps(self) -> list[Any]:
        """The memory maps that the rows are read from, but for those with changes of their own.

        What was written into a map that copies (mode "c") is nowhere else.
        """
        shared = [a for a in (self.X, self.y, self.w) if getattr(a, "mode", "c") != "c"]
        found = [getattr(array, "_mmap", None) for array in shared]
        return [mapped for mapped in found if hasattr(mapped, "madvise")]

    def row(self, number: int) -> str:
        """Return what messages call one of its rows."""
        return f"row {self.first + number} of X"

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Read the rows again."""
        for first in range(self.first, self.last, most_rows):
            here = slice(first, min(first + most_rows, self.last))
            some = [None if a is None else np.array(a[here]) for a in (self.X, self.y, self.w)]
            yield ArrayBatch(np.asarray(some[0]), some[1], some[2])
            # What was read stays in memory otherwise, for as long as nobody else needs it.
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)
