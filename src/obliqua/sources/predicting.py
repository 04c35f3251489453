"""Predictions for tables that do not fit in memory, part by part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.sources.pieces import ARROW
from obliqua.sources.tables import with_features

__all__ = ["predict_in_parts", "predicted_from_files", "write_predictions"]

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
    table = with_features(X, tuple(map(str, names)), text)
    for piece in table.pieces:
        for batch in piece.batches(ROWS):
            if batch.n_rows:
                yield call(batch.frame())


def predicted_from_files(estimator: Any, method: str, X: Any) -> AnyArray:
    """Return all predictions for a table in files; they are in memory, its rows are not."""
    found = list(predict_in_parts(estimator, X, method))
    if not found:
        raise ValueError("The table has no rows to predict for.")
    return np.concatenate(found)


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
        The file to write.
    method : str, default="predict"
        Which method says something of rows. Several numbers of a row become several columns.
    column : str, default="prediction"
        The column's name; of several columns the beginning.

    Returns
    -------
    int
        The number of rows.
    """
    pa: Any = require(*ARROW)
    parquet: Any = require("pyarrow.parquet", *ARROW[1:])
    path = os.fspath(path)
    _check_output(path, column)
    unfinished = f"{path}.{secrets.token_hex(4)}.unfinished"
    writer, n_rows = None, 0
    try:
        for said in predict_in_parts(estimator, X, method):
            columns = {column: said} if said.ndim == 1 else dict(_columns(said, column, estimator))
            rows = pa.table({name: pa.array(values) for name, values in columns.items()})
            if writer is None:
                writer = _writer(parquet, unfinished, rows.schema, path)
            writer.write_table(rows)
            n_rows += len(said)
        if writer is None:
            raise ValueError("The table has no rows to predict for.")
        writer.close()
        os.replace(unfinished, path)
    except BaseException:
        if writer is not None:
            writer.close()
        with suppress(FileNotFoundError):
            os.remove(unfinished)
        raise
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
    if not isinstance(column, str):
        raise TypeError(f"column is the name of a column, a text; got {column!r}.")


def _writer(parquet: Any, unfinished: str, schema: Any, path: str) -> Any:
    try:
        return parquet.ParquetWriter(unfinished, schema)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"{path} cannot be written: {reason}. Give a path in a folder that exists and may be "
            "written to."
        ) from error


def _columns(said: AnyArray, column: str, estimator: Any) -> Iterator[tuple[str, AnyArray]]:
    labels = getattr(estimator, "classes_", range(said.shape[1]))
    for place, label in enumerate(labels):
        yield f"{column}_{label}", said[:, place]
