"""What cross-validation decides: how many leaves, whether refinement pays, how sure leaves are.

With few rows, or few rows per column, a refined tree may be worse than the greedy one. So both are
tried on rows that were held out, and the better one is taken.

A refined tree has few, crowded leaves, but some leaves are small, and the rows in them were used
to draw the borders around them. So their frequencies are too sure of themselves, and may be drawn
to those of the nodes above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._typing import FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.prune.division import folds, hold_out
from obliqua.refine.descent import Watch
from obliqua.refine.recipe import Grower, Recipe, refine_only
from obliqua.tree.tree import Tree

__all__ = [
    "STRENGTHS",
    "SizeChoice",
    "best_strength",
    "choose",
    "divisions",
    "is_small",
    "sizes_up_to",
    "smoothed",
]

N_FOLDS = 5
#: With more rows than this, one division into rows to learn from and rows to try on is enough, if
#: each class has so many of them: a fifth of a rare class says little.
ONE_DIVISION, ONE_DIVISION_OF_CLASS = 20_000, 100
#: With at least so many rows, and so many for each weight of a hyperplane, refinement seldom
#: loses, and then little.
FEW_ROWS, FEW_PER_WEIGHT = 2_000, 100
#: Below so many rows, refinement must win by more than chance explains.
TINY = 1_000
#: The leaves of a tree for which there was no time to choose.
HURRIED = 8
#: Strengths among which calibration chooses: as how many rows the node above counts.
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_LEAST_SHARE = 1e-9
_EQUAL = 1e-12  # losses that differ by a smaller share
_PATIENCE = 3  # sizes in a row that are no better, after which larger ones are not tried

#: Grows the greedy tree that refinement is compared with: problem, most leaves or None.
Greedy = Callable[[Problem, int | None], Tree]


@dataclass(frozen=True)
class SizeChoice:
    """What was tried on held-out rows."""

    n_leaves: int  # the most leaves of the tree to be refined
    refined: bool  # whether refinement is better than the greedy tree, or was not compared with it
    sizes: Int64Array  # the numbers of leaves that were tried; empty if none were
    scores: FloatArray  # the accuracy of refined trees of these sizes
    greedy_score: float  # that of the greedy tree; NaN if it was not tried


def is_small(problem: Problem) -> bool:
    """Say whether there are so few rows that the greedy tree may be the better one."""
    # Each level of a qualitative column has a weight of its own, and so have gaps.
    weights = np.maximum(problem.n_levels, 1).sum() + problem.has_missing.sum()
    return bool(_n_rows(problem) < max(FEW_ROWS, FEW_PER_WEIGHT * int(weights)))


def _n_rows(problem: Problem) -> float:
    """Return the number of rows: one of weight 2 is two, where weights are whole numbers."""
    return problem.n_rows if problem.row_weights is None else float(problem.row_weights.sum())


def sizes_up_to(most: int) -> list[int]:
    """Return the numbers of leaves that are tried: 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, ..."""
    sizes = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32]
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return [size for size in sizes if size <= most] or [1]


def choose(
    problem: Problem,
    grower: Grower,
    greedy: Greedy | None,
    n_leaves: int | None,
    max_depth: int | None,
    recipe: Recipe,
    key: int,
    n_threads: int,
    watch: Watch,
) -> SizeChoice:
    """Choose the number of leaves, if none is given, and between refined and greedy."""
    nothing = np.empty(0, dtype=np.int64)
    if n_leaves is not None and greedy is None:
        return SizeChoice(n_leaves, True, nothing, np.empty(0), float("nan"))
    parts = divisions(problem, key)
    if not parts:  # a single row
        return SizeChoice(n_leaves or 1, True, nothing, np.empty(0), float("nan"))
    trials = _Trials(parts, grower, recipe, key, n_threads, watch)
    sizes = [n_leaves] if n_leaves is not None else sizes_up_to(_most_leaves(problem, max_depth))
    tried: list[FloatArray] = []
    best, worse = 0, 0
    for number, size in enumerate(sizes):
        if watch.is_up and tried:
            break
        tried.append(trials.refined(size))
        named = "a tree of 1 leaf" if size == 1 else f"refined trees of {size} leaves"
        watch.say(f"Tried {named}: {_share(trials.accuracy(tried[-1]))} right on held-out rows.")
        if tried[-1].sum() < tried[best].sum():
            best, worse = number, 0
        elif number and size > 4:
            worse += 1
            if worse == _PATIENCE:
                break
    scores = np.array([trials.accuracy(wrong) for wrong in tried])
    found = np.array(sizes[: len(tried)], dtype=np.int64)
    if n_leaves is None and watch.is_up and sizes[len(tried) - 1] < HURRIED:
        return SizeChoice(min(HURRIED, sizes[-1]), True, found, scores, float("nan"))
    if greedy is None or watch.is_up:
        return SizeChoice(int(found[best]), True, found, scores, float("nan"))
    plain = trials.greedy(greedy, n_leaves)
    refined = _is_better(tried[best], plain, tiny=_n_rows(problem) < TINY)
    won = "the refined trees are better"
    kept = won if refined else "the refined ones are not clearly better, so it is kept"
    watch.say(
        "Tried the greedy tree, pruned by cross-validation: "
        f"{_share(trials.accuracy(plain))} right on held-out rows; {kept}."
    )
    return SizeChoice(int(found[best]), refined, found, scores, trials.accuracy(plain))


def _share(accuracy: float) -> str:
    return f"{100 * accuracy:.1f} %"


def _is_better(refined: FloatArray, greedy: FloatArray, tiny: bool) -> bool:
    """Compare the weights of rows that were wrong, row by row."""
    won = greedy - refined
    if not tiny:
        return float(won.sum()) > 0.0
    # The difference of two paired counts, in its standard errors.
    return float(won.sum()) > sqrt(float((won * won).sum()))


def _most_leaves(problem: Problem, max_depth: int | None) -> int:
    """Return the most leaves that are worth trying: a handful of rows for each."""
    most = int(min(max(_n_rows(problem) // 20, 2), 512))
    return most if max_depth is None else min(most, 2 ** min(max_depth, 9))


def divisions(problem: Problem, key: int) -> list[tuple[Problem, Problem]]:
    """Return rows to learn from and rows to try on, several times if there are not many."""
    of_classes = np.bincount(problem.y, problem.row_weights, problem.n_classes)
    rarest = float(of_classes[of_classes > 0].min())
    if _n_rows(problem) > ONE_DIVISION and rarest >= ONE_DIVISION_OF_CLASS:
        whole, held = hold_out(problem, 1.0 / N_FOLDS, key)
        return [(whole.take(~held), whole.take(held))]
    whole, number = folds(problem, N_FOLDS, key)
    parts = [(whole.take(number != k), whole.take(number == k)) for k in range(N_FOLDS)]
    return [(train, test) for train, test in parts if train.n_rows and test.n_rows]


class _Trials:
    """Trees that are tried on rows that they were not grown from."""

    def __init__(
        self,
        divisions: list[tuple[Problem, Problem]],
        grower: Grower,
        recipe: Recipe,
        key: int,
        n_threads: int,
        watch: Watch,
    ) -> None:
        self.divisions = divisions
        self.grower, self.recipe = grower, recipe
        self.key, self.n_threads, self.watch = key, n_threads, watch
        self.weight = np.concatenate([_weights(test) for _, test in divisions])

    def accuracy(self, wrong: FloatArray) -> float:
        """Return the share of the weight that is right."""
        return 1.0 - float(wrong.sum() / self.weight.sum())

    def refined(self, n_leaves: int) -> FloatArray:
        """Return the weight of each row that refined trees have wrong, 0 if it is right."""

        def grown() -> Iterator[Tree]:
            for k, (train, _) in enumerate(self.divisions):
                tree = self.grower(train, n_leaves, 0)
                # The loss of trials is nobody's business, but they must mind the clock.
                watch = Watch()
                watch.end = self.watch.end
                yield refine_only(
                    tree,
                    train,
                    self.recipe.schedule,
                    self.recipe.max_features,
                    child_key(self.key, 2000 + k),
                    self.n_threads,
                    watch,
                )

        return self._wrong(grown())

    def greedy(self, greedy: Greedy, n_leaves: int | None) -> FloatArray:
        """Return the same for greedy trees."""
        return self._wrong(greedy(train, n_leaves) for train, _ in self.divisions)

    def _wrong(self, trees: Iterator[Tree]) -> FloatArray:
        parts = []
        for tree, (_, test) in zip(trees, self.divisions, strict=True):
            predicted = tree.stats[tree.apply(test.Z)].argmax(axis=1)
            parts.append(_weights(test) * (predicted != test.y))
        return np.concatenate(parts)


def _weights(problem: Problem) -> FloatArray:
    """Return the weights of rows as numbers."""
    if problem.weights is None:
        return np.ones(problem.n_rows)
    # Their scale means nothing; brought near 1 their squares can neither overflow nor vanish.
    return np.asarray(problem.weights / problem.weights.max())


# --- what leaves say of the classes --------------------------------------------------------------


def smoothed(tree: Tree, strength: float, row_unit: float = 1.0) -> Tree:
    """Draw the shares of each leaf to those of the node above it, and these to the next.

    With strength m, a node of n rows has the shares (n f + m s) / (n + m), where f are its
    frequencies and s the shares of its parent. The root has m rows with equal shares of all
    classes.
    """
    if strength == 0.0:
        return tree
    n_classes = tree.n_stats
    weight = tree.stats.sum(axis=1)
    counts = tree.stats * row_unit
    shares = np.empty_like(counts)
    for node in range(tree.n_nodes):  # parents stand before their children
        above = shares[tree.parent[node]] if node else np.full(n_classes, 1.0 / n_classes)
        shares[node] = (counts[node] + strength * above) / (counts[node].sum() + strength)
    stats = np.where(tree.is_leaf[:, None], shares * weight[:, None], 0.0)
    for node in range(tree.n_nodes - 1, 0, -1):
        stats[tree.parent[node]] += stats[node]
    return replace(tree, stats=stats)


def best_strength(
    grow: Callable[[Problem], Tree],
    parts: Iterable[tuple[Problem, Problem]],
    row_unit: float = 1.0,
) -> float:
    """Choose the strength of smoothing by log loss on rows that trees were not grown from."""
    losses = np.zeros(len(STRENGTHS))
    for train, test in parts:
        tree = grow(train)
        leaf = tree.apply(test.Z)
        weights = np.ones(test.n_rows) if test.weights is None else test.weights * test.unit
        for k, strength in enumerate(STRENGTHS):
            shares = smoothed(tree, strength, row_unit).proportion[leaf, test.y]
            # A share of 0 for what happens would cost infinitely much: no row costs more than
            # this.
            losses[k] -= (weights * np.log(np.maximum(shares, _LEAST_SHARE))).sum()
    # The last digits of a logarithm depend on the processor: they tell nobody apart.
    return STRENGTHS[int(np.argmax(losses <= losses.min() * (1.0 + _EQUAL)))]
