"""Twin of HHCART: the search of one node over reflected columns, and the growth of whole trees.

Features are written x, scaled features xs = x * s. Class by class the eigenvectors d of the
scatter matrix of xs are reflected onto an axis by H = I - 2 u u'; the columns of H are the
directions. Three extensions can be switched on: Fisher's directions, a limit on the features of a
direction, and scatter matrices without each class's outermost rows.

What is summed over rows (means and scatter matrices), eigenvectors and solutions of linear
systems come from functions that a test replaces by those of the library: their last bits are not
what is specified here. All the rest is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import grow as growth
from reference import search

FloatArray = NDArray[np.float64]
Rows = NDArray[np.int64]

# of some rows of the data, given by their numbers: mean and scatter matrix about it
Moments = Callable[[Rows], tuple[FloatArray, FloatArray]]
# of a symmetric matrix: eigenvalues, largest first, and eigenvectors as rows
Eigen = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
# of a scatter matrix: the same without eigenvalues that are 0, as its correlation matrix says
EigenScatter = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]
# solution of matrix @ x = right-hand side, which is a vector or has one per column
Solve = Callable[[FloatArray, FloatArray], FloatArray]
# of some rows: the standard deviation of each feature
Spread = Callable[[Rows], FloatArray]

NEGLIGIBLE = 1e-10  # eigenvalues up to this part of the largest count as zero
NO_REFLECTION = 1e-12  # d is the axis itself if it is closer than this
RIDGE, FLOOR = 1e-3, 1e-12  # parts of the diagonal, and of its mean, that are added to it


@dataclass(frozen=True)
class Measured:
    """How sums over a node's rows are taken: in units of 2^exponent, measured from ``origin``."""

    origin: FloatArray | float
    exponent: NDArray[np.int32] | int
    moments: Moments


Measure = Callable[[Rows], Measured]


def plain_measure(data: growth.Data) -> Measure:
    """Weighted means and scatter matrices in plain NumPy, in the features' own units."""

    def moments(rows: Rows) -> tuple[FloatArray, FloatArray]:
        X = data.X[rows].astype(np.float64)
        weight = np.array([data.weights[i] for i in rows], dtype=np.float64)
        # taking the first row off makes the scatter of equal rows exactly zero
        away = X - X[0]
        mean = weight @ away / weight.sum()
        central = away - mean
        return X[0] + mean, (central * weight[:, None]).T @ central

    return lambda rows: Measured(0.0, 0, moments)


def plain_eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    values, vectors = np.linalg.eigh(matrix)
    return values[::-1], vectors.T[::-1]


def plain_eigen_scatter(matrix: FloatArray, least: float) -> tuple[FloatArray, FloatArray]:
    """By one-sided Jacobi rotations: the digits of small features are kept beside large ones."""
    size = np.sqrt(np.diag(matrix))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = plain_eigen(matrix * np.outer(inverse, inverse))
    kept = values > least * values[0]
    root = size[:, None] * (vectors[kept].T * np.sqrt(values[kept]))  # root @ root.T == matrix
    turned = np.eye(len(matrix))
    for _ in range(20):  # sweeps; six to ten are enough
        for i in range(len(root)):
            for j in range(i + 1, len(root)):
                a, b, c = root[i] @ root[i], root[j] @ root[j], root[i] @ root[j]
                if c != 0.0:
                    angle = np.arctan2(2 * c, a - b) / 2
                    if abs(angle) > np.pi / 4:  # the smaller turn
                        angle -= np.copysign(np.pi / 2, angle)
                    turn = np.array(
                        [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
                    )
                    for rows in (root, turned):
                        rows[[i, j]] = turn @ rows[[i, j]]
    values = (root**2).sum(axis=1)
    order = np.argsort(-values, kind="stable")[: kept.sum()]
    return values[order], turned[order]


def plain_solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.full_like(right, np.nan)


@dataclass(frozen=True)
class Options:
    """How HHCART looks for oblique splits.

    ``variant``: reflect "all" eigenvectors of a class, the "dominant" one or none (None).
    ``target``: onto the "first" axis or the "nearest". ``tau``: leave alone what is so close to an
    axis. ``min_rows``: smaller nodes are split axis-parallel. ``scale``: what features are
    multiplied by. ``fisher``: search Fisher's directions too. ``max_features``: of a direction.
    ``trimmed``: the share of each class's weight that its scatter may do without.
    ``zero_eigenvalues``: which matrix tells how many eigenvalues are 0, the "correlation" or the
    "covariance". ``more``: further directions of a node, given those tried so far and the best
    axis-parallel split.
    """

    variant: str | None = "all"
    target: str = "first"
    tau: float = 0.05
    min_rows: int = 0
    scale: FloatArray | float = 1.0
    fisher: bool = False
    max_features: int | None = None
    trimmed: float | None = None
    zero_eigenvalues: str = "correlation"
    eigen: Eigen = plain_eigen
    eigen_scatter: EigenScatter = plain_eigen_scatter
    solve: Solve = plain_solve
    spread: Spread | None = None
    more: Callable[..., Iterator[Candidate]] | None = None


@dataclass(frozen=True)
class Node:
    """Some rows of the data, and all that decides how they are split."""

    data: growth.Data
    rows: Rows
    score: search.Score
    limits: search.Limits
    options: Options
    measure: Measure

    @cached_property
    def measured(self) -> Measured:
        return self.measure(self.rows)

    def moments(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter matrix of some of the rows, in the node's units."""
        return self.measured.moments(rows)

    @cached_property
    def factor(self) -> FloatArray:
        """What the node's units are in scaled features, divided by one power of two.

        The length of an eigenvector or of a discriminant has no meaning; overflow would have.
        """
        p = self.X.shape[1]
        scale = np.broadcast_to(np.asarray(self.options.scale, dtype=np.float64), p)
        largest = int((np.frexp(scale)[1] + self.measured.exponent).max())
        return np.ldexp(scale, self.measured.exponent - largest)

    @cached_property
    def X(self) -> NDArray[np.floating]:
        return self.data.X[self.rows]

    @cached_property
    def y(self) -> list[int]:
        return [self.data.y[i] for i in self.rows]

    @cached_property
    def weights(self) -> list[int]:
        return [self.data.weights[i] for i in self.rows]

    @cached_property
    def classes(self) -> list[int]:
        """The classes that have weight in this node, in order."""
        return sorted({c for c, w in zip(self.y, self.weights, strict=True) if w > 0})

    @cached_property
    def scaled(self) -> FloatArray:
        """The rows in scaled units."""
        return self.X.astype(np.float64) * self.options.scale

    @cached_property
    def spread(self) -> FloatArray:
        """Standard deviation of each feature, not scaled."""
        if self.options.spread is not None:
            return self.options.spread(self.rows)
        _, total = self.moments(self.rows)
        return np.sqrt(np.diag(total) / float(sum(self.weights)))

    def rows_of(self, c: int, others: bool = False) -> Rows:
        """Numbers of the rows of a class, or of all others."""
        return self.rows[(np.array(self.y) == c) != others]

    def in_scaled_units(self, matrix: FloatArray) -> FloatArray:
        """S_jk times f_j f_k; the product of the two first keeps the matrix symmetric."""
        return matrix * np.outer(self.factor, self.factor)


@dataclass(frozen=True)
class Candidate:
    """A direction to be searched: the values of the rows along it, and its rounded normal."""

    number: int
    label: str
    normal: search.Direction
    z: FloatArray
    tolerance: float


@dataclass(frozen=True)
class Found:
    """The split of a node, and what the best axis-parallel one is worth (0 if there is none)."""

    split: search.Split
    label: str
    axis_goodness: float


# --- directions -------------------------------------------------------------------------------


def informative(matrix: FloatArray) -> bool:
    return bool(np.isfinite(matrix).all() and matrix.any())


def with_ridge(matrix: FloatArray) -> FloatArray:
    """Make a scatter matrix regular, even where a feature is constant."""
    diagonal = np.diag(matrix)
    trace = sum(diagonal.tolist())  # in order; NumPy adds up in another one
    return matrix + np.diag(RIDGE * diagonal + FLOOR * trace / len(diagonal))


def inner_rows(node: Node, c: int, share: float) -> Rows:
    """Rows of a class without its outermost ones, by Mahalanobis distance.

    Rows at equal distance stay or go together.
    """
    rows = node.rows_of(c)
    mean, scatter = node.moments(rows)
    matrix = node.in_scaled_units(scatter)
    if not informative(matrix):
        return rows
    here = node.data.X[rows].astype(np.float64) - node.measured.origin
    away = (np.ldexp(here, -node.measured.exponent) - mean) * node.factor
    solved = node.options.solve(with_ridge(matrix), away.T).T
    distance = np.zeros(len(rows))
    for k in range(away.shape[1]):
        distance = distance + away[:, k] * solved[:, k]
    weight = [node.data.weights[i] for i in rows]
    enough = (1.0 - share) * float(sum(weight))
    inside = 0
    for i in np.argsort(distance, kind="stable"):
        inside += weight[i]
        if float(inside) >= enough:
            return rows[distance <= distance[i]]
    return rows


def eigenvectors(node: Node, c: int) -> list[FloatArray]:
    """Directions in which a class extends, the longest first; none if all its rows are equal."""
    share = node.options.trimmed
    rows = node.rows_of(c) if share is None else inner_rows(node, c, share)
    matrix = node.in_scaled_units(node.moments(rows)[1])
    if not informative(matrix):
        return []
    values, vectors = node.options.eigen(matrix)
    vectors = np.where(np.diag(matrix) == 0.0, 0.0, vectors)  # exactly, not to rounding
    n = int((values > NEGLIGIBLE * values[0]).sum())
    if node.options.variant == "dominant":
        return [*vectors[:1]]
    weight = sum(node.data.weights[i] for i in rows)
    most = min(np.count_nonzero(np.diag(matrix)), weight - 1)  # a rank cannot be higher
    if node.options.zero_eigenvalues == "correlation" and n < most:
        _, better = node.options.eigen_scatter(matrix, NEGLIGIBLE)
        if len(better) > n:
            return [*np.where(np.diag(matrix) == 0.0, 0.0, better)]
    return [*vectors[:n]]


def reflector(d: FloatArray, options: Options) -> FloatArray | None:
    """The unit vector u whose reflection takes d to its axis; ``None`` if d stays where it is.

    An eigenvector has no sign of its own. It gets the one that brings it nearer to the axis.
    """
    size = np.abs(d)
    if 2.0 - 2.0 * float(size.max()) <= options.tau * options.tau:
        return None
    axis = 0 if options.target == "first" else int(np.argmax(size))
    decides = d[axis] if d[axis] != 0.0 else d[np.flatnonzero(d)[0]]
    difference = -d if decides > 0.0 else d.copy()
    difference[axis] += 1.0
    squares = 0.0
    for value in difference.tolist():
        squares += value * value
    length = float(np.sqrt(squares))
    return None if length < NO_REFLECTION else difference / length


def reflections(node: Node) -> Iterator[Candidate]:
    """Columns of all Householder matrices: class by class, eigenvector by eigenvector."""
    p = node.X.shape[1]
    for c in node.classes:
        for e, d in enumerate(eigenvectors(node, c)):
            u = reflector(d, node.options)
            if u is not None:
                first, label = p + (c * p + e) * p, f"class {c}, eigenvector {e}"
                yield from reflected_columns(node, u, first, label)


def reflected_columns(node: Node, u: FloatArray, first: int, label: str) -> Iterator[Candidate]:
    """Columns h_j = e_j - 2 u_j u, but for those with u_j = 0, which are axes.

    The product with u is common to all columns: z = xs_j - 2 u_j (xs u).
    """
    xs, s = node.scaled, node.options.scale
    along, reach = np.zeros(len(xs)), np.zeros(len(xs))
    for k in np.flatnonzero(u):
        term = u[k] * xs[:, k]
        along = along + term
        reach = reach + np.abs(term)
    for j in np.flatnonzero(u).tolist():
        f = -2.0 * float(u[j])
        h = f * u
        h[j] += 1.0
        z = xs[:, j] + f * along
        size = float(np.abs(xs[:, j]).max()) + abs(f) * float(reach.max())
        # Reflecting a row takes as many roundings as four terms more.
        values = z, search.TOLERANCE * (len(u) + 4) * size
        yield candidate(node, first + j, f"{label}, column {j}", h * s, values)


def fisher_directions(node: Node) -> Iterator[Candidate]:
    """One class against the rest; of two classes the second would give the first's again."""
    p = node.X.shape[1]
    first, s = p + node.data.n_classes * p * p, node.options.scale
    if len(node.classes) < 2:
        return
    for c in node.classes[:1] if len(node.classes) == 2 else node.classes:
        mine, within_mine = node.moments(node.rows_of(c))
        theirs, within_theirs = node.moments(node.rows_of(c, others=True))
        within = node.in_scaled_units(within_mine + within_theirs)
        if informative(within):
            w = node.options.solve(with_ridge(within), (mine - theirs) * node.factor)
            top = float(np.abs(w).max())
            # one feature alone has been searched as an axis
            if np.isfinite(w).all() and np.count_nonzero(w) > 1:
                yield candidate(node, first + c, f"class {c} against the rest", w / top * s)


def candidate(
    node: Node,
    number: int,
    label: str,
    normal: FloatArray,
    values: tuple[FloatArray, float] | None = None,
) -> Candidate:
    """A direction with a normal that has few enough features.

    ``values`` are those of the rows and their tolerance, if they are not to be computed from the
    rounded normal. They are of no use when features may be left out.
    """
    short = with_few_features(node, np.array([search.round24(v) for v in normal.tolist()]))
    direction = search.directions(short)[0]
    most = node.options.max_features
    if values is None or (most is not None and most < len(normal)):
        values = search.project(node.X, direction)
    return Candidate(number, label, direction, *values)


def with_few_features(node: Node, normal: FloatArray) -> FloatArray:
    """Only those entries of a normal that move the values most, if it has too many."""
    most = node.options.max_features
    entries = np.flatnonzero(normal).tolist()
    if most is None or len(entries) <= most:
        return normal
    effect = np.abs(normal) * node.spread
    kept = sorted(entries, key=lambda k: (-effect[k], k))[:most]
    short = np.zeros_like(normal)
    if most > 1:  # one feature alone has been searched as an axis
        short[kept] = normal[kept]
    return short


# --- one node ---------------------------------------------------------------------------------


def usable_cuts(node: Node, tried: Candidate) -> Iterator[tuple[float, Sequence[int]]]:
    """Goodness and class sums of all legal cuts along a direction, from the left."""
    if not search.usable(tried.normal, tried.z) or not np.isfinite(tried.tolerance):
        return
    rows = node.y, node.weights, node.data.n_classes
    sums = search._class_sums(*rows)
    for cut in search._open_cuts(tried.z, tried.tolerance, *rows):
        if search._legal(cut, len(tried.z), sum(sums), node.limits):
            right = [n - v for n, v in zip(sums, cut.left_sums, strict=True)]
            yield node.score(cut.left_sums, right), cut.left_sums


def goodness(node: Node, tried: Candidate) -> float:
    """Goodness of the best legal cut along a direction; 0 without one."""
    return max((score for score, _ in usable_cuts(node, tried)), default=0.0)


def canonical_split(node: Node, directions: list[search.Direction]) -> search.Split | None:
    return search.best_split(
        node.X, node.y, node.weights, node.data.n_classes, directions, node.score, node.limits
    )


# values near the limits of float64 overflow, and are passed over
@np.errstate(over="ignore", under="ignore", invalid="ignore")
def find_split(node: Node) -> Found | None:
    """Best split of a node; an axis-parallel one unless an oblique one is better.

    The values along a reflected column differ from those of its rounded normal in their last
    bits, so the winner is searched again by the latter, which a tree computes. It must still be
    better than the best axis.
    """
    axis = canonical_split(node, search.axes(node.X.shape[1]))
    bar = 0.0 if axis is None else axis.goodness
    best, winner = bar, None
    tries: list[Candidate] = []
    if len(node.rows) >= node.options.min_rows:
        if node.options.variant is not None:
            tries = [*reflections(node)]
        if node.options.fisher:
            tries = [*tries, *fisher_directions(node)]
        if node.options.more is not None:
            tries = [*tries, *node.options.more(node, tries, axis)]
    for tried in tries:
        value = goodness(node, tried)
        if value > best:  # not if it is equal: the earlier direction wins
            best, winner = value, tried
    if winner is not None:
        split = canonical_split(node, [winner.normal])
        if split is not None and split.goodness > bar:
            return Found(replace(split, direction=winner.number), winner.label, bar)
    return None if axis is None else Found(axis, f"feature {axis.direction}", bar)


# --- whole trees ------------------------------------------------------------------------------


def grow(
    data: growth.Data,
    criterion: int | Callable[..., float],
    rules: growth.Rules | None = None,
    options: Options | None = None,
    measure: Measure | None = None,
) -> dict[str, Any]:
    """Grow a tree as ``reference.grow`` does, with labels and the goodness of the best axes.

    Each node's split is found here and then proposed as the only direction, where the search of
    ``reference.grow`` finds the same cut again. A last column, which no direction uses, tells
    which rows a node holds.
    """
    rules = growth.Rules() if rules is None else rules
    limits = search.Limits(rules.min_samples_leaf, rules.min_weight_leaf, rules.zero_gain)
    score = search.score_function(criterion, data.unit)
    options = Options() if options is None else options
    measure = plain_measure(data) if measure is None else measure
    found: dict[tuple[int, ...], Found] = {}

    def propose(shown: growth.Node) -> list[search.Direction]:
        rows = shown.X[:, -1].astype(np.int64)
        best = find_split(Node(data, rows, score, limits, options, measure))
        if best is None:
            return []
        found[tuple(rows.tolist())] = best
        return [search.Direction(best.split.idx, best.split.coef)]

    numbers = np.arange(len(data.y), dtype=data.X.dtype)
    numbered = replace(data, X=np.column_stack([data.X, numbers]))
    tree = growth.grow(numbered, criterion, rules, propose)
    tree |= {"direction": [], "label": [], "axis_goodness": []}
    for kind, rows in zip(tree["kind"], tree["rows"], strict=True):
        best = found[tuple(rows)] if kind == growth.HYPERPLANE else None
        tree["direction"].append(None if best is None else best.split.direction)
        tree["label"].append("" if best is None else best.label)
        tree["axis_goodness"].append(None if best is None else best.axis_goodness)
    return tree
