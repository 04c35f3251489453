"""What can be computed from a tree's arrays: its shape, and scikit-learn's names for it.

All of it is computed when it is first asked for and kept; none of it is pickled or compared.
"""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from obliqua._typing import (
    AnyArray,
    BoolArray,
    FloatArray,
    Int32Array,
    Int64Array,
    UInt8Array,
)
from obliqua.errors import TreeError
from obliqua.tree.layout import KIND_NAMES, NO_CHILD, NodeKind

# scikit-learn's mark for "no feature" and "no threshold", and ours for "more than one feature".
UNDEFINED = -2
OBLIQUE = -3

Scalar = TypeVar("Scalar", bound=np.generic)


def _constant(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def proportions(stats: FloatArray) -> FloatArray:
    """Return the share of each class; equal shares where a node has seen nothing."""
    largest = np.abs(stats).max(axis=1, keepdims=True)
    # Dividing by the largest first keeps the sum of huge weights finite.
    scaled = np.divide(stats, largest, out=np.ones_like(stats), where=largest > 0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


class TreeViews:
    """The computed attributes of a tree."""

    kind: UInt8Array
    first_child: Int32Array
    n_children: Int32Array
    plane_ptr: Int32Array
    coef_ptr: Int64Array
    coef_idx: Int32Array
    coef: FloatArray
    spread: FloatArray
    table_ptr: Int64Array
    threshold: FloatArray
    stats: FloatArray
    n_samples: Int64Array
    gain: FloatArray
    axis_gain: FloatArray

    # --- shape ---------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return len(self.kind)

    @property
    def n_planes(self) -> int:
        """The number of planes: one per hyperplane, one per branch of a linear machine."""
        return len(self.threshold)

    @property
    def n_stats(self) -> int:
        """The number of sums that each node keeps: the classes, for a classifier."""
        return int(self.stats.shape[1])

    @cached_property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.count_nonzero(self.kind == NodeKind.LEAF))

    @cached_property
    def is_leaf(self) -> BoolArray:
        """Whether each node is a leaf."""
        return _constant(self.kind == NodeKind.LEAF)

    @cached_property
    def parent(self) -> Int64Array:
        """The number of each node's parent; -1 for the root."""
        parent = np.full(self.n_nodes, NO_CHILD, dtype=np.int64)
        # In level order the children of node 0, 1, 2, ... simply follow one another.
        parent[1:] = np.repeat(np.arange(self.n_nodes), self.n_children)
        return _constant(parent)

    @cached_property
    def node_depth(self) -> Int64Array:
        """The number of splits above each node."""
        children_before = np.concatenate([[0], np.cumsum(self.n_children, dtype=np.int64)])
        depth = np.empty(self.n_nodes, dtype=np.int64)
        start, end, level = 0, 1, 0
        while start < end:
            depth[start:end] = level
            below = int(children_before[end] - children_before[start])
            start, end, level = end, end + below, level + 1
        return _constant(depth)

    @cached_property
    def depth(self) -> int:
        """The largest number of splits between the root and a leaf."""
        return int(self.node_depth[-1])

    @cached_property
    def leaf_label(self) -> Int64Array:
        """The class with the largest sum at each node, inner ones too; the first at ties."""
        return _constant(self.stats.argmax(axis=1).astype(np.int64, copy=False))

    @cached_property
    def proportion(self) -> FloatArray:
        """The share of each class at each node."""
        return _constant(proportions(self.stats))

    @cached_property
    def node_of_plane(self) -> Int64Array:
        """The node that each plane belongs to."""
        return _constant(np.repeat(np.arange(self.n_nodes), np.diff(self.plane_ptr)))

    @cached_property
    def plane_of_coef(self) -> Int64Array:
        """The plane that each coefficient belongs to."""
        return _constant(np.repeat(np.arange(self.n_planes), np.diff(self.coef_ptr)))

    # --- what the splits are like ---------------------------------------------------------

    @cached_property
    def n_node_features(self) -> Int64Array:
        """The number of different columns that each node asks about; 0 for a leaf."""
        node = self.node_of_plane[self.plane_of_coef]
        # The planes of a linear machine may share columns.
        pairs = np.unique(np.stack([node, self.coef_idx]), axis=1)
        return _constant(np.bincount(pairs[0], minlength=self.n_nodes))

    @cached_property
    def n_oblique(self) -> int:
        """The number of splits that ask about more than one column."""
        return int(np.count_nonzero(self.n_node_features > 1))

    @cached_property
    def features_per_split(self) -> float:
        """The mean number of columns that a split asks about; 0 if there is no split."""
        n_splits = self.n_nodes - self.n_leaves
        return float(self.n_node_features.sum() / n_splits) if n_splits else 0.0

    @cached_property
    def gain_over_axis(self) -> FloatArray:
        """How much more each split gains than the best axis-parallel one would have.

        NaN where the latter is not known; 0 for leaves.
        """
        return _constant(np.where(self.is_leaf, 0.0, self.gain - self.axis_gain))

    # --- scikit-learn's names ------------------------------------------------------------

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return self.n_nodes

    @property
    def max_depth(self) -> int:
        """The depth of the deepest leaf."""
        return self.depth

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.n_stats

    @property
    def n_node_samples(self) -> Int64Array:
        """The number of training rows at each node."""
        return self.n_samples

    @cached_property
    def weighted_n_node_samples(self) -> FloatArray:
        """The weight of the training rows at each node."""
        return _constant(self.stats.sum(axis=1))

    @cached_property
    def value(self) -> FloatArray:
        """The share of each class at each node, of shape (n_nodes, 1, n_classes)."""
        return _constant(self.proportion[:, None, :].copy())

    @cached_property
    def impurity(self) -> FloatArray:
        """The gini impurity of each node."""
        return _constant(1.0 - (self.proportion * self.proportion).sum(axis=1))

    @cached_property
    def children_left(self) -> Int64Array:
        """The left child of each node; -1 for a leaf."""
        self._require(self.n_children <= 2, "children_left")
        return _constant(self.first_child.astype(np.int64))

    @cached_property
    def children_right(self) -> Int64Array:
        """The right child of each node; -1 for a leaf."""
        self._require(self.n_children <= 2, "children_right")
        right = np.where(self.is_leaf, NO_CHILD, self.first_child.astype(np.int64) + 1)
        return _constant(right)

    @cached_property
    def feature(self) -> Int64Array:
        """The column that each node asks about; -2 for a leaf, -3 for an oblique split.

        A node has a column if a row goes left when the column's value is at most
        `node_threshold`: its plane has a single, positive coefficient and no level table.
        """
        self._require(self.kind <= NodeKind.HYPERPLANE, "feature")
        feature = np.full(self.n_nodes, UNDEFINED, dtype=np.int64)
        feature[self.kind == NodeKind.HYPERPLANE] = OBLIQUE
        plane = np.flatnonzero(self._one_column)
        feature[self.node_of_plane[plane]] = self.coef_idx[self.coef_ptr[plane]]
        return _constant(feature)

    @cached_property
    def node_threshold(self) -> FloatArray:
        """The threshold of each node; -2 for a leaf.

        For a node with a `feature` it is in units of that column, for an oblique split in
        units of its value along the normal.
        """
        self._require(self.kind <= NodeKind.HYPERPLANE, "node_threshold")
        node_threshold = np.full(self.n_nodes, float(UNDEFINED))
        node_threshold[self.node_of_plane] = self.threshold
        plane = np.flatnonzero(self._one_column)
        coef = self.coef[self.coef_ptr[plane]]
        with np.errstate(over="ignore"):
            node_threshold[self.node_of_plane[plane]] = self.threshold[plane] / coef
        return _constant(node_threshold)

    @property
    def _one_column(self) -> BoolArray:
        """Whether a plane compares one column's value with a threshold, left being less."""
        one = np.diff(self.coef_ptr) == 1
        first: AnyArray = self.coef_ptr[:-1][one]
        one[one] = (self.coef[first] > 0) & (np.diff(self.table_ptr)[first] == 0)
        return one

    def _require(self, expressible: BoolArray, view: str) -> None:
        """Raise for the first node that a view cannot express."""
        if not expressible.all():
            node = int(np.argmin(expressible))
            raise TreeError(
                f"Node {node} is {KIND_NAMES[NodeKind(self.kind[node])]} with "
                f"{self.n_children[node]} branches, which {view!r} cannot express: it knows "
                "binary splits by hyperplanes only. Read first_child, n_children, kind and the "
                "planes instead."
            )
