from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

def scatter(
    Z: Rows,
    rows: Int32Array,
    classes: Int32Array,
    weights: Int64Array | None,
    shift: FloatArray,
    exponent: Int32Array,
    n_classes: int,
    weight_shift: int,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]: ...
