"""Trees as fitted trees of scikit-learn, for tools that read nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from obliqua._typing import AnyArray, Int64Array
from obliqua.data.target import Classes
from obliqua.errors import CastWarning, TreeError
from obliqua.export.planes import Cuts, axis_cuts, is_plain, planned
from obliqua.tree.binary import with_two_branches
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.model import Model
from obliqua.tree.tree import UNDEFINED, Tree
from obliqua.words.question import missing_branch
from obliqua.words.subject import container_of, predicting, subject_of

__all__ = ["differing_rows", "to_sklearn"]

#: So many rows are named in a warning.
NAMED = 10


def to_sklearn(model: Any, X: Any = None, *, tree: int | None = None) -> Any:
    """Make a fitted estimator of scikit-learn that says the same.

    It is for tools that read trees of scikit-learn only: shap's TreeExplainer, dtreeviz,
    supertree, `sklearn.tree.export_text` and `plot_tree`.

    A tree whose splits compare one number each becomes a `DecisionTreeClassifier` or
    `DecisionTreeRegressor`, in which every float32 row reaches the leaf of the same number.
    scikit-learn rounds rows to float32, so a float64 row may come to lie on the other side of a
    threshold: `differing_rows` finds such rows, and with `X` a warning names them.

    Any other tree becomes a `Pipeline` of `obliqua.export.plane_values.PlaneValues`, which
    computes what the splits ask, and a tree over these numbers: oblique splits, and splits by
    levels. All rows reach the same leaf there, those of float64 too. Splits into more than two
    branches become several, so that nodes have other numbers then.

    A forest that takes the mean of trees over single numbers becomes a `RandomForestClassifier`
    or `RandomForestRegressor`.

    Parameters
    ----------
    model : estimator, Model or Tree
        What to convert.
    X : array-like of shape (n_rows, n_features), default=None
        Rows to compare both on; a `CastWarning` counts and names those that reach another leaf.
    tree : int, default=None
        Which tree of a model with several; None for all of them, if they make a forest.

    Returns
    -------
    DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier, \
RandomForestRegressor or Pipeline
        The fitted estimator: with shares of classes or means as `value`, gini impurity or mean
        error, rows and weights of nodes, and `feature_names_in_` if the model knows names.

    Raises
    ------
    TreeError
        If there is no such tree: linear machines, linear functions in leaves, costs of mistakes,
        leaves that were given a class by hand,
        trees that vote or are added up, forests with other than plain splits.

    Notes
    -----
    Where a value is missing that is compared by itself, rows take the side that they take in the
    tree; if this has none and would refuse them, the side with more training rows, as in
    scikit-learn. The parameters of the result are scikit-learn's defaults: it was not fitted with
    them. Nodes of an edited tree whose rows are not known have 0 there, and the weights that they
    were grown with. Before version 1.9 scikit-learn takes no missing values with
    ``"absolute_error"``.

    Parts of dates are columns of a tree of scikit-learn: it takes ``model.model_.rows(X)`` in the
    place of a table with dates. A pipeline takes tables as the model does.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import export_text
    >>> from obliqua import CartClassifier, HHCartClassifier, to_sklearn
    >>> iris = load_iris(as_frame=True)
    >>> model = CartClassifier(max_depth=2, pruning=None).fit(iris.data, iris.target)
    >>> fitted = to_sklearn(model, iris.data)
    >>> print(export_text(fitted, feature_names=list(fitted.feature_names_in_)))
    |--- petal length (cm) <= 2.45
    |   |--- class: 0
    |--- petal length (cm) >  2.45
    |   |--- petal width (cm) <= 1.75
    |   |   |--- class: 1
    |   |--- petal width (cm) >  1.75
    |   |   |--- class: 2
    <BLANKLINE>
    >>> oblique = HHCartClassifier(max_depth=2, pruning=None).fit(iris.data, iris.target)
    >>> [name for name, _ in to_sklearn(oblique, iris.data).steps]
    ['planes', 'tree']
    """
    members, container = _members(model, tree)
    names = _names(model, container)
    if container.combine == "mean" and tree is None:
        fitted = _forest(members, container, names)
    elif container.encoding.numeric and is_plain(members[0]):
        fitted = _estimator(members[0], container.classes, axis_cuts(members[0]), names)
    else:
        fitted = _pipeline(members[0], container)
    if X is not None:
        _warn_of(differing_rows(model, X, tree=tree))
    return fitted


def differing_rows(model: Any, X: Any, *, tree: int | None = None) -> Int64Array:
    """Find the rows that reach another leaf in the estimator that `to_sklearn` makes.

    Parameters
    ----------
    model : estimator, Model or Tree
        The model.
    X : array-like of shape (n_rows, n_features)
        The rows.
    tree : int, default=None
        Which tree of a model with several; None for all of them, if they make a forest.

    Returns
    -------
    ndarray of int64
        The numbers of the rows, from 0. Those with numbers beyond float32, which scikit-learn
        refuses, are among them. None are, if all rows are float32, or if the model becomes a
        pipeline.

    Raises
    ------
    TreeError
        If `to_sklearn` does not convert the model.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua import CartClassifier
    >>> from obliqua.export import differing_rows
    >>> X = np.array([[1.0], [1.0 + 1e-12]])
    >>> differing_rows(CartClassifier(pruning=None).fit(X, [0, 1]), X)
    array([1])
    """
    members, container = _members(model, tree)
    Z = container_of(model)[1](X)
    if not (container.encoding.numeric and all(map(is_plain, members))):
        return np.zeros(0, dtype=np.int64)
    with np.errstate(over="ignore"):
        cast = Z.astype(np.float32)
    other = np.isinf(cast).any(axis=1)
    # A tree of scikit-learn sends a row of float32 where the tree itself sends it.
    cast[other] = 0.0
    for member in members:
        other |= member.apply(Z) != member.apply(cast)
    return np.flatnonzero(other)


def _warn_of(rows: Int64Array) -> None:
    if not len(rows):
        return
    named = ", ".join(map(str, rows[:NAMED].tolist())) + (", ..." if len(rows) > NAMED else "")
    some = "1 row reaches" if len(rows) == 1 else f"{len(rows)} rows reach"
    warnings.warn(
        f"{some} another leaf in scikit-learn, which rounds numbers to float32, or cannot be "
        f"rounded: {named}. It keeps seven digits of a number: subtract a constant from columns "
        "that need more.",
        CastWarning,
        stacklevel=3,
    )


def _members(model: Any, tree: int | None) -> tuple[Sequence[Tree], Model]:
    """Return the trees that are converted; raise if they cannot be."""
    container, _ = predicting(model) if tree is None else container_of(model)
    if tree is None and (container.combine == "mean" or len(container.trees) == 1):
        members: Sequence[Tree] = container.trees
        adds = container.adds_up and container.n_classes
        if container.combine == "vote" or adds:
            raise _not_combined(container)
    elif tree is None:
        raise _not_combined(container)
    else:
        members = [subject_of(model, tree=tree).tree]
    for member in members:
        _check(member)
    if container.combine == "mean" and tree is None:
        odd = not container.encoding.numeric
        if odd or not all(map(is_plain, members)):
            what = "asks about levels" if odd else "has oblique splits"
            raise TreeError(
                f"A forest becomes one of scikit-learn if each split compares one number; this "
                f"one {what}. Convert single trees: to_sklearn(model, tree=0) is the first."
            )
        return members, container
    return [with_two_branches(members[0])], container


def _not_combined(container: Model) -> TreeError:
    return TreeError(
        f"The trees of this model are combined by {container.combine!r}, which no estimator of "
        "scikit-learn does. Convert single trees: to_sklearn(model, tree=0) is the first."
    )


def _check(tree: Tree) -> None:
    """Raise for what a tree of scikit-learn cannot hold."""
    machines = np.flatnonzero(tree.kind == NodeKind.MACHINE)
    if len(machines):
        raise TreeError(
            f"Node {machines[0]} is {KIND_NAMES[NodeKind.MACHINE]}, which trees of scikit-learn "
            "do not have. Fit a method whose splits are hyperplanes."
        )
    if tree.has_lines:
        raise TreeError(
            "The leaves of this tree say linear functions, and those of scikit-learn constants. "
            "Fit it with leaf_model='constant'."
        )
    if len(tree.relabelled):
        raise TreeError(
            "Leaves of this tree were given classes by hand, and leaves of scikit-learn say the "
            "largest one. Shares alone are kept by to_sklearn(dataclasses.replace(tree, "
            "relabelled=None))."
        )
    if tree.costs:
        raise TreeError(
            "Mistakes have costs in this tree, and leaves of scikit-learn say the largest class. "
            "Shares alone are kept by to_sklearn(dataclasses.replace(tree, costs=()))."
        )


def _names(model: Any, container: Model) -> AnyArray | None:
    """Return the names of features, if they are more than numbers."""
    if not isinstance(model, Model):
        return getattr(model, "feature_names_in_", None)
    given = container.encoding.names
    counted = [f"x{number}" for number in range(len(given))]
    return None if list(given) == counted else np.array(given, dtype=object)


def _estimator(tree: Tree, classes: AnyArray, cuts: Cuts, names: AnyArray | None) -> Any:
    """Make a fitted tree of scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from obliqua._sklearn_compat import made_tree

    numbers = tree.task != Classes.task
    n_features = tree.n_features if names is None else len(names)
    fitted = DecisionTreeRegressor(criterion=tree.loss) if numbers else DecisionTreeClassifier()
    fitted.tree_ = made_tree(
        n_features, _nodes(tree, cuts), tree.value, tree.depth, classes=not numbers
    )
    fitted.n_features_in_ = fitted.max_features_ = n_features
    fitted.n_outputs_ = tree.n_outputs
    if not numbers:
        fitted.classes_, fitted.n_classes_ = classes, tree.n_classes
    if names is not None:
        fitted.feature_names_in_ = names
    return fitted


def _nodes(tree: Tree, cuts: Cuts) -> dict[str, AnyArray]:
    """Return the nodes as scikit-learn has them."""
    leaf, swapped = tree.is_leaf, cuts.swapped
    left, right = tree.children_left, tree.children_right
    smaller = np.where(swapped, right, left)
    larger = np.where(swapped, left, right)
    heavier = np.where(leaf, 0, tree.n_samples[smaller] > tree.n_samples[larger])
    branch = np.array([_missing(tree, node) for node in range(tree.n_nodes)])
    return {
        "left_child": smaller,
        "right_child": larger,
        "feature": np.where(leaf, UNDEFINED, cuts.column),
        "threshold": np.where(leaf, UNDEFINED, cuts.threshold),
        "impurity": tree.impurity,
        "n_node_samples": np.maximum(tree.n_samples, 0),  # scikit-learn knows no unknown ones
        "weighted_n_node_samples": tree.weighted_n_node_samples,
        "missing_go_to_left": np.where(branch < 0, heavier, (branch == 0) != swapped),
    }


def _missing(tree: Tree, node: int) -> int:
    """Return the side of rows without the number that a node compares; -1 if it has none."""
    if tree.kind[node] != NodeKind.HYPERPLANE:
        return -1
    return missing_branch(tree, int(tree.plane_ptr[node]))


def _pipeline(tree: Tree, container: Model) -> Any:
    """Make a pipeline of what the splits ask, and a tree over that."""
    from sklearn.pipeline import Pipeline

    from obliqua.export.plane_values import PlaneValues

    columns, cuts = planned(tree, container.encoding)
    # A tree of a sum about classes holds numbers.
    classes = container.classes if tree.task == Classes.task else np.zeros(0)
    planes = PlaneValues(Model((tree,), "single", container.encoding, classes))
    over = replace(tree, n_features=max(len(columns), 1))
    last = _estimator(over, container.classes, cuts, None)
    return Pipeline([("planes", planes), ("tree", last)])


def _forest(trees: Sequence[Tree], container: Model, names: AnyArray | None) -> Any:
    """Make a fitted forest of scikit-learn."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    # As in scikit-learn, the trees of a forest know classes by their numbers.
    numbered = np.arange(container.n_classes, dtype=np.float64)
    members = [_estimator(tree, numbered, axis_cuts(tree), None) for tree in trees]
    kind = RandomForestClassifier if container.n_classes else RandomForestRegressor
    fitted = kind(n_estimators=len(members), criterion=members[0].criterion)
    fitted.estimators_ = members
    fitted.estimator_ = type(members[0])()
    fitted.n_features_in_ = container.encoding.n_columns
    fitted.n_outputs_ = container.n_outputs
    if container.n_classes:
        fitted.classes_, fitted.n_classes_ = container.classes, container.n_classes
    if names is not None:
        fitted.feature_names_in_ = names
    return fitted
