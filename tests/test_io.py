"""Model files: what is written is read again, bit for bit, whatever the model is."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from obliqua.data.encoding import Column, Encoding
from obliqua.errors import ModelFileError, TreeError
from obliqua.io import container
from obliqua.io.files import read_model, write_model
from obliqua.io.format import FORMAT, from_bytes, to_bytes
from obliqua.io.values import from_json, labels_from_json, labels_to_json, to_json
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from problems import examples
from strategies import trees

ODD_NAMES = (
    "",
    " ",
    "two\nlines\r\n",
    "a'b\"c`",
    "<b onclick='x'>&amp;</b>",
    "größe",
    "身長",
    "قامة",
    "\U0001f333",
    "\x00\x1f\x7f",
    "\ud800",  # half a character
    "../../name",
    "N" * 1000,
)


def leaf(n_features: int = 1, n_stats: int = 2) -> Tree:
    builder = TreeBuilder(n_features, n_stats)
    builder.set_leaf("root", [1.0] * n_stats)
    return builder.build()


def model_of(*members: Tree, classes: Any = None, encoding: Encoding | None = None) -> Model:
    combine = "single" if len(members) == 1 else "mean"
    first = members[0]
    if classes is None:
        classes = np.arange(first.n_stats)
    return Model(members, combine, encoding or Encoding.identity(first.n_features), classes)


def again(model: Model) -> Model:
    return from_bytes(to_bytes(model))[0]


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members: dict[str, bytes], sums: bool = True) -> bytes:
    """A file of these members, with sums that agree."""
    if sums:
        others = {name: data for name, data in members.items() if name != "checksums.json"}
        said = {name: hashlib.sha256(data).hexdigest() for name, data in others.items()}
        members = {**others, "checksums.json": json.dumps(said).encode()}
    return container.pack(list(members.items()))


def with_header(data: bytes, **changes: Any) -> bytes:
    members = members_of(data)
    header = json.loads(members["header.json"])
    header.update(changes)
    members["header.json"] = json.dumps(header).encode()
    return archive_of(members)


# --- round trips -----------------------------------------------------------------------------


@examples(150)
@given(st.data())
def test_any_model_comes_back_bit_for_bit(data: Any) -> None:
    first = data.draw(trees())
    n_coded = data.draw(st.integers(0, first.n_features - 1))
    shape = (first.n_features - n_coded, n_coded, first.n_stats)
    others = data.draw(st.lists(trees(shape=shape, tables=n_coded > 0), max_size=2))
    names = data.draw(
        st.lists(
            st.one_of(st.sampled_from(ODD_NAMES), st.text(max_size=5)),
            min_size=first.n_features,
            max_size=first.n_features,
            unique=True,
        )
    )
    assume(all(tree.stats.any() for tree in (first, *others)))
    classes = np.array([f"c{i}" for i in range(first.n_stats)], dtype=object)
    model = model_of(
        first, *others, classes=classes, encoding=Encoding.identity(first.n_features, names)
    )
    written = to_bytes(model)
    read, about = from_bytes(written)
    assert read == model
    assert about == {}
    assert to_bytes(model) == written
    assert to_bytes(read) == written


def test_numbers_keep_their_bits() -> None:
    """Also those that a narrower type would change, and the sign of zero."""
    odd = [-0.0, 0.1, 1e-320, 1.7e308, 2.0**-149, 1.0 + 2.0**-40, 16777217.0]
    for value in odd:
        builder = TreeBuilder(n_features=2, n_stats=2)
        builder.add_split("r", {0: 1.0, 1: value or 1.0}, value, ("a", "b"), fill={0: value})
        builder.set_leaf("a", [value, 1.0], 2**40)
        builder.set_leaf("b", [-0.0, 2.0])
        model = model_of(builder.build())
        read = again(model)
        assert read == model
        assert np.signbit(read.trees[0].threshold[0]) == np.signbit(value)
        assert np.signbit(read.trees[0].stats[2, 0])


def test_narrow_types_make_small_files() -> None:
    builder = TreeBuilder(n_features=2, n_stats=2)
    builder.add_split("r", {0: 1.0, 1: 0.5}, 0.25, ("a", "b"))
    builder.set_leaf("a", [1, 2])
    builder.set_leaf("b", [1, 2], 300)
    header = json.loads(members_of(to_bytes(model_of(builder.build())))["header.json"])
    types = {name: fields["type"] for name, fields in header["arrays"].items()}
    assert types["coef_ptr"] == "|u1"
    assert types["first_child"] == "|i1"
    assert types["coef"] == "<f4"
    assert types["n_samples"] == "<u2"


def test_a_long_array_that_packs_too_well_is_not_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What we would refuse as a bomb is written in another way."""
    monkeypatch.setattr(container, "FREE", 1000)
    monkeypatch.setattr(container, "RATIO", 2)
    monkeypatch.setattr(container, "TEXT_FREE", 1000)
    monkeypatch.setattr(container, "TEXT_RATIO", 2)
    tree = leaf(n_features=500, n_stats=300)
    model = model_of(tree)
    data = to_bytes(model)
    assert len(data) > 20_000
    assert from_bytes(data)[0] == model


def test_many_trees_that_pack_too_well_are_not_packed() -> None:
    """A file may hold only as many trees as its size allows, so that reading takes no time."""
    tree = leaf(n_stats=1)
    packed, stored = model_of(*[tree] * 1000), model_of(*[tree] * 1001)
    assert len(to_bytes(packed)) < 1000 * 64
    data = to_bytes(stored)
    assert len(data) > 1001 * 64
    assert from_bytes(data)[0] == stored
    members = members_of(data)
    with pytest.raises(ModelFileError, match=r"1001 trees, and a file of \d+ bytes .* most 1000"):
        from_bytes(archive_of(members))


@pytest.mark.parametrize(
    "classes",
    [
        np.array([0, 1]),
        np.array([-128, 127], dtype=np.int8),
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([1, 2], dtype=">i4"),
        np.array([False, True]),
        np.array([0.0, 1.5]),
        np.array([-0.0, np.inf]),
        np.array([0.1, 3.0], dtype=np.float32),
        np.array(["a", "b"]),
        np.array(["no", "yes"], dtype="U30"),
        np.array(["", "zwölf\n"], dtype=object),
        np.array([*ODD_NAMES[-3:-1]], dtype=object),
        np.array(["\ud800", "\udfff"], dtype=object),
    ],
    ids=lambda classes: f"{classes.dtype.str}-{classes[1]!a:.20}",
)
def test_labels_keep_type_and_value(classes: np.ndarray) -> None:
    read = again(model_of(leaf(), classes=classes)).classes
    assert read.dtype == classes.dtype
    assert read.dtype.str == classes.dtype.str
    assert read.tolist() == classes.tolist()
    assert list(map(type, read.tolist())) == list(map(type, classes.tolist()))
    assert repr(read) == repr(classes)  # which shows the sign of zero


@pytest.mark.parametrize(
    "classes",
    [
        np.array([b"a", b"b"]),
        np.array([1 + 2j, 2.0]),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        np.array([None, "a"], dtype=object),
        np.array([1, "a"], dtype=object),
        np.array([(1, 2), (3, 4)], dtype="i4,i4"),
        np.zeros((2, 2)),
    ],
    ids=lambda classes: str(classes.dtype)[:12],
)
def test_labels_of_other_types_are_refused(classes: np.ndarray) -> None:
    with pytest.raises(TypeError, match="classes cannot be saved"):
        to_bytes(model_of(leaf(), classes=classes))


def test_labels_of_an_absurd_width_are_refused() -> None:
    with pytest.raises(TypeError, match=r"astype\(object\)"):
        labels_to_json(np.zeros(2, dtype="U9000000"))


def test_columns_and_levels() -> None:
    columns = (
        Column("plain"),
        Column("qualität", "qualitative", ("a", "", 3, 2.5, True, None, ("x", 1))),
        Column("none", "qualitative"),
    )
    model = model_of(leaf(n_features=3), encoding=Encoding(columns))
    read = again(model)
    assert read.encoding == model.encoding
    assert list(map(type, read.encoding.columns[1].levels)) == list(map(type, columns[1].levels))


def test_names_that_json_cannot_hold_are_refused() -> None:
    """Two halves of a character side by side would come back as one whole character."""
    model = model_of(leaf(), encoding=Encoding.identity(1, ["\ud83c\udf33"]))
    with pytest.raises(TypeError, match="valid Unicode"):
        to_bytes(model)
    nameless = model_of(leaf(), encoding=Encoding((Column(7),)))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name of a column"):
        to_bytes(nameless)


def test_about_comes_back() -> None:
    about = {"a": [1, 2.5, None, True, "x"], "b": {"c": {}}}
    assert from_bytes(to_bytes(model_of(leaf()), about))[1] == about
    endless: dict[str, Any] = {}
    endless["a"] = endless
    for other in ({1: 2}, {"a": (1, 2)}):
        with pytest.raises(TypeError, match="JSON does not give it back"):
            write_model(model_of(leaf()), io.BytesIO(), other)  # type: ignore[arg-type]
    for other in ({"a": float("nan")}, {"a": -np.inf}, {"a": object()}, endless):
        with pytest.raises(TypeError, match="about cannot be saved"):
            write_model(model_of(leaf()), io.BytesIO(), other)
    for wrong in ("ab", [1], 3):
        with pytest.raises(TypeError, match="about must be a mapping"):
            write_model(model_of(leaf()), io.BytesIO(), wrong)  # type: ignore[arg-type]


def test_only_sound_models_are_written() -> None:
    tree = leaf()
    broken = Tree(**{**tree.to_arrays(), "n_samples": np.array([-2])})
    with pytest.raises(TreeError, match="rows"):
        to_bytes(model_of(broken))
    with pytest.raises(TypeError, match=r"obliqua\.save"):
        to_bytes(tree)  # type: ignore[arg-type]


def test_a_model_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAX_FILE", 1000)
    with pytest.raises(ModelFileError, match="does not fit"):
        write_model(model_of(leaf()), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# --- the format ------------------------------------------------------------------------------


def test_any_program_that_knows_zip_and_npy_can_read_it() -> None:
    data = to_bytes(model_of(leaf(), leaf()))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert [names[0], names[-1]] == ["header.json", "checksums.json"]
        for name in names[1:-1]:
            array = np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
            header = json.loads(archive.read("header.json"))
            fields = header["arrays"][Path(name).stem]
            assert (array.dtype.str, list(array.shape)) == (fields["type"], fields["shape"])
    assert (header["format"], header["version"]) == (FORMAT, 1)


def test_sides_for_missing_values_are_kept_where_there_are_any() -> None:
    """Files without them stay in a version that every obliqua reads."""

    def split(missing: str | None) -> Tree:
        builder = TreeBuilder(1, 2)
        builder.add_split("root", {0: 1.0}, 0.5, "ab", fill={0: 0.0}, missing=missing)
        builder.set_leaf("a", [1, 0])
        builder.set_leaf("b", [0, 1])
        return builder.build()

    for tree, version in ((split(None), 1), (split("left"), 3)):
        data = to_bytes(model_of(tree, split(None)))
        members = members_of(data)
        assert json.loads(members["header.json"])["version"] == version
        assert ("arrays/missing_side.npy" in members) == (version == 3)
        assert from_bytes(data)[0] == model_of(tree, split(None))


def test_paths_and_open_files(tmp_path: Path) -> None:
    model = model_of(leaf())
    path = tmp_path / "m.obliqua"
    write_model(model, str(path), {"n": 1})
    assert read_model(path) == (model, {"n": 1})
    write_model(model, path)
    assert read_model(str(path).encode()) == (model, {})
    with path.open("wb") as file:
        write_model(model, file)
    with path.open("rb") as file:
        assert read_model(file)[0] == model
    with pytest.raises(TypeError, match="binary mode"), path.open("r", encoding="latin1") as file:
        read_model(file)
    with pytest.raises(TypeError, match="binary mode"), path.open("w") as file:
        write_model(model, file)
    for wrong in (None, 3.5, [path]):
        with pytest.raises(TypeError, match="given as a path"):
            read_model(wrong)
        with pytest.raises(TypeError, match="given as a path"):
            write_model(model, wrong)


# --- values ----------------------------------------------------------------------------------

plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters(codec="utf-8"))
)
values = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(plain, inner, max_size=3),
    ),
    max_leaves=8,
)


@examples(200)
@given(values)
def test_values_keep_type_and_value(value: Any) -> None:
    read = from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))
    assert repr(read) == repr(value)  # tells 1 from 1.0 and from True, and knows NaN and -0.0


def test_values_of_numpy_become_those_of_python() -> None:
    given = {np.int8(3): np.float32(0.5), "b": np.bool_(True), "s": np.str_("t")}
    assert repr(from_json(to_json(given))) == "{3: 0.5, 'b': True, 's': 't'}"
    array = from_json(to_json(np.array([0.25, np.nan], dtype=np.float32)))
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, np.array([0.25, np.nan], dtype=np.float32))


def test_arrays_of_several_dimensions_keep_their_shape() -> None:
    array = np.array([[[1.0, np.nan]], [[2.0, 3.0]]])
    read = from_json(json.loads(json.dumps(to_json(array), allow_nan=False)))
    np.testing.assert_array_equal(read, array)
    for shape in ([4], [2, 3], [2, -2], [2, 2.0], "22"):
        state = {"array": {**to_json(array)["array"], "shape": shape}}
        with pytest.raises(ValueError, match=r"shape|list"):
            from_json(state)


@pytest.mark.parametrize(
    "value", [object(), len, 1j, b"x", {1, 2}, 10**400, np.zeros((2, 2), complex)]
)
def test_values_that_cannot_be_said(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot hold"):
        to_json({"a": [value]})


def test_values_without_an_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(TypeError, match="cannot hold"):
        to_json(endless)


@pytest.mark.parametrize(
    "state",
    [
        {"unknown": 1},
        {"float": "1.5"},
        {"float": ["nan"]},
        {"tuple": 3},
        {"dict": [[1, 2], [1, 3]]},
        {"dict": [[[1], 2]]},
        {"dict": [[1]]},
        {"array": {"type": "<i8", "values": [1.5]}},
        {"array": {"type": "<i8", "values": [True]}},
        {"array": {"type": "|i1", "values": [127, "1"]}},
        {"array": {"type": "<U1", "values": ["ab"]}},
        {"array": {"type": "<U99999999", "values": ["ab"]}},
        {"array": {"type": "object", "values": [1]}},
        {"array": {"type": "|O", "values": []}},
        {"array": {"type": "<f8"}},
        {"array": 3},
        {"a": 1, "b": 2},
    ],
    ids=str,
)
def test_values_that_nobody_wrote(state: Any) -> None:
    with pytest.raises(ValueError):
        from_json(state)


def test_labels_are_checked_both_ways() -> None:
    assert labels_from_json(labels_to_json(np.array([], dtype="U3"))).dtype == np.dtype("U3")
