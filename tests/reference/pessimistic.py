"""Twin of pessimistic pruning: C4.5's estimate one leaf at a time, its pruning by recursion.

A node is a dict with its number in the whole tree, its children and the rows that reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt
from statistics import NormalDist
from typing import Any

from scipy.stats import beta, binom

from reference.walk import branch

Node = dict[str, Any]
Row = tuple[Sequence[float], int, float]  # values, class, weight

TABLE = {
    0.0: 4.0,
    0.001: 3.09,
    0.005: 2.58,
    0.01: 2.33,
    0.05: 1.65,
    0.1: 1.28,
    0.2: 0.84,
    0.4: 0.25,
    1.0: 0.0,
}


def deviate(factor: float, bound: str) -> float:
    """Normal deviate that is exceeded with this probability; C4.5 has a table of a few."""
    if bound != "c45":
        return NormalDist().inv_cdf(1.0 - factor)
    low = max(value for value in TABLE if value < factor)
    high = min(value for value in TABLE if value >= factor)
    share = (factor - low) / (high - low)
    return TABLE[low] + share * (TABLE[high] - TABLE[low])


def expected(n: float, e: float, factor: float, bound: str) -> float:
    """Errors to expect in a leaf of weight n, of which e is wrong now."""
    if n == 0.0:
        return 0.0
    if bound == "exact":
        return n * float(beta.ppf(1.0 - factor, e + 1.0, n - e)) if e < n else n
    return min(e + extra(n, e, factor, bound), n)


def extra(n: float, e: float, factor: float, bound: str) -> float:
    """What C4.5 and J48 add to the errors seen."""
    if e < 1.0:
        # The rate p at which nothing is seen in n rows with this probability: (1 - p)^n.
        none = n * (1.0 - 2.0 ** (log(factor, 2) / n)) if n > 1e-3 else n
        return none + e * (extra(n, 1.0, factor, bound) - none)
    if e + 0.5 >= n:
        return 0.67 * (n - e) if bound == "c45" else max(n - e, 0.0)
    z = deviate(factor, bound)
    seen = e + 0.5
    middle = seen + z * z / 2.0
    width = z * sqrt(seen * (1.0 - seen / n) + z * z / 4.0)
    return n * (middle + width) / (n + z * z) - e


def is_limit(n: int, e: int, rate: float, factor: float) -> bool:
    """Whether at most e of n have exactly this probability at this rate."""
    return abs(float(binom.cdf(e, n, rate)) - factor) < 1e-9


def nested(tree: Any, rows: Sequence[Row], number: int = 0) -> Node:
    """The tree with the rows that reach each node."""
    first, count = int(tree.first_child[number]), int(tree.n_children[number])
    parts: list[list[Row]] = [[] for _ in range(count)]
    for row in rows:
        if count:
            parts[branch(tree, number, row[0])].append(row)
    children = [nested(tree, part, first + place) for place, part in enumerate(parts)]
    return {"number": number, "children": children, "rows": list(rows)}


def counts(node: Node, n_classes: int) -> list[float]:
    sums = [0.0] * n_classes
    for _, klass, weight in node["rows"]:
        sums[klass] += weight
    return sums


class Pruner:
    """C4.5's pruning of a tree whose questions stand in `tree`."""

    def __init__(
        self, tree: Any, factor: float, bound: str, raising: bool, per_weight: float = 1.0
    ) -> None:
        self.tree = tree
        self.factor = factor
        self.bound = bound
        self.raising = raising
        self.per_weight = per_weight  # rows that a weight of 1 counts as

    def as_leaf(self, node: Node) -> float:
        sums = [weight * self.per_weight for weight in counts(node, self.tree.n_stats)]
        return expected(sum(sums), sum(sums) - max(sums), self.factor, self.bound)

    def errors(self, node: Node) -> float:
        if not node["children"]:
            return self.as_leaf(node)
        return sum(self.errors(child) for child in node["children"])

    def sent_down(self, node: Node, rows: Sequence[Row]) -> Node:
        """The same questions, other rows."""
        parts: list[list[Row]] = [[] for _ in node["children"]]
        for row in rows:
            if parts:
                parts[branch(self.tree, node["number"], row[0])].append(row)
        children = [
            self.sent_down(child, part)
            for child, part in zip(node["children"], parts, strict=True)
        ]
        return {"number": node["number"], "children": children, "rows": list(rows)}

    def prune(self, node: Node, keep: bool = False) -> Node:
        """What stands in the place of a node; with `keep` its own split stays."""
        if not node["children"]:
            return node
        node = {**node, "children": [self.prune(child) for child in node["children"]]}
        if keep:
            return node
        weights = [sum(counts(child, self.tree.n_stats)) for child in node["children"]]
        largest = node["children"][weights.index(max(weights))]
        raised = self.sent_down(largest, node["rows"])
        limit = 0.1 + 1e-6
        as_leaf, as_tree = self.as_leaf(node), self.errors(node)
        as_branch = self.errors(raised) if self.raising else float("inf")
        if as_leaf <= as_tree + limit and as_leaf <= as_branch + limit:
            return {**node, "children": []}
        if as_branch <= as_tree + limit:
            return self.prune(raised)
        return node


def level_order(tree: Node) -> list[Node]:
    nodes = [tree]
    for node in nodes:
        nodes.extend(node["children"])
    return nodes
