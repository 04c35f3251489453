"""Subtree raising: the largest branch of a split in the place of the split (Quinlan 1993).

Nodes keep the numbers that they have in the whole tree. What changes is whose children they are,
and which rows reach them: when a branch is raised, the rows of its siblings are sent down it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.engine.search import by_function
from obliqua.tree.layout import renumber
from obliqua.tree.tree import Tree

NO_NODE = -1

Expected = Callable[[FloatArray], FloatArray]
Steps = list[tuple[Callable[[int], "Steps"], int]]


@dataclass(frozen=True)
class _Trial:
    """What would be if the rows of its siblings were sent down a branch."""

    nodes: list[int]  # of the branch, in level order
    rows: dict[int, Int64Array]  # the new rows of each leaf that gets some
    counts: FloatArray  # their class sums in grid units, leaf after leaf
    errors: float  # what the branch would be expected to err


class _Raising:
    """The tree while it is pruned.

    `rows` are those of the leaves, `counts` the class sums of all nodes in grid units, `as_leaf`
    what each node is expected to err as a leaf, and `errors` what its pruned subtree is. A node
    is `settled` if nothing has changed below it since it was pruned; in its place stands
    `standing`, which is another node if a branch was raised.
    """

    def __init__(self, tree: Tree, problem: Problem, expected: Expected, slack: float) -> None:
        n_nodes = tree.n_nodes
        self.tree = tree
        # What a tree says of the origins of its splits is of no use on the way, and may be long.
        self.questions = {**tree.to_arrays(), "origin_labels": ()}
        self.problem = problem
        self.expected = expected
        self.slack = slack
        self.kept = NO_NODE
        first, count = tree.first_child.tolist(), tree.n_children.tolist()
        self.children = [list(range(a, a + n)) for a, n in zip(first, count, strict=True)]
        leaves = np.flatnonzero(tree.is_leaf).tolist()
        self.rows = {leaf: np.empty(0, dtype=np.int64) for leaf in leaves}
        self.counts = np.zeros((n_nodes, tree.n_stats))
        self.errors = [0.0] * n_nodes
        self.settled = [False] * n_nodes
        self.standing = list(range(n_nodes))
        self.raised = [0] * n_nodes
        self.cut = np.zeros(n_nodes, dtype=bool)
        self.is_leaf = tree.is_leaf.copy()
        every = np.arange(problem.n_rows)
        nodes = list(range(n_nodes))
        self._receive(nodes, *self._shared_out(nodes, every, tree.apply(problem.Z)))
        self.as_leaf = self._leaf_errors(self.counts)
        self.grown = self.counts.sum(axis=1)
        self.moved = np.zeros(n_nodes, dtype=bool)

    # -- rows -------------------------------------------------------------------------------

    def _shared_out(
        self, nodes: list[int], rows: Int64Array, reached: Int64Array
    ) -> tuple[dict[int, Int64Array], FloatArray]:
        """Return the rows of each leaf that is reached, and their class sums."""
        order = np.argsort(reached, kind="stable")
        places, starts = np.unique(reached[order], return_index=True)
        parts = np.split(rows[order], starts[1:]) if len(places) else []
        leaves = [nodes[place] for place in places.tolist()]
        n_stats = self.tree.n_stats
        cells = np.searchsorted(places, reached) * n_stats + self.problem.y[rows]
        weights = None if self.problem.weights is None else self.problem.weights[rows]
        sums = np.bincount(cells, weights, minlength=len(places) * n_stats).astype(np.float64)
        return dict(zip(leaves, parts, strict=True)), sums.reshape(-1, n_stats)

    def _receive(
        self, nodes: list[int], rows: dict[int, Int64Array], counts: FloatArray
    ) -> list[int]:
        """Rows reach leaves among nodes in level order; returns the nodes that they pass."""
        more = dict(zip(rows, counts, strict=True))
        passed = []
        for leaf, part in rows.items():
            self.rows[leaf] = np.append(self.rows[leaf], part)
        # Children stand behind their parent, so they are done before it.
        for node in reversed(nodes):
            below = [more[kid] for kid in self.children[node] if kid in more]
            if below:
                more[node] = below[0] if len(below) == 1 else np.sum(below, axis=0)
            if node in more:
                self.counts[node] += more[node]
                self.settled[node] = False
                passed.append(node)
        return passed

    def _under(self, top: int) -> list[int]:
        """All nodes below a node and itself, in level order."""
        nodes = [top]
        for node in nodes:
            nodes.extend(self.children[node])
        return nodes

    def _rows_under(self, tops: list[int]) -> Int64Array:
        parts = [
            self.rows[node] for top in tops for node in self._under(top) if not self.children[node]
        ]
        return np.concatenate(parts)

    def _part(self, arrays: dict[str, Any], nodes: list[int]) -> Tree:
        """Make a tree of nodes that stand in level order."""
        return Tree(**renumber(arrays, np.array(nodes, dtype=np.int64), self.cut))

    def _leaf_errors(self, counts: FloatArray) -> FloatArray:
        return self.expected(counts * self.problem.unit)

    # -- pruning ----------------------------------------------------------------------------

    def prune(self, keep_root: bool) -> int:
        """Prune everything; returns the node that stands at the top."""
        # Not by recursion: trees may be deeper than that goes. The last step is done first.
        waiting: Steps = [(self._descend, 0)]
        self.kept = 0 if keep_root else NO_NODE
        while waiting:
            step, node = waiting.pop()
            waiting.extend(step(node))
        return self.standing[0]

    def _descend(self, node: int) -> Steps:
        """Prune what is below a node, then the node."""
        if self.settled[node]:
            return []
        return [(self._settle, node), *((self._descend, kid) for kid in self.children[node])]

    def _settle(self, node: int) -> Steps:
        """Leave a split whose children are settled, cut it, or raise its largest branch."""
        self.settled[node] = True
        kids = self.children[node] = [self.standing[kid] for kid in self.children[node]]
        as_leaf = float(self.as_leaf[node])
        self.errors[node] = sum(self.errors[kid] for kid in kids) if kids else as_leaf
        if not kids or node == self.kept:
            return []
        limit = self.errors[node] + self.slack
        largest = kids[int(np.argmax(self.counts[kids].sum(axis=1)))]
        trial = None
        if self.children[largest]:
            trial = self._try(largest, [kid for kid in kids if kid != largest])
        as_branch = inf if trial is None else trial.errors
        if as_leaf <= limit and as_leaf <= as_branch + self.slack:
            self._cut(node)
        elif trial is not None and as_branch <= limit:
            passed = self._receive(trial.nodes, trial.rows, trial.counts)
            self.as_leaf[passed] = self._leaf_errors(self.counts[passed])
            self.moved[passed] = True
            self.raised[node] = largest
            return [(self._replace, node), (self._descend, largest)]
        return []

    def _replace(self, node: int) -> Steps:
        """Put what stands in the place of the largest branch in the place of a node."""
        self.standing[node] = self.standing[self.raised[node]]
        return []

    def _try(self, branch: int, siblings: list[int]) -> _Trial:
        nodes, rows = self._under(branch), self._rows_under(siblings)
        reached = self._part(self.questions, nodes).apply(self.problem.Z[rows])
        shared = self._shared_out(nodes, rows, reached)
        errors = self.as_leaf[nodes]
        errors[np.unique(reached)] = self._leaf_errors(self.counts[list(shared[0])] + shared[1])
        return _Trial(nodes, *shared, float(errors[self.is_leaf[nodes]].sum()))

    def _cut(self, node: int) -> None:
        self.rows[node] = self._rows_under(self.children[node])
        self.children[node] = []
        self.errors[node] = float(self.as_leaf[node])
        self.cut[node] = self.is_leaf[node] = True

    # -- the result -------------------------------------------------------------------------

    def result(self, top: int, criterion: Criterion | None) -> Tree:
        """Make the pruned tree; what was raised has the rows that reach it now."""
        nodes = self._under(top)
        tree = self._part(self.tree.to_arrays(), nodes)
        moved = self.moved[nodes]
        if not moved.any():
            return tree
        stats, gain, axis_gain = tree.stats.copy(), tree.gain.copy(), tree.axis_gain.copy()
        n_samples = tree.n_samples.copy()
        for place in reversed(np.flatnonzero(moved).tolist()):
            first, count = int(tree.first_child[place]), int(tree.n_children[place])
            if count:
                n_samples[place] = n_samples[first : first + count].sum()
                gain[place] = self._gain(nodes[place], float(gain[place]), criterion)
            else:
                n_samples[place] = len(self.rows[nodes[place]])
        axis_gain[moved] = np.nan
        stats[moved] = self.counts[nodes][moved] * self.problem.unit
        return replace(tree, stats=stats, n_samples=n_samples, gain=gain, axis_gain=axis_gain)

    def _gain(self, node: int, gain: float, criterion: Criterion | None) -> float:
        """Return the gain of a split that more rows reach than when it was made."""
        counts, kids = self.counts[node], self.children[node]
        if criterion is not None and len(kids) == 2:
            left, right = self.counts[kids]
            if criterion.code < 0:
                sums, whole = left[None, :].astype(np.int64), counts.astype(np.int64)
                goodness = float(by_function(criterion, sums, whole, self.problem.unit)[0])
            else:
                goodness = float(criterion.goodness(left, right))
            return float(counts.sum()) / self.problem.total_weight * goodness
        # A split that no row had reached was cut before it could be raised.
        return gain * float(counts.sum() / self.grown[node])


def raised(
    tree: Tree,
    problem: Problem,
    expected: Expected,
    slack: float,
    prune_root: bool,
    criterion: Criterion | None,
) -> Tree:
    """Prune a tree by replacing subtrees with leaves or with their largest branches."""
    work = _Raising(tree, problem, expected, slack)
    return work.result(work.prune(keep_root=not prune_root), criterion)
