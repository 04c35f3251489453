"""How much columns with levels or gaps vary at the nodes of a refined tree.

`measure_spread` finds it for plain numbers; in these columns the numbers differ from node to node.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.weights import round_significant
from obliqua.tree.tree import Tree

__all__ = ["with_odd_spreads"]


def with_odd_spreads(tree: Tree, problem: Problem) -> Tree:
    """Fill in the standard deviations of columns that are qualitative or have missing values."""
    wanted = np.flatnonzero(problem.odd[tree.coef_idx]).tolist()
    if not wanted:
        return tree
    leaf = tree.apply(problem.Z)
    weights = np.ones(problem.n_rows)
    if problem.weights is not None:
        weights = problem.weights.astype(np.float64)
    node_of = tree.node_of_plane[tree.plane_of_coef]
    spread = tree.spread.copy()
    below: dict[int, Int64Array] = {}
    for k in wanted:
        node = int(node_of[k])
        if node not in below:
            below[node] = np.flatnonzero(_leaves_below(tree, node)[leaf])
        rows = below[node]
        values = _values(tree, k, problem.Z[rows, tree.coef_idx[k]].astype(np.float64))
        spread[k] = _deviation(values, weights[rows])
    return replace(tree, spread=round_significant(spread))


def _leaves_below(tree: Tree, node: int) -> BoolArray:
    """Say which nodes are a node or below it."""
    inside = np.zeros(tree.n_nodes, dtype=bool)
    inside[node] = True
    for kid in range(node + 1, tree.n_nodes):  # children stand behind their parents
        inside[kid] = inside[tree.parent[kid]]
    return inside


def _values(tree: Tree, k: int, raw: FloatArray) -> FloatArray:
    """Return what coefficient k multiplies at some rows."""
    table = tree.table[tree.table_ptr[k] : tree.table_ptr[k + 1]]
    absent = np.isnan(raw)
    if len(table):
        codes = np.where(absent, 0, raw).astype(np.int64)
        known = (codes >= 0) & (codes < len(table))
        raw = np.where(known, table[np.where(known, codes, 0)], 0.0)
    return np.where(absent, tree.fill[k], raw)


def _deviation(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted standard deviation; NaN without rows."""
    if len(values) == 0:
        return float("nan")
    share = weights / weights.sum()
    middle = float((share * values).sum())
    return float(np.sqrt((share * (values - middle) ** 2).sum()))
