"""Where 2C-ETCT's directions live: columns of plain numbers, measured in units of a scale.

A level of a tree is a hyperplane in the original features, so a direction is kept as coefficients
of these. Levels of qualitative columns and missing numbers are replaced by numbers once, for all
nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from obliqua._core.base.linalg import product
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.weights import round_significant
from obliqua.engine.coding import CodedNode, OddColumns
from obliqua.engine.moments import ClassSums, FixedPoint, class_sums
from obliqua.engine.scale import feature_scale
from obliqua.methods._eigen_transforms import PairMoments, directions_of

if TYPE_CHECKING:
    from obliqua.methods.eigen_tree import EigenTree

__all__ = ["Direction", "FirstDirection", "Space", "read_columns", "space_of"]

#: Finds a direction from rows, their classes (0 or 1) and their weights.
FirstDirection = Callable[[FloatArray, Int32Array, FloatArray | None], FloatArray]

BITS = 24
# Per term, as a share of the largest that a sum can be: two values that are no further apart may
# be equal, see `tolerance_for` in `_core/search/direction.pyx`. More would be wrong: with many
# rows, far from the origin, neighbours are not much further apart.
ROUNDING = 2.0**-50


class Direction(NamedTuple):
    """A direction in the original features."""

    columns: Int32Array
    coef: FloatArray
    nothing: float  # values along it that are not further apart are the same

    def dense(self, n_features: int) -> FloatArray:
        """Return the coefficients with all their zeros."""
        normal = np.zeros(n_features)
        normal[self.columns] = self.coef
        return normal


class Space(NamedTuple):
    """The directions of all transformations, and the numbers of odd columns."""

    coded: CodedNode | None
    directions: dict[str, list[Direction]]


def space_of(problem: Problem, method: EigenTree) -> Space:
    """Find the directions of all transformations."""
    coded = None
    if problem.odd.any():
        weights = None if problem.weights is None else problem.weights.astype(np.float64)
        counts = np.bincount(problem.y, weights, minlength=2).astype(np.int64)
        coded = OddColumns(problem).at(np.arange(problem.n_rows, dtype=np.int32), counts)
    plain = problem if coded is None else coded.problem
    none: dict[str, list[Direction]] = {name: [] for name in method.transformations}
    if plain.y.min() == plain.y.max():
        return Space(coded, none)
    factor = feature_scale(problem, method.scale)
    moments = moments_of(plain, factor)
    if moments is None:
        return Space(coded, none)
    spread = np.sqrt(np.maximum(moments.total.diagonal(), 0.0))
    first = None
    if method.first is not None and any(name.startswith("first") for name in none):
        first = _given_first(method.first, plain, factor, spread > 0)
    reach = np.abs(plain.Z).max(axis=0).astype(np.float64)
    found = {
        name: _directions(
            directions_of(name, moments, first)[: method.max_depth], spread, factor, reach
        )
        for name in method.transformations
    }
    return Space(coded, found)


def moments_of(problem: Problem, factor: FloatArray) -> PairMoments | None:
    """Sum up two classes of plain rows, with features multiplied by factors."""
    grid = FixedPoint.of_problem(problem)
    sums = class_sums(problem, np.arange(problem.n_rows, dtype=np.int32), grid)
    still = np.zeros(problem.n_features)
    sums = ClassSums(
        sums.weights, sums.first, sums.high, sums.low, FixedPoint(still, still.astype(np.int32))
    )
    if (sums.weights == 0).any():
        return None
    weights = sums.weights.astype(np.float64)
    covariances = np.array([sums.scatter(c) / weights[c] for c in range(2)])
    apart = sums.mean(0) - sums.mean(1)
    varies = (covariances.sum(axis=0).diagonal() > 0) | (apart != 0)
    if not varies.any():
        return None
    mantissa, exponent = np.frexp(factor)
    exponent = exponent + grid.exponent
    with np.errstate(under="ignore"):
        size = np.where(varies, np.ldexp(mantissa, exponent - exponent[varies].max()), 0.0)
        return PairMoments(weights, apart * size, covariances * np.outer(size, size))


def _given_first(
    first: FirstDirection, plain: Problem, factor: FloatArray, varies: BoolArray
) -> FloatArray | None:
    """Ask for the first direction, of features that vary; None if it is 0."""
    weights = None
    if plain.weights is not None:
        weights = plain.weights.astype(np.float64) * plain.row_unit
    Z = np.ascontiguousarray(plain.Z, dtype=np.float64) * factor
    # A coefficient of a constant moves no row, but would turn all directions after the first.
    direction = np.where(varies, first(Z, plain.y, weights), 0.0)
    return direction if direction.any() else None


def _directions(
    rows: FloatArray, spread: FloatArray, factor: FloatArray, reach: FloatArray
) -> list[Direction]:
    """Say directions in the original features, without parts that are rounding."""
    part = np.abs(rows) * spread
    rows = np.where(part > part.max(axis=1, keepdims=True) * 2.0**-BITS, rows, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        coef = round_significant(rows * factor, BITS)
        size = product(np.abs(coef), reach)
    used = coef != 0
    n_terms = used.sum(axis=1)
    nothing = np.where(n_terms == 1, 0.0, ROUNDING * n_terms * size)
    columns = np.arange(coef.shape[1], dtype=np.int32)
    return [
        Direction(columns[which], row[which], width)
        for which, row, width in zip(used, coef, nothing.tolist(), strict=True)
    ]


def read_columns(problem: Problem, space: Space) -> FloatArray:
    """Return the rows as plain numbers, column by column in memory."""
    Z = np.asfortranarray(problem.Z, dtype=np.float64)
    coded = space.coded
    if coded is None:
        return Z
    Z = Z.copy(order="F")
    for column in np.flatnonzero(coded.place >= 0).tolist():
        place = int(coded.place[column])
        numbers = coded.numbers[coded.begin[place] : coded.begin[place + 1]]
        values = Z[:, column]
        missing = np.isnan(values)
        if len(numbers) > 1:
            levels: Int64Array = np.where(missing, 0, values).astype(np.int64)
            values = numbers[levels]
        Z[:, column] = np.where(missing, numbers[-1], values)
    return Z
