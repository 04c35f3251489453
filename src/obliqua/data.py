"""What the engine sees of the data: `Problem` and `Encoding`, and the checks on the way there.

This is the only place, beside the estimators' base, that looks at raw columns, labels and
weights. Everything behind it trusts a `Problem` and checks nothing again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._core.spread import column_means
from obliqua._core.walk import all_finite
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua._weights import put_on_grid

__all__ = ["Column", "Encoding", "Problem", "encode"]

NUMERIC = "numeric"
QUALITATIVE = "qualitative"
MAX_ROWS = 2**31 - 2  # row numbers are 32 bits wide, one of which is a mark

# Words of letters, digits and signs that cannot be mistaken for part of a formula.
_PLAIN_NAME = re.compile(r"[^\W\d][\w.\-/%()\[\]]*(?: [\w(\[][\w.\-/%()\[\]]*)*")
# Words that have a meaning of their own in a rule.
_SYNTAX = frozenset({"and", "if", "in", "is", "not", "or", "then"})


def written_name(name: str) -> str:
    """Write a name so that it cannot be mistaken for part of a formula or break a line.

    Parameters
    ----------
    name : str
        Any string.

    Returns
    -------
    str
        The name itself if it is plain and none of its words means something in a rule (and,
        if, in, is, not, or, then); else in backquotes, with those inside it doubled, and with
        characters that are not printed (newlines, tabs) as escapes.
    """
    if _PLAIN_NAME.fullmatch(name) and _SYNTAX.isdisjoint(name.split(" ")):
        return name
    shown = [c if c.isprintable() else c.encode("unicode_escape").decode() for c in name]
    return f"`{''.join(shown).replace('`', '``')}`"


@dataclass(frozen=True)
class Column:
    """One column of the data.

    Parameters
    ----------
    name : str
        What the column is called.
    kind : {"numeric", "qualitative"}, default="numeric"
        Whether its values are numbers or codes of levels.
    levels : sequence, default=()
        The levels of a qualitative column: code ``k`` stands for ``levels[k]``.
    """

    name: str
    kind: str = NUMERIC
    levels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in (NUMERIC, QUALITATIVE):
            raise ValueError(
                f"The kind of column {self.name!r} must be {NUMERIC!r} or {QUALITATIVE!r}; got "
                f"{self.kind!r}."
            )
        if self.kind == NUMERIC and len(self.levels):
            raise ValueError(
                f"The numeric column {self.name!r} cannot have levels; got {len(self.levels)}. "
                f"Give it kind={QUALITATIVE!r}."
            )
        object.__setattr__(self, "levels", tuple(self.levels))


@dataclass(frozen=True)
class Encoding:
    """How raw columns became the matrix that a tree walks, and how to speak of it.

    Parameters
    ----------
    columns : sequence of Column
        One per column of the matrix. A qualitative column stays one column, of codes.
    """

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))

    @classmethod
    def identity(cls, n: int, names: Iterable[Any] | None = None) -> Encoding:
        """Take `n` numeric columns as they are.

        Parameters
        ----------
        n : int
            The number of columns.
        names : iterable of str, default=None
            Their names; ``x0, x1, ...`` if there are none.

        Returns
        -------
        Encoding
            The encoding.
        """
        known = [f"x{i}" for i in range(n)] if names is None else [str(name) for name in names]
        if len(known) != n:
            raise ValueError(
                f"There must be one name per column; got {len(known)} names for {n} columns."
            )
        return cls(tuple(Column(name) for name in known))

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def describe(self, idx: ArrayLike, coef: ArrayLike, digits: int = 6) -> str:
        """Write a direction as a formula over the columns.

        Parameters
        ----------
        idx : array-like of int
            The columns that the direction uses.
        coef : array-like of float
            Their coefficients.
        digits : int, default=6
            How many significant digits of a coefficient to show.

        Returns
        -------
        str
            The formula. A qualitative column stands for the number that the split gives to
            its level, which is written ``score(name)``.

        Examples
        --------
        >>> from obliqua.data import Encoding
        >>> Encoding.identity(3, ["age", "body mass", "a+b"]).describe([0, 1, 2], [0.5, -1.2, 1])
        '0.5*age - 1.2*body mass + `a+b`'
        """
        places = np.asarray(idx, dtype=np.int64).ravel().tolist()
        factors = np.asarray(coef, dtype=np.float64).ravel().tolist()
        text = ""
        for place, factor in zip(places, factors, strict=True):
            name = self.written(place)
            size = f"{abs(factor):.{digits}g}"
            term = name if size == "1" else f"{size}*{name}"
            if text:
                text += f" {'-' if factor < 0 else '+'} {term}"
            else:
                text = f"-{term}" if factor < 0 else term
        return text or "0"

    def written(self, place: int) -> str:
        """Return a column's name as it stands in a formula.

        Parameters
        ----------
        place : int
            The column.

        Returns
        -------
        str
            The name, in backquotes if it could be mistaken for something else, on one line.
        """
        column = self.columns[place]
        name = written_name(column.name)
        return f"score({name})" if column.kind == QUALITATIVE else name

    def to_dict(self) -> dict[str, Any]:
        """Return the encoding as plain lists, dicts and strings, ready for JSON.

        Returns
        -------
        dict
            What `from_dict` takes. Levels are kept as they are: a file can hold them if they
            are strings, numbers, bools or None.
        """
        columns: list[dict[str, Any]] = []
        for column in self.columns:
            entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == QUALITATIVE:
                entry["levels"] = list(column.levels)
            columns.append(entry)
        return {"columns": columns}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Encoding:
        """Make an encoding of what `to_dict` returned.

        Parameters
        ----------
        state : mapping
            The encoding as plain lists, dicts and strings.

        Returns
        -------
        Encoding
            The encoding.
        """
        try:
            columns = [
                Column(entry["name"], entry["kind"], tuple(entry.get("levels", ())))
                for entry in state["columns"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "An encoding is read from {'columns': [{'name': ..., 'kind': ...}, ...]}, as "
                f"to_dict() writes it; reading failed with {type(error).__name__}: {error}."
            ) from error
        return cls(tuple(columns))


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, classes and weights, ready to grow a tree from. Made by `encode`; trusted.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        The rows, float32 or float64, with any strides.
    y : ndarray of int32, of shape (n_rows,)
        Class codes 0, 1, ..., n_classes - 1.
    weights : ndarray of int64, of shape (n_rows,), or None
        Weights in grid units, all positive; None if every row weighs one unit.
    unit : float
        What one grid unit weighs in original units: a power of two.
    n_classes : int
        The number of classes.
    encoding : Encoding
        What the columns are.
    """

    Z: Rows
    y: Int32Array
    weights: Int64Array | None
    unit: float
    n_classes: int
    encoding: Encoding
    n_levels: Any = None
    has_missing: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return int(self.Z.shape[1])

    @cached_property
    def total_weight(self) -> int:
        """The weight of all rows in grid units."""
        return len(self.y) if self.weights is None else int(self.weights.sum())

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each column, the same in any order of the rows."""
        weights = None if self.weights is None else self.weights.astype(np.float64)
        return column_means(self.Z, weights)


def encode(
    X: Any,
    y: ArrayLike,
    n_classes: int,
    sample_weight: ArrayLike | None = None,
    class_weight: ArrayLike | None = None,
    names: Sequence[Any] | AnyArray | None = None,
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
    X : array-like of shape (n_rows, n_features)
        The rows. float32 and float64 arrays are used as they are; they are copied only if
        there are rows of weight 0.
    y : array-like of int, of shape (n_rows,)
        Class codes 0, 1, ..., n_classes - 1.
    n_classes : int
        The number of classes.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows. Rows of weight 0 are dropped.
    class_weight : array-like of shape (n_classes,), default=None
        Weights of the classes, by which those of the rows are multiplied. They are rounded
        to 24 significant bits.
    names : sequence of str, default=None
        The columns' names.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ValueError
        If the data cannot be grown from; the message says why.
    """
    Z = checked_rows(X)
    codes = _checked_codes(y, len(Z), n_classes)
    encoding = Encoding.identity(Z.shape[1], names)
    if sample_weight is None and class_weight is None:
        return Problem(Z, codes, None, 1.0, n_classes, encoding)
    kept, weights, unit = put_on_grid(codes, n_classes, sample_weight, class_weight)
    if not kept.all():
        Z, codes = Z[kept], codes[kept]
    return Problem(Z, codes, weights, unit, n_classes, encoding)


def checked_rows(X: Any) -> Rows:
    """Return rows as a float32 or float64 matrix, or say why they cannot be one."""
    if hasattr(X, "toarray"):
        raise ValueError(
            "X is a sparse matrix, and trees are grown from dense rows only. Use X.toarray()."
        )
    Z: AnyArray = np.asarray(X)
    if Z.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, rows and columns; got {Z.ndim}. Use "
            "X.reshape(-1, 1) for a single column, X.reshape(1, -1) for a single row."
        )
    if Z.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        Z = _as_float64(Z)
    if not Z.flags.aligned:
        Z = Z.copy()
    if Z.size == 0:
        raise ValueError(
            f"X must have at least one row and one column; got {Z.shape[0]} rows and "
            f"{Z.shape[1]} columns."
        )
    if len(Z) > MAX_ROWS:
        raise ValueError(
            f"X must have at most {MAX_ROWS} rows in one memory; got {len(Z)}. Grow from a sample."
        )
    _check_finite(Z)
    return Z


def _as_float64(Z: AnyArray) -> AnyArray:
    """Convert integers, bools, other floats and Python numbers, but no text and no dates."""
    problem = ""
    if Z.dtype.kind in "biufO":
        try:
            return Z.astype(np.float64)
        except (TypeError, ValueError) as error:
            problem = f": {error}"
    raise ValueError(
        f"X must hold real numbers; got dtype {Z.dtype}{problem}. Turn text, dates and complex "
        "values into numbers first."
    )


def _check_finite(Z: Rows) -> None:
    if all_finite(Z):
        return
    row, column = np.argwhere(~np.isfinite(Z))[0].tolist()
    what = "NaN" if np.isnan(Z[row, column]) else "infinity"
    raise ValueError(
        f"X contains {what}, first in row {row}, column {column}. Remove or replace it: trees "
        "are grown from finite numbers."
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
