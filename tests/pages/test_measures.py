"""What a page says of how good a model is, beside slow and obvious twins."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from obliqua.pages.measures import (
    GRID_BINS,
    MOST_BINS,
    RESIDUAL_BINS,
    class_measures,
    number_measures,
)
from problems import examples


def in_json(value: Any) -> Any:
    """Write and read a value, without NaN; a page gets it in this way."""
    return json.loads(json.dumps(value, allow_nan=False))


@st.composite
def class_cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Draw classes of rows, what was said of them, and what was chosen, by costs perhaps."""
    n_classes, n_rows = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = rng.integers(0, draw(st.integers(1, n_classes)), n_rows)
    # Few leaves, or as many as rows; whole numbers give many shares of 0.
    sums = rng.integers(0, 4, (draw(st.integers(1, n_rows)), n_classes)) + 0.0
    sums[sums.sum(axis=1) == 0] = 1.0
    shares = (sums / sums.sum(axis=1, keepdims=True))[rng.integers(0, len(sums), n_rows)]
    chosen = shares.argmax(axis=1)
    if draw(st.booleans()):
        chosen = rng.integers(0, n_classes, n_rows)
    return codes, shares, chosen, n_classes


def rate(above: int, below: int) -> float | None:
    return above / below if below else None


@given(class_cases())
@examples(60)
def test_facts_of_classes_are_counted_row_by_row(case: tuple[Any, ...]) -> None:
    codes, shares, chosen, n_classes = case
    got = in_json(class_measures(*case))
    rows = list(zip(codes.tolist(), chosen.tolist(), strict=True))
    matrix = [[rows.count((i, j)) for j in range(n_classes)] for i in range(n_classes)]
    assert got["matrix"] == matrix
    recalls, fs = [], []
    for k, facts in enumerate(got["classes"]):
        own, given_it = sum(i == k for i, _ in rows), sum(j == k for _, j in rows)
        expected = {
            "n": own,
            "recall": rate(matrix[k][k], own),
            "precision": rate(matrix[k][k], given_it),
            "f": rate(2 * matrix[k][k], own + given_it),
        }
        assert facts == pytest.approx(expected)
        recalls += [expected["recall"]] if own else []
        fs += [expected["f"]] if own + given_it else []
    assert got["accuracy"] == pytest.approx(sum(i == j for i, j in rows) / len(rows))
    assert got["balanced"] == pytest.approx(sum(recalls) / len(recalls))
    assert got["macroF"] == pytest.approx(sum(fs) / len(fs))
    own_shares = [shares[row, code] for row, code in enumerate(codes)]
    assert got["zeroShares"] == own_shares.count(0.0)
    losses = [-math.log(max(share, np.finfo(float).eps)) for share in own_shares]
    assert got["logLoss"] == pytest.approx(sum(losses) / len(losses))


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 200)
    shares = rng.dirichlet([0.5] * 4, 200)
    shares[:20] = [0.0, 0.5, 0.0, 0.5]  # with shares of 0; no row is of class 3
    chosen = shares.argmax(axis=1)
    got = class_measures(codes, shares, chosen, 4)
    assert got["logLoss"] == pytest.approx(log_loss(codes, shares, labels=range(4)))
    assert got["macroF"] == pytest.approx(f1_score(codes, chosen, average="macro"))
    with pytest.warns(UserWarning, match="not in y_true"):
        assert got["balanced"] == pytest.approx(balanced_accuracy_score(codes, chosen))


@given(class_cases())
@examples(60)
def test_bins_of_calibration_hold_all_rows_and_never_part_equal_shares(
    case: tuple[Any, ...],
) -> None:
    codes, shares, *_ = case
    for k, bins in enumerate(in_json(class_measures(*case))["calibration"]):
        rows = sorted(zip(shares[:, k].round(12).tolist(), (codes == k).tolist(), strict=True))
        steps = {share for share, _ in rows}
        assert len(bins) == len(steps) if len(steps) <= MOST_BINS else len(bins) <= MOST_BINS
        start = 0
        for found in bins:
            here = rows[start : start + found["n"]]
            start += found["n"]
            assert found["said"] == pytest.approx(np.mean([share for share, _ in here]))
            assert found["seen"] == pytest.approx(np.mean([true for _, true in here]))
            assert start == len(rows) or here[-1][0] < rows[start][0]
        assert start == len(rows)


def test_many_shares_give_bins_of_about_equal_numbers_of_rows() -> None:
    rng = np.random.default_rng(1)
    share = rng.random(1000) ** 3
    shares = np.column_stack([1.0 - share, share])
    codes = (rng.random(1000) < share).astype(int)
    bins = class_measures(codes, shares, shares.argmax(axis=1), 2)["calibration"][1]
    assert [found["n"] for found in bins] == pytest.approx([100] * 10, abs=2)
    assert all(abs(found["said"] - found["seen"]) < 0.15 for found in bins)


def test_many_equal_shares_have_a_bin_for_themselves() -> None:
    share = np.concatenate([np.linspace(0.0, 0.3, 35), np.full(60, 0.5), np.linspace(0.7, 1.0, 5)])
    shares = np.column_stack([share, 1.0 - share])
    codes = np.zeros(100, int)
    bins = class_measures(codes, shares, shares.argmax(axis=1), 2)["calibration"][0]
    assert 60 in [found["n"] for found in bins]


def test_shares_that_differ_by_rounding_are_one_share() -> None:
    share = np.array([0.1 + 0.2, 0.3, 0.7])
    shares = np.column_stack([share, 1.0 - share])
    bins = class_measures(np.array([0, 1, 0]), shares, np.array([1, 1, 0]), 2)["calibration"][0]
    assert [found["n"] for found in bins] == [2, 1]


def test_one_class_and_one_row() -> None:
    got = in_json(class_measures(np.array([0]), np.array([[1.0]]), np.array([0]), 1))
    assert (got["accuracy"], got["logLoss"], got["matrix"]) == (1.0, 0.0, [[1]])
    assert got["calibration"] == [[{"said": 1.0, "seen": 1.0, "n": 1}]]


def test_many_rows_and_classes_are_quick() -> None:
    rng = np.random.default_rng(2)
    shares = rng.dirichlet([0.1] * 26, 100_000)
    codes = rng.integers(0, 26, 100_000)
    start = time.perf_counter()
    class_measures(codes, shares, shares.argmax(axis=1), 26)
    number_measures(["y"], shares[:, 0], shares[:, 1])
    assert time.perf_counter() - start < 10.0  # about half a second


def test_nothing_to_measure_is_said() -> None:
    with pytest.raises(ValueError, match="no rows to measure"):
        class_measures(np.array([], int), np.empty((0, 2)), np.array([], int), 2)
    with pytest.raises(ValueError, match="no rows to measure"):
        number_measures(["y"], np.empty((0, 1)), np.empty((0, 1)))


numbers = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6))


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=30))
@examples(80)
def test_grids_and_residuals_hold_each_row_where_it_belongs(
    pairs: list[tuple[float, float]],
) -> None:
    true, said = np.array(pairs).T
    (got,) = in_json(number_measures(["y"], true, said))
    low, high = min(true.min(), said.min()), max(true.max(), said.max())
    if low < high:
        assert (got["low"], got["high"]) == pytest.approx((low, high))
    assert got["bins"] == GRID_BINS
    assert sum(n for _, _, n in got["cells"]) == len(pairs)
    width = (got["high"] - got["low"]) / GRID_BINS
    for x, y, n in got["cells"]:
        inside = [
            abs(got["low"] + (place + 0.5) * width - values) <= width * (0.5 + 1e-6)
            for place, values in ((x, said), (y, true))
        ]
        assert (inside[0] & inside[1]).sum() >= n > 0
    reach, n_bins = got["residualHigh"], len(got["residuals"])
    assert got["residualLow"] == -reach < 0
    assert n_bins == RESIDUAL_BINS and sum(got["residuals"]) == len(pairs)
    beyond = np.abs(true - said) > 1.5 * np.quantile(np.abs(true - said), 0.99)
    assert (np.abs(true - said)[~beyond] <= reach * (1 + 1e-9)).all()
    half = 0.5 * 2 * reach / n_bins * (1 + 1e-6)
    for place, n in enumerate(got["residuals"]):
        middle = -reach + (place + 0.5) * 2 * reach / n_bins
        assert (np.abs(np.clip(true - said, -reach, reach) - middle) <= half).sum() >= n


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=30))
@examples(60)
def test_measures_of_numbers_are_those_of_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    true, said = np.array(pairs).T
    (got,) = number_measures(["y"], true, said)
    assert got["rmse"] == pytest.approx(root_mean_squared_error(true, said))
    assert got["mae"] == pytest.approx(mean_absolute_error(true, said))
    assert got["bias"] == pytest.approx(np.mean(true - said), abs=1e-9)
    if (true == true[0]).all():
        assert got["r2"] is None
    elif np.ptp(true) > 1e-3:
        assert got["r2"] == pytest.approx(r2_score(true, said), rel=1e-6, abs=1e-6)


def test_each_output_is_measured_by_itself() -> None:
    true = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    said = true + np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 4.0]])
    first, second = number_measures(["height", "age"], true, said)
    assert (first["name"], first["r2"], first["rmse"], first["residuals"][15]) == (
        "height",
        1.0,
        0.0,
        3,
    )
    assert (second["name"], second["bias"], second["mae"]) == ("age", -2.0, 2.0)


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e200, 1.7e308])
def test_numbers_of_any_size_stay_numbers(size: float) -> None:
    true, said = np.array([size, -size, size]), np.array([-size, -size, size])
    (got,) = in_json(number_measures(["y"], true, said))
    assert got["r2"] == pytest.approx(1.0 - (4 / 3) / (8 / 9))
    assert got["mae"] == pytest.approx(2 / 3 * size, rel=1e-3)
    assert (got["low"], got["high"]) == (-size, size)


def test_far_residuals_do_not_squeeze_the_others() -> None:
    residual = np.append(np.linspace(-1.0, 1.0, 999), 1000.0)
    (got,) = number_measures(["y"], residual, np.zeros(1000))
    assert 1.0 <= got["residualHigh"] < 2.0
    assert got["residuals"][-1] == 1


def test_one_far_residual_among_none_is_in_sight() -> None:
    true = np.append(np.zeros(200), 5.0)
    (got,) = number_measures(["y"], true, np.zeros(201))
    assert (got["residualHigh"], got["residuals"][-1], got["residuals"][15]) == (5.0, 1, 200)


@pytest.mark.parametrize("value", [0.0, -3.0, 7.5])
def test_a_single_number_is_in_the_middle_of_the_grid(value: float) -> None:
    (got,) = number_measures(["y"], np.full(4, value), np.full(4, value))
    assert got["low"] < got["high"]
    assert (got["low"] + got["high"]) / 2 == value
    assert got["cells"] == [[GRID_BINS // 2, GRID_BINS // 2, 4]]


def test_true_numbers_that_hardly_vary_beside_large_answers_have_no_r2() -> None:
    (got,) = number_measures(["y"], np.array([0.0, 5e-200]), np.ones(2))
    assert (got["r2"], got["rmse"]) == (None, 1.0)
