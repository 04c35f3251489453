"""C4.5 as other papers have measured it.

**OC1**, table 1: see `reproduction.papers.oc1`, from which data sets, figures and the method come.

**2C-ETCT**, table 3: see `reproduction.papers.etct`. A ten-fold cross-validation on the glass
data, windows against other glass; only an accuracy is given. The prototype's figures for it are
those of Weka's J48, five cross-validations. J48's folds are stratified, and so are ours here.

**J48.** The table ``c45-more`` has other figures of J48, of one stratified ten-fold
cross-validation each, and the test rows of Income, for which there are none. Nothing is random
there, so one repeat is all.

**Missing values.** ``c45-missing`` removes a fifth of all entries at random. *branch* is what the
library does: a row with a missing value takes the heaviest branch. *imputed* fills in means, and
most frequent levels, of the training rows before.

**Which C4.5.** The correction of gains came with release 8, in 1996, after OC1's table. The method
``C4.5/93`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from obliqua import datasets
from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.own.missing import Handled, filled_before, holed
from reproduction.papers import etct, oc1
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable

__all__ = ["METHODS", "PUBLISHED", "TABLE_C45", "TABLE_MISSING", "TABLE_MORE"]


def _c45(name: str, title: str, **params: Any) -> Method:
    return Method(name, title, "obliqua.C45Classifier", params)


METHODS = (
    _c45("C4.5", "C4.5, release 8"),
    oc1.C45_1993,
    # What the papers do not have.
    _c45("C4.5/gain", "the largest gain instead of gain ratio", criterion="entropy"),
    _c45("C4.5-S", "without subtree raising", subtree_raising=False),
    _c45("C4.5-U", "not pruned", pruning=None),
)
METHODS_MORE = (
    METHODS[0],
    _c45("C4.5-B", "one level against the others", binary=True),
    METHODS[-1],
)


def _all_rows(load: Callable[..., Any]) -> Callable[[], ExperimentRows]:
    return lambda: ExperimentRows(*load(return_X_y=True))


def _as_j48(load: Callable[..., Any]) -> Callable[[], ExperimentRows]:
    """Ten stratified folds."""
    return lambda: replace(_all_rows(load)(), stratified=True, n_folds=10)


def _windows() -> ExperimentRows:
    rows = _as_j48(datasets.load_glass)()
    window = np.isin(rows.y.astype(str), ("1", "2", "3"))
    return replace(rows, y=np.where(window, "window", "other"))


def _income() -> ExperimentRows:
    train, test = (datasets.load_adult(subset=part, return_X_y=True) for part in ("train", "test"))
    return ExperimentRows(*train, *test)


DATA_SETS = (
    *oc1.DATA_SETS_1,
    DataSet("windows", "Glass, windows against other glass", _windows),
)

_ENTRIES = {
    **{one.name: oc1.PUBLISHED_1[one.name]["C4.5/93"] for one in oc1.DATA_SETS_1},
    "windows": etct.PUBLISHED_3["windows"]["C4.5"],
}

#: Accuracy and number of leaves in the papers, with standard deviations.
PUBLISHED = {name: dict.fromkeys(("C4.5", "C4.5/93"), entry) for name, entry in _ENTRIES.items()}

#: Of Weka's J48.
PROTOTYPE = {"windows": {"C4.5": etct.PROTOTYPE_3["windows"]["C4.5"]}}

#: C4.5 in the tables of OC1 and of 2C-ETCT.
TABLE_C45 = PaperTable(
    name="c45",
    title="C4.5 in table 1 of OC1 and in table 3 of 2C-ETCT",
    data_sets=DATA_SETS,
    methods=METHODS,
    standard=("C4.5", "C4.5/93"),
    published=PUBLISHED,
    prototype=PROTOTYPE,
)

#: Of J48, accuracies of one cross-validation; on the glass windows the mean of five.
J48 = {
    "iris": 94.7,
    "wine": 93.8,
    "bupa": 67.8,
    "cancer": 95.9,
    "diabetes": 74.3,
}

#: C4.5 beside J48, and on Income.
TABLE_MORE = PaperTable(
    name="c45-more",
    title="C4.5 beside Weka's J48, and on Income",
    data_sets=(
        DataSet("iris", "Iris", _as_j48(datasets.load_iris)),
        DataSet("wine", "Wine", _as_j48(datasets.load_wine)),
        DataSet("bupa", "BUPA liver disorders", _as_j48(datasets.load_bupa)),
        DataSet(
            "cancer", "Breast Cancer Wisconsin", _as_j48(datasets.load_breast_cancer_wisconsin)
        ),
        DataSet("diabetes", "Pima Indians diabetes", _as_j48(datasets.load_pima)),
        DataSet("windows", "Glass, windows against other glass", _windows),
        DataSet("Income", "Income (Adult), fixed test rows", _income),
    ),
    methods=METHODS_MORE,
    standard=tuple(method.name for method in METHODS_MORE),
    published={},
    prototype=PROTOTYPE | {name: {"C4.5": TableEntry(Figure(mean))} for name, mean in J48.items()},
)

#: C4.5 with a fifth of all entries missing.
TABLE_MISSING = PaperTable(
    shown_as=Handled,
    name="c45-missing",
    title="C4.5 with a fifth of all entries missing: the heaviest branch, or filled in before",
    data_sets=(
        DataSet("pima", "Pima Indians diabetes", holed(datasets.load_pima)),
        DataSet("cancer", "Breast Cancer Wisconsin", holed(datasets.load_breast_cancer_wisconsin)),
        DataSet("wine", "Wine", holed(datasets.load_wine)),
        DataSet("heart", "Heart", holed(datasets.load_heart)),
    ),
    methods=(
        _c45("C4.5/branch", "C4.5, missing values take the heaviest branch"),
        filled_before("C4.5", "obliqua.C45Classifier", {}),
    ),
    standard=("C4.5/branch", "C4.5/imputed"),
    published={},
    prototype={},
    n_folds=10,
)
