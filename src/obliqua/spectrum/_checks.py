"""What functions on finite domains are given is looked at here first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.tree.tree import Tree

if TYPE_CHECKING:
    from obliqua.spectrum.domain import Domain, Feature

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
        raise ValueError(f"{what} must be numbers; got {_short(given)}: {error}.") from error


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else text[:77] + "..."


# --- trees and domains -----------------------------------------------------------------------


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
    elif hasattr(tree, "model_"):
        hint = "It has several trees: give one of estimator.model_.trees, or each in turn."
    elif hasattr(tree, "trees"):
        hint = "Give one of its trees, or each in turn: they are in model.trees."
    elif hasattr(tree, "estimators_"):
        hint = (
            "It has several trees: give obliqua.tree_from_sklearn(tree) for each tree of its "
            "estimators_."
        )
    elif hasattr(tree, "fit"):
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


def check_domain(domain: Any) -> None:
    """Refuse what is no domain."""
    from obliqua.spectrum.domain import Domain

    if not isinstance(domain, Domain):
        raise TypeError(
            f"A Domain is needed; got an object of the class {type(domain).__name__}. "
            "Domain.of_levels takes the numbers of levels, Domain.of_trees trees and "
            "Domain.of_table a table."
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


def encoding_of(domain: Domain, X: Any) -> Encoding:
    """Return what the columns of a table are whose levels a domain knows."""
    names = tuple(getattr(X, "columns", ()))
    if names != domain.names and set(names) == set(domain.names) and len(names):
        raise ValueError(
            "The columns of X must be in the order of the domain, "
            f"{', '.join(domain.names[:10])}; got {', '.join(names[:10])}. "
            "Use X[list(domain.names)]."
        )
    columns = []
    for feature in domain.features:
        levels = () if feature.entries == (None,) else feature.entries  # a column of nothing
        known = feature.kind == "levels"
        columns.append(
            Column(feature.name, QUALITATIVE, levels) if known else Column(feature.name)
        )
    return Encoding(tuple(columns))


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
        raise TypeError(f"{what} must be a list or a tuple; got {_short(given)}.") from error


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


# --- levels and points -----------------------------------------------------------------------


def check_level(feature: Feature, level: Any) -> None:
    """Refuse what is no number of a level of a feature."""
    if is_whole(level) and 0 <= level < feature.cardinality:
        return
    known = ""
    if feature.kind != "intervals" and _hashable(level) and level in feature.entries:
        known = f" {level!r} is its level number {feature.entries.index(level)}."
    raise ValueError(
        f"Feature {feature.name!r} has {feature.cardinality} levels, which are given by number, "
        f"from 0 to {feature.cardinality - 1}; got {level!r}.{known}"
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


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
    example = f", {_short(found[0])} for instance" if found else ""
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
        raise ValueError(f"Rows must all have the same length; got {_short(Z)}.") from error


def points_of(domain: Domain, codes: Any) -> Int64Array:
    """Return points of a domain as levels, -1 where they are not known."""
    given = rows_of(codes)
    if given.dtype == object:
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            given = given.astype(str)
    if given.dtype.kind not in "biuf" or (
        given.dtype.kind == "f" and not (given == np.rint(given)).all()
    ):
        raise ValueError(
            "Points are given by levels, which are whole numbers; Domain.codes makes them of "
            "rows, and Domain.codes_of_table of a table with symbols. Use -1 for a level that is "
            f"not known. Got {_short(codes)}."
        )
    if given.ndim != 2 or given.shape[1] != domain.n_features:
        raise ValueError(
            f"Points of this domain have {domain.n_features} levels; got an array of "
            f"shape {given.shape}."
        )
    wrong = (given >= np.array(domain.cardinalities, dtype=np.int64)) | (given < -1)
    if wrong.any():
        row, feature = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"Feature {feature} has {domain.cardinalities[feature]} levels, numbered "
            f"from 0; row {row} has {given[row, feature]}. Use -1 for a level that is not "
            "known."
        )
    return given.astype(np.int64)


# --- partitions ------------------------------------------------------------------------------


def vectors_of(domain: Domain, coefficients: Any) -> Int64Array:
    """Return the partitions of a mapping as vectors."""
    if not isinstance(coefficients, Mapping):
        raise TypeError(
            "Coefficients are given as a mapping of partitions to numbers, such as {(): 0.5}; got "
            f"an object of the class {type(coefficients).__name__}."
        )
    vectors = np.zeros((len(coefficients), domain.n_features), dtype=np.int64)
    seen: dict[bytes, Any] = {}
    for row, partition in enumerate(coefficients):
        for feature, entry in _pairs(partition):
            number = domain.feature_number(feature)
            high = domain.cardinalities[number] - 1
            if not (is_whole(entry) and 0 < entry <= high) or vectors[row, number]:
                raise ValueError(
                    f"A partition has each feature once, and the entry of feature {feature!r} "
                    f"is a whole number between 1 and {high}; got {partition}."
                )
            vectors[row, number] = entry
        other = seen.setdefault(vectors[row].tobytes(), partition)
        if other is not partition:
            raise ValueError(
                f"The partitions {other} and {partition} are the same one. Give each once."
            )
    return vectors


def _pairs(partition: Any) -> list[tuple[Any, Any]]:
    pairs: list[Any] = list(partition) if isinstance(partition, tuple | frozenset) else [None]
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise ValueError(
            "A partition is written as pairs of a feature and its entry, such as ((0, 1), (2, "
            f"1)), with one pair ((0, 1),), and () for the empty one; got {partition!r}."
        )
    return pairs


def coefficients_of(given: Iterable[Any]) -> NDArray[Any]:
    """Return coefficients as an array with a row for each."""
    rows = []
    for value in given:
        try:
            row = np.atleast_1d(value)
        except ValueError:
            row = np.array([None])
        if row.ndim > 1 or row.dtype.kind not in "biufc":
            raise ValueError(
                "A coefficient is a number, or a vector with a number for each output; got "
                f"{_short(value)}."
            )
        rows.append(row)
    if len({len(row) for row in rows}) > 1 or not all(np.isfinite(row).all() for row in rows):
        raise ValueError(
            "The coefficients must be finite, and have as many outputs in all partitions."
        )
    values = np.array(rows) if rows else np.zeros((0, 1))
    if values.dtype.kind != "c" or not values.imag.any():
        values = values.real.astype(np.float64)
    return values
