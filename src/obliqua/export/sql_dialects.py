"""What databases say differently: names, literals, types and limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from obliqua.data.encoding import QUALITATIVE, Column

__all__ = ["DIALECTS", "Dialect"]

_WHOLE = 2**53  # beyond it not every integer is a double
_POWER = 62  # of two: the largest that is an integer of 64 bits and a double


@dataclass(frozen=True)
class Dialect:
    """How a database writes what a query needs.

    Parameters
    ----------
    name : str
        What `export_sql` calls it.
    double, text : str
        The types of doubles and of strings.
    finite : callable
        Writes a finite double so that the very same double is read.
    infinity, nan : str
        An infinite double, and what is no number; "" if the database has none.
    fence : str
        The end of a SELECT that keeps the database from writing its expressions out wherever they
        are used, which would compute them again each time.
    inline : str
        How a query that is used once is kept from being stored.
    place : str
        A column that every table has, which tells the order of its rows.
    most_columns, name_bytes : int
        Limits: columns of a query, bytes of a name.
    folds : bool
        Whether names are the same that differ in capitals only.
    largest : str
        The function that gives the largest of its arguments.
    typed : bool
        Whether a column holds values of one type.
    collation : str
        Makes a comparison of text one of characters.
    stops : bool
        Whether a product that overflows or vanishes stops the query.
    array : str
        The brackets of an array in a text, which is read much faster than an expression for each
        number; "" if there are no arrays.
    """

    name: str
    double: str
    text: str
    finite: Callable[[float], str]
    infinity: str
    nan: str
    fence: str
    inline: str
    place: str
    most_columns: int
    name_bytes: int
    folds: bool
    largest: str
    typed: bool
    collation: str
    stops: bool
    array: str = ""

    def number(self, value: float) -> str:
        """Write a double; a value that is none as NULL."""
        if value != value:
            return "NULL"
        if math.isinf(value):
            return self.infinity if value > 0 else f"(-{self.infinity})"
        return self.finite(value + 0.0 if value else 0.0)

    def string(self, value: str) -> str:
        """Write a text."""
        quoted = "'" + checked(value).replace("'", "''") + "'"
        if self.name == "postgresql" and "\\" in value:  # whatever its setting for them
            quoted = "E" + quoted.replace("\\", "\\\\")
        return quoted

    def literal(self, value: Any) -> str:
        """Write a label or a level: text, a truth value or a number."""
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, bool):
            return ("FALSE", "TRUE")[value] if self.typed else str(int(value))
        if isinstance(value, int) and abs(value) < 2**63:
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        raise ValueError(
            f"SQL is written for labels and levels that are text, truth values, doubles and "
            f"integers of 64 bits; got {value!r:.80} of type {type(value).__name__}."
        )

    def name_of(self, name: str) -> str:
        """Quote a name, cut to what the database reads of it."""
        return '"' + self.cut(checked(name)).replace('"', '""') + '"'

    def cut(self, name: str) -> str:
        """Return what the database keeps of a name."""
        if len(name.encode()) <= self.name_bytes:
            return name
        return name.encode()[: self.name_bytes].decode(errors="ignore")

    def same(self, name: str) -> str:
        """Return what is equal for names that the database takes for one."""
        return self.cut(name).lower() if self.folds else self.cut(name)

    def known(self, value: str) -> str:
        """Write NULL where what was computed is no number."""
        if self.nan:
            return f"NULLIF({value}, {self.nan})"
        if not self.typed:  # SQLite has no NaN but NULL
            return value
        infinity = self.infinity
        return f"CASE WHEN {value} BETWEEN -{infinity} AND {infinity} THEN {value} END"

    def largest_of(self, values: Sequence[str]) -> str:
        """Write the largest of some numbers; functions of few arguments, for SQLite's limit."""
        values = list(values)
        while len(values) > 1:
            parts = [values[at : at + 50] for at in range(0, len(values), 50)]
            values = [f"{self.largest}({', '.join(p)})" if len(p) > 1 else p[0] for p in parts]
        return values[0]

    def array_of(self, values: Iterable[float], type: str) -> str:
        """Write an array of numbers; NaN becomes NULL."""
        written = ",".join("NULL" if v != v else repr(v) for v in values)
        return f"CAST('{self.array[0]}{written}{self.array[1]}' AS {type}[])"

    def table_of(
        self, name: str, types: Mapping[str, str], rows: Sequence[Sequence[float]]
    ) -> str:
        """Write a query with this name that has rows of numbers; NaN becomes NULL."""
        if not self.array:
            values = ",\n".join(f"({', '.join(self._constant(v) for v in row)})" for row in rows)
            return f"{name}({', '.join(types)}) AS (VALUES\n{values})"
        columns = ",\n".join(
            f"unnest({self.array_of(column, type)}) AS {key}"
            for (key, type), column in zip(types.items(), zip(*rows, strict=True), strict=True)
        )
        return f"{name} AS (\nSELECT {columns})"

    def _constant(self, value: float) -> str:
        return str(value) if isinstance(value, int) else self.number(value)

    def entry(self, column: Column, source: str) -> str:
        """Write a column of a table as a double, or as the code of its level."""
        if column.kind == QUALITATIVE:
            return self._code(column, source)
        if self.typed:
            value = f"CAST({source} AS {self.double})"
            return f"NULLIF({value}, {self.nan})" if self.nan else value
        # Text is a number only if all of it is: '' is none, and CAST would make it 0.
        return (
            f"CASE WHEN typeof({source}) IN ('integer', 'real') OR {source} = CAST({source} AS "
            f"REAL) THEN CAST({source} AS REAL) END"
        )

    def _code(self, column: Column, source: str) -> str:
        named = column.levels[:-1] if column.others else column.levels
        otherwise = len(named) if column.others else -1
        if not named:
            return f"CASE WHEN {source} IS NOT NULL THEN {otherwise} END"
        value = self._compared(column, source)
        cases = " ".join(
            f"WHEN {self.level(column, level)} THEN {code}" for code, level in enumerate(named)
        )
        return f"CASE WHEN {source} IS NOT NULL THEN CASE {value} {cases} ELSE {otherwise} END END"

    def _compared(self, column: Column, source: str) -> str:
        """Write what the levels of a column are compared with."""
        if not self.typed:
            return f"+{source} {self.collation}"  # the sign: '1' and 1 stay different
        if column.text is not False:
            return f"CAST({source} AS {self.text}) {self.collation}".rstrip()
        if self.name == "postgresql" and any(isinstance(level, bool) for level in column.levels):
            text = f"CAST({source} AS text)"
            source = f"CASE {text} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {text} END"
        return f"CAST({source} AS {self.double})"

    def level(self, column: Column, level: Any) -> str:
        """Write a level as the column of a table has it."""
        level = level.item() if hasattr(level, "item") else level
        if isinstance(level, str):
            return self.string(level)
        if not isinstance(level, bool | int | float) or not abs(level) < _WHOLE:
            raise ValueError(
                f"SQL is written for levels that are text, truth values or numbers below 2**53; "
                f"column {column.name!r:.80} has {level!r:.80}. Make its levels text."
            )
        if self.typed and column.text is None:  # beside text a number is text, too
            return self.string(str(level).lower() if isinstance(level, bool) else f"{level!r}")
        return self.number(float(level))

    def unlike(self, names: Iterable[str]) -> None:
        """Raise if the database takes two names of columns for one."""
        seen: dict[str, str] = {}
        for name in names:
            if not name:
                raise ValueError("A column has no name. Say how it is called with columns=.")
            key = self.same(checked(name))
            if key in seen:
                raise ValueError(
                    f"{self.name} takes the names {seen[key]!r} and {name!r} of columns for one. "
                    "Say how they are called in the table with columns={name: name in the table}."
                )
            seen[key] = name


def checked(text: str) -> str:
    """Return a text if SQL can hold it."""
    if "\0" in text:
        raise ValueError(f"SQL cannot hold the character NUL, which is in {text!r:.120}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"SQL cannot hold half a character (a lone surrogate), which is in {text!r:.120}."
        ) from error
    return text


def _with_exponent(value: float) -> str:
    """Write a double as an approximate literal: without an exponent it would be a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _as_quotient(value: float) -> str:
    """Write a double by integers below 2**63: not every SQLite reads decimals exactly."""
    text = repr(value)
    if "e" not in text and len(text) < 16 and Fraction(text) == Fraction(value):
        return text
    numerator, denominator = value.as_integer_ratio()
    power = denominator.bit_length() - 1
    sign, numerator = "-" if numerator < 0 else "", abs(numerator)
    shift = 0
    if numerator >= _WHOLE:
        shift = (numerator & -numerator).bit_length() - 1
    factors = [f"*{2**part}" for part in _parts(shift)] + [f"/{2**part}" for part in _parts(power)]
    return f"({sign}1.0*{numerator >> shift}{''.join(factors)})"


def _parts(power: int) -> list[int]:
    """Return a power of two as several that are integers of 64 bits."""
    return [_POWER] * (power // _POWER) + ([power % _POWER] if power % _POWER else [])


_SQLITE = Dialect(
    "sqlite",
    "REAL",
    "TEXT",
    _as_quotient,
    "9e999",
    "",
    "LIMIT -1",
    "",
    "_rowid_",
    2000,
    10**6,
    True,
    "max",
    False,
    "COLLATE BINARY",
    False,
)
_POSTGRESQL = Dialect(
    "postgresql",
    "double precision",
    "text",
    lambda value: f"float8'{value!r}'",
    "float8'Infinity'",
    "float8'NaN'",
    "OFFSET 0",
    "",
    "ctid",
    1600,
    63,
    False,
    "GREATEST",
    True,
    'COLLATE "C"',
    True,
    "{}",
)
_DUCKDB = Dialect(
    "duckdb",
    "DOUBLE",
    "VARCHAR",
    _with_exponent,
    "CAST('Infinity' AS DOUBLE)",
    "CAST('NaN' AS DOUBLE)",
    "",
    "NOT MATERIALIZED ",
    "rowid",
    10_000,
    10**6,
    True,
    "GREATEST",
    True,
    'COLLATE "C"',
    False,
    "[]",
)
_PLAIN = Dialect(
    "plain",
    "DOUBLE PRECISION",
    "VARCHAR(32672)",
    _with_exponent,
    "CAST('Infinity' AS DOUBLE PRECISION)",
    "",
    "",
    "",
    "",
    1000,
    10**6,
    False,
    "GREATEST",
    True,
    "",
    True,
)
DIALECTS = {one.name: one for one in (_SQLITE, _POSTGRESQL, _DUCKDB, _PLAIN)}
