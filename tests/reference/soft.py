"""Trees that add up, the slow and obvious way: square errors of all cuts, one after another."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

Node = dict[str, Any]


def square_error(values: np.ndarray) -> float:
    """The sum of squares of what a leaf with the mean of the rows would leave over."""
    return float(((values - values.mean(axis=0)) ** 2).sum()) if len(values) else 0.0


def best_cut(X: np.ndarray, values: np.ndarray) -> tuple[float, int, float]:
    """By how much the best cut reduces the square error, its column and its threshold."""
    best = (0.0, -1, 0.0)
    whole = square_error(values)
    for column in range(X.shape[1]):
        numbers = np.unique(X[:, column])
        for low, high in pairwise(numbers.tolist()):
            threshold = (low + high) / 2
            left = X[:, column] <= threshold
            gain = whole - square_error(values[left]) - square_error(values[~left])
            if gain > best[0] + 1e-9:
                best = (gain, column, threshold)
    return best


def grow(X: np.ndarray, values: np.ndarray, max_leaves: int) -> Node:
    """Grow a tree of means, the leaf that gains most first."""
    root: Node = {"rows": np.arange(len(X))}
    leaves = [root]
    while len(leaves) < max_leaves:
        cuts = [best_cut(X[leaf["rows"]], values[leaf["rows"]]) for leaf in leaves]
        place = int(np.argmax([cut[0] for cut in cuts]))
        if cuts[place][1] < 0:
            break
        leaf = leaves.pop(place)
        _, leaf["column"], leaf["threshold"] = cuts[place]
        left = X[leaf["rows"], leaf["column"]] <= leaf["threshold"]
        leaf["children"] = [{"rows": leaf["rows"][left]}, {"rows": leaf["rows"][~left]}]
        leaves += leaf["children"]
    for leaf in leaves:
        leaf["value"] = values[leaf["rows"]].mean(axis=0)
    return root


def answer(node: Node, row: np.ndarray) -> np.ndarray:
    """What a tree says of a row."""
    while "children" in node:
        node = node["children"][int(row[node["column"]] > node["threshold"])]
    value: np.ndarray = node["value"]
    return value


def residual_trees(X: np.ndarray, shares: np.ndarray, sizes: list[int]) -> list[Node]:
    """Trees with so many leaves each, grown from what is left over."""
    trees, rest = [], shares
    for most in sizes:
        tree = grow(X, rest, most)
        rest = rest - np.array([answer(tree, row) for row in X])
        trees.append(tree)
    return trees
