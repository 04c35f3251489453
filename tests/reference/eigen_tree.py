"""Twin of 2C-ETCT, word for word after the paper: trees of nodes that send messages.

De Bruyne and Plastria, sections 2 to 6. A tree has a top node per transformation, a node has node
folds, and what the paper does is done by messages: Create, Grow, Evaluate, PruneAfterEvaluation,
SelectBestTop, Calibrate, PruneAfterCalibration, Classify. What the paper leaves open is settled as
`docs/methods/eigen_tree.md` says. Rows are dictionaries of what the paper calls a data point: the
transformed features, the class, 0 or 1, and a whole weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

Value = float


@dataclass(frozen=True)
class Point:
    """A data point after a transformation."""

    features: tuple[Value, ...]
    label: int
    weight: int = 1


@dataclass
class NodeFold:
    """What a node knows of one internal training set and its test set."""

    split: Value | None = None
    expected: int = 0
    correct: int = 0
    incorrect: int = 0


def sums(points: Sequence[Point]) -> tuple[int, int]:
    """The weight of each class."""
    return (
        sum(point.weight for point in points if point.label == 0),
        sum(point.weight for point in points if point.label == 1),
    )


def expected_class(points: Sequence[Point], parent: int) -> int:
    """The class of most points; at ties that of the parent."""
    first, second = sums(points)
    return parent if first == second else int(second > first)


def midpoint(below: Value, above: Value) -> Value:
    """Between two neighbours; the lower one where rounding leaves nothing between."""
    middle = below + (above - below) / 2
    return middle if below <= middle < above else below


def gini(left: tuple[int, int], right: tuple[int, int]) -> float:
    """The decrease of Gini impurity, but for what all cuts of a node share."""
    apart = float(left[0]) * float(right[1]) - float(left[1]) * float(right[0])
    return apart * apart / (float(sum(left)) * float(sum(right)))


def split_value(points: Sequence[Point], level: int, nothing: Value) -> Value | None:
    """The midpoint of two consecutive instances that misclassifies fewest.

    Of several such midpoints the one with the largest decrease of Gini impurity, then the
    smallest. Instances that are not further apart than `nothing` are not told apart.
    """
    ordered = sorted(points, key=lambda point: point.features[level])
    best: tuple[int, float, Value] | None = None
    for k in range(1, len(ordered)):
        below, above = ordered[k - 1].features[level], ordered[k].features[level]
        if not above - below > nothing:
            continue
        left, right = sums(ordered[:k]), sums(ordered[k:])
        found = (min(left) + min(right), -gini(left, right), midpoint(below, above))
        if best is None or found[:2] < best[:2]:
            best = found
    return None if best is None else best[2]


def divided(points: Sequence[Point], level: int, split: Value) -> tuple[list[Point], list[Point]]:
    return (
        [point for point in points if point.features[level] <= split],
        [point for point in points if not point.features[level] <= split],
    )


@dataclass
class Node:
    """A node on some level, which splits on the feature of that level."""

    level: int
    nothing: Sequence[Value]
    folds: dict[int, NodeFold] = field(default_factory=dict)
    children: tuple[Node, Node] | None = None
    split: Value | None = None
    expected: int = 0
    counts: tuple[int, int] = (0, 0)

    # --- the messages of the internal cross-validation ---------------------------------------

    def grow(self, fold: int, points: Sequence[Point], parent: int = 0) -> None:
        own = self.folds[fold] = NodeFold(expected=expected_class(points, parent))
        if min(sums(points)) == 0 or self.level == len(self.nothing):
            return
        own.split = split_value(points, self.level, self.nothing[self.level])
        if own.split is None:
            return
        if self.children is None:
            self.children = (self._below(), self._below())
        for child, part in zip(self.children, divided(points, self.level, own.split), strict=True):
            child.grow(fold, part, own.expected)

    def _below(self) -> Node:
        return Node(self.level + 1, self.nothing)

    def evaluate(self, fold: int, points: Sequence[Point]) -> None:
        own = self.folds[fold]
        own.correct = sums(points)[own.expected]
        own.incorrect = sums(points)[1 - own.expected]
        if own.split is None:
            return
        assert self.children is not None
        for child, part in zip(self.children, divided(points, self.level, own.split), strict=True):
            child.evaluate(fold, part)

    def prune_after_evaluation(self) -> None:
        if self.children is None:
            return
        for child in self.children:
            child.prune_after_evaluation()
        left, right = self.children
        common = [fold for fold in self.folds if fold in left.folds]
        mine = sum(self.folds[fold].correct for fold in common)
        theirs = sum(left.folds[fold].correct + right.folds[fold].correct for fold in common)
        if mine >= theirs:
            self.children = None
            return
        for fold in common:
            own = self.folds[fold]
            own.correct = left.folds[fold].correct + right.folds[fold].correct
            own.incorrect = left.folds[fold].incorrect + right.folds[fold].incorrect

    @property
    def power(self) -> int:
        """The correctly classified test points of all folds."""
        return sum(fold.correct for fold in self.folds.values())

    # --- the messages of the end --------------------------------------------------------------

    def calibrate(self, points: Sequence[Point]) -> None:
        # A finished tree says the first class at ties, whatever the parent says.
        self.counts = sums(points)
        self.expected = expected_class(points, 0)
        self.split = None
        if self.children is None:
            return
        if min(self.counts) > 0:
            self.split = split_value(points, self.level, self.nothing[self.level])
        if self.split is None:
            self.children = None
            return
        for child, part in zip(
            self.children, divided(points, self.level, self.split), strict=True
        ):
            child.calibrate(part)

    def prune_after_calibration(self) -> None:
        if self.children is None:
            return
        for child in self.children:
            child.prune_after_calibration()
        if all(node.expected == self.expected for node in self.offspring()):
            self.children = None

    def offspring(self) -> list[Node]:
        if self.children is None:
            return []
        return [node for child in self.children for node in [child, *child.offspring()]]

    def classify(self, features: Sequence[Value]) -> int:
        if self.children is None:
            return self.expected
        assert self.split is not None
        return self.children[int(not features[self.level] <= self.split)].classify(features)


@dataclass
class Tree:
    """A tree: the best top and the number of its transformation."""

    tops: list[Node]
    best: int

    @property
    def top(self) -> Node:
        return self.tops[self.best]

    @classmethod
    def create(
        cls,
        transformed: Sequence[Sequence[Point]],
        tests: Sequence[frozenset[int]],
        nothing: Sequence[Sequence[Value]],
    ) -> Tree:
        """Make a tree.

        `transformed` has the data points after each transformation, `tests` which points are
        the test set of each fold; all others are its training set. `nothing` has a distance per
        transformation and feature: values that are closer are the same.
        """
        tops = []
        for points, none in zip(transformed, nothing, strict=True):
            top = Node(0, none)
            for fold, test in enumerate(tests):
                top.grow(fold, [p for k, p in enumerate(points) if k not in test])
                top.evaluate(fold, [p for k, p in enumerate(points) if k in test])
            top.prune_after_evaluation()
            tops.append(top)
        tree = cls(tops, select_best_top(tops))
        tree.top.calibrate(transformed[tree.best])
        tree.top.prune_after_calibration()
        return tree


def select_best_top(tops: Sequence[Node]) -> int:
    """The first of those with most correctly classified test points."""
    power = [top.power for top in tops]
    return power.index(max(power))
