"""Twin of samples: different rows with the smallest hashes, one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import child_key, row_hashes

Row = tuple[tuple[float, ...], int]


def sample(
    X: NDArray[np.floating], y: NDArray[np.integer], weights: list[int], most: int, key: int
) -> list[tuple[Row, int]]:
    """The rows of a sample in their order, each with the weight of all rows that equal it."""
    weight: dict[Row, int] = {}
    for x, label, w in zip(X.astype(np.float64), y.tolist(), weights, strict=True):
        row = tuple((x + 0.0).tolist()), label
        weight[row] = weight.get(row, 0) + w

    def place(row: Row) -> int:
        hashes = row_hashes(np.array([row[0]]), np.array([row[1]]), child_key(key, 2))
        return int(hashes[0])

    return [(row, weight[row]) for row in sorted(weight, key=place)[:most]]
