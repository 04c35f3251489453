"""Sets of linear inequalities: what is exact with fractions, and the rest by linear programming.

Inequalities are rows of ``A x <= b``, or ``<`` where `strict`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.errors import TreeError
from obliqua.explain._planes import length_of

# Linear programs are solved to about this much, once rows and columns are scaled.
TOLERANCE = 1e-7
# An inequality is dropped only if the others leave this much before it, so that rounding
# in a linear program never makes a region larger.
CLEARANCE = 1e-6
# The solver takes smaller coefficients for 0, which could turn a true answer into a false one.
SMALLEST = 1e-8
# What scipy's linprog says of how it went.
SOLVED, UNBOUNDED, UNCLEAR = 0, 3, 4


def direction(normal: FloatArray) -> tuple[tuple[Any, ...], Fraction]:
    """Return a key that is the same for normals that are multiples of each other, and a size.

    The multiple is a positive one: ``x <= 1`` and ``x >= 1`` have different keys. Right sides
    of parallel inequalities can be compared once they are divided by the sizes. Both are exact.
    """
    used = np.flatnonzero(normal).tolist()
    values = [float(normal[j]) for j in used]
    if len(used) <= 1:
        sign = tuple((j, math.copysign(1.0, value)) for j, value in zip(used, values, strict=True))
        return sign, abs(Fraction(values[0])) if used else Fraction(1)
    size = abs(Fraction(values[0]))
    key = tuple((j, Fraction(value) / size) for j, value in zip(used, values, strict=True))
    return key, size


def opposed(A: FloatArray, b: FloatArray, strict: BoolArray) -> bool:
    """Say whether two parallel inequalities, or one over nothing, exclude each other; exact."""
    limits: dict[tuple[Any, ...], tuple[Fraction, bool]] = {}
    for normal, limit, open_end in zip(A, b.tolist(), strict.tolist(), strict=True):
        key, size = direction(normal)
        if not key and (limit < 0 or (limit == 0 and open_end)):
            return True
        bound = Fraction(limit) / size
        other = limits.get(tuple((j, -value) for j, value in key))
        if key and other is not None:
            width = bound + other[0]
            if width < 0 or (width == 0 and (open_end or other[1])):
                return True
        limits[key] = (bound, open_end)
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
    row = -np.where(used, logs + column, -np.inf).max(axis=1)
    size = np.exp(logs + column + row[:, None], out=np.zeros_like(A), where=used)
    # Beyond the largest number nothing is left to compare.
    with np.errstate(over="ignore", invalid="ignore"):
        h = np.nan_to_num(b * np.exp(row))
    _require_visible(size)
    return np.sign(A) * size, h / (float(np.abs(h).max(initial=0.0)) or 1.0)


def _require_visible(N: FloatArray) -> None:
    """Raise if the solver would take some of the coefficients for 0."""
    smallest = float(np.abs(N[N != 0]).min(initial=1.0))
    if smallest < SMALLEST:
        raise _too_far_apart(f"coefficients of 1 and of {smallest:.1g} in one system")


def linprog(*args: Any, **more: Any) -> Any:
    """Solve with SciPy, which is imported no earlier: that takes longer than showing a tree."""
    from scipy.optimize import linprog as solve

    return solve(*args, **more)


def _solve(c: FloatArray, A: FloatArray, b: FloatArray) -> Any:
    given = {"A_ub": A, "b_ub": b, "bounds": (None, None), "method": "highs"}
    found = linprog(c, **given)
    if found.status == UNCLEAR:  # such as "unbounded or infeasible", which the solver can tell
        found = linprog(c, **given, options={"presolve": False})
    return found


def ball(A: FloatArray, b: FloatArray, scale: FloatArray) -> tuple[FloatArray, float]:
    """Return centre and radius of the largest ball of ``x / scale`` inside all inequalities.

    The radius is negative if they cannot all hold: by how much they miss. It is infinite if
    there are balls of any size; the centre then is that of one of them.
    """
    used = np.flatnonzero(A.any(axis=1))
    if len(used) == 0:
        return np.zeros(A.shape[1]), np.inf
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        turned = A[used] * scale
        lengths = np.array([length_of(row) for row in turned])
        N, h = turned / lengths[:, None], b[used] / lengths
    if not (np.isfinite(N).all() and np.isfinite(h).all()):
        raise _too_far_apart("not all distances are finite")
    _require_visible(N)
    unit = float(np.abs(h).max()) or 1.0
    # The unknowns are the centre and the radius, both divided by the unit.
    matrix = np.column_stack([N, np.ones(len(N))])
    cost = np.zeros(matrix.shape[1])
    cost[-1] = -1.0
    found = _solve(cost, matrix, h / unit)
    radius = np.inf
    if found.status == SOLVED:
        radius = float(found.x[-1]) * unit
    elif found.status == UNBOUNDED:  # there is no largest one: take one of a certain size
        cap = np.zeros((1, matrix.shape[1]))
        cap[0, -1] = 1.0
        found = _solve(cost, np.vstack([matrix, cap]), np.append(h / unit, 1.0))
    if found.status != SOLVED:
        raise _too_far_apart(found.message)
    with np.errstate(over="ignore"):
        centre = np.asarray(found.x[:-1] * unit * scale)
    if not np.isfinite(centre).all():
        raise _too_far_apart("the centre is beyond the largest number")
    return centre, radius


def _too_far_apart(why: str) -> TreeError:
    return TreeError(
        "The numbers of these inequalities are too far apart for linear programming: "
        f"{why}. Give a scale that makes the features comparable."
    )


def is_void(A: FloatArray, b: FloatArray) -> bool:
    """Say whether inequalities cannot all hold, by more than the tolerance."""
    try:
        N, h = _scaled(A, b)
        return ball(N, h, np.ones(A.shape[1]))[1] < -TOLERANCE
    except TreeError:  # what cannot be told is not said to be empty
        return False


def needed(A: FloatArray, b: FloatArray) -> Int64Array:
    """Return which inequalities are not implied by the others, looking at one after another."""
    try:
        N, h = _scaled(A, b)
    except TreeError:  # what cannot be told stays
        return np.arange(len(A))
    kept = list(range(len(A)))
    for i in range(len(A)):
        others = [k for k in kept if k != i]
        # The inequality itself, moved away, keeps the program bounded.
        matrix = np.vstack([N[others], N[i : i + 1]])
        found = _solve(-N[i], matrix, np.append(h[others], h[i] + 1.0))
        if found.status == SOLVED and -found.fun < h[i] - CLEARANCE:
            kept = others
    return np.array(kept, dtype=np.int64)


def is_bounded(A: FloatArray) -> bool:
    """Say whether ``A x <= b`` is bounded if it is not empty; False if it cannot be told."""
    n_rows, n_columns = A.shape
    if n_rows <= n_columns:
        return False
    try:
        N, _ = _scaled(A, np.zeros(n_rows))
    except TreeError:
        return False
    if np.linalg.matrix_rank(N) < n_columns:
        return False
    # Stiemke: there is no way to infinity if and only if the normals, with positive weights,
    # balance each other.
    found = linprog(
        np.ones(n_rows), A_eq=N.T, b_eq=np.zeros(n_columns), bounds=(1.0, None), method="highs"
    )
    return bool(found.status == SOLVED)
