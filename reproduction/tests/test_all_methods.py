"""All methods on all data sets: every method is there, takes any table, and ranks are right."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import obliqua
from obliqua import rank_methods
from obliqua.select.methods import METHODS
from reproduction.entries import TableEntry
from reproduction.own import all_methods
from reproduction.own.all_methods import ALL_METHODS, AdaptedClassifier, adapting, ranks_of
from reproduction.protocol import DataSet, Summary
from reproduction.rows import ExperimentRows
from reproduction.store import Store
from reproduction.tables import Row, run_table

NAN = float("nan")
RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"


def row(data_set: str, method: str, accuracy: float, leaves: float = NAN) -> Row:
    ours = Summary(1, (accuracy, NAN), (leaves, NAN), (NAN, NAN))
    return Row(data_set, method, TableEntry(), TableEntry(), ours)


def rows(methods: tuple[str, ...] = ("cart", "hhcart-d", "oc1"), n_sets: int = 6) -> list[Row]:
    rng = np.random.default_rng(0)
    return [
        row(f"S{k}", name, 80.0 + 5.0 * place + rng.normal(), 3.0 + place)
        for k in range(n_sets)
        for place, name in enumerate(methods)
    ]


def test_every_classifier_of_the_library_is_run() -> None:
    names = [method.name for method in ALL_METHODS.methods]
    assert names == [name for name in METHODS if name != "hhcart-g"]  # it has a table of its own
    run = {method.estimator.rpartition(".")[2] for method in ALL_METHODS.methods}
    # These two are made of others: one votes (oc1-vote), the other learns from a teacher.
    made = {"RepeatedTreesClassifier", "DistilledClassifier"}
    known = {name for name in obliqua.__all__ if name.endswith("Classifier")}
    assert known - made <= run


def test_our_trees_take_tables_and_others_are_adapted() -> None:
    by_name = {method.name: method for method in ALL_METHODS.methods}
    assert by_name["cart"] is METHODS["cart"]
    made = by_name["sklearn"].make(5)
    assert isinstance(made, AdaptedClassifier)
    assert isinstance(made.estimator, DecisionTreeClassifier)
    assert made.estimator.random_state == 5


def test_an_adapted_tree() -> None:
    X, y = load_iris(return_X_y=True)
    plain = DecisionTreeClassifier(random_state=0).fit(X, y)
    same = adapting("sklearn", 0).fit(X, y)
    assert same.get_n_leaves() == plain.get_n_leaves()
    np.testing.assert_array_equal(same.predict(X), plain.predict(X))
    colours = np.array([["red"], ["blue"], [None], ["green"]] * 10, dtype=object)
    X = np.column_stack([colours, np.arange(40.0).astype(object)])
    found = adapting("sklearn", 0).fit(X, colours[:, 0] == "red")
    assert found.get_n_leaves() == 2
    assert found.predict(X).tolist() == (colours[:, 0] == "red").tolist()


def test_large_sets_are_drawn_from_and_parts_put_together() -> None:
    def load(subset: str = "", return_X_y: bool = True) -> tuple[Any, Any]:
        n = {"": 2500, "train": 1500, "test": 1000}[subset]
        start = 1500 if subset == "test" else 0
        return np.arange(start, start + n, dtype=float)[:, None], np.arange(n) % 2

    one, other = all_methods._rows(load)(), all_methods._rows(load, "train", "test")()
    assert len(one.y) == len(other.y) == 2000
    assert len(np.unique(one.X)) == 2000 and one.stratified
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.X, all_methods._rows(load)().X)


def test_ranks_are_those_of_the_means() -> None:
    found = ranks_of(rows(), "accuracy")
    assert found.order == ("oc1", "hhcart-d", "cart")
    assert found.data_sets == tuple(f"S{k}" for k in range(6))
    assert ranks_of(rows(), "leaves").order == ("cart", "hhcart-d", "oc1")


def test_methods_without_leaves_and_sets_that_not_all_have_run() -> None:
    more = [*rows(), *(row(f"S{k}", "means", 99.0) for k in range(5))]
    found = ranks_of(more, "accuracy")
    assert "means" in found.methods and len(found.data_sets) == 5
    assert found.notes == ("Left out, because not all methods have a score: S5.",)
    assert "means" not in ranks_of(more, "leaves").methods


def test_the_text() -> None:
    text = ALL_METHODS.compared(rows()).markdown()
    assert text.startswith("## All methods on all data sets\n")
    assert "| method | S0 | S1 | S2 | S3 | S4 | S5 |" in text
    assert "### Leaves, fewer are better" in text
    assert text.count("| method | mean rank | group |") == 2
    assert text.endswith("- *oc1*: OC1: climbing, with restarts and jumps\n")
    assert ranks_of(rows(), "accuracy").markdown() in text


@pytest.mark.parametrize(
    ("some", "reason"),
    [
        (rows(("cart",)), "At least two methods are needed"),
        (rows(n_sets=1), "At least two data sets"),
    ],
)
def test_too_little_to_rank(some: list[Row], reason: str) -> None:
    text = ALL_METHODS.compared(some).markdown()
    assert f"No ranks: {reason}" in text


def test_a_small_run(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    sets = tuple(
        DataSet(
            name,
            name,
            lambda part=part: ExperimentRows(X[:, part], y.astype(str), stratified=True),
        )
        for name, part in (("petals", [2, 3]), ("sepals", [0, 1]))
    )
    table = replace(ALL_METHODS, data_sets=sets)
    store = Store(tmp_path / "small.json", table.name, 0)
    found = run_table(table, store, methods=["cart", "sklearn"], progress=lambda line: None)
    assert ranks_of(found.rows, "accuracy").data_sets == ("petals", "sepals")
    assert len(found.csv().splitlines()) == 5


def test_the_kept_ranks_follow_from_the_kept_figures() -> None:
    with (RESULTS / "all-methods.csv").open(encoding="utf-8") as file:
        kept = list(csv.DictReader(file))
    text = (RESULTS / "all-methods.md").read_text("utf-8")
    for measure in ("accuracy", "leaves"):
        scores: dict[str, dict[str, float]] = {}
        for line in kept:
            scores.setdefault(line["method"], {})[line["set"]] = float(line[f"{measure}_ours"])
        found = rank_methods(scores, larger_is_better=measure == "accuracy")
        assert len(found.data_sets) == len(ALL_METHODS.data_sets)
        assert found.markdown() in text
