"""Many trees packed into few arrays: what a forest is, at half the memory.

`PackedTrees` is a sequence of `Tree`. One is made when it is asked for, and not kept; what a whole
forest is asked, where rows end and what all trees say of them, needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np

from obliqua._core.forest.packed import ForestWalker
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.criteria import get_criterion
from obliqua.data.sparse_rows import SparseRows
from obliqua.data.target import Classes, Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import (
    PACKED,
    PACKED_CLASSES,
    PACKED_NUMBERS,
    NodeKind,
    pointers,
    ranges,
)
from obliqua.tree.tree import Tree, as_rows

__all__ = ["PackedTrees"]

LABELS = ("axis-parallel", "direction")

# What all trees share; other arrays of one tree, as the forest grows it, stand one after another.
_SHARED = ("stand_in", "level_ptr")


class ForestColumns(Protocol):
    """What all trees of a forest know of the columns, see `PackedTrees`."""

    @property
    def stand_in(self) -> FloatArray: ...

    @property
    def level_ptr(self) -> Int64Array: ...


@dataclass(frozen=True, eq=False, repr=False)
class PackedTrees(Sequence[Tree]):
    """Trees of hyperplanes in a few arrays.

    Nodes of a tree stand in level order, as in `Tree`. A node that compares one column with its
    threshold has the number of the column; any other hyperplane is a *plane*, which has terms.
    Leaves are numbered in the order of nodes; a leaf of classes has an entry for each class that
    is there.

    Parameters
    ----------
    n_features : int
        The number of columns.
    n_classes : int
        The number of classes; 0 if numbers are learnt.
    node_ptr, plane_ptr, leaf_ptr : ndarray of int64, of shape (n_trees + 1,)
        Where the nodes, planes and leaves of each tree begin.
    child : ndarray of int32
        By node: its left child, counted within the tree, with the right one behind it; of a
        leaf, -1 minus its number within the tree.
    column : ndarray of int32
        By node: the column that it compares with its threshold, -1 minus the number of its
        plane within the tree; 0 for a leaf.
    threshold : ndarray of float64
        By node; 0 for a leaf.
    term_ptr : ndarray of int64, of shape (n_planes + 1,)
        Where the terms of each plane begin.
    missing_side : ndarray of uint8
        By plane, as in `Tree`.
    term_column, coef, spread : ndarray
        The terms, as `coef_idx`, `coef` and `spread` in `Tree`.
    stand_in : ndarray of float64, of shape (n_features,)
        What stands in for a missing number.
    level_ptr : ndarray of int64, of shape (n_features + 1,)
        Where the numbers of the levels of each column begin; none for a column of numbers.
    level : ndarray of float64, of shape (n_trees, n_levels)
        The numbers of all levels in each tree; that of a missing level is the last of its column.
        A level that nobody knows counts 0.
    leaf_rows : ndarray of int32
        By leaf: the number of training rows.
    leaf_weight : ndarray of float64
        By leaf: their weight.
    entry_ptr, entry_class, entry_weight : ndarray or None
        By leaf: the classes that are there, and their weights. None if numbers are learnt.
    leaf_mean, leaf_rest : ndarray or None
        By leaf: the mean of each output, and the sum of squared distances from the means. None
        if classes are learnt.
    criterion : str
        What splits were chosen by; the gain of a node is computed with it.
    """

    n_features: int
    n_classes: int
    node_ptr: Int64Array
    plane_ptr: Int64Array
    leaf_ptr: Int64Array
    child: Int32Array
    column: Int32Array
    threshold: FloatArray
    term_ptr: Int64Array
    missing_side: UInt8Array
    term_column: Int32Array
    coef: FloatArray
    spread: FloatArray
    stand_in: FloatArray
    level_ptr: Int64Array
    level: FloatArray
    leaf_rows: Int32Array
    leaf_weight: FloatArray
    entry_ptr: Int64Array | None
    entry_class: Int32Array | None
    entry_weight: FloatArray | None
    leaf_mean: FloatArray | None
    leaf_rest: FloatArray | None
    criterion: str

    @classmethod
    def of_grown(
        cls,
        grown: Sequence[Mapping[str, AnyArray]],
        columns: ForestColumns,
        n_classes: int,
        criterion: str,
    ) -> PackedTrees:
        """Put trees together that were grown one by one."""

        def sizes(name: str) -> Int64Array:
            return pointers(np.array([len(tree[name]) for tree in grown], dtype=np.int64))

        def joined(name: str) -> AnyArray:
            return np.concatenate([tree[name] for tree in grown])

        absent = PACKED_NUMBERS if n_classes else PACKED_CLASSES
        own = [name for name in PACKED if not name.endswith("_ptr") and name not in _SHARED]
        arrays: dict[str, Any] = dict.fromkeys((*absent, "entry_ptr"))
        arrays |= {name: joined(name) for name in own if name not in (*absent, "level")}
        if n_classes:
            arrays["entry_ptr"] = pointers(joined("entry_count"))
        return cls(
            n_features=len(columns.stand_in),
            n_classes=n_classes,
            node_ptr=sizes("child"),
            plane_ptr=sizes("missing_side"),
            leaf_ptr=sizes("leaf_rows"),
            term_ptr=pointers(joined("term_count")),
            stand_in=columns.stand_in,
            level_ptr=columns.level_ptr,
            level=np.stack([tree["level"] for tree in grown]),
            criterion=criterion,
            **arrays,
        )

    def weighed_in(self, unit: float) -> PackedTrees:
        """Return the same trees with all weights multiplied by a number."""
        arrays: dict[str, Any] = {}
        for name in ("leaf_weight", "entry_weight", "leaf_rest"):
            array = getattr(self, name)
            arrays[name] = None if array is None else array * unit
        return replace(self, **arrays)

    def joined_to(self, other: PackedTrees) -> PackedTrees:
        """Return these trees and then those of another."""
        joined: dict[str, Any] = {}
        for field in fields(self):
            one, two = getattr(self, field.name), getattr(other, field.name)
            if not isinstance(one, np.ndarray) or field.name in _SHARED:
                joined[field.name] = one
            elif field.name.endswith("_ptr"):
                joined[field.name] = np.concatenate([one, two[1:] + one[-1]])
            else:
                joined[field.name] = np.concatenate([one, two])
        return PackedTrees(**joined)

    @property
    def _as_tuple(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def validate(self) -> None:
        """Raise `TreeError` if the arrays do not fit together."""
        from obliqua.tree.packed_validate import validate_packed

        validate_packed(self)

    def changed(self, change: Callable[[Tree], Tree]) -> PackedTrees:
        """Return what a function makes of each tree: a tree of hyperplanes as well."""
        changed = (change(tree) for tree in self)
        return self.of_trees(changed, self.level, self, self.n_classes, self.criterion)

    @classmethod
    def of_trees(
        cls,
        trees: Iterable[Tree],
        level: FloatArray,
        columns: ForestColumns,
        n_classes: int,
        criterion: str,
    ) -> PackedTrees:
        """Pack trees of hyperplanes, with the numbers of levels that each of them has."""
        grown = [
            {**cls._packed_arrays(tree, n_classes), "level": numbers}
            for tree, numbers in zip(trees, level, strict=True)
        ]
        return cls.of_grown(grown, columns, n_classes, criterion)

    @staticmethod
    def _packed_arrays(tree: Tree, n_classes: int) -> dict[str, AnyArray]:
        """Return the arrays of one tree as the forest grows it."""
        inner, leaf = ~tree.is_leaf, tree.is_leaf
        length = np.diff(tree.coef_ptr)
        first = tree.coef_ptr[:-1]
        plain = (length == 1) & (tree.coef[first] == 1.0) & (tree.missing_side == 0)
        child = tree.first_child.copy()
        child[leaf] = -1 - np.arange(int(leaf.sum()))
        column = np.zeros(tree.n_nodes, dtype=np.int32)
        column[inner] = np.where(plain, tree.coef_idx[first], -np.cumsum(~plain))
        threshold = np.zeros(tree.n_nodes)
        threshold[inner] = tree.threshold
        kept = np.repeat(~plain, length)
        arrays: dict[str, AnyArray] = {
            "child": child,
            "column": column,
            "threshold": threshold,
            "term_count": length[~plain].astype(np.int32),
            "missing_side": tree.missing_side[~plain],
            "term_column": tree.coef_idx[kept],
            "coef": tree.coef[kept],
            "spread": tree.spread[kept],
            "leaf_rows": tree.n_samples[leaf].astype(np.int32),
        }
        stats = tree.stats[leaf]
        if not n_classes:
            arrays["leaf_weight"], arrays["leaf_rest"] = stats[:, 0].copy(), stats[:, -1].copy()
            return arrays | {"leaf_mean": np.ascontiguousarray(stats[:, 1:-1])}
        at, entry = np.nonzero(stats)
        return arrays | {
            "leaf_weight": np.bincount(at, stats[at, entry], len(stats)),
            "entry_count": np.bincount(at, minlength=len(stats)),
            "entry_class": entry.astype(np.int32),
            "entry_weight": stats[at, entry],
        }

    # --- as a sequence -------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @overload
    def __getitem__(self, number: int) -> Tree: ...

    @overload
    def __getitem__(self, number: slice) -> tuple[Tree, ...]: ...

    def __getitem__(self, number: int | slice) -> Tree | tuple[Tree, ...]:
        if isinstance(number, slice):
            return tuple(self[k] for k in range(*number.indices(len(self))))
        at = int(number)
        if at < 0:
            at += len(self)
        if not 0 <= at < len(self):
            raise IndexError(f"There are {len(self)} trees; got number {number}.")
        return self._tree(at)

    def __iter__(self) -> Iterator[Tree]:
        return (self._tree(number) for number in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PackedTrees):
            return NotImplemented
        return all(
            np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
            if isinstance(one, np.ndarray)
            else one is two or one == two
            for one, two in zip(self._as_tuple, other._as_tuple, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PackedTrees({len(self)} trees, {len(self.child)} nodes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._as_tuple

    # --- of all trees --------------------------------------------------------------------

    @property
    def task(self) -> str:
        """What was learnt."""
        return Classes.task if self.n_classes else Numbers.task

    @property
    def n_outputs(self) -> int:
        """The number of numbers that a tree says of a row; 1 if it says a class."""
        return 1 if self.leaf_mean is None else self.leaf_mean.shape[1]

    @property
    def n_leaves(self) -> Int64Array:
        """The number of leaves of each tree."""
        return np.diff(self.leaf_ptr)

    @property
    def depth(self) -> int:
        """The depth of the deepest tree."""
        level, depth = self.node_ptr[:-1], -1
        start = level
        while len(level):
            depth += 1
            inner = self.child[level] >= 0
            first = start[inner] + self.child[level[inner]]
            level, start = np.concatenate([first, first + 1]), np.tile(start[inner], 2)
        return depth

    def columns_of(self, number: int) -> Int32Array:
        """Return the columns that a tree uses, ascending."""
        nodes = slice(*self.node_ptr[number : number + 2])
        terms = slice(*self.term_ptr[self.plane_ptr[number : number + 2]])
        column = self.column[nodes][self.child[nodes] >= 0]
        return np.unique(np.concatenate([column[column >= 0], self.term_column[terms]]))

    @property
    def nbytes(self) -> int:
        """The memory of all arrays."""
        return sum(array.nbytes for array in self._as_tuple if isinstance(array, np.ndarray))

    @cached_property
    def _walker(self) -> ForestWalker:
        return ForestWalker(self, self.n_features)

    def apply(self, Z: AnyArray, n_threads: int = 1) -> Int32Array:
        """Find the leaf that each row reaches in each tree: (n_rows, n_trees) node numbers."""
        return self._applied(Z, n_threads, (0, len(self)))

    def _applied(self, Z: AnyArray, n_threads: int, trees: tuple[int, int]) -> Int32Array:
        """Find the node that each row reaches in some of the trees."""
        rows = self._rows(Z)
        if not isinstance(rows, SparseRows):
            return self._walker.apply(rows, n_threads, trees)
        return rows.walked(lambda some: self._walker.apply(some, n_threads, trees), np.float64)

    def leaves(
        self, Z: AnyArray, n_threads: int = 1, trees: tuple[int, int] | None = None
    ) -> Int64Array:
        """Find the leaf that each row reaches in each tree, numbered over all trees."""
        first, last = (0, len(self)) if trees is None else trees
        node = self._applied(Z, n_threads, (first, last)) + self.node_ptr[first:last]
        return self.leaf_ptr[first:last] - 1 - self.child[node]

    def sums(
        self, Z: AnyArray, n_threads: int = 1, trees: tuple[int, int] | None = None
    ) -> FloatArray:
        """Add up what the trees, or some of them, say of each row: shares, or means."""
        rows, n_sums = self._rows(Z), self.n_classes or self.n_outputs
        if not isinstance(rows, SparseRows):
            return self._walker.sums(rows, n_sums, n_threads, trees)
        return rows.walked(
            lambda some: self._walker.sums(some, n_sums, n_threads, trees), np.float64
        )

    def _rows(self, Z: AnyArray) -> AnyArray:
        """Return rows that can be walked; refuse others."""
        rows = as_rows(Z, self.n_features)
        if isinstance(rows, SparseRows):
            if np.isinf(rows.values).any():
                row = rows.place_of(np.isinf(rows.values))[0]
                raise TreeError(f"Row {row} is infinite in a column. Replace such values.")
        elif np.isinf(rows).any():
            row = int(np.argmax(np.isinf(rows).any(axis=1)))
            raise TreeError(f"Row {row} is infinite in a column. Replace such values.")
        return rows

    # --- one tree ------------------------------------------------------------------------

    def _tree(self, number: int) -> Tree:
        """Make one tree."""
        nodes = slice(*self.node_ptr[number : number + 2])
        planes = slice(*self.plane_ptr[number : number + 2])
        child, column = self.child[nodes], self.column[nodes]
        inner = child >= 0
        stats, n_samples = self._stats(number, child)
        is_plane = column[inner] < 0
        missing_side = np.zeros(int(inner.sum()), dtype=np.uint8)
        missing_side[is_plane] = self.missing_side[planes]
        terms = self._terms(planes, column[inner], self.level[number])
        origin = np.full(len(child), -1, dtype=np.int32)
        origin[inner] = np.diff(terms["coef_ptr"]) > 1
        return Tree(
            n_features=self.n_features,
            kind=np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
            first_child=np.where(inner, child, -1).astype(np.int32),
            n_children=np.where(inner, 2, 0).astype(np.int32),
            plane_ptr=np.concatenate([[0], np.cumsum(inner)]).astype(np.int32),
            **terms,
            threshold=self.threshold[nodes][inner],
            stats=stats,
            n_samples=n_samples,
            gain=self._gain(stats, child),
            axis_gain=np.full(len(child), np.nan),
            origin=origin,
            origin_labels=LABELS,
            task=self.task,
            missing_side=missing_side,
        )

    def _terms(self, planes: slice, column: Int32Array, level: FloatArray) -> dict[str, Any]:
        """Lay out the coefficients of the inner nodes of a tree."""
        first, last = self.term_ptr[planes.start], self.term_ptr[planes.stop]
        terms = slice(first, last)
        plain = column >= 0
        length = np.ones(len(column), dtype=np.int64)
        length[~plain] = np.diff(self.term_ptr[planes.start : planes.stop + 1])
        slanted = np.repeat(~plain, length)
        index = np.repeat(column, length)
        index[slanted] = self.term_column[terms]
        coef, spread = np.ones(len(index)), np.full(len(index), np.nan)
        coef[slanted], spread[slanted] = self.coef[terms], self.spread[terms]
        numbers = np.diff(self.level_ptr)
        fill = self.stand_in.copy()
        fill[numbers > 0] = level[self.level_ptr[1:][numbers > 0] - 1]
        table_size = np.maximum(numbers - 1, 0)[index]
        return {
            "coef_ptr": pointers(length),
            "coef_idx": index,
            "coef": coef,
            "fill": fill[index],
            "spread": spread,
            "table_ptr": pointers(table_size),
            "table": level[ranges(self.level_ptr[:-1][index], table_size)],
        }

    def _stats(self, number: int, child: Int32Array) -> tuple[FloatArray, Int64Array]:
        """Return the stats and rows of all nodes of a tree: what the leaves below add up to."""
        first, last = self.leaf_ptr[number], self.leaf_ptr[number + 1]
        leaf = child < 0
        n_samples = np.zeros(len(child), dtype=np.int64)
        n_samples[leaf] = self.leaf_rows[first:last]
        weight = self.leaf_weight[first:last]
        if self.leaf_mean is None:
            assert self.entry_ptr is not None and self.entry_class is not None
            assert self.entry_weight is not None
            sums = np.zeros((len(child), self.n_classes))
            entries = slice(self.entry_ptr[first], self.entry_ptr[last])
            owner = np.repeat(np.flatnonzero(leaf), np.diff(self.entry_ptr[first : last + 1]))
            sums[owner, self.entry_class[entries]] = self.entry_weight[entries]
            _add_up(child, sums, n_samples)
            return sums, n_samples
        assert self.leaf_rest is not None
        # Squared distances from a mean near to all of them add up without loss of digits.
        mean = self.leaf_mean[first:last]
        centre = mean.mean(axis=0)
        m = mean.shape[1]
        sums = np.zeros((len(child), m + 2))
        sums[leaf, 0] = weight
        sums[leaf, 1:-1] = weight[:, None] * (mean - centre)
        sums[leaf, -1] = self.leaf_rest[first:last]
        sums[leaf, -1] += weight * ((mean - centre) ** 2).sum(axis=1)
        _add_up(child, sums, n_samples)
        off = sums[:, 1:-1] / sums[:, :1]
        sums[:, -1] = np.maximum(sums[:, -1] - sums[:, 0] * (off**2).sum(axis=1), 0.0)
        sums[:, 1:-1] = centre + off
        sums[leaf, 1:-1], sums[leaf, -1] = mean, self.leaf_rest[first:last]
        return sums, n_samples

    def _gain(self, stats: FloatArray, child: Int32Array) -> FloatArray:
        """Return the goodness of each split times the share of all weight that its node has."""
        gain = np.zeros(len(child))
        inner = np.flatnonzero(child >= 0)
        left, right = stats[child[inner]], stats[child[inner] + 1]
        if self.n_classes:
            # Of weights of any size; shares do not depend on it.
            scale = np.ldexp(1.0, -int(np.frexp(stats[0].sum())[1]))
            goodness = get_criterion(self.criterion).function(left * scale, right * scale)
            gain[inner] = goodness * (stats[inner].sum(axis=1) / stats[0].sum())
        else:
            lost = stats[inner, -1] - left[:, -1] - right[:, -1]
            gain[inner] = np.maximum(lost, 0.0) / stats[0, 0]
        return gain


def _add_up(child: Int32Array, sums: FloatArray, n_samples: Int64Array) -> None:
    """Add what children have to their parents, level by level from below."""
    starts = [0]
    # Where levels begin: the first child of the first inner node of the level above.
    while True:
        level = child[starts[-1] :]
        below = level[level >= 0]
        if not len(below):
            break
        starts.append(int(below[0]))
    for begin, end in zip(reversed(starts), [len(child), *reversed(starts[1:])], strict=True):
        inner = begin + np.flatnonzero(child[begin:end] >= 0)
        at = child[inner]
        sums[inner] = sums[at] + sums[at + 1]
        n_samples[inner] = n_samples[at] + n_samples[at + 1]
