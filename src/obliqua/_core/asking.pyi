from typing import Any

from obliqua._core.planned import Planned

class Asking(Planned):
    def set_measure(self, measure: Any) -> None: ...
