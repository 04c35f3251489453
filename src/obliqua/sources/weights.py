"""The grid of weights that are not all in one memory: what `put_on_grid` finds, in passes.

Weights are looked at part by part. What must be known of all of them are largest values, whole
numbers and sums without rounding, so that neither the order of rows nor the parts change a bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.weights import (
    EXACT_BITS,
    LEAST_SHARE,
    are_counts,
    check_total,
    common_power,
    never_zero,
    round_significant,
    scaled,
)

__all__ = ["ExactSum", "GivenWeights", "WeightGrid", "WeightSums", "exact_sum", "rounded_sums"]

_UNIT = 1200  # exact sums are whole multiples of 2^-1200
STEPS_AT_ONCE = 6


def exact_sum(values: FloatArray) -> int:
    """Return the sum of some finite numbers of 0 and more without rounding, times 2^1200."""
    fraction, exponent = np.frexp(values)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    low = int(exponent.min(initial=0))
    place = exponent - low
    halves = [np.bincount(place, half.astype(np.float64)) for half in (whole >> 27, whole % 2**27)]
    total = 0
    for k in np.flatnonzero(halves[0] + halves[1]).tolist():
        total += ((int(halves[0][k]) << 27) + int(halves[1][k])) << (k + low - 53 + _UNIT)
    return total


class ExactSum:
    """What an exact sum is as a float: rounded once."""

    @staticmethod
    def rounded(total: int) -> float:
        """Return the nearest float."""
        return total / 2**_UNIT if total else 0.0

    @staticmethod
    def units(total: int, step: int) -> int:
        """Return the sum in units of 2^step, if it is a whole number of them."""
        return total >> (_UNIT + step) if _UNIT + step >= 0 else total << -(_UNIT + step)


@dataclass(frozen=True, eq=False)
class GivenWeights:
    """How the weights of rows and classes become numbers near 1.

    Parameters
    ----------
    by_class : ndarray of float64 or None
        The weights of the classes.
    largest : float or None
        The largest weight of a row that counts; None if rows have no weights.
    largest_class : float
        The largest weight of the class of such a row.
    """

    by_class: FloatArray | None
    largest: float | None
    largest_class: float = 1.0

    def kept(self, weights: FloatArray | None, codes: Int32Array | None, n_rows: int) -> BoolArray:
        """Say which rows count."""
        kept = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
        if self.by_class is not None:
            assert codes is not None
            kept &= self.by_class[codes] > 0
        return kept

    def near_one(
        self, weights: FloatArray | None, codes: Int32Array | None, n_rows: int
    ) -> FloatArray:
        """Return the weights of rows that count, divided by a power of two."""
        found = np.ones(n_rows)
        if weights is not None:
            found = never_zero(np.ldexp(weights, -self._exponent(self.largest)))
        if self.by_class is not None:
            assert codes is not None
            factors = np.ldexp(self.by_class[codes], -self._exponent(self.largest_class))
            found = never_zero(found * round_significant(never_zero(factors)))
        return found

    @property
    def exponent(self) -> int:
        """What they were divided by."""
        rows = 0 if self.largest is None else self._exponent(self.largest)
        return rows + (0 if self.by_class is None else self._exponent(self.largest_class))

    @staticmethod
    def _exponent(largest: Any) -> int:
        return int(np.frexp(largest)[1])


class WeightSums(NamedTuple):
    """What is known of some weights near 1, and of the weights as they were given."""

    n_rows: int
    least: float
    most: float
    powers: tuple[int, ...]  # for each number of bits, the largest common power of two
    sums: tuple[int, ...]  # for each number of bits, without rounding
    counts: bool  # whether the given ones may be numbers of rows
    divisor: int  # of them, if so
    shares: int  # sum of the given ones, divided by the largest
    heavy: int  # the same, none below a least share

    @classmethod
    def of(cls, near: FloatArray, given: FloatArray | None, largest: float | None) -> WeightSums:
        """Look at some rows, all of which count."""
        if len(near) == 0:
            return cls(0, np.inf, -np.inf, (), (), True, 0, 0, 0)
        rounded = [round_significant(near, bits) for bits in EXACT_BITS]
        ones = np.ones(len(near)) if given is None else given
        counts = are_counts(ones)
        share = _shares(ones, largest)
        return cls(
            len(near),
            float(near.min()),
            float(near.max()),
            tuple(common_power(some) for some in rounded),
            tuple(exact_sum(some) for some in rounded),
            counts,
            int(np.gcd.reduce(ones.astype(np.int64))) if counts else 0,
            exact_sum(share),
            exact_sum(np.maximum(share, LEAST_SHARE)),
        )

    @classmethod
    def joined(cls, several: Sequence[WeightSums]) -> WeightSums:
        """Join what is known of several parts."""
        some = [one for one in several if one.n_rows]
        if not some:
            return several[0]

        def added(name: str) -> int:
            return sum(getattr(one, name) for one in some)

        return cls(
            added("n_rows"),
            min(one.least for one in some),
            max(one.most for one in some),
            tuple(map(min, zip(*(one.powers for one in some), strict=True))),
            tuple(map(sum, zip(*(one.sums for one in some), strict=True))),
            all(one.counts for one in some),
            math.gcd(*(one.divisor for one in some)),
            added("shares"),
            added("heavy"),
        )

    def first_step(self, most: int) -> int:
        """Return a power of two that is too small, where weights must be rounded."""
        total = ExactSum.rounded(self.sums[0])
        return int(np.frexp(total)[1]) - most.bit_length() - 1


def _shares(given: FloatArray, largest: float | None) -> FloatArray:
    with np.errstate(over="ignore"):
        return given if largest is None else given / largest


def units_of(near: FloatArray, step: int) -> Int64Array:
    """Return weights near 1 in units of 2^step, none below one."""
    return np.maximum(np.rint(np.ldexp(near, -step)), 1.0).astype(np.int64)


def rounded_sums(near: FloatArray, first: int) -> list[int]:
    """Return the sums in units of 2^first and of the next few powers."""
    return [int(units_of(near, first + k).sum()) for k in range(STEPS_AT_ONCE)]


@dataclass(frozen=True, eq=False)
class WeightGrid:
    """How weights become grid units, once all of them are known.

    Parameters
    ----------
    given : GivenWeights
        How they become numbers near 1.
    sums : WeightSums
        What is known of all of them.
    step : int or None
        A unit is 2^step; None: all rows weigh one unit.
    bits : int or None
        To how many significant bits weights are rounded first; None: to none.
    total : int
        What all rows weigh, in units.
    divisible : bool
        Whether each weight is a whole multiple of the rows that it counts as.
    """

    given: GivenWeights
    sums: WeightSums
    step: int | None
    bits: int | None
    total: int
    divisible: bool = True

    @classmethod
    def exact(cls, given: GivenWeights, sums: WeightSums, most: int) -> WeightGrid | None:
        """Return the grid on which nothing, or hardly anything, is rounded, if there is one."""
        if sums.least == sums.most and np.frexp(sums.most)[0] == 0.5:
            grid = cls(given, sums, None, None, sums.n_rows)
            check_total(sums.n_rows, grid.unit)
            return grid
        for bits, power, total in zip(EXACT_BITS, sums.powers, sums.sums, strict=True):
            units = ExactSum.units(total, power)
            if units <= most:
                grid = cls(given, sums, power, bits, units)
                check_total(units, grid.unit)
                return grid
        return None

    @property
    def unit(self) -> float:
        """What a unit weighs."""
        if self.step is None:
            return scaled(self.sums.most, self.given.exponent)
        return scaled(1.0, self.step + self.given.exponent)

    @property
    def row_unit(self) -> float:
        """As how many rows a unit counts."""
        if self.sums.counts:
            return self.unit
        mean = self.sums.n_rows / ExactSum.rounded(self.sums.shares)
        return self.unit / (self.given.largest or 1.0) * mean

    def units(self, near: FloatArray) -> Int64Array | None:
        """Return weights near 1 in grid units."""
        if self.step is None:
            return None
        if self.bits is None:
            return units_of(near, self.step)
        return np.ldexp(round_significant(near, self.bits), -self.step).astype(np.int64)

    def row_counts(self, given: FloatArray | None, n_rows: int) -> Int64Array | None:
        """Return as how many rows each row counts, where weights are such numbers."""
        if not self.sums.counts or not self.divisible:
            return None
        ones = np.ones(n_rows) if given is None else given
        return ones.astype(np.int64) // self.sums.divisor

    def row_weights(self, given: FloatArray | None, n_rows: int) -> FloatArray:
        """Return as how many rows each row counts in tests."""
        ones = np.ones(n_rows) if given is None else given
        if self.sums.counts:
            return ones
        heavy = np.maximum(_shares(ones, self.given.largest), LEAST_SHARE)
        return heavy * (self.sums.n_rows / ExactSum.rounded(self.sums.heavy))
