"""Trees as plain arrays.

`Tree` remembers splits and what they were worth, and walks rows. `TreeBuilder` makes a tree by
hand, `fold` says a tree over mapped columns in the original ones, `collapse` cuts it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from obliqua._core.base.walk import Walker
from obliqua._typing import AnyArray, FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.errors import TreeError
from obliqua.tree.layout import ARRAYS, KIND_NAMES, NodeKind, as_field, pointers, ranges
from obliqua.tree.surgery import check_node, graft, subtree
from obliqua.tree.validate import validate
from obliqua.tree.views import TreeViews

if TYPE_CHECKING:
    from obliqua.data.encoding import Encoding

__all__ = ["Tree"]

# The types that compiled code reads in place. Arrays of these share these very objects.
_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)


@dataclass(frozen=True, eq=False, repr=False)
class Tree(TreeViews):
    """A decision tree as an immutable set of arrays.

    A node is a leaf, a hyperplane, a set of levels or a linear machine (`NodeKind`). Nodes are
    numbered in level order: the root is 0 and the children of a node stand next to each other.
    The planes of node ``i`` are ``plane_ptr[i]:plane_ptr[i + 1]``, the coefficients of plane
    ``q`` are ``coef_ptr[q]:coef_ptr[q + 1]``.

    The value of a plane at a row ``z`` is the sum of ``coef[k] * v`` over its coefficients in
    their order, where ``v`` is ``z[coef_idx[k]]``; or, if coefficient ``k`` has a level table,
    the table's entry for that code, 0 for a code outside it; or, if the entry of ``z`` is
    missing (NaN), ``fill[k]``.

    The arrays that are given become the tree's own: they are made read-only. Use
    `Tree.from_arrays` for arrays that were not made by this library, which copies and checks
    them, and `TreeBuilder` to make a tree by hand.

    Parameters
    ----------
    n_features : int
        The number of columns of the rows that the tree walks.
    kind : ndarray of uint8, of shape (n_nodes,)
        What each node asks, a `NodeKind`.
    first_child : ndarray of int32, of shape (n_nodes,)
        The first child of each node; -1 for a leaf.
    n_children : ndarray of int32, of shape (n_nodes,)
        0 for a leaf, 2 for a hyperplane (left, then right), else the number of branches.
    plane_ptr : ndarray of int32, of shape (n_nodes + 1,)
        Where each node's planes start: none for a leaf, one per branch for a linear machine,
        one otherwise.
    coef_ptr : ndarray of int64, of shape (n_planes + 1,)
        Where each plane's coefficients start.
    coef_idx : ndarray of int32, of shape (n_coef,)
        The column of each coefficient.
    coef : ndarray of float64, of shape (n_coef,)
        The coefficients.
    fill : ndarray of float64, of shape (n_coef,)
        What stands in for a missing value; NaN if nothing is known. For a coefficient with a
        level table it is in the table's numbers.
    spread : ndarray of float64, of shape (n_coef,)
        The standard deviation, among the training rows at the node, of what the coefficient is
        multiplied with: ``|coef| * spread`` says how much it moves rows along the normal.
        NaN if it is not known; `measure_spread` finds it.
    table_ptr : ndarray of int64, of shape (n_coef + 1,)
        Where each coefficient's level table starts; empty for a numeric column.
    table : ndarray of float64
        The level tables: a number per level code.
    threshold : ndarray of float64, of shape (n_planes,)
        A row goes left at a hyperplane if the plane's value is at most the threshold. At a
        linear machine it takes the branch with the largest value minus threshold, the first
        at ties. At a set of levels the table holds the branch of each level and the threshold
        is the branch of all others.
    stats : ndarray of float64, of shape (n_nodes, n_stats)
        Additive sums of the training rows at each node: weights per class.
    n_samples : ndarray of int64, of shape (n_nodes,)
        The number of training rows at each node.
    gain : ndarray of float64, of shape (n_nodes,)
        The goodness of each split times the share of all weight that its node has; 0 for
        leaves.
    axis_gain : ndarray of float64, of shape (n_nodes,)
        The gain that the best axis-parallel split would have had; NaN if it is not known.
    origin : ndarray of int32, of shape (n_nodes,)
        Which proposal won: an index into `origin_labels`; -1 for leaves and if not known.
    origin_labels : tuple of str, default=()
        What the proposals are called.
    """

    n_features: int
    kind: UInt8Array
    first_child: Int32Array
    n_children: Int32Array
    plane_ptr: Int32Array
    coef_ptr: Int64Array
    coef_idx: Int32Array
    coef: FloatArray
    fill: FloatArray
    spread: FloatArray
    table_ptr: Int64Array
    table: FloatArray
    threshold: FloatArray
    stats: FloatArray
    n_samples: Int64Array
    gain: FloatArray
    axis_gain: FloatArray
    origin: Int32Array
    origin_labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        state = self.__dict__  # frozen: fields are set here and nowhere else
        for name in ARRAYS:
            array = as_field(name, state[name])
            array.flags.writeable = False
            state[name] = array
        state["n_features"] = int(self.n_features)
        state["origin_labels"] = tuple(str(label) for label in self.origin_labels)

    # --- walking -------------------------------------------------------------------------

    @cached_property
    def _walker(self) -> Walker:
        return Walker(self)

    def apply(self, Z: AnyArray, n_threads: int = 1) -> Int64Array:
        """Find the leaf that each row reaches.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows. float32 and float64 arrays are read in place, whatever their strides.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of int64, of shape (n_rows,)
            The number of each row's leaf.

        Raises
        ------
        TreeError
            If `Z` has the wrong shape, or if a value is missing and the node that asks for
            it has no fill value.
        """
        if (
            type(Z) is not np.ndarray
            or not (Z.dtype is _FLOAT64 or Z.dtype is _FLOAT32)
            or Z.ndim != 2
            or Z.shape[1] != self.n_features
            or not Z.flags.aligned
        ):
            Z = self._as_rows(Z)
        leaves: Int64Array = self._walker.apply(Z, n_threads)
        # Looking at one number takes a tenth of the time of finding the least of one.
        if (leaves[0] if len(leaves) == 1 else leaves.min(initial=0)) < 0:
            self._report_missing(Z, leaves)
        return leaves

    def _as_rows(self, Z: Any) -> AnyArray:
        """Make rows that can be walked of anything like an array."""
        try:
            rows: AnyArray = np.asarray(Z)
            if rows.dtype not in (_FLOAT32, _FLOAT64) or not rows.dtype.isnative:
                rows = rows.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TreeError(
                f"A tree walks rows of numbers; got {type(Z).__name__}: {error}."
            ) from error
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise TreeError(
                f"A tree over {self.n_features} columns walks arrays of shape (n_rows, "
                f"{self.n_features}); got shape {rows.shape}."
            )
        return rows if rows.flags.aligned else rows.copy()

    def _report_missing(self, Z: AnyArray, leaves: Int64Array) -> None:
        row = int(np.argmax(leaves < 0))
        missing = np.flatnonzero(np.isnan(Z[row])).tolist()
        what = f"is missing (NaN) in columns {missing}" if missing else "is infinite"
        raise TreeError(
            f"Row {row} {what}, and a node that it reaches has no fill value to use instead. "
            "Replace such values, or fit on rows in which these columns are missing too."
        )

    def decision_path(self, Z: AnyArray, n_threads: int = 1) -> sparse.csr_array:
        """Find the nodes that each row passes.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        csr_array of shape (n_rows, n_nodes)
            1 where a row passes a node, root and leaf included.
        """
        leaves = self.apply(Z, n_threads)
        visited, which = np.unique(leaves, return_inverse=True)
        length = self.node_depth[visited] + 1
        start = pointers(length)
        way = np.empty(start[-1], dtype=np.int64)
        # Up from all leaves at once; each is done when it has passed the root.
        node, place = visited, start[1:] - 1
        while len(node):
            way[place] = node
            node = self.parent[node]
            below_root = node >= 0
            node, place = node[below_root], place[below_root] - 1
        indices = way[ranges(start[which], length[which])]
        parts = (np.ones(len(indices), dtype=np.int64), indices, pointers(length[which]))
        return sparse.csr_array(parts, shape=(len(leaves), self.n_nodes))

    # --- arrays --------------------------------------------------------------------------

    def validate(self) -> None:
        """Check that the arrays fit together.

        Raises
        ------
        TreeError
            If they do not; the message says where.
        """
        validate(self)

    def to_arrays(self) -> dict[str, Any]:
        """Return all fields by name: arrays, `n_features` and `origin_labels`.

        Returns
        -------
        dict
            What `from_arrays` takes. The arrays are the tree's own and read-only.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> Tree:
        """Make a tree of copies of arrays, and check that they fit together.

        Parameters
        ----------
        arrays : mapping
            All fields by name, as `to_arrays` returns them; `origin_labels` and `spread` may
            be absent.

        Returns
        -------
        Tree
            The tree.

        Raises
        ------
        TreeError
            If an array is missing or unknown, or if the arrays do not make a tree.
        """
        names = {field.name for field in fields(cls)}
        missing = sorted(names - set(arrays) - {"origin_labels", "spread"})
        unknown = sorted(set(arrays) - names)
        if missing or unknown:
            what = f"without {missing[0]!r}" if missing else f"with unknown {unknown[0]!r}"
            raise TreeError(
                f"A tree cannot be made of arrays {what}; it needs {', '.join(ARRAYS)}."
            )
        copies: dict[str, Any] = dict(arrays)
        if "spread" not in arrays:
            copies["spread"] = np.full(np.shape(arrays["coef"]), np.nan)
        copies |= {name: np.array(copies[name]) for name in ARRAYS}
        tree = cls(**copies)
        tree.validate()
        return tree

    def __reduce__(self) -> tuple[Any, ...]:
        # Only the fields: neither the packed copy for walking nor the computed views.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        """Compare bit for bit; NaN equals NaN."""
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.n_features == other.n_features
            and self.origin_labels == other.origin_labels
            and all(_same_bits(getattr(self, name), getattr(other, name)) for name in ARRAYS)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"Tree({self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth}, "
            f"{self.n_features} columns, {self.n_stats} stats)"
        )

    # --- parts ---------------------------------------------------------------------------

    def subtree(self, node: int) -> Tree:
        """Return the part of the tree below a node.

        Parameters
        ----------
        node : int
            The node that becomes the root.

        Returns
        -------
        Tree
            The part. Its gains stay as they are, relative to the weight of the whole tree.
        """
        return subtree(self, node)

    def graft(self, node: int, tree: Tree) -> Tree:
        """Put another tree in the place of a leaf.

        Parameters
        ----------
        node : int
            The leaf that is replaced.
        tree : Tree
            The tree that takes its place, over the same columns and classes. Its gains are
            taken as they are.

        Returns
        -------
        Tree
            The joined tree, numbered in level order.
        """
        return graft(self, node, tree)

    def coefficients(self, node: int) -> FloatArray:
        """Return the normal of a hyperplane with all its zeros.

        Parameters
        ----------
        node : int
            A node that is a hyperplane.

        Returns
        -------
        ndarray of shape (n_features,)
            The coefficient of each column.
        """
        node = check_node(self, node)
        if self.kind[node] != NodeKind.HYPERPLANE:
            raise TreeError(
                f"Node {node} is {KIND_NAMES[NodeKind(self.kind[node])]}, which has no normal; "
                "only a hyperplane has one."
            )
        part = slice(*self.coef_ptr[self.plane_ptr[node] :][:2].tolist())
        normal = np.zeros(self.n_features)
        normal[self.coef_idx[part]] = self.coef[part]
        return normal

    def to_frame(
        self,
        feature_names: Sequence[Any] | Encoding | None = None,
        class_names: Sequence[Any] | None = None,
        library: str = "pandas",
    ) -> Any:
        """Show the tree as a table with a row per node.

        Its columns are ``node``, ``parent``, ``depth`` and ``side`` (``left``, ``right``, or
        ``branch 0`` and so on); ``kind``; ``question``, which the rows that go left answer with
        yes, and ``n_features``, how many features it is about; ``rows``, ``weight``, the largest
        ``class`` and its ``share``; ``gain``, ``axis_gain`` and their difference
        ``gain_over_axis``; ``origin``; and the weight of each class, ``count_`` and its name.
        What a node does not have, and what is not known, is missing.

        Parameters
        ----------
        feature_names : sequence of str or Encoding, default=None
            Names of the columns, `feature_names_in_` of an estimator for instance; ``x0, x1,
            ...`` if there are none. `model_.encoding` of an estimator knows levels too; without
            it they are codes.
        class_names : sequence of str, default=None
            Names of the classes, `classes_` of an estimator for instance.
        library : {"pandas", "polars"}, default="pandas"
            Whose frame to make.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            The table.

        Raises
        ------
        MissingDependency
            If the library is not installed.

        Examples
        --------
        >>> from obliqua import TreeBuilder
        >>> builder = TreeBuilder(n_features=2, n_stats=2)
        >>> builder.add_split("root", {0: 2.0, 1: 0.74}, 90.0, ("low", "high"))
        >>> builder.set_leaf("low", [8, 1], n_samples=9)
        >>> builder.set_leaf("high", [0, 5], n_samples=5)
        >>> frame = builder.build().to_frame(["age", "bmi"])
        >>> frame[["node", "side", "question", "rows", "class"]].fillna("")
           node   side              question  rows class
        0     0         age + 0.37*bmi <= 45    14     0
        1     1   left                           9     0
        2     2  right                           5     1
        """
        # What writes questions reads trees, so this import has to wait.
        from obliqua.words.frame import to_frame

        return to_frame(self, feature_names, class_names, library)

    def normals(self) -> sparse.csr_array:
        """Return the normals of all planes.

        Returns
        -------
        csr_array of shape (n_planes, n_features)
            One row per plane; `node_of_plane` says which node it belongs to.
        """
        parts = (self.coef.copy(), self.coef_idx.copy(), self.coef_ptr.copy())
        return sparse.csr_array(parts, shape=(self.n_planes, self.n_features))


def _same_bits(a: AnyArray, b: AnyArray) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = a.view(np.int64) == b.view(np.int64)
    return bool((bits | (np.isnan(a) & np.isnan(b))).all())
