"""Twin of `obliqua.stats.ranks`: ranks counted one by one, every choice of signs looked at.

Nothing here is fast. Scores are those of one data set per line, and larger is better.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product


def ranks_of(scores: list[Fraction]) -> list[Fraction]:
    """1 for the largest score; scores that are equal share the mean of their ranks."""
    out = []
    for score in scores:
        better = sum(other > score for other in scores)
        same = sum(other == score for other in scores)
        out.append(better + Fraction(same + 1, 2))
    return out


def mean_ranks(table: list[list[Fraction]]) -> list[Fraction]:
    lines = [ranks_of(line) for line in table]
    return [sum(column) / Fraction(len(table)) for column in zip(*lines, strict=True)]


def friedman(table: list[list[Fraction]]) -> Fraction:
    """Friedman's chi-square, divided by what ties leave of the variance of ranks."""
    n, k = len(table), len(table[0])
    means = mean_ranks(table)
    middle = Fraction(k + 1, 2)
    between = n * sum((mean - middle) ** 2 for mean in means)
    within = sum((rank - middle) ** 2 for line in table for rank in ranks_of(line))
    if within == 0:
        return Fraction(0)
    return Fraction(n * (k - 1)) * between / within


def signed_rank(one: list[Fraction], other: list[Fraction]) -> tuple[Fraction, Fraction]:
    """Wilcoxon's statistic, the smaller sum of ranks, and the share of signs not above it.

    Differences that are 0 have ranks too, but no sign. The share counts both tails.
    """
    differences = [a - b for a, b in zip(one, other, strict=True)]
    sizes = ranks_of([-abs(difference) for difference in differences])  # 1 for the smallest
    pairs = [(size, d) for size, d in zip(sizes, differences, strict=True) if d != 0]
    whole = sum((size for size, _ in pairs), Fraction(0))
    found = sum((size for size, d in pairs if d > 0), Fraction(0))
    found = min(found, whole - found)
    extreme = 0
    for signs in product((0, 1), repeat=len(pairs)):
        total = sum(
            (size for sign, (size, _) in zip(signs, pairs, strict=True) if sign), Fraction(0)
        )
        extreme += min(total, whole - total) <= found
    return found, Fraction(extreme, 2 ** len(pairs))


def holm(p_values: list[float]) -> list[float]:
    """The smallest times their number, the next times one less, and so on; never decreasing."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    out = [0.0] * len(p_values)
    largest = 0.0
    for step, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[place]))
        out[place] = largest
    return out


def groups(means: list[float], critical: float) -> list[set[int]]:
    """All largest sets of at least two methods of which no two are so far apart."""
    found: list[set[int]] = []
    for lowest in range(len(means)):
        members = {
            place
            for place, mean in enumerate(means)
            if means[lowest] <= mean < means[lowest] + critical
        }
        found.append(members)
    found = [group for group in found if len(group) > 1]
    largest = [group for group in found if not any(group < other for other in found)]
    return [group for place, group in enumerate(largest) if group not in largest[:place]]
