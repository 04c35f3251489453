"""`from_json` of damaged texts: our own error, or exactly the model that the text says."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import obliqua
from export_cases import case, mixed_table
from obliqua.errors import ModelFileError
from obliqua.export.computation import Computation
from obliqua.tree.model import Model

NAMES = ("by hand", "levels and gaps", "small forest", "linear leaves", "pairs")
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, 1e999, 5e-324, 2**31, 2**63, 10**400,
    -(2**100), "", "1", "left", "numeric", "mean", "vote", "leaf", "hyperplane", [], [0], [[0]],
    {}, {"a": 1}, {"float": "nan"}, {"tuple": [1]},
    {"array": {"type": "<U99999999", "values": ["a"]}},
]  # fmt: skip


@cache
def fields_of(name: str) -> dict[str, Any]:
    """A text, small enough to be read often."""
    if name == "small forest":
        table, labels, _ = mixed_table(100)
        small = obliqua.ObliqueForestClassifier(2, max_depth=3, random_state=0)
        model = small.fit(table, labels)
    else:
        model = case(name)[0]
    fields: dict[str, Any] = json.loads(obliqua.export_json(model, n_tests=10))
    return fields


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a text, as the names and numbers that lead there."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


def damaged(fields: dict[str, Any], path: tuple[Any, ...], rng: random.Random) -> Any:
    """The fields with one thing dropped, doubled, moved, renamed or replaced."""
    made = copy.deepcopy(fields)
    if not path:
        return rng.choice(VALUES)
    inside = made
    for key in path[:-1]:
        inside = inside[key]
    key, kind = path[-1], rng.randrange(6)
    if kind == 0:
        del inside[key]
    elif kind == 1 and isinstance(inside, list):
        inside.insert(key, copy.deepcopy(inside[key]))
    elif kind == 1:
        inside[f"{key} "] = copy.deepcopy(inside[key])
    elif kind == 2 and isinstance(inside, list):
        rng.shuffle(inside)
    elif kind == 3 and type(inside[key]) in (int, float):
        inside[key] += rng.choice([1, -1, 1e-3, 2**40])
    else:
        inside[key] = copy.deepcopy(rng.choice(VALUES))
    return made


def outcome(text: str) -> Any:
    try:
        return obliqua.from_json(text)
    except ModelFileError:
        return None


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_damaged(name: str) -> None:
    """A text that is taken says what the model says: nothing in it was left out or changed."""
    fields, rng = fields_of(name), random.Random(7)
    every = list(places(fields))
    chosen = sorted(every, key=len)[:150] + rng.sample(every, 150)
    taken = 0
    for path in chosen:
        made = damaged(fields, path, rng)
        again = outcome(json.dumps(made))
        if again is None:
            continue
        taken += 1
        written = json.loads(obliqua.export_json(again, n_tests=0))
        for said in (written, made):
            said.pop("tests")
            said.pop("written_by")
        about, other = made.pop("about"), written.pop("about")
        assert written == made, path
        assert about == other or path[0] == "about", path
    assert taken < 0.5 * len(chosen)


@pytest.mark.parametrize("name", ["by hand", "small forest"])
def test_whatever_happens_to_the_characters(name: str) -> None:
    text, rng = json.dumps(fields_of(name)), random.Random(3)
    inner = Computation.of(obliqua.from_json(text)).model
    for _ in range(150):
        start = rng.randrange(len(text))
        end = min(start + rng.choice([0, 1, 1, 5, 300]), len(text))
        put = rng.choice(
            ["", "9", "-", "e9", '"', "{", "]", ",", "NaN", "1e999", "\x00", "\ud800"]
        )
        made = outcome(text[:start] + put + text[end:])
        if made is not None:
            assert Computation.of(made).model.task == inner.task
    for length in (0, 1, 10, len(text) // 2, len(text) - 1):
        assert outcome(text[:length]) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "obliqua tree", "format": "obliqua tree"}', "same key twice"),
        ('{"format": NaN}', "NaN is not JSON"),
        ("9" * 5000, "no JSON"),
        ('{"a":' * 100_000, "no JSON"),
        (b"\xff\xfe\xfa", "no JSON"),
        ("\ufeff{}", "no JSON"),
        ("null", "none that export_json"),
    ],
)
def test_texts_that_are_no_json_of_ours(text: str | bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        obliqua.from_json(text)


def test_a_deep_parameter_is_refused() -> None:
    deep = "[" * 900 + "]" * 900
    fields = {**fields_of("levels and gaps")}
    text = json.dumps(fields).replace(
        '"parameters": {', f'"parameters": {{"criterion": {deep},', 1
    )
    assert outcome(text) is None


def test_an_integer_that_nothing_could_write_is_refused() -> None:
    fields = copy.deepcopy(fields_of("levels and gaps"))
    fields["about"]["parameters"]["random_state"] = 2**1024
    with pytest.raises(ModelFileError, match="more than 1024 bits"):
        obliqua.from_json(json.dumps(fields))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_bytes_and_other_layouts_are_read(encoding: str) -> None:
    fields = fields_of("by hand")
    text = json.dumps(fields, indent=3, ensure_ascii=False, sort_keys=True)
    assert obliqua.from_json(text.encode(encoding)) == obliqua.from_json(json.dumps(fields))


def test_a_changed_split_is_noticed_by_the_tests() -> None:
    fields = copy.deepcopy(fields_of("pairs"))
    fields["trees"][0]["nodes"][0]["planes"][0]["threshold"] += 0.7
    with pytest.raises(ModelFileError, match=r"fields\.tests\[\d+\]\..* is not what"):
        obliqua.from_json(json.dumps(fields))
    fields["tests"] = []
    obliqua.from_json(json.dumps(fields))


def test_texts_that_json_cannot_give_back_are_refused() -> None:
    model = case("by hand")[0]
    odd = Model(model.trees, "single", model.encoding, np.array(["a", "\ud83d\ude00", "c"]))
    with pytest.raises(TypeError, match="two half characters"):
        obliqua.export_json(odd)
    whole = Model(model.trees, "single", model.encoding, np.array(["a", "\U0001f600", "\ud83d"]))
    assert obliqua.from_json(obliqua.export_json(whole)) == whole


@np.errstate(over="ignore")
def test_answers_beyond_all_numbers_are_no_tests() -> None:
    builder = obliqua.TreeBuilder(1, n_outputs=1)
    builder.add_split("root", {0: 1.0}, 0.5, ["a", "b"])
    builder.set_leaf("a", value=2.0)
    builder.set_leaf("b", value=3.0)
    stats = [[0.0, 0.0, 0.0], [0.0, 1.7e308, 0.0], [0.0, 3.0, 0.0]]
    tree = replace(builder.build(), stats=np.array(stats))
    model = Model((tree, tree), "sum", Model.of_tree(tree).encoding, np.array([]))
    tests = json.loads(obliqua.export_json(model))["tests"]
    assert {test["leaves"][0] for test in tests} == {2}
    assert obliqua.from_json(obliqua.export_json(model)) == model


def test_an_empty_qualitative_column_has_no_levels() -> None:
    table = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": pd.Series([None] * 4, dtype=object)})
    model = obliqua.CartClassifier(min_samples_leaf=1, pruning=None).fit(table, [0, 0, 1, 1])
    text = obliqua.export_json(model)
    assert json.loads(text)["columns"][1] == {
        "name": "b", "kind": "qualitative", "levels": [], "others": False,
    }  # fmt: skip
    assert obliqua.from_json(text).model_ == model.model_
