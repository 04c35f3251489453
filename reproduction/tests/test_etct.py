"""The tables of 2C-ETCT: figures as they are printed, data that repeats draw, and methods."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from reproduction.catalogue import TABLES
from reproduction.own.etct_clusters import PROTOTYPE, Gains
from reproduction.own.etct_clusters import TABLE as TABLE_CLUSTERS
from reproduction.papers.etct import (
    METHODS,
    PROTOTYPE_1,
    PROTOTYPE_2,
    PROTOTYPE_3,
    PUBLISHED_1,
    PUBLISHED_2,
    PUBLISHED_3,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    linear_svm,
    naive_bayes,
)
from reproduction.protocol import run_cell
from reproduction.store import Store
from reproduction.tables import PaperTable, run_table

ALL = (TABLE_1, TABLE_2, TABLE_3, TABLE_CLUSTERS)
SETS = [f"d{d}" for d in range(5, 12)]
STANDARD = ("2C-ETCT", "Bayes", "SVM", "C4.5")


def test_the_tables_are_there_and_their_figures_are_complete() -> None:
    for table in ALL:
        assert TABLES[table.name] is table
    for published, prototype in ((PUBLISHED_1, PROTOTYPE_1), (PUBLISHED_2, PROTOTYPE_2)):
        assert list(published) == list(prototype) == SETS
        for name in SETS:
            assert tuple(published[name]) == STANDARD
            assert set(STANDARD) <= set(prototype[name])
    for table in (TABLE_1, TABLE_2, TABLE_3):
        assert table.standard == STANDARD
        assert set(table.published) == {data_set.name for data_set in table.data_sets}
    assert tuple(PUBLISHED_3["windows"]) == STANDARD
    named = {method.name for method in METHODS}
    assert set(PROTOTYPE_3["windows"]) == named == set(PROTOTYPE_2["d8"])


@pytest.mark.parametrize(
    ("published", "means"),
    [
        (PUBLISHED_1, (96.49, 96.57, 96.29, 88.34)),
        (PUBLISHED_2, (89.64, 86.91, 86.84, 83.70)),
        (PROTOTYPE_1, (96.61, 96.86, 96.67, 87.53)),
        (PROTOTYPE_2, (88.96, 85.26, 87.16, 84.11)),
    ],
)
def test_means_of_the_figures(published: dict, means: tuple[float, ...]) -> None:
    """A slip in copying would move them. The means themselves were worked out separately."""
    for method, mean in zip(STANDARD, means, strict=True):
        found = np.mean([row[method].accuracy.mean for row in published.values()])
        assert found == pytest.approx(mean, abs=0.006), method


def test_sizes_of_the_prototype_are_leaves() -> None:
    assert PROTOTYPE_2["d5"]["2C-ETCT"].leaves.mean == 11.5  # 22 nodes


def test_methods_have_names_of_their_own_and_can_be_made() -> None:
    names = [method.name for method in METHODS]
    assert len(set(names)) == len(names)
    assert tuple(names[:4]) == STANDARD
    assert not any("," in name or "=" in name for name in names)
    for method in METHODS:
        made = method.make(0)
        assert hasattr(made, "fit")
        if method.name.startswith("2C-ETCT"):
            made._validate_params()
    assert type(naive_bayes()).__name__ == "GaussianNB"
    scaler, machine = linear_svm()
    assert type(scaler).__name__ == "MinMaxScaler"
    assert (machine.kernel, machine.C) == ("linear", 1.0)


def test_each_repeat_has_rows_of_its_own_in_ten_stratified_folds() -> None:
    for table in (TABLE_1, TABLE_2, TABLE_CLUSTERS):
        for data_set in table.data_sets:
            rows = data_set.load()
            assert rows.draw is not None
            assert rows.division(5) == "10 stratified folds"
            assert rows.checksum == data_set.load().checksum
    (five,) = TABLE_2.choose_sets(["d5"])
    rows = pickle.loads(pickle.dumps(five.load()))  # as it goes to other processes
    one, two = (rows.drawn(np.random.default_rng(seed)) for seed in (1, 2))
    assert one.X.shape == two.X.shape == (500, 5)
    assert not np.array_equal(one.X, two.X)
    names = [data_set.name for data_set in TABLE_CLUSTERS.data_sets]
    assert len(set(names)) == 30
    assert "star4-d8" in names


def test_layouts_differ() -> None:
    chain, star = (
        data_set.load() for data_set in TABLE_CLUSTERS.choose_sets(["chain8-d11", "star8-d11"])
    )
    assert chain.X.var() > 1.5 * star.X.var()


def test_methods_see_the_same_rows() -> None:
    (five,) = TABLE_1.choose_sets(["d5"])
    bayes, svm = (
        run_cell("d5", five.load(), method, 0, 0)
        for method in TABLE_1.choose_methods(["Bayes", "SVM"])
    )
    assert (
        [sum(row) for row in bayes.confusion] == [sum(row) for row in svm.confusion] == [250, 250]
    )
    assert bayes.leaves == []


@pytest.mark.parametrize("table", [TABLE_1, TABLE_2])
def test_what_is_printed(table: PaperTable, tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl", table.name, 0)
    compared = run_table(
        table,
        store,
        data_sets=["d5"],
        methods=["2C-ETCT", "Bayes"],
        repeats=2,
        progress=lambda line: None,
    )
    text = compared.markdown()
    assert "nan" not in text + compared.csv()
    assert "not published" in text
    paper, other = table.published["d5"]["Bayes"], table.prototype["d5"]["Bayes"]
    assert f"| d5 | Bayes | 2 | {paper.accuracy.mean} | {other.accuracy.mean} |" in text


def test_gains_are_paired_differences_to_the_better_linear_method(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl", TABLE_CLUSTERS.name, 0)
    compared = run_table(
        TABLE_CLUSTERS, store, data_sets=["star8-d5"], repeats=3, progress=lambda line: None
    )
    assert isinstance(compared, Gains)
    accuracy = {
        row.method: [100 * np.trace(cell.matrix) / cell.matrix.sum() for cell in row.cells]
        for row in compared.rows
    }
    better = max(("Bayes", "SVM"), key=lambda name: np.mean(accuracy[name]))
    away = np.array(accuracy["2C-ETCT"]) - accuracy[better]
    gain = compared.gain("star8-d5")
    assert gain == pytest.approx((away.mean(), away.std(ddof=1)))
    assert compared.gain("star8-d8") is None
    text = compared.markdown()
    assert (
        f"| star, steps of 8 | {away.mean():+.1f} ± {away.std(ddof=1):.1f} | +1.5 |  | +1.5 |"
        in text
    )
    assert "chain, steps" not in text
    assert "| star8-d5 | SVM | 3 |" in text
    assert list(PROTOTYPE) == [
        (kind, far) for kind in ("chain", "star") for far in (3, 4, 5, 6, 8)
    ]
