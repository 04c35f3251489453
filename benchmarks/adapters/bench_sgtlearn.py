"""sgtlearn: ShapeCART, splits that ask one or two features a question of many thresholds."""

from __future__ import annotations

from typing import Any

from benchmarks.adapters.base import Estimator


class ShapeCart(Estimator):
    """Its leaves are counted in what it exports."""

    def leaves(self, model: Any) -> int:
        return sum(node["is_leaf"] for node in model.tree_export()["nodes"])


CONTENDERS = (
    ShapeCart(
        "sgtlearn",
        "sgtlearn",
        "sgtlearn.SGTClassifier",
        "leaves",
        ({}, {"min_samples_leaf": 5}, {"pairwise_candidates": 1.0}),
    ),
)
