"""Trees from files are the trees of the same rows in memory, and what is wrong is named."""

from __future__ import annotations

import multiprocessing
import os
import re
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from obliqua import (
    CartClassifier,
    CartLCClassifier,
    CartRegressor,
    EigenTreeClassifier,
    FisherTreeClassifier,
    HHCartClassifier,
    LMDTClassifier,
    ObliqueTreeClassifier,
    ObliqueTreeRegressor,
    OC1Classifier,
    SADTClassifier,
    load,
    save,
)
from obliqua.engine.grow_from import AtOnce
from obliqua.errors import MissingDependency
from obliqua.sources import open_table, write_predictions
from obliqua.sources import rows as source_rows
from obliqua.sources.pieces import ParquetPiece
from obliqua.sources.running import Stopped, Threads, check_stopped
from obliqua.sources.survey import _distinct

LIMIT = "17MB"
FEATURES = list("abcdef")


@pytest.fixture(autouse=True)
def no_table_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are read in passes too."""
    monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n_rows: False)
    monkeypatch.setattr(source_rows.MemoryPlan, "batch_rows", 700)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 6000
    X = rng.normal(size=(n, 6))
    X[:, 2] = np.round(X[:, 2])
    y = (X @ rng.normal(size=6) + rng.normal(size=n) > 0) + (X[:, 1] > 1).astype(int)
    found = pd.DataFrame(X, columns=FEATURES)
    found["label"] = np.array(["no", "yes", "perhaps"])[y]
    found["number"] = 2.0 * X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n)
    found["w"] = rng.integers(0, 4, n).astype(float)
    return found


@pytest.fixture(scope="module")
def folder(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five files of each kind, one of them without rows."""
    folder = tmp_path_factory.mktemp("files")
    for k, (first, last) in enumerate([(0, 10), (10, 10), (10, 3000), (3000, 5000), (5000, 6000)]):
        some = frame.iloc[first:last]
        some.to_parquet(folder / f"{k}.parquet", row_group_size=800, index=False)
        some.to_csv(folder / f"{k}.csv", index=False)
    return folder


def at_random(node: Any) -> Any:
    """Directions that depend on the order of rows, and on random numbers."""
    return node.X[node.rng.integers(0, node.n_samples, 3)] - node.X.mean(axis=0)


ESTIMATORS: dict[str, Any] = {
    "CART": CartClassifier(pruning=None, max_depth=4),
    "price": CartClassifier(ccp_alpha=0.002, class_weight="balanced"),
    "pessimistic": CartClassifier(pruning="pessimistic", max_depth=6, min_samples_leaf=0.01),
    "HHCART(A)": HHCartClassifier(pruning=None, max_depth=3),
    "HHCART(D)": HHCartClassifier(pruning=None, variant="dominant", max_leaf_nodes=6),
    "Fisher": HHCartClassifier(
        pruning=None, max_depth=3, extra_directions="fisher", max_features_per_split=2
    ),
    "default": CartClassifier(),
    "default oblique": HHCartClassifier(variant="dominant", n_se=1.0, costs=None),
    "costs": HHCartClassifier(
        variant="dominant", max_depth=4, costs=[[0, 1, 5], [1, 0, 1], [2, 1, 0]]
    ),
    "reduced": HHCartClassifier(variant="dominant", pruning="reduced_error", max_depth=5),
    "default numbers": CartRegressor(min_samples_leaf=20),
    "reduced numbers": CartRegressor(pruning="reduced_error", max_depth=6),
    "numbers": CartRegressor(pruning=None, max_depth=5),
    "leaves": CartRegressor(pruning=None, max_leaf_nodes=7, min_samples_leaf=None),
    "slopes": ObliqueTreeRegressor(pruning=None, max_depth=3),
    "held out slopes": ObliqueTreeRegressor(scale=None, max_leaf_nodes=9, min_samples_leaf=20),
    "OC1": OC1Classifier(pruning=None, max_depth=3, n_restarts=2, sample_rows=300),
    "SADT": SADTClassifier(max_depth=2, patience=100, sample_rows=300),
    "CART-LC": CartLCClassifier(pruning=None, max_leaf_nodes=5, sample_rows=300),
    "FDT": FisherTreeClassifier(subtree_raising=False, max_depth=3, sample_rows=300),
    "trimmed": HHCartClassifier(pruning=None, max_depth=2, covariance="trimmed", sample_rows=300),
    "proposer": ObliqueTreeClassifier(at_random, max_depth=3, sample_rows=300),
}


def in_memory(estimator: Any, frame: pd.DataFrame, weights: bool = True) -> Any:
    y = "number" if hasattr(estimator, "leaf_model") else "label"
    return clone(estimator).fit(frame[FEATURES], frame[y], frame["w"] if weights else None)


def from_files(estimator: Any, X: Any, weights: bool = True, **parameters: Any) -> Any:
    numbers = hasattr(estimator, "leaf_model")
    found = clone(estimator).set_params(memory_limit=LIMIT, **parameters)
    return found.fit(X, y="number" if numbers else "label", sample_weight="w" if weights else None)


def without(frame: Any, estimator: Any) -> Any:
    """Leave out what is learnt by others."""
    return frame.drop("label" if hasattr(estimator, "leaf_model") else "number")


def same(one: Any, other: Any) -> None:
    assert one.tree_ == other.tree_
    assert np.array_equal(one.tree_.spread, other.tree_.spread, equal_nan=True)
    assert one.model_.encoding == other.model_.encoding
    assert list(one.feature_names_in_) == list(other.feature_names_in_)
    if hasattr(one, "classes_"):
        assert one.classes_.tolist() == other.classes_.tolist()


@pytest.mark.parametrize("name", list(ESTIMATORS))
def test_parquet(name: str, frame: pd.DataFrame, folder: Path) -> None:
    estimator = ESTIMATORS[name]
    rows = without(pl.scan_parquet(folder / "*.parquet"), estimator)
    rows.collect().write_parquet(folder / f"{name}.pq", row_group_size=900)
    for weights in (True, False):
        X = folder / f"{name}.pq" if weights else rows.drop("w")
        same(from_files(estimator, X, weights, n_jobs=2), in_memory(estimator, frame, weights))


def test_nodes_that_cannot_be_remembered(
    frame: pd.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte tells 256 nodes apart; where there are more, rows go on from where they were."""
    monkeypatch.setattr(source_rows.MemoryPlan, "bytes_of_node", lambda self, n_rows: 1)
    monkeypatch.setattr(source_rows.MemoryPlan, "kept", 0)
    monkeypatch.setattr(source_rows.MemoryPlan, "at_once", AtOnce(bins=1 << 18, rows=400))
    estimator = CartClassifier(pruning=None, max_depth=10)
    from_rows = in_memory(estimator, frame, False)
    assert from_rows.tree_.n_leaves > 256
    rows = pl.scan_parquet(folder / "*.parquet").drop("number", "w")
    same(from_files(estimator, rows, False), from_rows)


@pytest.mark.parametrize("kind", ["glob", "folder", "list", "csv", "dataset", "filtered", "lazy"])
def test_each_way_to_give_a_table(kind: str, frame: pd.DataFrame, tmp_path: Path) -> None:
    estimator, frame = ESTIMATORS["CART"], frame.drop(columns="number")
    for k, (first, last) in enumerate([(0, 1), (1, 4000), (4000, 6000)]):
        frame.iloc[first:last].to_parquet(tmp_path / f"{k}.parquet", index=False)
        if kind == "csv":
            frame.iloc[first:last].to_csv(tmp_path / f"{k}.csv", index=False)
    files = sorted(tmp_path.glob("*.parquet"))
    given: dict[str, Any] = {
        "glob": str(tmp_path / "*.parquet"),
        "folder": tmp_path,
        "list": [files[2], str(files[0]), files[1]],
        "csv": str(tmp_path / "*.csv"),
        "dataset": ds.dataset(files),
        "filtered": ds.dataset(files).filter(ds.field("a") > -9.0),
        "lazy": pl.scan_parquet(files),
    }
    same(from_files(estimator, given[kind], n_jobs=2), in_memory(estimator, frame))


def test_memory_maps(frame: pd.DataFrame, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(source_rows, "LEAST_LIMIT", 1)
    X, y = frame[FEATURES].to_numpy(np.float32), frame["label"].to_numpy(str)
    mapped = np.memmap(tmp_path / "X", np.float32, "w+", shape=X.shape)
    mapped[:] = X
    estimator = HHCartClassifier(variant="dominant", max_depth=3, pruning=None)
    passes: list[int] = []
    monkeypatch.setattr(Threads, "__call__", _noted(passes, Threads.__call__))
    found = clone(estimator).set_params(memory_limit=X.nbytes).fit(mapped, y, frame["w"])
    assert passes
    assert found.tree_ == clone(estimator).fit(X, y, frame["w"]).tree_
    passes.clear()
    clone(estimator).fit(mapped, y)  # it fits, and is used as it is
    assert not passes
    # What needs rows has them: a map is an array.
    folds = clone(estimator).set_params(pruning="cv", n_folds=2, memory_limit=X.nbytes)
    assert folds.fit(mapped, y).tree_ == clone(folds).fit(X, y).tree_


class Stored:
    """An array in chunks, as zarr and h5py have them: what is sliced is read."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape, self.dtype, self.chunks = values.shape, values.dtype, (512, values.shape[1])
        self.most = 0

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, here: slice) -> Any:
        self.most = max(self.most, here.stop - here.start)
        return self.values[here].copy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self.values, dtype)


def test_stored_arrays(frame: pd.DataFrame, monkeypatch: Any) -> None:
    monkeypatch.setattr(source_rows, "LEAST_LIMIT", 1)
    X, y = frame[FEATURES].to_numpy(np.float32), frame["label"].to_numpy(str)
    stored = Stored(X)
    estimator = CartClassifier(max_depth=3, pruning=None)
    found = clone(estimator).set_params(memory_limit=X.nbytes).fit(stored, y, frame["w"])
    assert found.tree_ == clone(estimator).fit(X, y, frame["w"]).tree_
    assert 0 < stored.most <= 700
    assert (found.predict(stored) == found.predict(X)).all()
    needs_rows = clone(estimator).set_params(pruning="cv", memory_limit=X.nbytes)
    with pytest.raises(ValueError, match="needs all rows in one memory"):
        needs_rows.fit(stored, y)


def test_changes_in_a_map_that_copies_are_kept(
    frame: pd.DataFrame, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(source_rows, "LEAST_LIMIT", 1)
    X, y = frame[FEATURES].to_numpy(), frame["label"].to_numpy(str)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="c")
    mapped[:, 0] *= -1.0
    expected = np.array(mapped)
    model = CartClassifier(max_depth=2, pruning=None, memory_limit=X.nbytes).fit(mapped, y)
    assert (np.asarray(mapped) == expected).all()
    assert model.tree_ == CartClassifier(max_depth=2, pruning=None).fit(expected, y).tree_


def test_an_index_of_pandas_is_no_feature(frame: pd.DataFrame, tmp_path: Path) -> None:
    some = frame[frame["a"] > 0].sort_values("label")
    some.to_parquet(tmp_path / "a.parquet")
    frame[frame["a"] <= 0].reset_index(drop=True).to_parquet(tmp_path / "b.parquet")
    model = CartClassifier(max_depth=2, pruning=None, memory_limit=LIMIT)
    model.fit(str(tmp_path / "*.parquet"), y="label")
    assert list(model.feature_names_in_) == [*FEATURES, "number", "w"]
    assert len(model.predict(str(tmp_path / "a.parquet"))) == len(some)


def test_folders_in_folders_and_files_given_twice(frame: pd.DataFrame, tmp_path: Path) -> None:
    (tmp_path / "data" / "more").mkdir(parents=True)
    model = CartClassifier(max_depth=2, pruning=None, memory_limit=LIMIT)
    with pytest.raises(FileNotFoundError, match="has no files"):
        model.fit(tmp_path / "data", y="label")
    path = tmp_path / "data" / "a.parquet"
    frame.to_parquet(path)
    model.fit(tmp_path / "data", y="label")
    frame.to_parquet(tmp_path / "data" / "more" / "b.parquet")
    with pytest.raises(ValueError, match="folders with files"):
        model.fit(tmp_path / "data", y="label")
    other = os.path.join(tmp_path, "data", "more", "..", "a.parquet")
    with pytest.raises(ValueError, match="given twice"):
        model.fit([str(path), other], y="label")


def _noted(passes: list[int], call: Any) -> Any:
    def noting(self: Any, one_pass: Any, parts: Any) -> Any:
        passes.append(1)
        return call(self, one_pass, parts)

    return noting


def test_a_model_from_files_is_an_ordinary_one(
    frame: pd.DataFrame, folder: Path, tmp_path: Path
) -> None:
    found = from_files(ESTIMATORS["CART"], without(pl.scan_parquet(folder / "*.parquet"), None))
    save(found, tmp_path / "m.obliqua")
    again = load(tmp_path / "m.obliqua")
    assert again.memory_limit == LIMIT
    assert (again.predict(frame[FEATURES]) == found.predict(frame[FEATURES])).all()


def test_a_table_that_fits_is_fitted_in_memory(
    frame: pd.DataFrame, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then every method of one tree takes files, and so does every pruning."""
    monkeypatch.undo()
    rows = without(pl.scan_parquet(folder / "*.parquet"), None)
    estimator = OC1Classifier(max_depth=2, n_restarts=1, pruning="cv", n_folds=3)
    found = clone(estimator).fit(rows.head(500), y="label", sample_weight="w")
    some = frame.iloc[:500]
    assert found.tree_ == clone(estimator).fit(some[FEATURES], some["label"], some["w"]).tree_


def coded_frame(n: int = 1200) -> pd.DataFrame:
    """Text and gaps; the first rows lack some levels, or miss everything in a column."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["x", "y", "z"], n)})
    frame["c"] = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n) + (frame["b"] == "x"))
    frame["d"] = rng.integers(0, 4, n)
    seen = frame["a"] + (frame["b"] == "z") + frame["c"].fillna(1) + (frame["d"] == 2)
    frame["label"] = np.digitize(seen + 0.3 * rng.normal(size=n), [0.0, 1.0])
    frame["number"] = seen - seen.min()
    frame["w"] = rng.integers(0, 3, n) / 2
    frame["town"] = np.where(rng.random(n) < 0.7, "here", [f"t{k % 400}" for k in range(n)])
    frame.loc[:99, "c"] = np.nan
    frame.loc[100:199, "b"] = None
    frame.loc[200:299, "b"] = "y"
    return frame


CODED = {
    "CART": CartClassifier(max_depth=5, pruning="holdout"),
    "HHCART(D)": HHCartClassifier(variant="dominant", max_depth=4, pruning="reduced_error"),
    "HHCART(A)": HHCartClassifier(
        max_depth=3, extra_directions="fisher", scale="standard", pruning="holdout"
    ),
    "short": HHCartClassifier(
        max_depth=3, max_features_per_split=2, class_weight="balanced", pruning=None
    ),
    "numbers": CartRegressor(max_depth=5, pruning="holdout"),
    "rates": CartRegressor(max_depth=4, criterion="poisson", pruning=None),
}


@pytest.mark.parametrize(("name", "fits"), [("CART", True), *((name, False) for name in CODED)])
def test_levels_and_gaps(
    name: str, fits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, whole numbers that are levels, rare levels and gaps: the tree of one memory."""
    monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n_rows: fits)
    frame = coded_frame()
    for k, some in enumerate(np.split(np.arange(len(frame)), [100, 200, 200, 300, 900])):
        frame.iloc[some].to_parquet(tmp_path / f"{k}.parquet", index=False)
    learnt = "number" if isinstance(CODED[name], CartRegressor) else "label"
    features = ["a", "b", "c", "d", "town"]
    rows = pl.scan_parquet(tmp_path / "*.parquet").select([*features, learnt, "w"])
    for fill in ("side", "node", "training"):
        chosen = {"fill": fill, "categorical_features": ["b", "d", "town"]}
        estimator = clone(CODED[name]).set_params(**chosen, random_state=0)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = clone(estimator).fit(rows, learnt, "w")
        assert any("town" in str(one.message) for one in told)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(found, estimator.fit(frame[features], frame[learnt], frame["w"]))
        assert found.tree_.table_ptr[-1] > 0
        said = estimator.predict(frame[features])
        assert np.array_equal(found.predict(str(tmp_path / "*.parquet")), said)


def test_csv_columns_have_the_narrowest_type_that_reads_all(tmp_path: Path) -> None:
    """The first block says nothing: a number or a word may come last."""
    n = 200_000
    with open(tmp_path / "t.csv", "w") as file:
        file.write("a,b,c,label\n")
        file.writelines(f"{k % 7},{k % 3},{k % 5},{int(k % 7 > 3)}\n" for k in range(n))
        file.write("1.5,x,,0\n")
    found = CartClassifier(pruning=None, max_depth=2, memory_limit=LIMIT)
    surveyed = survey_of(found, tmp_path / "t.csv")
    kinds = [column.kind for column in surveyed.encoding.columns]
    assert kinds == ["numeric", "qualitative", "numeric"]
    assert surveyed.encoding.columns[1].levels == ("0", "1", "2", "x")
    assert surveyed.has_missing.tolist() == [False, False, True]


def test_csv_files_whose_types_have_only_text_in_common(tmp_path: Path) -> None:
    for name, cells in (("1", "10"), ("2", "True"), ("3", "1.5")):
        rows = "".join(f"{k % 2},{cells},{k % 2}\n" for k in range(50))
        (tmp_path / f"{name}.csv").write_text("flag,b,label\n" + rows)
    found = survey_of(CartClassifier(memory_limit=LIMIT), str(tmp_path / "*.csv")).encoding
    assert [column.kind for column in found.columns] == ["numeric", "qualitative"]
    assert found.columns[1].levels == ("1.5", "10", "True")


def survey_of(estimator: Any, path: Any) -> Any:
    from obliqua.estimators._in_passes import _learning
    from obliqua.sources.growing import survey_table
    from obliqua.sources.tables import open_table

    table = open_table(path, "label", None)
    plan = source_rows.MemoryPlan(1 << 24, 1, table.n_features)
    return survey_table(table, _learning(estimator), Threads(2), plan, estimator._shaped).recipe


def csv_with(cell: str, folder: Path, column: str = "c") -> str:
    """Write two files of numbers, with one cell that is something else."""
    for k in range(2):
        lines = [f"{row % 7},{row * k},{row % 5},{row % 2}" for row in range(300)]
        if k == 1:
            cells = lines[212].split(",")
            cells["abc".index(column)] = cell
            lines[212] = ",".join(cells)
        (folder / f"{k}.csv").write_text("\n".join(["a,b,c,label", *lines]))
    return str(folder / "*.csv")


ODD = r"The column 'c' is text, as it holds 'n\.a\.' in row 212 of .*1\.csv, counted from 0"


def test_a_cell_that_makes_text_of_numbers_is_told(tmp_path: Path) -> None:
    numbers = csv_with("3", tmp_path)
    plain = CartClassifier(pruning=None, max_depth=2, memory_limit=LIMIT).fit(numbers, "label")
    for cell in ("n.a.", "5_0", "1,5"):
        files = csv_with(f'"{cell}"', tmp_path)
        with pytest.warns(UserWarning, match=ODD.replace(r"n\.a\.", re.escape(cell))):
            CartClassifier(pruning=None, max_depth=2, memory_limit=LIMIT).fit(files, "label")
    files = csv_with("n.a.", tmp_path)
    with pytest.raises(ValueError, match=f"A regressor learns numbers. {ODD}"):
        CartRegressor(pruning=None, memory_limit=LIMIT).fit(files, "c")
    with pytest.raises(ValueError, match=f"sample_weight must hold numbers. {ODD}"):
        fit(files, sample_weight="c")
    with pytest.raises(ValueError, match=ODD):
        plain.predict(files)
    for cell in ("", "nan"):  # these are numbers
        fit(csv_with(cell, tmp_path))


@pytest.mark.parametrize(("n_texts", "told"), [(0, True), (20, True), (21, False), (900, False)])
def test_few_odd_cells_are_few_in_all_of_a_table(
    n_texts: int, told: bool, tmp_path: Path, monkeypatch: Any
) -> None:
    """A block without or with few of them does not tell what later ones hold."""
    monkeypatch.setattr("obliqua.sources.pieces.CSV_BLOCK", 1 << 10)
    cells = [str(row) for row in range(2100)]
    cells[700] = "n.a."
    for place in range(2099, 2099 - n_texts, -1):
        cells[place] = "none"
    (tmp_path / "1.csv").write_text("c,label\n" + "".join(f"{c},{c[-1]}\n" for c in cells))
    found = open_table(str(tmp_path / "1.csv"), "label").odd_cells
    if told:
        assert re.match(ODD.replace("212", "700"), found["c"])
    assert ("c" in found) == told


def test_text_of_digits_is_text_again(tmp_path: Path) -> None:
    """A file by itself need not show that a column is text."""
    rows = [(code, int(code in ("07", "x"))) for code in ("07", "11", "x", "12")] * 30
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    whole.write_text("code,label\n" + "".join(f"{code},{y}\n" for code, y in rows))
    part.write_text("code\n07\n11\n")
    tree = CartClassifier(pruning=None, memory_limit=LIMIT).fit(whole, "label")
    assert tree.predict(part).tolist() == [1, 0]


def test_predictions(frame: pd.DataFrame, folder: Path, tmp_path: Path) -> None:
    """Columns are found by name; what is written is there completely, or not at all."""
    tree = clone(ESTIMATORS["CART"]).fit(frame[FEATURES[::-1]], frame["label"])
    for X in (
        str(folder / "?.parquet"),
        str(folder / "?.csv"),
        pl.scan_parquet(folder / "?.parquet"),
    ):
        assert (tree.predict(X) == tree.predict(frame[FEATURES[::-1]])).all()
    proba = tree.predict_proba(frame[FEATURES[::-1]])
    assert np.array_equal(tree.predict_proba(str(folder / "?.parquet")), proba)
    path = tmp_path / "said.parquet"
    assert write_predictions(tree, str(folder / "?.parquet"), path) == len(frame)
    assert (
        pq.read_table(path)["prediction"].to_pylist()
        == tree.predict(frame[FEATURES[::-1]]).tolist()
    )
    write_predictions(tree, str(folder / "?.parquet"), path, "predict_proba", "share")
    said = pq.read_table(path)
    assert said.column_names == [f"share_{label}" for label in tree.classes_]
    assert np.array_equal(said["share_no"].to_numpy(), proba[:, 0])
    before = path.read_bytes()
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"bad\.csv has no column 'f'"):
        write_predictions(tree, tmp_path / "bad.csv", path)
    whole, first = frame[FEATURES], frame[FEATURES].iloc[:5].assign(f="x")
    whole.to_parquet(tmp_path / "1.parquet")
    first.to_parquet(tmp_path / "2.parquet")
    with pytest.raises(ValueError, match="'f' holds text"):
        write_predictions(tree, [tmp_path / "1.parquet", tmp_path / "2.parquet"], path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "1.parquet",
        "2.parquet",
        "bad.csv",
        "said.parquet",
    ]
    plain = CartClassifier(max_depth=1).fit(frame[FEATURES].to_numpy(), frame["label"])
    with pytest.raises(ValueError, match="fitted to a matrix without names"):
        plain.predict(str(folder / "?.parquet"))


def test_scores(frame: pd.DataFrame, folder: Path, tmp_path: Path) -> None:
    """Labels, numbers and weights are columns; the score is that of the rows in memory."""
    for estimator, y in ((ESTIMATORS["CART"], "label"), (ESTIMATORS["numbers"], "number")):
        model = clone(estimator).fit(frame[FEATURES], frame[y])
        known = model.score(frame[FEATURES], frame[y], frame["w"])
        for X in (str(folder / "?.parquet"), pl.scan_parquet(folder / "?.parquet")):
            assert model.score(X, y, "w") == known
        assert model.score(str(folder / "?.csv"), y) == model.score(frame[FEATURES], frame[y])
    with pytest.raises(TypeError, match="y is the name of the column that is learnt"):
        model.score(str(folder / "?.csv"), frame["number"])
    with pytest.raises(TypeError, match="sample_weight is the name of a column"):
        model.score(str(folder / "?.csv"), "number", frame["w"])
    frame.iloc[:0].to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="The table has no rows"):
        model.score(tmp_path / "t.parquet", "number")
    frame.assign(number=[*frame["number"][:-1], np.nan]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"t\.parquet .*: y has no value in row 5999 of"):
        model.score(tmp_path / "t.parquet", "number")


def test_digits_are_classes_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,label\n" + "".join(f"{k % 9},{k % 9 // 5:02}\n" for k in range(90)))
    tree = CartClassifier(max_depth=1, pruning=None)
    tree.fit(pd.DataFrame({"a": [0.0, 1, 8, 7]}), ["00", "00", "01", "01"])
    assert tree.score(path, "label") == tree.score(*_read(path))


def _read(path: Path) -> tuple[Any, Any]:
    rows = pd.read_csv(path, dtype={"label": str})
    return rows[["a"]], rows["label"].tolist()


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["x", "y", "z"])])
def test_categories_of_polars(kind: Any) -> None:
    """Their numbers are unsigned, and some are missing."""
    frame = coded_frame(400)[["a", "b", "label"]]
    rows = pl.from_pandas(frame).with_columns(pl.col("b").cast(kind)).lazy()
    found = CartClassifier(pruning=None, max_depth=3, memory_limit=LIMIT).fit(rows, "label")
    other = CartClassifier(pruning=None, max_depth=3).fit(frame[["a", "b"]], frame["label"])
    same(found, other)
    assert (found.predict(rows) == other.predict(frame[["a", "b"]])).all()


# --- what goes wrong -----------------------------------------------------------------------------


def small(**columns: Any) -> pa.Table:
    n = 3000
    rng = np.random.default_rng(1)
    found = {"a": rng.normal(size=n), "b": rng.normal(size=n), "label": rng.integers(0, 2, n)}
    return pa.table(found | columns)


def fit(X: Any, **more: Any) -> Any:
    found = CartClassifier(pruning=None, max_depth=4, memory_limit=LIMIT, n_jobs=2)
    return found.fit(X, **{"y": "label", **more})


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (small().drop(["b"]), r"2\.parquet has no column 'b', and .*1\.parquet has one"),
        (small(c=np.ones(3000)), r"2\.parquet has a column 'c', and .*1\.parquet has none"),
        (small(b=["x"] * 3000), r"'b' holds text in .*2\.parquet, and numbers in"),
        (small(b=[None] * 2999 + [np.inf]), r"2\.parquet .*'b' contains infinity"),
        (small(label=[None, *[1] * 2999]), r"2\.parquet .*: y has no value in row 0 of the"),
        (small(label=["x"] * 3000), "y mixes text and .*'label' has the type int64 in .*string"),
        (small(label=np.linspace(0, 1, 3000)), "Unknown label type: continuous"),
        (small(b=pa.array([0] * 3000, pa.date32())), r"'b' of .*2\.parquet has the type date32"),
        (small().rename_columns(["a", "b", "x"]), r"2\.parquet has no column 'label'"),
    ],
)
def test_pieces_that_do_not_go_together(second: pa.Table, said: str, tmp_path: Path) -> None:
    pq.write_table(small(), tmp_path / "1.parquet")
    pq.write_table(second, tmp_path / "2.parquet")
    with pytest.raises(ValueError, match=said):
        fit(str(tmp_path / "*.parquet"))


def test_weights_that_are_none(tmp_path: Path) -> None:
    for bad, said in ((-1.0, "must be finite and not negative; got -1.0"), (np.nan, "got nan")):
        pq.write_table(small(w=[bad] + [1.0] * 2999), tmp_path / "t.parquet")
        with pytest.raises(ValueError, match=rf"t\.parquet \(row group 0\): .*{said}"):
            fit(tmp_path / "t.parquet", sample_weight="w")
    pq.write_table(small(w=np.zeros(3000)), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="All weights are zero"):
        fit(tmp_path / "t.parquet", sample_weight="w")


def test_rows_are_counted_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.sources.tables.GROUP_BYTES", 1)
    label: list[Any] = [0, 1] * 1500
    label[2750] = None
    pq.write_table(small(label=label), tmp_path / "t.parquet", row_group_size=1000)
    for X in (tmp_path / "t.parquet", ds.dataset(tmp_path / "t.parquet")):
        with pytest.raises(ValueError, match=r"group 2\): y has no value in row 2750 of the file"):
            fit(X)
    weights = np.ones(3000)
    weights[1999] = -2.0
    pq.write_table(small(w=weights), tmp_path / "t.parquet", row_group_size=1000)
    with pytest.raises(ValueError, match=r"group 1\): .*got -2.0 in row 1999 of the file"):
        fit(tmp_path / "t.parquet", sample_weight="w")


def test_rows_are_counted_in_later_passes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows.MemoryPlan, "kept", 0)
    times = iter(range(1000))
    bad = pl.when(pl.int_range(pl.len()) == 2750).then(np.inf)

    def changed(some: pl.DataFrame) -> pl.DataFrame:
        return some.with_columns(m=bad.otherwise(pl.col("m"))) if next(times) > 2 else some

    rows = pl.DataFrame(small(m=np.zeros(3000))).lazy().map_batches(changed, streamable=False)
    with pytest.raises(ValueError, match=r"got \[?inf\]? in row 2750 of this part"):
        CartRegressor(pruning=None, memory_limit=LIMIT).fit(rows, "m")


def test_a_missing_package_is_told_as_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(self: Any, most_rows: int) -> Any:
        raise MissingDependency("Reading needs the package nix.", name="nix")

    pq.write_table(small(), tmp_path / "t.parquet")
    monkeypatch.setattr(ParquetPiece, "batches", lacking)
    with pytest.raises(MissingDependency, match=r"^Reading needs the package nix\.$"):
        fit(tmp_path / "t.parquet")


def test_infinite_numbers_are_found_in_the_file(tmp_path: Path) -> None:
    number = np.zeros(3000)
    number[2750] = np.inf
    pq.write_table(small(m=number), tmp_path / "t.parquet", row_group_size=1000)
    model = CartRegressor(pruning=None, memory_limit=LIMIT)
    with pytest.raises(ValueError, match="y must be finite; got inf in row 2750 of the file"):
        model.fit(tmp_path / "t.parquet", "m")


def test_text_is_found_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obliqua.sources.tables.GROUP_BYTES", 1)
    label = pa.array([None] * 1000 + ["x"] * 2000)
    pq.write_table(small(label=label), tmp_path / "t.parquet", row_group_size=1000)
    parts = open_table(tmp_path / "t.parquet", "label").pieces[1:]
    table = replace(open_table(tmp_path / "t.parquet", "label"), pieces=parts)
    with pytest.raises(ValueError, match="y holds 'x' in row 1000 of the file, counted from 0"):
        CartRegressor(pruning=None).fit(table, None)
    with pytest.raises(ValueError, match=r"one label per row of X; got shape \(700, 2\)"):
        CartClassifier(pruning=None).fit(tmp_path / "t.parquet", ["a", "b"])


def test_labels_that_mix_types_in_partitions() -> None:
    with pytest.raises(ValueError, match=r"y mixes text and numbers .*, such as 'x' and 1"):
        _distinct([np.array([1, 1]), np.array(["x"], object)])


def test_a_folder_that_cannot_be_written(
    frame: pd.DataFrame, folder: Path, tmp_path: Path
) -> None:
    tree = clone(ESTIMATORS["CART"]).fit(frame[FEATURES], frame["label"])
    with pytest.raises(OSError, match=r"none.*cannot be written"):
        write_predictions(tree, str(folder / "?.parquet"), tmp_path / "none" / "said.parquet")
    assert not any(tmp_path.iterdir())


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(small(), path)
    whole = path.read_bytes()
    pq.write_table(small(), tmp_path / "whole.parquet")
    for damaged in (whole[:-200], whole[:3]):
        path.write_bytes(damaged)
        for X in (path, [tmp_path / "whole.parquet", path]):
            with pytest.raises(ValueError, match=r"t\.parquet is named, or begins, like a Parq"):
                fit(X)
    path.write_bytes(whole[:-200])
    path.rename(tmp_path / "no name")
    with pytest.raises(ValueError, match=r"no name is named, or begins, like a Parquet file"):
        fit(tmp_path / "no name")
    path.write_bytes(whole[:4] + b"\xff" * 100 + whole[104:])  # the header of a page
    with pytest.raises(ValueError, match=r"t\.parquet \(row group 0\): "):
        fit(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none\*\.parquet'"):
        fit(str(tmp_path / "none*.parquet"))
    pq.write_table(small(), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="is given twice"):
        fit([tmp_path / "t.parquet", tmp_path / "t.parquet"])
    (tmp_path / "t.csv").write_text("a,label\n1,0\n")
    with pytest.raises(ValueError, match="Give files of one kind"):
        fit(tmp_path)
    pq.write_table(small().slice(0, 0), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=r"There are no rows in .*empty\.parquet\. A"):
        fit(tmp_path / "empty.parquet")
    for name in ("nothing.parquet", "nothing.csv"):
        (tmp_path / name).touch()
        with pytest.raises(ValueError, match=rf"{name} is empty: it has no bytes"):
            fit([tmp_path / "t.parquet", tmp_path / name])


@pytest.mark.parametrize("given", ["path", "dataset"])
@pytest.mark.parametrize("what", ["change", "remove"])
def test_a_file_that_changes_or_goes(
    what: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_rows.MemoryPlan, "kept", 0)
    path = tmp_path / "t.parquet"
    pq.write_table(small(), path)
    read, times = ParquetPiece.batches, []

    def changing(self: Any, most_rows: int) -> Any:
        times.append(1)
        if len(times) == 4:
            pq.write_table(small().slice(1), path) if what == "change" else os.remove(path)
        return read(self, most_rows)

    monkeypatch.setattr(ParquetPiece, "batches", changing)
    error, said = {
        "change": (ValueError, r"t\.parquet has changed while it was being read"),
        "remove": (FileNotFoundError, r"t\.parquet was there when the fit began, and is gone"),
    }[what]
    estimator = CartClassifier(pruning=None, memory_limit=LIMIT)
    with pytest.raises(error, match=said):
        estimator.fit(path if given == "path" else ds.dataset(path), y="label")
    assert not hasattr(estimator, "tree_")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (lambda frame, times: frame.head(3000 - times), r"has 29.. rows in this pass and had"),
        (lambda frame, times: frame.with_columns(a=pl.col("a") + times), "has other values"),
        (
            lambda frame, times: frame.with_columns(label=(pl.col("label") - times % 2).abs()),
            "other val",
        ),
        (lambda frame, times: frame.drop(["a"][:times]), ": .* output schema"),
        (lambda frame, times: frame.sample(fraction=1.0, shuffle=True, seed=times), None),
    ],
)
def test_rows_that_change(changed: Any, said: str | None, monkeypatch: Any) -> None:
    """A lazy frame may be another one each time; in another order it is the same."""
    monkeypatch.setattr(source_rows.MemoryPlan, "kept", 0)
    times = iter(range(1000))
    frame = pl.DataFrame(small())
    rows = frame.lazy().map_batches(lambda some: changed(some, next(times) // 2), streamable=False)
    if said is None:
        estimator = CartClassifier(pruning=None, max_depth=4)
        whole = estimator.fit(frame.drop("label").to_numpy(), frame["label"].to_numpy())
        assert fit(rows).tree_ == whole.tree_
        return
    with pytest.raises(ValueError, match=f"the lazy frame.*{said}"):
        fit(rows)


def test_one_class(tmp_path: Path) -> None:
    pq.write_table(small(label=np.zeros(3000, int)), tmp_path / "t.parquet")
    assert fit(tmp_path / "t.parquet").get_n_leaves() == 1


def test_what_needs_rows_is_refused(tmp_path: Path) -> None:
    pq.write_table(small(), tmp_path / "t.parquet")
    path = tmp_path / "t.parquet"
    for estimator, said in [
        (LMDTClassifier(), "LMDTClassifier needs all rows in one memory, .* Give fewer rows, a"),
        (OC1Classifier(), "the method Climb must see the rows .* give sample_rows.* CART, HHCART"),
        (OC1Classifier(sample_rows=10**6), "sample_rows=1000000 rows .* holds [0-9]+ of them"),
        (CartClassifier(pruning="cv"), r"CrossValidation\(.*\) needs all rows in one memory"),
        (CartClassifier(max_features=1, pruning=None), "a node that draws its features must see"),
        (HHCartClassifier(refine=True), "refine=True needs all rows"),
        (HHCartClassifier(covariance="trimmed", pruning=None), "trim=0.1 must see"),
        (CartRegressor(leaf_model="linear"), "a leaf that says more than a constant"),
        (
            CartRegressor(pruning="holdout", n_se=1.0),
            "n_se=1 of numbers, or with costs, needs all rows",
        ),
        (CartRegressor(quantiles=[0.5]), "the parameter quantiles needs all rows"),
        (CartRegressor(criterion="absolute_error", pruning=None), "which compares medians, must"),
    ]:
        with pytest.raises(ValueError, match=said):
            estimator.fit(path, y="label")


def test_y_and_weights_are_names(tmp_path: Path) -> None:
    pq.write_table(small(), tmp_path / "t.parquet")
    with pytest.raises(TypeError, match="y is the name of the column that is learnt"):
        fit(tmp_path / "t.parquet", y=np.zeros(3000))
    with pytest.raises(TypeError, match="sample_weight is the name of a column"):
        fit(tmp_path / "t.parquet", sample_weight=np.zeros(3000))
    for limit in ("2 bananas", "1KB", 5):
        with pytest.raises(ValueError, match="memory_limit is a number of bytes"):
            CartClassifier(memory_limit=limit).fit(tmp_path / "t.parquet", y="label")


def test_arrays_have_no_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows, "LEAST_LIMIT", 1)
    mapped = np.memmap(tmp_path / "X", np.float64, "w+", shape=(3000, 2))
    model = CartClassifier(memory_limit=1000)
    with pytest.raises(TypeError, match=r"y is an array with a value for each .*got 'label'"):
        model.fit(mapped, "label")
    with pytest.raises(TypeError, match=r"sample_weight is an array with a value .*got 'w'"):
        model.fit(mapped, np.zeros(3000, int), "w")


def test_what_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No files are given"):
        CartClassifier().fit([], "label")
    with pytest.raises(ValueError, match="No files are given"):
        open_table([], "label")
    (tmp_path / "t.csv").write_text("a,a,label\n1,2,0\n")
    with pytest.raises(ValueError, match=r"t\.csv .*several columns 'a'"):
        fit(tmp_path / "t.csv")


def test_a_limit_that_no_machine_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pq.write_table(small(), tmp_path / "t.parquet")
    model = CartClassifier(max_depth=1, pruning=None, memory_limit=10**30)
    assert model.fit(tmp_path / "t.parquet", "label").get_n_leaves() == 2


def test_predictions_that_cannot_be_written(
    frame: pd.DataFrame, folder: Path, tmp_path: Path
) -> None:
    files, out = str(folder / "?.parquet"), tmp_path / "said.parquet"
    for call in (CartClassifier().predict, lambda X: write_predictions(CartClassifier(), X, out)):
        with pytest.raises(NotFittedError, match="not fitted"):
            call(files)
    tree = CartClassifier(max_depth=1).fit(frame[FEATURES], frame["label"])
    with pytest.raises(TypeError, match=r"X tells where a table is.*got DataFrame"):
        write_predictions(tree, frame, out)
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_predictions(tree, files, tmp_path)
    with pytest.raises(ValueError, match="CartClassifier has no method 'nix'"):
        write_predictions(tree, files, out, method="nix")
    with pytest.raises(TypeError, match="column is the name of a column, a text; got 3"):
        write_predictions(tree, files, out, column=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="A Parquet file is written"):
        write_predictions(tree, files, tmp_path / "said.csv")
    assert not any(tmp_path.iterdir())
    with pytest.raises(OSError, match=r"'/dev/full': there is no room for it"):
        write_predictions(tree, files, "/dev/full")


def test_predictions_never_replace_what_is_read(frame: pd.DataFrame, tmp_path: Path) -> None:
    tree = CartClassifier(max_depth=1).fit(frame[["a", "b"]], frame["label"])
    path, out = tmp_path / "t.parquet", tmp_path / "said.parquet"
    frame.to_parquet(path)
    before = path.read_bytes()
    os.symlink(path, tmp_path / "link.parquet")
    whole = ds.dataset(path)
    for X in (path, pl.scan_parquet(path), whole, whole.filter(ds.field("a") > 0)):
        for other in (path, tmp_path / "link.parquet"):
            with pytest.raises(ValueError, match="is one of the files that are read, or may be"):
                write_predictions(tree, X, other)
        out.unlink(missing_ok=True)
        assert write_predictions(tree, X, out) > 0
    for X in (path, whole):
        assert write_predictions(tree, X, out) == len(frame)  # once more
    assert path.read_bytes() == before


def test_predictions_for_what_cannot_be_read(frame: pd.DataFrame, tmp_path: Path) -> None:
    tree = CartClassifier(max_depth=1).fit(frame[["a", "b"]], frame["label"])
    path, out = tmp_path / "t.parquet", tmp_path / "said.parquet"
    values = np.zeros(70_000)
    pq.write_table(pa.table({"a": values, "b": values}), path, use_dictionary=False)
    with pytest.raises(ValueError, match="is one of the files that are read"):
        write_predictions(tree, str(tmp_path / "*.parquet"), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 100 + whole[104:])  # the header of a page
    with pytest.raises(ValueError, match=r"t\.parquet \(row group 0\): "):
        write_predictions(tree, path, out)
    values[-1] = np.inf
    pq.write_table(pa.table({"a": values, "b": values}), path)
    with pytest.raises(ValueError, match=r"t\.parquet \(row group 0\): .* infinity"):
        write_predictions(tree, path, out)
    assert sorted(tmp_path.iterdir()) == [path]


def test_who_takes_no_files_says_so(folder: Path) -> None:
    said = "EigenTreeClassifier takes rows in memory; .* or a sample of it"
    with pytest.raises(TypeError, match=said):
        EigenTreeClassifier().fit(folder, "label")


def test_passes_by_somebody_else(frame: pd.DataFrame, tmp_path: Path) -> None:
    """A pool of processes needs no more than to map: all that travels can be pickled."""
    frame.drop(columns="number").to_parquet(tmp_path / "t.parquet", row_group_size=2500)
    table = open_table(tmp_path / "t.parquet", "label", "w")
    estimator = CartClassifier(pruning="holdout", max_depth=3)
    with ProcessPoolExecutor(2, multiprocessing.get_context("forkserver")) as pool:
        found = clone(estimator).fit(replace(table, run=pool.map), None)
    same(found, in_memory(estimator, frame))
    with pytest.raises(TypeError, match="knows what is learnt"):
        clone(estimator).fit(table, "label")


# --- threads -------------------------------------------------------------------------------------


class Waits:
    """A pass in which one part fails, or is interrupted, and others wait for it."""

    def __init__(self, error: type[BaseException]) -> None:
        self.error = error
        self.stopped = threading.Event()
        self.running = threading.Event()

    def __call__(self, part: int) -> int:
        if part == 0:
            assert self.running.wait(60)
            raise self.error("the first part")
        self.running.set()
        try:
            while True:
                check_stopped()
        except Stopped:
            self.stopped.set()
            raise

    def joined(self, answers: Any) -> int:
        return sum(answers)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_one_failure_stops_all_threads(error: type[BaseException]) -> None:
    waits = Waits(error)
    before = threading.active_count()
    with pytest.raises(error, match="the first part"):
        list(Threads(2)(waits, [0, 1, 2, 3]))
    assert waits.stopped.is_set()
    assert threading.active_count() == before
