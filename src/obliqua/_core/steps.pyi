from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua._core.columns import Columns
from obliqua._typing import Int64Array

_Words = NDArray[np.uint64]

def leaf_without_search(rules: Any, counts: Int64Array, rows: int, depth: int) -> bool: ...
def best_axis_cut(
    columns: Columns,
    active: _Words,
    start: int,
    end: int,
    counts: Int64Array,
    code: int,
    min_rows: int,
    min_weight: int,
    exhaustive: bool,
) -> tuple[float, int, int, _Words]: ...
def make_axis_cut(
    columns: Columns, col: int, start: int, end: int, rows_left: int, counts: Int64Array
) -> tuple[Int64Array, float]: ...
def divide_columns(columns: Columns, active: _Words, skip: int, start: int, end: int) -> None: ...
