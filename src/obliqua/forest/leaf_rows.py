"""The training rows in the leaves of a forest, and the quantiles that are read from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array
from obliqua.forest.samples import Sampling
from obliqua.tree.layout import pointers, ranges
from obliqua.tree.packed import PackedTrees

__all__ = ["LeafRows", "leaf_rows"]

#: Rows whose quantiles are read together: bounds the memory.
BLOCK = 256


@dataclass(frozen=True, eq=False)
class LeafRows:
    """Which training rows are in each leaf; what they weigh is drawn again when asked for."""

    sampling: Sampling  # without the columns
    ptr: Int64Array  # (n_leaves + 1,), of all trees: where the rows of a leaf begin
    rows: Int32Array  # different rows, as the sampling numbers them

    def _weights(self, trees: PackedTrees) -> FloatArray:
        """Return the share of each row in the weight of its leaf, divided by the trees."""
        found = np.empty(len(self.rows))
        ends = self.ptr[trees.leaf_ptr]
        for tree in range(len(trees)):
            part = slice(ends[tree], ends[tree + 1])
            found[part] = self.sampling.of_tree(tree)[0][self.rows[part]]
        total = np.add.reduceat(found, self.ptr[:-1])
        return found / (np.repeat(total, np.diff(self.ptr)) * len(trees))

    def quantiles(
        self, trees: PackedTrees, Z: AnyArray, shares: FloatArray, n_threads: int = 1
    ) -> FloatArray:
        """Return quantiles by row, share and output.

        A quantile is the least number that has at least that share of the weight at or below it.
        A training row weighs its share of the leaf, where the tree has put both rows into the
        same one, on average over the trees.
        """
        weights = self._weights(trees)
        values = self.sampling.rows.target
        orders = np.argsort(values, axis=0, kind="stable")
        ranks = np.argsort(orders, axis=0)  # of the rows, by output
        found = np.empty((len(Z), len(shares), values.shape[1]))
        for begin in range(0, len(Z), BLOCK):
            leaves = trees.leaves(Z[begin : begin + BLOCK], n_threads)
            n = np.diff(self.ptr)[leaves]
            at = ranges(self.ptr[leaves.ravel()], n.ravel())
            owner = np.repeat(np.arange(len(leaves)), n.sum(axis=1))
            ends = pointers(n.sum(axis=1))
            for output in range(values.shape[1]):
                rank = ranks[self.rows[at], output]
                order = np.lexsort((rank, owner))
                sorted_values = values[orders[rank[order], output], output]
                sorted_weights = weights[at][order]
                for row in range(len(leaves)):
                    part = slice(ends[row], ends[row + 1])
                    reached = np.cumsum(sorted_weights[part])
                    place = np.searchsorted(reached, shares * reached[-1] * (1.0 - 1e-12))
                    found[begin + row, :, output] = sorted_values[part][place]
        return found


def leaf_rows(trees: PackedTrees, sampling: Sampling, n_threads: int = 1) -> LeafRows:
    """Find which training rows are in each leaf of each tree, among those it was grown from."""
    rows = sampling.rows
    found, counts = [], []
    for tree in range(len(trees)):
        drawn = np.flatnonzero(sampling.of_tree(tree)[1] > 0)
        leaf = trees.leaves(rows.Z[rows.source[drawn]], n_threads, (tree, tree + 1))[:, 0]
        found.append(drawn[np.argsort(leaf, kind="stable")].astype(np.int32))
        first, last = trees.leaf_ptr[tree : tree + 2]
        counts.append(np.bincount(leaf - first, minlength=last - first))
    return LeafRows(sampling.bare, pointers(np.concatenate(counts)), np.concatenate(found))
