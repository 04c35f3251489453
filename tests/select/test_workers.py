"""Ctrl-C is the business of the process that gives out the work."""

from __future__ import annotations

import os
import signal
import threading

import joblib
import pytest

from obliqua.select._workers import leave_interrupts_to


def handler(parent: int) -> bool:
    """Whether the process ignores Ctrl-C after it was told whose business that is."""
    leave_interrupts_to(parent)
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_the_process_itself_minds_them() -> None:
    assert not handler(os.getpid())


def test_workers_leave_them() -> None:
    assert joblib.Parallel(n_jobs=2)(joblib.delayed(handler)(os.getpid()) for _ in range(2)) == [
        True,
        True,
    ]


def test_a_thread_that_is_not_the_first_may_set_no_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor need it: Python gives Ctrl-C to the first one."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(handler(os.getpid() + 1)))
    thread.start()
    thread.join()
    assert found == [False]
