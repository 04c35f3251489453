from obliqua._core.base.target import TargetRows
from obliqua._typing import Int32Array, Int64Array, Rows, UInt8Array

class ColumnLists:
    n_rows: int
    n_cols: int
    wide: bool
    stop: bool
    reason: BaseException | None
    def __init__(
        self,
        Z: Rows | tuple[tuple[int, int], Int64Array, Int32Array, Rows],
        target: TargetRows,
        has_missing: UInt8Array | None = None,
    ) -> None: ...
    def release(self) -> None: ...
    def entry_size(self) -> int: ...
    def presort(self, first: int, last: int) -> None: ...
    def mark(self, rows: Int32Array, right: UInt8Array) -> None: ...
    def divide_window(self, rows: Int32Array) -> Int64Array: ...
