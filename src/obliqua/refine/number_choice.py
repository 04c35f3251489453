"""What cross-validation decides where numbers are learnt: the kind of tree, and how many leaves.

Greedy trees are grown from a part of the rows, best first, so that one tree has all smaller ones
in it; each size is judged by the other rows. Some sizes are refined, and judged too. What leaves
say, how it is fitted, and the size are those of the least squared error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._typing import FloatArray, Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import Numbers
from obliqua.engine.linear_leaves import LeafFit, smoothed_leaves, smoothings_of
from obliqua.prune.cost_complexity import NestedTrees, beginnings
from obliqua.prune.division import trials
from obliqua.prune.reduced_error import node_errors
from obliqua.refine.descent import Watch
from obliqua.refine.recipe import Grower, Recipe, refine_only, refined_tree
from obliqua.tree.tree import Tree

__all__ = ["NumberChoice", "TriedTree", "choose_numbers"]

#: The numbers of leaves of greedy trees that are judged, as far as they go.
GREEDY_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
#: Refined trees are shrunk too, to be judged, if their error is at most so many times the least.
NEARLY = 1.1
_EQUAL = 1e-12  # errors that differ by a smaller share

#: Makes what grows greedy trees: (whether oblique, how leaves are fitted) -> Grower.
GrowerOf = Callable[[bool, LeafFit], Grower]


@dataclass(frozen=True)
class TriedTree:
    """A kind of tree that was tried, of one size."""

    kind: str  # "refined", "greedy" or "axis-parallel"
    n_leaves: int
    fit: LeafFit  # what leaves say
    oblique: bool  # whether it was grown with oblique splits; refined trees have them anyway

    def __str__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        says = "linear functions" if self.fit.linear else "constants"
        return f"{self.kind} tree of {leaves}, {says}"


@dataclass(frozen=True)
class NumberChoice:
    """What was tried on held-out rows."""

    best: TriedTree
    tried: dict[TriedTree, float]  # the squared errors of all; empty if nothing was tried
    total: float  # squared distances of the held-out rows from their mean

    def scores(self, kind: str, fit: LeafFit) -> tuple[Int64Array, FloatArray]:
        """Return the sizes of a kind that were tried, and R2 on held-out rows."""
        found = sorted(
            (candidate.n_leaves, self.r2(error))
            for candidate, error in self.tried.items()
            if candidate.kind == kind and candidate.fit == fit
        )
        sizes = np.array([size for size, _ in found], dtype=np.int64)
        return sizes, np.array([score for _, score in found])

    def enough(self, problem: Problem) -> float:
        """Return the squared error on its own rows that a tree has at most, if it is not unlucky.

        What the chosen kind of tree leaves over of rows that it has not seen.
        """
        if self.best not in self.tried or not self.total > 0.0:
            return float("inf")
        share = self.tried[self.best] / self.total
        return share * _about_mean(problem) * problem.unit

    def r2(self, error: float) -> float:
        """Return the share of the variance that is explained."""
        return 1.0 - error / self.total if self.total > 0.0 else float("nan")


def greedy_sizes(most: int) -> list[int]:
    """Return the numbers of leaves that are judged, the largest that is allowed among them."""
    sizes = list(GREEDY_SIZES)
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return [size for size in sizes if size < most] + [most]


def choose_numbers(
    problem: Problem,
    grower_of: GrowerOf,
    bounds: dict[LeafFit, int],
    recipe_of: Callable[[LeafFit], Recipe],
    compare_greedy: bool,
    key: int,
    n_threads: int,
    watch: Watch,
) -> NumberChoice:
    """Choose a kind of tree; `bounds`: the most leaves for each way of fitting them."""
    parts = trials(problem, key)
    if not parts:
        fit = next(iter(bounds))
        return NumberChoice(TriedTree("greedy", min(bounds[fit], 2), fit, True), {}, 0.0)
    judged = _NumberTrials(parts, grower_of, recipe_of, key, n_threads, watch)
    groups = smoothings_of(bounds)
    for plain, fits in groups.items():
        judged.try_greedy(plain, fits, bounds[fits[0]])
    for plain in judged.worth_refining(list(groups)):
        judged.try_refined(plain, groups[plain], bounds[groups[plain][0]])
    allowed = {
        tried: error
        for tried, error in judged.errors.items()
        if compare_greedy or tried.kind == "refined" or tried.n_leaves == 1
    }
    best = _least(allowed)
    choice = NumberChoice(best, judged.errors, judged.total)
    watch.say(f"Chosen: {best}, R2 {choice.r2(judged.errors[best]):.3f}.")
    return choice


def _least(errors: dict[TriedTree, float]) -> TriedTree:
    """Return the candidate of the least error; of equals the smallest, then the simplest."""
    least = min(errors.values()) * (1.0 + _EQUAL)
    order = ("axis-parallel", "greedy", "refined")
    equals = [tried for tried, error in errors.items() if error <= least]
    return min(equals, key=lambda tried: (tried.n_leaves, order.index(tried.kind)))


class _NumberTrials:
    """Trees that are judged by rows that they were not grown from."""

    def __init__(
        self,
        parts: Sequence[tuple[Problem, Problem]],
        grower_of: GrowerOf,
        recipe_of: Callable[[LeafFit], Recipe],
        key: int,
        n_threads: int,
        watch: Watch,
    ) -> None:
        self.parts, self.grower_of, self.recipe_of = parts, grower_of, recipe_of
        self.key, self.n_threads, self.watch = key, n_threads, watch
        self.errors: dict[TriedTree, float] = {}
        self.grown: dict[tuple[LeafFit, bool, int], NestedTrees] = {}
        self.total = sum(_about_mean(test) for _, test in parts)

    def try_greedy(self, plain: LeafFit, fits: Sequence[LeafFit], most: int) -> None:
        """Judge greedy trees of all sizes, oblique and axis-parallel."""
        sizes = greedy_sizes(most)
        for kind, oblique in (("greedy", True), ("axis-parallel", False)):
            total = np.zeros((len(fits), len(sizes)))
            for k, (train, test) in enumerate(self.parts):
                nested = beginnings(self.grower_of(oblique, plain)(train, most, 0))
                self.grown[plain, oblique, k] = nested
                at = np.maximum(len(nested) - np.array(sizes), 0)
                for row, fit in zip(total, fits, strict=True):
                    tree = _smoothed(nested.tree, fit, train)
                    row += replace(nested, tree=tree).errors(test)[at]
            for row, fit in zip(total, fits, strict=True):
                for size, error in zip(sizes, row.tolist(), strict=True):
                    self._note(TriedTree(kind, size, fit, oblique), error)

    def _note(self, tried: TriedTree, error: float) -> None:
        self.errors[tried] = error
        score = 1.0 - error / self.total if self.total > 0.0 else float("nan")
        self.watch.say(f"Tried: {tried}, R2 {score:.3f} on held-out rows.")

    def worth_refining(self, plain: Sequence[LeafFit]) -> list[LeafFit]:
        """Return constants, if they are wanted, and the penalty that serves greedy trees best."""
        least = {
            fit: min(
                error for tried, error in self.errors.items() if tried.fit.penalty == fit.penalty
            )
            for fit in plain
        }
        lines = sorted((fit for fit in plain if fit.linear), key=least.__getitem__)
        return [fit for fit in plain if not fit.linear] + lines[:1]

    def try_refined(self, plain: LeafFit, fits: Sequence[LeafFit], most: int) -> None:
        """Judge refined trees: from the kind and size that is best unrefined, up or down."""
        start = _least({tried: error for tried, error in self.errors.items() if tried.fit in fits})
        sizes = [2**k for k in range(1, most.bit_length()) if 2**k < most] + [most]
        at = min(range(len(sizes)), key=lambda k: (abs(sizes[k] - start.n_leaves), k))
        work = _Refinement(self, plain, fits, start.oblique)
        found = {at: work.error(sizes[at], shrunk=False)}
        for step in (-1, 1):
            k = at + step
            while 0 <= k < len(sizes) and not self.watch.is_up:
                found[k] = work.error(sizes[k], shrunk=False)
                if found[k] >= found[k - step]:
                    break
                k += step
            if found[min(found, key=found.__getitem__)] < found[at]:
                break
        best = min(found, key=found.__getitem__)
        if not self.watch.is_up and found[best] <= NEARLY * min(self.errors.values()):
            work.error(sizes[best], shrunk=True)


@dataclass(frozen=True)
class _Refinement:
    """Refined trees that are grown in one way."""

    trials: _NumberTrials
    plain: LeafFit
    fits: Sequence[LeafFit]
    oblique: bool

    def error(self, size: int, shrunk: bool) -> float:
        """Judge trees of a size, refined as they were grown or shrunk to it: the least error."""
        trials = self.trials
        errors = dict.fromkeys(self.fits, 0.0)
        for k, (train, test) in enumerate(trials.parts):
            tree = self._tree(size, shrunk, k)
            for fit in self.fits:
                errors[fit] += _squared_errors(_smoothed(tree, fit, train), test)
        for fit, error in errors.items():
            trials._note(TriedTree("refined", size, fit, self.oblique), error)
        return min(errors.values())

    def _tree(self, size: int, shrunk: bool, k: int) -> Tree:
        """Return the tree from the rows of one division."""
        trials, train = self.trials, self.trials.parts[k][0]
        recipe, key = trials.recipe_of(self.plain), child_key(trials.key, 2000 + k)
        watch = Watch()  # the loss of trials is nobody's business, but they mind the clock
        watch.end = trials.watch.end
        # A quarter of the work tells nearly as much.
        quick = replace(
            recipe, schedule=recipe.schedule.quick(), between=recipe.between.quick(), cycles=0
        )
        if shrunk:
            grower = trials.grower_of(self.oblique, self.plain)
            return refined_tree(train, grower, size, quick, key, trials.n_threads, watch)
        nested = trials.grown[self.plain, self.oblique, k]
        known = (quick.schedule, quick.max_features, key, trials.n_threads, watch, quick)
        return refine_only(nested.at(max(len(nested) - size, 0)), train, *known)


def _smoothed(tree: Tree, fit: LeafFit, problem: Problem) -> Tree:
    """Return a tree that was fitted without smoothing with it."""
    return smoothed_leaves(tree, fit.smoothing, problem.row_unit / problem.unit)


def _squared_errors(tree: Tree, problem: Problem) -> float:
    """Return what rows cost in a tree, in grid units of weight."""
    return float(node_errors(tree, problem)[tree.is_leaf].sum())


def _about_mean(problem: Problem) -> float:
    """Return the squared distances of numbers from their mean."""
    target = problem.target
    assert isinstance(target, Numbers)
    weights = np.ones(problem.n_rows) if problem.weights is None else problem.weights
    total = 0.0
    for values in target.values.T:
        off = values - fsum(weights * values) / fsum(weights)
        total += fsum(weights * off * off)
    return total
