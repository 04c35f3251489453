"""Packages that only some features need: imported where they are needed, and asked for by name."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from obliqua.errors import MissingDependency


def require(module: str, extra: str | None, purpose: str) -> ModuleType:
    """Import a module of an optional package."""
    found = sys.modules.get(module)
    if found is not None and not getattr(found.__spec__, "_initializing", False):
        return found  # asked for very often
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there, but something that it needs is not
        # The package has the same name wherever obliqua itself came from, so that this works in
        # a clone too. The extra brings whatever else is needed.
        more = "" if extra is None else f" (obliqua's extra {extra!r} has all that it takes)"
        raise MissingDependency(
            f"{purpose} needs the package {package}, which is not installed. Install it with: "
            f"pip install {package}{more}",
            name=package,
        ) from error
