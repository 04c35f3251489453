"""Directions between class means: the simplest oblique proposal, and a model for others.

For each class at the node, one direction: from the mean of all other rows to the mean of the
class, each feature divided by its variance within the classes. For two classes this is
Fisher's direction with the covariances left out. Among many classes only the heaviest count.
"""

import numpy as np

from obliqua._core.base.rng import row_hashes
from obliqua._typing import FloatArray
from obliqua.engine.proposals import NodeView, check_classes

# A feature that is constant within the classes separates them alone; this share of its total
# variance stands in for a variance of 0, so that the other features keep a say.
FLOOR = 1e-6
MAX_DIRECTIONS = 32
NOISE = 1e-12


def class_means(node: NodeView) -> FloatArray:
    """Propose one direction per class, at most 32, or a single one for two classes.

    Parameters
    ----------
    node : NodeView
        The rows, their classes and their weights.

    Returns
    -------
    ndarray of shape (n_directions, n_features)
        The normals.
    """
    check_classes(node, "class_means")
    # Features and weights relative to their largest: squares can neither overflow nor vanish.
    scale = np.abs(node.X).max(axis=0)
    used = scale > 0
    X = node.X[:, used] / scale[used]

    # Each class becomes one run of rows, in an order that depends on the rows' content alone:
    # float sums depend on their order, and a tree must not depend on how the rows came.
    order = np.lexsort((row_hashes(node.X, node.y.astype(np.int64), 0), node.y))
    starts = np.flatnonzero(np.diff(node.y[order], prepend=-1))
    with np.errstate(over="ignore"):  # NumPy 1.26 warns of denormal weights that are all equal
        weight = node.sample_weight[order, None] / node.sample_weight.max()
    mass = np.add.reduceat(weight, starts)
    sums = np.add.reduceat(weight * X[order], starts)
    means = sums / mass
    centred = X[order] - np.repeat(means, np.diff(starts, append=len(X)), axis=0)
    within = (weight * centred**2).sum(axis=0) / mass.sum()
    total = within + (mass * (means - sums.sum(axis=0) / mass.sum()) ** 2).sum(axis=0) / mass.sum()
    others = (sums.sum(axis=0) - sums) / (mass.sum() - mass)

    spread = np.maximum(within, FLOOR * total) * scale[used]
    normals = np.zeros((len(starts), node.n_features))
    with np.errstate(all="ignore"):  # a constant feature gives 0/0, a denormal one 1/0
        normals[:, used] = (means - others) / spread
    normals[~np.isfinite(normals)] = 0.0
    # What is left of equal means after rounding is no direction.
    small = np.abs(means - others) <= NOISE * (np.abs(means) + np.abs(others))
    normals[:, used] = np.where(small, 0.0, normals[:, used])
    if len(normals) == 2:
        return normals[:1]  # the second is the first, reversed
    heaviest = np.argsort(-mass[:, 0], kind="stable")[:MAX_DIRECTIONS]
    return normals[np.sort(heaviest)]
