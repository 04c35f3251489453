"""Numbers as criteria other than the squared error see them: medians, and rates from 0 on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from obliqua._typing import FloatArray, Int64Array, Rows
from obliqua.criteria import NUMBER_CRITERIA, Criterion
from obliqua.data.sparse_rows import leaves_of
from obliqua.data.target import Classes, Numbers, Target, places

if TYPE_CHECKING:
    from obliqua.tree.tree import Tree

T = TypeVar("T", bound="Tree")

__all__ = ["Medians", "Rates", "kind_for", "measured_by", "with_loss"]


def measured_by(target: Target, criterion: Criterion) -> Target:
    """Return a target as a criterion sees it; refuse a criterion that does not fit."""
    kind = kind_for(target, criterion)
    if type(target) is kind:
        return target
    assert isinstance(target, Numbers)
    assert issubclass(kind, Numbers)
    values = target.values
    low, high = values.min(axis=0), values.max(axis=0)
    if kind is Rates:
        _check_rates(values)
        low = np.zeros_like(low)
    return kind.on_grid(values, low, float((high - low).max()))


def with_loss(target: Target, tree: Tree) -> Target:
    """Return a target whose errors are those of a tree, on a grid that has its medians too."""
    if isinstance(target, Classes):
        return replace(target, costs=tree.costs)
    if target.loss == tree.loss:
        return target
    kind = kind_for(target, NUMBER_CRITERIA[tree.loss])
    assert isinstance(target, Numbers)
    assert issubclass(kind, Numbers)
    both = np.concatenate([target.values, tree.mean])
    low, high = both.min(axis=0), both.max(axis=0)
    return kind.on_grid(target.values, low, float((high - low).max()))


def kind_for(target: Target, criterion: Criterion) -> type[Target]:
    """Return what kind of target a criterion needs; refuse one that does not fit."""
    target.check_criterion(criterion)
    if not isinstance(target, Numbers):
        return type(target)
    if criterion.needs_rows:
        return Medians
    return Rates if criterion is NUMBER_CRITERIA["poisson"] else Numbers


def _check_rates(values: FloatArray) -> None:
    """Refuse numbers that the criterion 'poisson' has no logarithms for."""
    if values.min() < 0:
        row = int(np.argmax((values < 0).any(axis=1)))
        raise ValueError(
            f"The criterion 'poisson' is for numbers of 0 and more; y has {values[row].min():g}, "
            f"and {int((values < 0).any(axis=1).sum())} of {len(values)} rows are below 0. Use "
            "criterion='squared_error', or leave such rows out."
        )
    if not values.any(axis=0).all():
        raise ValueError(
            "The criterion 'poisson' needs a sum of y above 0; all values of "
            f"{'y' if values.shape[1] == 1 else 'an output of y'} are 0. There is nothing to "
            "learn: predict 0."
        )


class Rates(Numbers):
    """Numbers whose grid begins at 0, for sums that are compared as rates."""

    @property
    def gain_unit(self) -> float:
        """What a gain of 1 in compiled code is worth: a step of the grid."""
        return self.step / self.n_outputs


class Medians(Numbers):
    """Numbers of which a node says the median.

    The stats of a node are its weight, the median of each output, and the sum of distances from
    the medians. Between two numbers that are both a median stands their mean. Distances are
    measured on the grid.
    """

    loss = "absolute_error"

    @property
    def gain_unit(self) -> float:
        """What a gain of 1 in compiled code is worth: a step of the grid."""
        return self.step / self.n_outputs

    def row_errors(self, said: FloatArray) -> FloatArray:
        """Return the error of each row where a leaf says numbers of it, outputs added up."""
        return np.asarray(np.abs(self.values - said).sum(axis=1))

    def node_errors(self, tree: Tree, leaf: Int64Array, weights: Int64Array | None) -> FloatArray:
        """Return how far the rows that reach each node lie from its medians, times weights.

        Whole steps of the grid are added up, so that the order of rows does not show.
        """
        weights = np.ones(self.n_rows, dtype=np.int64) if weights is None else weights
        said = places(tree.mean, self.low, self.step).astype(np.int64)
        found = np.zeros((self.n_outputs, tree.n_nodes), dtype=np.int64)
        for rows, node in _levels(tree, leaf):
            for j, column in enumerate(found):
                off = np.abs(self.grid[rows, j] - said[node, j])
                np.add.at(column, node, weights[rows] * off)
        # Of several outputs the sum may need more than 64 bits.
        return np.asarray(found.astype(np.float64).sum(axis=0) * self.step)

    def with_exact_means(self, tree: T, Z: Rows, weights: Int64Array | None) -> T:
        """Put medians, and distances from them, into the stats of a grown tree."""
        leaf = leaves_of(tree, Z)
        stats = tree.stats.copy()
        stats[:, 1:-1] = _medians(self.values, weights, tree, leaf)
        errors = self.node_errors(replace(tree, stats=stats.copy()), leaf, weights)
        total = self.n_rows if weights is None else int(weights.sum())
        stats[:, -1] = errors * (stats[0, 0] / total)  # what a grid unit weighs: a power of two
        return replace(tree, stats=stats)


def _levels(tree: Tree, leaf: Int64Array) -> Iterator[tuple[Int64Array, Int64Array]]:
    """Pass the nodes level by level, from the lowest: the rows there, and the node of each."""
    depth, parent = tree.node_depth, tree.parent
    node = leaf.copy()
    for level in range(tree.depth, -1, -1):
        rows = np.flatnonzero(depth[node] == level)
        yield rows, node[rows]
        node[rows] = parent[node[rows]]


def _medians(
    values: FloatArray, weights: Int64Array | None, tree: Tree, leaf: Int64Array
) -> FloatArray:
    """Return the weighted median of each output at each node; 0 where no row is."""
    found = np.zeros((tree.n_nodes, values.shape[1]))
    for j in range(values.shape[1]):
        order = np.argsort(values[:, j], kind="stable")
        number = values[order, j]
        weight = np.ones(len(order), dtype=np.int64) if weights is None else weights[order]
        for rows, node in _levels(tree, leaf[order]):
            # Node by node; within one by numbers, because the rows are in that order already.
            by_node = np.argsort(node, kind="stable")
            rows, node = rows[by_node], node[by_node]
            start = np.flatnonzero(np.diff(node, prepend=-1))
            so_far = np.cumsum(weight[rows])
            before = so_far[start] - weight[rows[start]]
            total = np.append(before[1:], so_far[-1]) - before
            size = np.diff(start, append=len(rows))
            twice = 2 * (so_far - np.repeat(before, size))
            half = np.repeat(total, size)
            lower = start + np.add.reduceat((twice < half).astype(np.int64), start)
            upper = start + np.add.reduceat((twice <= half).astype(np.int64), start)
            ends = number[rows[lower]], number[rows[upper]]
            found[node[start], j] = ends[0] + (ends[1] - ends[0]) / 2
    return found
