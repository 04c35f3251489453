"""What the command says when something is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

import click


class Trouble(click.ClickException):
    """Something is wrong with the data or the model: one message, exit code 1."""

    exit_code = 1


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one probably means, if there is one."""
    names = {other.strip().casefold(): other for other in known}
    found = get_close_matches(name.strip().casefold(), names, n=1, cutoff=0.7)
    return names[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question to put behind a message, with a space before it, or nothing."""
    found = nearest(name, known)
    return "" if found is None else f" Did you mean {found!r}?"


def listed(names: Iterable[str], most: int = 12) -> str:
    """Write names one after another; only the first of very many."""
    every = [repr(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def counted(n: int, thing: str, things: str | None = None) -> str:
    """Write a number and what is counted: 1 row, 2 rows."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"
