"""`Spectrum`: a real function on a finite domain by its Fourier coefficients; that of a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.target import Numbers
from obliqua.errors import SpectrumTooLarge, TreeError
from obliqua.spectrum import _checks, _keys
from obliqua.spectrum.domain import Domain, branches_of, check_domain, check_level, points_of
from obliqua.tree.tree import Tree

__all__ = ["MAX_COEFFICIENTS", "Partition", "Spectrum", "leaf_values", "spectrum_of"]

#: The entries of a partition that are not 0: pairs of a feature and its entry.
Partition = tuple[tuple[int, int], ...]

# A coefficient this small beside the largest value is what rounding leaves of 0.
ROUNDING = 2e-15


#: The most coefficients that a spectrum has at any moment, unless one asks for more.
MAX_COEFFICIENTS = 2**20

_Part = tuple[Int64Array, NDArray[Any]]
_BLOCK = 2**22  # so many terms of sums are held at a time


class Spectrum:
    """The Fourier spectrum of a real function on a finite domain. Immutable.

    The basis function of a partition ``j`` is the product of ``exp(2 pi i x_m j_m / lambda_m)``
    over the features, and its coefficient the mean of the function times the basis function over
    all points of the domain. So the coefficient of the empty partition is the function's mean,
    and the sum of all squares is the mean square of the function. The function may have several
    outputs; then each coefficient is a vector.

    Parameters
    ----------
    domain : Domain
        The domain.
    keys : ndarray of int64, of shape (n_coefficients, n_words)
        The partitions, packed as `Domain.layout` says, in ascending order and each once.
    coefficients : ndarray of shape (n_coefficients, n_outputs)
        Real numbers if all features in the partitions have two levels, otherwise complex ones.

    See Also
    --------
    obliqua.spectrum.spectrum_of : The spectrum of a tree.
    obliqua.spectrum.tree_of : The tree of a spectrum.

    Examples
    --------
    The exclusive or of two binary features has one coefficient beside its mean:

    >>> from obliqua.spectrum import Domain, Spectrum
    >>> domain = Domain.of_levels([2, 2])
    >>> xor = Spectrum.from_dict(domain, {(): 0.5, ((0, 1), (1, 1)): -0.5})
    >>> xor.value([[0, 0], [0, 1], [1, 0], [1, 1]]).ravel()
    array([0., 1., 1., 0.])
    >>> xor.energy
    0.5
    """

    __slots__ = ("coefficients", "domain", "keys")

    domain: Domain
    keys: Int64Array
    coefficients: NDArray[Any]

    def __init__(self, domain: Domain, keys: Int64Array, coefficients: NDArray[Any]) -> None:
        keys.flags.writeable = coefficients.flags.writeable = False
        for name, value in (("domain", domain), ("keys", keys), ("coefficients", coefficients)):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A spectrum cannot be changed; make another one ({name}).")

    @classmethod
    def from_dict(cls, domain: Domain, coefficients: Mapping[Partition, ArrayLike]) -> Spectrum:
        """Make a spectrum of partitions and coefficients.

        Parameters
        ----------
        domain : Domain
            The domain.
        coefficients : mapping
            A number, or a vector with an entry per output, for each partition, which is written
            as pairs of a feature, by number or name, and its entry; ``()`` is the empty one. For
            the function to be real, a partition and its negation need conjugate coefficients.

        Raises
        ------
        ValueError
            If a partition is none of this domain, or the function is not real.
        """
        check_domain(domain)
        vectors = vectors_of(domain, coefficients)
        values = coefficients_of(coefficients.values())
        made = gathered(domain, _keys.packed(domain, vectors), values)
        mirrored = gathered(domain, _keys.partners(domain, made.keys), made.coefficients.conj())
        if (made - mirrored).energy > 1e-20 * made.energy:
            raise ValueError(
                "The function of these coefficients is not real. A partition and its negation, "
                "each entry j turned into the number of levels minus j, need conjugate ones."
            )
        return made

    # --- what it is ----------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def n_outputs(self) -> int:
        """How many numbers the function has at each point."""
        return int(self.coefficients.shape[1])

    @property
    def orders(self) -> Int64Array:
        """The order of each partition: how many features its basis function depends on."""
        return _keys.orders(self.domain, self.keys)

    @property
    def order(self) -> int:
        """The largest order of a partition; 0 for a constant."""
        return int(self.orders.max(initial=0))

    @property
    def energy(self) -> float:
        """The sum of the squared coefficients: the mean square of the function."""
        return float(squared(self.coefficients).sum())

    @property
    def mean(self) -> FloatArray:
        """The mean of the function over the domain, one number per output."""
        if len(self.keys) and not self.keys[0].any():
            return np.array(self.coefficients[0].real)
        return np.zeros(self.n_outputs)

    @property
    def features(self) -> tuple[int, ...]:
        """The features that the function depends on."""
        used = np.bitwise_or.reduce(self.keys, axis=0) if len(self.keys) else None
        word, shift, mask, _ = self.domain.layout
        return tuple(
            f
            for f in range(self.domain.n_features)
            if used is not None and (used[word[f]] >> shift[f]) & mask[f]
        )

    def partitions(self) -> list[Partition]:
        """List the partitions, in the order of `coefficients`.

        Returns
        -------
        list of tuple
            For each the pairs of a feature and its entry, where the entry is not 0.
        """
        vectors = _keys.entries(self.domain, self.keys)
        return [tuple((int(f), int(row[f])) for f in np.flatnonzero(row)) for row in vectors]

    def to_dict(self) -> dict[Partition, Any]:
        """Return the coefficient of each partition.

        Returns
        -------
        dict
            A number if there is one output, else a vector.
        """
        values = self.coefficients[:, 0] if self.n_outputs == 1 else self.coefficients
        return dict(zip(self.partitions(), list(values), strict=True))

    # --- values --------------------------------------------------------------------------

    def value(self, codes: ArrayLike) -> FloatArray:
        """Return the function at points of the domain: the inverse transform.

        Parameters
        ----------
        codes : array-like of int, of shape (n_rows, n_features)
            Levels, as `Domain.codes` returns them. Where a level is -1, not known, the mean over
            all levels of that feature is taken.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The values.
        """
        used = list(self.features)
        entries = _keys.entries(self.domain, self.keys)[:, used]
        turns = entries / np.array(self.domain.cardinalities)[used]
        rows = points_of(self.domain, codes)[:, used]
        return at_points(
            rows, len(self.keys), self.n_outputs, lambda block: self._block(block, entries, turns)
        )

    def _block(self, rows: Int64Array, entries: Int64Array, turns: FloatArray) -> FloatArray:
        unknown = rows < 0
        angle = np.where(unknown, 0, rows) @ turns.T
        angle -= np.rint(angle)  # a whole turn more or less is none
        angle *= 2.0 * np.pi
        waves = np.cos(angle)
        if unknown.any():
            hidden = (unknown.astype(np.float64) @ (entries != 0).T) > 0
            waves[hidden] = 0.0
        value = waves @ self.coefficients.real
        if self.coefficients.dtype.kind == "c":
            waves = np.sin(angle, out=angle)
            if unknown.any():
                waves[hidden] = 0.0
            value += waves @ self.coefficients.imag
        return np.asarray(value)

    # --- other spectra from it -----------------------------------------------------------

    def inner(self, other: Spectrum) -> float:
        """Return the inner product with another spectrum.

        Parameters
        ----------
        other : Spectrum
            A spectrum over the same domain, with as many outputs.

        Returns
        -------
        float
            The mean of the product of the functions over the domain, added up over outputs.
        """
        self._check_kin(other)
        mine, its = _keys.shared(self.keys, other.keys)
        a, b = self.coefficients[mine], other.coefficients[its]
        return float((a.real * b.real + a.imag * b.imag).sum())

    def truncate(self, energy: float = 1.0, max_order: int | None = None) -> Spectrum:
        """Keep the largest coefficients.

        Parameters
        ----------
        energy : float, default=1.0
            The share of the energy to keep, above 0 and at most 1: as few coefficients as have
            it are kept, the largest ones; of equal ones those of low order first. Conjugate ones
            stay together, so that the function stays real.
        max_order : int, default=None
            Partitions of a higher order are left out first; they count as lost energy.

        Returns
        -------
        Spectrum
            The spectrum of what is left.
        """
        _checks.check_share("energy", energy)
        _checks.check_count("max_order", max_order, 0, none=True)
        keep = np.ones(len(self.keys), dtype=bool)
        orders = self.orders
        if max_order is not None:
            keep &= orders <= max_order
        if energy < 1.0:
            keep &= self._largest(float(energy) * self.energy, orders, keep)
        return Spectrum(self.domain, self.keys[keep], self.coefficients[keep])

    def _largest(self, enough: float, orders: Int64Array, allowed: AnyArray) -> AnyArray:
        """Say which coefficients are the fewest that have enough energy."""
        turned = _keys.partners(self.domain, self.keys)
        later = np.zeros(len(self.keys), dtype=bool)
        undecided = np.ones(len(self.keys), dtype=bool)
        for mine, its in zip(self.keys.T, turned.T, strict=True):
            later |= undecided & (its < mine)
            undecided &= its == mine
        pair_keys, pair = _keys.group(np.where(later[:, None], turned, self.keys))
        squares = squared(self.coefficients).sum(axis=1) * allowed
        together = np.bincount(pair, weights=squares, minlength=len(pair_keys))
        pair_order = _keys.orders(self.domain, pair_keys)
        # What differs by rounding only is equal.
        size = np.round(together / max(together.max(initial=0.0), 1e-300), 12)
        ranked = np.lexsort((pair_order, -size))
        sums = np.cumsum(together[ranked])
        n_kept = int(np.searchsorted(sums, enough * (1.0 - 1e-12))) + 1
        chosen = np.zeros(len(pair_keys), dtype=bool)
        chosen[ranked[:n_kept]] = True
        return np.asarray(chosen[pair])

    def restrict(self, feature: int | str, level: int) -> Spectrum:
        """Fix the level of a feature.

        Parameters
        ----------
        feature : int or str
            The feature, by number or name.
        level : int
            Its level, by number.

        Returns
        -------
        Spectrum
            The function of the other features, over the same domain; it does not depend on this
            one any more.
        """
        number = self.domain.feature_number(feature)
        cardinality = self.domain.cardinalities[number]
        check_level(self.domain.features[number], level)
        entry = _keys.digit(self.domain, self.keys, number)
        rest = _keys.cleared(self.domain, self.keys, number)
        # The last bit of a turn does not matter, but quarters of a turn must be just that.
        turn = to_levels(np.eye(1, cardinality, level)[0])
        turn = turn[entry] if cardinality > 2 else turn.real[entry]
        return gathered(self.domain, rest, _times(self.coefficients, turn[:, None]))

    def narrowed(self, feature: int, levels: Int64Array) -> Spectrum:
        """Leave some levels of a feature out of the domain.

        Parameters
        ----------
        feature : int
            The feature.
        levels : ndarray of int64
            The levels that stay, at least two; in the new domain they are 0, 1, ...

        Returns
        -------
        Spectrum
            The same function on the smaller domain. Partitions in which the feature has no part
            stay as they are.
        """
        domain = self.domain.narrowed(feature, levels)
        entry = _keys.digit(self.domain, self.keys, feature)
        rest = _keys.cleared(self.domain, self.keys, feature)
        union, place = _keys.group(rest)
        involved = np.zeros(len(union), dtype=bool)
        involved[place[entry > 0]] = True
        stays = ~involved[place]
        number = np.cumsum(involved) - 1
        shape = (self.domain.cardinalities[feature], int(involved.sum()), self.n_outputs)
        table = np.zeros(shape, dtype=np.complex128)
        table[entry[~stays], number[place[~stays]]] = self.coefficients[~stays]
        values = to_entries(to_levels(table)[levels]).swapaxes(0, 1).reshape(-1, self.n_outputs)
        keys = np.concatenate(
            [self.keys[stays], _keys.spread_out(domain, union[involved], feature)]
        )
        scale = float(np.abs(self.coefficients).max(initial=0.0))
        return gathered(domain, keys, np.concatenate([self.coefficients[stays], values]), scale)

    def __add__(self, other: Spectrum) -> Spectrum:
        if not isinstance(other, Spectrum):
            return NotImplemented
        self._check_kin(other)
        keys = np.concatenate([self.keys, other.keys])
        return gathered(self.domain, keys, np.concatenate([self.coefficients, other.coefficients]))

    def __mul__(self, factor: float) -> Spectrum:
        if not isinstance(factor, Real):
            return NotImplemented
        if not np.isfinite(factor):
            raise ValueError(f"A spectrum can be multiplied by a finite number; got {factor!r}.")
        return Spectrum(self.domain, self.keys.copy(), self.coefficients * float(factor))

    __rmul__ = __mul__

    def __neg__(self) -> Spectrum:
        return self * -1.0

    def __sub__(self, other: Spectrum) -> Spectrum:
        if not isinstance(other, Spectrum):
            return NotImplemented
        return self + -other

    def _check_kin(self, other: Spectrum) -> None:
        if not isinstance(other, Spectrum):
            raise TypeError(
                "Both functions must be of a kind, here a Spectrum; got an object of the class "
                f"{type(other).__name__}. Make both with spectrum_of, or both with leaf_sum_of."
            )
        if self.domain != other.domain or self.n_outputs != other.n_outputs:
            raise ValueError(
                "Both spectra must be over the same domain and have as many outputs; got "
                f"{self.domain.cardinalities} with {self.n_outputs} and "
                f"{other.domain.cardinalities} with {other.n_outputs}."
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.domain, self.keys.copy(), self.coefficients.copy())

    def __repr__(self) -> str:
        outputs = "1 output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        return (
            f"Spectrum({len(self)} coefficients, order {self.order}, {outputs}, energy "
            f"{self.energy:.6g})"
        )


def to_entries(at_levels: NDArray[Any]) -> NDArray[Any]:
    """Return the coefficients of functions of one feature, along the first axis."""
    found = np.fft.ifft(at_levels, axis=0)
    return found.real if len(found) <= 2 and not np.iscomplexobj(at_levels) else found


def to_levels(at_entries: NDArray[Any]) -> NDArray[Any]:
    """Return what functions of one feature are at each level, along the first axis."""
    return np.fft.fft(at_entries, axis=0)


def gathered(
    domain: Domain, keys: Int64Array, values: NDArray[Any], scale: float | None = None
) -> Spectrum:
    """Add up coefficients of equal partitions, and leave out what is 0 but for rounding."""
    if scale is None:
        scale = float(np.abs(values).max(initial=0.0))
    distinct, place = _keys.group(keys)
    if len(distinct) < len(keys):
        total = np.zeros((len(distinct), values.shape[1]), dtype=values.dtype)
        np.add.at(total, place, values)
    else:
        total = np.empty_like(values)
        total[place] = values
    return Spectrum(domain, *cleaned(distinct, total, scale))


def cleaned(
    keys: Int64Array, values: NDArray[Any], scale: float
) -> tuple[Int64Array, NDArray[Any]]:
    """Leave out coefficients that are 0 but for rounding."""
    there = (np.abs(values) > ROUNDING * scale).any(axis=1)
    if there.all():
        return keys, values
    return keys[there], values[there]


def at_points(
    rows: Int64Array, n_terms: int, n_outputs: int, of_block: Callable[[Int64Array], FloatArray]
) -> FloatArray:
    """Return the values of a sum of terms at points, of shape (n_rows, n_outputs)."""
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    result = np.empty((len(distinct), n_outputs))
    step = max(1, _BLOCK // max(1, n_terms))
    for start in range(0, len(distinct), step):
        block = slice(start, start + step)
        result[block] = of_block(distinct[block])
    return np.asarray(result[place.ravel()])


# --- what is given ------------------------------------------------------------------------------


def vectors_of(domain: Domain, coefficients: Any) -> Int64Array:
    """Return the partitions of a mapping as vectors."""
    if not isinstance(coefficients, Mapping):
        raise TypeError(
            "Coefficients are given as a mapping of partitions to numbers, such as {(): 0.5}; got "
            f"an object of the class {type(coefficients).__name__}."
        )
    vectors = np.zeros((len(coefficients), domain.n_features), dtype=np.int64)
    partitions: dict[bytes, Any] = {}
    for row, partition in enumerate(coefficients):
        for feature, entry in _pairs(partition):
            number = domain.feature_number(feature)
            high = domain.cardinalities[number] - 1
            if not (_checks.is_whole(entry) and 0 < entry <= high) or vectors[row, number]:
                raise ValueError(
                    f"A partition has each feature once, and the entry of feature {feature!r} "
                    f"is a whole number between 1 and {high}; got {partition}."
                )
            vectors[row, number] = entry
        other = partitions.setdefault(vectors[row].tobytes(), partition)
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
                f"{_checks.short(value)}."
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


def squared(values: NDArray[Any]) -> FloatArray:
    """Return the squares of absolute values."""
    return np.asarray(values.real**2 + values.imag**2)


def _times(values: NDArray[Any], turn: NDArray[Any]) -> NDArray[Any]:
    """Return products of complex numbers; NumPy's own differ from processor to processor."""
    if not (np.iscomplexobj(values) or np.iscomplexobj(turn)):
        return np.asarray(values * turn)
    found = np.empty(np.broadcast_shapes(values.shape, turn.shape), dtype=np.complex128)
    found.real = values.real * turn.real - values.imag * turn.imag
    found.imag = values.real * turn.imag + values.imag * turn.real
    return found


# --- the spectrum of a tree ---------------------------------------------------------------------


def leaf_values(tree: Tree, values: str | ArrayLike) -> FloatArray:
    """Return what the function of a tree is in each node."""
    if isinstance(values, str):
        _checks.refuse_lines([tree])
        if values == "shares":
            return tree.mean if tree.task == Numbers.task else tree.proportion
        if values == "votes":
            return np.eye(tree.n_stats)[tree.leaf_label]
        raise ValueError(
            f"values must be 'shares', 'votes' or numbers for the nodes; got {values!r}."
        )
    table = _checks.floats_of("values", values)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or len(table) != tree.n_nodes or not np.isfinite(table).all():
        raise ValueError(
            f"values must be finite, a number or a row of numbers for each of the {tree.n_nodes} "
            f"nodes; got an array of shape {np.shape(values)}."
        )
    return table


def check_fit(tree: Tree, domain: Domain) -> None:
    """Refuse what is no tree on a domain."""
    _checks.check_tree(tree)
    check_domain(domain)
    if tree.n_features != domain.n_features:
        raise TreeError(
            f"The tree has {tree.n_features} columns and the domain {domain.n_features} features; "
            "there must be one for each."
        )


def spectrum_of(
    tree: Tree,
    domain: Domain,
    values: str | ArrayLike = "shares",
    *,
    max_coefficients: int = MAX_COEFFICIENTS,
    max_order: int | None = None,
) -> Spectrum:
    """Find the Fourier spectrum of a tree.

    The points of the domain are never enumerated: the spectrum of a node is put together from
    those of its children. What it takes is about the number of coefficients at each node, which
    is at most the number of leaves below it times the product of the cardinalities of the
    features that the path to a leaf asks about.

    Parameters
    ----------
    tree : Tree
        A tree whose splits ask about one column each: thresholds, sets of levels, several
        branches.
    domain : Domain
        The domain, with a feature for each column of the tree.
    values : {"shares", "votes"} or array-like, default="shares"
        The function: the shares of the classes in the leaf, or its means if it says numbers; a 1
        for its largest class; or numbers of your own per node.
    max_coefficients : int, default=2**20
        The most coefficients, of the tree or of a part of it.
    max_order : int, default=None
        Leave out all partitions of a higher order. The others are found exactly.

    Returns
    -------
    Spectrum
        The spectrum, exact but for rounding. Coefficients that are 0 but for rounding are left
        out.

    Raises
    ------
    TreeError
        If a split asks about several columns, or cuts an interval of the domain.
    SpectrumTooLarge
        If there would be more than `max_coefficients`.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.spectrum import Domain, spectrum_of
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0}, 0.5, ("no", "ask"))
    >>> builder.add_split("ask", {1: 1.0}, 0.5, ("no too", "yes"))
    >>> for name in ("no", "no too"):
    ...     builder.set_leaf(name, [1, 0])
    >>> builder.set_leaf("yes", [0, 1])
    >>> both = spectrum_of(builder.build(), Domain.of_levels([2, 2]), values=[0, 0, 0, 0, 1])
    >>> both
    Spectrum(4 coefficients, order 2, 1 output, energy 0.25)
    >>> [float(number) for number in both.to_dict().values()]
    [0.25, -0.25, -0.25, 0.25]
    """
    check_fit(tree, domain)
    # What is left of a limit for several trees may be nothing.
    _checks.check_count("max_coefficients", max_coefficients, 0)
    _checks.check_count("max_order", max_order, 0, none=True)
    table = leaf_values(tree, values)
    scale = float(np.abs(table[tree.is_leaf]).max(initial=0.0))
    n_words = domain.layout[3]
    parts: list[_Part | None] = [None] * tree.n_nodes
    above = _features_above(tree) if max_order is not None else None
    for node in range(tree.n_nodes - 1, -1, -1):
        if tree.is_leaf[node]:
            parts[node] = (np.zeros((1, n_words), dtype=np.int64), table[node : node + 1])
            continue
        feature, branch = branches_of(tree, node, domain)
        first = int(tree.first_child[node])
        below = parts[first : first + int(tree.n_children[node])]
        parts[first : first + len(below)] = [None] * len(below)
        try:
            made = _joined_used(domain, feature, branch, below, max_coefficients)
        except _TooMany as error:
            raise _too_large(tree, node, domain, error.args[0], max_coefficients) from None
        parts[node] = cleaned(*made, scale)
        if above is not None and max_order is not None:
            parts[node] = _low_orders(domain, parts[node], above[node], max_order)
    root = parts[0]
    assert root is not None
    return gathered(domain, root[0], np.array(root[1]), scale)


def _joined_used(
    domain: Domain, feature: int, branch: Int64Array, below: list[Any], most: int
) -> _Part:
    """Put the branches together that some level takes."""
    used = np.unique(branch)
    if len(used) == 1:  # no level of the domain goes elsewhere
        part: _Part = below[used[0]]
        return part
    renumbered = np.searchsorted(used, branch)
    return _joined(domain, feature, renumbered, [below[b] for b in used.tolist()], most)


def _joined(
    domain: Domain,
    feature: int,
    branch: Int64Array,
    parts: list[tuple[Int64Array, NDArray[Any]]],
    most: int,
) -> tuple[Int64Array, NDArray[Any]]:
    """Put functions together: the one of branch b where the feature's level takes branch b.

    Keys come back in no order, each once; `_TooMany` if there would be more than `most`.
    """
    cardinality = domain.cardinalities[feature]
    rests = [_keys.cleared(domain, keys, feature) for keys, _ in parts]
    union, place = _keys.group(np.concatenate(rests))
    if len(union) * cardinality > most:
        raise _TooMany(len(union) * cardinality)
    shape = (cardinality, len(union), parts[0][1].shape[1])
    # What each partition of the other features has at each level of this one.
    total = np.zeros(shape, dtype=np.result_type(*(values for _, values in parts)))
    start = 0
    for number, (keys, values) in enumerate(parts):
        where = place[start : start + len(keys)]
        start += len(keys)
        levels = np.flatnonzero(branch == number)
        entry = _keys.digit(domain, keys, feature)
        if entry.any():
            table = np.zeros(shape, dtype=total.dtype)
            table[entry, where] = values
            at_levels = to_levels(table)[levels]
            total[levels] = at_levels if np.iscomplexobj(total) else at_levels.real
        else:
            total[np.ix_(levels, where)] = values
    coefficients = to_entries(total).swapaxes(0, 1).reshape(-1, shape[2])
    return _keys.spread_out(domain, union, feature), coefficients


class _TooMany(Exception):
    """There would be more coefficients than are allowed."""


def _features_above(tree: Tree) -> list[frozenset[int]]:
    """Return the columns that the splits above each node ask about."""
    above = [frozenset[int]()] * tree.n_nodes
    for node in range(1, tree.n_nodes):
        parent = int(tree.parent[node])
        start, end = tree.coef_ptr[tree.plane_ptr[parent] : tree.plane_ptr[parent] + 2]
        above[node] = above[parent] | set(tree.coef_idx[start:end].tolist())
    return above


def _low_orders(domain: Domain, part: Any, above: frozenset[int], max_order: int) -> _Part:
    """Leave out what no partition of a low order can come from.

    A split further up may take away the entry of its own feature, but no other.
    """
    keys, values = part
    order = _keys.orders(domain, keys)
    for feature in above:
        if domain.cardinalities[feature] > 1:
            order -= _keys.digit(domain, keys, feature) != 0
    return keys[order <= max_order], values[order <= max_order]


def _too_large(
    tree: Tree, node: int, domain: Domain, n_coefficients: int, most: int
) -> SpectrumTooLarge:
    used = sorted(set(tree.coef_idx.tolist()))
    widest = sorted(used, key=lambda f: -domain.cardinalities[f])[:3]
    named = ", ".join(f"{domain.names[f]!r} ({domain.cardinalities[f]})" for f in widest)
    return SpectrumTooLarge(
        f"The spectrum of node {node} would have {n_coefficients} coefficients, and "
        f"max_coefficients allows {most}. The number is the product of the cardinalities of the "
        f"features along a path; the largest are those of {named}. Take smaller trees "
        "(max_depth) or features with fewer levels, or allow more. A classifier needs no spectra "
        "with spectrum_energy=None; by hand, spectrum_of(..., max_order=2) leaves out "
        "interactions of more features, and obliqua.spectrum.LeafSum does without."
    )
