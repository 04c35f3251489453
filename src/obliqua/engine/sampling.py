"""Directions from a sample of a node's rows, for methods that must see rows; cuts from all rows.

A row is in the sample of a node by a hash of its content and of the node's random key: those with
the smallest hashes are. So the sample depends neither on the order of rows nor on how they are
divided into parts. Equal rows are one, with the weight of all of them, so that a sample never has
more rows than it should, however often a row is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import child_key, row_hashes
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import hashes_of
from obliqua.data.target import Numbers
from obliqua.engine.axis_cuts import plain_columns
from obliqua.engine.candidates import OpenNode, ProposerAsked, RowWindows
from obliqua.engine.coding import Terms
from obliqua.engine.compiled import CompiledMethod, CompiledSide
from obliqua.engine.lines import Lines
from obliqua.engine.oblique import ObliqueCut
from obliqua.engine.passes import LineCut, NodeJudge, Search
from obliqua.engine.proposals import Planes, Proposals
from obliqua.engine.questions import Intervals, LineRanges
from obliqua.engine.rules import Rules

__all__ = ["DirectionsOfSample", "SampledRows", "SampledSearch", "in_row_order"]

OF_SAMPLE = 2  # what a node's key is for: 0 and 1 are its children
LAST_HASH = 2**64 - 1
MARGIN = 6.0  # standard deviations of the number of rows below a hash
FURTHER = 8  # times as many hashes, if there were too few different rows below one
COUNT_STEPS = 2.0**20  # to the row: multiples of it add up without rounding

Hashes = NDArray[np.uint64]


def _hashes(problem: Problem, key: int) -> Hashes:
    """Return a number for each row that its content and a node's key give it."""
    target = problem.target
    if isinstance(target, Numbers):
        nothing = np.zeros(problem.n_rows, dtype=np.int64)
        labels = row_hashes(target.values, nothing, 0).view(np.int64)
    else:
        labels = problem.y.astype(np.int64)
    found: Hashes = hashes_of(problem.Z, labels, child_key(key, OF_SAMPLE))
    return found


def in_row_order(problem: Problem, key: int) -> Problem:
    """Return the same rows in an order that depends on their content only."""
    by: list[AnyArray] = [_hashes(problem, key)]
    by += [column for column in (problem.row_weights, problem.weights) if column is not None]
    return problem.take(np.lexsort(by[::-1]))


# --- the sample ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class SampledRows:
    """Of the different rows of a node those with the smallest hashes: a problem, and hashes.

    Parameters
    ----------
    most : int
        How many at most.
    key : int
        The node's random key.
    last : int
        Rows with larger hashes are passed over.
    """

    most: int
    key: int
    last: int = LAST_HASH

    def of(self, problem: Problem, rows: Int32Array) -> tuple[Problem, Hashes]:
        """Return what some rows answer."""
        some = problem if len(rows) == problem.n_rows else problem.take(rows)
        hashes = _hashes(some, self.key)
        small = np.flatnonzero(hashes <= np.uint64(self.last))
        return self._different(_counted(some.take(small)), hashes[small])

    def joined(self, answers: Sequence[tuple[Problem, Hashes]]) -> tuple[Problem, Hashes]:
        """Keep the smallest of all, each once."""
        if len(answers) == 1:
            return answers[0]
        problem = Problem.stack([problem for problem, _ in answers])
        return self._different(problem, np.concatenate([hashes for _, hashes in answers]))

    def _different(self, problem: Problem, hashes: Hashes) -> tuple[Problem, Hashes]:
        """Make one row of equal ones, and keep those with the smallest hashes, in order."""
        order = np.argsort(hashes, kind="stable")
        start = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0)[: len(order)])
        if len(start) > self.most:
            order, start = order[: start[self.most]], start[: self.most]

        def added(values: AnyArray | None) -> AnyArray | None:
            return None if values is None else np.add.reduceat(values[order], start)

        if len(start) == 0:
            return problem, hashes
        one_each = replace(
            problem.take(order[start]),
            weights=added(problem.weights),
            row_counts=added(problem.row_counts),
            row_weights=added(problem.row_weights),
        )
        return one_each, hashes[order[start]]


def _counted(problem: Problem) -> Problem:
    """Return a problem whose rows all say what they weigh, so that equal ones can be added."""
    ones = np.ones(problem.n_rows, dtype=np.int64)
    plain, row_weights = problem.weights is None, problem.row_weights
    if row_weights is not None:
        row_weights = np.rint(row_weights * COUNT_STEPS) / COUNT_STEPS
    return replace(
        problem,
        weights=ones if plain else problem.weights,
        row_counts=ones if plain else problem.row_counts,
        row_weights=row_weights,
    )


def sampled(n_rows: int, most: int, key: int) -> Search[Problem]:
    """Ask for a sample of a node with so many rows, in the order of hashes."""
    share = (most + MARGIN * sqrt(most)) / max(n_rows, 1)
    while True:
        last = int(min(share, 1.0) * LAST_HASH)
        ((sample, _),) = yield [SampledRows(most, key, min(last, LAST_HASH))]
        if sample.n_rows >= most or share >= 1.0:
            return sample
        share *= FURTHER


# --- what is found in it -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DirectionsOfSample:
    """Asks a method or a proposer what to look along at a node, of which it sees a sample.

    Parameters
    ----------
    proposals : Proposals
        What is asked.
    criterion : Criterion
        What methods that move hyperplanes compare them by.
    rules : Rules
        Limits of the sides, which count for as many rows as the sample has.
    scale : ndarray of shape (n_features,)
        Factors of the features.
    most : int
        Rows of a sample.
    """

    proposals: Proposals
    criterion: Criterion
    rules: Rules
    scale: FloatArray
    most: int

    def at(self, sums: Int64Array, depth: int, key: int) -> Search[Planes | None]:
        """Find out what is proposed at a node, of which `NodeSums` says this."""
        sample = yield from sampled(int(sums[-2]), self.most, key)
        rules = self._scaled(sample, sums)
        if isinstance(self.proposals.proposer, CompiledSide):
            method = CompiledMethod(sample, self.proposals, self.criterion, rules, self.scale)
            rows = np.arange(sample.n_rows, dtype=np.int32)
            planes = method.planes(rows, sample.counts, key)
            method.close()
            return planes
        active = plain_columns(sample)
        node = OpenNode(0, sample.n_rows, depth, sample.counts, active, key)
        windows = RowWindows(sample, np.zeros(sample.n_features, dtype=bool))
        scale = None if self.proposals.scale is None else self.scale
        return ProposerAsked(windows, self.proposals, scale)(node)

    def _scaled(self, sample: Problem, sums: Int64Array) -> Rules:
        """Return the limits of the sides, as far as they concern a sample."""
        weight = int(sample.target_rows.weight(np.ascontiguousarray(sums[:-2])))
        rules = self.rules
        return replace(
            rules,
            min_samples_leaf=max(rules.min_samples_leaf * sample.n_rows // int(sums[-2]), 1),
            min_weight_leaf=rules.min_weight_leaf * sample.total_weight // weight,
        )


class SampledSearch:
    """Looks for the best cut of a node along directions that were found in a sample of its rows.

    Parameters
    ----------
    planes : Planes
        The directions.
    judge : NodeJudge
        What is known of the node.
    columns : ndarray of shape (n_features, 3)
        What `LineRanges` says of the features.
    axis_bias : float
        By what factor a cut must be better than the best axis-parallel one.
    """

    def __init__(
        self, planes: Planes, judge: NodeJudge, columns: FloatArray, axis_bias: float
    ) -> None:
        self._judge = judge
        self._columns = columns
        self._axis_bias = axis_bias
        self._labels = planes.labels
        self._lines = Lines.of_planes([planes.row(k) for k in range(len(planes))])
        self._everything: Intervals | None = None

    def plan(self) -> Search[None]:
        """Find out how far values reach along the directions."""
        (reach,) = yield [LineRanges(self._lines)]
        tolerance = self._lines.tolerance(reach, self._columns)
        self._everything = self._judge.whole(self._lines, reach, tolerance)

    def best(self, axis: LineCut) -> Search[ObliqueCut | None]:
        """Find the best cut, if it is better than the best axis-parallel one.

        Parameters
        ----------
        axis : LineCut
            That one.

        Returns
        -------
        generator
            The search.
        """
        assert self._everything is not None
        bar = LineCut(score=self._axis_bias * axis.score)
        cut = yield from self._judge.best(self._lines, self._everything, bar)
        return self._found(cut)

    def first(self) -> Search[ObliqueCut | None]:
        """Find the first cut without gain."""
        assert self._everything is not None
        return self._found((yield from self._judge.first(self._lines, self._everything)))

    def _found(self, cut: LineCut) -> ObliqueCut | None:
        if cut.line < 0:
            return None
        return ObliqueCut(cut, cut.line, self._lines.one(cut.line))

    def terms(self, found: ObliqueCut) -> Search[Terms]:
        """Return what the coefficients of a cut multiply: plain numbers."""
        yield from ()
        return Terms.plain(*found.normal)

    def describe(self, number: int) -> str:
        """Say what a direction is."""
        return f"direction {number}" if self._labels is None else self._labels[number]
