"""The class sums of each value of each column among the rows of a node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.problem import Problem


class Values(NamedTuple):
    """The values that some columns have at a node, one column after another."""

    start: Int64Array  # where each column's values begin, and the end
    code: Int64Array  # ascending in each column; missing values come last
    sums: Int64Array  # their class sums
    rows: Int64Array  # their numbers of rows


class ValueSums:
    """All columns of a problem as codes: of a level, or a number's place among all numbers.

    Parameters
    ----------
    problem : Problem
        The data.
    """

    def __init__(self, problem: Problem) -> None:
        self.weights = problem.weights
        self.n_levels: list[int] = problem.n_levels.tolist()
        self.numbers: list[FloatArray] = []  # by code; none of a qualitative column
        codes = []
        for column, n_levels in enumerate(self.n_levels):
            values: FloatArray = np.asarray(problem.Z[:, column], dtype=np.float64)
            missing = np.isnan(values)
            # Adding 0 makes 0 of -0: which of them stood first must not show in a tree.
            values = np.where(missing, 0.0, values) + 0.0
            if n_levels:
                found, place = np.empty(0), values.astype(np.int64)
            else:
                found, place = np.unique(values, return_inverse=True)
            self.numbers.append(found)
            codes.append(np.where(missing, -1, place))
        self.missing = max(int(code.max()) for code in codes) + 1
        # Short codes are sorted by counting.
        kind = np.uint16 if self.missing < 2**16 else np.int32
        self.codes = np.empty((problem.n_features, problem.n_rows), dtype=kind)
        for column, code in enumerate(codes):
            self.codes[column] = np.where(code < 0, self.missing, code)

    def at(self, rows: Int64Array, y: Int64Array, n_classes: int, columns: range) -> Values:
        """Sort the rows of a node by each column, and add up the rows of each value."""
        codes = self.codes[columns.start : columns.stop, rows]
        order = np.argsort(codes, axis=1, kind="stable")
        codes = np.take_along_axis(codes, order, axis=1)
        new = np.ones(codes.shape, dtype=bool)
        np.not_equal(codes[:, 1:], codes[:, :-1], out=new[:, 1:])
        first = np.flatnonzero(new)
        weights = None if self.weights is None else self.weights[rows][order].ravel()
        cells = (np.cumsum(new) - 1) * n_classes + y[order].ravel()
        sums = np.bincount(cells, weights, minlength=len(first) * n_classes)
        return Values(
            np.concatenate([[0], np.cumsum(new.sum(axis=1))]),
            codes.ravel()[first].astype(np.int64),
            sums.astype(np.int64).reshape(-1, n_classes),
            np.diff(first, append=new.size),
        )
