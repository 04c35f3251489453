"""What is said of figures: bands, sides, whose spread, counts, and reasons."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import ttest_ind_from_stats

from obliqua.select.result import Figure
from reproduction.catalogue import TABLES
from reproduction.entries import Rates, TableEntry
from reproduction.figures import PublishedFigure
from reproduction.papers.hhcart import TABLE_2, TABLE_3
from reproduction.protocol import CellResult, Summary
from reproduction.reasons import REASONS, reason_of
from reproduction.tables import Comparison, Row
from reproduction.verdict import (
    Counts,
    Summed,
    Tally,
    counted,
    far,
    figure_rows,
    other_figures,
    said_of,
    shown_spread,
    shown_t,
    sum_up,
    verdict,
    verdict_lines,
    what_is_compared,
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


def test_a_figure_does_not_pass_because_our_repeats_vary_much() -> None:
    """As an aggregated tree of thousands of nodes would, where the paper has three."""
    nodes = PublishedFigure("s", "m", "nodes", 3.0, NAN, 19_673.0, 12_365.0, False)
    assert nodes.judged_by == pytest.approx(3.0 * 12_365.0 / 19_673.0, rel=0.3)
    assert verdict(nodes) == "> 2 own sd, worse"
    # At most half of the paper's figure, so that not everything down to 0 passes.
    small = PublishedFigure("s", "m", "leaves", 10.0, NAN, 1.0, 30.0, False)
    assert small.judged_by == 5.0
    assert verdict(small) == "2 own sd, better"
    assert verdict(small._replace(ours=-1.0)) == "> 2 own sd, better"
    # Where our mean is larger, the deviation is smaller in the same proportion.
    assert small._replace(ours=20.0, ours_sd=4.0).judged_by == 2.0
    assert small._replace(ours=5.0, ours_sd=4.0).judged_by == 4.0
    # A published one is taken as it is.
    assert small._replace(published_sd=9.0).judged_by == 9.0


SIZES = {"paper_repeats": 10, "repeats": 7, "digit": 0.0}


def test_means_are_compared_in_standard_errors() -> None:
    one = figure(91.0, own=0.5)._replace(**SIZES)
    twin = ttest_ind_from_stats(91.0, 0.5, 7, 90.0, 2.0, 10, equal_var=False)
    assert one.t == pytest.approx(twin.statistic)
    for ours in np.linspace(88.0, 92.0, 17):
        found = ttest_ind_from_stats(ours, 0.5, 7, 90.0, 2.0, 10, equal_var=False)
        assert one._replace(ours=float(ours)).means_differ is bool(found.pvalue < 0.05)
    # What is printed was rounded, so the same difference says less.
    assert 0 < one._replace(digit=1.0).t < one.t
    # The paper's single repeat has the spread of ours.
    single = one._replace(published_sd=NAN, paper_repeats=1, ours=89.0)
    assert single.t == pytest.approx(-1.0 / (0.5 * math.sqrt(1 + 1 / 7)))
    for nothing in (
        one._replace(paper_repeats=0),
        one._replace(repeats=1),
        one._replace(published_sd=NAN, ours_sd=0.0),  # nothing is left to chance
    ):
        assert math.isnan(nothing.t) and nothing.means_differ is None
        assert shown_t(nothing) == ""
    assert shown_t(one._replace(ours=95.0)).endswith("*")
    assert not shown_t(one).endswith("*")


def test_spreads_are_compared() -> None:
    one = figure(90.0, sd=2.0, own=1.0)._replace(**SIZES)
    assert one.spread == 0.5
    for own in (0.1, 0.5, 0.8, 2.0, 3.5, 4.0, 9.0):
        ratio = (own / 2.0) ** 2
        p = 2 * min(f_distribution.cdf(ratio, 6, 9), f_distribution.sf(ratio, 6, 9))
        assert one._replace(ours_sd=own).spreads_differ is bool(p < 0.05)
    # 0.1 may stand for anything from 0.05 to 0.15.
    rounded = one._replace(published_sd=0.1, digit=0.1, ours_sd=0.15)
    assert rounded.spreads_differ is False
    assert rounded._replace(ours_sd=0.5).spreads_differ is True
    assert one._replace(published_sd=NAN).spreads_differ is None
    assert (shown_spread(one), shown_spread(one._replace(ours_sd=9.0))) == ("0.50", "4.50*")


def test_figures_are_counted() -> None:
    values = [90.0, 91.0, 93.0, 80.0, 100.0, 99.0]
    known = [figure(value)._replace(method=str(value)) for value in values]
    own = [figure(value, sd=NAN)._replace(method=f"own {value}") for value in (90.5, 80.0)]
    nothing = figure(1.0, "leaves", sd=NAN, own=NAN)
    found = sum_up([*known, *own, nothing, figure(1.0, "hyperplanes")])
    assert found == Summed(Counts(2, 1, 2, 1), Counts(1, 0, 0, 1), 1)
    assert (found.by_paper.total, found.by_ours.total) == (6, 2)
    assert found.both.reproduced == 4  # what is better by more than two is not reproduced
    assert found + found == Summed(Counts(4, 2, 4, 2), Counts(2, 0, 0, 2), 2)
    one, two, three = found.sentences()
    assert "deviation: 6." in one
    assert "3 reproduced (2 within one, 1 within two), 3 not: 2 better and 1 worse by more" in one
    assert "judged by that of our repeats: 2; 1 reproduced (1 within one" in two
    assert three.endswith("not judged: 1.")
    assert sum_up([]).sentences() == []
    tested = [one._replace(**SIZES) for one in known]
    assert sum_up(tested).means == Tally(6, 4)
    assert (
        "in 4 of 6 figures (chance alone: 0.3), and spreads in 0 of 6."
        in (sum_up(tested).sentences()[1])
    )


def test_a_published_number_is_counted_once() -> None:
    named = figure(80.0)._replace(method="OC1+program")
    other = figure(90.0)._replace(method="OC1", counts_as=("s", "OC1+program", "accuracy"))
    assert counted([other, named]) == [named]
    assert counted([other]) == [other]  # the named one was not run
    assert sum_up([other, named]).both == Counts(worse=1)
    assert sum_up([other, named]).repeated == 1
    copy = named._replace(data_set="d10", counts_as=("s", "OC1+program", "accuracy"))
    assert counted([copy, named]) == counted([named, copy]) == [named]
    # Of what follows from each other the farthest counts.
    near, far_away = (
        figure(ours)._replace(
            what=f"true positive rate of {ours}", counts_as=("s", "m", "rates of 1")
        )
        for ours in (90.0, 50.0)
    )
    assert counted([near, far_away]) == counted([far_away, near]) == [far_away]


def rated(classes: list[str], **rates: tuple[float, float]) -> list[PublishedFigure]:
    """Figures of true positive and true negative rates that a paper prints."""
    entry = TableEntry(rates=tuple(Rates(c, *map(Figure, r)) for c, r in rates.items()))
    matrix = (10 * np.eye(len(classes), dtype=int)).tolist()
    cells = tuple(CellResult(classes, matrix, [2], 0.1) for _ in range(2))
    ours = Summary(2, (100.0, 0.0), (2.0, 0.0), (1.0, 0.0))
    row = Row("BS", "A", entry, TableEntry(), ours, cells)
    return list(Comparison(TABLE_3, (row,)).figures())


def test_rates_that_repeat_each_other_are_counted_once() -> None:
    two = rated(["a", "b"], a=(0.9, 0.8), b=(0.8, 0.9))
    assert len(two) == 4
    assert len(counted(two)) == 1
    three = rated(["a", "b", "c"], a=(0.9, 0.8), b=(0.8, 0.9), c=(0.7, 0.9))
    assert len(counted(three)) == 6
    ones = rated(["a", "b", "c"], a=(1.0, 1.0), b=(0.8, 1.0), c=(1.0, 0.9))
    assert len(counted(ones)) == 3  # two rates, and all those of 1 together


def test_what_is_far_is_listed_with_its_reason() -> None:
    rcb = figure(40.0)._replace(data_set="RCB", method="20:0")
    other = figure(40.0)
    lines = verdict_lines("oc1-table-2", [figure(90.0)._replace(method="x"), rcb, other])
    assert far([figure(90.0), rcb, other]) == [rcb, other]
    assert lines[2].startswith("- RCB 20:0, accuracy: z = -25.00 (worse). The original program")
    assert lines[3] == "- s m, accuracy: z = -25.00 (worse)"
    assert verdict_lines("oc1-table-2", []) == []
    assert verdict_lines("oc1-table-2", [figure(90.0)])[-1].endswith("more than two.")
    # What is better is listed with its reason, too, and so is a misprint.
    pol = figure(99.0)._replace(data_set="POL", method="20:0")
    (line,) = (line for line in verdict_lines("oc1-table-2", [pol]) if line.startswith("- "))
    assert line.startswith("- POL 20:0, accuracy: z = +4.50 (better). No jumps are made here.")
    wrong = figure(99.0)._replace(misprint="It cannot be.")
    assert verdict_lines("t", [wrong])[-1].endswith("Probably a misprint. It cannot be.")
    assert said_of(wrong) == "> 2 sd, better †"
    assert any(line.startswith("†") for line in what_is_compared([wrong]))
    assert not any(line.startswith("†") for line in what_is_compared([pol]))


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
    z, better, far = "+1.50", "2 sd, better", "> 2 sd, better"
    assert list(figure_rows(Comparison(TABLE_2, (row, new)))) == [
        [*("BS", "A", "accuracy", "90.0 ± 2.0", "93.0 ± 1.0"), *(z, "+4.2*", "0.50", better)],
        [*("BS", "A", "leaves", "10.0 ± 1.0", "7.5 ± 0.5"), *("-2.50", "-7.0*", "0.50", far)],
        ["BS", "D/3", "accuracy", "", "93.0 ± 1.0", "", "", "", ""],
        ["BS", "D/3", "leaves", "", "7.5 ± 0.5", "", "", "", ""],
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
        "| BS | A | macro F | 0.520 ± 0.020 | 0.500 ± 0.010 | -1.00 | -2.6* | 0.50 | 1 sd |",
        "",
    ]
    assert lines[2] in Comparison(TABLE_2, (row,)).markdown()
    plain = replace(row, published=TableEntry(Figure(90.0, 2.0)))
    assert other_figures(Comparison(TABLE_2, (plain,))) == []
