"""scikit-learn without what it imports and no command needs: most of the time of a small call.

scikit-learn imports ``scipy.stats`` for one function, and pandas if it is there. Together they
take longer than all the rest of it. Commands read tables with polars.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["import_scikit_learn"]


class _Later(ModuleType):
    """Stand for a module until something is asked of it."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def import_scikit_learn() -> None:
    """Import the base of scikit-learn, if nobody has yet, and leave out what can wait.

    Who imports ``scipy.stats`` or pandas afterwards gets them as they are.
    """
    if "sklearn" in sys.modules:
        return
    if "scipy.stats" not in sys.modules:
        sys.modules["scipy.stats"] = _Later("scipy.stats")
    no_pandas = "pandas" not in sys.modules
    if no_pandas:
        sys.modules["pandas"] = None  # type: ignore[assignment]  # as if it were not installed
    try:
        import_module("sklearn.base")
    finally:
        if no_pandas:
            del sys.modules["pandas"]
