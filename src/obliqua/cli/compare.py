"""``obliqua compare``: methods side by side on a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from obliqua.cli import _command as shared
from obliqua.cli._columns import learnt_columns, print_other_types, print_types
from obliqua.cli._data import read_table
from obliqua.cli._errors import counted
from obliqua.cli._models import make_estimator, set_categories
from obliqua.cli._output import console, note, print_laid_out, progress, shown, write_stdout
from obliqua.cli._table import NamedTable
from obliqua.cli._target import choose_task, learnt_rows, read_target, said_of_target
from obliqua.cli._types import ColumnChoice, Features, UnreadableColumns, infer
from obliqua.errors import PartlyCompared
from obliqua.words.phrases import cells as cells_of

if TYPE_CHECKING:
    from obliqua.select.result import CompareResult

GAP = 2  # between columns
WIDE = 116  # columns of a terminal that has room for what the methods are


class MethodNames(shared.Names):
    """Names of methods."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Look each name up."""
        names = super().convert(value, param, ctx)
        return [shared.MethodName().convert(name, param, ctx) for name in names]


@shared.command(
    "obliqua compare patients.csv --target diagnosis",
    "obliqua compare patients.csv -t diagnosis --methods cart,hhcart-3 --repeats 5",
    "obliqua compare patients.csv -t diagnosis --set pruning=cv --format csv",
    "obliqua compare houses.csv -t price --methods cart,oblique,refined",
    methods="",
)
@shared.data_argument
@shared.target_option
@shared.task_option
@click.option(
    "--methods",
    "-m",
    type=MethodNames(),
    help="What to compare; all but aft, odt and hhcart-g if not given.",
)
@click.option(
    "--set",
    "settings",
    type=shared.Setting(),
    multiple=True,
    help="A parameter for all methods that have it, as max_depth=3. May be repeated.",
)
@shared.features_options
@shared.types_option
@shared.folds_options(repeats=1)
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("processes")
@shared.format_option
@click.option(
    "--rates",
    is_flag=True,
    help="Print the true positive and true negative rate of each class too. CSV and JSON have "
    "them anyway.",
)
@shared.delimiter_option
def compare(data: str, target: str, form: str, **given: Any) -> None:
    """Cross-validate methods side by side on DATA.

    All methods see the same folds, each of which has its share of every class. DATA is a CSV or
    Parquet file, or - for standard input. All columns but the target are features: numbers are
    numeric, text is categories, and cells may be empty.

    The table has the accuracy and the macro F (the mean of the classes' F-measures, of all folds
    together) on the rows held out, the number of leaves, the depth, the mean number of features
    in a split, and the time of a fit; with --set costs=... also what a row held out costs. Where
    numbers are learnt it has R2 (the share of the variance that is explained), RMSE (the root
    mean square error) and MAE (the mean absolute error) instead, and the mean number of features
    in the linear function of a leaf.
    """
    from obliqua.select.adapt import adapted
    from obliqua.select.compare import compare as cross_validate
    from obliqua.select.forecast import MOST_SECONDS
    from obliqua.select.methods import by_default

    table, X, y = read_problem(data, target, given, given["methods"] or ())
    task = given["task"]
    if given["rates"] and task == "regression":
        raise click.UsageError(f"--rates are of classes, and {target!r} is learnt as numbers.")
    names = given["methods"] or list(by_default(task))
    estimators = make_estimators(names, given["settings"], given["seed"], task)
    if X.given:
        _set_categories(estimators, list(X.qualitative))
    rows = X.frame if X.qualitative else X.frame.to_numpy()
    chosen = list(X.qualitative) if X.given else "from_dtype"
    ready, notes = adapted(estimators, rows, chosen)
    stopped = None
    try:
        with progress("comparing", given["folds"] * given["repeats"]) as step:
            result = cross_validate(
                rows,
                y,
                ready,
                task=task,
                n_folds=given["folds"],
                n_repeats=given["repeats"],
                random_state=given["seed"],
                n_jobs=given["jobs"],
                max_seconds=None if given["methods"] else MOST_SECONDS,
                progress=step,
            )
    except PartlyCompared as error:
        stopped, result = error, error.result
    result = replace(result, notes=(*result.notes, *notes))
    print_result(result, form, title_of(table, target, result, X), given["rates"])
    if stopped is not None:
        raise stopped


def read_problem(
    data: str, target: str, given: dict[str, Any], methods: Sequence[str] = ()
) -> tuple[NamedTable, Features, Any]:
    """Read a table and take features and target from it, as the options say; note the task."""
    table = read_table(data, given["delimiter"], given["missing"], given["dates"])
    table.require([target], "--target")
    task = given["task"] = choose_task(table, target, given["task"], methods)
    table = learnt_rows(table, target, task, given["drop_missing_target"])
    table, features = learnt_columns(table, [target], given)
    y = read_target(table, target, task)
    said = said_of_target(target, task, y)
    try:
        X = infer(table, features, ColumnChoice.of(given))
    except UnreadableColumns as error:
        if given["types"]:
            print_other_types(table, error, said)
        raise
    if given["types"]:
        print_types(table, X, said)
        click.get_current_context().exit()
    return table, X, y


def _set_categories(estimators: dict[str, Any], names: list[str]) -> None:
    """Say which columns are qualitative, to the methods that take such."""
    for estimator in estimators.values():
        set_categories(estimator, names)


def title_of(table: NamedTable, target: str, result: CompareResult, X: Features) -> str:
    """Say which table this is, how large, and what is not plain about it."""
    found = (("qualitative", len(X.with_levels())), ("empty", len(X.empty())))
    named = ", ".join(f"{count} {kind}" for kind, count in found if count)
    kinds = f" ({named})" if named else ""
    missing = sum(X.missing().values())
    drawn = result.n_rows < table.frame.height
    rows = f"{result.n_rows:,} of {table.frame.height:,}" if drawn else f"{result.n_rows:,}"
    gaps = f", {counted(missing, 'missing cell')}{' in all' if drawn else ''}" if missing else ""
    classes = f"{result.n_classes} classes"
    return (
        f"{shown(f'{table.source}, target {target}')}: {rows} rows, "
        f"{counted(result.n_features, 'feature')}{kinds}, "
        f"{classes if result.n_classes else 'numbers to learn'}{gaps}"
    )


def make_estimators(
    names: list[str], settings: Any, seed: int, task: str = "classification"
) -> dict[str, Any]:
    """Return estimators by name; a parameter is for those that have it, and one must."""
    plain = {name: make_estimator(name, (), seed, task).get_params() for name in names}
    for parameter, _ in settings:
        if not any(parameter in known for known in plain.values()):
            make_estimator(names[0], settings, seed, task)  # says what is wrong
    return {
        name: make_estimator(name, [pair for pair in settings if pair[0] in known], seed, task)
        for name, known in plain.items()
    }


def print_result(result: CompareResult, form: str, title: str, rates: bool = False) -> None:
    """Print what was measured."""
    for text in result.notes:
        note(text.replace("a larger max_seconds brings", "--methods with its name brings"))
    if form == "table":
        _print_table(result, title)
        if rates:
            _print_rates(result)
    elif form == "markdown":
        write_stdout(result.markdown(rates).encode())
    else:
        write_for_programs(result.to_dict(), form)


def write_for_programs(found: dict[str, Any], form: str) -> None:
    """Write what was measured as JSON, or the methods alone as CSV."""
    if form == "json":
        text = json.dumps(found, indent=2, ensure_ascii=False)
        write_stdout(f"{text}\n".encode())
        return
    stream = io.StringIO(newline="")
    rows = found["methods"]
    writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_stdout(stream.getvalue().encode())


def _print_table(result: CompareResult, title: str) -> None:
    from obliqua.select.methods import find_method
    from obliqua.select.result import cells, heads

    screen = console()
    screen.print(title, soft_wrap=True)
    found = result.rows()
    task = result.task
    titles = [find_method(row["method"], task).title for row in found]
    lines = [(cells(row, task), bool(row["within_noise"])) for row in found]
    print_measures(heads(task, bool(result.costs)), lines, titles)
    screen.print()
    print_laid_out(result.reading())


def print_measures(
    heads: Sequence[str], rows: Sequence[tuple[list[str], bool]], titles: Sequence[str]
) -> None:
    """Print a line per method, as many columns as there is room for."""
    from rich import box
    from rich.table import Table as Grid

    screen = console()
    heads = [head.replace("features/", "feat.\n/") for head in heads]
    lines = []
    for texts, starred in rows:
        lines.append([texts[0], texts[1] + ("" if starred else "  "), *texts[2:]])  # aligned
    kept = _columns_with_room(heads, lines, screen.width)
    grid = Grid(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k, head in enumerate(heads[:kept]):
        # A screen that is too narrow even for the accuracy gets it in several lines.
        grid.add_column(head, justify="right" if k else "left", overflow="fold", no_wrap=k > 1)
    wide = screen.width >= WIDE
    if wide:
        grid.add_column("what it is", overflow="fold")
    for line, title in zip(lines, titles, strict=True):
        grid.add_row(*line[:kept], *([title] if wide else []))
    print_laid_out(grid)
    if kept < len(heads):
        left_out = ", ".join(head.replace("\n", "") for head in heads[kept:])
        note(f"There is no room for {left_out}; --format csv has all columns.")


def _print_rates(result: CompareResult) -> None:
    """Print how well each class is found, class by class."""
    from rich import box
    from rich.table import Table as Grid

    from obliqua.select.result import RATE_HEADS

    grid = Grid(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k, head in enumerate(RATE_HEADS):
        grid.add_column(head, justify="right" if k > 1 else "left", overflow="fold")
    before = None
    for label, *texts in result.rate_rows():
        grid.add_row("" if label == before else shown(label), *texts)
        before = label
    screen = console()
    screen.print()
    print_laid_out(grid)
    screen.print()
    print_laid_out(result.reading_of_rates())


def _columns_with_room(heads: list[str], rows: list[list[str]], width: int) -> int:
    """Return how many columns can be shown: those at the right go first, two always stay."""
    used = -GAP
    for k, head in enumerate(heads):
        texts = [*head.split("\n"), *(row[k] for row in rows)]
        used += GAP + max(map(cells_of, texts))
        if used > width:
            return max(k, 2)
    return len(heads)
