"""Published figures one by one, and the tables of rates and of F-measures, beside slow twins."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from obliqua.select.result import Figure
from reproduction.entries import Rates, TableEntry
from reproduction.figures import NEGATIVE, POSITIVE, PublishedFigure, rates
from reproduction.papers.hhcart import PUBLISHED_3, TABLE_2, TABLE_3, TABLE_4, TABLE_5
from reproduction.papers.hhcart_published import COMPARED, MINORITY
from reproduction.papers.oc1 import TABLE_1
from reproduction.papers.rates import ClassRates, cut, mean_ranks, ranks
from reproduction.protocol import CellResult, summarise
from reproduction.tables import Comparison, PaperTable, Row


def random_cells(labels: list[str], seed: int, repeats: int = 3) -> tuple[CellResult, ...]:
    rng = np.random.default_rng(seed)
    matrices = rng.integers(1, 40, (repeats, len(labels), len(labels)))
    return tuple(CellResult(sorted(labels), matrix.tolist(), [3, 5], 0.1) for matrix in matrices)


def slow_rate(cell: CellResult, label: str, what: str) -> float:
    """Row by row: each tested row is a pair of labels."""
    pairs = [
        (true, said)
        for true, said in product(range(len(cell.classes)), repeat=2)
        for _ in range(cell.confusion[true][said])
    ]
    place = cell.classes.index(label)
    if what == POSITIVE:
        asked = [said == place for true, said in pairs if true == place]
    else:
        asked = [said != place for true, said in pairs if true != place]
    return sum(asked) / len(asked)


@pytest.mark.parametrize("what", [POSITIVE, NEGATIVE])
def test_rates_are_means_over_repeats(what: str) -> None:
    cells = random_cells(["a", "b", "c"], 1)
    for label in "abc":
        each = [slow_rate(cell, label, what) for cell in cells]
        mean, sd = rates(cells, label, what)
        assert mean == pytest.approx(np.mean(each))
        assert sd == pytest.approx(np.std(each, ddof=1))
    assert math.isnan(rates(cells[:1], "a", what)[1])
    assert all(math.isnan(value) for value in rates((), "a", what))


def compared(table: PaperTable, seed: int = 0, **change: object) -> Comparison:
    """A table filled with cells at random, the same for a data set and method in all tables."""
    rows = []
    for data_set, by_method in table.published.items():
        labels = [one.label for one in PUBLISHED_3[data_set]["A"].rates]
        for method in table.standard:
            number = 100 * list(PUBLISHED_3).index(data_set) + list(table.standard).index(method)
            cells = random_cells(labels, seed + number)
            entry = by_method.get(method, TableEntry())
            rows.append(Row(data_set, method, entry, TableEntry(), summarise(cells), cells))
    return table.compared(rows)


# --- figures ----------------------------------------------------------------------------------


def test_every_published_figure_is_listed_once() -> None:
    for table, expected in (
        # Ten sets with 31 classes: five positive rates, one of which is lost, two negative ones.
        (TABLE_3, 31 * 5 - 1 + 31 * 2),
        (TABLE_4, 10 * 2),
        # Accuracy, leaves, two rates, F.
        (TABLE_5, 6 * 3 * 5),
    ):
        found = list(compared(table).figures())
        assert len(found) == len({one[:3] for one in found}) == expected
        assert all(not math.isnan(one.published) for one in found)
        assert all(not math.isnan(one.ours) for one in found)


def test_what_a_figure_says() -> None:
    rows = [row for row in compared(TABLE_5).rows if row.data_set == "BC"]
    found = {(one.method, one.what): one for one in Comparison(TABLE_5, tuple(rows)).figures()}
    one = found["FDT", f"{POSITIVE} of malignant"]
    row = next(row for row in rows if row.method == "FDT")
    assert one[:5] == ("BC", "FDT", f"{POSITIVE} of malignant", 0.94, 0.02)
    assert one[5:7] == rates(row.cells, "malignant", POSITIVE)
    assert found["A", "macro F"][3:7] == (0.97, 0.003, *rows[0].ours.macro_f)
    assert found["A", "accuracy"].larger_is_better
    assert not found["A", "leaves"].larger_is_better


def figure(what: str, sd: float, ours: float, ours_sd: float, larger: bool = True) -> float:
    return PublishedFigure("s", "m", what, 0.5, sd, ours, ours_sd, larger).z


def test_where_the_paper_has_no_deviation_ours_stands_in() -> None:
    nothing = math.nan
    assert figure("macro F", 0.1, 0.7, 9.0) == pytest.approx(2.0)  # the paper's, if it has one
    assert figure(f"{POSITIVE} of x", nothing, 0.3, 0.1) == pytest.approx(-2.0)
    assert figure(f"{POSITIVE} of x", nothing, 0.7, 0.14) == pytest.approx(2.0)  # in proportion
    assert figure(f"{POSITIVE} of x", nothing, 0.52, 0.0) == pytest.approx(2.0)  # 0.01 at least
    assert figure(f"{NEGATIVE} of x", nothing, 0.9, 0.5) == pytest.approx(2.0)  # 0.2 at most
    assert figure("accuracy", nothing, 0.7, 0.0) == pytest.approx(2.0)  # 0.1 at least
    assert math.isnan(figure("accuracy", nothing, 0.7, nothing))
    assert math.isnan(figure("hyperplanes", nothing, 0.7, 0.0))


def test_better_is_less_for_leaves_and_more_for_rates() -> None:
    for larger, ours, better in ((True, 0.6, True), (True, 0.4, False), (False, 0.4, True)):
        one = PublishedFigure("s", "m", "x", 0.5, 0.1, ours, 0.1, larger)
        assert one.better is better


# --- ranks ------------------------------------------------------------------------------------


def slow_ranks(rate: np.ndarray) -> list[float]:
    def rank(values: list[float]) -> list[float]:
        return [
            1 + sum(other > mine for other in values) + (values.count(mine) - 1) / 2
            for mine in values
        ]

    by_class = [rank(list(line)) for line in rate]
    sums = [sum(line[method] for line in by_class) for method in range(rate.shape[1])]
    return rank([-total for total in sums])


def test_ranks_beside_their_twin() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        rate = rng.integers(0, 4, (rng.integers(1, 5), 5)) / 4
        assert ranks(rate).tolist() == slow_ranks(rate)
        assert ranks(rate).sum() == 15


def test_rates_are_compared_as_they_are_printed() -> None:
    means = mean_ranks({"s": np.array([[0.501, 0.499, 0.3]])})
    assert means.tolist() == [1.5, 1.5, 3.0]
    assert (cut(18 / 7), cut(2.0), cut(2.3)) == (2.5, 2.0, 2.3)


# --- what is printed --------------------------------------------------------------------------


def test_the_table_of_rates() -> None:
    table = compared(TABLE_3)
    assert isinstance(table, ClassRates)
    lines = table.markdown().splitlines()
    head = next(line for line in lines if line.startswith("| set | class | rows | A: paper"))
    assert [f"{method}: paper" in head for method in COMPARED] == [True] * 5
    row = next(row for row in table.rows if (row.data_set, row.method) == ("GLS", "D"))
    mean, sd = rates(row.cells, "6", POSITIVE)
    z = (mean - 0.34) / 0.22
    t = (mean - 0.34) / math.sqrt(0.22**2 / 10 + sd**2 / len(row.cells) + 0.01**2 / 12)
    assert abs(z) < 1
    line = next(line for line in lines if line.startswith("| GLS | 6 |"))
    assert f"| 0.34 ± 0.22 | {mean:.2f} ± {sd:.2f} | {t:+.1f} | 1 sd |" in line
    # Classes come as in the paper, with their numbers of test rows.
    shuttle = [line for line in lines if line.startswith("| SHUT |")]
    assert [line.split(" | ")[1] for line in shuttle[:7]] == [
        one.label for one in PUBLISHED_3["SHUT"]["A"].rates
    ]
    # Only HHCART's true negative rates are published.
    second = next(
        line
        for line in lines
        if line.startswith("| set | class | rows | A: paper") and line != head
    )
    heads = " | ".join(f"{method}: paper | ours | se | verdict" for method in "AD")
    assert second == f"| set | class | rows | {heads} |"
    assert TABLE_3.note in lines
    assert re.search(r"\bnan\b", table.markdown() + table.csv()) is None


def test_mean_ranks_need_all_that_they_rank() -> None:
    table = compared(TABLE_3)
    assert isinstance(table, ClassRates)
    found = {
        name: np.array(
            [
                [
                    rates(row.cells, label, POSITIVE)[0]
                    for row in table.rows
                    if row.data_set == name
                ]
                for label in labels
            ]
        )
        for name, labels in MINORITY.items()
    }
    expected = np.mean([slow_ranks(np.round(rate, 2)) for rate in found.values()], axis=0)
    ours = table.ranked()
    assert ours is not None
    assert list(ours) == list(COMPARED)
    assert list(ours.values()) == pytest.approx(expected.tolist())
    assert "| paper | 3.1 | 2.4 | 2.5 | 3.1 | 3.7 |" in table.markdown()
    fewer = replace(table, rows=tuple(row for row in table.rows if row.method != "LC"))
    assert fewer.ranked() is None
    assert "There are no mean ranks" in fewer.markdown()
    assert "mean rank" not in fewer.csv()


def test_the_table_of_f_measures() -> None:
    table = compared(TABLE_4)
    text = table.markdown()
    row = next(row for row in table.rows if (row.data_set, row.method) == ("SHUT", "A"))
    mean, sd = row.ours.macro_f
    z = (mean - 0.89) / 0.08
    mark = "**" if abs(z) > 2 else ""
    assert (
        f"| SHUT | A | 3 | 0.890 ± 0.080 | {mean:.3f} ± {sd:.3f} | {mark}{z:+.2f}{mark} |" in text
    )
    far = sum(abs(one.z) > 2 for one in table.figures())
    assert "Figures with a published standard deviation: 20." in text
    assert text.count(": z = ") == far
    lines = list(csv.DictReader(io.StringIO(table.csv())))
    assert len(lines) == 20
    found = next(line for line in lines if (line["set"], line["method"]) == ("SHUT", "A"))
    assert float(found["z"]) == pytest.approx(z)
    assert float(found["judged_by"]) == 0.08


def test_methods_that_the_paper_does_not_have_are_shown_without_its_figures() -> None:
    cells = random_cells(["1", "2"], 0)
    rows = [Row("BH", "D+fisher", TableEntry(), TableEntry(), summarise(cells), cells)]
    assert "| BH | D+fisher | 3 |  | " in TABLE_4.compared(rows).markdown()
    assert "is published" in TABLE_3.compared(rows).markdown()
    mixed = [
        Row(
            "BH",
            "D",
            TableEntry(rates=(Rates("2", Figure(0.8)),)),
            TableEntry(),
            rows[0].ours,
            cells,
        )
    ]
    text = TABLE_3.compared([*rows, *mixed]).markdown()
    assert "| BH | 1 | " in text
    assert "| BH | 2 | " in text


# --- what cannot be had -----------------------------------------------------------------------


def test_what_cannot_be_had_is_listed_and_not_run() -> None:
    assert set(TABLE_1.unavailable) == {"bright", "dim"}
    assert not set(TABLE_1.unavailable) & {one.name for one in TABLE_1.data_sets}
    text = replace(TABLE_1, effort=False).compared([]).markdown()
    assert "Not available:" in text
    assert (
        "- dim: No public copy of the 4192 dim objects was found. In the paper: OC1 95.0 ± 0.3"
        in text
    )
    assert "C4.5/93 93.3 ± 0.8 and 77.9 ± 7.4 leaves." in text
    assert text.count("95.0 ± 0.3") == 1  # of both OC1s once
    assert "Not available" not in TABLE_2.compared([]).markdown()
