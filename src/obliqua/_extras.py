"""Packages that only some features need: imported where they are needed, and asked for by name."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from obliqua.errors import MissingDependency


def require(module: str, extra: str | None, purpose: str) -> ModuleType:
    """Import a module of an optional package.

    Parameters
    ----------
    module : str
        The module, ``"matplotlib.figure"`` for instance.
    extra : str or None
        The extra of obliqua that it belongs to; None if there is none.
    purpose : str
        What it is needed for, as the subject of a sentence: ``"Drawing a tree"``.

    Returns
    -------
    module
        The module.

    Raises
    ------
    MissingDependency
        If the package is not installed; the message says how to install it.
    """
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
