"""Where the rows of a leaf lie: its region as inequalities."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from obliqua._typing import AnyArray, BoolArray, FloatArray, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.explain import _polyhedron
from obliqua.explain._planes import require_kinds, require_numbers, units_of
from obliqua.explain._polyhedron import direction
from obliqua.tree.layout import NodeKind
from obliqua.tree.surgery import check_node
from obliqua.tree.tree import Tree
from obliqua.words.question import Question, Term, question_of
from obliqua.words.subject import Subject, added_up, subject_of

__all__ = ["Region", "region", "regions"]

KINDS = (NodeKind.HYPERPLANE, NodeKind.MACHINE)


# Which inequality is the tightest so far in each direction, in the order in which they came.
Known: TypeAlias = dict[int, int]


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
    words : object
        What writes the inequalities once `conditions` is asked for.
    names : tuple of str
        What the features are called.
    """

    leaf: int
    A: FloatArray
    b: FloatArray
    strict: BoolArray
    nodes: Int64Array
    words: InequalityWriter
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
            used = np.flatnonzero(normal).tolist()
            value = added_up(len(Z), ((normal[k], Z[:, k]) for k in used))
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
        )

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """The inequalities in words."""
        rows = zip(self.A, self.b.tolist(), self.strict.tolist(), self.nodes.tolist(), strict=True)
        return tuple(self.words.write(*row) for row in rows)

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
        text = "\n".join(self.conditions)
        return f"{text}\n(empty: no complete row can be here)" if self.is_empty else text

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
        If there is no such node, or if a split on the way asks about a qualitative column:
        `export_rules` says which levels reach a leaf.

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
    whole = subject.tree
    inner = np.flatnonzero(~whole.is_leaf)
    require_kinds(whole, inner, "a region", KINDS)
    require_numbers(whole, inner, "a region", subject.encoding)
    branches = [
        (node, branch) for node in inner.tolist() for branch in range(int(whole.n_children[node]))
    ]
    asked = Inequalities(whole, branches)
    words = InequalityWriter(whole, subject.encoding)
    found = []
    waiting: list[tuple[int, Known]] = [(0, {})]
    while waiting:
        node, known = waiting.pop()
        if whole.is_leaf[node]:
            found.append(_made(node, asked, known, words))
            continue
        first = int(whole.first_child[node])
        waiting += [
            (first + branch, asked.behind(known, node, branch))
            for branch in range(int(whole.n_children[node]))
        ]
    found.sort(key=lambda each: each.leaf)
    return tuple(each.minimal() for each in found) if minimal else tuple(found)


def _region(subject: Subject, leaf: int) -> Region:
    tree = subject.tree
    way = [leaf]
    while tree.parent[way[-1]] >= 0:
        way.append(int(tree.parent[way[-1]]))
    way.reverse()
    above: Int64Array = np.array(way[:-1], dtype=np.int64)
    require_kinds(tree, above, "a region", KINDS)
    require_numbers(tree, above, "a region", subject.encoding)
    steps = [(node, child - int(tree.first_child[node])) for node, child in pairwise(way)]
    asked = Inequalities(tree, steps)
    known: Known = {}
    for node, branch in steps:
        known = asked.behind(known, node, branch)
    return _made(leaf, asked, known, InequalityWriter(tree, subject.encoding))


def _made(leaf: int, asked: Inequalities, known: Known, words: InequalityWriter) -> Region:
    places: Int64Array = np.fromiter(known.values(), dtype=np.int64, count=len(known))
    return Region(
        leaf,
        asked.A[places],
        asked.b[places],
        asked.strict[places],
        asked.nodes[places],
        words,
        words.encoding.names,
    )


# --- what branches ask for: found once per branch -----------------------------------------------


class Inequalities:
    """The inequalities of some branches of a tree, given by their nodes and numbers."""

    def __init__(self, tree: Tree, branches: Iterable[tuple[int, int]]) -> None:
        self._of: dict[tuple[int, int], range] = {}
        # Parallel normals share a number; exact keys are compared here, and never again.
        numbers: dict[tuple[Any, ...], int] = {}
        normals: list[FloatArray] = []
        limits: list[float] = []
        strict: list[bool] = []
        nodes: list[int] = []
        self._direction: list[int] = []
        self._rank: list[tuple[Fraction, bool]] = []
        for node, branch in branches:
            start = len(normals)
            for normal, limit, open_end in _asked(tree, node, branch):
                key, size = direction(normal)
                normals.append(normal)
                limits.append(limit)
                strict.append(open_end)
                nodes.append(node)
                # -1: it always holds.
                holds = not key and (limit > 0 or (limit == 0 and not open_end))
                self._direction.append(-1 if holds else numbers.setdefault(key, len(numbers)))
                self._rank.append((Fraction(limit) / size, not open_end))
            self._of[node, branch] = range(start, len(normals))
        self.A = np.array(normals, dtype=np.float64).reshape(-1, tree.n_features)
        self.b = np.array(limits, dtype=np.float64)
        self.strict: BoolArray = np.array(strict, dtype=bool)
        self.nodes: Int64Array = np.array(nodes, dtype=np.int64)

    def behind(self, known: Known, node: int, branch: int) -> Known:
        """Return what is known behind a branch.

        Of parallel inequalities only the tightest stays, the first of equal ones; those that
        always hold are left out. All of it is exact.
        """
        tightest = dict(known)
        for new in self._of[node, branch]:
            way = self._direction[new]
            old = tightest.get(way)
            if way >= 0 and (old is None or self._rank[new] < self._rank[old]):
                tightest.pop(way, None)  # what is tighter also comes later
                tightest[way] = new
        return tightest


def _asked(tree: Tree, node: int, branch: int) -> list[tuple[FloatArray, float, bool]]:
    """Return normal, right side and strictness of what a branch asks for."""
    if tree.kind[node] == NodeKind.HYPERPLANE:
        sign = -1.0 if branch else 1.0
        threshold = float(tree.threshold[tree.plane_ptr[node]])
        # 0.0 is added so that no number reads -0.
        return [(sign * tree.coefficients(node) + 0.0, sign * threshold + 0.0, branch == 1)]
    winner, bound = _score(tree, node, branch)
    found = []
    for other in range(int(tree.n_children[node])):
        if other == branch:
            continue
        # The largest score wins, the first at ties.
        normal, threshold = _score(tree, node, other)
        with np.errstate(over="ignore"):
            normal, limit = normal - winner, threshold - bound
        if not (np.isfinite(normal).all() and np.isfinite(limit)):
            raise TreeError(
                f"The scores of node {node} differ by more than the largest number, so its "
                "branches cannot be written as inequalities."
            )
        found.append((normal, limit, other < branch))
    return found


def _score(tree: Tree, node: int, branch: int) -> tuple[FloatArray, float]:
    """Return the normal and the threshold of a linear machine's branch."""
    plane = int(tree.plane_ptr[node]) + branch
    part = slice(int(tree.coef_ptr[plane]), int(tree.coef_ptr[plane + 1]))
    normal = np.zeros(tree.n_features)
    normal[tree.coef_idx[part]] = tree.coef[part]
    return normal, float(tree.threshold[plane])


@dataclass(frozen=True, eq=False)
class InequalityWriter:
    """Writes inequalities of a tree, once they are asked for."""

    tree: Tree
    encoding: Encoding

    def write(self, normal: FloatArray, limit: float, strict: bool, node: int) -> str:
        """Write one inequality that came from a node."""
        if self.tree.kind[node] == NodeKind.HYPERPLANE:
            return question_of(self.tree, node, self.encoding).sentence(left=not strict)
        used = np.flatnonzero(normal).tolist()
        if not used:
            normal_free = Question((), "<=", limit)
            return f"0 {'<' if strict else '<='} {normal_free.cut()}"
        known = self._columns(node)
        terms = tuple(Term(j, self.encoding.written(j), float(normal[j]), *known[j]) for j in used)
        # The one relation is the opposite of the other's mirror image.
        return Question(terms, ">=" if strict else "<=", limit).sentence(left=not strict)

    def _columns(self, node: int) -> dict[int, tuple[float, float]]:
        """Return the spread and the centre of each column that a node asks about."""
        tree = self.tree
        first, last = (int(tree.coef_ptr[tree.plane_ptr[node + k]]) for k in (0, 1))
        found: dict[int, tuple[float, float]] = {}
        for k in range(first, last):
            column, spread = int(tree.coef_idx[k]), float(tree.spread[k])
            if column not in found or math.isnan(found[column][0]):
                found[column] = (spread, float(tree.fill[k]))
        return found
