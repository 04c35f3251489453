"""What the tests of the command share: running it, and a small table to run it on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli_tools import Run, Shell, folder, run, table

__all__ = ["folder", "run"]


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
    words = ("fit", "data.csv", "-t", "y", "-m", "hhcart-a", "--set", "pruning=none")
    run(*words, "-o", "m.obliqua")
    return folder / "m.obliqua"
