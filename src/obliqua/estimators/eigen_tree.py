"""2C-ETCT: trees along the directions of eigen transformations."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliqua._sklearn_compat import Interval, StrOptions, fit_context
from obliqua._typing import FloatArray
from obliqua.data.threads import thread_count
from obliqua.engine.moments import SCALES
from obliqua.errors import CostWarning, LeakWarning
from obliqua.estimators._docs import document
from obliqua.estimators._input import TABLE_CONSTRAINTS, CategoricalFeatures
from obliqua.estimators._training import (
    TRAINING_CONSTRAINTS,
    Priors,
    SeedLike,
    TrainedTreesClassifier,
)
from obliqua.estimators._warnings import warn
from obliqua.tree.model import Model

if TYPE_CHECKING:
    from obliqua.methods.eigen_tree import EigenTree, Grown

NAMES = ("pca", "fisher", "psc", "first+pca", "first+fisher", "first+psc")
# With fewer rows per feature than this, Fisher's direction fits the test rows that it has seen.
ROWS_PER_FEATURE = 5
# Measured: what a tree of two classes takes, beside what its features take.
SECONDS_PER_PAIR, BYTES_PER_PAIR = 1.5e-3, 1e4
# Of each transformation, times p^3; and of all of them, times p^2.
SECONDS_PER_CUBE, BYTES_PER_SQUARE = 8e-10, 330
LONG = 60.0  # seconds that a fit may take without a word


@document(
    {
        "tree_": ("Tree", "The tree. Only there with two classes, or one."),
        "model_": (
            "Model",
            """\
The tree, or with more than two classes one for each pair of them, in `model_.trees`; the classes
and the encoding of the columns.""",
        ),
        "transformation_": (
            "str or tuple of str",
            "The transformation that was chosen. With more than two classes, one per tree.",
        ),
        "directions_": (
            "ndarray of shape (n_directions, `n_features_in_`), or a tuple of them",
            """\
The chosen transformation: a split on level k compares `X @ directions_[k]` with a threshold, k
counted from 0. For a qualitative column it multiplies the number of the level.""",
        ),
        "cv_accuracy_": (
            "dict or tuple of dict",
            """\
For each transformation, the share of the weight that its tree has classified correctly in the
internal cross-validation. That of the chosen one is the largest of several, so it is too large for
what the tree does on new rows.""",
        ),
        "fold_correct_": (
            "ndarray of shape (n_nodes, n_divisions * n_folds), or a tuple of them",
            """\
For each node of the tree and each fold, the weight of the fold's test rows that were classified
correctly by the class that the node has in this fold. NaN if the fold has no data there: its
training rows were not divided further up.""",
        ),
        "fold_total_": (
            "ndarray of shape (n_nodes, n_divisions * n_folds), or a tuple of them",
            "The same for all test rows that reach the node.",
        ),
        "pairs_": (
            "tuple of (label, label)",
            "The two classes of each tree; with one class, it alone.",
        ),
    },
    transformations=(
        "sequence of str",
        """\
The transformations that compete; at ties the first one wins. 'pca': principal components.
'fisher': Fisher's direction, then principal components within the classes. 'psc': principal
separation components. 'first+pca', 'first+fisher' and 'first+psc': the `first_direction`, then the
same in the hyperplane perpendicular to it. The default has those of the paper's six that are
defined:
'first+fisher' has no direction after the difference of the means, so it is one split at most.""",
    ),
    n_divisions=(
        "int",
        "How often the rows are divided into folds, for the internal cross-validation.",
    ),
    n_folds=("int", "Into how many folds. They are not stratified."),
    max_depth=(
        "int or None",
        """\
The most levels; `None` for as many as there are directions. No limit is needed: the internal
cross-validation decides.""",
    ),
    transform_in_folds=(
        "bool",
        """\
Whether each fold finds its directions from its own training rows. The paper finds them from all
rows, so the internal test rows have had their say; with few rows for each feature, `cv_accuracy_`
is much too high then, and a warning says so.""",
    ),
    first_direction=(
        "{'mean', 'logistic', 'svm'} or estimator",
        """\
Where the transformations that start with a direction of their own take it from: the difference of
the class means, logistic regression or a linear support vector machine (both on standardised
features), or any classifier of scikit-learn that has `coef_` after a fit to two classes, 0 and
1.""",
    ),
    scale=(
        "{'standard', 'robust', 'minmax'} or None",
        """\
What the transformations look at instead of the features themselves: features divided by their
standard deviation, their interquartile range or their range. Splits are written in original units
all the same. `None`, as in the paper, takes the features as they are: then their units matter.""",
    ),
    random_state=(
        "int, RandomState instance or None",
        """\
The seed of the divisions into folds. The same seed gives the same tree, whatever the number of
threads or the order of the rows. `None` draws another one for each fit.""",
    ),
)
class EigenTreeClassifier(TrainedTreesClassifier):
    """Trees along the directions of eigen transformations that choose their own size (2C-ETCT).

    A transformation of the features, such as principal components, gives an ordered list of
    directions. The root splits along the first one, the nodes below it along the second one, and
    so on, each at the threshold with the fewest errors. Since that leaves nothing to choose but
    how far to go, a cross-validation inside the training rows can find the best size of the tree,
    and the best of several transformations. The result is a linear classifier with a few
    more splits for clusters that lie apart, where there are any.

    [parameters]

    [attributes]

    See Also
    --------
    FisherTreeClassifier : Fisher's direction at each node, found from the node's own rows.
    HHCartClassifier : Eigenvectors of the classes at each node.

    Warns
    -----
    CostWarning
        If the fit will take longer than a minute: it grows a tree for each pair of classes, from
        matrices of all features.
    LeakWarning
        If the directions have seen the internal test rows and there are few of them: fewer than
        five rows per feature with Fisher's direction or one from a classifier, fewer than one
        with other transformations that see the classes.

    Notes
    -----
    The paper is about two classes. For more of them a tree is grown for each pair (one against
    one), which is ours. Each tree votes for one of its two classes; most votes win, and at ties
    the larger sum of the shares in the leaves, then the first class. `predict_proba` gives each
    class its share of the votes, of which a small part goes by the shares in the leaves, so that
    it agrees with `predict`.

    Nothing of the paper's needs a parameter; the page on the method tells which of its choices are
    settled here, and how. Of equal eigenvalues any directions are as good as others, and
    the ones taken depend on the order of the columns.

    Takes qualitative features and missing values, which is ours too. The levels of a feature
    become numbers found from all rows of both classes (CRIMCOORD, as for HHCART), the same at all
    nodes, and a missing number becomes the mean of its column.

    References
    ----------
    .. [1] S. De Bruyne, F. Plastria. 2-class eigen transformation classification trees.
    .. [2] F. Plastria, S. De Bruyne, E. Carrizosa (2008). Dimensionality reduction for
       classification: comparison of techniques and dimension choice. *Advanced Data Mining and
       Applications*, Lecture Notes in Artificial Intelligence 5139, 411-418.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from obliqua import EigenTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = EigenTreeClassifier(random_state=0).fit(X, y)
    >>> tree.transformation_, tree.get_n_leaves()
    ('fisher', 3)
    """

    _takes_odd = True
    _several = True
    _notes: ClassVar[dict[str, type]] = {"_found": list}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "transformations": "no_validation",  # _chosen says more
        "n_divisions": [Interval(Integral, 1, 1000, closed="both")],
        "n_folds": [Interval(Integral, 2, 1000, closed="both")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "transform_in_folds": ["boolean"],
        "first_direction": "no_validation",  # its own reader says more
        "scale": [StrOptions(set(SCALES)), None],
        **TRAINING_CONSTRAINTS,
        "categorical_features": TABLE_CONSTRAINTS["categorical_features"],
    }

    # What was found on the way to each tree, in the order of `model_.trees`.
    _found: list[dict[str, Any]]

    def __init__(
        self,
        *,
        transformations: Sequence[str] = ("pca", "fisher", "psc", "first+pca", "first+psc"),
        n_divisions: int = 2,
        n_folds: int = 5,
        max_depth: int | None = None,
        transform_in_folds: bool = False,
        first_direction: Any = "mean",
        scale: str | None = None,
        class_weight: dict[object, float] | str | None = None,
        priors: Priors = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        random_state: SeedLike = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.transformations = transformations
        self.n_divisions = n_divisions
        self.n_folds = n_folds
        self.max_depth = max_depth
        self.transform_in_folds = transform_in_folds
        self.first_direction = first_direction
        self.scale = scale
        self.class_weight = class_weight
        self.priors = priors
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _validate_params(self) -> None:
        super()._validate_params()
        self._method()

    @fit_context(prefer_skip_nested_validation=False)  # first_direction has parameters too
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree, or one for each pair of classes.

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
        TypeError, ValueError
            If `transformations` or `first_direction` are not what they should be.
        """
        from obliqua.methods.eigen_tree import grow_pairs

        seen, problem, classes = self._encoded(X, y, sample_weight)
        method = self._method()
        self._warn_of_cost(len(classes), problem.n_features)
        grown = grow_pairs(problem, method, self._key(), thread_count(self.n_jobs))
        combine = "single" if len(classes) <= 2 else "pairs"
        trees = tuple(each.tree for each in grown)
        model = Model(trees, combine, problem.encoding, classes)
        self._hold(model, getattr(seen, "feature_names_in_", None))
        self._found = [_noted(each) for each in grown]
        if not method.in_folds:
            self._warn_of_leaks(grown)
        return self

    def _method(self) -> "EigenTree":
        """Return how trees are grown, as the parameters say it."""
        from obliqua.estimators._first_direction import BY_NAME, first_direction
        from obliqua.methods.eigen_tree import EigenTree

        given = self.first_direction
        if isinstance(given, str) and given not in BY_NAME:
            raise ValueError(
                f"first_direction must be one of {', '.join(map(repr, BY_NAME))}, or a linear "
                f"classifier of scikit-learn; got {given!r}."
            )
        return EigenTree(
            transformations=self._chosen(),
            n_divisions=int(self.n_divisions),
            n_folds=int(self.n_folds),
            max_depth=None if self.max_depth is None else int(self.max_depth),
            in_folds=bool(self.transform_in_folds),
            first=first_direction(given),
            scale=self.scale,
        )

    def _chosen(self) -> tuple[str, ...]:
        """Check the names of the transformations."""
        given = self.transformations
        given = given.tolist() if isinstance(given, np.ndarray) else given
        known = ", ".join(map(repr, NAMES))
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise TypeError(
                f"transformations must be a sequence of names out of {known}; got "
                f"{given!r:.100}. Write a tuple, {_as_tuple(given)}."
            )
        chosen = tuple(map(str, given))
        unknown = [name for name in chosen if name not in NAMES]
        if unknown or not chosen or len(set(chosen)) < len(chosen):
            what = f"{unknown[0]!r}" if unknown else "the same one twice" if chosen else "none"
            raise ValueError(
                f"transformations must be different names out of {known}; got {what}."
            )
        return chosen

    def _warn_of_cost(self, n_classes: int, n_features: int) -> None:
        """Say how long the fit will take, and what else would do, if it takes long."""
        n_pairs = max(n_classes * (n_classes - 1) // 2, 1)
        times = self.n_divisions * self.n_folds + 1 if self.transform_in_folds else 1
        cubes = len(self.transformations) * times * float(n_features) ** 3
        seconds = n_pairs * (SECONDS_PER_PAIR + SECONDS_PER_CUBE * cubes)
        if seconds <= LONG:
            return
        size = n_pairs * BYTES_PER_PAIR + float(n_features) ** 2 * BYTES_PER_SQUARE
        instead = 'HHCartClassifier(variant="dominant", extra_directions="discriminants")'
        why = f"matrices of {n_features:,} features"
        if n_pairs > 1:
            why = f"{n_pairs:,} trees, one for each pair of {n_classes:,} classes, from {why}"
            instead += ", or one tree per class with scikit-learn's OneVsRestClassifier"
        text = (
            f"This fit will take about {seconds / 60:,.0f} minutes and {size / 1e9:,.1f} GB of "
            f"memory: it makes {why}. Use {instead}."
        )
        warn(CostWarning(text, seconds))

    def _warn_of_leaks(self, grown: list["Grown"]) -> None:
        """Warn if a transformation was chosen because it had seen the test rows."""
        leaks = [
            each
            for each in grown
            if each.tree.n_leaves > 1
            and each.tree.n_samples[0]
            < self._rows_needed(each.transformation) * np.count_nonzero(each.directions[0])
        ]
        if not leaks:
            return
        one = leaks[0]
        accuracy = one.accuracy[one.transformation]
        where = ""
        if len(grown) > 1:
            a, b = (self.classes_[code] for code in one.classes)
            more = f" and {len(leaks) - 1} more" if len(leaks) > 1 else ""
            where = f" in the tree of the classes {a!s} and {b!s}{more} of {len(grown)} trees"
        warn(
            f"The transformation {one.transformation!r} was chosen with {one.tree.n_samples[0]} "
            f"rows for {np.count_nonzero(one.directions[0])} features{where}. It was found from "
            "all rows, so the rows that the internal cross-validation tests have had their say, "
            f"and cv_accuracy_ ({accuracy:.2f}) is too high. Set transform_in_folds=True, or "
            f"leave {one.transformation!r} out of `transformations`.",
            LeakWarning,
        )

    def _rows_needed(self, name: str) -> int:
        """Say how many rows per feature a transformation needs, lest it fits what is tested."""
        means = isinstance(self.first_direction, str) and self.first_direction == "mean"
        if name == "fisher" or ("+" in name and not means):
            return ROWS_PER_FEATURE
        return 0 if name == "pca" else 1  # principal components see no classes

    # --- what was found ------------------------------------------------------------------

    def _of_each(self, what: str) -> Any:
        """Return what was found on the way to the tree; to each of them if they are several."""
        check_is_fitted(self)
        values = tuple(_read(found[what]) for found in self._found)
        return values[0] if self.model_.combine == "single" else values

    @property
    def transformation_(self) -> str | tuple[str, ...]:
        """The transformation that was chosen."""
        return self._of_each("transformation")

    @property
    def directions_(self) -> FloatArray | tuple[FloatArray, ...]:
        """The directions of the chosen transformation, in the original features."""
        return self._of_each("directions")

    @property
    def cv_accuracy_(self) -> dict[str, float] | tuple[dict[str, float], ...]:
        """The accuracy of each transformation in the internal cross-validation."""
        return self._of_each("cv_accuracy")

    @property
    def fold_correct_(self) -> FloatArray | tuple[FloatArray, ...]:
        """The weight of correctly classified test rows, by node and fold."""
        return self._of_each("fold_correct")

    @property
    def fold_total_(self) -> FloatArray | tuple[FloatArray, ...]:
        """The weight of all test rows, by node and fold."""
        return self._of_each("fold_total")

    @property
    def pairs_(self) -> tuple[tuple[Any, ...], ...]:
        """The two classes of each tree."""
        check_is_fitted(self)
        return tuple(
            # With one class there is no second one.
            tuple(self.classes_[code] for code in dict.fromkeys(found["classes"]))
            for found in self._found
        )


def _as_tuple(given: Any) -> str:
    """Write names as the tuple that was probably meant."""
    names = tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else ()
    return repr(names if names and set(names) <= set(NAMES) else ("pca", "psc"))


def _noted(grown: "Grown") -> dict[str, Any]:
    """Return what was found on the way to a tree, as files can hold it."""
    return {
        "classes": list(grown.classes),
        "transformation": grown.transformation,
        "cv_accuracy": dict(grown.accuracy),
        "directions": _matrix(grown.directions),
        "fold_correct": _matrix(grown.correct),
        "fold_total": _matrix(grown.total),
    }


def _matrix(array: FloatArray) -> tuple[int, FloatArray]:
    """Write a matrix as its width and its entries: files hold arrays of one dimension."""
    return array.shape[1], array.ravel()


def _read(noted: Any) -> Any:
    if isinstance(noted, tuple):
        width, entries = noted
        return np.asarray(entries, dtype=np.float64).reshape(-1, width)
    return dict(noted) if isinstance(noted, dict) else noted
