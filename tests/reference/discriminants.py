"""Twin of the discriminants: directions that part classes, and superclasses from their best cuts.

With G the scatter matrix of all rows of a node about their mean, R = 1e-3 diag G, m_c the mean of
class c less that of the node, and s_c the class's share of the weight:

- for each class: y_c = (G + R)^-1 m_c; of two classes only the first one's, for the other's is
  parallel to it;
- with more than two: the solutions v of B v = lambda (G + R) v, B = sum of s_c m_c m_c', largest
  lambda first. B v = mu (W + R) v, W = G - B, has the same solutions in the same order;
- with more than three: the three best of all directions so far, with the best axis among them,
  are starts. The classes that are more frequent to the right of a start's best cut than in the
  node are a superclass, and the sum of s_c y_c over them is the next direction; and so on, at
  most four times, while the cut becomes better.

A superclass of one class, or of all but one, is one of the first kind, and is not tried again; nor
is one with which a better start begins. All in units of the node's grid; a feature that does not
vary has the coefficient 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from reference import search
from reference.hhcart import NEGLIGIBLE, RIDGE, Candidate, FloatArray, Node, candidate, usable_cuts

STARTS, STEPS = 3, 4
TINY = 2.0**-500  # a feature that varies by this part of the widest one counts as constant

# of a positive definite matrix L L' and vectors as rows: L^-1 or L'^-1 times each of them
Half = Callable[[FloatArray, FloatArray, bool], FloatArray]


def plain_half(matrix: FloatArray, rows: FloatArray, lower: bool) -> FloatArray:
    factor = np.linalg.cholesky(matrix)
    return solve_triangular(factor, rows.T, lower=True, trans=0 if lower else 1).T


@dataclass(frozen=True)
class Start:
    """The best cut of a direction, and the classes that are more frequent to its right."""

    score: float
    number: int
    superclass: frozenset[int]


@dataclass(frozen=True)
class Discriminants:
    """What is tried at a node after all that a method tries itself.

    ``first``: the number of the first direction. ``superclasses``: whether to go on from the best.
    """

    first: int
    superclasses: bool = True
    half: Half = plain_half

    def __call__(
        self, node: Node, tried: Sequence[Candidate], axis: search.Split | None
    ) -> Iterator[Candidate]:
        if len(node.classes) < 2:
            return
        parts = Parts.of(node, self.half)
        if parts is None:
            return
        mine = [*self.by_class(node, parts), *self.discriminants(node, parts)]
        yield from mine
        if self.superclasses and len(node.classes) > 3:
            starts = [start_of(node, one) for one in (*tried, *mine)]
            if axis is not None and axis.goodness > 0.0:
                group = heavier_right(node, axis.left_sums)
                starts.append(Start(axis.goodness, axis.direction, group))
            good = sorted(
                (one for one in starts if one is not None), key=lambda s: (-s.score, s.number)
            )
            yield from self.climbs(node, parts, good[:STARTS])

    def by_class(self, node: Node, parts: Parts) -> Iterator[Candidate]:
        """One class against the rest."""
        for k, c in enumerate(node.classes[:1] if len(node.classes) == 2 else node.classes):
            yield from direction(node, self.first + c, f"class {c}", parts, parts.solved[k])

    def discriminants(self, node: Node, parts: Parts) -> Iterator[Candidate]:
        """Directions in which the means of all classes differ most."""
        n, p = len(node.classes), node.X.shape[1]
        if n == 2:
            return
        if n <= p:
            matrix = np.zeros((n, n))
            for k in range(p):
                matrix = matrix + np.outer(parts.halves[:, k], parts.halves[:, k])
            root = np.sqrt(parts.share)
            values, vectors = node.options.eigen(matrix * np.outer(root, root))
            combined = np.zeros((n, p))
            for k in range(n):
                combined = combined + np.outer(vectors[:, k] * root[k], parts.solved[k])
        else:
            matrix = np.zeros((p, p))
            for share, half in zip(parts.share, parts.halves, strict=True):
                matrix = matrix + np.outer(share * half, half)
            values, vectors = node.options.eigen(matrix)
            combined = self.half(parts.matrix, vectors, False)
        for e in range(min(n - 1, p)):
            if not values[e] > NEGLIGIBLE * values[0]:
                break
            number = self.first + node.data.n_classes + e
            yield from direction(
                node, number, f"discriminant {e}", parts, combined[e], signed=True
            )

    def climbs(self, node: Node, parts: Parts, starts: Sequence[Start]) -> Iterator[Candidate]:
        """Superclasses, from the best cuts on."""
        seen: list[frozenset[int]] = []
        for rank, start in enumerate(starts):
            group, score = start.superclass, start.score
            if known(node, group, seen):
                continue
            seen.append(group)
            for step in range(STEPS):
                normal = np.zeros(node.X.shape[1])
                for k, c in enumerate(node.classes):
                    if c in group:
                        normal = normal + parts.share[k] * parts.solved[k]
                number = self.first + node.data.n_classes + len(normal) + rank * STEPS + step
                made = list(direction(node, number, f"superclass {rank}, {step}", parts, normal))
                yield from made
                found = start_of(node, made[0]) if made else None
                if found is None or not found.score > score:
                    break
                score = found.score
                if known(node, found.superclass, [group]):
                    break
                group = found.superclass


@dataclass(frozen=True)
class Parts:
    """What all directions are made of, one row per class; ``matrix`` is G + R."""

    matrix: FloatArray
    share: FloatArray
    halves: FloatArray
    solved: FloatArray

    @staticmethod
    def of(node: Node, half: Half) -> Parts | None:
        mean, scatter = node.moments(node.rows)
        varies = (np.diag(scatter) > 0) & (node.factor >= TINY)
        if not varies.any():
            return None
        matrix = np.where(np.outer(varies, varies), scatter, 0.0)
        matrix += np.diag(np.where(varies, RIDGE * np.diag(matrix), 1.0))
        means = np.array([node.moments(node.rows_of(c))[0] for c in node.classes])
        away = np.where(varies & np.isfinite(means), means - mean, 0.0)
        sums = search._class_sums(node.y, node.weights, node.data.n_classes)
        share = np.array([float(sums[c]) / float(sum(sums)) for c in node.classes])
        halves = half(matrix, away, True)
        return Parts(matrix, share, halves, half(matrix, halves, False))


def direction(
    node: Node,
    number: int,
    label: str,
    parts: Parts,
    normal: FloatArray,
    signed: bool = False,
) -> Iterator[Candidate]:
    """A direction of the node's units as one of the features, if it has two of them.

    It is fitted by few features where a split may have only so many. Its length says nothing, and
    the sign of an eigenvector neither: the largest entry is made 1, or -1 where the sign counts.
    """
    most = node.options.max_features
    if most is not None and most > 1:
        normal = fitted_by_few(parts.matrix, normal, most)
    scaled = np.where(normal == 0.0, 0.0, normal / np.where(normal == 0.0, 1.0, node.factor))
    top = float(np.abs(scaled).max())
    if np.count_nonzero(scaled) < 2 or not np.isfinite(top):
        return
    if signed and scaled[int(np.argmax(np.abs(scaled)))] < 0:
        scaled = -scaled
    yield candidate(node, number, label, scaled / top * node.options.scale)


def fitted_by_few(matrix: FloatArray, normal: FloatArray, most: int) -> FloatArray:
    """The fit of ``v`` by few features: each brings ``(v - u)' M (v - u)`` down most.

    All coefficients are found anew with each feature. One that adds nothing stays out, and so does
    one that the others say as well, but for half of the ridge.
    """
    if np.count_nonzero(normal) <= most:
        return normal
    few = np.zeros_like(normal)
    chosen: list[int] = []
    while len(chosen) < most:
        rest = matrix @ (normal - few)
        best, gain = None, 1e-10 * float(normal @ matrix @ normal)
        for k in range(len(normal)):
            left = matrix[k, k]
            if chosen:
                across = matrix[chosen, k]
                left -= across @ np.linalg.solve(matrix[np.ix_(chosen, chosen)], across)
            if k in chosen or not left > 0.5 * RIDGE * matrix[k, k]:
                continue
            if rest[k] ** 2 / left > gain * (1.0 + 1e-9):
                best, gain = k, rest[k] ** 2 / left
        if best is None:
            break
        chosen = [*chosen, best]
        few = np.zeros_like(normal)
        few[chosen] = np.linalg.solve(matrix[np.ix_(chosen, chosen)], (matrix @ normal)[chosen])
    return few


def heavier_right(node: Node, left: Sequence[int]) -> frozenset[int]:
    """The classes of which a larger share goes right than of all rows."""
    sums = search._class_sums(node.y, node.weights, node.data.n_classes)
    n, n_left = sum(sums), sum(left)
    return frozenset(c for c in node.classes if left[c] * n < sums[c] * n_left)


def start_of(node: Node, tried: Candidate) -> Start | None:
    """The best cut of a direction, the first of equals; none that gains nothing."""
    best: Start | None = None
    for score, left in usable_cuts(node, tried):
        if score > (0.0 if best is None else best.score):
            best = Start(score, tried.number, heavier_right(node, left))
    return best


def known(node: Node, group: frozenset[int], seen: Sequence[frozenset[int]]) -> bool:
    """Whether the direction of a superclass has been tried, or that of all other classes."""
    rest = frozenset(node.classes) - group
    return min(len(group), len(rest)) < 2 or any(one in (group, rest) for one in seen)
