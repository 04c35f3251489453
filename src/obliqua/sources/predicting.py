"""Predictions for tables that do not fit in memory, part by part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.data.encoding import NUMERIC
from obliqua.data.problem import checked_numbers
from obliqua.io.files import cannot_write, whole_file
from obliqua.sources.pieces import ARROW, Batch
from obliqua.sources.survey import PartLook, TablePart
from obliqua.sources.tables import LargeTable, checked_names, with_features

__all__ = ["compared_in_files", "predict_in_parts", "predicted_from_files", "write_predictions"]

ROWS = 1 << 16


def predict_in_parts(estimator: Any, X: Any, method: str = "predict") -> Iterator[AnyArray]:
    """Predict for a table in files, some rows at a time.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of the library. Its columns are found by their names; others may stand
        beside them.
    X : str, path-like, list of them, LazyFrame or Dataset
        Where the table is, as for `fit`.
    method : str, default="predict"
        Which method says something of rows: ``"predict"``, ``"predict_proba"``, ``"apply"``.

    Yields
    ------
    ndarray
        What is said of the next rows, in the order of the table.

    Examples
    --------
    >>> import numpy as np, pandas as pd, tempfile
    >>> from obliqua import CartClassifier
    >>> from obliqua.sources import predict_in_parts
    >>> frame = pd.DataFrame({"a": np.arange(6.0), "b": np.ones(6)})
    >>> tree = CartClassifier(pruning=None).fit(frame, [0, 0, 0, 1, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame.to_parquet(f"{folder}/table.parquet")
    ...     [said.tolist() for said in predict_in_parts(tree, folder)]
    [[0, 0, 0, 1, 1, 1]]
    """
    yield from _in_parts(*_opened(estimator, X, method))


def _opened(
    estimator: Any,
    X: Any,
    method: str,
    learnt: tuple[str, ...] = (),
    weight: str | None = None,
) -> tuple[Any, LargeTable]:
    """Return what says something of rows, and the table with the columns that it needs."""
    check_is_fitted(estimator)
    call = getattr(estimator, method, None) if isinstance(method, str) else None
    if not callable(call):
        raise ValueError(
            f"{type(estimator).__name__} has no method {method!r}. Give the name of one that says "
            "something of rows, such as 'predict'."
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError(
            "Columns of files are found by name, and this estimator was fitted to a matrix "
            "without names. Fit it to a frame or to files."
        )
    encoding = getattr(getattr(estimator, "model_", None), "encoding", None)
    known = () if encoding is None else encoding.columns
    text = [str(name) for name, column in zip(names, known, strict=False) if column.text]
    if getattr(estimator, "classes_", np.empty(0)).dtype.kind in "OU":
        text += learnt
    table = with_features(X, tuple(map(str, names)), text, learnt, weight)
    for column in known:
        if column.kind == NUMERIC and column.name in table.odd_cells:
            raise ValueError(table.odd_cells[column.name])
    return call, table


def _in_parts(call: Any, table: LargeTable) -> Iterator[AnyArray]:
    """Give what is said of the rows of a table, some at a time."""
    for number, piece in enumerate(table.pieces):
        part, first = TablePart(number, piece, ROWS), 0
        for batch in part.batches():
            if batch.n_rows:
                yield _said(call, batch, part, first)
            first += batch.n_rows


def _said(call: Any, batch: Any, part: TablePart, first: int) -> AnyArray:
    """Return what is said of some rows, the first of which is this one of the piece."""
    try:
        return np.asarray(call(batch.frame()))
    except (ValueError, TypeError) as error:
        raise part.named(error, first) from error


def predicted_from_files(estimator: Any, method: str, X: Any) -> AnyArray:
    """Return all predictions for a table in files; they are in memory, its rows are not."""
    found = list(predict_in_parts(estimator, X, method))
    if not found:
        raise ValueError("The table has no rows to predict for.")
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class Comparison(PartLook):
    """What is true of rows, what is said of them, and their weights."""

    call: Callable[[Any], AnyArray]
    check: Callable[[Any], None]

    def of(self, batch: Batch, part: TablePart) -> list[Any]:
        """Return what some rows answer."""
        if not batch.n_rows:
            return []
        rows: Any = batch
        self.check(rows.learnt)
        if rows.learnt.dtype.kind == "f":
            checked_numbers(rows.learnt, rows.n_rows)
        return [(batch.learnt, np.asarray(self.call(rows.frame())), batch.weights)]

    def _joined(self, answers: Sequence[list[Any]]) -> list[Any]:
        return [one for some in answers for one in some]


def compared_in_files(
    estimator: Any, X: Any, y: Any, weights: Any, check: Callable[[Any], None]
) -> tuple[AnyArray, AnyArray, AnyArray | None]:
    """Return what is true of rows in files, what is said of them, and their weights.

    Rows are read in parts. `check` refuses what cannot be true.
    """
    call, table = _opened(estimator, X, "predict", *checked_names(y, weights))
    look = Comparison(call, check)
    parts = [TablePart(number, piece, ROWS) for number, piece in enumerate(table.pieces)]
    found = look.joined([look(part) for part in parts])
    if not found:
        raise ValueError("The table has no rows to predict for.")
    truth, said, weighed = zip(*found, strict=True)
    return (
        np.concatenate(truth),
        np.concatenate(said),
        None if weights is None else np.concatenate(weighed),
    )


def write_predictions(
    estimator: Any, X: Any, path: Any, method: str = "predict", column: str = "prediction"
) -> int:
    """Predict for a table in files, and write what is said to a Parquet file.

    The file gets its name when all of it is written.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of the library.
    X : str, path-like, list of them, LazyFrame or Dataset
        Where the table is, as for `fit`.
    path : str or path-like
        The file to write, none of those that are read. A file that is there already is replaced;
        not if X is a LazyFrame, or anything else that does not tell which files it reads.
    method : str, default="predict"
        Which method says something of rows. Several numbers of a row become several columns.
    column : str, default="prediction"
        The column's name; of several columns the beginning.

    Returns
    -------
    int
        The number of rows.
    """
    path = os.fspath(path)
    _check_output(path, column)
    call, table = _opened(estimator, X, method)
    if table.may_read(path):
        raise ValueError(
            f"{path} is one of the files that are read, or may be one. Give the path of another "
            "one, which is not there yet."
        )
    said = _in_parts(call, table)
    try:
        with whole_file(path) as file:
            return _written(said, file, lambda some: _columns(some, column, estimator))
    except FileNotFoundError:  # one of those that are read
        raise
    except OSError as error:
        raise cannot_write(path, error) from error


def _written(
    said: Iterator[AnyArray],
    file: Any,
    columns_of: Callable[[AnyArray], Iterable[tuple[str, AnyArray]]],
) -> int:
    """Write what is said to a file, part by part; return the number of rows."""
    pa: Any = require(*ARROW)
    parquet: Any = require("pyarrow.parquet", *ARROW[1:])
    writer, n_rows = None, 0
    try:
        for some in said:
            rows = pa.table({name: pa.array(values) for name, values in columns_of(some)})
            writer = writer or parquet.ParquetWriter(file, rows.schema)
            writer.write_table(rows)
            n_rows += len(some)
    finally:
        if writer is not None:
            writer.close()
    if writer is None:
        raise ValueError("The table has no rows to predict for.")
    return n_rows


def _check_output(path: str, column: Any) -> None:
    """Refuse what cannot be a Parquet file, or the name of its column."""
    if os.path.isdir(path):
        raise IsADirectoryError(
            f"{path} is a folder. Give the path of the file to write, such as "
            f"{os.path.join(path, 'predictions.parquet')!r}."
        )
    if path.lower().endswith(".csv"):
        raise ValueError(
            f"A Parquet file is written, and {path} is the name of a CSV file. Give a path that "
            "ends in .parquet."
        )
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {folder!r}. Create it first."
        )
    if not isinstance(column, str):
        raise TypeError(f"column is the name of a column, a text; got {column!r}.")


def _columns(said: AnyArray, column: str, estimator: Any) -> Iterator[tuple[str, AnyArray]]:
    if said.ndim == 1:
        yield column, said
        return
    labels = getattr(estimator, "classes_", range(said.shape[1]))
    for place, label in enumerate(labels):
        yield f"{column}_{label}", said[:, place]
