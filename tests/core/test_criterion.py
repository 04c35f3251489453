"""Criteria: the twin against the definitions, the engine and the formulas against the twin."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua._core.search.criterion import py_bound, py_goodness
from obliqua.criteria import CRITERIA
from problems import examples
from reference import criteria as twin

NAMES = tuple(twin.CODES)
Sums = list[int]


def compiled(code: int, left: Sums, right: Sums) -> float:
    return float(
        py_goodness(code, np.array(left, dtype=np.int64), np.array(right, dtype=np.int64))
    )


@st.composite
def sides(draw: st.DrawFn, largest: int = 40, max_classes: int = 6) -> tuple[Sums, Sums]:
    """Class sums of two sides, neither of which is empty."""
    n_classes = draw(st.integers(2, max_classes))
    count = st.one_of(st.just(0), st.integers(0, largest))
    side = st.lists(count, min_size=n_classes, max_size=n_classes).filter(any)
    return draw(side), draw(side)


# --- the twin is what the definitions say -----------------------------------------------------


@examples(150)
@given(sides(largest=1000))
@pytest.mark.parametrize("code", twin.RATIONAL)
def test_twin_is_the_fraction(code: int, pair: tuple[Sums, Sums]) -> None:
    left, right = pair
    value, fraction = twin.goodness(code, left, right), float(twin.exact(code, left, right))
    # variances are small differences of sums of squares of class numbers
    slack = 1e-12 * len(left) ** 2 if code == twin.SUM_VARIANCES else 0.0
    assert math.isclose(value, fraction, rel_tol=1e-14, abs_tol=slack)


@examples(100)
@given(sides(largest=1000))
def test_twin_entropy_is_mutual_information(pair: tuple[Sums, Sums]) -> None:
    table = np.array(pair, dtype=np.float64)
    joint = table / table.sum()
    alone = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    information = float(np.sum(joint[seen] * np.log2(joint[seen] / alone[seen])))
    side = joint.sum(axis=1)
    spread = float(-np.sum(side * np.log2(side)))
    assert math.isclose(twin.entropy(*pair), information, rel_tol=1e-9, abs_tol=1e-14)
    assert math.isclose(twin.gain_ratio(*pair), information / spread, rel_tol=1e-9, abs_tol=1e-12)


def test_known_values() -> None:
    assert twin.goodness(twin.GINI, [1, 0], [0, 1]) == 0.5
    assert twin.goodness(twin.TWOING, [1, 0], [0, 1]) == 0.25
    assert twin.goodness(twin.ENTROPY, [1, 0], [0, 1]) == 1.0
    assert twin.goodness(twin.GAIN_RATIO, [1, 0], [0, 1]) == 1.0
    assert twin.goodness(twin.MAX_MINORITY, [3, 1], [1, 3]) == 3 / 8
    assert twin.goodness(twin.SUM_MINORITY, [3, 1], [1, 3]) == 2 / 8
    assert twin.goodness(twin.SUM_VARIANCES, [1, 0], [0, 1]) == 0.25
    # Classes of 9, 3 and 6 rows have the numbers 3, 1 and 2 on both sides; means 3 and 5 / 3.
    assert twin.goodness(twin.NODE_VARIANCES, [9, 0, 0], [0, 3, 6]) == pytest.approx(4 / 9)
    assert twin.goodness(twin.SUM_VARIANCES, [9, 0, 0], [0, 3, 6]) == pytest.approx(4 / 9)
    assert twin.goodness(twin.NODE_VARIANCES, [8, 0, 1], [1, 3, 5]) == pytest.approx(25 / 81)
    assert twin.goodness(twin.SUM_VARIANCES, [8, 0, 1], [1, 3, 5]) == pytest.approx(22 / 81)


# --- the engine is the twin -------------------------------------------------------------------


@examples(150)
@given(sides())
@pytest.mark.parametrize("name", NAMES)
def test_small_sums_agree_to_the_last_bit(name: str, pair: tuple[Sums, Sums]) -> None:
    code = twin.CODES[name]
    assert compiled(code, *pair) == twin.goodness(code, *pair)


@examples(100)
@given(sides(largest=2**48))
@pytest.mark.parametrize("name", NAMES)
def test_large_sums_agree_to_the_last_bit(name: str, pair: tuple[Sums, Sums]) -> None:
    """Products of class sums here exceed 64 bits: they must neither wrap nor be rounded.

    Two cuts that are equally good would otherwise differ by rounding, and the tie between them
    would no longer go to the earlier one.
    """
    code = twin.CODES[name]
    assert compiled(code, *pair) == twin.goodness(code, *pair)


@pytest.mark.parametrize("name", NAMES)
def test_largest_weight_that_the_grid_allows(name: str) -> None:
    code, half = twin.CODES[name], 2**51
    left, right = [half - 7, 3], [4, half]
    assert compiled(code, left, right) == twin.goodness(code, left, right)


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_weight_with_thousands_of_classes(name: str) -> None:
    """Weights times numbers of classes exceed 64 bits, and their products 115."""
    n_classes = 6000
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.integers(0, 2**52, size=2 * n_classes - 1))
    parts = rng.permutation(np.diff(np.concatenate([[0], cuts, [2**52]])))
    left, right = parts[:n_classes].tolist(), parts[n_classes:].tolist()
    code = twin.CODES[name]
    expected = twin.goodness(code, left, right)
    assert compiled(code, left, right) == expected
    assert CRITERIA[name].goodness(np.array([left]), np.array([right]))[0] == expected


@pytest.mark.parametrize("name", NAMES)
def test_more_than_a_thousand_classes(name: str) -> None:
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, size=1500).tolist()
    right = rng.integers(0, 4, size=1500).tolist()
    code = twin.CODES[name]
    assert compiled(code, left, right) == twin.goodness(code, left, right)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1, 3, 7, 1000])
@pytest.mark.parametrize("left", [[1, 2, 5], [10**9 + 7, 123456789123, 2**38 - 1]])
def test_equal_shares_are_worth_nothing(name: str, left: Sums, scale: int) -> None:
    right = [scale * v for v in left]
    value = compiled(twin.CODES[name], left, right)
    if name in ("twoing", "gini", "entropy", "gain_ratio", "sum_minority"):
        assert value == 0.0
    assert value == twin.goodness(twin.CODES[name], left, right)


@examples(60)
@given(st.one_of(sides(), sides(largest=2**48)))
@pytest.mark.parametrize("name", ["twoing", "gini", "max_minority", "sum_minority"])
def test_sides_may_be_exchanged(name: str, pair: tuple[Sums, Sums]) -> None:
    code = twin.CODES[name]
    assert compiled(code, *pair) == compiled(code, pair[1], pair[0])


# --- the bound of a bin -----------------------------------------------------------------------


@st.composite
def bins(draw: st.DrawFn, largest: int = 4, max_classes: int = 4) -> tuple[Sums, Sums, Sums]:
    """Class sums left of a bin, in it, and right of it."""
    n_classes = draw(st.integers(2, max_classes))
    outside = st.lists(st.integers(0, 5 * largest), min_size=n_classes, max_size=n_classes)
    inside = st.lists(st.integers(0, largest), min_size=n_classes, max_size=n_classes)
    return draw(outside), draw(inside.filter(any)), draw(outside)


def bound_of(code: int, left: Sums, inside: Sums, right: Sums) -> float:
    total = [a + b + c for a, b, c in zip(left, inside, right, strict=True)]
    arrays = (np.array(v, dtype=np.int64) for v in (left, inside, total))
    return float(py_bound(code, *arrays))


def cut(left: Sums, inside: Sums, right: Sums, part: Any) -> tuple[Sums, Sums]:
    """Sums of the two sides when ``part`` of the bin goes left."""
    one = [a + s for a, s in zip(left, part, strict=True)]
    other = [b + v - s for b, v, s in zip(right, inside, part, strict=True)]
    return one, other


@examples(120)
@given(bins())
@pytest.mark.parametrize("code", twin.CONVEX)
def test_no_cut_inside_a_bin_beats_its_bound(code: int, three: tuple[Sums, Sums, Sums]) -> None:
    """Whatever the order of the rows in the bin, the class sums of a cut lie in this box."""
    limit = bound_of(code, *three)
    for part in itertools.product(*(range(v + 1) for v in three[1])):
        one, other = cut(*three, part)
        if any(part) and list(part) != three[1]:
            assert twin.goodness(code, one, other) <= limit


@examples(50)
@given(
    st.one_of(bins(largest=10**6, max_classes=8), bins(largest=2**44)),
    st.randoms(use_true_random=False),
)
@pytest.mark.parametrize("code", twin.CONVEX)
def test_bound_holds_for_large_sums(
    code: int, three: tuple[Sums, Sums, Sums], random: Any
) -> None:
    limit = bound_of(code, *three)
    for _ in range(20):
        # corners are where a convex function is largest, so most trials are corners
        part = [random.choice((0, v, random.randint(0, v))) for v in three[1]]
        one, other = cut(*three, part)
        if any(part) and part != three[1]:
            # a bin is passed over for what the engine computes, so that is what it must bound
            assert max(twin.goodness(code, one, other), compiled(code, one, other)) <= limit


@examples(60)
@given(bins(max_classes=2))
@pytest.mark.parametrize("code", twin.CONVEX)
def test_bound_says_something(code: int, three: tuple[Sums, Sums, Sums]) -> None:
    """A bound that is always infinite would be safe and useless."""
    assert 0.0 <= bound_of(code, *three) <= 1.0 + 1e-9


# --- the NumPy formulas and the table ---------------------------------------------------------
