"""Every example of the gallery still draws, and what the gallery shows is what it draws.

Pictures are not compared pixel by pixel, because letters depend on the version of matplotlib, but
block by block: a bar, a box or a region that has moved shows.
"""

from __future__ import annotations

import re
import runpy
import struct
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "figures" / "gallery"
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "figures" / "gallery.py"))
NAMES: tuple[str, ...] = SCRIPT["NAMES"]
OLD = "the picture is old: run make figures"
MOST = 0.2  # of a colour's range, in one of 48 x 48 blocks; other fonts make up to about 0.1
# What an example must have drawn at least: artists with such a gid.
PARTS = {
    "plot_tree": {r"node-\d+": 7, r"node-\d+-histogram": 3, r"edge-\d+": 6},
    "plot_boundary": {r"leaf-\d+": 3, r"class-\d+": 3, "slice": 1},
    "plot_path": {r"node-\d+": 3, r"node-\d+-row": 2, r"node-\d+-move-\d+": 4},
    "compare_boundaries": {r"leaf-\d+": 5, r"class-\d+": 4},
    "sparse_splits": {r"node-\d+": 10, r"node-\d+-histogram": 4},
    "many_classes": {r"node-\d+": 31, r"node-\d+-left": 15, r"legend-\d+": 10},
    "forest_surfaces": {"surface": 3, "rows": 3},
}


def blocks(picture: Path) -> np.ndarray:
    """Means of the colours in blocks, 48 of them across."""
    pixels = plt.imread(picture)[..., :3]
    rows, columns = (np.linspace(0, n, 49).astype(int) for n in pixels.shape[:2])
    summed = np.add.reduceat(np.add.reduceat(pixels, rows[:-1], axis=0), columns[:-1], axis=1)
    return summed / (np.diff(rows)[:, None, None] * np.diff(columns)[None, :, None])


def largest_difference(one: Path, other: Path) -> float:
    return float(np.abs(blocks(one) - blocks(other)).max())


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG in pixels."""
    content = picture.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", content[16:24])
    return width, height


@pytest.mark.parametrize("name", NAMES)
def test_an_example_draws_what_the_gallery_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []

    def remember(which: str) -> None:
        assert which == "all"
        for number in plt.get_fignums():
            for artist in plt.figure(number).findobj():
                drawn.append(artist.get_gid() or "")  # noqa: PERF401
        close(which)

    close = plt.close
    monkeypatch.setattr(plt, "close", remember)
    SCRIPT["draw"](name, tmp_path / "now.png")
    monkeypatch.undo()
    for pattern, least in PARTS[name].items():
        found = [gid for gid in drawn if re.fullmatch(pattern, gid)]
        assert len(found) >= least, pattern
    now, before = tmp_path / "now.png", KEPT / f"{name}.png"
    assert size_of(now) == pytest.approx(size_of(before), rel=0.05), OLD
    assert largest_difference(now, before) < MOST, OLD


def test_the_gallery_shows_all_examples_and_no_other() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert re.findall(r"\]\(figures/gallery/(\w+)\.png\)", page) == list(NAMES)
    assert re.findall(r"literalinclude\} \.\./examples/(\w+)\.py", page) == list(NAMES)
    assert {path.stem for path in KEPT.iterdir()} == set(NAMES) == set(PARTS)


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_short_and_pictures_small(name: str) -> None:
    lines = (ROOT / "examples" / f"{name}.py").read_text("utf-8").splitlines()
    assert lines[0].startswith('"""') and lines[0].endswith(".")
    assert len(lines) <= 40
    assert (KEPT / f"{name}.png").stat().st_size < 150_000
