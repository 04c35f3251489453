"""The figure of docs/guides/ranks.md: how all methods rank over all data sets.

``make figures`` writes it beside this file, from what docs/results/all-methods.csv has. It is
kept, so that the documentation is built without matplotlib; ``tests/test_figures.py`` draws it
again and compares what is in it.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path

from etct import name_parts
from hhcart import write
from matplotlib.figure import Figure

from obliqua import plot_critical_difference, rank_methods
from obliqua.stats.ranks import Ranks

RESULTS = Path(__file__).resolve().parents[1] / "results" / "all-methods.csv"


def scores(measure: str) -> dict[str, dict[str, float]]:
    """Accuracies or leaves, by method and data set."""
    found: dict[str, dict[str, float]] = {}
    with RESULTS.open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            found.setdefault(line["method"], {})[line["set"]] = float(line[f"{measure}_ours"])
    return found


def ranked(measure: str) -> Ranks:
    """The ranks by accuracy or by leaves."""
    return rank_methods(scores(measure), larger_is_better=measure == "accuracy")


def table() -> str:
    """The table of docs/guides/ranks.md."""
    accuracy, leaves = ranked("accuracy"), ranked("leaves")
    lines = [
        "| method | accuracy: mean rank | group | mean | leaves: mean rank | group | median |",
        "|--|--:|--|--:|--:|--|--:|",
    ]
    for name in accuracy.order:
        mean = statistics.mean(scores("accuracy")[name].values())
        middle = statistics.median(scores("leaves")[name].values())
        cells = [*cells_of(accuracy, name), f"{mean:.1f}"]
        cells += [*cells_of(leaves, name), f"{middle:.1f}"]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cells_of(ranks: Ranks, name: str) -> tuple[str, str]:
    """Mean rank, and the letters of the groups that a method is in."""
    letters = zip("abcdefghijklmnop", ranks.groups, strict=False)
    return f"{ranks.mean_ranks[name]:.2f}", "".join(c for c, group in letters if name in group)


def side_by_side(names: tuple[str, ...] = ("cart", "hhcart-3", "hhcart-d-fisher")) -> str:
    """The table of docs/guides/advise.md."""
    accuracy, leaves = scores("accuracy"), scores("leaves")
    lines = [
        f"| set | {' | '.join(f'`{name}` | leaves' for name in names)} |",
        "|--" + "|--:" * (2 * len(names)) + "|",
    ]
    for key in accuracy[names[0]]:
        cells = [f"{accuracy[name][key]:.1f} | {leaves[name][key]:.1f}" for name in names]
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def draw() -> Figure:
    """Two panels: accuracy above, leaves below."""
    figure = Figure(figsize=(8.6, 7.8), facecolor="white")
    for number, (measure, title) in enumerate((("accuracy", "accuracy"), ("leaves", "leaves"))):
        ax = figure.add_axes((0.0, 0.5 - 0.5 * number, 1.0, 0.48))
        plot_critical_difference(ranked(measure), ax=ax)
        ax.set_title(f"Ranks by {title}", y=0.985)
        for text in ax.texts:  # depends on the version of matplotlib
            text.set_gid(None)
        name_parts(ax, number)
    return figure


def figures() -> dict[str, Figure]:
    """The figure by the name of its file."""
    return {"ranks-all-methods": draw()}


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
