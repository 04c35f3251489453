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
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from obliqua._core.base.rng import child_key, column_order
from obliqua._core.grow.finder import Finder
from obliqua._core.grow.subtree import Subtree, leaf_without_search
from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.number_targets import Medians, Rates
from obliqua.data.problem import Problem
from obliqua.data.sparse_rows import no_sparse
from obliqua.data.target import Classes
from obliqua.engine.assemble import AXIS_LABEL, Block, Records, assemble
from obliqua.engine.axis_cuts import SERIAL_ROWS, SortedColumns, plain_columns
from obliqua.engine.candidates import (
    AxesAsPlanes,
    Candidates,
    CompiledDirections,
    MethodAsked,
    OpenNode,
    PlaneSearch,
    ProposedDirections,
    ProposerAsked,
    RowWindows,
    SharedCandidates,
    SortedAxes,
)
from obliqua.engine.compiled import (
    CodedAxes,
    CompiledMethod,
    CompiledSide,
    CountsTries,
    has_few_rows,
)
from obliqua.engine.moments import feature_scale, weight_shift
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.engine.search import Split
from obliqua.tree.tree import Tree

__all__ = ["WholeFit", "grow", "grow_nodes", "on_one_axis", "proposals_of"]

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
    problem = problem.measured_by(measure)
    rules = Rules() if rules is None else rules
    if problem.n_rows < SERIAL_ROWS // (4 if has_finder else 1):
        n_threads = 1
    drawn_by_finder = proposals.n_drawn is not None and (has_finder or problem.coded.any())
    if problem.is_sparse or drawn_by_finder:
        n_threads = 1  # what compiled growth knows, the loop here does not
    growth = _Growth(problem, proposals, measure, rules, n_threads, WholeFit(total_weight))
    with growth.threads():
        growth.run(key & (2**64 - 1), depth)
    return growth.tree()


def proposals_of(proposer: Any) -> Proposals:
    """Return what is proposed; one feature is an axis, and those are looked at anyway."""
    proposals = proposer if isinstance(proposer, Proposals) else Proposals(proposer)
    has_finder = isinstance(proposals.proposer, CompiledSide)
    if has_finder and proposals.max_features == 1 and proposals.axis_parallel:
        proposals = Proposals(n_drawn=proposals.n_drawn)
    return proposals


class WholeFit(NamedTuple):
    """What a part of a tree must know of all rows of the fit; None: its rows are all."""

    total_weight: int | None = None
    scale: FloatArray | None = None  # factors of the features
    wide: bool | None = None  # whether there are few of them, see `has_few_rows`
    stand_ins: FloatArray | None = None  # for missing numbers, where a node knows none


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


_Waiting = list[tuple[float, int, OpenNode]]  # in the order of a heap


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
        self.whole = whole
        self.n_threads = max(1, n_threads)
        total = whole.total_weight
        self.total_weight = problem.total_weight if total is None else total
        self.pool: ThreadPoolExecutor | None = None
        # Compiled code has gains in a unit of its own; so has the least gain there.
        self.gain_unit = problem.target.gain_unit if criterion.code >= 0 else 1.0
        self.rules = replace(rules, min_gain=rules.min_gain / self.gain_unit)
        # A limit on leaves is a choice of the best ones.
        self.best_first = rules.best_first or rules.max_leaf_nodes is not None
        # Sorted columns serve axis-parallel cuts; windows of row numbers serve everything else.
        self.columns: SortedColumns | None = None
        self.windows: RowWindows | None = None
        self.method: CompiledMethod | None = None
        self.ways: list[Candidates] = []
        self.records = Records(len(problem.counts))
        self.blocks: list[Block] = []

    @property
    def prices_fit(self) -> bool:
        """Whether a compiled method may search: what its directions cost is a squared error."""
        return not isinstance(self.problem.target, (Medians, Rates))

    def _check_lines(self) -> None:
        """Refuse that by which linear functions cannot be compared."""
        if self.looks_at_axes and not self.proposals.axis_parallel:
            raise ValueError(
                "Cuts are compared by the linear functions of their sides along single features "
                "too; got axis_parallel=False. Leave it out, or give a proposer of your own."
            )
        if self.looks_at_axes and not self.prices_fit:
            raise ValueError(
                "Leaves that say linear functions are fitted by squared errors; got the criterion "
                f"{self.criterion.name!r}. Use 'squared_error', or leaves that say constants."
            )

    def _check_sparse(self) -> None:
        """Refuse what must see the rows of a node."""
        if not self.problem.is_sparse:
            return
        if self.proposals.proposer is not None and self.proposals.n_drawn is None:
            raise ValueError(
                no_sparse(
                    f"{type(self.proposals.proposer).__name__}, whose directions use all features,"
                )
            )
        if self.proposals.scale is not None:
            raise ValueError(
                "Features of a sparse X are not scaled by their spread in all rows; got "
                f"scale={self.proposals.scale!r}. Leave it out, or scale X, for instance with "
                "scikit-learn's MaxAbsScaler."
            )
        if self.criterion.code < 0:
            raise ValueError(
                "Trees are grown from sparse X by the criteria of the library; got the function "
                f"{self.criterion.name!r}. Name one of them, or give X.toarray()."
            )
        if not self.problem.sortable.all():
            raise ValueError(
                "A sparse X may have missing values if fill='side' tries them on both sides of a "
                "split. Set that, or replace them."
            )

    def _check_draws(self) -> None:
        """Refuse what knows nothing of features that a node draws."""
        proposer = self.proposals.proposer
        if self.proposals.n_drawn is None or proposer is None:
            return
        what = None
        if not (isinstance(proposer, CompiledSide) and proposer.chooses_features):
            what = f"the method {type(proposer).__name__}"
        elif self.criterion.code < 0:
            what = f"the function {self.criterion.name!r} as a criterion"
        elif self.proposals.at_root:
            what = "reflections of the root"
        elif self.problem.coded.any():
            what = "columns of levels or with missing values"
        if what is not None:
            raise ValueError(
                f"max_features, by which each node draws features, does not go with {what}. Leave "
                "it out, or take a forest, whose nodes draw features too."
            )

    def _prepare(self) -> None:
        """Sort columns, and choose the ways to find splits."""
        problem, proposals, compiled = self.problem, self.proposals, self.criterion.code >= 0
        has_proposer = proposals.proposer is not None
        with_axes = proposals.axis_parallel
        if compiled and with_axes:
            self.columns = SortedColumns(problem, self.n_threads, self.pool)
            if not self.looks_at_axes:
                self.ways.append(SortedAxes(self.columns, self.criterion, self.rules))
            if not has_proposer and problem.sortable.all():
                return
        # Proposers see numbers everywhere; otherwise what can be sorted needs no other numbers.
        coded = problem.coded if has_proposer or not compiled else ~problem.sortable
        self.windows = RowWindows(problem, coded, self.whole.stand_ins)
        scale = self._scale() if has_proposer or coded.any() else None
        self.method = self._method(scale)
        search = PlaneSearch(self.windows, self.criterion, self.rules, self.pool, self.n_threads)
        others = np.ones(problem.n_features, dtype=bool) if not compiled else ~problem.sortable
        searches = self.method is not None and self.columns is not None and self.prices_fit
        searches &= not proposals.at_root  # compiled growth asks a method at each node
        if with_axes and others.any() and not self.looks_at_axes:
            looked_at = searches
            by_finder = looked_at or (self.columns is not None and not has_proposer)
            self.ways.append(AxesAsPlanes(search, others, looked_at, in_python=not by_finder))
        if searches:
            assert self.method is not None
            assert self.columns is not None
            work = (self.pool, self.n_threads)
            self.ways.append(CompiledDirections(self.method, self.windows, self.columns, *work))
        elif has_proposer:
            ask: ProposerAsked | MethodAsked
            if self.method is None:
                ask = ProposerAsked(self.windows, proposals, scale if proposals.scale else None)
            else:
                ask = MethodAsked(self.windows, self.method)
            self.ways.append(ProposedDirections(ask, search, proposals))

    @property
    def looks_at_axes(self) -> bool:
        """Whether a compiled method looks at single columns itself."""
        proposer = self.proposals.proposer
        return isinstance(proposer, CompiledSide) and proposer.looks_at_axes

    def _scale(self) -> FloatArray:
        """Return the factors of the features."""
        if self.whole.scale is not None:
            return self.whole.scale
        return feature_scale(self.problem, self.proposals.scale)

    def _method(self, scale: FloatArray | None) -> CompiledMethod | None:
        """Return the compiled side of the proposer, or what looks at coded columns alone."""
        assert self.windows is not None
        proposals, coding = self.proposals, self.windows.coding
        if scale is None:
            return None
        if not isinstance(proposals.proposer, CompiledSide):
            classes = isinstance(self.problem.target, Classes)
            if proposals.proposer is not None or not classes or self.columns is None:
                return None
            proposals = Proposals(CodedAxes())
        wide = self.whole.wide
        if wide is None:
            n_features = proposals.n_drawn or self.problem.n_features
            wide = has_few_rows(self.problem.n_counted, n_features)
        method = CompiledMethod(
            self.problem, proposals, self.criterion, self.rules, scale, coding, wide
        )
        method.weight_shift = weight_shift(self.total_weight)
        return method

    def close(self) -> None:
        """Give back the memory that the ways to find splits hold."""
        for way in self.ways:
            way.close()

    @property
    def in_python(self) -> bool:
        """Whether the loop here must look at each node."""
        return any(way.in_python for way in self.ways)

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
        other.pool, other.n_threads = None, 1
        assert self.columns is not None
        other.columns = self.columns.alone()
        if self.windows is not None:
            other.windows = self.windows.alone()
        shared = [way for way in self.ways if isinstance(way, SharedCandidates)]
        other.ways = [way.alone(other.windows, max_rows) for way in shared]
        return other

    # -- the whole tree ---------------------------------------------------------------------

    def run(self, key: int, depth: int) -> None:
        """Grow all nodes: into `records` and `blocks`."""
        problem = self.problem
        root = OpenNode(
            start=0,
            end=problem.n_rows,
            depth=depth,
            counts=problem.counts,
            active=plain_columns(problem),
            key=key,
        )
        self._check_lines()
        self._check_sparse()
        self._check_draws()
        self._prepare()
        if not self.in_python and self.n_threads == 1:
            self._grow_subtree(root)
        elif self.best_first:
            self._best_first(root, self.rules.max_leaf_nodes or problem.n_rows)
        else:
            self._depth_first(root, hand_over=not self.in_python)
        self.close()
        self.columns = None  # assembling large trees takes room

    def tree(self) -> Tree:
        """Return the nodes as a tree; they are used up."""
        describe = on_one_axis if self.method is None else self.method.describe
        return assemble(self.records, self.blocks, self.problem, describe, self.gain_unit)

    def _grow_subtree(self, node: OpenNode) -> None:
        assert self.columns is not None
        subtree = Subtree(
            self.columns.lists,
            self.rules,
            self.criterion.code,
            self.total_weight,
            node.rows,
            self._finder(node.rows),
            None if self.windows is None else self.windows.numbers,
            self.proposals.n_drawn or 0,
            self.proposals.n_drawn is not None and self.proposals.proposer is not None,
        )
        window = (node.start, node.end, node.depth)
        alone = node.rows == self.problem.n_rows  # the whole tree, so nobody else needs columns
        grown = subtree.grow(*window, node.counts, node.active, self.best_first, node.key, alone)
        self.blocks.append(Block(node.parent, *grown))

    def _finder(self, max_rows: int) -> Finder | None:
        """Return what compiled growth asks beside the sorted columns."""
        if self.method is not None:
            return self.method.finder(max_rows)
        coding = None if self.windows is None else self.windows.coding
        return None if coding is None else coding.finder(max_rows)

    def _depth_first(self, root: OpenNode, *, hand_over: bool) -> None:
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
        self.close()
        # The largest first, so that no thread is left with a long task at the end.
        subtrees.sort(key=lambda node: -node.rows)
        self.each(self._grow_subtree, subtrees)

    def _best_first(self, root: OpenNode, most: int) -> None:
        """Divide the node whose split gains most next, up to so many leaves."""
        waiting: _Waiting = []
        leaves = 1

        def put(node: OpenNode) -> None:
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

    def divide_ahead(self, node: OpenNode) -> None:
        """Divide a node, and look for the splits of its children."""
        children = self.divide(node)
        for child in children:
            self.consider(child)
        node.children = children

    def consider(self, node: OpenNode) -> None:
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

    @property
    def has_keys(self) -> bool:
        """Whether nodes have random numbers of their own."""
        return self.proposals.proposer is not None or self.proposals.n_drawn is not None

    def _search(self, node: OpenNode) -> Split | None:
        """The best split; without any gain in sight, the first cut if the rules want one."""
        for looked_at in self._draws(node):
            node.looked_at = looked_at
            best = self._best_of_ways(node, exhaustive=False)
            if best is not None:
                return best
        node.looked_at = None
        return self._best_of_ways(node, exhaustive=True) if self.rules.zero_gain else None

    def _best_of_ways(self, node: OpenNode, *, exhaustive: bool) -> Split | None:
        best: Split | None = None
        for way in self.ways:
            best = way.better(node, best, exhaustive)
        return best

    def _draws(self, node: OpenNode) -> Iterator[BoolArray | None]:
        """Yield which columns the node looks at: all, or as many as it draws at a time."""
        most, p = self.proposals.n_drawn, self.problem.n_features
        if most is None:
            yield None
            return
        order = column_order(node.key, p)
        for passed in range(0, p, most):
            looked_at = np.zeros(p, dtype=bool)
            looked_at[order[min(passed, p - most) :][:most]] = True
            yield looked_at

    # -- dividing ---------------------------------------------------------------------------

    def divide(self, node: OpenNode) -> list[OpenNode]:
        """Divide the node's rows by its split and return its two children."""
        split = node.split
        assert split is not None
        left = self._mark(node, split)
        middle = node.start + split.rows_left
        children = [
            OpenNode(
                start=start,
                end=end,
                depth=node.depth + 1,
                counts=counts,
                active=node.active,
                key=child_key(node.key, side) if self.has_keys else 0,
            )
            for side, (start, end, counts) in enumerate(
                [(node.start, middle, left), (middle, node.end, node.counts - left)]
            )
        ]
        if self.columns is not None:
            self.columns.divide(node, split)
        return children

    def keep(self, node: OpenNode, children: list[OpenNode]) -> list[OpenNode]:
        """Record a node's split; its children learn the number of their parent."""
        number = self.records.add(node, node.split)
        for child in children:
            child.parent = number
        return children

    def _mark(self, node: OpenNode, split: Split) -> Int64Array:
        """Decide each row's side by the canonical value; returns the left class sums."""
        columns, windows = self.columns, self.windows
        if columns is not None and (split.column >= 0 or split.marked):
            left = columns.cut(node, split) if split.column >= 0 else None
            if windows is not None:
                left = np.asarray(columns.lists.divide_window(windows.rows(node)))
            assert left is not None
            return left
        assert windows is not None
        rows = windows.rows(node).copy()
        right, left = windows.divide(node, split)
        if columns is not None:
            columns.lists.mark(rows, right.astype(np.uint8))
        return left


def on_one_axis(direction: int) -> str:
    """Say what a direction is, where no method proposes any."""
    return AXIS_LABEL


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
        self, task: Callable[[_Growth, OpenNode], None], nodes: Iterable[OpenNode], max_rows: int
    ) -> None:
        """Let workers do something to each node, none of which has more than `max_rows` rows."""
        growth = self.growth
        while len(self.free) < growth.n_threads:
            # The first of these nodes are the children of the root: all others are smaller.
            self.free.append(growth.worker(max_rows))

        def one(node: OpenNode) -> None:
            worker = self.free.pop()
            try:
                task(worker, node)
            finally:
                self.free.append(worker)

        growth.each(one, nodes)

    def close(self) -> None:
        """Give back the memory of the workers."""
        for worker in self.free:
            worker.close()
