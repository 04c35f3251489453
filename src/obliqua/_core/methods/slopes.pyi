from collections.abc import Sequence

from obliqua._core.base.target import TargetRows
from obliqua._core.methods.discriminants import DiscriminantFinder
from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows, UInt8Array

_BendPlan = tuple[int, float, float, float, FloatArray, FloatArray, FloatArray, UInt8Array]
_OutputSums = tuple[Int64Array, Int64Array, Int64Array]

class SlopeFinder(DiscriminantFinder):
    def load_outputs(
        self, counts: Int64Array, outputs: Sequence[_OutputSums], widest: int
    ) -> _BendPlan | None: ...
    def load_bends(self, bend: FloatArray) -> None: ...
    @property
    def n_planned(self) -> int: ...
    def worth(self, score: float, n_coef: int) -> float: ...
    def least_score(self, bar: float, n_coef: int) -> float: ...

def output_sums(
    Z: Rows,
    rows: Int32Array,
    target: TargetRows,
    output: int,
    shift: FloatArray,
    exponent: Int32Array,
    weight_shift: int,
) -> _OutputSums: ...
def bend_sums(
    Z: Rows,
    rows: Int32Array,
    target: TargetRows,
    plan: _BendPlan,
    shift: FloatArray,
    exponent: Int32Array,
    weight_shift: int,
) -> FloatArray: ...
