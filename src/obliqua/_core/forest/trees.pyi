from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows, UInt8Array

Directions = Callable[[FloatArray, Any, FloatArray, int, int], FloatArray | None]

def draw_counts(
    keys: NDArray[np.uint64],
    pieces: Int64Array,
    means: FloatArray,
    key: int,
    counts: FloatArray,
    times: Int32Array,
    drawn: UInt8Array,
    never_none: bool = True,
) -> None: ...
def draw_share(
    keys: NDArray[np.uint64],
    pieces: Int64Array,
    share: float,
    key: int,
    times: Int32Array,
    drawn: UInt8Array,
    never_none: bool = True,
) -> None: ...
def sum_levels(
    rank: Int32Array,
    columns: Int64Array,
    level_ptr: Int64Array,
    weights: FloatArray,
    times: Int32Array,
    off: FloatArray,
    sums: FloatArray,
) -> None: ...
def rank_entries(
    shape: tuple[int, int],
    ptr: Int64Array,
    rows: Int32Array,
    values: Rows,
    stand_in: FloatArray,
) -> tuple[Any, ...]: ...

class ForestData:
    numbers: bool
    def __init__(self, columns: Any, target: Any, rules: dict[str, Any]) -> None: ...

class TreeGrower:
    def __init__(self, data: ForestData, directions: Directions | None = None) -> None: ...
    def grow(
        self,
        weights: FloatArray,
        times: Int32Array,
        key: int,
        numbers: FloatArray,
        places: Int32Array,
    ) -> dict[str, Any]: ...
