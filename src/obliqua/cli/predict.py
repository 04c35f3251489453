"""``obliqua predict``: the classes, or numbers, of new rows."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, Int64Array
from obliqua.cli import _command as shared
from obliqua.cli._data import read_table
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._labels import check_known, class_numbers, fit_of_numbers
from obliqua.cli._models import has_own_names, load_model
from obliqua.cli._output import check_target, note, write_file, write_stdout
from obliqua.cli._table import NamedTable, choose_known
from obliqua.cli._types import plain_numbers, read_as
from obliqua.io.values import text_of

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".parquet", ".pq")
PREDICTION = "prediction"


@shared.command(
    "obliqua predict model.obliqua new.csv",
    "obliqua predict model.obliqua new.csv --proba --id patient -o answers.parquet",
    "obliqua predict houses.obliqua new.csv --spread",
    "cat new.csv | obliqua predict model.obliqua - | head",
)
@click.argument("model", metavar="MODEL")
@shared.data_argument
@click.option("--proba", is_flag=True, help="Add the share of each class, as proba_<class>.")
@click.option(
    "--spread",
    is_flag=True,
    help="Where numbers are predicted, add how far the training rows of the leaf lie from what it "
    "says (a standard deviation), as spread, and the quantiles of the model, as quantile_<share>, "
    "if it was fitted with --set quantiles=[0.1,0.9].",
)
@click.option("--id", "id_column", metavar="COLUMN", help="Copy this column in front, as it is.")
@click.option(
    "--score",
    metavar="COLUMN",
    help="The column with the true classes or numbers; prints how good the answers are on stderr.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="A file to write, CSV or Parquet by its ending, instead of stdout.",
)
@shared.missing_option
@shared.dates_option
@shared.jobs_option("threads")
@shared.delimiter_option
def predict(model: str, data: str, output: Path | None, **given: Any) -> None:
    """Predict what each row of DATA is, with a saved model.

    That is its class, or a number if the model has learnt numbers. MODEL is a file that
    `obliqua fit` has made. DATA is a CSV or Parquet file, or - for standard
    input. Columns are found by name, so that their order does not matter; columns that the model
    does not know are left out. They are read as what they were when the model was fitted. The
    result is CSV with a line per row, in the order of the rows.
    """
    if output is not None:
        check_target(output, data, model)
        if _is_plain(output) and output.suffix.lower() not in SUFFIXES:
            raise click.UsageError(
                f"--output: {output} ends in {output.suffix or 'nothing'}; name a file that ends "
                f"in {', '.join(SUFFIXES)}."
            )
    fitted, container = load_model(model)
    if given["proba"] and container.task == "regression":
        raise click.UsageError(
            f"--proba: {model} predicts numbers and has no classes; --spread says how far they "
            "may be off."
        )
    if given["spread"] and not hasattr(fitted, "predict_std"):
        raise click.UsageError(
            f"--spread: {model} predicts no numbers; --proba adds the shares of classes."
        )
    asked = [name for name in (given["id_column"], given["score"]) if name is not None]
    table = read_table(data, given["delimiter"], given["missing"], given["dates"], each_row=True)
    table.require([] if given["id_column"] is None else [given["id_column"]], "--id")
    table.require([] if given["score"] is None else [given["score"]], "--score")
    columns = container.encoding.columns
    table, others = choose_known(table, container.encoding.names, has_own_names(container))
    unused = [name for name in others if name not in asked]
    if unused:
        note(f"{counted(len(unused), 'column')} not used: {listed(unused)}.")
    Z = container.rows(read_as(table, columns, container.takes_missing))
    n_threads = _threads(given["jobs"])
    if container.task == "regression":
        answers = container.predict(Z, n_threads)
        spread = _spread(fitted, Z) if given["spread"] else {}
        frame = _frame(table, given["id_column"], {**_columns_of(answers), **spread})
        if given["score"] is not None:
            _score_numbers(table, given["score"], answers)
    else:
        predicted = container.predict_index(Z, n_threads)
        shares = container.predict_proba(Z, n_threads) if given["proba"] else None
        results = _labels_and_shares(predicted, container.classes, shares)
        frame = _frame(table, given["id_column"], results)
        if given["score"] is not None:
            _score(table, given["score"], predicted, container.classes)
    if output is None:
        write_stdout(_bytes(frame, ".csv"))
    else:
        suffix = output.suffix.lower()
        write_file(output, _bytes(frame, suffix if suffix in SUFFIXES else ".csv"))


def _is_plain(path: Path) -> bool:
    """Say whether a file is no device or pipe, as /dev/null is, which have no endings."""
    return path.is_file() or not path.exists()


def _threads(jobs: int) -> int:
    from obliqua.data.threads import thread_count

    return thread_count(jobs)


def _labels_and_shares(
    predicted: Int64Array, classes: AnyArray, shares: AnyArray | None
) -> dict[str, AnyArray]:
    results = {PREDICTION: classes.take(predicted)}
    if shares is not None:
        for label, share in zip(classes.tolist(), shares.T, strict=True):
            results[f"proba_{text_of(label)}"] = np.ascontiguousarray(share)
    return results


def _columns_of(answers: AnyArray) -> dict[str, AnyArray]:
    if answers.ndim == 1:
        return {PREDICTION: answers}
    return {f"{PREDICTION}_{k}": np.ascontiguousarray(y) for k, y in enumerate(answers.T)}


def _spread(fitted: Any, Z: AnyArray) -> dict[str, AnyArray]:
    """Return how far rows may be off: the spread of their leaves, and quantiles if there are."""
    results = {"spread": fitted._spread_of(Z)}
    found = fitted._quantiles_of(Z)
    if found is not None and found.shape[2] == 1:
        for place, share in enumerate(fitted.quantiles):
            results[f"quantile_{share:g}"] = np.ascontiguousarray(found[:, place, 0])
    return results


def _frame(
    table: NamedTable, id_column: str | None, results: Mapping[str, AnyArray]
) -> pl.DataFrame:
    polars = require("polars", "cli", "Writing tables")
    columns: list[pl.Series] = [] if id_column is None else [table.frame[id_column]]
    for name, values in results.items():
        columns.append(polars.Series(name, values.tolist() if name == PREDICTION else values))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise Trouble(f"--id: the column {id_column!r} has the name of a result; rename it.")
    return polars.DataFrame(columns)


def _bytes(frame: pl.DataFrame, suffix: str) -> bytes:
    polars = require("polars", "cli", "Writing tables")
    stream = io.BytesIO()
    try:
        if suffix == ".csv":
            frame.write_csv(stream)
        else:
            frame.write_parquet(stream)
    except polars.exceptions.PolarsError as error:  # a list as --id does not fit into CSV
        raise Trouble(f"The result cannot be written as {suffix}: {error}.") from error
    return stream.getvalue()


def _score_numbers(table: NamedTable, target: str, answers: AnyArray) -> None:
    """Print how well numbers are predicted on stderr."""
    if answers.ndim > 1:
        raise Trouble(f"--score: the model has {answers.shape[1]} outputs; one can be scored.")
    known = table.frame[target].is_not_null().to_numpy()
    if not known.any():
        raise Trouble(f"--score: the column {target!r} is empty in all rows.")
    truth = plain_numbers(table.filtered(known), [target], "--score")[target].to_numpy()
    said = fit_of_numbers(truth, answers[known], None)
    click.echo(f"R squared {said} on {counted(len(truth), 'row')}", err=True)


def _score(table: NamedTable, target: str, predicted: Int64Array, classes: AnyArray) -> None:
    """Print the accuracy on stderr, where it is in nobody's way."""
    known = table.frame[target].is_not_null().to_numpy()
    if not known.any():
        raise Trouble(f"--score: the column {target!r} is empty in all rows.")
    truth = table.filtered(known).labels(target)
    numbers = class_numbers(classes, truth)
    unknown = check_known(numbers, truth, classes, f"--score {target}")
    right = numbers == predicted[known]
    missing = int((~known).sum())
    without = f" ({counted(missing, 'row')} without a class left out)" if missing else ""
    click.echo(
        f"accuracy {100 * right.mean():.1f} % on {counted(len(truth), 'row')}{without}{unknown}",
        err=True,
    )
