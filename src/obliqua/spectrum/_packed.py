"""Trees and a measure in the flat arrays that the compiled overlaps read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from obliqua._core.forest.overlaps import PackedForest
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.errors import TreeError
from obliqua.spectrum._branches import branches_of, cut_of, split_column
from obliqua.spectrum.domain import INTERVALS, Domain
from obliqua.spectrum.ensembles import TreeSum
from obliqua.spectrum.measures import Measure
from obliqua.tree.from_sklearn import BEYOND
from obliqua.tree.layout import KIND_NAMES, NodeKind
from obliqua.tree.tree import Tree

# Nodes have numbers of 32 bits.
_MOST_NODES = 2**31 - 1
# Products of such numbers, and sums of many of them, are finite.
_LARGEST_VALUE = 1e145
_NOTHING = np.zeros(1, dtype=np.int32)


class Nodes(NamedTuple):
    """Flat arrays with an entry per node; see `obliqua._core.forest.overlaps.PackedForest`."""

    slot: Int32Array
    cut: Int32Array
    children: Int32Array
    table_ptr: Int64Array
    table: Int32Array


@dataclass(frozen=True, eq=False)
class Packed:
    """What the compiled side holds.

    Parameters
    ----------
    nodes : Nodes
        The splits of all trees.
    forest : PackedForest
        The compiled side.
    value : ndarray of shape (n_nodes, n_outputs)
        What the trees say in their leaves, and their means in inner nodes.
    mass : ndarray of shape (n_nodes,)
        How likely each node is reached.
    roots : ndarray of int64, of shape (n_trees + 1,)
        Where the nodes of each tree start.
    """

    nodes: Nodes
    forest: PackedForest
    value: FloatArray
    mass: FloatArray
    roots: Int64Array

    def centred(self) -> tuple[Packed, FloatArray]:
        """Return the trees without their means, and the means.

        What all leaves of a tree have in common is taken away first, so that a mean which is large
        beside the variance costs no digits, and a tree that says the same everywhere says 0.
        """
        reached = np.flatnonzero((self.nodes.slot < 0) & (self.mass > 0))
        first = reached[np.searchsorted(reached, self.roots[:-1])]
        counts = np.diff(self.roots)
        value = self.value - np.repeat(self.value[first], counts, axis=0)
        self.forest.fill_means(self.mass, value)
        rest = value[self.roots[:-1]].copy()
        value -= np.repeat(rest, counts, axis=0)
        return replace(self, value=value), self.value[first] + rest

    def only(self, leaves: Int64Array) -> Packed:
        """Return the trees with the value 0 in all leaves but some."""
        value = np.zeros_like(self.value)
        value[leaves] = self.value[leaves]
        self.forest.fill_means(self.mass, value)
        return replace(self, value=value)


def check_values(trees: TreeSum) -> None:
    """Raise if products of what the trees say are beyond all numbers."""
    largest = max(float(np.abs(value).max(initial=0.0)) for value in trees.values)
    if not largest <= _LARGEST_VALUE:
        raise ValueError(
            f"The trees say numbers as large as {largest:g}, whose products are beyond what a "
            f"float holds; at most {_LARGEST_VALUE:g} can be multiplied. Fit the ensemble to "
            "smaller targets, in another unit."
        )


def check_axis_parallel(trees: TreeSum) -> None:
    """Raise for the first split that asks about several columns."""
    for number, tree in enumerate(trees.trees):
        if len(tree.coef) == tree.n_planes and not (tree.kind == NodeKind.MACHINE).any():
            continue
        used = np.bincount(tree.plane_of_coef, tree.coef != 0.0, minlength=tree.n_planes)
        most = np.zeros(tree.n_nodes)
        np.maximum.at(most, tree.node_of_plane, used)
        machine = tree.kind == NodeKind.MACHINE
        wrong = np.flatnonzero((most > 1) | machine)
        if len(wrong) == 0:
            continue
        node = int(wrong[0])
        what = (
            KIND_NAMES[NodeKind.MACHINE]
            if machine[node]
            else f"a split over {int(most[node])} columns"
        )
        raise TreeError(
            f"Node {node} of tree {number} is {what}, so the leaves of that tree are no boxes, "
            "which need splits that ask about one column each. gram and diagnose take any tree "
            "with measure='empirical' and rows X."
        )


def packed(trees: TreeSum, measure: Measure) -> Packed:
    """Put trees and a measure into flat arrays."""
    check_values(trees)
    roots = np.cumsum([0, *(tree.n_nodes for tree in trees.trees)])
    if roots[-1] > _MOST_NODES:
        raise ValueError(f"All trees together have {roots[-1]} nodes; at most {_MOST_NODES} fit.")
    sets = np.array([feature.kind != INTERVALS for feature in measure.domain.features])
    parts = [
        _TreeArrays.of(number, tree, measure, sets, int(root))
        for number, (tree, root) in enumerate(zip(trees.trees, roots, strict=False))
    ]
    level_ptr, sums, gaps = _levels(measure, sets)
    value = np.array(np.concatenate(trees.values), dtype=np.float64, order="C")
    lengths = np.concatenate([part.lengths for part in parts])
    nodes = Nodes(
        np.concatenate([part.slot for part in parts]),
        np.concatenate([part.cut for part in parts]),
        np.concatenate([part.children for part in parts]),
        np.cumsum(lengths) - lengths,
        np.concatenate([*(table for part in parts for table in part.tables), _NOTHING]),
    )
    forest = PackedForest(
        *nodes,
        roots[:-1],
        np.array([tree.depth for tree in trees.trees], dtype=np.int64),
        sets.astype(np.uint8),
        level_ptr,
        sums,
        gaps,
    )
    mass = forest.reach()
    forest.fill_means(mass, value)
    return Packed(nodes, forest, value, mass, roots)


def _levels(measure: Measure, sets: BoolArray) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Return where the levels of each feature start, their weights, and those of gaps.

    Numeric features have running sums of weights; others have what is unseen and missing as two
    more levels.
    """
    parts = [
        measure.all_weights(f)
        if is_set
        else np.concatenate([[0.0], np.cumsum(measure.weights[f])])
        for f, is_set in enumerate(sets.tolist())
    ]
    level_ptr = np.cumsum([0, *(len(part) for part in parts)])
    return level_ptr, np.concatenate([*parts, np.zeros(1)]), np.where(sets, 0.0, measure.missing)


@dataclass(eq=False)
class _TreeArrays:
    """The nodes of one tree; see `obliqua._core.forest.overlaps.PackedForest`."""

    slot: Int32Array
    cut: Int32Array
    children: Int32Array
    lengths: Int64Array
    tables: list[Int32Array]

    @classmethod
    def of(
        cls, number: int, tree: Tree, measure: Measure, sets: BoolArray, root: int
    ) -> _TreeArrays:
        n = tree.n_nodes
        new = cls(
            np.full(n, -1, dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.zeros((n, 3), dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            [],
        )
        nodes = np.flatnonzero(~tree.is_leaf)
        if len(tree.coef) == tree.n_planes:
            k = tree.plane_ptr[nodes].astype(np.int64)
        else:
            k = np.array([split_column(tree, node) for node in nodes.tolist()], dtype=np.int64)
        new.slot[nodes] = tree.coef_idx[k]
        is_set = sets[tree.coef_idx[k]]
        new._add_cuts(number, tree, measure, nodes[~is_set], k[~is_set])
        for node, at in zip(nodes[is_set].tolist(), k[is_set].tolist(), strict=True):
            new._add_set(number, tree, measure, node, at)
        new.children[nodes, 0] += root
        new.children[nodes[~is_set], 1:] += root
        return new

    def _add_cuts(
        self, number: int, tree: Tree, measure: Measure, nodes: Int64Array, k: Int64Array
    ) -> None:
        """Fill in splits of numeric columns."""
        threshold, factor = tree.threshold[tree.plane_ptr[nodes]], tree.coef[k]
        cut = np.where(threshold >= BEYOND, np.inf, threshold)
        for place in np.flatnonzero((factor != 1.0) | (tree.table_ptr[k + 1] > tree.table_ptr[k])):
            # It raises if there is a table of levels.
            branches_of(tree, int(nodes[place]), measure.domain)
            cut[place] = cut_of(tree, int(nodes[place]), int(k[place]))
        for column in np.unique(tree.coef_idx[k]).tolist():
            there = tree.coef_idx[k] == column
            self.cut[nodes[there]] = _lower_levels(number, measure.domain, column, cut[there])
        right = factor < 0  # whether the lower side is the right child
        with np.errstate(over="ignore"):
            filled = factor * tree.fill[k]
        lost = np.isnan(filled) & (measure.missing[tree.coef_idx[k]] > 0)
        if lost.any():
            raise _no_way(number, int(nodes[np.argmax(lost)]), measure, tree, k[np.argmax(lost)])
        first = tree.first_child[nodes]
        self.children[nodes, 0] = first + right
        self.children[nodes, 1] = first + ~right
        self.children[nodes, 2] = first + (filled > threshold)

    def _add_set(self, number: int, tree: Tree, measure: Measure, node: int, k: int) -> None:
        """Fill in a split of levels: the branch of each, of others and of what is missing."""
        column, branches = branches_of(tree, node, measure.domain)
        threshold, factor = float(tree.threshold[tree.plane_ptr[node]]), float(tree.coef[k])
        fill = float(tree.fill[k])
        if np.isnan(fill) and measure.missing[column] > 0:
            raise _no_way(number, node, measure, tree, k)
        if tree.kind[node] == NodeKind.LEVELS:
            unseen, missing = int(threshold), 0 if np.isnan(fill) else int(fill)
        else:
            # A level outside a table counts 0; without one, its code is -1.
            outside = 0.0 if tree.table_ptr[k + 1] > tree.table_ptr[k] else -1.0
            unseen, missing = int(factor * outside > threshold), int(factor * fill > threshold)
        table = np.array([*branches, unseen, missing], dtype=np.int32)
        self.tables.append(table)
        self.lengths[node] = len(table)
        self.cut[node] = -1
        self.children[node] = tree.first_child[node], tree.n_children[node], 0


def _lower_levels(number: int, domain: Domain, column: int, cut: FloatArray) -> Int64Array:
    """Return how many intervals of a feature lie below each cut."""
    feature = domain.features[column]
    thresholds = feature.numbers
    place = np.searchsorted(thresholds, cut)
    known = np.append(thresholds, np.nan)[place] == cut
    wrong = np.isfinite(cut) & ~known
    if wrong.any():
        raise TreeError(
            f"Tree {number} cuts {feature.name!r} at {float(cut[np.argmax(wrong)])!r}, inside an "
            "interval of the measure. Make the measure of all trees that it is for."
        )
    # No number is below a cut at -inf, and none above one at inf.
    return np.where(np.isfinite(cut), place + 1, np.where(cut > 0, feature.cardinality, 0))


def _no_way(number: int, node: int, measure: Measure, tree: Tree, k: int) -> TreeError:
    name = measure.domain.names[int(tree.coef_idx[k])]
    return TreeError(
        f"In the measure {name!r} may be missing, and node {node} of tree {number} has nothing "
        "for a missing value. Give rows without missing values there, or measure='uniform'."
    )
