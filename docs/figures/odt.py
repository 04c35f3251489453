"""The figures of docs/methods/orthogonal_trees.md, as figures 1 and 2 of the paper.

``make figures`` writes them beside this file. They are kept, so that the documentation is built
without matplotlib and without the data; ``tests/test_figures.py`` draws them again where the data
are, and compares what is in them. Both are read from one fitted ensemble: 40 C4.5 trees, each
from a sample of 20 rows of SPECT.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from hhcart import BLUE, GREY, INK, ORANGE, write
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from obliqua import DatasetMissing, OrthogonalTreesClassifier
from obliqua.datasets import load_spect
from obliqua.tree.tree import Tree

LEAF = {"boxstyle": "round,pad=0.35", "linewidth": 0.9}
SEED = 8  # one whose first four trees are of different sizes, as the paper's are


def fitted(max_leaf_nodes: int) -> OrthogonalTreesClassifier:
    """The components of the ensemble, as trees of at most so many leaves."""
    X, y = load_spect(return_X_y=True)
    return OrthogonalTreesClassifier(
        max_samples=20,
        coding="0/1",
        spectrum_energy=0.99,
        max_leaf_nodes=max_leaf_nodes,
        random_state=SEED,
    ).fit(X, y)


def branches_of(tree: Tree, node: int) -> list[int]:
    """The two nodes below a split; none below a leaf."""
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    return [] if left < 0 else [left, right]


def places(tree: Tree) -> dict[int, tuple[float, float]]:
    """Leaves side by side, each split above the middle of its two branches."""
    found: dict[int, tuple[float, float]] = {}
    n_leaves = 0

    def put(node: int, level: int) -> float:
        nonlocal n_leaves
        branches = branches_of(tree, node)
        if not branches:
            n_leaves += 1
            across = float(n_leaves)
        else:
            across = float(np.mean([put(child, level + 1) for child in branches]))
        found[node] = (across, -float(level))
        return across

    put(0, 0)
    return found


def draw_tree(
    ax: Axes, tree: Tree, panel: str, says: Callable[[int], str], label: Callable[[int], int]
) -> None:
    """Draw features in circles, their values on the lines, and what `says` in the leaves."""
    at = places(tree)
    for node, (x, y) in at.items():
        branches = branches_of(tree, node)
        for value, child in enumerate(branches):
            to = at[child]
            (drawn,) = ax.plot([x, to[0]], [y, to[1]], color=GREY, lw=0.9, zorder=1)
            drawn.set_gid(f"{panel}-line-{node}-{value}")
            middle = (x + 0.5 * (to[0] - x), y + 0.5 * (to[1] - y))
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            ax.text(*middle, str(value), color=INK, fontsize=7, ha="center", va="center", bbox=box)
        if branches:
            feature = int(tree.feature[node])
            box = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": INK}
            text = f"F{feature + 1}"
        else:
            colour = (BLUE, ORANGE)[label(node)]
            box = {**LEAF, "facecolor": "white", "edgecolor": colour}
            text = says(node)
        ax.text(x, y, text, fontsize=7.5, ha="center", va="center", bbox=box, zorder=3)
    across = [x for x, _ in at.values()]
    ax.set(xlim=(min(across) - 0.6, max(across) + 0.6))


def panels(widths: list[float], titles: list[str], depth: int) -> tuple[Figure, list[Axes]]:
    """Panels beside each other, as wide as said, all as high as the deepest tree needs."""
    figure = Figure(figsize=(6.8, 0.55 * depth + 0.75), facecolor="white")
    shares = np.array(widths) / sum(widths)
    starts = np.concatenate([[0.0], np.cumsum(shares)[:-1]])
    axes = []
    for start, share, title in zip(starts, shares, titles, strict=True):
        ax = figure.add_axes((start + 0.005, 0.02, share - 0.01, 0.86))
        ax.set_axis_off()
        ax.set_title(title, loc="left")
        ax.set(ylim=(-depth - 0.35, 0.35))
        axes.append(ax)
    return figure, axes


def draw_samples(model: OrthogonalTreesClassifier) -> Figure:
    """Figure 1: the trees of the first four samples."""
    trees = model.model_.trees[:4]
    titles = [
        f"({letter}) {tree.n_nodes} nodes" for letter, tree in zip("abcd", trees, strict=True)
    ]
    figure, axes = panels(
        [tree.n_leaves + 0.8 for tree in trees], titles, max(tree.depth for tree in trees)
    )
    for k, (ax, tree) in enumerate(zip(axes, trees, strict=True)):
        label = tree.leaf_label
        draw_tree(
            ax, tree, f"panel-{k}", lambda n, v=label: str(v[n]), lambda n, v=label: int(v[n])
        )
    return figure


def draw_components() -> Figure:
    """Figure 2: the tree of the first component, of three nodes and of eight leaves."""
    models = [fitted(2), fitted(8)]
    trees = [model.trees_[0] for model in models]
    titles = [
        f"({letter}) {tree.n_leaves} leaves, {100 * model.fidelity_[0]:.1f} % of the energy"
        for letter, tree, model in zip("ab", trees, models, strict=True)
    ]
    figure, axes = panels(
        [max(tree.n_leaves, 4.5) + 0.8 for tree in trees],
        titles,
        max(tree.depth for tree in trees),
    )
    for k, (ax, tree, model) in enumerate(zip(axes, trees, models, strict=True)):
        share = model.component_weights_[0] * tree.mean[:, 1]
        draw_tree(
            ax,
            tree,
            f"panel-{k}",
            lambda n, v=share: f"{v[n]:.2f}",
            lambda n, v=share: int(v[n] > 0.5),
        )
        ax.set(xlim=(0.2, max(tree.n_leaves, 4.5) + 0.8) if k == 0 else ax.get_xlim())
    return figure


def figures() -> dict[str, Figure]:
    """Both figures by the names of their files."""
    return {"odt-samples": draw_samples(fitted(2)), "odt-component": draw_components()}


if __name__ == "__main__":
    try:
        write(figures, Path(__file__).parent, *sys.argv[1:])
    except DatasetMissing as error:
        print(f"the figures of orthogonal trees are not drawn again: {error}")
