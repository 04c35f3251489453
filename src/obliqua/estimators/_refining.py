"""What refined trees of classes and of numbers share; refining the tree of a fitted classifier."""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from obliqua._sklearn_compat import Interval, StrOptions, check_sample_weight
from obliqua._typing import Int32Array, Int64Array
from obliqua.data.problem import Problem, encode
from obliqua.data.table import Table, missing_columns
from obliqua.data.threads import thread_count
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators._training import SeedLike, TrainedTreesClassifier
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

__all__ = [
    "REFINING_CONSTRAINTS",
    "REFINING_NOTES",
    "check_refining_notes",
    "fit_refined",
    "refined",
]

REFINING_CONSTRAINTS: dict[str, list[Any]] = {
    "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
    "cycles": [Interval(Integral, 0, None, closed="left")],
    "max_features_per_split": [Interval(Integral, 1, None, closed="left"), None],
    "max_features_per_tree": [Interval(Integral, 1, None, closed="left"), None],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "compare_greedy": [StrOptions({"auto"}), "boolean"],
    "time_limit": [Interval(Real, 0.0, None, closed="left"), None],
    "verbose": ["verbose"],
}
REFINING_NOTES: dict[str, type] = {
    "chosen_": str,
    "loss_curve_": np.ndarray,
    "cv_sizes_": np.ndarray,
    "cv_scores_": np.ndarray,
    "greedy_score_": float,
    "timed_out_": bool,
}


def fit_refined(
    estimator: Any, X: Any, y: Any, sample_weight: ArrayLike | None
) -> tuple[Problem, Tree]:
    """Let an estimator choose a tree on held-out rows and then make it of all rows.

    It has `_choose` for the one, `_tree` for the other and `_note_choice`; it is changed in one
    step at the end.
    """
    from obliqua.refine import Watch

    seen, problem, classes = estimator._encoded(X, y, sample_weight)
    limit = None if estimator.time_limit is None else float(estimator.time_limit)
    watch = Watch(limit, print if estimator.verbose else None)
    key = estimator._key()
    used, few = problem, estimator.max_features_per_tree
    if few is not None and few < problem.n_features:
        columns = _few_columns(estimator, problem, int(few), key, watch.half())
        used = problem.only_columns(columns)
    # At most half of the time goes into the choice, so that something can be refined.
    trials = watch.half()
    choice = estimator._choose(used, key, trials)
    hurried = trials.is_up
    tree = estimator._tree(used, choice, key, watch)
    if used is not problem:
        tree = tree.over_columns(columns, problem.n_features)
    timed_out = hurried or watch.is_up
    model = Model((tree,), "single", problem.encoding, classes)
    estimator._hold(model, getattr(seen, "feature_names_in_", None))
    estimator._note_choice(choice)
    estimator.loss_curve_ = np.array(watch.curve)
    estimator.timed_out_ = timed_out
    return problem, tree


def _few_columns(estimator: Any, problem: Problem, few: int, key: int, watch: Any) -> Int64Array:
    """Return the columns that the whole tree may use."""
    from obliqua.refine import columns_that_matter

    grower, recipe = estimator._plain(problem, key)
    n_leaves = estimator.max_leaf_nodes
    if n_leaves is None:
        # As many leaves as serve best where all features may be used. One leaf needs none.
        plain = clone(estimator).set_params(compare_greedy=False)
        n_leaves = max(plain._chosen_size(plain._choose(problem, key, watch.half())), 2)
    n_leaves = max(min(int(n_leaves), problem.n_rows), 2)
    n_threads = thread_count(estimator.n_jobs)
    return columns_that_matter(problem, grower, n_leaves, few, recipe, key, n_threads, watch)


def check_refining_notes(estimator: Any, kinds: tuple[str, ...]) -> None:
    """Check what a file has said of a fit beside the model; `kinds` of trees may be chosen.

    A tree that was refined further or edited since has no such notes.
    """
    if vars(estimator).keys().isdisjoint(REFINING_NOTES):
        return
    curves = (estimator.loss_curve_, estimator.cv_sizes_, estimator.cv_scores_)
    if estimator.chosen_ not in kinds or any(
        curve.ndim != 1 or curve.dtype.kind not in "if" for curve in curves
    ):
        raise ValueError("what the fit has noted makes no sense")


def refined(
    classifier: Any,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    max_features_per_split: int | None = None,
    time_limit: float | None = None,
    random_state: SeedLike = 0,
    n_jobs: int | None = None,
) -> Any:
    """Refine the tree of a fitted classifier: the same structure, all hyperplanes moved together.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier of this library with one tree of hyperplanes; it is not changed.
    X : array-like of shape (n_samples, n_features)
        Rows to refine the tree with: those of its fit, or others with the same columns.
    y : array-like of shape (n_samples,)
        Their classes, all of which the classifier must know.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    max_features_per_split : int, default=None
        The most features of a split. If it is given, splits keep the features that they use, or
        those that matter most; None lets all features in.
    time_limit : float, default=None
        Seconds after which refinement ends where it is.
    random_state : int, RandomState instance or None, default=0
        The seed of the order in which rows are looked at. None draws another one for each call.
    n_jobs : int, default=None
        The number of threads; it has no influence on the result.

    Returns
    -------
    estimator
        A copy of the classifier with the refined tree.

    Raises
    ------
    TreeError
        If a split is no hyperplane: a set of levels of C4.5, or a linear machine.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from obliqua import CartClassifier, refined
    >>> X, y = load_digits(return_X_y=True)
    >>> cart = CartClassifier(max_leaf_nodes=16, pruning=None).fit(X[::2], y[::2])
    >>> better = refined(cart, X[::2], y[::2], random_state=0)
    >>> bool(better.score(X[1::2], y[1::2]) > cart.score(X[1::2], y[1::2]) + 0.1)
    True
    """
    from obliqua.refine import Watch, refine_only
    from obliqua.tree.spread import measure_spread

    _check(classifier, max_features_per_split, time_limit)
    problem = _problem(classifier, X, y, sample_weight)
    key = int(check_random_state(random_state).randint(2**63 - 1, dtype=np.int64))
    n_threads = thread_count(n_jobs)
    tree = refine_only(
        classifier.tree_,
        problem,
        max_features=max_features_per_split,
        key=key,
        n_threads=n_threads,
        watch=Watch(time_limit),
    )
    tree = measure_spread(tree, problem.Z, problem.weights, n_threads)
    out = copy(classifier)
    model = Model((tree,), "single", classifier.model_.encoding, classifier.classes_)
    out._hold(model, getattr(classifier, "feature_names_in_", None))
    # What the old fit has noted of its search is not true of this tree.
    for note in set(classifier._notes) - {"_takes_odd"}:
        out.__dict__.pop(note, None)
    return out


def _check(classifier: Any, max_features: Any, time_limit: Any) -> None:
    """Check what was given beside the rows."""
    if not isinstance(classifier, TreesClassifier):
        raise TypeError(
            f"refined() takes a fitted classifier of obliqua; got {type(classifier).__name__}. "
            "For numbers fit RefinedTreeRegressor; for a tree of scikit-learn see "
            "obliqua.tree_from_sklearn and obliqua.refine."
        )
    check_is_fitted(classifier)
    if classifier.model_.combine != "single":
        raise ValueError(
            f"refined() takes a classifier of one tree; this {type(classifier).__name__} has "
            f"{len(classifier.model_.trees)}. Refine one that holds a single tree."
        )
    if len(classifier.tree_.relabelled):
        raise ValueError(
            "refined() lets rows decide what leaves say, and some leaves of this tree were given "
            "a class by hand. Refine first, and edit what comes out."
        )
    if classifier.tree_.costs:
        raise ValueError(
            "refined() moves hyperplanes by counting mistakes, and knows no costs; this tree has "
            "some. Refine one that was grown without costs, and choose classes from its shares."
        )
    if max_features is not None and not (
        isinstance(max_features, int | np.integer) and max_features >= 1
    ):
        raise ValueError(
            "max_features_per_split must be None or an integer of at least 1; got "
            f"{max_features!r}."
        )
    if time_limit is not None and not time_limit >= 0:
        raise ValueError(f"time_limit must be None or at least 0 seconds; got {time_limit!r}.")


def _problem(classifier: Any, X: Any, y: Any, sample_weight: ArrayLike | None) -> Problem:
    """Make a problem of rows, over the columns and classes that the classifier knows."""
    Z = classifier._check_rows(X)
    codes = _codes(classifier, y, len(Z))
    weights = None
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, Z, dtype=np.float64, ensure_non_negative=True)
        there = weights > 0
        if not there.any():
            raise ValueError("All weights are 0: there is no row to refine the tree with.")
        Z, codes, weights = Z[there], codes[there], weights[there]
    of_classes = None
    if isinstance(classifier, TrainedTreesClassifier):
        of_classes = classifier._weights_of_classes(classifier.classes_, codes, weights)
    table = Table(Z, classifier.model_.encoding, missing_columns(Z))
    return encode(table, codes, len(classifier.classes_), weights, of_classes)


def _codes(classifier: Any, y: Any, n_rows: int) -> Int32Array:
    """Return the places of labels among the classes of a classifier."""
    labels = column_or_1d(y)
    if len(labels) != n_rows:
        raise ValueError(f"There must be one label per row, {n_rows}; got {len(labels)}.")
    known = {label: code for code, label in enumerate(classifier.classes_.tolist())}
    unknown = sorted({str(label) for label in labels.tolist() if label not in known})
    if unknown:
        raise ValueError(
            f"y has classes that the classifier does not know: {', '.join(unknown[:5])}. It knows "
            f"{', '.join(map(str, list(known)[:10]))}; leave such rows out, or fit anew."
        )
    return np.array([known[label] for label in labels.tolist()], dtype=np.int32)
