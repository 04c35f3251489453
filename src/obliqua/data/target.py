"""Target: what is learnt. What a row adds to the sums of a node, and what sums mean.

Growth knows rows and sums of rows; it does not know what they are about. A target says that:

- for the rows of a fit, what compiled code adds up (`TargetRows`), in integers, so that sums
  depend neither on the order of the rows nor on who adds them up;
- what sums of a grown tree's nodes are: its ``stats``;
- for any `Tree`, what its stats mean: the weight of a node, what it costs to make it a leaf.

A target of a new kind is a class here, what a row adds in ``_core/base/target.pxd``, and a
criterion in ``criteria.py`` and ``_core/search/criterion.pyx``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.base.exact import exact_means
from obliqua._core.base.target import TargetRows, squared_errors
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua.criteria import CRITERIA, NUMBER_CRITERIA, Criterion
from obliqua.data.costs import Costs, classes_said, cost_of
from obliqua.data.sparse_rows import leaves_of
from obliqua.data.weights import MAX_TOTAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from obliqua.tree.tree import Tree

T = TypeVar("T", bound="Tree")

__all__ = ["LOSSES", "TASKS", "Classes", "Numbers", "Target", "places"]

#: Numbers to learn stand on a grid of so many bits.
GRID_BITS = 26
# Beyond this, and below its inverse, squares leave the range of float64.
_FAR = 1e120


class Target(ABC):
    """What is learnt from the rows of a fit."""

    #: The word for it in trees, models and files.
    task: ClassVar[str]
    #: The largest weight of all rows, in grid units, with which sums fit in 64 bits.
    most_weight: ClassVar[int] = MAX_TOTAL
    #: Errors that differ by no more than this share of the root's are equal.
    rounding: ClassVar[float] = 0.0
    #: The built-in criteria that fit it.
    criteria: ClassVar[dict[str, Criterion]]
    #: What the errors of trees are, see `Tree`.
    loss: ClassVar[str] = "squared_error"
    #: What mistakes about classes cost, see `Tree`.
    costs: Costs = ()

    # --- rows ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """The number of rows."""

    @abstractmethod
    def compiled(self, weights: Int64Array | None) -> TargetRows:
        """Return what compiled code adds up, with weights in grid units."""

    @property
    def measure(self) -> tuple[Any, ...]:
        """What sums of rows in several places must have in common to be added."""
        return (self.task,)

    @abstractmethod
    def take(self, rows: AnyArray) -> Self:
        """Return some of the rows."""

    @classmethod
    @abstractmethod
    def stack(cls, parts: Sequence[Any]) -> Self:
        """Return the rows of several, which `take` has made of one."""

    @abstractmethod
    def labels(self) -> Int64Array:
        """Return a number for each row: the same for rows that have the same to learn."""

    @abstractmethod
    def stats(self, sums: Int64Array, unit: float) -> FloatArray:
        """Return what a tree keeps of sums, one node a row; `unit`: weight of a grid unit."""

    @property
    def gain_unit(self) -> float:
        """What a gain of 1 in compiled code is worth."""
        return 1.0

    def check_criterion(self, criterion: Criterion) -> None:
        """Refuse a built-in criterion that measures something else."""
        if criterion.code >= 0 and criterion.name not in self.criteria:
            raise ValueError(
                f"The criterion {criterion.name!r} is not for {self.task}. Use one of "
                f"{', '.join(self.criteria)}."
            )

    @abstractmethod
    def node_fields(self, rows: AnyArray, sums: Int64Array, unit: float) -> dict[str, Any]:
        """Return what a proposer sees of a node: functions that make it."""

    @abstractmethod
    def errors(self, sums: Int64Array, stats: FloatArray) -> FloatArray:
        """Return what rows with these sums cost at leaves with these stats, in grid units."""

    def with_exact_means(self, tree: T, Z: Rows, weights: Int64Array | None) -> T:
        """Return a grown tree with what only the rows themselves can say."""
        return tree

    # --- trees -----------------------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def weight(stats: FloatArray) -> FloatArray:
        """Return the weight of the training rows at each node."""

    @staticmethod
    @abstractmethod
    def risk(stats: FloatArray) -> FloatArray:
        """Return what each node costs as a leaf: weight in error, or squared error."""

    @classmethod
    def scaled_risk(cls, stats: FloatArray, costs: Costs = ()) -> tuple[FloatArray, float]:
        """Return the risks and the weight of the root; both may be scaled alike."""
        return cls.risk(stats), float(cls.weight(stats[:1])[0]) or 1.0

    @staticmethod
    @abstractmethod
    def joined(children: Iterable[ArrayLike]) -> FloatArray:
        """Return the stats of a node from those of its children."""


@dataclass(frozen=True, eq=False)
class Classes(Target):
    """A class for each row. Sums, and stats, are the weights of the classes.

    Parameters
    ----------
    codes : ndarray of int32, of shape (n_rows,)
        Class codes 0, 1, ..., n_classes - 1.
    n_classes : int
        The number of classes.
    costs : tuple of tuples of float, default=()
        What mistakes cost, see `Tree`; without any, 1 each.
    """

    task = "classification"
    criteria = CRITERIA

    codes: Int32Array
    n_classes: int
    costs: Costs = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.codes)

    def compiled(self, weights: Int64Array | None) -> TargetRows:
        """Return what compiled code adds up, with weights in grid units."""
        rows = np.ascontiguousarray(self.codes, dtype=np.int32)[:, None]
        return TargetRows(rows, weights, self.n_classes, numbers=False)

    def take(self, rows: AnyArray) -> Classes:
        """Return some of the rows."""
        return replace(self, codes=self.codes[rows])

    @classmethod
    def stack(cls, parts: Sequence[Classes]) -> Classes:
        """Return the rows of several, which `take` has made of one."""
        return replace(parts[0], codes=np.concatenate([part.codes for part in parts]))

    def labels(self) -> Int64Array:
        """Number the classes that are there; one whose rows all have weight 0 is none."""
        return np.unique(self.codes, return_inverse=True)[1].astype(np.int64)

    def stats(self, sums: Int64Array, unit: float) -> FloatArray:
        """Return the weights of the classes."""
        return np.asarray(sums * unit, dtype=np.float64)

    def node_fields(self, rows: AnyArray, sums: Int64Array, unit: float) -> dict[str, Any]:
        """Return what a proposer sees of a node: functions that make it."""
        return {
            "y": lambda: self.codes[rows],
            "counts": lambda: np.asarray(sums * unit, dtype=np.float64),
            "n_classes": lambda: self.n_classes,
        }

    def errors(self, sums: Int64Array, stats: FloatArray) -> FloatArray:
        """Return the weight of the rows that are not of the leaf's class, or what they cost."""
        return cost_of(sums, classes_said(stats, self.costs), self.costs)

    @staticmethod
    def weight(stats: FloatArray) -> FloatArray:
        """Return the weight of the training rows at each node."""
        return np.asarray(stats.sum(axis=1))

    @classmethod
    def scaled_risk(cls, stats: FloatArray, costs: Costs = ()) -> tuple[FloatArray, float]:
        """Return the risks and the weight of the root, scaled by a power of two.

        That is exact, keeps sums of huge weights finite and quotients of tiny ones from vanishing.
        """
        stats = np.ldexp(stats, -int(np.frexp(stats.max())[1]))
        weight = float(cls.weight(stats[:1])[0]) or 1.0
        return cost_of(stats, classes_said(stats, costs), costs), weight

    @staticmethod
    def risk(stats: FloatArray) -> FloatArray:
        """Return the weight outside the largest class."""
        return np.asarray(stats.sum(axis=1) - stats.max(axis=1))

    @staticmethod
    def joined(children: Iterable[ArrayLike]) -> FloatArray:
        """Return the sums of the children's weights."""
        return np.asarray(sum(np.asarray(child, dtype=np.float64) for child in children))


@dataclass(frozen=True, eq=False)
class Numbers(Target):
    """One or more numbers for each row. Made by `Numbers.of`.

    Splits are compared by numbers on a grid: whole multiples of a power of two above the least,
    from 0 to 2^26. So sums of numbers and of their squares are exact integers. Where all numbers
    are multiples of a power of two that is no smaller, nothing is rounded.

    The stats of a node are its weight, the mean of each output, and the sum of squared distances
    from the means. Means are those of the numbers as they were given, not of the grid.

    Parameters
    ----------
    values : ndarray of float64, of shape (n_rows, n_outputs)
        The numbers.
    grid : ndarray of int32, of shape (n_rows, n_outputs)
        The same on the grid.
    low : ndarray of float64, of shape (n_outputs,)
        The place of 0 on the grid.
    step : float
        One step of the grid: a power of two.
    """

    task = "regression"
    criteria = NUMBER_CRITERIA
    most_weight = 2**36
    rounding = 2.0**-40

    values: FloatArray
    grid: Int32Array
    low: FloatArray
    step: float

    @classmethod
    def of(cls, values: FloatArray, present: BoolArray) -> Numbers:
        """Put finite numbers, a column for each output, on a grid; `present`: which rows count."""
        low, high = values[present].min(axis=0), values[present].max(axis=0)
        values = np.ascontiguousarray(np.clip(values, low, high), dtype=np.float64)
        if max(np.abs(low).max(), np.abs(high).max()) > _FAR:
            largest = float(values.flat[int(np.abs(values).argmax())])
            raise ValueError(
                f"y has a value of {largest:.6g}; squares of numbers beyond {_FAR:g} are infinite "
                "in float64. Divide y by a large constant, and multiply predictions by it."
            )
        reach = float((high - low).max())
        if 0.0 < reach < 1.0 / _FAR:
            raise ValueError(
                f"The values of y differ by {reach:.6g} at most; squares of differences below "
                f"{1.0 / _FAR:g} are 0 in float64. Multiply y by a large constant, and divide "
                "predictions by it."
            )
        return cls.on_grid(values, low, reach)

    @classmethod
    def on_grid(cls, values: FloatArray, low: FloatArray, reach: float) -> Self:
        """Put numbers that lie from `low` to `reach` above it on a grid."""
        # The squares of all outputs together need as many bits as that of one.
        bits = GRID_BITS - ((values.shape[1] - 1).bit_length() + 1) // 2
        fraction, exponent = np.frexp(reach)
        step = 1.0
        if reach > 0.0:
            step = float(np.ldexp(1.0, int(exponent) - bits - (fraction == 0.5)))
        return cls(values, places(values, low, step), low, step)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.values)

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return int(self.values.shape[1])

    @property
    def reach(self) -> float:
        """How far the numbers of an output lie apart, at most."""
        return float(self.grid.max(initial=0)) * self.step

    def compiled(self, weights: Int64Array | None) -> TargetRows:
        """Return what compiled code adds up, with weights in grid units."""
        return TargetRows(self.grid, weights, self.n_outputs + 3, numbers=True)

    def take(self, rows: AnyArray) -> Numbers:
        """Return some of the rows, on the same grid."""
        return replace(self, values=self.values[rows], grid=np.ascontiguousarray(self.grid[rows]))

    def with_values(self, values: FloatArray) -> Numbers:
        """Return other rows on the same grid, within its range."""
        return replace(self, values=values, grid=places(values, self.low, self.step))

    @classmethod
    def stack(cls, parts: Sequence[Numbers]) -> Numbers:
        """Return the rows of several, which `take` has made of one."""
        values, grid = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "grid")
        )
        return replace(parts[0], values=values, grid=grid)

    @property
    def measure(self) -> tuple[Any, ...]:
        """What sums of rows in several places must have in common to be added."""
        return self.task, self.step, *self.low.tolist()

    def labels(self) -> Int64Array:
        """Return the places of the numbers in their order, which no change of units changes."""
        values = self.values if self.n_outputs > 1 else self.values[:, 0]
        return np.unique(values, axis=0, return_inverse=True)[1].astype(np.int64).ravel()

    def stats(self, sums: Int64Array, unit: float) -> FloatArray:
        """Return weight, means of the grid, and squared error; see also `with_exact_means`."""
        weight = sums[:, :1].astype(np.float64)
        means = self.low + self.step * (sums[:, 1:-2] / np.maximum(weight, 1.0))
        error = squared_errors(sums) * (self.step * self.step)
        return np.hstack([weight * unit, means, (error * unit)[:, None]])

    @property
    def gain_unit(self) -> float:
        """What a gain of 1 in compiled code is worth: a step of the grid, squared.

        Compiled code adds the outputs up; a gain, as in scikit-learn, is their mean.
        """
        return self.step * self.step / self.n_outputs

    def node_fields(self, rows: AnyArray, sums: Int64Array, unit: float) -> dict[str, Any]:
        """Return what a proposer sees of a node: functions that make it."""
        one = self.n_outputs == 1
        return {"y": lambda: self.values[rows, 0] if one else self.values[rows]}

    def row_errors(self, said: FloatArray) -> FloatArray:
        """Return the error of each row where a leaf says numbers of it, outputs added up."""
        off = self.values - said
        return np.asarray((off * off).sum(axis=1))

    def errors(self, sums: Int64Array, stats: FloatArray) -> FloatArray:
        """Return squared distances from the leaf's means, times the weight in grid units."""
        weight = sums[:, 0].astype(np.float64)
        per = np.maximum(weight, 1.0)[:, None]
        off = self.low + self.step * (sums[:, 1:-2] / per) - stats[:, 1:-1]
        within = squared_errors(sums) * (self.step * self.step)
        return np.asarray(within + weight * (off * off).sum(axis=1))

    def with_exact_means(self, tree: T, Z: Rows, weights: Int64Array | None) -> T:
        """Replace the means of the grid by those of the numbers themselves."""
        # A large tree takes as much memory as the rows: one copy of something at a time.
        leaf = leaves_of(tree, Z)
        means = exact_means(self.values, weights, leaf, tree.first_child, tree.n_children)
        del leaf
        stats = tree.stats.copy()
        stats[:, 1:-1] = means
        return replace(tree, stats=stats)

    @staticmethod
    def weight(stats: FloatArray) -> FloatArray:
        """Return the weight of the training rows at each node."""
        return np.asarray(stats[:, 0])

    @staticmethod
    def risk(stats: FloatArray) -> FloatArray:
        """Return the sum of squared distances (of medians: distances), the mean over outputs."""
        return np.asarray(stats[:, -1] / (stats.shape[1] - 2))

    @staticmethod
    def joined(children: Iterable[ArrayLike]) -> FloatArray:
        """Return weight, means and squared error of all children together."""
        parts = np.array(list(children), dtype=np.float64)
        weight = parts[:, 0].sum()
        share = parts[:, :1] / weight if weight > 0 else np.full((len(parts), 1), 1 / len(parts))
        means = (share * parts[:, 1:-1]).sum(axis=0)
        between = (parts[:, :1] * (parts[:, 1:-1] - means) ** 2).sum()
        return np.concatenate([[weight], means, [parts[:, -1].sum() + between]])


def places(values: FloatArray, low: FloatArray, step: float) -> Int32Array:
    """Return the places of numbers on a grid."""
    return np.ascontiguousarray(np.rint((values - low) / step).astype(np.int32))


#: The kinds of targets by the word that trees and files have for them.
TASKS: dict[str, type[Target]] = {kind.task: kind for kind in (Classes, Numbers)}
#: What the errors of a tree of numbers may be.
LOSSES = ("squared_error", "absolute_error")
