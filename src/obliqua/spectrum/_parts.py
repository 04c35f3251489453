"""A function within a box of the domain, while a tree is built from it.

Two ways to know a function, with the same questions: by its spectrum and by its leaves.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.spectrum import _keys
from obliqua.spectrum.boxes import LeafSum, take_levels
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.function import Spectrum, waves_of

_BLOCK = 2**22  # so many pairs of leaves are looked at at a time


class Part(Protocol):
    """What is asked of a function within a box."""

    @property
    def mean(self) -> FloatArray:
        """The mean, one number per output."""

    @property
    def energy(self) -> float:
        """The mean square."""

    @property
    def reach(self) -> FloatArray:
        """How far each output may be from its mean, at most."""

    @property
    def features(self) -> tuple[int, ...]:
        """The features that it may depend on."""

    def levels(self, feature: int) -> Int64Array:
        """The levels of a feature in the box."""

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        """The mean at each level of each feature."""

    def without(self, feature: int) -> float:
        """The mean square of what is left when a feature is averaged out."""

    def taken(self, feature: int, chosen: Int64Array) -> Self:
        """The function where a feature has some of its levels in the box (by place)."""

    def equals(self, other: Self, tolerance: float) -> bool:
        """Whether another part of the same function is the same function."""


class SpectrumPart:
    """A function within a box by its spectrum over the box, which is a domain of its own."""

    def __init__(self, spectrum: Spectrum, box: dict[int, Int64Array]) -> None:
        self._spectrum = spectrum
        self._box = box  # the levels of features of which some are left out

    @property
    def mean(self) -> FloatArray:
        return self._spectrum.mean

    @property
    def energy(self) -> float:
        return self._spectrum.energy

    @property
    def reach(self) -> FloatArray:
        varying = self._spectrum.orders > 0
        return np.asarray(np.abs(self._spectrum.coefficients[varying]).sum(axis=0))

    @property
    def features(self) -> tuple[int, ...]:
        return self._spectrum.features

    def levels(self, feature: int) -> Int64Array:
        known = self._box.get(feature)
        n_levels = self._spectrum.domain.cardinalities[feature]
        return np.arange(n_levels) if known is None else known

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        spectrum = self._spectrum
        domain, mean = spectrum.domain, spectrum.mean
        alone = np.flatnonzero(spectrum.orders == 1)
        keys, values = spectrum.keys[alone], spectrum.coefficients[alone]
        found = []
        for feature in features:
            entry = _keys.digit(domain, keys, feature)
            there = entry > 0
            turn = np.conj(waves_of(domain.cardinalities[feature]))[:, entry[there]]
            found.append(np.asarray(mean + (turn @ values[there]).real))
        return found

    def without(self, feature: int) -> float:
        spectrum = self._spectrum
        left = _keys.digit(spectrum.domain, spectrum.keys, feature) == 0
        return float((np.abs(spectrum.coefficients[left]) ** 2).sum())

    def taken(self, feature: int, chosen: Int64Array) -> SpectrumPart:
        box = {**self._box, feature: self.levels(feature)[chosen]}
        if len(chosen) == 1:
            return SpectrumPart(self._spectrum.restrict(feature, int(chosen[0])), box)
        return SpectrumPart(self._spectrum.narrowed(feature, chosen), box)

    def equals(self, other: SpectrumPart, tolerance: float) -> bool:
        return (self._spectrum - other._spectrum).energy <= tolerance


class LeavesPart:
    """A function within a box by the leaves that reach into it.

    A leaf that fills the box adds the same everywhere, to `_constant`.
    """

    def __init__(
        self,
        constant: FloatArray,
        values: FloatArray,
        sets: dict[int, BoolArray],
        box: dict[int, Int64Array],
    ) -> None:
        full = np.ones(len(values), dtype=bool)
        for inside in sets.values():
            full &= inside.all(axis=1)
        if full.any():
            constant = constant + values[full].sum(axis=0)
            values = values[~full]
            sets = {f: inside[~full] for f, inside in sets.items()}
        self._constant, self._values, self._sets, self._box = constant, values, sets, box
        share = np.ones(len(values))
        for inside in sets.values():
            share *= inside.mean(axis=1)
        self._mass = share

    @classmethod
    def of(cls, function: LeafSum) -> LeavesPart:
        box = {f: np.arange(function.domain.cardinalities[f]) for f in function.sets}
        return cls(np.zeros(function.values.shape[1]), function.values, function.sets, box)

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self._constant + self._mass @ self._values)

    @property
    def energy(self) -> float:
        return self._mean_square(None)

    def _mean_square(self, averaged: int | None) -> float:
        """Return the mean square, after averaging over a feature if one is given."""
        sets = {f: inside.astype(np.float64) for f, inside in self._sets.items()}
        squares = 0.0
        step = max(1, _BLOCK // max(1, len(self._values)))
        for start in range(0, len(self._values), step):
            part = slice(start, start + step)
            pairs = self._values[part] @ self._values.T
            for feature, rows in sets.items():
                if feature == averaged:
                    share = rows.mean(axis=1)
                    pairs *= np.outer(share[part], share)
                else:
                    pairs *= (rows[part] @ rows.T) / rows.shape[1]
            squares += float(pairs.sum())
        varying = self._mass @ self._values
        return float(squares + (self._constant * (self._constant + 2.0 * varying)).sum())

    @property
    def reach(self) -> FloatArray:
        # Of each leaf both is possible, that a point is inside and that it is not.
        farthest = np.maximum(self._mass, 1.0 - self._mass)
        return np.asarray(farthest @ np.abs(self._values))

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(self._sets)

    def levels(self, feature: int) -> Int64Array:
        return self._box[feature]

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        found = []
        for feature in features:
            inside = self._sets[feature].astype(np.float64)
            weighted = (self._mass / inside.mean(axis=1))[:, None] * self._values
            found.append(np.asarray(self._constant + inside.T @ weighted))
        return found

    def without(self, feature: int) -> float:
        return self._mean_square(feature)

    def taken(self, feature: int, chosen: Int64Array) -> LeavesPart:
        sets, there = take_levels(self._sets, feature, chosen)
        box = {**self._box, feature: self._box[feature][chosen]}
        return LeavesPart(self._constant, self._values[there], sets, box)

    def equals(self, other: LeavesPart, tolerance: float) -> bool:
        return (
            bool(((self._constant - other._constant) ** 2).sum() <= tolerance)
            and np.array_equal(self._values, other._values)
            and self._sets.keys() == other._sets.keys()
            and all(np.array_equal(s, other._sets[f]) for f, s in self._sets.items())
        )


def part_of(function: Any) -> tuple[Part, Domain, int]:
    """Return a function as the part of itself within the whole domain."""
    if isinstance(function, Spectrum):
        return SpectrumPart(function, {}), function.domain, function.n_outputs
    if isinstance(function, LeafSum):
        return LeavesPart.of(function), function.domain, function.values.shape[1]
    raise TypeError(
        "A tree is built from a Spectrum or a LeafSum; got an object of the class "
        f"{type(function).__name__}."
    )
