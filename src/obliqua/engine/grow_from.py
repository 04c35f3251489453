"""Growing a tree from a source of rows: sums and a few values are all that it is told.

The tree is the one that `obliqua.engine.grow.grow` makes of the same rows in one memory, bit for
bit. All nodes of a level are searched together, so that each pass over the rows serves all of
them. Nodes with few rows are not asked about in passes: their rows are fetched, and the tree below
is grown in this memory.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add, gt
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.base.exact import means_of_digits
from obliqua._core.base.rng import child_key
from obliqua._core.base.spread import means_of_sums
from obliqua._core.grow.subtree import leaf_without_search
from obliqua._typing import FloatArray, Int64Array
from obliqua.criteria import Criterion, get_criterion
from obliqua.data.number_targets import Rates, kind_for
from obliqua.data.problem import Problem
from obliqua.data.row_source import Hyperplane, PlaneCoding, RowQuestion, RowSource
from obliqua.data.target import Classes, Numbers
from obliqua.engine.assemble import (
    ALONE_RIGHT,
    AXIS_LABEL,
    GO_LEFT,
    GO_RIGHT,
    STAND_IN,
    Block,
    Records,
    assemble,
)
from obliqua.engine.coding import Terms
from obliqua.engine.compiled import CompiledMethod, CompiledSide, has_few_rows
from obliqua.engine.grow import WholeFit, grow_nodes, on_one_axis, proposals_of
from obliqua.engine.lines import axis_lines
from obliqua.engine.moments import FixedPoint, factor_of, spread_of_sums, weight_shift
from obliqua.engine.numbered import (
    AxisLines,
    KnownNode,
    NumberedColumns,
    RowView,
    SeenAs,
    SomeColumns,
    seen_as,
    spread_of,
)
from obliqua.engine.oblique import ObliqueCut, ObliqueSearch
from obliqua.engine.passes import (
    LEAST_BINS,
    LineCut,
    NodeJudge,
    Search,
    Searches,
    Zoom,
    answered,
    asked,
    first_look,
    quartile,
    reach_of,
    together,
)
from obliqua.engine.proposals import Planes, Proposals
from obliqua.engine.questions import (
    ColumnSums,
    LineRanges,
    NodeRows,
    NodeSums,
    NumberBits,
    NumberDigits,
    ScatterSums,
)
from obliqua.engine.rules import Rules
from obliqua.engine.sampling import DirectionsOfSample, SampledSearch, in_row_order
from obliqua.engine.search import Split
from obliqua.tree.tree import Tree

__all__ = ["AtOnce", "RowsInAll", "check_sums_are_enough", "grow_from"]

ROOT = 1
FEW_ROWS = 1 << 16
MOST_BINS_OF_LINE = 1024  # unless another zoom is wanted, as in memory
MOST_ROWS = 2**31 - 1  # as a tree counts them


@dataclass(frozen=True)
class AtOnce:
    """How much a pass may ask for, so that answers fit in memory. The tree does not depend on it.

    Parameters
    ----------
    bins : int, default=2**20
        Bins of the histograms of all nodes that wait for a pass together.
    rows : int, default=2**20
        Rows that are fetched in a pass.
    """

    bins: int = 1 << 20
    rows: int = 1 << 20


class RowsInAll(NamedTuple):
    """What all rows say at first."""

    sums: Int64Array  # what `NodeSums` says of them
    reach: FloatArray  # what `LineRanges` says of the features

    @classmethod
    def of(cls, source: RowSource) -> RowsInAll:
        """Ask them."""
        axes = axis_lines(source.outline.n_features)
        return cls(*source.ask({ROOT: [NodeSums(), LineRanges(axes)]}, {})[ROOT])


def grow_from(
    source: RowSource,
    proposer: Any = None,
    criterion: str | Criterion = "twoing",
    rules: Rules | None = None,
    key: int = 0,
    few_rows: int = FEW_ROWS,
    zoom: Zoom | None = None,
    at_once: AtOnce | None = None,
    sample_rows: int | None = None,
    rows: RowsInAll | None = None,
) -> Tree:
    """Grow a tree from rows that may lie anywhere.

    Parameters
    ----------
    source : RowSource
        The rows: `RowsInParts`, or whatever else answers questions about them.
    proposer : Proposals, proposer or None
        Where directions come from: None for axis-parallel trees, or a method whose directions
        come from sums over rows, as those of HHCART do.
    criterion : str or Criterion
        How good a split is: one of the table.
    rules : Rules
        When to stop.
    key : int
        Seed of the nodes' random numbers.
    few_rows : int
        Nodes with so few rows are fetched, and the tree below them is grown in this memory;
        with a limit on leaves none are.
    zoom : Zoom
        How closely histograms look; as closely as `at_once` allows if left out. The tree does not
        depend on it.
    at_once : AtOnce
        How much a pass may ask for. The tree does not depend on it.
    sample_rows : int or None
        How many rows of a node a method sees that must see rows; None refuses it. Nodes with no
        more rows are fetched, whatever `few_rows` says.
    rows : RowsInAll or None
        What these rows say at first, if they were asked already.

    Returns
    -------
    Tree
        The tree that `grow` makes of the same rows in one memory.

    Examples
    --------
    >>> import numpy as np
    >>> from obliqua.data import encode
    >>> from obliqua.engine import RowsInParts, grow_from
    >>> X = np.arange(8.0)[:, None]
    >>> problem = encode(X, [0, 0, 1, 1, 1, 0, 0, 0], 2)
    >>> parts = [problem.take(np.arange(3)), problem.take(np.arange(3, 8))]
    >>> grow_from(RowsInParts(parts), few_rows=0).threshold
    array([4.5, 1.5])
    """
    if not isinstance(source, RowSource):
        raise TypeError(
            f"grow_from takes a source of rows; got {type(source).__name__}. Of a Problem make "
            "one with RowsInParts([problem]), or call grow."
        )
    if few_rows < 0:
        raise ValueError(f"few_rows must be at least 0; got {few_rows}.")
    proposals, measure = proposals_of(proposer), get_criterion(criterion)
    outline = source.outline
    check_sums_are_enough(outline, proposals, measure, sample_rows)
    if kind_for(outline.target, measure) is not type(outline.target):
        raise ValueError(
            f"The criterion {measure.name!r} needs numbers on a grid of its own; these parts have "
            "another one. Make them of problem.measured_by(criterion)."
        )
    growth = _SourceGrowth(source, proposals, measure, rules or Rules(), zoom)
    growth.at_once = at_once or AtOnce()
    if sample_rows is not None and what_needs_rows(outline, proposals, measure) is not None:
        growth.sample_rows = few_rows = sample_rows
    return growth.run(key & (2**64 - 1), few_rows, rows or RowsInAll.of(source))


def check_sums_are_enough(
    outline: Problem, proposals: Proposals, criterion: Criterion, sample_rows: int | None = None
) -> None:
    """Refuse what cannot be grown from sums over rows, nor from a sample of these."""
    needs = what_needs_rows(outline, proposals, criterion)
    if needs is not None and not (needs.may_sample and sample_rows is not None):
        sample = (
            "give sample_rows, 50,000 for instance: so many rows of each node are looked at for "
            "directions, all rows for cuts; or "
        )
        raise ValueError(
            f"Rows in parts answer with sums; {needs.what} must see the rows of a node "
            f"themselves. Put all rows into one memory (`grow`), or "
            f"{sample if needs.may_sample else ''}take a method that works with sums: CART, "
            "HHCART without trimming, Discriminants."
        )
    if needs is not None and outline.coded.any():
        raise ValueError(
            "sample_rows, by which directions are looked for in samples, does not go with columns "
            "of levels or with missing values. Leave these columns out, or make numbers of them."
        )


def means_from(source: RowSource, reach: FloatArray) -> FloatArray:
    """Return the mean of each column; `reach` is what `LineRanges` says of the columns."""
    low, high = (np.ascontiguousarray(end) for end in reach.T[:2])
    ((total, pairs),) = source.ask({ROOT: [ColumnSums(low, high)]}, {})[ROOT]
    first = np.array([math.fsum(column.ravel()) for column in pairs.swapaxes(0, 1)])
    return means_of_sums(low, high, total, first)


class NeedOfRows(NamedTuple):
    """What must see the rows of a node, and whether a sample of them would do."""

    what: str
    may_sample: bool


def what_needs_rows(
    outline: Problem, proposals: Proposals, criterion: Criterion
) -> NeedOfRows | None:
    """Say what must see the rows of a node; None if sums over them are enough."""
    method = proposals.proposer
    what, may_sample = None, False
    if criterion.code < 0:
        what = f"the criterion {criterion.name!r}, which is written in Python,"
    elif criterion.needs_rows:
        what = f"the criterion {criterion.name!r}, which compares medians,"
    elif proposals.n_drawn is not None:
        what = "a node that draws its features"
    elif proposals.at_root:
        what = "a proposer that is asked at the root only"
    elif isinstance(method, CompiledSide):
        what, may_sample = method.needs_rows(), not method.looks_at_axes
        if what is None and isinstance(outline.target, Numbers) and outline.coded.any():
            what, may_sample = f"{type(method).__name__} beside levels or missing values", False
        if _has_superclasses(method, outline) and not proposals.axis_parallel:
            what = f"{type(method).__name__} with superclasses but without axis-parallel splits"
    elif method is not None:
        name = getattr(method, "__name__", type(method).__name__)
        what, may_sample = f"the proposer {name}, which is written in Python,", True
    return None if what is None else NeedOfRows(what, may_sample)


def _has_superclasses(method: CompiledSide, outline: Problem) -> bool:
    """Say whether directions may start from the best cuts of others."""
    wanted = getattr(method, "discriminants", False) and getattr(method, "superclasses", False)
    return bool(wanted) and outline.n_classes > 3


@dataclass
class _SourceNode:
    """A node that waits: what its parent knows of it, and what was found."""

    place: int  # see `RowSource`
    start: int
    end: int
    depth: int
    key: int
    parent: int = -1
    columns: FloatArray | None = None  # how far features reach, in its parent if it has one
    sums: Int64Array | None = None  # what `NodeSums` says, if it is known already
    counts: Int64Array | None = None
    bins: int = 0  # of histograms that it may ask for in a pass
    planes: Planes | None = None  # what was proposed from a sample of its rows
    split: Split | None = None
    below: tuple[Records, list[Block]] | None = None  # grown in this memory
    # Of a left child: the node above, if the heavier side is where missing values go there.
    above: _SourceNode | None = None

    @property
    def rows(self) -> int:
        return self.end - self.start


def _dealt_out(
    nodes: Sequence[_SourceNode],
    size: Callable[[_SourceNode], tuple[int, ...]],
    most: tuple[int, ...],
) -> Iterator[list[_SourceNode]]:
    """Deal nodes out into groups whose sizes add up to no more than this; one may be larger."""
    group: list[_SourceNode] = []
    total = (0,) * len(most)
    for node in nodes:
        mine = size(node)
        total = tuple(map(add, total, mine))
        if group and any(map(gt, total, most)):
            yield group
            group, total = [], mine
        group.append(node)
    if group:
        yield group


class _SourceGrowth:
    """One growing tree, whose rows are elsewhere."""

    def __init__(
        self,
        source: RowSource,
        proposals: Proposals,
        criterion: Criterion,
        rules: Rules,
        zoom: Zoom | None,
    ) -> None:
        self.source = source
        self.proposals = proposals
        self.criterion = criterion
        self.given_zoom = zoom
        self.few_rows = 0
        self.at_once = AtOnce()
        self.sample_rows: int | None = None
        self.sampled: DirectionsOfSample | None = None
        self.splits: dict[int, Hyperplane] = {}
        # Rows are counted by their owners.
        self.outline = replace(source.outline, row_counts=None, row_weights=None)
        self.gain_unit = self.outline.target.gain_unit
        self.given_rules = rules
        self.rules = replace(rules, min_gain=rules.min_gain / self.gain_unit)
        self.axes = axis_lines(self.outline.n_features)
        self.records = Records(len(self.outline.counts))
        self.blocks: list[Block] = []
        self.whole = WholeFit()
        self.method: CompiledMethod | None = None
        self.coded: NumberedColumns | None = None

    def ask(self, *questions: RowQuestion) -> list[Any]:
        """Ask about all rows."""
        return self.source.ask({ROOT: questions}, self.splits)[ROOT]

    # -- the whole tree ---------------------------------------------------------------------

    def run(self, key: int, few_rows: int, rows: RowsInAll) -> Tree:
        """Grow the tree."""
        sums, reach = rows
        n_rows = int(sums[-2])
        if not 0 < n_rows <= MOST_ROWS:
            raise ValueError(
                f"A tree needs one row at least and {MOST_ROWS} at most; got {n_rows} in all. "
                "Look at what the parts were read from, or leave rows out."
            )
        self._prepare(sums, reach)
        root = _SourceNode(ROOT, 0, n_rows, 0, key, columns=reach, sums=sums)
        if self.whole.wide or n_rows <= (self.sample_rows or 0):
            self.few_rows = n_rows  # products of rows are asked for, or no more than are seen
            self.consider([root], self.keep)
        elif self.rules.max_leaf_nodes is None:
            self.few_rows = few_rows
            self.consider([root], self.keep)
        else:
            self._best_first(root, self.rules.max_leaf_nodes)
        describe = on_one_axis if self.method is None else self.method.describe
        tree = assemble(self.records, self.blocks, self.outline, describe, self.gain_unit)
        return self._with_exact_means(tree) if isinstance(self.outline.target, Numbers) else tree

    def _prepare(self, sums: Int64Array, reach: FloatArray) -> None:
        """Find out what must be known of all rows."""
        outline, proposals = self.outline, self.proposals
        total_weight = int(outline.target_rows.weight(np.ascontiguousarray(sums[:-2])))
        stand_ins = means_from(self.source, reach) if outline.fills is None else outline.fills
        self.outline = replace(outline, fills=stand_ins)
        if outline.coded.any():
            self.coded = NumberedColumns(outline, stand_ins, proposals.proposer is not None)
        self.whole = WholeFit(total_weight, stand_ins=stand_ins)
        if proposals.proposer is None:
            return
        scale = np.ones(outline.n_features)
        if proposals.scale is not None:
            scale = factor_of(self._widths(sums, reach))
        compiled = isinstance(proposals.proposer, CompiledSide)
        wide = compiled and proposals.proposer.multiplies_rows
        wide = wide and has_few_rows(int(sums[-1]), outline.n_features)
        self.whole = WholeFit(total_weight, scale, wide, stand_ins)
        if compiled:
            self.method = CompiledMethod(outline, proposals, self.criterion, self.rules, scale)
            self.method.weight_shift = weight_shift(total_weight)
        if self.sample_rows is not None:
            how = self.criterion, self.rules, scale, self.sample_rows
            self.sampled = DirectionsOfSample(proposals, *how)

    def _widths(self, sums: Int64Array, reach: FloatArray) -> FloatArray:
        """Return how wide the columns are, for the scale that is wanted."""
        if self.coded is None:
            return self._widths_of(sums, reach)
        width = np.ones(len(reach))
        plain = np.flatnonzero(~self.outline.coded)
        if len(plain):
            width[plain] = self._widths_of(sums, reach[plain], SomeColumns(plain))
        # Numbers of levels are found at each node and have a standard deviation of 1 there.
        for k in np.flatnonzero(self.outline.coded & (self.outline.n_levels == 0)).tolist():
            if reach[k, 0] <= reach[k, 1]:
                there = SomeColumns(np.array([k]), present=True)
                (found,) = self.ask(SeenAs(there, (NodeSums(),)))
                width[k] = self._widths_of(found[0], reach[[k]], there)[0]
        return width

    def _widths_of(
        self, sums: Int64Array, reach: FloatArray, view: RowView | None = None
    ) -> FloatArray:
        """Return how wide some columns are, which are plain numbers where they are looked at."""
        low, high = (np.ascontiguousarray(end) for end in reach.T[:2])
        if self.proposals.scale == "minmax":
            with np.errstate(over="ignore"):
                return high - low
        weight = int(self.outline.target_rows.weight(np.ascontiguousarray(sums[:-2])))
        searches: list[Search[Any]] = [asked(ScatterSums(FixedPoint.of_ranges(low, high, weight)))]
        if self.proposals.scale == "robust":
            axes, numbers = axis_lines(len(reach)), isinstance(self.outline.target, Numbers)
            zoom = self.given_zoom or Zoom()
            searches += [
                quartile(axes, reach, sums, quarters, zoom, numbers) for quarters in (1, 3)
            ]
        looking = together(*searches) if view is None else seen_as(view, together(*searches))
        products, *quartiles = answered(self.source, {ROOT: looking}, self.splits)[ROOT]
        width = spread_of_sums(products)
        if not quartiles:
            return width
        with np.errstate(over="ignore"):
            middle = quartiles[1] - quartiles[0]
        return np.where(middle > 0, middle, width)

    def _with_exact_means(self, tree: Tree) -> Tree:
        """Return the tree with the means of the numbers themselves."""
        (bits,) = self.ask(NumberBits())
        stats = tree.stats.copy()
        total = np.rint(stats[:, 0] / self.outline.unit).astype(np.int64)
        stats[:, 1:-1] = 0.0
        for output in range(len(bits)):
            (sums,) = self.ask(NumberDigits(tree, bits, output))
            if sums is not None:
                stats[:, 1 + output] = means_of_digits(sums, total, tree.parent, bits, output)
        return replace(tree, stats=stats)

    def _best_first(self, root: _SourceNode, most: int) -> None:
        """Divide the node whose split gains most next, up to so many leaves."""
        waiting: list[tuple[float, int, _SourceNode]] = []
        leaves, nodes = 1, [root]
        while True:
            self.consider(nodes)
            for node in nodes:
                if node.split is None:
                    self.keep(node)
                else:
                    # Equal gains: the node first in path order; windows never overlap.
                    heapq.heappush(waiting, (-node.split.gain, node.start, node))
            if not waiting or leaves >= most:
                break
            nodes = self.keep(heapq.heappop(waiting)[2])
            leaves += 1
        for _, _, node in waiting:
            node.split = None
            self.keep(node)

    def consider(
        self,
        nodes: Sequence[_SourceNode],
        then: Callable[[_SourceNode], Sequence[_SourceNode]] = lambda node: (),
    ) -> None:
        """Look for the splits of nodes together, and of those that `then` returns for each.

        These begin while others take more passes.
        """
        waiting, going = list(nodes), dict[int, _SourceNode]()
        searches = Searches(self.source, self.splits)
        while waiting or going:
            some = self._admitted(waiting, going.values())
            if self.sampled is not None:
                asked = [node for node in some if not self._is_fetched(node)]
                self._sample(self.sampled, asked)
            for node in some:
                going[node.place] = node
                searches.begin(node.place, self._look(node))
            for place in searches.go_on():
                waiting += then(going.pop(place))

    def _sample(self, ask: DirectionsOfSample, nodes: Sequence[_SourceNode]) -> None:
        """Note what is proposed at nodes, from as many samples at a time as fit in memory."""
        if not nodes:
            return
        sums = self.source.ask({node.place: [NodeSums()] for node in nodes}, self.splits)
        target = self.outline.target_rows
        looked_at = [
            node
            for node in nodes
            if not leaf_without_search(
                self.rules,
                target,
                np.ascontiguousarray(sums[node.place][0][:-2]),
                node.rows,
                node.depth,
            )
        ]
        for some in _dealt_out(looked_at, self._size_of_sample, (self.at_once.rows,)):
            asked = {
                node.place: ask.at(sums[node.place][0], node.depth, node.key) for node in some
            }
            found = answered(self.source, asked, self.splits)
            for node in some:
                node.planes = found[node.place]

    def _size_of_sample(self, node: _SourceNode) -> tuple[int, ...]:
        return (min(node.rows, self.sample_rows or 0),)

    def _admitted(
        self, waiting: list[_SourceNode], going: Collection[_SourceNode]
    ) -> list[_SourceNode]:
        """Take as many nodes from those that wait as memory allows beside those under way."""
        if self.sampled is not None and going:
            return []  # samples of a level are looked at together
        bins = self.at_once.bins - sum(node.bins for node in going)
        rows = self.at_once.rows - sum(node.rows for node in going if self._is_fetched(node))
        here: list[_SourceNode] = []
        rest: list[_SourceNode] = []
        for node in waiting:
            fetched = node.rows if self._is_fetched(node) else 0
            needed = 0 if fetched or self._is_deep(node) else self.least_bins
            if (needed > bins or fetched > rows) and (here or going):
                rest.append(node)
                continue
            here.append(node)
            node.bins = needed
            bins, rows = bins - needed, rows - fetched
        waiting[:] = rest
        looked_along = [node for node in here if node.bins]
        more = max(bins, 0) // max(len(looked_along), 1)
        for node in looked_along:
            node.bins += more
        return here

    @cached_property
    def least_bins(self) -> int:
        """How many bins a node needs. More lines than there is memory for come in turns."""
        each = self.outline.n_features * LEAST_BINS
        if self.method is not None:
            target = self.outline.target
            each *= 1 + target.n_classes if isinstance(target, Classes) else 3
        needed = each + (0 if self.coded is None else self.coded.n_groups)
        return min(needed, self.at_once.bins)

    def _zoom_of(self, node: _SourceNode) -> Zoom:
        """Return how closely to look at a node: values take no more memory than bins would."""
        few = max(node.bins, Zoom().few_values)
        return self.given_zoom or Zoom(MOST_BINS_OF_LINE, few)

    def _is_fetched(self, node: _SourceNode) -> bool:
        """Say whether the rows of a node are fetched, because they are few."""
        return node.rows <= self.few_rows

    def keep(self, node: _SourceNode) -> list[_SourceNode]:
        """Record a node, and return its children."""
        if node.below is not None:
            self._graft(node, *node.below)
            return []
        number, split = self.records.add(node, node.split), node.split
        if split is None:
            return []
        self.splits[node.place] = self._plane(split)
        waits = self._waits_for_side(split)
        middle = node.start + split.rows_left
        return [
            _SourceNode(
                place=2 * node.place + side,
                start=start,
                end=end,
                depth=node.depth + 1,
                key=child_key(node.key, side) if self.proposals.proposer is not None else 0,
                parent=number,
                columns=None if self.coded else _narrowed(node.columns, split, side),
                above=node if waits and side == 0 else None,
            )
            for side, (start, end) in enumerate([(node.start, middle), (middle, node.end)])
        ]

    def _is_deep(self, node: _SourceNode) -> bool:
        """Say whether a node is a leaf because of its depth."""
        return self.rules.max_depth is not None and node.depth >= self.rules.max_depth

    def _plane(self, split: Split) -> Hyperplane:
        """Return a split as sources of rows are told it."""
        column = np.array([split.column], np.int32)
        terms = split.terms if split.column < 0 else Terms.plain(column, np.ones(1))
        assert terms is not None
        if not self.outline.coded[terms.idx].any():
            return Hyperplane(terms.idx, terms.coef, split.threshold)
        aside = None if split.missing == STAND_IN else split.missing != GO_LEFT
        tables = terms.fill, terms.table_size, terms.table
        coding = PlaneCoding(*tables, aside, split.missing == ALONE_RIGHT)
        return Hyperplane(terms.idx, terms.coef, split.threshold, coding)

    def _waits_for_side(self, split: Split) -> bool:
        """Say whether later rows that miss the column of a split go with the heavier side."""
        here = self.outline.sides and split.column >= 0 and split.missing == STAND_IN
        return bool(here and self.outline.has_missing[split.column])

    def _find_counts(self, node: _SourceNode, counts: Int64Array) -> None:
        """Note the sums of a node, and what follows from them for the one above."""
        node.counts = counts
        if node.above is not None:
            weigh, split = self.outline.target_rows.weight, node.above.split
            assert split is not None
            assert node.above.counts is not None
            heavier = 2 * weigh(counts) >= weigh(node.above.counts)
            split.missing = GO_LEFT if heavier else GO_RIGHT
            node.above = None

    def _graft(self, node: _SourceNode, records: Records, blocks: list[Block]) -> None:
        """Take over the nodes that were grown from fetched rows."""
        offset = len(self.records.nodes)

        def parent(number: int) -> int:
            return node.parent if number < 0 else number + offset

        self.records.nodes += [
            record._replace(
                start=record.start + node.start,
                end=record.end + node.start,
                parent=parent(record.parent),
            )
            for record in records.nodes
        ]
        self.blocks += [
            block._replace(
                start=block.start + np.int32(node.start),
                end=block.end + np.int32(node.start),
                parent_of_root=parent(block.parent_of_root),
            )
            for block in blocks
        ]

    # -- one node ---------------------------------------------------------------------------

    def _look(self, node: _SourceNode) -> Search[None]:
        """Find the node's split, if the rules and its cuts allow one; or all that lies below."""
        if self._is_fetched(node):
            (rows,) = yield [NodeRows()]
            self._find_counts(node, rows.counts)
            if self.sampled is not None:
                rows = in_row_order(rows, node.key)
            node.below = grow_nodes(
                rows,
                self.proposals,
                self.criterion,
                self.given_rules,
                self.whole,
                node.key,
                node.depth,
            )
            return
        levels: Any = None
        bins = None
        if self.coded is None or self._is_deep(node):
            sums, columns, bins = yield from self._look_at_axes(node)
        else:
            sums, columns, levels = yield [NodeSums(), LineRanges(self.axes), self.coded.sums]
        judge = NodeJudge(
            self.outline, sums, self.criterion, self.rules, self._zoom_of(node), node.bins
        )
        node.columns = columns
        self._find_counts(node, judge.counts)
        target = self.outline.target_rows
        if leaf_without_search(self.rules, target, judge.counts, judge.n_rows, node.depth):
            return
        if self.coded is None:
            axes = AxisLines.plain(self.axes, columns)
            split = yield from self._best_split(node, judge, axes, columns, bins)
        else:
            known = yield from self.coded.look(levels, columns)
            looking = self._best_split(node, judge, known.axes, known.columns, known=known)
            split = yield from seen_as(known.numbers, looking)
        if split is None:
            return
        assert self.whole.total_weight is not None
        share = target.weight(judge.counts) / self.whole.total_weight
        split.gain = share * split.goodness
        if split.gain < self.rules.min_gain:
            return
        split.axis_gain = share * split.axis_goodness
        node.split = split

    def _look_at_axes(
        self, node: _SourceNode
    ) -> Search[tuple[Int64Array, FloatArray, tuple[Int64Array, FloatArray] | None]]:
        """Find out a node's sums and how far columns reach; with a first histogram of them."""
        if node.sums is not None and node.columns is not None:
            return node.sums, node.columns, None
        if self._is_deep(node):
            (sums,) = yield [NodeSums()]
            return sums, np.empty((0, 3)), None
        look = None
        if node.columns is not None and self.proposals.axis_parallel:
            low, high = (np.ascontiguousarray(end) for end in node.columns.T[:2])
            zoom = self._zoom_of(node)
            look = first_look(self.axes, low, high, node.rows, zoom, node.bins)
        if look is None:
            sums, columns = yield [NodeSums(), LineRanges(self.axes)]
            return sums, columns, None
        sums, (bins, ends, sizes) = yield [NodeSums(), look]
        return sums, reach_of(ends, sizes), (bins, ends)

    def _best_split(
        self,
        node: _SourceNode,
        judge: NodeJudge,
        axes: AxisLines,
        columns: FloatArray,
        bins: tuple[Int64Array, FloatArray] | None = None,
        known: KnownNode | None = None,
    ) -> Search[Split | None]:
        """The best split; without any gain in sight, the first cut if the rules want one."""
        with_axes = self.proposals.axis_parallel
        every = judge.whole(axes.lines, axes.reach, np.zeros(len(axes.lines)))
        alone = axes.best_alone(judge)
        if bins is None:
            looking = judge.best(axes.lines, every if with_axes else every.take(slice(0)), alone)
        else:
            sums, ends = bins
            cut, todo = judge.choose(every, sums[every.line], ends[every.line], alone)
            looking = judge.closer(axes.lines, todo, cut)
        oblique = self._oblique(node, judge, columns, known)
        if oblique is None:
            axis, found = (yield from looking), None
        else:
            axis, _ = yield from together(looking, oblique.plan())
            found = yield from oblique.best(axes.along_column(axis) if with_axes else LineCut())
        if found is None and axis.line < 0 and self.rules.zero_gain:
            if not with_axes and oblique is not None:
                found = yield from oblique.first()
            if found is None:
                axis = yield from axes.first(judge, every if with_axes else every.take(slice(0)))
        # Without axes, whether a value is there may tell more than what is proposed.
        if found is not None and (with_axes or not axis.score > found.cut.score):
            assert oblique is not None
            terms = yield from oblique.terms(found)
            return self._oblique_split(found, terms, axis, oblique.describe(found.number))
        if axis.line < 0:
            return None
        return (yield from self._axis_split(axis, axes, known))

    def _axis_split(
        self, axis: LineCut, axes: AxisLines, known: KnownNode | None
    ) -> Search[Split]:
        """Return a cut along one column as a split."""
        column, missing = int(axes.column[axis.line]), int(axes.missing[axis.line])
        split = Split(axis.score, column, axis.rows_left, axis.threshold, label=AXIS_LABEL)
        split.missing = missing
        if axes.is_alone(axis):
            split.missing, split.threshold = ALONE_RIGHT, 0.0
        if self.proposals.axis_parallel:
            split.axis_goodness = axis.score
        sorted_once = self.outline.sortable[column] and self.proposals.axis_parallel
        if known is None or sorted_once or not known.is_coded(column):
            split.column = column
            return split
        width = yield from spread_of(known, column)
        coef = np.zeros(1) if split.missing == ALONE_RIGHT else np.ones(1)
        split.terms = known.numbers.terms(np.array([column], np.int32), coef, np.array([width]))
        return split

    def _oblique(
        self, node: _SourceNode, judge: NodeJudge, columns: FloatArray, known: KnownNode | None
    ) -> ObliqueSearch | SampledSearch | None:
        """Return the search for oblique cuts, if there is one."""
        if self.sampled is not None:
            bias = self.proposals.axis_bias
            return SampledSearch(node.planes, judge, columns, bias) if node.planes else None
        if self.method is None:
            return None
        every = (self.proposals.max_features or len(columns)) >= len(columns)
        with_axes = self.proposals.axis_parallel
        reflected = every and with_axes
        # As in memory: where squared errors are not compared, nothing has a price.
        priced = self.method.method.has_price and with_axes
        priced &= not isinstance(self.outline.target, Rates)
        how = reflected, with_axes, known, priced
        search = ObliqueSearch(self.method, judge, columns, *how)
        return None if search.is_small else search

    def _oblique_split(self, found: ObliqueCut, terms: Terms, axis: LineCut, label: str) -> Split:
        cut = found.cut
        split = Split(cut.score, found.number, cut.rows_left, cut.threshold, terms=terms)
        split.label, split.missing = label, found.missing
        if self.proposals.axis_parallel:
            split.axis_goodness = axis.score
        return split


def _narrowed(columns: FloatArray | None, split: Split, side: int) -> FloatArray | None:
    """Return how far columns reach at most on one side of a split."""
    if columns is None or split.column < 0:
        return columns
    columns = columns.copy()
    columns[split.column, 1 - side] = split.threshold
    return columns
