"""Orthogonal decision trees: the principal components of an ensemble."""

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliqua._core.base.linalg import product
from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions, fit_context
from obliqua._typing import AnyArray, FloatArray, Rows
from obliqua.estimators._components import TOLD, FoundComponents
from obliqua.estimators._docs import document
from obliqua.estimators._ensembles import SHARES, SUMS, VOTES
from obliqua.estimators._spectral import SPECTRAL_CONSTRAINTS, SPECTRAL_PARAMETERS, Functions
from obliqua.estimators.base import SeedLike
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.principal import principal_components
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree


@document(
    {
        "tree_": ("Tree", "Not there: see `trees_` and `model_`."),
        "model_": (
            "Model",
            """\
The ensemble: its trees, in `model_.trees`, the classes and the encoding. All trees count alike in
it, so that it says what the ensemble says only where `ensemble_weights_` are equal.""",
        ),
        "ensemble_weights_": (
            "ndarray of shape (n_trees,)",
            """\
What each tree of the ensemble counts; they add up to 1. All are 1 for gradient boosting and
stacked trees, whose own numbers say what they count.""",
        ),
        "components_": (
            "ndarray of shape (n_components, n_trees)",
            """\
What each tree adds to each component, as functions: eigenvectors of the matrix of inner products
of the trees.""",
        ),
        "eigenvalues_": (
            "ndarray of shape (n_components,)",
            "The energy of each component: its mean square over the domain.",
        ),
        "explained_energy_": (
            "ndarray of shape (n_components,)",
            "The share of each component in the energy of all of them.",
        ),
        "component_weights_": (
            "ndarray of shape (n_components,)",
            """\
What each component counts in the prediction. With `combine='weighted'` it is what makes all
components together the ensemble.""",
        ),
        "trees_": (
            "tuple of Tree",
            """\
The orthogonal trees: one for each component, built when first asked for. They are trees of
numbers, with an output for each class: `mean` has the means of the component over the domain.""",
        ),
        "fidelity_": (
            "ndarray of shape (n_components,)",
            """\
For each of `trees_` the share of the energy of its component that its function has: 1 if nothing
was lost. Trees that have lost something are not exactly orthogonal.""",
        ),
        "domain_": ("Domain", "The domain."),
        "spectra_": (
            "tuple of Spectrum",
            """\
The spectrum of each tree of the ensemble, found when first asked for; an error if one has more
than `max_coefficients`.""",
        ),
    },
    **SPECTRAL_PARAMETERS,
    n_components=(
        "int, float or None",
        """\
How many components are kept, those with the most energy first; five, as in the paper, by default.
A float below 1 is the share of the energy that they must have. `None` keeps all: as many as there
are trees, and no prediction differs from that of the ensemble.""",
    ),
    centred=(
        "bool",
        """\
Whether the mean of each tree over the domain is taken off before the analysis, and added again to
the prediction. The paper assumes means of 0 and says that nothing depends on it.""",
    ),
    combine=(
        "{'weighted', 'uniform'}",
        """\
What each component counts in the prediction. 'weighted': the sum over the trees of its entry times
the weight of the tree. 'uniform': 1, as the paper says; for reproduction only, because components
are neither of the same size nor of the size of a tree.""",
    ),
    predict_with=(
        "{'functions', 'trees'}",
        """\
Whether the components themselves predict, or `trees_`, which are built under `max_leaf_nodes` and
`energy` and have lost what `fidelity_` says.""",
    ),
)
class OrthogonalTreesClassifier(FoundComponents):
    """Principal components of an ensemble of trees (orthogonal decision trees).

    Trees over discrete features are functions, and by their Fourier spectra the inner product of
    two of them is found without looking at all points. The eigenvectors of the matrix of inner
    products make new functions of the trees, orthogonal to each other. The first few of them have
    most of the energy of all trees, and from each a tree can be built.

    [parameters]

    [attributes]

    See Also
    --------
    AggregatedTreeClassifier : One tree for the whole ensemble.
    obliqua.spectrum.SpectralEnsemble : An ensemble that trees join and leave.

    Notes
    -----
    Takes what the ensemble takes: for bagged C4.5 trees also qualitative features and missing
    values. Without `spectrum_energy` components are evaluated by the trees of the ensemble, which
    say what becomes of missing values and of levels that were never seen. With it they are
    evaluated by their spectra, where the mean over all levels of that feature stands in.

    `apply`, `decision_path` and `feature_importances_` are those of the ensemble; `get_depth` and
    `get_n_leaves` of what predicts. `component_model` is for reading the tree of a component.

    Ties go to the first class. Sums that differ by less than 1e-13 are equal.

    References
    ----------
    .. [1] H. Kargupta, H. Dutta (2004). Orthogonal decision trees. *Proceedings of the 4th IEEE
       International Conference on Data Mining*, 427-430.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua import OrthogonalTreesClassifier
    >>> X = np.random.default_rng(0).integers(0, 2, (60, 5))
    >>> y = X[:, 0] & X[:, 1] | X[:, 2]
    >>> model = OrthogonalTreesClassifier(n_estimators=10, n_components=2, random_state=0)
    >>> model.fit(X, y).explained_energy_.round(3)
    array([0.961, 0.039])
    >>> model.trees_[0]
    Tree(7 nodes, 4 leaves, depth 3, 5 columns, 2 outputs)
    """

    _notes: ClassVar[dict[str, type]] = {
        "ensemble_weights_": object,
        "eigenvalues_": object,
        "explained_energy_": object,
        "component_weights_": object,
        "_vectors": list,
        "_means": object,
        "_told": dict,
        "_takes_odd": bool,
    }
    _several = True
    _predicts_model = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SPECTRAL_CONSTRAINTS,
        "n_components": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
            None,
        ],
        "centred": ["boolean"],
        "combine": [StrOptions({"weighted", "uniform"})],
        "predict_with": [StrOptions({"functions", "trees"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_components: int | float | None = 5,
        n_estimators: int = 40,
        max_samples: float = 1.0,
        prefit: bool = False,
        coding: str = "auto",
        domain: str | Domain = "thresholds",
        centred: bool = False,
        combine: str = "weighted",
        predict_with: str = "functions",
        spectrum_energy: float | None = None,
        max_coefficients: int = 2**17,
        max_leaf_nodes: int | None = 32,
        energy: float = 1.0,
        random_state: SeedLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_components = n_components
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.prefit = prefit
        self.coding = coding
        self.domain = domain
        self.centred = centred
        self.combine = combine
        self.predict_with = predict_with
        self.spectrum_energy = spectrum_energy
        self.max_coefficients = max_coefficients
        self.max_leaf_nodes = max_leaf_nodes
        self.energy = energy
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- fitting -------------------------------------------------------------------------

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the ensemble, unless it is fitted, and find its components.

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
        most = int(self.max_coefficients)
        functions = Functions.of(ensemble, domain, coding, self.spectrum_energy, most)
        means, gram = functions.means(), functions.gram()
        if self.centred:
            gram = gram - product(means, means.T)
        found = principal_components(gram, ensemble.weights, self.n_components)
        told = {name: getattr(self, name) for name in TOLD}
        told |= {"coding": coding.name, "domain": domain.to_dict()}
        told = {k: v.item() if isinstance(v, np.generic) else v for k, v in told.items()}
        counts = found.weights if self.combine == "weighted" else np.ones(len(found))
        combine = {VOTES: "vote", SHARES: "mean", SUMS: "log_odds"}[ensemble.values]
        done = copy(self)  # an error on the way leaves an earlier fit untouched
        done._hold(Model(ensemble.trees, combine, ensemble.encoding, ensemble.classes), names)
        done._takes_odd = self._takes_odd_of(self._given())
        done.ensemble_weights_ = ensemble.weights
        done.eigenvalues_, done.explained_energy_ = found.eigenvalues, found.explained
        done.component_weights_ = counts
        done._vectors, done._means = list(found.vectors), list(means)
        done._told = told
        done._made = {"functions": functions, "domain": domain}
        if self.predict_with == "trees":
            done._rebuilt()
        self.__dict__.clear()
        self.__dict__.update(vars(done))
        return self

    # --- predicting ----------------------------------------------------------------------

    def predict(self, X: Any) -> AnyArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The class with the largest sum over the components, the first of them at ties.
        """
        check_is_fitted(self)
        return self.classes_.take(self._scores(self._check_rows(X)).argmax(axis=1))

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The sums over the components, in the order of `classes_`, as shares: negative ones are
            0, and they add up to 1. With all components, what the ensemble adds up; AdaBoost makes
            other shares of that. Of gradient boosting and of stacked trees, the softmax of the
            sums, as the ensemble does it.
        """
        check_is_fitted(self)
        return self._coding.shares(self._scores(self._check_rows(X)))

    def component_values(self, X: Any) -> FloatArray:
        """Return the values of the components at rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components, n_outputs)
            The values: of the components themselves, whatever `predict_with` is.
        """
        check_is_fitted(self)
        Z = self._check_rows(X)
        vectors = self.components_
        shift = -product(vectors, np.array(self._means)) if self._told["centred"] else 0.0
        return np.asarray(self._sums(Z, vectors) + shift)

    def _scores(self, Z: Rows) -> FloatArray:
        counts, vectors = self.component_weights_, self.components_
        effective = product(counts, vectors)
        means = np.array(self._means)
        if self._told["predict_with"] == "trees":
            total = np.zeros((len(Z), means.shape[1]))
            for count, tree in zip(counts.tolist(), self.trees_, strict=True):
                total += count * self._coding.values_in(tree.mean)[tree.apply(Z)]
            shift = product(self.ensemble_weights_, means)
        else:
            total = self._sums(Z, effective[None, :])[:, 0]
            shift = product(self.ensemble_weights_ - effective, means)
        return self._coding.scores(total + shift if self._told["centred"] else total)

    def _sums(self, Z: Rows, weights: FloatArray) -> FloatArray:
        """Return weighted sums of the functions of the trees: (n_rows, n_sums, n_outputs)."""
        if self._told["spectrum_energy"] is not None:
            codes = self.domain_.codes(Z)
            sums = [self._functions().sum(one).value(codes) for one in weights]
            return np.stack(sums, axis=1)
        n_threads = self._n_threads(Z)
        total = np.zeros((len(Z), len(weights), len(self._means[0])))
        for number, tree in enumerate(self.model_.trees):
            values = self._coding.values(tree)[tree.apply(Z, n_threads)]
            total += weights[:, number][None, :, None] * values[:, None, :]
        return total

    def get_depth(self) -> int:
        """Return the depth of the deepest tree that predicts.

        Returns
        -------
        int
            Of the trees of the ensemble, or of `trees_` if these predict.
        """
        return max(tree.depth for tree in self._predicting())

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the trees that predict.

        Returns
        -------
        int
            Of the trees of the ensemble, or of `trees_` if these predict.
        """
        return sum(tree.n_leaves for tree in self._predicting())

    def _predicting(self) -> tuple[Tree, ...]:
        check_is_fitted(self)
        trees = self.trees_ if self._told["predict_with"] == "trees" else self.model_.trees
        return tuple(trees)
