"""Every published figure of a table beside ours, one by one, and how far apart they are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import t as student

from obliqua.select.result import Figure, mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.protocol import CellResult

if TYPE_CHECKING:
    from reproduction.tables import PaperTable, Row

__all__ = [
    "LEVEL",
    "NEGATIVE",
    "POSITIVE",
    "PublishedFigure",
    "Remark",
    "beside_ours",
    "published_figures",
    "rates",
    "unavailable_lines",
]

POSITIVE, NEGATIVE = "true positive rate", "true negative rate"

# What the last printed digit is worth, where the table does not say. What is rounded cannot be
# judged more finely.
_DIGIT = {
    "accuracy": 0.1,
    "error": 0.1,
    "leaves": 0.1,
    "nodes": 0.1,
    "macro F": 0.01,
    POSITIVE: 0.01,
    NEGATIVE: 0.01,
}

# HHCART's table 3 leaves out standard deviations of rates below 0.2.
_LEFT_OUT = 0.2

# Rates and F-measures are printed with two decimals. A published standard deviation may be less
# than what is lost by that.
_ROUNDED = {"macro F": 0.005, POSITIVE: 0.005, NEGATIVE: 0.005}

# Two of our standard deviations are to be narrower than the figure: from 0 to twice the figure
# nothing could fail below.
_WIDEST = 0.5

# How sure a test is to be before it says that means, or spreads, differ.
LEVEL = 0.05


class Remark(NamedTuple):
    """What a reader of a paper must know: a misprint, a failure, or what can be read in two ways.

    Parameters
    ----------
    where : str
        Table, row and column.
    what : str
        What stands there.
    why : str
        Why it is wrong, what came out here, or which reading was taken. Figures of ours are
        looked up, see `reproduction.facts`.
    figures : tuple
        Which figures it is about: name of the table, data set, method and quantity of each.
    """

    where: str
    what: str
    why: str
    figures: tuple[tuple[str, str, str, str], ...] = ()


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
    paper_repeats, repeats : int
        How many repeats the paper's mean has, and ours; 0 if that is not known.
    digit : float
        What the last printed digit is worth; NaN for what is usual for the quantity.
    counts_as : tuple of str
        Data set, method and quantity under which it is counted, if the same published number, or
        one that follows from others, stands elsewhere too.
    misprint : str
        Why the published figure cannot be right, if that is known.
    """

    data_set: str
    method: str
    what: str
    published: float
    published_sd: float
    ours: float
    ours_sd: float
    larger_is_better: bool
    paper_repeats: int = 0
    repeats: int = 0
    digit: float = math.nan
    counts_as: tuple[str, str, str] = ("", "", "")
    misprint: str = ""

    @property
    def _kind(self) -> str:
        return self.what.partition(" of ")[0]

    @property
    def _last_digit(self) -> float:
        return _DIGIT.get(self._kind, 0.0) if math.isnan(self.digit) else self.digit

    @property
    def judged_by(self) -> float:
        """The paper's standard deviation; where it prints none, that of our repeats.

        The former is at least what rounding may have changed; a printed 0 is half of the last
        digit. The latter is made smaller where our mean is larger than the paper's, in the same
        proportion, and is at most half of the paper's figure: a figure must not pass because our
        repeats vary much. It is at least the last digit that the paper prints, and for rates, of
        which it leaves out standard deviations below 0.2, at most that. NaN if neither is known.
        """
        least = _DIGIT.get(self._kind, 0.0)
        if not math.isnan(self.published_sd):
            return max(self.published_sd or least / 2, _ROUNDED.get(self._kind, 0.0))
        if math.isnan(self.ours_sd):
            return math.nan
        size = abs(self.published)
        share = min(1.0, size / abs(self.ours)) if self.ours else 1.0
        most = min(_WIDEST * size, _LEFT_OUT if self._kind in (POSITIVE, NEGATIVE) else math.inf)
        return max(min(share * self.ours_sd, most), least)

    @property
    def z(self) -> float:
        """Ours minus the paper's, in standard deviations; NaN if none is known, or if it is 0."""
        return (self.ours - self.published) / self.judged_by if self.judged_by else math.nan

    @property
    def t(self) -> float:
        """Ours minus the paper's, in standard errors of the difference of the two means.

        That what is printed was rounded counts too. NaN if repeats are not known, if there is one
        of ours, and if nothing varies: then the figures are equal or they are not.
        """
        parts = self._variances
        return (self.ours - self.published) / math.sqrt(sum(parts)) if parts else math.nan

    @property
    def _variances(self) -> tuple[float, ...]:
        """Squared standard errors: of the paper's mean, of ours, and of rounding."""
        known = self.paper_repeats > 0 and self.repeats > 1 and self.judged_by > 0.0
        no_chance = self.ours_sd < 1e-9 and math.isnan(self.published_sd)
        if not known or no_chance:
            return ()
        theirs, ours = self.judged_by**2 / self.paper_repeats, self.ours_sd**2 / self.repeats
        return theirs, ours, self._last_digit**2 / 12.0

    @property
    def means_differ(self) -> bool | None:
        """Whether a test says so that errs in one of twenty cases (Welch); None without one."""
        if math.isnan(self.t):
            return None
        theirs, ours, rounded = self._variances
        if math.isnan(self.published_sd):  # our deviation stands in, so it is one sample
            freedom = float(self.repeats - 1)
        else:
            each = theirs**2 / max(self.paper_repeats - 1, 1) + ours**2 / (self.repeats - 1)
            freedom = (theirs + ours + rounded) ** 2 / each if each else math.inf
        return bool(2.0 * student.sf(abs(self.t), freedom) < LEVEL)

    @property
    def spread(self) -> float:
        """Our standard deviation divided by the paper's; NaN if it prints none, or 0."""
        return self.ours_sd / self.published_sd if self.published_sd else math.nan

    @property
    def spreads_differ(self) -> bool | None:
        """Whether an F test says so that errs in one of twenty cases; None without one.

        Of the deviations that the printed one may stand for, the nearest to ours is taken.
        """
        if math.isnan(self.spread) or self.paper_repeats < 2 or self.repeats < 2:
            return None
        half = self._last_digit / 2.0
        nearest = min(max(self.ours_sd, self.published_sd - half), self.published_sd + half)
        if nearest == self.ours_sd:
            return False
        ratio = (self.ours_sd / nearest) ** 2
        freedom = (self.repeats - 1, self.paper_repeats - 1)
        tail = min(fisher.sf(ratio, *freedom), fisher.cdf(ratio, *freedom))
        return bool(2.0 * tail < LEVEL)

    @property
    def better(self) -> bool:
        """Whether ours is on the better side."""
        return (self.ours > self.published) == self.larger_is_better


def rates(cells: Sequence[CellResult], label: str, what: str) -> tuple[float, float]:
    """Return mean and deviation of a rate of a class over repeats; NaN if there is none."""
    rate = {POSITIVE: measures.positive_rates_of, NEGATIVE: measures.negative_rates_of}[what]
    found = [float(rate(cell.matrix)[cell.classes.index(label)]) for cell in cells]
    return mean_and_sd(found) if found else (math.nan, math.nan)


def published_figures(table: PaperTable, rows: Sequence[Row]) -> Iterator[PublishedFigure]:
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
                yield beside_ours(table, row, what, figure, (mean, sd), larger)


def beside_ours(
    table: PaperTable,
    row: Row,
    what: str,
    paper: Figure,
    ours: tuple[float, float],
    larger_is_better: bool,
) -> PublishedFigure:
    """Put a published figure beside ours, with what its table knows of it."""
    where = (table.name, row.data_set, row.method, what)
    known = [one.why for one in table.misprints if where in one.figures]
    return PublishedFigure(
        *where[1:],
        paper.mean,
        paper.sd,
        *ours,
        larger_is_better,
        table.repeats_of_paper or table.repeats,
        row.ours.repeats,
        10.0 ** -table.digits(row.data_set) if what == "accuracy" else math.nan,
        (
            table.copied_rows.get(row.data_set, row.data_set),
            table.readings.get(row.method, row.method),
            _counted_as(row, what, paper.mean),
        ),
        known[0] if known else "",
    )


def _counted_as(row: Row, what: str, published: float) -> str:
    """The quantity under which a rate is counted: some follow from others.

    With two classes the true negative rate of one is the true positive rate of the other, and
    that follows from the accuracy and the rate of the first. Rates that are printed as 1.00, as
    most of Shuttle's are, say one thing together.
    """
    if not what.startswith((POSITIVE, NEGATIVE)):
        return what
    if published == 1.0:
        return "rates of 1"
    labels = [one.label for one in row.published.rates]
    two = len(labels) == 2 and len(row.cells[0].classes) == 2 if row.cells else False
    return f"{POSITIVE} of {labels[0]}" if two else what


def unavailable_lines(table: PaperTable) -> list[str]:
    """List in Markdown the data sets that cannot be had, with what the paper has for them."""
    lines = []
    for name, reason in table.unavailable.items():
        row = table.published[name]
        once = {table.readings.get(method, method): method for method in reversed([*row])}
        figures = "; ".join(
            f"{method} {row[method].accuracy.text(1)} and {row[method].leaves.text(1)} leaves"
            for method in row
            if method in once.values()
        )
        lines.append(f"- {name}: {reason} In the paper: {figures}.")
    return ["Not available:", "", *lines, ""] if lines else []
