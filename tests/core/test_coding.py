"""Numbers for levels: the compiled CRIMCOORD against its definition and against counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from obliqua._core.grow.coding import code_columns
from problems import examples
from reference.crimcoord import by_definition, distinct_top, from_counts


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    n_levels, n_classes = draw(st.integers(1, 8)), draw(st.integers(2, 5))
    counts = draw(
        st.lists(st.integers(0, 9), min_size=n_levels * n_classes, max_size=n_levels * n_classes)
    )
    return np.array(counts, dtype=np.int64).reshape(n_levels, n_classes)


def rows_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    levels, classes = np.indices(counts.shape)
    return np.repeat(levels.ravel(), counts.ravel()), np.repeat(classes.ravel(), counts.ravel())


def crimcoord(counts: np.ndarray, unit: float = 0.0) -> np.ndarray:
    """The compiled numbers of levels: one weighted row per level and class."""
    levels, classes = np.nonzero(counts)
    present, codes = np.unique(classes, return_inverse=True)
    if len(levels) == 0:
        return np.zeros(len(counts))
    numbers, spreads = code_columns(
        levels.astype(np.float64)[None, :].copy(),
        codes.astype(np.int32),
        counts[levels, classes],
        counts.sum(axis=0)[present],
        np.array([len(counts)], dtype=np.int32),
        np.zeros(1),
        True,
        unit,
    )
    spread = 1.0 if unit == 0.0 else 1.0 / np.sqrt(unit * counts.sum())
    assert spreads[0] == pytest.approx(spread if numbers.any() else 0.0)
    return numbers[:-1]


def near(expected: np.ndarray) -> np.ndarray:
    """What differs from these numbers by rounding to 24 bits only is equal to this."""
    return pytest.approx(expected, abs=3e-7 * max(np.abs(expected).max(), 1.0))


def clear_sign(counts: np.ndarray) -> bool:
    """Whether rounding cannot choose the sign, which the first class has that counts."""
    table = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(float)
    if min(table.shape) < 2:
        return True
    r, c = table.sum(axis=1), table.sum(axis=0)
    S = (table - np.outer(r, c) / r.sum()) / np.sqrt(np.outer(r, c))
    v = np.abs(np.linalg.svd(S)[2][0])
    return bool(v[v > 1e-16][0] > 1e-9)


@examples(200)
@given(tables())
def test_it_is_the_number_from_counts(counts: np.ndarray) -> None:
    assume(distinct_top(counts))
    found, expected = crimcoord(counts), from_counts(counts)
    assert found == near(expected if clear_sign(counts) or found @ expected >= 0 else -expected)


@examples(100)
@given(tables(), st.booleans())
def test_it_is_the_number_by_definition(counts: np.ndarray, squares: bool) -> None:
    levels, classes = rows_of(counts)
    assume(len(np.unique(classes)) >= 2 and distinct_top(counts))
    found = crimcoord(counts, unit=1.0 if squares else 0.0)
    assume(found.any())  # else the levels tell nothing: any direction is an eigenvector of 0
    expected = np.zeros(len(counts))
    for level, number in by_definition(levels, classes, squares).items():
        expected[level] = number
    assert found == near(expected if found @ expected >= 0 else -expected)


@examples(100)
@given(tables(), st.randoms(use_true_random=False))
def test_names_of_levels_mean_nothing(counts: np.ndarray, random: object) -> None:
    order = list(range(len(counts)))
    random.shuffle(order)
    np.testing.assert_array_equal(crimcoord(counts[order].copy()), crimcoord(counts)[order])


def test_two_classes_follow_the_share_of_the_second() -> None:
    counts = np.array([[9, 1], [5, 5], [2, 8], [1, 1], [0, 0]])
    found = crimcoord(counts)
    assert found[0] < found[1] < found[2]
    assert found[3] == found[1]  # the same shares, exactly the same number
    assert found[4] == 0.0
    assert found[:4].sum() == pytest.approx(0.0, abs=1e-7)
    n = counts.sum(axis=1)
    mean = (n * found).sum() / n.sum()
    assert (n * (found - mean) ** 2).sum() / n.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("unit", [0.5, 1.0, 4.0])
def test_as_published_the_squares_add_up_to_one(unit: float) -> None:
    """Over rows of which each weighs so many units: three classes, and two."""
    for counts in ([[9, 1, 2], [5, 5, 1], [2, 8, 7]], [[9, 1], [5, 5], [2, 8]]):
        table = np.array(counts, dtype=np.int64)
        found, n = crimcoord(table, unit), table.sum(axis=1) * unit
        mean = (n * found).sum() / n.sum()
        assert (n * (found - mean) ** 2).sum() == pytest.approx(1.0)


@examples(50)
@given(tables(), st.integers(1, 40))
def test_the_unit_of_weights_means_nothing(counts: np.ndarray, exponent: int) -> None:
    np.testing.assert_array_equal(crimcoord(counts << exponent), crimcoord(counts))


@pytest.mark.parametrize(
    "counts",
    [
        [[3, 4, 5]],
        [[3, 0], [4, 0]],
        [[2, 4], [3, 6]],
        [[1, 2, 3], [2, 4, 6]],
    ],
    ids=["one level", "one class", "equal shares", "equal shares of three"],
)
def test_levels_that_tell_nothing_are_constant(counts: list[list[int]]) -> None:
    assert not crimcoord(np.array(counts, dtype=np.int64)).any()
