"""Models changed by hand: `apply_edits`, for estimators, models and trees."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._sklearn_compat import check_sample_weight
from obliqua.data.problem import Problem, encode, encode_numbers
from obliqua.data.table import Table, missing_columns
from obliqua.errors import TreeError
from obliqua.estimators._fitted import TreesEstimator
from obliqua.estimators._training import TrainedTreesClassifier
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.subject import container_of, subject_of

__all__ = ["apply_edits"]


def apply_edits(
    model: Any,
    edits: Any,
    X: Any = None,
    y: Any = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Change the trees of a model as an edits file says.

    A page that shows a tree lets people change it and saves what they did: other questions, nodes
    that become leaves, leaves that say something else. Here the ordinary model is made of it. All
    edits are done, or none.

    Parameters
    ----------
    model : estimator, Model or Tree
        What to change; it stays as it is.
    edits : str, path-like, bytes, mapping or list
        The edits file: its path, its text, or what it says. The page on edits files describes it.
    X : array-like of shape (n_samples, n_features), default=None
        Rows to count anew with.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Their classes or numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    estimator, Model or Tree
        The same kind of thing, changed. Trees of a forest are no longer packed.

    Raises
    ------
    TreeError
        If an edit cannot be done, or if the edits were made for another model; the message names
        the edit.
    OSError
        If the file cannot be read.

    Notes
    -----
    Without rows each leaf says what it said before, unless it was given a label. Where rows may
    go elsewhere, how many there are and what splits gain is not known: `n_samples` is -1 and
    `gain` NaN in the trees, texts and pictures say so, and importances cannot be told.

    With rows, all nodes are counted anew: rows, weights, spreads, gains. The class of each leaf,
    or its numbers, stay what they were, and so does all that a leaf says which no row reaches;
    shares of classes are those of the rows, unless they are averaged over trees. What the best
    axis-parallel split would gain is not known.

    Examples
    --------
    >>> from obliqua import TreeBuilder, apply_edits, export_text
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.97, 1: 0.74}, 90.3, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1], n_samples=9)
    >>> builder.set_leaf("high", [0, 5], n_samples=5)
    >>> terms = [{"column": 0, "coefficient": 2}, {"column": 1, "coefficient": 0.75}]
    >>> plane = {"terms": terms, "threshold": 90}
    >>> edit = {"node": 0, "edit": "split", "kind": "hyperplane", "plane": plane}
    >>> print(export_text(apply_edits(builder.build(), [edit])))
    2 leaves, depth 1; 14 rows, class 0: 57 %
    <BLANKLINE>
    x0 + 0.375*x1 <= 45 (14 rows)
    ├─ yes: class 0 (rows not known, 89 %)
    └─ no:  class 1 (rows not known, 100 %)
    """
    from obliqua.edit import edited, read_edits

    container, _ = container_of(model)
    _check_kind(model)
    if X is None and (y is not None or sample_weight is not None):
        raise ValueError("y and sample_weight are those of the rows X, which are not given.")
    if X is not None and y is None:
        raise ValueError("To count anew takes the rows X and their labels y; got no y.")
    changed = edited(container, read_edits(edits))
    if X is not None:
        changed = _recounted(changed, model, _problem(model, container, X, y, sample_weight))
    if isinstance(model, Tree):
        return changed.trees[0]
    if isinstance(model, Model):
        return changed
    return _holding(model, changed)


def _recounted(changed: Model, model: Any, problem: Problem) -> Model:
    """Count all trees of a model anew."""
    from obliqua.edit import criterion_of, recounted

    trees = []
    for tree in changed.trees:
        rows = problem
        if changed.combine == "pairs":  # rows of other classes have never reached it
            rows = problem.take(tree.stats[0][problem.y] > 0)
        if not rows.n_rows:
            raise ValueError("y has no row of the two classes that a tree tells apart.")
        averaged = changed.combine == "mean"
        trees.append(recounted(tree, rows, criterion_of(model, tree), averaged))
    return replace(changed, trees=tuple(trees))


def _problem(
    model: Any, container: Model, X: Any, y: Any, sample_weight: ArrayLike | None
) -> Problem:
    """Make a problem of rows, over the columns and classes that the model knows."""
    if container.adds_up:
        raise TreeError(
            "The trees of this model are added up, and each but the first has learnt what those "
            "before it left over: rows and labels do not tell what to count. Leave X and y out."
        )
    Z, learnt = subject_of(model, tree=0).labelled_rows(X, y)
    weights, there = None, np.ones(len(Z), dtype=bool)
    if sample_weight is not None:
        weights = check_sample_weight(sample_weight, Z, dtype=np.float64, ensure_non_negative=True)
        there = weights > 0
    of_classes = None
    if isinstance(model, TrainedTreesClassifier):
        of_classes = model._weights_of_classes(container.classes, learnt, weights)
        there &= True if of_classes is None else of_classes[learnt] > 0
    if not there.any():
        raise ValueError("There is no row of a weight above 0 to count.")
    Z, learnt = Z[there], learnt[there]
    weights = None if weights is None else weights[there]
    table = Table(Z, container.encoding, missing_columns(Z))
    if not container.n_classes:
        return encode_numbers(table, learnt, weights)
    return encode(table, learnt.astype(np.int32), container.n_classes, weights, of_classes)


def _check_kind(model: Any) -> None:
    """Refuse estimators that say something else than their models do."""
    if isinstance(model, TreesEstimator) and not model._predicts_model:
        raise TreeError(
            f"{type(model).__name__} weighs its trees by what it has found out about them, which "
            "no longer holds if they change. Edit its model_, whose trees count alike."
        )


def _holding(estimator: Any, model: Model) -> Any:
    """Return a copy of an estimator that holds another model."""
    out = copy(estimator)
    out._hold(model, getattr(estimator, "feature_names_in_", None))
    # What the fit has noted of its search, of rows or of leaves is not true of these trees.
    for note in (*estimator._notes, "_kept_rows"):
        if note != "_takes_odd":
            out.__dict__.pop(note, None)
    return out
