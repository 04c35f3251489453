"""Exact class means and scatter matrices of a node, from sums that add up over parts.

Methods that look at covariances (Householder, Fisher, discriminants) take them from here, so
their directions are a pure function of the node's rows: no order of rows, number of threads or
division into parts can change a bit.

So are the factors that make features comparable, which are found once per fit: a method that looks
at scaled features finds directions there, and the engine turns them into directions of the
original features, so a tree never needs the scales again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._core.grow.moments import scatter as _scatter
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua.data.problem import Problem
from obliqua.data.target import Classes

__all__ = ["SCALES", "ClassSums", "FixedPoint", "class_sums", "feature_scale", "spread"]

SCALES = ("standard", "robust", "minmax")

VALUE_BITS = 24
PIECE_BITS = 26
ROWS_AT_ONCE = 4096
TOTAL_BITS = 36  # sums of weights up to 2^36 times a piece of a product fit in 64 bits


@dataclass(frozen=True)
class FixedPoint:
    """How values become whole numbers: the same for all parts of the rows that are summed.

    Parameters
    ----------
    shift : ndarray of shape (n_features,)
        The middle of each column's range.
    exponent : ndarray of int32, of shape (n_features,)
        ``|x - shift| <= 2**exponent``.
    weight_shift : int
        Weights are divided by ``2**weight_shift``.
    """

    shift: FloatArray
    exponent: Int32Array
    weight_shift: int = 0

    @classmethod
    def of_ranges(cls, low: FloatArray, high: FloatArray, total_weight: int = 1) -> FixedPoint:
        """Make it of ranges, which parts of the data can merge.

        Parameters
        ----------
        low, high : ndarray of shape (n_features,)
            The least and the largest value of each column.
        total_weight : int, default=1
            The weight of all rows in grid units.

        Returns
        -------
        FixedPoint
            The same for all parts.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        shift = low / 2 + high / 2
        reach = np.maximum(high - shift, shift - low)
        _, exponent = np.frexp(reach)
        # Below this, 2^(24 - exponent) would overflow; such columns are constant to rounding.
        exponent = np.maximum(exponent, -990)
        return cls(shift, exponent.astype(np.int32), weight_shift(total_weight))

    @classmethod
    def of_rows(cls, problem: Problem, rows: Int32Array) -> FixedPoint:
        """Make it for some rows of a problem, those of a node for instance.

        Parameters
        ----------
        problem : Problem
            The data.
        rows : ndarray of int32
            Row numbers.

        Returns
        -------
        FixedPoint
            The same for all parts of these rows.
        """
        parts = [(some.min(axis=0), some.max(axis=0)) for some in _pieces(problem.Z, rows)]
        low, high = np.min(parts, axis=0)[0], np.max(parts, axis=0)[1]
        return cls.of_ranges(low, high, problem.total_weight)


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Sums of weights, values and products per class. They add and subtract exactly.

    Parameters
    ----------
    weights : ndarray of int64, of shape (n_classes,)
        In units of ``2**grid.weight_shift`` grid units of weight.
    first : ndarray of int64, of shape (n_classes, n_features)
        Sums of values.
    high, low : ndarray of int64, of shape (n_classes, n_features * (n_features + 1) / 2)
        Sums of products of two features, ``high * 2**26 + low``: the lower triangle, row by
        row.
    grid : FixedPoint
        How values became whole numbers.
    """

    weights: Int64Array
    first: Int64Array
    high: Int64Array
    low: Int64Array
    grid: FixedPoint

    def __add__(self, other: ClassSums) -> ClassSums:
        return self._combine(other, 1)

    def __sub__(self, other: ClassSums) -> ClassSums:
        return self._combine(other, -1)

    def _combine(self, other: ClassSums, sign: int) -> ClassSums:
        return ClassSums(
            self.weights + sign * other.weights,
            self.first + sign * other.first,
            self.high + sign * other.high,
            self.low + sign * other.low,
            self.grid,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassSums):
            return NotImplemented
        mine = self._exact_products(), self.weights, self.first
        theirs = other._exact_products(), other.weights, other.first
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def _exact_products(self) -> Any:
        """The sums of products as Python integers."""
        return self.high.astype(object) * 2**PIECE_BITS + self.low.astype(object)

    def mean(self, c: int) -> FloatArray:
        """Return the mean of a class.

        Parameters
        ----------
        c : int
            The class.

        Returns
        -------
        ndarray of shape (n_features,)
            The mean in original units; NaN for a class without rows.
        """
        if self.weights[c] == 0:
            return np.full(self.first.shape[1], np.nan)
        unit = np.ldexp(1.0, self.grid.exponent - VALUE_BITS)
        mean: FloatArray = self.grid.shift + self.first[c] / int(self.weights[c]) * unit
        return mean

    def scatter(self, c: int) -> FloatArray:
        """Return the sum of squares and products about the mean of a class.

        Parameters
        ----------
        c : int
            The class.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            In original units, and in the weights' grid units; 0 for a class without rows.
        """
        p = self.first.shape[1]
        weight = max(int(self.weights[c]), 1)
        first = self.first[c].astype(object)
        rows, columns = np.tril_indices(p)
        products = self.high[c].astype(object) * 2**PIECE_BITS + self.low[c].astype(object)
        # products - first first' / weight, rounded once: both sides times the weight.
        central = (products * weight - first[rows] * first[columns]).astype(np.float64) / weight
        exponent = self.grid.exponent
        matrix = np.zeros((p, p))
        with np.errstate(over="ignore", under="ignore"):  # of values near the limits of float64
            matrix[rows, columns] = np.ldexp(
                central, exponent[rows] + exponent[columns] - 2 * VALUE_BITS
            )
        matrix[columns, rows] = matrix[rows, columns]
        return matrix * 2.0**self.grid.weight_shift

    def about(self) -> tuple[FloatArray, FloatArray]:
        """Return about the mean and the covariance of all rows, rounded on the way.

        Returns
        -------
        mean : ndarray of shape (n_features,)
            In original units.
        covariance : ndarray of shape (n_features, n_features)
            Likewise.
        """
        p = self.first.shape[1]
        unit = np.ldexp(1.0, self.grid.exponent - VALUE_BITS)
        weight = float(self.weights.sum())
        mean = self.first.astype(np.float64).sum(axis=0) / weight
        products = np.ldexp(self.high.astype(np.float64), PIECE_BITS) + self.low
        matrix = np.zeros((p, p))
        rows, columns = np.tril_indices(p)
        matrix[rows, columns] = matrix[columns, rows] = products.sum(axis=0) / weight
        return self.grid.shift + mean * unit, (matrix - np.outer(mean, mean)) * np.outer(
            unit, unit
        )


def class_sums(problem: Problem, rows: Int32Array, grid: FixedPoint) -> ClassSums:
    """Sum the rows of a node, or of a part of it, class by class; all as one, with numbers.

    Parameters
    ----------
    problem : Problem
        The data.
    rows : ndarray of int32
        Row numbers.
    grid : FixedPoint
        The same for all nodes and parts that are to be compared.

    Returns
    -------
    ClassSums
        The sums; those of parts add up to those of the whole, exactly.
    """
    classes, n_classes = np.zeros(problem.n_rows, dtype=np.int32), 1
    if isinstance(problem.target, Classes):
        classes, n_classes = problem.y, problem.n_classes
    sums = _scatter(
        problem.Z,
        rows,
        classes,
        problem.weights,
        grid.shift,
        grid.exponent,
        n_classes,
        grid.weight_shift,
    )
    return ClassSums(*sums, grid)


def grid_sums(problem: Problem) -> tuple[ClassSums, Int32Array]:
    """Sum all rows, class by class, with a power of two as the unit of each column.

    Means and scatters of the sums are in these units, whose exponents are returned too.
    """
    rows = np.arange(problem.n_rows, dtype=np.int32)
    grid = FixedPoint.of_rows(problem, rows)
    plain = FixedPoint(np.zeros_like(grid.shift), np.zeros_like(grid.exponent))
    return replace(class_sums(problem, rows, grid), grid=plain), grid.exponent


def weight_shift(total_weight: int) -> int:
    """Return by how many bits weights are shortened so that sums of products stay exact."""
    return max(int(total_weight).bit_length() - TOTAL_BITS, 0)


def spread(problem: Problem, rows: Int32Array) -> FloatArray:
    """Return the standard deviation of each feature over some rows, from exact sums."""
    grid = FixedPoint.of_rows(problem, rows)
    factor = np.ldexp(1.0, VALUE_BITS - grid.exponent)
    weights = np.ones(len(rows), dtype=np.int64)
    if problem.weights is not None:
        scaled = np.rint(np.ldexp(problem.weights[rows].astype(np.float64), -grid.weight_shift))
        weights = scaled.astype(np.int64)
    first, high, low = np.zeros((3, problem.n_features), dtype=np.int64)
    for k, some in enumerate(_pieces(problem.Z, rows)):
        counted = np.rint((some - grid.shift) * factor).astype(np.int64)
        weight = weights[k * ROWS_AT_ONCE : (k + 1) * ROWS_AT_ONCE, None]
        first += (weight * counted).sum(axis=0)
        counted *= counted
        high += (weight * (counted >> PIECE_BITS)).sum(axis=0)
        low += (weight * (counted & (2**PIECE_BITS - 1))).sum(axis=0)
    squares = high.astype(object) * 2**PIECE_BITS + low.astype(object)
    return _deviation(squares, first.astype(object), int(weights.sum()), grid.exponent)


def _pieces(Z: Rows, rows: Int32Array) -> Iterator[FloatArray]:
    """Return some rows as float64, a few at a time: sums and ranges need no copy of all."""
    for k in range(0, max(len(rows), 1), ROWS_AT_ONCE):
        yield Z[rows[k : k + ROWS_AT_ONCE]].astype(np.float64)


def spread_of_sums(sums: ClassSums) -> FloatArray:
    """Return the standard deviation of each feature over rows of which sums are known."""
    p = sums.first.shape[1]
    squares = np.arange(1, p + 1).cumsum() - 1  # the places of a triangle's diagonal
    products = sums._exact_products()[:, squares].sum(axis=0)
    first = sums.first.astype(object).sum(axis=0)
    return _deviation(products, first, int(sums.weights.sum()), sums.grid.exponent)


def _deviation(squares: Any, first: Any, total: int, exponent: Int32Array) -> FloatArray:
    """Return standard deviations from whole sums of squares and of values."""
    central = (squares * total - first * first).astype(np.float64) / total
    # The root first: no square is then too large or too small for float64.
    with np.errstate(under="ignore"):
        return np.asarray(np.ldexp(np.sqrt(central / total), exponent - VALUE_BITS))


# --- scales --------------------------------------------------------------------------------------


def feature_scale(problem: Problem, kind: str | None) -> FloatArray:
    """Return the factors by which a method's features are multiplied."""
    if kind is None:
        return np.ones(problem.n_features)
    with np.errstate(over="ignore", divide="ignore"):
        width = np.ones(problem.n_features)
        plain = ~problem.coded
        if plain.any():
            width[plain] = _width(problem if plain.all() else _columns(problem, plain), kind)
        for k in np.flatnonzero(~plain).tolist():
            # Numbers of levels are found at each node and have a standard deviation of 1 there.
            there = ~np.isnan(problem.Z[:, k])
            if problem.n_levels[k] == 0 and there.any():
                this = np.arange(problem.n_features) == k
                width[k] = _width(_columns(problem, this, there), kind)[0]
    return factor_of(width)


def factor_of(width: FloatArray) -> FloatArray:
    """Return the factors that make columns of these widths comparable; 1 for one without."""
    with np.errstate(over="ignore", divide="ignore"):
        factor = 1.0 / width
    return np.where(np.isfinite(factor) & (factor > 0), factor, 1.0)


def _columns(problem: Problem, columns: BoolArray, rows: BoolArray | None = None) -> Problem:
    """Return some columns, and some rows, as plain numbers."""
    kept = np.ones(problem.n_rows, dtype=bool) if rows is None else rows
    return Problem(
        problem.Z[:, columns][kept],
        problem.target.take(kept),
        None if problem.weights is None else problem.weights[kept],
        problem.unit,
        problem.encoding,
    )


def _width(problem: Problem, kind: str) -> FloatArray:
    if kind == "minmax":
        low, high = problem.Z.min(axis=0), problem.Z.max(axis=0)
        return np.asarray(high.astype(np.float64) - low.astype(np.float64))
    width = spread(problem, np.arange(problem.n_rows, dtype=np.int32))
    if kind == "robust":
        middle = _interquartile_range(problem)
        width = np.where(middle > 0, middle, width)
    return width


def _interquartile_range(problem: Problem) -> FloatArray:
    """Difference of the values that a quarter and three quarters of the weight reach."""
    order = np.argsort(problem.Z, axis=0, kind="stable")
    values = np.take_along_axis(problem.Z, order, axis=0).astype(np.float64)
    weights = np.ones(problem.n_rows, np.int64) if problem.weights is None else problem.weights
    below = np.cumsum(weights[order], axis=0)
    columns = np.arange(problem.n_features)
    lower, upper = (
        values[np.argmax(below * 4 >= quarters * below[-1], axis=0), columns]
        for quarters in (1, 3)
    )
    return np.asarray(upper - lower)
