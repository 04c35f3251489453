"""Twin of QUEST: its tests, superclasses, discriminant and split points, as a textbook has them.

Rows of weight k are written k times, tests are SciPy's, and split points are found as roots of a
difference of two densities. Slow, and clear.
"""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def p_of_numbers(x: FloatArray, y: NDArray[np.int64]) -> float:
    """Analysis of variance; missing values are left out. 1 where there is nothing to compare."""
    groups = _groups(x, y)
    if len(groups) < 2 or np.ptp(np.concatenate(groups)) == 0:
        return 1.0
    if all(np.ptp(group) == 0 for group in groups):
        return 0.0
    return float(stats.f_oneway(*groups).pvalue)


def p_of_spread(x: FloatArray, y: NDArray[np.int64]) -> float:
    """Levene's test: analysis of variance of the distances from the class means."""
    distances = np.full(len(x), np.nan)
    for c in np.unique(y):
        known = ~np.isnan(x) & (y == c)
        if known.any():
            distances[known] = np.abs(x[known] - x[known].mean()).round(12)
    p = p_of_numbers(distances, y)
    if 0.0 < p < 1.0:
        assert np.isclose(p, stats.levene(*_groups(x, y), center="mean").pvalue)
    return p


def p_of_levels(x: FloatArray, y: NDArray[np.int64]) -> float:
    """Chi-square of classes and levels, of which "missing" is one."""
    levels = np.where(np.isnan(x), -1.0, x)
    table = [[int(((levels == v) & (y == c)).sum()) for v in np.unique(levels)] for c in set(y)]
    if len(table[0]) < 2:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


def _groups(x: FloatArray, y: NDArray[np.int64]) -> list[FloatArray]:
    known = ~np.isnan(x)
    return [x[known & (y == c)] for c in np.unique(y[known])]


def squares(means: FloatArray, near: BoolArray) -> float:
    """Squared distances of class means from the centres of their superclasses."""
    return sum(
        float(((means[side] - means[side].mean(axis=0)) ** 2).sum()) for side in (near, ~near)
    )


def best_two_groups(means: FloatArray) -> float:
    """The smallest sum of squares of all divisions into two groups."""
    n = len(means)
    sides = (
        np.isin(np.arange(n), chosen)
        for size in range(1, n)
        for chosen in combinations(range(n), size)
    )
    return min(squares(means, near) for near in sides)


def is_local_optimum(means: FloatArray, near: BoolArray) -> bool:
    """Whether no move of one class to the other superclass shortens the squares."""
    here = squares(means, near)
    for k in range(len(means)):
        moved = near.copy()
        moved[k] = not moved[k]
        if moved.any() and not moved.all() and squares(means, moved) < here - 1e-9:
            return False
    return True


def direction(X: FloatArray, first: BoolArray) -> FloatArray:
    """Fisher's linear discriminant of two groups of rows, from the covariance within them."""
    within = np.zeros((X.shape[1], X.shape[1]))
    for side in (first, ~first):
        centred = X[side] - X[side].mean(axis=0)
        within += centred.T @ centred
    return np.linalg.solve(within, X[first].mean(axis=0) - X[~first].mean(axis=0))


def log_densities(
    x: float, means: tuple[float, float], variances: tuple[float, float], share: float
) -> tuple[float, float]:
    """Logarithms of two normal densities, times their shares."""
    one, other = (
        float(np.log(part) + stats.norm.logpdf(x, mean, np.sqrt(variance)))
        for part, mean, variance in zip((share, 1 - share), means, variances, strict=True)
    )
    return one, other


def crossings(
    means: tuple[float, float], variances: tuple[float, float], share: float
) -> list[float]:
    """All points at which two normal densities, times their shares, are equal."""
    scales = np.sqrt(variances)

    def difference(x: float) -> float:
        one, other = log_densities(x, means, variances, share)
        return one - other

    # The difference is a parabola, or a line. Its top divides what holds one root each.
    reach = 1e4 * (abs(means[0] - means[1]) + scales.sum())
    middle = sum(means) / 2
    ends = [middle - reach, middle + reach]
    if variances[0] != variances[1]:
        top = (means[0] * variances[1] - means[1] * variances[0]) / (variances[1] - variances[0])
        ends.insert(1, float(np.clip(top, *ends)))
    return [
        float(optimize.brentq(difference, low, high, xtol=1e-14, rtol=1e-14))
        for low, high in pairwise(ends)
        if difference(low) * difference(high) < 0
    ]
