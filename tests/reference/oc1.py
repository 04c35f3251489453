"""OC1's climb, slowly: every change is tried at every place, and counted row by row.

The hyperplane is ``a[:-1] @ z + a[-1]`` over coordinates z that are nowhere negative, and a row is
on its right side where that is above 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

TIE = 1e-12
NO_MOVE = 1e-9
NO_GAIN = 1e-12
MASK = 2**64 - 1


class Stream:
    """The random numbers of one start of a node (splitmix64)."""

    def __init__(self, key: int, task: int) -> None:
        self.state = self.scramble(key + 0x9E3779B97F4A7C15 * (task + 1))

    @staticmethod
    def scramble(x: int) -> int:
        x &= MASK
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
        return x ^ (x >> 31)

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        return self.scramble(self.state)

    def uniform(self) -> float:
        return (self.bits() >> 11) / 2**53


def power_of_two(x: float) -> float:
    if not 0 < x < math.inf:
        return 1.0
    return 2.0 ** math.frexp(x)[1]


class SlowClimb:
    """One node, and a hyperplane that climbs there."""

    def __init__(self, z: Any, y: Any, weight: Any, criterion: Any, **settings: Any) -> None:
        self.z, self.y, self.weight = z, y, weight
        self.counts = np.bincount(y, weights=weight).astype(np.int64)
        self.criterion = criterion
        self.n_jumps = settings.get("n_jumps", 5)
        self.order = settings.get("order", "sequential")
        self.stagnation = settings.get("stagnation", "program")
        self.constant = settings.get("perturb_constant", False)
        self.n_picks = settings.get("n_picks") or 10 * (z.shape[1] + 1)
        self.min_rows = settings.get("min_rows", 1)
        self.reach = np.array([self.mean_size(column) for column in z.T])
        self.tried = 0
        self.trail: list[tuple[Any, float]] = []
        self.top = self.best_division()

    def best_division(self) -> float:
        """The best that a split can do, if the criterion is convex: whole classes on a side."""
        if not self.criterion.convex:
            return math.inf
        classes = np.flatnonzero(self.counts)
        best = 0.0
        for chosen in range(1, 2 ** (len(classes) - 1)):
            right = np.zeros_like(self.counts)
            for bit, c in enumerate(classes):
                right[c] = self.counts[c] if chosen >> bit & 1 else 0
            best = max(best, float(self.criterion.goodness(right, self.counts - right)))
        return best

    def goodness(self, right: Any) -> Any:
        """Of divisions of the rows, one per line; -1 if a side is too small."""
        heavy = self.weight[:, None] * (self.y[:, None] == np.arange(len(self.counts)))
        sums = (right @ heavy).astype(np.int64)
        small = np.minimum(right.sum(axis=1), (~right).sum(axis=1)) < self.min_rows
        return np.where(small, -1.0, self.criterion.goodness(sums, self.counts - sums))

    def mean_size(self, values: Any) -> float:
        """The geometric mean of |values|, as a power of two; 0 if all are."""
        there = values != 0
        if not there.any():
            return 0.0
        exponents = np.frexp(values[there])[1].astype(int) - 1
        weights = self.weight[there].astype(int)
        return 2.0 ** int((exponents * weights).sum() // weights.sum())

    def place(self, a: Any) -> None:
        """Put the hyperplane somewhere."""
        self.a = a
        self.v = np.full(len(self.y), a[-1])
        for k in range(self.z.shape[1]):
            if a[k] != 0:
                self.v += a[k] * self.z[:, k]
        self.size = self.mean_size(self.v)
        self.score = float(self.goodness(self.v[None, :] > 0)[0])

    def best_along(self, w: Any, scale: float) -> tuple[float, float] | None:
        """The best place along v + d w: (d, score), if it is as good as this one."""
        self.tried += 1
        reach = np.abs(w)
        q = np.abs(self.v) + scale * reach
        t = np.where(q > 0, -self.v / np.where(q > 0, q, 1), 1.0)
        t = np.where(w < 0, -t, t)
        ends = [] if (w >= 0).all() else [-1.0, 1.0]
        around = np.sort(np.concatenate([t, ends]))
        gaps = np.flatnonzero(np.diff(around) > TIE)
        if len(gaps) == 0:
            return None
        below, above = around[gaps, None], around[gaps + 1, None]
        scores = self.goodness(np.where(w < 0, t >= above, t <= below))
        k = int(np.argmax(scores))  # the first of equals
        score, below, above = float(scores[k]), float(below[k, 0]), float(above[k, 0])
        if score < max(self.score, 0.0):
            return None
        if abs(below) < 1 and abs(above) < 1:
            low, high = below / (1 - abs(below)), above / (1 - abs(above))
            middle = low + (high - low) / 2
            middle = middle if low <= middle < high else low
        else:
            middle = (below + above) / 2
            middle = middle / (1 - abs(middle))
        return scale * middle, score

    def turn(self, k: int) -> tuple[float, float] | None:
        """The best value of one coefficient."""
        if k == self.z.shape[1]:
            return self.best_along(np.ones(len(self.y)), power_of_two(self.size))
        if self.reach[k] == 0:
            return None
        return self.best_along(self.z[:, k], power_of_two(self.size / self.reach[k]))

    def gains(self, score: float) -> bool:
        return score > self.score + NO_GAIN * abs(self.score)

    def accepts(self, score: float, stream: Stream) -> bool:
        if self.gains(score):
            self.n_equal = 0
            return True
        self.n_equal += 1
        if self.stagnation == "paper":
            return stream.uniform() < 1.0 - 0.1 * (self.n_equal - 1)
        return self.n_equal <= 11

    def change(self, k: int, move: tuple[float, float]) -> bool:
        amount, score = move
        self.score = score
        if abs(amount) <= NO_MOVE * abs(self.a[k]):
            return False
        self.a[k] += amount
        self.v += amount * (self.z[:, k] if k < self.z.shape[1] else 1.0)
        self.note()
        return True

    def note(self) -> None:
        self.trail.append((self.a.copy(), self.score))

    def one_pass(self, stream: Stream) -> bool:
        last = self.z.shape[1] + self.constant
        if self.order == "sequential":
            moved = False
            for k in range(last):
                move = self.turn(k)
                if move and self.accepts(move[1], stream) and self.change(k, move):
                    moved = True
                    if self.score >= self.top:
                        break
            return moved
        moves = [(move, k) for k in range(last) if (move := self.turn(k))]
        if not moves:
            return False
        move, k = max(moves, key=lambda found: (found[0][1], -found[1]))
        return self.accepts(move[1], stream) and self.change(k, move)

    def coefficients(self, stream: Stream) -> Any:
        a = np.array([2 * stream.uniform() - 1 for _ in range(self.z.shape[1] + 1)])
        a[:-1][self.reach == 0] = 0
        return a

    def jump(self, stream: Stream) -> bool:
        for _ in range(self.n_jumps):
            r = self.coefficients(stream)
            w = np.full(len(self.y), r[-1])
            for k in range(self.z.shape[1]):
                if r[k] != 0:
                    w += r[k] * self.z[:, k]
            mean = self.mean_size(w)
            scale = power_of_two(self.size / mean if mean else math.inf)
            move = self.best_along(w, scale)
            if move and self.gains(move[1]):
                amount, self.score = move
                self.a += amount * r
                self.v += amount * w
                self.n_equal = 0
                self.note()
                return True
        return False

    def climb(self, start: Any, stream: Stream) -> None:
        """Climb from a place; where start is None, from anywhere."""
        if start is None:
            start = self.coefficients(stream)
            self.tried += 1
        self.place(start)
        self.n_equal = 0
        self.note()
        self.best = self.score, self.a.copy()
        if self.order == "random":
            self.climb_at_random(stream)
        else:
            idle = 0
            while self.score < self.top:
                if not self.one_pass(stream) and not self.jump(stream):
                    break
                idle = 0 if self.placed_again() else idle + 1
                if idle > 11:
                    break
        if self.score < self.best[0]:
            self.score, self.a = self.best

    def placed_again(self) -> bool:
        """Compute all values anew; whether this is the best place so far."""
        self.place(self.a)
        if self.score > self.best[0]:
            self.best = self.score, self.a.copy()
            return True
        return False

    def climb_at_random(self, stream: Stream) -> None:
        p = self.z.shape[1]
        for pick in range(self.n_picks):
            if self.score >= self.top:
                break
            k = stream.bits() % (p + 1)
            move = self.turn(k)
            if not (move and self.accepts(move[1], stream) and self.change(k, move)):
                self.jump(stream)
            if pick % 16 == 15 or pick == self.n_picks - 1:
                self.placed_again()
