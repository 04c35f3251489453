"""``obliqua show``: a saved model as text, rules, importances or a picture."""

from __future__ import annotations

import click

from obliqua.cli import _command as shared


@shared.command("obliqua show model.obliqua")
@click.argument("model", metavar="MODEL")
def show(model: str) -> None:
    """Show a model that `obliqua fit` has made."""
