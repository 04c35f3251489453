"""Columns that are not plain numbers: codes of levels, and numbers some of which are missing.

Their numbers differ from node to node, so they cannot be sorted once for the whole tree.
"""

from __future__ import annotations

import numpy as np

from obliqua._typing import BoolArray, Int32Array
from obliqua.data import Problem

__all__ = ["is_odd", "odd_columns"]


def is_odd(problem: Problem) -> BoolArray:
    """Return whether each column is qualitative or has missing values."""
    odd = np.zeros(problem.n_features, dtype=bool)
    if problem.n_levels is not None:
        odd |= np.asarray(problem.n_levels) > 0
    if problem.has_missing is not None:
        odd |= np.asarray(problem.has_missing, dtype=bool)
    return odd


def odd_columns(problem: Problem) -> Int32Array:
    """Return the numbers of the odd columns."""
    return np.flatnonzero(is_odd(problem)).astype(np.int32)

