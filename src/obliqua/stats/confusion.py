"""Measures of a classifier, taken from a confusion matrix; `obliqua.stats.metrics` takes labels.

``matrix[i, j]`` counts the rows of class i that were given class j. The papers pool the test
folds of a cross-validation into one such matrix before they measure anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from obliqua._typing import AnyArray, FloatArray

__all__ = [
    "accuracy",
    "confusion_matrix",
    "f_measures",
    "macro_f",
    "true_negative_rates",
    "true_positive_rates",
]


def confusion_matrix(
    truth: AnyArray,
    predicted: AnyArray,
    classes: Sequence[object] | AnyArray,
    weights: FloatArray | None = None,
) -> AnyArray:
    """Count the rows of each true class (rows) by predicted class (columns)."""
    names = np.asarray(classes)
    order = np.argsort(names)

    def codes(labels: AnyArray) -> AnyArray:
        places = np.searchsorted(names, labels, sorter=order)
        found = order[np.minimum(places, names.size - 1)]
        if not np.array_equal(names[found], labels):
            raise ValueError("some labels are not among the classes; list every class")
        return found

    kind = np.int64 if weights is None else np.float64
    matrix: AnyArray = np.zeros((names.size, names.size), dtype=kind)
    places = codes(np.asarray(truth)), codes(np.asarray(predicted))
    np.add.at(matrix, places, 1 if weights is None else weights)
    return matrix


def accuracy(matrix: AnyArray) -> float:
    """Return the share of the rows that were given their own class."""
    return float(np.trace(matrix) / matrix.sum())


def true_positive_rates(matrix: AnyArray) -> FloatArray:
    """Return, for each class, the share of its rows that were given it."""
    return _ratio(matrix.diagonal(), matrix.sum(axis=1), np.nan)


def true_negative_rates(matrix: AnyArray) -> FloatArray:
    """Return, for each class, the share of the other rows that were not given it."""
    others = matrix.sum() - matrix.sum(axis=1)
    return _ratio(others - matrix.sum(axis=0) + matrix.diagonal(), others, np.nan)


def f_measures(matrix: AnyArray) -> FloatArray:
    """Return, for each class, the harmonic mean of precision and recall."""
    return _ratio(2 * matrix.diagonal(), matrix.sum(axis=1) + matrix.sum(axis=0), 0.0)


def macro_f(matrix: AnyArray) -> float:
    """Return the plain mean of the F-measures of the classes.

    Macro F can also mean the F-measure of the mean precision and the mean recall. The mean of
    the F-measures is what agrees with the tables of the HHCART paper.
    """
    return float(f_measures(matrix).mean())


def _ratio(above: AnyArray, below: AnyArray, where_zero: float) -> FloatArray:
    out = np.full(above.shape, where_zero, dtype=np.float64)
    return np.divide(above, below, out=out, where=below != 0)
