"""How much each feature had to do with what the splits gained."""

from __future__ import annotations

from typing import Any

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.errors import TreeError
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.levels import table_of
from obliqua.words.subject import container_of, subjects_of

__all__ = ["importances"]


def importances(model: Any, *, normalize: bool = True) -> FloatArray:
    """Share out the gain of all splits among the features.

    The gain of a split is shared among its features in proportion to ``|coefficient| *
    spread``, where the spread is the standard deviation of the feature among the training rows
    at the node: how far the feature moves rows along the normal. The units of a feature do not
    matter. A split by one feature gives it all of its gain; for such trees grown with
    ``criterion="gini"`` the result is scikit-learn's.

    Where leaves say linear functions, all that the tree explains is shared out: by how much its
    mean squared error is below the variance of what is learnt. That adds up in two ways, and each
    feature gets the mean of both. Either splits come first, each with what the means of its sides
    explain, and then the functions of the leaves, with what they explain beyond the means; or the
    function that the root would say, and then splits, each with what the functions of its sides
    explain beyond that of the node. What a function explains is shared as the gain of a split is,
    by ``|coefficient| * spread``.

    Parameters
    ----------
    model : estimator, Model or Tree
        What to look at. With several trees, the mean over the trees is taken.
    normalize : bool, default=True
        Whether the shares of each tree are divided by their total, so that they add up to 1.
        If not, they add up to the gain of all its splits, or to what it explains if it has
        linear functions in its leaves. Trees that are added up
        (`Model.adds_up`) have gains in the same unit, and are divided by what they gain
        together: a tree with a small part has small shares.

    Returns
    -------
    ndarray of shape (n_features,)
        The share of each feature; all 0 if there is no split, or no gain.

    Raises
    ------
    TreeError
        If a split or a linear function with several features has a gain, but the spread of one of
        them is not known; or if the gain of a split is not known, because the tree was edited.

    Notes
    -----
    If no feature of a split varies among the node's rows, the coefficients alone decide. The
    gain of a set of levels belongs to its column. At a linear machine the effects of a feature
    are added up over the planes. The same plane may be added to all of them and the machine says
    the same, so what counts is how far a coefficient is from its mean over the planes.

    Look at permutation importance on other rows beside it
    (`sklearn.inspection.permutation_importance`). The shares are computed on training
    rows, so a feature also gets what the tree has only learnt by heart. Features that carry
    the same information share what each would have had alone. And a split that leans on two
    features gives both a share, even if their effects mostly cancel.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.explain import importances
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 3.0, ("low", "high"))
    >>> builder.set_leaf("low", [8, 0])
    >>> builder.set_leaf("high", [0, 4])
    >>> builder.annotate("root", gain=0.4)
    >>> importances(builder.build())
    array([1., 0.])
    """
    shares = [_shares(subject.tree) for subject in subjects_of(model)]
    if not normalize or container_of(model)[0].adds_up:
        together = np.mean(shares, axis=0)
        return _normalized(together) if normalize else np.asarray(together)
    # As in scikit-learn's forests: each tree counts alike, and one without splits not at all.
    return _normalized(np.mean([_normalized(share) for share in shares], axis=0))


def _normalized(shares: FloatArray) -> FloatArray:
    total = shares.sum()
    return shares / total if total > 0 else np.zeros_like(shares)


def _shares(tree: Tree) -> FloatArray:
    """Return what a tree explains, shared out among the features."""
    unknown = np.flatnonzero(np.isnan(tree.gain))
    if len(unknown):
        raise TreeError(
            f"What the split of node {unknown[0]} gains is not known: the tree was edited by "
            "hand. Give rows to apply_edits, X and y, to count it anew."
        )
    if not tree.has_lines:
        return _of_splits(tree, tree.gain)
    leaf_gain, root = tree.leaf_gain, np.arange(tree.n_nodes) == 0
    left_over = tree.stats[:, -1] / (tree.stats[0, 0] or 1.0)
    # Splits first and functions in the leaves, or the function of the root first and then splits.
    by_means = _of_splits(tree, _drops(tree, left_over + leaf_gain))
    by_means += _of_lines(tree, np.where(tree.is_leaf, leaf_gain, 0.0))
    by_functions = _of_splits(tree, _drops(tree, left_over))
    by_functions += _of_lines(tree, np.where(root, leaf_gain, 0.0))
    return (by_means + by_functions) / 2.0


def _drops(tree: Tree, error: FloatArray) -> FloatArray:
    """Return by how much the children of each node have less error together than it has."""
    below = np.bincount(tree.parent[1:], weights=error[1:], minlength=tree.n_nodes)
    return np.where(tree.is_leaf, 0.0, np.maximum(error - below, 0.0))


def _of_lines(tree: Tree, gain: FloatArray) -> FloatArray:
    """Share out what the linear functions of nodes gain among their features."""
    node = np.repeat(np.arange(tree.n_nodes), np.diff(tree.leaf_ptr))
    alone = np.diff(tree.leaf_ptr)[node] == 1
    unknown = np.isnan(tree.leaf_spread) & ~alone & (gain[node] != 0)
    if unknown.any():
        raise TreeError(
            f"The spread of the features of the linear function of node "
            f"{int(node[np.argmax(unknown)])} is not known, so what it gains cannot be shared "
            "out. Give the tree 'leaf_spread', the standard deviations at the node."
        )
    size = _relative(np.abs(tree.leaf_coef), node, tree.n_nodes)
    spread = np.where(np.isnan(tree.leaf_spread), 1.0, tree.leaf_spread)
    effect = np.where(alone, 1.0, size * _relative(spread, node, tree.n_nodes))
    return _shared(tree, node, tree.leaf_idx, effect, gain)


def _of_splits(tree: Tree, gain: FloatArray) -> FloatArray:
    """Share out what splits gain among their features."""
    node = tree.node_of_plane[tree.plane_of_coef]
    return _shared(tree, node, tree.coef_idx, _effects(tree, node, gain), gain)


def _shared(
    tree: Tree, node: Int64Array, column: Int32Array, effect: FloatArray, gain: FloatArray
) -> FloatArray:
    """Add up the gains of nodes by column, in proportion to effects."""
    total = np.bincount(node, weights=effect, minlength=tree.n_nodes)[node]
    part = np.divide(effect, total, out=np.zeros_like(effect), where=total > 0)
    shares = np.bincount(column, weights=part * gain[node], minlength=tree.n_features)
    return shares.astype(np.float64, copy=False)


def _effects(tree: Tree, node: Int64Array, gain: FloatArray) -> FloatArray:
    """Return how much each coefficient moves rows, relative to the others of its node."""
    # A single feature gets everything, whatever its spread; without a gain there is nothing.
    alone = tree.n_node_features[node] == 1
    unknown = np.isnan(tree.spread) & ~alone & (gain[node] != 0)
    if unknown.any():
        first = int(node[np.argmax(unknown)])
        raise TreeError(
            f"Node {first} is {KIND_NAMES[NodeKind(tree.kind[first])]} over several features, "
            "and their spread at the node is not known, so its gain cannot be shared out. Use "
            "measure_spread with the training rows to find it."
        )
    size = _sizes(tree, node)
    spread = _relative(np.where(np.isnan(tree.spread), 1.0, tree.spread), node, tree.n_nodes)
    effect = np.where(alone, 1.0, size * spread)
    # Where nothing moves rows the coefficients decide, and if they are all 0, nobody does.
    for instead in (size, np.ones_like(size)):
        idle = np.bincount(node, weights=effect, minlength=tree.n_nodes)[node] == 0
        effect = np.where(idle, instead, effect)
    return effect


def _sizes(tree: Tree, node: Int64Array) -> FloatArray:
    """Return the sizes of coefficients; those of a linear machine from their mean on."""
    size = _relative(np.abs(tree.coef), node, tree.n_nodes)
    machine = tree.kind[node] == NodeKind.MACHINE
    if not machine.any():
        return size
    coef = np.copysign(size, tree.coef)
    # One group: the coefficients of a column at a node. In planes without the column it is 0.
    _, first, group, n_there = np.unique(
        node * tree.n_features + tree.coef_idx,
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )
    n_planes = np.bincount(tree.node_of_plane, minlength=tree.n_nodes)[node[first]]
    n_zero = n_planes - n_there
    # Counted from the first one, so that equal coefficients are exactly as far as their mean.
    coef -= coef[first][group]
    zero = -np.copysign(size, tree.coef)[first]
    mean = (np.bincount(group, weights=coef) + n_zero * zero) / n_planes
    apart = np.abs(coef - mean[group])
    apart[first] += n_zero * np.abs(zero - mean)
    # Levels that count differently in each plane are columns of their own.
    tables = [table_of(tree, k).tobytes() for k in range(len(coef))]
    other = [tables[k] != tables[first[g]] for k, g in enumerate(group.tolist())]
    alike = np.bincount(group, weights=other)[group] == 0
    return np.where(machine & alike, apart, size)


def _relative(values: FloatArray, node: Int64Array, n_nodes: int) -> FloatArray:
    """Divide by the largest value of the node, so that no product can overflow."""
    largest = np.zeros(n_nodes)
    np.maximum.at(largest, node, values)
    return np.divide(values, largest[node], out=np.zeros_like(values), where=values > 0)
