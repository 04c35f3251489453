from obliqua._typing import FloatArray, Int32Array, Int64Array

def code_columns(
    values: FloatArray,
    classes: Int32Array,
    weights: Int64Array | None,
    counts: Int64Array,
    n_levels: Int32Array,
    usual: FloatArray,
    by_node: bool,
    unit: float = 0.0,
) -> tuple[FloatArray, FloatArray]: ...
def level_numbers(sums: Int64Array, unit: float) -> FloatArray: ...
def present_sum(
    values: FloatArray, weights: Int64Array | None, low: float, high: float
) -> FloatArray: ...
def mean_of_present(low: float, high: float, weight: float, total: float) -> float: ...
def square_sums(
    values: FloatArray, weights: Int64Array | None, low: float, high: float
) -> FloatArray: ...
def spread_of_squares(sums: FloatArray, low: float, high: float) -> float: ...
