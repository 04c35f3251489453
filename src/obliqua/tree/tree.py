"""Trees as plain arrays.

`Tree` remembers splits and what they were worth, and walks rows. `TreeBuilder` makes a tree by
hand, `fold` says a tree over mapped columns in the original ones, `collapse` cuts it back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obliqua._core.base.walk import Walker, line_values
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array, UInt8Array
from obliqua.data.costs import Costs, classes_said
from obliqua.data.sparse_rows import SparseRows
from obliqua.data.target import TASKS, Classes, Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import (
    ARRAYS,
    KIND_NAMES,
    NO_CHILD,
    NO_LINES,
    NOT_RELABELLED,
    NodeKind,
    as_field,
    pointers,
    ranges,
)
from obliqua.tree.surgery import check_node, graft, subtree
from obliqua.tree.validate import validate

if TYPE_CHECKING:
    from obliqua.data.encoding import Encoding

__all__ = ["Tree"]

# scikit-learn's mark for "no feature" and "no threshold", and ours for "more than one feature".
UNDEFINED = -2
OBLIQUE = -3

# What trees of scikit-learn have and ours do not.
SKLEARN_ONLY = frozenset(
    {
        "capacity",
        "compute_feature_importances",
        "compute_node_depths",
        "compute_partial_dependence",
        "max_n_classes",
        "missing_go_to_left",
    }
)

SKLEARN_INSTEAD = (
    " Tools that read trees of scikit-learn can be given one: to_sklearn() makes it. To read this "
    "tree node by node, take 'feature' and 'node_threshold'; 'threshold' has one for each plane."
)

Scalar = TypeVar("Scalar", bound=np.generic)

# The types that compiled code reads in place. Arrays of these share these very objects.
_FLOAT64 = np.dtype(np.float64)
_FLOAT32 = np.dtype(np.float32)


class ClassCount(int):
    """A number of classes, which in scikit-learn is a list with one number for each output."""

    def __getitem__(self, output: Any) -> int:
        raise TypeError(f"n_classes of a Tree of obliqua is one number.{SKLEARN_INSTEAD}")


def as_rows(Z: Any, n_features: int) -> AnyArray:
    """Make rows that can be walked of anything like an array."""
    if sparse.issparse(Z):
        Z = SparseRows(Z)
    if isinstance(Z, SparseRows):
        return _checked_width(Z, n_features)
    try:
        rows: AnyArray = np.asarray(Z)
        if rows.dtype not in (_FLOAT32, _FLOAT64) or not rows.dtype.isnative:
            rows = rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise TreeError(
            f"A tree walks rows of numbers; got {type(Z).__name__}: {error}."
        ) from error
    _checked_width(rows, n_features)
    return rows if rows.flags.aligned else rows.copy()


def _checked_width(rows: Any, n_features: int) -> AnyArray:
    """Return rows that have as many columns as a tree asks for."""
    if rows.ndim != 2 or rows.shape[1] != n_features:
        raise TreeError(
            f"A tree over {n_features} columns walks arrays of shape (n_rows, "
            f"{n_features}); got shape {rows.shape}."
        )
    checked: AnyArray = rows
    return checked


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """A decision tree as an immutable set of arrays.

    A node is a leaf, a hyperplane, a set of levels or a linear machine (`NodeKind`). Nodes are
    numbered in level order: the root is 0 and the children of a node stand next to each other.
    The planes of node ``i`` are ``plane_ptr[i]:plane_ptr[i + 1]``, the coefficients of plane
    ``q`` are ``coef_ptr[q]:coef_ptr[q + 1]``.

    The value of a plane at a row ``z`` is the sum of ``coef[k] * v`` over its coefficients in
    their order, where ``v`` is ``z[coef_idx[k]]``; or, if coefficient ``k`` has a level table,
    the table's entry for that code, 0 for a code outside it; or, if the entry of ``z`` is
    missing (NaN), ``fill[k]``. Where a hyperplane has a `missing_side`, a row with a missing
    entry among its columns goes there, whatever the others are.

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
        is the branch of all others. There is one for each plane, none for leaves, unlike in
        scikit-learn: `node_threshold` is the view by node, beside `feature`, and `to_sklearn`
        makes a tree of scikit-learn for tools that need one.
    stats : ndarray of float64, of shape (n_nodes, n_stats)
        What the training rows at each node add up to. For classes, the weight of each; for
        numbers, the weight, the mean of each output, and the sum of squared distances from the
        means.
    n_samples : ndarray of int64, of shape (n_nodes,)
        The number of training rows at each node; -1 where it is not known.
    gain : ndarray of float64, of shape (n_nodes,)
        The goodness of each split times the share of all weight that its node has; 0 for
        leaves, NaN where it is not known.
    axis_gain : ndarray of float64, of shape (n_nodes,)
        The gain that the best axis-parallel split would have had; NaN if it is not known.
    origin : ndarray of int32, of shape (n_nodes,)
        Which proposal won: an index into `origin_labels`; -1 for leaves and if not known.
    origin_labels : tuple of str, default=()
        What the proposals are called.
    task : {"classification", "regression"}, default="classification"
        What was learnt, and so what `stats` are.
    missing_side : ndarray of uint8, of shape (n_planes,), default=None
        Where a hyperplane sends rows with a missing value in one of its columns, a
        `MissingSide`: no side of its own (0: the stand-ins in `fill` decide), left (1) or right
        (2). All 0 if it is left out. A hyperplane whose only coefficient is 0 asks nothing but
        whether the value is there.
    leaf_ptr, leaf_idx, leaf_coef, leaf_fill, leaf_table_ptr, leaf_table : ndarray
        What each node says as a leaf, if that is a linear function of a row: its coefficients as
        `coef_ptr`, `coef_idx`, `coef`, `fill`, `table_ptr` and `table` have those of planes, a
        row per node. Empty if leaves say constants.
    leaf_intercept, leaf_low, leaf_high : ndarray of float64, of shape (n_nodes,)
        The constant of the function of each node, and the least and the largest number that it
        may say. Empty if leaves say constants. With functions the sum of squares in `stats` is
        that of the distances from what the function says.
    leaf_spread : ndarray of float64
        The standard deviation, among the training rows at the node, of what each coefficient of
        a function is multiplied with; NaN if it is not known, as where it is left out.
    leaf_gain : ndarray of float64, of shape (n_nodes,)
        By how much the function of each node lowers the squared error of its training rows below
        that of their mean, over the weight of all rows: in the unit of `gain`. 0 if left out.
    loss : {"squared_error", "absolute_error"}, default="squared_error"
        What the stats of a tree of numbers tell: means and squared distances from them, or
        medians and distances.
    costs : tuple of tuples of float, default=()
        What mistakes cost in a tree of classes: ``costs[i][j]`` is the cost of saying class j of
        a row of class i. A leaf says the class that costs least. Without any each mistake costs
        1, and a leaf says its heaviest class.
    relabelled : ndarray of int32, of shape (n_nodes,), default=None
        The class that somebody has given to a leaf by hand, whatever its stats are; -1 where
        these decide. Empty if they decide everywhere.

    Notes
    -----
    Where a tree was changed by hand and nothing was counted anew, `n_samples` is -1 and `gain`
    NaN: they are not known. `stats` then still tell what a node says.
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
    task: str = "classification"
    missing_side: UInt8Array = None  # type: ignore[assignment]
    leaf_ptr: Int64Array = field(default_factory=lambda: NO_LINES["leaf_ptr"])
    leaf_idx: Int32Array = field(default_factory=lambda: NO_LINES["leaf_idx"])
    leaf_coef: FloatArray = field(default_factory=lambda: NO_LINES["leaf_coef"])
    leaf_fill: FloatArray = field(default_factory=lambda: NO_LINES["leaf_fill"])
    leaf_table_ptr: Int64Array = field(default_factory=lambda: NO_LINES["leaf_table_ptr"])
    leaf_table: FloatArray = field(default_factory=lambda: NO_LINES["leaf_table"])
    leaf_intercept: FloatArray = field(default_factory=lambda: NO_LINES["leaf_intercept"])
    leaf_low: FloatArray = field(default_factory=lambda: NO_LINES["leaf_low"])
    leaf_high: FloatArray = field(default_factory=lambda: NO_LINES["leaf_high"])
    leaf_spread: FloatArray = None  # type: ignore[assignment]
    leaf_gain: FloatArray = None  # type: ignore[assignment]
    loss: str = "squared_error"
    costs: Costs = ()
    relabelled: Int32Array = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        state = self.__dict__  # frozen: fields are set here and nowhere else
        if self.missing_side is None:
            state["missing_side"] = np.zeros(np.shape(self.threshold), dtype=np.uint8)
        if self.leaf_spread is None:
            state["leaf_spread"] = np.full(np.shape(self.leaf_coef), np.nan)
        if self.leaf_gain is None:
            state["leaf_gain"] = np.zeros(np.shape(self.leaf_intercept))
        if self.relabelled is None or not np.any(np.asarray(self.relabelled) != NOT_RELABELLED):
            state["relabelled"] = np.zeros(0, dtype=np.int32)
        for name in ARRAYS:
            array = as_field(name, state[name])
            array.flags.writeable = False
            state[name] = array
        state["n_features"] = int(self.n_features)
        state["origin_labels"] = tuple(str(label) for label in self.origin_labels)
        state["costs"] = tuple(tuple(float(cost) for cost in row) for row in self.costs)

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
        leaves: Int64Array
        if isinstance(Z, SparseRows):
            leaves = Z.walked(lambda rows: self._walker.apply(rows, n_threads))
        else:
            leaves = self._walker.apply(Z, n_threads)
        # Looking at one number takes a tenth of the time of finding the least of one.
        if (leaves[0] if len(leaves) == 1 else leaves.min(initial=0)) < 0:
            self._report_missing(Z, leaves)
        return leaves

    def predict(self, Z: AnyArray, n_threads: int = 1) -> FloatArray:
        """Return what the leaf of each row says, for a tree of numbers.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        n_threads : int, default=1
            How many threads may share the work.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The means of the leaves, or the values of their linear functions, none below
            `leaf_low` or above `leaf_high` of its leaf.
        """
        return self.said(Z, self.apply(Z, n_threads))

    def said(self, Z: AnyArray, nodes: Int64Array) -> FloatArray:
        """Return what a node says of each row: its means, or the value of its linear function.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        nodes : ndarray of int64, of shape (n_rows,)
            The node of each row: its leaf, or one above it.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            What they say.
        """
        if not self.has_lines:
            return self.mean.take(nodes, axis=0)
        return self.line_values(Z, nodes)[:, None]

    def line_values(self, Z: AnyArray, nodes: Int64Array) -> FloatArray:
        """Return what a node says of each row by its linear function.

        Parameters
        ----------
        Z : array of shape (n_rows, n_features)
            The rows.
        nodes : ndarray of int64, of shape (n_rows,)
            The node of each row: its leaf, or one above it.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values, within the limits of the nodes.
        """
        lines = tuple(getattr(self, name) for name in NO_LINES)
        rows, nodes = self._as_rows(Z), np.ascontiguousarray(nodes, dtype=np.int64)
        if nodes.shape != (len(rows),) or ((nodes < 0) | (nodes >= self.n_nodes)).any():
            raise TreeError(
                f"A node must be named for each of {len(rows)} rows, by its number, 0 to "
                f"{self.n_nodes - 1}; got an array of shape {nodes.shape}."
            )
        otherwise = self.mean[:, 0].copy()
        if isinstance(rows, SparseRows):
            parts = [line_values(some, nodes[at], lines, otherwise) for at, some in rows.blocks()]
            return np.concatenate(parts)
        return line_values(rows, nodes, lines, otherwise)

    @property
    def has_lines(self) -> bool:
        """Whether leaves say linear functions of a row."""
        return len(self.leaf_intercept) > 0

    def _as_rows(self, Z: Any) -> AnyArray:
        return as_rows(Z, self.n_features)

    def _report_missing(self, Z: AnyArray, leaves: Int64Array) -> None:
        row = int(np.argmax(leaves < 0))
        values = next(Z[[row]].blocks())[1][0] if isinstance(Z, SparseRows) else Z[row]
        missing = np.flatnonzero(np.isnan(values)).tolist()
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
        """Return all fields by name: arrays, `n_features`, `origin_labels`, `task`, ...

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
            All fields by name, as `to_arrays` returns them; `origin_labels`, `spread`, `task`,
            `loss`, `costs`, `missing_side`, `relabelled` and those of linear leaves may be
            absent.

        Raises
        ------
        TreeError
            If an array is missing or unknown, or if the arrays do not make a tree.
        """
        names = {field.name for field in fields(cls)}
        optional = {"origin_labels", "spread", "task", "loss", "costs", "missing_side"}
        optional |= {"relabelled", *NO_LINES}
        missing = sorted(names - set(arrays) - optional)
        unknown = sorted(set(arrays) - names)
        if missing or unknown:
            what = f"without {missing[0]!r}" if missing else f"with unknown {unknown[0]!r}"
            raise TreeError(
                f"A tree cannot be made of arrays {what}; it needs {', '.join(ARRAYS)}."
            )
        copies: dict[str, Any] = dict(arrays)
        if "spread" not in arrays:
            copies["spread"] = np.full(np.shape(arrays["coef"]), np.nan)
        copies |= {name: np.array(copies[name]) for name in ARRAYS if name in copies}
        tree = cls(**copies)
        tree.validate()
        return tree

    if not TYPE_CHECKING:  # or any name would be one to type checkers

        def __getattr__(self, name: str) -> Any:
            # Only called for names that are not there, some of which tools for scikit-learn read.
            more = SKLEARN_INSTEAD if name in SKLEARN_ONLY else ""
            raise AttributeError(f"A Tree of obliqua has no {name!r}.{more}", name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        # Only the fields: neither the packed copy for walking nor the computed views.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        """Compare bit for bit; NaN equals NaN."""
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.task == other.task
            and self.loss == other.loss
            and self.costs == other.costs
            and self.n_features == other.n_features
            and self.origin_labels == other.origin_labels
            and all(_same_bits(getattr(self, name), getattr(other, name)) for name in ARRAYS)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        held = f"{self.n_stats} stats"
        if self._holds_numbers:
            held = "1 output" if self.n_outputs == 1 else f"{self.n_outputs} outputs"
        return (
            f"Tree({self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.depth}, "
            f"{self.n_features} columns, {held})"
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
            The tree that takes its place, over the same columns, and classes or outputs. Its
            gains are taken as they are.

        Returns
        -------
        Tree
            The joined tree, numbered in level order.
        """
        return graft(self, node, tree)

    def over_columns(self, columns: Int64Array, n_features: int) -> Tree:
        """Return the tree over more columns, of which it uses those that it knows.

        Parameters
        ----------
        columns : ndarray
            The new numbers of its columns.
        n_features : int
            How many columns there are.

        Returns
        -------
        Tree
            The same splits and leaves.
        """
        return replace(
            self,
            n_features=n_features,
            coef_idx=columns[self.coef_idx].astype(np.int32),
            leaf_idx=columns[self.leaf_idx].astype(np.int32),
        )

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
        What a node does not have, and what is not known, is missing. A tree of numbers has, in
        the place of class, share and counts, ``mean`` and ``sd``, the standard deviation; with
        several outputs the mean of each, ``mean_`` and its name. Where leaves say linear
        functions, there are also what each node says as a leaf, ``function`` in words, its
        ``intercept`` and its limits ``low`` and ``high``, and its ``error``, the root of the
        mean squared one.

        Parameters
        ----------
        feature_names : sequence of str or Encoding, default=None
            Names of the columns, `feature_names_in_` of an estimator for instance; ``x0, x1,
            ...`` if there are none. `model_.encoding` of an estimator knows levels too; without
            it they are codes.
        class_names : sequence of str, default=None
            Names of the classes, `classes_` of an estimator for instance; for a tree of
            numbers, of the outputs.
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

    def to_sklearn(self, X: Any = None) -> Any:
        """Make a fitted tree of scikit-learn that says the same; see `obliqua.to_sklearn`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features), default=None
            Rows to compare both on; a `CastWarning` counts and names those that reach another
            leaf.

        Returns
        -------
        DecisionTreeClassifier, DecisionTreeRegressor or Pipeline
            The fitted estimator: a tree if each split compares one number, else a pipeline of
            what the splits ask and a tree. Classes are numbered.
        """
        from obliqua.export.to_sklearn import to_sklearn

        return to_sklearn(self, X)

    def normals(self) -> sparse.csr_array:
        """Return the normals of all planes.

        Returns
        -------
        csr_array of shape (n_planes, n_features)
            One row per plane; `node_of_plane` says which node it belongs to.
        """
        parts = (self.coef.copy(), self.coef_idx.copy(), self.coef_ptr.copy())
        return sparse.csr_array(parts, shape=(self.n_planes, self.n_features))

    # What can be computed from the arrays is computed when it is first asked for and kept; none of
    # it is pickled or compared.

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
        """The number of stats of each node: the classes, or the outputs and two more."""
        return int(self.stats.shape[1])

    @property
    def n_outputs(self) -> int:
        """The number of outputs: 1, but for a tree that says several numbers."""
        return self.n_stats - 2 if self._holds_numbers else 1

    @property
    def _holds_numbers(self) -> bool:
        return self.task == Numbers.task

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
        """What each node says, inner ones too: the heaviest class, or the one that costs least.

        At ties it is the first of them. A leaf that is `relabelled` says that class.
        """
        self._require_task(Classes.task, "leaf_label", "mean")
        said = classes_said(self.stats, self.costs)
        if len(self.relabelled):
            said = np.where(self.relabelled == NOT_RELABELLED, said, self.relabelled)
        return _constant(said.astype(np.int64, copy=False))

    @cached_property
    def proportion(self) -> FloatArray:
        """The share of each class at each node."""
        self._require_task(Classes.task, "proportion", "mean")
        return _constant(_proportions(self.stats))

    @cached_property
    def mean(self) -> FloatArray:
        """What each node of a tree of numbers says: the mean of each output, or the median.

        Where leaves say linear functions (`has_lines`), these are the means all the same.
        """
        self._require_task(Numbers.task, "mean", "proportion")
        return _constant(self.stats[:, 1:-1].copy())

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
        self._require_task(Classes.task, "n_classes", "n_outputs")
        return ClassCount(self.n_stats)

    @property
    def n_node_samples(self) -> Int64Array:
        """The number of training rows at each node; -1 where it is not known."""
        return self.n_samples

    @cached_property
    def weighted_n_node_samples(self) -> FloatArray:
        """The weight of the training rows at each node."""
        return _constant(TASKS[self.task].weight(self.stats))

    @cached_property
    def value(self) -> FloatArray:
        """What each node says: the shares of classes, of shape (n_nodes, 1, n_classes).

        Of a tree of numbers the means, of shape (n_nodes, n_outputs, 1), also where leaves say
        linear functions.
        """
        if self._holds_numbers:
            return _constant(self.mean[:, :, None].copy())
        return _constant(self.proportion[:, None, :].copy())

    @cached_property
    def impurity(self) -> FloatArray:
        """The gini impurity of each node, or its mean error (see `loss`) over the outputs.

        Where leaves say linear functions, the error is that of the function of each node.
        """
        if self._holds_numbers:
            weight, error = self.weighted_n_node_samples, TASKS[self.task].risk(self.stats)
            return _constant(np.divide(error, weight, out=np.zeros_like(error), where=weight > 0))
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
        `node_threshold`: its plane has a single, positive coefficient and no level table; or a
        coefficient of 0, if it asks whether the value is there.
        """
        self._require(self.kind <= NodeKind.HYPERPLANE, "feature")
        feature = np.full(self.n_nodes, UNDEFINED, dtype=np.int64)
        feature[self.kind == NodeKind.HYPERPLANE] = OBLIQUE
        plane = np.flatnonzero(self._one_column)
        feature[self.node_of_plane[plane]] = self.coef_idx[self.coef_ptr[plane]]
        return _constant(feature)

    @cached_property
    def node_threshold(self) -> FloatArray:
        """The threshold of each node; -2 for a leaf. `threshold` itself has one per plane.

        For a node with a `feature` it is in units of that column, for an oblique split in
        units of its value along the normal. It is infinite where all values that are there go
        left, and -infinite where they all go right.
        """
        self._require(self.kind <= NodeKind.HYPERPLANE, "node_threshold")
        node_threshold = np.full(self.n_nodes, float(UNDEFINED))
        node_threshold[self.node_of_plane] = self.threshold
        plane = np.flatnonzero(self._one_column)
        coef = self.coef[self.coef_ptr[plane]]
        cut = self.threshold[plane]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            every = np.where(cut >= 0, np.inf, -np.inf)
            node_threshold[self.node_of_plane[plane]] = np.where(coef > 0, cut / coef, every)
        return _constant(node_threshold)

    @property
    def _one_column(self) -> BoolArray:
        """Whether a plane compares one column's value with a threshold, left being less."""
        one = np.diff(self.coef_ptr) == 1
        first: AnyArray = self.coef_ptr[:-1][one]
        asked = (self.coef[first] > 0) | ((self.coef[first] == 0) & (self.missing_side[one] > 0))
        one[one] = asked & (np.diff(self.table_ptr)[first] == 0)
        return one

    def _require_task(self, task: str, view: str, instead: str) -> None:
        """Raise if a view is one of trees of the other task."""
        if self.task != task:
            # Tools for trees of scikit-learn ask for this one first.
            more = SKLEARN_INSTEAD if view == "n_classes" else ""
            held = "numbers, no classes" if self._holds_numbers else "classes, no numbers"
            raise TreeError(
                f"This is a tree of {self.task}: its nodes hold {held}, so it has no "
                f"{view!r}. Read {instead!r} instead.{more}"
            )

    def _require(self, expressible: BoolArray, view: str) -> None:
        """Raise for the first node that a view cannot express."""
        if not expressible.all():
            node = int(np.argmin(expressible))
            raise TreeError(
                f"Node {node} is {KIND_NAMES[NodeKind(self.kind[node])]} with "
                f"{self.n_children[node]} branches, which {view!r} cannot express: it knows "
                "binary splits by hyperplanes only. Read first_child, n_children, kind and the "
                "planes instead; to_sklearn() makes a tree of scikit-learn, if there is one."
            )


def _same_bits(a: AnyArray, b: AnyArray) -> bool:
    if a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    bits = a.view(np.int64) == b.view(np.int64)
    return bool((bits | (np.isnan(a) & np.isnan(b))).all())


def _constant(array: NDArray[Scalar]) -> NDArray[Scalar]:
    array.flags.writeable = False
    return array


def _proportions(stats: FloatArray) -> FloatArray:
    """Return the share of each class; equal shares where a node has seen nothing."""
    largest = np.abs(stats).max(axis=1, keepdims=True)
    # Dividing by the largest first keeps the sum of huge weights finite.
    scaled = np.divide(stats, largest, out=np.ones_like(stats), where=largest > 0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))
