"""The spread of features at nodes, slow and obvious: exact fractions, node by node."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np

from obliqua import Tree


def spread(tree: Tree, Z: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The standard deviation of each feature of a plane among the rows at its node."""
    weight = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=float)
    passes = tree.decision_path(Z).toarray()
    out = np.full(len(tree.coef), np.nan)
    for k, plane in enumerate(tree.plane_of_coef):
        rows = np.flatnonzero(passes[:, tree.node_of_plane[plane]])
        w = [Fraction(float(v)) for v in weight[rows]]
        x = [Fraction(float(v)) for v in Z[rows, tree.coef_idx[k]]]
        total = sum(w)
        if total == 0:
            continue
        mean = sum(a * b for a, b in zip(w, x, strict=True)) / total
        variance = sum(a * (b - mean) ** 2 for a, b in zip(w, x, strict=True)) / total
        out[k] = sqrt(variance)
    return out
