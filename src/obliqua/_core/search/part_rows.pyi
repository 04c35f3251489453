from obliqua._core.base.target import TargetRows
from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

_Cut = tuple[float, int, int, float, float]
_Lines = tuple[
    Int64Array, Int64Array, Int32Array, FloatArray, FloatArray, Int32Array, FloatArray, FloatArray
]

class PartRows:
    def __init__(self, Z: Rows, rows: Int32Array, target: TargetRows, lines: _Lines) -> None: ...
    def ranges(self) -> FloatArray: ...
    def divided(self, threshold: float) -> tuple[Int32Array, Int32Array]: ...
    def open_histogram(
        self,
        low: FloatArray,
        high: FloatArray,
        near: FloatArray | None,
        sums: Int64Array,
        ends: FloatArray,
        sizes: FloatArray,
    ) -> None: ...
    def histogram(
        self,
        line: Int64Array,
        low: FloatArray,
        high: FloatArray,
        sums: Int64Array,
        ends: FloatArray,
    ) -> None: ...
    def collect(
        self, line: Int64Array, low: FloatArray, high: FloatArray
    ) -> tuple[Int64Array, FloatArray, Int32Array, Int64Array]: ...

def empty_bins(m: int, n_bins: int, n_sums: int) -> tuple[Int64Array, FloatArray]: ...

class CutJudge:
    def __init__(
        self,
        target: TargetRows,
        counts: Int64Array,
        code: int,
        n_rows: int,
        min_rows: int,
        min_weight: int,
    ) -> None: ...
    def choose(
        self,
        sums: Int64Array,
        ends: FloatArray,
        line: Int64Array,
        before: Int64Array,
        tolerance: FloatArray,
        best_so_far: _Cut,
    ) -> tuple[_Cut, Int64Array, Int64Array]: ...
    def finish(
        self,
        interval: Int64Array,
        values: FloatArray,
        collected: TargetRows,
        line: Int64Array,
        before: Int64Array,
        tolerance: FloatArray,
        best_so_far: _Cut,
    ) -> _Cut: ...
