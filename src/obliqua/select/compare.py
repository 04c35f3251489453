"""Methods side by side on a user's own data: `compare` cross-validates them on the same folds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_consistent_length

from obliqua._sklearn_compat import safe_indexing
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.costs import Costs
from obliqua.data.table import readable
from obliqua.errors import PartlyCompared
from obliqua.estimators._labels import check_labels, check_numbers, encode_labels, matrix_of_costs
from obliqua.select._workers import leave_interrupts_to
from obliqua.select.adapt import adapted, fix_types, rare_level_notes, takes_tables
from obliqua.select.forecast import forecast, too_slow, warn_of_time
from obliqua.select.methods import by_default, find_method, methods_for
from obliqua.select.result import CompareResult
from obliqua.select.task import note_of_numbers, task_of
from obliqua.stats import metrics as measures
from obliqua.tree.model import Model
from obliqua.tree.shape import features_per_leaf, features_per_split

__all__ = ["CompareResult", "compare"]

#: Fewer rows with numbers cannot be divided into folds that tell anything.
FEWEST_ROWS = 4


def compare(
    X: Any,
    y: Any,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    *,
    task: str = "auto",
    n_folds: int = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
    max_seconds: float | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> CompareResult:
    """Cross-validate methods side by side, all on the same folds; for classes, stratified ones.

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
        The class labels, or the numbers to learn.
    methods : sequence of str, mapping of str to estimator, or None, default=None
        Names out of `obliqua.select.methods.METHODS`, for numbers out of `NUMBER_METHODS`; or
        estimators of your own under any name. `None` stands for all names but ``"hhcart-g"``, and
        ``"aft"`` and ``"odt"``, which grow 40 trees for a fit. Estimators are cloned, never
        changed.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether classes or numbers are learnt. "auto" goes by the methods, if all of them learn
        the same; otherwise a y with fractions, or with more than 50 different whole numbers, is
        numbers.
    n_folds : int, default=10
        Folds of a cross-validation. If the smallest class has fewer rows, or there are fewer rows
        of numbers, there are as many folds, and a note says so.
    n_repeats : int, default=1
        How often to cross-validate, with other folds each time.
    random_state : int, default=0
        The seed of the folds, and of each estimator whose `random_state` is None.
    n_jobs : int or None, default=None
        The number of processes, as joblib counts them. Times aside it never changes a result.
    max_seconds : float or None, default=None
        A method whose fits would take longer in all is left out, and a note says so. How long
        they take is estimated from fits of a part of the rows, unless the table is small.
    progress : callable, default=None
        Called after each fit with the number of finished fits, the number of all, and the name
        of the method.

    Returns
    -------
    CompareResult
        Accuracy, leaves, depth, features per split and time of each method, fold by fold; the
        macro F, and the true positive and true negative rates of each class, of each
        cross-validation: from the confusion matrix of all its folds. If estimators have `costs`,
        also what a row held out costs, for all methods. For numbers, R2, the root
        mean square error and the mean absolute error stand in the place of accuracy and rates.

    Raises
    ------
    ValueError
        If there is no such method, or if the labels cannot be divided into folds.
    CostWarning
        As a warning, before the work begins, if it will take longer than 20 seconds.
    PartlyCompared
        At Ctrl-C, if two folds or more are finished: a KeyboardInterrupt that has their `result`.

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
    tree 0.94 True

    Numbers in the place of classes:

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = compare(X, y, ["cart", "cart-linear"], n_folds=5)
    >>> for row in result.rows():
    ...     print(row["method"], round(row["r2"], 2), round(row["rmse"]))
    cart 0.36 61
    cart-linear 0.48 55
    """
    found_out = note_of_numbers(task, y, methods)
    task = task_of(task, y, methods)
    X = readable(X)
    truth = checked_target(X, y, task)
    asked = Folds(n_folds, n_repeats, random_state, n_jobs)
    folding, folds, notes = folds_of(truth, task, asked)
    estimators = _estimators(methods, random_state, task)
    notes = found_out + notes
    if not isinstance(methods, Mapping):
        estimators, more = adapted(estimators, X)
        notes += more
    seconds = forecast(estimators, X, truth, folds.n_folds, random_state)
    fits = dict.fromkeys(estimators, folds.n_folds * n_repeats)
    if max_seconds is not None:
        slow = too_slow(seconds, fits, max_seconds, "a larger max_seconds brings it in")
        if len(slow) == len(estimators):
            raise ValueError(
                f"Nothing is left to compare: every method would take longer than {max_seconds:g} "
                "seconds. Give a larger max_seconds, or fewer rows."
            )
        estimators = {name: each for name, each in estimators.items() if name not in slow}
        seconds = {name: each for name, each in seconds.items() if name not in slow}
        notes += tuple(slow.values())
    warn_of_time(seconds, fits, n_jobs)
    return cross_validate(X, folding, estimators, folds, progress, notes)


@dataclass(frozen=True)
class Folds:
    """How rows are divided, and how many processes work on it.

    Parameters
    ----------
    n_folds, n_repeats, random_state
        As `compare` takes them; `n_folds` no more than there can be.
    n_jobs : int or None
        The number of processes.
    before : int
        Repeats that were made before these.
    """

    n_folds: int
    n_repeats: int
    random_state: int
    n_jobs: int | None
    before: int = 0


def folds_of(
    truth: AnyArray, task: str, folds: Folds
) -> tuple[_Classes | _Numbers, Folds, tuple[str, ...]]:
    """Check how rows are to be divided; return as many folds as there can be, with a note."""
    check_count("n_folds", folds.n_folds, 2)
    check_count("n_repeats", folds.n_repeats, 1)
    n_jobs = folds.n_jobs
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            "n_jobs must be None or a whole number other than 0, such as 2 for two processes or "
            f"-1 for all cores; got {n_jobs!r}."
        )
    folding = _Classes(truth) if task == "classification" else _Numbers(truth)
    n_folds, notes = folding.possible(folds.n_folds)
    return folding, replace(folds, n_folds=n_folds), notes


def cross_validate(
    X: Any,
    folding: _Classes | _Numbers,
    estimators: Mapping[str, Any],
    folds: Folds,
    progress: Callable[[int, int, str], None] | None = None,
    notes: tuple[str, ...] = (),
) -> CompareResult:
    """Fit each estimator in each fold, and measure it."""
    fix_types(estimators, X)
    costs, more = _costs_of(estimators, folding.classes)
    notes += more
    notes += rare_level_notes(estimators, X)
    divisions = list(_divisions(folding, folds))
    tasks = [(name, division) for division in divisions for name in estimators]
    here = os.getpid()
    calls = (
        joblib.delayed(_measure)(name, estimators[name], X, folding, division, here)
        for name, division in tasks
    )
    found: dict[str, list[tuple[FloatArray, Int64Array]]] = {name: [] for name in estimators}
    n_folds, n_repeats, n_jobs = folds.n_folds, folds.n_repeats, folds.n_jobs
    most = n_jobs if n_jobs is None else min(int(n_jobs), len(tasks))
    results = joblib.Parallel(n_jobs=most, return_as="generator")(calls)
    stopped: KeyboardInterrupt | None = None
    try:
        for done, ((name, _), values) in enumerate(zip(tasks, results, strict=True), start=1):
            found[name].append(values)
            if progress is not None:
                progress(done, len(tasks), name)
    except KeyboardInterrupt as error:
        n_done = min(map(len, found.values()))  # folds that all methods have finished
        n_done -= n_done % n_folds if n_done > n_folds else 0
        if n_done < 2:
            raise
        stopped, n_repeats = error, max(n_done // n_folds, 1)
        found = {name: both[:n_done] for name, both in found.items()}
        notes += (f"Stopped after {n_done} of {len(divisions)} folds.",)
    classes = folding.classes.tolist()
    matrices = {
        name: np.stack([matrix for _, matrix in both]) for name, both in found.items() if classes
    }
    result = CompareResult(
        {name: np.stack([values for values, _ in both]) for name, both in found.items()},
        {name: _pooled(each, n_repeats) for name, each in matrices.items()},
        *(len(folding.truth), np.shape(X)[1], len(classes)),
        n_folds=n_folds,
        n_repeats=n_repeats,
        notes=notes,
        classes=tuple(classes),
        fold_confusion=matrices,
        task=folding.task,
        costs=costs,
    )
    if stopped is not None:
        raise PartlyCompared(result) from stopped
    return result


class _Classes:
    """Classes: how they are divided into folds, and how answers are measured."""

    task = "classification"

    def __init__(self, truth: AnyArray) -> None:
        self.truth = truth
        self.classes, self.codes = encode_labels(truth)

    def possible(self, n_folds: int) -> tuple[int, tuple[str, ...]]:
        """Return the number of folds that the smallest class allows, with a note if it is less."""
        classes, counts = self.classes.tolist(), np.bincount(self.codes)
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only, {classes[0]!r}; at least two are needed to compare "
                "methods."
            )
        smallest = int(counts.argmin())
        label, count = classes[smallest], int(counts[smallest])
        if count < 2:
            raise ValueError(
                f"The class {label!r} has 1 row; cross-validation needs at least 2 of each class. "
                "Leave such rows out, or join them with another class."
            )
        if count >= n_folds:
            return n_folds, ()
        note = f"{count} folds instead of {n_folds}: the class {label!r} has {count} rows."
        return count, (note,)

    def split(self, n_folds: int, seed: int) -> Iterator[tuple[AnyArray, AnyArray]]:
        """Return training and test rows of each fold."""
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
        return folds.split(np.zeros((len(self.codes), 1)), self.codes)

    def measured(
        self, rows: AnyArray, predicted: AnyArray, shape: Sequence[float]
    ) -> tuple[list[float], Int64Array]:
        """Return the accuracy, the shape of the tree, and the confusion matrix."""
        matrix = measures.pooled_matrix(self.truth[rows], predicted, self.classes)
        return [measures.accuracy_of(matrix), *shape[:3]], matrix


class _Numbers:
    """The same for numbers."""

    task = "regression"
    classes = np.empty(0)

    def __init__(self, truth: AnyArray) -> None:
        self.truth = truth
        self.variance = float(truth.var())

    def possible(self, n_folds: int) -> tuple[int, tuple[str, ...]]:
        """Return the number of folds that the rows allow, with a note if it is less."""
        n_rows = len(self.truth)
        if n_rows < FEWEST_ROWS:
            raise ValueError(
                f"Cross-validation of numbers needs at least {FEWEST_ROWS} rows; got {n_rows}. "
                "Give more rows."
            )
        if self.variance == 0.0:
            raise ValueError(
                f"y is {self.truth[0]:.6g} in all {n_rows} rows, so there is nothing to learn. "
                "Give numbers that differ."
            )
        if n_rows >= n_folds:
            return n_folds, ()
        return n_rows, (f"{n_rows} folds instead of {n_folds}: there are {n_rows} rows.",)

    def split(self, n_folds: int, seed: int) -> Iterator[tuple[AnyArray, AnyArray]]:
        """Return training and test rows of each fold."""
        folds = KFold(n_folds, shuffle=True, random_state=seed)
        return folds.split(np.zeros((len(self.truth), 1)))

    def measured(
        self, rows: AnyArray, predicted: AnyArray, shape: Sequence[float]
    ) -> tuple[list[float], Int64Array]:
        """Return R2, errors and the shape of the tree."""
        off = predicted - self.truth[rows]
        square = float((off**2).mean())
        found = [1.0 - square / self.variance, square**0.5, float(np.abs(off).mean())]
        return [*found, *shape], np.empty(0, dtype=np.int64)


def check_count(name: str, given: Any, least: int, otherwise: str = "") -> None:
    """Refuse what is no whole number of at least so many."""
    if not isinstance(given, Integral) or given < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}{otherwise}; got {given!r}."
        )


def checked_target(X: Any, y: Any, task: str) -> AnyArray:
    """Return labels or numbers as an array; what is none, or does not fit the rows, is refused."""
    if task == "classification":
        check_labels(y)
    else:
        check_numbers(y)
    truth = np.asarray(y)
    if truth.ndim != 1:
        what = "a label" if task == "classification" else "a number"
        raise ValueError(f"y must have one dimension, {what} per row; got {truth.ndim}.")
    check_consistent_length(X, truth)
    if task == "classification":
        return truth
    numbers = truth.astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ValueError(
            f"y must be finite numbers; it is {numbers[wrong[0]]} in row {wrong[0]}, counted from "
            "0. Leave such rows out."
        )
    return numbers


def _costs_of(estimators: Mapping[str, Any], classes: AnyArray) -> tuple[Costs, tuple[str, ...]]:
    """Return what mistakes cost, if estimators say so; with a note if they do not say the same."""
    said = {
        matrix_of_costs(value, classes)
        for estimator in estimators.values()
        for name, value in estimator.get_params(deep=True).items()
        if name.split("__")[-1] == "costs" and value is not None and len(classes)
    }
    if len(said) > 1:
        return (), (
            "The estimators have different costs of mistakes, so what rows cost is not compared.",
        )
    return (said.pop() if said else ()), ()


def _pooled(matrices: Int64Array, n_repeats: int) -> Int64Array:
    """Return a confusion matrix per repeat, the sum of those of its folds."""
    return matrices.reshape(n_repeats, -1, *matrices.shape[1:]).sum(axis=1)


def _estimators(
    methods: Sequence[str] | Mapping[str, Any] | None, random_state: int, task: str
) -> dict[str, Any]:
    """Return unfitted estimators by name, all of them with a seed."""
    listed = () if methods is None or isinstance(methods, Mapping) else methods
    if isinstance(methods, str) or not all(isinstance(name, str) for name in listed):
        raise ValueError(
            "methods must be a list of names, or a mapping of names to estimators, such as "
            f"{{'mine': CartClassifier()}}; got {methods!r}."
        )
    if isinstance(methods, Mapping):
        chosen = {str(name): clone(estimator) for name, estimator in methods.items()}
    else:
        names = by_default(task) if methods is None else dict.fromkeys(methods)
        chosen = {name: find_method(name, task).make(random_state) for name in names}
    if not chosen:
        known = ", ".join(methods_for(task))
        raise ValueError(f"There is nothing to compare. The methods are {known}.")
    for estimator in chosen.values():
        seeds = {
            name: random_state
            for name, value in estimator.get_params(deep=True).items()
            if value is None and name.split("__")[-1] == "random_state"
        }
        estimator.set_params(**seeds)
    return chosen


def _divisions(folding: _Classes | _Numbers, folds: Folds) -> Iterator[tuple[AnyArray, AnyArray]]:
    """Training and test rows of each fold of each repeat."""
    last = folds.before + folds.n_repeats
    seeds = np.random.SeedSequence(folds.random_state).generate_state(last)
    for seed in seeds[folds.before :].tolist():
        yield from folding.split(folds.n_folds, seed)


def _measure(
    name: str,
    estimator: Any,
    X: Any,
    folding: _Classes | _Numbers,
    division: tuple[AnyArray, AnyArray],
    parent: int,
) -> tuple[FloatArray, Int64Array]:
    """Fit a copy of an estimator on some rows; return measures and confusion matrix of others."""
    leave_interrupts_to(parent)
    for module in ("obliqua.engine.grow", "obliqua.prune", "obliqua.methods.hhcart"):
        import_module(module)  # a fit does that too; the first one would seem slow
    train, test = division
    model = clone(estimator)
    rows, truth = safe_indexing(X, train), folding.truth[train]
    try:
        started = time.perf_counter()
        with warnings.catch_warnings():  # said of the whole table, not of each fold
            warnings.filterwarnings("ignore", "Column .* levels in .* rows: so many")
            model.fit(rows, truth)
        seconds = time.perf_counter() - started
        predicted = model.predict(safe_indexing(X, test))
    except Exception as error:
        error.add_note(_where_from(name, estimator, X))
        raise
    values, matrix = folding.measured(test, predicted, tree_shape(model))
    return np.array([*values, seconds]), matrix


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


def tree_shape(model: Any) -> tuple[float, float, float, float]:
    """Return leaves, depth, features per split and per leaf; NaN if there is no tree.

    Features per split is the mean number of columns that an inner node looks at, features per
    leaf that of a linear function in a leaf.
    """
    nothing = float("nan")
    model = model.steps[-1][1] if hasattr(model, "steps") else model  # a pipeline ends in its tree
    if not (hasattr(model, "get_n_leaves") and hasattr(model, "get_depth")):
        return nothing, nothing, nothing, nothing
    leaves, depth = float(model.get_n_leaves()), float(model.get_depth())
    container = getattr(model, "model_", None)
    if isinstance(container, Model):
        return leaves, depth, features_per_split(container), features_per_leaf(container)
    split = nothing if depth == 0 else 1.0  # scikit-learn's are axis-parallel
    return leaves, depth, split, nothing
