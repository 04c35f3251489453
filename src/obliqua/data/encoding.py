"""`Column` and `Encoding`: what the columns of a matrix are, and how they are spoken of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["NUMERIC", "QUALITATIVE", "Column", "Encoding", "written_name"]

NUMERIC = "numeric"
QUALITATIVE = "qualitative"

# Words of letters, digits and signs that cannot be mistaken for part of a formula.
_PLAIN_NAME = re.compile(r"[^\W\d][\w.\-/%()\[\]]*(?: [\w(\[][\w.\-/%()\[\]]*)*")
# Words that have a meaning of their own in a rule.
_SYNTAX = frozenset({"and", "if", "in", "is", "not", "or", "then"})


def written_name(name: str) -> str:
    """Write a name so that it cannot be mistaken for part of a formula or break a line."""
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
    others : bool, default=False
        Whether the last level stands for all that are not named, those that were never seen
        among them.
    """

    name: str
    kind: str = NUMERIC
    levels: tuple[Any, ...] = ()
    others: bool = field(default=False, repr=False)

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
        if not isinstance(self.others, bool) or (self.others and not len(self.levels)):
            raise ValueError(
                f"others of column {self.name!r} must be True or False, and False if there are no "
                f"levels; got {self.others!r} for {len(self.levels)} levels."
            )
        object.__setattr__(self, "levels", tuple(self.levels))
        try:
            twice = len({(type(level), level) for level in self.levels}) < len(self.levels)
        except TypeError as error:
            raise ValueError(f"A level of column {self.name!r} is no value: {error}.") from error
        if twice:
            raise ValueError(
                f"The levels of column {self.name!r} must differ; got one of them twice."
            )

    @cached_property
    def codes(self) -> dict[Any, int]:
        """The code of each level."""
        return {level: code for code, level in enumerate(self.levels)}

    def code(self, level: Any) -> int:
        """Return the code of a level.

        Parameters
        ----------
        level : object
            The level.

        Returns
        -------
        int
            The code; for a level that is not named that of the others, or -1.
        """
        return self.codes.get(level, len(self.levels) - 1 if self.others else -1)

    @cached_property
    def text(self) -> bool | None:
        """Whether the named levels are all strings (True), or none is (False), or neither."""
        named = self.levels[:-1] if self.others else self.levels
        strings = {isinstance(level, str) for level in named}
        return strings.pop() if len(strings) == 1 else None

    def __reduce__(self) -> tuple[Any, ...]:
        # Only the fields, not what was computed from them.
        return type(self), (self.name, self.kind, self.levels, self.others)


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

    @cached_property
    def numeric(self) -> bool:
        """Whether all columns are numeric."""
        return all(column.kind == NUMERIC for column in self.columns)

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
            if column.others:
                entry["others"] = True
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
                Column(
                    entry["name"],
                    entry["kind"],
                    tuple(entry.get("levels", ())),
                    entry.get("others", False),
                )
                for entry in state["columns"]
            ]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "An encoding is read from {'columns': [{'name': ..., 'kind': ...}, ...]}, as "
                f"to_dict() writes it; reading failed with {type(error).__name__}: {error}."
            ) from error
        return cls(tuple(columns))
