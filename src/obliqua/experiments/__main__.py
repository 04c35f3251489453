"""``python -m obliqua.experiments NAME``: make a table again, a paper's or one of our own.

The table is printed, and written as Markdown and CSV beside the file with the results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from obliqua.errors import ObliquaError
from obliqua.experiments.catalogue import TABLES
from obliqua.experiments.store import Store
from obliqua.experiments.tables import Table, run_table


def _words(text: str) -> list[str]:
    return [word for word in map(str.strip, text.split(",")) if word]


def _names(text: str) -> list[str]:
    names = list(dict.fromkeys(_words(text)))
    if not names:
        raise argparse.ArgumentTypeError(
            f"expected names with commas between them, got {text!r}; --list shows them"
        )
    return names


def _repeats(text: str) -> tuple[int | None, dict[str, int]]:
    """``10,LET=1`` is 10 repeats, but 1 on LET."""
    everywhere: int | None = None
    by_set: dict[str, int] = {}
    try:
        for word in _words(text):
            name, equals, number = word.rpartition("=")
            if equals:
                by_set[name.strip()] = int(number)
            else:
                everywhere = int(number)
    except ValueError:
        everywhere, by_set = None, {}
    if everywhere is None and not by_set:
        raise argparse.ArgumentTypeError(
            f"expected N[,SET=N], for example 10 or 10,LET=1, got {text!r}"
        )
    return everywhere, by_set


def _seed(text: str) -> int:
    return _integer(text, "of at least 0", lambda number: number >= 0)


def _jobs(text: str) -> int:
    return _integer(text, "other than 0 (-1 is all cores)", lambda number: number != 0)


def _integer(text: str, kind: str, fits: Callable[[int], bool]) -> int:
    try:
        number = int(text)
        if fits(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"expected a whole number {kind}, got {text!r}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m obliqua.experiments",
        description="Make a table again, a paper's or one of our own.",
    )
    add = parser.add_argument
    add("table", nargs="?", choices=sorted(TABLES), help="which table; --list needs none")
    add("--sets", type=_names, metavar="BS,BH", help="data sets; all if not given")
    add("--methods", type=_names, metavar="A,D", help="methods; the paper's if not given")
    add(
        "--repeats",
        type=_repeats,
        default=(None, {}),
        metavar="N[,SET=N]",
        help="repeats, for all data sets and for single ones; as in the paper if not given",
    )
    add("--seed", type=_seed, default=0, help="all that is random follows from it (0)")
    add("--jobs", type=_jobs, default=1, help="processes; has no influence on the results (1)")
    add("--out", type=Path, default=Path("results"), help="folder for the results (results)")
    add("--resume", action="store_true", help="go on with the results in the folder")
    add("--list", action="store_true", help="show tables, data sets and methods, and stop")
    return parser


def _listing(table: Table) -> str:
    lines = [f"{table.name}: {table.title}", "", "data sets:"]
    lines += [f"  {data_set.name:<12} {data_set.title}" for data_set in table.data_sets]
    lines += ["", "methods:"]
    lines += [f"  {method.name:<12} {method.title}" for method in table.methods]
    return "\n".join(lines)


@contextmanager
def _about(option: str) -> Iterator[None]:
    """Errors in here are about this option."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{option}: {error}") from error


def _checked_repeats(table: Table, given: argparse.Namespace) -> dict[str, int]:
    """Check names and numbers against the table; the repeats of each chosen data set."""
    with _about("--sets"):
        chosen = table.choose_sets(given.sets)
    with _about("--methods"):
        table.choose_methods(given.methods)
    everywhere, by_set = given.repeats
    standard = table.repeats if everywhere is None else everywhere
    # A number for all sets matters only where a set has none of its own.
    counts = {data_set.name: standard for data_set in chosen} | by_set
    with _about("--repeats"):
        return table.count_repeats(counts, given.sets)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--out: the folder {folder} cannot be made: {error.strerror}") from error


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code."""
    parser = _parser()
    given = parser.parse_args(words)
    if given.list:
        names = [given.table] if given.table else sorted(TABLES)
        print("\n\n".join(_listing(TABLES[name]) for name in names))
        return 0
    if given.table is None:
        parser.error(f"the name of a table is missing; there are: {', '.join(sorted(TABLES))}")
    table = TABLES[given.table]
    path = given.out / f"{table.name}.json"
    try:
        repeats = _checked_repeats(table, given)
        _make_folder(given.out)
        compared = run_table(
            table,
            Store(path, table.name, given.seed, resume=given.resume),
            data_sets=given.sets,
            methods=given.methods,
            repeats=repeats,
            n_jobs=given.jobs,
        )
        text = compared.markdown()
        path.with_suffix(".md").write_text(text, "utf-8")
        path.with_suffix(".csv").write_text(compared.csv(), "utf-8")
    except KeyboardInterrupt:
        print("interrupted; go on with --resume", file=sys.stderr)
        return 130
    except (ObliquaError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
