"""Twin of refinement: soft trees leaf by leaf in doubles, and raising by building every tree.

A soft tree is (child, w, a): two children per node, a node or -1 - leaf; a normal per node;
logits per leaf. Rows are full rows here, with a column for each level and for each number that
may be missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RARE = 1e-3  # less of a row than this is not followed


# --- the soft tree ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Loss:
    """How a soft tree is judged: the sharpness of gates, c in -log(v + c), what draws to 0."""

    beta: float
    floor: float
    decay: Floats | None = None  # per node
    pulled: Floats | None = None  # per column
    mask: Floats | None = None  # per node and column
    rare: float = RARE


def full_rows(arrays: Any, width: int) -> Floats:
    """The rows that compiled code takes (x, more_ptr, more, y, weight), with all columns."""
    x, more_ptr, more, _, _ = arrays
    full = np.zeros((len(x), width))
    full[:, : x.shape[1]] = x
    if more_ptr is not None:
        for row in range(len(x)):
            for place in more[more_ptr[row] : more_ptr[row + 1]]:
                full[row, place] += 1.0
    return full


def softmax(a: Floats) -> Floats:
    """Shares of the classes in a leaf."""
    e = np.exp(a - a.max())
    return np.asarray(e / e.sum())


def ways(child: Any) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Each leaf, and the nodes and sides on the way to it."""

    def below(at: int, way: list[tuple[int, int]]) -> Iterator[Any]:
        if at < 0:
            yield -1 - at, way
            return
        for side in (0, 1):
            yield from below(int(child[at][side]), [*way, (at, side)])

    return below(0 if len(child) else -1, [])


def gates(w: Floats, row: Floats, beta: float) -> Floats:
    """How much of a row goes right at each node."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(beta * (w @ row), -30.0, 30.0))))


def reaches(child: Any, g: Floats, rare: float) -> list[tuple[int, list[tuple[int, int]], float]]:
    """The leaves that enough of a row comes near to, the way, and how much reaches them."""
    found = []
    for leaf, way in ways(child):
        shares = np.cumprod([g[node] if side else 1.0 - g[node] for node, side in way])
        if (shares > rare).all():
            found.append((leaf, way, float(shares[-1]) if way else 1.0))
    return found


def loss(tree: Any, X: Floats, y: Any, weight: Any, how: Loss) -> float:
    """The mean loss of the rows, and what normals cost by being long."""
    child, w, a = tree
    total = 0.0
    for row, label, share in zip(X, y, weight, strict=True):
        g = gates(w, row, how.beta)
        v = sum(reach * softmax(a[leaf])[label] for leaf, _, reach in reaches(child, g, how.rare))
        total -= share * np.log(v + how.floor)
    total /= len(X)
    if how.decay is not None and how.pulled is not None:
        total += 0.5 * float((how.decay[:, None] * how.pulled * w**2).sum())
    return total


def gradients(tree: Any, X: Floats, y: Any, weight: Any, how: Loss) -> tuple[Floats, Floats]:
    """The gradients of the loss by the normals and by the logits, one leaf of a row at a time."""
    child, w, a = tree
    of_w, of_a = np.zeros_like(w), np.zeros_like(a)
    for row, label, share in zip(X, y, weight, strict=True):
        g = gates(w, row, how.beta)
        leaves = reaches(child, g, how.rare)
        v = sum(reach * softmax(a[leaf])[label] for leaf, _, reach in leaves)
        outer = -share / (v + how.floor)
        for leaf, way, reach in leaves:
            q = softmax(a[leaf])
            for node, side in way:
                # d log(g) = beta (1 - g), d log(1 - g) = -beta g
                log_slope = how.beta * (1.0 - g[node] if side else -g[node])
                of_w[node] += outer * reach * q[label] * log_slope * row
            one = np.eye(len(q))[label]
            of_a[leaf] += outer * reach * q[label] * (one - q)
    of_w, of_a = of_w / len(X), of_a / len(X)
    if how.decay is not None and how.pulled is not None:
        of_w += how.decay[:, None] * how.pulled * w
    return (of_w if how.mask is None else of_w * how.mask), of_a


def by_differences(tree: Any, X: Floats, y: Any, weight: Any, how: Loss) -> tuple[Floats, Floats]:
    """The same gradients from central differences of the loss."""
    child, *parts = tree
    found = []
    for which, part in enumerate(parts):
        slope = np.zeros_like(part)
        for place in np.ndindex(part.shape):
            ends = []
            for step in (-1e-6, 1e-6):
                moved = [array.copy() for array in parts]
                moved[which][place] += step
                ends.append(loss((child, *moved), X, y, weight, how))
            slope[place] = (ends[1] - ends[0]) / 2e-6
        found.append(slope)
    return found[0], found[1]


# --- the same where numbers are learnt -------------------------------------------------------


@dataclass(frozen=True)
class Lines:
    """Numbers to learn, a column for each output, and the columns of the leaves' functions.

    The last of these is a column of ones. ``narrow``: 1 / (2 s^2).
    """

    y: Floats
    u: Floats
    narrow: float

    def said(self, lines: Floats, row: int) -> Floats:
        """What each leaf says of a row: (leaves, outputs); `lines`: (leaves, outputs, columns)."""
        return np.asarray(lines @ self.u[row])

    def likely(self, lines: Floats, row: int) -> Floats:
        """How likely each leaf makes a row."""
        errors = ((self.said(lines, row) - self.y[row]) ** 2).sum(axis=1)
        return np.asarray(np.exp(-self.narrow * errors))


def number_loss(tree: Any, X: Floats, numbers: Lines, weight: Any, how: Loss) -> float:
    """The mean loss of the rows, and what normals cost; `tree`: (child, w, lines)."""
    child, w, lines = tree
    total = 0.0
    for place, (row, share) in enumerate(zip(X, weight, strict=True)):
        likely = numbers.likely(lines, place)
        found = reaches(child, gates(w, row, how.beta), how.rare)
        v = sum(reach * likely[leaf] for leaf, _, reach in found)
        total -= share * np.log(v + how.floor)
    total /= len(X)
    if how.decay is not None and how.pulled is not None:
        total += 0.5 * float((how.decay[:, None] * how.pulled * w**2).sum())
    return total


def number_gradient(tree: Any, X: Floats, numbers: Lines, weight: Any, how: Loss) -> Floats:
    """The gradient of the loss by the normals."""
    child, w, lines = tree
    of_w = np.zeros_like(w)
    for place, (row, share) in enumerate(zip(X, weight, strict=True)):
        g, likely = gates(w, row, how.beta), numbers.likely(lines, place)
        found = reaches(child, g, how.rare)
        v = sum(reach * likely[leaf] for leaf, _, reach in found)
        for leaf, way, reach in found:
            for node, side in way:
                log_slope = how.beta * (1.0 - g[node] if side else -g[node])
                of_w[node] -= share / (v + how.floor) * reach * likely[leaf] * log_slope * row
    of_w /= len(X)
    if how.decay is not None and how.pulled is not None:
        of_w += how.decay[:, None] * how.pulled * w
    return of_w if how.mask is None else of_w * how.mask


def number_differences(tree: Any, X: Floats, numbers: Lines, weight: Any, how: Loss) -> Floats:
    """The same from central differences of the loss."""
    child, w, lines = tree
    slope = np.zeros_like(w)
    for place in np.ndindex(w.shape):
        ends = []
        for step in (-1e-6, 1e-6):
            moved = w.copy()
            moved[place] += step
            ends.append(number_loss((child, moved, lines), X, numbers, weight, how))
        slope[place] = (ends[1] - ends[0]) / 2e-6
    return slope


LITTLE = 1e-2  # rows of which a leaf has a smaller share are left out of its function


def leaf_shares(tree: Any, X: Floats, numbers: Lines, weight: Any, how: Loss) -> Floats:
    """With what weight each row enters the function of each leaf: (rows, leaves)."""
    child, w, lines = tree
    shares = np.zeros((len(X), len(lines)))
    for place, (row, share) in enumerate(zip(X, weight, strict=True)):
        likely = numbers.likely(lines, place)
        found = reaches(child, gates(w, row, how.beta), how.rare)
        v = sum(reach * likely[leaf] for leaf, _, reach in found)
        for leaf, _, reach in found:
            part = reach * likely[leaf] / (v + how.floor)
            shares[place, leaf] = share * part if part > LITTLE else 0.0
    return shares


def solved_line(numbers: Lines, weight: Floats, penalty: float) -> tuple[Floats, float]:
    """Least squares of the rows with these weights: (outputs, columns), and the squared error."""
    u, y = numbers.u, numbers.y
    matrix = u.T @ (weight[:, None] * u)
    matrix += np.diag([penalty + 1e-9 * weight.sum()] * (u.shape[1] - 1) + [0.0])
    line = np.linalg.solve(matrix, u.T @ (weight[:, None] * y)).T
    return line, float((weight[:, None] * (y - u @ line.T) ** 2).sum())


def light_sides(
    draft: Any, rows: Any, reached: Any, light: float, near: float, at_stake: float
) -> tuple[list[int], list[float]]:
    """Return how often the normal of each node is doubled, and the share by which it is pulled."""
    full = full_rows(rows.arrays, rows.columns.width)
    here: list[set[int]] = [set() for _ in draft.child]
    for row in range(rows.n_rows):
        at = 0
        while at >= 0:
            here[at].add(row)
            at = int(draft.child[at, int(full[row] @ draft.normals[at] > 0)])
    doublings, shares = [], []
    for node, members in enumerate(here):
        height = {row: float(full[row] @ draft.normals[node]) for row in members}
        sides = [{row for row in members if (height[row] > 0) == right} for right in (False, True)]
        few, many = sorted(sides, key=lambda side: rows.units[list(side)].sum())
        least = rows.units[list(few)].sum()
        count = 0
        while (
            0 < least < light * rows.units[list(members)].sum()
            and count < 6
            and rows.units[[row for row in many if abs(height[row]) < near / 2**count]].sum()
            > least
        ):
            count += 1
        doublings.append(count)
        share = at_stake * least / rows.units.sum() if least else reached[node]
        shares.append(min(reached[node], share) / 4**count)
    return doublings, shares


@dataclass
class Adam:
    """Adam with moments that start at 0, which the first steps make up for."""

    size: tuple[int, ...]

    def __post_init__(self) -> None:
        self.first, self.second, self.steps = np.zeros(self.size), np.zeros(self.size), 0

    def step(self, g: Floats, rate: float) -> Floats:
        """What is to be added."""
        self.steps += 1
        self.first = 0.9 * self.first + 0.1 * g
        self.second = 0.999 * self.second + 0.001 * g * g
        start = np.sqrt(1.0 - 0.999**self.steps) / (1.0 - 0.9**self.steps)
        return np.asarray(-rate * start * self.first / (np.sqrt(self.second) + 1e-9))


# --- hard trees, nested: a leaf is its number, a split is (node, left, right) -----------------


def nested(child: Any, at: int) -> Any:
    """A tree of arrays as nested tuples; leaf k is the number k."""
    if at < 0:
        return -1 - at
    return at, nested(child, int(child[at][0])), nested(child, int(child[at][1]))


def shape(tree: Any) -> Any:
    """The splits and where they stand; leaves have no names."""
    return None if isinstance(tree, int) else (tree[0], shape(tree[1]), shape(tree[2]))


def n_leaves(tree: Any) -> int:
    """The number of leaves."""
    return 1 if isinstance(tree, int) else n_leaves(tree[1]) + n_leaves(tree[2])


def splits(tree: Any) -> list[Any]:
    """All splits, each with what is below it."""
    return [] if isinstance(tree, int) else [tree, *splits(tree[1]), *splits(tree[2])]


def replaced(tree: Any, ways: dict[int, Any]) -> Any:
    """The tree with other things in the place of some nodes."""
    if isinstance(tree, int):
        return tree
    if tree[0] in ways:
        return ways[tree[0]]
    return tree[0], replaced(tree[1], ways), replaced(tree[2], ways)


@dataclass(frozen=True, eq=False)
class Hard:
    """Rows of which is known on which side of each node they are."""

    right: NDArray[np.bool_]  # (rows, nodes)
    y: Any
    units: Any
    n_classes: int

    def leaf(self, tree: Any, row: int) -> int:
        """The leaf of a row."""
        while not isinstance(tree, int):
            tree = tree[2] if self.right[row, tree[0]] else tree[1]
        return tree

    def counts(self, tree: Any, rows: Any = None) -> dict[int, Floats]:
        """The classes of the rows in each leaf that has any."""
        found: dict[int, Floats] = {}
        for row in range(len(self.y)) if rows is None else rows:
            at = found.setdefault(self.leaf(tree, row), np.zeros(self.n_classes))
            at[self.y[row]] += self.units[row]
        return found

    def labels(self, tree: Any) -> dict[int, int]:
        """The largest class of each leaf, the first of equals."""
        return {leaf: int(sums.argmax()) for leaf, sums in self.counts(tree).items()}

    def errors(self, tree: Any, labels: dict[int, int]) -> float:
        """The weight of the rows that are wrong if leaves have these labels."""
        return float(
            sum(
                self.units[row]
                for row in range(len(self.y))
                if labels.get(self.leaf(tree, row), 0) != self.y[row]
            )
        )

    def least_errors(self, tree: Any) -> float:
        """The same with the best labels."""
        return float(sum(sums.sum() - sums.max() for sums in self.counts(tree).values()))

    def change(self, tree: Any, node: int, kept: int) -> float:
        """What it costs that only one side of a node stays (0, 1), or a leaf (2)."""
        labels = self.labels(tree)
        (split,) = (part for part in splits(tree) if part[0] == node)
        before = self.errors(tree, labels)
        if kept < 2:
            return self.errors(replaced(tree, {node: split[1 + kept]}), labels) - before
        leaf = 10_000 + node
        smaller = replaced(tree, {node: leaf})
        here = self.counts(smaller).get(leaf, np.zeros(self.n_classes))
        return self.errors(smaller, {**labels, leaf: int(here.argmax())}) - before

    def without_empty(self, tree: Any) -> Any:
        """The tree without splits that all rows pass on one side."""
        reached = {self.leaf(tree, row) for row in range(len(self.y))}

        def kept(part: Any) -> Any:
            if isinstance(part, int):
                return part if part in reached else None
            left, right = kept(part[1]), kept(part[2])
            if left is None or right is None:
                return right if left is None else left
            return part[0], left, right

        return kept(tree)

    def one_round(self, tree: Any, excess: int, level_order: list[int]) -> Any:
        """The cheapest ways to leave out splits, until a third of the excess is gone."""
        inside = {part[0]: {below[0] for below in splits(part)} for part in splits(tree)}
        options = []
        for part in splits(tree):
            node, sizes = part[0], (n_leaves(part[1]), n_leaves(part[2]))
            for kept, saved in ((0, sizes[1]), (1, sizes[0]), (2, sum(sizes) - 1)):
                cost = self.change(tree, node, kept) / min(saved, excess)
                options.append((cost, saved, level_order.index(node), kept, part))
        taken: dict[int, Any] = {}
        gone = 0
        for _, saved, _, kept, part in sorted(options, key=lambda option: option[:4]):
            node = part[0]
            related = any(node in inside[other] or other in inside[node] for other in taken)
            if 3 * gone < excess and not related:
                taken[node] = part[1 + kept] if kept < 2 else 10_000 + node
                gone += saved
        return replaced(tree, taken)

    def raised(self, tree: Any, most: int, level_order: list[int]) -> Any:
        """The tree with at most so many leaves."""
        tree = self.without_empty(tree)
        while n_leaves(tree) > most:
            tree = self.one_round(tree, n_leaves(tree) - most, level_order)
            tree = self.without_empty(tree)
        return tree


@dataclass(frozen=True, eq=False)
class HardNumbers(Hard):
    """The same where leaves say functions of least squares; errors are squared ones.

    Here ``y`` counts the rows only; ``units`` are their weights.
    """

    numbers: Lines
    penalty: float

    def members(self, tree: Any) -> dict[int, list[int]]:
        """The rows of each leaf that has any."""
        found: dict[int, list[int]] = {}
        for row in range(len(self.y)):
            found.setdefault(self.leaf(tree, row), []).append(row)
        return found

    def fit(self, rows: list[int]) -> tuple[Floats, float]:
        """The function of some rows, and the squared error that it leaves."""
        weight = np.zeros(len(self.y))
        weight[rows] = self.units[rows]
        return solved_line(self.numbers, weight, self.penalty)

    def least_errors(self, tree: Any) -> float:
        """The squared errors of the leaves' own functions."""
        return sum(self.fit(rows)[1] for rows in self.members(tree).values())

    def cost(self, row: int, line: Floats, limits: tuple[float, float]) -> float:
        """What a row costs in a leaf, which says nothing beyond its limits."""
        said = np.clip(line @ self.numbers.u[row], *limits)
        return float(self.units[row] * ((said - self.numbers.y[row]) ** 2).sum())

    def change(self, tree: Any, node: int, kept: int) -> float:
        """What it costs that only one side of a node stays (0, 1), or a leaf (2)."""
        (split,) = (part for part in splits(tree) if part[0] == node)
        members = self.members(tree)
        if kept == 2:
            below = [rows for leaf, rows in members.items() if leaf in leaves(split)]
            together = [row for rows in below for row in rows]
            return self.fit(together)[1] - sum(self.fit(rows)[1] for rows in below)
        lines = {leaf: self.fit(rows)[0] for leaf, rows in members.items()}
        limits = {
            leaf: (float(self.numbers.y[rows].min()), float(self.numbers.y[rows].max()))
            for leaf, rows in members.items()
        }
        other = replaced(tree, {node: split[1 + kept]})
        change = 0.0
        for row in range(len(self.y)):
            before, after = self.leaf(tree, row), self.leaf(other, row)
            if after != before:
                if after not in lines:
                    return float("inf")
                change += self.cost(row, lines[after], limits[after])
                change -= self.cost(row, lines[before], limits[before])
        return change


def leaves(tree: Any) -> list[int]:
    """The leaves of a tree."""
    return [tree] if isinstance(tree, int) else leaves(tree[1]) + leaves(tree[2])


# --- things to try them on -------------------------------------------------------------------


def random_child(rng: Any, n_nodes: int) -> NDArray[np.int32]:
    """A random structure, its nodes and leaves numbered in level order."""
    open_places = [(-1, 0)]
    tree: dict[int, list[int | None]] = {}
    for node in range(n_nodes):
        parent, side = open_places.pop(int(rng.integers(len(open_places))))
        if parent >= 0:
            tree[parent][side] = node
        tree[node] = [None, None]
        open_places += [(node, 0), (node, 1)]
    order = [0] if n_nodes else []
    for node in order:
        order.extend(side for side in tree[node] if side is not None)
    number = {node: place for place, node in enumerate(order)}
    leaf = itertools.count(1)
    child = [
        [-next(leaf) if side is None else number[side] for side in tree[node]] for node in order
    ]
    return np.array(child, dtype=np.int32).reshape(-1, 2)


def mixed_frame(n_rows: int, seed: int, n_classes: int = 3) -> tuple[Any, NDArray[np.int64]]:
    """A frame of numbers, levels and gaps, and classes that depend on all of them."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3)) * [1.0, 20.0, 0.1] + [0.0, 300.0, 0.0]
    colour = rng.integers(0, 5, n_rows)
    side = rng.integers(0, 3, n_rows)
    effect = np.array([0.0, 1.0, -1.5, 0.5, 2.0])[colour] + np.array([0.5, -0.5, 0.0])[side]
    score = X @ [1.0, 0.05, -10.0] - 15.0 + effect + 0.3 * rng.normal(size=n_rows)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    names = np.array(["red", "blue", "green", "white", "black"], dtype=object)[colour]
    names[rng.random(n_rows) < 0.08] = None
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["colour"] = pd.Categorical(names)
    frame["side"] = pd.Categorical(np.array(["l", "m", "r"])[side])
    return frame, y.astype(np.int64)
