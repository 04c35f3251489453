"""``obliqua export``: what the library's functions write, in files that are whole or not there."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, Shell, people
from node import run_module
from obliqua.cli.export import FORMATS

CHECKED = """python -c 'import obliqua; obliqua.from_json(open("t.json").read())'"""


def test_json(run: Run, model: Path) -> None:
    done = run("export", "m.obliqua", "-o", "t.json")
    tree = obliqua.load(model)
    text = Path("t.json").read_text("ascii")
    assert text == obliqua.export_json(tree) + "\n"
    size = f"{len(text) / 1000:,.1f} kB"
    assert done.stdout == ""
    assert done.stderr == f"Note: t.json, {size}: JSON. Its self-test: {CHECKED}\n"
    assert run("export", "m.obliqua", "-o", "t.json", "--quiet").output == ""


@pytest.mark.needs("node")
@pytest.mark.parametrize("name", ["it's a tree #1 100%?.mjs", "folder"])
def test_javascript_and_the_line_that_tests_it(run: Run, model: Path, name: str) -> None:
    words = (
        "export",
        "m.obliqua",
        "-o",
        str(Path("t.mjs").resolve()) if name == "folder" else name,
    )
    done = run(*words)
    assert Path(words[-1]).read_text("ascii") == obliqua.export_javascript(obliqua.load(model))
    assert len(done.stderr.splitlines()) == 1
    line = done.stderr.partition("Its self-test: ")[2]
    tested = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert tested.stderr == ""
    assert int(tested.stdout) > 3


@pytest.mark.needs("node")
def test_rows_of_a_table_are_the_tests(run: Run, folder: Path) -> None:
    Path("people.csv").write_text(people())
    run("fit", "people.csv", "-t", "y", "-m", "cart", "-o", "p.obliqua")
    words = ("export", "p.obliqua", "-o", "p.mjs", "--test-rows", "people.csv", "--tests", "17")
    run(*words)
    assert run_module(Path("p.mjs").read_text(), [], folder)["tested"] == 17
    run(*words[:3], "p.json", *words[4:])
    tests = json.loads(Path("p.json").read_text())["tests"]
    rows = pl.read_csv("people.csv")["age", "town", "job", "size"]
    known = {tuple(row) for row in rows.iter_rows()}
    assert len(tests) == 17
    assert all(tuple(test["row"]) in known for test in tests)
    run(*words, "--missing", "?", "--delimiter", ",")


def test_standard_output(shell: Shell, run: Run, model: Path) -> None:
    done = shell("obliqua export m.obliqua --to json -o - | wc -c")
    assert done.stderr == ""
    assert int(done.stdout) == len(obliqua.export_json(obliqua.load(model))) + 1
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o t.txt", "Say it with --to"),
        ("-o t", "Say it with --to"),
        ("-o -", "Say it with --to"),
        ("", "Missing option '--output'"),
        ("-o t.json --to pmml", "'pmml' is not one of"),
        ("-o t.json --dialect duckdb", "--dialect is for sql; this is json"),
        ("-o t.mjs --name f", "--name is for c; this is javascript"),
        ("-o t.sql --numbers float", "--numbers is for c and onnx; this is sql"),
        ("-o t.onnx --table t", "--table is for sql; this is onnx"),
        ("-o t.json --header", "--header is for c; this is json"),
        ("-o t.c --numbers half", "c computes with double or float"),
        ("-o t.json --tests -1", "of at least 0"),
        ("-o t.json --missing ?", "--missing is for the table of --test-rows"),
        ("-o t.json --test-rows data.csv --tests 0", "--tests 0 wants none"),
    ],
)
def test_wrong_usage(run: Run, model: Path, words: str, message: str) -> None:
    done = run("export", "m.obliqua", *words.split(), code=2)
    assert message in " ".join(done.stderr.split())
    assert not list(Path().glob("t*"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("m.obliqua -o m.obliqua --to json", "is the file that is read"),
        ("m.obliqua -o data.csv --to json --test-rows data.csv", "is the file that is read"),
        ("m.obliqua -o there/t.json", "is not there. Make it first"),
        ("n.obliqua -o t.json", "is not there. Did you mean 'm.obliqua'?"),
        ("data.csv -o t.json", "is not a model file"),
    ],
)
def test_trouble(run: Run, model: Path, words: str, message: str) -> None:
    kept = model.read_bytes(), Path("data.csv").read_bytes()
    assert message in run("export", *words.split(), code=1).stderr
    assert (model.read_bytes(), Path("data.csv").read_bytes()) == kept
    assert not Path("t.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk(run: Run, shell: Shell, model: Path) -> None:
    Path("full.json").symlink_to("/dev/full")
    done = run("export", "m.obliqua", "-o", "full.json", code=1)
    assert "full.json cannot be written" in done.stderr
    through = shell("obliqua export m.obliqua --to json -o - > /dev/full")
    assert (through.returncode, len(through.stderr.splitlines())) == (1, 1)
    assert "No space left" in through.stderr


@pytest.mark.skipif(os.name == "nt", reason="limits are those of Unix")
def test_what_does_not_fit_leaves_the_old_file(shell: Shell, model: Path) -> None:
    Path("t.json").write_text("old")
    before = sorted(os.listdir())
    done = shell("ulimit -f 1; trap '' XFSZ; obliqua export m.obliqua -o t.json")
    assert done.returncode == 1
    assert "t.json cannot be written" in done.stderr
    assert Path("t.json").read_text() == "old"
    assert sorted(os.listdir()) == before


def test_the_size_is_said_first_if_it_is_large(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("obliqua.export.cost.LARGE", 10)
    said = run("export", "m.obliqua", "-o", "t.json").stderr.splitlines()
    assert said[0].startswith("Note: The JSON text of 1 tree")
    assert said[1].startswith("Note: t.json")


# --- the other formats -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "words", "arguments"),
    [
        ("t.c", "--name f --numbers float", {"name": "f", "numbers": "float"}),
        ("t.h", "", {"header": True}),
        ("t.txt", "--to c --header --tests 9", {"header": True, "n_tests": 9}),
        ("t.sql", "--dialect duckdb --table p", {"dialect": "duckdb", "table": "p"}),
        ("t.onnx", "--numbers float", {"numbers": "float"}),
    ],
)
def test_words_become_arguments(
    run: Run,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    words: str,
    arguments: dict[str, object],
) -> None:
    name = {".c": "c", ".h": "c", ".txt": "c", ".sql": "sql", ".onnx": "onnx"}[Path(file).suffix]
    module = import_module(FORMATS[name].module)
    write = getattr(module, f"export_{name}")
    run("export", "m.obliqua", "-o", file, *words.split())
    made = write(obliqua.load(model), **arguments)
    text = made.encode() if isinstance(made, str) else made.SerializeToString()
    assert Path(file).read_bytes().rstrip() == text.rstrip()


@pytest.mark.parametrize(
    ("words", "option"), [("-o t.c --name 1x", "name"), ("-o t.sql --dialect basic", "dialect")]
)
def test_a_value_that_makes_no_sense_is_wrong_usage(
    run: Run, model: Path, words: str, option: str
) -> None:
    done = run("export", "m.obliqua", *words.split(), code=2)
    assert f"--{option}: {option} " in " ".join(done.stderr.split())


def test_rows_without_gaps_are_the_same_from_a_table(run: Run, model: Path) -> None:
    run("export", "m.obliqua", "-o", "t.json", "--test-rows", "data.csv", "--tests", "1000")
    rows = [test["row"] for test in json.loads(Path("t.json").read_text())["tests"]]
    assert np.array_equal(rows, pl.read_csv("data.csv")["a", "b", "c"].to_numpy())


def test_the_query_that_tests_itself(run: Run, model: Path) -> None:
    run("export", "m.obliqua", "-o", "t.sql", "--self-test")
    with closing(sqlite3.connect(":memory:")) as database:
        assert database.execute(Path("t.sql").read_text()).fetchone() == (0,)
    done = run("export", "m.obliqua", "-o", "t.sql", "--tests", "3", code=2)
    assert "add --self-test" in " ".join(done.stderr.split())
