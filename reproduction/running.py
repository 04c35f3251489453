"""Cells of one table or of many, computed by any number of processes and kept at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace

import joblib

from obliqua.errors import DatasetDamaged, DatasetMissing, MissingDependency
from obliqua.select._workers import leave_interrupts_to
from obliqua.select.methods import Method
from reproduction.protocol import (
    N_FOLDS,
    CellResult,
    DataSet,
    WholeTreeMethod,
    run_cell,
    summarise,
)
from reproduction.rows import ExperimentRows
from reproduction.store import CellKey, ResultsError, Store

__all__ = ["Absent", "FinishedCell", "TablePart", "Work", "prepare", "run", "work_off"]

_NO_DATA = (DatasetMissing, DatasetDamaged, MissingDependency)
#: What varies between runs of a cell.
_TIMES = ("seconds", "cpu_ms")


@dataclass(frozen=True)
class TablePart:
    """Some cells of a table.

    Parameters
    ----------
    store : Store
        Where they are kept; it also knows the seed.
    data_sets : sequence of DataSet
        What to run on.
    methods : sequence of Method
        What to run.
    repeats : mapping of str to int
        Number of repeats for each data set, by name.
    n_folds : int, default=5
        Folds of a cross-validation, unless rows have a number of their own.
    """

    store: Store
    data_sets: Sequence[DataSet]
    methods: Sequence[Method]
    repeats: Mapping[str, int]
    n_folds: int = N_FOLDS


@dataclass(frozen=True)
class Absent:
    """A data set that cannot be had, in a table, and the error that says why."""

    table: str
    data_set: str
    error: Exception


@dataclass(frozen=True)
class CellTask:
    """A cell to compute, or one that is computed again to see that it comes out the same."""

    store: Store
    key: CellKey
    rows: ExperimentRows
    method: Method
    n_folds: int
    again: bool = False

    @property
    def size(self) -> float:
        """How much there is to do, roughly: numbers in the table, times folds."""
        return float(self.rows.X.size * (self.rows.n_folds or self.n_folds))


@dataclass(frozen=True)
class FinishedCell:
    """A finished cell, and how far the work is.

    Parameters
    ----------
    table : str
        Whose cell it is.
    key : CellKey
        Which one.
    cell : CellResult
        What it has given.
    again : bool
        Whether it was known, and only computed again to compare it.
    number, total : int
        How many cells are finished, and how many there are.
    left : float
        Seconds that the rest will take, as far as can be told.
    """

    table: str
    key: CellKey
    cell: CellResult
    again: bool
    number: int
    total: int
    left: float

    def __str__(self) -> str:
        found = summarise([self.cell])
        size = f"{found.leaves[0]:.1f} leaves, " if self.cell.leaves else ""
        compared = "as before, " if self.again else ""
        return (
            f"[{self.number}/{self.total}] {self.key.data_set} {self.key.method} repeat "
            f"{self.key.repeat + 1}: {compared}{found.accuracy[0]:.2f} %, {size}"
            f"{self.cell.seconds:.1f} s"
        )


@dataclass
class Work:
    """What there is to do.

    Parameters
    ----------
    tasks : list of CellTask
        Cells to compute.
    absent : list of Absent
        Data sets without which their cells stay empty.
    """

    tasks: list[CellTask] = field(default_factory=list)
    absent: list[Absent] = field(default_factory=list)


def prepare(parts: Iterable[TablePart]) -> Work:
    """Find out what is to be computed: methods exist, data are there and are what they were.

    Cells that several parts ask for are computed once. Data sets with many numbers come first
    within a part, so that processes end at about the same time. Where other code or another
    machine has made what is kept, the quickest cell of each method is computed again.
    """
    work = Work()
    seen: set[tuple[str, CellKey]] = set()
    for part in parts:
        for method in part.methods:
            method.make(0)  # a method that does not exist is found now, not hours later
            whole_tree = isinstance(method, WholeTreeMethod)
            part.store.expect_method(method.name, method.estimator, method.params, whole_tree)
        tasks = [
            task
            for task in _tasks_of(part, work.absent)
            if (str(task.store.path), task.key) not in seen
        ]
        seen |= {(str(task.store.path), task.key) for task in tasks}
        missing = [task for task in tasks if task.key not in task.store]
        missing.sort(key=lambda task: -task.size)
        if missing and part.store.made_elsewhere:
            work.tasks += _to_compare(tasks)
        work.tasks += missing
    return work


def _tasks_of(part: TablePart, absent: list[Absent]) -> Iterator[CellTask]:
    for data_set in part.data_sets:
        try:
            rows = data_set.load()
        except _NO_DATA as error:
            absent.append(Absent(part.store.table, data_set.name, error))
            continue
        part.store.expect_data(data_set.name, rows.checksum)
        part.store.expect_division(data_set.name, rows.division(part.n_folds))
        for repeat in range(part.repeats[data_set.name]):
            for method in part.methods:
                key = CellKey(data_set.name, method.name, repeat)
                yield CellTask(part.store, key, rows, method, part.n_folds)


def _to_compare(tasks: Sequence[CellTask]) -> list[CellTask]:
    """Of each method the quickest cell that is kept."""
    quickest: dict[str, tuple[float, CellTask]] = {}
    for task in tasks:
        if task.key in task.store:
            kept = task.store.cells(task.key.data_set, task.key.method)[task.key.repeat]
            seconds = float(kept["seconds"])
            if seconds < quickest.get(task.method.name, (float("inf"), task))[0]:
                quickest[task.method.name] = (seconds, task)
    return [replace(task, again=True) for _, task in quickest.values()]


def work_off(
    work: Work, n_jobs: int = 1, progress: Callable[[FinishedCell], None] | None = None
) -> None:
    """Compute cells; each is kept as soon as it is there."""
    if not work.tasks:
        return
    clock = _Clock(work.tasks, joblib.effective_n_jobs(n_jobs))
    known = [task for task in work.tasks if task.again]
    fresh = [task for task in work.tasks if not task.again]
    done = 0

    def note(task: CellTask, cell: CellResult) -> None:
        nonlocal done
        done += 1
        clock.note(task, cell.seconds)
        if progress is not None:
            total, left = len(work.tasks), clock.left()
            progress(FinishedCell(task.store.table, task.key, cell, task.again, done, total, left))

    # First what is kept comes out as before; until then nothing is written to any file.
    for task, cell in _in_parallel(known, n_jobs):
        _compare(task, cell)
        note(task, cell)
    with ExitStack() as opened:
        for store in dict.fromkeys(task.store for task in fresh):
            opened.enter_context(store.open())
        for task, cell in _in_parallel(fresh, n_jobs):
            task.store.put(task.key, asdict(cell))
            note(task, cell)


def _in_parallel(tasks: Sequence[CellTask], n_jobs: int) -> Iterator[tuple[CellTask, CellResult]]:
    """Compute cells in any number of processes, and give each as soon as it is there."""
    here = os.getpid()
    parallel = joblib.Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")
    calls = (
        joblib.delayed(_computed)(
            place, task.key, task.rows, task.method, seed, task.n_folds, here
        )
        for place, task in enumerate(tasks)
        for seed in [task.store.seed]
    )
    for place, cell in parallel(calls):
        yield tasks[place], cell


def _computed(
    place: int,
    key: CellKey,
    rows: ExperimentRows,
    method: Method,
    seed: int,
    n_folds: int,
    parent: int,
) -> tuple[int, CellResult]:
    leave_interrupts_to(parent)
    return place, run_cell(key.data_set, rows, method, key.repeat, seed, n_folds)


def _compare(task: CellTask, cell: CellResult) -> None:
    kept = CellResult(**task.store.cells(task.key.data_set, task.key.method)[task.key.repeat])
    same = {name: getattr(kept, name) for name in _TIMES}
    # As texts: what is not a number differs from itself.
    if repr(replace(cell, **same)) != repr(kept):
        raise ResultsError(
            f"{task.store.path} holds results of other code, other versions or another machine, "
            f"and they come out differently now: {task.key.data_set} {task.key.method}, repeat "
            f"{task.key.repeat + 1}. Choose another folder for the new results, or remove the file"
        )


class _Clock:
    """How long the rest will take, from what similar cells took."""

    def __init__(self, tasks: Sequence[CellTask], n_jobs: int) -> None:
        self._jobs = n_jobs
        self._open: dict[tuple[str, str, str], tuple[int, float]] = {}
        self._took: dict[tuple[str, ...], tuple[float, float]] = {}
        for task in tasks:
            name = self._names(task)[0]
            self._open[name] = (self._open.get(name, (0, 0.0))[0] + 1, task.size)

    @staticmethod
    def _names(task: CellTask) -> tuple[tuple[str, str, str], tuple[str, ...], tuple[str, ...]]:
        """What a cell is like, from what is most alike to what is least."""
        table, key = task.store.table, task.key
        return (table, key.method, key.data_set), (table, key.method), ()

    def note(self, task: CellTask, seconds: float) -> None:
        """Remember what a cell took."""
        name, *_ = names = self._names(task)
        count, size = self._open[name]
        self._open[name] = (count - 1, size)
        for like in names:
            took, sizes = self._took.get(like, (0.0, 0.0))
            self._took[like] = (took + seconds, sizes + task.size)

    def left(self) -> float:
        """Seconds until all is done, if processes are busy all the time."""
        seconds = 0.0
        for (table, method, data_set), (count, size) in self._open.items():
            likes: tuple[tuple[str, ...], ...] = ((table, method, data_set), (table, method), ())
            took, sizes = next(self._took[like] for like in likes if like in self._took)
            seconds += count * size * took / sizes
        return seconds / self._jobs


def run(
    part: TablePart, *, n_jobs: int = 1, progress: Callable[[str], None] | None = None
) -> None:
    """Compute all cells of one table that its store does not hold yet."""
    say = progress or (lambda line: print(line, file=sys.stderr, flush=True))
    work = prepare([part])
    for absent in work.absent:
        raise absent.error
    work_off(work, n_jobs, lambda step: say(str(step)))
