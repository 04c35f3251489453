"""STree: a linear support vector machine in every node."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter, Estimator, Setting
from benchmarks.problems import SEED, Features, Labels, Problem

MAX_ROWS = 50_000


class STree(Adapter):
    """Stree with few iterations: at its default of 100,000 one fit can take hours."""

    name = "STree"
    library = "STree"
    module = "stree"

    def supports(self, problem: Problem) -> str | None:
        if problem.n_rows > MAX_ROWS:
            return f"fits support vector machines: measured up to {MAX_ROWS:,} rows only"
        return None

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        from stree import Stree

        with warnings.catch_warnings():
            # Few iterations are meant, so that the solver has not converged is no news.
            warnings.simplefilter("ignore")
            return Stree(max_iter=100, random_state=SEED).fit(X, y)

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        return np.asarray(model.predict(X), dtype=np.int64)

    def leaves(self, model: Any) -> int:
        return int(model.nodes_leaves()[1])

    def depth(self, model: Any) -> int:
        deepest = 0
        waiting = [(model.tree_, 0)]
        while waiting:
            node, depth = waiting.pop()
            deepest = max(deepest, depth)
            children = (node.get_down(), node.get_up())
            waiting += [(child, depth + 1) for child in children if child is not None]
        return deepest


ADAPTERS = (STree(),)


class SizedSTree(Estimator):
    """Within a limit of depth, which counts the root.

    Leaves at the limit are left without a class and would all say the first one; they are given
    the class of most of their rows, with the method that does it for the other leaves.
    """

    def limit(self, n_leaves: int) -> Setting:
        return {"max_depth": n_leaves.bit_length()}

    def grow(self, X: Features, y: Labels, n_leaves: int, seed: int, **setting: Any) -> Any:
        model = super().grow(X, y, n_leaves, seed, **setting)
        for node in model:
            node.make_predictor(model.n_classes_)
        return model

    def leaves(self, model: Any) -> int:
        return int(model.nodes_leaves()[1])


CONTENDERS = (SizedSTree("STree", "STree", "stree.Stree", "", ({}, {"C": 0.05}, {"C": 10.0})),)
