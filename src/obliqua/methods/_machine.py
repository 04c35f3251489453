"""One linear machine: its rows in standard units, training, and elimination of variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from obliqua._core.base.rng import child_key, row_hashes
from obliqua._core.base.spread import column_means
from obliqua._core.methods.machine import TrainingWatch, train, winners
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.methods._journal import Journal
from obliqua.tree.spread import node_spreads

__all__ = ["LMDT", "Machine", "MachinePlanes", "Standard", "best_machine", "different_rows"]

MOST_TIMES = 16  # a pass shows at most so many times as many rows as there are different ones
BITS = 10  # so many digits of a standard deviation are used
LIMIT = np.finfo(np.float64).max
TIE = 1e-9  # accuracies that differ by less are equal


@dataclass(frozen=True)
class LMDT:
    """How linear machines are trained.

    Parameters
    ----------
    temperature, lowest_temperature : float
        The temperature at the start, and the one below which training ends.
    cooling_rate, cooling_step : float
        Cooling turns the temperature into ``cooling_rate`` times itself minus ``cooling_step``.
    extra_distance : float
        What is added to the distance of a misclassified row.
    max_passes : int
        After so many passes training ends in any case.
    eliminate : bool
        Whether variables are eliminated.
    elimination_stop : float
        Elimination ends when the accuracy is lower than the best one by more than this.
    elimination_loss : float
        The machine with the fewest variables is taken whose accuracy is lower than the best one
        by at most this.
    rows_per_weight : float
        Machines with fewer rows than this times the length of a weight vector are avoided.
    max_features : int or None
        The most variables that a machine may have.
    journal : Journal
        Who is told how much was tried, and who knows until when that may go on.
    """

    temperature: float = 2.0
    lowest_temperature: float = 0.001
    cooling_rate: float = 0.995
    cooling_step: float = 0.0005
    extra_distance: float = 0.1
    max_passes: int = 300
    eliminate: bool = True
    elimination_stop: float = 0.1
    elimination_loss: float = 0.0
    rows_per_weight: float = 2.0
    max_features: int | None = None
    journal: Journal = field(default_factory=Journal)

    @property
    def schedule(self) -> tuple[float, float, float, float, float]:
        """What the compiled side takes."""
        return (
            self.temperature,
            self.lowest_temperature,
            self.cooling_rate,
            self.cooling_step,
            self.extra_distance,
        )

    def may_have(self, n_variables: int, n_rows: int) -> bool:
        """Whether a machine at a node with so many different rows may have so many variables."""
        if n_variables == 1:
            return True
        if self.max_features is not None and n_variables > self.max_features:
            return False
        # With few rows anything can be separated, and that says nothing.
        return not self.eliminate or n_rows >= self.rows_per_weight * (n_variables + 1)


class Standard(NamedTuple):
    """How the features of a node become standard units."""

    columns: Int64Array  # which of them vary at the node
    middle: FloatArray  # their means, divided by 2**exponent
    width: FloatArray  # their standard deviations, likewise
    exponent: Int32Array

    @classmethod
    def of(cls, Z: AnyArray, weights: Int64Array) -> Standard:
        """Measure the rows of a node."""
        exponent = np.frexp(np.abs(Z).max(axis=0).astype(np.float64))[1].astype(np.int32)
        heavy = weights.astype(np.float64)
        here = np.zeros(len(Z), dtype=np.int64)
        every = np.arange(Z.shape[1], dtype=np.int32)
        width = node_spreads(Z, here, heavy, np.array([-1]), every, exponent)[0]
        columns = np.flatnonzero(width > 0)
        exponent = exponent[columns]
        # Divided by a power of two, so that no difference can overflow.
        middle = np.ldexp(column_means(Z, heavy)[columns], -exponent)
        width = np.ldexp(width[columns], -exponent)
        grid = np.frexp(width)[1] - BITS
        middle, width = (np.ldexp(np.rint(np.ldexp(x, -grid)), grid) for x in (middle, width))
        return cls(columns, middle, width, exponent)

    def rows(self, Z: AnyArray) -> FloatArray:
        """Return rows in standard units: a column of ones, then the features that vary."""
        scaled = np.ldexp(Z[:, self.columns].astype(np.float64), -self.exponent)
        Y = np.ones((len(Z), len(self.columns) + 1))
        Y[:, 1:] = (scaled - self.middle) / self.width
        return Y


def different_rows(
    Z: AnyArray, classes: Int64Array, weights: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Make one row of equal rows, in an order that depends on their content only."""
    hashes = row_hashes(Z, classes, 0)
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    first = np.flatnonzero(np.concatenate([[True], hashes[1:] != hashes[:-1]]))
    return order[first], np.add.reduceat(weights[order], first)


class Machine(NamedTuple):
    """A trained machine."""

    W: FloatArray  # a weight vector per class: the constant, then one weight per variable
    variables: Int64Array  # which columns of the standardised rows, without the first, it has
    accuracy: float


def times_shown(weights: Int64Array) -> FloatArray:
    """Return how often each row is shown in a pass: the lightest one once.

    Rows that are much lighter than the average are shown in some passes only, so that the others
    need not be shown too often.
    """
    total = int(weights.sum())
    unit = max(float(weights.min()), total / (MOST_TIMES * len(weights)))
    return np.asarray(weights / unit)


def least_telling(W: FloatArray) -> int:
    """Return the variable whose weights differ least between the classes; the first at ties."""
    weights = W[:, 1:]
    # The sum over all pairs of classes, but for a factor.
    apart = ((weights - weights.mean(axis=0)) ** 2).sum(axis=0)
    return int(np.argmin(apart))


def best_machine(
    Y: FloatArray,
    classes: Int32Array,
    weights: Int64Array,
    key: int,
    method: LMDT,
    watch: TrainingWatch,
) -> tuple[Machine | None, int]:
    """Train a machine, and again with fewer and fewer variables; return the one to use.

    With elimination that may be as many trainings as there are variables.
    """
    times, total = times_shown(weights), int(weights.sum())
    variables = np.arange(Y.shape[1] - 1)
    W = np.zeros((int(classes.max()) + 1, Y.shape[1]))
    corrections, best = 0, 0.0
    found: list[Machine] = []
    while True:
        part = np.ascontiguousarray(Y[:, np.concatenate([[0], variables + 1])])
        key = child_key(key, len(variables))
        tried, _, _ = train(
            part, classes, times, W, key, method.schedule, method.max_passes, watch
        )
        corrections += tried
        accuracy = int(weights[winners(part, W) == classes].sum()) / total
        if method.may_have(len(variables), len(Y)):
            best = max(best, accuracy)
            found.append(Machine(W.copy(), variables, accuracy))
        lost = accuracy < best - method.elimination_stop - TIE
        if len(variables) == 1 or (found and (lost or not method.eliminate)):
            break
        if watch.stop or watch.late:
            break
        gone = least_telling(W)
        variables = np.delete(variables, gone)
        W = np.ascontiguousarray(np.delete(W, gone + 1, axis=1))
    least = best - method.elimination_loss - TIE
    good = [machine for machine in found if machine.accuracy >= least]
    return good[-1] if good else None, corrections


class MachinePlanes(NamedTuple):
    """A machine in the features' own units: a plane per class, or one between two of them."""

    columns: Int64Array
    coef: FloatArray  # of shape (n_planes, n_columns)
    threshold: FloatArray  # what is subtracted from each sum

    @classmethod
    def of(cls, machine: Machine, standard: Standard) -> MachinePlanes:
        """Say a machine in the features' own units.

        All scores may be divided by the same number. It is one with which the largest sum of
        absolute coefficients of a plane is 1, so no score of a finite row overflows. Where tiny
        and huge features meet in one machine, some coefficients may be lost.
        """
        use = machine.variables
        coef = machine.W[:, 1:] / standard.width[use]
        threshold = (coef * standard.middle[use]).sum(axis=1) - machine.W[:, 0]
        exponent = standard.exponent[use]
        # First by a power of two, because coefficients themselves may overflow.
        shift = int((np.frexp(np.abs(coef).max(axis=0))[1] - exponent).max())
        with np.errstate(over="ignore", under="ignore"):  # what is not finite divides nothing
            coef = np.ldexp(coef, -exponent - shift)
            threshold = np.ldexp(threshold, -shift)
            most = np.abs(coef).sum(axis=1).max()
            if most > 0:
                coef, threshold = coef / most, threshold / most
        return cls(standard.columns[use], coef, threshold)

    def values(self, Z: AnyArray) -> FloatArray:
        """Return the sums of rows minus the thresholds, bit for bit as a tree walks them."""
        sums = np.zeros((len(Z), len(self.coef)))
        with np.errstate(over="ignore", invalid="ignore"):
            for column, coef in zip(self.columns.tolist(), self.coef.T, strict=True):
                sums += Z[:, column, None].astype(np.float64) * coef
            return np.asarray(sums - self.threshold)

    def some(self, kept: Int64Array) -> MachinePlanes:
        """Return some of the planes, without the columns that tell none of them from another."""
        coef = self.coef[kept]
        use = (coef != coef[0]).any(axis=0)
        return MachinePlanes(self.columns[use], coef[:, use], self.threshold[kept])

    def as_hyperplane(self) -> MachinePlanes:
        """Return the plane between the first two; with one column its coefficient is 1."""
        # Halves, because the difference of thresholds may overflow.
        normal = self.coef[1] / 2 - self.coef[0] / 2
        cut = self.threshold[1] / 2 - self.threshold[0] / 2
        use = normal != 0
        columns, normal = self.columns[use], normal[use]
        if len(normal) == 1:
            with np.errstate(over="ignore"):
                cut, normal = cut / normal[0], np.ones(1)
            cut = min(max(cut, -LIMIT), LIMIT)
        return MachinePlanes(columns, normal[None], np.array([cut]))
