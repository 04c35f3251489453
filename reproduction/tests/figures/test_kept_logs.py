"""Every method of the papers' tables stays where the kept logs say it is.

**Bands.** For each method of each table two repeats are made with another seed, on the data set on
which it is quickest. Their mean varies about the kept mean of n repeats by ``sqrt(1/2 + 1/n)`` of
the standard deviation of one repeat, which is estimated from the same n. Four times this is the
band: by chance alone a cell would leave it about once in 10,000 times, and since all is
deterministic it does so always or never.

Methods that take long even there are left out: each is a longer way to what another method of
its table shows, and the tests beside this one know them.

**Cells.** The quickest kept repeats of some methods of each table are made again, and must come
out the same, to the last row: whoever changes trees runs the tables anew and says so.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from obliqua.select.result import mean_and_sd
from reproduction import page
from reproduction.protocol import CellResult, run_cell, summarise
from reproduction.rows import ExperimentRows
from reproduction.store import Kept
from reproduction.tables import PaperTable

FRESH = 2
WIDTH = 4.0
OTHER_SEED = 1
LEAST = 5  # repeats from which a standard deviation can be told
LOGS = page.logs()
TABLES = {table.name: table for table in page.paper_tables() if not table.cells_of}
LONG = 5.0  # seconds of a repeat on a busy machine
SOME = 4  # methods of a table of which a cell is made again


def quickest(table: PaperTable, log: Kept, method: str) -> str:
    """The data set on which a repeat of the method takes least."""
    found = {
        data_set.name: np.mean([cell["seconds"] for cell in cells.values()])
        for data_set in table.data_sets
        if len(cells := log.cells(data_set.name, method)) >= LEAST
    }
    assert found, f"{log.path.name} has fewer than {LEAST} repeats of {method} everywhere"
    return min(found, key=lambda name: float(found[name]))


def seconds(name: str, method: str) -> float:
    """What the quickest kept repeat took."""
    log = LOGS[name]
    cells = log.cells(quickest(TABLES[name], log, method), method)
    return float(min(cell["seconds"] for cell in cells.values()))


def cases(most: int | None = None) -> list[tuple[str, str]]:
    """Tables and methods, the quickest first."""
    found = []
    for name, table in TABLES.items():
        if name in LOGS:
            known = sorted((seconds(name, method), method) for method in table.standard)
            found += [(name, method) for took, method in known if took < LONG][:most]
    return found


@cache
def rows_of(table: str, data_set: str) -> ExperimentRows:
    (found,) = TABLES[table].choose_sets([data_set])
    return found.load()


def again(name: str, method: str, data_set: str, repeat: int, seed: int) -> CellResult:
    table = TABLES[name]
    (chosen,) = table.choose_methods([method])
    rows = rows_of(name, data_set)
    return run_cell(data_set, rows, chosen, repeat, seed, table.n_folds)


def accuracies(cells: list[CellResult]) -> list[float]:
    return [summarise([cell]).accuracy[0] for cell in cells]


@pytest.mark.data
@pytest.mark.parametrize(("name", "method"), cases())
def test_accuracy_stays_in_its_band(name: str, method: str) -> None:
    log = LOGS[name]
    data_set = quickest(TABLES[name], log, method)
    kept = accuracies([CellResult(**cell) for cell in log.cells(data_set, method).values()])
    mean, sd = mean_and_sd(kept)
    fresh = [again(name, method, data_set, repeat, OTHER_SEED) for repeat in range(FRESH)]
    found = float(np.mean(accuracies(fresh)))
    band = WIDTH * sd * math.sqrt(1 / FRESH + 1 / len(kept))
    assert abs(found - mean) <= band + 1e-9, (
        f"{name} {data_set} {method}: {found:.2f} %, kept {mean:.2f} ± {band:.2f}"
    )


@pytest.mark.data
@pytest.mark.parametrize(("name", "method"), cases(SOME))
def test_kept_cells_come_out_the_same(name: str, method: str) -> None:
    log = LOGS[name]
    data_set = quickest(TABLES[name], log, method)
    cells = log.cells(data_set, method)
    repeat = min(cells, key=lambda number: cells[number]["seconds"])
    kept = CellResult(**cells[repeat])
    found = again(name, method, data_set, repeat, log.head["seed"])
    advice = f"the trees have changed: run `obliqua reproduce {name}` again and keep its log"
    for what in ("classes", "confusion", "leaves", "hyperplanes", "features"):
        assert getattr(found, what) == getattr(kept, what), (
            f"{data_set} {method}, {what}: {advice}"
        )


def test_the_data_are_those_of_the_logs() -> None:
    """Without the folder, too: what can be made or comes with scikit-learn."""
    checked = 0
    for name, log in LOGS.items():
        for data_set in TABLES[name].data_sets:
            key = ("data", data_set.name)
            if data_set.name in ("BS", "LS10", "POL", "RCB") and key in log.settings:
                assert log.settings[key] == rows_of(name, data_set.name).checksum
                checked += 1
    assert checked or not {"hhcart-table-2", "oc1-table-2"} & set(LOGS)
