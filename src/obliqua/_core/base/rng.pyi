import numpy as np
from numpy.typing import NDArray

from obliqua._typing import Int32Array, Int64Array, Rows

def child_key(key: int, side: int) -> int: ...
def column_order(key: int, n_columns: int) -> Int32Array: ...
def row_hashes(Z: Rows, labels: Int64Array, seed: int) -> NDArray[np.uint64]: ...
def sparse_row_hashes(
    shape: tuple[int, int],
    ptr: Int64Array,
    columns: Int32Array,
    values: Rows,
    labels: Int64Array,
    seed: int,
) -> NDArray[np.uint64]: ...
def scattered(keys: NDArray[np.uint64], numbers: Int64Array) -> NDArray[np.uint64]: ...
