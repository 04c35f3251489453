"""Processes that work for another one."""

from __future__ import annotations

import os
import signal
import threading

__all__ = ["leave_interrupts_to"]


def leave_interrupts_to(parent: int) -> None:
    """Let Ctrl-C be the business of the process that gives out the work.

    A terminal sends it to all of them, and workers that die of it print their tracebacks between
    the lines of the one that handles it. That one ends the workers, too.
    """
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
