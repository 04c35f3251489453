"""The figures of docs/methods/oc1.md: a climb on POL, and trees on RCB.

``make figures`` writes them beside this file. They are kept, so that the documentation is built
without matplotlib; ``tests/test_figures.py`` draws them again and compares what is in them. Every
position of the hyperplane is one that the library's own climb went through.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from etct import name_parts
from hhcart import BLUE, GREY, INK, MARKS, line, panel, write
from matplotlib.figure import Figure

from obliqua import CartClassifier, OC1Classifier, plot_boundary
from obliqua.data.problem import encode
from obliqua.datasets import make_pol, make_rcb
from obliqua.methods.oc1 import Climb, Step, follow_climb

GREEN = "#009e73"  # of the positions in between
SHOWN = 300  # rows that are drawn; all of them are searched
BANDS = (0.3125, 0.625, 1.0625, 1.625)  # POL: where x1 + x2 passes from one class to the other


def climb_on_pol() -> list[Step]:
    """From the best axis-parallel split of all rows to the end of the climb."""
    X, y = make_pol(2000, return_X_y=True)
    problem = encode(X, (y == "2").astype(np.int32), 2)
    return follow_climb(problem, Climb(n_jumps=20, from_zero=True), scale="minmax")


def jump_of(way: list[Step]) -> int:
    """The number of the first step that changes both coefficients at once."""
    for k in range(1, len(way)):
        if np.count_nonzero(way[k].normal != way[k - 1].normal) == 2:
            return k
    raise ValueError("this climb does not jump")


def draw_climb(way: list[Step]) -> Figure:
    """Before the jump, after it, and how good each position is."""
    X, y = (part[:SHOWN] for part in make_pol(2000, return_X_y=True))
    jump = jump_of(way)
    figure = Figure(figsize=(6.8, 2.45), facecolor="white")
    parts = (("(a) climb from an axis", 0, jump), ("(b) jump, and climb", jump, None))
    for k, (title, first, last) in enumerate(parts):
        ax = panel(figure, (0.055 + 0.325 * k, 0.13, 0.27, 0.27 * 6.8 / 2.45), f"panel-{k}")
        ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        ax.set_title(title, loc="left")
        for c, label in enumerate(("1", "2")):
            marks = {**MARKS[c], "s": 0.35 * MARKS[c]["s"], "alpha": 0.4}
            ax.scatter(*X[y == label].T, zorder=1, **marks).set_gid(f"panel-{k}-class-{c}")
        for band in BANDS:
            line(ax, np.ones(2), band, f"band-{band}", color=GREY, lw=0.8, ls=(0, (4, 3)))
        steps = way[first:last]
        for i, step in enumerate(steps):
            ends = (0, len(steps) - 1)
            strength = {"lw": 1.9, "color": INK} if i in ends else {"lw": 0.9, "color": GREEN}
            if i == 0:
                strength |= {"ls": (0, (6, 2))}
            line(ax, step.normal, step.threshold, f"step-{i}", zorder=3, **strength)
    ax = figure.add_axes((0.745, 0.13, 0.24, 0.27 * 6.8 / 2.45))
    ax.set_gid("panel-2")
    ax.spines[["top", "right"]].set_visible(False)
    (drawn,) = ax.plot([step.goodness for step in way], color=INK, lw=1.2, marker=".", ms=3)
    drawn.set_gid("panel-2-goodness")
    ax.axvline(jump - 0.5, color=BLUE, lw=0.9, ls=(0, (3, 2))).set_gid("panel-2-jump")
    ax.text(jump - 1.5, 0.055, "jump", color=BLUE, ha="right")
    ax.set_title("(c) goodness by step", loc="left")
    ax.set_ylim(0, 0.09)
    return figure


def draw_trees() -> Figure:
    """Three trees on RCB, from axis-parallel splits to restarts and jumps."""
    X, y = make_rcb(2000, return_X_y=True)
    figure = Figure(figsize=(6.8, 2.45), facecolor="white")
    trees = (
        ("OC1-AP", CartClassifier(pruning=None)),
        ("0:0", OC1Classifier(n_restarts=1, n_jumps=0, pruning=None, random_state=0)),
        ("20:20", OC1Classifier(n_jumps=20, pruning=None, random_state=0)),
    )
    for k, (name, tree) in enumerate(trees):
        ax = panel(figure, (0.055 + 0.325 * k, 0.13, 0.27, 0.27 * 6.8 / 2.45), f"panel-{k}")
        tree.fit(X, y)
        plot_boundary(tree, X, ax=ax)
        name_parts(ax, k)
        ax.set_aspect("equal")
        ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel="", ylabel="")
        ax.tick_params(labelsize=9)
        ax.set_title(f"{name}: {tree.get_n_leaves()} leaves", loc="left", fontsize=9.5)
    return figure


def figures() -> dict[str, Figure]:
    """All figures by the names of their files."""
    return {"oc1-climb": draw_climb(climb_on_pol()), "oc1-rcb": draw_trees()}


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
