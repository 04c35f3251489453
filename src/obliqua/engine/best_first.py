"""Growing best first: the node whose split gains most is divided next.

With several threads nodes are divided ahead of need: those whose turn is next, each by a thread of
its own, which also looks for the splits of their children. What a node becomes does not depend on
when that is done, so the tree is the same; only of the last nodes a few are looked at in vain.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["grow_best_first"]

Waiting = list[tuple[float, int, Any]]

AHEAD = 4  # nodes for each thread: enough to share large and small ones out evenly


def grow_best_first(growth: Any, root: Any, most: int) -> None:
    """Grow a tree of at most so many leaves."""
    waiting: Waiting = []
    leaves = 1

    def put(node: Any) -> None:
        if node.split is None:
            growth.records.leaf(node)
        else:
            # Equal gains: the node first in path order; windows never overlap.
            heapq.heappush(waiting, (-node.split.gain, node.start, node))

    growth.consider(root)
    put(root)
    hands = _Hands(growth) if growth.can_hurry else None
    while waiting and leaves < most:
        if hands is not None and waiting[0][2].children is None:
            hands.hurry(waiting, most - leaves)
        node = heapq.heappop(waiting)[2]
        leaves += 1
        if node.children is None:
            node.children = growth.divide(node)
            for child in node.children:
                growth.consider(child)
        for child in growth.keep(node, node.children):
            put(child)
        node.children = None
    for _, _, node in waiting:
        growth.records.leaf(node)
    if hands is not None:
        hands.close()


class _Hands:
    """Workers that divide nodes ahead of need."""

    def __init__(self, growth: Any) -> None:
        self.growth = growth
        self.free: list[Any] = []

    def hurry(self, waiting: Waiting, left: int) -> None:
        """Divide the nodes whose turn is next, if there may be so many more."""
        n_threads = self.growth.n_threads
        turn = heapq.nsmallest(min(AHEAD * n_threads, left), waiting)
        nodes = [node for _, _, node in turn if node.children is None]
        # The largest first, so that no thread is left with a long task at the end.
        nodes.sort(key=lambda node: (-node.rows, node.start))
        if len(nodes) > 1 and 2 * nodes[0].rows * n_threads < 3 * sum(node.rows for node in nodes):
            self._each(_divide, nodes, nodes[0].rows)
            return
        # One large node is divided by all threads together, its children one by each.
        node = nodes[0]
        node.children = self.growth.divide(node)
        self._each(_consider, node.children, max(child.rows for child in node.children))

    def _each(self, task: Callable[[Any, Any], None], nodes: Iterable[Any], room: int) -> None:
        """Let workers do something to each node, none of which has more than `room` rows."""
        growth = self.growth
        while len(self.free) < growth.n_threads:
            # The first of these nodes are the children of the root: all others are smaller.
            self.free.append(growth.worker(room))

        def one(node: Any) -> None:
            worker = self.free.pop()
            try:
                task(worker, node)
            finally:
                self.free.append(worker)

        growth.each(one, nodes)

    def close(self) -> None:
        """Give back the memory of the workers."""
        for worker in self.free:
            if worker.method is not None:
                worker.method.close()


def _consider(worker: Any, node: Any) -> None:
    worker.consider(node)


def _divide(worker: Any, node: Any) -> None:
    children = worker.divide(node)
    for child in children:
        worker.consider(child)
    node.children = children
