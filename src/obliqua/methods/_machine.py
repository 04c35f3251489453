"""One linear machine: its rows in standard units, training, and elimination of variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from obliqua._core.machine import train, winners
from obliqua._core.rng import child_key
from obliqua._core.spread import column_means, node_spread
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array

__all__ = ["LMDT", "Machine", "Standard", "best_machine", "in_raw_units"]

MOST_TIMES = 16  # a pass shows at most so many times as many rows as there are different ones
SAFE = 900  # powers of two beyond which coefficients are kept from


@dataclass(frozen=True)
class LMDT:
    """How linear machines are trained.

    Parameters
    ----------
    beta, beta_limit : float
        The temperature at the start, and the one below which training ends.
    cooling_rate, cooling_step : float
        Cooling turns beta into ``cooling_rate * beta - cooling_step``.
    epsilon : float
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
    capacity : float
        Machines with fewer rows than this times the length of a weight vector are avoided.
    """

    beta: float = 2.0
    beta_limit: float = 0.001
    cooling_rate: float = 0.995
    cooling_step: float = 0.0005
    epsilon: float = 0.1
    max_passes: int = 1000
    eliminate: bool = True
    elimination_stop: float = 0.1
    elimination_loss: float = 0.0
    capacity: float = 2.0

    @property
    def schedule(self) -> tuple[float, float, float, float, float]:
        """What the compiled side takes."""
        return (
            self.beta,
            self.beta_limit,
            self.cooling_rate,
            self.cooling_step,
            self.epsilon,
        )


class Standard(NamedTuple):
    """The rows of a node in standard units: a column of ones, then those that vary."""

    Y: FloatArray
    columns: Int64Array  # which features vary at the node
    middle: FloatArray  # their means, divided by 2**exponent
    width: FloatArray  # their standard deviations, likewise
    exponent: Int32Array

    @classmethod
    def of(cls, Z: AnyArray, weights: Int64Array) -> Standard:
        """Standardise the rows of a node.

        Parameters
        ----------
        Z : ndarray of shape (n_rows, n_features)
            The rows, numbers only.
        weights : ndarray of int64
            Their weights.

        Returns
        -------
        Standard
            The same rows, with mean 0 and standard deviation 1.
        """
        top = np.abs(Z).max(axis=0).astype(np.float64)
        exponent = np.frexp(top)[1].astype(np.int32)
        heavy = weights.astype(np.float64)
        here = np.zeros(len(Z), dtype=np.int64)
        every = np.arange(Z.shape[1], dtype=np.int32)
        width = node_spread(Z, here, heavy, np.array([-1]), every, exponent)[0]
        columns = np.flatnonzero(width > 0)
        shift = -exponent[columns]
        scaled = np.ldexp(Z[:, columns].astype(np.float64), shift)
        # Divided by a power of two first, so that no difference can overflow.
        middle = np.ldexp(column_means(Z, heavy)[columns], shift)
        width = np.ldexp(width[columns], shift)
        Y = np.ones((len(Z), len(columns) + 1))
        Y[:, 1:] = (scaled - middle) / width
        return cls(Y, columns, middle, width, -shift)


class Machine(NamedTuple):
    """A trained machine."""

    W: FloatArray  # a weight vector per class: the constant, then one weight per variable
    variables: Int64Array  # which columns of the standardised rows, without the first, it has
    accuracy: float
    corrections: int  # of all machines that were trained on the way


def times_shown(weights: Int64Array) -> FloatArray:
    """Return how often each row is shown in a pass: the lightest one once.

    Rows that are much lighter than the average are shown in some passes only, so that the others
    need not be shown too often.

    Parameters
    ----------
    weights : ndarray of int64
        Weights of different rows.

    Returns
    -------
    ndarray of float64
        Numbers that are proportional to the weights.
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
    Y: FloatArray, classes: Int32Array, weights: Int64Array, key: int, method: LMDT
) -> Machine:
    """Train a machine, and again with fewer and fewer variables; return the one to use.

    Parameters
    ----------
    Y : ndarray of shape (n_rows, n_variables + 1)
        Different rows in standard units, with a first column of ones.
    classes : ndarray of int32
        Their classes, numbered without gaps.
    weights : ndarray of int64
        Their weights.
    key : int
        The node's random key.
    method : LMDT
        How to train.

    Returns
    -------
    Machine
        The machine.
    """
    n_rows, n_variables = Y.shape[0], Y.shape[1] - 1
    times, total = times_shown(weights), int(weights.sum())
    variables = np.arange(n_variables)
    W = np.zeros((int(classes.max()) + 1, n_variables + 1))
    corrections, best = 0, 0.0
    found: list[Machine] = []
    while True:
        part = np.ascontiguousarray(Y[:, np.concatenate([[0], variables + 1])])
        key = child_key(key, len(variables))
        tried, _, _ = train(part, classes, times, W, key, method.schedule, method.max_passes)
        corrections += tried
        accuracy = int(weights[winners(part, W) == classes].sum()) / total
        # With few rows anything can be separated, and that says nothing.
        enough = n_rows >= method.capacity * (len(variables) + 1)
        if enough or len(variables) == 1 or not method.eliminate:
            best = max(best, accuracy)
            found.append(Machine(W.copy(), variables, accuracy, 0))
        lost = bool(found) and accuracy < best - method.elimination_stop
        if len(variables) == 1 or lost or not method.eliminate:
            break
        gone = least_telling(W)
        variables = np.delete(variables, gone)
        W = np.ascontiguousarray(np.delete(W, gone + 1, axis=1))
    good = [machine for machine in found if machine.accuracy >= best - method.elimination_loss]
    return good[-1]._replace(corrections=corrections)


def in_raw_units(machine: Machine, standard: Standard) -> tuple[FloatArray, FloatArray]:
    """Say a machine in the features' own units.

    All scores may be multiplied by the same number. It is a power of two that keeps sums from
    overflowing, for any finite row, unless tiny and huge features meet in one machine.

    Parameters
    ----------
    machine : Machine
        The machine.
    standard : Standard
        The rows that it was trained on.

    Returns
    -------
    coef : ndarray of shape (n_classes, n_variables)
        The coefficients.
    threshold : ndarray of shape (n_classes,)
        What is subtracted from each sum.
    """
    use = machine.variables
    coef = machine.W[:, 1:] / standard.width[use]
    threshold = (coef * standard.middle[use]).sum(axis=1) - machine.W[:, 0]
    exponent = np.frexp(coef)[1] - standard.exponent[use]
    some = coef != 0
    largest = int(exponent[some].max()) if some.any() else 0
    smallest = int(exponent[some].min()) if some.any() else 0
    shift = -(largest + int(np.ceil(np.log2(len(use)))))
    if smallest + shift < -SAFE:
        shift = min(0, SAFE - largest)
    coef = np.ldexp(coef, shift - standard.exponent[use])
    return coef, np.ldexp(threshold, shift)
