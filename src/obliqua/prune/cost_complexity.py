"""Cost-complexity pruning (Breiman et al. 1984, chapter 3).

The risk of a node as a leaf is the share of the training weight that it would misclassify, or what
that costs in a tree with costs; of numbers, the sum of squared distances from the mean (of a tree
that says medians, of distances from them), over the training weight. A split's link
``g = (risk as a leaf - risk of its subtree) / (leaves - 1)`` says what each extra leaf saves. All
splits with the smallest link are cut at once, again and again; this gives a sequence of nested
trees, of which held-out rows or cross-validation choose one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from math import fsum, inf, sqrt
from typing import Any

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.data.number_targets import with_loss
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS, Numbers
from obliqua.prune.division import folds
from obliqua.prune.reduced_error import node_errors
from obliqua.tree.surgery import collapse
from obliqua.tree.tree import Tree

__all__ = [
    "NestedTrees",
    "PruningPath",
    "beginnings",
    "cost_complexity_path",
    "prune_alike",
    "prune_by_folds",
    "prune_on_rows",
]


@dataclass(frozen=True, eq=False)
class NestedTrees:
    """Trees of which each is a part of the one before, from a whole tree (step 0) on.

    Parameters
    ----------
    tree : Tree
        The whole tree.
    n_leaves : ndarray of int, of shape (n_steps,)
        The leaves of the tree of each step.
    cut_step : ndarray of int, of shape (n_nodes,)
        The step at which each node would become a leaf: 0 for the leaves of the whole tree,
        `n_steps` for never.
    gone_step : ndarray of int, of shape (n_nodes,)
        The step at which a node above it becomes a leaf; `n_steps` for never.
    """

    tree: Tree
    n_leaves: Int64Array
    cut_step: Int64Array
    gone_step: Int64Array

    def __len__(self) -> int:
        return len(self.n_leaves)

    def at(self, step: int) -> Tree:
        """Return the tree of a step.

        Parameters
        ----------
        step : int
            The step, from 0 to ``len(path) - 1``.

        Returns
        -------
        Tree
            The tree, cut back.
        """
        return collapse(self.tree, np.flatnonzero(~self.tree.is_leaf & (self.cut_step <= step)))

    def errors(self, problem: Problem) -> FloatArray:
        """Return what rows cost with the tree of each step.

        Parameters
        ----------
        problem : Problem
            The rows.

        Returns
        -------
        ndarray of shape (n_steps,)
            The weight of rows in a wrong class, or weighted squared errors, in the problem's grid
            units of weight.
        """
        return self.errors_of_nodes(node_errors(self.tree, problem))

    def errors_of_nodes(self, as_leaf: FloatArray) -> FloatArray:
        """Return what the tree of each step costs, from what nodes cost.

        Parameters
        ----------
        as_leaf : ndarray of shape (n_nodes,)
            What each node costs as a leaf.

        Returns
        -------
        ndarray of shape (n_steps,)
            The sum over the leaves of each step's tree.
        """
        return _over_steps(as_leaf, self.cut_step, self.gone_step, len(self))


@dataclass(frozen=True, eq=False)
class PruningPath(NestedTrees):
    """The nested trees of cost-complexity pruning.

    Parameters
    ----------
    tree, n_leaves, cut_step, gone_step
        As for `NestedTrees`.
    alphas : ndarray of shape (n_steps,)
        From this price per leaf on the tree of the step is the best one, in shares of the
        training weight; 0 for step 0. Step 1 has 0 too if there are splits that save nothing.
    risks : ndarray of shape (n_steps,)
        The share of the training weight that the tree of the step misclassifies; of numbers,
        the mean squared error.
    """

    alphas: FloatArray
    risks: FloatArray

    def at_alpha(self, alpha: float) -> Tree:
        """Return the best tree at a price per leaf.

        Parameters
        ----------
        alpha : float
            The price of a leaf, as a share of the training weight.

        Returns
        -------
        Tree
            The tree with the smallest sum of risk and price of all leaves; of several the
            smallest.
        """
        return self.at(int(self._step_of(alpha)))

    def _middles(self) -> FloatArray:
        """Return a price per leaf for each step: the geometric middle of where it is best."""
        roots = np.sqrt(self.alphas)
        return np.append(roots[:-1] * roots[1:], inf)

    def _step_of(self, alpha: float | FloatArray) -> Int64Array:
        """Return the step that is best at a price per leaf."""
        return np.searchsorted(self.alphas, alpha, side="right") - 1


def cost_complexity_path(tree: Tree, prune_root: bool = True) -> PruningPath:
    """Find the nested trees of weakest-link pruning.

    Parameters
    ----------
    tree : Tree
        The tree.
    prune_root : bool, default=True
        Whether the last tree is the root alone; else the root's split is never cut.

    Returns
    -------
    PruningPath
        The sequence.
    """
    target = TASKS[tree.task]
    risk, weight = target.scaled_risk(tree.stats, tree.costs)
    price = np.array(_prices(tree, risk.tolist(), weight, prune_root))
    step = target.rounding * float(risk[0]) / weight
    if step > 0.0:
        price = np.rint(price / step) * step
    gone = np.array(_earliest_above(tree, price.tolist()))
    inner = ~tree.is_leaf
    # A split above which another one goes sooner, or at the same price, makes no step.
    found = np.unique(price[inner & (price < gone)])
    n_steps = 1 + len(found)
    cut_step = np.where(inner, 1 + np.searchsorted(found, price), 0)
    gone_step = 1 + np.searchsorted(found, gone)
    leaves = _over_steps(np.ones(tree.n_nodes), cut_step, gone_step, n_steps)
    return PruningPath(
        tree,
        np.rint(leaves).astype(np.int64),
        cut_step,
        gone_step,
        np.append(0.0, found),
        _over_steps(risk, cut_step, gone_step, n_steps) / weight,
    )


def beginnings(tree: Tree) -> NestedTrees:
    """Find the trees that a tree was while it grew, the node with the largest gain first.

    Parameters
    ----------
    tree : Tree
        A tree that was grown best first.

    Returns
    -------
    NestedTrees
        The sequence; its last tree is the root alone.
    """
    first_child, gain = tree.first_child.tolist(), tree.gain.tolist()
    is_leaf, path = tree.is_leaf.tolist(), _path_order(tree)
    waiting = [] if is_leaf[0] else [(-gain[0], path[0], 0)]
    cut_step = np.zeros(tree.n_nodes, dtype=np.int64)
    n_steps = left = tree.n_leaves
    while waiting:
        node = heappop(waiting)[2]
        left -= 1
        cut_step[node] = left
        for child in range(first_child[node], first_child[node] + int(tree.n_children[node])):
            if not is_leaf[child]:
                heappush(waiting, (-gain[child], path[child], child))
    # Whatever is above a node was divided before it, hence is cut later.
    gone_step = np.append(n_steps, cut_step[tree.parent[1:]])
    return NestedTrees(tree, np.arange(n_steps, 0, -1), cut_step, gone_step)


def _path_order(tree: Tree) -> list[int]:
    """Return the place of each node if all nodes of a left side come before those of a right."""
    places, waiting, count = [0] * tree.n_nodes, [0], 0
    first_child, n_children = tree.first_child.tolist(), tree.n_children.tolist()
    while waiting:
        node = waiting.pop()
        places[node] = count
        count += 1
        waiting += range(first_child[node] + n_children[node] - 1, first_child[node] - 1, -1)
    return places


def _prices(tree: Tree, risk: list[float], weight: float, prune_root: bool) -> list[float]:
    """Price per leaf from which each inner node is better as a leaf; infinity for never.

    Risks are weights here, prices are shares of `weight`.

    The weakest links are found from the bottom up. Below a node, each split has a price at
    which it is cut, and then the risk is higher by something and the leaves are fewer by some.
    Suppose first that all of them are cut; then take back, the dearest first, the cuts that
    happen only after the node's own link has become the weakest. These are never made, so they
    are forgotten. Each cut is noted once and forgotten at most once, and of the notes of
    several children the fewer are moved: n log(n)^2 at most, whatever the tree's shape.
    """
    first_child, n_children = tree.first_child.tolist(), tree.n_children.tolist()
    price = [inf] * tree.n_nodes
    notes: list[list[tuple[float, float, int]]] = [[] for _ in risk]
    for t in range(tree.n_nodes - 1, -1 if prune_root else 0, -1):
        leaves = n_children[t]
        if not leaves:
            continue
        first = first_child[t]
        cuts = _joined(notes[first : first + leaves])
        notes[first : first + leaves] = [[]] * leaves
        below = sum(risk[first : first + leaves])
        link = (risk[t] - below) / ((leaves - 1) * weight)
        while cuts and -cuts[0][0] > link:
            _, saved, fewer = heappop(cuts)
            below -= saved
            leaves += fewer
            link = (risk[t] - below) / ((leaves - 1) * weight)
        link = max(link, 0.0)  # sums of stats made by hand may be rounded
        price[t] = link
        heappush(cuts, (-link, risk[t] - below, leaves - 1))
        notes[t] = cuts
    return price


def _joined(
    heaps: list[list[tuple[float, float, int]]],
) -> list[tuple[float, float, int]]:
    """Move everything into the largest heap."""
    heaps = sorted(heaps, key=len)
    largest = heaps.pop()
    for heap in heaps:
        for note in heap:
            heappush(largest, note)
    return largest


def _earliest_above(tree: Tree, price: list[float]) -> list[float]:
    """The lowest price of all nodes above each node."""
    lowest = [inf] * tree.n_nodes
    parent = tree.parent.tolist()
    for t in range(1, tree.n_nodes):
        above = parent[t]
        lowest[t] = min(lowest[above], price[above])
    return lowest


def _over_steps(
    as_leaf: FloatArray, cut_step: Int64Array, gone_step: Int64Array, n_steps: int
) -> FloatArray:
    """Sum over the leaves of each step's tree a number that each node has as a leaf."""
    leaf = cut_step < gone_step
    come = np.bincount(cut_step[leaf], weights=as_leaf[leaf], minlength=n_steps + 1)
    go = np.bincount(gone_step[leaf], weights=as_leaf[leaf], minlength=n_steps + 1)
    return np.asarray(np.cumsum(come - go)[:n_steps])


@dataclass(frozen=True, eq=False)
class Judge:
    """Rows that judge the trees of a sequence, and which of them stands for each step."""

    path: PruningPath
    problem: Problem
    step_of: Int64Array

    @cached_property
    def leaf(self) -> Int64Array:
        """The leaf of the whole tree that each row reaches."""
        return self.path.tree.apply(self.problem.Z)

    def errors(self) -> FloatArray:
        """Return what each step costs on the rows, in grid units."""
        return self.path.errors(self.problem)[self.step_of]

    def row_errors(self, step: int) -> FloatArray:
        """Return the error of each row with the tree of a step: squared, the distance, a cost."""
        tree = self.path.tree
        cut = ~tree.is_leaf & (self.path.cut_step <= self.step_of[step])
        # Below a split that is cut, nodes stand for the highest such split above them.
        stands_for = np.arange(tree.n_nodes)
        for level in range(1, tree.depth + 1):
            here = np.flatnonzero(tree.node_depth == level)
            above = tree.parent[here]
            gone = cut[above] | (stands_for[above] != above)
            stands_for[here[gone]] = stands_for[above[gone]]
        node = stands_for[self.leaf]
        target = with_loss(self.problem.target, tree)
        if isinstance(target, Numbers):
            return target.row_errors(tree.said(self.problem.Z, node))
        return np.array(tree.costs)[self.problem.y, tree.leaf_label[node]]

    @property
    def weights(self) -> FloatArray:
        """As how many rows each row counts."""
        problem = self.problem
        ones = np.ones(problem.n_rows) if problem.weights is None else problem.weights
        return np.asarray(ones * problem.row_unit)


def best_step(judges: Iterable[Judge], whole: Problem, n_se: float) -> int:
    """Return the last step whose error is within `n_se` standard errors of the smallest one."""
    kept: list[Judge] = []
    errors: Any = 0.0
    by_rows = False
    for judge in judges:
        errors = errors + judge.errors()
        by_rows = isinstance(whole.target, Numbers) or bool(judge.path.tree.costs)
        kept += [judge] if by_rows and n_se > 0 else []  # else its rows may go
    if by_rows:
        return best_step_by_rows(errors, kept, n_se)
    return best_step_by_counts(errors, whole.total_weight, whole.row_unit, n_se)


def best_step_by_counts(errors: FloatArray, total: int, row_unit: float, n_se: float) -> int:
    """The standard error is that of the number of mistakes among rows of this weight."""
    lowest = float(errors.min())
    # Whole numbers are multiplied first and squares are compared: this way nothing is rounded
    # where a tree lies exactly on the limit, and the size of the unit does not matter.
    variance = lowest * (total - lowest) / total / row_unit
    allowed = n_se * n_se * variance if n_se > 0 and variance > 0 else 0.0
    return int(np.flatnonzero((errors - lowest) ** 2 <= allowed)[-1])


def best_step_by_rows(errors: FloatArray, judges: Sequence[Judge], n_se: float) -> int:
    """The standard error is that of the difference to the best step, row by row."""
    allowed = float(errors.min()) + Numbers.rounding * float(errors.max())
    best = int(np.flatnonzero(errors <= allowed)[-1])
    if not n_se > 0:
        return best
    weights = np.concatenate([judge.weights for judge in judges])
    total = fsum(weights)
    least = np.concatenate([judge.row_errors(best) for judge in judges])
    for step in range(len(errors) - 1, best, -1):
        more = np.concatenate([judge.row_errors(step) for judge in judges]) - least
        mean = fsum(weights * more) / total
        variance = fsum(weights * (more - mean) ** 2) / total
        if mean <= n_se * sqrt(variance / total):
            return step
    return best


def prune_on_rows(
    tree: Tree, problem: Problem, n_se: float = 0.0, prune_root: bool = False
) -> Tree:
    """Choose the tree of the sequence that errs least on held-out rows.

    Parameters
    ----------
    tree : Tree
        The tree, grown without these rows.
    problem : Problem
        The held-out rows. If there are none the tree stays as it is.
    n_se : float, default=0
        The smallest tree within so many standard errors of the best is taken. Weights count
        as numbers of rows.
    prune_root : bool, default=False
        Whether the root's split may be cut.

    Returns
    -------
    Tree
        The pruned tree; of equally good ones the smallest.
    """
    if problem.n_rows == 0:
        return tree
    path = cost_complexity_path(tree, prune_root)
    return path.at(best_step([Judge(path, problem, np.arange(len(path)))], problem, n_se))


def prune_by_folds(
    problem: Problem,
    grow: Callable[[Problem], Tree],
    n_folds: int = 10,
    n_se: float = 0.0,
    prune_root: bool = False,
    seed: int = 0,
    together: bool = False,
) -> Tree:
    """Grow on all rows and choose the price of a leaf by cross-validation.

    Parameters
    ----------
    problem : Problem
        The data.
    grow : callable
        Grows a tree from a problem. It is called once for all rows and once for each fold.
    n_folds : int, default=10
        The number of folds.
    n_se : float, default=0
        As in `prune_on_rows`.
    prune_root : bool, default=False
        Whether the root's split may be cut.
    seed : int, default=0
        Seed of the division.
    together : bool, default=False
        Whether equal rows stay together, as in `folds`.

    Returns
    -------
    Tree
        The pruned tree.
    """
    path = cost_complexity_path(grow(problem), prune_root)
    if len(path) == 1:
        return path.tree
    prices = path._middles()
    divided, number = folds(problem, n_folds, seed, together)

    def judges() -> Iterator[Judge]:
        for fold in np.unique(number).tolist():
            out = number == fold
            other = cost_complexity_path(grow(divided.take(~out)), prune_root)
            yield Judge(other, divided.take(out), other._step_of(prices))

    return path.at(best_step(judges(), problem, n_se))


def prune_alike(trees: Sequence[Tree], held: Sequence[Problem]) -> list[Tree]:
    """Prune trees of several divisions at the one price per leaf that is best for all together.

    Parameters
    ----------
    trees : sequence of Tree
        The trees, each grown without some rows.
    held : sequence of Problem
        The rows that each was grown without.

    Returns
    -------
    list of Tree
        The pruned trees; of equally good prices the highest was taken.
    """
    paths = [cost_complexity_path(tree) for tree in trees]
    prices = paths[0]._middles()
    steps = [path._step_of(prices) for path in paths]
    errors = sum(
        path.errors(rows)[step] for path, rows, step in zip(paths, held, steps, strict=True)
    )
    best = int(np.flatnonzero(errors == np.min(errors))[-1])
    return [path.at(int(step[best])) for path, step in zip(paths, steps, strict=True)]
