"""The figure of docs/guides/ranks.md: how all methods rank over all data sets.

``make figures`` writes it beside this file, from what docs/results/all-methods.csv has. It is
kept, so that the documentation is built without matplotlib; ``tests/test_figures.py`` draws it
again and compares what is in it.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import matplotlib as mpl
from etct import name_parts
from hhcart import STYLE
from matplotlib.figure import Figure

from obliqua import plot_critical_difference, rank_methods
from obliqua.ranks import Ranks

RESULTS = Path(__file__).resolve().parents[1] / "results" / "all-methods.csv"


def ranked(measure: str) -> Ranks:
    """The ranks by accuracy or by leaves."""
    scores: dict[str, dict[str, float]] = {}
    with RESULTS.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            scores.setdefault(line["method"], {})[line["set"]] = float(line[f"{measure}_ours"])
    return rank_methods(scores, larger_is_better=measure == "accuracy")


def draw() -> Figure:
    """Two panels: accuracy above, leaves below."""
    figure = Figure(figsize=(8.6, 8.4), facecolor="white")
    for number, (measure, title) in enumerate((("accuracy", "accuracy"), ("leaves", "leaves"))):
        ax = figure.add_axes((0.0, 0.5 - 0.5 * number, 1.0, 0.47))
        plot_critical_difference(ranked(measure), ax=ax)
        ax.set_title(f"Ranks by {title}", y=0.985)
        for text in ax.texts:  # depends on the version of matplotlib
            text.set_gid(None)
        name_parts(ax, number)
    return figure


def write(folder: Path, ending: str = "svg") -> None:
    """Write the figure into a folder."""
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        about = {"Date": None, "Creator": None} if ending == "svg" else {}
        draw().savefig(folder / f"ranks-all-methods.{ending}", dpi=200, metadata=about)


if __name__ == "__main__":
    write(Path(__file__).parent, *sys.argv[1:])
