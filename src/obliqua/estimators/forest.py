"""Oblique forests: many trees, each from a sample of the rows, whose nodes draw where to look."""

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from obliqua._sklearn_compat import HasMethods, Interval, RealNotInt, StrOptions, fit_context
from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.data.problem import Problem
from obliqua.data.target import Classes, Numbers
from obliqua.data.threads import thread_count
from obliqua.estimators._docs import NUMBER_ATTRIBUTES, document
from obliqua.estimators._forest_elsewhere import fit_forest_elsewhere
from obliqua.estimators._forest_questions import ForestQuestions, NumberQuestions
from obliqua.estimators._in_passes import is_read_in_passes
from obliqua.estimators._input import (
    MAX_FEATURES,
    MEMORY_CONSTRAINTS,
    TABLE_CONSTRAINTS,
    CategoricalFeatures,
    MaxFeatures,
    number_of_features,
    number_of_rows,
)
from obliqua.estimators._training import (
    SHARED_CONSTRAINTS,
    Seeded,
    SeedLike,
    TrainedTreesClassifier,
    TrainedTreesRegressor,
)
from obliqua.estimators._warnings import warn
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.tree.model import Model
from obliqua.tree.packed import PackedTrees

if TYPE_CHECKING:
    from obliqua.forest import ForestRules, Sampling

#: With more classes a node compares one direction more.
MANY_CLASSES = 8
#: The most rows that are drawn for a tree: as many as a tree can count.
MOST_DRAWN = 2**31 - 1

_OF_TREES = (
    "max_depth", "max_leaf_nodes", "min_samples_split", "min_samples_leaf",
    "min_weight_fraction_leaf", "min_impurity_decrease",
)  # fmt: skip
_LIMITS: dict[str, list[Any]] = {
    **{name: BaseTreeClassifier._parameter_constraints[name] for name in _OF_TREES},
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "max_features": [Interval(Integral, 0, None, closed="left"), *MAX_FEATURES[1:]],
    "n_oblique": [Interval(Integral, 0, None, closed="left"), None],
    "max_terms": [Interval(Integral, 2, None, closed="left"), None],
    "directions": [callable, HasMethods("propose"), HasMethods("finder"), None],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left")],
    "bootstrap": ["boolean"],
    "max_samples": [
        Interval(Integral, 1, None, closed="left"),
        Interval(RealNotInt, 0.0, 1.0, closed="right"),
        None,
    ],
    "oob_score": ["boolean", callable],
    "warm_start": ["boolean"],
    "time_limit": [Interval(Real, 0.0, None, closed="left"), None],
    "verbose": ["verbose"],
    "categorical_features": TABLE_CONSTRAINTS["categorical_features"],
    **MEMORY_CONSTRAINTS,
    **SHARED_CONSTRAINTS,
}

_PARAMETERS: dict[str, tuple[str, str]] = {
    "n_estimators": (
        "int",
        "The number of trees. A forest with fewer has the first ones of a forest with more.",
    ),
    "max_features": (
        "int, float, 'sqrt', 'log2' or None",
        """\
The number of features that each node compares as axis-parallel splits, drawn anew: a number, a
share of all, their root or logarithm; `None` compares all. More are drawn while none of them can
be split. 0 compares directions only.""",
    ),
    "n_oblique": (
        "int or None",
        """\
The number of directions that each node compares beside them. `None` is 2, and 3 with more than
eight classes. 0 makes it a random forest; 1 is quicker than 2, and nearly as accurate.""",
    ),
    "max_terms": (
        "int or None",
        """\
The most features of a direction; how many it has is drawn, from 2 on. `None` is
`2 * ceil(log2(n_features) + 1)`.""",
    ),
    "directions": (
        "callable, object with a method `propose`, or None",
        """\
Where directions come from. `None` fits them as is said above. A proposer, as in
:class:`ObliqueTreeClassifier`, is asked `n_oblique` times in a node, each time about other
features, 2 to `max_terms` of them, divided by their standard deviations; the direction of the best
split that it finds is compared with the others. :class:`obliqua.methods.hhcart.Householder`,
:class:`obliqua.methods.geometric.AngleBisector`, which is HHCART(G), and other methods of the
library may stand here, for numbers :class:`obliqua.methods.slopes.Slopes`; searches over
parameters set theirs as `directions__tau`. Trees do not keep what a proposer calls its directions.
It takes Python in each node, about a millisecond.""",
    ),
    "max_depth": ("int or None", "The largest depth of a tree. `None` sets no limit."),
    "max_leaf_nodes": (
        "int or None",
        """\
The most leaves of a tree; the node with the largest gain is split first. `None` sets no
limit.""",
    ),
    "min_samples_split": (
        "int or float",
        """\
The fewest rows of a node that is split, among those that were drawn for the tree, each counted
once; a float is a share of all rows.""",
    ),
    "min_samples_leaf": (
        "int or float",
        "The fewest rows of each side of a split, counted in the same way.",
    ),
    "min_weight_fraction_leaf": (
        "float",
        "The smallest share of the weight of a tree's rows that each side of a split must hold.",
    ),
    "min_impurity_decrease": (
        "float",
        "A node is split only if its gain is at least this, counted over all rows of the tree.",
    ),
    "bootstrap": (
        "bool",
        """\
Whether each tree is grown from rows that are drawn with replacement. If not, from all rows: better
where classes hardly overlap, worse where there is noise.""",
    ),
    "max_samples": (
        "int, float or None",
        """\
How many rows are drawn for a tree, on average: a number, or a share of all; `None` is as many as
there are. If all weights are whole numbers up to 64, a row counts as so many. Without
`bootstrap`, the share of rows that each tree is grown from.""",
    ),
    "oob_score": (
        "bool or callable",
        """\
Whether the forest is scored by the rows that trees were grown without. A function is called with
the truth and what the forest says, as scikit-learn's metrics are.""",
    ),
    "ccp_alpha": (
        "float",
        """\
The price of a leaf, by which each tree is cut back: see `CartClassifier` and `CartRegressor`. 0
prunes nothing.""",
    ),
    "warm_start": (
        "bool",
        """\
Whether `fit` adds trees to those that are there, up to `n_estimators`: the same trees as if all
had been grown at once. The rows must be the same ones.""",
    ),
    "time_limit": (
        "float or None",
        """\
Seconds after which no further tree is begun: the forest has the first ones, at least one.
`timed_out_` says whether it happened. `None` sets no limit.""",
    ),
    "n_jobs": (
        "int or None",
        """\
The number of threads, each of which grows a tree at a time: `None` means 1 unless a
`joblib.parallel_config` context says otherwise, -1 all cores. It never changes a result.""",
    ),
    "random_state": (
        "int, RandomState instance or None",
        "The seed of all that is random. The same seed gives the same forest.",
    ),
    "memory_limit": (
        "int, str or None",
        """\
What `fit` may take of memory, above what imports take, where X tells of a table in files: a number
of bytes, or a text such as '2GB'. Of a larger table the rows that trees draw, `max_samples` of
them, are fetched in passes, and give the same forest. `None` stands for 512 MiB, however much
there is. Of no use where X is in memory.""",
    ),
    "verbose": ("int", "1 prints how many trees there are, ten times; 2 says so after each tree."),
}

_ATTRIBUTES: dict[str, tuple[str, str]] = {
    "model_": (
        "Model",
        """\
The trees, in `model_.trees`, of which one is made when it is asked for, and the encoding of the
columns.""",
    ),
    "estimators_": (
        "sequence",
        """\
The trees as estimators, each made when it is asked for: `estimators_[0].tree_` can be read, drawn
and exported as any other.""",
    ),
    "oob_score_": (
        "float",
        """\
The score of what trees say of rows that they were grown without. Only there with
`oob_score`.""",
    ),
    "timed_out_": ("bool", "Whether `time_limit` ended the growth before all trees were there."),
    "feature_importances_": (
        "ndarray of shape (`n_features_in_`,)",
        """\
The share of each feature in the gain of all splits, of each tree alike. It favours features with
many values, and knows only the rows that trees were grown from: `oob_importances`, or
`sklearn.inspection.permutation_importance` on other rows, tells more.""",
    ),
}


class _TreesAsEstimators(Sequence[Any]):
    """The trees of a forest as fitted estimators, each made when it is asked for."""

    def __init__(self, model: Model, names: AnyArray | None) -> None:
        self.model, self.names = model, names

    def __len__(self) -> int:
        return len(self.model.trees)

    @overload
    def __getitem__(self, number: int) -> Any: ...

    @overload
    def __getitem__(self, number: slice) -> list[Any]: ...

    def __getitem__(self, number: int | slice) -> Any:
        from obliqua.estimators.oblique import ObliqueTreeClassifier, ObliqueTreeRegressor

        if isinstance(number, slice):
            return [self[k] for k in range(*number.indices(len(self)))]
        number = index(number)
        kind = ObliqueTreeClassifier if self.model.n_classes else ObliqueTreeRegressor
        member = kind(pruning=None)
        tree = self.model.trees[number]
        one = Model((tree,), "single", self.model.encoding, self.model.classes)
        member._hold(one, self.names)
        return member

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        return f"<{len(self)} trees, each made when it is asked for>"


class _Forest(Seeded, ForestQuestions):
    """What both forests share: sampling, growing, adding trees, and rows out of bag."""

    _several = True
    _takes_odd = True

    n_estimators: int
    criterion: str
    max_features: MaxFeatures
    n_oblique: int | None
    max_terms: int | None
    directions: Any
    max_depth: int | None
    max_leaf_nodes: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    min_impurity_decrease: float
    bootstrap: bool
    max_samples: float | None
    oob_score: bool | Callable[..., float]
    ccp_alpha: float
    warm_start: bool
    time_limit: float | None
    verbose: int
    n_jobs: int | None
    memory_limit: int | str | None
    class_weight: dict[object, float] | str | None = None
    keep_rows: bool = False
    timed_out_: bool
    model_: Model
    # of the two forests: the score of what is said out of bag, and under which names it is kept
    _oob_scored: Callable[[Model, AnyArray, FloatArray, BoolArray], float]
    _oob_notes: Callable[[FloatArray, AnyArray, FloatArray, BoolArray], dict[str, Any]]

    @property
    def estimators_(self) -> Sequence[Any]:
        """The trees as estimators, each made when it is asked for."""
        check_is_fitted(self)
        return _TreesAsEstimators(self.model_, getattr(self, "feature_names_in_", None))

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, number: int) -> Any:
        return self.estimators_[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.estimators_)

    def _why_dense(self) -> str | None:
        return None

    def _shaped(self, problem: Problem, classes: AnyArray) -> Problem:
        """Return a problem with what only this estimator's parameters say of it."""
        return problem

    # --- what parameters mean ----------------------------------------------------------------

    def _validate_params(self) -> None:
        super()._validate_params()
        from obliqua.engine.proposals import check_instance

        check_instance("directions", self.directions)
        if self.directions is not None and self.n_oblique == 0:
            raise ValueError(
                "With n_oblique=0 nodes compare no directions, so nobody would ask for those of "
                "directions. Leave one of the two out."
            )

    def _n_oblique(self, n_classes: int) -> int:
        """Return how many directions a node compares."""
        if self.n_oblique is None:
            # A direction parts two classes, and of many there are many pairs.
            return 3 if n_classes > MANY_CLASSES else 2
        return int(self.n_oblique)

    def _rules(self, problem: Problem, n_rows: int) -> "ForestRules":
        from obliqua.forest.growing import ForestRules, most_terms

        p = problem.n_features
        most = most_terms(p) if self.max_terms is None else min(int(self.max_terms), p)
        criterion = {"log_loss": "entropy", "friedman_mse": "squared_error"}.get(
            self.criterion, self.criterion
        )
        n_classes = problem.n_classes if isinstance(problem.target, Classes) else 0
        return ForestRules(
            criterion=criterion,
            n_classes=n_classes,
            n_axis=number_of_features(self.max_features, p),
            n_oblique=self._n_oblique(n_classes),
            most_terms=most,
            max_depth=-1 if self.max_depth is None else int(self.max_depth),
            min_split=max(number_of_rows(self.min_samples_split, n_rows), 2),
            min_leaf=number_of_rows(self.min_samples_leaf, n_rows),
            max_leaves=-1 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            min_leaf_share=float(self.min_weight_fraction_leaf),
            min_decrease=float(self.min_impurity_decrease),
        )

    def _sampling(self, problem: Problem, seed: int) -> "Sampling":
        from obliqua.forest import Sampling, forest_rows

        rows = forest_rows(problem)
        return Sampling(rows, seed, *self._drawing(rows.n_counted))

    def _drawing(self, n_rows: int) -> tuple[bool, float, bool]:
        """Return whether rows are put back, how many are drawn, and if classes are balanced."""
        size: float = 1.0
        if self.bootstrap:
            size = float(n_rows)
            if isinstance(self.max_samples, Integral):
                if self.max_samples > MOST_DRAWN:
                    raise ValueError(
                        f"max_samples must be at most {MOST_DRAWN} rows; got {self.max_samples}."
                    )
                size = float(self.max_samples)
            elif self.max_samples is not None:
                size = float(max(int(self.max_samples * n_rows), 1))
            _warn_of_small_samples(size, n_rows)
        elif self.max_samples is not None:
            whole = isinstance(self.max_samples, Integral)
            size = min(self.max_samples / n_rows if whole else float(self.max_samples), 1.0)
        return bool(self.bootstrap), size, self.class_weight == "balanced_subsample"

    # --- growing -----------------------------------------------------------------------------

    def _grow(
        self,
        outline: Problem,
        fingerprint: str,
        n_rows: int,
        classes: AnyArray,
        grown: "Callable[[ForestRules, int, int], PackedTrees]",
    ) -> PackedTrees:
        """Grow the trees that are wanted beyond those that are there; `n_rows`: as they count."""
        there = self._there(outline, fingerprint, classes)
        first, end = 0 if there is None else len(there), int(self.n_estimators)
        if there is not None and first >= end:
            if first > end:
                raise ValueError(
                    f"n_estimators={end} must not be less than the {first} trees that are there, "
                    "with warm_start=True. Set warm_start=False to begin anew."
                )
            warn(
                f"There are {first} trees already, as many as n_estimators asks for: with "
                "warm_start=True nothing is grown.",
            )
            return there
        trees = grown(self._rules(outline, n_rows), first, end)
        if self.ccp_alpha > 0:
            trees = _pruned(trees, float(self.ccp_alpha))
        return trees if there is None else there.joined_to(trees)

    def _grower(
        self, rules: "ForestRules", first: int, end: int, run: Any = None
    ) -> "Callable[[Sampling, int, int, float | None], PackedTrees]":
        """Return what grows some of the trees `first` to `end` - 1 from a sampling.

        `run`: who maps passes, if rows are elsewhere; trees grow there, if they can.
        """
        from obliqua.forest import grow_forest

        say = self._progress(first, end)

        def grow(sampling: "Sampling", begin: int, last: int, limit: float | None) -> PackedTrees:
            note = None if say is None else lambda n: say(begin - first + n)
            if run is not None and limit is None:
                from obliqua.sources.tree_tasks import grown_by_tasks

                found = grown_by_tasks(run, sampling, rules, begin, last, self.directions)
                if found is not None:
                    if note is not None:
                        note(last - begin)
                    return found
            n_threads = thread_count(self.n_jobs)
            return grow_forest(
                sampling, rules, begin, last, n_threads, limit, note, self.directions
            )

        return grow

    def _progress(self, first: int, end: int) -> Callable[[int], None] | None:
        if not self.verbose:
            return None
        step = 1 if self.verbose > 1 else max((end - first) // 10, 1)

        def note(n_grown: int) -> None:
            if n_grown % step == 0 or first + n_grown == end:
                print(f"Growing: {first + n_grown} of {end} trees.", flush=True)

        return note

    def _there(self, outline: Problem, fingerprint: str, classes: AnyArray) -> PackedTrees | None:
        """Return the trees to which others are added, if these are the same rows."""
        model = vars(self).get("model_")
        if not self.warm_start or model is None:
            return None
        if (
            vars(self).get("_fingerprint") != fingerprint
            or model.encoding != outline.encoding
            or not np.array_equal(model.classes, classes)
        ):
            raise ValueError(
                "With warm_start=True the rows, labels and weights must be those of the fit "
                "before, and bootstrap, max_samples and class_weight too: trees are added to "
                "what was grown from them. Got others. Fit with warm_start=False, or another "
                "estimator."
            )
        assert isinstance(model.trees, PackedTrees)
        return model.trees

    def _first_seed(self) -> int:
        """Return the seed of the forest: that of the trees that are there, if some are added."""
        if self.warm_start and "_seed" in vars(self) and "model_" in vars(self):
            return self._seed
        return self._key()

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        """Grow the forest, and hold it with all that is noted of it."""
        if is_read_in_passes(self, X) and fit_forest_elsewhere(self, X, y, sample_weight):
            return self
        seen, problem, classes = self._encoded(X, y, sample_weight)
        names = getattr(seen, "feature_names_in_", None)
        self._fit_to(problem, classes, names, lambda: _kept(self, problem, y, sample_weight))
        return self

    def _fit_to(
        self,
        problem: Problem,
        classes: AnyArray,
        names: AnyArray | None,
        kept: Callable[[], BoolArray],
        run: Any = None,
    ) -> None:
        """Fit to rows in memory; `kept`: which of those that were given they are."""
        seed = self._first_seed()
        sampling = self._sampling(problem, seed)
        self._check_oob(sampling)
        limit = None if self.time_limit is None else float(self.time_limit)

        def grown(rules: "ForestRules", first: int, end: int) -> PackedTrees:
            return self._grower(rules, first, end, run)(sampling, first, end, limit)

        mark = sampling.fingerprint
        trees = self._grow(problem, mark, sampling.rows.n_counted, classes, grown)
        model = Model(trees, "mean", problem.encoding, classes)
        notes: dict[str, Any] = {}
        if self.oob_score:
            notes |= self._out_of_bag(model, problem, sampling, kept())
        if self.keep_rows:
            from obliqua.forest import leaf_rows

            notes["_kept_rows"] = leaf_rows(trees, sampling, thread_count(self.n_jobs))
        self._keep_forest(model, names, seed, mark, notes)

    def _keep_forest(
        self, model: Model, names: AnyArray | None, seed: int, mark: str, notes: dict[str, Any]
    ) -> None:
        """Hold a forest with all that is noted of it."""
        notes = notes | {
            "timed_out_": len(model.trees) < int(self.n_estimators),
            "_seed": seed,
            "_fingerprint": mark,
        }
        self._hold(model, names)
        for name in (*self._notes, "_kept_rows"):
            self.__dict__.pop(name, None)
        self.__dict__.update(notes)

    def _check_oob(self, sampling: "Sampling") -> None:
        if self.oob_score and not sampling.replace and sampling.size >= 1.0:
            raise ValueError(
                "oob_score needs rows that trees were grown without, and with bootstrap=False "
                f"and max_samples={self.max_samples} each tree is grown from all of them. Set "
                "bootstrap=True, or max_samples below 1."
            )

    def _out_of_bag(
        self, model: Model, problem: Problem, sampling: "Sampling", kept: BoolArray
    ) -> dict[str, Any]:
        """Return what is noted of rows that trees were grown without."""
        from obliqua.forest import out_of_bag_sums

        trees = model.trees
        assert isinstance(trees, PackedTrees)
        sums, times = out_of_bag_sums(trees, sampling, thread_count(self.n_jobs))
        target = problem.target
        if isinstance(target, Classes):
            return self._noted_out_of_bag(model, target.codes, sums, times, kept)
        assert isinstance(target, Numbers)
        return self._noted_out_of_bag(model, target.values, sums, times, kept)

    def _noted_out_of_bag(
        self, model: Model, learnt: AnyArray, sums: FloatArray, times: AnyArray, kept: BoolArray
    ) -> dict[str, Any]:
        """Return what is noted of rows, from sums over the trees that were grown without them."""
        self._warn_of_rows_in_all_trees(len(times), int((times == 0).sum()))
        with np.errstate(invalid="ignore"):
            means = sums / times[:, None]
        said = np.full((len(kept), means.shape[1]), np.nan)
        said[kept] = means
        known = times > 0
        score = float("nan")
        if known.any():
            score = self._oob_scored(model, learnt, means, known)
        return {"oob_score_": float(score), **self._oob_notes(said, learnt, means, known)}

    @staticmethod
    def _warn_of_rows_in_all_trees(n_rows: int, n_never: int) -> None:
        if n_never:
            warn(
                f"Of {n_rows} rows {n_never} were drawn for every tree, so "
                "nothing is known of them out of bag: their entries are NaN. More trees, a "
                "smaller max_samples, or class_weight='balanced_subsample' instead of 'balanced' "
                "leave more rows out.",
            )

    def _check_notes(self) -> None:
        """Check what a file has said of a fit beside the model."""
        width = self.model_.n_classes or self.model_.n_outputs
        for name, kind in self._notes.items():
            value = vars(self).get(name)
            if kind is not np.ndarray or value is None:
                continue
            flat = name == "oob_prediction_" and width == 1
            if value.dtype != np.float64 or value.shape[1:] != (() if flat else (width,)):
                raise ValueError(f"what the fit has noted as {name} makes no sense")
        residuals = vars(self).get("_oob_residuals", np.zeros((1, 1)))
        if not len(residuals) or not np.isfinite(residuals).all():
            raise ValueError("the errors out of bag that the fit has noted make no sense")


_NOTES: dict[str, type] = {
    "timed_out_": bool,
    "oob_score_": float,
    "_seed": int,
    "_fingerprint": str,
}


@document(
    {
        **_ATTRIBUTES,
        "oob_decision_function_": (
            "ndarray of shape (n_samples, n_classes)",
            """\
The mean of the shares of the classes over the trees that were grown without the row; NaN where
there is none. Only there with `oob_score`.""",
        ),
    },
    without=("tree_",),
    **_PARAMETERS,
    criterion=(
        "{'gini', 'entropy', 'log_loss'}",
        "How good a split is. 'log_loss' is another name for 'entropy'.",
    ),
    class_weight=(
        "dict, 'balanced', 'balanced_subsample' or None",
        """\
Weights of the classes, as `{label: weight}`. They are multiplied with `sample_weight`, and with
`bootstrap` the product is the odds of a row to be drawn. 'balanced' makes all classes count alike;
'balanced_subsample' does so in the sample of each tree, where it is applied to the rows that were
drawn.""",
    ),
)
class ObliqueForestClassifier(_Forest, TrainedTreesClassifier):
    """Forest of oblique trees: as a random forest, with a few oblique directions in each node.

    Each tree is grown from a sample of the rows until its leaves are pure. A node compares a few
    features, drawn anew, with a few *directions*: of a random number of random features, the
    Fisher discriminant between two classes of the node, drawn by their rows. A direction must be
    worth its coefficients: what it leaves over is multiplied by `1 + (k - 1) / n` for k features
    and n rows. What the forest says is the mean of what its trees say.

    [parameters]

    [attributes]

    See Also
    --------
    ObliqueForestRegressor : The same for numbers.
    RefinedTreeClassifier : One small tree that can be read.
    distil : One tree that says what a forest says.

    Notes
    -----
    Takes qualitative features and missing values. In each tree the levels of a column get
    numbers: their share of a class among the tree's rows, drawn towards that of all where rows
    are few, and as much more or less, by chance, as such a share is uncertain. Rows that miss a
    number are tried on both sides of a split; in a direction the mean of the column stands in for
    it.

    With `bootstrap` a row is drawn as often as a number with a Poisson distribution says, which
    depends on the seed, the tree and what is in the row. So the same seed gives the same forest,
    whatever the order of the rows, the number of threads, and how many trees were grown at once;
    a weight of 2 is a row that is there twice.

    References
    ----------
    .. [1] L. Breiman (2001). Random forests. *Machine Learning* 45, 5-32. Linear combinations of
       random features stand in it too.
    .. [2] B. H. Menze, B. M. Kelm, D. N. Splitthoff, U. Koethe, F. A. Hamprecht (2011). On oblique
       random forests. *ECML PKDD*, 453-469. Ridge regression in each node.
    .. [3] T. M. Tomita et al. (2020). Sparse projection oblique randomer forests. *Journal of
       Machine Learning Research* 21(104), 1-39.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from obliqua import ObliqueForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = ObliqueForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.96
    True
    >>> forest.estimators_[0].get_n_leaves() < 30
    True
    """

    _notes: ClassVar[dict[str, type]] = {**_NOTES, "oob_decision_function_": np.ndarray}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_LIMITS,
        "criterion": [StrOptions({"gini", "entropy", "log_loss"})],
        "class_weight": [dict, StrOptions({"balanced", "balanced_subsample"}), None],
    }
    priors = None

    oob_score_: float
    oob_decision_function_: FloatArray

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_features: MaxFeatures = "sqrt",
        n_oblique: int | None = None,
        max_terms: int | None = None,
        directions: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool | Callable[..., float] = False,
        ccp_alpha: float = 0.0,
        class_weight: dict[object, float] | str | None = None,
        warm_start: bool = False,
        categorical_features: CategoricalFeatures = "from_dtype",
        time_limit: float | None = None,
        random_state: SeedLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        memory_limit: int | str | None = None,
    ) -> None:
        self._take_shared(locals())

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, a pandas or polars frame, or a sparse
            matrix, which is not made dense. Or where a table is that need not fit in memory: a
            path, a pattern or a list of paths of Parquet or CSV files, a lazy frame of polars, a
            dataset of pyarrow, a memory map, a collection of Dask.
        y : array-like of shape (n_samples,)
            The class labels: integers, strings or bools. With X in files, the name of a column.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows: with `bootstrap` the odds of being drawn. Rows of weight 0 count
            as absent. If all weights are whole numbers up to 64, a weight of 2 is the same as
            having the row twice; of others only the ratios count. Negative weights are an error.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _weights_by_counts(self, *known: Any) -> FloatArray | None:
        """Return what class weights make of each class; those of samples come later."""
        if self.class_weight == "balanced_subsample":
            return None
        return super()._weights_by_counts(*known)

    def _oob_scored(
        self, model: Model, learnt: AnyArray, means: FloatArray, known: BoolArray
    ) -> float:
        score = self.oob_score if callable(self.oob_score) else accuracy_score
        classes = np.asarray(model.classes)
        return float(score(classes[learnt[known]], classes[means[known].argmax(axis=1)]))

    def _oob_notes(self, said: FloatArray, *_: Any) -> dict[str, Any]:
        return {"oob_decision_function_": said}


@document(
    {
        **_ATTRIBUTES,
        **{name: NUMBER_ATTRIBUTES[name] for name in ("n_outputs_",)},
        "oob_prediction_": (
            "ndarray of shape (n_samples,) or (n_samples, n_outputs)",
            """\
The mean of what the trees say that were grown without the row; NaN where there is none. Only
there with `oob_score`.""",
        ),
    },
    without=("tree_", "classes_", "n_classes_"),
    **_PARAMETERS,
    criterion=(
        "{'squared_error', 'friedman_mse'}",
        "How good a split is; both names mean the same, for they order splits alike.",
    ),
    keep_rows=(
        "bool",
        """\
Whether the forest keeps which training rows are in each leaf, for `predict_quantiles`: 4 bytes for
each row and tree. A pickle keeps them too, a model file does not.""",
    ),
)
class ObliqueForestRegressor(_Forest, NumberQuestions, TrainedTreesRegressor):
    """Forest of oblique regression trees: two directions in each node beside a few features.

    As :class:`ObliqueForestClassifier`, with the direction of a ridge regression on a random
    number of random features.

    [parameters]

    [attributes]

    See Also
    --------
    ObliqueForestClassifier : The same for classes, with what is random in it.
    RefinedTreeRegressor : One small tree that can be read.

    Notes
    -----
    Takes qualitative features, missing values and several outputs; directions are then those of
    the first output.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliqua import ObliqueForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ObliqueForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> forest.oob_score_ > 0.45
    True
    """

    _notes: ClassVar[dict[str, type]] = {
        **_NOTES,
        "oob_prediction_": np.ndarray,
        "_oob_residuals": np.ndarray,
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_LIMITS,
        "criterion": [StrOptions({"squared_error", "friedman_mse"})],
        "keep_rows": ["boolean"],
    }
    leaf_model = "constant"
    quantiles = None

    oob_score_: float
    oob_prediction_: FloatArray

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_features: MaxFeatures = 1 / 3,
        n_oblique: int | None = None,
        max_terms: int | None = None,
        directions: Any = None,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        max_samples: float | None = None,
        oob_score: bool | Callable[..., float] = False,
        keep_rows: bool = False,
        ccp_alpha: float = 0.0,
        warm_start: bool = False,
        categorical_features: CategoricalFeatures = "from_dtype",
        time_limit: float | None = None,
        random_state: SeedLike = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        memory_limit: int | str | None = None,
    ) -> None:
        self._take_shared(locals())

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, a pandas or polars frame, or a sparse
            matrix, which is not made dense. Or where a table is that need not fit in memory: a
            path, a pattern or a list of paths of Parquet or CSV files, a lazy frame of polars, a
            dataset of pyarrow, a memory map, a collection of Dask.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The numbers to learn. With X in files, the name of a column, or a list of names.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, as for :class:`ObliqueForestClassifier`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _oob_scored(
        self, model: Model, learnt: AnyArray, means: FloatArray, known: BoolArray
    ) -> float:
        score = self.oob_score if callable(self.oob_score) else r2_score
        return float(score(learnt[known], means[known]))

    def _oob_notes(
        self, said: FloatArray, learnt: AnyArray, means: FloatArray, known: BoolArray
    ) -> dict[str, Any]:
        notes: dict[str, Any] = {"oob_prediction_": said[:, 0] if said.shape[1] == 1 else said}
        if known.any():
            off = learnt[known] - means[known]
            notes["_oob_residuals"] = np.sort(off, axis=0)
        return notes


def _warn_of_small_samples(size: float, n_rows: int) -> None:
    """Say if samples are so small that trees can hardly learn anything."""
    least = max(10.0, n_rows ** (1 / 3))
    if size < min(least, n_rows):
        warn(
            f"Each tree gets about {size:.0f} of {n_rows} rows, which is very few: give "
            f"max_samples at least {least:.0f} rows.",
        )


def _kept(forest: Any, problem: Problem, y: Any, sample_weight: ArrayLike | None) -> BoolArray:
    """Return which of the rows that were given are in the problem: those that weigh something."""
    n_given = len(y)
    kept = np.ones(n_given, dtype=bool)
    if problem.n_rows < n_given:
        if sample_weight is not None:
            kept &= np.broadcast_to(np.asarray(sample_weight, dtype=np.float64) > 0, n_given)
        if isinstance(forest.class_weight, dict):
            weightless = [label for label, weight in forest.class_weight.items() if weight == 0]
            kept &= ~np.isin(np.ravel(y), weightless)
    return kept


def _pruned(trees: PackedTrees, price: float) -> PackedTrees:
    """Cut each tree back by the price of a leaf."""
    from obliqua.prune import cost_complexity_path

    return trees.changed(lambda tree: cost_complexity_path(tree).at_alpha(price))
