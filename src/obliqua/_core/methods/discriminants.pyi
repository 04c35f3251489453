from obliqua._core.grow.planning import PlanningFinder
from obliqua._typing import FloatArray, Int32Array, UInt8Array

class DiscriminantFinder(PlanningFinder):
    @property
    def leading(self) -> bool: ...
    def superclass(
        self, group: UInt8Array, start: int, step: int
    ) -> tuple[int, tuple[Int32Array, FloatArray]] | None: ...
