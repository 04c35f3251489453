"""Subtree raising: the largest branch of a split in the place of the split (Quinlan 1993).

Nodes keep the numbers that they have in the whole tree. What changes is whose children they are,
and which rows reach them: when a branch is raised, the rows of its siblings are sent down it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from obliqua._layout import renumber
from obliqua._typing import FloatArray, Int64Array
from obliqua.criteria import Criterion
from obliqua.data import Problem
from obliqua.tree import Tree

Expected = Callable[[FloatArray], FloatArray]


class _Raising:
    """The tree while it is pruned.

    `rows` are those of the leaves, `counts` the class sums of all nodes in grid units, and
    `errors` what each pruned subtree is expected to err.
    """

    def __init__(self, tree: Tree, problem: Problem, expected: Expected, worth: float) -> None:
        self.tree = tree
        self.problem = problem
        self.expected = expected
        self.worth = worth
        self.children: list[list[int]] = [
            list(range(first, first + count))
            for first, count in zip(
                tree.first_child.tolist(), tree.n_children.tolist(), strict=True
            )
        ]
        self.rows: dict[int, Int64Array] = {}
        self.counts = np.zeros((tree.n_nodes, tree.n_stats))
        self.errors = [0.0] * tree.n_nodes
        self.moved = np.zeros(tree.n_nodes, dtype=bool)
        reached = tree.apply(problem.Z)
        self._receive(list(range(tree.n_nodes)), np.arange(problem.n_rows), reached)

    # -- rows -------------------------------------------------------------------------------

    def _receive(self, nodes: list[int], rows: Int64Array, reached: Int64Array) -> None:
        """Rows reach leaves among nodes that stand in level order; sums are taken anew."""
        order = np.argsort(reached, kind="stable")
        leaves, starts = np.unique(reached[order], return_index=True)
        parts = np.split(rows[order], starts[1:]) if len(leaves) else []
        new = {nodes[leaf]: part for leaf, part in zip(leaves.tolist(), parts, strict=True)}
        for node in reversed(nodes):
            kids = self.children[node]
            if kids:
                self.counts[node] = self.counts[kids].sum(axis=0)
                continue
            if node in new:
                old = self.rows.get(node)
                self.rows[node] = new[node] if old is None else np.append(old, new[node])
                self.counts[node] += self._sums(new[node])
            self.rows.setdefault(node, np.empty(0, dtype=np.int64))

    def _sums(self, rows: Int64Array) -> FloatArray:
        weights = None if self.problem.weights is None else self.problem.weights[rows]
        sums = np.bincount(self.problem.y[rows], weights, minlength=self.tree.n_stats)
        return sums.astype(np.float64)

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

    def part(self, nodes: list[int]) -> Tree:
        """Make a tree of nodes that stand in level order."""
        cut = np.zeros(self.tree.n_nodes, dtype=bool)
        cut[[node for node in nodes if not self.children[node]]] = True
        cut &= ~self.tree.is_leaf
        return Tree(**renumber(self.tree.to_arrays(), np.array(nodes, dtype=np.int64), cut))

    def _leaf_errors(self, counts: FloatArray) -> FloatArray:
        return self.expected(counts * self.problem.unit)

    # -- pruning ----------------------------------------------------------------------------

    def prune(self, keep_root: bool) -> int:
        """Prune everything; returns the node that stands at the top."""
        standing = list(range(self.tree.n_nodes))
        # What is to be done, the last first: (node, None): prune what is below it, then it;
        # (node, node): its children are settled; (node, branch): the branch takes its place.
        waiting: list[tuple[int, int | None]] = [(0, None)]
        while waiting:
            node, what = waiting.pop()
            if not self.children[node]:
                standing[node] = node
                self.errors[node] = float(self._leaf_errors(self.counts[node]))
            elif what is None:
                waiting.append((node, node))
                waiting.extend((kid, None) for kid in self.children[node])
            elif what != node:
                standing[node] = standing[what]
            else:
                self.children[node] = [standing[kid] for kid in self.children[node]]
                self.errors[node] = sum(self.errors[kid] for kid in self.children[node])
                standing[node] = node
                if keep_root and node == 0:
                    continue
                branch = self._settle(node)
                if branch is not None:
                    waiting.extend([(node, branch), (branch, None)])
        return standing[0]

    def _settle(self, node: int) -> int | None:
        """Leave a split, cut it, or return the branch that is to take its place."""
        kids = self.children[node]
        as_leaf = float(self._leaf_errors(self.counts[node]))
        largest = kids[int(np.argmax(self.counts[kids].sum(axis=1)))]
        as_branch, found = inf, None
        if self.children[largest]:
            nodes = self._under(largest)
            rows = self._rows_under([kid for kid in kids if kid != largest])
            reached = self.part(nodes).apply(self.problem.Z[rows])
            found = nodes, rows, reached
            as_branch = self._errors_with(*found)
        if as_leaf <= self.errors[node] + self.worth and as_leaf <= as_branch + self.worth:
            self.rows[node] = self._rows_under(kids)
            self.children[node] = []
            self.errors[node] = as_leaf
            return None
        if found is None or as_branch > self.errors[node] + self.worth:
            return None
        self._receive(*found)
        self.moved[found[0]] = True
        return largest

    def _errors_with(self, nodes: list[int], rows: Int64Array, reached: Int64Array) -> float:
        """What a subtree is expected to err if more rows reach its leaves."""
        n_stats = self.tree.n_stats
        cells = reached * n_stats + self.problem.y[rows]
        weights = None if self.problem.weights is None else self.problem.weights[rows]
        more = np.bincount(cells, weights, minlength=len(nodes) * n_stats)
        leaves = [place for place, node in enumerate(nodes) if not self.children[node]]
        counts = self.counts[nodes] + more.reshape(-1, n_stats)
        return float(self._leaf_errors(counts[leaves]).sum())

    # -- the result -------------------------------------------------------------------------

    def result(self, top: int, criterion: Criterion | None) -> Tree:
        """Make the pruned tree; what was raised has the rows that reach it now."""
        nodes = self._under(top)
        tree = self.part(nodes)
        if not self.moved.any():
            return tree
        counts, moved = self.counts[nodes], self.moved[nodes]
        stats, gain, axis_gain = tree.stats.copy(), tree.gain.copy(), tree.axis_gain.copy()
        n_samples = tree.n_samples.copy()
        for place in reversed(np.flatnonzero(moved).tolist()):
            node = nodes[place]
            first, count = int(tree.first_child[place]), int(tree.n_children[place])
            kids = slice(first, first + count)
            n_samples[place] = n_samples[kids].sum() if count else len(self.rows[node])
            if count == 0:
                continue
            if criterion is not None and count == 2:
                goodness = float(criterion.goodness(*counts[kids]))
                gain[place] = counts[place].sum() / self.problem.total_weight * goodness
            elif gain[place]:
                gain[place] *= counts[place].sum() * self.problem.unit / stats[place].sum()
            axis_gain[place] = np.nan
        stats[moved] = counts[moved] * self.problem.unit
        return replace(tree, stats=stats, n_samples=n_samples, gain=gain, axis_gain=axis_gain)


def raised(
    tree: Tree,
    problem: Problem,
    expected: Expected,
    worth: float,
    prune_root: bool,
    criterion: Criterion | None,
) -> Tree:
    """Prune a tree by replacing subtrees with leaves or with their largest branches.

    Parameters
    ----------
    tree : Tree
        The tree.
    problem : Problem
        The rows that it was grown from.
    expected : callable
        Gives the errors to expect in leaves with these class sums.
    worth : float
        So many errors more than those of the split are allowed to what takes its place.
    prune_root : bool
        Whether the root's split may be replaced too.
    criterion : Criterion or None
        Measures the gains of raised splits.

    Returns
    -------
    Tree
        The pruned tree.
    """
    work = _Raising(tree, problem, expected, worth)
    return work.result(work.prune(keep_root=not prune_root), criterion)
