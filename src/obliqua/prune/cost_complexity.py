"""Cost-complexity pruning (Breiman et al. 1984, chapter 3).

The risk of a node as a leaf is its training weight outside its majority class. A split's link
``g = (risk as a leaf - risk of its subtree) / (leaves - 1)`` says what each extra leaf saves. All
splits with the smallest link are cut at once, again and again; this gives a sequence of nested
trees, of which held-out rows or cross-validation choose one.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from obliqua._surgery import collapse
from obliqua._typing import FloatArray, Int64Array
from obliqua.data import Problem
from obliqua.prune.division import folds, take
from obliqua.tree import Tree

__all__ = ["PruningPath", "cost_complexity_path", "prune_by_folds", "prune_on_rows"]

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class PruningPath:
    """The nested trees of a tree, from itself (step 0) to the smallest.

    Attributes
    ----------
    tree : Tree
        The whole tree.
    alphas : ndarray of shape (n_steps,)
        From this price per leaf on, the tree of the step is the best one; 0 for step 0.
    risks : ndarray of shape (n_steps,)
        Training weight that the tree of the step misclassifies.
    n_leaves : ndarray of int, of shape (n_steps,)
        Its leaves.
    """

    tree: Tree
    alphas: FloatArray
    risks: FloatArray
    n_leaves: Int64Array
    cut_step: Int64Array
    """The step at which each node becomes a leaf; leaves of the whole tree have 0."""
    gone_step: Int64Array
    """The step at which a node above each node becomes a leaf."""

    def __len__(self) -> int:
        return len(self.alphas)

    def at(self, step: int) -> Tree:
        """Return the tree of a step."""
        inner = ~self.tree.is_leaf
        return collapse(self.tree, np.flatnonzero(inner & (self.cut_step <= step)))

    def at_alpha(self, alpha: float) -> Tree:
        """Return the best tree when a leaf costs `alpha`."""
        return self.at(self.step_of(alpha))

    def step_of(self, alpha: float) -> int:
        """Return the step that is best when a leaf costs `alpha`."""
        return int(np.searchsorted(self.alphas, alpha, side="right")) - 1

    def total(self, per_node: FloatArray) -> FloatArray:
        """Sum a number over the leaves of each step's tree, given for each node as a leaf."""
        steps = len(self)
        change = np.zeros(steps + 1)
        here = self.cut_step < np.minimum(self.gone_step, steps)
        np.add.at(change, self.cut_step[here], per_node[here])
        np.subtract.at(change, np.minimum(self.gone_step, steps)[here], per_node[here])
        return np.asarray(np.cumsum(change)[:steps])


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
    risk = tree.stats.sum(axis=1) - tree.stats.max(axis=1)
    below, leaves = _subtree_sums(tree, risk)
    parent = tree.parent.tolist()
    inner = np.flatnonzero(~tree.is_leaf)
    cut_step = np.where(tree.is_leaf, 0, NEVER)
    link = {int(t): _link(risk[t], below[t], leaves[t]) for t in inner if t or prune_root}
    heap = [(g, t) for t, g in link.items()]
    heapq.heapify(heap)
    alphas = [0.0]
    while heap:
        weakest = []
        g = heap[0][0]
        while heap and heap[0][0] == g:
            t = heapq.heappop(heap)[1]
            if link.get(t) == g:
                weakest.append(t)
        if not weakest:
            continue  # links that have changed or gone since they were put there
        alphas.append(max(g, alphas[-1]))
        for t in sorted(set(weakest)):  # from the top: what hangs below is gone with it
            if t not in link:
                continue
            cut_step[t] = len(alphas) - 1
            saved, lost = risk[t] - below[t], leaves[t] - 1
            _forget(tree, t, link)
            a = t
            while a >= 0:
                below[a] += saved
                leaves[a] -= lost
                if a in link:
                    link[a] = _link(risk[a], below[a], leaves[a])
                    heapq.heappush(heap, (link[a], a))
                a = parent[a]
    gone = np.full(tree.n_nodes, NEVER)
    for t in range(1, tree.n_nodes):
        above = parent[t]
        gone[t] = min(gone[above], cut_step[above])
    path = PruningPath(tree, np.array(alphas), np.empty(0), np.empty(0, int), cut_step, gone)
    return PruningPath(
        tree,
        path.alphas,
        path.total(risk),
        np.rint(path.total(np.ones(tree.n_nodes))).astype(np.int64),
        cut_step,
        gone,
    )


def _link(risk: float, below: float, leaves: float) -> float:
    return float((risk - below) / (leaves - 1))


def _subtree_sums(tree: Tree, risk: FloatArray) -> tuple[FloatArray, Int64Array]:
    """Risk and number of leaves of each node's subtree. Children follow their parents."""
    below = np.where(tree.is_leaf, risk, 0.0)
    leaves = tree.is_leaf.astype(np.int64)
    parent = tree.parent
    for t in range(tree.n_nodes - 1, 0, -1):
        below[parent[t]] += below[t]
        leaves[parent[t]] += leaves[t]
    return below, leaves


def _forget(tree: Tree, node: int, link: dict[int, float]) -> None:
    """Drop the links of a node and of everything below it."""
    waiting = [node]
    while waiting:
        t = waiting.pop()
        if link.pop(t, None) is None and t != node:
            continue  # a leaf, or cut before
        first = int(tree.first_child[t])
        waiting.extend(range(first, first + int(tree.n_children[t])))


def node_errors(tree: Tree, problem: Problem) -> FloatArray:
    """Weight of the problem's rows that each node would misclassify as a leaf."""
    counts = np.zeros((tree.n_nodes, tree.n_stats))
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    np.add.at(counts, (tree.apply(problem.Z), problem.y), weights * problem.unit)
    parent = tree.parent
    for t in range(tree.n_nodes - 1, 0, -1):
        counts[parent[t]] += counts[t]
    right: FloatArray = counts[np.arange(tree.n_nodes), tree.leaf_label]
    return np.asarray(counts.sum(axis=1) - right)


def best_step(errors: FloatArray, total: float, n_se: float) -> int:
    """Return the last step whose error is within `n_se` standard errors of the smallest one.

    Parameters
    ----------
    errors : ndarray of shape (n_steps,)
        Misclassified weight of each step.
    total : float
        The weight of all rows that were classified.
    n_se : float
        How many standard errors to allow; 0 takes the smallest tree with the fewest errors.

    Returns
    -------
    int
        The step.
    """
    lowest = errors.min()
    rate = lowest / total
    # A standard error counts rows, not whatever weight they have in all.
    allowed = lowest + n_se * np.sqrt(max(rate * (1 - rate), 0.0) * total)
    return int(np.flatnonzero(errors <= allowed)[-1])


def prune_on_rows(
    tree: Tree, problem: Problem, n_se: float = 0.0, prune_root: bool = False
) -> Tree:
    """Choose the tree of the sequence that misclassifies the fewest held-out rows.

    Parameters
    ----------
    tree : Tree
        The tree, grown without these rows.
    problem : Problem
        The held-out rows.
    n_se : float, default=0
        The smallest tree within so many standard errors of the best is taken.
    prune_root : bool, default=False
        Whether the root's split may be cut.

    Returns
    -------
    Tree
        The pruned tree; of equally good ones the smallest.
    """
    path = cost_complexity_path(tree, prune_root)
    if problem.n_rows == 0:
        return tree
    errors = path.total(node_errors(tree, problem))
    return path.at(best_step(errors, problem.total_weight * problem.unit, n_se))


def prune_by_folds(
    problem: Problem,
    grow: Callable[[Problem], Tree],
    n_folds: int = 10,
    n_se: float = 0.0,
    prune_root: bool = False,
    seed: int = 0,
) -> Tree:
    """Grow on all rows and choose the price of a leaf by cross-validation.

    Parameters
    ----------
    problem : Problem
        The data.
    grow : callable
        Grows a tree from a problem.
    n_folds : int, default=10
        The number of folds.
    n_se : float, default=0
        As in `prune_on_rows`.
    prune_root : bool, default=False
        Whether the root's split may be cut.
    seed : int, default=0
        Seed of the division.

    Returns
    -------
    Tree
        The pruned tree.
    """
    path = cost_complexity_path(grow(problem), prune_root)
    # A step is best on an interval of prices; its geometric middle stands for it.
    prices = np.sqrt(path.alphas * np.append(path.alphas[1:], np.inf))
    prices[0] = 0.0
    number = folds(problem, n_folds, seed)
    errors = np.zeros(len(path))
    for fold in range(n_folds):
        out = number == fold
        if not out.any() or out.all():
            continue
        rest = take(problem, ~out)
        other = cost_complexity_path(grow(rest), prune_root)
        share = rest.total_weight / problem.total_weight  # risks are weights: fewer rows, less
        step = [other.step_of(price * share) for price in prices]
        errors += other.total(node_errors(other.tree, take(problem, out)))[step]
    return path.at(best_step(errors, problem.total_weight * problem.unit, n_se))
