"""What trees say of the rows that they were grown without."""

from __future__ import annotations

import numpy as np

from obliqua._typing import FloatArray, Int64Array
from obliqua.forest.samples import Sampling
from obliqua.tree.packed import PackedTrees

__all__ = ["out_of_bag_sums"]


def out_of_bag_sums(
    trees: PackedTrees, sampling: Sampling, n_threads: int = 1
) -> tuple[FloatArray, Int64Array]:
    """Add up, for each row of the problem, what the trees say that were grown without it.

    Also return how many they are. They are asked in their order.
    """
    Z = sampling.rows.Z
    sums = np.zeros((len(Z), trees.n_classes or trees.n_outputs))
    times = np.zeros(len(Z), dtype=np.int64)
    for tree in range(len(trees)):
        out = np.flatnonzero(sampling.out_of_bag(tree))
        sums[out] += trees.sums(Z[out], n_threads, (tree, tree + 1))
        times[out] += 1
    return sums, times
