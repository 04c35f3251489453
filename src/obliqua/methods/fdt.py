"""FDT: one numeric split along Fisher's direction (López-Chau et al. 2013).

At a node with two classes the direction is w = S^-1 (m_1 - m_2), where S is the sum of the scatter
matrices of the classes and m_1, m_2 are their means: along w the classes lie apart the furthest,
compared with their own width. There is no other direction, unless this one says nothing: then the
features themselves are tried.

More than two classes, which the paper does not have, are first made two groups of classes
(`two_groups`); then it is the same. Means and scatter matrices come from exact sums, so the
direction does not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from obliqua._core.base.linalg import product, py_eigen, py_solve
from obliqua._core.base.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import encode
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.moments import grid_sums
from obliqua.engine.proposals import Directions, NodeView

__all__ = ["fisher_direction"]

# An eigenvalue below this share of the largest one is taken for 0.
NO_SPREAD = 1e-10
# Class means whose distance is a smaller share than this are taken for equal, where the rows do
# not vary: values were rounded to 24 bits.
NO_DISTANCE = 1e-5
# The engine does not tell values along a direction apart that are closer than this share.
NO_WIDTH = 1e-10
# A feature whose part in a direction varies by less than this share of the whole is left out: it
# is rounding, and would depend on units.
NO_PART = 1e-6
# With so many features, a node with fewer rows than features gets a ridge.
MANY_FEATURES = 20
# A label names no more than this number of classes.
MANY_CLASSES = 5


@dataclass(frozen=True)
class GroupMoments:
    """What FDT knows of the classes at a node, or of two groups of them."""

    weights: FloatArray
    means: FloatArray  # (n_groups, n_features)
    within: FloatArray  # (n_features, n_features): the sum of their scatter matrices


def fisher_direction(node: NodeView) -> Directions:
    """Propose the one direction of FDT.

    Parameters
    ----------
    node : NodeView
        The rows, their classes and their weights.

    Returns
    -------
    Directions
        Fisher's direction; those of all features if the classes' means are equal, or if all
        rows have the same value along it, as far as float64 can tell.
    """
    present, moments, exponent = class_moments(node)
    # Each feature in units of its own spread: which eigenvalues are 0 must not depend on units.
    size = np.sqrt(total_scatter(moments).diagonal())
    used = size > 0
    if len(present) < 2 or not used.any():
        return every_feature(node)
    moments = GroupMoments(
        moments.weights,
        moments.means[:, used] / size[used],
        moments.within[np.ix_(used, used)] / np.outer(size[used], size[used]),
    )
    n_used = int(np.count_nonzero(used))
    wide = n_used >= MANY_FEATURES and distinct_rows(node) < n_used + 2
    if wide:
        moments = with_ridge(moments)
    label = "Fisher"
    if len(present) > 2:
        second = two_groups(moments)
        label = f"Fisher, {naming(present[~second])} against {naming(present[second])}"
        moments = merged(moments, second)
    apart = moments.means[0] - moments.means[1]
    w = py_solve(moments.within, apart) if wide else None
    if w is None:
        w = separating(moments.within, apart, lambda: distinct_rows(node) >= n_used + 2)
    w = without_noise(w, total_scatter(moments))
    if not w.any():
        return every_feature(node)
    normal = np.zeros(node.n_features)
    normal[used] = w / size[used]
    # Only the direction counts; its length would tell a weight of 2 from a repeated row.
    normal /= np.abs(normal).max()
    with np.errstate(under="ignore"):
        normal = np.ldexp(normal, -exponent)
    reach = product(np.abs(node.X).max(axis=0), np.abs(normal))
    if np.ptp(product(node.X, normal)) <= NO_WIDTH * reach:
        return every_feature(node)
    return Directions(normal, labels=[label])


def naming(classes: Int64Array) -> str:
    """Say which classes a group has, or how many if they are many."""
    if len(classes) > MANY_CLASSES:
        return f"{len(classes)} classes"
    return ("class " if len(classes) == 1 else "classes ") + ", ".join(map(str, classes))


def distinct_rows(node: NodeView) -> int:
    """Count different rows: neither repeated rows nor weights make a scatter matrix regular."""
    return len(np.unique(row_hashes(node.X, np.zeros(node.n_samples, dtype=np.int64), 0)))


def every_feature(node: NodeView) -> Directions:
    """Return the directions of all features, for a node that Fisher has nothing to say of."""
    return Directions(
        sparse.eye_array(node.n_features, format="csr"), labels=[AXIS_LABEL] * node.n_features
    )


def class_moments(node: NodeView) -> tuple[Int64Array, GroupMoments, Int32Array]:
    """Sum up the classes that are there."""
    problem = encode(node.X, node.y, node.n_classes, sample_weight=node.sample_weight)
    sums, exponent = grid_sums(problem)
    # Beside huge weights, small ones may have been rounded to nothing.
    present = np.flatnonzero(sums.weights)
    means = np.array([sums.mean(c) for c in present.tolist()])
    within = np.sum([sums.scatter(c) for c in present.tolist()], axis=0)
    weights = sums.weights[present].astype(np.float64)
    return present, GroupMoments(weights, means, within), exponent


def total_scatter(moments: GroupMoments) -> FloatArray:
    """Return the scatter of all rows about their common mean."""
    mean = product(moments.weights, moments.means) / moments.weights.sum()
    apart = moments.means - mean
    return np.asarray(moments.within + product(apart.T * moments.weights, apart))


def with_ridge(moments: GroupMoments) -> GroupMoments:
    """Add the mean variance within the classes to each (ours: with few rows most are unknown)."""
    within = moments.within
    ridge = within.diagonal().mean() * np.eye(len(within))
    return GroupMoments(moments.weights, moments.means, within + ridge)


def without_noise(w: FloatArray, total: FloatArray) -> FloatArray:
    """Leave out features whose part in a direction is nothing beside the spread along it."""
    along = np.sqrt(max(float(product(product(w, total), w)), 0.0))
    part = np.abs(w) * np.sqrt(total.diagonal())
    return np.asarray(np.where(part > NO_PART * along, w, 0.0))


def merged(moments: GroupMoments, second: BoolArray) -> GroupMoments:
    """Make two groups of classes, those of `second` and the others."""
    groups = [
        GroupMoments(moments.weights[chosen], moments.means[chosen], np.zeros_like(moments.within))
        for chosen in (~second, second)
    ]
    return GroupMoments(
        np.array([group.weights.sum() for group in groups]),
        np.array([product(g.weights, g.means) / g.weights.sum() for g in groups]),
        moments.within + sum(total_scatter(group) for group in groups),
    )


def two_groups(moments: GroupMoments) -> BoolArray:
    """Divide the classes into two groups that lie apart (ours, not in the paper).

    The classes' means are put in order along the first discriminant, the direction in which
    they differ most compared with the width of the classes. Of all ways to cut this order in
    two, the one with the largest sum of squares between the groups is taken.
    """
    weights = moments.weights
    values, vectors = py_eigen(moments.within)
    apart = moments.means - product(weights, moments.means) / weights.sum()
    along = product(apart, vectors.T)
    flat = values <= NO_SPREAD * values[0]
    along[:, flat] = np.where(
        np.abs(along[:, flat]) > NO_DISTANCE * np.abs(apart).max(), along[:, flat], 0.0
    )
    # Where the rows do not vary, means that differ are as good as infinitely far apart.
    along /= np.sqrt(np.maximum(values, NO_SPREAD * values[0] if values[0] > 0 else 1.0))
    _, axes = py_eigen(product(along.T * weights, along))
    place = product(along, axes[0])
    order = np.argsort(place, kind="stable")
    before = np.cumsum(weights[order])[:-1]
    moment = np.cumsum((weights * place)[order])[:-1]
    # The mean of all is 0, so the moment of one group is minus that of the other.
    between = moment**2 * (1.0 / before + 1.0 / (weights.sum() - before))
    cut = int(np.argmax(between)) + 1
    second = np.zeros(len(weights), dtype=bool)
    second[order[cut:]] = True
    # Which end of an axis is the first is an accident; the first class is in the first group.
    return np.asarray(second ^ second[0])


def separating(
    within: FloatArray, apart: FloatArray, enough_rows: Callable[[], bool]
) -> FloatArray:
    """Solve ``within @ w = apart``, by the pseudo-inverse if the matrix is singular.

    If the means differ where no class varies, the classes are apart there for certain, and the
    pseudo-inverse would look everywhere but there. Then this is the direction, unless nothing
    varies there for want of rows: as many rows as features always lie apart somewhere.
    """
    values, vectors = py_eigen(within)
    along = product(vectors, apart)
    flat = values <= NO_SPREAD * values[0]
    certain = flat & (np.abs(along) > NO_DISTANCE * np.sqrt((apart * apart).sum()))
    if certain.any() and (flat.all() or enough_rows()):
        return product(along[certain], vectors[certain])
    return product(along[~flat] / values[~flat], vectors[~flat])
