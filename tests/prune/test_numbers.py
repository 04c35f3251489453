"""Pruning where numbers are learnt, constants and functions in the leaves, against twins."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.test_slopes import odd, table, weights_of
from obliqua.data.problem import Problem, encode_numbers
from obliqua.engine.grow import grow
from obliqua.engine.linear_leaves import LeafFit, with_leaves
from obliqua.engine.proposals import Proposals
from obliqua.engine.rules import Rules
from obliqua.methods.slopes import ModelSlopes, Slopes
from obliqua.prune import (
    cost_complexity_path,
    division,
    folds,
    prune_by_folds,
    prune_on_rows,
    prune_reduced_error,
)
from obliqua.prune.cost_complexity import beginnings
from obliqua.prune.reduced_error import node_errors
from obliqua.tree.tree import Tree
from problems import examples
from reference import prune as book
from reference import prune_numbers as twin

seeds = st.integers(0, 10**6)
flags = st.booleans()


def grower(linear: bool, best_first: bool = False, most: int | None = None) -> Any:
    method = ModelSlopes(penalty=0.5) if linear else Slopes()
    rules = Rules(best_first=best_first, max_leaf_nodes=most, min_samples_leaf=3, max_depth=4)

    def grown(problem: Problem) -> Tree:
        tree = grow(problem, Proposals(method, scale="standard"), "squared_error", rules)
        return with_leaves(tree, problem, LeafFit(0.5 if linear else None))

    return grown


def case(seed: int, n: int, weighted: bool, coded: bool, m: int = 1) -> Problem:
    problem = table(seed, n, m, weighted)
    return odd(problem, seed) if coded else problem


def ends(tree: Tree) -> Any:
    """What tells cut trees of one tree apart: the stats of their leaves, in order."""

    def below(node: int) -> Any:
        if tree.is_leaf[node]:
            return [tuple(tree.stats[node].tolist())]
        first = int(tree.first_child[node])
        return below(first) + below(first + 1)

    return below(0)


def twin_ends(tree: Tree, one: book.Node) -> Any:
    return [tuple(tree.stats[leaf["number"]].tolist()) for leaf in book.leaves(one)]


def sequence(tree: Tree, prune_root: bool) -> Any:
    return twin.sequence(twin.nested(tree), float(tree.stats[0, 0]), prune_root)


def costs(tree: Tree, problem: Problem) -> Any:
    return twin.costs(tree, np.array(problem.Z, dtype=np.float64), problem.target.values)


def weights(problem: Problem) -> Any:
    return np.array(weights_of(problem), dtype=np.float64)


# --- sequences ------------------------------------------------------------------------------


@examples(60)
@given(seed=seeds, n=st.integers(20, 80), weighted=flags, coded=flags, linear=flags, root=flags)
def test_the_path(
    seed: int, n: int, weighted: bool, coded: bool, linear: bool, root: bool
) -> None:
    tree = grower(linear)(case(seed, n, weighted, coded))
    path, steps = cost_complexity_path(tree, root), sequence(tree, root)
    assert len(path) == len(steps)
    weight = float(tree.stats[0, 0])
    for step, (alpha, one) in enumerate(steps):
        slack = 1e-11 * float(tree.stats[0, -1]) / weight
        assert path.alphas[step] == pytest.approx(alpha, rel=1e-9, abs=slack)
        risk = sum(leaf["risk"] for leaf in book.leaves(one)) / weight
        assert path.risks[step] == pytest.approx(risk, rel=1e-9, abs=slack)
        assert ends(path.at(step)) == twin_ends(tree, one)
        path.at(step).validate()


# --- choices --------------------------------------------------------------------------------


@examples(60)
@given(
    seed=seeds,
    n=st.integers(20, 90),
    weighted=flags,
    linear=flags,
    root=flags,
    n_se=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_the_choice_of_held_out_rows(
    seed: int, n: int, weighted: bool, linear: bool, root: bool, n_se: float
) -> None:
    problem = case(seed, n, weighted, seed % 2 == 0)
    out = np.arange(n) % 3 == 0
    rest, held = problem.take(~out), problem.take(out)
    tree = grower(linear)(rest)
    rows, w, steps = costs(tree, held), weights(held), sequence(tree, root)
    errors = [twin.row_errors(one, rows) for _, one in steps]
    step = twin.chosen(errors, w, held.row_unit, n_se)
    assert ends(prune_on_rows(tree, held, n_se, root)) == twin_ends(tree, steps[step][1])
    path = cost_complexity_path(tree, root)
    sums = [float((w * one).sum()) for one in errors]
    np.testing.assert_allclose(path.errors(held), sums, rtol=1e-6, atol=1e-6 * max(sums))
    best = twin.reduced_error(twin.nested(tree), rows, w, root) if tree.n_leaves < 9 else None
    if best is not None:
        assert ends(prune_reduced_error(tree, held, root)) == twin_ends(tree, best)


@examples(30)
@given(
    seed=seeds,
    n=st.integers(30, 70),
    weighted=flags,
    linear=flags,
    root=flags,
    n_se=st.sampled_from([0.0, 1.0]),
    n_folds=st.integers(2, 4),
)
def test_the_choice_of_folds(
    seed: int, n: int, weighted: bool, linear: bool, root: bool, n_se: float, n_folds: int
) -> None:
    problem, grown = case(seed, n, weighted, seed % 2 == 0), grower(linear)
    pruned = prune_by_folds(problem, grown, n_folds, n_se, root, seed)
    tree = grown(problem)
    steps = sequence(tree, root)
    if len(steps) == 1:
        assert pruned == tree
        return
    apart, number = folds(problem, n_folds, seed)
    errors: list[Any] = [[] for _ in steps]
    all_weights: list[Any] = []
    for fold in sorted(set(number.tolist())):
        other, held = grown(apart.take(number != fold)), apart.take(number == fold)
        rows, others = costs(other, held), sequence(other, root)
        all_weights.append(weights(held))
        for step, price in enumerate(book.middle_prices(steps)):
            one = others[book.step_at(others, price)][1]
            errors[step].append(twin.row_errors(one, rows))
    joined = [np.concatenate(parts) for parts in errors]
    step = twin.chosen(joined, np.concatenate(all_weights), apart.row_unit, n_se)
    assert ends(pruned) == twin_ends(tree, steps[step][1])


def test_more_standard_errors_mean_smaller_trees() -> None:
    problem = table(4, 200)
    out = np.arange(200) % 2 == 0
    tree = grower(True)(problem.take(~out))
    sizes = [prune_on_rows(tree, problem.take(out), k, True).n_leaves for k in (0.0, 1.0, 30.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


# --- beginnings -----------------------------------------------------------------------------


def with_own_labels(tree: Tree) -> Tree:
    """The tree without labels that no node has: a tree that was cut keeps those."""
    names = [tree.origin_labels[k] if k >= 0 else "" for k in tree.origin.tolist()]
    labels = tuple(sorted(set(names) - {""}))
    number = [labels.index(name) if name else -1 for name in names]
    return replace(tree, origin_labels=labels, origin=np.array(number, dtype=np.int32))


@pytest.mark.parametrize(
    "method", [None, Slopes(), ModelSlopes()], ids=["axis", "slopes", "model"]
)
@pytest.mark.parametrize("seed", range(5))
def test_beginnings_are_the_trees_of_fewer_leaves(method: Any, seed: int) -> None:
    """The tree of K leaves is the one that grows with at most K, in every array."""
    problem = case(seed, 150, weighted=seed % 2 == 1, coded=seed in (2, 3))
    proposals = None if method is None else Proposals(method, scale="standard")

    def grown(most: int) -> Tree:
        rules = Rules(best_first=True, max_leaf_nodes=most, min_samples_leaf=4)
        return grow(problem, proposals, "squared_error", rules)

    whole = grown(12)
    nested = beginnings(whole)
    assert len(nested) == whole.n_leaves > 4
    assert nested.n_leaves.tolist() == list(range(whole.n_leaves, 0, -1))
    assert nested.at(0) == whole
    for step, most in enumerate(nested.n_leaves.tolist()):
        if most > 1:
            assert with_own_labels(nested.at(step)) == with_own_labels(grown(most))
    assert nested.at(len(nested) - 1).n_nodes == 1


@pytest.mark.parametrize("deep", ["left", "right"])
def test_beginnings_where_gains_tie(deep: str) -> None:
    """Of equal gains the node comes first that is further left, whatever its depth."""
    y = np.array([0.0, 2.0, 50.0, 1000.0, 1002.0])
    problem = encode_numbers(np.arange(5.0)[:, None], y if deep == "left" else 1002.0 - y[::-1])

    def grown(most: int) -> Tree:
        rules = Rules(best_first=True, max_leaf_nodes=most)
        return grow(problem, None, "squared_error", rules)

    nested = beginnings(grown(5))
    gains = nested.tree.gain[nested.tree.gain > 0]
    assert len(gains) == 4 > len(set(gains.tolist()))
    for step, most in enumerate(range(5, 1, -1)):
        assert nested.at(step) == grown(most)


@pytest.mark.parametrize("linear", [False, True])
def test_errors_of_beginnings(linear: bool) -> None:
    problem = case(3, 160, weighted=True, coded=True)
    train, test = problem.take(np.arange(100)), problem.take(np.arange(100, 160))
    nested = beginnings(grower(linear, best_first=True, most=9)(train))
    rows, w = costs(nested.tree, test), weights(test)
    by_tree = []
    for step in range(len(nested)):
        tree = nested.at(step)
        by_tree.append(float(node_errors(tree, test)[tree.is_leaf].sum()))
        leaf_of = [max(row) for row in costs(tree, test)]
        assert by_tree[-1] == pytest.approx(
            sum(
                weight * row[leaf]
                for weight, row, leaf in zip(w, costs(tree, test), leaf_of, strict=True)
            ),
            rel=1e-6,
        )
    np.testing.assert_allclose(nested.errors(test), by_tree, rtol=1e-9)
    assert nested.errors(test)[-1] == pytest.approx(sum(w * [row[0] for row in rows]), rel=1e-6)


# --- trials ---------------------------------------------------------------------------------


@cache
def tables() -> dict[int, Problem]:
    rng = np.random.default_rng(0)
    return {n: encode_numbers(rng.normal(size=(n, 1)), rng.normal(size=n)) for n in (90, 1200)}


@pytest.mark.parametrize(
    ("n", "few", "expected"), [(90, False, 5), (1200, False, 3), (1200, True, 1)]
)
def test_trials(n: int, few: bool, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if few:
        monkeypatch.setattr(division, "ONE_DIVISION", 1000)
    problem = tables()[n]
    parts = division.trials(problem, 7)
    assert len(parts) == expected
    seen = []
    for train, test in parts:
        assert train.n_rows + test.n_rows == n
        together = np.concatenate([train.target.values, test.target.values])
        assert sorted(together.ravel()) == sorted(problem.target.values.ravel())
        assert test.n_rows == pytest.approx(n / (5 if n < 1000 else 3), abs=2)
        seen.append(test.target.values)
    if not few:
        assert sorted(np.concatenate(seen).ravel()) == sorted(problem.target.values.ravel())
    order = np.random.default_rng(1).permutation(n)
    for (train, test), (other, held) in zip(
        parts, division.trials(problem.take(order), 7), strict=True
    ):
        assert sorted(test.target.values.ravel()) == sorted(held.target.values.ravel())
        assert train.n_rows == other.n_rows


def test_trials_count_rows_by_weight() -> None:
    """400 rows of weight 3 are 1,200 rows, which may come apart; a single row cannot."""
    rng = np.random.default_rng(0)
    heavy = encode_numbers(
        rng.normal(size=(400, 1)), rng.normal(size=400), sample_weight=[3] * 400
    )
    assert len(division.trials(heavy, 0)) == 3
    one = encode_numbers(np.ones((1, 1)), np.ones(1))
    assert division.trials(one, 0) == []
    for train, test in division.trials(heavy, 0):
        assert train.total_weight + test.total_weight == heavy.total_weight
