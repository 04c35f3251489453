"""LMDT (Utgoff and Brodley 1991; Brodley and Utgoff 1995): linear machines as nodes.

At a node a linear machine is trained: a weight vector per class, of which the one with the largest
product takes a row. Variables that tell the classes least are eliminated. The node gets a branch
per class, so this method does not propose directions to the engine: it grows a `Tree` by itself.

Before a machine is trained, equal rows become one row with their weights together, in an order
that their content decides. So neither the order of the rows nor a weight in the place of repeated
rows can show.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from obliqua._core.base.rng import child_key, row_hashes
from obliqua._core.base.spread import column_means
from obliqua._core.grow.subtree import leaf_without_search
from obliqua._core.methods.machine import TrainingWatch, train, winners
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.problem import Problem
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.coding import CodedColumns, CodedNode
from obliqua.engine.compiled import Journal
from obliqua.engine.grow import grow
from obliqua.engine.many_branches import (
    BranchingGrowth,
    BranchingNode,
    Division,
    goodness_of_branches,
)
from obliqua.engine.rules import Rules
from obliqua.tree.spread import node_spreads
from obliqua.tree.tree import Tree

__all__ = [
    "LMDT",
    "Machine",
    "MachinePlanes",
    "Standard",
    "best_machine",
    "different_rows",
    "grow_lmdt",
]

MOST_TIMES = 16  # a pass shows at most so many times as many rows as there are different ones
BITS = 10  # so many digits of a standard deviation are used
LIMIT = np.finfo(np.float64).max
TIE = 1e-9  # accuracies that differ by less are equal
LABEL = "linear machine"
ROUNDING = 1e-14  # gains that are not larger are 0


@dataclass(frozen=True)
class LMDT:
    """How linear machines are trained."""

    # the temperature at the start, and the one below which training ends
    temperature: float = 2.0
    lowest_temperature: float = 0.001
    # cooling turns the temperature into ``cooling_rate`` times itself minus ``cooling_step``
    cooling_rate: float = 0.995
    cooling_step: float = 0.0005
    extra_distance: float = 0.1  # what is added to the distance of a misclassified row
    max_passes: int = 300  # after so many passes training ends in any case
    eliminate: bool = True  # whether variables are eliminated
    # elimination ends when the accuracy is lower than the best one by more than this
    elimination_stop: float = 0.1
    # the machine with the fewest variables is taken whose accuracy is lower than the best one by
    # at most this
    elimination_loss: float = 0.0
    # machines with fewer rows than this times the length of a weight vector are avoided
    rows_per_weight: float = 2.0
    max_features: int | None = None  # the most variables that a machine may have
    # who is told how much was tried, and who knows until when that may go on
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


# --- growing -------------------------------------------------------------------------------------


def grow_lmdt(
    problem: Problem,
    method: LMDT | None = None,
    criterion: str | Criterion = "entropy",
    rules: Rules | None = None,
    n_threads: int = 1,
    key: int = 0,
) -> Tree:
    """Grow a tree of linear machines."""
    method = LMDT() if method is None else method
    rules = Rules() if rules is None else rules
    growth = _LMDTGrowth(problem, method, get_criterion(criterion), rules)
    with ThreadPoolExecutor(n_threads) as pool:
        growth.pool = pool if n_threads > 1 else None
        try:
            tree = growth.run(key)
        except BaseException:
            growth.watch.stop = True  # or leaving the pool would wait for its trainings
            raise
    method.journal.timed_out |= growth.watch.late
    return tree


class _Terms(NamedTuple):
    """What the coefficients of a node multiply, by column."""

    fill: dict[int, float]
    spread: dict[int, float]
    tables: dict[int, FloatArray]


@dataclass(frozen=True, eq=False)
class _LMDTDivision(Division):
    planes: MachinePlanes  # one per branch; one only: a hyperplane
    terms: _Terms
    label: str


class _LMDTGrowth(BranchingGrowth[_LMDTDivision]):
    """A growing tree."""

    pool: ThreadPoolExecutor | None = None

    def __init__(self, problem: Problem, method: LMDT, criterion: Criterion, rules: Rules) -> None:
        super().__init__(problem, rules)
        self.method = method
        self.criterion = criterion
        self.coding = CodedColumns(problem) if problem.coded.any() else None
        self.watch = TrainingWatch(method.journal.deadline)

    def _divisions(self, nodes: list[BranchingNode]) -> Iterator[_LMDTDivision | None]:
        """Find the divisions of nodes, side by side if there are threads."""
        each = map if self.pool is None else self.pool.map
        for division, corrections in each(self._divide, nodes):
            self.method.journal.tried += corrections
            yield division

    def _describe(self, node: BranchingNode, division: _LMDTDivision, names: list[int]) -> None:
        planes, terms = division.planes, division.terms
        normals = [(planes.columns.tolist(), coef.tolist()) for coef in planes.coef]
        fill, tables = terms.fill, terms.tables
        if len(normals) == 1:
            cut = float(planes.threshold[0])
            self.builder.add_split(node.name, normals[0], cut, names, fill=fill, tables=tables)
        else:
            cuts = planes.threshold
            self.builder.add_machine(node.name, normals, cuts, names, fill=fill, tables=tables)
        self.builder.annotate(
            node.name,
            stats=self._stats(node),
            gain=division.gain,
            origin=division.label,
            spread=terms.spread,
        )

    def _weights(self, rows: Int64Array) -> Int64Array:
        weights = self.problem.weights
        return np.ones(len(rows), dtype=np.int64) if weights is None else weights[rows]

    # -- one node ---------------------------------------------------------------------------

    def _divide(self, node: BranchingNode) -> tuple[_LMDTDivision | None, int]:
        """Find how a node is divided, and how many positions of its machine were tried."""
        if leaf_without_search(
            self.rules, self.problem.target_rows, node.counts, len(node.rows), node.depth
        ):
            return None, 0
        # With time over, what is left is divided as CART does it, which takes next to none.
        division, tried = (None, 0) if self.watch.late else self._by_machine(node)
        return self._useful(node, division), tried

    def _useful(self, node: BranchingNode, division: _LMDTDivision | None) -> _LMDTDivision | None:
        """Return a division, or without one that of a column; None if it gains too little."""
        if division is None:
            division = self._by_column(node)
        return None if division is None or division.gain < self.rules.min_gain else division

    def _narrowed(
        self, node: BranchingNode, division: _LMDTDivision, most: int
    ) -> _LMDTDivision | None:
        """Divide a node as before, but with so many branches at most: the heaviest ones."""
        order = np.argsort(-division.counts.sum(axis=1), kind="stable")
        planes = division.planes.some(np.sort(order[:most]))
        return self._useful(node, self._by_planes(node, *self._numbers(node), planes))

    def _numbers(self, node: BranchingNode) -> tuple[CodedNode | None, AnyArray]:
        """Return a node's rows, with numbers in the place of levels and holes."""
        if self.coding is None:
            return None, self.problem.Z[node.rows]
        coded = self.coding.at(node.rows.astype(np.int32), node.counts)
        return coded, np.ascontiguousarray(coded.problem.Z)

    def _by_machine(self, node: BranchingNode) -> tuple[_LMDTDivision | None, int]:
        """Train a machine and see how it divides the rows."""
        problem, rows = self.problem, node.rows
        coded, Z = self._numbers(node)
        weights = self._weights(rows)
        standard = Standard.of(Z, weights)
        if len(standard.columns) == 0:
            return None, 0
        classes: Int64Array = np.searchsorted(np.flatnonzero(node.counts), problem.y[rows])
        chosen, weights = different_rows(Z, classes, weights)
        few = classes[chosen].astype(np.int32)
        machine, tried = best_machine(
            standard.rows(Z[chosen]), few, weights, node.key, self.method, self.watch
        )
        if machine is None:
            return None, tried
        return self._by_planes(node, coded, Z, MachinePlanes.of(machine, standard)), tried

    def _by_planes(
        self, node: BranchingNode, coded: CodedNode | None, Z: AnyArray, planes: MachinePlanes
    ) -> _LMDTDivision | None:
        """Return how planes divide a node's rows; None if they do not, or gain nothing."""
        problem, rows = self.problem, node.rows
        scores = planes.values(Z)
        if not np.isfinite(scores).all():
            return None
        kept = self._kept(scores, rows)
        planes = planes.some(kept)
        branches = np.argmax(planes.values(Z), axis=1)
        if len(kept) == 2:
            planes = planes.as_hyperplane()
            branches = (planes.values(Z)[:, 0] > 0).astype(np.int64)
        if len(kept) < 2 or not self._large(branches, rows, len(kept)).all():
            return None
        counts = self._sums(rows, branches, len(kept))
        share = int(counts.sum()) / problem.total_weight
        gain = share * goodness_of_branches(counts, self.criterion, problem.unit)
        if gain <= ROUNDING and not self.rules.zero_gain:
            return None
        terms = self._terms(coded, planes.columns)
        return _LMDTDivision(branches, counts, gain, planes, terms, LABEL)

    def _large(self, branches: Int64Array, rows: Int64Array, n_branches: int) -> BoolArray:
        """Which branches keep enough rows and weight."""
        n_samples = np.bincount(branches, minlength=n_branches)
        weight = self._sums(rows, branches, n_branches).sum(axis=1)
        return np.asarray(
            (n_samples >= max(self.rules.min_samples_leaf, 1))
            & (weight >= self.rules.min_weight_leaf)
        )

    def _kept(self, scores: FloatArray, rows: Int64Array) -> Int64Array:
        """Return the classes that keep a branch: the lightest one that is too small goes first."""
        branches = np.argmax(scores, axis=1)
        kept = np.unique(branches)
        while len(kept) > 1:
            branches = np.argmax(scores[:, kept], axis=1)
            small = ~self._large(branches, rows, len(kept))
            if not small.any():
                break
            weight = self._sums(rows, branches, len(kept)).sum(axis=1)
            kept = np.delete(kept, np.argmin(np.where(small, weight, np.iinfo(np.int64).max)))
        return kept

    def _terms(self, coded: CodedNode | None, columns: Int64Array) -> _Terms:
        """Return what stands in for levels and missing values, by column."""
        fill = by_column(columns, self.problem.stand_ins[columns])
        if coded is None:
            return _Terms(fill, {}, {})
        terms = coded.terms(columns.astype(np.int32), np.ones(len(columns)))
        ends = np.cumsum(terms.table_size)
        return _Terms(
            {**fill, **by_column(columns, terms.fill)},
            by_column(columns, terms.spread),
            {
                column: terms.table[end - size : end]
                for column, size, end in zip(columns.tolist(), terms.table_size, ends, strict=True)
                if size
            },
        )

    def _by_column(self, node: BranchingNode) -> _LMDTDivision | None:
        """Return the best split of a single column, as CART would find it."""
        problem, rows = self.problem, node.rows
        part = problem.take(rows)
        rules = replace(
            self.rules, max_depth=node.depth + 1, max_leaf_nodes=None, best_first=False
        )
        tree = grow(
            part, None, self.criterion, rules, depth=node.depth, total_weight=problem.total_weight
        )
        if tree.is_leaf[0]:
            return None
        columns = tree.coef_idx.astype(np.int64)
        coded = problem.coded[columns]
        fill = by_column(columns, problem.stand_ins[columns])
        tables = {int(columns[0]): tree.table} if len(tree.table) else {}
        terms = _Terms(
            {**fill, **by_column(columns[coded], tree.fill[coded])},
            by_column(columns, tree.spread),
            tables,
        )
        branches = tree.apply(part.Z) - 1
        counts = self._sums(rows, branches, 2)
        gain = float(tree.gain[0])
        planes = MachinePlanes(columns, tree.coef[None], tree.threshold)
        return _LMDTDivision(branches, counts, gain, planes, terms, AXIS_LABEL)


def by_column(columns: Int64Array, values: FloatArray) -> dict[int, float]:
    """Return the values by column, without those that are not known."""
    there = ~np.isnan(values)
    return dict(zip(columns[there].tolist(), values[there].tolist(), strict=True))
