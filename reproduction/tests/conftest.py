"""The command is run as its own tests run it."""

from cli_tools import folder, run

__all__ = ["folder", "run"]
