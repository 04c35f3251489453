"""What makes features comparable: one factor per feature, found once per fit.

An oblique method that looks at scaled features finds directions there; the engine turns them into
directions of the original features, so a tree never needs the scales again.
"""

from __future__ import annotations

import numpy as np

from obliqua._typing import BoolArray, FloatArray
from obliqua.data.problem import Problem
from obliqua.engine.moments import spread

__all__ = ["SCALES", "feature_scale"]

SCALES = ("standard", "robust", "minmax")


def feature_scale(problem: Problem, kind: str | None) -> FloatArray:
    """Return the factors by which a method's features are multiplied."""
    if kind is None:
        return np.ones(problem.n_features)
    with np.errstate(over="ignore", divide="ignore"):
        width = np.ones(problem.n_features)
        plain = ~problem.odd
        if plain.any():
            width[plain] = _width(problem if plain.all() else _columns(problem, plain), kind)
        for k in np.flatnonzero(~plain).tolist():
            # Numbers of levels are found at each node and have a standard deviation of 1 there.
            there = ~np.isnan(problem.Z[:, k])
            if problem.n_levels[k] == 0 and there.any():
                this = np.arange(problem.n_features) == k
                width[k] = _width(_columns(problem, this, there), kind)[0]
        factor = 1.0 / width
    return np.where(np.isfinite(factor) & (factor > 0), factor, 1.0)


def _columns(problem: Problem, columns: BoolArray, rows: BoolArray | None = None) -> Problem:
    """Return some columns, and some rows, as plain numbers."""
    kept = np.ones(problem.n_rows, dtype=bool) if rows is None else rows
    return Problem(
        problem.Z[:, columns][kept],
        problem.y[kept],
        None if problem.weights is None else problem.weights[kept],
        problem.unit,
        problem.n_classes,
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
