"""What a paper, or a prototype, says of a method on a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Entries", "Entry", "Figure", "Rates"]


@dataclass(frozen=True)
class Figure:
    """A mean and its standard deviation over repeats; NaN where it is not known."""

    mean: float
    sd: float = math.nan

    def text(self, digits: int) -> str:
        """The figure as a table shows it."""
        if math.isnan(self.mean):
            return ""
        spread = "" if math.isnan(self.sd) else f" ± {self.sd:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


NOTHING = Figure(math.nan)


@dataclass(frozen=True)
class Rates:
    """True positive and true negative rate of a class, where they are known."""

    label: str
    true_positive: Figure = NOTHING
    true_negative: Figure = NOTHING


@dataclass(frozen=True)
class Entry:
    """Accuracy in per cent, number of leaves, and what else is known of a method on a data set."""

    accuracy: Figure = NOTHING
    leaves: Figure = NOTHING
    hyperplanes: Figure = NOTHING
    cpu_ms: Figure = NOTHING
    macro_f: Figure = NOTHING
    rates: tuple[Rates, ...] = ()


Entries = Mapping[str, Mapping[str, Entry]]
