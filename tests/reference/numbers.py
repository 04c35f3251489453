"""The slow twin of growth from numbers: every cut scored by exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import search

GRID = 2**26


def on_grid(y: NDArray[np.float64], from_zero: bool) -> tuple[list[list[int]], Fraction]:
    """Whole multiples of a power of two above the least value, of each column; and the step."""
    low = np.zeros(y.shape[1]) if from_zero else y.min(axis=0)
    reach = max(
        Fraction(float(c.max())) - Fraction(float(a)) for c, a in zip(y.T, low, strict=True)
    )
    m = y.shape[1]
    most = GRID
    while m * most * most > GRID * GRID:
        most //= 2
    step = Fraction(1)
    if reach:
        while reach > step * most:
            step *= 2
        while reach <= step / 2 * most:
            step /= 2
    return [[round(float(v - a) / float(step)) for v, a in zip(row, low, strict=True)]
            for row in y], step  # fmt: skip


@dataclass
class NumberNode:
    """A node of the twin's tree."""

    rows: list[int]
    depth: int
    mean: list[float]
    error: float
    split: Any = None
    gain: float = 0.0
    children: list[NumberNode] = field(default_factory=list)


def squared_error(grid: Sequence[Sequence[int]], weights: Sequence[int]) -> Fraction:
    """Squared distances from the mean."""
    total = sum(weights)
    found = Fraction(0)
    for column in zip(*grid, strict=True):
        s = sum(w * k for w, k in zip(weights, column, strict=True))
        q = sum(w * k * k for w, k in zip(weights, column, strict=True))
        found += q - Fraction(s * s, total)
    return found


def goodness(left: Sequence[int], total: Sequence[int], n_left: int, n: int) -> float:
    """The formula of `obliqua.criteria`, whose operations are rounded one by one."""
    s = 0.0
    for a, b in zip(left, total, strict=True):
        d = float(a * n - b * n_left)
        s += d * d
    return s / (float(n_left) * float(n - n_left)) / (float(n) * float(n))


def weighted_median(numbers: Sequence[Any], weights: Sequence[int]) -> tuple[Any, Any]:
    """The least and the largest number that is a median."""
    pairs, total, so_far = sorted(zip(numbers, weights, strict=True)), sum(weights), 0
    lower = upper = None
    for number, weight in pairs:
        so_far += weight
        if lower is None and 2 * so_far >= total:
            lower = number
        if upper is None and 2 * so_far > total:
            upper = number
    return lower, upper


def distances(numbers: Sequence[int], weights: Sequence[int]) -> int:
    """How far numbers lie from their median."""
    middle = weighted_median(numbers, weights)[0]
    return sum(w * abs(v - middle) for v, w in zip(numbers, weights, strict=True))


def _log_of_rate(x: int, part: int, total: int, n_part: int, n: int) -> float:
    off = float(x) / (float(total) * float(n_part))
    if off > -0.5:
        return math.log1p(off)
    return math.log(float(part) / float(total) * (float(n) / float(n_part)))


def poisson(left: Sequence[int], total: Sequence[int], n_left: int, n: int) -> float | None:
    """The formula of `obliqua.criteria`, rounded one by one; None: not allowed."""
    s = 0.0
    for a, t in zip(left, total, strict=True):
        if a in (0, t):
            return None
        x = a * n - t * n_left
        s += float(a) * _log_of_rate(x, a, t, n_left, n) + float(t - a) * _log_of_rate(
            -x, t - a, t, n - n_left, n
        )
    return max(s, 0.0) / float(n)


def score_of(
    criterion: str,
    grid: Sequence[Sequence[int]],
    weights: Sequence[int],
    rows: Sequence[int],
    left: Sequence[int],
) -> float | None:
    """How good it is to part rows so that some are on the left; None: not allowed."""
    n_left, n = sum(weights[i] for i in left), sum(weights[i] for i in rows)
    if criterion == "absolute_error":
        on_left = set(left)
        sides = rows, left, [i for i in rows if i not in on_left]
        saved = 0.0
        for j in range(len(grid[0])):
            whole, *parts = [
                distances([grid[i][j] for i in side], [weights[i] for i in side]) for side in sides
            ]
            saved += float(whole - sum(parts))
        return saved / float(n)
    sums, total = (
        [sum(weights[i] * grid[i][j] for i in some) for j in range(len(grid[0]))]
        for some in (left, rows)
    )
    formula: Any = poisson if criterion == "poisson" else goodness
    score: float | None = formula(sums, total, n_left, n)
    return score


def grow_numbers(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: Sequence[int],
    propose: Callable[[list[int]], Sequence[search.Direction]],
    *,
    max_depth: int = 10**6,
    min_rows: int = 1,
    criterion: str = "squared_error",
) -> list[NumberNode]:
    """All nodes in level order."""
    grid, step = on_grid(y, criterion == "poisson")
    unit = float(step) ** (2 if criterion == "squared_error" else 1) / y.shape[1]
    whole = float(sum(weights))

    def node(rows: list[int], depth: int) -> NumberNode:
        w = [weights[i] for i in rows]
        mean = [
            float(sum(Fraction(float(y[i, j])) * weights[i] for i in rows) / sum(w))
            for j in range(y.shape[1])
        ]
        error = squared_error([grid[i] for i in rows], w)
        made = NumberNode(rows, depth, mean, float(error) * float(step) ** 2)
        if criterion == "absolute_error":
            ends = [weighted_median([float(y[i, j]) for i in rows], w) for j in range(y.shape[1])]
            made.mean = [low + (high - low) / 2 for low, high in ends]
            off = [distances([grid[i][j] for i in rows], w) for j in range(y.shape[1])]
            made.error = float(sum(map(float, off))) * float(step)
        if error == 0 or depth >= max_depth or len(rows) < 2 * min_rows:
            return made
        best = None
        first_zero = None
        for number, direction in enumerate(propose(rows)):
            z, tolerance = search.project(X[rows], direction)
            order = np.argsort(z, kind="stable").tolist()
            for cut in range(1, len(rows)):
                below, above = float(z[order[cut - 1]]), float(z[order[cut]])
                if not above - below > tolerance or min(cut, len(rows) - cut) < min_rows:
                    continue
                left = [rows[k] for k in order[:cut]]
                score = score_of(criterion, grid, weights, rows, left)
                if score is None:
                    continue
                found = (score, number, direction, search.midpoint(below, above), set(left))
                if score > 0 and (best is None or score > best[0]):
                    best = found
                if first_zero is None:
                    first_zero = found
        best = best if best is not None else first_zero
        if best is not None:
            made.split = best
            made.gain = float(sum(w)) / whole * best[0] * unit
            for side in (True, False):
                part = [i for i in rows if (i in best[4]) == side]
                made.children.append(node(part, depth + 1))
        return made

    order = [node(list(range(len(X))), 0)]
    for each in order:  # the list grows while it is read
        order += each.children
    return order
