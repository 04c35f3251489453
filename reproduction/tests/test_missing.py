"""Missing values: the holes, the imputation that trees are compared with, and the table."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from obliqua import CartClassifier, datasets
from obliqua.select.methods import Method
from reproduction.entries import TableEntry
from reproduction.own.missing import (
    EXTRA_METHODS,
    HANDLINGS,
    METHODS,
    MISSING,
    WORD,
    Imputer,
    difference,
    imputed,
)
from reproduction.protocol import CellResult, DataSet, _random, run_cell, summarise
from reproduction.rows import ExperimentRows
from reproduction.store import Store
from reproduction.tables import Row, run_table

NAN = float("nan")


def mixed(n_rows: int = 90) -> ExperimentRows:
    """Two numbers and a level; the class follows from all three."""
    rng = np.random.default_rng(0)
    X = np.empty((n_rows, 3), dtype=object)
    X[:, 0] = np.round(rng.normal(size=n_rows), 1).tolist()
    X[:, 1] = np.array(["p", "q", "r"])[rng.integers(3, size=n_rows)].tolist()
    X[:, 2] = np.round(rng.normal(size=n_rows), 1).tolist()
    high = X[:, 0].astype(float) + X[:, 2].astype(float) + (X[:, 1] == "q") > 0.3
    return ExperimentRows(X, np.where(high, "yes", "no"), missing=0.2)


# --- holes ------------------------------------------------------------------------------------


def holes(X: Any) -> np.ndarray:
    return np.array([[entry != entry for entry in row] for row in X.tolist()])


@pytest.mark.parametrize("kind", [object, float])
def test_exactly_a_share_of_the_entries_is_removed(kind: type) -> None:
    X = np.arange(60.0).reshape(20, 3).astype(kind)
    rows = ExperimentRows(X, np.arange(20) % 2, X[:10], np.arange(10) % 2, missing=0.2)
    holed = rows.with_holes(np.random.default_rng(0))
    assert holed.X_test is not None
    assert holes(holed.X).sum() == 12
    assert holes(holed.X_test).sum() == 6
    assert not holes(X).any()  # the original is as it was
    assert holed.missing == 0.0
    kept = ~holes(holed.X)
    np.testing.assert_array_equal(holed.X[kept], X[kept])
    assert holed.X.dtype == X.dtype


def test_nothing_is_removed_unless_it_is_asked_for() -> None:
    rows = replace(mixed(), missing=0.0)
    rng = np.random.default_rng(0)
    assert rows.with_holes(rng) is rows
    assert rng.random() == np.random.default_rng(0).random()  # and no number was drawn
    assert rows.checksum != mixed().checksum


class Watched(CartClassifier):
    """Keeps what it is given."""

    seen: list[Any] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.seen.append(X.copy())
        return super().fit(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        self.seen.append(X.copy())
        return super().predict(X)


def test_methods_meet_the_same_holes_and_repeats_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reproduction.own.missing.Watched", Watched, raising=False)
    method = Method("w", "", "reproduction.own.missing.Watched")
    other = Method("v", "", "reproduction.own.missing.Watched", {"max_depth": 1})

    def seen(chosen: Method, repeat: int, fixed: bool = False) -> list[Any]:
        Watched.seen.clear()
        rows = mixed()
        run_cell(
            "mixed",
            replace(rows, X_test=rows.X, y_test=rows.y) if fixed else rows,
            chosen,
            repeat,
            0,
        )
        return [holes(X).tolist() for X in Watched.seen]

    first = seen(method, 0)
    assert seen(other, 0) == first
    one, two = seen(method, 0, fixed=True), seen(method, 1, fixed=True)
    assert one[0] != two[0]
    assert one[1] != two[1]
    assert one[0] != one[1]  # rows to test on have holes of their own
    trained, tested = first[::2], first[1::2]
    assert all(np.any(part) for part in trained)
    assert all(np.any(part) for part in tested)
    assert sum(np.sum(part) for part in tested) == round(0.2 * 90 * 3)


# --- imputation -------------------------------------------------------------------------------


def test_numbers_get_the_mean_and_levels_the_most_frequent() -> None:
    X = np.array([[1.0, "p", NAN], [NAN, "q", 4.0], [4.0, "q", 6.0], [4.0, NAN, 8.0]], object)
    imputer = Imputer().fit(X)
    filled = imputer.transform(np.array([[NAN, NAN, NAN], [2.0, "p", 5.0]], dtype=object))
    assert filled.tolist() == [[3.0, "q", 6.0], [2.0, "p", 5.0]]
    plain = Imputer().fit_transform(np.array([[1.0, NAN], [3.0, 5.0], [NAN, 7.0]]))
    assert plain.dtype == np.float64
    assert plain.tolist() == [[1.0, 6.0], [3.0, 5.0], [2.0, 7.0]]


def test_only_a_part_is_filled_in() -> None:
    X = np.array([[1.0, "p"], [NAN, "q"], [4.0, "q"], [4.0, NAN]], object)
    new = np.array([[NAN, NAN], [2.0, "p"]], dtype=object)
    for what, number, level in (("levels", NAN, "q"), ("numbers", 3.0, NAN), ("text", NAN, WORD)):
        filled = Imputer(what).fit(X).transform(new)
        assert filled[1].tolist() == [2.0, "p"]
        assert repr(filled[0].tolist()) == repr([number, level])


def test_a_pipeline_keeps_columns_qualitative_and_in_order() -> None:
    rows = mixed().with_holes(np.random.default_rng(0))
    model = imputed("obliqua.CartClassifier", 3, pruning=None)
    assert isinstance(model, Pipeline)
    model.fit(rows.X, rows.y)
    tree = model[-1]
    assert tree.random_state == 3
    kinds = [column.kind for column in tree.model_.encoding.columns]
    assert kinds == ["numeric", "qualitative", "numeric"]
    assert tree.score(Imputer().fit_transform(rows.X), rows.y) == model.score(rows.X, rows.y)


# --- the table --------------------------------------------------------------------------------


def test_every_tree_is_grown_in_every_way() -> None:
    names = [method.name for method in METHODS]
    trees = ("CART", "D", "A", "CART+cv", "D+cv", "A+cv")
    assert names == [f"{tree}/{handling}" for tree in trees for handling in HANDLINGS]
    for method in METHODS:
        model = method.make(0)
        native = model[-1] if isinstance(model, Pipeline) else model
        assert isinstance(model, Pipeline) == method.name.endswith("imputed")
        assert native.pruning == ("cv" if "+cv" in method.name else "holdout")
        if not method.name.endswith("imputed"):
            assert native.fill == method.name.rpartition("/")[2]


def test_further_methods_run_only_if_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [method.name for method in EXTRA_METHODS]
    trees = ("CART", "CART+cv")
    assert names == [
        *(f"{tree}/{what}" for tree in trees for what in ("levels", "numbers", "text")),
        *(f"CART+entropy{cv}/{what}" for cv in ("", "+cv") for what in ("node", "imputed")),
    ]
    assert MISSING.methods == METHODS + EXTRA_METHODS
    assert not set(MISSING.standard) & set(names)
    for method in EXTRA_METHODS:
        model = method.make(0)
        tree = model[-1] if isinstance(model, Pipeline) else model
        assert tree.pruning == ("cv" if "+cv" in method.name else "holdout")
        assert tree.criterion == ("entropy" if "entropy" in method.name else "twoing")
    table = replace(MISSING, data_sets=(DataSet("mixed", "", mixed),), n_folds=3)
    store = Store(tmp_path / "r.jsonl", table.name, 0)
    chosen = ["CART/imputed", "CART/levels", "CART/text", *names[6:8]]
    compared = run_table(table, store, repeats=2, methods=chosen, progress=lambda line: None)
    head, _, *lines = compared.markdown().splitlines()[2:6]
    assert "| accuracy: text | leaves | node - imputed |" in head
    assert head.endswith("| levels - imputed | text - imputed |")
    assert "accuracy: numbers" not in head
    assert [line.split(" | ")[1] for line in lines] == ["CART", "CART+entropy"]
    assert all(line.count("|") == head.count("|") for line in lines)
    assert "CART+cv/numbers" in [method.name for method in MISSING.methods]


def cell(right: int, leaves: int) -> CellResult:
    return CellResult(["a", "b"], [[right, 20 - right], [0, 20]], [leaves], 0.0)


def row(method: str, *cells: CellResult) -> Row:
    return Row("wine", method, TableEntry(), TableEntry(), summarise(cells), cells)


def test_differences_are_taken_seed_by_seed() -> None:
    ours = row("CART/node", cell(10, 2), cell(14, 4))
    theirs = row("CART/imputed", cell(8, 2), cell(16, 2))
    assert difference(ours, theirs) == pytest.approx((0.0, 50 / np.sqrt(50)))
    compared = MISSING.compared([ours, theirs])
    text = compared.markdown()
    shown = "| wine | CART | 2 | 80.00 ± 7.07 | 3.0 ± 1.4 | 80.00 ± 14.14 | 2.0 ± 0.0 |"
    assert f"{shown} +0.00 ± 7.07 |" in text
    assert "training" not in text  # what was not run has no column
    lines = list(csv.DictReader(io.StringIO(compared.csv())))
    assert [line["handling"] for line in lines] == ["node", "imputed"]
    assert float(lines[0]["gain_sd"]) == pytest.approx(50 / np.sqrt(50))
    assert lines[1]["gain"] == ""


def test_one_seed_has_no_spread() -> None:
    compared = MISSING.compared([row("A/node", cell(10, 2)), row("A/imputed", cell(8, 2))])
    assert "| +5.00 |" in compared.markdown()
    assert "nan" not in compared.markdown() + compared.csv()


def test_a_small_run(tmp_path: Path) -> None:
    table = replace(MISSING, data_sets=(DataSet("mixed", "", mixed),), n_folds=3)
    store = Store(tmp_path / "r.jsonl", table.name, 0)
    chosen = [method.name for method in METHODS if "+cv" not in method.name]
    compared = run_table(table, store, repeats=2, methods=chosen, progress=lambda line: None)
    assert all(len(row.cells) == 2 for row in compared.rows)
    assert all(len(cell.leaves) == 3 for row in compared.rows for cell in row.cells)
    assert np.mean([row.ours.accuracy[0] for row in compared.rows]) > 60  # half would be chance
    assert compared.markdown().count("| mixed |") == 3


def test_the_kept_results_are_of_the_whole_protocol() -> None:
    root = Path(__file__).resolve().parents[2]
    lines = (root / "docs" / "results" / "missing-values.csv").read_text("utf-8").splitlines()
    rows = list(csv.DictReader(lines))
    assert len(rows) == 3 * len(METHODS)
    assert {found["seeds"] for found in rows} == {"5"}


@pytest.mark.data
def test_where_roots_send_missing_levels() -> None:
    """The figures of docs/guides/reproduce.md, in each of the five draws of holes."""
    (income,) = MISSING.choose_sets(["Income"])
    whole = income.load()
    family = datasets.load_adult().feature_names.index("relationship")
    for repeat in range(MISSING.repeats):
        rows = whole.with_holes(_random(0, "Income", repeat))
        missing = rows.X[:, family] != rows.X[:, family]
        spouse = np.isin(rows.X[:, family].astype(str), ["Husband", "Wife"])
        root = CartClassifier(max_depth=1, pruning=None).fit(rows.X, rows.y)
        sides = root.apply(rows.X)
        assert len(set(sides[spouse])) == len(set(sides[~spouse])) == 1  # missing ones: not there
        low = rows.y == "<=50K"
        assert round(100 * low[~spouse & ~missing].mean()) == 93
        assert round(100 * low[~spouse].mean()) in (87, 88)
        other = CartClassifier(max_depth=1, pruning=None, criterion="entropy")
        sides = other.fit(rows.X, rows.y).apply(rows.X)
        with_spouses = len(set(sides[spouse | missing])) == 1
        assert with_spouses or repeat == 4  # there the root asks for the marital status
