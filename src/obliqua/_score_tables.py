"""Scores of methods on data sets, as people have them: mappings and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray

__all__ = ["read_scores", "said_of_gaps"]


def read_scores(scores: Any) -> tuple[list[str], list[str], FloatArray]:
    """Make a table of scores.

    Parameters
    ----------
    scores : mapping or DataFrame
        As `obliqua.rank_methods` takes it.

    Returns
    -------
    methods, data_sets : list of str
        The names.
    table : ndarray of shape (n_data_sets, n_methods)
        The scores; NaN where there is none.
    """
    columns, sets = _columns(scores)
    if len(columns) < 2:
        raise ValueError(f"At least two methods are needed to rank them; got {len(columns)}.")
    table = np.array([[_score(c.get(s), m, s) for m, c in columns.items()] for s in sets])
    return list(columns), sets, table.reshape(len(sets), len(columns))


def _columns(scores: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return scores by method and data set, and the names of all data sets."""
    index, names = getattr(scores, "index", None), getattr(scores, "columns", None)
    for what, labels in (("data sets", index), ("methods", names)):
        if getattr(labels, "is_unique", True) is False:
            raise ValueError(f"Two {what} of the frame have the same name; rename one.")
    given = scores.to_dict() if hasattr(scores, "to_dict") else scores  # both kinds of frames
    if not isinstance(given, Mapping):
        raise ValueError(
            "scores must be a mapping of method to scores, or a DataFrame with a column per "
            f"method; got an object of class {type(scores).__name__}."
        )
    out: dict[str, dict[str, Any]] = {}
    for method, column in given.items():
        if not isinstance(column, Mapping):
            column = {f"set {place}": value for place, value in enumerate(column, start=1)}
        named = {str(name): value for name, value in column.items()}
        if str(method) in out or len(named) < len(column):
            raise ValueError("Two methods or two data sets have the same name; rename one.")
        out[str(method)] = named
    lengths = {name: len(column) for name, column in out.items()}
    plain = [name for name, column in given.items() if not isinstance(column, Mapping)]
    if len({lengths[str(name)] for name in plain}) > 1:
        counts = ", ".join(f"{name} {lengths[str(name)]}" for name in plain)
        raise ValueError(f"All methods must have as many scores; got {counts}.")
    return out, list(dict.fromkeys(name for column in out.values() for name in column))


def _score(value: Any, method: str, data_set: str) -> float:
    if value is None:
        return float("nan")
    try:
        if isinstance(value, str | bytes):  # float() would read '1' as a number
            raise TypeError
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"Scores must be numbers; {method} has {value!r} on {data_set}. A column of names "
            "must be an index, or be left out; numbers that are written as text, made numbers."
        ) from None
    if np.isinf(number):
        raise ValueError(f"Scores must be finite; {method} has {number} on {data_set}.")
    return number


def said_of_gaps(gaps: AnyArray, methods: list[str], sets: list[str]) -> str:
    """Say which scores are missing, a few of them by name.

    Parameters
    ----------
    gaps : ndarray of shape (n_data_sets, n_methods)
        Where there is none.
    methods, sets : list of str
        The names.

    Returns
    -------
    str
        A message.
    """
    named = [f"{methods[column]} on {sets[row]}" for row, column in np.argwhere(gaps).tolist()]
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    return (
        f"Every method needs a score on every data set; there is none of {', '.join(named[:3])}"
        f"{more}. missing='drop' leaves such data sets out for all methods."
    )
