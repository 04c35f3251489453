"""Twin of the search along a line where rows come and go: every place is counted afresh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from reference import criteria


def best_place(
    t: NDArray[np.float64],
    leaves: NDArray[np.bool_],
    y: NDArray[np.int32],
    weights: NDArray[np.int64],
    limits: tuple[int, int, int],
    tolerance: float,
) -> tuple[float, int, float, float] | None:
    """The best place between crossings: (goodness, rows that have crossed, below, above).

    A row that leaves is on the right side before its crossing, any other one after it. The first
    of equally good places wins. ``limits``: code of the criterion, fewest rows, least weight.
    """
    code, min_rows, min_weight = limits
    classes = np.unique(y)
    best = None
    for below, above in itertools.pairwise([-1.0, *np.sort(t).tolist(), 1.0]):
        if not above - below > tolerance:
            continue
        side = np.where(leaves, t >= above, t <= below)
        right, left = (_sums(y[part], weights[part], classes) for part in (side, ~side))
        if min(side.sum(), (~side).sum()) < min_rows or min(sum(right), sum(left)) < min_weight:
            continue
        score = criteria.goodness(code, right, left)
        if score >= 0.0 and (best is None or score > best[0]):
            best = score, int((t <= below).sum()), below, above
    return best


def _sums(
    y: NDArray[np.int32], weights: NDArray[np.int64], classes: NDArray[np.int32]
) -> Sequence[int]:
    return [int(weights[y == c].sum()) for c in classes]
