"""Rows of numbers of which most are 0, as SciPy's sparse matrices have them: never made dense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from obliqua._core.base.rng import row_hashes, sparse_row_hashes
from obliqua._core.base.spread import column_means, sparse_column_means
from obliqua._core.base.walk import Walker
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array, Rows

__all__ = ["SparseRows", "hashes_of", "leaves_of", "means_of", "no_sparse"]

#: Rows are walked as dense ones, so many bytes of them at a time.
BLOCK_BYTES = 1 << 23


class SparseRows:
    """The rows of a sparse matrix, in the place of a matrix in a `Problem`.

    Parameters
    ----------
    matrix : sparse matrix or array of shape (n_rows, n_features)
        Numbers in any of SciPy's formats. What it does not store is 0; a stored NaN is missing.
        Entries that are there twice are added up. It is not changed.
    """

    ndim = 2

    def __init__(self, matrix: Any) -> None:
        rows = sparse.csr_array(matrix)
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if not rows.has_canonical_format or (rows.data == 0).any():
            rows = rows.copy()
            rows.sum_duplicates()
            rows.eliminate_zeros()
        self._matrix = rows

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        n_rows, n_columns = self._matrix.shape
        return int(n_rows), int(n_columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers: float32 or float64."""
        return self._matrix.dtype

    @property
    def values(self) -> Rows:
        """The numbers that are stored."""
        return self._matrix.data

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> SparseRows:
        return SparseRows(self._matrix[rows])

    def place_of(self, stored: BoolArray) -> tuple[int, int]:
        """Return row and column of the first of some of the stored numbers."""
        at = int(np.argmax(stored))
        row = int(np.searchsorted(self._matrix.indptr, at, side="right")) - 1
        return row, int(self._matrix.indices[at])

    @property
    def missing_columns(self) -> BoolArray:
        """Which columns have missing values."""
        gone = self._matrix.indices[np.isnan(self.values)]
        return np.bincount(gone, minlength=self.shape[1]) > 0

    @property
    def by_row(self) -> tuple[Int64Array, AnyArray, Rows]:
        """Where each row begins, and columns and values of the stored numbers."""
        return _typed(self._matrix)

    @cached_property
    def by_column(self) -> tuple[tuple[int, int], Int64Array, AnyArray, Rows]:
        """The shape, where each column begins, and rows and values of the stored numbers."""
        return (self.shape, *_typed(self._matrix.tocsc()))

    def dense(self, columns: AnyArray) -> Rows:
        """Return some columns as a matrix of their own."""
        _, ptr, rows, values = self.by_column
        found: Rows = np.zeros((len(self), len(columns)), dtype=self.dtype, order="F")
        for place, column in enumerate(columns.tolist()):
            here = slice(ptr[column], ptr[column + 1])
            found[rows[here], place] = values[here]
        return found

    def blocks(self, dtype: Any = None) -> Iterator[tuple[slice, Rows]]:
        """Yield all rows as dense ones, a few at a time, in memory that is used again."""
        ptr, columns, values = self.by_row
        n, p = self.shape
        dtype = np.dtype(dtype or self.dtype)
        most = max(1, min(n, BLOCK_BYTES // (p * dtype.itemsize)))
        block: Rows = np.zeros((most, p), dtype=dtype)
        for first in range(0, n, most):
            last = min(first + most, n)
            here = slice(ptr[first], ptr[last])
            at = np.repeat(np.arange(last - first), np.diff(ptr[first : last + 1])), columns[here]
            block[at] = values[here]
            yield slice(first, last), block[: last - first]
            block[at] = 0

    def walked(self, walk: Callable[[Rows], AnyArray], dtype: Any = None) -> Any:
        """Return what a function says of each row, asked about dense ones, a few at a time."""
        parts = [walk(rows) for _, rows in self.blocks(dtype)]
        return np.concatenate(parts or [walk(np.zeros((0, self.shape[1]), dtype=self.dtype))])


def _typed(matrix: Any) -> tuple[Int64Array, AnyArray, Rows]:
    """Return the arrays of a matrix, in the types that compiled code takes."""
    ptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    return ptr, np.ascontiguousarray(matrix.indices, dtype=np.int32), matrix.data


def leaves_of(tree: Any, Z: Any) -> Int64Array:
    """Return the leaf of a tree that each row reaches."""
    walker = Walker(tree)
    return Z.walked(walker.apply) if isinstance(Z, SparseRows) else walker.apply(Z)


def hashes_of(Z: Any, labels: Int64Array, seed: int) -> Any:
    """Return a number per row that depends on its values, its label and the seed only."""
    if isinstance(Z, SparseRows):
        return sparse_row_hashes(Z.shape, *Z.by_row, labels, seed)
    return row_hashes(Z, labels, seed)


def means_of(Z: Any, weights: FloatArray | None) -> FloatArray:
    """Return the mean of the values in each column; 0 where there is none."""
    if isinstance(Z, SparseRows):
        return sparse_column_means(*Z.by_column, weights)
    return column_means(Z, weights)


def no_sparse(what: str, instead: str = "") -> str:
    """Say that something takes no sparse X, and what to do."""
    return (
        f"{what} takes no sparse matrix as X. {instead}CartClassifier, CartRegressor and the "
        "forests take it as it is, and HHCartClassifier with max_features; all others take a few "
        "columns, such as scikit-learn's TruncatedSVD or SelectKBest makes of it, or X.toarray() "
        "if there is memory for that."
    )
