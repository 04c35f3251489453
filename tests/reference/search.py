"""Twin of the search: the best split of one node over a batch of directions, by sorting.

The search looks at every legal cut of every direction and evaluates each one by the criterion's
twin. There are no bounds, no histograms and no shortcuts to be wrong about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reference import criteria

FloatArray = NDArray[np.float64]
Score = Callable[[Sequence[int], Sequence[int]], float]

# neighbours closer than this part of the largest sum of |a_k x_k| count as equal
TOLERANCE = 2.0**-50  # per term


@dataclass(frozen=True)
class Direction:
    """The non-zero coefficients of a normal, by column; an open threshold is ``None``."""

    idx: tuple[int, ...]
    coef: tuple[float, ...]
    threshold: float | None = None


@dataclass(frozen=True)
class Limits:
    """What a cut must respect, in rows and in grid units of weight."""

    min_samples_leaf: int = 1
    min_weight_leaf: int = 0
    zero_gain: bool = False


@dataclass(frozen=True)
class Split:
    """A winning cut; ``left`` is the mask of the node's rows that go left."""

    direction: int
    idx: tuple[int, ...]
    coef: tuple[float, ...]
    threshold: float
    goodness: float
    left_sums: tuple[int, ...]
    rows_left: int
    left: NDArray[np.bool_]


def round24(value: float) -> float:
    """Round to 24 significant bits, half to even."""
    if not math.isfinite(value):
        return value
    significand, exponent = math.frexp(value)
    try:
        return math.ldexp(round(significand * 2.0**24), exponent - 24)
    except OverflowError:
        return math.copysign(math.inf, value)


def axes(n_features: int) -> list[Direction]:
    """CART's directions: the columns, in order."""
    return [Direction((f,), (1.0,)) for f in range(n_features)]


def directions(normals: ArrayLike, thresholds: ArrayLike | None = None) -> list[Direction]:
    """Rounded, sparse directions out of dense normals, one per row."""
    dense = np.atleast_2d(np.asarray(normals, dtype=np.float64))
    given: list[float | None] = [None] * len(dense)
    if thresholds is not None:
        given = [float(t) for t in np.asarray(thresholds, dtype=np.float64)]
    made = []
    for row, threshold in zip(dense.tolist(), given, strict=True):
        pairs = [(k, round24(v)) for k, v in enumerate(row) if v != 0.0]
        made.append(Direction(tuple(k for k, _ in pairs), tuple(v for _, v in pairs), threshold))
    return made


def project(X: NDArray[np.floating], direction: Direction) -> tuple[FloatArray, float]:
    """Values of the rows along a direction, and the tolerance below which two are equal.

    Element-wise NumPy multiplies and adds one column at a time, which is the canonical dot
    product: from the first coefficient to the last, two roundings each, no contraction.
    """
    z = np.zeros(len(X))
    size = np.zeros(len(X))
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for k, a in zip(direction.idx, direction.coef, strict=True):
            term = a * X[:, k].astype(np.float64)
            z = z + term
            size = size + np.abs(term)
        largest = float(np.max(size))
    return z, 0.0 if len(direction.idx) == 1 else TOLERANCE * len(direction.idx) * largest


def usable(direction: Direction, z: FloatArray) -> bool:
    """Whether a direction is neither zero nor broken, and projects to finite values."""
    if not direction.idx or not all(math.isfinite(a) for a in direction.coef):
        return False
    return bool(np.all(np.isfinite(z)))


def midpoint(a: float, b: float) -> float:
    """Threshold between two neighbours a < b; never b itself, never below a."""
    gap = b - a
    middle = a + gap / 2.0 if math.isfinite(gap) else a / 2.0 + b / 2.0
    return middle if a <= middle < b else a


@dataclass(frozen=True)
class _Cut:
    threshold: float
    rows_left: int
    left_sums: tuple[int, ...]


def _class_sums(y: Sequence[int], weights: Sequence[int], n_classes: int) -> list[int]:
    sums = [0] * n_classes
    for c, w in zip(y, weights, strict=True):
        sums[c] += w
    return sums


def _open_cuts(
    z: FloatArray, tolerance: float, y: Sequence[int], weights: Sequence[int], n_classes: int
) -> Iterator[_Cut]:
    """All cuts between neighbours that differ by more than the tolerance, from the left."""
    order = np.argsort(z, kind="stable").tolist()
    values = z.tolist()
    left = [0] * n_classes
    for position in range(len(order) - 1):
        row = order[position]
        left[y[row]] += weights[row]
        a, b = values[row], values[order[position + 1]]
        if b - a > tolerance:
            yield _Cut(midpoint(a, b), position + 1, tuple(left))


def _given_cut(
    z: FloatArray, threshold: float, y: Sequence[int], weights: Sequence[int], n_classes: int
) -> Iterator[_Cut]:
    """The one cut of a direction whose threshold was proposed with it."""
    if math.isfinite(threshold):
        rows = np.flatnonzero(z <= threshold).tolist()
        sums = _class_sums([y[i] for i in rows], [weights[i] for i in rows], n_classes)
        yield _Cut(threshold, len(rows), tuple(sums))


def _legal(cut: _Cut, n_rows: int, total: int, limits: Limits) -> bool:
    """Whether both sides hold enough rows and enough weight."""
    rows = min(cut.rows_left, n_rows - cut.rows_left)
    weight = min(sum(cut.left_sums), total - sum(cut.left_sums))
    return rows >= max(limits.min_samples_leaf, 1) and weight >= limits.min_weight_leaf


def score_function(
    criterion: int | Callable[[FloatArray, FloatArray], float], unit: float = 1.0
) -> Score:
    """Goodness of integer sums: a built-in by its code, or a user's function of real counts."""
    if isinstance(criterion, int):
        code = criterion
        return lambda left, right: criteria.goodness(code, left, right)
    function = criterion
    return lambda left, right: float(
        function(np.array(left, dtype=np.float64) * unit, np.array(right, dtype=np.float64) * unit)
    )


def best_split(
    X: NDArray[np.floating],
    y: Sequence[int],
    weights: Sequence[int],
    n_classes: int,
    candidates: Sequence[Direction],
    score: Score,
    limits: Limits | None = None,
) -> Split | None:
    """Best split of the rows of ``X``, or ``None`` where no cut is good enough.

    The largest goodness wins; the earlier direction, then the earlier position wins among
    equals. Goodness must be positive, except that ``zero_gain`` allows the first cut of
    goodness exactly 0 where there is no positive one.
    """
    limits = Limits() if limits is None else limits
    total = _class_sums(y, weights, n_classes)
    best: tuple[float, int, _Cut, FloatArray] | None = None
    first_zero: tuple[float, int, _Cut, FloatArray] | None = None
    for number, direction in enumerate(candidates):
        z, tolerance = project(X, direction)
        if not usable(direction, z):
            continue
        if direction.threshold is None:
            cuts = _open_cuts(z, tolerance, y, weights, n_classes)
        else:
            cuts = _given_cut(z, direction.threshold, y, weights, n_classes)
        for cut in cuts:
            if not _legal(cut, len(X), sum(total), limits):
                continue
            right = [t - v for t, v in zip(total, cut.left_sums, strict=True)]
            value = score(cut.left_sums, right)
            if value > 0.0 and (best is None or value > best[0]):
                best = (value, number, cut, z)
            if value == 0.0 and first_zero is None:
                first_zero = (value, number, cut, z)
    if best is None and limits.zero_gain:
        best = first_zero
    if best is None:
        return None
    value, number, cut, z = best
    return Split(
        direction=number,
        idx=candidates[number].idx,
        coef=candidates[number].coef,
        threshold=cut.threshold,
        goodness=value,
        left_sums=cut.left_sums,
        rows_left=cut.rows_left,
        left=z <= cut.threshold,
    )
