from obliqua._typing import FloatArray, Int32Array, Int64Array, UInt8Array

class PackedForest:
    def __init__(
        self,
        slot: Int32Array,
        cut: Int32Array,
        children: Int32Array,
        table_ptr: Int64Array,
        table: Int32Array,
        roots: Int64Array,
        depth: Int64Array,
        is_set: UInt8Array,
        level_ptr: Int64Array,
        sums: FloatArray,
        gaps: FloatArray,
    ) -> None: ...
    def reach(self) -> FloatArray: ...
    def fill_means(self, mass: FloatArray, value: FloatArray) -> None: ...
    def products(
        self,
        value: FloatArray,
        first: Int64Array,
        second: Int64Array,
        out: FloatArray,
        feature: int = -1,
        apart: bool = False,
    ) -> None: ...

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
