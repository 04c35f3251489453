"""Twin of pruning where numbers are learnt: everything is computed anew at each step.

Trees are nested dicts, as in `reference.prune`. What a row would cost at each node, its squared
error there, is given: `costs[row][node]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import lines
from reference.prune import Node, all_cuts, cut, leaves, nodes

Floats = NDArray[np.float64]

ROUNDING = 2.0**-40


def nested(tree: Any, number: int = 0) -> Node:
    """A tree with the risk of each node, and the nodes of the whole tree below it."""
    first, count = int(tree.first_child[number]), int(tree.n_children[number])
    children = [nested(tree, child) for child in range(first, first + count)]
    return {
        "number": number,
        "risk": float(tree.stats[number, -1]),
        "children": children,
        "under": {number}.union(*(child["under"] for child in children)),
    }


def sequence(tree: Node, weight: float, prune_root: bool) -> list[tuple[float, Node]]:
    """Price per leaf and weight, and tree of each step; equal links go together."""
    slack = ROUNDING * tree["risk"] / weight
    steps = [(0.0, tree)]
    while True:
        links = {}
        for node in nodes(tree):
            if node["children"] and (prune_root or node["number"]):
                below = leaves(node)
                saved = node["risk"] - sum(leaf["risk"] for leaf in below)
                links[node["number"]] = max(saved / (len(below) - 1) / weight, 0.0)
        if not links:
            return steps
        weakest = min(links.values())
        tree = cut(tree, {number for number, g in links.items() if g <= weakest + slack})
        if len(steps) > 1 and weakest <= steps[-1][0] + slack:
            steps[-1] = (steps[-1][0], tree)  # at the same price still more goes
        else:
            steps.append((weakest, tree))


def costs(tree: Any, Z: Floats, y: Floats) -> list[dict[int, float]]:
    """The squared error of each row at the nodes on its way."""
    found = []
    for row, leaf in enumerate(tree.apply(Z).tolist()):
        here = {}
        for node in lines.path(tree, leaf):
            said = [lines.value(tree, node, Z[row])] if tree.has_lines else tree.mean[node]
            here[node] = float(((y[row] - said) ** 2).sum())
        found.append(here)
    return found


def row_errors(tree: Node, rows: Sequence[dict[int, float]]) -> Floats:
    """The squared error of each row in a tree that was cut."""
    ends = [leaf["number"] for leaf in leaves(tree)]
    return np.array([next(row[end] for end in ends if end in row) for row in rows])


def chosen(errors: Sequence[Floats], weights: Floats, row_unit: float, n_se: float) -> int:
    """The last step that errs least, or whose difference to that is small for its deviation."""
    sums = [float((weights * one).sum()) for one in errors]
    best = max(k for k, s in enumerate(sums) if s <= min(sums) + ROUNDING * max(sums))
    if n_se <= 0:
        return best
    n = float(weights.sum()) * row_unit
    for step in range(len(errors) - 1, best, -1):
        more = errors[step] - errors[best]
        mean = float(np.average(more, weights=weights))
        variance = float(np.average((more - mean) ** 2, weights=weights))
        if mean <= n_se * sqrt(variance / n):
            return step
    return best


def reduced_error(
    tree: Node, rows: Sequence[dict[int, float]], weights: Floats, prune_root: bool
) -> Node:
    """The smallest of all cut trees with the least squared error."""
    allowed = [one for one in all_cuts(tree) if prune_root or one["children"]] or [tree]
    errors = [float((weights * row_errors(one, rows)).sum()) for one in allowed]
    slack = ROUNDING * sum(w * row[0] for w, row in zip(weights, rows, strict=True))
    good = [
        one for one, error in zip(allowed, errors, strict=True) if error <= min(errors) + slack
    ]
    return min(good, key=lambda one: len(leaves(one)))
