"""From what a user gives to pieces: paths, lazy frames, datasets of Arrow, memory maps."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.data.table import RawColumn
from obliqua.io.files import files_called
from obliqua.sources.pieces import (
    ARROW,
    ArrayPiece,
    Chosen,
    CsvPiece,
    FileState,
    FramePiece,
    ParquetPiece,
    csv_batches,
    is_text,
)
from obliqua.sources.running import PassRunner

__all__ = ["LargeTable", "is_table_elsewhere", "open_table"]

#: What a column may hold, as far as its type tells.
NUMBERS, SINGLE, BOOLS, TEXT, NOTHING = "numbers", "float32", "bools", "text", "nothing"
#: Of 100 cells of a column: with more texts among its numbers it is one of codes, as "07" and "x".
ODD_CELLS = 1
GROUP_BYTES = 1 << 26  # of a piece of a Parquet file, at least
BYTES_OF_PAGES = 3 << 18  # of a column of a file: a page, and what it is read from


@dataclass(frozen=True, eq=False)
class LargeTable:
    """A table in pieces.

    Parameters
    ----------
    pieces : list of Piece
        The pieces, none of which need have rows.
    names : tuple of str or None
        Names of the features, if they have any.
    kinds : tuple of str
        What the type of each feature tells.
    called : str
        What messages call it.
    run : PassRunner or None, default=None
        What maps passes over the pieces; None: threads of this machine.
    reading : int, default=0
        Bytes that a reader of a piece holds beside the rows that it gives: pages of columns, and
        dictionaries.
    odd_cells : dict of str to str
        By columns that few cells of files make text, where most are numbers: what is said of it.
    """

    pieces: list[Any]
    names: tuple[str, ...] | None
    kinds: tuple[str, ...]
    called: str
    run: PassRunner | None = None
    reading: int = 0
    odd_cells: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.kinds)

    @property
    def single(self) -> bool:
        """Whether all features are float32, and so is the matrix that they make."""
        return all(kind == SINGLE for kind in self.kinds)

    def may_read(self, path: str) -> bool:
        """Say whether a file is one that is read; whether it is there, if that is not known.

        Parameters
        ----------
        path : str
            The file.

        Returns
        -------
        bool
            Whether writing it might destroy what is read.
        """
        if any(_files_of(piece) is None for piece in self.pieces):
            return os.path.isfile(path)
        found = {file.path for piece in self.pieces for file in _files_of(piece) or ()}
        return os.path.realpath(path) in map(os.path.realpath, found)

    def stand_ins(self) -> list[RawColumn]:
        """Return columns without rows, of the right types."""
        return [
            RawColumn(np.empty(0), [] if kind in (TEXT, NOTHING) else None, "", kind)
            for kind in self.kinds
        ]


def _files_of(piece: Any) -> tuple[FileState, ...] | None:
    """Return the files that a piece is read from; None if they are not known."""
    if isinstance(piece, ParquetPiece | CsvPiece):
        return (piece.file,)
    return getattr(piece, "files", None) or None


def is_table_elsewhere(X: Any) -> bool:
    """Say whether X is no table but tells where one is."""
    if isinstance(X, str | os.PathLike | LargeTable):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(one, str | os.PathLike) for one in X)
    module = type(X).__module__
    return (module.startswith("polars") and hasattr(X, "collect_schema") and _is_lazy(X)) or (
        module.startswith("pyarrow") and hasattr(X, "to_batches") and hasattr(X, "scanner")
    )


def _is_lazy(X: Any) -> bool:
    return not hasattr(X, "get_columns")


def open_table(X: Any, learnt: Any, weight: str | None = None) -> LargeTable:
    """Find the pieces of a table; of Parquet, only what files say of themselves is read.

    Parameters
    ----------
    X : str, path-like, list of them, LazyFrame or Dataset
        Where the table is.
    learnt : str or list of str
        The column that is learnt; of several outputs, all of them.
    weight : str, default=None
        The column of the weights.

    Returns
    -------
    LargeTable
        The table. ``fit(table, None)`` of an estimator takes it; with another `run`
        (``dataclasses.replace(table, run=...)``) its passes are mapped by somebody else.
    """
    _check_elsewhere(X)
    return _opened(X, *checked_names(learnt, weight))


def with_features(
    X: Any,
    names: tuple[str, ...],
    text: Sequence[str] = (),
    learnt: tuple[str, ...] = (),
    weight: str | None = None,
) -> LargeTable:
    """Find the pieces of a table of which some columns are looked at, by their names.

    `text`: columns of CSV files that are text, even where all of it looks like numbers.
    """
    _check_elsewhere(X)
    return _opened(X, learnt, weight, names, text)


def _opened(
    X: Any,
    learnt: tuple[str, ...],
    weight: str | None,
    features: tuple[str, ...] | None = None,
    text: Sequence[str] = (),
) -> LargeTable:
    if isinstance(X, str | os.PathLike | list | tuple):
        return _files(_paths(X), learnt, weight, features, text)
    return _frames(X, learnt, weight, features)


def _check_elsewhere(X: Any) -> None:
    """Refuse what does not tell where a table is."""
    if isinstance(X, list | tuple) and not X:
        raise ValueError("No files are given: X is an empty list. Give at least one path.")
    if isinstance(X, LargeTable) or not is_table_elsewhere(X):
        raise TypeError(
            "X tells where a table is: a path, a pattern, a list of paths, a LazyFrame of polars "
            f"or a Dataset of Arrow; got {type(X).__name__}. What is in memory goes to the "
            "methods of an estimator."
        )


def checked_names(learnt: Any, weight: Any) -> tuple[tuple[str, ...], str | None]:
    """Return the names of what is learnt, and of the weights; refuse what is none."""
    if not (weight is None or isinstance(weight, str)):
        raise TypeError(
            "With X in files, sample_weight is the name of a column, or None; got "
            f"{type(weight).__name__}."
        )
    if isinstance(learnt, str):
        return (learnt,), weight
    if isinstance(learnt, list | tuple) and learnt and all(isinstance(n, str) for n in learnt):
        return tuple(learnt), weight
    raise TypeError(
        "With X in files, y is the name of the column that is learnt (for several outputs of a "
        f"regressor, a list of names); got {type(learnt).__name__}."
    )


# --- paths ---------------------------------------------------------------------------------------


def _paths(given: Any) -> list[str]:
    """Return the files that paths and patterns name, in an order that is always the same."""
    found: list[str] = []
    for one in given if isinstance(given, list | tuple) else [given]:
        path = os.fspath(one)
        if os.path.isdir(path):
            files = _files_in(path)
        elif os.path.exists(path):
            files = [path]
        else:
            files = sorted(filter(os.path.isfile, glob.glob(path, recursive=True)))
        if not files:
            raise FileNotFoundError(
                f"There is no file {path!r} in {os.getcwd()!r}. Give a path, a pattern such as "
                "'data/*.parquet', or a list of paths."
            )
        found += files
    times = Counter(map(os.path.realpath, found))
    twice = [path for path, count in times.items() if count > 1]
    if twice:
        raise ValueError(f"The file {min(twice)} is given twice. Give each file once.")
    return found


def _files_in(folder: str) -> list[str]:
    """Return the files of a folder; refuse one whose folders have files too, or that has none."""
    here = sorted(glob.glob(os.path.join(glob.escape(folder), "*")))
    here = [path for path in here if not _is_hidden(path)]
    files = [path for path in here if os.path.isfile(path)]
    for inner in (path for path in here if os.path.isdir(path)):
        if any(names for _, _, names in os.walk(inner)):
            raise ValueError(
                f"The folder {folder!r} has folders with files, such as {inner!r}, which would be "
                f"left out. Give a pattern, such as {os.path.join(folder, '**', '*.parquet')!r}."
            )
    if not files:
        raise FileNotFoundError(f"The folder {folder!r} has no files. Give one that has some.")
    return files


def _is_hidden(path: str) -> bool:
    return os.path.basename(path).startswith((".", "_"))


def _is_parquet(path: str) -> bool:
    """Say whether a file is named or begins as a Parquet file."""
    if path.lower().endswith(".parquet"):
        return True
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1"


def _files(
    paths: list[str],
    learnt: tuple[str, ...],
    weight: str | None,
    features: tuple[str, ...] | None = None,
    text: Sequence[str] = (),
) -> LargeTable:
    pieces: list[Any] = []
    csv: list[FileState] = []
    first: tuple[str, Chosen, tuple[str, ...]] | None = None
    types_of_learnt: dict[str, tuple[Any, str]] = {}
    reading = 0
    for path in paths:
        state = FileState.of(path)
        if state.size == 0:
            raise ValueError(
                f"{path} is empty: it has no bytes, and so no columns. Leave it out, or write it "
                "again."
            )
        if not _is_parquet(path):
            csv.append(state)
            continue
        schema, groups, starts, held = _parquet_outline(path)
        reading = max(reading, held)
        chosen, kinds = _chosen(schema, learnt, weight, path, features)
        first, chosen, kinds = _like_first(first, path, chosen, kinds)
        _check_learnt(schema, learnt, path, types_of_learnt)
        pieces += [ParquetPiece(state, some, chosen, starts[some[0]]) for some in groups]
    if csv and pieces:
        raise ValueError(
            f"{csv[0].path} is no Parquet file, and {pieces[0].file.path} is one. Give files of "
            "one kind."
        )
    if csv:
        return _csv_files(csv, learnt, weight, features, text)
    assert first is not None
    return LargeTable(pieces, first[1].features, first[2], files_called(paths), reading=reading)


def _check_learnt(
    schema: Any, learnt: tuple[str, ...], path: str, known: dict[str, tuple[Any, str]]
) -> None:
    """Refuse what is learnt if it is text in one file and not in another; note its type."""
    for name in learnt:
        now = schema.field(name).type
        if str(now) == "null":
            continue
        before, where = known.setdefault(name, (now, path))
        if is_text(before) != is_text(now):
            raise ValueError(
                "y mixes text and numbers in different pieces of the table: the column "
                f"{name!r} has the type {before} in {where}, and {now} in {path}. Write all "
                "labels in one way."
            )


def _parquet_outline(path: str) -> tuple[Any, list[tuple[int, ...]], list[int], int]:
    """Return a Parquet file's schema, groups of rows, where these begin, and a reader's bytes.

    Small groups are taken together.
    """
    pa: Any = require(*ARROW)
    parquet: Any = require("pyarrow.parquet", *ARROW[1:])
    try:
        with parquet.ParquetFile(path) as file:
            schema, about = file.schema_arrow, file.metadata
    except (PermissionError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise ValueError(
            f"{path} is named, or begins, like a Parquet file and cannot be read as one: "
            f"{str(error).rstrip('.')}. It may have been cut off: write it again."
        ) from error
    all_groups = [about.row_group(number) for number in range(about.num_row_groups)]
    sizes = [group.total_byte_size for group in all_groups]
    starts = np.cumsum([0, *(group.num_rows for group in all_groups)]).tolist()
    # Groups of a file are written alike: a few tell enough, and there may be very many.
    reading = max(map(_held, all_groups[:4]), default=0)
    return schema, _taken_together(list(enumerate(sizes))), starts, reading


def _taken_together(groups: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Put small groups of rows together, which are given by numbers and sizes."""
    found: list[tuple[int, ...]] = []
    size = GROUP_BYTES
    for number, more in groups:
        if size >= GROUP_BYTES:
            found.append(())
            size = 0
        found[-1] += (number,)
        size += more
    return found


def _held(group: Any) -> int:
    """Return what a reader of a group of rows holds: a page of each column, and dictionaries."""
    total = 0
    for place in range(group.num_columns):
        column = group.column(place)
        total += min(BYTES_OF_PAGES, 2 * column.total_uncompressed_size)
        if column.has_dictionary_page and column.dictionary_page_offset is not None:
            # As it was written, as it is read, and its values.
            total += 3 * max(column.data_page_offset - column.dictionary_page_offset, 0)
    return total


def _chosen(
    schema: Any,
    learnt: tuple[str, ...],
    weight: str | None,
    path: str,
    wanted: tuple[str, ...] | None = None,
) -> tuple[Chosen, tuple[str, ...]]:
    """Return which columns of a schema of Arrow are the features, and what they hold."""
    names = list(schema.names)
    for name in (*learnt, *([] if weight is None else [weight]), *(wanted or ())):
        if names.count(name) != 1:
            raise ValueError(
                f"{path} has {'no column' if name not in names else 'several columns'} "
                f"{name!r}; it has {', '.join(map(repr, names[:20]))}"
                f"{', ...' if len(names) > 20 else ''}."
            )
    features = wanted
    if features is None:
        # A frame that pandas wrote may have its index beside its columns; to read it gives none.
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        apart = {*learnt, weight, *(name for name in index if isinstance(name, str))}
        features = tuple(name for name in names if name not in apart)
    twice = [name for name in features if features.count(name) > 1]
    if twice or not features:
        raise ValueError(
            f"{path} has several columns {twice[0]!r}. Give each a name of its own."
            if twice
            else f"{path} has no columns beside {', '.join(map(repr, names))}: there is nothing "
            "to learn from."
        )
    kinds = tuple(_kind(schema.field(name).type, name, path) for name in features)
    return Chosen(features, learnt, weight), kinds


def _kind(type_: Any, name: str, path: str) -> str:
    pa: Any = require(*ARROW)
    is_a = pa.types
    if is_a.is_float32(type_):
        return SINGLE
    if is_a.is_integer(type_) or is_a.is_floating(type_):
        return NUMBERS
    if is_a.is_boolean(type_):
        return BOOLS
    if is_a.is_null(type_):
        return NOTHING
    if is_text(type_):
        return TEXT
    raise ValueError(
        f"The column {name!r} of {path} has the type {type_}, and trees from files take numbers, "
        "bools and text. Write it as one of these, a date for instance as a number of days, or "
        "leave the column out."
    )


def _like_first(
    first: tuple[str, Chosen, tuple[str, ...]] | None,
    path: str,
    chosen: Chosen,
    kinds: tuple[str, ...],
) -> tuple[tuple[str, Chosen, tuple[str, ...]], Chosen, tuple[str, ...]]:
    """Compare the columns of a file with those of the first; refuse others."""
    if first is None:
        return (path, chosen, kinds), chosen, kinds
    where, known, types = first
    here = dict(zip(chosen.features, kinds, strict=True))
    for name in known.features:
        if name not in here:
            raise ValueError(f"{path} has no column {name!r}, and {where} has one.")
    for name in here:
        if name not in known.features:
            raise ValueError(f"{path} has a column {name!r}, and {where} has none.")
    joined = []
    for name, before in zip(known.features, types, strict=True):
        now = here[name]
        both = {before, now} - {NOTHING}
        if len(both) > 1 and not both <= {NUMBERS, SINGLE}:
            raise ValueError(
                f"The column {name!r} holds {now} in {path}, and {before} in {where}. Write it "
                "in one way in all files."
            )
        joined.append(NUMBERS if len(both) > 1 else (both or {NOTHING}).pop())
    return (where, known, tuple(joined)), known, kinds


# --- CSV -----------------------------------------------------------------------------------------


def _csv_files(
    states: list[FileState],
    learnt: tuple[str, ...],
    weight: str | None,
    features: tuple[str, ...] | None = None,
    text: Sequence[str] = (),
) -> LargeTable:
    """Find out what the columns of CSV files hold: all of their text is read once."""
    pa: Any = require(*ARROW)
    first: tuple[str, Chosen, tuple[str, ...]] | None = None
    readable = {name: [pa.string()] for name in text}
    odd: dict[str, OddCells] = {}
    for state in states:
        try:
            names = _narrow(state.path, readable, odd)
        except (PermissionError, FileNotFoundError):
            raise
        except (pa.ArrowException, OSError, ValueError, UnicodeError) as error:
            raise ValueError(
                f"{state.path} cannot be read as CSV: {' '.join(str(error).split()).rstrip('.')}. "
                "Write it anew if it was cut off; its text must be UTF-8, with commas between "
                "cells, and no line breaks in them."
            ) from error
        schema = pa.schema([(name, readable[name][0]) for name in names])
        chosen, kinds = _chosen(schema, learnt, weight, state.path, features)
        first, _, _ = _like_first(first, state.path, chosen, (TEXT,) * len(kinds))
    assert first is not None
    chosen = first[1]
    types = {name: kinds[0] for name, kinds in readable.items()}
    kinds = tuple(_kind(types[name], name, states[0].path) for name in chosen.features)
    known = tuple((name, types[name]) for name in chosen.columns)
    pieces = [CsvPiece(state, known, chosen) for state in states]
    told = {
        name: f"The column {name!r} is text, as it holds {odd[name].first}, counted from 0, where "
        "most cells are numbers. Write a number there, or nothing if it is missing."
        for name, type_ in known
        if name in odd and odd[name].n_texts and is_text(type_)
    }
    if weight in told:
        raise ValueError(f"sample_weight must hold numbers. {told[weight]}")
    called = files_called([state.path for state in states])
    return LargeTable(list(pieces), chosen.features, kinds, called, odd_cells=told)


@dataclass
class OddCells:
    """Of a column most of whose cells are numbers: how many there are, and which are text."""

    n_cells: int = 0
    n_texts: int = 0
    first: str = ""

    def few(self, column: Any, kinds: list[Any], path: str, first_row: int) -> bool:
        """Count more cells; say whether those that are text are few among all so far."""
        pa: Any = require(*ARROW)
        self.n_cells += len(column) - column.null_count
        if pa.float64() in kinds:  # which read all cells so far
            return True
        most = min(max(ODD_CELLS * self.n_cells // 100, 1), self.n_cells - 1)
        found = list(islice(_texts(column), max(most - self.n_texts, 0) + 1))
        if found and not self.n_texts:
            self.first = f"{column[found[0]].as_py()!r} in row {first_row + found[0]} of {path}"
        self.n_texts += len(found)
        return not found or self.n_texts <= most


def _texts(column: Any, first: int = 0) -> Iterator[int]:
    """Yield the places of cells that are no numbers; of numbers, none is looked at alone."""
    pa: Any = require(*ARROW)
    if _reads(column, pa.float64()):
        return
    if len(column) == 1:
        yield first
        return
    half = len(column) // 2
    yield from _texts(column.slice(0, half), first)
    yield from _texts(column.slice(half), first + half)


def _narrow(path: str, readable: dict[str, list[Any]], odd: dict[str, OddCells]) -> list[str]:
    """Leave only the types of each column that read all of its cells, the narrowest first.

    Returns the names of the columns. Leaves in `odd` those most of whose cells are numbers.
    """
    pa: Any = require(*ARROW)
    csv: Any = require("pyarrow.csv", *ARROW[1:])
    with csv.open_csv(path) as reader:
        names: list[str] = reader.schema.names
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(
            f"it has several columns {twice[0]!r} in its first line. Give each a name of its own."
        )
    for name in names:
        if name not in readable:
            readable[name] = [pa.null(), pa.int64(), pa.bool_(), pa.float64(), pa.string()]
            odd[name] = OddCells()
    n_rows = 0
    for rows in csv_batches(path, dict.fromkeys(names, pa.string()), names):
        for name in names:
            column = rows.column(name)
            readable[name] = _that_read(column, readable[name])
            if name in odd and not odd[name].few(column, readable[name], path, n_rows):
                del odd[name]
        n_rows += rows.num_rows
    return names


def _that_read(column: Any, kinds: list[Any]) -> list[Any]:
    """Return those types that read all cells of a column of text; text reads any.

    What is nothing at all can be read as anything, and whole numbers as fractions.
    """
    pa: Any = require(*ARROW)
    found: list[Any] = []
    for kind in kinds[:-1]:
        whole = pa.types.is_floating(kind) and pa.int64() in found
        if pa.null() in found or whole or _reads(column, kind):
            found.append(kind)
    return [*found, kinds[-1]]


def _reads(column: Any, kind: Any) -> bool:
    """Say whether all cells of a column of text can be read as a type."""
    pa: Any = require(*ARROW)
    if pa.types.is_null(kind):
        return bool(column.null_count == len(column))
    try:
        column.cast(kind)
    except pa.ArrowException:
        return False
    return True


# --- frames, datasets, arrays --------------------------------------------------------------------


def _frames(
    X: Any,
    learnt: tuple[str, ...],
    weight: str | None,
    features: tuple[str, ...] | None = None,
) -> LargeTable:
    """Find the pieces of a lazy frame or a dataset."""
    if hasattr(X, "collect_schema"):
        schema = X.head(0).collect().to_arrow().schema
        called = "the lazy frame"
    else:
        schema, called = X.schema, "the dataset"
    chosen, kinds = _chosen(schema, learnt, weight, called, features)
    pieces: list[Any] = []
    reading = 0
    if not hasattr(X, "collect_schema"):
        pieces, reading = _fragments(X, chosen)
        paths = getattr(X, "files", None) if _is_local(X) else None
        states = tuple(map(FileState.of, paths or ()))
        pieces = pieces or [FramePiece(X, called, chosen, files=states)]
    pieces = pieces or [FramePiece(X, called, chosen)]
    return LargeTable(pieces, chosen.features, kinds, called, reading=reading)


def _is_local(X: Any) -> bool:
    """Say whether a dataset or a fragment has files of this machine."""
    return type(getattr(X, "filesystem", None)).__name__ == "LocalFileSystem"


def _fragments(dataset: Any, chosen: Chosen) -> tuple[list[Any], int]:
    """Return the fragments of a dataset as pieces, and what a reader holds.

    One that is filtered has none. Files of this machine are read as if their paths were given.
    """
    try:
        fragments = list(dataset.get_fragments())
    except (ValueError, NotImplementedError):
        return [], 0
    pieces: list[Any] = []
    reading = 0
    for fragment in fragments:
        path = getattr(fragment, "path", "") or "a fragment of the dataset"
        state = FileState.of(path) if _is_local(fragment) else None
        parts = fragment.split_by_row_group() if hasattr(fragment, "row_groups") else [fragment]
        if state is not None and _is_plain(fragment, dataset, chosen):
            _, _, starts, held = _parquet_outline(path)
            reading = max(reading, held)
            groups = [(one.row_groups[0].id, one.row_groups[0].total_byte_size) for one in parts]
            pieces += [
                ParquetPiece(state, some, chosen, starts[some[0]])
                for some in _taken_together(groups)
            ]
            continue
        states = () if state is None else (state,)
        pieces += [FramePiece(one, path, chosen, dataset.schema, states) for one in parts]
    return pieces, reading


def _is_plain(fragment: Any, dataset: Any, chosen: Chosen) -> bool:
    """Say whether a fragment's file holds all columns itself, as the dataset has them."""
    if not hasattr(fragment, "row_groups"):
        return False
    there = fragment.physical_schema
    return str(fragment.partition_expression) == "true" and all(
        len(there.get_all_field_indices(name)) == 1
        and there.field(name).type == dataset.schema.field(name).type
        for name in chosen.columns
    )


def array_table(
    X: Any, y: AnyArray | None, weights: AnyArray | None, rows_of_piece: int
) -> LargeTable:
    """Cut an array into pieces; one that is stored in chunks, where chunks begin."""
    n_rows = len(X)
    chunks = getattr(X, "chunks", None)
    if chunks and isinstance(chunks[0], int):
        rows_of_piece = max(rows_of_piece // chunks[0], 1) * chunks[0]
    for name, other in (("y", y), ("sample_weight", weights)):
        if other is not None and np.ndim(other) == 0:
            raise TypeError(
                f"X is an array, whose columns have no names: {name} is an array with a value "
                f"for each of its {n_rows} rows; got {other.item()!r}."
            )
        if other is not None and len(other) != n_rows:
            raise ValueError(
                f"X has {n_rows} rows, and {name} has {len(other)}. Give one for each."
            )
    pieces: list[Any] = [
        ArrayPiece(X, y, weights, first, min(first + rows_of_piece, n_rows))
        for first in range(0, n_rows, rows_of_piece)
    ]
    kind = SINGLE if X.dtype == np.float32 else NUMBERS
    return LargeTable(pieces, None, (kind,) * X.shape[1], "X")
