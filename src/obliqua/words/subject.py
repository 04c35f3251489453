"""What a reader reads: a fitted estimator, a `Model` or a bare `Tree`, seen in one way.

Everything that explains, exports or draws trees goes through `subject_of`, so that it works
alike on an estimator, on a model that was loaded from a file and on a tree built by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.data.sparse_rows import SparseRows
from obliqua.data.target import Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import MissingSide
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree

#: The most entries of sparse rows that are made dense to be explained.
MOST_DENSE = 200_000_000


@runtime_checkable
class Fittable(Protocol):
    """An estimator of any library, fitted or not."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from rows."""


@runtime_checkable
class FittedTrees(Protocol):
    """A fitted estimator of obliqua: what it has learnt, and how it takes rows."""

    model_: Model

    def _check_rows(self, X: Any) -> AnyArray: ...


@runtime_checkable
class Pipeline(Protocol):
    """Steps one after another, of which the last may be an estimator."""

    steps: Any


@runtime_checkable
class Search(Protocol):
    """A search that has found its best estimator."""

    best_estimator_: Any


@dataclass(frozen=True, eq=False)
class Subject:
    """One tree, what its columns and classes are called, and how rows are given to it.

    `rows` makes the matrix that the tree walks of rows as a user has them, and raises for rows
    that the tree cannot take. Where numbers are learnt there are no `classes`, and `class_names`
    are those of the outputs. A tree that is added to others may hold numbers for classes.
    """

    tree: Tree
    encoding: Encoding
    class_names: tuple[str, ...]
    classes: AnyArray  # the labels, as they are in `y`
    rows: Callable[[Any], AnyArray]
    told_apart: BoolArray  # by class: all, but for a tree about a pair of classes
    note: str = ""  # what a reader must know about the answers of this tree

    @property
    def holds_numbers(self) -> bool:
        """Whether the nodes of the tree hold means of numbers, no classes."""
        return self.tree.task == Numbers.task

    @property
    def says_numbers(self) -> bool:
        """Whether numbers were learnt: labels of rows are numbers then."""
        return not len(self.classes)

    @cached_property
    def mean_ends(self) -> tuple[FloatArray, FloatArray]:
        """The least and the largest mean of all leaves, for each output of a tree of numbers."""
        leaves = self.tree.mean[self.tree.is_leaf]
        return leaves.min(axis=0), leaves.max(axis=0)

    def mean_place(self, node: int, output: int = 0) -> float:
        """Return where the mean of a node lies between the least, 0, and the largest, 1."""
        low, high = (float(end[output]) for end in self.mean_ends)
        mean = float(self.tree.mean[node, output])
        return (mean - low) / (high - low) if low < high else 0.5

    def numbers(self, y: Any) -> FloatArray:
        """Return the numbers that rows have in the place of labels, a column per output."""
        try:
            values = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be numbers, as the tree says them: {error}.") from error
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or values.shape[1] != len(self.class_names):
            raise ValueError(
                f"y must have a number per row for each of the {len(self.class_names)} outputs of "
                f"the tree; got shape {np.shape(y)}."
            )
        if not np.isfinite(values).all():
            raise ValueError("y must be finite numbers; got others. Leave such rows out.")
        return values

    def require_classes(self, what: str) -> None:
        """Raise for what is about classes only."""
        if self.holds_numbers:
            raise TreeError(f"{what}, and the nodes of this tree hold numbers, no classes.")

    def codes(self, y: Any) -> AnyArray:
        """Return the number of each label's class."""
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise ValueError(
                f"y must have one dimension, a label per row; got {labels.ndim} dimensions."
            )
        number = {label: code for code, label in enumerate(self.classes.tolist())}
        found = [number.get(label, -1) for label in labels.tolist()]
        if -1 in found:
            unknown = labels.tolist()[found.index(-1)]
            raise ValueError(
                f"y has the label {unknown!r}, which is none of the tree's classes: "
                f"{', '.join(map(repr, number))}."
            )
        return np.array(found, dtype=np.int64)

    def labelled_rows(self, X: Any, y: Any) -> tuple[AnyArray, AnyArray]:
        """Return rows as the tree walks them, and the number of each row's class, or numbers."""
        Z, codes = self.rows(X), self.numbers(y) if self.says_numbers else self.codes(y)
        if len(codes) != len(Z):
            raise ValueError(
                f"X and y must have a row for each label; got {len(Z)} rows and "
                f"{len(codes)} labels."
            )
        return Z, codes

    def rows_told_apart(self, codes: AnyArray) -> BoolArray:
        """Say which rows are of classes that the tree tells apart."""
        rows: BoolArray = self.told_apart[codes]
        if len(rows) and not rows.any():
            names = np.array(self.class_names, dtype=object)[self.told_apart]
            raise ValueError(
                f"This tree is about the classes {' and '.join(names)}, and y has none of them. "
                "Give rows of these classes, or the number of another tree."
            )
        return rows


def subject_of(
    model: Any,
    feature_names: Sequence[Any] | Encoding | None = None,
    class_names: Sequence[Any] | None = None,
    tree: int | None = None,
) -> Subject:
    """See anything that holds a tree as a `Subject`."""
    container, rows = container_of(model)
    chosen = _chosen(container, tree)
    encoding, classes = container.encoding, container.classes
    if isinstance(feature_names, Encoding):
        encoding = _same_columns(feature_names, encoding)
        names = encoding.names
    elif feature_names is not None:
        names = _names(feature_names, encoding.n_columns, "feature_names", "columns")
    else:
        names = encoding.names
    columns = zip(encoding.columns, distinct(names), strict=True)
    encoding = Encoding(tuple(replace(column, name=name) for column, name in columns))
    called = answers_of(container)
    if class_names is not None:
        what = "classes" if container.n_classes else "outputs"
        called = _names(class_names, len(called), "class_names", what)
    paired = container.combine == "pairs"
    told_apart = chosen.stats[0] > 0 if paired else np.ones(len(classes), dtype=bool)
    note = _note(container, tree)
    return Subject(chosen, encoding, distinct(called), classes, rows, told_apart, note)


class Coefficients(Protocol):
    """Coefficients with what they are multiplied with: of splits, a `Tree`, or of functions."""

    @property
    def coef_idx(self) -> Int32Array:
        """Their columns."""

    @property
    def coef(self) -> FloatArray:
        """The coefficients."""

    @property
    def fill(self) -> FloatArray:
        """What stands in for missing values."""

    @property
    def spread(self) -> FloatArray:
        """The standard deviations at the nodes."""

    @property
    def table_ptr(self) -> Int64Array:
        """Where level tables start."""

    @property
    def table(self) -> FloatArray:
        """The level tables."""


class LineCoefficients(NamedTuple):
    """The coefficients of the linear functions of all nodes."""

    coef_idx: Int32Array
    coef: FloatArray
    fill: FloatArray
    spread: FloatArray
    table_ptr: Int64Array
    table: FloatArray


def lines_of(tree: Tree) -> LineCoefficients:
    """Return the linear functions of a tree as coefficients that are read as those of splits."""
    return LineCoefficients(
        tree.leaf_idx,
        tree.leaf_coef,
        tree.leaf_fill,
        tree.leaf_spread,
        tree.leaf_table_ptr,
        tree.leaf_table,
    )


def read_column(tree: Coefficients, k: int, Z: AnyArray) -> FloatArray:
    """Return what a coefficient is multiplied with in each row."""
    column = np.asarray(Z[:, tree.coef_idx[k]], dtype=np.float64)
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    missing = np.isnan(column)
    if len(table):
        inside = ~missing & (column >= 0) & (column < len(table))
        column = np.where(inside, table[np.where(inside, column, 0).astype(np.int64)], 0.0)
    return np.where(missing, tree.fill[k], column)


def read_values(tree: Tree, plane: int, Z: AnyArray) -> FloatArray:
    """Return the value of rows along a normal: term after term, as the tree's walk adds them.

    A row that goes to a side because it misses a feature is put on that side of the threshold.
    """
    terms = range(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    value = added_up(len(Z), ((tree.coef[k], read_column(tree, k, Z)) for k in terms))
    if tree.missing_side[plane]:
        cut = float(tree.threshold[plane])
        aside = np.fmin(value, cut)
        if tree.missing_side[plane] == MissingSide.RIGHT:
            aside = np.fmax(value, np.nextafter(cut, np.inf))
        value = np.where(goes_aside(tree, plane, Z), aside, value)
    return value


def goes_aside(tree: Tree, plane: int, Z: AnyArray) -> BoolArray:
    """Return which rows go to a side because they miss a feature, wherever the others are."""
    if not tree.missing_side[plane]:
        return np.zeros(len(Z), dtype=bool)
    columns = tree.coef_idx[tree.coef_ptr[plane] : tree.coef_ptr[plane + 1]]
    return np.asarray(np.isnan(Z[:, columns]).any(axis=1))


def added_up(n_rows: int, terms: Iterable[tuple[float, AnyArray]]) -> FloatArray:
    """Return a sum in each row: term after term, as the tree's walk adds them."""
    value = np.zeros(n_rows)
    # Products beyond the largest number are infinite for the walk too.
    with np.errstate(over="ignore", invalid="ignore"):
        for coefficient, column in terms:
            value += coefficient * column
    return value


def answers_of(model: Model) -> tuple[str, ...]:
    """Name the classes, or the outputs."""
    if model.n_classes:
        return tuple(str(label) for label in model.classes.tolist())
    several = range(model.n_outputs)
    return ("y",) if model.n_outputs == 1 else tuple(f"y{number}" for number in several)


def _same_columns(given: Encoding, known: Encoding) -> Encoding:
    if given.n_columns != known.n_columns:
        raise ValueError(
            f"feature_names must describe each of the {known.n_columns} columns; got an encoding "
            f"of {given.n_columns}."
        )
    return given


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Tell equal names apart by their numbers.

    Examples
    --------
    >>> from obliqua.words.subject import distinct
    >>> distinct(["age", "bmi", "age"])
    ('age [0]', 'bmi', 'age [2]')
    """
    known = tuple(names)
    while len(set(known)) < len(known):
        times = Counter(known)
        known = tuple(
            f"{name} [{number}]" if times[name] > 1 else name for number, name in enumerate(known)
        )
    return known


def subjects_of(model: Any) -> tuple[Subject, ...]:
    """See each tree of anything that holds trees as a `Subject`."""
    container, _ = container_of(model)
    return tuple(subject_of(model, tree=number) for number in range(len(container.trees)))


def container_of(model: Any) -> tuple[Model, Callable[[Any], AnyArray]]:
    """Return the model, and what turns a user's rows into the matrix that it walks."""
    if isinstance(model, Tree):
        container = Model.of_tree(model)
        return container, container.rows
    if isinstance(model, Model):
        return model, model.rows
    if isinstance(model, FittedTrees) and isinstance(model.model_, Model):
        return model.model_, partial(_dense_rows, model._check_rows)
    raise _not_readable(model)


def _dense_rows(check: Callable[[Any], AnyArray], X: Any) -> AnyArray:
    """Return rows as an array; what readers are asked about are few, also if they are sparse."""
    rows: Any = check(X)
    if not isinstance(rows, SparseRows):
        return np.asarray(rows)
    if rows.shape[0] * rows.shape[1] > MOST_DENSE:
        raise ValueError(
            f"X is sparse, and {rows.shape[0]:,} rows of {rows.shape[1]:,} columns are too many "
            "to be made dense for this. Give fewer rows."
        )
    return rows.dense(np.arange(rows.shape[1]))


def predicting(model: Any) -> tuple[Model, Callable[[Any], AnyArray]]:
    """Return the same of anything whose predictions are those of its model."""
    if not getattr(model, "_predicts_model", True):
        raise TreeError(
            f"{type(model).__name__} weighs its trees as it has found out, which its model does "
            "not tell. The trees alone, counted alike, are model_; AggregatedTreeClassifier makes "
            "one tree of them."
        )
    return container_of(model)


def _not_readable(model: Any) -> Exception:
    """Return the error for something that holds no tree, or none yet."""
    what = "A fitted estimator of obliqua, a Model or a Tree can be read"
    name = type(model).__name__
    if isinstance(model, type):
        return TypeError(f"{what}; got the class {model.__name__} itself.")
    if not isinstance(model, Fittable):
        return TypeError(f"{what}; got {name}.")
    # Readers do not import the estimators, so they are known by where their classes live.
    homes = {home.__module__.partition(".")[0] for home in type(model).__mro__}
    if "obliqua" in homes:
        from sklearn.exceptions import NotFittedError

        return NotFittedError(
            f"This {name} is not fitted, so it has no tree to read. Call fit first."
        )
    if isinstance(model, Pipeline):
        return TypeError(
            f"{what}; got a {name}. Give its last step, pipe[-1], and rows as they are before "
            "that step."
        )
    inside = " Give the one inside, its best_estimator_." if isinstance(model, Search) else ""
    return TypeError(f"{what}; {name} is not an estimator of obliqua.{inside}")


def _chosen(model: Model, number: Any) -> Tree:
    if number is None:
        if len(model.trees) > 1:
            raise TreeError(
                f"This model has {len(model.trees)} trees. Say which one to read: tree=0 is the "
                "first."
            )
        return model.trees[0]
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise TypeError(
            "tree must be the number of a tree, a whole number from 0 on, or None; got "
            f"{number!r}."
        )
    if not 0 <= int(number) < len(model.trees):
        n_trees = len(model.trees)
        known = "1 tree, number 0" if n_trees == 1 else f"{n_trees} trees, numbered from 0"
        raise TreeError(f"This model has {known}; got tree={number}.")
    return model.trees[int(number)]


def _note(model: Model, number: int | None) -> str:
    """Say what the answers of a tree mean that has costs, or is added to others."""
    tree = model.trees[number or 0]
    if len(tree.relabelled):
        return "Edited by hand: some leaves say another class than most of their rows have."
    if tree.costs:
        return "Leaves say the class that costs least, not always the most frequent one."
    if not model.adds_up or len(model.trees) == 1:
        return ""
    if not number:
        return "Other trees are added to what this one says."
    if tree.task == Numbers.task:
        return "Added to the trees before it: a number above 0 raises, one below 0 lowers."
    return (
        f"Added to the trees before it: a class with more than {100 / model.n_classes:.3g} % is "
        "raised, one with less lowered."
    )


def _names(given: Sequence[Any], n: int, parameter: str, what: str) -> tuple[str, ...]:
    names = tuple(str(name) for name in given)
    if isinstance(given, str) or len(names) != n:
        got = repr(given) if isinstance(given, str) else f"{len(names)} names"
        raise ValueError(f"{parameter} must give a name to each of the {n} {what}; got {got}.")
    return names
