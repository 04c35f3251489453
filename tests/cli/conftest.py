"""What the tests of the command share: running it, and a small table to run it on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli_tools import Run, Shell, table
from obliqua.cli._app import app


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


@pytest.fixture
def shell() -> Shell:
    """Runs a line of a shell in which `obliqua` is the command."""

    def shell(line: str, **more: Any) -> subprocess.CompletedProcess[str]:
        program = f"obliqua() {{ '{sys.executable}' -m obliqua \"$@\"; }}\n{line}"
        return subprocess.run(
            ["sh", "-c", program], capture_output=True, text=True, timeout=120, **more
        )

    return shell


@pytest.fixture
def data(folder: Path) -> Path:
    path = folder / "data.csv"
    path.write_text(table())
    return path


@pytest.fixture
def model(run: Run, data: Path, folder: Path) -> Path:
    run("fit", "data.csv", "-t", "y", "--set", "pruning=none", "-o", "m.obliqua")
    return folder / "m.obliqua"
