"""What the branches of a tree ask for, as linear inequalities: found once per branch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from obliqua._typing import BoolArray, FloatArray, Int64Array
from obliqua.data.encoding import Encoding
from obliqua.errors import TreeError
from obliqua.explain._polyhedron import direction
from obliqua.tree.layout import NodeKind
from obliqua.tree.tree import Tree
from obliqua.words.question import Question, Term, question_of

# Which inequality is the tightest so far in each direction, in the order in which they came.
Known: TypeAlias = dict[int, int]


class Inequalities:
    """The inequalities of some branches of a tree.

    Parameters
    ----------
    tree : Tree
        The tree.
    branches : iterable of (int, int)
        Nodes, each with the number of a branch.
    """

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
    own, bound = _score(tree, node, branch)
    found = []
    for other in range(int(tree.n_children[node])):
        if other == branch:
            continue
        # The largest score wins, the first at ties.
        normal, threshold = _score(tree, node, other)
        with np.errstate(over="ignore"):
            normal, limit = normal - own, threshold - bound
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
class Words:
    """Writes inequalities of a tree, once they are asked for.

    Parameters
    ----------
    tree : Tree
        The tree.
    encoding : Encoding
        What its columns are.
    """

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
