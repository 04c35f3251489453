"""Boxes of a level never overlap, and a parent stands in the middle of its children."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from obliqua.plot.tree import DrawnNode, tidy

GAP = 0.25


def random_tree(seed: int) -> tuple[list[DrawnNode], list[float]]:
    """Nodes in level order, with two to four children each."""
    rng = np.random.default_rng(seed)
    children: list[tuple[int, ...]] = []
    depths, node = [0], 0
    while node < len(depths):
        n = (
            int(rng.integers(2, 5))
            if len(depths) < 40 and (node == 0 or rng.random() < 0.6)
            else 0
        )
        children.append(tuple(range(len(depths), len(depths) + n)))
        depths += [depths[node] + 1] * n
        node += 1
    shown = [DrawnNode(k, children[k], depths[k]) for k in range(len(depths))]
    return shown, rng.uniform(0.5, 3.0, len(shown)).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_boxes_of_a_level_keep_apart(seed: int) -> None:
    shown, breadth = random_tree(seed)
    middles = tidy(shown, breadth, GAP)
    half = np.array(breadth) / 2
    assert min(m - h for m, h in zip(middles, half, strict=True)) == pytest.approx(0.0)
    for depth in range(max(node.depth for node in shown) + 1):
        level = [k for k, node in enumerate(shown) if node.depth == depth]
        for first, second in itertools.pairwise(level):
            gap = middles[second] - half[second] - middles[first] - half[first]
            assert gap >= GAP - 1e-9
    for k, node in enumerate(shown):
        if node.children:
            ends = middles[node.children[0]], middles[node.children[-1]]
            assert middles[k] == pytest.approx(sum(ends) / 2)


def test_a_subtree_uses_the_room_beside_a_leaf() -> None:
    """Levels are packed one by one: a deep subtree reaches below a shallow neighbour."""
    shown = [
        DrawnNode(0, (1, 2), 0),
        DrawnNode(1, (), 1),
        DrawnNode(2, (3, 4), 1),
        DrawnNode(3, (), 2),
        DrawnNode(4, (), 2),
    ]
    middles = tidy(shown, [1.0] * 5, 0.0)
    assert middles[2] - middles[1] == pytest.approx(1.0)
    assert middles[3] < middles[2]
    assert max(middles) - min(middles) == pytest.approx(1.5)
