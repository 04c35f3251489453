from obliqua._typing import FloatArray, Int32Array, Int64Array

def number_bits(values: FloatArray) -> Int64Array: ...
def digit_sums(
    values: FloatArray,
    weights: Int64Array | None,
    leaf: Int64Array,
    n_nodes: int,
    bits: Int64Array,
    col: int,
) -> Int64Array | None: ...
def means_of_digits(
    sums: Int64Array, total: Int64Array, parent: Int64Array, bits: Int64Array, col: int
) -> FloatArray: ...
def exact_means(
    values: FloatArray,
    weights: Int64Array | None,
    leaf: Int64Array,
    first_child: Int32Array,
    n_children: Int32Array,
) -> FloatArray: ...
