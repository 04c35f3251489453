"""Damaged, foreign, forged and newer files: our own error, or exactly the model that was saved."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tracemalloc
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua.data.encoding import Column, Encoding
from obliqua.errors import ModelFileError
from obliqua.io import container
from obliqua.io.files import read_model
from obliqua.io.format import VERSION, _npy_bytes, from_bytes, to_bytes
from obliqua.tree.builder import TreeBuilder
from test_io import archive_of, leaf, members_of, model_of, with_header

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def damage(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import damage

    return damage


def test_every_length(damage: Any) -> None:
    model = damage.mixed_tree_model()
    data = to_bytes(model, damage.ABOUT)
    found = {damage.outcome(cut, model) for cut in damage.each_length(data)}
    assert found == {damage.REFUSED}
    assert damage.outcome(data, model) == damage.SAME


def test_every_bit_of_the_frame_and_many_of_the_contents(damage: Any) -> None:
    model = damage.mixed_tree_model()
    data = to_bytes(model, damage.ABOUT)
    found = {damage.outcome(changed, model) for changed in damage.each_bit(data, 17)}
    assert found <= {damage.REFUSED, damage.SAME}
    directory = data.index(b"PK\x01\x02")
    third_header = data.index(b"arrays/first_child.npy") - 30
    places = [*range(8 * directory, 8 * len(data), 3)]
    places += [*range(8 * 41), *range(8 * third_header, 8 * (third_header + 52))]
    for bit in places:
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        assert damage.outcome(bytes(changed), model) == damage.REFUSED


def test_accidents_and_forgeries(damage: Any) -> None:
    counts = damage.run(2000)
    assert damage.failures(counts) == 0, counts
    assert counts["forged"]["some model"] > 0  # the forger can forge
    assert damage.main(["--files", "40"]) == 0


def test_the_script_sees_another_model(damage: Any) -> None:
    model, other = damage.mixed_tree_model(), model_of(leaf())
    assert damage.outcome(to_bytes(other, damage.ABOUT), model) == damage.OTHER
    assert damage.failures({"kind": {damage.OTHER: 2}}) == 2


# --- files of other kinds --------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "not a model file of obliqua: it starts with"),
        (b"a,b,target\n1,2,yes\n", "it starts with b'a,b,target"),
        (pickle.dumps({"a": 1}), "may be a pickle"),
        (gzip.compress(b"x"), "may be a pickle"),
        (zlib.compress(b"x"), "may be a pickle"),
        (zipped({"a.txt": b"x"}), "another zip archive"),
        (zipped({"header.json": b'{"format": "other"}'}), "another zip archive"),
        (zipped({}), "not a model file"),
        (b"PK\x03\x04", "cut short"),
        (b"PK", "not a model file"),
    ],
    ids=["empty", "png", "csv", "pickle", "gzip", "zlib", "zip", "json", "no zip", "4", "2"],
)
def test_foreign_files(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some file"
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match=message) as caught:
        read_model(path)
    assert repr(str(path)) in str(caught.value)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("word", ["product", ["sum"], None])
def test_trees_that_are_combined_in_a_way_of_tomorrow(word: Any) -> None:
    data = with_header(to_bytes(model_of(leaf())), combine=word)
    with pytest.raises(ModelFileError, match=r"combines its trees as .*Upgrade obliqua"):
        from_bytes(data)


def test_newer_files() -> None:
    data = to_bytes(model_of(leaf()))
    newer = with_header(data, version=VERSION + 1, written_by="obliqua 9.1", secret=1)
    with pytest.raises(ModelFileError, match=rf"obliqua 9\.1 in version {VERSION + 1}.*Upgrade"):
        from_bytes(newer)
    # Also if all but the first part is arranged in another way.
    header = members_of(newer)["header.json"]
    with pytest.raises(ModelFileError, match="Upgrade"):
        from_bytes(zipped({"header.json": header, "other": b""}))
    for version in (0, "1", None, True, 1.0):
        with pytest.raises(ModelFileError, match="damaged"):
            from_bytes(with_header(data, version=version))
    arrays = json.loads(header)["arrays"]
    with pytest.raises(ModelFileError, match="'curve', which this version does not know"):
        from_bytes(with_header(data, arrays={**arrays, "curve": arrays["coef"]}))


# --- forged files ----------------------------------------------------------------------------


def test_archives_in_another_form_are_refused() -> None:
    """The same members, but packed by another program: two views of one file are impossible."""
    members = members_of(to_bytes(model_of(leaf())))
    with pytest.raises(ModelFileError, match="damaged"):
        from_bytes(zipped(members))


def test_members_must_be_the_announced_ones() -> None:
    members = members_of(to_bytes(model_of(leaf())))
    without = {name: data for name, data in members.items() if name != "arrays/gain.npy"}
    more = {**members, "arrays/more.npy": b"x"}
    turned = dict(reversed(members.items()))
    for wrong in (without, more):
        with pytest.raises(ModelFileError, match="parts"):
            from_bytes(archive_of(wrong))
    with pytest.raises(ModelFileError, match="another zip archive"):
        from_bytes(archive_of(turned, sums=False))
    twice = container.pack([*members.items(), *members.items()])
    with pytest.raises(ModelFileError, match="parts"):
        from_bytes(twice)


def test_contents_must_be_the_summed_ones() -> None:
    members = members_of(to_bytes(model_of(leaf())))
    name = "arrays/stats.npy"
    members[name] = members[name][:-1] + b"\x41"
    with pytest.raises(ModelFileError, match=r"arrays/stats\.npy is not what was written"):
        from_bytes(archive_of(members, sums=False))


def test_the_sums_of_the_frame_must_agree_too() -> None:
    entries = container.frame(to_bytes(model_of(leaf())))
    for number in (0, 1, len(entries) - 1):
        wrong = list(entries)
        wrong[number] = replace(entries[number], crc=entries[number].crc ^ 1)
        with pytest.raises(ModelFileError, match=f"{entries[number].name} is not what"):
            from_bytes(container._joined(wrong))


def test_no_part_of_an_array_is_passed_over() -> None:
    members = members_of(to_bytes(model_of(leaf())))
    header = json.loads(members["header.json"])
    header["arrays"]["table"]["shape"] = [1]
    members["header.json"] = json.dumps(header).encode()
    members["arrays/table.npy"] = _npy_bytes(np.ones(1, dtype="<f4"))
    with pytest.raises(ModelFileError, match="says of table makes no sense"):
        from_bytes(archive_of(members))


@pytest.mark.parametrize(
    "changes",
    [
        {"combine": "sum"},
        {"combine": 3},
        {"classes": {"type": "<i8", "values": [1]}},
        {"classes": None},
        {"encoding": {"columns": []}},
        {"encoding": {"columns": [{"name": 3, "kind": "numeric"}]}},
        {"encoding": {"columns": [{"name": "a", "kind": "other"}]}},
        {"encoding": {"columns": [{"name": "a", "kind": "numeric", "levels": [1]}]}},
        {"n_features": 2},
        {"n_features": True},
        {"n_features": 2**70},
        {"trees": []},
        {"trees": [{"origin_labels": [1]}]},
        {"trees": [{"origin_labels": "ab"}]},
        {"trees": [{}]},
        {"trees": 3},
        {"arrays": {}},
        {"arrays": []},
        {"arrays": None},
        {"about": []},
    ],
    ids=str,
)
def test_headers_without_sense(changes: dict[str, Any]) -> None:
    with pytest.raises(ModelFileError):
        from_bytes(with_header(to_bytes(model_of(leaf())), **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "|O"},
        {"type": "<f8"},
        {"type": ["|u1"]},
        {"shape": [2]},
        {"shape": [10**18]},
        {"shape": [-1]},
        {"shape": []},
        {"shape": [1, 1, 1]},
        {"shape": [True]},
        {"shape": [10**12], "lengths": [10**12]},
        {"shape": [2**64 + 1], "lengths": [2**64 + 1]},
        {"lengths": [2, -1]},
        {"lengths": []},
        {"extra": 1},
    ],
    ids=str,
)
def test_arrays_are_not_made_before_their_shape_is_checked(changes: dict[str, Any]) -> None:
    data = to_bytes(model_of(leaf()))
    arrays = json.loads(members_of(data)["header.json"])["arrays"]
    arrays["kind"] |= changes
    with pytest.raises(ModelFileError, match="damaged"):
        from_bytes(with_header(data, arrays=arrays))


@pytest.mark.parametrize(
    "header",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"[]",
        b"\xff\xfe\x00",
        b"{" + b'"version": ' + b"9" * 5000 + b"}",
    ],
    ids=["lists", "objects", "list", "bytes", "digits"],
)
def test_json_that_is_none(header: bytes) -> None:
    members = members_of(to_bytes(model_of(leaf())))
    with pytest.raises(ModelFileError):
        from_bytes(archive_of({**members, "header.json": header}))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (b'"about":{"a":NaN}', "NaN is not JSON"),
        (b'"about":{"a":-Infinity}', "-Infinity is not JSON"),
        (b'"about":{"a":1,"a":1}', "the same key twice"),
        (b'"about":{},"version":1', "the same key twice"),
    ],
)
def test_headers_that_are_good_but_for_one_thing(more: bytes, message: str) -> None:
    members = members_of(to_bytes(model_of(leaf())))
    good = members["header.json"]
    assert good.count(b'"about":{}') == 1
    assert from_bytes(archive_of(members))[1] == {}
    members["header.json"] = good.replace(b'"about":{}', more)
    with pytest.raises(ModelFileError, match=message):
        from_bytes(archive_of(members))


def test_bombs() -> None:
    """Small files that would become large: refused before they are unpacked."""

    def bomb(name: str, size: int) -> container.Entry:
        machine = zlib.compressobj(9, zlib.DEFLATED, -15)
        part = bytes(2**20)
        packed = b"".join(machine.compress(part) for _ in range(size // len(part)))
        return container.Entry(name, 8, 0, size, packed + machine.flush())

    text = bomb("header.json", 2**27)
    with pytest.raises(ModelFileError, match="would unpack"):
        from_bytes(container._joined([text]))
    data = to_bytes(model_of(leaf()))
    entries = container.frame(data)
    entries[2] = bomb(entries[2].name, 2**27)
    with pytest.raises(ModelFileError, match="bytes of memory"):
        from_bytes(container._joined(entries))
    # Within the limit for the whole, but not of the size that the header announces.
    entries[2] = bomb(entries[2].name, 2**25)
    with pytest.raises(ModelFileError, match="size that the header announces"):
        from_bytes(container._joined(entries))


def test_a_member_that_is_longer_than_it_says() -> None:
    entries = container.frame(to_bytes(model_of(leaf())))
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = machine.compress(bytes(2**20)) + machine.flush()
    first = entries[1]
    entries[1] = container.Entry(first.name, 8, first.crc, first.size, packed)
    with pytest.raises(ModelFileError, match="is not what was written"):
        from_bytes(container._joined(entries))


def test_a_bomb_that_says_it_is_empty() -> None:
    """No more is unpacked than announced, also if that is nothing."""
    machine = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = machine.compress(bytes(2**24)) + machine.flush()
    data = container._joined([container.Entry("header.json", 8, 0, 0, packed)])
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="is not what was written"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_nothing_is_hidden_after_the_data_of_a_member() -> None:
    entries = container.frame(to_bytes(model_of(leaf())))
    assert entries[1].method == 8
    entries[1] = replace(entries[1], packed=entries[1].packed + b"more")
    with pytest.raises(ModelFileError, match=f"{entries[1].name} is not what was written"):
        from_bytes(container._joined(entries))


def test_ways_of_packing_that_are_not_ours() -> None:
    entries = container.frame(to_bytes(model_of(leaf())))
    entries[1] = replace(entries[1], method=9)
    with pytest.raises(ModelFileError, match="is not as it was written"):
        from_bytes(container._joined(entries))


def test_archives_of_very_many_members() -> None:
    header = members_of(to_bytes(model_of(leaf())))["header.json"]
    members = [("header.json", header), *((f"{number}", b"") for number in range(1000))]
    with pytest.raises(ModelFileError, match="more than 1000 parts"):
        from_bytes(container.pack(members))


def test_arrays_must_say_of_themselves_what_the_header_says() -> None:
    """Else another program would read other numbers."""
    members = members_of(to_bytes(model_of(leaf())))
    name = "arrays/stats.npy"
    assert members[name].count(b"'<f4'") == 1
    members[name] = members[name].replace(b"'<f4'", b"'<i4'")
    with pytest.raises(ModelFileError, match="does not begin as it must"):
        from_bytes(archive_of(members))


def test_sums_must_be_those_of_the_parts() -> None:
    members = members_of(to_bytes(model_of(leaf())))
    said = json.loads(members["checksums.json"])
    fewer = {name: text for name, text in said.items() if name != "header.json"}
    for sums in (fewer, {**said, "arrays/more.npy": "0" * 64}):
        members["checksums.json"] = json.dumps(sums).encode()
        with pytest.raises(ModelFileError, match="does not name the parts that are there"):
            from_bytes(archive_of(members, sums=False))


def test_labels_of_an_absurd_width_are_not_made() -> None:
    classes = {"type": "<U99999999", "values": ["a", "b"]}
    with pytest.raises(ModelFileError, match="would take too much memory"):
        from_bytes(with_header(to_bytes(model_of(leaf())), classes=classes))


def test_trees_are_checked() -> None:
    """Sums that agree are no proof of sense: a child that is its own parent, for instance."""
    members = members_of(to_bytes(model_of(leaf())))
    name = "arrays/n_children.npy"
    members[name] = members[name][:-1] + b"\x02"
    with pytest.raises(ModelFileError, match="TreeError"):
        from_bytes(archive_of(members))


def test_memory_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise MemoryError

    data = to_bytes(model_of(leaf()))
    monkeypatch.setattr(np, "frombuffer", no_memory)
    with pytest.raises(ModelFileError, match="memory"):
        from_bytes(data)


def _with_array(data: bytes, name: str, array: np.ndarray) -> bytes:
    """The same file with another array, which its header announces."""
    members = members_of(data)
    header = json.loads(members["header.json"])
    header["arrays"][name] |= {"type": array.dtype.str, "shape": list(array.shape)}
    members["header.json"] = json.dumps(header).encode()
    members[f"arrays/{name}.npy"] = _npy_bytes(array)
    return archive_of(members)


def test_forged_contents_that_are_no_model() -> None:
    builder = TreeBuilder(2, 2)
    builder.add_split("root", {0: 1.0}, 0.5, ("left", "right"))
    builder.set_leaf("left", [1.0, 0.0])
    builder.set_leaf("right", [0.0, 1.0])
    columns = (Column("a"), Column("b", "qualitative", ("x", "y")))
    data = to_bytes(model_of(builder.build(), encoding=Encoding(columns)))
    header = json.loads(members_of(data)["header.json"])

    def levels(*given: Any) -> bytes:
        entries = [header["encoding"]["columns"][0]]
        entries.append({**header["encoding"]["columns"][1], "levels": list(given)})
        return with_header(data, encoding={"columns": entries})

    def named(name: str) -> bytes:
        entries = [{**entry, "name": name} for entry in header["encoding"]["columns"]]
        return with_header(data, encoding={"columns": entries})

    def classes(*values: Any) -> bytes:
        kind = {"type": "<f8" if isinstance(values[0], float) else "<i8"}
        return with_header(data, classes={**header["classes"], **kind, "values": list(values)})

    assert from_bytes(levels("p", "q"))[0].encoding.columns[1].levels == ("p", "q")
    assert from_bytes(classes(3, 4))[0].classes.tolist() == [3, 4]
    wrapped = np.array([2**32 + 1, -1, -1])
    for forged, words in (
        (levels(["x"], ["y"]), "level"),
        (levels("x", "x"), "levels of column 'b' must differ"),
        (named("a"), "two columns have the same name"),
        (classes(3, 3), "classes of a model must differ"),
        (classes(float("nan"), 1.0), "NaN"),
        (_with_array(data, "first_child", wrapped), "numbers that are too large"),
        (_with_array(data, "stats", np.array([[1.0, 1], [2, -1], [0, 1]])), "none below 0"),
        (_with_array(data, "stats", np.zeros((3, 2))), "not all 0"),
    ):
        with pytest.raises(ModelFileError, match=words):
            from_bytes(forged)


def test_members_that_numpy_has_written_are_refused() -> None:
    members = members_of(to_bytes(model_of(leaf())))
    written = io.BytesIO()
    np.save(written, np.load(io.BytesIO(members["arrays/stats.npy"])))
    with pytest.raises(ModelFileError, match="does not begin as it must"):
        from_bytes(archive_of({**members, "arrays/stats.npy": written.getvalue()}))


def test_costs_that_are_none() -> None:
    tree = replace(leaf(), costs=((0.0, 1.0), (2.0, 0.0)))
    data = to_bytes(model_of(tree))
    assert from_bytes(data)[0].trees[0].costs == tree.costs
    facts = json.loads(members_of(data)["header.json"])["trees"][0]
    for costs in (["01", "10"], [[False, True], [True, False]], "", {}, [[0, 0], [0, 0]]):
        with pytest.raises(ModelFileError):
            from_bytes(with_header(data, trees=[{**facts, "costs": costs}]))
    older = with_header(data, version=5)
    assert from_bytes(older)[0].trees[0].costs == ()
