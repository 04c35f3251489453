"""The boxes of the leaves of packed trees, feature by feature, as sparse matrices.

The indicator of a stretch of levels is a running sum of two entries: 1 where it begins and -1
where it ends. So a sum over thousands of leaves is a sparse product and a running sum, and takes
no more room than the levels have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.spectrum._packed import Packed
from obliqua.spectrum.domain import INTERVALS
from obliqua.spectrum.measures import Measure

#: How many features of nodes are looked at together.
BLOCK = 2**18

_HALVES = (slice(0, None, 2), slice(1, None, 2))


@dataclass(frozen=True, eq=False)
class Sides:
    """What the leaves that are narrow in a feature have of it.

    Parameters
    ----------
    leaves : ndarray of int64, of shape (n_leaves,)
        The leaves, as places among all that are reached.
    entries : sparse array of shape (n_leaves, n_places)
        Whether each has a level; for a numeric feature where its stretch begins and ends, and
        last, behind these, whether it has what is missing.
    share : ndarray of shape (n_leaves,)
        How likely it is that a value is in the leaf's part.
    level_share : ndarray of shape (n_levels,)
        How likely each level is, what is missing or unseen included.
    numeric : bool
        Whether entries are to be added up.
    """

    leaves: Int64Array
    entries: AnyArray
    share: FloatArray
    level_share: FloatArray
    numeric: bool

    def spread_out(self, sums: FloatArray) -> FloatArray:
        """Turn sums of entries, along the first axis, into sums over the levels."""
        if not self.numeric:
            return sums
        # A stretch never goes beyond the last level, so the sum at the end is 0.
        running = np.cumsum(sums[:-2], axis=0)
        return np.concatenate([running, sums[-1:]])

    def taken(self, places: Int64Array) -> Sides:
        """Return the same of some of the leaves, given by their places in `leaves`."""
        return Sides(
            self.leaves[places],
            self.entries[places],
            self.share[places],
            self.level_share,
            self.numeric,
        )


@dataclass(frozen=True, eq=False)
class Boxes:
    """The leaves that are reached, and what they have of each feature.

    Parameters
    ----------
    nodes : ndarray of int64, of shape (n_leaves,)
        The leaves.
    sides : dict of Sides
        By feature, for those that some leaf is narrow in.
    """

    nodes: Int64Array
    sides: dict[int, Sides]


def boxes_of(trees: Packed, measure: Measure) -> Boxes:
    """Find the boxes of all leaves that are reached."""
    finder = _Finder(trees, measure)
    for root in trees.roots[:-1].tolist():
        finder.walk(root)
    nodes = np.flatnonzero((trees.nodes.slot < 0) & (trees.mass > 0))
    return Boxes(
        nodes, {f: finder.sides(f, nodes) for f in range(len(finder.numeric)) if finder.found[f]}
    )


class _Finder:
    """Goes through trees level by level; the state of some nodes of each level is held."""

    def __init__(self, trees: Packed, measure: Measure) -> None:
        self.trees, self.measure = trees, measure
        features = measure.domain.features
        self.numeric = [feature.kind == INTERVALS for feature in features]
        sizes = np.array([f.cardinality for f in features], dtype=np.int64)
        self.sizes = sizes
        # Membership of levels of all qualitative features, side by side.
        lengths = np.where(self.numeric, 0, sizes + 2)
        self.at = np.concatenate([[0], np.cumsum(lengths)])
        # Per feature: leaves, places and signs of entries.
        self.found: list[list[tuple[Int64Array, Int64Array, FloatArray]]] = [[] for _ in features]

    def walk(self, root: int) -> None:
        nodes = np.array([root])
        low = np.zeros((1, len(self.sizes)), dtype=np.int32)
        high = self.sizes.astype(np.int32)[None, :].copy()
        gap = np.ones((1, len(self.sizes)), dtype=bool)
        member = np.ones((1, int(self.at[-1])), dtype=bool)
        asked = np.zeros((1, len(self.sizes)), dtype=bool)
        most = max(1, BLOCK // (low.shape[1] + member.shape[1]))
        pending: list[tuple[AnyArray, ...]] = [(nodes, low, high, gap, member, asked)]
        while pending:
            nodes, *state = pending.pop()
            if len(nodes) > most:
                pending += [(nodes[part], *(one[part] for one in state)) for part in _HALVES]
                continue
            leaf = self.trees.nodes.slot[nodes] < 0
            there = leaf & (self.trees.mass[nodes] > 0)
            self._keep(nodes[there], *(part[there] for part in state))
            if not leaf.all():
                inner = (part[~leaf] for part in state)
                pending.append(self._children(nodes[~leaf], *inner))

    def _children(
        self,
        nodes: Int64Array,
        low: AnyArray,
        high: AnyArray,
        gap: BoolArray,
        member: BoolArray,
        asked: BoolArray,
    ) -> tuple[AnyArray, ...]:
        splits = self.trees.nodes
        slot, cut = splits.slot[nodes], splits.cut[nodes]
        asked[np.arange(len(nodes)), slot] = True
        sets = ~np.array(self.numeric)[slot]
        below, above = np.flatnonzero(~sets), np.flatnonzero(~sets)
        parents = [below, above]
        children = [splits.children[nodes[below], 0], splits.children[nodes[below], 1]]
        for place in np.flatnonzero(sets).tolist():
            first, n_branches = splits.children[nodes[place], :2].tolist()
            parents.append(np.full(n_branches, place))
            children.append(np.arange(first, first + n_branches))
        parent = np.concatenate(parents)
        new = np.concatenate(children).astype(np.int64)
        low, high, gap = low[parent], high[parent], gap[parent]
        member, asked = member[parent], asked[parent]
        n = len(below)
        rows, column, at = np.arange(n), slot[below], cut[below]
        high[rows, column] = np.clip(at, low[rows, column], high[rows, column])
        low[rows + n, column] = np.clip(at, low[rows + n, column], high[rows + n, column])
        to = splits.children[nodes[below], 2]
        gap[rows, column] &= to == new[:n]
        gap[rows + n, column] &= to == new[n : 2 * n]
        for row in range(2 * n, len(parent)):
            node, feature = nodes[parent[row]], slot[parent[row]]
            start, end = self.at[feature], self.at[feature + 1]
            table = splits.table[splits.table_ptr[node] :][: end - start]
            member[row, start:end] &= table == new[row] - splits.children[node, 0]
        return new, low, high, gap, member, asked

    def _keep(
        self,
        leaves: Int64Array,
        low: AnyArray,
        high: AnyArray,
        gap: BoolArray,
        member: BoolArray,
        asked: BoolArray,
    ) -> None:
        for feature in np.flatnonzero(asked.any(axis=0)).tolist():
            rows = np.flatnonzero(asked[:, feature])
            if self.numeric[feature]:
                last = int(self.sizes[feature]) + 1
                gaps = rows[gap[rows, feature]]
                self.found[feature] += [
                    (leaves[rows], low[rows, feature], np.ones(len(rows))),
                    (leaves[rows], high[rows, feature], -np.ones(len(rows))),
                    (leaves[gaps], np.full(len(gaps), last), np.ones(len(gaps))),
                ]
            else:
                part = member[rows, self.at[feature] : self.at[feature + 1]]
                row, level = np.nonzero(part)
                self.found[feature].append((leaves[rows[row]], level, np.ones(len(row))))

    def sides(self, feature: int, nodes: Int64Array) -> Sides:
        """Put the entries of a feature into a matrix."""
        leaves, places, signs = (
            np.concatenate(part) for part in zip(*self.found[feature], strict=True)
        )
        known, row = np.unique(leaves, return_inverse=True)
        numeric = self.numeric[feature]
        weights = self.measure.all_weights(feature)
        if numeric:
            weights = weights[np.arange(len(weights)) != len(weights) - 2]  # nothing is unseen
            running = np.concatenate([[0.0], np.cumsum(weights[:-1])])
            per_entry = np.append(-running, weights[-1])
        else:
            per_entry = weights
        shape = (len(known), len(per_entry))
        entries = sparse.csr_array(sparse.coo_array((signs, (row, places)), shape=shape))
        total = weights.sum()
        return Sides(
            np.searchsorted(nodes, known),
            entries,
            np.asarray(entries @ per_entry) / total,
            weights / total,
            numeric,
        )
