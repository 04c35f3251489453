"""The figure of docs/methods/refined.md: a greedy tree, a refined one, and how its loss fell.

``make figures`` writes it beside this file. It is kept, so that the documentation is built without
matplotlib. Both trees may have as many leaves as the tree that gave the rows their classes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from etct import name_parts
from hhcart import BLUE, panel, write
from matplotlib.figure import Figure

from obliqua import HHCartClassifier, RefinedTreeClassifier, plot_boundary
from obliqua.datasets import make_planted_tree

DEPTH, N_ROWS = 3, 3000
SHOWN = 400  # rows that are drawn; the trees are grown from N_ROWS, and tried on as many


def draw() -> Figure:
    """What both trees say of the plane, and the loss of each pass."""
    X, y = make_planted_tree(2 * N_ROWS, DEPTH, 2, random_state=0, return_X_y=True)
    greedy = HHCartClassifier(
        variant="dominant", extra_directions="fisher", max_leaf_nodes=2**DEPTH, pruning=None
    )
    refined = RefinedTreeClassifier(max_leaf_nodes=2**DEPTH, random_state=0)
    figure = Figure(figsize=(6.8, 2.45), facecolor="white")
    for k, (name, tree) in enumerate((("greedy", greedy), ("refined", refined))):
        ax = panel(figure, (0.05 + 0.315 * k, 0.13, 0.27, 0.27 * 6.8 / 2.45), f"panel-{k}")
        tree.fit(X[:N_ROWS], y[:N_ROWS])
        plot_boundary(tree, X[:SHOWN], ax=ax)
        name_parts(ax, k)
        ax.set(xticks=(), yticks=(), xlabel="", ylabel="")
        right = 100 * tree.score(X[N_ROWS:], y[N_ROWS:])
        title = f"{name}: {tree.get_n_leaves()} leaves, {right:.1f} %"
        ax.set_title(title, loc="left", fontsize=9.5)
    ax = panel(figure, (0.73, 0.19, 0.25, 0.66), "panel-2")
    ax.set_aspect("auto")
    (drawn,) = ax.plot(
        range(1, len(refined.loss_curve_) + 1), refined.loss_curve_, color=BLUE, lw=1
    )
    drawn.set_gid("panel-2-loss")
    ax.set_xlabel("pass over the rows", labelpad=1, fontsize=9)
    ax.tick_params(labelsize=9)
    ax.set_title("loss", loc="left", fontsize=9.5)
    return figure


def figures() -> dict[str, Figure]:
    """The figure by the name of its file."""
    return {"refined-planted": draw()}


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
