"""Figures in sentences: they are looked up in the kept logs, never typed.

A sentence names what it wants in braces, its parts divided by semicolons::

    {oc1-table-1; cancer; OC1+program; accuracy; ours}

are table, data set, method, quantity and what of it. Data sets and methods may be patterns, as in
``d*`` or ``Bayes|SVM``; where several fit, the smallest and the largest figure are told.
``experiment 2c-etct-table-2`` in the place of a table is a longer run of it, whose log is in the
folder ``experiments``; ``earlier hhcart-table-7`` is what came out before something was changed,
and ``results sadt-schedules`` a table in ``docs/results``. ``{count; oc1-table-1; *; *; worse}``
is a number of published figures, each counted once. What no log has is ``(not run)``.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from obliqua.select.result import mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.protocol import CellResult
from reproduction.store import Kept

if TYPE_CHECKING:
    from reproduction.figures import PublishedFigure
    from reproduction.tables import Comparison, PaperTable

__all__ = ["LOGS", "LONGER", "NOT_RUN", "Facts", "known_facts", "placeholders"]

LOGS = Path(__file__).parent / "logs"
#: The folder of longer runs, in that of the logs.
LONGER = "experiments"
NOT_RUN = "(not run)"

_WANTED = re.compile(r"\{([^{}]*)\}")
_EXPERIMENT = "experiment "
_WHOLE = ("rows", "constant errors", "hyperplanes")
# Tables that are kept as CSV, and where.
_KEPT = {"earlier ": LOGS / "earlier", "results ": LOGS.parents[1] / "docs" / "results"}


def placeholders(text: str) -> list[str]:
    """Return what a sentence wants to know."""
    return _WANTED.findall(text)


class Facts:
    """What the logs of a folder say.

    Parameters
    ----------
    folder : Path
        Where the logs are.
    """

    def __init__(self, folder: Path = LOGS) -> None:
        self.folder = folder
        self._made: dict[str, Comparison | None] = {}

    @cached_property
    def logs(self) -> dict[str, Path]:
        """The logs of tables by name, and those of longer runs."""
        found = {path.name.partition(".")[0]: path for path in self.folder.glob("*.jsonl*")}
        longer = (self.folder / LONGER).glob("*.jsonl*")
        return found | {_EXPERIMENT + path.name.partition(".")[0]: path for path in longer}

    def fill(self, text: str) -> str:
        """Put figures into a sentence."""
        return _WANTED.sub(lambda found: self.look_up(found[1]), text)

    def look_up(self, wanted: str) -> str:
        """Return a figure, or several, as text."""
        parts = [part.strip() for part in wanted.split(";")]
        if len(parts) != 5:
            raise ValueError(f"five parts are needed, got {wanted!r}")
        if parts[0] == "count":
            return self._count(*parts[1:])
        table, data_set, method, what, which = parts
        for prefix, folder in _KEPT.items():
            if table.startswith(prefix):
                path = folder / f"{table.removeprefix(prefix)}.csv"
                return _from_csv(path, data_set, method, f"{what}_{which}")
        found = self._found(table, data_set, method, what, which)
        if not found:
            return NOT_RUN
        digits = _digits(self._table(table), data_set, what, which, max(map(abs, found)))
        texts = [f"{value:,.{digits}f}" for value in (min(found), max(found))]
        return " to ".join(dict.fromkeys(texts))

    def _table(self, name: str) -> PaperTable:
        from reproduction.catalogue import TABLES  # which reads sentences itself

        return TABLES[name.removeprefix(_EXPERIMENT)]

    def made(self, name: str) -> Comparison | None:
        """Return a table with what its log holds, whichever methods that has."""
        if name not in self._made:
            table = self._table(name)
            prefix = _EXPERIMENT if name.startswith(_EXPERIMENT) else ""
            path = self.logs.get(prefix + (table.cells_of or table.name))
            self._made[name] = None
            if path is not None:
                sets = table.choose_sets()
                self._made[name] = table.filled(Kept(path), sets, table.methods)
        return self._made[name]

    def _found(self, table: str, data_set: str, method: str, what: str, which: str) -> list[float]:
        """The figures that are meant; empty if there is none."""
        chosen = self._table(table)
        if which in ("reference", "reference_sd"):
            entries = chosen.prototype.get(data_set, {})
            figures = [getattr(one, what) for name, one in entries.items() if name == method]
            values = [one.mean if which == "reference" else one.sd for one in figures]
            return [value for value in values if not math.isnan(value)]
        if which == "paper" and what in ("accuracy", "leaves"):
            entries_of = chosen.published
            means = [
                getattr(one, what).mean
                for name, row in entries_of.items()
                for other, one in row.items()
                if _fits(name, data_set) and _fits(other, method)
            ]
            return [value for value in means if not math.isnan(value)]
        compared = self.made(table)
        if compared is None:
            return []
        if what == "mean rank":
            return _mean_rank(compared, method, which)
        if which in _OF_FIGURES:
            return [
                _OF_FIGURES[which](one)
                for one in compared.figures()
                if one.what == what and _fits(one.data_set, data_set) and _fits(one.method, method)
            ]
        found = []
        for row in compared.rows:
            if row.cells and _fits(row.data_set, data_set) and _fits(row.method, method):
                cells = list(row.cells)
                if which.startswith("trees"):
                    leaves = [n for cell in cells for n in cell.leaves]
                    wanted = which.removeprefix("trees").strip()
                    found.append(float(leaves.count(int(wanted)) if wanted else len(leaves)))
                else:
                    label = what.removeprefix("rows of ")
                    values = [
                        _VALUES[what](cell, row.method)
                        if label == what
                        else float(cell.matrix[cell.classes.index(label)].sum())
                        for cell in cells
                    ]
                    found.append(_OF_REPEATS[which](values))
        return found

    def _count(self, tables: str, data_set: str, method: str, kind: str) -> str:
        """How many published figures of some tables there are of a kind."""
        from reproduction.verdict import Summed, sum_up

        together = Summed()
        for name in tables.split("|"):
            compared = self.made_as_shown(name)
            if compared is not None:
                together += sum_up(
                    one
                    for one in compared.figures()
                    if _fits(one.data_set, data_set) and _fits(one.method, method)
                )
        both = together.both
        numbers = {
            "all": both.total,
            "reproduced": both.reproduced,
            "better": both.better,
            "worse": both.worse,
            "means differ": together.means.differ,
            "means": together.means.tested,
        }
        return str(numbers[kind])

    def made_as_shown(self, name: str) -> Comparison | None:
        """Return a table with the methods that are shown of it."""
        table = self._table(name)
        path = self.logs.get(table.cells_of or table.name)
        if path is None:
            return None
        return table.filled(Kept(path), table.choose_sets(), table.choose_methods())


@cache
def known_facts() -> Facts:
    """Return what the kept logs say."""
    return Facts()


def _from_csv(path: Path, data_set: str, method: str, column: str) -> str:
    """Return a figure of a kept table; more digits than these no sentence needs."""
    plain = column.partition("_")[0]
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            name, value = row.get("method") or row.get("way"), row.get(column) or row.get(plain)
            if (row["set"], name) == (data_set, method) and value:
                return f"{float(value):.1f}"
    return NOT_RUN


def _mean_rank(compared: Comparison, method: str, which: str) -> list[float]:
    """The mean rank of a method in HHCART's table 3, the paper's or ours."""
    from reproduction.papers.hhcart_published import MEAN_RANKS_3
    from reproduction.papers.rates import ClassRates

    assert isinstance(compared, ClassRates)
    found = MEAN_RANKS_3 if which == "paper" else compared.ranked() or {}
    return [found[method]] if method in found else []


def _fits(name: str, pattern: str) -> bool:
    return any(fnmatchcase(name, one) for one in pattern.split("|"))


def _digits(table: PaperTable, data_set: str, what: str, which: str, largest: float) -> int:
    """Decimals that a figure is told with."""
    if which.startswith("trees") or which == "repeats" or what.startswith(_WHOLE):
        return 0
    if which in ("z", "away", "spread"):
        return 2
    if which in ("t", "se"):
        return 1
    if what in ("error", "mean rank"):
        return 1 if which == "paper" and what == "mean rank" else 2
    if what == "accuracy":
        return table.digits(data_set)
    if what in ("leaves", "nodes") and largest >= 100.0:
        return 0
    return 2 if what == "nodes" else 1


def _accuracy(cell: CellResult, method: str) -> float:
    return 100.0 * measures.accuracy_of(cell.matrix)


def _leaves(cell: CellResult, method: str) -> float:
    return float(np.mean(cell.leaves))


def _error(cell: CellResult, method: str) -> float:
    return 100.0 - _accuracy(cell, method)


def _balanced(cell: CellResult, method: str) -> float:
    return 100.0 * float(measures.positive_rates_of(cell.matrix).mean())


def _rows(cell: CellResult, method: str) -> float:
    return float(cell.matrix.sum())


def _hyperplanes(cell: CellResult, method: str) -> float:
    return float(np.mean(cell.hyperplanes))


def _constant_errors(cell: CellResult, method: str) -> float:
    """Wrong answers of one who always names the class with most test rows."""
    return float(cell.matrix.sum() - cell.matrix.sum(axis=1).max())


def _nodes(cell: CellResult, method: str) -> float:
    from reproduction.papers.odt_shown import nodes

    return nodes(cell, method)


_VALUES: dict[str, Callable[[CellResult, str], float]] = {
    "accuracy": _accuracy,
    "leaves": _leaves,
    "error": _error,
    "balanced": _balanced,
    "rows": _rows,
    "constant errors": _constant_errors,
    "nodes": _nodes,
    "hyperplanes": _hyperplanes,
}


def _standard_error(values: list[float]) -> float:
    return mean_and_sd(values)[1] / math.sqrt(len(values))


_OF_REPEATS: dict[str, Callable[[list[float]], float]] = {
    "ours": lambda values: mean_and_sd(values)[0],
    "ours_sd": lambda values: mean_and_sd(values)[1],
    "se": _standard_error,
    "least": min,
    "most": max,
    "repeats": lambda values: float(len(values)),
}

_OF_FIGURES: dict[str, Callable[[PublishedFigure], float]] = {
    "paper": lambda one: one.published,
    "paper_sd": lambda one: one.published_sd,
    "z": lambda one: one.z,
    "away": lambda one: abs(one.z),
    "t": lambda one: abs(one.t),
    "spread": lambda one: one.spread,
}
