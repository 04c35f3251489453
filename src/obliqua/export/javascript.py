"""`export_javascript`: a model as one module for browsers and Node that needs nothing else.

The module is the model's data, written here, and two files that are the same for all models:
`javascript_model.js` computes with the data what docs/concepts/exported.md says, and
`javascript_module.js` is what a program calls.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from obliqua._typing import AnyArray
from obliqua.data.encoding import QUALITATIVE, Column
from obliqua.export.computation import Computation, Part, raw_value
from obliqua.export.cost import Bytes, estimated_bytes, warn_if_large
from obliqua.export.self_test import SelfTest, self_test
from obliqua.tree.layout import lengths, pointers, ranges
from obliqua.tree.tree import Tree

__all__ = ["export_javascript"]

_COMPUTES = Path(__file__).with_name("javascript_model.js")
_EXPORTS = Path(__file__).with_name("javascript_module.js")
_MOST_EXACT = 2**53  # of the integers that a number of JavaScript holds
_BYTES = Bytes(26, 32, 20, 1.5)  # as measured on forests


def export_javascript(model: Any, *, test_rows: Any = None, n_tests: int | None = None) -> str:
    """Write a model as a JavaScript module, for browsers and Node.

    The module needs nothing else. It has ``predict(row)``, ``predictProba(row)``, ``apply(row)``,
    ``selfTest()``, ``columns`` and ``classes``, and computes exactly what the library does: the
    same leaves, and the same numbers to the last bit.

    Parameters
    ----------
    model : estimator, Model or Tree
        A fitted estimator of obliqua, a `Model` or a `Tree`.
    test_rows : array-like of shape (n_rows, n_features), default=None
        Rows to keep with their answers, which ``selfTest()`` runs. By default rows are made of
        the trees, and no row of the data is in the text.
    n_tests : int, default=None
        The most rows of the self-test; by default as many as reach each leaf, if these are not
        too many. 0 leaves them out.

    Returns
    -------
    str
        The text of an ES module, in ASCII; by convention a file of it ends in ``.mjs``. It may
        stand in a ``<script type="module">`` of a page, too.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If it is something else, or has levels that JavaScript has no values for.

    Warns
    -----
    CostWarning
        If the text will be very long.

    See Also
    --------
    export_json : The trees as data, for programs in other languages.

    Examples
    --------
    >>> from obliqua import TreeBuilder, export_javascript
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1])
    >>> builder.set_leaf("high", [0, 5])
    >>> text = export_javascript(builder.build())
    >>> [line for line in text.splitlines() if line.startswith("export function")][:2]
    ['export function predict(row) {', 'export function predictProba(row) {']
    """
    computation = Computation.of(model)
    warn_if_large(computation, "A JavaScript module", estimated_bytes(computation, _BYTES))
    test = self_test(computation, test_rows, n_tests)
    classes = computation.model.classes.tolist()
    big = any(type(label) is int and abs(label) > _MOST_EXACT for label in classes)
    lines = [
        f"// A model of obliqua {version('obliqua')} as an ES module: import it with",
        '//   import { predict, predictProba, apply, selfTest } from "./tree.mjs";',
        "// or, where there is no such statement, const tree = await import(...).",
        "",
        "// The columns of a row. Those without levels are numbers.",
        "const COLUMNS = [",
        *(f"  {_column(column)}," for column in computation.columns),
        "];",
        "// The labels of the classes; none if the model says numbers.",
        f"const CLASSES = [{', '.join(_literal(label, big) for label in classes)}];",
        "// How the answer is made of what the leaves say.",
        f"const FINISH = {_literal(computation.finish)};",
        f"const START = {_literal(computation.start)};",
        f"const N_ANSWERS = {computation.n_answers};",
        "// The trees. The child of a leaf is -1 minus its number among the leaves.",
        "const TREES = [",
        # As JSON, which engines read faster than literals.
        *(f"  '{_written(_tree_fields(part))}'," for part in computation.parts()),
        "];",
        "// Rows with the leaves that they reach, their answers and the numbers of their classes.",
        "const TESTS = [",
        *(f"  {line}," for line in _tests(computation, test)),
        "];",
        "",
        "// --- What follows is the same for every model. " + 49 * "-",
        _EXPORTS.read_text("ascii"),
        _COMPUTES.read_text("ascii").replace("export function", "function"),
    ]
    return "\n".join(lines)


def _column(column: Column) -> str:
    levels = "null"
    if column.kind == QUALITATIVE:
        levels = f"[{', '.join(_literal(level) for level in column.levels)}]"
    return (
        f"{{ name: {_literal(column.name)}, levels: {levels}, others: {_literal(column.others)} }}"
    )


def _literal(value: Any, big: bool = False) -> str:
    """Write a value as JavaScript does, safe in a page; long or `big` integers as BigInt."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        # The end of a script, or the start of a comment, would be seen by a page first.
        return json.dumps(str(value)).replace("<", "\\u003c")
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value}n" if big or abs(value) > _MOST_EXACT else str(value)
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)  # NaN and Infinity are names in JavaScript
    raise TypeError(
        "JavaScript has text, numbers, true and false for levels and labels; got one of type "
        f"{type(value).__name__}: {value!r:.60}."
    )


def _written(fields: Mapping[str, Any]) -> str:
    """Write arrays and what holds them as JSON."""
    return json.dumps(fields, default=_numbers, separators=(",", ":"), allow_nan=False)


def _tree_fields(part: Part) -> dict[str, Any]:
    """Return a tree as `javascript_model.js` reads it."""
    tree = part.tree
    leaf = np.flatnonzero(tree.is_leaf)
    child = tree.first_child.astype(np.int64)
    child[leaf] = -1 - np.arange(len(leaf))
    fields: dict[str, Any] = {
        "kind": tree.kind,
        "child": child,
        "planes": tree.plane_ptr,
        "termsBegin": tree.coef_ptr,
        "threshold": tree.threshold,
        "missing": tree.missing_side if tree.missing_side.any() else None,
        "terms": _terms(tree, "", np.arange(len(tree.coef))),
        "says": part.said[leaf].ravel(),
        "chooses": part.chosen[leaf],
    }
    if tree.has_lines:
        # An inner node has a function too, which no row meets.
        counts = lengths(tree.leaf_ptr, leaf)
        fields["lines"] = {
            "begin": pointers(counts),
            "terms": _terms(tree, "leaf_", ranges(tree.leaf_ptr[leaf], counts)),
            **{name: getattr(tree, f"leaf_{name}")[leaf] for name in ("intercept", "low", "high")},
        }
    return fields


def _terms(tree: Tree, prefix: str, at: AnyArray) -> dict[str, Any]:
    """Return terms of splits or of linear functions; equal tables of levels are written once."""
    column, coef, fill, begin, table = (
        getattr(tree, name)
        for name in (
            f"{prefix or 'coef_'}idx",
            f"{prefix}coef",
            f"{prefix}fill",
            f"{prefix}table_ptr",
            f"{prefix}table",
        )
    )
    fields: dict[str, Any] = {"column": column[at], "coef": coef[at], "standIn": fill[at]}
    size = lengths(begin, at)
    written: dict[bytes, int] = {}
    tables: list[AnyArray] = []
    start, n_entries = np.zeros(len(at), dtype=np.int64), 0
    for place in np.flatnonzero(size).tolist():
        entries = table[begin[at[place]] : begin[at[place] + 1]]
        key = entries.tobytes()
        if key not in written:
            written[key], n_entries = n_entries, n_entries + len(entries)
            tables.append(entries)
        start[place] = written[key]
    fields["table"] = np.concatenate(tables) if tables else []
    if tables:
        fields |= {"tableStart": start, "tableSize": size}
    return fields


def _numbers(array: AnyArray) -> list[float | int | None]:
    """Return numbers as short as they can be written: 1 for 1.0, and null for NaN."""
    values = array.tolist()
    if array.dtype.kind != "f":
        return values
    return [_short(value) for value in values]


def _short(value: float) -> float | int | None:
    if value != value:
        return None
    # -0.0 is an integer as well, but one that integers do not have.
    if value.is_integer() and abs(value) < 1e15 and (value or str(value)[0] != "-"):
        return int(value)
    return value


def _tests(computation: Computation, test: SelfTest) -> Iterable[str]:
    """Write the rows of the self-test, each on a line."""
    for row, leaves, answer, label in zip(
        test.rows.tolist(),
        test.leaves.tolist(),
        test.answers.tolist(),
        test.labels.tolist(),
        strict=True,
    ):
        values = (
            _literal(raw_value(column, entry))
            for column, entry in zip(computation.columns, row, strict=True)
        )
        yield f"[{_list(values)}, {leaves}, {_list(map(_literal, answer))}, {label}]"


def _list(entries: Iterable[str]) -> str:
    return f"[{', '.join(entries)}]"
