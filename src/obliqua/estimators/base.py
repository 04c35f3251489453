"""What the classifiers share that grow one tree: checking input, growing, pruning."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import Bunch, check_random_state
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import _check_sample_weight

from obliqua._typing import (
    AnyArray,
    FloatArray,
    GoodnessFunction,
    Int32Array,
    Rows,
)
from obliqua.criteria import CRITERIA, Criterion, get_criterion
from obliqua.data import Problem, encode
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._input import number_of_rows, read_training
from obliqua.estimators._labels import (
    check_labels,
    class_weights,
    encode_labels,
    prior_weights,
)
from obliqua.estimators._pruning import DIVIDING, PRUNING_CONSTRAINTS, pruning_of
from obliqua.model import Model

if TYPE_CHECKING:
    from obliqua.grow import Rules
    from obliqua.tree import Tree

CriterionLike = str | GoodnessFunction | Criterion
SeedLike = int | np.random.RandomState | None
Priors = dict[Any, float] | Sequence[float] | str | None


class BaseTreeClassifier(TreesClassifier, metaclass=ABCMeta):
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
        super()._validate_params()
        self._check_shares()

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
        seen, problem, classes = self._encoded(X, y, sample_weight)
        # The copy grows: what a search notes on its way does not touch self.
        self._keep(seen, seen._grown(problem), problem, classes)
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

        seen, problem, _ = self._encoded(X, y, sample_weight)
        tree = seen._grower(self._key())(problem)
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

    def _grown(self, problem: Problem) -> "Tree":
        """Grow the tree of a problem and prune it."""
        from obliqua.prune import grow_pruned

        key, n_threads = self._key(), effective_n_jobs(self.n_jobs)
        return grow_pruned(problem, self._grower(key), pruning_of(self), key, n_threads)

    def _heeds_seed(self) -> bool:
        """Say whether another seed may give another tree."""
        return self.pruning in DIVIDING and self.ccp_alpha is None

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
