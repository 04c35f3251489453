"""What a measurement is written down with: facts of the machine, and versions."""

from __future__ import annotations

from importlib import metadata

from reproduction.machine import facts

__all__ = ["facts", "versions"]


def versions(libraries: set[str]) -> dict[str, str]:
    """The versions of those of the libraries that are installed, and of what all build on."""
    found = {}
    for library in sorted(libraries | {"numpy", "scipy", "scikit-learn"}):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found
