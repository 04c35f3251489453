"""Discriminants: directions that part the classes of a node, and superclasses of them.

At a node, with the scatter matrix G of all rows and R = 1e-3 diag G: for each class the direction
(G + R)^-1 (its mean - the mean of all), and the discriminants of the between and the within
scatter. Then, from the best cuts of the three best directions, and of the best axis-parallel one:
the classes that are more frequent to the right of the cut than in the node are a superclass, which
has a direction as a class has one; its best cut says the next superclass, and so on while the cuts
become better, at most four times. Where a split may have few features only, a direction is fitted
anew by so many: the next one is always that which brings the fit nearest, by least squares.

The parts are old: Fisher's discriminants in trees (Loh and Vanichsetakul 1988), superclasses
(twoing, Breiman et al. 1984). The work is compiled (`obliqua._core.methods.discriminants`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from obliqua._core.methods.discriminants import DiscriminantFinder
from obliqua.engine.compiled import CompiledSide, Task, check_rows, fewest_rows

__all__ = ["Discriminants", "name_discriminant"]

STEPS = 4  # superclasses from each start, see the compiled side


@dataclass(frozen=True)
class Discriminants(CompiledSide):
    """Looks along discriminants at a node. The engine asks its compiled side.

    Parameters
    ----------
    superclasses : bool, default=True
        Whether superclasses are looked for, from the best cuts. Nodes of up to three classes have
        none that is not one class or all but one, and so looked at anyway.
    min_rows : int or "2p" or None, default=None
        Nodes with fewer rows get axis-parallel splits only; "2p": nodes with at most twice as
        many rows as features.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import ObliqueTreeClassifier
    >>> from obliqua.methods.discriminants import Discriminants
    >>> X, y = load_wine(return_X_y=True)
    >>> ObliqueTreeClassifier(Discriminants(), pruning=None).fit(X, y).get_n_leaves()
    4
    """

    _finder = DiscriminantFinder
    multiplies_rows: ClassVar[bool] = True
    discriminants: ClassVar[bool] = True

    superclasses: bool = True
    min_rows: int | str | None = None

    def __post_init__(self) -> None:
        check_rows(self.min_rows)

    def needs_rows(self) -> None:
        """Say what must see the rows of a node: nothing."""

    def _settings(self, task: Task) -> Discriminants:
        return replace(self, min_rows=fewest_rows(self.min_rows, task.problem.n_features))

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        return name_discriminant(number, n_features, n_classes)


def name_discriminant(number: int, n_features: int, n_classes: int) -> str:
    """Say what a direction is."""
    if number < n_classes:
        return f"class {number} against the rest"
    if number < n_classes + n_features:
        return f"discriminant {number - n_classes}"
    start, step = divmod(number - n_classes - n_features, STEPS)
    return f"superclass, start {start}, step {step}"
