"""Making a draft smaller: fewer leaves by subtree raising, fewer columns per split and in all.

Weakest-link pruning destroys a refined tree, because what it has learnt is spread over nodes that
need each other. Raising a subtree in the place of its parent keeps most of it, by exact changes of
training errors, and what is lost is refined away between the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from obliqua._core.refine.soft import (
    leaf_counts,
    leaves_below,
    raising_changes,
)
from obliqua._typing import AnyArray, BoolArray, FloatArray
from obliqua.data.target import Numbers
from obliqua.data.threads import over_rows
from obliqua.refine.draft import Draft, renumbered
from obliqua.refine.rows import SoftRows

__all__ = ["counted", "errors_of", "masked", "raise_to", "without_useless"]

LEAF = 2  # the option to make a leaf of a node; 0 and 1 keep its left or its right side only

#: Errors are counted on so many rows at most. They stand in the order of hashes: a random sample.
MOST_ROWS = 200_000


def raise_to(draft: Draft, rows: SoftRows, n_leaves: int, max_depth: int | None = None) -> Draft:
    """Leave out splits until a draft has at most so many leaves, at the least cost in errors.

    Each split has three ways to go: it becomes a leaf, or only its left or only its right side
    stays, and the rows of the other side are sent down that one. The change of training errors,
    with the labels of the leaves as they are, is divided by the leaves that are saved. The
    cheapest ways are taken, none above or below another, until a third of the excess is gone; then
    all is counted anew.

    If leaves are deeper than `max_depth`, the levels by which they are too deep go first, in the
    same way: the change of errors is divided by how many of them a way saves, over all leaves.
    """
    if draft.n_nodes == 0:
        return draft
    smaller = counted(draft, rows)
    smaller.drop_empty()
    if max_depth is not None:
        smaller.make_shallow(max_depth)
    while smaller.n_leaves > n_leaves:
        smaller.one_round(smaller.n_leaves - n_leaves)
        smaller.drop_empty()
    return smaller.draft()


def without_useless(draft: Draft, rows: SoftRows) -> Draft:
    """Make a leaf of each split that saves no training error."""
    if draft.n_nodes == 0:
        return draft
    smaller = counted(draft, rows)
    smaller.drop_empty()
    smaller.drop_useless()
    return smaller.draft()


def errors_of(draft: Draft, rows: SoftRows) -> float:
    """Return the weight of wrong rows, or the squared errors of numbers, with hard gates."""
    tree = counted(draft, rows)
    return float(tree.errors[tree.root])


class _Option(NamedTuple):
    """A way to leave out a split; sorted by what it costs."""

    cost: float
    saved: int  # leaves, or levels
    node: int
    kept: int  # 0: its left side, 1: its right side, LEAF: neither


class _Raised(ABC):
    """A draft while splits are left out: nodes keep their numbers, `child` says what is where."""

    # By node and leaf, leaf k at -1 - k: the weight of its rows, what they cost, and what they
    # would cost if it were a leaf.
    weight: AnyArray
    errors: AnyArray
    as_leaf: AnyArray
    #: Errors that differ by no more than this share of those of the root are equal.
    rounding: ClassVar[float] = 0.0

    def __init__(self, draft: Draft, rows: SoftRows) -> None:
        self.whole = draft
        self.rows = rows
        self.child = draft.child.copy()
        self.root = 0 if draft.n_nodes else -1
        n = min(rows.n_rows, MOST_ROWS)
        self.bits = np.empty((n, -(-draft.n_nodes // 8)), dtype=np.uint8)
        soft = draft.soft(rows)
        self.n_threads = rows.n_threads
        over_rows(lambda first, last: soft.sides(self.bits, first, last), n, self.n_threads)
        self._recount()

    @property
    def n_leaves(self) -> int:
        """The leaves that are left."""
        return len(self.order) + 1

    @property
    def n_rows(self) -> int:
        """The rows that are looked at."""
        return len(self.bits)

    @abstractmethod
    def _count(self) -> None:
        """Set `weight`, `errors` and `as_leaf`."""

    @abstractmethod
    def _changes(self) -> AnyArray:
        """Return by node and side what is lost if the split goes and only that side stays."""

    def _recount(self) -> None:
        """Count errors and leaves below each node that is left."""
        self.order = self._inner()
        self._count()
        self.leaves = self._added_up(np.ones(self.whole.n_leaves, dtype=np.int64))

    def _added_up(self, of_leaves: AnyArray) -> AnyArray:
        """Return sums by node and leaf, leaf k at -1 - k."""
        sums = np.zeros((self.whole.n_nodes + len(of_leaves), *of_leaves.shape[1:]))
        sums = sums.astype(of_leaves.dtype)
        sums[::-1][: len(of_leaves)] = of_leaves
        for node in reversed(self.order):
            left, right = self.child[node].tolist()
            sums[node] = sums[left] + sums[right]
        return sums

    def _summed(self, counting: Callable[..., AnyArray], *more: Any) -> AnyArray:
        """Return the sum over all rows of what compiled code counts in some of them."""
        known = (self.bits, self.child, self.root, *more)
        parts = over_rows(
            lambda first, last: counting(*known, first, last), self.n_rows, self.n_threads
        )
        return np.asarray(np.add.reduce(parts))

    def _inner(self) -> list[int]:
        """All splits that are left, in level order."""
        order = [self.root] if self.root >= 0 else []
        for node in order:
            order.extend(side for side in self.child[node].tolist() if side >= 0)
        return order

    def make_shallow(self, max_depth: int) -> None:
        """Take the cheapest ways until no leaf is deeper."""
        while True:
            saved = self._saved_levels(max_depth)
            if saved is None:
                return
            self.one_round(*saved)
            self.drop_empty()

    def _saved_levels(self, max_depth: int) -> tuple[int, AnyArray] | None:
        """Return by how much leaves are too deep, and what of it each way at each node saves."""
        depth = np.zeros(self.whole.n_nodes + self.whole.n_leaves, dtype=np.int64)
        for node in self.order:
            depth[self.child[node]] = depth[node] + 1
        over = np.maximum(depth - max_depth, 0)
        of_leaves = over[::-1][: self.whole.n_leaves]
        total, leaves = self._added_up(of_leaves), self._added_up((of_leaves > 0).astype(np.int64))
        excess = int(total[self.root])
        if excess == 0:
            return None
        left, right = self.child.T
        # What stays of a split comes up by a level, and all below the other side is gone.
        saved = np.stack([leaves[left] + total[right], leaves[right] + total[left]])
        n_nodes = self.whole.n_nodes
        return excess, np.vstack([saved, total[:n_nodes] - over[:n_nodes]]).T

    def one_round(self, excess: int, saved: AnyArray | None = None) -> None:
        """Take the cheapest ways until a third of the excess is gone.

        `saved` is what ways save, by node; leaves, if it is not given.
        """
        goal, gone = -(-excess // 3), 0
        parent = {
            side: node for node in self.order for side in self.child[node].tolist() if side >= 0
        }
        taken: dict[int, int] = {}
        above: set[int] = set()
        for option in sorted(self._options(excess, saved)):
            if gone >= goal:
                break
            path = [option.node]
            while path[-1] in parent:
                path.append(parent[path[-1]])
            if option.node in above or not taken.keys().isdisjoint(path):
                continue
            taken[option.node] = option.kept
            above.update(path)
            gone += option.saved
        self._leave_out(taken)

    def _options(self, excess: int, saved: AnyArray | None = None) -> list[_Option]:
        changes = self._changes()
        if saved is None:
            below = self.leaves[self.child]
            saved = np.column_stack([below[:, ::-1], below.sum(axis=1) - 1])
        options = []
        for node in self.order:
            as_leaf = self.as_leaf[node].item() - self.errors[node].item()
            lost = (changes[node, 0].item(), changes[node, 1].item(), as_leaf)
            ways = zip(lost, saved[node].tolist(), (0, 1, LEAF), strict=True)
            options += [
                _Option(change / min(saves, excess), saves, node, kept)
                for change, saves, kept in ways
                if saves > 0
            ]
        return options

    def _leave_out(self, ways: dict[int, int]) -> None:
        """Let something else stand in the place of nodes, none of which is below another."""
        stands = {
            node: self._some_leaf(node) if kept == LEAF else int(self.child[node, kept])
            for node, kept in ways.items()
        }
        for node in self.order:
            self.child[node] = [stands.get(side, side) for side in self.child[node].tolist()]
        self.root = stands.get(self.root, self.root)
        self._recount()

    def _some_leaf(self, node: int) -> int:
        """A leaf below a node: its number serves for the leaf that the node becomes."""
        while node >= 0:
            node = int(self.child[node, 0])
        return node

    def drop_empty(self) -> None:
        """Leave out splits that all of their rows pass on one side."""
        while True:
            ways: dict[int, int] = {}
            covered: set[int] = set()
            for node in self.order:
                sides = self.weight[self.child[node]]
                if node not in covered and (sides == 0).any():
                    ways[node] = int(sides[0] == 0)
                    covered.add(node)
                if node in covered:  # what is below it is looked at in the next round
                    covered.update(side for side in self.child[node].tolist() if side >= 0)
            if not ways:
                return
            self._leave_out(ways)

    def drop_useless(self) -> None:
        """Make leaves of splits that save no error, the highest of them first."""
        ways: dict[int, int] = {}
        covered: set[int] = set()
        slack = self.rounding * float(self.as_leaf[self.root])
        for node in self.order:
            if node in covered or self.as_leaf[node] <= self.errors[node] + slack:
                if node not in covered:
                    ways[node] = LEAF
                covered.update(side for side in self.child[node].tolist() if side >= 0)
        self._leave_out(ways)

    def draft(self) -> Draft:
        """Return what is left, numbered anew."""
        return renumbered(replace(self.whole, child=self.child), self.root)


class _RaisedOfClasses(_Raised):
    """A draft whose leaves have classes."""

    def _count(self) -> None:
        n, n_leaves = self.n_rows, self.whole.n_leaves
        self.known = (self.rows.y[:n], self.rows.units[:n])
        leaf = self._summed(leaf_counts, *self.known, n_leaves, self.rows.n_classes)
        self.label = leaf.argmax(axis=1).astype(np.int32)
        counts = self._added_up(leaf)
        self.weight = counts.sum(axis=1)
        self.as_leaf = self.weight - counts.max(axis=1)
        self.errors = self._added_up(leaf.sum(axis=1) - leaf.max(axis=1))

    def _changes(self) -> AnyArray:
        return self._summed(raising_changes, *self.known, self.label)


class _RaisedOfNumbers(_Raised):
    """A draft whose leaves say constants or linear functions; errors are squared ones."""

    rounding = Numbers.rounding

    def _count(self) -> None:
        numbers = self.rows.numbers
        assert numbers is not None
        self.leaf = np.empty(self.n_rows, dtype=np.int32)
        over_rows(
            lambda first, last: leaves_below(
                self.bits, self.child, self.root, self.leaf, first, last
            ),
            self.n_rows,
            self.n_threads,
        )
        soft = self.whole.soft(self.rows)
        sums = np.add.reduce(
            over_rows(
                lambda first, last: soft.line_sums(self.leaf, first, last),
                self.n_rows,
                self.n_threads,
            )
        )
        at_nodes = self._added_up(sums)
        self.lines, self.as_leaf = numbers.fitted(at_nodes)
        of_leaves = np.ascontiguousarray(self.as_leaf[::-1][: len(sums)])
        self.errors = self._added_up(of_leaves)
        constant = (numbers.n_columns - 1) * (numbers.u.shape[1] + 1)
        self.weight = at_nodes[:, constant]

    def _changes(self) -> AnyArray:
        numbers = self.rows.numbers
        assert numbers is not None
        n_leaves = self.whole.n_leaves
        lines = np.ascontiguousarray(self.lines[::-1][:n_leaves])
        low = np.full(n_leaves, np.inf, dtype=np.float32)
        high = -low
        for y in numbers.y[: self.n_rows].T:
            np.minimum.at(low, self.leaf, y)
            np.maximum.at(high, self.leaf, y)
        return self._summed(self.whole.soft(self.rows).raising_costs, lines, low, high)


def counted(draft: Draft, rows: SoftRows) -> _Raised:
    """Return a draft with what is counted at its nodes."""
    return _RaisedOfClasses(draft, rows) if rows.numbers is None else _RaisedOfNumbers(draft, rows)


# --- few columns per split -----------------------------------------------------------------------


def masked(
    draft: Draft, rows: SoftRows, per_split: int | None, per_tree: int | None = None
) -> Draft:
    """Leave the columns that matter most to each split, and to the tree; other weights become 0.

    With neither limit each split keeps the columns that it asks about.
    """
    if draft.n_nodes == 0:
        return draft
    columns = rows.columns
    owner = columns.owner
    size = _sizes(draft, rows)
    keep: BoolArray = size > 0.0
    if per_tree is not None and per_tree < size.shape[1]:
        chosen = _most_important(size, draft, rows, per_tree)
        size[:, ~chosen] = 0.0
        # What no split has masked may still come to matter.
        keep = np.broadcast_to(chosen, size.shape) if draft.mask is None else keep & chosen
    if per_split is not None and per_split < size.shape[1]:
        # Of equals the earlier ones.
        order = np.argsort(-size, axis=1, kind="stable")
        first = np.zeros(size.shape, dtype=bool)
        np.put_along_axis(first, order[:, :per_split], True, axis=1)
        keep = first if per_tree is None else first & keep
    mask = np.zeros_like(draft.normals)
    there = owner >= 0
    mask[:, there] = keep[:, owner[there]]
    mask[:, columns.constant] = 1.0
    return replace(draft, normals=draft.normals * mask, mask=mask)


def _most_important(size: FloatArray, draft: Draft, rows: SoftRows, n_columns: int) -> BoolArray:
    """Return which columns matter most to all splits together, each by its share of the rows."""
    _, sums = draft.walk(rows)
    length = np.sqrt((size * size).sum(axis=1))
    relative = size / np.where(length > 0.0, length, 1.0)[:, None]
    whole = (sums[:, :1] * relative * relative).sum(axis=0)
    chosen = np.zeros(size.shape[1], dtype=bool)
    # Of equals the earlier ones.
    chosen[np.argsort(-whole, kind="stable")[:n_columns]] = True
    return chosen


def _sizes(draft: Draft, rows: SoftRows) -> FloatArray:
    """Return by node and column the standard deviation of what the column adds to heights."""
    first, second = _node_moments(draft, rows)
    weight = np.maximum(first[:, rows.columns.constant], 1e-300)[:, None]
    mean = first / weight
    variance = np.maximum(second / weight - mean * mean, 0.0)
    w = draft.normals.astype(np.float64)
    columns = rows.columns
    size = np.zeros((draft.n_nodes, len(columns.levels)))
    # Levels of one column shut each other out, so their sum of squares is about its mean.
    spread, middle = np.zeros_like(size), np.zeros_like(size)
    for place in np.flatnonzero(columns.owner >= 0).tolist():
        column = columns.owner[place]
        if place < columns.stride:
            spread[:, column] += w[:, place] ** 2 * variance[:, place]
        else:
            spread[:, column] += w[:, place] ** 2 * mean[:, place]
            middle[:, column] += w[:, place] * mean[:, place]
    size[:] = np.sqrt(np.maximum(spread - middle * middle, 0.0))
    # A node that no row reaches goes by its weights alone.
    for node in np.flatnonzero(first[:, columns.constant] == 0.0).tolist():
        there = columns.owner >= 0
        np.maximum.at(size[node], columns.owner[there], np.abs(w[node, there]))
    return size


def _node_moments(draft: Draft, rows: SoftRows) -> tuple[FloatArray, FloatArray]:
    """Return sums of all columns and of their squares over the rows that reach each node."""
    leaf, _ = draft.walk(rows)
    width, stride = rows.columns.width, rows.columns.stride
    sums = np.zeros((2, draft.n_nodes + draft.n_leaves, width))
    order = np.argsort(leaf, kind="stable")
    there, starts = np.unique(leaf[order], return_index=True)
    at = draft.n_nodes + there  # leaves stand behind the nodes
    # Column by column: no copy of the rows is made.
    for k in range(rows.columns.constant + 1):
        values = (rows.x[order, k]).astype(np.float64)
        weight = rows.weight[order]
        sums[0, at, k] = np.add.reduceat(weight * values, starts)
        sums[1, at, k] = np.add.reduceat(weight * values * values, starts)
    if rows.more_ptr is not None and rows.more is not None:
        of_row = np.repeat(np.arange(rows.n_rows), np.diff(rows.more_ptr))
        cells = leaf[of_row].astype(np.int64) * width + rows.more[: len(of_row)]
        counts = np.bincount(cells, rows.weight[of_row], draft.n_leaves * width)
        sums[:, draft.n_nodes :, stride:] = counts.reshape(draft.n_leaves, width)[:, stride:]
    for node in range(draft.n_nodes - 1, -1, -1):
        for side in draft.child[node].tolist():
            sums[:, node] += sums[:, side if side >= 0 else draft.n_nodes - 1 - side]
    return sums[0, : draft.n_nodes], sums[1, : draft.n_nodes]
