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
