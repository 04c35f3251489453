"""obliqua itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter, Estimator
from benchmarks.problems import Features, Labels, Problem


class Obliqua(Adapter):
    """An estimator of obliqua, grown in full."""

    library = "obliqua"
    module = "obliqua"
    threads = (1, 2)

    def __init__(self, name: str, estimator: str, **parameters: Any) -> None:
        self.name = name
        self.estimator = estimator
        self.parameters = parameters

    def missing(self) -> str | None:
        reason = super().missing()
        if reason is None:
            import obliqua

            if not hasattr(obliqua, self.estimator):
                reason = f"this version has no {self.estimator}"
        return reason

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        import obliqua

        estimator = getattr(obliqua, self.estimator)
        parameters = {**self.parameters, "n_jobs": n_threads}
        # Estimators that can prune do so by default, as their papers do.
        if "pruning" in inspect.signature(estimator).parameters:
            parameters["pruning"] = None
        return estimator(**parameters).fit(X, y)

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        labels: npt.NDArray[np.int64] = model.predict(X)
        return labels

    def leaves(self, model: Any) -> int:
        return int(model.get_n_leaves())

    def depth(self, model: Any) -> int:
        return int(model.get_depth())

    def walk(self, model: Any, row: Features) -> Callable[[], Any]:
        tree = model.tree_
        return lambda: tree.apply(row)


class EveryEigenvector(Obliqua):
    """HHCART(A) looks along p times as many directions as HHCART(D)."""

    def supports(self, problem: Problem) -> str | None:
        if len(problem.y) > MOST_ROWS:
            return f"p times the work of HHCART(D): measured up to {MOST_ROWS:,} rows only"
        return None


MOST_ROWS = 200_000

ADAPTERS = (
    Obliqua("obliqua CART", "CartClassifier", criterion="gini"),
    Obliqua("obliqua HHCART(D)", "HHCartClassifier", variant="dominant"),
    EveryEigenvector("obliqua HHCART(A)", "HHCartClassifier", variant="all"),
)

GREEDY = {
    "variant": "dominant",
    "extra_directions": "fisher",
    "scale": "standard",
    "criterion": "gini",
    "pruning": None,
}
CONTENDERS = (
    Estimator(
        "obliqua refined",
        "obliqua",
        "obliqua.RefinedTreeClassifier",
        "leaves",
        ({}, {"compare_greedy": False}, {"cycles": 2}),
        n_jobs=1,
    ),
    Estimator(
        "obliqua greedy",
        "obliqua",
        "obliqua.HHCartClassifier",
        "leaves",
        ({}, {"min_samples_leaf": 5}, {"criterion": "entropy"}),
        n_jobs=1,
        **GREEDY,
    ),
)
