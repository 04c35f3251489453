"""How the estimators' parameters say how to prune."""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias

from sklearn.base import is_classifier

from obliqua._sklearn_compat import (
    HasMethods,
    Interval,
    StrOptions,
    validate_parameter_constraints,
)

if TYPE_CHECKING:
    from obliqua.prune import Pruner

PruningLike: TypeAlias = "str | Pruner | None"

NUMBER_PRUNING_CONSTRAINTS: dict[str, Any] = {
    "pruning": "no_validation",  # by `pruner_of`, for the names stand in the table of pruners
    "prune_fraction": [Interval(Real, 0.0, 1.0, closed="neither")],
    "n_folds": [Interval(Integral, 2, None, closed="left")],
    "n_se": [Interval(Real, 0.0, None, closed="left")],
    "prune_root": ["boolean"],
    "ccp_alpha": [Interval(Real, 0.0, None, closed="left"), None],
}
PRUNING_CONSTRAINTS: dict[str, Any] = {
    **NUMBER_PRUNING_CONSTRAINTS,
    "confidence_factor": [Interval(Real, 0.0, 0.5, closed="right")],
    "subtree_raising": ["boolean"],
}


def pruner_of(estimator: Any) -> Pruner:
    """Return what prunes an estimator's trees; refuse what is no pruner."""
    # Predicting needs no pruning, hence it is not imported above.
    from obliqua.prune import NUMBER_PRUNERS, PRUNERS, get_pruner

    names = PRUNERS if is_classifier(estimator) else NUMBER_PRUNERS
    validate_parameter_constraints(
        {"pruning": [StrOptions(set(names)), HasMethods("prune"), None]},
        {"pruning": estimator.pruning},
        caller_name=type(estimator).__name__,
    )
    known = {"criterion", *PRUNING_CONSTRAINTS}
    return get_pruner(**{name: value for name, value in vars(estimator).items() if name in known})
