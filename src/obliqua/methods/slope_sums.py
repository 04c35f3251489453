"""Slopes of a node from sums over its rows: what `SlopeFinder` finds out of rows in memory.

Which output varies most, the five quantiles of its numbers, sums of columns between them, products
with outputs, and, when least squares are known, what these leave over: each is asked for in turn.
All sums are whole numbers, so the directions are those of the same rows in one memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._core.grow.moments import scatter
from obliqua._core.methods.slopes import bend_sums, output_sums
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers
from obliqua.engine.moments import ClassSums, FixedPoint
from obliqua.engine.passes import NodeJudge, Search

__all__ = ["MOST_FITS", "planned_slopes"]

MOST_FITS = 5  # outputs that have a direction of their own
TENTHS = (1, 3, 5, 7, 9)
UPPER_BITS = 13  # numbers have 26 bits: the upper half is looked at first
CELLS = (1 << UPPER_BITS) + 1  # the largest number of all is 2^26


def _numbers(problem: Problem, rows: Int32Array) -> Int64Array:
    """Return what some rows are to learn, on its grid."""
    assert isinstance(problem.target, Numbers)
    return problem.target.grid[rows].astype(np.int64)


def _weights(problem: Problem, rows: Int32Array) -> Int64Array:
    return np.ones(len(rows), np.int64) if problem.weights is None else problem.weights[rows]


class _Added:
    """A question whose answers are arrays of whole numbers."""

    def joined(self, answers: Sequence[Any]) -> Any:
        """Add up."""
        return np.sum(answers, axis=0)


class NumberSpreads(_Added):
    """Weight, sum and sum of squares of each output, by its upper bits."""

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        upper = _numbers(problem, rows) >> UPPER_BITS
        weight = _weights(problem, rows)[:, None]
        powers = [np.broadcast_to(weight, upper.shape), weight * upper, weight * upper * upper]
        return np.array([power.sum(axis=0) for power in powers])


@dataclass(frozen=True)
class NumberHistogram(_Added):
    """Weight by the upper bits of an output; in some cells of these, by the lower bits."""

    output: int
    cells: tuple[int, ...] | None = None

    def of(self, problem: Problem, rows: Int32Array) -> Int64Array:
        """Return what some rows answer."""
        number, weight = _numbers(problem, rows)[:, self.output], _weights(problem, rows)
        upper = number >> UPPER_BITS
        if self.cells is None:
            return _weight_by(upper, weight)
        lower = number & ((1 << UPPER_BITS) - 1)
        inside = [upper == cell for cell in self.cells]
        return np.array([_weight_by(lower[some], weight[some]) for some in inside])


def _weight_by(cell: Int64Array, weight: Int64Array) -> Int64Array:
    """Add weights up cell by cell; doubles hold whole numbers of 36 bits."""
    return np.bincount(cell, weight, CELLS).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SliceSums:
    """Of the rows between quantiles of an output: weight, and sums as `ScatterSums` has them.

    Then what `output_sums` says of some outputs.
    """

    grid: FixedPoint
    output: int
    quantiles: Int64Array
    outputs: tuple[int, ...]

    def of(self, problem: Problem, rows: Int32Array) -> list[AnyArray]:
        """Return what some rows answer."""
        assert isinstance(problem.target, Numbers)
        learnt, grid = problem.target.grid[:, self.output], self.grid
        # A row is in a slice by how many quantiles its number is above.
        slices = np.searchsorted(self.quantiles, learnt).astype(np.int32)
        n = len(self.quantiles) + 1
        weight = np.bincount(slices[rows], _weights(problem, rows), n).astype(np.int64)
        on_grid = grid.shift, grid.exponent
        places = (problem.Z, rows, slices, problem.weights, *on_grid, n, grid.weight_shift)
        answer = [weight, *scatter(*places)]
        for output in self.outputs:
            target = problem.target_rows
            answer += output_sums(problem.Z, rows, target, output, *on_grid, grid.weight_shift)
        return answer

    def joined(self, answers: Sequence[list[AnyArray]]) -> list[AnyArray]:
        """Add up."""
        return [np.sum(some, axis=0) for some in zip(*answers, strict=True)]


@dataclass(frozen=True, eq=False)
class BendSums(_Added):
    """Products of two features, times what least squares leave over: whole numbers."""

    grid: FixedPoint
    plan: Any  # of `SlopeFinder.load_outputs`

    def of(self, problem: Problem, rows: Int32Array) -> FloatArray:
        """Return what some rows answer."""
        target, grid = problem.target_rows, self.grid
        on_grid = grid.shift, grid.exponent, grid.weight_shift
        return bend_sums(problem.Z, rows, target, self.plan, *on_grid)


def planned_slopes(
    finder: Any, judge: NodeJudge, ranges: tuple[FloatArray, FloatArray], grid: FixedPoint
) -> Search[tuple[int, ClassSums]]:
    """Ask for what slopes need, and let a finder plan; returns tasks, and sums of all rows."""
    n_outputs = len(judge.counts) - 3
    widest = 0
    if n_outputs > 1:
        (spreads,) = yield [NumberSpreads()]
        widest = _widest(spreads)
    quantiles = yield from _quantiles(widest)
    fitted = [*range(min(n_outputs, MOST_FITS))]
    fitted += [widest] if n_outputs > 1 else []
    (sums,) = yield [SliceSums(grid, widest, quantiles, tuple(fitted))]
    weight, *scattered = sums[:5]
    products = sums[5:]
    finder.load_sums(weight, ranges, tuple(scattered))
    outputs = [tuple(products[k : k + 3]) for k in range(0, len(products), 3)]
    plan = finder.load_outputs(judge.counts, outputs, widest)
    if plan is not None:
        (bend,) = yield [BendSums(grid, plan)]
        finder.load_bends(np.ascontiguousarray(bend))
    weights, first, high, low = scattered
    return int(finder.n_planned), ClassSums(weights, first, high, low, grid)


def _widest(spreads: Int64Array) -> int:
    """Return the output that varies most; of equals the first."""
    output, largest = 0, -1.0
    for k, (weight, first, second) in enumerate(spreads.T.tolist()):
        found = float(second) - float(first) * (float(first) / float(weight))
        if found > largest:
            output, largest = k, found
    return output


def _quantiles(output: int) -> Search[Int64Array]:
    """Find the numbers of an output at which so many tenths of the weight are reached."""
    (upper,) = yield [NumberHistogram(output)]
    so_far = np.cumsum(upper)
    enough = np.array(TENTHS) * so_far[-1]
    cells = np.searchsorted(10 * so_far, enough)
    different = tuple(np.unique(cells).tolist())
    (lower,) = yield [NumberHistogram(output, different)]
    quantiles = []
    for cell, least in zip(cells.tolist(), enough, strict=True):
        weight = lower[different.index(cell)]
        reached = 10 * (so_far[cell] - upper[cell] + np.cumsum(weight))
        quantiles.append((cell << UPPER_BITS) + int(np.searchsorted(reached, least)))
    return np.array(quantiles)
