"""Methods side by side on a user's own data: `compare` cross-validates them on the same folds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_consistent_length

from obliqua._sklearn_compat import safe_indexing
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.table import check_names
from obliqua.estimators._labels import check_labels, encode_labels
from obliqua.select._workers import leave_interrupts_to
from obliqua.select.adapt import adapted, fix_types, rare_level_notes, takes_tables
from obliqua.select.methods import BY_DEFAULT, METHODS, find_method
from obliqua.select.result import CompareResult
from obliqua.stats import metrics as measures
from obliqua.tree.model import Model

__all__ = ["CompareResult", "compare"]


def compare(
    X: Any,
    y: Any,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> CompareResult:
    """Cross-validate methods side by side, all on the same stratified folds.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The rows, an array or a frame, with categories and missing values too. Methods out of
        the registry that take numbers only, as scikit-learn's tree, get them through a pipeline
        that is fitted in each fold, and a note says so: a column of 0 and 1 per level, at most
        100 per feature, and the mean of the training rows for a missing number if the method
        does not take such. Your own estimators get X as it is. Which columns are qualitative is
        found out from all rows, not in each fold anew.
    y : array-like of shape (n_rows,)
        The class labels.
    methods : sequence of str, mapping of str to estimator, or None, default=None
        Names out of `obliqua.select.methods.METHODS`; or estimators of your own under
        any name. `None` stands for all names but ``"aft"`` and ``"odt"``, which grow 40 trees for
        a fit. Estimators are cloned, never changed.
    n_folds : int, default=10
        Folds of a cross-validation. If the smallest class has fewer rows, there are as many
        folds as it has rows, and a note says so.
    n_repeats : int, default=1
        How often to cross-validate, with other folds each time.
    random_state : int, default=0
        The seed of the folds, and of each estimator whose `random_state` is None.
    n_jobs : int or None, default=None
        The number of processes, as joblib counts them. Times aside it never changes a result.
    progress : callable, default=None
        Called after each fit with the number of finished fits, the number of all, and the name
        of the method.

    Returns
    -------
    CompareResult
        Accuracy, leaves, depth, features per split and time of each method, fold by fold; the
        macro F, and the true positive and true negative rates of each class, of each
        cross-validation: from the confusion matrix of all its folds.

    Raises
    ------
    ValueError
        If there is no such method, or if the labels cannot be divided into folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier, compare
    >>> X, y = load_iris(return_X_y=True)
    >>> stump, tree = CartClassifier(max_depth=1), CartClassifier()
    >>> result = compare(X, y, {"stump": stump, "tree": tree}, n_folds=5)
    >>> for row in result.rows():
    ...     print(row["method"], round(row["accuracy"], 3), row["within_noise"])
    stump 0.667 False
    tree 0.933 True
    """
    labels = checked_labels(X, y)
    check_count("n_folds", n_folds, 2)
    check_count("n_repeats", n_repeats, 1)
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            "n_jobs must be None or a whole number other than 0, such as 2 for two processes or "
            f"-1 for all cores; got {n_jobs!r}."
        )
    estimators = _estimators(methods, random_state)
    classes, codes = encode_labels(labels)
    n_folds, notes = _possible_folds(n_folds, classes, np.bincount(codes))
    if not isinstance(methods, Mapping):
        estimators, more = adapted(estimators, X)
        notes += more
    fix_types(estimators, X)
    notes += rare_level_notes(estimators, X)
    divisions = list(_divisions(codes, n_folds, n_repeats, random_state))
    tasks = [(name, division) for division in divisions for name in estimators]
    here = os.getpid()
    calls = (
        joblib.delayed(_measure)(name, estimators[name], X, labels, classes, division, here)
        for name, division in tasks
    )
    found: dict[str, list[tuple[FloatArray, Int64Array]]] = {name: [] for name in estimators}
    results = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, ((name, _), values) in enumerate(zip(tasks, results, strict=True), start=1):
        found[name].append(values)
        if progress is not None:
            progress(done, len(tasks), name)
    matrices = {name: np.stack([matrix for _, matrix in both]) for name, both in found.items()}
    return CompareResult(
        {name: np.stack([values for values, _ in both]) for name, both in found.items()},
        {name: _pooled(matrices[name], n_repeats) for name in found},
        *(len(labels), np.shape(X)[1], len(classes)),
        n_folds=n_folds,
        n_repeats=n_repeats,
        notes=notes,
        classes=tuple(classes.tolist()),
        fold_confusion=matrices,
    )


def check_count(name: str, given: Any, least: int, otherwise: str = "") -> None:
    """Refuse what is no whole number of at least so many."""
    if not isinstance(given, Integral) or given < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}{otherwise}; got {given!r}."
        )


def checked_labels(X: Any, y: Any) -> AnyArray:
    """Return labels as an array; what is no label, or does not fit the rows, is refused."""
    check_names(X)
    check_labels(y)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, a label per row; got {labels.ndim}.")
    check_consistent_length(X, labels)
    return labels


def _pooled(matrices: Int64Array, n_repeats: int) -> Int64Array:
    """Return a confusion matrix per repeat, the sum of those of its folds."""
    return matrices.reshape(n_repeats, -1, *matrices.shape[1:]).sum(axis=1)


def _estimators(
    methods: Sequence[str] | Mapping[str, Any] | None, random_state: int
) -> dict[str, Any]:
    """Return unfitted estimators by name, all of them with a seed."""
    if isinstance(methods, str):
        raise ValueError(f"methods must be a list of names or a mapping; got {methods!r}.")
    if isinstance(methods, Mapping):
        chosen = {str(name): clone(estimator) for name, estimator in methods.items()}
    else:
        names = BY_DEFAULT if methods is None else dict.fromkeys(methods)
        chosen = {name: find_method(name).make(random_state) for name in names}
    if not chosen:
        raise ValueError(f"There is nothing to compare. The methods are {', '.join(METHODS)}.")
    for estimator in chosen.values():
        seeds = {
            name: random_state
            for name, value in estimator.get_params(deep=True).items()
            if value is None and name.split("__")[-1] == "random_state"
        }
        estimator.set_params(**seeds)
    return chosen


def _possible_folds(
    n_folds: int, classes: AnyArray, counts: Int64Array
) -> tuple[int, tuple[str, ...]]:
    """Return the number of folds that the smallest class allows, with a note if it is smaller."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes.tolist()[0]!r}; at least two are needed to compare "
            "methods."
        )
    smallest = int(counts.argmin())
    label, count = classes.tolist()[smallest], int(counts[smallest])
    if count < 2:
        raise ValueError(
            f"The class {label!r} has 1 row; cross-validation needs at least 2 of each class. "
            "Leave such rows out, or join them with another class."
        )
    if count >= n_folds:
        return n_folds, ()
    note = f"{count} folds instead of {n_folds}: the class {label!r} has {count} rows."
    return count, (note,)


def _divisions(
    codes: AnyArray, n_folds: int, n_repeats: int, random_state: int
) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Training and test rows of each fold of each repeat."""
    seeds = np.random.SeedSequence(random_state).generate_state(n_repeats)
    for seed in seeds.tolist():
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        yield from folds.split(np.zeros((len(codes), 1)), codes)


def _measure(
    name: str,
    estimator: Any,
    X: Any,
    y: AnyArray,
    classes: AnyArray,
    division: tuple[AnyArray, AnyArray],
    parent: int,
) -> tuple[FloatArray, Int64Array]:
    """Fit a copy of an estimator on some rows; return measures and confusion matrix of others."""
    leave_interrupts_to(parent)
    for module in ("obliqua.engine.grow", "obliqua.prune", "obliqua.methods.hhcart"):
        import_module(module)  # a fit does that too; the first one would seem slow
    train, test = division
    model = clone(estimator)
    rows, labels = safe_indexing(X, train), y[train]
    try:
        started = time.perf_counter()
        with warnings.catch_warnings():  # said of the whole table, not of each fold
            warnings.filterwarnings("ignore", "Column .* levels in .* rows: so many")
            model.fit(rows, labels)
        seconds = time.perf_counter() - started
        predicted = model.predict(safe_indexing(X, test))
    except Exception as error:
        error.add_note(_where_from(name, estimator, X))
        raise
    matrix = measures.pooled_matrix(y[test], predicted, classes)
    values = [measures.accuracy_of(matrix), *tree_shape(model), seconds]
    return np.array(values), matrix


def _where_from(name: str, estimator: Any, X: Any) -> str:
    """Say which method an error comes from, and what helps if it is about text and gaps."""
    note = f"This is from the method {name!r}."
    if takes_tables(estimator) or np.asarray(X).dtype.kind in "fiub":
        return note
    return note + (
        " An estimator of your own gets the table as it is. If it takes numbers only, put what "
        "makes numbers of text in front of it, for instance make_pipeline(OneHotEncoder("
        "handle_unknown='ignore'), estimator), and an imputer for missing values; or give "
        "methods by name: those get such a pipeline by themselves."
    )


def tree_shape(model: Any) -> tuple[float, float, float]:
    """Return leaves, depth and features per split of a fitted estimator; NaN if it has no tree.

    Features per split is the mean number of columns that an inner node looks at.
    """
    nothing = float("nan")
    model = model.steps[-1][1] if hasattr(model, "steps") else model  # a pipeline ends in its tree
    if not (hasattr(model, "get_n_leaves") and hasattr(model, "get_depth")):
        return nothing, nothing, nothing
    leaves, depth = float(model.get_n_leaves()), float(model.get_depth())
    container = getattr(model, "model_", None)
    if isinstance(container, Model):
        return leaves, depth, features_per_split(container)
    return leaves, depth, nothing if depth == 0 else 1.0  # scikit-learn's are axis-parallel


def features_per_split(model: Model) -> float:
    """Return the mean number of columns that an inner node looks at; NaN without one."""
    used = splits = 0
    for tree in model.trees:
        nodes = tree.node_of_plane[tree.plane_of_coef]
        used += len(np.unique(np.stack([nodes, tree.coef_idx]), axis=1).T)
        splits += tree.n_nodes - tree.n_leaves
    return used / splits if splits else float("nan")
