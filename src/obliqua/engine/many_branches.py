"""Growing trees of many branches, for methods that divide their nodes by themselves."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.criteria import Criterion, get_criterion, node_numbers
from obliqua.data.problem import Problem
from obliqua.engine.rules import Rules
from obliqua.engine.search import function_scores
from obliqua.tree.builder import TreeBuilder
from obliqua.tree.tree import Tree

__all__ = ["BranchingGrowth", "BranchingNode", "Division", "goodness_of_branches"]


class BranchingNode(NamedTuple):
    """A node that waits, and the sums that its parent has found."""

    name: int
    rows: Int64Array
    depth: int
    counts: Int64Array
    key: int
    path: tuple[int, ...]  # branches from the root, where the order of growth asks for it


@dataclass(frozen=True, eq=False)
class Division:
    """How a node is divided."""

    branches: AnyArray  # of each row
    counts: Int64Array  # class sums of the branches
    gain: float


D = TypeVar("D", bound=Division)
_Waiting = list[tuple[float, tuple[int, ...], BranchingNode, D]]


class BranchingGrowth(ABC, Generic[D]):
    """A growing tree; a method says how a node is divided."""

    def __init__(self, problem: Problem, rules: Rules) -> None:
        self.problem = problem
        self.rules = rules
        self.best_first = rules.best_first or rules.max_leaf_nodes is not None
        self.builder = TreeBuilder(problem.n_features, problem.n_classes)
        self.n_nodes = 0

    @abstractmethod
    def _divisions(self, nodes: list[BranchingNode]) -> Iterable[D | None]:
        """Find how nodes are divided; None for one that stays a leaf."""

    @abstractmethod
    def _describe(self, node: BranchingNode, division: D, names: list[int]) -> None:
        """Tell the builder of a split, whose branches have these names."""

    def _narrowed(self, node: BranchingNode, division: D, most: int) -> D | None:
        """Divide a node into fewer branches, at most so many, if the method can."""
        return None

    def run(self, key: int = 0) -> Tree:
        """Grow the tree."""
        every = np.arange(self.problem.n_rows)
        counts = self._sums(every, np.zeros(len(every), dtype=np.int64), 1)[0]
        new = [self._new(every, 0, counts, key & (2**64 - 1), ())]
        most = self.rules.max_leaf_nodes or self.problem.n_rows
        leaves = 1
        waiting: _Waiting[D] = []
        while new or waiting:
            for node, division in zip(new, self._divisions(new), strict=True):
                self._wait(waiting, node, division)
            new = []
            while waiting and not (new and self.best_first):
                _, _, node, found = (heapq.heappop if self.best_first else list.pop)(waiting)
                allowed = most - leaves + 1
                if not self.best_first or len(found.counts) <= allowed:
                    leaves += len(found.counts) - 1
                    new += self._split(node, found)
                else:
                    # It gains less with fewer branches, so another node may come before it. If it
                    # stays a leaf, a node with fewer branches may still fit.
                    narrow = self._narrowed(node, found, allowed) if allowed > 1 else None
                    self._wait(waiting, node, narrow)
        return replace(self.builder.build(), costs=self.problem.target.costs)

    def _wait(self, waiting: _Waiting[D], node: BranchingNode, division: D | None) -> None:
        """Let a node wait for its turn; without a division it is a leaf.

        The largest gain comes first, at ties the node that is first in path order.
        """
        if division is None:
            self.builder.set_leaf(node.name, self._stats(node), len(node.rows))
        elif self.best_first:
            heapq.heappush(waiting, (-division.gain, node.path, node, division))
        else:
            waiting.append((0.0, (), node, division))

    def _new(
        self, rows: Int64Array, depth: int, counts: Int64Array, key: int, path: tuple[int, ...]
    ) -> BranchingNode:
        self.n_nodes += 1
        path = path if self.best_first else ()
        return BranchingNode(self.n_nodes, rows, depth, counts, key, path)

    def _split(self, node: BranchingNode, division: D) -> list[BranchingNode]:
        """Describe a split; returns its branches."""
        order = np.argsort(division.branches, kind="stable")
        ends = np.cumsum(np.bincount(division.branches, minlength=len(division.counts)))
        parts = np.split(node.rows[order], ends[:-1])
        children = [
            self._new(rows, node.depth + 1, sums, child_key(node.key, k), (*node.path, k))
            for k, (rows, sums) in enumerate(zip(parts, division.counts, strict=True))
        ]
        self._describe(node, division, [child.name for child in children])
        return children

    def _stats(self, node: BranchingNode) -> FloatArray:
        return np.asarray(node.counts * self.problem.unit)

    def _sums(self, rows: Int64Array, branches: AnyArray, n_branches: int) -> Int64Array:
        """Return the class sums of branches."""
        n_classes = self.problem.n_classes
        cells = branches * n_classes + self.problem.y[rows]
        weights = None if self.problem.weights is None else self.problem.weights[rows]
        sums = np.bincount(cells, weights, minlength=n_branches * n_classes)
        return sums.astype(np.int64).reshape(n_branches, n_classes)


def goodness_of_branches(counts: Int64Array, criterion: Criterion, unit: float = 1.0) -> float:
    """Return how good a division into several branches is, in whatever order they stand.

    Of two branches it is the criterion itself. Of more it is what the measure says of all of them
    together, if it can: entropy, Gini, sum_minority and sum_variances are the decrease of an
    impurity, the gain ratio is the information gain over the information of the division,
    node_variances is the variance between the branches, and max_minority looks at the worst one.
    Twoing and functions know two sides only: they judge each branch against all others together,
    and the best of these divisions counts.
    """
    total = counts.sum(axis=0)
    if len(counts) > 2 and criterion.code >= 0 and criterion.name != "twoing":
        if criterion.name == "max_minority":
            worst = (counts.sum(axis=1) - counts.max(axis=1)).max()
            return float((total.sum() - total.max() - worst) / total.sum())
        if criterion.name == "node_variances":
            sizes, number = counts.sum(axis=1), node_numbers(total)
            if int(total.sum()) * len(total) > 2**62:  # sums of numbers have more than 64 bits
                counts, total, sizes = (v.astype(object) for v in (counts, total, sizes))
            off = counts @ number / sizes - total @ number / total.sum()
            return float(sizes @ (off * off) / total.sum())
        if criterion.name == "gain_ratio":
            entropy = get_criterion("entropy")
            sizes = np.diag(counts.sum(axis=1))  # as if each branch were a class
            return chained_goodness(counts, entropy) / chained_goodness(sizes, entropy)
        return chained_goodness(counts, criterion)
    sides = counts if len(counts) > 2 else counts[:1]
    if criterion.code < 0:
        return float(function_scores(criterion, sides * unit, (total - sides) * unit).max())
    return float(criterion.goodness(sides, total - sides).max())


def chained_goodness(counts: Int64Array, criterion: Criterion) -> float:
    """Return the decrease of an impurity by a division into several branches.

    The first branch is divided from all others, then the second from the rest, and so on; each
    step counts with its share of the weight. What lies between two steps cancels out.
    """
    total, goodness = int(counts.sum()), 0.0
    for k in range(len(counts) - 1):
        rest = counts[k + 1 :].sum(axis=0)
        share = (int(counts[k].sum()) + int(rest.sum())) / total
        goodness += share * float(criterion.goodness(counts[k], rest))
    return goodness
