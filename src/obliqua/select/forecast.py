"""How long fits will take: each estimator is timed on two small samples of the rows.

The samples have a sixteenth and a quarter of the rows of a fit. What a quarter takes longer than a
sixteenth says how time grows. All of it takes a few hundredths of a cross-validation in ten folds.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from math import isnan, log2, nan
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from obliqua._sklearn_compat import safe_indexing
from obliqua._typing import AnyArray, Int64Array
from obliqua.errors import CostWarning
from obliqua.estimators._warnings import warn

__all__ = ["MOST_SECONDS", "forecast", "time_in_words", "too_slow", "warn_of_time"]

#: What is not asked for by name is left out if all its fits take longer.
MOST_SECONDS = 1800.0
#: Of smaller tables the first fold tells it as soon: rows times columns.
FEWEST_CELLS = 4_000
LONG = 20.0  # seconds that a work may take without a word
SHARES = (16, 4)  # of the rows of a fit
FEWEST_ROWS = 10  # of a sample
PATIENCE = 20.0  # seconds that the larger sample may take, if time grows with the rows
GROWTH = (0.5, 3.0)  # time grows with at least, and at most, this power of the rows
USUAL_GROWTH = 1.5  # where it is not known


def forecast(
    estimators: Mapping[str, Any], X: Any, truth: AnyArray, n_folds: int, seed: int
) -> dict[str, float]:
    """Return about how many seconds a fit in a fold takes; nothing of small tables.

    What cannot be fitted to a sample takes NaN: nobody knows.
    """
    n_rows, n_columns = np.shape(X)
    n_fit = n_rows * (n_folds - 1) // n_folds
    if n_rows * n_columns < FEWEST_CELLS or n_fit < SHARES[0] * FEWEST_ROWS:
        return {}
    order = np.random.default_rng(seed).permutation(n_rows)
    return {
        name: _seconds(partial(_time, estimator, X, truth), order, n_fit)
        for name, estimator in estimators.items()
    }


def _seconds(timed: Callable[[Int64Array], float], order: Int64Array, n_fit: int) -> float:
    """Time samples, and say what the fit of so many rows will take; an estimator may know it."""
    try:
        return _extrapolated(timed, order, n_fit)
    except CostWarning as cost:
        return cost.seconds


def _extrapolated(timed: Callable[[Int64Array], float], order: Int64Array, n_fit: int) -> float:
    few, more = (np.sort(order[: n_fit // share]) for share in SHARES)
    first = timed(few)
    ratio = len(more) / len(few)
    if isnan(first) or first * ratio > PATIENCE:
        return first * (n_fit / len(few)) ** USUAL_GROWTH
    second = timed(more)
    if isnan(second):
        return first * (n_fit / len(few)) ** USUAL_GROWTH
    least, most = GROWTH
    power = min(max(log2(second / first) / log2(ratio), least), most)
    return second * (n_fit / len(more)) ** power


def _time(estimator: Any, X: Any, truth: AnyArray, rows: Int64Array) -> float:
    model = clone(estimator)
    some, labels = safe_indexing(X, rows), truth[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", CostWarning)
        start, spent = time.perf_counter(), _spent()
        try:
            model.fit(some, labels)
        except CostWarning:
            raise
        except Exception:  # whatever is wrong with a sample, the fit itself will tell
            return nan
        # The one counts what other programs do meanwhile, the other all threads; but a fit that
        # mostly waits takes as long as it takes.
        wall, worked = time.perf_counter() - start, _spent() - spent
        return max(min(wall, worked) if worked > wall / 10 else wall, 1e-6)


def _spent() -> float:
    """Return the seconds that this process and those that it started have worked."""
    return sum(os.times()[:4])


def too_slow(
    seconds: Mapping[str, float], fits: Mapping[str, int], most: float, anyway: str
) -> dict[str, str]:
    """Return what takes longer than that, by name, with a note; `anyway` says how to have it."""
    return {
        name: f"{name!r} is left out: its {fits[name]:,} fits would take about "
        f"{time_in_words(one * fits[name])}; {anyway}."
        for name, one in seconds.items()
        if one * fits[name] > most
    }


def warn_of_time(seconds: Mapping[str, float], fits: Mapping[str, int], jobs: int | None) -> None:
    """Say how long it will take, if that is long, and what takes most of it."""
    each: dict[str, float] = {}
    for name, one in seconds.items():
        if not isnan(one):
            method = name.partition("@")[0]  # of trees of given sizes, refined@8
            each[method] = each.get(method, 0.0) + one * fits[name]
    total = sum(each.values())
    n_fits = sum(fits[name] for name in seconds)
    elapsed = total / min(effective_n_jobs(jobs), max(n_fits, 1))
    if elapsed < LONG:
        return
    slowest = sorted(each, key=lambda name: -each[name])[:3]
    named = [f"{name} {100 * each[name] / total:.0f} %" for name in slowest]
    text = (
        f"{n_fits:,} fits will take about {time_in_words(elapsed)}, as fits of a part of the rows "
        f"tell ({', '.join(named)}). Fewer methods, folds or rows take less, and so do more jobs; "
        "Ctrl-C keeps what is known by then."
    )
    warn(CostWarning(text, elapsed))


def time_in_words(seconds: float) -> str:
    """Write a time as a person says it."""
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}s"
    return f"{seconds:.0f} seconds"
