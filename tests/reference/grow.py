"""Twin of growth: a whole tree, node by node, without recursion.

A node that is still open lies in a plain list, the frontier. Depth-first growth takes the last
one, best-first growth the one with the largest gain. The finished tree is a dict of lists with
one entry per node in level order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import criteria, search

LEAF, HYPERPLANE = 0, 1


@dataclass(frozen=True)
class Rules:
    """When growth stops; the fields carry the names of ``obliqua.engine.Rules``."""

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: int = 0
    min_gain: float = 0.0
    max_leaf_error: float = 0.0
    zero_gain: bool = False
    best_first: bool = False


@dataclass(frozen=True)
class Data:
    """The rows to learn from; weights are integer multiples of ``unit``."""

    X: NDArray[np.floating]
    y: list[int]
    weights: list[int]
    n_classes: int
    unit: float = 1.0


@dataclass(frozen=True)
class Node:
    """What a proposer of the twin is shown."""

    X: NDArray[np.floating]
    y: NDArray[np.int64]
    sample_weight: NDArray[np.float64]
    counts: NDArray[np.float64]
    depth: int


Propose = Callable[[Node], list[search.Direction]]

# a node's path from the root: "" is the root, "L" its left child. Sorting paths as strings is
# path order, because "L" < "R" and because open nodes never lie above one another.
Path = str


@dataclass
class _Grown:
    rows: list[int]
    sums: list[int]
    gain: float = 0.0
    split: search.Split | None = None


@dataclass
class _Growth:
    data: Data
    rules: Rules
    score: search.Score
    propose: Propose
    nodes: dict[Path, _Grown] = field(default_factory=dict)

    def open(self, path: Path, rows: list[int]) -> None:
        """Create a node and find its split, if the rules let it have one."""
        sums = [0] * self.data.n_classes
        for i in rows:
            sums[self.data.y[i]] += self.data.weights[i]
        node = _Grown(rows, sums)
        self.nodes[path] = node
        if self._is_leaf_without_search(path, node):
            return
        split = self._search(path, node)
        if split is None:
            return
        gain = (float(sum(sums)) / float(sum(self.data.weights))) * split.goodness
        if gain >= self.rules.min_gain:
            node.gain, node.split = gain, split

    def _is_leaf_without_search(self, path: Path, node: _Grown) -> bool:
        weight = sum(node.sums)
        wrong = criteria.minority(node.sums)
        return (
            wrong == 0
            or len(node.rows) < self.rules.min_samples_split
            or len(path) == self.rules.max_depth
            or len(node.rows) < 2 * self.rules.min_samples_leaf
            or weight < 2 * self.rules.min_weight_leaf
            or float(wrong) / float(weight) <= self.rules.max_leaf_error
        )

    def _search(self, path: Path, node: _Grown) -> search.Split | None:
        X = self.data.X[node.rows]
        y = [self.data.y[i] for i in node.rows]
        weights = [self.data.weights[i] for i in node.rows]
        shown = Node(
            X,
            np.array(y, dtype=np.int64),
            np.array(weights, dtype=np.float64) * self.data.unit,
            np.array(node.sums, dtype=np.float64) * self.data.unit,
            len(path),
        )
        limits = search.Limits(
            self.rules.min_samples_leaf, self.rules.min_weight_leaf, self.rules.zero_gain
        )
        candidates = self.propose(shown)
        return search.best_split(
            X, y, weights, self.data.n_classes, candidates, self.score, limits
        )

    def next_path(self, frontier: list[Path]) -> Path:
        """Take the node to be split next out of the frontier."""
        if not self.rules.best_first:
            return frontier.pop()
        best = min(frontier, key=lambda path: (-self.nodes[path].gain, path))
        frontier.remove(best)
        return best


def grow(
    data: Data,
    criterion: int | Callable[..., float],
    rules: Rules | None = None,
    propose: Propose | None = None,
) -> dict[str, Any]:
    """Grow a tree; ``propose`` gives a node's directions in order (default: its columns)."""
    rules = Rules() if rules is None else rules
    columns = search.axes(data.X.shape[1])
    growth = _Growth(
        data,
        rules,
        search.score_function(criterion, data.unit),
        (lambda node: columns) if propose is None else propose,
    )
    growth.open("", list(range(len(data.y))))
    frontier = [""] if growth.nodes[""].split is not None else []
    n_leaves = 1
    divided: set[Path] = set()
    while frontier and n_leaves != rules.max_leaf_nodes:
        path = growth.next_path(frontier)
        node = growth.nodes[path]
        assert node.split is not None
        divided.add(path)
        for side, goes in (("R", ~node.split.left), ("L", node.split.left)):
            rows = [i for i, here in zip(node.rows, goes, strict=True) if here]
            growth.open(path + side, rows)
            if growth.nodes[path + side].split is not None:
                frontier.append(path + side)
        n_leaves += 1
    return _finish(growth, divided)


def _level_order(divided: set[Path]) -> list[Path]:
    """Paths of all nodes, breadth first; children stand next to each other."""
    order = [""]
    for path in order:  # the list grows while it is read
        if path in divided:
            order += [path + "L", path + "R"]
    return order


def _finish(growth: _Growth, divided: set[Path]) -> dict[str, Any]:
    order = _level_order(divided)
    number = {path: i for i, path in enumerate(order)}
    tree: dict[str, Any] = {
        "kind": [],
        "first_child": [],
        "idx": [],
        "coef": [],
        "threshold": [],
        "direction": [],
        "stats": [],
        "n_samples": [],
        "gain": [],
        "rows": [],
        "depth": [],
    }
    for path in order:
        node = growth.nodes[path]
        split = node.split if path in divided else None
        tree["kind"].append(LEAF if split is None else HYPERPLANE)
        tree["first_child"].append(-1 if split is None else number[path + "L"])
        tree["idx"].append(() if split is None else split.idx)
        tree["coef"].append(() if split is None else split.coef)
        tree["threshold"].append(None if split is None else split.threshold)
        tree["direction"].append(None if split is None else split.direction)
        tree["gain"].append(0.0 if split is None else node.gain)
        tree["stats"].append([float(s) * growth.data.unit for s in node.sums])
        tree["n_samples"].append(len(node.rows))
        tree["rows"].append(sorted(node.rows))
        tree["depth"].append(len(path))
    return tree


def leaf_of_rows(tree: dict[str, Any], n_rows: int) -> list[int]:
    """Number of the leaf that counted each training row."""
    leaf = [-1] * n_rows
    for number, rows in enumerate(tree["rows"]):
        if tree["kind"][number] == LEAF:
            for i in rows:
                leaf[i] = number
    return leaf


def leaves(tree: dict[str, Any]) -> Sequence[int]:
    """Numbers of the leaves in level order."""
    return [i for i, kind in enumerate(tree["kind"]) if kind == LEAF]
