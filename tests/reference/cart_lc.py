"""Twin of CART-LC: every place along every line is looked at, and its sides are counted afresh.

There are no sorted sums, no bins and no bounds. What must be the same to the last bit, because
other digits would lead to another hyperplane, is written in the order that the engine promises:
the values of the hyperplane at the rows, and where along a line rows cross it.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import criteria, search
from reference import grow as growth

FloatArray = NDArray[np.float64]

GAMMAS = (-0.25, 0.0, 0.25)
TIE = 1e-12
WORD = 2**64


@dataclass(frozen=True)
class Options:
    """Settings, named as in ``obliqua.methods.cart_lc``."""

    variant: str = "breiman"
    sign: str = "exact"
    beta: float | None = 0.2
    epsilon: float = 1e-4
    max_cycles: int = 101
    min_rows: int = 0
    max_features: int | None = None
    axis_bias: float = 1.0
    scale: Any = 1.0
    key: int = 0
    row_counts: NDArray[np.int64] | None = None  # as how many rows each one counts


class Stream:
    """Random numbers of a node: splitmix64."""

    def __init__(self, key: int) -> None:
        self.state = self._scramble((key + 0x9E3779B97F4A7C15) % WORD)

    @staticmethod
    def _scramble(x: int) -> int:
        x ^= x >> 30
        x = x * 0xBF58476D1CE4E5B9 % WORD
        x ^= x >> 27
        x = x * 0x94D049BB133111EB % WORD
        return x ^ x >> 31

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        return (self._scramble(self.state) >> 11) / 2**53


@dataclass
class Walk:
    """One hyperplane on its way: rows stand class by class."""

    X: FloatArray
    y: list[int]
    weights: list[int]
    n_classes: int
    code: int
    limits: search.Limits
    options: Options
    a: FloatArray = field(init=False)
    v: FloatArray = field(init=False)
    score: float = -1.0
    size: float = 0.0
    n_tried: int = 0

    def __post_init__(self) -> None:
        p = self.X.shape[1]
        self.counts = self.sums(np.ones(len(self.X), dtype=bool))
        self.stream = Stream(self.options.key)
        self.scale = np.broadcast_to(np.asarray(self.options.scale, dtype=np.float64), p).copy()
        self.shift = np.zeros(p)
        if self.options.variant == "breiman":
            for k in range(p):
                self.shift[k], self.scale[k] = self.middle(self.X[:, k])
        self.z = (self.X - self.shift) * self.scale
        self.active = [len(set(column.tolist())) > 1 for column in self.X.T]
        self.z[:, [not varies for varies in self.active]] = 0.0
        self.top = self.best_of_all()

    # -- what is known of the rows -------------------------------------------------------------

    def middle(self, x: FloatArray) -> tuple[float, float]:
        """Median, and one over the interquartile range: each row as often as its weight says."""
        quarters = []
        total = sum(self.weights)
        for q in (1, 2, 3):
            reached = [
                value
                for value in sorted(set(x.tolist()))
                if 4 * sum(w for w, at in zip(self.weights, x, strict=True) if at <= value)
                >= q * total
            ]
            quarters.append(reached[0])
        width = quarters[2] - quarters[0] or float(x.max() - x.min())
        return quarters[1], 1.0 / width if width > 0.0 else 1.0

    def sums(self, side: NDArray[np.bool_]) -> list[int]:
        made = [0] * self.n_classes
        for c, w, there in zip(self.y, self.weights, side.tolist(), strict=True):
            made[c] += w * there
        return made

    def goodness(self, right: list[int], counts: list[int] | None = None) -> float:
        counts = self.counts if counts is None else counts
        left = [n - r for n, r in zip(counts, right, strict=True)]
        # the right side is named first: of entropies it is the one that is subtracted first
        return criteria.goodness(self.code, right, left)

    def legal(self, side: NDArray[np.bool_]) -> bool:
        rows, weight = int(side.sum()), sum(self.sums(side))
        fewest, lightest = self.limits.min_samples_leaf, self.limits.min_weight_leaf
        return (
            min(rows, len(side) - rows) >= max(fewest, 1)
            and min(weight, sum(self.counts) - weight) >= lightest
        )

    def best_of_all(self) -> float:
        """Whole classes on either side; not known for criteria that are not convex."""
        if self.code not in criteria.CONVEX:
            return math.inf
        there = [c for c, n in enumerate(self.counts) if n]
        tops = [0.0]
        # the last class stays left: on which side a class is changes no goodness but its last bit
        for chosen in itertools.product([False, True], repeat=len(there) - 1):
            side = [0] * self.n_classes
            for c, goes in zip(there, chosen, strict=False):
                side[c] = self.counts[c] * goes
            tops.append(self.goodness(side))
        return max(tops)

    def mean_size(self, values: FloatArray) -> float:
        """The geometric mean, to a power of two."""
        there = [
            (math.frexp(value)[1] - 1, w)
            for value, w in zip(values.tolist(), self.weights, strict=True)
            if abs(value) >= sys.float_info.min
        ]
        if not there:
            return 0.0
        total, weight = (sum(part) for part in zip(*((e * w, w) for e, w in there), strict=True))
        return math.ldexp(1.0, total // weight)

    # -- the hyperplane ------------------------------------------------------------------------

    def assess(self) -> None:
        side = self.v > 0.0
        self.score = self.goodness(self.sums(side)) if self.legal(side) else -1.0

    def place(self) -> None:
        self.v = np.full(len(self.X), self.a[-1])
        for k in range(self.X.shape[1]):
            if self.a[k] != 0.0:
                self.v = self.v + self.a[k] * self.z[:, k]
        self.size = self.mean_size(self.v)
        self.assess()

    def start(self) -> None:
        p = self.X.shape[1]
        self.a = np.zeros(p + 1)
        axis = search.best_split(
            self.X,
            self.y,
            self.weights,
            self.n_classes,
            search.axes(p),
            search.score_function(self.code),
            replace(self.limits, zero_gain=True),
        )
        if axis is not None:
            k, at = axis.direction, axis.threshold
        elif any(self.active):
            k = self.active.index(True)
            at = search.midpoint(float(self.X[:, k].min()), float(self.X[:, k].max()))
        else:
            self.place()
            return
        self.a[k] = 1.0
        self.a[p] = -((at - self.shift[k]) * self.scale[k])
        self.place()

    def crossings(self, w: FloatArray, scale: float) -> FloatArray:
        """Where rows cross: d = -v / w as t = d / (scale + |d|); never: 1 or -1."""
        t = np.empty(len(w))
        for i, (v, factor) in enumerate(zip(self.v.tolist(), w.tolist(), strict=True)):
            q = abs(v) + scale * abs(factor)
            at = -v / q if q > 0.0 else 1.0
            t[i] = -at if factor < 0.0 else at
        return t

    def places(self, w: FloatArray) -> Iterator[tuple[float, float]]:
        """How far to go, and how good it is there; from one end of the line to the other."""
        reach = self.mean_size(w)
        scale = power_of_two(self.size / reach if reach else math.inf)
        t = self.crossings(w, scale)
        ordered = [-1.0, *sorted(t.tolist()), 1.0]
        for below, above in itertools.pairwise(ordered):
            if above - below > TIE:
                # right of the hyperplane: rows that have come, and rows that have not left yet
                side = np.where(w < 0.0, t >= above, t <= below)
                if self.legal(side):
                    yield amount_between(below, above, scale), self.goodness(self.sums(side))

    def best_along(self, w: FloatArray) -> tuple[float, float] | None:
        self.n_tried += 1
        found = max(self.places(w), key=lambda place: place[1], default=None)
        return None if found is None or found[1] < 0.0 else found

    def go(self, k: int, amount: float, gamma: float) -> None:
        """Change coefficient k, and the constant by gamma times as much."""
        self.v = self.v + amount * (self.z[:, k] + gamma)
        self.a[k] += amount
        self.a[-1] += amount * gamma

    def move_feature(self, k: int) -> bool:
        best = None
        for gamma in GAMMAS:
            found = self.best_along(self.z[:, k] + gamma)
            if found is not None and (best is None or found[1] > best[1]):
                best = (*found, gamma)
        if best is None:
            return False
        self.go(k, best[0], best[2])
        self.score = best[1]
        return True

    def move_constant(self) -> bool:
        # all factors are 1, and so is their mean
        found = self.best_along(np.ones(len(self.X)))
        if found is not None:
            self.a[-1] += found[0]
            self.v = self.v + found[0]
            self.score = found[1]
        return found is not None

    # -- as the OC1 program has it -------------------------------------------------------------

    def guess(self, w: FloatArray) -> float:
        """The best cut of v / w, as if no w were negative; a coin decides between equals."""
        self.n_tried += 1
        there = w != 0.0
        if not there.any():
            return 0.0
        u = np.full(len(w), math.inf)
        with np.errstate(over="ignore"):
            u[there] = self.v[there] / w[there]
        values = sorted(set(u[there].tolist()))
        counts = self.sums(there)
        delta, best = values[0] - 1e-4, 0.0
        for value, after in zip(values, [*values[1:], None], strict=True):
            left = self.sums(u <= value)
            right = [n - v for n, v in zip(counts, left, strict=True)]
            score = 0.0 if after is None else criteria.goodness(self.code, left, right)
            if score > best or (score == best and self.stream.uniform() < 0.5):
                best = score
                delta = value if after is None else search.midpoint(value, after)
        return -delta if abs(delta) <= 1e100 else 0.0  # it can grow for ever

    def guess_feature(self, k: int) -> None:
        tried = []
        before = self.v
        for gamma in GAMMAS:
            amount = self.guess(self.z[:, k] + gamma)
            self.v = before + amount * (self.z[:, k] + gamma)
            self.assess()
            tried.append((max(self.score, 0.0), amount, gamma))
            self.v = before
        _, amount, gamma = max(tried, key=lambda one: one[0])
        self.go(k, amount, gamma)
        self.assess()

    def guess_constant(self) -> None:
        amount = self.guess(np.ones(len(self.X)))
        self.a[-1] += amount
        self.v = self.v + amount
        self.assess()

    # -- the way -------------------------------------------------------------------------------

    def perfect(self) -> bool:
        if self.options.sign == "exact":
            return self.score >= self.top
        right = self.sums(self.v > 0.0)
        there = [c for c, n in enumerate(self.counts) if n]
        pure = all(right[c] in (0, self.counts[c]) for c in there)
        return len(there) == 2 and pure and self.score > 0.0

    def one_cycle(self) -> bool:
        moved = False
        exact = self.options.sign == "exact"
        for k, active in enumerate(self.active):
            if not active:
                continue
            if exact:
                moved |= self.move_feature(k)
            else:
                self.guess_feature(k)
                moved = True
            if moved and self.perfect():
                return False
        self.place()
        if exact:
            moved |= self.move_constant()
        else:
            self.guess_constant()
        return moved and not self.perfect()

    def settle(self) -> None:
        program = self.options.variant == "oc1"
        for cycle in range(self.options.max_cycles):
            before = self.score
            if not self.one_cycle():
                return
            if not program and abs(self.score - before) <= self.options.epsilon:
                return
            if program and cycle > 0 and min(before, self.score) > 0.0:
                change = abs(self.score - before)
                if change <= self.options.epsilon * self.score * before:
                    return
            if program and cycle > 0 and self.options.sign == "exact" and self.score == before:
                return

    def without(self, k: int) -> float:
        here, size = self.v, self.size
        self.v = here - self.a[k] * self.z[:, k]
        self.size = self.mean_size(self.v)
        found = self.best_along(np.ones(len(self.X)))
        self.v, self.size = here, size
        return 0.0 if found is None else found[1]

    def leave_out(self) -> None:
        beta, most = self.options.beta, self.options.max_features
        changed = False
        self.active = (self.a[:-1] != 0.0).tolist()
        while (n_there := np.count_nonzero(self.a[:-1])) > 1:
            too_many = most is not None and n_there > most
            if beta is None and not too_many:
                break
            scores = {int(k): self.without(int(k)) for k in np.flatnonzero(self.a[:-1])}
            worst = max(scores, key=lambda k: (scores[k], -k))
            cost, highest_cost = self.score - scores[worst], self.score - min(scores.values())
            if not too_many and not (beta is not None and cost < beta * highest_cost):
                break
            self.a[worst] = 0.0
            self.active[worst] = False
            changed = True
            self.place()
            self.move_constant()
        if changed and np.count_nonzero(self.a[:-1]) > 1:
            self.settle()

    def normal(self) -> FloatArray:
        """Where it all leads to, in original units."""
        self.start()
        if self.score < self.top:
            self.settle()
            self.leave_out()
        return self.a[:-1] * self.scale


def power_of_two(x: float) -> float:
    if not x > 0.0 or not math.isfinite(x):
        return 1.0
    return math.ldexp(1.0, math.frexp(x)[1])


def amount_between(below: float, above: float, scale: float) -> float:
    if abs(below) < 1.0 and abs(above) < 1.0:
        low, high = (t / (1.0 - abs(t)) for t in (below, above))
        return scale * search.midpoint(low, high)
    middle = (below + above) / 2.0
    return scale * (middle / (1.0 - abs(middle)))


# --- one node, and whole trees ----------------------------------------------------------------


def direction_of(
    data: growth.Data, rows: NDArray[np.int64], code: int, limits: search.Limits, options: Options
) -> tuple[FloatArray, int]:
    """The normal at a node, and how many searches it took."""
    by_class = sorted(rows.tolist(), key=lambda i: data.y[i])
    walk = Walk(
        data.X[by_class].astype(np.float64),
        [data.y[i] for i in by_class],
        [data.weights[i] for i in by_class],
        data.n_classes,
        code,
        limits,
        options,
    )
    return walk.normal(), walk.n_tried


def grow(
    data: growth.Data, code: int, rules: growth.Rules, options: Options
) -> tuple[dict[str, Any], int]:
    """Grow a tree; also return how many searches it took. Keys are not passed on to children."""
    limits = search.Limits(rules.min_samples_leaf, rules.min_weight_leaf, rules.zero_gain)
    score = search.score_function(code, data.unit)
    axes = search.axes(data.X.shape[1])
    tried = [0]

    def best(rows: NDArray[np.int64], candidates: list[search.Direction]) -> search.Split | None:
        return search.best_split(
            data.X[rows],
            [data.y[i] for i in rows],
            [data.weights[i] for i in rows],
            data.n_classes,
            candidates,
            score,
            replace(limits, zero_gain=False),
        )

    def propose(shown: growth.Node) -> list[search.Direction]:
        rows = shown.X[:, -1].astype(np.int64)
        axis = best(rows, axes)
        count = len(rows) if options.row_counts is None else int(options.row_counts[rows].sum())
        small = count < options.min_rows
        if small and not (options.variant == "oc1" and len(rows) == len(data.y)):
            return axes
        normal, n_tried = direction_of(data, rows, code, limits, options)
        tried[0] += n_tried
        oblique = search.directions(normal)
        if len(oblique[0].idx) < 2:
            return axes
        split = best(rows, oblique)
        bar = 0.0 if axis is None else options.axis_bias * axis.goodness
        return oblique if split is not None and split.goodness > bar else axes

    numbers = np.arange(len(data.y), dtype=data.X.dtype)
    numbered = replace(data, X=np.column_stack([data.X, numbers]))
    return growth.grow(numbered, code, rules, propose), tried[0]
