"""The rows of a problem as refinement sees them: floats, in an order of their own.

Numbers are standardised, a column of ones stands for the constant, and each level of a qualitative
column, and each number that is missing, is a column of its own that is 1 or 0. Of these only the
places of the ones are kept (`more`). Rows that are equal are one row with their weight, and the
rows stand in the order of a hash of what is in them: neither the order in which they come, nor a
weight of 2 in the place of a repeated row, changes anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import row_hashes
from obliqua._core.refine.soft import solve_lines
from obliqua._core.refine.standard import largest, standardise, weighted_sums
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.number_targets import Medians, Rates
from obliqua.data.problem import Problem
from obliqua.data.target import Classes, Numbers
from obliqua.data.threads import over_rows
from obliqua.data.weights import round_significant
from obliqua.engine.linear_leaves import model_rows
from obliqua.tree.layout import pointers

__all__ = ["LANES", "SoftNumbers", "SoftRows", "WeightColumns", "robust", "soft_rows"]

Float32Array = NDArray[np.float32]

#: From quartile to quartile, in standard deviations of a normal distribution.
NORMAL_QUARTILES = 1.349
#: A standard deviation that is so many times what the quartiles say is that of a few values.
HEAVY = 5.0
#: Where numbers are learnt: one that is so many times that of the middle nine tenths. Columns that
#: are mostly 0, such as rain, are none of these: their large values are what is to be learnt.
NUMBERS_HEAVY = 10.0
#: So many values are enough to find quartiles. Rows stand in a random order.
ENOUGH = 20_000
COLUMNS_AT_ONCE = 64  # whose values are copied together

LANES = 8  # floats that a processor handles together: widths are multiples of it


def padded(width: int) -> int:
    """Return a width as a multiple of `LANES`."""
    return -(-width // LANES) * LANES


@dataclass(frozen=True)
class WeightColumns:
    """Where the weights of a hyperplane stand, and what brings them back to original columns."""

    # the numeric columns of the problem; weight ``k`` is that of column ``numeric[k]``
    numeric: Int64Array
    # what they were standardised with
    mean: FloatArray
    sd: FloatArray
    # (n_features,): for a qualitative column: where the weights of its levels start; else -1
    levels: Int64Array
    n_levels: Int64Array  # (n_features,): how many levels it has
    # (n_features,): where the weight of a missing value stands; -1 where none is missing
    missing: Int64Array
    # (width,): the share of the weight of all rows that has each level, for the columns of levels
    share: FloatArray
    width: int  # the number of weights of a hyperplane
    # whether some column has values so far out that its quartiles stand for its spread
    heavy: bool = False

    @property
    def constant(self) -> int:
        """Where the constant stands, b in w.x + b."""
        return len(self.numeric)

    @property
    def stride(self) -> int:
        """The number of weights of columns that are kept as numbers, the constant among them."""
        return padded(len(self.numeric) + 1)

    @cached_property
    def owner(self) -> Int64Array:
        """The problem's column that each weight belongs to; -1 for the constant and for none."""
        owner = np.full(self.width, -1, dtype=np.int64)
        owner[: len(self.numeric)] = self.numeric
        for column, (start, count) in enumerate(
            zip(self.levels.tolist(), self.n_levels.tolist(), strict=True)
        ):
            if start >= 0:
                owner[start : start + count] = column
        there = np.flatnonzero(self.missing >= 0)
        owner[self.missing[there]] = there
        return owner


@dataclass(frozen=True, eq=False)
class SoftNumbers:
    """Numbers to learn, standardised, and the columns of the functions that leaves say."""

    y: Float32Array  # (n_rows, n_outputs)
    # (n_rows, stride): columns about their mean, a column of ones, zeros
    u: Float32Array
    n_columns: int  # of them, that of ones included
    penalty: float  # on coefficients, in units of the weights of different rows

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return self.y.shape[1]

    def no_lines(self, n_leaves: int) -> Float32Array:
        """Return room for the functions of leaves."""
        return np.zeros((n_leaves, self.n_outputs * self.u.shape[1]), dtype=np.float32)

    def fitted(self, sums: FloatArray) -> tuple[Float32Array, FloatArray]:
        """Return the functions of leaves, from sums of their rows, and their squared errors."""
        lines = self.no_lines(len(sums))
        return lines, solve_lines(sums, lines, self.n_outputs, self.n_columns, self.penalty)


@dataclass(frozen=True, eq=False)
class SoftRows:
    """Rows to refine a tree with."""

    # (n_rows, stride): standardised numbers, 0 where one is missing; a column of ones; zeros
    x: Float32Array
    # the places of further ones in each row, as CSR rows: levels, and numbers that are missing
    more_ptr: Int64Array | None
    more: Int32Array | None
    y: Int32Array  # class codes; all 0 where numbers are learnt
    units: Int64Array  # weights in grid units
    weight: Float32Array  # weights with a mean of 1
    n_classes: int
    columns: WeightColumns
    # the problem's rows, equal ones together, and where each of these rows begins there
    order: Int64Array
    starts: Int64Array
    n_threads: int = 1  # they have no influence on any result
    numbers: SoftNumbers | None = None  # if those are learnt

    @property
    def n_rows(self) -> int:
        """The number of different rows."""
        return len(self.y)

    @property
    def arrays(
        self,
    ) -> tuple[Float32Array, Int64Array | None, Int32Array | None, Int32Array, Float32Array]:
        """The rows as compiled code takes them."""
        return self.x, self.more_ptr, self.more, self.y, self.weight

    def sample(self, n: int) -> Int64Array:
        """Return the problem's rows that the first n of these stand for: a random sample."""
        return self.order if n >= self.n_rows else self.order[: self.starts[n]]

    @cached_property
    def class_share(self) -> FloatArray:
        """The share of each class in the weight of all rows."""
        sums = np.bincount(self.y, self.units, self.n_classes)
        return np.asarray(sums / sums.sum())


def soft_rows(
    problem: Problem, seed: int = 0, n_threads: int = 1, penalty: float | None = None
) -> SoftRows:
    """Make the rows of a problem ready for refinement.

    Where numbers are learnt, leaves say constants, or with a `penalty` linear functions.
    """
    if isinstance(problem.target, (Medians, Rates)):
        raise ValueError(
            "Trees are refined by squared errors; got rows that are measured by "
            f"{problem.target.loss if isinstance(problem.target, Medians) else 'poisson'!r}. "
            "Refine without that criterion."
        )
    order, starts, units = _different(problem, seed, n_threads)
    first = order[starts]
    of_classes = isinstance(problem.target, Classes)
    y = problem.y[first] if of_classes else np.zeros(len(first), dtype=np.int32)
    weight: FloatArray = units.astype(np.float64)
    share = weight / weight.sum()
    qualitative = problem.n_levels > 0
    numeric = np.flatnonzero(~qualitative)
    coded = bool(problem.coded.any())
    gaps = problem.has_missing
    columns, x = _standardised(problem, first, share, numeric, gaps, n_threads)
    more_ptr, more = _ones(problem, first, columns, gaps) if coded else (None, None)
    if more_ptr is not None and more is not None:
        of_row = np.repeat(np.arange(len(first)), np.diff(more_ptr))
        columns.share[:] = np.bincount(more[: len(of_row)], share[of_row], columns.width)
        _leave_where_unknown(problem, first, columns)
    mean_one = (weight * (len(first) / weight.sum())).astype(np.float32)
    return SoftRows(
        x,
        more_ptr,
        more,
        y,
        units,
        mean_one,
        problem.n_classes if of_classes else 1,
        columns,
        order,
        starts,
        n_threads,
        None if of_classes else _numbers(problem, first, share, penalty, units),
    )


def _numbers(
    problem: Problem,
    rows: Int64Array,
    share: FloatArray,
    penalty: float | None,
    units: Int64Array,
) -> SoftNumbers:
    """Standardise the numbers, and lay out the columns of the functions of leaves."""
    assert isinstance(problem.target, Numbers)
    # Above the least: a shift of the numbers that rounds none of them changes nothing.
    values = problem.target.values[rows] - problem.target.low
    mean = (share[:, None] * values).sum(axis=0)
    deviation = float(np.sqrt((share[:, None] * (values - mean) ** 2).sum())) or 1.0
    mean, deviation = round_significant(mean), float(round_significant(np.array([deviation]))[0])
    matrix = None if penalty is None else model_rows(problem).matrix
    q = 0 if matrix is None else matrix.shape[1]
    u = np.zeros((len(rows), padded(q + 1)), dtype=np.float32)
    for k in range(q):  # one at a time: copies of all columns take a lot of room
        assert matrix is not None
        column = matrix[rows, k]
        u[:, k] = column - (share * column).sum()
    u[:, q] = 1.0
    y = ((values - mean) / deviation).astype(np.float32)
    # In rows, of which there may be more than different ones, whose mean weight is 1 here.
    counted = float(units.sum()) * problem.row_unit
    return SoftNumbers(y, u, q + 1, 0.0 if penalty is None else penalty * (len(rows) / counted))


def _leave_where_unknown(problem: Problem, rows: Int64Array, columns: WeightColumns) -> None:
    """Take the shares of levels as unknown in columns that have levels nobody knows (code -1).

    Such a row adds 0 to a height, here and in the finished tree, so that the numbers of the levels
    must not be moved around their mean there.
    """
    for column in np.flatnonzero(columns.levels >= 0).tolist():
        if (problem.Z[rows, column] < 0).any():
            start = columns.levels[column]
            columns.share[start : start + columns.n_levels[column]] = 0.0


def _different(
    problem: Problem, seed: int, n_threads: int
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the rows in the order of hashes, where different ones begin, and their weights."""
    target = problem.target
    labels = target.codes.astype(np.int64) if isinstance(target, Classes) else target.labels()

    def hashes_of(start: int, end: int) -> NDArray[np.uint64]:
        return row_hashes(problem.Z[start:end], labels[start:end], seed & (2**64 - 1))

    hashes = np.concatenate(over_rows(hashes_of, problem.n_rows, n_threads))
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    if problem.weights is None:
        units = np.diff(np.append(starts, len(order)))
    else:
        units = np.add.reduceat(problem.weights[order], starts)
    return order, starts, units.astype(np.int64)


def _standardised(
    problem: Problem,
    rows: Int64Array,
    share: FloatArray,
    numeric: Int64Array,
    gaps: BoolArray,
    n_threads: int,
) -> tuple[WeightColumns, Float32Array]:
    """Lay out the columns and standardise the numbers."""
    n, d = len(rows), len(numeric)
    stride = padded(d + 1)
    x = np.zeros((n, stride), dtype=np.float32)
    mean, sd, heavy = _centres(problem, rows, share, numeric, n_threads)
    over_rows(
        lambda first, last: standardise(problem.Z, rows, numeric, mean, sd, x, first, last),
        n,
        n_threads,
    )
    x[:, d] = 1.0
    place, levels, missing = stride, [], []
    for column, count in enumerate(problem.n_levels.tolist()):
        levels.append(place if count else -1)
        place += count
        missing.append(place if gaps[column] else -1)
        place += bool(gaps[column])
    width = padded(place)
    where: list[Int64Array] = [np.array(places, dtype=np.int64) for places in (levels, missing)]
    n_levels = problem.n_levels.astype(np.int64)
    share_of = np.zeros(width)
    columns = WeightColumns(
        numeric, mean, sd, where[0], n_levels, where[1], share_of, width, heavy
    )
    return columns, x


def _centres(
    problem: Problem, rows: Int64Array, share: FloatArray, numeric: Int64Array, n_threads: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Return what each column is standardised with, and whether some have values far out."""
    Z, n = problem.Z, len(rows)
    size = np.maximum.reduce(
        over_rows(lambda first, last: largest(Z, numeric, first, last), len(Z), n_threads)
    )
    # In units of the largest, squares of huge or tiny numbers stay within bounds.
    unit = np.where(size > 0.0, size, 1.0)

    def sums(about: FloatArray, n: int) -> FloatArray:
        def part(first: int, last: int) -> FloatArray:
            return weighted_sums(Z, rows, numeric, share, unit, about, first, last)

        found: FloatArray = np.add.reduce(over_rows(part, n, n_threads))
        return found

    # Counted from where some of them have their mean, all have small sums of squares.
    weight, first_sum, _ = sums(np.zeros(len(unit)), min(n, ENOUGH)).T
    about = first_sum / np.where(weight > 0.0, weight, 1.0)
    weight, first_sum, second_sum = sums(about, n).T
    known = (weight > 0.0) & (size > 0.0)
    weight = np.where(known, weight, 1.0)
    shift = first_sum / weight
    middle = about + shift
    spread = np.sqrt(np.maximum(second_sum / weight - shift * shift, 0.0))
    some = Z[rows[:ENOUGH]][share[:ENOUGH] > 0.0]
    far = np.zeros(len(unit), dtype=bool)
    places = np.flatnonzero(known)
    for start in range(0, len(places), COLUMNS_AT_ONCE):
        block = places[start : start + COLUMNS_AT_ONCE]
        values = some[:, numeric[block]].astype(np.float64) / unit[block]
        alone: BoolArray = np.asarray(np.isnan(values).any(axis=0))
        if not isinstance(problem.target, Classes):
            alone[:] = True
        elif len(values):
            k = block[~alone]
            middle[k], spread[k], far[k] = robust(values[:, ~alone], middle[k], spread[k])
        for column in np.flatnonzero(alone).tolist():
            k, there = block[column], values[~np.isnan(values[:, column]), column]
            if len(there):
                look = robust if isinstance(problem.target, Classes) else _middle
                middle[k], spread[k], far[k] = look(there, middle[k], spread[k])
    # A column that is constant but for rounding tells nothing, and must not be blown up.
    mean, sd = _rounded(middle * unit, np.where(spread > 1e-12, spread * unit, 1.0))
    nothing = ~known | (sd == 0.0)  # or so near to 0 that nothing lies between
    return np.where(nothing, 0.0, mean), np.where(nothing, 1.0, sd), bool(far.any())


def robust(values: FloatArray, mean: Any, sd: Any) -> tuple[Any, Any, Any]:
    """Return centres and spreads of columns, and whether they are those of the quartiles.

    One value that is far out makes the standard deviation so large that all others look the same.
    The quartiles do not mind it.
    """
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), axis=0)
    spread = (high - low) / NORMAL_QUARTILES
    far = (spread > 0.0) & (spread < sd / HEAVY)
    return np.where(far, middle, mean), np.where(far, spread, sd), far


def _middle(values: FloatArray, mean: float, sd: float) -> tuple[float, float, bool]:
    """Return the same, of the middle nine tenths."""
    low, high = np.quantile(values, (0.05, 0.95)).tolist()
    middle = values[(values >= low) & (values <= high)]
    spread = float(middle.std()) if len(middle) else 0.0  # two values leave nothing between
    if 0.0 < spread < sd / NUMBERS_HEAVY:
        return float(middle.mean()), spread, True
    return mean, sd, False


def _rounded(mean: FloatArray, sd: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Round both, so that another order of sums hardly ever reaches the tree.

    The mean is rounded in units of the spread, for it may be far from 0.
    """
    sd = round_significant(sd)
    unit = np.ldexp(1.0, np.frexp(sd)[1] - 24)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        places = mean / unit
        return np.where(np.abs(places) < 2.0**62, np.rint(places) * unit, mean), sd


def _ones(
    problem: Problem, rows: Int64Array, columns: WeightColumns, gaps: BoolArray
) -> tuple[Int64Array, Int32Array]:
    """Return where each row has ones: its levels, and what is missing in it."""
    coded = np.flatnonzero(problem.coded)
    places = np.full((len(rows), len(coded)), -1, dtype=np.int32)
    for k, column in enumerate(coded.tolist()):
        values = problem.Z[rows, column]
        absent = np.isnan(values)
        if columns.levels[column] >= 0:
            codes = np.where(absent, -1, values).astype(np.int64)
            # A level that is not known has the code -1, and adds nothing.
            places[:, k] = np.where(codes >= 0, columns.levels[column] + codes, -1)
        if gaps[column]:
            places[absent, k] = columns.missing[column]
    there = places >= 0
    more = places[there]
    # Compiled code takes the place of the first entry, so there must be one.
    if len(more) == 0:
        more = np.zeros(1, dtype=np.int32)
    return pointers(there.sum(axis=1)), np.ascontiguousarray(more, dtype=np.int32)
