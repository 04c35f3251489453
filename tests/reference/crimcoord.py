"""CRIMCOORD, slow and obvious: by its definition over indicator vectors, and from counts.

The definition is that of Loh and Shih (1997): the first discriminant coordinate of the levels'
indicator vectors, with the total scatter in the place of the within scatter. By it the squares of
the numbers, less their mean, add up to 1 over the rows; the library has a variance of 1 unless it
is told otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def by_definition(
    levels: NDArray[np.int64], y: NDArray[np.int64], squares: bool = False
) -> dict[int, float]:
    """The number of each level that is there, by the eigen-problem over indicator vectors."""
    present = np.unique(levels)
    V = (levels[:, None] == present[None, :]).astype(float)
    centred = V - V.mean(axis=0)
    T = centred.T @ centred
    B = np.zeros_like(T)
    for c in np.unique(y):
        gap = V[y == c].mean(axis=0) - V.mean(axis=0)
        B += (y == c).sum() * np.outer(gap, gap)
    t, Q = np.linalg.eigh(T)
    root = np.where(t > 1e-10 * t.max(), 1 / np.sqrt(np.maximum(t, 1e-300)), 0.0)
    M = root[:, None] * (Q.T @ B @ Q) * root[None, :]
    _, vectors = np.linalg.eigh(M)
    xi = Q @ (root * vectors[:, -1]) * (1.0 if squares else np.sqrt(len(y)))
    return dict(zip(present.tolist(), (xi - xi.mean()).tolist(), strict=True))


def from_counts(counts: FloatArray) -> FloatArray:
    """The same from a table of levels (rows) and classes; levels and classes without rows are
    left out, and count 0."""
    counts = np.asarray(counts, dtype=float)
    rows = np.flatnonzero(counts.sum(axis=1) > 0)
    table = counts[rows][:, counts.sum(axis=0) > 0]
    out = np.zeros(len(counts))
    r, n_c = table.sum(axis=1), table.sum(axis=0)
    n = r.sum()
    if len(rows) < 2 or len(n_c) < 2:
        return out
    S = (table - np.outer(r, n_c) / n) / np.sqrt(np.outer(r, n_c))
    values, vectors = np.linalg.eigh(S.T @ S)
    if values[-1] < 1e-14:
        return out
    v = vectors[:, -1]
    v = v if v[np.flatnonzero(np.abs(v) > 1e-12)[0]] > 0 else -v
    if len(n_c) == 2:  # the number rises with the share of the second class
        v = -v
    xi = S @ v / np.sqrt(values[-1]) / np.sqrt(r / n)
    out[rows] = xi - xi.mean()
    return out


def distinct_top(counts: FloatArray) -> bool:
    """Whether the first coordinate is the only one: otherwise any of several is right."""
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    if min(table.shape) < 2:
        return True
    r, c = table.sum(axis=1), table.sum(axis=0)
    S = (table - np.outer(r, c) / r.sum()) / np.sqrt(np.outer(r, c))
    values = np.linalg.svd(S, compute_uv=False) ** 2
    return bool(values[0] < 1e-14 or values[0] - values[1] > 1e-6 * values[0])
