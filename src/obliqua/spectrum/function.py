"""`Spectrum`: a real function on a finite domain by its Fourier coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.spectrum import _checks, _keys
from obliqua.spectrum._points import at_points
from obliqua.spectrum.domain import Domain

__all__ = ["Partition", "Spectrum"]

#: The entries of a partition that are not 0: pairs of a feature and its entry.
Partition = tuple[tuple[int, int], ...]

# A coefficient this small beside the largest value is what rounding leaves of 0.
ROUNDING = 2e-15


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

        Returns
        -------
        Spectrum
            The spectrum.

        Raises
        ------
        ValueError
            If a partition is none of this domain, or the function is not real.
        """
        _checks.check_domain(domain)
        vectors = _checks.vectors_of(domain, coefficients)
        values = _checks.coefficients_of(coefficients.values())
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
        rows = _checks.points_of(self.domain, codes)[:, used]
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
        _checks.check_level(self.domain.features[number], level)
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
