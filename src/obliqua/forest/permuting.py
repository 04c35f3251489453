"""How much worse trees do on rows that they were grown without, if a column is permuted there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from obliqua._typing import AnyArray, FloatArray, Int64Array
from obliqua.data.threads import each
from obliqua.forest.samples import Sampling
from obliqua.tree.packed import PackedTrees

__all__ = ["permutation_losses"]

#: Given what a tree says of some rows, and their numbers: its error on each of them.
Errors = Callable[[FloatArray, Int64Array], AnyArray]


def permutation_losses(
    trees: PackedTrees,
    sampling: Sampling,
    errors: Errors,
    n_repeats: int,
    seeds: Int64Array,
    n_threads: int = 1,
) -> FloatArray:
    """Return by how much the mean error of each tree rises, by column and tree.

    A column that a tree does not use changes nothing; a tree that was grown from all rows tells
    nothing, which is NaN. `seeds`: one for each tree.
    """

    def of_tree(tree: int) -> FloatArray:
        out = np.flatnonzero(sampling.out_of_bag(tree))
        # Equal rows may change places, all others stand in an order of their own.
        out = out[np.argsort(sampling.rows.group[out], kind="stable")]
        if not len(out):
            return np.full(trees.n_features, np.nan)
        Z, rng = np.array(sampling.rows.Z[out]), np.random.default_rng(int(seeds[tree]))

        def error() -> float:
            return float(errors(trees.sums(Z, 1, (tree, tree + 1)), out).mean())

        rises, before = np.zeros(trees.n_features), error()
        for column in trees.columns_of(tree).tolist():
            kept = Z[:, column].copy()
            for _ in range(n_repeats):
                Z[:, column] = rng.permutation(kept)
                rises[column] += (error() - before) / n_repeats
            Z[:, column] = kept
        return rises

    return np.stack(each(of_tree, range(len(trees)), n_threads), axis=1)
