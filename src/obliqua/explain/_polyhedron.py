"""Sets of linear inequalities: what is exact with fractions, and the rest by linear programming.

Inequalities are rows of ``A x <= b``, or ``<`` where `strict`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy.optimize import linprog

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.errors import TreeError
from obliqua.explain._planes import length_of

# Linear programs are solved to about this much, once rows and columns are scaled.
TOLERANCE = 1e-7
# An inequality is dropped only if the others leave this much room before it, so that rounding
# in a linear program never makes a region larger.
ROOM = 1e-6


def directions(A: FloatArray) -> list[tuple[Any, ...]]:
    """Return a key per row that is the same for normals that are multiples of each other.

    The multiple is a positive one: ``x <= 1`` and ``x >= 1`` have different keys.
    """
    keys = []
    for row in A:
        used = np.flatnonzero(row).tolist()
        unit = abs(Fraction(float(row[used[0]]))) if used else Fraction(1)
        keys.append(tuple((j, Fraction(float(row[j])) / unit) for j in used))
    return keys


def _bound(row: FloatArray, b: float) -> Fraction:
    """Return the right side when the first coefficient is made 1 or -1."""
    used = np.flatnonzero(row)
    return Fraction(b) / (abs(Fraction(float(row[used[0]]))) if len(used) else 1)


def tightest(A: FloatArray, b: FloatArray, strict: BoolArray) -> Int64Array:
    """Return which rows to keep so that of parallel inequalities only the tightest is left.

    Rows ``0 <= b`` that always hold are left out too. All of it is exact.
    """
    best: dict[tuple[Any, ...], tuple[Fraction, bool, int]] = {}
    for i, key in enumerate(directions(A)):
        bound = _bound(A[i], float(b[i]))
        if not key and (bound > 0 or (bound == 0 and not strict[i])):
            continue
        rank = (bound, not strict[i], i)
        if key not in best or rank < best[key]:
            best[key] = rank
    return np.array(sorted(i for _, _, i in best.values()), dtype=np.int64)


def opposed(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Say whether two parallel inequalities, or one over nothing, exclude each other; exact."""
    seen: dict[tuple[Any, ...], int] = {}
    for i, key in enumerate(directions(A)):
        if not key and (b[i] < 0 or (b[i] == 0 and strict[i])):
            return True
        other = seen.get(tuple((j, -value) for j, value in key))
        if key and other is not None:
            room = _bound(A[i], float(b[i])) + _bound(A[other], float(b[other]))
            if room < 0 or (room == 0 and (strict[i] or strict[other])):
                return True
        seen[key] = i
    return False


def _scaled(A: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Scale rows and columns so that their entries, and those of b, are about 1.

    The factors make the logarithms of the entries as small as possible in the least squares
    sense, so that it does not matter in which units the features came.
    """
    used = A != 0
    logs = np.log(np.abs(A), out=np.zeros_like(A), where=used)
    row, column = np.zeros(len(A)), np.zeros(A.shape[1])
    in_row, in_column = np.maximum(used.sum(axis=1), 1), np.maximum(used.sum(axis=0), 1)
    for _ in range(30):
        row = -np.where(used, logs + column, 0.0).sum(axis=1) / in_row
        column = -np.where(used, logs + row[:, None], 0.0).sum(axis=0) / in_column
    row = -np.where(used, logs + column, -np.inf).max(axis=1, initial=-700.0)
    with np.errstate(over="ignore"):  # beyond the largest number nothing is left to compare
        N = np.where(used, np.sign(A) * np.exp(logs + column + row[:, None]), 0.0)
        h = np.nan_to_num(b * np.exp(row))
    return N, h / (float(np.abs(h).max(initial=0.0)) or 1.0)


def _solve(c: FloatArray, A: FloatArray, b: FloatArray, **more: Any) -> Any:
    return linprog(c, A_ub=A, b_ub=b, bounds=(None, None), method="highs", **more)


def ball(A: FloatArray, b: FloatArray, scale: FloatArray) -> tuple[FloatArray, float]:
    """Return centre and radius of the largest ball of ``x / scale`` inside all inequalities.

    The radius is negative if they cannot all hold: by how much they miss. It is infinite if
    there are balls of any size; the centre then is that of one of them.
    """
    used = np.flatnonzero(A.any(axis=1))
    if len(used) == 0:
        return np.zeros(A.shape[1]), np.inf
    lengths = np.array([length_of(row) for row in A[used] * scale])
    N, h = A[used] * scale / lengths[:, None], b[used] / lengths
    unit = float(np.abs(h).max()) or 1.0
    # The unknowns are the centre and the radius, both divided by the unit.
    matrix = np.column_stack([N, np.ones(len(N))])
    cost = np.zeros(matrix.shape[1])
    cost[-1] = -1.0
    found = _solve(cost, matrix, h / unit)
    radius = np.inf
    if found.status == 0:
        radius = float(found.x[-1]) * unit
    else:  # there is no largest one: take one of a certain size
        cap = np.zeros((1, matrix.shape[1]))
        cap[0, -1] = 1.0
        found = _solve(cost, np.vstack([matrix, cap]), np.append(h / unit, 1.0))
        if found.status != 0:
            raise TreeError(
                "The largest ball inside these inequalities could not be found: their numbers "
                f"are too far apart for linear programming ({found.message})"
            )
    return np.asarray(found.x[:-1] * unit * scale), radius


def is_void(A: FloatArray, b: FloatArray) -> bool:
    """Say whether inequalities cannot all hold, by more than the tolerance."""
    N, h = _scaled(A, b)
    try:
        return ball(N, h, np.ones(A.shape[1]))[1] < -TOLERANCE
    except TreeError:  # what cannot be told is not said to be empty
        return False


def needed(A: FloatArray, b: FloatArray) -> Int64Array:
    """Return which inequalities are not implied by the others, looking at one after another."""
    N, h = _scaled(A, b)
    kept = list(range(len(A)))
    for i in range(len(A)):
        others = [k for k in kept if k != i]
        # The inequality itself, moved away, keeps the program bounded.
        matrix = np.vstack([N[others], N[i : i + 1]])
        found = _solve(-N[i], matrix, np.append(h[others], h[i] + 1.0))
        if found.status == 0 and -found.fun < h[i] - ROOM:
            kept = others
    return np.array(kept, dtype=np.int64)


def is_bounded(A: FloatArray) -> bool:
    """Say whether ``A x <= b`` is bounded if it is not empty."""
    n_rows, n_columns = A.shape
    if n_rows <= n_columns:
        return False
    N, _ = _scaled(A, np.zeros(n_rows))
    if np.linalg.matrix_rank(N) < n_columns:
        return False
    # Stiemke: there is no way to infinity if and only if the normals, with positive weights,
    # balance each other.
    found = linprog(
        np.ones(n_rows),
        A_eq=N.T,
        b_eq=np.zeros(n_columns),
        bounds=(1.0, None),
        method="highs",
    )
    return bool(found.status == 0)
