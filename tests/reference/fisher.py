"""Twin of FDT's direction, row by row and without a shared sum."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigh


def scatter(X: Any, w: Any) -> Any:
    """Sum of squares and products about the mean."""
    mean = sum(weight * row for weight, row in zip(w, X, strict=True)) / sum(w)
    return sum(weight * np.outer(row - mean, row - mean) for weight, row in zip(w, X, strict=True))


def mean(X: Any, w: Any) -> Any:
    return np.average(X, axis=0, weights=w)


def direction(X: Any, first: Any, w: Any) -> Any:
    """Fisher's direction of the rows that are `first` against the others; a regular matrix."""
    within = scatter(X[first], w[first]) + scatter(X[~first], w[~first])
    return np.linalg.solve(within, mean(X[first], w[first]) - mean(X[~first], w[~first]))


def first_group(X: Any, y: Any, w: Any) -> set[int]:
    """Classes on the same side as the first one; a regular matrix."""
    classes = sorted(set(y.tolist()))
    within = sum(scatter(X[y == c], w[y == c]) for c in classes)
    between = scatter(X, w) - within
    axis = eigh(between, within)[1][:, -1]
    place = {c: float(mean(X[y == c], w[y == c]) @ axis) for c in classes}
    best: tuple[float, set[int]] = (-1.0, set())
    for low, high in pairwise(sorted(place.values())):
        side = np.array([place[c] <= (low + high) / 2 for c in y.tolist()])
        apart = float((mean(X[side], w[side]) - mean(X[~side], w[~side])) @ axis)
        squares = w[side].sum() * w[~side].sum() / w.sum() * apart**2
        if squares > best[0]:
            best = squares, {c for c in classes if place[c] <= low}
    group = best[1]
    return group if classes[0] in group else set(classes) - group
