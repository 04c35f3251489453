from obliqua._typing import FloatArray, Int64Array

def exact_means(
    values: FloatArray, weights: Int64Array | None, leaf: Int64Array, parent: Int64Array
) -> FloatArray: ...
