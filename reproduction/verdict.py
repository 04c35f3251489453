"""What is said of a published figure and ours: how near they are, and on which side ours is.

A figure is judged by the standard deviation that the paper prints with it, which is that of single
repeats. Where it prints none, that of our own repeats stands in ("own sd"), and the summary counts
these figures apart. Where there is neither, nothing is said. More accuracy is better, and so are
fewer leaves. Figures of which neither more nor less is better are not judged: shares of
components, and hyperplanes, which each program counts in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from obliqua.select.result import Figure
from reproduction.reasons import reason_of

if TYPE_CHECKING:
    from reproduction.figures import PublishedFigure
    from reproduction.tables import Comparison

__all__ = [
    "HEADS",
    "WHAT_IS_COMPARED",
    "Counts",
    "Summed",
    "far",
    "figure_rows",
    "other_figures",
    "sum_up",
    "verdict",
    "verdict_lines",
]

# Figures are decimal: 0.52 - 0.5 in units of 0.02 is to be one.
ONE, TWO = 1.0 + 1e-9, 2.0 + 1e-9

#: The heads of `figure_rows`.
HEADS = ("set", "method", "figure", "paper", "ours", "z", "verdict")

#: What a verdict says, and what it does not.
WHAT_IS_COMPARED = (
    "A verdict compares means, the paper's and ours, in standard deviations of single repeats. A "
    "mean varies less than a single repeat, so two of them are a wide gate: within it nothing "
    "speaks against the paper, but a small difference would not be seen."
)

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
        More than two away, on the better or on the worse side.
    """

    within_one: int = 0
    within_two: int = 0
    better: int = 0
    worse: int = 0

    @property
    def total(self) -> int:
        """How many there are in all."""
        return self.within_one + self.within_two + self.better + self.worse

    def __add__(self, other: Counts) -> Counts:
        pairs = (getattr(self, f.name) + getattr(other, f.name) for f in fields(self))
        return Counts(*pairs)

    def __str__(self) -> str:
        return (
            f"{self.within_one} within one, {self.within_two} within two, {self.better} better "
            f"and {self.worse} worse by more than two"
        )


def _counted(figures: Iterable[PublishedFigure]) -> Counts:
    kinds = {"1": "within_one", "2": "within_two", ">": ""}
    found = Counts()
    for figure in figures:
        text = verdict(figure)
        kind = kinds[text[0]] or text.rpartition(" ")[2]
        found += Counts(**{kind: 1})
    return found


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
    """

    by_paper: Counts
    by_ours: Counts
    unjudged: int = 0

    def __add__(self, other: Summed) -> Summed:
        return Summed(
            self.by_paper + other.by_paper,
            self.by_ours + other.by_ours,
            self.unjudged + other.unjudged,
        )

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
        if self.unjudged:
            lines.append(f"Figures without any spread, which are not judged: {self.unjudged}.")
        return lines


def sum_up(figures: Iterable[PublishedFigure]) -> Summed:
    """Count figures by what is said of them."""
    every = [figure for figure in figures if not figure.what.startswith(_NOT_JUDGED)]
    known = [figure for figure in every if verdict(figure)]
    return Summed(
        _counted(f for f in known if not math.isnan(f.published_sd)),
        _counted(f for f in known if math.isnan(f.published_sd)),
        len(every) - len(known),
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
    for figure in far(every):
        side = "better" if figure.better else "worse"
        known = reason_of(table, figure.data_set, figure.method, figure.what)
        lines.append(
            f"- {figure.data_set} {figure.method}, {figure.what}: z = {figure.z:+.2f} ({side})"
            + (f". {known.text}" if known else "")
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
                verdict(figure),
            ]
        for what, ours in (("accuracy", row.ours.accuracy), ("leaves", row.ours.leaves)):
            if not found and not math.isnan(ours[0]):
                text = Figure(*ours).text(_digits(compared, row.data_set, what))
                yield [row.data_set, row.method, what, "", text, "", ""]


def other_figures(compared: Comparison) -> list[str]:
    """Return a table of the figures that are neither accuracies nor leaves, as Markdown."""
    shown = ("accuracy", "leaves", "hyperplanes")  # which stand elsewhere
    rows = [row for row in figure_rows(compared) if row[2] not in shown]
    if not rows:
        return []
    lines = ["| " + " | ".join(row) + " |" for row in [HEADS, *rows]]
    return ["Further figures:", "", lines[0], "|--|--|--" + "|--:" * 4 + "|", *lines[1:], ""]


def _digits(compared: Comparison, data_set: str, what: str) -> int:
    if what == "accuracy":
        return compared.table.digits(data_set)
    return _DIGITS.get(what.partition(" ")[0], 1)
