"""treeple: its oblique tree, where it runs.

Its version 0.10.3 is compiled against an older scikit-learn and cannot be imported beside 1.9;
endgame-ml, which imports it if it is there, then fails with it. So no group of dependencies has
it; an environment of its own can measure it, with --only treeple --keep.
"""

from __future__ import annotations

from benchmarks.adapters.base import Estimator

CONTENDERS = (
    Estimator(
        "treeple",
        "treeple",
        "treeple.tree.ObliqueDecisionTreeClassifier",
        "leaves",
        ({}, {"min_samples_leaf": 5}, {"criterion": "entropy"}),
    ),
)
