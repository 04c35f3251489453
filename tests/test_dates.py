"""Dates in frames: the numbers that they become, when fitting and when predicting."""

from __future__ import annotations

import warnings
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import obliqua
from obliqua.data.dates import DAYS, Instants, instants, without_dates
from obliqua.data.row_numbers import counts_rows

MOMENTS = [datetime(2024, 2, 29, 13, 30), None, datetime(1969, 12, 31), datetime(2023, 1, 1, 0, 0)]


def parts(found: Instants | None) -> dict[str, list[float]]:
    assert found is not None
    return {part: found.part(part).tolist() for part in found.parts}


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.to_datetime(pd.Series(MOMENTS))),
        pd.Series(pd.to_datetime(pd.Series(MOMENTS)).dt.tz_localize("Asia/Tokyo")),
        pd.Series(MOMENTS, dtype=object),
        pd.Series(MOMENTS, dtype="timestamp[us][pyarrow]"),
        pl.Series(MOMENTS),
        pl.Series(MOMENTS).dt.replace_time_zone("Asia/Tokyo"),
    ],
    ids=["pandas", "zone", "objects", "arrow", "polars", "polars zone"],
)
def test_parts_of_moments(series: Any) -> None:
    """The clock on the wall counts, whatever the zone."""
    found = parts(instants(series))
    nan = np.nan
    expected = {
        "year": [2024, nan, 1969, 2023],
        "month": [2, nan, 12, 1],
        "weekday": [4, nan, 3, 7],
        "hour": [13.5, nan, 0, 0],
        DAYS: [19782 + 13.5 / 24, nan, -1, 19358],
    }
    assert list(found) == list(expected)
    for part, values in expected.items():
        np.testing.assert_allclose(found[part], values, rtol=1e-15)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series([date(2024, 2, 29), None]),
        pd.Series([date(2024, 2, 29), None], dtype="date32[pyarrow]"),
        pd.Series([pd.Timestamp("2024-02-29"), pd.NaT]),
        pl.Series([date(2024, 2, 29), None]),
    ],
    ids=["objects", "arrow", "pandas", "polars"],
)
def test_days_have_no_hours(series: Any) -> None:
    found = parts(instants(series))
    assert list(found) == ["year", "month", "weekday", DAYS]
    np.testing.assert_array_equal(found[DAYS], [19782, np.nan])


def test_times_and_durations() -> None:
    np.testing.assert_array_equal(
        parts(instants(pl.Series([time(6, 45), None])))["hour"], [6.75, np.nan]
    )
    for series in (
        pl.Series([timedelta(minutes=2), None]),
        pd.Series([timedelta(minutes=2), None]),
        pd.Series([timedelta(minutes=2), None], dtype="duration[us][pyarrow]"),
    ):
        found = parts(instants(series))
        assert list(found) == ["seconds"]
        np.testing.assert_array_equal(found["seconds"], [120, np.nan])


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["2024-02-29"], dtype=object),
        pd.Series([date(2024, 2, 29), "text"], dtype=object),
        pd.Series([None, np.nan], dtype=object),
        pd.Series([1, 2]),
        pl.Series(["2024-02-29"]),
    ],
)
def test_what_is_no_date(series: Any) -> None:
    assert instants(series) is None


def table(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(seed)
    when = np.datetime64("2024-01-01", "us") + rng.integers(0, 300, n) * np.timedelta64(1, "D")
    frame = pd.DataFrame({"a": rng.normal(size=n), "when": when, "b": rng.normal(size=n)})
    weekend = (frame["when"].to_numpy().astype("M8[D]").astype(int) + 3) % 7 >= 5
    return frame, np.where(weekend, "rest", "work")


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_tree_learns_from_dates(kind: str, tmp_path: Path) -> None:
    frame, y = table()
    X: Any = frame
    if kind == "polars":
        X = pl.DataFrame({name: frame[name].to_numpy() for name in frame})
    elif kind == "arrow":
        X = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    tree = obliqua.CartClassifier(random_state=0).fit(X, y)
    assert tree.feature_names_in_.tolist() == [
        "a",
        "when (year)",
        "when (month)",
        "when (weekday)",
        "when (days since 1970-01-01)",
        "b",
    ]
    assert tree.n_features_in_ == 6
    assert "when (weekday) <= 5.5" in obliqua.export_text(tree)
    assert (tree.predict(X) == y).all()
    obliqua.save(tree, tmp_path / "m.obliqua")
    again = obliqua.load(tmp_path / "m.obliqua")
    assert (again.predict(X) == y).all()
    # One row at midday has an hour, which this tree does not know.
    one = frame.head(1).assign(when=frame["when"].head(1) + pd.Timedelta(hours=12))
    assert again.predict(one).tolist() == y[:1].tolist()
    # A model takes columns in any order, and the numbers in the place of the dates.
    index = again.model_.predict_index(again.model_.rows(frame[["b", "when", "a"]]))
    assert (again.classes_[index] == y).all()
    assert (again.predict(without_dates(frame)) == y).all()


def test_missing_dates_are_missing_numbers() -> None:
    frame, y = table()
    frame.loc[::7, "when"] = pd.NaT
    tree = obliqua.CartClassifier(random_state=0).fit(frame, y)
    assert tree.predict(frame).shape == y.shape
    assert np.isnan(tree.model_.rows(frame)[0, 1:5]).all()


def test_names_that_are_taken() -> None:
    frame, y = table()
    frame["when (year)"] = 1.0
    with pytest.raises(ValueError, match=r"'when' holds dates and would become 'when \(year\)'"):
        obliqua.CartClassifier().fit(frame, y)


def test_frames_without_dates_stay_what_they_are() -> None:
    frame = table()[0].drop(columns="when")
    assert without_dates(frame) is frame
    assert without_dates(frame, ["a", "b"]) is frame
    dated = table()[0]
    assert without_dates(dated, ["a", "b"]) is dated  # nobody knows a part
    array = np.zeros((2, 2))
    assert without_dates(array) is array


def test_advise_and_compare_take_dates() -> None:
    frame, y = table(120)
    result = obliqua.compare(frame, y, ["cart", "sklearn"], n_folds=3, random_state=0)
    assert result.n_features == 6


# --- columns that count the rows -------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("text", [False, True])
def test_a_column_that_counts_rows_is_warned_of(start: int, text: bool) -> None:
    frame, y = table()
    frame = frame.drop(columns="when").assign(n=np.arange(start, start + len(frame)))
    if text:
        frame["c"] = np.where(y == "rest", "u", "v")
    with pytest.warns(UserWarning, match=f"Column 'n' counts the rows, {start} to") as caught:
        obliqua.CartClassifier(random_state=0).fit(frame, y)
    assert caught[0].filename == __file__


def test_what_does_not_count_rows() -> None:
    assert not counts_rows(np.arange(1.0, 20.0))  # too few
    assert counts_rows(np.arange(1.0, 21.0))
    assert not counts_rows(np.arange(2, 30))
    assert not counts_rows(np.r_[np.arange(1, 20), 19, 21])
    rows = np.r_[np.arange(10), np.arange(12, 30)]
    assert counts_rows(rows + 1, rows)
    assert not counts_rows(np.arange(1, 29), rows)
    frame, y = table()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shuffled = np.random.default_rng(0).permutation(len(y))
        obliqua.CartClassifier().fit(frame.assign(n=shuffled), y)
        obliqua.CartClassifier().fit(pd.DataFrame({"n": np.arange(len(y))}), y)  # nothing else
        obliqua.CartClassifier().fit(np.c_[np.arange(len(y)), shuffled], y)  # no names
