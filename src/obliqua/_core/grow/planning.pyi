from typing import Any

from obliqua._core.base.target import TargetRows
from obliqua._core.grow.finder import Finder
from obliqua._core.search.column_lists import ColumnLists
from obliqua._typing import FloatArray, Int32Array, Int64Array, Rows

class PlanningFinder(Finder):
    def __init__(
        self,
        n_features: int,
        n_classes: int,
        capacity: int,
        weighted: bool,
        weight_shift: int,
        scale: FloatArray,
        settings: Any,
        max_features: int | None,
        helper: bool = False,
    ) -> None: ...
    def set_coding(
        self,
        columns: Int32Array,
        n_levels: Int32Array,
        usual: FloatArray,
        by_node: bool,
        sides: bool,
        only: bool,
    ) -> None: ...
    def set_row_counts(self, counts: Int64Array) -> None: ...
    def load(
        self,
        Z: Rows,
        rows: Int32Array,
        target: TargetRows,
        counts: Int64Array,
        limits: tuple[int, int, int],
        key: int = 0,
    ) -> int: ...
    def look(
        self,
        owner: PlanningFinder,
        first: int,
        last: int,
        bar: tuple[float, int, int],
        columns: ColumnLists | None = None,
    ) -> tuple[float, int, int]: ...
    def continued(self, axis: tuple[float, int, int]) -> int: ...
    def decide(
        self, direction: int, bar: tuple[float, int, int], columns: ColumnLists
    ) -> tuple[float, int, float, int, tuple[Any, ...]] | None: ...
    @property
    def n_absent(self) -> int: ...
    @property
    def min_rows(self) -> int: ...
    def load_sums(
        self,
        counts: Int64Array,
        ranges: tuple[FloatArray, FloatArray],
        sums: tuple[Int64Array, Int64Array, Int64Array, Int64Array],
    ) -> int: ...
    def task(self, number: int) -> tuple[int, bool, FloatArray]: ...
    def normal_of(self, direction: int) -> tuple[Int32Array, FloatArray]: ...
    def directions(self) -> tuple[list[int], list[tuple[Int32Array, FloatArray]]]: ...
    def set_measure(self, measure: Any) -> None: ...
