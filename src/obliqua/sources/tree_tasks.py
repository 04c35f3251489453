"""Trees of a forest as tasks of Dask: rows are sent once to each worker, and trees grow there."""

from __future__ import annotations

import math
from typing import Any

from obliqua._extras import require
from obliqua.forest.growing import ForestRules, grow_forest
from obliqua.forest.samples import Sampling
from obliqua.sources.dask import DaskTasks, TooLarge
from obliqua.tree.packed import PackedTrees

__all__ = ["grown_by_tasks"]

#: Tasks for each thread of a cluster, so that none waits long for the last one.
TASKS_PER_THREAD = 4
#: The share of a worker's memory that rows may take; as much again is needed to grow trees.
SHARE_OF_WORKER = 0.25
TOO_LARGE = TooLarge(
    "A task that grows trees",
    "the rows that trees draw, and for trees",
    "Give a smaller max_samples, or workers with more memory.",
)
PURPOSE = "dask", "Growing trees as tasks of Dask"


def _rows(sampling: Sampling) -> Sampling:
    """Return what was sent: a task of its own, so that workers get it from each other."""
    return sampling


def _some_trees(
    sampling: Sampling, rules: ForestRules, first: int, end: int, directions: Any
) -> PackedTrees:
    return grow_forest(sampling, rules, first, end, 1, directions=directions)


def grown_by_tasks(
    run: Any, sampling: Sampling, rules: ForestRules, first: int, end: int, directions: Any
) -> PackedTrees | None:
    """Grow trees `first` to `end` - 1 by tasks; None if threads of this machine should.

    They should if passes are not mapped by Dask, if it has not been told who works, or if rows do
    not fit in the memory of a worker. A task holds no state: what is lost is done again.
    """
    if not isinstance(run, DaskTasks):
        return None
    dask: Any = require("dask", *PURPOSE)
    base: Any = require("dask.base", *PURPOSE)
    if base.get_scheduler() is None:
        return None
    n_threads, memory = _workers()
    if memory is not None and _bytes(sampling) > SHARE_OF_WORKER * memory:
        return None
    size = max(math.ceil((end - first) / (TASKS_PER_THREAD * n_threads)), 1)
    # A large graph is what is wanted here: it holds the rows, once.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
        sent = dask.delayed(_rows, pure=False)(dask.delayed(sampling, traverse=False))
        grow = dask.delayed(_some_trees, pure=False)
        tasks = [
            grow(sent, rules, begin, min(begin + size, end), directions)
            for begin in range(first, end, size)
        ]
        found = run.done(lambda: dask.compute(*tasks, scheduler=run.get), TOO_LARGE)
    trees: PackedTrees = found[0]
    for more in found[1:]:
        trees = trees.joined_to(more)
    return trees


def _workers() -> tuple[int, int | None]:
    """Return the threads of an active client's workers, and the memory of the smallest."""
    base: Any = require("dask.base", *PURPOSE)
    system: Any = require("dask.system", *PURPOSE)
    scheduler = base.get_scheduler()
    client: Any = getattr(scheduler, "__self__", None)
    if not hasattr(client, "nthreads"):
        return system.CPU_COUNT, None
    threads = client.nthreads()
    limits = client.run_on_scheduler(_memory_limits)
    return max(sum(threads.values()), 1), min((limit for limit in limits if limit), default=None)


def _memory_limits(dask_scheduler: Any) -> list[int]:
    """Return what the workers of a scheduler may take of memory, 0 for no limit."""
    return [worker.memory_limit for worker in dask_scheduler.workers.values()]


def _bytes(sampling: Sampling) -> int:
    """Return how much memory rows take."""
    rows = sampling.rows
    arrays = (rows.Z, rows.rank, rows.x, rows.keys, rows.pieces, rows.weights, rows.target)
    return sum(int(array.nbytes) for array in arrays)
