"""Columns that count the rows, as exports of R and of spreadsheets have them."""

from __future__ import annotations

import numpy as np

from obliqua._typing import AnyArray

__all__ = ["FEWEST_ROWS", "counts_rows"]

FEWEST_ROWS = 20  # among fewer, numbers may well rise by 1 for another reason


def counts_rows(values: AnyArray, rows: AnyArray | None = None) -> bool:
    """Say whether a column of numbers is 0, 1, 2, ... or 1, 2, 3, ... in the order of the rows.

    `rows` are the rows' numbers in their table, from 0, if some have been left out.
    """
    n = len(values)
    if n < FEWEST_ROWS:
        return False
    start = 0 if rows is None else rows[0]
    end = n - 1 if rows is None else rows[-1]
    first = values[0] - start
    if first not in (0, 1) or values[-1] - end != first:
        return False
    return bool(np.array_equal(values, (np.arange(n) if rows is None else rows) + first))
