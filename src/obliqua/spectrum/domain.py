"""`Domain`: the finite set of points over which a tree is a function, and its levels at splits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.encoding import QUALITATIVE, Column, Encoding
from obliqua.data.table import encoded_rows, read_table
from obliqua.errors import TreeError
from obliqua.spectrum import _checks
from obliqua.tree.from_sklearn import BEYOND
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree

__all__ = ["LEVELS", "Domain", "Feature"]

LEVELS, VALUES, INTERVALS = "levels", "values", "intervals"
_KINDS = (LEVELS, VALUES, INTERVALS)

# Partitions are packed into 64-bit words; the sign bit stays free.
_BITS = 62


# The place of the largest finite number in the order of all of them.
_LARGEST = int(np.float64(np.finfo(np.float64).max).view(np.int64))


@dataclass(frozen=True)
class Feature:
    """One discrete feature: the codebook of a column.

    Parameters
    ----------
    name : str
        What the column is called.
    kind : {"levels", "values", "intervals"}
        What level ``k`` of the feature is. ``"levels"``: the column holds codes, and code ``k``
        stands for ``entries[k]``. ``"values"``: the number ``entries[k]``. ``"intervals"``: the
        numbers above ``entries[k - 1]`` and at most ``entries[k]``.
    entries : sequence
        Symbols; numbers in ascending order; or thresholds in ascending order, one less than
        there are intervals.
    """

    name: str
    kind: str
    entries: tuple[Any, ...]

    def __post_init__(self) -> None:
        entries = _checks.tuple_of(f"The entries of feature {self.name!r}", self.entries)
        if self.kind not in _KINDS:
            raise ValueError(
                f"The kind of feature {self.name!r} must be one of {', '.join(_KINDS)}; got "
                f"{self.kind!r}."
            )
        if self.kind != LEVELS:
            numbers = _checks.floats_of(f"The {self.kind} of feature {self.name!r}", entries)
            entries = tuple(numbers.tolist())
            if not (np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()):
                raise ValueError(
                    f"The {'values' if self.kind == VALUES else 'thresholds'} of feature "
                    f"{self.name!r} must be finite numbers in ascending order, each once; got "
                    f"{list(entries[:10])}."
                )
        if self.kind != INTERVALS and not entries:
            raise ValueError(f"Feature {self.name!r} must have at least one level; got none.")
        object.__setattr__(self, "entries", entries)

    @property
    def cardinality(self) -> int:
        """The number of levels."""
        return len(self.entries) + (self.kind == INTERVALS)

    @property
    def ordered(self) -> bool:
        """Whether the levels have an order, so that a threshold can divide them."""
        return self.kind != LEVELS

    @cached_property
    def numbers(self) -> FloatArray:
        """Thresholds or values; for symbols the codes themselves."""
        if self.kind == LEVELS:
            return np.arange(len(self.entries), dtype=np.float64)
        return np.array(self.entries, dtype=np.float64)

    def codes(self, column: AnyArray) -> Int64Array:
        """Return the level of each entry of a column.

        Parameters
        ----------
        column : ndarray of shape (n_rows,)
            Numbers or codes, as a tree walks them.

        Returns
        -------
        ndarray of int64
            Levels from 0 on; -1 for what is missing or none of them.
        """
        column = _checks.column_of(self.name, column)
        if self.kind == INTERVALS:
            return np.where(np.isnan(column), -1, np.searchsorted(self.numbers, column))
        place = np.searchsorted(self.numbers, column)
        place = np.minimum(place, len(self.numbers) - 1)
        return np.where(self.numbers[place] == column, place, -1)

    def says(self, level: int) -> str:
        """Write a level in words.

        Parameters
        ----------
        level : int
            The level.

        Returns
        -------
        str
            A symbol, a number or an interval.
        """
        check_level(self, level)
        if self.kind != INTERVALS:
            return str(self.entries[level])
        low = "-inf" if level == 0 else f"{self.entries[level - 1]:g}"
        high = "inf)" if level == len(self.entries) else f"{self.entries[level]:g}]"
        return f"({low}, {high}"


@dataclass(frozen=True)
class Domain:
    """All combinations of the levels of discrete features, each as likely as any other.

    Feature ``i`` is column ``i`` of the rows that trees walk. A feature with a single level is
    one that nothing depends on.

    Parameters
    ----------
    features : sequence of Feature
        The features, one per column.
    packing : sequence of int, default=()
        For how many levels of each feature a packed partition has room; as many as there are if
        it is left out.

    Examples
    --------
    >>> from obliqua.spectrum import Domain
    >>> domain = Domain.of_levels([2, 3], ["smokes", "region"])
    >>> domain.cardinalities
    (2, 3)
    >>> domain.size
    6
    """

    features: tuple[Feature, ...]
    packing: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        features = _checks.tuple_of("The features of a domain", self.features)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "packing", tuple(self.packing))
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise TypeError(
                    "A domain is made of Feature objects; got one of the class "
                    f"{type(feature).__name__}. Domain.of_levels takes cardinalities."
                )

    # --- making one ----------------------------------------------------------------------

    @classmethod
    def of_levels(cls, cardinalities: Sequence[int], names: Sequence[str] | None = None) -> Domain:
        """Make a domain of columns that hold codes 0, 1, ...

        Parameters
        ----------
        cardinalities : sequence of int
            The number of levels of each column, at most 1,048,576.
        names : sequence of str, default=None
            The columns' names, each once; ``x0, x1, ...`` if there are none.
        """
        counts = _checks.cardinalities_of(cardinalities)
        given = None if names is None else _checks.names_of(names)
        known = Encoding.identity(len(counts), given).names
        levels = {n: tuple(range(n)) for n in set(counts)}  # columns alike share them
        pairs = zip(known, counts, strict=True)
        return cls(tuple(Feature(name, LEVELS, levels[n]) for name, n in pairs))

    @classmethod
    def of_trees(cls, trees: Tree | Iterable[Tree], encoding: Encoding | None = None) -> Domain:
        """Cut numeric columns at all thresholds that trees have.

        On such a domain the trees lose nothing: each of their splits lies between two levels.

        Parameters
        ----------
        trees : Tree or iterable of Tree
            Trees over the same columns, whose splits ask about one column each, such as
            ``estimator.model_.trees``.
        encoding : Encoding, default=None
            What the columns are; needed for qualitative ones, whose levels it knows.

        Returns
        -------
        Domain
            The domain. A column that no tree asks about has one level.

        Raises
        ------
        TreeError
            If there is a split over several columns, or a linear machine.
        """
        known, encoding = _checks.trees_of(trees, encoding)
        found: list[set[float]] = [set() for _ in encoding.columns]
        for tree in known:
            for column, cut in cuts_of(tree, encoding):
                found[column].add(cut)
        return cls(
            tuple(
                Feature(column.name, LEVELS, column.levels or (None,))
                if column.kind == QUALITATIVE
                else Feature(column.name, INTERVALS, tuple(sorted(found[place])))
                for place, column in enumerate(encoding.columns)
            )
        )

    @classmethod
    def of_table(cls, X: Any, categorical_features: Any = "from_dtype") -> Domain:
        """Take the levels and numbers that occur in a table: a codebook.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A frame, an array or a list of rows. Numeric columns must hold whole numbers.
        categorical_features : "from_dtype", array-like or None, default="from_dtype"
            Which columns hold symbols, as in `obliqua.data.read_table`.

        Raises
        ------
        ValueError
            If a column is continuous; the message names it and says what to do.

        Examples
        --------
        >>> from obliqua.spectrum import Domain
        >>> Domain.of_table([["red", 0], ["blue", 1]]).features[0].entries
        ('blue', 'red')
        """
        table = read_table(X, categorical_features)
        return cls.of_rows(table.Z, table.encoding)

    @classmethod
    def of_rows(cls, Z: AnyArray, encoding: Encoding) -> Domain:
        """Do the same for rows that are encoded.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_features)
            Numbers, and codes of levels.
        encoding : Encoding
            What the columns are.

        Raises
        ------
        ValueError
            If a column is continuous.
        """
        rows = _checks.rows_of(Z)
        if rows.ndim != 2:
            raise ValueError(f"Rows have two dimensions; got an array of shape {rows.shape}.")
        _checks.check_encoding(encoding, rows.shape[1], "the array of rows")
        features = []
        for place, column in enumerate(encoding.columns):
            if column.kind == QUALITATIVE:
                features.append(Feature(column.name, LEVELS, column.levels or (None,)))
                continue
            numbers = np.unique(_checks.column_of(column.name, rows[:, place]))
            numbers = numbers[~np.isnan(numbers)]
            _checks.check_discrete(column.name, numbers)
            features.append(Feature(column.name, VALUES, tuple(numbers.tolist()) or (0.0,)))
        return cls(tuple(features))

    # --- what it is ----------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.features)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """The number of levels of each feature."""
        return tuple(feature.cardinality for feature in self.features)

    @cached_property
    def size(self) -> int:
        """The number of points, which may be huge."""
        size = 1
        for cardinality in self.cardinalities:
            size *= cardinality
        return size

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The features' names."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def layout(self) -> tuple[Int64Array, Int64Array, Int64Array, int]:
        """Word, shift and mask of each feature in a packed partition; the number of words."""
        word, shift, mask = (np.zeros(self.n_features, dtype=np.int64) for _ in range(3))
        current, used = 0, 0
        for place, cardinality in enumerate(self.packing or self.cardinalities):
            bits = (cardinality - 1).bit_length()
            if used + bits > _BITS:
                current, used = current + 1, 0
            word[place], shift[place], mask[place] = current, used, (1 << bits) - 1
            used += bits
        return word, shift, mask, current + 1

    def narrowed(self, feature: int, levels: Int64Array) -> Domain:
        """Leave some levels of a feature out.

        Parameters
        ----------
        feature : int
            The feature.
        levels : ndarray of int64
            The levels that stay; in the new domain they are symbols 0, 1, ...

        Returns
        -------
        Domain
            The smaller domain. Partitions are packed as they were.
        """
        features = list(self.features)
        features[feature] = Feature(self.names[feature], LEVELS, tuple(range(len(levels))))
        return Domain(tuple(features), self.packing or self.cardinalities)

    def codes(self, Z: ArrayLike) -> Int64Array:
        """Return the levels of rows.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows, as a tree walks them: numbers, and codes of qualitative columns. See
            `codes_of_table` for rows with symbols.

        Returns
        -------
        ndarray of int64, of shape (n_rows, n_features)
            Levels from 0 on; -1 for what is missing or outside the domain.
        """
        rows = _checks.rows_of(Z)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"Rows of this domain have {self.n_features} columns; got an array of shape "
                f"{rows.shape}."
            )
        codes = [f.codes(rows[:, place]) for place, f in enumerate(self.features)]
        return np.stack(codes, axis=1) if codes else np.zeros((len(rows), 0), dtype=np.int64)

    def codes_of_table(self, X: Any) -> Int64Array:
        """Return the levels of rows as a table has them, with symbols and numbers.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            A frame, an array or a list of rows, with the columns in the order of the features.

        Returns
        -------
        ndarray of int64, of shape (n_rows, n_features)
            Levels from 0 on; -1 for what is missing or outside the domain.

        Examples
        --------
        >>> from obliqua.spectrum import Domain
        >>> domain = Domain.of_table([["red", 0], ["blue", 5]])
        >>> domain.codes_of_table([["red", 5], ["green", 0], [None, 3]])
        array([[ 1,  1],
               [-1,  0],
               [-1, -1]])
        """
        encoding = encoding_of(self, X)
        try:
            rows = encoded_rows(X, encoding)
        except ValueError as error:
            # It speaks of trees; here it is the domain that knows the columns.
            message = str(error).replace("when the tree was fitted", "when the domain was made")
            raise ValueError(message) from error
        return self.codes(rows)

    def feature_number(self, feature: int | str) -> int:
        """Return the number of a feature that is given by number or name.

        Parameters
        ----------
        feature : int or str
            The feature.
        """
        if isinstance(feature, str):
            if self.names.count(feature) != 1:
                raise ValueError(
                    f"The domain has {self.names.count(feature)} features called {feature!r}; its "
                    f"features are {', '.join(map(repr, self.names[:10]))}"
                    f"{', ...' if self.n_features > 10 else ''}."
                )
            return self.names.index(feature)
        if not (_checks.is_whole(feature) and 0 <= feature < self.n_features):
            raise ValueError(
                f"The domain has {self.n_features} features, numbered from 0; got {feature!r}. "
                "Give the number of a feature, or its name."
            )
        return int(feature)

    # --- files ---------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the domain as plain lists, dicts and strings.

        Returns
        -------
        dict
            What `from_dict` takes.
        """
        return {
            "features": [
                {"name": f.name, "kind": f.kind, "entries": list(f.entries)} for f in self.features
            ]
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Domain:
        """Make a domain of what `to_dict` returned.

        Parameters
        ----------
        state : mapping
            The domain as plain lists, dicts and strings.
        """
        try:
            parts = [(e["name"], e["kind"], tuple(e["entries"])) for e in state["features"]]
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                "A domain is read from {'features': [{'name': ..., 'kind': ..., 'entries': [...]},"
                " ...]}, as to_dict() writes it; reading failed with "
                f"{type(error).__name__}: {error}."
            ) from error
        return cls(tuple(Feature(str(name), str(kind), entries) for name, kind, entries in parts))

    def __repr__(self) -> str:
        return f"Domain({self.n_features} features, cardinalities {self.cardinalities})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.features, self.packing)


# --- what is given ------------------------------------------------------------------------------


def check_domain(domain: Any) -> None:
    """Refuse what is no domain."""
    if not isinstance(domain, Domain):
        raise TypeError(
            f"A Domain is needed; got an object of the class {type(domain).__name__}. "
            "Domain.of_levels takes the numbers of levels, Domain.of_trees trees and "
            "Domain.of_table a table."
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


def check_level(feature: Feature, level: Any) -> None:
    """Refuse what is no number of a level of a feature."""
    if _checks.is_whole(level) and 0 <= level < feature.cardinality:
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


def points_of(domain: Domain, codes: Any) -> Int64Array:
    """Return points of a domain as levels, -1 where they are not known."""
    given = _checks.rows_of(codes)
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
            f"not known. Got {_checks.short(codes)}."
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


# --- which branch each level takes --------------------------------------------------------------


def split_column(tree: Tree, node: int) -> int:
    """Return the coefficient of the one column that a split asks about."""
    kind = NodeKind(int(tree.kind[node]))
    plane = int(tree.plane_ptr[node])
    start, end = int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1])
    # Where rows that miss something go to a side, a column without a factor has its say too.
    every = tree.missing_side[plane] > 0
    used = [k for k in range(start, end) if every or tree.coef[k] != 0.0]
    if kind == NodeKind.MACHINE or len(used) > 1:
        what = (
            KIND_NAMES[kind] if kind == NodeKind.MACHINE else f"a split over {len(used)} columns"
        )
        raise TreeError(
            f"Node {node} is {what}. A spectrum over discrete features can be found of trees "
            "whose splits ask about one column each: take a method such as C45Classifier or "
            "CartClassifier, or scikit-learn's trees."
        )
    return used[0] if used else start


def cut_of(tree: Tree, node: int, k: int) -> float:
    """Return the largest number that goes to the lower side of a split of one numeric column.

    The walk compares the rounded product of coefficient and number with the threshold. That is
    monotone, so there is one place where the answer changes; none, and an infinite cut, if all
    numbers take the same side.
    """
    factor = float(tree.coef[k])
    threshold = float(tree.threshold[tree.plane_ptr[node]])
    if factor == 0.0:
        return np.inf if threshold >= 0.0 else -np.inf
    if factor == 1.0:
        return np.inf if threshold >= BEYOND else threshold
    low, high = -_LARGEST - 1, _LARGEST  # all numbers in their order, and what is before them
    while low < high:
        middle = (low + high + 1) // 2
        # Whether the number is on the side of -inf: left for a positive factor.
        if (factor * _number(middle) <= threshold) == (factor > 0):
            low = middle
        else:
            high = middle - 1
    if low in (-_LARGEST - 1, _LARGEST):
        return -np.inf if low < 0 else np.inf
    return _number(low)


def _number(place: int) -> float:
    """Return the finite number at a place in the order of all; 0 is that of 0."""
    magnitude = float(np.int64(abs(place)).view(np.float64))
    return magnitude if place >= 0 else -magnitude


def cuts_of(tree: Tree, encoding: Encoding) -> Iterator[tuple[int, float]]:
    """Yield the column and the cut of every split of a numeric column; some may come twice."""
    # What most trees are: one numeric column with coefficient 1 against a threshold.
    one_each = len(tree.coef) == tree.n_planes == np.count_nonzero(~tree.is_leaf)
    if encoding.numeric and one_each and len(tree.table) == 0 and (tree.coef == 1.0).all():
        there = tree.threshold < BEYOND
        yield from zip(tree.coef_idx[there].tolist(), tree.threshold[there].tolist(), strict=True)
        return
    for node in np.flatnonzero(~tree.is_leaf).tolist():
        k = split_column(tree, node)
        column = int(tree.coef_idx[k])
        if encoding.columns[column].kind == QUALITATIVE:
            continue
        _check_numeric(tree, node, k, encoding.columns[column].name)
        cut = cut_of(tree, node, k)
        if np.isfinite(cut):
            yield column, cut


def _check_numeric(tree: Tree, node: int, k: int, name: str) -> None:
    if tree.table_ptr[k + 1] > tree.table_ptr[k]:
        raise TreeError(
            f"Node {node} asks about levels of the column {name!r}, whose levels are not known. "
            "Give the estimator or the Model that the tree is of, which knows them, or a Domain "
            "of your own."
        )


def branches_of(tree: Tree, node: int, domain: Domain) -> tuple[int, Int64Array]:
    """Return the feature that a split asks about, and the branch that each of its levels takes."""
    k = split_column(tree, node)
    column = int(tree.coef_idx[k])
    feature = domain.features[column]
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    threshold = float(tree.threshold[tree.plane_ptr[node]])
    factor = float(tree.coef[k])
    if feature.kind == INTERVALS:
        _check_numeric(tree, node, k, feature.name)
        return column, _sides_of_intervals(domain, column, cut_of(tree, node, k), factor)
    numbers = feature.numbers
    if len(table):
        inside = (numbers >= 0) & (numbers < len(table))
        codes = np.where(inside, numbers, 0).astype(np.int64)
        if tree.kind[node] == NodeKind.LEVELS:
            return column, np.where(inside, table[codes], threshold).astype(np.int64)
        numbers = np.where(inside, table[codes], 0.0)
    return column, (factor * numbers > threshold).astype(np.int64)


def _sides_of_intervals(domain: Domain, column: int, cut: float, factor: float) -> Int64Array:
    feature = domain.features[column]
    thresholds = feature.numbers
    n_low = int(np.searchsorted(thresholds, cut)) + (cut > -np.inf)
    if np.isfinite(cut) and (n_low > len(thresholds) or thresholds[n_low - 1] != cut):
        raise TreeError(
            f"A split cuts {feature.name!r} at {cut!r}, inside an interval of the domain. Make "
            "the domain of all trees that it is for: Domain.of_trees(trees, encoding)."
        )
    above = np.arange(feature.cardinality) >= n_low
    return (above if factor >= 0 else ~above).astype(np.int64)
