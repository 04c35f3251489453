"""What mistakes cost: a matrix, and the class that costs least.

``costs[i][j]`` is what it costs to say class j of a row of class i. No costs, ``()``, means that
each mistake costs 1.
"""

from __future__ import annotations

import numpy as np

from obliqua._typing import FloatArray, Int64Array

__all__ = ["MAX_COST", "Costs", "classes_said", "cost_of", "flaw_of"]

Costs = tuple[tuple[float, ...], ...]

#: Sums of larger ones would not be finite.
MAX_COST = 1e100
# Costs that differ by no more than this share of the least one are equal.
_ROUNDING = 1e-12


def flaw_of(costs: FloatArray) -> tuple[int, int] | None:
    """Return the place of the first number that is no cost, or not 0 on the diagonal."""
    wrong = ~((costs >= 0) & (costs <= MAX_COST)) | ((costs != 0) & np.eye(len(costs), dtype=bool))
    places = np.argwhere(wrong).tolist()
    return (places[0][0], places[0][1]) if places else None


def classes_said(sums: FloatArray, costs: Costs) -> Int64Array:
    """Return for weights of classes, one node a row, the class that costs least.

    Without costs it is the heaviest one; the first of them at ties.
    """
    if not costs:
        return np.asarray(sums.argmax(axis=1), dtype=np.int64)
    # By powers of two, which is exact: neither huge weights nor tiny ones leave float64.
    sums = np.ldexp(sums, -int(np.frexp(sums.max(initial=0.0))[1]))
    matrix = np.array(costs)
    matrix = np.ldexp(matrix, -int(np.frexp(matrix.max(initial=0.0))[1]))
    expected = np.zeros(sums.shape)
    for weight, row in zip(sums.T, matrix, strict=True):  # in order, whatever BLAS would do
        expected += weight[:, None] * row
    least = expected.min(axis=1, keepdims=True) * (1.0 + _ROUNDING)
    return np.asarray((expected <= least).argmax(axis=1), dtype=np.int64)


def cost_of(sums: FloatArray | Int64Array, said: Int64Array, costs: Costs) -> FloatArray:
    """Return what rows with these weights of classes cost, one node a row, if a class is said."""
    if not costs:
        right = sums[np.arange(len(sums)), said]
        return np.asarray(sums.sum(axis=1) - right, dtype=np.float64)
    total = np.zeros(len(sums))
    for weight, row in zip(sums.T, np.array(costs), strict=True):
        total += weight * row[said]
    return total
