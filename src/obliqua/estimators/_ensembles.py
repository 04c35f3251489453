"""Ensembles of trees: bagged ones of our own, and those of scikit-learn that are read."""

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from obliqua._typing import Int64Array
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.spectrum.ensembles import SHARES, VOTES, Ensemble, members_of, put_together
from obliqua.tree.tree import Tree

if TYPE_CHECKING:
    from obliqua.data.problem import Problem

__all__ = [
    "SHARES",
    "VOTES",
    "Ensemble",
    "bagged_trees",
    "is_ensemble",
    "read_ensemble",
    "refusal",
]


def bagged_trees(
    method: BaseTreeClassifier,
    problem: "Problem",
    seeds: Int64Array,
    max_samples: float,
    n_jobs: int | None,
) -> tuple[Tree, ...]:
    """Grow a tree of a method from a bootstrap sample of the rows for each seed."""
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    grown = parallel(
        delayed(_one_tree)(method, problem, seed, max_samples) for seed in seeds.tolist()
    )
    return tuple(grown)


def _one_tree(
    method: BaseTreeClassifier, problem: "Problem", seed: int, max_samples: float
) -> Tree:
    from obliqua.prune.division import draw

    member = clone(method).set_params(random_state=seed)
    return member._grown(draw(problem, max_samples, seed))


def read_ensemble(fitted: Any) -> Ensemble:
    """Read a fitted ensemble, or a single tree, as trees with weights."""
    if isinstance(fitted, TreesClassifier):
        check_is_fitted(fitted)
        return _of_ours(fitted)
    if not hasattr(fitted, "fit") or isinstance(fitted, type):
        raise TypeError(refusal(fitted))
    if is_ensemble(fitted):
        check_is_fitted(fitted)
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
        RandomForestClassifier,
        VotingClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier

    known = (AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier)
    return isinstance(given, (*known, VotingClassifier, DecisionTreeClassifier, TreesClassifier))


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
    values = VOTES if model.combine == "vote" else SHARES
    n = len(model.trees)
    trees = tuple(model.trees)
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
    elif type(given).__name__.endswith("GradientBoostingClassifier"):
        do = "Its trees are regression trees, which predict no classes."
    return (
        "estimator must be a tree classifier of obliqua, scikit-learn's DecisionTreeClassifier, a "
        "forest, BaggingClassifier, AdaBoostClassifier or VotingClassifier of such trees, or "
        f"None; got {got}. {do}"
    )
