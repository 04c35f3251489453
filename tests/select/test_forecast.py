"""How long fits will take is said before they begin, and what takes too long is left out."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from obliqua import CartClassifier, CostWarning, EigenTreeClassifier, advise, compare
from obliqua._typing import FloatArray, Int64Array
from obliqua.select import forecast as told
from obliqua.select.forecast import forecast, time_in_words, too_slow

ORDER = np.arange(16_000)


def rows_of(n_rows: int = 2_000, n_columns: int = 12) -> tuple[FloatArray, Int64Array]:
    """Rows of two classes; enough that times are looked at."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] > 0).astype(np.int64)


@pytest.mark.parametrize("power", [1.0, 1.7, 2.0, 3.0])
def test_times_grow_as_they_do_between_samples(power: float) -> None:
    found = told._seconds(lambda rows: 1e-12 * len(rows) ** power, ORDER, 16_000)
    assert found == pytest.approx(1e-12 * 16_000**power)


def test_growth_stays_within_reason() -> None:
    assert told._seconds(lambda rows: 0.01, ORDER, 16_000) == pytest.approx(0.02)
    steep = told._seconds(lambda rows: 1e-15 * len(rows) ** 4, ORDER, 16_000)
    assert steep == pytest.approx(1e-15 * 4_000**4 * 4**3)


def test_a_slow_sample_is_not_followed_by_a_larger_one() -> None:
    sizes: list[int] = []

    def timed(rows: Int64Array) -> float:
        sizes.append(len(rows))
        return 100.0

    assert told._seconds(timed, ORDER, 16_000) == pytest.approx(100 * 16**1.5)
    assert sizes == [1_000]


def test_what_a_sample_cannot_tell() -> None:
    assert np.isnan(told._seconds(lambda rows: np.nan, ORDER, 16_000))
    found = told._seconds(lambda rows: 0.1 if len(rows) == 1_000 else np.nan, ORDER, 16_000)
    assert found == pytest.approx(0.1 * 16**1.5)


def test_an_estimator_that_says_it_is_believed() -> None:
    """2C-ETCT knows what many features cost, and is not tried at all."""
    X, y = rows_of(200, 6_000)
    etct = EigenTreeClassifier()
    found = forecast({"etct": etct, "cart": CartClassifier()}, X, y, 10, 0)
    with pytest.warns(CostWarning) as said:
        etct._warn_of_cost(2, 6_000)
    assert isinstance(said[0].message, CostWarning)
    assert found["etct"] == said[0].message.seconds > 60
    assert found["cart"] < 60


def test_small_tables_are_not_looked_at() -> None:
    X, y = rows_of(344, 8)
    assert forecast({"cart": CartClassifier()}, X, y, 10, 0) == {}


def test_a_fit_that_fails_is_left_to_fail_where_it_is_made() -> None:
    X, y = rows_of()
    found = forecast(
        {"wrong": CartClassifier(max_depth="x"), "cart": CartClassifier()}, X, y, 5, 0
    )
    assert np.isnan(found["wrong"])
    assert 0 < found["cart"] < 60


def test_too_slow() -> None:
    found = too_slow({"a": 1.0, "b": 100.0, "c": np.nan}, dict.fromkeys("abc", 10), 60, "so it is")
    assert found == {"b": "'b' is left out: its 10 fits would take about 17 minutes; so it is."}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "3 seconds"),
        (119, "119 seconds"),
        (120, "2 minutes"),
        (7_200, "2 hours"),
        (1e6, "12 days"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert time_in_words(seconds) == words


def test_compare_says_how_long_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "LONG", 0.0)
    X, y = rows_of()
    steps: list[str] = []

    def stop(done: int, total: int, name: str) -> None:
        steps.append(name)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        monkeypatch.setattr("obliqua.select.compare.cross_validate", lambda *_: steps)
        compare(X, y, ["cart", "hhcart-d"], n_folds=5, progress=stop)
    (warning,) = said
    assert warning.category is CostWarning
    assert warning.filename == __file__
    assert str(warning.message).startswith("10 fits will take about ")
    assert "cart" in str(warning.message)
    assert not steps


def test_trees_of_all_sizes_are_one_method() -> None:
    seconds = {"refined": 1.0, "refined@2": 2.0, "refined@4": 6.0, "axis": 1.0}
    with pytest.warns(
        CostWarning, match=r"40 fits will take about 100 seconds.*refined 90 %, axis"
    ):
        told.warn_of_time(seconds, dict.fromkeys(seconds, 10), None)


def test_compare_says_nothing_of_short_work() -> None:
    X, y = rows_of()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compare(X, y, ["cart"], n_folds=2).notes == ()


def test_compare_leaves_out_what_takes_too_long() -> None:
    X, y = rows_of()
    quick, slow = CartClassifier(max_depth=1), CartClassifier()
    monkeyed = {"quick": 1e-4, "slow": 1.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("obliqua.select.compare.forecast", lambda *_: monkeyed)
        result = compare(X, y, {"quick": quick, "slow": slow}, n_folds=3, max_seconds=2.0)
        assert list(result.folds) == ["quick"]
        (note,) = result.notes
        assert note.startswith("'slow' is left out: its 3 fits would take about 3 seconds; a ")
        both = compare(X, y, {"quick": quick, "slow": slow}, n_folds=3)
        assert list(both.folds) == ["quick", "slow"]
        with pytest.raises(ValueError, match="Nothing is left to compare"):
            compare(X, y, {"quick": quick, "slow": slow}, n_folds=3, max_seconds=1e-6)


def test_advise_leaves_out_trees_that_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows_of(300, 4)
    monkeypatch.setattr(
        "obliqua.select.advise.forecast",
        lambda estimators, *_: {n: 1e4 if n == "refined" else 0.01 for n in estimators},
    )
    advice = advise(X, y, n_folds=2, n_repeats=1)
    assert "refined" not in [row["method"] for row in advice.rows()]
    assert "refined" not in advice.curve
    assert "dense" in advice.curve
    (note,) = [text for text in advice.notes if "refined" in text]
    assert note.startswith("'refined' is left out: its 2 fits would take about 6 hours")
