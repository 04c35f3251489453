"""From the calibrated nodes of 2C-ETCT to an ordinary `Tree`."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.methods._eigen_space import Space
from obliqua.tree.layout import NodeKind, pointers
from obliqua.tree.spread import measure_spread
from obliqua.tree.tree import Tree

__all__ = ["Calibrated", "as_tree"]


class Calibrated(NamedTuple):
    """The nodes of a finished tree, level by level."""

    first_child: Int32Array  # -1 for a leaf
    threshold: FloatArray
    counts: Int64Array  # (n_nodes, 2), class sums in grid units
    rows: Int64Array

    @classmethod
    def of(
        cls, children: Int32Array, threshold: FloatArray, counts: Int64Array, rows: Int64Array
    ) -> Calibrated:
        """Keep what the calibration has divided, and what does not say one class only."""
        child = np.where(np.isnan(threshold), -1, children).tolist()
        label = (counts[:, 1] > counts[:, 0]).tolist()
        for node in range(len(child) - 1, -1, -1):
            left = child[node]
            below = [] if left < 0 else [left, left + 1]
            if all(child[k] < 0 and label[k] == label[node] for k in below):
                child[node] = -1
        old, first_child = [0], []
        for node in old:  # grows on the way
            first_child.append(len(old) if child[node] >= 0 else -1)
            if child[node] >= 0:
                old += [child[node], child[node] + 1]
        return cls(np.array(first_child, dtype=np.int32), threshold[old], counts[old], rows[old])


def as_tree(
    nodes: Calibrated,
    problem: Problem,
    columns: FloatArray,
    space: Space,
    name: str,
    classes: tuple[int, int],
) -> Tree:
    """Make a tree over the original columns."""
    inner = nodes.first_child >= 0
    level = _levels(nodes.first_child)
    planes = [space.directions[name][k] for k in level[inner].tolist()]
    sizes = [len(plane.columns) for plane in planes]
    coef_idx = np.concatenate([np.empty(0, np.int32), *(plane.columns for plane in planes)])
    stats = np.zeros((len(inner), problem.n_classes))
    # With one class only, both codes are the same.
    for side, code in enumerate(classes):
        stats[:, code] += nodes.counts[:, side] * problem.unit
    usual = problem.means if problem.fills is None else problem.fills
    tree = Tree(
        n_features=problem.n_features,
        kind=np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
        first_child=nodes.first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        plane_ptr=pointers(inner.astype(np.int64), np.int32),
        coef_ptr=pointers(sizes),
        coef_idx=coef_idx,
        coef=np.concatenate([np.empty(0), *(plane.coef for plane in planes)]),
        fill=usual[coef_idx],
        spread=np.full(len(coef_idx), np.nan),
        table_ptr=np.zeros(len(coef_idx) + 1, dtype=np.int64),
        table=np.empty(0),
        threshold=nodes.threshold[inner],
        stats=stats,
        n_samples=nodes.rows,
        gain=_gains(nodes),
        axis_gain=np.full(len(inner), np.nan),
        origin=np.where(inner, level, -1).astype(np.int32),
        origin_labels=tuple(f"{name}, direction {k + 1}" for k in range(level.max())),
    )
    # Measured on plain numbers, before levels get their tables.
    tree = measure_spread(tree, columns, problem.weights)
    return _with_tables(tree, space)


def _levels(first_child: Int32Array) -> Int64Array:
    level = np.zeros(len(first_child), dtype=np.int64)
    for node in np.flatnonzero(first_child >= 0).tolist():
        level[first_child[node] : first_child[node] + 2] = level[node] + 1
    return level


def _gains(nodes: Calibrated) -> FloatArray:
    """Return the decrease of Gini impurity of each split, times the share of its node."""
    gain = np.zeros(len(nodes.first_child))
    inner = np.flatnonzero(nodes.first_child >= 0)
    counts = nodes.counts.astype(np.float64)
    left, right = counts[nodes.first_child[inner]], counts[nodes.first_child[inner] + 1]
    apart = left[:, 0] * right[:, 1] - left[:, 1] * right[:, 0]
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    # 2 D^2 / (n^2 n_L n_R), times n / total.
    share = (n_left + n_right) / counts[0].sum()
    gain[inner] = 2 * share * (apart / (n_left + n_right)) ** 2 / (n_left * n_right)
    return gain


def _with_tables(tree: Tree, space: Space) -> Tree:
    """Give coefficients of odd columns their numbers of levels, and what stands in."""
    if space.coded is None:
        return tree
    terms = space.coded.terms(tree.coef_idx, tree.coef)
    fill = np.where(np.isnan(terms.fill), tree.fill, terms.fill)
    return replace(tree, fill=fill, table_ptr=pointers(terms.table_size), table=terms.table)
