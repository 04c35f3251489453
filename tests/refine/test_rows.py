"""Rows as refinement sees them: floats and ones, equal rows together, in an order of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.refine.rows import LANES, SoftRows, soft_rows
from reference.refine import full_rows, mixed_frame


def mixed(n_rows: int = 200, seed: int = 0, **options: Any) -> Problem:
    frame, y = mixed_frame(n_rows, seed)
    return encode(read_table(frame), y, 3, **options)


def assert_same(one: SoftRows, other: SoftRows) -> None:
    for a, b in zip(one.arrays, other.arrays, strict=True):
        if a is None or b is None:
            assert a is b
        else:
            np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(one.columns.share, other.columns.share)


def test_numbers_are_standardised_by_weight() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 50.0, 0.01] + [0.0, 1e4, 0.0]
    weight = rng.integers(1, 6, 80)
    rows = soft_rows(encode(X, np.arange(80) % 2, 2, sample_weight=weight))
    columns = rows.columns
    assert (columns.width, columns.stride, columns.constant) == (LANES, LANES, 3)
    share = rows.weight.astype(float) / rows.weight.sum()
    np.testing.assert_allclose(share @ rows.x[:, :3], 0.0, atol=1e-6)
    np.testing.assert_allclose(share @ rows.x[:, :3].astype(float) ** 2, 1.0, rtol=1e-5)
    assert (rows.x[:, 3] == 1.0).all() and not rows.x[:, 4:].any()
    # Means are rounded to a 2**24th of the spread.
    off = columns.mean - np.average(X, axis=0, weights=weight)
    np.testing.assert_allclose(off / columns.sd, 0.0, atol=2.0**-23)
    assert rows.weight.mean() == pytest.approx(1.0)
    assert columns.owner.tolist() == [0, 1, 2, -1, -1, -1, -1, -1]
    assert rows.more is None and rows.more_ptr is None
    np.testing.assert_allclose(
        rows.class_share, np.bincount(np.arange(80) % 2, weight) / weight.sum()
    )


def test_levels_and_gaps_are_ones() -> None:
    problem = mixed()
    rows = soft_rows(problem)
    columns = rows.columns
    assert columns.numeric.tolist() == [0, 1, 2]
    assert columns.n_levels.tolist() == [0, 0, 0, 5, 3]
    assert (columns.missing >= 0).tolist() == [True, False, False, True, False]
    assert columns.width % LANES == 0
    full = full_rows(rows.arrays, columns.width)
    # Each row of the problem is one of these: look for it by its numbers, which differ.
    back = full[:, 1] * columns.sd[1] + columns.mean[1]
    for Z, y in zip(problem.Z, problem.y, strict=True):
        at = int(np.abs(back - Z[1]).argmin())
        assert rows.y[at] == y
        expected = np.zeros(columns.width)
        expected[:3] = (np.nan_to_num(Z[:3]) - columns.mean) / columns.sd
        expected[columns.constant] = 1.0
        if np.isnan(Z[0]):
            expected[0] = 0.0
            expected[columns.missing[0]] = 1.0
        gap = np.isnan(Z[3])
        expected[columns.missing[3] if gap else columns.levels[3] + int(Z[3])] = 1.0
        expected[columns.levels[4] + int(Z[4])] = 1.0
        np.testing.assert_allclose(full[at], expected, atol=1e-5)
    share = rows.weight.astype(float) / rows.n_rows
    there = slice(columns.stride, None)
    np.testing.assert_allclose(columns.share[there], share @ full[:, there], atol=1e-6)
    owned = [int((columns.owner == column).sum()) for column in range(5)]
    assert owned == [2, 1, 1, 6, 3]


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_the_order_of_the_rows_does_not_matter(kind: str) -> None:
    frame, y = mixed_frame(150, 1)
    frame = frame[["b", "c"]] if kind == "numbers" else frame
    order = np.random.default_rng(0).permutation(150)
    one = soft_rows(encode(read_table(frame), y, 3), 5)
    assert_same(one, soft_rows(encode(read_table(frame.iloc[order]), y[order], 3), 5))
    assert one.x.tobytes() != soft_rows(encode(read_table(frame), y, 3), 6).x.tobytes()


def test_a_weight_is_a_number_of_rows() -> None:
    frame, y = mixed_frame(90, 2)
    times = np.random.default_rng(0).integers(0, 4, 90)
    often = np.repeat(np.arange(90), times)
    one = soft_rows(encode(read_table(frame), y, 3, sample_weight=times))
    other = soft_rows(encode(read_table(frame.iloc[often]), y[often], 3))
    assert one.n_rows == (times > 0).sum()
    assert_same(one, other)
    scaled = soft_rows(encode(read_table(frame), y, 3, sample_weight=times * 0.3))
    np.testing.assert_allclose(scaled.weight, one.weight, rtol=1e-6)


def test_equal_rows_of_two_classes_stay_two() -> None:
    X = np.array([[1.0], [1.0], [1.0], [2.0]])
    rows = soft_rows(encode(X, [0, 1, 1, 0], 2))
    assert sorted(zip(rows.x[:, 0] > 0, rows.y, rows.units, strict=True)) == [
        (False, 0, 1),
        (False, 1, 2),
        (True, 0, 1),
    ]


def test_columns_that_tell_nothing_are_not_blown_up() -> None:
    """Constant, constant but for rounding far from 0, and missing in all rows but one."""
    table = read_table(
        np.column_stack(
            [
                np.full(6, 3.0),
                1e15 + np.array([0.0, 0.125, 0.0, 0.0, 0.125, 0.0]),
                [np.nan, np.nan, 7.0, np.nan, np.nan, np.nan],
                np.arange(6.0),
            ]
        )
    )
    rows = soft_rows(encode(table, [0, 1, 0, 1, 0, 1], 2))
    assert np.isfinite(rows.x).all()
    assert np.abs(rows.x[:, :3]).max() < 1.0
    assert np.abs(rows.x[:, 3]).max() > 1.0
    assert rows.columns.sd[:3].tolist() == [1.0, 1.0, 1.0]


def test_gaps_only() -> None:
    """A number that is always missing, beside one that is there."""
    table = read_table(np.column_stack([np.full(5, np.nan), np.arange(5.0)]))
    rows = soft_rows(encode(table, [0, 0, 1, 1, 1], 2))
    assert not rows.x[:, 0].any()
    assert rows.more_ptr is not None and rows.more is not None
    assert rows.more_ptr.tolist() == [0, 1, 2, 3, 4, 5]
    assert (rows.more == rows.columns.missing[0]).all()
