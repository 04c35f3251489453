"""Table 5 of the HHCART paper: its figures, its folds, and sizes of trees from all rows."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.catalogue import TABLES
from reproduction.papers.hhcart import PROTOTYPE_5, PUBLISHED_5, TABLE_5
from reproduction.protocol import DataSet, WholeTreeMethod, run_cell, stratified_folds
from reproduction.rows import ExperimentRows
from reproduction.running import TablePart, run
from reproduction.store import ResultsError, Store
from reproduction.tables import PaperTable, run_table


def cloud(n_rows: int = 103) -> ExperimentRows:
    rng = np.random.default_rng(0)
    y = (rng.random(n_rows) < 0.3).astype(int)
    return ExperimentRows(rng.normal(size=(n_rows, 3)) + y[:, None], np.array(["a", "b"])[y])


def test_the_figures_are_complete() -> None:
    names = [data_set.name for data_set in TABLE_5.data_sets]
    assert names == ["BH", "BC", "BUPA", "PIND", "HRT", "SUR"]
    assert list(PUBLISHED_5) == list(PROTOTYPE_5) == names
    for entries in PUBLISHED_5.values():
        assert list(entries) == ["A", "D", "FDT"]
        assert all(entry.accuracy.sd > 0 for entry in entries.values())
        # one tree has no standard deviation, so its size is not judged
        assert math.isnan(entries["FDT"].leaves.sd)
    # the prototype does not raise subtrees
    assert {tuple(entries) for entries in PROTOTYPE_5.values()} == {
        ("A", "D", "FDT-S", "FDT+ratio-S")
    }
    # as they are printed: some with two decimals
    assert PUBLISHED_5["BH"]["D"].accuracy.mean == 81.96
    assert PUBLISHED_5["BH"]["FDT"].accuracy == Figure(83.9, 0.76)
    assert PUBLISHED_5["BUPA"]["D"].leaves.mean == 12.54
    assert TABLES["hhcart-table-5"] is TABLE_5


def test_methods_have_names_of_their_own() -> None:
    names = [method.name for method in TABLE_5.methods]
    assert len(set(names)) == len(names)
    assert TABLE_5.standard == ("A", "D", "FDT", "FDT-S", "FDT+ratio", "FDT+ratio-S")
    assert tuple(names[:6]) == TABLE_5.standard
    assert "AP" in names
    made = {method.name: method.make(0) for method in TABLE_5.methods[2:6]}
    assert [tree.subtree_raising for tree in made.values()] == [True, False, True, False]


@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_stratified_folds_share_out_every_class(n_folds: int) -> None:
    y = cloud().y
    parts = stratified_folds(y, np.random.default_rng(1), n_folds)
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(y)))
    for label in ("a", "b"):
        counts = [int((y[part] == label).sum()) for part in parts]
        assert max(counts) - min(counts) <= 1
    again = stratified_folds(y, np.random.default_rng(2), n_folds)
    assert any(one.tolist() != other.tolist() for one, other in zip(parts, again, strict=True))


@pytest.mark.parametrize("n_folds", [0, 1, 104])
def test_bad_numbers_of_folds(n_folds: int) -> None:
    with pytest.raises(ValueError, match="n_folds must be from 2 to the number of rows 103"):
        stratified_folds(cloud().y, np.random.default_rng(0), n_folds)


def test_stratified_rows_are_divided_so() -> None:
    plain = cloud()
    params = {"max_depth": 1, "pruning": None}
    method = Method("stump", "one split", "obliqua.CartClassifier", params)
    one = run_cell("x", plain, method, 0, 0)
    other = run_cell("x", ExperimentRows(plain.X, plain.y, stratified=True), method, 0, 0)
    assert one.confusion != other.confusion
    assert sum(map(sum, one.confusion)) == sum(map(sum, other.confusion)) == 103


def test_the_size_of_the_tree_from_all_rows() -> None:
    rows = cloud()
    name, params = "obliqua.CartClassifier", {"pruning": None}
    folds = run_cell("x", rows, Method("m", "", name, params), 0, 0)
    whole = run_cell("x", rows, WholeTreeMethod("m", "", name, params), 0, 0)
    tree = Method("m", "", name, params).make(0).fit(rows.X, rows.y)
    assert len(folds.leaves) == 5
    assert whole.leaves == [tree.get_n_leaves()]
    assert whole.confusion == folds.confusion


def test_rows_may_have_a_number_of_folds_of_their_own(tmp_path: Path) -> None:
    """As the glass data of C4.5's table, which have ten in a table of five."""
    sets = [
        DataSet("usual", "", cloud),
        DataSet("own", "", lambda: replace(cloud(), n_folds=7)),
    ]
    method = Method("m", "", "obliqua.CartClassifier", {"pruning": None})
    store = Store(tmp_path / "x.jsonl", "x", seed=0)
    repeats = {data_set.name: 1 for data_set in sets}
    run(TablePart(store, sets, [method], repeats, 3), progress=lambda _: None)
    sizes = {name: len(store.cells(name, "m")[0]["leaves"]) for name in repeats}
    assert sizes == {"usual": 3, "own": 7}


PLAIN = Method("m", "", "obliqua.CartClassifier", {"pruning": None})
WHOLE = WholeTreeMethod(PLAIN.name, PLAIN.title, PLAIN.estimator, PLAIN.params)


@pytest.mark.parametrize(
    ("rows", "method", "n_folds", "what"),
    [
        ({"stratified": True}, PLAIN, 5, "'5 simple folds', now '5 stratified folds'"),
        ({"n_folds": 7}, PLAIN, 5, "'5 simple folds', now '7 simple folds'"),
        ({}, PLAIN, 4, "another division of the data set s: '5 simple folds', now '4 simple"),
        ({}, WHOLE, 5, "another setting of the method m"),
        ({"missing": 0.2}, PLAIN, 5, "another checksum of the data set s"),
    ],
)
def test_results_measured_in_another_way_are_never_mixed(
    tmp_path: Path, rows: dict[str, Any], method: Method, n_folds: int, what: str
) -> None:
    def measure(change: dict[str, Any], method: Method, n_folds: int) -> None:
        data_set = DataSet("s", "", lambda: replace(cloud(), **change))
        store = Store(tmp_path / "x.jsonl", "x", seed=0, resume=True)
        part = TablePart(store, [data_set], [method], {"s": 1}, n_folds)
        run(part, progress=lambda _: None)

    for _ in range(2):
        measure({}, PLAIN, 5)
    with pytest.raises(ResultsError, match=what):
        measure(rows, method, n_folds)


def test_one_tree_does_not_vary(tmp_path: Path) -> None:
    methods = (PLAIN, replace(WHOLE, name="whole"))
    data_sets = (DataSet("s", "", cloud),)
    table = PaperTable("t", "", data_sets, methods, ("m", "whole"), {}, {}, repeats=3)
    store = Store(tmp_path / "x.jsonl", "x", seed=0)
    folds, whole = run_table(table, store, progress=lambda _: None).rows
    assert folds.ours.leaves[1] > 0
    assert whole.ours.leaves[1] == 0.0
    assert whole.ours.accuracy == folds.ours.accuracy


def test_the_kept_results_are_those_of_this_table() -> None:
    path = Path(__file__).parents[2] / "docs" / "results" / "hhcart-table-5.csv"
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    names = [(line["set"], line["method"]) for line in lines]
    assert names == [(name, method) for name in PUBLISHED_5 for method in TABLE_5.standard]
    for line in lines:
        entry = PUBLISHED_5[line["set"]].get(line["method"])
        assert line["accuracy_paper"] == ("" if entry is None else str(entry.accuracy.mean))
        # one tree from all rows is the same in each repeat, and its size is judged
        assert (line["leaves_ours_sd"] == "0.0") == line["method"].startswith("FDT")
        assert (line["leaves_verdict"] != "") == (entry is not None)
