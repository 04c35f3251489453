"""``obliqua demo`` and the example beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cli_tools import Run, facts
from obliqua.experiments.methods import METHODS


def test_the_demo(run: Run) -> None:
    result = run("demo")
    assert result.stderr == ""
    for name in METHODS:
        assert f"\n{name} " in result.stdout
    assert "grown from 160 of 178 rows and pruned on the other 18:" in result.stdout
    assert "├─ yes:" in result.stdout
    assert "Importances" in result.stdout
    assert "Its picture: obliqua-demo.png" in result.stdout
    assert Path("obliqua-demo.png").read_bytes().startswith(b"\x89PNG")
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_picture_goes_where_it_is_wanted(run: Run) -> None:
    run("demo", "--picture", "wine.svg")
    assert [path.name for path in Path().iterdir()] == ["wine.svg"]
    run("demo", "--picture", "wine.bmp", code=2)
    assert "is not there" in run("demo", "--picture", "no/wine.svg", code=1).stderr


def test_the_data_can_be_kept(run: Run) -> None:
    assert "wine.csv" in run("demo", "--table", "wine.csv").stdout
    said = facts(run("fit", "wine.csv", "-t", "grower").stdout)
    assert said["classes"] == "3: class_0 (59), class_1 (71), class_2 (48)"
    assert said["features"] == "13 numeric"


def test_without_matplotlib(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("demo")
    assert "pip install matplotlib" in result.stderr
    assert "├─ yes:" in result.stdout
    assert list(Path().iterdir()) == []
