"""How much each feature varies at the nodes of a tree whose rows are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from obliqua._core.base.spread import leaf_ranges, leaf_sums, node_spread
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array, Rows
from obliqua.data.problem import Problem
from obliqua.data.row_source import RowQuestion, RowSource
from obliqua.data.table import missing_columns
from obliqua.engine.grow_from import ROOT
from obliqua.tree.spread import COLUMNS_AT_ONCE, middles, read_coefficients, told_apart
from obliqua.tree.tree import Tree

__all__ = ["spread_from"]


class MissingColumns:
    """Which columns have missing values."""

    def of(self, problem: Problem, rows: Int32Array) -> BoolArray:
        """Return what some rows answer."""
        return missing_columns(problem.Z[rows])

    def joined(self, answers: Sequence[BoolArray]) -> BoolArray:
        """Say yes if one does."""
        return np.asarray(np.any(answers, axis=0))


@dataclass(frozen=True, eq=False)
class _AtLeaves:
    """Some columns at the leaves of a tree, which are numbered anew."""

    tree: Tree
    number: Int64Array
    n_nodes: int
    columns: Int32Array
    factor: FloatArray

    def leaf(self, problem: Problem, rows: Int32Array) -> tuple[Rows, Int64Array]:
        """Return rows, and the leaf of each."""
        Z = problem.Z if len(rows) == problem.n_rows else problem.Z[rows]
        return Z, self.number[self.tree.apply(Z)]


@dataclass(frozen=True, eq=False)
class LeafRanges(_AtLeaves):
    """The least and the largest value of some columns at leaves."""

    def of(self, problem: Problem, rows: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return what some rows answer."""
        Z, leaf = self.leaf(problem, rows)
        return leaf_ranges(Z, leaf, self.n_nodes, self.columns, self.factor)

    def joined(
        self, answers: Sequence[tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Keep the least and the largest."""
        low, high = zip(*answers, strict=True)
        return np.min(low, axis=0), np.max(high, axis=0)


@dataclass(frozen=True, eq=False)
class LeafSums(_AtLeaves):
    """Weights at leaves, and sums of values and squares about a centre; all are pairs."""

    centre: FloatArray

    def of(self, problem: Problem, rows: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return what some rows answer."""
        Z, leaf = self.leaf(problem, rows)
        weights = None if problem.weights is None else problem.weights[rows].astype(np.float64)
        return leaf_sums(Z, leaf, weights, self.columns, self.factor, self.centre)

    def joined(
        self, answers: Sequence[tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Add up, pair by pair."""
        totals, sums = answers[0]
        for more_totals, more_sums in answers[1:]:
            totals, sums = _added(totals, more_totals), _added(sums, more_sums)
        return totals, sums


def _added(a: FloatArray, b: FloatArray) -> FloatArray:
    """Add pairs of numbers, the second of which is what the first has lost by rounding."""
    high_a, high_b = a[..., 0::2], b[..., 0::2]
    high = high_a + high_b
    taken = high - high_a
    low = (high_a - (high - taken)) + (high_b - taken) + (a[..., 1::2] + b[..., 1::2])
    found = np.empty_like(a)
    found[..., 0::2] = high + low
    found[..., 1::2] = low - (found[..., 0::2] - high)
    return found


def spread_from(tree: Tree, source: RowSource) -> Tree:
    """Return a grown tree with the spread of the features of its splits, as `grow_pruned` does."""
    outline = source.outline

    def ask(question: RowQuestion) -> Any:
        return source.ask({ROOT: [question]}, {})[ROOT][0]

    wanted = read_coefficients(tree)
    if not wanted.any():
        return tree
    if outline.has_missing.any():
        wanted = wanted & ~ask(MissingColumns())[tree.coef_idx]
    places = np.flatnonzero(wanted)
    node = tree.node_of_plane[tree.plane_of_coef[places]]
    columns, column = np.unique(tree.coef_idx[places], return_inverse=True)
    number, parent = told_apart(tree.parent, node)
    node, spread = number[node], tree.spread.copy()
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        here = slice(start, start + COLUMNS_AT_ONCE)
        block = np.ascontiguousarray(columns[here].astype(np.int32))
        at = tree, number, len(parent), block
        low, high = ask(LeafRanges(*at, np.ones(len(block))))
        farthest = np.maximum(np.abs(low.min(axis=0)), np.abs(high.max(axis=0)))
        exponent = np.clip(np.frexp(farthest)[1], -1000, 1000).astype(np.int32)
        factor = np.ldexp(1.0, -exponent)
        low, high = low * factor, high * factor
        centre = middles(low, high)
        sums = ask(LeafSums(*at, factor, centre))
        found = node_spread([sums], (low, high), centre, parent, exponent)
        mine = (column >= start) & (column < start + len(block))
        spread[places[mine]] = found[node[mine], column[mine] - start]
    return replace(tree, spread=spread)
