"""``obliqua demo``: what the library does, on data that come with scikit-learn."""

from __future__ import annotations

from obliqua.cli import _command as shared


@shared.command("obliqua demo")
def demo() -> None:
    """Compare methods on a small data set and show a tree."""
