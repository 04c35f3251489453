"""The measures of the papers, as functions of true and predicted labels.

Accuracy and the like are in `sklearn.metrics`; here is what the papers report beside it, by class.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels

from obliqua._sklearn_compat import check_sample_weight
from obliqua._typing import AnyArray, FloatArray
from obliqua.stats import confusion as _confusion

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
        The classes to report, in this order; all that occur, sorted, if there are none. Rows of
        other classes count all the same.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Returns
    -------
    ndarray of shape (n_labels,)
        The shares; NaN for a class without rows.

    See Also
    --------
    true_negative_rates : The share of the other rows that were not given a class.

    Examples
    --------
    >>> from obliqua.stats import true_positive_rates
    >>> true_positive_rates(["a", "a", "a", "a", "b"], ["a", "a", "a", "b", "b"])
    array([0.75, 1.  ])
    """
    return _by_class(_confusion.true_positive_rates, y_true, y_pred, labels, sample_weight)


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
        The classes to report, in this order; all that occur, sorted, if there are none. Rows of
        other classes count all the same.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, finite and not negative.

    Returns
    -------
    ndarray of shape (n_labels,)
        The shares; NaN if there are no other rows.

    See Also
    --------
    true_positive_rates : The share of the rows of a class that were given it.

    Examples
    --------
    >>> from obliqua.stats import true_negative_rates
    >>> true_negative_rates(["a", "a", "a", "a", "b"], ["a", "a", "a", "b", "b"])
    array([1.  , 0.75])
    """
    return _by_class(_confusion.true_negative_rates, y_true, y_pred, labels, sample_weight)


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
        The classes to report, in this order; all that occur, sorted, if there are none. Rows of
        other classes count all the same.
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
    return _by_class(_confusion.f_measures, y_true, y_pred, labels, sample_weight)


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

    Returns
    -------
    float
        The mean.

    Examples
    --------
    >>> from obliqua.stats import macro_f
    >>> round(macro_f(["a", "a", "a", "b"], ["a", "a", "b", "b"]), 3)
    0.733
    """
    return float(f_measures(y_true, y_pred, labels=labels, sample_weight=sample_weight).mean())


def _by_class(
    measure: Callable[[AnyArray], FloatArray],
    y_true: ArrayLike,
    y_pred: ArrayLike,
    labels: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> FloatArray:
    """Count, measure, and report the classes that are asked for."""
    truth = _column(y_true, "y_true")
    predicted = _column(y_pred, "y_pred")
    check_consistent_length(truth, predicted)
    if len(truth) == 0:
        raise ValueError("There are no rows to measure; y_true and y_pred are empty.")
    wanted = unique_labels(truth, predicted) if labels is None else _column(labels, "labels")
    if len(wanted) == 0:
        raise ValueError("labels must name at least one class; got none.")
    classes = unique_labels(truth, predicted, wanted)
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(
            sample_weight, truth, dtype=np.float64, ensure_non_negative=True
        )
    matrix = _confusion.confusion_matrix(truth, predicted, classes, weights)
    return measure(matrix)[np.searchsorted(classes, wanted)]


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
