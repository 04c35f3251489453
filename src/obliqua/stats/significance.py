"""Tails of distributions on a logarithmic scale, so that the smallest p-values can be compared.

In a node of many rows the p-values of several columns are smaller than any float64. Which of them
is smallest still matters to a method that splits on it.
"""

from collections.abc import Callable

import numpy as np
from scipy import special

from obliqua._typing import FloatArray

__all__ = ["log_chi_square_tail", "log_f_tail"]

# Below this, tails are taken from continued fractions, which never leave the logarithms.
SMALL = 1e-200
STEPS = 100_000


def log_f_tail(statistic: FloatArray, top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Return the logarithm of the probability of a larger F."""
    statistic, top, bottom = np.broadcast_arrays(statistic, top, bottom)
    tail = special.fdtrc(top, bottom, statistic)
    with np.errstate(divide="ignore"):
        result = np.log(tail)
    for k in np.flatnonzero((tail < SMALL) & np.isfinite(statistic)):
        result[k] = _log_beta(bottom[k] / 2, top[k] / 2, bottom[k], top[k] * statistic[k])
    return np.asarray(np.where(statistic > 0, result, 0.0))


def log_chi_square_tail(statistic: float, freedom: float) -> float:
    """Return the logarithm of the probability of a larger chi-square."""
    tail = float(special.chdtrc(freedom, statistic))
    if tail >= SMALL:
        return float(np.log(tail))
    s, z = freedom / 2, statistic / 2
    # the incomplete gamma function as a continued fraction, DLMF 8.9.2 in its even form
    fraction = _fraction(z + 1 - s, lambda k: -k * (k - s), lambda k: z + 1 - s + 2 * k)
    return float(s * np.log(z) - z - special.gammaln(s) - np.log(fraction))


def _log_beta(a: float, b: float, part: float, rest: float) -> float:
    """Logarithm of the regularised incomplete beta function at x = part / (part + rest)."""
    x, y = part / (part + rest), rest / (part + rest)

    def numerator(k: int) -> float:  # DLMF 8.17.22
        m = k // 2
        if k % 2:
            return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))

    fraction = _fraction(1.0, numerator, lambda k: 1.0)
    # the logarithm of the smaller of x and y is the accurate one
    log_x = np.log(x) if x < 0.5 else np.log1p(-y)
    log_y = np.log(y) if y < 0.5 else np.log1p(-x)
    return float(a * log_x + b * log_y - np.log(a) - special.betaln(a, b) - np.log(fraction))


def _fraction(
    start: float, numerator: Callable[[int], float], denominator: Callable[[int], float]
) -> float:
    """The continued fraction start + n1 / (d1 + n2 / (d2 + ...)), by Lentz's method."""
    tiny = 1e-300
    value = c = start or tiny
    d = 0.0
    for k in range(1, STEPS):
        d = denominator(k) + numerator(k) * d
        d = 1.0 / (d or tiny)
        c = denominator(k) + numerator(k) / c
        c = c or tiny
        value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return value
