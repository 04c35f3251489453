"""Pruning: a Tree in, a smaller Tree out; and the choice between trees."""

from obliqua.prune.cost_complexity import (
    PruningPath,
    cost_complexity_path,
    prune_by_folds,
    prune_on_rows,
)
from obliqua.prune.division import draw, folds, hold_out
from obliqua.prune.pessimistic import pessimistic_errors, prune_pessimistic
from obliqua.prune.pruners import (
    NUMBER_PRUNERS,
    PRUNERS,
    Pruned,
    Pruner,
    Seedless,
    get_pruner,
    grow_pruned,
)
from obliqua.prune.reduced_error import choose_tree, prune_reduced_error

__all__ = [
    "NUMBER_PRUNERS",
    "PRUNERS",
    "Pruned",
    "Pruner",
    "PruningPath",
    "Seedless",
    "choose_tree",
    "cost_complexity_path",
    "draw",
    "folds",
    "get_pruner",
    "grow_pruned",
    "hold_out",
    "pessimistic_errors",
    "prune_by_folds",
    "prune_on_rows",
    "prune_pessimistic",
    "prune_reduced_error",
]
