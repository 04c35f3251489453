"""QUEST in table 7 of the HHCART paper: the kept results are complete, and those of this code."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from reproduction.papers.hhcart import PUBLISHED_7, TABLE_7
from reproduction.protocol import CellResult, run_cell, summarise
from reproduction.tables import LIMIT

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results" / "quest"
# Cross-validation grows eleven trees in the place of one: few repeats on the large set.
REPEATS = {
    "QUEST": {"StatLog": 10, "Income": 10, "Bank": 10},
    "QUEST+cv": {"StatLog": 10, "Income": 2},
    "QUEST/10": {"StatLog": 10, "Income": 10},
}
FOLDER = {"QUEST": RESULTS, "QUEST+cv": RESULTS / "cv", "QUEST/10": RESULTS / "nodes"}
each_method = pytest.mark.parametrize("method", FOLDER)


def kept(method: str, data_set: str) -> list[CellResult]:
    """The repeats of the kept run, of which the tables beside it are made."""
    content = json.loads((FOLDER[method] / "hhcart-table-7.json").read_text("utf-8"))
    cells = content["cells"][data_set][method]
    return [CellResult(**cells[str(repeat)]) for repeat in range(len(cells))]


@each_method
def test_the_kept_results_are_those_of_the_kept_run(method: str) -> None:
    with (FOLDER[method] / "hhcart-table-7.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["set"]: row for row in csv.DictReader(file) if row["method"] == method}
    text = (FOLDER[method] / "hhcart-table-7.md").read_text("utf-8")
    assert {name: int(row["repeats"]) for name, row in rows.items()} == REPEATS[method]
    for name, row in rows.items():
        assert f"| {name} | {method} | {REPEATS[method][name]} |" in text
        found = summarise(kept(method, name))
        assert float(row["accuracy_ours"]) == pytest.approx(found.accuracy[0])
        assert float(row["leaves_ours"]) == pytest.approx(found.leaves[0])


def test_all_cells_are_near_the_papers() -> None:
    for name, entries in PUBLISHED_7.items():
        found, published = summarise(kept("QUEST", name)), entries["QUEST"]
        away = found.accuracy[0] - published.accuracy.mean
        assert abs(away) <= LIMIT * published.accuracy.sd
        assert abs(found.leaves[0] - published.leaves.mean) <= LIMIT * published.leaves.sd


def test_small_nodes_are_pruned_away_on_income() -> None:
    """So one may as well not divide them: the same trees, and half of the work."""
    found = [[(cell.confusion, cell.leaves) for cell in kept(name, "Income")] for name in FOLDER]
    assert found[0] == found[2]


@pytest.mark.data
@each_method
def test_the_kept_results_are_those_of_this_code(method: str) -> None:
    """One repeat again: whoever changes QUEST must run the table anew, and say so."""
    (data_set,) = TABLE_7.choose_sets(["StatLog"])
    (chosen,) = TABLE_7.choose_methods([method])
    cell = run_cell("StatLog", data_set.load(), chosen, 0, 0, TABLE_7.n_folds)
    before = kept(method, "StatLog")[0]
    advice = f"the trees have changed: run hhcart-table-7 --methods {method} again"
    assert cell.confusion == before.confusion, advice
    assert cell.leaves == before.leaves, advice
