import numpy as np
from numpy.typing import NDArray

from obliqua._typing import FloatArray, Int32Array, Int64Array

def best_place(
    values: FloatArray,
    leaves: NDArray[np.uint8],
    classes: Int32Array,
    weights: Int64Array | None,
    counts: Int64Array,
    limits: tuple[int, int, int],
    tolerance: float,
    with_bins: bool,
) -> tuple[float, int, float, float] | None: ...
