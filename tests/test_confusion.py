"""Measures against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from obliqua.stats.confusion import (
    accuracy,
    confusion_matrix,
    f_measures,
    macro_f,
    true_negative_rates,
    true_positive_rates,
)

# Ten rows of a, six of b, four of c; c is never predicted.
MATRIX = np.array([[8, 2, 0], [1, 5, 0], [3, 1, 0]])


def test_the_matrix_counts_true_labels_in_rows() -> None:
    truth = np.array(["x", "x", "y", "y", "y"])
    predicted = np.array(["x", "y", "y", "y", "x"])
    np.testing.assert_array_equal(confusion_matrix(truth, predicted, ["x", "y"]), [[1, 1], [1, 2]])
    # The order of the classes is the caller's, and one without rows may stand among them.
    np.testing.assert_array_equal(
        confusion_matrix(truth, predicted, ["y", "z", "x"]), [[2, 0, 1], [0, 0, 0], [1, 0, 1]]
    )


def test_a_label_that_is_no_class_is_an_error() -> None:
    for label in ("a", "xx", "z"):
        with pytest.raises(ValueError, match="list every class"):
            confusion_matrix(np.array(["x", "y"]), np.array(["x", label]), ["x", "y"])


def test_measures_by_hand() -> None:
    assert accuracy(MATRIX) == 13 / 20
    np.testing.assert_allclose(true_positive_rates(MATRIX), [8 / 10, 5 / 6, 0])
    # Of the 10 rows that are not a, 4 were called a; of the 14 not b, 3 were called b.
    np.testing.assert_allclose(true_negative_rates(MATRIX), [6 / 10, 11 / 14, 1])
    # 2 M_cc / (row + column)
    np.testing.assert_allclose(f_measures(MATRIX), [16 / 22, 10 / 14, 0])
    assert macro_f(MATRIX) == pytest.approx((16 / 22 + 10 / 14 + 0) / 3)


def test_a_class_without_rows() -> None:
    matrix = np.array([[3, 1], [0, 0]])
    np.testing.assert_array_equal(true_positive_rates(matrix), [0.75, np.nan])
    np.testing.assert_array_equal(true_negative_rates(matrix), [np.nan, 0.75])
    np.testing.assert_allclose(f_measures(matrix), [6 / 7, 0])


def test_f_is_the_harmonic_mean_of_precision_and_recall() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.integers(1, 30, size=(5, 5))
    precision = matrix.diagonal() / matrix.sum(axis=0)
    recall = matrix.diagonal() / matrix.sum(axis=1)
    harmonic = 2 / (1 / precision + 1 / recall)
    np.testing.assert_allclose(f_measures(matrix), harmonic)
