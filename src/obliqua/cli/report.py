"""``obliqua report``: a saved model as a page to look at, to try and to edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from obliqua.cli import _command as shared
from obliqua.cli._models import load_model
from obliqua.cli._output import chosen_target, note, write_file
from obliqua.cli._rows import known_rows
from obliqua.io.values import text_of

MOST_ROWS = 2000  # if nobody says how many


@shared.command(
    "obliqua report model.obliqua",
    "obliqua report model.obliqua patients.csv -t diagnosis -o report.html",
    "obliqua report model.obliqua patients.csv --test new.csv -t diagnosis",
    "obliqua report model.obliqua patients.csv -t diagnosis --no-rows",
)
@click.argument("model", metavar="MODEL")
@click.argument("data", metavar="[DATA]", required=False)
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the page to this file; report.html if not given.",
)
@click.option(
    "--target", "-t", metavar="COLUMN", help="The column of DATA with the classes, or the numbers."
)
@click.option("--test", metavar="FILE", help="A table of rows that the model has not seen.")
@click.option(
    "--rows",
    "max_rows",
    type=shared.at_least(0),
    metavar="N",
    help="Embed at most N rows, drawn by chance: to try them, and to judge edits by them; 2000 if "
    "not given.",
)
@click.option("--no-rows", is_flag=True, help="Embed no row, for pages that others will see.")
@click.option("--title", metavar="TEXT", help="The title of the page.")
@shared.missing_option
@shared.dates_option
@shared.delimiter_option
def report(model: str, data: str | None, output: Path | None, **given: Any) -> None:
    """Write a page that shows a saved model and edits it.

    MODEL is a file that `obliqua fit` has made, DATA the table that it was fitted to. The page is
    one file that needs no network. It saves edits as a file for `obliqua edit`.
    """
    _check_options(data, given)
    target = chosen_target(output, "report.html", model, data, given["test"])
    fitted, container = load_model(model)
    from obliqua.pages.reports import report as page_of

    X, y = known_rows(container, {**given, "data": data})
    X_test, y_test = known_rows(container, {**given, "data": given["test"]})
    names = None
    if container.classes.dtype == bool:
        names = [text_of(label) for label in container.classes.tolist()]
    max_rows = 0 if given["no_rows"] else given["max_rows"]
    page = page_of(
        fitted,
        X,
        y,
        X_test=X_test,
        y_test=y_test,
        title=given["title"],
        class_names=names,
        max_rows=MOST_ROWS if max_rows is None else max_rows,
    )
    write_file(target, page.text.encode("ascii"))
    note(f"The page is {target}. Open it in a browser.")


def _check_options(data: str | None, given: dict[str, Any]) -> None:
    if given["no_rows"] and given["max_rows"] is not None:
        raise click.UsageError("--rows says how many to embed, and --no-rows wants none.")
    tables = [data, given["test"]]
    if given["target"] is not None and not any(tables):
        raise click.UsageError("--target is a column of DATA, which is not given.")
    for option in ("missing", "dates", "delimiter"):
        if given[option] and not any(tables):
            raise click.UsageError(f"--{option} is for DATA, which is not given.")
