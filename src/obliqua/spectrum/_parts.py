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


class Part(Protocol):
    """What is asked of a function within a box."""

    @property
    def mean(self) -> FloatArray:
        """The mean, one number per output."""

    @property
    def energy(self) -> float:
        """The mean square."""

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
    """A function within a box by its spectrum.

    The spectrum is that of the function times the indicator of the box divided by the box's
    mass, as far as the box is narrower than the domain and still has several levels of a feature.
    A feature with a single level has left the spectrum.
    """

    def __init__(self, spectrum: Spectrum, box: dict[int, Int64Array]) -> None:
        self._spectrum = spectrum
        self._box = box

    @property
    def _domain(self) -> Domain:
        return self._spectrum.domain

    def _share(self, feature: int) -> float:
        return len(self.levels(feature)) / self._domain.cardinalities[feature]

    @property
    def mean(self) -> FloatArray:
        return self._spectrum.mean

    @property
    def energy(self) -> float:
        return self._spectrum.energy * float(np.prod([self._share(f) for f in self._box]))

    @property
    def features(self) -> tuple[int, ...]:
        return self._spectrum.features

    def levels(self, feature: int) -> Int64Array:
        known = self._box.get(feature)
        return np.arange(self._domain.cardinalities[feature]) if known is None else known

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        spectrum = self._spectrum
        alone = np.flatnonzero(spectrum.orders == 1)
        keys, values = spectrum.keys[alone], spectrum.coefficients[alone]
        found = []
        for feature in features:
            entry = _keys.digit(self._domain, keys, feature)
            there = entry > 0
            levels = self.levels(feature)
            turn = np.conj(waves_of(self._domain.cardinalities[feature]))[levels][:, entry[there]]
            means = spectrum.mean + (turn @ values[there]).real
            found.append(np.asarray(means * self._share(feature)))
        return found

    def without(self, feature: int) -> float:
        spectrum = self._spectrum
        left = _keys.digit(self._domain, spectrum.keys, feature) == 0
        squares = float((np.abs(spectrum.coefficients[left]) ** 2).sum())
        return squares * float(np.prod([self._share(f) for f in self._box if f != feature]))

    def taken(self, feature: int, chosen: Int64Array) -> SpectrumPart:
        levels = self.levels(feature)[chosen]
        box = {f: known for f, known in self._box.items() if f != feature}
        if len(levels) == 1:
            fixed = self._spectrum.restrict(feature, int(levels[0]))
            return SpectrumPart(fixed * self._share(feature), box)
        narrow = self._spectrum.within(feature, levels)
        factor = len(self.levels(feature)) / len(levels)
        return SpectrumPart(narrow * factor, {**box, feature: levels})

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
        pairs = self._values @ self._values.T
        for inside in self._sets.values():
            rows = inside.astype(np.float64)
            pairs *= (rows @ rows.T) / rows.shape[1]
        return self._with_constant(float(pairs.sum()))

    def _with_constant(self, squares: float) -> float:
        varying = self._mass @ self._values
        return float(squares + (self._constant * (self._constant + 2.0 * varying)).sum())

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
        pairs = self._values @ self._values.T
        for known, inside in self._sets.items():
            rows = inside.astype(np.float64)
            if known == feature:
                share = rows.mean(axis=1)
                pairs *= np.outer(share, share)
            else:
                pairs *= (rows @ rows.T) / rows.shape[1]
        return self._with_constant(float(pairs.sum()))

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
