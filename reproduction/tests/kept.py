"""What the kept logs say: all repeats of the papers' tables.

Tests of figures read them here in the place of growing trees. That the code still grows the trees
of the logs is the business of `test_kept_logs`.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from reproduction import page
from reproduction.catalogue import TABLES
from reproduction.store import Kept
from reproduction.tables import Comparison, Row

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


@cache
def log_of(table: str) -> Kept:
    """The log with the cells of a table."""
    (path,) = page.LOGS.glob(f"{TABLES[table].cells_of or table}.jsonl*")
    return Kept(path)


@cache
def kept(table: str) -> Comparison:
    """A table as its log has it."""
    chosen = TABLES[table]
    return chosen.filled(log_of(table), chosen.choose_sets(), chosen.choose_methods())


def kept_row(table: str, data_set: str, method: str) -> Row:
    """A method on a data set, published figures and ours."""
    (row,) = (r for r in kept(table).rows if (r.data_set, r.method) == (data_set, method))
    return row


@cache
def kept_figures(name: str) -> dict[tuple[str, str], dict[str, float]]:
    """The figures of a kept table, by data set and method."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["set"], row["method"]): {
                what: float(value or "nan")
                for what, value in row.items()
                if what not in ("set", "method") and not what.endswith("verdict")
            }
            for row in csv.DictReader(file)
        }
