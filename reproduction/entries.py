"""What a paper, or a prototype, says of a method on a data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from obliqua.select.result import Figure

__all__ = ["Entries", "Rates", "TableEntry"]


NOTHING = Figure(math.nan)


@dataclass(frozen=True)
class Rates:
    """True positive and true negative rate of a class, where they are known."""

    label: str
    true_positive: Figure = NOTHING
    true_negative: Figure = NOTHING


@dataclass(frozen=True)
class TableEntry:
    """Accuracy in per cent, number of leaves, and what else is known of a method on a data set."""

    accuracy: Figure = NOTHING
    leaves: Figure = NOTHING
    hyperplanes: Figure = NOTHING
    cpu_ms: Figure = NOTHING
    macro_f: Figure = NOTHING
    rates: tuple[Rates, ...] = ()


Entries = Mapping[str, Mapping[str, TableEntry]]
