import numpy as np
from numpy.typing import NDArray

from obliqua._typing import Int64Array, Rows

def child_key(key: int, side: int) -> int: ...
def row_hashes(Z: Rows, labels: Int64Array, seed: int) -> NDArray[np.uint64]: ...
