"""`diagnose`: what the trees of an ensemble share, and what the ensemble depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from obliqua._typing import FloatArray, Int64Array
from obliqua.spectrum import _checks
from obliqua.spectrum.energies import Energy, How, Known, energy_of, percent
from obliqua.spectrum.ensembles import tree_sum_of
from obliqua.spectrum.measures import EMPIRICAL, UNIFORM, Measure, check_name, measure_of, rows_for
from obliqua.spectrum.overlaps import empirical_moments, gram_of_boxes, packed
from obliqua.spectrum.principal import Components, principal_components

__all__ = ["Diagnosis", "diagnose"]

#: Correlations from here on are 1 but for rounding.
SAME = 1.0 - 1e-9
#: What is mentioned if no two trees are the same.
ALIKE = 0.99
# A tree whose variance is so much smaller than its mean square says the same everywhere: values
# of its leaves that differ in their last digits only.
_NOTHING = 1e-28


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What can be said of an ensemble from the inner products of its trees. Made by `diagnose`.

    Parameters
    ----------
    covariance : ndarray of shape (n_trees, n_trees)
        The inner products of the trees without their means.
    means : ndarray of shape (n_trees, n_outputs)
        The mean of each tree under the measure.
    weights : ndarray of shape (n_trees,)
        What each tree counts in the ensemble.
    measure : str
        Over which points means are taken: ``"uniform"``, ``"marginals"``, ``"empirical"`` or
        ``"given"``.
    centred : bool
        Whether eigenvalues are those of the trees without their means.
    energy : Energy or None
        What the ensemble owes to features; None if it was not asked for, or under the empirical
        measure.
    """

    covariance: FloatArray
    means: FloatArray
    weights: FloatArray
    measure: str
    centred: bool
    energy: Energy | None = None

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.covariance)

    @cached_property
    def gram(self) -> FloatArray:
        """The inner products of the trees, as `gram` returns them but for rounding."""
        return np.asarray(self.covariance + self.means @ self.means.T)

    @cached_property
    def correlation(self) -> FloatArray:
        """The correlations of the trees; 0 with a tree that says the same everywhere."""
        size = np.sqrt(np.diag(self.covariance))
        scale = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        found = np.clip(self.covariance * scale[:, None] * scale, -1.0, 1.0)
        found[size > 0, size > 0] = 1.0
        return np.asarray(found)

    @cached_property
    def components(self) -> Components:
        """The principal components of the trees, that with the largest energy first."""
        matrix = self.covariance if self.centred else self.gram
        return principal_components(matrix, self.weights)

    @property
    def eigenvalues(self) -> FloatArray:
        """The energies of the components, descending."""
        return self.components.eigenvalues

    @property
    def shares(self) -> FloatArray:
        """The eigenvalues as shares of their sum."""
        return self.components.explained

    @cached_property
    def n_effective(self) -> float:
        """The effective number of trees: the square of the eigenvalues' sum by the sum of squares.

        Equal trees count as one, and uncorrelated trees of the same variance as they are.
        """
        matrix = self.covariance if self.centred else self.gram
        square = float((matrix * matrix).sum())
        return float(np.trace(matrix)) ** 2 / square if square > 0 else 0.0

    def n_components(self, share: float) -> int:
        """Count the components that have a share of the energy together.

        Parameters
        ----------
        share : float
            The share, above 0 and at most 1.

        Returns
        -------
        int
            How many of the largest it takes.
        """
        if not (isinstance(share, Real) and 0.0 < share <= 1.0):
            raise ValueError(f"share must be above 0 and at most 1; got {share!r}.")
        if not self.shares.sum() > 0:
            return 0
        reached = np.cumsum(self.shares) >= share * (1.0 - 1e-12)
        return int(np.argmax(reached)) + 1 if reached.any() else self.n_trees

    @property
    def constant(self) -> Int64Array:
        """The numbers of trees that say the same everywhere."""
        return np.flatnonzero(np.diag(self.covariance) <= 0.0)

    def repeats(self, at_least: float = SAME) -> list[list[int]]:
        """Find groups of trees that repeat each other.

        Parameters
        ----------
        at_least : float, default=1 - 1e-9
            Two trees with this correlation or a larger one are in one group; so are two that a
            third one joins.

        Returns
        -------
        list of list of int
            The numbers of the trees of each group with more than one; the largest group first.
            Trees that say the same everywhere are in none. Trees of a group may differ by a
            positive factor and by their means, as they do in boosting.
        """
        if not (isinstance(at_least, Real) and 0.0 < at_least <= 1.0):
            raise ValueError(f"at_least must be above 0 and at most 1; got {at_least!r}.")
        _, label = connected_components(csr_array(self.correlation >= at_least), directed=False)
        groups = [np.flatnonzero(label == k).tolist() for k in np.unique(label)]
        return sorted((group for group in groups if len(group) > 1), key=lambda g: (-len(g), g))

    def most_alike(self, most: int = 10) -> list[tuple[int, int, float]]:
        """Return the pairs of trees with the largest correlations.

        Parameters
        ----------
        most : int, default=10
            How many pairs.

        Returns
        -------
        list of (int, int, float)
            Two trees and their correlation; the largest first.
        """
        most = _checks.checked_count("most", most)
        one, two = np.triu_indices(self.n_trees, k=1)
        found = self.correlation[one, two]
        order = np.argsort(-found, kind="stable")[:most]
        return [(int(one[k]), int(two[k]), float(found[k])) for k in order]

    def describe(self) -> str:
        """Say it in words."""
        trees = "1 tree" if self.n_trees == 1 else f"{self.n_trees} trees"
        lines = [f"{trees}, {_TITLES[self.measure]}", *self._of_trees()]
        if self.energy is not None:
            lines += _of_energy(self.energy)
        elif self.measure == EMPIRICAL:
            lines.append(
                "Energy by feature: not there, as features of the rows depend on each other; "
                "measure='marginals' has it."
            )
        return "\n".join(lines)

    def _of_trees(self) -> list[str]:
        if len(self.constant) == self.n_trees:
            return ["Each tree says the same everywhere: there is nothing that they could share."]
        one, two = np.triu_indices(self.n_trees, k=1)
        lines = [f"Effective number of trees: {self.n_effective:.1f} of {self.n_trees}."]
        lines.append(
            f"Components: the first has {percent(self.shares[0])} of the energy; 95 % take "
            f"{self.n_components(0.95)}, 99 % take {self.n_components(0.99)}."
        )
        if len(one):
            found = self.correlation[one, two]
            lines.append(
                f"Correlation of two trees: {np.median(found):.2f} in the middle, from "
                f"{found.min():.2f} to {found.max():.2f}."
            )
            lines.append(self._of_repeats(found))
        if len(self.constant):
            known = ", ".join(map(str, self.constant[:8].tolist()))
            more = ", ..." if len(self.constant) > 8 else ""
            lines.append(f"Trees that say the same everywhere: {known}{more}.")
        return lines

    def _of_repeats(self, correlations: FloatArray) -> str:
        groups = self.repeats()
        if groups:
            n = sum(map(len, groups))
            first = ", ".join(map(str, groups[0][:8])) + (", ..." if len(groups[0]) > 8 else "")
            return (
                f"Repeats: {n} trees in {len(groups)} "
                f"{'group' if len(groups) == 1 else 'groups'} say the same, but for a factor and "
                f"their means; the largest group: {first}."
            )
        alike = np.count_nonzero(correlations >= ALIKE)
        pairs = "no two" if alike == 0 else "1 pair" if alike == 1 else f"{alike} pairs"
        verb = "has" if alike == 1 else "have"
        return (
            f"Repeats: no two trees say the same; {pairs} {verb} a correlation of at least "
            f"{ALIKE}."
        )

    def __repr__(self) -> str:
        energy = "" if self.energy is None else f", {self.energy!r}"
        return (
            f"Diagnosis({self.n_trees} trees, effectively {self.n_effective:.1f}, "
            f"measure={self.measure!r}{energy})"
        )


_TITLES = {
    UNIFORM: "over the grid of their thresholds.",
    "marginals": "over independent columns that are distributed as in X.",
    EMPIRICAL: "over the rows of X.",
    "given": "over a measure of your own.",
}


def _of_energy(found: Energy) -> list[str]:
    names = {"1": "single features", "2": "pairs of features", "more": "more together"}
    if found.pairs is None:
        names["more"] = "several together"
    parts = [f"{names[order]} {percent(share)}" for order, share in found.orders.items()]
    if not found.variance > 0:
        return ["Variance 0: the sum of the trees depends on no feature.", *found.notes]
    lines = [f"Variance {found.variance:.4g}: {', '.join(parts)}."]
    order = np.argsort(-found.main, kind="stable")[:5]
    alone = [
        f"{found.features[f]} {percent(found.main[f] / found.variance)}"
        + ("" if found.total is None else f" ({percent(found.total[f] / found.variance)})")
        for f in order.tolist()
        if found.main[f] > 0
    ]
    with_total = "" if found.total is None else " (with all that it is part of)"
    lines.append(f"By feature, alone{with_total}: {', '.join(alone)}.")
    pairs = [f"{a} and {b} {percent(share)}" for a, b, share in found.strongest_pairs(3)]
    if pairs:
        lines.append(f"Strongest pairs: {', '.join(pairs)}.")
    return [*lines, *found.notes]


def _without_constants(covariance: FloatArray, means: FloatArray) -> FloatArray:
    """Put 0 where a tree differs from its mean by rounding only."""
    variance = np.diag(covariance)
    constant = variance <= _NOTHING * (variance + (means * means).sum(axis=1))
    found = covariance.copy()
    found[constant] = 0.0
    found[:, constant] = 0.0
    return found


def diagnose(
    ensemble: Any,
    measure: str | Measure = UNIFORM,
    X: Any = None,
    *,
    values: str = "auto",
    centred: bool = True,
    energy: bool = True,
    n_threads: int = 1,
) -> Diagnosis:
    """Find out what the trees of an ensemble share, and what the ensemble depends on.

    Parameters
    ----------
    ensemble : estimator, Model, Tree, sequence of Tree or TreeSum
        The ensemble, as in `tree_sum_of`.
    measure : {"uniform", "marginals", "empirical"} or Measure, default="uniform"
        Over which points means are taken, as in `gram`.
    X : array-like of shape (n_rows, n_features), default=None
        The rows, for the second and third.
    values : {"auto", "votes", "shares"}, default="auto"
        What a tree that classifies says, as in `tree_sum_of`.
    centred : bool, default=True
        Whether eigenvalues and the effective number of trees are those of the trees without their
        means. What all trees have in common everywhere is otherwise the first component, and
        most of the energy.
    energy : bool, default=True
        Whether to divide the variance among features, as `energy` does unasked. Not under
        ``"empirical"``.
    n_threads : int, default=1
        How many threads may share the work.

    Returns
    -------
    Diagnosis
        The figures; `Diagnosis.describe` says them in words.

    Raises
    ------
    TreeError
        If a split asks about several columns, but for ``"empirical"``, which takes any tree.

    See Also
    --------
    obliqua.plot_eigenvalues, obliqua.plot_overlaps, obliqua.plot_energy : Pictures of it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier
    >>> from obliqua.spectrum import diagnose
    >>> X, y = load_iris(return_X_y=True)
    >>> grown = CartClassifier(pruning=None)
    >>> trees = [grown.set_params(max_depth=d).fit(X, y).tree_ for d in (1, 2, 3)]
    >>> print(diagnose(trees, "marginals", X).describe())
    3 trees, over independent columns that are distributed as in X.
    Effective number of trees: 1.3 of 3.
    Components: the first has 88.3 % of the energy; 95 % take 2, 99 % take 3.
    Correlation of two trees: 0.80 in the middle, from 0.77 to 0.86.
    Repeats: no two trees say the same; no two have a correlation of at least 0.99.
    Variance 0.4086: single features 94.7 %, pairs of features 5.3 %, more together 0.0 %.
    By feature, alone (with all that it is part of): x2 84.5 % (89.9 %), x3 10.1 % (15.5 %).
    Strongest pairs: x2 and x3 5.3 %.
    """
    trees = tree_sum_of(ensemble, values)
    n_threads = _checks.checked_count("n_threads", n_threads)
    centred, energy = (
        _checks.checked_flag("centred", centred),
        _checks.checked_flag("energy", energy),
    )
    found = None
    if not isinstance(measure, Measure):
        check_name(measure)
    if isinstance(measure, str) and measure == EMPIRICAL:
        covariance, means = empirical_moments(trees, rows_for(trees, measure, X), n_threads)
    else:
        chosen = measure_of(trees, measure, X)
        flat, means = packed(trees, chosen).centred()
        covariance = gram_of_boxes(flat, n_threads)
        if energy:
            known = Known(flat, means, covariance)
            found = energy_of(trees, chosen, known, How(None, None, n_threads))
    name = measure if isinstance(measure, str) else "given"
    covariance = _without_constants(covariance, means)
    return Diagnosis(covariance, means, trees.weights, name, centred, found)
