"""Files that are written are never files that are read, and a full disk is told everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_tools import Run, Shell

full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")


def test_the_data_are_not_replaced_by_the_model(run: Run, data: Path, folder: Path) -> None:
    before = data.read_bytes()
    (folder / "link.csv").symlink_to(data)
    for output in ("data.csv", "./data.csv", "link.csv"):
        result = run("fit", "data.csv", "-t", "y", "-o", output, code=1)
        assert "is the file that is read" in result.stderr
    assert data.read_bytes() == before


def test_nor_by_predictions_or_pictures(run: Run, data: Path, model: Path) -> None:
    kept = data.read_bytes(), model.read_bytes()
    run("predict", "m.obliqua", "data.csv", "-o", "data.csv", code=1)
    run("show", "m.obliqua", "--dot", "m.obliqua", code=1)
    assert (data.read_bytes(), model.read_bytes()) == kept


@full
@pytest.mark.parametrize("words", ["--help", "--version", "fit --help"])
def test_a_full_disk_is_told(shell: Shell, words: str) -> None:
    done = shell(f"obliqua {words} > /dev/full")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
