"""The trees of a forest, grown side by side in threads."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import ceil, log2
from queue import SimpleQueue
from typing import Any

from obliqua._core.forest.trees import ForestData, TreeGrower
from obliqua._typing import AnyArray
from obliqua.forest.directions import BestOf
from obliqua.forest.levels import places_of
from obliqua.forest.samples import Sampling
from obliqua.tree.packed import PackedTrees

__all__ = ["ForestRules", "grow_forest", "most_terms"]

#: The compiled numbers of the criteria.
CRITERIA = {"gini": 0, "entropy": 1, "squared_error": 2}


@dataclass(frozen=True)
class ForestRules:
    """Where trees look for splits, and how far they grow; -1 sets no limit."""

    criterion: str
    n_classes: int  # 0: numbers
    n_axis: int  # columns that a node compares
    n_oblique: int = 2  # and directions
    most_terms: int = 2  # of a direction
    rows_per_term: float = 3.0  # that a node must have, or no direction is tried
    direction_rows: int = 256  # the most rows that a direction is fitted to
    ridge: float = 1e-3
    price: float = 1.0  # of a coefficient, in impurity that is left over, divided by rows
    max_depth: int = -1
    min_split: int = 2
    min_leaf: int = 1
    max_leaves: int = -1
    min_leaf_share: float = 0.0  # of the weight of all rows
    min_decrease: float = 0.0


def most_terms(n_features: int) -> int:
    """Return how many columns a direction has at most, if nothing else is said."""
    return min(n_features, 2 * ceil(log2(n_features) + 1))


def grow_forest(
    sampling: Sampling,
    rules: ForestRules,
    first: int,
    end: int,
    n_threads: int,
    time_limit: float | None = None,
    note: Callable[[int], None] | None = None,
    directions: Any = None,
) -> PackedTrees:
    """Grow trees `first` to `end` - 1, each from its sample; fewer if time is up, at least one.

    A tree depends on its number and the seed only. `note` is called in this thread with the
    number of trees that are there, as they come. `directions`: a proposer that is asked in the
    place of fitting directions.
    """
    rows = sampling.rows
    settings = asdict(rules) | {"criterion": CRITERIA[rules.criterion]}
    data = ForestData(rows, rows.target, settings)
    until = None if time_limit is None else time.monotonic() + time_limit
    ask = None if directions is None else BestOf(directions, rules.criterion, rules.n_classes)
    grown = _Grown(data, ask, sampling, first, end, until)
    workers = [
        threading.Thread(target=grown.work, daemon=True)
        for _ in range(max(min(n_threads, end - first), 1))
    ]
    begun: list[threading.Thread] = []
    try:
        for worker in workers:
            worker.start()
            begun.append(worker)
        n_there, n_done = 0, 0
        while n_done < len(workers):
            found = grown.news.get()
            if isinstance(found, BaseException):
                raise found
            n_done += found is None
            n_there += found is not None
            if n_there == 1 and found is not None and until is None:
                _check_memory(grown.trees[found], end)
            if note is not None and found is not None:
                note(n_there)
    finally:
        grown.stopped = True  # also after Ctrl-C: each worker ends with its tree
        for worker in begun:
            worker.join()
    trees = PackedTrees.of_grown(grown.beginning(), rows, rules.n_classes, rules.criterion)
    return trees.weighed_in(sampling.unit)


def _check_memory(tree: Mapping[str, AnyArray], n_trees: int) -> None:
    """Raise if so many trees like this one are more than the machine has memory for."""
    # Twice: at the end the trees stand beside the arrays into which they are packed.
    needed = 2 * n_trees * sum(array.nbytes for array in tree.values())
    there = _physical_memory()
    if there is not None and needed > there:
        raise MemoryError(
            f"The first of {n_trees} trees has {len(tree['child'])} nodes; to grow all takes "
            f"about {needed / 2**30:.3g} GiB, and this machine has {there / 2**30:.3g} GiB. "
            "Grow fewer trees (n_estimators), or smaller ones: with min_samples_leaf, "
            "max_leaf_nodes or max_samples."
        )


def _physical_memory() -> int | None:
    """Return how many bytes of memory there are; None where the system does not say."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # no such function, or no such number
        return None
    return found if found > 0 else None


class _Grown:
    """What workers share: which tree comes next, and what has been grown."""

    def __init__(
        self,
        data: ForestData,
        ask: BestOf | None,
        sampling: Sampling,
        first: int,
        end: int,
        until: float | None,
    ) -> None:
        self.data, self.ask, self.sampling, self.until = data, ask, sampling, until
        self.next, self.first, self.end = first, first, end
        self.trees: dict[int, Any] = {}
        self.news: SimpleQueue[int | BaseException | None] = SimpleQueue()
        self.lock = threading.Lock()
        self.stopped = False

    def work(self) -> None:
        """Grow one tree after another until there is none left, or time is up."""
        try:
            grower = TreeGrower(self.data, self.ask)
            while (number := self._take()) is not None:
                weights, times = self.sampling.of_tree(number)
                numbers = self.sampling.level_numbers(number, weights, times)
                tree = grower.grow(
                    weights,
                    times,
                    self.sampling.tree_key(number),
                    numbers,
                    places_of(numbers, self.sampling.rows.level_ptr),
                )
                self.trees[number] = {**tree, "level": numbers}
                self.news.put(number)
        except BaseException as error:  # told to the thread that waits
            self.news.put(error)
        self.news.put(None)

    def _take(self) -> int | None:
        with self.lock:
            late = self.until is not None and time.monotonic() >= self.until
            if self.stopped or self.next >= self.end or (late and self.next > self.first):
                return None
            self.next += 1
            return self.next - 1

    def beginning(self) -> list[Any]:
        """Return the trees from the first one on, without a gap."""
        found: list[Any] = []
        while self.first + len(found) in self.trees:
            found.append(self.trees[self.first + len(found)])
        return found
