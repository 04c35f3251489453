"""Cells of several tables in one pool: order, what is shared, what is absent, and time left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from obliqua.errors import DatasetDamaged, DatasetMissing, MissingDependency
from obliqua.select.methods import Method
from reproduction.protocol import DataSet
from reproduction.rows import ExperimentRows
from reproduction.running import FinishedCell, TablePart, prepare, run, work_off
from reproduction.store import Kept, ResultsError, Store

STUMP = Method("stump", "", "obliqua.CartClassifier", {"max_depth": 1})


def rows(n_rows: int) -> Callable[[], ExperimentRows]:
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 2)).round(2)
    return lambda: ExperimentRows(X, np.where(X[:, 0] > 0.1, "a", "b"))


SMALL, LARGE = DataSet("small", "", rows(20)), DataSet("large", "", rows(60))


def part(
    store: Store, *sets: DataSet, repeats: int = 2, methods: tuple[Method, ...] = (STUMP,)
) -> TablePart:
    return TablePart(store, sets, methods, {data_set.name: repeats for data_set in sets})


def test_large_sets_come_first_and_tables_in_their_order(tmp_path: Path) -> None:
    one, two = (Store(tmp_path / f"{name}.jsonl", name, 0) for name in ("one", "two"))
    work = prepare([part(one, SMALL, LARGE), part(two, SMALL)])
    order = [(task.store.table, task.key.data_set, task.key.repeat) for task in work.tasks]
    assert order == [
        *(("one", "large", 0), ("one", "large", 1), ("one", "small", 0), ("one", "small", 1)),
        *(("two", "small", 0), ("two", "small", 1)),
    ]
    steps: list[FinishedCell] = []
    work_off(work, progress=steps.append)
    assert [step.number for step in steps] == [1, 2, 3, 4, 5, 6]
    assert all(step.left > 0 for step in steps[:-1])
    assert steps[-1].left == 0
    assert sorted(Kept(tmp_path / "two.jsonl").cells("small", "stump")) == [0, 1]


def test_cells_that_two_parts_ask_for_are_computed_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl", "x", 0)
    work = prepare([part(store, SMALL), part(store, SMALL, LARGE, repeats=3)])
    keys = [task.key for task in work.tasks]
    assert len(keys) == len(set(keys)) == 6
    work_off(work)
    assert prepare([part(store, SMALL, LARGE, repeats=3)]).tasks == []


def test_parts_that_share_a_file_must_agree(tmp_path: Path) -> None:
    store = Store(tmp_path / "x.jsonl", "x", 0)
    other = Method("stump", "", "obliqua.CartClassifier", {"max_depth": 2})
    with pytest.raises(ResultsError, match="another setting of the method stump"):
        prepare([part(store, SMALL), part(store, SMALL, methods=(other,))])


@pytest.mark.parametrize("kind", [DatasetMissing, DatasetDamaged, MissingDependency])
def test_absent_data_are_told_and_the_rest_is_done(kind: type[Exception], tmp_path: Path) -> None:
    def load() -> ExperimentRows:
        raise kind("nowhere")

    absent = DataSet("absent", "", load)
    store = Store(tmp_path / "x.jsonl", "x", 0)
    work = prepare([part(store, absent, SMALL)])
    assert [(one.table, one.data_set, str(one.error)) for one in work.absent] == [
        ("x", "absent", "nowhere")
    ]
    assert [task.key.data_set for task in work.tasks] == ["small", "small"]
    with pytest.raises(kind, match="nowhere"):
        run(part(store, absent, SMALL), progress=lambda line: None)
    assert not store.path.exists()


def test_an_error_in_a_cell_keeps_the_others(tmp_path: Path) -> None:
    bad = Method("bad", "", "obliqua.CartClassifier", {"max_depth": -1})
    store = Store(tmp_path / "x.jsonl", "x", 0)
    with pytest.raises(ValueError, match="max_depth"):
        run(part(store, SMALL, methods=(STUMP, bad)), progress=lambda line: None)
    again = Store(tmp_path / "x.jsonl", "x", 0, resume=True)
    assert list(again.cells("small", "stump")) == [0]


def test_the_time_left_follows_what_cells_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from reproduction import running

    real = running.run_cell

    def slow(data_set: str, *words: object) -> object:
        return replace(real(data_set, *words), seconds=30.0 if data_set == "large" else 2.0)

    monkeypatch.setattr(running, "run_cell", slow)
    steps: list[FinishedCell] = []
    work_off(prepare([part(Store(tmp_path / "x.jsonl", "x", 0), SMALL, LARGE)]), 1, steps.append)
    # After one large cell: another one, and two of a third of its size. Then what small ones take.
    assert [round(step.left) for step in steps] == [30 + 2 * 10, 2 * 10, 2, 0]
