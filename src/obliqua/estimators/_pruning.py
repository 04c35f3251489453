"""How the estimators' parameters say how to prune."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from obliqua._sklearn_compat import Interval, StrOptions
from obliqua.criteria import get_criterion
from obliqua.data.table import MAX_ROWS

if TYPE_CHECKING:
    from obliqua.prune import Pruning

PRUNING_CONSTRAINTS: dict[str, list[Any]] = {
    "pruning": [StrOptions({"holdout", "cv", "reduced_error", "pessimistic"}), None],
    "prune_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "n_se": [Interval(Real, 0.0, None, closed="left")],
    "prune_root": ["boolean"],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left"), None],
    "confidence_factor": [Interval(Real, 0.0, 0.5, closed="right")],
    "subtree_raising": ["boolean"],
}

#: Kinds of pruning that divide the rows at random.
DIVIDING = ("holdout", "cv", "reduced_error")


def pruning_of(estimator: Any) -> Pruning:
    """Return how an estimator's trees are pruned."""
    # Predicting needs no pruning, hence it is not imported above.
    from obliqua.prune import Pruning

    return Pruning(
        kind=estimator.pruning,
        fraction=float(estimator.prune_fraction),
        n_folds=min(int(estimator.n_folds), MAX_ROWS),  # more make no difference
        n_se=float(estimator.n_se),
        prune_root=bool(estimator.prune_root),
        ccp_alpha=None if estimator.ccp_alpha is None else float(estimator.ccp_alpha),
        confidence_factor=float(estimator.confidence_factor),
        subtree_raising=bool(estimator.subtree_raising),
        criterion=get_criterion(estimator.criterion),
    )
