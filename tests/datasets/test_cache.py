"""What OpenML has delivered is kept, checked when it is read, and fetched anew if damaged."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from obliqua import DatasetMissing, datasets
from obliqua.datasets import _cache, _sources
from obliqua.datasets._facts import FACTS, DataPart, Facts, OpenML, fingerprint

FRAME = pd.DataFrame(
    {
        "x": [1.5, 0.1 + 0.2, 1e-7, -2.0],
        "kind": ["a", "b, c", 'd"e', "a"],
        "class": ["p", "q", "q", "p"],
    }
)
ROWS = np.array(FRAME[["x", "kind"]].to_numpy(dtype=object))
LABELS = np.array(["p", "q", "q", "p"])
TOY = Facts(
    "toy",
    "A toy",
    ("x", "kind"),
    {"all": DataPart("toy.csv.gz", {"p": 2, "q": 2}, fingerprint(ROWS, LABELS))},
    "",
    OpenML(99),
    ("kind",),
)


class Server:
    """Stands in for OpenML: gives a frame, or nothing, and counts how often it was asked."""

    def __init__(self) -> None:
        self.frame: pd.DataFrame | None = FRAME
        self.asked = 0

    def fetch(self, **params: Any) -> Bunch:
        self.asked += 1
        if self.frame is None:
            raise OSError("no network")
        return Bunch(data=self.frame)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.delenv("OBLIQUA_DATA", raising=False)
    monkeypatch.setattr(_sources, "_reach_openml", lambda facts, role: None)
    found = Server()
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", found.fetch)
    return found


def same(table: _sources.SourceTable) -> bool:
    return table.data.tolist() == ROWS.tolist() and table.target.tolist() == LABELS.tolist()


def test_the_second_time_needs_no_network(server: Server, cache: Path) -> None:
    first = _sources.find(TOY, "all")
    assert first.source == "OpenML 99"
    assert [path.name for path in cache.iterdir()] == ["toy.csv"]
    server.frame = None
    again = _sources.find(TOY, "all")
    assert again.source == "the cache, OpenML 99"
    assert same(first)
    assert same(again)  # every bit of every number, and commas and quotes in levels
    assert server.asked == 1


@pytest.mark.parametrize(
    ("old", "new"), [("1.5", "1.6"), ("1.5", "x"), ("-2.0", "nan"), (",p\n", ",q\n")]
)
def test_a_damaged_file_is_said_and_fetched_anew(
    server: Server, cache: Path, old: str, new: str
) -> None:
    _sources.find(TOY, "all")
    kept = cache / "toy.csv"
    whole = kept.read_text("utf-8")
    kept.write_text(whole.replace(old, new, 1), "utf-8")
    with pytest.warns(UserWarning, match=r"toy\.csv in the cache .* is damaged") as said:
        table = _sources.find(TOY, "all")
    assert len(said) == 1
    assert table.source == "OpenML 99"
    assert kept.read_text("utf-8") == whole
    assert server.asked == 2


def test_a_damaged_file_without_a_network_is_no_data(server: Server, cache: Path) -> None:
    cache.mkdir()
    (cache / "toy.csv").write_bytes(b"\xff\x00")
    server.frame = None
    with (
        pytest.warns(UserWarning, match="is damaged"),
        pytest.raises(DatasetMissing, match="OpenML did not give"),
    ):
        _sources.find(TOY, "all")


def test_what_is_not_the_data_set_is_not_kept(server: Server, cache: Path) -> None:
    server.frame = FRAME.assign(x=[1.5, 0.3, 1e-7, -3.0])
    with pytest.raises(Exception, match="some values differ"):
        _sources.find(TOY, "all")
    assert not cache.exists()


@pytest.mark.usefixtures("server")
def test_a_cache_that_cannot_be_written_to_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str, text: str) -> None:
        raise OSError("no room")

    monkeypatch.setattr(_cache, "write_text", refuse)
    with pytest.warns(UserWarning, match=r"toy\.csv cannot be kept .*no room.*OBLIQUA_CACHE"):
        assert same(_sources.find(TOY, "all"))
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("server")
def test_a_cache_that_is_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("OBLIQUA_CACHE", str(tmp_path / "file"))
    with pytest.raises(DatasetMissing, match=r"OBLIQUA_CACHE names .* not a folder"):
        _sources.find(TOY, "all")


def test_the_folder_comes_first(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sources.find(TOY, "all")
    (tmp_path / "toy.csv").write_bytes((cache / "toy.csv").read_bytes())
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    assert _sources.find(TOY, "all").source == "toy.csv"
    assert server.asked == 1


def test_the_message_tells_what_was_tried(
    server: Server, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.frame = None
    with pytest.raises(DatasetMissing) as caught:
        datasets.load_heart()
    said = str(caught.value)
    assert "OBLIQUA_DATA is not set" in said
    assert f"the cache {str(cache)!r} has no heart.csv" in said
    assert "OpenML did not give its number 53 (no network)" in said
    assert "put the file heart.csv" in said
    monkeypatch.setenv("OBLIQUA_DATA", str(tmp_path))
    with pytest.raises(DatasetMissing) as caught:
        datasets.load_spect()
    said = str(caught.value)
    assert f"OBLIQUA_DATA {str(tmp_path)!r} has no spect_train.csv" in said
    assert "no other source is known" in said
    assert "cache" not in said  # only what OpenML delivers is kept


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {}, "~/.cache/obliqua"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/obliqua"),
        ("darwin", {}, "~/Library/Caches/obliqua"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/obliqua"),
        ("win32", {}, "~/AppData/Local/obliqua"),
        ("linux", {"OBLIQUA_CACHE": "~/mine"}, "~/mine"),
    ],
)
def test_where_the_cache_is(
    platform: str, variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OBLIQUA_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert _cache.cache_folder() == Path(os.path.expanduser(place))


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("OBLIQUA_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert tmp_path in _cache.cache_folder().parents


def test_every_set_that_openml_has_can_be_kept() -> None:
    names = [part.file for facts in FACTS.values() for part in facts.parts.values()]
    assert len({name.removesuffix(".gz") for name in names}) == len(names)
