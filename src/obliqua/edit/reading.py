"""Edits as a file, a text or a dict has them: read with suspicion."""

from __future__ import annotations

import json
import os
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from obliqua.errors import TreeError

__all__ = ["FORMAT", "VERSION", "Edit", "Edits", "read_edits"]

#: What the first fields of every edits file say.
FORMAT, VERSION = "obliqua edits", 1
# What each kind of edit has beside what all have.
_ALL = frozenset({"tree", "node", "edit", "words"})
_OWN = {
    "split": frozenset({"kind", "plane"}),
    "collapse": frozenset[str](),
    "label": frozenset({"class", "value"}),
}


@dataclass(frozen=True)
class Edit:
    """One change of one node.

    Parameters
    ----------
    place : str
        Which one it is, for messages.
    tree : int or None
        The number of its tree; None if it is not said.
    node : int
        The number of its node, in the model before any edit.
    what : {"split", "collapse", "label"}
        What is done.
    words : str
        What somebody has written about it.
    given : mapping
        What else is said.
    """

    place: str
    tree: int | None
    node: int
    what: str
    words: str
    given: Mapping[str, Any]

    def wrong(self, message: str) -> TreeError:
        """Return an error that names this edit.

        Parameters
        ----------
        message : str
            What is wrong with it.

        Returns
        -------
        TreeError
            The error.
        """
        return TreeError(f"{self.place} ({self.what}, node {self.node}): {message}")


@dataclass(frozen=True)
class Edits(Sequence[Edit]):
    """Edits in their order, and the model that they are for.

    Parameters
    ----------
    edits : tuple of Edit
        The edits.
    model : str, default=None
        The fingerprint of their model; None if it is not known.
    """

    edits: tuple[Edit, ...]
    model: str | None = None

    def __len__(self) -> int:
        return len(self.edits)

    def __getitem__(self, number: Any) -> Any:
        return self.edits[number]

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)


def read_edits(source: Any) -> Edits:
    """Read edits.

    Parameters
    ----------
    source : str, path-like, bytes, mapping, list or Edits
        The path of a file, its text, or what a text says: an object as in a file, or the bare
        list of edits. Texts begin with a brace or a bracket.

    Returns
    -------
    Edits
        The edits. Whether they fit a model is not known yet.

    Raises
    ------
    TreeError
        If they are not what an edits file has; the message says where.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, Edits):
        return source
    if isinstance(source, os.PathLike) or (isinstance(source, str) and not _is_text(source)):
        source = Path(source).read_bytes()
    fields = _parsed(source) if isinstance(source, str | bytes | bytearray) else source
    if isinstance(fields, Mapping):
        model, listed = _checked_head(fields), fields.get("edits")
    else:
        model, listed = None, fields
    if not isinstance(listed, list | tuple):
        raise TreeError(
            "Edits are a file, its text, an object with a list called 'edits', or the list; got "
            f"{shown(source if listed is None else listed)}."
        )
    n = len(listed)
    places = (f"Edit {number} of {n}" for number in range(1, n + 1))
    return Edits(tuple(map(_edit, listed, places)), model)


def _is_text(source: str) -> bool:
    return source.lstrip("\ufeff \t\r\n")[:1] in ("{", "[")


def _parsed(text: str | bytes | bytearray) -> Any:
    """Return what a JSON text says; refuse what JSON does not have."""
    try:
        if not isinstance(text, str):
            text = bytes(text).decode("utf-8-sig")
        return json.loads(
            text.lstrip("\ufeff"), parse_constant=_no_constant, object_pairs_hook=_object
        )
    except (ValueError, RecursionError) as error:
        raise TreeError(f"The edits are no JSON: {str(error)[:200]}.") from error


def _no_constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _checked_head(fields: Mapping[str, Any]) -> str | None:
    """Return the fingerprint that an edits file names; raise if it is no such file."""
    if fields.get("format") != FORMAT:
        raise TreeError(
            f"An edits file has the format {FORMAT!r}; this one says "
            f"{shown(fields.get('format'))}."
        )
    version = fields.get("version")
    if type(version) is not int or version != VERSION:
        raise TreeError(
            f"The edits are in version {shown(version)} of the format; this obliqua reads "
            f"version {VERSION}. Upgrade it."
        )
    model = fields.get("model")
    if model is not None and not isinstance(model, str):
        raise TreeError(f"'model' of an edits file is a text or null; got {shown(model)}.")
    return model


def _edit(fields: Any, place: str) -> Edit:
    """Read one edit."""
    if not isinstance(fields, Mapping):
        raise TreeError(f"{place} must be an object; got {shown(fields)}.")
    what = fields.get("edit")
    if not isinstance(what, str) or what not in _OWN:
        raise TreeError(
            f"{place}: 'edit' must be one of {', '.join(map(repr, _OWN))}; got {shown(what)}."
        )
    check_fields(fields, _ALL | _OWN[what], place)
    words = fields.get("words")
    if words is not None and not isinstance(words, str):
        raise TreeError(f"{place}: 'words' must be a text; got {shown(words)}.")
    tree = fields.get("tree")
    return Edit(
        place,
        None if tree is None else _number_of("tree", tree, place),
        _number_of("node", fields.get("node"), place),
        what,
        words or "",
        {name: fields[name] for name in _OWN[what] if name in fields},
    )


def check_fields(fields: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    """Refuse fields that nobody knows: they may be misspelt."""
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise TreeError(
            f"{place} has the field {shown(unknown[0])}; known are {', '.join(sorted(known))}."
        )


def _number_of(what: str, value: Any, place: str) -> int:
    """Return the number of a tree or a node."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise TreeError(f"{place}: {what!r} must be a whole number from 0 on; got {shown(value)}.")
    return int(value)


def finite(value: Any) -> float | None:
    """Return a finite number as a float; None if it is something else."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if np.isfinite(number) else None


def shown(value: Any) -> str:
    """Write a value for a message, in few signs."""
    try:
        text = reprlib.repr(value)
    except Exception:  # huge integers have none, nor need objects of strangers
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
