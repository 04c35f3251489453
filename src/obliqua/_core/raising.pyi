import numpy as np
from numpy.typing import NDArray

def leaf_counts(
    bits: NDArray[np.uint8],
    child: NDArray[np.int32],
    root: int,
    y: NDArray[np.int32],
    weight: NDArray[np.int64],
    n_leaves: int,
    n_classes: int,
    first: int,
    last: int,
) -> NDArray[np.int64]: ...
def raising_changes(
    bits: NDArray[np.uint8],
    child: NDArray[np.int32],
    root: int,
    y: NDArray[np.int32],
    weight: NDArray[np.int64],
    label: NDArray[np.int32],
    first: int,
    last: int,
) -> NDArray[np.int64]: ...
