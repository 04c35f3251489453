"""Twins of the criteria: goodness of (left class sums, right class sums), larger is better.

``goodness`` follows the order of operations that the engine promises, so the two must agree to
the last bit. ``exact`` gives the same quantity as a fraction, without any rounding, for every
criterion that is a rational function of the sums: it checks that the promised order of
operations really computes what the formula in the documentation says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

TWOING, GINI, ENTROPY, GAIN_RATIO, MAX_MINORITY, SUM_MINORITY, SUM_VARIANCES = range(7)
NODE_VARIANCES = 10  # 7 to 9 are of numbers

CODES: dict[str, int] = {
    "twoing": TWOING,
    "gini": GINI,
    "entropy": ENTROPY,
    "gain_ratio": GAIN_RATIO,
    "max_minority": MAX_MINORITY,
    "sum_minority": SUM_MINORITY,
    "sum_variances": SUM_VARIANCES,
    "node_variances": NODE_VARIANCES,
}

# goodness never exceeds its value at the corners of a box of class sums
CONVEX: tuple[int, ...] = (TWOING, GINI, ENTROPY, SUM_MINORITY)

# the criteria that are fractions of integers
RATIONAL: tuple[int, ...] = (
    TWOING,
    GINI,
    MAX_MINORITY,
    SUM_MINORITY,
    SUM_VARIANCES,
    NODE_VARIANCES,
)

Sums = Sequence[int]


def minority(v: Sums) -> int:
    """Weight outside the largest class."""
    return sum(v) - max(v)


def differences(left: Sums, right: Sums) -> list[int]:
    """D_c = L_c n - N_c n_L for every class, exactly."""
    n_left = sum(left)
    n = n_left + sum(right)
    return [a * n - (a + b) * n_left for a, b in zip(left, right, strict=True)]


def twoing(left: Sums, right: Sums) -> float:
    s = float(sum(abs(d) for d in differences(left, right)))
    n_left, n_right = float(sum(left)), float(sum(right))
    n = float(sum(left) + sum(right))
    return (s * s) / (n_left * n_right) / (4.0 * n * n)


def gini(left: Sums, right: Sums) -> float:
    q = 0.0
    for d in differences(left, right):
        q += float(d) * float(d)
    n_left, n_right = float(sum(left)), float(sum(right))
    n = float(sum(left) + sum(right))
    return q / (n_left * n_right) / (n * n)


def _bits(v: Sums) -> float:
    """Entropy of one vector of class sums, base 2."""
    t = float(sum(v))
    h = 0.0
    for count in v:
        if count > 0:
            share = float(count) / t
            h -= share * math.log2(share)
    return h


def entropy(left: Sums, right: Sums) -> float:
    if all(d == 0 for d in differences(left, right)):
        return 0.0
    n_left, n_right = float(sum(left)), float(sum(right))
    n = float(sum(left) + sum(right))
    both = [a + b for a, b in zip(left, right, strict=True)]
    gained = _bits(both) - (n_left / n) * _bits(left) - (n_right / n) * _bits(right)
    return max(gained, 0.0)


def gain_ratio(left: Sums, right: Sums) -> float:
    gained = entropy(left, right)
    if gained == 0.0:
        return 0.0
    n = float(sum(left) + sum(right))
    a, b = float(sum(left)) / n, float(sum(right)) / n
    return gained / -(a * math.log2(a) + b * math.log2(b))


def max_minority(left: Sums, right: Sums) -> float:
    both = [a + b for a, b in zip(left, right, strict=True)]
    return float(minority(both) - max(minority(left), minority(right))) / float(sum(both))


def sum_minority(left: Sums, right: Sums) -> float:
    both = [a + b for a, b in zip(left, right, strict=True)]
    return float(minority(both) - minority(left) - minority(right)) / float(sum(both))


def _numbered(v: Sums) -> list[tuple[int, int]]:
    """Pairs (class number 1..C, class sum); more than two classes are renumbered by size."""
    ordered = sorted(v) if len(v) > 2 else list(v)
    return list(enumerate(ordered, start=1))


def _scatter(v: Sums) -> float:
    """Sum of squared distances of the class numbers from their mean."""
    t = float(sum(v))
    if t == 0.0:
        return 0.0
    sum1 = 0.0
    sum2 = 0.0
    for k, count in _numbered(v):
        sum1 += float(k) * float(count)
        sum2 += float(k) * float(k) * float(count)
    return sum2 - sum1 * sum1 / t


def sum_variances(left: Sums, right: Sums) -> float:
    both = [a + b for a, b in zip(left, right, strict=True)]
    if all(a * sum(both) == n * sum(left) for a, n in zip(left, both, strict=True)):
        return 0.0  # equal shares save nothing, however the sums are rounded
    return (_scatter(both) - _scatter(left) - _scatter(right)) / float(sum(both))


def _numbers_of_classes(both: Sums) -> list[int]:
    """The number of each class, 1..C by ascending size; of equals the earlier one first."""
    by_size = sorted(range(len(both)), key=lambda c: (both[c], c))
    return [by_size.index(c) + 1 for c in range(len(both))]


def node_variances(left: Sums, right: Sums) -> float:
    both = [a + b for a, b in zip(left, right, strict=True)]
    numbers = _numbers_of_classes(both)
    sum_left = sum(k * v for k, v in zip(numbers, left, strict=True))
    whole = sum(k * v for k, v in zip(numbers, both, strict=True))
    x = float(sum_left * sum(both) - whole * sum(left))
    n_left, n_right, n = float(sum(left)), float(sum(right)), float(sum(both))
    return x * x / (n_left * n_right) / (n * n)


FORMULAS: dict[int, Callable[[Sums, Sums], float]] = {
    TWOING: twoing,
    GINI: gini,
    ENTROPY: entropy,
    GAIN_RATIO: gain_ratio,
    MAX_MINORITY: max_minority,
    SUM_MINORITY: sum_minority,
    SUM_VARIANCES: sum_variances,
    NODE_VARIANCES: node_variances,
}


def goodness(code: int, left: Sums, right: Sums) -> float:
    """Goodness of a cut with these integer class sums; a cut with an empty side has none."""
    if sum(left) == 0 or sum(right) == 0:
        return 0.0
    return FORMULAS[code](left, right)


def _exact_scatter(numbered: list[tuple[int, int]]) -> Fraction:
    t = sum(count for _, count in numbered)
    mean = Fraction(sum(k * count for k, count in numbered), t)
    return sum((count * (k - mean) ** 2 for k, count in numbered), start=Fraction(0))


def exact(code: int, left: Sums, right: Sums) -> Fraction:
    """Goodness without rounding, written from the textbook definition and not from D_c."""
    n_left, n_right = sum(left), sum(right)
    if n_left == 0 or n_right == 0:
        return Fraction(0)
    n = n_left + n_right
    both = [a + b for a, b in zip(left, right, strict=True)]
    if code == TWOING:
        shares = zip(left, right, strict=True)
        apart = sum(abs(Fraction(a, n_left) - Fraction(b, n_right)) for a, b in shares)
        return Fraction(n_left, n) * Fraction(n_right, n) / 4 * apart * apart
    if code == GINI:
        return (
            _gini_impurity(both)
            - Fraction(n_left, n) * _gini_impurity(left)
            - Fraction(n_right, n) * _gini_impurity(right)
        )
    if code == MAX_MINORITY:
        return Fraction(minority(both) - max(minority(left), minority(right)), n)
    if code == SUM_MINORITY:
        return Fraction(minority(both) - minority(left) - minority(right), n)
    if code == SUM_VARIANCES:
        whole, one, other = (_exact_scatter(_numbered(v)) for v in (both, left, right))
        return (whole - one - other) / n
    if code == NODE_VARIANCES:
        numbers = _numbers_of_classes(both)
        whole, one, other = (
            _exact_scatter(list(zip(numbers, v, strict=True))) for v in (both, left, right)
        )
        return (whole - one - other) / n
    raise ValueError(f"criterion {code} is no fraction of integers; use goodness()")


def _gini_impurity(v: Sums) -> Fraction:
    t = sum(v)
    return 1 - sum((Fraction(count, t) ** 2 for count in v), start=Fraction(0))
