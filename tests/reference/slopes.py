"""Twin of slopes: the directions of a node by the formulas, and the price of coefficients.

X has plain numbers, y one column for each output, weights are whole numbers. A direction is a
normal over the columns of X; neither its length nor its sign means anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from reference import numbers, search

Floats = NDArray[np.float64]

RIDGE = 1e-3
TENTHS = (1, 3, 5, 7, 9)
MOST_FITS = 5


@dataclass(frozen=True)
class Slopes:
    """What is known of the directions of a node, by their numbers.

    ``normals``: of slices (0 to 4) and least squares (5 to 9). ``bends``: the matrices H and G + R
    of the columns that vary, and the largest |eigenvalues|. ``noise``: normals that are 0 but for
    rounding.
    """

    varies: NDArray[np.bool_]
    spread: Floats
    normals: dict[int, Floats]
    noise: set[int]
    bends: tuple[Floats, Floats, list[float]] | None


def widest_output(grid: Sequence[Sequence[int]], weights: Sequence[int]) -> int:
    """The output that varies most, by the upper bits of its numbers; of equals the first."""
    columns = list(zip(*grid, strict=True))
    errors = [
        numbers.squared_error([(value >> 13,) for value in column], weights) for column in columns
    ]
    return errors.index(max(errors))


def slices(y: Sequence[int], weights: Sequence[int]) -> list[int]:
    """How many of five quantiles each number is above."""
    total = sum(weights)
    found = []
    for value in y:
        below = sum(w for other, w in zip(y, weights, strict=True) if other < value)
        found.append(sum(10 * below >= tenth * total for tenth in TENTHS))
    return found


def slopes(X: Floats, grid: Sequence[Sequence[int]], weights: Sequence[int]) -> Slopes:
    """All directions of a node."""
    w = np.array(weights, dtype=np.float64)
    off = X - (w[:, None] * X).sum(axis=0) / w.sum()
    varies = X.max(axis=0) > X.min(axis=0)
    off = off[:, varies]
    scatter = off.T @ (w[:, None] * off)
    ridged = scatter + RIDGE * np.diag(np.diag(scatter))
    y = np.array(grid, dtype=np.float64)
    sliced = widest_output(grid, weights)
    normals: dict[int, Floats] = {}
    noise: set[int] = set()

    def add(number: int, sides: Floats) -> Floats:
        """The direction in which these numbers rise; 0 but for rounding if none."""
        sums = off.T @ (w * sides)
        size = np.sqrt(np.diag(scatter)) * np.sqrt((w * sides * sides).sum())
        solved = np.zeros(len(varies))
        solved[varies] = np.linalg.solve(ridged, sums)
        normals[number] = solved
        if not (np.abs(sums) > 1e-7 * size).any():
            noise.add(number)
        return solved[varies]

    place = slices([row[sliced] for row in grid], weights)
    for number in sorted(set(place))[1:]:
        add(number - 1, np.array([float(k >= number) for k in place]))
    for j in range(min(y.shape[1], MOST_FITS)):
        add(5 + j, y[:, j] - (w * y[:, j]).sum() / w.sum())
    bends = _bends(off, y[:, sliced], w, ridged)
    return Slopes(varies, np.sqrt(_variances(X, w)), normals, noise, bends)


def _variances(X: Floats, w: Floats) -> Floats:
    off = X - (w[:, None] * X).sum(axis=0) / w.sum()
    return np.asarray((w[:, None] * off**2).sum(axis=0) / w.sum())


def _bends(
    off: Floats, y: Floats, w: Floats, ridged: Floats
) -> tuple[Floats, Floats, list[float]] | None:
    """What least squares leave over, with far values drawn in, as a quadratic form."""
    y = y - (w * y).sum() / w.sum()
    moment = off.T @ (w * y)
    fit = np.linalg.solve(ridged, moment)
    error = (w * y * y).sum() - moment @ fit
    if not error > 0.0 or off.shape[1] < 2:
        return None
    rest = np.clip((y - off @ fit) / np.sqrt(error / w.sum()), -4.0, 4.0)
    rest = np.rint(64.0 * rest) / 64.0
    reach = np.sqrt((w[:, None] * off**2).sum(axis=0) / w.sum())
    u = np.clip(np.rint(32.0 * off / reach) / 32.0, -8.0, 8.0)
    form = (u.T @ ((w * rest)[:, None] * u)) * np.outer(reach, reach)
    values = eigh(form, ridged, eigvals_only=True)
    return form, ridged, sorted(np.abs(values).tolist(), reverse=True)[:2]


def ridged_scatter(X: Floats, weights: Sequence[int]) -> Floats:
    """G + R, in which a column that does not vary has nothing to do with others."""
    w = np.array(weights, dtype=np.float64)
    off = X - (w[:, None] * X).sum(axis=0) / w.sum()
    varies = X.max(axis=0) > X.min(axis=0)
    scatter = np.where(np.outer(varies, varies), off.T @ (w[:, None] * off), 0.0)
    return scatter + np.diag(np.where(varies, RIDGE * np.diag(scatter), 1.0))


# --- the split of a node ---------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The best cut of a node: its place among the candidates, its threshold, what it is worth."""

    worth: float
    number: int
    threshold: float
    left: frozenset[int]


def priced(goodness: float, variance: float, n_rows: float, n_coef: int, price: float) -> float:
    """What is left of a gain when the coefficients beyond the first are paid for."""
    share = search.round24(price * log(n_rows) * float(n_coef - 1) / n_rows)
    return goodness - share * (variance - goodness)


@dataclass(frozen=True)
class Node:
    """What the cuts of a node are judged by: numbers, whole weights, the price of coefficients.

    ``n_rows``: as how many rows all of them count.
    """

    grid: Sequence[Sequence[int]]
    weights: Sequence[int]
    n_rows: float
    price: float
    min_rows: int = 1

    @property
    def variance(self) -> float:
        n = sum(self.weights)
        return nearest(numbers.squared_error(self.grid, self.weights) * n) / float(n) / float(n)

    def along(self, z: Floats, tolerance: float, n_coef: int, number: int = 0) -> Chosen | None:
        """The cut of the largest worth between some values; of equals, that with fewer left."""
        n, variance = sum(self.weights), self.variance
        total = [
            sum(w * k for w, k in zip(self.weights, column, strict=True))
            for column in zip(*self.grid, strict=True)
        ]
        order = np.argsort(z, kind="stable").tolist()
        n_left, left = 0, [0] * len(total)
        best: Chosen | None = None
        for cut, row in enumerate(order[:-1], 1):
            n_left += self.weights[row]
            left = [s + self.weights[row] * k for s, k in zip(left, self.grid[row], strict=True)]
            below, above = float(z[row]), float(z[order[cut]])
            if not above - below > tolerance or min(cut, len(order) - cut) < self.min_rows:
                continue
            score = numbers.goodness(left, total, n_left, n)
            worth = priced(score, variance, self.n_rows, n_coef, self.price)
            if worth > (0.0 if best is None else best.worth):
                threshold = search.midpoint(below, above)
                best = Chosen(worth, number, threshold, frozenset(order[:cut]))
        return best

    def best(self, X: Floats, directions: Sequence[search.Direction]) -> Chosen | None:
        """The cut of the largest worth; of equals the earlier direction."""
        best: Chosen | None = None
        for number, direction in enumerate(directions):
            z, tolerance = search.project(X, direction)
            found = self.along(z, tolerance, len(direction.idx), number)
            if found is not None and found.worth > (0.0 if best is None else best.worth):
                best = found
        return best

    def sides(self, X: Floats, direction: search.Direction, gone: Any) -> list[Chosen | None]:
        """The best cut with stand-ins, and with all rows that miss something on the right, left.

        They count as the last or the first of the others.
        """
        z, tolerance = search.project(X, direction)
        ways = [z]
        if gone.any() and not gone.all():
            ways += [np.where(gone, z[~gone].max(), z), np.where(gone, z[~gone].min(), z)]
        return [self.along(way, tolerance, len(direction.idx)) for way in ways]


def nearest(value: Fraction) -> float:
    """A whole number, rounded once."""
    assert value.denominator == 1
    return float(value.numerator)
