"""The figure of docs/guides/forest.md: what the trees of a forest share, and what it depends on.

``make figures`` writes it beside this file. It is kept, so that the documentation is built without
matplotlib; ``tests/test_figures.py`` draws it again and compares what is in it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from etct import name_parts
from hhcart import write
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import BaggingClassifier

from obliqua import CartClassifier, plot_eigenvalues, plot_energy, plot_overlaps
from obliqua.spectrum import Diagnosis, diagnose


def fitted() -> tuple[Any, Any]:
    """Bagged trees, and the rows that they have seen."""
    X, y = load_breast_cancer(as_frame=True, return_X_y=True)
    tree = CartClassifier(pruning=None)
    return BaggingClassifier(tree, n_estimators=50, random_state=0).fit(X, y), X


def diagnosed() -> Diagnosis:
    """The diagnosis of the figure."""
    forest, X = fitted()
    return diagnose(forest, "marginals", X)


def draw() -> Figure:
    """Three panels."""
    found = diagnosed()
    figure = Figure(figsize=(7.6, 6.4), facecolor="white")
    places = ((0.07, 0.71, 0.4, 0.27), (0.07, 0.085, 0.4, 0.475), (0.7, 0.17, 0.275, 0.81))
    axes = [figure.add_axes(place) for place in places]
    plot_eigenvalues(found, max_components=20, ax=axes[0])
    plot_overlaps(found, ax=axes[1])
    plot_energy(found, max_features=15, ax=axes[2])
    for number, ax in enumerate(axes):
        name_parts(ax, number)
    return figure


def figures() -> dict[str, Figure]:
    """The figure by the name of its file."""
    return {"forest-diagnosis": draw()}


if __name__ == "__main__":
    write(figures, Path(__file__).parent, *sys.argv[1:])
