"""Parameters, levels and labels as JSON, without losing what they are.

JSON knows null, booleans, numbers, strings and lists. These stand for themselves. Everything
else is an object with one key that says what it is::

    {"float": "nan"}                            also "inf", "-inf"
    {"tuple": [...]}
    {"dict": [[key, value], ...]}               keys need not be strings
    {"array": {"type": "<i8", "values": [...]}} of one dimension
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from obliqua._typing import AnyArray

__all__ = ["NotSaved", "from_json", "labels_from_json", "labels_to_json", "text_of", "to_json"]

_MAX_DEPTH = 16
_MAX_BITS = 1024  # of an integer: no limit or seed needs more
#: The most bytes that labels of a fixed width take in memory.
MAX_LABEL_BYTES = 2**26
_TYPE = re.compile(r"[<>|](?:b1|[iu][1248]|f[248]|U[0-9]{1,8})")
_OBJECT = "object"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class NotSaved:
    """Stands in a loaded estimator for a parameter that a file cannot hold.

    A function, for instance. Predicting does not need it; fitting does, and says so.

    Parameters
    ----------
    what : str
        What the parameter was.

    Examples
    --------
    >>> import io
    >>> import obliqua
    >>> def first_column(node):
    ...     return [[1.0, 0.0]]
    >>> file = io.BytesIO()
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]], [0, 1]
    >>> obliqua.save(obliqua.ObliqueTreeClassifier(first_column, pruning=None).fit(X, y), file)
    >>> _ = file.seek(0)
    >>> tree = obliqua.load(file)
    >>> tree
    ObliqueTreeClassifier(proposer=NotSaved('function first_column'), pruning=None)
    >>> tree.predict(X)
    array([0, 1])
    >>> tree.set_params(proposer=first_column).fit(X, y).get_n_leaves()
    2
    """

    what: str

    def __repr__(self) -> str:
        return f"NotSaved({self.what!r})"


def to_json(value: Any, depth: int = 0) -> Any:
    """Say a value in JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int and value.bit_length() <= _MAX_BITS:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if depth < _MAX_DEPTH:
        if kind is list:
            return [to_json(entry, depth + 1) for entry in value]
        if kind is tuple:
            return {"tuple": [to_json(entry, depth + 1) for entry in value]}
        if kind is dict:
            return {
                "dict": [[to_json(part, depth + 1) for part in pair] for pair in value.items()]
            }
        if kind is np.ndarray:
            return {"array": _array_to_json(value)}
    raise TypeError(f"a file cannot hold {_described(value)}")


def from_json(state: Any) -> Any:
    """Turn back what `to_json` has said."""
    if isinstance(state, int) and state.bit_length() > _MAX_BITS:
        raise ValueError(f"an integer has more than {_MAX_BITS} bits")
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, list):
        return [from_json(entry) for entry in state]
    if isinstance(state, dict) and len(state) == 1:
        ((kind, inside),) = state.items()
        if kind in _READERS:
            return _READERS[kind](inside)
    raise ValueError("a value is written in a way that this version does not know")


def _tuple(inside: Any) -> tuple[Any, ...]:
    return tuple(from_json(_list(inside)))


def _dict(inside: Any) -> dict[Any, Any]:
    pairs = [from_json(_list(pair)) for pair in _list(inside)]
    try:
        made = dict(pairs)
    except TypeError as error:
        raise ValueError(f"a dict cannot be made: {error}") from error
    if len(made) != len(pairs):
        raise ValueError("a dict has the same key twice")
    return made


def _float(inside: Any) -> float:
    if not isinstance(inside, str) or inside not in _NOT_FINITE:
        raise ValueError("a number is neither finite, nor infinite, nor missing")
    return _NOT_FINITE[inside]


def _list(inside: Any) -> list[Any]:
    if not isinstance(inside, list):
        raise ValueError("a list is missing")
    return inside


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.ndim} dimensions and type {value.dtype}"
    return f"an object of type {type(value).__name__}"


# --- arrays of one dimension -----------------------------------------------------------------


def text_of(label: Any) -> str:
    """Return a label as files have it: truth values are written in small letters."""
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    return str(label)


def labels_to_json(array: AnyArray) -> dict[str, Any]:
    """Say an array of labels, or of numbers, in JSON."""
    if array.ndim == 1 and array.dtype == object:
        values = array.tolist()
        if all(isinstance(value, str) for value in values):
            return {"type": _OBJECT, "values": [str(value) for value in values]}
        other = next(value for value in values if not isinstance(value, str))
        raise TypeError(
            "a file cannot hold an array of type object with an entry of type "
            f"{type(other).__name__}; only strings may be in it"
        )
    if array.ndim != 1 or not _TYPE.fullmatch(array.dtype.str):
        raise TypeError(f"a file cannot hold {_described(array)}")
    if array.dtype.kind == "U" and array.nbytes > MAX_LABEL_BYTES:
        raise TypeError(
            f"strings of a fixed width that take {array.nbytes} bytes are too many for a file; "
            "with astype(object) they take only what they need"
        )
    return {"type": array.dtype.str, "values": [to_json(value) for value in array.tolist()]}


def labels_from_json(state: Any) -> AnyArray:
    """Turn back what `labels_to_json` has said."""
    if not isinstance(state, dict) or state.keys() != {"type", "values"}:
        raise ValueError("an array needs a type and values")
    kind, values = state["type"], from_json(_list(state["values"]))
    if kind == _OBJECT:
        array = np.empty(len(values), dtype=object)
        array[:] = values
    elif isinstance(kind, str) and _TYPE.fullmatch(kind):
        dtype = np.dtype(kind)
        if dtype.kind == "U" and dtype.itemsize * len(values) > MAX_LABEL_BYTES:
            raise ValueError(f"an array of type {kind} would take too much memory")
        array = np.array(values, dtype=dtype)
    else:
        raise ValueError(f"an array has the unknown type {str(kind)[:40]!r}")
    # The way back shows whether a value was cut, rounded or of another type.
    try:
        again = labels_to_json(array)
    except TypeError as error:
        raise ValueError(str(error)) from error
    if again != state or list(map(type, again["values"])) != list(map(type, state["values"])):
        raise ValueError(f"an array of type {kind} has values that are not of that type")
    return array


# --- arrays of several ------------------------------------------------------------------------


def _array_to_json(array: AnyArray) -> dict[str, Any]:
    """Say an array in JSON; one of several dimensions with its shape."""
    if array.ndim < 2 or array.dtype == object:
        return labels_to_json(array)
    return {**labels_to_json(array.ravel()), "shape": list(array.shape)}


def _array_from_json(state: Any) -> AnyArray:
    """Turn back what `_array_to_json` has said."""
    if not isinstance(state, dict) or "shape" not in state:
        return labels_from_json(state)
    flat = labels_from_json({name: state[name] for name in state if name != "shape"})
    shape = _list(state["shape"])
    sound = 2 <= len(shape) <= _MAX_DEPTH and all(type(n) is int and n >= 0 for n in shape)
    if not sound or flat.dtype == object or math.prod(shape) != len(flat):
        raise ValueError("an array has a shape that its values do not have")
    return flat.reshape(shape)


_READERS: dict[str, Callable[[Any], Any]] = {
    "float": _float,
    "tuple": _tuple,
    "dict": _dict,
    "array": _array_from_json,
}
