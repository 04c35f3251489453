"""`certify`: which rows might get another answer where an exported model runs.

An export that computes as the library does, the same products added in the same order in double
precision, gives the same leaves, always. Where arithmetic differs (another order of sums, float32,
fixed point), rounding moves the value of a split by no more than a bound. A row that is further
than that from every threshold on its path reaches the same leaves: that is a proof, no sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.errors import CastWarning
from obliqua.export.computation import Computation
from obliqua.export.fixed_point import FixedPointPlan
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.subject import goes_aside, read_column

__all__ = ["Arithmetic", "Certificate", "certify"]

_DOUBLE, _SINGLE = 2.0**-53, 2.0**-24


@dataclass(frozen=True)
class Arithmetic:
    """How a format computes the value of a split.

    Parameters
    ----------
    name : str
        What it is called.
    unit : float
        The unit roundoff of its numbers; 0 if it computes as the library does.
    least, most : float
        Below the one numbers lose digits, beyond the other there are none.
    rounds_numbers : bool
        Whether it rounds the numbers of a row, coefficients and thresholds first.
    """

    name: str
    unit: float
    least: float = 0.0
    most: float = np.inf
    rounds_numbers: bool = False

    def bound(self, coef: FloatArray, values: FloatArray, threshold: float) -> FloatArray:
        """Return by how much it and the library may differ at a split, for each row of values.

        Every term is rounded once, and once at most in each addition, in any order; with fused
        multiplications less often. A linear machine subtracts the threshold, which rounds once
        more. The library adds in its order in double precision.
        """
        n_terms = len(coef)
        asks_nothing = not coef.any() and (threshold == 0.0 or abs(threshold) > self.least)
        # One product that is rounded once is the same everywhere.
        one_product = n_terms == 1 and not self.rounds_numbers
        if not self.unit or asks_nothing or one_product:
            return np.zeros(len(values))
        factors, sizes = np.abs(coef), np.abs(values)
        with np.errstate(over="ignore", invalid="ignore"):
            size = (factors * sizes).sum(axis=1)
            n_roundings = n_terms + (3 if self.rounds_numbers else 1)
            own = _gamma(n_roundings, self.unit) + _gamma(n_terms + 1, _DOUBLE)
            off = own * (size + abs(threshold)) * (1.0 + 1e-9)  # `size` is itself rounded
            # What is lost below the least number: of a coefficient, a value or a product.
            off += self.least * (2.0 * n_terms + 2.0 + factors.sum() + sizes.sum(axis=1))
            largest = np.maximum(size, np.maximum(sizes.max(axis=1), factors.max()))
        fits = np.maximum(largest, abs(threshold)) <= self.most
        return np.where(fits & ~np.isnan(off), off, np.inf)


#: The arithmetics of all exports by name.
EXACT = Arithmetic("double precision in the library's order", 0.0)
ANY_ORDER = Arithmetic("double precision in any order", _DOUBLE, 2.0**-1074, 2.0**1020)
# Some processors take numbers below the least normal one for 0.
SINGLE = Arithmetic(
    "single precision in any order", _SINGLE, 2.0**-126, 2.0**124, rounds_numbers=True
)

#: Which arithmetic a format has: by format and by the numbers that it computes with.
ARITHMETICS: dict[tuple[str, str], Arithmetic] = {
    ("c", "double"): EXACT,
    ("c", "float"): SINGLE,
    ("javascript", "double"): EXACT,
    ("json", "double"): EXACT,
    ("sql", "double"): EXACT,
    ("onnx", "double"): ANY_ORDER,
    ("onnx", "float"): SINGLE,
}


@dataclass(frozen=True, eq=False)
class Certificate:
    """What `certify` has found.

    Parameters
    ----------
    format, numbers : str
        The format, and what it computes with.
    n_rows : int
        The number of rows.
    near : ndarray of int64
        The rows that lie so close to a threshold on their path that rounding could send them
        elsewhere, or whose two largest sums are so close that rounding could change the class.
    by_split : dict
        How many rows are close to a threshold, by tree and node.
    bound : dict
        The largest difference that rounding can make at a split for one of these rows, by tree
        and node.
    """

    format: str
    numbers: str
    n_rows: int
    near: Int64Array
    by_split: dict[tuple[int, int], int] = field(repr=False)
    bound: dict[tuple[int, int], float] = field(repr=False)

    @property
    def proven(self) -> bool:
        """Whether all rows have the same leaves and classes there as here."""
        return len(self.near) == 0

    @property
    def largest_bound(self) -> float:
        """The largest difference that rounding can make at any split for these rows."""
        return max(self.bound.values(), default=0.0)

    def __str__(self) -> str:
        if self.largest_bound == 0.0 and self.proven:
            return (
                f"{self.n_rows} rows: {self.format} ({self.numbers}) computes as the library "
                "does, so all leaves are the same."
            )
        said = (
            "none is closer to a threshold, so all leaves are the same"
            if self.proven
            else f"{_counted(len(self.near))} closer to a threshold and might get another answer"
        )
        return (
            f"{self.n_rows} rows: rounding in {self.format} ({self.numbers}) moves the value of a "
            f"split by at most {self.largest_bound:.3g}; {said}."
        )


def certify(
    model: Any, X: Any, format: str, numbers: str = "double", rows: Any = None
) -> Certificate:
    """Count the rows that an exported model might answer differently.

    Parameters
    ----------
    model : estimator, Model or Tree
        What is exported.
    X : array-like of shape (n_rows, n_features)
        The rows.
    format : {"c", "javascript", "json", "sql", "onnx"}
        The format of the export.
    numbers : {"double", "float", "int16"}, default="double"
        What the export computes with: ``"float"`` for C and ONNX, ``"int16"`` for C.
    rows : array-like of shape (n_rows, n_features), default=None
        The rows that `export_c` was given for the ranges of columns, if any. They matter for
        ``"int16"`` only.

    Returns
    -------
    Certificate
        How many rows are too close to a threshold, and which. If there is none, it is proven
        that all rows have the same leaves, and the same class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import obliqua
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = obliqua.HHCartClassifier(random_state=0).fit(X, y)
    >>> print(obliqua.certify(tree, X, "c"))
    150 rows: c (double) computes as the library does, so all leaves are the same.
    """
    computation = Computation.of(model)
    if format in ("onnx", "sql"):
        computation.refuse_machines({"onnx": "ONNX", "sql": "SQL"}[format])
    encoded = np.asarray(computation.rows(X), dtype=np.float64)
    plan = FixedPointPlan.of(computation, rows) if numbers == "int16" else None
    bounds = bound_of(format, numbers, computation, plan)
    return certified(computation, encoded, format, numbers, bounds)


#: By how much the value of a plane may be off: of a tree, its plane, what it multiplies in rows.
Bound = Callable[[Tree, int, FloatArray], FloatArray]


def bound_of(
    format: str, numbers: str, computation: Computation, plan: FixedPointPlan | None = None
) -> tuple[Bound, float]:
    """Return how far a format may be off at a plane, and the unit roundoff of its sums."""
    if (format, numbers) == ("c", "int16"):
        plan = plan or FixedPointPlan.of(computation)
        return lambda tree, plane, values: plan.plane(tree, plane).bound(values), _SINGLE
    try:
        arithmetic = ARITHMETICS[format, numbers]
    except KeyError as error:
        known = ", ".join(f"{one} ({two})" for one, two in [*ARITHMETICS, ("c", "int16")])
        raise ValueError(
            f"There is no format {format!r} with numbers={numbers!r}. Known are {known}."
        ) from error

    def bound(tree: Tree, plane: int, values: FloatArray) -> FloatArray:
        coef = tree.coef[tree.coef_ptr[plane] : tree.coef_ptr[plane + 1]]
        return arithmetic.bound(coef, values, float(tree.threshold[plane]))

    return bound, arithmetic.unit


def certified(
    computation: Computation,
    rows: FloatArray,
    format: str,
    numbers: str,
    bounds: tuple[Bound, float],
) -> Certificate:
    """Look at every split on the path of every row."""
    bound, unit = bounds
    near = np.zeros(len(rows), dtype=bool)
    by_split: dict[tuple[int, int], int] = {}
    largest: dict[tuple[int, int], float] = {}
    for number, part in enumerate(computation.parts()):
        tree = part.tree
        passes = tree.decision_path(rows).tocsc()
        adds = np.isin(tree.kind, (NodeKind.HYPERPLANE, NodeKind.MACHINE))
        for node in np.flatnonzero(adds).tolist():
            at = np.sort(passes.indices[passes.indptr[node] : passes.indptr[node + 1]])
            close, most = _close(tree, node, rows[at], bound)
            near[at[close]] = True
            largest[number, node] = most
            if close.any():
                by_split[number, node] = int(close.sum())
    if unit and not computation.says_numbers and not computation.leaf_chooses:
        near |= _close_sums(computation, rows, unit)
    return Certificate(format, numbers, len(rows), np.flatnonzero(near), by_split, largest)


def _close(tree: Tree, node: int, rows: FloatArray, bound: Bound) -> tuple[BoolArray, float]:
    """Return which rows are within the bound of changing the branch, and the largest bound."""
    first = int(tree.plane_ptr[node])
    if not len(rows):
        return np.zeros(0, dtype=bool), 0.0
    if tree.kind[node] == NodeKind.HYPERPLANE:
        aside = goes_aside(tree, first, rows)
        value, off = _value(tree, first, rows, bound)
        with np.errstate(invalid="ignore"):
            safe = np.abs(value - tree.threshold[first]) > off
        return (off > 0) & ~safe & ~aside, float(off[~aside].max(initial=0.0))
    planes = range(first, first + int(tree.n_children[node]))
    pairs = [_value(tree, plane, rows, bound) for plane in planes]
    value = (
        np.stack([value for value, _ in pairs], axis=1)
        - tree.threshold[planes.start : planes.stop]
    )
    off = np.stack([off for _, off in pairs], axis=1)
    best = value.argmax(axis=1)
    every = np.arange(len(rows))
    gap = value[every, best][:, None] - value
    gap[every, best] = np.inf
    close = (off > 0).any(axis=1) & ~(gap > off + off[every, best][:, None]).all(axis=1)
    return close, float(off.max(initial=0.0))


def _value(
    tree: Tree, plane: int, rows: FloatArray, bound: Bound
) -> tuple[FloatArray, FloatArray]:
    """Return the value of a plane at rows, and by how much it may be off elsewhere."""
    terms = range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    values = np.empty((len(rows), len(terms)))
    total = np.zeros(len(rows))
    with np.errstate(over="ignore", invalid="ignore"):
        for at, k in enumerate(terms):
            values[:, at] = read_column(tree, k, rows)
            total += tree.coef[k] * values[:, at]
    return total, bound(tree, plane, values)


def _close_sums(computation: Computation, rows: FloatArray, unit: float) -> BoolArray:
    """Return the rows whose two largest sums may change places, if sums are rounded."""
    model = computation.model
    if computation.finish == "vote":  # whole numbers
        return np.zeros(len(rows), dtype=bool)
    sums = model._sums(rows, 1)
    size = np.full(len(rows), abs(computation.start))
    for part in computation.parts():
        size += np.abs(part.said).max(axis=1)[part.tree.apply(rows)]
    ordered = np.sort(sums, axis=1)
    off = 2.0 * _gamma(computation.n_trees + 4, unit) * (size + 1.0)
    if sums.shape[1] < 2:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(ordered[:, -1] - ordered[:, -2] <= 2.0 * off)


def warn_if_all_near(n_rows: int, near: Int64Array, numbers: str) -> None:
    """Warn if no row of a self-test is far enough from thresholds to be tested."""
    if numbers != "double" and 0 < n_rows == len(near):
        warnings.warn(
            f"All {n_rows} rows of the self-test lie closer to a threshold than rounding to "
            f"{numbers} reaches, so that many answers may differ. certify counts those of your "
            "rows; numbers='double' is more exact.",
            CastWarning,
            stacklevel=3,
        )


def _counted(n: int) -> str:
    return "1 is" if n == 1 else f"{n} are"


def _gamma(n: int, unit: float) -> float:
    """Return the relative error that so many roundings can make."""
    return n * unit / (1.0 - n * unit)
