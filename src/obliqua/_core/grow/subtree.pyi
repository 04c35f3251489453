from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.target import TargetRows
from obliqua._core.grow.finder import Finder
from obliqua._core.search.column_lists import ColumnLists
from obliqua._typing import FloatArray, Int32Array, Int64Array, UInt8Array

_ColumnSet = NDArray[np.uint64]  # one bit each

class Subtree:
    def __init__(
        self,
        columns: ColumnLists,
        rules: Any,
        code: int,
        total_weight: int,
        largest: int,
        finder: Finder | None = None,
        row_numbers: Int32Array | None = None,
        n_drawn: int = 0,
        chooses: bool = False,
    ) -> None: ...
    def grow(
        self,
        start: int,
        end: int,
        depth: int,
        counts: Int64Array,
        active: _ColumnSet,
        best_first: bool,
        key: int = 0,
        alone: bool = False,
    ) -> tuple[
        Int32Array,
        Int32Array,
        Int32Array,
        Int32Array,
        Int32Array,
        FloatArray,
        FloatArray,
        Int64Array,
        FloatArray,
        Int64Array,
        UInt8Array,
        Int64Array,
        Int32Array,
        FloatArray,
        FloatArray,
        FloatArray,
        Int64Array,
        FloatArray,
    ]: ...

def leaf_without_search(
    rules: Any, target: TargetRows, counts: Int64Array, rows: int, depth: int
) -> bool: ...
def best_axis_cut(
    columns: ColumnLists,
    active: _ColumnSet,
    start: int,
    end: int,
    counts: Int64Array,
    code: int,
    min_rows: int,
    min_weight: int,
    exhaustive: bool,
) -> tuple[float, int, int, int, _ColumnSet]: ...
def make_axis_cut(
    columns: ColumnLists,
    col: int,
    start: int,
    end: int,
    counts: Int64Array,
    rows_left: int,
    missing: int,
) -> tuple[Int64Array, float, int]: ...
def divide_columns(
    columns: ColumnLists, active: _ColumnSet, skip: int, start: int, end: int
) -> None: ...
