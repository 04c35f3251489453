"""Edits files: read with suspicion, made for one model, refused with a reason."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import obliqua
from export_cases import MAKERS, case
from obliqua import TreeBuilder, TreeError, apply_edits
from obliqua.edit import fingerprint, read_edits
from obliqua.errors import ObliquaError
from obliqua.tree.model import Model
from problems import examples
from trees_to_read import mixed, oblique

PLANE = {
    "terms": [{"column": 0, "coefficient": 2.0, "stand_in": None, "spread": 1.5}],
    "threshold": 80.0,
    "missing": "left",
}
SPLIT = {"tree": 0, "node": 0, "edit": "split", "kind": "hyperplane", "plane": PLANE, "words": "?"}
LEVELS = {
    "node": 3,
    "edit": "split",
    "kind": "levels",
    "plane": {
        "terms": [{"column": "colour", "coefficient": 1, "table": [0, 1, 1], "stand_in": 1}],
        "threshold": 0,
        "missing": None,
    },
}
FILES = [
    (
        oblique(),
        [SPLIT, {"node": 1, "edit": "collapse"}, {"node": 2, "edit": "label", "class": 0}],
    ),
    (
        mixed(),
        [LEVELS, {"node": 1, "edit": "label", "class": "z"}, {"node": 2, "edit": "collapse"}],
    ),
]


def text_of(edits: Any, **head: Any) -> str:
    return json.dumps({"format": "obliqua edits", "version": 1, "edits": edits, **head})


# --- what is taken ---------------------------------------------------------------------------


def test_a_file_its_text_and_what_it_says(tmp_path: Path) -> None:
    tree, edits = FILES[0]
    path = tmp_path / "edits.json"
    path.write_text("\ufeff \n" + text_of(edits), "utf-8")
    expected = apply_edits(tree, edits)
    text = path.read_text("utf-8")
    for given_as in (
        path,
        str(path),
        text,
        text.encode(),
        json.loads(text_of(edits)),
        tuple(edits),
    ):
        assert apply_edits(tree, given_as) == expected
    assert expected != tree
    with pytest.raises(FileNotFoundError):
        apply_edits(tree, tmp_path / "none.json")


def test_a_tree_a_model_and_an_estimator_give_the_same_kind() -> None:
    tree, edits = FILES[0]
    model = Model.of_tree(tree)
    assert apply_edits(model, edits) == Model.of_tree(apply_edits(tree, edits))
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    fitted = obliqua.CartClassifier(max_depth=3, pruning=None).fit(X, y)
    changed = apply_edits(fitted, [{"node": 0, "edit": "collapse"}])
    assert type(changed) is obliqua.CartClassifier
    assert changed.get_params() == fitted.get_params()
    assert changed.get_n_leaves() == 1 < fitted.get_n_leaves()


def test_no_edits_leave_everything_as_it_is() -> None:
    tree, _ = FILES[0]
    assert apply_edits(tree, []) == tree
    assert apply_edits(tree, text_of([])) == tree


# --- the fingerprint -------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_a_fingerprint_survives_files(name: str) -> None:
    model, _ = case(name)
    found = fingerprint(model)
    assert len(found) == 64
    assert found == fingerprint(obliqua.from_json(obliqua.export_json(model, n_tests=1)))
    stream = io.BytesIO()
    obliqua.save(model, stream)
    stream.seek(0)
    again = obliqua.load(stream)
    assert fingerprint(again) == fingerprint(getattr(again, "model_", again)) == found


def test_a_fingerprint_tells_models_apart_by_what_they_answer() -> None:
    tree = oblique()
    found = fingerprint(tree)
    arrays = tree.to_arrays()
    for name in ("threshold", "coef", "stats", "fill", "missing_side", "n_samples"):
        other = np.nan_to_num(arrays[name]) + 1
        assert fingerprint(obliqua.Tree(**{**arrays, name: other})) != found, name
    for name in ("gain", "spread", "axis_gain"):
        other = np.nan_to_num(arrays[name]) + 1
        assert fingerprint(obliqua.Tree(**{**arrays, name: other})) == found, name
    assert fingerprint(obliqua.Tree(**{**arrays, "costs": ((0, 1), (2, 0))})) != found
    relabelled = np.full(tree.n_nodes, -1)
    relabelled[2] = 0
    assert fingerprint(obliqua.Tree(**{**arrays, "relabelled": relabelled})) != found
    model = mixed()
    others = [
        Model(model.trees, "vote", model.encoding, model.classes),
        Model(model.trees, "single", model.encoding, np.array(["x", "y", "Z"])),
    ]
    assert len({fingerprint(one) for one in (model, *others)}) == 3


def test_edits_are_for_one_model() -> None:
    tree, edits = FILES[0]
    right = text_of(edits, model=fingerprint(tree))
    assert apply_edits(tree, right) == apply_edits(tree, text_of(edits, model=None))
    other = apply_edits(tree, edits)
    with pytest.raises(
        TreeError, match=r"made for a model with the fingerprint .* Give the model"
    ):
        apply_edits(other, right)


# --- what is refused -------------------------------------------------------------------------


def change(edit: dict[str, Any], *path: Any, to: Any) -> dict[str, Any]:
    """An edit with another value somewhere."""
    again = deepcopy(edit)
    inside: Any = again
    for step in path[:-1]:
        inside = inside[step]
    inside[path[-1]] = to
    return again


TERM = ("plane", "terms", 0)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change(SPLIT, "node", to=99), "no such node in a tree of 7 nodes"),
        (change(SPLIT, "node", to=2), "the node is a leaf"),
        (change(SPLIT, "tree", to=1), "the model has 1 tree, number 0; got tree 1"),
        (change(SPLIT, "kind", to="machine"), "'kind' must be 'hyperplane' or 'levels'"),
        (change(SPLIT, "plane", to=[]), "'plane' must be an object"),
        (change(SPLIT, "plane", "terms", to=[]), "at least one term"),
        (change(SPLIT, "plane", "terms", to=[PLANE["terms"][0]] * 2), "Add their coefficients"),
        (change(SPLIT, "plane", "missing", to="up"), "null, 'left' or 'right'; got 'up'"),
        (change(SPLIT, "plane", "threshold", to="1"), "'threshold' must be a finite number"),
        (change(SPLIT, *TERM, "column", to=2), "2 columns, numbered from 0; got column 2"),
        (change(SPLIT, *TERM, "column", to="age"), "no column of the model has the name 'age'"),
        (change(SPLIT, *TERM, "column", to=True), "'column' must be a number or a name"),
        (change(SPLIT, *TERM, "coefficient", to=None), "'coefficient' must be a finite number"),
        (change(SPLIT, *TERM, "spread", to=-1), "standard deviation of 0 or more"),
        (change(SPLIT, *TERM, "table", to=[1]), "has numbers, so it takes no 'table'"),
        (change(SPLIT, *TERM, "standin", to=1), "has the field 'standin'; known are"),
        (change(SPLIT, "plane", "side", to=1), "has the field 'side'; known are"),
        (change(SPLIT, "why", to=1), "has the field 'why'; known are"),
        ({"node": 0, "edit": "label", "class": 0}, "only a leaf gets a label. Collapse it first"),
        ({"node": 2, "edit": "label", "value": 1}, "get a 'class', and nothing else"),
        ({"node": 2, "edit": "label"}, "get a 'class', and nothing else"),
        ({"node": 2, "edit": "label", "class": 7}, "no class 7; the classes are 0, 1"),
        ({"node": 2, "edit": "label", "class": True}, "no class True"),
        ({"node": 2, "edit": "label", "class": [0]}, r"no class \[0\]"),
        ({"node": 2, "edit": "collapse"}, "the node is a leaf"),
    ],
)
def test_edits_that_do_not_fit(edit: Any, message: str) -> None:
    with pytest.raises(TreeError, match=f"^Edit 2 of 2.*{message}"):
        apply_edits(oblique(), [{"node": 4, "edit": "collapse"}, edit])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change(LEVELS, *TERM, "coefficient", to=2), "one term, with the coefficient 1"),
        (change(LEVELS, *TERM, "table", to=[0, 2]), "are 0 and 1.*got 2"),
        (change(LEVELS, *TERM, "table", to=[0] * 5), "has 4 levels; 'table' has 5"),
        (change(LEVELS, *TERM, "stand_in", to=0.5), "are 0 and 1.*got 0.5"),
        (change(LEVELS, "plane", "missing", to="left"), "no side for missing values"),
        (change(LEVELS, "node", to=0), "only a node with two branches.*with 3"),
        (
            {**change(LEVELS, "plane", "terms", to=[{"column": 1, "coefficient": 1}])},
            "a 'table' that has the branch",
        ),
    ],
)
def test_sets_of_levels_that_do_not_fit(edit: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        apply_edits(mixed(), [edit])


def test_a_column_of_levels_needs_their_numbers() -> None:
    builder = TreeBuilder(2, 3)
    builder.add_split("r", {1: 1.0}, 0.0, ("a", "b"))
    builder.set_leaf("a", [1, 0, 0])
    builder.set_leaf("b", [0, 1, 0])
    model = Model((builder.build(),), "single", mixed().encoding, mixed().classes)
    plane = {"terms": [{"column": "colour", "coefficient": 1}], "threshold": 0}
    edit = {"node": 0, "edit": "split", "kind": "hyperplane", "plane": plane}
    with pytest.raises(TreeError, match="'table' with a number for each of the 4 levels"):
        apply_edits(model, [edit])


def test_what_lies_below_a_collapsed_node_is_gone() -> None:
    edits = [{"node": 1, "edit": "collapse"}, {"node": 4, "edit": "collapse"}]
    with pytest.raises(
        TreeError, match="Edit 1 of 2 has made a leaf of node 1, which stands above"
    ):
        apply_edits(oblique(), edits)
    with pytest.raises(TreeError, match="Edit 1 of 2 has made a leaf of the node"):
        apply_edits(oblique(), [edits[0], edits[0]])
    assert apply_edits(oblique(), [edits[1], edits[0]]).n_leaves == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('[{"node": NaN}]', "NaN is not JSON"),
        ('{"edits": [], "edits": []}', "the same key twice"),
        ('{"edits": []}', "has the format 'obliqua edits'; this one says None"),
        ('{"format": "obliqua tree"}', "this one says 'obliqua tree'"),
        ('{"format": "obliqua edits", "version": 2}', "reads version 1. Upgrade"),
        ('{"format": "obliqua edits", "version": true}', "in version True"),
        ('{"format": "obliqua edits", "version": 1, "model": 3}', "a text or null; got 3"),
        ('{"format": "obliqua edits", "version": 1}', "a list called 'edits'"),
        ("[3]", "Edit 1 of 1 must be an object; got 3"),
        ('[{"edit": "prune"}]', "'split', 'collapse', 'label'; got 'prune'"),
        ('[{"edit": "collapse"}]', "'node' must be a whole number from 0 on; got None"),
        ('[{"edit": "collapse", "node": -1}]', "from 0 on; got -1"),
        ('[{"edit": "collapse", "node": 1.0}]', "from 0 on; got 1.0"),
        ('[{"edit": "collapse", "node": 1, "words": 2}]', "'words' must be a text"),
        (b"[\xff]", "no JSON"),
    ],
)
def test_texts_that_are_no_edits(text: str | bytes, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        read_edits(text)


def test_things_that_are_no_edits() -> None:
    for source in (3, None, {1, 2}):
        with pytest.raises(TreeError, match="Edits are a file, its text"):
            read_edits(source)
    with pytest.raises(TypeError, match="got int"):
        apply_edits(3, [])


JUNK = [
    None,
    True,
    -1,
    0,
    10**400,
    -(2**63) - 1,
    1e308,
    -5e-324,
    float("nan"),
    float("inf"),
    "",
    "x" * 1000,
    "\ud800",
    "colour",
    [],
    {},
    [[[[]]]],
    {"float": "nan"},
    {"terms": None},
    b"bytes",
    object(),
    np.float64(1.5),
    np.int64(1),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places inside a value."""
    inside: Any = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    return [p for key, part in inside for p in ((*path, key), *places(part, (*path, key)))]


@given(st.data())
@examples(600)
def test_junk_anywhere_is_refused_or_makes_a_tree(data: Any) -> None:
    model, edits = deepcopy(data.draw(st.sampled_from(FILES)))
    source: Any = {"format": "obliqua edits", "version": 1, "model": None, "edits": edits}
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(places(source)))
        inside = source
        for step in path[:-1]:
            inside = inside[step]
        if isinstance(inside, dict) and data.draw(st.booleans()):
            inside.pop(path[-1], None)
        else:
            inside[path[-1]] = data.draw(st.sampled_from(JUNK))
        if not places(source):
            break
    changed, message = None, ""
    try:
        changed = apply_edits(model, source)
    except (ObliquaError, ValueError, TypeError) as error:
        message = str(error)
    if changed is None:
        assert len(message) > 20
    else:
        assert obliqua.from_json(obliqua.export_json(changed)) == changed
        obliqua.export_text(changed)


def test_edits_of_hand_made_numbers() -> None:
    """Numbers of NumPy are numbers too."""
    plane = {"terms": [{"column": np.int64(1), "coefficient": np.float32(0.5)}], "threshold": 1}
    edit = {"node": np.int64(0), "edit": "split", "kind": "hyperplane", "plane": plane}
    tree = apply_edits(oblique(), [edit])
    assert tree.coef.tolist()[:1] == [0.5]
    assert (
        apply_edits(oblique(), [{"node": 2, "edit": "label", "class": np.int64(0)}]).leaf_label[2]
        == 0
    )
