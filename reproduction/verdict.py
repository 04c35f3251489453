"""What is said of a published figure and ours: how near they are, and on which side ours is.

A figure is judged by the standard deviation that the paper prints with it, which is that of single
repeats. Where it prints none, that of our own repeats stands in ("own sd"), but never one that is
wide beside the paper's figure, and the summary counts these figures apart. Where there is neither,
nothing is said. More accuracy is better, and so are fewer leaves. Beyond two standard deviations a
figure is not reproduced, whichever side it is on. Figures of which neither more nor less is better
are not judged: shares of components, and hyperplanes, which each program counts in its own way.

Beside that stand two tests, which are stricter: whether the means differ, in standard errors of
their difference, and whether the spreads do.

A published number is counted once, however many readings of it were run, and so are rates that
follow from each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from obliqua.select.result import Figure
from reproduction.figures import LEVEL
from reproduction.reasons import why_not

if TYPE_CHECKING:
    from reproduction.figures import PublishedFigure
    from reproduction.tables import Comparison

__all__ = [
    "HEADS",
    "MISPRINTED",
    "WHAT_COLUMNS_MEAN",
    "Counts",
    "Summed",
    "Tally",
    "counted",
    "far",
    "figure_rows",
    "other_figures",
    "said_of",
    "shown_spread",
    "shown_t",
    "sum_up",
    "verdict",
    "verdict_lines",
    "what_is_compared",
]

# Figures are decimal: 0.52 - 0.5 in units of 0.02 is to be one.
ONE, TWO = 1.0 + 1e-9, 2.0 + 1e-9

#: The heads of `figure_rows`.
HEADS = ("set", "method", "figure", "paper", "ours", "z", "se", "spread", "verdict")

#: What stands in the columns of tables.
WHAT_COLUMNS_MEAN = (
    "z = (ours - paper) / standard deviation in the paper; se: the same difference in standard "
    "errors of the two means; spread: our standard deviation over the paper's. A star: a test at "
    f"the level of {LEVEL:.0%} tells them apart."
)

#: Stands behind the verdict on a figure that was probably misprinted.
MISPRINTED = "†"

_NOT_JUDGED = ("hyperplanes", "share")
# Decimals of what is neither an accuracy nor a number of leaves.
_DIGITS = {"macro": 3, "true": 2, "error": 2, "nodes": 2, "share": 3, "hyperplanes": 0}


def verdict(figure: PublishedFigure) -> str:
    """Say how near our figure is to the published one.

    ``"1 sd"`` is at most one standard deviation; beyond that it is ``"2 sd"`` or ``"> 2 sd"`` with
    the side on which ours is, as in ``"> 2 sd, worse"``. It is ``"own sd"`` where the paper has
    none. Nothing if it cannot be judged.
    """
    if math.isnan(figure.z) or figure.what.startswith(_NOT_JUDGED):
        return ""
    side = "better" if figure.better else "worse"
    sd = "own sd" if math.isnan(figure.published_sd) else "sd"
    if abs(figure.z) <= ONE:
        return f"1 {sd}"
    return f"2 {sd}, {side}" if abs(figure.z) <= TWO else f"> 2 {sd}, {side}"


def said_of(figure: PublishedFigure) -> str:
    """Return the verdict as a table shows it: with a mark at what was probably misprinted."""
    text = verdict(figure)
    return f"{text} {MISPRINTED}" if text and figure.misprint else text


def shown_t(figure: PublishedFigure) -> str:
    """Return the difference of the means in standard errors, with a star if it is significant."""
    if math.isnan(figure.t) or not verdict(figure):
        return ""
    return f"{figure.t:+.1f}{'*' if figure.means_differ else ''}"


def shown_spread(figure: PublishedFigure) -> str:
    """Return our deviation over the paper's, with a star if an F test tells them apart."""
    if math.isnan(figure.spread) or not verdict(figure):
        return ""
    return f"{figure.spread:.2f}{'*' if figure.spreads_differ else ''}"


def what_is_compared(figures: Iterable[PublishedFigure]) -> list[str]:
    """Say what the columns mean, and what a verdict says and does not."""
    lines = [
        (
            "z: ours minus the paper's, in standard deviations of single repeats: the paper's, or "
            "ours where it prints none (own sd)."
        ),
        (
            "verdict: 1 sd is at most one of them, 2 sd at most two, and '2 sd, worse' is "
            "between one and two on the worse side: less accuracy, or more leaves. Beyond two "
            "(>) a figure is not reproduced, on either side. A mean varies less than a single "
            "repeat, so this is a wide gate."
        ),
        (
            "se: the same difference in standard errors of the two means, which is the strict "
            "test; spread: our standard deviation divided by the paper's. A star: a test at the "
            "level of "
            f"{LEVEL:.0%} tells the two apart, as chance alone does in one of twenty cases."
        ),
    ]
    every = list(figures)
    if any(" rate of " in figure.what for figure in every):
        lines.append("TPR, TNR: true positive and true negative rate of a class.")
    if any(figure.misprint for figure in every):
        lines.append(f"{MISPRINTED}: the published figure is probably a misprint.")
    return lines


@dataclass(frozen=True)
class Counts:
    """How many figures there are of each kind.

    Parameters
    ----------
    within_one : int, default=0
        At most one standard deviation away.
    within_two : int, default=0
        More than one, at most two.
    better, worse : int, default=0
        More than two away, on the better or on the worse side: not reproduced.
    """

    within_one: int = 0
    within_two: int = 0
    better: int = 0
    worse: int = 0

    @property
    def total(self) -> int:
        """How many there are in all."""
        return self.within_one + self.within_two + self.better + self.worse

    @property
    def reproduced(self) -> int:
        """How many are at most two away."""
        return self.within_one + self.within_two

    def __add__(self, other: Counts) -> Counts:
        pairs = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return Counts(*pairs)

    def __str__(self) -> str:
        return (
            f"{self.reproduced} reproduced ({self.within_one} within one, {self.within_two} "
            f"within two), {self.better + self.worse} not: {self.better} better and {self.worse} "
            f"worse "
            "by more than two"
        )


@dataclass(frozen=True)
class Tally:
    """In how many of the cases that could be tested the paper and we differ."""

    tested: int = 0
    differ: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.tested + other.tested, self.differ + other.differ)

    def __str__(self) -> str:
        return f"{self.differ} of {self.tested}"


def _counted(figures: Iterable[PublishedFigure]) -> Counts:
    kinds = {"1": "within_one", "2": "within_two", ">": ""}
    found = Counts()
    for figure in figures:
        text = verdict(figure)
        kind = kinds[text[0]] or text.rpartition(" ")[2]
        found += Counts(**{kind: 1})
    return found


def _tally(answers: Iterable[bool | None]) -> Tally:
    known = [answer for answer in answers if answer is not None]
    return Tally(len(known), sum(known))


@dataclass(frozen=True)
class Summed:
    """What all figures of a table, or of several, say together.

    Parameters
    ----------
    by_paper : Counts
        Figures that the paper prints with a standard deviation.
    by_ours : Counts
        Figures that it prints without, judged by the standard deviation of our repeats.
    unjudged : int, default=0
        Figures for which there is neither.
    repeated : int, default=0
        Figures that are not counted: other readings of a published number, and what follows from
        others.
    means, spreads : Tally
        How many means and spreads differ, of those that can be tested.
    """

    by_paper: Counts = Counts()
    by_ours: Counts = Counts()
    unjudged: int = 0
    repeated: int = 0
    means: Tally = Tally()
    spreads: Tally = Tally()

    def __add__(self, other: Summed) -> Summed:
        return Summed(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def both(self) -> Counts:
        """All figures that are judged."""
        return self.by_paper + self.by_ours

    def sentences(self) -> list[str]:
        """Return the counts in words."""
        lines = []
        if self.by_paper.total:
            lines.append(
                f"Figures with a published standard deviation: {self.by_paper.total}. In these "
                f"deviations {self.by_paper}."
            )
        if self.by_ours.total:
            lines.append(
                f"Figures without one, judged by that of our repeats: {self.by_ours.total}; "
                f"{self.by_ours}."
            )
        if self.means.tested:
            lines.append(
                f"The strict test: means differ at the level of {LEVEL:.0%} in {self.means} "
                f"figures (chance alone: {LEVEL * self.means.tested:.1f})"
                + (f", and spreads in {self.spreads}." if self.spreads.tested else ".")
            )
        if self.unjudged:
            lines.append(f"Figures without any spread, which are not judged: {self.unjudged}.")
        if self.repeated:
            lines.append(
                "Not counted, as they are other readings of the same published number or follow "
                f"from others: {self.repeated}."
            )
        return lines


def counted(figures: Iterable[PublishedFigure]) -> list[PublishedFigure]:
    """Return the figures that count: each published number once.

    Of several readings of one it is the one that the table names, or the first if that was not
    run; of rates that follow from each other the one that is farthest away.
    """
    groups: dict[tuple[str, str, str], list[PublishedFigure]] = {}
    for figure in figures:
        if not figure.what.startswith(_NOT_JUDGED):
            data_set, method, what = figure.counts_as
            key = (data_set or figure.data_set, method or figure.method, what or figure.what)
            groups.setdefault(key, []).append(figure)
    found = []
    for named, group in groups.items():
        first = (group[0].data_set, group[0].method)
        chosen = named[:2] if any(one[:2] == named[:2] for one in group) else first
        readings = [one for one in group if one[:2] == chosen]
        found.append(max(readings, key=lambda one: 0.0 if math.isnan(one.z) else abs(one.z)))
    return found


def sum_up(figures: Iterable[PublishedFigure]) -> Summed:
    """Count figures by what is said of them."""
    every = [figure for figure in figures if not figure.what.startswith(_NOT_JUDGED)]
    once = counted(every)
    known = [figure for figure in once if verdict(figure)]
    return Summed(
        _counted(f for f in known if not math.isnan(f.published_sd)),
        _counted(f for f in known if math.isnan(f.published_sd)),
        len(once) - len(known),
        len(every) - len(once),
        _tally(f.means_differ for f in known),
        _tally(f.spreads_differ for f in known),
    )


def far(figures: Iterable[PublishedFigure]) -> list[PublishedFigure]:
    """Return the figures that are more than two standard deviations apart."""
    return [figure for figure in figures if verdict(figure).startswith(">")]


def verdict_lines(table: str, figures: Iterable[PublishedFigure]) -> list[str]:
    """Say in Markdown how many figures hold, and list those that are far apart, with reasons."""
    every = list(figures)
    lines = []
    for sentence in sum_up(every).sentences():
        lines += [sentence, ""]
    count = counted(every)
    for figure in far(every):
        side = "better" if figure.better else "worse"
        side += "" if figure in count else "; not counted"
        known = why_not(table, figure)
        lines.append(
            f"- {figure.data_set} {figure.method}, {figure.what}: z = {figure.z:+.2f} ({side})"
            + (f". {known[0]}" if known else "")
        )
    return lines if not lines or lines[-1] else lines[:-1]


def figure_rows(compared: Comparison) -> Iterator[list[str]]:
    """Yield what is shown of a table, a line per figure: the texts below `HEADS`.

    Of methods that no paper has, these are accuracy and leaves.
    """
    published = list(compared.figures())
    for row in compared.rows:
        found = [f for f in published if (f.data_set, f.method) == (row.data_set, row.method)]
        for figure in found:
            digits = _digits(compared, figure.data_set, figure.what)
            yield [
                *(figure.data_set, figure.method, figure.what),
                Figure(figure.published, figure.published_sd).text(digits),
                Figure(figure.ours, figure.ours_sd).text(digits),
                "" if math.isnan(figure.z) else f"{figure.z:+.2f}",
                *(shown_t(figure), shown_spread(figure), said_of(figure)),
            ]
        for what, ours in (("accuracy", row.ours.accuracy), ("leaves", row.ours.leaves)):
            if not found and not math.isnan(ours[0]):
                text = Figure(*ours).text(_digits(compared, row.data_set, what))
                yield [row.data_set, row.method, what, "", text, *[""] * 4]


def other_figures(compared: Comparison) -> list[str]:
    """Return a table of the figures that are neither accuracies nor leaves, as Markdown."""
    shown = ("accuracy", "leaves", "hyperplanes")  # which stand elsewhere
    rows = [row for row in figure_rows(compared) if row[2] not in shown]
    if not rows:
        return []
    lines = ["| " + " | ".join(row) + " |" for row in [HEADS, *rows]]
    return ["Further figures:", "", lines[0], "|--|--|--" + "|--:" * 6 + "|", *lines[1:], ""]


def _digits(compared: Comparison, data_set: str, what: str) -> int:
    if what == "accuracy":
        return compared.table.digits(data_set)
    return _DIGITS.get(what.partition(" ")[0], 1)
