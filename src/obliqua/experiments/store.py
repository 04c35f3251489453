"""Results in a file that survives interruption."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from obliqua.errors import ObliquaError

__all__ = ["CellKey", "ResultsError", "Store"]

FORMAT = 1


class ResultsError(ObliquaError, ValueError):
    """A file of results cannot be used for this run."""


class CellKey(NamedTuple):
    """Which cell: data set, method, number of the repeat."""

    data_set: str
    method: str
    repeat: int


@cache
def code_digest() -> str:
    """Return a digest of the library's files: versions stay the same while it is developed."""
    folder = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".py", ".so", ".pyd", ".pyx", ".pxd", ".h"):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Store:
    """Finished cells in one JSON file.

    The file is replaced as a whole after each cell, so it is complete at any moment. It also
    holds what the cells depend on: the seed, the parameters of the methods, the checksums of
    the data and how they are divided, the version of the library and a digest of its files.
    Results that depend on other things are never mixed.

    Parameters
    ----------
    path : path-like
        The file.
    table : str
        Name of the experiment.
    seed : int
        Its seed.
    resume : bool, default=False
        Go on with a file that exists. Without it such a file is an error.
    """

    def __init__(
        self, path: str | os.PathLike[str], table: str, seed: int, *, resume: bool = False
    ) -> None:
        self.path = Path(path)
        self.seed = seed
        header = {
            "format": FORMAT,
            "table": table,
            "seed": seed,
            "obliqua": version("obliqua"),
            "code": code_digest(),
        }
        self._content: dict[str, Any] = {**header, "methods": {}, "data": {}, "cells": {}}
        self._content["divisions"] = {}
        if not self.path.exists():
            return
        if not resume:
            raise ResultsError(
                f"{self.path} holds results already; go on with them (--resume), or choose "
                "another folder, or remove the file"
            )
        self._content = {"divisions": {}, **self._read()}
        for key, ours in header.items():
            self._agree(key, self._content.get(key), ours)

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_text("utf-8"))
            for part in ("methods", "data", "cells"):
                content[part].items()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ResultsError(
                f"{self.path} is not a file of results; choose another folder or remove the file"
            ) from error
        return dict(content)

    def _agree(self, what: str, theirs: object, ours: object) -> None:
        if theirs != ours:
            raise ResultsError(
                f"{self.path} holds results with another {what}: {theirs!r}, now {ours!r}; "
                "choose another folder for the new results, or remove the file"
            )

    def expect_method(
        self, name: str, estimator: str, params: Mapping[str, Any], whole_tree: bool = False
    ) -> None:
        """Say how a method is set; results with another setting are refused.

        Parameters
        ----------
        name : str
            What the table calls the method.
        estimator : str
            The class, with its module.
        params : mapping
            Its parameters.
        whole_tree : bool, default=False
            Whether the size that is noted is that of one tree from all rows.
        """
        setting: dict[str, Any] = {"estimator": estimator, "params": dict(params)}
        if whole_tree:
            setting["whole_tree"] = True
        kept = self._content["methods"].setdefault(name, setting)
        self._agree(f"setting of the method {name}", kept, setting)

    def expect_data(self, name: str, checksum: str) -> None:
        """Say what the data are; results from other data, or another order, are refused.

        Parameters
        ----------
        name : str
            What the table calls the data set.
        checksum : str
            The checksum of its rows.
        """
        kept = self._content["data"].setdefault(name, checksum)
        self._agree(f"checksum of the data set {name}", kept, checksum)

    def expect_division(self, name: str, division: str) -> None:
        """Say how rows are divided to train and to test; results of another way are refused.

        Parameters
        ----------
        name : str
            What the table calls the data set.
        division : str
            How many folds of what kind.
        """
        kept = self._content["divisions"].setdefault(name, division)
        self._agree(f"division of the data set {name}", kept, division)

    def __contains__(self, key: CellKey) -> bool:
        return str(key.repeat) in self._repeats(key.data_set, key.method)

    def _repeats(self, data_set: str, method: str) -> dict[str, Any]:
        found: dict[str, Any] = self._content["cells"].get(data_set, {}).get(method, {})
        return found

    def cells(self, data_set: str, method: str) -> dict[int, dict[str, Any]]:
        """Return the finished repeats of a method on a data set.

        Parameters
        ----------
        data_set, method : str
            What the table calls them.

        Returns
        -------
        dict
            Cells by the number of the repeat, in order.
        """
        found = {int(repeat): cell for repeat, cell in self._repeats(data_set, method).items()}
        return dict(sorted(found.items()))

    def put(self, key: CellKey, cell: Mapping[str, Any]) -> None:
        """Keep a cell, in memory and in the file.

        Parameters
        ----------
        key : CellKey
            Which cell of the table, and which repeat.
        cell : mapping
            What the repeat has given.
        """
        of_set = self._content["cells"].setdefault(key.data_set, {})
        of_set.setdefault(key.method, {})[str(key.repeat)] = dict(cell)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # A rename within a folder happens completely or not at all.
        unfinished = self.path.with_name(self.path.name + ".part")
        unfinished.write_text(json.dumps(self._content, sort_keys=True) + "\n", "utf-8")
        os.replace(unfinished, self.path)
