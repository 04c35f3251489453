"""How good a model is on rows, as plain numbers that a page can hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.stats.metrics import accuracy_of, positive_rates_of

# Of a calibration curve.
MOST_BINS = 10
# Shares that differ by less are the same share, added up in another order.
DECIMALS = 12
# Of predicted beside true numbers, and of residuals. They are odd, so that 0 is inside a bin.
GRID_BINS, RESIDUAL_BINS = 25, 31
# Residuals beyond this many times what 99 % of them keep to share the last bin.
REACH = 1.5


def class_measures(
    codes: AnyArray, shares: FloatArray, chosen: AnyArray, n_classes: int
) -> dict[str, Any]:
    """Measure chosen classes, and the shares that were said of all, beside the true classes."""
    codes, chosen = np.asarray(codes, dtype=np.int64), np.asarray(chosen, dtype=np.int64)
    if not len(codes):
        raise ValueError("There are no rows to measure; give at least one row with its class.")
    pairs = np.bincount(codes * n_classes + chosen, minlength=n_classes**2)
    matrix = pairs.reshape(n_classes, n_classes)
    recall = positive_rates_of(matrix)
    precision = positive_rates_of(matrix.T)
    occurring = matrix.sum(axis=1) + matrix.sum(axis=0)
    f = np.full(n_classes, np.nan)
    np.divide(2 * matrix.diagonal(), occurring, out=f, where=occurring > 0)
    own = np.asarray(shares, dtype=np.float64)[np.arange(len(codes)), codes]
    # As in scikit-learn, a share of 0 counts as the least step above it.
    loss = -np.log(np.clip(own, np.finfo(np.float64).eps, 1.0))
    facts = zip(matrix.sum(axis=1).tolist(), recall, precision, f, strict=True)
    return {
        "accuracy": accuracy_of(matrix),
        "balanced": float(np.nanmean(recall)),
        "macroF": float(np.nanmean(f)),
        "logLoss": float(loss.mean()),
        "zeroShares": int((own <= 0.0).sum()),
        "matrix": matrix.tolist(),
        "classes": [
            {"n": n, "recall": known(r), "precision": known(p), "f": known(both)}
            for n, r, p, both in facts
        ],
        "calibration": [_calibration(shares[:, k], codes == k) for k in range(n_classes)],
    }


def known(value: float) -> float | None:
    """Return a number that JSON can hold; None for any other."""
    return float(value) if math.isfinite(value) else None


def _calibration(said: FloatArray, true: BoolArray) -> list[dict[str, Any]]:
    """Count how often a class was there among rows of which about the same share was said."""
    steps, step = np.unique(np.round(said, DECIMALS), return_inverse=True)
    place = np.arange(len(steps))
    if len(steps) > MOST_BINS:
        # All rows of a step go where its middle row goes.
        counts = np.bincount(step)
        middle = np.cumsum(counts) - counts / 2.0
        place = (MOST_BINS * middle / len(said)).astype(np.int64)
    bins = np.unique(place[step], return_inverse=True)[1]
    n = np.bincount(bins)
    means, seen = np.bincount(bins, weights=said) / n, np.bincount(bins, weights=true) / n
    rows = zip(means.tolist(), seen.tolist(), n.tolist(), strict=True)
    return [{"said": mean, "seen": share, "n": k} for mean, share, k in rows]


def number_measures(
    names: Sequence[str], true: FloatArray, said: FloatArray
) -> list[dict[str, Any]]:
    """Measure the numbers that were said of rows beside the true ones, for each output."""
    if not len(true):
        raise ValueError("There are no rows to measure; give at least one row with its numbers.")
    columns = [np.asarray(y, dtype=np.float64).reshape(len(true), -1).T for y in (true, said)]
    return [_of_output(name, y, f) for name, y, f in zip(names, *columns, strict=True)]


def _of_output(name: str, true: FloatArray, said: FloatArray) -> dict[str, Any]:
    """Measure one output; in a unit in which no square is too large or too small."""
    largest = float(max(np.abs(true).max(), np.abs(said).max()))
    unit = math.ldexp(1.0, min(math.frexp(largest)[1], 1020)) if largest > 0 else 1.0
    true, said = true / unit, said / unit
    residual = true - said
    error, spread = float(np.mean(residual**2)), float(np.var(true))
    varies = spread > 0.0 and bool((true != true[0]).any())
    low, high = _ends(min(true.min(), said.min()), max(true.max(), said.max()))
    x, y = (_place(values, low, high, GRID_BINS) for values in (said, true))
    cells, counts = np.unique(x * GRID_BINS + y, return_counts=True)
    far = _reach(np.abs(residual))
    bins = _place(residual, -far, far, RESIDUAL_BINS)
    return {
        "name": str(name),
        "r2": known(1.0 - error / spread) if varies else None,
        "rmse": _scaled(math.sqrt(error), unit),
        "mae": _scaled(float(np.abs(residual).mean()), unit),
        "bias": _scaled(float(residual.mean()), unit),
        "low": _scaled(low, unit),
        "high": _scaled(high, unit),
        "bins": GRID_BINS,
        "cells": [
            [*divmod(cell, GRID_BINS), n]
            for cell, n in zip(cells.tolist(), counts.tolist(), strict=True)
        ],
        "residualLow": _scaled(-far, unit),
        "residualHigh": _scaled(far, unit),
        "residuals": np.bincount(bins, minlength=RESIDUAL_BINS).tolist(),
    }


def _scaled(value: float, unit: float) -> float:
    """Return a number in the unit of the output: the largest there is, if it is beyond."""
    largest = float(np.finfo(np.float64).max)
    return min(max(float(value) * unit, -largest), largest)


def _ends(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a scale: around the only number if there is one."""
    return (low, high) if low < high else (low - (abs(low) or 1.0), high + (abs(high) or 1.0))


def _reach(size: FloatArray) -> float:
    """Return how far a scale of residuals goes to each side."""
    largest, most = float(size.max()), float(np.quantile(size, 0.99))
    return (min(largest, REACH * most) if most > 0 else largest) or 1.0


def _place(values: FloatArray, low: float, high: float, bins: int) -> Int64Array:
    """Return the bin of each value; those beyond the ends are in the last ones."""
    place = np.floor((values - low) / (high - low) * bins)
    return np.clip(place, 0, bins - 1).astype(np.int64)
