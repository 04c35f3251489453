from typing import Any

from obliqua._typing import AnyArray, FloatArray, Int32Array

class ForestWalker:
    n_trees: int
    def __init__(self, trees: Any, n_features: int) -> None: ...
    def apply(
        self, Z: AnyArray, n_threads: int = 1, trees: tuple[int, int] | None = None
    ) -> Int32Array: ...
    def sums(
        self,
        Z: AnyArray,
        n_columns: int,
        n_threads: int = 1,
        trees: tuple[int, int] | None = None,
    ) -> FloatArray: ...
