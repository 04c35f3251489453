"""This code grows the trees of the kept logs, and the kept tables are those of the logs.

Of each method, and on each data set, the quickest kept repeat is made again. It must come out the
same, to the last row: whoever changes trees runs the tables anew and says so. Repeats that take
long even so are left out; each is a longer way to what another method of its table shows.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from reproduction import page
from reproduction.protocol import CellResult, WholeTreeMethod, run_cell
from reproduction.rows import ExperimentRows
from reproduction.store import Store
from reproduction.tests.kept import RESULTS, kept, log_of

TABLES = {table.name: table for table in page.paper_tables()}
LONG = 2.0  # seconds
# Data that are made, or come with scikit-learn.
ANYWHERE = {"BS", "WINE", "iris", "LS10", "POL", "RCB", *(f"d{d}" for d in range(5, 12))}


def done_with(table: str, data_set: str, method: str) -> str:
    """What a cell depends on, beside the repeat: some tables show the same cells."""
    settings = log_of(table).settings
    what = [settings["data", data_set], settings["division", data_set], data_set]
    return json.dumps([*what, settings["method", method]])


def cases() -> list[Any]:
    """Table, data set, method and repeat: the quickest of each method, and on each data set."""
    found = {}
    for name, table in TABLES.items():
        if table.cells_of:
            continue
        cells = [
            (cell["seconds"], data_set, method, repeat)
            for (data_set, method), repeats in log_of(name).all_cells().items()
            for repeat, cell in repeats.items()
        ]
        for place in (1, 2):
            for what in {cell[place] for cell in cells}:
                took, *which = min(cell for cell in cells if cell[place] == what)
                if took < LONG:
                    found.setdefault(done_with(name, *which[:2]), (name, *which))
    return [
        pytest.param(*case, marks=() if case[1] in ANYWHERE else pytest.mark.data)
        for case in sorted(found.values())
    ]


@cache
def rows_of(table: str, data_set: str) -> ExperimentRows:
    (found,) = TABLES[table].choose_sets([data_set])
    return found.load()


@pytest.mark.parametrize(("name", "data_set", "method", "repeat"), cases())
def test_kept_cells_come_out_the_same(name: str, data_set: str, method: str, repeat: int) -> None:
    table, log = TABLES[name], log_of(name)
    before = CellResult(**log.cells(data_set, method)[repeat])
    (chosen,) = table.choose_methods([method])
    rows = rows_of(name, data_set)
    found = run_cell(data_set, rows, chosen, repeat, log.head["seed"], table.n_folds)
    advice = f"the trees have changed: run `obliqua reproduce {name}` again and keep its log"
    for what in ("classes", "confusion", "leaves", "hyperplanes", "features"):
        assert getattr(found, what) == getattr(before, what), f"{what}: {advice}"


def test_all_methods_but_slow_ones_are_made_again() -> None:
    made = {done_with(*case.values[:3]) for case in cases()}
    missing = {
        (name, method)
        for name, table in TABLES.items()
        if not table.cells_of
        for method in table.standard
        if not made & {done_with(name, one.name, method) for one in table.data_sets}
    }
    # How slow they were depends on the machine of the log.
    assert missing <= {("odt-table-2", f"AFT-whole/{rows}") for rows in ("20", "all")}


@pytest.mark.parametrize("name", TABLES)
def test_the_kept_tables_are_those_of_the_logs(name: str) -> None:
    assert (RESULTS / f"{name}.csv").read_text("utf-8") == kept(name).csv()
    assert (RESULTS / f"{name}.md").read_text("utf-8") == kept(name).markdown()


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if not table.cells_of])
def test_the_logs_can_be_gone_on_with(name: str) -> None:
    """Methods are set as they were, also those that live elsewhere now; data are the same."""
    table, log = TABLES[name], log_of(name)
    if log.path.suffix == ".gz":
        pytest.skip("packed logs are not added to")
    store = Store(log.path, name, log.head["seed"], resume=True)
    for method in table.choose_methods(table.standard):
        assert ("method", method.name) in log.settings
        whole = isinstance(method, WholeTreeMethod)
        store.expect_method(method.name, method.estimator, method.params, whole)
    for data_set in table.data_sets:
        if data_set.name in ANYWHERE:
            assert ("data", data_set.name) in log.settings
            store.expect_data(data_set.name, rows_of(name, data_set.name).checksum)
