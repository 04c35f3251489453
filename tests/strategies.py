"""Hypothesis strategies for trees of any kinds of nodes, and for rows to walk them.

Coefficients, thresholds and values come from few small numbers, so that rows often lie exactly
on a boundary and machines often tie. `wild` numbers are added for what rounding does.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from hypothesis import strategies as st

from obliqua.tree.builder import TreeBuilder
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from problems import LAYOUTS, lay_out

ALL_KINDS = (NodeKind.HYPERPLANE, NodeKind.LEVELS, NodeKind.MACHINE)
N_LEVELS = 4

small = st.sampled_from([-2.0, -1.0, -0.5, 0.25, 1.0, 1.5, 3.0])
wild = st.floats(-1e6, 1e6, allow_nan=False)
numbers = st.one_of(small, st.just(0.0), wild)
codes = st.integers(-1, N_LEVELS + 1).map(float)


class _Growing:
    """Adds random nodes to a builder; columns from `n_numeric` on hold level codes."""

    def __init__(self, draw: Any, shape: tuple[int, int, int], filled: bool) -> None:
        self.draw = draw
        self.n_numeric, n_coded, self.n_stats = shape
        self.n_features = self.n_numeric + n_coded
        self.filled = filled
        self.builder = TreeBuilder(self.n_features, self.n_stats)

    def normal(self) -> dict[int, float]:
        columns = self.draw(
            st.lists(st.integers(0, self.n_features - 1), min_size=1, max_size=3, unique=True)
        )
        return {column: self.draw(st.one_of(st.just(1.0), small, wild)) for column in columns}

    def extras(self, columns: Collection[int]) -> dict[str, Any]:
        """Fill values for all columns or for none, and a table for each column of codes."""
        tables = {
            column: self.draw(st.lists(numbers, min_size=1, max_size=N_LEVELS))
            for column in columns
            if column >= self.n_numeric
        }
        fill = {column: self.draw(numbers) for column in columns} if self.filled else None
        return {"fill": fill, "tables": tables}

    def split(self, name: str, kind: NodeKind) -> list[str]:
        """Describe an inner node and return the names of its children."""
        n_children = 2 if kind == NodeKind.HYPERPLANE else self.draw(st.integers(2, 4))
        children = [f"{name}{letter}" for letter in "abcd"[:n_children]]
        if kind == NodeKind.HYPERPLANE:
            normal = self.normal()
            extras = self.extras(normal)
            if self.filled:
                extras["missing"] = self.draw(st.sampled_from([None, None, "left", "right"]))
            self.builder.add_split(name, normal, self.draw(numbers), children, **extras)
        elif kind == NodeKind.MACHINE:
            normals = [self.normal() for _ in children]
            thresholds = [self.draw(numbers) for _ in children]
            extras = self.extras(sorted({column for normal in normals for column in normal}))
            self.builder.add_machine(name, normals, thresholds, children, **extras)
        else:
            branch = st.integers(0, n_children - 1)
            self.builder.add_levels(
                name,
                self.draw(st.integers(self.n_numeric, self.n_features - 1)),
                self.draw(st.lists(branch, min_size=1, max_size=N_LEVELS)),
                children,
                unseen=self.draw(branch),
                missing=self.draw(branch) if self.filled else None,
            )
        self.builder.annotate(
            name,
            gain=self.draw(st.sampled_from([0.0, 0.125, 0.7])),
            axis_gain=self.draw(st.sampled_from([None, 0.25])),
            origin=self.draw(st.sampled_from([None, "axis", "class 1"])),
        )
        return children

    def leaf(self, name: str) -> None:
        stats = [self.draw(st.sampled_from([0.0, 1.0, 2.5, 7.0])) for _ in range(self.n_stats)]
        self.builder.set_leaf(name, stats, self.draw(st.integers(0, 9)))


@st.composite
def trees(
    draw: Any,
    *,
    kinds: Collection[NodeKind] = ALL_KINDS,
    tables: bool = True,
    filled: bool | None = None,
    shape: tuple[int, int, int] | None = None,
    max_splits: int = 5,
) -> Tree:
    """Draw a valid tree.

    The last columns hold level codes if `tables` is true. `filled` says whether the nodes have
    fill values; None leaves it to chance. `shape` is the number of numeric columns, of columns
    of codes and of stats.
    """
    if filled is None:
        filled = draw(st.booleans())
    if shape is None:
        n_coded = draw(st.integers(1, 2)) if tables else 0
        shape = (draw(st.integers(1, 3)), n_coded, draw(st.integers(1, 4)))
    growing = _Growing(draw, shape, filled)
    allowed = [kind for kind in kinds if tables or kind != NodeKind.LEVELS]
    open_nodes = ["r"]
    for _ in range(draw(st.integers(0, max_splits))):
        name = open_nodes.pop(draw(st.integers(0, len(open_nodes) - 1)))
        open_nodes += growing.split(name, draw(st.sampled_from(allowed)))
    for name in open_nodes:
        growing.leaf(name)
    return growing.builder.build()


@st.composite
def rows(draw: Any, tree: Tree, *, missing: bool = False, max_rows: int = 8) -> np.ndarray:
    """Draw rows for a tree: float32 or float64, in one of several memory layouts."""
    coded = np.zeros(tree.n_features, dtype=bool)
    coded[tree.coef_idx[np.diff(tree.table_ptr) > 0]] = True
    n_rows = draw(st.integers(1, max_rows))
    gap = st.just(np.nan)
    Z = np.empty((n_rows, tree.n_features))
    for column in range(tree.n_features):
        values = codes if coded[column] else numbers
        entries = st.one_of(values, gap) if missing else values
        Z[:, column] = draw(st.lists(entries, min_size=n_rows, max_size=n_rows))
    Z = Z.astype(draw(st.sampled_from([np.float64, np.float32])))
    return lay_out(Z, draw(st.sampled_from(LAYOUTS)))
