from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

def node_spread(
    Z: Rows,
    leaf: Int64Array,
    weights: FloatArray | None,
    parent: Int64Array,
    columns: Int32Array,
    exponent: Int32Array,
) -> FloatArray: ...
def column_means(Z: Rows, weights: FloatArray | None) -> FloatArray: ...
