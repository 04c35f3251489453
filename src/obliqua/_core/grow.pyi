from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua._core.columns import Columns
from obliqua._core.finder import Finder
from obliqua._typing import FloatArray, Int32Array, Int64Array

_Words = NDArray[np.uint64]

class Subtree:
    def __init__(
        self,
        columns: Columns,
        rules: Any,
        code: int,
        n_classes: int,
        total_weight: int,
        largest: int,
        finder: Finder | None = None,
        row_numbers: Int32Array | None = None,
    ) -> None: ...
    def grow(
        self,
        start: int,
        end: int,
        depth: int,
        counts: Int64Array,
        active: _Words,
        best_first: bool,
        key: int = 0,
    ) -> tuple[
        Int64Array,
        Int64Array,
        Int32Array,
        Int32Array,
        Int32Array,
        FloatArray,
        FloatArray,
        Int64Array,
        FloatArray,
        Int64Array,
        Int64Array,
        Int32Array,
        FloatArray,
        FloatArray,
        FloatArray,
        Int64Array,
        FloatArray,
    ]: ...
