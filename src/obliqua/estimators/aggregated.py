"""The aggregated Fourier tree: one tree for an ensemble."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from obliqua._sklearn_compat import StrOptions, fit_context
from obliqua._typing import BoolArray, FloatArray, Rows
from obliqua.estimators._docs import document
from obliqua.estimators._ensembles import SUMS
from obliqua.estimators._spectral import (
    SPECTRAL_CONSTRAINTS,
    SPECTRAL_PARAMETERS,
    Functions,
    SpectralClassifier,
)
from obliqua.estimators._warnings import warn
from obliqua.estimators.base import SeedLike
from obliqua.spectrum.building import rebuild
from obliqua.spectrum.domain import Domain
from obliqua.tree.layout import NodeKind
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree


@document(
    {
        "tree_": (
            "Tree",
            """\
The tree. Its stats are means over the domain of what the ensemble adds up: weighted votes, or
shares. `n_samples` are the training rows at each node.""",
        ),
        "spectrum_": (
            "Spectrum or None",
            """\
The aggregated spectrum: the weighted sum of those of the trees. None if there would be too many
coefficients. Not kept in model files.""",
        ),
        "domain_": ("Domain", "The domain. Not kept in model files."),
        "fidelity_": (
            "float",
            """\
The share of the energy of the ensemble's function that the tree's has: 1 if nothing was lost. The
rest is the mean square of the difference over all points of the domain, where nothing is
missing.""",
        ),
        "agreement_": (
            "float",
            "The share of the training rows for which tree and ensemble predict the same class.",
        ),
    },
    **SPECTRAL_PARAMETERS,
    merge=(
        "{'value', 'class'}",
        """\
Which leaves below one split become one leaf: those with equal values, or with the same class. The
latter gives smaller trees with the same classes and other shares.""",
    ),
)
class AggregatedTreeClassifier(SpectralClassifier):
    """One tree for an ensemble of trees (aggregated Fourier tree).

    The function of an ensemble is the weighted sum of the functions of its trees, and so is its
    Fourier spectrum over discrete features. From the aggregated spectrum one tree is built: split
    by split, where most variance is removed. Without a limit it is the ensemble itself, at every
    point of the domain, and may be huge.

    [parameters]

    [attributes]

    See Also
    --------
    OrthogonalTreesClassifier : Several trees, the principal components of the ensemble.
    obliqua.spectrum.tree_of : How the tree is built.

    Notes
    -----
    Takes what the ensemble takes: for bagged C4.5 trees also qualitative features and missing
    values. Over the domain nothing is missing. Rows that miss what a split asks about take the
    branch where the tree meets best what the ensemble says of such training rows; if there are
    none, the branch with the most levels, the first at ties, as rows do whose level was never
    seen. Trees that ask whether a value is missing can do more than that: `agreement_` counts
    such rows, and a warning tells if they alone get another class.

    References
    ----------
    .. [1] H. Kargupta, H. Dutta (2004). Orthogonal decision trees. *Proceedings of the 4th IEEE
       International Conference on Data Mining*, 427-430.
    .. [2] B.-H. Park, H. Kargupta (2002). Constructing simpler decision trees from ensemble models
       using Fourier analysis. *Proceedings of the 7th Workshop on Research Issues in Data Mining
       and Knowledge Discovery, ACM SIGMOD*, 18-23.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua import AggregatedTreeClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (200, 5))
    >>> y = X[:, 0] & X[:, 1] | X[:, 2]
    >>> model = AggregatedTreeClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> model.tree_
    Tree(7 nodes, 4 leaves, depth 3, 5 columns, 2 stats)
    >>> model.fidelity_, model.agreement_
    (1.0, 1.0)
    """

    _notes: ClassVar[dict[str, type]] = {
        "fidelity_": object,
        "agreement_": object,
        "_takes_odd": bool,
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SPECTRAL_CONSTRAINTS,
        "merge": [StrOptions({"value", "class"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 40,
        max_samples: float = 1.0,
        prefit: bool = False,
        coding: str = "auto",
        domain: str | Domain = "thresholds",
        spectrum_energy: float | None = None,
        max_coefficients: int = 2**17,
        max_leaf_nodes: int | None = 32,
        energy: float = 1.0,
        merge: str = "value",
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.prefit = prefit
        self.coding = coding
        self.domain = domain
        self.spectrum_energy = spectrum_energy
        self.max_coefficients = max_coefficients
        self.max_leaf_nodes = max_leaf_nodes
        self.energy = energy
        self.merge = merge
        self.random_state = random_state
        self.n_jobs = n_jobs

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is fitted, and build the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame.
        y : array-like of shape (n_samples,)
            The class labels: integers, strings or bools.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, which the ensemble heeds.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If `estimator` is no ensemble of trees that can be read.
        TreeError
            If a split of a tree asks about several features.
        """
        ensemble, Z, names = self._ensemble(X, y, sample_weight)
        coding, domain = self._coding_of(ensemble), self._domain_of(ensemble, Z)
        functions = Functions.of(
            ensemble, domain, coding, self.spectrum_energy, int(self.max_coefficients)
        )
        whole = functions.sum(ensemble.weights)

        def weights(mean: FloatArray) -> FloatArray:
            scores = coding.scores(mean)
            if coding.name == SUMS:
                return coding.shares(scores)
            # A spectrum that was cut short may say less than nothing of a class.
            return np.maximum(scores, 0.0)

        built = rebuild(
            whole,
            max_leaf_nodes=None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            energy=float(self.energy),
            merge=self.merge,
            scores=weights,
            classes=True,
        )
        votes = sum(
            weight * coding.values(one)[one.apply(Z)]
            for one, weight in zip(ensemble.trees, ensemble.weights.tolist(), strict=True)
        )
        scores = coding.scores(np.asarray(votes))
        tree = counted(with_sides(built.tree, Z, coding.shares(scores)), Z)
        same = scores.argmax(axis=1) == tree.leaf_label[tree.apply(Z)]
        _warn_of_missing(same, np.asarray(np.isnan(Z).any(axis=1)))
        self._hold(Model((tree,), "single", ensemble.encoding, ensemble.classes), names)
        self.fidelity_, self.agreement_ = float(built.energy), float(same.mean())
        self._takes_odd = self._takes_odd_of(self._given())
        self.spectrum_ = None if functions.spectra is None else whole
        self.domain_ = domain
        return self

    def _hold(self, model: Model, names: Any) -> None:
        for name in ("spectrum_", "domain_"):
            self.__dict__.pop(name, None)
        super()._hold(model, names)


def with_sides(tree: Tree, Z: Rows, shares: FloatArray) -> Tree:
    """Return a tree whose splits send rows that miss a value where their shares are met best.

    Over the domain nothing is missing, so training rows tell. From the root on, those that miss
    what a split asks about go together to one branch; at ties to that with the most levels.
    """
    fill = tree.fill.copy()
    rows_at = {0: np.flatnonzero(np.isnan(Z).any(axis=1))}
    if not len(rows_at[0]):
        return tree
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        rows = rows_at.pop(node)
        plane, first = int(tree.plane_ptr[node]), int(tree.first_child[node])
        k, threshold = int(tree.coef_ptr[plane]), float(tree.threshold[plane])
        values = Z[rows, tree.coef_idx[k]]
        missing = np.isnan(values)
        children = range(first, first + int(tree.n_children[node]))
        levels = tree.kind[node] == NodeKind.LEVELS
        if levels:
            table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
            known = (values >= 0) & (values < len(table))
            branch = np.full(len(rows), int(threshold))
            branch[known] = table[values[known].astype(np.int64)]
            usual = int(fill[k])
        else:
            branch = (values > threshold).astype(np.int64)
            usual = int(fill[k] > threshold)
        if missing.any():
            lost = rows[missing]
            errors = [_error(tree.subtree(child), Z[lost], shares[lost]) for child in children]
            chosen = usual if errors[usual] <= min(errors) else int(np.argmin(errors))
            side = float(np.nextafter(threshold, np.inf)) if chosen else threshold
            fill[k] = chosen if levels else side
            branch[missing] = chosen
        for number, child in enumerate(children):
            rows_at[child] = rows[branch == number]
    return replace(tree, fill=fill)


def _error(tree: Tree, Z: Rows, shares: FloatArray) -> float:
    """Return the squared distance between what a tree says of rows and their shares."""
    return float(((tree.proportion[tree.apply(Z)] - shares) ** 2).sum())


def _warn_of_missing(same: BoolArray, missing: BoolArray) -> None:
    """Say so if rows that miss values are all that one tree cannot say as the ensemble does."""
    wrong = int((missing & ~same).sum())
    if wrong and same[~missing].all():
        warn(
            f"{wrong} of the {int(missing.sum())} training rows with missing values get another "
            "class from the tree than from the ensemble; all others get the same. The tree is "
            "built where nothing is missing, and fidelity_ tells of that alone. Look at "
            "agreement_, or fill in what is missing before fitting."
        )


def counted(tree: Tree, Z: Any) -> Tree:
    """Return a tree with the numbers of rows at its nodes."""
    rows = np.asarray(tree.decision_path(Z).sum(axis=0)).ravel()
    return replace(tree, n_samples=rows.astype(np.int64))
