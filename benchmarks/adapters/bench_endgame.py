"""endgame-ml: its oblique tree, by default along the coefficients of ridge regressions."""

from __future__ import annotations

from benchmarks.adapters.base import Estimator

CONTENDERS = (
    Estimator(
        "endgame-ml",
        "endgame-ml",
        "endgame.models.trees.ObliqueDecisionTreeClassifier",
        "max_depth",
        ({}, {"oblique_method": "lda"}, {"min_samples_leaf": 5}),
    ),
)
