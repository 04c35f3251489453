"""Looking at what a user gives: rows, labels and limits."""

from math import ceil
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

# Both widths go through the engine as they are; anything else becomes the first.
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def checked(estimator: BaseEstimator, X: Any, *y: Any, reset: bool = True) -> Any:
    """Check X, and y if it is given, as scikit-learn does."""
    # Looking for infinity, scikit-learn adds all numbers up: huge ones of both signs would
    # cause a warning that tells a user nothing.
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            return validate_data(estimator, X, *y, reset=reset, dtype=FLOATS)
        except (TypeError, ValueError) as error:
            name = column_without_numbers(X)
            if name is None:
                raise
            raise ValueError(
                f"Column {name!r} of X does not hold numbers, and {type(estimator).__name__} "
                "takes numbers only. Drop it, or write it as numbers, for instance with "
                f"scikit-learn's OrdinalEncoder or OneHotEncoder. (The conversion said: {error})"
            ) from error


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
