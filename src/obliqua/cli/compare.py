"""``obliqua compare``: methods side by side on a table."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from obliqua._wording import cells as cells_of
from obliqua.cli import _command as shared
from obliqua.cli._data import read_table
from obliqua.cli._errors import counted
from obliqua.cli._models import make_estimator, set_categories
from obliqua.cli._output import console, note, print_laid_out, progress, shown, write_stdout
from obliqua.cli._table import choose_features
from obliqua.cli._types import Choice, Features, infer

if TYPE_CHECKING:
    from obliqua.experiments.result import CompareResult

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
    methods="",
)
@shared.data_argument
@shared.target_option
@click.option(
    "--methods",
    "-m",
    type=MethodNames(),
    help="What to compare; all but aft and odt if not given.",
)
@click.option(
    "--set",
    "settings",
    type=shared.Setting(),
    multiple=True,
    help="A parameter for all methods that have it, as max_depth=3. May be repeated.",
)
@shared.features_options
@click.option(
    "--folds",
    type=shared.at_least(2),
    default=10,
    show_default=True,
    help="Folds of the cross-validation; fewer if a class has fewer rows.",
)
@click.option(
    "--repeats",
    type=shared.at_least(1),
    default=1,
    show_default=True,
    help="How often to cross-validate, with other folds each time.",
)
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("processes")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "markdown", "json"]),
    default="table",
    show_default=True,
    help="How the result is printed.",
)
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
    in a split, and the time of a fit.
    """
    from obliqua.experiments.adapt import adapted
    from obliqua.experiments.compare import compare as cross_validate
    from obliqua.experiments.methods import BY_DEFAULT

    names = given["methods"] or list(BY_DEFAULT)
    estimators = make_estimators(names, given["settings"], given["seed"])
    table = read_table(data, given["delimiter"], given["missing"])
    table.require([target], "--target")
    table = table.without_missing(target, given["drop_missing_target"])
    features = choose_features(table, [target], given["features"], given["drop"])
    y = table.labels(target)
    X = infer(table, features, Choice.of(given))
    if X.given:
        _set_categories(estimators, list(X.qualitative))
    rows = X.frame if X.qualitative else X.frame.to_numpy()
    chosen = list(X.qualitative) if X.given else "from_dtype"
    ready, notes = adapted(estimators, rows, chosen)
    with progress("comparing") as step:
        result = cross_validate(
            rows,
            y,
            ready,
            n_folds=given["folds"],
            n_repeats=given["repeats"],
            random_state=given["seed"],
            n_jobs=given["jobs"],
            progress=step,
        )
    result = replace(result, notes=(*result.notes, *notes))
    what = f"{shown(f'{table.source}, target {target}')}: {_sizes(result, X)}"
    print_result(result, form, what, given["rates"])


def _set_categories(estimators: dict[str, Any], names: list[str]) -> None:
    """Say which columns are qualitative, to the methods that take such."""
    for estimator in estimators.values():
        set_categories(estimator, names)


def _sizes(result: CompareResult, X: Features) -> str:
    """Say how large a table is, and what is not plain about it."""
    kinds = f" ({len(X.qualitative)} qualitative)" if X.qualitative else ""
    missing = sum(X.missing().values())
    gaps = f", {counted(missing, 'missing cell')}" if missing else ""
    return (
        f"{result.n_rows:,} rows, {result.n_features} features{kinds}, {result.n_classes} "
        f"classes{gaps}"
    )


def make_estimators(names: list[str], settings: Any, seed: int) -> dict[str, Any]:
    """Return estimators by name; a parameter is for those that have it, and one must."""
    plain = {name: make_estimator(name, (), seed).get_params() for name in names}
    for parameter, _ in settings:
        if not any(parameter in known for known in plain.values()):
            make_estimator(names[0], settings, seed)  # says what is wrong
    return {
        name: make_estimator(name, [pair for pair in settings if pair[0] in known], seed)
        for name, known in plain.items()
    }


def print_result(result: CompareResult, form: str, title: str, rates: bool = False) -> None:
    """Print what was measured."""
    for text in result.notes:
        note(text)
    if form == "table":
        _print_table(result, title)
        if rates:
            _print_rates(result)
    elif form == "markdown":
        write_stdout(result.markdown(rates).encode())
    elif form == "json":
        text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False)
        write_stdout(f"{text}\n".encode())
    else:
        stream = io.StringIO(newline="")
        rows = result.to_dict()["methods"]
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_stdout(stream.getvalue().encode())


def _print_table(result: CompareResult, title: str) -> None:
    from rich import box
    from rich.table import Table as Grid

    from obliqua.experiments.methods import METHODS
    from obliqua.experiments.result import HEADS, cells

    screen = console()
    screen.print(title, soft_wrap=True)
    heads = ["feat.\n/split" if head == "features/split" else head for head in HEADS]
    rows = []
    for row in result.rows():
        texts = cells(row)
        texts[1] += "" if row["within_noise"] else "  "  # keep the numbers below each other
        rows.append(texts)
    kept = _columns_with_room(heads, rows, screen.width)
    grid = Grid(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for k, head in enumerate(heads[:kept]):
        # A screen that is too narrow even for the accuracy gets it in several lines.
        grid.add_column(head, justify="right" if k else "left", overflow="fold", no_wrap=k > 1)
    wide = screen.width >= WIDE
    if wide:
        grid.add_column("what it is", overflow="fold")
    for row, texts in zip(result.rows(), rows, strict=True):
        grid.add_row(*texts[:kept], *([METHODS[row["method"]].title] if wide else []))
    print_laid_out(grid)
    if kept < len(heads):
        left_out = ", ".join(head.replace("\n", "") for head in heads[kept:])
        note(f"There is no room for {left_out}; --format csv has all columns.")
    screen.print()
    print_laid_out(result.reading())


def _print_rates(result: CompareResult) -> None:
    """Print how well each class is found, class by class."""
    from rich import box
    from rich.table import Table as Grid

    from obliqua.experiments.result import RATE_HEADS

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
