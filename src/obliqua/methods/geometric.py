"""HHCART(G): one reflection, along an angle bisector (Wickramarachchi et al. 2019).

The most frequent class of a node is held against the rest, as in the geometric decision tree of
Manwani and Sastry (2012). A *clustering hyperplane* of one side is near all of its rows and far
from those of the other: with rows lengthened by a 1, and G and M the mean squares and products of
both sides, it makes w'Mw / w'Gw largest, and the other side's makes it smallest. Of the two
bisectors of the angle between these hyperplanes the one that divides both sides better gives the
direction to which the first axis is reflected, and the columns of that Householder matrix are
looked along. The original axes are not, unless there is no such direction.

Where the rows of a side do not span the space, G has no inverse. If some hyperplane holds all rows
of the frequent class and not all of the others, the farthest from these is the bisector, as in
the geometric decision tree; else both ratios are those over what the rows span, as in HHCART(G).
Such ranks are told in standardised features, so that units do not decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from obliqua._core.base.linalg import product, py_eigen
from obliqua._core.base.rng import row_hashes
from obliqua._typing import BoolArray, FloatArray
from obliqua.engine.assemble import AXIS_LABEL
from obliqua.engine.compiled import check_rows, fewest_rows
from obliqua.engine.proposals import Directions, NodeView, Settings, check_classes

__all__ = ["AngleBisector"]

NEGLIGIBLE = 1e-10  # eigenvalues up to this part of the largest count as 0
PARALLEL = 1e-8  # clustering hyperplanes whose normals differ by less have one bisector


@dataclass(frozen=True)
class AngleBisector(Settings):
    """What HHCART(G) proposes at a node.

    Parameters
    ----------
    tau : float, default=0.05
        If the bisector's normal is not farther than this from an axis, the axes are proposed.
    target : {"first", "nearest"}, default="first"
        The axis that is reflected to the normal.
    min_rows : int or "2p" or None, default=None
        Nodes with fewer rows get axis-parallel splits; "2p": nodes with at most twice as many
        rows as features.
    """

    tau: float = 0.05
    target: str = "first"
    min_rows: int | str | None = None

    def __post_init__(self) -> None:
        check_rows(self.min_rows)

    def propose(self, node: NodeView) -> Directions:
        """Return the columns of a Householder matrix, or the axes.

        Parameters
        ----------
        node : NodeView
            The rows, their classes and their weights.

        Returns
        -------
        Directions
            As many as there are features.
        """
        check_classes(node, "AngleBisector")
        p = node.n_features
        if float(node.row_weight.sum()) >= fewest_rows(self.min_rows, p):
            normal = angle_bisector(node)
            if normal is not None:
                size = np.abs(normal)
                axis = int(np.argmax(size)) if self.target == "nearest" else 0
                if 2.0 - 2.0 * size.max() > self.tau**2 and size[axis] < 1.0:
                    labels = [f"angle bisector, column {j}" for j in range(p)]
                    return Directions(reflection(normal, axis), labels=labels)
        return Directions(np.eye(p), labels=[AXIS_LABEL] * p)


def reflection(d: FloatArray, axis: int) -> FloatArray:
    """Return the Householder matrix that carries an axis to a direction, or to its opposite."""
    lead = d[axis] if d[axis] != 0.0 else d[np.flatnonzero(d)[0]]
    u = -d if lead > 0.0 else d.copy()
    u[axis] += 1.0
    u /= np.sqrt((u * u).sum())
    return np.asarray(np.eye(len(d)) - 2.0 * np.outer(u, u))


def angle_bisector(node: NodeView) -> FloatArray | None:
    """Return the unit normal of the better bisector; None if the rows have none."""
    rows = _Sides(node)
    if len(rows.columns) == 0:
        return None
    found = [(rows.impurity(plane), plane) for plane in rows.bisectors()]
    if not found:
        return None
    _, plane = min(found, key=lambda candidate: candidate[0])  # the first of equals
    normal = np.zeros(node.n_features)
    normal[rows.columns] = rows.normal(plane)
    size = np.abs(normal).max()
    if not 0.0 < size < np.inf:
        return None
    normal /= size
    return np.asarray(normal / np.sqrt((normal * normal).sum()))


class _Sides:
    """The frequent class and the rest, standardised, in an order of the rows' content."""

    def __init__(self, node: NodeView) -> None:
        codes = node.y.astype(np.int64)
        frequent = codes == int(np.argmax(node.counts))
        order = np.lexsort((node.sample_weight, row_hashes(node.X, codes, 0)))
        X, self.frequent = node.X[order], frequent[order]
        with np.errstate(over="ignore"):  # NumPy 1.26 warns of denormal weights
            self.weight = node.sample_weight[order] / node.sample_weight.max()
        low, high = X.min(axis=0), X.max(axis=0)
        reach = high / 2 - low / 2
        self.columns = np.flatnonzero((reach > 0) & np.isfinite(reach))
        self.reach = reach[self.columns]
        middle = (high / 2 + low / 2)[self.columns]
        values = (X[:, self.columns] - middle) / self.reach
        share = self.weight / self.weight.sum()
        values -= product(share, values)
        self.spread = np.sqrt(product(share, values**2))
        self.rows = np.column_stack([values / self.spread, np.ones(len(values))])

    def squares(self, side: BoolArray) -> FloatArray:
        """Return the mean squares and products of some rows."""
        rows, weight = self.rows[side], self.weight[side]
        return np.asarray(product(np.ascontiguousarray((rows * weight[:, None]).T), rows)) / (
            weight.sum()
        )

    def normal(self, plane: FloatArray) -> FloatArray:
        """Return the normal of a hyperplane in the units of the features."""
        with np.errstate(over="ignore"):
            return np.asarray(plane[:-1] / self.spread / self.reach)

    def length(self, plane: FloatArray) -> float:
        """Return the length of that normal, in which no square leaves the range of doubles."""
        normal = self.normal(plane)
        largest = float(np.abs(normal).max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return largest
        return largest * float(np.sqrt(((normal / largest) ** 2).sum()))

    def bisectors(self) -> Iterator[FloatArray]:
        """Give the bisectors of the clustering hyperplanes: two, or one."""
        mine, others = self.squares(self.frequent), self.squares(~self.frequent)
        holding = _holding(mine, others)
        if holding is not None:
            yield holding
            return
        one, other = (_largest_ratio(*pair) for pair in ((others, mine), (mine, others)))
        with np.errstate(divide="ignore", invalid="ignore"):  # a plane may have no normal
            one, other = (plane / self.length(plane) for plane in (one, other))
        if not (np.isfinite(one).all() and np.isfinite(other).all()):
            return
        for plane in (one + other, one - other):
            if self.length(plane) > PARALLEL:
                yield plane

    def impurity(self, plane: FloatArray) -> float:
        """Return Gini's impurity of both sides of a hyperplane, times the weight."""
        left = product(self.rows, plane) <= 0.0
        total = 0.0
        for side in (left, ~left):
            mine = float(self.weight[side & self.frequent].sum())
            others = float(self.weight[side & ~self.frequent].sum())
            if mine > 0.0 and others > 0.0:
                total += mine * others / (mine + others)
        return total


def _holding(mine: FloatArray, others: FloatArray) -> FloatArray | None:
    """Return the hyperplane that holds all rows of one side and is farthest from the others."""
    values, vectors = py_eigen(mine)
    null = vectors[values <= NEGLIGIBLE * values[0]]
    if len(null) == 0:
        return None
    inside, directions = py_eigen(product(product(null, others), np.ascontiguousarray(null.T)))
    if inside[0] <= NEGLIGIBLE * np.trace(others):
        return None
    return np.asarray(product(directions[0], null))


def _largest_ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Return what makes w'(over)w / w'(under)w largest, in the space that `under` spans."""
    values, vectors = py_eigen(under)
    kept = values > NEGLIGIBLE * values[0]
    white = vectors[kept] / np.sqrt(values[kept])[:, None]
    _, directions = py_eigen(product(product(white, over), np.ascontiguousarray(white.T)))
    return np.asarray(product(directions[0], white))
