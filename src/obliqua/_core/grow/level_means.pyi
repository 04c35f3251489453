from obliqua._core.base.target import TargetRows
from obliqua._core.grow.finder import Finder
from obliqua._typing import FloatArray, Int32Array, Int64Array

def level_means(level: Int64Array, n_levels: int, rows: TargetRows) -> FloatArray: ...
def means_of_levels(sums: Int64Array, target: TargetRows) -> FloatArray: ...

class MeanFinder(Finder):
    def __init__(
        self,
        n_features: int,
        target: TargetRows,
        columns: Int32Array,
        n_levels: Int32Array,
        usual: FloatArray,
        by_node: bool,
        capacity: int,
    ) -> None: ...
