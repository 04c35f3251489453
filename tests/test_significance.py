"""Tails of distributions: SciPy's where it has them, and true beyond."""

import numpy as np
import pytest
from scipy import stats

from obliqua.stats.significance import log_chi_square_tail, log_f_tail

FREEDOM = [1.0, 1.5, 2.0, 7.0, 25.0, 400.0]


@pytest.mark.parametrize("top", FREEDOM)
@pytest.mark.parametrize("bottom", [1.0, 3.0, 12.5, 500.0, 1e5])
def test_tails_of_f_are_scipys(top, bottom):
    statistic = np.array([0.0, 1e-9, 0.1, 1.0, 3.0, 30.0, 300.0])
    expected = stats.f.sf(statistic, top, bottom)
    seen = expected > 1e-250
    np.testing.assert_allclose(
        np.exp(log_f_tail(statistic, np.full(7, top), np.full(7, bottom)))[seen],
        expected[seen],
        rtol=1e-9,
    )


@pytest.mark.parametrize("freedom", FREEDOM)
def test_tails_of_chi_square_are_scipys(freedom):
    for statistic in (0.0, 1e-9, 0.1, 1.0, 30.0, 800.0, 1000.0):
        expected = stats.chi2.sf(statistic, freedom)
        if expected > 1e-250:
            assert np.exp(log_chi_square_tail(statistic, freedom)) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", [1e3, 1e4, 1e6])
def test_beyond_float64_with_two_degrees_of_freedom(statistic):
    """There the tails are elementary functions."""
    assert log_chi_square_tail(statistic, 2.0) == pytest.approx(-statistic / 2)
    expected = -500.0 * np.log1p(2.0 * statistic / 1000.0)
    tail = log_f_tail(np.array([statistic]), np.array([2.0]), np.array([1000.0]))
    assert tail[0] == pytest.approx(expected)


@pytest.mark.parametrize("freedom", [1.0, 3.0, 40.0, 180.0])
def test_both_ways_meet(freedom, monkeypatch):
    """The continued fractions agree with SciPy where both can be had."""
    monkeypatch.setattr("obliqua.stats.significance.SMALL", 2.0)
    for factor in (2.0, 4.0, 8.0):
        expected = stats.chi2.logsf(factor * freedom + 5.0, freedom)
        found = log_chi_square_tail(factor * freedom + 5.0, freedom)
        assert found == pytest.approx(expected, rel=1e-9)
        tail = log_f_tail(np.array([factor]), np.array([freedom]), np.array([60.0]))
        assert tail[0] == pytest.approx(stats.f.logsf(factor, freedom, 60.0), rel=1e-9)


def test_tails_fall_and_end():
    statistic = np.array([0.0, 1.0, 1e3, 1e6, 1e9, np.inf])
    tail = log_f_tail(statistic, np.full(6, 25.0), np.full(6, 15974.0))
    assert tail[0] == 0.0
    assert tail[-1] == -np.inf
    assert (np.diff(tail) < 0).all()
    assert np.isfinite(tail[:-1]).all()
