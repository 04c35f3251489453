"""When a conclusion holds, when it does not, and when that cannot be told.

The rules were written down before any verdict was looked at.

**A comparison** has one difference per repeat: both methods have the same rows to train and to
test on in a repeat, so the repeats are paired. Sizes and times are compared by their logarithms,
so their differences are ratios.

**The standard error.** Repeats of a cross-validation share their rows, so the deviation s of r
repeats, divided by the root of r, is too small. Nadeau and Bengio (2003) take two folds to be
correlated by the share of the rows that is tested, 1/k with k folds. For the mean of r
cross-validations this makes s * sqrt(1/r + k/(k - 1)), with r - 1 degrees of freedom: folds are
correlated by 1/k, so the variance between cross-validations is that of a fold times (1 - 1/k)/k,
and what all of them share is that of a fold times 1/k. (Cells keep what a whole cross-validation
gave, not single folds, so the variance of a fold is not known otherwise.) Where each repeat draws
rows anew, and where the rows to test on are fixed, it is s / sqrt(r); then a verdict is about
those test rows.

**What is asked** of a comparison, and the p-values for and against it:

- *more*, *less*: a t test of "no difference", two-sided; for it if the difference has the side
  that the paper says, against it on the other side.
- *same*: two one-sided tests that the difference is within a margin (equivalence), and against it
  that it is beyond the margin on either side. That nothing is significant does not make methods
  equal.
- *not less*, *not more*: one-sided tests with the same margin.

The margins are 1 point of accuracy or of balanced accuracy, 0.02 of an F-measure, and a factor of
1.25 of sizes and times, which is the custom for ratios.

**A conclusion** on each of several data sets holds if all of its comparisons are significant for
it, and does not if one is significant against it, both after Holm's correction over all of them.
One on the average over data sets has Wilcoxon's signed-rank test of the mean differences. The
level is 5 %. In all other cases it cannot be told.

**These rows.** A second verdict leaves out what repeats share: it says whether the same would come
out with other divisions of the same rows, which is what the papers' own deviations are about. It
was added after the first ones had been seen, because these leave most of the comparisons open.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from obliqua.stats.ranks import holm, signed_rank_p

__all__ = ["ASKED", "LEVEL", "OPEN", "Difference", "P", "holds", "judged", "on_average"]

LEVEL = 0.05
HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be told"

#: What can be asked of a comparison.
ASKED = ("more", "less", "same", "not less", "not more")


@dataclass(frozen=True)
class Difference:
    """Differences of two methods, one per repeat.

    Parameters
    ----------
    values : tuple of float
        The differences.
    n_folds : int, default=0
        Folds of the cross-validations that they come from; 0 if repeats share no rows to test on
        by chance.
    """

    values: tuple[float, ...]
    n_folds: int = 0

    @property
    def mean(self) -> float:
        """Their mean; NaN if there is none."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN with less than two repeats."""
        r, k = len(self.values), self.n_folds
        if r < 2:
            return math.nan
        shared = k / (k - 1) if k else 0.0
        return float(np.std(self.values, ddof=1) * math.sqrt(1.0 / r + shared))

    def above(self, bound: float) -> float:
        """Return the one-sided p-value of a mean above a bound."""
        if math.isnan(self.error):
            return 1.0
        if self.error <= 1e-12 * max(abs(self.mean), abs(bound)):  # all repeats alike
            return 0.0 if self.mean > bound else 1.0
        t = (self.mean - bound) / self.error
        return float(stats.t.sf(t, len(self.values) - 1))

    def below(self, bound: float) -> float:
        """Return the one-sided p-value of a mean below a bound."""
        return Difference(tuple(-value for value in self.values), self.n_folds).above(-bound)


@dataclass(frozen=True)
class P:
    """P-values for and against what a paper says."""

    of: float
    against: float


def _two_sided(p: float) -> float:
    return min(1.0, 2.0 * p)


def judged(difference: Difference, asked: str, margin: float) -> P:
    """Return the p-values for and against what is asked of a difference."""
    d = difference
    if asked == "more":
        return P(_two_sided(d.above(0.0)), _two_sided(d.below(0.0)))
    if asked == "less":
        return P(_two_sided(d.below(0.0)), _two_sided(d.above(0.0)))
    if asked == "same":
        outside = min(d.above(margin), d.below(-margin))
        return P(max(d.below(margin), d.above(-margin)), _two_sided(outside))
    if asked == "not less":
        return P(d.above(-margin), d.below(-margin))
    if asked == "not more":
        return P(d.below(margin), d.above(margin))
    raise ValueError(f"asked must be one of {', '.join(ASKED)}, got {asked!r}")


def holds(found: Sequence[P]) -> tuple[str, list[P]]:
    """Return the verdict on a conclusion about each of several data sets, and Holm's p-values."""
    of, against = holm([p.of for p in found]), holm([p.against for p in found])
    corrected = [P(*pair) for pair in zip(of, against, strict=True)]
    if found and max(of) <= LEVEL:
        return HOLDS, corrected
    return (FAILS if found and min(against) <= LEVEL else OPEN), corrected


def on_average(means: Sequence[float], asked: str) -> tuple[str, P]:
    """Return the verdict on a conclusion about the average over data sets, and its p-values."""
    if asked not in ("more", "less"):
        raise ValueError(f"on average more or less can be asked, got {asked!r}")
    values = np.array(means) if asked == "more" else -np.array(means)
    ranks = stats.rankdata(np.abs(values)) * np.sign(values)
    p = signed_rank_p(ranks) if len(values) else 1.0
    found = P(p, 1.0) if ranks.sum() > 0 else P(1.0, p)
    return holds([found])[0], found
