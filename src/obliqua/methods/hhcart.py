"""HHCART: reflections along the eigenvectors of the classes (Wickramarachchi et al. 2015).

At a node, for each class: the eigenvectors d of its covariance matrix, all of them (HHCART(A)) or
the dominant one (HHCART(D)). For each d the Householder reflection H that carries the first axis
to d. The columns of H are the directions: d itself, and p - 1 others orthogonal to it and to each
other. An eigenvector closer to an axis than tau is left out, for CART looks along the axes anyway.

The work is compiled (`obliqua._core.methods.householder`); what is decided here is what is looked
at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from obliqua._core.methods.householder import HouseholderFinder
from obliqua.engine.compiled import CompiledSide, Task, check_rows, fewest_rows
from obliqua.methods.discriminants import name_discriminant

__all__ = ["Householder"]


@dataclass(frozen=True)
class Householder(CompiledSide):
    """What HHCART proposes at a node. The engine asks its compiled side.

    Parameters
    ----------
    variant : {"all", "dominant"}, default="all"
        All eigenvectors of each class, HHCART(A), or the dominant one, HHCART(D).
    tau : float, default=0.05
        An eigenvector whose distance from an axis is not larger is left out.
    target : {"first", "nearest"}, default="first"
        The axis that is reflected to the eigenvector.
    min_rows : int or "2p" or None, default=None
        Nodes with fewer rows get axis-parallel splits only; "2p": nodes with at most twice as
        many rows as features.
    fisher : bool, default=False
        Whether Fisher's direction of each class against the rest is looked at too.
    trim : float, default=0.0
        The share of each class's rows, the farthest from its mean, that covariances ignore.
    zero_eigenvalues : {"correlation", "covariance"}, default="correlation"
        Which matrix of a class says how many of its eigenvalues are 0, being at most 1e-10 of the
        largest: its correlation matrix, or the covariance matrix itself.
    discriminants : bool, default=False
        Whether the directions of `obliqua.methods.discriminants.Discriminants` are looked at too.
    """

    _finder = HouseholderFinder
    multiplies_rows: ClassVar[bool] = True
    chooses_features: ClassVar[bool] = True

    variant: str = "all"
    tau: float = 0.05
    target: str = "first"
    min_rows: int | str | None = None
    fisher: bool = False
    trim: float = 0.0
    discriminants: bool = False
    zero_eigenvalues: str = "correlation"
    superclasses: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check_choices(
            variant=("all", "dominant"),
            target=("first", "nearest"),
            zero_eigenvalues=("correlation", "covariance"),
        )
        check_rows(self.min_rows)
        if not self.tau >= 0:
            raise ValueError(f"tau must be 0 or positive; got {self.tau!r}.")
        if not 0 <= self.trim < 1:
            raise ValueError(f"trim must be at least 0 and below 1; got {self.trim!r}.")

    def needs_rows(self) -> str | None:
        """Say what must see the rows of a node: only trimming, which leaves out far ones.

        Returns
        -------
        str or None
            The setting, in words.
        """
        return f"Householder with trim={self.trim}" if self.trim > 0 else None

    def _settings(self, task: Task) -> Householder:
        return replace(self, min_rows=fewest_rows(self.min_rows, task.n_features))

    def _label(self, number: int, n_features: int, n_classes: int) -> str:
        later = number - n_classes * n_features * n_features
        if later >= n_classes:
            return name_discriminant(later - n_classes, n_features, n_classes)
        if later >= 0:
            return f"Fisher, class {later} against the rest"
        pair, column = divmod(number, n_features)
        c, eigenvector = divmod(pair, n_features)
        return f"class {c}, eigenvector {eigenvector}, column {column}"
