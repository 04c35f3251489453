"""``obliqua advise``: which kind of tree suits a table, and whether one does."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from obliqua.cli import _command as shared
from obliqua.cli._output import console, note, print_laid_out, print_text, progress, write_stdout
from obliqua.cli.compare import print_measures, read_problem, title_of, write_for_programs
from obliqua.errors import PartlyCompared

if TYPE_CHECKING:
    from obliqua.select.advice import Advice
    from obliqua.select.result import CompareResult


@shared.command(
    "obliqua advise patients.csv --target diagnosis",
    "obliqua advise patients.csv -t diagnosis --repeats 5 --jobs 4",
    "obliqua advise patients.csv -t diagnosis --json",
    "obliqua advise houses.csv -t price",
)
@shared.data_argument
@shared.target_option
@shared.task_option
@shared.features_options
@shared.types_option
@shared.folds_options(
    None, "; once, if not given, and once more below 2,000 rows if that may change the advice"
)
@click.option(
    "--max-rows",
    type=shared.at_least(2),
    default=20_000,
    show_default=True,
    help="Of a larger table draw so many rows, each class with its share, but at least 10 rows of "
    "a class.",
)
@shared.drop_missing_option
@shared.seed_option
@shared.jobs_option("processes")
@shared.format_option
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@shared.delimiter_option
def advise(data: str, target: str, form: str, **given: Any) -> None:
    """Say which kind of tree suits DATA, and whether one does.

    Cross-validates an axis-parallel tree, a sparse, a dense and a refined oblique one, a linear
    model, an oblique forest, and always giving the most frequent class, all on the same folds.
    Trees are also grown to equal numbers of leaves. Then it says in words what that means. Where
    numbers are learnt, a tree with linear functions in its leaves is tried too, a ridge
    regression is the linear model, and the mean is what is always given. DATA is a CSV or Parquet
    file, or - for standard input.
    """
    from obliqua.select.advise import advise as ask

    table, X, y = read_problem(data, target, given)
    try:
        with progress("trying", given["folds"] * (given["repeats"] or 1)) as step:
            advice = ask(
                X.frame if X.qualitative else X.frame.to_numpy(),
                y,
                task=given["task"],
                categorical_features=list(X.qualitative) if X.given else "from_dtype",
                n_folds=given["folds"],
                n_repeats=given["repeats"],
                max_rows=given["max_rows"],
                random_state=given["seed"],
                n_jobs=given["jobs"],
                progress=step,
            )
    except PartlyCompared as error:
        _print_part(error.result)
        raise
    for text in advice.notes:
        note(text.replace("max_rows", "--max-rows"))
    if given["as_json"] or form in ("csv", "json"):
        write_for_programs(advice.to_dict(), "json" if given["as_json"] else form)
    elif form == "markdown":
        write_stdout(advice.markdown().encode())
    else:
        console().print(title_of(table, target, advice.result, X), soft_wrap=True)
        _print(advice)
        if data != "-":
            _print_command(advice, data, target, given)


def _print_part(result: CompareResult) -> None:
    """Print what was measured before Ctrl-C; nothing follows from it yet."""
    from obliqua.select.result import cells, heads

    for text in result.notes:
        note(text)
    found = result.rows()
    lines = [(cells(row, result.task), bool(row["within_noise"])) for row in found]
    print_measures(heads(result.task), lines, [""] * len(found))
    console().print()
    print_laid_out(result.reading())


def _print(advice: Advice) -> None:
    """Print both tables and the words."""
    from rich import box
    from rich.table import Table as Grid

    from obliqua.select.advice import advice_cells, advice_heads

    found, task = advice.rows(), advice.result.task
    lines = [(advice_cells(row, task), bool(row["within_noise"])) for row in found]
    print_measures(advice_heads(task), lines, [row["title"] for row in found])
    screen = console()
    screen.print()
    print_laid_out(advice.result.reading())
    screen.print()
    score = "R2" if task == "regression" else "Accuracy"
    print_laid_out(f"{score} of trees of equal size, grown leaf by leaf and not pruned:")
    screen.print()
    heads, *rows = advice.curve_rows()
    grid = Grid(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for head in heads:
        grid.add_column(head, justify="right", overflow="fold")
    for row in rows:
        grid.add_row(*row)
    print_laid_out(grid)
    for paragraph in advice.describe().split("\n\n")[1:]:  # the table says what the first does
        screen.print()
        print_laid_out(paragraph)


def _print_command(advice: Advice, data: str, target: str, given: dict[str, Any]) -> None:
    """Print how the tree is made."""
    words = advice.command()
    if words:
        file = f"./{data}" if data.startswith("-") else data  # which is no option
        start = f"obliqua fit {shlex.quote(file)} -t {shlex.quote(target)} {words}"
        print_text("\nTo grow this tree and save it:\n")
        print_text(" ".join([start, *_options(given)]))


def _options(given: dict[str, Any]) -> list[str]:
    """Write the options that say how the table is read, as a shell takes them."""
    columns = ("features", "drop", "categorical", "numeric")
    named = [(name, given[name]) for name in columns if given[name]]
    out = [f"--{name} {','.join(map(shared.quoted, names))}" for name, names in named]
    out += [f"--missing {shlex.quote(word)}" for word in given["missing"]]
    if given["dates"]:
        out.append(f"--dates {given['dates']}")
    if given["delimiter"]:
        sign = "tab" if given["delimiter"] == "\t" else given["delimiter"]
        out.append(f"--delimiter {shlex.quote(sign)}")
    if given["drop_missing_target"]:
        out.append("--drop-missing-target")
    if given["seed"]:
        out.append(f"--seed {given['seed']}")
    return out
