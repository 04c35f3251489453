"""Ctrl-C is the business of the process that gives out the work."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from typing import Any

import joblib
import pytest

from interrupts import ctrl_c_means
from obliqua.select._workers import leave_interrupts_to


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN])
def before(request: pytest.FixtureRequest) -> Iterator[Any]:
    """How this process takes Ctrl-C: as in a terminal, or not at all, as in the background."""
    with ctrl_c_means(request.param):
        yield request.param


def after(parent: int) -> Any:
    """How a process takes Ctrl-C after it was told whose business that is."""
    leave_interrupts_to(parent)
    return signal.getsignal(signal.SIGINT)


def test_the_process_itself_goes_on_as_before(before: Any) -> None:
    assert after(os.getpid()) is before


@pytest.mark.usefixtures("before")
def test_workers_leave_them() -> None:
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(after)(os.getpid()) for _ in range(2))
    assert found == [signal.SIG_IGN, signal.SIG_IGN]


def test_a_thread_that_is_not_the_first_may_set_no_handler(before: Any) -> None:
    """Nor need it: Python gives Ctrl-C to the first one."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(after(os.getpid() + 1)))
    thread.start()
    thread.join()
    assert found == [before]
