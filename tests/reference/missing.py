"""Twin of splits by one column with missing values: every cut, with them on either side.

The cuts of a column come in this order: those with missing values on the right, the smallest
threshold first, and between values and none last; then those with missing values on the left.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reference import search

LEFT, RIGHT = 1, 2
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class SidedCut:
    """A split of one column; a coefficient of 0 asks only whether the value is there."""

    column: int
    coef: float
    threshold: float
    side: int  # 0 if no value is missing here
    left: Mask


def cuts_of(x: NDArray[np.float64], column: int) -> Iterator[SidedCut]:
    """All cuts of a column, in order."""
    gone = np.isnan(x)
    values = sorted({float(v) for v in x[~gone]})
    between = [search.midpoint(a, b) for a, b in itertools.pairwise(values)]
    for threshold in between:
        yield SidedCut(column, 1.0, threshold, RIGHT if gone.any() else 0, x <= threshold)
    if gone.any() and values:
        yield SidedCut(column, 0.0, 0.0, RIGHT, ~gone)
        for threshold in between:
            yield SidedCut(column, 1.0, threshold, LEFT, (x <= threshold) | gone)


def best_cut(
    X: NDArray[np.float64],
    score: Callable[[Mask], float | None],
    *,
    zero_gain: bool = False,
) -> tuple[float, SidedCut] | None:
    """The best cut of all columns; `score` gives None for one that is not legal."""
    best: tuple[float, SidedCut] | None = None
    first_zero: tuple[float, SidedCut] | None = None
    for column in range(X.shape[1]):
        for cut in cuts_of(X[:, column], column):
            value = score(cut.left)
            if value is None:
                continue
            if value > 0.0 and (best is None or value > best[0]):
                best = (value, cut)
            if value == 0.0 and first_zero is None:
                first_zero = (value, cut)
    return best if best is not None or not zero_gain else first_zero
