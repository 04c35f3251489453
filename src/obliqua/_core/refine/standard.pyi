import numpy as np
from numpy.typing import NDArray

from obliqua._typing import FloatArray, Int64Array, Rows

def largest(Z: Rows, columns: Int64Array, first: int, last: int) -> FloatArray: ...
def weighted_sums(
    Z: Rows,
    rows: Int64Array,
    columns: Int64Array,
    share: FloatArray,
    size: FloatArray,
    about: FloatArray,
    first: int,
    last: int,
) -> FloatArray: ...
def standardise(
    Z: Rows,
    rows: Int64Array,
    columns: Int64Array,
    mean: FloatArray,
    sd: FloatArray,
    x: NDArray[np.float32],
    first: int,
    last: int,
) -> None: ...
