from obliqua._core.base.target import TargetRows
from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows, UInt8Array

_Cut = tuple[float, int, int, float, float]

def threshold_between(below: float, above: float) -> float: ...

class NodeSearch:
    def __init__(
        self,
        Z: Rows,
        rows: Int32Array,
        target: TargetRows,
        counts: Int64Array,
        code: int,
        n_rows: int,
        min_rows: int,
        min_weight: int,
    ) -> None: ...
    def search(
        self,
        ptr: Int64Array,
        idx: Int32Array,
        coef: FloatArray,
        first: int,
        last: int,
        exhaustive: bool = False,
    ) -> _Cut: ...
    def score_at(
        self, ptr: Int64Array, idx: Int32Array, coef: FloatArray, thresholds: FloatArray
    ) -> FloatArray: ...
    def cuts(
        self, idx: Int32Array, coef: FloatArray
    ) -> tuple[Int64Array, Int64Array, FloatArray, FloatArray]: ...
    def divide(
        self, idx: Int32Array, coef: FloatArray, threshold: float
    ) -> tuple[UInt8Array, Int64Array]: ...
    def values(self, idx: Int32Array, coef: FloatArray) -> FloatArray: ...
