"""Lines: what rows have values along. Planes, and the columns of reflected rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.engine.moments import ClassSums

__all__ = ["Lines", "axis_lines"]

TIE = 2.0**-50  # per term, as in the compiled search
SPREAD = 4.0  # standard deviations
MIRRORED = 4  # as many terms more for what it takes to reflect a row, as there


class Lines(NamedTuple):
    """Lines as compiled code takes them, see `obliqua._core.search.part_rows`.

    The value of a row is the sum of ``coef * (scale * x)`` over the terms of a line, from `begin`
    to `end`; with a column of its `own`, ``own_scale * x[own] + factor * sum``.
    """

    begin: Int64Array
    end: Int64Array
    idx: Int32Array
    coef: FloatArray
    scale: FloatArray
    own: Int32Array  # -1: none
    own_scale: FloatArray
    factor: FloatArray

    @classmethod
    def of_planes(cls, planes: Sequence[tuple[Int32Array, FloatArray]]) -> Lines:
        """Return lines along normals; values are canonical dot products."""
        end = np.cumsum([len(idx) for idx, _ in planes], dtype=np.int64)
        begin = np.concatenate([[0], end[:-1]]).astype(np.int64)[: len(planes)]
        idx = np.concatenate([np.empty(0, np.int32), *(idx for idx, _ in planes)])
        coef = np.concatenate([np.empty(0), *(coef for _, coef in planes)])
        none, one = np.full(len(planes), -1, dtype=np.int32), np.ones(len(planes))
        return cls(begin, end, idx.astype(np.int32), coef, np.ones(len(idx)), none, one, one)

    @classmethod
    def of_mirror(cls, vector: FloatArray, scale: FloatArray) -> Lines:
        """Return the columns X_j - 2 u_j (X u) of scaled rows reflected at a mirror's normal u.

        Where u_j is 0 the column is the feature itself, and is left out.
        """
        idx = np.flatnonzero(vector).astype(np.int32)
        n = len(idx)
        begin, end = np.zeros(n, dtype=np.int64), np.full(n, n, dtype=np.int64)
        coef, factors = vector[idx], scale[idx]
        return cls(begin, end, idx, coef, factors, idx, factors, -2.0 * coef)

    @classmethod
    def joined(cls, several: Sequence[Lines]) -> Lines:
        """Return all of several lines."""
        several = [cls.of_planes([]), *several]
        offset = np.repeat(
            np.cumsum([0] + [len(lines.idx) for lines in several[:-1]]),
            [len(lines) for lines in several],
        )
        begin, end, *rest = (np.concatenate(column) for column in zip(*several, strict=True))
        return cls(begin + offset, end + offset, *rest)

    def one(self, k: int) -> Lines:
        """Return line k alone."""
        here = self.begin[k : k + 1], self.end[k : k + 1]
        mine: Any = (self.own[k : k + 1], self.own_scale[k : k + 1], self.factor[k : k + 1])
        return Lines(*here, self.idx, self.coef, self.scale, *mine)

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def canonical(self) -> bool:
        """Whether values along all lines are canonical."""
        return bool((self.own < 0).all())

    def about(self, columns: FloatArray, sums: ClassSums) -> tuple[FloatArray, FloatArray]:
        """Return about where values lie along each line: most of them between these two.

        `columns` is what `LineRanges` says of the features, `sums` are those of all rows.
        """
        normals = self.normals(len(columns))
        with np.errstate(all="ignore"):  # what is not finite is no help, and does no harm
            mean, covariance = sums.about()
            centre = normals @ mean
            width = SPREAD * np.sqrt(((normals @ covariance) * normals).sum(axis=1))
            ends = normals[:, :, None] * columns[:, :2]
            low, high = ends.min(axis=2).sum(axis=1), ends.max(axis=2).sum(axis=1)
            most = np.fmax(low, centre - width), np.fmin(high, centre + width)
        some = most[0] < most[1]
        return np.where(some, most[0], low), np.where(some, most[1], high)

    def normals(self, n_columns: int) -> FloatArray:
        """Return about what multiplies each column, line by line."""
        normals = np.zeros((len(self), n_columns))
        for k in range(len(self)):
            terms = slice(self.begin[k], self.end[k])
            normals[k, self.idx[terms]] = self.factor[k] * self.coef[terms] * self.scale[terms]
            if self.own[k] >= 0:
                normals[k, self.own[k]] += self.own_scale[k]
        return normals

    def tolerance(self, reach: FloatArray, columns: FloatArray) -> FloatArray:
        """Return up to what difference values along each line are equal.

        `reach` is what `LineRanges` says of these lines, `columns` what it says of the features.
        """
        terms, size = self.end - self.begin, reach[:, 2]
        with np.errstate(over="ignore", invalid="ignore"):
            plane = np.where(terms == 1, 0.0 * size, TIE * terms * size)
            own = np.maximum(self.own, 0)
            far = np.maximum(np.abs(columns[own, 0]), np.abs(columns[own, 1]))
            mirrored = (
                TIE
                * (len(columns) + MIRRORED)
                * (self.own_scale * far + np.abs(self.factor) * size)
            )
        return np.where(self.own < 0, plane, mirrored)


def axis_lines(n_columns: int) -> Lines:
    """Return lines along single columns, from the first on."""
    return Lines.of_planes([(np.array([k], np.int32), np.ones(1)) for k in range(n_columns)])
