"""What cross-validation decides: how many leaves, how strong a decay, whether refinement pays.

One descent on each division of the rows gives trees of many sizes, see `nested`. Large sizes are
tried only where smaller ones leave something to learn, and other decays only up to the best size.
The size of the fewest errors is taken, and of the decays that held-out rows can hardly tell apart
there the strongest. Where labels are noisy or rows few, a refined tree may still be worse than the
greedy one, or than one of splits along single features; so these are tried on the same rows: one
tree for each division, all pruned at the price per leaf that is best for them.

A refined tree has few, crowded leaves, but some leaves are small, and the rows in them were used
to draw the borders around them. So their frequencies are too sure of themselves, and may be drawn
to those of the nodes above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import NamedTuple

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._typing import FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.threads import each
from obliqua.prune.cost_complexity import prune_alike
from obliqua.prune.division import folds, hold_out
from obliqua.refine.descent import Watch
from obliqua.refine.nested import nested_trees
from obliqua.refine.recipe import Recipe
from obliqua.tree.tree import Tree

__all__ = [
    "STRENGTHS",
    "SizeChoice",
    "best_strength",
    "choose",
    "divisions",
    "is_small",
    "may_be_axis_parallel",
    "sizes_up_to",
    "smoothed",
    "training_error",
]

N_FOLDS = 5
SOME_FOLDS = 3
#: With more rows than this, one division into rows to learn from and rows to try on is enough, if
#: each class has so many of them: a fifth of a rare class says little.
ONE_DIVISION, ONE_DIVISION_OF_CLASS = 20_000, 100
#: With at least so many rows, and so many for each weight of a hyperplane, some of the folds are
#: enough, and the usual decay serves well.
FEW_ROWS, FEW_PER_WEIGHT = 3_000, 100
#: With fewer rows for each weight luck finds splits along single features that look good, here on
#: held-out rows, too: refined trees lose to them what is noise.
AXIS_PER_WEIGHT = 10
#: How much hyperplanes may be drawn to 0 where rows are few: below `TINY` rows, and with more.
TINY = 1_000
TINY_DECAYS, FEW_DECAYS = (0.01, 0.1, 0.3, 1.0), (0.001, 0.01, 0.1)
#: Errors that differ by less than so many standard errors are as good as equal: of decays the
#: strongest is taken then if the size is chosen, and where rows are many no larger trees are
#: tried. A given size is mostly larger than rows call for, and trials say too soon that it is. A
#: greedy tree that is kept is pruned so far, which was set after noise had kept 426 leaves: the
#: nine small sets of `benchmarks.small_trees` lose nothing by it, with 1 about two thousandths.
EQUAL_WITHIN = 0.5
#: Other decays are tried with sizes up to the best with the usual one, or up to this.
DECAY_LEAVES = 8
#: The leaves of a tree for which there was no time to choose.
HURRIED = 8
#: Sizes up to these are tried together. Larger ones follow if the best is above half of them.
STAGES = (16, 64, 256, 512)
#: Strengths among which calibration chooses: as how many rows the node above counts.
STRENGTHS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
_LEAST_SHARE = 1e-9
_EQUAL = 1e-12  # losses that differ by a smaller share
_NAN = float("nan")

#: Grows a tree: problem, most leaves or None for no limit, depth of its root.
Grower = Callable[[Problem, int | None, int], Tree]


@dataclass(frozen=True)
class SizeChoice:
    """What was tried on held-out rows."""

    n_leaves: int  # the most leaves of the tree to be refined
    kind: str  # "refined", or the kind of greedy tree that is better on held-out rows
    sizes: Int64Array  # the numbers of leaves that were tried; empty if none were
    scores: FloatArray  # the accuracy of refined trees of these sizes, with their best decay
    greedy_score: float  # that of the best greedy tree; NaN if none was tried
    decay: float | None = None  # how much hyperplanes are drawn to 0; None: as a schedule says
    usual: float | None = None  # the decay that was tried first
    error: float = 1.0  # the share of held-out rows that the chosen refined trees have wrong


def is_small(problem: Problem) -> bool:
    """Say whether there are few rows, for themselves or for the weights of a hyperplane."""
    return _n_rows(problem) < max(FEW_ROWS, FEW_PER_WEIGHT * _n_weights(problem))


def may_be_axis_parallel(problem: Problem) -> bool:
    """Say whether a tree of splits along single features is worth trying."""
    return is_small(problem) and _n_rows(problem) >= AXIS_PER_WEIGHT * _n_weights(problem)


def _n_weights(problem: Problem) -> int:
    """Return the weights of a hyperplane: each level of a qualitative column has its own."""
    return int(np.maximum(problem.n_levels, 1).sum() + problem.has_missing.sum())


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
    rivals: Mapping[str, Grower],
    n_leaves: int | None,
    max_depth: int | None,
    recipe: Recipe,
    key: int,
    n_threads: int,
    watch: Watch,
    n_folds: int | None = None,
    n_se: float = 0.0,
) -> SizeChoice:
    """Choose the number of leaves, if none is given, the decay, and between refined and greedy.

    `rivals`: what grows the greedy trees that are compared with, by kind. `n_folds`: None divides
    rows as their number says. `n_se`: of sizes that are no worse than the best by more than so
    many standard errors the smallest is taken.
    """
    nothing = SizeChoice(n_leaves or 1, "refined", np.empty(0, dtype=np.int64), np.empty(0), _NAN)
    if n_leaves is not None and not rivals:
        return nothing
    parts = divisions(problem, key, n_folds)
    if not parts:  # a single row
        return nothing
    small = is_small(problem)
    parts = parts if small or n_folds is not None else parts[:SOME_FOLDS]
    trials = _Trials(parts, grower, recipe, key, n_threads, watch)
    sizes = [n_leaves] if n_leaves is not None else sizes_up_to(_most_leaves(problem, max_depth))
    usual, *others = _decays(problem)
    if n_leaves is None:
        trials.try_sizes(sizes, usual, small)
    else:
        trials.try_together(sizes, usual)
    largest = max(setting.n_leaves for setting in trials.wrong)
    if n_leaves is None and watch.is_up and largest < min(HURRIED, sizes[-1]):
        return SizeChoice(min(HURRIED, sizes[-1]), "refined", *trials.scores(), _NAN)
    most = max(trials.best_size(0.0), min(DECAY_LEAVES, sizes[-1]), sizes[0])
    for decay in others:
        trials.try_together([size for size in sizes if 1 < size <= most], decay)
    within = EQUAL_WITHIN if n_leaves is None else 0.0
    best = trials.best(within, n_se)
    # Rivals have to be better than refined trees can be: who wants a smaller one wants no rival.
    kind, least, greedy_score = "refined", trials.wrong[trials.best(within)], _NAN
    for rival, of_rival in rivals.items():
        if watch.is_up:
            break
        wrong = trials.greedy(of_rival, n_leaves)
        score = trials.accuracy(wrong)
        greedy_score = score if np.isnan(greedy_score) else max(greedy_score, score)
        if _is_worse(least, wrong, 0.0):
            kind, least = rival, wrong
        watch.say(f"Tried the {rival} tree, pruned: {_share(score)} right on held-out rows.")
    if not np.isnan(greedy_score):
        watch.say(f"The {kind} tree is kept.")
    error = 1.0 - trials.accuracy(trials.wrong[best])
    sizes_tried, scores = trials.scores()
    return SizeChoice(
        best.n_leaves, kind, sizes_tried, scores, greedy_score, best.decay, usual, error
    )


def training_error(tree: Tree) -> float:
    """Return the share of the weight of its own rows that a tree has wrong."""
    of_leaves = tree.stats[tree.is_leaf]
    return 1.0 - float(of_leaves.max(axis=1).sum() / of_leaves.sum())


def _decays(problem: Problem) -> tuple[float | None, ...]:
    """Return the usual decay, and others where rows are few."""
    if not is_small(problem):
        return (None,)
    return TINY_DECAYS if _n_rows(problem) < TINY else FEW_DECAYS


def _share(accuracy: float) -> str:
    return f"{100 * accuracy:.1f} %"


def _most_leaves(problem: Problem, max_depth: int | None) -> int:
    """Return the most leaves that are worth trying: a handful of rows for each."""
    most = int(min(max(_n_rows(problem) // 20, 2), 512))
    return most if max_depth is None else min(most, 2 ** min(max_depth, 9))


def divisions(
    problem: Problem, key: int, n_folds: int | None = None
) -> list[tuple[Problem, Problem]]:
    """Return rows to learn from and rows to try on, several times if there are not many.

    Equal rows stay together: a tree that was grown from one knows the other.
    """
    of_classes = np.bincount(problem.y, problem.row_weights, problem.n_classes)
    rarest = float(of_classes[of_classes > 0].min())
    many = _n_rows(problem) > ONE_DIVISION and rarest >= ONE_DIVISION_OF_CLASS
    if n_folds is None and many:
        whole, held = hold_out(problem, 1.0 / N_FOLDS, key, together=True)
        return [(whole.take(~held), whole.take(held))]
    whole, number = folds(problem, n_folds or N_FOLDS, key, together=True)
    used = np.unique(number).tolist()
    parts = [(whole.take(number != k), whole.take(number == k)) for k in used]
    return [(train, test) for train, test in parts if train.n_rows and test.n_rows]


class _Setting(NamedTuple):
    """What refined trees are like."""

    n_leaves: int
    decay: float | None

    def __str__(self) -> str:
        if self.n_leaves == 1:
            return "a tree of 1 leaf"
        decay = "" if self.decay is None else f", decay {self.decay:g}"
        return f"refined trees of {self.n_leaves} leaves{decay}"


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
        self.weights = _comparable([test for _, test in divisions])
        self.weight = np.concatenate(self.weights)
        #: The weight of each row that refined trees have wrong, 0 if it is right.
        self.wrong: dict[_Setting, FloatArray] = {}

    def accuracy(self, wrong: FloatArray) -> float:
        """Return the share of the weight that is right."""
        return 1.0 - _total(wrong) / float(self.weight.sum())

    def try_sizes(self, sizes: Sequence[int], decay: float | None, small: bool) -> None:
        """Try sizes, the large ones only if the best of the smaller ones is not far below them."""
        within = 0.0 if small else EQUAL_WITHIN
        self.try_together([size for size in sizes if size == 1], decay)
        done = 1
        for most in (*STAGES, sizes[-1]):
            self.try_together([size for size in sizes if done < size <= most], decay)
            if most >= sizes[-1] or self.watch.is_up or 2 * self.best_size(within) <= most:
                break
            done = most

    def try_together(self, sizes: Sequence[int], decay: float | None) -> None:
        """Try trees of several sizes that come from one descent on each division."""
        if not sizes or (self.watch.is_up and self.wrong):
            return
        recipe = self.recipe.with_decay(decay)
        # The loss of trials is nobody's business, but they must mind the clock.
        watch = Watch()
        watch.end = self.watch.end

        def trees(k: int) -> list[Tree]:
            train, key = self.divisions[k][0], child_key(self.key, 2000 + k)
            if sizes[-1] == 1:
                return [self.grower(train, 1, 0)]
            return nested_trees(train, self.grower, sizes[::-1], recipe, key, 1, watch)[::-1]

        of_divisions = each(trees, range(len(self.divisions)), self.n_threads)
        for size, *some in zip(sizes, *of_divisions, strict=True):
            setting = _Setting(size, decay)
            self.wrong[setting] = self._wrong(some)
            share = _share(self.accuracy(self.wrong[setting]))
            self.watch.say(f"Tried {setting}: {share} right on held-out rows.")

    def greedy(self, grower: Grower, n_leaves: int | None) -> FloatArray:
        """Return the weight of each row that greedy trees have wrong, pruned at the best price."""
        grown = [grower(train, n_leaves, 0) for train, _ in self.divisions]
        return self._wrong(prune_alike(grown, [test for _, test in self.divisions]))

    def best_size(self, within: float) -> int:
        """Return the fewest leaves as good as the best, within so many standard errors."""
        least = min(self.wrong.values(), key=_total)
        return min(
            setting.n_leaves
            for setting, wrong in self.wrong.items()
            if not _is_worse(wrong, least, within)
        )

    def best(self, within: float, n_se: float = 0.0) -> _Setting:
        """Return the setting of the fewest errors; of decays that are as good the strongest.

        Some standard errors more are as good, too; so many of a size are `n_se`.
        """
        size = self.best_size(n_se)
        some = {
            setting: wrong for setting, wrong in self.wrong.items() if setting.n_leaves == size
        }
        least = min(some.values(), key=_total)
        equal = [setting for setting, wrong in some.items() if not _is_worse(wrong, least, within)]
        return max(equal, key=lambda setting: setting.decay or 0.0)

    def scores(self) -> tuple[Int64Array, FloatArray]:
        """Return the sizes that were tried, and the accuracy of each with its best decay."""
        found: dict[int, float] = {}
        for setting, wrong in self.wrong.items():
            score = self.accuracy(wrong)
            found[setting.n_leaves] = max(found.get(setting.n_leaves, 0.0), score)
        sizes = sorted(found)
        return np.array(sizes, dtype=np.int64), np.array([found[size] for size in sizes])

    def _wrong(self, trees: Sequence[Tree]) -> FloatArray:
        parts = []
        for tree, (_, test), weight in zip(trees, self.divisions, self.weights, strict=True):
            predicted = tree.stats[tree.apply(test.Z)].argmax(axis=1)
            parts.append(weight * (predicted != test.y))
        return np.concatenate(parts)


def _is_worse(wrong: FloatArray, least: FloatArray, within: float) -> bool:
    """Whether errors are more than others, row by row, by so many standard errors."""
    more = wrong - least
    return _total(more) > within * sqrt(fsum((more * more).tolist()))


def _total(wrong: FloatArray) -> float:
    """Return the sum, whatever the order of the rows."""
    return fsum(wrong.tolist())


def _comparable(problems: Sequence[Problem]) -> list[FloatArray]:
    """Return the weights of the rows of several problems as numbers of one scale."""
    weights = [
        np.ones(problem.n_rows) if problem.weights is None else problem.weights.astype(np.float64)
        for problem in problems
    ]
    # Their scale means nothing; brought near 1 their squares can neither overflow nor vanish. A
    # power of two leaves their sums exact, in whatever order the rows came.
    scale = -int(np.frexp(max(float(of.max()) for of in weights))[1])
    return [np.ldexp(of, scale) for of in weights]


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
