"""Trees of scikit-learn as `Tree`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.target import Classes, Numbers
from obliqua.tree.layout import NO_ORIGIN, NodeKind, level_order, pointers, renumber
from obliqua.tree.tree import Tree

__all__ = ["BEYOND", "read_histogram_nodes", "read_nodes", "tree_from_sklearn"]

#: A threshold that no number is above.
BEYOND = 1e300


@runtime_checkable
class Classifier(Protocol):
    """A fitted estimator that knows classes."""

    classes_: Any


@runtime_checkable
class SklearnNodes(Protocol):
    """The nodes of a fitted tree of scikit-learn; a `Tree` of ours does not have all of these."""

    children_left: AnyArray
    children_right: AnyArray
    impurity: FloatArray
    missing_go_to_left: AnyArray
    value: FloatArray
    weighted_n_node_samples: FloatArray


def is_sklearn_tree(estimator: Any) -> bool:
    """Say whether something is a fitted tree of scikit-learn."""
    return isinstance(getattr(estimator, "tree_", None), SklearnNodes)


def tree_from_sklearn(estimator: Any) -> Tree:
    """Read a fitted tree of scikit-learn.

    Every row reaches the leaf that it reaches there. scikit-learn compares numbers of 32 bits with
    a threshold, and `Tree` those of 64 bits, so a threshold becomes the largest number that is
    rounded to one below it.

    Parameters
    ----------
    estimator : DecisionTreeClassifier, DecisionTreeRegressor or one of the extra trees
        The fitted tree: a classifier with one output, or a regressor whose criterion is
        ``"squared_error"`` or ``"friedman_mse"``.

    Returns
    -------
    Tree
        The tree. Its stats are the weights of the classes, or weight, means and squared error. A
        missing value takes the branch that it takes in scikit-learn.

    Raises
    ------
    TypeError
        If it is no such tree of scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from obliqua import tree_from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> fitted = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> tree_from_sklearn(fitted)
    Tree(5 nodes, 3 leaves, depth 2, 4 columns, 3 stats)
    """
    theirs = getattr(estimator, "tree_", None)
    if not isinstance(theirs, SklearnNodes):
        raise TypeError(
            "tree_from_sklearn reads a fitted DecisionTreeClassifier, DecisionTreeRegressor, "
            "ExtraTreeClassifier or ExtraTreeRegressor of scikit-learn; got "
            f"{type(estimator).__name__}."
        )
    value, weight = theirs.value, np.asarray(theirs.weighted_n_node_samples)[:, None]
    if not isinstance(estimator, Classifier):
        _check_means(estimator)
        error = np.asarray(theirs.impurity)[:, None] * weight * value.shape[1]
        stats = np.hstack([weight, value[:, :, 0], np.maximum(error, 0.0)])
        return read_nodes(theirs, stats, Numbers.task)[0]
    if value.shape[1] != 1:
        raise TypeError(
            f"A tree of classes has one output; this one has {value.shape[1]}. Fit one for each."
        )
    return read_nodes(theirs, value[:, 0, :] * weight)[0]


def _check_means(estimator: Any) -> None:
    """Raise if the leaves of a regression tree say something else than means."""
    if estimator.criterion not in ("squared_error", "friedman_mse"):
        raise TypeError(
            "A tree of numbers has means and squared errors in its nodes, as with "
            f"criterion='squared_error'; got one with criterion={estimator.criterion!r}."
        )


def read_nodes(
    theirs: Any, stats: FloatArray, task: str = Classes.task
) -> tuple[Tree, Int64Array]:
    """Read the nodes of a fitted tree of scikit-learn, whatever its values mean."""
    left, right = np.asarray(theirs.children_left), np.asarray(theirs.children_right)
    inner = left >= 0
    cut = _in_64_bits(np.asarray(theirs.threshold)[inner])
    goes_left = np.asarray(theirs.missing_go_to_left, dtype=bool)[inner]
    weight = np.asarray(theirs.weighted_n_node_samples)
    arrays = {
        **_plain_splits(inner, np.asarray(theirs.feature)[inner], cut, goes_left),
        "n_features": int(theirs.n_features),
        "stats": stats,
        "task": task,
        "n_samples": np.asarray(theirs.n_node_samples, dtype=np.int64),
        "gain": _gains(theirs, left, right, weight),
    }
    return _in_order(arrays, inner, left, right)


def _plain_splits(
    inner: BoolArray, feature: AnyArray, cut: FloatArray, goes_left: BoolArray
) -> dict[str, Any]:
    """Return the arrays of nodes that compare one column with a threshold."""
    n_nodes, n_inner = len(inner), len(cut)
    return {
        "kind": np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
        "n_children": np.where(inner, 2, 0).astype(np.int32),
        "plane_ptr": pointers(inner, np.int32),
        "coef_ptr": np.arange(n_inner + 1),
        "coef_idx": feature.astype(np.int32),
        "coef": np.ones(n_inner),
        "fill": np.where(goes_left, cut, np.nextafter(cut, np.inf)),
        "spread": np.full(n_inner, np.nan),
        "table_ptr": np.zeros(n_inner + 1, dtype=np.int64),
        "table": np.zeros(0),
        "threshold": cut,
        "axis_gain": np.full(n_nodes, np.nan),
        "origin": np.full(n_nodes, NO_ORIGIN, dtype=np.int32),
        "origin_labels": (),
    }


def _in_order(
    arrays: dict[str, Any], inner: BoolArray, left: AnyArray, right: AnyArray
) -> tuple[Tree, Int64Array]:
    children = np.stack([left[inner], right[inner]], axis=1).ravel()
    order = level_order(pointers(arrays["n_children"]), children)
    return Tree.from_arrays(renumber(arrays, order)), order


def read_histogram_nodes(predictor: Any, n_levels: Int64Array) -> tuple[Tree, FloatArray]:
    """Read a fitted tree of scikit-learn's boosting with histograms."""
    nodes = predictor.nodes
    inner = ~nodes["is_leaf"].astype(bool)
    splits = nodes[inner]
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    goes_left = splits["missing_go_to_left"].astype(bool)
    threshold = splits["num_threshold"].astype(np.float64)
    sets = splits["is_categorical"].astype(bool)
    cut = np.where(sets, 0.0, np.clip(threshold, -BEYOND, BEYOND))
    arrays = _plain_splits(inner, splits["feature_idx"], cut, goes_left)
    lengths = np.where(sets, n_levels[splits["feature_idx"]], 0)
    if sets.any():
        arrays["kind"][np.flatnonzero(inner)[sets]] = NodeKind.LEVELS
        to = np.where(goes_left, 0.0, 1.0)
        arrays["threshold"] = np.where(sets, to, cut)
        arrays["fill"] = np.where(sets, to, arrays["fill"])
        arrays["table_ptr"] = pointers(lengths)
        bits = np.unpackbits(
            np.ascontiguousarray(predictor.raw_left_cat_bitsets, dtype="<u4").view(np.uint8),
            axis=1,
            bitorder="little",
        )
        rows = zip(splits["bitset_idx"][sets].tolist(), lengths[sets].tolist(), strict=True)
        arrays["table"] = np.concatenate([1.0 - bits[row, :n] for row, n in rows])
    arrays["n_features"] = len(n_levels)
    arrays["stats"] = nodes["count"].astype(np.float64)[:, None]
    arrays["n_samples"] = nodes["count"].astype(np.int64)
    arrays["gain"] = np.where(inner, nodes["gain"], 0.0)
    tree, order = _in_order(arrays, inner, left, right)
    return tree, nodes["value"].astype(np.float64)[order]


def _in_64_bits(threshold: FloatArray) -> FloatArray:
    """Return the largest numbers that are, rounded to 32 bits, at most a threshold."""
    # Where only missing values go right, the threshold is infinite, which ours cannot be.
    everything = np.isinf(threshold)
    return np.where(everything, BEYOND, _rounding_down(np.where(everything, 0.0, threshold)))


def _rounding_down(threshold: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        low = threshold.astype(np.float32)
        low = np.where(low > threshold, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf)).astype(np.float64)
    below = low.astype(np.float64)
    middle = np.where(np.isfinite(high), below + (high - below) / 2, below)
    with np.errstate(over="ignore"):
        return np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf))


def _gains(theirs: Any, left: AnyArray, right: AnyArray, weight: FloatArray) -> FloatArray:
    """Return the decrease of impurity of each split, as a share of the whole."""
    inner = left >= 0
    gain = np.zeros(len(left))
    with np.errstate(over="ignore", invalid="ignore"):
        impurity = np.asarray(theirs.impurity) * weight
        lost = impurity[inner] - impurity[left[inner]] - impurity[right[inner]]
    gain[inner] = lost / weight[0] if weight[0] > 0 else 0.0
    # Squares of huge targets are infinite.
    return np.where(np.isfinite(gain), gain, 0.0)
