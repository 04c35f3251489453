"""A function at many points: each different one once, some at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from obliqua._typing import FloatArray, Int64Array

_BLOCK = 2**22  # so many terms of sums are held at a time


def at_points(
    rows: Int64Array, n_terms: int, n_outputs: int, of_block: Callable[[Int64Array], FloatArray]
) -> FloatArray:
    """Return the values of a sum of terms at points, of shape (n_rows, n_outputs)."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    result = np.empty((len(distinct), n_outputs))
    step = max(1, _BLOCK // max(1, n_terms))
    for start in range(0, len(distinct), step):
        block = slice(start, start + step)
        result[block] = of_block(distinct[block])
    return np.asarray(result[place.ravel()])
