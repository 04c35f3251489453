"""The table of criteria: NumPy formulas against their twins, users' functions, and messages."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from obliqua.criteria import CRITERIA, Criterion, get_criterion, vectorized
from problems import examples
from reference import criteria as twin

# The logarithm of NumPy and that of the C library may differ in the last bit.
LOGARITHMIC = ("entropy", "gain_ratio")
NAMES = sorted(CRITERIA)


def sums(largest: int = 50) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    """Draw class sums of two sides, often empty ones."""
    side = st.integers(0, largest)
    pairs = st.lists(st.tuples(side, side), min_size=1, max_size=12)
    return pairs.map(lambda drawn: ([a for a, _ in drawn], [b for _, b in drawn]))


def test_the_table_is_the_twins_table() -> None:
    assert {name: criterion.code for name, criterion in CRITERIA.items()} == twin.CODES
    convex = {criterion.code for criterion in CRITERIA.values() if criterion.convex}
    assert convex == set(twin.CONVEX)
    assert all(name == criterion.name for name, criterion in CRITERIA.items())


@pytest.mark.parametrize("name", NAMES)
@examples(100)
@given(sides=st.one_of(sums(), sums(2**40)))
def test_equals_the_twin(name: str, sides: tuple[list[int], list[int]]) -> None:
    left, right = sides
    expected = twin.goodness(CRITERIA[name].code, left, right)
    got = CRITERIA[name].goodness(np.array(left), np.array(right))
    if name in LOGARITHMIC:
        # Numerator and denominator of a gain ratio can both be tiny.
        assert float(got) == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert (float(got) == 0.0) == (expected == 0.0) or expected < 1e-12
    else:
        assert float(got) == expected


@pytest.mark.parametrize("name", NAMES)
def test_many_at_once_and_any_number_type(name: str) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 9, size=(2, 4, 5, 3))
    function = CRITERIA[name].function
    pairs = zip(left.reshape(-1, 3).tolist(), right.reshape(-1, 3).tolist(), strict=True)
    one_by_one = [twin.goodness(CRITERIA[name].code, a, b) for a, b in pairs]
    for dtype in (np.int64, np.int8, np.uint16, np.float64):
        got = function(left.astype(dtype), right.astype(dtype))
        assert got.shape == (4, 5)
        assert got.dtype == np.float64
        np.testing.assert_allclose(got.ravel(), one_by_one, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("left", "right"), [([0, 0], [3, 4]), ([3, 4], [0, 0]), ([0], [0])])
def test_an_empty_side_is_worth_nothing(name: str, left: list[int], right: list[int]) -> None:
    assert float(CRITERIA[name].goodness(left, right)) == 0.0


def likes_even_sides(left: np.ndarray, right: np.ndarray) -> float:
    return -abs(float(left.sum() - right.sum()))


def test_a_function_is_a_criterion() -> None:
    criterion = get_criterion(likes_even_sides)
    assert criterion == Criterion("likes_even_sides", -1, likes_even_sides)
    assert not criterion.convex
    got = criterion.goodness([[1, 2], [3, 4]], [[1, 1], [0, 7]])
    assert got.tolist() == [-1.0, 0.0]
    assert float(criterion.goodness([1, 2], [1, 1])) == -1.0


def test_a_function_sees_float_vectors() -> None:
    seen: list[Any] = []

    def look(left: np.ndarray, right: np.ndarray) -> float:
        seen.append((left.shape, left.dtype, right.shape))
        return 0.0

    get_criterion(look).goodness(np.ones((2, 3), dtype=int), np.ones((2, 3), dtype=int))
    assert seen == [((3,), np.dtype(float), (3,))] * 2


def test_a_vectorized_function_is_called_once() -> None:
    calls = []

    @vectorized
    def count(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        calls.append(left.shape)
        return left.sum(axis=1) - right.sum(axis=1)

    criterion = get_criterion(count)
    assert criterion.vectorized
    assert criterion.goodness(np.ones((4, 2, 3)), np.zeros((4, 2, 3))).tolist() == [[3, 3]] * 4
    assert calls == [(8, 3)]


@pytest.mark.parametrize("answer", [[1.0, 2.0], "good", None, [[1.0]]])
def test_a_wrong_answer_is_named(answer: Any) -> None:
    def wrong(left: np.ndarray, right: np.ndarray) -> Any:
        return answer

    with pytest.raises(ValueError, match=r"'wrong' must return one number; got .*vectorized"):
        get_criterion(wrong).goodness([[1, 2]], [[3, 4]])


def test_a_wrong_number_of_answers_is_named() -> None:
    @vectorized
    def short(left: np.ndarray, right: np.ndarray) -> list[float]:
        return [1.0]

    with pytest.raises(ValueError, match=r"'short' must return 2 numbers.*got shape \(1,\)"):
        get_criterion(short).goodness([[1, 2]] * 2, [[3, 4]] * 2)


def test_get_criterion() -> None:
    gini = get_criterion("gini")
    assert gini is CRITERIA["gini"]
    assert get_criterion(gini) is gini
    assert pickle.loads(pickle.dumps(gini)) == gini
    with pytest.raises(ValueError, match=r"no criterion 'ginni'\. Use one of twoing, gini"):
        get_criterion("ginni")
    with pytest.raises(TypeError, match="got int"):
        get_criterion(3)  # type: ignore[arg-type]
