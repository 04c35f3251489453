"""A published table beside ours."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obliqua.select.methods import Method
from obliqua.select.result import Figure
from reproduction.entries import TableEntry
from reproduction.papers.hhcart import METHODS, PROTOTYPE_2, PUBLISHED_2, TABLE_2
from reproduction.papers.hhcart_published import COMPARED
from reproduction.protocol import Summary
from reproduction.store import Store
from reproduction.tables import Comparison, PaperTable, Row, run_table

STUMP = Method("AP", "one split", "obliqua.CartClassifier", {"max_depth": 1})
OTHER = Method("new", "not in the paper", "obliqua.CartClassifier", {"max_depth": 2})


def small_table() -> PaperTable:
    """Table 2 with methods that are quick."""
    return replace(TABLE_2, methods=(STUMP, OTHER), standard=("AP",))


def row(accuracy: float, leaves: float, published: TableEntry) -> Row:
    ours = Summary(10, (accuracy, 1.0), (leaves, 0.5), (0.5, 0.01))
    return Row("BS", "A", published, TableEntry(), ours)


PAPER = TableEntry(Figure(90.0, 2.0), Figure(10.0, 1.0))


def test_z_counts_published_standard_deviations() -> None:
    found = row(93.0, 7.5, PAPER)
    assert found.z_accuracy == 1.5
    assert found.z_leaves == -2.5
    assert math.isnan(row(93.0, 7.5, TableEntry()).z_accuracy)


def test_what_is_outside_two_is_marked_and_judged() -> None:
    figures = {"A": (93.0, 7.5), "D": (85.9, 11.0), "AP": (94.0, 12.0)}
    rows = tuple(replace(row(*found, PAPER), method=name) for name, found in figures.items())
    text = Comparison(TABLE_2, rows).markdown()
    assert "| +1.50 |" in text
    assert "| **-2.50** |" in text
    assert "| **-2.05** | -5.8* | 0.50 | > 2 sd, worse |" in text
    assert "| +2.00 |" in text  # two is not more than two
    assert "4 reproduced (1 within one, 3 within two), 2 not: 1 better and 1 worse" in text
    assert "BS A, leaves: z = -2.50 (better)" in text
    assert "BS D, accuracy: z = -2.05 (worse)" in text


def test_cells_without_a_published_figure_are_not_judged() -> None:
    compared = Comparison(TABLE_2, (row(93.0, 7.5, TableEntry()),))
    assert list(compared.figures()) == []
    assert "Within" not in compared.markdown()
    assert "nan" not in compared.markdown() + compared.csv()


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    def head(*rows: Row) -> str:
        return Comparison(TABLE_2, rows).markdown().splitlines()[2]

    first = "| set | method | repeats | accuracy: "
    all_of_one = "paper | ours | z | se | spread | verdict | "
    all_of_one += "leaves: paper | ours | z | se | spread | verdict |"
    assert head(row(93.0, 7.5, TableEntry())) == f"{first}ours | leaves: ours |"
    assert head(row(93.0, 7.5, TableEntry()), row(93.0, 7.5, PAPER)) == first + all_of_one
    no_spread = "paper | ours | se | verdict |"  # judged by ours
    assert head(row(93.0, math.nan, TableEntry(Figure(90.0)))) == first + no_spread
    seen = replace(row(93.0, 7.5, PAPER), prototype=TableEntry(leaves=Figure(8.0)))
    text = Comparison(TABLE_2, (row(93.0, 7.5, TableEntry()), seen)).markdown()
    assert "leaves: paper | prototype | ours | z | se | spread | verdict |" in text.splitlines()[2]
    for line in text.splitlines()[3:6]:  # all lines have as many cells
        assert line.count("|") == text.splitlines()[2].count("|")


def test_the_tables_of_figures_are_complete() -> None:
    names = [data_set.name for data_set in TABLE_2.data_sets]
    assert list(PUBLISHED_2) == list(PROTOTYPE_2) == names
    assert {tuple(entries) for entries in PUBLISHED_2.values()} == {COMPARED}
    assert {tuple(entries) for entries in PROTOTYPE_2.values()} == {("A", "D", "AP")}
    for entries in PUBLISHED_2.values():
        for entry in entries.values():
            assert entry.accuracy.sd > 0
            assert entry.leaves.sd > 0


def test_published_means_are_those_of_the_paper() -> None:
    """A slip in copying would move them. The means themselves were worked out separately."""
    small = [name for name in PUBLISHED_2 if name not in ("SHUT", "LET")]
    for method, accuracy, leaves in (
        *(("A", 79.12, 6.73), ("D", 78.13, 8.72), ("AP", 77.17, 13.8)),
        *(("OC1+program", 78.69, 7.08), ("LC", 77.98, 8.31)),
    ):
        entries = [PUBLISHED_2[name][method] for name in small]
        assert sum(e.accuracy.mean for e in entries) / 9 == pytest.approx(accuracy, abs=0.006)
        assert sum(e.leaves.mean for e in entries) / 9 == pytest.approx(leaves, abs=0.05)


def test_methods_have_names_of_their_own() -> None:
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert set(TABLE_2.standard) <= set(names)
    assert not any("," in name or "=" in name for name in names)


def test_unknown_names_are_errors_that_list_the_known(tmp_path: Path) -> None:
    for words in ({"data_sets": ["XX"]}, {"methods": ["XX"]}, {"repeats": {"XX": 1}}):
        choice: Any = words
        with pytest.raises(ValueError, match="is called 'XX'; there are"):
            run_table(small_table(), Store(tmp_path / "r.jsonl", "t", 0), **choice)
    with pytest.raises(ValueError, match="at least one repeat, got 0"):
        run_table(small_table(), Store(tmp_path / "r.jsonl", "t", 0), repeats=0)
