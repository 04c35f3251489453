"""Trees grown on a cluster of Dask: the same bits, whatever becomes of its workers."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from interrupts import ctrl_c_means
from obliqua import (
    CartClassifier,
    CartRegressor,
    HHCartClassifier,
    ObliqueForestClassifier,
    ObliqueTreeRegressor,
    OC1Classifier,
)
from obliqua.engine.grow_from import AtOnce
from obliqua.sources import dask as dask_source
from obliqua.sources import rows as source_rows
from obliqua.sources import tree_tasks
from obliqua.sources.dask import DaskTasks

dask = pytest.importorskip("dask")
# A worker that is started again finds all imports done.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
cloudpickle.register_pickle_by_value(sys.modules[__name__])

pytestmark = pytest.mark.xdist_group("distributed")
FEATURES = list("abcd")
N_ROWS = 3000
FEW_ROWS = 900


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers, each a process with one thread and 1 GB."""
    with (
        dask.config.set({"distributed.admin.log-length": 0, "logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GB",
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        yield found


@pytest.fixture(autouse=True)
def no_table_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_rows.MemoryPlan, "fits", lambda self, n_rows: False)
    monkeypatch.setattr(source_rows.MemoryPlan, "batch_rows", 400)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame(rng.normal(size=(N_ROWS, 4)), columns=FEATURES)
    value = found.to_numpy() @ [1, 2, -1, 0.5] + rng.normal(size=N_ROWS)
    found["y"] = (value > 0).astype(int)
    found["number"] = value
    found["w"] = rng.integers(1, 4, N_ROWS) * 0.37
    found["town"] = rng.choice(["here", "there", "nowhere"], N_ROWS)
    found["gaps"] = np.where(rng.random(N_ROWS) < 0.2, np.nan, value)
    found.loc[:299] = found.loc[300:599].to_numpy()  # equal rows, in several files
    return found


@pytest.fixture(scope="module")
def files(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("files")
    for k in range(9):
        frame[k::9].to_parquet(folder / f"{k}.parquet", index=False)
    return str(folder / "*.parquet")


@contextmanager
def no_failure_allowed(client: Any) -> Iterator[None]:
    """Let the scheduler give a task up when a worker was lost at it."""

    def allow(n: int) -> None:
        def change(dask_scheduler: Any) -> None:
            dask_scheduler.allowed_failures = n

        client.run_on_scheduler(change)

    allow(0)
    try:
        yield
    finally:
        allow(3)
        client.wait_for_workers(2, timeout=60)


def kinds_of(one_pass: Any) -> set[str]:
    """What is asked in a pass."""
    asked = getattr(one_pass, "questions", None)
    if asked is None:
        return {type(one_pass).__name__}
    return {type(question).__name__ for several in asked.values() for question in several}


class Killing:
    """A pass in which a worker is killed, once, while it is at a partition."""

    def __init__(self, one_pass: Any, mark: Path) -> None:
        self.one_pass = one_pass
        self.mark = mark

    def __call__(self, part: Any) -> Any:
        found = self.one_pass(part)
        try:
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return found
        return os.kill(os.getpid(), signal.SIGKILL)

    def joined(self, answers: Any) -> Any:
        return self.one_pass.joined(answers)


class Passes(NamedTuple):
    """A fit with passes of several kinds."""

    estimator: Any
    kinds: set[str]
    y: str = "y"
    features: list[str] = FEATURES


SURVEY = {"FirstLook", "WeightLook", "LevelLook"}
GROWTH = {"NodeSums", "LineRanges", "LineHistogram", "OpenHistogram", "LineValues", "NodeRows"}
HELD_OUT = {"KeysOfBatches", "HashHistogram", "NextPieces", "DivideRows", "SumsOfLeaves"}
SPREAD = {"LeafRanges", "LeafSums"}
EVERY_KIND = {
    "classes": Passes(
        HHCartClassifier(variant="dominant", max_depth=3, pruning="holdout"),
        SURVEY | GROWTH | HELD_OUT | SPREAD | {"ScatterSums", "CountShared"},
    ),
    "numbers": Passes(
        CartRegressor(max_depth=3, pruning=None),
        SURVEY | GROWTH | SPREAD | {"NumberBits", "NumberDigits"},
        "number",
    ),
    "levels and gaps": Passes(
        HHCartClassifier(variant="dominant", max_depth=2, class_weight="balanced", pruning=None),
        {"ClassLook", "CodedSums", "SeenAs", "MissingColumns"},
        features=["a", "b", "town", "gaps"],
    ),
    "slopes": Passes(
        ObliqueTreeRegressor(max_depth=2, pruning="holdout"),
        {"DistinctNumbers", "ColumnSums"},
        "number",
    ),
    "samples": Passes(
        OC1Classifier(max_depth=2, pruning=None, n_restarts=2, sample_rows=300), {"SampledRows"}
    ),
    "forest": Passes(
        ObliqueForestClassifier(4, max_samples=200, oob_score=True, random_state=0),
        {"FactsLook", "ColumnsLook", "ValuesInBins", "DrawnLook", "OutOfBagLook", "EqualLook"},
    ),
}


def killed_in(
    kinds: set[str], fit: Passes, frame: Any, files: str, tmp_path: Path, monkeypatch: Any
) -> tuple[set[str], int]:
    """Fit with a kill in the first pass of each kind; compare; return kinds, and passes."""
    monkeypatch.setattr(source_rows.MemoryPlan, "at_once", AtOnce(bins=1 << 12, rows=FEW_ROWS))
    seen: set[str] = set()
    n_passes = n_killed = 0
    call = DaskTasks.__call__

    def killing(self: Any, one_pass: Any, parts: Any) -> Any:
        nonlocal n_passes, n_killed
        n_passes += 1
        new = (kinds_of(one_pass) - seen) & kinds
        seen.update(kinds_of(one_pass))
        if not new:
            return call(self, one_pass, parts)
        mark = tmp_path / min(new)
        found = call(self, Killing(one_pass, mark), parts)
        n_killed += mark.exists()
        return found

    with monkeypatch.context() as patched:
        patched.setattr(DaskTasks, "__call__", killing)
        lazy = dd.read_parquet(files)[[*fit.features, fit.y, "w"]]
        found = clone(fit.estimator).fit(lazy, fit.y, "w")
    whole = clone(fit.estimator).fit(frame[fit.features], frame[fit.y], frame["w"])
    assert found.model_ == whole.model_
    assert n_killed
    return seen, n_passes


def test_workers_that_are_killed(
    client: Any, frame: Any, files: str, tmp_path: Path, monkeypatch: Any
) -> None:
    kinds = {"FirstLook", "LineHistogram", "NodeRows"}
    fit = Passes(CartClassifier(max_depth=3, pruning=None), kinds)
    killed_in(kinds, fit, frame, files, tmp_path, monkeypatch)
    assert {path.name for path in tmp_path.iterdir()} == kinds


@pytest.mark.long
@pytest.mark.parametrize("name", list(EVERY_KIND))
def test_a_worker_is_killed_in_every_kind_of_pass(
    name: str, client: Any, frame: Any, files: str, tmp_path: Path, monkeypatch: Any
) -> None:
    fit = EVERY_KIND[name]
    monkeypatch.setattr("obliqua.sources.forests.EDGES", 64)  # few values stand at one
    seen, n_passes = killed_in(fit.kinds, fit, frame, files, tmp_path, monkeypatch)
    assert seen >= fit.kinds
    # Tasks are done again, passes are not.
    (tmp_path / "none").mkdir()
    again = killed_in({"FirstLook"}, fit, frame, files, tmp_path / "none", monkeypatch)
    assert again[1] == n_passes


@pytest.mark.long
@pytest.mark.parametrize("times", [1, 100])
def test_a_worker_is_killed_while_trees_grow(
    times: int, client: Any, frame: Any, files: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """Once, and its trees are grown by others; whenever one grows, and it is told."""
    some_trees = tree_tasks._some_trees

    def killed(*given: Any) -> Any:
        mark = tmp_path / uuid.uuid4().hex
        mark.touch()
        if len(list(tmp_path.iterdir())) <= times:
            os.kill(os.getpid(), signal.SIGKILL)
        return some_trees(*given)

    monkeypatch.setattr(tree_tasks, "_some_trees", killed)
    forest = ObliqueForestClassifier(8, max_samples=200, random_state=0)
    lazy = dd.read_parquet(files)[[*FEATURES, "y"]]
    if times == 1:
        whole = clone(forest).fit(frame[FEATURES], frame["y"])
        assert forest.fit(lazy, "y").model_ == whole.model_
        assert any(tmp_path.iterdir())
        return
    with (
        no_failure_allowed(client),
        pytest.raises(RuntimeError, match=r"A task that grows trees: the .* smaller max_samples"),
    ):
        forest.fit(lazy, "y")
    assert not hasattr(forest, "model_")


def test_what_travels(client: Any, frame: Any, files: str, monkeypatch: Any) -> None:
    """A task takes several partitions, and no more rows are fetched at a time than is planned."""
    monkeypatch.setattr(source_rows.MemoryPlan, "at_once", AtOnce(bins=1 << 14, rows=FEW_ROWS))
    monkeypatch.setattr("obliqua.sources.dask.TASKS_OF_A_THREAD", 2)
    fetched: list[int] = []
    tasks: list[int] = []
    call, computed = DaskTasks.__call__, DaskTasks._computed

    def noting(self: Any, one_pass: Any, parts: Any) -> Any:
        found = call(self, one_pass, parts)
        if "NodeRows" in kinds_of(one_pass):
            answers = [one for several in found[0].values() for one in several]
            fetched.append(sum(one.n_rows for one in answers if hasattr(one, "n_rows")))
        return found

    def counting(self: Any, graph: Any, last: Any) -> Any:
        tasks.append(len(graph))
        return computed(self, graph, last)

    monkeypatch.setattr(DaskTasks, "__call__", noting)
    monkeypatch.setattr(DaskTasks, "_computed", counting)
    model = CartClassifier(pruning=None, max_depth=5)
    lazy = dd.read_parquet(files)[[*FEATURES, "y"]]
    assert model.fit(lazy, "y").tree_ == clone(model).fit(frame[FEATURES], frame["y"]).tree_
    assert sum(fetched) > FEW_ROWS >= max(fetched)
    # Nine partitions by five tasks, two for each; the pass itself, and joins of two answers.
    assert set(tasks) == {5 + 1 + 4}


def test_persisted_rows_and_shared_tasks(client: Any, frame: Any) -> None:
    X, y = frame[FEATURES].to_numpy(), frame["y"].to_numpy()
    model = CartClassifier(pruning=None, max_depth=2)
    whole = clone(model).fit(X, y).tree_
    chunked = da.from_array(X, chunks=(1000, 2))
    labels = da.from_array(y, chunks=1000)
    assert clone(model).fit(chunked.persist(), labels).tree_ == whole
    turned = chunked[::-1].rechunk((700, 4))  # a chunk goes to several partitions
    assert clone(model).fit(turned, labels[::-1].rechunk(700)).tree_ == whole


def test_a_client_that_is_closed(client: Any, frame: Any, files: str, monkeypatch: Any) -> None:
    address = client.scheduler.address
    model = CartClassifier(pruning=None)
    lazy = dd.read_parquet(files)[[*FEATURES, "y"]]
    call = DaskTasks.__call__
    with distributed.Client(address, set_as_default=True) as other:

        def closing_at_once(self: Any, one_pass: Any, parts: Any) -> Any:
            if self.n_passes == 2:
                other.close()
            return call(self, one_pass, parts)

        monkeypatch.setattr(DaskTasks, "__call__", closing_at_once)
        with pytest.raises(ConnectionError, match="client of Dask was closed"):
            model.fit(lazy, "y")
    assert not hasattr(model, "tree_")


def test_workers_that_are_always_lost(client: Any, frame: Any, monkeypatch: Any) -> None:
    """As where memory is not enough. What waits at a lost worker is suspected too."""

    def lost(block: Any) -> Any:
        if len(block) == 500:
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    chunks = ((1000, 500, 1500), 4)
    chunked = da.from_array(frame[FEATURES].to_numpy(), chunks=chunks)
    model = CartClassifier()
    with (
        no_failure_allowed(client),
        pytest.raises(RuntimeError, match=r"artitions?( \d)?: the workers .* smaller part"),
    ):
        model.fit(chunked.map_blocks(lost, dtype=float, meta=chunked._meta), frame["y"])
    assert not hasattr(model, "tree_")


def pause_from(client: Any, share: float) -> None:
    """Let workers pause with this share of their memory in use."""

    def change(dask_worker: Any) -> None:
        dask_worker.memory_manager.memory_pause_fraction = share

    client.run(change)


@contextmanager
def paused(client: Any) -> Iterator[None]:
    """Let all workers pause, for a minute at most: who waits for them would wait for ever."""
    end = threading.Timer(60.0, pause_from, (client, 0.8))
    end.start()
    pause_from(client, 1e-6)
    try:
        yield
    finally:
        end.cancel()
        pause_from(client, 0.8)


def test_workers_that_are_paused(
    client: Any, frame: Any, files: str, monkeypatch: Any, caplog: Any
) -> None:
    """As where memory is full, and cannot be spilled to a disk that is full."""
    monkeypatch.setattr(dask_source, "LOOK", 0.3)

    model = CartClassifier(max_depth=2, pruning=None)
    lazy = dd.read_parquet(files)[[*FEATURES, "y"]]
    said = r"All workers of Dask are paused.* local_directory"
    with paused(client), pytest.raises(MemoryError, match=said):
        model.fit(lazy, "y")
    assert not hasattr(model, "tree_")
    assert model.fit(lazy, "y").tree_ == clone(model).fit(frame[FEATURES], frame["y"]).tree_
    assert dask_source._checked_workers([], dask_source._checked_workers([], None)) == []
    assert caplog.text.count("has no workers: the fit waits for one") == 1


def test_workers_that_are_paused_while_trees_grow(
    client: Any, frame: Any, files: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(dask_source, "LOOK", 0.3)
    done = DaskTasks.done

    def status(dask_worker: Any) -> str:
        return str(dask_worker.status.name)

    def pausing(self: Any, work: Any, too_large: Any) -> Any:
        if too_large is not tree_tasks.TOO_LARGE:
            return done(self, work, too_large)
        with paused(client):
            while set(client.run(status).values()) != {"paused"}:
                time.sleep(0.02)
            return done(self, work, too_large)

    monkeypatch.setattr(DaskTasks, "done", pausing)
    forest = ObliqueForestClassifier(8, max_samples=200, random_state=0)
    with pytest.raises(MemoryError, match="All workers of Dask are paused"):
        forest.fit(dd.read_parquet(files)[[*FEATURES, "y"]], "y")
    assert not hasattr(forest, "model_")


def test_fits_in_tasks_that_take_all_threads(client: Any, frame: Any, files: str) -> None:
    model = CartClassifier(max_depth=2, pruning=None)
    names = [*FEATURES, "y"]

    def fitted(_: int) -> Any:
        return clone(model).fit(dd.read_parquet(files)[names], "y").tree_

    whole = clone(model).fit(frame[FEATURES], frame["y"]).tree_
    for found in client.map(fitted, range(2)):
        assert found.result(timeout=60) == whole


def test_a_client_that_is_not_the_default(
    client: Any, frame: Any, files: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(distributed.client, "_global_clients", {})
    current: ContextVar[Any] = ContextVar("current", default=None)
    monkeypatch.setattr(distributed.client, "_current_client", current)
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()
    model = CartClassifier(max_depth=2, pruning=None)
    with (
        closing(distributed.Client(client.scheduler.address, set_as_default=False)) as other,
        dask.config.set(scheduler=other),
    ):
        found = clone(model).fit(dd.read_parquet(files)[[*FEATURES, "y"]], "y")
    assert found.tree_ == clone(model).fit(frame[FEATURES], frame["y"]).tree_


def test_ctrl_c_cancels_what_waits(client: Any, frame: Any, tmp_path: Path) -> None:
    begun = tmp_path / "begun"

    def slow(block: Any) -> Any:
        begun.touch()
        time.sleep(0.2)
        return block

    chunked = da.from_array(frame[FEATURES].to_numpy(), chunks=(30, 4)).map_blocks(
        slow, dtype=float, meta=np.empty((0, 4))
    )

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    model = CartClassifier()
    with ctrl_c_means(signal.default_int_handler), pytest.raises(KeyboardInterrupt):
        model.fit(chunked, frame["y"])
    watcher.join()
    assert not hasattr(model, "tree_")
    deadline = time.monotonic() + 30
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())
