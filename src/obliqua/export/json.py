"""A model as JSON for other programs: every node with what it asks and what it says.

docs/reference/json.md describes the fields, and `schema` gives them as a JSON schema. The text
holds all that the model holds, so that `model_of_json` makes the same trees of it, bit for bit.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.errors import ModelFileError
from obliqua.export.computation import Computation, Part, raw_value
from obliqua.export.cost import Bytes, estimated_bytes, warn_if_large
from obliqua.export.self_test import SelfTest, answered
from obliqua.io.values import from_json, labels_from_json, labels_to_json, to_json
from obliqua.tree.layout import (
    NO_ORIGIN,
    NOT_RELABELLED,
    UNKNOWN_ROWS,
    MissingSide,
    NodeKind,
    first_children,
    pointers,
)
from obliqua.tree.model import COMBINATIONS, Model
from obliqua.tree.packed import PackedTrees
from obliqua.tree.tree import Tree

__all__ = ["FORMAT", "VERSION", "json_of_model", "model_of_json", "schema"]

#: What the first fields of every text say.
FORMAT, VERSION = "obliqua tree", 1
KINDS = {
    NodeKind.LEAF: "leaf",
    NodeKind.HYPERPLANE: "hyperplane",
    NodeKind.LEVELS: "levels",
    NodeKind.MACHINE: "machine",
}
SIDES = {MissingSide.NONE: None, MissingSide.LEFT: "left", MissingSide.RIGHT: "right"}

Fields = dict[str, Any]

_HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_BYTES = Bytes(170, 95, 20, 9)  # as measured on forests


def schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what `export_json` writes.

    Returns
    -------
    dict
        The schema. It is also a file of the package, ``obliqua/export/json_schema.json``.

    Examples
    --------
    >>> from obliqua.export.json import schema
    >>> schema()["properties"]["format"]
    {'const': 'obliqua tree'}
    """
    text = Path(__file__).with_name("json_schema.json").read_text("ascii")
    fields: dict[str, Any] = json.loads(text)
    return fields


# --- writing ---------------------------------------------------------------------------------


def json_of_model(
    computation: Computation, about: Mapping[str, Any], test: SelfTest, indent: int | None = None
) -> str:
    """Write a model with its self-test as JSON."""
    size = estimated_bytes(computation, _BYTES, tables_repeat=True)
    warn_if_large(computation, "The JSON text", size)
    fields = fields_of(computation, about, test)
    _check_text([{**fields, "trees": None}, [tree["origins"] for tree in fields["trees"]]])
    return json.dumps(
        fields,
        allow_nan=False,
        indent=indent,
        separators=(",", ":") if indent is None else None,
    )


def _check_text(value: Any) -> None:
    """Raise if JSON would not give a text back as it is."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for entry in value:
            _check_text(entry)
    elif isinstance(value, str) and _HALVES.search(value):
        raise TypeError(
            f"JSON cannot hold the text {value!r:.60}: of two half characters (surrogates) side "
            "by side it makes a whole one. Strings must be valid Unicode."
        )


def fields_of(computation: Computation, about: Mapping[str, Any], test: SelfTest) -> Fields:
    """Return what the JSON text says, as dicts and lists."""
    model = computation.model
    fields: Fields = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"obliqua {version('obliqua')}",
        "about": dict(about),
        "task": model.task,
        "columns": columns_of(model.encoding),
        "classes": labels_to_json(model.classes),
        "combine": model.combine,
        "finish": computation.finish,
        "start": computation.start,
        "trees": [_tree_fields(part, model) for part in computation.parts()],
        "tests": tests_of(computation, test),
    }
    if model._packed is not None:
        fields["forest"] = _forest_fields(model._packed)
    return fields


def columns_of(encoding: Encoding) -> list[Fields]:
    """Return what is said of the columns."""
    columns = []
    for column in encoding.columns:
        entry: Fields = {"name": column.name, "kind": column.kind}
        if column.kind == QUALITATIVE:
            entry["levels"] = [to_json(level) for level in column.levels]
            entry["others"] = column.others
        columns.append(entry)
    return columns


def tests_of(computation: Computation, test: SelfTest) -> list[Fields]:
    """Return the rows of the self-test as a user has them, with their answers."""
    columns, classes = computation.columns, computation.model.classes
    tests = []
    for row, leaves, answer, label in zip(
        test.rows.tolist(), test.leaves.tolist(), test.answers.tolist(), test.labels, strict=True
    ):
        values = [
            to_json(raw_value(column, entry)) for column, entry in zip(columns, row, strict=True)
        ]
        said: Fields = {"row": values, "leaves": leaves, "answer": answer}
        if not computation.says_numbers:
            said["label"] = to_json(classes[label])
        tests.append(said)
    return tests


def _tree_fields(part: Part, model: Model) -> Fields:
    tree = part.tree
    fields: Fields = {"task": tree.task, "origins": list(tree.origin_labels)}
    if tree.loss != "squared_error":
        fields["loss"] = tree.loss
    if tree.costs:
        fields["costs"] = [list(row) for row in tree.costs]
    fields["nodes"] = [
        _node_fields(part, node, not model.n_classes) for node in range(tree.n_nodes)
    ]
    return fields


def _node_fields(part: Part, node: int, says_numbers: bool) -> Fields:
    tree, kind = part.tree, NodeKind(part.tree.kind[node])
    first, n_children = int(tree.first_child[node]), int(tree.n_children[node])
    fields: Fields = {"kind": KINDS[kind]}
    if kind != NodeKind.LEAF:
        fields["children"] = list(range(first, first + n_children))
        planes = range(int(tree.plane_ptr[node]), int(tree.plane_ptr[node + 1]))
        fields["planes"] = [_plane_fields(tree, plane) for plane in planes]
    fields["says"] = part.said[node].tolist()
    if not says_numbers:
        fields["chooses"] = int(part.chosen[node])
    if tree.has_lines:
        fields["line"] = {
            "intercept": float(tree.leaf_intercept[node]),
            "terms": _terms(tree, "leaf_", int(tree.leaf_ptr[node]), int(tree.leaf_ptr[node + 1])),
            "low": float(tree.leaf_low[node]),
            "high": float(tree.leaf_high[node]),
            "gain": float(tree.leaf_gain[node]),
        }
    fields["rows"] = int(tree.n_samples[node]) if tree.n_samples[node] >= 0 else None
    fields["stats"] = tree.stats[node].tolist()
    if kind != NodeKind.LEAF:
        fields["gain"] = _or_null(tree.gain[node])
        fields["axis_gain"] = _or_null(tree.axis_gain[node])
    if kind != NodeKind.LEAF or tree.origin[node] != NO_ORIGIN:
        fields["origin"] = int(tree.origin[node])
    if len(tree.relabelled) and tree.relabelled[node] != NOT_RELABELLED:
        fields["relabelled"] = int(tree.relabelled[node])
    return fields


def _plane_fields(tree: Tree, plane: int) -> Fields:
    begin, end = int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])
    return {
        "terms": _terms(tree, "", begin, end),
        "threshold": float(tree.threshold[plane]),
        "missing": SIDES[MissingSide(tree.missing_side[plane])],
    }


class _Names(NamedTuple):
    """The arrays of the terms of splits, or of linear functions."""

    idx: str
    coef: str
    fill: str
    spread: str
    table_ptr: str
    table: str


def _names(prefix: str) -> _Names:
    idx = "leaf_idx" if prefix else "coef_idx"
    others = (f"{prefix}{name}" for name in ("coef", "fill", "spread", "table_ptr", "table"))
    return _Names(idx, *others)


def _terms(tree: Tree, prefix: str, begin: int, end: int) -> list[Fields]:
    arrays = [getattr(tree, name) for name in _names(prefix)]
    idx, coef, fill, spread, table_ptr, table = arrays
    terms = []
    for k in range(begin, end):
        term: Fields = {
            "column": int(idx[k]),
            "coefficient": float(coef[k]),
            "stand_in": _or_null(fill[k]),
            "spread": _or_null(spread[k]),
        }
        if table_ptr[k + 1] > table_ptr[k]:
            term["table"] = table[table_ptr[k] : table_ptr[k + 1]].tolist()
        terms.append(term)
    return terms


def _or_null(number: float) -> float | None:
    return None if number != number else float(number)


def _forest_fields(packed: PackedTrees) -> Fields:
    """Return what a forest has that its nodes do not say."""
    return {
        "criterion": packed.criterion,
        "stand_in": packed.stand_in.tolist(),
        "level_numbers": np.diff(packed.level_ptr).tolist(),
        "levels": packed.level.tolist(),
        "leaf_weight": packed.leaf_weight.tolist(),
    }


# --- reading ---------------------------------------------------------------------------------


def model_of_json(text: str | bytes) -> tuple[Model, Fields]:
    """Make the model again, and return what is said about it."""
    try:
        fields = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"The text is no JSON: {str(error)[:300]}") from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise ModelFileError("The text is JSON, but none that export_json has written.")
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise ModelFileError(
            f"The text is in version {fields.get('version')!r:.40} of the format; this is obliqua "
            f"{version('obliqua')}, which reads version {VERSION}. Upgrade obliqua."
        )
    try:
        with np.errstate(all="ignore"):
            model = _model(fields)
            _check_said(fields, model)
        return model, fields["about"]
    except Exception as error:
        # Whatever stumbled over a text that is none of ours, a reader shall see one error.
        raise ModelFileError(
            "The text is damaged, or was not written by export_json: "
            f"{type(error).__name__}: {str(error)[:300]}"
        ) from error


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> Fields:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _model(fields: Fields) -> Model:
    columns = [
        {**entry, "levels": [from_json(level) for level in entry.get("levels", [])]}
        for entry in fields["columns"]
    ]
    encoding = Encoding.from_dict({"columns": columns})
    classes = labels_from_json(_with_floats(fields["classes"]))
    if fields["combine"] not in COMBINATIONS:
        raise ValueError(f"trees are combined as {fields['combine']!r:.60}, which is not known")
    trees: Sequence[Tree] = [_tree(tree, encoding.n_columns) for tree in fields["trees"]]
    if "forest" in fields:
        trees = _packed(trees, _dict(fields["forest"]), len(classes))
    return Model(trees, fields["combine"], encoding, classes)


def _with_floats(labels: Any) -> Any:
    """Return labels that are floats as floats: other programs write 1 for 1.0."""
    if not isinstance(labels, dict) or str(labels.get("type"))[1:2] != "f":
        return labels
    values = [float(v) if type(v) is int else v for v in _list(labels.get("values"))]
    return {**labels, "values": values}


def _check_said(fields: Fields, model: Model) -> None:
    """Raise unless the text is the one that the model is written as, and its tests hold."""
    computation = Computation(model, model.rows)
    about, tests = _dict(fields["about"]), _list(fields["tests"])
    again = fields_of(computation, about, answered(computation, _rows(computation, tests)))
    for said, test in zip(again["tests"], tests, strict=True):
        said["row"] = test["row"]  # in which an unknown level may be another one
    if isinstance(fields.get("written_by"), str):
        again["written_by"] = fields["written_by"]
    place = _difference(fields, {**again, "about": fields["about"]})
    if place is not None:
        raise ValueError(f"fields{place} is not what the other fields make of it")


def _rows(computation: Computation, tests: list[Fields]) -> FloatArray:
    """Return the rows of the tests as trees walk them."""
    columns = computation.columns
    rows = [
        [_entry(column, from_json(value)) for column, value in zip(columns, row, strict=True)]
        for row in (test["row"] for test in tests)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(tests), len(columns))


def _entry(column: Column, value: Any) -> float:
    if value is None:
        return math.nan
    if column.kind == QUALITATIVE:
        return float(column.code(value))
    if type(value) not in (int, float):
        raise ValueError(f"a row has {value!r:.60} in the column of numbers {column.name!r:.60}")
    return float(value)


def _difference(given: Any, again: Any) -> str | None:
    """Return where a value first differs from what it must be."""
    if isinstance(again, dict):
        if not isinstance(given, dict) or given.keys() != again.keys():
            return ""
        pairs = [(f".{name}", given[name], entry) for name, entry in again.items()]
    elif isinstance(again, list):
        if not isinstance(given, list) or len(given) != len(again):
            return ""
        pairs = [(f"[{k}]", *both) for k, both in enumerate(zip(given, again, strict=True))]
    elif type(again) in (int, float) and type(given) in (int, float):
        # A number that follows from others may differ in a last bit on another machine.
        near = type(again) is float and math.isclose(given, again, abs_tol=1e-9)
        return None if given == again or near else ""
    else:
        return None if type(given) is type(again) and given == again else ""
    for name, one, two in pairs:
        place = _difference(one, two)
        if place is not None:
            return f"{name}{place}"
    return None


def _tree(fields: Fields, n_features: int) -> Tree:
    nodes = [_dict(node) for node in fields["nodes"]]
    kinds = {name: kind for kind, name in KINDS.items()}
    kind = np.array([kinds[node["kind"]] for node in nodes], dtype=np.uint8)
    n_children = np.array([len(node.get("children", ())) for node in nodes], dtype=np.int32)
    planes = [plane for node in nodes for plane in node.get("planes", ())]
    sides = {name: side for side, name in SIDES.items()}
    arrays: Fields = {
        "n_features": n_features,
        "kind": kind,
        "first_child": first_children(n_children),
        "n_children": n_children,
        "plane_ptr": pointers([len(node.get("planes", ())) for node in nodes], np.int32),
        "coef_ptr": pointers([len(plane["terms"]) for plane in planes]),
        **_term_arrays([term for plane in planes for term in plane["terms"]], ""),
        "threshold": _floats([plane["threshold"] for plane in planes]),
        "missing_side": np.array([sides[plane["missing"]] for plane in planes], dtype=np.uint8),
        "stats": _floats([node["stats"] for node in nodes]),
        "n_samples": _integers(
            [UNKNOWN_ROWS if node["rows"] is None else node["rows"] for node in nodes]
        ),
        "gain": _floats([node.get("gain", 0.0) for node in nodes]),
        "axis_gain": _floats([node.get("axis_gain") for node in nodes]),
        "origin": _integers([node.get("origin", NO_ORIGIN) for node in nodes]),
        "relabelled": _integers([node.get("relabelled", NOT_RELABELLED) for node in nodes]),
        "origin_labels": [str(label) for label in fields["origins"]],
        "task": fields["task"],
        "loss": fields.get("loss", "squared_error"),
        "costs": fields.get("costs", []),
    }
    if nodes and "line" in nodes[0]:
        lines = [node["line"] for node in nodes]
        arrays |= _term_arrays([term for line in lines for term in line["terms"]], "leaf_")
        arrays["leaf_ptr"] = pointers([len(line["terms"]) for line in lines])
        for name in ("intercept", "low", "high", "gain"):
            arrays[f"leaf_{name}"] = _floats([line[name] for line in lines])
    return Tree.from_arrays(arrays)


def _term_arrays(terms: list[Fields], prefix: str) -> dict[str, AnyArray]:
    """Return the arrays of the terms of splits, or of linear functions."""
    names = _names(prefix)
    tables = [term.get("table", []) for term in terms]
    return {
        names.idx: _integers([term["column"] for term in terms]),
        names.coef: _floats([term["coefficient"] for term in terms]),
        names.fill: _floats([term["stand_in"] for term in terms]),
        names.spread: _floats([term["spread"] for term in terms]),
        names.table_ptr: pointers([len(table) for table in tables]),
        names.table: _floats([entry for table in tables for entry in table]),
    }


class _Columns(NamedTuple):
    """What all trees of a forest know of the columns."""

    stand_in: FloatArray
    level_ptr: Int64Array


def _packed(trees: Sequence[Tree], forest: Fields, n_classes: int) -> PackedTrees:
    """Pack the trees of a forest again."""
    columns = _Columns(_floats(forest["stand_in"]), pointers(_integers(forest["level_numbers"])))
    level = _floats(forest["levels"]).reshape(len(trees), -1)
    packed = PackedTrees.of_trees(trees, level, columns, n_classes, str(forest["criterion"]))
    packed = replace(packed, leaf_weight=_floats(forest["leaf_weight"]))
    packed.validate()
    return packed


def _dict(value: Any) -> Fields:
    if not isinstance(value, dict):
        raise ValueError("an object is missing")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a list is missing")
    return value


def _floats(values: Any) -> FloatArray:
    """Return numbers as an array, NaN for null."""
    return np.array(values, dtype=np.float64)


def _integers(values: Any) -> Int64Array:
    return np.array([int(value) for value in values], dtype=np.int64)
