"""Reduced tables 1 and 2 of the OC1 paper.

The reference are figures of the original program (version 3): means over ten five-fold
cross-validations, and the standard deviation of a single one. Ours, with the program's settings,
come from other folds, and from four cross-validations. The difference of both means varies by
``sqrt(1/4 + 1/10)`` = 0.59 of that deviation; three times this is the band. What our own settings
change (exact jumps, features that count from 0) must leave the band, or the test could not tell.
"""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path

import pytest

from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.own.oc1_hhcart import TABLE as BOTH
from reproduction.papers.oc1 import (
    METHODS_1,
    METHODS_2,
    PROGRAM_1,
    PROGRAM_2,
    PUBLISHED_1,
    TABLE_1,
    TABLE_2,
)
from reproduction.protocol import CellResult, Summary, run_cell, summarise
from reproduction.rows import ExperimentRows
from reproduction.tables import PaperTable
from reproduction.tests.kept import kept_row

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results"
REPEATS = 4
BAND = 3.0 * math.sqrt(1 / REPEATS + 1 / 10)
FILED = ("cancer", "housing", "diabetes")
MODES = ("0:0", "0:20", "20:0", "20:20")


@cache
def rows_of(table: str, name: str) -> ExperimentRows:
    (data_set,) = {"1": TABLE_1, "2": TABLE_2}[table].choose_sets([name])
    return data_set.load()


def cells(table: str, name: str, method: str, repeats: int = REPEATS) -> list[CellResult]:
    (chosen,) = {"1": TABLE_1, "2": TABLE_2}[table].choose_methods([method])
    return [run_cell(name, rows_of(table, name), chosen, k, seed=0) for k in range(repeats)]


def made(table: str, name: str, method: str) -> Summary:
    """Of trees that are grown now."""
    return summarise(cells(table, name, method))


def ours(table: str, name: str, method: str) -> Summary:
    """Of the kept trees."""
    return kept_row(f"oc1-table-{table}", name, method).ours


def away(found: tuple[float, float], reference: Figure) -> float:
    """How many standard deviations of one cross-validation lie between both means."""
    return (found[0] - reference.mean) / reference.sd


def check(found: Summary, reference: TableEntry) -> None:
    assert abs(away(found.accuracy, reference.accuracy)) <= BAND
    assert abs(away(found.leaves, reference.leaves)) <= BAND


# --- table 2: artificial data, no pruning -----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mode"),
    [*(("POL", mode) for mode in MODES), ("LS10", "0:0"), ("LS10", "0:20"), ("RCB", "0:0")],
)
def test_with_its_settings_the_trees_are_those_of_the_program(name: str, mode: str) -> None:
    found, program = made("2", name, f"{mode}+program"), PROGRAM_2[name][mode]
    check(found, program)
    # The count of the program leaves out random starts, which are at most 19 at a node.
    assert 0.8 < found.hyperplanes[0] / program.hyperplanes.mean < 2.5


@pytest.mark.parametrize(
    ("name", "mode"), [("LS10", "0:20"), ("LS10", "20:20"), ("RCB", "0:0"), ("RCB", "0:20")]
)
def test_exact_jumps_and_a_near_origin_give_smaller_trees(name: str, mode: str) -> None:
    found, program = ours("2", name, mode), PROGRAM_2[name][mode]
    assert away(found.leaves, program.leaves) < -BAND
    assert found.accuracy[0] > program.accuracy.mean


def test_footnote_8() -> None:
    """With 10 restarts and 200 jumps OC1 "consistently" finds the hyperplane of LS10.

    That would be 2 leaves. Of the program's ten trees one has 2 and three have 3, with 4.8 on the
    mean; of fifty of ours 24 have 2 and 21 have 3.
    """
    found = cells("2", "LS10", "10:200", repeats=2)
    leaves = [n for cell in found for n in cell.leaves]
    assert sum(n == 2 for n in leaves) >= 2
    assert sum(n <= 3 for n in leaves) >= 8
    assert summarise(found).accuracy[0] > 99.0


@pytest.mark.parametrize("name", ["POL", "RCB"])
def test_a_start_along_fishers_direction_is_worth_many_random_ones(name: str) -> None:
    """Two starts, one of them guided, against two random ones: a smaller tree for less work."""
    guided, random = made("2", name, "2:5+fisher"), made("2", name, "2:5")
    assert guided.leaves[0] < random.leaves[0]
    assert guided.hyperplanes[0] < random.hyperplanes[0]


# --- table 1: data from elsewhere, pruned -----------------------------------------------------


def check_table_1(name: str) -> None:
    check(made("1", name, "OC1+program"), PROGRAM_1[name]["OC1"])
    found, paper = ours("1", name, "OC1"), PUBLISHED_1[name]["OC1"]
    assert away(found.accuracy, paper.accuracy) >= -BAND  # on housing it is better, by two
    assert away(found.leaves, paper.leaves) <= BAND


def test_iris_is_as_in_the_program_and_in_the_paper() -> None:
    check_table_1("iris")


@pytest.mark.data
@pytest.mark.parametrize("name", FILED)
def test_others_are_as_in_the_program_and_in_the_paper(name: str) -> None:
    check_table_1(name)


@pytest.mark.data
def test_scaling_explains_the_papers_cancer_figure() -> None:
    """The paper has 96.2 ± 0.3; its program 95.4 on the features as they are, 96.25 scaled."""
    raw, scaled = (made("1", "cancer", f"OC1+{how}") for how in ("program", "blind"))
    assert abs(away(scaled.accuracy, PROGRAM_1["cancer"]["OC1+blind"].accuracy)) <= BAND
    assert scaled.accuracy[0] - raw.accuracy[0] > 0.5


# --- what is kept -----------------------------------------------------------------------------


def kept(name: str) -> dict[tuple[str, str], dict[str, float]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row.pop("set"), row.pop("method")): {
                k: float(v) for k, v in row.items() if v and not k.endswith("verdict")
            }
            for row in csv.DictReader(file)
        }


@pytest.mark.parametrize("table", [TABLE_1, TABLE_2, BOTH], ids=lambda table: table.name)
def test_kept_results_are_complete(table: PaperTable) -> None:
    rows = kept(table.name)
    assert {data_set.name for data_set in table.data_sets} == {name for name, _ in rows}
    assert set(table.standard) <= {method for _, method in rows}
    for row in rows.values():
        assert row["repeats"] == 10
        assert row["cpu_ms_ours"] > 0
        assert row["features_per_split_ours"] >= 1


@pytest.mark.parametrize("table", [TABLE_1, TABLE_2], ids=lambda table: table.name)
def test_kept_results_are_within_two_deviations_of_the_program(table: PaperTable) -> None:
    """All cells with its settings; all others that are not are better."""
    judged = 0
    for (_, method), row in kept(table.name).items():
        for what, better in (("accuracy", 1), ("leaves", -1)):
            if f"{what}_program_sd" not in row:
                continue
            z = (row[f"{what}_ours"] - row[f"{what}_program"]) / row[f"{what}_program_sd"]
            assert z * better >= -2.0
            if method.endswith("+program") or method in ("CART-LC", "OC1-AP"):
                assert abs(z) <= 2.0
            judged += 1
    assert judged >= 24


def test_every_method_can_be_made_and_has_its_own_name() -> None:
    for methods in (METHODS_1, METHODS_2, BOTH.methods):
        assert len({method.name for method in methods}) == len(methods)
        for method in methods:
            assert method.make(0).random_state == 0
