"""From grown nodes in any order to the canonical Tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.data.problem import Problem
from obliqua.tree.layout import MissingSide, NodeKind, pointers, ranges
from obliqua.tree.tree import Tree

__all__ = ["ALONE_RIGHT", "GO_LEFT", "GO_RIGHT", "STAND_IN", "Block", "Records", "assemble"]

LEAF = -1
_NO_TERMS = (
    np.empty(0, dtype=np.int32),
    *np.empty((3, 0)),
    np.empty(0, dtype=np.int64),
    np.empty(0),
)
OBLIQUE = -3
# Where a split sends rows with missing values, as compiled code numbers it: nowhere by itself, to
# a side, or right with all others left.
STAND_IN, GO_LEFT, GO_RIGHT, ALONE_RIGHT = range(4)
AXIS_LABEL = "axis-parallel"


class Block(NamedTuple):
    """The nodes of a subtree, its root first."""

    parent_of_root: int
    start: Int32Array
    end: Int32Array
    parent: Int32Array
    depth: Int32Array
    feature: Int32Array  # -1: a leaf, -3: a hyperplane
    threshold: FloatArray
    gain: FloatArray
    counts: Int64Array
    axis_gain: FloatArray
    direction: Int64Array  # which direction a hyperplane has: a number for `describe`
    missing: UInt8Array  # where rows with missing values go
    # Coefficients of the hyperplanes, as CSR rows over the nodes; [0] if there are none.
    coef_ptr: Int64Array
    coef_idx: Int32Array
    coef: FloatArray
    fill: FloatArray  # what stands in for a missing value; NaN: not known
    spread: FloatArray  # standard deviation at the node; NaN: not measured
    table_size: Int64Array  # the number of levels of a qualitative column, else 0
    table: FloatArray  # their numbers, one after another


class _Record(NamedTuple):
    start: int
    end: int
    parent: int
    depth: int
    counts: Int64Array
    split: Any  # None: a leaf


@dataclass
class Records:
    """The nodes that the loop in Python has divided or closed."""

    n_sums: int
    nodes: list[_Record] = field(default_factory=list)

    def add(self, node: Any, split: Any = None) -> int:
        """Remember a node with its split, or as a leaf; returns its number."""
        self.nodes.append(
            _Record(node.start, node.end, node.parent, node.depth, node.counts, split)
        )
        return len(self.nodes) - 1

    def label(self, direction: int) -> str:
        """Return the label of the split that `as_block` gave this number."""
        return str(self.nodes[-2 - direction].split.label)

    def as_block(self) -> Block:
        """Return what is remembered as arrays; splits are numbered -2, -3, ..."""
        nodes, splits = self.nodes, [node.split for node in self.nodes]
        oblique = [split is not None and split.column < 0 for split in splits]
        feature = [
            LEAF if split is None else OBLIQUE if slanted else split.column
            for split, slanted in zip(splits, oblique, strict=True)
        ]
        terms = [split.terms for split, slanted in zip(splits, oblique, strict=True) if slanted]
        sizes = np.zeros(len(splits), dtype=np.int64)
        sizes[oblique] = [len(plane.idx) for plane in terms]
        return Block(
            -1,
            np.array([node.start for node in nodes], dtype=np.int32),
            np.array([node.end for node in nodes], dtype=np.int32),
            np.array([node.parent for node in nodes], dtype=np.int32),
            np.array([node.depth for node in nodes], dtype=np.int32),
            np.array(feature, dtype=np.int32),
            np.array([0.0 if s is None else s.threshold for s in splits]),
            np.array([0.0 if s is None else s.gain for s in splits]),
            np.array([node.counts for node in nodes], dtype=np.int64).reshape(-1, self.n_sums),
            np.array([0.0 if s is None else s.axis_gain for s in splits]),
            -2 - np.arange(len(splits)),
            np.array([0 if s is None else s.missing for s in splits], dtype=np.uint8),
            np.concatenate([[0], np.cumsum(sizes)]),
            *(
                np.concatenate([none, *parts])
                for none, *parts in zip(_NO_TERMS, *terms, strict=True)
            ),
        )


def assemble(
    records: Records,
    blocks: list[Block],
    problem: Problem,
    describe: Callable[[int], str],
    gain_unit: float,
) -> Tree:
    """Number the nodes in level order and lay out the Tree's arrays.

    A node's place follows from its depth and from where its window of rows starts: windows of
    one depth never overlap and stand in path order. So the order of growth leaves no trace.
    `describe` says what the direction with a number is, in compiled blocks; `gain_unit` what a
    gain of 1 is worth.
    """
    every = [records.as_block(), *blocks]
    offsets = np.cumsum([0] + [len(block.start) for block in every])
    parent = np.concatenate(
        [
            np.where(block.parent >= 0, block.parent + np.int32(offset), block.parent_of_root)
            for block, offset in zip(every, offsets, strict=False)
        ],
        dtype=np.int32,
    )
    joined = {
        name: _joined([getattr(block, name) for block in every])
        for name in Block._fields
        if name not in ("parent_of_root", "parent", "coef_ptr")
    }
    sizes = None
    if len(joined["coef_idx"]):
        sizes = np.concatenate(
            [np.diff(b.coef_ptr) if len(b.coef_ptr) > 1 else np.zeros_like(b.start) for b in every]
        )
    # A tree may have as many nodes as there are rows: what is not needed any more may go.
    every.clear()
    blocks.clear()
    order = np.lexsort((joined["start"], joined.pop("depth")))
    n_nodes = len(order)
    first_child = _first_children(order, parent)
    del parent
    stats = _stats(problem, joined.pop("counts"), order)
    feature = joined.pop("feature")[order]
    inner = feature != LEAF
    if sizes is None:
        planes = _axis_planes(feature[inner])
    else:
        planes = _planes(sizes, joined, order[inner], feature[inner])
    del sizes
    threshold = joined.pop("threshold")[order[inner]]
    missing = joined.pop("missing")[order[inner]]
    # What was never missing here may be missing later: the mean of all rows stands in for it.
    plain = np.isnan(planes["fill"])
    planes["fill"][plain] = problem.stand_ins[planes["coef_idx"][plain]]
    _say_sides(planes, threshold, missing, problem.stand_ins)
    origin = np.full(n_nodes, -1, dtype=np.int32)
    direction = joined.pop("direction")[order[inner]]
    origin[inner], labels = _origins(direction, feature[inner], records, describe)
    del direction, feature
    target = problem.target
    tree = Tree(
        n_features=problem.n_features,
        kind=np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
        first_child=first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        plane_ptr=np.concatenate([[0], np.cumsum(inner)]).astype(np.int32),
        **planes,
        threshold=threshold,
        missing_side=np.minimum(missing, MissingSide.RIGHT),
        stats=stats,
        n_samples=(joined.pop("end") - joined.pop("start"))[order],
        gain=joined.pop("gain")[order] * gain_unit,
        axis_gain=np.where(inner, joined.pop("axis_gain")[order] * gain_unit, np.nan),
        origin=origin,
        origin_labels=labels,
        task=target.task,
        loss=target.loss,
        costs=target.costs,
    )
    del order, inner
    return target.with_exact_means(tree, problem.Z, problem.weights)


def _stats(problem: Problem, counts: Int64Array, order: Int64Array) -> FloatArray:
    """Return the stats of nodes in an order, some at a time."""
    step = 1 << 16
    some = (problem.stats(counts[order[k : k + step]]) for k in range(0, len(order), step))
    first = next(some)
    stats = np.empty((len(order), first.shape[1]))
    stats[:step] = first
    for number, part in enumerate(some, start=1):
        stats[number * step : (number + 1) * step] = part
    return stats


def _say_sides(
    planes: dict[str, Any], threshold: FloatArray, missing: UInt8Array, stand_ins: FloatArray
) -> None:
    """Complete the splits of one column with a side: `fill` is a number on it.

    Where all values go left, the coefficient is 0, and nothing but the side parts the rows.
    """
    plane = np.flatnonzero((missing != STAND_IN) & (np.diff(planes["coef_ptr"]) == 1))
    at, cut, missing = planes["coef_ptr"][plane], threshold[plane], missing[plane]
    alone = missing == ALONE_RIGHT
    planes["coef"][at[alone]] = 0.0
    number = np.where(missing == GO_LEFT, cut, np.nextafter(cut, np.inf))
    number[alone] = stand_ins[planes["coef_idx"][at[alone]]]
    said = alone | (planes["coef"][at] == 1.0)
    planes["fill"][at[said]] = number[said]


def _first_children(order: Int64Array, parent: Int32Array) -> Int32Array:
    """Return the first child of each node in level order; -1 for a leaf."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    first_child = np.full(len(order), -1, dtype=np.int32)
    # In level order the children of a binary node are nodes 2k + 1 and 2k + 2 for some k.
    lefts = np.arange(1, len(order), 2)
    first_child[rank[parent[order[lefts]]]] = lefts
    return first_child


def _joined(parts: list[Any]) -> Any:
    """Concatenate arrays; a single one that is not empty is not copied."""
    full = [part for part in parts if len(part)] or parts[:1]
    return full[0] if len(full) == 1 else np.concatenate(full)


def _axis_planes(feature: Int32Array) -> dict[str, Any]:
    """Lay out splits of one column each, in level order."""
    n = len(feature)
    return {
        "coef_ptr": np.arange(n + 1),
        "coef_idx": feature,
        "coef": np.ones(n),
        "fill": np.full(n, np.nan),
        "spread": np.full(n, np.nan),
        "table_ptr": np.zeros(n + 1, dtype=np.int64),
        "table": np.empty(0),
    }


def _planes(
    sizes: Int64Array, joined: dict[str, Any], number: Int64Array, feature: Int32Array
) -> dict[str, Any]:
    """Lay out the hyperplanes of the inner nodes in level order, as CSR rows."""
    begin = (np.cumsum(sizes) - sizes)[number]
    oblique = feature == OBLIQUE
    length = np.where(oblique, sizes[number], 1)
    ptr = np.concatenate([[0], np.cumsum(length)])
    plane = np.repeat(np.arange(len(number)), length)
    idx = feature[plane]
    coef = np.ones(len(plane))
    fill, spread = np.full((2, len(plane)), np.nan)
    n_entries = np.zeros(len(plane), dtype=np.int64)
    slanted = oblique[plane]
    source = (begin[plane] + np.arange(len(plane)) - ptr[plane])[slanted]
    idx[slanted] = joined["coef_idx"][source]
    coef[slanted] = joined["coef"][source]
    fill[slanted] = joined["fill"][source]
    spread[slanted] = joined["spread"][source]
    n_entries[slanted] = joined["table_size"][source]
    entries = pointers(joined["table_size"])[:-1][source]
    return {
        "coef_ptr": ptr,
        "coef_idx": idx,
        "coef": coef,
        "fill": fill,
        "spread": spread,
        "table_ptr": pointers(n_entries),
        "table": _runs(joined["table"], entries, n_entries[slanted]),
    }


def _runs(table: FloatArray, starts: Int64Array, sizes: Int64Array) -> FloatArray:
    """Put runs of a table one after another; large ones without a list of all their places."""
    if sizes.sum() < 32 * np.count_nonzero(sizes):
        return np.asarray(table[ranges(starts, sizes)])
    some = np.flatnonzero(sizes).tolist()
    return np.concatenate([table[:0], *(table[starts[k] : starts[k] + sizes[k]] for k in some)])


def _origins(
    direction: Int64Array,
    feature: Int32Array,
    records: Records,
    describe: Callable[[int], str],
) -> tuple[Int32Array, tuple[str, ...]]:
    """Number the labels of the inner nodes; 0 is axis-parallel."""
    labels = {AXIS_LABEL: 0}
    origin = np.zeros(len(direction), dtype=np.int32)
    for k in np.flatnonzero(feature == OBLIQUE):
        number = int(direction[k])
        label = describe(number) if number >= 0 else records.label(number)
        origin[k] = labels.setdefault(label, len(labels))
    return origin, tuple(labels)
