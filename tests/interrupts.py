"""Ctrl-C, for tests of searches that take long."""

from __future__ import annotations

import signal
from _thread import interrupt_main
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, main_thread


@contextmanager
def ctrl_c(after: float) -> Iterator[None]:
    """Interrupt the main thread so many seconds from now.

    Programs that a shell has started in the background ignore Ctrl-C; here they do not.
    """

    def interrupt() -> None:
        if hasattr(signal, "pthread_kill"):  # wakes a thread that waits, too
            signal.pthread_kill(main_thread().ident or 0, signal.SIGINT)
        else:
            interrupt_main()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = Timer(after, interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
