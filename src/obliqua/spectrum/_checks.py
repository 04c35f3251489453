"""Numbers, trees and tables that functions on finite domains are given, looked at first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from obliqua._typing import AnyArray, FloatArray
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.tree.model import Model
from obliqua.tree.tree import Tree
from obliqua.words.subject import Fittable, FittedTrees

#: A column with more different numbers than this is no discrete one.
MOST_VALUES = 64

#: The most levels of a feature that is given by their number.
MOST_LEVELS = 2**20


# --- numbers ---------------------------------------------------------------------------------


def is_whole(value: Any) -> bool:
    """Say whether something is a whole number; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_count(name: str, value: Any, least: int, none: bool = False) -> None:
    """Refuse what is no whole number of at least so many."""
    if (none and value is None) or (is_whole(value) and value >= least):
        return
    raise ValueError(
        f"{name} must be a whole number of at least {least}{', or None' if none else ''}; got "
        f"{value!r}."
    )


def checked_count(name: str, given: Any) -> int:
    """Return a number of things; raise if it is none."""
    check_count(name, given, 1)
    return int(given)


def checked_flag(name: str, given: Any) -> bool:
    """Return a flag; raise if it is none."""
    if not isinstance(given, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {given!r}.")
    return bool(given)


def check_share(name: str, value: Any) -> None:
    """Refuse what is no share."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and 0.0 < float(value) <= 1.0):
        raise ValueError(f"{name} is a share above 0 and at most 1; got {value!r}.")


def floats_of(what: str, given: Any) -> FloatArray:
    """Return numbers as an array, or say that they are none."""
    try:
        array = np.asarray(given)
        if array.dtype.kind not in "biufO":
            raise ValueError(f"they have the type {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers; got {short(given)}: {error}.") from error


def short(given: Any) -> str:
    """Write what was given, cut to fit into a message."""
    text = repr(given)
    return text if len(text) <= 80 else text[:77] + "..."


# --- trees and domains -----------------------------------------------------------------------


@runtime_checkable
class FittedEnsemble(Protocol):
    """A fitted ensemble of scikit-learn."""

    estimators_: Any


def check_tree(tree: Any) -> None:
    """Refuse what is no tree, and say where one is to be had."""
    if isinstance(tree, Tree):
        return
    name = type(tree).__name__
    inner = getattr(tree, "tree_", None)
    if isinstance(inner, Tree):
        hint = "Give its tree: estimator.tree_."
    elif inner is not None:
        hint = "If it is one of scikit-learn, give obliqua.tree_from_sklearn(estimator)."
    elif isinstance(tree, FittedTrees):
        hint = "It has several trees: give one of estimator.model_.trees, or each in turn."
    elif isinstance(tree, Model):
        hint = "Give one of its trees, or each in turn: they are in model.trees."
    elif isinstance(tree, FittedEnsemble):
        hint = (
            "It has several trees: give obliqua.tree_from_sklearn(tree) for each tree of its "
            "estimators_."
        )
    elif isinstance(tree, Fittable):
        hint = "Fit the estimator, and give its tree: estimator.tree_."
    else:
        hint = "A fitted estimator has its tree in estimator.tree_."
    raise TypeError(f"A Tree of obliqua is needed; got an object of the class {name}. {hint}")


def trees_of(trees: Tree | Iterable[Tree], encoding: Encoding | None) -> tuple[Any, Encoding]:
    """Return trees over the same columns as a list, and what the columns are."""
    if isinstance(trees, Tree):
        trees = [trees]
    if not isinstance(trees, Iterable):
        check_tree(trees)
    known = list(trees)
    if not known:
        raise ValueError("A domain needs at least one tree to read thresholds from; got none.")
    for tree in known:
        check_tree(tree)
    n_columns = known[0].n_features
    if encoding is None:
        encoding = Encoding.identity(n_columns)
    check_encoding(encoding, n_columns, "the first tree")
    for place, tree in enumerate(known):
        if tree.n_features != n_columns:
            raise ValueError(
                "The trees of a domain must be over the same columns; the first has "
                f"{n_columns} and number {place} has {tree.n_features}."
            )
    return known, encoding


def check_encoding(encoding: Any, n_columns: int, whose: str) -> None:
    """Refuse what does not say what the columns are."""
    if not isinstance(encoding, Encoding):
        raise TypeError(
            "encoding must be an Encoding, such as estimator.model_.encoding; got an object of "
            f"the class {type(encoding).__name__}."
        )
    if encoding.n_columns != n_columns:
        raise ValueError(
            f"The encoding has {encoding.n_columns} columns, and {whose} {n_columns}. Give the "
            "encoding of the model that the rows are for: estimator.model_.encoding."
        )


def check_kind(functions: Any, kind: type, word: str) -> None:
    """Refuse a list of functions that are not all of a kind, and an empty one."""
    if isinstance(functions, kind) or not isinstance(functions, Sequence):
        raise TypeError(
            f"A list of objects of the class {kind.__name__} is needed; got an object of the "
            f"class {type(functions).__name__}."
        )
    if len(functions) == 0:
        raise ValueError(f"There must be at least one {word}; got none.")
    for function in functions:
        if not isinstance(function, kind):
            raise TypeError(
                f"All functions must be of a kind, here {kind.__name__}; got an object of the "
                f"class {type(function).__name__}. Make all with spectrum_of, or all with "
                "leaf_sum_of."
            )


def cardinalities_of(given: Any) -> list[int]:
    """Return numbers of levels as ints."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(
            f"There must be a number of levels for each column, such as [2, 3]; got {given!r}."
        )
    known = []
    for place, n in enumerate(given):
        if not (is_whole(n) or (isinstance(n, Real) and float(n).is_integer())):
            raise ValueError(
                f"The number of levels of a column must be a whole number; got {n!r} for column "
                f"{place}."
            )
        if not 1 <= n <= MOST_LEVELS:
            hint = " Numbers can be put into intervals: Feature(name, 'intervals', thresholds)."
            raise ValueError(
                f"A column has between 1 and {MOST_LEVELS} levels; got {n!r} for column {place}."
                f"{hint if n > 1 else ''}"
            )
        known.append(int(n))
    return known


def tuple_of(what: str, given: Any) -> tuple[Any, ...]:
    """Return what can be listed as a tuple."""
    try:
        return tuple(given)
    except TypeError as error:
        raise TypeError(f"{what} must be a list or a tuple; got {short(given)}.") from error


def names_of(given: Any) -> tuple[str, ...]:
    """Return names of columns, each of which must be there once."""
    if isinstance(given, str):
        raise TypeError(f"The names of columns must be a list or a tuple; got {given!r}.")
    names = tuple(map(str, tuple_of("The names of columns", given)))
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"Each column needs a name of its own; {twice!r} is there twice.")
    return names


def check_discrete(name: str, numbers: FloatArray) -> None:
    """Refuse a column of numbers that are no levels."""
    broken = numbers[numbers % 1 != 0]
    if len(broken) == 0 and len(numbers) <= MOST_VALUES:
        return
    why = (
        f"it holds {broken[0]:g}, for instance"
        if len(broken)
        else f"it holds {len(numbers)} different numbers, and at most {MOST_VALUES} can be levels"
    )
    raise ValueError(
        f"Column {name!r} is continuous: {why}. Cut it where the trees do, with Domain.of_trees, "
        "or in a classifier with domain='thresholds'; or make levels of it first, for instance "
        "with scikit-learn's KBinsDiscretizer; or list it among the categorical_features (a "
        "classifier: those of its trees), if its numbers are names."
    )


# --- columns and rows -----------------------------------------------------------------------


def column_of(name: str, column: Any) -> FloatArray:
    """Return a column that a tree walks as numbers."""
    array: AnyArray = np.asarray(column)
    text = array.dtype.kind not in "biufO"
    found = array.ravel()[:1].tolist() if text else []
    if array.dtype == object:
        found = [entry for entry in array.ravel().tolist() if isinstance(entry, str)]
    try:
        if not text and not found:
            return array.astype(np.float64)
    except (TypeError, ValueError):
        found = array.ravel()[:1].tolist()
    example = f", {short(found[0])} for instance" if found else ""
    raise ValueError(
        f"Column {name!r} holds what is no number{example}. Here rows are given as a tree walks "
        "them: numbers, and codes of qualitative columns. Domain.codes_of_table reads a table "
        "with symbols."
    )


def rows_of(Z: Any) -> AnyArray:
    """Return rows as an array."""
    try:
        return np.asarray(Z)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Rows must all have the same length; got {short(Z)}.") from error


def refuse_lines(trees: Iterable[Tree]) -> None:
    """Raise for a tree that does not say one number in a leaf."""
    if any(tree.has_lines for tree in trees):
        raise TreeError(
            "The leaves of this tree say linear functions, and a spectrum, or a sum of trees, is "
            "made of trees that say a constant in each leaf. Fit it with leaf_model='constant', "
            "or give numbers for its nodes as values."
        )
