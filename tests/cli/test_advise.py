"""`obliqua advise`: the library's figures, the words, and clear errors."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import obliqua
from cli_tools import Run, people, table
from obliqua.select import advise as module

QUICK = ("advise", "data.csv", "-t", "y", "--folds", "3", "--repeats", "1")


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the advice once: another form or width shows the same again."""
    found: list[Any] = []
    find = module.advise

    def known(*args: Any, **more: Any) -> Any:
        if not found:
            found.append(find(*args, **more))
        return found[0]

    monkeypatch.setattr(module, "advise", known)


def test_tables_words_and_command(run: Run, data: Path) -> None:
    data.write_text(table(200))
    result = run(*QUICK)
    lines = result.stdout.splitlines()
    assert lines[0] == "data.csv, target y: 200 rows, 3 features, 2 classes"
    names = [line.split()[0] for line in lines[4:11]]
    assert names == ["axis", "sparse", "dense", "refined", "linear", "forest", "majority"]
    assert "Accuracy of trees of equal size" in result.stdout
    joined = " ".join(result.stdout.split())
    frame = pl.read_csv(data)
    X, y = frame["a", "b", "c"].to_numpy(), frame["y"].to_numpy()
    expected = obliqua.advise(X, y, n_folds=3, n_repeats=1)
    for paragraph in expected.describe().split("\n\n")[1:]:
        assert paragraph in joined
    assert lines[-3] == "To grow this tree and save it:"
    assert lines[-1] == f"obliqua fit data.csv -t y {expected.command()}"
    assert max(map(len, lines[:-1])) <= 80
    assert [line for line in lines if line != line.rstrip()] == []


NAMES = ["--drop", 'note 1,"c,d"', "--categorical", "it's", "--missing", "?", "--missing", "a b"]


@pytest.mark.parametrize(
    ("file", "delimiter", "options"),
    [
        ("data.csv", ",", []),
        ("my data.csv", ",", ["--drop", "note 1", "--seed", "7"]),
        ("-data.csv", "\t", [*NAMES, "--delimiter", "tab", "--drop-missing-target"]),
        ("it's; ls.csv", ",", ["--features", "a,b", "--numeric", "a"]),
    ],
)
def test_the_command_that_is_printed_works(
    run: Run, data: Path, file: str, delimiter: str, options: list[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2)).round(3)
    names = ["a", "b", "note 1", '"c,d"' if delimiter == "," else "c,d", "it's", "the class"]
    lines = [delimiter.join(names)]
    for k, (one, other) in enumerate(X.tolist()):
        label = "no" if one + other > 0 else "" if k % 40 == 7 and delimiter != "," else "yes"
        cells = [f"{one}", "?" if k == 5 else f"{other}", f"text {k}", f"{k}", f"{k % 3}", label]
        lines.append(delimiter.join(cells))
    (data.parent / file).write_text("\n".join(lines) + "\n")
    start = ("advise", "--folds", "3", "--repeats", "1", "-t", "the class", *options)
    shown = run(*start, "--", file).stdout
    words = shlex.split(shown.splitlines()[-1])
    assert words[:2] == ["obliqua", "fit"]
    fitted = run(*words[1:])
    assert (data.parent / "model.obliqua").exists()
    # The tree has seen what the advice is about.
    n_rows = int(shown.partition(" rows, ")[0].rpartition(" ")[2])
    assert f"rows                {n_rows}" in fitted.stdout
    model = obliqua.load(data.parent / "model.obliqua")
    assert model.n_features_in_ == int(shown.partition(" features")[0].rpartition(" ")[2])
    assert model.random_state == (7 if "--seed" in options else 0)


def test_json_and_the_other_forms_agree(run: Run, data: Path, once: None) -> None:
    found = json.loads(run(*QUICK, "--json").stdout)
    again = json.loads(run(*QUICK, "--format", "json").stdout)
    for key in ("choice", "tree", "pays", "curve", "advice", "notes"):
        assert found[key] == again[key]
    rows = list(csv.DictReader(io.StringIO(run(*QUICK, "--format", "csv").stdout)))
    assert [row["method"] for row in rows] == [row["method"] for row in found["methods"]]
    assert float(rows[0]["accuracy"]) == found["methods"][0]["accuracy"]
    assert found["advice"].split("\n\n")[-1] in run(*QUICK, "--format", "markdown").stdout


def test_tables_of_all_kinds(run: Run, data: Path, once: None) -> None:
    data.write_text(people(90))
    result = run(*QUICK)
    assert result.stdout.splitlines()[0] == (
        "data.csv, target y: 90 rows, 4 features (2 qualitative), 2 classes, 29 missing cells"
    )
    notes = result.stderr.splitlines()
    assert notes[0].startswith("Note: linear takes no categories")
    assert notes[1].startswith("Note: linear takes no missing values")
    assert run(*QUICK, "--quiet").stderr == ""


def test_codes_as_categories(run: Run, data: Path) -> None:
    rows = "".join(f"{k % 8},{k},{['no', 'yes'][k % 2]}\n" for k in range(64))
    data.write_text("code,k,y\n" + rows)
    plain = json.loads(run(*QUICK, "--json").stdout)
    levels = json.loads(run(*QUICK, "--json", "--categorical", "code").stdout)
    assert levels["curve"]["axis"]["2"] == 1.0 > plain["curve"]["axis"]["2"]


def test_repeats_if_none_are_asked_for(run: Run, data: Path) -> None:
    found = json.loads(run(*QUICK[:4], "--folds", "2", "--json").stdout)
    assert (found["n_folds"], found["n_repeats"]) == (2, 2)


def test_large_tables_are_drawn_from(run: Run, data: Path) -> None:
    data.write_text(table(300))
    result = run(*QUICK, "--max-rows", "60")
    assert "of 300 rows were drawn, each class with its share; --max-rows says" in result.stderr
    assert json.loads(run(*QUICK, "--max-rows", "60", "--json").stdout)["n_rows"] <= 61
    few = run(*QUICK, "--max-rows", "3")
    assert few.stdout.startswith("data.csv, target y: 20 of 300 rows")
    assert (
        "20 of 300 rows were drawn, each class with its share, but at least 10 of a class, or "
        "all if it has fewer; --max-rows is 3."
    ) in few.stderr


def test_a_column_without_values_is_not_qualitative(run: Run, data: Path) -> None:
    header, *lines = table(60).splitlines()
    data.write_text("\n".join([f"e,{header}", *(f",{line}" for line in lines)]) + "\n")
    result = run(*QUICK)
    assert result.stdout.splitlines()[0] == (
        "data.csv, target y: 60 rows, 4 features (1 empty), 2 classes, 60 missing cells"
    )
    assert result.stderr == "Note: Column 'e' is empty in all rows; no split uses it.\n"
    fitted = run("fit", "data.csv", "-t", "y").stdout
    assert "features            3 numeric, 1 empty\n" in fitted
    assert "levels" not in fitted


@pytest.mark.parametrize("command", ["advise", "compare", "fit"])
def test_the_target_is_not_dropped(run: Run, data: Path, command: str) -> None:
    result = run(command, "data.csv", "-t", "y", "--drop", "y,a", code=1)
    assert "--drop names 'y', which is the target or the weight, and no feature" in result.stderr


def test_standard_input_has_no_command(run: Run, data: Path) -> None:
    words = ("advise", "-", *QUICK[2:])
    shown = run(*words, input=data.read_text()).stdout
    assert shown.startswith("standard input, target y: 60 rows")
    assert "obliqua fit" not in shown


def test_narrow_screens(run: Run, data: Path, once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (60, 40, 20):
        monkeypatch.setenv("COLUMNS", str(width))
        result = run(*QUICK)
        assert max(map(len, result.stdout.splitlines()[1:-1])) <= width
        assert "…" not in result.stdout
        assert "fit ms; --format csv has all columns" in result.stderr


def test_constant_columns(run: Run, data: Path, once: None) -> None:
    rows = "".join(f"1,2,{'pq'[k % 2]}\n" for k in range(40))
    data.write_text("a,b,y\n" + rows)
    result = run(*QUICK)
    assert "Take none of these yet" in result.stdout
    assert "obliqua fit" not in result.stdout
    assert np.isfinite(json.loads(run(*QUICK, "--json").stdout)["methods"][0]["accuracy"])
