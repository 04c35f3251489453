"""Which rows each tree of a forest is grown from, and how much they count.

How often a row is drawn is a number with a Poisson distribution that depends on the seed, the
tree and the row's content alone: neither the order of rows nor how many trees there are changes
it, and nothing need be kept to know it again. All rows together are drawn as often as is wanted on
average.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._core.forest.trees import draw_counts, draw_share
from obliqua._typing import BoolArray, FloatArray, Int32Array, UInt8Array
from obliqua.forest.levels import level_numbers
from obliqua.forest.rows import ForestRows

__all__ = ["Sampling"]


@dataclass(frozen=True, eq=False)
class Sampling:
    """How rows are drawn for a tree.

    With replacement, `size` rows; their weights are the odds of being drawn, and a row counts as
    often as it was. Without, a share of the rows, which count as much as they weigh.
    """

    rows: ForestRows
    key: int  # the seed of the forest
    replace: bool = True
    size: float = 1.0  # the number of rows to draw, or their share if they are not put back
    balanced: bool = False  # whether the classes of each sample get the same weight
    total: float | None = None  # what all rows weigh, in units, if these are only some of them
    never_none: bool = True  # whether a row is taken at least, though none was drawn

    @property
    def unit(self) -> float:
        """What a weight of 1 in a sample weighs."""
        return 1.0 if self.replace else self.rows.unit

    @property
    def fingerprint(self) -> str:
        """What tells the rows, and how they are drawn, from others; the seed aside."""
        return self.told_apart(self.rows.fingerprint)

    def told_apart(self, rows: str) -> str:
        """Do the same, where it is known what tells the rows from others."""
        how = f"{rows} {self.replace} {self.size!r} {self.balanced}"
        return hashlib.sha256(how.encode()).hexdigest()

    @property
    def bare(self) -> Sampling:
        """The same without the columns: enough to draw the rows again."""
        return replace(self, rows=self.rows.without_columns())

    def drawn_pieces(self, tree: int) -> UInt8Array:
        """Return of each piece of each row whether it is drawn for a tree."""
        drawn = np.empty(int(self.rows.pieces.sum()), dtype=np.uint8)
        self._drawn(tree, drawn)
        return drawn

    def of_tree(self, tree: int) -> tuple[FloatArray, Int32Array]:
        """Return what each row weighs for a tree, in units, and as how many rows it counts."""
        return self._drawn(tree, np.empty(0, dtype=np.uint8))

    def out_of_bag(self, tree: int) -> BoolArray:
        """Return which rows of the problem a tree was grown without."""
        return self.rows.without(self.drawn_pieces(tree))

    def level_numbers(self, tree: int, weights: FloatArray, times: Int32Array) -> FloatArray:
        """Return the numbers of the levels of qualitative columns in a tree."""
        return level_numbers(self.rows, weights, times, child_key(child_key(self.key, tree), 2))

    def tree_key(self, tree: int) -> int:
        """Return the seed of a tree's root."""
        return child_key(child_key(self.key, tree), 1)

    def _drawn(self, tree: int, drawn: UInt8Array) -> tuple[FloatArray, Int32Array]:
        rows = self.rows
        key = child_key(child_key(self.key, tree), 0)
        times = np.empty(rows.n, dtype=np.int32)
        counts = np.empty(rows.n)
        if self.replace:
            total = rows.weights.sum() if self.total is None else self.total
            means = rows.weights / rows.pieces * (self.size / total)
            draw_counts(rows.keys, rows.pieces, means, key, counts, times, drawn, self.never_none)
        elif self.size < 1.0:
            draw_share(rows.keys, rows.pieces, self.size, key, times, drawn, self.never_none)
            counts = rows.weights * (times / rows.pieces)
        else:
            drawn[:] = 1
            counts, times = rows.weights.copy(), rows.pieces.astype(np.int32)
        if self.balanced:
            by_class = np.bincount(rows.target, weights=counts)
            there = by_class > 0
            factor = np.ones(len(by_class))
            every = np.add.accumulate(by_class)[-1]  # in order, however many classes there are
            factor[there] = every / (there.sum() * by_class[there])
            counts *= factor[rows.target]
        return counts, times
