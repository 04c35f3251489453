"""2C-ETCT (De Bruyne and Plastria): trees along the directions of eigen transformations.

A transformation gives an ordered list of directions, and level k of a tree splits along direction
k. So all trees of a transformation are cut-back versions of one, and a cross-validation inside the
training rows says how far to cut it back. It also says which transformation is best. The tree that
is left gets its thresholds from all rows.

Growing, evaluating and cutting back is compiled (`_core/methods/fold_trees.pyx`); here stands what
is done in which order, and how the result becomes a `Tree`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import NamedTuple

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._core.methods.fold_trees import FoldGrower, FoldTrie
from obliqua._typing import FloatArray, Int32Array
from obliqua.data.problem import Problem
from obliqua.methods._eigen_space import Direction, FirstDirection, Space, read_columns, space_of
from obliqua.methods._eigen_transforms import DEFAULT
from obliqua.methods._eigen_trees import Calibrated, as_tree
from obliqua.prune.division import repeated_folds, take
from obliqua.tree.tree import Tree

__all__ = ["EigenTree", "Grown", "grow_eigen_tree", "grow_pairs"]

NO_TESTS = np.array([[0, -1]], dtype=np.int32)


@dataclass(frozen=True)
class EigenTree:
    """How trees are grown.

    Parameters
    ----------
    transformations : tuple of str
        Names, in the order in which ties between them are settled.
    n_divisions : int
        How often the rows are divided into folds.
    n_folds : int
        Into how many.
    max_depth : int or None
        No more levels than this.
    in_folds : bool
        Whether each fold finds its directions from its own training rows.
    first : callable or None
        Finds the first direction of those transformations that start with one, from rows,
        classes and weights; None for the difference of the means.
    scale : {"standard", "robust", "minmax"} or None
        What the features are divided by.
    """

    transformations: tuple[str, ...] = DEFAULT
    n_divisions: int = 2
    n_folds: int = 5
    max_depth: int | None = None
    in_folds: bool = False
    first: FirstDirection | None = None
    scale: str | None = None


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
        part = take(problem, (problem.y == pair[0]) | (problem.y == pair[1]))
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
        self.space = space_of(replace(problem, y=self.whole_y, n_classes=2), method)
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
            cut = replace(cut, y=self.y, n_classes=2)
            self.groups = [self._own(cut, method, fold) for fold in self.folds]

    def _own(
        self, cut: Problem, method: EigenTree, fold: Int32Array
    ) -> tuple[Space, FloatArray, Int32Array]:
        """Find the directions of one fold from its training rows."""
        training = self.numbers[:, fold[0]] != fold[1]
        if not training.any():  # there is one row: nothing can be divided
            training[:] = True
        space = space_of(take(cut, training), method)
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
