"""The pictures of docs/gallery.md: each is what a script in examples/ draws.

``make figures`` writes them into the folder ``gallery`` beside this file. They are kept, so that
the documentation is built without matplotlib; ``tests/plot/test_gallery.py`` runs the scripts
again.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib as mpl

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
NAMES = (
    "plot_tree",
    "plot_boundary",
    "plot_path",
    "compare_boundaries",
    "sparse_splits",
    "many_classes",
    "forest_surfaces",
)


def draw(name: str, target: Path) -> None:
    """Run an example, which writes its picture."""
    import matplotlib.pyplot as plt

    words = sys.argv
    sys.argv = [f"{name}.py", str(target)]
    try:
        with mpl.rc_context(mpl.rcParamsDefault):
            plt.switch_backend("agg")
            runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    finally:
        sys.argv = words
        plt.close("all")


def write(folder: Path, ending: str = "png") -> None:
    """Write all pictures into a folder."""
    folder.mkdir(exist_ok=True)
    for name in NAMES:
        draw(name, folder / f"{name}.{ending}")


if __name__ == "__main__":
    write(HERE / "gallery", *sys.argv[1:])
