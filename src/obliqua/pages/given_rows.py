"""The rows of a report: as trees walk them, what columns hold, and those that are embedded."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, Int64Array
from obliqua.data.encoding import QUALITATIVE, Column
from obliqua.io.values import text_of
from obliqua.words.subject import Subject

#: What a page may hold of rows, in bytes of its text.
MOST_BYTES = 300_000
#: The first of these types that holds all numbers of a column exactly.
_TYPES = ("i1", "i2", "i4", "f4", "f8")


@dataclass(frozen=True, eq=False)
class GivenRows:
    """Rows that a report is about: `learnt` are codes of classes, or numbers, if known."""

    name: str  # "training" or "test"
    Z: AnyArray
    learnt: AnyArray | None

    @classmethod
    def of(cls, name: str, subject: Subject, X: Any, y: Any) -> GivenRows | None:
        """Read rows as a user has them; None if there are none given."""
        if X is None:
            if y is not None:
                raise ValueError(f"The {name} rows have y, but no X. Give both, or neither.")
            return None
        Z, learnt = (subject.rows(X), None) if y is None else subject.labelled_rows(X, y)
        if not len(Z):
            raise ValueError(f"X of the {name} rows has no rows. Leave it out, or give some.")
        return cls(name, np.asarray(Z, dtype=np.float64), learnt)


def column_facts(columns: Sequence[Column], used: BoolArray, Z: AnyArray | None) -> list[Any]:
    """Say of each column what a person may choose: a range, or levels."""
    facts = []
    for place, column in enumerate(columns):
        coded = column.kind == QUALITATIVE
        known = None
        if Z is not None and used[place]:
            known = Z[:, place]
            known = known[~np.isnan(known) & (known >= 0 if coded else True)]
        facts.append(
            {
                "name": column.name,
                "levels": [text_of(level) for level in column.levels] if coded else None,
                "others": column.others,
                "used": bool(used[place]),
                "mayMiss": bool(Z is not None and np.isnan(Z[:, place]).any()),
                **_range_of(known, coded),
            }
        )
    return facts


def _range_of(values: AnyArray | None, coded: bool) -> dict[str, Any]:
    """Return the ends and the middle of values; of levels, the most frequent one."""
    if values is None or not len(values):
        return {"low": None, "high": None, "middle": None, "whole": False}
    if coded:
        middle = float(np.bincount(values.astype(np.int64)).argmax())
    else:
        # A value that some row has: that of whole numbers is a whole number.
        middle = float(np.sort(values)[(len(values) - 1) // 2])
    whole = bool((values == np.rint(values)).all())
    return {
        "low": float(values.min()),
        "high": float(values.max()),
        "middle": middle,
        "whole": whole,
    }


def embedded(
    sets: Sequence[GivenRows], used: BoolArray, max_rows: int
) -> tuple[dict[str, Any] | None, list[int]]:
    """Return a sample of all rows as the page reads it, and how many of each set are in it."""
    n_all = sum(len(rows.Z) for rows in sets)
    n_values = max(1, int(used.sum()))
    most = min(max_rows, max(1, MOST_BYTES // (11 * (n_values + 2))))
    # Each set gets its part, and as much of it as it has.
    shares = [min(len(rows.Z), most if n_all <= most else most // len(sets)) for rows in sets]
    if not sum(shares):
        return None, shares
    chosen = [_drawn(len(rows.Z), share) for rows, share in zip(sets, shares, strict=True)]
    Z = np.concatenate([rows.Z[at] for rows, at in zip(sets, chosen, strict=True)])
    y = None
    if sets[0].learnt is not None:  # then the others have some too
        parts = [np.asarray(rows.learnt)[at] for rows, at in zip(sets, chosen, strict=True)]
        y = packed(np.concatenate(parts).ravel())
    return {
        "n": len(Z),
        "columns": {str(k): packed(Z[:, k]) for k in np.flatnonzero(used).tolist()},
        "y": y,
        "set": packed(np.repeat(np.arange(len(sets)), shares)),
        "number": packed(np.concatenate(chosen)),
    }, shares


def _drawn(n_rows: int, n_drawn: int) -> Int64Array:
    """Draw rows, the same ones each time, in their order."""
    if n_drawn == n_rows:
        return np.arange(n_rows)
    drawn = np.random.default_rng(0).choice(n_rows, n_drawn, replace=False)
    return np.sort(drawn).astype(np.int64)


def packed(values: AnyArray) -> dict[str, str]:
    """Return numbers as base64 of the smallest type that holds them exactly."""
    for name in _TYPES:
        dtype = np.dtype(f"<{name}")
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = values.astype(dtype)
        if ((narrow == values) | (np.isnan(values) & (narrow != narrow))).all():
            break
    return {"type": name, "data": base64.b64encode(narrow.tobytes()).decode("ascii")}
