"""CART-LC: linear combinations found feature by feature (Breiman et al. 1984, section 5.2).

At a node one hyperplane starts at the best axis-parallel split. It then moves along one feature
after the other, each time to the best place on three lines: all of them change the coefficient of
that feature, and the constant by -1/4, 0 or 1/4 times as much. A cycle ends with the best
constant. Cycles are repeated until they change nothing, and features that matter little are left
out.

The work is compiled (`obliqua._core.methods.lincomb`); what is decided here is what is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from obliqua._core.methods.lincomb import LinearCombinationFinder
from obliqua.engine.compiled import CompiledSide, Journal, Task, fewest_rows

__all__ = ["LinearCombination"]


@dataclass(frozen=True)
class LinearCombination(CompiledSide):
    """What CART-LC proposes at a node. The engine asks its compiled side.

    Parameters
    ----------
    variant : {"breiman", "oc1"}, default="breiman"
        "breiman": features count from their median, in interquartile ranges of the node; the end
        is where a cycle changes the goodness by no more than `epsilon`. "oc1": features as they
        are; the end is where a cycle, the second at the earliest, changes 1 / goodness by no more
        than `epsilon`; and the root is never too small.
    sign : {"exact", "ignored"}, default="exact"
        Whether the search along a line knows that rows with a negative factor cross in the other
        direction. "ignored": it takes all factors for positive, leaves out rows whose factor is
        0, tosses a coin at ties, and what it promises is taken even if it is worse than before.
        A criterion in Python is always asked with signs.
    beta : float or None, default=0.2
        A feature is left out if that costs less than this share of what leaving out the most
        important one costs. None: none is left out, unless a split has too many.
    epsilon : float, default=1e-4
        See `variant`.
    max_cycles : int, default=101
        The most cycles.
    min_rows : int or float, default=0
        Nodes with fewer rows get axis-parallel splits only; a float: with at most so many rows
        per feature.
    journal : Journal
        Who is told how much was tried.
    root_rows : int, default=0
        The number of rows of a node that is never too small; set by `finder`.
    """

    _finder = LinearCombinationFinder

    variant: str = "breiman"
    sign: str = "exact"
    beta: float | None = 0.2
    epsilon: float = 1e-4
    max_cycles: int = 101
    min_rows: float = 0
    journal: Journal = field(default_factory=Journal)
    root_rows: int = 0

    def __post_init__(self) -> None:
        self._check_choices(variant=("breiman", "oc1"), sign=("exact", "ignored"))

    def _settings(self, task: Task) -> LinearCombination:
        return replace(
            self,
            min_rows=fewest_rows(self.min_rows, task.problem.n_features),
            root_rows=task.problem.n_rows if self.variant == "oc1" else 0,
        )

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        return "linear combination"
