"""The JSON schema takes every text of `export_json`, and refuses what it should."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

import obliqua
from export_cases import MAKERS, case
from obliqua.export.json import schema
from obliqua.tree.model import Model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json.md"
SCHEMA = schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def fields_of(model: Any) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(obliqua.export_json(model, n_tests=20))
    return fields


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", MAKERS)
def test_every_text_fits(name: str) -> None:
    assert list(VALIDATOR.iter_errors(fields_of(case(name)[0]))) == []


def test_other_estimators_fit() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    models = [
        obliqua.CartClassifier(class_weight={0: 1.0, 1: 2.5}, pruning=None).fit(X, y),
        obliqua.ObliqueTreeClassifier(lambda node: [[1.0, 1.0]], pruning=None).fit(X, y == 1),
        obliqua.CartRegressor(criterion="absolute_error", pruning=None).fit(X, X[:, 0]),
        obliqua.RepeatedTreesClassifier(obliqua.CartClassifier(), random_state=0).fit(X, y),
        obliqua.CartClassifier(pruning=None).fit(X, y).tree_,
        obliqua.CartClassifier(costs=[[0, 1], [2, 0]], pruning=None).fit(X, y),
        Model.of_tree(obliqua.CartClassifier(pruning=None).fit(X, y).tree_),
    ]
    for model in models:
        assert list(VALIDATOR.iter_errors(fields_of(model))) == []


def objects(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all objects with named fields of ours in a text."""
    if isinstance(value, list):
        return [place for k, entry in enumerate(value) for place in objects(entry, (*path, k))]
    if not isinstance(value, dict) or path[:1] == ("about",):
        return []
    inside = [place for key in value for place in objects(value[key], (*path, key))]
    return [path, *inside]


def at(fields: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        fields = fields[key]
    return fields


def shortened(fields: dict[str, Any]) -> dict[str, Any]:
    """The first nodes and tests only: a schema does not count them."""
    fields["trees"], fields["tests"] = fields["trees"][:1], fields["tests"][:2]
    fields["trees"][0]["nodes"] = fields["trees"][0]["nodes"][:8]
    return fields


@pytest.mark.parametrize("name", ["by hand", "sets of levels", "linear leaves", "forest"])
def test_fields_too_many_or_too_few_do_not_fit(name: str) -> None:
    fields = shortened(fields_of(case(name)[0]))
    VALIDATOR.validate(fields)
    for path in objects(fields):
        here = at(fields, path)
        here["more"] = 1
        assert not VALIDATOR.is_valid(fields), path
        del here["more"]
        for key in list(here):
            gone = here.pop(key)
            of_levels = path[-1:] != () and at(fields, path[:4]).get("kind") == "levels"
            optional = key in ("forest", "line") or (key == "table" and not of_levels)
            assert VALIDATOR.is_valid(fields) == optional, (*path, key)
            here[key] = gone


WRONG = [
    (("version",), 2),
    (("task",), "regression"),
    (("combine",), "most"),
    (("start",), None),
    (("trees",), []),
    (("classes", "type"), "<x3"),
    (("classes", "values"), []),
    (("columns", 0, "kind"), "qualitative"),
    (("columns", 2, "others"), 0),
    (("trees", 0, "nodes", 0, "kind"), "fork"),
    (("trees", 0, "nodes", 0, "kind"), "leaf"),
    (("trees", 0, "nodes", 0, "kind"), "machine"),
    (("trees", 0, "nodes", 0, "planes", 0, "terms", 0, "table", 0), 0.5),
    (("trees", 0, "nodes", 0, "planes", 0, "terms", 0, "coefficient"), 2),
    (("trees", 0, "nodes", 1, "planes", 0, "missing"), "up"),
    (("trees", 0, "nodes", 1, "planes", 0, "threshold"), "0.5"),
    (("trees", 0, "nodes", 1, "planes", 0, "terms", 0, "column"), -1),
    (("trees", 0, "nodes", 1, "planes", 0, "terms", 0, "spread"), -1),
    (("trees", 0, "nodes", 1, "children", 0), 0),
    (("trees", 0, "nodes", 2, "planes", 0, "missing"), "left"),
    (("trees", 0, "nodes", 4, "says"), None),
    (("trees", 0, "nodes", 4, "rows"), 1.5),
    (("tests", 0, "leaves"), []),
    (("tests", 0, "label"), None),
]


@pytest.mark.parametrize(("path", "value"), WRONG)
def test_wrong_values_do_not_fit(path: tuple[Any, ...], value: Any) -> None:
    fields = fields_of(case("by hand")[0])
    at(fields, path[:-1])[path[-1]] = value
    assert not VALIDATOR.is_valid(fields)


def test_every_field_is_described_on_the_page() -> None:
    page = PAGE.read_text("utf-8")
    names: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            names.update(value.get("properties", {}))
            value = list(value.values())
        if isinstance(value, list):
            for entry in value:
                collect(entry)

    collect({key: SCHEMA[key] for key in ("properties", "$defs")})
    names.update(SCHEMA["properties"])
    assert len(names) > 40
    missing = [name for name in sorted(names) if not re.search(rf"`\"?{name}\"?`", page)]
    assert not missing
