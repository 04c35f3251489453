"""Growing and pruning together: which rows grow the tree and which ones prune it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.prune.cost_complexity import cost_complexity_path, prune_by_folds, prune_on_rows
from obliqua.prune.division import hold_out, take
from obliqua.prune.pessimistic import prune_pessimistic
from obliqua.prune.reduced_error import prune_reduced_error
from obliqua.tree.spread import measure_spread
from obliqua.tree.tree import Tree

__all__ = ["KINDS", "Pruning", "grow_pruned"]

MANY_LEAVES = 1000
KINDS = ("holdout", "cv", "reduced_error", "pessimistic")


@dataclass(frozen=True)
class Pruning:
    """How to prune.

    Parameters
    ----------
    kind : {"holdout", "cv", "reduced_error", "pessimistic"} or None
        Cost complexity on held-out rows or by cross-validation, reduced error on held-out
        rows, pessimistic estimates on the training rows, or not at all.
    fraction : float
        The share of the weight to hold out.
    n_folds : int
        The number of folds for "cv".
    n_se : float
        How many standard errors above the fewest errors a smaller tree may be.
    prune_root : bool
        Whether the root's split may be cut.
    ccp_alpha : float or None
        A price per leaf that takes the place of `kind`; 0 leaves the tree as it has grown.
        None leaves the choice to `kind`.
    confidence_factor : float
        For "pessimistic": smaller values prune more.
    subtree_raising : bool
        For "pessimistic": whether a split may be replaced by its largest branch.
    criterion : Criterion or None
        Measures the gains of splits that were raised.
    """

    kind: str | None = "holdout"
    fraction: float = 0.1
    n_folds: int = 10
    n_se: float = 0.0
    prune_root: bool = False
    ccp_alpha: float | None = None
    confidence_factor: float = 0.25
    subtree_raising: bool = False
    criterion: Criterion | None = None


def grow_pruned(
    problem: Problem,
    grow: Callable[[Problem], Tree],
    pruning: Pruning,
    seed: int,
    n_threads: int = 1,
) -> Tree:
    """Grow a tree and prune it.

    Parameters
    ----------
    problem : Problem
        The data.
    grow : callable
        Grows a tree from a problem.
    pruning : Pruning
        How to prune.
    seed : int
        Seed of the division of rows.
    n_threads : int, default=1
        How many threads may measure the features of the tree's splits.

    Returns
    -------
    Tree
        The pruned tree, with the spread of the features in its splits, unless it is
        axis-parallel and has more than 1,000 leaves. Where there are too few rows to hold one
        out, all of them grow the tree, and it stays as it is.
    """
    root, kind = pruning.prune_root, pruning.kind
    if pruning.ccp_alpha is not None:
        kind = None
    if kind == "cv":
        tree = prune_by_folds(problem, grow, pruning.n_folds, pruning.n_se, root, seed)
    elif kind == "pessimistic":
        tree = prune_pessimistic(
            grow(problem),
            problem,
            confidence_factor=pruning.confidence_factor,
            prune_root=root,
            criterion=pruning.criterion,
            subtree_raising=pruning.subtree_raising,
        )
    elif kind is not None and (divided := hold_out(problem, pruning.fraction, seed))[1].any():
        whole, held = divided
        problem, rows = take(whole, ~held), take(whole, held)
        tree = grow(problem)
        if kind == "reduced_error":
            tree = prune_reduced_error(tree, rows, root)
        else:
            tree = prune_on_rows(tree, rows, pruning.n_se, root)
    else:
        tree = grow(problem)
        if pruning.ccp_alpha:
            tree = cost_complexity_path(tree, root).at_alpha(pruning.ccp_alpha)
    # Only of the tree that is kept, and on the rows that it was grown from. Of axis-parallel
    # trees only the digits of texts depend on it, and nobody reads thousands of leaves.
    oblique = (np.diff(tree.coef_ptr) > 1).any()
    if tree.n_leaves > MANY_LEAVES and not oblique:
        return tree
    return measure_spread(tree, problem.Z, problem.weights, n_threads)
