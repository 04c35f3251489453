"""``obliqua reproduce``: the papers' tables again, published figures and ours side by side.

The installed command finds this in a clone, see `obliqua.cli.reproduce`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from obliqua.cli import INTERRUPTED
from obliqua.cli import _command as shared
from obliqua.cli._errors import Trouble, did_you_mean
from obliqua.cli._output import (
    QUIET,
    console,
    note,
    print_laid_out,
    print_text,
    write_file,
)

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from reproduction.running import Absent, FinishedCell, Work
    from reproduction.tables import Comparison, PaperTable

ALL, OWN, CLAIMS = "all", "own", "claims"


class TableName(click.ParamType):
    """The name of a table, or a word for several."""

    name = "table"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Look the name up."""
        from reproduction.catalogue import TABLES

        name = str(value)
        if name in TABLES or name in (ALL, OWN, CLAIMS):
            return name
        raise click.BadParameter(
            f"There is no table {name!r}.{did_you_mean(name, [*TABLES, ALL, OWN, CLAIMS])} There "
            f"are {', '.join(TABLES)}; {ALL} are those of the papers, {OWN} the others, {CLAIMS} "
            "what the papers conclude.",
            ctx,
            param,
        )


class Repeats(click.ParamType):
    """A number of repeats, and others for single data sets."""

    name = "N[,SET=N]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, dict[str, int]]:
        """Read 10,LET=1 as 10 repeats, but 1 on LET."""
        if isinstance(value, tuple):
            return value
        everywhere: int | None = None
        by_set: dict[str, int] = {}
        try:
            for word in str(value).split(","):
                name, equals, number = word.rpartition("=")
                if equals:
                    by_set[name.strip()] = int(number)
                else:
                    everywhere = int(number)
        except ValueError:
            raise click.BadParameter(
                f"{value!r} is not of the form N[,SET=N], as 10 or 10,LET=1.", ctx, param
            ) from None
        return everywhere, by_set


@shared.command(
    "obliqua reproduce hhcart-table-2 --repeats 1 --without SHUT,LET",
    "obliqua reproduce all --jobs 2 --resume",
    "obliqua reproduce claims --repeats 2",
    "obliqua reproduce oc1-table-1 --methods OC1,OC1+fisher --out fisher",
    "obliqua reproduce --list",
)
@click.argument("names", metavar="[NAME]...", nargs=-1, type=TableName())
@click.option("--sets", type=shared.Names(), help="Data sets; all of the table if not given.")
@click.option("--methods", type=shared.Names(), help="Methods; the paper's if not given.")
@click.option("--without", type=shared.Names(), default=[], help="Data sets to leave out.")
@click.option(
    "--repeats",
    type=Repeats(),
    default=(None, {}),
    help="Repeats, for all data sets and for single ones; as in the paper if not given.",
)
@shared.seed_option
@shared.jobs_option("processes")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    metavar="FOLDER",
    help="Where results are kept, and tables are written.",
)
@click.option("--resume", is_flag=True, help="Go on with the results that are in the folder.")
@click.option("--list", "only_list", is_flag=True, help="Show tables, data sets and methods.")
def reproduce(names: tuple[str, ...], only_list: bool, **given: Any) -> None:
    """Make tables of the papers again.

    NAME is a table, such as hhcart-table-2; several may be named. The word all stands for all
    tables of the papers, own for our own experiments. Each published figure is put beside ours
    and judged. The word claims stands for experiments on what the papers conclude; with it all
    conclusions are judged, by the results in FOLDER and, for tables that are not there, by those
    that are kept with the sources.

    A finished cell is kept at once in FOLDER/NAME.jsonl. After an interruption --resume goes on
    and computes nothing twice; it also adds data sets, methods and repeats. The tables are
    printed, and written as Markdown and CSV. The same seed gives the same figures for any number
    of processes.
    """
    from reproduction.catalogue import CLAIM_TABLES, OWN_TABLES, TABLES
    from reproduction.reproduce import Wanted, choose, prepared
    from reproduction.reproduce import reproduce as make

    if not names and not only_list:
        raise click.UsageError(
            f"Name a table, or {ALL} for those of the papers. --list shows them."
        )
    papers = [name for name in TABLES if name not in OWN_TABLES]
    several = {ALL: papers, OWN: [name for name in TABLES if name in OWN_TABLES]}
    several[CLAIMS] = [table.name for table in CLAIM_TABLES]
    chosen_names = dict.fromkeys(
        each for name in names or (ALL, OWN) for each in several.get(name, [name])
    )
    tables = [TABLES[name] for name in chosen_names]
    if only_list:
        print_text("\n\n".join(map(_listing, tables)))
        return
    everywhere, by_set = given["repeats"]
    wanted = Wanted(given["sets"], given["methods"], given["without"], everywhere, by_set)
    try:
        chosen = choose(tables, wanted)
    except ValueError as error:
        text = str(error)
        raise click.UsageError(f"{text[0].upper()}{text[1:]}.") from error
    _make_folder(given["out"])
    stores, work = prepared(chosen, given["out"], given["seed"], resume=given["resume"])
    try:
        with _progress(work) as step:
            made, absent = make(chosen, stores, work, given["jobs"], step)
    except KeyboardInterrupt:
        click.echo(
            f"Interrupted. What is finished is kept in {given['out']}; the same command with "
            "--resume goes on.",
            err=True,
        )
        sys.exit(INTERRUPTED)
    _report_absent(absent)
    for compared in made:
        _write(compared, given["out"])
    if CLAIMS in names:  # whose experiments are shown as verdicts
        _print_tables([one for one in made if one.table.name not in several[CLAIMS]])
        _judge_claims(given["out"])
    else:
        _print_tables(made)
    _say_where(made, given["out"])
    if not made:
        raise Trouble("Nothing could be run: none of the data can be had.")


def _listing(table: PaperTable) -> str:
    lines = [f"{table.name}: {table.title}", "", "data sets:"]
    lines += [f"  {data_set.name:<12} {data_set.title}" for data_set in table.data_sets]
    lines += ["", "methods:"]
    lines += [f"  {method.name:<12} {method.title}" for method in table.methods]
    return "\n".join(lines)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Trouble(f"The folder {folder} cannot be made: {error.strerror}.") from error


def _report_absent(absent: Sequence[Absent]) -> None:
    """Say which data are missing, and what to do; of a set that several tables have, once."""
    by_reason: dict[str, dict[str, list[str]]] = {}
    for one in absent:
        reason = " ".join(str(one.error).split())
        by_reason.setdefault(reason, {}).setdefault(one.data_set, []).append(one.table)
    for reason, sets in by_reason.items():
        for name, tables in sets.items():
            click.echo(f"Left out: {name} of {', '.join(tables)}. {reason}", err=True)


# --- progress ---------------------------------------------------------------------------------


@contextmanager
def _progress(work: Work) -> Iterator[Callable[[FinishedCell], None] | None]:
    """Show how far the work is: two bars at a terminal, a line per cell elsewhere."""
    if click.get_current_context().meta.get(QUIET) or not work.tasks:
        yield None
        return
    screen = console(stderr=True)
    if not screen.is_terminal:
        yield _say
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    left: dict[tuple[str, str], int] = {}
    for task in work.tasks:
        name = (task.store.table, task.key.data_set)
        left[name] = left.get(name, 0) + 1
    with Progress(*columns, TextColumn("{task.fields[left]}"), console=screen) as bars:
        sets = bars.add_task("data sets", total=len(left), left="")
        cells = bars.add_task("cells", total=len(work.tasks), left="")

        def step(done: FinishedCell) -> None:
            name = (done.table, done.key.data_set)
            left[name] -= 1
            if not left[name]:
                bars.advance(sets)
            what = f"{done.table} {done.key.data_set} {done.key.method}"
            bars.update(sets, description=f"data sets: {done.table} {done.key.data_set}")
            bars.update(
                cells,
                description=f"cells: {what}, repeat {done.key.repeat + 1}",
                completed=done.number,
                left=_left(done.left),
            )

        yield step


def _say(done: FinishedCell) -> None:
    text = str(done).replace("] ", f"] {done.table} ", 1)
    click.echo(f"{text}; {_left(done.left)}" if done.number < done.total else text, err=True)


def _left(seconds: float) -> str:
    """Write how long it will take, no finer than can be told."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min left"
    return f"{minutes} min left" if minutes else "less than a minute left"


# --- tables -----------------------------------------------------------------------------------


def _write(compared: Comparison, folder: Path) -> None:
    path = folder / compared.table.name
    for suffix, text in ((".md", compared.markdown()), (".csv", compared.csv())):
        write_file(path.with_name(path.name + suffix), text.encode())


def _say_where(made: Sequence[Comparison], folder: Path) -> None:
    """Say where the tables were written, and where the cells are."""
    if not made:
        return
    names = ", ".join(compared.table.name for compared in made)
    logs = dict.fromkeys(one.table.cells_of or one.table.name for one in made)
    note(
        f"written to {folder}: {names}, each as .md and .csv; the cells are in "
        f"{', '.join(f'{name}.jsonl' for name in logs)}."
    )


def _judge_claims(folder: Path) -> None:
    """Judge the papers' conclusions by the results of a folder, and kept ones for the rest."""
    from reproduction.claims.page import judged, pages, said
    from reproduction.page import logs

    kept = {**logs(), **logs(folder)}
    for name, text in pages(kept).items():
        write_file(folder / name, text.encode())
    for line in said(judged(kept)):
        print_laid_out(line)


def _print_tables(made: Sequence[Comparison]) -> None:
    from reproduction.verdict import Summed, sum_up, what_is_compared

    together = Summed()
    for compared in made:
        together += sum_up(compared.figures())
        _print_table(compared)
    if len(made) > 1:
        print_text(f"All {len(made)} tables together:\n")
        for sentence in together.sentences():
            print_laid_out(sentence)
    figures = [figure for compared in made for figure in compared.figures()]
    if together.both.total:
        for line in what_is_compared(figures):
            print_laid_out(line)


def _print_table(compared: Comparison) -> None:
    """Print each figure of the paper beside ours; a table without such as its Markdown has it."""
    from reproduction.verdict import figure_rows, verdict_lines

    if not any(True for _ in compared.figures()):
        _print_markdown(compared.markdown())
        return
    print_text(f"{compared.table.title}\n")
    print_laid_out(_figures_grid([_shortened(row) for row in figure_rows(compared)]))
    print_text("")
    _print_methods(compared)
    _warn_of_few_repeats(compared)
    for line in verdict_lines(compared.table.name, compared.figures()):
        print_laid_out(line)
    print_text("")


def _shortened(row: Sequence[str]) -> list[str]:
    """A line of figures with the names of rates as short as a screen wants them."""
    return [
        cell.replace("true positive rate of", "TPR of").replace("true negative rate of", "TNR of")
        for cell in row
    ]


def _print_methods(compared: Comparison) -> None:
    """Say what the names of the methods stand for."""
    run = dict.fromkeys(row.method for row in compared.rows)
    titles = {method.name: method.title for method in compared.table.methods}
    width = max(map(len, run))
    for name in run:
        counts = compared.table.readings.get(name, name)
        more = f" (counted: {counts})" if counts != name and counts in run else ""
        print_laid_out(f"{name:<{width}}  {titles[name]}{more}")
    print_text("")


def _warn_of_few_repeats(compared: Comparison) -> None:
    """Say that means of few repeats are rough."""
    wanted = compared.table.repeats
    fewest = min(row.ours.repeats for row in compared.rows)
    if fewest < wanted:
        told = "there is no spread of ours" if fewest == 1 else "their means and spreads are rough"
        print_laid_out(
            f"Warning: few repeats. Some figures have {fewest} in the place of {wanted}: {told}, "
            "and verdicts may change with more."
        )
        print_text("")


def _grid(heads: Sequence[str], left: int) -> RichTable:
    """Make a table whose first columns are texts, and whose others are figures."""
    from rich import box
    from rich.table import Table as Grid

    grid = Grid(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, head in enumerate(heads):
        grid.add_column(head, justify="right" if place >= left else "left", overflow="fold")
    return grid


def _figures_grid(rows: Sequence[Sequence[str]]) -> RichTable:
    """Make the table of `figure_rows`; where the screen is narrow only verdicts are broken."""
    from reproduction.verdict import HEADS

    grid = _grid(HEADS, left=3)
    *others, _ = grid.columns
    grid.padding = (0, 0, 0, 0)
    for place, column in enumerate(others):
        widest = max(len(row[place]) for row in [HEADS, *rows])
        column.min_width, column.no_wrap = min(widest, 15), place >= 3
    set_before, method_before = "", ""
    for data_set, method, *cells in rows:
        same = data_set == set_before
        shown = "" if same and method == method_before else method
        grid.add_row("" if same else data_set, shown, *cells)
        set_before, method_before = data_set, method
    return grid


def _print_markdown(text: str) -> None:
    """Print Markdown with its tables as the screen has room for them."""
    grid: RichTable | None = None
    for line in [*text.splitlines(), ""]:
        if line.startswith("|--"):
            continue
        if line.startswith("|"):
            cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
            if grid is None:
                grid = _grid(cells, left=2)
            else:
                grid.add_row(*cells)
            continue
        if grid is not None:
            print_laid_out(grid)
            grid = None
        print_laid_out(line.lstrip("#").strip() if line.startswith("#") else line)
