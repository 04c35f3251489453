"""A function within a box of the domain, while a tree is built from it.

Two ways to know a function, with the same questions: by its spectrum and by its leaves.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from obliqua._core.base.linalg import product
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.spectrum import _keys
from obliqua.spectrum.boxes import LeafSum, Narrow, mass_of, narrow_of, products_of
from obliqua.spectrum.domain import Domain
from obliqua.spectrum.function import Spectrum, squared, to_levels


class BoxedFunction(Protocol):
    """What is asked of a function within a box."""

    @property
    def mean(self) -> FloatArray:
        """The mean, one number per output."""

    #: Up to which share of the whole function's energy a variance may be rounding.
    blur: float

    @property
    def energy(self) -> float:
        """The mean square."""

    @property
    def noise(self) -> float:
        """A mean square that rounding may have made of nothing."""

    @property
    def reach(self) -> FloatArray:
        """How far each output may be from its mean, at most."""

    @property
    def variance(self) -> float:
        """The mean square of the difference to the mean."""

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

    blur = 1e-22  # a sum of squares

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
    def noise(self) -> float:
        return 0.0  # coefficients that are rounding have been left out

    @property
    def reach(self) -> FloatArray:
        varying = self._spectrum.orders > 0
        return np.asarray(np.abs(self._spectrum.coefficients[varying]).sum(axis=0))

    @property
    def variance(self) -> float:
        there = self._spectrum.keys.any(axis=1)
        return float(squared(self._spectrum.coefficients[there]).sum())

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
            table = np.zeros((domain.cardinalities[feature], len(mean)), dtype=values.dtype)
            table[entry[there]] = values[there]
            found.append(np.asarray(mean + to_levels(table).real))
        return found

    def without(self, feature: int) -> float:
        spectrum = self._spectrum
        left = _keys.digit(spectrum.domain, spectrum.keys, feature) == 0
        return float(squared(spectrum.coefficients[left]).sum())

    def taken(self, feature: int, chosen: Int64Array) -> SpectrumPart:
        box = {**self._box, feature: self.levels(feature)[chosen]}
        if len(chosen) == 1:
            return SpectrumPart(self._spectrum.restrict(feature, int(chosen[0])), box)
        return SpectrumPart(self._spectrum.narrowed(feature, chosen), box)

    def equals(self, other: SpectrumPart, tolerance: float) -> bool:
        return (self._spectrum - other._spectrum).energy <= tolerance


class LeavesPart:
    """A function within a box by the leaves that reach into it.

    A leaf that fills the box adds the same everywhere, to `_constant`. Of each feature those
    leaves are known that are narrow in it.
    """

    blur = 1e-12  # a difference of squares

    def __init__(
        self,
        constant: FloatArray,
        values: FloatArray,
        narrow: dict[int, Narrow],
        box: dict[int, Int64Array],
        there: BoolArray,
    ) -> None:
        varying = np.zeros(len(values), dtype=bool)
        for boxes in narrow.values():
            varying[boxes.rows] = True
        self._constant = constant + values[there & ~varying].sum(axis=0)
        varying &= there
        kept = {f: boxes.kept(varying) for f, boxes in narrow.items()}
        self._narrow = {f: boxes for f, boxes in kept.items() if len(boxes.rows)}
        self._values, self._box = values[varying], box
        self._means = self._values * mass_of(self._narrow, len(self._values))[:, None]

    @classmethod
    def of(cls, function: LeafSum) -> LeavesPart:
        box = {f: np.arange(function.domain.cardinalities[f]) for f in function.sets}
        there = np.ones(len(function.values), dtype=bool)
        constant = np.zeros(function.values.shape[1])
        return cls(constant, function.values, narrow_of(function.sets), box, there)

    @property
    def mean(self) -> FloatArray:
        return np.asarray(self._constant + self._means.sum(axis=0))

    @property
    def energy(self) -> float:
        return self._mean_square(None)

    @property
    def variance(self) -> float:
        return max(0.0, self.energy - float((self.mean**2).sum()))

    def _mean_square(self, averaged: int | None) -> float:
        """Return the mean square, after averaging over a feature if one is given."""
        narrow = [boxes for f, boxes in self._narrow.items() if f != averaged]
        squares = sum(float(products.sum()) for _, products in products_of(self._means, narrow))
        constant = self._constant * (self._constant + 2.0 * self._means.sum(axis=0))
        return float(2.0 * squares + constant.sum())

    @property
    def reach(self) -> FloatArray:
        # Of each leaf both is possible, that a point is inside and that it is not.
        farthest = np.maximum(np.abs(self._means), np.abs(self._values - self._means))
        return np.asarray(farthest.sum(axis=0))

    @property
    def features(self) -> tuple[int, ...]:
        return tuple(self._narrow)

    def levels(self, feature: int) -> Int64Array:
        return self._box[feature]

    def effects(self, features: tuple[int, ...]) -> list[FloatArray]:
        found = []
        for feature in features:
            boxes = self._narrow[feature]
            means = self._means[boxes.rows]
            at_levels = product(boxes.inside.T.astype(np.float64), means / boxes.shares[:, None])
            found.append(np.asarray(self.mean - means.sum(axis=0) + at_levels))
        return found

    def without(self, feature: int) -> float:
        return self._mean_square(feature)

    def taken(self, feature: int, chosen: Int64Array) -> LeavesPart:
        boxes = self._narrow[feature]
        inside = boxes.inside[:, chosen]
        there = np.ones(len(self._values), dtype=bool)
        there[boxes.rows] = inside.any(axis=1)
        narrow = {**self._narrow, feature: Narrow.of(boxes.rows, inside)}
        box = {**self._box, feature: self._box[feature][chosen]}
        return LeavesPart(self._constant, self._values, narrow, box, there)

    @property
    def noise(self) -> float:
        scale = np.abs(self._constant) + np.abs(self._means).sum(axis=0)
        return float(self.blur * (scale**2).sum())

    def equals(self, other: LeavesPart, tolerance: float) -> bool:
        """Compare sums of leaves, which may be different leaves.

        Means are found to the last digits, a mean square only to half of them; so means go
        first.
        """
        apart = self._minus(other)
        features = apart.features
        means = [apart.mean[None, :], *apart.effects(features)]
        if any(((mean**2).sum(axis=1) > tolerance).any() for mean in means):
            return False
        return apart.energy <= apart.noise

    def _minus(self, other: LeavesPart) -> LeavesPart:
        n_mine = len(self._values)
        values = np.concatenate([self._values, -other._values])
        narrow = {}
        for feature in sorted({*self._narrow, *other._narrow}):
            parts = [
                (boxes.rows + shift, boxes.inside)
                for boxes, shift in (
                    (self._narrow.get(feature), 0),
                    (other._narrow.get(feature), n_mine),
                )
                if boxes is not None
            ]
            rows, inside = (np.concatenate(part) for part in zip(*parts, strict=True))
            narrow[feature] = Narrow.of(rows, inside)
        there = np.ones(len(values), dtype=bool)
        return LeavesPart(self._constant - other._constant, values, narrow, self._box, there)


def part_of(function: Any) -> tuple[BoxedFunction, Domain, int]:
    """Return a function as the part of itself within the whole domain."""
    if isinstance(function, Spectrum):
        return SpectrumPart(function, {}), function.domain, function.n_outputs
    if isinstance(function, LeafSum):
        return LeavesPart.of(function), function.domain, function.values.shape[1]
    raise TypeError(
        "A tree is built from a Spectrum or a LeafSum; got an object of the class "
        f"{type(function).__name__}."
    )
