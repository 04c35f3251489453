"""What stands in for missing numbers: means over all rows, exact to the last bit."""

from __future__ import annotations

import math

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array

__all__ = ["column_means"]

_SPLITTER = 2.0**27 + 1.0


def column_means(Z: AnyArray, weights: Int64Array | None) -> FloatArray:
    """Return the mean of the numbers in each column, missing ones left out.

    The sums are rounded once, so neither the order of rows nor a weight of 2 in the place of a
    repeated row changes a mean.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        The rows, NaN where missing, nowhere infinite.
    weights : ndarray of int64, of shape (n_rows,), or None
        Weights of the rows, at most 2**52 together.

    Returns
    -------
    ndarray of float64, of shape (n_features,)
        The means; NaN for a column in which everything is missing.
    """
    return np.array([_mean(column.astype(np.float64), weights) for column in Z.T])


def _mean(values: FloatArray, weights: Int64Array | None) -> float:
    present = ~np.isnan(values)
    if not present.any():
        return math.nan
    values = values[present]
    # With the largest value near 1 no sum overflows, and what is lost below cannot be seen.
    exponent = int(np.frexp(np.abs(values).max())[1])
    values = np.ldexp(values, -exponent)
    if weights is None:
        mean = math.fsum(values.tolist()) / len(values)
    else:
        factors = weights[present].astype(np.float64)
        high = values * factors
        parts = np.concatenate([high, _lost(values, factors, high)])
        mean = math.fsum(parts.tolist()) / float(factors.sum())
    # Two roundings could lead out of the range of the values: 0.1 must be the mean of 0.1.
    return math.ldexp(min(max(mean, float(values.min())), float(values.max())), exponent)


def _lost(a: FloatArray, b: FloatArray, product: FloatArray) -> FloatArray:
    """Return what rounding has taken from products (Dekker's and Veltkamp's sums)."""
    a_high, b_high = _upper_half(a), _upper_half(b)
    a_low, b_low = a - a_high, b - b_high
    error: FloatArray = a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )
    return error


def _upper_half(a: FloatArray) -> FloatArray:
    big = _SPLITTER * a
    upper: FloatArray = big - (big - a)
    return upper
