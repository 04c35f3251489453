"""Every published figure of a table beside ours, one by one, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from obliqua.select.result import mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.protocol import CellResult

if TYPE_CHECKING:
    from reproduction.tables import PaperTable, Row

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "Misprint",
    "PublishedFigure",
    "published_figures",
    "rates",
    "unavailable_lines",
]

POSITIVE, NEGATIVE = "true positive rate", "true negative rate"

# Where a paper prints no standard deviation, ours stands in: within these limits. The first is
# the last digit that is printed: what is rounded cannot be judged more finely. HHCART's table 3
# leaves out standard deviations below 0.2.
_STAND_IN = {
    "accuracy": (0.1, math.inf),
    "error": (0.1, math.inf),
    "leaves": (0.1, math.inf),
    "nodes": (0.1, math.inf),
    "macro F": (0.01, math.inf),
    POSITIVE: (0.01, 0.2),
    NEGATIVE: (0.01, 0.2),
}

# Rates and F-measures are printed with two decimals. A published standard deviation may be less
# than what is lost by that.
_ROUNDED = {"macro F": 0.005, POSITIVE: 0.005, NEGATIVE: 0.005}


class Misprint(NamedTuple):
    """What a paper prints and what cannot be right.

    Parameters
    ----------
    where : str
        Table, row and column.
    what : str
        What stands there.
    why : str
        Why we think that it is wrong.
    """

    where: str
    what: str
    why: str


class PublishedFigure(NamedTuple):
    """A figure of a paper and ours; what is not known is NaN.

    Parameters
    ----------
    data_set, method : str
        What the table calls them.
    what : str
        The quantity: accuracy, leaves, macro F, or a rate of a class.
    published, published_sd : float
        The paper's mean and standard deviation; NaN if it prints none.
    ours, ours_sd : float
        The same of our repeats.
    larger_is_better : bool
        Whether more of it is better.
    """

    data_set: str
    method: str
    what: str
    published: float
    published_sd: float
    ours: float
    ours_sd: float
    larger_is_better: bool

    @property
    def judged_by(self) -> float:
        """The paper's standard deviation; where it prints none, that of our repeats.

        The former is at least what rounding may have changed; a printed 0 is half of the last
        digit. The latter is at least the last digit that the paper prints, and for rates, of
        which it leaves out standard deviations below 0.2, at most that. NaN if neither is known.
        """
        kind = self.what.partition(" of ")[0]
        least, most = _STAND_IN.get(kind, (0.0, math.inf))
        if not math.isnan(self.published_sd):
            return max(self.published_sd or least / 2, _ROUNDED.get(kind, 0.0))
        return math.nan if math.isnan(self.ours_sd) else min(max(self.ours_sd, least), most)

    @property
    def z(self) -> float:
        """Ours minus the paper's, in standard deviations; NaN if none is known, or if it is 0."""
        return (self.ours - self.published) / self.judged_by if self.judged_by else math.nan

    @property
    def better(self) -> bool:
        """Whether ours is on the better side."""
        return (self.ours > self.published) == self.larger_is_better


def rates(cells: Sequence[CellResult], label: str, what: str) -> tuple[float, float]:
    """Return mean and deviation of a rate of a class over repeats; NaN if there is none."""
    rate = {POSITIVE: measures.positive_rates_of, NEGATIVE: measures.negative_rates_of}[what]
    found = [float(rate(cell.matrix)[cell.classes.index(label)]) for cell in cells]
    return mean_and_sd(found) if found else (math.nan, math.nan)


def published_figures(rows: Sequence[Row]) -> Iterator[PublishedFigure]:
    """Yield all figures that the paper has for some rows of a table."""
    for row in rows:
        entry, ours = row.published, row.ours
        found = [
            ("accuracy", entry.accuracy, ours.accuracy, True),
            ("leaves", entry.leaves, ours.leaves, False),
            ("hyperplanes", entry.hyperplanes, ours.hyperplanes, False),
            ("macro F", entry.macro_f, ours.macro_f, True),
        ]
        for one in entry.rates:
            for what, figure in ((POSITIVE, one.true_positive), (NEGATIVE, one.true_negative)):
                found.append(
                    (f"{what} of {one.label}", figure, rates(row.cells, one.label, what), True)
                )
        for what, figure, (mean, sd), larger in found:
            if not np.isnan(figure.mean):
                yield PublishedFigure(
                    row.data_set, row.method, what, figure.mean, figure.sd, mean, sd, larger
                )


def unavailable_lines(table: PaperTable) -> list[str]:
    """List in Markdown the data sets that cannot be had, with what the paper has for them."""
    lines = []
    for name, reason in table.unavailable.items():
        figures = "; ".join(
            f"{method} {entry.accuracy.text(1)} and {entry.leaves.text(1)} leaves"
            for method, entry in table.published[name].items()
        )
        lines.append(f"- {name}: {reason} In the paper: {figures}.")
    return ["Not available:", "", *lines, ""] if lines else []
