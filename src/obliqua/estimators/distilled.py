"""Students: a few small trees that do what another classifier does."""

from copy import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from obliqua._sklearn_compat import Interval, fit_context
from obliqua.data.table import FROM_DTYPE
from obliqua.estimators._distilling import (
    MOST_SEED,
    STUDENT_CONSTRAINTS,
    STUDENT_PARAMETERS,
    Student,
    check_prefit,
)
from obliqua.estimators._docs import document
from obliqua.estimators._fidelity import checked_labels
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._input import CategoricalFeatures, without_rare_levels
from obliqua.estimators._pupils import Pupil
from obliqua.estimators._students import method_of
from obliqua.estimators._teachers import teacher_of, tells_numbers
from obliqua.estimators._teaching import fit_teacher, present_rows
from obliqua.estimators.base import BaseTreeClassifier, SeedLike
from obliqua.estimators.distilled_regressor import DistilledRegressor
from obliqua.tree.model import Model

_FIDELITY = """\
What was lost: under 'data' on held-out rows of X, if there are any, from which no tree was grown,
under 'generated' on rows that were generated anew; with few columns or levels, or a small `swap`,
some of these equal rows that trees were grown from. Each is a dictionary: 'rows', their number;
'agreement', the share for which teacher and student have the same likeliest class; 'difference',
the mean over rows of half the sum of the absolute differences of the shares, which for two classes
is the mean absolute difference of the probability; and if y was given 'teacher_accuracy' and
'student_accuracy', under 'data' only. A teacher that was fitted to these rows before
looks more accurate there than it is, and says other shares than for new rows; `obliqua.fidelity`
measures the same on any rows."""


@document(
    {
        "tree_": ("Tree", "The tree. Only there if there is one."),
        "model_": (
            "Model",
            """\
The trees, in `model_.trees`, the classes and the encoding of the columns. Several trees are added
up: the first says shares of the classes, each further one what to add to them or to take away.""",
        ),
        "estimator_": ("estimator", "The fitted teacher. Not kept in model files."),
        "fidelity_": ("dict", _FIDELITY),
        "feature_importances_": (
            "ndarray of shape (`n_features_in_`,)",
            """\
The share of each feature in the gain of all splits of all trees, in which gains are reductions
of the mean square error.""",
        ),
    },
    **STUDENT_PARAMETERS,
    estimator=(
        "estimator or None",
        """\
The teacher: any classifier with `predict_proba`, such as a forest, a pipeline or a support vector
machine. It is cloned and fitted, unless `prefit`. `None` stands for
`ObliqueForestClassifier()`.""",
    ),
    method=(
        "{'cart', 'hhcart', 'oc1'} or estimator",
        """\
How splits are found: along single features; by Householder reflections, HHCART(D) with Fisher's
directions; or by OC1's climbs, with five starts. All use the Gini criterion, which for shares is
the square error. A tree classifier of obliqua with parameters of its own will do too; its
`max_leaf_nodes`, `pruning`, `random_state` and `n_jobs` are set here. Its limits of rows count a
row once for each class that has a share in it.""",
    ),
    max_leaves=("int", "The most leaves of all trees together, at least 2 for each of them."),
    n_trees=(
        "int",
        """\
The most trees. With several, each is grown from what those before it have left over, by square
error, and has its part of `max_leaves`, at least 2.""",
    ),
)
class DistilledClassifier(Student, TreesClassifier):
    """A few small trees that do what another classifier does.

    A student is grown from what a teacher says, not from labels: from the shares of the classes at
    the rows of X and at rows generated from them, by square error. `obliqua.distil` is the short
    way for a teacher that is fitted.

    [parameters]

    [attributes]

    See Also
    --------
    distil : The same for a fitted teacher, in one call.
    fidelity : What a student has lost, on any rows.
    DistilledRegressor : The same for numbers.
    AggregatedTreeClassifier : One tree for an ensemble, over all points of a domain.

    Notes
    -----
    The teacher gets tables of the kind of X: frames with the same columns and types, or arrays.
    Qualitative columns and missing values are drawn as all other entries are.

    A row is written once for each class that has a share in it: for n rows and C classes up to
    n C rows. For oblique splits and more than four classes, the first tree's rows are cut into
    four parts instead, each of one class, drawn by the shares. So are all where more than
    2**27 entries, a gigabyte, would be written: into as many parts as fit, at least four. What is
    grown from so many rows is less exact, later trees above all.

    Several trees are read one by one: the shares in the leaves of the second and later ones are
    those of what is left over, shifted until nothing is negative; a class above the mean is one
    that the tree raises.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from obliqua import DistilledClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> student = DistilledClassifier(max_leaves=8, random_state=0).fit(X, y)
    >>> student.get_n_leaves()
    8
    >>> sorted(student.fidelity_["generated"])
    ['agreement', 'difference', 'rows']
    """

    _takes_odd = True
    _several = True
    _notes: ClassVar[dict[str, type]] = {"fidelity_": object}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **STUDENT_CONSTRAINTS,
        "n_trees": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        prefit: bool = False,
        method: str | BaseTreeClassifier = "hhcart",
        max_leaves: int = 64,
        n_trees: int = 1,
        n_generated: int | None = None,
        swap: float = 0.5,
        holdout: float = 0.2,
        categorical_features: CategoricalFeatures = FROM_DTYPE,
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.prefit = prefit
        self.method = method
        self.max_leaves = max_leaves
        self.n_trees = n_trees
        self.n_generated = n_generated
        self.swap = swap
        self.holdout = holdout
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def _plain_vote(self) -> bool:
        """Whether it is the vote, or the mean of the shares, of its trees."""
        return self.model_.combine == "single"

    def _validate_params(self) -> None:
        super()._validate_params()
        method_of(self.method)
        if self.max_leaves < 2 * self.n_trees:
            raise ValueError(
                f"n_trees={self.n_trees} trees have two leaves each at least, so max_leaves must "
                f"be {2 * self.n_trees} or more; got {self.max_leaves}. Say fewer trees, or allow "
                "more leaves."
            )

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the teacher, unless it is fitted, and grow the student.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, a list of rows, or a pandas or polars frame. For a teacher that is
            fitted, those that it was fitted to or other ones with the same columns.
        y : array-like of shape (n_samples,), default=None
            The class labels. A teacher that is fitted needs none; then they only say how accurate
            teacher and student are.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the fit of the teacher and for `fidelity_` on held-out rows.
            A row with weight 0 counts as absent. The teacher must take weights, unless it is
            fitted. The student is grown from what the teacher says, in which they are. A weight
            of 2 is not the same as a row that is there twice: the default teacher, a random
            forest, draws rows, and so do holding out and generating.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If `estimator` is no classifier with `predict_proba`.
        NotFittedError
            If `prefit`, and it is not fitted.
        """
        self._check_saved()
        method = method_of(self.method)
        seeds = check_random_state(self.random_state).randint(MOST_SEED, size=3, dtype=np.int64)
        fitted = self.estimator if self.prefit else None
        if self.prefit:
            check_prefit(teacher_of, fitted)  # before anything else, what is no teacher is refused
        elif y is None:
            raise ValueError(
                "This DistilledClassifier requires y to be passed, but the target y is None: its "
                "teacher is fitted to classes. A teacher that is fitted already needs none: say "
                "prefit=True."
            )
        seen = copy(self)
        X, y, weights = present_rows(X, y, sample_weight, self.categorical_features)
        table, raw, labels = self._read(seen, fitted, X, y)
        if self.prefit and labels is not None:
            checked_labels(labels, len(labels), teacher_of(fitted).classes)
        held, rows = self._divided(table, labels, weights, int(seeds[1]))
        if fitted is None:
            seed = None if self.random_state is None else int(seeds[0])
            fitted = fit_teacher(self.estimator, raw, labels, weights, np.sort(rows), seed)
        table = without_rare_levels(table, weights)
        pupil = Pupil(self, method, table, raw, teacher_of(fitted, given=self.prefit))
        trees, checks = pupil.grown(rows, int(seeds[2]))
        combine = "single" if len(trees) == 1 else "sum"
        model = Model(tuple(trees), combine, table.encoding, pupil.teacher.classes)
        found = pupil.measured(model, held, checks, labels, weights)
        self._hold(model, getattr(seen, "feature_names_in_", None))
        self.estimator_, self.fidelity_ = fitted, found
        return self


def distil(
    ensemble: Any,
    X: Any,
    y: Any = None,
    *,
    max_leaves: int = 64,
    n_trees: int = 1,
    method: Any = None,
    **options: Any,
) -> DistilledClassifier | DistilledRegressor:
    """Make a small model that does what a fitted classifier or regressor does.

    Parameters
    ----------
    ensemble : estimator, Model or Tree
        The teacher: a fitted classifier with `predict_proba`, such as a forest or a pipeline, or a
        fitted regressor.
    X : array-like of shape (n_samples, n_features)
        Rows with the columns that it was fitted to, as it takes them.
    y : array-like of shape (n_samples,), default=None
        Their classes or numbers, if it is to be known how accurate teacher and student are.
    max_leaves : int, default=64
        The most leaves of all trees together, at least 2 for each of them.
    n_trees : int, default=1
        The most trees; of numbers there is one.
    method : str or estimator, default=None
        How splits are found, as `DistilledClassifier` or `DistilledRegressor` takes it; their
        defaults for None.
    **options : dict
        Further parameters of these: `n_generated`, `swap`, `holdout`,
        `categorical_features`, `random_state`, `n_jobs`.

    Returns
    -------
    DistilledClassifier or DistilledRegressor
        The student, fitted. `fidelity_` says what was lost.

    Raises
    ------
    TypeError
        If `ensemble` is no classifier with `predict_proba`, and no regressor.
    NotFittedError
        If it is not fitted.

    See Also
    --------
    DistilledRegressor : The same for numbers.
    DistilledClassifier : All parameters, and how it is done.
    fidelity : What a student has lost, on any rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import obliqua
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> student = obliqua.distil(forest, X[::2], max_leaves=16, random_state=0)
    >>> student.tree_.n_leaves
    16
    >>> lost = obliqua.fidelity(forest, student, X[1::2], y[1::2])
    >>> lost["agreement"] > 0.9
    True
    """
    if "prefit" in options:
        raise TypeError(
            "distil has no parameter prefit: it takes a teacher that is fitted. For one that is "
            "not, use DistilledClassifier(teacher).fit(X, y)."
        )
    if method is not None:
        options["method"] = method
    if not tells_numbers(ensemble):
        student = DistilledClassifier(
            ensemble, prefit=True, max_leaves=max_leaves, n_trees=n_trees, **options
        )
        return student.fit(X, y)
    if n_trees != 1:
        raise ValueError(
            f"A student of numbers is one tree; got n_trees={n_trees}. Leave n_trees out, and "
            "allow more leaves with max_leaves."
        )
    pupil = DistilledRegressor(ensemble, prefit=True, max_leaves=max_leaves, **options)
    return pupil.fit(X, y)
