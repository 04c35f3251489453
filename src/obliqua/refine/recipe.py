"""The whole recipe: grow too large a tree, refine it, shrink it with refinement in between.

Grown greedily to twice the leaves, refined, shrunk in four steps by subtree raising and refined
after each, and at last rid of splits that save no error. Cycles go on from there: the tree grows
by half with priorities that chance has shaken, is refined and shrunk again, and is kept if it errs
less.

Where greedy growth is blind to the classes, a tree that begins with hyperplanes at random competes
with the one that was grown, and cycles begin subtrees anew in the same way. These take few passes,
and are given up as soon as they err more, while still too large, than the best tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from math import ceil, inf

import numpy as np

from obliqua._core.base.rng import child_key
from obliqua._typing import Int64Array
from obliqua.data.problem import Problem
from obliqua.data.target import TASKS
from obliqua.data.weights import ROUNDING
from obliqua.engine.linear_leaves import LeafFit, with_leaves
from obliqua.refine.descent import Schedule, Watch, refine
from obliqua.refine.draft import Draft, draft_of, tree_of
from obliqua.refine.regrow import at_random, regrown
from obliqua.refine.rows import SoftRows, soft_rows
from obliqua.refine.shrink import errors_of, masked, raise_to, without_useless
from obliqua.tree.tree import Tree

__all__ = ["LABEL", "Recipe", "columns_that_matter", "refine_only", "refined_tree"]

#: What the splits of refined trees say of where they come from.
LABEL = "refined"

#: Trees that are refined are grown from so many rows at most, or so many for each leaf: where to
#: start from is as well known then, and refinement sees all rows.
GROWN_ROWS = 200_000
GROWN_ROWS_PER_LEAF = 1_000

#: How many trees are made if they are unlucky, and the share of the rows that the later ones are
#: grown from, so that they differ.
TRIES, TRIED_ROWS = 3, 0.7

#: With fewer rows for each weight of a tree, fewer training errors do not mean a better tree.
ROWS_OF_A_WEIGHT = 25
#: How many times too large trees and subtrees at random are, and how they shrink.
START_AT_RANDOM, OVER_AT_RANDOM = 16, 8
STEPS_AT_RANDOM = (5.0, 3.5, 2.5, 1.8, 1.4, 1.15, 1.0)
#: Subtrees at random that are tried in a cycle.
PER_CYCLE = 3
#: beta when a tree that began at random is refined for the last time.
POLISH = (4.0, 32.0)

#: Grows a tree of at most so many leaves: (problem, leaves, depth of its root) -> Tree.
Grower = Callable[[Problem, int, int], Tree]


@dataclass(frozen=True)
class Recipe:
    """How a tree is refined.

    Parameters
    ----------
    start : float, default=2.0
        How many times the leaves that are wanted are grown.
    steps : tuple of float, default=(1.6, 1.3, 1.15, 1.0)
        The sizes on the way back, as multiples of the leaves that are wanted.
    schedule : Schedule
        How the draft is refined first and last.
    between : Schedule
        How it is refined on the way.
    max_features : int or None, default=None
        The most columns of a split; they become fewer from step to step.
    max_depth : int or None, default=None
        The largest depth of the result. What is refined may be deeper: it is made shallower from
        step to step.
    cycles : int, default=0
        How often the tree grows by half and is shrunk again, or subtrees begin at random.
    shake : float, default=0.5
        The deviation of the logarithm by which chance changes priorities in cycles.
    leaves : LeafFit
        Where numbers are learnt: what leaves say.
    min_samples_leaf : float, default=0.0
        Leaves with fewer rows go, by their weight.
    blind : float, default=1/3
        Greedy growth is blind where it leaves more than this share of the errors of a single leaf.
        A tree that begins with hyperplanes at random competes then, if there are enough rows.
    enough : float, default=inf
        A tree that errs more on the training rows is unlucky: another one is made, from a part of
        the rows, and refined with all; up to two of them. The one that errs least is kept.
    """

    start: float = 2.0
    steps: tuple[float, ...] = (1.6, 1.3, 1.15, 1.0)
    schedule: Schedule = field(default_factory=Schedule)
    between: Schedule = field(
        default_factory=lambda: Schedule(sharpness=(4.0, 8.0), least_passes=15.0)
    )
    max_features: int | None = None
    max_depth: int | None = None
    cycles: int = 0
    shake: float = 0.5
    leaves: LeafFit = field(default_factory=LeafFit)
    min_samples_leaf: float = 0.0
    blind: float = 1 / 3
    enough: float = inf

    def hurried(self) -> Recipe:
        """Return the same with a third of the passes."""

        def third(schedule: Schedule) -> Schedule:
            passes, visits = schedule.passes, schedule.visits / 3
            passes = None if passes is None else passes / 3
            least = schedule.least_passes / 3
            return replace(schedule, passes=passes, visits=visits, least_passes=least)

        few, fewer = third(self.schedule), third(self.between)
        return replace(self, schedule=few, between=fewer)

    def with_decay(self, decay: float | None) -> Recipe:
        """Return the same with another decay at all stages.

        Parameters
        ----------
        decay : float or None
            How much hyperplanes are drawn to 0; None changes nothing.

        Returns
        -------
        Recipe
            The recipe.
        """
        if decay is None:
            return self
        schedule = replace(self.schedule, decay=decay)
        between = replace(self.between, decay=decay)
        return replace(self, schedule=schedule, between=between)

    def _as_tree(self, draft: Draft, rows: SoftRows, problem: Problem) -> Tree:
        """Make a tree of a draft, with what its leaves say."""
        least = self.min_samples_leaf * problem.unit / problem.row_unit * (1.0 - ROUNDING)
        tree = tree_of(draft, rows, problem, LABEL, least)
        return with_leaves(tree, problem, self.leaves)


def refine_only(
    tree: Tree,
    problem: Problem,
    schedule: Schedule | None = None,
    max_features: int | None = None,
    key: int = 0,
    n_threads: int = 1,
    watch: Watch | None = None,
    recipe: Recipe | None = None,
) -> Tree:
    """Refine a tree as it is: the same structure, other hyperplanes.

    Parameters
    ----------
    tree : Tree
        A tree of hyperplanes.
    problem : Problem
        The rows.
    schedule : Schedule, default=None
        How.
    max_features : int, default=None
        The most columns of a split. If it is given, splits keep the columns that they ask about,
        or those that matter most; None lets all columns in.
    key : int, default=0
        The seed.
    n_threads : int, default=1
        Threads; they have no influence on the result.
    watch : Watch, default=None
        Says when to stop, and keeps the loss.
    recipe : Recipe, default=None
        What leaves say, and how many rows they have at least.

    Returns
    -------
    Tree
        The refined tree. Splits that no row needs any more are gone.
    """
    recipe = Recipe() if recipe is None else recipe
    rows = soft_rows(problem, key, n_threads, recipe.leaves.penalty)
    draft = draft_of(tree, rows.columns)
    if max_features is not None and draft.n_nodes:
        draft = masked(draft, rows, None)
        draft = masked(draft, rows, max_features) if _widest(draft, rows) > max_features else draft
    draft = refine(draft, rows, schedule, key, n_threads, watch)
    return recipe._as_tree(draft, rows, problem)


def _widest(draft: Draft, rows: SoftRows) -> int:
    """Return the most columns that a split of a masked draft may ask about."""
    assert draft.mask is not None
    there = np.flatnonzero(rows.columns.owner >= 0)
    used = np.zeros((draft.n_nodes, len(rows.columns.levels)), dtype=bool)
    for place in there.tolist():
        used[:, rows.columns.owner[place]] |= draft.mask[:, place] > 0
    return int(used.sum(axis=1).max(initial=0))


def refined_tree(
    problem: Problem,
    grower: Grower,
    n_leaves: int,
    recipe: Recipe | None = None,
    key: int = 0,
    n_threads: int = 1,
    watch: Watch | None = None,
) -> Tree:
    """Grow, refine and shrink a tree.

    Parameters
    ----------
    problem : Problem
        The rows.
    grower : callable
        Grows a tree, best first: ``grower(problem, n_leaves, depth)``.
    n_leaves : int
        The most leaves of the result.
    recipe : Recipe, default=None
        How.
    key : int, default=0
        The seed.
    n_threads : int, default=1
        Threads; they have no influence on the result.
    watch : Watch, default=None
        Says when to stop. The tree has at most `n_leaves` leaves all the same.

    Returns
    -------
    Tree
        The tree.
    """
    recipe = Recipe() if recipe is None else recipe
    watch = Watch() if watch is None else watch
    best = _one_tree(problem, grower, n_leaves, recipe, key, n_threads, watch, 1.0)
    for number in range(1, TRIES):
        if watch.is_up or not _errors(best) > recipe.enough:
            break
        watch.say("It errs more on its own rows than such trees do on others. Once more.")
        before = len(watch.curve)
        again = child_key(key, 3000 + number)
        other = _one_tree(problem, grower, n_leaves, recipe, again, n_threads, watch, TRIED_ROWS)
        best = _better(best, other, before, watch)
    return best


def columns_that_matter(
    problem: Problem,
    grower: Grower,
    n_leaves: int,
    n_columns: int,
    recipe: Recipe | None = None,
    key: int = 0,
    n_threads: int = 1,
    watch: Watch | None = None,
) -> Int64Array:
    """Find the columns that a tree of few columns needs: it shrinks to them while it is refined.

    Parameters
    ----------
    problem : Problem
        The rows.
    grower : callable
        Grows a tree, best first: ``grower(problem, n_leaves, depth)``.
    n_leaves : int
        The leaves of the tree.
    n_columns : int
        The most columns.
    recipe : Recipe, default=None
        How. Its limit of columns per split and its cycles do not matter here.
    key : int, default=0
        The seed.
    n_threads : int, default=1
        Threads; they have no influence on the result.
    watch : Watch, default=None
        Says when to stop. No more columns than `n_columns` are found all the same.

    Returns
    -------
    ndarray
        The numbers of the columns, ascending.
    """
    recipe = Recipe() if recipe is None else recipe
    watch = Watch() if watch is None else watch
    rows = soft_rows(problem, key, n_threads, recipe.leaves.penalty)
    work = _Work(problem, rows, grower, recipe, key, n_threads, watch)
    start = ceil(recipe.start * n_leaves)
    watch.say(f"Looking for {n_columns} features, with a tree of up to {start} leaves.")
    draft = work.refined(draft_of(work.grown(start, 1.0), rows.columns), recipe.schedule)
    steps = recipe.steps[1:]
    for number, step in enumerate(steps, 1):
        draft = raise_to(draft, rows, ceil(step * n_leaves))
        most = _on_the_way(problem.n_features, n_columns, number / len(steps))
        draft = masked(draft, rows, None, most)
        if number < len(steps):
            draft = work.refined(draft, recipe.between)
    owner = rows.columns.owner[(draft.normals != 0.0).any(axis=0)]
    return np.unique(owner[owner >= 0])


def _on_the_way(n_columns: int, most: int, share: float) -> int:
    """Return how many columns are left after a share of the way to the most."""
    return max(round(float(n_columns ** (1.0 - share) * most**share)), most)


def _better(tree: Tree, other: Tree, before: int, watch: Watch) -> Tree:
    """Return the tree that errs less; the curve of the loss, longer since `before`, is its own."""
    better = _errors(other) < _errors(tree)
    del watch.curve[slice(before) if better else slice(before, None)]
    return other if better else tree


def _one_tree(
    problem: Problem,
    grower: Grower,
    n_leaves: int,
    recipe: Recipe,
    key: int,
    n_threads: int,
    watch: Watch,
    share: float,
) -> Tree:
    """Grow, refine and shrink a tree; it is grown from a share of the rows."""
    rows = soft_rows(problem, key, n_threads, recipe.leaves.penalty)
    work = _Work(problem, rows, grower, recipe, key, n_threads, watch)
    start = max(ceil(recipe.start * n_leaves), 1)
    watch.say(f"Growing a tree of up to {start} leaves, to be refined and shrunk to {n_leaves}.")
    grown = work.grown(start, share)
    # A tree of the right size is better than a large one that is cut back unrefined.
    if watch.is_up:
        grown = work.grown(n_leaves, share)
        return recipe._as_tree(draft_of(grown, rows.columns), rows, problem)
    draft = draft_of(grown, rows.columns)
    weights = n_leaves * int((rows.columns.owner >= 0).sum())
    of_one_leaf = float(TASKS[grown.task].risk(grown.stats[:1])[0])
    blind = _errors(grown) > recipe.blind * of_one_leaf
    if blind and n_leaves > 1 and rows.n_rows >= ROWS_OF_A_WEIGHT * weights:
        return work.from_chance(draft, n_leaves)
    best = work.first_tree(draft, n_leaves)
    for cycle in range(recipe.cycles if n_leaves > 1 else 0):
        if watch.is_up or _errors(best) == 0.0:
            break
        again = work.cycle(best, n_leaves, cycle)
        watch.say(
            f"Grown and shrunk again, cycle {cycle + 1}: training rows of weight "
            f"{_errors(again):g} are wrong, {_errors(best):g} with the best tree before."
        )
        # A cycle that time has cut short counts too, if it is better.
        best = again if _errors(again) < _errors(best) else best
    return best


def _errors(tree: Tree) -> float:
    """Return the weight of the training rows that a tree misclassifies, or its squared errors."""
    return float(TASKS[tree.task].risk(tree.stats[tree.is_leaf]).sum())


@dataclass(frozen=True, eq=False)
class _Work:
    """What all stages of a recipe need."""

    problem: Problem
    rows: SoftRows
    grower: Grower
    recipe: Recipe
    key: int
    n_threads: int
    watch: Watch
    #: Streams of random numbers that have been used.
    used: list[int] = field(default_factory=list)

    def _fresh_key(self) -> int:
        self.used.append(len(self.used))
        return child_key(self.key, self.used[-1] + 1)

    def grown(self, n_leaves: int, share: float) -> Tree:
        """Grow a tree from a share of the rows, or from fewer if there are very many."""
        enough = max(GROWN_ROWS, GROWN_ROWS_PER_LEAF * n_leaves)
        most = min(enough, ceil(share * self.rows.n_rows))
        if self.rows.n_rows <= most:
            return self.grower(self.problem, n_leaves, 0)
        return self.grower(self.problem.take(self.rows.sample(most)), n_leaves, 0)

    def refined(self, draft: Draft, schedule: Schedule) -> Draft:
        """Refine, if there is time."""
        if self.watch.is_up:
            return draft
        size = "1 leaf" if draft.n_leaves == 1 else f"{draft.n_leaves} leaves"
        self.watch.say(f"Moving all splits of the tree together; it has {size}.")
        key = self._fresh_key()
        return refine(draft, self.rows, schedule, key, self.n_threads, self.watch)

    def _shrinking(
        self,
        draft: Draft,
        n_leaves: int,
        steps: tuple[float, ...],
        max_features: int | None,
    ) -> Iterator[Draft]:
        """Shrink in steps, and to few columns, with refinement in between; yield each draft."""
        n_columns = len(self.rows.columns.levels)
        limit = self.recipe.max_depth
        too_deep = 0 if limit is None else max(draft.depth - limit, 0)
        for number, step in enumerate(steps, 1):
            deepest = None if limit is None else limit + too_deep - too_deep * number // len(steps)
            draft = raise_to(draft, self.rows, ceil(step * n_leaves), deepest)
            if max_features is not None and max_features < n_columns:
                most = _on_the_way(n_columns, max_features, number / len(steps))
                draft = masked(draft, self.rows, most)
            last = number == len(steps)
            draft = self.refined(draft, self.recipe.schedule if last else self.recipe.between)
            yield draft

    def shrunk(
        self, draft: Draft, n_leaves: int, steps: tuple[float, ...], max_features: int | None
    ) -> Draft:
        """Shrink in all steps."""
        *_, last = self._shrinking(draft, n_leaves, steps, max_features)
        return last

    def first_tree(self, draft: Draft, n_leaves: int, rival: Tree | None = None) -> Tree:
        """Refine and shrink; of two ways to few columns per split, the one that errs less.

        A rival that errs less than the draft before it is shrunk is returned instead.
        """
        steps, most, before = self.recipe.steps, self.recipe.max_features, len(self.watch.curve)
        all_columns = self.refined(draft, self.recipe.schedule)
        if rival is not None:
            least = errors_of(draft_of(rival, self.rows.columns), self.rows)
            if errors_of(all_columns, self.rows) > least:
                self.watch.say("The grown tree errs more, and is given up.")
                del self.watch.curve[before:]
                return rival
        tree = self._finished(self.shrunk(all_columns, n_leaves, steps, most))
        narrow = most is not None and most < len(self.rows.columns.levels)
        if not narrow or draft.n_nodes == 0 or self.watch.is_up:
            return tree
        # The other way: splits keep the columns that they were grown with. It is often the better
        # one for two columns, where little is left of what all columns have learnt.
        curve = len(self.watch.curve)
        as_grown = self.refined(masked(draft, self.rows, None), self.recipe.schedule)
        other = self._finished(self.shrunk(as_grown, n_leaves, steps, None))
        return _better(tree, other, curve, self.watch)

    def _finished(self, draft: Draft) -> Tree:
        useful = without_useless(draft, self.rows)
        return self.recipe._as_tree(useful, self.rows, self.problem)

    def from_chance(self, grown: Draft, n_leaves: int) -> Tree:
        """Return the best of a tree from chance and the grown one, or what cycles make of it."""
        curve, rows = self.watch.curve, self.rows
        start = at_random(rows, START_AT_RANDOM * n_leaves, child_key(self.key, 1000))
        rival = self._raced(start, n_leaves)
        assert rival is not None, "it has no limit"
        before = len(curve)
        best = self.first_tree(grown, n_leaves, rival)
        if best is not rival:
            best = _better(rival, best, before, self.watch)
        won = best is rival
        for number in range(1, PER_CYCLE * self.recipe.cycles + 1):
            if self.watch.is_up or _errors(best) == 0.0 or best.n_leaves == 1:
                break
            before, champion = len(curve), draft_of(best, rows.columns)
            draft = regrown(champion, rows, OVER_AT_RANDOM, child_key(self.key, 1000 + number))
            if self.recipe.max_features is not None:
                draft = masked(draft, rows, self.recipe.max_features)
            other = self._raced(draft, n_leaves, errors_of(champion, rows))
            if other is not None and _errors(other) < _errors(best):
                best, won = other, True
            else:
                del curve[before:]
        return self._polished(best) if won else best

    def _raced(self, draft: Draft, n_leaves: int, limit: float = inf) -> Tree | None:
        """Refine and shrink in few passes; None if it errs more than the limit on the way."""
        few = replace(self, recipe=self.recipe.hurried())
        self.watch.say("Beginning anew with hyperplanes at random.")
        draft = few.refined(draft, few.recipe.schedule)
        steps = [step for step in STEPS_AT_RANDOM if step * n_leaves < draft.n_leaves]
        steps = steps if 1.0 in steps else [*steps, 1.0]
        shrinking = few._shrinking(draft, n_leaves, tuple(steps), self.recipe.max_features)
        while limit == inf or errors_of(draft, self.rows) <= limit:
            smaller = next(shrinking, None)
            if smaller is None:
                tree = self._finished(draft)
                self.watch.say(
                    f"With {tree.n_leaves} leaves it has training rows of weight "
                    f"{_errors(tree):g} wrong."
                )
                return tree
            draft = smaller
        self.watch.say(f"With {draft.n_leaves} leaves it errs too much, and is given up.")
        return None

    def _polished(self, tree: Tree) -> Tree:
        """Refine a tree once more, with gates that are nearly hard in the end."""
        schedule = replace(self.recipe.schedule, sharpness=POLISH)
        draft = draft_of(tree, self.rows.columns)
        if self.recipe.max_features is not None:
            draft = masked(draft, self.rows, None)
        last = self._finished(self.refined(draft, schedule))
        return last if _errors(last) <= _errors(tree) else tree

    def cycle(self, tree: Tree, n_leaves: int, number: int) -> Tree:
        """Grow by half, refine, shrink."""
        larger = self._extended(tree, ceil(1.5 * n_leaves), number)
        draft = draft_of(larger, self.rows.columns)
        most = self.recipe.max_features
        if most is not None:
            draft = masked(draft, self.rows, most)
        draft = self.refined(draft, self.recipe.schedule)
        return self._finished(self.shrunk(draft, n_leaves, (1.25, 1.0), most))

    def _extended(self, tree: Tree, n_leaves: int, number: int) -> Tree:
        """Grow a tree on, the leaf first whose split gains most, as chance has it."""
        chance = np.random.Generator(np.random.Philox(key=child_key(self.key, 1000 + number)))
        leaf = tree.apply(self.problem.Z)
        total = self.problem.total_weight
        waiting: list[tuple[float, int]] = []
        splits: dict[int, Tree] = {}
        rows_of = {node: np.flatnonzero(leaf == node) for node in np.unique(leaf).tolist()}
        depth_of = {node: int(tree.node_depth[node]) for node in rows_of}
        joints: dict[int, tuple[Tree, int, int]] = {}

        def consider(node: int) -> None:
            part = self.problem.take(rows_of[node])
            split = self.grower(part, 2, depth_of[node])
            if split.n_nodes == 3:
                gain = float(split.gain[0]) * part.total_weight / total
                waiting.append((-gain * float(np.exp(self.recipe.shake * chance.normal())), node))
                splits[node] = split

        for node in rows_of:
            consider(node)
        heapify(waiting)
        fresh, count = tree.n_nodes, tree.n_leaves
        while waiting and count < n_leaves and not self.watch.is_up:
            _, node = heappop(waiting)
            split = splits[node]
            rows = rows_of[node]
            side = split.apply(self.problem.Z[rows])
            kids = (fresh, fresh + 1)
            joints[node] = (split, *kids)
            for which, kid in zip((1, 2), kids, strict=True):
                rows_of[kid], depth_of[kid] = rows[side == which], depth_of[node] + 1
                before = len(waiting)
                consider(kid)
                if len(waiting) > before:
                    heappush(waiting, waiting.pop())
            fresh += 2
            count += 1
        return _joined(tree, joints)


def _joined(tree: Tree, joints: dict[int, tuple[Tree, int, int]]) -> Tree:
    """Put splits in the place of leaves. From the last to the first, so that each is whole."""
    whole: dict[int, Tree] = {}
    for node in sorted(joints, reverse=True):
        split, left, right = joints[node]
        # The right leaf first: grafting numbers the nodes behind it anew.
        for place, kid in ((2, right), (1, left)):
            if kid in whole:
                split = split.graft(place, whole.pop(kid))
        whole[node] = split
    for node in sorted(whole, reverse=True):
        tree = tree.graft(node, whole[node])
    return tree
