"""Several trees of a randomised method from the same rows: their vote, or the best of them."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state

from obliqua._sklearn_compat import Interval, StrOptions, fit_context
from obliqua._typing import AnyArray, Int64Array
from obliqua.estimators._docs import document
from obliqua.estimators._ensembles import grown_members
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._warnings import warn
from obliqua.estimators.base import BaseTreeClassifier, SeedLike
from obliqua.tree.model import Model

if TYPE_CHECKING:
    from obliqua.data.problem import Problem
    from obliqua.tree.tree import Tree

MOST_SEED = 2**31 - 1


@document(
    {
        "tree_": ("Tree", "The chosen tree. Only there with `combine='best'`."),
        "model_": (
            "Model",
            """\
The trees, in `model_.trees`, how they are combined, the classes and the encoding of the columns.
With `combine='best'` it has the chosen tree alone.""",
        ),
        "tree_seeds_": (
            "ndarray of shape (n_estimators,)",
            """\
The seed of each tree. The method itself, fitted with one of them as `random_state` to the same
rows, grows that very tree, unless there is a `window`; with `combine='best'` to the rows that were
not held out.""",
        ),
        "best_index_": ("int", "Which tree was chosen. Only there with `combine='best'`."),
        "selection_errors_": (
            "ndarray of shape (n_estimators,)",
            """\
The share of the weight that each tree has put into a wrong class, among the rows that the choice
went by. That of the chosen tree is the smallest of several, so it is too small for what the tree
does on new rows. Only there with `combine='best'`.""",
        ),
        "n_hyperplanes_": (
            "int",
            "How many hyperplanes were tried for all trees. Only there if the method counts them.",
        ),
        "timed_out_": (
            "bool",
            """\
Whether the method's `time_limit`, which each tree has for itself, cut a search short. Only there
if the method has one.""",
        ),
    },
    estimator=(
        "estimator or None",
        """\
The method: a tree classifier of obliqua with its parameters. `None` stands for
`OC1Classifier(pruning='holdout')`: a vote gains nothing by trees that are sized with more care.
It is cloned, never changed, and its `random_state` is not heeded. Its own `n_jobs` is the number
of threads within a tree.""",
    ),
    n_estimators=(
        "int",
        """\
The number of trees. An odd number cannot tie between two classes. A fit with fewer trees has the
first ones of a fit with more.""",
    ),
    combine=(
        "{'vote', 'mean', 'best'}",
        """\
What is made of the trees. 'vote': each tree votes for a class, and the class with most votes is
the answer, the first one at ties. 'mean': the mean of the shares of the classes in the leaves
decides. 'best': one tree is kept, by `selection`.""",
    ),
    selection=(
        "{'holdout', 'training'}",
        """\
For `combine='best'`: which rows the tree with the fewest errors is chosen by; of equally good ones
it is that with the fewest leaves, then the first. 'holdout': rows that are held out before
anything else, for all trees the same; trees are grown and pruned with the others. 'training': the
rows of the fit, which wastes none of them, but favours trees that have learnt them by heart. It
suits classes that do not overlap: without errors, the smallest tree is chosen.""",
    ),
    selection_fraction=(
        "float",
        """\
For `selection='holdout'`: the share of the weight that is held out, above 0 and below 1. Where
there are too few rows to hold one out, the choice goes by the training rows.""",
    ),
    window=(
        "float or None",
        """\
Windowing (Quinlan): each tree is grown from this share of the weight, drawn by its seed; the other
rows that it puts into a wrong class join these, and it is grown again, until there are none or the
method's `time_limit` is over, which all rounds of a tree share. That makes trees differ of methods
that draw no random numbers. `None`: from all rows.""",
    ),
    random_state=(
        "int, RandomState instance or None",
        """\
The seed, from which each tree gets one of its own. The same seed gives the same trees, whatever
the number of threads or processes.""",
    ),
    n_jobs=(
        "int or None",
        """\
The number of trees that are grown at the same time, in threads, and of threads for predicting.
`None` means 1 unless a `joblib.parallel_config` context says otherwise, which may ask for
processes too; -1 means all cores. It never changes a result.""",
    ),
)
class RepeatedTreesClassifier(TreesClassifier):
    """Several trees of a randomised method from the same rows: their vote, or the best of them.

    A method that draws random numbers, such as OC1, grows another tree with another seed. Here it
    grows several, each from all rows. Nothing else makes them differ: rows and features are not
    sampled, as they are for a forest, unless there is a `window`.

    [parameters]

    [attributes]

    See Also
    --------
    OC1Classifier : Climbing, with random restarts and jumps.
    SADTClassifier : Simulated annealing.
    LMDTClassifier : Linear machines, which see the rows in random order.

    Warns
    -----
    UserWarning
        If the method gives the same tree with every seed: it draws no random numbers, and it is
        pruned without dividing rows at random.

    Notes
    -----
    Takes what the method takes: weights, qualitative features, missing values. Readers such as
    :func:`obliqua.export_text` show one tree of a vote, which `tree=` names.

    With `pruning='holdout'` each tree holds out other rows, so the trees of any method may differ;
    'cv', and 'auto' of few rows, grow ten more trees for each.
    The rows of `selection='holdout'` are none of these: they neither grow nor prune a tree.

    A seed is not a parameter that makes trees good. The tree that one seed gives from some rows
    has little to do with what it gives from others. That is why there is no choice of seeds by
    cross-validation, and why the chosen tree is not grown again from all rows: it would be
    another tree, about which the held-out rows say nothing.

    References
    ----------
    .. [1] S. K. Murthy, S. Kasif, S. Salzberg (1994). A system for induction of oblique decision
       trees. *Journal of Artificial Intelligence Research* 2, 1-32. It names the vote of several
       trees as a possibility.
    .. [2] D. Heath, S. Kasif, S. Salzberg (1993). k-DT: a multi-tree learning method. *Proceedings
       of the 2nd International Workshop on Multistrategy Learning*.
    .. [3] J. R. Quinlan (1993). *C4.5: Programs for Machine Learning*. Morgan Kaufmann. Chapter 6
       has windowing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import OC1Classifier, RepeatedTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> method = OC1Classifier(n_restarts=5, pruning="holdout")
    >>> vote = RepeatedTreesClassifier(method, n_estimators=5, random_state=0)
    >>> vote.fit(X, y).model_
    Model(5 trees, combine='vote', 4 columns, 3 classes)
    >>> vote.predict_proba(X[100:101])
    array([[0., 0., 1.]])
    >>> best = vote.set_params(combine="best").fit(X, y)
    >>> best.get_n_leaves()
    3
    """

    _notes: ClassVar[dict[str, type]] = {
        "tree_seeds_": object,
        "best_index_": object,
        "selection_errors_": object,
        "n_hyperplanes_": int,
        "timed_out_": bool,
    }
    _several = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",  # _method says more
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "combine": [StrOptions({"vote", "mean", "best"})],
        "selection": [StrOptions({"holdout", "training"})],
        "selection_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
        "window": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": BaseTreeClassifier._parameter_constraints["n_jobs"],
    }

    def __init__(
        self,
        estimator: BaseTreeClassifier | None = None,
        *,
        n_estimators: int = 11,
        combine: str = "vote",
        selection: str = "holdout",
        selection_fraction: float = 0.2,
        window: float | None = None,
        random_state: SeedLike = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.selection = selection
        self.selection_fraction = selection_fraction
        self.window = window
        self.random_state = random_state
        self.n_jobs = n_jobs

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the method as ``estimator__<name>``.

        Parameters
        ----------
        **params : dict
            The parameters, by name.

        Returns
        -------
        self : object
            The estimator itself.

        Raises
        ------
        ValueError
            If there is no such parameter, or if it is one of a method that is not there:
            `estimator` is `None`.
        """
        inner = [name for name in params if name.startswith("estimator__")]
        if inner and params.get("estimator", self.estimator) is None:
            raise ValueError(
                f"{inner[0]} is a parameter of the method, and estimator is None. Set "
                "estimator=OC1Classifier(pruning='holdout') first, which is what None stands for."
            )
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Any:
        """Say what the method takes."""
        tags = super().__sklearn_tags__()
        taken = getattr(self._given(), "_takes_odd", False)
        tags.input_tags.allow_nan = tags.input_tags.categorical = taken
        return tags

    def _why_dense(self) -> str | None:
        given = self._given()
        if isinstance(given, BaseTreeClassifier):
            return given._why_dense()
        return super()._why_dense()

    def _validate_params(self) -> None:
        super()._validate_params()
        self._method()

    def _given(self) -> Any:
        """Return the method as it was given, or what stands for it."""
        if self.estimator is not None:
            return self.estimator
        from obliqua.estimators.oc1 import OC1Classifier

        return OC1Classifier(pruning="holdout")

    def _method(self) -> BaseTreeClassifier:
        """Return a checked copy of the method."""
        given = self._given()
        if isinstance(given, BaseTreeClassifier):
            method: BaseTreeClassifier = clone(given)
            method._validate_params()
            return method
        got = f"an object of class {type(given).__name__}"
        do = "Give one of those, or leave it out."
        if isinstance(given, type):
            got, do = f"the class {given.__name__} itself", f"Write {given.__name__}()."
        elif isinstance(given, RepeatedTreesClassifier):
            do = "Give the method that it repeats."
        elif hasattr(given, "steps"):
            do = "Put other steps in front of the RepeatedTreesClassifier, in a pipeline."
        raise TypeError(
            "estimator must be a tree classifier of obliqua that grows one tree, such as "
            f"OC1Classifier(), or None; got {got}. {do}"
        )

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees, and choose one of them if asked to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The training rows: an array, a list of rows, or a pandas or polars frame.
        y : array-like of shape (n_samples,)
            The class labels: integers, strings or bools.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight 0 count as absent; a weight of 2 is the
            same as having the row twice. Negative weights are an error.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If `estimator` is not a tree classifier of obliqua.
        """
        self._check_saved()
        method = self._method()
        seen, problem, classes = method._encoded(X, y, sample_weight)
        division, seeds = self._seeds()
        growing, judging = self._divided(problem, division)
        trees, notes = self._grown(method, growing, seeds)
        if not method._heeds_seed() and _all_equal(trees):
            _warn_of_equals(method, len(trees))
        combine = self.combine
        if combine == "best":
            from obliqua.prune import choose_tree

            best, errors = choose_tree(trees, judging)
            trees, combine = [trees[best]], "single"
            notes |= {"best_index_": best, "selection_errors_": errors}
        model = Model(tuple(trees), combine, problem.encoding, classes)
        self._hold(model, getattr(seen, "feature_names_in_", None))
        for name in self._notes:
            self.__dict__.pop(name, None)
        self.__dict__.update(notes)
        return self

    def _seeds(self) -> tuple[int, Int64Array]:
        """Draw the seed of the division of rows, and one for each tree."""
        random = check_random_state(self.random_state)
        division = int(random.randint(2**63 - 1, dtype=np.int64))
        seeds = random.randint(MOST_SEED, size=int(self.n_estimators), dtype=np.int64)
        return division, seeds

    def _divided(self, problem: "Problem", seed: int) -> tuple["Problem", "Problem"]:
        """Return the rows to grow trees from, and those to choose one by."""
        if self.combine == "best" and self.selection == "holdout":
            from obliqua.prune.division import hold_out

            whole, held = hold_out(problem, float(self.selection_fraction), seed)
            if held.any():
                return whole.take(~held), whole.take(held)
        return problem, problem

    def _grown(
        self, method: BaseTreeClassifier, problem: "Problem", seeds: Int64Array
    ) -> tuple[list["Tree"], dict[str, Any]]:
        """Grow the trees; return what they have noted on the way, too."""
        made = grown_members(method, problem, seeds, self.n_jobs, window=self.window)
        notes: dict[str, Any] = {"tree_seeds_": seeds}
        for name, together in (("n_hyperplanes_", sum), ("timed_out_", any)):
            if name in method._notes:
                notes[name] = together(found[name] for _, found in made)
        return [tree for tree, _ in made], notes

    def _hold(self, model: Model, names: AnyArray | None) -> None:
        super()._hold(model, names)
        # Of the method that was fitted, whatever `estimator` is set to later; if a file could not
        # keep it, what the trees can take is what they take.
        self._takes_odd = bool(getattr(self._given(), "_takes_odd", model.takes_missing))


def _all_equal(trees: Sequence["Tree"]) -> bool:
    """Say whether there are several trees, with splits, that are the same."""
    return len(trees) > 1 and trees[0].n_leaves > 1 and all(t == trees[0] for t in trees[1:])


def _warn_of_equals(method: BaseTreeClassifier, n_trees: int) -> None:
    warn(
        f"All {n_trees} trees are the same: nothing in this {type(method).__name__} is random. "
        "Fit it alone, or take a method that draws random numbers, such as OC1Classifier; or "
        "prune with pruning='holdout', where each tree holds out other rows.",
    )
