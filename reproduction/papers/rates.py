"""How a table of rates of classes is printed, and how methods are ranked by them.

**The rule of HHCART's mean ranks.** The paper ranks its five methods on each of the seven data
sets whose classes are of different sizes, by the true positive rate of the smallest class, and
prints the means of these ranks: 3.1, 2.4, 2.5, 3.1 and 3.7. Where a set has several small classes
it says that the methods are "ranked by considering the overall performance". Only one reading of
that which we tried gives the printed means from the printed rates: equal rates share their mean
rank; on Glass the classes are 3, 5, 6 and 7, on Shuttle 2, 3, 6 and 7; there methods are ranked
for each class, and then by the sum of these ranks. The means are 22/7, 17/7, 18/7, 22/7 and 26/7,
and they are cut off after the first decimal, not rounded: 18/7 is 2.57. With rounding no rule can
give them, as the printed means would have to add up to nearly 15 and add up to 14.8. Ranking
Glass or Shuttle by the mean rate, or without class 7 of Glass, gives other means.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from obliqua._typing import FloatArray
from obliqua.select.result import Figure
from reproduction.figures import NEGATIVE, POSITIVE, PublishedFigure, rates
from reproduction.papers.f_measure import figures_csv
from reproduction.papers.hhcart_published import COMPARED, MEAN_RANKS_3, MINORITY
from reproduction.tables import Comparison, Row
from reproduction.verdict import said_of, shown_t, verdict_lines

__all__ = ["ClassRates", "cut", "mean_ranks", "ranks"]

DIGITS = 2


def ranks(rate: FloatArray) -> FloatArray:
    """Rank methods on one data set: 1 is the best, and equal ones share their mean rank.

    With several classes methods are ranked by the sum of their ranks.
    """
    by_class = rankdata(-rate, axis=1)
    return np.asarray(rankdata(by_class.sum(axis=0)), dtype=np.float64)


def mean_ranks(found: Mapping[str, FloatArray]) -> FloatArray:
    """Return the mean ranks of methods over data sets."""
    return np.mean([ranks(np.round(rate, DIGITS)) for rate in found.values()], axis=0)


def cut(mean: float) -> float:
    """Cut a mean rank off after the first decimal, as the paper does."""
    return math.floor(10.0 * mean + 1e-9) / 10.0


@dataclass(frozen=True)
class ClassRates(Comparison):
    """True positive rates, true negative rates, and mean ranks: the paper's and ours."""

    def markdown(self) -> str:
        """The rates and the ranks as Markdown."""
        published = {(one.data_set, one.method, one.what): one for one in self.figures()}
        lines = [f"## {self.table.title}", ""]
        for what in (POSITIVE, NEGATIVE):
            lines += [*self._lines(what, published), ""]
        lines += [self.table.note, ""] if self.table.note else []
        lines += verdict_lines(self.table.name, published.values())
        return "\n".join([*lines, "", *self._ranked()]) + "\n"

    def _lines(
        self, what: str, published: Mapping[tuple[str, str, str], PublishedFigure]
    ) -> list[str]:
        """One of the two tables; methods of which the paper has no such rate are left out."""
        shown = [
            method
            for method in dict.fromkeys(row.method for row in self.rows)
            if any(key[1] == method and key[2].startswith(what) for key in published)
        ]
        if not shown:
            return [f"No {what} of these methods is published."]
        heads = " | ".join(f"{method}: paper | ours | se | verdict" for method in shown)
        lines = [f"{what.capitalize()}s:", "", f"| set | class | rows | {heads} |"]
        lines.append("|--|--|--:" + "|--:" * 4 * len(shown) + "|")
        for data_set, by_method in self._by_set().items():
            for label, n_rows in _classes(next(iter(by_method.values()))):
                cells = [
                    cell
                    for method in shown
                    for cell in _cells(
                        by_method.get(method),
                        label,
                        what,
                        published.get((data_set, method, f"{what} of {label}")),
                    )
                ]
                lines.append("| " + " | ".join([data_set, label, str(n_rows), *cells]) + " |")
        return lines

    def _by_set(self) -> dict[str, dict[str, Row]]:
        found: dict[str, dict[str, Row]] = {}
        for row in self.rows:
            found.setdefault(row.data_set, {})[row.method] = row
        return found

    def ranked(self) -> dict[str, float] | None:
        """Mean ranks of our trees by the paper's rule.

        None if a method or a data set that the rule needs was not run.
        """
        by_set = self._by_set()
        if any(not set(COMPARED) <= set(by_set.get(name, ())) for name in MINORITY):
            return None
        found = {
            name: np.array(
                [
                    [rates(by_set[name][method].cells, label, POSITIVE)[0] for method in COMPARED]
                    for label in labels
                ]
            )
            for name, labels in MINORITY.items()
        }
        return dict(zip(COMPARED, mean_ranks(found).tolist(), strict=True))

    def _ranked(self) -> list[str]:
        ours = self.ranked()
        if ours is None:
            needed = f"all of {', '.join(COMPARED)} on all of {', '.join(MINORITY)}"
            return [f"There are no mean ranks: they need {needed}."]
        head = "| mean rank | " + " | ".join(COMPARED) + " |"
        theirs = " | ".join(f"{MEAN_RANKS_3[method]:.1f}" for method in COMPARED)
        mine = " | ".join(f"{ours[method]:.2f}" for method in COMPARED)
        lines = [head, "|--" + "|--:" * len(COMPARED) + "|"]
        return [*lines, f"| paper | {theirs} |", f"| ours | {mine} |", "", _RULE]

    def csv(self) -> str:
        """The published rates and ours, unrounded, as CSV; the mean ranks at the end."""
        text, ours = figures_csv(self.figures()), self.ranked()
        for method, mean in (ours or {}).items():
            text += f"all,{method},mean rank,{MEAN_RANKS_3[method]},,{mean},,,,,,\n"
        return text


_RULE = (
    "Ranks are by the true positive rates of the smallest classes on BS, BC, BUPA, GLS, PIND, "
    "SHUT and SUR; equal ones share their rank, and on GLS (3, 5, 6, 7) and SHUT (2, 3, 6, 7: "
    "Fpv.Close, Fpv.Open, Bpv.Close, Bpv.Open) the sums of the ranks of the classes are "
    "ranked. From the paper's rates this gives the paper's means, cut off after the first decimal."
)


def _classes(row: Row) -> list[tuple[str, int]]:
    """Labels and numbers of test rows of a data set, in the order of the paper."""
    cell = row.cells[0]
    counts = dict(zip(cell.classes, cell.matrix.sum(axis=1).tolist(), strict=True))
    return [(one.label, counts[one.label]) for one in row.published.rates] or list(counts.items())


def _cells(
    row: Row | None, label: str, what: str, published: PublishedFigure | None
) -> Sequence[str]:
    if row is None:
        return ("", "", "", "")
    ours = Figure(*rates(row.cells, label, what)).text(DIGITS)
    if published is None:
        return ("", ours, "", "")
    paper = Figure(published.published, published.published_sd).text(DIGITS)
    return (paper, ours, shown_t(published), said_of(published))
