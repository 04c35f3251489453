"""Splits in whole numbers: coefficients of 16 bits, entries of rows of 32, sums of 64.

An entry ``x`` of a column becomes the whole number nearest to ``(x - offset) * 2**exponent``. With
such entries the value of a plane is a sum of ``coef * 2**-exponent`` times whole numbers, and a
constant, which moves to the threshold. In a unit that is a power of two, each of these
coefficients is a number of 16 bits, shifted to the left. What rounding changes is known for each
coefficient, so that the largest difference is known for each row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE
from obliqua.export.computation import Computation
from obliqua.export.self_test import SelfTest, self_test
from obliqua.tree.tree import Tree

__all__ = ["MOST", "FixedPointPlan", "Plane", "WholePlane", "line_of", "planes_of", "values_at"]

#: What a missing value is, and the largest entry.
MISSING, MOST_BITS = -(2**31), 24
MOST = 2**MOST_BITS
_ROW_BITS = 20  # of an entry within the range of the rows that the plan was made of
_COEF_BITS, _SUM_BITS = 15, 61
_MOST_EXPONENT = 1000
_SPREADS = 4  # standard deviations around the middle of a node that its rows may have
_TINY = 1e-300  # more than what is lost below the least numbers
_DOUBLE = 2.0**-53


class Plane(NamedTuple):
    """The terms of a plane with its threshold, or of a linear function with minus its constant."""

    columns: Int64Array
    coef: FloatArray
    fill: FloatArray
    tables: list[FloatArray]
    threshold: float


def planes_of(tree: Tree, node: int) -> list[Plane]:
    """Return the planes of a node."""
    return [
        Plane(
            tree.coef_idx[begin:end].astype(np.int64),
            tree.coef[begin:end],
            tree.fill[begin:end],
            [tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]] for k in range(begin, end)],
            float(tree.threshold[plane]),
        )
        for plane in range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1]))
        for begin, end in [(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))]
    ]


def line_of(tree: Tree, leaf: int) -> Plane:
    """Return the linear function of a leaf."""
    begin, end = int(tree.leaf_ptr[leaf]), int(tree.leaf_ptr[leaf + 1])
    at = tree.leaf_table_ptr
    return Plane(
        tree.leaf_idx[begin:end].astype(np.int64),
        tree.leaf_coef[begin:end],
        tree.leaf_fill[begin:end],
        [tree.leaf_table[at[k] : at[k + 1]] for k in range(begin, end)],
        -float(tree.leaf_intercept[leaf]),
    )


def values_at(plane: Plane, rows: FloatArray) -> FloatArray:
    """Return what the coefficients of a plane are multiplied with in rows."""
    values = rows[:, plane.columns]
    for at, table in enumerate(plane.tables):
        if len(table):
            codes = values[:, at]
            inside = (codes >= 0) & (codes < len(table))
            found = table[np.where(inside, codes, 0).astype(np.int64)]
            values[:, at] = np.where(np.isnan(codes), codes, np.where(inside, found, 0.0))
    return np.where(np.isnan(values), plane.fill, values)


@dataclass(frozen=True, eq=False)
class WholePlane:
    """A plane in whole numbers.

    Parameters
    ----------
    plane : Plane
        The plane.
    coef, shift : ndarray of int64
        The coefficients, of 16 bits, and by how many bits they are shifted.
    threshold : int
        The threshold.
    unit : int
        The exponent of two that the value is multiplied with to have that of the plane.
    offset, exponent : ndarray
        Of each term, as a column has them: for a term with a table those of the table's numbers.
    rounded : float
        By how much rounding the threshold may change it.
    """

    plane: Plane
    coef: Int64Array
    shift: Int64Array
    threshold: int
    unit: int
    offset: FloatArray
    exponent: Int64Array
    rounded: float

    def entries(self, values: FloatArray) -> FloatArray:
        """Return what the coefficients are multiplied with, as whole numbers before rounding."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.ldexp(values - self.offset, self.exponent)

    def fills(self) -> Int64Array:
        """Return what stands in for missing values."""
        numbers = nearest(self.entries(self.plane.fill))
        return np.where(np.isnan(self.plane.fill), MISSING, numbers)

    def tables(self) -> list[Int64Array]:
        """Return the level tables."""
        return [
            nearest(np.ldexp(table, exponent)) if len(table) else table.astype(np.int64)
            for table, exponent in zip(self.plane.tables, self.exponent.tolist(), strict=True)
        ]

    def bound(self, values: FloatArray, half: float | None = None) -> FloatArray:
        """Return by how much the value may differ from the library's, for each row of values.

        Entries are off by what rounding changes, or by `half` if all between are asked for.
        """
        plane = self.plane
        sizes = np.abs(plane.coef)
        if not sizes.any():
            return np.zeros(len(values))
        entries = self.entries(values)
        with np.errstate(over="ignore", invalid="ignore"):
            lost = np.ldexp(self.coef.astype(np.float64), self.shift + self.unit) - np.ldexp(
                plane.coef, -self.exponent
            )
            off = (
                np.abs(entries - np.rint(entries)) if half is None else np.full_like(entries, half)
            )
            # An entry next to the middle of two numbers may be rounded to either.
            off = np.where(off > 0, off + 1e-6, 0.0)
            off = np.ldexp(off, -self.exponent) + 4 * _DOUBLE * np.abs(values - self.offset)
            total = (np.abs(lost) * (np.abs(entries) + 1.0)).sum(axis=1) + (sizes * off).sum(
                axis=1
            )
            # What the library rounds, and the plan: sums of products in double precision.
            size = (sizes * (np.abs(values) + np.abs(self.offset))).sum(axis=1)
            n_roundings = 2.0 * len(plane.coef) + 4.0
            total += n_roundings * 2 * _DOUBLE * (size + abs(plane.threshold))
            total = (total + self.rounded + _TINY) * (1.0 + 1e-9)
            fits = (np.abs(entries) < MOST).all(axis=1)
        return np.where(fits & ~np.isnan(total), total, np.inf)

    def largest_bound(self, low: FloatArray, high: FloatArray) -> float:
        """Return the largest bound of all rows whose columns are within limits."""
        plane, far = self.plane, np.empty(len(self.coef))
        for at, (table, column) in enumerate(zip(plane.tables, plane.columns, strict=True)):
            held = table if len(table) else np.array([low[column], high[column]])
            held = np.append(held, plane.fill[at]) - self.offset[at]
            far[at] = np.nanmax(np.abs(held))
        values = self.offset + np.copysign(far, self.offset)
        return float(self.bound(values[None, :], half=0.5)[0])


def nearest(numbers: FloatArray) -> Int64Array:
    """Return the nearest whole numbers within the limits of entries; 0 for NaN."""
    known = np.nan_to_num(np.asarray(numbers), nan=0.0, posinf=MOST, neginf=-MOST)
    return np.clip(np.trunc(known + np.copysign(0.5, known)), -MOST, MOST).astype(np.int64)


@dataclass(frozen=True, eq=False)
class FixedPointPlan:
    """How the columns of rows become whole numbers.

    Parameters
    ----------
    offset : ndarray of shape (n_columns,)
        What is subtracted.
    exponent : ndarray of int64, of shape (n_columns,)
        The exponent of two that it is multiplied with then.
    low, high : ndarray of shape (n_columns,)
        The ranges that this was made of.
    """

    offset: FloatArray
    exponent: Int64Array
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, computation: Computation, X: Any = None) -> FixedPointPlan:
        """Make a plan of the ranges of a user's rows, or of those that the trees know."""
        if X is None:
            return cls.of_test(computation, self_test(computation))
        return cls.of_rows(computation, np.asarray(computation.rows(X), dtype=np.float64))

    @classmethod
    def of_test(cls, computation: Computation, test: SelfTest) -> FixedPointPlan:
        """Make a plan of rows that were made of the trees, and of what terms have met."""
        low, high = np.full((2, len(computation.columns)), np.nan)
        for part in computation.parts():
            tree = part.tree
            for column, fill, spread, table_at in (
                (tree.coef_idx, tree.fill, tree.spread, tree.table_ptr),
                (tree.leaf_idx, tree.leaf_fill, tree.leaf_spread, tree.leaf_table_ptr),
            ):
                plain = np.diff(table_at) == 0
                width = _SPREADS * np.nan_to_num(spread[plain])
                np.fmin.at(low, column[plain], fill[plain] - width)
                np.fmax.at(high, column[plain], fill[plain] + width)
        ends = np.stack([low, high])
        ends[~np.isfinite(ends)] = np.nan
        return cls.of_rows(computation, np.concatenate([test.rows, ends]))

    @classmethod
    def of_rows(cls, computation: Computation, rows: FloatArray) -> FixedPointPlan:
        """Make a plan of the ranges of rows that trees can walk."""
        known = ~np.isnan(rows).all(axis=0)
        low, offset, high = np.zeros((3, rows.shape[1]))
        low[known], offset[known], high[known] = np.nanquantile(
            rows[:, known], [0.0, 0.5, 1.0], axis=0, method="lower"
        )
        # From the median on most entries are small, and so is what rounding coefficients does.
        half = np.maximum(high / 2 - offset / 2, offset / 2 - low / 2)
        half = np.where(half > 0, half, np.where(offset != 0, np.abs(offset), 1.0))
        exponent = np.minimum(_ROW_BITS - 1 - np.frexp(half)[1], _MOST_EXPONENT).astype(np.int64)
        for place, column in enumerate(computation.columns):
            if column.kind == QUALITATIVE:  # codes stay as they are
                offset[place], exponent[place] = 0.0, 0
        return cls(offset, exponent, low, high)

    def node(self, planes: Sequence[Plane], machine: bool) -> list[WholePlane]:
        """Put the planes of a node into whole numbers, all in the same unit."""
        offsets, exponents, coefs, constants = [], [], [], []
        largest = max(
            (float(np.abs(plane.coef).max(initial=0.0)) for plane in planes), default=0.0
        )
        scale = math.frexp(largest)[1] if largest else 0
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for plane in planes:
                offset, exponent = self.offset[plane.columns], self.exponent[plane.columns]
                for at, table in enumerate(plane.tables):
                    if len(table):
                        fill = plane.fill[at]
                        most = max(float(np.abs(table).max()), abs(fill) if fill == fill else 0.0)
                        offset[at] = 0.0
                        exponent[at] = min(_ROW_BITS - math.frexp(most)[1], _MOST_EXPONENT)
                coef = np.ldexp(plane.coef, -scale)
                offsets.append(offset)
                exponents.append(exponent)
                coefs.append(np.ldexp(coef, -exponent))
                constants.append(float(np.ldexp(plane.threshold, -scale) - (coef * offset).sum()))
        most = _most_shift(planes)
        bits = _bits(coefs, constants if machine else [], most)
        found = []
        for plane, offset, exponent, coef, constant in zip(
            planes, offsets, exponents, coefs, constants, strict=True
        ):
            shift = np.clip(np.frexp(coef)[1] + (bits - _COEF_BITS), 0, most).astype(np.int64)
            whole = np.rint(np.ldexp(coef, bits - shift)).astype(np.int64)
            cut, sure = _threshold(constant, bits, machine)
            with np.errstate(over="ignore"):
                rounded = float(np.ldexp(0.5 if machine else 0.0, scale - bits))
            found.append(
                WholePlane(
                    plane,
                    np.clip(whole, 1 - 2**_COEF_BITS, 2**_COEF_BITS - 1),
                    shift,
                    cut,
                    scale - bits,
                    offset,
                    exponent,
                    rounded if sure else np.inf,
                )
            )
        return found

    def plane(self, tree: Tree, plane: int) -> WholePlane:
        """Put a plane of a tree into whole numbers."""
        node = int(np.searchsorted(tree.plane_ptr, plane, side="right")) - 1
        planes = planes_of(tree, node)
        return self.node(planes, len(planes) > 1)[plane - int(tree.plane_ptr[node])]


def _most_shift(planes: Sequence[Plane]) -> int:
    """Return by how much coefficients can be shifted so that no sum is beyond its bits."""
    n_terms = max(len(plane.coef) for plane in planes)
    return max(_SUM_BITS - _COEF_BITS - MOST_BITS - n_terms.bit_length(), 0)


def _bits(coefs: Sequence[FloatArray], constants: Sequence[float], most_shift: int) -> int:
    """Return the exponent of two that makes whole numbers of coefficients."""
    largest = max(float(np.abs(coef).max(initial=0.0)) for coef in coefs)
    bits = _COEF_BITS + most_shift - math.frexp(largest)[1] if largest else 0
    far = max((abs(constant) for constant in constants), default=0.0)
    if math.isfinite(far) and far:
        bits = min(bits, _SUM_BITS - 1 - math.frexp(far)[1])
    return bits


def _threshold(constant: float, bits: int, nearest_: bool) -> tuple[int, bool]:
    """Return a threshold as a whole number, and whether it is known.

    A whole number is at most the threshold if it is at most the largest whole number below it.
    Beyond all sums it does not matter where it is.
    """
    far = 2 ** (_SUM_BITS + 1)
    if constant != constant:
        return 0, False
    if math.isinf(constant):
        return (far if constant > 0 else -far), not nearest_
    mantissa, exponent = math.frexp(constant)
    if exponent + bits > _SUM_BITS:
        return (far if constant > 0 else -far), not nearest_
    scaled = math.ldexp(mantissa, exponent + bits)
    return (round(scaled) if nearest_ else math.floor(scaled)), True
