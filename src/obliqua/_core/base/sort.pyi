import numpy as np
from numpy.typing import NDArray

from obliqua._typing import FloatArray

def py_sort_order(values: FloatArray) -> NDArray[np.uint32]: ...
