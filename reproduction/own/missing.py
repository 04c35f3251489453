"""Missing values: what the trees do with them, against filling them in before.

**Protocol.** A fifth of all entries is removed at random, from rows to train on and from rows to
test on, five times with another seed. On pima and wine each time is a ten-fold cross-validation,
on Income a tree for the fixed test rows. Each tree is grown in three ways from the same rows with
the same holes:

- *node*: missing numbers are the mean of the node, the library's default;
- *training*: they are the mean over all training rows at each node, OC1's rule;
- *imputed*: before the tree, in a pipeline, numbers are filled in by the mean and levels by the
  most frequent one, both of the training rows.

In the first two, a missing level is a level of its own. The trees have the library's defaults, but
a tenth of the rows is held out for pruning, or they are pruned by cross-validation (*+cv*). Which
rows are held out depends on their content, so on what is filled in; that alone makes trees differ.
Cross-validation uses all rows for both, and varies less.

**Where a difference comes from.** Further methods, which run only if they are asked for, grow
CART with half of the imputation (*levels*: only levels are filled in, *numbers*: only numbers),
with a missing level written as a text of its own (*text*), and with entropy in place of the
default criterion (*CART+entropy*, *CART+entropy+cv*).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from obliqua import datasets
from obliqua._typing import AnyArray
from obliqua.select.methods import Method
from obliqua.select.result import Figure, mean_and_sd
from obliqua.stats import metrics as measures
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.tables import Comparison, PaperTable, Row

__all__ = [
    "EXTRA_METHODS",
    "FURTHER",
    "HANDLINGS",
    "METHODS",
    "MISSING",
    "Imputer",
    "filled_before",
    "holed",
    "imputed",
]

SHARE = 0.2
_PRUNED = {"pruning": "holdout"}
_TREES: dict[str, tuple[str, dict[str, Any]]] = {
    "CART": ("obliqua.CartClassifier", _PRUNED),
    "D": ("obliqua.HHCartClassifier", {"variant": "dominant", **_PRUNED}),
    "A": ("obliqua.HHCartClassifier", {"variant": "all", **_PRUNED}),
}
TREES = _TREES | {
    f"{name}+cv": (tree, {**params, "pruning": "cv"}) for name, (tree, params) in _TREES.items()
}
#: What is done with missing values; the last one is what the others are compared with.
HANDLINGS = ("node", "training", "imputed")
#: What else can be asked for: what a pipeline does, and in words.
FURTHER = {
    "levels": "after filling in levels only",
    "numbers": "after filling in numbers only",
    "text": "with missing levels written as text",
}
#: The word of a level that is missing, where it is written as text.
WORD = "(missing)"


class Imputer(TransformerMixin, BaseEstimator):
    """Fills in each column: numbers by their mean, levels by the most frequent one.

    It is scikit-learn's `SimpleImputer`, once per column, so that the columns stay in their
    order, on which HHCART depends, and stay qualitative.

    Parameters
    ----------
    what : {"all", "levels", "numbers", "text"}, default="all"
        What is filled in: all, or columns of one kind only; "text" leaves numbers as they are
        and writes a word for a level that is missing.
    """

    def __init__(self, what: str = "all") -> None:
        self.what = what

    def fit(self, X: AnyArray, y: AnyArray | None = None) -> Imputer:
        """Learn means and most frequent levels."""
        self.text_ = [any(isinstance(entry, str) for entry in column) for column in X.T]
        self.imputers_ = []
        for column, text in zip(X.T, self.text_, strict=True):
            imputer = self._imputer(text)
            self.imputers_.append(imputer and imputer.fit(_typed(column, text)))
        return self

    def _imputer(self, text: bool) -> SimpleImputer | None:
        """For a column of levels or numbers; None if it stays as it is."""
        if self.what in (("numbers",) if text else ("levels", "text")):
            return None
        if self.what == "text":
            return SimpleImputer(strategy="constant", fill_value=WORD)
        return SimpleImputer(strategy="most_frequent" if text else "mean")

    def transform(self, X: AnyArray) -> AnyArray:
        """Fill in what is missing."""
        filled = np.empty_like(X)
        for place, (imputer, text) in enumerate(zip(self.imputers_, self.text_, strict=True)):
            column = X[:, place]
            done = column if imputer is None else imputer.transform(_typed(column, text))[:, 0]
            filled[:, place] = done
        return filled


def _typed(column: AnyArray, text: bool) -> AnyArray:
    return (column if text else column.astype(np.float64))[:, None]


def imputed(tree: str, random_state: int, what: str = "all", **params: Any) -> Pipeline:
    """Make a pipeline that fills in missing values before it grows a tree."""
    grown = Method("tree", "", tree, params).make(random_state)
    return Pipeline([("impute", Imputer(what)), ("tree", grown)])


_IMPUTED = "reproduction.own.missing.imputed"


def _native(name: str, fill: str, tree: str, params: dict[str, Any]) -> Method:
    title = f"{name}, missing numbers: mean of the {fill}"
    return Method(f"{name}/{fill}", title, tree, {**params, "fill": fill})


def filled_before(name: str, tree: str, params: dict[str, Any]) -> Method:
    """Return the method that grows a tree after filling in what is missing."""
    title = f"{name} after filling in by mean and most frequent level"
    return Method(f"{name}/imputed", title, _IMPUTED, {"tree": tree, **params})


def _methods() -> tuple[Method, ...]:
    found = []
    for name, (tree, params) in TREES.items():
        found += [_native(name, fill, tree, params) for fill in HANDLINGS[:2]]
        found.append(filled_before(name, tree, params))
    return tuple(found)


def _extra_methods() -> tuple[Method, ...]:
    found = []
    for name in ("CART", "CART+cv"):
        tree, params = TREES[name]
        for what, words in FURTHER.items():
            given = {"tree": tree, "what": what, **params}
            found.append(Method(f"{name}/{what}", f"{name} {words}", _IMPUTED, given))
    for name in ("CART", "CART+cv"):
        tree, params = TREES[name]
        params = {**params, "criterion": "entropy"}
        longer = name.replace("CART", "CART+entropy")
        found += [_native(longer, "node", tree, params), filled_before(longer, tree, params)]
    return tuple(found)


METHODS = _methods()
#: Methods that run only if they are asked for.
EXTRA_METHODS = _extra_methods()


def holed(load: Callable[..., Any]) -> Callable[[], ExperimentRows]:
    """Return a loader of the same rows, with a fifth of all entries to be removed."""

    def rows() -> ExperimentRows:
        X, y = load(return_X_y=True)
        return ExperimentRows(X, y, missing=SHARE)

    return rows


def _income() -> ExperimentRows:
    X, y = datasets.load_adult(subset="train", return_X_y=True)
    X_test, y_test = datasets.load_adult(subset="test", return_X_y=True)
    return ExperimentRows(X, y, X_test, y_test, SHARE)


@dataclass(frozen=True)
class Handled(Comparison):
    """Accuracy and size by data set and tree, side by side for what is done with holes."""

    def markdown(self) -> str:
        """The table with the differences to imputation, as Markdown."""
        head = "| set | tree | seeds |"
        rule = "|--|--|--:|"
        for handling in self._handlings():
            head += f" accuracy: {handling} | leaves |"
            rule += "--:|--:|"
        for handling in self._compared():
            head += f" {handling} - {HANDLINGS[-1]} |"
            rule += "--:|"
        lines = [f"## {self.table.title}", "", head, rule]
        lines += [self._line(data_set, tree) for data_set, tree in self._pairs()]
        return "\n".join([*lines, "", _MEANING]) + "\n"

    def _handlings(self) -> list[str]:
        """Those that were run, the usual ones first."""
        run = [row.method.rpartition("/")[2] for row in self.rows]
        return list(dict.fromkeys([*(h for h in (*HANDLINGS, *FURTHER) if h in run), *run]))

    def _compared(self) -> list[str]:
        return [handling for handling in self._handlings() if handling != HANDLINGS[-1]]

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = [(row.data_set, _tree(row)) for row in self.rows]
        return list(dict.fromkeys(pairs))

    def _found(self, data_set: str, tree: str) -> dict[str, Row]:
        """Rows by what is done with holes."""
        return {
            row.method.rpartition("/")[2]: row
            for row in self.rows
            if (row.data_set, _tree(row)) == (data_set, tree)
        }

    def _line(self, data_set: str, tree: str) -> str:
        found = self._found(data_set, tree)
        repeats = next(iter(found.values())).ours.repeats
        out = [data_set, tree, str(repeats)]
        for handling in self._handlings():
            ours = found[handling].ours if handling in found else None
            out.append(Figure(*ours.accuracy).text(2) if ours else "")
            out.append(Figure(*ours.leaves).text(1) if ours else "")
        for handling in self._compared():
            both = handling in found and HANDLINGS[-1] in found
            gain = difference(found[handling], found[HANDLINGS[-1]]) if both else None
            out.append("" if gain is None else _signed(gain))
        return "| " + " | ".join(out) + " |"

    def csv(self) -> str:
        """The same figures, unrounded, a line per method, as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            [
                *("set", "tree", "handling", "seeds", "accuracy", "accuracy_sd", "leaves"),
                *("leaves_sd", "macro_f", "macro_f_sd", "gain", "gain_sd"),
            ]
        )
        for row in self.rows:
            tree, _, handling = row.method.rpartition("/")
            found = self._found(row.data_set, tree)
            gain: tuple[object, object] = ("", "")
            if handling != HANDLINGS[-1] and HANDLINGS[-1] in found:
                gain = difference(row, found[HANDLINGS[-1]])
            ours = row.ours
            figures = [*ours.accuracy, *ours.leaves, *ours.macro_f, *gain]
            plain = ["" if value != value else value for value in figures]
            writer.writerow([row.data_set, tree, handling, ours.repeats, *plain])
        return text.getvalue()


_MEANING = (
    "Accuracy in per cent. Means and sample standard deviations over the seeds; a difference is "
    "taken seed by seed, with the same holes and the same folds, and its standard deviation is "
    "that of the single differences."
)


def _tree(row: Row) -> str:
    return row.method.rpartition("/")[0]


def difference(row: Row, other: Row) -> tuple[float, float]:
    """Mean and standard deviation, over seeds, of the difference in accuracy."""
    pairs = zip(row.cells, other.cells, strict=True)
    return mean_and_sd(
        [
            100.0 * (measures.accuracy_of(one.matrix) - measures.accuracy_of(two.matrix))
            for one, two in pairs
        ]
    )


def _signed(gain: tuple[float, float]) -> str:
    mean, sd = gain
    spread = "" if sd != sd else f" ± {sd:.2f}"
    return f"{mean:+.2f}{spread}"


#: Three trees, three ways with missing values, three data sets.
MISSING = PaperTable(
    shown_as=Handled,
    name="missing-values",
    title="A fifth of all entries missing: handled by the tree, or filled in before",
    data_sets=(
        DataSet("pima", "Pima Indians diabetes", holed(datasets.load_pima)),
        DataSet("wine", "Wine", holed(datasets.load_wine)),
        DataSet("Income", "Income (Adult), fixed test rows", _income),
    ),
    methods=METHODS + EXTRA_METHODS,
    standard=tuple(method.name for method in METHODS),
    published={},
    prototype={},
    repeats=5,
    n_folds=10,
)
