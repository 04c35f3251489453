"""Rows held out of a table elsewhere: the very rows that `obliqua.prune.hold_out` would choose.

Which rows are held out depends on what is in them. Equal rows are one group, which consists of
pieces of equal weight; each piece has a place in a random order of all, by its hash. Pieces are
taken in this order while they lead nearer to the weight that is wanted.

Nobody sees all pieces. Histograms of hashes say up to which hash everything is taken, and the few
pieces after that are looked at one by one. Groups whose rows lie in several batches are the only
ones that must be known together: they are found first, in as many passes as memory asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import scattered
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array, UInt8Array
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import hashes_of
from obliqua.data.target import Numbers
from obliqua.prune.division import MOST_PARTS
from obliqua.sources.survey import asked

__all__ = [
    "HeldOut",
    "NeedsAllRows",
    "RowKeys",
    "RowsLook",
    "hold_out_rows",
    "is_among",
    "shared_keys",
]

Hashes = NDArray[np.uint64]

BIN_BITS = 16
PIECES_AT_ONCE = 1 << 14
BYTES_OF_KEY = 48  # while keys are sorted and joined
MOST_ROUNDS = 6  # in which keys of one batch are left out
ONES = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1)  # of a byte
ODD = 0x9E3779B97F4A7C15  # a key times its powers stands elsewhere in each round


class NeedsAllRows(ValueError):
    """Something is asked for that rows must be in one memory for."""


@dataclass(frozen=True, eq=False)
class RowKeys:
    """What makes rows equal, as one number for each.

    Parameters
    ----------
    seed : int
        The seed.
    whole_groups : bool
        Whether a group is one piece; else each row is, or what counts as one.
    learnt : ndarray
        All different numbers, or classes, that are learnt, in order: rows have their places in it.
    """

    seed: int
    whole_groups: bool
    learnt: AnyArray

    def of(self, problem: Problem) -> Hashes:
        """Return the keys of some rows."""
        target = problem.target
        mine = target.values[:, 0] if isinstance(target, Numbers) else problem.y
        labels = np.searchsorted(self.learnt, mine).astype(np.int64)
        found: Hashes = hashes_of(problem.Z, labels, self.seed & (2**64 - 1))
        return found


class Groups(NamedTuple):
    """Groups of equal rows: key, weight in grid units, and the number of pieces."""

    key: Hashes
    total: Int64Array
    n_pieces: Int64Array

    @classmethod
    def of(cls, problem: Problem, keys: RowKeys) -> tuple[Groups, Int64Array]:
        """Return the groups of some rows, and the group of each row."""
        key, group = np.unique(keys.of(problem), return_inverse=True)
        total, count = np.zeros(len(key), np.int64), np.zeros(len(key), np.int64)
        np.add.at(total, group, 1 if problem.weights is None else problem.weights)
        if keys.whole_groups:
            count[:] = 1
        elif problem.weights is None:
            np.add.at(count, group, 1)
        else:
            assert problem.row_counts is not None
            np.add.at(count, group, problem.row_counts)
        return cls(key, total, count), group

    def take(self, some: AnyArray) -> Groups:
        """Return some of them."""
        return Groups(self.key[some], self.total[some], self.n_pieces[some])

    def pieces(self) -> tuple[Int64Array, Hashes, Int64Array]:
        """Return the pieces: the group of each, its hash and its weight."""
        count = self.n_pieces
        owner = np.repeat(np.arange(len(self.key)), count)
        place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        size = (self.total // np.maximum(count, 1))[owner]
        return owner, scattered(self.key[owner], place), size


def is_among(keys: Hashes, some: Hashes) -> BoolArray:
    """Say which keys are among some that are sorted."""
    if len(some) == 0:
        return np.zeros(len(keys), dtype=bool)
    place = np.minimum(np.searchsorted(some, keys), len(some) - 1)
    return np.asarray(some[place] == keys)


# --- passes --------------------------------------------------------------------------------------


class RowsLook:
    """A pass over encoded rows; batches of a part come in their order."""

    def __call__(self, part: Any) -> Any:
        """Return what a part answers."""
        found = None
        memory: dict[Any, int] = {}
        for problem in part.problems():
            answer = self.of(problem, part.part.number, memory)
            found = answer if found is None else self.joined([found, answer])
        return found

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> Any:
        """Return what some rows answer; `memory`: what earlier batches of the part have left."""
        raise NotImplementedError

    def joined(self, answers: Sequence[Any]) -> Any:
        """Join answers; parts without rows have none."""
        found = [answer for answer in answers if answer is not None]
        return self._joined(found) if len(found) > 1 else found[0] if found else None

    def _joined(self, answers: Sequence[Any]) -> Any:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class DistinctNumbers(RowsLook):
    """All different numbers that are learnt, if they are not too many."""

    most: int

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> FloatArray:
        """Return what some rows answer."""
        assert isinstance(problem.target, Numbers)
        return np.unique(problem.target.values[:, 0])

    def _joined(self, answers: Sequence[FloatArray]) -> FloatArray:
        found = np.unique(np.concatenate(answers))
        if len(found) > self.most:
            raise NeedsAllRows(
                f"Rows of numbers are held out by the order of y, and it has more than "
                f"{self.most} different values: too many for memory_limit. Give a larger one, or "
                "pruning=None."
            )
        return found


@dataclass(frozen=True, eq=False)
class KeysOfBatches(RowsLook):
    """Keys from `low` to `high`, and whether each is in several batches.

    `bits`, by round: where a bit is not set, all keys that it stands for are in one batch.
    """

    keys: RowKeys
    low: int
    high: int
    bits: tuple[UInt8Array, ...] = ()

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> tuple[Hashes, BoolArray]:
        """Return what some rows answer."""
        found = np.unique(self.keys.of(problem))
        first, last = np.searchsorted(found, np.array([self.low, self.high], np.uint64))
        found = found[first : len(found) if self.high == 2**64 - 1 else last]
        for number, bits in enumerate(self.bits):
            found = found[_has_bit(bits, _slots(found, number, 8 * len(bits)))]
        return found, np.zeros(len(found), dtype=bool)

    def _joined(self, answers: Sequence[tuple[Hashes, BoolArray]]) -> tuple[Hashes, BoolArray]:
        key, several = (np.concatenate(column) for column in zip(*answers, strict=True))
        order = np.argsort(key, kind="stable")
        key, several = key[order], several[order]
        again = np.append(key[1:] == key[:-1], False)
        start = np.flatnonzero(np.append(True, ~again[:-1])) if len(key) else np.empty(0, int)
        if len(start) == 0:
            return key, several
        return key[start], np.logical_or.reduceat(several | again, start)


def _slots(keys: Hashes, number: int, n_bits: int) -> NDArray[np.uint32]:
    """Return which of the bits of a round stands for each key; `n_bits`: a power of two."""
    mixed = keys * np.uint64(ODD**number % 2**64)
    return (mixed >> np.uint64(64 - (n_bits.bit_length() - 1))).astype(np.uint32)


def _has_bit(bits: UInt8Array, slots: NDArray[np.uint32]) -> BoolArray:
    return np.asarray((bits[slots >> 3] >> (slots & 7).astype(np.uint8)) & 1, dtype=bool)


def _set_bits(bits: UInt8Array, slots: NDArray[np.uint32]) -> None:
    """Set bits, which come sorted."""
    if len(slots):
        place = slots >> 3
        start = np.flatnonzero(np.append(True, np.diff(place) != 0))
        ones = np.left_shift(1, slots & 7).astype(np.uint8)
        bits[place[start]] |= np.bitwise_or.reduceat(ones, start)


class KeySlots:
    """Which bits stand for keys of some batch, and which for keys of several.

    Few are kept as sorted numbers, many as bits.
    """

    def __init__(self, n_bits: int, once: NDArray[np.uint32] | None = None) -> None:
        self.n_bits = n_bits
        self.once: AnyArray = np.empty(0, np.uint32) if once is None else once
        self.twice: AnyArray = np.empty(0, np.uint32)

    @property
    def are_bits(self) -> bool:
        """Whether they are kept as bits."""
        return self.once.dtype == np.uint8

    def add(self, other: KeySlots) -> None:
        """Add those of other batches."""
        if not (self.are_bits or other.are_bits):
            both = np.intersect1d(self.once, other.once, assume_unique=True)
            self.twice = np.union1d(np.union1d(self.twice, other.twice), both)
            self.once = np.union1d(self.once, other.once)
            if len(self.once) > self.n_bits // 512:
                self._make_bits()
            return
        self._make_bits()
        if other.are_bits:
            self.twice |= other.twice | (self.once & other.once)
            self.once |= other.once
        else:
            _set_bits(self.twice, other.once[_has_bit(self.once, other.once)])
            _set_bits(self.twice, other.twice)
            _set_bits(self.once, other.once)

    def _make_bits(self) -> None:
        if not self.are_bits:
            self.once, self.twice = self._as_bits(self.once), self._as_bits(self.twice)

    def _as_bits(self, slots: NDArray[np.uint32]) -> UInt8Array:
        bits = np.zeros(self.n_bits // 8, np.uint8)
        _set_bits(bits, slots)
        return bits

    @property
    def bits_of_twice(self) -> UInt8Array:
        """Bits of keys of several batches."""
        return self.twice if self.are_bits else self._as_bits(self.twice)

    @property
    def n_twice(self) -> int:
        """How many these are."""
        if not self.are_bits:
            return len(self.twice)
        some = range(0, len(self.twice), 1 << 20)
        return sum(int(ONES[self.twice[k : k + (1 << 20)]].sum()) for k in some)


@dataclass(frozen=True, eq=False)
class SlotsOfBatches:
    """Sets bits for keys, some keys for each bit."""

    look: KeysOfBatches
    n_bits: int

    def __call__(self, part: Any) -> KeySlots:
        """Return what a part answers."""
        found, number = KeySlots(self.n_bits), len(self.look.bits)
        for problem in part.problems():
            keys, _ = self.look.of(problem, part.part.number, {})
            found.add(KeySlots(self.n_bits, np.unique(_slots(keys, number, self.n_bits))))
        return found

    def joined(self, answers: Sequence[KeySlots]) -> KeySlots:
        """Join answers."""
        found = KeySlots(self.n_bits)
        for answer in answers:
            found.add(answer)
        return found


class SharedRows(NamedTuple):
    """Rows of groups that lie in several batches, counted by key, weight and part."""

    key: Hashes
    weight: Int64Array
    part: Int64Array
    rows: Int64Array
    pieces: Int64Array  # as which they count

    @classmethod
    def joined(cls, several: Sequence[SharedRows]) -> SharedRows:
        """Add up."""
        key, weight, part, rows, pieces = (
            np.concatenate(column) for column in zip(*several, strict=True)
        )
        order = np.lexsort((part, weight, key))
        key, weight, part = key[order], weight[order], part[order]
        if len(key) == 0:
            return cls(key, weight, part, rows, pieces)
        new = (np.diff(key) != 0) | (np.diff(weight) != 0) | (np.diff(part) != 0)
        start = np.flatnonzero(np.append(True, new))
        added = (np.add.reduceat(column[order], start) for column in (rows, pieces))
        return cls(key[start], weight[start], part[start], *added)

    def groups(self, whole: bool) -> Groups:
        """Return their groups."""
        if len(self.key) == 0:
            return Groups(self.key, self.weight, self.pieces)
        start = np.flatnonzero(np.append(True, np.diff(self.key) != 0))
        total = np.add.reduceat(self.weight * self.rows, start)
        count = np.add.reduceat(self.pieces, start)
        return Groups(self.key[start], total, np.ones_like(count) if whole else count)

    @property
    def before(self) -> Int64Array:
        """What lies before the rows of each entry, among the rows of its group by weight."""
        end = np.cumsum(self.weight * self.rows)
        begin = end - self.weight * self.rows
        first = np.searchsorted(self.key, self.key)
        return begin - begin[first]


@dataclass(frozen=True, eq=False)
class CountShared(RowsLook):
    """Counts the rows of groups that lie in several batches."""

    keys: RowKeys
    shared: Hashes

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> SharedRows:
        """Return what some rows answer."""
        key = self.keys.of(problem)
        here = np.flatnonzero(is_among(key, self.shared))
        ones = np.ones(len(here), np.int64)
        weight = ones if problem.weights is None else problem.weights[here]
        pieces = ones
        if problem.weights is not None and problem.row_counts is not None:
            pieces = problem.row_counts[here]
        found = SharedRows(key[here], weight, part * ones, ones, pieces)
        return SharedRows.joined([found])

    def _joined(self, answers: Sequence[SharedRows]) -> SharedRows:
        return SharedRows.joined(answers)


@dataclass(frozen=True, eq=False)
class PieceLook(RowsLook):
    """Base of what is asked about the pieces of groups that lie in one batch each."""

    keys: RowKeys
    shared: Hashes

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> Any:
        """Return what some rows answer."""
        groups, _ = Groups.of(problem, self.keys)
        return self.of_groups(groups.take(~is_among(groups.key, self.shared)))

    def of_groups(self, groups: Groups) -> Any:
        """Return what some groups answer."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class HashHistogram(PieceLook):
    """What pieces weigh by hash, in bins from `low` on; those of `limit` and more are left out."""

    low: int
    bits: int  # of a bin
    limit: float

    def of_groups(self, groups: Groups) -> Int64Array:
        """Return what some groups answer."""
        _, hashes, size = groups.pieces()
        place = (hashes - np.uint64(self.low)) >> np.uint64(self.bits)
        there = (hashes >= np.uint64(self.low)) & (place < 2**BIN_BITS) & (size < self.limit)
        found = np.zeros(2**BIN_BITS, dtype=np.int64)
        np.add.at(found, place[there].astype(np.int64), size[there])
        return found

    def _joined(self, answers: Sequence[Int64Array]) -> Int64Array:
        return np.asarray(np.sum(answers, axis=0))


@dataclass(frozen=True, eq=False)
class NextPieces(PieceLook):
    """The first pieces from a hash on that are lighter than a limit: hash and weight."""

    begin: int
    limit: float

    def of_groups(self, groups: Groups) -> tuple[Hashes, Int64Array]:
        """Return what some groups answer."""
        _, hashes, size = groups.pieces()
        there = (hashes >= np.uint64(self.begin)) & (size < self.limit)
        return self._first(hashes[there], size[there])

    def _joined(self, answers: Sequence[tuple[Hashes, Int64Array]]) -> tuple[Hashes, Int64Array]:
        hashes, size = (np.concatenate(column) for column in zip(*answers, strict=True))
        return self._first(hashes, size)

    @staticmethod
    def _first(hashes: Hashes, size: Int64Array) -> tuple[Hashes, Int64Array]:
        order = np.argsort(hashes, kind="stable")[:PIECES_AT_ONCE]
        return hashes[order], size[order]


class TakenPieces(NamedTuple):
    """Which pieces are held out: lighter ones up to a hash, and some after it."""

    below: int
    limit: float
    more: Hashes

    def holds(self, hashes: Hashes, size: Int64Array) -> BoolArray:
        """Say which pieces are held out."""
        early = (hashes < np.uint64(self.below)) & (size < self.limit)
        return np.asarray(early | is_among(hashes, self.more))


# --- the division --------------------------------------------------------------------------------


class PartDivision(NamedTuple):
    """Which rows of a part are held out, a bit for each; and those of which a part is.

    Parameters
    ----------
    bits : bytes
        The bits, packed.
    n_rows : int
        How many there are.
    cut : ndarray of int64
        Rows of which a part is held out.
    left : ndarray of int64
        What weight of them is not.
    """

    bits: bytes
    n_rows: int
    cut: Int64Array
    left: Int64Array

    def side(self, problem: Problem, first: int, held: bool) -> Problem:
        """Return the rows of a batch that are held out, or not; `first`: number of its first."""
        last = first + problem.n_rows
        packed = np.frombuffer(self.bits, np.uint8)[first // 8 : (last + 7) // 8]
        bits = np.unpackbits(packed).astype(bool)[first % 8 :][: problem.n_rows]
        some = (self.cut >= first) & (self.cut < last)
        if not some.any():
            return problem.take(bits if held else ~bits)
        assert problem.weights is not None
        assert problem.row_counts is not None
        cut, piece = self.cut[some] - first, problem.weights.copy()
        piece[cut] = piece[cut] - self.left[some] if held else self.left[some]
        as_rows = problem.row_weights
        problem = replace(
            problem,
            weights=piece,
            row_counts=piece // (problem.weights // problem.row_counts),
            row_weights=None if as_rows is None else as_rows * (piece / problem.weights),
        )
        here = bits == held
        here[cut] = True
        return problem.take(here)


@dataclass(frozen=True, eq=False)
class DivideRows(RowsLook):
    """Divides the rows of each part."""

    keys: RowKeys
    taken: TakenPieces
    shared: SharedRows
    groups: Groups  # of the shared rows
    before: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))

    def of(self, problem: Problem, part: int, memory: dict[Any, int]) -> dict[int, Any]:
        """Return what some rows answer."""
        groups, group = Groups.of(problem, self.keys)
        weights = problem.weights
        if weights is None:
            weights = np.ones(problem.n_rows, np.int64)
        # Rows of a group lie one after the other, light ones first; what is held out comes last.
        order = np.lexsort((weights, group))
        end = np.cumsum(weights[order])
        start = np.empty(len(order), np.int64)
        first = np.searchsorted(group[order], np.arange(len(groups.key)))
        begin = end - weights[order]
        start[order] = begin - begin[first][group[order]]
        kept = self._kept_weight(groups)
        shared = is_among(groups.key, self.groups.key)
        if shared.any():
            at = np.searchsorted(self.groups.key, groups.key[shared])
            kept[shared] = self._kept_weight(self.groups.take(at))
            for row in np.flatnonzero(shared[group]).tolist():
                start[row] = self._place(groups.key[group[row]], weights[row], part, memory)
        left = np.clip(kept[group] - start, 0, weights)
        number = memory.get("rows", 0)
        memory["rows"] = number + problem.n_rows
        cut = np.flatnonzero((left > 0) & (left < weights))
        return {part: ([left == 0], cut + number, left[cut])}

    def _kept_weight(self, groups: Groups) -> Int64Array:
        """Return what of each group is not held out."""
        owner, hashes, size = groups.pieces()
        held = np.zeros(len(groups.key), np.int64)
        np.add.at(held, owner, np.where(self.taken.holds(hashes, size), size, 0))
        return groups.total - held

    def _place(self, key: Any, weight: Any, part: int, memory: dict[Any, int]) -> int:
        """Return where in its group the next such row of a part begins."""
        shared = self.shared
        name = int(key), int(weight)
        if name not in memory:
            low, high = np.searchsorted(shared.key, key), np.searchsorted(shared.key, key, "right")
            here = (shared.weight[low:high] == weight) & (shared.part[low:high] == part)
            memory[name] = int(self.before[low + int(np.argmax(here))])
        place = memory[name]
        memory[name] = place + int(weight)
        return place

    def _joined(self, answers: Sequence[dict[int, Any]]) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for answer in answers:
            for part, (bits, cut, left) in answer.items():
                if part in found:
                    before = found[part]
                    bits = [*before[0], *bits]
                    cut, left = np.append(before[1], cut), np.append(before[2], left)
                found[part] = bits, cut, left
        return found


class HeldOut(NamedTuple):
    """A division of all rows; `any` says whether there is one that is held out."""

    parts: dict[int, PartDivision]
    any: bool


def hold_out_rows(
    parts: Sequence[Any], run: Any, rows: Any, fraction: float, seed: int, limit: int
) -> HeldOut:
    """Choose rows to hold out; `rows`: how many there are; `limit`: bytes to do it with."""
    outline: Problem = parts[0].outline
    counted = outline.weights is None or outline.row_counts is not None
    learnt: AnyArray = np.flatnonzero(rows.sums)
    if isinstance(outline.target, Numbers):
        if outline.target.n_outputs > 1:
            raise NeedsAllRows(
                "Rows of several outputs are held out by the order of all of them, which is not "
                "known where rows are read in passes. Give pruning=None, or a larger memory_limit."
            )
        learnt = asked(run, DistinctNumbers(limit // 32), parts)
    keys = RowKeys(seed, not counted or rows.n_counted > MOST_PARTS, learnt)
    what_for = "to hold some out (as pruning=None does not)"
    shared = shared_keys(parts, run, keys, rows.n_rows, limit, what_for)
    of_shared = asked(run, CountShared(keys, shared), parts) if len(shared) else _nothing()
    groups = of_shared.groups(keys.whole_groups)
    target = fraction * float(rows.total_weight)
    taken, some = _taken(parts, run, (keys, shared), groups, target, rows.total_weight)
    divide = DivideRows(keys, taken, of_shared, groups, of_shared.before)
    found = asked(run, divide, parts)
    divided = {}
    for part, (bits, cut, left) in found.items():
        mask = np.concatenate(bits)
        divided[part] = PartDivision(np.packbits(mask).tobytes(), len(mask), cut, left)
    return HeldOut(divided, some)


def _nothing() -> SharedRows:
    none = np.empty(0, np.int64)
    return SharedRows(np.empty(0, np.uint64), none, none, none, none)


def shared_keys(
    parts: Sequence[Any], run: Any, keys: RowKeys, n_rows: int, limit: int, what_for: str
) -> Hashes:
    """Find the keys that are in several batches.

    If all keys do not fit in memory, most of those that are in one batch are left out first: in a
    few passes, by bits that other batches have set as well.
    """
    n_bits = min(1 << (limit.bit_length() - 1), 2**31)
    n_ranges = 1 if n_rows * BYTES_OF_KEY <= limit else math.ceil(n_rows / n_bits)
    ends = [2**64 * k // n_ranges for k in range(n_ranges)] + [2**64 - 1]
    found: list[Hashes] = []
    for low, high in pairwise(ends):
        look = KeysOfBatches(keys, low, high)
        n_keys = n_rows // n_ranges
        while n_keys * BYTES_OF_KEY > limit and len(look.bits) < MOST_ROUNDS:
            slots: KeySlots = asked(run, SlotsOfBatches(look, n_bits), parts)
            n_before, n_keys = n_keys, min(3 * slots.n_twice, n_keys)
            look = replace(look, bits=(*look.bits, slots.bits_of_twice))
            if n_keys > 0.9 * n_before:
                break
        key, several = asked(run, look, parts)
        found.append(key[several])
        if sum(map(len, found)) * BYTES_OF_KEY > limit:
            raise NeedsAllRows(
                f"Too many rows have equals in other parts of the table {what_for} within "
                "memory_limit. Give a larger one, or weights in the place of equal rows."
            )
    return np.concatenate(found)


def _taken(
    parts: Sequence[Any],
    run: Any,
    known: tuple[RowKeys, Hashes],
    shared: Groups,
    target: float,
    total: int,
) -> tuple[TakenPieces, bool]:
    """Find out which pieces are held out, and whether there are any."""
    limit, low, bits, weight = 2.0 * target, 0, 64, 0
    while bits > 0:
        bits = max(bits - BIN_BITS, 0)
        look = HashHistogram(*known, low, bits, limit)
        bins = asked(run, look, parts) + look.of_groups(shared)
        # Up to the end of a bin that leads no further than wanted, every piece is taken.
        end = weight + np.cumsum(bins)
        n_bins = int(np.searchsorted(end, target, side="right"))
        weight = int(end[n_bins - 1]) if n_bins else weight
        low += n_bins << bits
        if n_bins == len(bins) or _few(bins, n_bins, total):
            break
    taken: list[Hashes] = []
    first_limit, begin, early = limit, low, weight
    while begin < 2**64:
        next_pieces = NextPieces(*known, begin, limit)
        hashes, size = next_pieces.joined(
            [asked(run, next_pieces, parts), next_pieces.of_groups(shared)]
        )
        if len(hashes) == 0:
            break
        held = np.zeros(len(hashes), dtype=bool)
        for k, light in enumerate(size.tolist()):
            if light >= limit:
                continue
            if 2 * weight + light < 2 * target:
                held[k], weight = True, weight + light
            else:
                limit = 2 * (target - weight)
        taken.append(hashes[held])
        begin = int(hashes[-1]) + 1
        if len(hashes) < PIECES_AT_ONCE or limit <= 1:
            break
    more = np.concatenate([np.empty(0, np.uint64), *taken])
    if weight >= total:  # a row must be left to grow from
        more = more[:-1]
    return TakenPieces(min(low, 2**64 - 1), first_limit, more), early > 0 or len(more) > 0


def _few(bins: Int64Array, place: int, total: int) -> bool:
    """Say whether the next bin weighs so little that its pieces can be looked at one by one."""
    return int(bins[place]) * PIECES_AT_ONCE < total or int(bins[place]) < PIECES_AT_ONCE // 4
