"""Twin of the robust linear program: the primal, and what any hyperplane loses.

Of two groups of rows, ``side`` 1 and -1, a hyperplane x . w = g loses

    sum of weight_i / (weight of its group) max(0, 1 - side_i (x_i . w - g))

The program finds the least loss of all hyperplanes. It is written down as it stands in the paper:
a variable for each coefficient, for g and for what each row loses, and a constraint for each row.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

FloatArray = np.ndarray


def costs(side: FloatArray, weight: FloatArray) -> FloatArray:
    """What a row loses if it is on the wrong side by one margin more."""
    mass = {s: weight[side == s].sum() for s in (-1, 1)}
    return np.array([w / mass[s] for s, w in zip(side, weight, strict=True)])


def least_loss(X: FloatArray, side: FloatArray, weight: FloatArray) -> float:
    """The least loss of all hyperplanes."""
    n, p = X.shape
    normal = side[:, None] * X
    found = linprog(
        np.concatenate([np.zeros(p + 1), costs(side, weight)]),
        A_ub=np.hstack([-normal, side[:, None], -np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (p + 1) + [(0, None)] * n,
        method="highs-ds",
    )
    assert found.status == 0
    return float(found.fun)


def loss_along(normal: FloatArray, X: FloatArray, side: FloatArray, weight: FloatArray) -> float:
    """What the best hyperplane with this normal, of this length, loses.

    The loss is a piecewise linear function of g, so it is least where a row has its margin.
    """
    values, cost = X @ normal, costs(side, weight)
    places = values - side
    losses = np.maximum(0.0, 1.0 - side * (values - places[:, None])) @ cost
    return float(losses.min())
