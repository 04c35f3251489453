"""OC1's climb, slowly: every change is tried at every place, and counted row by row.

The hyperplane is ``a[:-1] @ z + a[-1]`` over coordinates z = (x - shift) * scale that are nowhere
negative, and a row is on its right side where that is above 0. Where a climb starts, how it climbs
and which features take part are all here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from reference import hhcart, search

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
    """One node, and a hyperplane that climbs there; settings are those of ``methods.oc1.Climb``.

    ``criterion`` has a ``goodness`` of class sums, a ``code`` and says whether it is ``convex``;
    ``guide`` is the split that a guide shows, ``None`` without one.
    """

    def __init__(self, X: Any, y: Any, weight: Any, criterion: Any, **settings: Any) -> None:
        self.X, self.y, self.weight = X, y, weight
        p = X.shape[1]
        low = X.min(axis=0)
        self.scale = np.broadcast_to(settings.get("scale", 1.0), p)
        self.shift = low if settings.get("from_zero", False) else np.minimum(low, 0.0)
        self.z = (X - self.shift) * self.scale
        self.z[:, low == X.max(axis=0)] = 0.0
        self.counts = np.bincount(y, weights=weight).astype(np.int64)
        self.criterion = criterion
        self.n_jumps = settings.get("n_jumps", 5)
        self.blind = settings.get("jump_search", "exact") == "program"
        self.order = settings.get("order", "sequential")
        self.stagnation = settings.get("stagnation", "program")
        self.most_equal = settings.get("most_equal")
        if self.most_equal is None:
            self.most_equal = 10 if self.stagnation == "paper" else 11
        self.constant = settings.get("perturb_constant", False)
        self.n_picks = settings.get("n_picks") or 10 * (p + 1)
        self.axis_start = settings.get("axis_start", True)
        self.guide = settings.get("guide")
        self.selection = settings.get("selection")
        self.beta = settings.get("beta", 0.2)
        self.most = settings.get("max_features") or p
        self.min_rows = settings.get("min_rows", 1)
        self.reach = np.array([self.mean_size(column) for column in self.z.T])
        self.active = self.reach > 0
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

    def best_along(
        self, w: Any, scale: float, bar: float, signs: bool = True
    ) -> tuple[float, float] | None:
        """The best place along v + d w: (d, score), if it reaches ``bar``.

        Without signs all rows are taken to enter the right side where they cross.
        """
        self.tried += 1
        reach = np.abs(w)
        q = np.abs(self.v) + scale * reach
        t = np.where(q > 0, -self.v / np.where(q > 0, q, 1), 1.0)
        t = np.where(w < 0, -t, t)
        leaves = (w < 0) & signs
        ends = [-1.0, 1.0] if leaves.any() else []
        around = np.sort(np.concatenate([t, ends]))
        gaps = np.flatnonzero(np.diff(around) > TIE)
        if len(gaps) == 0:
            return None
        below, above = around[gaps, None], around[gaps + 1, None]
        scores = self.goodness(np.where(leaves, t >= above, t <= below))
        k = int(np.argmax(scores))  # the first of equals
        score, below, above = float(scores[k]), float(below[k, 0]), float(above[k, 0])
        if score < max(bar, 0.0):
            return None
        if abs(below) < 1 and abs(above) < 1:
            low, high = below / (1 - abs(below)), above / (1 - abs(above))
            middle = low + (high - low) / 2
            middle = middle if low <= middle < high else low
        else:
            middle = (below + above) / 2
            middle = middle / (1 - abs(middle))
        return scale * middle, score

    def turn(self, k: int, bar: float | None = None) -> tuple[float, float] | None:
        """The best value of one coefficient, if it reaches ``bar``, which is the score here."""
        bar = self.score if bar is None else bar
        if k == self.z.shape[1]:
            return self.best_along(np.ones(len(self.y)), power_of_two(self.size), bar)
        if not self.active[k]:
            return None
        return self.best_along(self.z[:, k], power_of_two(self.size / self.reach[k]), bar)

    def gains(self, score: float) -> bool:
        return score > self.score + NO_GAIN * abs(self.score)

    def accepts(self, score: float, stream: Stream) -> bool:
        if self.gains(score):
            self.n_equal = 0
            return True
        self.n_equal += 1
        if self.stagnation == "paper" and self.most_equal > 0:
            return stream.uniform() < 1.0 - 1.0 / self.most_equal * (self.n_equal - 1)
        return self.n_equal <= self.most_equal

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

    # -- jumps ---------------------------------------------------------------------------------

    def coefficients(self, stream: Stream) -> Any:
        a = np.array([2 * stream.uniform() - 1 for _ in range(self.z.shape[1] + 1)])
        a[:-1][~self.active] = 0
        return a

    def jump(self, stream: Stream) -> bool:
        """Up to so many random directions; whether one of them was better."""
        for _ in range(self.n_jumps):
            r = self.coefficients(stream)
            w = np.full(len(self.y), r[-1])
            for k in range(self.z.shape[1]):
                if r[k] != 0:
                    w += r[k] * self.z[:, k]
            mean = self.mean_size(w)
            scale = power_of_two(self.size / mean if mean else math.inf)
            if self.jump_blindly(r, w, scale) if self.blind else self.jump_along(r, w, scale):
                self.n_equal = 0
                self.note()
                return True
        return False

    def jump_along(self, r: Any, w: Any, scale: float) -> bool:
        """To the best place there is."""
        move = self.best_along(w, scale, self.score)
        if not move or not self.gains(move[1]):
            return False
        amount, self.score = move
        self.a += amount * r
        self.v += amount * w
        return True

    def jump_blindly(self, r: Any, w: Any, scale: float) -> bool:
        """To what the program takes for the best place, if that happens to be better."""
        move = self.best_along(w, scale, 0.0, signs=False)
        if not move:
            return False
        there = self.v + move[0] * w
        score = float(self.goodness(there[None, :] > 0)[0])
        if not score > self.score:
            return False
        self.a += move[0] * r
        self.v, self.score = there, score
        return True

    # -- starts --------------------------------------------------------------------------------

    def at_axis(self, columns: list[int]) -> Any:
        """The hyperplane at the best cut of some columns, gain or not; None if there is no cut."""
        split = search.best_split(
            self.X,
            self.y.tolist(),
            self.weight.astype(np.int64).tolist(),
            len(self.counts),
            [search.Direction((k,), (1.0,)) for k in columns],
            search.score_function(self.criterion.code),
            search.Limits(self.min_rows, zero_gain=True),
        )
        if split is None:
            return None
        (k,) = split.idx
        a = np.zeros(self.z.shape[1] + 1)
        a[k], a[-1] = 1.0, -((split.threshold - self.shift[k]) * self.scale[k])
        return a

    def at_some_axis(self, stream: Stream) -> Any:
        """The same of one column: any, or the next one that has a cut."""
        p = self.z.shape[1]
        first = stream.bits() % p
        found = (self.at_axis([k % p]) for k in range(first, first + p))
        return next((a for a in found if a is not None), None)

    def at_guide(self) -> Any:
        """The hyperplane that the guide shows; None without one."""
        if self.guide is None:
            return None
        idx, coef = list(self.guide.idx), np.array(self.guide.coef)
        a = np.zeros(self.z.shape[1] + 1)
        a[idx] = coef / self.scale[idx]
        a[-1] = -self.guide.threshold
        for k, factor in zip(idx, coef, strict=True):
            a[-1] += factor * self.shift[k]
        return a

    def start(self, task: int, stream: Stream) -> Any:
        """Where a start of the node begins; None: a forward choice has no feature for that."""
        a = None
        if task == 0 and self.axis_start:
            a = self.at_axis(list(range(self.z.shape[1])))
        elif self.selection == "forward":
            a = self.at_some_axis(stream)
        elif task == int(self.axis_start):
            a = self.at_guide()
        if a is None and self.selection != "forward":
            a = self.coefficients(stream)
            self.tried += 1
        return a

    # -- the way -------------------------------------------------------------------------------

    def run(self, task: int, stream: Stream) -> None:
        """All that happens at one start of the node; where it ends stands in ``a``."""
        start = self.start(task, stream)
        if start is None:
            self.a = np.zeros(self.z.shape[1] + 1)
            return
        self.place(start)
        self.note()
        if self.selection == "forward":
            self.add_features(stream)
            return
        self.climb(stream)
        chooses = self.selection == "backward" or self.most < self.z.shape[1]
        if chooses and self.leave_out():
            self.climb(stream)

    def climb(self, stream: Stream) -> None:
        """Climb from here until nothing helps."""
        self.n_equal = 0
        self.best = self.score, self.a.copy()
        if self.order == "random":
            self.climb_at_random(stream)
        else:
            idle = 0
            while self.score < self.top:
                if not self.one_pass(stream) and not self.jump(stream):
                    break
                idle = 0 if self.placed_again() else idle + 1
                if idle > max(11, self.most_equal):
                    break
        if self.score < self.best[0]:
            self.place(self.best[1])

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

    # -- which features take part --------------------------------------------------------------

    def add_features(self, stream: Stream) -> None:
        """The feature that gains most joins, and all climb, while that is worth it."""
        varies = self.reach > 0
        self.active = self.a[:-1] != 0
        alone = self.score
        while self.active.sum() < self.most and self.score < self.top:
            moves = {}
            for k in np.flatnonzero(varies & ~self.active).tolist():
                self.active[k] = True
                move = self.turn(k)
                self.active[k] = False
                if move and self.gains(move[1]):
                    moves[k] = move
            if not moves:
                return
            joins = max(moves, key=lambda k: (moves[k][1], -k))
            before, kept = self.score, self.a.copy()
            self.active[joins] = True
            self.a[joins] += moves[joins][0]
            self.score = moves[joins][1]
            self.note()
            self.place(self.a)
            self.climb(stream)
            if self.score - before <= self.beta * (self.score - alone):
                self.place(kept)
                return

    def leave_out(self) -> bool:
        """Features go that matter little, or are too many; whether several others are left."""
        beta = self.beta if self.selection == "backward" else None
        changed = False
        self.active = self.a[:-1] != 0
        while (n_there := int(self.active.sum())) > 1:
            too_many = n_there > self.most
            if beta is None and not too_many:
                break
            scores = {k: self.without(k) for k in np.flatnonzero(self.active).tolist()}
            goes = max(scores, key=lambda k: (scores[k], -k))
            cost, highest = self.score - scores[goes], self.score - min(scores.values())
            if not too_many and not (beta is not None and cost < beta * highest):
                break
            self.a[goes] = 0.0
            self.active[goes] = False
            changed = True
            self.place(self.a)
            self.move_constant()
        return changed and self.active.sum() > 1

    def without(self, k: int) -> float:
        """How good the hyperplane is without a feature, at the best constant."""
        v, size = self.v, self.size
        self.v = v - self.a[k] * self.z[:, k]
        self.size = self.mean_size(self.v)
        found = self.turn(self.z.shape[1], 0.0)
        self.v, self.size = v, size
        return found[1] if found else 0.0

    def move_constant(self) -> None:
        found = self.turn(self.z.shape[1], 0.0)
        if found:
            self.a[-1] += found[0]
            self.v = self.v + found[0]
            self.score = found[1]
            self.note()


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def guided_split(node: hhcart.Node) -> search.Split | None:
    """The best cut of the best direction of HHCART, or of Fisher; None if none of them gains.

    It is searched by the values that HHCART looks at, and cut by those that a tree computes.
    """
    tries = [*hhcart.reflections(node)]
    if node.options.fisher:
        tries += hhcart.fisher_directions(node)
    found = [(hhcart.goodness(node, tried), tried) for tried in tries]
    best, winner = max(found, key=lambda pair: pair[0], default=(0.0, None))
    if winner is None or best <= 0.0 or len(winner.normal.idx) < 2:
        return None
    return hhcart.canonical_split(node, [winner.normal])
