"""Pessimistic pruning, as C4.5 does it (Quinlan 1993, chapter 4).

Nothing is held out. A leaf with `n` rows, `e` of them of other classes, is expected to err on new
rows more often than on these: as often as the upper confidence limit of a binomial rate says, of
which `e` in `n` were seen. A split stays only if the limits of its leaves, added up, promise fewer
errors than the node alone. A smaller confidence factor is more pessimistic and cuts more.

In a tree with costs the errors that were seen cost what they cost, and those that are expected
beside them what a mistake costs on average if that class is said, the others having their shares
at the root. All is divided by the mean of these averages, so that a tenth of an error stays one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from obliqua._typing import FloatArray, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.costs import classes_said, cost_of
from obliqua.data.problem import Problem
from obliqua.engine.search import function_scores
from obliqua.prune.reduced_error import cut_upwards
from obliqua.tree.layout import renumber
from obliqua.tree.tree import Tree

__all__ = ["BOUNDS", "pessimistic_errors", "prune_pessimistic"]

BOUNDS = ("j48", "c45", "exact")

# C4.5's table of normal deviates, between which it draws straight lines.
FACTORS = (0.0, 0.001, 0.005, 0.01, 0.05, 0.10, 0.20, 0.40, 1.0)
DEVIATES = (4.0, 3.09, 2.58, 2.33, 1.65, 1.28, 0.84, 0.25, 0.0)

# C4.5 cuts a split that promises less than a tenth of an error. The rest is for rounding.
SLACK = 0.1 + 1e-6

# Errors that are more than all rows by this share of them are all rows, rounded.
ROUNDING = 1e-9

# Class sums of the rows may differ by this share of their weight from those that a tree remembers.
OTHER_ROWS = 1e-6


def pessimistic_errors(
    n: ArrayLike, e: ArrayLike, confidence_factor: float = 0.25, bound: str = "j48"
) -> FloatArray:
    """Return how many errors to expect on as many new rows: at least so many as were seen.

    Parameters
    ----------
    n : array-like
        Numbers of rows, or their weights.
    e : array-like
        How many of them are not of the largest class.
    confidence_factor : float, default=0.25
        The probability of seeing at most `e` errors if the limit is the true rate; above 0 and
        at most 0.5.
    bound : {"j48", "c45", "exact"}, default="j48"
        How the limit is computed. "exact": the limit of Clopper and Pearson, a quantile of a
        beta distribution, which is how Quinlan's book defines it. "c45": what his program
        computes instead: the exact limit if `e` is 0; Wilson's limit with a continuity
        correction from `e` = 1 on; a straight line between both; and 0.67 of what is right
        beside the errors, if it is half a row or less. The normal deviate comes from a short
        table. "j48": the same with the true normal deviate, and all rows for errors at the
        end, as in Weka's J48.

    Returns
    -------
    ndarray
        ``n`` times the upper limit of the rate, at most `n`.

    Raises
    ------
    ValueError
        If the confidence factor is not above 0 and at most 0.5, there is no such bound, a number
        is not finite or is negative, or there are more errors than rows.

    Examples
    --------
    The example in Quinlan's book: three leaves without errors, and one in their place.

    >>> from obliqua.prune import pessimistic_errors
    >>> pessimistic_errors([6, 9, 1], 0).round(3)
    array([1.238, 1.285, 0.75 ])
    >>> [float(pessimistic_errors(16, 1, bound=b).round(3)) for b in ("j48", "c45", "exact")]
    [2.476, 2.507, 2.554]
    """
    _check(confidence_factor, bound)
    n, e = np.asarray(n, dtype=np.float64), np.asarray(e, dtype=np.float64)
    for what, values in (("numbers of rows n", n), ("numbers of errors e", e)):
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        if wrong.any():
            raise ValueError(
                f"The {what} must be finite and not negative; got {values[wrong].flat[0]!s}."
            )
    n, e = np.broadcast_arrays(n, e)
    wrong = e > n + ROUNDING * n
    if wrong.any():
        raise ValueError(
            "There cannot be more errors than rows: give all rows as n, the right ones too; got "
            f"n={n[wrong].flat[0]!s}, e={e[wrong].flat[0]!s}."
        )
    return _estimate(n, np.minimum(e, n), confidence_factor, bound)


def _check(confidence_factor: float, bound: str) -> None:
    if not isinstance(confidence_factor, Real) or not 0.0 < confidence_factor <= 0.5:
        raise ValueError(
            "confidence_factor must be a number above 0 and at most 0.5: smaller values prune "
            f"more. Got {confidence_factor!r}."
        )
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}; got {bound!r}.")


def _estimate(n: FloatArray, e: FloatArray, confidence_factor: float, bound: str) -> FloatArray:
    with np.errstate(all="ignore"):
        limit = _normal(n, e, confidence_factor, bound)
        if bound == "exact":
            exact = _exact(n, e, confidence_factor)
            # Quantiles of beta distributions fail for extreme weights.
            limit = np.where(np.isfinite(exact), exact, limit)
    return np.where(n > 0, np.minimum(limit, n), 0.0)


def _exact(n: FloatArray, e: FloatArray, confidence_factor: float) -> FloatArray:
    rate = betaincinv(e + 1.0, np.maximum(n - e, 0.0), 1.0 - confidence_factor)
    return np.asarray(np.where(e < n, n * rate, n))


def _normal(n: FloatArray, e: FloatArray, confidence_factor: float, bound: str) -> FloatArray:
    none = -n * np.expm1(np.log(confidence_factor) / n)
    # Below one error: a line between the limits of none and of one.
    one = np.maximum(e, 1.0)
    z = float(ndtri(1.0 - confidence_factor))
    if bound == "c45":
        z = float(np.interp(confidence_factor, FACTORS, DEVIATES))
    rate = np.minimum((one + 0.5) / n, 1.0)
    root = np.sqrt(rate * (1.0 - rate) / n + (z / (2.0 * n)) ** 2)
    limit = n * (rate + z * z / (2.0 * n) + z * root) / (1.0 + z * z / n)
    end = one + 0.67 * (n - one) if bound == "c45" else np.maximum(n, one)
    limit = np.where(one + 0.5 >= n, end, limit)
    return np.asarray(np.where(e < 1.0, none + e * (limit - none), limit))


def prune_pessimistic(
    tree: Tree,
    problem: Problem | None = None,
    *,
    confidence_factor: float = 0.25,
    prune_root: bool = False,
    bound: str = "j48",
    criterion: Criterion | None = None,
    subtree_raising: bool = True,
    units: tuple[float, float] | None = None,
) -> Tree:
    """Cut, from the bottom up, each split that promises no fewer errors on new rows.

    Parameters
    ----------
    tree : Tree
        The tree. Its weights count as numbers of rows, unless a problem is given whose
        weights are no such numbers.
    problem : Problem, default=None
        The rows that the tree was grown from. If they are given, a split may also be replaced
        by its largest branch (*subtree raising*): all rows of the node are sent down that
        branch, and it stays there if it promises no more errors than the split. Where the
        weights of the rows are not all whole numbers, they count as if their mean were 1.
    confidence_factor : float, default=0.25
        Smaller values prune more, as a rule; above 0 and at most 0.5.
    prune_root : bool, default=False
        Whether the root's split may be cut or replaced.
    bound : {"j48", "c45", "exact"}, default="j48"
        How errors are estimated, see `pessimistic_errors`.
    criterion : Criterion, default=None
        Measures the gains of raised splits anew, where they have two branches. Without it, and
        with more branches, they keep the goodness that they had where they grew.
    subtree_raising : bool, default=True
        Whether a split may be replaced by its largest branch, if there is a problem.
    units : tuple of float, default=None
        Where there is no problem: what a grid unit of the weights weighs, and as how many rows it
        counts.

    Returns
    -------
    Tree
        The pruned tree.

    Raises
    ------
    ValueError
        If the confidence factor is not above 0 and at most 0.5, there is no such bound, or the
        rows are not those that the tree was grown from: their class sums differ.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from obliqua import CartClassifier
    >>> from obliqua.prune import prune_pessimistic
    >>> grown = CartClassifier(pruning=None).fit(*load_breast_cancer(return_X_y=True)).tree_
    >>> [prune_pessimistic(grown, confidence_factor=f).n_leaves for f in (0.5, 0.25, 0.01)]
    [16, 13, 12]
    """
    _check(confidence_factor, bound)
    # One scale for all nodes, such that sums stay finite.
    shift = min(0, 900 - int(np.frexp(tree.stats.max(initial=0.0))[1]))
    as_rows = 1.0
    if problem is not None:
        _check_rows(tree, problem)
        units = problem.unit, problem.row_unit
    if units is not None and units[0] != units[1]:
        # The unit is a power of two: first into grid units, then into rows.
        shift, as_rows = 1 - int(np.frexp(units[0])[1]), units[1]

    def expected(stats: FloatArray) -> FloatArray:
        scaled = np.ldexp(stats, shift) * as_rows
        n = scaled.sum(axis=-1)
        if not tree.costs:
            return _estimate(n, n - scaled.max(axis=-1), confidence_factor, bound)
        said = classes_said(stats, tree.costs)
        e = cost_of(scaled, said, ())
        more = _estimate(n, e, confidence_factor, bound) - e
        return (cost_of(scaled, said, tree.costs) + more * usual[said]) / usual.mean()

    usual = _usual_costs(tree)

    if problem is None or not subtree_raising:
        return cut_upwards(tree, expected(tree.stats), prune_root, SLACK)
    return raised(tree, problem, expected, SLACK, prune_root, criterion)


def _usual_costs(tree: Tree) -> FloatArray:
    """Return what a mistake costs if a class is said, by the shares of the others at the root."""
    if not tree.costs:
        return np.ones(tree.n_stats)
    share, matrix = tree.proportion[0], np.array(tree.costs)
    others = 1.0 - np.eye(tree.n_stats)
    weight = np.maximum(share, np.finfo(float).tiny)[:, None] * others
    usual = (weight * matrix).sum(axis=0) / np.maximum(weight.sum(axis=0), np.finfo(float).tiny)
    return np.asarray(usual if usual.any() else np.ones(tree.n_stats))


def _check_rows(tree: Tree, problem: Problem) -> None:
    """Other rows than those that the tree was grown from would be counted as if they were."""
    if not isinstance(problem, Problem):
        raise TypeError(
            "problem must be the Problem that the tree was grown from, or None for pruning "
            f"without subtree raising; got {type(problem).__name__}."
        )
    if problem.n_classes != tree.n_stats:
        raise ValueError(
            f"The tree has {tree.n_stats} classes, the rows have {problem.n_classes}. Give the "
            "rows that the tree was grown from."
        )
    sums = np.bincount(problem.y, problem.weights, minlength=tree.n_stats) * problem.unit
    known = tree.stats[0]
    if not (np.abs(sums - known) <= OTHER_ROWS * known.max()).all():
        raise ValueError(
            "Subtree raising needs the rows that the tree was grown from, with their weights: "
            f"its root has the class sums {known.tolist()}, these rows have {sums.tolist()}."
        )


# --- subtree raising -----------------------------------------------------------------------------
#
# Nodes keep the numbers that they have in the whole tree. What changes is whose children they are,
# and which rows reach them: when a branch is raised, the rows of its siblings are sent down it.

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
                sides = left[None, :] * self.problem.unit, right[None, :] * self.problem.unit
                goodness = float(function_scores(criterion, *sides)[0])
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
