"""Ensembles of trees: bagged ones of our own, and those of scikit-learn that are read."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from obliqua._foreign import tree_from_sklearn
from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data import Encoding
from obliqua.estimators._fitted import TreesClassifier
from obliqua.estimators.base import BaseTreeClassifier
from obliqua.tree import Tree

if TYPE_CHECKING:
    from obliqua.data import Problem

VOTES, SHARES = "votes", "shares"


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees, what each counts, and what they say.

    Parameters
    ----------
    trees : tuple of Tree
        The trees, over the same columns and classes.
    weights : ndarray of shape (n_trees,)
        What each counts; they add up to 1.
    values : {"votes", "shares"}
        Whether a tree says one class, or the shares of all.
    encoding : Encoding
        What the columns are.
    classes : ndarray of shape (n_classes,)
        The labels of the classes.
    """

    trees: tuple[Tree, ...]
    weights: FloatArray
    values: str
    encoding: Encoding
    classes: AnyArray


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
    """Read a fitted ensemble, or a single tree, as trees with weights.

    Parameters
    ----------
    fitted : estimator
        A classifier of obliqua, or of scikit-learn: a forest, bagging, AdaBoost or voting of trees
        of either library, or a tree.

    Returns
    -------
    Ensemble
        The trees. The class with the largest sum of weights times values, the first at ties, is
        what the ensemble predicts.

    Raises
    ------
    TypeError
        If it is something else.
    NotFittedError
        If it is not fitted.
    """
    if isinstance(fitted, TreesClassifier):
        check_is_fitted(fitted)
        return _of_ours(fitted)
    if not hasattr(fitted, "fit") or isinstance(fitted, type):
        raise TypeError(refusal(fitted))
    if is_ensemble(fitted):
        check_is_fitted(fitted)
    if not hasattr(fitted, "estimators_"):
        if hasattr(getattr(fitted, "tree_", None), "children_left"):
            return _put_together([fitted], fitted, np.ones(1), SHARES, encoded=False)
        raise TypeError(refusal(fitted))
    members, weights, values, encoded = _members(fitted)
    return _put_together(members, fitted, weights, values, encoded)


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
    return Ensemble(model.trees, np.full(n, 1.0 / n), values, model.encoding, model.classes)


def _members(fitted: Any) -> tuple[list[Any], FloatArray, str, bool]:
    """Return the trees, what each counts, what they say, and whether they know encoded classes."""
    from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
    from sklearn.ensemble._forest import ForestClassifier

    members = list(fitted.estimators_)
    equal = np.ones(len(members))
    if isinstance(fitted, AdaBoostClassifier):
        weights = np.asarray(fitted.estimator_weights_[: len(members)], dtype=np.float64)
        return members, weights, VOTES, False
    if isinstance(fitted, VotingClassifier):
        given = fitted._weights_not_none
        weights = equal if given is None else np.asarray(given, dtype=np.float64)
        return members, weights, VOTES if fitted.voting == "hard" else SHARES, True
    if isinstance(fitted, BaggingClassifier | ForestClassifier):
        return members, equal, SHARES, True
    raise TypeError(refusal(fitted))


def _put_together(
    members: list[Any], whole: Any, weights: FloatArray, values: str, encoded: bool
) -> Ensemble:
    classes = np.asarray(whole.classes_)
    n_columns = int(whole.n_features_in_)
    features = getattr(whole, "estimators_features_", None)
    trees, encodings = [], []
    for number, member in enumerate(members):
        tree, encoding = _tree_in(member, whole)
        if encoding is not None:
            encodings.append(encoding)
        if features is not None:
            columns = np.asarray(features[number], dtype=np.int32)
            tree = replace(tree, n_features=n_columns, coef_idx=columns[tree.coef_idx])
        known = np.asarray(member.classes_)
        place = known.astype(np.int64) if encoded else np.searchsorted(classes, known)
        stats = np.zeros((tree.n_nodes, len(classes)))
        stats[:, place] = tree.stats
        trees.append(replace(tree, stats=stats))
    total = float(weights.sum())
    if not total > 0:
        raise ValueError(f"The weights of the trees must have a positive sum; got {total:g}.")
    names = getattr(whole, "feature_names_in_", None)
    encoding = Encoding.identity(n_columns, names)
    if any(not one.numeric for one in encodings):
        encoding = _shared(encodings, whole)
    return Ensemble(tuple(trees), weights / total, values, encoding, classes)


def _tree_in(member: Any, whole: Any) -> tuple[Tree, Encoding | None]:
    """Return the tree of a member, and what its columns are if it knows."""
    if isinstance(member, TreesClassifier) and len(member.model_.trees) == 1:
        return member.model_.trees[0], member.model_.encoding
    if hasattr(getattr(member, "tree_", None), "children_left"):
        return tree_from_sklearn(member), None
    raise TypeError(
        f"{type(whole).__name__} holds a {type(member).__name__}, and only trees have a spectrum. "
        "Take an ensemble of trees, of obliqua or of scikit-learn."
    )


def _shared(encodings: list[Encoding], whole: Any) -> Encoding:
    if all(one == encodings[0] for one in encodings):
        return encodings[0]
    raise TypeError(
        f"The trees of this {type(whole).__name__} have read different levels from the same "
        "columns, because each has seen other rows. Give the tree itself as estimator, which is "
        "then bagged, for instance estimator=C45Classifier()."
    )


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
