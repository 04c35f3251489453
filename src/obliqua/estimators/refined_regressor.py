"""Refined regression trees: the most accurate single tree for a given number of leaves."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, RealNotInt, fit_context
from obliqua._typing import FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.threads import thread_count
from obliqua.estimators._docs import NUMBER_ATTRIBUTES, NUMBER_PARAMETERS, document
from obliqua.estimators._input import (
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    number_of_rows,
    with_least_weight,
)
from obliqua.estimators._leaves import (
    CONSTANT_SMOOTHINGS,
    LEAF_CONSTRAINTS,
    LEAST_LINE_ROWS,
    LEAST_ROWS,
    leaf_fits,
)
from obliqua.estimators._refining import (
    REFINING_CONSTRAINTS,
    REFINING_NOTES,
    check_refining_notes,
    fit_refined,
)
from obliqua.estimators._training import SHARED_CONSTRAINTS, SeedLike, TrainedTreesRegressor

if TYPE_CHECKING:
    from obliqua.engine.linear_leaves import LeafFit
    from obliqua.refine import Watch
    from obliqua.refine.number_choice import NumberChoice
    from obliqua.refine.recipe import Grower
    from obliqua.tree.tree import Tree

#: The most leaves, if nothing else is said: of trees that say constants, and linear functions.
MOST_LEAVES, MOST_LINES = 32, 16
#: How many rows are looked at while a tree is refined, all passes together, unless there are many.
VISITS = 128_000


@document(
    {
        **NUMBER_ATTRIBUTES,
        "chosen_": (
            "{'refined', 'greedy', 'axis-parallel'}",
            """\
Which kind of tree was the best on held-out rows, and is this one.""",
        ),
        "leaf_penalty_": (
            "float",
            """\
The penalty on the coefficients of the leaves' linear functions; NaN if leaves say constants.""",
        ),
        "leaf_smoothing_": (
            "float",
            """\
As how many rows the node above counts in what a leaf says.""",
        ),
        "loss_curve_": (
            "ndarray of shape (n_passes,)",
            """\
The mean loss of the rows in each pass over them, all stages one after another. It jumps where the
tree was made smaller, and where the gates became soft again. Empty if nothing was refined.""",
        ),
        "cv_sizes_": (
            "ndarray of shape (n_sizes,)",
            """\
The numbers of leaves of refined trees that were tried on held-out rows, with what leaves say in
this tree.""",
        ),
        "cv_scores_": (
            "ndarray of shape (n_sizes,)",
            """\
R squared of these on held-out rows. They were refined; the best of them, if it came near to the
best of all, was also shrunk, as the tree itself is.""",
        ),
        "greedy_score_": (
            "float",
            """\
The best R squared of greedy trees on held-out rows; NaN if nothing was tried.""",
        ),
        "timed_out_": ("bool", "Whether `time_limit` cut the refinement short."),
    },
    without=("classes_", "n_classes_"),
    **{
        **NUMBER_PARAMETERS,
        "max_leaf_nodes": (
            "int or None",
            """\
The most leaves. How many there are is chosen on held-out rows. `None` is 32 where leaves say
constants and 16 where they say linear functions.""",
        ),
        "over": (
            "float",
            """\
How many times the leaves that are wanted are grown before the tree is refined and shrunk. 4 finds
trees that greedy growth cannot see, at up to 1.6 times the price; on most data 2 is as good.""",
        ),
        "cycles": (
            "int",
            """\
How often the tree grows by half once more, is refined and is shrunk again, and is kept if its
squared error on the training rows is smaller.""",
        ),
        "max_features_per_split": (
            "int or None",
            """\
The most features that a split may use. While the tree shrinks its splits are left fewer and fewer
features, those of largest `|coefficient| * standard deviation in the node`, and the others are
refined to make up for it; three trees are made in this way, and the one that errs least on the
training rows is kept. `None` sets no limit.""",
        ),
        "max_features_per_tree": (
            "int or None",
            """\
The most features that the whole tree may use, its leaves included. A tree that may use all of
them, whose leaves say constants, is refined and shrunk to so many; then the tree is chosen and
made from these alone, with all other limits. `None` sets no limit.""",
        ),
        "max_depth": ("int or None", "The largest depth of what is grown. `None` sets no limit."),
        "compare_greedy": (
            "'auto' or bool",
            """\
Whether greedy trees, oblique and axis-parallel, are compared with refined ones on held-out rows,
and kept if they are better. 'auto' always does so: it is what protects tables with few rows.
`False` refines whatever it costs.""",
        ),
        "time_limit": (
            "float or None",
            """\
Seconds after which nothing more is refined: the tree is shrunk to the leaves that are wanted with
what has been reached. How far that is depends on the machine; `timed_out_` says whether it
happened. Growing is not cut short. `None` sets no limit.""",
        ),
        "verbose": (
            "int",
            """\
1 prints a sentence for each stage: what was tried on held-out rows, what is grown and refined.""",
        ),
    },
)
class RefinedTreeRegressor(TrainedTreesRegressor):
    """Oblique regression tree whose splits are refined together, by gradients.

    A tree is grown greedily to twice the leaves that are wanted. Then its gates become soft, and
    all of its hyperplanes and leaves move together, down the gradient of one loss; the gates
    become harder until the tree is an ordinary one again. It is shrunk in four steps by subtree
    raising and refined after each, and then grows and shrinks once more. How many leaves there
    are, what they say, and whether a greedy or an axis-parallel tree serves better is decided on
    held-out rows: no parameter is needed for a good result.

    [parameters]

    [attributes]

    See Also
    --------
    ObliqueTreeRegressor : Greedy oblique trees.
    CartRegressor : Splits along single features only.
    RefinedTreeClassifier : The same for classes.

    Notes
    -----
    The parts are old: hierarchical mixtures of experts, whose experts are fitted by least squares
    [1]_, model trees [2]_, subtree raising [3]_. Growing too large and shrinking with refinement
    in between is ours. The loss is that of a mixture, ``-log(sum_l r_l exp(-(y - f_l)^2 / 2 s^2)
    + 0.05)``, where `r_l` is the share of a row in leaf `l`: a row far from all that leaves say
    costs no more than a constant, so outliers of y do little harm.

    Takes qualitative features and missing values. Several outputs: leaves say constants.

    The same seed gives the same tree, whatever the order of the rows and the number of threads,
    unless `time_limit` ends it.

    References
    ----------
    .. [1] M. I. Jordan, R. A. Jacobs (1994). Hierarchical mixtures of experts and the EM
       algorithm. *Neural Computation* 6, 181-214.
    .. [2] J. R. Quinlan (1992). Learning with continuous classes. *Proceedings of the 5th
       Australian Joint Conference on Artificial Intelligence*, 343-348.
    .. [3] J. R. Quinlan (1993). *C4.5: Programs for Machine Learning*. Morgan Kaufmann.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import train_test_split
    >>> from obliqua import CartRegressor, RefinedTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> axis_parallel = CartRegressor(random_state=0).fit(X, y)
    >>> refined = RefinedTreeRegressor(random_state=0).fit(X, y)
    >>> bool(refined.score(X_new, y_new) > axis_parallel.score(X_new, y_new))
    True
    """

    _takes_odd = True
    _notes: ClassVar[dict[str, type]] = {
        **TrainedTreesRegressor._notes,
        **REFINING_NOTES,
        "leaf_penalty_": float,
        "leaf_smoothing_": float,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        **TABLE_CONSTRAINTS,
        **LEAF_CONSTRAINTS,
        **REFINING_CONSTRAINTS,
        "over": [Interval(Real, 1.0, None, closed="left")],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(RealNotInt, 0.0, 1.0, closed="neither"),
            None,
        ],
    }

    chosen_: str
    leaf_penalty_: float
    leaf_smoothing_: float
    loss_curve_: FloatArray
    cv_sizes_: Int64Array
    cv_scores_: FloatArray
    greedy_score_: float
    timed_out_: bool

    def __init__(
        self,
        *,
        leaf_model: str = "auto",
        max_leaf_nodes: int | None = None,
        leaf_penalty: float | None = None,
        leaf_smoothing: float | None = None,
        max_features_per_leaf: int | None = None,
        max_features_per_split: int | None = None,
        max_features_per_tree: int | None = None,
        max_depth: int | None = None,
        min_samples_leaf: float | None = None,
        over: float = 2,
        cycles: int = 1,
        compare_greedy: bool | str = "auto",
        quantiles: Sequence[float] | None = None,
        time_limit: float | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        fill: str = "side",
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.leaf_model = leaf_model
        self.max_leaf_nodes = max_leaf_nodes
        self.leaf_penalty = leaf_penalty
        self.leaf_smoothing = leaf_smoothing
        self.max_features_per_leaf = max_features_per_leaf
        self.max_features_per_split = max_features_per_split
        self.max_features_per_tree = max_features_per_tree
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.over = over
        self.cycles = cycles
        self.compare_greedy = compare_greedy
        self.quantiles = quantiles
        self.time_limit = time_limit
        self.categorical_features = categorical_features
        self.fill = fill
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Choose a kind and a size of tree, grow, refine and shrink it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The numbers to learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight 0 count as absent; a weight of 2 is the same as
            having the row twice. Negative weights are an error.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, tree = fit_refined(self, X, y, sample_weight)
        self._note_leaves(tree, problem)
        return self

    def _note_choice(self, choice: "NumberChoice") -> None:
        best = choice.best
        self.chosen_ = best.kind
        self.leaf_penalty_ = float("nan") if best.fit.penalty is None else best.fit.penalty
        self.leaf_smoothing_ = best.fit.smoothing
        self.cv_sizes_, self.cv_scores_ = choice.scores("refined", best.fit)
        self.greedy_score_ = max(
            (choice.r2(error) for tried, error in choice.tried.items() if tried.kind != "refined"),
            default=float("nan"),
        )

    # --- the stages ------------------------------------------------------------------------

    def _least_rows(self, problem: Problem, lines: bool) -> float:
        """Return the fewest rows of a leaf, by weight."""
        if self.min_samples_leaf is None:
            return LEAST_LINE_ROWS if lines else LEAST_ROWS
        counted = problem.total_weight * problem.row_unit  # a weight of 2 is a repeated row
        return float(number_of_rows(self.min_samples_leaf, round(counted)))

    def _rules(self, problem: Problem, n_leaves: int, depth: int, lines: bool) -> Any:
        """Return the limits of growth; `depth`: of the node where it starts."""
        from obliqua.engine.rules import Rules

        limit = None if self.max_depth is None else min(int(self.max_depth), problem.n_rows)
        rules = Rules(
            max_depth=None if limit is None else max(limit, depth),
            max_leaf_nodes=min(n_leaves, problem.n_rows),
            best_first=True,
        )
        if n_leaves == 1:
            return replace(rules, max_depth=0, max_leaf_nodes=None)
        return with_least_weight(rules, problem, self._least_rows(problem, lines))

    def _proposals(self, oblique: bool, fit: "LeafFit") -> Any:
        """Return where greedy trees look for splits."""
        from obliqua.engine.proposals import AXIS, Proposals
        from obliqua.methods.slopes import ModelSlopes, Slopes

        if fit.penalty is None and not oblique:
            return AXIS
        method = Slopes()
        if fit.penalty is not None:
            method = ModelSlopes(penalty=fit.penalty, oblique=oblique)
        return Proposals(method, max_features=self.max_features_per_split, scale="standard")

    def _grower(self, key: int, oblique: bool, fit: "LeafFit") -> "Grower":
        """Return what grows greedy trees, with what their leaves say."""
        from obliqua.engine.grow import grow
        from obliqua.engine.linear_leaves import with_leaves

        proposals, n_threads = self._proposals(oblique, fit), thread_count(self.n_jobs)

        def grown(problem: Problem, n_leaves: int, depth: int) -> "Tree":
            rules = self._rules(problem, n_leaves, depth, fit.linear)
            tree = grow(
                problem,
                proposals,
                "squared_error",
                rules,
                n_threads=n_threads,
                key=key,
                depth=depth,
            )
            return with_leaves(tree, problem, fit)

        return grown

    def _bounds(self, problem: Problem) -> "dict[LeafFit, int]":
        """Return the most leaves for each way of fitting them that is tried."""
        most = self.max_leaf_nodes
        return {
            fit: int(most or (MOST_LINES if fit.linear else MOST_LEAVES))
            for fit in leaf_fits(self, problem, CONSTANT_SMOOTHINGS)
        }

    def _recipe(self, problem: Problem, fit: "LeafFit") -> Any:
        from obliqua.refine import Recipe, Schedule

        over, most = float(self.over), self.max_features_per_split
        steps = (*(step for step in (3.0, 2.0) if step < over), 1.6, 1.3, 1.15, 1.0)
        return Recipe(
            start=over,
            steps=steps,
            schedule=Schedule(visits=VISITS, least_passes=30.0),
            between=Schedule(visits=VISITS, least_passes=15.0, sharpness=(4.0, 8.0)),
            max_features=None if most is None else int(most),
            cycles=int(self.cycles),
            blind=inf,
            leaves=fit,
            min_samples_leaf=self._least_rows(problem, fit.linear),
        )

    def _plain(self, problem: Problem, key: int) -> Any:
        """Return what a tree of all features is grown and refined with, to choose few of them.

        Its leaves say constants: what linear functions say, splits need not say.
        """
        from obliqua.engine.linear_leaves import LeafFit

        return self._grower(key, True, LeafFit()), self._recipe(problem, LeafFit())

    def _chosen_size(self, choice: "NumberChoice") -> int:
        return choice.best.n_leaves

    def _choose(self, problem: Problem, key: int, watch: "Watch") -> "NumberChoice":
        """Choose the kind and the size of the tree, and what leaves say, on held-out rows."""
        from obliqua.refine.number_choice import choose_numbers

        return choose_numbers(
            problem,
            lambda oblique, fit: self._grower(key, oblique, fit),
            self._bounds(problem),
            lambda fit: self._recipe(problem, fit),
            bool(self.compare_greedy),
            key,
            thread_count(self.n_jobs),
            watch,
        )

    def _tree(self, problem: Problem, choice: "NumberChoice", key: int, watch: "Watch") -> "Tree":
        """Return the tree that was chosen, with the spread of its features."""
        from obliqua.engine.linear_leaves import with_gains, with_sides
        from obliqua.refine import refined_tree
        from obliqua.tree.spread import measure_spread

        best, n_threads = choice.best, thread_count(self.n_jobs)
        grower = self._grower(key, best.oblique, best.fit)
        if best.kind == "refined":
            # Splits of few features depend on luck most: several trees are always made of them.
            few = (self.max_features_per_split or problem.n_features) < problem.n_features
            enough = 0.0 if few else choice.enough(problem)
            recipe = replace(self._recipe(problem, best.fit), enough=enough)
            tree = refined_tree(problem, grower, best.n_leaves, recipe, key, n_threads, watch)
        else:
            tree = grower(problem, best.n_leaves, 0)
        tree = with_sides(with_gains(tree, best.fit.smoothing), problem)
        return measure_spread(tree, problem.Z, problem.weights, n_threads)

    def _check_notes(self) -> None:
        """Check what a file has said of a fit beside the model."""
        super()._check_notes()
        check_refining_notes(self, ("refined", "greedy", "axis-parallel"))
