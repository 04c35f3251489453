"""SADT: simulated annealing of a hyperplane (Heath, Kasif, Salzberg 1993).

At a node the features are scaled to lie between 0 and 1. The hyperplane starts where their sum is
1. One coefficient after another, picked at random, changes a little. A change for the better is
always kept, one for the worse with a chance that falls with the loss and with the temperature. The
best hyperplane that was seen is the split.

The work is compiled (`obliqua._core.methods.anneal`); what is decided here is what is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from obliqua._core.methods.anneal import AnnealFinder
from obliqua.engine.compiled import CompiledSide, Journal

__all__ = ["Anneal"]


@dataclass(frozen=True)
class Anneal(CompiledSide):
    """What SADT proposes at a node. The engine asks its compiled side.

    Parameters
    ----------
    moves : {"one", "all"}, default="one"
        Whether a move changes one coefficient, picked at random, or all of them.
    temperature : float, default=0.03
        The temperature at the start, in units of the criterion's goodness.
    cooling : float, default=0.9999
        The factor by which it falls after each move.
    patience : int, default=10000
        The search ends after so many moves without a better hyperplane.
    journal : Journal
        Who is told how much was tried.
    """

    _finder = AnnealFinder

    moves: str = "one"
    temperature: float = 0.03
    cooling: float = 0.9999
    patience: int = 10000
    journal: Journal = field(default_factory=Journal)

    def __post_init__(self) -> None:
        self._check_choices(moves=("one", "all"))
        if not 0.0 <= self.temperature < float("inf"):
            raise ValueError(f"temperature must be a number from 0 on; got {self.temperature!r}.")
        if not 0.0 < self.cooling <= 1.0:
            raise ValueError(f"cooling must be above 0 and at most 1; got {self.cooling!r}.")
        if self.patience < 0:
            raise ValueError(f"patience must be 0 or more moves; got {self.patience!r}.")

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        return "simulated annealing"
