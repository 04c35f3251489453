"""Where the boxes of a tree stand: no two of them overlap, parents stand above the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DrawnNode:
    """A node of the picture.

    Parameters
    ----------
    node : int
        Its number in the tree.
    children : tuple of int
        Its children, as positions in the list of shown nodes; they stand after it.
    depth : int
        The number of nodes above it.
    hidden : int
        If what is below it is not shown, the number of leaves there; else 0.
    """

    node: int
    children: tuple[int, ...]
    depth: int
    hidden: int = 0


def tidy(shown: Sequence[DrawnNode], breadth: Sequence[float], gap: float) -> list[float]:
    """Place nodes side by side.

    Subtrees are moved together as far as the boxes of each level allow, and a parent stands in
    the middle of its first and its last child.
    """
    n = len(shown)
    offset = [0.0] * n  # of a node from its parent's middle
    # For each subtree, the span of each level below its root, relative to the root's middle.
    spans: list[list[tuple[float, float]]] = [[] for _ in range(n)]
    for i in range(n - 1, -1, -1):
        children = shown[i].children
        places: list[float] = []
        merged: list[tuple[float, float]] = []
        for child in children:
            own = spans[child]
            common = list(zip(merged, own, strict=False))
            place = max((done[1] - new[0] + gap for done, new in common), default=0.0)
            places.append(place)
            moved = [(low + place, high + place) for low, high in own]
            merged = [(done[0], new[1]) for done, new in zip(merged, moved, strict=False)] + max(
                merged, moved, key=len
            )[len(common) :]
            spans[child] = []
        middle = (places[0] + places[-1]) / 2 if places else 0.0
        for child, place in zip(children, places, strict=True):
            offset[child] = place - middle
        half = breadth[i] / 2
        spans[i] = [(-half, half), *((low - middle, high - middle) for low, high in merged)]
    start = -min(low for low, _ in spans[0])
    middles = [start] * n
    for i in range(n):
        for child in shown[i].children:
            middles[child] = middles[i] + offset[child]
    return middles
