"""What a comparison has measured, and how its tables show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import stats

from obliqua._typing import FloatArray, Int64Array
from obliqua.io.values import text_of
from obliqua.stats import metrics as measures

__all__ = [
    "HEADS",
    "LEVEL",
    "MEASURES",
    "RATE_HEADS",
    "CompareResult",
    "Figure",
    "cells",
    "mean_and_sd",
    "paired_p_value",
]

#: What is measured in each fold, in the order of the columns of `CompareResult.folds`.
MEASURES = ("accuracy", "leaves", "depth", "features_per_split", "seconds")

#: What is measured for each class, in the order of the rows of `CompareResult.rates`.
RATES = ("tpr", "tnr")

#: Differences with a larger p-value count as noise.
LEVEL = 0.05


@dataclass(frozen=True)
class Figure:
    """A mean and its standard deviation over repeats; NaN where it is not known."""

    mean: float
    sd: float = math.nan

    def text(self, digits: int) -> str:
        """The figure as a table shows it."""
        if math.isnan(self.mean):
            return ""
        spread = "" if math.isnan(self.sd) else f" ± {self.sd:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


@dataclass(frozen=True, eq=False)
class CompareResult:
    """What `compare` has measured.

    Parameters
    ----------
    folds : mapping of str to ndarray of shape (n_folds * n_repeats, 5)
        By method, the measures of each fold in the order of `MEASURES`: accuracy on the rows
        held out, leaves, depth, features per split, seconds of fitting. NaN where an estimator
        does not tell, and for features per split of a tree without a split.
    confusion : mapping of str to ndarray of shape (n_repeats, n_classes, n_classes)
        By method, the confusion matrix of each cross-validation, of the rows that its folds held
        out together: true classes by predicted ones.
    n_rows, n_features, n_classes : int
        The size of the data.
    n_folds, n_repeats : int
        The folds of a cross-validation, and how often it was repeated with other folds.
    notes : tuple of str
        What a reader should know: that there were fewer folds than asked for, for instance.
    classes : tuple
        The labels of the classes.
    fold_confusion : mapping of str to ndarray of shape (n_folds * n_repeats, n_classes, n_classes)
        By method, the confusion matrix of each fold.
    """

    folds: Mapping[str, FloatArray]
    confusion: Mapping[str, Int64Array]
    n_rows: int
    n_features: int
    n_classes: int
    n_folds: int
    n_repeats: int
    notes: tuple[str, ...] = ()
    classes: tuple[Any, ...] = ()
    fold_confusion: Mapping[str, Int64Array] = field(default_factory=dict)

    @cached_property
    def macro_f(self) -> dict[str, FloatArray]:
        """By method, the macro F of each cross-validation, all its folds together."""
        return {
            name: np.array([measures.macro_f_of(matrix) for matrix in matrices])
            for name, matrices in self.confusion.items()
        }

    @cached_property
    def rates(self) -> dict[str, FloatArray]:
        """By method, true positive and true negative rates of each cross-validation.

        Of shape (n_repeats, 2, n_classes), from all folds together.
        """
        both = (measures.positive_rates_of, measures.negative_rates_of)
        return {
            name: np.array([[rates(matrix) for rates in both] for matrix in matrices])
            for name, matrices in self.confusion.items()
        }

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
            name: paired_p_value(best - values[:, 0], overlap)
            for name, values in self.folds.items()
        }

    def rows(self) -> list[dict[str, Any]]:
        """Return a dict per method: means and standard deviations.

        Those of `MEASURES` are over folds. Macro F and the rates are measured once per
        cross-validation, on the confusion matrix of all its folds, as the papers do, so theirs
        are over repeats; of one repeat the standard deviation is NaN.

        Returns
        -------
        list of dict
            With the keys ``method``, ``accuracy``, ``macro_f`` and the others of `MEASURES`,
            each with ``_sd`` behind it, ``p_value`` and ``within_noise``: whether the accuracy
            cannot be told from the best one's; then for each class ``tpr[label]`` and
            ``tnr[label]``, the means of its true positive and its true negative rate. The
            labels of truth values are ``true`` and ``false``.
        """
        out: list[dict[str, Any]] = []
        for name, values in self.folds.items():
            row: dict[str, Any] = {"method": name}
            columns = dict(zip(MEASURES, values.T, strict=True))
            known = {"accuracy": columns["accuracy"], "macro_f": self.macro_f[name], **columns}
            for measure, column in known.items():
                row[measure], row[f"{measure}_sd"] = _figure(column)
            row["p_value"] = self.p_values[name]
            row["within_noise"] = self.p_values[name] >= LEVEL
            for rate, by_class in zip(RATES, self.rates[name].mean(axis=0), strict=True):
                pairs = zip(self.classes, by_class.tolist(), strict=True)
                row |= {f"{rate}[{text_of(label)}]": mean for label, mean in pairs}
            out.append(row)
        return out

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

    def rate_rows(self) -> list[list[str]]:
        """Return the true positive and true negative rates of each class as a table shows them.

        Returns
        -------
        list of list of str
            What stands below `RATE_HEADS`: for each class, each method. First the label, then
            texts: means and, if there are several, standard deviations over repeats, in per cent.
        """
        out: list[list[str]] = []
        for place, label in enumerate(self.classes):
            for name, rates in self.rates.items():
                pairs = [_figure(100.0 * rates[:, which, place]) for which in range(len(RATES))]
                out.append(
                    [text_of(label), name, *(Figure(*pair).text(1) or "-" for pair in pairs)]
                )
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
            lines += ["", self.reading_of_rates()]
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
        text = f"Means ± standard deviations over {self.n_folds} stratified folds"
        if self.n_repeats == 1:
            text += "; macro F is of all folds together. "
        else:
            text += f", repeated {self.n_repeats} times; {_over_repeats('macro F')}. "
        if len(self.folds) == 1:
            return text.rstrip()
        same = [name for name, p in self.p_values.items() if p >= LEVEL and name != self.best]
        if not same:
            return text + f"{self.best} is best, beyond noise (corrected paired t-test, 5 %)."
        return text + (
            "A * marks accuracies that cannot be told from the best one: differences within "
            "noise (corrected paired t-test, 5 %)."
        )

    def reading_of_rates(self) -> str:
        """Return sentences on what the rates of classes mean.

        Returns
        -------
        str
            What they are, and of what.
        """
        if self.n_repeats == 1:
            return f"{RATES_MEAN} Both are of all folds together."
        text = _over_repeats("both")
        return f"{RATES_MEAN} {text[0].upper()}{text[1:]}."


def _over_repeats(what: str) -> str:
    return f"{what}: over the repeats, each of all its folds together"


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


def paired_p_value(differences: FloatArray, overlap: float) -> float:
    """Return the two-sided p-value of a corrected paired t-test (Nadeau and Bengio, 2003).

    `overlap` is n_test / n_train of a fold: the variance of a mean is so much larger than folds
    without common training rows would make it. The p-value is 1 if the mean is 0, and 0 if all
    differences are the same.
    """
    mean, variance = float(differences.mean()), float(differences.var(ddof=1))
    if mean == 0.0:
        return 1.0
    if variance == 0.0:
        return 0.0
    t = mean / np.sqrt(variance * (1.0 / len(differences) + overlap))
    return float(2.0 * stats.t.sf(abs(t), len(differences) - 1))


def mean_and_sd(values: Sequence[float]) -> tuple[float, float]:
    """Mean and sample standard deviation; the latter is NaN for one value."""
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
    return float(np.mean(values)), sd


def _figure(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation of what is known."""
    known = values[~np.isnan(values)].tolist()
    return mean_and_sd(known) if known else (float("nan"), float("nan"))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))
