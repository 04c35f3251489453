from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

def leaf_ranges(
    Z: Rows, leaf: Int64Array, n_nodes: int, columns: Int32Array, factor: FloatArray
) -> tuple[FloatArray, FloatArray]: ...
def leaf_sums(
    Z: Rows,
    leaf: Int64Array,
    weights: FloatArray | None,
    columns: Int32Array,
    factor: FloatArray,
    centre: FloatArray,
) -> tuple[FloatArray, FloatArray]: ...
def node_spread(
    parts: list[tuple[FloatArray, FloatArray]],
    ranges: tuple[FloatArray, FloatArray],
    centre: FloatArray,
    parent: Int64Array,
    exponent: Int32Array,
) -> FloatArray: ...
def column_ranges(Z: Rows) -> tuple[FloatArray, FloatArray]: ...
def column_sums(
    Z: Rows, weights: FloatArray | None, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, FloatArray]: ...
def means_of_sums(
    low: FloatArray, high: FloatArray, total: FloatArray, sums: FloatArray
) -> FloatArray: ...
def column_means(Z: Rows, weights: FloatArray | None) -> FloatArray: ...
def sparse_column_means(
    shape: tuple[int, int],
    ptr: Int64Array,
    rows: Int32Array,
    values: Rows,
    weights: FloatArray | None,
) -> FloatArray: ...
