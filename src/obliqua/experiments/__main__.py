"""``python -m obliqua.experiments NAME``: make a table of a paper again.

The table is printed, and written as Markdown and CSV beside the file with the results.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from obliqua.errors import ObliquaError
from obliqua.experiments.hhcart import TABLE_2
from obliqua.experiments.store import Store
from obliqua.experiments.tables import Table, run_table

TABLES: dict[str, Table] = {table.name: table for table in (TABLE_2,)}


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _repeats(text: str) -> tuple[int | None, dict[str, int]]:
    """``10,LET=1`` is 10 repeats, but 1 on LET."""
    everywhere: int | None = None
    by_set: dict[str, int] = {}
    for word in _names(text):
        name, equals, number = word.rpartition("=")
        if equals:
            by_set[name] = int(number)
        else:
            everywhere = int(number)
    return everywhere, by_set


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m obliqua.experiments", description="Make a table of a paper again."
    )
    add = parser.add_argument
    add("table", choices=sorted(TABLES), help="which table")
    add("--sets", type=_names, metavar="BS,BH", help="data sets; all if not given")
    add("--methods", type=_names, metavar="A,D", help="methods; the paper's if not given")
    add(
        "--repeats",
        type=_repeats,
        default=(None, {}),
        metavar="N[,SET=N]",
        help="repeats, for all data sets and for single ones; as in the paper if not given",
    )
    add("--seed", type=int, default=0, help="all that is random follows from it (0)")
    add("--jobs", type=int, default=1, help="processes; has no influence on the results (1)")
    add("--out", type=Path, default=Path("results"), help="folder for the results (results)")
    add("--resume", action="store_true", help="go on with the results in the folder")
    add("--list", action="store_true", help="show data sets and methods of the table, and stop")
    return parser


def _listing(table: Table) -> str:
    lines = [table.title, "", "data sets:"]
    lines += [f"  {data_set.name:<12} {data_set.title}" for data_set in table.data_sets]
    lines += ["", "methods:"]
    lines += [f"  {method.name:<12} {method.title}" for method in table.methods]
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit code."""
    given = _parser().parse_args(words)
    table = TABLES[given.table]
    if given.list:
        print(_listing(table))
        return 0
    everywhere, by_set = given.repeats
    counts = {
        data_set.name: table.repeats if everywhere is None else everywhere
        for data_set in table.data_sets
    }
    try:
        path = given.out / f"{table.name}.json"
        compared = run_table(
            table,
            Store(path, table.name, given.seed, resume=given.resume),
            data_sets=given.sets,
            methods=given.methods,
            repeats=counts | by_set,
            n_jobs=given.jobs,
        )
    except KeyboardInterrupt:
        print("interrupted; go on with --resume", file=sys.stderr)
        return 130
    except (ObliquaError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = compared.markdown()
    path.with_suffix(".md").write_text(text, "utf-8")
    path.with_suffix(".csv").write_text(compared.csv(), "utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
