"""``obliqua demo`` and the example beside it."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import pytest

from cli_tools import Run, facts
from obliqua import datasets
from obliqua.cli.demo import OF_OC1
from obliqua.select import compare as module
from obliqua.select.methods import BY_DEFAULT


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare one method only: the comparison has tests of its own."""
    one = partial(module.compare, methods=["cart"], n_folds=2)
    monkeypatch.setattr(module, "compare", one)


def test_the_demo(run: Run) -> None:
    result = run("demo")
    assert result.stderr == ""
    for name in BY_DEFAULT:
        assert f"\n{name} " in result.stdout
    assert "grown from all rows and pruned by cross-validation:" in result.stdout
    assert "├─ yes:" in result.stdout
    assert "Importances" in result.stdout
    assert "Its picture: obliqua-demo.png" in result.stdout
    assert Path("obliqua-demo.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_picture_goes_where_it_is_wanted(run: Run, quick: None) -> None:
    run("demo", "--picture", "wine.svg")
    assert [path.name for path in Path().iterdir()] == ["wine.svg"]
    run("demo", "--picture", "wine.bmp", code=2)
    assert "is not there" in run("demo", "--picture", "no/wine.svg", code=1).stderr


def test_the_data_can_be_kept(run: Run, quick: None) -> None:
    assert "wine.csv" in run("demo", "--table", "wine.csv").stdout
    said = facts(run("fit", "wine.csv", "-t", "grower").stdout)
    assert said["classes"] == "3: class_0 (59), class_1 (71), class_2 (48)"
    assert said["features"] == "13 numeric"


def test_without_matplotlib(run: Run, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert "pip install matplotlib" in result.stderr
    assert "├─ yes:" in result.stdout
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", OF_OC1)
def test_the_data_of_oc1(
    name: str, run: Run, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = getattr(datasets, f"make_{name}")(120)  # the same rows, but only a few: it is quicker
    monkeypatch.setattr(datasets, f"make_{name}", lambda: few)
    said = run("demo", "--data", name, "--table", "rows.csv").stdout
    assert f"{name.upper()}, artificial data of the OC1 paper: 120 rows" in said
    assert "The data, with the target class: rows.csv" in said
    lines = Path("rows.csv").read_text("utf-8").splitlines()
    assert lines[0] == ",".join([*few.feature_names, "class"])
    assert lines[1].startswith("0.396465,0.840485,")
    assert [line.rpartition(",")[2] for line in lines[1:]] == few.target.tolist()


def test_other_data_are_not_known(run: Run) -> None:
    assert "'wine', 'ls10', 'pol', 'rcb'" in run("demo", "--data", "iris", code=2).stderr
