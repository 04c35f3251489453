"""C4.5 (Quinlan 1993, with the changes of release 8): splits on single columns by gain ratio.

At a node every column offers one split: a numeric column its threshold with the largest
information gain, a qualitative one a branch for each of its levels. Of the columns that gain at
least as much as the average, the one with the largest gain ratio divides the node.

This method does not propose directions to the engine, because its choice is not one of the
largest goodness, and because its nodes may have many branches. It grows a `Tree` by itself, with
NumPy. What each column offers is found from one table: the class sums of each value at the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from obliqua._core.base.spread import column_means
from obliqua._core.grow.subtree import leaf_without_search
from obliqua._core.search.criterion import logarithms
from obliqua._core.search.node_search import threshold_between
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.many_branches import BranchingGrowth, BranchingNode, Division
from obliqua.engine.rules import Rules
from obliqua.prune import cost_complexity_path
from obliqua.tree.tree import Tree

__all__ = ["C45", "grow_c45"]

SLACK = 1e-3  # the program lets a gain count as average that is so much below it
MOST_AT_THE_EDGE = 25.0  # rows that a threshold must leave on each side, at most
MANY_LEVELS = 0.3  # a column with more levels than this share of the rows is no measure
ROUNDING = 1e-14  # gains are computed to so many bits: what is not larger is 0
TIE = 1e-9  # gains and ratios that differ by less, relative to their size, are equal

CELLS_AT_ONCE = 1_000_000  # bounds the memory: class sums of values


@dataclass(frozen=True)
class C45:
    """What kind of C4.5 tree to grow."""

    # "gain_ratio": the column with the largest gain ratio wins, among those of at least average
    # gain; "entropy": the one with the largest gain (the program's option ``-g``)
    criterion: str = "gain_ratio"
    # whether the gain of a threshold is lowered by what it costs to say which one it is
    mdl_correction: bool = True
    # whether a qualitative column is divided into one level and all others, instead of into all
    # its levels
    binary: bool = False
    # a threshold leaves on each side at least this share of the node's average weight per class,
    # or 25, if that is less
    min_class_share: float = 0.1
    # whether subtrees that make no fewer errors on the training rows than a leaf become one
    collapse: bool = True


def grow_c45(problem: Problem, method: C45 | None = None, rules: Rules | None = None) -> Tree:
    """Grow a C4.5 tree."""
    method = C45() if method is None else method
    rules = Rules() if rules is None else rules
    tree = _C45Growth(problem, method, rules).run()
    # The best tree at a price of nothing per leaf: what saves no error is cut.
    return cost_complexity_path(tree).at_alpha(0.0) if method.collapse else tree


# --- formulas ------------------------------------------------------------------------------------


def _x_log_x(shares: FloatArray) -> FloatArray:
    """``x log2(x)``, and 0 for 0."""
    return np.asarray(shares * logarithms(np.maximum(shares, 1e-300)))


def _gain(counts: Int64Array) -> FloatArray:
    """Return the information gain in bits."""
    branches, classes = counts.sum(axis=-1, keepdims=True), counts.sum(axis=-2, keepdims=True)
    total = branches.sum(axis=-2, keepdims=True)
    # Each share against what it would be by chance: where a split says nothing all quotients are
    # 1, and rounding does not grow with the number of branches.
    quotient = (counts / np.maximum(branches, 1)) * (total / np.maximum(classes, 1))
    bits = logarithms(np.where(counts > 0, quotient, 1.0))
    return np.asarray((counts / total * bits).sum(axis=(-2, -1)))


def _branch_entropy(weight: Int64Array, total: int) -> FloatArray:
    """Return the entropy of the branches in bits; missing values make one more branch."""
    missing = total - weight.sum(axis=1)
    return -_x_log_x(weight / total).sum(axis=1) - _x_log_x(missing / total)


def _goodness(counts: Int64Array, criterion: str) -> float:
    """Return how good a division is, from the class sums of its branches."""
    total = int(counts.sum())
    gain = max(float(_gain(counts)), 0.0)
    if criterion == "entropy":
        return gain
    return gain / float(_branch_entropy(counts.sum(axis=1)[None], total)[0])


def _first_of_the_best(values: FloatArray) -> int:
    best = values.max()
    return int(np.argmax(values >= best - ROUNDING - TIE * abs(best)))


# --- what columns offer --------------------------------------------------------------------------


class _Offer(NamedTuple):
    """The split that a column offers."""

    column: int
    gain: float  # in bits, times the share of known values; corrected if that is wanted
    ratio: float  # divided by the entropy of the branches
    cut: int  # the last code on the left; the level that goes left; -1: all levels
    left: bool = False  # whether missing values go left of a threshold, if they choose a side


class _Cuts(NamedTuple):
    """All thresholds that some columns may have at a node, one column after another."""

    column: Int64Array
    code: Int64Array  # of the last value on the left
    sides: Int64Array  # class sums on the left and on the right: (n_cuts, 2, n_classes)
    left: BoolArray  # whether missing values go left


@dataclass(frozen=True, eq=False)
class _C45Division(Division):
    column: int
    heaviest: int
    table: list[int]  # the branch of each level; empty: there is a threshold
    threshold: float
    fill: float
    coef: float = 1.0  # 0: it only asks whether the value is there
    missing: int = -1  # the branch of missing values, if they choose one


class _C45Growth(BranchingGrowth[_C45Division]):
    """A growing tree."""

    def __init__(self, problem: Problem, method: C45, rules: Rules) -> None:
        super().__init__(problem, rules)
        self.method = method
        self.columns = ValueSums(problem)
        few = MANY_LEVELS * problem.total_weight * problem.row_unit
        few_levels = [n_levels < few for n_levels in self.columns.n_levels]
        # If all columns have many levels, all of them make the average.
        self.in_average = few_levels if any(few_levels) else [True] * len(few_levels)

    def _describe(self, node: BranchingNode, division: _C45Division, names: list[int]) -> None:
        column, heaviest = division.column, division.heaviest
        missing = heaviest if division.missing < 0 else division.missing
        if division.table:
            self.builder.add_levels(
                node.name, column, division.table, names, unseen=heaviest, missing=missing
            )
        else:
            sided = self.problem.sides and bool(self.problem.has_missing[column])
            self.builder.add_split(
                node.name,
                {column: division.coef},
                division.threshold,
                names,
                fill={column: division.fill},
                missing=("left", "right")[missing] if sided else None,
            )
        self.builder.annotate(
            node.name, stats=self._stats(node), gain=division.gain, origin=AXIS_LABEL
        )

    # -- one node ---------------------------------------------------------------------------

    def _divisions(self, nodes: list[BranchingNode]) -> Iterable[_C45Division | None]:
        return map(self._divide, nodes)

    def _divide(self, node: BranchingNode) -> _C45Division | None:
        if leaf_without_search(
            self.rules, self.problem.target_rows, node.counts, len(node.rows), node.depth
        ):
            return None
        offers = list(self._offers(node))
        chosen = self._choice(offers)
        if chosen is None and offers and self.rules.zero_gain:
            chosen = offers[0]
        if chosen is None:
            return None
        division = self._division(node, chosen)
        return None if division.gain < self.rules.min_gain else division

    def _choice(self, offers: list[_Offer]) -> _Offer | None:
        """Choose among columns that gain something; the first of equals."""
        by_gain = self.method.criterion == "entropy"
        # A threshold that gains nothing is no split. A division into levels is one all the same.
        gains = [offer.gain for offer in offers if self._has_a_say(offer)]
        average = sum(gains) / len(gains) if gains else inf
        able = [
            offer
            for offer in offers
            if offer.gain > ROUNDING and (by_gain or offer.gain >= average - SLACK)
        ]
        if not able:
            return None
        worth = np.array([offer.gain if by_gain else offer.ratio for offer in able])
        return able[_first_of_the_best(worth)]

    def _has_a_say(self, offer: _Offer) -> bool:
        """Whether an offer is one of those that make the average."""
        is_levels = self.columns.n_levels[offer.column] > 0
        return self.in_average[offer.column] and (is_levels or offer.gain > ROUNDING)

    def _offers(self, node: BranchingNode) -> Iterator[_Offer]:
        """What the columns offer, in their order."""
        present = np.flatnonzero(node.counts)
        y = np.searchsorted(present, self.problem.y[node.rows])
        step = max(1, CELLS_AT_ONCE // (len(node.rows) * len(present)))
        for first in range(0, self.problem.n_features, step):
            columns = range(first, min(first + step, self.problem.n_features))
            values = self.columns.at(node.rows, y, len(present), columns)
            numeric = self._thresholds(values, columns)
            for place, column in enumerate(columns):
                offer = numeric.get(column)
                if self.columns.n_levels[column]:
                    part = slice(*values.start[place : place + 2])
                    offer = self._levels(column, *(array[part] for array in values[1:]))
                if offer is not None:
                    yield offer

    # -- thresholds -------------------------------------------------------------------------

    def _cuts(self, values: Values, columns: range) -> _Cuts:
        """Find all thresholds that numeric columns may have.

        Missing values do not count, or stand behind all others, where they choose a side.
        """
        column = np.repeat(np.arange(columns.start, columns.stop), np.diff(values.start))
        numeric = self.problem.n_levels[column] == 0
        known = values.code < self.columns.missing
        use = np.flatnonzero(numeric & (known | self.problem.sides))
        column, code = column[use], values.code[use]
        # Sums run on through all columns and may pass the largest integer; differences do not.
        left, rows_left = np.cumsum(values.sums[use], axis=0), np.cumsum(values.rows[use])
        last = np.flatnonzero(np.diff(column, append=-1))
        which = np.cumsum(np.diff(column, prepend=column[:1]) != 0)
        sums, rows = np.diff(left[last], axis=0, prepend=0), np.diff(rows_left[last], prepend=0)
        left -= (left[last] - sums)[which]
        rows_left -= (rows_left[last] - rows)[which]
        weight = sums.sum(axis=1)[which]
        # Both sides keep a part of the rows that grows with the node, up to 25.
        share = self.method.min_class_share * weight / self.problem.n_classes
        least = np.minimum(share, MOST_AT_THE_EDGE / self.problem.row_unit)
        # Weights such as a seventh add up to less than they should, by rounding.
        least = np.maximum(least * (1.0 - TIE), self.rules.min_weight_leaf)
        end = np.zeros(len(code), dtype=bool)
        end[last] = True

        def cuts(left: Int64Array, rows_left: Int64Array, able: BoolArray, aside: bool) -> _Cuts:
            right, rows_right = sums[which] - left, rows[which] - rows_left
            lighter = np.minimum(left.sum(axis=1), right.sum(axis=1))
            fewer = np.minimum(rows_left, rows_right)
            legal = able & (lighter >= least) & (fewer >= max(self.rules.min_samples_leaf, 1))
            sides = np.stack([left[legal], right[legal]], axis=1)
            return _Cuts(column[legal], code[legal], sides, np.full(int(legal.sum()), aside))

        found = cuts(left, rows_left, ~end, False)
        lost = code[last] == self.columns.missing
        if not lost.any():
            return found
        # The same with missing values on the left, but for the cut between them and values.
        n_lost = np.where(lost, values.rows[use][last], 0)[which]
        left = left + np.where(lost[:, None], values.sums[use][last], 0)[which]
        more = cuts(left, rows_left + n_lost, (n_lost > 0) & ~end, True)
        both = [np.concatenate(pair) for pair in zip(found, more, strict=True)]
        order = np.argsort(both[0], kind="stable")
        return _Cuts(*(part[order] for part in both))

    def _thresholds(self, values: Values, columns: range) -> dict[int, _Offer]:
        """Find the best threshold of each numeric column, all columns at once."""
        cuts = self._cuts(values, columns)
        if len(cuts.column) == 0:
            return {}
        total = int(values.sums[: values.start[1]].sum())
        known = cuts.sides.sum(axis=(1, 2))
        gain = _gain(cuts.sides) * (known / total)
        start = np.flatnonzero(np.diff(cuts.column, prepend=-1))
        tries = np.diff(start, append=len(gain))
        best = np.maximum.reduceat(gain, start)
        good = gain >= np.repeat(best - ROUNDING - TIE * best, tries)
        chosen = np.minimum.reduceat(np.where(good, np.arange(len(gain)), len(gain)), start)
        gain = gain[chosen]
        if self.method.mdl_correction:
            gain = gain - logarithms(tries) / (total * self.problem.row_unit)
        branches = cuts.sides[chosen].sum(axis=2)
        spread = _branch_entropy(branches, total)
        return {
            column: _Offer(column, *rest)
            for column, *rest in zip(
                cuts.column[chosen].tolist(),
                gain.tolist(),
                (gain / spread).tolist(),
                cuts.code[chosen].tolist(),
                cuts.left[chosen].tolist(),
                strict=True,
            )
        }

    # -- levels -----------------------------------------------------------------------------

    def _levels(
        self, column: int, code: Int64Array, sums: Int64Array, rows: Int64Array
    ) -> _Offer | None:
        """What a qualitative column offers."""
        total = int(sums.sum())
        if not self.problem.sides:  # then a missing one is no level
            known = code < self.columns.missing
            code, sums, rows = code[known], sums[known], rows[known]
        if len(code) < 2:
            return None
        least, fewest = self.rules.min_weight_leaf, self.rules.min_samples_leaf
        parts, n_rows = sums[None], rows[None]
        if self.method.binary:
            parts = np.stack([sums, sums.sum(axis=0) - sums], axis=1)
            n_rows = np.stack([rows, rows.sum() - rows], axis=1)
        weight = parts.sum(axis=2)
        large = (weight >= least) & (n_rows >= fewest)
        legal = np.flatnonzero(large.sum(axis=1) >= 2)
        if len(legal) == 0:
            return None
        parts, weight = parts[legal], weight[legal]
        share = weight[0].sum() / total
        gain = _gain(parts) * share
        ratio = gain / _branch_entropy(weight, total)
        best = _first_of_the_best(gain if self.method.criterion == "entropy" else ratio)
        cut = int(code[legal[best]]) if self.method.binary else -1
        return _Offer(column, float(gain[best]), float(ratio[best]), cut)

    # -- the division -----------------------------------------------------------------------

    def _division(self, node: BranchingNode, offer: _Offer) -> _C45Division:
        """Divide the rows of a node; missing values choose a branch, or take the heaviest."""
        column = offer.column
        code = self.columns.codes[column, node.rows].astype(np.int64)
        missing = code == self.columns.missing
        chooses = self.problem.sides and bool(missing.any())
        n_levels = self.columns.n_levels[column]
        if n_levels:
            table = np.full(n_levels, -1, dtype=np.int64)
            levels = np.unique(code[~missing])
            table[levels] = np.arange(len(levels)) if offer.cut < 0 else levels != offer.cut
            branches = np.where(missing, 0, table[np.where(missing, 0, code)])
            branch = len(levels) if offer.cut < 0 else int(offer.cut != self.columns.missing)
        else:
            branches = (~missing & (code > offer.cut)).astype(np.int64)
            branch = 0 if offer.left else 1
        if chooses:
            branches[missing] = branch
        n_branches = int(branches.max()) + 1
        counted = np.ones(len(code), dtype=bool) if chooses else ~missing
        known = self._sums(node.rows[counted], branches[counted], n_branches)
        heaviest = int(np.argmax(known.sum(axis=1)))
        if not chooses:
            branches[missing] = heaviest
        counts = self._sums(node.rows, branches, n_branches)
        share = int(counts.sum()) / self.problem.total_weight
        gain = share * _goodness(counts, self.method.criterion)
        threshold, fill, coef, ways = 0.0, float(heaviest), 1.0, []
        if n_levels:
            ways = np.where(table < 0, heaviest, table).tolist()
        elif (branches[~missing] == 0).all():
            coef, fill = 0.0, float(self.problem.stand_ins[column])
        else:
            side = branch if chooses else heaviest
            there = node.rows[~missing & (branches == side)]
            above = int(code[~missing & (branches == 1)].min())
            threshold, fill = self._threshold(column, offer.cut, above, side, there)
        aside = branch if chooses else -1
        return _C45Division(
            branches, counts, gain, column, heaviest, ways, threshold, fill, coef, aside
        )

    def _threshold(
        self, column: int, below: int, above: int, heaviest: int, there: Int64Array
    ) -> tuple[float, float]:
        """Return a threshold, and what stands in for a missing value: a mean of its branch."""
        low, high = (float(self.columns.numbers[column][code]) for code in (below, above))
        problem = self.problem
        weights = None if problem.weights is None else problem.weights[there].astype(np.float64)
        mean = float(column_means(problem.Z[there, column][:, None], weights)[0]) + 0.0  # no -0
        return threshold_between(low, high), max(mean, high) if heaviest else min(mean, low)


class Values(NamedTuple):
    """The values that some columns have at a node, one column after another."""

    start: Int64Array  # where each column's values begin, and the end
    code: Int64Array  # ascending in each column; missing values come last
    sums: Int64Array  # their class sums
    rows: Int64Array  # their numbers of rows


class ValueSums:
    """All columns of a problem as codes: of a level, or a number's place among all numbers."""

    def __init__(self, problem: Problem) -> None:
        self.weights = problem.weights
        self.n_levels: list[int] = problem.n_levels.tolist()
        self.numbers: list[FloatArray] = []  # by code; none of a qualitative column
        codes = []
        for column, n_levels in enumerate(self.n_levels):
            values: FloatArray = np.asarray(problem.Z[:, column], dtype=np.float64)
            missing = np.isnan(values)
            # Adding 0 makes 0 of -0: which of them stood first must not show in a tree.
            values = np.where(missing, 0.0, values) + 0.0
            if n_levels:
                found, place = np.empty(0), values.astype(np.int64)
            else:
                found, place = np.unique(values, return_inverse=True)
            self.numbers.append(found)
            codes.append(np.where(missing, -1, place))
        self.missing = max(int(code.max()) for code in codes) + 1
        # Short codes are sorted by counting.
        kind = np.uint16 if self.missing < 2**16 else np.int32
        self.codes = np.empty((problem.n_features, problem.n_rows), dtype=kind)
        for column, code in enumerate(codes):
            self.codes[column] = np.where(code < 0, self.missing, code)

    def at(self, rows: Int64Array, y: Int64Array, n_classes: int, columns: range) -> Values:
        """Sort the rows of a node by each column, and add up the rows of each value."""
        codes = self.codes[columns.start : columns.stop, rows]
        order = np.argsort(codes, axis=1, kind="stable")
        codes = np.take_along_axis(codes, order, axis=1)
        new = np.ones(codes.shape, dtype=bool)
        np.not_equal(codes[:, 1:], codes[:, :-1], out=new[:, 1:])
        first = np.flatnonzero(new)
        weights = None if self.weights is None else self.weights[rows][order].ravel()
        cells = (np.cumsum(new) - 1) * n_classes + y[order].ravel()
        sums = np.bincount(cells, weights, minlength=len(first) * n_classes)
        return Values(
            np.concatenate([[0], np.cumsum(new.sum(axis=1))]),
            codes.ravel()[first].astype(np.int64),
            sums.astype(np.int64).reshape(-1, n_classes),
            np.diff(first, append=new.size),
        )
