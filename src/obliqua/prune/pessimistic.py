"""Pessimistic pruning, as C4.5 does it (Quinlan 1993, chapter 4).

Nothing is held out. A leaf with `n` rows, `e` of them of other classes, is expected to err on new
rows more often than on these: as often as the upper confidence limit of a binomial rate says, of
which `e` in `n` were seen. A split stays only if the limits of its leaves, added up, promise fewer
errors than the node alone. A smaller confidence factor is more pessimistic and cuts more.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from obliqua._typing import FloatArray
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.prune._raising import raised
from obliqua.prune._sums import cut_upwards
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
        if problem.row_unit != problem.unit:
            # The unit is a power of two: first into grid units, then into rows.
            shift, as_rows = 1 - int(np.frexp(problem.unit)[1]), problem.row_unit

    def expected(stats: FloatArray) -> FloatArray:
        scaled = np.ldexp(stats, shift) * as_rows
        n = scaled.sum(axis=-1)
        return _estimate(n, n - scaled.max(axis=-1), confidence_factor, bound)

    if problem is None or not subtree_raising:
        return cut_upwards(tree, expected(tree.stats), prune_root, SLACK)
    return raised(tree, problem, expected, SLACK, prune_root, criterion)


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
