"""HHCART(G), slow and obvious: by the generalised eigen-problem of SciPy, in the given units.

For rows of both sides that span the space, which is where the problem has one answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

FloatArray = NDArray[np.float64]


def bisector(X: FloatArray, y: NDArray[np.int64]) -> FloatArray:
    """The unit normal of the bisector that divides the most frequent class and the rest best."""
    mine = y == np.bincount(y).argmax()
    rows = np.column_stack([X, np.ones(len(X))])
    M = rows[~mine].T @ rows[~mine] / (~mine).sum()
    G = rows[mine].T @ rows[mine] / mine.sum()
    _, solutions = eigh(M, G)
    planes = [w / np.linalg.norm(w[:-1]) for w in (solutions[:, -1], solutions[:, 0])]
    best = min((planes[0] + planes[1], planes[0] - planes[1]), key=lambda w: gini(rows @ w, mine))
    return np.asarray(best[:-1] / np.linalg.norm(best[:-1]))


def gini(values: FloatArray, mine: NDArray[np.bool_]) -> float:
    """2 L p (1 - p) + 2 R q (1 - q) of the sides of a hyperplane."""
    total = 0.0
    for side in (values <= 0, values > 0):
        if side.any():
            share = mine[side].mean()
            total += 2 * side.mean() * share * (1 - share)
    return total


def columns(d: FloatArray) -> FloatArray:
    """Columns of the Householder matrix of d, its first entry made positive, as rows."""
    d = d if d[0] >= 0 else -d
    u = np.eye(len(d))[0] - d
    return np.asarray(np.eye(len(d)) - 2 * np.outer(u, u) / (u @ u))
