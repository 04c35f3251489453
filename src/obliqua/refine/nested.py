"""Trees of many sizes from one descent: the largest is refined, and shrunk from size to size.

Held-out rows are to tell sizes and decays apart, and many trees are needed for that. To refine
each by itself costs several times as much, and such trees are no better judges: the tree that is
wanted in the end is shrunk, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from obliqua._core.base.rng import child_key
from obliqua.data.problem import Problem
from obliqua.refine.descent import Schedule, Watch, refine
from obliqua.refine.draft import draft_of
from obliqua.refine.recipe import Grower, Recipe
from obliqua.refine.rows import soft_rows
from obliqua.refine.shrink import masked, raise_to
from obliqua.tree.tree import Tree

__all__ = ["nested_trees"]

#: How many times the leaves of the largest tree are grown.
START = 1.5


def nested_trees(
    problem: Problem,
    grower: Grower,
    sizes: Sequence[int],
    recipe: Recipe,
    key: int = 0,
    n_threads: int = 1,
    watch: Watch | None = None,
) -> list[Tree]:
    """Grow one tree and shrink it to several sizes.

    Parameters
    ----------
    problem : Problem
        The rows.
    grower : callable
        Grows a tree, best first: ``grower(problem, n_leaves, depth)``.
    sizes : sequence of int
        The most leaves of each tree, the largest first.
    recipe : Recipe
        How trees are refined. Here a quarter of the visits is made first, and an eighth after each
        step: it tells nearly as much.
    key : int, default=0
        The seed.
    n_threads : int, default=1
        Threads; they have no influence on the result.
    watch : Watch, default=None
        Says when to stop; the trees have no more leaves than they may have all the same.

    Returns
    -------
    list of Tree
        A tree for each size.
    """
    rows = soft_rows(problem, key, n_threads, recipe.leaves.penalty)
    draft = draft_of(grower(problem, max(ceil(START * sizes[0]), 2), 0), rows.columns)
    if recipe.max_features is not None:
        draft = masked(draft, rows, None)
    first, between = _quick(recipe)
    draft = refine(draft, rows, first, child_key(key, 1), n_threads, watch)
    trees = []
    for number, size in enumerate(sizes, 2):
        draft = raise_to(draft, rows, size)
        draft = refine(draft, rows, between, child_key(key, number), n_threads, watch)
        trees.append(recipe._as_tree(draft, rows, problem))
    return trees


def _quick(recipe: Recipe) -> tuple[Schedule, Schedule]:
    """Return how a tree is refined first, and after each step."""
    first, between = recipe.schedule.quick(), recipe.between.quick()
    return first, replace(between, visits=between.visits / 2)
