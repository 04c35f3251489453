"""What the tests of the command line share."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from obliqua.cli._app import app

Run = Callable[..., Result]
Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test works in an empty folder, on a narrow screen without colours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path


@pytest.fixture
def run() -> Run:
    """Runs the command within this process; `code` is the exit code that is expected."""

    def run(*words: str, code: int = 0, **more: Any) -> Result:
        result = CliRunner().invoke(app, list(words), prog_name="obliqua", **more)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return run


def table(n_rows: int = 60, seed: int = 0) -> str:
    """CSV with the columns a, b, c and y, whose classes no and yes a slanted line divides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)).round(3)
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    rows = [",".join([*map(str, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    return "\n".join(["a,b,c,y", *rows]) + "\n"


def facts(summary: str) -> dict[str, str]:
    """The lines of the summary of a fit, by what they are about."""
    return {line[:20].strip(): line[20:].strip() for line in summary.splitlines()}


def people(
    n_rows: int = 60,
    seed: int = 0,
    towns: tuple[str, ...] = ("Bonn", "Oslo", "Rome"),
    gaps: bool = True,
) -> str:
    """CSV with the columns age, town, job, size and y: numbers, text and empty cells."""
    rng = np.random.default_rng(seed)
    lines = ["age,town,job,size,y"]
    for k in range(n_rows):
        town, job = rng.choice(towns), rng.choice(["baker", "tailor"])
        age, size = int(rng.integers(20, 70)), round(float(rng.normal(170, 10)), 1)
        yes = (town == "Rome") + (job == "baker") + (age > 45) >= 2
        cells = [str(age), town, job, str(size), "yes" if yes else "no"]
        if gaps and k % 5 == 0:
            cells[0] = ""
        if gaps and k % 8 == 3:
            cells[1] = ""
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"
