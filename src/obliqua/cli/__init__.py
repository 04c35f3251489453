"""The command ``obliqua``: fit, predict, show and compare trees on files.

Thin: a command reads its words, calls the library and prints. Only this room needs click, rich
and polars, which the extra ``cli`` brings. `main` itself needs none of them, so
that it can say what is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130  # 128 + SIGINT, as shells say it


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    try:
        from obliqua._extras import require
        from obliqua.errors import MissingDependency

        try:
            require("click", "cli", "The command obliqua")
        except MissingDependency as error:
            print(f"Error: {error}", file=sys.stderr)
            return 1
        from obliqua.cli._app import run

        return run(words)
    except KeyboardInterrupt:  # while modules are imported, or words are read
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
