"""scikit-learn: what every ratio is taken against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter, Estimator
from benchmarks.problems import SEED, Features, Labels


class Sklearn(Adapter):
    """DecisionTreeClassifier with its defaults (gini, grown in full). It has no threads."""

    name = "scikit-learn"
    library = "scikit-learn"
    module = "sklearn"

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(criterion="gini", random_state=SEED).fit(X, y)

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        labels: npt.NDArray[np.int64] = model.predict(X)
        return labels

    def leaves(self, model: Any) -> int:
        return int(model.get_n_leaves())

    def depth(self, model: Any) -> int:
        return int(model.get_depth())

    def walk(self, model: Any, row: Features) -> Callable[[], Any]:
        tree, single = model.tree_, row.astype(np.float32)
        return lambda: tree.apply(single)


ADAPTERS = (Sklearn(),)
CONTENDERS = (
    Estimator(
        "scikit-learn",
        "scikit-learn",
        "sklearn.tree.DecisionTreeClassifier",
        "leaves",
        ({}, {"min_samples_leaf": 5}, {"criterion": "entropy"}),
    ),
)
