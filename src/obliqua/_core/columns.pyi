from obliqua._typing import Int32Array, Int64Array, Rows, UInt8Array

class Columns:
    n_rows: int
    n_cols: int
    wide: bool
    stop: bool
    reason: BaseException | None
    def __init__(
        self, Z: Rows, classes: Int32Array, weights: Int64Array | None, n_classes: int
    ) -> None: ...
    def entry_size(self) -> int: ...
    def presort(self, first: int, last: int) -> None: ...
    def mark(self, rows: Int32Array, right: UInt8Array) -> None: ...
