"""``obliqua fit``: grow a tree from a table and keep it in a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import click
import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.cli import _command as shared
from obliqua.cli._columns import learnt_columns, print_other_types, print_types
from obliqua.cli._data import read_table
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._labels import check_known, class_numbers, fit_of_numbers
from obliqua.cli._models import (
    costs_used,
    features_used,
    holds_out,
    make_estimator,
    rows_that_grew,
    set_categories,
    size_of,
    takes_tables,
)
from obliqua.cli._output import chosen_target, listed, note, print_facts
from obliqua.cli._table import NamedTable, choose_known
from obliqua.cli._target import choose_task, learnt_rows, read_target, said_of_target
from obliqua.cli._types import (
    ColumnChoice,
    Features,
    UnreadableColumns,
    infer,
    plain_numbers,
    read_as,
)
from obliqua.io.values import text_of

DEFAULT_OUTPUT = "model.obliqua"
MOST_CLASSES = 8  # that a summary names
MOST_COLUMNS = 12
MOST_LETTERS = 60  # of a name


@shared.command(
    "obliqua fit patients.csv --target diagnosis",
    "obliqua fit patients.csv -t diagnosis -m cart --set max_depth=3 --holdout 0.2",
    "obliqua fit houses.csv --target price --holdout 0.2",
    "zcat big.csv.gz | obliqua fit - -t y --drop id,name --output big.obliqua",
    methods="obliqua.",
)
@shared.data_argument
@shared.target_option
@click.option(
    "--method",
    "-m",
    type=shared.MethodName("obliqua."),
    show_default="refined; for numbers oblique-linear",
    help="How splits are found; the methods are listed below.",
)
@shared.task_option
@shared.set_option
@shared.features_options
@shared.types_option
@click.option("--weight", metavar="COLUMN", help="The column with the rows' weights.")
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Keep this share of the rows out of the fit, and measure the tree on them.",
)
@click.option("--test", metavar="FILE", help="Measure the tree on the rows of this table.")
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("threads")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help=f"The model file. Without this option it is {DEFAULT_OUTPUT}, which must not exist yet.",
)
@shared.delimiter_option
def fit(data: str, output: Path | None, **given: Any) -> None:
    """Grow a tree from the rows of DATA and save it.

    DATA is a CSV or Parquet file, or - for standard input. All columns but the target are
    features: numbers are numeric, text is categories, and cells may be empty.
    """
    from obliqua.estimators.files import save
    from obliqua.select.methods import default_method

    target = given["target"]
    path = Path(DEFAULT_OUTPUT)
    if not given["types"]:
        path = chosen_target(output, DEFAULT_OUTPUT, data, given["test"])
    if given["method"] == "sklearn":
        raise click.UsageError(
            "--method: scikit-learn's tree is for `obliqua compare`; a model file holds trees of "
            "obliqua. The same kind of tree is cart."
        )
    table = read_table(data, given["delimiter"], given["missing"], given["dates"])
    weight = given["weight"]
    table.require([target], "--target")
    method = given["method"]
    task = choose_task(table, target, given["task"], [] if method is None else [method])
    given["task"] = task
    table.require([] if weight is None else [weight], "--weight")
    if weight == target:
        raise Trouble(f"--weight: {weight!r} is the target.")
    table = learnt_rows(table, target, task, given["drop_missing_target"])
    taken = [target, *([weight] if weight else [])]
    table, names = learnt_columns(table, taken, given)
    given["method"] = method or default_method(task, len(names))
    estimator = make_estimator(given["method"], given["settings"], given["seed"], task)
    estimator.set_params(n_jobs=given["jobs"])
    y = read_target(table, target, task)
    said = {**said_of_target(target, task, y), str(weight): "weights"}
    try:
        X = _features(table, names, given, estimator)
    except UnreadableColumns as error:
        if given["types"]:
            print_other_types(table, error, said)
        raise
    if given["types"]:
        print_types(table, X, said)
        return
    if len(np.unique(y)) < 2:
        what = "class" if task == "classification" else "value"
        raise Trouble(
            f"The target {target!r} has one {what} only, {text_of(y[0])}; a tree needs two."
        )
    rows = LabelledRows(X, y, None if weight is None else _weights(table, weight))
    tests = _other_rows(given, target, X, takes_tables(estimator))
    held = _held_out(y, given["holdout"], given["seed"], task)
    grown = rows.part(~held)
    if X.given:
        set_categories(estimator, list(X.qualitative))
    estimator.fit(grown.X.frame, grown.y, sample_weight=grown.weights)
    if held.any():
        tests.append((f"{counted(int(held.sum()), 'row')} held out", rows.part(held)))
    facts = _summary(estimator, grown, given)
    facts += [_measured(estimator, *test) for test in tests]
    # The file is the same for any number of threads.
    save(estimator.set_params(n_jobs=None), path)
    print_facts([*facts, ("saved", f"{path}, {size_of(path)}")])


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


def _features(
    table: NamedTable, names: list[str], given: dict[str, Any], estimator: Any
) -> Features:
    """Read the columns to learn from as the method can take them."""
    if takes_tables(estimator):
        return infer(table, names, ColumnChoice.of(given))
    from obliqua.select.methods import METHODS

    others = [
        name for name in METHODS if name != "sklearn" and takes_tables(make_estimator(name, (), 0))
    ]
    if given["categorical"]:
        raise click.UsageError(
            f"--categorical: {given['method']} takes numbers only. Methods that take categories "
            f"are {', '.join(others)}."
        )
    more = f"Methods that take categories and gaps are {', '.join(others)}."
    what = f"features of {given['method']}"
    return Features(plain_numbers(table, names, what, more), (), given=False)


def _weights(table: NamedTable, weight: str) -> FloatArray:
    column = plain_numbers(table, [weight], "weights")[weight]
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _held_out(y: AnyArray, share: float | None, seed: int, task: str) -> BoolArray:
    """Choose rows to hold out; of classes, of each its share."""
    held = np.zeros(len(y), dtype=bool)
    if share is None:
        return held
    from sklearn.model_selection import train_test_split

    if task == "regression":
        if len(y) - ceil(share * len(y)) < 1:
            raise Trouble(f"--holdout {share:g} would leave no row to grow a tree.")
        held[train_test_split(np.arange(len(y)), test_size=share, random_state=seed)[1]] = True
        return held
    labels, counts = np.unique(y, return_counts=True)
    n_held, n_classes = ceil(share * len(y)), len(labels)
    if counts.min() < 2:
        raise Trouble(
            f"--holdout takes rows of each class, but the class "
            f"{text_of(labels[counts.argmin()])!r} has only one."
        )
    if min(n_held, len(y) - n_held) < n_classes:
        raise Trouble(
            f"--holdout {share:g} would hold out {n_held:,} of {counted(len(y), 'row')} and leave "
            f"{len(y) - n_held:,} to grow a tree. Either part needs a row of each of the "
            f"{n_classes} classes; say another share."
        )
    _, rows = train_test_split(np.arange(len(y)), test_size=share, stratify=y, random_state=seed)
    held[rows] = True
    return held


def _other_rows(
    given: dict[str, Any], target: str, X: Features, gaps: bool
) -> list[tuple[str, LabelledRows]]:
    """Read the rows to test on, before the time of a fit is spent."""
    if given["test"] is None:
        return []
    table: NamedTable = read_table(
        given["test"], given["delimiter"], given["missing"], given["dates"]
    )
    table.require([target], "--test")
    table = learnt_rows(table, target, given["task"], given["drop_missing_target"])
    table, _ = choose_known(table, X.frame.columns, named=True)
    what = f"{counted(table.frame.height, 'row')} of {table.source}"
    frame = read_as(table, X.columns(), gaps)
    weight = given["weight"]
    known = weight is not None and weight in table.frame.columns
    weights = _weights(table, weight) if known else None
    y = read_target(table, target, given["task"])
    return [(what, LabelledRows(replace(X, frame=frame), y, weights))]


def _summary(estimator: Any, rows: LabelledRows, given: dict[str, Any]) -> list[tuple[str, str]]:
    from obliqua.select.methods import find_method

    method, n = given["method"], len(rows.y)
    return [
        ("method", f"{method}, {find_method(method, given['task']).title}"),
        ("rows", f"{n:,}{_how_grown(estimator, n, rows.weights)}"),
        *_about_features(rows.X),
        *_about_target(rows, given),
        ("leaves", f"{estimator.get_n_leaves():,}"),
        ("depth", f"{estimator.get_depth():,}"),
        *features_used(estimator.model_),
        *costs_used(estimator.model_),
        _measured(estimator, f"the training rows{_caution(estimator, given)}", rows),
        *_same_answer(estimator, rows),
    ]


def _same_answer(estimator: Any, rows: LabelledRows) -> list[tuple[str, str]]:
    """Say so if a tree gives all rows the same class, and what helps."""
    if estimator.model_.task == "regression":
        return []
    answers = np.unique(estimator.model_.predict_index(estimator.model_.rows(rows.X.frame)))
    if len(answers) > 1:
        return []
    label = text_of(estimator.classes_[answers[0]])
    labels, counts = np.unique(rows.y, return_counts=True)
    frequent = text_of(labels[counts.argmax()]) == label
    text = f"always {_cut(label)}{', the class of most rows' if frequent else ''}."
    if estimator.get_n_leaves() > 1:
        text += " Shares of classes differ: see predict --proba."
    if "class_weight" in estimator.get_params():
        text += " To find the others: --set class_weight=balanced"
    return [("answer", text)]


def _about_target(rows: LabelledRows, given: dict[str, Any]) -> list[tuple[str, str]]:
    """Say what is learnt, and what rows weigh."""
    if given["task"] == "regression":
        low, middle, high = rows.y.min(), np.average(rows.y, weights=rows.weights), rows.y.max()
        name = _cut(str(given["target"]))
        facts = [("numbers", f"{name}, from {low:,.6g} to {high:,.6g}, mean {middle:,.6g}")]
        if rows.weights is not None:
            total = rows.weights.sum()
            facts.append(("weights", f"{_cut(str(given['weight']))}, {total:,.6g} in all"))
        return facts
    labels, counts = np.unique(rows.y, return_counts=True)
    if len(labels) > MOST_CLASSES and labels.dtype.kind not in "iu":  # of those it was said
        note(f"{given['target']!r} has {len(labels)} classes.")
    by_class = _by_class(labels, [f"{count:,}" for count in counts])
    return [("classes", f"{len(labels)}: {by_class}"), *_about_weights(rows, given["weight"])]


def _caution(estimator: Any, given: dict[str, Any]) -> str:
    """Say how new rows are measured, unless they are, or the tree is the same for all rows."""
    measured = given["holdout"] is not None or given["test"] is not None
    if measured or estimator.get_n_leaves() == 1:
        return ""
    return "; for new ones see --holdout"


def _by_class(labels: AnyArray, texts: Sequence[str]) -> str:
    named = [f"{_cut(text_of(label))} ({text})" for label, text in zip(labels, texts, strict=True)]
    return _few(named, MOST_CLASSES)


def _cut(name: str) -> str:
    return listed(name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 3]}...")


def _few(texts: Sequence[str], most: int) -> str:
    return ", ".join([*texts[:most], *(["..."] if len(texts) > most else [])])


def _about_features(X: Features) -> list[tuple[str, str]]:
    """Say how many columns are of which kind, and what is missing."""
    n_empty, with_levels = len(X.empty()), X.with_levels()
    kinds = [("qualitative", len(with_levels)), ("empty", n_empty)]
    n_numeric = X.frame.width - len(with_levels) - n_empty
    named = [f"{n_numeric:,} numeric", *(f"{count:,} {kind}" for kind, count in kinds if count)]
    facts = [("features", ", ".join(named))]
    if with_levels:
        counts = [(name, X.frame[name].drop_nulls().n_unique()) for name in with_levels]
        named = [f"{_cut(name)} ({count:,})" for name, count in counts]
        facts.append(("levels", _few(named, MOST_COLUMNS)))
    missing = X.missing()
    if missing:
        named = [f"{_cut(name)} ({count:,})" for name, count in missing.items()]
        cells = counted(sum(missing.values()), "cell")
        facts.append(("missing", f"{cells}: {_few(named, MOST_COLUMNS)}"))
    return facts


def _about_weights(rows: LabelledRows, name: str | None) -> list[tuple[str, str]]:
    if rows.weights is None:
        return []
    labels, places = np.unique(rows.y, return_inverse=True)
    sums = np.bincount(places, rows.weights)
    by_class = _by_class(labels, [f"{one:,.6g}" for one in sums])
    return [("weights", f"{_cut(str(name))}, {sums.sum():,.6g} in all: {by_class}")]


def _measured(estimator: Any, what: str, rows: LabelledRows) -> tuple[str, str]:
    """Say how well a tree does on rows."""
    Z = estimator.model_.rows(rows.X.frame)
    weights = rows.weights
    if weights is not None:
        weights = weights / weights.max() if weights.any() else None
    if estimator.model_.task == "regression":
        return (
            "R squared",
            f"{fit_of_numbers(rows.y, estimator.model_.predict(Z), weights)} on {what}",
        )
    numbers = class_numbers(estimator.classes_, rows.y)
    unknown = check_known(numbers, rows.y, estimator.classes_, "--test")
    right = numbers == estimator.model_.predict_index(Z)
    share = 100 * np.average(right, weights=weights)
    of = "" if weights is None else " of weight"
    return "accuracy", f"{share:.1f} %{of} on {what}{unknown}"


def _how_grown(estimator: Any, n_all: int, weights: AnyArray | None) -> str:
    """Say how many rows grew the tree, if others have pruned it."""
    n_rows = n_all if weights is None else int((weights > 0).sum())
    grown = rows_that_grew(estimator)
    if n_rows == grown or not holds_out(estimator):
        return ""
    others = "the others" if n_rows == n_all else f"{n_rows - grown:,}"
    return f", {grown:,} of them grew the tree, {others} pruned it"
