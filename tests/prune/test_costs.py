"""Costs of mistakes in labels and pruning: against the twins, and by what they must do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference.pessimistic as estimates
import reference.prune as twin
from core.adapter import grow_tree, problem_of
from obliqua.data.problem import encode
from obliqua.engine.grow import grow
from obliqua.prune import (
    choose_tree,
    cost_complexity_path,
    prune_by_folds,
    prune_on_rows,
    prune_pessimistic,
    prune_reduced_error,
)
from obliqua.tree.tree import Tree
from problems import Case, cases, examples
from prune.test_twins import assert_path_is_the_twins, rows_of, shape, twin_shape

# Products of such costs with such weights are exact, so that equal costs are equal.
drawn = cases(max_rows=30, max_columns=3, max_classes=3, weights=("integers", "eighths"))
some_costs = st.lists(st.integers(0, 40).map(lambda n: n / 8), min_size=9, max_size=9)
flags = st.booleans()


def matrix(n: int, numbers: list[float]) -> tuple[tuple[float, ...], ...]:
    """Costs of n classes, 0 on the diagonal; never 0 altogether."""
    costs = np.array(numbers).reshape(3, 3)[:n, :n] * (1 - np.eye(n))
    costs[0, n - 1] += n > 1 and not costs.any()
    return tuple(tuple(row) for row in costs.tolist())


def with_costs(case: Case, numbers: list[float]) -> tuple[Tree, Any]:
    """The tree of a case, and its rows; both know the costs."""
    problem = problem_of(case)
    costs = matrix(problem.n_classes, numbers)
    problem = replace(problem, target=replace(problem.target, costs=costs))
    return replace(grow_tree(case, rules={"zero_gain": True}), costs=costs), problem


@examples(150)
@given(case=drawn, numbers=some_costs)
def test_a_leaf_says_what_costs_least(case: Case, numbers: list[float]) -> None:
    tree, _ = with_costs(case, numbers)
    assert tree.leaf_label.tolist() == [
        twin.label({"counts": [*map(twin.Fraction, row)], "costs": twin.costs_of(tree)})
        for row in tree.stats.tolist()
    ]


@examples(100)
@given(case=drawn, numbers=some_costs, prune_root=flags)
def test_the_path_is_the_twins(case: Case, numbers: list[float], prune_root: bool) -> None:
    assert_path_is_the_twins(with_costs(case, numbers)[0], prune_root)


@examples(60)
@given(case=drawn, numbers=some_costs, prune_root=flags)
def test_held_out_rows_choose_by_costs(case: Case, numbers: list[float], prune_root: bool) -> None:
    tree, problem = with_costs(case, numbers)
    rows = problem.take(np.arange(problem.n_rows) % 2 == 0)
    told = rows_of(tree, rows)
    steps = twin.sequence(twin.nested(tree), prune_root)
    wrong = [twin.errors(step, told) for _, step in steps]
    best = max(k for k, found in enumerate(wrong) if found == min(wrong))
    assert shape(prune_on_rows(tree, rows, 0.0, prune_root)) == twin_shape(steps[best][1])
    expected = twin.reduced_error(twin.nested(tree), told, prune_root)
    assert shape(prune_reduced_error(tree, rows, prune_root)) == twin_shape(expected)


@examples(60)
@given(case=drawn, numbers=some_costs)
def test_trees_are_chosen_by_costs(case: Case, numbers: list[float]) -> None:
    tree, problem = with_costs(case, numbers)
    trees = [cost_complexity_path(tree).at(k) for k in range(len(cost_complexity_path(tree)))]
    told = rows_of(tree, problem)
    steps = twin.sequence(twin.nested(tree), True)
    wrong = [float(twin.errors(step, told)) for _, step in steps]
    number, errors = choose_tree(trees, problem)
    assert errors * problem.total_weight == pytest.approx(wrong)
    assert number == max(k for k, found in enumerate(wrong) if found == min(wrong))


@examples(60)
@given(case=drawn, numbers=some_costs, factor=st.sampled_from([0.05, 0.25, 0.5]))
def test_pessimistic_estimates_of_costs(case: Case, numbers: list[float], factor: float) -> None:
    """Errors seen cost what they cost, others the mean by the shares of classes at the root."""
    tree, _ = with_costs(case, numbers)
    n_classes = tree.n_stats
    usual = []
    for said in range(n_classes):
        others = [c for c in range(n_classes) if c != said]
        weight = np.array([tree.stats[0, c] for c in others])
        cost = np.array([tree.costs[c][said] for c in others])
        usual.append(
            np.average(cost, weights=weight) if weight.any() else sum(cost) / max(len(cost), 1)
        )

    def expected(node: int) -> float:
        counts, said = tree.stats[node], int(tree.leaf_label[node])
        n, e = counts.sum(), counts.sum() - counts[said]
        seen = sum(counts[c] * tree.costs[c][said] for c in range(n_classes))
        more = estimates.expected(n, e, factor, "j48") - e
        return float((seen + more * usual[said]) / np.mean(usual))

    def pruned(node: int) -> tuple[float, int]:
        """What a pruned subtree is expected to cost, and its leaves."""
        alone = expected(node)
        if tree.is_leaf[node]:
            return alone, 1
        first = int(tree.first_child[node])
        below = [pruned(child) for child in range(first, first + int(tree.n_children[node]))]
        together = sum(cost for cost, _ in below)
        if alone <= together + 0.1 + 1e-6:
            return alone, 1
        return together, sum(n for _, n in below)

    found = prune_pessimistic(tree, confidence_factor=factor, prune_root=True)
    assert found.costs == tree.costs
    if any(usual):
        assert found.n_leaves == pruned(0)[1]


def noisy() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3)).round(3)
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int) + (X[:, 1] > 1)
    return X, y


def problem_with(costs: Any) -> Any:
    problem = encode(*noisy(), 3)
    return replace(problem, target=replace(problem.target, costs=costs))


EQUAL = tuple(tuple(2.5 * (i != j) for j in range(3)) for i in range(3))


@pytest.mark.parametrize("pruner", ["path", "rows", "folds", "reduced", "pessimistic", "raised"])
def test_equal_costs_are_no_costs(pruner: str) -> None:
    """Whatever their unit."""

    def pruned(costs: Any) -> Tree:
        problem = problem_with(costs)
        even = np.arange(400) % 2 == 0
        tree, rows = grow(problem.take(even)), problem.take(~even)
        unit = 2.5 if costs else 1.0
        return {
            "path": lambda: cost_complexity_path(tree).at_alpha(0.004 * unit),
            "rows": lambda: prune_on_rows(tree, rows),
            "folds": lambda: prune_by_folds(problem, grow, seed=1),
            "reduced": lambda: prune_reduced_error(tree, rows),
            "pessimistic": lambda: prune_pessimistic(tree, confidence_factor=0.01),
            "raised": lambda: prune_pessimistic(tree, problem.take(even), confidence_factor=0.01),
        }[pruner]()

    plain, priced = pruned(()), pruned(EQUAL)
    assert priced.costs == EQUAL
    assert replace(priced, costs=()) == plain
    assert 1 < plain.n_leaves < 60


def test_standard_errors_are_those_of_costs() -> None:
    """The smallest tree whose rows cost hardly more: so many standard errors of the difference."""
    costs = ((0.0, 1.0, 6.0), (3.0, 0.0, 1.0), (0.5, 2.0, 0.0))
    problem = problem_with(costs)
    even = np.arange(400) % 2 == 0
    tree, rows = grow(problem.take(even)), problem.take(~even)
    path = cost_complexity_path(tree, prune_root=False)
    price = np.array(costs)
    paid = []
    for k in range(len(path)):
        step = path.at(k)
        paid.append(price[rows.y, step.leaf_label[step.apply(rows.Z)]])
    total = np.array([one.sum() for one in paid])
    best = np.flatnonzero(total <= total.min() * (1 + 1e-9))[-1]
    sizes = []
    for n_se in (0.0, 0.5, 1.0, 3.0):
        within = [
            k
            for k in range(best, len(path))
            if (paid[k] - paid[best]).mean() <= n_se * (paid[k] - paid[best]).std() / np.sqrt(200)
        ]
        found = prune_on_rows(tree, rows, n_se)
        assert found == path.at(max(within))
        sizes.append(found.n_leaves)
    assert sizes[0] > sizes[-1]


def test_costs_decide_what_is_cut() -> None:
    """A split that finds a few rows of a rare class is worth keeping if missing them is dear."""
    X = np.arange(40.0)[:, None]
    y = ((X[:, 0] < 6) & (X[:, 0] != 2)).astype(int)
    dear, cheap = ((0.0, 1.0), (20.0, 0.0)), ((0.0, 20.0), (1.0, 0.0))
    trees = {
        costs: cost_complexity_path(
            grow(replace(p := encode(X, y, 2), target=replace(p.target, costs=costs)))
        ).at_alpha(0.03 * 20)
        for costs in (dear, cheap)
    }
    assert trees[dear].n_leaves == 2
    assert trees[dear].leaf_label.tolist()[1:] == [1, 0]
    assert trees[cheap].n_leaves == 1
