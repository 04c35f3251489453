"""``obliqua predict``: the classes, or numbers, of new rows."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray, Int64Array
from obliqua.cli import _command as shared
from obliqua.cli._blocks import TableBlocks, files_of, memory_option, planned, read_whole
from obliqua.cli._errors import Trouble, counted, listed
from obliqua.cli._labels import NumbersFit, class_numbers, said_of_unknown
from obliqua.cli._memory import TO_READ
from obliqua.cli._models import has_own_names, load_model
from obliqua.cli._output import (
    check_target,
    each_note_once,
    file_to_write,
    note,
    share_bar,
    write_stdout,
)
from obliqua.cli._table import NamedTable, choose_known
from obliqua.cli._types import plain_numbers, read_as
from obliqua.io.values import text_of

if TYPE_CHECKING:
    import polars as pl

    from obliqua.tree.model import Model

SUFFIXES = (".csv", ".parquet", ".pq")
PREDICTION = "prediction"


@shared.command(
    "obliqua predict model.obliqua new.csv",
    "obliqua predict model.obliqua new.csv --proba --id patient -o answers.parquet",
    "obliqua predict houses.obliqua new.csv --spread",
    "cat new.csv | obliqua predict model.obliqua - | head",
)
@click.argument("model", metavar="MODEL")
@shared.files_argument
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
@memory_option
@shared.delimiter_option
def predict(model: str, data: tuple[str, ...], output: Path | None, **given: Any) -> None:
    """Predict what each row of DATA is, with a saved model.

    That is its class, or a number if the model has learnt numbers. MODEL is a file that
    `obliqua fit` has made. DATA is a CSV or Parquet file, several, a pattern such as
    'data/*.parquet', or - for standard input. Columns are found by name, so that their order does
    not matter; columns that the model does not know are left out. They are read as what they were
    when the model was fitted. The result is CSV with a line per row, in the order of the rows. A
    table that is larger than memory is read part by part.
    """
    if output is not None:
        check_target(output, *files_of(data), model)
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
    asked = Answers(fitted, container, given)
    plan = planned(data, given["memory"], TO_READ)
    reading = given["delimiter"], given["missing"], given["dates"]
    if plan.limit is None:
        tables: Iterable[NamedTable] = [read_whole(plan, *reading, each_row=True)]
    else:
        tables = _parts(TableBlocks(plan, *reading, each_row=True))
    with _writer(output) as write:
        for table in tables:
            frame = asked.frame(table)
            if plan.limit is None:
                asked.check_score()
            write(frame)
        asked.check_score()
    asked.say_score()


@contextmanager
def _writer(output: Path | None) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Return what writes rows below each other, to stdout or to a file that is whole or not."""
    if output is None:
        lines = CsvLines(write_stdout)
        yield lines.write
        return
    with file_to_write(output) as file:
        if output.suffix.lower() in SUFFIXES[1:]:
            groups = ParquetGroups(file)
            yield groups.write
            groups.close()
        else:
            yield CsvLines(file.write).write


class CsvLines:
    """Writes rows as CSV, one part after another."""

    def __init__(self, put: Callable[[bytes], Any]) -> None:
        self.put = put
        self.header = True

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows."""
        stream = io.BytesIO()
        with _says_what_is_not_written(".csv"):
            frame.write_csv(stream, include_header=self.header)
        self.header = False
        self.put(stream.getvalue())


class ParquetGroups:
    """Writes rows as a Parquet file; several parts as groups of rows."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.first: pl.DataFrame | None = None
        self.writer: Any = None

    def write(self, frame: pl.DataFrame) -> None:
        """Write some rows; the first wait until it is known whether there are more."""
        if self.first is None:
            self.first = frame
            return
        if self.writer is None:
            parquet: Any = require("pyarrow.parquet", "files", "Writing a table part by part")
            rows = self.first.to_arrow()
            self.writer = parquet.ParquetWriter(self.file, rows.schema, compression="zstd")
            self.writer.write_table(rows)
        with _says_what_is_not_written(".parquet"):
            self.writer.write_table(frame.to_arrow().cast(self.writer.schema))

    def close(self) -> None:
        """Finish the file."""
        if self.writer is not None:
            self.writer.close()
        elif self.first is not None:
            with _says_what_is_not_written(".parquet"):
                self.first.write_parquet(self.file)


@contextmanager
def _says_what_is_not_written(suffix: str) -> Iterator[None]:
    polars = require("polars", "cli", "Writing tables")
    try:
        yield
    except polars.exceptions.PolarsError as error:  # a list as --id does not fit into CSV
        raise Trouble(f"The result cannot be written as {suffix}: {error}.") from error


def _parts(blocks: TableBlocks) -> Iterator[NamedTable]:
    """Read a table part by part, and show how far it is."""
    with each_note_once(), share_bar() as bar:
        bar("predicting", 0.0)
        for table in blocks:
            yield table
            bar("predicting", blocks.n_bytes / blocks.total if blocks.total else None)


class Answers:
    """What a model says of a table, one part after another, and how good that is."""

    def __init__(self, fitted: Any, container: Model, given: dict[str, Any]) -> None:
        self.fitted = fitted
        self.model = container
        self.given = given
        self.n_threads = _threads(given["jobs"])
        self.numbers = NumbersFit()
        self.right = self.n_scored = self.n_missing = 0
        self.unknown: Counter[str] = Counter()

    def frame(self, table: NamedTable) -> pl.DataFrame:
        """Return what is said of some rows."""
        given, container = self.given, self.model
        asked = [name for name in (given["id_column"], given["score"]) if name is not None]
        table.require([] if given["id_column"] is None else [given["id_column"]], "--id")
        table.require([] if given["score"] is None else [given["score"]], "--score")
        columns = container.encoding.columns
        table, others = choose_known(table, container.encoding.names, has_own_names(container))
        unused = [name for name in others if name not in asked]
        if unused:
            note(f"{counted(len(unused), 'column')} not used: {listed(unused)}.")
        Z = container.rows(read_as(table, columns, container.takes_missing))
        if container.task == "regression":
            answers = container.predict(Z, self.n_threads)
            spread = _spread(self.fitted, Z) if given["spread"] else {}
            results = {**_columns_of(answers), **spread}
        else:
            answers = container.predict_index(Z, self.n_threads)
            shares = container.predict_proba(Z, self.n_threads) if given["proba"] else None
            results = _labels_and_shares(answers, container.classes, shares)
        frame = _frame(table, given["id_column"], results)
        if given["score"] is not None:
            self._score(table, given["score"], answers)
        return frame

    def _score(self, table: NamedTable, target: str, answers: AnyArray) -> None:
        """Compare with what is true."""
        if answers.ndim > 1:
            raise Trouble(f"--score: the model has {answers.shape[1]} outputs; one can be scored.")
        known = table.frame[target].is_not_null().to_numpy()
        self.n_missing += int((~known).sum())
        self.n_scored += int(known.sum())
        if not known.any():
            return
        table, answers = table.filtered(known), answers[known]
        if self.model.task == "regression":
            truth = plain_numbers(table, [target], "--score")[target].to_numpy()
            self.numbers.add(truth, answers, None)
            return
        labels = table.labels(target)
        numbers = class_numbers(self.model.classes, labels)
        self.unknown.update(map(text_of, labels[numbers < 0].tolist()))
        self.right += int((numbers == answers).sum())

    def check_score(self) -> None:
        """Refuse a score of nothing, before anything is kept."""
        score = self.given["score"]
        if score is not None and not self.n_scored:
            raise Trouble(f"--score: the column {score!r} is empty in all rows.")
        said_of_unknown(self.unknown, self.n_scored, self.model.classes, f"--score {score}")

    def say_score(self) -> None:
        """Print how good the answers are on stderr, where it is in nobody's way."""
        score, rows = self.given["score"], counted(self.n_scored, "row")
        if score is None:
            return
        if self.model.task == "regression":
            click.echo(f"R squared {self.numbers} on {rows}", err=True)
            return
        unknown = said_of_unknown(self.unknown, self.n_scored, self.model.classes, "--score")
        missing = self.n_missing
        without = f" ({counted(missing, 'row')} without a class left out)" if missing else ""
        share = 100 * self.right / self.n_scored
        click.echo(f"accuracy {share:.1f} % on {rows}{without}{unknown}", err=True)


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
