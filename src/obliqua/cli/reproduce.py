"""``obliqua reproduce``: the papers' tables again, which only a clone of the repository has."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from obliqua.cli import _command as shared
from obliqua.cli._errors import Trouble

ELSEWHERE = (
    "The papers' tables are made by the package reproduction, which is not installed with obliqua "
    "but stands in its source repository; call this command in a clone of it."
)


def clone() -> Path | None:
    """Return the clone of obliqua's repository that the current folder is in, if it is in one."""
    here = Path.cwd()
    return next(filter(_is_clone, (here, *here.parents)), None)


def _is_clone(folder: Path) -> bool:
    """Say whether a folder has the package, beside a project file that is obliqua's."""
    if not (folder / "reproduction" / "__init__.py").is_file():
        return False
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    named = project.get("project")
    return isinstance(named, dict) and named.get("name") == "obliqua"


def command_of(folder: Path) -> click.Command:
    """Import the command from a clone; processes that it starts find the package there too."""
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))
    try:
        module = import_module("reproduction.command")
    except ImportError as error:
        raise Trouble(
            f"{folder / 'reproduction'} does not fit the obliqua that is installed ({error}); "
            "install the one of the same clone with pip install ."
        ) from error
    if not Path(str(module.__file__)).parent.samefile(folder / "reproduction"):
        raise Trouble(f"Another package is called reproduction: {module.__file__}; remove it.")
    command: click.Command = module.reproduce
    return command


class FromClone(shared.Command):
    """A command that a clone has; elsewhere it takes any words, and says where they are known."""

    ignore_unknown_options = True

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Let the command in the clone read the words, if there is one."""
        folder = clone()
        if folder is None:
            return super().make_context(*args, **kwargs)
        return command_of(folder).make_context(*args, **kwargs)


@click.command(cls=FromClone, examples=["obliqua reproduce hhcart-table-2"])
@click.argument("words", metavar="[NAME]...", nargs=-1, type=click.UNPROCESSED)
def reproduce(words: tuple[str, ...]) -> None:
    """Make tables of the papers again, in a clone.

    This needs a clone of obliqua's source repository. In one, this help shows the options.
    """
    raise Trouble(ELSEWHERE)
