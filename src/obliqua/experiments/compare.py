"""Methods side by side on a user's own data: `compare` cross-validates them on the same folds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import joblib
import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, check_consistent_length

from obliqua import _confusion as measures
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.estimators._labels import encode_labels
from obliqua.experiments.adapt import adapted
from obliqua.experiments.methods import METHODS, find_method
from obliqua.experiments.protocol import mean_and_sd
from obliqua.experiments.tables import Figure
from obliqua.model import Model

__all__ = ["LEVEL", "MEASURES", "CompareResult", "compare"]

#: What is measured in each fold, in the order of the columns of `CompareResult.folds`.
MEASURES = ("accuracy", "macro_f", "leaves", "depth", "features_per_split", "seconds")

#: What is measured for each class, in the order of `CompareResult.rates`.
RATES = ("tpr", "tnr")

#: Differences with a larger p-value count as noise.
LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class CompareResult:
    """What `compare` has measured.

    Parameters
    ----------
    folds : mapping of str to ndarray of shape (n_folds * n_repeats, 6)
        By method, the measures of each fold in the order of `MEASURES`: accuracy and macro F on
        the rows held out, leaves, depth, features per split, seconds of fitting. NaN where an
        estimator does not tell, and for features per split of a tree without a split.
    n_rows, n_features, n_classes : int
        The size of the data.
    n_folds, n_repeats : int
        The folds of a cross-validation, and how often it was repeated with other folds.
    notes : tuple of str
        What a reader should know: that there were fewer folds than asked for, for instance.
    classes : tuple
        The labels of the classes.
    rates : mapping of str to ndarray of shape (n_folds * n_repeats, 2, n_classes)
        By method, the true positive rates and the true negative rates of the classes in each
        fold.
    """

    folds: Mapping[str, FloatArray]
    n_rows: int
    n_features: int
    n_classes: int
    n_folds: int
    n_repeats: int
    notes: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    rates: Mapping[str, FloatArray] = field(default_factory=dict)

    @cached_property
    def best(self) -> str:
        """The method with the largest mean accuracy; the first of them at ties."""
        means = {name: values[:, 0].mean() for name, values in self.folds.items()}
        return max(means, key=means.__getitem__)

    @cached_property
    def p_values(self) -> dict[str, float]:
        """By method, the p-value of its difference in accuracy to the best; 1 for the best.

        A paired t-test over folds in which the variance is multiplied by 1 + n_test / n_train
        per fold, because the training rows of folds overlap (Nadeau and Bengio, 2003). Nothing
        is corrected for the number of methods.
        """
        best = self.folds[self.best][:, 0]
        overlap = 1.0 / (self.n_folds - 1)
        return {
            name: _p_value(best - values[:, 0], overlap) for name, values in self.folds.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per method: means and standard deviations over folds.

        Returns
        -------
        list of dict
            With the keys ``method``, each of `MEASURES`, each with ``_sd`` behind it,
            ``p_value`` and ``within_noise``: whether the accuracy cannot be told from the
            best one's; then for each class ``tpr[label]`` and ``tnr[label]``, the means of its
            true positive and its true negative rate.
        """
        out: list[dict[str, Any]] = []
        for name, values in self.folds.items():
            row: dict[str, Any] = {"method": name}
            for measure, column in zip(MEASURES, values.T, strict=True):
                row[measure], row[f"{measure}_sd"] = _figure(column)
            row["p_value"] = self.p_values[name]
            row["within_noise"] = self.p_values[name] >= LEVEL
            for rate, by_class in zip(RATES, self._mean_rates(name), strict=True):
                pairs = zip(self.classes, by_class, strict=True)
                row |= {f"{rate}[{label}]": mean for label, mean in pairs}
            out.append(row)
        return out

    def _mean_rates(self, name: str) -> list[list[float]]:
        """Return the means over folds of both rates of each class."""
        if name not in self.rates:
            return [[] for _ in RATES]
        return [
            [_figure(one)[0] for one in rate.T] for rate in np.moveaxis(self.rates[name], 1, 0)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single folds, ready for JSON.

        Returns
        -------
        dict
            Sizes, labels of the classes, notes, and `rows` under ``methods``. What is not known
            is None.
        """
        sizes = ("n_rows", "n_features", "n_classes", "n_folds", "n_repeats")
        return {
            **{size: getattr(self, size) for size in sizes},
            "classes": list(self.classes),
            "best": self.best,
            "notes": list(self.notes),
            "methods": [
                {key: None if _is_nan(value) else value for key, value in row.items()}
                for row in self.rows()
            ],
        }

    def rate_rows(self) -> list[list[Any]]:
        """Return the true positive and true negative rates of each class as a table shows them.

        Returns
        -------
        list of list
            What stands below `RATE_HEADS`: for each class, each method. First the label, then
            texts: means and standard deviations over folds, in per cent.
        """
        out: list[list[Any]] = []
        for place, label in enumerate(self.classes):
            for name, rates in self.rates.items():
                pairs = [_figure(100.0 * rates[:, which, place]) for which in range(len(RATES))]
                out.append([label, name, *(Figure(*pair).text(1) or "-" for pair in pairs)])
        return out

    def markdown(self, rates: bool = False) -> str:
        """Return the table as Markdown, with its notes below.

        Parameters
        ----------
        rates : bool, default=False
            Whether a second table has the rates of each class.

        Returns
        -------
        str
            The text. Accuracies and rates are per cent, times milliseconds.
        """
        lines = ["| " + " | ".join(HEADS) + " |", "|---" + "|---:" * (len(HEADS) - 1) + "|"]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in self.rows()]
        if rates:
            lines += ["", "| " + " | ".join(RATE_HEADS) + " |", "|---|---|---:|---:|"]
            lines += ["| " + " | ".join(_escaped(row)) + " |" for row in self.rate_rows()]
            lines += ["", RATES_MEAN]
        for note in (self.reading(), *self.notes):
            lines += ["", note]
        return "\n".join(lines) + "\n"

    def reading(self) -> str:
        """Return a sentence or two on how the table is to be read.

        Returns
        -------
        str
            What was measured, and which differences are within noise.
        """
        times = "" if self.n_repeats == 1 else f", repeated {self.n_repeats} times"
        text = f"Means ± standard deviations over {self.n_folds} stratified folds{times}. "
        if len(self.folds) == 1:
            return text.rstrip()
        same = [name for name, p in self.p_values.items() if p >= LEVEL and name != self.best]
        if not same:
            return text + f"{self.best} is best, beyond noise (corrected paired t-test, 5 %)."
        return text + (
            "A * marks accuracies that cannot be told from the best one: differences within "
            "noise (corrected paired t-test, 5 %)."
        )


#: The heads of a table of `cells`.
HEADS = ("method", "accuracy %", "macro F", "leaves", "depth", "features/split", "fit ms")


#: The heads of a table of `CompareResult.rate_rows`.
RATE_HEADS = ("class", "method", "TPR %", "TNR %")

#: What they mean.
RATES_MEAN = (
    "TPR, the true positive rate: how many rows of a class are found. TNR, the true negative "
    "rate: how many of the other rows are not taken for it."
)


def _escaped(entries: Sequence[Any]) -> list[str]:
    """Keep what labels hold from dividing the cells of a Markdown table."""
    return [" ".join(str(entry).replace("|", "\\|").split()) for entry in entries]


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return a row of `CompareResult.rows` as a table shows it: the texts below `HEADS`."""

    def text(measure: str, digits: int, factor: float = 1.0, spread: bool = True) -> str:
        sd = factor * row[f"{measure}_sd"] if spread else float("nan")
        if factor * row[measure] > 100.0:
            digits = 0
        return Figure(factor * row[measure], sd).text(digits) or "-"

    mark = "*" if row["within_noise"] else " "
    return [
        row["method"],
        f"{text('accuracy', 1, 100.0)} {mark}".rstrip(),
        text("macro_f", 2),
        text("leaves", 1),
        text("depth", 1, spread=False),
        text("features_per_split", 1, spread=False),
        text("seconds", 1, 1000.0, spread=False),
    ]


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
        does not take such. Your own estimators get X as it is.
    y : array-like of shape (n_rows,)
        The class labels.
    methods : sequence of str, mapping of str to estimator, or None, default=None
        Names out of `obliqua.experiments.methods.METHODS`; or estimators of your own under
        any name; all methods for `None`. Estimators are cloned, never changed.
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
        Accuracy, macro F, leaves, depth, features per split and time of each method, and the
        true positive and true negative rates of each class.

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
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have one dimension, a label per row; got {labels.ndim}.")
    check_consistent_length(X, labels)
    for name, count, least in (("n_folds", n_folds, 2), ("n_repeats", n_repeats, 1)):
        if count < least:
            raise ValueError(f"{name} must be at least {least}; got {count}.")
    estimators = _estimators(methods, random_state)
    classes, codes = encode_labels(labels)
    n_folds, notes = _possible_folds(n_folds, classes, np.bincount(codes))
    if not isinstance(methods, Mapping):
        estimators, more = adapted(estimators, X)
        notes += more
    divisions = list(_divisions(codes, n_folds, n_repeats, random_state))
    tasks = [(name, division) for division in divisions for name in estimators]
    calls = (
        joblib.delayed(_measure)(estimators[name], X, labels, classes, *division)
        for name, division in tasks
    )
    found: dict[str, list[tuple[FloatArray, FloatArray]]] = {name: [] for name in estimators}
    results = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, ((name, _), values) in enumerate(zip(tasks, results, strict=True), start=1):
        found[name].append(values)
        if progress is not None:
            progress(done, len(tasks), name)
    return CompareResult(
        {name: np.stack([values for values, _ in both]) for name, both in found.items()},
        *(len(labels), np.shape(X)[1], len(classes)),
        n_folds=n_folds,
        n_repeats=n_repeats,
        notes=notes,
        classes=tuple(classes.tolist()),
        rates={name: np.stack([rates for _, rates in both]) for name, both in found.items()},
    )


def _estimators(
    methods: Sequence[str] | Mapping[str, Any] | None, random_state: int
) -> dict[str, Any]:
    """Return unfitted estimators by name, all of them with a seed."""
    if isinstance(methods, str):
        raise ValueError(f"methods must be a list of names or a mapping; got {methods!r}.")
    if isinstance(methods, Mapping):
        chosen = {str(name): clone(estimator) for name, estimator in methods.items()}
    else:
        names = METHODS if methods is None else dict.fromkeys(methods)
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
    estimator: Any, X: Any, y: AnyArray, classes: AnyArray, train: AnyArray, test: AnyArray
) -> tuple[FloatArray, FloatArray]:
    """Fit a copy of an estimator on some rows; return its measures, and rates, on others."""
    for module in ("obliqua.grow", "obliqua.prune", "obliqua.methods.hhcart"):
        import_module(module)  # a fit does that too; the first one would seem slow
    model = clone(estimator)
    rows, labels = _safe_indexing(X, train), y[train]
    started = time.perf_counter()
    model.fit(rows, labels)
    seconds = time.perf_counter() - started
    matrix = measures.confusion_matrix(y[test], model.predict(_safe_indexing(X, test)), classes)
    values = [measures.accuracy(matrix), measures.macro_f(matrix), *tree_shape(model), seconds]
    rates = [measures.true_positive_rates(matrix), measures.true_negative_rates(matrix)]
    return np.array(values), np.array(rates)


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


def _p_value(differences: FloatArray, overlap: float) -> float:
    """Two-sided p-value of a corrected paired t-test."""
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if mean == 0.0:
        return 1.0
    if variance == 0.0:
        return 0.0
    t = mean / np.sqrt(variance * (1.0 / len(differences) + overlap))
    return float(2.0 * stats.t.sf(abs(t), len(differences) - 1))


def _figure(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of what is known."""
    known = values[~np.isnan(values)].tolist()
    return mean_and_sd(known) if known else (float("nan"), float("nan"))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))
