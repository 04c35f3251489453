"""From grown nodes in any order to the canonical Tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from obliqua._typing import FloatArray, Int32Array, Int64Array
from obliqua.data import Problem
from obliqua.tree import NodeKind, Tree

__all__ = ["Block", "Records", "assemble"]

OBLIQUE = -3


class Block(NamedTuple):
    """The nodes of a subtree that compiled code has grown, its root first."""

    parent_of_root: int
    start: Int64Array
    end: Int64Array
    parent: Int32Array
    depth: Int32Array
    feature: Int32Array  # -1: a leaf
    threshold: FloatArray
    gain: FloatArray
    counts: Int64Array


@dataclass
class Records:
    """The nodes that the loop in Python has divided or closed."""

    n_classes: int
    start: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)
    counts: list[Int64Array] = field(default_factory=list)
    splits: list[Any] = field(default_factory=list)

    def leaf(self, node: Any) -> None:
        """Remember a node that stays a leaf."""
        self._add(node, None)

    def split(self, node: Any) -> int:
        """Remember a node with its split; returns its number."""
        return self._add(node, node.split)

    def _add(self, node: Any, split: Any) -> int:
        self.start.append(node.start)
        self.end.append(node.end)
        self.parent.append(node.parent)
        self.depth.append(node.depth)
        self.counts.append(node.counts)
        self.splits.append(split)
        return len(self.start) - 1

    def as_block(self) -> Block:
        """The axis-parallel part of what is remembered; other splits have feature -3."""
        feature = [
            -1 if split is None else split.column if split.column >= 0 else OBLIQUE
            for split in self.splits
        ]
        return Block(
            -1,
            np.array(self.start, dtype=np.int64),
            np.array(self.end, dtype=np.int64),
            np.array(self.parent, dtype=np.int32),
            np.array(self.depth, dtype=np.int32),
            np.array(feature, dtype=np.int32),
            np.array([0.0 if s is None else s.threshold for s in self.splits]),
            np.array([0.0 if s is None else s.gain for s in self.splits]),
            np.array(self.counts, dtype=np.int64).reshape(-1, self.n_classes),
        )


def assemble(records: Records, blocks: list[Block], problem: Problem, axis_label: str) -> Tree:
    """Number the nodes in level order and lay out the Tree's arrays.

    A node's place follows from its depth and from where its window of rows starts: windows of
    one depth never overlap and stand in path order. So the order of growth leaves no trace.
    """
    top = records.as_block()
    every = [top, *blocks]
    offsets = np.cumsum([0] + [len(block.start) for block in every])
    parent = np.concatenate(
        [
            np.where(block.parent >= 0, block.parent + offset, block.parent_of_root)
            for block, offset in zip(every, offsets, strict=False)
        ]
    )
    joined = {
        name: np.concatenate([getattr(block, name) for block in every])
        for name in ("start", "end", "depth", "feature", "threshold", "gain", "counts")
    }
    order = np.lexsort((joined["start"], joined["depth"]))
    n_nodes = len(order)
    rank = np.empty(n_nodes, dtype=np.int64)
    rank[order] = np.arange(n_nodes)
    first_child = np.full(n_nodes, -1, dtype=np.int32)
    # In level order the children of a binary node are nodes 2k + 1 and 2k + 2 for some k.
    lefts = np.arange(1, n_nodes, 2)
    first_child[rank[parent[order[lefts]]]] = lefts
    feature = joined["feature"][order]
    inner = feature != -1
    planes = _Planes.lay_out(feature[inner], order[inner], records, axis_label)
    gain = joined["gain"][order]
    axis_gain = np.where(inner, gain, np.nan)
    axis_gain[inner] = np.where(planes.known, planes.axis_gain, axis_gain[inner])
    origin = np.full(n_nodes, -1, dtype=np.int32)
    origin[inner] = planes.origin
    n_coef = len(planes.coef)
    return Tree(
        n_features=problem.n_features,
        kind=np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
        first_child=first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        plane_ptr=np.concatenate([[0], np.cumsum(inner)]).astype(np.int32),
        coef_ptr=planes.ptr,
        coef_idx=planes.idx,
        coef=planes.coef,
        fill=np.full(n_coef, np.nan),
        table_ptr=np.zeros(n_coef + 1, dtype=np.int64),
        table=np.empty(0),
        threshold=joined["threshold"][order][inner],
        stats=joined["counts"][order] * problem.unit,
        n_samples=(joined["end"] - joined["start"])[order],
        gain=gain,
        axis_gain=axis_gain,
        origin=origin,
        origin_labels=planes.labels,
    )


class _Planes(NamedTuple):
    """The hyperplanes of the inner nodes in level order."""

    ptr: Int64Array
    idx: Int32Array
    coef: FloatArray
    origin: Int32Array
    labels: tuple[str, ...]
    axis_gain: FloatArray
    known: Any  # where axis_gain says something else than "the gain itself"

    @classmethod
    def lay_out(
        cls, feature: Int32Array, number: Int64Array, records: Records, axis_label: str
    ) -> _Planes:
        n = len(feature)
        sizes = np.ones(n, dtype=np.int64)
        origin = np.zeros(n, dtype=np.int32)
        axis_gain = np.zeros(n)
        from_loop = number < len(records.splits)
        labels = {axis_label: 0}
        loop = np.flatnonzero(from_loop)
        for k in loop:
            split = records.splits[number[k]]
            axis_gain[k] = split.axis_gain
            if feature[k] == OBLIQUE:
                sizes[k] = len(split.idx)
                origin[k] = labels.setdefault(split.label, len(labels))
        ptr = np.concatenate([[0], np.cumsum(sizes)])
        idx = np.repeat(feature, sizes).astype(np.int32)
        coef = np.ones(len(idx))
        for k in loop:
            if feature[k] == OBLIQUE:
                split = records.splits[number[k]]
                idx[ptr[k] : ptr[k + 1]] = split.idx
                coef[ptr[k] : ptr[k + 1]] = split.coef
        return cls(ptr, idx, coef, origin, tuple(labels), axis_gain, from_loop)
