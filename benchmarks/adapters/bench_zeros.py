"""No library: what the measuring itself costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.adapters.base import Adapter
from benchmarks.problems import Features, Labels


class Zeros(Adapter):
    """One leaf that says 0."""

    name = "zeros"
    library = "numpy"
    module = "numpy"

    def fit(self, X: Features, y: Labels, n_threads: int) -> Any:
        return None

    def predict(self, model: Any, X: Features, n_threads: int = 1) -> npt.NDArray[np.int64]:
        return np.zeros(X.shape[0], dtype=np.int64)

    def leaves(self, model: Any) -> int:
        return 1

    def depth(self, model: Any) -> int:
        return 0

    def walk(self, model: Any, row: Features) -> Callable[[], Any]:
        return lambda: None


ADAPTERS = (Zeros(),)
