"""`export_json`: the text says what the model computes, and gives the same model back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import obliqua
from export_cases import MAKERS, case, equal_to, mixed_table, raw_rows
from obliqua.errors import ModelFileError, TreeError
from obliqua.explain.contributions import contributions
from obliqua.export.computation import Computation
from obliqua.export.self_test import self_test
from reference.exported import Exported, NoAnswer


@pytest.mark.parametrize("name", MAKERS)
def test_the_text_computes_what_the_model_does(name: str) -> None:
    model, rows = case(name)
    rows = rows[-120:]
    exported, inner = Exported(obliqua.export_json(model)), Computation.of(model).model
    leaves = inner.apply(rows).reshape(len(rows), -1)
    answers = inner.predict_proba(rows) if inner.n_classes else inner.predict(rows)
    for row, leaf, answer in zip(raw_rows(model, rows), leaves, answers, strict=True):
        assert exported.leaves(row) == leaf.tolist()
        assert exported.answer(row) == equal_to(inner, np.atleast_1d(answer))
    if inner.n_classes:
        labels = inner.predict(rows).tolist()
        assert [exported.label(row) for row in raw_rows(model, rows)] == labels


@pytest.mark.parametrize("name", MAKERS)
def test_the_text_gives_the_same_model_back(name: str) -> None:
    model, rows = case(name)
    text = obliqua.export_json(model)
    again = obliqua.from_json(text)
    assert type(again) is type(model)
    assert Computation.of(again).model == Computation.of(model).model
    assert obliqua.export_json(again) == text
    assert text.isascii()
    same = Computation.of(again).model.apply(rows) == Computation.of(model).model.apply(rows)
    assert same.all()


@pytest.mark.parametrize("name", MAKERS)
def test_the_self_test_holds(name: str) -> None:
    model, _ = case(name)
    text = obliqua.export_json(model)
    exported, tests = Exported(text), json.loads(text)["tests"]
    assert len(tests) > 3
    for test in tests:
        assert exported.leaves(test["row"]) == test["leaves"]
        assert exported.answer(test["row"]) == test["answer"]
        if "label" in test:
            assert exported.label(test["row"]) == test["label"]
    if len(exported.fields["trees"]) == 1:
        reached = {test["leaves"][0] for test in tests}
        n_leaves = sum(node["kind"] == "leaf" for node in exported.fields["trees"][0]["nodes"])
        # Some leaves are reached by no row at all, or by odd ones only.
        assert len(reached) >= 0.75 * n_leaves


def test_the_tests_are_rows_of_the_user_if_given() -> None:
    model, rows = case("one oblique tree")
    fields = json.loads(obliqua.export_json(model, test_rows=rows[:5]))
    assert [test["row"] for test in fields["tests"]] == raw_rows(model, rows[:5])
    assert json.loads(obliqua.export_json(model, n_tests=0))["tests"] == []


def _damaged(change: Any) -> str:
    model, _ = case("by hand")
    fields = json.loads(obliqua.export_json(model))
    change(fields)
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[1]", "none that export_json"),
        (_damaged(lambda f: f.update(version=2)), "version 2"),
        (_damaged(lambda f: f.pop("trees")), "damaged"),
        (_damaged(lambda f: f["trees"][0]["nodes"][0].update(kind="fork")), "damaged"),
        (
            _damaged(lambda f: f["trees"][0]["nodes"][0].update(children=[3, 4, 5])),
            r"children\[0\] is not what",
        ),
        (
            _damaged(lambda f: f["trees"][0]["nodes"][4].update(says=[1, 0, 0])),
            r"says\[0\] is not what",
        ),
        (_damaged(lambda f: f["trees"][0]["nodes"][1]["planes"][0].update(missing="up")), "up"),
        (_damaged(lambda f: f.update(combine="most")), "not known"),
    ],
)
def test_other_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        obliqua.from_json(text)


def test_a_missing_value_without_a_stand_in_has_no_answer() -> None:
    builder = obliqua.TreeBuilder(1, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ["a", "b"])
    builder.set_leaf("a", [1, 0])
    builder.set_leaf("b", [0, 1])
    exported = Exported(obliqua.export_json(builder.build()))
    assert exported.leaves([0.5]) == [1]
    with pytest.raises(NoAnswer):
        exported.leaves([None])


def test_an_estimator_that_weighs_its_trees_is_refused() -> None:
    X = np.random.default_rng(0).integers(0, 3, (60, 3)).astype(float)
    ensemble = RandomForestClassifier(3, max_depth=2, random_state=0)
    trees = obliqua.OrthogonalTreesClassifier(ensemble, random_state=0).fit(X, X[:, 0] > 1)
    for export in (obliqua.export_json, obliqua.export_onnx, obliqua.export_c):
        with pytest.raises(TreeError, match="weighs its trees"):
            export(trees)
    with pytest.raises(TreeError, match="weighs its trees"):
        contributions(trees, X)


def test_rows_of_the_self_test_have_whole_codes_and_gaps() -> None:
    table, labels, _ = mixed_table()
    table = table.fillna({"age": 50.0, "town": "Aa"})
    machine = obliqua.LMDTClassifier().fit(table, labels)
    codes = self_test(Computation.of(machine)).rows[:, 2:4]
    codes = codes[~np.isnan(codes)]
    assert (codes == np.floor(codes)).all()
    X = np.random.default_rng(0).normal(size=(80, 40))
    forest = obliqua.ObliqueForestClassifier(100, random_state=0).fit(X, X[:, 0] > 0)
    rows = self_test(Computation.of(forest)).rows
    assert np.isnan(rows).all(axis=1).any()
    assert np.isnan(rows[:, 0]).sum() > 1


def test_a_number_of_tests_that_makes_no_sense_is_refused() -> None:
    for export in (obliqua.export_json, obliqua.export_c, obliqua.export_onnx):
        with pytest.raises(ValueError, match="n_tests"):
            export(case("one oblique tree")[0], n_tests=-1)
