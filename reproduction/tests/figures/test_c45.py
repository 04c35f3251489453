"""C4.5 against figures of the papers that have run it, and the kept results of its tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua import C45Classifier
from reproduction.own.c45 import METHODS, PUBLISHED, TABLE_C45, TABLE_MISSING, TABLE_MORE
from reproduction.protocol import CellResult, run_cell, summarise
from reproduction.tables import PaperTable
from reproduction.tests.kept import kept_row

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results"
TABLES = (TABLE_C45, TABLE_MORE, TABLE_MISSING)
each_table = pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)


def kept(table: PaperTable, data_set: str, method: str) -> list[CellResult]:
    """The repeats of the kept run, of which the tables beside it are made."""
    content = json.loads((RESULTS / f"{table.name}.json").read_text("utf-8"))
    cells = content["cells"][data_set][method]
    return [CellResult(**cells[str(repeat)]) for repeat in range(len(cells))]


@pytest.mark.parametrize("data_set", ["cancer", "iris", "housing", "diabetes"])
def test_the_row_of_oc1(data_set: str) -> None:
    """C4.5 as it was when the table was made."""
    row = kept_row("oc1-table-1", data_set, "C4.5/93")
    assert row.published == PUBLISHED[data_set]["C4.5/93"]
    assert abs(row.z_accuracy) <= 1.0
    assert abs(row.z_leaves) <= 2.0


@pytest.mark.data
def test_windows_are_told_from_other_glass() -> None:
    (windows,) = TABLE_C45.choose_sets(["windows"])
    rows = windows.load()
    assert rows.n_folds == 10
    assert rows.stratified  # as J48's folds are
    labels, counts = np.unique(rows.y, return_counts=True)
    assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == {"other": 51, "window": 163}


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_variant_can_be_made(method: Any) -> None:
    assert isinstance(method.make(0), C45Classifier)


@each_table
def test_the_kept_results_are_those_of_the_kept_run(table: PaperTable) -> None:
    with (RESULTS / f"{table.name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    methods = [method.name for method in table.methods]
    assert len(rows) == len(table.data_sets) * len(methods)
    for row, (name, method) in zip(
        rows, ((s.name, m) for s in table.data_sets for m in methods), strict=True
    ):
        assert row["set"] == name
        assert method == row.get("method", f"{row.get('tree')}/{row.get('handling')}")
        found = summarise(kept(table, name, method))
        assert found.repeats == (1 if name == "Income" else 10)
        accuracy = row.get("accuracy_ours") or row["accuracy"]
        leaves = row.get("leaves_ours") or row["leaves"]
        assert float(accuracy) == pytest.approx(found.accuracy[0])
        assert float(leaves) == pytest.approx(found.leaves[0])
        assert f"| {name} | {method.removesuffix('/branch').removesuffix('/imputed')} |" in (
            RESULTS / f"{table.name}.md"
        ).read_text("utf-8")


@pytest.mark.data
@each_table
def test_the_kept_results_are_those_of_this_code(table: PaperTable) -> None:
    """One repeat again: whoever changes C4.5 must run the tables anew, and say so."""
    data_set = table.choose_sets(["wine" if table is TABLE_MISSING else "iris"])[0]
    method = table.methods[0]
    cell = run_cell(data_set.name, data_set.load(), method, 0, 0, table.n_folds)
    before = kept(table, data_set.name, method.name)[0]
    advice = f"the trees have changed: run `obliqua reproduce {table.name}` again"
    assert cell.confusion == before.confusion, advice
    assert cell.leaves == before.leaves, advice
