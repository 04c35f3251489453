"""All methods of the library, and scikit-learn's tree, on all data sets: who ranks where.

**Protocol.** A stratified five-fold cross-validation with the same folds for all methods, which
have their defaults, but are pruned as in their papers. They are those of
`obliqua.select.methods`: one that joins that list joins this table. Rows to train on and rows to
test on, where a set has both, are put together. Of a set with more than 2,000 rows, 2,000 are
drawn once and for all, so that all methods take minutes, not days. A method that takes numbers
only gets a column of 0 and 1 for each level.

Glass of windows against other glass is left out: it has the same rows as Glass, which would count
twice where data sets are taken for independent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from obliqua import datasets
from obliqua._typing import AnyArray
from obliqua.select.adapt import adapted
from obliqua.select.methods import METHODS, Method
from obliqua.stats.ranks import Ranks, rank_methods
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import Comparison, PaperTable, Row

__all__ = ["ALL_METHODS", "MOST_ROWS", "AdaptedClassifier", "Ranked", "adapting", "ranks_of"]

#: Larger data sets are drawn from.
MOST_ROWS = 2_000
SEED = 0


class AdaptedClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that takes numbers only, behind what makes numbers of a table.

    Parameters
    ----------
    estimator : estimator
        The classifier. `fit` makes a pipeline of it, if the table needs one.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> AdaptedClassifier:
        """Fit the classifier."""
        ready, _ = adapted({"estimator": self.estimator}, X)
        self.fitted_ = ready["estimator"].fit(X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def predict(self, X: Any) -> AnyArray:
        """Predict classes."""
        return np.asarray(self.fitted_.predict(X))

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree behind it."""
        tree = self.fitted_[-1] if hasattr(self.fitted_, "steps") else self.fitted_
        return int(tree.get_n_leaves())


def adapting(method: str, random_state: int | None = None) -> AdaptedClassifier:
    """Make a method out of the registry that takes any table."""
    return AdaptedClassifier(METHODS[method].make(random_state))


def _taking_tables(method: Method) -> Method:
    """Ours take any table as they are."""
    if method.estimator.startswith("obliqua."):
        return method
    where = "reproduction.own.all_methods.adapting"
    return replace(method, estimator=where, params={"method": method.name})


def _rows(load: Callable[..., Any], *parts: str) -> Callable[[], ExperimentRows]:
    """Load a set, its parts put together, and draw from it if it is large."""

    def loaded() -> ExperimentRows:
        found = [load(subset=part, return_X_y=True) for part in parts]
        found = found or [load(return_X_y=True)]
        X, y = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
        if len(y) > MOST_ROWS:
            rows = np.random.default_rng(SEED).permutation(len(y))[:MOST_ROWS]
            X, y = X[np.sort(rows)], y[np.sort(rows)]
        return ExperimentRows(X, y, stratified=True)

    return loaded


BOTH = ("train", "test")
DATA_SETS = (
    DataSet("BS", "Balance Scale", _rows(datasets.load_balance_scale)),
    DataSet("BH", "Boston Housing", _rows(datasets.load_boston_housing)),
    DataSet("BC", "Breast Cancer Wisconsin", _rows(datasets.load_breast_cancer_wisconsin)),
    DataSet("BUPA", "BUPA liver disorders", _rows(datasets.load_bupa)),
    DataSet("GLS", "Glass", _rows(datasets.load_glass)),
    DataSet("HRT", "Heart", _rows(datasets.load_heart)),
    DataSet("PIND", "Pima Indians diabetes", _rows(datasets.load_pima)),
    DataSet("WINE", "Wine", _rows(datasets.load_wine)),
    DataSet("SUR", "Haberman's survival", _rows(datasets.load_haberman)),
    DataSet("IRIS", "Iris", _rows(datasets.load_iris)),
    DataSet("SPECT", "SPECT heart images, all rows", _rows(datasets.load_spect, *BOTH)),
    DataSet("StatLog", "Australian credit", _rows(datasets.load_australian)),
    DataSet("SHUT", "Shuttle, 2,000 rows", _rows(datasets.load_shuttle, *BOTH)),
    DataSet("LET", "Letter recognition, 2,000 rows", _rows(datasets.load_letter)),
    DataSet("Income", "Income (Adult), 2,000 rows", _rows(datasets.load_adult, *BOTH)),
    DataSet("Bank", "Bank marketing, 2,000 rows", _rows(datasets.load_bank_full)),
)


def ranks_of(rows: Sequence[Row], measure: str) -> Ranks:
    """Rank methods over the data sets on which all have run; a note names the others."""
    scores: dict[str, dict[str, float]] = {}
    for row in rows:
        scores.setdefault(row.method, {})[row.data_set] = getattr(row.ours, measure)[0]
    told = {name: found for name, found in scores.items() if not _unknown(found)}
    return rank_methods(told, larger_is_better=measure == "accuracy", missing="drop")


def _unknown(found: dict[str, float]) -> bool:
    return all(np.isnan(value) for value in found.values())


@dataclass(frozen=True)
class Ranked(Comparison):
    """A line per method, a column per data set; then ranks and tests."""

    def markdown(self) -> str:
        """Accuracies and leaves, each with ranks below, as Markdown."""
        lines = [f"## {self.table.title}", "", self.table.note, ""]
        for measure, title, digits in (
            ("accuracy", "Accuracy in per cent", 1),
            ("leaves", "Leaves, fewer are better", 1),
        ):
            lines += [f"### {title}", "", *self._grid(measure, digits), ""]
            try:
                lines += [ranks_of(self.rows, measure).markdown()]
            except ValueError as error:
                lines += [f"No ranks: {error}", ""]
        titles = {method.name: method.title for method in self.table.methods}
        run = dict.fromkeys(row.method for row in self.rows)
        return "\n".join([*lines, *(f"- *{name}*: {titles[name]}" for name in run)]) + "\n"

    def _grid(self, measure: str, digits: int) -> list[str]:
        sets = list(dict.fromkeys(row.data_set for row in self.rows))
        means: dict[str, dict[str, float]] = {}
        for row in self.rows:
            means.setdefault(row.method, {})[row.data_set] = getattr(row.ours, measure)[0]
        lines = [f"| method | {' | '.join(sets)} |", "|--" + "|--:" * len(sets) + "|"]
        for name, found in means.items():
            values = [found.get(each, float("nan")) for each in sets]
            cells = ["" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
            lines.append(f"| {name} | {' | '.join(cells)} |")
        return lines


# HHCART(G), which came later, has a table of its own.
_METHODS = tuple(_taking_tables(method) for name, method in METHODS.items() if name != "hhcart-g")

#: Every method on every data set.
ALL_METHODS = PaperTable(
    shown_as=Ranked,
    name="all-methods",
    title="All methods on all data sets",
    data_sets=DATA_SETS,
    methods=_METHODS,
    standard=tuple(method.name for method in _METHODS),
    published={},
    prototype={},
    repeats=1,
    note=(
        "A stratified five-fold cross-validation, the same folds for all; all methods have their "
        "defaults, but are pruned as in their papers. SHUT, LET, Income and Bank are 2,000 rows "
        "drawn from larger sets, so accuracies there are below those of other tables."
    ),
)
