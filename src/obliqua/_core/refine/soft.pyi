from typing import Any

import numpy as np
from numpy.typing import NDArray

def shuffle(order: NDArray[np.int64], key: int) -> None: ...

class SoftTree:
    n_rows: int
    q: NDArray[np.float32]
    def __init__(
        self,
        rows: tuple[Any, ...],
        tree: tuple[Any, ...],
        n_classes: int,
        floor: float,
        lines: tuple[Any, ...] | None = None,
    ) -> None: ...
    def line_sums(self, leaf: NDArray[np.int32], first: int, last: int) -> NDArray[np.float64]: ...
    def raising_costs(
        self,
        bits: NDArray[np.uint8],
        child: NDArray[np.int32],
        root: int,
        lines: NDArray[np.float32],
        low: NDArray[np.float32],
        high: NDArray[np.float32],
        first: int,
        last: int,
    ) -> NDArray[np.float64]: ...
    def walk(self, leaf: NDArray[np.int32], first: int, last: int) -> NDArray[np.float64]: ...
    def nearness(
        self, units: NDArray[np.int64], near: float, first: int, last: int
    ) -> NDArray[np.int64]: ...
    def sides(self, bits: NDArray[np.uint8], first: int, last: int) -> None: ...

class Descent:
    n_threads: int
    loss: float
    def __init__(
        self,
        tree: SoftTree,
        size: int,
        limits: tuple[float, float, float, float, float],
        pull: NDArray[np.float32],
        pulled: NDArray[np.float32],
        mask: NDArray[np.float32] | None,
        shares: NDArray[np.int32],
        n_blocks: int = 1,
    ) -> None: ...
    def give_up(self) -> None: ...
    def move_lines(self, q: int, penalty: float) -> None: ...
    def forget_loss(self) -> None: ...
    def quiet(self) -> None: ...
    def gradients(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]: ...
    def run(
        self, order: NDArray[np.int64], first: int, last: int, before: int, k: int
    ) -> None: ...

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
def leaves_below(
    bits: NDArray[np.uint8],
    child: NDArray[np.int32],
    root: int,
    leaf: NDArray[np.int32],
    first: int,
    last: int,
) -> None: ...
def solve_lines(
    sums: NDArray[np.float64], lines: NDArray[np.float32], n_outputs: int, q: int, penalty: float
) -> NDArray[np.float64]: ...
