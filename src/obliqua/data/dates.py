"""Dates and times in frames: each such column becomes a few columns of numbers.

The names of these columns say what they are made of: ``when (year)`` is made of ``when``. So a
model that knows the names can make the columns again of any frame that has the dates.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray

__all__ = ["DAYS", "Instants", "instants", "part_name", "source_of", "without_dates"]

DAYS = "days since 1970-01-01"
OF_DATES = ("year", "month", "weekday", DAYS)
PARTS = ("year", "month", "weekday", "hour", DAYS, "seconds")
_GONE = ("NAType", "NaTType")


def part_name(source: str, part: str) -> str:
    """Name the column that holds a part of dates."""
    return f"{source} ({part})"


def source_of(name: str) -> tuple[str, str] | None:
    """Return the column of dates that a name speaks of, and the part, if it does."""
    source, bracket, part = name.rpartition(" (")
    return (source, part[:-1]) if bracket and source and part[:-1] in PARTS else None


@dataclass(frozen=True, eq=False)
class Instants:
    """Dates, times or durations, and what is made of them.

    Parameters
    ----------
    values : ndarray of datetime64 or timedelta64
        What the clock on the wall shows, NaT where missing.
    parts : tuple of str
        The parts that tell something.
    """

    values: AnyArray
    parts: tuple[str, ...]

    @classmethod
    def of(cls, values: AnyArray) -> Instants:
        """Find out which parts dates, or durations, have."""
        if values.dtype.kind == "m":
            return cls(values, ("seconds",))
        known = values[~np.isnat(values)]
        timed = bool((known != known.astype("M8[D]")).any())
        return cls(values, (*OF_DATES[:3], "hour", DAYS) if timed else OF_DATES)

    def part(self, part: str) -> FloatArray:
        """Return a part as numbers, NaN where missing; Monday is 1, half past one is 13.5."""
        values = self.values
        if part == "seconds":
            found: AnyArray = values / np.timedelta64(1, "s")
        else:
            days = values.astype("M8[D]")
            if part == "year":
                found = values.astype("M8[Y]").astype(np.int64) + 1970
            elif part == "month":
                found = values.astype("M8[M]").astype(np.int64) % 12 + 1
            elif part == "weekday":
                found = (days.astype(np.int64) + 3) % 7 + 1
            elif part == "hour":
                found = (values - days) / np.timedelta64(1, "h")
            else:
                found = (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        return np.where(np.isnat(values), np.nan, found.astype(np.float64))


def instants(series: Any) -> Instants | None:
    """Look at a column of pandas or polars as dates, times or durations, if it holds such."""
    dtype = series.dtype
    if hasattr(series, "null_count") and hasattr(dtype, "is_temporal"):  # polars
        if not dtype.is_temporal():
            return None
        if getattr(dtype, "time_zone", None):
            series = series.dt.replace_time_zone(None)
        values = series.to_numpy()
        return _of_objects(series.to_list()) if values.dtype == object else Instants.of(values)
    kind = getattr(dtype, "kind", "")
    if isinstance(dtype, np.dtype) and kind in "mM":
        return Instants.of(series.to_numpy())
    if kind == "M" and getattr(dtype, "tz", None) is not None:
        return Instants.of(series.dt.tz_localize(None).to_numpy())
    if kind in ("m", "M"):  # those of Arrow
        return _of_objects(series.tolist())
    if str(dtype) != "object" or not isinstance(_first(series), date | time):
        return None
    return _of_objects(series.tolist())


def _of_objects(entries: list[Any]) -> Instants | None:
    """Look at objects as dates or times; None if anything else is among them."""
    first = _first(entries)
    if isinstance(first, timedelta):
        plain = [np.timedelta64("NaT") if _is_gone(entry) else entry for entry in entries]
        return Instants.of(np.array(plain, dtype="m8[us]"))
    if not isinstance(first, date | time):
        return None
    clock = isinstance(first, time)
    if not all(isinstance(entry, time if clock else date) or _is_gone(entry) for entry in entries):
        return None
    plain = [None if _is_gone(entry) else _on_the_wall(entry) for entry in entries]
    values = np.array(plain, dtype="M8[us]")
    return Instants(values, ("hour",)) if clock else Instants.of(values)


def _first(entries: Iterable[Any]) -> Any:
    return next((entry for entry in entries if not _is_gone(entry)), None)


def _is_gone(entry: Any) -> bool:
    gone = entry is None or type(entry).__name__ in _GONE
    return gone or (isinstance(entry, float) and entry != entry)


def _on_the_wall(entry: date | time) -> date:
    """Return a date, or a time as one of the first day, without its time zone."""
    if isinstance(entry, time):
        return datetime.combine(date(1970, 1, 1), entry.replace(tzinfo=None))
    return entry.replace(tzinfo=None) if isinstance(entry, datetime) else entry


def without_dates(X: Any, known: Collection[str] | None = None) -> Any:
    """Return a frame with columns of numbers in the place of dates; anything else as it is.

    Parameters
    ----------
    X : object
        A frame of pandas or polars with names that are strings, or anything else.
    known : collection of str, default=None
        The columns that a model knows: those are made of dates, and dates of which it knows no
        part stay. By default all that tell something.

    Returns
    -------
    object
        The frame with other columns in the place of the dates.
    """
    # A lazy frame of polars has neither, and would have to find its columns out.
    if not ((hasattr(X, "iloc") or hasattr(X, "get_columns")) and hasattr(X, "columns")):
        return X
    if not any(map(_may_be_dates, X.dtypes)):
        return X
    names = list(X.columns)
    if not all(isinstance(name, str) for name in names):
        return X
    made: dict[str, FloatArray] = {}
    order: list[str] = []
    for name, dtype in zip(names, list(X.dtypes), strict=True):
        found = instants(X[name]) if _may_be_dates(dtype) else None
        parts = () if found is None else found.parts if known is None else PARTS
        new = [part_name(name, part) for part in parts]
        if known is not None:
            new = [one for one in new if one in known and one not in names]
        taken = [one for one in new if one in names]
        if taken:
            raise ValueError(
                f"Column {name!r} holds dates and would become {taken[0]!r} among others, and X "
                "has a column of this name. Rename one of them, or drop it."
            )
        if found is None or not new:
            order.append(name)
            continue
        for one in new:
            part = one[len(name) + 2 : -1]
            made[one] = found.part(part)
        order += new
    if not made:
        return X
    return (X.assign(**made) if hasattr(X, "assign") else X.with_columns(**made))[order]


def _may_be_dates(dtype: Any) -> bool:
    if hasattr(dtype, "is_temporal"):
        return bool(dtype.is_temporal())
    return getattr(dtype, "kind", "") in ("m", "M") or str(dtype) == "object"
