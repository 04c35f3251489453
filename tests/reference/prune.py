"""Twin of pruning, from the book's definitions: everything is computed anew at each step.

A tree is nested dicts; sums and links are fractions, so equal links are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import sqrt
from typing import Any

Node = dict[str, Any]
Row = tuple[int, int, int]  # leaf of the whole tree that it reaches, class, weight


def nested(tree: Any, number: int = 0) -> Node:
    """A tree as nested dicts; `under` holds the leaves of the whole tree below a node."""
    first, count = int(tree.first_child[number]), int(tree.n_children[number])
    children = [nested(tree, child) for child in range(first, first + count)]
    under = {number}.union(*(child["under"] for child in children)) if children else {number}
    return {
        "number": number,
        "counts": [Fraction(count) for count in tree.stats[number].tolist()],
        "costs": costs_of(tree),
        "children": children,
        "under": under,
    }


def costs_of(tree: Any) -> list[list[Fraction]]:
    """What it costs to say a class of a row of another one: 1, if a tree says nothing else."""
    if tree.costs:
        return [[Fraction(cost) for cost in row] for row in tree.costs]
    n = tree.stats.shape[1]
    return [[Fraction(int(true != said)) for said in range(n)] for true in range(n)]


def nodes(tree: Node) -> Iterator[Node]:
    """All nodes, from the top."""
    yield tree
    for child in tree["children"]:
        yield from nodes(child)


def leaves(tree: Node) -> list[Node]:
    return [node for node in nodes(tree) if not node["children"]]


def expected_costs(node: Node) -> list[Fraction]:
    """What the training rows of a node cost, for each class that it might say."""
    counts, costs = node["counts"], node["costs"]
    return [
        sum((n * row[said] for n, row in zip(counts, costs, strict=True)), Fraction(0))
        for said in range(len(counts))
    ]


def label(node: Node) -> int:
    """The class that costs least, the first of them at ties."""
    found = expected_costs(node)
    return found.index(min(found))


def risk(node: Node) -> Fraction:
    """What the training rows of a node cost if it is a leaf."""
    return min(expected_costs(node))


def subtree_risk(node: Node) -> Fraction:
    return sum((risk(leaf) for leaf in leaves(node)), Fraction(0))


def link(node: Node) -> Fraction:
    """What each extra leaf below a node saves."""
    return (risk(node) - subtree_risk(node)) / (len(leaves(node)) - 1)


def cut(tree: Node, numbers: set[int]) -> Node:
    """The tree in which these nodes are leaves."""
    if tree["number"] in numbers:
        return {**tree, "children": []}
    return {**tree, "children": [cut(child, numbers) for child in tree["children"]]}


def sequence(tree: Node, prune_root: bool) -> list[tuple[Fraction, Node]]:
    """Price per leaf, as a share of the weight, and tree of each step."""
    total = sum(tree["counts"], Fraction(0)) or Fraction(1)
    steps = [(Fraction(0), tree)]
    while True:
        inner = [node for node in nodes(tree) if node["children"]]
        links = {node["number"]: link(node) for node in inner if prune_root or node["number"]}
        if not links:
            return steps
        weakest = min(links.values())
        tree = cut(tree, {number for number, g in links.items() if g == weakest})
        steps.append((weakest / total, tree))


def errors(tree: Node, rows: Sequence[Row]) -> Fraction:
    """What rows cost with a tree: the weight of those that it misclassifies, without costs."""
    wrong = Fraction(0)
    for reached, klass, weight in rows:
        (leaf,) = (leaf for leaf in leaves(tree) if reached in leaf["under"])
        wrong += weight * leaf["costs"][klass][label(leaf)]
    return wrong


def chosen(wrong: Sequence[Fraction], total: int, unit: float, n_se: float) -> int:
    """The last step within `n_se` standard errors of the fewest errors."""
    fewest = Fraction(min(wrong)) * Fraction(unit)
    weight = Fraction(total) * Fraction(unit)
    rate = fewest / weight
    squared = Fraction(n_se) ** 2 * rate * (1 - rate) * weight
    good = [
        step
        for step, found in enumerate(wrong)
        if (Fraction(found) * Fraction(unit) - fewest) ** 2 <= squared
    ]
    return good[-1]


def step_at(steps: Sequence[tuple[Fraction, Node]], price: float) -> int:
    """The best step at a price: the last one that does not cost more."""
    return max(step for step, (alpha, _) in enumerate(steps) if float(alpha) <= price)


def middle_prices(steps: Sequence[tuple[Fraction, Node]]) -> list[float]:
    """The geometric middle of each step's prices; the last step has no upper end."""
    alphas = [float(alpha) for alpha, _ in steps]
    return [sqrt(low) * sqrt(high) for low, high in pairwise(alphas)] + [float("inf")]


def all_cuts(tree: Node) -> Iterator[Node]:
    """Every tree that cutting can give."""
    yield {**tree, "children": []}
    if tree["children"]:
        for children in product(*(list(all_cuts(child)) for child in tree["children"])):
            yield {**tree, "children": list(children)}


def reduced_error(tree: Node, rows: Sequence[Row], prune_root: bool) -> Node:
    """The smallest of all cut trees with the fewest errors."""
    allowed = [one for one in all_cuts(tree) if prune_root or one["children"]] or [tree]
    return min(allowed, key=lambda one: (errors(one, rows), len(leaves(one))))


# --- divisions ------------------------------------------------------------------------------


Part = tuple[int, int]  # the hash of a group of equal rows, and a weight


def scrambled(x: int) -> int:
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x


def parts(
    hashes: Sequence[int], weights: Sequence[int], counts: Sequence[int] | None, most: int
) -> list[Part]:
    """Equal rows as parts of equal weight, in a random order that the hashes say."""
    sums: dict[int, int] = {}
    count: dict[int, int] = {}
    for number, weight in zip(hashes, weights, strict=True):
        sums[number] = sums.get(number, 0) + weight
    for number, rows in zip(hashes, counts or [], strict=counts is not None):
        count[number] = count.get(number, 0) + rows
    if counts is None or sum(count.values()) > most:
        count = dict.fromkeys(sums, 1)
    placed = []
    for number, n in count.items():
        for k in range(n):
            key = scrambled((number + 0x9E3779B97F4A7C15 * (k + 1)) % 2**64) if k else number
            placed.append((key, number, sums[number] // n))
    return [(number, size) for _, number, size in sorted(placed, key=lambda part: part[0])]


def hold_out(divisible: Sequence[Part], fraction: float) -> dict[tuple[int, int], int]:
    """Take one part after another if that leads nearer to the fraction of the weight."""
    target = fraction * sum(size for _, size in divisible)
    held = []
    weight = 0
    for _, size in divisible:
        held.append(abs(weight + size - target) < abs(weight - target))
        weight += size * held[-1]
    if all(held):
        held[-1] = False
    return _weights(divisible, [int(out) for out in held])


def folds(divisible: Sequence[Part], n_folds: int) -> dict[tuple[int, int], int]:
    """The fold in which the middle of each part lies, laid end to end.

    One that lies between two folds, or before that by a millionth, is in the later one.
    """
    number, begin, total = [], 0, sum(size for _, size in divisible)
    for _, size in divisible:
        middle = (begin + size / 2) / total + 2.0**-20
        number.append(min(int(middle * n_folds), n_folds - 1))
        begin += size
    return _weights(divisible, number)


def _weights(divisible: Sequence[Part], labels: Sequence[int]) -> dict[tuple[int, int], int]:
    """The weight of each group with each label."""
    found: dict[tuple[int, int], int] = {}
    for (number, size), label in zip(divisible, labels, strict=True):
        found[number, label] = found.get((number, label), 0) + size
    return found


def fold_errors(
    steps: Sequence[tuple[Fraction, Node]],
    number: Sequence[int],
    grown: Callable[[int], tuple[Sequence[tuple[Fraction, Node]], Sequence[Row]]],
) -> list[Fraction]:
    """Errors of each step's price: `grown` gives a fold's sequence and its held-out rows."""
    wrong = [Fraction(0)] * len(steps)
    for fold in sorted(set(number)):
        others, rows = grown(fold)
        for step, price in enumerate(middle_prices(steps)):
            wrong[step] += errors(others[step_at(others, price)][1], rows)
    return wrong
