"""The first direction of a transformation from a linear classifier of scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from obliqua._typing import FloatArray, Int32Array

__all__ = ["BY_NAME", "first_direction"]

BY_NAME = ("mean", "logistic", "svm")


def first_direction(
    given: Any,
) -> Callable[[FloatArray, Int32Array, FloatArray | None], FloatArray] | None:
    """Return what finds the first direction; None for the difference of the means."""
    if isinstance(given, str):
        return None if given == "mean" else lambda Z, y, w: _standard(_named(given), Z, y, w)
    if isinstance(given, type) or not (hasattr(given, "fit") and hasattr(given, "get_params")):
        got = f"the class {given.__name__} itself" if isinstance(given, type) else repr(given)
        raise TypeError(
            f"first_direction must be one of {', '.join(map(repr, BY_NAME))}, or a linear "
            f"classifier of scikit-learn such as LinearSVC(); got {got:.100}."
        )
    return lambda Z, y, w: _coefficients(clone(given), Z, y, w)


def _named(name: str) -> Any:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=10_000)
    from sklearn.svm import LinearSVC

    return LinearSVC(dual=False, max_iter=100_000)


def _standard(
    classifier: Any, Z: FloatArray, y: Int32Array, weights: FloatArray | None
) -> FloatArray:
    """Fit to standardised features: how much is penalised does not depend on units."""
    # In units near the largest value, squares of huge values are finite.
    largest = np.abs(Z).max(axis=0)
    exponent = np.frexp(np.where(largest > 0, largest, largest.max()))[1]
    Z = np.ldexp(Z, -exponent)
    middle = np.average(Z, axis=0, weights=weights)
    width = np.sqrt(np.average((Z - middle) ** 2, axis=0, weights=weights))
    # The mean of equal values may be another number, by rounding.
    width[(width == 0) | (np.ptp(Z, axis=0) == 0)] = 1.0
    if weights is not None:  # the penalty does not depend on the unit of the weights
        weights = weights / weights.mean()
    normal = _coefficients(classifier, (Z - middle) / width, y, weights) / width
    with np.errstate(under="ignore"):
        return np.asarray(np.ldexp(normal, exponent.min() - exponent))


def _coefficients(
    classifier: Any, Z: FloatArray, y: Int32Array, weights: FloatArray | None
) -> FloatArray:
    """Fit a classifier to two classes and return its normal."""
    name = type(classifier).__name__
    if weights is not None and not has_fit_parameter(classifier, "sample_weight"):
        raise ValueError(
            f"first_direction={name}() takes no sample_weight, and the rows have weights "
            "(sample_weight, class_weight or priors). Take a classifier that does, such as "
            "LogisticRegression(), or leave the weights out."
        )
    classifier.fit(Z, y, **({} if weights is None else {"sample_weight": weights}))
    coef = getattr(classifier, "coef_", None)
    if coef is None:
        raise ValueError(
            f"first_direction={name}() has no coef_ after fit, so it gives no direction. Take a "
            "linear classifier, such as LogisticRegression() or LinearSVC(), with a linear "
            "kernel if it has one."
            + (" Of a pipeline, give the last step." if hasattr(classifier, "steps") else "")
        )
    normal = np.asarray(getattr(coef, "toarray", lambda: coef)(), dtype=np.float64).ravel()
    if normal.shape != (Z.shape[1],) or not np.isfinite(normal).all():
        what = "" if np.isfinite(normal).all() else ", and not all are finite"
        raise ValueError(
            f"first_direction={name}() must have one finite coefficient per column of numbers, "
            f"{Z.shape[1]}, in coef_; got shape {np.shape(coef)}{what}."
        )
    return normal
