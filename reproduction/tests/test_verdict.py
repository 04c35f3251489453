"""What is said of figures: bands, sides, whose spread, counts, and reasons."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from obliqua.select.result import Figure
from reproduction.catalogue import TABLES
from reproduction.entries import TableEntry
from reproduction.figures import PublishedFigure
from reproduction.papers.hhcart import TABLE_2
from reproduction.protocol import Summary
from reproduction.reasons import REASONS, reason_of
from reproduction.tables import Comparison, Row
from reproduction.verdict import (
    Counts,
    Summed,
    far,
    figure_rows,
    other_figures,
    sum_up,
    verdict,
    verdict_lines,
)

NAN = math.nan


def figure(
    ours: float, what: str = "accuracy", sd: float = 2.0, own: float = 1.0
) -> PublishedFigure:
    return PublishedFigure("s", "m", what, 90.0, sd, ours, own, what == "accuracy")


@pytest.mark.parametrize(
    ("ours", "what", "text"),
    [
        (90.0, "accuracy", "1 sd"),
        (92.0, "accuracy", "1 sd"),
        (88.0, "leaves", "1 sd"),
        (92.1, "accuracy", "2 sd, better"),
        (94.0, "accuracy", "2 sd, better"),
        (86.0, "accuracy", "2 sd, worse"),
        (94.1, "accuracy", "> 2 sd, better"),
        (85.9, "accuracy", "> 2 sd, worse"),
        (94.1, "leaves", "> 2 sd, worse"),
        (85.9, "leaves", "> 2 sd, better"),
        (92.1, "leaves", "2 sd, worse"),
        (NAN, "accuracy", ""),
    ],
)
def test_bands_and_sides(ours: float, what: str, text: str) -> None:
    assert verdict(figure(ours, what)) == text


def test_where_the_paper_has_no_spread_ours_stands_in_and_it_is_said() -> None:
    assert verdict(figure(90.9, sd=NAN)) == "1 own sd"
    assert verdict(figure(87.5, sd=NAN)) == "> 2 own sd, worse"
    assert verdict(figure(87.5, sd=NAN, own=NAN)) == ""
    assert verdict(figure(40.0, "hyperplanes")) == ""
    assert verdict(figure(40.0, "share of component 1")) == ""


def test_a_printed_spread_of_0_is_one_that_was_rounded() -> None:
    """It must neither divide by zero nor leave a figure without a verdict."""
    assert verdict(figure(90.05, sd=0.0)) == "1 sd"
    assert verdict(figure(90.1, sd=0.0)) == "2 sd, better"
    assert verdict(figure(89.0, sd=0.0)) == "> 2 sd, worse"
    assert verdict(figure(90.0, "macro F", sd=0.0)) == "1 sd"
    assert verdict(figure(40.0, "hyperplanes", sd=0.0)) == ""
    assert sum_up([figure(90.0, sd=0.0)]).unjudged == 0
    assert verdict(figure(90.0, sd=0.0, own=NAN)) == "1 sd"  # of a single repeat
    assert verdict(figure(90.0, sd=NAN, own=0.0)) == "1 own sd"


def test_figures_are_counted() -> None:
    values = [90.0, 91.0, 93.0, 80.0, 100.0, 99.0]
    found = sum_up(
        [
            *(figure(value) for value in values),
            *(figure(value, sd=NAN) for value in (90.5, 80.0)),
            figure(1.0, "leaves", sd=NAN, own=NAN),
            figure(1.0, "hyperplanes"),
        ]
    )
    assert found == Summed(Counts(2, 1, 2, 1), Counts(1, 0, 0, 1), 1)
    assert (found.by_paper.total, found.by_ours.total) == (6, 2)
    assert found + found == Summed(Counts(4, 2, 4, 2), Counts(2, 0, 0, 2), 2)
    one, two, three = found.sentences()
    assert "deviation: 6." in one
    assert "2 within one, 1 within two, 2 better and 1 worse by more than two" in one
    assert "judged by that of our repeats: 2; 1 within one" in two
    assert three.endswith("not judged: 1.")
    assert sum_up([]).sentences() == []


def test_what_is_far_is_listed_with_its_reason() -> None:
    rcb = figure(40.0)._replace(data_set="RCB", method="20:0")
    other = figure(40.0)
    lines = verdict_lines("oc1-table-2", [figure(90.0), rcb, other])
    assert far([figure(90.0), rcb, other]) == [rcb, other]
    assert lines[2].startswith("- RCB 20:0, accuracy: z = -25.00 (worse). The original program")
    assert lines[3] == "- s m, accuracy: z = -25.00 (worse)"
    assert verdict_lines("oc1-table-2", []) == []
    assert verdict_lines("oc1-table-2", [figure(90.0)])[-1].endswith("more than two.")


def test_reasons_are_of_figures_that_exist() -> None:
    for reason in REASONS:
        table = TABLES[reason.table]
        sets = {data_set.name for data_set in table.data_sets}
        assert set(reason.data_sets) <= sets
        assert set(reason.methods) <= {method.name for method in table.methods}
        assert reason.text.endswith(".")
        assert reason.experiment
    assert reason_of("hhcart-table-7", "Income", "A", "leaves") is not None
    assert reason_of("hhcart-table-7", "Income", "A", "accuracy") is None
    assert reason_of("hhcart-table-7", "Bank", "A", "leaves") is None
    assert reason_of("hhcart-table-2", "Income", "A", "leaves") is None


def test_figures_in_lines() -> None:
    ours = Summary(10, (93.0, 1.0), (7.5, 0.5), (0.5, 0.01))
    row = Row("BS", "A", TableEntry(Figure(90.0, 2.0), Figure(10.0, 1.0)), TableEntry(), ours)
    new = replace(row, method="D/3", published=TableEntry())
    assert list(figure_rows(Comparison(TABLE_2, (row, new)))) == [
        ["BS", "A", "accuracy", "90.0 ± 2.0", "93.0 ± 1.0", "+1.50", "2 sd, better"],
        ["BS", "A", "leaves", "10.0 ± 1.0", "7.5 ± 0.5", "-2.50", "> 2 sd, better"],
        ["BS", "D/3", "accuracy", "", "93.0 ± 1.0", "", ""],
        ["BS", "D/3", "leaves", "", "7.5 ± 0.5", "", ""],
    ]


def test_what_rounding_hides_is_not_judged() -> None:
    """A rate of 0.97 ± 0.002 may be 0.9651."""
    rate = PublishedFigure("s", "m", "true positive rate of a", 0.97, 0.002, 0.9651, 0.01, True)
    assert verdict(rate) == "1 sd"
    assert verdict(rate._replace(ours=0.955)) == "> 2 sd, worse"
    assert verdict(rate._replace(what="macro F")) == "1 sd"
    assert verdict(rate._replace(what="accuracy")) == "> 2 sd, worse"


def test_figures_beside_accuracy_and_leaves_have_a_table_of_their_own() -> None:
    ours = Summary(10, (93.0, 1.0), (7.5, 0.5), (0.5, 0.01))
    row = Row(
        "BS", "A", TableEntry(Figure(90.0, 2.0), macro_f=Figure(0.52, 0.02)), TableEntry(), ours
    )
    lines = other_figures(Comparison(TABLE_2, (row,)))
    assert lines[4:] == [
        "| BS | A | macro F | 0.520 ± 0.020 | 0.500 ± 0.010 | -1.00 | 1 sd |",
        "",
    ]
    assert lines[2] in Comparison(TABLE_2, (row,)).markdown()
    plain = replace(row, published=TableEntry(Figure(90.0, 2.0)))
    assert other_figures(Comparison(TABLE_2, (plain,))) == []
