"""`gram`: exact inner products of the trees of any axis-parallel ensemble."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from obliqua._core.forest.overlaps import PackedForest
from obliqua._typing import AnyArray, BoolArray, FloatArray, Int32Array, Int64Array
from obliqua.errors import TreeError
from obliqua.spectrum import _checks
from obliqua.spectrum.domain import INTERVALS, Domain, branches_of, cut_of, split_column
from obliqua.spectrum.ensembles import BLOCK, TreeSum, tree_sum_of
from obliqua.spectrum.measures import EMPIRICAL, UNIFORM, Measure, check_name, measure_of, rows_for
from obliqua.tree.from_sklearn import BEYOND
from obliqua.tree.layout import MissingSide, NodeKind
from obliqua.tree.tree import Tree

__all__ = ["gram"]


def gram(
    ensemble: Any,
    measure: str | Measure = UNIFORM,
    X: Any = None,
    *,
    values: str = "auto",
    n_threads: int = 1,
) -> FloatArray:
    """Find the inner products of the trees of an ensemble, as functions.

    The inner product of two trees is the mean of the product of what they say, added up over
    their outputs (classes).

    Parameters
    ----------
    ensemble : estimator, Model, Tree, sequence of Tree or TreeSum
        A fitted forest, bagging, AdaBoost or boosting of scikit-learn, an estimator of obliqua, or
        trees; see `tree_sum_of`.
    measure : {"uniform", "marginals", "empirical"} or Measure, default="uniform"
        Over which points the mean is taken. ``"uniform"``: the cells of the grid that all
        thresholds of the ensemble make, each cell counting the same; levels of a qualitative
        column count the same, and nothing is missing. ``"marginals"``: each column is distributed
        as in `X`, missing values included, and independent of the others. ``"empirical"``: the
        rows of `X`.
    X : array-like of shape (n_rows, n_features), default=None
        The rows, for the last two.
    values : {"auto", "votes", "shares"}, default="auto"
        What a tree that classifies says: see `tree_sum_of`. Forests and bagging say shares of
        classes, AdaBoost votes, trees of boosting the values of their leaves times the learning
        rate. The weights of the trees in the ensemble are no part of it.
    n_threads : int, default=1
        How many threads may share the work. The result is the same to the bit for any number,
        but for ``"empirical"``, where it is up to the library that multiplies matrices.

    Returns
    -------
    ndarray of shape (n_trees, n_trees)
        The inner products: symmetric, positive semi-definite but for rounding.

    Raises
    ------
    TreeError
        If a split asks about several columns, but for ``"empirical"``, which takes any tree.

    See Also
    --------
    obliqua.spectrum.diagnose : What these numbers say of the ensemble.

    Notes
    -----
    Nothing is sampled and no domain is enumerated: two trees are walked down together, and the box
    of points that reach a pair of nodes is divided at each split. In the worst case that takes
    a step per pair of leaves that overlap, and there is no step below nodes about whose
    features the other tree has nothing to say. The memory is about 150 bytes and 16 per
    output for each node of the ensemble, 8 for each threshold, and 8 for each pair of trees;
    ``"empirical"`` holds at most ``2**22`` numbers at a time beside the pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from obliqua import CartClassifier
    >>> from obliqua.spectrum import gram
    >>> X, y = load_iris(return_X_y=True)
    >>> grown = CartClassifier(pruning=None)
    >>> trees = [grown.set_params(max_depth=d).fit(X, y).tree_ for d in (1, 2, 3)]
    >>> gram(trees).round(3)
    array([[0.625, 0.625, 0.625],
           [0.625, 0.921, 0.845],
           [0.625, 0.845, 0.879]])
    >>> gram(trees, "empirical", X).round(3)
    array([[0.667, 0.667, 0.667],
           [0.667, 0.926, 0.926],
           [0.667, 0.926, 0.96 ]])
    """
    trees = tree_sum_of(ensemble, values)
    n_threads = _checks.checked_count("n_threads", n_threads)
    if not isinstance(measure, Measure):
        check_name(measure)
        if measure == EMPIRICAL:
            covariance, means = empirical_moments(trees, rows_for(trees, measure, X), n_threads)
            return np.asarray(covariance + means @ means.T)
    return gram_of_boxes(packed(trees, measure_of(trees, measure, X)), n_threads)


def empirical_moments(
    trees: TreeSum, Z: AnyArray, n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """Return the covariances of the trees over rows, and the mean of each tree over them."""
    if len(Z) == 0:
        raise ValueError("measure='empirical' needs at least one row; got none.")
    check_values(trees)
    n, n_outputs = trees.n_trees, trees.n_outputs
    # What is said of the first row is taken from all, so that a large mean costs no digits.
    first = trees.tree_values(Z[:1])[0]
    total, sums = np.zeros((n, n)), np.zeros((n, n_outputs))
    step = max(1, BLOCK // (n * n_outputs))
    for start in range(0, len(Z), step):
        part = trees.tree_values(Z[start : start + step], n_threads) - first
        sums += part.sum(axis=0).T
        flat = part.reshape(-1, n)
        total += flat.T @ flat
    means = sums / len(Z)
    total /= len(Z)
    return (total + total.T) / 2 - means @ means.T, means + first.T


def gram_of_boxes(
    trees: Packed, n_threads: int = 1, feature: int = -1, apart: bool = False
) -> FloatArray:
    """Return the inner products of packed trees; each is found by one thread."""
    n = len(trees.roots) - 1
    found = np.empty((n, n))

    def row(i: int) -> None:
        others = np.arange(i, n)
        products = np.empty(len(others))
        first = np.full(len(others), i)
        trees.forest.products(trees.value, first, others, products, feature, apart)
        found[i, i:] = products
        found[i:, i] = products

    if n_threads == 1:
        for i in range(n):
            row(i)
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(row, range(n)))
    return found


# Nodes have numbers of 32 bits.
_MOST_NODES = 2**31 - 1
# Products of such numbers, and sums of many of them, are finite.
_LARGEST_VALUE = 1e145
_NOTHING = np.zeros(1, dtype=np.int32)


# --- trees and a measure in flat arrays ---------------------------------------------------------


class Nodes(NamedTuple):
    """Flat arrays with an entry per node; see `obliqua._core.forest.overlaps.PackedForest`."""

    slot: Int32Array
    cut: Int32Array
    children: Int32Array
    table_ptr: Int64Array
    table: Int32Array


@dataclass(frozen=True, eq=False)
class Packed:
    """Trees and a measure in the flat arrays that the compiled overlaps read."""

    nodes: Nodes
    forest: PackedForest
    value: FloatArray  # by node and output: what the trees say in leaves; means in inner nodes
    mass: FloatArray  # how likely each node is reached
    roots: Int64Array  # where the nodes of each tree start, and the end of the last

    def centred(self) -> tuple[Packed, FloatArray]:
        """Return the trees without their means, and the means.

        What all leaves of a tree have in common is taken away first, so that a mean which is large
        beside the variance costs no digits, and a tree that says the same everywhere says 0.
        """
        reached = np.flatnonzero((self.nodes.slot < 0) & (self.mass > 0))
        first = reached[np.searchsorted(reached, self.roots[:-1])]
        counts = np.diff(self.roots)
        value = self.value - np.repeat(self.value[first], counts, axis=0)
        self.forest.fill_means(self.mass, value)
        rest = value[self.roots[:-1]].copy()
        value -= np.repeat(rest, counts, axis=0)
        return replace(self, value=value), self.value[first] + rest

    def only(self, leaves: Int64Array) -> Packed:
        """Return the trees with the value 0 in all leaves but some."""
        value = np.zeros_like(self.value)
        value[leaves] = self.value[leaves]
        self.forest.fill_means(self.mass, value)
        return replace(self, value=value)


def check_values(trees: TreeSum) -> None:
    """Raise if products of what the trees say are beyond all numbers."""
    largest = max(float(np.abs(value).max(initial=0.0)) for value in trees.values)
    if not largest <= _LARGEST_VALUE:
        raise ValueError(
            f"The trees say numbers as large as {largest:g}, whose products are beyond what a "
            f"float holds; at most {_LARGEST_VALUE:g} can be multiplied. Fit the ensemble to "
            "smaller targets, in another unit."
        )


def packed(trees: TreeSum, measure: Measure) -> Packed:
    """Put trees and a measure into flat arrays."""
    check_values(trees)
    roots = np.cumsum([0, *(tree.n_nodes for tree in trees.trees)])
    if roots[-1] > _MOST_NODES:
        raise ValueError(f"All trees together have {roots[-1]} nodes; at most {_MOST_NODES} fit.")
    sets = np.array([feature.kind != INTERVALS for feature in measure.domain.features])
    parts = [
        _TreeArrays.of(number, tree, measure, sets, int(root))
        for number, (tree, root) in enumerate(zip(trees.trees, roots, strict=False))
    ]
    level_ptr, sums, gaps = _levels(measure, sets)
    value = np.array(np.concatenate(trees.values), dtype=np.float64, order="C")
    lengths = np.concatenate([part.lengths for part in parts])
    nodes = Nodes(
        np.concatenate([part.slot for part in parts]),
        np.concatenate([part.cut for part in parts]),
        np.concatenate([part.children for part in parts]),
        np.cumsum(lengths) - lengths,
        np.concatenate([*(table for part in parts for table in part.tables), _NOTHING]),
    )
    forest = PackedForest(
        *nodes,
        roots[:-1],
        np.array([tree.depth for tree in trees.trees], dtype=np.int64),
        sets.astype(np.uint8),
        level_ptr,
        sums,
        gaps,
    )
    mass = forest.reach()
    forest.fill_means(mass, value)
    return Packed(nodes, forest, value, mass, roots)


def _levels(measure: Measure, sets: BoolArray) -> tuple[Int64Array, FloatArray, FloatArray]:
    """Return where the levels of each feature start, their weights, and those of gaps.

    Numeric features have running sums of weights; others have what is unseen and missing as two
    more levels.
    """
    parts = [
        measure.all_weights(f)
        if is_set
        else np.concatenate([[0.0], np.cumsum(measure.weights[f])])
        for f, is_set in enumerate(sets.tolist())
    ]
    level_ptr = np.cumsum([0, *(len(part) for part in parts)])
    return level_ptr, np.concatenate([*parts, np.zeros(1)]), np.where(sets, 0.0, measure.missing)


@dataclass(eq=False)
class _TreeArrays:
    """The nodes of one tree; see `obliqua._core.forest.overlaps.PackedForest`."""

    slot: Int32Array
    cut: Int32Array
    children: Int32Array
    lengths: Int64Array
    tables: list[Int32Array]

    @classmethod
    def of(
        cls, number: int, tree: Tree, measure: Measure, sets: BoolArray, root: int
    ) -> _TreeArrays:
        n = tree.n_nodes
        new = cls(
            np.full(n, -1, dtype=np.int32),
            np.zeros(n, dtype=np.int32),
            np.zeros((n, 3), dtype=np.int32),
            np.zeros(n, dtype=np.int64),
            [],
        )
        nodes = np.flatnonzero(~tree.is_leaf)
        if len(tree.coef) == tree.n_planes:
            k = tree.plane_ptr[nodes].astype(np.int64)
        else:
            k = np.array([split_column(tree, node) for node in nodes.tolist()], dtype=np.int64)
        new.slot[nodes] = tree.coef_idx[k]
        is_set = sets[tree.coef_idx[k]]
        new._add_cuts(number, tree, measure, nodes[~is_set], k[~is_set])
        for node, at in zip(nodes[is_set].tolist(), k[is_set].tolist(), strict=True):
            new._add_set(number, tree, measure, node, at)
        new.children[nodes, 0] += root
        new.children[nodes[~is_set], 1:] += root
        return new

    def _add_cuts(
        self, number: int, tree: Tree, measure: Measure, nodes: Int64Array, k: Int64Array
    ) -> None:
        """Fill in splits of numeric columns."""
        threshold, factor = tree.threshold[tree.plane_ptr[nodes]], tree.coef[k]
        cut = np.where(threshold >= BEYOND, np.inf, threshold)
        for place in np.flatnonzero((factor != 1.0) | (tree.table_ptr[k + 1] > tree.table_ptr[k])):
            # It raises if there is a table of levels.
            branches_of(tree, int(nodes[place]), measure.domain)
            cut[place] = cut_of(tree, int(nodes[place]), int(k[place]))
        for column in np.unique(tree.coef_idx[k]).tolist():
            there = tree.coef_idx[k] == column
            self.cut[nodes[there]] = _lower_levels(number, measure.domain, column, cut[there])
        right = factor < 0  # whether the lower side is the right child
        with np.errstate(over="ignore"):
            filled = factor * tree.fill[k]
        side = tree.missing_side[tree.plane_ptr[nodes]]
        lost = np.isnan(filled) & (side == 0) & (measure.missing[tree.coef_idx[k]] > 0)
        if lost.any():
            raise _no_way(number, int(nodes[np.argmax(lost)]), measure, tree, k[np.argmax(lost)])
        first = tree.first_child[nodes]
        self.children[nodes, 0] = first + right
        self.children[nodes, 1] = first + ~right
        self.children[nodes, 2] = first + np.where(
            side, side == MissingSide.RIGHT, filled > threshold
        )

    def _add_set(self, number: int, tree: Tree, measure: Measure, node: int, k: int) -> None:
        """Fill in a split of levels: the branch of each, of others and of what is missing."""
        column, branches = branches_of(tree, node, measure.domain)
        threshold, factor = float(tree.threshold[tree.plane_ptr[node]]), float(tree.coef[k])
        fill, side = float(tree.fill[k]), int(tree.missing_side[tree.plane_ptr[node]])
        if np.isnan(fill) and not side and measure.missing[column] > 0:
            raise _no_way(number, node, measure, tree, k)
        if tree.kind[node] == NodeKind.LEVELS:
            unseen, missing = int(threshold), 0 if np.isnan(fill) else int(fill)
        else:
            # A level outside a table counts 0; without one, its code is -1.
            outside = 0.0 if tree.table_ptr[k + 1] > tree.table_ptr[k] else -1.0
            unseen, missing = int(factor * outside > threshold), int(factor * fill > threshold)
        missing = side - 1 if side else missing
        table = np.array([*branches, unseen, missing], dtype=np.int32)
        self.tables.append(table)
        self.lengths[node] = len(table)
        self.cut[node] = -1
        self.children[node] = tree.first_child[node], tree.n_children[node], 0


def _lower_levels(number: int, domain: Domain, column: int, cut: FloatArray) -> Int64Array:
    """Return how many intervals of a feature lie below each cut."""
    feature = domain.features[column]
    thresholds = feature.numbers
    place = np.searchsorted(thresholds, cut)
    known = np.append(thresholds, np.nan)[place] == cut
    wrong = np.isfinite(cut) & ~known
    if wrong.any():
        raise TreeError(
            f"Tree {number} cuts {feature.name!r} at {float(cut[np.argmax(wrong)])!r}, inside an "
            "interval of the measure. Make the measure of all trees that it is for."
        )
    # No number is below a cut at -inf, and none above one at inf.
    return np.where(np.isfinite(cut), place + 1, np.where(cut > 0, feature.cardinality, 0))


def _no_way(number: int, node: int, measure: Measure, tree: Tree, k: int) -> TreeError:
    name = measure.domain.names[int(tree.coef_idx[k])]
    return TreeError(
        f"In the measure {name!r} may be missing, and node {node} of tree {number} has nothing "
        "for a missing value. Give rows without missing values there, or measure='uniform'."
    )
