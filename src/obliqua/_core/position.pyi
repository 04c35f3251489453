from typing import Any

from obliqua._core.planned import Planned

class Position(Planned):
    def set_measure(self, measure: Any) -> None: ...
