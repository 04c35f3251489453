from obliqua._typing import FloatArray, Int32Array, Int64Array

def pair_energy(
    place_ptr: Int64Array,
    leaf: Int32Array,
    sign: FloatArray,
    leaf_ptr: Int64Array,
    place: Int32Array,
    other_sign: FloatArray,
    value: FloatArray,
    mean: FloatArray,
    other_mean: FloatArray,
    share: FloatArray,
    other_share: FloatArray,
    numeric: bool,
    other_numeric: bool,
    n_places: int,
) -> float: ...
