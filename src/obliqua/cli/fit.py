"""``obliqua fit``: grow a tree from a table and keep it in a file."""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._typing import AnyArray, BoolArray
from obliqua.cli import _command as shared
from obliqua.cli._data import read_table
from obliqua.cli._errors import Trouble, counted
from obliqua.cli._labels import check_known, class_numbers, text_of
from obliqua.cli._models import holds_out, make_estimator, rows_that_grew, size_of
from obliqua.cli._output import check_target, note, print_facts, shown
from obliqua.cli._table import Table, choose_features, choose_known

if TYPE_CHECKING:
    import polars as pl

DEFAULT_OUTPUT = "model.obliqua"
MOST_CLASSES = 8  # that a summary names


@shared.command(
    "obliqua fit patients.csv --target diagnosis",
    "obliqua fit patients.csv -t diagnosis -m cart --set max_depth=3 --holdout 0.2",
    "zcat big.csv.gz | obliqua fit - -t y --drop id,name --output big.obliqua",
    methods="obliqua.",
)
@shared.data_argument
@shared.target_option
@click.option(
    "--method",
    "-m",
    type=shared.MethodName("obliqua."),
    default="hhcart-a",
    show_default=True,
    help="How splits are found; the methods are listed below.",
)
@shared.set_option
@shared.features_options
@click.option("--weight", metavar="COLUMN", help="The column with the rows' weights.")
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Keep this share of the rows out of the fit, and measure the accuracy on them.",
)
@click.option("--test", metavar="FILE", help="Measure the accuracy on the rows of this table.")
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
def fit(data: str, target: str, output: Path | None, **given: Any) -> None:
    """Grow a tree from the rows of DATA and save it.

    DATA is a CSV or Parquet file, or - for standard input. All columns but the target are
    features; they must be numbers, without gaps.
    """
    from obliqua.estimators.files import save

    path = _output(output, data, given["test"])
    if given["method"] == "sklearn":
        raise click.UsageError(
            "--method: scikit-learn's tree is for `obliqua compare`; a model file holds trees of "
            "obliqua. The same kind of tree is cart."
        )
    estimator = make_estimator(given["method"], given["settings"], given["seed"])
    estimator.set_params(n_jobs=given["jobs"])
    table = read_table(data, given["delimiter"], [target])
    weight = given["weight"]
    table.require([target], "--target")
    table.require([] if weight is None else [weight], "--weight")
    if weight == target:
        raise Trouble(f"--weight: {weight!r} is the target.")
    table = table.without_missing(target, given["drop_missing_target"])
    names = choose_features(table, [target, *([weight] if weight else [])], **_choice(given))
    y = table.labels(target)
    X = table.matrix(names)
    if len(np.unique(y)) < 2:
        raise Trouble(
            f"The target {target!r} has one class only, {text_of(y[0])}; a tree needs two."
        )
    weights = None if weight is None else table.matrix([weight])[weight].to_numpy()
    tests = _other_rows(given, target, names)
    held = _held_out(y, given["holdout"], given["seed"])
    X_fit, y_fit, w_fit = _part(X, ~held), y[~held], None if weights is None else weights[~held]
    estimator.fit(X_fit, y_fit, sample_weight=w_fit)
    if held.any():
        tests.append((f"{counted(int(held.sum()), 'row')} held out", _part(X, held), y[held]))
    facts = _summary(estimator, X_fit, y_fit, given["method"], target)
    n = X_fit.height
    facts.insert(1, ("rows", f"{n:,}{_how_grown(estimator, n, w_fit)}"))
    facts += [_accuracy(estimator, *test) for test in tests]
    # The file is the same for any number of threads.
    save(estimator.set_params(n_jobs=None), path)
    print_facts([*facts, ("saved", f"{path}, {size_of(path)}")])


def _choice(given: dict[str, Any]) -> dict[str, list[str] | None]:
    return {"features": given["features"], "drop": given["drop"]}


def _output(output: Path | None, *inputs: str | None) -> Path:
    """Return where the model goes; nothing is lost that was not named."""
    path = Path(DEFAULT_OUTPUT) if output is None else output
    if output is None and path.exists():
        raise Trouble(
            f"{path} is there already. Say --output {path} to replace it, or another name."
        )
    check_target(path, *inputs)
    return path


def _held_out(y: AnyArray, share: float | None, seed: int) -> BoolArray:
    """Choose rows to hold out, of each class its share."""
    held = np.zeros(len(y), dtype=bool)
    if share is None:
        return held
    from sklearn.model_selection import train_test_split

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


def _part(X: pl.DataFrame, rows: BoolArray) -> pl.DataFrame:
    return X if rows.all() else X.filter(rows)


def _other_rows(
    given: dict[str, Any], target: str, names: list[str]
) -> list[tuple[str, pl.DataFrame, AnyArray]]:
    """Read the rows to test on, before the time of a fit is spent."""
    if given["test"] is None:
        return []
    table: Table = read_table(given["test"], given["delimiter"], [target])
    table.require([target], "--test")
    table = table.without_missing(target, given["drop_missing_target"])
    used, _ = choose_known(table, names, named=True)
    what = f"{counted(table.frame.height, 'row')} of {table.source}"
    return [(what, table.matrix(used), table.labels(target))]


def _summary(
    estimator: Any, X: pl.DataFrame, y: AnyArray, method: str, target: str
) -> list[tuple[str, str]]:
    from obliqua.experiments.compare import features_per_split
    from obliqua.experiments.methods import METHODS

    labels, counts = np.unique(y, return_counts=True)
    if len(labels) > MOST_CLASSES:
        note(f"{target!r} has {len(labels)} classes.")
    named = [
        f"{shown(text_of(label))} ({count:,})" for label, count in zip(labels, counts, strict=True)
    ]
    more = ", ..." if len(named) > MOST_CLASSES else ""
    features = features_per_split(estimator.model_)
    return [
        ("method", f"{method}, {METHODS[method].title}"),
        ("features", f"{X.width:,}"),
        ("classes", f"{len(labels)}: {', '.join(named[:MOST_CLASSES])}{more}"),
        ("leaves", f"{estimator.get_n_leaves():,}"),
        ("depth", f"{estimator.get_depth():,}"),
        ("features per split", "-" if np.isnan(features) else f"{features:.1f}"),
        _accuracy(estimator, "the training rows, too good for new ones", X, y),
    ]


def _accuracy(estimator: Any, what: str, X: pl.DataFrame, y: AnyArray) -> tuple[str, str]:
    numbers = class_numbers(estimator.classes_, y)
    unknown = check_known(numbers, y, estimator.classes_, "--test")
    right = numbers == estimator.model_.predict_index(estimator.model_.rows(X))
    return "accuracy", f"{100 * right.mean():.1f} % on {what}{unknown}"


def _how_grown(estimator: Any, n_all: int, weights: AnyArray | None) -> str:
    """Say how many rows grew the tree, if others have pruned it."""
    n_rows = n_all if weights is None else int((weights > 0).sum())
    grown = rows_that_grew(estimator)
    if n_rows == grown or not holds_out(estimator):
        return ""
    others = "the others" if n_rows == n_all else f"{n_rows - grown:,}"
    return f", {grown:,} of them grew the tree, {others} pruned it"
