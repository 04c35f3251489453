"""Rows in pieces: the same pieces for any number of threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from obliqua.data import threads
from obliqua.data.threads import each, over_rows


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
