"""obliquetree: axis-parallel, and oblique with pairs of features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter, Estimator
from benchmarks.problems import SEED, Features, Labels, Problem

MANY_ROWS = {2: 200_000}
"""Rows up to which the oblique variant is measured, by number of classes; else FEW_ROWS."""
FEW_ROWS = 5_000


class Obliquetree(Adapter):
    """Its Classifier with defaults. It has no parameter for threads."""

    library = "obliquetree"
    module = "obliquetree"

    def __init__(self, name: str, use_oblique: bool) -> None:
        self.name = name
        self.use_oblique = use_oblique

    def supports(self, problem: Problem) -> str | None:
        # 2,000 rows of letter took it 21 s, and the time grew faster than the rows.
        most = MANY_ROWS.get(problem.n_classes, FEW_ROWS)
        if self.use_oblique and problem.n_rows > most:
            return f"slow on {problem.n_classes} classes: measured up to {most:,} rows only"
        return None

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        from obliquetree import Classifier

        model = Classifier(use_oblique=self.use_oblique, random_state=SEED)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        return model

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        return np.asarray(model.predict(X), dtype=np.int64)

    def leaves(self, model: Any) -> int:
        return _shape(model)[0]

    def depth(self, model: Any) -> int:
        return _shape(model)[1]


def _shape(model: Any) -> tuple[int, int]:
    """Leaves and depth."""
    from obliquetree.utils import export_tree

    leaves = deepest = 0
    waiting = [(export_tree(model)["tree"], 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        if node["is_leaf"]:
            leaves += 1
        else:
            waiting += [(node["left"], depth + 1), (node["right"], depth + 1)]
    return leaves, deepest


class SizedObliquetree(Estimator):
    """The same within a limit of depth; it has none of leaves."""

    def leaves(self, model: Any) -> int:
        return _shape(model)[0]


ADAPTERS = (
    Obliquetree("obliquetree axis-parallel", use_oblique=False),
    Obliquetree("obliquetree oblique", use_oblique=True),
)
CONTENDERS = (
    SizedObliquetree(
        "obliquetree",
        "obliquetree",
        "obliquetree.Classifier",
        "max_depth",
        ({}, {"min_samples_leaf": 5}, {"n_pair": 3}),
    ),
)
