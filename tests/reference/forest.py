"""Twin of one tree of a forest: what is drawn, which cuts a node compares, and how it divides.

Everything is written out over lists of rows, one candidate after the other, without keys that are
sorted by buckets, arrays of scratch or a heap. Sums are added one by one and in the order of the
rows, for every bit of a tree depends on that. (`sum` of Python is more exact, hence not used.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliqua.forest import ForestRows, ForestRules, Sampling
from reference.search import midpoint

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
GRID_BITS = 30  # steps along a direction
CELLS_PER_ROW = 2  # sums of the values of a column that is not sorted
LEAST_BITS, MOST_BITS = 5, 8  # cells along a direction
GONE = 2**40  # the key of missing values that stand right
NO_GAIN = 1e-12
DROPPED = 1e-6
SHRINK = 10.0
STAND_IN, LEFT, RIGHT = 0, 1, 2  # where rows go that miss a value

#: Who is asked for a direction: rows, what is learnt, weights and a key give a normal.
Ask = Callable[[Any, Any, Any, int], NDArray[np.float64] | None]

# --- random numbers ---------------------------------------------------------------------------


def scramble(x: int) -> int:
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def mix(key: int, value: int) -> int:
    return scramble((key + GOLDEN * (value + 1)) & MASK)


def child_key(key: int, side: int) -> int:
    return mix(scramble((key + GOLDEN) & MASK), side)


class Stream:
    """Random numbers one after another."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, n: int) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return ((scramble(self.state) >> 32) * n) >> 32

    def columns(self, p: int) -> Iterable[int]:
        """All columns in a random order; a number is drawn for each one that is asked for."""
        left = list(range(p))
        for drawn in range(p):
            at = drawn + self.below(p - drawn)
            left[drawn], left[at] = left[at], left[drawn]
            yield left[drawn]


# --- samples ----------------------------------------------------------------------------------


def uniform(bits: int) -> float:
    return (bits >> 11) / 2.0**53


def poisson(u: float, mean: float) -> int:
    """The smallest k whose cumulative probability is above u, as far as doubles tell."""
    term = below = math.exp(-mean)
    k = 0
    while u >= below:
        k += 1
        term *= mean / k
        if k > mean and below + term == below:
            break
        below += term
    return k


def sample(sampling: Sampling, tree: int) -> tuple[list[float], list[int], list[bool]]:
    """What each row weighs, as how many rows it counts, and which pieces of rows are drawn."""
    rows = sampling.rows
    key = child_key(child_key(sampling.key, tree), 0)
    pieces, keys = rows.pieces.tolist(), rows.keys.tolist()
    weights = rows.weights.tolist()
    drawn: list[int] = []
    nearness: list[float] = []
    mean = (rows.weights / rows.pieces * (sampling.size / rows.weights.sum())).tolist()
    for i, own_key in enumerate(keys):
        for piece in range(pieces[i]):
            own = mix(mix(key, own_key), piece)
            if not sampling.replace:
                drawn.append(int(sampling.size >= 1.0 or uniform(own) < sampling.size))
                nearness.append(-uniform(own))
                continue
            n_parts = 1 + int(mean[i] / 16.0)
            parts = [own, *(mix(own, part) for part in range(1, n_parts))]
            drawn.append(sum(poisson(uniform(bits), mean[i] / n_parts) for bits in parts))
            nearness.append(max(map(uniform, parts)))
    if not any(drawn):
        drawn[nearness.index(max(nearness))] = 1
    found, times = [], []
    ends = np.cumsum(rows.pieces).tolist()
    for i, end in enumerate(ends):
        mine = drawn[end - pieces[i] : end]
        times.append(sum(count > 0 for count in mine))
        share = float(sum(mine)) if sampling.replace else weights[i] * (times[i] / pieces[i])
        found.append(share)
    if sampling.balanced:
        found = balanced(found, rows.target.tolist())
    return found, times, [count > 0 for count in drawn]


def balanced(weights: list[float], y: list[int]) -> list[float]:
    """All classes that are there weigh the same."""
    total = dict.fromkeys(y, 0.0)
    for w, c in zip(weights, y, strict=True):
        total[c] += w
    there = [c for c in total if total[c] > 0]
    whole = float(np.sum(np.array(weights)))
    return [
        w * (whole / (len(there) * total[c])) if w else 0.0
        for w, c in zip(weights, y, strict=True)
    ]


# --- a node -----------------------------------------------------------------------------------


@dataclass
class Row:
    """A row of the sample."""

    number: int  # among the rows of the forest
    w: float
    times: int
    y: int  # its class
    values: list[float]  # or its numbers


@dataclass
class Term:
    """A term of a hyperplane."""

    column: int
    coef: float
    spread: float = math.nan


@dataclass
class Candidate:
    """A cut: which rows of the node go right, and what it leaves over."""

    left_over: float
    priced: float
    right: list[bool]
    place: Callable[[list[bool]], tuple[list[Term], float, int, list[bool]] | None]


@dataclass
class Node:
    rows: list[Row]
    key: int
    depth: int
    decrease: float = 0.0
    terms: list[Term] = field(default_factory=list)
    threshold: float = 0.0
    missing: int = STAND_IN
    sides: tuple[list[Row], list[Row]] | None = None  # if it can be divided
    children: tuple[Node, Node] | None = None  # if it is


def total(numbers: Iterable[float]) -> float:
    """Their sum, added one by one."""
    found = 0.0
    for number in numbers:
        found += number
    return found


def in_lanes(numbers: Sequence[float]) -> float:
    """The sum of every eighth number, and then of these sums."""
    return total(total(numbers[lane::8]) for lane in range(8))


def log_term(x: float) -> float:
    return x * math.log(x) if x > 0 else 0.0


def level_numbers(
    rows: ForestRows, weights: Sequence[float], times: Sequence[int], key: int
) -> list[list[float]]:
    """For each column the numbers of its levels, the last for what is missing; none of numbers."""
    whole = total(weights)
    unit = whole / sum(times)
    found: list[list[float]] = []
    for column, n_levels in enumerate(np.diff(rows.level_ptr).tolist()):
        own = child_key(key, column)
        learnt = learnt_by(rows, weights, own)
        mean = total(w * t for w, t in zip(weights, learnt, strict=True)) / whole
        off = [t - mean for t in learnt]
        spread = (total(w * t * t for w, t in zip(weights, off, strict=True)) / whole) ** 0.5
        numbers = []
        for level in range(n_levels):
            mine = [i for i in range(rows.n) if times[i] and rows.rank[i, column] == level]
            weight, n_rows = total(weights[i] for i in mine), sum(times[i] for i in mine)
            share = total(weights[i] * off[i] for i in mine) / (weight + SHRINK * unit)
            chance = signed(mix(own, level + 1)) * spread / np.sqrt(n_rows + SHRINK)
            numbers.append(float(np.float32(share + chance)) if n_rows else 0.0)
        found.append(numbers)
    return found


def learnt_by(rows: ForestRows, weights: Sequence[float], key: int) -> list[float]:
    """Whether rows are of a class, the second or one that is drawn; or one of the outputs."""
    share = (signed(mix(child_key(key, 0), 1)) / 3.0**0.5 + 1.0) / 2.0
    if rows.target.ndim == 2:
        n_outputs = rows.target.shape[1]
        return rows.target[:, min(int(share * n_outputs), n_outputs - 1)].tolist()
    classes, wanted = rows.target.tolist(), 1
    if max(classes) > 1:
        ends, end = [], 0.0
        for c in range(max(classes) + 1):
            end += total(w for w, y in zip(weights, classes, strict=True) if y == c)
            ends.append(end)
        wanted = next(c for c, end in enumerate(ends) if end > share * ends[-1])
    return [float(c == wanted) for c in classes]


def signed(bits: int) -> float:
    """A uniform number of variance 1."""
    return ((bits >> 11) * 2.0**-52 - 1.0) * 3.0**0.5


class Sweep:
    """A cut that moves from left to right along the rows of a node, and where it was best."""

    def __init__(self, node: Grower) -> None:
        self.node, self.rules = node, node.rules
        self.wl, self.wr, self.rl = 0.0, node.weight, 0
        self.left, self.right = [0.0] * len(node.sums), list(node.sums)
        self.sl, self.sr = 0.0, total(s * s for s in node.sums)  # of squares
        self.best: tuple[float, int, int] | None = None

    def along_rows(self, keys: Sequence[int], places: Iterable[int], passed: int | None) -> None:
        """Move along some of the node's rows, in the order of their keys."""
        order = sorted(places, key=lambda i: keys[i])
        for at, following in pairwise(order):
            self.pass_row(self.node.here[at])
            if keys[at] != keys[following] and keys[at] != passed:
                self.consider(keys[at], keys[following])

    def pass_row(self, row: Row) -> None:
        if self.rules.n_classes:
            self.sl += row.w * (2 * self.left[row.y] + row.w)
            self.sr -= row.w * (2 * self.right[row.y] - row.w)
            self.left[row.y] += row.w
            self.right[row.y] -= row.w
        else:
            for o, mean in enumerate(self.node.mean):
                self.left[o] += row.w * (row.values[o] - mean)
        self.wl, self.wr, self.rl = self.wl + row.w, self.wr - row.w, self.rl + row.times

    def pass_cell(self, rows: list[Row]) -> None:
        """Add up the rows of the cell, and then that to the left."""
        if self.rules.n_classes:
            own = [total(row.w for row in rows if row.y == c) for c in range(len(self.left))]
            self.left = [one + v for one, v in zip(self.left, own, strict=True)]
            self.right = [one - v for one, v in zip(self.right, own, strict=True)]
            self.sl, self.sr = total(s * s for s in self.left), total(s * s for s in self.right)
            weight = total(own)
        else:
            for o, mean in enumerate(self.node.mean):
                self.left[o] += total(row.w * (row.values[o] - mean) for row in rows)
            weight = total(row.w for row in rows)
        self.wl, self.wr = self.wl + weight, self.wr - weight
        self.rl += sum(row.times for row in rows)

    def consider(self, here: int, after: int) -> None:
        """Take the cut between two keys if it is the best so far, and sides have rows enough."""
        rules, node = self.rules, self.node
        if min(self.rl, node.counted - self.rl) < rules.min_leaf:
            return
        if min(self.wl, self.wr) < rules.min_leaf_share * node.total:
            return
        goodness = self.goodness()
        if self.best is None or goodness > self.best[0]:
            self.best = goodness, here, after

    def goodness(self) -> float:
        wl, wr, found = self.wl, self.wr, 0.0
        if self.rules.criterion == "gini":
            return (self.sl * wr + self.sr * wl) / (wl * wr)
        if self.rules.criterion == "entropy":
            left_over = log_term(wl) + log_term(wr)
            for one, other in zip(self.left, self.right, strict=True):
                left_over -= log_term(one) + log_term(other)
            return -left_over
        for whole, left in zip(self.node.sums, self.left, strict=True):
            found += left * left * wr + (whole - left) * (whole - left) * wl
        return found / (wl * wr)


class Grower:
    """Grows one tree from a sample."""

    def __init__(
        self,
        rows: ForestRows,
        rules: ForestRules,
        weights: Sequence[float],
        times: Sequence[int],
        level_numbers: list[list[float]],
        directions: Ask | None = None,
    ) -> None:
        self.f, self.rules, self.directions = rows, rules, directions
        self.p = len(rows.stand_in)
        self.rank, self.x = rows.rank.tolist(), rows.x.copy()
        self.values = np.asarray(rows.Z, dtype=np.float64)[rows.source]
        for column, numbers in enumerate(level_numbers):
            order = sorted(set(numbers))
            for i, value in enumerate(self.values[:, column].tolist()):
                if numbers:
                    own = numbers[-1 if math.isnan(value) else int(value)]
                    self.rank[i][column] = order.index(own)
                    self.values[i, column] = self.x[i, column] = own
                elif math.isnan(value):
                    self.values[i, column] = rows.stand_in[column]
        classes = rules.n_classes > 0
        target = rows.target.tolist()
        self.rows = [
            Row(i, w, t, target[i] if classes else 0, [] if classes else target[i])
            for i, (w, t) in enumerate(zip(weights, times, strict=True))
            if t > 0
        ]
        self.total = total(row.w for row in self.rows)

    def grow(self, key: int) -> Node:
        """The node with the largest decrease is divided first, of equals the older one."""
        root = Node(self.rows, key, 0)
        self.find_split(root)
        nodes, n_leaves = [root], 1
        while self.rules.max_leaves < 0 or n_leaves < self.rules.max_leaves:
            ready = [node for node in nodes if node.sides and not node.children]
            if not ready:
                break
            node = max(ready, key=lambda node: node.decrease)
            assert node.sides is not None
            left, right = node.sides
            node.children = (
                Node(left, child_key(node.key, 0), node.depth + 1),
                Node(right, child_key(node.key, 1), node.depth + 1),
            )
            for child in node.children:
                self.find_split(child)
                nodes.append(child)
            n_leaves += 1
        return root

    # --- sums of a node

    def sum_up(self, rows: list[Row]) -> bool:
        """Whether all rows of the node are alike."""
        rules = self.rules
        self.here = rows
        self.weight = total(row.w for row in rows)
        self.counted = sum(row.times for row in rows)
        if rules.n_classes:
            self.sums = [
                total(row.w for row in rows if row.y == c) for c in range(rules.n_classes)
            ]
            self.weight = total(self.sums)
            return len({row.y for row in rows}) == 1
        self.mean, self.sums = [], []
        for o in range(len(rows[0].values)):
            start = rows[0].values[o]
            off = total(row.w * (row.values[o] - start) for row in rows)
            self.mean.append(start + off / self.weight)
            self.sums.append(total(row.w * (row.values[o] - self.mean[o]) for row in rows))
        return all(row.values == rows[0].values for row in rows)

    def node_impurity(self) -> float:
        """Impurity times weight."""
        if self.rules.criterion == "gini":
            return self.weight - total(s * s for s in self.sums) / self.weight
        if self.rules.criterion == "entropy":
            return log_term(self.weight) - total(map(log_term, self.sums))
        return total(
            row.w * (row.values[o] - self.mean[o]) * (row.values[o] - self.mean[o])
            for o in range(len(self.mean))
            for row in self.here
        )

    # --- the best cut along some keys

    def cut(self, keys: Sequence[int], passed: int | None = None) -> Sweep:
        """Along rows one by one; not between `passed` and what follows it."""
        sweep = Sweep(self)
        sweep.along_rows(keys, range(len(keys)), passed)
        return sweep

    def cut_cells(self, keys: Sequence[int], passed: int | None = None) -> Sweep:
        """The same along cells: the rows that share a key."""
        sweep = Sweep(self)
        order = sorted(set(keys))
        for here, after in pairwise(order):
            sweep.pass_cell([row for row, key in zip(self.here, keys, strict=True) if key == here])
            if here != passed:
                sweep.consider(here, after)
        return sweep

    def cut_near(self, keys: Sequence[int], shift: int) -> Sweep:
        """By cells of many keys, and then within the two cells between which the best cut is."""
        cells = [key >> shift for key in keys]
        coarse = self.cut_cells(cells)
        sweep = Sweep(self)
        if coarse.best is None:
            return coarse
        _, last, after = coarse.best
        for cell in sorted(set(cells)):
            if cell < last:
                rows = zip(self.here, cells, strict=True)
                sweep.pass_cell([row for row, own in rows if own == cell])
        sweep.along_rows(keys, [i for i, own in enumerate(cells) if own in (last, after)], None)
        return sweep

    @property
    def n_sums(self) -> int:
        """How many sums a cell has."""
        return self.rules.n_classes or len(self.sums) + 1

    def offer(
        self, keys: Sequence[int], sweep: Sweep, n_terms: int, place: Callable[[int, int], Any]
    ) -> Candidate | None:
        """The best cut along some keys as a candidate."""
        if sweep.best is None:
            return None
        goodness, last, after = sweep.best
        whole = {"gini": self.weight, "entropy": 0.0, "squared_error": self.impurity}
        left_over = whole[self.rules.criterion] - goodness
        price = 1.0 + self.rules.price * (n_terms - 1) / self.counted
        return Candidate(
            left_over, left_over * price, [key > last for key in keys], place(last, after)
        )

    # --- columns

    def of_column(self, column: int) -> list[Candidate]:
        """The cuts of a column, with rows that miss it on the right, and on the left.

        Missing or not, with what is missing on the left, is the same as on the right.
        """
        ranks = [self.rank[row.number][column] for row in self.here]
        gone = [rank < 0 for rank in ranks]
        n_cells = int(self.f.n_values[column]) + 1
        few = n_cells * self.n_sums <= CELLS_PER_ROW * len(self.here)
        found = []
        for missing in (RIGHT, LEFT) if any(gone) and not all(gone) else (STAND_IN,):
            keys = [rank if rank >= 0 else (GONE if missing == RIGHT else -1) for rank in ranks]

            def place(last: int, after: int, missing: int = missing, keys: Any = keys) -> Any:
                return lambda right: self.place_number(column, missing, keys, (last, after), right)

            sweep = self.cut_cells(keys, -1) if few else self.cut(keys, -1)
            offered = self.offer(keys, sweep, 1, place)
            found += [offered] if offered else []
        return found

    def place_number(
        self, column: int, missing: int, keys: list[int], ends: tuple[int, int], right: list[bool]
    ) -> Any:
        values = [float(self.values[row.number, column]) for row in self.here]
        term = Term(column, 1.0)
        heavy = total(row.w for row, goes in zip(self.here, right, strict=True) if goes)
        if missing == STAND_IN and self.f.has_missing[column]:
            missing = RIGHT if heavy > self.weight - heavy else LEFT
        if ends[1] == GONE:
            term.coef = 0.0
            return [term], 0.0, missing, right
        below, above = (values[keys.index(end)] for end in ends)
        return [term], midpoint(below, above), missing, right

    # --- directions

    def of_direction(self, stream: Stream, cut_already: bool) -> list[Candidate]:
        """The best cut along a direction that is drawn and fitted."""
        k = 2 + stream.below(self.rules.most_terms - 1)
        if self.counted < self.rules.rows_per_term * k and cut_already:
            return []
        order = iter(stream.columns(self.p))
        columns = sorted(next(order) for _ in range(k))
        fit = self.fit if self.directions is None else self.asked
        terms = fit(columns, stream)
        if not terms:
            return []
        along = np.zeros(len(self.here), dtype=np.float32)
        for column, coef in terms:
            along += coef * self.x[[row.number for row in self.here], column]
        low, high = float(along.min()), float(along.max())
        if not high > low:
            return []
        steps = 2.0**GRID_BITS / (high - low)
        keys = [int((float(value) - low) * steps) for value in along]
        bits = [b for b in range(LEAST_BITS, MOST_BITS + 1) if self.n_sums << b <= len(keys)]
        sweep = self.cut_near(keys, GRID_BITS - max(bits)) if bits else self.cut(keys)
        if sweep.best is None:
            sweep = self.cut(keys)

        def place(last: int, after: int) -> Any:
            return lambda right: self.placed(terms, right)

        offered = self.offer(keys, sweep, len(terms), place)
        return [offered] if offered else []

    def fitting_rows(self, stream: Stream) -> tuple[list[Row], list[float]] | None:
        """The rows that a direction is fitted to, and what is learnt of them about its mean."""
        rows, n = self.here, len(self.here)
        pair: set[int] = {0}
        a = 0
        if self.rules.n_classes:
            a = rows[stream.below(n)].y
            at = stream.below(n)
            for _ in range(64):
                if rows[at].y == a:
                    at = stream.below(n)
            while rows[at].y == a:
                at = (at + 1) % n
            pair = {a, rows[at].y}
        most = min(n, self.rules.direction_rows)
        offset = stream.below(n) if n > most else 0
        taken = [rows[(offset + i * n // most) % n] for i in range(most)]
        taken = [row for row in taken if row.y in pair]
        t = [float(row.y == a) for row in taken]
        if not self.rules.n_classes:
            t = [row.values[0] - self.mean[0] for row in taken]
        elif {row.y for row in taken} != pair:
            return None
        if len(taken) < 2:
            return None
        weight = in_lanes([row.w for row in taken])
        mean = in_lanes([v * row.w for v, row in zip(t, taken, strict=True)]) / weight
        return taken, [v - mean for v in t]

    def fit(self, columns: list[int], stream: Stream) -> list[tuple[int, np.float32]]:
        """The column and the coefficient of each term."""
        found = self.fitting_rows(stream)
        if found is None:
            return []
        rows, t = found
        weight = in_lanes([row.w for row in rows])
        block = []
        for column in columns:
            values = [float(self.x[row.number, column]) for row in rows]
            mean = in_lanes([row.w * v for row, v in zip(rows, values, strict=True)]) / weight
            block.append([v - mean for v in values])
        S = [
            [
                in_lanes([row.w * u * v for row, u, v in zip(rows, one, two, strict=True)])
                for two in block
            ]
            for one in block
        ]
        b = [
            in_lanes([row.w * u * v for row, u, v in zip(rows, one, t, strict=True)])
            for one in block
        ]
        size = [math.sqrt(S[a][a]) for a in range(len(columns))]
        w = solve(S, b, self.rules.ridge)
        if w is None:
            return []
        reach = [abs(v) * s for v, s in zip(w, size, strict=True)]
        largest = max(reach)
        if not 0 < largest < math.inf:
            return []
        w = [0.0 if r < DROPPED * largest else v for v, r in zip(w, reach, strict=True)]
        longest = max(map(abs, w))
        coefs = [np.float32(v / longest) for v in w]
        return [term for term in zip(columns, coefs, strict=True) if term[1] != 0]

    def asked(self, columns: list[int], stream: Stream) -> list[tuple[int, np.float32]]:
        """The same from somebody who is asked; powers of two make floats of the coefficients."""
        assert self.directions is not None
        rows = self.here
        X = self.values[[row.number for row in rows]][:, columns]
        y = [row.y if self.rules.n_classes else row.values for row in rows]
        weights, key = [row.w for row in rows], mix(stream.state, 0)
        normal = self.directions(X, np.array(y), weights, self.depth, key)
        if normal is None:
            return []
        with np.errstate(over="ignore"):
            coefs = np.ldexp(normal, self.f.exponent[columns])
        longest = float(np.abs(coefs).max())
        if not math.isfinite(longest):
            return []
        terms = np.ldexp(coefs, -math.frexp(longest)[1]).astype(np.float32)
        return [term for term in zip(columns, terms, strict=True) if term[1] != 0]

    def placed(
        self, fitted: list[tuple[int, np.float32]], right: list[bool]
    ) -> tuple[list[Term], float, int, list[bool]] | None:
        """The hyperplane between canonical values of the two sides, if they can be told apart."""
        rows, f = self.here, self.f
        values = np.zeros(len(rows))
        terms = []
        for column, coef in fitted:
            with np.errstate(over="ignore"):
                term = Term(column, float(np.ldexp(float(coef), -int(f.exponent[column]))))
            seen = self.values[[row.number for row in rows], column]
            with np.errstate(over="ignore", invalid="ignore"):
                values = values + term.coef * seen
                term.spread = self.spread(term.coef, seen)
            terms.append(term)
        goes = np.array(right)
        largest, least = float(values[~goes].max()), float(values[goes].min())
        if not (math.isfinite(largest) and math.isfinite(least)):
            return None
        threshold = midpoint(largest, least) if largest < least else largest
        goes = values > threshold
        inside = [row for row, other in zip(rows, goes, strict=True) if other]
        n_right, weight = sum(row.times for row in inside), total(row.w for row in inside)
        least_rows, least_weight = self.rules.min_leaf, self.rules.min_leaf_share * self.total
        if not least_rows <= n_right <= self.counted - least_rows:
            return None
        if weight < least_weight or self.weight - weight < least_weight:
            return None
        return terms, threshold, STAND_IN, goes.tolist()

    def spread(self, coef: float, seen: NDArray[np.float64]) -> float:
        """The standard deviation of what a coefficient is multiplied with."""
        off = (coef * seen - coef * seen[0]).tolist()
        first = in_lanes([row.w * v for row, v in zip(self.here, off, strict=True)])
        second = in_lanes([row.w * v * v for row, v in zip(self.here, off, strict=True)])
        variance = (second - first * (first / self.weight)) / self.weight
        return math.sqrt(variance) / abs(coef) if variance > 0 else 0.0

    # --- which cut wins

    def search(self, node: Node, n_oblique: int) -> Candidate | None:
        rules = self.rules
        self.depth = node.depth
        enough = self.impurity * (1.0 - NO_GAIN)
        stream = Stream(mix(node.key, 1))
        order = iter(stream.columns(self.p))
        found: list[Candidate] = []
        drawn, can = 0, False
        while drawn < self.p and (drawn < rules.n_axis or (rules.n_axis > 0 and not can)):
            here = self.of_column(next(order))
            can = can or bool(here)
            found += here
            drawn += 1
        for number in range(n_oblique if rules.most_terms > 1 else 0):
            found += self.of_direction(Stream(mix(node.key, 2 + number)), can)
        while drawn < self.p and not any(one.priced < enough for one in found):
            found += self.of_column(next(order))
            drawn += 1
        best = min(found, key=lambda one: one.priced, default=None)  # the first of equals
        if best is None or not best.priced < enough:
            return None
        return (
            best if (self.impurity - best.left_over) / self.total >= rules.min_decrease else None
        )

    def find_split(self, node: Node) -> None:
        rules = self.rules
        if self.sum_up(node.rows) or 0 <= rules.max_depth <= node.depth:
            return
        if self.counted < max(rules.min_split, 2 * rules.min_leaf):
            return
        if self.weight < 2 * rules.min_leaf_share * self.total:
            return
        self.impurity = self.node_impurity()
        best = self.search(node, rules.n_oblique)
        placed = best and best.place(best.right)
        if best and not placed:  # rows that floats tell apart, and sums do not
            best = self.search(node, 0)
            placed = best and best.place(best.right)
        if not best or not placed:
            return
        node.terms, node.threshold, node.missing, right = placed
        node.decrease = self.impurity - best.left_over
        node.sides = (
            [row for row, goes in zip(node.rows, right, strict=True) if not goes],
            [row for row, goes in zip(node.rows, right, strict=True) if goes],
        )


def solve(S: list[list[float]], b: list[float], ridge: float) -> list[float] | None:
    """(S + ridge diag S)^-1 b by Cholesky's factors; 0 for a column that does not vary."""
    k = len(b)
    A, z = [list(line) for line in S], list(b)
    for a in range(k):
        if A[a][a] > 0:
            A[a][a] *= 1.0 + ridge
        else:
            for c in range(k):
                A[a][c] = A[c][a] = 0.0
            A[a][a], z[a] = 1.0, 0.0
    for a in range(k):
        for c in range(a + 1):
            v = A[a][c]
            for e in range(c):
                v -= A[a][e] * A[c][e]
            if c == a:
                if not v > 0:
                    return None
                A[a][a] = math.sqrt(v)
            else:
                A[a][c] = v / A[c][c]
    for a in range(k):
        for c in range(a):
            z[a] -= A[a][c] * z[c]
        z[a] /= A[a][a]
    for a in reversed(range(k)):
        for c in range(a + 1, k):
            z[a] -= A[c][a] * z[c]
        z[a] /= A[a][a]
    return z


# --- the tree as it is packed -----------------------------------------------------------------


def in_level_order(root: Node) -> list[Node]:
    nodes = [root]
    for node in nodes:  # which grows
        nodes += node.children or ()
    return nodes


def packed(root: Node, rules: ForestRules) -> dict[str, list[Any]]:
    """What the compiled code gives, as lists."""
    names = (
        "child", "column", "threshold", "term_count", "missing_side", "term_column", "coef",
        "spread", "leaf_rows", "leaf_weight",
    )  # fmt: skip
    names += (
        ("entry_count", "entry_class", "entry_weight")
        if rules.n_classes
        else ("leaf_mean", "leaf_rest")
    )
    out: dict[str, list[Any]] = {name: [] for name in names}
    next_child = 1
    for node in in_level_order(root):
        if node.children is None:
            out["child"].append(-1 - len(out["leaf_rows"]))
            out["column"].append(0)
            out["threshold"].append(0.0)
            # A node that waited for its turn has divided its rows.
            add_leaf(out, [*node.sides[0], *node.sides[1]] if node.sides else node.rows, rules)
            continue
        out["child"].append(next_child)
        next_child += 2
        out["threshold"].append(node.threshold)
        one = node.terms[0]
        if len(node.terms) == 1 and one.coef == 1.0 and not node.missing:
            out["column"].append(one.column)
            continue
        out["column"].append(-1 - len(out["term_count"]))
        out["term_count"].append(len(node.terms))
        out["missing_side"].append(node.missing)
        for term in node.terms:
            out["term_column"].append(term.column)
            out["coef"].append(term.coef)
            out["spread"].append(term.spread)
    return out


def add_leaf(out: dict[str, list[Any]], rows: list[Row], rules: ForestRules) -> None:
    out["leaf_rows"].append(sum(row.times for row in rows))
    weight = total(row.w for row in rows)
    if rules.n_classes:
        classes = sorted({row.y for row in rows})
        shares = [total(row.w for row in rows if row.y == c) for c in classes]
        out["leaf_weight"].append(total(shares))
        out["entry_count"].append(len(classes))
        out["entry_class"] += classes
        out["entry_weight"] += shares
        return
    out["leaf_weight"].append(weight)
    means, rest = [], 0.0
    for o in range(len(rows[0].values)):
        start = rows[0].values[o]
        mean = start + total(row.w * (row.values[o] - start) for row in rows) / weight
        for row in rows:
            rest += row.w * (row.values[o] - mean) * (row.values[o] - mean)
        means.append(mean)
    out["leaf_mean"].append(means)
    out["leaf_rest"].append(rest)


def grown(
    sampling: Sampling, rules: ForestRules, tree: int, directions: Ask | None = None
) -> dict[str, list[Any]]:
    """The arrays of one tree of the forest."""
    weights, times, _ = sample(sampling, tree)
    key = child_key(child_key(sampling.key, tree), 1)
    own = child_key(child_key(sampling.key, tree), 2)
    numbers = level_numbers(sampling.rows, weights, times, own)
    root = Grower(sampling.rows, rules, weights, times, numbers, directions).grow(key)
    return {**packed(root, rules), "level": [number for one in numbers for number in one]}
