"""Twin of SADT: one hyperplane per node, moved by simulated annealing.

The values of the rows are added to, move by move, and computed afresh after every 256 moves that
were kept, as the engine promises. So the two must agree to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from reference.search import round24

FloatArray = NDArray[np.float64]
Goodness = Callable[[Sequence[int], Sequence[int]], float]

MOVES_BETWEEN_SUMS = 256
MOST_CLASSES = 12
TIE = 1e-12
GOLDEN = 0x9E3779B97F4A7C15
WORD = 2**64 - 1


def scramble(x: int) -> int:
    """The finalizer of splitmix64."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & WORD
    return x ^ (x >> 31)


class Stream:
    """The random numbers of a task of a node."""

    def __init__(self, key: int, task: int) -> None:
        self.state = scramble((key + GOLDEN * (task + 1)) & WORD)

    def word(self) -> int:
        self.state = (self.state + GOLDEN) & WORD
        return scramble(self.state)

    def uniform(self) -> float:
        return (self.word() >> 11) / 2**53


@dataclass(frozen=True)
class Schedule:
    """How to anneal."""

    moves: str = "one"
    temperature: float = 0.03
    cooling: float = 0.9999
    patience: int = 10000


@dataclass
class Node:
    """A node's rows, and what a split of them is worth."""

    X: FloatArray
    y: NDArray[np.int64]
    weights: NDArray[np.int64]
    n_classes: int
    goodness: Goodness
    convex: bool = True
    min_rows: int = 1
    min_weight: int = 0
    low: FloatArray = field(init=False)
    width: FloatArray = field(init=False)
    doubled: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.low, high = self.X.min(axis=0), self.X.max(axis=0)
        with np.errstate(over="ignore"):
            self.doubled = np.isinf(high - self.low)
        half = np.where(self.doubled, 0.5, 1.0)
        self.width = high * half - self.low * half

    def scaled(self, k: int) -> FloatArray:
        """A feature between 0 and 1."""
        half = 0.5 if self.doubled[k] else 1.0
        return np.asarray((self.X[:, k] * half - self.low[k] * half) / self.width[k])

    def sums(self, rows: NDArray[np.bool_]) -> list[int]:
        return [int(self.weights[rows & (self.y == c)].sum()) for c in range(self.n_classes)]

    def score(self, v: FloatArray) -> float | None:
        """What the hyperplane is worth; None where a side is too small."""
        right = v > 0.0
        for side in (right, ~right):
            if side.sum() < self.min_rows or self.weights[side].sum() < self.min_weight:
                return None
        return self.goodness(self.sums(right), self.sums(~right))

    def top(self) -> float:
        """The best that a split can be: whole classes on each side."""
        present = np.unique(self.y).tolist()
        if not self.convex or len(present) > MOST_CLASSES:
            return math.inf
        best = 0.0
        for sides in product((False, True), repeat=len(present) - 1):
            if any(sides):
                chosen = [c for c, side in zip(present, sides, strict=False) if side]
                rows = np.isin(self.y, chosen)
                best = max(best, self.goodness(self.sums(rows), self.sums(~rows)))
        return best


@dataclass
class Annealed:
    """Where the annealing ended."""

    normal: list[float]
    constant: float
    goodness: float | None
    n_tried: int
    started: float | None


def anneal(node: Node, schedule: Schedule, key: int) -> Annealed | None:
    """The best hyperplane on the way; None if fewer than two features vary."""
    vary = [k for k in range(node.X.shape[1]) if node.width[k] > 0]
    if len(vary) < 2:
        return None
    Z = [node.scaled(k) for k in vary]

    def values(a: list[float]) -> FloatArray:
        v = np.full(len(node.y), a[-1])
        for factor, z in zip(a, Z, strict=False):
            if factor != 0.0:
                v = v + factor * z
        return v

    stream = Stream(key, 0)
    a = [1.0] * len(vary) + [-1.0]
    v = values(a)
    score = started = node.score(v)
    n_tried = 1
    if score is None:  # all rows are beyond it: the middle of the values instead
        a[-1] -= float(v.min() + (v.max() - v.min()) / 2)
        v = values(a)
        score = started = node.score(v)
        n_tried = 2
    best, best_score = list(a), score
    idle, accepted = 0, 0
    heat, top = schedule.temperature, node.top()

    def reached(score: float | None) -> bool:
        return score is not None and score + TIE * abs(score) >= top

    while idle < schedule.patience and not reached(best_score):
        idle += 1
        n_tried += 1
        change = [0.0] * len(a)
        if schedule.moves == "all":
            change = [stream.uniform() - 0.5 for _ in a]
        else:
            k = stream.word() % len(a)
            change[k] = stream.uniform() - 0.5
        moved = v
        for delta, z in zip(change, [*Z, np.ones(len(v))], strict=True):
            if delta != 0.0:
                moved = moved + delta * z
        new = node.score(moved)
        loss = (score or 0.0) - (new or 0.0)
        chance = stream.uniform()
        kept = loss <= 0.0 or (heat > 0.0 and chance < math.exp(-loss / heat))
        heat *= schedule.cooling
        if not kept:
            continue
        a = [old + delta for old, delta in zip(a, change, strict=True)]
        v, score = moved, new
        accepted += 1
        if new is not None and (best_score is None or new > best_score + TIE * abs(best_score)):
            best, best_score, idle = list(a), new, 0
        if accepted % MOVES_BETWEEN_SUMS == 0:
            v = values(a)
            score = node.score(v)
    return Annealed(_normal(node, vary, best), best[-1], best_score, n_tried, started)


def _normal(node: Node, vary: list[int], a: list[float]) -> list[float]:
    """The normal in units of the features, times a power of two, to 24 bits."""
    exponents = {k: math.frexp(node.width[k])[1] + int(node.doubled[k]) for k in vary}
    middle = int((min(exponents.values()) + max(exponents.values())) / 2)
    normal = [0.0] * node.X.shape[1]
    for k, factor in zip(vary, a, strict=False):
        with np.errstate(all="ignore"):  # widths that no two numbers can compare
            width = np.ldexp(node.width[k], int(node.doubled[k]) - middle)
            normal[k] = round24(float(factor / width)) if width > 0.0 else 0.0
    return normal
