"""The command ``obliqua``: fit, predict, show and compare trees on files.

Thin: a command reads its words, calls the library and prints. Only this room needs click, rich
and polars, which the extra ``cli`` brings. `main` itself needs none of them, so
that it can say what is missing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

__all__ = ["main"]

INTERRUPTED = 130  # 128 + SIGINT, as shells say it


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code, as the page on the command line lists them."""
    _open_missing_streams()
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


def _open_missing_streams() -> None:
    """Let streams that the caller has closed lead nowhere.

    Otherwise the next file that is opened would take their place, and get what is meant for them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
