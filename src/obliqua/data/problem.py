"""What the engine sees of the data: `Problem` and `Encoding`, and the checks on the way there.

This room is the only place, beside the estimators' base, that looks at raw columns, labels and
weights. Everything behind it trusts a `Problem` and checks nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from obliqua._core.base.target import TargetRows
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua.criteria import Criterion
from obliqua.data.encoding import QUALITATIVE, Encoding
from obliqua.data.number_targets import measured_by
from obliqua.data.sparse_rows import SparseRows, means_of
from obliqua.data.table import (
    Table,
    missing_columns,
    plain_table,
)
from obliqua.data.target import Classes, Numbers, Target
from obliqua.data.weights import checked_weights, counted_as_rows, put_on_grid

__all__ = ["FILLS", "Problem", "encode", "encode_numbers"]

#: What may become of missing numbers, see `encode`.
FILLS = ("side", "node", "training")
AS_TABLE = " A table that read_table makes of X may have missing values."


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, what is learnt from them, and weights: ready to grow a tree from. Trusted.

    `encode` makes it for classes, `encode_numbers` for numbers.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        The rows, float32 or float64, with any strides. A numeric column holds numbers, a
        qualitative one codes of levels 0, 1, ...; both NaN where a value is missing. Or
        `SparseRows` in its place, which axis-parallel trees and forests take.
    target : Target
        What is learnt: a class for each row, or numbers.
    weights : ndarray of int64, of shape (n_rows,), or None
        Weights in grid units, all positive; None if every row weighs one unit.
    unit : float
        What one grid unit weighs in original units: a power of two.
    encoding : Encoding
        What the columns are.
    n_levels : ndarray of int32, of shape (n_features,), default=None
        The number of levels of each qualitative column; 0 for a numeric one, and for one that
        is missing in all rows. All 0 if it is left out.
    has_missing : ndarray of bool, of shape (n_features,), default=None
        In which columns some row of the fit is missing; in none if it is left out.
    fills : ndarray of float64, of shape (n_features,), or None, default=None
        What stands in for a missing number at every node; NaN for a qualitative column. None
        leaves it to the node.
    sides : bool, default=False
        Whether rows with missing numbers are tried on both sides of a split.
    level_squares : bool, default=False
        Whether the numbers that levels get at a node have squares that add up to 1 over its rows,
        as published by Loh and Shih, instead of a variance of 1.
    row_counts : ndarray of int64, of shape (n_rows,), or None, default=None
        As how many rows each row counts, if its weight, but for that of its class, is a number
        of rows. None if weights are no such numbers, or there are none.
    row_weights : ndarray of float64, of shape (n_rows,), or None, default=None
        As how many rows each row counts in tests of significance: its weight without that of its
        class, or, if such weights are not all whole numbers, the same with a mean of 1. None:
        what it weighs.
    row_unit : float, default=0.0
        As how many rows a grid unit counts where rows are counted, as in limits and estimates of
        errors: what it weighs, if the weights of rows are whole numbers; otherwise these count
        as if their mean were 1. 0 stands for `unit`.
    """

    Z: Rows
    target: Target
    weights: Int64Array | None
    unit: float
    encoding: Encoding
    n_levels: Int32Array = None  # type: ignore[assignment]
    has_missing: BoolArray = None  # type: ignore[assignment]
    fills: FloatArray | None = None
    row_counts: Int64Array | None = None
    row_weights: FloatArray | None = None
    row_unit: float = 0.0
    sides: bool = False
    level_squares: bool = False

    def __post_init__(self) -> None:
        if self.n_levels is None:
            object.__setattr__(self, "n_levels", np.zeros(self.n_features, dtype=np.int32))
        if self.has_missing is None:
            object.__setattr__(self, "has_missing", np.zeros(self.n_features, dtype=bool))
        if self.row_unit == 0.0:
            object.__setattr__(self, "row_unit", self.unit)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.target.n_rows

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse ones."""
        return isinstance(self.Z, SparseRows)

    @property
    def n_counted(self) -> int:
        """The number of rows, one of weight 2 counted as two if weights are such numbers."""
        return self.n_rows if self.row_counts is None else int(self.row_counts.sum())

    @property
    def classes(self) -> Classes:
        """The classes of the rows, for methods that know of nothing else."""
        if not isinstance(self.target, Classes):
            raise TypeError(
                f"This method learns classes; got a target for {self.target.task}. Take one "
                "that learns numbers, such as CartRegressor or, as a proposer, "
                "obliqua.methods.slopes.Slopes()."
            )
        return self.target

    @property
    def y(self) -> Int32Array:
        """Class codes 0, 1, ..., n_classes - 1."""
        return self.classes.codes

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.classes.n_classes

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.Z.shape[1])

    @property
    def stand_ins(self) -> FloatArray:
        """What stands in for a missing number where a node has nothing to say of it."""
        return self.means if self.fills is None else self.fills

    @cached_property
    def target_rows(self) -> TargetRows:
        """The target as compiled code adds it up."""
        return self.target.compiled(self.weights)

    @cached_property
    def counts(self) -> Int64Array:
        """The sums of all rows in grid units: of classes, the weight of each."""
        return self.target_rows.sums()

    def stats(self, sums: Int64Array) -> FloatArray:
        """Return what a tree keeps of sums.

        Parameters
        ----------
        sums : ndarray of int64, of shape (n_nodes, n_sums)
            The sums of some nodes, in grid units.

        Returns
        -------
        ndarray of float64, of shape (n_nodes, n_stats)
            Their stats, see `Tree`.
        """
        return self.target.stats(sums, self.unit)

    @cached_property
    def coded(self) -> BoolArray:
        """Which columns are qualitative or have missing values; the others are plain."""
        return np.asarray((self.n_levels > 0) | self.has_missing)

    @cached_property
    def sortable(self) -> BoolArray:
        """Which columns can be sorted once for all nodes: numbers that need no stand-in."""
        return np.asarray((self.n_levels == 0) & (~self.has_missing | self.sides))

    @cached_property
    def total_weight(self) -> int:
        """The weight of all rows in grid units."""
        return self.n_rows if self.weights is None else int(self.weights.sum())

    @cached_property
    def means(self) -> FloatArray:
        """The mean of the values in each column, the same in any order of the rows; 0 if none."""
        weights = None if self.weights is None else self.weights.astype(np.float64)
        return means_of(self.Z, weights)

    def take(self, rows: BoolArray | Int32Array | Int64Array) -> Problem:
        """Return the problem of some of the rows.

        Parameters
        ----------
        rows : ndarray
            A mask, or the numbers of the rows.

        Returns
        -------
        Problem
            The same with these rows only.
        """
        return replace(
            self,
            Z=self.Z[rows],
            target=self.target.take(rows),
            weights=None if self.weights is None else self.weights[rows],
            row_counts=None if self.row_counts is None else self.row_counts[rows],
            row_weights=None if self.row_weights is None else self.row_weights[rows],
        )

    def only_columns(self, columns: Int64Array) -> Problem:
        """Return the problem of some of the columns, which are numbered anew.

        Parameters
        ----------
        columns : ndarray
            The numbers of the columns.

        Returns
        -------
        Problem
            The same rows. `Tree.over_columns` makes trees of it trees of this problem.
        """
        return replace(
            self,
            Z=self.Z[:, columns],
            encoding=Encoding(tuple(self.encoding.columns[k] for k in columns.tolist())),
            n_levels=self.n_levels[columns],
            has_missing=self.has_missing[columns],
            fills=None if self.fills is None else self.fills[columns],
        )

    def measured_by(self, criterion: Criterion) -> Problem:
        """Return the problem as a criterion sees it; refuse one that does not fit.

        Parameters
        ----------
        criterion : Criterion
            The criterion that splits are chosen by.

        Returns
        -------
        Problem
            The same rows, whose numbers stand on the grid that the criterion needs and whose
            trees say what it asks for: means, or medians. Mostly the problem itself.
        """
        target = measured_by(self.target, criterion)
        return self if target is self.target else replace(self, target=target)

    @classmethod
    def stack(cls, parts: Sequence[Problem]) -> Problem:
        """Return the problem of the rows of several, parts of one problem.

        Parameters
        ----------
        parts : sequence of Problem
            Problems that `take` has made of one, whose rows go one after another.

        Returns
        -------
        Problem
            The same with the rows of all.
        """

        def every(name: str) -> Any:
            columns = [getattr(part, name) for part in parts]
            return None if columns[0] is None else np.concatenate(columns)

        return replace(
            parts[0],
            Z=every("Z"),
            target=parts[0].target.stack([part.target for part in parts]),
            weights=every("weights"),
            row_counts=every("row_counts"),
            row_weights=every("row_weights"),
        )


def encode(
    X: Any,
    y: ArrayLike,
    n_classes: int,
    sample_weight: ArrayLike | None = None,
    class_weight: ArrayLike | None = None,
    names: Sequence[Any] | AnyArray | None = None,
    fill: str = "side",
) -> Problem:
    """Check rows, class codes and weights, and make a `Problem` of them.

    Weights become whole multiples of a power of two, so that sums of weights are exact in any
    order. Weights that are already multiples of a common power of two (whole numbers, halves,
    ...) are kept exactly, as long as their sum is at most ``2**52`` units. Otherwise they are
    rounded to 44, 36 or 30 significant bits, if that makes them fit, which keeps a weight of
    0.2 two rows of 0.1. Failing that, the unit is the smallest power of two with which the
    sum stays within the bound, and weights are rounded to it; a positive weight never becomes
    0 but weighs at least one unit. (Beside a weight of 1e300, one of 1e-300 counts about
    1e284, which is still nothing.)

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features), or Table
        The rows: finite numbers, or what `read_table` made of other ones. float32 and float64
        arrays are used as they are; they are copied only if there are rows of weight 0.
    y : array-like of int, of shape (n_rows,)
        Class codes 0, 1, ..., n_classes - 1.
    n_classes : int
        The number of classes.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows. Rows of weight 0 are dropped, and with them the levels that no
        other row has.
    class_weight : array-like of shape (n_classes,), default=None
        Weights of the classes, by which those of the rows are multiplied. They are rounded
        to 24 significant bits.
    names : sequence of str, default=None
        The columns' names. A `Table` has its own.
    fill : {"side", "node", "training"}, default="side"
        What becomes of a missing number: its row is tried on both sides of a split (and where
        that does not help, the node's mean stands in for it), or the mean of the node stands in,
        or that of the column over all rows.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ValueError
        If the data cannot be grown from; the message says why.
    """
    if not isinstance(X, Table):
        X = plain_table(X, names, False, AS_TABLE)
    codes = _checked_codes(y, len(X.Z), n_classes)
    by_class = None
    if class_weight is not None:
        by_class = checked_weights(class_weight, n_classes, "class_weight", "class")[codes]
    return _problem(X, Classes(codes, n_classes), sample_weight, by_class, fill)


def encode_numbers(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    names: Sequence[Any] | AnyArray | None = None,
    fill: str = "side",
) -> Problem:
    """Check rows, numbers to learn and weights, and make a `Problem` of them.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features), or Table
        The rows, as for `encode`.
    y : array-like of shape (n_rows,) or (n_rows, n_outputs)
        Finite numbers.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, as for `encode`; their sum is at most ``2**36`` units.
    names : sequence of str, default=None
        The columns' names. A `Table` has its own.
    fill : {"side", "node", "training"}, default="side"
        What becomes of a missing number: its row is tried on both sides of a split (and where
        that does not help, the node's mean stands in for it), or the mean of the node stands in,
        or that of the column over all rows.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ValueError
        If the data cannot be grown from; the message says why.
    """
    if not isinstance(X, Table):
        X = plain_table(X, names, False, AS_TABLE)
    n_rows = len(X.Z)
    present = np.ones(n_rows, dtype=bool)
    if sample_weight is not None:
        present = checked_weights(sample_weight, n_rows, "sample_weight", "row") > 0
        present = present if present.any() else ~present  # what is refused is told below
    target = Numbers.of(checked_numbers(y, n_rows), present)
    problem = _problem(X, target, sample_weight, None, fill)
    check_weighted_squares(problem.total_weight, problem.unit, target.reach)
    return problem


def check_weighted_squares(total_weight: int, unit: float, reach: float) -> None:
    """Refuse weights, in grid units, and numbers that are too large or small together."""
    with np.errstate(over="ignore"):
        largest = np.float64(total_weight) * unit * (reach * reach)
    if reach > 0 and not 1e-290 < largest < 1e300:
        size = "small" if largest < 1.0 else "large"
        raise ValueError(
            f"Weights times squares of y are too {size} for float64: {largest:.3g} in all. "
            "Multiply all weights by a constant; that does not change the tree."
        )


def _problem(
    table: Table,
    target: Target,
    sample_weight: ArrayLike | None,
    by_class: FloatArray | None,
    fill: str,
) -> Problem:
    """Make a problem of what was checked; `by_class`: for each row, the weight of its class."""
    if fill not in FILLS:
        raise ValueError(f"fill must be one of {', '.join(map(repr, FILLS))}; got {fill!r}.")
    problem = Problem(table.Z, target, None, 1.0, table.encoding)
    has_missing = table.has_missing
    if sample_weight is not None or by_class is not None:
        kept, weights, unit = put_on_grid(
            target.n_rows, sample_weight, by_class, target.most_weight
        )
        counts, as_rows, row_unit = counted_as_rows(sample_weight, kept, weights, unit)
        problem = replace(
            problem,
            weights=weights,
            unit=unit,
            row_counts=counts,
            row_weights=as_rows,
            row_unit=row_unit,
        )
        if not kept.all():
            Z, encoding = _with_levels_in_use(table.Z[kept], table.encoding)
            problem = replace(problem, Z=Z, target=target.take(kept), encoding=encoding)
            has_missing = missing_columns(Z) if has_missing.any() else has_missing
    return _with_coded_columns(problem, has_missing, fill)


def _with_levels_in_use(Z: Rows, encoding: Encoding) -> tuple[Rows, Encoding]:
    """Leave out levels that no row has. The codes in Z, which is a copy, are changed."""
    columns = list(encoding.columns)
    for place, column in enumerate(columns):
        if column.kind == QUALITATIVE:
            present = ~np.isnan(Z[:, place])
            used, new = np.unique(Z[present, place].astype(np.int64), return_inverse=True)
            Z[present, place] = new
            levels = tuple(column.levels[code] for code in used.tolist())
            columns[place] = replace(column, levels=levels)
    return Z, Encoding(tuple(columns))


def only_numeric(means: FloatArray, encoding: Encoding) -> FloatArray:
    """Return the means of numeric columns; NaN for qualitative ones."""
    numeric = np.array([column.kind != QUALITATIVE for column in encoding.columns])
    return np.where(numeric, means, np.nan)


def _with_coded_columns(problem: Problem, has_missing: BoolArray, fill: str) -> Problem:
    """Note which columns are qualitative and which have missing values."""
    columns = problem.encoding.columns
    means = problem.means if fill == "training" and has_missing.any() else None
    fills = None if means is None else only_numeric(means, problem.encoding)
    n_levels = np.array([len(column.levels) for column in columns], dtype=np.int32)
    return replace(
        problem,
        n_levels=n_levels,
        has_missing=has_missing,
        fills=fills,
        sides=fill == "side" and bool(has_missing.any()),
    )


def _checked_codes(y: ArrayLike, n_rows: int, n_classes: int) -> Int32Array:
    codes: AnyArray = np.asarray(y)
    if codes.ndim != 1 or len(codes) != n_rows:
        raise ValueError(
            f"y must hold one class code per row of X; got shape {codes.shape} for {n_rows} rows."
        )
    if codes.dtype.kind not in "iub":
        raise ValueError(
            f"y must hold integer class codes; got dtype {codes.dtype}. Number the classes with "
            "numpy.unique(y, return_inverse=True)."
        )
    low, high = int(codes.min()), int(codes.max())
    if low < 0 or high >= n_classes:
        raise ValueError(
            f"y must hold class codes from 0 to n_classes - 1 = {n_classes - 1}; got codes from "
            f"{low} to {high}."
        )
    return codes.astype(np.int32, copy=False)


def checked_numbers(y: Any, n_rows: int) -> FloatArray:
    """Return numbers to learn, a column for each output; refuse what are none."""
    if sparse.issparse(y):
        raise TypeError(
            f"y must be an array or a list; got a sparse matrix ({type(y).__name__}). Make it "
            "dense with y.toarray()."
        )
    try:
        numbers = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}.") from error
    if numbers.ndim == 1:
        numbers = numbers[:, None]
    if numbers.ndim != 2 or len(numbers) != n_rows or numbers.shape[1] == 0:
        raise ValueError(
            f"y must hold one number per row of X, or as many as there are outputs; got shape "
            f"{np.shape(y)} for {n_rows} rows."
        )
    bad = ~np.isfinite(numbers).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"y must be finite; got {numbers[row].tolist()} in row {row}, counted from 0, and in "
            f"{int(bad.sum())} of {n_rows} rows in all. Leave such rows out."
        )
    return numbers
