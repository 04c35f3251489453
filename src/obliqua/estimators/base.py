"""What the estimators share that grow one tree: checking input, growing, pruning."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from obliqua._sklearn_compat import Interval, RealNotInt, StrOptions, fit_context
from obliqua._typing import (
    AnyArray,
    FloatArray,
    GoodnessFunction,
    Int32Array,
    Rows,
)
from obliqua.criteria import CRITERIA, NUMBER_CRITERIA, Criterion, get_criterion
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.target import Classes
from obliqua.data.threads import thread_count
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators._in_passes import fit_in_passes, grow_by_samples, is_read_in_passes
from obliqua.estimators._input import number_of_features, number_of_rows, with_least_weight
from obliqua.estimators._labels import matrix_of_costs
from obliqua.estimators._leaves import (
    LEAF_CONSTRAINTS,
    LEAST_LINE_ROWS,
    LEAST_ROWS,
    SQUARED_ERROR,
    best_fit,
    leaf_fits,
)
from obliqua.estimators._pruning import (
    NUMBER_PRUNING_CONSTRAINTS,
    PRUNING_CONSTRAINTS,
    PruningLike,
    pruner_of,
)
from obliqua.estimators._training import (
    SHARED_CONSTRAINTS,
    TRAINING_CONSTRAINTS,
    Priors,
    Seeded,
    SeedLike,
    TrainedTreesClassifier,
    TrainedTreesRegressor,
)
from obliqua.tree.model import Model

if TYPE_CHECKING:
    from obliqua.engine.linear_leaves import LeafFit
    from obliqua.engine.rules import Rules
    from obliqua.tree.tree import Tree

__all__ = ["BaseTreeClassifier", "BaseTreeRegressor", "CriterionLike", "Priors", "SeedLike"]

CriterionLike = str | GoodnessFunction | Criterion


class GrownTree(Seeded, TreesEstimator, metaclass=ABCMeta):
    """Base of the estimators that grow one tree.

    A method states what it proposes in :meth:`_proposer`; where its limits of growth differ
    from scikit-learn's it overrides :meth:`_rules`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
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
        "zero_gain_splits": ["boolean"],
        **NUMBER_PRUNING_CONSTRAINTS,
        **SHARED_CONSTRAINTS,
    }

    # Parameters of all methods. Constructors name them, as scikit-learn wants it, each with its
    # own defaults, and hand them over in one piece.
    criterion: CriterionLike
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: float
    min_samples_leaf: float | None
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    zero_gain_splits: bool
    pruning: PruningLike
    prune_fraction: float
    n_folds: int
    n_se: float
    prune_root: bool
    ccp_alpha: float | None
    random_state: SeedLike
    n_jobs: int | None

    @abstractmethod
    def _encoded(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Self, Problem, AnyArray]:
        """Check and encode the data; also return what the checks have noted, and the classes."""

    def _shaped(self, problem: Problem, classes: AnyArray) -> Problem:
        """Return a problem with what only this estimator's parameters say of it."""
        return problem

    @abstractmethod
    def _proposer(self) -> object:
        """Return what proposes the directions at a node."""

    # --- fitting -------------------------------------------------------------------------

    def _validate_params(self) -> None:
        """Check the parameters; scikit-learn calls it before a fit, unless told to skip it."""
        super()._validate_params()
        pruner_of(self)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree and prune it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame. A matrix
            of float64 or float32 is used as it is; rows are copied only where some of them are
            held out for pruning. Methods whose tag `sparse` is set take sparse matrices too,
            and make nothing dense. Or where a table is that need not fit in memory: a path, a
            pattern or a list of paths of Parquet or CSV files, a lazy frame of polars, a dataset
            of pyarrow, a memory map. It is read in passes.
        y : array-like of shape (n_samples,)
            What is learnt. For a classifier the class labels: integers, strings or bools. For a
            regressor numbers; with several outputs, a column for each. With X in files, the name
            of its column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; with X in files, the name of their column. Rows of weight 0 count
            as absent; a weight of 2 is the same as having the row twice, unless all weights share
            the factor: where rows are held out or divided into folds, that is a unit. Where rows
            are counted, weights that are not all whole numbers count as if their mean were 1.
            Negative weights are an error.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        if is_read_in_passes(self, X) and fit_in_passes(self, X, y, sample_weight) is not None:
            return self
        seen, problem, classes = self._encoded(X, y, sample_weight)
        # The copy grows: what a search notes on its way does not touch self.
        self._keep(seen, seen._grown(problem), problem, classes)
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
            What is learnt, as for `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        Bunch
            A dictionary with the attributes `ccp_alphas`, ascending: from each of them on
            the next smaller tree is the best one; `impurities`: the share of the training
            weight that each tree misclassifies (not its Gini impurity, as in scikit-learn), or
            with `costs` what a row costs on average;
            and `n_leaves`; where numbers are learnt, the mean squared error in the place of the
            share (with the criterion 'absolute_error' the mean distance from medians). The first
            entry is the tree as it was grown, which `ccp_alpha=0` gives. If some of its splits
            save no mistake at all, the second one has a `ccp_alpha` of 0 too, and the smallest
            positive price gives a tree at least as small. The last one is a single leaf with
            `prune_root=True`, else the root's split.
        """
        from obliqua.prune import cost_complexity_path

        seen, problem, _ = self._encoded(X, y, sample_weight)
        tree = seen._grower(self._key())(problem)
        path = cost_complexity_path(tree, bool(self.prune_root))
        return Bunch(ccp_alphas=path.alphas, impurities=path.risks, n_leaves=path.n_leaves)

    def _grown(self, problem: Problem) -> "Tree":
        """Grow the tree of a problem and prune it."""
        from obliqua.prune import grow_pruned

        key, n_threads = self._key(), thread_count(self.n_jobs)
        tree = grow_pruned(problem, self._grower(key), pruner_of(self), key, n_threads)
        if not self._refines():
            return tree
        from obliqua.refine import refine_only
        from obliqua.tree.spread import measure_spread

        most = self.get_params(deep=False).get("max_features_per_split")
        tree = refine_only(tree, problem, max_features=most, key=key, n_threads=n_threads)
        return measure_spread(tree, problem.Z, problem.weights, n_threads)

    def _finished(self, tree: "Tree", problem: Problem) -> "Tree":
        """Return a pruned tree with what is done to it last; no rows are needed."""
        return tree

    def _scale_of(self, problem: Problem) -> FloatArray | None:
        """Return what a fit multiplies its features by; None if by nothing."""
        from obliqua.engine.moments import feature_scale

        kind = self.get_params(deep=False).get("scale")
        return None if kind is None else feature_scale(problem, kind)

    def _refines(self) -> bool:
        """Say whether the tree is refined; not every method can be."""
        return bool(self.get_params(deep=False).get("refine", False))

    def _heeds_seed(self) -> bool:
        """Say whether another seed may give another tree."""
        from obliqua.prune import Seedless

        draws = self.get_params(deep=False).get("max_features") is not None
        return draws or not isinstance(pruner_of(self), Seedless) or self._refines()

    def _grower(self, key: int) -> "Callable[[Problem], Tree]":
        """Return what grows a tree from a problem, all of the data or a part of them."""
        proposer, criterion = self._proposer(), get_criterion(self.criterion)

        def grown(problem: Problem) -> "Tree":
            # Limits that are fractions refer to the rows that grow this very tree.
            rules, drawing = self._rules(problem), self._drawing(proposer, problem)
            return self._grow(problem, drawing, criterion, rules, key)

        return grown

    def _grow(
        self, problem: Problem, proposer: object, criterion: Criterion, rules: "Rules", key: int
    ) -> "Tree":
        """Grow a tree from rows in memory; from samples of them, if that is wanted."""
        # grow and the methods are not needed for predicting, hence not imported above.
        from obliqua.engine.grow import grow

        most = getattr(self, "sample_rows", None)
        if most is not None and most < problem.n_rows:
            tree = grow_by_samples(problem, proposer, criterion, rules, key, int(most))
            if tree is not None:
                return tree
        n_threads = thread_count(self.n_jobs)
        return grow(problem, proposer, criterion, rules, n_threads=n_threads, key=key)

    def _drawing(self, proposer: object, problem: Problem) -> object:
        """Return what is proposed, with the number of features that each node draws."""
        from obliqua.engine.grow import proposals_of

        most = self.get_params(deep=False).get("max_features")
        n_drawn = number_of_features(most, problem.n_features)
        if most is None or (n_drawn == problem.n_features and not problem.is_sparse):
            return proposer
        return replace(proposals_of(proposer), n_drawn=n_drawn)

    def _rules(self, problem: Problem) -> "Rules":
        """Return the limits of growth for a problem."""
        from obliqua.engine.rules import Rules

        # Compiled code counts in 64 bits. No tree has more leaves, or depth, than rows, so
        # limits beyond that are brought down to it.
        n_rows = problem.n_rows

        def at_most(limit: int | None) -> int | None:
            return None if limit is None else min(int(limit), n_rows)

        return Rules(
            max_depth=at_most(self.max_depth),
            max_leaf_nodes=at_most(self.max_leaf_nodes),
            min_samples_split=max(2, number_of_rows(self.min_samples_split, n_rows)),
            min_samples_leaf=number_of_rows(self.min_samples_leaf or 1, n_rows),
            min_weight_leaf=ceil(self.min_weight_fraction_leaf * problem.total_weight),
            min_gain=float(self.min_impurity_decrease),
            zero_gain=bool(self.zero_gain_splits),
            best_first=self.max_leaf_nodes is not None,
        )

    def _keep(self, seen: Self, tree: "Tree", problem: Problem, classes: AnyArray) -> None:
        """Make the model of a fit and keep it."""
        model = Model((tree,), "single", problem.encoding, classes)
        self._hold(model, getattr(seen, "feature_names_in_", None))


class BaseTreeClassifier(TrainedTreesClassifier, GrownTree):
    """Base of the tree classifiers."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "criterion": [StrOptions(set(CRITERIA)), callable, Criterion],
        **GrownTree._parameter_constraints,
        "max_leaf_error": [Interval(Real, 0.0, 1.0, closed="both")],
        **PRUNING_CONSTRAINTS,
        **TRAINING_CONSTRAINTS,
        "costs": ["array-like", dict, None],
    }

    max_leaf_error: float
    confidence_factor: float
    subtree_raising: bool
    class_weight: dict[object, float] | str | None
    priors: Priors
    costs: ArrayLike | dict[Any, dict[Any, float]] | None

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.costs is not None and self._refines():
            raise ValueError(
                "costs and refine=True make no sense together: what moves hyperplanes counts "
                "mistakes and knows no costs. Leave one of them out."
            )

    def _encoded(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Self, Problem, AnyArray]:
        seen, problem, classes = super()._encoded(X, y, sample_weight)
        return seen, self._shaped(problem, classes), classes

    def _shaped(self, problem: Problem, classes: AnyArray) -> Problem:
        if self.costs is None:
            return problem
        costs, target = matrix_of_costs(self.costs, classes), problem.target
        assert isinstance(target, Classes)
        return replace(problem, target=replace(target, costs=costs))

    def _feature_scale(
        self,
        Z: Rows,
        codes: Int32Array,
        weights: FloatArray | None,
        class_weight: FloatArray | None,
    ) -> FloatArray | None:
        """Return what a fit to these rows multiplies its features by; None if by nothing."""
        n_classes = int(codes.max()) + 1 if class_weight is None else len(class_weight)
        return self._scale_of(encode(Z, codes, n_classes, weights, class_weight))

    def _rules(self, problem: Problem) -> "Rules":
        return replace(super()._rules(problem), max_leaf_error=float(self.max_leaf_error))


class BaseTreeRegressor(TrainedTreesRegressor, GrownTree):
    """Base of the tree regressors."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "criterion": [StrOptions(set(NUMBER_CRITERIA)), callable, Criterion],
        **GrownTree._parameter_constraints,
        "min_samples_leaf": [*GrownTree._parameter_constraints["min_samples_leaf"], None],
        **LEAF_CONSTRAINTS,
    }

    def _measured(self, problem: Problem) -> Problem:
        """Return the problem as the criterion sees it."""
        return problem.measured_by(get_criterion(self.criterion))

    def _feature_scale(
        self, Z: Rows, y: FloatArray, weights: FloatArray | None, class_weight: None
    ) -> FloatArray | None:
        """Return what a fit to these rows multiplies its features by; None if by nothing."""
        return self._scale_of(encode_numbers(Z, y, weights))

    def _grown(self, problem: Problem) -> "Tree":
        return self._finished(super()._grown(problem), problem)

    def _finished(self, tree: "Tree", problem: Problem) -> "Tree":
        from obliqua.engine.linear_leaves import with_gains, with_sides

        tree = with_sides(tree, problem)
        if get_criterion(self.criterion).code != SQUARED_ERROR.code:
            return tree
        return with_gains(tree, 0.0 if self.leaf_smoothing is None else self.leaf_smoothing)

    def _grower(self, key: int) -> "Callable[[Problem], Tree]":
        chosen: list[LeafFit] = []  # by the first rows that a tree is grown from

        def grown(problem: Problem) -> "Tree":
            if not chosen:
                fits = leaf_fits(self, problem)
                chosen.append(best_fit(problem, fits, self._grower_of(key), key))
            return self._grower_of(key)(problem, chosen[0])

        return grown

    def _grower_of(self, key: int) -> "Callable[[Problem, LeafFit], Tree]":
        """Return what grows a tree whose leaves say what is fitted so."""
        from obliqua.engine.linear_leaves import with_leaves

        criterion = get_criterion(self.criterion)

        def grown(problem: Problem, fit: "LeafFit") -> "Tree":
            proposer = (
                self._proposer() if fit.penalty is None else self._line_proposer(fit.penalty)
            )
            rules, drawing = self._rules(problem, fit.linear), self._drawing(proposer, problem)
            tree = self._grow(problem, drawing, criterion, rules, key)
            return with_leaves(tree, problem, fit)

        return grown

    @abstractmethod
    def _line_proposer(self, penalty: float) -> object:
        """Return what proposes directions for a tree whose leaves are linear functions."""

    def _rules(self, problem: Problem, lines: bool = False) -> "Rules":
        """Return the limits of growth; `lines`: of a tree whose leaves are linear functions."""
        if self.min_samples_leaf is not None:
            return super()._rules(problem)
        least = LEAST_LINE_ROWS if lines else LEAST_ROWS
        return with_least_weight(super()._rules(problem), problem, least)

    def _keep(self, seen: Self, tree: "Tree", problem: Problem, classes: AnyArray) -> None:
        super()._keep(seen, tree, problem, classes)
        self._note_leaves(tree, problem)
