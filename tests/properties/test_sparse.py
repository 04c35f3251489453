"""Sparse rows give the very trees that the same rows give as a matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from obliqua import (
    CartClassifier,
    CartRegressor,
    HHCartClassifier,
    ObliqueForestClassifier,
    ObliqueForestRegressor,
)
from obliqua._core.base.rng import row_hashes
from obliqua._core.base.spread import column_means
from obliqua.data.sparse_rows import SparseRows, hashes_of, means_of
from problems import COLUMNS, ORDINARY, WEIGHTS, examples

seeds = st.integers(0, 2**32 - 1)
FORMATS = (sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.csc_matrix)
CRITERIA = ("twoing", "gini", "entropy", "gain_ratio", "max_minority", "sum_variances")
NUMBERS = ("squared_error", "absolute_error", "poisson")


def table(rng: np.random.Generator, missing: bool = True) -> np.ndarray:
    """Rows with zeros, ties, duplicates, constant columns, both signs, and odd numbers."""
    n, p = int(rng.integers(4, 70)), int(rng.integers(1, 12))
    kinds = COLUMNS if rng.random() < 0.3 else ORDINARY
    dtype = np.dtype(rng.choice(["f4", "f8"]))
    X = np.empty((n, p), dtype=dtype)
    for j in range(p):
        if rng.random() < 0.5:
            X[:, j] = rng.integers(-2, 4, n)
        else:
            X[:, j] = kinds[rng.integers(len(kinds))](rng.integers(0, 65, n), dtype)
    X[rng.random((n, p)) >= rng.choice([0.1, 0.4, 0.8, 1.0], p)] = 0
    if missing:
        X[rng.random((n, p)) < rng.choice([0.0, 0.0, 0.2], p)] = np.nan
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2]
    return X


def as_sparse(rng: np.random.Generator, X: np.ndarray) -> Any:
    """The same rows: in any format, or with zeros that are stored, doublets, and out of order."""
    if rng.random() < 0.5:
        return FORMATS[rng.integers(len(FORMATS))](X)
    there = sparse.coo_array(X)
    # Halves are exact, but for the least of numbers: those go in one piece, beside a 0.
    half = np.where(np.abs(there.data) < 1e-30, 0, there.data / 2).astype(X.dtype)
    row, column = np.tile(there.coords[0], 2), np.tile(there.coords[1], 2)
    order = rng.permutation(len(row))
    order = order[np.argsort(row[order], kind="stable")]
    parts = np.concatenate([half, there.data - half])[order], column[order]
    index = np.int32 if rng.random() < 0.5 else np.int64
    ptr = np.searchsorted(row[order], np.arange(len(X) + 1)).astype(index)
    found = sparse.csr_array((parts[0], parts[1].astype(index), ptr), shape=X.shape)
    return found if rng.random() < 0.5 else found.tocsc()


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    if rng.random() < 0.5:
        return None
    found = rng.choice(WEIGHTS[str(rng.choice(list(WEIGHTS)))], n)
    found[:2] = 1.0
    return found


def classes(rng: np.random.Generator, n: int) -> np.ndarray:
    y = rng.integers(0, rng.integers(2, 6), n)
    y[:2] = 0, 1
    return y


def limits(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "min_samples_leaf": int(rng.choice([1, 1, 3])),
        "max_leaf_nodes": [None, None, 5][rng.integers(3)],
        "random_state": int(rng.integers(100)),
    }


def fitted(model: Any, X: Any, S: Any, y: np.ndarray, weight: np.ndarray | None) -> list[Any]:
    """The model fitted to the rows as a matrix, and as sparse ones; both say the same of both."""
    dense, thin = (clone(model).fit(rows, y, weight) for rows in (X, S))
    np.testing.assert_array_equal(dense.apply(X), thin.apply(S))
    np.testing.assert_array_equal(dense.predict(S), thin.predict(X))
    return [dense, thin]


@given(seeds)
@examples(400)
def test_trees_of_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = CartClassifier(
        criterion=str(rng.choice(CRITERIA)),
        pruning=[None, "holdout", "cv", "pessimistic"][rng.integers(4)],
        zero_gain_splits=bool(rng.random() < 0.5),
        max_features=[None, None, 1, 0.5][rng.integers(4)],
        n_folds=2,
        **limits(rng),
    )
    y, weight = classes(rng, len(X)), weights(rng, len(X))
    dense, thin = fitted(model, X, as_sparse(rng, X), y, weight)
    assert dense.tree_ == thin.tree_


@given(seeds)
@examples(400)
def test_trees_of_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = CartRegressor(
        criterion=str(rng.choice(NUMBERS)),
        pruning=[None, "holdout"][rng.integers(2)],
        max_features=[None, None, 1, 0.5][rng.integers(4)],
        quantiles=[0.5],
        **limits(rng),
    )
    y = np.abs(rng.normal(size=(len(X), int(rng.integers(1, 3)))).round(int(rng.integers(4))))
    y[0] = 1.0
    dense, thin = fitted(model, X, as_sparse(rng, X), y, weights(rng, len(X)))
    assert dense.tree_ == thin.tree_
    np.testing.assert_array_equal(dense.predict_quantiles(X), thin.predict_quantiles(X))


@given(seeds)
@examples(200)
def test_oblique_trees_of_drawn_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng, missing=False)
    model = HHCartClassifier(
        variant=str(rng.choice(["all", "dominant"])),
        extra_directions=[None, "fisher", "discriminants"][rng.integers(3)],
        max_features=[1, 3, "sqrt", 1.0][rng.integers(4)],
        max_features_per_split=[None, 2][rng.integers(2)],
        pruning=None,
        **limits(rng),
    )
    y, weight = classes(rng, len(X)), weights(rng, len(X))
    dense, thin = fitted(model, X, as_sparse(rng, X), y, weight)
    assert dense.tree_ == thin.tree_


@pytest.mark.filterwarnings("ignore:Of .* were drawn for every tree")
@pytest.mark.filterwarnings("ignore:R.2 score is not well-defined")
@given(seeds, st.booleans())
@examples(400)
def test_forests(seed: int, numbers: bool) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    bootstrap = bool(rng.random() < 0.6)
    settings: dict[str, Any] = {
        "n_estimators": 3,
        "bootstrap": bootstrap,
        "oob_score": bootstrap,
        "max_features": [None, "sqrt", 0.5, 2][rng.integers(4)],
        "n_oblique": int(rng.integers(0, 4)),
        **limits(rng),
    }
    model: Any
    if numbers:
        model = ObliqueForestRegressor(**settings, keep_rows=True)
        y: Any = rng.normal(size=(len(X), int(rng.integers(1, 3))))
    else:
        kinds = (None, "balanced", "balanced_subsample")
        criterion = str(rng.choice(["gini", "entropy"]))
        weighed = kinds[rng.integers(3)]
        model = ObliqueForestClassifier(**settings, criterion=criterion, class_weight=weighed)
        y = classes(rng, len(X))
    dense, thin = fitted(model, X, as_sparse(rng, X), y, weights(rng, len(X)))
    assert dense.model_.trees == thin.model_.trees
    if bootstrap:
        np.testing.assert_array_equal(dense.oob_score_, thin.oob_score_)
    if numbers:
        shares = [0.25, 0.5]
        np.testing.assert_array_equal(
            dense.predict_quantiles(X, shares), thin.predict_quantiles(as_sparse(rng, X), shares)
        )


@given(seeds)
@examples(200)
def test_hashes_and_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    rows, labels = SparseRows(as_sparse(rng, X)), rng.integers(0, 3, len(X))
    np.testing.assert_array_equal(hashes_of(rows, labels, 7), row_hashes(X, labels, 7))
    weight = None if rng.random() < 0.5 else rng.integers(1, 2**40, len(X)).astype(float)
    np.testing.assert_array_equal(means_of(rows, weight), column_means(X, weight))


@given(seeds)
@examples(100)
def test_blocks_are_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    rows = SparseRows(as_sparse(rng, X))
    np.testing.assert_array_equal(rows.walked(np.copy), X)
    some = rng.integers(0, len(X), 5)
    np.testing.assert_array_equal(rows[some].walked(np.copy), X[some])
    columns = rng.permutation(X.shape[1])
    np.testing.assert_array_equal(rows.dense(columns), X[:, columns])
