"""Figures 2, 3 and 5 of the OC1 paper, with trees that the library has grown.

They are shown in docs/methods/oc1.md. Figure 2 has points of our own, as the paper's are not
known, and figure 3 has five points in the place of two, of which there would be little to see.
Figure 5 has the paper's eight points. ``make figures`` writes them beside this file.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from etct import name_parts
from hhcart import GREY, INK, MARKS, FloatArray, line, panel, points, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from obliqua import CartClassifier, CartLCClassifier, OC1Classifier, plot_boundary
from obliqua.data.problem import encode
from obliqua.datasets import load_oc1_figure5
from obliqua.methods.oc1 import Climb, Step, follow_climb

#: Two lines that make the classes of figure 2: normal and threshold.
BORDERS = (((1.0, 1.0), 0.8), ((1.0, 0.5), 1.2))
#: The points of figure 3, no three of them on a line.
FIVE = np.array([[0.15, 0.3], [0.35, 0.8], [0.55, 0.2], [0.7, 0.7], [0.9, 0.4]])
KEY = 2  # of the random numbers of figure 5; with about half of them a jump helps


def two_lines() -> tuple[FloatArray, NDArray[np.int64]]:
    """Points whose class changes at two oblique lines."""
    X = np.round(np.random.default_rng(0).random((400, 2)), 9)
    above = [X @ np.array(normal) > threshold for normal, threshold in BORDERS]
    return X, (above[0] & ~above[1]).astype(np.int64)


def _square(figure: Figure, number: int, title: str) -> Axes:
    ax = panel(figure, (0.07 + 0.5 * number, 0.1, 0.38, 0.38 * 5.0 / 2.45), f"panel-{number}")
    ax.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    ax.set_title(title, loc="left")
    return ax


def draw_staircase() -> Figure:
    """Figure 2: two oblique lines, and the steps of an axis-parallel tree."""
    X, y = two_lines()
    figure = Figure(figsize=(5.0, 2.45), facecolor="white")
    oblique = OC1Classifier(n_jumps=20, pruning=None, random_state=0)
    for k, tree in enumerate((oblique, CartClassifier(pruning=None))):
        tree.fit(X, y)
        name = "oblique" if k == 0 else "axis-parallel"
        ax = _square(figure, k, f"{name}: {tree.get_n_leaves()} leaves")
        plot_boundary(tree, X, ax=ax)
        name_parts(ax, k)
        ax.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel="", ylabel="")
        for i, (normal, threshold) in enumerate(BORDERS):
            style = {"color": INK, "lw": 1.3, "ls": (0, (5, 2))}
            line(ax, np.array(normal), threshold, f"border-{i}", **style)
    return figure


def halfway(A: FloatArray, B: FloatArray) -> tuple[FloatArray, float]:
    """The line halfway between two sets of points, across the shortest way between them."""
    ways = []
    for ours, theirs, sign in ((A, B, 1.0), (B, A, -1.0)):
        for p in ours:
            for start in theirs:
                for end in theirs:
                    along = end - start
                    share = (p - start) @ along / (along @ along) if along.any() else 0.0
                    q = start + np.clip(share, 0.0, 1.0) * along
                    ways.append((float((q - p) @ (q - p)), sign * (q - p), (p + q) / 2))
    _, normal, middle = min(ways, key=lambda way: way[0])
    return normal, float(normal @ middle)


def parted_by_a_line() -> list[NDArray[np.bool_]]:
    """The divisions of the five points in two for which OC1 finds a line.

    The first point is on the first side. A tree with the sides for classes has two leaves if a
    line parts them.
    """
    found = []
    others = range(1, len(FIVE))
    for size in range(1, len(FIVE)):
        for chosen in combinations(others, size):
            side = np.isin(np.arange(len(FIVE)), chosen)
            tree = OC1Classifier(pruning=None, n_jumps=50, random_state=0).fit(FIVE, side)
            found += [side] if tree.get_n_leaves() == 2 else []
    return found


def oblique_splits() -> list[tuple[FloatArray, float]]:
    """A line for each of these divisions."""
    return [halfway(FIVE[~side], FIVE[side]) for side in parted_by_a_line()]


def axis_splits() -> list[tuple[FloatArray, float]]:
    """The cuts between neighbouring values of a feature."""
    found = []
    for k, axis in enumerate(np.eye(2)):
        values = np.sort(FIVE[:, k])
        found += [(axis, float(cut)) for cut in (values[1:] + values[:-1]) / 2]
    return found


def draw_splits() -> Figure:
    """Figure 3: all axis-parallel and all oblique splits of a few points."""
    figure = Figure(figsize=(5.0, 2.45), facecolor="white")
    parts = (("axis-parallel", axis_splits()), ("by any line", oblique_splits()))
    for k, (name, splits) in enumerate(parts):
        ax = _square(figure, k, f"{name}: {len(splits)}")
        for i, (normal, threshold) in enumerate(splits):
            line(ax, normal, threshold, f"split-{i}", color=GREY, lw=0.9)
        ax.scatter(*FIVE.T, zorder=3, **MARKS[0]).set_gid(f"panel-{k}-class-0")
    return figure


def climb_of_figure_5() -> list[Step]:
    """From the best axis-parallel split to a line that parts the eight points."""
    X, y = load_oc1_figure5(return_X_y=True)
    problem = encode(X, (y == "2").astype(np.int32), 2)
    return follow_climb(problem, Climb(n_jumps=5, from_zero=True), scale="minmax", key=KEY)


def jump_of(way: list[Step]) -> int:
    """The number of the first step that changes both coefficients at once."""
    for k in range(1, len(way)):
        if np.count_nonzero(way[k].normal != way[k - 1].normal) == 2:
            return k
    raise ValueError("this climb does not jump")


def draw_stuck() -> Figure:
    """Figure 5: where CART-LC ends, and a jump of OC1."""
    X, y = load_oc1_figure5(return_X_y=True)
    figure = Figure(figsize=(5.0, 2.45), facecolor="white")
    tree = CartLCClassifier(variant="oc1", pruning=None, random_state=0).fit(X, y).tree_
    way = climb_of_figure_5()
    jump = jump_of(way)
    start, rest, end = ((way[i].normal, way[i].threshold) for i in (0, jump - 1, -1))
    stuck = tree.coefficients(0), float(tree.threshold[0])
    shown = (("CART-LC", (start, stuck)), ("OC1", (start, rest, end)))
    styles = ({"ls": (0, (5, 2)), "lw": 1.2}, {"lw": 1.2}, {"lw": 2.2})
    for k, (title, planes) in enumerate(shown):
        ax = _square(figure, k, title)
        ax.set(xlim=(-0.08, 1.08), ylim=(-0.08, 1.08))
        points(ax, X, (y == "2").astype(np.int64))
        for i, plane in enumerate(planes):
            line(ax, *plane, f"step-{i}", color=INK, zorder=1, **styles[i])
    return figure


def figures() -> dict[str, Figure]:
    """All figures by the names of their files."""
    return {
        "oc1-staircase": draw_staircase(),
        "oc1-splits": draw_splits(),
        "oc1-stuck": draw_stuck(),
    }


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
