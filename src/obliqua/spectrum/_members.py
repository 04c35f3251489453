"""The trees of a classifier that is an ensemble."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.data.encoding import Encoding
from obliqua.tree.from_sklearn import tree_from_sklearn
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

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


def members_of(fitted: Any) -> tuple[list[Any], FloatArray, str, bool] | None:
    """Return the members of a classifier that is fitted, and what they are to it."""
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        RandomForestClassifier,
        VotingClassifier,
    )

    members = list(getattr(fitted, "estimators_", ()))
    equal = np.ones(len(members))
    if isinstance(fitted, AdaBoostClassifier):
        weights = np.asarray(fitted.estimator_weights_[: len(members)], dtype=np.float64)
        return members, weights, VOTES, False
    if isinstance(fitted, VotingClassifier):
        given = fitted._weights_not_none
        weights = equal if given is None else np.asarray(given, dtype=np.float64)
        return members, weights, VOTES if fitted.voting == "hard" else SHARES, True
    if isinstance(fitted, BaggingClassifier | RandomForestClassifier | ExtraTreesClassifier):
        return members, equal, SHARES, True
    return None


def put_together(
    members: list[Any], whole: Any, weights: FloatArray, values: str, encoded: bool
) -> Ensemble:
    """Read the trees of the members of a classifier, over the same columns and classes."""
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
    plain = Encoding.identity(n_columns, names)
    if any(not one.numeric for one in encodings):
        shared = _shared(encodings, whole, n_columns)
        called = shared.names if names is None else plain.names
        pairs = zip(shared.columns, called, strict=True)
        plain = Encoding(tuple(replace(column, name=name) for column, name in pairs))
    return Ensemble(tuple(trees), weights / total, values, plain, classes)


def _tree_in(member: Any, whole: Any) -> tuple[Tree, Encoding | None]:
    """Return the tree of a member, and what its columns are if it knows."""
    model = getattr(member, "model_", None)
    if isinstance(model, Model) and len(model.trees) == 1:
        return model.trees[0], model.encoding
    if hasattr(getattr(member, "tree_", None), "children_left"):
        return tree_from_sklearn(member), None
    raise TypeError(
        f"{type(whole).__name__} holds a {type(member).__name__}, and only trees have a spectrum. "
        "Take an ensemble of trees, of obliqua or of scikit-learn."
    )


def _shared(encodings: list[Encoding], whole: Any, n_columns: int) -> Encoding:
    if any(one.n_columns != n_columns for one in encodings):
        raise TypeError(
            f"The trees of this {type(whole).__name__} have seen only some of the columns each, "
            "and qualitative ones are among them. Give each tree all columns: max_features=1.0."
        )
    if all(one == encodings[0] for one in encodings):
        return encodings[0]
    raise TypeError(
        f"The trees of this {type(whole).__name__} have read different levels from the same "
        "columns, because each has seen other rows. Give the tree itself as estimator, which is "
        "then bagged, for instance estimator=C45Classifier()."
    )
