"""How the papers measure: repeated cross-validation, or several trees on a fixed test set.

A *cell* is one repeat of one method on one data set. It depends on nothing but the data, the
method, the seed and its own number, so cells can be computed in any order, by any number of
processes, and on different days.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from obliqua import C45Classifier, OC1Classifier
from obliqua._typing import AnyArray, Int64Array
from obliqua.select.methods import Method
from obliqua.select.result import mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.rows import ExperimentRows

__all__ = [
    "CellResult",
    "DataSet",
    "Summary",
    "WholeTreeMethod",
    "as_published",
    "folds",
    "run_cell",
    "summarise",
]

N_FOLDS = 5

UNKNOWN = (float("nan"), float("nan"))


def as_published(method: Method, seed: int) -> Any:
    """Return the estimator of a method, pruned and with missing values handled as in its paper.

    Where a table does not say how, a tenth of the rows is held out for pruning, as in the papers
    on oblique trees. No paper tries sides: OC1 fills in the mean of all rows, C4.5 goes with most
    rows, and what the others leave open was the mean of the node here before there were sides.
    """
    model = method.make(seed)
    if not isinstance(model, BaseEstimator):
        return model
    parts = model.get_params()
    for name in parts:
        if name.rpartition("__")[2] == "fill" and name not in method.params:
            owner = parts.get(name.rpartition("__")[0], model)
            fill = "training" if isinstance(owner, OC1Classifier) else "node"
            fill = "heaviest" if isinstance(owner, C45Classifier) else fill
            model.set_params(**{name: fill})
        if name.rpartition("__")[2] == "pruning" and parts[name] == "auto":
            model.set_params(**{name: "holdout"})
    return model


class WholeTreeMethod(Method):
    """A method whose noted size is that of one tree grown from all rows, as some papers count."""


@dataclass(frozen=True)
class DataSet:
    """A data set of a table.

    Parameters
    ----------
    name : str
        Its short name in the table.
    title : str
        What it is called in full.
    load : callable
        Returns its rows.
    """

    name: str
    title: str
    load: Callable[[], ExperimentRows]


@dataclass(frozen=True)
class CellResult:
    """What one repeat has given.

    Parameters
    ----------
    classes : list of str
        The labels, in the order of the matrix.
    confusion : list of list of int
        Confusion matrix over all test rows of the repeat.
    leaves : list of int
        Leaves of each tree of the repeat; empty if the method grows none.
    seconds : float
        Time of fitting and predicting. Times are all that varies between runs.
    hyperplanes : list of int
        Hyperplanes that the fit of each tree has tried, if the method counts them.
    features : list of float
        Features per split of each tree, if the estimator has a tree of ours.
    cpu_ms : float
        CPU milliseconds of a fit, the mean over the trees.
    explained : list of list of float
        Shares of the components in the energy, of each fit that has found components.
    lost : list of dict
        What each small model has lost of the one that it stands for, if it does: figures by name.
    """

    classes: list[str]
    confusion: list[list[int]]
    leaves: list[int]
    seconds: float
    hyperplanes: list[int] = field(default_factory=list)
    features: list[float] = field(default_factory=list)
    cpu_ms: float = float("nan")
    explained: list[list[float]] = field(default_factory=list)
    lost: list[dict[str, float]] = field(default_factory=list)

    @property
    def matrix(self) -> Int64Array:
        """The confusion matrix as an array."""
        return np.array(self.confusion, dtype=np.int64)


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation over the repeats; NaN for the latter if there is one.

    Accuracies are per cent, as in the papers. What a method does not tell is NaN.
    """

    repeats: int
    accuracy: tuple[float, float]
    leaves: tuple[float, float]
    macro_f: tuple[float, float]
    hyperplanes: tuple[float, float] = UNKNOWN
    features: tuple[float, float] = UNKNOWN
    cpu_ms: tuple[float, float] = UNKNOWN


def folds(n_rows: int, rng: np.random.Generator, n_folds: int = N_FOLDS) -> list[Int64Array]:
    """Divide row numbers at random into equal parts, or nearly so; classes do not count."""
    if not 2 <= n_folds <= n_rows:
        raise ValueError(f"n_folds must be from 2 to the number of rows {n_rows}, got {n_folds}")
    return [np.sort(part) for part in np.array_split(rng.permutation(n_rows), n_folds)]


def stratified_folds(
    y: AnyArray, rng: np.random.Generator, n_folds: int = N_FOLDS
) -> list[Int64Array]:
    """Divide row numbers at random into parts with the same share of each class, or nearly so."""
    if not 2 <= n_folds <= len(y):
        raise ValueError(f"n_folds must be from 2 to the number of rows {len(y)}, got {n_folds}")
    shuffled = rng.permutation(len(y))
    # Class after class, dealt out like cards: no fold has two rows of a class more than another.
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    return [np.sort(by_class[start::n_folds]) for start in range(n_folds)]


def _random(seed: int, data_set: str, repeat: int) -> np.random.Generator:
    """One stream per data set and repeat. All methods share it, so they see the same folds."""
    key = (zlib.crc32(data_set.encode()), repeat)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def run_cell(
    data_set: str,
    rows: ExperimentRows,
    method: Method,
    repeat: int,
    seed: int,
    n_folds: int = N_FOLDS,
) -> CellResult:
    """One repeat of one method on one data set.

    With fixed test rows it is one tree, which differs from that of another repeat only by its
    random state (the rows that it holds out for pruning). Otherwise it is a cross-validation.
    """
    rng = _random(seed, data_set, repeat)
    rows = rows.drawn(rng).with_holes(rng)
    started = time.perf_counter()
    trees: list[Any] = []
    cpu = 0.0
    true: list[AnyArray] = []
    predicted: list[AnyArray] = []
    lost: list[dict[str, float]] = []
    for X, y, X_test, y_test in _divisions(rows, rng, rows.n_folds or n_folds):
        model = as_published(method, int(rng.integers(2**31)))
        begun = time.process_time()
        model.fit(X, y)
        cpu += time.process_time() - begun
        trees.append(_tree(model))
        true.append(y_test)
        predicted.append(model.predict(X_test))
        lost += [model.lost(X_test)] if hasattr(model, "lost") else []
    cpu_ms = round(1000.0 * cpu / len(trees), 3)
    if isinstance(method, WholeTreeMethod):
        trees = [_tree(as_published(method, int(rng.integers(2**31))).fit(rows.X, rows.y))]
    classes = np.unique(np.concatenate([rows.y, *true]))
    matrix = measures.pooled_matrix(np.concatenate(true), np.concatenate(predicted), classes)
    seconds = round(time.perf_counter() - started, 3)
    return CellResult(
        [str(label) for label in classes],
        matrix.tolist(),
        [int(tree.get_n_leaves()) for tree in trees if hasattr(tree, "get_n_leaves")],
        seconds,
        [int(tree.n_hyperplanes_) for tree in trees if hasattr(tree, "n_hyperplanes_")],
        [_features(tree.model_) for tree in trees if hasattr(tree, "model_")],
        cpu_ms,
        [tree.explained_energy_.tolist() for tree in trees if hasattr(tree, "explained_energy_")],
        lost,
    )


def _tree(model: Any) -> Any:
    """Return a fitted tree, or the tree at the end of a pipeline; or what is no tree."""
    return model[-1] if hasattr(model, "steps") else model


def _divisions(
    rows: ExperimentRows, rng: np.random.Generator, n_folds: int
) -> Iterator[tuple[AnyArray, AnyArray, AnyArray, AnyArray]]:
    """Training rows, their labels, test rows, their labels: one division, or one per fold."""
    if rows.X_test is not None and rows.y_test is not None:
        yield rows.X, rows.y, rows.X_test, rows.y_test
        return
    divide = stratified_folds if rows.stratified else _simple_folds
    for test in divide(rows.y, rng, n_folds)[: rows.n_tested]:
        train = np.ones(len(rows.y), dtype=bool)
        train[test] = False
        yield rows.X[train], rows.y[train], rows.X[test], rows.y[test]


def _simple_folds(y: AnyArray, rng: np.random.Generator, n_folds: int) -> list[Int64Array]:
    return folds(len(y), rng, n_folds)


def summarise(cells: Sequence[CellResult]) -> Summary:
    """Mean and sample standard deviation over repeats.

    A repeat has one accuracy and one F-measure, from its pooled matrix, and one size: the mean
    over its trees.
    """
    return Summary(
        len(cells),
        mean_and_sd([100.0 * measures.accuracy_of(cell.matrix) for cell in cells]),
        _known([_mean(cell.leaves) for cell in cells]),
        mean_and_sd([measures.macro_f_of(cell.matrix) for cell in cells]),
        _known([_mean(cell.hyperplanes) for cell in cells]),
        _known([_mean(cell.features) for cell in cells]),
        _known([cell.cpu_ms for cell in cells]),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _known(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation, if every repeat has a value."""
    return UNKNOWN if np.isnan(values).any() else mean_and_sd(values)


def _features(model: Any) -> float:
    """Return the mean number of features of a split; of several trees the mean of all."""
    return float(np.mean([tree.features_per_split for tree in model.trees]))
