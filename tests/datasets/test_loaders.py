"""The loaders give the papers' data, from wherever they are, and refuse anything else."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import socket
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from obliqua import DatasetDamaged, DatasetMissing, MissingDependency, datasets
from obliqua.data import read_table
from obliqua.datasets import _sources
from obliqua.datasets._facts import FACTS, fingerprint
from problems import data_folder

NAMES = sorted(FACTS)
ANYWHERE = ["balance_scale", "iris", "wine"]  # those that need neither a file nor a network
IN_A_FOLDER = ["spect"]  # those that are nowhere else
FETCHED = sorted(set(NAMES) - set(ANYWHERE) - set(IN_A_FOLDER))
PARTED = ["adult", "shuttle", "spect"]  # those with fixed test rows
MIXED = {"adult": 8, "australian": 8, "bank_full": 9}  # qualitative columns, by HHCART's table 6


def load(name: str, **params: Any) -> Any:
    return getattr(datasets, f"load_{name}")(**params)


@pytest.fixture
def folder() -> Path:
    """The folder with the papers' data sets."""
    return data_folder()


@pytest.fixture
def nowhere(way_out: socket.socket) -> None:
    """No folder and no network."""


def copy_of(name: str, folder: Path, to: Path, *, manifest: bool = True) -> Path:
    """A file of the folder, put into another folder, with or without the manifest."""
    files = [f"{name}.csv", *(["manifest.json"] if manifest else [])]
    for file in files:
        (to / file).write_bytes((folder / file).read_bytes())
    return to / files[0]


def test_every_data_set_has_a_loader() -> None:
    found = {f"load_{name}" for name in NAMES}
    of_oc1 = {"load_oc1_figure5", "load_star_galaxy", "make_ls10", "make_pol", "make_rcb"}
    of_etct = {"make_normals_with_clusters", "make_two_normals"}
    assert sorted(found | of_oc1 | of_etct | {"make_planted_tree"}) == datasets.__all__
    for name in datasets.__all__:
        assert "Returns" in (getattr(datasets, name).__doc__ or "")


# --- the folder -------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_the_data_are_those_of_the_manifest(name: str, folder: Path) -> None:
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["datasets"]
    entry = next(entry for entry in listed if entry["name"] == name)
    for file in entry["files"]:
        subset = {} if file["role"] == "all" else {"subset": file["role"]}
        loaded = load(name, **subset)
        assert loaded.source == file["file"]
        assert loaded.data.dtype == (object if name in MIXED else np.float64)
        assert loaded.data.flags.c_contiguous
        qualitative = [entry["features"][k] for k in loaded.categorical_features]
        assert qualitative == entry["categorical"]
        assert len(qualitative) == MIXED.get(name, 0)
        assert loaded.data.shape == (file["n_rows"], entry["n_features"])
        assert loaded.target.dtype.kind == "U"
        assert Counter(loaded.target.tolist()) == file["class_counts"]
        assert loaded.feature_names == entry["features"]
        assert loaded.target_names == list(file["class_counts"])


@pytest.mark.data
def test_a_damaged_file_is_refused_by_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = copy_of("heart", folder, tmp_path)
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    assert load("heart").source == "heart.csv"
    file.write_text(file.read_text("utf-8").replace("2.4", "24", 1), "utf-8")
    with pytest.raises(DatasetDamaged, match=r"heart\.csv.*SHA-256"):
        load("heart")


@pytest.mark.data
def test_without_a_manifest_the_content_is_still_checked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = copy_of("heart", folder, tmp_path, manifest=False)
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    assert load("heart").data.shape == (270, 13)
    text = file.read_text("utf-8")
    for old, new, message in (
        ("2.4", "24", "some values differ"),
        ("2.4", "", "cannot be read as lines of numbers"),
        ("2.4", "nan", "missing or not finite"),
        (",2\n", ",1\n", "its classes are"),
        ("70,1,4,130,322,0,2,109,0,2.4,2,3,3,2\n", "", "its shape is"),
    ):
        assert old in text
        file.write_text(text.replace(old, new, 1), "utf-8")
        with pytest.raises(DatasetDamaged, match=message):
            load("heart")


@pytest.mark.data
def test_a_file_with_levels_is_not_one_of_numbers(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = copy_of("australian", folder, tmp_path, manifest=False)
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    file.write_text("a,b\n1,2,3\n4,5\n", "utf-8")
    with pytest.raises(DatasetDamaged, match="as lines of numbers and levels with a class"):
        load("australian")


@pytest.mark.data
def test_a_broken_manifest_is_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_of("heart", folder, tmp_path)
    (tmp_path / "manifest.json").write_text('{"datasets": 3}', "utf-8")
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    with pytest.raises(DatasetDamaged, match=r"manifest\.json"):
        load("heart")


def test_a_folder_that_does_not_exist_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path / "absent"))
    with pytest.raises(DatasetMissing, match="not a folder"):
        load("wine")


@pytest.mark.data
def test_windows_are_the_rows_of_glass_with_two_classes() -> None:
    X, y = load("glass_windows", return_X_y=True)
    all_X, kind = load("glass", return_X_y=True)
    np.testing.assert_array_equal(X, all_X)
    np.testing.assert_array_equal(y == "window", np.isin(kind, ("1", "2", "3")))


# --- other places -----------------------------------------------------------------------------


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", ANYWHERE)
def test_some_sets_need_no_file(name: str) -> None:
    # The loader itself compares the content with the fingerprint of the papers' data.
    assert load(name).source in {"scikit-learn", "its definition"}


@pytest.mark.data
@pytest.mark.parametrize("name", ANYWHERE)
def test_they_are_the_same_as_the_files_row_by_row(
    name: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    X, y = load(name, return_X_y=True)
    request.getfixturevalue("nowhere")
    again_X, again_y = load(name, return_X_y=True)
    np.testing.assert_array_equal(X, again_X)
    np.testing.assert_array_equal(y, again_y)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", FETCHED + IN_A_FOLDER)
def test_what_cannot_be_had_says_what_to_do(name: str) -> None:
    with pytest.raises(DatasetMissing, match=rf"{name}.*\.csv.*OBLIQUA_DATA") as caught:
        load(name)
    assert isinstance(caught.value, OSError)
    assert ("connect to the network" in str(caught.value)) == (name not in IN_A_FOLDER)


@pytest.mark.usefixtures("nowhere")
def test_without_a_network_one_sentence_says_so() -> None:
    with pytest.raises(DatasetMissing, match=r"heart.*cannot be reached \(.*refused\)") as caught:
        load("heart")  # scikit-learn would warn, which is an error here, and try again
    assert "\n" not in str(caught.value)
    assert "; connect to the network, or put the file heart.csv" in str(caught.value)


def test_a_network_that_never_answers(
    way_out: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sources, "PATIENCE", 0.2)
    way_out.listen()
    started = time.monotonic()
    with pytest.raises(DatasetMissing, match=r"heart.*cannot be reached \(.*timed out\)"):
        load("heart")
    assert time.monotonic() - started < 20.0  # scikit-learn sets no limit


def test_an_answer_that_is_an_error_is_scikit_learns_business(
    way_out: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenML says 412 for a number that it does not have: it was reached."""

    def fetch(**params: Any) -> Any:
        raise ValueError("Dataset with data_id 53 not found.")

    monkeypatch.setattr(_sources, "OPENML", "http://{}:{}/{{}}".format(*way_out.getsockname()))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    way_out.listen()

    def answer() -> None:
        asked, _ = way_out.accept()
        with asked:
            asked.recv(1000)
            asked.sendall(b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    with pytest.raises(DatasetMissing, match=r"OpenML did not give its number 53 \(.*not found"):
        load("heart")
    thread.join(10.0)


def as_openml(name: str, X: np.ndarray, y: np.ndarray) -> pd.DataFrame:
    """A frame as OpenML would give it: its own labels, some columns of numbers nominal."""
    frame = pd.DataFrame(X, columns=list(FACTS[name].features))
    first = frame.columns[0]
    frame[first] = frame[first].astype(str).astype("category")
    openml = FACTS[name].openml
    assert openml is not None
    theirs = {ours: label for label, ours in openml.labels.items()}
    target = pd.Series([theirs.get(label, label) for label in y], dtype="category")
    if name == "boston_housing":
        target = pd.Series(np.where(y == "1", 20.9, 21.0))
    return frame.assign(their_class=target)


def serve(frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Let OpenML give this frame; the list fills with how it was asked."""
    asked: list[dict[str, Any]] = []

    def fetch(**params: Any) -> Bunch:
        asked.append(params)
        return Bunch(data=frame)

    monkeypatch.delenv("OBLIQUA_DATA", raising=False)
    monkeypatch.setattr(_sources, "_reach_openml", lambda facts, role: None)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    shutil.rmtree(os.environ["OBLIQUA_CACHE"], ignore_errors=True)  # what was served before
    return asked


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(set(FETCHED) - set(PARTED)))
def test_openml_gives_the_same_data_in_any_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = load(name, return_X_y=True)
    frame = as_openml(name, X, y).sample(frac=1, random_state=0)
    if name == "breast_cancer_wisconsin":  # OpenML's copy has incomplete rows
        frame = pd.concat([frame, frame.iloc[:16].assign(Mitoses=np.nan)])
    asked = serve(frame, monkeypatch)
    loaded = load(name)
    openml = FACTS[name].openml
    assert openml is not None
    assert loaded.source == f"OpenML {openml.number}"
    assert fingerprint(loaded.data, loaded.target) == fingerprint(X, y)
    assert [params["data_id"] for params in asked] == [openml.number]


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(set(PARTED) - set(IN_A_FOLDER)))
def test_openml_has_both_parts_in_one_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {subset: load(name, subset=subset) for subset in ("train", "test")}
    frames = [as_openml(name, part.data, part.target) for part in parts.values()]
    for in_order in (frames, frames[::-1]):  # whichever comes first
        serve(pd.concat(in_order, ignore_index=True), monkeypatch)
        for subset, part in parts.items():
            np.testing.assert_array_equal(load(name, subset=subset).data, part.data)
    mixed = pd.concat(frames, ignore_index=True).sample(frac=1, random_state=0)
    serve(mixed, monkeypatch)
    with pytest.raises(DatasetDamaged, match=name):
        load(name)


@pytest.mark.data
def test_openml_has_incomplete_rows_of_adult(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = [load("adult", subset=subset) for subset in ("test", "train")]
    frames = [as_openml("adult", part.data, part.target) for part in parts]
    holes = [frames[0].iloc[:9].assign(occupation="?"), frames[1].iloc[:9].assign(workclass=None)]
    blanks = frames[1].assign(sex=" " + frames[1]["sex"])
    serve(pd.concat([holes[0], frames[0], holes[1], blanks], ignore_index=True), monkeypatch)
    np.testing.assert_array_equal(load("adult").data, parts[1].data)
    np.testing.assert_array_equal(load("adult", subset="test").target, parts[0].target)


def test_another_set_of_openml_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(pd.DataFrame({"a": ["x", "y"], "class": ["1", "2"]}), monkeypatch)
    with pytest.raises(DatasetDamaged, match=r"heart.*OpenML 53"):
        load("heart")
    serve(pd.DataFrame({"a": [1.0, 2.0], "class": ["1", "2"]}), monkeypatch)
    with pytest.raises(DatasetDamaged, match="its shape is"):
        load("heart")


# --- the interface ----------------------------------------------------------------------------


@pytest.mark.usefixtures("nowhere")
def test_frames_and_pairs() -> None:
    plain = load("wine")
    assert plain.frame is None
    X, y = load("wine", return_X_y=True)
    np.testing.assert_array_equal(X, plain.data)
    np.testing.assert_array_equal(y, plain.target)
    framed = load("wine", as_frame=True)
    assert list(framed.frame.columns) == [*plain.feature_names, "class"]
    np.testing.assert_array_equal(framed.data.to_numpy(), X)
    frame, series = load("wine", as_frame=True, return_X_y=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(series, pd.Series)


@pytest.mark.usefixtures("nowhere")
def test_frames_need_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependency, match="pandas"):
        load("wine", as_frame=True)
    with pytest.raises(MissingDependency, match="pandas"):
        load("heart")


@pytest.mark.parametrize("name", PARTED)
def test_some_sets_have_two_parts(name: str) -> None:
    with pytest.raises(ValueError, match="'train' or 'test'"):
        load(name, subset="all")


# --- qualitative columns ----------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.parametrize("name", MIXED)
def test_qualitative_columns_are_text_and_categories(name: str) -> None:
    loaded = load(name)
    framed = load(name, as_frame=True)
    for place, column in enumerate(loaded.feature_names):
        kinds = {type(entry) for entry in loaded.data[:, place].tolist()}
        qualitative = place in loaded.categorical_features
        assert kinds == ({str} if qualitative else {float})
        assert str(framed.data.dtypes[column]) == ("category" if qualitative else "float64")
    np.testing.assert_array_equal(framed.data.to_numpy(dtype=object), loaded.data)


@pytest.mark.data
def test_arrays_frames_and_positions_mean_the_same_table() -> None:
    loaded = load("australian")
    framed = load("australian", as_frame=True)
    tables = [
        read_table(loaded.data),
        read_table(loaded.data, loaded.categorical_features),
        read_table(framed.data),
        read_table(framed.data, framed.categorical_features),
    ]
    for table in tables:
        np.testing.assert_array_equal(table.Z, tables[0].Z)
        kinds = [column.kind == "qualitative" for column in table.encoding.columns]
        assert np.flatnonzero(kinds).tolist() == loaded.categorical_features
    levels = tables[0].encoding.columns[5].levels
    assert levels == ("1", "2", "3", "4", "5", "7", "8", "9")


@pytest.mark.data
def test_compressed_files_may_be_plain(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = (folder / "adult_train.csv.gz").read_bytes()
    expected = load("adult")
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    (tmp_path / "adult_train.csv").write_bytes(gzip.decompress(packed))
    loaded = load("adult")
    assert loaded.source == "adult_train.csv"
    np.testing.assert_array_equal(loaded.data, expected.data)
    for broken in (packed[:1000], b"no gzip", packed[:-9] + b"123456789"):
        (tmp_path / "adult_train.csv.gz").write_bytes(broken)
        with pytest.raises(DatasetDamaged, match=r"adult_train\.csv\.gz cannot be read"):
            load("adult")


@pytest.mark.data
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Never-married", "Married", "some values differ"),
        (",39,", ",?,", "cannot be read as lines"),
        ("Private", "", "some values differ"),
    ],
)
def test_other_levels_are_refused(
    old: str,
    new: str,
    message: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = (folder / "adult_test.csv").read_text("utf-8")
    assert old in text
    (tmp_path / "adult_test.csv").write_text(text.replace(old, new, 1), "utf-8")
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    with pytest.raises(DatasetDamaged, match=message):
        load("adult", subset="test")


def test_a_fingerprint_knows_the_names_of_levels() -> None:
    y = np.array(["1", "2"])
    one = fingerprint(np.array([["a", 1.0], ["b", 2.0]], dtype=object), y)
    assert fingerprint(np.array([["b", 2.0], ["a", 1.0]], dtype=object), y[::-1]) == one
    assert fingerprint(np.array([["a", 1.0], ["c", 2.0]], dtype=object), y) != one
    assert fingerprint(np.array([["b", 1.0], ["a", 2.0]], dtype=object), y) != one
