"""`gram`: exact inner products of the trees of any axis-parallel ensemble."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.spectrum._packed import Packed, check_values, packed
from obliqua.spectrum.ensembles import BLOCK, TreeSum, tree_sum_of
from obliqua.spectrum.measures import (
    EMPIRICAL,
    UNIFORM,
    Measure,
    check_name,
    measure_of,
    rows_for,
)

__all__ = ["gram"]


def gram(
    ensemble: Any,
    measure: str | Measure = UNIFORM,
    X: Any = None,
    *,
    values: str = "auto",
    n_threads: int = 1,
) -> FloatArray:
    """Find the inner products of the trees of an ensemble, as functions.

    The inner product of two trees is the mean of the product of what they say, added up over
    their outputs (classes).

    Parameters
    ----------
    ensemble : estimator, Model, Tree, sequence of Tree or TreeSum
        A fitted forest, bagging, AdaBoost or boosting of scikit-learn, an estimator of obliqua, or
        trees; see `tree_sum_of`.
    measure : {"uniform", "marginals", "empirical"} or Measure, default="uniform"
        Over which points the mean is taken. ``"uniform"``: the cells of the grid that all
        thresholds of the ensemble make, each cell counting the same; levels of a qualitative
        column count the same, and nothing is missing. ``"marginals"``: each column is distributed
        as in `X`, missing values included, and independent of the others. ``"empirical"``: the
        rows of `X`.
    X : array-like of shape (n_rows, n_features), default=None
        The rows, for the last two.
    values : {"auto", "votes", "shares"}, default="auto"
        What a tree that classifies says: see `tree_sum_of`. Forests and bagging say shares of
        classes, AdaBoost votes, trees of boosting the values of their leaves times the learning
        rate. The weights of the trees in the ensemble are no part of it.
    n_threads : int, default=1
        How many threads may share the work. The result is the same to the bit for any number,
        but for ``"empirical"``, where it is up to the library that multiplies matrices.

    Returns
    -------
    ndarray of shape (n_trees, n_trees)
        The inner products: symmetric, positive semi-definite but for rounding.

    Raises
    ------
    TreeError
        If a split asks about several columns, but for ``"empirical"``, which takes any tree.

    See Also
    --------
    obliqua.spectrum.diagnose : What these numbers say of the ensemble.

    Notes
    -----
    Nothing is sampled and no domain is enumerated: two trees are walked down together, and the box
    of points that reach a pair of nodes is divided at each split. In the worst case that takes
    a step per pair of leaves that overlap, and there is no step below nodes about whose
    features the other tree has nothing to say. The memory is about 150 bytes and 16 per
    output for each node of the ensemble, 8 for each threshold, and 8 for each pair of trees;
    ``"empirical"`` holds at most ``2**22`` numbers at a time beside the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier
    >>> from obliqua.spectrum import gram
    >>> X, y = load_iris(return_X_y=True)
    >>> grown = CartClassifier(pruning=None)
    >>> trees = [grown.set_params(max_depth=d).fit(X, y).tree_ for d in (1, 2, 3)]
    >>> gram(trees).round(3)
    array([[0.625, 0.625, 0.625],
           [0.625, 0.921, 0.845],
           [0.625, 0.845, 0.879]])
    >>> gram(trees, "empirical", X).round(3)
    array([[0.667, 0.667, 0.667],
           [0.667, 0.926, 0.926],
           [0.667, 0.926, 0.96 ]])
    """
    trees = tree_sum_of(ensemble, values)
    n_threads = checked_count("n_threads", n_threads)
    if not isinstance(measure, Measure):
        check_name(measure)
        if measure == EMPIRICAL:
            covariance, means = empirical_moments(trees, rows_for(trees, measure, X), n_threads)
            return np.asarray(covariance + means @ means.T)
    return gram_of_boxes(packed(trees, measure_of(trees, measure, X)), n_threads)


def checked_flag(name: str, given: Any) -> bool:
    """Return a flag; raise if it is none."""
    if not isinstance(given, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {given!r}.")
    return bool(given)


def checked_count(name: str, given: Any) -> int:
    """Return a number of things; raise if it is none."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise ValueError(f"{name} must be a whole number of at least 1; got {given!r}.")
    return int(given)


def empirical_moments(
    trees: TreeSum, Z: AnyArray, n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return the covariances of the trees over rows, and the mean of each tree over them."""
    if len(Z) == 0:
        raise ValueError("measure='empirical' needs at least one row; got none.")
    check_values(trees)
    n, n_outputs = trees.n_trees, trees.n_outputs
    # What is said of the first row is taken from all, so that a large mean costs no digits.
    first = trees.tree_values(Z[:1])[0]
    total, sums = np.zeros((n, n)), np.zeros((n, n_outputs))
    step = max(1, BLOCK // (n * n_outputs))
    for start in range(0, len(Z), step):
        part = trees.tree_values(Z[start : start + step], n_threads) - first
        sums += part.sum(axis=0).T
        flat = part.reshape(-1, n)
        total += flat.T @ flat
    means = sums / len(Z)
    total /= len(Z)
    return (total + total.T) / 2 - means @ means.T, means + first.T


def gram_of_boxes(
    trees: Packed, n_threads: int = 1, feature: int = -1, apart: bool = False
) -> FloatArray:
    """Return the inner products of packed trees; each is found by one thread."""
    n = len(trees.roots) - 1
    found = np.empty((n, n))

    def row(i: int) -> None:
        others = np.arange(i, n)
        products = np.empty(len(others))
        first = np.full(len(others), i)
        trees.forest.products(trees.value, first, others, products, feature, apart)
        found[i, i:] = products
        found[i:, i] = products

    if n_threads == 1:
        for i in range(n):
            row(i)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(row, range(n)))
    return found
