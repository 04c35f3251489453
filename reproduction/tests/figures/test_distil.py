"""Forests made small: the kept tables are complete and of this code; what they say.

No paper has these tables. The specification says which ways are good; the guide repeats what the
tables say, and is held to them here.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from reproduction.own.distil import DISTIL, DISTIL_FRESH, DISTIL_LETTER, LEAVES
from reproduction.protocol import run_cell

RESULTS = Path(__file__).resolve().parents[3] / "docs" / "results" / "forest"
TABLES = {table.name: table for table in (DISTIL, DISTIL_LETTER, DISTIL_FRESH)}


@cache
def kept(name: str) -> dict[tuple[str, str, str], dict[str, float]]:
    """Figures by data set, way and most leaves."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return {
            (row["set"], row["way"], row["max_leaves"]): {
                what: float(value)
                for what, value in row.items()
                if what not in ("set", "way", "max_leaves")
            }
            for row in csv.DictReader(file)
        }


def gain(name: str, one: str, other: str, measure: str) -> float:
    """By how much one way is better than another, over all sets and sizes."""
    rows = kept(name)
    sets = dict.fromkeys(data_set for data_set, _, _ in rows)
    return float(
        np.mean(
            [
                rows[data_set, one, str(leaves)][measure]
                - rows[data_set, other, str(leaves)][measure]
                for data_set in sets
                for leaves in LEAVES
            ]
        )
    )


@pytest.mark.parametrize("name", TABLES)
def test_the_kept_tables_are_complete(name: str) -> None:
    table = TABLES[name]
    sets = [data_set.name for data_set in table.data_sets]
    found = [(one, f"{way}@{size}".rstrip("@")) for one, way, size in kept(name)]
    assert found == [(one, method) for one in sets for method in table.standard]
    assert {row["seeds"] for row in kept(name).values()} == {5.0}
    text = (RESULTS / f"{name}.md").read_text("utf-8")
    assert text.startswith(f"## {table.title}\n")
    for (_, way, size), row in kept(name).items():
        written = f"{row['accuracy']:.1f} ± {row['accuracy_sd']:.1f}"
        assert written in text, (way, size)
        assert way == "forest" or row["leaves"] <= int(size)


@pytest.mark.data
@pytest.mark.parametrize("method", ["cart@16", "residual@64", "hhcart@64", "aggregated@16"])
def test_the_kept_figures_are_those_of_this_code(method: str) -> None:
    """Of two repeats; two values lie within two deviations of the mean of five."""
    (chosen,) = DISTIL.choose_methods([method])
    (wine,) = DISTIL.choose_sets(["wine"])
    rows = wine.load()
    way, _, size = method.partition("@")
    row = kept("distil")["wine", way, size]
    for repeat in range(2):
        cell = run_cell("wine", rows, chosen, repeat, 0, DISTIL.n_folds)
        agreement = 100.0 * cell.lost[0]["agreement"]
        assert abs(agreement - row["agreement"]) <= 2.0 * row["agreement_sd"] + 0.1


def test_a_forest_teaches_more_than_the_classes() -> None:
    assert gain("distil", "cart", "labels", "accuracy") > 2.0
    assert gain("distil-fresh", "cart", "labels", "accuracy") > 1.0


def test_residual_trees_beat_one_tree_of_the_same_size() -> None:
    """As the specification recommends, on data that it had not seen."""
    for measure in ("accuracy", "agreement"):
        assert gain("distil-fresh", "residual", "cart", measure) > 0.5


def test_oblique_students_are_no_better_everywhere() -> None:
    """More accurate on the average; on fresh data the forest's answers are met less often."""
    assert gain("distil", "hhcart", "cart", "accuracy") > 0.5
    assert gain("distil-letter", "hhcart", "cart", "agreement") > 2.0
    assert gain("distil-fresh", "hhcart", "cart", "accuracy") > 0.0
    assert gain("distil-fresh", "hhcart", "cart", "agreement") < 0.0
