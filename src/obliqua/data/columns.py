"""One column of a user's table at a time: numbers, or levels and their codes.

A column comes as an array, a pandas or a polars series. Missing are None, NaN, NaT, pandas' NA
and polars' null. Neither pandas nor polars is imported: what a series can do is enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array

__all__ = ["RawColumn", "from_dtype", "raw_column", "to_levels", "to_numbers"]

_NUMBERS = "biuf"  # kinds of NumPy types
_EXACT = 2.0**53  # whole numbers up to here are the same as float and as int
_MISSING_TYPES = ("NAType", "NaTType")


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as a user has it.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers, or objects; codes if there are categories, -1 where missing.
    categories : list or None
        What the codes stand for.
    called : str
        How messages speak of the column.
    dtype : str
        Its type in the table.
    """

    values: AnyArray
    categories: list[Any] | None
    called: str
    dtype: str


def raw_column(series: Any, called: str) -> RawColumn:
    """Look at an array, or a series of pandas or polars, as a column."""
    dtype = getattr(series, "dtype", None)
    name = str(dtype)
    if hasattr(series, "cat") and hasattr(dtype, "categories") and hasattr(series, "iloc"):
        categories = series.cat.categories.tolist()
        return RawColumn(series.cat.codes.to_numpy().astype(np.int64), categories, called, name)
    if name == "Null":  # polars: no value at all, and no type
        values: AnyArray = np.full(len(series), None, dtype=object)
    elif hasattr(series, "isna") and getattr(dtype, "kind", "") in _NUMBERS:
        # pandas' own integers and bools know missing values; NumPy's do not.
        values = _without_na(series)
    elif hasattr(series, "null_count") and _is_long_polars(series):
        values = np.array(series.to_list(), dtype=object)
    else:
        values = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    if values.dtype.kind == "U":
        values = values.astype(object)
    if values.dtype.kind not in _NUMBERS + "O":
        raise ValueError(
            f"{called} has the type {name}, and a tree takes numbers, text and categories. Write "
            f"it as one of them{_HINTS.get(values.dtype.kind, '')}, or drop it."
        )
    return RawColumn(values, None, called, name)


_HINTS = {
    "M": ", a date for instance as the number of days since another one",
    "m": ", a duration for instance as a number of seconds",
    "S": ", bytes for instance with astype(str)",
}


def _without_na(series: Any) -> AnyArray:
    gaps = series.isna()
    if not gaps.any():
        return np.asarray(series)
    if series.dtype.kind in "iu" and _is_long(series[~gaps]):
        return np.array([None if gap else int(x) for x, gap in zip(series, gaps, strict=True)])
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _is_long(integers: Any) -> bool:
    """Say whether float64 would merge some of them with their neighbours."""
    return len(integers) > 0 and max(int(integers.max()), -int(integers.min())) > _EXACT


def _is_long_polars(series: Any) -> bool:
    return bool(series.dtype.is_integer() and _is_long(series.drop_nulls()))


def from_dtype(column: RawColumn) -> bool:
    """Say whether the type of a column makes it qualitative."""
    if column.categories is not None:
        return True
    if column.values.dtype != object:
        return False
    entries = column.values.tolist()
    kinds = _kinds(entries, column.called)
    return "text" in kinds or not any(not _is_missing(entry) for entry in entries)


def to_numbers(column: RawColumn, hint: str) -> FloatArray:
    """Return a column as numbers, NaN where missing."""
    if column.categories is not None:
        table = _floats(column.categories, column, hint)
        return np.append(table, np.nan)[column.values]  # code -1 finds the last one
    if column.values.dtype != object:
        return column.values.astype(np.float64)
    return _floats(column.values.tolist(), column, hint)


def _floats(entries: list[Any], column: RawColumn, hint: str) -> FloatArray:
    if "text" in _kinds(entries, column.called):
        text = next(entry for entry in entries if isinstance(entry, str))
        raise ValueError(f"{column.called} holds text, {_shown(text)} for instance, {hint}")
    try:
        numbers = [np.nan if _is_missing(entry) else float(entry) for entry in entries]
    except OverflowError as error:
        raise ValueError(f"{column.called} holds a number that is too large: {error}.") from error
    return np.array(numbers, dtype=np.float64)


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")


def to_levels(column: RawColumn) -> tuple[Int64Array, tuple[Any, ...]]:
    """Number the levels of a column."""
    codes, found, kinds = _distinct(column)
    # True and 1 are equal. Which of them stands for both must not depend on the order of rows.
    bools_only = "number" not in kinds
    levels = [None if _is_missing(entry) else _level(entry, bools_only) for entry in found]
    if any(isinstance(level, float) and abs(level) == np.inf for level in levels):
        raise ValueError(f"{column.called} contains infinity. Remove or replace it.")
    if column.categories is not None:  # levels that no row has are left out
        used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
        levels = [level if use else None for level, use in zip(levels, used, strict=True)]
    known = {level for level in levels if level is not None}
    in_order = sorted(known, key=lambda level: (isinstance(level, str), level))
    place = {level: code for code, level in enumerate(in_order)}
    new = np.array([place.get(level, -1) for level in levels] + [-1], dtype=np.int64)
    return new[codes], tuple(in_order)


def _distinct(column: RawColumn) -> tuple[Int64Array, list[Any], set[str]]:
    """Number the different entries of a column, in any order; missing ones may be among them.

    Also return of what kinds all entries are. Of False and 0, which are equal, only one is found.
    """
    if column.categories is not None:
        found = column.categories
        return column.values.astype(np.int64), found, _kinds(found, column.called)
    if column.values.dtype != object:
        unique, codes = np.unique(column.values, return_inverse=True)
        found = unique.tolist()
        return codes.astype(np.int64), found, _kinds(found, column.called)
    entries = column.values.tolist()
    kinds = _kinds(entries, column.called)  # refuses what has no hash
    seen: dict[Any, int] = {}
    numbered = [seen.setdefault(entry, len(seen)) for entry in entries]
    return np.array(numbered, dtype=np.int64), list(seen), kinds


def _level(entry: Any, bools_only: bool) -> Any:
    """Return an entry in the one way in which levels are written."""
    if isinstance(entry, str):
        return str(entry)
    if isinstance(entry, bool | np.bool_):
        return bool(entry) if bools_only else int(entry)
    if isinstance(entry, int | np.integer):
        return int(entry)
    number = float(entry)
    return int(number) if number.is_integer() and abs(number) <= _EXACT else number


def _is_missing(entry: Any) -> bool:
    if entry is None or type(entry).__name__ in _MISSING_TYPES:
        return True
    return isinstance(entry, float | np.floating | Decimal) and entry != entry


def _kinds(entries: list[Any], called: str) -> set[str]:
    """Say what is among entries: "missing", "text", "bool", "number"; refuse anything else."""
    return {_kind(entry_type, called) for entry_type in set(map(type, entries))}


def _kind(entry_type: type, called: str) -> str:
    if entry_type is type(None) or entry_type.__name__ in _MISSING_TYPES:
        return "missing"
    if issubclass(entry_type, str):
        return "text"
    if issubclass(entry_type, bool | np.bool_):
        return "bool"
    if issubclass(entry_type, Real | Decimal):
        return "number"
    raise TypeError(
        f"{called} holds an object of type {entry_type.__name__}. What a tree gets as an argument "
        "must be a string or a number, or missing. Write it as text, for instance with "
        "astype(str), or as a number, or drop the column."
    )
