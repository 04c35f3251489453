"""What a randomised search tells about itself: how much it has tried, whether time ran out."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

__all__ = ["Journal"]


@dataclass
class Journal:
    """The count of a fit's searches, and their deadline.

    Parameters
    ----------
    deadline : float or None
        When to stop, on the clock `time.monotonic`.
    tried : int
        Hyperplanes that were tried so far.
    timed_out : bool
        Whether a search was cut short.
    """

    deadline: float | None = None
    tried: int = 0
    timed_out: bool = False

    @classmethod
    def of(cls, time_limit: float | None) -> Journal:
        """Open a journal, with a deadline so many seconds from now."""
        return cls(None if time_limit is None else monotonic() + time_limit)
