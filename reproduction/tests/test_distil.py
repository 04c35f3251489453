"""The experiment on small models in the place of a forest, reduced."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from obliqua import OrthogonalTreesClassifier, datasets, fidelity
from reproduction.own.distil import (
    DISTIL,
    DISTIL_FRESH,
    DISTIL_LETTER,
    EXTRA_METHODS,
    LEAVES,
    METHODS,
    TITLES,
    Small,
    numbers,
)
from reproduction.protocol import DataSet, run_cell
from reproduction.rows import ExperimentRows
from reproduction.store import Store
from reproduction.tables import run_table

X, Y = load_iris(return_X_y=True)
FEW = {"n_trees": 5, "leaves": 8, "random_state": 0}


def iris() -> ExperimentRows:
    return ExperimentRows(X, Y, stratified=True, n_tested=1)


@pytest.fixture(scope="module")
def forest() -> Any:
    return RandomForestClassifier(5, random_state=0).fit(X[::2], Y[::2])


@pytest.mark.parametrize("way", [*TITLES, "cart-data", "residual-marginals", "hhcart-residual"])
def test_every_way_makes_a_small_model(forest: Any, way: str) -> None:
    small = Small(way, **FEW).fit(X[::2], Y[::2])
    np.testing.assert_array_equal(
        small.forest_.predict_proba(X), forest.predict_proba(X)
    )  # the same forest for all
    assert 2 <= small.get_n_leaves() <= 8
    lost = small.lost(X[1::2])
    found = fidelity(forest, small.small_, X[1::2])
    assert (lost["agreement"], lost["difference"]) == (found["agreement"], found["difference"])
    assert lost["cpu_ms"] >= 0
    assert small.predict(X[1::2]).tolist() == small.small_.predict(X[1::2]).tolist()


def test_the_forest_loses_nothing(forest: Any) -> None:
    small = Small("forest", **FEW).fit(X[::2], Y[::2])
    assert small.lost(X)["agreement"] == 1.0
    assert small.lost(X)["difference"] == 0.0
    assert small.get_n_leaves() == sum(tree.get_n_leaves() for tree in forest.estimators_)


@pytest.mark.parametrize("n", [1, 3])
def test_components_are_those_of_a_fit_of_their_own(forest: Any, n: int) -> None:
    small = Small(f"odt{n}", **FEW).fit(X[::2], Y[::2])
    plain = OrthogonalTreesClassifier(
        forest, prefit=True, n_components=n, max_leaf_nodes=8 // n, predict_with="trees"
    ).fit(X[::2], Y[::2])
    np.testing.assert_allclose(small.small_.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    assert small.get_n_leaves() == plain.get_n_leaves()


def test_levels_become_codes() -> None:
    table = np.array([["b", 1.5, np.nan], ["a", 2, 3.0], ["b", 0, 1.0]], dtype=object)
    assert numbers(table).tolist() == [[1, 1.5, -1], [0, 2, 3], [1, 0, 1]]
    assert numbers(X) is not None
    np.testing.assert_array_equal(numbers(X), X)


def test_only_the_first_fold_is_tested() -> None:
    cell = run_cell("iris", iris(), METHODS[1], 0, 0, 3)
    assert cell.matrix.sum() == 50
    assert len(cell.lost) == 1
    whole = run_cell("iris", replace(iris(), n_tested=None), METHODS[1], 0, 0, 3)
    assert whole.matrix.sum() == 150
    assert len(whole.lost) == 3
    assert iris().division(3) == "the first 1 of 3 stratified folds"


def test_a_reduced_run(tmp_path: Path) -> None:
    table = replace(DISTIL, data_sets=(DataSet("iris", "Iris", iris),))
    names = ["forest", "labels@16", "cart@16", "hhcart@64"]
    store = Store(tmp_path / "distil.jsonl", table.name, 0)
    shown = run_table(table, store, methods=names, repeats=2)
    text = shown.markdown()
    assert "| cart |" in text
    assert "The forest: " in text
    # With one data set the means over sets are those of the set.
    sixteen = shown.rows[2]
    assert f"| cart | {sixteen.ours.accuracy[0]:.1f} |" in text.partition("### All sets")[2]
    assert "one from the classes: agreement is " in text
    assert "An oblique tree" not in text  # none of the same size was run
    lines = list(csv.DictReader(io.StringIO(shown.csv())))
    assert [line["way"] for line in lines] == ["forest", "labels", "cart", "hhcart"]
    assert float(lines[0]["agreement"]) == 100.0
    for line, row in zip(lines, shown.rows, strict=True):
        shares = [cell.lost[0]["agreement"] for cell in row.cells]
        assert float(line["agreement"]) == pytest.approx(100 * np.mean(shares))
        assert line["seeds"] == "2"
    # Going on computes nothing again and shows the same.
    said: list[str] = []
    again = Store(tmp_path / "distil.jsonl", table.name, 0, resume=True)
    once_more = run_table(table, again, methods=names, repeats=2, progress=said.append)
    assert once_more.markdown() == text
    assert said == []


def test_the_tables() -> None:
    assert len(METHODS) == 1 + len(TITLES) * len(LEAVES)
    assert len({method.name for method in METHODS + EXTRA_METHODS}) == len(METHODS + EXTRA_METHODS)
    for table in (DISTIL, DISTIL_LETTER, DISTIL_FRESH):
        assert table.repeats == 5
        assert len(table.choose_methods()) == len(table.standard)
        assert "forest" in table.standard
    assert not any("odt" in name for name in DISTIL_LETTER.standard)


@pytest.mark.data
@pytest.mark.parametrize("table", [DISTIL, DISTIL_LETTER, DISTIL_FRESH], ids=lambda one: one.name)
def test_the_data(table: Any) -> None:
    for data_set in table.data_sets:
        rows = data_set.load()
        assert rows.X.dtype == np.float64
        assert np.isfinite(rows.X).all()
        assert len(rows.X) == len(rows.y) <= 4000
        assert rows.n_tested == 1
    assert datasets.load_spect(subset="test").data.shape == (187, 22)
