"""2C-ETCT (De Bruyne and Plastria): trees along the directions of eigen transformations.

A transformation gives an ordered list of directions, and level k of a tree splits along direction
k. So all trees of a transformation are cut-back versions of one, and a cross-validation inside the
training rows says how far to cut it back. It also says which transformation is best. The tree that
is left gets its thresholds from all rows.

Growing, evaluating and cutting back is compiled (`_core/methods/fold_trees.pyx`); here stands
what is done in which order, and how the result becomes a `Tree`.

With the classes A and B, population covariances, and dm = Mean(A) - Mean(B):

- the covariance of all rows is S_W + (p_A p_B / p_T^2) dm dm', where S_W is the weighted mean of
  the covariances of the classes;
- the second moment of all differences a - b is Cov(A) + Cov(B) + dm dm', so no pairs are needed;
- S_B = Cov(T) - S_W has rank one, so Fisher's discriminant has one direction, S_W^-1 dm. The
  others belong to the eigenvalue 0, and nothing tells one from another; ours are the principal
  components within the classes, in the complement of dm.

What is left of S_B in the complement of dm is nothing. So Fisher's discriminant after the
difference of means has no direction at all.

A direction is kept as coefficients of the original features. Levels of qualitative columns and
missing numbers are replaced by numbers once, for all nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Event
from typing import NamedTuple

import numpy as np

from obliqua._core.base.linalg import product, py_eigen
from obliqua._core.base.rng import child_key
from obliqua._core.methods.fold_trees import FoldGrower, FoldTrie
from obliqua._typing import BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import Classes
from obliqua.data.weights import round_significant
from obliqua.engine.coding import CodedColumns, CodedNode
from obliqua.engine.moments import feature_scale, grid_sums
from obliqua.prune.division import repeated_folds
from obliqua.tree.layout import NodeKind, pointers
from obliqua.tree.spread import measure_spread
from obliqua.tree.tree import Tree

__all__ = [
    "DEFAULT",
    "TRANSFORMATIONS",
    "Calibrated",
    "Direction",
    "EigenTree",
    "FirstDirection",
    "Grown",
    "PairMoments",
    "Space",
    "as_tree",
    "directions_of",
    "grow_eigen_tree",
    "grow_pairs",
    "read_columns",
    "space_of",
]

# A direction along which the rows vary by less than this share of what its parts vary by, as
# variances, is rounding: values enter the sums with 24 bits.
NO_SPREAD = 1e-10
# Means that differ by a smaller share than this of what the rows vary by are equal.
NO_DISTANCE = 1e-6
# Added to the correlations within the classes if they are singular.
RIDGE = 1e-8
BITS = 24
# Per term, as a share of the largest that a sum can be: two values that are no further apart may
# be equal, see `tolerance_for` in `_core/search/direction.pyx`. More would be wrong: with many
# rows, far from the origin, neighbours are not much further apart.
ROUNDING = 2.0**-50
NO_TESTS = np.array([[0, -1]], dtype=np.int32)

#: Finds a direction from rows, their classes (0 or 1) and their weights.
FirstDirection = Callable[[FloatArray, Int32Array, FloatArray | None], FloatArray]


# --- transformations -----------------------------------------------------------------------------


@dataclass(frozen=True)
class PairMoments:
    """What the transformations know of two classes."""

    weights: FloatArray
    apart: FloatArray  # (n_features,): the mean of the first class minus that of the second
    # (2, n_features, n_features): their covariances about their means, divided by the weight
    covariances: FloatArray

    @cached_property
    def within(self) -> FloatArray:
        """The mean covariance within the classes."""
        share = self.weights / self.weights.sum()
        return np.asarray(share[0] * self.covariances[0] + share[1] * self.covariances[1])

    @cached_property
    def total(self) -> FloatArray:
        """The covariance of all rows."""
        share = self.weights / self.weights.sum()
        return np.asarray(self.within + share[0] * share[1] * np.outer(self.apart, self.apart))

    @property
    def differences(self) -> FloatArray:
        """The second moment, about 0, of all differences of a row of each class."""
        return np.asarray(self.covariances.sum(axis=0) + np.outer(self.apart, self.apart))

    @cached_property
    def differ(self) -> bool:
        """Whether the means differ by more than rounding."""
        width = np.sqrt(np.maximum(self.total.diagonal(), 0.0))
        return bool((np.abs(self.apart) > NO_DISTANCE * width).any())


@dataclass(frozen=True)
class Complement:
    """The hyperplane perpendicular to a direction, with coordinates.

    A reflection turns the direction into the first axis. The other axes, turned back, are the
    basis.
    """

    mirror: FloatArray  # (n_features,): the unit vector that the reflection turns round

    @classmethod
    def of(cls, direction: FloatArray) -> Complement:
        """Make it of a unit vector."""
        mirror = direction.copy()
        mirror[0] += 1.0 if direction[0] >= 0 else -1.0
        return cls(mirror / np.sqrt((mirror * mirror).sum()))

    def vector(self, x: FloatArray) -> FloatArray:
        """Project a vector."""
        return np.asarray((x - 2.0 * (self.mirror * x).sum() * self.mirror)[1:])

    def matrix(self, M: FloatArray) -> FloatArray:
        """Project a matrix of second moments."""
        along = product(M, self.mirror)
        twice = np.outer(self.mirror, along)
        square = float((self.mirror * along).sum())
        turned = M - 2.0 * (twice + twice.T) + 4.0 * square * np.outer(self.mirror, self.mirror)
        turned = turned[1:, 1:]
        return np.asarray((turned + turned.T) / 2)

    def moments(self, moments: PairMoments) -> PairMoments:
        """Project all moments."""
        return PairMoments(
            moments.weights,
            self.vector(moments.apart),
            np.array([self.matrix(c) for c in moments.covariances]),
        )

    def back(self, rows: FloatArray) -> FloatArray:
        """Turn directions of the hyperplane into directions of the whole space."""
        whole = np.zeros((len(rows), rows.shape[1] + 1))
        whole[:, 1:] = rows
        return np.asarray(whole - 2.0 * np.outer(product(whole, self.mirror), self.mirror))


def eigenvectors(matrix: FloatArray) -> FloatArray:
    """Return the eigenvectors as rows, that of the largest eigenvalue first."""
    if len(matrix) == 0:
        return np.empty((0, 0))
    return py_eigen(np.ascontiguousarray(matrix))[1]


def unit(direction: FloatArray) -> FloatArray:
    """Return the direction with length 1."""
    scaled = direction / np.abs(direction).max()
    return np.asarray(scaled / np.sqrt((scaled * scaled).sum()))


def principal(moments: PairMoments) -> FloatArray:
    """Return the principal components of all rows."""
    return eigenvectors(moments.total)


def separation(moments: PairMoments) -> FloatArray:
    """Return the principal separation components."""
    return eigenvectors(moments.differences)


def fisher(moments: PairMoments) -> FloatArray:
    """Return Fisher's direction, then the principal components within, perpendicular to dm.

    There is none at all if the means are equal.
    """
    if not moments.differ:
        return np.empty((0, len(moments.apart)))
    first = fisher_direction(moments)
    rest = Complement.of(unit(moments.apart))
    return np.vstack([first, rest.back(eigenvectors(rest.matrix(moments.within)))])


def fisher_direction(moments: PairMoments) -> FloatArray:
    """Return S_W^-1 dm; with a ridge if S_W is singular.

    Each feature is measured by its spread, so that units do not say what is singular.
    """
    size = np.sqrt(np.maximum(moments.total.diagonal(), 0.0))
    used = size > 0
    if not used.any():  # so small that their squares are 0
        return unit(moments.apart)
    scale = size[used]
    values, vectors = py_eigen(
        np.ascontiguousarray(moments.within[np.ix_(used, used)] / np.outer(scale, scale))
    )
    values = np.maximum(values, 0.0)
    if values[-1] <= NO_SPREAD * values[0]:
        values = values + RIDGE
    along = product(vectors, moments.apart[used] / scale) / values
    direction = np.zeros(len(size))
    direction[used] = product(along, vectors) / scale
    return unit(direction)


#: What follows the first direction, or what is used alone.
TECHNIQUES: dict[str, Callable[[PairMoments], FloatArray]] = {
    "pca": principal,
    "fisher": fisher,
    "psc": separation,
}

#: The paper's six, in its order. The last three start with a direction of their own.
TRANSFORMATIONS = ("pca", "fisher", "psc", "first+pca", "first+fisher", "first+psc")
#: Those that the paper's first direction, the difference of the means, leaves defined.
DEFAULT = ("pca", "fisher", "psc", "first+pca", "first+psc")


def directions_of(name: str, moments: PairMoments, first: FloatArray | None = None) -> FloatArray:
    """Find the directions of a transformation."""
    start, _, technique = name.rpartition("+")
    technique_of = TECHNIQUES[technique]
    if first is None and start and moments.differ:
        first = moments.apart
    if not start or first is None:
        return in_order(technique_of(moments), moments.total)
    one = unit(first)
    rest = Complement.of(one)
    rows = np.empty((0, len(one)))
    if len(one) > 1:
        rows = rest.back(technique_of(rest.moments(moments)))
    return in_order(np.vstack([one, rows]), moments.total)


def in_order(rows: FloatArray, total: FloatArray) -> FloatArray:
    """Leave out directions along which nothing varies, and settle the signs of the others."""
    spread = np.maximum(total.diagonal(), 0.0)
    along = (product(rows, total) * rows).sum(axis=1)
    rows = rows[along > NO_SPREAD * product(rows * rows, spread)]
    part = np.abs(rows) * np.sqrt(spread)
    # What differs by rounding alone must not decide.
    leading = np.argmax(part >= part.max(axis=1, keepdims=True) * (1 - 1e-9), axis=1)
    signs = np.sign(rows[np.arange(len(rows)), leading])
    return np.asarray(rows * signs[:, None])


# --- directions in the original features ---------------------------------------------------------


class Direction(NamedTuple):
    """A direction in the original features."""

    columns: Int32Array
    coef: FloatArray
    nothing: float  # values along it that are not further apart are the same

    def dense(self, n_features: int) -> FloatArray:
        """Return the coefficients with all their zeros."""
        normal = np.zeros(n_features)
        normal[self.columns] = self.coef
        return normal


class Space(NamedTuple):
    """The directions of all transformations, and the numbers of coded columns."""

    coded: CodedNode | None
    directions: dict[str, list[Direction]]


def space_of(problem: Problem, method: EigenTree) -> Space:
    """Find the directions of all transformations."""
    coded = None
    if problem.coded.any():
        every = np.arange(problem.n_rows, dtype=np.int32)
        coded = CodedColumns(problem).at(every, problem.counts)
    plain = problem if coded is None else coded.problem
    none: dict[str, list[Direction]] = {name: [] for name in method.transformations}
    if plain.y.min() == plain.y.max():
        return Space(coded, none)
    factor = feature_scale(problem, method.scale)
    moments = moments_of(plain, factor)
    if moments is None:
        return Space(coded, none)
    spread = np.sqrt(np.maximum(moments.total.diagonal(), 0.0))
    first = None
    if method.first is not None and any(name.startswith("first") for name in none):
        first = _given_first(method.first, plain, factor, spread > 0)
    reach = np.abs(plain.Z).max(axis=0).astype(np.float64)
    found = {
        name: _directions(
            directions_of(name, moments, first)[: method.max_depth], spread, factor, reach
        )
        for name in method.transformations
    }
    return Space(coded, found)


def moments_of(problem: Problem, factor: FloatArray) -> PairMoments | None:
    """Sum up two classes of plain rows, with features multiplied by factors."""
    sums, grid_exponent = grid_sums(problem)
    if (sums.weights == 0).any():
        return None
    weights = sums.weights.astype(np.float64)
    covariances = np.array([sums.scatter(c) / weights[c] for c in range(2)])
    apart = sums.mean(0) - sums.mean(1)
    varies = (covariances.sum(axis=0).diagonal() > 0) | (apart != 0)
    if not varies.any():
        return None
    mantissa, exponent = np.frexp(factor)
    exponent = exponent + grid_exponent
    with np.errstate(under="ignore"):
        size = np.where(varies, np.ldexp(mantissa, exponent - exponent[varies].max()), 0.0)
        return PairMoments(weights, apart * size, covariances * np.outer(size, size))


def _given_first(
    first: FirstDirection, plain: Problem, factor: FloatArray, varies: BoolArray
) -> FloatArray | None:
    """Ask for the first direction, of features that vary; None if it is 0."""
    weights = None
    if plain.weights is not None:
        weights = plain.weights.astype(np.float64) * plain.row_unit
    Z = np.ascontiguousarray(plain.Z, dtype=np.float64) * factor
    # A coefficient of a constant moves no row, but would turn all directions after the first.
    direction = np.where(varies, first(Z, plain.y, weights), 0.0)
    return direction if direction.any() else None


def _directions(
    rows: FloatArray, spread: FloatArray, factor: FloatArray, reach: FloatArray
) -> list[Direction]:
    """Say directions in the original features, without parts that are rounding."""
    part = np.abs(rows) * spread
    rows = np.where(part > part.max(axis=1, keepdims=True) * 2.0**-BITS, rows, 0.0)
    with np.errstate(over="ignore", under="ignore"):
        coef = round_significant(rows * factor, BITS)
        size = product(np.abs(coef), reach)
    used = coef != 0
    n_terms = used.sum(axis=1)
    nothing = np.where(n_terms == 1, 0.0, ROUNDING * n_terms * size)
    columns = np.arange(coef.shape[1], dtype=np.int32)
    return [
        Direction(columns[which], row[which], width)
        for which, row, width in zip(used, coef, nothing.tolist(), strict=True)
    ]


def read_columns(problem: Problem, space: Space) -> FloatArray:
    """Return the rows as plain numbers, column by column in memory."""
    Z = np.asfortranarray(problem.Z, dtype=np.float64)
    coded = space.coded
    if coded is None:
        return Z
    Z = Z.copy(order="F")
    for column in np.flatnonzero(coded.place >= 0).tolist():
        place = int(coded.place[column])
        numbers = coded.numbers[coded.begin[place] : coded.begin[place + 1]]
        values = Z[:, column]
        missing = np.isnan(values)
        if len(numbers) > 1:
            levels: Int64Array = np.where(missing, 0, values).astype(np.int64)
            values = numbers[levels]
        Z[:, column] = np.where(missing, numbers[-1], values)
    return Z


# --- growing -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EigenTree:
    """How trees are grown."""

    # names, in the order in which ties between them are settled
    transformations: tuple[str, ...] = DEFAULT
    n_divisions: int = 2  # how often the rows are divided into folds
    n_folds: int = 5  # into how many
    max_depth: int | None = None  # no more levels than this
    in_folds: bool = False  # whether each fold finds its directions from its own training rows
    # finds the first direction of those transformations that start with one, from rows, classes
    # and weights; None for the difference of the means
    first: FirstDirection | None = None
    scale: str | None = None  # {"standard", "robust", "minmax"}: what the features are divided by


class Grown(NamedTuple):
    """A tree, and what was found on the way to it."""

    tree: Tree
    classes: tuple[int, int]
    transformation: str
    directions: FloatArray  # (n_directions, n_features), those of the transformation
    accuracy: dict[str, float]  # of each transformation, in the internal cross-validation
    correct: FloatArray  # (n_nodes, n_folds), weight of test rows; NaN: no data
    total: FloatArray


def grow_pairs(
    problem: Problem, method: EigenTree, key: int = 0, n_threads: int = 1
) -> list[Grown]:
    """Grow a tree for each pair of classes that has rows."""
    n_classes = problem.n_classes
    if n_classes <= 2:
        return [grow_eigen_tree(problem, method, (0, n_classes - 1), key, n_threads)]
    pairs = [
        (a, b)
        for a in range(n_classes)
        for b in range(a + 1, n_classes)
        if ((problem.y == a) | (problem.y == b)).any()
    ]

    def one(pair: tuple[int, int]) -> Grown:
        part = problem.take((problem.y == pair[0]) | (problem.y == pair[1]))
        return grow_eigen_tree(part, method, pair, key, 1)

    if n_threads == 1:
        return [one(pair) for pair in pairs]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(one, pairs))


def grow_eigen_tree(
    problem: Problem,
    method: EigenTree | None = None,
    classes: tuple[int, int] = (0, 1),
    key: int = 0,
    n_threads: int = 1,
) -> Grown:
    """Grow the tree of two classes."""
    method = EigenTree() if method is None else method
    folded = _Folded(problem, method, classes, key)
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            # A single task needs no thread; a thread would make Ctrl-C wait.
            each = map if n_threads == 1 else pool.map
            tops = list(each(folded.top, method.transformations))
        except BaseException:
            folded.stop.set()
            raise
    scores = [score for score, _ in tops]
    best = scores.index(max(scores))
    name = method.transformations[best]
    calibrated = folded.calibrated(name, tops[best][1])
    correct, total = folded.evaluated(name, calibrated.first_child)
    columns = folded.whole_columns
    tree = as_tree(calibrated, problem, columns, folded.space, name, classes)
    judged = folded.total_weight * method.n_divisions
    accuracy = {
        known: score / judged for known, score in zip(method.transformations, scores, strict=True)
    }
    directions = np.array([d.dense(problem.n_features) for d in folded.space.directions[name]])
    return Grown(
        tree,
        classes,
        name,
        directions.reshape(-1, problem.n_features),
        accuracy,
        correct * problem.unit,
        total * problem.unit,
    )


class _Folded:
    """The rows in folds, and the directions of all rows or of each fold."""

    def __init__(
        self, problem: Problem, method: EigenTree, classes: tuple[int, int], key: int
    ) -> None:
        self.stop = Event()
        self.whole = problem
        self.whole_y = (problem.y != classes[0]).astype(np.int32)
        self.total_weight = problem.total_weight
        self.space = space_of(replace(problem, target=Classes(self.whole_y, 2)), method)
        self.whole_columns = read_columns(problem, self.space)
        seeds = [child_key(key & (2**64 - 1), k) for k in range(method.n_divisions)]
        cut, numbers = repeated_folds(problem, method.n_folds, seeds)
        self.weights = cut.weights
        self.y = (cut.y != classes[0]).astype(np.int32)
        self.numbers = np.ascontiguousarray(numbers, dtype=np.int32)
        self.folds = np.array(
            [(r, k) for r in range(method.n_divisions) for k in range(method.n_folds)],
            dtype=np.int32,
        )
        same = cut is problem
        columns = self.whole_columns if same else read_columns(cut, self.space)
        #: Which folds share their directions: the space, its columns, the folds.
        self.groups: list[tuple[Space, FloatArray, Int32Array]] = [
            (self.space, columns, self.folds)
        ]
        if method.in_folds:
            cut = replace(cut, target=Classes(self.y, 2))
            self.groups = [self._from_fold(cut, method, fold) for fold in self.folds]

    def _from_fold(
        self, cut: Problem, method: EigenTree, fold: Int32Array
    ) -> tuple[Space, FloatArray, Int32Array]:
        """Find the directions of one fold from its training rows."""
        training = self.numbers[:, fold[0]] != fold[1]
        if not training.any():  # there is one row: nothing can be divided
            training[:] = True
        space = space_of(cut.take(training), method)
        return space, read_columns(cut, space), fold[None]

    def top(self, name: str) -> tuple[int, Int32Array]:
        """Grow and evaluate all folds, and cut back: the correct weight, and the children."""
        trie = FoldTrie()
        for space, columns, folds in self.groups:
            self._run(
                FoldGrower(columns, self.y, self.weights, self.numbers, folds, trie),
                space.directions[name],
            )
        score, children, _ = trie.prune()
        return score, children

    def calibrated(self, name: str, children: Int32Array) -> Calibrated:
        """Find thresholds and class sums from all rows; cut back what says nothing new."""
        numbers = np.zeros((self.whole.n_rows, 1), dtype=np.int32)
        levels = FoldGrower(
            self.whole_columns,
            self.whole_y,
            self.whole.weights,
            numbers,
            NO_TESTS,
            FoldTrie(children),
        )
        self._run(levels, self.space.directions[name])
        counts, _, threshold, rows, _ = levels.per_fold()
        return Calibrated.of(children, threshold[:, 0], counts[:, 0], rows[:, 0])

    def evaluated(self, name: str, children: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return the correct weight and the whole weight of test rows, by node and fold."""
        correct, total = [], []
        for space, columns, folds in self.groups:
            levels = FoldGrower(
                columns, self.y, self.weights, self.numbers, folds, FoldTrie(children)
            )
            self._run(levels, space.directions[name])
            _, test, _, rows, label = levels.per_fold()
            right = np.take_along_axis(test, label[:, :, None].astype(np.int64), axis=2)[:, :, 0]
            correct.append(np.where(rows < 0, np.nan, right))
            total.append(np.where(rows < 0, np.nan, test.sum(axis=2)))
        return np.concatenate(correct, axis=1), np.concatenate(total, axis=1)

    def _run(self, levels: FoldGrower, directions: Sequence[Direction]) -> None:
        """Grow level by level, so that Ctrl-C is heard between them."""
        last = len(directions) - 1
        going = levels.begin(last >= 0)
        for level, direction in enumerate(directions):
            if not going or self.stop.is_set():
                break
            going = levels.step(direction.columns, direction.coef, direction.nothing, level < last)


# --- the result as a tree ------------------------------------------------------------------------


class Calibrated(NamedTuple):
    """The nodes of a finished tree, level by level."""

    first_child: Int32Array  # -1 for a leaf
    threshold: FloatArray
    counts: Int64Array  # (n_nodes, 2), class sums in grid units
    rows: Int64Array

    @classmethod
    def of(
        cls, children: Int32Array, threshold: FloatArray, counts: Int64Array, rows: Int64Array
    ) -> Calibrated:
        """Keep what the calibration has divided, and what does not say one class only."""
        child = np.where(np.isnan(threshold), -1, children).tolist()
        label = (counts[:, 1] > counts[:, 0]).tolist()
        for node in range(len(child) - 1, -1, -1):
            left = child[node]
            below = [] if left < 0 else [left, left + 1]
            if all(child[k] < 0 and label[k] == label[node] for k in below):
                child[node] = -1
        old, first_child = [0], []
        for node in old:  # grows on the way
            first_child.append(len(old) if child[node] >= 0 else -1)
            if child[node] >= 0:
                old += [child[node], child[node] + 1]
        return cls(np.array(first_child, dtype=np.int32), threshold[old], counts[old], rows[old])


def as_tree(
    nodes: Calibrated,
    problem: Problem,
    columns: FloatArray,
    space: Space,
    name: str,
    classes: tuple[int, int],
) -> Tree:
    """Make a tree over the original columns."""
    inner = nodes.first_child >= 0
    level = _levels(nodes.first_child)
    planes = [space.directions[name][k] for k in level[inner].tolist()]
    sizes = [len(plane.columns) for plane in planes]
    coef_idx = np.concatenate([np.empty(0, np.int32), *(plane.columns for plane in planes)])
    stats = np.zeros((len(inner), problem.n_classes))
    # With one class only, both codes are the same.
    for side, code in enumerate(classes):
        stats[:, code] += nodes.counts[:, side] * problem.unit
    tree = Tree(
        n_features=problem.n_features,
        kind=np.where(inner, NodeKind.HYPERPLANE, NodeKind.LEAF).astype(np.uint8),
        first_child=nodes.first_child,
        n_children=np.where(inner, 2, 0).astype(np.int32),
        plane_ptr=pointers(inner.astype(np.int64), np.int32),
        coef_ptr=pointers(sizes),
        coef_idx=coef_idx,
        coef=np.concatenate([np.empty(0), *(plane.coef for plane in planes)]),
        fill=problem.stand_ins[coef_idx],
        spread=np.full(len(coef_idx), np.nan),
        table_ptr=np.zeros(len(coef_idx) + 1, dtype=np.int64),
        table=np.empty(0),
        threshold=nodes.threshold[inner],
        stats=stats,
        n_samples=nodes.rows,
        gain=_gains(nodes),
        axis_gain=np.full(len(inner), np.nan),
        origin=np.where(inner, level, -1).astype(np.int32),
        origin_labels=tuple(f"{name}, direction {k + 1}" for k in range(level.max())),
    )
    # Measured on plain numbers, before levels get their tables.
    tree = measure_spread(tree, columns, problem.weights)
    return _with_tables(tree, space)


def _levels(first_child: Int32Array) -> Int64Array:
    level = np.zeros(len(first_child), dtype=np.int64)
    for node in np.flatnonzero(first_child >= 0).tolist():
        level[first_child[node] : first_child[node] + 2] = level[node] + 1
    return level


def _gains(nodes: Calibrated) -> FloatArray:
    """Return the decrease of Gini impurity of each split, times the share of its node."""
    gain = np.zeros(len(nodes.first_child))
    inner = np.flatnonzero(nodes.first_child >= 0)
    counts = nodes.counts.astype(np.float64)
    left, right = counts[nodes.first_child[inner]], counts[nodes.first_child[inner] + 1]
    apart = left[:, 0] * right[:, 1] - left[:, 1] * right[:, 0]
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    # 2 D^2 / (n^2 n_L n_R), times n / total.
    share = (n_left + n_right) / counts[0].sum()
    gain[inner] = 2 * share * (apart / (n_left + n_right)) ** 2 / (n_left * n_right)
    return gain


def _with_tables(tree: Tree, space: Space) -> Tree:
    """Give coefficients of coded columns their numbers of levels, and what stands in."""
    if space.coded is None:
        return tree
    terms = space.coded.terms(tree.coef_idx, tree.coef)
    fill = np.where(np.isnan(terms.fill), tree.fill, terms.fill)
    return replace(tree, fill=fill, table_ptr=pointers(terms.table_size), table=terms.table)
