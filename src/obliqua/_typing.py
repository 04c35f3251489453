"""Names for the types that many signatures share."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

AnyArray: TypeAlias = NDArray[Any]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
Int32Array: TypeAlias = NDArray[np.int32]
Int64Array: TypeAlias = NDArray[np.int64]
UInt8Array: TypeAlias = NDArray[np.uint8]

# Rows as the engine reads them: float32 or float64, any strides.
Rows: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

# Goodness of (left sums, right sums): one number, or one per row where it is vectorised.
GoodnessFunction: TypeAlias = Callable[[AnyArray, AnyArray], Any]
