"""What leaves say of the classes: frequencies, or something nearer to probabilities.

A refined tree has few, crowded leaves, but some leaves are small, and the rows in them were used
to draw the borders around them. So their frequencies are too sure of themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from obliqua.data.problem import Problem
from obliqua.tree.tree import Tree

__all__ = ["STRENGTHS", "best_strength", "smoothed"]

_LEAST_SHARE = 1e-9
_EQUAL = 1e-12  # losses that differ by a smaller share

#: Strengths among which calibration chooses: as how many rows the node above counts.
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


def smoothed(tree: Tree, strength: float, row_unit: float = 1.0) -> Tree:
    """Draw the shares of each leaf to those of the node above it, and these to the next.

    With strength m, a node of n rows has the shares (n f + m s) / (n + m), where f are its
    frequencies and s the shares of its parent. The root has m rows with equal shares of all
    classes.
    """
    if strength == 0.0:
        return tree
    n_classes = tree.n_stats
    weight = tree.stats.sum(axis=1)
    counts = tree.stats * row_unit
    shares = np.empty_like(counts)
    for node in range(tree.n_nodes):  # parents stand before their children
        above = shares[tree.parent[node]] if node else np.full(n_classes, 1.0 / n_classes)
        shares[node] = (counts[node] + strength * above) / (counts[node].sum() + strength)
    stats = np.where(tree.is_leaf[:, None], shares * weight[:, None], 0.0)
    for node in range(tree.n_nodes - 1, 0, -1):
        stats[tree.parent[node]] += stats[node]
    return replace(tree, stats=stats)


def best_strength(
    grow: Callable[[Problem], Tree],
    parts: Iterable[tuple[Problem, Problem]],
    row_unit: float = 1.0,
) -> float:
    """Choose the strength of smoothing by log loss on rows that trees were not grown from."""
    losses = np.zeros(len(STRENGTHS))
    for train, test in parts:
        tree = grow(train)
        leaf = tree.apply(test.Z)
        weights = np.ones(test.n_rows) if test.weights is None else test.weights * test.unit
        for k, strength in enumerate(STRENGTHS):
            shares = smoothed(tree, strength, row_unit).proportion[leaf, test.y]
            # A share of 0 for what happens would cost infinitely much: no row costs more than
            # this.
            losses[k] -= (weights * np.log(np.maximum(shares, _LEAST_SHARE))).sum()
    # The last digits of a logarithm depend on the processor: they tell nobody apart.
    return STRENGTHS[int(np.argmax(losses <= losses.min() * (1.0 + _EQUAL)))]
