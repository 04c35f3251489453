"""What is said of a fit: the rows, what is learnt, the tree, and how well it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.cli._errors import counted
from obliqua.cli._labels import NumbersFit, class_numbers, said_of_unknown
from obliqua.cli._models import (
    costs_used,
    features_used,
    holds_out,
    rows_that_grew,
)
from obliqua.cli._output import listed, note
from obliqua.cli._types import Features
from obliqua.io.values import text_of

MOST_CLASSES = 8  # that a summary names
MOST_COLUMNS = 12
MOST_LETTERS = 60  # of a name


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows with what is learnt, and weights.

    Parameters
    ----------
    X : Features
        The columns.
    y : ndarray
        The classes, or numbers.
    weights : ndarray or None
        The weights.
    """

    X: Features
    y: AnyArray
    weights: FloatArray | None = None

    def part(self, rows: BoolArray) -> LabelledRows:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return LabelledRows(self.X.part(rows), self.y[rows], weights)


@dataclass(eq=False)
class TreeMeasure:
    """How well a tree does on rows, of which some may come after others.

    Parameters
    ----------
    estimator : object
        The fitted estimator.
    what : str
        Which rows these are.
    """

    estimator: Any
    what: str
    right: float = 0.0
    total: float = 0.0
    n_right: int = 0
    n_rows: int = 0
    weighted: bool = False
    numbers: NumbersFit = field(default_factory=NumbersFit)
    unknown: Counter[str] = field(default_factory=Counter)
    answers: set[int] = field(default_factory=set)

    def add(self, rows: LabelledRows) -> None:
        """Look at some rows."""
        model = self.estimator.model_
        Z = model.rows(rows.X.frame)
        self.n_rows += len(rows.y)
        if model.task == "regression":
            weights = rows.weights if rows.weights is None or rows.weights.any() else None
            self.numbers.add(rows.y, model.predict(Z), weights)
            return
        classes = self.estimator.classes_
        numbers, told = class_numbers(classes, rows.y), model.predict_index(Z)
        self.unknown.update(map(text_of, rows.y[numbers < 0].tolist()))
        self.answers.update(np.unique(told).tolist())
        self.weighted = rows.weights is not None
        weights = np.ones(len(told)) if rows.weights is None else rows.weights
        self.n_right += int((numbers == told).sum())
        self.right += float(weights[numbers == told].sum())
        self.total += float(weights.sum())

    def fact(self) -> tuple[str, str]:
        """Say how well it does."""
        if self.estimator.model_.task == "regression":
            return "R squared", f"{self.numbers} on {self.what}"
        unknown = said_of_unknown(self.unknown, self.n_rows, self.estimator.classes_, "--test")
        # Rows without any weight count as rows.
        share = 100 * (self.right / self.total if self.total else self.n_right / self.n_rows)
        of = " of weight" if self.weighted and self.total else ""
        return "accuracy", f"{share:.1f} %{of} on {self.what}{unknown}"


@dataclass(eq=False)
class Tally:
    """What is said of the rows that a tree was grown from; some may come after others."""

    n_rows: int = 0
    n_counted: int = 0  # of positive weight
    columns: tuple[str, ...] = ()
    missing: Counter[str] = field(default_factory=Counter)
    levels: dict[str, set[Any]] = field(default_factory=dict)
    rows_of_class: Counter[Any] = field(default_factory=Counter)
    weight_of_class: dict[Any, float] = field(default_factory=dict)
    low: float = float("inf")
    high: float = float("-inf")
    total: float = 0.0  # of numbers, times weights
    weight: float = 0.0

    def add(self, rows: LabelledRows, numbers: bool) -> None:
        """Look at some rows."""
        self.n_rows += len(rows.y)
        self.columns = tuple(rows.X.frame.columns)
        self.missing.update(rows.X.missing())
        for name in rows.X.qualitative:
            known = self.levels.setdefault(name, set())
            known.update(rows.X.frame[name].drop_nulls().unique().to_list())
        weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
        self.n_counted += int((weights > 0).sum())
        if numbers:
            self.low, self.high = min(self.low, rows.y.min()), max(self.high, rows.y.max())
            self.total += float((rows.y * weights).sum())
            self.weight += float(weights.sum())
            return
        labels, places, counts = np.unique(rows.y, return_inverse=True, return_counts=True)
        sums = np.bincount(places, weights)
        for label, count, total in zip(labels.tolist(), counts, sums, strict=True):
            self.rows_of_class[label] += int(count)
            before = self.weight_of_class.get(label, 0.0)
            self.weight_of_class[label] = before + float(total)

    @property
    def labels(self) -> list[Any]:
        """The classes, in order."""
        return sorted(self.rows_of_class)

    def about_features(self) -> list[tuple[str, str]]:
        """Say how many columns are of which kind, and what is missing."""
        missing = {name: count for name, count in self.missing.items() if count}
        n_empty = sum(count == self.n_rows for count in missing.values())
        with_levels = {name: levels for name, levels in self.levels.items() if levels}
        kinds = [("qualitative", len(with_levels)), ("empty", n_empty)]
        n_numeric = len(self.columns) - len(with_levels) - n_empty
        named = [
            f"{n_numeric:,} numeric",
            *(f"{count:,} {kind}" for kind, count in kinds if count),
        ]
        facts = [("features", ", ".join(named))]
        if with_levels:
            named = [f"{_cut(name)} ({len(levels):,})" for name, levels in with_levels.items()]
            facts.append(("levels", _few(named, MOST_COLUMNS)))
        if missing:
            named = [
                f"{_cut(name)} ({missing[name]:,})" for name in self.columns if name in missing
            ]
            cells = counted(sum(missing.values()), "cell")
            facts.append(("missing", f"{cells}: {_few(named, MOST_COLUMNS)}"))
        return facts

    def about_target(self, given: dict[str, Any]) -> list[tuple[str, str]]:
        """Say what is learnt, and what rows weigh."""
        weights = None if given["weight"] is None else _cut(str(given["weight"]))
        if given["task"] == "regression":
            name, middle = _cut(str(given["target"])), self.total / (self.weight or 1.0)
            text = f"{name}, from {self.low:,.6g} to {self.high:,.6g}, mean {middle:,.6g}"
            more = (
                [] if weights is None else [("weights", f"{weights}, {self.weight:,.6g} in all")]
            )
            return [("numbers", text), *more]
        labels = self.labels
        if len(labels) > MOST_CLASSES and isinstance(labels[0], str):  # of others it was said
            note(f"{given['target']!r} has {len(labels)} classes.")
        by_class = _by_class(labels, [f"{self.rows_of_class[label]:,}" for label in labels])
        facts = [("classes", f"{len(labels)}: {by_class}")]
        if weights is not None:
            sums = [self.weight_of_class[label] for label in labels]
            by_class = _by_class(labels, [f"{one:,.6g}" for one in sums])
            facts.append(("weights", f"{weights}, {sum(sums):,.6g} in all: {by_class}"))
        return facts


def summary(
    estimator: Any, tally: Tally, measured: TreeMeasure, given: dict[str, Any]
) -> list[tuple[str, str]]:
    """Return what is said of a fitted estimator, and the rows that it was fitted to."""
    from obliqua.select.methods import find_method

    method = given["method"]
    return [
        ("method", f"{method}, {find_method(method, given['task']).title}"),
        *_what_was_kept(estimator),
        ("rows", f"{tally.n_rows:,}{_how_grown(estimator, tally)}"),
        *tally.about_features(),
        *tally.about_target(given),
        ("leaves", f"{estimator.get_n_leaves():,}"),
        ("depth", f"{estimator.get_depth():,}"),
        *features_used(estimator.model_),
        *costs_used(estimator.model_),
        measured.fact(),
        *_same_answer(estimator, tally, measured),
    ]


def training_rows(estimator: Any, given: dict[str, Any]) -> str:
    """Call the training rows so; say how new ones are measured, unless they are.

    Nothing is said where the tree is the same for all rows.
    """
    measured = given["holdout"] is not None or given["test"] is not None
    caution = "" if measured or estimator.get_n_leaves() == 1 else "; for new ones see --holdout"
    return f"the training rows{caution}"


def _what_was_kept(estimator: Any) -> list[tuple[str, str]]:
    """Say if another tree than the method's own was better on held-out rows."""
    kept = getattr(estimator, "chosen_", "refined")
    if kept == "refined":
        return []
    return [("kept", f"the {kept} tree, which was better on held-out rows")]


def _how_grown(estimator: Any, tally: Tally) -> str:
    """Say how many rows grew the tree, if others have pruned it."""
    grown = rows_that_grew(estimator)
    if tally.n_counted == grown or not holds_out(estimator):
        return ""
    all_count = tally.n_counted == tally.n_rows
    others = "the others" if all_count else f"{tally.n_counted - grown:,}"
    return f", {grown:,} of them grew the tree, {others} pruned it"


def _same_answer(estimator: Any, tally: Tally, measured: TreeMeasure) -> list[tuple[str, str]]:
    """Say so if a tree gives all rows the same class, and what helps."""
    if estimator.model_.task == "regression" or len(measured.answers) > 1:
        return []
    label = text_of(estimator.classes_[min(measured.answers)])
    frequent = text_of(max(tally.labels, key=lambda one: tally.rows_of_class[one])) == label
    text = f"always {_cut(label)}{', the class of most rows' if frequent else ''}."
    if estimator.get_n_leaves() > 1:
        text += " Shares of classes differ: see predict --proba."
    if "class_weight" in estimator.get_params():
        text += " To find the others: --set class_weight=balanced"
    return [("answer", text)]


def _by_class(labels: Sequence[Any], texts: Sequence[str]) -> str:
    named = [f"{_cut(text_of(label))} ({text})" for label, text in zip(labels, texts, strict=True)]
    return _few(named, MOST_CLASSES)


def _cut(name: str) -> str:
    return listed(name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 3]}...")


def _few(texts: Sequence[str], most: int) -> str:
    return ", ".join([*texts[:most], *(["..."] if len(texts) > most else [])])
