"""Weights on a grid: whole multiples of one power of two, so that sums of them are exact."""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import BoolArray, FloatArray, Int64Array

# The largest sum of weights in grid units: every sum of weights is then exact in int64 and
# in float64.
MAX_TOTAL = 2**52

#: By so large a share a sum of weights may fall short of what it should be, for weights such as a
#: tenth are rounded to the grid. Limits leave so much room.
ROUNDING = 2.0**-20

#: Weights are rounded to so many significant bits, if that makes sums of them small enough.
EXACT_BITS = (53, 44, 36, 30)

_SMALLEST = float(np.nextafter(0.0, 1.0))
LEAST_SHARE = 1.0 / MAX_TOTAL  # of the largest weight: what is lighter counts as that


def put_on_grid(
    n_rows: int,
    sample_weight: ArrayLike | None,
    by_class: FloatArray | None,
    most: int = MAX_TOTAL,
) -> tuple[BoolArray, Int64Array | None, float]:
    """Check weights and turn them into grid units, as `obliqua.data.encode` describes it.

    `by_class`: for each row, the weight of its class; `most`: the largest sum in grid units.
    """
    kept = np.ones(n_rows, dtype=bool)
    by_row = None
    if sample_weight is not None:
        by_row = checked_weights(sample_weight, n_rows, "sample_weight", "row")
        kept &= by_row > 0
    if by_class is not None:
        kept &= by_class > 0
    if not kept.any():
        raise ValueError(
            f"All weights are zero (of {n_rows} rows), so there is nothing to grow from. "
            "Give at least one row a positive weight."
        )
    # Bringing the largest weight near 1 first keeps every product in the range of float64.
    weights, exponent = np.ones(int(kept.sum())), 0
    if by_row is not None:
        weights, exponent = _near_one(by_row[kept])
    if by_class is not None:
        factors, more = _near_one(by_class[kept])
        weights = never_zero(weights * round_significant(factors))
        exponent += more
    units, unit = _on_grid(weights, exponent, most)
    return kept, units, unit


def counted_as_rows(
    sample_weight: ArrayLike | None, kept: BoolArray, weights: Int64Array | None, unit: float
) -> tuple[Int64Array | None, FloatArray, float]:
    """Return as how many rows each row counts, where weights are numbers of rows; else None.

    Then the same for tests, where weights that are no such numbers have a mean of 1, and as how
    many rows a grid unit counts. Weights of classes say how much mistakes matter, not how much has
    been seen, and have no part in it.
    """
    given = np.ones(len(kept)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    given = given[kept]
    if are_counts(given):
        counts = given.astype(np.int64)
        counts //= np.gcd.reduce(counts)
        divisible = weights is None or not (weights % counts).any()
        return counts if divisible else None, given, unit
    largest = float(given.max())
    with np.errstate(over="ignore"):  # NumPy 1.26 warns of denormal weights
        share = given / largest
    heavy = np.maximum(share, LEAST_SHARE)
    as_rows = np.asarray(heavy * (len(heavy) / fsum(heavy)))
    return None, as_rows, unit / largest * (len(share) / fsum(share))


def are_counts(weights: FloatArray) -> bool:
    """Whether weights can be numbers of rows: whole, and not too large to be counted."""
    return bool(weights.max() <= MAX_TOTAL and (weights == np.rint(weights)).all())


def round_significant(values: ArrayLike, bits: int = 24) -> FloatArray:
    """Round numbers to some significant bits, half to even.

    24 bits are float32's precision with float64's range.
    """
    significand, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    with np.errstate(over="ignore"):
        return np.asarray(np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits))


def checked_weights(weights: ArrayLike, length: int, name: str, per: str) -> FloatArray:
    """Return weights as an array; raise if they are no weights."""
    try:
        w = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error
    if w.shape != (length,):
        raise ValueError(
            f"{name} must hold one number per {per}; got shape {w.shape}, expected ({length},)."
        )
    bad = ~np.isfinite(w) | (w < 0)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be finite and not negative; got {w[first]} for {per} {first}. Use 0 "
            "to leave something out."
        )
    return w


def _near_one(weights: FloatArray) -> tuple[FloatArray, int]:
    """Scale so that the largest weight lies in [0.5, 1); the scale is the returned exponent."""
    exponent = int(np.frexp(weights.max())[1])
    return never_zero(np.ldexp(weights, -exponent)), exponent


def never_zero(weights: FloatArray) -> FloatArray:
    """Keep a positive weight positive where it is too small for float64 beside the others."""
    return np.maximum(weights, _SMALLEST)


def _on_grid(weights: FloatArray, exponent: int, most: int) -> tuple[Int64Array | None, float]:
    """Turn positive weights times ``2**exponent`` into grid units and the size of a unit."""
    if (weights == weights[0]).all() and np.frexp(weights[0])[0] == 0.5:
        unit = scaled(float(weights[0]), exponent)
        check_total(len(weights), unit)
        return None, unit
    # Dropping digits commutes with doubling, so a weight of 0.2 stays two rows of 0.1.
    for bits in EXACT_BITS:
        found = _exact(round_significant(weights, bits), most)
        if found is not None:
            break
    step, units = _rounded(weights, most) if found is None else found
    unit = scaled(1.0, step + exponent)
    check_total(int(units.sum()), unit)
    return units, unit


def _exact(weights: FloatArray, most: int) -> tuple[int, Int64Array] | None:
    """Weights as whole multiples of a power of two, if their sum stays small enough."""
    step = common_power(weights)
    with np.errstate(over="ignore"):
        units = np.ldexp(weights, -step)
        # Whole numbers below 2**53 add up without rounding, so this test is exact.
        if not units.sum() <= most:
            return None
    return step, units.astype(np.int64)


def common_power(weights: FloatArray) -> int:
    """Exponent of the largest power of two of which all weights are whole multiples."""
    fraction, exponent = np.frexp(weights)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    lowest_bit = np.frexp((whole & -whole).astype(np.float64))[1] - 1
    return int((exponent - 53 + lowest_bit).min())


def _rounded(weights: FloatArray, most: int) -> tuple[int, Int64Array]:
    """Round to the smallest power of two with which the sum is at most so many units.

    The floating-point sum depends on the order of the rows. It only says where to start, one
    step too low; integer sums decide.
    """
    step = int(np.frexp(weights.sum())[1]) - most.bit_length() - 1
    while True:
        units = np.maximum(np.rint(np.ldexp(weights, -step)), 1.0).astype(np.int64)
        if int(units.sum()) <= most:
            return step, units
        step += 1


def scaled(value: float, exponent: int) -> float:
    """Return a number times a power of two; infinite or 0 if it is out of range."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, exponent))


def check_total(units: int, unit: float) -> None:
    """Refuse weights whose sum float64 does not hold."""
    with np.errstate(over="ignore"):
        total = np.float64(units) * np.float64(unit)
    if unit == 0 or not np.isfinite(total):
        size = "small" if unit == 0 else "large"
        raise ValueError(
            f"The weights are too {size}: their sum is {total:g} in float64. Multiply all of "
            f"them by a {'large' if unit == 0 else 'small'} constant; that does not change the "
            "tree."
        )
