"""Looking at what a user gives: rows, labels and limits."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, log2
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_X_y, validate_data

from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions
from obliqua._typing import AnyArray, FloatArray, Rows
from obliqua.data.encoding import NUMERIC, Encoding
from obliqua.data.problem import Problem
from obliqua.data.rare_levels import pool_rare_levels
from obliqua.data.row_numbers import counts_rows
from obliqua.data.sparse_rows import SparseRows
from obliqua.data.table import (
    FROM_DTYPE,
    Table,
    encoded_rows,
    plain_table,
    read_by_columns,
    read_table,
    readable,
)
from obliqua.data.weights import ROUNDING
from obliqua.estimators._elsewhere import tells_where
from obliqua.estimators._warnings import warn

if TYPE_CHECKING:
    from obliqua.engine.rules import Rules

# Both widths go through the engine as they are; anything else becomes the first.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))

CategoricalFeatures = Sequence[Any] | AnyArray | str | None

MaxFeatures = int | float | str | None
MAX_FEATURES: list[Any] = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0.0, 1.0, closed="right"),
    StrOptions({"sqrt", "log2"}),
    None,
]

# Of the parameters of methods that take qualitative columns and missing values.
TABLE_CONSTRAINTS: dict[str, list[Any]] = {
    "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
    "fill": [StrOptions({"side", "node", "training"})],
}


# Of methods that grow from tables which do not fit in memory.
MEMORY_CONSTRAINTS: dict[str, list[Any]] = {
    "memory_limit": [Interval(Integral, 1, None, closed="left"), str, None],
}
# Of those that may have to see the rows of a node.
SAMPLE_CONSTRAINTS: dict[str, list[Any]] = {
    **MEMORY_CONSTRAINTS,
    "sample_rows": [Interval(Integral, 1, None, closed="left"), None],
}


def read_training(estimator: Any, X: Any, y: Any, **of_y: bool) -> tuple[Table, Any]:
    """Read and check the table and the labels of a fit; note on the estimator what was seen.

    `of_y`: what scikit-learn's checks should know of y.
    """
    if not isinstance(X, np.ndarray) and tells_where(X):
        raise TypeError(
            f"{type(estimator).__name__} takes rows in memory; got where a table is, as a "
            f"{type(X).__name__}. Read it first, or a sample of it. CartClassifier, "
            "HHCartClassifier, OC1Classifier with sample_rows and forests are fitted to tables "
            "elsewhere."
        )
    if isinstance(X, list | tuple) and not X and isinstance(y, str):
        raise ValueError("No files are given: X is an empty list. Give at least one path.")
    X = readable(X)
    chosen = getattr(estimator, "categorical_features", None)
    if sparse.issparse(X):
        _check_sparse(estimator, chosen)
    if not (estimator._takes_odd and read_by_columns(X, chosen)):
        Z, y = checked(estimator, X, y, **of_y)
        names = getattr(estimator, "feature_names_in_", None)
        _warn_of_row_numbers(Z, names)
        return plain_table(Z, names, estimator._takes_odd), y
    validate_data(estimator, X, y, skip_check_array=True)  # notes names and their number
    names = getattr(estimator, "feature_names_in_", None)
    table = read_table(X, chosen, names)
    numeric = [column.kind == NUMERIC for column in table.encoding.columns]
    _warn_of_row_numbers(table.Z, names, numeric)
    _, y = check_X_y(
        table.Z, y, dtype=FLOATS, ensure_all_finite=False, estimator=estimator, **of_y
    )
    return table, y


def _check_sparse(estimator: Any, chosen: Any) -> None:
    """Refuse a sparse X where it cannot be grown from as it is."""
    why = estimator._why_dense()
    if why is not None:
        raise TypeError(why)
    if not (chosen is None or isinstance(chosen, str)):
        raise ValueError(
            "A sparse X holds numbers only, and categorical_features asks for levels; got "
            f"{chosen!r}. Leave that out, or give X as a dense table."
        )


def _warn_of_row_numbers(
    Z: Rows, names: AnyArray | None, numeric: Sequence[bool] | None = None
) -> None:
    """Warn of columns of a frame that count its rows."""
    if names is None or len(names) < 2 or isinstance(Z, SparseRows):
        return
    for place, name in enumerate(names):
        if (numeric is None or numeric[place]) and counts_rows(Z[:, place]):
            warn(
                f"Column {str(name)!r} counts the rows, {Z[0, place]:.0f} to {Z[-1, place]:.0f}. "
                "A tree learns the order of the table from it, which tells nothing of new rows: "
                "drop it, unless it is meant as a feature.",
            )


def without_rare_levels(table: Table, weights: FloatArray | None) -> Table:
    """Let rare levels count as one in columns that nearly tell rows apart, and say so."""
    table, notes = pool_rare_levels(table, weights)
    for note in notes:
        warn(note)
    return table


def read_rows(estimator: Any, X: Any) -> Rows:
    """Read and check rows to predict."""
    encoding: Encoding = estimator.model_.encoding
    X = readable(X, encoding.names)
    by_columns = estimator._takes_odd and read_by_columns(X, FROM_DTYPE)
    if encoding.numeric and not by_columns:
        rows: Rows = checked(estimator, X, reset=False)
        return rows
    validate_data(estimator, X, reset=False, skip_check_array=True)
    return encoded_rows(X, encoding)


def checked(estimator: Any, X: Any, *y: Any, reset: bool = True, **of_y: bool) -> Any:
    """Check X, a matrix of numbers, and y if it is given, as scikit-learn does."""
    finite = "allow-nan" if estimator._takes_odd else True
    # Looking for infinity, scikit-learn adds all numbers up: huge ones of both signs would
    # cause a warning that tells a user nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            found = validate_data(
                estimator,
                X,
                *y,
                reset=reset,
                dtype=FLOATS,
                ensure_all_finite=finite,
                accept_sparse=("csr", "csc"),
                **of_y,
            )
        except (TypeError, ValueError) as error:
            name = column_without_numbers(X)
            if name is None:
                raise
            raise ValueError(
                f"Column {name!r} of X does not hold numbers, and {type(estimator).__name__} "
                "takes numbers only. Drop it, or write it as numbers, for instance with "
                f"scikit-learn's OrdinalEncoder or OneHotEncoder. (The conversion said: {error})"
            ) from error
    rows = found[0] if y else found
    if not sparse.issparse(rows):
        return found
    if reset:  # it may be a frame of sparse columns
        _check_sparse(estimator, None)
    return (SparseRows(rows), *found[1:]) if y else SparseRows(rows)


def column_without_numbers(X: Any) -> str | None:
    """Return the first column of a frame that cannot be read as numbers, if there is one."""
    if not hasattr(X, "columns") or not hasattr(X, "__getitem__"):
        return None
    for name in X.columns:
        try:
            np.asarray(X[name], dtype=np.float64)
        except (TypeError, ValueError):
            return str(name)
    return None


def number_of_rows(limit: float, n_rows: int) -> int:
    """Turn a limit that may be a fraction of the rows into a number of rows."""
    number = int(limit) if isinstance(limit, Integral) else ceil(limit * n_rows)
    return min(number, n_rows + 1)


def number_of_features(most: MaxFeatures, n_features: int) -> int:
    """Turn what `max_features` asks for into a number of features."""
    if most is None:
        return n_features
    if isinstance(most, str):
        return max(1, int(n_features**0.5 if most == "sqrt" else log2(n_features)))
    if isinstance(most, Integral):
        return min(int(most), n_features)
    return max(1, int(most * n_features))


def with_least_weight(rules: "Rules", problem: Problem, weight: float) -> "Rules":
    """Return rules by which each side of a split also holds a weight, as a number of rows."""
    units = float(weight) / problem.row_unit * (1.0 - ROUNDING)
    # No more than nothing can have: the unit may be tiny.
    least = ceil(min(units, problem.total_weight + 1.0))
    return replace(rules, min_weight_leaf=max(rules.min_weight_leaf, least))
