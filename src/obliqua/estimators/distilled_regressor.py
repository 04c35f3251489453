"""Students: a small tree that does what another regressor does."""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from obliqua._sklearn_compat import fit_context
from obliqua._typing import FloatArray, Int64Array
from obliqua.data.table import FROM_DTYPE
from obliqua.data.threads import thread_count
from obliqua.estimators._distilling import (
    MOST_SEED,
    STUDENT_CONSTRAINTS,
    STUDENT_PARAMETERS,
    Student,
    check_prefit,
)
from obliqua.estimators._docs import NUMBER_ATTRIBUTES, document
from obliqua.estimators._fidelity import compared_numbers
from obliqua.estimators._fitted import TreesRegressor
from obliqua.estimators._input import CategoricalFeatures
from obliqua.estimators._pupils import CHECKED, FEWEST_GENERATED
from obliqua.estimators._students import number_method_of
from obliqua.estimators._teachers import NumberTeacher, RawRows, Source, number_teacher_of
from obliqua.estimators._teaching import fit_teacher, present_rows
from obliqua.estimators._training import SeedLike, TrainedTreesRegressor

_FIDELITY = """\
What was lost: under 'data' on held-out rows of X, if there are any, from which the tree was not
grown, under 'generated' on rows that were generated anew. Each is a dictionary: 'rows', their
number; 'r2', the share of the variance of the teacher's numbers that the student's explain;
'rmse', the root mean square of their differences; and if y was given 'teacher_r2' and
'student_r2', under 'data' only. A teacher that was fitted to these rows before looks more accurate
there than it is; `obliqua.fidelity` measures the same on any rows."""


@document(
    {
        **NUMBER_ATTRIBUTES,
        "tree_": ("Tree", "The tree."),
        "estimator_": ("estimator", "The fitted teacher. Not kept in model files."),
        "fidelity_": ("dict", _FIDELITY),
    },
    without=("classes_", "n_classes_"),
    **STUDENT_PARAMETERS,
    estimator=(
        "estimator or None",
        """\
The teacher: any regressor, such as a forest, a booster or a pipeline. It is cloned and fitted,
unless `prefit`. `None` stands for `ObliqueForestRegressor()`.""",
    ),
    method=(
        "{'cart', 'oblique', 'refined'} or estimator",
        """\
How splits are found: along single features, along several, or along several and then moved
together. A tree regressor of obliqua with parameters of its own will do too, such as
`ObliqueTreeRegressor(leaf_model='linear')`; its `max_leaf_nodes`, `pruning`,
`categorical_features`, `random_state` and `n_jobs` are set here.""",
    ),
    max_leaves=(
        "int",
        "The most leaves. 'refined' may find that fewer are as good; the others take all.",
    ),
)
class DistilledRegressor(Student, TreesRegressor):
    """A small tree that does what another regressor does.

    A student is grown from what a teacher says, not from the numbers that the teacher was fitted
    to: from its answers at the rows of X and at rows generated from them. `obliqua.distil` is the
    short way for a teacher that is fitted.

    [parameters]

    [attributes]

    See Also
    --------
    distil : The same for a fitted teacher, in one call.
    fidelity : What a student has lost, on any rows.
    DistilledClassifier : The same for classes.

    Notes
    -----
    The teacher gets tables of the kind of X: frames with the same columns and types, or arrays.
    Qualitative columns and missing values are drawn as all other entries are.

    `predict_std` says how far the teacher's answers lie from what a leaf says, not how far the
    truth does.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from obliqua import DistilledRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> student = DistilledRegressor(max_leaves=16, random_state=0).fit(X, y)
    >>> student.get_n_leaves() <= 16
    True
    >>> student.fidelity_["generated"]["r2"] > 0.8
    True
    """

    _takes_odd = True
    _task = "regression"
    _notes: ClassVar[dict[str, type]] = {"fidelity_": object}
    _parameter_constraints: ClassVar[dict[str, Any]] = STUDENT_CONSTRAINTS

    def __init__(
        self,
        estimator: Any = None,
        *,
        prefit: bool = False,
        method: str | TrainedTreesRegressor = "refined",
        max_leaves: int = 64,
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
        self.n_generated = n_generated
        self.swap = swap
        self.holdout = holdout
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Say that one output is learnt."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the teacher, unless it is fitted, and grow the student.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows: an array, a list of rows, or a pandas or polars frame. For a teacher that is
            fitted, those that it was fitted to or other ones with the same columns.
        y : array-like of shape (n_samples,), default=None
            The numbers to learn. A teacher that is fitted needs none; then they only say how
            accurate teacher and student are.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the fit of the teacher and for `fidelity_` on held-out rows.
            A row with weight 0 counts as absent. The teacher must take weights, unless it is
            fitted.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        TypeError
            If `estimator` is no regressor.
        NotFittedError
            If `prefit`, and it is not fitted.
        """
        self._check_saved()
        method = number_method_of(self.method)
        seeds = check_random_state(self.random_state).randint(MOST_SEED, size=3, dtype=np.int64)
        fitted = self.estimator if self.prefit else None
        if self.prefit:
            check_prefit(number_teacher_of, fitted)
        elif y is None:
            raise ValueError(
                "This DistilledRegressor requires y to be passed, but the target y is None: its "
                "teacher is fitted to numbers. A teacher that is fitted already needs none: say "
                "prefit=True."
            )
        seen = copy(self)
        X, y, weights = present_rows(X, y, sample_weight, self.categorical_features)
        table, raw, truth = self._read(seen, fitted, X, y)
        held, rows = self._divided(table, truth, weights, int(seeds[1]))
        if fitted is None:
            seed = None if self.random_state is None else int(seeds[0])
            order = np.sort(rows)
            fitted = fit_teacher(self.estimator, raw, truth, weights, order, seed, self._task)
        teacher = number_teacher_of(fitted)
        source = Source(rows, table.Z.shape[1], float(self.swap))
        method.set_params(
            max_leaf_nodes=int(self.max_leaves),
            categorical_features=seen.categorical_features,
            random_state=int(seeds[2]),
            n_jobs=thread_count(self.n_jobs),
        )
        checks = self._taught(method, teacher, raw, source)
        found = {"generated": _compared(teacher, method, raw.mixed(checks))}
        if len(held):
            known = None if truth is None else truth[held]
            counted = None if weights is None else weights[held]
            lost = _compared(teacher, method, raw.take(held), known, counted)
            found = {"data": lost, **found}
        self._hold(method.model_, getattr(seen, "feature_names_in_", None))
        self.estimator_, self.fidelity_ = fitted, found
        return self

    def _taught(
        self, method: TrainedTreesRegressor, teacher: NumberTeacher, raw: RawRows, source: Source
    ) -> Int64Array:
        """Grow the tree from what the teacher says; return rows to check it on."""
        random = np.random.default_rng(method.random_state)
        rows = source.rows
        wanted = self.n_generated
        n = max(FEWEST_GENERATED, 2 * raw.n_rows) if wanted is None else int(wanted)
        own = np.repeat(rows[:, None], source.n_columns, axis=1)
        asked = raw.mixed(np.concatenate([own, source.draw(n, random)]))
        method.fit(asked, teacher.numbers(asked))
        return source.draw(CHECKED, random)


def _compared(
    teacher: NumberTeacher,
    student: TrainedTreesRegressor,
    rows: Any,
    truth: FloatArray | None = None,
    weights: FloatArray | None = None,
) -> dict[str, float]:
    return compared_numbers(teacher.numbers(rows), student.predict(rows), truth, weights)
