"""Whether X is rows, or tells where they are; and what is said of rows elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

LIBRARIES = ("polars", "pyarrow", "dask", "obliqua.sources")


def tells_where(X: Any) -> bool:
    """Say whether X tells where a table is: in files, in a lazy frame, in partitions of Dask."""
    module = type(X).__module__
    if not isinstance(X, str | os.PathLike | list | tuple) and not module.startswith(LIBRARIES):
        return False
    if module.startswith("dask"):
        return hasattr(X, "__dask_graph__")
    if isinstance(X, list | tuple) and not (X and isinstance(X[0], str | os.PathLike)):
        return False
    from obliqua.sources.tables import is_table_elsewhere

    return is_table_elsewhere(X)


def is_stored_array(X: Any) -> bool:
    """Say whether X is an array in chunks that is read when it is sliced, of zarr or HDF5."""
    module = type(X).__module__
    return not module.startswith("dask") and all(
        hasattr(X, name) for name in ("chunks", "shape", "dtype", "__getitem__")
    )


def said_elsewhere(estimator: Any, method: str, X: Any) -> Any:
    """Return what a method says of rows elsewhere: lazily for Dask, else in memory."""
    if type(X).__module__.startswith("dask"):
        from obliqua.sources.dask import predicted

        return predicted(estimator, method, X)
    from obliqua.sources.predicting import predicted_from_files

    return predicted_from_files(estimator, method, X)


def score_elsewhere(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    check: Callable[[Any], None],
    measure: str,
) -> float:
    """Return how good what is said of rows elsewhere is, by a measure of scikit-learn."""
    from sklearn import metrics

    if type(X).__module__.startswith("dask"):
        from obliqua.sources.dask import compared as compare
    else:
        from obliqua.sources.predicting import compared_in_files as compare
    truth, said, weights = compare(estimator, X, y, sample_weight, check)
    return float(getattr(metrics, measure)(truth, said, sample_weight=weights))
