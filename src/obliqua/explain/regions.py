"""Where the rows of a leaf lie: its region as inequalities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from obliqua._layout import NodeKind
from obliqua._question import question_of
from obliqua._subject import Subject, subject_of
from obliqua._surgery import check_node
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.errors import TreeError
from obliqua.explain import _polyhedron
from obliqua.explain._planes import plane_values, require_numeric, units_of
from obliqua.tree import Tree

__all__ = ["Region", "region", "regions"]


@dataclass(frozen=True, eq=False, repr=False)
class Region:
    """The region of a leaf: all points that reach it; what `region` returns.

    A point ``x`` is in it if ``A x <= b`` holds row by row, with ``<`` where `strict`: the
    border of a split belongs to its left side. Whatever is found by linear programming is so
    up to 1e-7 in scaled units.

    Parameters
    ----------
    leaf : int
        The leaf.
    A : ndarray of shape (n_inequalities, n_features)
        The normals, in the features' own units.
    b : ndarray of shape (n_inequalities,)
        The right sides.
    strict : ndarray of bool, of shape (n_inequalities,)
        Whether the border is left out.
    nodes : ndarray of int64, of shape (n_inequalities,)
        The node that each inequality comes from.
    conditions : tuple of str
        The inequalities in words.
    names : tuple of str
        What the features are called.
    """

    leaf: int
    A: FloatArray
    b: FloatArray
    strict: BoolArray
    nodes: Int64Array
    conditions: tuple[str, ...]
    names: tuple[str, ...]

    def contains(self, X: Any) -> BoolArray:
        """Say which rows lie in the region.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows, as the tree walks them.

        Returns
        -------
        ndarray of bool, of shape (n_rows,)
            Whether all inequalities hold. On a border rounding may decide; `Tree.apply` is
            the authority.
        """
        Z: AnyArray = np.asarray(X, dtype=np.float64)
        if Z.ndim != 2 or Z.shape[1] != self.A.shape[1]:
            raise TreeError(
                f"A region over {self.A.shape[1]} columns takes arrays of shape (n_rows, "
                f"{self.A.shape[1]}); got shape {Z.shape}."
            )
        inside = np.ones(len(Z), dtype=bool)
        for normal, bound, strict in zip(self.A, self.b, self.strict, strict=True):
            used = np.flatnonzero(normal)
            value = plane_values(Z, used, normal[used])
            inside &= value < bound if strict else value <= bound
        return inside

    def minimal(self) -> Region:
        """Leave out the inequalities that the others imply.

        Returns
        -------
        Region
            The same region with fewer inequalities. An inequality goes only if the others
            leave some room before it, so one that touches the region at its rim may stay. An
            empty region is returned as it is.
        """
        if self.is_empty or self.is_box:
            return self
        return self._take(_polyhedron.needed(self.A, self.b))

    def _take(self, places: Int64Array) -> Region:
        return replace(
            self,
            A=self.A[places],
            b=self.b[places],
            strict=self.strict[places],
            nodes=self.nodes[places],
            conditions=tuple(self.conditions[i] for i in places.tolist()),
        )

    @cached_property
    def is_box(self) -> bool:
        """Whether each inequality is about one feature; `low` and `high` then say it all."""
        return bool(((self.A != 0).sum(axis=1) <= 1).all())

    @cached_property
    def is_empty(self) -> bool:
        """Whether no point can reach the leaf.

        Exact for boxes and for splits along the same normal; otherwise by linear programming.
        True is certain up to its tolerance: a region that is thinner, or whose coefficients
        are too far apart for it, is not said to be empty.
        """
        if len(self.b) == 0:
            return False
        if _polyhedron.opposed(self.A, self.b, self.strict):
            return True
        return not self.is_box and _polyhedron.is_void(self.A, self.b)

    @cached_property
    def is_bounded(self) -> bool:
        """Whether the region ends in every direction; False too if it cannot be told."""
        if self.is_empty:
            return True
        if self.is_box:
            return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())
        return _polyhedron.is_bounded(self.A)

    @cached_property
    def low(self) -> FloatArray:
        """The lower bound of each feature by the inequalities about it alone; else -inf."""
        return -self._ends(-1)

    @cached_property
    def high(self) -> FloatArray:
        """The upper bound of each feature by the inequalities about it alone; else inf."""
        return self._ends(1)

    def _ends(self, sign: int) -> FloatArray:
        ends = np.full(self.A.shape[1], np.inf)
        for normal, bound in zip(self.A, self.b, strict=True):
            used = np.flatnonzero(normal)
            if len(used) == 1 and normal[used[0]] * sign > 0:
                with np.errstate(over="ignore"):  # an end beyond the largest number is none
                    ends[used[0]] = min(ends[used[0]], bound / abs(normal[used[0]]))
        return ends

    def ball(self, scale: ArrayLike | None = None) -> tuple[FloatArray, float]:
        """Find the largest ball inside the region: its centre is as far inside as possible.

        Parameters
        ----------
        scale : array-like of shape (n_features,), default=None
            What counts as one unit of each feature, ``X.std(axis=0)`` for instance; 1 if not
            given.

        Returns
        -------
        centre : ndarray of shape (n_features,)
            The centre, in the features' own units. Where several balls are largest, one of
            them is taken.
        radius : float
            The radius, in units of the scale. Infinite if there are balls of any size; the
            centre then is that of one of them.

        Raises
        ------
        TreeError
            If the region is empty, or if linear programming fails because the numbers of the
            inequalities are too far apart.
        """
        if self.is_empty:
            raise TreeError(f"The region of leaf {self.leaf} is empty, so no ball is inside it.")
        units = units_of(scale, self.names)
        centre, radius = _polyhedron.ball(self.A, self.b, units)
        return centre, max(radius, 0.0)

    def __len__(self) -> int:
        return len(self.b)

    def __str__(self) -> str:
        if len(self) == 0:
            return "everything"
        said = "\n".join(self.conditions)
        return f"{said}\n(empty: no point can be here)" if self.is_empty else said

    def __repr__(self) -> str:
        return f"Region(leaf {self.leaf}, {len(self)} inequalities)"


def region(model: Any, leaf: int, *, minimal: bool = False, tree: int | None = None) -> Region:
    """Write the region of a leaf as inequalities.

    There is one per split on the way to the leaf. Of splits along the same normal, as of those
    about one feature, only the tightest is kept on each side, exactly.

    Parameters
    ----------
    model : estimator, Model or Tree
        What the leaf belongs to.
    leaf : int
        The number of the leaf, as `apply` gives it. For an inner node the region is that of
        the rows that pass it.
    minimal : bool, default=False
        Whether to leave out the inequalities that the others imply, by linear programming.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    Region
        The inequalities as arrays and as text, with what follows from them.

    Raises
    ------
    TreeError
        If there is no such node, or if a split on the way is a set of levels or gives numbers
        to levels.

    Notes
    -----
    A row is in the region of exactly one leaf, the one that it reaches. Missing values have no
    place in it. A branch of a linear machine gives an inequality for each other branch.

    Examples
    --------
    >>> from obliqua import TreeBuilder
    >>> from obliqua.explain import region
    >>> builder = TreeBuilder(n_features=2, n_stats=2)
    >>> builder.add_split("root", {0: 1.0, 1: 2.0}, 4.0, ("low", "high"))
    >>> builder.add_split("low", {0: 1.0}, 0.0, ("a", "b"))
    >>> for leaf in ("a", "b", "high"):
    ...     builder.set_leaf(leaf, [1, 1])
    >>> found = region(builder.build(), 4)
    >>> print(found)
    x1 + 0.5*x0 <= 2
    x0 > 0
    >>> found.A, found.b, found.strict
    (array([[ 1.,  2.],
           [-1.,  0.]]), array([4., 0.]), array([False,  True]))
    """
    subject = subject_of(model, tree=tree)
    found = _region(subject, check_node(subject.tree, leaf))
    return found.minimal() if minimal else found


def regions(model: Any, *, minimal: bool = False, tree: int | None = None) -> tuple[Region, ...]:
    """Write the regions of all leaves as inequalities.

    Parameters
    ----------
    model : estimator, Model or Tree
        What the leaves belong to.
    minimal : bool, default=False
        Whether to leave out the inequalities that the others imply, by linear programming.
    tree : int, default=None
        Which tree of a model with several.

    Returns
    -------
    tuple of Region
        A region per leaf, in the order of their numbers.
    """
    subject = subject_of(model, tree=tree)
    leaves = np.flatnonzero(subject.tree.is_leaf).tolist()
    found = tuple(_region(subject, leaf) for leaf in leaves)
    return tuple(each.minimal() for each in found) if minimal else found


def _region(subject: Subject, leaf: int) -> Region:
    tree = subject.tree
    way = [leaf]
    while tree.parent[way[-1]] >= 0:
        way.append(int(tree.parent[way[-1]]))
    way.reverse()
    inner = np.array(way[:-1], dtype=np.int64)
    kinds = (NodeKind.HYPERPLANE, NodeKind.MACHINE)
    require_numeric(tree, inner, "a region", kinds)
    rows = [
        row
        for node, child in pairwise(way)
        for row in _inequalities(subject, node, child - int(tree.first_child[node]))
    ]
    found = Region(
        leaf,
        np.array([row[0] for row in rows]).reshape(-1, tree.n_features),
        np.array([row[1] for row in rows], dtype=np.float64),
        np.array([row[2] for row in rows], dtype=bool),
        np.array([row[3] for row in rows], dtype=np.int64),
        tuple(row[4] for row in rows),
        subject.encoding.names,
    )
    return found._take(_polyhedron.tightest(found.A, found.b, found.strict))


def _inequalities(
    subject: Subject, node: int, branch: int
) -> list[tuple[FloatArray, float, bool, int, str]]:
    """Return normal, right side, strictness, node and text of what a branch asks for."""
    tree, encoding = subject.tree, subject.encoding
    if tree.kind[node] == NodeKind.HYPERPLANE:
        sign = -1.0 if branch else 1.0
        text = question_of(tree, node, encoding).sentence(left=branch == 0)
        threshold = float(tree.threshold[tree.plane_ptr[node]])
        # 0.0 is added so that no number reads -0.
        normal, limit = sign * tree.coefficients(node) + 0.0, sign * threshold + 0.0
        return [(normal, limit, branch == 1, node, text)]
    own, bound = _score(tree, node, branch)
    found = []
    for other in range(int(tree.n_children[node])):
        if other == branch:
            continue
        # The largest score wins, the first at ties.
        normal, threshold = _score(tree, node, other)
        with np.errstate(over="ignore"):
            normal, limit, strict = normal - own, threshold - bound, other < branch
        if not (np.isfinite(normal).all() and np.isfinite(limit)):
            raise TreeError(
                f"The scores of node {node} differ by more than the largest number, so its "
                "branches cannot be written as inequalities."
            )
        used = np.flatnonzero(normal)
        text = f"{encoding.describe(used, normal[used], 4)} {'<' if strict else '<='} {limit:.4g}"
        found.append((normal, limit, strict, node, text))
    return found


def _score(tree: Tree, node: int, branch: int) -> tuple[FloatArray, float]:
    """Return the normal and the threshold of a linear machine's branch."""
    plane = int(tree.plane_ptr[node]) + branch
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    normal = np.zeros(tree.n_features)
    normal[tree.coef_idx[part]] = tree.coef[part]
    return normal, float(tree.threshold[plane])
