"""The file of results: killed programs, damage, other writers, and other code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from obliqua.select.methods import Method
from reproduction import store as store_module
from reproduction.log import encoded, read_lines
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.running import TablePart, prepare, run, work_off
from reproduction.store import CellKey, Kept, ResultsError, Store

CELL = {"classes": ["a"], "confusion": [[3]], "leaves": [2], "seconds": 0.1, "features": [1.5]}


def filled(path: Path, n_cells: int = 3) -> Path:
    """A file with a method, a data set and some cells."""
    store = Store(path, "t", 5)
    store.expect_method("m", "obliqua.CartClassifier", {"shape": (1, 2)})
    store.expect_data("s", "abc")
    store.expect_division("s", "5 simple folds")
    with store.open():
        for repeat in range(n_cells):
            store.put(CellKey("s", "m", repeat), CELL)
    return path


def cells_of(path: Path) -> list[int]:
    return list(Store(path, "t", 5, resume=True).cells("s", "m"))


def test_what_was_put_is_read(tmp_path: Path) -> None:
    kept = Kept(filled(tmp_path / "x.jsonl"))
    assert kept.head == {"format": 2, "table": "t", "seed": 5}
    assert kept.cells("s", "m") == {0: CELL, 1: CELL, 2: CELL}
    assert CellKey("s", "m", 2) in kept
    assert CellKey("s", "m", 3) not in kept
    assert CellKey("s", "other", 0) not in kept
    (made,) = kept.runs
    assert {"date", "python", "obliqua", "numpy", "scipy", "scikit-learn", "cpu"} <= set(made)
    # A tuple is read as a list, and is the same setting.
    again = Store(kept.path, "t", 5, resume=True)
    again.expect_method("m", "obliqua.CartClassifier", {"shape": (1, 2)})
    with pytest.raises(ResultsError, match="another setting of the method m"):
        again.expect_method("m", "obliqua.CartClassifier", {"shape": (1, 3)})
    with pytest.raises(ResultsError, match="another division of the data set s"):
        again.expect_division("s", "10 simple folds")


def test_a_last_line_that_is_torn_anywhere_is_cut_off(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.jsonl")
    content = path.read_bytes()
    last = content.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(content)):
        path.write_bytes(content[:end])
        store = Store(path, "t", 5, resume=True)
        assert list(store.cells("s", "m")) == [0, 1]
        with store.open():
            store.put(CellKey("s", "m", 2), CELL)
        lines = read_lines(path)
        assert not lines.torn
        assert path.read_bytes()[:last] == content[:last]
        assert cells_of(path) == [0, 1, 2]


def test_a_file_that_was_torn_in_its_first_line_is_begun_again(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.jsonl")
    first = path.read_bytes().partition(b"\n")[0] + b"\n"
    for end in range(len(first)):
        path.write_bytes(first[:end])
        store = Store(path, "t", 5, resume=True)
        with store.open():
            store.put(CellKey("s", "m", 0), CELL)
        assert path.read_bytes().startswith(first)
        assert cells_of(path) == [0]


def test_only_what_is_needed_is_cut_off(tmp_path: Path) -> None:
    """Reading alone changes nothing, so a copy of the file can be looked at."""
    path = filled(tmp_path / "x.jsonl")
    path.write_bytes(path.read_bytes()[:-3])
    before = path.read_bytes()
    assert cells_of(path) == [0, 1]
    assert path.read_bytes() == before


def test_damage_elsewhere_is_refused(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.jsonl")
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    for number in range(1, len(lines)):
        place = sum(map(len, lines[:number])) + len(lines[number]) // 2
        changed = bytearray(content)
        changed[place] = ord("7") if changed[place] != ord("7") else ord("8")
        path.write_bytes(changed)
        with pytest.raises(ResultsError, match=f"damaged: line {number + 1} is not"):
            Store(path, "t", 5, resume=True)
        assert path.read_bytes() == changed
    path.write_bytes(b"".join([lines[0], lines[1], lines[2][:-5], *lines[3:]]))
    with pytest.raises(ResultsError, match="damaged: line 3"):
        Kept(path)


@pytest.mark.parametrize(
    "garbage", [b"\n", b"{}\n", b"not a line\n", encoded({"cell": 1})[:-3] + b"\n"]
)
def test_a_whole_last_line_that_nobody_wrote_is_refused(tmp_path: Path, garbage: bytes) -> None:
    """A program that is killed leaves no line's end behind a part of a line."""
    path = filled(tmp_path / "x.jsonl")
    content = path.read_bytes()
    number = content.count(b"\n") + 1
    path.write_bytes(content + garbage)
    for read in (Kept, lambda path: Store(path, "t", 5, resume=True)):
        with pytest.raises(ResultsError, match=f"line {number} is not.*remove this last line"):
            read(path)
    assert path.read_bytes() == content + garbage
    path.write_bytes(content + garbage.rstrip(b"\n"))
    assert cells_of(path) == [0, 1, 2]


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"{}\n",
        b"earlier results",
        b'{"cells": {}}\n{}\n',
        encoded({"a": 1}),
        encoded({"format": 2, "table": "t", "seed": 5}) + encoded({"a": 1}),
        encoded({"format": 2, "table": "t", "seed": 5}) + encoded({"cell": 3}),
        encoded({"format": 2, "table": "t", "seed": 4})[:-3],
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="not a file of results"):
        Store(path, "t", 5, resume=True)
    assert path.read_bytes() == content


def test_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(encoded({"format": 3, "table": "t", "seed": 5}))
    with pytest.raises(ResultsError, match="another format: 3, now 2"):
        Store(path, "t", 5, resume=True)


# --- two programs -----------------------------------------------------------------------------


def test_a_file_in_use_is_noticed(tmp_path: Path) -> None:
    path = filled(tmp_path / "x.jsonl")
    waiting = Store(path, "t", 5, resume=True)
    first = Store(path, "t", 5, resume=True)
    with first.open():
        with pytest.raises(ResultsError, match="is in use"):
            Store(path, "t", 5, resume=True)
        with pytest.raises(ResultsError, match="is in use"), waiting.open():
            raise AssertionError
        first.put(CellKey("s", "m", 3), CELL)
    with pytest.raises(ResultsError, match="changed since it was read"), waiting.open():
        raise AssertionError
    assert cells_of(path) == [0, 1, 2, 3]


def test_two_programs_that_begin_at_once(tmp_path: Path) -> None:
    one, two = (Store(tmp_path / "x.jsonl", "t", 5) for _ in range(2))
    with (
        one.open(),
        pytest.raises(ResultsError, match="made by another program"),
        two.open(),
    ):
        raise AssertionError


def test_a_disk_that_is_full_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = filled(tmp_path / "x.jsonl")
    before = path.read_bytes()
    store = Store(path, "t", 5, resume=True)
    write = os.write
    written: list[int] = []

    def full(file: int, data: Any) -> int:
        if written:
            raise OSError(28, "No space left on device")
        written.append(write(file, bytes(data)[:20]))
        return written[0]

    with store.open():
        opened = path.read_bytes()
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            store.put(CellKey("s", "m", 3), CELL)
        assert caught.value.filename == str(path)
    assert written
    assert opened.startswith(before)
    assert path.read_bytes() == opened
    assert cells_of(path) == [0, 1, 2]


def test_cells_are_put_into_an_open_store(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"store\.open"):
        Store(tmp_path / "x.jsonl", "t", 5).put(CellKey("s", "m", 0), CELL)


# --- killed programs --------------------------------------------------------------------------

ROOT = str(Path(__file__).resolve().parents[2])  # workers find the package there too

_PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = [{folder!r}, {root!r}]
from experiment import run_it
run_it(Path({path!r}), {jobs})
"""

_EXPERIMENT = """
import numpy as np
from obliqua.select.methods import Method
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.running import TablePart, run
from reproduction.store import Store

def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 6)) + 0.3 * y[:, None]
    return ExperimentRows(X, np.array(["a", "b", "c"])[y])

def run_it(path, jobs=1, said=None):
    sets = [DataSet("s", "a cloud", rows)]
    names = {"m": "obliqua.HHCartClassifier", "c": "obliqua.CartClassifier"}
    methods = [Method(name, "", estimator) for name, estimator in names.items()]
    store = Store(path, "t", 5, resume=True)
    run(TablePart(store, sets, methods, {"s": 6}), n_jobs=jobs, progress=said)
"""


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A module with an experiment that is killed, and the results of one that is not."""
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "experiment.py").write_text(_EXPERIMENT, "utf-8")
    start(folder, folder / "whole.jsonl").communicate()
    return folder, figures(folder / "whole.jsonl")


def start(folder: Path, path: Path, jobs: int = 1) -> subprocess.Popen[str]:
    program = _PROGRAM.format(folder=str(folder), root=ROOT, path=str(path), jobs=jobs)
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,  # so that its workers can be killed with it
    )


def figures(path: Path) -> Any:
    kept = Kept(path)
    found = {method: kept.cells("s", method) for method in ("m", "c")}
    for cells in found.values():
        for cell in cells.values():
            del cell["seconds"], cell["cpu_ms"]
    return found


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on Windows")
def test_a_killed_program_loses_only_what_it_was_computing(
    experiment: tuple[Path, Any], tmp_path: Path
) -> None:
    """It is killed twice, alone and with its workers, and then ends."""
    folder, whole = experiment
    path = tmp_path / "x.jsonl"
    finished = 0
    for jobs in (1, 2):
        process = start(folder, path, jobs)
        assert process.stderr is not None
        # Killed as soon as a cell is told of, that is while the next one is computed.
        line = process.stderr.readline()
        os.killpg(process.pid, signal.SIGKILL)
        rest = process.communicate(timeout=60)[1]
        told = 1 + rest.count("repeat")
        kept = sum(map(len, figures(path).values()))
        assert line.startswith("[1/"), line + rest
        assert kept >= min(finished + told, 12)
        assert int(line[3:].partition("]")[0]) == 12 - finished
        finished = kept
        if finished == 12:
            break
    last = start(folder, path)
    assert "Traceback" not in last.communicate()[1]
    assert figures(path) == whole


def test_an_experiment_that_is_complete_computes_nothing(
    experiment: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, whole = experiment
    monkeypatch.syspath_prepend(folder)
    path = tmp_path / "x.jsonl"
    content = (folder / "whole.jsonl").read_bytes()
    path.write_bytes(content)
    import_module("experiment").run_it(path)
    assert path.read_bytes() == content
    assert len(whole["m"]) == 6


# --- other code -------------------------------------------------------------------------------


def part(store: Store, repeats: int, **params: Any) -> TablePart:
    import numpy as np

    X = np.arange(40.0).reshape(20, 2)
    rows = ExperimentRows(X, np.array(["a", "b"])[np.arange(20) % 3 % 2])
    method = Method("m", "", "obliqua.CartClassifier", params)
    return TablePart(store, [DataSet("s", "", lambda: rows)], [method], {"s": repeats})


def test_results_of_other_code_are_gone_on_with_if_they_come_out_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    run(part(Store(path, "t", 5), 2), progress=lambda line: None)
    said: list[str] = []
    run(part(Store(path, "t", 5, resume=True), 3), progress=said.append)
    assert len(said) == 1  # the same code: nothing is compared
    real = store_module.surroundings()
    monkeypatch.setattr(store_module, "surroundings", lambda: real | {"code": "other"})
    said.clear()
    run(part(Store(path, "t", 5, resume=True), 4), progress=said.append)
    assert len(said) == 2
    assert "as before" in said[0]
    assert "repeat 4:" in said[1]
    assert len(Kept(path).runs) == 3
    # A machine with more cores, on another day, is the same.
    monkeypatch.setattr(
        store_module, "surroundings", lambda: real | {"code": "other", "date": "", "cores": 99}
    )
    assert Store(path, "t", 5, resume=True).made_elsewhere  # the first cells are of other code
    fresh = tmp_path / "fresh.jsonl"
    run(part(Store(fresh, "t", 5), 2), progress=lambda line: None)
    monkeypatch.setattr(
        store_module, "surroundings", lambda: real | {"code": "other", "date": "now", "cores": 1}
    )
    assert not Store(fresh, "t", 5, resume=True).made_elsewhere


def test_results_that_come_out_differently_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.jsonl"
    run(part(Store(path, "t", 5), 2), progress=lambda line: None)
    real = store_module.surroundings()
    monkeypatch.setattr(store_module, "surroundings", lambda: real | {"numpy": "other"})
    store = Store(path, "t", 5, resume=True)
    work = prepare([part(store, 3)])
    first, last = work.tasks
    assert (first.again, last.again) == (True, False)
    kept = store.cells("s", "m")[first.key.repeat]
    kept["leaves"] = [count + 1 for count in kept["leaves"]]
    before = path.read_bytes()
    for _ in range(2):  # a refusal does not pave the way for a second try
        with pytest.raises(ResultsError, match="come out differently now: s m, repeat"):
            work_off(work)
        assert path.read_bytes() == before


def test_a_store_says_which_commit_it_was(tmp_path: Path) -> None:
    (made,) = Kept(filled(tmp_path / "x.jsonl", 1)).runs
    assert time.strptime(made["date"], "%Y-%m-%d")
    assert str(Path.home()) not in str(made) or Path.home() == Path("/")
    assert len(made["code"]) == 64
