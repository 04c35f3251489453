"""Problem and Encoding: checks on the way in, and weights on their grid."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from obliqua.data.encoding import Column, Encoding
from obliqua.data.problem import Problem, encode
from obliqua.data.weights import MAX_TOTAL, round_significant
from problems import LAYOUTS, examples, lay_out

SMALLEST = 5e-324
LARGEST = float(np.finfo(float).max)


def weigh(
    weights: Any, class_weight: Any = None, y: Any = None, n_classes: int | None = None
) -> Problem:
    """Encode rows 0, 1, 2, ... with these weights."""
    n = len(weights)
    codes = np.zeros(n, dtype=int) if y is None else np.asarray(y)
    classes = int(codes.max()) + 1 if n_classes is None else n_classes
    X = np.arange(float(n))[:, None]
    return encode(X, codes, classes, sample_weight=weights, class_weight=class_weight)


def units(problem: Problem) -> list[int]:
    """Weights in grid units, written out where all are one."""
    return [1] * problem.n_rows if problem.weights is None else problem.weights.tolist()


# --- rows and codes ----------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_not_copied(layout: str, dtype: Any) -> None:
    X = lay_out(np.arange(12, dtype=dtype).reshape(4, 3), layout)
    problem = encode(X, [0, 1, 0, 1], 2, sample_weight=[1, 2, 3, 1])
    assert problem.Z is X
    assert problem.y.dtype == np.int32
    assert (problem.n_rows, problem.n_features, problem.n_classes) == (4, 3, 2)


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=np.int8),
        np.array([[1, 2], [3, 4]], dtype=">f8"),
        np.array([[1, 2], [3, 4]], dtype=np.float16),
        np.array([[1, 2], [3, 4]], dtype=object),
        pd.DataFrame({"a": [1, 3], "b": [2, 4]}),
    ],
    ids=["list", "int8", "big-endian", "float16", "object", "frame"],
)
def test_other_numbers_become_float64(X: Any) -> None:
    Z = encode(X, [0, 0], 1).Z
    assert Z.dtype == np.dtype(np.float64)
    assert Z.dtype.isnative
    assert Z.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_unaligned_rows_are_copied() -> None:
    packed = np.zeros(3, dtype=[("flag", "u1"), ("row", "f8", (2,))])
    packed["row"] = [[1, 2], [3, 4], [5, 6]]
    assert not packed["row"].flags.aligned
    Z = encode(packed["row"], [0, 0, 0], 1).Z
    assert Z.flags.aligned
    assert Z.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0, np.nan]], "X contains NaN, first in row 0, column 1"),
        ([[1.0, 2.0], [-np.inf, 2.0]], "X contains infinity, first in row 1, column 0"),
        ([1.0, 2.0], "two dimensions, rows and columns; got 1"),
        (np.zeros((2, 2, 2)), "two dimensions, rows and columns; got 3"),
        (np.zeros((0, 2)), "got 0 rows and 2 columns"),
        (np.zeros((2, 0)), "got 2 rows and 0 columns"),
        ([["a", "b"]], "real numbers; got dtype <U1"),
        ([["1", "2"]], "real numbers; got dtype <U1"),
        (np.array([["a", 1]], dtype=object), "real numbers; got dtype object: could not convert"),
        ([[1j]], "real numbers; got dtype complex128"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "real numbers; got dtype datetime64"),
        (sparse.csr_array(np.eye(3)), "no sparse matrix.*toarray"),
    ],
)
def test_bad_rows(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(X, np.zeros(len(X) if not sparse.issparse(X) else 3, dtype=int), 1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 1], "one class code per row of X; got shape \\(2,\\) for 3 rows"),
        ([[0], [1], [1]], "one class code per row of X"),
        ([0.0, 1.0, 1.0], "integer class codes; got dtype float64"),
        (["a", "b", "b"], "integer class codes"),
        ([0, 1, 2], "from 0 to n_classes - 1 = 1; got codes from 0 to 2"),
        ([0, -1, 1], "got codes from -1 to 1"),
    ],
)
def test_bad_codes(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(np.ones((3, 1)), y, 2)


def test_bool_codes() -> None:
    assert encode(np.ones((2, 1)), [True, False], 2).y.tolist() == [1, 0]


# --- weights -----------------------------------------------------------------------------


def test_without_weights() -> None:
    problem = encode(np.ones((5, 1)), [0] * 5, 1)
    assert problem.weights is None
    assert problem.unit == 1.0
    assert problem.total_weight == 5


@pytest.mark.parametrize(
    ("weights", "expected", "unit"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([2, 4, 6], [1, 2, 3], 2.0),
        ([0.5, 0.25, 3], [2, 1, 12], 0.25),
        ([2.0**-1000, 2.0**-999], [1, 2], 2.0**-1000),
        ([2.0**51, 2.0**51 - 1], [2**51, 2**51 - 1], 1.0),
        ([SMALLEST, 3 * SMALLEST], [1, 3], SMALLEST),
    ],
)
def test_multiples_of_a_power_of_two_are_exact(
    weights: list[float], expected: list[int], unit: float
) -> None:
    problem = weigh(weights)
    assert problem.weights is not None
    assert problem.weights.dtype == np.int64
    assert problem.weights.tolist() == expected
    assert problem.unit == unit
    assert problem.total_weight == sum(expected)


@pytest.mark.parametrize("weight", [1.0, 0.5, 2.0**-30, 2.0**1000, SMALLEST])
def test_equal_powers_of_two_need_no_array(weight: float) -> None:
    problem = weigh([weight] * 3)
    assert problem.weights is None
    assert problem.unit == weight
    assert problem.total_weight == 3


@examples(200)
@given(weights=st.lists(st.floats(1e-12, 1e12), min_size=1, max_size=20))
def test_stats_come_out_in_original_units(weights: list[float]) -> None:
    problem = weigh(weights)
    total = sum(Fraction(w) for w in weights)
    got = problem.total_weight * Fraction(problem.unit)
    assert abs(got - total) <= total / 2**30  # weights keep at least 30 significant bits
    assert all(u >= 1 for u in units(problem))


@examples(300)
@given(
    weights=st.lists(st.floats(SMALLEST, LARGEST / 64), min_size=2, max_size=20),
    seed=st.integers(0, 9),
)
def test_the_grid(weights: list[float], seed: int) -> None:
    problem = weigh(weights)
    if problem.weights is None:
        assert set(weights) == {problem.unit}
        return
    assert np.frexp(problem.unit)[0] == 0.5  # a power of two
    assert problem.total_weight <= MAX_TOTAL
    unit = Fraction(problem.unit)
    exact = [Fraction(w) / unit for w in weights]
    got = units(problem)
    if all(w.denominator == 1 for w in exact):
        # Nothing was rounded, and no larger unit would do so.
        assert units(problem) == exact
        assert any(u % 2 for u in units(problem))
    else:
        # Digits were dropped: of each weight alike, or all below one unit.
        close = [
            abs(u - w) <= max(w / 2**30, Fraction(1, 2)) for u, w in zip(got, exact, strict=True)
        ]
        assert all(ok or u == 1 for ok, u in zip(close, got, strict=True))
    order = np.random.default_rng(seed).permutation(len(weights))
    shuffled = weigh(np.array(weights)[order])
    assert shuffled.unit == problem.unit
    assert units(shuffled) == np.array(units(problem))[order].tolist()


@pytest.mark.parametrize("weight", [3.0, 0.1, 1e300])
def test_equal_weights_are_whole_units(weight: float) -> None:
    problem = weigh([weight] * 3)
    assert len(set(units(problem))) == 1
    assert problem.total_weight * problem.unit == pytest.approx(3 * weight, rel=1e-13)


@examples(100)
@given(weights=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=20))
def test_doubled_weights_are_doubled_units(weights: list[float]) -> None:
    """Beside the same row at both weights, twice the weight is twice the units, exactly."""
    both = units(weigh([*weights, *(2 * w for w in weights)]))
    assert [2 * u for u in both[: len(weights)]] == both[len(weights) :]


def test_the_total_never_passes_the_bound() -> None:
    """Rounding each weight up would lift the sum above 2**52 units."""
    weights = np.full(1001, 2.0**42 + 0.75)
    weights[0] = 2.0**42 + 0.125
    problem = weigh(weights)
    assert problem.total_weight <= MAX_TOTAL
    assert min(units(problem)) > 0


def test_weight_two_is_a_repeated_row() -> None:
    weighted = encode(np.arange(3.0)[:, None], [0, 1, 1], 2, sample_weight=[1, 2, 3])
    repeated = encode(np.arange(3.0).repeat([1, 2, 3])[:, None], [0, 1, 1, 1, 1, 1], 2)
    assert weighted.unit == repeated.unit
    assert weighted.total_weight == repeated.total_weight
    counts = np.bincount(weighted.y, weights=weighted.weights)
    assert counts.tolist() == np.bincount(repeated.y).tolist()


def test_rows_of_weight_zero_are_dropped() -> None:
    problem = weigh([0, 2, 0, 3], y=[2, 0, 1, 1])
    assert problem.Z.tolist() == [[1.0], [3.0]]
    assert problem.y.tolist() == [0, 1]
    assert units(problem) == [2, 3]
    assert problem.n_classes == 3


def test_class_weights_multiply() -> None:
    problem = weigh([1, 2, 3], class_weight=[2, 0.5], y=[0, 1, 1])
    assert [u * problem.unit for u in units(problem)] == [2.0, 1.0, 1.5]


def test_class_weights_alone() -> None:
    X, y = np.ones((3, 1)), [0, 1, 1]
    problem = encode(X, y, 2, class_weight=[3, 1])
    assert units(problem) == [3, 1, 1]
    balanced = encode(X, y, 2, class_weight=[1.5, 0.75])
    assert (units(balanced), balanced.unit) == ([6, 3, 3], 0.25)


def test_class_weights_have_24_bits() -> None:
    problem = weigh([1, 1, 5], class_weight=[1 / 3, 1], y=[0, 1, 1])
    third = Fraction(float(np.float32(1 / 3)))
    assert [u * Fraction(problem.unit) for u in units(problem)] == [third, 1, 5]


def test_a_class_of_weight_zero_is_dropped() -> None:
    problem = weigh([1e300, 1e-300, 2e-300], class_weight=[0, 1], y=[0, 1, 1])
    # What is dropped has no say in the grid of what stays.
    assert problem.y.tolist() == [1, 1]
    assert units(problem)[1] / units(problem)[0] == pytest.approx(2.0, rel=1e-12)


@pytest.mark.parametrize("sample", [1e-300, 1.0, 1e300])
@pytest.mark.parametrize("by_class", [[1e-200, 1e200], [1e-300, 1e-310], [LARGEST, 1e-5]])
def test_extreme_products_are_exact_or_refused(sample: float, by_class: list[float]) -> None:
    products = [Fraction(sample) * Fraction(weight) for weight in by_class]
    # A unit is 2**52 times smaller than the sum, and its size must be a float as well.
    if SMALLEST * 2**54 < sum(products) < LARGEST / 2:
        problem = weigh([sample, sample], class_weight=by_class, y=[0, 1])
        got = [u * Fraction(problem.unit) for u in units(problem)]
        assert max(got) == pytest.approx(float(max(products)), rel=1e-7)
        assert min(got) > 0
    else:
        with pytest.raises(ValueError, match=r"weights are too (small|large).*constant"):
            weigh([sample, sample], class_weight=by_class, y=[0, 1])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1, 1], "sample_weight must be finite and not negative; got -1.0 for row 1"),
        ([1, 1, np.nan], "got nan for row 2"),
        ([np.inf, 1, 1], "got inf for row 0"),
        ([0, 0, 0], "All weights are zero \\(of 3 rows\\)"),
        ([1, 2], "one number per row; got shape \\(2,\\), expected \\(3,\\)"),
        (2.0, "got shape \\(\\)"),
        ([[1], [1], [1]], "got shape \\(3, 1\\)"),
        (["a", "b", "c"], "sample_weight must hold numbers"),
        ([LARGEST, LARGEST, 1], "weights are too large: their sum is inf"),
    ],
)
def test_bad_sample_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(np.ones((3, 1)), [0, 0, 1], 2, sample_weight=weights)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "class_weight must be finite and not negative; got -1.0 for class 1"),
        ([1], "one number per class; got shape \\(1,\\), expected \\(2,\\)"),
        ([0, 0], "All weights are zero"),
    ],
)
def test_bad_class_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(np.ones((3, 1)), [0, 0, 1], 2, class_weight=weights)


@examples(200)
@given(value=st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_round_significant(value: float) -> None:
    with np.errstate(over="ignore"):
        (got,) = round_significant([value]).tolist()
        single = float(np.float32(value))
    if np.finfo(np.float32).tiny <= abs(single) < np.inf:
        assert got == single
    assert round_significant([got]).tolist() == [got]
    assert abs(got) == np.inf or abs(got - value) <= max(abs(value) * 2.0**-24, SMALLEST)


# --- columns -----------------------------------------------------------------------------


def test_identity() -> None:
    assert Encoding.identity(2).names == ("x0", "x1")
    encoding = Encoding.identity(2, np.array(["age", "bmi"], dtype=object))
    assert encoding.names == ("age", "bmi")
    assert encoding.n_columns == 2
    assert encoding == Encoding([Column("age"), Column("bmi")])  # type: ignore[arg-type]
    assert hash(encoding) == hash(Encoding.identity(2, ["age", "bmi"]))
    with pytest.raises(ValueError, match="got 1 names for 2 columns"):
        Encoding.identity(2, ["age"])


@pytest.mark.parametrize(
    ("idx", "coef", "text"),
    [
        ([0, 1], [0.5, -1.2], "0.5*age - 1.2*bmi"),
        ([1], [1.0], "bmi"),
        ([1], [-1.0], "-bmi"),
        ([1, 0], [-1.0, 1.0], "-bmi + age"),
        ([2], [2.0], "2*body mass"),
        ([3], [2.0], "2*score(marital-status)"),
        ([4], [1.0], "`3`"),
        ([0], [0.1234567], "0.123457*age"),
        ([0], [1.00000001], "age"),
        ([0], [1e-20], "1e-20*age"),
        ([], [], "0"),
    ],
)
def test_describe(idx: list[int], coef: list[float], text: str) -> None:
    encoding = Encoding(
        (
            Column("age"),
            Column("bmi"),
            Column("body mass"),
            Column("marital-status", "qualitative", ("single", "married")),
            Column("3"),
        )
    )
    assert encoding.describe(idx, coef) == text


def test_describe_with_more_digits() -> None:
    assert Encoding.identity(1).describe([0], [0.1234567], digits=7) == "0.1234567*x0"


def test_encoding_goes_through_json() -> None:
    encoding = Encoding(
        (
            Column("age"),
            Column("status", "qualitative", ("single", "married", None)),
            Column("n", "qualitative", (1, 2.5, True)),
        )
    )
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding


@pytest.mark.parametrize("state", [{}, {"columns": [{"name": "a"}]}, {"columns": [3]}, []])
def test_bad_encoding_state(state: Any) -> None:
    with pytest.raises(ValueError, match="An encoding is read from"):
        Encoding.from_dict(state)


def test_bad_columns() -> None:
    with pytest.raises(ValueError, match="kind of column 'a' must be 'numeric' or 'qualitative'"):
        Column("a", "ordinal")
    with pytest.raises(ValueError, match="numeric column 'a' cannot have levels; got 2"):
        Column("a", levels=(1, 2))


def test_problem_names() -> None:
    problem = encode(np.ones((2, 2)), [0, 1], 2, names=["a", "b"])
    assert problem.encoding.names == ("a", "b")
    with pytest.raises(ValueError, match="got 3 names for 2 columns"):
        encode(np.ones((2, 2)), [0, 1], 2, names=["a", "b", "c"])


# --- weights as numbers of rows -------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample_weight", "class_weight", "rows"),
    [
        (None, None, [1, 1, 1, 1]),
        ([2, 2, 2, 2], None, [2, 2, 2, 2]),
        ([1, 2, 3, 0], None, [1, 2, 3]),
        ([0.1, 0.1, 0.1, 0.1], None, [1, 1, 1, 1]),
        ([0.5, 1.0, 1.5, 0.0], None, [0.5, 1.0, 1.5]),
        ([1e-310, 1e-310, 3e-310, 3e-310], None, [0.5, 0.5, 1.5, 1.5]),
        ([1e300, 1e300, 3e300, 3e300], None, [0.5, 0.5, 1.5, 1.5]),
        # The weight of a class is what mistakes cost, with or without weights of rows.
        (None, [1.0, 2.5], [1, 1, 2.5, 2.5]),
        ([0.25, 0.25, 0.25, 0.25], [1.0, 2.5], [1, 1, 2.5, 2.5]),
    ],
)
def test_weights_that_are_no_numbers_of_rows_have_a_mean_of_one(
    sample_weight: Any, class_weight: Any, rows: list[float]
) -> None:
    X = np.arange(4.0)[:, None]
    problem = encode(X, [0, 0, 1, 1], 2, sample_weight=sample_weight, class_weight=class_weight)
    units = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    np.testing.assert_allclose(units * problem.row_unit, rows, rtol=1e-6)
