"""From a user's table to the matrix that is grown from, and at prediction to the one walked.

A table is an array, a list of rows, or a frame; a column comes as an array, a pandas or a polars
series. Missing are None, NaN, NaT, pandas' NA and polars' null. Neither pandas nor polars is
imported: what a frame or a series can do is enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from obliqua._core.base.walk import all_finite
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array, Rows
from obliqua.data.dates import without_dates
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.data.sparse_rows import SparseRows, no_sparse

__all__ = [
    "MAX_ROWS",
    "RawColumn",
    "Table",
    "checked_rows",
    "codes_of_levels",
    "columns_by_name",
    "encoded_rows",
    "from_dtype",
    "level_order",
    "missing_columns",
    "plain_table",
    "qualitative_places",
    "raw_column",
    "read_by_columns",
    "read_table",
    "readable",
    "to_levels",
    "to_numbers",
]

MAX_ROWS = 2**31 - 2  # row numbers are 32 bits wide, one of which is a mark
FROM_DTYPE = "from_dtype"

_NUMBERS = "biuf"  # kinds of NumPy types
_EXACT = 2.0**53  # whole numbers up to here are the same as float and as int
_MISSING_TYPES = ("NAType", "NaTType")
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


# --- one column ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as a user has it."""

    # (n_rows,): numbers, or objects; codes if there are categories, -1 where missing
    values: AnyArray
    categories: list[Any] | None  # what the codes stand for
    called: str  # how messages speak of the column
    dtype: str  # its type in the table


def raw_column(series: Any, called: str) -> RawColumn:
    """Look at an array, or a series of pandas or polars, as a column."""
    dtype = getattr(series, "dtype", None)
    name = str(dtype)
    if hasattr(series, "cat") and hasattr(dtype, "categories") and hasattr(series, "iloc"):
        categories = series.cat.categories.tolist()
        return RawColumn(series.cat.codes.to_numpy().astype(np.int64), categories, called, name)
    if name == "Null":  # polars: no value at all, and no type
        values: AnyArray = np.full(len(series), None, dtype=object)
    elif not isinstance(dtype, np.dtype) and getattr(dtype, "kind", "") in tuple(_NUMBERS):
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
    return "text" in kinds or not any(not is_missing(entry) for entry in entries)


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
        numbers = [np.nan if is_missing(entry) else float(entry) for entry in entries]
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
    levels = [None if is_missing(entry) else _level(entry, bools_only) for entry in found]
    if any(isinstance(level, float) and abs(level) == np.inf for level in levels):
        raise ValueError(f"{column.called} contains infinity. Remove or replace it.")
    if column.categories is not None:  # levels that no row has are left out
        used = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
        levels = [level if use else None for level, use in zip(levels, used, strict=True)]
    known = {level for level in levels if level is not None}
    in_order = level_order(known)
    place = {level: code for code, level in enumerate(in_order)}
    new = np.array([place.get(level, -1) for level in levels] + [-1], dtype=np.int64)
    return new[codes], in_order


def level_order(levels: Collection[Any]) -> tuple[Any, ...]:
    """Return levels in their order: numbers first, then text."""
    return tuple(sorted(levels, key=lambda level: (isinstance(level, str), level)))


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
    numbers: dict[Any, int] = {}
    numbered = [numbers.setdefault(entry, len(numbers)) for entry in entries]
    return np.array(numbered, dtype=np.int64), list(numbers), kinds


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


def is_missing(entry: Any) -> bool:
    """Say whether an entry stands for no value."""
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


# --- a whole table ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix and what its columns are. Made by `read_table`; trusted.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        float32 or float64. A numeric column holds numbers, a qualitative one codes of levels;
        both NaN where a value is missing. Nothing is infinite.
    encoding : Encoding
        What the columns are.
    has_missing : ndarray of bool, of shape (n_features,)
        Which columns have missing values.
    """

    Z: Rows
    encoding: Encoding
    has_missing: BoolArray


def read_table(
    X: Any,
    categorical_features: Any = FROM_DTYPE,
    names: Sequence[Any] | AnyArray | None = None,
    missing: bool = True,
) -> Table:
    """Read a table with numeric and qualitative columns.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        An array, a list of rows, or a pandas or polars frame. A float32 or float64 matrix in
        which nothing is qualitative is used as it is.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which columns are qualitative. ``"from_dtype"``: those of text and of categories. None:
        none of them. Otherwise names of columns, their positions (from the end if negative), or
        a bool for each column.
    names : sequence of str, default=None
        The columns' names; those of a frame if they are all strings.
    missing : bool, default=True
        Whether values may be missing.

    Returns
    -------
    Table
        The matrix and its encoding. The levels of a column are those that occur, sorted, so
        that the order of the rows does not matter.

    Raises
    ------
    ValueError
        If a column cannot be read; the message names it.
    TypeError
        If a column holds objects that are neither numbers nor strings.

    Examples
    --------
    >>> from obliqua.data import read_table
    >>> table = read_table([["red", 1.5], ["blue", None], [None, 2]])
    >>> table.Z
    array([[1. , 1.5],
           [0. , nan],
           [nan, 2. ]])
    >>> table.encoding.columns[0]
    Column(name='x0', kind='qualitative', levels=('blue', 'red'))
    """
    if names is None:
        X = without_dates(X)
        names = _names_of(X)
    if not read_by_columns(X, categorical_features):
        return plain_table(X, names, missing)
    raw = _raw_columns(X, names)
    encoding = Encoding.identity(len(raw), names)
    chosen = qualitative_places(categorical_features, raw, names)
    matrix = np.empty((len(raw[0].values), len(raw)))
    columns = []
    for place, (column, known) in enumerate(zip(raw, encoding.columns, strict=True)):
        if place in chosen:
            codes, levels = to_levels(column)
            matrix[:, place] = np.where(codes < 0, np.nan, codes)
            known = Column(known.name, QUALITATIVE, levels)
        else:
            hint = _not_chosen(categorical_features, known.name if names is not None else place)
            matrix[:, place] = to_numbers(column, hint)
        columns.append(known)
    _check_finite(matrix, missing, [column.called for column in raw])
    return Table(matrix, Encoding(tuple(columns)), missing_columns(matrix))


def readable(X: Any, known: Collection[str] | None = None) -> Any:
    """Return rows in a form that can be read: tables of Arrow as frames, masks as gaps.

    Dates in frames become columns of numbers, all that tell something or those that are `known`.
    What looks like a table and is none is refused, with a word on what would do.
    """
    if isinstance(X, Mapping) and not hasattr(X, "toarray"):  # sparse ones may be dicts
        raise ValueError(
            f"X is a mapping ({type(X).__name__}), and a table is wanted: pandas.DataFrame(X) "
            "makes one of columns, pandas.DataFrame([X]) of a single row."
        )
    if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
        raise ValueError(
            "X is a list of mappings, one for each row, and a table is wanted: "
            "pandas.DataFrame(X) makes one."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind == "S":
        raise ValueError(
            "X holds byte strings, which may be text or numbers. Decode them with "
            "X.astype(str), and make numbers of them with X.astype(float)."
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(
            "X holds dates or times in an array. Give them as columns of a frame, whose parts "
            "become features, or as numbers: X.astype(float)."
        )
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    _check_names(X)
    return _without_mask(without_dates(X, known))


def _without_mask(X: Any) -> Any:
    """Return what is masked in an array as NaN; NumPy would show what is below the mask."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    masked: Any = X
    if X.dtype.kind not in "biuf":
        return masked.astype(object).filled(None)
    return masked.astype(X.dtype if X.dtype.kind == "f" else np.float64).filled(np.nan)


def _check_names(X: Any) -> None:
    """Refuse a frame in which two columns have the same name."""
    # polars has no such columns, and a lazy frame would have to find its names out.
    labels: Any = X.columns if hasattr(X, "iloc") and hasattr(X, "columns") else None
    if getattr(labels, "is_unique", True):
        return
    twice = list(dict.fromkeys(labels[labels.duplicated()].tolist()))
    raise ValueError(
        f"X has more than one column called {', '.join(map(repr, twice[:5]))}"
        f"{', ...' if len(twice) > 5 else ''}. Columns are found by name: give each a name of its "
        "own, or leave one out."
    )


def columns_by_name(X: Any, names: Sequence[str]) -> Any:
    """Put the columns of a frame in order."""
    if not (hasattr(X, "columns") and hasattr(X, "__getitem__")):
        return X
    X = without_dates(X, names)
    known = {str(name): name for name in X.columns}
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"The column {missing[0]!r} is missing in X; the model knows the columns "
            f"{', '.join(map(repr, names))}, and X has {', '.join(map(repr, known)) or 'none'}."
        )
    return X[[known[name] for name in names]]


def encoded_rows(X: Any, encoding: Encoding, missing: bool = True) -> Rows:
    """Make the matrix that a tree walks of rows as a user has them.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_columns)
        The rows, with their columns in the order of the encoding.
    encoding : Encoding
        What the columns were when the tree was fitted.
    missing : bool, default=True
        Whether values may be missing.

    Returns
    -------
    ndarray of shape (n_rows, n_columns)
        float32 or float64. A level that the encoding does not know has the code -1, or that of the
        column's other levels if it has such a level.

    Raises
    ------
    ValueError
        If there are other columns than the encoding's, or if a column cannot be read; the
        message names it.
    TypeError
        If a column holds objects that are neither numbers nor strings.
    """
    X = without_dates(X, encoding.names)
    if encoding.numeric and not read_by_columns(X, FROM_DTYPE):
        return checked_rows(X, missing)
    raw = _raw_columns(X, encoding.names)
    if len(raw) != encoding.n_columns:
        raise ValueError(
            f"X must have the {encoding.n_columns} columns {', '.join(encoding.names[:10])}"
            f"{', ...' if encoding.n_columns > 10 else ''}; got {len(raw)}."
        )
    matrix = np.empty((len(raw[0].values), len(raw)))
    for place, (column, known) in enumerate(zip(raw, encoding.columns, strict=True)):
        if known.kind == QUALITATIVE:
            matrix[:, place] = codes_of_levels(column, known)
        else:
            hint = "and held numbers when the tree was fitted. Write it as numbers."
            matrix[:, place] = to_numbers(column, hint)
    _check_finite(matrix, missing, [column.called for column in raw])
    return matrix


def codes_of_levels(column: RawColumn, known: Column) -> FloatArray:
    """Return codes of levels as a column knows them, NaN where missing."""
    found, levels = to_levels(column)
    # Text that was read as numbers, or the other way round, would be unknown levels throughout.
    text = {isinstance(level, str) for level in levels}
    if known.text is not None and text == {not known.text}:
        then, now = ("text", "numbers") if known.text else ("numbers", "text")
        raise ValueError(
            f"{column.called} held {then} when the tree was fitted, and holds {now} now, "
            f"{levels[0]!r} for instance, which are other levels. Write it as it was then."
        )
    codes = [known.code(level) for level in levels]
    return np.array([*codes, np.nan])[found]


# --- which columns are qualitative -----------------------------------------------------------


def read_by_columns(X: Any, categorical_features: Any) -> bool:
    """Say whether a table must be looked at column by column, or is a plain matrix of numbers."""
    chosen = not (categorical_features is None or isinstance(categorical_features, str))
    if _is_frame(X):
        return chosen or not all(map(_is_number, _dtypes(X)))
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except (TypeError, ValueError):
            X = np.array(X, dtype=object)  # rows of different lengths, dates with NaN ...
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.size == 0:
        return False
    return chosen or X.dtype.kind in "OU"


def _is_frame(X: Any) -> bool:
    if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):
        raise ValueError("X is a lazy frame of polars. Use X.collect().")
    return hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns"))


def _dtypes(X: Any) -> list[Any]:
    return list(X.dtypes)


def _is_number(dtype: Any) -> bool:
    """Say whether a column of this type of pandas or polars holds numbers or bools."""
    kind = getattr(dtype, "kind", None)
    if kind is not None:
        return kind in "biufc"  # complex ones are refused later, as in an array
    return bool(dtype.is_numeric() and not dtype.is_decimal())


def _names_of(X: Any) -> list[str] | None:
    names = list(X.columns) if _is_frame(X) else []
    return names if names and all(isinstance(name, str) for name in names) else None


def _raw_columns(X: Any, names: Sequence[Any] | AnyArray | None) -> list[RawColumn]:
    """Return the columns of a frame, an array or a list of rows."""
    _check_dense(X)
    if _is_frame(X):
        series = X.get_columns() if hasattr(X, "get_columns") else _pandas_columns(X)
    else:
        # In a list of rows each entry keeps its own type.
        matrix = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        if matrix.ndim != 2:
            raise ValueError(_dimensions(matrix.ndim))
        series = list(matrix.T)
        names = None  # in an array, the place says more than x3
    if not series or len(series[0]) == 0:
        n_rows = len(series[0]) if series else len(X)
        raise ValueError(_empty(n_rows, len(series)))
    if len(series[0]) > MAX_ROWS:
        raise ValueError(_too_long(len(series[0])))
    called = [f"Column {place}" for place in range(len(series))]
    if names is not None and len(names) == len(series):
        called = [f"Column {str(name)!r}" for name in names]
    return [raw_column(one, name) for one, name in zip(series, called, strict=True)]


def _pandas_columns(X: Any) -> list[Any]:
    return [series for _, series in X.items()]  # by place, and faster than iloc


def qualitative_places(
    chosen: Any, columns: list[RawColumn], names: Sequence[Any] | AnyArray | None
) -> set[int]:
    """Return the places of the columns that are to be qualitative."""
    if chosen is None:
        return set()
    if isinstance(chosen, str):
        if chosen == FROM_DTYPE:
            return {place for place, column in enumerate(columns) if from_dtype(column)}
        raise ValueError(_BAD_CHOICE + f"; got {chosen!r}.")
    try:
        entries = [entry.item() if isinstance(entry, np.generic) else entry for entry in chosen]
    except TypeError as error:
        raise ValueError(_BAD_CHOICE + f"; got {chosen!r}.") from error
    types = set(map(type, entries))
    if types <= {bool}:
        if entries and len(entries) != len(columns):
            raise ValueError(
                "A mask in categorical_features needs a bool for each column of X; got "
                f"{len(entries)} for {len(columns)} columns."
            )
        return {place for place, entry in enumerate(entries) if entry}
    if types == {int}:
        return {_place(entry, len(columns)) for entry in entries}
    if types == {str}:
        return {_place_of_name(entry, names) for entry in entries}
    raise ValueError(_BAD_CHOICE + f"; got {entries[:5]!r}.")


_BAD_CHOICE = (
    "categorical_features must be 'from_dtype', None, or a list of names, of positions or of bools"
)


def _place(entry: int, n_columns: int) -> int:
    if not -n_columns <= entry < n_columns:
        raise ValueError(
            f"categorical_features asks for column {entry}, and X has {n_columns} columns, "
            f"numbered from 0 to {n_columns - 1}."
        )
    return entry % n_columns


def _place_of_name(entry: str, names: Sequence[Any] | AnyArray | None) -> int:
    known = [] if names is None else list(names)
    if known.count(entry) == 1:
        return known.index(entry)
    if not known:
        raise ValueError(
            f"categorical_features asks for the column {entry!r}, and the columns of X have no "
            "names. Give their positions, or give X as a frame whose names are strings."
        )
    if entry in known:
        raise ValueError(
            f"categorical_features asks for the column {entry!r}, and {known.count(entry)} "
            "columns of X have this name. Give positions."
        )
    raise ValueError(
        f"categorical_features asks for the column {entry!r}, and X has none of this name; it has "
        f"{', '.join(map(repr, known[:10]))}{', ...' if len(known) > 10 else ''}."
    )


def _not_chosen(categorical_features: Any, name: Any) -> str:
    if categorical_features is None:
        asked = "categorical_features=None asks for numbers only. Leave that out"
    else:
        asked = f"it is not among categorical_features. Add {name!r} there"
    return f"and {asked}, or write the column as numbers, or drop it."


# --- plain matrices --------------------------------------------------------------------------


def plain_table(
    X: Any, names: Sequence[Any] | AnyArray | None, missing: bool, otherwise: str = ""
) -> Table:
    """Take a matrix of numbers as a table without qualitative columns."""
    Z = _as_matrix(X)
    finite = _check_finite(Z, missing, otherwise=otherwise)
    has_missing = np.zeros(Z.shape[1], dtype=bool) if finite else missing_columns(Z)
    return Table(Z, Encoding.identity(Z.shape[1], names), has_missing)


def missing_columns(Z: Rows) -> BoolArray:
    """Say which columns have missing values."""
    if isinstance(Z, SparseRows):
        return Z.missing_columns
    # A column at a time, to need little memory.
    return np.array([bool(np.isnan(column).any()) for column in Z.T], dtype=bool)


def checked_rows(X: Any, missing: bool = False) -> Rows:
    """Return rows as a float32 or float64 matrix, or say why they cannot be one."""
    Z = _as_matrix(X)
    _check_finite(Z, missing)
    return Z


def _check_dense(X: Any) -> None:
    if hasattr(X, "toarray"):
        raise ValueError(no_sparse("This function"))


def _as_matrix(X: Any) -> Rows:
    if isinstance(X, SparseRows):
        return _checked_sparse(X)
    _check_dense(X)
    Z: AnyArray = np.asarray(X)
    if Z.ndim != 2:
        raise ValueError(_dimensions(Z.ndim))
    if Z.dtype == object and hasattr(X, "iloc") and all(map(_is_number, _dtypes(X))):
        # pandas' own numbers and bools, whose NA is no number to NumPy
        Z = X.to_numpy(dtype=np.float64, na_value=np.nan)
    if Z.dtype not in _FLOATS:
        Z = _as_float64(Z)
    if not Z.flags.aligned:
        Z = Z.copy()
    if Z.size == 0:
        raise ValueError(_empty(*Z.shape))
    if len(Z) > MAX_ROWS:
        raise ValueError(_too_long(len(Z)))
    return Z


def _checked_sparse(Z: Any) -> Rows:
    """Return sparse rows, if there are not too many or too few of them."""
    if 0 in Z.shape:
        raise ValueError(_empty(*Z.shape))
    if len(Z) > MAX_ROWS:
        raise ValueError(_too_long(len(Z)))
    rows: Rows = Z
    return rows


def _dimensions(n: int) -> str:
    return (
        f"X must have two dimensions, rows and columns; got {n}. Use X.reshape(-1, 1) for a "
        "single column, X.reshape(1, -1) for a single row."
    )


def _empty(n_rows: int, n_columns: int) -> str:
    return (
        f"X must have at least one row and one column; got {n_rows} rows and {n_columns} columns."
    )


def _too_long(n_rows: int) -> str:
    return f"X must have at most {MAX_ROWS} rows in one memory; got {n_rows}. Grow from a sample."


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


def _check_finite(
    Z: Rows, missing: bool, called: list[str] | None = None, otherwise: str = ""
) -> bool:
    """Refuse infinity, and NaN unless it is allowed; return whether there is neither.

    `otherwise` is what one can do with NaN beside replacing it.
    """
    there = Z.values[:, None] if isinstance(Z, SparseRows) else Z
    if all_finite(there):
        return True
    bad = np.isinf(there) if missing else ~np.isfinite(there)
    if not bad.any():
        return False
    row, column = Z.place_of(bad) if isinstance(Z, SparseRows) else np.argwhere(bad)[0].tolist()
    where = f"column {column}" if called is None else f"c{called[column][1:]}"
    if np.isnan(there[bad][0]):
        raise ValueError(
            f"X contains NaN, first in row {row}, {where}. Remove or replace it: trees are grown "
            f"from finite numbers.{otherwise}"
        )
    raise ValueError(
        f"X contains infinity, first in row {row}, {where}. Remove or replace it: trees are grown "
        "from finite numbers."
    )
