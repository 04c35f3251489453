"""`Measure`: how likely the levels of each feature are, independently of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray, FloatArray
from obliqua.errors import TreeError
from obliqua.spectrum.domain import LEVELS, Domain
from obliqua.spectrum.ensembles import TreeSum, tree_sum_of
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree

__all__ = ["EMPIRICAL", "MARGINALS", "UNIFORM", "Measure", "measure_of"]

UNIFORM, MARGINALS, EMPIRICAL = "uniform", "marginals", "empirical"
_NAMES = (UNIFORM, MARGINALS, EMPIRICAL)
# Below it, ratios of weights are not exact.
_LEAST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Measure:
    """A product measure: each feature takes a level by itself, whatever the others are.

    Parameters
    ----------
    domain : Domain
        The features and their levels. The thresholds of the trees that it is for must lie between
        levels.
    weights : sequence of ndarray of shape (cardinality,)
        How much each level of each feature weighs; only their ratios matter. Whole numbers are
        added up exactly.
    missing : array-like of shape (n_features,), default=None
        How much weighs that a feature is missing; 0 if it is left out.
    unseen : array-like of shape (n_features,), default=None
        The same for levels of qualitative features that the domain does not have.

    Examples
    --------
    >>> from obliqua.spectrum import Domain, Measure
    >>> measure = Measure(Domain.of_levels([2, 3]), [[1, 3], [1, 1, 2]])
    >>> measure.share(0)
    array([0.25, 0.75])
    """

    domain: Domain
    weights: tuple[FloatArray, ...]
    missing: FloatArray
    unseen: FloatArray

    def __init__(
        self,
        domain: Domain,
        weights: Sequence[ArrayLike],
        missing: ArrayLike | None = None,
        unseen: ArrayLike | None = None,
    ) -> None:
        if not isinstance(domain, Domain):
            raise TypeError(
                "The domain of a measure must be a Domain, Domain.of_trees(trees) for instance; "
                f"got an object of class {type(domain).__name__}."
            )
        if isinstance(weights, str) or not isinstance(weights, Iterable):
            raise TypeError(
                "A measure needs a sequence of weights for each feature; got an object of class "
                f"{type(weights).__name__}."
            )
        fields = self.__dict__  # frozen: fields are set here and nowhere else
        fields["domain"] = domain
        fields["weights"] = tuple(_numbers("weights", w) for w in weights)
        for name, given in (("missing", missing), ("unseen", unseen)):
            beside = np.zeros(domain.n_features) if given is None else given
            fields[name] = _numbers(name, beside)
        self._check()

    def _check(self) -> None:
        shapes = [w.shape for w in self.weights]
        if shapes != [(n,) for n in self.domain.cardinalities]:
            raise ValueError(
                "A measure needs a weight for each level of each feature: arrays of the lengths "
                f"{self.domain.cardinalities}; got arrays of shapes {shapes}."
            )
        for name in ("missing", "unseen"):
            got = getattr(self, name).shape
            if got != (self.domain.n_features,):
                raise ValueError(
                    f"{name} must hold a number for each of the {self.domain.n_features} "
                    f"features; got an array of shape {got}."
                )
        for feature, name in enumerate(self.domain.names):
            weights = self.all_weights(feature)
            if self.unseen[feature] and self.domain.features[feature].kind != LEVELS:
                raise ValueError(
                    f"Feature {name!r} is numeric, and only qualitative ones have levels that are "
                    f"not seen: unseen must be 0 there; got {self.unseen[feature]:g}."
                )
            with np.errstate(over="ignore"):
                total = weights.sum()
            if not ((weights >= 0).all() and _LEAST <= total < np.inf):
                raise ValueError(
                    f"The weights of feature {name!r} must be finite, none of them negative, not "
                    f"all 0, and add up to a finite number of at least {_LEAST:.0e}; "
                    f"got {weights[:10].tolist()}."
                )

    @classmethod
    def uniform(cls, domain: Domain) -> Measure:
        """Give the same weight to each level; nothing is missing.

        Parameters
        ----------
        domain : Domain
            The features and their levels.
        """
        return cls(domain, [np.ones(n) for n in domain.cardinalities])

    @classmethod
    def marginals(cls, domain: Domain, Z: AnyArray) -> Measure:
        """Count rows: each column by itself as it is in a table.

        Parameters
        ----------
        domain : Domain
            The features and their levels.
        Z : ndarray of shape (n_rows, n_features)
            The rows, as trees walk them: numbers, codes of levels, NaN for what is missing.

        Returns
        -------
        Measure
            The measure. Missing values weigh what they are, and so do levels that the domain does
            not have.

        Raises
        ------
        ValueError
            If there are no rows, or numbers that are no values of the domain.
        """
        if len(Z) == 0:
            raise ValueError("Marginals need at least one row; got none.")
        codes = domain.codes(Z)
        missing = np.isnan(Z).sum(axis=0)
        unseen = (codes < 0).sum(axis=0) - missing
        for feature, n_unseen in zip(domain.features, unseen.tolist(), strict=True):
            if n_unseen and feature.kind != LEVELS:
                raise ValueError(
                    f"{n_unseen} rows have numbers in the column {feature.name!r} that are no "
                    "values of the domain. Make a domain of the thresholds of the trees, with "
                    "Domain.of_trees."
                )
        weights = [
            np.bincount(codes[codes[:, f] >= 0, f], minlength=n)
            for f, n in enumerate(domain.cardinalities)
        ]
        return cls(domain, weights, missing, unseen)

    def all_weights(self, feature: int) -> FloatArray:
        """Return the weights of the levels of a feature, of those unseen and of what is missing.

        Parameters
        ----------
        feature : int
            The feature.

        Returns
        -------
        ndarray of shape (cardinality + 2,)
            The weights.
        """
        beside = [self.unseen[feature], self.missing[feature]]
        return np.concatenate([self.weights[feature], beside])

    def share(self, feature: int) -> FloatArray:
        """Return how likely each level of a feature is.

        Parameters
        ----------
        feature : int
            The feature.

        Returns
        -------
        ndarray of shape (cardinality,)
            Shares, which add up to 1 if nothing is missing or unseen.
        """
        return np.asarray(self.weights[feature] / self.all_weights(feature).sum())

    def __repr__(self) -> str:
        odd = int(np.count_nonzero(self.missing))
        gaps = f", {odd} of them with gaps" if odd else ""
        levels = sum(self.domain.cardinalities)
        return f"Measure({self.domain.n_features} features{gaps}, {levels} levels)"


def _numbers(name: str, given: ArrayLike) -> FloatArray:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers; got {given!r}.") from error


def measure_of(ensemble: Any, measure: str | Measure = UNIFORM, X: Any = None) -> Measure:
    """Return a measure on the grid of the thresholds of one or several ensembles.

    Parameters
    ----------
    ensemble : estimator, Model, Tree, sequence of Tree or TreeSum, or a list of those
        The ensemble, as in `tree_sum_of`; or several over the same columns, for a measure by
        which they can be compared.
    measure : {"uniform", "marginals"} or Measure, default="uniform"
        All cells of the grid weigh the same; or each column is distributed as in `X`, and
        independent of the others; or a measure of your own, which is checked.
    X : array-like of shape (n_rows, n_features), default=None
        The rows for the marginals.

    Raises
    ------
    TreeError
        If a split asks about several columns.
    ValueError
        If several ensembles are not over the same columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    >>> from obliqua.spectrum import gram, measure_of
    >>> X, y = load_iris(return_X_y=True)
    >>> one = RandomForestClassifier(3, random_state=0).fit(X, y)
    >>> two = ExtraTreesClassifier(3, random_state=0).fit(X, y)
    >>> both = measure_of([one, two])
    >>> gram(one, both).shape, gram(two, both).shape
    ((3, 3), (3, 3))
    """
    every = _several(ensemble)
    trees = _named_first(every)
    for one in every:
        check_axis_parallel(one)
    if isinstance(measure, Measure):
        if measure.domain.n_features != trees.encoding.n_columns:
            raise ValueError(
                f"The measure is about {measure.domain.n_features} features and the trees about "
                f"{trees.encoding.n_columns} columns; there must be one for each."
            )
        return measure
    check_name(measure, (UNIFORM, MARGINALS))
    domain = Domain.of_trees([tree for one in every for tree in one.trees], trees.encoding)
    if measure == UNIFORM:
        return Measure.uniform(domain)
    return Measure.marginals(domain, rows_for(trees, measure, X))


def _several(given: Any) -> list[TreeSum]:
    """Read one ensemble or several; a sequence of trees is one."""
    listed = isinstance(given, Sequence) and not isinstance(given, str) and len(given) > 0
    if listed and not all(isinstance(one, Tree) for one in given):
        return [tree_sum_of(one) for one in given]
    return [tree_sum_of(given)]


def _named_first(every: list[TreeSum]) -> TreeSum:
    """Return the first ensemble that knows names; raise if columns are not the same."""

    def named(trees: TreeSum) -> bool:
        encoding = trees.encoding
        return encoding.names != type(encoding).identity(encoding.n_columns).names

    first = next((trees for trees in every if named(trees)), every[0])
    for place, trees in enumerate(every):
        one, other = first.encoding, trees.encoding
        if other.n_columns != one.n_columns:
            raise ValueError(
                "Ensembles that share a measure must be over the same columns; there are "
                f"{one.n_columns}, and {other.n_columns} for number {place}, counted from 0."
            )
        for known, column in zip(one.columns, other.columns, strict=True):
            what = (known.kind, known.levels) == (column.kind, column.levels)
            if not what or (named(trees) and known.name != column.name):
                raise ValueError(
                    "Ensembles that share a measure must be over the same columns; number "
                    f"{place}, counted from 0, has the column {column.name!r} where another has "
                    f"{known.name!r}{'' if what else ', with other levels'}. Fit them to the same "
                    "columns in the same order."
                )
    return first


def check_name(measure: Any, known: Sequence[str] = _NAMES) -> None:
    """Raise if a measure is none of the known ones."""
    if not isinstance(measure, str) or measure not in known:
        got = repr(measure) if np.ndim(measure) == 0 else f"a {type(measure).__name__}"
        raise ValueError(
            f"measure must be {', '.join(map(repr, known[:-1]))} or {known[-1]!r}, or a Measure; "
            f"got {got}."
        )


def rows_for(trees: TreeSum, measure: str, X: Any) -> AnyArray:
    """Return rows as the trees walk them; raise if there are none."""
    if X is None:
        raise ValueError(f"measure={measure!r} is taken from rows: give them as X; got None.")
    return trees.rows(X)


def check_axis_parallel(trees: TreeSum) -> None:
    """Raise for the first split that asks about several columns."""
    for number, tree in enumerate(trees.trees):
        if len(tree.coef) == tree.n_planes and not (tree.kind == NodeKind.MACHINE).any():
            continue
        used = np.bincount(tree.plane_of_coef, tree.coef != 0.0, minlength=tree.n_planes)
        most = np.zeros(tree.n_nodes)
        np.maximum.at(most, tree.node_of_plane, used)
        machine = tree.kind == NodeKind.MACHINE
        wrong = np.flatnonzero((most > 1) | machine)
        if len(wrong) == 0:
            continue
        node = int(wrong[0])
        what = (
            KIND_NAMES[NodeKind.MACHINE]
            if machine[node]
            else f"a split over {int(most[node])} columns"
        )
        raise TreeError(
            f"Node {node} of tree {number} is {what}, so the leaves of that tree are no boxes, "
            "which need splits that ask about one column each. gram and diagnose take any tree "
            "with measure='empirical' and rows X."
        )
