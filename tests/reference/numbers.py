"""The slow twin of growth from numbers: every cut scored by exact fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import search

GRID = 2**26


def on_grid(y: NDArray[np.float64]) -> tuple[list[list[int]], Fraction]:
    """Whole multiples of a power of two above the least value, of each column; and the step."""
    reach = max(Fraction(float(c.max())) - Fraction(float(c.min())) for c in y.T)
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
    low = y.min(axis=0)
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


def grow_numbers(
    X: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: Sequence[int],
    propose: Callable[[list[int]], Sequence[search.Direction]],
    *,
    max_depth: int = 10**6,
    min_rows: int = 1,
) -> list[NumberNode]:
    """All nodes in level order."""
    grid, step = on_grid(y)
    whole = float(sum(weights))

    def node(rows: list[int], depth: int) -> NumberNode:
        w = [weights[i] for i in rows]
        mean = [
            float(sum(Fraction(float(y[i, j])) * weights[i] for i in rows) / sum(w))
            for j in range(y.shape[1])
        ]
        error = squared_error([grid[i] for i in rows], w)
        made = NumberNode(rows, depth, mean, float(error) * float(step) ** 2)
        if error == 0 or depth >= max_depth or len(rows) < 2 * min_rows:
            return made
        best = None
        sums = [sum(weights[i] * grid[i][j] for i in rows) for j in range(y.shape[1])]
        first_zero = None
        for number, direction in enumerate(propose(rows)):
            z, tolerance = search.project(X[rows], direction)
            order = np.argsort(z, kind="stable").tolist()
            for cut in range(1, len(rows)):
                below, above = float(z[order[cut - 1]]), float(z[order[cut]])
                if not above - below > tolerance or min(cut, len(rows) - cut) < min_rows:
                    continue
                left = [rows[k] for k in order[:cut]]
                s = [sum(weights[i] * grid[i][j] for i in left) for j in range(y.shape[1])]
                n_left = sum(weights[i] for i in left)
                score = goodness(s, sums, n_left, sum(w))
                found = (score, number, direction, search.midpoint(below, above), set(left))
                if score > 0 and (best is None or score > best[0]):
                    best = found
                if first_zero is None:
                    first_zero = found
        best = best if best is not None else first_zero
        if best is not None:
            made.split = best
            made.gain = float(sum(w)) / whole * best[0] * (float(step) ** 2 / y.shape[1])
            for side in (True, False):
                part = [i for i in rows if (i in best[4]) == side]
                made.children.append(node(part, depth + 1))
        return made

    order = [node(list(range(len(X))), 0)]
    for each in order:  # the list grows while it is read
        order += each.children
    return order
