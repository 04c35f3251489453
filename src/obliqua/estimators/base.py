"""What all tree classifiers share: checking input, growing, predicting."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from obliqua._core.walk import all_finite
from obliqua._typing import (
    AnyArray,
    FloatArray,
    GoodnessFunction,
    Int32Array,
    Int64Array,
    Rows,
)
from obliqua._values import NotSaved
from obliqua.criteria import CRITERIA, Criterion, get_criterion
from obliqua.data import Problem, encode
from obliqua.estimators._input import FLOATS, number_of_rows, read_rows, read_training
from obliqua.estimators._labels import (
    check_labels,
    class_weights,
    encode_labels,
    prior_weights,
)
from obliqua.estimators._pruning import PRUNING_CONSTRAINTS, pruning_of
from obliqua.model import Model

if TYPE_CHECKING:
    from obliqua.grow import Rules
    from obliqua.tree import Tree

CriterionLike = str | GoodnessFunction | Criterion
SeedLike = int | np.random.RandomState | None
Priors = dict[Any, float] | Sequence[float] | str | None

# Fewer rows than this are walked before a second thread would have started.
ROWS_WORTH_THREADS = 10_000


class BaseTreeClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the tree classifiers.

    A method states what it proposes in :meth:`_proposer`; where its limits of growth differ
    from scikit-learn's it overrides :meth:`_rules`.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "criterion": [StrOptions(set(CRITERIA)), callable, Criterion],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="right"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
        ],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
        "min_impurity_decrease": [Interval(Real, 0.0, None, closed="left")],
        "max_leaf_error": [Interval(Real, 0.0, 1.0, closed="both")],
        "zero_gain_splits": ["boolean"],
        **PRUNING_CONSTRAINTS,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "priors": [dict, StrOptions({"equal"}), "array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    #: Whether the method takes qualitative columns and missing values.
    _takes_odd: ClassVar[bool] = False

    # Parameters of all methods. Constructors name them, as scikit-learn wants it, each with its
    # own defaults, and hand them over in one piece.
    criterion: CriterionLike
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    max_leaf_error: float
    zero_gain_splits: bool
    pruning: str | None
    prune_fraction: float
    n_folds: int
    n_se: float
    prune_root: bool
    ccp_alpha: float | None
    confidence_factor: float
    subtree_raising: bool
    class_weight: dict[object, float] | str | None
    priors: Priors
    random_state: SeedLike
    n_jobs: int | None

    def _take_shared(self, given: dict[str, Any]) -> None:
        """Keep the parameters that all methods have; `given`: a constructor's variables."""
        for name in BaseTreeClassifier.__annotations__:
            if not name.startswith("_"):
                setattr(self, name, given[name])

    @abstractmethod
    def _proposer(self) -> object:
        """Return what proposes the directions at a node."""

    def _validate_params(self) -> None:
        """Check the parameters; scikit-learn calls it before a fit, unless told to skip it."""
        self._check_saved()
        super()._validate_params()
        self._check_shares()

    def _check_saved(self) -> None:
        """Refuse to fit without a parameter that a model file could not keep."""
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, NotSaved):
                raise ValueError(
                    f"The parameter {name!r} ({value.what}) could not be kept in the model file "
                    f"that this {type(self).__name__} was loaded from. Set it again before "
                    f"fitting: set_params({name}=...)."
                )

    def __sklearn_tags__(self) -> Any:
        """Say what the method takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = self._takes_odd
        return tags

    # --- fitting -------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame. A matrix
            of float64 or float32 is used as it is; rows are copied only where some of them are
            held out for pruning.
        y : array-like of shape (n_samples,)
            The class labels: integers, strings or bools.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight 0 count as absent; a weight of 2 is the
            same as having the row twice, unless all weights share the factor: where rows are
            held out or divided into folds, that is a unit. Where rows are counted, weights
            that are not all whole numbers count as if their mean were 1. Negative weights are
            an error.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        from obliqua.prune import grow_pruned

        seen, problem, classes = self._encoded(X, y, sample_weight)
        key = self._key()
        n_threads = effective_n_jobs(self.n_jobs)
        tree = grow_pruned(problem, self._grower(key), pruning_of(self), key, n_threads)
        self._keep(seen, tree, problem, classes)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> Bunch:
        """Find the values of `ccp_alpha` at which the pruned tree changes.

        A tree is grown from all rows, whatever `pruning` says. The estimator itself is not
        changed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        Bunch
            A dictionary with the attributes `ccp_alphas`, ascending: from each of them on
            the next smaller tree is the best one; `impurities`: the share of the training
            weight that each tree misclassifies (not its Gini impurity, as in scikit-learn);
            and `n_leaves`. The first entry is the tree as it was grown, which `ccp_alpha=0`
            gives. If some of its splits save no mistake at all, the second one has a
            `ccp_alpha` of 0 too, and the smallest positive price gives a tree at least as
            small. The last one is a single leaf with `prune_root=True`, else the root's
            split.
        """
        from obliqua.prune import cost_complexity_path

        _, problem, _ = self._encoded(X, y, sample_weight)
        tree = self._grower(self._key())(problem)
        path = cost_complexity_path(tree, bool(self.prune_root))
        return Bunch(ccp_alphas=path.alphas, impurities=path.risks, n_leaves=path.n_leaves)

    def _encoded(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Self, Problem, AnyArray]:
        """Check and encode the data; also return what the checks have noted, and the classes."""
        self._check_saved()  # scikit-learn may be told to skip all checks of parameters
        # validate_data writes what it saw on the estimator that it is given. It gets a copy:
        # self changes in one step at the end, so that an error, or Ctrl-C, on the way leaves
        # an earlier fit untouched.
        seen = copy(self)
        check_labels(y)
        table, y = read_training(seen, X, y)
        weights: FloatArray | None = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, table.Z, dtype=np.float64)
        classes, codes = encode_labels(y)
        problem = encode(
            table,
            codes,
            len(classes),
            sample_weight=weights,
            class_weight=self._weights_of_classes(classes, codes, weights),
            fill=getattr(self, "fill", "node"),
        )
        return seen, problem, classes

    def _check_shares(self) -> None:
        if self.priors is not None and isinstance(self.class_weight, str):
            raise ValueError(
                "priors and class_weight='balanced' both set the shares of the classes. Got "
                f"priors={self.priors!r}; leave one of them out, or give class_weight as a "
                "dictionary of costs."
            )

    def _weights_of_classes(
        self, classes: AnyArray, codes: Int32Array, weights: FloatArray | None
    ) -> FloatArray | None:
        """Return what priors and class weights make of each class: altered priors."""
        self._check_shares()
        costs = class_weights(self.class_weight, classes, codes, weights)
        shares = prior_weights(self.priors, classes, codes, weights)
        if costs is None or shares is None:
            return shares if costs is None else costs
        with np.errstate(over="ignore"):  # what is not finite is refused later, by name
            return np.asarray(costs * shares)

    def _feature_scale(
        self,
        Z: Rows,
        codes: Int32Array,
        weights: FloatArray | None,
        class_weight: FloatArray | None,
    ) -> FloatArray | None:
        """Return what a fit to these rows multiplies its features by; None if by nothing."""
        kind = self.get_params(deep=False).get("scale")
        if kind is None:
            return None
        from obliqua.scale import feature_scale

        n_classes = int(codes.max()) + 1 if class_weight is None else len(class_weight)
        return feature_scale(encode(Z, codes, n_classes, weights, class_weight), kind)

    def _key(self) -> int:
        """Draw the seed of a fit."""
        return int(check_random_state(self.random_state).randint(2**63 - 1, dtype=np.int64))

    def _grower(self, key: int) -> "Callable[[Problem], Tree]":
        """Return what grows a tree from a problem, all of the data or a part of them."""
        # grow and the methods are not needed for predicting, hence not imported above.
        from obliqua.grow import grow

        proposer, criterion = self._proposer(), get_criterion(self.criterion)
        n_threads = effective_n_jobs(self.n_jobs)

        def grown(problem: Problem) -> "Tree":
            # Limits that are fractions refer to the rows that grow this very tree.
            rules = self._rules(problem)
            return grow(problem, proposer, criterion, rules, n_threads=n_threads, key=key)

        return grown

    def _rules(self, problem: Problem) -> "Rules":
        """Return the limits of growth for a problem."""
        from obliqua.grow import Rules

        # Compiled code counts in 64 bits. No tree has more leaves, or depth, than rows, so
        # limits beyond that are brought down to it.
        n_rows = problem.n_rows

        def at_most(limit: int | None) -> int | None:
            return None if limit is None else min(int(limit), n_rows)

        return Rules(
            max_depth=at_most(self.max_depth),
            max_leaf_nodes=at_most(self.max_leaf_nodes),
            min_samples_split=max(2, number_of_rows(self.min_samples_split, n_rows)),
            min_samples_leaf=number_of_rows(self.min_samples_leaf, n_rows),
            min_weight_leaf=ceil(self.min_weight_fraction_leaf * problem.total_weight),
            min_gain=float(self.min_impurity_decrease),
            max_leaf_error=float(self.max_leaf_error),
            zero_gain=bool(self.zero_gain_splits),
            best_first=self.max_leaf_nodes is not None,
        )

    def _keep(self, seen: Self, tree: "Tree", problem: Problem, classes: AnyArray) -> None:
        """Make the model of a fit and keep it."""
        model = Model((tree,), "single", problem.encoding, classes)
        self._hold(model, getattr(seen, "feature_names_in_", None))

    def _hold(self, model: Model, names: AnyArray | None) -> None:
        """Set all fitted attributes, at once: after a fit, and when a file was loaded."""
        fitted = {
            "tree_": model.trees[0],
            "model_": model,
            "classes_": model.classes,
            "n_classes_": model.n_classes,
            "n_features_in_": model.encoding.n_columns,
            "_n_plain": model.encoding.n_columns if model.encoding.numeric else -1,
        }
        if names is not None:
            fitted["feature_names_in_"] = names
        else:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(fitted)

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
            The class with the largest weight in the leaf that the row reaches, the first
            of them at ties.
        """
        Z = self._check_rows(X)
        return self.classes_.take(self.model_.predict_index(Z, self._n_threads(Z)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Predict the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weighted share of each class in the leaf that the row reaches, in the order
            of `classes_`.
        """
        Z = self._check_rows(X)
        return self.model_.predict_proba(Z, self._n_threads(Z))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Predict the logarithm of the share of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The logarithm of `predict_proba`, minus infinity for a share of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def apply(self, X: Any) -> Int64Array:
        """Say which leaf each row reaches.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The leaf's node number in `tree_`.
        """
        Z = self._check_rows(X)
        return self.model_.apply(Z, self._n_threads(Z))

    def decision_path(self, X: Any) -> csr_array:
        """Say which nodes each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        sparse array of shape (n_samples, n_nodes)
            CSR with a 1 where a row passes a node, root and leaf included.
        """
        Z = self._check_rows(X)
        return self.tree_.decision_path(Z)

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the gain of all splits; see `obliqua.explain`."""
        check_is_fitted(self)
        from obliqua.explain.importance import importances

        return importances(self.model_)

    def get_depth(self) -> int:
        """Return the depth of the tree: 0 for a single leaf.

        Returns
        -------
        int
            The largest number of splits between the root and a leaf.
        """
        check_is_fitted(self)
        return max(tree.depth for tree in self.model_.trees)

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            The number of leaves.
        """
        check_is_fitted(self)
        return sum(tree.n_leaves for tree in self.model_.trees)

    def _check_rows(self, X: Any) -> Rows:
        """Check rows to predict and return them as the engine takes them.

        scikit-learn's checks cost more than predicting one row. A plain array in which
        there is nothing to convert, to warn about or to refuse needs none of them; all
        else takes the usual way, so that results and messages are the usual ones.
        """
        fitted = vars(self)
        if (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in FLOATS
            and X.shape[1] == fitted.get("_n_plain")
            and X.shape[0] > 0
            and X.flags.aligned
            and "feature_names_in_" not in fitted
            and all_finite(X)
        ):
            return X
        check_is_fitted(self)
        return read_rows(self, X)

    def _n_threads(self, Z: Rows) -> int:
        """Return how many threads walk the rows."""
        return effective_n_jobs(self.n_jobs) if len(Z) >= ROWS_WORTH_THREADS else 1
