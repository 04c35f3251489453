"""A conclusion of a paper, the comparisons that bear on it, and what the logs say of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np

from obliqua.stats import metrics
from reproduction.catalogue import TABLES
from reproduction.claims.judging import Difference, P, holds, judged, on_average
from reproduction.entries import TableEntry
from reproduction.papers.odt_shown import nodes
from reproduction.protocol import CellResult
from reproduction.store import Kept

__all__ = [
    "ACCURACY",
    "BALANCED",
    "CPU",
    "DRAWN_ANEW",
    "HYPERPLANES",
    "LEAVES",
    "LESS_FOUND",
    "MACRO_F",
    "NODES",
    "NOT_RUN",
    "RATE",
    "SHARE",
    "Claim",
    "Comparison",
    "Finding",
    "Measure",
    "Outcome",
    "against",
    "examined",
    "smallest_trees",
]

#: The verdict where a log has no cells of a method.
NOT_RUN = "not run yet"

#: Tables in which each repeat draws rows of its own, so that repeats share none.
DRAWN_ANEW = frozenset(
    {
        *("2c-etct-table-1", "2c-etct-table-2", "etct-clusters"),
        *("claims-drawn", "claims-artificial", "claims-separator"),
    }
)


@dataclass(frozen=True)
class Measure:
    """What is compared.

    Parameters
    ----------
    name : str
        What it is called.
    of : callable
        Takes it from a cell and the name of its method; NaN if the cell does not tell.
    margin : float
        How large a difference is too small to count.
    ratio : bool, default=False
        Whether logarithms are compared, so that differences and the margin are ratios.
    digits : int, default=1
        Decimals.
    published : callable, default=None
        Takes it from what a paper prints, if it prints it.
    """

    name: str
    of: Callable[[CellResult, str], float]
    margin: float
    ratio: bool = False
    digits: int = 1
    published: Callable[[TableEntry], float] | None = None

    @property
    def bound(self) -> float:
        """The margin as differences have it."""
        return math.log(self.margin) if self.ratio else self.margin

    def scaled(self, value: float) -> float:
        """Return a value as differences are taken of it."""
        return math.log(value) if self.ratio else value

    def text(self, difference: float) -> str:
        """Write a difference: as a factor, or with its sign."""
        if self.ratio:
            return f"x {math.exp(difference):.2f}"
        return f"{difference:+.{self.digits + 1}f}"


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def _rate_of_the_smallest(cell: CellResult, method: str = "") -> float:
    """Return the true positive rate of the class with the fewest rows, in per cent."""
    return float(100.0 * metrics.positive_rates_of(cell.matrix)[cell.matrix.sum(axis=1).argmin()])


def _smallest_less_largest(cell: CellResult, method: str) -> float:
    """Return by how many points the smallest class is found more often than the largest."""
    largest = metrics.positive_rates_of(cell.matrix)[cell.matrix.sum(axis=1).argmax()]
    return _rate_of_the_smallest(cell) - float(100.0 * largest)


def _balanced(cell: CellResult, method: str) -> float:
    return float(100.0 * np.mean(metrics.positive_rates_of(cell.matrix)))


ACCURACY = Measure(
    "accuracy",
    lambda cell, _: 100.0 * metrics.accuracy_of(cell.matrix),
    1.0,
    digits=2,
    published=lambda entry: entry.accuracy.mean,
)
BALANCED = Measure("balanced accuracy", _balanced, 1.0)
MACRO_F = Measure(
    "macro F",
    lambda cell, _: float(metrics.macro_f_of(cell.matrix)),
    0.02,
    digits=3,
    published=lambda entry: entry.macro_f.mean,
)
LEAVES = Measure(
    "leaves",
    lambda cell, _: _mean(cell.leaves),
    1.25,
    ratio=True,
    published=lambda entry: entry.leaves.mean,
)
NODES = Measure(
    "nodes per tree",
    nodes,
    1.25,
    ratio=True,
    published=lambda entry: 2.0 * entry.leaves.mean - 1.0,
)
HYPERPLANES = Measure(
    "hyperplanes",
    lambda cell, _: _mean(cell.hyperplanes),
    1.25,
    ratio=True,
    digits=0,
    published=lambda entry: entry.hyperplanes.mean,
)
CPU = Measure("CPU ms of a fit", lambda cell, _: cell.cpu_ms, 1.25, ratio=True)
SHARE = Measure(
    "share of the first component",
    lambda cell, _: _mean([one[0] for one in cell.explained]),
    0.01,
    digits=3,
)
RATE = Measure("true positive rate of the smallest class", _rate_of_the_smallest, 1.0)
LESS_FOUND = Measure(
    "rate of the smallest class less that of the largest", _smallest_less_largest, 1.0
)


def smallest_trees(leaves: int) -> Measure:
    """Return the per cent of trees that have so many leaves, the fewest that part the classes."""
    return Measure(
        f"trees of {leaves} leaves, per cent",
        lambda cell, _: 100.0 * _mean([float(n == leaves) for n in cell.leaves]),
        1.0,
    )


Methods = str | tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """Two methods on a data set, or a method and a number.

    Parameters
    ----------
    table : str
        The table whose cells are compared.
    data_set : str
        The data set.
    left : str or tuple of str
        The method that the paper speaks of, or several, of which the mean is taken.
    asked : str
        What the paper says of it, see `reproduction.claims.judging`.
    right : str, tuple of str or float
        What it is compared with: a method, the mean of several, or a number.
    measure : Measure
        What is compared.
    """

    table: str
    data_set: str
    left: Methods
    asked: str
    right: Methods | float
    measure: Measure


def against(
    table: str,
    data_sets: Iterable[str],
    left: Methods,
    asked: str,
    rights: Iterable[Methods | float],
    measure: Measure,
) -> tuple[Comparison, ...]:
    """Return the comparisons of a method with several on several data sets."""
    others = tuple(rights)
    return tuple(
        Comparison(table, name, left, asked, right, measure)
        for name in data_sets
        for right in others
    )


@dataclass(frozen=True)
class Claim:
    """What a paper concludes.

    Parameters
    ----------
    where : str
        The section in which it stands.
    says : str
        The conclusion, in our words.
    readings : mapping of str to tuple of Comparison
        What it was judged by. Where it can be read, or run, in several ways, each has a name and a
        verdict of its own; a single one has an empty name.
    average : bool, default=False
        Whether it speaks of the average over data sets, and not of each.
    note : str, default=""
        What must be known to read the verdict.
    """

    where: str
    says: str
    readings: Mapping[str, tuple[Comparison, ...]]
    average: bool = False
    note: str = ""

    @property
    def tables(self) -> list[str]:
        """The tables that must be run for it."""
        return list(dict.fromkeys(c.table for cs in self.readings.values() for c in cs))


@dataclass(frozen=True)
class Outcome:
    """What the logs say of a comparison.

    Parameters
    ----------
    comparison : Comparison
        What is compared.
    difference : Difference
        Left minus right, one per repeat.
    left, right : float
        The means over the repeats.
    p : P
        The p-values, corrected if the verdict is about each data set.
    """

    comparison: Comparison
    difference: Difference
    left: float
    right: float
    p: P

    @property
    def narrow(self) -> P:
        """The p-values if only other divisions of the same rows are meant, not corrected."""
        measure = self.comparison.measure
        return judged(Difference(self.difference.values), self.comparison.asked, measure.bound)

    @property
    def printed(self) -> bool | None:
        """Whether the means that the paper prints say so; None if it does not print both."""
        c = self.comparison
        entries = TABLES[c.table].published.get(c.data_set, {})
        if c.measure.published is None or c.left not in entries or c.right not in entries:
            return None
        pair = [c.measure.published(entries[str(name)]) for name in (c.left, c.right)]
        if any(math.isnan(value) for value in pair):
            return None
        d = c.measure.scaled(pair[0]) - c.measure.scaled(pair[1])
        bound = c.measure.bound + 1e-9  # figures are decimal
        said = {
            "more": d > 0,
            "less": d < 0,
            "same": abs(d) <= bound,
            "not less": d >= -bound,
            "not more": d <= bound,
        }
        return said[c.asked]


@dataclass(frozen=True)
class Finding:
    """The verdict on a reading of a conclusion, and what it rests on.

    Parameters
    ----------
    reading : str
        The name of the reading.
    verdict : str
        Holds, does not hold, cannot be told, or not run yet.
    outcomes : tuple of Outcome
        The comparisons.
    here : str
        The verdict without the correction for rows that repeats share: about other divisions of
        the same rows only.
    average : P, default=None
        The p-values of a conclusion about the average.
    missing : tuple of str
        Tables of which cells are missing.
    """

    reading: str
    verdict: str
    here: str
    outcomes: tuple[Outcome, ...]
    average: P | None = None
    missing: tuple[str, ...] = field(default_factory=tuple)


def examined(claim: Claim, logs: Mapping[str, Kept]) -> list[Finding]:
    """Judge a conclusion by the logs, once for each of its readings."""
    return [_finding(claim, name, asked, logs) for name, asked in claim.readings.items()]


def _finding(
    claim: Claim, reading: str, asked: Sequence[Comparison], logs: Mapping[str, Kept]
) -> Finding:
    found: list[Outcome] = []
    missing: dict[str, None] = {}
    for one in asked:
        outcome = _outcome(one, logs)
        if outcome is None:
            missing[one.table] = None
        else:
            found.append(outcome)
    if missing:
        return Finding(reading, NOT_RUN, NOT_RUN, tuple(found), missing=tuple(missing))
    if claim.average:
        verdict, p = on_average([o.difference.mean for o in found], asked[0].asked)
        return Finding(reading, verdict, verdict, tuple(found), p)
    verdict, corrected = holds([o.p for o in found])
    here, _ = holds([o.narrow for o in found])
    pairs = zip(found, corrected, strict=True)
    return Finding(
        reading,
        verdict,
        here,
        tuple(Outcome(o.comparison, o.difference, o.left, o.right, p) for o, p in pairs),
    )


def _outcome(asked: Comparison, logs: Mapping[str, Kept]) -> Outcome | None:
    """Compare two methods repeat by repeat; None if there are no cells."""
    log = logs.get(TABLES[asked.table].cells_of or asked.table)
    if log is None:
        return None
    measure = asked.measure
    left = _values(log, asked.data_set, asked.left, measure)
    if isinstance(asked.right, float):
        right = dict.fromkeys(left, asked.right)
    else:
        right = _values(log, asked.data_set, asked.right, measure)
    common = sorted(set(left) & set(right))
    if not common:
        return None
    difference = Difference(
        tuple(measure.scaled(left[r]) - measure.scaled(right[r]) for r in common),
        _n_folds(log, asked),
    )
    return Outcome(
        asked,
        difference,
        fmean(left[r] for r in common),
        fmean(right[r] for r in common),
        judged(difference, asked.asked, measure.bound),
    )


def _values(log: Kept, data_set: str, methods: Methods, measure: Measure) -> dict[int, float]:
    """Return a measure by the number of the repeat, of repeats that tell it."""
    if isinstance(methods, tuple):
        each = [_values(log, data_set, method, measure) for method in methods]
        return {r: fmean(one[r] for one in each) for r in set.intersection(*map(set, each))}
    cells = log.cells(data_set, methods)
    found = {repeat: measure.of(CellResult(**cell), methods) for repeat, cell in cells.items()}
    return {repeat: value for repeat, value in found.items() if not math.isnan(value)}


def _n_folds(log: Kept, asked: Comparison) -> int:
    """Return the folds that share their rows; 0 where rows are fixed or drawn anew."""
    division = str(log.settings["division", asked.data_set])
    if division == "fixed test rows" or asked.table in DRAWN_ANEW:
        return 0
    return int(division.split()[0])
