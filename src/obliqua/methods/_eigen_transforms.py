"""The transformations of 2C-ETCT: directions in the order in which the levels of a tree use them.

With the classes A and B, population covariances, and dm = Mean(A) - Mean(B):

- the covariance of all rows is S_W + (p_A p_B / p_T^2) dm dm', where S_W is the weighted mean of
  the covariances of the classes;
- the second moment of all differences a - b is Cov(A) + Cov(B) + dm dm', so no pairs are needed;
- S_B = Cov(T) - S_W has rank one, so Fisher's discriminant has one direction, S_W^-1 dm. The
  others belong to the eigenvalue 0, and nothing tells one from another; ours are the principal
  components within the classes, in the complement of dm.

What is left of S_B in the complement of dm is nothing. So Fisher's discriminant after the
difference of means has no direction at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from obliqua._core.base.linalg import product, py_eigen
from obliqua._typing import FloatArray

__all__ = ["DEFAULT", "TRANSFORMATIONS", "PairMoments", "directions_of"]

# A direction along which the rows vary by less than this share of what its parts vary by, as
# variances, is rounding: values enter the sums with 24 bits.
NO_SPREAD = 1e-10
# Means that differ by a smaller share than this of what the rows vary by are equal.
NO_DISTANCE = 1e-6
# Added to the correlations within the classes if they are singular.
RIDGE = 1e-8


@dataclass(frozen=True)
class PairMoments:
    """What the transformations know of two classes.

    Parameters
    ----------
    weights : ndarray of shape (2,)
        Their weights.
    apart : ndarray of shape (n_features,)
        The mean of the first class minus that of the second.
    covariances : ndarray of shape (2, n_features, n_features)
        Their covariances about their means, divided by the weight.
    """

    weights: FloatArray
    apart: FloatArray
    covariances: FloatArray

    @cached_property
    def within(self) -> FloatArray:
        """The mean covariance within the classes."""
        share = self.weights / self.weights.sum()
        return np.asarray(share[0] * self.covariances[0] + share[1] * self.covariances[1])

    @cached_property
    def total(self) -> FloatArray:
        """The covariance of all rows."""
        share = self.weights / self.weights.sum()
        return np.asarray(self.within + share[0] * share[1] * np.outer(self.apart, self.apart))

    @property
    def differences(self) -> FloatArray:
        """The second moment, about 0, of all differences of a row of each class."""
        return np.asarray(self.covariances.sum(axis=0) + np.outer(self.apart, self.apart))

    @cached_property
    def differ(self) -> bool:
        """Whether the means differ by more than rounding."""
        width = np.sqrt(np.maximum(self.total.diagonal(), 0.0))
        return bool((np.abs(self.apart) > NO_DISTANCE * width).any())


@dataclass(frozen=True)
class Complement:
    """The hyperplane perpendicular to a direction, with coordinates.

    A reflection turns the direction into the first axis. The other axes, turned back, are the
    basis.

    Parameters
    ----------
    mirror : ndarray of shape (n_features,)
        The unit vector that the reflection turns round.
    """

    mirror: FloatArray

    @classmethod
    def of(cls, direction: FloatArray) -> Complement:
        """Make it of a unit vector."""
        mirror = direction.copy()
        mirror[0] += 1.0 if direction[0] >= 0 else -1.0
        return cls(mirror / np.sqrt((mirror * mirror).sum()))

    def vector(self, x: FloatArray) -> FloatArray:
        """Project a vector."""
        return np.asarray((x - 2.0 * (self.mirror * x).sum() * self.mirror)[1:])

    def matrix(self, M: FloatArray) -> FloatArray:
        """Project a matrix of second moments."""
        along = product(M, self.mirror)
        twice = np.outer(self.mirror, along)
        square = float((self.mirror * along).sum())
        turned = M - 2.0 * (twice + twice.T) + 4.0 * square * np.outer(self.mirror, self.mirror)
        turned = turned[1:, 1:]
        return np.asarray((turned + turned.T) / 2)

    def moments(self, moments: PairMoments) -> PairMoments:
        """Project all moments."""
        return PairMoments(
            moments.weights,
            self.vector(moments.apart),
            np.array([self.matrix(c) for c in moments.covariances]),
        )

    def back(self, rows: FloatArray) -> FloatArray:
        """Turn directions of the hyperplane into directions of the whole space."""
        whole = np.zeros((len(rows), rows.shape[1] + 1))
        whole[:, 1:] = rows
        return np.asarray(whole - 2.0 * np.outer(product(whole, self.mirror), self.mirror))


def eigenvectors(matrix: FloatArray) -> FloatArray:
    """Return the eigenvectors as rows, that of the largest eigenvalue first."""
    if len(matrix) == 0:
        return np.empty((0, 0))
    return py_eigen(np.ascontiguousarray(matrix))[1]


def unit(direction: FloatArray) -> FloatArray:
    """Return the direction with length 1."""
    scaled = direction / np.abs(direction).max()
    return np.asarray(scaled / np.sqrt((scaled * scaled).sum()))


def principal(moments: PairMoments) -> FloatArray:
    """Return the principal components of all rows."""
    return eigenvectors(moments.total)


def separation(moments: PairMoments) -> FloatArray:
    """Return the principal separation components."""
    return eigenvectors(moments.differences)


def fisher(moments: PairMoments) -> FloatArray:
    """Return Fisher's direction, then the principal components within, perpendicular to dm.

    There is none at all if the means are equal.
    """
    if not moments.differ:
        return np.empty((0, len(moments.apart)))
    first = fisher_direction(moments)
    rest = Complement.of(unit(moments.apart))
    return np.vstack([first, rest.back(eigenvectors(rest.matrix(moments.within)))])


def fisher_direction(moments: PairMoments) -> FloatArray:
    """Return S_W^-1 dm; with a ridge if S_W is singular.

    Each feature is measured by its spread, so that units do not say what is singular.
    """
    size = np.sqrt(np.maximum(moments.total.diagonal(), 0.0))
    used = size > 0
    if not used.any():  # so small that their squares are 0
        return unit(moments.apart)
    scale = size[used]
    values, vectors = py_eigen(
        np.ascontiguousarray(moments.within[np.ix_(used, used)] / np.outer(scale, scale))
    )
    values = np.maximum(values, 0.0)
    if values[-1] <= NO_SPREAD * values[0]:
        values = values + RIDGE
    along = product(vectors, moments.apart[used] / scale) / values
    direction = np.zeros(len(size))
    direction[used] = product(along, vectors) / scale
    return unit(direction)


#: What follows the first direction, or what is used alone.
TECHNIQUES: dict[str, Callable[[PairMoments], FloatArray]] = {
    "pca": principal,
    "fisher": fisher,
    "psc": separation,
}

#: The paper's six, in its order. The last three start with a direction of their own.
TRANSFORMATIONS = ("pca", "fisher", "psc", "first+pca", "first+fisher", "first+psc")
#: Those that the paper's first direction, the difference of the means, leaves defined.
DEFAULT = ("pca", "fisher", "psc", "first+pca", "first+psc")


def directions_of(name: str, moments: PairMoments, first: FloatArray | None = None) -> FloatArray:
    """Find the directions of a transformation."""
    start, _, technique = name.rpartition("+")
    technique_of = TECHNIQUES[technique]
    if first is None and start and moments.differ:
        first = moments.apart
    if not start or first is None:
        return in_order(technique_of(moments), moments.total)
    one = unit(first)
    rest = Complement.of(one)
    rows = np.empty((0, len(one)))
    if len(one) > 1:
        rows = rest.back(technique_of(rest.moments(moments)))
    return in_order(np.vstack([one, rows]), moments.total)


def in_order(rows: FloatArray, total: FloatArray) -> FloatArray:
    """Leave out directions along which nothing varies, and settle the signs of the others."""
    spread = np.maximum(total.diagonal(), 0.0)
    along = (product(rows, total) * rows).sum(axis=1)
    rows = rows[along > NO_SPREAD * product(rows * rows, spread)]
    part = np.abs(rows) * np.sqrt(spread)
    # What differs by rounding alone must not decide.
    leading = np.argmax(part >= part.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
    signs = np.sign(rows[np.arange(len(rows)), leading])
    return np.asarray(rows * signs[:, None])
