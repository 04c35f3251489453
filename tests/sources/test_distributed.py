"""Trees grown on a cluster of Dask: the same bits, whatever becomes of its workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from obliqua import CartClassifier, CartRegressor, HHCartClassifier
from obliqua.sources import rows as source_rows
from obliqua.sources.dask import DaskTasks

dask = pytest.importorskip("dask")
# A worker that is started again finds all imports done.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
cloudpickle.register_pickle_by_value(sys.modules[__name__])
multiprocessing.get_context("forkserver").set_forkserver_preload(
    ["distributed", "dask.dataframe", "pyarrow.parquet", "obliqua.sources.dask"]
)

pytestmark = pytest.mark.xdist_group("distributed")
FEATURES = list("abcd")
N_ROWS = 3000
FEW_ROWS = 300


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers, each a process with one thread and 1 GB."""
    with (
        dask.config.set({"distributed.admin.log-length": 0, "logging.distributed": "critical"}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="1GB",
            dashboard_address=None,
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
    return found


@pytest.fixture(scope="module")
def files(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("files")
    for k in range(9):
        frame[k::9].to_parquet(folder / f"{k}.parquet", index=False)
    return str(folder / "*.parquet")


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
        os.kill(os.getpid(), signal.SIGKILL)

    def joined(self, answers: Any) -> Any:
        return self.one_pass.joined(answers)


KILLED: dict[str, tuple[Any, str, set[str]]] = {
    "classes": (
        HHCartClassifier(variant="dominant", max_depth=3, pruning="holdout"),
        "y",
        {"FirstLook"},
    ),
    "numbers": (CartRegressor(max_depth=3, pruning=None), "number", set()),
}


@pytest.mark.parametrize("name", list(KILLED))
def test_a_worker_is_killed_in_every_kind_of_pass(
    name: str,
    client: Any,
    frame: pd.DataFrame,
    files: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    estimator, y, expected = KILLED[name]
    killed: dict[str, int] = {}
    most = 0
    call = DaskTasks.__call__

    def killing(self: Any, one_pass: Any, parts: Any) -> Any:
        nonlocal most
        new = kinds_of(one_pass) - set(killed)
        killed.update(dict.fromkeys(new, 1))
        for kind in sorted(new)[:1]:
            one_pass = Killing(one_pass, tmp_path / kind)
        t=time.time()
        r= call(self, one_pass, parts)
        print(new, round(time.time()-t,2))
        return r

    monkeypatch.setattr(DaskTasks, "__call__", killing)
    lazy = dd.read_parquet(files)[[*FEATURES, y, "w"]]
    found = clone(estimator).fit(lazy, y, "w")
    whole = clone(estimator).fit(frame[FEATURES], frame[y], frame["w"])
    assert found.tree_ == whole.tree_
    print(killed)
