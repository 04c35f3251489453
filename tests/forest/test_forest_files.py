"""Model files of forests: all of it comes back, and nothing that is forged is walked."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from forest_cases import FRAME, LABELS, NUMBERS, again, forest, written
from obliqua import ModelFileError, ObliqueForestClassifier, ObliqueForestRegressor
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.io.format import from_bytes, to_bytes
from obliqua.tree.model import Model
from obliqua.tree.packed import PackedTrees
from test_io import archive_of, members_of, with_header


def header_of(data: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return json.loads(archive.read("header.json"))


pytestmark = pytest.mark.filterwarnings("ignore:Of 160 rows")
KINDS = ["classes", "numbers", "pair"]
each_kind = pytest.mark.parametrize("kind", KINDS)


# --- round trips -----------------------------------------------------------------------------


@each_kind
@pytest.mark.parametrize("params", [{}, {"ccp_alpha": 0.01}, {"max_depth": 1, "n_oblique": 0}])
def test_all_of_it_comes_back(kind: str, params: dict[str, Any]) -> None:
    model = forest(kind, **params)
    loaded = again(model)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    assert isinstance(loaded.model_.trees, PackedTrees)
    assert loaded.model_ == model.model_
    assert vars(loaded).keys() == vars(model).keys()
    for name in model._notes:
        assert np.array_equal(
            getattr(loaded, name, 0), getattr(model, name, 0), equal_nan="oob" in name
        )
    np.testing.assert_array_equal(loaded.predict(FRAME), model.predict(FRAME))
    np.testing.assert_array_equal(loaded.apply(FRAME), model.apply(FRAME))
    assert written(loaded) == written(model)
    assert header_of(written(model))["version"] == 6


def test_a_forest_without_splits_and_one_tree_come_back() -> None:
    constant = ObliqueForestRegressor(3000, random_state=0).fit(np.eye(5), np.ones(5))
    assert again(constant).model_ == constant.model_
    one = forest("classes", n_estimators=1, oob_score=False)
    np.testing.assert_array_equal(again(one).predict_proba(FRAME), one.predict_proba(FRAME))


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_trees_are_added_to_what_was_loaded(kind: str) -> None:
    y = LABELS if kind == "classes" else NUMBERS[:, 0]
    loaded = again(forest(kind, n_estimators=4, random_state=np.random.RandomState(1).randint(9)))
    loaded.set_params(n_estimators=7, warm_start=True).fit(FRAME, y)
    whole = forest(kind, n_estimators=7, random_state=np.random.RandomState(1).randint(9))
    assert loaded.model_ == whole.model_
    assert loaded.oob_score_ == whole.oob_score_
    loaded.set_params(n_estimators=9)
    with pytest.raises(ValueError, match="must be those of the fit before"):
        loaded.fit(FRAME[1:], y[1:])
    with pytest.raises(ValueError, match="max_samples"):
        loaded.set_params(max_samples=0.5).fit(FRAME, y)


def test_trees_out_of_a_forest_are_saved_as_ever() -> None:
    model = forest("classes")
    tree = model.estimators_[2].tree_
    assert again(tree) == tree
    votes = Model(model.model_.trees, "vote", model.model_.encoding, model.model_.classes)
    data = to_bytes(votes)
    assert header_of(data)["version"] == 3  # each tree by itself, with sides for missing values
    read = from_bytes(data)[0]
    assert [tree.n_nodes for tree in read.trees] == [tree.n_nodes for tree in votes.trees]


@each_kind
def test_pickles_keep_all_of_it(kind: str) -> None:
    model = forest(kind)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.model_ == model.model_
    np.testing.assert_array_equal(copy.predict(FRAME), model.predict(FRAME))


def test_few_bytes_a_node() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 8)), rng.integers(0, 10, 3000)
    trees = ObliqueForestClassifier(10, random_state=0).fit(X, y).model_.trees
    data = to_bytes(Model(trees, "mean", Encoding.identity(8), np.arange(10)))
    assert trees.nbytes < 50 * len(trees.child)
    assert len(data) < 12 * len(trees.child)


# --- arrays that do not fit together ---------------------------------------------------------

ARRAYS = [field.name for field in fields(PackedTrees)]
ARRAYS = [name for name in ARRAYS if name not in ("n_features", "n_classes", "criterion")]


def changed(trees: PackedTrees, name: str, place: int, value: Any) -> PackedTrees:
    array = getattr(trees, name).copy()
    array.reshape(-1)[place] = value
    return replace(trees, **{name: array})


@pytest.fixture(scope="module")
def packed() -> dict[str, PackedTrees]:
    return {kind: forest(kind).model_.trees for kind in KINDS}


def test_forests_are_valid(packed: dict[str, PackedTrees]) -> None:
    for trees in packed.values():
        trees.validate()
        assert len(trees.level) and trees.missing_side.any()  # or less would be tested


@pytest.mark.parametrize(
    ("kind", "name", "place", "value", "message"),
    [
        ("classes", "node_ptr", 0, 1, "'node_ptr' of packed trees must rise from 0"),
        ("classes", "node_ptr", 1, 0, "'node_ptr' of packed trees must rise from 0"),
        ("classes", "plane_ptr", -1, 9**9, "'plane_ptr' of packed trees must rise from 0"),
        ("classes", "term_ptr", 1, 0, "'term_ptr' of packed trees must rise from 0"),
        ("classes", "level_ptr", 1, -(2**63), "'level_ptr' of packed trees must rise from 0"),
        ("classes", "entry_ptr", 1, 0, "'entry_ptr' of packed trees must rise from 0"),
        ("classes", "child", 0, 0, "level order"),
        ("classes", "child", 0, 3, "level order"),
        ("classes", "child", 0, 2**31 - 1, "level order"),
        ("classes", "child", 0, -1, "one leaf more than splits"),
        ("classes", "child", -1, -1, "level order"),
        ("classes", "column", 0, 5, "uses none of 5 columns"),
        ("classes", "column", -1, 1, "is a leaf with one"),
        ("classes", "threshold", 0, np.nan, "threshold of a node must be finite"),
        ("classes", "missing_side", 0, 3, "must be 0 (none), 1 (left) or 2 (right)"),
        ("classes", "term_column", 0, -1, "Term 0 uses none of 5 columns"),
        ("classes", "term_column", 0, 5, "Term 0 uses none of 5 columns"),
        ("classes", "coef", 0, np.inf, "'coef' of packed trees must be finite"),
        ("classes", "level", 0, np.nan, "'level' of packed trees must be finite"),
        ("classes", "stand_in", 0, -np.inf, "'stand_in' of packed trees must be finite"),
        ("classes", "spread", 0, -1, "standard deviation is not negative"),
        ("classes", "leaf_rows", 2, -1, "Leaf 2 of all trees has less than no rows"),
        ("classes", "leaf_weight", 2, 0, "weight of a leaf must be positive"),
        ("classes", "leaf_weight", 2, 99, "do not add up to its weight"),
        ("classes", "entry_class", 0, 3, "classes of leaves are 0 to 2"),
        ("classes", "entry_class", 0, -1, "classes of leaves are 0 to 2"),
        ("classes", "entry_weight", 0, 0, "weight of a class in a leaf must be positive"),
        ("numbers", "leaf_mean", 0, np.nan, "Means and sums of squares must be finite"),
        ("numbers", "leaf_rest", 0, -1, "sum of squares of leaf 0 of all trees is below 0"),
    ],
)
def test_numbers_that_make_no_sense(
    packed: dict[str, PackedTrees], kind: str, name: str, place: int, value: Any, message: str
) -> None:
    with pytest.raises(TreeError) as caught:
        changed(packed[kind], name, place, value).validate()
    assert message in str(caught.value)


def test_planes_and_classes_in_another_order(packed: dict[str, PackedTrees]) -> None:
    trees = packed["classes"]
    slanted = np.flatnonzero(trees.column[: trees.node_ptr[1]] < 0)[:2]
    column = trees.column.copy()
    column[slanted] = column[slanted[::-1]]
    with pytest.raises(TreeError, match="planes of a packed tree stand in the order"):
        replace(trees, column=column).validate()
    column[slanted] = trees.column[slanted[0]], 0
    with pytest.raises(TreeError, match="as many planes as `plane_ptr` says"):
        replace(trees, column=column).validate()
    several = np.flatnonzero(np.diff(trees.term_ptr) > 1)[0]
    first = trees.term_ptr[several]
    with pytest.raises(TreeError, match="twice"):
        changed(trees, "term_column", first, trees.term_column[first + 1]).validate()
    mixed = forest("classes", max_depth=1).model_.trees
    leaf = np.flatnonzero(np.diff(mixed.entry_ptr) > 1)[0]
    entry = mixed.entry_ptr[leaf]
    with pytest.raises(TreeError, match="must ascend"):
        changed(mixed, "entry_class", entry, mixed.entry_class[entry + 1]).validate()


@each_kind
def test_arrays_of_another_kind(packed: dict[str, PackedTrees], kind: str) -> None:
    trees = packed[kind]
    for name in ARRAYS:
        array = getattr(trees, name)
        if array is None:
            other = getattr(packed["numbers" if kind == "classes" else "classes"], name)
            with pytest.raises(TreeError, match=f"{name!r} of packed trees has no place"):
                replace(trees, **{name: other}).validate()
            continue
        with pytest.raises(TreeError, match=f"{name!r} of packed trees is missing"):
            replace(trees, **{name: None}).validate()
        with pytest.raises(TreeError, match=f"{name!r} of packed trees must be of type"):
            replace(trees, **{name: array.astype(np.float16)}).validate()
        with pytest.raises(TreeError, match=f"{name!r} of packed trees must be of type"):
            replace(trees, **{name: array[None]}).validate()
        with pytest.raises(TreeError):
            replace(trees, **{name: array[:-1]}).validate()
        with pytest.raises(TreeError):
            replace(trees, **{name: np.concatenate([array, array[-1:]])}).validate()
    for wrong in ({"n_features": 0}, {"n_classes": -1}, {"criterion": "cost"}):
        with pytest.raises(TreeError):
            replace(trees, **wrong).validate()
    numbers = packed["pair"]
    with pytest.raises(TreeError, match="at least one output"):
        replace(numbers, leaf_mean=numbers.leaf_mean[:, :0].copy()).validate()


@each_kind
def test_what_is_valid_can_be_walked(packed: dict[str, PackedTrees], kind: str) -> None:
    """Random changes are refused, or leave trees that are valid one by one."""
    trees, rng = packed[kind], np.random.default_rng(3)
    rows = rng.normal(size=(20, 5))
    rows[:, 4] = rng.integers(-1, 5, 20)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    names = [name for name in ARRAYS if getattr(trees, name) is not None]
    outcomes = []
    for _ in range(400):
        name = names[rng.integers(len(names))]
        array = getattr(trees, name)
        limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else np.finfo(array.dtype)
        odd = [0, 1, 2, 7, limits.max, limits.min, array.flat[rng.integers(array.size)]]
        other = changed(trees, name, rng.integers(array.size), odd[rng.integers(len(odd))])
        try:
            other.validate()
        except TreeError:
            outcomes.append("refused")
            continue
        outcomes.append("valid")
        with np.errstate(all="ignore"):
            other.apply(rows)
            other.sums(rows)
            for tree in other:
                finite = np.isfinite(tree.stats).all() and np.isfinite(tree.gain).all()
                if finite:  # weights and means of any size may overflow where they are added
                    tree.validate()
    assert set(outcomes) == {"refused", "valid"}


# --- forged files ----------------------------------------------------------------------------


@each_kind
def test_forged_files_give_our_error_or_a_model(kind: str) -> None:
    """Bytes of any part are changed, and the sums made to agree."""
    data = written(forest(kind, n_estimators=3, oob_score=False))
    members, rng = members_of(data), np.random.default_rng(5)
    members.pop("checksums.json")
    rows = rng.normal(size=(10, 5))
    outcomes = []
    for _ in range(250):
        name = list(members)[rng.integers(len(members))]
        content = bytearray(members[name])
        first = 128 if name.endswith(".npy") and len(content) > 128 else 0
        for place in rng.integers(first, len(content), size=rng.integers(1, 4)):
            content[place] = rng.choice([0, 1, 48, 57, 127, 128, 255])
        try:
            model, _ = from_bytes(archive_of({**members, name: bytes(content)}))
        except ModelFileError:
            outcomes.append("refused")
        else:
            outcomes.append("a model")
            with np.errstate(all="ignore"):
                assert len(model.predict(rows)) == 10
    assert set(outcomes) == {"refused", "a model"}


def test_headers_without_sense() -> None:
    data = written(forest("classes", n_estimators=3, oob_score=False))
    arrays = header_of(data)["arrays"]
    wrong = [
        {"combine": "vote"},
        {"trees": 4},
        {"trees": True},
        {"trees": [{}]},
        {"criterion": "cost"},
        {"criterion": ["gini"]},
        {"n_features": 4},
        {"classes": {"type": "<i8", "values": [1]}},
        {"classes": {"type": "<f8", "values": []}},
        {"version": 5},
        {"arrays": {**arrays, "curve": arrays["coef"]}},
        {"arrays": {name: arrays[name] for name in arrays if name != "spread"}},
        {"arrays": {**arrays, "coef": {**arrays["coef"], "shape": [2]}}},
        {"arrays": {**arrays, "coef": {**arrays["coef"], "type": "|O"}}},
        {"arrays": {**arrays, "coef": {**arrays["coef"], "lengths": [1]}}},
    ]
    assert from_bytes(with_header(data))[0].n_classes == 3
    for changes in wrong:
        with pytest.raises(ModelFileError):
            from_bytes(with_header(data, **changes))


@pytest.mark.parametrize(
    ("name", "value"),
    [("oob_prediction_", [1.0]), ("_oob_residuals", [[np.inf]]), ("_oob_residuals", [[1.0, 2.0]])],
)
def test_notes_without_sense(name: str, value: Any) -> None:
    model = forest("numbers")
    vars(model)[name] = np.array(value)[:, None] if name == "oob_prediction_" else np.array(value)
    with pytest.raises(ModelFileError, match=r"makes? no sense"):
        again(model)
