"""`TreeBuilder`: trees by hand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray
from obliqua.data.target import TASKS, Classes, Numbers
from obliqua.errors import TreeError
from obliqua.tree.layout import (
    NO_ORIGIN,
    MissingSide,
    NodeKind,
    level_order,
    pointers,
    renumber,
)
from obliqua.tree.tree import Tree

# {column: coefficient}, a dense vector, or a pair (columns, coefficients)
Normal: TypeAlias = Mapping[int, float] | Sequence[Any] | AnyArray

Key: TypeAlias = Hashable

_SIDES = {None: MissingSide.NONE, "left": MissingSide.LEFT, "right": MissingSide.RIGHT}


@dataclass
class _Plane:
    """A normal with its threshold: lists of equal lengths, one entry per used column."""

    idx: list[int]
    coef: list[float]
    threshold: float
    fill: list[float]
    tables: list[list[float]]
    missing_side: MissingSide = MissingSide.NONE


@dataclass
class _NodeSpec:
    """One node as it was described."""

    kind: NodeKind
    children: tuple[Key, ...] = ()
    planes: list[_Plane] = field(default_factory=list)
    stats: list[float] | None = None
    n_samples: int | None = None
    gain: float = 0.0
    axis_gain: float = np.nan
    origin: str | None = None
    spread: dict[int, float] = field(default_factory=dict)  # by column


class TreeBuilder:
    """Makes a tree by hand, without data.

    Nodes have names, which may be anything hashable, and are described in any order. A split
    names its children; the root is the node that is nobody's child.

    Parameters
    ----------
    n_features : int
        The number of columns of the rows that the tree will walk.
    n_stats : int, default=None
        The number of classes, for a tree that tells classes apart.
    n_outputs : int, default=None
        The number of outputs, for a tree that says numbers. One of the two is given.

    Examples
    --------
    >>> from obliqua.tree import TreeBuilder
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 0.5, 1: -1.0}, 0.25, ("low", "high"))
    >>> builder.set_leaf("low", [8, 1])
    >>> builder.set_leaf("high", [0, 5])
    >>> builder.build()
    Tree(3 nodes, 2 leaves, depth 1, 2 columns, 2 stats)

    A tree that says numbers:

    >>> builder = TreeBuilder(n_features=1, n_outputs=1)
    >>> builder.add_split("root", {0: 1.0}, 5.0, ("young", "old"))
    >>> builder.set_leaf("young", value=1.5, n_samples=3)
    >>> builder.set_leaf("old", value=2.5, n_samples=1)
    >>> builder.build().mean.tolist()
    [[1.75], [1.5], [2.5]]
    """

    def __init__(
        self, n_features: int, n_stats: int | None = None, *, n_outputs: int | None = None
    ) -> None:
        if (n_stats is None) == (n_outputs is None):
            raise TreeError(
                "TreeBuilder takes n_stats, the number of classes, or n_outputs, the number of "
                f"numbers that a leaf says; got {'neither' if n_stats is None else 'both'}."
            )
        self.n_features = int(n_features)
        self.task = Classes.task if n_outputs is None else Numbers.task
        self.n_stats = int(n_stats or 0) if n_outputs is None else int(n_outputs) + 2
        self._specs: dict[Key, _NodeSpec] = {}

    def set_leaf(
        self,
        node: Key,
        stats: ArrayLike | None = None,
        n_samples: int = 0,
        *,
        value: ArrayLike | None = None,
    ) -> None:
        """Describe a leaf.

        Parameters
        ----------
        node : hashable
            The leaf's name.
        stats : array-like, default=None
            Its sums: the weight of each class. For numbers the weight, the mean of each output,
            and the sum of squared distances from the means.
        n_samples : int, default=0
            How many training rows it holds; 0 if there are none.
        value : float or array-like of shape (n_outputs,), default=None
            For numbers, in the place of `stats`: what the leaf says. Its weight is then
            `n_samples`, and all of its rows have this value.
        """
        if (stats is None) == (value is None) or (value is not None and self.task == Classes.task):
            wanted = "stats" if self.task == Classes.task else "stats or value, one of the two"
            raise TreeError(f"The leaf {node!r} of a tree of {self.task} needs {wanted}.")
        self._add(node, _NodeSpec(NodeKind.LEAF))
        if value is not None:
            stats = np.concatenate([[n_samples], np.atleast_1d(value), [0.0]])
        self.annotate(node, stats=stats, n_samples=n_samples)

    def add_split(
        self,
        node: Key,
        normal: Normal,
        threshold: float,
        children: Sequence[Key],
        *,
        fill: Mapping[int, float] | None = None,
        tables: Mapping[int, ArrayLike] | None = None,
        missing: str | None = None,
    ) -> None:
        """Describe a hyperplane.

        Parameters
        ----------
        node : hashable
            The node's name.
        normal : dict, vector or tuple
            ``{column: coefficient}``, a vector with an entry per column, or a tuple of the
            columns and their coefficients.
        threshold : float
            A row goes left if its value along the normal is at most this.
        children : sequence of two hashables
            The names of the left and of the right child.
        fill : dict, default=None
            What stands in for a missing value, by column.
        tables : dict, default=None
            Level tables by column: a number per level code.
        missing : {"left", "right"}, default=None
            Where rows go that miss a value of any of the columns; None leaves it to `fill`.
        """
        if missing not in _SIDES:
            raise TreeError(
                f"missing of node {node!r} must be 'left', 'right' or None; got {missing!r}."
            )
        normals = [_read_normal(normal, self.n_features, node)]
        planes = _make_planes(normals, [threshold], fill, tables, node)
        planes[0].missing_side = _SIDES[missing]
        self._add(node, _NodeSpec(NodeKind.HYPERPLANE, tuple(children), planes))

    def add_levels(
        self,
        node: Key,
        column: int,
        branches: ArrayLike,
        children: Sequence[Key],
        *,
        unseen: int = 0,
        missing: int | None = None,
    ) -> None:
        """Describe a split by sets of levels of one qualitative column.

        Parameters
        ----------
        node : hashable
            The node's name.
        column : int
            The column that holds the level codes.
        branches : array-like of int
            The branch of each level code, counted from 0.
        children : sequence of hashables
            The names of the children, one per branch.
        unseen : int, default=0
            The branch of codes beyond `branches`.
        missing : int, default=None
            The branch of missing values, if they have one.
        """
        fill = None if missing is None else {column: missing}
        normal = _read_normal({column: 1.0}, self.n_features, node)
        planes = _make_planes([normal], [unseen], fill, {column: branches}, node)
        self._add(node, _NodeSpec(NodeKind.LEVELS, tuple(children), planes))

    def add_machine(
        self,
        node: Key,
        normals: Sequence[Normal] | AnyArray,
        thresholds: Sequence[float] | AnyArray,
        children: Sequence[Key],
        *,
        fill: Mapping[int, float] | None = None,
        tables: Mapping[int, ArrayLike] | None = None,
    ) -> None:
        """Describe a linear machine.

        Parameters
        ----------
        node : hashable
            The node's name.
        normals : sequence
            One normal per child, each as in `add_split`.
        thresholds : sequence of float
            What is subtracted from the value along each normal. The largest difference wins.
        children : sequence of hashables
            The names of the children, one per branch.
        fill, tables : dict, default=None
            As in `add_split`; for all normals together.
        """
        if not len(normals) == len(thresholds) == len(children):
            raise TreeError(
                f"The linear machine {node!r} must have as many normals and thresholds as "
                f"children; got {len(normals)}, {len(thresholds)} and {len(children)}."
            )
        read = [_read_normal(normal, self.n_features, node) for normal in normals]
        planes = _make_planes(read, list(thresholds), fill, tables, node)
        self._add(node, _NodeSpec(NodeKind.MACHINE, tuple(children), planes))

    def annotate(
        self,
        node: Key,
        *,
        stats: ArrayLike | None = None,
        n_samples: int | None = None,
        gain: float | None = None,
        axis_gain: float | None = None,
        origin: str | None = None,
        spread: Mapping[int, float] | None = None,
    ) -> None:
        """Add what is known about a node that was described before.

        Parameters
        ----------
        node : hashable
            The node's name.
        stats : array-like of shape (n_stats,), default=None
            Its stats, as in `set_leaf`. An inner node without any gets those of its children
            together.
        n_samples : int, default=None
            Its number of training rows; likewise.
        gain, axis_gain : float, default=None
            The gain of its split, and of the best axis-parallel one.
        origin : str, default=None
            Which proposal its split came from.
        spread : dict, default=None
            The standard deviations of its columns among its training rows, by column.
        """
        if node not in self._specs:
            raise TreeError(f"Node {node!r} was not described yet, so nothing can be added to it.")
        known: dict[str, Any] = {"gain": gain, "axis_gain": axis_gain, "origin": origin}
        known["n_samples"] = n_samples
        if spread is not None:
            known["spread"] = {column: float(width) for column, width in spread.items()}
            used = {column for plane in self._specs[node].planes for column in plane.idx}
            _check_used(spread, used, "spread", node)
        if stats is not None:
            sums = np.asarray(stats, dtype=np.float64)
            if sums.shape != (self.n_stats,):
                raise TreeError(
                    f"Node {node!r} must have {self.n_stats} stats; got shape {sums.shape}."
                )
            known["stats"] = sums.tolist()
        given = {name: value for name, value in known.items() if value is not None}
        self._specs[node] = replace(self._specs[node], **given)

    def build(self) -> Tree:
        """Make the tree, its nodes numbered in level order.

        Returns
        -------
        Tree
            The tree. The builder may go on and be used again.

        Raises
        ------
        TreeError
            If the nodes do not make a tree.
        """
        if not self._specs:
            raise TreeError("A tree has at least one node; use set_leaf to describe it.")
        arrays = _assemble(self._specs, self.n_features, self.n_stats, self.task)
        return Tree.from_arrays(arrays)

    def _add(self, node: Key, spec: _NodeSpec) -> None:
        if node in self._specs:
            raise TreeError(f"Node {node!r} was described before; every node needs its own name.")
        self._specs[node] = spec


def _read_normal(normal: Normal, n_features: int, node: Key) -> tuple[list[int], list[float]]:
    """Read the columns and coefficients of a normal; zeros of a dense one are left out."""
    try:
        if isinstance(normal, Mapping):
            idx, coef = list(normal.keys()), list(normal.values())
        elif isinstance(normal, tuple) and [np.ndim(part) for part in normal] == [1, 1]:
            idx, coef = list(normal[0]), list(normal[1])
        else:
            dense = np.asarray(normal, dtype=np.float64)
            if dense.shape != (n_features,):
                raise TreeError(
                    f"The normal of node {node!r} must have {n_features} entries, one per "
                    f"column; got shape {dense.shape}. A pair (columns, coefficients) is a tuple."
                )
            idx = np.flatnonzero(dense).tolist()
            coef = dense[idx].tolist()
        columns = [int(column) for column in idx]
        if len(idx) != len(coef) or columns != idx:
            raise TreeError(
                f"The normal of node {node!r} must have one coefficient per column number; got "
                f"columns {idx} and {len(coef)} coefficients."
            )
        return columns, [float(value) for value in coef]
    except (TypeError, ValueError) as error:
        if isinstance(error, TreeError):
            raise
        raise TreeError(
            f"The normal of node {node!r} must be a dict {{column: coefficient}}, a vector or a "
            f"pair (columns, coefficients) of numbers: {error}."
        ) from error


def _check_used(given: Mapping[int, Any], used: set[int], name: str, node: Key) -> None:
    """Refuse to be told something about a column that a node does not use."""
    for column in given:
        if column not in used:
            raise TreeError(
                f"{name} of node {node!r} names column {column!r}, which it does not use."
            )


def _make_planes(
    normals: Sequence[tuple[list[int], list[float]]],
    thresholds: Sequence[float],
    fill: Mapping[int, float] | None,
    tables: Mapping[int, ArrayLike] | None,
    node: Key,
) -> list[_Plane]:
    """Put the planes of a node together; `fill` and `tables` are given by column."""
    used = {column for idx, _ in normals for column in idx}
    for name, given in (("fill", fill or {}), ("tables", tables or {})):
        _check_used(given, used, name, node)
    stands_in = {column: float(value) for column, value in (fill or {}).items()}
    levels = {
        column: np.asarray(table, dtype=np.float64).ravel().tolist()
        for column, table in (tables or {}).items()
    }
    return [
        _Plane(
            idx,
            coef,
            float(threshold),
            [stands_in.get(column, np.nan) for column in idx],
            [levels.get(column, []) for column in idx],
        )
        for (idx, coef), threshold in zip(normals, thresholds, strict=True)
    ]


def _assemble(
    specs: Mapping[Key, _NodeSpec], n_features: int, n_stats: int, task: str
) -> dict[str, Any]:
    """Turn described nodes into the arrays of a tree in level order."""
    keys = list(specs)
    number = {key: i for i, key in enumerate(keys)}
    root = _find_root(specs)
    child_ptr = pointers([len(spec.children) for spec in specs.values()])
    children = np.array(
        [number[child] for spec in specs.values() for child in spec.children], dtype=np.int64
    )
    order = level_order(child_ptr, children, number[root])
    if len(order) < len(keys):
        lost = keys[min(set(range(len(keys))) - set(order.tolist()))]
        raise TreeError(
            f"Node {lost!r} cannot be reached from the root {root!r}: it is among its own "
            "descendants."
        )
    specs = {key: replace(spec) for key, spec in specs.items()}  # sums are filled in below
    in_order = [specs[keys[i]] for i in order.tolist()]
    _sum_up(in_order, [[number[c] for c in spec.children] for spec in in_order], order, task)
    arrays = _node_arrays(list(specs.values()), n_stats) | _plane_arrays(list(specs.values()))
    return renumber(arrays | {"n_features": n_features, "task": task}, order)


def _find_root(specs: Mapping[Key, _NodeSpec]) -> Key:
    """Return the node that is nobody's child; every other one must be one node's child."""
    parent: dict[Key, Key] = {}
    for key, spec in specs.items():
        for child in spec.children:
            if child not in specs:
                raise TreeError(
                    f"Node {key!r} has a child {child!r} that was not described. Use set_leaf or "
                    "one of the add methods for it."
                )
            if child in parent:
                raise TreeError(
                    f"Node {child!r} is the child of {parent[child]!r} and of {key!r}; a node "
                    "has one parent."
                )
            parent[child] = key
    roots = [key for key in specs if key not in parent]
    if len(roots) != 1:
        got = f"{roots[0]!r} and {roots[1]!r}" if roots else "none, every node is a child"
        raise TreeError(f"A tree has one root, a node that is nobody's child; got {got}.")
    return roots[0]


def _sum_up(
    in_order: list[_NodeSpec], children: list[list[int]], order: AnyArray, task: str
) -> None:
    """Give inner nodes what their children have together, from the last level to the first."""
    spec_of = dict(zip(order.tolist(), in_order, strict=True))
    for spec, below in zip(reversed(in_order), reversed(children), strict=True):
        if below and spec.stats is None:
            parts = [spec_of[child].stats or [] for child in below]
            spec.stats = TASKS[task].joined(parts).tolist()
        if below and spec.n_samples is None:
            spec.n_samples = sum(spec_of[child].n_samples or 0 for child in below)


def _node_arrays(specs: list[_NodeSpec], n_stats: int) -> dict[str, Any]:
    labels = tuple(dict.fromkeys(spec.origin for spec in specs if spec.origin is not None))
    return {
        "kind": np.array([spec.kind for spec in specs], dtype=np.uint8),
        "n_children": np.array([len(spec.children) for spec in specs], dtype=np.int32),
        "plane_ptr": pointers([len(spec.planes) for spec in specs], np.int32),
        "stats": np.array([spec.stats for spec in specs], dtype=np.float64).reshape(-1, n_stats),
        "n_samples": np.array([spec.n_samples or 0 for spec in specs], dtype=np.int64),
        "gain": np.array([spec.gain for spec in specs], dtype=np.float64),
        "axis_gain": np.array([spec.axis_gain for spec in specs], dtype=np.float64),
        "origin": np.array(
            [NO_ORIGIN if s.origin is None else labels.index(s.origin) for s in specs],
            dtype=np.int32,
        ),
        "origin_labels": labels,
    }


def _plane_arrays(specs: list[_NodeSpec]) -> dict[str, Any]:
    planes = [plane for spec in specs for plane in spec.planes]
    tables = [table for plane in planes for table in plane.tables]
    return {
        "coef_ptr": pointers([len(plane.idx) for plane in planes]),
        "coef_idx": np.array([i for plane in planes for i in plane.idx], dtype=np.int64),
        "coef": np.array([a for plane in planes for a in plane.coef], dtype=np.float64),
        "fill": np.array([v for plane in planes for v in plane.fill], dtype=np.float64),
        "spread": np.array(
            [
                spec.spread.get(column, np.nan)
                for spec in specs
                for plane in spec.planes
                for column in plane.idx
            ],
            dtype=np.float64,
        ),
        "table_ptr": pointers([len(table) for table in tables]),
        "table": np.array([v for table in tables for v in table], dtype=np.float64),
        "threshold": np.array([plane.threshold for plane in planes], dtype=np.float64),
        "missing_side": np.array([plane.missing_side for plane in planes], dtype=np.uint8),
    }
