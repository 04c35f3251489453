"""The figures of docs/methods/hhcart.md, drawn from trees that the library has grown.

``make figures`` writes them beside this file. They are kept, so that the documentation is built
without matplotlib; ``tests/test_figures.py`` draws them again and compares what is in them.
Every plane is read from a fitted tree. Positions are fixed, not fitted to the size of labels, so
that another version of matplotlib draws the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from obliqua import CartClassifier, HHCartClassifier
from obliqua._core.base.linalg import product, py_eigen

FloatArray = NDArray[np.float64]

# Colours that colour-blind readers tell apart; shapes and grey values differ as well.
BLUE, ORANGE, INK, GREY = "#0072b2", "#d55e00", "#1a1a1a", "#8c8c8c"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "mathtext.fontset": "dejavuserif",
    "axes.edgecolor": INK,
    "axes.linewidth": 0.7,
    "axes.titlesize": 9.5,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "svg.fonttype": "path",
    "svg.hashsalt": "obliqua",
}
MARKS = (
    {"marker": "o", "s": 11, "facecolor": BLUE, "edgecolor": BLUE, "linewidth": 0.5},
    {"marker": "^", "s": 16, "facecolor": "white", "edgecolor": ORANGE, "linewidth": 1.0},
)


@dataclass(frozen=True)
class Reflection:
    """A fitted tree's root, and the reflection that its split came from."""

    X: FloatArray
    y: NDArray[np.int64]
    d: FloatArray
    H: FloatArray
    column: int
    normal: FloatArray
    threshold: float


def cloud(
    rng: np.random.Generator, n: int, centre: tuple[float, float], angle: float, *size: float
) -> FloatArray:
    """Normal points; `size` is their standard deviation along `angle` (degrees) and across it."""
    turn = np.deg2rad(angle)
    axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    # The last digits of a product depend on the processor.
    return np.round(centre + (rng.standard_normal((n, 2)) * size) @ axes, 9)


def root_reflection(X: FloatArray, y: NDArray[np.int64]) -> Reflection:
    """Fit HHCART(D) and form the matrix H, which the library never forms, for its root."""
    tree = HHCartClassifier(variant="dominant", pruning=None).fit(X, y).tree_
    label = tree.origin_labels[tree.origin[0]]
    words = label.replace(",", "").split()  # class 0, eigenvector 0, column 1
    chosen, column = int(words[1]), int(words[5])
    rows = X[y == chosen]
    centred = rows - rows.mean(axis=0)
    # The library's own product and eigenvectors: the same on every processor.
    d = py_eigen(product(centred.T, centred))[1][0]
    d = d if d[0] >= 0 else -d
    u = np.array([1.0, 0.0]) - d
    u /= np.linalg.norm(u)
    H = np.eye(2) - 2 * np.outer(u, u)
    normal = tree.coefficients(0)
    # The tree's normal is that column of H, rounded to 24 bits.
    np.testing.assert_allclose(normal, H[:, column], atol=1e-6)
    return Reflection(X, y, d, H, column, normal, float(tree.threshold[0]))


# --- parts of a picture -------------------------------------------------------------------------


def points(ax: Axes, X: FloatArray, y: NDArray[np.int64]) -> None:
    for c, marks in enumerate(MARKS):
        drawn = ax.scatter(*X[y == c].T, zorder=2, **marks)
        drawn.set_gid(f"{ax.get_gid()}-class-{c}")


def arrow(ax: Axes, start: FloatArray, step: FloatArray) -> None:
    style = {"arrowstyle": "-|>", "lw": 2.0, "color": INK, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", start + step, start, arrowprops=style, zorder=4)


def line(ax: Axes, normal: FloatArray, threshold: float, name: str, **style: object) -> None:
    """The line of all x with normal . x = threshold, as far as the axes reach."""
    foot = normal * threshold / (normal @ normal)
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    (low_x, high_x), (low_y, high_y) = ax.get_xlim(), ax.get_ylim()
    reach = [-np.inf, np.inf]
    for k, (low, high) in enumerate(((low_x, high_x), (low_y, high_y))):
        if abs(along[k]) > 1e-12:
            ends = sorted(((low - foot[k]) / along[k], (high - foot[k]) / along[k]))
            reach = [max(reach[0], ends[0]), min(reach[1], ends[1])]
    ends = np.array([foot + r * along for r in reach])
    (drawn,) = ax.plot(*ends.T, scalex=False, scaley=False, **style)
    drawn.set_gid(f"{ax.get_gid()}-{name}")


def note(ax: Axes, x: float, y: float, text: str, **more: object) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    ax.text(x, y, text, bbox=box, zorder=5, **{"ha": "center", "va": "center"} | more)


def panel(figure: Figure, place: tuple[float, float, float, float], name: str) -> Axes:
    ax = figure.add_axes(place)
    ax.set_gid(name)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def name_axes(ax: Axes, letter: str, title: str) -> None:
    """Label the axes; the upright label stands between two ticks."""
    ax.set_xlabel(f"${letter}_1$", labelpad=1)
    low, high = ax.get_ylim()
    ax.text(-0.07, (5 - low) / (high - low), f"${letter}_2$", transform=ax.transAxes, ha="center")
    ax.set_title(title, loc="left")


# --- the pictures -------------------------------------------------------------------------------

SPLIT = {"color": INK, "lw": 1.8, "zorder": 3}
MIRROR = {"color": GREY, "lw": 1.2, "ls": (0, (5, 3)), "zorder": 1}


def stripes() -> tuple[FloatArray, NDArray[np.int64]]:
    """Two long clouds side by side."""
    rng = np.random.default_rng(1)
    first = cloud(rng, 70, (2.1, 3.3), 52, 1.1, 0.3)
    second = cloud(rng, 70, (3.6, 2.2), 52, 1.1, 0.3)
    return np.vstack([first, second]), np.repeat([0, 1], 70)


def head_to_tail() -> tuple[FloatArray, NDArray[np.int64]]:
    """A long cloud, and another that lies across its end."""
    rng = np.random.default_rng(2)
    first = cloud(rng, 70, (1.5, 2.2), 52, 0.85, 0.3)
    second = cloud(rng, 70, (3.5, 4.4), 52, 0.3, 0.75)
    return np.vstack([first, second]), np.repeat([0, 1], 70)


def draw_reflection(found: Reflection, places: dict[str, tuple[float, float]]) -> Figure:
    """Three panels: the data, their reflection with the split, and the split in the data.

    `places` says where the labels stand, clear of the points.
    """
    figure = Figure(figsize=(6.8, 2.45), facecolor="white")
    mirror = np.array([1.0, 0.0]) - found.d
    # The eigenvector stands beside its class, so as not to hide the rows.
    aside = np.array([-found.d[1], found.d[0]])
    beside = found.X[found.y == 0].mean(axis=0) - found.d + 1.1 * aside
    name = rf"$\mathbf{{h}}_{found.column + 1}$"
    titles = ("(a) original", "(b) reflected", "(c) original, with the split")
    for k, title in enumerate(titles):
        ax = panel(figure, (0.055 + 0.333 * k, 0.155, 0.272, 0.272 * 6.8 / 2.45), f"panel-{k}")
        ax.set(xlim=(-1, 7), ylim=(-2, 6), xticks=range(0, 7, 2), yticks=range(-2, 7, 2))
        letter = "z" if k == 1 else "x"
        name_axes(ax, letter, title)
        points(ax, found.X @ found.H if k == 1 else found.X, found.y)
        if k < 2:
            line(ax, mirror, 0.0, "mirror", **MIRROR)
        if k == 1:
            line(ax, np.eye(2)[found.column], found.threshold, "split", **SPLIT)
            arrow(ax, found.H @ beside, np.array([2.0, 0.0]))
            note(ax, *places["e"], r"$\mathbf{e}_1$")
            note(ax, *places["cut"], rf"$z_{found.column + 1} = t$")
        elif k == 0:
            arrow(ax, beside, 2.0 * found.d)
            note(ax, *places["d"], r"$\mathbf{d}$")
            note(ax, *places["mirror"], "mirror", color="#5f5f5f", fontsize=8)
            note(ax, *places["first"], "class 1", color=BLUE)
            note(ax, *places["second"], "class 2", color=ORANGE)
        else:
            line(ax, found.normal, found.threshold, "split", **SPLIT)
            note(ax, *places["plane"], name[:-1] + r"\!\cdot\mathbf{x} = t$")
    return figure


def cells(tree: object, box: FloatArray) -> list[tuple[int, FloatArray]]:
    """The leaves of a tree as (class, corners), within a box given by its corners."""
    todo, done = [(0, box)], []
    while todo:
        node, corners = todo.pop()
        if tree.n_children[node] == 0:
            done.append((int(np.argmax(tree.stats[node])), corners))
            continue
        normal, threshold = tree.coefficients(node), tree.node_threshold[node]
        for child, sign in ((0, 1.0), (1, -1.0)):
            side = sign * (corners @ normal - threshold)
            kept = []
            for i, j in zip(range(len(side)), np.roll(range(len(side)), -1), strict=True):
                if side[i] <= 0:
                    kept.append(corners[i])
                if (side[i] <= 0) != (side[j] <= 0):
                    share = side[i] / (side[i] - side[j])
                    kept.append(corners[i] + share * (corners[j] - corners[i]))
            todo.append((tree.first_child[node] + child, np.array(kept)))
    return done


def draw_cells(X: FloatArray, y: NDArray[np.int64]) -> Figure:
    """What CART and HHCART make of the same rows."""
    figure = Figure(figsize=(5.6, 2.7), facecolor="white")
    fits = (
        ("CART", CartClassifier(pruning=None).fit(X, y)),
        ("HHCART(D)", HHCartClassifier(variant="dominant", pruning=None).fit(X, y)),
    )
    low, high = -0.4, 7.0
    box = np.array([[low, low], [high, low], [high, high], [low, high]])
    for k, (name, fitted) in enumerate(fits):
        ax = panel(figure, (0.07 + 0.5 * k, 0.13, 0.36, 0.36 * 5.6 / 2.7), f"panel-{k}")
        ax.set(xlim=(low, high), ylim=(low, high), xticks=range(0, 7, 2), yticks=range(0, 7, 2))
        name_axes(ax, "x", f"{name}: {fitted.get_n_leaves()} leaves")
        for i, (c, corners) in enumerate(cells(fitted.tree_, box)):
            fill = ("#e3eef6", "#ffffff")[c]
            (drawn,) = ax.fill(
                *corners.T, facecolor=fill, edgecolor=INK, lw=0.9, clip_on=False, zorder=1
            )
            drawn.set_gid(f"{ax.get_gid()}-cell-{i}")
        points(ax, X, y)
    return figure


def figures() -> dict[str, Figure]:
    """All figures by the names of their files."""
    stripes_places = {
        "d": (1.1, 4.8),
        "first": (2.5, 5.6),
        "second": (5.3, 0.8),
        "mirror": (0.9, -0.5),
        "e": (5.35, -1.4),
        "cut": (0.0, 0.9),
        "plane": (2.3, -0.5),
    }
    across_places = {
        "d": (0.6, 3.55),
        "first": (0.2, 4.6),
        "second": (5.2, 5.0),
        "mirror": (0.9, -0.5),
        "e": (1.75, -1.25),
        "cut": (3.9, 5.0),
        "plane": (3.8, 1.3),
    }
    return {
        "hhcart-cells": draw_cells(*stripes()),
        "hhcart-parallel": draw_reflection(root_reflection(*stripes()), stripes_places),
        "hhcart-across": draw_reflection(root_reflection(*head_to_tail()), across_places),
    }


def write(figures: Callable[[], dict[str, Figure]], folder: Path, ending: str = "svg") -> None:
    """Draw figures in our style, and write them into a folder."""
    about = {"Date": None, "Creator": None} if ending == "svg" else {}
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        for name, figure in figures().items():
            figure.savefig(folder / f"{name}.{ending}", dpi=200, metadata=about)


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
