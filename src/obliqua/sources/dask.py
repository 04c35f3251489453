"""Dask: arrays and frames in partitions, and passes as tasks without any state.

A task takes some partitions, one after another: it loads one, answers, and forgets it. Answers are
added up before anything is sent. With an active `distributed.Client` its workers do this,
otherwise threads of this machine. Nothing is persisted: a worker that is lost costs the tasks that
it was at.
"""

from __future__ import annotations

import logging
import pickle
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from obliqua._extras import require
from obliqua._typing import AnyArray
from obliqua.data.table import RawColumn, raw_column
from obliqua.sources.pieces import ArrayBatch, Batch, Chosen
from obliqua.sources.running import PartPass, with_part
from obliqua.sources.tables import BOOLS, NUMBERS, SINGLE, TEXT, LargeTable

__all__ = ["DaskTasks", "compared", "dask_table", "is_dask", "predicted"]

LOG = logging.getLogger("obliqua.passes")
JOINED_AT_ONCE = 2  # answers: all that are joined by a task are in its memory
#: Seconds between two looks at a cluster: longer than workers take to tell how they are.
LOOK = 20.0
TASKS_OF_A_THREAD = 2  # in a pass: few answers wait and travel, and no thread waits for long


def is_dask(X: Any) -> bool:
    """Say whether something is an array or a frame of Dask."""
    return type(X).__module__.startswith("dask") and hasattr(X, "__dask_graph__")


PURPOSE = "Fitting to Dask collections"


class PandasBatch:
    """Rows of a frame of pandas."""

    matrix = None

    def __init__(self, frame: Any, chosen: Chosen, learnt: Any, weights: Any) -> None:
        self._frame = frame
        self._chosen = chosen
        self.learnt = learnt
        self.weights = weights

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def feature(self, place: int) -> RawColumn:
        """Return a column of the features."""
        name = self._chosen.features[place]
        return raw_column(_columns(self._frame, [name]), f"Column {name!r}")


@dataclass(frozen=True, eq=False)
class DaskPiece:
    """A partition: the keys of its rows in a graph, or the rows where a task works with it."""

    number: int
    X: Any
    y: Any
    w: Any
    chosen: Chosen
    watched: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"partition {self.number}"

    def row(self, number: int) -> str:
        """Return what messages call one of its rows."""
        return f"row {number} of the partition"

    def loaded(self, X: Any, y: Any, w: Any) -> DaskPiece:
        """Return the piece with its rows."""
        return replace(self, X=X, y=y, w=w)

    def batches(self, most_rows: int) -> Iterator[Batch]:
        """Return the rows, some at a time."""
        X, y, w = self.X, self.y, self.w
        frame = hasattr(X, "iloc") and hasattr(X, "columns")
        if not frame:
            _check_matrix(X, len(self.chosen.features))
        if frame and self.chosen.learnt and y is None:
            y = _columns(X, self.chosen.learnt)
        if frame and self.chosen.weight is not None and w is None:
            w = _columns(X, [self.chosen.weight])
        for name, other in (("y", y), ("sample_weight", w)):
            if other is not None and len(other) != len(X):
                raise ValueError(
                    f"X has {len(X)} rows here, and {name} {len(other)}. Give both the same "
                    "partitions."
                )
        learnt, weights = _plain(y), _plain(w)
        for first in range(0, len(X), most_rows):
            here = slice(first, first + most_rows)
            some = learnt[here], None if weights is None else weights[here]
            if frame:
                yield PandasBatch(X.iloc[here], self.chosen, *some)
            else:
                yield ArrayBatch(np.asarray(X[here]), *some)


def _check_matrix(X: Any, n_columns: int) -> None:
    """Refuse a partition that is no matrix of so many columns, whatever its collection says."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != n_columns:
        what = type(X).__name__ + (f" of shape {tuple(shape)}" if shape else "")
        raise ValueError(
            f"it holds {what}, which the collection says is rows of {n_columns} features. Let "
            "what makes partitions return the same kind of rows for each."
        )


def _columns(frame: Any, names: Sequence[str]) -> Any:
    """Return columns of a partition, which need not be what its frame says of it."""
    for name in names:
        if name not in frame.columns:
            raise ValueError(
                f"it has no column {name!r}, which the frame says that it has; it has "
                f"{', '.join(map(repr, frame.columns[:20]))}. Give each the same columns."
            )
    return frame[names[0]] if len(names) == 1 else frame[list(names)]


def _plain(values: Any) -> Any:
    """Return labels, numbers or weights as an array; text as objects."""
    if values is None:
        return None
    found: AnyArray = np.asarray(values)
    if found.dtype.kind not in "biufOU":
        found = found.astype(object)
    return found


def dask_table(X: Any, y: Any, weights: Any) -> LargeTable:
    """Return an array or a frame of Dask as a table in pieces; nothing is computed."""
    require("dask", "dask", PURPOSE)
    learnt, weight = _named(X, y, weights)
    if hasattr(X, "columns"):
        return _frame_table(X, y, weights, learnt, weight)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions; got a Dask array with {X.ndim}.")
    X = X.rechunk({1: -1})
    others = [_blocks(name, other, X) for name, other in _both(y, weights)]
    kind = SINGLE if X.dtype == np.float32 else NUMBERS
    if X.dtype.kind not in "biuf":
        raise ValueError(f"A Dask array must hold numbers; got the type {X.dtype}. Give a frame.")
    used = None if weights is None else "sample_weight"
    chosen = Chosen(tuple(map(str, range(X.shape[1]))), (), used)
    return _table(X, others, chosen, None, (kind,) * X.shape[1])


def _named(X: Any, y: Any, weights: Any) -> tuple[tuple[str, ...], str | None]:
    """Return the columns of a frame that y and weights name; refuse what it does not have."""
    if y is None:
        raise TypeError(
            "y says what is learnt from X: the name of a column of a frame, or a collection with "
            "the partitions of X; got None."
        )
    if not hasattr(X, "columns"):
        if isinstance(y, str) or isinstance(weights, str):
            raise TypeError(
                "A Dask array has no names of columns: give y and sample_weight as arrays."
            )
        return (), None
    several = isinstance(y, list) and len(y) > 0 and all(isinstance(name, str) for name in y)
    learnt = (y,) if isinstance(y, str) else tuple(y) if several else ()
    weight = weights if isinstance(weights, str) else None
    _check_columns(X, [*learnt, *([] if weight is None else [weight])])
    return learnt, weight


def _check_columns(X: Any, names: Sequence[str]) -> None:
    """Refuse names that are no columns of a frame."""
    known = list(map(str, X.columns))
    for name in names:
        if name not in known:
            raise ValueError(f"The frame has no column {name!r}; it has {', '.join(known[:20])}.")


def _both(y: Any, weights: Any) -> list[tuple[str, Any]]:
    return [("y", y), ("sample_weight", weights)]


def _keys(collection: Any) -> list[Any]:
    """Return the keys of the partitions of a collection."""
    core = require("dask.core", "dask", PURPOSE)
    return list(core.flatten(collection.__dask_keys__()))


def _table(
    X: Any,
    others: list[Any],
    chosen: Chosen,
    names: tuple[str, ...] | None,
    kinds: tuple[str, ...],
) -> LargeTable:
    given = [X, *others]
    columns = [_keys(one) if one is not None else [None] * len(_keys(X)) for one in given]
    pieces: list[Any] = [
        DaskPiece(k, rows, y, w, chosen)
        for k, (rows, y, w) in enumerate(zip(*columns, strict=True))
    ]
    run = DaskTasks([one for one in given if one is not None])
    return LargeTable(pieces, names, kinds, "the Dask collection", run)


def _blocks(name: str, other: Any, X: Any) -> Any:
    """Return y or weights as a collection; the partitions of X must be the same."""
    if other is None:
        return None
    if not is_dask(other):
        if not hasattr(X, "chunks") or np.isnan(sum(X.chunks[0])):
            raise TypeError(
                f"With X as a Dask collection of unknown length, {name} must be one too; got "
                f"{type(other).__name__}."
            )
        array = require("dask.array", "dask", PURPOSE)
        values = np.asarray(other)
        if len(values) != sum(X.chunks[0]):
            raise ValueError(f"X has {sum(X.chunks[0])} rows, and {name} {len(values)}.")
        other = array.from_array(values, chunks=(X.chunks[0], *values.shape[1:]))
    if getattr(other, "ndim", 1) == 2 and hasattr(other, "rechunk"):
        other = other.rechunk({1: -1})
    n_here, n_there = len(_keys(X)), len(_keys(other))
    if n_here != n_there:
        raise ValueError(
            f"X has {n_here} partitions, and {name} {n_there}. Divide both in the same way, "
            "for instance by rechunk or repartition."
        )
    return other


def _frame_table(
    X: Any, y: Any, weights: Any, learnt: tuple[str, ...], weight: str | None
) -> LargeTable:
    features = tuple(n for n in map(str, X.columns) if n not in learnt and n != weight)
    kinds = tuple(_kind(X.dtypes[name], name) for name in features)
    used = weight if weight is not None or weights is None else "sample_weight"
    y, weights = None if learnt else y, None if weight is not None else weights
    others = [_blocks(name, other, X) for name, other in _both(y, weights)]
    if all(other is None for other in others):
        # Only the columns that are left are read. With y apart, its partitions would not be
        # those of X any more: small ones are put together.
        X = X.optimize()
    return _table(X, others, Chosen(features, learnt, used), features, kinds)


def _kind(dtype: Any, name: str) -> str:
    kind = getattr(dtype, "kind", "O")
    if kind == "b":
        return BOOLS
    if kind in "iuf":
        return SINGLE if dtype == np.float32 else NUMBERS
    if kind in "mMc":
        raise ValueError(
            f"The column {name!r} has the type {dtype}, and trees from Dask take numbers, bools "
            "and text. Write it as one of these, or leave it out."
        )
    return TEXT


def predicted(estimator: Any, method: str, X: Any) -> Any:
    """Return what an estimator's method says of a Dask collection, lazily."""
    names = list(getattr(estimator, "feature_names_in_", []))
    if hasattr(X, "columns"):
        _check_columns(X, names)
        X = X[names] if names else X
        few = X._meta_nonempty if hasattr(X, "_meta_nonempty") else X.head(1)
        said = _of_block(few, estimator, method)
        if said.ndim == 1:
            return X.map_partitions(_series_of_block, estimator, method, meta=(None, said.dtype))
        X = X.to_dask_array()
    X = X.rechunk({1: -1})
    said = _of_block(np.zeros((1, X.shape[1]), X.dtype), estimator, method)
    if said.ndim == 1:
        return X.map_blocks(_of_block, estimator, method, drop_axis=1, dtype=said.dtype)
    chunks = (X.chunks[0], (said.shape[1],))
    return X.map_blocks(_of_block, estimator, method, chunks=chunks, dtype=said.dtype)


def compared(
    estimator: Any, X: Any, y: Any, weights: Any, check: Callable[[Any], None]
) -> tuple[AnyArray, AnyArray, AnyArray | None]:
    """Return what is true of the rows of a collection, what is said of them, and weights.

    `check` refuses what cannot be true.
    """
    base = require("dask.base", "dask", PURPOSE)
    learnt, weight = _named(X, y, weights)
    if learnt:
        y = X[y]
    if weight is not None:
        weights = X[weight]
    if not hasattr(estimator, "feature_names_in_") and (learnt or weight is not None):
        X = X[[name for name in X.columns if name not in learnt and name != weight]]
    said = predicted(estimator, "predict", X)
    truth, said, weights = base.compute(y, said, weights, traverse=False)
    check(np.asarray(truth))
    return np.asarray(truth), np.asarray(said), None if weights is None else np.asarray(weights)


def _of_block(block: Any, estimator: Any, method: str) -> AnyArray:
    """Return what is said of a partition; of one without rows, nothing."""
    call = getattr(estimator, method)
    if len(block):
        return np.asarray(call(block))
    if hasattr(block, "columns"):
        return np.asarray(call(block.reindex([0])))[:0]
    return np.asarray(call(np.zeros((1, block.shape[1]), block.dtype)))[:0]


def _series_of_block(block: Any, estimator: Any, method: str) -> Any:
    pandas = require("pandas", "dask", "Predicting for frames of Dask")
    return pandas.Series(_of_block(block, estimator, method), index=block.index)


# --- passes --------------------------------------------------------------------------------------


class Parcel:
    """Something that travels as bytes, which nobody on the way unpacks, and is packed once."""

    def __init__(self, value: Any = None, packed: bytes | None = None) -> None:
        self._value = value
        self._packed = packed

    def __reduce__(self) -> tuple[Any, ...]:
        if self._packed is None:
            pickling = require("cloudpickle", "dask", PURPOSE)
            self._packed = pickling.dumps(self._value)
        return type(self), (None, self._packed)

    @property
    def value(self) -> Any:
        """What it is."""
        if self._value is None and self._packed is not None:
            self._value = pickle.loads(self._packed)
        return self._value


class TaskLoad(NamedTuple):
    """What a task does: parts without rows, where their rows come from, and who makes these."""

    parts: list[Any]
    keys: list[tuple[Any, Any, Any]]
    graph: dict[Any, Any]
    outside: list[Any]  # keys whose values the task is given

    def rows(self, place: int, given: Mapping[Any, Any]) -> list[Any]:
        """Load a partition: X, y and weights."""
        local = require("dask.local", "dask", PURPOSE)
        spec = require("dask._task_spec", "dask", PURPOSE)
        known = {key: spec.DataNode(key, value) for key, value in given.items()}
        wanted = [key for key in self.keys[place] if key is not None]
        found = dict(zip(wanted, local.get_sync({**self.graph, **known}, wanted), strict=True))
        return [None if key is None else found[key] for key in self.keys[place]]


SMALLER = "Give smaller partitions (rechunk, repartition), or workers with more memory."


class TooLarge(NamedTuple):
    """What is said where workers are lost: what they were at, what was too large, what to do."""

    called: str
    what: str
    advice: str


PARTITION_TOO_LARGE = TooLarge("Some partitions", "a partition and what is made of it", SMALLER)


def _answers(sent: Parcel, load: Parcel, *values: Any) -> Any:
    """Do one pass over some partitions, one after another, and join what they answer."""
    one_pass, here = sent.value, load.value
    given = dict(zip(here.outside, values, strict=True))
    joined: list[Any] = []
    for place, part in enumerate(here.parts):
        name = part.piece.name
        try:
            try:
                rows = here.rows(place, given)
            except MemoryError:
                raise
            except Exception as error:  # whatever those raise who make it
                what = f"{type(error).__name__}: {error}"
                if isinstance(error, FileNotFoundError):
                    what += ". Keep what it is made of in place until the fit has ended"
                raise ValueError(f"{name} cannot be loaded: {what}") from error
            _release_unused()
            loaded = part.with_piece(part.piece.loaded(*rows))
            joined = with_part(one_pass, joined, loaded)
            del rows, loaded
        except MemoryError as error:
            raise MemoryError(f"{name} is too large for this memory: {error}. {SMALLER}") from None
    return joined[0]


def _release_unused() -> None:
    """Give back what Arrow keeps of what it has read: more than the rows take."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()


def _waited(client: Any, tasks: Any, keys: list[Any]) -> list[Any]:
    """Wait for what workers make of some tasks; look now and then whether they go on."""
    if getattr(require("distributed.worker", "dask", PURPOSE).thread_state, "key", False):
        found: list[Any] = client.get(tasks, keys)  # in a task: its thread does others meanwhile
        return found
    answers = client.get(tasks, keys, sync=False)
    before = None
    try:
        for answer in answers:
            # To gather raises the first error at once, and then nobody works on.
            while not (answer.done() or any(one.status == "error" for one in answers)):
                try:
                    answer.exception(timeout=LOOK)
                except TimeoutError:
                    before = _checked_workers(client.run_on_scheduler(_at_workers), before)
        return list(client.gather(answers))
    finally:
        for answer in answers:
            answer.release()


def _at_workers(dask_scheduler: Any) -> list[tuple[str, int, str]]:
    """Return of each worker whether it takes tasks, how many it is at, and what it has spilled."""
    return [
        (worker.status.name, len(worker.executing), str(worker.metrics.get("spilled_bytes")))
        for worker in dask_scheduler.workers.values()
    ]


def _checked_workers(now: list[Any], before: list[Any] | None) -> list[Any]:
    """Refuse to wait for workers none of which goes on; tell if there are none."""
    if not now and before != now:
        LOG.warning("the cluster of Dask has no workers: the fit waits for one")
    still = all(status == "paused" and not n_tasks for status, n_tasks, _ in now)
    if now and still and now == before:
        raise MemoryError(
            "All workers of Dask are paused, and none goes on: their memory is full, of persisted "
            "rows for instance, and they cannot write it to disk (their local_directory may be "
            f"full, or not writable; their logs tell). Free memory or disk. {SMALLER}"
        )
    return now


def _join(sent: Parcel, *answers: Any) -> Any:
    return sent.value.joined(answers)


class DaskTasks:
    """Passes as tasks of Dask, on the active client or on threads of this machine.

    Parameters
    ----------
    collections : sequence
        X, y and weights, as far as they are collections of Dask.
    """

    def __init__(self, collections: Sequence[Any]) -> None:
        self.n_passes = 0
        self._spec = require("dask._task_spec", "dask", PURPOSE)
        self._raw: dict[Any, Any] = {}
        for one in collections:
            self._raw.update(one.__dask_graph__())
        self._graph = self._spec.convert_legacy_graph(dict(self._raw))
        base = require("dask.base", "dask", PURPOSE)
        threaded = require("dask.threaded", "dask", PURPOSE)
        self._get = base.get_scheduler() or threaded.get
        self._parts: Sequence[Any] | None = None
        self._loads: list[tuple[Parcel, TaskLoad]] = []

    def __call__(self, one_pass: PartPass, parts: Sequence[Any]) -> list[Any]:
        """Return what a pass gives for all partitions, joined.

        Parameters
        ----------
        one_pass : PartPass
            A function of a piece.
        parts : sequence
            The pieces.

        Returns
        -------
        list
            The joined answer.
        """
        begin = time.perf_counter()
        self.n_passes += 1
        if parts is not self._parts:
            self._parts, self._loads = parts, self._planned(parts)
        tasks, last = self._tasks(one_pass)
        found = self._computed(tasks, last)
        LOG.info("pass %d: %.1f s", self.n_passes, time.perf_counter() - begin)
        return [found]

    # --- which task takes which partitions ---

    def _planned(self, parts: Sequence[Any]) -> list[tuple[Parcel, TaskLoad]]:
        """Share partitions out among tasks."""
        wanted = [(part.piece.X, part.piece.y, part.piece.w) for part in parts]
        behind = [self._behind(keys) for keys in wanted]
        users = Counter(key for keys in behind for key in keys)
        alone = [all(self._is_own(key, users) for key in keys) for keys in behind]
        together = max(sum(alone) // (TASKS_OF_A_THREAD * self._n_threads()), 1)
        loads: list[TaskLoad] = []
        room = 0
        for part, keys, all_keys, mine in zip(parts, wanted, behind, alone, strict=True):
            bare = part.with_piece(part.piece.loaded(None, None, None))
            if not mine:  # its rows are in memory somewhere, or others need what they are made of
                given = [key for key in keys if key is not None]
                loads.append(TaskLoad([bare], [keys], {}, list(dict.fromkeys(given))))
                room = 0
                continue
            if room == 0:
                loads.append(TaskLoad([], [], {}, []))
                room = together
            load = loads[-1]
            load.parts.append(bare)
            load.keys.append(keys)
            shared = [key for key in all_keys if users[key] > 1]
            load.outside.extend(key for key in shared if key not in load.outside)
            load.graph.update((key, self._graph[key]) for key in all_keys if users[key] == 1)
            room -= 1
        return [(Parcel(load), load) for load in loads]

    def _behind(self, keys: Sequence[Any]) -> dict[Any, None]:
        """Return all keys that some depend on, themselves included."""
        found: dict[Any, None] = {}
        waiting = [key for key in keys if key is not None]
        while waiting:
            key = waiting.pop()
            if key not in found:
                found[key] = None
                if key in self._graph:
                    waiting.extend(self._graph[key].dependencies)
        return found

    def _is_own(self, key: Any, users: Counter[Any]) -> bool:
        """Say whether a key can be made by the task of one partition alone.

        One that is not in the graph is in the memory of a worker. What is data, as a file that
        is open, may be for several partitions.
        """
        if key not in self._graph:
            return False
        return users[key] == 1 or isinstance(self._graph[key], self._spec.DataNode)

    def _n_threads(self) -> int:
        """Return how many tasks run at a time."""
        client = self._client
        if client is not None:
            return max(sum(client.nthreads().values()), 1)
        config = require("dask.config", "dask", PURPOSE)
        system = require("dask.system", "dask", PURPOSE)
        return max(int(config.get("num_workers", None) or system.CPU_COUNT), 1)

    # --- one pass ---

    def _tasks(self, one_pass: PartPass) -> tuple[dict[Any, Any], Any]:
        """Return the graph of a pass, and the key of its answer."""
        spec, token = self._spec, uuid.uuid4().hex
        sent = f"obliqua-pass-{token}"
        tasks: dict[Any, Any] = {sent: spec.DataNode(sent, Parcel(one_pass))}
        waiting: list[Any] = []
        for number, (packed, load) in enumerate(self._loads):
            key = (f"obliqua-answer-{token}", number)
            given = [spec.TaskRef(one) for one in load.outside]
            tasks[key] = spec.Task(key, _answers, spec.TaskRef(sent), packed, *given)
            waiting.append(key)
            for one in self._behind(load.outside):
                tasks[one] = self._graph.get(one, self._raw.get(one))
        level = 0
        while len(waiting) > 1:
            level += 1
            joined = []
            for first in range(0, len(waiting), JOINED_AT_ONCE):
                name = (f"obliqua-join-{token}", level, first)
                some = waiting[first : first + JOINED_AT_ONCE]
                if len(some) > 1:
                    given = [spec.TaskRef(one) for one in some]
                    tasks[name] = spec.Task(name, _join, spec.TaskRef(sent), *given)
                joined.append(name if len(some) > 1 else some[0])
            waiting = joined
        return tasks, waiting[0]

    @property
    def _client(self) -> Any:
        """The client of a cluster, if there is one."""
        client = getattr(self._get, "__self__", None)
        return client if hasattr(client, "nthreads") else None

    def _computed(self, tasks: dict[Any, Any], last: Any) -> Any:
        """Let a pass be done."""
        return self.done(lambda: self.get(tasks, [last]), PARTITION_TOO_LARGE)[0]

    def get(self, tasks: Any, keys: list[Any]) -> Sequence[Any]:
        """Let tasks be done, as Dask asks of a scheduler; a cluster that cannot go on is told of.

        Parameters
        ----------
        tasks : graph
            The tasks.
        keys : list
            Those whose values are wanted.

        Returns
        -------
        sequence
            These values.
        """
        client = self._client
        found: Sequence[Any] = (
            self._get(tasks, keys) if client is None else _waited(client, tasks, keys)
        )
        return found

    def done(self, work: Callable[[], Any], too_large: TooLarge) -> Any:
        """Let a cluster do some work; what becomes of it is told.

        Parameters
        ----------
        work : callable
            Waits for what the cluster does.
        too_large : TooLarge
            What is said if workers are lost.

        Returns
        -------
        object
            What it has found.
        """
        client = self._client
        if client is None:
            return work()
        try:
            if client.status == "running":
                return work()
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                called = self._called(error.args[0]) or too_large.called
                raise RuntimeError(
                    f"{called}: the workers that were at it were lost, one after another. "
                    "Most often the memory of a worker is too small for "
                    f"{too_large.what}; its log tells. {too_large.advice}"
                ) from error
            if client.status == "running":
                raise
            raise ConnectionError(CLOSED) from error
        raise ConnectionError(CLOSED)

    def _called(self, key: Any) -> str | None:
        """Return what messages call the partitions of a task; None if it is none of a pass."""
        if not (isinstance(key, tuple) and "obliqua-answer" in str(key[0])):
            return None
        names = [part.piece.name for part in self._loads[key[1]][1].parts]
        return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


CLOSED = (
    "The client of Dask was closed, or has lost its scheduler, while a tree was being grown. "
    "Nothing of it is kept: make a client, and start the fit again."
)
