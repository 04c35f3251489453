"""oblique-classifier-1: OC1 in Python."""

from __future__ import annotations

from benchmarks.adapters.base import Estimator

CONTENDERS = (
    Estimator(
        "oblique-classifier-1",
        "oblique-classifier-1",
        "oc1.ObliqueDecisionTree",
        "max_depth",
        ({}, {"min_samples_leaf": 5}, {"n_restarts": 3}),
    ),
)
