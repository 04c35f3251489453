"""Forests from tables elsewhere: passes fetch the rows of some trees, which grow in memory.

Which rows a tree draws depends on the seed, the tree and what is in a row, so that each batch
knows it of its own rows. Equal rows are one row to a forest: those that lie in several batches
must be known together. A tree also depends on some facts of all rows: their number and weight, and
for each column its range, its mean and its middle value. With these, the trees are those of all
rows in one memory, bit for bit.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.base.spread import column_ranges, column_sums, means_of_sums
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import Classes, Numbers
from obliqua.forest.rows import (
    MOST_PIECES,
    ROW_SEED,
    ColumnFloats,
    ForestRows,
    fingerprint_of,
    mark_of,
    ranks_of,
)
from obliqua.forest.samples import Sampling
from obliqua.sources.different_rows import DifferentRows, EqualLook, EqualRows, counts_of
from obliqua.sources.division import Hashes, NeedsAllRows, RowKeys, RowsLook, shared_keys
from obliqua.sources.growing import SurveyedTable
from obliqua.sources.rows import MemoryPlan
from obliqua.sources.survey import PartLook, TablePart, TableRecipe, asked, kept_rows
from obliqua.tree.layout import pointers
from obliqua.tree.packed import PackedTrees

__all__ = ["ForestElsewhere", "kept_of_table", "rows_in_order"]

#: Rows of which values are taken as edges of histograms; and how many edges a column has at most.
SAMPLED, EDGES = 1 << 13, 1 << 11
#: Squares of whole numbers up to it are exact: see `OB_EXACT_SQUARES`.
EXACT_SQUARES = 2**26
#: Bytes of a row beside its columns, and of what a thread needs to grow trees.
BYTES_OF_ROW, BYTES_OF_GROWER = 96, 96

Grow = Callable[[Sampling, int, int, "float | None"], PackedTrees]


# --- rows in their order -------------------------------------------------------------------------


class RowsInOrder(RowsLook):
    """The rows themselves, by part."""

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> dict[int, list[Problem]]:
        """Return what some rows answer."""
        return {part: [problem]}

    def _joined(self, answers: Sequence[dict[int, list[Any]]]) -> dict[int, list[Any]]:
        return _by_part(answers)


def _by_part(answers: Sequence[dict[int, list[Any]]]) -> dict[int, list[Any]]:
    """Put together what parts have answered; batches of a part come in their order."""
    found: dict[int, list[Any]] = {}
    for answer in answers:
        for part, some in answer.items():
            found.setdefault(part, []).extend(some)
    return found


def _in_order(found: dict[int, list[Any]]) -> list[Any]:
    return [one for part in sorted(found) for one in found[part]]


def rows_in_order(table: SurveyedTable) -> Problem:
    """Put all rows of a table into memory, in their order."""
    return Problem.stack(_in_order(asked(table.run, RowsInOrder(), table.parts)))


@dataclass(frozen=True, eq=False)
class KeptRows(PartLook):
    """Which rows count, by part."""

    recipe: TableRecipe

    def of(self, batch: Any, part: TablePart) -> dict[int, list[BoolArray]]:
        """Return what some rows answer."""
        return {part.number: [kept_rows(batch, self.recipe)]}

    def _joined(self, answers: Sequence[dict[int, list[Any]]]) -> dict[int, list[Any]]:
        return _by_part(answers)


def kept_of_table(table: SurveyedTable, n_kept: int) -> BoolArray:
    """Return which rows of a table count, of which it is known how many do."""
    if n_kept == table.recipe.n_rows:
        return np.ones(n_kept, dtype=bool)
    parts = [part.part for part in table.parts]
    # Where Dask maps passes, parts are what it can load.
    return np.concatenate(_in_order(asked(table.run, KeptRows(table.recipe), parts)))


# --- facts of all rows ---------------------------------------------------------------------------


class RowFacts(NamedTuple):
    """What the first pass finds."""

    n_rows: int
    n_counted: int
    most_counted: int  # as which a row counts
    weight: int
    by_class: Int64Array  # rows; without any where numbers are learnt
    low: FloatArray
    high: FloatArray
    numbers: FloatArray  # all different ones that are learnt
    sample: FloatArray  # some rows
    chance: FloatArray  # by which they were taken


@dataclass(frozen=True, eq=False)
class FactsLook(RowsLook):
    """Counts rows, and finds ranges, numbers that are learnt, and a sample of rows."""

    most_numbers: int

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> RowFacts:
        """Return what some rows answer."""
        n, target = problem.n_rows, problem.target
        counts = np.ones(n, np.int64) if problem.row_counts is None else problem.row_counts
        by_class, numbers = np.empty(0, np.int64), np.empty(0)
        if isinstance(target, Classes):
            by_class = np.bincount(target.codes, minlength=target.n_classes)
        else:
            assert isinstance(target, Numbers)
            numbers = np.unique(target.values[:, 0])
        # What is taken changes nothing but how many values are looked at later.
        chance = np.random.default_rng((part, memory.get("rows", 0))).random(n)
        memory["rows"] = memory.get("rows", 0) + n
        some = np.argsort(chance)[:SAMPLED]
        low, high = column_ranges(problem.Z)
        return RowFacts(
            n,
            int(counts.sum()),
            int(counts.max(initial=0)),
            n if problem.weights is None else int(problem.weights.sum()),
            by_class,
            low,
            high,
            numbers,
            np.asarray(problem.Z[some], dtype=np.float64),
            chance[some],
        )

    def _joined(self, answers: Sequence[RowFacts]) -> RowFacts:
        columns = list(zip(*answers, strict=True))
        numbers = np.unique(np.concatenate(columns[7]))
        if len(numbers) > self.most_numbers:
            raise NeedsAllRows(
                "Which rows of a forest are drawn depends on the order of y, and it has more than "
                f"{self.most_numbers} different values: too many for memory_limit. Give one of "
                "130 bytes for each of them, or round y."
            )
        chance = np.concatenate(columns[9])
        some = np.argsort(chance)[:SAMPLED]
        return RowFacts(
            sum(columns[0]),
            sum(columns[1]),
            max(columns[2]),
            sum(columns[3]),
            np.sum(columns[4], axis=0),
            np.min(columns[5], axis=0),
            np.max(columns[6], axis=0),
            numbers,
            np.concatenate(columns[8])[some],
            chance[some],
        )


# --- columns -------------------------------------------------------------------------------------


class ColumnFacts(NamedTuple):
    """What a pass finds of columns."""

    n_different: int  # rows
    bins: list[Int64Array | None]  # of different rows, between edges and at them
    total: FloatArray  # weight of values
    sums: list[FloatArray]
    values: list[FloatArray | None]  # all different ones; None if there are too many
    mark: int  # of all different rows


@dataclass(frozen=True, eq=False)
class ColumnsLook(RowsLook):
    """Finds where the middle value of each column is, sums for means, and how many values it has.

    A middle value is one of different rows.
    """

    different: DifferentRows
    edges: list[FloatArray | None]  # None: levels
    low: FloatArray
    high: FloatArray
    most_values: int

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> ColumnFacts:
        """Return what some rows answer."""
        groups = self.different.of(problem, part, memory)
        mine = np.flatnonzero(groups.mine)
        bins: list[Int64Array | None] = []
        values: list[FloatArray | None] = []
        for j, edges in enumerate(self.edges):
            own = None
            if edges is not None and self.most_values:
                own = np.unique(_there(problem.Z[:, j]))
                own = own if len(own) <= self.most_values else None
            values.append(own)
            bins.append(None)
            if edges is not None:
                some = _there(problem.Z[groups.source[mine], j])
                bins[-1] = np.bincount(_bin(some, edges), minlength=2 * len(edges) + 1)
        weights = None if problem.weights is None else problem.weights.astype(np.float64)
        total, sums = column_sums(problem.Z, weights, self.low, self.high)
        learnt = _learnt(problem)[groups.source[mine]]
        mark = mark_of(groups.key[mine], groups.pieces[mine], groups.weight[mine], learnt)
        return ColumnFacts(len(mine), bins, total, [sums], values, mark)

    def _joined(self, answers: Sequence[ColumnFacts]) -> ColumnFacts:
        values: list[FloatArray | None] = []
        for several in zip(*(one.values for one in answers), strict=True):
            known = [some for some in several if some is not None]
            all_known = np.unique(np.concatenate(known)) if len(known) == len(several) else None
            too_many = all_known is None or len(all_known) > self.most_values
            values.append(None if too_many else all_known)
        return ColumnFacts(
            sum(one.n_different for one in answers),
            [
                None if several[0] is None else np.sum(several, axis=0)
                for several in zip(*(one.bins for one in answers), strict=True)
            ],
            np.sum([one.total for one in answers], axis=0),
            [pair for one in answers for pair in one.sums],
            values,
            sum(one.mark for one in answers) % 2**64,
        )


def _there(values: AnyArray) -> FloatArray:
    found = np.asarray(values, dtype=np.float64)
    return found[~np.isnan(found)]


def _bin(values: FloatArray, edges: FloatArray) -> Int64Array:
    """Return 2 k + 1 for values at edge k, and 2 k for those below it and above the one before."""
    place = np.searchsorted(edges, values)
    at_edge = edges[np.minimum(place, len(edges) - 1)] == values if len(edges) else False
    return np.asarray(2 * place + at_edge)


@dataclass(frozen=True, eq=False)
class ValuesInBins(RowsLook):
    """The values of different rows in a bin of each column; None: none are wanted."""

    different: DifferentRows
    edges: list[FloatArray | None]
    bins: list[int | None]

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> list[list[FloatArray]]:
        """Return what some rows answer."""
        groups = self.different.of(problem, part, memory)
        mine = groups.source[groups.mine]
        found: list[list[FloatArray]] = []
        for j, (edges, wanted) in enumerate(zip(self.edges, self.bins, strict=True)):
            found.append([])
            if wanted is not None:
                assert edges is not None
                some = _there(problem.Z[mine, j])
                found[-1].append(some[_bin(some, edges) == wanted])
        return found

    def _joined(self, answers: Sequence[list[list[FloatArray]]]) -> list[list[FloatArray]]:
        by_column = zip(*answers, strict=True)
        return [[one for some in several for one in some] for several in by_column]


# --- rows that are drawn -------------------------------------------------------------------------


class DrawnRows(NamedTuple):
    """Different rows that some tree draws."""

    Z: AnyArray
    key: Hashes
    pieces: Int64Array
    weight: Int64Array
    target: AnyArray


@dataclass(frozen=True, eq=False)
class DrawnLook(RowsLook):
    """Fetches the rows that some trees draw."""

    different: DifferentRows
    sampling: Sampling
    trees: tuple[int, ...]

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> list[DrawnRows]:
        """Return what some rows answer."""
        groups = self.different.of(problem, part, memory)
        mine = np.flatnonzero(groups.mine)
        if not len(mine):
            return []
        source, key = groups.source[mine], groups.key[mine]
        pieces, weight = groups.pieces[mine], groups.weight[mine]
        target = _learnt(problem)[source]
        sampling = _from_these(self.sampling, key, pieces, weight, target)
        drawn = np.zeros(len(mine), dtype=bool)
        for tree in self.trees:
            drawn |= sampling.of_tree(tree)[1] > 0
        some = np.flatnonzero(drawn)
        if not len(some):
            return []
        rows = np.ascontiguousarray(problem.Z[source[some]])
        return [DrawnRows(rows, key[some], pieces[some], weight[some], target[some])]

    def _joined(self, answers: Sequence[list[DrawnRows]]) -> list[DrawnRows]:
        return [one for answer in answers for one in answer]


def _learnt(problem: Problem) -> AnyArray:
    target = problem.target
    if isinstance(target, Classes):
        return target.codes
    assert isinstance(target, Numbers)
    return target.values


def _from_these(
    sampling: Sampling, key: Hashes, pieces: Int64Array, weight: Int64Array, target: AnyArray
) -> Sampling:
    """Return a sampling that draws from these rows, whose columns are not known."""
    rows = replace(
        sampling.rows,
        keys=key,
        pieces=pieces,
        weights=weight.astype(np.float64),
        target=np.ascontiguousarray(target),
    )
    return replace(sampling, rows=rows)


# --- out of bag ----------------------------------------------------------------------------------


class OutOfBag(NamedTuple):
    """What trees say of rows that they were grown without, rows in the order of the table."""

    sums: FloatArray
    times: Int64Array  # how many trees they are
    learnt: AnyArray


@dataclass(frozen=True, eq=False)
class OutOfBagLook(RowsLook):
    """Asks trees about rows that they were grown without."""

    different: DifferentRows
    sampling: Sampling
    trees: PackedTrees
    alone: dict[int, tuple[int, int]]  # key and piece that a tree has which had drawn none
    counts: bool  # whether it is only counted how many rows the forest is right about

    def of(self, problem: Problem, part: int, memory: dict[Any, Any]) -> Any:
        """Return what some rows answer."""
        trees, Z = self.trees, problem.Z
        sums = np.zeros((len(Z), trees.n_classes or trees.n_outputs))
        times = np.zeros(len(Z), dtype=np.int64)
        learnt = _learnt(problem)
        if len(Z):
            groups = self.different.of(problem, part, memory)
            first = self.different.first_pieces(problem, groups, part, memory)
            last = first + counts_of(problem, self.different.counted)
            sampling = _from_these(
                self.sampling, groups.key, groups.pieces, groups.weight, learnt[groups.source]
            )
            for tree in range(len(trees)):
                drawn = np.append(0, np.cumsum(self._drawn(sampling, tree), dtype=np.int64))
                out = np.flatnonzero(drawn[last] == drawn[first])
                sums[out] += trees.sums(Z[out], 1, (tree, tree + 1))
                times[out] += 1
        if not self.counts:
            return {part: [OutOfBag(sums, times, learnt)]}
        known = times > 0
        said = (sums[known] / times[known, None]).argmax(axis=1)
        return np.array([len(Z), known.sum(), (said == learnt[known]).sum()])

    def _drawn(self, sampling: Sampling, tree: int) -> AnyArray:
        drawn = sampling.drawn_pieces(tree)
        if tree in self.alone:
            key, piece = self.alone[tree]
            at = np.flatnonzero(sampling.rows.keys == np.uint64(key))
            drawn[pointers(sampling.rows.pieces)[at] + piece] = 1
        return drawn

    def _joined(self, answers: Sequence[Any]) -> Any:
        return np.sum(answers, axis=0) if self.counts else _by_part(answers)


# --- the forest ----------------------------------------------------------------------------------


class ForestElsewhere:
    """The rows of a forest in a table elsewhere, of which all is known that must be.

    Parameters
    ----------
    table : SurveyedTable
        The table.
    """

    def __init__(self, table: SurveyedTable) -> None:
        self.table = table
        outline, share = table.recipe.outline, table.plan.limit // 4
        if isinstance(outline.target, Numbers) and outline.target.n_outputs > 1:
            raise NeedsAllRows(
                "Which rows of a forest are drawn depends on the order of all outputs, which is "
                "not known where rows are read in passes. Give a memory_limit of at least eight "
                "times the table, or fit a forest for each output."
            )
        self.facts: RowFacts = self._ask(FactsLook(share // 32))
        facts = self.facts
        self.counted = outline.row_counts is not None and facts.most_counted <= MOST_PIECES
        self.n_counted = facts.n_counted if self.counted else facts.n_rows
        learnt: AnyArray = facts.numbers
        if isinstance(outline.target, Classes):
            learnt = np.flatnonzero(facts.by_class)
        keys = RowKeys(ROW_SEED, whole_groups=False, learnt=learnt)
        several = shared_keys(table.parts, table.run, keys, facts.n_rows, share, "to draw samples")
        equal = EqualRows.none()
        if len(several):
            equal = self._ask(EqualLook(keys, self.counted, several))
        self.different = DifferentRows(keys, self.counted, equal)
        self.alone: dict[int, tuple[int, int]] = {}
        self.n_values: list[int | None] | None = None
        self.floats: list[ColumnFloats | None] = []
        self.mark = ""

    def _ask(self, look: RowsLook) -> Any:
        return asked(self.table.run, look, self.table.parts)

    # --- what trees share

    def sampling(self, key: int, replace: bool, size: float, balanced: bool) -> Sampling:
        """Return how rows are drawn; what must be known of columns is looked for."""
        outline, facts = self.table.recipe.outline, self.facts
        levels = outline.n_levels
        edges: list[FloatArray | None] = [
            None if levels[j] else _edges(facts.sample[:, j]) for j in range(len(levels))
        ]
        n_sums = max(len(facts.by_class), 2)
        exact = len(facts.by_class) > 0 and replace and not balanced and size < EXACT_SQUARES / 2
        # Whether a node's sums stand in cells depends on how many values a column has, up to this.
        most_values = 0 if exact else 2 * self._rows_of_tree(replace, size) // n_sums + 1
        look = ColumnsLook(self.different, edges, facts.low, facts.high, most_values)
        found: ColumnFacts = self._ask(look)
        first = [math.fsum(column.ravel()) for column in np.stack(found.sums).swapaxes(0, 1)]
        means = means_of_sums(facts.low, facts.high, found.total, np.array(first))
        stand_in = np.where(levels > 0, 0.0, means)
        if not exact:
            self.n_values = [None if some is None else len(some) for some in found.values]
        self._find_middles(found, edges, stand_in)
        rows, total = self._outline(stand_in), float(facts.weight)
        sampling = Sampling(rows, key, replace, size, balanced, total, never_none=False)
        self.mark = sampling.told_apart(
            fingerprint_of(found.mark, found.n_different, rows.unit, rows.level_ptr)
        )
        return sampling

    def _find_middles(
        self, found: ColumnFacts, edges: list[FloatArray | None], stand_in: FloatArray
    ) -> None:
        """Find the middle value of each column, and so how its values become floats."""
        middles: list[float | None] = []
        wanted: list[int | None] = []
        places: list[int] = []
        for own, bins in zip(edges, found.bins, strict=True):
            middles.append(None)
            wanted.append(None)
            places.append(0)
            if own is None or bins is None or not bins.sum():
                continue
            place, ends = (int(bins.sum()) + 1) // 2, np.cumsum(bins)
            k = int(np.searchsorted(ends, place))
            if k % 2:
                middles[-1] = float(own[k // 2])
            else:
                wanted[-1], places[-1] = k, place - (int(ends[k - 1]) if k else 0)
        if any(one is not None for one in wanted):
            values = self._ask(ValuesInBins(self.different, edges, wanted))
            for j, one in enumerate(wanted):
                if one is not None:
                    middles[j] = float(np.sort(np.concatenate(values[j]))[places[j] - 1])
        low, high = self.facts.low.tolist(), self.facts.high.tolist()
        self.floats = []
        for j, middle in enumerate(middles):
            bins = found.bins[j]
            if middle is None or bins is None:
                self.floats.append(None)
                continue
            missing = int(bins.sum()) < found.n_different
            self.floats.append(
                ColumnFloats.of_range(
                    low[j], high[j], middle, float(stand_in[j]) if missing else None
                )
            )

    def _outline(self, stand_in: FloatArray) -> ForestRows:
        """Return what rows have in common, without rows."""
        outline, p = self.table.recipe.outline, len(stand_in)
        levels = outline.n_levels
        none = np.empty(0, np.int64)
        exponent = [0 if one is None else one.exponent for one in self.floats]
        is_number = len(self.facts.by_class) == 0
        learnt = self.different.keys.learnt
        return ForestRows(
            Z=outline.Z,
            source=none,
            group=none,
            keys=np.empty(0, np.uint64),
            pieces=none,
            count=none,
            weights=np.empty(0),
            unit=outline.unit,
            target=np.empty((0, 1)) if is_number else np.empty(0, np.int32),
            rank=np.empty((0, p), np.int32),
            n_values=np.where(levels > 0, levels + 1, 0).astype(np.int32),
            x=np.empty((0, p), np.float32),
            exponent=np.array(exponent, dtype=np.int32),
            stand_in=stand_in,
            level_ptr=pointers(np.where(levels > 0, levels + 1, 0)),
            has_missing=(outline.has_missing & (levels == 0)).astype(np.uint8),
            has_choice=not is_number and int(learnt[-1]) > 1,
        )

    def _rows(self, sampling: Sampling, drawn: list[DrawnRows]) -> ForestRows:
        """Return rows that were fetched as trees of a forest see them."""
        Z, key, pieces, weight, target = (np.concatenate(one) for one in zip(*drawn, strict=True))
        drawn.clear()
        key, order = np.unique(key, return_index=True)
        shared, n = sampling.rows, len(key)
        rank = np.empty((n, Z.shape[1]), dtype=np.int32)
        x = np.zeros((n, Z.shape[1]), dtype=np.float32)
        n_values = shared.n_values.copy()
        for j, floats in enumerate(self.floats):
            values = np.asarray(Z[order, j], dtype=np.float64)
            if n_values[j]:  # levels
                rank[:, j] = np.where(np.isnan(values), n_values[j] - 1, values)
                continue
            rank[:, j], distinct = ranks_of(values)
            if floats is not None:
                x[:, j] = floats.of(values, float(shared.stand_in[j]))
            known = len(distinct) if self.n_values is None else self.n_values[j]
            n_values[j] = max(2 * n + 1, len(distinct)) if known is None else known
        return replace(
            shared,
            Z=Z,
            source=order.astype(np.int64),
            keys=key,
            pieces=pieces[order],
            weights=weight[order].astype(np.float64),
            target=np.ascontiguousarray(target[order]),
            rank=rank,
            x=x,
            n_values=n_values,
        )

    # --- growing

    def _rows_of_tree(self, replace: bool, size: float) -> int:
        """Return how many different rows a tree draws at most, but for rare chances."""
        n = self.facts.n_rows
        # Where rows differ in weight, fewer different ones are drawn.
        mean = -n * math.expm1(-size / n) if replace else min(size * self.n_counted, n)
        return int(min(mean + 6 * math.sqrt(mean) + 16, n))

    def _trees_at_once(self, sampling: Sampling) -> int:
        """Return of how many trees the rows fit in memory together; refuse if of none."""
        plan, n = self.table.plan, self.facts.n_rows
        row = bytes_of_row(plan, self.table.recipe.outline.Z.dtype.itemsize)
        most = plan.limit // 2 // row
        if n <= most:
            return 2**31
        of_tree = self._rows_of_tree(sampling.replace, sampling.size)
        if of_tree > most:
            fewer = max(int(most - 6 * math.sqrt(most) - 16), 1)
            needed = math.ceil((2 * of_tree * row + plan.reading) / 2**20)
            raise NeedsAllRows(
                f"Each tree of the forest draws about {of_tree:,} different rows of {n:,}, and "
                f"memory_limit has room for {most:,}. Give max_samples={fewer} or less, which is "
                f"another forest, or memory_limit='{needed}MiB', which is the one of all rows."
            )
        return most // of_tree

    def grown(
        self,
        sampling: Sampling,
        first: int,
        end: int,
        grow: Grow,
        time_limit: float | None = None,
    ) -> PackedTrees:
        """Grow trees `first` to `end` - 1: rows of as many as fit in memory are fetched in a pass.

        `grow` grows trees from rows in memory.
        """
        at_once, begin = self._trees_at_once(sampling), time.monotonic()
        found: PackedTrees | None = None
        while first < end:
            left = None if time_limit is None else time_limit - (time.monotonic() - begin)
            if left is not None and left <= 0 and found is not None:
                break
            last = min(first + at_once, end)
            some = grow(self._fetched(sampling, first, last), first, last, left)
            found = some if found is None else found.joined_to(some)
            if len(some) < last - first:  # time is up
                break
            first = last
        assert found is not None
        return found

    def _fetched(self, sampling: Sampling, first: int, last: int) -> Sampling:
        """Fetch the rows that some trees draw."""
        trees = tuple(range(first, last))
        drawn: list[DrawnRows] = self._ask(DrawnLook(self.different, sampling, trees)) or []
        here = replace(sampling, rows=self._rows(sampling, list(drawn))) if drawn else sampling
        none = trees
        if drawn:
            none = tuple(tree for tree in trees if not here.of_tree(tree)[1].any())
        if none:  # the row that was nearest to being drawn is taken
            look = DrawnLook(self.different, replace(sampling, never_none=True), none)
            drawn = [*drawn, *self._ask(look)]
            here = replace(sampling, rows=self._rows(sampling, drawn))
        here = replace(here, never_none=True)
        for tree in none:
            piece = int(np.flatnonzero(here.drawn_pieces(tree))[0])
            ends = pointers(here.rows.pieces)
            at = int(np.searchsorted(ends, piece, side="right")) - 1
            self.alone[tree] = int(here.rows.keys[at]), piece - int(ends[at])
        return here

    # --- out of bag

    def keeps_out_of_bag(self, width: int) -> bool:
        """Say whether what trees say out of bag fits in memory, so many numbers a row."""
        return self.facts.n_rows * (width + 2) * 8 <= self.table.plan.limit // 4

    def out_of_bag(self, sampling: Sampling, trees: PackedTrees) -> OutOfBag:
        """Ask trees about the rows that they were grown without."""
        look = OutOfBagLook(self.different, sampling, trees, self.alone, counts=False)
        return OutOfBag(*map(np.concatenate, zip(*_in_order(self._ask(look)), strict=True)))

    def right_out_of_bag(self, sampling: Sampling, trees: PackedTrees) -> tuple[int, int, int]:
        """Count rows, those that some tree was grown without, and right answers to these."""
        look = OutOfBagLook(self.different, sampling, trees, self.alone, counts=True)
        n_rows, known, right = self._ask(look).tolist()
        return n_rows, known, right


def _edges(values: FloatArray) -> FloatArray:
    """Return edges that have about as many values between them."""
    found = np.sort(values[~np.isnan(values)])
    return np.unique(found[:: max(len(found) // EDGES, 1)])


def bytes_of_row(plan: MemoryPlan, itemsize: int) -> int:
    """Return how much memory a row takes from which trees are grown; values for a while twice."""
    columns = (2 * itemsize + 8) * plan.n_features
    return columns + BYTES_OF_ROW + BYTES_OF_GROWER * plan.n_threads
