"""Refined trees: the most accurate single tree for a given number of leaves."""

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from obliqua._sklearn_compat import Interval, StrOptions, fit_context
from obliqua._typing import FloatArray
from obliqua.data.problem import Problem
from obliqua.data.threads import thread_count
from obliqua.errors import NothingLearntWarning
from obliqua.estimators._docs import document
from obliqua.estimators._input import TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._refining import (
    REFINING_CONSTRAINTS,
    REFINING_NOTES,
    check_refining_notes,
    fit_refined,
)
from obliqua.estimators._training import (
    TRAINING_CONSTRAINTS,
    Priors,
    SeedLike,
    TrainedTreesClassifier,
)

if TYPE_CHECKING:
    from obliqua.refine import Watch
    from obliqua.refine.choice import SizeChoice
    from obliqua.tree.tree import Tree


@document(
    {
        "chosen_": (
            "{'refined', 'greedy', 'axis-parallel'}",
            """\
Which tree was kept: the refined one, or a greedy one, pruned by cross-validation, if that was
better on rows that were held out; 'greedy' has oblique splits.""",
        ),
        "loss_curve_": (
            "ndarray of shape (n_passes,)",
            """\
The mean loss of the rows in each pass over them, all stages one after another: -log(v + 0.2),
which is below 0 where the share v of the right class is above 0.8. It jumps where the tree was
made smaller, and where the gates became soft again.""",
        ),
        "cv_sizes_": (
            "ndarray of shape (n_sizes,)",
            """\
The numbers of leaves that were tried on held-out rows; empty if none were.""",
        ),
        "cv_scores_": (
            "ndarray of shape (n_sizes,)",
            """\
The accuracy of trees of these sizes on held-out rows. They come from one tree for each division,
which was refined, with fewer passes than at last, and shrunk from size to size. Where several
decays were tried, it is that of the best one.""",
        ),
        "greedy_score_": (
            "float",
            """\
The same of the better greedy tree; NaN if none was tried.""",
        ),
        "timed_out_": ("bool", "Whether `time_limit` cut the refinement short."),
    },
    max_leaf_nodes=(
        "int or None",
        """\
The most leaves. Splits that save no training error are left out, so there may be fewer. `None`
chooses a number on held-out rows: five folds, three of five where rows are many (as
`compare_greedy` says), or one division if there are more than 20,000. Where rows are few, so is
chosen how much hyperplanes are drawn to 0, also with a given number if the greedy tree is
compared.""",
    ),
    cycles=(
        "int",
        """\
How often the tree grows by half once more, is refined and is shrunk again, and is kept if it has
fewer training errors. Where greedy growth finds little, subtrees begin anew with hyperplanes at
random instead, three in a cycle. 6 is a good number where the last per cent matters; each costs
about two thirds of a fit without cycles.""",
    ),
    max_features_per_split=(
        "int or None",
        """\
The most features that a split may use. While the tree shrinks its splits are left fewer and fewer
features, those of largest `|coefficient| * standard deviation in the node`, and the others are
refined to make up for it. Beside that, a tree is refined whose splits keep the features that they
were grown with; the one of the two with fewer training errors is kept. `None` sets no limit.""",
    ),
    max_features_per_tree=(
        "int or None",
        """\
The most features that the whole tree may use, whatever a feature is used for. A tree that may use
all of them is refined and shrunk to so many; then the tree is made from these alone, with all
other limits. `None` sets no limit.""",
    ),
    max_depth=(
        "int or None",
        """\
The largest depth. With a limit, splits are grown that halve the classes rather than peel off one
of them, so that more leaves have room. `None` sets no limit; refined trees are often deep and
lopsided then, because a leaf may hang wherever it is useful.""",
    ),
    compare_greedy=(
        "'auto' or bool",
        """\
Whether the pruned greedy tree is tried beside the refined one on held-out rows, and kept if it is
better, then pruned by cross-validation to the smallest tree within half a standard error of the
best, or within `n_se`; of equals the refined one is kept. 'auto' does so wherever the number of
leaves is chosen, as it costs little beside that; with a given number if rows are few: fewer than
3,000, or fewer than 100 for each feature, where each level of a qualitative feature counts as one.
Where rows are few, but ten or more for each feature, a greedy tree of splits along single features
is tried, too.""",
    ),
    n_folds=(
        "'auto' or int",
        """\
Into how many parts rows are divided to choose on held-out ones; with a number, each is held out
once. 'auto' is what `max_leaf_nodes` says. Rows with equal features stay together.""",
    ),
    n_se=(
        "float",
        """\
The number of leaves is the fewest whose refined trees are wrong no more often than the best by
so many standard errors of the difference, row by row; 1 gives smaller trees, and 0 the best.
Whether a greedy tree is kept does not depend on it.""",
    ),
    probabilities=(
        "{'frequencies', 'smoothed', 'calibrated'}",
        """\
What leaves say of the classes. 'frequencies': the shares of their training rows. 'smoothed':
these, drawn to the shares of the nodes above, each as if it had one more row of them.
'calibrated': the same with a strength that is chosen by log loss on held-out rows, for which five
more trees are refined.""",
    ),
    time_limit=(
        "float or None",
        """\
Seconds after which nothing more is refined: the tree is shrunk to the leaves that are wanted with
what has been reached. How far that is depends on the machine; `timed_out_` says whether it
happened. Growing is not cut short. `None` sets no limit.""",
    ),
    verbose=(
        "int",
        """\
1 prints a sentence for each stage: what was tried on held-out rows, what is grown and refined.""",
    ),
)
class RefinedTreeClassifier(TrainedTreesClassifier):
    """Oblique classification tree whose splits are refined together, by gradients.

    A tree is grown greedily to twice the leaves that are wanted. Then its gates become soft, and
    all of its hyperplanes and leaves move together, down the gradient of one loss; the gates
    become harder until the tree is an ordinary one again. It is shrunk in four steps by subtree
    raising and refined after each. Where greedy growth finds little, a tree that begins with
    hyperplanes at random competes. No parameter is needed for a good result.

    [parameters]

    [attributes]

    See Also
    --------
    HHCartClassifier : Greedy oblique trees; ``refine=True`` refines them as they are grown.
    CartClassifier : Splits along single features only.

    Warns
    -----
    NothingLearntWarning
        If the tree has one leaf, though there are several classes.

    Notes
    -----
    The parts are old: hierarchical mixtures of experts [1]_, fuzzy refinement of a grown tree
    [2]_, subtree raising [3]_. Growing too large and shrinking with refinement in between is ours.

    Takes qualitative features and missing values. The number of each level at each split, and what
    stands in for a missing value there, are refined like the coefficients.

    The same seed gives the same tree, whatever the order of the rows and the number of threads,
    unless `time_limit` ends it.

    References
    ----------
    .. [1] M. I. Jordan, R. A. Jacobs (1994). Hierarchical mixtures of experts and the EM
       algorithm. *Neural Computation* 6, 181-214.
    .. [2] A. Suarez, J. F. Lutsko (1999). Globally optimal fuzzy decision trees for classification
       and regression. *IEEE Transactions on Pattern Analysis and Machine Intelligence* 21,
       1297-1311.
    .. [3] J. R. Quinlan (1993). *C4.5: Programs for Machine Learning*. Morgan Kaufmann.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.model_selection import train_test_split
    >>> from obliqua import HHCartClassifier, RefinedTreeClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y, random_state=0)
    >>> greedy = HHCartClassifier(max_leaf_nodes=12, extra_directions="fisher", variant="dominant")
    >>> refined = RefinedTreeClassifier(max_leaf_nodes=12, random_state=0)
    >>> bool(refined.fit(X, y).score(X_new, y_new) > greedy.fit(X, y).score(X_new, y_new))
    True
    """

    _takes_odd = True
    _notes: ClassVar[dict[str, type]] = REFINING_NOTES
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TRAINING_CONSTRAINTS,
        **TABLE_CONSTRAINTS,
        **REFINING_CONSTRAINTS,
        "n_folds": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "n_se": [Interval(Real, 0.0, None, closed="left")],
        "probabilities": [StrOptions({"frequencies", "smoothed", "calibrated"})],
    }

    chosen_: str
    loss_curve_: FloatArray
    timed_out_: bool

    def __init__(
        self,
        *,
        max_leaf_nodes: int | None = None,
        cycles: int = 0,
        max_features_per_split: int | None = None,
        max_features_per_tree: int | None = None,
        max_depth: int | None = None,
        compare_greedy: bool | str = "auto",
        n_folds: int | str = "auto",
        n_se: float = 0.0,
        probabilities: str = "frequencies",
        time_limit: float | None = None,
        class_weight: dict[object, float] | str | None = None,
        priors: Priors = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        fill: str = "side",
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_leaf_nodes = max_leaf_nodes
        self.cycles = cycles
        self.max_features_per_split = max_features_per_split
        self.max_features_per_tree = max_features_per_tree
        self.max_depth = max_depth
        self.compare_greedy = compare_greedy
        self.n_folds = n_folds
        self.n_se = n_se
        self.probabilities = probabilities
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.priors = priors
        self.categorical_features = categorical_features
        self.fill = fill
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow, refine and shrink the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame.
        y : array-like of shape (n_samples,)
            The class labels: integers, strings or bools.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight 0 count as absent; a weight of 2 is the same as
            having the row twice. Negative weights are an error.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, tree = fit_refined(self, X, y, sample_weight)
        if tree.n_leaves == 1 and np.count_nonzero(problem.counts) > 1:
            warnings.warn(self._nothing_learnt(problem), NothingLearntWarning, stacklevel=3)
        return self

    def _nothing_learnt(self, problem: Problem) -> str:
        """Say that the tree is one leaf, and what may help."""
        share = float(problem.counts.max() / problem.counts.sum())
        why = "No split was better on held-out rows"
        if not len(self.cv_sizes_):
            why = "No split saves a training error"
        return (
            f"The tree has one leaf: it says {self.classes_[problem.counts.argmax()]!s} of every "
            f"row, the class of {100 * share:.4g} % of the rows by weight. {why}. If the features "
            "tell more than that, try class_weight='balanced', or a number for max_leaf_nodes."
        )

    def _note_choice(self, choice: "SizeChoice") -> None:
        self.chosen_ = choice.kind
        self.cv_sizes_, self.cv_scores_ = choice.sizes, choice.scores
        self.greedy_score_ = choice.greedy_score

    # --- the stages ------------------------------------------------------------------------

    def _rules(self, problem: Problem, n_leaves: int | None, depth: int = 0) -> Any:
        """Return the limits of growth; `depth`: of the node where it starts."""
        from obliqua.engine.rules import Rules

        limit = None if self.max_depth is None else min(int(self.max_depth), problem.n_rows)
        most = None if n_leaves is None else min(n_leaves, problem.n_rows)
        return Rules(
            max_depth=None if limit is None else max(limit, depth),
            max_leaf_nodes=most,
            best_first=n_leaves is not None,
        )

    def _grower(self, key: int, n_threads: int, oblique: bool = True) -> Any:
        """Return what grows the trees that are refined, or trees of splits along features."""
        from obliqua.engine.grow import grow
        from obliqua.engine.proposals import Proposals
        from obliqua.methods.discriminants import Discriminants

        proposals = None
        if oblique:
            proposals = Proposals(
                Discriminants(), max_features=self.max_features_per_split, scale="standard"
            )

        def grown(problem: Problem, n_leaves: int | None, depth: int = 0) -> "Tree":
            if n_leaves == 1:
                limit = replace(self._rules(problem, None), max_depth=0)
                return grow(problem, rules=limit)
            rules = self._rules(problem, n_leaves, depth)
            # Gini's criterion is as fond of a split that peels off one class of many as of one
            # that halves them, which makes more of a limited depth. Of two classes both are one.
            criterion = "gini" if self.max_depth is None else "twoing"
            return grow(
                problem, proposals, criterion, rules, n_threads=n_threads, key=key, depth=depth
            )

        return grown

    def _greedy(self, problem: Problem, kind: str, key: int) -> "Tree":
        """Return a greedy tree that is compared with, pruned by cross-validation."""
        from obliqua.prune import prune_by_folds
        from obliqua.refine.choice import EQUAL_WITHIN

        most = None if self.max_leaf_nodes is None else int(self.max_leaf_nodes)
        grower = self._grower(key, thread_count(self.n_jobs), kind == "greedy")

        def grow(part: Problem) -> "Tree":
            return grower(part, most)

        n_se = max(float(self.n_se), EQUAL_WITHIN)
        return prune_by_folds(problem, grow, n_se=n_se, prune_root=True, seed=key, together=True)

    def _asked_folds(self) -> int | None:
        return None if self.n_folds == "auto" else int(self.n_folds)

    def _recipe(self, cycles: int = 0) -> Any:
        from obliqua.refine import Recipe

        most, depth = self.max_features_per_split, self.max_depth
        return Recipe(
            max_features=None if most is None else int(most),
            max_depth=None if depth is None else int(depth),
            cycles=cycles,
        )

    def _plain(self, problem: Problem, key: int) -> Any:
        """Return what a tree of all features is grown and refined with, to choose few of them."""
        return self._grower(key, thread_count(self.n_jobs)), self._recipe()

    def _chosen_size(self, choice: "SizeChoice") -> int:
        return choice.n_leaves

    def _choose(self, problem: Problem, key: int, watch: "Watch") -> "SizeChoice":
        """Choose the number of leaves and between refined and greedy, on held-out rows."""
        from obliqua.refine.choice import choose, is_small, may_be_axis_parallel

        n_threads = thread_count(self.n_jobs)
        most = self.max_leaf_nodes
        compared = self.compare_greedy
        if compared == "auto":
            compared = most is None or is_small(problem)
        rivals = {}
        if compared:
            rivals["greedy"] = self._grower(key, n_threads)
            if may_be_axis_parallel(problem):
                rivals["axis-parallel"] = self._grower(key, n_threads, oblique=False)
        return choose(
            problem,
            self._grower(key, n_threads),
            rivals,
            None if most is None else min(int(most), max(problem.n_rows, 2)),
            None if self.max_depth is None else int(self.max_depth),
            self._recipe(),
            key,
            n_threads,
            watch,
            self._asked_folds(),
            float(self.n_se),
        )

    def _grown(self, problem: Problem, choice: "SizeChoice", key: int, watch: "Watch") -> "Tree":
        """Return the tree that was chosen, with the spread of its features."""
        from obliqua.tree.spread import measure_spread

        tree = (
            self._refined(problem, choice, key, watch)
            if choice.kind == "refined"
            else self._greedy(problem, choice.kind, key)
        )
        return measure_spread(tree, problem.Z, problem.weights, thread_count(self.n_jobs))

    def _refined(self, problem: Problem, choice: "SizeChoice", key: int, watch: "Watch") -> "Tree":
        """Return the refined tree, or another one with fewer training errors if it disappoints."""
        from obliqua.refine import refined_tree
        from obliqua.refine.choice import is_small, training_error

        n_threads = thread_count(self.n_jobs)
        grower, recipe = self._grower(key, n_threads), self._recipe(int(self.cycles))

        def made(n_leaves: int, decay: float | None) -> "Tree":
            decayed = recipe.with_decay(decay)
            return refined_tree(problem, grower, n_leaves, decayed, key, n_threads, watch)

        n_leaves, decay = choice.n_leaves, choice.decay
        tree = made(n_leaves, decay)
        error = training_error(tree)
        if decay != choice.usual and error > choice.error:
            again = "It errs more on its own rows than the trials on others. Once more, as usual."
            decay = choice.usual
        elif self._is_wasteful(tree, n_leaves) and error > 0.0 and not is_small(problem):
            again = "Most of its leaves have saved no error. Once more, with no more than it has."
            n_leaves = tree.n_leaves
        else:
            return tree
        if watch.is_up:
            return tree
        watch.say(again)
        curve = watch.curve.copy()
        watch.curve.clear()
        other = made(n_leaves, decay)
        if training_error(other) < error:
            return other
        watch.curve[:] = curve
        return tree

    def _is_wasteful(self, tree: "Tree", n_leaves: int) -> bool:
        """Say whether a tree has at most half of its leaves: the others named what these name."""
        if self.max_depth is not None:
            n_leaves = min(n_leaves, 2 ** min(int(self.max_depth), 30))
        return 1 < tree.n_leaves <= n_leaves // 2

    def _tree(self, problem: Problem, choice: "SizeChoice", key: int, watch: "Watch") -> "Tree":
        """Return the tree that was chosen, with what its leaves are to say of the classes."""
        tree = self._grown(problem, choice, key, watch)
        if self.probabilities == "frequencies":
            return tree
        from obliqua.refine.choice import smoothed

        strength = 1.0
        if self.probabilities == "calibrated" and not watch.is_up:
            strength = self._strength(problem, choice, key, watch)
        return smoothed(tree, strength, problem.row_unit / problem.unit)

    def _strength(self, problem: Problem, choice: "SizeChoice", key: int, watch: "Watch") -> float:
        """Choose how much leaves are drawn to the nodes above: by log loss on held-out rows."""
        from obliqua.refine import Watch
        from obliqua.refine.choice import best_strength, divisions

        def grown(part: Problem) -> "Tree":
            trial = Watch()  # its loss is nobody's business, but it must mind the clock
            trial.end = watch.end
            return self._grown(part, choice, key, trial)

        parts = divisions(problem, key, self._asked_folds())
        return best_strength(grown, parts, problem.row_unit / problem.unit)

    def _check_notes(self) -> None:
        """Check what a file has said of a fit beside the model."""
        check_refining_notes(self, ("refined", "greedy", "axis-parallel"))
