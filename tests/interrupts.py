"""Ctrl-C, for tests of what takes long."""

from __future__ import annotations

import signal
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, main_thread
from typing import Any


@contextmanager
def ctrl_c_means(handler: Any) -> Iterator[None]:
    """Let Ctrl-C do this here and in programs that are started here, whoever runs the tests.

    Programs that a shell has started in the background ignore it (`signal.SIG_IGN`); those in a
    terminal do not (`signal.default_int_handler`).
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """Interrupt the main thread so many seconds from now."""

    def interrupt() -> None:
        if hasattr(signal, "pthread_kill"):  # wakes a thread that waits, too
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        else:
            interrupt_main()

    timer = Timer(after, interrupt)
    with ctrl_c_means(signal.default_int_handler):
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
