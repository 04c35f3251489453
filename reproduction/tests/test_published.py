"""The papers' tables by name, their figures and their misprints as data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from reproduction.catalogue import TABLES
from reproduction.entries import TableEntry
from reproduction.own import c45
from reproduction.papers import etct, hhcart, oc1, odt
from reproduction.papers.odt_shown import PAPER_SHARES
from reproduction.protocol import CellResult, summarise
from reproduction.tables import Comparison, PaperTable, Row

#: The names are fixed: commands, files and links depend on them.
PAPERS = {
    "hhcart": (hhcart, (2, 3, 4, 5, 7)),
    "oc1": (oc1, (1, 2)),
    "2c-etct": (etct, (1, 2, 3)),
    "odt": (odt, (1, 2)),
}
NAMED = {
    f"{paper}-table-{number}": (module, number)
    for paper, (module, numbers) in PAPERS.items()
    for number in numbers
}


@pytest.mark.parametrize("name", NAMED)
def test_tables_are_called_by_paper_and_number(name: str) -> None:
    module, number = NAMED[name]
    table: PaperTable = getattr(module, f"TABLE_{number}")
    assert TABLES[name] is table
    assert table.name == name
    assert table.protocol.endswith(".")
    for data_set, printed in getattr(module, f"PUBLISHED_{number}").items():
        more = dict(table.published[data_set].items() - printed.items())
        assert all(printed[table.readings[method]] is entry for method, entry in more.items())
    methods = {method.name for method in table.methods}
    known = {data_set.name for data_set in table.data_sets}
    assert set(table.published) == known | set(table.unavailable)
    for row in table.published.values():
        assert set(row) <= methods
        assert set(table.standard) & set(row)


@pytest.mark.parametrize("name", NAMED)
def test_every_published_row_is_run_if_nothing_is_named(name: str) -> None:
    """A method of the paper that is not standard would be a gap in `reproduce`."""
    module, number = NAMED[name]
    table: PaperTable = getattr(module, f"TABLE_{number}")
    variants = {"odt-table-1"}  # it has other readings of the same rows
    for row in table.published.values():
        missing = set(row) - set(table.standard)
        assert not missing or name in variants


@pytest.mark.parametrize("paper", PAPERS)
def test_misprints_failures_and_readings_are_three_lists(paper: str) -> None:
    module, _ = PAPERS[paper]
    lists = (module.MISPRINTS, module.FAILURES, module.READINGS)
    assert module.MISPRINTS and module.READINGS
    every = [one for remarks in lists for one in remarks]
    assert len({(one.where, one.what) for one in every}) == len(every)
    for one in every:
        assert one.where[0].islower()
        assert not one.what.endswith(".")
        assert one.why.endswith(".")
        for name, data_set, method, what in one.figures:
            assert one in module.MISPRINTS  # others are no marks at figures
            table: PaperTable = getattr(module, f"TABLE_{name[-1]}")
            assert name == table.name and table.misprints is module.MISPRINTS
            entry = table.published[data_set][method]
            kind, _, label = what.partition(" of ")
            if label:
                assert kind == "true positive rate"
                assert label in [rate.label for rate in entry.rates]
            else:
                assert not math.isnan(getattr(entry, what).mean)


def test_the_catalogue_knows_where_cells_come_from() -> None:
    for table in TABLES.values():
        if table.cells_of:
            source = TABLES[table.cells_of]
            assert not source.cells_of
            assert set(table.standard) <= set(source.standard)
            sets = {one.name: one for one in source.data_sets}
            assert all(sets[one.name] is one for one in table.data_sets)
            assert all(method in source.methods for method in table.methods)
            assert (table.repeats, table.n_folds) == (source.repeats, source.n_folds)


# --- OC1 --------------------------------------------------------------------------------------


def test_the_best_of_oc1s_table_are_those_in_bold() -> None:
    best = {
        name: max(row, key=lambda method: row[method].accuracy.mean)
        for name, row in oc1.PUBLISHED_1.items()
    }
    assert best == {
        "bright": "OC1",
        "dim": "OC1",
        "cancer": "OC1",
        "diabetes": "OC1",
        "iris": "C4.5/93",
        "housing": "C4.5/93",
    }
    for row in oc1.PUBLISHED_1.values():  # the paper's main claim
        assert row["OC1"].accuracy.mean > row["CART-LC"].accuracy.mean


def test_deviations_of_the_other_package_are_those_of_folds() -> None:
    for row in oc1.PUBLISHED_1.values():
        own = np.mean([row[name].accuracy.sd for name in ("OC1", "CART-LC", "OC1-AP")])
        other = np.mean([row[name].accuracy.sd for name in ("CART-AP", "C4.5/93")])
        assert other > own


def test_c45s_table_is_made_of_the_papers() -> None:
    for data_set in oc1.DATA_SETS_1:
        entry = oc1.PUBLISHED_1[data_set.name]["C4.5/93"]
        assert c45.PUBLISHED[data_set.name] == {"C4.5": entry, "C4.5/93": entry}
    assert c45.PUBLISHED["windows"]["C4.5"].accuracy.mean == 93.0
    assert c45.METHODS[1] is oc1.C45_1993


# --- orthogonal trees -------------------------------------------------------------------------


def test_errors_on_spect_are_whole_numbers_of_rows() -> None:
    for error, (rows, digits) in zip(
        odt.ROWS_1.values(), ((46, 4), (39, 2), (37, 2), (15, 2)), strict=True
    ):
        share = 100.0 * rows / 187
        shown = round(share, digits) if digits == 4 else math.floor(100.0 * share) / 100.0
        assert error == shown
    assert sum(PAPER_SHARES) == pytest.approx(99.9485)


def rows_of(table: PaperTable, *methods: str) -> Comparison:
    cells = tuple(
        CellResult(["0", "1"], [[10, 5], [wrong, 172 - wrong]], [80], 0.1, explained=[shares])
        for wrong, shares in ((20, [0.5] + [0.5 / 39] * 39), (24, [0.7] + [0.3 / 39] * 39))
    )
    entries = table.published["SPECT"]
    found = [
        Row("SPECT", name, entries.get(name, TableEntry()), TableEntry(), summarise(cells), cells)
        for name in methods
    ]
    return table.compared(found)


def test_errors_nodes_and_shares_stand_beside_the_papers() -> None:
    (error,) = rows_of(odt.TABLE_1, "ODT/20").figures()
    assert error[:3] == ("SPECT", "ODT/20", "error")
    assert error.published == pytest.approx(8.02)
    assert error.ours == pytest.approx(100.0 * (25 + 29) / 2 / 187)
    assert not error.larger_is_better
    assert math.isnan(error.published_sd)
    sizes, *shares = rows_of(odt.TABLE_2, "bagging/20").figures()
    assert sizes[2:4] == ("nodes", pytest.approx(5.06))
    assert sizes.ours == pytest.approx(3.0)  # 80 leaves of 40 trees
    assert [one.published for one in shares] == list(PAPER_SHARES)
    assert shares[0].ours == pytest.approx(60.0)


def test_nodes_under_cross_validation_tell_the_data_sets_apart() -> None:
    one = rows_of(odt.TABLE_2, "bagging/20")
    assert "| bagging/20 | 2 | 40 |" in one.markdown()
    other = replace(one.rows[0], data_set="SPECT-267", published=TableEntry())
    first = replace(one.rows[0], data_set="SPECT-80", published=TableEntry())
    both = odt.TABLE_CV_NODES.compared([first, other])
    assert not list(both.figures())  # the paper has not measured so
    text = both.markdown()
    assert "| bagging/20 on SPECT-80 | 2 | 40 |" in text
    assert "| bagging/20 on SPECT-267 | eigenvalues | 60.000 |" in text
