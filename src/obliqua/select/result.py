"""What a comparison has measured, and how its tables show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtr

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.costs import Costs
from obliqua.io.values import text_of
from obliqua.stats import metrics as measures

__all__ = [
    "LEVEL",
    "MEASURES",
    "RATE_HEADS",
    "CompareResult",
    "Figure",
    "cells",
    "heads",
    "mean_and_sd",
    "paired_error",
    "paired_p_value",
]

_SHAPE = ("leaves", "depth", "features_per_split")

#: What is measured in each fold, in the order of the columns of `CompareResult.folds`. The first
#: is what methods are compared by: the larger, the better.
MEASURES: dict[str, tuple[str, ...]] = {
    "classification": ("accuracy", *_SHAPE, "seconds"),
    "regression": ("r2", "rmse", "mae", *_SHAPE, "features_per_leaf", "seconds"),
}

#: What the first measure is called in a sentence.
SCORES = {"classification": "accuracies", "regression": "values of R2"}

#: What is measured for each class, in the order of the rows of `CompareResult.rates`.
RATES = ("tpr", "tnr")

#: Differences with a larger p-value count as noise.
LEVEL = 0.05


@dataclass(frozen=True)
class Figure:
    """A mean and its standard deviation over repeats; NaN where it is not known."""

    mean: float
    sd: float = math.nan

    def text(self, digits: int | None) -> str:
        """The figure as a table shows it; without `digits`, with three that matter."""
        if math.isnan(self.mean):
            return ""
        if digits is None:
            digits = 2 - math.floor(math.log10(self.mean)) if self.mean > 0.0 else 0
            digits = min(max(digits, 0), 12)
        spread = "" if math.isnan(self.sd) else f" ± {self.sd:.{digits}f}"
        return f"{self.mean:.{digits}f}{spread}"


@dataclass(frozen=True, eq=False)
class CompareResult:
    """What `compare` has measured.

    Parameters
    ----------
    folds : mapping of str to ndarray of shape (n_folds * n_repeats, n_measures)
        By method, the measures of each fold in the order of `MEASURES`. Of classes: accuracy on
        the rows held out, leaves, depth, features per split, seconds of fitting. Of numbers: R2,
        root mean square error and mean absolute error on the rows held out, leaves, depth,
        features per split, features per linear function in a leaf, seconds. R2 is 1 minus the
        mean square error of the fold divided by the variance of all rows: so it is defined in
        any fold, and its mean is that of all folds together. NaN where an estimator does not
        tell, and for features of splits or functions that are not there.
    confusion : mapping of str to ndarray of shape (n_repeats, n_classes, n_classes)
        By method, the confusion matrix of each cross-validation, of the rows that its folds held
        out together: true classes by predicted ones. Empty for numbers.
    n_rows, n_features, n_classes : int
        The size of the data; there are 0 classes where numbers are learnt.
    n_folds, n_repeats : int
        The folds of a cross-validation, and how often it was repeated with other folds.
    notes : tuple of str
        What a reader should know: that there were fewer folds than asked for, for instance.
    classes : tuple
        The labels of the classes.
    fold_confusion : mapping of str to ndarray of shape (n_folds * n_repeats, n_classes, n_classes)
        By method, the confusion matrix of each fold.
    task : {"classification", "regression"}
        Whether classes or numbers were learnt.
    costs : tuple of tuple of float
        What mistakes cost, if that was given: true classes by predicted ones.
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
    task: str = "classification"
    costs: Costs = ()

    def and_again(self, other: CompareResult) -> CompareResult:
        """Return the repeats of both as those of one comparison, with the notes of this one.

        Parameters
        ----------
        other : CompareResult
            The same methods on the same rows, with other folds.

        Returns
        -------
        CompareResult
            Both.
        """

        def joined(mine: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
            return {name: np.concatenate([mine[name], others[name]]) for name in mine}

        return replace(
            self,
            folds=joined(self.folds, other.folds),
            confusion=joined(self.confusion, other.confusion),
            fold_confusion=joined(self.fold_confusion, other.fold_confusion),
            n_repeats=self.n_repeats + other.n_repeats,
        )

    @cached_property
    def macro_f(self) -> dict[str, FloatArray]:
        """By method, the macro F of each cross-validation, all its folds together."""
        return {
            name: np.array([measures.macro_f_of(matrix) for matrix in matrices])
            for name, matrices in self.confusion.items()
        }

    @cached_property
    def mean_cost(self) -> dict[str, FloatArray]:
        """By method, what a row held out costs on average, fold by fold; empty without costs."""
        if not self.costs:
            return {}
        paid = np.array(self.costs)
        return {
            name: (matrices * paid).sum(axis=(1, 2)) / matrices.sum(axis=(1, 2))
            for name, matrices in self.fold_confusion.items()
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
        """The method with the largest mean accuracy, or R2; the first of them at ties."""
        means = {name: values[:, 0].mean() for name, values in self.folds.items()}
        return max(means, key=means.__getitem__)

    @cached_property
    def p_values(self) -> dict[str, float]:
        """By method, the p-value of its difference in accuracy, or R2, to the best; 1 for it.

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
            With the key ``method`` and those of `MEASURES`, each with ``_sd`` behind it,
            ``p_value`` and ``within_noise``: whether the accuracy, or R2, cannot be told from the
            best one's. For classes also ``macro_f``, and for each class ``tpr[label]`` and
            ``tnr[label]``, the means of its true positive and its true negative rate; with
            costs also ``mean_cost``, what a row held out costs, over folds. The
            labels of truth values are ``true`` and ``false``.
        """
        out: list[dict[str, Any]] = []
        for name, values in self.folds.items():
            row: dict[str, Any] = {"method": name}
            known = dict(zip(MEASURES[self.task], values.T, strict=True))
            if name in self.macro_f:
                scores = {"accuracy": known["accuracy"], "macro_f": self.macro_f[name]}
                if name in self.mean_cost:
                    scores["mean_cost"] = self.mean_cost[name]
                known = {**scores, **known}
            for measure, column in known.items():
                row[measure], row[f"{measure}_sd"] = _figure(column)
            row["p_value"] = self.p_values[name]
            row["within_noise"] = self.p_values[name] >= LEVEL
            if name in self.rates:
                row |= self._rates_of(name)
            out.append(row)
        return out

    def _rates_of(self, name: str) -> dict[str, float]:
        """Return the mean rates of each class."""
        found: dict[str, float] = {}
        for rate, by_class in zip(RATES, self.rates[name].mean(axis=0), strict=True):
            pairs = zip(self.classes, by_class.tolist(), strict=True)
            found |= {f"{rate}[{text_of(label)}]": mean for label, mean in pairs}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the single folds, ready for JSON.

        Returns
        -------
        dict
            The task, sizes, labels of the classes if there are any, notes, and `rows` under
            ``methods``. What is not known is None.
        """
        sizes = ["n_rows", "n_features", "n_classes", "n_folds", "n_repeats"]
        classes = {"classes": list(self.classes)}
        if self.task == "regression":
            sizes.remove("n_classes")
            classes = {}
        return {
            "task": self.task,
            **{size: getattr(self, size) for size in sizes},
            **classes,
            "best": self.best,
            **({"costs": [list(row) for row in self.costs]} if self.costs else {}),
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
        first = heads(self.task, bool(self.costs))
        lines = ["| " + " | ".join(first) + " |", "|---" + "|---:" * (len(first) - 1) + "|"]
        lines += ["| " + " | ".join(cells(row, self.task)) + " |" for row in self.rows()]
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
        n_done = len(next(iter(self.folds.values())))
        some = f"the first {n_done} of " if n_done < self.n_folds else ""
        text = f"Means ± standard deviations over {some}{self.n_folds} "
        repeats = "" if self.n_repeats == 1 else f", repeated {self.n_repeats} times"
        if self.task == "regression":
            text += f"folds{repeats}. R2 is the share of the variance that is explained. "
        elif self.n_repeats == 1:
            text += "stratified folds; macro F is of all folds together. "
        else:
            text += f"stratified folds{repeats}; {_over_repeats('macro F')}. "
        if self.costs:
            text += "The cost is what a row held out costs; methods are compared by accuracy. "
        if len(self.folds) == 1:
            return text.rstrip()
        same = [name for name, p in self.p_values.items() if p >= LEVEL and name != self.best]
        if not same:
            return text + f"{self.best} is best, beyond noise (corrected paired t-test, 5 %)."
        return text + (
            f"A * marks {SCORES[self.task]} that cannot be told from the best one: differences "
            "within noise (corrected paired t-test, 5 %)."
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


@dataclass(frozen=True)
class _Shown:
    """How a table shows a measure: below which head, and with how many digits."""

    measure: str
    head: str
    digits: int | None = 1
    factor: float = 1.0
    spread: bool = True


_SHOWN_SHAPE = (
    _Shown("leaves", "leaves"),
    _Shown("depth", "depth", spread=False),
    _Shown("features_per_split", "features/split", spread=False),
)
_SHOWN_TIME = _Shown("seconds", "fit ms", factor=1000.0, spread=False)
_SHOWN: dict[str, tuple[_Shown, ...]] = {
    "classification": (
        _Shown("accuracy", "accuracy %", factor=100.0),
        _Shown("macro_f", "macro F", 2),
        *_SHOWN_SHAPE,
        _SHOWN_TIME,
    ),
    "regression": (
        _Shown("r2", "R2", 3),
        _Shown("rmse", "RMSE", None, spread=False),
        _Shown("mae", "MAE", None, spread=False),
        _Shown("leaves", "leaves", spread=False),  # there is no room for more
        *_SHOWN_SHAPE[1:],
        _Shown("features_per_leaf", "features/leaf", spread=False),
        _SHOWN_TIME,
    ),
}


_SHOWN_COST = _Shown("mean_cost", "cost", None)


def _measures(task: str, costs: bool) -> tuple[_Shown, ...]:
    """Return what a table shows: with costs, what rows cost too."""
    shown = _SHOWN[task]
    return (*shown[:2], _SHOWN_COST, *shown[2:]) if costs else shown


def heads(task: str = "classification", costs: bool = False) -> tuple[str, ...]:
    """Return the heads of a table of `cells`."""
    return ("method", *(shown.head for shown in _measures(task, costs)))


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


def cells(row: Mapping[str, Any], task: str = "classification") -> list[str]:
    """Return a row of `CompareResult.rows` as a table shows it: the texts below `heads`."""
    texts = [str(row["method"])]
    for shown in _measures(task, "mean_cost" in row):
        mean = shown.factor * row[shown.measure]
        sd = shown.factor * row[f"{shown.measure}_sd"] if shown.spread else math.nan
        digits = 0 if shown.digits is not None and mean > 100.0 else shown.digits
        texts.append(Figure(mean, sd).text(digits) or "-")
    texts[1] = f"{texts[1]} {'*' if row['within_noise'] else ''}".rstrip()
    return texts


def paired_error(differences: FloatArray, overlap: float) -> float:
    """Return the standard error of a mean over folds (Nadeau and Bengio, 2003).

    `overlap` is n_test / n_train of a fold: the variance of a mean is so much larger than folds
    without common training rows would make it.
    """
    variance = float(differences.var(ddof=1))
    return float(np.sqrt(variance * (1.0 / len(differences) + overlap)))


def paired_p_value(differences: FloatArray, overlap: float) -> float:
    """Return the two-sided p-value of a corrected paired t-test with `paired_error`.

    The p-value is 1 if the mean is 0, and 0 if all differences are the same.
    """
    mean, error = float(differences.mean()), paired_error(differences, overlap)
    if mean == 0.0:
        return 1.0
    if error == 0.0:
        return 0.0
    return float(2.0 * stdtr(len(differences) - 1, -abs(mean / error)))


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
