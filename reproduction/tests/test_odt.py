"""The tables on orthogonal trees: methods, rows, what is printed, trees that are grown once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from obliqua import C45Classifier, OrthogonalTreesClassifier
from reproduction.catalogue import TABLES
from reproduction.papers.odt import (
    METHODS,
    PROTOTYPE_1,
    PROTOTYPE_CV,
    PUBLISHED_1,
    PUBLISHED_2,
    TABLE_1,
    TABLE_2,
    TABLE_CV,
    TEST,
    GrownOnce,
    of_bagged,
)
from reproduction.papers.odt_shown import balanced, constant, error, nodes, positive
from reproduction.protocol import CellResult
from reproduction.store import Store
from reproduction.tables import Comparison, PaperTable, run_table

ALL = (TABLE_1, TABLE_2, TABLE_CV)


def ran(table: PaperTable, folder: Path, methods: list[str], repeats: int = 2) -> Comparison:
    store = Store(folder / "x.jsonl", table.name, 0)
    return run_table(table, store, methods=methods, repeats=repeats, progress=lambda line: None)


def test_the_tables_are_there_and_ask_for_methods_that_exist() -> None:
    names = {method.name for method in METHODS}
    assert len(names) == len(METHODS)
    for table in ALL:
        assert TABLES[table.name] is table
        assert set(table.standard) <= names
        assert table.repeats == 30
        for figures in (table.published, table.prototype):
            assert set(figures) <= {data_set.name for data_set in table.data_sets}
            assert all(set(row) <= names for row in figures.values())
    for method in METHODS:
        made = method.make(0)
        made._validate_params()


def test_the_papers_errors_are_numbers_of_test_rows() -> None:
    printed = {100.0 - entry.accuracy.mean for entry in PUBLISHED_1[TEST].values()}
    assert len(printed) == 4
    for one in printed:
        rows = one / 100.0 * 187
        assert abs(rows - round(rows)) < 0.015, one
    assert 100.0 - PROTOTYPE_1[TEST]["ODT-sum3/20"].accuracy.mean == pytest.approx(
        100.0 * 15 / 187, abs=0.005
    )
    assert PUBLISHED_2[TEST]["bagging/20"].leaves.mean == pytest.approx((5.06 + 1) / 2)
    assert len(PROTOTYPE_CV) == 2


def test_measures_of_a_cell() -> None:
    cell = CellResult(["0", "1"], [[3, 7], [10, 80]], [20], 0.0)
    assert error(cell) == pytest.approx(17.0)
    assert balanced(cell) == pytest.approx(100 * (0.3 + 80 / 90) / 2)
    assert positive(cell) == pytest.approx(87.0)
    assert constant(cell) == pytest.approx(10.0)
    assert nodes(cell, "C4.5") == 39.0
    assert nodes(cell, "ODT-sum3/20") == 7.0
    assert nodes(CellResult(["0", "1"], [[1, 0], [0, 1]], [80], 0.0), "bagging/20") == 3.0


def test_a_tree_that_is_known_is_not_grown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (50, 6)).astype(float), rng.integers(0, 2, 50)
    plain = OrthogonalTreesClassifier(C45Classifier(), n_estimators=4, random_state=1).fit(X, y)
    grown: list[int] = []
    grow = C45Classifier._grown

    def counted(self: C45Classifier, problem: object) -> object:
        grown.append(1)
        return grow(self, problem)

    monkeypatch.setattr(C45Classifier, "_grown", counted)
    first, second = (of_bagged(1, n_estimators=4).fit(X, y) for _ in range(2))
    assert len(grown) == 4
    for a, b, c in zip(plain.model_.trees, first.model_.trees, second.model_.trees, strict=True):
        assert b is c
        np.testing.assert_array_equal(a.stats, b.stats)
        np.testing.assert_array_equal(a.threshold, b.threshold)
    of_bagged(1, n_estimators=4).set_params(estimator__min_samples_leaf=9).fit(X, y)
    assert len(grown) == 8, "other parameters are another tree"
    of_bagged(1, n_estimators=4).fit(X, 1 - y)
    assert len(grown) == 12, "other labels are another tree"
    of_bagged(1, subtree_raising=False, n_estimators=4).fit(X, y)
    flat = not GrownOnce().zero_gain_splits  # the last of the parameters
    of_bagged(1, n_estimators=4).set_params(estimator__zero_gain_splits=flat).fit(X, y)
    assert len(grown) == 20, "every parameter counts"
    assert GrownOnce().get_params() == C45Classifier().get_params()


@pytest.mark.data
def test_rows_are_those_of_the_paper() -> None:
    (fixed,) = (data_set.load() for data_set in TABLE_1.data_sets)
    assert fixed.X.shape == (80, 22) and fixed.X_test is not None
    assert fixed.X_test.shape == (187, 22)
    trained, pooled = (data_set.load() for data_set in TABLE_CV.data_sets)
    assert trained.X.shape == (80, 22) and pooled.X.shape == (267, 22)
    for rows in (trained, pooled):
        assert rows.division(TABLE_CV.n_folds) == "10 stratified folds"


@pytest.mark.data
def test_what_is_printed_of_errors(tmp_path: Path) -> None:
    compared = ran(TABLE_1, tmp_path, ["C4.5", "AFT-3/20", "ODT/20"])
    text, table = compared.markdown(), compared.csv()
    assert "nan" not in text + table
    assert (
        "| C4.5 | 24.60 | 24.60 | 24.60 ± 0.00 |  | 1 own sd | 24.6 to 24.6 | 74.5 ± 0.0 |" in text
    )
    assert "| 8.0 to 8.0 | 50.0 ± 0.0 | 100.0 % | 2 of 2 | 8.02 |" in text
    assert "- *ODT*: five components, weighted" in text
    row = next(line for line in table.splitlines() if line.startswith("SPECT,AFT-3/20"))
    assert row.endswith(',2,"> 2 own sd, better"') and ",50.0,100.0," in row


@pytest.mark.data
def test_what_is_printed_of_sizes(tmp_path: Path) -> None:
    compared = ran(TABLE_2, tmp_path, ["C4.5-S", "bagging/20", "ODT-sum3/20", "AFT/20"], 1)
    text, table = compared.markdown(), compared.csv()
    assert "nan" not in text + table
    assert "| C4.5-S | 1 | 1 | 13.00 | 13.00 | 13.00 |  |  | 13 to 13 |" in text
    assert "| ODT-sum3/20 | 1 | 5 | 3.00 |  | 3.00 |  |  | 3 to 3 |" in text
    assert "| AFT/20 | 1 | 40 |" not in text, "its trees are those of bagging"
    (row,) = (row for row in compared.rows if row.method == "AFT/20")
    shares = np.array(row.cells[0].explained[0])
    assert shares.sum() == pytest.approx(1.0)
    squares = shares**2 / (shares**2).sum()
    assert f"| AFT/20 | their squares | {100 * squares[0]:.3f} |" in text
    assert "| paper |  | 99.4416 |" in text


@pytest.mark.data
def test_without_figures_of_the_paper_there_is_no_column(tmp_path: Path) -> None:
    text = ran(TABLE_CV, tmp_path, ["C4.5"], 1).markdown()
    assert "| set | method | prototype | ours | range |" in text
    assert "|--|--|--:|--:|" in text
