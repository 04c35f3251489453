"""A published table beside ours: what each cell says, how far apart, and the text to print."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from itertools import islice, takewhile
from typing import TypeVar

import numpy as np

from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.effort import (
    effort_names,
    effort_table,
    effort_values,
    mean_effort,
)
from reproduction.entries import Entries, TableEntry
from reproduction.figures import (
    PublishedFigure,
    Remark,
    published_figures,
    unavailable_lines,
)
from reproduction.protocol import (
    N_FOLDS,
    CellResult,
    DataSet,
    Summary,
    summarise,
)
from reproduction.running import TablePart, run
from reproduction.store import Kept, Store
from reproduction.verdict import (
    WHAT_COLUMNS_MEAN,
    other_figures,
    said_of,
    shown_spread,
    shown_t,
    sum_up,
    verdict,
    verdict_lines,
)

__all__ = ["LIMIT", "Comparison", "PaperTable", "Row", "run_table"]

#: A cell is marked if it is more than this many published standard deviations away.
LIMIT = 2.0

Thing = TypeVar("Thing")


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper and how to make it again.

    Parameters
    ----------
    name : str
        The name on the command line.
    title : str
        Paper and table.
    data_sets : tuple of DataSet
        Its data sets, in its order.
    methods : tuple of Method
        All methods that can be run, those of the paper first.
    standard : tuple of str
        Names of the methods that are run if none are named.
    published, prototype : mapping
        Figures by data set and method: the paper's, and those of an independent prototype.
    repeats : int
        Repeats in the paper.
    n_folds : int
        Folds of a cross-validation.
    reference : str
        What the figures of `prototype` are, if they are not those of a prototype.
    effort : bool
        Whether a second table says what the trees took: hyperplanes, CPU time, and features.
    note : str
        What must be known to read the figures; it stands below them.
    shown_as : type of Comparison or None
        What prints the table, if not a `Comparison`.
    cells_of : str
        Name of the table whose cells this one shows, if it has none of its own. Its data sets,
        methods and folds must be the same there.
    unavailable : mapping of str to str
        Data sets of the published table that cannot be had, and why. Nothing is run on them.
    protocol : str
        How the paper measures, in a few words.
    repeats_of_paper : int
        Repeats that the paper's means have, if not `repeats`.
    readings : mapping of str to str
        Where several methods stand for one published number: by the name of each the name of
        that by which the number is counted.
    copied_rows : mapping of str to str
        Data sets whose published row is that of another one, probably by mistake: by the name of
        each the name of that which is counted.
    misprints : tuple of Remark
        What in the paper cannot be right.
    """

    name: str
    title: str
    data_sets: tuple[DataSet, ...]
    methods: tuple[Method, ...]
    standard: tuple[str, ...]
    published: Entries
    prototype: Entries
    repeats: int = 10
    n_folds: int = N_FOLDS
    reference: str = "prototype"
    effort: bool = False
    note: str = ""
    shown_as: type[Comparison] | None = None
    cells_of: str = ""
    unavailable: Mapping[str, str] = field(default_factory=dict)
    protocol: str = ""
    repeats_of_paper: int = 0
    readings: Mapping[str, str] = field(default_factory=dict)
    copied_rows: Mapping[str, str] = field(default_factory=dict)
    misprints: tuple[Remark, ...] = ()

    def compared(self, rows: Sequence[Row]) -> Comparison:
        """Return the table with our figures filled in."""
        return (self.shown_as or Comparison)(self, tuple(rows))

    def filled(
        self,
        kept: Kept,
        data_sets: Sequence[DataSet],
        methods: Sequence[Method],
        repeats: Mapping[str, int] | None = None,
    ) -> Comparison:
        """Return the table with a row for each data set and method that a file has repeats of."""
        rows = []
        for data_set in data_sets:
            for method in methods:
                most = None if repeats is None else repeats[data_set.name]
                cells = _cells(kept, data_set.name, method.name, most)
                if not cells:
                    continue
                row = Row(
                    data_set.name,
                    method.name,
                    self.published.get(data_set.name, {}).get(method.name, TableEntry()),
                    self.prototype.get(data_set.name, {}).get(method.name, TableEntry()),
                    summarise(cells),
                    cells,
                )
                rows.append(row)
        return self.compared(rows)

    def choose_sets(self, names: Sequence[str] | None = None) -> list[DataSet]:
        """Return data sets by name."""
        known = {data_set.name: data_set for data_set in self.data_sets}
        return [_known(name, known, "data set") for name in (known if names is None else names)]

    def choose_methods(self, names: Sequence[str] | None = None) -> list[Method]:
        """Return methods by name."""
        known = {method.name: method for method in self.methods}
        return [
            _known(name, known, "method") for name in (self.standard if names is None else names)
        ]

    def count_repeats(
        self, repeats: int | Mapping[str, int] | None = None, names: Sequence[str] | None = None
    ) -> dict[str, int]:
        """Return the number of repeats of each data set."""
        everywhere = repeats if isinstance(repeats, int) else self.repeats
        single = repeats if isinstance(repeats, Mapping) else {}
        self.choose_sets(list(single))  # a misspelt name is an error
        counts = {data_set.name: everywhere for data_set in self.choose_sets(names)} | dict(single)
        for name, count in counts.items():
            if count < 1:
                raise ValueError(f"there must be at least one repeat, got {count} for {name}")
        return counts

    def digits(self, data_set: str) -> int:
        """Return the decimals of accuracies: where they vary by hundredths, one shows nothing."""
        entries = self.published.get(data_set, {}).values()
        return 2 if any(entry.accuracy.sd < 0.1 for entry in entries) else 1


def _known(name: str, known: Mapping[str, Thing], what: str) -> Thing:
    if name not in known:
        raise ValueError(f"no {what} is called {name!r}; there are {', '.join(known)}")
    return known[name]


@dataclass(frozen=True)
class Row:
    """One method on one data set: the paper's figures, the prototype's and ours."""

    data_set: str
    method: str
    published: TableEntry
    prototype: TableEntry
    ours: Summary
    cells: tuple[CellResult, ...] = ()

    @property
    def z_accuracy(self) -> float:
        """Our accuracy minus the paper's, in the paper's standard deviations."""
        return _z(self.ours.accuracy[0], self.published.accuracy)

    @property
    def z_leaves(self) -> float:
        """Our number of leaves minus the paper's, in the paper's standard deviations."""
        return _z(self.ours.leaves[0], self.published.leaves)


def _z(ours: float, published: Figure) -> float:
    return (ours - published.mean) / published.sd


@dataclass(frozen=True)
class Comparison:
    """A table with our figures filled in.

    Parameters
    ----------
    table : PaperTable
        The table.
    rows : tuple of Row
        Published and measured figures, a row per data set and method.
    """

    table: PaperTable
    rows: tuple[Row, ...]

    def markdown(self) -> str:
        """The table, what is outside the limit, and means per method, as Markdown."""
        other = self.table.reference
        lines = [f"## {self.table.title}", "", *self._figures()]
        lines += ["", self.table.note] if self.table.note else []
        lines += ["", *self._verdict(), "", *unavailable_lines(self.table)]
        if self.table.effort:
            lines += [*effort_table(self.rows, other), ""]
        lines += other_figures(self)
        return "\n".join([*lines, *self._means()]) + "\n"

    def _figures(self) -> list[str]:
        """All figures. A column in which nothing stands would only make the table wider."""
        rows = [self._written(row) for row in self.rows]
        names = ("paper", self.table.reference, "ours", "z", "se", "spread", "verdict")
        filled = [any(row[place] for row in rows) for place in range(3, 3 + 2 * len(names))]
        head = ["set", "method", "repeats"]
        kept = [0, 1, 2]
        for start, what in ((0, "accuracy: "), (len(names), "leaves: ")):
            for place in range(start, start + len(names)):
                if filled[place]:
                    head.append(what + names[place - start])
                    kept.append(place + 3)
                    what = ""  # stands in front of the first one
        lines = [head, *([row[place] for place in kept] for row in rows)]
        written = ["| " + " | ".join(line) + " |" for line in lines]
        return [written[0], "|--|--|--:" + "|--:" * (len(kept) - 3) + "|", *written[1:]]

    def _written(self, row: Row) -> list[str]:
        """What stands in a row of the Markdown table."""
        out = [row.data_set, row.method, str(row.ours.repeats)]
        published = self._published(row)
        for digits, what, (paper, prototype, ours, z) in zip(
            (self.table.digits(row.data_set), 1),
            ("accuracy", "leaves"),
            _quantities(row),
            strict=True,
        ):
            mark = "**" if abs(z) > LIMIT else ""
            shown = "" if math.isnan(z) else f"{mark}{z:+.2f}{mark}"
            out += [paper.text(digits), prototype.text(digits), ours.text(digits), shown]
            figure = published.get(what)
            out += [said(figure) if figure else "" for said in (shown_t, shown_spread, said_of)]
        return out

    def _published(self, row: Row) -> dict[str, PublishedFigure]:
        """The published figures of a row, by their names."""
        return {figure.what: figure for figure in published_figures(self.table, [row])}

    def figures(self) -> Iterator[PublishedFigure]:
        """Each published figure beside ours."""
        return published_figures(self.table, self.rows)

    def _told(self) -> list[str]:
        """What the verdicts say together, with an empty line before it; or nothing."""
        lines = verdict_lines(self.table.name, self.figures())
        return ["", *lines] if lines else []

    def _verdict(self) -> list[str]:
        lines = verdict_lines(self.table.name, self.figures())
        if sum_up(self.figures()).by_paper.total:
            lines = [WHAT_COLUMNS_MEAN, "", *lines]
        return lines + (self._verdict_by_reference() if self.table.effort else [])

    def _verdict_by_reference(self) -> list[str]:
        """The same in the reference's standard deviations, for the methods that it has."""
        whose = self.table.reference
        judged = [
            (row, what, _z(ours.mean, theirs))
            for row in self.rows
            for what, (_, theirs, ours, _) in zip(
                ("accuracy", "leaves"), _quantities(row), strict=True
            )
        ]
        known = [(row, what, z) for row, what, z in judged if not math.isnan(z)]
        if not known:
            return []
        outside = [(row, what, z) for row, what, z in known if abs(z) > LIMIT]
        lines = ["", f"Within {LIMIT:g} standard deviations of the {whose}: "]
        lines[-1] += f"{len(known) - len(outside)} of {len(known)} cells."
        lines.append("")
        for row, what, z in outside:
            verdict = "better" if (z > 0) == (what == "accuracy") else "worse"
            lines.append(f"- {row.data_set} {row.method}, {what}: {z:+.2f} ({verdict})")
        return lines

    def _means(self) -> list[str]:
        """Means over data sets, only over those on which every method has run."""
        by_method: dict[str, dict[str, Row]] = {}
        for row in self.rows:
            by_method.setdefault(row.method, {})[row.data_set] = row
        common = [
            name
            for name in dict.fromkeys(row.data_set for row in self.rows)
            if all(name in rows for rows in by_method.values())
        ]
        if not common:
            return ["No data set was run with every method, so there are no means."]
        more = " features per split | CPU ms per fit |" if self.table.effort else ""
        lines = [
            f"Means over {', '.join(common)}:",
            "",
            "| method | accuracy | leaves | macro F |" + more,
            "|--|--:|--:|--:|" + ("--:|--:|" if more else ""),
        ]
        for method, rows in by_method.items():
            ours = [rows[name].ours for name in common]
            accuracy = np.mean([found.accuracy[0] for found in ours])
            leaves = Figure(float(np.mean([found.leaves[0] for found in ours]))).text(2)
            f = np.mean([found.macro_f[0] for found in ours])
            line = f"| {method} | {accuracy:.2f} | {leaves} | {f:.3f} |"
            lines.append(line + (mean_effort(ours) if more else ""))
        return lines

    def csv(self) -> str:
        """The same figures, unrounded, as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        head = ["set", "method", "repeats"]
        quantities = ("accuracy", "leaves")
        for what in quantities:
            for whose in ("paper", self.table.reference, "ours"):
                head += [f"{what}_{whose}", f"{what}_{whose}_sd"]
            head += [f"{what}_{name}" for name in ("z", "t", "spread", "verdict")]
        head += ["macro_f_ours", "macro_f_ours_sd"]
        effort = self.table.effort
        writer.writerow([*head, *(effort_names(self.table.reference) if effort else ())])
        for row in self.rows:
            out: list[object] = [row.data_set, row.method, row.ours.repeats]
            published = self._published(row)
            for what, (paper, prototype, ours, z) in zip(
                quantities, _quantities(row), strict=True
            ):
                out += [paper.mean, paper.sd, prototype.mean, prototype.sd, ours.mean, ours.sd]
                one = published.get(what)
                out += [z, *((one.t, one.spread, verdict(one)) if one else ("", "", ""))]
            out += row.ours.macro_f
            out += effort_values(row) if effort else ()
            writer.writerow(["" if _is_nan(value) else value for value in out])
        return text.getvalue()


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _quantities(row: Row) -> list[tuple[Figure, Figure, Figure, float]]:
    """Accuracy, then leaves: paper, prototype, ours, z."""
    paper, prototype, ours = row.published, row.prototype, row.ours
    return [
        (paper.accuracy, prototype.accuracy, Figure(*ours.accuracy), row.z_accuracy),
        (paper.leaves, prototype.leaves, Figure(*ours.leaves), row.z_leaves),
    ]


def run_table(
    table: PaperTable,
    store: Store,
    *,
    data_sets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    repeats: int | Mapping[str, int] | None = None,
    n_jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Run a table, in full or reduced, and compare it with the published one."""
    chosen_sets, chosen = table.choose_sets(data_sets), table.choose_methods(methods)
    counts = table.count_repeats(repeats, data_sets)
    run(
        TablePart(store, chosen_sets, chosen, counts, table.n_folds),
        n_jobs=n_jobs,
        progress=progress,
    )
    return table.filled(store, chosen_sets, chosen, counts)


def _cells(kept: Kept, data_set: str, method: str, most: int | None) -> tuple[CellResult, ...]:
    """Return the first repeats, without a gap."""
    found = kept.cells(data_set, method)
    first = takewhile(found.__contains__, numbers())
    return tuple(CellResult(**found[repeat]) for repeat in islice(first, most))
