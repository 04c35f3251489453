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
from typing import Any

import numpy as np
from scipy import sparse

from obliqua._core.base.linalg import product, py_eigen, py_solve
from obliqua._core.base.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import encode
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.moments import grid_sums
from obliqua.engine.proposals import Directions, NodeView, check_classes

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
    check_classes(node, "fisher_direction")
    if node.few_rows:
        varies = np.flatnonzero(node.X.min(axis=0) < node.X.max(axis=0))
        if len(varies) >= MANY_FEATURES and distinct_rows(node) < len(varies) + 2:
            return direction_of_few_rows(node, varies)
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
    return along_direction(node, used, w / size[used], exponent, label)


def along_direction(
    node: NodeView,
    used: BoolArray | Int64Array,
    entries: FloatArray,
    exponent: Int32Array,
    label: str,
) -> Directions:
    """Propose a direction, in units of 2^exponent, if the rows differ along it."""
    normal = np.zeros(node.n_features)
    normal[used] = entries
    # Only the direction counts; its length would tell a weight of 2 from a repeated row.
    normal /= np.abs(normal).max()
    with np.errstate(under="ignore"):
        normal = np.ldexp(normal, -exponent)
    reach = product(np.abs(node.X).max(axis=0), np.abs(normal))
    if np.ptp(product(node.X, normal)) <= NO_WIDTH * reach:
        return every_feature(node)
    return Directions(normal, labels=[label])


def direction_of_few_rows(node: NodeView, varies: Int64Array) -> Directions:
    """Propose the direction with a ridge from products of rows, without a matrix of features.

    With Y the centred rows and r the ridge, (Y'Y + r I)^-1 x = (x - Y' (YY' + r I)^-1 Y x) / r.
    Sums over rows are rounded here, so rows have an order of their own, and equal ones are one.
    """
    y = node.y.astype(np.int64)
    hashes = row_hashes(node.X, y, 0)
    order = np.lexsort((hashes, y))
    new = np.append(True, (np.diff(y[order]) != 0) | (hashes[order][1:] != hashes[order][:-1]))
    starts = np.flatnonzero(new)
    weight = np.add.reduceat(node.sample_weight[order], starts)
    weight = weight / weight.max()
    chosen = order[starts]
    present, code = np.unique(y[chosen], return_inverse=True)
    if len(present) < 2:
        return every_feature(node)
    exponent = np.frexp(np.abs(node.X).max(axis=0))[1].astype(np.int32)
    X = np.ldexp(node.X[np.ix_(chosen, varies)], -exponent[varies])
    centred = X - product(weight, X) / weight.sum()
    size = np.sqrt(product(weight, centred * centred))
    centred /= size
    root = np.sqrt(weight)[:, None]
    masses, means = group_means(centred, weight, code)
    within = root * (centred - means[code])
    ridge = float((within * within).sum()) / len(varies)
    if ridge <= NO_SPREAD:  # rounding: the variance of all rows is 1
        within, ridge = np.zeros_like(within), 0.0
    label = "Fisher"
    if len(present) > 2:
        second = groups_of_few_rows(within, ridge, means, masses)
        label = f"Fisher, {naming(present[~second])} against {naming(present[second])}"
        code = second[code].astype(np.int64)
        _, means = group_means(centred, weight, code)
        within = root * (centred - means[code])
    (w,) = solve_few_rows(within, ridge, (means[0] - means[1])[None])
    # As `without_noise`: the variance of each feature is 1, and the ridge.
    along = product(centred, w)
    spread = np.sqrt(product(weight, along * along) + ridge * (w * w).sum())
    w = np.where(np.abs(w) * np.sqrt(1.0 + ridge) > NO_PART * spread, w, 0.0)
    if not w.any():
        return every_feature(node)
    return along_direction(node, varies, w / size, exponent, label)


def group_means(X: FloatArray, weight: FloatArray, code: Int64Array) -> tuple[FloatArray, Any]:
    """Return the weight and the mean of each group of rows."""
    groups = [np.flatnonzero(code == k) for k in range(int(code.max()) + 1)]
    masses = np.array([weight[rows].sum() for rows in groups])
    sums = np.array([product(weight[rows], X[rows]) for rows in groups])
    return masses, sums / masses[:, None]


def solve_few_rows(Y: FloatArray, ridge: float, vectors: FloatArray) -> FloatArray:
    """Return (Y'Y + r I)^-1 x for vectors x as rows.

    Without a ridge by the pseudo-inverse, and x itself where nothing varies.
    """
    matrix, along = product(Y, Y.T), product(vectors, Y.T)
    if ridge > 0.0:
        matrix += ridge * np.eye(len(Y))
        solved = np.array([py_solve(matrix, x) for x in along])
        return np.asarray((vectors - product(solved, Y)) / ridge)
    values, components = py_eigen(matrix)
    kept = values > NO_SPREAD * values[0]
    if not kept.any():
        return vectors
    components = components[kept]
    return np.asarray(
        product(product(product(along, components.T) / values[kept] ** 2, components), Y)
    )


def groups_of_few_rows(
    within: FloatArray, ridge: float, means: FloatArray, masses: FloatArray
) -> BoolArray:
    """Divide the classes as `two_groups` does, from products of their means."""
    root = np.sqrt(masses)
    between = product(means, solve_few_rows(within, ridge, means).T) * np.outer(root, root)
    _, axes = py_eigen((between + between.T) / 2)
    return cut_in_two(axes[0] / root, masses)


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
    return cut_in_two(product(along, axes[0]), weights)


def cut_in_two(place: FloatArray, weights: FloatArray) -> BoolArray:
    """Cut classes, in the order of their places, where the groups lie apart the furthest."""
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
