"""neural-trees: a soft tree by gradients, read as a hard one and as it is; discriminants."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Estimator
from benchmarks.problems import Features


class Soft(Estimator):
    """A complete tree of soft gates, all of whose leaves have a say in each row.

    It is also read as a hard one, with one path for each row, as the library exports it.
    """

    def leaves(self, model: Any) -> int:
        return int(2**model.tree_depth_)

    def readings(self, model: Any, X: Features) -> dict[str, npt.NDArray[np.int64]]:
        return {"": self.predict(model, X), ", hard": self.predict(model.to_hard_tree(), X)}


class Multivariate(Estimator):
    """Splits along linear discriminants; it counts the splits."""

    def leaves(self, model: Any) -> int:
        return int(np.sum(model.n_nodes_)) + 1


CONTENDERS = (
    Soft(
        "neural-trees soft",
        "neural-trees",
        "neural_trees.SoftDecisionTree",
        "depth",
        ({}, {"learning_rate": 0.03}, {"penalty_coef": 0.01}),
    ),
    Multivariate(
        "neural-trees multivariate",
        "neural-trees",
        "neural_trees.MultivariateDecisionTree",
        "max_depth",
        ({}, {"min_samples_leaf": 1}, {"min_samples_leaf": 10}),
    ),
)
