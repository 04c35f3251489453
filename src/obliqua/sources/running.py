"""Passes over the pieces of a table: by threads of this machine.

Who has other machines needs the same three verbs: a pass is sent out (it can be pickled), it is
mapped over pieces, and answers are joined. `PassRunner` is all that a cluster has to do.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

__all__ = ["PassRunner", "Threads", "check_stopped", "with_part"]

LOG = logging.getLogger("obliqua.passes")


class PartPass(Protocol):
    """What is done in one pass: a function of a piece, and how answers are joined."""

    def __call__(self, part: Any) -> Any:
        """Return what a piece answers.

        Parameters
        ----------
        part : object
            The piece.

        Returns
        -------
        object
            Its answer.
        """

    def joined(self, answers: Sequence[Any]) -> Any:
        """Join answers of several pieces.

        Parameters
        ----------
        answers : sequence
            Answers in any order, joined ones among them or not.

        Returns
        -------
        object
            What these pieces answer together.
        """


@runtime_checkable
class PassThatAdds(PartPass, Protocol):
    """A pass that can add the answer of a piece to those of others, where they stand."""

    def more(self, answers: Any, part: Any) -> Any:
        """Return answers together with that of one more piece.

        Parameters
        ----------
        answers : object
            What others have answered. It may be changed.
        part : object
            The piece.

        Returns
        -------
        object
            What they answer together.
        """


class PassRunner(Protocol):
    """Maps a pass over pieces: all that a cluster must be able to do."""

    def __call__(self, one_pass: PartPass, parts: Sequence[Any]) -> Iterable[Any]:
        """Return what a pass gives for all pieces.

        Parameters
        ----------
        one_pass : PartPass
            A function of a piece. It can be pickled, and so can pieces and answers.
        parts : sequence
            The pieces.

        Returns
        -------
        iterable
            The answers, in any order. Some may be joined already, by ``one_pass.joined``.
        """


class Stopped(Exception):
    """Another thread has failed, or Ctrl-C was pressed."""


_here = threading.local()


def check_stopped() -> None:
    """Stop this thread if its pass was stopped."""
    stop = getattr(_here, "stop", None)
    if stop is not None and stop.is_set():
        raise Stopped


class Threads:
    """Threads that share the pieces out among themselves.

    Parameters
    ----------
    n_threads : int
        How many.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self.n_passes = 0

    def __call__(self, one_pass: PartPass, parts: Sequence[Any]) -> Iterator[Any]:
        """Return what a pass gives for all pieces, joined by each thread."""
        begin = time.perf_counter()
        self.n_passes += 1
        n_threads = min(self.n_threads, len(parts))
        yield from (
            _one_thread(one_pass, iter(parts))
            if n_threads < 2
            else _several(one_pass, parts, n_threads)
        )
        LOG.info("pass %d: %.1f s", self.n_passes, time.perf_counter() - begin)


def _one_thread(one_pass: PartPass, parts: Iterator[Any]) -> list[Any]:
    """Pass over pieces until there are no more, joining answers on the way."""
    joined: list[Any] = []
    for part in parts:
        joined = with_part(one_pass, joined, part)
    return joined


def with_part(one_pass: PartPass, joined: list[Any], part: Any) -> list[Any]:
    """Return what pieces have answered, joined or nothing yet, with the answer of one more."""
    if not joined:
        return [one_pass(part)]
    if isinstance(one_pass, PassThatAdds):
        return [one_pass.more(joined[0], part)]
    return [one_pass.joined([joined[0], one_pass(part)])]


class _Shared:
    """An iterator that several threads take from."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self._parts = iter(parts)
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        check_stopped()
        with self._lock:
            return next(self._parts)


def _several(one_pass: PartPass, parts: Sequence[Any], n_threads: int) -> list[Any]:
    """Do the same with several threads; the first error of one stops all."""
    shared, stop = _Shared(parts), threading.Event()
    answers: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        _here.stop = stop
        try:
            answers.extend(_one_thread(one_pass, shared))
        except Stopped:
            pass
        except BaseException as error:  # the caller raises it
            errors.append(error)
            stop.set()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(n_threads)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.1)  # so that Ctrl-C is heard
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
    return answers
