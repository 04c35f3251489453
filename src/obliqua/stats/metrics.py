"""The measures of the papers: of true and predicted labels, and of a confusion matrix.

Accuracy and the like are in `sklearn.metrics`; here is what the papers report beside it, by class.
They pool the test folds of a cross-validation into one confusion matrix before they measure
anything: ``matrix[i, j]`` counts the rows of class i that were given class j.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix, multilabel_confusion_matrix
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels

from obliqua._sklearn_compat import check_sample_weight
from obliqua._typing import AnyArray, FloatArray, Int64Array

__all__ = ["f_measures", "macro_f", "true_negative_rates", "true_positive_rates"]


def true_positive_rates(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return, for each class, the share of its rows that were given it: its recall.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    labels : array-like of shape (n_labels,), default=None
        The classes to report, in this order; None for all. Rows of others count all the same.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Returns
    -------
    ndarray of shape (n_labels,)
        The shares; NaN for a class without rows.

    Examples
    --------
    >>> from obliqua.stats import true_positive_rates
    >>> true_positive_rates(["a", "a", "a", "a", "b"], ["a", "a", "a", "b", "b"])
    array([0.75, 1.  ])
    """
    counts = _one_against_others(y_true, y_pred, labels, sample_weight)
    return _ratio(counts[:, 1, 1], counts[:, 1].sum(axis=1), np.nan)


def true_negative_rates(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return, for each class, the share of the other rows that were not given it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    labels : array-like of shape (n_labels,), default=None
        The classes to report, in this order; None for all. Rows of others count all the same.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Returns
    -------
    ndarray of shape (n_labels,)
        The shares; NaN if there are no other rows.

    Examples
    --------
    >>> from obliqua.stats import true_negative_rates
    >>> true_negative_rates(["a", "a", "a", "a", "b"], ["a", "a", "a", "b", "b"])
    array([1.  , 0.75])
    """
    counts = _one_against_others(y_true, y_pred, labels, sample_weight)
    return _ratio(counts[:, 0, 0], counts[:, 0].sum(axis=1), np.nan)


def f_measures(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> FloatArray:
    """Return, for each class, the harmonic mean of precision and recall.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    labels : array-like of shape (n_labels,), default=None
        The classes to report, in this order; None for all. Rows of others count all the same.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Returns
    -------
    ndarray of shape (n_labels,)
        The F-measures; 0 for a class that is never predicted.

    Examples
    --------
    >>> from obliqua.stats import f_measures
    >>> f_measures(["a", "a", "a", "b"], ["a", "a", "b", "b"]).round(3)
    array([0.8  , 0.667])
    """
    counts = _one_against_others(y_true, y_pred, labels, sample_weight)
    right = 2 * counts[:, 1, 1]
    return _ratio(right, right + counts[:, 0, 1] + counts[:, 1, 0], 0.0)


def macro_f(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the plain mean of the F-measures of the classes.

    Macro F can also mean the F-measure of the mean precision and the mean recall. The mean of
    the F-measures is what agrees with the tables of the HHCART paper.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true labels.
    y_pred : array-like of shape (n_samples,)
        The predicted labels.
    labels : array-like of shape (n_labels,), default=None
        The classes to average over; all that occur if there are none.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Examples
    --------
    >>> from obliqua.stats import macro_f
    >>> round(macro_f(["a", "a", "a", "b"], ["a", "a", "b", "b"]), 3)
    0.733
    """
    return float(f_measures(y_true, y_pred, labels=labels, sample_weight=sample_weight).mean())


def _one_against_others(
    y_true: ArrayLike, y_pred: ArrayLike, labels: ArrayLike | None, sample_weight: ArrayLike | None
) -> AnyArray:
    """Check labels, and count a matrix of each class against all others."""
    truth = _column(y_true, "y_true")
    predicted = _column(y_pred, "y_pred")
    check_consistent_length(truth, predicted)
    if len(truth) == 0:
        raise ValueError("There are no rows to measure; y_true and y_pred are empty.")
    wanted = unique_labels(truth, predicted) if labels is None else _column(labels, "labels")
    if len(wanted) == 0:
        raise ValueError("labels must name at least one class; got none.")
    unique_labels(truth, predicted, wanted)  # it raises for labels of different kinds
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(
            sample_weight, truth, dtype=np.float64, ensure_non_negative=True
        )
    return multilabel_confusion_matrix(truth, predicted, labels=wanted, sample_weight=weights)


def _column(labels: ArrayLike, name: str) -> AnyArray:
    """Return labels as an array; refuse missing ones."""
    column: AnyArray = np.asarray(column_or_1d(labels))
    if column.dtype.kind == "O":
        missing = np.array([label is None or label != label for label in column.tolist()], bool)
        if missing.any():
            raise ValueError(
                f"{name} has a missing label, {column[missing][0]!r} in row "
                f"{int(missing.argmax())}; leave such rows out, or give them a label of their own."
            )
    return column


def _ratio(above: AnyArray, below: AnyArray, where_zero: float) -> FloatArray:
    out = np.full(above.shape, where_zero, dtype=np.float64)
    return np.divide(above, below, out=out, where=below != 0)


# --- of a confusion matrix ----------------------------------------------------------------------


def pooled_matrix(
    truth: AnyArray, predicted: AnyArray, classes: AnyArray | Sequence[str]
) -> Int64Array:
    """Count the rows of each true class (rows) by predicted class (columns)."""
    # scikit-learn leaves rows with other labels out, without a word.
    if not (np.isin(truth, classes).all() and np.isin(predicted, classes).all()):
        raise ValueError("some labels are not among the classes; list every class")
    return np.asarray(confusion_matrix(truth, predicted, labels=classes), dtype=np.int64)


def accuracy_of(matrix: AnyArray) -> float:
    """Return the share of the rows that were given their own class."""
    return float(np.trace(matrix) / matrix.sum())


def positive_rates_of(matrix: AnyArray) -> FloatArray:
    """Return, for each class, the share of its rows that were given it."""
    return _ratio(matrix.diagonal(), matrix.sum(axis=1), np.nan)


def negative_rates_of(matrix: AnyArray) -> FloatArray:
    """Return, for each class, the share of the other rows that were not given it."""
    others = matrix.sum() - matrix.sum(axis=1)
    return _ratio(others - matrix.sum(axis=0) + matrix.diagonal(), others, np.nan)


def macro_f_of(matrix: AnyArray) -> float:
    """Return the plain mean of the F-measures of the classes, as `macro_f` does."""
    both = matrix.sum(axis=1) + matrix.sum(axis=0)
    return float(_ratio(2 * matrix.diagonal(), both, 0.0).mean())
