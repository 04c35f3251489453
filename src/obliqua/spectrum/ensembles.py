"""`TreeSum`: an ensemble as what it computes, a sum of functions that are trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.data.encoding import Column, Encoding
from obliqua.data.table import columns_by_name, encoded_rows
from obliqua.data.target import Numbers
from obliqua.spectrum import _checks
from obliqua.tree.from_sklearn import (
    BEYOND,
    Classifier,
    is_sklearn_tree,
    read_histogram_nodes,
    read_nodes,
    tree_from_sklearn,
)
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.subject import Fittable, Pipeline, Search, container_of, distinct

__all__ = ["TreeSum", "tree_sum_of"]

#: The most numbers that are held at a time for the rows of a table.
BLOCK = 2**22

VOTES, SHARES, SUMS = "votes", "shares", "sums"

_VALUES = ("auto", VOTES, SHARES)

# Where boosting with histograms keeps its trees, and what a node of one says.
_INSIDES = ("_predictors", "_baseline_prediction", "_preprocess_X", "_preprocessor")
_FIELDS = (
    *("raw_left_cat_bitsets", "is_leaf", "left", "right", "feature_idx", "num_threshold"),
    *("missing_go_to_left", "is_categorical", "bitset_idx", "count", "gain", "value"),
)


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Trees as functions, and their sum. Made by `tree_sum_of`.

    Parameters
    ----------
    trees : tuple of Tree
        The trees, over the same columns.
    values : tuple of ndarray of shape (n_nodes, n_outputs)
        What each tree says in each of its nodes; only leaves matter.
    weights : ndarray of shape (n_trees,)
        What each tree counts in the sum.
    start : ndarray of shape (n_outputs,), or None
        What the sum starts from; None for boosting that starts from a model of its own.
    encoding : Encoding
        What the columns are.
    outputs : tuple of str
        What the outputs are called: classes, for instance.
    rows : callable
        Makes the matrix that the trees walk of rows as a user has them.
    """

    trees: tuple[Tree, ...]
    values: tuple[FloatArray, ...]
    weights: FloatArray
    start: FloatArray | None
    encoding: Encoding
    outputs: tuple[str, ...]
    rows: Callable[[Any], AnyArray]

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.trees)

    @property
    def n_outputs(self) -> int:
        """The number of outputs of each tree."""
        return len(self.outputs)

    @property
    def n_leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(tree.n_leaves for tree in self.trees)

    def tree_values(self, Z: AnyArray, n_threads: int = 1) -> FloatArray:
        """Return what each tree says of rows.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_features)
            The rows, as the trees walk them.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_trees)
            The values.
        """
        found = np.empty((len(Z), self.n_outputs, self.n_trees))
        for number, (tree, value) in enumerate(zip(self.trees, self.values, strict=True)):
            found[:, :, number] = value[tree.apply(Z, n_threads)]
        return found

    def value(self, X: Any, n_threads: int = 1) -> FloatArray:
        """Return the sum of weights times trees, and of what it starts from.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The sum. Where `start` is None, that of the trees alone.
        """
        Z = self.rows(X)
        found = np.zeros((len(Z), self.n_outputs))
        for tree, value, weight in zip(self.trees, self.values, self.weights, strict=True):
            found += weight * value[tree.apply(Z, n_threads)]
        return found if self.start is None else found + self.start

    def __repr__(self) -> str:
        trees = "1 tree" if self.n_trees == 1 else f"{self.n_trees} trees"
        outputs = "1 output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        return f"TreeSum({trees}, {self.n_leaves} leaves, {outputs})"


def tree_sum_of(ensemble: Any, values: str = "auto") -> TreeSum:
    """See an ensemble as a sum of trees.

    Parameters
    ----------
    ensemble : estimator, Model, Tree or sequence of Tree
        A fitted estimator of scikit-learn: RandomForest, ExtraTrees, Bagging (of trees of either
        library), GradientBoosting and HistGradientBoosting, classifier or regressor;
        AdaBoostClassifier, VotingClassifier of trees, or a single tree. A fitted estimator of
        obliqua, a model, or trees of the same columns and classes, which then count the same.
    values : {"auto", "votes", "shares"}, default="auto"
        What a tree that classifies says: the shares of the classes in the leaf, or a 1 for the
        largest class and 0 for others. ``"auto"`` takes what the ensemble itself adds up: votes
        for AdaBoost and for models that vote, shares otherwise. Trees of boosting and of
        regressors have the values of their leaves, times the learning rate, and nothing else.

    Returns
    -------
    TreeSum
        The trees, in their order. In boosting with several classes the tree of a class has an
        output for each of them, 0 for the others.

    Raises
    ------
    TypeError
        If it is something else.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from obliqua.spectrum import tree_sum_of
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    >>> trees = tree_sum_of(forest)
    >>> trees
    TreeSum(10 trees, ... leaves, 3 outputs)
    >>> bool(abs(trees.value(X) - forest.predict_proba(X)).max() < 1e-12)
    True
    """
    if values not in _VALUES:
        raise ValueError(f"values must be one of {', '.join(map(repr, _VALUES))}; got {values!r}.")
    if isinstance(ensemble, TreeSum):
        if values != "auto":
            raise ValueError(
                f"The values of a TreeSum are given: values must be 'auto'; got {values!r}."
            )
        return ensemble
    found = _of_classifier(ensemble, values)
    if found is None:
        found = _of_regression_trees(ensemble)
        if found is None:
            raise TypeError(_refusal(ensemble))
        if values != "auto":
            raise ValueError(
                f"The trees of {type(ensemble).__name__} have numbers in their leaves, no "
                f"classes: values must be 'auto'; got {values!r}."
            )
    return found


# --- trees that classify --------------------------------------------------------------------


def _of_classifier(ensemble: Any, values: str) -> TreeSum | None:
    """Read trees that know classes, and all of obliqua; None if it is something else."""
    if isinstance(ensemble, Tree):
        ensemble = [ensemble]
    if isinstance(ensemble, Sequence) and not isinstance(ensemble, str):
        ensemble = _model_of(ensemble)
    if isinstance(ensemble, Model) or isinstance(getattr(ensemble, "model_", None), Model):
        model, rows = container_of(ensemble)
        if not model.n_classes or model.adds_up:
            return _of_numbers(model, values, rows)
        if not getattr(ensemble, "_plain_vote", True):
            raise TypeError(
                f"{type(ensemble).__name__} is itself made of an ensemble. Give that ensemble: "
                "its estimator."
            )
        default = SHARES if model.combine in ("single", "mean") else VOTES
        n = len(model.trees)
        trees = tuple(model.trees)
        found = Ensemble(trees, np.full(n, 1.0 / n), default, model.encoding, model.classes)
        return _with_values(found, values, rows)
    if not _is_fitted(ensemble) or isinstance(getattr(ensemble, "classes_", None), list):
        return None
    members = members_of(ensemble)
    if members is not None:
        found = put_together(members[0], ensemble, *members[1:])
    elif is_sklearn_tree(ensemble) and isinstance(ensemble, Classifier):
        found = put_together([ensemble], ensemble, np.ones(1), SHARES, encoded=False)
    else:
        return None
    return _with_values(found, values, _reader(ensemble, found.encoding))


def _of_numbers(model: Model, values: str, rows: Callable[[Any], AnyArray]) -> TreeSum:
    """Read trees of numbers: their sum or mean, or what each adds for each class."""
    if values != "auto":
        raise ValueError(
            "The trees of this model are added up, each with numbers of its own: values must be "
            f"'auto'; got {values!r}."
        )
    weights = np.ones(len(model.trees))
    if model.n_classes:
        outputs, tables = distinct([str(label) for label in model.classes.tolist()]), model.added
        start = np.full(len(outputs), model.start)
    else:
        _checks.refuse_lines(model.trees)
        outputs, tables = value_names(model.n_outputs), tuple(t.mean for t in model.trees)
        start = np.zeros(len(outputs))
        weights = weights if model.combine == "sum" else weights / len(weights)
    return TreeSum(tuple(model.trees), tables, weights, start, model.encoding, outputs, rows)


def value_names(n_outputs: int) -> tuple[str, ...]:
    """Name the outputs of trees with numbers in their leaves."""
    return ("value",) if n_outputs == 1 else tuple(f"value {k}" for k in range(n_outputs))


def _model_of(trees: Sequence[Any]) -> Model:
    if not trees or not all(isinstance(tree, Tree) for tree in trees):
        got = f"{len(trees)} of them" if trees else "none"
        odd = sorted({type(tree).__name__ for tree in trees if not isinstance(tree, Tree)})
        do = " Give the ensemble itself." if any(isinstance(t, Fittable) for t in trees) else ""
        raise TypeError(
            "A sequence must hold trees of the class Tree, at least one, and nothing else; got "
            f"{', '.join(odd) or got}.{do}"
        )
    first = Model.of_tree(trees[0])
    return replace(first, trees=tuple(trees), combine="mean")


def _with_values(ensemble: Ensemble, values: str, rows: Callable[[Any], AnyArray]) -> TreeSum:
    chosen = ensemble.values if values == "auto" else values
    tables = tuple(
        np.eye(tree.n_stats)[tree.leaf_label] if chosen == VOTES else tree.proportion
        for tree in ensemble.trees
    )
    outputs = distinct([str(label) for label in ensemble.classes.tolist()])
    start = np.zeros(len(outputs))
    return TreeSum(
        ensemble.trees, tables, ensemble.weights, start, ensemble.encoding, outputs, rows
    )


# --- trees with numbers in their leaves -----------------------------------------------------


def _of_regression_trees(ensemble: Any) -> TreeSum | None:
    from sklearn.ensemble import (
        BaggingRegressor,
        ExtraTreesRegressor,
        GradientBoostingClassifier,
        GradientBoostingRegressor,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestRegressor,
    )

    if not _is_fitted(ensemble):
        return None
    if isinstance(ensemble, GradientBoostingClassifier | GradientBoostingRegressor):
        return _of_boosting(ensemble)
    if isinstance(ensemble, HistGradientBoostingClassifier | HistGradientBoostingRegressor):
        return _of_histograms(ensemble)
    if isinstance(ensemble, BaggingRegressor | RandomForestRegressor | ExtraTreesRegressor):
        return _of_regressors(ensemble, list(ensemble.estimators_))
    if is_sklearn_tree(ensemble) and not isinstance(ensemble, Classifier):
        return _of_regressors(ensemble, [ensemble])
    return None


def _of_regressors(whole: Any, members: list[Any]) -> TreeSum:
    """Read trees whose mean is the answer."""
    encoding = _encoding_of(whole)
    trees, values = [], []
    for number, member in enumerate(members):
        if not is_sklearn_tree(member):
            raise TypeError(
                f"{type(whole).__name__} holds a {type(member).__name__}, and only trees can be "
                "read. Take an ensemble of scikit-learn's DecisionTreeRegressor."
            )
        tree, value = _regression_tree(member)
        tree = _over_all_columns(tree, whole, number)
        trees.append(tree)
        values.append(value)
    outputs = value_names(values[0].shape[1])
    weights = np.full(len(trees), 1.0 / len(trees))
    start = np.zeros(len(outputs))
    return TreeSum(
        tuple(trees), tuple(values), weights, start, encoding, outputs, _reader(whole, encoding)
    )


def _regression_tree(member: Any) -> tuple[Tree, FloatArray]:
    theirs = member.tree_
    weight = np.asarray(theirs.weighted_n_node_samples, dtype=np.float64)
    tree, order = read_nodes(theirs, weight[:, None])
    return tree, np.asarray(theirs.value, dtype=np.float64)[order, :, 0]


def _of_boosting(whole: Any) -> TreeSum:
    encoding = _encoding_of(whole)
    n_outputs = whole.estimators_.shape[1]
    trees, values = [], []
    for members in whole.estimators_:
        for output, member in enumerate(members):
            tree, value = _regression_tree(member)
            trees.append(tree)
            values.append(_in_column(whole.learning_rate * value[:, 0], output, n_outputs))
    start = None
    constant = isinstance(whole.init_, str) or type(whole.init_).__name__.startswith("Dummy")
    if constant:
        nothing = np.zeros((1, encoding.n_columns), dtype=np.float32)
        start = np.asarray(whole._raw_predict_init(nothing), dtype=np.float64)[0]
    return TreeSum(
        tuple(trees),
        tuple(values),
        np.ones(len(trees)),
        start,
        encoding,
        _outputs_of(whole, n_outputs),
        replace(_reader(whole, encoding), missing=False),
    )


def _of_histograms(whole: Any) -> TreeSum:
    _check_insides(whole)
    encoding = _columns_of_histograms(whole)
    n_levels = np.array([len(column.levels) for column in encoding.columns], dtype=np.int64)
    n_outputs = int(whole.n_trees_per_iteration_)
    trees, values = [], []
    for predictors in whole._predictors:
        for output, predictor in enumerate(predictors):
            tree, value = read_histogram_nodes(predictor, n_levels)
            trees.append(tree)
            values.append(_in_column(value, output, n_outputs))
    return TreeSum(
        tuple(trees),
        tuple(values),
        np.ones(len(trees)),
        np.asarray(whole._baseline_prediction, dtype=np.float64).reshape(n_outputs),
        encoding,
        _outputs_of(whole, n_outputs),
        HistogramReader(whole),
    )


def _check_insides(whole: Any) -> None:
    """Raise if this scikit-learn keeps its trees in another way than those that are known."""
    absent = [name for name in _INSIDES if name not in dir(whole)]
    if not absent:
        first = whole._predictors[0][0]
        there = {*(getattr(first, "nodes", np.zeros(0)).dtype.names or ()), *dir(first)}
        absent = [name for name in _FIELDS if name not in there]
    if absent:
        import sklearn

        raise TypeError(
            f"The trees of {type(whole).__name__} are kept where no public name of scikit-learn "
            f"leads, and version {sklearn.__version__} has no {absent[0]!r} there. Fit it anew "
            "with the scikit-learn that is installed, or take another version of it; 1.6 to 1.9 "
            "are known to work."
        )


def _columns_of_histograms(whole: Any) -> Encoding:
    """Return what the columns of its trees are: those with categories come first there."""
    plain = _encoding_of(whole)
    if whole.is_categorical_ is None:
        return plain
    qualitative = np.asarray(whole.is_categorical_, dtype=bool)
    encoder = whole._preprocessor.named_transformers_["encoder"]
    # A missing value may be a category; its code is missing too.
    levels = [tuple(level for level in known if level == level) for known in encoder.categories_]
    first = [
        Column(plain.names[place], "qualitative", known or (None,))
        for place, known in zip(np.flatnonzero(qualitative).tolist(), levels, strict=True)
    ]
    rest = [Column(plain.names[place]) for place in np.flatnonzero(~qualitative).tolist()]
    return Encoding((*first, *rest))


def _in_column(value: FloatArray, output: int, n_outputs: int) -> FloatArray:
    found = np.zeros((len(value), n_outputs))
    found[:, output] = value
    return found


def _outputs_of(whole: Any, n_outputs: int) -> tuple[str, ...]:
    classes = getattr(whole, "classes_", None)
    if classes is None:
        return ("value",)
    # With two classes the one number speaks of the second.
    return distinct([str(label) for label in np.asarray(classes).tolist()[-n_outputs:]])


# --- what they have in common ---------------------------------------------------------------


def _over_all_columns(tree: Tree, whole: Any, number: int) -> Tree:
    """Return a member's tree over the columns of the ensemble, some of which it may have had."""
    drawn = getattr(whole, "estimators_features_", None)
    if drawn is None:
        return tree
    columns = np.asarray(drawn[number], dtype=np.int32)
    return replace(tree, n_features=int(whole.n_features_in_), coef_idx=columns[tree.coef_idx])


def _encoding_of(whole: Any) -> Encoding:
    names = getattr(whole, "feature_names_in_", None)
    return Encoding.identity(int(whole.n_features_in_), names)


@runtime_checkable
class NamedColumns(Protocol):
    """An estimator that was fitted to columns with names."""

    feature_names_in_: Any


def _reader(whole: Any, encoding: Encoding) -> Reader:
    return Reader(encoding, isinstance(whole, NamedColumns))


def _is_fitted(given: Any) -> bool:
    """Say whether it is an estimator; raise if it is not fitted."""
    from sklearn.utils.validation import check_is_fitted

    if isinstance(given, type) or not isinstance(given, Fittable):
        return False
    check_is_fitted(given)
    return True


def _refusal(given: Any) -> str:
    got, do = f"an object of class {type(given).__name__}", ""
    if isinstance(given, type):
        got, do = f"the class {given.__name__} itself", " Give what its fit returns."
    elif isinstance(given, Search):
        do = " Give the one inside, its best_estimator_."
    elif isinstance(given, Pipeline):
        do = " Give its last step, pipe[-1], and rows as they are before that step."
    elif isinstance(given, np.ndarray) and given.dtype == object:
        do = " Give the ensemble itself, not its estimators_."
    elif type(given).__name__ == "AdaBoostRegressor":
        do = " It takes a weighted median of its trees, which is no sum."
    elif isinstance(getattr(given, "classes_", None), list):
        do = " It has several outputs; fit one ensemble for each."
    return (
        "An ensemble is a fitted RandomForest, ExtraTrees, Bagging, GradientBoosting or "
        "HistGradientBoosting of scikit-learn, classifier or regressor, its AdaBoostClassifier or "
        "VotingClassifier of trees, a tree, an estimator of obliqua, a Model, or a sequence of "
        f"Tree; got {got}.{do}"
    )


# --- the trees of a classifier that is an ensemble ----------------------------------------------


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The trees of a classifier, over the same columns and classes."""

    trees: tuple[Tree, ...]
    weights: FloatArray  # what each tree counts; they add up to 1, or each is 1 for SUMS
    values: str  # VOTES, SHARES or SUMS: a class, the shares of all, or a number to add for each
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


def members_added_up(fitted: Any) -> Ensemble | None:
    """Read a classifier that adds up numbers of trees and takes the softmax; None if it is none.

    Of two classes the second has the numbers, and the first has 0.
    """
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        StackingClassifier,
    )

    if isinstance(fitted, StackingClassifier):
        return _of_stacking(fitted)
    if not isinstance(fitted, GradientBoostingClassifier | HistGradientBoostingClassifier):
        return None
    found = tree_sum_of(fitted)
    if found.start is None:
        raise TypeError(
            f"This {type(fitted).__name__} starts from a model of its own, which is no tree and "
            "no constant. Leave init out."
        )
    if not found.encoding.numeric:
        raise TypeError(
            f"This {type(fitted).__name__} has categories, and puts their columns in an order of "
            "its own. Give it numbers only, or take a tree of obliqua, which is bagged."
        )
    # The exponential loss has half the logarithm of the odds.
    times = 2.0 if fitted.loss == "exponential" else 1.0
    tables = [times * value for value in found.values]
    return _added_up(found.trees, tables, times * found.start, found.encoding, fitted.classes_)


def _of_stacking(fitted: Any) -> Ensemble:
    """Read trees whose shares a logistic regression weighs."""
    from sklearn.linear_model import LogisticRegression

    final = fitted.final_estimator_
    plain = {"predict_proba"} == set(fitted.stack_method_) and not fitted.passthrough
    if not isinstance(final, LogisticRegression) or not plain:
        raise TypeError(
            "Stacked trees are a weighted sum if a LogisticRegression weighs their shares: give "
            "final_estimator=LogisticRegression(), stack_method='predict_proba' and "
            f"passthrough=False. Got {type(final).__name__}, {fitted.stack_method_} and "
            f"passthrough={fitted.passthrough}."
        )
    if not _is_softmax(final):
        raise TypeError(
            "Stacked trees are a sum of logarithms of odds if all classes are weighed together, "
            "by a softmax. This LogisticRegression weighs each class against the rest, or two "
            "classes by a softmax: leave multi_class out, and take another solver than "
            "'liblinear'."
        )
    members = list(fitted.estimators_)
    encoded = fitted.cv != "prefit"
    found = put_together(members, fitted, np.ones(len(members)), SHARES, encoded)
    n_classes, n_trees = len(found.classes), len(members)
    # Of two classes the regression sees the share of the second only.
    width = 1 if n_classes == 2 else n_classes
    coef = np.asarray(final.coef_, dtype=np.float64)
    if coef.shape != (width, n_trees * width):
        raise TypeError(
            f"Each tree must know all {n_classes} classes; the regression has weights of shape "
            f"{coef.shape} for {n_trees} trees."
        )
    parts = coef.reshape(width, n_trees, width)
    tables = [
        np.einsum("nk,ck->nc", tree.proportion[:, -width:], parts[:, number])
        for number, tree in enumerate(found.trees)
    ]
    start = np.asarray(final.intercept_, dtype=np.float64)
    return _added_up(found.trees, tables, start, found.encoding, found.classes)


def _is_softmax(regression: Any) -> bool:
    """Say whether shares are the softmax of what it adds up; of two classes, with 0 for one.

    Until scikit-learn 1.8, `multi_class` and liblinear could make something else of the sums.
    """
    told = getattr(regression, "multi_class", "auto")
    if len(regression.classes_) == 2:
        return told != "multinomial"
    return told != "ovr" and regression.solver != "liblinear"


def _added_up(
    trees: Sequence[Tree],
    tables: Sequence[FloatArray],
    start: FloatArray,
    encoding: Encoding,
    classes: AnyArray,
) -> Ensemble:
    """Make trees that say a number for each class, whose sum is that of tables and a start."""
    said = []
    for tree, table in zip(trees, tables, strict=True):
        # Each has its part of what the sum starts from, so that the trees are all there is.
        value = table + start / len(tables)
        value = np.column_stack([np.zeros(len(value)), value]) if value.shape[1] == 1 else value
        weight = tree.weighted_n_node_samples
        stats = np.column_stack([weight, value, np.zeros(len(value))])
        said.append(replace(tree, task=Numbers.task, stats=stats, costs=()))
    return Ensemble(tuple(said), np.ones(len(said)), SUMS, encoding, np.asarray(classes))


def put_together(
    members: list[Any], whole: Any, weights: FloatArray, values: str, encoded: bool
) -> Ensemble:
    """Read the trees of the members of a classifier, over the same columns and classes."""
    classes = np.asarray(whole.classes_)
    n_columns = int(whole.n_features_in_)
    trees, encodings = [], []
    for number, member in enumerate(members):
        tree, encoding = _tree_in(member, whole)
        if encoding is not None:
            encodings.append(encoding)
        tree = _over_all_columns(tree, whole, number)
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
    if is_sklearn_tree(member):
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


# --- rows as trees walk them --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reader:
    """Makes the matrix that trees walk of rows as a user has them."""

    encoding: Encoding
    named: bool  # whether columns of a frame are found by the names that the ensemble has seen
    missing: bool = True  # whether the ensemble takes missing values

    def __call__(self, X: Any) -> AnyArray:
        """Return rows as the trees walk them; raise if they are not of the ensemble's columns."""
        if self.named:
            X = columns_by_name(X, self.encoding.names)
        rows = encoded_rows(X, self.encoding, self.missing)
        check_width(rows.shape[1], self.encoding.n_columns)
        return rows


@dataclass(frozen=True, eq=False)
class HistogramReader:
    """The same for boosting with histograms, which codes categories by itself."""

    whole: Any

    def __call__(self, X: Any) -> AnyArray:
        """Return rows as the trees walk them, columns with categories first."""
        names = getattr(self.whole, "feature_names_in_", None)
        if names is not None:
            X = columns_by_name(X, [str(name) for name in names])
        width = np.shape(X)
        if len(width) == 2:
            check_width(width[1], int(self.whole.n_features_in_))
        Z = np.asarray(self.whole._preprocess_X(X, reset=False), dtype=np.float64)
        # Numbers beyond all thresholds, infinite ones too, are where ours end.
        return np.clip(Z, -BEYOND, BEYOND) if (np.abs(Z) > BEYOND).any() else Z


def check_width(got: int, n_columns: int) -> None:
    """Raise if rows have other columns than the trees."""
    if got != n_columns:
        raise ValueError(
            f"The ensemble was fitted to {n_columns} columns; X has {got}. Give rows as fit took "
            "them."
        )
