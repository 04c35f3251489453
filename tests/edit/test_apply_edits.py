"""Edits done to trees: each row gets the answer that the slow twin gives it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import obliqua
from obliqua import Tree, TreeError, apply_edits
from obliqua.data.encoding import Column, Encoding
from obliqua.explain import importances
from obliqua.tree.layout import EDITED, NodeKind
from obliqua.tree.model import Model
from problems import examples
from reference import edits as twin
from reference.exported import NoAnswer
from strategies import N_LEVELS, numbers, rows, small, trees

LEVELS = tuple("abcd")
assert len(LEVELS) == N_LEVELS
CLASSES = np.array(["no", "yes", "perhaps"])
SHAPE = (2, 1, 3)  # two columns of numbers, one of levels; three classes, or one number
COLUMNS = (Column("x"), Column("y"), Column("town", "qualitative", LEVELS))


def model_of(tree: Tree) -> Model:
    classes = CLASSES if tree.task == "classification" else np.zeros(0)
    return Model((tree,), "single", Encoding(COLUMNS), classes)


def terms(draw: Any) -> list[dict[str, Any]]:
    columns = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True))
    listed = []
    for column in columns:
        named = draw(st.booleans())
        term: dict[str, Any] = {
            "column": COLUMNS[column].name if named else column,
            "coefficient": draw(small),
        }
        if column == 2:
            term["table"] = draw(st.lists(numbers, min_size=1, max_size=N_LEVELS))
        for name in ("stand_in", "spread"):
            value = draw(st.sampled_from(["absent", None, 0.5, 2.0]))
            if value != "absent":
                term[name] = value
        listed.append(term)
    return listed


@st.composite
def edits_of(draw: Any, tree: Tree) -> list[dict[str, Any]]:
    """Edits in the right form, some of which cannot be done."""
    listed: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(1, 4))):
        what = draw(st.sampled_from(["split", "split", "collapse", "label"]))
        # Mostly nodes that such an edit is for; others are refused.
        fits = {"label": tree.is_leaf, "collapse": ~tree.is_leaf, "split": tree.n_children == 2}
        nodes = np.flatnonzero(fits[what]).tolist() * 9 + list(range(tree.n_nodes + 1))
        edit: dict[str, Any] = {"node": draw(st.sampled_from(nodes)), "edit": what}
        if what == "label" and tree.task == "classification":
            edit["class"] = draw(st.sampled_from(CLASSES.tolist()))
        elif what == "label":
            edit["value"] = draw(st.one_of(small, st.lists(small, min_size=1, max_size=1)))
        elif what == "split" and draw(st.booleans()):
            branch = st.integers(0, 1)
            table = draw(st.lists(branch, min_size=1, max_size=N_LEVELS))
            term = {"column": 2, "coefficient": 1, "table": table, "stand_in": draw(branch)}
            plane: dict[str, Any] = {"terms": [term], "threshold": draw(branch), "missing": None}
            edit |= {"kind": "levels", "plane": plane}
        elif what == "split":
            side = draw(st.sampled_from([None, "left", "right"]))
            plane = {"terms": terms(draw), "threshold": draw(numbers), "missing": side}
            edit |= {"kind": "hyperplane", "plane": plane}
        listed.append(edit)
    return listed


def by_number(edits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same edits with columns by their numbers, as the twin takes them."""
    names = [column.name for column in COLUMNS]
    again = json.loads(json.dumps(edits))
    for edit in again:
        for term in edit.get("plane", {}).get("terms", []):
            if isinstance(term["column"], str):
                term["column"] = names.index(term["column"])
    return again


@st.composite
def tasks(draw: Any) -> tuple[Model, list[dict[str, Any]], np.ndarray]:
    every = trees(shape=SHAPE, filled=draw(st.booleans()))
    tree = draw(every.filter(lambda tree: tree.n_nodes > 1))
    if draw(st.booleans()):
        tree = replace(tree, task="regression")
    return model_of(tree), draw(edits_of(tree)), draw(rows(tree, missing=draw(st.booleans())))


def twin_of(model: Model, edits: list[dict[str, Any]]) -> list[twin.Node]:
    fields = json.loads(obliqua.export_json(model, n_tests=0))
    return twin.edited(fields, by_number(edits))[0]


def number_of(edited: Tree, nodes: list[twin.Node]) -> dict[int, int]:
    """Numbers that the nodes of the twin have in an edited tree."""
    found, waiting = {}, [(0, 0)]
    while waiting:
        old, new = waiting.pop()
        found[old] = new
        if nodes[old]["kind"] != "leaf":
            first = int(edited.first_child[new])
            assert len(nodes[old]["children"]) == edited.n_children[new]
            waiting += [(child, first + k) for k, child in enumerate(nodes[old]["children"])]
    return found


@given(tasks())
@examples(200)
def test_rows_get_the_answers_of_the_twin(task: Any) -> None:
    model, edits, Z = task
    before = obliqua.export_json(model, n_tests=0)
    try:
        nodes = twin_of(model, edits)
    except twin.Refused as refused:
        with pytest.raises(TreeError, match=rf"^Edit {refused.args[0]} of {len(edits)} \("):
            apply_edits(model, edits)
        return
    finally:
        assert obliqua.export_json(model, n_tests=0) == before
    edited = apply_edits(model, edits)
    tree = edited.trees[0]
    tree.validate()
    place = number_of(tree, nodes)
    assert sorted(place.values()) == list(range(tree.n_nodes))
    for row in Z:
        try:
            leaf, says, chooses = twin.answer(nodes, row.tolist())
        except NoAnswer:
            with pytest.raises(TreeError):
                tree.apply(row[None])
            continue
        assert tree.apply(row[None]).tolist() == [place[leaf]]
        if tree.task == "regression":
            assert edited.predict(row[None]).tolist() == says
        else:
            assert edited.predict(row[None]).tolist() == [CLASSES[chooses]]
            assert edited.predict_proba(row[None]).tolist() == [says]


@given(tasks())
@examples(100)
def test_what_is_not_known_any_more_is_marked_and_kept_by_files(task: Any) -> None:
    model, edits, _ = task
    try:
        nodes = twin_of(model, edits)
    except twin.Refused:
        return
    edited = apply_edits(model, edits)
    tree = edited.trees[0]
    for old, new in number_of(tree, nodes).items():
        node = nodes[old]
        assert tree.n_samples[new] == (-1 if node["rows"] is None else node["rows"])
        if node["kind"] == "leaf":
            continue
        for name in ("gain", "axis_gain"):
            known = math.nan if node[name] is None else node[name]
            np.testing.assert_equal(getattr(tree, name)[new], known)
        spreads = [term["spread"] for plane in node["planes"] for term in plane["terms"]]
        planes = tree.plane_ptr[new : new + 2]
        found = tree.spread[slice(*tree.coef_ptr[planes])]
        np.testing.assert_equal(found, np.array(spreads, dtype=float))
    touched = {edit["node"] for edit in edits} & number_of(tree, nodes).keys()
    marked = {number_of(tree, nodes)[node] for node in touched}
    origins = [tree.origin_labels[k] if k >= 0 else "" for k in tree.origin.tolist()]
    assert marked == {node for node, label in enumerate(origins) if label == EDITED}
    assert obliqua.from_json(obliqua.export_json(edited)) == edited


def counts(y: np.ndarray, weights: np.ndarray, n: int) -> list[float]:
    return np.bincount(y, weights, n).tolist()


@given(tasks(), st.integers(0, 2**32 - 1), st.booleans())
@examples(100)
def test_rows_are_counted_anew(task: Any, seed: int, weighted: bool) -> None:
    model, edits, Z = task
    rng = np.random.default_rng(seed)
    Z = Z[rng.integers(0, len(Z), 12)].astype(np.float64)
    frame = [[x, y, LEVELS[int(c)] if c in (0, 1, 2, 3) else "?"] for x, y, c in Z.tolist()]
    rows = [[x, y, c if c in (0, 1, 2, 3) else -1.0] for x, y, c in Z.tolist()]
    if np.isnan(Z).any():
        return
    numeric = model.task == "regression"
    y = rng.integers(0, 3, 12)
    weights = rng.integers(0, 3, 12).astype(float) if weighted else np.ones(12)
    weights[0] = 1.0
    try:
        nodes = twin_of(model, edits)
        before = [twin.answer(nodes, row) for row in rows]
    except (twin.Refused, NoAnswer):
        return
    said = y * 0.75 if numeric else CLASSES[y]
    table = np.array(frame, dtype=object)
    edited = apply_edits(model, edits, table, said, weights if weighted else None)
    tree = edited.trees[0]
    tree.validate()
    there = weights > 0
    passed = twin.counted(nodes, [row for row, kept in zip(rows, there, strict=True) if kept])
    y, weights = y[there], weights[there]
    place = number_of(tree, nodes)
    total = weights.sum()
    for old, new in place.items():
        here = passed[old]
        if not here:
            continue
        assert tree.n_samples[new] == len(here)
        children = [] if nodes[old]["kind"] == "leaf" else nodes[old]["children"]
        if not numeric:
            assert tree.stats[new].tolist() == counts(y[here], weights[here], 3)
            parts = [counts(y[passed[c]], weights[passed[c]], 3) for c in children]
            gain = twin.gini_gain(parts, total) if parts else 0.0
        else:
            values = [0.75 * y[rows] for rows in (here, *(passed[c] for c in children))]
            shares = [weights[rows] for rows in (here, *(passed[c] for c in children))]
            both = list(zip(values, shares, strict=True))
            means = [np.average(v, weights=w) if len(v) else 0.0 for v, w in both]
            errors = [(w * (v - m) ** 2).sum() for (v, w), m in zip(both, means, strict=True)]
            gain = (errors[0] - sum(errors[1:])) / total if children else 0.0
            says = nodes[old]["says"][0] if not children else means[0]
            error = (shares[0] * (values[0] - says) ** 2).sum()
            np.testing.assert_allclose(tree.stats[new], [shares[0].sum(), says, error], atol=1e-9)
        np.testing.assert_allclose(tree.gain[new], gain, rtol=1e-9, atol=1e-9)
    # What was answered before is answered still.
    answers = edited.predict(edited.rows(table)).tolist()
    if numeric:
        assert answers == [says[0] for _, says, _ in before]
    else:
        assert answers == [CLASSES[chosen] for _, _, chosen in before]
    importances(edited)  # nothing is missing for them


def test_kinds_of_nodes() -> None:
    """A set of levels in the place of a machine with two branches, and the other way round."""
    builder = obliqua.TreeBuilder(3, 3)
    builder.add_machine("r", [{0: 1.0}, {1: 2.0}], [0.0, 0.5], ("a", "b"))
    builder.set_leaf("a", [3, 0, 1], 4)
    builder.set_leaf("b", [0, 2, 0], 2)
    model = model_of(builder.build())
    term = {"column": "town", "coefficient": 1, "table": [1, 0, 0, 1]}
    plane = {"terms": [term], "threshold": 1}
    edit = {"node": 0, "edit": "split", "kind": "levels", "plane": plane}
    tree = apply_edits(model, [edit]).trees[0]
    assert tree.kind[0] == NodeKind.LEVELS
    assert tree.apply(np.array([[0, 0, c] for c in (0, 1, 2, 3, -1)], float)).tolist() == [
        2,
        1,
        1,
        2,
        2,
    ]
