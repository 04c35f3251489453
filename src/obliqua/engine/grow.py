"""Growing a tree: problem + proposals + criterion + rules -> Tree.

Axis-parallel trees, and trees of methods with a compiled side, are grown by compiled code alone. A
proposer or a criterion written in Python is asked node by node by the loop in this file; the loop
also starts large trees with several threads (over columns and directions in large nodes, then over
subtrees). The number of threads changes no bit, because every choice is a function of exact sums.
A criterion in Python sees normals that are rounded already, so among equally good directions it
may choose another one than its compiled twin.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from obliqua._core.base.rng import child_key
from obliqua._core.grow.subtree import Subtree, leaf_without_search
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.problem import Problem
from obliqua.data.target import Classes
from obliqua.engine.assemble import (
    ALONE_RIGHT,
    AXIS_LABEL,
    GO_LEFT,
    GO_RIGHT,
    Block,
    Records,
    assemble,
)
from obliqua.engine.axis_cuts import SERIAL_ROWS, ColumnSet, SortedColumns, plain_columns
from obliqua.engine.coding import CodedColumns, CodedNode, Terms
from obliqua.engine.compiled import CodedAxes, CompiledMethod, CompiledSide, CountsTries
from obliqua.engine.moments import feature_scale, spread, weight_shift
from obliqua.engine.proposals import (
    NodeView,
    Planes,
    Proposals,
    function_of,
    identity_planes,
    read_directions,
)
from obliqua.engine.rules import Rules
from obliqua.engine.search import Split, SplitSearch, best_split
from obliqua.tree.tree import Tree

__all__ = ["WholeFit", "grow", "grow_nodes", "proposals_of"]

T = TypeVar("T")

AHEAD = 4  # nodes for each thread: enough to share large and small ones out evenly


def grow(
    problem: Problem,
    proposer: Any = None,
    criterion: str | Callable[..., Any] | Criterion = "twoing",
    rules: Rules | None = None,
    n_threads: int = 1,
    key: int = 0,
    depth: int = 0,
    total_weight: int | None = None,
) -> Tree:
    """Grow a tree, or the part of one below some node.

    Parameters
    ----------
    problem : Problem
        The data.
    proposer : Proposals, proposer or function of a node, or None
        Where directions come from. None and `obliqua.engine.proposals.AXIS` grow axis-parallel
        trees. A bare proposer competes with axis-parallel splits; say
        ``Proposals(proposer, axis_parallel=False)`` if it should not.
    criterion : str, Criterion or function
        How good a split is.
    rules : Rules
        When to stop.
    n_threads : int
        Threads to use. The tree does not depend on it.
    key : int
        Seed of the nodes' random numbers: `child_key` of the parent's key, for a node below.
    depth : int
        Depth of the root, if the problem's rows are those of a node of a larger tree.
    total_weight : int or None
        Weight of all rows of that larger tree in grid units, for the gains; None: of these.

    Returns
    -------
    Tree
        The grown tree.
    """
    proposals = proposals_of(proposer)
    has_finder = isinstance(proposals.proposer, CompiledSide)
    measure = get_criterion(criterion)
    problem.target.check_criterion(measure)
    rules = Rules() if rules is None else rules
    if problem.n_rows < SERIAL_ROWS // (4 if has_finder else 1):
        n_threads = 1
    growth = _Growth(problem, proposals, measure, rules, n_threads, WholeFit(total_weight))
    with growth.threads():
        growth.run(key & (2**64 - 1), depth)
    return growth.tree()


def proposals_of(proposer: Any) -> Proposals:
    """Return what is proposed; one feature is an axis, and those are looked at anyway."""
    proposals = proposer if isinstance(proposer, Proposals) else Proposals(proposer)
    has_finder = isinstance(proposals.proposer, CompiledSide)
    if has_finder and proposals.max_features == 1 and proposals.axis_parallel:
        return Proposals()
    return proposals


class WholeFit(NamedTuple):
    """What a part of a tree must know of all rows of the fit; None: its rows are all."""

    total_weight: int | None = None
    scale: FloatArray | None = None  # factors of the features


def grow_nodes(
    problem: Problem,
    proposals: Proposals,
    criterion: Criterion,
    rules: Rules,
    whole: WholeFit,
    key: int,
    depth: int,
) -> tuple[Records, list[Block]]:
    """Grow what lies below a node of a larger tree, and leave it to others to assemble."""
    growth = _Growth(problem, proposals, criterion, rules, 1, whole)
    growth.run(key, depth)
    return growth.records, growth.blocks


@dataclass
class _Pending:
    """A node that waits: its window, and what its parent knows of it."""

    start: int
    end: int
    depth: int
    counts: Int64Array
    active: ColumnSet
    key: int
    parent: int = -1
    split: Split | None = None
    children: list[_Pending] | None = None  # if it was divided ahead of need

    @property
    def rows(self) -> int:
        return self.end - self.start


_Waiting = list[tuple[float, int, _Pending]]  # in the order of a heap


class _Growth:
    """One growing tree: the engine's state and the loop over its nodes."""

    def __init__(
        self,
        problem: Problem,
        proposals: Proposals,
        criterion: Criterion,
        rules: Rules,
        n_threads: int,
        whole: WholeFit,
    ) -> None:
        self.problem = problem
        self.proposals = proposals
        self.criterion = criterion
        self.n_threads = max(1, n_threads)
        total = whole.total_weight
        self.total_weight = problem.total_weight if total is None else total
        self.known_scale = whole.scale
        self.pool: ThreadPoolExecutor | None = None
        self.compiled = criterion.code >= 0
        # Compiled code has gains in a unit of its own; so has the least gain there.
        self.gain_unit = problem.target.gain_unit if self.compiled else 1.0
        self.rules = replace(rules, min_gain=rules.min_gain / self.gain_unit)
        # A limit on leaves is a choice of the best ones.
        self.best_first = rules.best_first or rules.max_leaf_nodes is not None
        self.has_proposer = proposals.proposer is not None
        self.scale: FloatArray | None = None
        self.method: CompiledMethod | None = None
        # Proposers see numbers everywhere; otherwise what can be sorted needs no other numbers.
        coded = problem.coded if self.has_proposer or not self.compiled else ~problem.sortable
        self.coding = CodedColumns(problem, coded) if coded.any() else None
        self.last_coded: tuple[_Pending, CodedNode] | None = None  # of the last node that was read
        if self.has_proposer or self.coding:
            self._prepare()
        # What the loop here must ask node by node.
        self.in_python = not self.compiled or (
            (self.has_proposer or self.coding is not None)
            and (self.method is None or not proposals.axis_parallel)
        )
        # Sorted columns serve axis-parallel cuts; the row numbers serve everything else.
        self.columns: SortedColumns | None = None
        self.row_numbers: Int32Array | None = None
        self.records = Records(len(problem.counts))
        self.blocks: list[Block] = []

    def _prepare(self) -> None:
        """Find out what a proposer needs to know of all rows."""
        proposals = self.proposals
        scale = self.known_scale
        if scale is None:
            scale = feature_scale(self.problem, proposals.scale)
        if isinstance(proposals.proposer, CompiledSide):
            self.method = self._compiled(proposals, scale)
        elif self.coding and not self.has_proposer and isinstance(self.problem.target, Classes):
            self.method = self._compiled(Proposals(CodedAxes()), scale)
        elif proposals.scale is not None:
            self.scale = scale

    def _compiled(self, proposals: Proposals, scale: FloatArray) -> CompiledMethod:
        method = CompiledMethod(
            self.problem, proposals, self.criterion, self.rules, scale, self.coding
        )
        method.weight_shift = weight_shift(self.total_weight)
        return method

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Keep a pool while growing; whatever goes wrong, its threads are told to stop."""
        if self.n_threads == 1:
            yield
            return
        with ThreadPoolExecutor(self.n_threads) as pool:
            self.pool = pool
            try:
                yield
            except BaseException:
                if self.columns is not None:
                    self.columns.lists.stop = True
                raise

    def each(self, task: Callable[..., T], items: Iterable[Any]) -> list[T]:
        """Run a task for each item, on the pool if there is one."""
        if self.pool is None:
            return [task(item) for item in items]
        return list(self.pool.map(task, items))

    @property
    def can_divide_ahead(self) -> bool:
        """Whether nodes may be divided ahead of need, each by a thread of its own."""
        counts = isinstance(self.proposals.proposer, CountsTries)
        return self.pool is not None and not self.in_python and not counts

    def worker(self, max_rows: int) -> _Growth:
        """Return one that works alone at nodes of up to `max_rows` rows, on the same arrays."""
        other = copy(self)
        other.pool, other.n_threads, other.last_coded = None, 1, None
        assert self.columns is not None
        other.columns = self.columns.alone()
        if self.method is not None:
            other.method = self.method.alone(max_rows)
        return other

    # -- the whole tree ---------------------------------------------------------------------

    def run(self, key: int, depth: int) -> None:
        """Grow all nodes: into `records` and `blocks`."""
        problem = self.problem
        root = _Pending(
            start=0,
            end=problem.n_rows,
            depth=depth,
            counts=problem.counts,
            active=plain_columns(problem),
            key=key,
        )
        if self.compiled and self.proposals.axis_parallel:
            self.columns = SortedColumns(problem, self.n_threads, self.pool)
        if self.has_proposer or not self.compiled or self.coding:
            self.row_numbers = np.arange(problem.n_rows, dtype=np.int32)
        if not self.in_python and self.n_threads == 1:
            self._grow_subtree(root)
        elif self.best_first:
            self._best_first(root, self.rules.max_leaf_nodes or problem.n_rows)
        else:
            self._depth_first(root, hand_over=not self.in_python)
        if self.method is not None:
            self.method.close()
        self.columns = None  # assembling large trees takes room

    def tree(self) -> Tree:
        """Return the nodes as a tree; they are used up."""
        describe = str if self.method is None else self.method.describe
        return assemble(self.records, self.blocks, self.problem, describe, self.gain_unit)

    def _grow_subtree(self, node: _Pending) -> None:
        assert self.columns is not None
        subtree = Subtree(
            self.columns.lists,
            self.rules,
            self.criterion.code,
            self.total_weight,
            node.rows,
            None if self.method is None else self.method.finder(node.rows),
            self.row_numbers,
        )
        window = (node.start, node.end, node.depth)
        alone = node.rows == self.problem.n_rows  # the whole tree, so nobody else needs columns
        grown = subtree.grow(*window, node.counts, node.active, self.best_first, node.key, alone)
        self.blocks.append(Block(node.parent, *grown))

    def _depth_first(self, root: _Pending, *, hand_over: bool) -> None:
        """Divide nodes here; with `hand_over`, small ones become subtrees for the threads."""
        small = max(root.rows // (8 * self.n_threads), SERIAL_ROWS // 8)
        waiting, subtrees = [root], []
        while waiting:
            node = waiting.pop()
            if hand_over and node.rows <= small:
                subtrees.append(node)
                continue
            self.consider(node)
            if node.split is None:
                self.records.add(node)
            else:
                waiting.extend(reversed(self.keep(node, self.divide(node))))
        if self.method is not None:
            self.method.close()
        # The largest first, so that no thread is left with a long task at the end.
        subtrees.sort(key=lambda node: -node.rows)
        self.each(self._grow_subtree, subtrees)

    def _best_first(self, root: _Pending, most: int) -> None:
        """Divide the node whose split gains most next, up to so many leaves."""
        waiting: _Waiting = []
        leaves = 1

        def put(node: _Pending) -> None:
            if node.split is None:
                self.records.add(node)
            else:
                # Equal gains: the node first in path order; windows never overlap.
                heapq.heappush(waiting, (-node.split.gain, node.start, node))

        self.consider(root)
        put(root)
        workers = _Workers(self) if self.can_divide_ahead else None
        while waiting and leaves < most:
            if workers is not None and waiting[0][2].children is None:
                workers.divide_next(waiting, most - leaves)
            node = heapq.heappop(waiting)[2]
            leaves += 1
            if node.children is None:
                self.divide_ahead(node)
            assert node.children is not None
            for child in self.keep(node, node.children):
                put(child)
            node.children = None
        for _, _, node in waiting:
            self.records.add(node)
        if workers is not None:
            workers.close()

    # -- one node ---------------------------------------------------------------------------

    def divide_ahead(self, node: _Pending) -> None:
        """Divide a node, and look for the splits of its children."""
        children = self.divide(node)
        for child in children:
            self.consider(child)
        node.children = children

    def consider(self, node: _Pending) -> None:
        """Find the node's split, if the rules and its cuts allow one."""
        if leaf_without_search(
            self.rules, self.problem.target_rows, node.counts, node.rows, node.depth
        ):
            return
        share = self.problem.target_rows.weight(node.counts) / self.total_weight
        split = self._search(node)
        if split is None:
            return
        split.gain = share * split.goodness
        if split.gain < self.rules.min_gain:
            return
        split.axis_gain = share * split.axis_goodness
        node.split = split

    def _search(self, node: _Pending) -> Split | None:
        """The best split; without any gain in sight, the first cut if the rules want one."""
        planes = self._ask(node) if self.has_proposer and self.in_python else None
        split = best_split(self._candidates(node, planes, exhaustive=False))
        if split is None and self.rules.zero_gain:
            split = min(
                self._candidates(node, planes, exhaustive=True),
                key=lambda found: found.order,
                default=None,
            )
        return split

    def _candidates(
        self, node: _Pending, planes: Planes | None, *, exhaustive: bool
    ) -> list[Split]:
        """The best axis-parallel split and the best proposed one, as far as there are any."""
        axis = self._search_axes(node, exhaustive) if self.proposals.axis_parallel else None
        found = [] if axis is None else [axis]
        goodness = 0.0 if axis is None else axis.goodness
        if self.method is not None and not self.in_python and not exhaustive:
            split = self._search_method(node, axis)
            if split is not None:
                goodness = split.axis_goodness  # it has looked at the coded columns too
                found = [split]  # better than the axes, by the measure of its bias
        if planes is not None:
            split = self._search_planes(node, planes, exhaustive)
            if self.problem.sides and not self.proposals.axis_parallel:
                # Whether a value is there may tell more than what the method proposes.
                presence = self._search_gaps(node, self._gaps(node), (ALONE_RIGHT,), exhaustive)
                if presence is not None and (split is None or presence.goodness > split.goodness):
                    split = presence
            if split is not None:
                split.order += self.problem.n_features  # after every feature
                if exhaustive or axis is None:
                    found.append(split)
                elif split.goodness > self.proposals.axis_bias * goodness:
                    found = [split]
        for split in found:
            if self.proposals.axis_parallel:
                split.axis_goodness = goodness
        return found

    def _search_axes(self, node: _Pending, exhaustive: bool) -> Split | None:
        """The best split along one column; a compiled method looks at the coded ones itself."""
        found = []
        axes = identity_planes(self.problem.n_features)
        if self.columns is not None:
            axes = axes.only(~self.problem.sortable)
            found = [self.columns.search(node, self.criterion.code, self.rules, exhaustive)]
        if self.columns is None or (self.coding is not None and (self.in_python or exhaustive)):
            if self.columns is None and self.problem.sides:
                gaps = self._gaps(node)
                axes = axes.only(~gaps)
                tried = (GO_RIGHT, ALONE_RIGHT, GO_LEFT)  # as the sorted columns have it
                found.append(self._search_gaps(node, gaps, tried, exhaustive))
            split = self._search_planes(node, axes, exhaustive)
            if split is not None:
                split.label = AXIS_LABEL
            found.append(split)
        return best_split(split for split in found if split is not None)

    def _gaps(self, node: _Pending) -> BoolArray:
        """Which columns of numbers miss some values here."""
        gaps = self.problem.has_missing & (self.problem.n_levels == 0)
        coded, _ = self._coded(node)
        for column in np.flatnonzero(gaps).tolist():
            gaps[column] = coded.gone(np.array([column])).any()
        return gaps

    def _search_gaps(
        self, node: _Pending, gaps: BoolArray, ways: tuple[int, ...], exhaustive: bool
    ) -> Split | None:
        """The best split along one of some columns, with what is missing put aside."""
        coded, rows = self._coded(node)
        tried: list[tuple[int, int]] = []
        values: list[AnyArray] = []
        for column in np.flatnonzero(gaps).tolist():
            gone = coded.gone(np.array([column]))
            if gone.all():
                continue
            x = coded.problem.Z[:, column]
            ends = {GO_RIGHT: x[~gone].max(), GO_LEFT: x[~gone].min()}
            for way in ways:
                values.append(np.where(gone, ends[way], x) if way in ends else gone * 1.0)
                tried.append((column, way))
        if not tried:
            return None
        problem = coded.aside(values)
        split = self._splits(problem, rows, node, exhaustive).best(identity_planes(len(tried)))
        if split is None:
            return None
        split.order, split.missing = tried[split.order]
        alone = split.missing == ALONE_RIGHT
        split.threshold = 0.0 if alone else split.threshold
        split.terms = Terms.plain(
            np.array([split.order], dtype=np.int32), np.array([0.0 if alone else 1.0])
        )
        split.label = AXIS_LABEL
        return split

    def _search_planes(self, node: _Pending, planes: Planes, exhaustive: bool) -> Split | None:
        split = self._splits(*self._numbers(node), node, exhaustive).best(planes)
        if split is None or not self.problem.sides or exhaustive:
            return split
        return self._with_side(node, split, planes)

    def _with_side(self, node: _Pending, split: Split, planes: Planes) -> Split:
        """The same split, or a better one with all rows that miss something on one side."""
        coded, rows = self._coded(node)
        gone = coded.gone(split.idx)
        alone = len(split.idx) == 1 and self.problem.n_levels[split.idx[0]] > 0
        if alone or not gone.any() or gone.all():  # a missing level is a level
            return split
        search = self._splits(coded.problem, rows, node, False)
        values = search.values(split)
        low, high = values[~gone].min(), values[~gone].max()
        given = None
        if planes.thresholds is not None and not (
            planes.opened is not None and planes.opened[split.order]
        ):
            given = np.full(2, split.threshold)
            low, high = min(low, given[0]), max(high, np.nextafter(given[0], np.inf))
        aside = coded.aside([np.where(gone, high, values), np.where(gone, low, values)])
        axes = identity_planes(2)
        both = Planes(axes.ptr, axes.idx, axes.coef, given, None)
        found = self._splits(aside, rows, node, False).best(both)
        if found is None or found.goodness <= split.goodness:
            return split
        return replace(
            split,
            goodness=found.goodness,
            rows_left=found.rows_left,
            threshold=found.threshold,
            missing=(GO_RIGHT, GO_LEFT)[found.order],
        )

    def _splits(
        self, problem: Problem, rows: Int32Array, node: _Pending, exhaustive: bool
    ) -> SplitSearch:
        return SplitSearch(
            problem,
            rows,
            node.counts,
            self.criterion,
            self.rules,
            exhaustive,
            self.pool,
            self.n_threads,
        )

    def _search_method(self, node: _Pending, axis: Split | None) -> Split | None:
        assert self.method is not None
        assert self.columns is not None
        return self.method.search(
            self._rows(node),
            node.counts,
            node.key,
            axis,
            self.columns.lists,
            self.pool if node.rows >= SERIAL_ROWS // 4 else None,
            self.n_threads,
        )

    def _ask(self, node: _Pending) -> Planes | None:
        """Ask the proposer about a node; its view dies with the answer."""
        if self.method is not None:
            return self.method.planes(self._rows(node), node.counts, node.key)
        problem, rows = self._numbers(node)

        def weights() -> FloatArray:
            if problem.weights is None:
                return np.full(len(rows), problem.unit)
            return np.asarray(problem.weights[rows] * problem.unit, dtype=np.float64)

        def row_weights() -> FloatArray:
            known = self.problem.row_weights
            return view.sample_weight if known is None else known[self._rows(node)]

        def values() -> FloatArray:
            X = np.array(problem.Z[rows], dtype=np.float64)
            return X if self.scale is None else X * self.scale

        def encoded() -> FloatArray:
            if self.coding is None and self.scale is None:
                return np.asarray(view.X)
            return np.array(self.problem.Z[self._rows(node)], dtype=np.float64)

        makers: dict[str, Callable[[], Any]] = {
            "X": values,
            "encoded": encoded,
            "n_levels": self.problem.n_levels.copy,
            "sample_weight": weights,
            "row_weight": row_weights,
            **problem.target.node_fields(rows, node.counts, problem.unit),
        }
        view = NodeView(makers, node.depth, node.key)
        try:
            answer = function_of(self.proposals.proposer)(view)
            most = self.proposals.max_features
            return read_directions(
                answer, problem.n_features, self.scale, most, lambda: spread(problem, rows)
            )
        except Exception as error:
            error.add_note(
                f"(while the proposer looked at a node of {node.rows} rows at depth {node.depth})"
            )
            raise
        finally:
            view.close()

    def _rows(self, node: _Pending) -> Int32Array:
        assert self.row_numbers is not None
        return self.row_numbers[node.start : node.end]

    def _numbers(self, node: _Pending) -> tuple[Problem, Int32Array]:
        """A problem of plain numbers, and which of its rows are the node's."""
        if self.coding is None:
            return self.problem, self._rows(node)
        coded, rows = self._coded(node)
        return coded.problem, rows

    def _coded(self, node: _Pending) -> tuple[CodedNode, Int32Array]:
        """The node with coded columns as numbers, and the numbers of its rows."""
        assert self.coding is not None
        if self.last_coded is None or self.last_coded[0] is not node:
            self.last_coded = node, self.coding.at(self._rows(node), node.counts)
        return self.last_coded[1], np.arange(node.rows, dtype=np.int32)

    # -- dividing ---------------------------------------------------------------------------

    def divide(self, node: _Pending) -> list[_Pending]:
        """Divide the node's rows by its split and return its two children."""
        split = node.split
        assert split is not None
        left = self._mark(node, split)
        middle = node.start + split.rows_left
        children = [
            _Pending(
                start=start,
                end=end,
                depth=node.depth + 1,
                counts=counts,
                active=node.active,
                key=child_key(node.key, side) if self.has_proposer else 0,
            )
            for side, (start, end, counts) in enumerate(
                [(node.start, middle, left), (middle, node.end, node.counts - left)]
            )
        ]
        if self.columns is not None:
            self.columns.divide(node, split)
        return children

    def keep(self, node: _Pending, children: list[_Pending]) -> list[_Pending]:
        """Record a node's split; its children learn the number of their parent."""
        number = self.records.add(node, node.split)
        for child in children:
            child.parent = number
        return children

    def _misses_elsewhere(self, split: Split) -> bool:
        """Whether a split asks for one number, which some row of the problem misses."""
        problem, idx = self.problem, split.idx
        numeric = problem.n_levels[idx] == 0
        return problem.sides and len(idx) == 1 and bool((problem.has_missing[idx] & numeric)[0])

    def _mark(self, node: _Pending, split: Split) -> Int64Array:
        """Decide each row's side by the canonical value; returns the left class sums."""
        if split.column >= 0 and self.columns is not None:
            left = self.columns.cut(node, split)
            if self.row_numbers is not None:
                self.columns.lists.divide_window(self._rows(node))
            return left
        if split.marked:
            assert self.columns is not None
            left = self.columns.lists.divide_window(self._rows(node))
            return np.asarray(left)
        rows = self._rows(node)
        right, left = split.divide(*self._numbers(node), node.counts)
        if self.coding is not None:
            coded, every = self._coded(node)
            split.terms = coded.terms(split.idx, split.coef)
            if split.missing:
                right[coded.gone(split.idx)] = split.missing != GO_LEFT
                left = coded.problem.target_rows.sums(every[right == 0])
            elif self._misses_elsewhere(split) and not coded.gone(split.idx).any():
                weigh = self.problem.target_rows.weight
                split.missing = GO_LEFT if 2 * weigh(left) >= weigh(node.counts) else GO_RIGHT
        split.rows_left = len(rows) - int(right.sum())
        if self.columns is not None:
            self.columns.lists.mark(rows, right)
        _reorder(rows, right.astype(bool))
        return left


def _reorder(rows: Int32Array, right: NDArray[np.bool_]) -> None:
    """Divide a window of row numbers in place; both sides keep their order."""
    rows[:] = np.concatenate([rows[~right], rows[right]])


# --- growing best first --------------------------------------------------------------------------


class _Workers:
    """Threads that divide nodes ahead of need: those whose turn is next, one by each thread.

    They also look for the splits of the children. What a node becomes does not depend on when that
    is done, so the tree is the same; only of the last nodes a few are looked at in vain.
    """

    def __init__(self, growth: _Growth) -> None:
        self.growth = growth
        self.free: list[_Growth] = []

    def divide_next(self, waiting: _Waiting, left: int) -> None:
        """Divide the nodes whose turn is next, if there may be so many more."""
        n_threads = self.growth.n_threads
        turn = heapq.nsmallest(min(AHEAD * n_threads, left), waiting)
        nodes = [node for _, _, node in turn if node.children is None]
        # The largest first, so that no thread is left with a long task at the end.
        nodes.sort(key=lambda node: (-node.rows, node.start))
        if len(nodes) > 1 and 2 * nodes[0].rows * n_threads < 3 * sum(node.rows for node in nodes):
            self._each(_Growth.divide_ahead, nodes, nodes[0].rows)
            return
        # One large node is divided by all threads together, its children one by each.
        node = nodes[0]
        node.children = self.growth.divide(node)
        self._each(_Growth.consider, node.children, max(child.rows for child in node.children))

    def _each(
        self, task: Callable[[_Growth, _Pending], None], nodes: Iterable[_Pending], max_rows: int
    ) -> None:
        """Let workers do something to each node, none of which has more than `max_rows` rows."""
        growth = self.growth
        while len(self.free) < growth.n_threads:
            # The first of these nodes are the children of the root: all others are smaller.
            self.free.append(growth.worker(max_rows))

        def one(node: _Pending) -> None:
            worker = self.free.pop()
            try:
                task(worker, node)
            finally:
                self.free.append(worker)

        growth.each(one, nodes)

    def close(self) -> None:
        """Give back the memory of the workers."""
        for worker in self.free:
            if worker.method is not None:
                worker.method.close()
