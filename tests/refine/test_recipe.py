"""The whole recipe: its limits hold after every stage, and each stage does its part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np
import pytest

from obliqua.data.problem import Problem, encode
from obliqua.data.table import read_table
from obliqua.datasets import make_planted_tree
from obliqua.engine.grow import grow
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.discriminants import Discriminants
from obliqua.refine import (
    Recipe,
    Schedule,
    Watch,
    columns_that_matter,
    refine_only,
    refined_tree,
)
from obliqua.refine.recipe import LABEL, PER_CYCLE, _errors, _Work
from obliqua.refine.rows import soft_rows
from obliqua.tree.tree import Tree
from problems import gaussians
from reference.refine import mixed_frame

#: Trees begin as they are grown, or hyperplanes at random compete with them.
QUICK = Recipe(
    schedule=Schedule(passes=8.0), between=Schedule(passes=4.0, sharpness=(4.0, 8.0)), blind=1.0
)
BLIND = replace(QUICK, blind=0.0)


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let hyperplanes at random compete on small problems, too."""
    monkeypatch.setattr("obliqua.refine.recipe.ROWS_OF_A_WEIGHT", 0)


def grower(max_depth: int | None = None, most: int | None = None) -> Callable[..., Tree]:
    proposals = Proposals(Discriminants(), max_features=most, scale="standard")

    def grown(problem: Problem, n_leaves: int, depth: int = 0) -> Tree:
        limit = None if max_depth is None else max(max_depth, depth)
        rules = Rules(max_leaf_nodes=n_leaves, best_first=True, max_depth=limit)
        return grow(problem, proposals, "gini", rules, depth=depth)

    return grown


def rings(n_rows: int = 900, seed: int = 0) -> Problem:
    """Classes that no single hyperplane parts: which of three directions is the longest way."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    y = np.abs(X @ rng.normal(size=(5, 3))).argmax(axis=1)
    return encode(X, y, 3)


def mixed(n_rows: int = 500, **options: Any) -> Problem:
    frame, y = mixed_frame(n_rows, 11)
    return encode(read_table(frame), y, 3, **options)


def assert_sound(tree: Tree, problem: Problem) -> None:
    tree.validate()
    leaf = tree.apply(problem.Z)
    weight = np.ones(problem.n_rows) if problem.weights is None else problem.weights * problem.unit
    stats = np.zeros_like(tree.stats)
    np.add.at(stats, (leaf, problem.y), weight)
    np.testing.assert_allclose(stats[tree.is_leaf], tree.stats[tree.is_leaf], rtol=1e-12)
    counted = np.bincount(leaf, minlength=tree.n_nodes)[tree.is_leaf]
    np.testing.assert_array_equal(counted, tree.n_samples[tree.is_leaf])
    assert counted.min() > 0


@pytest.mark.parametrize("n_leaves", [1, 2, 5, 12])
@pytest.mark.parametrize("kind", ["numbers", "mixed", "weights"])
def test_no_more_leaves_than_are_wanted(kind: str, n_leaves: int) -> None:
    problem = {
        "numbers": rings,
        "mixed": mixed,
        "weights": lambda: mixed(sample_weight=1 + np.arange(500) % 4),
    }[kind]()
    tree = refined_tree(problem, grower(), n_leaves, BLIND if n_leaves == 5 else QUICK)
    assert 1 <= tree.n_leaves <= n_leaves
    assert n_leaves < 5 or tree.n_leaves > 2
    assert_sound(tree, problem)
    assert tree.origin_labels == (LABEL,)


def test_it_errs_less_than_the_greedy_tree_and_than_refining_alone() -> None:
    problem = rings()
    greedy = grower()(problem, 8)
    once = refine_only(greedy, problem, QUICK.schedule)
    whole = refined_tree(problem, grower(), 8, Recipe(blind=1.0))
    found = [_errors(tree) / problem.n_rows for tree in (greedy, once, whole)]
    assert found[1] < found[0] - 0.05
    assert found[2] < found[1]
    assert once.n_leaves <= greedy.n_leaves
    assert_sound(once, problem)


def test_the_stages() -> None:
    """Grown to twice the leaves, refined, and refined after each of four steps."""
    lines: list[str] = []
    sizes: list[int] = []
    inner = grower()

    def counted(problem: Problem, n_leaves: int, depth: int) -> Tree:
        sizes.append(n_leaves)
        return inner(problem, n_leaves, depth)

    watch = Watch(note=lines.append)
    refined_tree(rings(), counted, 10, QUICK, watch=watch)
    assert sizes == [20]
    assert lines[0] == "Growing a tree of up to 20 leaves, to be refined and shrunk to 10."
    refined = [int(line.split()[-2]) for line in lines[1:]]
    assert len(refined) == 5
    assert refined[0] == 20
    for size, most in zip(refined[1:], (16, 13, 12, 10), strict=True):
        assert size <= most
    assert refined == sorted(refined, reverse=True)
    assert len(watch.curve) == 8 + 3 * 4 + 8


def test_unlucky_trees_are_made_again() -> None:
    """From a part of the rows, until one errs little enough, and the best of three is kept."""
    problem = rings()
    seen: list[tuple[int, int]] = []
    inner = grower()

    def counted(part: Problem, n_leaves: int, depth: int) -> Tree:
        seen.append((part.n_rows, n_leaves))
        return inner(part, n_leaves, depth)

    errors = []
    for enough, tries in ((np.inf, 1), (0.0, 3)):
        seen.clear()
        watch = Watch()
        recipe = replace(QUICK, enough=enough)
        tree = refined_tree(problem, counted, 4, recipe, key=2, watch=watch)
        some = ceil(0.7 * problem.n_rows)
        assert seen == [(problem.n_rows, 8), (some, 8), (some, 8)][:tries]
        assert len(watch.curve) == 8 + 3 * 4 + 8, "the curve is that of the tree that is kept"
        assert_sound(tree, problem)
        assert tree.n_samples[0] == problem.n_rows
        errors.append(_errors(tree))
    assert errors[1] < errors[0]
    seen.clear()
    refined_tree(problem, counted, 4, replace(QUICK, enough=errors[0]), key=2)
    assert len(seen) == 1, "that is good enough"


def test_very_many_rows_are_not_all_grown_from(monkeypatch: pytest.MonkeyPatch) -> None:
    """But all of them are refined with, and counted; equal rows go together."""
    import obliqua.refine.recipe as module

    monkeypatch.setattr(module, "GROWN_ROWS", 100)
    monkeypatch.setattr(module, "GROWN_ROWS_PER_LEAF", 20)
    seen: list[Problem] = []
    inner = grower()

    def counted(problem: Problem, n_leaves: int, depth: int) -> Tree:
        seen.append(problem)
        return inner(problem, n_leaves, depth)

    whole = rings()
    for n_leaves, expected in ((2, 100), (4, 160), (1000, whole.n_rows)):
        tree = refined_tree(whole, counted, n_leaves, QUICK)
        assert seen[-1].n_rows == expected
        assert tree.n_samples[0] == whole.n_rows
    twice = whole.take(np.repeat(np.arange(whole.n_rows), 2))
    refined_tree(twice, counted, 2, QUICK)
    assert seen[-1].n_rows == 200
    assert len(np.unique(seen[-1].Z, axis=0)) == 100


@pytest.mark.parametrize("most", [1, 2, 3])
def test_few_features(most: int) -> None:
    for problem in (rings(), mixed()):
        recipe = replace(BLIND if most == 2 else QUICK, max_features=most, cycles=2)
        tree = refined_tree(problem, grower(most=most), 6, recipe)
        assert tree.n_node_features.max() <= most
        assert tree.n_leaves <= 6
        assert_sound(tree, problem)
        if most > 1:
            assert tree.n_node_features.max() == most


def test_columns_that_matter_to_the_whole_tree() -> None:
    """Each split is along one of two columns; a third one repeats another with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 7))
    X[:, 5] = X[:, 2] + rng.normal(size=600)
    problem = encode(X, 2 * (X[:, 2] > 0) + (X[:, 4] > 0.3), 4)
    found = columns_that_matter(problem, grower(), 4, 2, QUICK)
    assert found.tolist() == [2, 4]
    late = Watch(0.0)
    assert len(columns_that_matter(problem, grower(), 4, 3, QUICK, watch=late)) <= 3
    assert columns_that_matter(mixed(), grower(), 4, 2, QUICK).tolist() == sorted(
        set(columns_that_matter(mixed(), grower(), 4, 2, QUICK, n_threads=2).tolist())
    )


def test_of_two_ways_to_few_features_the_better_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Columns of all splits narrowed, or those that they were grown with."""
    problem = mixed()
    seen: list[Tree] = []
    finished = _Work._finished

    def remembered(self: _Work, draft: Any) -> Tree:
        seen.append(finished(self, draft))
        return seen[-1]

    monkeypatch.setattr(_Work, "_finished", remembered)
    kept = []
    for key in range(6):
        seen.clear()
        watch = Watch()
        recipe = replace(QUICK, max_features=3)
        tree = refined_tree(problem, grower(most=3), 6, recipe, key=key, watch=watch)
        first, second = seen
        better = _errors(second) < _errors(first)
        assert tree == (second if better else first)
        assert len(watch.curve) == 8 + 3 * 4 + 8, "the curve is that of one way"
        kept.append(better)
    assert any(kept)
    assert not all(kept)
    seen.clear()
    refined_tree(problem, grower(), 6, replace(QUICK, max_features=problem.n_features))
    assert len(seen) == 1, "all columns are not few"


def test_few_features_of_a_tree_that_is_refined_as_it_is() -> None:
    problem = mixed()
    tree = grower()(problem, 6)
    assert tree.n_node_features.max() > 2
    small = refine_only(tree, problem, QUICK.schedule, max_features=2)
    assert small.n_node_features.max() == 2
    # Splits that ask about few columns keep these; without a limit all columns come in.
    axes = grow(problem, None, "gini", Rules(max_leaf_nodes=6, best_first=True))
    kept = refine_only(axes, problem, QUICK.schedule, max_features=2)
    assert kept.n_node_features.max() == 1
    assert set(kept.coef_idx.tolist()) <= set(axes.coef_idx.tolist())
    free = refine_only(axes, problem, QUICK.schedule)
    assert free.n_node_features.max() == problem.n_features


@pytest.mark.parametrize("max_depth", [1, 2, 3])
def test_the_depth_is_kept_to_also_by_cycles(max_depth: int) -> None:
    for problem, recipe in ((rings(), BLIND), (rings(), QUICK), (mixed(), BLIND)):
        limited = replace(recipe, cycles=3, max_depth=max_depth)
        tree = refined_tree(problem, grower(max_depth), 12, limited)
        assert tree.depth <= max_depth
        assert_sound(tree, problem)


def test_cycles_never_err_more() -> None:
    problem = rings()
    lines: list[str] = []
    errors = []
    for cycles in (0, 1, 2, 4):
        watch = Watch(note=lines.append)
        recipe = replace(QUICK, cycles=cycles)
        tree = refined_tree(problem, grower(), 6, recipe, watch=watch)
        assert tree.n_leaves <= 6
        assert_sound(tree, problem)
        errors.append(_errors(tree))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0], "on this data some cycle helps"
    told = [line for line in lines if ", cycle " in line]
    assert len(told) == 0 + 1 + 2 + 4


def test_hyperplanes_at_random_compete() -> None:
    """On data that greedy growth is blind to; what errs more is given up, and cycles go on."""
    X, y = make_planted_tree(2000, 3, 6, random_state=4, return_X_y=True)
    problem = encode(X, y, 2)
    errors = []
    for blind, cycles in ((1.0, 0), (0.0, 0), (0.0, 2)):
        lines: list[str] = []
        recipe = Recipe(blind=blind, cycles=cycles)
        watch = Watch(note=lines.append)
        tree = refined_tree(problem, grower(), 8, recipe, watch=watch)
        assert tree.n_leaves <= 8
        assert_sound(tree, problem)
        errors.append(_errors(tree))
        anew = [line for line in lines if line.startswith("Beginning anew")]
        assert len(anew) == (blind == 0.0) + PER_CYCLE * cycles
    assert errors[0] > 10 * max(errors[1:])
    assert any(line.endswith("given up.") for line in lines)


def test_hyperplanes_at_random_need_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each weight of the tree."""
    problem = rings()
    for least, number in ((30, 1), (31, 0)):
        monkeypatch.setattr("obliqua.refine.recipe.ROWS_OF_A_WEIGHT", least)
        lines: list[str] = []
        refined_tree(problem, grower(), 6, BLIND, watch=Watch(note=lines.append))
        assert sum(line.startswith("Beginning anew") for line in lines) == number


def test_an_extended_tree_is_the_same_tree_further_down() -> None:
    problem = mixed()
    tree = refined_tree(problem, grower(), 4, QUICK)
    work = _Work(problem, soft_rows(problem), grower(), QUICK, 0, 1, Watch())
    larger = work._extended(tree, 9, 0)
    assert larger.n_leaves == 9
    larger.validate()
    # Each row is in a leaf below the one where it was.
    before, after = tree.apply(problem.Z), larger.apply(problem.Z)
    for leaf in np.unique(after):
        assert len(np.unique(before[after == leaf])) == 1
    np.testing.assert_allclose(
        np.bincount(after, minlength=larger.n_nodes)[larger.is_leaf],
        larger.n_samples[larger.is_leaf],
    )
    others = [work._extended(tree, 7, number) for number in range(4)]
    assert any(other != others[0] for other in others[1:]), "chance has a say"
    calm = _Work(problem, work.rows, grower(), replace(QUICK, shake=0.0), 0, 1, Watch())
    assert calm._extended(tree, 7, 0) == calm._extended(tree, 7, 1)


def test_no_time_at_all() -> None:
    problem = mixed()
    watch = Watch(0.0)
    tree = refined_tree(problem, grower(), 5, replace(QUICK, cycles=5), watch=watch)
    assert 1 < tree.n_leaves <= 5
    assert watch.curve == []
    assert_sound(tree, problem)


def test_rows_that_are_told_apart_by_nothing() -> None:
    problem = encode(np.ones((20, 2)), np.arange(20) % 2, 2)
    tree = refined_tree(problem, grower(), 4, replace(QUICK, cycles=2))
    assert tree.n_nodes == 1
    assert_sound(tree, problem)


def test_a_tree_without_errors_needs_no_cycles() -> None:
    case = gaussians(60, 2, 2)
    X = case.X + 20.0 * case.y[:, None]
    lines: list[str] = []
    watch = Watch(note=lines.append)
    problem = encode(X, case.y, 2)
    tree = refined_tree(problem, grower(), 4, replace(QUICK, cycles=9), watch=watch)
    assert (tree.n_leaves, _errors(tree)) == (2, 0.0)
    assert not [line for line in lines if line.startswith("cycle")]
