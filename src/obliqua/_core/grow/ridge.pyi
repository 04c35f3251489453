from obliqua._core.base.target import TargetRows
from obliqua._typing import FloatArray, Int32Array, UInt8Array

def fit_ridge(
    model: FloatArray,
    rows: Int32Array,
    target: TargetRows,
    penalty: float,
    weight_shift: int,
    wanted: UInt8Array | None = None,
) -> tuple[FloatArray, FloatArray, float]: ...
