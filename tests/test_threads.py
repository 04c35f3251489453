"""Rows in pieces: the same pieces for any number of threads, of which there are not too many."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np
import pytest
from joblib import effective_n_jobs, parallel_config

from obliqua import CartClassifier, HHCartClassifier, ObliqueForestClassifier, compare
from obliqua.data import threads
from obliqua.data.threads import each, over_rows, thread_count

X = np.random.default_rng(0).normal(size=(300, 3))
Y = X[:, 0] > 0.3 * X[:, 1]


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_pieces_do_not_depend_on_threads(n_threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PIECE", 10)
    values = np.random.default_rng(0).normal(size=95)
    found = over_rows(lambda first, last: (first, last), 95, n_threads)
    assert found == [(start, min(start + 10, 95)) for start in range(0, 95, 10)]
    sums = over_rows(lambda first, last: float(values[first:last].sum()), 95, n_threads)
    assert sums == [float(values[start : start + 10].sum()) for start in range(0, 95, 10)]


def test_no_rows_are_one_empty_piece() -> None:
    assert over_rows(lambda first, last: (first, last), 0, 2) == [(0, 0)]


def test_really_several_threads() -> None:
    both = threading.Barrier(2, timeout=30)
    assert each(lambda _: both.wait() >= 0, range(2), 2) == [True, True]


def test_an_error_is_raised() -> None:
    def refuse(item: int) -> None:
        raise KeyError(item)

    for n_threads in (1, 2):
        with pytest.raises(KeyError):
            each(refuse, [1, 2, 3], n_threads)


def test_as_many_as_there_are_cores_or_a_few() -> None:
    most = max(os.cpu_count() or 1, 8)
    assert [thread_count(n) for n in (None, 1, 3, most, 10**6)] == [1, 1, 3, most, most]
    assert thread_count(-1) == effective_n_jobs(-1)
    with parallel_config(n_jobs=3):
        assert thread_count(None) == 3


def test_no_more_than_there_are_items() -> None:
    seen: set[int] = set()
    each(lambda _: seen.add(threading.active_count()), range(3), 10**6)
    assert max(seen) <= threading.active_count() + 3


@pytest.mark.parametrize("Method", [CartClassifier, HHCartClassifier, ObliqueForestClassifier])
def test_a_million_jobs(Method: Any) -> None:
    many, one = Method(n_jobs=10**6, random_state=0), Method(random_state=0)
    np.testing.assert_array_equal(many.fit(X, Y).predict_proba(X), one.fit(X, Y).predict_proba(X))


def test_no_more_processes_than_fits() -> None:
    result = compare(X, Y, {"cart": CartClassifier()}, n_folds=2, n_jobs=10**6)
    assert result.n_folds == 2
