"""``obliqua export``: a saved model for other programs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from obliqua.cli import _command as shared
from obliqua.cli._data import read_table
from obliqua.cli._errors import counted
from obliqua.cli._models import has_own_names, load_model
from obliqua.cli._output import check_target, note, write_file, write_stdout
from obliqua.cli._table import choose_known
from obliqua.cli._types import read_as

if TYPE_CHECKING:
    from obliqua.tree.model import Model

STDOUT = "-"


@dataclass(frozen=True)
class Format:
    """What the command knows of a format.

    Parameters
    ----------
    title : str
        What a file of it is.
    endings : tuple of str
        How its files end.
    module : str
        Where its function is, which is called ``export_`` and the name of the format.
    options : tuple of str, default=()
        The options that only some formats have.
    self_test : callable, default=None
        How the self-test in a file is run, as a line of a shell.
    """

    title: str
    endings: tuple[str, ...]
    module: str
    options: tuple[str, ...] = ()
    self_test: Callable[[Path, dict[str, Any]], str] | None = None


def _in_c(path: Path, given: dict[str, Any]) -> str:
    macro = f"{given['name'] or 'tree'}_SELFTEST".upper()
    return f"cc -std=c99 -D{macro} {shlex.quote(str(path))} -o selftest && ./selftest"


def _in_node(path: Path, given: dict[str, Any]) -> str:
    # Node imports addresses, in which some signs have a meaning of their own.
    address = path.as_uri() if path.is_absolute() else f"./{quote(path.as_posix())}"
    program = f'import("{address}").then((m) => console.log(m.selfTest()))'
    return f"node -e {shlex.quote(program)}"


def _in_python(path: Path, given: dict[str, Any]) -> str:
    # Double quotes need none around them in the single ones of a shell.
    name = json.dumps(str(path), ensure_ascii=False)
    return f"python -c {shlex.quote(f'import obliqua; obliqua.from_json(open({name}).read())')}"


def _in_onnxruntime(path: Path, given: dict[str, Any]) -> str:
    name = json.dumps(str(path), ensure_ascii=False)
    return f"python -c {shlex.quote(f'import obliqua; print(obliqua.run_onnx_tests({name}))')}"


FORMATS = {
    "c": Format(
        "C99", (".c", ".h"), "obliqua.export.c", ("name", "header", "numbers"), self_test=_in_c
    ),
    "javascript": Format(
        "a JavaScript module", (".mjs", ".js"), "obliqua.export.javascript", self_test=_in_node
    ),
    "json": Format("JSON", (".json",), "obliqua.estimators.files", self_test=_in_python),
    "onnx": Format(
        "an ONNX model", (".onnx",), "obliqua.export.onnx", ("numbers",), self_test=_in_onnxruntime
    ),
    "sql": Format(
        "a SELECT statement", (".sql",), "obliqua.export.sql", ("dialect", "table", "self_test")
    ),
}


@shared.command(
    "obliqua export model.obliqua -o tree.mjs",
    "obliqua export model.obliqua --to sql --dialect duckdb --table patients -o -",
    "obliqua export model.obliqua -o tree.json --test-rows patients.csv --tests 50",
)
@click.argument("model", metavar="MODEL")
@click.option(
    "--to",
    "form",
    type=click.Choice(list(FORMATS)),
    help="The format. By default it is found out from the ending of the file.",
)
@click.option(
    "--output",
    "-o",
    required=True,
    metavar="FILE",
    help="The file to write, or - for standard output.",
)
@click.option(
    "--tests",
    type=shared.at_least(0),
    help="The most rows that the self-test in the file has. By default as many as reach all "
    "leaves, if these are not too many.",
)
@click.option(
    "--test-rows",
    metavar="TABLE",
    help="A CSV or Parquet file whose rows the self-test has. By default they are made of the "
    "trees, and no row of the data is in the file.",
)
@click.option("--name", metavar="NAME", help="C: what the names of functions start with.")
@click.option("--header", is_flag=True, help="C: write the header, not the code.")
@click.option(
    "--numbers",
    metavar="TYPE",
    help="What is computed with: double, float (C and ONNX) or int16 (C).",
)
@click.option("--dialect", metavar="NAME", help="SQL: whose, as sqlite, postgresql or duckdb.")
@click.option("--table", metavar="NAME", help="SQL: the table that is selected from.")
@click.option(
    "--self-test",
    is_flag=True,
    help="SQL: write the query that tests itself instead; it gives how many rows differ.",
)
@shared.missing_option
@shared.dates_option
@shared.delimiter_option
def export(model: str, output: str, **given: Any) -> None:
    """Write a saved model for other programs.

    It runs without obliqua: as C, JavaScript, JSON, ONNX or SQL. MODEL is a file that
    `obliqua fit` has made. What is written has rows with their answers in it, and a way to test
    itself where it runs; that of SQL is a query of its own, --self-test.
    """
    name = given["form"] or _format_of(output)
    form = FORMATS[name]
    if name == "c" and output.lower().endswith(".h"):
        given["header"] = True
    _check_options(name, given)
    if output != STDOUT:
        check_target(Path(output), model, given["test_rows"])
    fitted, container = load_model(model)
    words = {word: given[word] for word in form.options if given[word]}
    if given["tests"] is not None:
        words["n_tests"] = given["tests"]
    if given["test_rows"] is not None:
        words["test_rows"] = _rows(container, given)
    data = _written(name, fitted, words)
    if output == STDOUT:
        write_stdout(data)
        return
    path = Path(output)
    write_file(path, data)
    size = counted(len(data), "byte") if len(data) < 1000 else f"{len(data) / 1000:,.1f} kB"
    tested = given["tests"] != 0 and not given["header"] and form.self_test is not None
    how = f" Its self-test: {form.self_test(path, given)}" if tested and form.self_test else ""
    note(f"{path}, {size}: {form.title}.{how}")


def _format_of(output: str) -> str:
    """Find the format of a file by its ending."""
    ending = Path(output).suffix.lower()
    for name, form in FORMATS.items():
        if ending in form.endings:
            return name
    known = ", ".join(end for form in FORMATS.values() for end in form.endings)
    raise click.UsageError(
        f"--output: the format is known by the endings {known}, and {output} has none of them. "
        "Say it with --to."
    )


def _check_options(name: str, given: dict[str, Any]) -> None:
    """Refuse options that a format does not have."""
    for option in ("name", "header", "numbers", "dialect", "table", "self_test"):
        users = [other for other, form in FORMATS.items() if option in form.options]
        if given[option] and name not in users:
            said = option.replace("_", "-")
            raise click.UsageError(f"--{said} is for {' and '.join(users)}; this is {name}.")
    if name == "sql" and not given["self_test"]:
        for option in ("tests", "test_rows"):
            if given[option] is not None:
                raise click.UsageError(
                    f"--{option.replace('_', '-')} is for the query that tests itself: add "
                    "--self-test."
                )
    if given["test_rows"] is None:
        for option in ("missing", "dates", "delimiter"):
            if given[option]:
                raise click.UsageError(
                    f"--{option} is for the table of --test-rows, which is not given."
                )
    elif given["tests"] == 0:
        raise click.UsageError("--test-rows are for the self-test, and --tests 0 wants none.")
    if given["numbers"]:
        from obliqua.export.certificate import ARITHMETICS

        known = [numbers for form, numbers in ARITHMETICS if form == name]
        known += ["int16"] if name == "c" else []
        if given["numbers"] not in known:
            raise click.UsageError(
                f"--numbers: {name} computes with {' or '.join(known)}; got {given['numbers']!r}."
            )


def _rows(container: Model, given: dict[str, Any]) -> Any:
    """Read the rows of the self-test."""
    table = read_table(given["test_rows"], given["delimiter"], given["missing"], given["dates"])
    table, _ = choose_known(table, container.encoding.names, has_own_names(container))
    return read_as(table, container.encoding.columns, container.takes_missing)


def _written(name: str, fitted: Any, words: dict[str, Any]) -> bytes:
    """Return the bytes of the file."""
    write = getattr(import_module(FORMATS[name].module), f"export_{name}")
    try:
        made = write(fitted, **words)
    except ValueError as error:
        # Messages start with the parameter that is wrong.
        option = str(error).partition(" ")[0]
        if option in FORMATS[name].options:
            raise click.UsageError(f"--{option}: {error}") from error
        raise
    if isinstance(made, str):
        return (made if made.endswith("\n") else f"{made}\n").encode()
    return bytes(made.SerializeToString())
