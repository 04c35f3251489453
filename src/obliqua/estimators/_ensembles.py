"""Ensembles of trees: bagged ones of our own, and those of scikit-learn that are read."""

from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from obliqua._typing import Int64Array
from obliqua.data.threads import thread_count
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.spectrum.ensembles import (
    SHARES,
    SUMS,
    VOTES,
    Ensemble,
    members_added_up,
    members_of,
    put_together,
)
from obliqua.tree.tree import Tree

if TYPE_CHECKING:
    from obliqua.data.problem import Problem

__all__ = [
    "SHARES",
    "SUMS",
    "VOTES",
    "Ensemble",
    "grown_members",
    "is_ensemble",
    "read_ensemble",
    "refusal",
]


def grown_members(
    method: BaseTreeClassifier,
    problem: "Problem",
    seeds: Int64Array,
    n_jobs: int | None,
    max_samples: float | None = None,
    window: float | None = None,
) -> list[tuple[Tree, dict[str, Any]]]:
    """Grow a tree of a method for each seed; return with it what its search has noted.

    With `max_samples` each is grown from a bootstrap sample of the rows, with `window` from some
    of them and exceptions, otherwise from all.
    """
    parallel = Parallel(n_jobs=thread_count(n_jobs), prefer="threads")
    return list(
        parallel(
            delayed(_grown_member)(method, problem, seed, max_samples, window)
            for seed in seeds.tolist()
        )
    )


def _grown_member(
    method: BaseTreeClassifier,
    problem: "Problem",
    seed: int,
    max_samples: float | None,
    window: float | None,
) -> tuple[Tree, dict[str, Any]]:
    """Grow one of the trees, in this thread or process."""
    from obliqua.prune.division import draw

    member = clone(method).set_params(random_state=seed)
    if window is not None:
        return _grown_in_window(member, problem, window, seed)
    tree = member._grown(problem if max_samples is None else draw(problem, max_samples, seed))
    return tree, _noted(member)


def _noted(member: BaseTreeClassifier) -> dict[str, Any]:
    """Return what the search of a tree has noted, if the method notes anything."""
    journal = getattr(member, "_journal", None)
    if journal is None:
        return {}
    return {"n_hyperplanes_": journal.tried, "timed_out_": journal.timed_out}


def _grown_in_window(
    method: BaseTreeClassifier, problem: "Problem", share: float, seed: int
) -> tuple[Tree, dict[str, Any]]:
    """Grow a tree from a share of the rows, again and again with all others that it has wrong.

    All rounds share the method's limit of time, and none begins when it has run out.
    """
    from obliqua.prune.division import hold_out

    problem, inside = hold_out(problem, share, seed)
    if not inside.any():  # too few rows
        return method._grown(problem), _noted(method)
    limit, started, tried = getattr(method, "time_limit", None), monotonic(), 0
    while True:
        tree = method._grown(problem.take(inside))
        notes = _noted(method)
        if notes:
            notes["n_hyperplanes_"] = tried = tried + notes["n_hyperplanes_"]
        wrong = ~inside & (tree.leaf_label[tree.apply(problem.Z)] != problem.y)
        if not wrong.any() or notes.get("timed_out_"):
            return tree, notes
        inside |= wrong
        if limit is not None:
            method.set_params(time_limit=max(0.0, limit - (monotonic() - started)))


def read_ensemble(fitted: Any) -> Ensemble:
    """Read a fitted ensemble, or a single tree, as trees with weights."""
    if isinstance(fitted, TreesClassifier):
        check_is_fitted(fitted)
        return _of_ours(fitted)
    if not hasattr(fitted, "fit") or isinstance(fitted, type):
        raise TypeError(refusal(fitted))
    if is_ensemble(fitted):
        check_is_fitted(fitted)
        added = members_added_up(fitted)
        if added is not None:
            return added
    if not hasattr(fitted, "estimators_"):
        if hasattr(getattr(fitted, "tree_", None), "children_left"):
            return put_together([fitted], fitted, np.ones(1), SHARES, encoded=False)
        raise TypeError(refusal(fitted))
    members = members_of(fitted)
    if members is None:
        raise TypeError(refusal(fitted))
    found, weights, values, encoded = members
    return put_together(found, fitted, weights, values, encoded)


def is_ensemble(given: Any) -> bool:
    """Say whether an estimator, fitted or not, is of a kind that can be read."""
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
        StackingClassifier,
        VotingClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier

    return isinstance(
        given,
        AdaBoostClassifier
        | BaggingClassifier
        | DecisionTreeClassifier
        | ExtraTreesClassifier
        | GradientBoostingClassifier
        | HistGradientBoostingClassifier
        | RandomForestClassifier
        | StackingClassifier
        | TreesClassifier
        | VotingClassifier,
    )


def _of_ours(fitted: TreesClassifier) -> Ensemble:
    model = fitted.model_
    if model.combine == "sum":
        raise TypeError(
            f"{type(fitted).__name__} has {len(model.trees)} trees that are added up, and its "
            "prediction is no mean or vote of theirs. Give one with n_trees=1, or its teacher."
        )
    if not getattr(fitted, "_plain_vote", True):
        raise TypeError(
            f"{type(fitted).__name__} is itself made of an ensemble. Give that ensemble: its "
            "estimator."
        )
    if model.combine == "pairs":
        raise TypeError(
            f"{type(fitted).__name__} has a tree for each pair of classes, and its prediction is "
            "no weighted sum of theirs. Take a tree that knows all classes."
        )
    n = len(model.trees)
    trees = tuple(model.trees)
    # What a tree with costs says is a class, and not the largest share.
    votes = model.combine == "vote" or any(tree.costs for tree in trees)
    values = VOTES if votes else SHARES
    return Ensemble(trees, np.full(n, 1.0 / n), values, model.encoding, model.classes)


def refusal(given: Any) -> str:
    got = f"an object of class {type(given).__name__}"
    do = "Give one of those, or leave it out."
    if isinstance(given, type):
        got, do = f"the class {given.__name__} itself", f"Write {given.__name__}()."
    elif hasattr(given, "best_estimator_"):
        do = "Give the one inside, its best_estimator_, with prefit=True."
    elif hasattr(given, "steps"):
        do = "Put other steps in front of this estimator, in a pipeline of its own."
    return (
        "estimator must be a tree classifier of obliqua, scikit-learn's DecisionTreeClassifier, a "
        "forest, BaggingClassifier, AdaBoostClassifier, VotingClassifier or StackingClassifier of "
        "such trees, GradientBoostingClassifier, HistGradientBoostingClassifier, or None; got "
        f"{got}. {do}"
    )
