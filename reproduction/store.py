"""Results in a file that survives interruption."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.log import (
    Lines,
    ResultsError,
    Writer,
    check_free,
    encoded,
    read_lines,
)
from reproduction.machine import surroundings

__all__ = ["CellKey", "Kept", "ResultsError", "Store"]

FORMAT = 2

#: What may differ between runs that give the same figures.
_HARMLESS = ("date", "commit", "cores")


#: Where estimators live that logs know under an older name.
_MOVED = {"obliqua.experiments.etct.": "reproduction.papers.etct."}


class CellKey(NamedTuple):
    """Which cell: data set, method, number of the repeat."""

    data_set: str
    method: str
    repeat: int


class Kept:
    """What a file of results says.

    The first line says what it is: format, table and seed. Then come, in the order in which they
    happened, lines of five kinds: a run with its date, versions and machine; how a method is set;
    the checksum of a data set; how it is divided; and a finished cell.

    Parameters
    ----------
    path : path-like
        The file.
    lines : Lines, default=None
        What it holds, if that has been read already.

    Attributes
    ----------
    head : dict
        ``format``, ``table`` and ``seed``; empty if not even this line was finished.
    runs : list of dict
        Date, versions and machine of each run that has added cells.
    """

    def __init__(self, path: str | os.PathLike[str], lines: Lines | None = None) -> None:
        self.path = Path(path)
        self.lines = read_lines(self.path) if lines is None else lines
        self.head: dict[str, Any] = {}
        self.runs: list[dict[str, Any]] = []
        self.settings: dict[tuple[str, str], Any] = {}
        self._cells: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
        for number, record in enumerate(self.lines.records, start=1):
            try:
                self._take(number, dict(record))
            except (KeyError, TypeError, ValueError) as error:
                raise ResultsError(
                    f"{self.path} is not a file of results: line {number} says nothing that is "
                    "known here; choose another folder or remove the file"
                ) from error

    def _take(self, number: int, record: dict[str, Any]) -> None:
        if number == 1:
            self.head = {key: record[key] for key in ("format", "table", "seed")}
        elif "run" in record:
            self.runs.append(record["run"])
        elif "cell" in record:
            data_set, method, repeat = record.pop("cell")
            self._keep(CellKey(data_set, method, int(repeat)), record)
        else:
            what, name, setting = record["what"], record["name"], record["is"]
            self.settings[what, name] = _by_new_names(setting) if what == "method" else setting

    def _keep(self, key: CellKey, cell: dict[str, Any]) -> None:
        self._cells.setdefault((key.data_set, key.method), {})[key.repeat] = cell

    def __contains__(self, key: CellKey) -> bool:
        return key.repeat in self._cells.get((key.data_set, key.method), {})

    def cells(self, data_set: str, method: str) -> dict[int, dict[str, Any]]:
        """Return the finished repeats of a method on a data set, by their number, in order."""
        return dict(sorted(self._cells.get((data_set, method), {}).items()))

    def all_cells(self) -> dict[tuple[str, str], dict[int, dict[str, Any]]]:
        """Return all finished cells, by data set and method, then by number of the repeat."""
        return {pair: self.cells(*pair) for pair in self._cells}


def _by_new_names(setting: dict[str, Any]) -> dict[str, Any]:
    estimator = str(setting["estimator"])
    for old, new in _MOVED.items():
        if estimator.startswith(old):
            return {**setting, "estimator": new + estimator.removeprefix(old)}
    return setting


class Store(Kept):
    """Finished cells in a file that only grows: a line per cell, as soon as it is there.

    A program that is killed loses the cell that it was computing, and nothing else. The file also
    holds what the cells depend on: the seed, the parameters of the methods, the checksums of the
    data and how they are divided. Results that depend on other things are never mixed.

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
        self.table = table
        self.seed = seed
        self._waiting: list[dict[str, Any]] = []
        self._writer: Writer | None = None
        self._new = not Path(path).exists()
        if not (self._new or resume):
            raise ResultsError(
                f"{path} holds results already; go on with them (--resume), or choose another "
                "folder, or remove the file"
            )
        super().__init__(path, Lines((), b"", 0) if self._new else None)
        ours = {"format": FORMAT, "table": table, "seed": seed}
        if not self.head:
            if not encoded(ours).startswith(self.lines.torn):
                raise ResultsError(
                    f"{self.path} is not a file of results; choose another folder or remove the "
                    "file"
                )
            self.head = ours
            self._waiting.append(ours)
        for key, value in ours.items():
            self._agree(key, self.head[key], value)
        if not self._new:
            check_free(self.path)

    def _agree(self, what: str, theirs: object, ours: object) -> None:
        if theirs != ours:
            raise ResultsError(
                f"{self.path} holds results with another {what}: {theirs!r}, now {ours!r}; "
                "choose another folder for the new results, or remove the file"
            )

    def _expect(self, what: str, name: str, setting: object) -> None:
        setting = json.loads(json.dumps(setting))  # as it will be read: a tuple as a list
        if (what, name) not in self.settings:
            self.settings[what, name] = setting
            self._waiting.append({"what": what, "name": name, "is": setting})
        said = {"method": "setting of the method", "data": "checksum of the data set"}
        text = said.get(what, "division of the data set")
        self._agree(f"{text} {name}", self.settings[what, name], setting)

    def expect_method(
        self, name: str, estimator: str, params: Mapping[str, Any], whole_tree: bool = False
    ) -> None:
        """Say how a method is set; results with another setting are refused."""
        setting: dict[str, Any] = {"estimator": estimator, "params": dict(params)}
        if whole_tree:
            setting["whole_tree"] = True
        self._expect("method", name, setting)

    def expect_data(self, name: str, checksum: str) -> None:
        """Say what the data are; results from other data, or another order, are refused."""
        self._expect("data", name, checksum)

    def expect_division(self, name: str, division: str) -> None:
        """Say how rows are divided to train and to test; results of another way are refused."""
        self._expect("division", name, division)

    @property
    def made_elsewhere(self) -> bool:
        """Whether other code, other versions or another machine have made what is kept."""
        ours = surroundings()
        return any(
            run.get(name) != ours.get(name)
            for run in self.runs
            for name in {*ours, *run} - set(_HARMLESS)
        )

    @contextmanager
    def open(self) -> Iterator[None]:
        """Write in here, with the file for oneself. It is made now if it is not there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = Writer(self.path, None if self._new else self.lines)
        self._new = False
        try:
            run = surroundings()
            self._writer.append([*self._waiting[:1], {"run": run}, *self._waiting[1:]])
            self.runs.append(run)
            self._waiting.clear()
            yield
        finally:
            self.lines = Lines((), b"", self._writer.size)
            self._writer.close()
            self._writer = None

    def put(self, key: CellKey, cell: Mapping[str, Any]) -> None:
        """Keep a cell, in memory and in the file."""
        if self._writer is None:
            raise RuntimeError("cells are put into a store within `with store.open():`")
        self._writer.append([{"cell": list(key), **cell}])
        self._keep(key, dict(cell))
