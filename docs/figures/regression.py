"""The figure of docs/methods/regression.md: two planes that meet, as three trees see them.

``make figures`` writes it beside this file. It is kept, so that the documentation is built without
matplotlib.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from etct import name_parts
from hhcart import panel, write
from matplotlib.figure import Figure

from obliqua import CartRegressor, ObliqueTreeRegressor, RefinedTreeRegressor, plot_boundary

N_ROWS, SHOWN = 1000, 150  # rows to learn from, and those that are drawn


def planes(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of two features, and numbers of two planes."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n_rows, 2))
    y = np.where(X[:, 0] + 0.6 * X[:, 1] > 0.2, 3.0 + X[:, 1], -1.5 * X[:, 0] - 2.0)
    return X, y + 0.15 * rng.normal(size=n_rows)


def draw() -> Figure:
    """What the trees say of the plane."""
    X, y = planes(N_ROWS, 0)
    few = {"max_leaf_nodes": 8, "random_state": 0}
    trees = {
        "CART": CartRegressor(**few, pruning="holdout"),
        "greedy, linear": ObliqueTreeRegressor(leaf_model="linear", **few, pruning="holdout"),
        "refined, linear": RefinedTreeRegressor(leaf_model="linear", **few),
    }
    figure = Figure(figsize=(6.8, 2.5), facecolor="white")
    for k, (name, tree) in enumerate(trees.items()):
        place = (0.02 + 0.33 * k, 0.03, 0.3, 0.3 * 6.8 / 2.5)
        ax = panel(figure, place, f"panel-{k}")
        tree.fit(X, y)
        plot_boundary(tree, X[:SHOWN], y[:SHOWN], ax=ax)
        for scale in figure.axes[k + 1 :]:  # of the colours: the shapes are what matters here
            scale.remove()
        ax.set_position(place)
        name_parts(ax, k)
        ax.set(xticks=(), yticks=(), xlabel="", ylabel="")
        title = f"{name}: {tree.get_n_leaves()} leaves, R² {tree.score(*planes(N_ROWS, 1)):.3f}"
        ax.set_title(title, loc="left", fontsize=8.5)
    return figure


def figures() -> dict[str, Figure]:
    """The figure by the name of its file."""
    return {"regression-planes": draw()}


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
