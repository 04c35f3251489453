"""The measures of labels, against hand and against scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score, recall_score

from obliqua.stats.metrics import (
    accuracy_of,
    f_measures,
    macro_f,
    macro_f_of,
    negative_rates_of,
    pooled_matrix,
    positive_rates_of,
    true_negative_rates,
    true_positive_rates,
)

TRUTH = ["a"] * 10 + ["b"] * 6 + ["c"] * 4
GIVEN = ["a"] * 8 + ["b"] * 2 + ["a"] + ["b"] * 5 + ["a"] * 3 + ["b"]
# Ten rows of a, six of b, four of c; c is never predicted.
MATRIX = np.array([[8, 2, 0], [1, 5, 0], [3, 1, 0]])
ALL = [true_positive_rates, true_negative_rates, f_measures, macro_f]
each_measure = pytest.mark.parametrize("measure", ALL, ids=lambda m: m.__name__)
Measure = Callable[..., Any]


def test_by_hand() -> None:
    np.testing.assert_allclose(true_positive_rates(TRUTH, GIVEN), [8 / 10, 5 / 6, 0])
    np.testing.assert_allclose(true_negative_rates(TRUTH, GIVEN), [6 / 10, 11 / 14, 1])
    np.testing.assert_allclose(f_measures(TRUTH, GIVEN), [16 / 22, 10 / 14, 0])
    assert macro_f(TRUTH, GIVEN) == pytest.approx((16 / 22 + 10 / 14) / 3)


def test_the_matrix_counts_true_labels_in_rows() -> None:
    truth = np.array(["x", "x", "y", "y", "y"])
    predicted = np.array(["x", "y", "y", "y", "x"])
    np.testing.assert_array_equal(pooled_matrix(truth, predicted, ["x", "y"]), [[1, 1], [1, 2]])
    # The order of the classes is the caller's, and one without rows may stand among them.
    np.testing.assert_array_equal(
        pooled_matrix(truth, predicted, ["y", "z", "x"]), [[2, 0, 1], [0, 0, 0], [1, 0, 1]]
    )


def test_a_label_that_is_no_class_is_an_error() -> None:
    for label in ("a", "xx", "z"):
        with pytest.raises(ValueError, match="list every class"):
            pooled_matrix(np.array(["x", "y"]), np.array(["x", label]), ["x", "y"])


def test_of_a_matrix_by_hand() -> None:
    assert accuracy_of(MATRIX) == 13 / 20
    np.testing.assert_allclose(positive_rates_of(MATRIX), [8 / 10, 5 / 6, 0])
    # Of the 10 rows that are not a, 4 were called a; of the 14 not b, 3 were called b.
    np.testing.assert_allclose(negative_rates_of(MATRIX), [6 / 10, 11 / 14, 1])
    # 2 M_cc / (row + column)
    assert macro_f_of(MATRIX) == pytest.approx((16 / 22 + 10 / 14 + 0) / 3)


def test_a_class_of_a_matrix_without_rows() -> None:
    matrix = np.array([[3, 1], [0, 0]])
    np.testing.assert_array_equal(positive_rates_of(matrix), [0.75, np.nan])
    np.testing.assert_array_equal(negative_rates_of(matrix), [np.nan, 0.75])
    assert macro_f_of(matrix) == pytest.approx(3 / 7)


def test_f_is_the_harmonic_mean_of_precision_and_recall() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(1, 30, size=(5, 5))
    precision = matrix.diagonal() / matrix.sum(axis=0)
    recall = matrix.diagonal() / matrix.sum(axis=1)
    harmonic = 2 / (1 / precision + 1 / recall)
    assert macro_f_of(matrix) == pytest.approx(harmonic.mean())


def test_against_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    truth, given, weight = rng.integers(0, 4, 200), rng.integers(0, 4, 200), rng.random(200)
    for how in ({}, {"sample_weight": weight}, {"labels": [2, 0]}):
        recalls = recall_score(truth, given, average=None, **how)
        np.testing.assert_allclose(true_positive_rates(truth, given, **how), recalls)
        f = f1_score(truth, given, average="macro", **how)
        assert macro_f(truth, given, **how) == pytest.approx(f)
    for label, rate in enumerate(true_negative_rates(truth, given, sample_weight=weight)):
        others = recall_score(truth != label, given != label, sample_weight=weight)
        assert rate == pytest.approx(others)


@each_measure
def test_a_weight_of_two_is_a_repeated_row(measure: Measure) -> None:
    weight = np.arange(len(TRUTH)) % 3
    np.testing.assert_allclose(
        measure(TRUTH, GIVEN, sample_weight=weight),
        measure(np.repeat(TRUTH, weight), np.repeat(GIVEN, weight), labels=["a", "b", "c"]),
    )


def test_labels_are_reported_in_their_order() -> None:
    rates = true_positive_rates(TRUTH, GIVEN, labels=["c", "z", "a"])
    np.testing.assert_array_equal(rates, [0, np.nan, 0.8])
    np.testing.assert_array_equal(true_negative_rates(["a"], ["a"], labels=["a"]), [np.nan])


@each_measure
@pytest.mark.parametrize(
    ("truth", "given", "how", "message"),
    [
        ([0, 1], [0], {}, "inconsistent numbers of samples"),
        ([], [], {}, "no rows to measure"),
        ([0, 1], [0, 1], {"labels": []}, "at least one class"),
        ([[0, 1], [1, 0]], [0, 1], {}, "1d array"),
        ([0, 1], ["a", "b"], {}, "Mix of label"),
        ([0, 1], [0, 1], {"sample_weight": [1]}, "sample_weight.shape"),
        ([0, 1], [0, 1], {"sample_weight": [1, -1]}, "Negative values in data passed to"),
        ([0, 1], [0, 1], {"sample_weight": [1, np.nan]}, "sample_weight contains NaN"),
        ([0, 1], [0, 1], {"sample_weight": [1, np.inf]}, "sample_weight contains infinity"),
        (["a", None], ["a", "a"], {}, "y_true has a missing label, None in row 1; leave"),
        (["a", "b"], np.array([np.nan, "a"], object), {}, "y_pred has a missing label, nan in"),
        (["a", "b"], ["a", "b"], {"labels": ["a", None]}, "labels has a missing label, None"),
    ],
)
def test_bad_input(measure: Measure, truth: Any, given: Any, how: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(truth, given, **how)
