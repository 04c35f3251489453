"""C4.5 as other papers have measured it.

**OC1.** Murthy, Kasif, Salzberg (1994), *A system for induction of oblique decision trees*,
Journal of Artificial Intelligence Research 2, 1-32, table 1: ten five-fold cross-validations with
the C4.5 of the IND package. Its star and galaxy data are not to be had. The standard deviations
of this row have the size of deviations between folds, those of the paper's own method of
deviations between cross-validations. So two of them are a wide gate, which the means over ten
cross-validations should pass by far.

**2C-ETCT.** De Bruyne, Plastria, *2-class eigen transformation classification trees*, table 3: a
ten-fold cross-validation on the glass data, windows against other glass; only an accuracy is
given. The prototype's figures for it are those of Weka's J48, five cross-validations.

**Which C4.5.** The correction of gains came with release 8, in 1996, after OC1's table. The method
``C4.5/93`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from obliqua import datasets
from obliqua.experiments.protocol import DataSet, Method, Rows
from obliqua.experiments.tables import Entry, Figure, Table

__all__ = ["METHODS", "PUBLISHED", "TABLE_C45"]


def _c45(name: str, title: str, **params: Any) -> Method:
    return Method(name, title, "obliqua.C45Classifier", params)


METHODS = (
    _c45("C4.5", "C4.5, release 8"),
    _c45("C4.5/93", "without the correction of gains", mdl_correction=False),
    # What the papers do not have.
    _c45("C4.5/gain", "the largest gain instead of gain ratio", criterion="entropy"),
    _c45("C4.5-S", "without subtree raising", subtree_raising=False),
    _c45("C4.5-U", "not pruned", pruning=None),
)


def _all_rows(load: Callable[..., Any]) -> Callable[[], Rows]:
    return lambda: Rows(*load(return_X_y=True))


def _windows() -> Rows:
    rows = Rows(*datasets.load_glass(return_X_y=True))
    window = np.isin(rows.y.astype(str), ("1", "2", "3"))
    return replace(rows, y=np.where(window, "window", "other"), n_folds=10)


DATA_SETS = (
    DataSet("cancer", "Breast Cancer Wisconsin", _all_rows(datasets.load_breast_cancer_wisconsin)),
    DataSet("iris", "Iris", _all_rows(datasets.load_iris)),
    DataSet("housing", "Boston Housing", _all_rows(datasets.load_boston_housing)),
    DataSet("diabetes", "Pima Indians diabetes", _all_rows(datasets.load_pima)),
    DataSet("windows", "Glass, windows against other glass", _windows),
)


def _entry(accuracy: float, accuracy_sd: float, leaves: float, leaves_sd: float) -> Entry:
    return Entry(Figure(accuracy, accuracy_sd), Figure(leaves, leaves_sd))


#: Accuracy and number of leaves in the papers, with standard deviations.
PUBLISHED = {
    name: dict.fromkeys(("C4.5", "C4.5/93"), entry)
    for name, entry in {
        "cancer": _entry(95.3, 2.0, 9.8, 2.2),
        "iris": _entry(95.1, 3.2, 4.6, 0.8),
        "housing": _entry(83.2, 3.1, 28.2, 3.3),
        "diabetes": _entry(71.4, 3.3, 56.3, 7.9),
        "windows": Entry(Figure(93.0)),
    }.items()
}

#: Of Weka's J48.
PROTOTYPE = {"windows": {"C4.5": Entry(Figure(93.74, 0.81))}}

#: C4.5 in the tables of OC1 and of 2C-ETCT.
TABLE_C45 = Table(
    name="c45",
    title="C4.5 in table 1 of OC1 and in table 3 of 2C-ETCT",
    data_sets=DATA_SETS,
    methods=METHODS,
    standard=("C4.5", "C4.5/93"),
    published=PUBLISHED,
    prototype=PROTOTYPE,
)
