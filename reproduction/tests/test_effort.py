"""What trees took: counted in each fold, shown in a second table, left out where unknown."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.papers.hhcart import TABLE_2
from reproduction.papers.oc1 import TABLE_1
from reproduction.protocol import CellResult, Summary, run_cell, summarise
from reproduction.rows import ExperimentRows
from reproduction.store import Store
from reproduction.tables import Comparison, Row, run_table

CLIMB = Method("climb", "", "obliqua.OC1Classifier", {"n_restarts": 2, "pruning": None})
CART = Method("cart", "", "obliqua.CartClassifier", {"pruning": None})


def rows() -> ExperimentRows:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 2))
    return ExperimentRows(X, np.where(X.sum(axis=1) > 1, "a", "b"))


def test_a_cell_counts_what_each_tree_took() -> None:
    cell = run_cell("x", rows(), CLIMB, 0, 0)
    assert len(cell.hyperplanes) == len(cell.features) == len(cell.leaves) == 5
    assert min(cell.hyperplanes) > 1
    assert all(1.0 <= features <= 2.0 for features in cell.features)
    assert cell.cpu_ms > 0
    assert run_cell("x", rows(), CLIMB, 0, 0).hyperplanes == cell.hyperplanes


def test_a_method_that_does_not_count_has_no_count() -> None:
    cell = run_cell("x", rows(), CART, 0, 0)
    assert cell.hyperplanes == []
    assert set(cell.features) == {1.0}
    found = summarise([cell, cell])
    assert np.isnan(found.hyperplanes).all()
    assert found.features == (1.0, 0.0)


def test_cells_of_older_files_can_be_read() -> None:
    found = summarise([CellResult(["a", "b"], [[8, 2], [0, 10]], [2, 4], 0.0)])
    assert np.isnan([*found.hyperplanes, *found.features, *found.cpu_ms]).all()


def row(data_set: str, ours: Summary, published: TableEntry, program: TableEntry) -> Row:
    return Row(data_set, "OC1", published, program, ours)


KNOWN = Summary(10, (95.0, 1.0), (3.0, 0.5), (0.9, 0.01), (1234.4, 56.7), (2.5, 0.1), (7.0, 1.0))
PAPER = TableEntry(Figure(94.0, 2.0), Figure(3.5, 1.0), Figure(4321))
PROGRAM = TableEntry(Figure(92.0, 1.0), Figure(3.0, 1.0), Figure(1111), Figure(77.0))


def compared(effort: bool = True, **changes: Any) -> Comparison:
    found = replace(KNOWN, **changes)
    return Comparison(replace(TABLE_1, effort=effort), (row("cancer", found, PAPER, PROGRAM),) * 2)


def test_the_second_table_shows_all_that_is_known() -> None:
    text = compared().markdown()
    assert "| accuracy: paper | program | ours | z |" in text
    assert (
        "| set | method | hyperplanes: paper | hyperplanes: program | hyperplanes: ours "
        "| CPU ms: program | CPU ms: ours | features per split |"
    ) in text
    assert "| cancer | OC1 | 4,321 | 1,111 | 1,234 ± 57 | 77.0 | 7.0 ± 1.0 | 2.5 |" in text
    assert "| OC1 | 95.00 | 3.00 | 0.900 | 2.5 | 7.0 |" in text


def test_columns_without_a_figure_are_left_out() -> None:
    nothing = (float("nan"), float("nan"))
    text = compared(hyperplanes=nothing, features=nothing).markdown()
    assert "hyperplanes: ours" not in text
    assert "features per split |\n|--|--|--:|--:|--:|--:|\n" not in text
    assert "nan" not in text


def test_cells_are_judged_by_the_program_too() -> None:
    text = compared().markdown()
    assert "2 reproduced (2 within one, 0 within two)" in text
    assert "Within 2 standard deviations of the program: 2 of 4 cells." in text
    assert "- cancer OC1, accuracy: +3.00 (better)" in text


def test_the_file_has_the_same_figures() -> None:
    (first, _) = csv.DictReader(io.StringIO(compared().csv()))
    assert first["accuracy_program"] == "92.0"
    assert first["hyperplanes_paper"] == "4321"
    assert first["hyperplanes_program"] == "1111"
    assert first["cpu_ms_program"] == "77.0"
    assert first["hyperplanes_ours"] == "1234.4"
    assert first["cpu_ms_ours_sd"] == "1.0"
    assert first["features_per_split_ours"] == "2.5"


def test_other_tables_are_as_they_were() -> None:
    text = compared(effort=False).markdown() + compared(effort=False).csv()
    for word in ("CPU", "cpu", "hyperplanes", "features", "standard deviations of the"):
        assert word not in text
    assert "prototype" in Comparison(TABLE_2, ()).csv()


def test_a_run_fills_the_second_table(tmp_path: Path) -> None:
    table = replace(TABLE_1, methods=(CLIMB,), standard=("climb",))
    store = Store(tmp_path / "r.jsonl", "t", 0)
    silent = {"progress": lambda line: None}
    found = run_table(table, store, data_sets=["iris"], repeats=2, **silent)
    (only,) = found.rows
    assert only.ours.hyperplanes[0] > 20
    assert only.ours.hyperplanes[1] == pytest.approx(
        np.std([np.mean(cell.hyperplanes) for cell in only.cells], ddof=1)
    )
