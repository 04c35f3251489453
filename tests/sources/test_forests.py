"""Forests from tables elsewhere are the forests of the same rows in memory."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score

from obliqua import ObliqueForestClassifier, ObliqueForestRegressor, load, save
from obliqua.sources import Threads, division, predict_in_parts
from obliqua.sources import forests as sources
from obliqua.sources import rows as source_rows
from problems import examples
from sources.tables_in_pieces import in_any_order, pieces_of

FEATURES = ["a", "b", "c", "d", "level"]
# Of samples that are small beside the rows, and of so few trees that some have all rows.
pytestmark = pytest.mark.filterwarnings("ignore:Each tree gets", "ignore:Of ", "ignore:R.2 score")


@pytest.fixture
def no_table_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tables are read in passes too."""
    monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n_rows: False)
    monkeypatch.setattr(source_rows.MemoryPlan, "batch_rows", 90)


def made(n: int, seed: int = 0) -> pd.DataFrame:
    """Rows with levels, missing values, few and many values, and weights of two kinds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = np.round(X[:, 1])
    X[:, 3] = 1e6 + 1e-3 * X[:, 3]
    frame = pd.DataFrame(X, columns=FEATURES[:4])
    frame["level"] = rng.choice(list("uvw"), n)
    score = X[:, 0] + X[:, 1] + (frame["level"] == "u") + 0.5 * rng.normal(size=n)
    frame["label"] = np.array(["no", "perhaps", "yes"])[np.digitize(score, [-0.7, 0.7])]
    frame["number"] = score
    frame["w"] = rng.integers(0, 4, n).astype(float)
    frame["v"] = rng.random(n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "level"] = None
    return frame


def with_equal_rows(n: int = 700) -> pd.DataFrame:
    """Rows of which some are there several times, far from each other."""
    frame = made(n)
    some = frame.iloc[: n // 5].assign(w=2.0)
    return pd.concat([frame, some, frame.iloc[n // 10 : n // 4], some.iloc[:9], some.iloc[:9]])


FOREST: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
FORESTS: dict[str, tuple[Any, str | None]] = {
    "classes": (ObliqueForestClassifier(oob_score=True, **FOREST), None),
    "counts": (ObliqueForestClassifier(oob_score=True, max_samples=120, **FOREST), "w"),
    "odds": (
        ObliqueForestClassifier(
            oob_score=balanced_accuracy_score, class_weight="balanced", **FOREST
        ),
        "v",
    ),
    "balanced": (
        ObliqueForestClassifier(class_weight="balanced_subsample", max_depth=4, **FOREST),
        "w",
    ),
    "all rows": (ObliqueForestClassifier(bootstrap=False, criterion="entropy", **FOREST), "v"),
    "a share": (
        ObliqueForestClassifier(
            bootstrap=False, max_samples=0.3, oob_score=True, class_weight={"no": 0.0}, **FOREST
        ),
        "w",
    ),
    "one row": (ObliqueForestClassifier(oob_score=True, max_samples=1, **FOREST), "w"),
    "numbers": (ObliqueForestRegressor(oob_score=True, **FOREST), None),
    "few numbers": (
        ObliqueForestRegressor(oob_score=True, max_samples=100, min_samples_leaf=3, **FOREST),
        "w",
    ),
    "pruned": (
        ObliqueForestRegressor(
            bootstrap=False, max_samples=0.5, ccp_alpha=0.01, n_oblique=1, **FOREST
        ),
        "v",
    ),
}


def in_memory(forest: Any, frame: pd.DataFrame, weight: str | None = None) -> Any:
    y = frame["number" if hasattr(forest, "leaf_model") else "label"]
    return clone(forest).fit(frame[FEATURES], y, None if weight is None else frame[weight])


def columns_of(forest: Any, frame: pd.DataFrame, weight: str | None) -> tuple[Any, dict[str, Any]]:
    """Return the columns that a forest looks at, and what they are."""
    learnt = "number" if hasattr(forest, "leaf_model") else "label"
    kept = [*FEATURES, learnt, *([] if weight is None else [weight])]
    return frame[kept], {"learnt": learnt, "weight": weight}


def in_pieces(
    forest: Any,
    frame: pd.DataFrame,
    weight: str | None = None,
    n_pieces: int = 4,
    run: Any = in_any_order,
    limit: Any = "40MB",
) -> Any:
    some, names = columns_of(forest, frame, weight)
    table = replace(pieces_of(some, n_pieces, n_pieces, **names), run=run)
    return clone(forest).set_params(memory_limit=limit).fit(table, None)


def same(one: Any, other: Any) -> None:
    """Assert that two forests are the same, bit for bit, with all that is noted of them."""
    assert len(one) == len(other)
    for a, b in zip(one.model_.trees._as_tuple, other.model_.trees._as_tuple, strict=True):
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes()
        else:
            assert a == b
    assert one.model_.encoding == other.model_.encoding
    for name in one._notes:
        a, b = vars(one).get(name), vars(other).get(name)
        assert (a is None) == (b is None), name
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b, equal_nan=True), name
        else:
            assert a == b or a != a, name
    assert np.array_equal(one.feature_importances_, other.feature_importances_)
    assert list(one.feature_names_in_) == list(other.feature_names_in_)


@pytest.mark.usefixtures("no_table_fits")
@pytest.mark.parametrize("name", list(FORESTS))
def test_rows_are_fetched(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal rows in other pieces, pieces without rows, some trees at a time."""
    forest, weight = FORESTS[name]
    frame = with_equal_rows()
    whole = in_memory(forest, frame, weight)
    same(in_pieces(forest, frame, weight), whole)
    monkeypatch.setattr(sources.ForestElsewhere, "_trees_at_once", lambda self, sampling: 2)
    # Keys that are in one batch are left out first.
    monkeypatch.setattr(division, "BYTES_OF_KEY", 1 << 14)
    same(in_pieces(forest, frame, weight, 9, Threads(2)), whole)


class Keys(NamedTuple):
    """A part whose batches are keys themselves."""

    batches: list[Any]
    part: Any

    def problems(self) -> Any:
        return iter(self.batches)


@pytest.mark.parametrize(
    ("n", "n_equal", "limit", "n_passes"),
    [(2000, 20, 1 << 20, 1), (20_000, 10, 1 << 16, 3), (20_000, 0, 1 << 14, 10)],
)
def test_keys_of_several_batches(n: int, n_equal: int, limit: int, n_passes: int) -> None:
    """Found in fewer passes than all keys would take."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 2**64, n, dtype=np.uint64)
    keys[:n_equal] = keys[n - n_equal :]
    parts = [
        Keys(np.array_split(some, 3), SimpleNamespace(number=k))
        for k, some in enumerate(np.array_split(rng.permutation(keys), 7))
    ]
    batches = [set(batch.tolist()) for part in parts for batch in part.batches]
    several = Counter(key for batch in batches for key in batch)
    of_keys: Any = SimpleNamespace(of=lambda batch: batch)
    run = Threads(2)
    found = division.shared_keys(parts, run, of_keys, n, limit, "")
    assert found.tolist() == sorted(key for key, count in several.items() if count > 1)
    assert run.n_passes == n_passes
    with pytest.raises(ValueError, match="Too many rows have equals"):
        division.shared_keys([parts[0], *parts], run, of_keys, n, 1 << 12, "")


@pytest.mark.usefixtures("no_table_fits")
@examples(30)
@given(
    seed=st.integers(0, 9999),
    n=st.integers(2, 60),
    n_values=st.sampled_from([1, 2, 4, 100]),
    n_pieces=st.sampled_from([1, 2, 5, 9]),
    numbers=st.booleans(),
    bootstrap=st.booleans(),
    size=st.sampled_from([None, 0.3, 2]),
    weight=st.sampled_from([None, "w", "v"]),
)
def test_any_rows(
    seed: int,
    n: int,
    n_values: int,
    n_pieces: int,
    numbers: bool,
    bootstrap: bool,
    size: Any,
    weight: str | None,
) -> None:
    """Ties, equal rows with other weights, constant columns, one class."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, n_values, (n, 3)) / 4, columns=["a", "b", "c"])
    frame["y"] = rng.integers(0, min(n_values, 3), n)
    frame["w"], frame["v"] = rng.integers(1, 70, n) // rng.integers(1, 60), rng.random(n) + 0.1
    frame["w"] = np.maximum(frame["w"], 1).astype(float)
    kind: Any = ObliqueForestRegressor if numbers else ObliqueForestClassifier
    forest = kind(3, bootstrap=bootstrap, max_samples=size, random_state=seed)
    if bootstrap or size == 0.3:
        forest.set_params(oob_score=True)
    weights = None if weight is None else frame[weight]
    whole = clone(forest).fit(frame[["a", "b", "c"]], frame["y"], weights)
    kept = frame[["a", "b", "c", "y", *([] if weight is None else [weight])]]
    table = pieces_of(kept, n_pieces, seed, learnt="y", weight=weight)
    same(clone(forest).fit(replace(table, run=in_any_order), None), whole)


def test_tables_that_fit_are_put_into_memory(tmp_path: Path) -> None:
    """Of every kind, and nothing is said to be too large."""
    frame = with_equal_rows()
    forest, weight = FORESTS["counts"]
    whole = in_memory(forest, frame, weight)
    some, names = columns_of(forest, frame, weight)
    some.iloc[:400].to_parquet(tmp_path / "0.parquet", row_group_size=100, index=False)
    some.iloc[400:].to_parquet(tmp_path / "1.parquet", index=False)
    some.to_csv(tmp_path / "all.csv", index=False)
    pattern, learnt = str(tmp_path / "*.parquet"), names["learnt"]
    given = [
        pattern,
        [tmp_path / "0.parquet", tmp_path / "1.parquet"],
        tmp_path / "all.csv",
        pl.scan_parquet(pattern),
        ds.dataset(sorted(tmp_path.glob("*.parquet"))),
    ]
    for X in given:
        same(clone(forest).set_params(n_jobs=2).fit(X, learnt, weight), whole)
    # What needs rows is to be had there.
    numbers = ObliqueForestRegressor(keep_rows=True, **FOREST)
    some, _ = columns_of(numbers, frame, None)
    some.to_parquet(tmp_path / "numbers", index=False)
    found = clone(numbers).fit(tmp_path / "numbers", "number")
    few = frame[FEATURES].iloc[:5]
    assert np.array_equal(
        found.predict_quantiles(few), in_memory(numbers, frame).predict_quantiles(few)
    )


@pytest.mark.usefixtures("no_table_fits")
def test_files_and_maps(tmp_path: Path) -> None:
    frame = made(600)
    forest = FORESTS["classes"][0]
    some, names = columns_of(forest, frame, None)
    some.to_parquet(tmp_path / "t.parquet", row_group_size=100, index=False)
    whole = in_memory(forest, frame)
    found = clone(forest).set_params(memory_limit="20MB").fit(tmp_path, names["learnt"])
    same(found, whole)
    # Predictions, a table in files and in memory, and a file of the model.
    save(found, tmp_path / "forest.obliqua")
    for one in (found, load(tmp_path / "forest.obliqua")):
        for method in ("predict", "predict_proba", "apply"):
            said = getattr(whole, method)(frame[FEATURES])
            assert np.array_equal(getattr(one, method)(tmp_path / "t.parquet"), said)
            parts = predict_in_parts(one, tmp_path / "t.parquet", method)
            assert np.array_equal(np.concatenate(list(parts)), said)
    X: NDArray[Any] = np.memmap(tmp_path / "X", np.float64, "w+", shape=(60_000, 60))
    X[:300] = np.random.default_rng(0).normal(size=(300, 60))
    y = np.arange(60_000) % 3
    few = ObliqueForestClassifier(3, max_samples=300, random_state=0, memory_limit="20MB")
    assert clone(few).fit(X, y).model_ == clone(few).fit(np.array(X), y).model_


@pytest.mark.usefixtures("no_table_fits")
def test_trees_are_added() -> None:
    frame = made(300)
    grown = ObliqueForestClassifier(3, max_samples=50, random_state=0, warm_start=True)
    some, names = columns_of(grown, frame, None)

    def table(rows: pd.DataFrame, n_pieces: int) -> Any:
        return replace(pieces_of(rows, n_pieces, 1, **names), run=Threads(1))

    grown.fit(some[FEATURES], some["label"]).set_params(n_estimators=4)
    grown.fit(table(some, 2), None).set_params(n_estimators=5)
    grown.fit(table(some.iloc[::-1], 5), None)
    whole = ObliqueForestClassifier(5, max_samples=50, random_state=0)
    assert grown.model_ == in_memory(whole, frame).model_
    grown.oob_importances(some[FEATURES], some["label"])
    grown.set_params(n_estimators=6)
    with pytest.raises(ValueError, match="rows, labels and weights must be those"):
        grown.fit(table(some.iloc[:-1], 2), None)
    late = ObliqueForestClassifier(5, max_samples=50, random_state=0, time_limit=0.0)
    found = late.fit(table(some, 2), None)
    assert found.timed_out_
    assert found.model_.trees[0] == whole.fit(some[FEATURES], some["label"]).model_.trees[0]


@pytest.mark.usefixtures("no_table_fits")
def test_what_does_not_fit_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers that messages give are enough."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30_000, 4)), columns=list("abcd"))
    frame["y"] = (frame["a"] > 0).astype(int)
    monkeypatch.setattr(source_rows.MemoryPlan, "batch_rows", 10_000)
    table = replace(pieces_of(frame, 3, 0, learnt="y"), run=Threads(1))
    forest = ObliqueForestClassifier(2, max_depth=1, random_state=0, memory_limit="16MiB")
    monkeypatch.setattr(sources, "BYTES_OF_ROW", 600)
    with pytest.raises(ValueError, match="Each tree of the forest draws") as error:
        forest.fit(table, None)
    fewer, more = re.findall(r"max_samples=(\d+).*memory_limit='(\w+)'", str(error.value))[0]
    clone(forest).set_params(max_samples=int(fewer)).fit(table, None)
    found = clone(forest).set_params(memory_limit=more).fit(table, None)
    assert found.model_ == clone(forest).fit(frame[list("abcd")], frame["y"]).model_


@pytest.mark.usefixtures("no_table_fits")
def test_scores_out_of_bag_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares of classes are not kept then; what needs them is refused."""
    frame = with_equal_rows(200)
    monkeypatch.setattr(sources.ForestElsewhere, "keeps_out_of_bag", lambda self, width: False)
    forest, weight = FORESTS["counts"]
    found = in_pieces(forest, frame, weight)
    assert found.oob_score_ == in_memory(forest, frame, weight).oob_score_
    assert not hasattr(found, "oob_decision_function_")
    for name in ("odds", "numbers"):
        with pytest.raises(ValueError, match="takes all predictions together"):
            in_pieces(FORESTS[name][0], frame, FORESTS[name][1])


@pytest.mark.usefixtures("no_table_fits")
def test_what_is_refused() -> None:
    frame = made(200)
    with pytest.raises(ValueError, match="keep_rows=True keeps the rows of all leaves"):
        in_pieces(ObliqueForestRegressor(3, keep_rows=True), frame)
    some = frame[[*FEATURES, "number", "v"]]
    table = pieces_of(some, 2, 0, learnt=["number", "v"])
    with pytest.raises(ValueError, match="fit a forest for each output"):
        ObliqueForestRegressor(3).fit(table, None)


def test_trees_grow_as_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Dask was told who works; without that, threads grow them."""
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    from obliqua.sources import tree_tasks

    tasks: list[tuple[int, int]] = []
    grow = tree_tasks._some_trees

    def noted(sampling: Any, rules: Any, first: int, end: int, directions: Any) -> Any:
        tasks.append((first, end))
        return grow(sampling, rules, first, end, directions)

    monkeypatch.setattr(tree_tasks, "_some_trees", noted)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    chunked = da.from_array(X, chunks=((100, 0, 150, 250), (3, 1)))
    forest = ObliqueForestClassifier(20, oob_score=True, random_state=0)
    whole = clone(forest).fit(X, y)
    found = clone(forest).fit(chunked, y)
    assert found.model_ == whole.model_
    assert not tasks
    for fits in (True, False):
        monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n, fits=fits: fits)
        with dask.config.set(scheduler="sync"):
            found = clone(forest).fit(chunked, y)
        assert found.model_ == whole.model_
        assert np.array_equal(found.oob_decision_function_, whole.oob_decision_function_)
        assert sorted(k for one in tasks for k in range(*one)) == list(range(20))
        assert len(tasks) > 2
        tasks.clear()
    said = found.predict_proba(chunked)
    assert np.array_equal(said.compute(), whole.predict_proba(X))
    # A worker without room for the rows gets none of them.
    monkeypatch.setattr(tree_tasks, "_workers", lambda: (2, 1000))
    with dask.config.set(scheduler="sync"):
        assert clone(forest).fit(chunked, y).model_ == whole.model_
    assert not tasks
