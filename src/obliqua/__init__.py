"""Oblique decision trees: exact, fast, reproducible, with scikit-learn's interface."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

# The table of public names is the stub beside this file, which type checkers read too.
_HOMES = {
    name.name: line.module
    for line in ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body
    if isinstance(line, ast.ImportFrom) and line.module
    for name in line.names
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    """Fetch a name when it is first asked for: who only predicts never loads what grows trees."""
    value: Any
    if name == "__version__":
        from importlib.metadata import version

        value = version("obliqua")
    elif name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'obliqua' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
