from typing import Any

from obliqua._core.planned import Planned
from obliqua._typing import FloatArray

class Position(Planned):
    def follow(self, task: int) -> list[tuple[FloatArray, float, float]]: ...
    def set_measure(self, measure: Any) -> None: ...
