"""How a table of F-measures is printed, and what tables of single quantities share."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import dataclass

from obliqua.select.result import Figure
from reproduction.figures import PublishedFigure
from reproduction.tables import LIMIT, Comparison
from reproduction.verdict import (
    WHAT_COLUMNS_MEAN,
    said_of,
    shown_spread,
    shown_t,
    verdict,
    verdict_lines,
)

__all__ = ["FMeasures", "figures_csv", "marked"]

DIGITS = 3
_SAID = (shown_t, shown_spread, said_of)


def marked(figure: PublishedFigure) -> str:
    """Return how far apart two figures are, bold if that is far."""
    mark = "**" if abs(figure.z) > LIMIT else ""
    return "" if math.isnan(figure.z) else f"{mark}{figure.z:+.2f}{mark}"


def figures_csv(figures: Iterator[PublishedFigure]) -> str:
    """Return figures, unrounded, as CSV: a line each."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    heads = ["set", "method", "what", "paper", "paper_sd", "ours", "ours_sd", "judged_by", "z"]
    writer.writerow([*heads, "t", "spread", "verdict"])
    for one in figures:
        values = [one.published, one.published_sd, one.ours, one.ours_sd, one.judged_by, one.z]
        values += [one.t, one.spread]
        shown = ["" if math.isnan(value) else value for value in values]
        writer.writerow([one.data_set, one.method, one.what, *shown, verdict(one)])
    return text.getvalue()


@dataclass(frozen=True)
class FMeasures(Comparison):
    """Macro F of each method on each data set, the paper's and ours."""

    def markdown(self) -> str:
        """The F-measures as Markdown."""
        lines = [
            *(f"## {self.table.title}", ""),
            "| set | method | repeats | macro F: paper | ours | z | se | spread | verdict |",
            "|--|--|--:|--:|--:|--:|--:|--:|--:|",
        ]
        published = {(one.data_set, one.method): one for one in self.figures()}
        for row in self.rows:
            found = published.get((row.data_set, row.method))
            paper = "" if found is None else row.published.macro_f.text(DIGITS)
            z = "" if found is None else marked(found)
            ours = Figure(*row.ours.macro_f).text(DIGITS)
            cells = [row.data_set, row.method, str(row.ours.repeats), paper, ours, z]
            cells += ["" if found is None else said(found) for said in _SAID]
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", _MEANING, *(["", self.table.note] if self.table.note else [])]
        return "\n".join([*lines, "", *verdict_lines(self.table.name, published.values())]) + "\n"

    def csv(self) -> str:
        """The published F-measures and ours, unrounded, as CSV."""
        return figures_csv(self.figures())


_MEANING = (
    "Macro F is the mean of the F-measures of the classes, from the confusion matrix of all test "
    f"rows of a repeat. {WHAT_COLUMNS_MEAN}"
)
